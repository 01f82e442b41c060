/* Unit tests of the programs of Allen & Ge 2021: sgemm, stream, cufft, tealeaf, hpgmg, cusparse. What each
 * kernel touches is computed here once more by brute force, element by element, from the definition of the
 * algorithm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "source.h"
#include "workloads/workload.h"

#define PAGE 4096u

static char error[SOURCE_ERROR_MAX];

static struct workload *open_seeded(const char *spec, uint64_t seed)
{
	struct source *source = workload_open(spec, seed, error);

	if (source == NULL)
		fail_msg("%s", error);
	assert_non_null(workload_of(source));
	return workload_of(source);
}

static struct workload *open_spec(const char *spec)
{
	return open_seeded(spec, 1);
}

static void close_workload(struct workload *w)
{
	w->source.close(&w->source);
}

static uint64_t param(const struct workload *w, const char *name)
{
	unsigned i = 0;

	while (strcmp(w->type->param[i].name, name) != 0)
		i++;
	return w->value[i];
}

static unsigned range_of(const struct workload *w, uint64_t address)
{
	for (unsigned i = 0; i < w->ranges; i++)
		if (address >= w->range[i].base && address - w->range[i].base < w->range[i].bytes)
			return i;
	fail_msg("address 0x%llx is outside every range", (unsigned long long)address);
	return 0;
}

/* -- sets of pages -- */

struct pages {
	bool *touched[2][WORKLOAD_RANGES_MAX]; /* 0 read, 1 written */
	uint64_t count[WORKLOAD_RANGES_MAX];   /* pages of each range */
	unsigned ranges;
};

static struct pages new_pages(const struct workload *w)
{
	struct pages pages = {.ranges = w->ranges};

	for (unsigned r = 0; r < w->ranges; r++) {
		pages.count[r] = (w->range[r].bytes + PAGE - 1) / PAGE;
		for (unsigned kind = 0; kind < 2; kind++)
			pages.touched[kind][r] = calloc((size_t)pages.count[r], sizeof(bool));
	}
	return pages;
}

static void clear_pages(struct pages *pages)
{
	for (unsigned r = 0; r < pages->ranges; r++)
		for (unsigned kind = 0; kind < 2; kind++)
			memset(pages->touched[kind][r], 0, (size_t)pages->count[r]);
}

static void free_pages(struct pages *pages)
{
	for (unsigned r = 0; r < pages->ranges; r++)
		for (unsigned kind = 0; kind < 2; kind++)
			free(pages->touched[kind][r]);
}

static void mark(struct pages *pages, bool is_write, unsigned range, uint64_t offset)
{
	assert_true(offset / PAGE < pages->count[range]);
	pages->touched[is_write][range][offset / PAGE] = true;
}

static void assert_same_pages(const struct pages *seen, const struct pages *wanted, const char *what)
{
	for (unsigned r = 0; r < seen->ranges; r++)
		for (unsigned kind = 0; kind < 2; kind++)
			for (uint64_t page = 0; page < seen->count[r]; page++)
				if (seen->touched[kind][r][page] != wanted->touched[kind][r][page])
					fail_msg("%s: page %llu of range %u %s only %s", what,
					         (unsigned long long)page, r, kind ? "written" : "read",
					         seen->touched[kind][r][page] ? "by the workload" : "here");
}

static uint64_t touched_pages(const struct pages *pages)
{
	uint64_t count = 0;

	for (unsigned r = 0; r < pages->ranges; r++)
		for (uint64_t page = 0; page < pages->count[r]; page++)
			count += pages->touched[0][r][page] || pages->touched[1][r][page];
	return count;
}

/* -- running -- */

struct totals {
	uint64_t accesses, steps, flops;
};

/* The warp's next load or store, not joined with those that it does not wait for. */
static bool next_access(struct workload *w, struct workload_slot *slot)
{
	return w->type->span(w, slot);
}

/* Runs one thread block, warp after warp. */
static void run_block(struct workload *w, uint64_t block, struct pages *seen, struct totals *totals)
{
	for (uint32_t warp = 0; warp < w->warps; warp++) {
		struct workload_slot slot = {0};
		uint64_t address;

		workload_start_warp(w, &slot, block, warp);
		while (workload_step(w, &slot)) {
			totals->steps++;
			totals->flops += slot.flops;
			assert_true(slot.lanes <= WORKLOAD_JOINED_LANES);
			while (workload_next_page(&slot, &address)) {
				unsigned range = range_of(w, address);

				totals->accesses++;
				mark(seen, slot.access == UVMP_ACCESS_WRITE, range,
				     address - w->range[range].base);
			}
		}
		assert_false(workload_step(w, &slot)); /* it stays done */
	}
}

static struct totals run_kernel(struct workload *w, struct pages *seen)
{
	struct totals totals = {0};

	for (uint64_t block = 0; block < w->blocks; block++)
		run_block(w, block, seen, &totals);
	workload_end_kernel(w);
	return totals;
}

/* Page accesses of kernel `index`, counting from 0. */
static struct totals kernel_totals(const char *spec, const char *kernel, uint64_t index)
{
	struct workload *w = open_spec(spec);
	struct pages seen = new_pages(w);
	struct totals totals;

	for (uint64_t i = 0; i < index; i++) {
		assert_true(workload_launch(w));
		workload_end_kernel(w);
	}
	assert_true(workload_launch(w));
	assert_string_equal(w->kernel, kernel);
	totals = run_kernel(w, &seen);
	free_pages(&seen);
	close_workload(w);
	return totals;
}

/* -- what holds for all -- */

static const char *const small[] = {
        "sgemm:n=200,tile=48,agents=50",     "sgemm:n=130,transa=1,transb=1,raster=1,agents=9",
        "stream:bytes=100000,passes=2",      "cufft:scale=13,radix=5,work=1,out=1",
        "tealeaf:n=70,iterations=2,steps=2", "hpgmg:box=4,boxes=2,smooths=1,cycles=2",
        "cusparse:n=300,columns=11",
};
#define SMALL (sizeof(small) / sizeof(small[0]))

