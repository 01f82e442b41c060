/* Unit tests of what every workload is made of (steps, page accesses, warps and their dealing) and of the
 * programs that do nothing but touch pages: regular and random (Allen & Ge 2021), stream_thread and
 * stream_warp (NVIDIA blog 2017). What the last two access is computed here once more, thread by thread, as
 * their listings say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "workloads/workload.h"

#define PAGE ((uint64_t)4096)
#define MIB  ((uint64_t)1 << 20)
#define GIB  ((uint64_t)1 << 30)

static char error[SOURCE_ERROR_MAX];

static struct workload *open_workload(const char *spec)
{
	struct source *source = workload_open(spec, 1, error);

	if (source == NULL)
		fail_msg("%s", error);
	assert_ptr_equal(workload_of(source), source);
	return workload_of(source);
}

static void close_workload(struct workload *w)
{
	w->source.close(&w->source);
}

/* -- steps -- */

static struct workload_slot fresh_slot(void)
{
	struct workload_slot slot;

	memset(&slot, 0xa5, sizeof(slot));
	workload_start_warp(NULL, &slot, 7, 3);
	assert_int_equal(slot.block, 7);
	assert_int_equal(slot.warp, 3);
	assert_true(slot.step == 0 && slot.row == 0 && slot.own[0] == 0 && slot.own[1] == 0);
	return slot;
}

/* The accesses of the step in hand are on these pages. */
static void expect_pages(struct workload_slot *slot, const uint64_t *page, size_t count)
{
	uint64_t address;

	for (size_t i = 0; i < count; i++) {
		assert_true(workload_next_page(slot, &address));
		assert_int_equal(address / PAGE, page[i]);
	}
	assert_false(workload_next_page(slot, &address));
	assert_false(workload_next_page(slot, &address));
}
#define EXPECT_PAGES(slot, ...)                                                                              \
	expect_pages(slot, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)
#define EXPECT_NO_PAGES(slot) expect_pages(slot, NULL, 0)

static void runs(void **state)
{
	struct workload_slot slot = fresh_slot();

	(void)state;
	EXPECT_NO_PAGES(&slot);
	workload_set_span(&slot, 5 * PAGE + 4000, 2 * PAGE, UVMP_ACCESS_READ);
	assert_false(slot.at_once);
	EXPECT_PAGES(&slot, 5, 6, 7);
	workload_set_wide(&slot, 9 * PAGE, 2 * PAGE, UVMP_ACCESS_READ);
	assert_true(slot.at_once);
	EXPECT_PAGES(&slot, 9, 10);
	/* coalesced at its start, at once or not; a store is another matter */
	workload_set_span(&slot, 10 * PAGE + 8, PAGE, UVMP_ACCESS_READ);
	EXPECT_PAGES(&slot, 11);
	workload_set_wide(&slot, 11 * PAGE + 8, 8, UVMP_ACCESS_READ);
	EXPECT_NO_PAGES(&slot);
	workload_set_wide(&slot, 11 * PAGE + 8, 8, UVMP_ACCESS_WRITE);
	EXPECT_PAGES(&slot, 11);
	workload_start_warp(NULL, &slot, 7, 4);
	workload_set_wide(&slot, 11 * PAGE + 8, 8, UVMP_ACCESS_WRITE);
	EXPECT_PAGES(&slot, 11);
}

static void set_lanes(struct workload_slot *slot, const uint64_t *page, uint32_t count,
                      enum uvmp_access access)
{
	for (uint32_t i = 0; i < count; i++)
		slot->lane[i] = page[i] * PAGE + 8u * i;
	workload_set_lanes(slot, count, 8, access);
}
#define SET_LANES(slot, access, ...)                                                                         \
	set_lanes(slot, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8, access)

static void lanes(void **state)
{
	struct workload_slot slot = fresh_slot();
	uint64_t all[WORKLOAD_LANES], address;

	(void)state;
	SET_LANES(&slot, UVMP_ACCESS_READ, 8, 3, 8, 8, 3, 1, 8);
	assert_true(slot.at_once);
	EXPECT_PAGES(&slot, 8, 3, 1);
	SET_LANES(&slot, UVMP_ACCESS_READ, 1, 1, 2, 1); /* the last row was one of page 1 */
	EXPECT_PAGES(&slot, 2);
	SET_LANES(&slot, UVMP_ACCESS_WRITE, 2, 2);
	EXPECT_PAGES(&slot, 2);
	SET_LANES(&slot, UVMP_ACCESS_WRITE, 2, 2);
	EXPECT_NO_PAGES(&slot);
	for (uint32_t i = 0; i < WORKLOAD_LANES; i++)
		all[i] = 100 - i;
	set_lanes(&slot, all, WORKLOAD_LANES, UVMP_ACCESS_ATOMIC_STRONG);
	expect_pages(&slot, all, WORKLOAD_LANES);
	/* the address is that of the first lane on the page */
	SET_LANES(&slot, UVMP_ACCESS_READ, 5, 6, 6, 5);
	assert_true(workload_next_page(&slot, &address));
	assert_int_equal(address, 5 * PAGE);
	assert_true(workload_next_page(&slot, &address));
	assert_int_equal(address, 6 * PAGE + 8);
	/* a span behind lanes that were not taken to their end */
	SET_LANES(&slot, UVMP_ACCESS_READ, 5, 6);
	workload_set_span(&slot, 20 * PAGE, 1, UVMP_ACCESS_READ);
	EXPECT_PAGES(&slot, 20);
	/* and lanes behind a span */
	workload_set_span(&slot, 30 * PAGE, 9 * PAGE, UVMP_ACCESS_READ);
	SET_LANES(&slot, UVMP_ACCESS_READ, 5);
	EXPECT_PAGES(&slot, 5);
}

