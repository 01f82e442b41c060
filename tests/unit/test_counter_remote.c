/* counter.h, migrate or access remotely: the tables of [uvmsmart: migrate-or-remote] and the examples of
 * [uvmsmart: integer-forms]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/counter.h"

static struct uvmp_remote_params params;
static struct uvmp_remote_facts facts;

static void reset(uint32_t remote, uint64_t used)
{
	uvmp_remote_params_init(&params);
	params.remote = remote;
	facts = (struct uvmp_remote_facts){.count = 1};
	facts.pressure =
	        (struct uvmp_pressure){.total_pages = 1000, .free_pages = 1000 - used, .quirks = true};
}

static uint64_t threshold(void)
{
	struct uvmp_remote_verdict verdict;

	assert_int_equal(uvmp_remote_decide(&params, &facts, &verdict), UVMP_OK);
	assert_int_equal(verdict.migrates, facts.count >= verdict.threshold);
	return verdict.threshold;
}

static void check_mode(uint32_t remote, uint64_t load, uint64_t load_oversubscribed)
{
	reset(remote, 500);
	assert_int_equal(threshold(), load);
	facts.is_oversubscribed = true;
	assert_int_equal(threshold(), load_oversubscribed);
	facts.is_write = true;
	assert_int_equal(threshold(), 0);
	facts.is_oversubscribed = false;
	assert_int_equal(threshold(), 0);
}

static void test_modes(void **state)
{
	(void)state;
	check_mode(UVMP_REMOTE_OFF, 0, 0);
	check_mode(UVMP_REMOTE_ADAPTIVE, 5, 16);
	check_mode(UVMP_REMOTE_ALWAYS, 8, 8);
	check_mode(UVMP_REMOTE_OVERSUB, 0, 8);
}

/* [uvmsmart: migrate-or-remote], the table for ts = 8, p = 2 of 1000. */
static void test_adaptive(void **state)
{
	static const uint64_t used[][2] = {{0, 1}, {100, 1}, {500, 5}, {900, 8}, {999, 8}, {1000, 9}};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		reset(UVMP_REMOTE_ADAPTIVE, used[i][0]);
		assert_int_equal(threshold(), used[i][1]);
		facts.is_oversubscribed = true;
		for (facts.rounds = 0; facts.rounds < 3; facts.rounds++)
			assert_int_equal(threshold(), 16u * (facts.rounds + 1u));
	}
}

/* [uvmsmart: migrate-or-remote, integer-forms]: where the roundings show. */
static void test_rounding(void **state)
{
	(void)state;
	reset(UVMP_REMOTE_ADAPTIVE, 700);
	params.threshold = 10;
	assert_int_equal(threshold(), 8);
	facts.pressure = (struct uvmp_pressure){.total_pages = 22, .free_pages = 9, .quirks = true};
	params.threshold = 22;
	assert_int_equal(threshold(), 13);
	facts.pressure = (struct uvmp_pressure){.total_pages = 1, .buffer_percent = 5, .quirks = true};
	params.threshold = 120;
	assert_int_equal(threshold(), 126);
}

static void test_extremes(void **state)
{
	(void)state;
	reset(UVMP_REMOTE_ADAPTIVE, 1000);
	params.threshold = 0;
	assert_int_equal(threshold(), 1);
	facts.is_oversubscribed = true;
	assert_int_equal(threshold(), 0);
	/* no penalty migrates at once, a great one never */
	params.threshold = 8;
	params.penalty = 0;
	assert_int_equal(threshold(), 0);
	params.penalty = 1048576;
	assert_int_equal(threshold(), 8388608);
	facts.rounds = 31;
	assert_true(threshold() == (uint64_t)1 << 28);
	params.threshold = params.penalty = UINT32_MAX;
	assert_true(threshold() == UINT64_MAX);
	facts.rounds = 0;
	assert_true(threshold() == (uint64_t)UINT32_MAX * UINT32_MAX);
	/* [uvmsmart: clean-pages-uncounted] */
	facts.is_oversubscribed = false;
	facts.pressure.free_pages = 1001;
	assert_true(threshold() == UINT64_MAX);
	facts.pressure.quirks = false;
	assert_int_equal(threshold(), 1);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(uvmp_remote_name(UVMP_REMOTE_OFF), "off");
	assert_string_equal(uvmp_remote_name(UVMP_REMOTE_ADAPTIVE), "adaptive");
	assert_string_equal(uvmp_remote_name(UVMP_REMOTE_ALWAYS), "always");
	assert_string_equal(uvmp_remote_name(UVMP_REMOTE_OVERSUB), "oversub");
	assert_string_equal(uvmp_remote_name(UVMP_REMOTE_AUTO), "auto");
	assert_null(uvmp_remote_name(UVMP_REMOTE_COUNT));
	uvmp_remote_params_init(NULL);
	uvmp_remote_params_init(&params);
	assert_int_equal(params.remote, UVMP_REMOTE_OFF);
	assert_int_equal(params.threshold, 8);
	assert_int_equal(params.penalty, 2);
}

static void test_errors(void **state)
{
	struct uvmp_remote_verdict verdict = {true, 77};

	(void)state;
	reset(UVMP_REMOTE_OFF, 0);
	assert_int_equal(uvmp_remote_decide(NULL, &facts, &verdict), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_remote_decide(&params, NULL, &verdict), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_remote_decide(&params, &facts, NULL), UVMP_ERR_ARGUMENT);
	params.remote = UVMP_REMOTE_AUTO;
	assert_int_equal(uvmp_remote_decide(&params, &facts, &verdict), UVMP_ERR_RANGE);
	params.remote = UVMP_REMOTE_OFF;
	facts.rounds = 32;
	assert_int_equal(uvmp_remote_decide(&params, &facts, &verdict), UVMP_ERR_RANGE);
	facts.rounds = 31;
	facts.pressure.total_pages = 0;
	assert_int_equal(uvmp_remote_decide(&params, &facts, &verdict), UVMP_ERR_RANGE);
	assert_true(verdict.migrates);
	assert_int_equal(verdict.threshold, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_modes),    cmocka_unit_test(test_adaptive),
	        cmocka_unit_test(test_rounding), cmocka_unit_test(test_extremes),
	        cmocka_unit_test(test_names),    cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