/* FNV-1a over the source's rows; every row lies in a range. */
static uint64_t hash_of(const char *spec, uint64_t seed)
{
	struct workload *w = open_seeded(spec, seed);
	uint64_t hash = 0xcbf29ce484222325u;
	struct source_row row;

	for (w->source.next(&w->source, &row); row.kind != SOURCE_END; w->source.next(&w->source, &row)) {
		hash = (hash ^ (uint64_t)row.kind) * 0x100000001b3u;
		if (row.kind != SOURCE_ACCESS)
			continue;
		range_of(w, row.address);
		hash = (hash ^ row.address) * 0x100000001b3u;
		hash = (hash ^ ((uint64_t)row.access << 32 | row.agent)) * 0x100000001b3u;
	}
	close_workload(w);
	return hash;
}

static void determinism(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMALL; i++) {
		uint64_t hash = hash_of(small[i], 1);
		bool is_seeded = strncmp(small[i], "cusparse", 8) == 0;

		assert_true(hash == hash_of(small[i], 1));
		assert_int_equal(hash == hash_of(small[i], 2), !is_seeded);
	}
}

/* Footprint of a workload's ranges. */
static uint64_t footprint_of(const char *spec)
{
	struct workload *w = open_spec(spec);
	uint64_t bytes = 0;

	for (unsigned r = 0; r < w->ranges; r++)
		bytes += w->range[r].bytes;
	close_workload(w);
	return bytes;
}

static void footprints(void **state)
{
	(void)state;
	assert_int_equal(footprint_of("sgemm:n=2048"), 3 * 2048 * 2048 * 4);
	assert_int_equal(footprint_of("sgemm:n=29228"), UINT64_C(10251311808)); /* 12 n^2 */
	assert_int_equal(footprint_of("sgemm:n=47660"), UINT64_C(27257707200));
	assert_int_equal(footprint_of("stream:bytes=16m"), 3 << 24);
	assert_int_equal(footprint_of("stream:bytes=4g"), UINT64_C(3) << 32);
	assert_int_equal(footprint_of("cufft:scale=21"), 8 << 21);
	assert_int_equal(footprint_of("cufft:scale=25"), 65536 * PAGE);
	assert_int_equal(footprint_of("cufft:scale=25,out=1,work=1"), 3 * 65536 * PAGE);
	assert_int_equal(footprint_of("cufft:scale=9,work=1"), 4096); /* one pass needs no work area */
	/* 14 fields and 8 bytes for each of 17 x 129 thread blocks; 126 x 1001 of n = 4000 */
	assert_int_equal(footprint_of("tealeaf:n=512"), 14 * 516 * 516 * 8 + 17 * 129 * 8);
	assert_int_equal(footprint_of("tealeaf:n=4000"), UINT64_C(14) * 4004 * 4004 * 8 + 126 * 1001 * 8);
	/* 8 boxes, 10 vectors; sides 36 and 20; for the program's "6 8" 68, 36 and 20 */
	assert_int_equal(footprint_of("hpgmg:box=5"), 640 * (36 * 36 * 36 + 20 * 20 * 20));
	assert_int_equal(footprint_of("hpgmg:box=6"), 640 * (68 * 68 * 68 + 36 * 36 * 36 + 20 * 20 * 20));
	assert_int_equal(footprint_of("hpgmg:box=7"),
	                 UINT64_C(640) * (132 * 132 * 132 + 68 * 68 * 68 + 36 * 36 * 36 + 20 * 20 * 20));
}

/* Small runs: each page is touched that the program uses. */
static void small_runs(void **state)
{
	static const struct {
		const char *spec;
		uint64_t pages;
	} expected[] = {
	        {"sgemm:n=2048", 3 * 4096},
	        {"stream:bytes=16m", 3 * 4096},
	        {"cufft:scale=21", 4096},
	        {"tealeaf:n=512", 14 * 521 + 5},
	        {"tealeaf:n=512,clear=0", 0},
	        {"hpgmg:box=5", 0},
	        {"cusparse:n=2048", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct workload *w = open_spec(expected[i].spec);
		struct pages seen = new_pages(w);
		uint64_t accesses = 0, pages = 0;

		for (unsigned r = 0; r < w->ranges; r++)
			pages += seen.count[r];
		while (workload_launch(w))
			accesses += run_kernel(w, &seen).accesses;
		assert_in_range(accesses, 10000, 2000000);
		assert_in_range(pages, 2048, 16384);
		if (expected[i].pages > 0)
			assert_int_equal(touched_pages(&seen), expected[i].pages);
		else
			assert_in_range(touched_pages(&seen), pages / 2, pages);
		free_pages(&seen);
		close_workload(w);
	}
}

/* -- stream -- */

static void stream_pages(void **state)
{
	struct workload *w = open_spec("stream:bytes=20488,passes=2");
	struct pages seen = new_pages(w), wanted = new_pages(w);

	(void)state;
	assert_string_equal(w->range[0].name, "a");
	for (uint64_t i = 0; i < 20488 / 8; i++) {
		mark(&wanted, true, 0, i * 8);
		mark(&wanted, false, 1, i * 8);
		mark(&wanted, false, 2, i * 8);
	}
	for (int pass = 0; pass < 2; pass++) {
		clear_pages(&seen);
		assert_true(workload_launch(w));
		assert_string_equal(w->kernel, "triad");
		assert_int_equal(w->blocks, 3); /* of 8 KiB */
		assert_int_equal(w->warps, 32);
		/* 81 warps of 256 bytes, the last one of 8 */
		assert_int_equal(run_kernel(w, &seen).accesses, 81 * 3);
		assert_same_pages(&seen, &wanted, "triad");
	}
	assert_false(workload_launch(w));
	free_pages(&seen);
	free_pages(&wanted);
	close_workload(w);
}

/* Both loads are in flight together; the store follows. */
static void stream_order(void **state)
{
	struct workload *w = open_spec("stream:bytes=64k");
	struct workload_slot slot = {0};

	(void)state;
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 1, 17);
	assert_true(workload_step(w, &slot));
	assert_int_equal(slot.lanes, 2);
	assert_int_equal(slot.lane_bytes, 256);
	assert_int_equal(slot.access, UVMP_ACCESS_READ);
	assert_int_equal(slot.flops, 64);
	assert_int_equal(slot.lane[0], w->range[1].base + 8192 + 17 * 256);
	assert_int_equal(slot.lane[1], w->range[2].base + 8192 + 17 * 256);
	assert_true(workload_step(w, &slot));
	assert_int_equal(slot.access, UVMP_ACCESS_WRITE);
	assert_int_equal(slot.at, w->range[0].base + 8192 + 17 * 256);
	assert_int_equal(slot.end - slot.at, 256);
	assert_false(workload_step(w, &slot));
	close_workload(w);
}

