/* The access counters of the simulated GPU: which accesses count, when a counter notifies, what the
 * notification causes, and when the counter notifies again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timed/timed.h"

#define BASE	  UINT64_C(0x200000000)
#define ROOT	  (2u << 20)
#define WAKEUP_NS 1500u
#define BIG	  65536u
#define PAGE	  4096u

static struct sim_result result;
static struct sim_times times;
static char error[SOURCE_ERROR_MAX];
static char *decisions;

static int drop_log(void **state)
{
	(void)state;
	free(decisions);
	decisions = NULL;
	return 0;
}

/* -- traces: 4 MiB that lie on the CPU and are mapped on the GPU -- */

static FILE *trace;

static void begin(void)
{
	trace = tmpfile();
	assert_non_null(trace);
	fprintf(trace, "uvmp-trace 1\nrange,200000000,4194304\nadvise,accessed-by,gpu,200000000,4194304\n");
}

/* 4 MiB that lie on the CPU and are mapped nowhere else. */
static void begin_on_cpu(void)
{
	trace = tmpfile();
	assert_non_null(trace);
	fprintf(trace, "uvmp-trace 1\nrange,200000000,4194304\n");
}

/* A kernel of one warp that goes `times` times around `pages` big pages. */
static void add_kernel(uint64_t offset, unsigned pages, unsigned rounds)
{
	fprintf(trace, "kernel,k\n");
	for (unsigned i = 0; i < rounds * pages; i++)
		fprintf(trace, ",0,r,%llx\n", (unsigned long long)(BASE + offset + i % pages * BIG));
}

static void run(const char *gpu, const char *policy_text)
{
	struct sim_memory memory = {.bytes = 16u << 20};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;
	size_t length;
	FILE *log;
	bool is_done;

	drop_log(NULL);
	log = open_memstream(&decisions, &length);
	assert_non_null(log);
	rewind(trace);
	source = trace_open_stream(trace, "t", error);
	assert_non_null(source);
	assert_true(model_open(gpu, NULL, &model, error));
	model.wakeup_ns = WAKEUP_NS;
	model.alloc_ns = 0; /* a short trace would be over before memory is there */
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	is_done = timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = log}, 0, NULL}, &result,
			    &times, error);
	fclose(log);
	source->close(source);
	if (!is_done)
		fail_msg("%s", error);
}

/* Actions of a kind, because of a counter. */
static unsigned decided(const char *kind)
{
	unsigned count = 0;
	char *copy = strdup(decisions), *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		char *word = strchr(line, ' ');

		if (word && strncmp(word + 1, kind, strlen(kind)) == 0 && strstr(line, " cause=counter "))
			count++;
	}
	free(copy);
	return count;
}

/* -- counting -- */

static void test_off(void **unused)
{
	static const char *const policies[] = {"counters=off", "counters=driver counter_threshold=1"};

	(void)unused;
	for (unsigned i = 0; i < 2; i++) {
		begin();
		add_kernel(0, 4, 100);
		add_kernel(0, 4, 100);
		run("p100-nvlink", policies[i]);
		assert_int_equal(result.remote_accesses, 800);
		assert_int_equal(result.accesses, 800);
		assert_int_equal(result.faults_raw + result.pages_migrated, 0);
		assert_int_equal(decided("batch") + decided("clear") + decided("copy"), 0);
	}
}

/* Not before the threshold; accesses of other blocks count there. */
static void test_threshold(void **unused)
{
	(void)unused;
	for (unsigned more = 0; more <= 2; more++) {
		begin();
		add_kernel(0, 2, 15);
		for (unsigned i = 0; i < more; i++)
			add_kernel(0, 1, 1);
		add_kernel(ROOT, 2, 15); /* time for the notification of the first */
		run("p100-nvlink", "prefetch=none counters=on counter_threshold=32");
		assert_int_equal(decided("batch"), more == 2);
		assert_int_equal(result.h2d_bytes, more == 2 ? 2 * BIG : 0);
	}
}

