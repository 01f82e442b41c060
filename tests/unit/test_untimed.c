/* The untimed driver of uvmsim: small traces with counts worked out by hand, and every combination of
 * policies on a memory that is far too small. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "untimed.h"
#include "interrupt.h"
#include "support/seed.h"
#include "trace_write.h"
#include "uvmpolicy/uvmpolicy.h"

#define BASE 0x200000000u

static struct sim_result result;
static FILE *decisions; /* where the decision log of a run goes, NULL: nowhere */
static char error[SOURCE_ERROR_MAX];

static struct uvmp_policy policy_of(const char *text)
{
	struct uvmp_policy policy;

	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	return policy;
}

static bool run_source(struct source *source, const char *text, uint64_t memory_bytes)
{
	struct uvmp_policy policy = policy_of(text);
	struct sim_memory memory = {memory_bytes, 100};
	bool done;

	assert_non_null(source);
	error[0] = '\0';
	done = untimed_run(source, &(struct sim_run){&policy, memory, 1, {.file = decisions}, 0, NULL}, &result, error);
	source->close(source);
	return done;
}

/* A trace of our own: `rows` behind the header line. */
static bool run_rows(const char *rows, const char *policy, uint64_t memory_bytes)
{
	FILE *in = tmpfile();

	assert_non_null(in);
	fprintf(in, "uvmp-trace 1\n%s", rows);
	rewind(in);
	return run_source(trace_open_stream(in, "rows", error), policy, memory_bytes);
}

/* One agent touches page after page of 2 MiB: the faults of the real driver (see tests/data/gtx1080ti.txt).
 */
static void test_sequential_touch(void **unused)
{
	static char rows[32768];
	size_t length = (size_t)snprintf(rows, sizeof(rows), "range,%x00,2097152\n", (unsigned)(BASE >> 8));

	(void)unused;
	for (uint32_t page = 0; page < 512; page++)
		length += (size_t)snprintf(rows + length, sizeof(rows) - length, ",0,r,%llx\n",
					   (unsigned long long)BASE + page * 4096ull);
	assert_true(run_rows(rows, "prefetch=density", 2097152));
	assert_int_equal(result.accesses, 512);
	assert_int_equal(result.far_faults, 6);
	assert_int_equal(result.faults_raw, 6);
	assert_int_equal(result.batches, 6);
	assert_int_equal(result.h2d_copies, 12); /* 4+60, 4+60, 4+124, 4+252, 4+508, 4+1020 KiB */
	assert_int_equal(result.h2d_bytes, 2097152);
	assert_int_equal(result.pages_prefetched, 506);
	assert_int_equal(result.pages_prefetched_unused, 0);
	assert_int_equal(result.pages_touched, 512);
	assert_int_equal(result.evictions, 0);
	assert_true(run_rows(rows, "prefetch=none", 2097152));
	assert_int_equal(result.far_faults, 512);
	assert_int_equal(result.h2d_copies, 512);
}

/* Blocks A, B, A, B in memory for one. */
static void test_two_blocks_in_one(void **unused)
{
	static const char rows[] = "range,200000000,4194304\n,0,r,200000000\n,0,w,200200000\n"
				   ",0,r,200000000\n,0,w,200201000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none", 2097152));
	assert_int_equal(result.memory_bytes, 2097152);
	assert_int_equal(result.footprint_bytes, 4194304);
	assert_int_equal(result.far_faults, 4);
	assert_int_equal(result.evictions, 3);
	assert_int_equal(result.pages_evicted, 3);
	assert_int_equal(result.d2h_copies, 3);
	assert_int_equal(result.refaults,
			 1); /* the first page of A; the last access is to another page of B */
	assert_int_equal(result.pages_touched, 3);
	assert_true(run_rows(rows, "prefetch=block", 2097152));
	assert_int_equal(result.pages_migrated, 4 * 512);
	assert_int_equal(result.pages_evicted, 3 * 512);
	assert_int_equal(result.refaults, 2);
	assert_int_equal(result.pages_prefetched_unused, 4 * 511);
	assert_true(run_rows(rows, "prefetch=block evict=lru4k", 4194304));
	assert_int_equal(result.evictions, 0);
}

/* The driver's order is that of services, not of accesses (quirk [driver: order-by-service]); the
 * corrected one counts accesses. */
static void test_lru_by_service(void **unused)
{
	static const char rows[] = "range,200000000,6291456\n,0,r,200000000\n,0,r,200200000\n"
				   ",0,r,200000000\n,0,r,200400000\n,0,r,200000000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none", 4194304));
	assert_int_equal(result.evictions,
			 2); /* C takes the place of A, though A was used last; A that of B */
	assert_int_equal(result.refaults, 1);
	assert_true(run_rows(rows, "prefetch=none quirks=0", 4194304));
	assert_int_equal(result.evictions, 1); /* of B */
	assert_int_equal(result.refaults, 0);
	assert_true(run_rows(rows, "prefetch=block evict=lru2m", 4194304));
	assert_int_equal(result.evictions, 1);
}

