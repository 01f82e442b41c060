/* The timed simulator. What a run must show with any constants (time adds up, duplicates arise, policies have
 * their known trade-offs), the published base cost of the Titan V, and programs and their traces.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/seed.h"
#include "timed/link.h"
#include "timed/timed.h"
#include "timed/thread.h"
#include "trace_write.h"

static struct sim_result result;
static struct sim_times times;
static char error[SOURCE_ERROR_MAX];

static bool run_source(const char *gpu, struct source *source, const char *policy_text,
		       struct sim_memory memory)
{
	struct uvmp_policy policy;
	struct model model;
	bool is_done;

	if (!source)
		fail_msg("%s", error);
	assert_true(model_open(gpu, NULL, &model, error));
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	is_done = timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result,
			    &times, error);
	source->close(source);
	return is_done;
}

static bool run(const char *gpu, const char *workload, const char *policy_text, uint32_t oversub_percent)
{
	return run_source(gpu, workload_open(workload, 1, error), policy_text,
			  (struct sim_memory){.oversub_percent = oversub_percent});
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
		assert_true(times.idle_ns <= times.kernel_ns);
		assert_true(times.compute_ns <= times.time_ns);
		assert_true(result.evictions > 0);
		assert_int_equal(result.pages_touched, 4096);
		assert_int_equal(result.accesses, 2 * 4096);
	}
}

static void test_same_again(void **unused)
{
	struct sim_result first;
	struct sim_times first_times;

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

/* Duplicates and stale entries cost less than entries that are serviced. Without remote pages, those are as many as pages
 * that came for a fault. */
static void test_serviced(void **unused)
{
	static const struct {
		const char *workload, *policy;
		uint32_t percent;
	} row[] = {
		{"regular:bytes=32m,passes=2", "prefetch=none", 100},
		{"regular:bytes=32m,passes=2", "preset=nvidia-595", 150},
		{"regular:bytes=32m,passes=2,write=1", "preset=granularity-64k", 150},
		{"ra:n=2097152", "replay=batch evict=lru4k", 150},
		{"ra:n=524288", "replay=batch", 150},
		{"stream_thread:bytes=16m", "replay=block batch=64", 100},
	};
	char name[] = "/tmp/test_timed_XXXXXX";
	FILE *file = fdopen(mkstemp(name), "w");

	(void)unused;
	assert_non_null(file);
	fprintf(file, "include = titan-v\nblock_ns = 0\nskip_ns = 3\nfault_ns = 1000\n");
	fclose(file);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_true(run(name, row[i].workload, row[i].policy, row[i].percent));
		assert_true(result.faults_coalesced > result.far_faults + 100);
		assert_int_equal(times.faults_serviced, result.far_faults);
		assert_int_equal(times.service_ns, result.faults_coalesced * 3 + result.far_faults * 1000);
	}
	remove(name);
}

/* Orders of 2 MiB and the driver's roots hold the same pages: in streams they evict alike, and the time is the same. */
static void test_units_count(void **unused)
{
	struct sim_times roots;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=16m,passes=2", "preset=nvidia-595", 150));
	assert_true(result.evictions > 0 && result.pages_evicted < result.evictions * 500);
	roots = times;
	assert_true(run("titan-v", "regular:bytes=16m,passes=2", "preset=nvidia-595 evict=lru2m", 150));
	assert_memory_equal(&roots, &times, sizeof(times));
}

/* The largest end of a frame that the decision log names, and how many. */
static uint64_t frames_end(FILE *log, uint32_t *frames)
{
	char line[1024];
	uint64_t end = 0;

	*frames = 0;
	rewind(log);
	while (fgets(line, sizeof(line), log)) {
		const char *bytes = strstr(line, " detail="), *offset = strstr(line, " offset=");
		uint64_t own;

		if (!strstr(line, " allocate ") || !bytes)
			continue;
		own = strtoull(bytes + 8, NULL, 10) + (offset ? strtoull(offset + 8, NULL, 16) : 0);
		end = own > end ? own : end;
		++*frames;
	}
	return end;
}

/* One preset with memory of a few roots. */
static void few_roots(const char *preset, uint64_t roots)
{
	struct source *source = workload_open("stream:bytes=2m,passes=1", 1, error);
	struct uvmp_policy policy;
	struct model model;
	uint32_t frames;
	FILE *log = tmpfile();

	assert_non_null(log);
	assert_non_null(source);
	assert_true(model_open("titan-v", NULL, &model, error));
	assert_int_equal(uvmp_policy_parse(preset, strlen(preset), &policy, NULL), UVMP_OK);
	if (!timed_run(source, &model, &(struct sim_run){&policy, {roots << 21, 100}, 1, {.file = log}, 0, NULL},
		       &result, &times, error))
		fail_msg("%s, %u roots: %s", preset, (unsigned)roots, error);
	assert_in_range(frames_end(log, &frames), 65536, (roots << 21) * policy.memory_ratio / 100u);
	assert_true(frames != 0);
	source->close(source);
	fclose(log);
}

