/* Thrashing: when a period ends, when it counts, and what is added. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "support/paging.h"
#include "thrash.h"

#define MS     ((uint64_t)1000000)
#define BUDGET (8u * MIB)

static struct thrash thrash;
static struct uvmp_pager_stats stats;
static uint64_t now;

/* Pages have come again so often before. */
static void begin(uint64_t bytes)
{
	memset(&thrash, 0, sizeof(thrash));
	memset(&stats, 0, sizeof(stats));
	stats.budget_bytes = BUDGET;
	stats.peak_managed_bytes = 4u * BUDGET;
	stats.bytes_in = bytes;
	now = 5;
	thrash_judge(&thrash, &stats, now);
}

/* So many ms, of each of which threads wait for `waits` tenths, and in each of which so many bytes come again. */
static void run(uint64_t ms, uint64_t waits, uint64_t bytes)
{
	for (uint64_t i = 0; i < ms; i++) {
		thrash_wait(&thrash, &stats, true, now);
		now += waits * MS / 10u;
		thrash_wait(&thrash, &stats, false, now);
		now += (10u - waits) * MS / 10u;
		stats.bytes_in += bytes;
		thrash_judge(&thrash, &stats, now);
	}
}

static void says(uint64_t ms, uint64_t waited_ms, uint64_t bytes)
{
	assert_int_equal(stats.thrash_ns, ms * MS);
	assert_int_equal(stats.thrash_waited_ns, waited_ms * MS);
	assert_int_equal(stats.thrash_bytes, bytes);
}

/* Time before the first judgement is in no period. */
static void test_period(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	run(999, 6, MIB);
	says(0, 0, 0);
	run(1, 6, MIB);
	says(1000, 600, 1000u * MIB);
	run(1500, 5, MIB);
	says(2000, 1100, 2000u * MIB);
	run(500, 5, MIB);
	says(3000, 1600, 3000u * MIB);
	assert_int_equal(stats.waited_ns, 1600u * MS);
}

static void test_waiting_share(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	run(5000, 2, MIB);
	says(0, 0, 0);
	assert_int_equal(stats.waited_ns, 1000u * MS);
	run(1000, 3, MIB);
	says(1000, 300, 1000u * MIB);
	run(750, 0, MIB); /* a quarter is enough */
	run(250, 10, MIB);
	says(2000, 550, 2000u * MIB);
}

/* A wait that goes on counts as far as it has lasted. */
static void test_long_wait(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	thrash_wait(&thrash, &stats, true, now);
	stats.bytes_in += BUDGET;
	now += 1200u * MS;
	thrash_judge(&thrash, &stats, now);
	says(1200, 1200, BUDGET);
	now += 300u * MS;
	thrash_wait(&thrash, &stats, true, now);
	now += 300u * MS;
	thrash_wait(&thrash, &stats, false, now);
	assert_int_equal(stats.waited_ns, 1800u * MS);
}

/* With a slow store a period lasts until a budget has come again. */
static void test_slow_store(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	run(8u * 256u - 1u, 5, PAGE);
	says(0, 0, 0);
	run(1, 5, PAGE);
	says(8u * 256u, 4u * 256u, BUDGET);
}

/* Waiting that has ended is not mixed with later times: the period ends as soon as the share is below a quarter, which
 * it is after 1667 ms, and then after each second. */
static void test_begins_again(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	run(500, 6, PAGE);
	run(2167, 1, PAGE);
	run(1000, 6, MIB);
	says(1000, 600, 1000u * MIB);
}

/* Two passes over memory that does not fit. */
static void test_passes(void **state)
{
	(void)state;
	begin(0);
	run(2u * 4u * 8u - 1u, 9, MIB);
	run(3000, 9, 0);
	says(0, 0, 0);
	stats.bytes_in += MIB;
	run(1, 9, 0);
	assert_int_equal(stats.thrash_bytes, 2u * 4u * BUDGET);
	assert_int_equal(stats.thrash_ns, (2u * 4u * 8u + 3000u) * MS);
}

/* Pages that never left are not brought again. */
static void test_all_fits(void **state)
{
	(void)state;
	begin(8u * BUDGET);
	run(10000, 10, 0);
	says(0, 0, 0);
	assert_int_equal(stats.waited_ns, 10000u * MS);
}

/* -- with a pager -- */

static void test_pager_waits(void **state)
{
	struct uvmp_pager *pager = open_with(BUDGET, "", NULL);
	volatile uint8_t *memory = uvmp_pager_alloc(pager, 2u * BUDGET);
	struct uvmp_pager_stats got;

	(void)state;
	for (size_t i = 0; i < 2u * BUDGET; i += PAGE)
		memory[i] = 1;
	got = stats_of(pager);
	assert_true(got.waited_ns != 0 &&
		    got.waited_ns <= got.stall_ns); /* one thread: neither overlap nor more */
	assert_int_equal(got.thrash_ns + got.thrash_waited_ns + got.thrash_bytes, 0);
	uvmp_pager_destroy(pager);
}

int main(void)
{
	const struct CMUnitTest pure[] = {
		cmocka_unit_test(test_period),	     cmocka_unit_test(test_waiting_share),
		cmocka_unit_test(test_long_wait),    cmocka_unit_test(test_slow_store),
		cmocka_unit_test(test_begins_again), cmocka_unit_test(test_passes),
		cmocka_unit_test(test_all_fits)};
	const struct CMUnitTest paged[] = {cmocka_unit_test(test_pager_waits)};
	int failed = cmocka_run_group_tests(pure, NULL, NULL);

	return failed + (can_page(NULL) ? cmocka_run_group_tests(paged, NULL, NULL) : 0);
}