/* -- steps that go on -- */

/* Of every workload, all that its kernels do. */
static const char *const all_programs[] = {
        "regular:bytes=1m,threads=99",
        "random:bytes=1m,threads=99",
        "sgemm:n=200,tile=48",
        "sgemm:n=131,tile=128,transa=1,depth=20",
        "sgemm:n=131,tile=128,transa=1,transb=0,depth=3",
        "stream:bytes=100000,passes=1",
        "stencil:n=150,tile=40",
        "bfs:scale=8,degree=6",
        "cufft:scale=13,radix=9",
        "cufft:scale=12,radix=5,work=1,out=1",
        "tealeaf:n=40,iterations=1",
        "hpgmg:box=4,boxes=2,smooths=1",
        "cusparse:n=100,columns=11",
        "stream_thread:bytes=1m,grid=3,block=96,output=1",
        "stream_warp:bytes=1m,type_bytes=12,grid=2,block=96,output=1",
        "tiles:tiles=2,tile=8192",
        "backprop:n=2048",
        "rodinia_bfs:nodes=2000",
        "hotspot:n=70,pyramid_height=3,sim_time=7",
        "pathfinder:cols=1000,rows=20,pyramid_height=5",
        "srad:rows=48,cols=80,coefficients=1",
        "srad:rows=16,cols=16",
        "nw:n=80",
        "sssp:nodes=3001,degree=3",
        "ra:n=10001,stride=3",
        "fdtd2d:nx=50,ny=70,tmax=2",
        "atax:nx=70,ny=1100",
        "conv2d:ni=40,nj=100",
        "bc:scale=8",
        "bfs_dwc:scale=8",
        "bfs_ta:scale=8",
        "bfs_tf:scale=8",
        "bfs_ttc:scale=8",
        "bfs_twc:scale=8",
        "gc_dtc:scale=8",
        "gc_ttc:scale=8",
        "kcore:scale=8",
        "pr:scale=8",
        "sssp_twc:scale=8",
};

/* What a warp does, in short. */
struct tally {
	uint64_t steps, flops, bytes, pages;
};

static void add_step(struct workload_slot *slot, struct tally *tally)
{
	uint64_t address;

	tally->steps++;
	tally->flops += slot->flops;
	tally->bytes += slot->lanes != 0 ? (uint64_t)slot->lanes * slot->lane_bytes : slot->end - slot->at;
	while (workload_next_page(slot, &address))
		tally->pages++;
}

static uint64_t pages_of_step(const struct workload_slot *slot)
{
	if (slot->lanes != 0)
		return slot->lanes;
	return slot->at == slot->end ? 0 : (slot->end - 1) / PAGE - slot->at / PAGE + 1;
}

/* One by one: the properties that a continued step states for the next one hold. */
static struct tally walk_alone(struct workload *w, uint64_t block, uint32_t warp)
{
	enum uvmp_access access = UVMP_ACCESS_READ;
	struct tally tally = {0};
	struct workload_slot slot;
	bool goes_on = false;

	workload_start_warp(w, &slot, block, warp);
	while (w->type->span(w, &slot)) {
		if (slot.is_code)
			continue;
		if (goes_on || slot.goes_on)
			assert_in_range(pages_of_step(&slot), 1, WORKLOAD_LANES);
		if (goes_on)
			assert_int_equal(slot.access, access);
		goes_on = slot.goes_on;
		access = slot.access;
		add_step(&slot, &tally);
	}
	return tally;
}

static struct tally walk_joined(struct workload *w, uint64_t block, uint32_t warp)
{
	struct tally tally = {0};
	struct workload_slot slot;

	workload_start_warp(w, &slot, block, warp);
	while (workload_step(w, &slot)) {
		assert_false(slot.goes_on);
		assert_true(slot.lanes <= WORKLOAD_JOINED_LANES);
		add_step(&slot, &tally);
	}
	return tally;
}

/* Joined or not: the same bytes (an address of a joined step is given its equal part, rounded up) and
 * operations, and at most the pages that are asked for twice in a step fewer. */
