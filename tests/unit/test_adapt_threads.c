/* adapt.h: lifetimes of pages and thread oversubscription (Kim et al., ASPLOS'20, sections 4.1 and 5). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "adapt/adapt_internal.h"

/* These parameters with one field changed are not accepted. */
#define REFUSE(field, value) (bad = params, bad.field = (value), refuse(bad))

#define PERIOD 100000u

static struct uvmp_threads_params params;
static struct uvmp_threads_state state;
static struct uvmp_lifetime lifetime;
static uint64_t page[4];

static int set_up(void **unused)
{
	(void)unused;
	uvmp_threads_params_init(&params);
	uvmp_threads_init(&params, 0, &state);
	assert_int_equal(uvmp_lifetime_init(&lifetime, page, 4), UVMP_OK);
	return 0;
}

/* -- lifetimes -- */

static void live(uint64_t from, uint64_t to)
{
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, from, true), UVMP_OK);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 0, to), UVMP_OK);
}

static void test_mean(void **unused)
{
	(void)unused;
	assert_int_equal(uvmp_lifetime_mean(&lifetime), 0);
	live(0, 100);
	assert_int_equal(uvmp_lifetime_mean(&lifetime), 100);
	live(100, 101);
	assert_int_equal(uvmp_lifetime_mean(&lifetime), 50); /* 101 / 2 */
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 1, 200, true), UVMP_OK);
	assert_int_equal(uvmp_lifetime_free(&lifetime, 1), UVMP_OK);
	assert_int_equal(uvmp_lifetime_mean(&lifetime), 50);
	assert_int_equal(lifetime.evictions, 2);
	assert_int_equal(uvmp_lifetime_mean(NULL), 0);
}

/* More pages, in another array: the former ones keep their state. */
static void test_more_pages(void **unused)
{
	uint64_t more[9];

	(void)unused;
	live(0, 100);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 3, 150, true), UVMP_OK);
	memset(more, 0xa5, sizeof(more));
	uvmpi_lifetime_move(&lifetime, more, 9);
	memset(page, 0xa5, sizeof(page));
	assert_int_equal(lifetime.pages, 9);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 3, 250), UVMP_OK);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 8, 250), UVMP_ERR_STATE);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 8, 260, true), UVMP_OK);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 8, 300), UVMP_OK);
	assert_int_equal(lifetime.premature, 0);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, 310, true), UVMP_OK);
	assert_int_equal(lifetime.premature, 1);
	assert_int_equal(uvmp_lifetime_mean(&lifetime), 80);
	assert_int_equal(uvmp_lifetime_init(&lifetime, page, 4), UVMP_OK);
}

/* "a page is evicted earlier than it should be, and a page fault is generated for the page again" */
static void test_premature(void **unused)
{
	(void)unused;
	live(0, 5);
	assert_int_equal(lifetime.premature, 0);
	live(6, 7);
	assert_int_equal(lifetime.premature, 1);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, 8, false),
	                 UVMP_OK); /* prefetched with others */
	assert_int_equal(lifetime.premature, 1);
}

static void test_long_sums(void **unused)
{
	(void)unused;
	live(0, UINT64_MAX / 2);
	live(0, UINT64_MAX / 2);
	live(0, UINT64_MAX / 2); /* three do not fit: the first two are halved */
	assert_int_equal(lifetime.count, 2);
	assert_int_equal(lifetime.evictions, 3);
	assert_true(uvmp_lifetime_mean(&lifetime) == UINT64_MAX / 2);
}

static void test_lifetime_errors(void **unused)
{
	struct uvmp_lifetime none = {.pages = 4};

	(void)unused;
	assert_int_equal(uvmp_lifetime_init(NULL, page, 4), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_lifetime_init(&lifetime, NULL, 4), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_lifetime_allocate(NULL, 0, 0, true), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_lifetime_free(&none, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_lifetime_free(&lifetime, 4), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 4, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 0, 0), UVMP_ERR_STATE); /* never came */
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, UINT64_MAX - 1, true), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, UINT64_MAX - 2, true), UVMP_OK);
	assert_int_equal(uvmp_lifetime_allocate(&lifetime, 0, 0, true), UVMP_ERR_STATE);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 0, 0), UVMP_ERR_STATE); /* before it came */
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 0, UINT64_MAX), UVMP_OK);
	assert_int_equal(uvmp_lifetime_evict(&lifetime, 0, UINT64_MAX), UVMP_ERR_STATE); /* gone */
}

/* -- threads -- */

static void look(uint64_t now, uint32_t runnable)
{
	assert_int_equal(uvmp_threads_step(&params, &lifetime, now, &state), UVMP_OK);
	assert_int_equal(state.runnable, runnable);
}