/* -- sgemm -- */

static void sgemm_case(const char *spec)
{
	struct workload *w = open_spec(spec);
	struct pages seen = new_pages(w), wanted = new_pages(w);
	uint64_t n = param(w, "n"), tile = param(w, "tile"), tiles = (n + tile - 1) / tile;
	bool trans_a = param(w, "transa") != 0, trans_b = param(w, "transb") != 0;
	struct totals totals = {0};

	assert_true(workload_launch(w));
	assert_string_equal(w->kernel, "sgemm");
	assert_int_equal(w->blocks, tiles * tiles);
	assert_int_equal(w->warps, 8);
	for (uint64_t block = 0; block < w->blocks; block++) {
		uint64_t row = block % tiles * tile, column = block / tiles * tile;

		if (param(w, "raster") != 0) {
			row = block / tiles * tile;
			column = block % tiles * tile;
		}
		clear_pages(&seen);
		clear_pages(&wanted);
		run_block(w, block, &seen, &totals);
		for (uint64_t i = row; i < row + tile && i < n; i++)
			for (uint64_t k = 0; k < n; k++)
				mark(&wanted, false, 0, 4 * (trans_a ? k + i * n : i + k * n));
		for (uint64_t j = column; j < column + tile && j < n; j++)
			for (uint64_t k = 0; k < n; k++)
				mark(&wanted, false, 1, 4 * (trans_b ? j + k * n : k + j * n));
		for (uint64_t i = row; i < row + tile && i < n; i++)
			for (uint64_t j = column; j < column + tile && j < n; j++)
				mark(&wanted, true, 2, 4 * (i + j * n));
		assert_same_pages(&seen, &wanted, spec);
	}
	workload_end_kernel(w);
	assert_false(workload_launch(w));
	if (n % tile == 0 && tile % 8 == 0 && n % 8 == 0)
		assert_int_equal(totals.flops, 2 * n * n * n);
	free_pages(&seen);
	free_pages(&wanted);
	close_workload(w);
}

static void sgemm_pages(void **state)
{
	(void)state;
	sgemm_case("sgemm:n=1,transb=0");
	sgemm_case("sgemm:n=256,tile=64,transb=0");
	sgemm_case("sgemm:n=256,tile=64,transa=1,transb=0");
	sgemm_case("sgemm:n=256,tile=64,transa=0,transb=1,raster=1");
	sgemm_case("sgemm:n=256,tile=64,transa=1,transb=1,panel=8");
	sgemm_case("sgemm:n=201,tile=48,transb=0,panel=1024"); /* squares that are cut off, runs over page
	                                                          boundaries */
	sgemm_case("sgemm:n=201,tile=48,transa=1,transb=0,panel=20");
	sgemm_case("sgemm:n=131,tile=128,transb=0,depth=3,panel=10"); /* k-steps that end with the panel */
	sgemm_case("sgemm:n=131,tile=128,depth=3,panel=10,transa=1,transb=1,raster=1");
	sgemm_case("sgemm:n=131,tile=5,depth=30,panel=1");
	sgemm_case("sgemm:n=300");
	sgemm_case("sgemm:n=33,tile=1024,transb=0");
}

/* n = 1024: each column of a matrix is one page. A thread block reads 1024 pages of A once, 128 of B for each
 * panel of 64, and writes 128 of C; there are 64. */
static void sgemm_accesses(void **state)
{
	(void)state;
	assert_int_equal(kernel_totals("sgemm:n=1024,transb=0", "sgemm", 0).accesses,
	                 64 * (1024 + 16 * 128 + 128));
	assert_int_equal(kernel_totals("sgemm:n=1024,transb=0,panel=1024", "sgemm", 0).accesses,
	                 64 * (1024 + 128 + 128));
	assert_int_equal(kernel_totals("sgemm:n=1024", "sgemm", 0).accesses, 64 * (1024 + 1024 + 128));
	assert_int_equal(kernel_totals("sgemm:n=1024,transa=1,transb=0", "sgemm", 0).accesses,
	                 64 * (16 * 128 + 16 * 128 + 128));
}

/* Warp 3 of thread block 1 (second square of the first column): the panel of B, then columns 3, 11, ... of A.
 */
static void sgemm_order(void **state)
{
	struct workload *w = open_spec("sgemm:n=1024,transb=0");
	struct workload_slot slot = {0};

	(void)state;
	assert_true(workload_launch(w));
	workload_start_warp(w, &slot, 1, 3);
	for (uint64_t panel = 0; panel < 16; panel++) {
		assert_true(next_access(w, &slot));
		assert_int_equal(slot.lanes, 16);
		for (uint64_t i = 0; i < 16; i++)
			assert_int_equal(slot.lane[i], w->range[1].base + (48 + i) * PAGE + panel * 256);
		for (uint64_t k = panel * 64 + 3; k < panel * 64 + 64; k += 8) {
			assert_true(next_access(w, &slot));
			assert_int_equal(slot.lanes, 1);
			assert_int_equal(slot.lane[0], w->range[0].base + k * PAGE + 512);
			assert_int_equal(slot.flops, 2 * 128 * 128 * 8 / 8);
		}
	}
	for (uint64_t i = 0; i < 16; i++) {
		assert_true(next_access(w, &slot));
		assert_int_equal(slot.access, UVMP_ACCESS_WRITE);
		assert_int_equal(slot.at, w->range[2].base + (48 + i) * PAGE + 512);
		assert_int_equal(slot.end - slot.at, 512);
	}
	assert_false(next_access(w, &slot));
	close_workload(w);
}