/* With memory of one to three roots every preset makes progress, and its frames lie within the memory. Cases are drawn. */
static void test_few_roots(void **unused)
{
	const uint64_t seed = test_seed();
	uint32_t presets = 0;

	(void)unused;
	while (uvmp_policy_preset_at(presets) != NULL)
		presets++;
	for (uint32_t i = 0; i < 3u * presets; i++)
		if (test_is_chosen(seed, i, 3u * presets))
			few_roots(uvmp_policy_preset_at(i / 3u)->name, 1u + i % 3u);
}

/* Allen & Ge 2021, figure 5: without the flush the replay policy costs next to nothing, and fetching much
 * more. */
static void test_batch_policy(void **unused)
{
	struct sim_times flush;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=64m,passes=1", "replay=batch_flush", 100));
	flush = times;
	assert_true(run("titan-v", "regular:bytes=64m,passes=1", "replay=batch", 100));
	assert_true(times.replay_ns < flush.replay_ns / 4);
	assert_true(times.fetch_ns + times.order_ns > 2 * (flush.fetch_ns + flush.order_ns));
}

/* Evictions that run beside the migration take no longer than those before it, but for the one more at the
 * end. */
static void test_overlap(void **unused)
{
	uint64_t serial;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=64m,passes=3", "plan=serial", 150));
	serial = times.time_ns;
	assert_true(run("titan-v", "regular:bytes=64m,passes=3", "plan=overlapped", 150));
	assert_true(times.time_ns <= serial + serial / 1000);
}

/* Time of two passes over 24 MiB in 16 MiB. */
static uint64_t taking_turns(uint32_t waits_to_evict, const char *policy_text)
{
	struct source *source = workload_open("regular:bytes=24m,passes=2", 1, error);
	struct uvmp_policy policy;
	struct model model;

	assert_true(model_open("asplos20", NULL, &model, error));
	model.waits_to_evict = waits_to_evict;
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	assert_true(timed_run(source, &model,
			      &(struct sim_run){&policy, {.bytes = 16u << 20}, 1, {.file = NULL}, 0, NULL}, &result,
			      &times, error));
	source->close(source);
	return times.time_ns;
}

/* waits_to_evict: serial evictions do not share the link with the copies to the GPU before them, so that each evicted
 * page of 64 KiB costs its 4.16 us. Evictions of other plans do not wait. */
static void test_taking_turns(void **unused)
{
	uint64_t alone;

	(void)unused;
	alone = taking_turns(1, "preset=batch-aware-base");
	assert_true(result.d2h_bytes > 8u << 20);
	assert_true(times.time_ns > (result.h2d_bytes + result.d2h_bytes) / 15750u * 1000u);
	assert_true(taking_turns(0, "preset=batch-aware-base") < alone - alone / 20u);
	assert_int_equal(taking_turns(0, "preset=batch-aware-ue"), taking_turns(1, "preset=batch-aware-ue"));
}

/* A host with 64 KiB pages moves whole ones. */
static void test_large_pages(void **unused)
{
	(void)unused;
	assert_true(run("p100-nvlink", "regular:bytes=4m,passes=1", "prefetch=none", 100));
	assert_int_equal(result.h2d_bytes, 4u << 20);
	assert_int_equal(result.pages_touched, 64);
}

/* A program's CPU works before, between and after its kernels. The figures are those of a real GTX 1080 Ti
 * (nvprof logs of the UVM Smart artifact): 44.0 MiB in, 42.0 MiB back in 43 copies, 36 CPU faults. */
static void test_program(void **unused)
{
	(void)unused;
	assert_true(run_source("gtx-1080-ti",
			       workload_open("hotspot:n=1024,pyramid_height=2,sim_time=8,cpu=2", 1, error),
			       "preset=nvidia-595", (struct sim_memory){.bytes = 10u << 20}));
	assert_int_equal(result.h2d_bytes, 44u << 20);
	assert_int_equal(result.d2h_bytes, 42u << 20);
	assert_int_equal(result.d2h_copies, 43);
	assert_int_equal(result.cpu_faults, 36);
	assert_int_equal(result.evictions, 19);
	assert_true(times.kernel_ns + times.cpu_ns <= times.time_ns);
	assert_true(times.compute_ns <= times.kernel_ns);
	assert_true(times.cpu_ns >= 36 * 35000);
}

/* Kernels one after another, with nothing between them. */
static void test_kernels_add_up(void **unused)
{
	(void)unused;
	assert_true(run("titan-v", "regular:bytes=4m,passes=5", "prefetch=none", 100));
	assert_in_range(times.time_ns - times.kernel_ns, 0, 5 * 1000); /* a quantum each */
	assert_int_equal(times.cpu_ns, 0);
	assert_true(times.compute_ns <= times.kernel_ns);
	assert_true(run("titan-v", "regular:bytes=4m,passes=1", "prefetch=none", 100));
	assert_true(times.kernel_ns <= times.time_ns);
}

