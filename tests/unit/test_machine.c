/* The machine: time around the engine. What a run must show whatever the constants are (time adds up,
 * duplicates arise, policies trade what they are known to trade), and the published base cost of the Titan V.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "machine/link.h"
#include "machine/machine.h"

static struct driver_result result;
static struct machine_times times;
static char error[SOURCE_ERROR_MAX];

static bool run(const char *gpu, const char *workload, const char *policy_text, uint32_t oversub_percent)
{
	struct driver_memory memory = {.oversub_percent = oversub_percent};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;
	bool is_done;

	assert_true(model_open(gpu, NULL, &model, error));
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	source = workload_open(workload, 1, error);
	if (!source)
		fail_msg("%s", error);
	is_done = machine_run(source, &model, &policy, memory, 1, NULL, &result, &times, error);
	source->close(source);
	return is_done;
}

/* Allen & Ge 2021, figures 1 and 3: 400 to 600 us below 100 KB of data. */
static void test_base_cost(void **unused)
{
	(void)unused;
	assert_true(run("titan-v", "regular:bytes=4096,passes=1", "prefetch=none", 100));
	assert_in_range(times.time_ns, 400000, 600000);
	assert_true(run("titan-v", "regular:bytes=98304,passes=1", "prefetch=none", 100));
	assert_in_range(times.time_ns, 400000, 600000);
	assert_int_equal(result.far_faults, 24);
	assert_int_equal(result.accesses, 24);
}

/* The driver's thread does one thing at a time, and is idle before the GPU asks. */
static void test_times_add_up(void **unused)
{
	static const char *const policies[] = {"prefetch=none", "prefetch=density", "replay=once",
	                                       "replay=block batch=64", "plan=overlapped"};

	(void)unused;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		uint64_t sum;

		assert_true(run("titan-v", "regular:bytes=16m,passes=2", policies[i], 125));
		sum = times.fetch_ns + times.order_ns + times.service_ns + times.migrate_ns + times.map_ns +
		      times.evict_ns + times.replay_ns + times.idle_ns;
		assert_true(sum <= times.time_ns);
		assert_true(times.compute_ns <= times.time_ns);
		assert_true(result.evictions > 0);
		assert_int_equal(result.pages_touched, 4096);
		assert_int_equal(result.accesses, 2 * 4096);
	}
}

static void test_same_again(void **unused)
{
	struct driver_result first;
	struct machine_times first_times;

	(void)unused;
	assert_true(run("gtx-1080-ti", "random:bytes=16m,passes=2", "preset=nvidia-595", 150));
	first = result;
	first_times = times;
	assert_true(run("gtx-1080-ti", "random:bytes=16m,passes=2", "preset=nvidia-595", 150));
	assert_memory_equal(&first, &result, sizeof(result));
	assert_memory_equal(&first_times, &times, sizeof(times));
}

/* Many warps that want the same page fault on it several times (NVIDIA blog 2017: up to 114 in a group); a
 * warp per page does not. */
static void test_duplicates(void **unused)
{
	uint64_t shared;

	(void)unused;
	assert_true(run("p100-nvlink", "stream_thread:bytes=16m", "preset=nvidia-595", 100));
	shared = result.faults_raw;
	assert_true(result.faults_raw > 2 * result.far_faults);
	assert_true(run("p100-nvlink", "stream_warp:bytes=16m", "preset=nvidia-595", 100));
	assert_true(result.faults_raw < shared / 2);
	assert_int_equal(result.h2d_bytes, 16u << 20);
}

/* Allen & Ge 2021, figure 5: without the flush the replay policy costs next to nothing, and fetching much
 * more. */
static void test_batch_policy(void **unused)
{
	struct machine_times flush;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=64m,passes=1", "replay=batch_flush", 100));
	flush = times;
	assert_true(run("titan-v", "regular:bytes=64m,passes=1", "replay=batch", 100));
	assert_true(times.replay_ns < flush.replay_ns / 4);
	assert_true(times.fetch_ns + times.order_ns > 2 * (flush.fetch_ns + flush.order_ns));
}

/* Evictions that run beside the migration take no longer than those before it. */
static void test_overlap(void **unused)
{
	uint64_t serial;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=64m,passes=3", "plan=serial", 150));
	serial = times.time_ns;
	assert_true(run("titan-v", "regular:bytes=64m,passes=3", "plan=overlapped", 150));
	assert_true(times.time_ns <= serial);
}

/* A host with 64 KiB pages moves whole ones. */
static void test_large_pages(void **unused)
{
	(void)unused;
	assert_true(run("p100-nvlink", "regular:bytes=4m,passes=1", "prefetch=none", 100));
	assert_int_equal(result.h2d_bytes, 4u << 20);
	assert_int_equal(result.pages_touched, 64);
}

static void test_errors(void **unused)
{
	static const char trace[] = "uvmp-trace 1\nrange,200000000,4096\n,0,r,200000000\n";
	struct driver_memory memory = {.oversub_percent = 100};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;
	FILE *in;

	(void)unused;
	uvmp_policy_init(&policy);
	assert_true(model_open("titan-v", NULL, &model, error));
	in = fmemopen((void *)(uintptr_t)trace, sizeof(trace) - 1, "r");
	assert_non_null(in);
	source = trace_open_stream(in, "t", error);
	assert_non_null(source);
	assert_false(machine_run(source, &model, &policy, memory, 1, NULL, &result, &times, error));
	assert_non_null(strstr(error, "a trace has no thread blocks"));
	source->close(source);
	source = workload_open("regular:bytes=16m,threads=1024", 1, error);
	assert_non_null(source);
	model.warps_per_sm = 16;
	assert_false(machine_run(source, &model, &policy, memory, 1, NULL, &result, &times, error));
	assert_non_null(strstr(error, "a thread block of 32 warps does not fit an SM"));
	source->close(source);
}

static void test_link(void **unused)
{
	struct model model;
	struct link link = {.model = &model};
	uint64_t first, second;

	(void)unused;
	assert_true(model_open("titan-v", NULL, &model, error));
	first = link_copy(&link, MODEL_TO_GPU, 1000, 65536);
	assert_int_equal(first, 1000 + model_link_ns(&model, MODEL_TO_GPU, 65536));
	second = link_copy(&link, MODEL_TO_GPU, 1000, 4096); /* waits for the first */
	assert_int_equal(second, first + model_link_ns(&model, MODEL_TO_GPU, 4096));
	assert_int_equal(link_copy(&link, MODEL_TO_CPU, 1000, 4096), /* the other direction is free */
	                 1000 + model_link_ns(&model, MODEL_TO_CPU, 4096));
	assert_int_equal(link.engine[MODEL_TO_GPU].copies, 2);
	assert_int_equal(link.engine[MODEL_TO_GPU].bytes, 65536 + 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_base_cost),    cmocka_unit_test(test_times_add_up),
	        cmocka_unit_test(test_same_again),   cmocka_unit_test(test_duplicates),
	        cmocka_unit_test(test_batch_policy), cmocka_unit_test(test_overlap),
	        cmocka_unit_test(test_large_pages),  cmocka_unit_test(test_errors),
	        cmocka_unit_test(test_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
