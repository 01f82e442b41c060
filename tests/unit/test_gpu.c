/* The GPU alone, without a driver: the test takes the faults and changes the page tables. Most runs have one
 * SM, so that every count is known in advance. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timed/gpu.h"
#include "timed/tlb.h"

#define BLOCK_PAGES 512u
#define RIGHT	    UVMP_RIGHT_READ_WRITE_ATOMIC

static struct model model;
static struct space space;
static struct source *source;
static struct workload *workload;
static struct gpu *gpu;
static struct link to_cpu;
static char error[SOURCE_ERROR_MAX];
static uint64_t offset; /* of ranges from a multiple of 2 MiB */

static struct {
	uint64_t calls, writes, requests, last_ns;
} heard;

static void on_remote(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t requests,
                      uint64_t now_ns)
{
	assert_ptr_equal(context, &heard);
	assert_true(page < block->shape.pages);
	heard.requests += requests;
	heard.calls++;
	heard.writes += is_write;
	heard.last_ns = now_ns;
}

/* The case that a loop is at, for messages. */
static char case_text[64];

#define BEGIN_CASE(...) snprintf(case_text, sizeof(case_text), __VA_ARGS__)

static void check_case(const char *what, uint64_t have, uint64_t want)
{
	if (have != want)
		fail_msg("%s: %s: %" PRIu64 ", not %" PRIu64, case_text, what, have, want);
}

/* The value of a model's key in a test of NAMED_CASE. */
static uint32_t case_value(void **state)
{
	const uint32_t *value = *state;

	return *value;
}

/* A Titan V with so many SMs, and with numbers that the tests can count on; they change `model` before
 * open_run. */
static void choose(uint32_t sms)
{
	char text[MODEL_ERROR_MAX];

	assert_true(model_open("titan-v", NULL, &model, text));
	model.sms = sms;
	model.sms_per_utlb = 1;
	model.utlb_entries = 16;
	model.utlb_faults = 32;
	model.lock_holds = 0;
	model.utlb_merges = 0;
	model.walk_ns = 300;
	model.l2_tlb_ns = 100;
	model.fault_write_ns = 50;
	memset(&heard, 0, sizeof(heard));
	offset = 0;
}

static void open_with(const char *spec, bool is_device)
{
	source = workload_open(spec, 1, error);
	if (!source)
		fail_msg("%s", error);
	workload = workload_of(source);
	assert_true(space_open(&space, model.page_bytes));
	for (unsigned i = 0; i < workload->ranges; i++) {
		workload->range[i].is_device = is_device;
		workload->range[i].base += offset;
		assert_true(space_add_range(&space, &workload->range[i], error));
	}
	to_cpu = (struct link){.model = &model};
	gpu = gpu_open(&model, &space, &to_cpu, (struct gpu_listener){.remote = on_remote, .context = &heard});
	assert_non_null(gpu);
}

static void open_run(const char *spec)
{
	open_with(spec, false);
}

static void close_run(void)
{
	gpu_close(gpu);
	space_close(&space);
	source->close(source);
}

static struct sim_block *block_at(unsigned range, uint64_t number)
{
	return &space.range[range]->block[number];
}

static void map(struct sim_block *block, uint64_t at_ns, uint32_t right, bool is_remote)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, (struct uvmp_region){0, block->shape.pages});
	gpu_map(gpu, at_ns, block, &pages, right, is_remote);
}

static void map_all(uint32_t right, bool is_remote)
{
	for (unsigned i = 0; i < space.ranges; i++)
		for (uint64_t k = 0; k < space.range[i]->blocks; k++)
			map(block_at(i, k), gpu_now_ns(gpu), right, is_remote);
}

static void launch(void)
{
	assert_true(workload_launch(workload));
	assert_true(gpu_launch(gpu, workload, gpu_now_ns(gpu)));
}

static struct gpu_counts counts(void)
{
	struct gpu_counts now;

	gpu_count(gpu, &now);
	assert_int_equal(now.tlb_misses, now.l2_tlb_hits + now.l2_tlb_misses);
	return now;
}

/* A kernel that finds all it wants; how long it takes. */
static uint64_t run_kernel(void)
{
	uint64_t start_ns = gpu_now_ns(gpu), end_ns;

	launch();
	end_ns = gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_null(gpu_first_fault(gpu, UINT64_MAX));
	workload_end_kernel(workload);
	return end_ns - start_ns;
}

/* -- what is queued -- */