static void joined_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(all_programs) / sizeof(all_programs[0]); i++) {
		struct workload *alone = open_workload(all_programs[i]), *w = open_workload(all_programs[i]);

		while (workload_launch(w)) {
			assert_true(workload_launch(alone));
			for (uint64_t at = 0; w->op.kind == WORKLOAD_KERNEL && at < w->blocks * w->warps;
			     at++) {
				struct tally a = walk_alone(alone, at / w->warps, (uint32_t)(at % w->warps));
				struct tally j = walk_joined(w, at / w->warps, (uint32_t)(at % w->warps));

				assert_int_equal(j.flops, a.flops);
				assert_in_range(j.bytes, a.bytes, a.bytes + j.steps * WORKLOAD_JOINED_LANES);
				assert_in_range(j.pages, a.pages / 3, a.pages);
				assert_in_range(j.steps, a.steps / WORKLOAD_LANES, a.steps);
			}
			if (w->op.kind == WORKLOAD_KERNEL) {
				workload_end_kernel(w);
				workload_end_kernel(alone);
			}
		}
		assert_false(workload_launch(alone));
		close_workload(w);
		close_workload(alone);
	}
}

/* The next step of a warp has so many addresses, of `bytes` on average, and operations. */
static void expect_step(struct workload *w, struct workload_slot *slot, uint32_t lanes, uint32_t bytes,
                        uint32_t flops, enum uvmp_access access)
{
	assert_true(workload_step(w, slot));
	assert_int_equal(slot->lanes, lanes);
	assert_int_equal(slot->lane_bytes, bytes);
	assert_int_equal(slot->flops, flops);
	assert_int_equal(slot->access, access);
}

/* Two rows of 64 bytes each of temperatures and powers in one step; the stores, two rows of 12 cells, are
 * another one. */
static void hotspot_steps(void **state)
{
	struct workload *w = open_workload("hotspot:n=1024,pyramid_height=2,sim_time=2,cpu=0");
	struct workload_slot slot;

	(void)state;
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 87, 3);
	expect_step(w, &slot, 4, 64, 32 * 15 * 2, UVMP_ACCESS_READ);
	for (unsigned row = 0; row < 2; row++) {
		uint64_t offset = ((10 + 6 + row) * 1024 + 10) * 4;

		assert_int_equal(slot.lane[row], w->range[0].base + offset);
		assert_int_equal(slot.lane[2 + row], w->range[2].base + offset);
	}
	expect_step(w, &slot, 2, 48, 0, UVMP_ACCESS_WRITE);
	assert_false(workload_step(w, &slot));
	close_workload(w);
}

/* 26 iterations of a warp in sixes and a pair, a grid's stride apart; or each by itself. */
static void unrolled(void **state)
{
	struct workload *w = open_workload("stream_thread:bytes=26m,grid=256,block=1024,unroll=6");
	struct workload_slot slot;

	(void)state;
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 9, 1);
	for (uint64_t done = 0; done < 26; done += 6) {
		uint32_t count = done == 24 ? 2 : 6;

		expect_step(w, &slot, count, 128, 32 * count, UVMP_ACCESS_READ);
		for (uint64_t i = 0; i < count; i++)
			assert_int_equal(slot.lane[i], w->range[0].base + (done + i) * MIB + 9 * PAGE + 128);
	}
	assert_false(workload_step(w, &slot));
	close_workload(w);

	w = open_workload("stream_thread:bytes=2m,grid=256,block=1024,unroll=1,write=1");
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 9, 1);
	for (uint64_t i = 0; i < 2; i++) {
		assert_true(workload_step(w, &slot));
		assert_int_equal(slot.lanes, 0);
		assert_int_equal(slot.at, w->range[0].base + i * MIB + 9 * PAGE + 128);
	}
	assert_false(workload_step(w, &slot));
	close_workload(w);
}

/* stream_warp: 32 elements of 12 bytes, four times, are 1536 bytes: the third four reach the next page, and
 * the rest of that is asked for by itself. With elements of 4 bytes no page is asked for beside another. */
static void unrolled_warps(void **state)
{
	struct workload *w = open_workload("stream_warp:bytes=64m,type_bytes=12");
	static const uint64_t ends[] = {3 * 1536, 6 * 1536, 8 * 1536, 11 * 1536};
	struct workload_slot slot;

	(void)state;
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(workload_step(w, &slot));
		assert_true(slot.at_once);
		assert_int_equal(slot.end, w->range[0].base + ends[i]);
	}
	close_workload(w);

	w = open_workload("stream_warp:bytes=64m");
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 5, 7);
	for (unsigned i = 0; i < 16; i++) {
		assert_true(workload_step(w, &slot));
		assert_int_equal(slot.end - slot.at, PAGE);
		assert_int_equal(slot.at % PAGE, 0);
	}
	close_workload(w);
}