/* Several agents on one page, then two replays. */
static void test_duplicates(void **unused)
{
	static const char rows[] =
		"range,200000000,4194304\n,0,r,200000000\n,1,r,200000000\n,64,r,200000000\n"
		",2,r,200000000\n,3,r,200001000\n,4,r,200200000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none replay=batch_flush", 4194304));
	assert_int_equal(result.faults_raw, 6);
	assert_int_equal(result.faults_coalesced, 3);
	assert_int_equal(result.duplicates, 3);
	assert_int_equal(result.far_faults, 3);
	assert_int_equal(result.batches, 1);
	assert_int_equal(result.replays, 1);
	assert_true(run_rows(rows, "prefetch=none replay=batch_flush coalesce=0", 4194304));
	assert_int_equal(result.faults_coalesced, 6);
	assert_int_equal(result.duplicates, 3);
	assert_true(run_rows(rows, "prefetch=none replay=block", 4194304));
	assert_int_equal(result.replays,
			 2 + 1); /* one per block; what agent 4 raised again finds nothing to do */
	assert_true(run_rows(rows, "prefetch=none replay=once", 4194304));
	assert_int_equal(result.replays, 1);
}

/* Sequential and locality prefetchers reach into other blocks. */
static void test_prefetch_beyond_block(void **unused)
{
	static const char rows[] = "range,200000000,4194304\n,0,r,2001ff000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=locality", 4194304));
	assert_int_equal(result.far_faults, 1);
	assert_int_equal(result.pages_prefetched, 127);
	assert_true(run_rows(rows, "prefetch=sequential seq_pages=512", 4194304));
	assert_int_equal(result.pages_prefetched, 512); /* 511 of the first block, 1 of the second */
	assert_true(run_rows(rows, "prefetch=sequential seq_pages=512", 2097152));
	assert_int_equal(result.pages_migrated, 512); /* the last page would push the block out */
}

static void test_ranges(void **unused)
{
	(void)unused;
	/* several ranges in one window of 2 MiB, one shorter than a big page, one that comes late */
	assert_true(
		run_rows("range,200001000,8192,a\nrange,200003000,4096,b\n,0,r,200001000\n,1,w,200003fff\n"
			 "range,200010000,1048576,late\n,0,r,200010000\n",
			 "prefetch=block", 2097152));
	assert_int_equal(result.footprint_bytes, 8192 + 4096 + 1048576);
	assert_int_equal(result.pages_migrated, 2 + 1 + 256);
	assert_true(run_rows(
		"range,200001000,8192,a\n,0,r,200001000\nrange,300000000,4194304,late\n,0,r,300000000\n",
		"prefetch=none evict=random4k", 2097152));
	assert_int_equal(result.far_faults, 2);
}

static void test_errors(void **unused)
{
	(void)unused;
	assert_false(run_rows("", "prefetch=none", 2097152));
	assert_non_null(strstr(error, "rows:1: there is no range"));
	assert_false(run_rows("range,200000000,4096\n", "prefetch=none", 4096));
	assert_non_null(strstr(error, "smaller than one VABlock"));
	assert_false(run_rows("range,200000000,4096\n,0,r,200000000\n", "max_batches=0", 2097152));
	assert_non_null(strstr(error, "never services a fault"));
	assert_true(run_rows("range,200000000,4096\n,0,r,200000000\n", "max_batches=0 quirks=0", 2097152));
	assert_false(
		run_rows("range,200000000,4096\n,0,r,200000000\n,0,x,200000000\n", "prefetch=none", 2097152));
	assert_non_null(strstr(error, "rows:4: "));
	assert_int_equal(result.accesses, 1); /* what was done is not lost */
}

/* A batch of faults that are stale, because an earlier batch brought the page, is no service: the order
 * stays. */
static void test_stale_faults(void **unused)
{
	/* agents 0 and 1 fault on A, 2 on B; batches of one: the second fault on A is stale when its turn
	 * comes */
	static const char rows[] = "range,200000000,6291456\n,0,r,200000000\n,2,r,200200000\n,1,r,200000000\n"
				   ",0,r,200400000\n,0,r,200000000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none replay=once batch=1", 4194304));
	assert_int_equal(result.evictions, 2);
	assert_int_equal(result.refaults, 1);
}

/* Two faults of one batch on both sides of a block boundary: the second is no prefetch of the first. */
static void test_follow_and_fault(void **unused)
{
	static const char rows[] = "range,200000000,4194304\n,0,r,2001ff000\n,1,r,200200000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=locality", 8388608));
	assert_int_equal(result.far_faults, 2);
	assert_int_equal(result.pages_prefetched, 127);
}

