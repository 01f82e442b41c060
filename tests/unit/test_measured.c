/* Measured faults: the reader's errors, and the judge on a program small enough to follow by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "measured.h"

#define HEAD "uvmp-measured 1\n"

static struct measured measured;

static bool read_text(const char *text)
{
	FILE *in = tmpfile();
	bool done;

	assert_non_null(in);
	fputs(text, in);
	rewind(in);
	measured_free(&measured);
	done = measured_read(in, "F", &measured);
	fclose(in);
	return done;
}

static void expect_bad(const char *text, const char *error)
{
	assert_false(read_text(text));
	assert_string_equal(measured.error, error);
}

static void test_reader(void **state)
{
	(void)state;
	assert_true(read_text(
	        HEAD "# c\nprogram a\ntouch cpu 0 512 0,16\nfault gpu 20\ncopy h2d 16 4\ncopy h2d 20 1\n"
	             "copy h2d 21 11\nprogram b\n"));
	assert_int_equal(measured.programs, 2);
	assert_string_equal(measured.program[1], "b");
	assert_int_equal(measured.faults, 3);
	assert_true(measured.fault[0].is_touch && measured.fault[1].is_touch && !measured.fault[2].is_touch);
	assert_int_equal(measured.fault[0].next, 16);
	assert_int_equal(measured.fault[1].next, 512);
	assert_int_equal(measured.fault[2].proc, MEASURED_GPU);
	assert_int_equal(uvmp_mask_weight(&measured.fault[2].moved), 16);
	assert_int_equal(uvmp_mask_weight(&measured.fault[2].starts), 3);
}

static void test_bad_files(void **state)
{
	(void)state;
	expect_bad("", "F:1: empty file; the first line is `uvmp-measured 1`");
	expect_bad("uvmp-measured 2\n",
	           "F:1: not a file of measured faults: the first line must be `uvmp-measured 1`");
	expect_bad(HEAD, "F:1: the file holds no program");
	expect_bad(HEAD "program a\n", "F:2: the file holds no fault: nothing is compared");
	expect_bad(HEAD "program a", "F:2: the file ends within this line: its line feed is missing");
	expect_bad(HEAD "program a\n\n", "F:3: empty line");
	expect_bad(HEAD "program  a\n", "F:2: words must be separated by exactly one blank");
	expect_bad(HEAD "program\n", "F:2: a name of at most 47 bytes must follow `program`");
	expect_bad(HEAD "program a b\n", "F:2: \"b\" is too much");
	expect_bad(HEAD "fault gpu 0\n", "F:2: `program NAME` must come first");
	expect_bad(HEAD "program a\nmove\n", "F:3: \"move\" is not accepted; program, touch, fault or copy");
}

static void test_bad_touch(void **state)
{
	(void)state;
	expect_bad(HEAD "program a\ntouch gpu 0 512 0\n", "F:3: only cpu can touch");
	expect_bad(HEAD "program a\ntouch cpu 512 1 512\n",
	           "F:3: first page \"512\" is not accepted; 0..511");
	expect_bad(HEAD "program a\ntouch cpu 8 505 8\n",
	           "F:3: number of pages \"505\" is not accepted; 1..504");
	expect_bad(HEAD "program a\ntouch cpu 0 512 1\n", "F:3: faults must start with page 0 and ascend");
	expect_bad(HEAD "program a\ntouch cpu 0 512 0,4,4\n",
	           "F:3: faults must start with page 0 and ascend");
	expect_bad(HEAD "program a\ntouch cpu 0 512 0,\n",
	           "F:3: \"\" is not accepted; pages 0..511 separated by commas");
	expect_bad(HEAD "program a\ntouch cpu 0 512\n",
	           "F:3: \"\" is not accepted; pages 0..511 separated by commas");
	expect_bad(HEAD "program a\ntouch cpu 0 512 0\ntouch cpu 0 512 0\n",
	           "F:4: `touch` must directly follow `program`");
}

static void test_bad_faults(void **state)
{
	static const char start[] = HEAD "program a\ntouch cpu 0 32 0\n";
	static const struct {
		const char *lines, *error;
	} bad[] = {
	        {"fault tpu 0\n", "F:4: processor \"tpu\" is not accepted; cpu or gpu"},
	        {"fault gpu 512\n", "F:4: page \"512\" is not accepted; 0..511"},
	        {"fault gpu 0x1\n", "F:4: page \"0x1\" is not accepted; 0..511"},
	        {"fault cpu 1\n", "F:4: page 1 is resident there and cannot fault"},
	        {"fault gpu 1\n", "F:4: no copy before this line moved page 1, which faulted"},
	        {"fault gpu 1\nfault gpu 2\n", "F:5: no copy before this line moved page 1, which faulted"},
	        {"copy h2d 0 1\n", "F:4: a copy without a fault directly before it"},
	        {"fault gpu 1\ncopy d2h 1 1\n",
	         "F:5: direction \"d2h\" is not accepted; h2d after this fault"},
	        {"fault gpu 1\ncopy h2d 1 0\n", "F:5: number of pages \"0\" is not accepted; 1..511"},
	        {"fault gpu 1\ncopy h2d 1 32\n",
	         "F:5: not all of these pages are where they are copied from"},
	        {"fault gpu 1\ncopy h2d 1 4\ncopy h2d 4 2\n", "F:6: copies of one fault must ascend"},
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", start, bad[i].lines);
		expect_bad(text, bad[i].error);
	}
}

/* The walk faults at 0, 16, 32 (with page 32 comes the rest of its 128 KiB). The GPU's first fault brings its
 * 64 KiB; the second was measured in two copies where the library makes one; the third moved less than the
 * library would. */