/* Faults for which no warp waits, in the GPU's buffer and in the engine's, do not delay the end. */
static void test_leftover_faults(void **unused)
{
	static const char *const policies[] = {"replay=once batch=8 max_batches=1",
					       "replay=block batch=8 max_batches=1",
					       "replay=batch batch=8 max_batches=1"};

	(void)unused;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		assert_true(run("p100-pcie", "random:bytes=2m,passes=2,agents=64", policies[i], 100));
		assert_int_equal(result.pages_migrated, 512);
		assert_int_equal(result.accesses, 1024);
		assert_true(times.idle_ns <= times.kernel_ns);
		assert_true(times.kernel_ns <= times.time_ns);
	}
}

/* The driver sleeps while a kernel runs that needs nothing; before and after it that is not idleness. */
static void test_idle(void **unused)
{
	(void)unused;
	assert_true(run_source("p100-pcie", workload_open("stream_warp:bytes=4m,move=prefetch", 1, error),
			       "prefetch=none", (struct sim_memory){.bytes = 16u << 20}));
	assert_int_equal(result.faults_raw, 0);
	assert_int_equal(times.idle_ns, times.kernel_ns);
	assert_true(times.kernel_ns < times.time_ns);
}

static void run_on(const struct model *model, const char *workload)
{
	struct source *source = workload_open(workload, 1, error);
	struct uvmp_policy policy;

	assert_non_null(source);
	uvmp_policy_init(&policy);
	assert_true(timed_run(source, model,
			      &(struct sim_run){&policy, (struct sim_memory){.bytes = 16u << 20}, 1, {.file = NULL}, 0, NULL},
			      &result, &times, error));
	source->close(source);
}

/* A fault group begins with its oldest fault: before the bottom half has woken up, or while the batch before it is serviced. */
static void test_groups_begin_with_faults(void **unused)
{
	struct model model;

	(void)unused;
	assert_true(model_open("titan-xp", NULL, &model, error));
	run_on(&model, "regular:bytes=4096,passes=1");
	assert_int_equal(result.batches, 1);
	assert_int_equal(times.group_ns.most, times.batch_ns.most + model.interrupt_ns + model.wakeup_ns);
	assert_int_equal(times.group_handling_ns.most, times.handling_ns.most + model.interrupt_ns + model.wakeup_ns);
	run_on(&model, "ra:n=262144");
	assert_true(spread_mean(&times.group_ns) > spread_mean(&times.batch_ns) + 2 * (model.interrupt_ns + model.wakeup_ns));
	assert_true(times.group_ns.sum - times.group_handling_ns.sum == times.batch_ns.sum - times.handling_ns.sum);
}

/* Neither a buffer below a batch nor one of a few entries stops a run; a batch takes what is there. */
static void test_small_buffer(void **unused)
{
	struct sim_memory memory = {.oversub_percent = 125};
	struct uvmp_policy policy;
	struct model model;

	(void)unused;
	uvmp_policy_init(&policy);
	assert_true(model_open("titan-v", NULL, &model, error));
	for (model.fault_entries = 32; model.fault_entries <= 512; model.fault_entries *= 16) {
		struct source *source = workload_open("random:bytes=16m,passes=2", 1, error);

		assert_true(timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL},
				      &result, &times, error));
		source->close(source);
		assert_int_equal(times.batch_faults.most, model.fault_entries == 32 ? 31 : 256);
		assert_int_equal(result.pages_touched, 4096);
	}
}

/* Policies with which no warp can continue: the run reports the reason soon, even if other work remains. */
static void test_given_up(void **unused)
{
	static const char *const never[] = {"max_batches=0", "max_throttled=0", "counters=on max_batches=0",
					    "counters=on max_throttled=0 counter_threshold=1"};
	struct sim_memory memory = {.bytes = 16u << 20};

	(void)unused;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		assert_false(run("titan-v", "regular:bytes=4m", never[i], 100));
		assert_non_null(strstr(error, "never services a fault: max_batches and max_throttled"));
		assert_int_equal(result.faults_raw, 0);
	}
	/* an advised page is counted, and another one faults */
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		static const char trace[] = "uvmp-trace 1\nrange,200000000,4194304\n"
					    "advise,preferred,cpu,200000000,2097152\n"
					    "advise,accessed-by,gpu,200000000,2097152\nkernel,a\n"
					    ",0,r,200000000\n,0,r,200001000\n,1,r,200200000\n";
		FILE *in = fmemopen((void *)(uintptr_t)trace, sizeof(trace) - 1, "r");

		assert_non_null(in);
		assert_false(run_source("titan-v", trace_open_stream(in, "t", error), never[i], memory));
		assert_non_null(strstr(error, "t: this policy never services a fault")); /* no line */
	}
}

/* More prefetches than a stream takes at a time: two for each tile, and another thread is slow to do them. */
static void test_full_stream(void **unused)
{
	struct sim_memory memory = {.bytes = 16u << 20};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;

	(void)unused;
	uvmp_policy_init(&policy);
	assert_true(model_open("p100-pcie", NULL, &model, error));
	model.prefetch_call_ns = 0;
	model.prefetch_defer_ns = 1000000;
	source = workload_open("tiles:tiles=700,tile=2m,order=move", 1, error);
	assert_non_null(source);
	assert_true(timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result,
			      &times, error));
	source->close(source);
	assert_int_equal(result.h2d_bytes, 700u << 21);
	assert_int_equal(result.d2h_bytes, 700u << 21);
	assert_true(times.time_ns > 1390 * (uint64_t)model.prefetch_defer_ns);
	assert_in_range(times.cpu_ns, 1,
			1000000); /* waiting for room is in no call: the first one is its own */
}

