/* counter.h, remote=auto: when pages on the CPU return, and where pages begin. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/counter.h"

#define MIB2 0x200000u

static struct uvmp_remote_use use;

static int clear(void **state)
{
	(void)state;
	use = (struct uvmp_remote_use){0};
	return 0;
}

/* 512 pages and a block service cost 524 copies of 4 KiB, each of 32 accesses: half of them are 8,384. */
static void test_half_the_cost(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 1, 65 * 128);
	assert_false(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_add(&use, 4, 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
	assert_int_equal(use.parts, 5);
	uvmp_remote_moved(&use);
	assert_int_equal(use.parts, 0);
	assert_int_equal(use.spent, 0);
	uvmp_remote_add(&use, 1, 65 * 128); /* it does not rise */
	assert_false(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_add(&use, 1, 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
	assert_false(uvmp_remote_pays(&use, UINT32_MAX));
}

/* 16 pages and a block service: 28 copies, half of them are 448 accesses. */
static void test_few_pages(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 1, 3 * 128);
	assert_false(uvmp_remote_pays(&use, 65536));
	assert_true(uvmp_remote_pays(&use, 12 * 4096));
	uvmp_remote_add(&use, 1, 1); /* counts as 128 */
	assert_true(uvmp_remote_pays(&use, 65536));
	assert_false(uvmp_remote_pays(&use, 0));
}

/* One of ten, in the mean; the same draws for the same state, and no run of more than 200 others. */
static void test_one_of_ten_returns(void **state)
{
	uint64_t draws = 0, again = 0;
	uint32_t chosen = 0, others = 0, longest = 0;

	(void)state;
	for (uint32_t i = 0; i < 400000; i++) {
		bool is_chosen = uvmp_remote_is_chosen(&draws);

		assert_int_equal(uvmp_remote_is_chosen(&again), is_chosen);
		others = is_chosen ? 0 : others + 1;
		longest = others > longest ? others : longest;
		chosen += is_chosen;
	}
	assert_in_range(chosen, 39240, 40760); /* four standard deviations: 759 */
	assert_in_range(longest, 25, 200);
	assert_true(uvmp_remote_is_chosen(NULL));
}

static void test_accesses_saturate(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 0, 254 * 128);
	assert_int_equal(use.spent, 254);
	uvmp_remote_add(&use, 0, 1);
	uvmp_remote_add(&use, 0, UINT64_MAX);
	assert_int_equal(use.spent, 255);
	uvmp_remote_moved(&use);
	assert_true(uvmp_remote_pays(&use, MIB2) == false);
	uvmp_remote_add(&use, 0, UINT64_MAX);
	assert_true(uvmp_remote_pays(&use, MIB2));
}

/* Two whole blocks that return end the trial: UVMP_REMOTE_GAP blocks move, then 2 begin on the CPU, and so on. */
static void test_pages_that_return_begin_at_once(void **state)
{
	struct uvmp_remote_start start = {0};
	uint32_t begun[8] = {0}, count = 0;

	(void)state;
	for (uint32_t i = 0; i < 3 * (UVMP_REMOTE_GAP + 2); i++) {
		if (!uvmp_remote_begins(&start, MIB2))
			continue;
		begun[count++ % 8] = i;
		uvmp_remote_returned(&start, MIB2);
	}
	assert_int_equal(count, 6);
	assert_int_equal(begun[0], 0);
	assert_int_equal(begun[1], 1);
	assert_int_equal(begun[2], UVMP_REMOTE_GAP + 2);
	assert_int_equal(begun[3], UVMP_REMOTE_GAP + 3);
	assert_int_equal(begun[4], 2 * UVMP_REMOTE_GAP + 4);
	assert_int_equal(begun[5], 2 * UVMP_REMOTE_GAP + 5);
}

static void test_pages_that_stay_begin_there(void **state)
{
	struct uvmp_remote_start start = {0};

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(uvmp_remote_begins(&start, MIB2));
		if (i % 3 == 0) /* fewer than half return */
			uvmp_remote_returned(&start, MIB2);
	}
}

/* The counts of 4 GiB and more are halved, both. */
static void test_old_first_faults_are_forgotten(void **state)
{
	struct uvmp_remote_start start = {.mapped = 1u << 20, .returned = 1u << 10};

	(void)state;
	assert_true(uvmp_remote_begins(&start, MIB2));
	assert_int_equal(start.mapped, (1u << 19) + 512);
	assert_int_equal(start.returned, 1u << 9);
	start.returned = 1u << 20;
	uvmp_remote_returned(&start, UINT32_MAX);
	assert_int_equal(start.returned, (1u << 19) + (1u << 20) - 1);
	assert_false(uvmp_remote_begins(&start, MIB2));
}

/* A trial that fails counts from zero after it. */
static void test_a_failed_trial_is_forgotten(void **state)
{
	struct uvmp_remote_start start = {.mapped = 512, .returned = 1024};

	(void)state;
	for (uint32_t i = 0; i < UVMP_REMOTE_GAP; i++)
		assert_false(uvmp_remote_begins(&start, MIB2));
	assert_int_equal(start.mapped, 0);
	assert_int_equal(start.returned, 0);
	assert_true(uvmp_remote_begins(&start, MIB2));
	assert_int_equal(start.mapped, 512);
}

static void test_null(void **state)
{
	(void)state;
	assert_true(uvmp_remote_begins(NULL, MIB2));
	uvmp_remote_returned(NULL, MIB2);
	uvmp_remote_add(NULL, 1, 1);
	uvmp_remote_moved(NULL);
	assert_false(uvmp_remote_pays(NULL, MIB2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_half_the_cost, clear),
	        cmocka_unit_test_setup(test_few_pages, clear),
	        cmocka_unit_test(test_one_of_ten_returns),
	        cmocka_unit_test_setup(test_accesses_saturate, clear),
	        cmocka_unit_test(test_pages_that_return_begin_at_once),
	        cmocka_unit_test(test_pages_that_stay_begin_there),
	        cmocka_unit_test(test_old_first_faults_are_forgotten),
	        cmocka_unit_test(test_a_failed_trial_is_forgotten),
	        cmocka_unit_test_setup(test_null, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