/* -- cufft: elements, not pages -- */

#define ELEMENTS_MAX 4096u

static struct {
	unsigned count[2][ELEMENTS_MAX], range[2]; /* how often read, written; in which range */
} fft;

static void fft_bytes(const struct workload *w, bool is_write, uint64_t address, uint64_t bytes)
{
	unsigned range = range_of(w, address);

	assert_int_equal(bytes % 8, 0);
	for (uint64_t i = 0; i < bytes / 8; i++)
		fft.count[is_write][(address - w->range[range].base) / 8 + i]++;
	fft.range[is_write] = range;
}

static void fft_block(struct workload *w, uint64_t block)
{
	memset(&fft, 0, sizeof(fft));
	for (uint32_t warp = 0; warp < w->warps; warp++) {
		struct workload_slot slot = {0};
		bool has_stored = false;

		workload_start_warp(w, &slot, block, warp);
		while (workload_step(w, &slot)) {
			bool is_write = slot.access == UVMP_ACCESS_WRITE;

			assert_false(has_stored && !is_write);
			has_stored = is_write;
			for (uint32_t lane = 0; lane < slot.lanes; lane++)
				fft_bytes(w, is_write, slot.lane[lane], slot.lane_bytes);
			if (slot.lanes == 0)
				fft_bytes(w, is_write, slot.at, slot.end - slot.at);
		}
	}
}

/* Position of element x after the digits (bits[0] the most significant) have been turned around. */
static uint64_t turned(uint64_t x, const unsigned *bits, unsigned count)
{
	uint64_t result = 0;

	for (unsigned p = count; p-- > 0;) {
		result = result << bits[p] | (x & ((UINT64_C(1) << bits[p]) - 1));
		x >>= bits[p];
	}
	return result;
}

/* One pass: together the thread blocks read and write each element once; each has with an element all that
 * share the transform of this pass; the stores are where they belong. */
static void fft_pass(struct workload *w, const unsigned *bits, unsigned count, unsigned pass, unsigned from,
                     unsigned to)
{
	static unsigned reads[ELEMENTS_MAX];
	unsigned scale = 0, shift = 0, work = w->ranges - 1;
	uint64_t n;

	for (unsigned p = 0; p < count; p++) {
		scale += bits[p];
		shift += p > pass ? bits[p] : 0;
	}
	n = UINT64_C(1) << scale;
	memset(reads, 0, sizeof(reads));
	for (uint64_t block = 0; block < w->blocks; block++) {
		fft_block(w, block);
		assert_int_equal(fft.range[0], pass == 0 ? from : work);
		assert_int_equal(fft.range[1], pass + 1 == count ? to : work);
		for (uint64_t x = 0; x < n; x++) {
			uint64_t lowest = x & ~(((UINT64_C(1) << bits[pass]) - 1) << shift);
			uint64_t place = pass + 1 == count ? turned(x, bits, count) : x;

			reads[x] += fft.count[0][x];
			assert_int_equal(fft.count[0][x], fft.count[0][lowest]);
			assert_int_equal(fft.count[0][x], fft.count[1][place]);
		}
	}
	for (uint64_t x = 0; x < n; x++)
		assert_int_equal(reads[x], 1);
}

static void fft_case(const char *spec, const unsigned *bits, unsigned count)
{
	struct workload *w = open_spec(spec);
	bool is_out = param(w, "out") != 0;

	for (int direction = 0; direction < 2; direction++)
		for (unsigned pass = 0; pass < count; pass++) {
			assert_true(workload_launch(w));
			assert_string_equal(w->kernel, direction == 0 ? "fft_forward" : "fft_inverse");
			fft_pass(w, bits, count, pass, is_out && direction == 1, is_out && direction == 0);
			workload_end_kernel(w);
		}
	assert_false(workload_launch(w));
	close_workload(w);
}

static void cufft_elements(void **state)
{
	(void)state;
	fft_case("cufft:scale=4,work=1", (const unsigned[]){4}, 1);
	fft_case("cufft:scale=9,out=1,work=1", (const unsigned[]){9}, 1);
	fft_case("cufft:scale=10,work=1", (const unsigned[]){5, 5}, 2);
	fft_case("cufft:scale=5,radix=4,work=1", (const unsigned[]){3, 2}, 2);
	fft_case("cufft:scale=11,radix=4,out=1,work=1", (const unsigned[]){4, 4, 3}, 3);
	fft_case("cufft:scale=12,radix=5,work=1", (const unsigned[]){4, 4, 4}, 3);
	fft_case("cufft:scale=12,radix=12,work=1", (const unsigned[]){12}, 1);
	/* factors of 3 bits, fewer than 16 columns */
	fft_case("cufft:scale=9,radix=4,work=1", (const unsigned[]){3, 3, 3}, 3);
}

/* scale = 18, radix = 9: two passes of 512 x 512, columns 4096 bytes apart. A pass has 32 thread blocks of
 * 512 rows of 16 elements: 16384 accesses of a page each. The loads of the last pass are in the work area. */
static void cufft_accesses(void **state)
{
	(void)state;
	assert_int_equal(kernel_totals("cufft:scale=18", "fft_forward", 0).accesses, 32 * 512);
	assert_int_equal(kernel_totals("cufft:scale=18", "fft_forward", 1).accesses, 32 * 512);
	/* with it 16 runs of a page each for a thread block */
	assert_int_equal(kernel_totals("cufft:scale=18,work=1", "fft_forward", 1).accesses,
	                 32 * 512 + 32 * 16);
	assert_int_equal(kernel_totals("cufft:scale=18", "fft_inverse", 2).flops, 5 * 9 << 18);
	assert_int_equal(kernel_totals("cufft:scale=18", "fft_inverse", 3).flops, 5 * 9 << 18);
	/* the middle one of three passes is in device memory altogether */
	assert_int_equal(kernel_totals("cufft:scale=19", "fft_forward", 1).accesses, 0);
}