/* More agents than the fault buffer holds, and small batches: every agent gets its turn. */
static void test_full_buffer(void **unused)
{
	(void)unused;
	assert_true(run_source(workload_open("random:bytes=8m,threads=1,passes=1,agents=1500", 1, error),
			       "prefetch=none replay=batch batch=16 max_batches=1", 8388608));
	assert_int_equal(result.far_faults, 2048);
	assert_int_equal(result.refaults, 0);
}

/* -- rows of the CPU -- */

/* What the GPU took comes home when the CPU touches it, and goes again. */
static void test_cpu_brings_home(void **unused)
{
	static const char rows[] =
		"range,200000000,2097152\n,0,w,200005000\n,cpu,r,200005000\n,0,r,200005000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none", 2097152));
	assert_int_equal(result.accesses, 3);
	assert_int_equal(result.batches, 2);
	assert_int_equal(result.far_faults, 2);
	assert_int_equal(result.h2d_copies, 2);
	assert_int_equal(result.d2h_copies, 1);
	assert_int_equal(result.d2h_bytes, 4096);
	/* that is no eviction, and no re-fault follows from it */
	assert_int_equal(result.evictions, 0);
	assert_int_equal(result.pages_evicted, 0);
	assert_int_equal(result.refaults, 0);
	/* the page comes home with the 64 KiB that the prefetcher had brought with it */
	assert_true(run_rows(rows, "prefetch=density", 2097152));
	assert_int_equal(result.h2d_bytes, 2 * 65536);
	assert_int_equal(result.d2h_bytes, 65536);
	/* what is home already costs nothing: every page starts on the CPU */
	assert_true(
		run_rows("range,200000000,2097152\n,cpu,w,200005000\n,cpu,a,200006000\n,cpu,r,200007000\n",
			 "prefetch=none", 2097152));
	assert_int_equal(result.accesses, 3);
	assert_int_equal(result.batches + result.h2d_copies + result.d2h_copies, 0);
	/* the CPU comes after what the GPU has asked for: agent 1 still waits when the row is read */
	assert_true(run_rows("range,200000000,2097152\n,0,w,200005000\n,1,w,200006000\n,cpu,w,200006000\n",
			     "prefetch=none", 2097152));
	assert_int_equal(result.far_faults, 2);
	assert_int_equal(result.d2h_bytes, 4096);
}

/* Actions of the log that begin with `kind` and have all of `with`. */
static unsigned count_actions(const char *kind, const char *with)
{
	char line[4096], name[32];
	unsigned count = 0;

	rewind(decisions);
	while (fgets(line, sizeof(line), decisions))
		count += sscanf(line, "%*u %31s", name) == 1 && strcmp(name, kind) == 0 &&
			 strstr(line, with) != NULL;
	return count;
}

/* GPU and CPU write one page in turn, every 100 us: three moves each, then the faults are throttled in turn,
 * and after the tenth throttling the page stays on the CPU; the GPU accesses it remotely. */
static void test_cpu_thrashing(void **unused)
{
	static char rows[4096];
	size_t length = (size_t)snprintf(rows, sizeof(rows), "range,200000000,2097152\n");

	(void)unused;
	for (unsigned i = 0; i < 40; i++)
		length += (size_t)snprintf(rows + length, sizeof(rows) - length, "%u,%s,w,200005000\n",
					   100000 * (i + 1), i % 2 ? "cpu" : "0");
	decisions = tmpfile();
	assert_non_null(decisions);
	assert_true(run_rows(rows, "prefetch=none", 2097152));
	assert_int_equal(result.accesses, 40);
	assert_int_equal(result.far_faults, 8);
	assert_int_equal(result.d2h_copies, 8);
	assert_int_equal(count_actions("throttle", "to=0 "), 5);
	assert_int_equal(count_actions("throttle", "to=1 "), 5 * 5); /* max_throttled batches each time */
	assert_int_equal(count_actions("copy", "cause=pin"), 1);
	assert_int_equal(count_actions("map", "from=0 to=1 right=rw throttles=10"), 1);
	fclose(decisions);
	decisions = NULL;
	/* without detection it moves with each row */
	assert_true(run_rows(rows, "prefetch=none thrash=off", 2097152));
	assert_int_equal(result.far_faults, 20);
	assert_int_equal(result.d2h_copies, 20);
}

/* A source that does not look at its addresses, as a trace does. */
static void next_careless(struct source *source, struct source_row *row)
{
	memset(row, 0, sizeof(*row));
	if (source->line == 2)
		return;
	row->kind = source->line++ == 0 ? SOURCE_RANGE : SOURCE_ACCESS;
	row->range = (struct source_range){.base = BASE, .bytes = 8192, .name = "a"};
	row->is_cpu = true;
	row->access = UVMP_ACCESS_READ;
	row->address = BASE + 8192;
}