/* -- programs and their traces -- */

static FILE *record(const char *workload)
{
	struct source *source = workload_open(workload, 1, error);
	FILE *file = tmpfile();
	struct trace_writer *writer;
	struct source_row row;

	assert_non_null(source);
	assert_non_null(file);
	writer = trace_write_open(file, "t", 0, NULL, error);
	assert_non_null(writer);
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row))
		assert_true(trace_write_row(writer, &row, error));
	assert_true(trace_write_close(writer, error));
	source->close(source);
	rewind(file);
	return file;
}

/* The times differ: a trace does not tell what is computed, nor which threads share a page. Nor are its ranges rounded. */
static void test_trace_of_program(void **unused)
{
	static const char *const specs[] = {"regular:bytes=4m,passes=2", "random:bytes=4m",
					    "hotspot:n=128,pyramid_height=2,sim_time=8,cpu=2",
					    "stream_warp:bytes=2m,move=prefetch", "tiles:tiles=2,tile=1m"};

	char name[] = "/tmp/test_timed_XXXXXX";
	FILE *file = fdopen(mkstemp(name), "w");

	(void)unused;
	assert_non_null(file);
	fprintf(file, "include = p100-pcie\nrange_bytes = 0\n");
	fclose(file);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		const struct sim_memory memory = {.bytes = 64u << 20};
		struct sim_result program;

		assert_true(run_source(name, workload_open(specs[i], 1, error), "prefetch=none", memory));
		program = result;
		if (!run_source(name, trace_open_stream(record(specs[i]), "t", error), "prefetch=none",
				memory))
			fail_msg("%s: %s", specs[i], error);
		assert_int_equal(result.footprint_bytes, program.footprint_bytes);
		assert_int_equal(result.pages_touched, program.pages_touched);
		assert_int_equal(result.h2d_bytes, program.h2d_bytes);
		assert_int_equal(result.d2h_bytes, program.d2h_bytes);
		assert_int_equal(result.cpu_faults, program.cpu_faults);
		assert_true(times.time_ns > 0);
	}
	remove(name);
}

/* The error of the source, and what was counted until then. */
static void test_broken_trace(void **unused)
{
	static const char trace[] =
		"uvmp-trace 1\nrange,200000000,4194304\nkernel,a\n,0,r,200000000\n,1,r,200001000\n"
		"kernel,b\n,0,r,200002000\n,0,x,200003000\n";
	FILE *in = fmemopen((void *)(uintptr_t)trace, sizeof(trace) - 1, "r");

	(void)unused;
	assert_non_null(in);
	assert_false(run_source("titan-v", trace_open_stream(in, "t", error), "prefetch=none",
				(struct sim_memory){.oversub_percent = 100}));
	assert_non_null(strstr(error, "t:8: access `x` is not one of r, w, a, p"));
	assert_int_equal(result.accesses, 2);
	assert_int_equal(result.h2d_bytes, 2 * 4096);
	assert_true(times.time_ns > 0);
}

static void test_errors(void **unused)
{
	struct sim_memory memory = {.oversub_percent = 100};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;

	(void)unused;
	uvmp_policy_init(&policy);
	assert_true(model_open("titan-v", NULL, &model, error));
	source = workload_open("regular:bytes=16m,threads=1024", 1, error);
	assert_non_null(source);
	model.warps_per_sm = 16;
	assert_false(timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result,
			       &times, error));
	assert_non_null(strstr(error, "a thread block of 32 warps does not fit an SM"));
	source->close(source);
}

/* The link of a Titan V, without compression. */
static void open_link(struct link *link, struct model *model)
{
	assert_true(model_open("titan-v", NULL, model, error));
	*link = (struct link){.model = model, .ratio_percent = 100};
}

static void test_link(void **unused)
{
	struct model model;
	struct link link;
	uint64_t first, second;

	(void)unused;
	open_link(&link, &model);
	first = link_copy(&link, MODEL_TO_GPU, 1000, 65536);
	assert_int_equal(first, 1000 + model_link_ns(&model, MODEL_TO_GPU, 65536));
	second = link_copy(&link, MODEL_TO_GPU, 1000, 4096); /* waits for the first */
	assert_int_equal(second, first + model_link_ns(&model, MODEL_TO_GPU, 4096));
	assert_int_equal(link_copy(&link, MODEL_TO_CPU, 1000, 4096), /* the other direction is free */
			 1000 + model_link_ns(&model, MODEL_TO_CPU, 4096));
}