static void test_blocks_do_not_wait_for_each_other(void **unused)
{
	(void)unused;
	choose(1);
	open_run("regular:bytes=8m");
	map(block_at(0, 0), 1000000, RIGHT, false);
	map(block_at(0, 1), 500, RIGHT, false);
	map(block_at(0, 2), 700, RIGHT, false);
	map(block_at(0, 3), 300, RIGHT, false);
	for (uint32_t i = 0; i < 100; i++) /* many, in no order */
		gpu_replay(gpu, 400 + i * 37 % 100);
	map(block_at(0, 0), 10, UVMP_RIGHT_NONE, false); /* behind what was queued for the block before */
	gpu_advance(gpu, 299);
	assert_int_equal(block_at(0, 3)->mapped, 0);
	gpu_advance(gpu, 300);
	assert_int_equal(block_at(0, 3)->mapped, BLOCK_PAGES);
	assert_int_equal(block_at(0, 1)->mapped, 0);
	gpu_advance(gpu, 600);
	assert_int_equal(block_at(0, 1)->mapped, BLOCK_PAGES);
	assert_int_equal(block_at(0, 2)->mapped, 0);
	gpu_advance(gpu, 999999);
	assert_int_equal(block_at(0, 2)->mapped, BLOCK_PAGES);
	assert_int_equal(block_at(0, 0)->mapped, 0);
	map(block_at(0, 0), 0, UVMP_RIGHT_READ, false); /* at 1000000, too, and behind those */
	gpu_advance(gpu, 1000000);
	assert_int_equal(block_at(0, 0)->mapped, BLOCK_PAGES);
	assert_false(uvmp_mask_test(&block_at(0, 0)->high[1], 0));
	close_run();
}

/* A replay comes after the mapping that was queued before it for the same time. */
static void test_replay_sees_the_mapping(void **unused)
{
	uint64_t fault_ns;

	(void)unused;
	choose(1);
	open_run("regular:bytes=2m,passes=1");
	launch();
	fault_ns = gpu_wait(gpu, UINT64_MAX);
	while (gpu_first_fault(gpu, UINT64_MAX) != NULL)
		gpu_take_fault(gpu);
	map(block_at(0, 0), fault_ns + 5000, RIGHT, false);
	gpu_replay(gpu, fault_ns + 5000);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_null(gpu_first_fault(gpu, UINT64_MAX));
	assert_int_equal(counts().accesses, BLOCK_PAGES);
	close_run();
}

/* One page for one warp, which has faulted and whose fault is taken. */
static uint64_t fault_once(void)
{
	uint64_t fault_ns;

	choose(1);
	model.replay_ns = 0;
	open_run("regular:bytes=4096,passes=1,threads=1");
	launch();
	fault_ns = gpu_wait(gpu, UINT64_MAX);
	gpu_take_fault(gpu);
	assert_int_equal(counts().accesses, 0);
	return fault_ns;
}

/* What a replay has brought and the next change takes away at the same time is used in between. */
static void test_replay_gives_a_turn(void **unused)
{
	uint64_t at_ns;

	(void)unused;
	at_ns = fault_once() + 5000;
	map(block_at(0, 0), at_ns, RIGHT, false);
	gpu_replay(gpu, at_ns);
	map(block_at(0, 0), at_ns, UVMP_RIGHT_NONE, false);
	gpu_advance(gpu, at_ns);
	assert_int_equal(block_at(0, 0)->mapped, 0);
	assert_int_equal(counts().accesses, 1);
	close_run();

	at_ns = fault_once() + 5000; /* the GPU has come to that time before */
	map(block_at(0, 0), at_ns, RIGHT, false);
	gpu_replay(gpu, at_ns);
	gpu_advance(gpu, at_ns);
	assert_int_equal(counts().accesses, 0);
	map(block_at(0, 0), at_ns, UVMP_RIGHT_NONE, false);
	gpu_advance(gpu, at_ns);
	assert_int_equal(block_at(0, 0)->mapped, 0);
	assert_int_equal(counts().accesses, 1);
	close_run();

	at_ns = fault_once() + 5000; /* without a replay it stays asleep */
	map(block_at(0, 0), at_ns, RIGHT, false);
	map(block_at(0, 0), at_ns, UVMP_RIGHT_NONE, false);
	gpu_replay(gpu, at_ns);
	gpu_advance(gpu, at_ns + 5000);
	assert_int_equal(counts().accesses, 0);
	assert_non_null(gpu_first_fault(gpu, UINT64_MAX));
	close_run();
}

/* -- waiting -- */

static void test_wait_has_a_limit(void **unused)
{
	uint64_t fault_ns, address;

	(void)unused;
	choose(1);
	open_run("regular:bytes=2m,passes=1");
	assert_true(workload_launch(workload));
	assert_true(gpu_launch(gpu, workload, 5000));
	assert_int_equal(gpu_now_ns(gpu), 5000);
	/* the walk, 300 ns, and the first entry, 50 ns, are not over yet */
	assert_int_equal(gpu_wait(gpu, 5100), 5100);
	assert_int_equal(gpu_now_ns(gpu), 5100);
	assert_null(gpu_first_fault(gpu, 5100));
	fault_ns = gpu_wait(gpu, 100000);
	assert_int_equal(fault_ns, 5000 + 2 + 300 + 50);
	assert_null(gpu_first_fault(gpu, fault_ns - 1));
	while (gpu_first_fault(gpu, UINT64_MAX) != NULL)
		gpu_take_fault(gpu);
	/* now all warps wait */
	assert_int_equal(gpu_wait(gpu, 200000), 200000);
	assert_int_equal(gpu_now_ns(gpu), 200000);
	assert_int_equal(gpu_wait(gpu, 100000), 100000); /* long past */
	assert_int_equal(gpu_wait(gpu, UINT64_MAX), UINT64_MAX);
	assert_false(gpu_is_done(gpu));
	assert_false(gpu_is_lost(gpu, &address));
	gpu_replay(gpu, 300000);
	assert_int_equal(gpu_wait(gpu, 250000), 250000);
	assert_int_equal(gpu_wait(gpu, UINT64_MAX), 300000 + model.replay_ns + 2 + 300 + 50);
	close_run();
}