/* A CLEAR that names its block for the log costs no look at the block. */
static void test_pages_that_stay_cost_nothing(void **unused)
{
	uint64_t service_ns;

	(void)unused;
	begin();
	add_kernel(0, 32, 40);
	run("p100-nvlink", "prefetch=none evict=lru2m remote=off");
	service_ns = times.service_ns; /* for the advice */
	assert_int_equal(decided("clear"), 0);
	begin();
	add_kernel(0, 32, 40);
	run("p100-nvlink", "prefetch=none evict=lru2m remote=auto counter_threshold=64");
	assert_int_equal(result.pages_migrated, 0);
	assert_in_range(decided("clear"), 1, 32 * 40 / 64);
	assert_non_null(strstr(decisions, " rule=below-limit "));
	assert_int_equal(times.service_ns, service_ns);
}

/* What was used comes home, the rest of the 2 MiB stays; then the link is quiet. */
static void test_comes_home(void **unused)
{
	(void)unused;
	begin();
	add_kernel(3 * BIG, 4, 500);
	run("p100-nvlink", "prefetch=none counters=on counter_threshold=64");
	assert_int_equal(result.accesses, 2000);
	assert_in_range(result.remote_accesses, 64, 1000);
	assert_int_equal(result.h2d_bytes, 4 * BIG);
	assert_int_equal(result.pages_migrated, 4);
	assert_int_equal(result.faults_raw, 0);
	assert_int_equal(result.batches, 0); /* of faults */
	assert_int_equal(decided("batch"), 1);
	assert_int_equal(decided("clear"), 1);
	assert_int_equal(times.fetch_ns, WAKEUP_NS); /* once */
	assert_non_null(strstr(decisions, " pages=3-6 page_bytes=65536 from=0 to=1"));
}

/* A host with 4 KiB pages moves them, too. */
static void test_small_pages(void **unused)
{
	(void)unused;
	begin();
	add_kernel(3 * BIG, 4, 500);
	run("p100-pcie", "prefetch=none counters=on counter_threshold=64");
	assert_int_equal(result.h2d_bytes, 4 * BIG);
	assert_int_equal(result.pages_migrated, 64);
	assert_in_range(result.remote_accesses, 64, 1000);
}

/* A counter that was cleared counts from 0, and notifies again. */
static void test_again(void **unused)
{
	(void)unused;
	begin();
	add_kernel(0, 4, 500);
	add_kernel(4 * BIG, 2, 20); /* 40 of the same 2 MiB: too few */
	add_kernel(ROOT, 2, 20);
	run("p100-nvlink", "prefetch=none counters=on counter_threshold=64");
	assert_int_equal(decided("clear"), 1);
	assert_int_equal(result.h2d_bytes, 4 * BIG);
	begin();
	add_kernel(0, 4, 500);
	add_kernel(4 * BIG, 2, 500);
	run("p100-nvlink", "prefetch=none counters=on counter_threshold=64");
	assert_int_equal(decided("batch"), 2);
	assert_int_equal(decided("clear"), 2);
	assert_int_equal(result.h2d_bytes, 6 * BIG);
	assert_in_range(result.remote_accesses, 128, 2000);
}

/* Each 2 MiB has a counter of its own, also those of ranges that come later, and of several ranges. */
static void test_blocks(void **unused)
{
	(void)unused;
	begin();
	add_kernel(0, 2, 500);
	fprintf(trace, "sync\nrange,300000000,4194304\nadvise,accessed-by,gpu,300000000,4194304\n");
	add_kernel(0x100000000 + ROOT, 2, 500);
	add_kernel(0x100000000 + ROOT + 8 * BIG, 2, 500); /* cleared before */
	add_kernel(ROOT, 2, 500);
	add_kernel(0x100000000, 2, 500);
	run("p100-nvlink", "prefetch=none counters=on counter_threshold=64");
	assert_int_equal(decided("batch"), 5);
	assert_int_equal(decided("clear"), 5);
	assert_int_equal(result.h2d_bytes, 10 * BIG);
}