static void close_careless(struct source *source)
{
	source->line = 0;
}

static void test_cpu_outside(void **unused)
{
	struct source careless = {.name = "careless", .next = next_careless, .close = close_careless};

	(void)unused;
	assert_false(run_rows("range,200000000,8192\n,cpu,r,200002000\n", "prefetch=none", 2097152));
	assert_string_equal(error, "rows:3: address 0x200002000 is in no range declared so far");
	assert_false(run_source(&careless, "prefetch=none", 2097152));
	assert_string_equal(error, "careless:2: an access lies outside every range");
}

/* -- what the program's own thread does -- */

#define CALLS "range,200000000,4194304,a\nrange,200400000,2097152,b,fresh\n"

static void test_prefetch_calls(void **unused)
{
	(void)unused;
	assert_true(run_rows(CALLS
			     "prefetch,gpu,200000000,2097152\nkernel,k\n,0,r,200000000\n,0,w,200400000\n"
			     "sync\nprefetch,cpu,200000000,2097152\n,cpu,r,200000000\n"
			     ",cpu,r,200400000\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.accesses, 4);
	assert_int_equal(result.faults_raw, 1);
	assert_int_equal(result.far_faults, 1); /* it begins as zeros and is not copied */
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(result.pages_migrated, 512);
	assert_int_equal(result.pages_prefetched, 512);
	assert_int_equal(result.pages_prefetched_unused, 511);
	assert_int_equal(result.pages_touched, 2);
	assert_int_equal(result.h2d_copies, 1);
	assert_int_equal(result.h2d_least_bytes, 2097152);
	assert_int_equal(result.h2d_most_bytes, 2097152);
	assert_int_equal(result.d2h_copies, 2);
	assert_int_equal(result.d2h_bytes, 2097152 + 4096);
	assert_int_equal(result.d2h_least_bytes, 4096);
	assert_int_equal(result.d2h_most_bytes, 2097152);
	assert_int_equal(result.evictions, 0);
	/* more than there is room for: what came first makes place */
	assert_true(run_rows(CALLS "prefetch,gpu,200000000,4194304\n", "prefetch=none", 2097152));
	assert_int_equal(result.pages_migrated, 1024);
	assert_int_equal(result.pages_evicted, 512);
	/* it waits for the stalled agents */
	assert_true(run_rows(CALLS ",0,r,200000000\n,1,r,200001000\nprefetch,gpu,200000000,8192\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.far_faults, 2);
	assert_int_equal(result.pages_prefetched, 0);
}

/* Pages of a fresh range are resident nowhere, not even on the CPU. Several of them are prefetched. */
static void test_fresh(void **unused)
{
	(void)unused;
	assert_true(run_rows(CALLS ",cpu,w,200400000\n,cpu,r,200400000\n", "prefetch=none", 6291456));
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(result.h2d_copies + result.d2h_copies, 0);
	assert_int_equal(result.footprint_bytes, 6291456);
	assert_true(run_rows(CALLS ",0,w,200400000\n,0,w,200401000\n", "prefetch=block", 6291456));
	assert_int_equal(result.far_faults, 1);
	assert_int_equal(result.pages_prefetched, 511);
	assert_int_equal(result.pages_prefetched_unused, 510);
	assert_int_equal(result.pages_migrated, 0);
	/* what has been there once has contents: the next block evicts it */
	assert_true(
		run_rows(CALLS ",0,w,200400000\n,0,r,200000000\n,0,w,200400000\n", "prefetch=none", 2097152));
	assert_int_equal(result.pages_migrated, 2);
	assert_int_equal(result.pages_evicted, 2);
	assert_int_equal(result.refaults, 1);
	/* without contents there is nothing to copy */
	assert_true(run_rows(CALLS ",0,w,200400000\nadvise,discard,,200400000,2097152\n,0,r,200000000\n",
			     "prefetch=block", 2097152));
	assert_int_equal(result.pages_evicted, 0);
	assert_int_equal(result.evictions, 1);
	assert_int_equal(result.pages_prefetched_unused, 511 + 511);
}

static void test_advice(void **unused)
{
	(void)unused;
	assert_true(run_rows(CALLS "advise,accessed-by,gpu,200000000,4096\n,0,w,200000000\n,cpu,w,200000000\n"
				   "advise,not-accessed-by,gpu,200000000,4096\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.faults_raw + result.cpu_faults + result.h2d_copies, 0);
	assert_true(run_rows(CALLS "advise,preferred,cpu,200000000,4096\n,0,w,200000000\n,cpu,w,200000000\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.faults_raw, 1);
	assert_int_equal(result.h2d_copies + result.cpu_faults, 0);
	assert_true(run_rows(CALLS "advise,preferred,cpu,200000000,4096\n"
				   "advise,preferred,none,200000000,4096\n,0,w,200000000\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.h2d_copies, 1);
	assert_true(run_rows(CALLS "advise,read-duplicate,,200000000,4096\n,0,r,200000000\n"
				   "sync\n,cpu,r,200000000\n,0,r,200000000\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.h2d_copies, 1);
	assert_int_equal(result.cpu_faults + result.d2h_copies, 0);
}

/* Notifications are serviced after the access that made them, also if no fault follows: the page arrives, and
 * later accesses are local. */
static void test_notifications_without_faults(void **unused)
{
	static const char *const policies[] = {"prefetch=none counters=on counter_threshold=4",
					       "prefetch=none evict=lru2m remote=always remote_threshold=4"};
	static const char reads[] = ",0,r,200000000\n,0,r,200000000\n,0,r,200000000\n,0,r,200000000\n"
				    ",0,r,200000000\n,0,r,200000000\n,0,r,200000000\n,0,r,200000000\n";
	char rows[1024];

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		snprintf(rows, sizeof(rows), "%s%s%s", CALLS,
			 i == 0 ? "advise,accessed-by,gpu,200000000,4096\n" : "", reads);
		assert_true(run_rows(rows, policies[i], 6291456));
		assert_int_equal(result.faults_raw, i);
		assert_int_equal(result.h2d_copies, 1);
		assert_in_range(result.remote_accesses, 3, 4);
	}
}

/* Advice on half a block makes two of it for the engine. Actions about the upper one are about the upper
 * half. */
static void test_advice_on_half_a_block(void **unused)
{
	(void)unused;
	assert_true(run_rows(CALLS "advise,preferred,gpu,200000000,1048576\n"
				   "prefetch,gpu,200000000,1048576\nprefetch,gpu,200100000,1048576\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.pages_prefetched_unused, 512);
	assert_true(run_rows(CALLS "advise,preferred,gpu,200400000,1048576\n"
				   ",0,w,200500000\n,0,w,200500000\n,0,w,200400000\n"
				   ",cpu,r,200500000\n,cpu,r,200400000\n",
			     "prefetch=none", 6291456));
	assert_int_equal(result.far_faults, 2);
	assert_int_equal(result.cpu_faults, 2);
	assert_true(run_rows(CALLS "advise,preferred,gpu,200400000,1048576\n"
				   ",0,w,200500000\n,0,w,200400000\n,0,r,200000000\n,0,r,200500000\n",
			     "prefetch=none", 2097152));
	assert_int_equal(result.refaults, 1);
}

/* An interrupt arrives at the first decision of a row that takes many decisions. */
static ssize_t interrupt_at_write(void *lines, const char *text, size_t bytes)
{
	interrupt_caught = SIGTERM;
	for (size_t i = 0; i < bytes; i++)
		*(uint32_t *)lines += text[i] == '\n';
	return (ssize_t)bytes;
}

static void test_interrupted_within_a_row(void **unused)
{
	uint32_t lines = 0;

	(void)unused;
	decisions = fopencookie(&lines, "w", (cookie_io_functions_t){.write = interrupt_at_write});
	assert_non_null(decisions);
	setvbuf(decisions, NULL, _IOLBF, 0);
	assert_false(run_rows(CALLS "prefetch,gpu,200000000,4194304\n", "prefetch=none", 6291456));
	fclose(decisions);
	decisions = NULL;
	interrupt_caught = 0;
	assert_non_null(strstr(error, "interrupted"));
	assert_int_equal(lines, 1);
}

/* Rows that no trace could hold. */
struct list {
	struct source source;
	struct source_row row[4]; /* and END */
};

static void next_of_list(struct source *source, struct source_row *row)
{
	*row = ((struct list *)source)->row[source->line];
	source->line += row->kind != SOURCE_END;
}

static bool run_list(struct source_row a, struct source_row b, struct source_row c, uint64_t memory_bytes)
{
	struct list list = {{.name = "list", .next = next_of_list, .close = close_careless}, {a, b, c}};

	return run_source(&list.source, "prefetch=none", memory_bytes);
}

static void test_calls_outside(void **unused)
{
	struct source_row range = {.kind = SOURCE_RANGE, .range = {.base = BASE, .bytes = 8192}};
	struct source_row call = {.kind = SOURCE_PREFETCH, .address = BASE + 4096, .bytes = 8192};
	struct source_row end = {.kind = SOURCE_END};

	(void)unused;
	assert_false(run_list(range, call, end, 2097152));
	assert_string_equal(
		error, "list:2: a prefetch, advice or free for 8192 bytes at 0x200001000: a part of "
		       "the range is not managed");
	call.kind = SOURCE_ADVISE;
	assert_false(run_list(range, call, end, 2097152));
	assert_non_null(strstr(error, "a part of the range is not managed"));
	call.bytes = 1; /* the whole page is meant */
	assert_true(run_list(range, call, end, 2097152));
	call.bytes = 0;
	assert_false(run_list(range, call, end, 2097152));
	call.bytes = UINT64_MAX;
	assert_false(run_list(range, call, end, 2097152));
	call.address = 0;
	assert_false(run_list(range, call, end, 2097152));
	call.advice = (enum uvmp_advice)77;
	call.address = BASE;
	call.bytes = 4096;
	assert_false(run_list(range, call, end, 2097152));
}

/* -- frees -- */

/* A freed part on the GPU is not copied; the other pages of its block migrate to the CPU and back. The part
 * may be declared again, without its former contents. */
static void test_free_part(void **unused)
{
	static const char rows[] = "range,200000000,4194304\n,0,w,200000000\n,0,w,200001000\n,0,w,200002000\n"
				   ",0,w,200003000\nfree,200001000,8192\n,0,w,200003000\n"
				   "range,200001000,8192,,fresh\n,0,w,200001000\n,cpu,r,200001000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none", 2097152));
	assert_int_equal(result.footprint_bytes, 4194304 + 8192);
	assert_int_equal(result.accesses, 7);
	assert_int_equal(result.pages_touched, 5);
	assert_int_equal(result.far_faults, 6);
	assert_int_equal(result.pages_migrated, 5);    /* the fresh one begins with zeros */
	assert_int_equal(result.d2h_bytes, 3u * 4096); /* two beside the part, one that the CPU reads */
	assert_int_equal(result.pages_evicted, 0);
	assert_int_equal(result.cpu_faults, 1);
}

/* Prefetched pages that are freed have not been used. What was freed takes no memory. */
static void test_free_part_of_prefetched(void **unused)
{
	static const char rows[] = "range,200000000,6291456\nprefetch,gpu,200000000,2097152\n"
				   "free,200000000,2097152\n,0,r,200200000\n"
				   "range,200000000,2097152\n,0,r,200000000\n"
				   "free,200000000,6291456\nrange,200000000,6291456\n,0,r,200000000\n";

	(void)unused;
	assert_true(run_rows(rows, "prefetch=none", 4194304));
	assert_int_equal(result.pages_prefetched, 512);
	assert_int_equal(result.pages_prefetched_unused, 512);
	assert_int_equal(result.pages_migrated, 512 + 3);
	assert_int_equal(result.evictions, 0);
	assert_int_equal(result.d2h_bytes, 0);
	assert_int_equal(result.pages_thrashed, 0);
}

#define WINDOW_PAGES 2048u

static void declare(FILE *out, bool *is_declared, uint32_t first, uint32_t end, bool is_fresh)
{
	for (uint32_t page = first; page < end; page++)
		is_declared[page] = true;
	fprintf(out, "range,%llx,%u,%s\n", (unsigned long long)BASE + first * 4096ull,
		(end - first) * 4096u, is_fresh ? ",fresh" : "a");
}

/* From a page on as many as are alike, at most. */
static uint32_t alike(const bool *is_declared, uint32_t first, uint32_t most)
{
	uint32_t page = first;

	while (page < WINDOW_PAGES && page - first < most && is_declared[page] == is_declared[first])
		page++;
	return page;
}

static void write_random_frees(FILE *out, uint64_t *random, uint32_t steps)
{
	static bool is_declared[WINDOW_PAGES];

	declare(out, memset(is_declared, 0, sizeof(is_declared)), 0, WINDOW_PAGES, false);
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t page = (uint32_t)uvmp_random_below(random, WINDOW_PAGES);
		uint32_t most = uvmp_random_below(random, 3) == 0 ? WINDOW_PAGES : 24;
		uint32_t end = alike(is_declared, page, most),
			 kind = (uint32_t)uvmp_random_below(random, 16);
		unsigned long long address = BASE + page * 4096ull;

		if (!is_declared[page]) {
			declare(out, is_declared, page, end, kind % 2u == 0);
		} else if (kind == 0) {
			memset(is_declared + page, 0, end - page);
			fprintf(out, "free,%llx,%u\n", address, (end - page) * 4096u);
		} else if (kind == 1) {
			fprintf(out, "advise,accessed-by,gpu,%llx,%u\n", address, (end - page) * 4096u);
		} else {
			fprintf(out, ",%s,%c,%llx\n",
				kind == 2  ? "cpu"
				: kind < 9 ? "1"
					   : "70",
				kind % 2u ? 'r' : 'w', address);
		}
	}
}

/* Parts come and go. Where whole roots are evicted all fits: in shreds of ranges they are soon all pinned. */
static void test_random_frees(void **unused)
{
	static const struct {
		const char *policy;
		uint64_t memory_bytes;
	} cases[] = {{"", 4u * WINDOW_PAGES * 4096u},
		     {"quirks=0 counters=on", 4u * WINDOW_PAGES * 4096u},
		     {"prefetch=none thrash=off evict=lru4k", 2097152},
		     {"preset=uvmsmart-tbn", 4194304},
		     {"prefetch=sequential evict=lfu2m", 4194304},
		     {"prefetch=pattern evict=mhpe", 4194304},
		     {"replay=once evict=random4k", 4194304}};
	uint64_t random = test_seed(), cpu_faults = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *file = tmpfile();

		assert_non_null(file);
		fputs("uvmp-trace 1\n", file);
		write_random_frees(file, &random, 600u + test_share_of(2400));
		rewind(file);
		if (!run_source(trace_open_stream(file, "frees", error), cases[i].policy,
				cases[i].memory_bytes))
			fail_msg("%s: %s", cases[i].policy, error);
		assert_true(result.pages_migrated > 0);
		assert_true(result.pages_prefetched_unused <= result.pages_prefetched);
		cpu_faults += result.cpu_faults;
	}
	assert_true(cpu_faults > 0); /* of all cases: without prefetching the CPU rarely uses what the GPU holds */
}

/* Memory of the GPU that is not managed: what it takes is missing, the GPU may always use it. */
static void test_device_ranges(void **unused)
{
	struct source_row range = {.kind = SOURCE_RANGE, .range = {.base = BASE, .bytes = 8192}};
	struct source_row device = {.kind = SOURCE_RANGE,
				    .range = {.base = BASE + 8192, .bytes = 2097153, .is_device = true}};
	struct source_row use = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_WRITE, .address = BASE + 8192};
	struct source_row end = {.kind = SOURCE_END};

	(void)unused;
	assert_true(run_list(range, device, use, 6291456));
	assert_int_equal(result.memory_bytes, 2097152);
	assert_int_equal(result.footprint_bytes, 8192);
	assert_int_equal(result.faults_raw + result.pages_touched, 0);
	assert_true(run_list(range, device, use, 0)); /* 100 percent of what is managed */
	assert_int_equal(result.memory_bytes, 2097152);
	assert_false(run_list(range, device, use, 4194304));
	assert_string_equal(error,
			    "list:3: the ranges that are not managed leave no memory for those that are");
	use.address = BASE;
	assert_false(run_list(range, use, device, 6291456));
	assert_string_equal(error,
			    "list:3: a range that is not managed must precede the first access");
	use.address = device.range.base;
	assert_true(run_list(device, use, end, 4194304)); /* all of it */
	assert_true(run_list(device, use, end, 0));
	assert_false(run_list(device, use, end, 2097152));
	assert_non_null(strstr(error, "leave no memory"));
	assert_false(run_list(device, use, end, 4096));
	assert_non_null(strstr(error, "smaller than one VABlock"));
}

/* A program that manages nothing runs, and has nothing to count; a trace without ranges is a mistake. */
static void test_nothing_managed(void **unused)
{
	static const char *const specs[] = {"stream_thread:bytes=2m,move=copy",
					    "tiles:tiles=2,tile=1m,order=compute"};

	(void)unused;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		assert_true(run_source(workload_open(specs[i], 1, error), "preset=nvidia-595", 0));
		assert_int_equal(result.footprint_bytes + result.accesses + result.faults_raw, 0);
	}
	assert_false(run_rows("", "prefetch=none", 0));
	assert_non_null(strstr(error, "there is no range"));
}

/* An error during the service of the CPU is reported. */
static void test_error_below_cpu(void **unused)
{
	(void)unused;
	decisions = fopen("/dev/full", "w");
	if (!decisions)
		skip();
	setvbuf(decisions, NULL, _IONBF, 0);
	assert_false(run_rows("range,200000000,4096,a,fresh\n,cpu,w,200000000\n", "prefetch=none", 1u << 22));
	assert_non_null(strstr(error, "the decision log cannot be written"));
	fclose(decisions);
	decisions = NULL;
}

static void test_large_batch(void **unused)
{
	(void)unused;
	assert_true(run_rows("range,200000000,4096\n,0,w,200000000\n", "batch=65535", 1u << 22));
	assert_int_equal(result.far_faults, 1);
}

/* A workload, written as a trace and read back, makes the same run. */
static void test_trace_of_workload(void **unused)
{
	static const char *const specs[] = {"tiles:tiles=4,tile=1m", "hotspot:n=512,cpu=1,agents=9",
					    "random:bytes=4m"};

	(void)unused;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct source *source = workload_open(specs[i], 1, error);
		struct sim_result first;
		struct trace_writer *writer;
		FILE *file = tmpfile();
		struct source_row row;

		if (!source || !file)
			fail_msg("%s", error);
		writer = trace_write_open(file, "t", 0, NULL, error);
		assert_non_null(writer);
		for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row))
			assert_true(trace_write_row(writer, &row, error));
		assert_true(trace_write_close(writer, error));
		source->close(source);
		if (!run_source(workload_open(specs[i], 1, error), "prefetch=density", 2097152))
			fail_msg("%s", error);
		first = result;
		rewind(file);
		assert_true(run_source(trace_open_stream(file, "t", error), "prefetch=density", 2097152));
		assert_memory_equal(&first, &result, sizeof(result));
		assert_true(first.pages_migrated != 0);
	}
}

/* -- every combination -- */

static void check_conservation(const char *text)
{
	uint64_t resident = result.pages_migrated - result.pages_evicted;

	if (result.pages_migrated < result.pages_touched || resident * 4096u > result.memory_bytes ||
	    result.far_faults + result.pages_prefetched != result.pages_migrated ||
	    result.h2d_bytes != result.pages_migrated * 4096u ||
	    result.d2h_bytes != result.pages_evicted * 4096u || result.faults_coalesced > result.faults_raw ||
	    result.refaults > result.far_faults || result.pages_prefetched_unused > result.pages_prefetched ||
	    result.replays == 0 || result.h2d_copies > result.pages_migrated ||
	    result.d2h_copies > result.pages_evicted)
		fail_msg("counts do not add up: %s", text);
}

static void test_all_policies(void **unused)
{
	static const char *const workloads[] = {"random:bytes=5m,passes=2,agents=12",
						"stencil:n=512,tile=32,iterations=2,agents=7"};
	const uint32_t all = UVMP_PREFETCH_COUNT * UVMP_EVICT_COUNT * 4u * 2u;

	(void)unused;
	for (uint32_t k = 0; k < test_share_of(all); k++) {
		uint32_t i = k * 599u % all; /* a prime: a share of them has something of everything */
		uint32_t prefetch = i % UVMP_PREFETCH_COUNT,
			 evict = i / UVMP_PREFETCH_COUNT % UVMP_EVICT_COUNT;
		uint32_t rest = i / UVMP_PREFETCH_COUNT / UVMP_EVICT_COUNT;
		uint64_t memory = i / 7u % 2u ? 4194304 : 2097152;
		char text[128];

		snprintf(text, sizeof(text), "prefetch=%s evict=%s replay=%s quirks=%u batch=%u",
			 uvmp_prefetch_name((enum uvmp_prefetcher)prefetch),
			 uvmp_evict_name((enum uvmp_evictor)evict),
			 uvmp_replay_name((enum uvmp_replay_policy)(rest % 4u)), rest / 4u, i % 3u ? 256 : 5);
		if (!run_source(workload_open(workloads[i % 2u], 1, error), text, memory))
			fail_msg("%s: %s", text, error);
		check_conservation(text);
	}
}

/* The same run twice gives the same counts, and another seed other ones where anything is random. */
static void test_determinism(void **unused)
{
	struct sim_result first;

	(void)unused;
	assert_true(run_source(workload_open("random:bytes=8m", 7, error), "prefetch=random evict=random4k",
			       4194304));
	first = result;
	assert_true(run_source(workload_open("random:bytes=8m", 7, error), "prefetch=random evict=random4k",
			       4194304));
	assert_memory_equal(&first, &result, sizeof(result));
	assert_true(run_source(workload_open("random:bytes=8m", 8, error), "prefetch=random evict=random4k",
			       4194304));
	assert_memory_not_equal(&first, &result, sizeof(result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequential_touch),
		cmocka_unit_test(test_two_blocks_in_one),
		cmocka_unit_test(test_lru_by_service),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_prefetch_beyond_block),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_stale_faults),
		cmocka_unit_test(test_follow_and_fault),
		cmocka_unit_test(test_full_buffer),
		cmocka_unit_test(test_cpu_brings_home),
		cmocka_unit_test(test_cpu_thrashing),
		cmocka_unit_test(test_cpu_outside),
		cmocka_unit_test(test_prefetch_calls),
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_notifications_without_faults),
		cmocka_unit_test(test_advice_on_half_a_block),
		cmocka_unit_test(test_interrupted_within_a_row),
		cmocka_unit_test(test_calls_outside),
		cmocka_unit_test(test_free_part),
		cmocka_unit_test(test_free_part_of_prefetched),
		cmocka_unit_test(test_random_frees),
		cmocka_unit_test(test_device_ranges),
		cmocka_unit_test(test_nothing_managed),
		cmocka_unit_test(test_error_below_cpu),
		cmocka_unit_test(test_large_batch),
		cmocka_unit_test(test_trace_of_workload),
		cmocka_unit_test(test_all_policies),
		cmocka_unit_test(test_determinism),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