static void test_outside_every_range(void **unused)
{
	uint64_t address;

	(void)unused;
	choose(1);
	open_run("regular:bytes=4m,passes=1");
	map_all(RIGHT, false);
	workload->range[0].base += (uint64_t)64 << 20;
	launch();
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_lost(gpu, &address));
	assert_int_equal(address, workload->range[0].base);
	close_run();
}

/* The program sets up the next kernel while one runs. */
static void test_kernel_is_kept(void **unused)
{
	(void)unused;
	choose(1);
	open_run("regular:bytes=16m,passes=1");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	launch();
	workload->blocks = 1;
	workload->warps = 32;
	workload->tag = 7;
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 8 * BLOCK_PAGES);
	assert_int_equal(workload->tag, 0); /* steps see that of the kernel that runs */
	close_run();
}

/* -- faults -- */

static uint64_t count_faults(uint32_t utlb)
{
	uint64_t faults = 0;
	const struct gpu_fault *fault;

	gpu_wait(gpu, UINT64_MAX);
	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	while ((fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL) {
		assert_int_equal(fault->utlb, utlb);
		assert_int_equal(fault->access, UVMP_ACCESS_READ);
		assert_int_equal(fault->type, UVMP_FAULT_INVALID_PTE);
		faults++;
		gpu_take_fault(gpu);
	}
	return faults;
}

static uint64_t faults_of(uint32_t sms, uint32_t walk_ns, uint32_t utlb_faults)
{
	uint64_t faults;

	choose(sms);
	model.sms_per_utlb = sms;
	model.walk_ns = walk_ns;
	model.utlb_faults = utlb_faults;
	open_run("regular:bytes=8m,passes=1");
	launch();
	faults = count_faults(0);
	close_run();
	return faults;
}

/* What a warp asks for with one step gets through, and the steps until the first walk has failed: one every
 * 64 ns. */
static void test_a_fault_locks_the_utlb(void **unused)
{
	(void)unused;
	assert_int_equal(faults_of(1, 0, 1000), 32);
	assert_int_equal(faults_of(1, 300, 1000), 5 * 32);
	assert_int_equal(faults_of(2, 0, 1000), 2 * 32); /* SMs that share it ask at the same time */
	assert_int_equal(faults_of(1, 300, 56), 56);
	assert_int_equal(faults_of(2, 300, 5), 5);
}

/* What is mapped is used behind a fault, too, if the uTLB has it; what it lacks waits. */
static void test_hits_pass_the_lock(void **unused)
{
	(void)unused;
	choose(1);
	open_run("regular:bytes=4m,passes=2");
	map(block_at(0, 0), 0, RIGHT, false);
	gpu_advance(gpu, 1);
	launch();
	assert_int_equal(count_faults(0), 32);
	assert_int_equal(counts().accesses, BLOCK_PAGES);
	assert_int_equal(counts().pages_touched, BLOCK_PAGES);
	close_run();
}

/* Pages [0, pages) of the array's first block are mapped, and a replay follows: how many faults the warps raise then. */
static uint64_t faults_after(uint32_t pages)
{
	uint64_t faults = 0;
	uvmp_mask some;

	uvmp_mask_zero(&some);
	uvmp_mask_region_set(&some, (struct uvmp_region){0, pages});
	gpu_map(gpu, gpu_now_ns(gpu), block_at(0, 0), &some, RIGHT, false);
	gpu_replay(gpu, gpu_now_ns(gpu));
	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	for (; gpu_first_fault(gpu, UINT64_MAX) != NULL; faults++)
		gpu_take_fault(gpu);
	return faults;
}

/* Five warps fault. While one of them lacks its pages, only these five try again, and the others stay behind the lock; else
 * they all try again, and five fault. */
static void test_a_lock_holds(void **state)
{
	uint32_t holds = case_value(state);

	choose(1);
	model.utlb_faults = 1000;
	model.lock_holds = holds;
	open_run("regular:bytes=2m,passes=1");
	launch();
	assert_int_equal(faults_after(0), 5 * 32);
	assert_int_equal(faults_after(32), holds ? 4 * 32 : 5 * 32);
	assert_int_equal(counts().accesses, 32);
	assert_int_equal(faults_after(4 * 32), holds ? 32 : 5 * 32);
	assert_int_equal(counts().accesses, 4 * 32);
	assert_int_equal(faults_after(5 * 32), 5 * 32);
	assert_int_equal(counts().accesses, 5 * 32);
	assert_int_equal(faults_after(BLOCK_PAGES), 0);
	assert_true(gpu_is_done(gpu));
	close_run();
}

/* Two SMs with one uTLB wait for each other's faults. */
static void test_a_shared_lock_holds(void **unused)
{
	(void)unused;
	choose(2);
	model.sms_per_utlb = 2;
	model.utlb_faults = 1000;
	model.lock_holds = 1;
	model.walk_ns = 0;
	open_run("regular:bytes=2m,passes=1,threads=32");
	launch();
	assert_int_equal(faults_after(0), 2 * 32);
	assert_int_equal(faults_after(32), 32);
	assert_true(faults_after(64) > 0);
	close_run();
}

/* One thread block of STREAM loads two pages of b and two of c, each with 16 warps. A uTLB that merges has one fault outstanding
 * for each page, before and after a replay that brings no page. */
static void test_a_utlb_merges(void **state)
{
	uint32_t merges = case_value(state);
	uint64_t first, again;

	choose(1);
	model.utlb_faults = 1000;
	model.utlb_merges = merges;
	open_run("stream:bytes=8k,passes=1");
	launch();
	first = faults_after(0);
	again = faults_after(0);
	assert_true(merges ? first == 4 : first > 4);
	assert_int_equal(again, first);
	close_run();
}

/* Takes the faults of 100 us. Each is of a page of its own; returns how many there are. */
static uint64_t distinct_faults(void)
{
	uint64_t pages[64], count = 0;
	const struct gpu_fault *fault;

	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	for (; (fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL; count++) {
		assert_true(count < 64);
		pages[count] = fault->address;
		for (uint64_t i = 0; i < count; i++)
			assert_int_not_equal(pages[i], fault->address);
		gpu_take_fault(gpu);
	}
	return count;
}

/* Two SMs share a uTLB, and want pages of their own as well as common ones: 16 in all. The uTLB has exactly as many faults
 * outstanding as its limit allows, each of another page, whichever SM raised first. */
static void test_a_utlb_merges_up_to_its_limit(void **unused)
{
	(void)unused;
	for (uint32_t limit = 1; limit <= 20; limit++) {
		BEGIN_CASE("utlb_faults=%u", limit);
		choose(2);
		model.sms_per_utlb = 2;
		model.utlb_faults = limit;
		model.utlb_merges = 1;
		open_run("stream:bytes=32k,passes=1");
		launch();
		check_case("faults", distinct_faults(), limit < 16 ? limit : 16);
		gpu_replay(gpu, gpu_now_ns(gpu));
		check_case("faults after a replay", distinct_faults(), limit < 16 ? limit : 16);
		close_run();
	}
}

static void map_page(unsigned range, uint32_t page)
{
	uvmp_mask one;

	uvmp_mask_zero(&one);
	uvmp_mask_set(&one, page);
	gpu_map(gpu, gpu_now_ns(gpu), block_at(range, 0), &one, RIGHT, false);
}

/* The first page of each array comes, the second does not. The uTLB stays locked, and all 16 warps with faults on the first
 * pages, merged or not, do one step: 16 loads of b, and 16 of c. */
static void test_merged_warps_pass_a_lock_that_holds(void **unused)
{
	(void)unused;
	choose(1);
	model.utlb_faults = 1000;
	model.utlb_merges = model.lock_holds = 1;
	open_run("stream:bytes=8k,passes=1");
	launch();
	assert_int_equal(faults_after(0), 4);
	for (unsigned i = 0; i < 3; i++)
		map_page(i, 0);
	gpu_replay(gpu, gpu_now_ns(gpu));
	assert_int_equal(distinct_faults(), 2);
	assert_int_equal(counts().accesses, 2 * 16);
	close_run();
}

static bool has_page(uint32_t page, uint64_t at_ns)
{
	gpu_advance(gpu, at_ns);
	return right_on(block_at(0, 0), UVMP_CPU + 1u, page) != UVMP_RIGHT_NONE;
}

static void change(uint32_t first, uint32_t end, uint64_t at_ns, uint32_t right)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, (struct uvmp_region){first, end});
	gpu_map(gpu, at_ns, block_at(0, 0), &pages, right, false);
}