/* -- tealeaf -- */

enum { VOLUME, DENSITY, ENERGY0, ENERGY1, UU, U0, ZZ, PP, RR, WW, MI, KX, KY, SD, SUMS };

static struct pages *tea;
static uint64_t tea_n;

/* Element (x, y), -2..n + 1, of a field. */
static void field(bool is_write, unsigned which, uint64_t x, uint64_t y)
{
	mark(tea, is_write, which, ((y + 2) * (tea_n + 4) + x + 2) * 8);
}

static void cross(unsigned which, uint64_t x, uint64_t y)
{
	field(false, which, x, y);
	field(false, which, x - 1, y);
	field(false, which, x + 1, y);
	field(false, which, x, y - 1);
	field(false, which, x, y + 1);
}

static void conductivity(uint64_t x, uint64_t y)
{
	field(false, KX, x, y);
	field(false, KX, x + 1, y);
	field(false, KY, x, y);
	field(false, KY, x, y + 1);
}

/* What the formulas of the kernel name at one cell. False: the kernel is of another kind. */
static bool tea_cell(const char *kernel, uint64_t x, uint64_t y)
{
	if (strcmp(kernel, "initialise_chunk") == 0) {
		field(true, VOLUME, x, y);
	} else if (strcmp(kernel, "generate_chunk") == 0) {
		field(true, DENSITY, x, y);
		field(true, ENERGY0, x, y);
	} else if (strcmp(kernel, "set_field") == 0) {
		field(false, ENERGY0, x, y);
		field(true, ENERGY1, x, y);
	} else if (strcmp(kernel, "init_common") == 0) {
		field(false, DENSITY, x, y);
		field(false, DENSITY, x - 1, y);
		field(false, DENSITY, x, y - 1);
		field(false, ENERGY1, x, y);
		field(true, KX, x, y);
		field(true, KY, x, y);
		field(true, U0, x, y);
		field(true, UU, x, y);
	} else if (strcmp(kernel, "calc_residual") == 0) {
		cross(UU, x, y);
		conductivity(x, y);
		field(false, U0, x, y);
		field(true, RR, x, y);
	} else if (strcmp(kernel, "cg_init_p") == 0) {
		field(false, RR, x, y);
		field(true, PP, x, y);
	} else if (strcmp(kernel, "cg_calc_w") == 0) {
		cross(PP, x, y);
		conductivity(x, y);
		field(true, WW, x, y);
	} else if (strcmp(kernel, "cg_calc_ur") == 0) {
		field(false, UU, x, y);
		field(false, PP, x, y);
		field(false, RR, x, y);
		field(false, WW, x, y);
		field(true, UU, x, y);
		field(true, RR, x, y);
	} else if (strcmp(kernel, "cg_calc_p") == 0) {
		field(false, PP, x, y);
		field(false, RR, x, y);
		field(true, PP, x, y);
	} else if (strcmp(kernel, "finalise") == 0) {
		field(false, UU, x, y);
		field(false, DENSITY, x, y);
		field(true, ENERGY1, x, y);
	} else if (strcmp(kernel, "field_summary") == 0) {
		field(false, VOLUME, x, y);
		field(false, DENSITY, x, y);
		field(false, ENERGY1, x, y);
		field(false, UU, x, y);
	} else {
		return false;
	}
	return true;
}

static void tea_wanted(struct workload *w, const char *kernel)
{
	uint64_t sums = w->range[SUMS].bytes / 8, last = tea_n - 1;
	bool is_cells = false;

	for (uint64_t y = 0; y < tea_n; y++)
		for (uint64_t x = 0; x < tea_n; x++)
			is_cells = tea_cell(kernel, x, y);
	if (strcmp(kernel, "memset") == 0)
		for (uint64_t i = 0; i < w->range[w->kernels_done].bytes; i += 8)
			mark(tea, true, (unsigned)w->kernels_done, i);
	if (strcmp(kernel, "cg_calc_w") == 0 || strcmp(kernel, "cg_calc_ur") == 0 ||
	    strcmp(kernel, "cg_init_p") == 0 || strcmp(kernel, "field_summary") == 0)
		for (uint64_t i = 0; i < sums; i++)
			mark(tea, true, SUMS, i * 8);
	for (uint64_t i = 0; i < sums && strcmp(kernel, "reduce") == 0; i++)
		mark(tea, false, SUMS, i * 8);
	for (uint64_t i = 0; i < tea_n && !is_cells; i++) {
		if (strcmp(kernel, "halo_bottom") == 0) {
			field(false, PP, i, 0);
			field(true, PP, i, UINT64_MAX);
		} else if (strcmp(kernel, "halo_top") == 0) {
			field(false, PP, i, last);
			field(true, PP, i, tea_n);
		} else if (strcmp(kernel, "halo_left") == 0) {
			field(false, PP, 0, i);
			field(true, PP, UINT64_MAX, i);
		} else if (strcmp(kernel, "halo_right") == 0) {
			field(false, PP, last, i);
			field(true, PP, tea_n, i);
		}
	}
}

static void tealeaf_case(const char *spec, uint64_t kernels)
{
	struct workload *w = open_spec(spec);
	struct pages seen = new_pages(w), wanted = new_pages(w);
	uint64_t launched = 0;

	tea = &wanted;
	tea_n = param(w, "n");
	for (; workload_launch(w); launched++) {
		clear_pages(&seen);
		clear_pages(&wanted);
		tea_wanted(w, w->kernel);
		run_kernel(w, &seen);
		assert_same_pages(&seen, &wanted, w->kernel);
	}
	assert_int_equal(launched, kernels);
	free_pages(&seen);
	free_pages(&wanted);
	close_workload(w);
}

/* Kernels: 15 cleared arrays, 2 once; each step 5, 9 an iteration, 3. */
static void tealeaf_pages(void **state)
{
	(void)state;
	tealeaf_case("tealeaf:n=1,iterations=1", 15 + 2 + 5 + 9 + 3);
	tealeaf_case("tealeaf:n=70,iterations=2,steps=2,clear=0", 2 + 2 * (5 + 18 + 3));
	tealeaf_case("tealeaf:n=150,iterations=1", 15 + 2 + 5 + 9 + 3);
	tealeaf_case("tealeaf:n=540,iterations=1,clear=0", 2 + 5 + 9 + 3);
}

