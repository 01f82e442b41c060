/* adapt.h: the prefetch threshold from fault rates (after Early-Adaptor, ISPASS'23). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/adapt.h"

/* These parameters with one field changed are not accepted. */
#define REFUSE(field, value) (bad = params, bad.field = (value), refuse(bad))

#define EPOCH 1000u

static struct uvmp_early_params params;
static struct uvmp_early_state state;
static struct uvmp_early_block block[4];

static int set_up(void **unused)
{
	(void)unused;
	uvmp_early_params_init(&params);
	params.epoch_ns = EPOCH;
	memset(block, 0, sizeof(block));
	uvmp_early_init(&params, 0, &state);
	return 0;
}

static uint32_t fault(uint32_t b, uint64_t now_ns, uint32_t faults)
{
	uint32_t threshold = 0;

	assert_int_equal(uvmp_early_fault(&params, &state, &block[b], now_ns, faults, &threshold), UVMP_OK);
	return threshold;
}

static void evict(uint64_t now_ns)
{
	assert_int_equal(uvmp_early_evict(&params, &state, now_ns), UVMP_OK);
}

/* Four blocks with 1, 2, 2 and 3 faults in the first epoch: the mean is 2. */
static void test_rate_of_block(void **unused)
{
	(void)unused;
	assert_int_equal(fault(0, 0, 1), 51); /* no mean yet */
	assert_int_equal(fault(1, 10, 2), 51);
	assert_int_equal(fault(2, 999, 2), 51);
	assert_int_equal(fault(3, 999, 3), 51);
	assert_int_equal(fault(0, 1000, 1), 76); /* half of the mean */
	assert_int_equal(fault(0, 1001, 1), 51); /* the mean, with what came since */
	assert_int_equal(fault(0, 1002, 1), 26); /* half as much again */
	assert_int_equal(fault(1, 1003, 1), 51); /* the last epoch still counts */
	assert_int_equal(fault(3, 1004, 1), 26);
	/* an epoch without faults leaves no rate behind */
	assert_int_equal(fault(3, 3004, 1), 51);
	assert_int_equal(block[3].before, 0);
}

/* A whole epoch of faults in one block. */
static void epoch(uint64_t number, uint32_t faults, bool is_full)
{
	(void)fault(0, number * EPOCH, faults);
	if (is_full)
		evict(number * EPOCH + 1);
}

static void test_global_rate(void **unused)
{
	(void)unused;
	epoch(0, 100, true);
	epoch(1, 200, true);
	assert_int_equal(state.shift, 0); /* the first epoch has none before it */
	epoch(2, 220, true);
	assert_int_equal(state.shift, 10); /* 200 after 100 */
	epoch(3, 200, true);
	assert_int_equal(state.shift, 10); /* 220 after 200 is no more than 10 % */
	epoch(4, 181, true);
	assert_int_equal(state.shift, 10); /* 200 after 220 is not less by so much */
	epoch(5, 400, true);
	assert_int_equal(state.shift, 0); /* 181 after 200 is */
	epoch(6, 900, false);
	assert_int_equal(state.shift, 10);
	epoch(7, 2000, true);
	assert_int_equal(state.shift, 0); /* rises, but memory was not full */
	evict(8 * EPOCH);
	assert_int_equal(state.shift, 10);
	evict(20 * EPOCH);
	assert_int_equal(state.shift, 0);
	evict(21 * EPOCH);
	assert_int_equal(state.shift, 0);
}

static void test_shift_has_bounds(void **unused)
{
	uint32_t faults = 1;

	(void)unused;
	params.step = 60;
	for (uint64_t i = 0; i < 5; i++, faults *= 2)
		epoch(i, faults, true);
	assert_int_equal(state.shift, 99);
	assert_int_equal(fault(0, 4 * EPOCH, 1), 100);
	evict(5 * EPOCH);
	assert_int_equal(state.shift, 99);
	evict(6 * EPOCH);
	assert_int_equal(state.shift, 39); /* no faults at all */
}

static void test_many_faults(void **unused)
{
	(void)unused;
	(void)fault(0, 0, UINT32_MAX);
	(void)fault(0, 0, 5);
	assert_int_equal(block[0].faults, UINT32_MAX);
	assert_int_equal(fault(0, EPOCH, UINT32_MAX), 51);
}

static void refuse(struct uvmp_early_params bad)
{
	assert_false(uvmp_early_params_is_valid(&bad));
	assert_int_equal(uvmp_early_evict(&bad, &state, 0), UVMP_ERR_ARGUMENT);
}

static void test_params(void **unused)
{
	struct uvmp_early_params bad;

	(void)unused;
	assert_true(uvmp_early_params_is_valid(&params));
	assert_false(uvmp_early_params_is_valid(NULL));
	bad = params, bad.aggressive = 51;
	assert_true(uvmp_early_params_is_valid(&bad));
	bad = params, bad.base = 76;
	assert_true(uvmp_early_params_is_valid(&bad));
	bad = params, bad.cautious = 100;
	assert_true(uvmp_early_params_is_valid(&bad));
	bad = params, bad.hot_percent = 65535;
	assert_true(uvmp_early_params_is_valid(&bad));
	bad = params, bad.step = 99;
	assert_true(uvmp_early_params_is_valid(&bad));
	bad = params, bad.change_percent = 100;
	assert_true(uvmp_early_params_is_valid(&bad));
	REFUSE(epoch_ns, 0);
	REFUSE(aggressive, 0);
	REFUSE(aggressive, 52);
	REFUSE(base, 77);
	REFUSE(cautious, 101);
	REFUSE(cold_percent, 150);
	REFUSE(hot_percent, 65536);
	REFUSE(step, 0);
	REFUSE(step, 100);
	REFUSE(change_percent, 0);
	REFUSE(change_percent, 101);
}

static void test_errors(void **unused)
{
	struct uvmp_early_params bad = params;
	uint32_t threshold = 7;

	(void)unused;
	bad.epoch_ns = 0;
	uvmp_early_params_init(NULL);
	uvmp_early_init(&bad, 5000, &state);
	uvmp_early_init(&params, 5000, NULL);
	assert_int_equal(state.epoch, 0);
	uvmp_early_init(&params, 5000, &state);
	assert_int_equal(state.epoch, 5);
	assert_int_equal(uvmp_early_evict(&params, NULL, 5000), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_early_evict(&params, &state, 4999), UVMP_ERR_STATE);
	assert_int_equal(uvmp_early_fault(&params, NULL, block, 5000, 1, &threshold), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_early_fault(&params, &state, NULL, 5000, 1, &threshold), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_early_fault(&params, &state, block, 5000, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_early_fault(&params, &state, block, 5000, 0, &threshold), UVMP_ERR_RANGE);
	assert_int_equal(threshold, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_rate_of_block, set_up),
	        cmocka_unit_test_setup(test_global_rate, set_up),
	        cmocka_unit_test_setup(test_shift_has_bounds, set_up),
	        cmocka_unit_test_setup(test_many_faults, set_up),
	        cmocka_unit_test_setup(test_params, set_up),
	        cmocka_unit_test_setup(test_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
