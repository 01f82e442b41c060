/* More thread blocks than fit, stopped SMs, far-fault MSHRs, instructions and barriers: the GPU alone, with the test in place
 * of the driver. For all limits and all changes of limits, each warp's work is done once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "timed/gpu.h"

#define RIGHT	   UVMP_RIGHT_READ_WRITE_ATOMIC
#define PAGES_MOST 16384u

static struct model model;
static struct space space;
static struct source *source;
static struct workload *workload;
static struct gpu *gpu;
static struct link to_cpu;
static char error[SOURCE_ERROR_MAX];

/* SMs of one thread block of two warps, which want 64 pages at once; no uTLB is locked. */
static void choose(uint32_t sms, uint32_t mshr_entries)
{
	assert_true(model_open("titan-v", NULL, &model, error));
	model.sms = sms;
	model.sms_per_utlb = 1;
	model.warps_per_sm = 2;
	model.blocks_per_sm = 1;
	model.context_bytes = 10000;
	model.memory_mb_s = 1000 * sms;
	model.memory_latency_ns = 500;
	model.mshr_entries = mshr_entries;
	model.replay_ns = 1000;
	model.fault_write_ns = 1;
}

static void open_run(const char *spec)
{
	source = workload_open(spec, 1, error);
	if (!source)
		fail_msg("%s", error);
	workload = workload_of(source);
	assert_true(space_open(&space, model.page_bytes));
	for (unsigned i = 0; i < workload->ranges; i++)
		assert_true(space_add_range(&space, &workload->range[i], error));
	to_cpu = (struct link){.model = &model};
	gpu = gpu_open(&model, &space, &to_cpu, (struct gpu_listener){0});
	assert_non_null(gpu);
}

static void close_run(void)
{
	gpu_close(gpu);
	space_close(&space);
	source->close(source);
}

static void limit(uint32_t still, uint32_t extra)
{
	gpu_limit(gpu, gpu_now_ns(gpu), still, extra);
	gpu_advance(gpu, gpu_now_ns(gpu));
}

static void launch(void)
{
	assert_true(workload_launch(workload));
	assert_true(gpu_launch(gpu, workload, gpu_now_ns(gpu)));
}

static void set_right(uint64_t address, uint64_t at_ns, uint32_t right)
{
	uint32_t page;
	struct sim_block *block = space_find(&space, address, &page);
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	gpu_map(gpu, at_ns, block, &pages, right, false);
}

static void map_pages(uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		set_right(space.range[0]->start + i * model.page_bytes, gpu_now_ns(gpu), RIGHT);
}

/* Takes the faults that come within 100 us, each on a page below `most`. */
static uint64_t take_faults(uint64_t most)
{
	uint64_t faults = 0;
	const struct gpu_fault *fault;

	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	while ((fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL) {
		assert_true(fault->address < space.range[0]->start + most * model.page_bytes);
		faults++;
		gpu_take_fault(gpu);
	}
	gpu_fetch_faults(gpu, 0);
	return faults;
}

static struct gpu_counts counts(void)
{
	struct gpu_counts now;

	gpu_count(gpu, &now);
	return now;
}

/* -- thread blocks that do not fit -- */

static void test_more_blocks_more_faults(void **unused)
{
	(void)unused;
	for (uint32_t extra = 0; extra <= 3; extra++) {
		choose(1, 4096);
		open_run("regular:bytes=8m,passes=1,threads=64");
		limit(0, extra);
		launch();
		assert_int_equal(take_faults(64 * (1 + extra)), 64 * (1 + extra));
		assert_int_equal(counts().context_switches, extra);
		close_run();
	}
}

/* A context of two warps: 20,000 bytes at one byte a nanosecond. */
static void test_a_switch_takes_time(void **unused)
{
	uint64_t first_ns = 0, second_ns = 0, end_ns;
	const struct gpu_fault *fault;

	(void)unused;
	choose(1, 4096);
	open_run("regular:bytes=512k,passes=1,threads=64"); /* two blocks */
	limit(0, 1);
	launch();
	gpu_advance(gpu, 100000);
	for (unsigned i = 0; (fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL; i++) {
		if (i == 0)
			first_ns = fault->time_ns;
		if (i == 64)
			second_ns = fault->time_ns;
		gpu_take_fault(gpu);
	}
	assert_in_range(second_ns - first_ns, 20000, 20400);
	/* the first comes in again: the second is saved, it is restored, and its first page has crossed the
	 * memory */
	map_pages(0, 64);
	gpu_advance(gpu, gpu_now_ns(gpu) + 40400);
	assert_int_equal(counts().accesses, 0);
	gpu_advance(gpu, gpu_now_ns(gpu) + 2000);
	assert_int_equal(counts().accesses, 64);
	/* and when it has ended, the second needs a restore alone; each warp has 126,977 bytes */
	end_ns = gpu_now_ns(gpu);
	map_pages(64, 64);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 128);
	assert_int_equal(counts().context_switches, 2);
	assert_in_range(gpu_end_ns(gpu) - end_ns, 2 * 253954 + 17000, 2 * 253954 + 22000);
	close_run();
}

/* A warp that waits in a running block may be woken after the block is switched out, and continues when it is
 * switched in; uTLBs are locked. */
static void test_woken_outside(void **unused)
{
	(void)unused;
	choose(1, 0); /* replays wake all */
	model.utlb_faults = 65536;
	model.walk_ns = 300;
	open_run("regular:bytes=512k,passes=1,threads=64");
	limit(0, 1);
	launch();
	assert_int_equal(take_faults(128), 128); /* the lock of switched-out warps delays no warp */
	map_pages(0, 64);
	gpu_replay(gpu, gpu_now_ns(gpu));
	take_faults(128);
	map_pages(64, 64);
	gpu_replay(gpu, gpu_now_ns(gpu));
	gpu_wait(gpu, gpu_now_ns(gpu) + 10000000);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 128);
	close_run();
}