/* n = 28: rows of 256 bytes, 16 on a page, one warp each. calc_p loads p and r and stores p. n = 508: the
 * rows are a page each: a column of halo is one access a row. */
static void tealeaf_accesses(void **state)
{
	(void)state;
	assert_int_equal(kernel_totals("tealeaf:n=28,clear=0", "cg_calc_p", 2 + 5 + 8).accesses, 28 * 3);
	assert_int_equal(kernel_totals("tealeaf:n=28,clear=0", "cg_calc_p", 2 + 5 + 8).flops, 28 * 2 * 32);
	assert_int_equal(kernel_totals("tealeaf:n=508,clear=0", "halo_left", 2 + 5 + 2).accesses, 2 * 508);
	/* 16 warps a row; p on three pages, Kx on one, Ky on two, w on one; and 16 x 128 partial sums */
	assert_int_equal(kernel_totals("tealeaf:n=508,clear=0", "cg_calc_w", 2 + 5 + 4).accesses,
	                 16 * 508 * 7 + 16 * 128);
	assert_int_equal(kernel_totals("tealeaf:n=508", "memset", 3).accesses, 512 * 8);
}

/* -- hpgmg -- */

enum { TEMP, SOLUTION, RHS, RES, DINV, BETA_I, BETA_J, BETA_K };

static struct pages *hp;
static int64_t hp_boxes, hp_dim, hp_level;

/* Cell of a box with ghosts from -2 to dim + 1; dim is a multiple of 4 here, so rows need no padding. */
static void cell(bool is_write, int vector, int64_t box, int64_t i, int64_t j, int64_t k, bool is_fine)
{
	int64_t dim = is_fine ? hp_dim * 2 : hp_dim, side = dim + 4, boxes = hp_boxes * hp_boxes * hp_boxes;

	mark(hp, is_write, (unsigned)(hp_level - is_fine),
	     (uint64_t)((((vector * boxes + box) * side + k + 2) * side + j + 2) * side + i + 2) * 8);
}

static void operator_at(int64_t b, int64_t i, int64_t j, int64_t k)
{
	for (int64_t d = -2; d <= 2; d++) {
		cell(false, SOLUTION, b, i + d, j, k, false);
		cell(false, SOLUTION, b, i, j + d, k, false);
		cell(false, SOLUTION, b, i, j, k + d, false);
	}
	for (int64_t d = -1; d <= 1; d += 2)
		for (int64_t e = -1; e <= 1; e += 2) {
			cell(false, SOLUTION, b, i + d, j + e, k, false);
			cell(false, SOLUTION, b, i + d, j, k + e, false);
			cell(false, SOLUTION, b, i, j + d, k + e, false);
		}
	for (int64_t d = 0; d <= 1; d++)
		for (int64_t e = -1; e <= 1; e++) {
			cell(false, BETA_I, b, i + d, j + e, k, false);
			cell(false, BETA_I, b, i + d, j, k + e, false);
			cell(false, BETA_J, b, i + e, j + d, k, false);
			cell(false, BETA_J, b, i, j + d, k + e, false);
			cell(false, BETA_K, b, i + e, j, k + d, false);
			cell(false, BETA_K, b, i, j + e, k + d, false);
		}
	cell(false, RHS, b, i, j, k, false);
}

static void hp_cell(const char *kernel, int64_t b, int64_t i, int64_t j, int64_t k)
{
	if (strcmp(kernel, "smooth") == 0) {
		operator_at(b, i, j, k);
		cell(false, DINV, b, i, j, k, false);
		cell(true, SOLUTION, b, i, j, k, false);
	} else if (strcmp(kernel, "residual") == 0) {
		operator_at(b, i, j, k);
		cell(true, TEMP, b, i, j, k, false);
	} else if (strcmp(kernel, "restriction") == 0) {
		for (int64_t f = 0; f < 8; f++)
			cell(false, TEMP, b, 2 * i + f % 2, 2 * j + f / 2 % 2, 2 * k + f / 4, true);
		cell(true, RHS, b, i, j, k, false);
	} else if (strcmp(kernel, "zero_vector") == 0) {
		cell(true, SOLUTION, b, i, j, k, false);
	} else if (strcmp(kernel, "interpolation") == 0) {
		for (int64_t c = 0; c < 27; c++)
			cell(false, SOLUTION, b, i + c % 3 - 1, j + c / 3 % 3 - 1, k + c / 9 - 1, false);
		for (int64_t f = 0; f < 16; f++)
			cell(f >= 8, SOLUTION, b, 2 * i + f % 2, 2 * j + f / 2 % 2, 2 * k + f / 4 % 2, true);
	}
}

/* A ghost cell beside one face of a box: from the box behind that face, or at a wall from the other side of
 * it. */
static void hp_ghost(bool is_exchange, int64_t b, int64_t i, int64_t j, int64_t k)
{
	int64_t at[3] = {i, j, k}, outside = 0, axis = 0, step[3] = {1, hp_boxes, hp_boxes * hp_boxes};
	int64_t place, neighbour;
	bool is_inside;

	for (int64_t a = 0; a < 3; a++)
		if (at[a] < 0 || at[a] >= hp_dim) {
			outside++;
			axis = a;
		}
	if (outside != 1)
		return;
	place = b / step[axis] % hp_boxes;
	is_inside = at[axis] < 0 ? place > 0 : place < hp_boxes - 1;
	if (is_inside != is_exchange)
		return;
	cell(true, SOLUTION, b, i, j, k, false);
	neighbour = !is_inside ? b : at[axis] < 0 ? b - step[axis] : b + step[axis];
	if (is_inside)
		at[axis] += at[axis] < 0 ? hp_dim : -hp_dim;
	else
		at[axis] = at[axis] < 0 ? -1 - at[axis] : 2 * hp_dim - 1 - at[axis];
	cell(false, SOLUTION, neighbour, at[0], at[1], at[2], false);
}