/* A change waits for earlier ones of the same page, or, without maps_copies, of its block. */
static void test_changes_stay_in_order(void **state)
{
	uint32_t maps = case_value(state);

	choose(1);
	model.maps_copies = maps;
	open_run("regular:bytes=2m,passes=1");
	change(0, 2, 3000, RIGHT);
	change(1, 3, 1000, UVMP_RIGHT_NONE);
	change(4, 5, 1000, RIGHT);
	assert_int_equal(has_page(4, 1000), maps);
	assert_true(has_page(4, 3000));
	assert_true(has_page(0, 3000));
	assert_false(has_page(1, 3000));
	close_run();
}

static void keep(uint32_t page)
{
	uvmp_mask one;

	uvmp_mask_zero(&one);
	uvmp_mask_set(&one, page);
	gpu_keep(gpu, block_at(0, 0), &one);
}

/* A removal that is taken back holds up no later change of its page. The mapping before it still does. */
static void test_changes_do_not_wait_for_kept_pages(void **unused)
{
	(void)unused;
	choose(1);
	model.maps_copies = 1;
	open_run("regular:bytes=2m,passes=1");
	change(0, 1, 2000, RIGHT);
	change(0, 2, 9000, UVMP_RIGHT_NONE);
	keep(0);
	change(0, 1, 1000, UVMP_RIGHT_NONE);
	change(1, 2, 1000, RIGHT);
	assert_false(has_page(0, 2000));
	assert_false(has_page(1, 8999));
	assert_true(has_page(1, 9000));
	change(1, 2, 20000, UVMP_RIGHT_NONE);
	keep(1);
	change(1, 2, 10000, UVMP_RIGHT_NONE);
	assert_true(has_page(1, 9999));
	assert_false(has_page(1, 10000));
	close_run();
}