static void test_limit_falls(void **unused)
{
	(void)unused;
	choose(1, 4096);
	open_run("regular:bytes=2m,passes=1,threads=64"); /* eight blocks */
	limit(0, 2);
	launch();
	assert_int_equal(take_faults(192), 192); /* blocks 0 and 1 are out, 2 is in */
	limit(0, 1);				 /* 1, the last that went out, is held */
	map_pages(0, 128);
	assert_int_equal(take_faults(512), 0); /* 0 comes in and ends; 1 comes in for it, and 2 still waits */
	assert_int_equal(counts().accesses, 64);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1000000);
	assert_int_equal(counts().accesses, 128);
	assert_int_equal(take_faults(256), 64); /* 2 is left: room for one more */
	limit(0, 0);
	map_pages(128, 128);
	gpu_advance(gpu, gpu_now_ns(gpu) + 2000000);
	take_faults(512);
	map_pages(0, 512);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 512);
	close_run();
}

static void test_limit_of_limits(void **unused)
{
	(void)unused;
	choose(1, 16384);
	open_run("regular:bytes=32m,passes=1,threads=64");
	limit(0, UINT32_MAX);
	launch();
	gpu_advance(gpu, 10000000);
	assert_int_equal(take_faults(8192), 64 * (1 + GPU_EXTRA_MOST));
	close_run();
}

/* -- SMs that stand still -- */

/* Those whose warps fault now. */
static void assert_utlbs(uint32_t utlbs)
{
	const struct gpu_fault *fault;
	uint32_t seen = 0;

	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	while ((fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL) {
		seen |= 1u << fault->utlb;
		gpu_take_fault(gpu);
	}
	assert_int_equal(seen, utlbs);
}

static void test_the_last_stand_still(void **unused)
{
	(void)unused;
	choose(4, 4096);
	open_run("regular:bytes=8m,passes=1,threads=64");
	limit(3, 0);
	launch();
	assert_utlbs(0x1);
	limit(1, 0);
	assert_utlbs(0x6);
	limit(0, 0);
	assert_utlbs(0x8);
	close_run();
	choose(4, 4096);
	open_run("regular:bytes=8m,passes=1,threads=64");
	limit(100, 0); /* one runs at least */
	launch();
	assert_utlbs(0x1);
	close_run();
}

/* Warps on an SM that stands still wait, also if their pages come; when the others have nothing left they go
 * on. */
static void test_no_warp_is_left_behind(void **unused)
{
	(void)unused;
	choose(2, 4096);
	open_run("regular:bytes=1m,passes=1,threads=64"); /* four blocks */
	launch();
	assert_int_equal(take_faults(128), 128); /* blocks 0 and 1 */
	limit(1, 0);
	map_pages(64, 64);
	assert_int_equal(take_faults(256), 0);
	assert_int_equal(counts().accesses, 0);
	map_pages(0, 64);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1000000);
	assert_int_equal(counts().accesses, 64);
	assert_int_equal(take_faults(192), 64); /* all that is new goes to the first SM */
	map_pages(128, 64);
	gpu_advance(gpu, gpu_now_ns(gpu) + 1000000);
	assert_int_equal(take_faults(256), 64);
	assert_int_equal(counts().accesses, 128);
	map_pages(192, 64);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 256);
	close_run();
}

