/* What the models of real GPUs have from measurements of whole programs (docs/machine.md, "Memory of managed arrays"). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"

#define MIB	 1048576u
#define BIG_PAGE 65536u

static char error[SOURCE_ERROR_MAX > MODEL_ERROR_MAX ? SOURCE_ERROR_MAX : MODEL_ERROR_MAX];
static struct model model;
static struct sim_result result;
static struct sim_times times;

static int load(void **unused)
{
	(void)unused;
	if (!model_open("gtx-1080-ti", NULL, &model, error))
		fail_msg("%s", error);
	return 0;
}

static void run_source(struct source *source, uint64_t memory_bytes)
{
	struct uvmp_policy policy;
	struct sim_run settings = {.policy = &policy, .memory = {.bytes = memory_bytes}, .seed = 1};

	if (!source)
		fail_msg("%s", error);
	assert_int_equal(uvmp_policy_parse("preset=nvidia-595", 17, &policy, NULL), UVMP_OK);
	if (!timed_run(source, &model, &settings, &result, &times, error))
		fail_msg("%s", error);
	source->close(source);
}

static void run(const char *workload, uint64_t memory_bytes)
{
	run_source(workload_open(workload, 1, error), memory_bytes);
}

/* backprop has 13 managed arrays, the largest below 2 MiB here. */
static void test_arrays_are_rounded(void **unused)
{
	(void)unused;
	run("backprop:n=16384", 64 * MIB);
	assert_int_equal(result.footprint_bytes, 13u * 2u * MIB);
	model.range_bytes = BIG_PAGE;
	run("backprop:n=16384", 64 * MIB);
	assert_int_equal(result.footprint_bytes % BIG_PAGE, 0);
	assert_true(result.footprint_bytes < 13u * MIB);
	model.range_bytes = 0;
	run("backprop:n=16384", 64 * MIB);
	assert_true(result.footprint_bytes < 4u * MIB);
}

/* A trace states the sizes that its allocations had. */
static void test_traces_are_not_rounded(void **unused)
{
	static const char trace[] = "uvmp-trace 1\nrange,200000000,4096\nkernel,a\n,0,r,200000000\n";

	(void)unused;
	run_source(trace_open_stream(fmemopen((void *)(uintptr_t)trace, sizeof(trace) - 1, "r"), "t", error), 64 * MIB);
	assert_int_equal(result.footprint_bytes, 4096);
}

/* The nvprof logs of backprop 131056 with room for 8 and for 6 roots: a root for each small array brings all bytes to within
 * one big page of the published ones. Where small arrays share a root, less is evicted. */
static void test_published_bytes(void **unused)
{
	static const struct {
		uint64_t memory, in, out; /* MiB, KiB, KiB */
	} row[] = {{16, 27328, 23168}, {12, 27456, 25344}};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		load(NULL);
		run("backprop:n=131056", row[i].memory * MIB);
		assert_in_range(result.h2d_bytes, row[i].in * 1024 - BIG_PAGE, row[i].in * 1024 + BIG_PAGE);
		assert_in_range(result.d2h_bytes, row[i].out * 1024 - BIG_PAGE, row[i].out * 1024 + BIG_PAGE);
		model.range_bytes = BIG_PAGE;
		run("backprop:n=131056", row[i].memory * MIB);
		assert_true(result.d2h_bytes < row[i].out * 1024 - 4u * MIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_arrays_are_rounded, load),
		cmocka_unit_test_setup(test_traces_are_not_rounded, load),
		cmocka_unit_test_setup(test_published_bytes, load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