/* Remote accesses of 128 bytes run at the link's rate, requests of 32 bytes at that of requests. */
static void test_remote_requests(void **unused)
{
	struct model model;
	struct link link;
	uint64_t mb_s, end_ns = 0;

	(void)unused;
	open_link(&link, &model);
	mb_s = model_link_mb_s(&model.link, MODEL_TO_GPU);
	for (unsigned i = 0; i < 8192; i++)
		end_ns = link_remote(&link, MODEL_TO_GPU, 1000, 1000, (struct link_load){128, 1});
	assert_int_equal(end_ns, 1000 + 8192u * 128u * 1000u / mb_s);
	end_ns = link_remote(&link, MODEL_TO_GPU, 1000000, 1000000, (struct link_load){32u * 8192u, 8192});
	assert_in_range(end_ns - 1000000, 8192u * 78u * 1000u / mb_s, 8192u * 78u * 1000u / mb_s + 1u);
	/* CUDA Handbook 6.6: uncoalesced accesses to mapped memory are two to six times slower */
	assert_in_range((end_ns - 1000000) * mb_s / (32u * 8192u), 2000, 6000);
	/* the other direction is free, and 0 means no limit */
	model.link.request_bytes[MODEL_TO_CPU] = 0;
	mb_s = model_link_mb_s(&model.link, MODEL_TO_CPU);
	assert_int_equal(link_remote(&link, MODEL_TO_CPU, 1000, 1000, (struct link_load){32u * 8192u, 8192}),
			 1000 + 32u * 8192u * 1000u / mb_s);
	/* an access that is issued late in the quantum ends after its own time */
	assert_int_equal(link_remote(&link, MODEL_TO_CPU, 9000000, 9000400, (struct link_load){130590, 1021}),
			 9000400 + 10000);
}

/* A copy and remote accesses have half of the rate each, while both run. */
static void test_shared_link(void **unused)
{
	struct model model;
	struct link link;
	uint64_t mib_ns, remote_ns;

	(void)unused;
	open_link(&link, &model);
	mib_ns = model_link_ns(&model, MODEL_TO_GPU, 1u << 20);
	remote_ns = (8u << 10) * 1000u / model_link_mb_s(&model.link, MODEL_TO_GPU);
	/* 8 KiB beside 1 MiB: they take twice their time, the next copy begins later by as much */
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 1000, 1u << 20), 1000 + mib_ns);
	assert_int_equal(link_remote(&link, MODEL_TO_GPU, 5000, 5000, (struct link_load){8u << 10, 64}),
			 5000 + 2u * remote_ns);
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 1000, 1u << 20), 1000 + 2u * mib_ns + remote_ns);
	/* a copy beside remote accesses that take longer: it takes twice its time */
	link = (struct link){.model = &model};
	remote_ns = link_remote(&link, MODEL_TO_GPU, 1000, 1000, (struct link_load){4u << 20, 32768});
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 2000, 1u << 20), 2000 + 2u * mib_ns);
	assert_int_equal(link_remote(&link, MODEL_TO_GPU, 1000, 1000, (struct link_load){0, 0}),
			 remote_ns + mib_ns);
	/* beside those that take less: by as much longer as they are */
	link = (struct link){.model = &model};
	remote_ns = link_remote(&link, MODEL_TO_GPU, 3000, 3000, (struct link_load){8u << 10, 64}) - 3000;
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 1000, 1u << 20), 1000 + mib_ns + remote_ns);
	/* one that ends before the first of them */
	link = (struct link){.model = &model};
	link_remote(&link, MODEL_TO_GPU, 100000, 100000, (struct link_load){8u << 10, 64});
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 1000, 4096),
			 1000 + model_link_ns(&model, MODEL_TO_GPU, 4096));
	/* and the other direction is free */
	assert_int_equal(link_copy(&link, MODEL_TO_CPU, 100000, 4096),
			 100000 + model_link_ns(&model, MODEL_TO_CPU, 4096));
}

#define USES 64u

/* Copies and remote accesses: when each may use the link, and for how long, by time. */
struct link_use {
	struct {
		uint64_t at_ns, work_ns;
	} use[USES];
	uint32_t uses;
};

static void note_use(struct link_use *all, uint64_t at_ns, uint64_t work_ns)
{
	uint32_t at = all->uses++;

	for (; at != 0 && all->use[at - 1u].at_ns > at_ns; at--)
		all->use[at] = all->use[at - 1u];
	all->use[at].at_ns = at_ns;
	all->use[at].work_ns = work_ns;
}

/* When a link has done all work that is never idle while there is some. */
static uint64_t end_of(const struct link_use *all)
{
	uint64_t end_ns = 0;

	for (uint32_t i = 0; i < all->uses; i++)
		end_ns = (end_ns > all->use[i].at_ns ? end_ns : all->use[i].at_ns) + all->use[i].work_ns;
	return end_ns;
}

/* Uses the link for copies, which wait for each other, and remote accesses, in any order, and notes them. Returns when all have
 * ended. */