/* -- MSHRs -- */

/* All warps of all SMs want the same pages. */
static void open_shared(uint32_t mshr_entries)
{
	choose(8, mshr_entries);
	model.warps_per_sm = 32;
	open_run("stream_thread:bytes=64k,grid=8,block=1024,unroll=1");
	launch();
}

static void test_same_page_once(void **unused)
{
	uint64_t faults;

	(void)unused;
	open_shared(0);
	faults = take_faults(16);
	assert_int_equal(counts().mshr_merged, 0);
	close_run();
	assert_true(faults > 16);
	open_shared(4096); /* one iteration: 256 warps of 128 bytes, 32 to a page */
	assert_int_equal(take_faults(16), 8);
	assert_int_equal(counts().mshr_merged, 8 * 31);
	/* only the warps that wait for one page are notified; no replay is needed */
	map_pages(3, 1);
	assert_int_equal(take_faults(16), 1); /* 32 warps have gone on, to the next that they want */
	assert_int_equal(counts().accesses, 32);
	gpu_replay(gpu, gpu_now_ns(gpu) + 1); /* fetched, and not mapped: they fault again */
	assert_int_equal(take_faults(16), 8);
	assert_int_equal(counts().accesses, 32);
	close_run();
}

/* A fault that the driver has not fetched is not written again. */
static void test_replay_leaves_the_buffer(void **unused)
{
	(void)unused;
	choose(1, 4096);
	open_run("regular:bytes=256k,passes=1,threads=64");
	launch();
	gpu_advance(gpu, 100000);
	for (unsigned i = 0; i < 40; i++)
		gpu_take_fault(gpu);
	gpu_fetch_faults(gpu, 10); /* 30 fetched, 10 in the driver's hands, 24 in the GMMU's */
	gpu_replay(gpu, gpu_now_ns(gpu));
	assert_int_equal(take_faults(64), 24 + 30);
	map_pages(0, 64);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 64);
	close_run();
}

static void test_full_table(void **unused)
{
	(void)unused;
	choose(1, 4);
	open_run("regular:bytes=256k,passes=1,threads=64");
	launch();
	assert_int_equal(take_faults(64), 4); /* of one warp; each of both has found it full once */
	assert_int_equal(counts().mshr_stalled, 2);
	map_pages(8, 8); /* of no use for the table */
	assert_int_equal(take_faults(64), 0);
	map_pages(0, 2);
	assert_int_equal(take_faults(64), 2);
	map_pages(0, 32);
	for (unsigned i = 0; i < 8; i++) {
		take_faults(64);
		map_pages(32 + 4 * i, 4);
	}
	gpu_wait(gpu, gpu_now_ns(gpu) + 10000000);
	assert_true(gpu_is_done(gpu));
	assert_int_equal(counts().accesses, 64);
	close_run();
}

/* A page that a notification has brought and that is taken back at the same time is used in between. */
static void test_notification_gives_a_turn(void **unused)
{
	uint64_t at_ns;

	(void)unused;
	choose(1, 64);
	model.replay_ns = 0;
	open_run("regular:bytes=4096,passes=1,threads=1");
	launch();
	assert_int_equal(take_faults(1), 1);
	at_ns = gpu_now_ns(gpu) + 5000;
	set_right(space.range[0]->start, at_ns, RIGHT);
	set_right(space.range[0]->start, at_ns, UVMP_RIGHT_NONE);
	gpu_advance(gpu, at_ns);
	assert_int_equal(counts().accesses, 1);
	close_run();
}

/* -- all limits -- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* A driver with room for so many pages; what came first leaves first. */
static struct {
	uint64_t page[PAGES_MOST];
	uint32_t first, count, room;
	bool is_there[PAGES_MOST];
} memory;

