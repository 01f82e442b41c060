/* adapt.h: the prefetch threshold from fault and eviction load (Allen and Ge 2021, section VI.B). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/adapt.h"

/* These parameters with one field changed are not accepted. */
#define REFUSE(field, value) (bad = params, bad.field = (value), refuse(bad))

static struct uvmp_threshold_params params;
static struct uvmp_threshold_state state;
static struct uvmp_prefetch_setting setting;

static int set_up(void **unused)
{
	(void)unused;
	uvmp_threshold_params_init(&params);
	uvmp_threshold_init(&params, &state);
	return 0;
}

/* One window in which memory is too small. */
static void window(uint32_t refaults, uint32_t evicted_pages)
{
	struct uvmp_threshold_load load = {1024, refaults, evicted_pages};

	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, &setting), UVMP_OK);
}

static void expect(bool is_on, uint32_t threshold)
{
	assert_int_equal(setting.is_on, is_on);
	assert_int_equal(setting.threshold, threshold);
}

/* "For allocation sizes under the GPU memory limitations, there is little reason not to use highly aggressive
 * prefetching." */
static void test_all_fits(void **unused)
{
	struct uvmp_threshold_load load = {5000, 5000, 500000};

	(void)unused;
	assert_int_equal(uvmp_threshold_step(&params, &load, 1000, 1000, &state, &setting), UVMP_OK);
	expect(true, 1);
	assert_int_equal(uvmp_threshold_step(&params, &load, 1001, 1000, &state, &setting), UVMP_OK);
	expect(true, 61);
	assert_int_equal(uvmp_threshold_step(&params, &load, 1000, 1000, &state, &setting), UVMP_OK);
	assert_int_equal(state.threshold, 51);
}

/* "Oversubscribed sizes could disable prefetching entirely" */
static void test_off_when_full(void **unused)
{
	(void)unused;
	params.is_off_when_full = true;
	window(0, 0);
	expect(false, 100);
}

/* "or infer from the fault/eviction load how effective prefetching is" */
static void test_wasteful(void **unused)
{
	static const uint32_t thresholds[] = {61, 71, 81, 91, 100};

	(void)unused;
	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		window(1024, 1024 * 64);
		expect(true, thresholds[i]);
	}
	window(1024, 1024 * 64);
	expect(false, 100);
	window(1024, 1024 * 64);
	expect(false, 100);
	/* each fault now evicts one page: faults are the load, prefetch again */
	window(1024, 1024);
	expect(true, 100);
	window(1024, 1024 * 16);
	expect(true, 100);
}

static void test_stream(void **unused)
{
	static const uint32_t thresholds[] = {41, 31, 21, 11, 1, 1};

	(void)unused;
	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		window(0, 1024 * 512);
		expect(true, thresholds[i]);
	}
}

static void test_bounds(void **unused)
{
	(void)unused;
	window(103, 1024 * 64 - 1); /* refaults just enough, evictions not quite */
	expect(true, 51);
	window(103, 1024 * 64);
	expect(true, 61);
	window(102, 1024 * 64);
	expect(true, 51);
	window(1024, 1024 * 8);
	expect(true, 51);
	window(1024, 1024 * 8 - 1);
	expect(true, 41);
	params.refault_percent = 50;
	window(512, 1024 * 64); /* exactly as many refaults are not fewer */
	expect(true, 51);
}

static void test_window(void **unused)
{
	struct uvmp_threshold_load load = {1023, 0, 0}, one = {1, 0, 0};

	(void)unused;
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, &setting), UVMP_OK);
	expect(true, 51);
	assert_int_equal(uvmp_threshold_step(&params, &one, 2, 1, &state, &setting), UVMP_OK);
	expect(true, 41);
	assert_int_equal(state.faults, 0);
}

static void refuse(struct uvmp_threshold_params bad)
{
	struct uvmp_threshold_load load = {0, 0, 0};

	assert_false(uvmp_threshold_params_is_valid(&bad));
	assert_int_equal(uvmp_threshold_step(&bad, &load, 2, 1, &state, &setting), UVMP_ERR_ARGUMENT);
}

static void test_params(void **unused)
{
	struct uvmp_threshold_params bad;

	(void)unused;
	assert_true(uvmp_threshold_params_is_valid(&params));
	assert_false(uvmp_threshold_params_is_valid(NULL));
	bad = params, bad.aggressive = 51;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	bad = params, bad.base = 100;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	bad = params, bad.step = 100;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	bad = params, bad.evicted_low = 64;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	bad = params, bad.evicted_high = 65536;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	bad = params, bad.refault_percent = 100;
	assert_true(uvmp_threshold_params_is_valid(&bad));
	REFUSE(base, 0);
	REFUSE(base, 101);
	REFUSE(aggressive, 0);
	REFUSE(aggressive, 52);
	REFUSE(step, 0);
	REFUSE(step, 101);
	REFUSE(window, 0);
	REFUSE(evicted_high, 0);
	REFUSE(evicted_high, 65537);
	REFUSE(evicted_low, 65);
	REFUSE(refault_percent, 0);
	REFUSE(refault_percent, 101);
}

static void test_errors(void **unused)
{
	struct uvmp_threshold_load load = {1, 2, 0};

	(void)unused;
	assert_int_equal(uvmp_threshold_step(&params, NULL, 2, 1, &state, &setting), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, NULL, &setting), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, &setting), UVMP_ERR_RANGE);
	load.faults = 2;
	state.threshold = 102;
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, &setting), UVMP_ERR_RANGE);
	state.threshold = 0;
	assert_int_equal(uvmp_threshold_step(&params, &load, 2, 1, &state, &setting), UVMP_ERR_RANGE);
	uvmp_threshold_params_init(NULL);
	uvmp_threshold_init(NULL, &state);
	uvmp_threshold_init(&params, NULL);
	assert_int_equal(state.threshold, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_all_fits, set_up),
	        cmocka_unit_test_setup(test_off_when_full, set_up),
	        cmocka_unit_test_setup(test_wasteful, set_up),
	        cmocka_unit_test_setup(test_stream, set_up),
	        cmocka_unit_test_setup(test_bounds, set_up),
	        cmocka_unit_test_setup(test_window, set_up),
	        cmocka_unit_test_setup(test_params, set_up),
	        cmocka_unit_test_setup(test_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
