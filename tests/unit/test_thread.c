/* The program's own thread: what its accesses and calls cost and bring, in traces; bad ones; and a driver and
 * a host that take no time at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

#define ROOT  (2u << 20)
#define CALL  10000u
#define FAULT 35000u

/* 4 MiB that the CPU has written, 4 MiB never written */
#define RANGES "range,200000000,4194304,a\nrange,300000000,4194304,b,fresh\n"

static struct sim_result result;
static struct sim_times times;
static struct model model;
static struct sim_memory memory = {.bytes = 16u << 20};
static char error[SOURCE_ERROR_MAX];
static FILE *decisions; /* NULL: no log */
static bool has_completions;

/* Of the driver's steps only CPU faults and calls take time. */
static void open_quiet(const char *gpu)
{
	assert_true(model_open(gpu, NULL, &model, error));
	model.replay_ns = model.launch_ns = model.interrupt_ns = model.wakeup_ns = 0;
	model.batch_ns = model.fetch_ns = model.order_ns = model.block_ns = model.page_ns = 0;
	model.alloc_ns = model.unmap_ns = model.unmap_page_ns = model.copy_ns = 0;
	model.map_ns = model.map_page_ns = model.evict_ns = model.replay_push_ns = 0;
	model.flush_ns = model.flush_entry_ns = model.prefetch_defer_ns = 0;
	model.cpu_fault_ns = FAULT;
	model.prefetch_call_ns = CALL;
}

static bool try_file(FILE *file, const char *policy_text)
{
	struct uvmp_policy policy;
	struct source *source;
	bool is_done;

	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	rewind(file);
	source = trace_open_stream(file, "t", error);
	assert_non_null(source);
	is_done =
		timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = decisions, .has_completions = has_completions}, 0, NULL},
			  &result, &times, error);
	source->close(source);
	return is_done;
}

static bool try_rows(const char *rows, const char *policy)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fprintf(file, "uvmp-trace 1\n%s", rows);
	return try_file(file, policy);
}

static void run(const char *rows, const char *policy)
{
	if (!try_rows(rows, policy))
		fail_msg("%s", error);
}

/* -- accesses -- */

static void test_own_pages(void **unused)
{
	(void)unused;
	open_quiet("titan-v");
	run(RANGES ",cpu,r,200000000\n,cpu,w,200001000\n,cpu,w,200000000\n", "prefetch=none");
	assert_int_equal(times.time_ns, 0);
	assert_int_equal(result.accesses, 3);
	assert_int_equal(result.cpu_faults, 0);
	/* a fresh page begins as zeros, which costs a fault, once */
	run(RANGES ",cpu,r,300000000\n,cpu,w,300000000\n,cpu,r,300000000\n", "prefetch=none");
	assert_int_equal(times.time_ns, FAULT);
	assert_int_equal(times.cpu_ns, FAULT);
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(result.d2h_copies + result.h2d_copies, 0);
}