static void hp_wanted(const char *kernel)
{
	bool is_exchange = strcmp(kernel, "exchange_boundary") == 0;
	int64_t ghosts = is_exchange || strcmp(kernel, "apply_BCs") == 0 ? 2 : 0;

	for (int64_t b = 0; b < hp_boxes * hp_boxes * hp_boxes; b++)
		for (int64_t k = -ghosts; k < hp_dim + ghosts; k++)
			for (int64_t j = -ghosts; j < hp_dim + ghosts; j++)
				for (int64_t i = -ghosts; i < hp_dim + ghosts; i++) {
					if (ghosts > 0)
						hp_ghost(is_exchange, b, i, j, k);
					else
						hp_cell(kernel, b, i, j, k);
				}
}

/* The kernels of one V-cycle by name and level, and the pages of each pair once. */
static void hpgmg_case(const char *spec, const char *const *names, const int *levels, size_t count)
{
	struct workload *w = open_spec(spec);
	struct pages seen = new_pages(w), wanted = new_pages(w);

	hp = &wanted;
	hp_boxes = (int64_t)param(w, "boxes");
	for (size_t i = 0; i < count; i++) {
		bool is_new = true;

		assert_true(workload_launch(w));
		assert_string_equal(w->kernel, names[i]);
		for (size_t j = 0; j < i; j++)
			is_new = is_new && (levels[j] != levels[i] || strcmp(names[i], names[j]) != 0);
		if (is_new) {
			hp_level = levels[i];
			hp_dim = (INT64_C(1) << param(w, "box")) >> hp_level;
			clear_pages(&seen);
			clear_pages(&wanted);
			run_kernel(w, &seen);
			hp_wanted(names[i]);
			assert_same_pages(&seen, &wanted, names[i]);
		} else {
			workload_end_kernel(w);
		}
	}
	assert_false(workload_launch(w));
	free_pages(&seen);
	free_pages(&wanted);
	close_workload(w);
}