static uint64_t use_link(struct link *link, uint64_t *seed, uint64_t pause_ns, struct link_use *all)
{
	uint64_t mb_s = model_link_mb_s(&link->model->link, MODEL_TO_GPU), at_ns = 0, owed = 0;
	uint64_t copies_ns = 0, copy_at_ns = 0, remote_ns = 0;

	all->uses = 0;
	for (unsigned i = 0; i < USES; i++) {
		uint64_t bytes = 1u + uvmp_random_below(seed, 65536), end_ns, from_ns, before_ns = owed / mb_s;

		if (uvmp_random_below(seed, 3) == 0) {
			/* ahead of the GPU's clock, with pauses between copies */
			from_ns = at_ns + uvmp_random_below(seed, pause_ns);
			copy_at_ns = from_ns > copy_at_ns ? from_ns : copy_at_ns;
			end_ns = link_copy(link, MODEL_TO_GPU, from_ns, bytes);
			assert_true(end_ns >= copies_ns);
			copies_ns = end_ns;
			note_use(all, copy_at_ns, model_link_ns(link->model, MODEL_TO_GPU, bytes));
			continue;
		}
		at_ns += uvmp_random_below(seed, pause_ns);
		end_ns = link_remote(link, MODEL_TO_GPU, at_ns, at_ns, (struct link_load){bytes, 1});
		assert_true(end_ns >= remote_ns && end_ns >= at_ns + bytes * 1000u / mb_s);
		remote_ns = end_ns;
		owed += (bytes < 78u ? 78u : bytes) * 1000u;
		note_use(all, at_ns, owed / mb_s - before_ns);
	}
	assert_true(link_copies_end_ns(link) >= copies_ns);
	/* after the last copy's end as it was told, all copies count */
	assert_true(copies_ns == 0 || link_settled_ns(link, copies_ns) == link_copies_end_ns(link));
	assert_true(link_settled_ns(link, copies_ns / 2u) <= link_settled_ns(link, copies_ns));
	return link_idle_ns(link, 0);
}

/* The link works whenever it has work, without and with pauses: all uses together end when they would one after another. */
static void test_link_loses_nothing(void **unused)
{
	struct model model;
	struct link fresh, link;
	struct link_use all;
	uint64_t seed = 18;

	(void)unused;
	open_link(&fresh, &model);
	for (unsigned round = 0; round < 4000; round++) {
		uint64_t pause_ns = round % 2u == 0 ? 1u : 1u + uvmp_random_below(&seed, 30000), end_ns;

		link = fresh;
		end_ns = use_link(&link, &seed, pause_ns, &all);
		assert_int_equal(end_ns, end_of(&all));
	}
}

/* The driver submits three copies with pauses between them. A remote access shares the link with the copy that runs at its time. */
static void test_link_knows_all_copies(void **unused)
{
	struct model model;
	struct link link;
	uint64_t mib_ns, remote_ns;

	(void)unused;
	open_link(&link, &model);
	mib_ns = model_link_ns(&model, MODEL_TO_GPU, 1u << 20);
	remote_ns = (8u << 10) * 1000u / model_link_mb_s(&model.link, MODEL_TO_GPU);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(link_copy(&link, MODEL_TO_GPU, i * 200000u, 1u << 20), i * 200000u + mib_ns);
	assert_int_equal(link_remote(&link, MODEL_TO_GPU, 1000, 1000, (struct link_load){8u << 10, 64}),
			 1000 + 2u * remote_ns);
	assert_int_equal(link_remote(&link, MODEL_TO_GPU, 150000, 150000, (struct link_load){8u << 10, 64}),
			 150000 + remote_ns);
	/* an access of 16 KiB begins in a pause: its first 8 KiB have the link alone, the rest shares it with the second copy */
	assert_in_range(link_remote(&link, MODEL_TO_GPU, 200000 - remote_ns, 200000 - remote_ns, (struct link_load){16u << 10, 128}),
			200000 + 2u * remote_ns, 200000 + 2u * remote_ns + 2u);
	/* The second copy ends late, by the 8 KiB that share the link with it. The pause behind it is long enough, so the third copy
	 * is in time. link_settled_ns waits for the second copy, not for the third one. */
	assert_in_range(link_settled_ns(&link, 200000 + mib_ns), 200000 + mib_ns + remote_ns, 200000 + mib_ns + remote_ns + 1u);
	assert_int_equal(link_settled_ns(&link, 200000 + mib_ns - 1u), 200000 + mib_ns - 1u);
	assert_int_equal(link_copies_end_ns(&link), 400000 + mib_ns);
	/* an access during the third copy makes it end later than link_copy said; the next copy begins after that end */
	link_remote(&link, MODEL_TO_GPU, 410000, 410000, (struct link_load){8u << 10, 64});
	assert_int_equal(link_settled_ns(&link, 400000 + mib_ns), 400000 + mib_ns + remote_ns);
	assert_int_equal(link_copy(&link, MODEL_TO_GPU, 0, 1u << 20), 400000 + 2u * mib_ns + remote_ns);
}