static void traces_are_no_workloads(void **state)
{
	char text[] = "uvmp-trace 1\n";
	struct source *source = trace_open_stream(fmemopen(text, sizeof(text) - 1, "r"), "rows", error);

	(void)state;
	assert_non_null(source);
	assert_null(workload_of(source));
	source->close(source);
}

/* -- warps -- */

/* The next access of the source in a few words; ranges and ends of it are told by their kind. */
static enum source_row_kind next_row(struct workload *w, uint32_t *agent, uint64_t *page)
{
	struct source_row row;

	w->source.next(&w->source, &row);
	if (row.kind == SOURCE_ACCESS) {
		*agent = row.agent;
		*page = (row.address - w->range[0].base) / PAGE;
	}
	return row.kind;
}

/* 110 pages, thread blocks of 40 threads are 2 warps of 32 and 8 threads; the third block's second warp has
 * nothing to do. Two agents: the 8 pages of the second warp are done first, then comes the next block's
 * first. */
static void dealing(void **state)
{
	struct workload *w = open_workload("regular:bytes=440k,threads=40,passes=1,agents=2");
	uint64_t at[2] = {0, 32}, end[2] = {32, 40}, left[] = {40, 72, 72, 80, 80, 110, 110, 110}, page;
	uint32_t agent, turn = 0, dealt = 0;

	(void)state;
	assert_int_equal(next_row(w, &agent, &page), SOURCE_RANGE);
	assert_int_equal(next_row(w, &agent, &page), SOURCE_KERNEL);
	assert_int_equal(w->blocks, 3);
	assert_int_equal(w->warps, 2);
	for (unsigned rows = 0; rows < 110; rows++) {
		if (at[turn] == end[turn] && dealt < 4) {
			at[turn] = left[2 * dealt];
			end[turn] = left[2 * dealt + 1];
			dealt++;
		}
		if (at[turn] == end[turn])
			turn = 1 - turn;
		assert_int_equal(next_row(w, &agent, &page), SOURCE_ACCESS);
		assert_int_equal(agent, turn);
		assert_int_equal(page, at[turn]);
		at[turn]++;
		turn = 1 - turn;
	}
	assert_int_equal(next_row(w, &agent, &page), SOURCE_SYNC);
	assert_int_equal(next_row(w, &agent, &page), SOURCE_END);
	close_workload(w);
}

/* Driven one warp after the other, each workload does what its rows say for one agent, the slot lying
 * anywhere. */
static void driven_by_hand(void **state)
{
	static const char *const spec[] = {
	        "regular:bytes=1m,threads=99,agents=1",
	        "random:bytes=1m,threads=99,agents=1",
	        "sgemm:n=200,tile=48,agents=1",
	        "stream:bytes=100000,agents=1",
	        "stencil:n=150,tile=20,agents=1",
	        "bfs:scale=10,degree=8,agents=1",
	        "stream_thread:bytes=1m,grid=3,block=96,output=1,agents=1",
	        "stream_warp:bytes=1m,grid=2,block=96,output=1,agents=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(spec) / sizeof(spec[0]); i++) {
		struct workload *rows = open_workload(spec[i]), *w = open_workload(spec[i]);
		struct source_row row;

		for (unsigned r = 0; r < w->ranges; r++)
			rows->source.next(&rows->source, &row);
		while (workload_launch(w)) {
			rows->source.next(&rows->source, &row);
			assert_int_equal(row.kind, SOURCE_KERNEL);
			assert_string_equal(row.name, w->kernel);
			for (uint64_t warp = 0; warp < w->blocks * w->warps; warp++) {
				struct workload_slot slot;
				uint64_t address;

				workload_start_warp(w, &slot, warp / w->warps, (uint32_t)(warp % w->warps));
				while (workload_step(w, &slot)) {
					while (workload_next_page(&slot, &address)) {
						rows->source.next(&rows->source, &row);
						assert_int_equal(row.kind, SOURCE_ACCESS);
						assert_true(row.address == address);
						assert_int_equal(row.access, slot.access);
					}
				}
			}
			workload_end_kernel(w);
			rows->source.next(&rows->source, &row);
			assert_int_equal(row.kind, SOURCE_SYNC);
		}
		rows->source.next(&rows->source, &row);
		assert_int_equal(row.kind, SOURCE_END);
		close_workload(rows);
		close_workload(w);
	}
}

/* -- page touch -- */

/* A warp that has one step of these pages and ends. */
static void expect_touch(struct workload *w, uint64_t block, uint32_t warp, uint64_t first, uint64_t count)
{
	struct workload_slot slot;
	uint64_t address;

	workload_start_warp(w, &slot, block, warp);
	assert_int_equal(workload_step(w, &slot), count != 0);
	if (count == 0)
		return;
	assert_true(slot.at_once);
	assert_int_equal(slot.flops, 0);
	for (uint64_t i = 0; i < count; i++) {
		assert_true(workload_next_page(&slot, &address));
		assert_int_equal(address - w->range[0].base, (first + i) * PAGE);
	}
	assert_false(workload_next_page(&slot, &address));
	assert_false(workload_step(w, &slot));
}