static void bring(uint64_t address, uint64_t at_ns)
{
	uint64_t page = (address - space.range[0]->start) / model.page_bytes;

	if (memory.is_there[page])
		return;
	if (memory.count == memory.room) {
		uint64_t out = memory.page[memory.first++ % PAGES_MOST];

		memory.count--;
		memory.is_there[out] = false;
		set_right(space.range[0]->start + out * model.page_bytes, at_ns, UVMP_RIGHT_NONE);
	}
	memory.page[(memory.first + memory.count++) % PAGES_MOST] = page;
	memory.is_there[page] = true;
	set_right(address, at_ns, RIGHT);
}

/* One batch; some of its faults are not served this time. */
static void serve(uint32_t most)
{
	uint64_t at_ns = gpu_now_ns(gpu) + 20000;
	const struct gpu_fault *fault;

	for (uint32_t i = 0; i < most && (fault = gpu_first_fault(gpu, gpu_now_ns(gpu))) != NULL; i++) {
		if (draw(16) != 0)
			bring(fault->address, at_ns);
		gpu_take_fault(gpu);
	}
	gpu_fetch_faults(gpu, 0);
	gpu_replay(gpu, at_ns);
	if (draw(4) == 0)
		gpu_limit(gpu, at_ns - draw(20000), draw(6), draw(5));
	gpu_run(gpu, at_ns);
}

static void run_anyhow(const char *spec)
{
	memset(&memory, 0, sizeof(memory));
	open_run(spec);
	memory.room = 300 + draw(2000);
	limit(draw(6), draw(5));
	while (workload_launch(workload)) {
		uint32_t batches = 0;
		uint64_t done, total;

		assert_true(gpu_launch(gpu, workload, gpu_now_ns(gpu)));
		while (!gpu_is_done(gpu)) {
			if (gpu_wait(gpu, gpu_now_ns(gpu) + 1000000) == UINT64_MAX)
				fail_msg("stuck");
			serve(1 + draw(400));
			assert_true(++batches < 100000);
			gpu_progress(gpu, &done, &total);
			assert_true(done <= total);
		}
		assert_int_equal(done, total);
		workload_end_kernel(workload);
	}
}

static void test_each_warp_once(void **unused)
{
	(void)unused;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		uint32_t warps = 2 + draw(7);

		random_state = seed;
		choose(1 + draw(5), seed % 3 == 0 ? 0 : 1 + draw(seed % 3 == 1 ? 100 : 5000));
		model.warps_per_sm = warps;
		model.blocks_per_sm = 1 + draw(4);
		model.sms_per_utlb = 1 + draw(2);
		model.replay_ns = draw(2) * 700;
		model.context_bytes = draw(2) * 1360;
		run_anyhow(draw(2) == 0 ? "regular:bytes=8m,passes=2,threads=64"
					: "regular:bytes=8m,passes=2,threads=40");
		assert_int_equal(counts().accesses, 2 * 2048);
		assert_int_equal(counts().pages_touched, 2048);
		close_run();
	}
}

/* -- instructions and barriers -- */

/* hotspot's first thread block on one SM: its warps load a tile of 14 rows, each a page long. */
static void open_tile(uint32_t executes_code)
{
	choose(1, 4096);
	model.warps_per_sm = 8;
	model.executes_code = executes_code;
	open_run("hotspot:n=1024,cpu=0");
	launch();
}

/* Maps rows [first, end) of an array. */
static void map_rows(unsigned range, uint64_t first, uint64_t end)
{
	for (uint64_t row = first; row < end; row++)
		set_right(space.range[range]->start + row * model.page_bytes, gpu_now_ns(gpu), RIGHT);
}

