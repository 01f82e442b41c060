/* What the models of UVM Smart's GPUs do otherwise than a driver's GPU (docs/machine.md, "UVM Smart's simulator"). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"

static char error[MODEL_ERROR_MAX];
static struct model model;
static struct sim_result result;
static struct sim_times times;
static uint64_t memory_bytes;

static int load(void **unused)
{
	(void)unused;
	if (!model_open("uvmsmart", NULL, &model, error))
		fail_msg("%s", error);
	model.block_ns = 0;
	memory_bytes = 64u << 20;
	return 0;
}

static void run(const char *workload, const char *policy_text)
{
	struct source *source = workload_open(workload, 1, error);
	struct uvmp_policy policy;
	struct sim_run settings = {.policy = &policy, .memory = {.bytes = memory_bytes}, .seed = 1};

	if (!source)
		fail_msg("%s", error);
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	if (!timed_run(source, &model, &settings, &result, &times, error))
		fail_msg("%s", error);
	source->close(source);
}

/* hotspot writes its third array, of n * n floats, and no code of the CPU does. */
static void test_data_begins_on_the_cpu(void **unused)
{
	uint64_t filled;

	(void)unused;
	model.data_on_cpu = 0;
	run("hotspot:n=512", "preset=uvmsmart");
	filled = result.pages_migrated;
	model.data_on_cpu = 1;
	run("hotspot:n=512", "preset=uvmsmart");
	assert_int_equal(result.pages_migrated, filled + 256u);
	assert_int_equal(result.pages_migrated, 3u * 256u);
}

/* The published run has 20 + 5,764,800 + 5,764,800 + 5,760,000 bytes: 18.06 MiB when they are rounded. All of the largest
 * array is prefetched in the end, its last 128 KiB included. */
static void test_ranges_are_rounded(void **unused)
{
	uint64_t stated;

	(void)unused;
	model.rounds_ranges = 0;
	run("fdtd2d:nx=1200,ny=1200,tmax=1", "preset=uvmsmart");
	assert_true(result.footprint_bytes < 17u << 20);
	stated = result.pages_migrated;
	model.rounds_ranges = 1;
	run("fdtd2d:nx=1200,ny=1200,tmax=1", "preset=uvmsmart");
	assert_int_equal(result.footprint_bytes, (18u << 20) + 65536u);
	assert_true(result.pages_migrated > stated);
}

/* Each SM crosses the link for a page until its TLB has the page; later accesses are free. A page at its threshold is a far
 * fault, as without remote access. */
static void test_remote_accesses_fill_the_tlbs(void **unused)
{
	uint64_t faults, pages, remote_ns;

	(void)unused;
	run("backprop:n=16000", "preset=uvmsmart");
	faults = result.far_faults;
	pages = result.pages_migrated;
	run("backprop:n=16000", "preset=uvmsmart-always");
	assert_int_equal(result.pages_migrated, pages);
	assert_true(result.far_faults >= faults * 8u / 10u); /* hot pages were no far faults: a few were left */
	assert_true(result.remote_accesses < 8u * pages);
	run("rodinia_bfs:nodes=16384,edges=65536", "preset=uvmsmart-always,remote_threshold=1000000");
	assert_true(result.remote_accesses > 0 && result.accesses > 4u * result.remote_accesses);
	remote_ns = times.kernel_ns;
	faults = result.remote_accesses;
	model.remote_miss_ns = 0; /* every access crosses the link, and none takes 135 ns of it alone */
	run("rodinia_bfs:nodes=16384,edges=65536", "preset=uvmsmart-always,remote_threshold=1000000");
	assert_true(result.remote_accesses > 4u * faults);
	model.remote_miss_ns = 270;
	run("rodinia_bfs:nodes=16384,edges=65536", "preset=uvmsmart-always,remote_threshold=1000000");
	assert_true(times.kernel_ns > remote_ns);
}

/* A step of 32 pages crosses the link once for each of them, not again for those whose access ends after the first one. */
static void test_a_remote_page_crosses_once(void **unused)
{
	(void)unused;
	model.coalesces = 0; /* a run has all of its bytes; this program reads an element of each page */
	run("regular:bytes=1m,passes=1,threads=32", "preset=uvmsmart-always,remote_threshold=1000000");
	assert_int_equal(result.accesses, 256);
	assert_int_equal(result.remote_accesses, 256);
	assert_int_equal(result.pages_migrated, 0);
}