/* The first kernel leaves both blocks in the uTLB. In the second, warps behind a fault on block 0 use block 1, unless the
 * lock stalls what the uTLB holds, too. */
static void test_a_lock_stalls_hits(void **state)
{
	uint32_t holds = case_value(state);

	choose(1);
	model.lock_holds = holds;
	open_run("regular:bytes=4m,passes=2");
	map_all(RIGHT, false);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	run_kernel();
	assert_int_equal(counts().accesses, 2 * BLOCK_PAGES);
	map(block_at(0, 0), gpu_now_ns(gpu), UVMP_RIGHT_NONE, false);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	launch();
	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	assert_int_equal(counts().accesses, holds ? 2 * BLOCK_PAGES : 3 * BLOCK_PAGES);
	assert_int_equal(count_faults(0), 32);
	assert_int_equal(faults_after(BLOCK_PAGES), 0);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 4 * BLOCK_PAGES);
	close_run();
}

static void test_full_buffer(void **unused)
{
	(void)unused;
	choose(1);
	open_run("regular:bytes=2m,passes=1");
	launch();
	gpu_wait(gpu, UINT64_MAX);
	gpu_take_fault(gpu);
	gpu_block_faults(gpu);
	gpu_replay(gpu, gpu_now_ns(gpu) + 10000);
	gpu_advance(gpu, gpu_now_ns(gpu) + 10000); /* 31 are forgotten */
	assert_null(gpu_first_fault(gpu, UINT64_MAX));
	assert_int_equal(count_faults(0), 32); /* and all come again */
	close_run();
}

static void test_types(void **unused)
{
	const struct gpu_fault *fault;

	(void)unused;
	choose(1);
	open_run("regular:bytes=2m,passes=1,write=1");
	map_all(UVMP_RIGHT_READ, false);
	gpu_advance(gpu, 1);
	launch();
	gpu_wait(gpu, UINT64_MAX);
	fault = gpu_first_fault(gpu, UINT64_MAX);
	assert_int_equal(fault->type, UVMP_FAULT_WRITE);
	assert_int_equal(fault->access, UVMP_ACCESS_WRITE);
	assert_int_equal(fault->address, space.range[0]->start);
	close_run();
}

/* Memory that is not managed needs nothing from anybody. */
static void test_device_memory(void **unused)
{
	(void)unused;
	choose(4);
	open_with("stream:bytes=4m,passes=1", true);
	run_kernel();
	assert_int_equal(counts().accesses, 3 * 4096 * 1024 / 256);
	close_run();
}

/* -- TLBs -- */

/* Four blocks, each by every SM's uTLB once. */
static void test_levels(void **unused)
{
	struct gpu_counts first, second;

	(void)unused;
	choose(1);
	open_run("regular:bytes=8m,passes=2");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	first = counts();
	assert_int_equal(first.accesses, 4 * BLOCK_PAGES);
	assert_int_equal(first.tlb_hits + first.tlb_misses, first.accesses);
	assert_int_equal(first.tlb_misses, 4);
	assert_int_equal(first.l2_tlb_misses, 4);
	run_kernel();
	second = counts();
	assert_int_equal(second.tlb_misses, 4);
	close_run();

	choose(8); /* the second level is one for all */
	open_run("regular:bytes=8m,passes=1");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	first = counts();
	assert_int_equal(first.l2_tlb_misses, 4);
	assert_int_equal(first.l2_tlb_hits, first.tlb_misses - 4);
	assert_in_range(first.tlb_misses, 8, 32);
	close_run();

	choose(1); /* a uTLB of two entries of 64 KiB: 16 pages for each */
	model.tlb_entry_bytes = 65536;
	model.utlb_entries = 2;
	open_run("regular:bytes=8m,passes=2");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	assert_int_equal(counts().tlb_misses, 4 * BLOCK_PAGES / 16);
	assert_int_equal(counts().l2_tlb_misses, 4 * BLOCK_PAGES / 16);
	run_kernel();
	assert_int_equal(counts().l2_tlb_hits, 4 * BLOCK_PAGES / 16);
	close_run();

	choose(1);
	model.tlb_entry_bytes = 4096;
	open_run("regular:bytes=8m,passes=1");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	assert_int_equal(counts().tlb_hits, 0);
	close_run();
}

/* A walk takes longer than the second level. */
static void test_walks_take_time(void **unused)
{
	uint64_t walk_ns, level_ns;

	(void)unused;
	choose(1);
	model.tlb_entry_bytes = 4096;
	model.walk_ns = 20000;
	model.l2_tlb_ns = 5000;
	model.utlb_entries = 1;
	open_run("regular:bytes=8192,passes=2,threads=2"); /* one warp, which asks for both pages at once */
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	walk_ns = run_kernel();
	level_ns = run_kernel();
	assert_in_range(walk_ns, 20000, 22000);
	assert_in_range(level_ns, 5000, 7000);
	assert_int_equal(counts().l2_tlb_hits, 2);
	close_run();
}