static void test_pages_come_back(void **unused)
{
	uint64_t kernel;

	(void)unused;
	open_quiet("titan-v");
	run(RANGES ",0,w,200000000\n", "prefetch=none");
	kernel = times.time_ns;
	assert_int_equal(times.cpu_ns, 0);
	run(RANGES ",0,w,200000000\nsync\n,cpu,r,200000000\n,cpu,w,200000000\n,cpu,r,200001000\n",
	    "prefetch=none");
	assert_int_equal(times.cpu_ns, FAULT + model_link_ns(&model, MODEL_TO_CPU, 4096));
	assert_int_equal(times.time_ns, kernel + times.cpu_ns);
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(result.d2h_bytes, 4096);
	assert_int_equal(result.pages_evicted, 0);
	assert_int_equal(result.accesses, 4);
	/* the GPU has lost the page, and fetches it again */
	run(RANGES ",0,w,200000000\nsync\n,cpu,r,200000000\nkernel,k\n,0,r,200000000\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 2 * 4096);
	assert_int_equal(result.faults_coalesced, 2);
	assert_int_equal(result.refaults, 0); /* it was not evicted */
}

/* The prefetcher serves the CPU, too; every fault takes its time. */
static void test_many(void **unused)
{
	FILE *file = tmpfile();

	(void)unused;
	assert_non_null(file);
	fprintf(file, "uvmp-trace 1\n" RANGES);
	for (unsigned i = 0; i < 512; i++)
		fprintf(file, ",%u,w,%llx\n", i % 8, 0x200000000ull + i * 4096u);
	fprintf(file, "sync\n");
	for (unsigned i = 0; i < 512; i++)
		fprintf(file, ",cpu,r,%llx\n", 0x200000000ull + i * 4096u);
	open_quiet("titan-v");
	if (!try_file(file, "preset=nvidia-595"))
		fail_msg("%s", error);
	assert_int_equal(result.d2h_bytes, ROOT);
	assert_in_range(result.cpu_faults, 2, 32);
	assert_in_range(result.d2h_copies, result.cpu_faults,
			2 * result.cpu_faults); /* the page, the prefetched pages */
	assert_in_range(times.cpu_ns, result.cpu_faults * FAULT + model_link_ns(&model, MODEL_TO_CPU, ROOT),
			result.cpu_faults * (FAULT + 2000) + model_link_ns(&model, MODEL_TO_CPU, ROOT));
	assert_true(times.cpu_ns <= times.time_ns);
}

/* Readers get copies, which a write takes away. */
static void test_duplicated(void **unused)
{
	(void)unused;
	open_quiet("titan-v");
	run(RANGES "advise,read-duplicate,,200000000,4194304\n,0,r,200000000\nsync\n,cpu,r,200000000\n",
	    "prefetch=none");
	assert_int_equal(result.cpu_faults, 0);
	assert_int_equal(times.cpu_ns, CALL);
	run(RANGES "advise,read-duplicate,,200000000,4194304\n,0,r,200000000\nsync\n,cpu,w,200000000\n"
		   "kernel,k\n,0,r,200000000\n",
	    "prefetch=none");
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(times.cpu_ns, CALL + FAULT);
	assert_int_equal(result.d2h_bytes, 0);
	assert_int_equal(result.h2d_bytes, 2 * 4096);
}

/* Thread and GPU want the same page again and again. */
static void bounce(const char *policy)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fprintf(file, "uvmp-trace 1\n" RANGES);
	for (unsigned i = 0; i < 12; i++)
		fprintf(file, ",0,w,200005000\n,cpu,w,200005000\n");
	if (!try_file(file, policy))
		fail_msg("%s: %s", policy, error);
	assert_int_equal(result.accesses, 24);
	assert_true(result.cpu_faults > 0);
	assert_true(times.cpu_ns >= result.cpu_faults * model.cpu_fault_ns);
	assert_true(times.cpu_ns <= times.time_ns);
}

/* How often the thread was told to wait. */
static unsigned throttles(FILE *log)
{
	char line[4096];
	unsigned count = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		count += strstr(line, " throttle ") && strstr(line, " to=0 ");
	return count;
}

/* Throttled and pinned, the thread continues; a throttled processor waits to the end of the period. */
static void test_bounce(void **unused)
{
	(void)unused;
	assert_true(model_open("titan-v", NULL, &model, error));
	bounce("preset=nvidia-595");
	decisions = tmpfile();
	assert_non_null(decisions);
	bounce("preset=nvidia-595 lapse_us=5000");
	assert_in_range(throttles(decisions), 1, 12); /* it did not ask again before */
	assert_true(times.cpu_ns > throttles(decisions) * UINT64_C(4900000));
	fclose(decisions);
	decisions = NULL;
	bounce("preset=nvidia-595 lapse_us=20000");
	assert_true(times.time_ns > 20000000);
	open_quiet("titan-v"); /* nothing but the thread's faults takes time */
	bounce("preset=nvidia-595");
	model.walk_ns = model.l2_tlb_ns = model.fault_write_ns = 0;
	model.memory_latency_ns = model.fault_burst_ns = 1;
	bounce("preset=nvidia-595");
}