static void test_judge(void **state)
{
	static const struct {
		bool agrees, has_same_copies;
		uint32_t decided, next;
	} expected[] = {
	        {true, true, 16, 16}, {true, true, 16, 32}, {true, true, 32, 64},
	        {true, true, 16, 0},  {true, false, 16, 0}, {false, false, 32, 0},
	};
	struct measured_model model;
	struct uvmp_policy policy;

	(void)state;
	assert_true(read_text(HEAD "program a\ntouch cpu 0 64 0,16,32\n"
	                           "fault gpu 0\ncopy h2d 0 1\ncopy h2d 1 15\n"
	                           "fault gpu 16\ncopy h2d 16 1\ncopy h2d 17 7\ncopy h2d 24 8\n"
	                           "fault gpu 32\ncopy h2d 32 1\n"));
	assert_int_equal(measured.faults, 6);
	uvmp_policy_init(&policy);
	measured_start(&model, &policy);
	for (size_t i = 0; i < 6; i++) {
		struct measured_verdict verdict;

		assert_int_equal(measured_judge(&model, &measured.fault[i], &verdict), UVMP_OK);
		assert_int_equal(verdict.agrees, expected[i].agrees);
		assert_int_equal(verdict.has_same_copies, expected[i].has_same_copies);
		assert_int_equal(uvmp_mask_weight(&verdict.decided), expected[i].decided);
		if (measured.fault[i].is_touch)
			assert_int_equal(verdict.next, expected[i].next);
	}
	/* Residency is what was measured, not what the library would have done. */
	assert_int_equal(uvmp_mask_weight(&model.resident[MEASURED_GPU]), 33);
	assert_int_equal(uvmp_mask_weight(&model.resident[UVMP_CPU]), 31);
}

/* Every prefetcher can be asked: none of them lacks state. */
static void test_every_prefetcher(void **state)
{
	(void)state;
	assert_true(read_text(HEAD "program a\ntouch cpu 0 512 0\nfault gpu 5\ncopy h2d 5 1\n"));
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		struct measured_verdict verdict;
		struct measured_model model;
		struct uvmp_policy policy;

		uvmp_policy_init(&policy);
		uvmp_prefetch_params_init(&policy.prefetch, (enum uvmp_prefetcher)i);
		measured_start(&model, &policy);
		assert_int_equal(measured_judge(&model, &measured.fault[0], &verdict), UVMP_OK);
		assert_int_equal(measured_judge(&model, &measured.fault[1], &verdict), UVMP_OK);
		assert_true(uvmp_mask_test(&verdict.decided, 5));
	}
}

static int free_measured(void **state)
{
	(void)state;
	measured_free(&measured);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_reader),    cmocka_unit_test(test_bad_files),
	        cmocka_unit_test(test_bad_touch), cmocka_unit_test(test_bad_faults),
	        cmocka_unit_test(test_judge),     cmocka_unit_test(test_every_prefetcher),
	};

	return cmocka_run_group_tests(tests, NULL, free_measured);
}