/* Misses of a second pass over two blocks, after a change of the second one's page table. */
static uint64_t misses_after(uint32_t shootdown, uint32_t right, uint32_t pages)
{
	uint64_t first;
	uvmp_mask mask;

	choose(1);
	model.tlb_shootdown = shootdown;
	model.tlb_entry_bytes = 65536;
	model.utlb_entries = 64;
	open_run("regular:bytes=4m,passes=2");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	first = counts().tlb_misses;
	assert_int_equal(first, 64);
	uvmp_mask_zero(&mask);
	uvmp_mask_region_set(&mask, (struct uvmp_region){0, pages});
	if (right != RIGHT)
		gpu_map(gpu, 0, block_at(0, 1), &mask, right, false);
	gpu_map(gpu, 0, block_at(0, 1), &mask, RIGHT, false);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	run_kernel();
	first = counts().tlb_misses - first;
	close_run();
	return first;
}

static void test_shootdown(void **unused)
{
	(void)unused;
	/* entries of the pages that were unmapped in between */
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_ENTRY, UVMP_RIGHT_NONE, 1), 1);
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_ENTRY, UVMP_RIGHT_READ, 17), 2);
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_ENTRY, UVMP_RIGHT_NONE, BLOCK_PAGES), 32);
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_ENTRY, RIGHT, BLOCK_PAGES), 0); /* no change */
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_WHOLE, UVMP_RIGHT_NONE, 1), 64);
	assert_int_equal(misses_after(MODEL_SHOOTDOWN_WHOLE, RIGHT, 1), 64);
}

/* Pages of a block that are not alike are no entry of 2 MiB, those of a big page none of 64 KiB. */
static void test_split_entries(void **unused)
{
	uvmp_mask page;

	(void)unused;
	choose(1);
	model.utlb_entries = 64;
	open_run("regular:bytes=2m,passes=2");
	map_all(RIGHT, false);
	uvmp_mask_zero(&page);
	uvmp_mask_set(&page, 40);
	gpu_map(gpu, 0, block_at(0, 0), &page, UVMP_RIGHT_READ, false);
	gpu_advance(gpu, 1);
	run_kernel();
	assert_int_equal(counts().tlb_misses, 31 + 16);
	gpu_map(gpu, 0, block_at(0, 0), &page, RIGHT, false);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	run_kernel();
	assert_int_equal(counts().tlb_misses, 31 + 16 + 1);
	close_run();

	choose(1);
	open_run("regular:bytes=2m,passes=1");
	map_all(RIGHT, false);
	gpu_map(gpu, 0, block_at(0, 0), &page, RIGHT, true);
	gpu_advance(gpu, 1);
	run_kernel();
	assert_int_equal(counts().tlb_misses, 31 + 16);
	assert_int_equal(counts().remote_accesses, 1);
	close_run();
}

/* Pages that come drop nothing of those that are there. */
static void test_new_pages_drop_nothing(void **unused)
{
	uint64_t misses;
	uvmp_mask pages;

	(void)unused;
	choose(1);
	model.tlb_entry_bytes = 4096;
	model.utlb_entries = BLOCK_PAGES;
	model.walk_ns = 0; /* only the first step gets through */
	open_run("regular:bytes=2m,passes=2");
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, (struct uvmp_region){0, 8});
	gpu_map(gpu, 0, block_at(0, 0), &pages, RIGHT, false);
	gpu_advance(gpu, 1);
	launch();
	assert_int_equal(count_faults(0), 24);
	map(block_at(0, 0), 0, RIGHT, false);
	gpu_replay(gpu, gpu_now_ns(gpu) + 1);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	workload_end_kernel(workload);
	misses = counts().tlb_misses;
	assert_int_equal(misses, 24 + BLOCK_PAGES);
	run_kernel();
	assert_int_equal(counts().tlb_misses, misses);
	close_run();
}

/* 64 KiB are those of the address, wherever the range begins: here with the second page of such. */
static void test_offset_entries(void **unused)
{
	uvmp_mask page;

	(void)unused;
	choose(1);
	offset = 4096;
	model.utlb_entries = 64;
	model.tlb_entry_bytes = 65536;
	open_run("regular:bytes=128k,passes=3");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	run_kernel();
	assert_int_equal(counts().tlb_misses, 15 + 1 + 1); /* only the middle 64 KiB are all there */
	for (uint32_t i = 14; i < 16; i++) {
		BEGIN_CASE("page %u", i);
		uvmp_mask_zero(&page);
		uvmp_mask_set(&page, i);
		gpu_map(gpu, 0, block_at(0, 0), &page, UVMP_RIGHT_NONE, false);
		gpu_map(gpu, 0, block_at(0, 0), &page, RIGHT, false);
		gpu_advance(gpu, gpu_now_ns(gpu) + 1);
		run_kernel();
		check_case("misses", counts().tlb_misses, 17 + (i == 14 ? 15 : 16));
	}
	close_run();
}