/* Faults of different cycles are never one batch, with every `batch` of the policy; those of one cycle are. */
static void test_a_batch_is_a_cycle(void **unused)
{
	uint64_t single;

	(void)unused;
	model.queues_copies = model.keeps_faults = 0; /* faults collect while the driver waits for copies */
	model.cycle_batches = 1;
	run("backprop:n=16000", "preset=uvmsmart,prefetch=none");
	single = result.batches;
	assert_true(single < result.faults_raw && single > result.faults_raw / 2u);
	run("backprop:n=16000", "preset=uvmsmart,prefetch=none,batch=256");
	assert_int_equal(result.batches, single);
	model.cycle_batches = 0;
	run("backprop:n=16000", "preset=uvmsmart,prefetch=none");
	assert_int_equal(result.batches, result.faults_raw);
	run("backprop:n=16000", "preset=uvmsmart,prefetch=none,batch=256");
	assert_true(result.batches < single / 2u);
}

/* While memory is full, a page comes in while another one leaves: the kernel takes little more than the copies in. */
static void test_memory_is_free_when_its_copy_begins(void **unused)
{
	uint64_t early_ns, decisions;

	(void)unused;
	model.queues_copies = 0; /* a write-back is submitted when the page that needs its memory is served */
	memory_bytes = 2u << 20;
	run("regular:bytes=8M,passes=2", "preset=uvmsmart,evict=lru4k,prefetch=none");
	early_ns = times.kernel_ns;
	decisions = result.pages_evicted;
	model.frees_at_start = 0;
	run("regular:bytes=8M,passes=2", "preset=uvmsmart,evict=lru4k,prefetch=none");
	assert_true(decisions > 0 && result.pages_evicted > 0);
	assert_true(times.kernel_ns > early_ns * 14u / 10u);
}

/* Thread blocks end together, and the kernel after the last copy. What a wave of thread blocks has evicted, the next one lacks. */
static void test_warps_end_while_no_copy_is_under_way(void **unused)
{
	static const char bfs[] = "rodinia_bfs:nodes=65536,edges=393216", policy[] = "preset=uvmsmart-none";
	uint64_t together_ns, faults;

	(void)unused;
	model.queues_copies = 0;
	run("stream:bytes=4M,passes=1", "preset=uvmsmart");
	together_ns = times.kernel_ns;
	faults = result.far_faults;
	model.retires_idle = 0;
	run("stream:bytes=4M,passes=1", "preset=uvmsmart");
	assert_int_equal(result.far_faults, faults);
	assert_true(times.kernel_ns < together_ns);
	memory_bytes = 2u << 20;
	run(bfs, policy);
	faults = result.far_faults;
	model.retires_idle = 1;
	run(bfs, policy);
	assert_true(result.far_faults > faults * 11u / 10u);
}

/* A flush drops what the driver has read and not served. It is raised again in another order, so that other pages leave. */
static void test_faults_are_kept(void **unused)
{
	static const char bfs[] = "rodinia_bfs:nodes=65536,edges=393216", policy[] = "preset=uvmsmart-none";
	uint64_t kept;

	(void)unused;
	model.queues_copies = 0;
	memory_bytes = 2u << 20;
	run(bfs, policy);
	kept = result.far_faults;
	model.keeps_faults = 0;
	run(bfs, policy);
	assert_true(kept > result.far_faults);
}

/* Copies queue: the driver is through with all faults long before the copies are. */
static void test_the_driver_waits_for_no_copy(void **unused)
{
	uint64_t waits_ns;

	(void)unused;
	run("random:bytes=4M,passes=1", "preset=uvmsmart,prefetch=none");
	waits_ns = times.replay_ns;
	model.queues_copies = 0;
	run("random:bytes=4M,passes=1", "preset=uvmsmart,prefetch=none");
	assert_int_equal(result.far_faults, 1024);
	assert_int_equal(waits_ns, 0);
	assert_true(times.replay_ns > 1024u * 1000u);
}

/* backprop reads two arrays in step: of LFU's units, the one that has arrived last has the fewest uses. */
static void test_memory_in_use_stays(void **unused)
{
	uint64_t out;

	(void)unused;
	memory_bytes = 14733312;
	run("backprop:n=131056", "preset=uvmsmart,evict=lfu2m");
	out = result.pages_evicted;
	assert_int_equal(result.pages_migrated, 6800);
	model.holds_memory = 0;
	run("backprop:n=131056", "preset=uvmsmart,evict=lfu2m");
	assert_true(result.pages_migrated > 6800 && result.pages_evicted > out);
}

/* An access is a coalesced one: two for each load of backprop's weights. Pages stay on the CPU; the published run has 46,118. */
static void test_accesses_are_coalesced(void **unused)
{
	static const char policy[] = "preset=uvmsmart-adaptive,remote_penalty=1048576";

	(void)unused;
	memory_bytes = 14733312;
	run("backprop:n=131056", policy);
	assert_in_range(result.remote_accesses, 46118 * 98 / 100, 46118 * 102 / 100);
	model.coalesces = 0;
	run("backprop:n=131056", policy);
	assert_true(result.remote_accesses < 46118 * 60 / 100);
}

