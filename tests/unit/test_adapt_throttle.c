/* adapt.h: ETC's throttling and its choice of techniques (Li et al., ASPLOS'19, as Kim et al. tell it). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/adapt.h"
#include "uvmpolicy/policy.h"

/* These parameters with one field changed are not accepted. */
#define REFUSE(field, value) (bad = params, bad.field = (value), refuse(bad))

static struct uvmp_throttle_params params;
static struct uvmp_throttle_state state;

static int set_up(void **unused)
{
	(void)unused;
	uvmp_throttle_params_init(&params);
	params.initial = 100;
	params.detect = 10;
	params.execute = 50;
	uvmp_throttle_init(&state);
	return 0;
}

static void step(uint32_t faults, uint32_t refaults, uint32_t evicted, uint64_t now)
{
	assert_int_equal(uvmp_throttle_step(&params, faults, refaults, evicted, now, &state), UVMP_OK);
}

static void expect(enum uvmp_throttle_phase phase, uint32_t throttled)
{
	assert_int_equal(state.phase, phase);
	assert_int_equal(state.throttled, throttled);
}

/* Footnote 8: half of the SMs in the beginning, then a detection and an execution epoch in turns. */
static void test_epochs(void **unused)
{
	(void)unused;
	step(1000, 0, 0, 5);
	expect(UVMP_THROTTLE_IDLE, 0);
	step(10, 0, 1, 10);
	expect(UVMP_THROTTLE_INITIAL, 8);
	step(10, 10, 10, 109);
	expect(UVMP_THROTTLE_INITIAL, 8);
	step(10, 10, 10, 110);
	expect(UVMP_THROTTLE_DETECT, 8);
	step(60, 15, 1, 119);
	step(40, 5, 1, 120); /* 20 of 100 */
	expect(UVMP_THROTTLE_EXECUTE, 9);
	step(100, 0, 1, 169);
	expect(UVMP_THROTTLE_EXECUTE, 9);
	step(100, 0, 1, 170); /* what execution epochs see does not count */
	expect(UVMP_THROTTLE_DETECT, 9);
	step(100, 5, 1, 180); /* between 5 % and 20 % */
	expect(UVMP_THROTTLE_EXECUTE, 9);
	step(0, 0, 0, 230);
	step(100, 4, 1, 240);
	expect(UVMP_THROTTLE_EXECUTE, 8);
	step(0, 0, 0, 290);
	step(0, 0, 0, 300); /* no faults at all */
	expect(UVMP_THROTTLE_EXECUTE, 7);
}

static void test_bounds(void **unused)
{
	(void)unused;
	params.sms = 3;
	params.min_running = 3;
	step(0, 0, 1, 0);
	expect(UVMP_THROTTLE_INITIAL, 0);
	set_up(NULL);
	params.step = 10;
	step(0, 0, 1, 0);
	step(0, 0, 0, 100);
	step(10, 10, 1, 110);
	expect(UVMP_THROTTLE_EXECUTE, 15); /* one runs */
	step(0, 0, 0, 160);
	step(0, 0, 0, 170);
	step(0, 0, 0, 220);
	step(0, 0, 0, 230);
	expect(UVMP_THROTTLE_EXECUTE, 0);
	step(0, 0, 0, UINT64_MAX - 5);
	assert_true(state.until == UINT64_MAX);
}

static void refuse(struct uvmp_throttle_params bad)
{
	assert_false(uvmp_throttle_params_is_valid(&bad));
	assert_int_equal(uvmp_throttle_step(&bad, 0, 0, 0, 0, &state), UVMP_ERR_ARGUMENT);
}