/* The GPU's clock is ahead: a copy that was over before its remote accesses. Its last page waits for memory all the same. */
static void test_link_delays_old_copies(void **unused)
{
	struct model model;
	struct link link;
	uint64_t page_ns;

	(void)unused;
	open_link(&link, &model);
	page_ns = model_link_ns(&model, MODEL_TO_GPU, 4096);
	link_remote(&link, MODEL_TO_GPU, 800000, 800000, (struct link_load){64u << 10, 512});
	assert_int_equal(link_copy_pages(&link, MODEL_TO_GPU, 1000, 0, 8192), 1000 + model_link_ns(&model, MODEL_TO_GPU, 8192));
	assert_int_equal(link_delay_pages(&link, MODEL_TO_GPU, 900000, 0, 4096), 900000 + page_ns);
	assert_int_equal(link_copies_end_ns(&link), 900000 + page_ns);
	/* the part of a copy that is still on the link moves behind the rest */
	assert_int_equal(link_start_ns(&link, MODEL_TO_GPU, 0), 900000 + page_ns);
	link_copy_pages(&link, MODEL_TO_GPU, 1000000, 0, 8192);
	assert_int_equal(link_delay_pages(&link, MODEL_TO_GPU, 2000000, 0, 4096), 2000000 + page_ns);
	/* the last page of a push has no start-up of its own, and the rest of the push loses none */
	link = (struct link){.model = &model, .ratio_percent = 100};
	link_copy_pages(&link, MODEL_TO_GPU, 0, 0, 65536);
	link_copy_pages(&link, MODEL_TO_GPU, 0, 65536, 4096);
	page_ns = model_link_ns(&model, MODEL_TO_GPU, 65536u + 4096u) - model_link_ns(&model, MODEL_TO_GPU, 65536);
	assert_int_equal(link_delay_pages(&link, MODEL_TO_GPU, 3000000, 65536, 4096), 3000000 + page_ns);
	assert_int_equal(link_copies_end_ns(&link), 3000000 + page_ns);
}

/* Copies of a push take as long as one copy of all of its bytes, compressed or not. */
static void test_link_pushes(void **unused)
{
	struct model model;
	struct link link;
	uint64_t first_ns, all_ns;

	(void)unused;
	open_link(&link, &model);
	link.ratio_percent = 200;
	first_ns = model_link_ns(&model, MODEL_TO_GPU, 2048);
	all_ns = model_link_ns(&model, MODEL_TO_GPU, 32768);
	assert_int_equal(link_copy_pages(&link, MODEL_TO_GPU, 1000, 0, 4096), 1000 + first_ns);
	assert_int_equal(link_copy_pages(&link, MODEL_TO_GPU, 1000, 4096, 61440), 1000 + all_ns);
	/* the next push, after a pause */
	assert_int_equal(link_copy_pages(&link, MODEL_TO_GPU, 900000, 0, 4096), 900000 + first_ns);
}

/* More pauses than the link remembers: copies of long ago count as begun, and nothing is lost. */
static void test_link_forgets_old_pauses(void **unused)
{
	struct model model;
	struct link link;
	uint64_t end_ns = 0, page_ns;

	(void)unused;
	open_link(&link, &model);
	page_ns = model_link_ns(&model, MODEL_TO_GPU, 4096);
	for (unsigned i = 0; i < 3u * LINK_PARTS; i++)
		end_ns = link_copy(&link, MODEL_TO_GPU, i * 10000u, 4096);
	assert_int_equal(end_ns, (3u * LINK_PARTS - 1u) * 10000u + page_ns);
	assert_int_equal(link_copies_end_ns(&link), end_ns);
	end_ns = link_remote(&link, MODEL_TO_GPU, 3u * LINK_PARTS * 10000u, 3u * LINK_PARTS * 10000u, (struct link_load){1, 1});
	assert_in_range(end_ns, 3u * LINK_PARTS * 10000u, 3u * LINK_PARTS * 10000u + 20u);
}

/* Remote accesses take longer beside copies, and copies beside them. */
static void test_remote_beside_copies(void **unused)
{
	uint64_t alone_ns;

	(void)unused;
	assert_true(run("titan-v", "stream:bytes=4m,passes=4", "preset=uvmsmart-pinned", 150));
	assert_true(times.remote_h2d_bytes > 4u << 20);
	assert_true(result.h2d_bytes > 4u << 20);
	alone_ns = (times.remote_h2d_bytes + result.h2d_bytes) * 1000u / 11598u;
	assert_true(times.kernel_ns > alone_ns);
}

static void test_compressed_link(void **unused)
{
	uint64_t plain_ns;
	struct model model;
	struct link link;

	(void)unused;
	open_link(&link, &model);
	link.ratio_percent = 200;
	assert_int_equal(link_copy_pages(&link, MODEL_TO_GPU, 1000, 0, 131073),
			 1000 + model_link_ns(&model, MODEL_TO_GPU, 65537));
	assert_int_equal(link_copy_pages(&link, MODEL_TO_CPU, 1000, 0, 4096),
			 1000 + model_link_ns(&model, MODEL_TO_CPU, 2048));
	assert_int_equal(link_copy(&link, MODEL_TO_CPU, 500000, 4096), /* not of pages */
			 500000 + model_link_ns(&model, MODEL_TO_CPU, 4096));
	/* bytes are those of the pages, independent of the link's compression */
	assert_true(run("uvmsmart", "regular:bytes=16m,passes=1", "preset=uvmsmart", 100));
	plain_ns = times.time_ns;
	assert_true(run("uvmsmart", "regular:bytes=16m,passes=1", "preset=uvmsmart,link_ratio=200", 100));
	assert_true(times.time_ns < plain_ns);
	assert_int_equal(result.h2d_bytes, 16u << 20);
}