/* Kim et al. (ASPLOS'20): one additional block from the beginning, and one more a period unless the
 * mean falls. */
static void test_grows(void **unused)
{
	(void)unused;
	assert_int_equal(params.period, 100000);
	assert_int_equal(params.drop_percent, 20);
	look(0, 1);
	look(PERIOD - 1, 1);
	look(PERIOD, 2);
	look(2 * PERIOD, 2); /* the most */
	assert_int_equal(state.allocated, 2);
}

/* A mean of 1000 that falls to 800 is a fall by the threshold; to 801 it is not. */
static void test_falls(void **unused)
{
	(void)unused;
	params.max = 9;
	live(0, 1000);
	look(PERIOD, 2);
	live(0, 602); /* 801 */
	look(2 * PERIOD, 3);
	live(0, 320); /* 640: 161 less, 160.2 are enough */
	look(3 * PERIOD, 2);
	assert_int_equal(state.allocated, 3);
	look(4 * PERIOD, 3); /* nothing happened, nothing fell */
	assert_int_equal(state.allocated, 3);
}

static void test_exactly_a_fifth(void **unused)
{
	(void)unused;
	live(0, 1000);
	look(PERIOD, 2);
	live(0, 600);
	look(2 * PERIOD, 1);
	live(0, 0);
	look(3 * PERIOD, 0);
	live(0, 0);
	look(4 * PERIOD, 0);
	look(5 * PERIOD, 1);
}

static void test_mean_of_the_period(void **unused)
{
	(void)unused;
	params.is_each_period = true;
	params.max = 9;
	live(0, 1000);
	live(0, 1000);
	look(PERIOD, 2);
	live(0, 700);
	look(2 * PERIOD, 1);
	look(3 * PERIOD, 2); /* no eviction: still 700 */
	live(0, 500);
	look(4 * PERIOD, 1);
	/* a monitor whose sums were halved has no period to show */
	lifetime.count += 5;
	lifetime.sum = 1;
	look(5 * PERIOD, 2);
}

/* Missed periods are one; the next look is at the end of a period again. */
static void test_missed_periods(void **unused)
{
	(void)unused;
	params.max = 9;
	look(7 * PERIOD + 5, 2);
	look(8 * PERIOD - 1, 2);
	look(8 * PERIOD, 3);
	look(UINT64_MAX, 4);
	assert_true(state.due == UINT64_MAX);
	uvmp_threads_init(&params, UINT64_MAX - 1, &state);
	assert_true(state.due == UINT64_MAX);
}

static void refuse(struct uvmp_threads_params bad)
{
	assert_false(uvmp_threads_params_is_valid(&bad));
	assert_int_equal(uvmp_threads_step(&bad, &lifetime, 0, &state), UVMP_ERR_ARGUMENT);
}

static void test_threads_errors(void **unused)
{
	struct uvmp_threads_params bad;

	(void)unused;
	assert_true(uvmp_threads_params_is_valid(&params));
	assert_false(uvmp_threads_params_is_valid(NULL));
	bad = params, bad.drop_percent = 100;
	assert_true(uvmp_threads_params_is_valid(&bad));
	bad = params, bad.start = 2;
	assert_true(uvmp_threads_params_is_valid(&bad));
	REFUSE(period, 0);
	REFUSE(drop_percent, 0);
	REFUSE(drop_percent, 101);
	REFUSE(start, 3);
	assert_int_equal(uvmp_threads_step(&params, NULL, 0, &state), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_threads_step(&params, &lifetime, 0, NULL), UVMP_ERR_ARGUMENT);
	uvmp_threads_params_init(NULL);
	uvmp_threads_init(NULL, 0, &state);
	uvmp_threads_init(&params, 0, NULL);
	state.runnable = 3;
	assert_int_equal(uvmp_threads_step(&params, &lifetime, PERIOD, &state), UVMP_ERR_RANGE);
	assert_int_equal(state.runnable, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_mean, set_up),
	        cmocka_unit_test_setup(test_more_pages, set_up),
	        cmocka_unit_test_setup(test_premature, set_up),
	        cmocka_unit_test_setup(test_long_sums, set_up),
	        cmocka_unit_test_setup(test_lifetime_errors, set_up),
	        cmocka_unit_test_setup(test_grows, set_up),
	        cmocka_unit_test_setup(test_falls, set_up),
	        cmocka_unit_test_setup(test_exactly_a_fifth, set_up),
	        cmocka_unit_test_setup(test_mean_of_the_period, set_up),
	        cmocka_unit_test_setup(test_missed_periods, set_up),
	        cmocka_unit_test_setup(test_threads_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