/* A TLB against a list that is searched from the newest on. */
static void test_oldest_leaves(void **unused)
{
	static const uint32_t sizes[] = {1, 2, 5, 64};

	(void)unused;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint64_t list[64], random = 1;
		uint32_t count = 0, at;
		struct tlb tlb;

		assert_true(tlb_open(&tlb, sizes[s]));
		for (uint32_t i = 0; i < 20000; i++) {
			uint64_t key;

			BEGIN_CASE("%u entries, access %u", sizes[s], i);
			random = random * UINT64_C(6364136223846793005) + 1;
			key = (random >> 33) % (2 * sizes[s] + 1);
			for (at = 0; at < count && list[at] != key; at++)
				;
			check_case("is held", tlb_holds(&tlb, key), at < count);
			if (at == count) {
				tlb_add(&tlb, key);
				count += count < sizes[s];
				at = count - 1;
			}
			memmove(list + 1, list, at * sizeof(*list));
			list[0] = key;
			if (i % 5000 == 4999) {
				tlb_empty(&tlb);
				count = 0;
			}
		}
		tlb_close(&tlb);
	}
}

/* -- across the link -- */

static void test_remote(void **unused)
{
	uint64_t local_ns, remote_ns, link_ns;
	const struct model_link *link = &model.link;
	struct gpu_counts now;

	(void)unused;
	choose(8);
	open_run("stream:bytes=4m,passes=2");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	local_ns = run_kernel();
	assert_int_equal(counts().remote_accesses, 0);
	map_all(RIGHT, true);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	remote_ns = run_kernel();
	now = counts();
	assert_int_equal(now.remote_accesses, now.accesses / 2);
	assert_int_equal(heard.calls, now.remote_accesses);
	assert_int_equal(heard.writes, now.remote_accesses / 3);
	assert_int_equal(now.remote_bytes[MODEL_TO_GPU], 8u << 20);
	assert_int_equal(now.remote_bytes[MODEL_TO_CPU], 4u << 20);
	assert_true(heard.last_ns <= gpu_now_ns(gpu));
	/* 8 MiB to the GPU and at the same time 4 MiB back: the link is what takes the time */
	link_ns =
		(uint64_t)8192 * 1024 * 1000 / link->point[MODEL_TO_GPU][link->points[MODEL_TO_GPU] - 1].mb_s;
	assert_in_range(remote_ns, link_ns, link_ns * 12 / 10);
	assert_true(remote_ns > 10 * local_ns);
	map_all(UVMP_RIGHT_NONE, true);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	assert_true(uvmp_mask_is_empty(&block_at(0, 0)->remote));
	close_run();
}

/* One access alone: its latency. */
static void test_remote_latency(void **unused)
{
	uint64_t near_ns;

	(void)unused;
	choose(1);
	model.remote_latency_ns = 50000;
	open_run("regular:bytes=4096,passes=2,threads=1");
	map_all(RIGHT, false);
	gpu_advance(gpu, 1);
	near_ns = run_kernel();
	map_all(RIGHT, true);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1);
	assert_in_range(run_kernel(), 50000, 50000 + near_ns + 1000);
	close_run();
}

/* One step of each warp: lanes that are `stride` bytes apart, or a span. */
static struct {
	uint64_t from, stride, bytes;
	uint32_t lanes, pages; /* one lane after another on so many pages in turn; 0: as `stride` says */
} touch;

static bool touch_span(struct workload *w, struct workload_slot *slot)
{
	uint64_t at = w->range[0].base + touch.from;

	if (slot->step++ != 0)
		return false;
	for (uint32_t i = 0; i < touch.lanes; i++)
		slot->lane[i] = at + i * touch.stride + (touch.pages != 0 ? i % touch.pages * 4096u : 0);
	if (touch.lanes != 0)
		workload_set_lanes(slot, touch.lanes, (uint32_t)touch.bytes, UVMP_ACCESS_READ);
	else
		workload_set_wide(slot, at, touch.bytes, UVMP_ACCESS_READ);
	return true;
}

/* The bytes that the step moves across the link. *alone_ns: how long the link takes for them. */
static uint64_t remote_load(uint64_t from, uint32_t lanes, uint64_t stride, uint64_t bytes,
			    uint64_t *alone_ns)
{
	struct workload_type type;
	uint64_t moved;

	touch.from = from;
	touch.lanes = lanes;
	touch.stride = stride;
	touch.bytes = bytes;
	open_run("regular:bytes=256k,threads=1024,passes=1");
	type = *workload->type;
	type.span = touch_span;
	workload->type = &type;
	map_all(RIGHT, true);
	heard.requests = 0;
	gpu_advance(gpu, 1);
	launch();
	gpu_wait(gpu, UINT64_MAX);
	moved = counts().remote_bytes[MODEL_TO_GPU];
	*alone_ns = link_idle_ns(&to_cpu, 0) - to_cpu.engine[MODEL_TO_GPU].remote_since_ns;
	close_run();
	return moved / 32u; /* every warp of the block does the same */
}