/* Evicted pages are mapped where they went, and come back when they are used often. */
static void test_after_eviction(void **unused)
{
	struct sim_memory memory = {.oversub_percent = 150};
	static const char *const text[] = {"counters=off", "counters=on counter_threshold=16"};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;

	(void)unused;
	assert_true(model_open("p100-nvlink", NULL, &model, error));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(uvmp_policy_parse(text[i], strlen(text[i]), &policy, NULL), UVMP_OK);
		source = workload_open("random:bytes=12m,passes=3", 1, error);
		assert_non_null(source);
		assert_true(timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL},
				      &result, &times, error));
		source->close(source);
		assert_true(result.evictions > 0);
		assert_int_equal(result.remote_accesses > 0, i == 1);
	}
}

/* -- remote: the engine counts by itself -- */

/* One warp reads 2 pages in turn: they are read where they lie, until the basic block has become hot. */
static void test_hot_pages(void **unused)
{
	(void)unused;
	begin_on_cpu();
	add_kernel(0, 2, 100);
	run("v100-sand", "evict=lru2m remote=always prefetch=none batch=1 thrash=off counters=off");
	assert_int_equal(result.accesses, 200);
	assert_in_range(decided("batch"), 1, 2); /* maybe both at once */
	assert_int_equal(decided("map"), 1 + decided("batch"));
	assert_int_equal(result.h2d_bytes, 2 * PAGE);
	assert_in_range(result.remote_accesses, 2 * 6, 199);
}

/* The same without time. */
static void test_hot_pages_without_time(void **unused)
{
	struct sim_memory memory = {.bytes = 16u << 20};
	static const char text[] = "evict=lru2m remote=always prefetch=none batch=1 thrash=off counters=off";
	struct uvmp_policy policy;
	struct source *source;

	(void)unused;
	begin_on_cpu();
	add_kernel(0, 1, 100);
	rewind(trace);
	source = trace_open_stream(trace, "t", error);
	assert_non_null(source);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	assert_true(
		untimed_run(source, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result, error));
	source->close(source);
	assert_int_equal(result.accesses, 100);
	/* one fault and seven accesses, the last of which makes it hot */
	assert_int_equal(result.remote_accesses, 7);
	assert_int_equal(result.h2d_bytes, PAGE);
	assert_int_equal(result.pages_thrashed, 0);
}

/* UVM Smart's claim: under pressure fewer pages come back that have left. At a penalty of 2 random accesses of all SMs reach
 * the threshold at once. */
static void test_thrashing_is_less(void **unused)
{
	static const char *const text[] = {"preset=uvmsmart evict=lru2m", "preset=uvmsmart-adaptive remote_penalty=16",
					   "preset=uvmsmart-pinned"};
	struct sim_memory memory = {.oversub_percent = 150};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;
	uint64_t thrashed[3];

	(void)unused;
	assert_true(model_open("uvmsmart", NULL, &model, error));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uvmp_policy_parse(text[i], strlen(text[i]), &policy, NULL), UVMP_OK);
		source = workload_open("random:bytes=12m,passes=3", 1, error);
		assert_non_null(source);
		assert_true(timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL},
				      &result, &times, error));
		source->close(source);
		assert_int_equal(result.remote_accesses > 0, i > 0);
		thrashed[i] = result.pages_thrashed;
	}
	assert_true(thrashed[1] < thrashed[0] && thrashed[2] < thrashed[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_off, drop_log),
		cmocka_unit_test_teardown(test_threshold, drop_log),
		cmocka_unit_test_teardown(test_comes_home, drop_log),
		cmocka_unit_test_teardown(test_pages_that_stay_cost_nothing, drop_log),
		cmocka_unit_test_teardown(test_small_pages, drop_log),
		cmocka_unit_test_teardown(test_again, drop_log),
		cmocka_unit_test_teardown(test_blocks, drop_log),
		cmocka_unit_test(test_after_eviction),
		cmocka_unit_test_teardown(test_hot_pages, drop_log),
		cmocka_unit_test(test_hot_pages_without_time),
		cmocka_unit_test(test_thrashing_is_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