static void regular_warps(void **state)
{
	struct workload *w = open_workload("regular:bytes=32g,passes=1");

	(void)state;
	assert_int_equal(w->ranges, 1);
	assert_true(w->range[0].bytes == 32 * GIB);
	assert_true(workload_launch(w));
	/* 32 GiB are 8388608 pages, so many threads: 32768 blocks of 256 */
	assert_int_equal(w->blocks, 32768);
	assert_int_equal(w->warps, 8);
	expect_touch(w, 0, 0, 0, 32);
	expect_touch(w, 0, 7, 224, 32);
	expect_touch(w, 12345, 3, 12345 * 256 + 96, 32);
	expect_touch(w, 32767, 7, 8388608 - 32, 32);
	workload_end_kernel(w);
	assert_false(workload_launch(w));
	close_workload(w);

	w = open_workload("regular:bytes=1000k,threads=100,write=1"); /* 250 pages */
	assert_true(workload_launch(w));
	assert_int_equal(w->blocks, 3);
	assert_int_equal(w->warps, 4);
	expect_touch(w, 0, 3, 96, 4);
	expect_touch(w, 1, 0, 100, 32);
	expect_touch(w, 2, 1, 232, 18);
	expect_touch(w, 2, 2, 0, 0);
	expect_touch(w, 2, 3, 0, 0);
	close_workload(w);
}

/* Each pass of each of them touches every page exactly once, with one row. */
static void each_page_once(const char *spec, uint64_t pages, unsigned passes, enum uvmp_access access)
{
	struct workload *w = open_workload(spec);
	uint8_t *count = calloc((size_t)pages, 1);
	struct source_row row;
	uint64_t rows = 0;
	unsigned kernels = 0;

	assert_non_null(count);
	assert_int_equal(w->ranges, 1);
	for (w->source.next(&w->source, &row); row.kind != SOURCE_END; w->source.next(&w->source, &row)) {
		uint64_t page = (row.address - w->range[0].base) / PAGE;

		kernels += row.kind == SOURCE_KERNEL;
		if (row.kind != SOURCE_ACCESS)
			continue;
		assert_true(page < pages);
		assert_int_equal(row.access, access);
		assert_int_equal(count[page], kernels - 1);
		count[page]++;
		rows++;
	}
	assert_int_equal(kernels, passes);
	assert_int_equal(rows, passes * pages);
	close_workload(w);
	free(count);
}

static void touches(void **state)
{
	(void)state;
	/* the defaults: 32 MiB, three passes */
	each_page_once("regular:bytes=32m", 8192, 3, UVMP_ACCESS_READ);
	each_page_once("random:bytes=32m", 8192, 3, UVMP_ACCESS_READ);
	each_page_once("regular:bytes=1,write=1", 1, 3, UVMP_ACCESS_WRITE);
	each_page_once("random:bytes=1,write=1", 1, 3, UVMP_ACCESS_WRITE);
	each_page_once("regular:bytes=4095999,threads=77,passes=2,agents=3", 1000, 2, UVMP_ACCESS_READ);
	each_page_once("random:bytes=4095999,threads=77,passes=2,agents=3", 1000, 2, UVMP_ACCESS_READ);
}

/* At 32 GiB: a warp's 32 pages are one step, and those of some thousand warps differ. */
static void random_warps(void **state)
{
	struct workload *w = open_workload("random:bytes=32g,passes=1"),
	                *again = open_workload("random:bytes=32g");
	uint8_t *is_touched = calloc(8388608 / 8, 1);
	uint64_t near = 0;

	(void)state;
	assert_non_null(is_touched);
	assert_true(w->range[0].bytes == 32 * GIB);
	assert_true(workload_launch(w) && workload_launch(again));
	assert_int_equal(w->blocks, 32768);
	assert_int_equal(w->warps, 8);
	for (uint64_t block = 0; block < 32768; block += 64) {
		for (uint32_t warp = 0; warp < 8; warp++) {
			struct workload_slot slot, twin;
			uint64_t address, before = 0;

			workload_start_warp(w, &slot, block, warp);
			workload_start_warp(again, &twin, block, warp);
			assert_true(workload_step(w, &slot) && workload_step(again, &twin));
			assert_true(slot.at_once);
			assert_int_equal(slot.lanes, 32);
			assert_memory_equal(slot.lane, twin.lane, 32 * sizeof(slot.lane[0]));
			for (unsigned i = 0; i < 32; i++) {
				uint64_t page;

				assert_true(workload_next_page(&slot, &address));
				assert_true(address == slot.lane[i]);
				page = (address - w->range[0].base) / PAGE;
				assert_true(page < 8388608);
				assert_false(is_touched[page / 8] >> page % 8 & 1);
				is_touched[page / 8] |= (uint8_t)(1 << page % 8);
				near += page / 512 == before;
				before = page / 512;
			}
			assert_false(workload_next_page(&slot, &address));
			assert_false(workload_step(w, &slot));
		}
	}
	/* 131072 pages in a row, 16384 VABlocks: 8 pairs of neighbours in one block on average */
	assert_in_range(near, 0, 40);
	close_workload(w);
	close_workload(again);
	free(is_touched);
}