/* A block that arrived whole is one entry of a TLB, with an order of large units as with groups. Where the same order gets the
 * block in parts that lie apart, entries hold a big page. */
static void test_entries_of_blocks(void **unused)
{
	uint64_t whole;

	(void)unused;
	assert_true(run("titan-v", "regular:bytes=16m,passes=2", "evict=lru2m,threshold=1", 50));
	whole = times.tlb_misses;
	assert_true(run("titan-v", "regular:bytes=16m,passes=2", "evict=auto,threshold=1", 50));
	assert_int_equal(times.tlb_misses, whole);
	assert_true(run("titan-v", "regular:bytes=16m,passes=2", "evict=auto,threshold=100", 50));
	assert_true(times.tlb_misses > whole);
}

/* The engine's limits reach the GPU. */
static void test_limit(void **unused)
{
	struct source *source = workload_open("regular:bytes=8m,passes=1,threads=64", 1, error);
	struct workload *workload = workload_of(source);
	struct uvmp_action action = {.kind = UVMP_ACTION_LIMIT, .to = HOST_GPU, .count = 1, .detail = 2};
	struct gpu_counts counts;
	struct model model;
	struct space space;
	struct system system = {.model = &model, .times = &times};
	struct thread thread = {.system = &system, .now_ns = 5};

	(void)unused;
	assert_true(model_open("titan-v", NULL, &model, error));
	model.sms = 2;
	model.warps_per_sm = 2;
	model.blocks_per_sm = 1;
	model.mshr_entries = 4096;
	assert_true(space_open(&space, model.page_bytes));
	assert_true(space_add_range(&space, &workload->range[0], error));
	system.link.model = &model;
	system.gpu = gpu_open(&model, &space, &system.link, (struct gpu_listener){0});
	assert_true(thread_perform(&thread, &action, NULL));
	assert_int_equal(thread.now_ns, 5); /* which costs the driver nothing */
	gpu_advance(system.gpu, 5);
	assert_true(workload_launch(workload));
	assert_true(gpu_launch(system.gpu, workload, 5));
	gpu_advance(system.gpu, 1000000);
	gpu_count(system.gpu, &counts);
	assert_int_equal(counts.context_switches, 2); /* of the one SM that does not stand still */
	assert_int_equal(counts.tlb_misses, 3 * 64);
	gpu_close(system.gpu);
	space_close(&space);
	source->close(source);
}

/* With MSHRs the driver gets no duplicates, whichever replays it makes, and all the work is done. */
static void test_mshr(void **unused)
{
	static const char *const policies[] = {"replay=batch_flush", "replay=batch", "replay=once",
					       "replay=block batch=64", "batch=1 thrash=off"};
	char name[] = "/tmp/test_timed_XXXXXX";
	FILE *file = fdopen(mkstemp(name), "w");

	(void)unused;
	assert_non_null(file);
	fprintf(file, "include = titan-v\nmshr_entries = 4096\n");
	fclose(file);
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		assert_true(run(name, "stream_thread:bytes=16m", policies[i], 100));
		assert_int_equal(result.accesses, 131072);
		assert_int_equal(result.pages_touched, 4096);
		assert_int_equal(result.duplicates, 0);
		assert_int_equal(result.h2d_bytes, 16u << 20);
		assert_true(times.mshr_merged > 0);
		assert_true(run(name, "random:bytes=16m,passes=2", policies[i], 150));
		assert_int_equal(result.accesses, 2 * 4096);
	}
	remove(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_groups_begin_with_faults),
		cmocka_unit_test(test_small_buffer),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_full_stream),
		cmocka_unit_test(test_base_cost),
		cmocka_unit_test(test_times_add_up),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_serviced),
		cmocka_unit_test(test_units_count),
		cmocka_unit_test(test_few_roots),
		cmocka_unit_test(test_batch_policy),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_taking_turns),
		cmocka_unit_test(test_large_pages),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_kernels_add_up),
		cmocka_unit_test(test_leftover_faults),
		cmocka_unit_test(test_trace_of_program),
		cmocka_unit_test(test_broken_trace),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_remote_requests),
		cmocka_unit_test(test_shared_link),
		cmocka_unit_test(test_link_loses_nothing),
		cmocka_unit_test(test_link_knows_all_copies),
		cmocka_unit_test(test_link_delays_old_copies), cmocka_unit_test(test_link_pushes),
		cmocka_unit_test(test_link_forgets_old_pauses),
		cmocka_unit_test(test_remote_beside_copies),
		cmocka_unit_test(test_compressed_link),
		cmocka_unit_test(test_entries_of_blocks),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_mshr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