/* A page that faulted is there before what is prefetched with it: the warp goes on while that is copied. */
static void test_transfers_map_their_pages(void **unused)
{
	uint64_t all_ns;

	(void)unused;
	model.maps_copies = 0;
	run("rodinia_bfs:nodes=65536", "preset=uvmsmart,prefetch=sl");
	all_ns = times.kernel_ns;
	model.maps_copies = 1;
	run("rodinia_bfs:nodes=65536", "preset=uvmsmart,prefetch=sl");
	assert_true(times.kernel_ns < all_ns);
}

/* A use withdraws a victim whose write-back waits, and another one leaves: the published run has 5,419 faults, 7,862 pages in and
 * 5,593 out. */
static void test_victims_that_are_used_stay(void **unused)
{
	static const char bfs[] = "rodinia_bfs:nodes=261444,edges=1568420";
	static const char policy[] = "preset=uvmsmart,evict=lru4k,prefetch_full=none";

	(void)unused;
	memory_bytes = 9297920;
	run(bfs, policy);
	assert_in_range(result.far_faults, 5419 * 98 / 100, 5419 * 102 / 100);
	assert_in_range(result.pages_migrated, 7862 * 98 / 100, 7862 * 102 / 100);
	assert_in_range(result.pages_evicted, 5593 * 98 / 100, 5593 * 102 / 100);
	assert_int_equal(result.evictions, result.pages_evicted);
	model.maps_copies = 0;
	run(bfs, policy);
	assert_true(result.far_faults < 5419 * 95 / 100);
}

/* Trees of several sizes leave for each other, and places on the link are used again; with remote access mappings stay, too. */
static void test_large_victims_that_are_used_stay(void **unused)
{
	static const char bfs[] = "rodinia_bfs:nodes=261444,edges=1568420";
	uint64_t kernel_ns;

	(void)unused;
	memory_bytes = 6u << 20;
	run(bfs, "preset=uvmsmart");
	kernel_ns = times.kernel_ns;
	assert_true(result.pages_migrated > 20000 && result.pages_evicted < result.pages_migrated);
	model.maps_copies = 0;
	run(bfs, "preset=uvmsmart");
	assert_true(kernel_ns < times.kernel_ns * 12u / 10u);
	model.maps_copies = 1;
	run(bfs, "preset=uvmsmart-runtime");
	assert_in_range(result.pages_migrated, 12880 * 85 / 100, 12880 * 115 / 100);
}

/* An access that misses is decided about when its walk ends: the accesses that were issued by then have been counted. */
static void test_walks_end_before_pages_are_asked_about(void **unused)
{
	static const char policy[] = "preset=uvmsmart-always,remote_threshold=256";
	uint64_t accesses;

	(void)unused;
	run("backprop:n=16000", policy);
	accesses = result.remote_accesses;
	model.walk_ns = 2;
	run("backprop:n=16000", policy);
	assert_true(accesses > 0 && result.remote_accesses > 4u * accesses);
	model.walk_ns = 680;
	run("backprop:n=16000", policy);
	assert_int_equal(result.remote_accesses, 0);
}

/* Copies queue: pages that arrive late are newer than those that were used meanwhile, so that fewer pages return. */
static void test_pages_are_listed_when_they_arrive(void **unused)
{
	static const char bfs[] = "rodinia_bfs:nodes=261444,edges=1568420";
	static const char policy[] = "preset=uvmsmart,evict=lru4k,prefetch_full=none";
	uint64_t faults;

	(void)unused;
	memory_bytes = 9297920;
	model.coalesces = model.maps_copies = 0;
	run(bfs, policy);
	faults = result.far_faults;
	model.lists_arrivals = 0;
	run(bfs, policy);
	assert_true(result.far_faults > faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_data_begins_on_the_cpu, load),
		cmocka_unit_test_setup(test_ranges_are_rounded, load),
		cmocka_unit_test_setup(test_remote_accesses_fill_the_tlbs, load),
		cmocka_unit_test_setup(test_a_remote_page_crosses_once, load),
		cmocka_unit_test_setup(test_a_batch_is_a_cycle, load),
		cmocka_unit_test_setup(test_memory_is_free_when_its_copy_begins, load),
		cmocka_unit_test_setup(test_warps_end_while_no_copy_is_under_way, load),
		cmocka_unit_test_setup(test_faults_are_kept, load),
		cmocka_unit_test_setup(test_the_driver_waits_for_no_copy, load),
		cmocka_unit_test_setup(test_memory_in_use_stays, load),
		cmocka_unit_test_setup(test_accesses_are_coalesced, load),
		cmocka_unit_test_setup(test_transfers_map_their_pages, load),
		cmocka_unit_test_setup(test_victims_that_are_used_stay, load),
		cmocka_unit_test_setup(test_large_victims_that_are_used_stay, load),
		cmocka_unit_test_setup(test_walks_end_before_pages_are_asked_about, load),
		cmocka_unit_test_setup(test_pages_are_listed_when_they_arrive, load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