/* -- bytes of rows -- */

/* Does the step use this byte? */
static bool uses_byte(const struct workload_slot *step, uint64_t at)
{
	for (uint32_t i = 0; i < step->lanes; i++)
		if (at >= step->lane[i] && at < step->lane[i] + step->lane_bytes)
			return true;
	return step->lanes == 0 && at >= step->at && at < step->end;
}

/* Bytes that the step moves of a page: each sector of 32 bytes with a byte that it uses. */
static uint64_t naive_bytes(const struct workload_slot *step, uint64_t page)
{
	uint64_t bytes = 0;

	for (uint64_t sector = page * PAGE; sector < (page + 1) * PAGE; sector += 32) {
		uint64_t at = sector;

		while (at < sector + 32 && !uses_byte(step, at))
			at++;
		bytes += at < sector + 32 ? 32 : 0;
	}
	return bytes;
}

/* The next access of the GPU or the CPU. */
static struct source_row next_access(struct source *source)
{
	struct source_row row;

	do
		source->next(source, &row);
	while (row.kind != SOURCE_ACCESS && row.kind != SOURCE_END);
	return row;
}

static uint64_t check_steps(struct workload *w, struct source *rows)
{
	struct workload_slot slot, step;
	uint64_t address, count = 0;

	for (uint64_t warp = 0; warp < w->blocks * w->warps; warp++) {
		workload_start_warp(w, &slot, warp / w->warps, (uint32_t)(warp % w->warps));
		while (workload_step(w, &slot)) {
			step = slot;
			for (; workload_next_page(&slot, &address); count++) {
				struct source_row row = next_access(rows);

				assert_int_equal(row.kind, SOURCE_ACCESS);
				assert_int_equal(row.address, address);
				assert_int_equal(row.access_bytes, naive_bytes(&step, address / PAGE));
			}
		}
	}
	workload_end_kernel(w);
	return count;
}

static uint64_t check_walk(const struct workload_op *op, struct source *rows)
{
	uint64_t count = 0, bytes;

	for (uint64_t at = op->at; at < op->at + op->bytes; at += bytes, count++) {
		struct source_row row = next_access(rows);

		bytes = 1;
		while ((at + bytes) % PAGE != 0 && at + bytes < op->at + op->bytes)
			bytes++;
		assert_true(row.is_cpu && row.address == at);
		assert_int_equal(row.access_bytes, bytes);
	}
	return count;
}

/* One agent: rows come in the order of the steps. */
static void bytes_of_rows(void **state)
{
	static const char *const specs[] = {"regular:bytes=1m,agents=1", "ra:n=8192,agents=1", "sgemm:n=200,agents=1",
					    "stencil:n=300,iterations=1,agents=1", "sssp:nodes=2000,agents=1",
					    "nw:n=256,agents=1", "stream:bytes=300k,agents=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct workload *w = open_workload(specs[i]), *again = open_workload(specs[i]);
		uint64_t rows = 0;

		assert_true(again->source.has_bytes);
		again->source.wants_bytes = true;
		while (workload_launch(w)) {
			if (w->op.kind == WORKLOAD_KERNEL)
				rows += check_steps(w, &again->source);
			else if (w->op.kind == WORKLOAD_CPU)
				rows += check_walk(&w->op, &again->source);
		}
		assert_in_range(rows, 50, UINT32_MAX);
		assert_int_equal(next_access(&again->source).kind, SOURCE_END);
		close_workload(w);
		close_workload(again);
	}
}

/* -- streaming: the listings of the blog, thread by thread -- */

struct shape {
	uint64_t bytes, size, grid, block;
	bool is_write, has_output;
};

/* Collects the accesses of one warp that should come, and compares. */
struct comparison {
	struct workload *w;
	struct workload_slot slot;
	uint64_t last_page, rows, elements, flops;
	enum uvmp_access last_access;
	bool has_last;
};

/* The next access of the warp, whichever step it is in. */
static void expect_row(struct comparison *c, uint64_t page, enum uvmp_access access)
{
	uint64_t address;

	while (!workload_next_page(&c->slot, &address)) {
		assert_true(workload_step(c->w, &c->slot));
		c->flops += c->slot.flops;
	}
	assert_int_equal(address / PAGE, page);
	assert_int_equal(c->slot.access, access);
	c->rows++;
}

/* All bytes of an element of a thread; threads of one load come in ascending order. */
static void access_element(struct comparison *c, unsigned range, uint64_t element, uint64_t size,
                           enum uvmp_access access)
{
	uint64_t at = c->w->range[range].base + element * size;