static void test_errors(void **unused)
{
	struct uvmp_throttle_params bad;

	(void)unused;
	assert_true(uvmp_throttle_params_is_valid(&params));
	assert_false(uvmp_throttle_params_is_valid(NULL));
	bad = params, bad.sms = 65535;
	assert_true(uvmp_throttle_params_is_valid(&bad));
	bad = params, bad.min_running = 16;
	assert_true(uvmp_throttle_params_is_valid(&bad));
	bad = params, bad.step = 65535;
	assert_true(uvmp_throttle_params_is_valid(&bad));
	bad = params, bad.thrash_percent = 100;
	assert_true(uvmp_throttle_params_is_valid(&bad));
	bad = params, bad.calm_percent = 20;
	assert_true(uvmp_throttle_params_is_valid(&bad));
	REFUSE(sms, 65536);
	REFUSE(min_running, 0);
	REFUSE(min_running, 17);
	REFUSE(step, 0);
	REFUSE(step, 65536);
	REFUSE(initial, 0);
	REFUSE(detect, 0);
	REFUSE(execute, 0);
	REFUSE(calm_percent, 0);
	REFUSE(calm_percent, 21);
	REFUSE(thrash_percent, 101);
	assert_int_equal(uvmp_throttle_step(&params, 0, 0, 0, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_throttle_step(&params, 1, 2, 0, 0, &state), UVMP_ERR_RANGE);
	state.throttled = 16;
	assert_int_equal(uvmp_throttle_step(&params, 0, 0, 0, 0, &state), UVMP_ERR_RANGE);
	uvmp_throttle_params_init(NULL);
	uvmp_throttle_init(NULL);
}

/* -- the three techniques -- */

static void test_classes(void **unused)
{
	static const enum uvmp_pattern patterns[] = {UVMP_PATTERN_UNDECIDED, UVMP_PATTERN_LINEAR,
	                                             UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_LINEAR,
	                                             UVMP_PATTERN_RANDOM};

	(void)unused;
	assert_int_equal(uvmp_etc_classify(NULL, 1), UVMP_ETC_REGULAR);
	assert_int_equal(uvmp_etc_classify(patterns, 0), UVMP_ETC_REGULAR);
	assert_int_equal(uvmp_etc_classify(patterns, 2), UVMP_ETC_REGULAR);
	assert_int_equal(uvmp_etc_classify(patterns, 4), UVMP_ETC_REGULAR_SHARED);
	assert_int_equal(uvmp_etc_classify(patterns, 5), UVMP_ETC_IRREGULAR);
}

/* ETC: proactive eviction is off for irregular programs. */
static void test_techniques(void **unused)
{
	(void)unused;
	assert_int_equal(uvmp_etc_techniques(UVMP_ETC_REGULAR), UVMP_ETC_EVICTION);
	assert_int_equal(uvmp_etc_techniques(UVMP_ETC_REGULAR_SHARED),
	                 UVMP_ETC_EVICTION | UVMP_ETC_THROTTLING | UVMP_ETC_COMPRESSION);
	assert_int_equal(uvmp_etc_techniques(UVMP_ETC_IRREGULAR), UVMP_ETC_THROTTLING | UVMP_ETC_COMPRESSION);
	assert_int_equal(uvmp_etc_techniques((enum uvmp_etc_class)7),
	                 UVMP_ETC_EVICTION | UVMP_ETC_THROTTLING | UVMP_ETC_COMPRESSION);
}

/* Keys to append to preset=etc for a program with these patterns. */
static const char *etc_keys(const enum uvmp_pattern *pattern, uint32_t count)
{
	uint32_t techniques = uvmp_etc_techniques(uvmp_etc_classify(pattern, count));

	if ((techniques & UVMP_ETC_EVICTION) == 0)
		return ""; /* irregular: preset=etc as it is */
	if ((techniques & UVMP_ETC_THROTTLING) != 0)
		return "free_buffer=5";                          /* data is used again */
	return "free_buffer=5 sm_throttle=off memory_ratio=100"; /* no reuse */
}

/* docs/embedding.md: the policy of a program has the techniques of its class. */
static void test_policy_of_a_class(void **unused)
{
	static const enum uvmp_pattern pattern[] = {UVMP_PATTERN_LINEAR, UVMP_PATTERN_LINEAR_REUSE,
	                                            UVMP_PATTERN_RANDOM};

	(void)unused;
	for (uint32_t count = 1; count <= 3; count++) {
		uint32_t techniques = uvmp_etc_techniques(uvmp_etc_classify(pattern, count));
		char text[UVMP_POLICY_TEXT_MAX] = "preset=etc ";
		struct uvmp_policy policy;

		strcat(text, etc_keys(pattern, count));
		assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
		assert_int_equal(policy.free_buffer != 0, (techniques & UVMP_ETC_EVICTION) != 0);
		assert_int_equal(policy.controls.sm_throttle, (techniques & UVMP_ETC_THROTTLING) != 0);
		assert_int_equal(policy.memory_ratio > 100, (techniques & UVMP_ETC_COMPRESSION) != 0);
	}
}

static void test_evicts_ahead(void **unused)
{
	(void)unused;
	assert_true(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 9, 100, 10));
	assert_false(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 10, 100, 10));
	assert_true(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 10, 101, 10)); /* 10.1 */
	assert_false(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 0, 100, 0));
	assert_false(uvmp_etc_evicts_ahead(UVMP_ETC_THROTTLING, 0, 100, 10));
	assert_false(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 101, 100, 100));
	assert_false(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, 0, 100, 101));
	assert_true(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, UINT64_MAX - 1, UINT64_MAX, 100));
}

static void test_capacity(void **unused)
{
	const uint64_t mib = 1024 * 1024;

	(void)unused;
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, 100 * mib, 150, 4096), 150 * mib);
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_EVICTION, 100 * mib, 150, 4096), 100 * mib);
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, 100 * mib, 99, 4096), 100 * mib);
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, 8192, 199, 4096), 12288); /* 16302 */
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, 8192, 150, 0), 0);
	assert_true(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, UINT64_MAX / 2, 250, 1) == UINT64_MAX);
	assert_true(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, UINT64_MAX, 101, 1) == UINT64_MAX);
	/* the hundredths alone are too much already */
	assert_true(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, UINT64_MAX - 16, 200, 1) == UINT64_MAX);
	assert_true(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, UINT64_MAX / 2, 200, 1) == UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_epochs, set_up),
	        cmocka_unit_test_setup(test_bounds, set_up),
	        cmocka_unit_test_setup(test_errors, set_up),
	        cmocka_unit_test(test_classes),
	        cmocka_unit_test(test_techniques),
	        cmocka_unit_test(test_policy_of_a_class),
	        cmocka_unit_test(test_evicts_ahead),
	        cmocka_unit_test(test_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