/* Sectors of 32 bytes cross the link, in requests of 128 bytes at most. */
static void test_remote_load(void **unused)
{
	static const struct {
		const char *name, *gpu;
		uint64_t from, stride, bytes, moved, requests;
		uint32_t lanes;
	} row[] = {
		{"neighbours", "titan-v", 0, 4, 4, 128, 1, 32},
		{"each lane alone", "titan-v", 0, 128, 4, 1024, 32, 32},
		{"across a boundary", "titan-v", 64, 4, 4, 128, 2, 32},
		{"all sectors of two requests", "titan-v", 0, 32, 4, 256, 2, 8},
		{"each lane on its own page", "titan-v", 0, 8192, 4, 128, 4, 4},
		{"no byte beyond the page", "titan-v", 4090, 0, 64, 32, 1, 1},
		{"a long lane", "titan-v", 0, 0, 256, 256, 2, 1},
		{"a span", "titan-v", 100, 0, 4, 32, 1, 0},
		{"a misaligned span", "titan-v", 64, 0, 128, 128, 2, 0},
		{"a span of two pages", "titan-v", 4000, 0, 200, 224, 2, 0},
		{"each lane alone on a page of 64 KiB", "p100-nvlink", 0, 2048, 4, 1024, 32, 32},
		{"misaligned on a page of 64 KiB", "p100-nvlink", 65000, 4, 4, 160, 2, 32},
		{"a span of 64 KiB", "p100-nvlink", 0, 0, 65536, 65536, 512, 0},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t alone_ns;
		char text[MODEL_ERROR_MAX];

		BEGIN_CASE("%s", row[i].name);
		choose(1);
		if (strcmp(row[i].gpu, "titan-v") != 0) {
			assert_true(model_open(row[i].gpu, NULL, &model, text));
			model.sms = 1;
		}
		model.link.request_bytes[MODEL_TO_GPU] = 100000;
		check_case("bytes", remote_load(row[i].from, row[i].lanes, row[i].stride, row[i].bytes, &alone_ns),
		           row[i].moved);
		check_case("requests", heard.requests, 32u * row[i].requests);
		check_case("time of the link", alone_ns,
		           32u * row[i].requests * 100000u * 1000u / model_link_mb_s(&model.link, MODEL_TO_GPU));
	}
}

/* Lanes on one page, with lanes on other pages between them, bring their sectors once. */
static void test_remote_once(void **unused)
{
	uint64_t unused_ns;

	(void)unused;
	choose(1);
	touch.pages = 8;
	assert_int_equal(remote_load(0, 32, 32, 4, &unused_ns), 32u * 32u);
	touch.pages = 0;
}

/* Warps whose page is far off do not hold up the others: those go on, and thread blocks behind them come. */
static void test_far_pages_delay_no_warp(void **unused)
{
	(void)unused;
	choose(1);
	model.remote_latency_ns = 1000000;
	open_run("regular:bytes=32m,passes=1");
	map_all(RIGHT, false);
	map(block_at(0, 0), 0, RIGHT, true);
	gpu_advance(gpu, 1);
	launch();
	gpu_advance(gpu, 900000);
	assert_false(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 16 * BLOCK_PAGES);
	assert_int_equal(counts().remote_accesses, BLOCK_PAGES);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_in_range(gpu_end_ns(gpu), 1000000, 1200000);
	close_run();
}

/* A test whose name in the output has the value of a key. */
#define NAMED_CASE(test, key, number)                                                                         \
	{                                                                                                     \
		#test " " #key "=" #number, test, NULL, NULL, &(uint32_t){number}                             \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_do_not_wait_for_each_other),
		cmocka_unit_test(test_replay_sees_the_mapping),
		cmocka_unit_test(test_replay_gives_a_turn),
		cmocka_unit_test(test_wait_has_a_limit),
		cmocka_unit_test(test_outside_every_range),
		cmocka_unit_test(test_kernel_is_kept),
		cmocka_unit_test(test_a_fault_locks_the_utlb),
		cmocka_unit_test(test_hits_pass_the_lock),
		NAMED_CASE(test_a_lock_holds, lock_holds, 0),
		NAMED_CASE(test_a_lock_holds, lock_holds, 1),
		cmocka_unit_test(test_a_shared_lock_holds),
		NAMED_CASE(test_a_utlb_merges, utlb_merges, 0),
		NAMED_CASE(test_a_utlb_merges, utlb_merges, 1),
		cmocka_unit_test(test_a_utlb_merges_up_to_its_limit),
		cmocka_unit_test(test_merged_warps_pass_a_lock_that_holds),
		NAMED_CASE(test_changes_stay_in_order, maps_copies, 0),
		NAMED_CASE(test_changes_stay_in_order, maps_copies, 1),
		cmocka_unit_test(test_changes_do_not_wait_for_kept_pages),
		NAMED_CASE(test_a_lock_stalls_hits, lock_holds, 0),
		NAMED_CASE(test_a_lock_stalls_hits, lock_holds, 1),
		cmocka_unit_test(test_full_buffer),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_device_memory),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_walks_take_time),
		cmocka_unit_test(test_shootdown),
		cmocka_unit_test(test_split_entries),
		cmocka_unit_test(test_new_pages_drop_nothing),
		cmocka_unit_test(test_offset_entries),
		cmocka_unit_test(test_oldest_leaves),
		cmocka_unit_test(test_remote),
		cmocka_unit_test(test_remote_latency),
		cmocka_unit_test(test_remote_load),
		cmocka_unit_test(test_remote_once),
		cmocka_unit_test(test_far_pages_delay_no_warp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