	assert_true((element + 1) * size <= c->w->range[range].bytes);
	for (uint64_t page = at / PAGE; page <= (at + size - 1) / PAGE; page++) {
		if (c->has_last && page == c->last_page && access == c->last_access)
			continue;
		c->has_last = true;
		c->last_page = page;
		c->last_access = access;
		expect_row(c, page, access);
	}
	c->elements++;
}

static void thread_loads(struct comparison *c, const struct shape *s, uint64_t first, uint64_t threads)
{
	uint64_t n = s->bytes / s->size;

	for (uint64_t i = 0; first + i * s->grid * s->block < n; i++)
		for (uint64_t lane = 0; lane < threads; lane++) {
			uint64_t tid = first + lane + i * s->grid * s->block;

			if (tid < n)
				access_element(c, 0, tid, s->size,
				               s->is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		}
}

static void warp_loads(struct comparison *c, const struct shape *s, uint64_t first, uint64_t threads)
{
	uint64_t n = s->bytes / s->size, warps = s->grid * s->block >> 5;

	assert_int_equal(threads, 32);
	for (uint64_t warp = first >> 5; warp < (s->bytes + 65535) / 65536; warp += warps)
		for (uint64_t rep = 0; rep < 65536 / s->size / 32; rep++)
			for (uint64_t lane = 0; lane < 32; lane++) {
				uint64_t ind = warp * 65536 / s->size + rep * 32 + lane;

				if (ind < n)
					access_element(c, 0, ind, s->size,
					               s->is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
			}
}

/* Returns the number of rows. */
static uint64_t stream_case(const char *name, struct shape s)
{
	struct comparison c = {0};
	uint64_t address, loaded, stored = 0;
	char spec[160];

	snprintf(spec, sizeof(spec), "%s:bytes=%u,type_bytes=%u,grid=%u,block=%u,write=%d,output=%d", name,
	         (unsigned)s.bytes, (unsigned)s.size, (unsigned)s.grid, (unsigned)s.block, s.is_write,
	         s.has_output);
	c.w = open_workload(spec);
	assert_int_equal(c.w->range[0].bytes, s.bytes);
	assert_int_equal(c.w->ranges, s.has_output && !s.is_write ? 2 : 1);
	if (c.w->ranges == 2)
		assert_int_equal(c.w->range[1].bytes, s.grid * s.block * s.size);
	assert_true(workload_launch(c.w));
	assert_string_equal(c.w->kernel, name);
	assert_int_equal(c.w->blocks, s.grid);
	assert_int_equal(c.w->warps, (s.block + 31) / 32);
	for (uint64_t block = 0; block < s.grid; block++)
		for (uint64_t warp = 0; warp < c.w->warps; warp++) {
			uint64_t first = block * s.block + warp * 32;
			uint64_t threads = s.block - warp * 32 < 32 ? s.block - warp * 32 : 32;

			c.has_last = false;
			workload_start_warp(c.w, &c.slot, block, (uint32_t)warp);
			if (strcmp(name, "stream_thread") == 0)
				thread_loads(&c, &s, first, threads);
			else
				warp_loads(&c, &s, first, threads);
			for (uint64_t lane = 0; lane < threads && c.w->ranges == 2; lane++, stored++)
				access_element(&c, 1, first + lane, s.size, UVMP_ACCESS_WRITE);
			while (workload_step(c.w, &c.slot)) {
				assert_false(workload_next_page(&c.slot, &address));
				c.flops += c.slot.flops;
			}
		}
	workload_end_kernel(c.w);
	assert_false(workload_launch(c.w));
	/* one addition for each element that is read */
	loaded = c.elements - stored;
	if (65536 % s.size == 0 || strcmp(name, "stream_thread") == 0) {
		assert_int_equal(loaded, s.bytes / s.size);
		assert_int_equal(c.flops, s.is_write ? 0 : loaded);
	}
	close_workload(c.w);
	return c.rows;
}

static void stream_thread_pages(void **state)
{
	const char *name = "stream_thread";

	(void)state;
	/* one warp alone walks page after page */
	assert_int_equal(stream_case(name, (struct shape){40960, 4, 1, 32, false, false}), 10);
	/* two warps of 128 bytes each take turns on every page */
	assert_int_equal(stream_case(name, (struct shape){40960, 4, 1, 64, true, false}), 20);
	/* a grid that strides by a page: each of its 32 warps visits each page */
	assert_int_equal(stream_case(name, (struct shape){40960, 4, 4, 256, false, false}), 320);
	/* the same with sums: a page of them, to which each warp stores once */
	assert_int_equal(stream_case(name, (struct shape){40960, 4, 4, 256, false, true}), 352);
	stream_case(name, (struct shape){40961, 4, 2, 48, false, true});   /* a warp of 16 threads */
	stream_case(name, (struct shape){99999, 12, 3, 100, false, true}); /* elements across pages */
	stream_case(name, (struct shape){300000, 16, 5, 1024, true, true});
	stream_case(name, (struct shape){20000, 1, 3, 7, false, false});
	stream_case(name, (struct shape){16, 16, 112, 1024, false, false}); /* one element */
}

static void stream_warp_pages(void **state)
{
	const char *name = "stream_warp";

	(void)state;
	/* ten pieces of 16 pages, for any grid */
	assert_int_equal(stream_case(name, (struct shape){655360, 4, 1, 32, false, false}), 160);
	assert_int_equal(stream_case(name, (struct shape){655360, 4, 2, 96, true, false}), 160);
	assert_int_equal(stream_case(name, (struct shape){655360, 4, 2, 96, false, true}), 166);
	assert_int_equal(stream_case(name, (struct shape){655361, 8, 40, 32, false, false}), 160);
	assert_int_equal(stream_case(name, (struct shape){655368, 8, 40, 32, false, false}), 161);
	stream_case(name, (struct shape){300001, 16, 1, 64, false, true});
	stream_case(name, (struct shape){300001, 12, 1, 64, false, true}); /* pieces that do not meet */
	stream_case(name, (struct shape){70000, 1, 3, 64, true, true});
	stream_case(name, (struct shape){16, 16, 112, 1024, false, true}); /* one element, 3583 idle warps */
}

/* The blog's 64 MB: 1024 pieces of 64 KiB, 16384 pages. A warp's load of 128 bytes is a row in the one, a
 * page is a row in the other; every page is read, those of a piece by one agent. */
static void stream_published(void **state)
{
	static const struct {
		const char *spec;
		uint64_t rows;
	} program[] = {{"stream_thread:bytes=64m,agents=3584", 64 * MIB / 128}, {"stream_warp:bytes=64m,agents=3584", 16384}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct workload *w = open_workload(program[i].spec);
		static uint32_t reader[16384];
		uint64_t rows = 0, distinct = 0;
		struct source_row row;

		memset(reader, 0, sizeof(reader));
		assert_int_equal(w->ranges, 1);
		assert_true(w->range[0].bytes == 64 * MIB);
		for (w->source.next(&w->source, &row); row.kind != SOURCE_END;
		     w->source.next(&w->source, &row)) {
			uint64_t page = (row.address - w->range[0].base) / PAGE;

			if (row.kind != SOURCE_ACCESS)
				continue;
			assert_true(page < 16384);
			assert_int_equal(row.access, UVMP_ACCESS_READ);
			distinct += reader[page] == 0;
			reader[page] = row.agent + 1;
			rows++;
		}
		assert_int_equal(rows, program[i].rows);
		assert_int_equal(distinct, 16384);
		for (uint32_t page = 0; page < 16384 && i == 1; page++)
			assert_int_equal(reader[page], page / 16 + 1);
		close_workload(w);
	}
}

static void bad_shapes(void **state)
{
	(void)state;
	assert_null(workload_open("stream_warp:block=100", 1, error));
	assert_string_equal(error, "workload stream_warp: block is not a multiple of 32");
	assert_null(workload_open("stream_thread:bytes=15", 1, error));
	assert_null(workload_open("stream_thread:type_bytes=17", 1, error));
	assert_null(workload_open("stream_thread:block=0", 1, error));
	assert_null(workload_open("stream_thread:block=1025", 1, error));
	assert_null(workload_open("stream_warp:move=teleport", 1, error));
	assert_string_equal(error, "workload stream_warp: move is not demand, prefetch or copy");
	assert_null(workload_open("stream_thread:move=cop", 1, error));
	assert_string_equal(error, "workload stream_thread: move is not demand, prefetch or copy");
	assert_null(workload_open("regular:threads=1025", 1, error));
	assert_null(workload_open("regular:chunk=1", 1, error));
	assert_string_equal(
	        error, "workload regular: unknown key `chunk`; keys: bytes, threads, passes, write, agents");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(bytes_of_rows),
	        cmocka_unit_test(runs),
	        cmocka_unit_test(lanes),
	        cmocka_unit_test(joined_steps),
	        cmocka_unit_test(hotspot_steps),
	        cmocka_unit_test(unrolled),
	        cmocka_unit_test(unrolled_warps),
	        cmocka_unit_test(traces_are_no_workloads),
	        cmocka_unit_test(dealing),
	        cmocka_unit_test(driven_by_hand),
	        cmocka_unit_test(regular_warps),
	        cmocka_unit_test(touches),
	        cmocka_unit_test(random_warps),
	        cmocka_unit_test(stream_thread_pages),
	        cmocka_unit_test(stream_warp_pages),
	        cmocka_unit_test(stream_published),
	        cmocka_unit_test(bad_shapes),
	};

	return cmocka_run_group_tests_name("workload_touch", tests, NULL, NULL);
}