/* How many of the faults that come are of the array that the kernel stores to. */
static uint64_t stores(void)
{
	uint64_t found = 0;
	const struct gpu_fault *fault;

	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	for (; (fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL; gpu_take_fault(gpu))
		found += fault->access == UVMP_ACCESS_WRITE;
	gpu_fetch_faults(gpu, 0);
	return found;
}

static void test_a_barrier_holds_all(void **unused)
{
	(void)unused;
	for (uint32_t executes = 0; executes <= 1; executes++) {
		open_tile(executes);
		map_rows(0, 0, 14);
		map_rows(2, 0, 13); /* the last warp lacks one of its two rows */
		assert_int_equal(stores() != 0, !executes);
		map_rows(2, 13, 14);
		assert_int_equal(stores() != 0, executes);
		close_run();
	}
}

/* The same while thread blocks are switched out that wait at a barrier for a warp that waits for a page. */
static void test_a_barrier_with_extra_blocks(void **unused)
{
	(void)unused;
	choose(1, 4096);
	model.warps_per_sm = 8;
	model.executes_code = 1;
	open_run("hotspot:n=16,sim_time=1,cpu=0");
	limit(0, 2);
	launch();
	map_rows(0, 0, 1);
	assert_int_equal(stores(), 0);
	map_rows(2, 0, 1);
	assert_int_not_equal(stores(), 0);
	map_rows(1, 0, 1);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	assert_true(counts().context_switches > 0);
	close_run();
}

/* When a kernel ends whose pages are all mapped. */
static uint64_t end_of(const char *spec, uint64_t seed)
{
	uint64_t end_ns;

	open_run(spec);
	gpu_seed(gpu, seed);
	launch();
	for (unsigned i = 0; i < workload->ranges; i++)
		map_rows(i, 0, workload->range[i].bytes / model.page_bytes);
	gpu_wait(gpu, UINT64_MAX);
	assert_true(gpu_is_done(gpu));
	end_ns = gpu_end_ns(gpu);
	close_run();
	return end_ns;
}

static void test_instructions_take_time(void **unused)
{
	const char *spec = "hotspot:n=128,cpu=0";
	uint64_t none_ns, fast_ns;

	(void)unused;
	choose(1, 4096);
	model.warps_per_sm = 8;
	model.gflops = 100;
	model.memory_mb_s = 1000000;
	none_ns = end_of(spec, 0);
	model.executes_code = 1;
	model.gflops_64 = 0; /* as fp32 */
	fast_ns = end_of(spec, 0);
	assert_true(fast_ns > none_ns);
	model.gflops_64 = model.gflops;
	assert_int_equal(end_of(spec, 0), fast_ns);
	model.gflops_64 = model.gflops / 32;
	assert_true(end_of(spec, 0) > fast_ns + (fast_ns - none_ns));
}

static void test_latencies_differ(void **unused)
{
	const char *spec = "stream_thread:bytes=1m,grid=1,block=64,unroll=1"; /* 4096 loads of each warp, one after another */
	uint64_t least_ns, spread_ns;

	(void)unused;
	choose(1, 4096);
	least_ns = end_of(spec, 0);
	model.memory_spread_ns = 300;
	spread_ns = end_of(spec, 0);
	assert_in_range(spread_ns - least_ns, 4096 * 140, 4096 * 160);
	assert_int_equal(end_of(spec, 0), spread_ns);
	assert_int_not_equal(end_of(spec, 1), spread_ns);
}

/* Neighbouring thread blocks go to SMs that do not share a uTLB. */
static void test_clusters_first(void **unused)
{
	static const uint32_t sm_of[] = {0, 2, 1, 3};
	const struct gpu_fault *fault;
	uint32_t faults = 0;

	(void)unused;
	choose(4, 4096);
	model.sms_per_utlb = 2;
	model.warps_per_sm = 32;
	open_run("stream_thread:bytes=16k,grid=4,block=1024,unroll=1"); /* a page each */
	launch();
	gpu_advance(gpu, gpu_now_ns(gpu) + 100000);
	for (; (fault = gpu_first_fault(gpu, UINT64_MAX)) != NULL; faults++) {
		assert_int_equal(fault->sm, sm_of[(fault->address - space.range[0]->start) / model.page_bytes]);
		gpu_take_fault(gpu);
	}
	assert_int_equal(faults, 4);
	close_run();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_blocks_more_faults),
		cmocka_unit_test(test_a_switch_takes_time),
		cmocka_unit_test(test_woken_outside),
		cmocka_unit_test(test_limit_falls),
		cmocka_unit_test(test_limit_of_limits),
		cmocka_unit_test(test_the_last_stand_still),
		cmocka_unit_test(test_no_warp_is_left_behind),
		cmocka_unit_test(test_same_page_once),
		cmocka_unit_test(test_replay_leaves_the_buffer),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_notification_gives_a_turn),
		cmocka_unit_test(test_each_warp_once),
		cmocka_unit_test(test_a_barrier_holds_all),
		cmocka_unit_test(test_a_barrier_with_extra_blocks),
		cmocka_unit_test(test_instructions_take_time),
		cmocka_unit_test(test_latencies_differ),
		cmocka_unit_test(test_clusters_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