/* -- calls -- */

static void test_calls(void **unused)
{
	(void)unused;
	open_quiet("titan-v");
	run(RANGES "prefetch,gpu,200000000,4194304\n", "prefetch=none");
	assert_int_equal(times.cpu_ns, CALL);
	assert_int_equal(times.time_ns, CALL + 2 * model_link_ns(&model, MODEL_TO_GPU, ROOT));
	assert_int_equal(result.h2d_bytes, 2 * ROOT);
	assert_int_equal(result.h2d_copies, 2);
	run(RANGES "prefetch,gpu,200000000,4194304\nkernel,k\n,0,w,200000000\n,1,w,2003ff000\nsync\n"
		   "prefetch,cpu,200200000,2097152\n,cpu,r,2003ff000\n",
	    "prefetch=none");
	assert_int_equal(result.faults_raw + result.cpu_faults, 0);
	assert_int_equal(result.d2h_bytes, ROOT);
	/* home it waits for what it has asked for */
	assert_int_equal(times.cpu_ns, 2 * CALL + model_link_ns(&model, MODEL_TO_CPU, ROOT));
	assert_true(times.time_ns > times.cpu_ns);
	run(RANGES "prefetch,gpu,300000000,4194304\nadvise,preferred,gpu,200000000,4096\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 0); /* zeros need no copy */
	assert_int_equal(times.cpu_ns, 2 * CALL);
	/* more than the memory: the first pages are evicted again */
	run("range,200000000,33554432\nprefetch,gpu,200000000,33554432\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 32u << 20);
	assert_int_equal(result.d2h_bytes, 16u << 20);
	assert_int_equal(result.evictions, 8);
	/* arriving pages wait for the eviction, and the eviction waits for the arrival of its pages */
	memory.bytes = ROOT;
	run("range,200000000,4194304\nprefetch,gpu,200000000,4194304\n", "prefetch=none");
	memory.bytes = 16u << 20;
	assert_int_equal(result.evictions, 1);
	assert_int_equal(times.time_ns, CALL + 2 * model_link_ns(&model, MODEL_TO_GPU, ROOT) +
						model_link_ns(&model, MODEL_TO_CPU, ROOT));
}

/* -- the ends of actions in the log -- */

struct timeline {
	uint64_t actions, completions, last_ns;
	uint64_t copies, copied_ns[2]; /* the last copy to the CPU, to the GPU has ended */
};

/* In a driver that takes no time a copy begins as it is decided, or when the link is free. */
static void check_end(struct timeline *line, const struct uvmp_action *a, uint64_t end_ns)
{
	uint64_t bytes = (uint64_t)uvmp_mask_weight(&a->pages) * a->page_bytes, begin_ns = a->time_ns;

	assert_true(end_ns >= a->time_ns);
	line->last_ns = end_ns > line->last_ns ? end_ns : line->last_ns;
	if (a->kind != UVMP_ACTION_COPY)
		return;
	if (line->copied_ns[a->to] > begin_ns)
		begin_ns = line->copied_ns[a->to];
	assert_int_equal(end_ns - begin_ns,
			 model_link_ns(&model, a->to == 1 ? MODEL_TO_GPU : MODEL_TO_CPU, bytes));
	line->copied_ns[a->to] = end_ns;
	line->copies++;
}

static struct timeline timeline_of(const char *rows)
{
	struct timeline line = {0};
	struct uvmp_action a = {0}, end;
	char text[UVMP_ACTION_TEXT_MAX];

	decisions = tmpfile();
	assert_non_null(decisions);
	run(rows, "prefetch=none");
	rewind(decisions);
	while (fgets(text, sizeof(text), decisions)) {
		assert_int_equal(uvmp_action_parse(text, strcspn(text, "\n"), &end, NULL), UVMP_OK);
		if (end.kind != UVMP_ACTION_COMPLETE) {
			assert_true(line.actions++ == line.completions || !has_completions);
			a = end;
			continue;
		}
		assert_int_equal(end.id, a.id);
		assert_int_equal(++line.completions, line.actions);
		check_end(&line, &a, end.time_ns);
	}
	fclose(decisions);
	decisions = NULL;
	return line;
}

static void test_completions(void **unused)
{
	struct timeline line;

	(void)unused;
	open_quiet("titan-v");
	has_completions = true;
	/* the second copy waits for the first on the link */
	line = timeline_of(RANGES "prefetch,gpu,200000000,4194304\n");
	assert_int_equal(line.completions, line.actions);
	assert_int_equal(line.copies, 2);
	assert_int_equal(line.copied_ns[1], CALL + 2 * model_link_ns(&model, MODEL_TO_GPU, ROOT));
	assert_int_equal(line.last_ns, times.time_ns);
	/* faults, and back */
	line = timeline_of(RANGES ",0,w,200000000\n,1,w,2003ff000\nsync\n,cpu,r,2003ff000\n"
				  "prefetch,cpu,200000000,2097152\n");
	assert_int_equal(line.completions, line.actions);
	assert_int_equal(line.copies, result.h2d_copies + result.d2h_copies);
	assert_true(result.h2d_copies > 0 && result.d2h_copies > 0);
	assert_true(line.copied_ns[1] > 0 && line.copied_ns[0] > line.copied_ns[1]);
	assert_int_equal(line.last_ns, times.time_ns);
	has_completions = false;
	assert_int_equal(timeline_of(RANGES "prefetch,gpu,200000000,4194304\n,0,w,200000000\n").completions,
			 0);
}

/* A call or a fault is in cpu_ns as a whole, with what the driver does meanwhile. */
static void test_whole_calls(void **unused)
{
	(void)unused;
	open_quiet("titan-v");
	model.page_ns = 10;
	run(RANGES "prefetch,gpu,200000000,4194304\n", "prefetch=none");
	assert_int_equal(times.migrate_ns, 1024 * 10);
	assert_int_equal(times.cpu_ns, CALL + 1024 * 10);
	run(RANGES "advise,preferred,cpu,200000000,4194304\n,cpu,w,300000000\n", "prefetch=none");
	assert_int_equal(times.cpu_ns, CALL + FAULT);
}

/* Each call looks at its blocks, also at the same one again; a fault of the thread has that in its own time.
 */
static void test_looks(void **unused)
{
	(void)unused;
	open_quiet("titan-v");
	model.block_ns = 100;
	run(RANGES "prefetch,gpu,200000000,4194304\nprefetch,cpu,200200000,2097152\n"
		   "prefetch,gpu,200200000,2097152\n",
	    "prefetch=none");
	assert_int_equal(times.service_ns, 4 * 100);
	run(RANGES "prefetch,gpu,200000000,4194304\n,cpu,w,200000000\n,cpu,w,200200000\n,cpu,w,200001000\n",
	    "prefetch=none");
	assert_int_equal(times.service_ns, 2 * 100);
	assert_int_equal(result.cpu_faults, 3);
}

/* Zeros are written one block after another, beside what the link copies. */
static void test_zeros(void **unused)
{
	uint64_t zeros;

	(void)unused;
	open_quiet("titan-v");
	model.zero_mb_s = 1000;
	zeros = (uint64_t)ROOT * 1000u / model.zero_mb_s;
	run(RANGES "prefetch,gpu,300000000,4194304\n", "prefetch=none");
	assert_int_equal(times.time_ns, CALL + 2 * zeros);
	run("range,200000000,4194304\nrange,200400000,4194304,,fresh\nprefetch,gpu,200000000,8388608\n",
	    "prefetch=none");
	assert_int_equal(times.time_ns, CALL + 2 * zeros);
	model.page_ns = 10; /* of the CPU's pages */
	run(RANGES "prefetch,gpu,300000000,4194304\n", "prefetch=none");
	assert_int_equal(times.migrate_ns, 0);
}

/* The transfers of a block in one direction are one push; another block, another direction or a mapping begins another. */
static void test_pushes(void **unused)
{
	static const char *const policy = "prefetch=density replay=block";
	static const char *const there_and_back = RANGES ",0,r,200000000\n,0,r,200200000\nsync\n,cpu,w,200000000\n";
	uint64_t page_ns, rest_ns, all_ns, apart_ns, migrate_ns;

	(void)unused;
	open_quiet("titan-v");
	model.copy_ns = 100;
	page_ns = model_link_ns(&model, MODEL_TO_GPU, 4096);
	rest_ns = model_link_ns(&model, MODEL_TO_GPU, 61440);
	all_ns = model_link_ns(&model, MODEL_TO_GPU, 65536);
	assert_true(all_ns < page_ns + rest_ns);
	run(RANGES ",0,r,200000000\n", policy);
	assert_int_equal(result.h2d_copies, 2);
	assert_int_equal(times.migrate_ns, 200);
	apart_ns = times.time_ns;
	model.pipelines_copies = 1;
	run(RANGES ",0,r,200000000\n", policy);
	assert_int_equal(result.h2d_copies, 2);
	assert_int_equal(times.migrate_ns, 100);
	assert_in_range(apart_ns - times.time_ns, page_ns + rest_ns - all_ns, page_ns + rest_ns - all_ns + 200);
	/* two blocks have a push each, and so have the pages that come back */
	run(there_and_back, policy);
	assert_int_equal(result.h2d_copies, 4);
	assert_int_equal(result.d2h_copies, 2);
	migrate_ns = times.migrate_ns;
	model.pipelines_copies = 0;
	run(there_and_back, policy);
	assert_int_equal(times.migrate_ns, migrate_ns + 300);
}

/* With every eviction unit, memory comes from the same allocator, and evicting 2 MiB costs the same. */
static void test_orders(void **unused)
{
	static const char *const orders[] = {"prefetch=none evict=lru", "prefetch=none evict=lru2m",
					     "prefetch=none evict=lru4k", "prefetch=none evict=random4k"};

	(void)unused;
	open_quiet("titan-v");
	model.alloc_ns = 1000;
	model.alloc_roots = 2;
	model.evict_ns = 512000;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		memory.bytes = 16u << 20;
		run("range,200000000,10485760\nprefetch,gpu,200000000,10485760\n", orders[i]);
		assert_int_equal(times.migrate_ns, 3 * 1000);
		memory.bytes = ROOT;
		run("range,200000000,6291456\nprefetch,gpu,200000000,6291456\n", orders[i]);
		assert_int_equal(times.migrate_ns, 1000);
		assert_int_equal(result.pages_evicted, 1024);
		assert_int_equal(result.evictions, i > 1 ? 1024 : 2);
		assert_in_range(times.evict_ns, result.evictions * 512000,
				result.evictions * 512000 + 2 * model_link_ns(&model, MODEL_TO_CPU, ROOT));
	}
	memory.bytes = 16u << 20;
}

/* Hosts with 64 KiB pages move whole ones, wherever a call begins and ends. */
static void test_large_pages(void **unused)
{
	(void)unused;
	open_quiet("p100-nvlink");
	run(RANGES "prefetch,gpu,200001000,4096\n,0,r,20000f000\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 65536);
	assert_int_equal(result.faults_raw, 0);
	run(RANGES "prefetch,gpu,20000f000,8192\n,0,r,20001f000\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 2 * 65536);
	assert_int_equal(result.faults_raw, 0);
	run("range,200000000,4096\nprefetch,gpu,200000000,4096\n,cpu,w,200000000\n", "prefetch=none");
	assert_int_equal(result.h2d_bytes, 65536);
	assert_int_equal(result.d2h_bytes, 65536);
	assert_false(try_rows("range,200001000,4096\n,0,r,200001000\n", "prefetch=none"));
	assert_non_null(strstr(error, "does not begin at a multiple of the 65536 bytes of a page"));
}

/* -- bad rows: the error, and what was counted before -- */

static void test_errors(void **unused)
{
	static const struct {
		const char *row, *error;
	} bad[] = {
		{"prefetch,gpu,200300000,2097152\n",
		 "t:8: 2097152 bytes from 0x200300000 on are not all in ranges"},
		{"prefetch,gpu,100000000,4096\n",
		 "t:8: 4096 bytes from 0x100000000 on are not all in ranges"},
		{"prefetch,gpu,200000000,0\n", "t:8: size of 0 bytes"},
		{"prefetch,gpu,200000800,4096\n", "t:8: address 0x200000800 is not a multiple of 4096"},
		{"advise,warm,gpu,200000000,4096\n", "t:8: advice `warm` is not one of"},
		{"advise,discard,,200000000,0\n", "t:8: size of 0 bytes"},
		{",cpu,r,100000000\n", "t:8: address 0x100000000 is in no range"},
		{",0,r,100000000\n", "t:8: address 0x100000000 is in no range"},
		{"range,200000000,4096\n", "t:8: range overlaps"},
	};

	(void)unused;
	open_quiet("titan-v");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char rows[512];

		snprintf(rows, sizeof(rows), RANGES "kernel,k\n,0,w,200000000\nsync\n,cpu,r,200000000\n%s",
			 bad[i].row);
		assert_false(try_rows(rows, "prefetch=none"));
		assert_non_null(strstr(error, bad[i].error));
		assert_int_equal(result.h2d_bytes, 4096);
		assert_true(result.accesses >= 1);
		assert_true(times.time_ns > 0);
	}
	assert_false(
		try_rows("prefetch,gpu,200000000,4096\n", "prefetch=none")); /* there was nothing before */
	assert_non_null(strstr(error, "t:2: 4096 bytes from 0x200000000 on are not all in ranges"));
	assert_false(try_rows("", "prefetch=none"));
	assert_non_null(strstr(error, "there is no range"));
}

/* -- no time at all -- */

static void test_nothing_takes_time(void **unused)
{
	static const char *const specs[] = {
		"stream_thread:bytes=2m", "random:bytes=4m,passes=2", "hotspot:n=128,sim_time=4,cpu=2",
		"tiles:tiles=2,tile=1m,order=naive", "tiles:tiles=2,tile=1m,order=optimized"};
	static const char *const policies[] = {"preset=nvidia-595", "replay=once batch=8 max_batches=1",
					       "prefetch=none counters=on counter_threshold=1"};

	(void)unused;
	open_quiet("p100-pcie");
	model.cpu_fault_ns = model.prefetch_call_ns = 0;
	model.walk_ns = model.l2_tlb_ns = model.remote_latency_ns = model.fault_write_ns = 0;
	model.memory_latency_ns = model.fault_burst_ns = 1;
	model.link.latency_ns = 0;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		for (size_t j = 0; j < sizeof(policies) / sizeof(policies[0]); j++) {
			const struct sim_memory little = {.oversub_percent = 125};
			struct source *source = workload_open(specs[i], 1, error);
			struct uvmp_policy policy;
			bool is_done;

			assert_non_null(source);
			assert_int_equal(uvmp_policy_parse(policies[j], strlen(policies[j]), &policy, NULL),
					 UVMP_OK);
			is_done = timed_run(source, &model,
					    &(struct sim_run){&policy, little, 1, {.file = NULL}, 0, NULL}, &result,
					    &times, error);
			source->close(source);
			if (!is_done)
				fail_msg("%s, %s: %s", specs[i], policies[j], error);
			assert_true(times.kernel_ns <= times.time_ns);
			assert_true(times.idle_ns <= times.time_ns);
			assert_true(times.cpu_ns <= times.time_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_pages),   cmocka_unit_test(test_pages_come_back),
		cmocka_unit_test(test_many),	    cmocka_unit_test(test_duplicated),
		cmocka_unit_test(test_bounce),	    cmocka_unit_test(test_calls),
		cmocka_unit_test(test_completions), cmocka_unit_test(test_whole_calls),
		cmocka_unit_test(test_looks),	    cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_pushes),
		cmocka_unit_test(test_orders),	    cmocka_unit_test(test_large_pages),
		cmocka_unit_test(test_errors),	    cmocka_unit_test(test_nothing_takes_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