static void hpgmg_pages(void **state)
{
#define GHOSTS "exchange_boundary", "apply_BCs"
#define SWEEPS GHOSTS, "smooth", GHOSTS, "smooth"
	static const char *const two[] = {SWEEPS, GHOSTS, "residual",      "restriction", "zero_vector",
	                                  SWEEPS, GHOSTS, "interpolation", SWEEPS};
	static const int level[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1,
	                            1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
	static const char *const one[] = {"apply_BCs", "smooth", "apply_BCs", "smooth"};

	(void)state;
	/* 27 boxes of 16 and 8: sides of 48 and 24 */
	hpgmg_case("hpgmg:box=4,boxes=3,smooths=1", two, level, sizeof(two) / sizeof(two[0]));
	/* one box has no neighbour; 16^3 would be the CPU's, 32^3 is the only level */
	hpgmg_case("hpgmg:box=5,boxes=1,smooths=1", one, level, sizeof(one) / sizeof(one[0]));
}

/* 8 boxes of 32: tiles of 32 x 4 x 8 are 256 thread blocks of 4 warps, 8 planes each; a plane is one step of
 * loads and one of stores. */
static void hpgmg_steps(void **state)
{
	struct workload *w = open_spec("hpgmg:box=5,smooths=1,cycles=3");
	struct totals totals;
	uint64_t launches = 0;

	(void)state;
	totals = kernel_totals("hpgmg:box=5,smooths=1", "smooth", 2);
	assert_int_equal(totals.steps, 256 * 4 * 8 * 2);
	assert_int_equal(totals.flops, 100 * 64 * 64 * 64);
	while (workload_launch(w)) {
		launches++;
		workload_end_kernel(w);
	}
	assert_int_equal(launches, 3 * 26);
	close_workload(w);
}

/* -- cusparse -- */

#define ROWS_MAX 512u

/* The matrix as the product reads it: its pointers from where the elements lie, its columns from what it
 * gathers of B. */
static struct {
	unsigned length[ROWS_MAX];
	uint64_t pointer[ROWS_MAX];
	uint64_t column[ROWS_MAX][ROWS_MAX];
} matrix;

enum { DENSE, MATRIX_B, MATRIX_C, COUNTS, VALUES, POINTERS, INDICES };

static void sparse_skip(struct workload *w, unsigned kernels, const char *name)
{
	for (unsigned i = 0; i < kernels; i++) {
		assert_true(workload_launch(w));
		workload_end_kernel(w);
	}
	assert_true(workload_launch(w));
	assert_string_equal(w->kernel, name);
}

static void sparse_read(const char *spec)
{
	struct workload *w = open_spec(spec);
	uint64_t n = param(w, "n"), found = 0;

	memset(&matrix, 0, sizeof(matrix));
	sparse_skip(w, 3, "csrmm");
	for (uint64_t row = 0; row < n; row++) {
		struct workload_slot slot = {0};

		workload_start_warp(w, &slot, row / 4, row % 4);
		matrix.pointer[row] = found;
		while (next_access(w, &slot)) {
			unsigned range = range_of(w, slot.lanes > 0 ? slot.lane[0] : slot.at);
			uint64_t base = w->range[range].base;

			if (range == POINTERS)
				assert_int_equal(slot.at - base, row * 4);
			if (range == INDICES)
				assert_int_equal(slot.lane[0] - base, found * 4);
			if (range != MATRIX_B || slot.lane[0] - base >= n * 4)
				continue; /* the first column says it all */
			for (uint32_t lane = 0; lane < slot.lanes; lane++, found++)
				matrix.column[row][matrix.length[row]++] = (slot.lane[lane] - base) / 4;
		}
	}
	assert_int_equal(w->range[VALUES].bytes, (found > 0 ? found : 1) * 4);
	assert_int_equal(w->range[INDICES].bytes, w->range[VALUES].bytes);
	close_workload(w);
}

/* Sorted columns, about n / sparsity of them. */
static void sparse_shape(const char *spec)
{
	struct workload *w = open_spec(spec);
	uint64_t n = param(w, "n"), mean = n / param(w, "sparsity");

	for (uint64_t row = 0; row < n; row++) {
		assert_in_range(matrix.length[row], mean - mean / 8, mean + mean / 8);
		for (unsigned i = 0; i < matrix.length[row]; i++) {
			assert_true(matrix.column[row][i] < n);
			assert_true(i == 0 || matrix.column[row][i] > matrix.column[row][i - 1]);
		}
	}
	close_workload(w);
}

static void sparse_wanted(struct pages *wanted, unsigned kernel, uint64_t n, uint64_t columns)
{
	for (uint64_t row = 0; row < n; row++) {
		for (uint64_t column = 0; column < n && (kernel == 0 || kernel == 2); column++)
			mark(wanted, false, DENSE, (row + column * n) * 4);
		if (kernel < 2)
			mark(wanted, kernel == 0, COUNTS, row * 4);
		if (kernel > 0)
			mark(wanted, kernel == 1, POINTERS, row * 4);
		if (kernel == 1 || kernel == 3)
			mark(wanted, kernel == 1, POINTERS, row * 4 + 4);
		for (uint64_t i = 0; i < matrix.length[row] && kernel >= 2; i++) {
			mark(wanted, kernel == 2, VALUES, (matrix.pointer[row] + i) * 4);
			mark(wanted, kernel == 2, INDICES, (matrix.pointer[row] + i) * 4);
			for (uint64_t column = 0; column < columns && kernel == 3; column++)
				mark(wanted, false, MATRIX_B, (matrix.column[row][i] + column * n) * 4);
		}
		for (uint64_t column = 0; column < columns && kernel == 3; column++)
			mark(wanted, true, MATRIX_C, (row + column * n) * 4);
	}
}

static void cusparse_case(const char *spec)
{
	static const char *const name[] = {"nnz", "scan", "dense2csr", "csrmm"};
	struct workload *w = open_spec(spec);
	struct pages seen = new_pages(w), wanted = new_pages(w);

	sparse_read(spec);
	sparse_shape(spec);
	for (unsigned kernel = 0; kernel < 4; kernel++) {
		assert_true(workload_launch(w));
		assert_string_equal(w->kernel, name[kernel]);
		clear_pages(&seen);
		clear_pages(&wanted);
		run_kernel(w, &seen);
		sparse_wanted(&wanted, kernel, param(w, "n"), param(w, "columns"));
		assert_same_pages(&seen, &wanted, name[kernel]);
	}
	assert_false(workload_launch(w));
	free_pages(&seen);
	free_pages(&wanted);
	close_workload(w);
}

static void cusparse_pages(void **state)
{
	(void)state;
	cusparse_case("cusparse:n=1,columns=1,sparsity=1");
	cusparse_case("cusparse:n=5,columns=3,sparsity=7"); /* no elements at all */
	cusparse_case("cusparse:n=300");
	cusparse_case("cusparse:n=301,columns=11,sparsity=2");
	cusparse_case("cusparse:n=200,columns=20,sparsity=1"); /* some rows are full */
	cusparse_case("cusparse:n=500,columns=9,sparsity=60");
}

/* The conversion stores where the product reads: for each row and 16 columns the last element among them. */
static void cusparse_conversion(void **state)
{
	const char *spec = "cusparse:n=300";
	struct workload *w = open_spec(spec);

	(void)state;
	sparse_read(spec);
	sparse_skip(w, 2, "dense2csr");
	for (uint64_t first = 0; first < 300; first += 32) {
		struct workload_slot slot = {0};
		uint64_t column = 0;

		workload_start_warp(w, &slot, first / 128, (uint32_t)(first / 32 % 4));
		assert_true(next_access(w, &slot)); /* pointers */
		while (next_access(w, &slot)) {
			unsigned range = range_of(w, slot.lane[0]), lane = 0;

			if (range == DENSE)
				continue;
			for (uint64_t row = first; row < first + 32 && row < 300; row++) {
				uint64_t last = 0;

				for (unsigned i = 0; i < matrix.length[row]; i++)
					if (matrix.column[row][i] >= column &&
					    matrix.column[row][i] < column + 16)
						last = matrix.pointer[row] + i + 1;
				if (last > 0)
					assert_int_equal(slot.lane[lane++],
					                 w->range[range].base + (last - 1) * 4);
			}
			assert_int_equal(lane, slot.lanes);
			if (range == INDICES)
				column += 16;
		}
		assert_int_equal(column, 304);
	}
	close_workload(w);
}

/* n = 1024: a column of the dense matrix is a page. 32 warps read all 1024 pages; a page holds all counts. */
static void cusparse_accesses(void **state)
{
	(void)state;
	assert_int_equal(kernel_totals("cusparse:n=1024", "nnz", 0).accesses, 32 * 1024 + 32);
	assert_int_equal(kernel_totals("cusparse:n=1023", "scan", 1).accesses, 32 * 2);
	/* the 1025th pointer is the first of its page */
	assert_int_equal(kernel_totals("cusparse:n=1024", "scan", 1).accesses, 32 * 2 + 1);
	/* one element: the pointers, its column and value, one element of B and of C */
	assert_int_equal(kernel_totals("cusparse:n=1,columns=1,sparsity=1", "csrmm", 3).accesses, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(determinism),       cmocka_unit_test(footprints),
	        cmocka_unit_test(small_runs),          cmocka_unit_test(stream_pages),
	        cmocka_unit_test(stream_order),      cmocka_unit_test(sgemm_pages),
	        cmocka_unit_test(sgemm_accesses),    cmocka_unit_test(sgemm_order),
	        cmocka_unit_test(cufft_elements),    cmocka_unit_test(cufft_accesses),
	        cmocka_unit_test(tealeaf_pages),     cmocka_unit_test(tealeaf_accesses),
	        cmocka_unit_test(hpgmg_pages),       cmocka_unit_test(hpgmg_steps),
	        cmocka_unit_test(cusparse_pages),    cmocka_unit_test(cusparse_conversion),
	        cmocka_unit_test(cusparse_accesses),
	};

	return cmocka_run_group_tests_name("workload_demystify", tests, NULL, NULL);
}
