/* Unit tests of the workloads of Rodinia, PolyBench/GPU and UVM Smart: sizes and layout, every page that the
 * algorithm touches by brute force, element by element, the number of accesses of tiny instances, the results
 * of the searches, and, where the published data of UVM Smart lie beside the repository, their layouts, page
 * sets, accesses per page and orders. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "source.h"
#include "uvmpolicy/base.h"
#include "workloads/workload.h"

#define PAGE      4096u
#define LINE      128u
#define PAGES_MAX 40000u /* of all ranges together */
#define PUBLISHED "../shared/traces"

static char error[SOURCE_ERROR_MAX];

/* -- an opened workload, and its pages in the order of the ranges */

struct program {
	struct source *source;
	struct workload *workload;
	uint64_t first_page[WORKLOAD_RANGES_MAX + 1]; /* of each range, and how many there are */
};

static struct program open_program(const char *spec)
{
	struct program p = {.source = workload_open(spec, 1, error)};

	if (p.source == NULL)
		fail_msg("%s: %s", spec, error);
	p.workload = workload_of(p.source);
	assert_non_null(p.workload);
	for (unsigned r = 0; r < p.workload->ranges; r++)
		p.first_page[r + 1] = p.first_page[r] + (p.workload->range[r].bytes + PAGE - 1) / PAGE;
	assert_in_range(p.first_page[p.workload->ranges], 1, PAGES_MAX);
	return p;
}

static void close_program(struct program *p)
{
	p->source->close(p->source);
}

static uint64_t pages_of(const struct program *p)
{
	return p->first_page[p->workload->ranges];
}

/* Fails when the address is outside every range. */
static unsigned range_of(const struct program *p, uint64_t address)
{
	for (unsigned r = 0; r < p->workload->ranges; r++) {
		const struct source_range *range = &p->workload->range[r];

		if (address >= range->base && address - range->base < range->bytes)
			return r;
	}
	fail_msg("address 0x%llx is outside every range", (unsigned long long)address);
	return 0;
}

static uint64_t page_of(const struct program *p, uint64_t address)
{
	unsigned r = range_of(p, address);

	return p->first_page[r] + (address - p->workload->range[r].base) / PAGE;
}

/* -- loads and stores of all warps, one by one and one warp after the other; not joined to steps */

typedef void (*step_function)(struct program *p, const struct workload_slot *slot, void *data);

/* The steps of the next kernel; false when there is none. What the CPU does is in test_workload_program.c. */
static bool walk_kernel(struct program *p, step_function function, void *data)
{
	struct workload_slot slot = {0};

	do {
		if (!workload_launch(p->workload))
			return false;
	} while (p->workload->op.kind != WORKLOAD_KERNEL);
	assert_true(p->workload->blocks > 0);
	assert_in_range(p->workload->warps, 1, 32);
	for (uint64_t block = 0; block < p->workload->blocks; block++)
		for (uint32_t warp = 0; warp < p->workload->warps; warp++) {
			workload_start_warp(p->workload, &slot, block, warp);
			while (p->workload->type->span(p->workload, &slot)) {
				if (!slot.is_code)
					function(p, &slot, data);
			}
		}
	return true;
}

static unsigned walk(struct program *p, step_function function, void *data)
{
	unsigned kernels = 0;

	for (; walk_kernel(p, function, data); kernels++)
		workload_end_kernel(p->workload);
	return kernels;
}

/* Accesses per page as UVM Smart's simulator counts them: the 128-byte lines of each load or store of a warp.
 */
struct counts {
	uint64_t total, page[PAGES_MAX];
};

static void count_line(struct program *p, struct counts *counts, uint64_t line)
{
	counts->total++;
	counts->page[page_of(p, line * LINE)]++;
}

static void count_lines(struct program *p, const struct workload_slot *slot, void *data)
{
	uint64_t seen[2 * WORKLOAD_LANES];
	unsigned lines = 0;

	if (slot->lanes == 0) {
		assert_true(slot->at < slot->end);
		for (uint64_t line = slot->at / LINE; line <= (slot->end - 1) / LINE; line++)
			count_line(p, data, line);
	}
	for (uint32_t lane = 0; lane < slot->lanes; lane++) {
		uint64_t last = (slot->lane[lane] + slot->lane_bytes - 1) / LINE;

		for (uint64_t line = slot->lane[lane] / LINE; line <= last; line++) {
			unsigned i = 0;

			while (i < lines && seen[i] != line)
				i++;
			if (i < lines)
				continue;
			seen[lines++] = line;
			count_line(p, data, line);
		}
	}
}

/* -- sizes and layout */

/* Sizes in the order of allocation; those with more than one come from the published logs of UVM Smart (and
 * backprop of 18000, hotspot of 512 from its access streams). */
static const struct layout {
	const char *spec, *set, *benchmark; /* of allocations.csv; NULL: the defaults */
	unsigned ranges;
	uint64_t bytes[13];
} layouts[] = {
        {"backprop:n=131056",
         "logs",
         "backprop",
         13,
         {524228, 68, 8, 68, 8, 8, 8911876, 8911876, 136, 8911876, 136, 68, 524224}},
        {"backprop:n=18000",
         "access",
         "backprop",
         13,
         {72004, 68, 8, 68, 8, 8, 1224068, 1224068, 136, 1224068, 136, 68, 72000}},
        {"rodinia_bfs:nodes=261444,edges=1568420",
         "logs",
         "bfs",
         6,
         {2091552, 261444, 261444, 261444, 6273680, 1045776}},
        {"fdtd2d:nx=1200,ny=1200,tmax=5", "logs", "fdtd", 4, {20, 5764800, 5764800, 5760000}},
        {"hotspot:n=1024,pyramid_height=2,sim_time=2", "logs", "hotspot", 3, {4194304, 4194304, 4194304}},
        {"hotspot:n=512,pyramid_height=2,sim_time=2", "access", "hotspot", 3, {1048576, 1048576, 1048576}},
        {"conv2d:ni=1024,nj=1024", "logs", "2DCONV", 2, {4194304, 4194304}},
        {"atax:nx=1200,ny=1200", "logs", "ATAX", 4, {5760000, 4800, 4800, 4800}},
        {"ra:n=1048576", "logs", "ra", 3, {4194304, 4194304, 4194304}},
        {"sssp:nodes=1048576,degree=2", "logs", "sssp", 5, {4194304, 8388608, 8388608, 4194304, 4194304}},
        {"nw:n=1024", "logs", "nw", 2, {4202500, 4202500}},
        {"backprop:n=65536",
         NULL,
         NULL,
         13,
         {262148, 68, 8, 68, 8, 8, 4456516, 4456516, 136, 4456516, 136, 68, 262144}},
        {"hotspot:n=1024", NULL, NULL, 3, {4194304, 4194304, 4194304}},
        {"pathfinder:cols=100000,rows=20", NULL, NULL, 3, {400000, 400000, 7600000}},
        {"pathfinder:cols=100000,rows=100", NULL, NULL, 3, {400000, 400000, 39600000}},
        {"srad:rows=2048,cols=2048", NULL, NULL, 1, {16777216}},
        {"srad:rows=32,cols=48,coefficients=1", NULL, NULL, 6, {6144, 6144, 6144, 6144, 6144, 6144}},
        {"nw:n=1024", NULL, NULL, 2, {4202500, 4202500}},
        {"nw:n=2048", NULL, NULL, 2, {16793604, 16793604}},
        {"sssp:nodes=262144", NULL, NULL, 5, {1048576, 2097152, 2097152, 1048576, 1048576}},
        {"ra:n=1048576", NULL, NULL, 3, {4194304, 4194304, 4194304}},
        {"fdtd2d:nx=2048,ny=2048", NULL, NULL, 4, {4, 16785408, 16785408, 16777216}},
        {"atax:nx=2048,ny=2048", NULL, NULL, 4, {16777216, 8192, 8192, 8192}},
        {"conv2d:ni=2048,nj=2048", NULL, NULL, 2, {16777216, 16777216}},
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

static void sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYOUTS; i++) {
		struct program p = open_program(layouts[i].spec);

		assert_int_equal(p.workload->ranges, layouts[i].ranges);
		for (unsigned r = 0; r < layouts[i].ranges; r++)
			assert_int_equal(p.workload->range[r].bytes, layouts[i].bytes[r]);
		close_program(&p);
	}
}

static void bad_values(void **state)
{
	static const char *const bad[][2] = {
	        {"backprop:n=17", "workload backprop: n is not a multiple of 16"},
	        {"nw:n=24", "workload nw: n is not a multiple of 16"},
	        {"srad:rows=20", "workload srad: rows and cols must be multiples of 16"},
	        {"srad:cols=40", "workload srad: rows and cols must be multiples of 16"},
	        {"hotspot:pyramid_height=8", "workload hotspot: pyramid_height=8 is not accepted; 1..7"},
	        {"sssp:nodes=2,degree=2", "workload sssp: degree is not below nodes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(workload_open(bad[i][0], 1, error));
		assert_string_equal(error, bad[i][1]);
	}
}

/* -- rows */

/* Small ones, of all kinds of ends. */
static const char *const small[] = {
        "backprop:n=2048,agents=7",
        "rodinia_bfs:nodes=5000,agents=9",
        "rodinia_bfs:nodes=700,edges=1001,agents=3",
        "hotspot:n=70,pyramid_height=3,sim_time=7,agents=5",
        "pathfinder:cols=1000,rows=20,pyramid_height=5,agents=6",
        "srad:rows=48,cols=80,iterations=2,coefficients=1,agents=8",
        "srad:rows=16,cols=16,agents=2",
        "nw:n=80,agents=3",
        "sssp:nodes=3001,degree=3,agents=4",
        "ra:n=10001,stride=3,agents=5",
        "fdtd2d:nx=50,ny=70,tmax=2,agents=3",
        "atax:nx=70,ny=1100,agents=2",
        "conv2d:ni=40,nj=100,agents=3",
};
#define SMALL (sizeof(small) / sizeof(small[0]))

struct rows {
	uint64_t accesses, hash;
	unsigned kernels;
};

/* Reads the whole source; all rows lie in ranges. */
static struct rows read_rows(const char *spec, uint64_t seed)
{
	struct rows rows = {.hash = 0xcbf29ce484222325u};
	struct program p = open_program(spec);
	struct source_row row;

	close_program(&p);
	p.source = workload_open(spec, seed, error);
	p.workload = workload_of(p.source);
	for (p.source->next(p.source, &row); row.kind != SOURCE_END; p.source->next(p.source, &row)) {
		rows.kernels += row.kind == SOURCE_KERNEL;
		if (row.kind != SOURCE_ACCESS)
			continue;
		rows.accesses += !row.is_cpu;
		rows.hash = (rows.hash ^ page_of(&p, row.address)) * 0x100000001b3u;
		rows.hash = (rows.hash ^ (uint64_t)row.access ^ (uint64_t)row.agent << 8) * 0x100000001b3u;
	}
	close_program(&p);
	return rows;
}

static void determinism(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMALL; i++) {
		bool is_seeded = strncmp(small[i], "rod", 3) == 0 || strncmp(small[i], "sss", 3) == 0 ||
		                 strncmp(small[i], "ra:", 3) == 0;
		struct rows first = read_rows(small[i], 1);

		assert_true(first.accesses > 0);
		assert_true(first.hash == read_rows(small[i], 1).hash);
		assert_int_equal(first.hash == read_rows(small[i], 2).hash, !is_seeded);
	}
}

/* The smallest instances, counted by hand. */
static void few_accesses(void **state)
{
	static const struct {
		const char *spec;
		unsigned kernels;
		uint64_t accesses;
	} few[] = {
	        /* forward: units, weights, weights back, sums; adjust: delta, units, changes, weights,
	         * weights back, delta, units, changes, changes back; 8 warps, and the first has 7 more for
	         * the threshold unit's weights */
	        {"backprop:n=16", 2, 8 * (4 + 9) + 7},
	        /* frontier, frontier back, node, edge and seen; found */
	        {"rodinia_bfs:nodes=1,edges=1", 2, 3 + 2 + 1},
	        {"hotspot:n=1,pyramid_height=1,sim_time=1", 1, 3},
	        /* three time steps in two kernels */
	        {"hotspot:n=1,pyramid_height=2,sim_time=3", 2, 6},
	        {"pathfinder:cols=1,rows=2,pyramid_height=1", 1, 3},
	        /* two rows of the wall are on the same page: one access */
	        {"pathfinder:cols=1,rows=3,pyramid_height=2", 1, 3},
	        /* 8 warps: all that the first kernel loads is on one page; load and store in the second */
	        {"srad:rows=16,cols=16,iterations=1", 2, 8 * (1 + 2)},
	        /* and five coefficients stored; the second loads the image, C, N, S, W, E */
	        {"srad:rows=16,cols=16,iterations=1,coefficients=1", 2, 8 * (1 + 5 + 1 + 5 + 1)},
	        /* corner, similarities, column and row (one page), store */
	        {"nw:n=16", 1, 4},
	        /* both distances set; node 0: its edges, distance, end, weight, load and swap of the minimum;
	         * both distances, distance back, next distance; node 1 the same, but no shorter distance;
	         * three idle rounds */
	        {"sssp:nodes=2,degree=1,rounds=1", 11, 2 + (6 + 4) + (6 + 3) + 3 * 3},
	        {"ra:n=1", 1, 3},
	        /* source, ey back; nothing; hz, ex, ey (two loads of one page), hz back */
	        {"fdtd2d:nx=1,ny=1,tmax=1", 3, 2 + 0 + 4},
	        /* tmp, A, x, tmp back; y, A, tmp, y back */
	        {"atax:nx=1,ny=1", 2, 4 + 4},
	        {"conv2d:ni=3,nj=3", 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		struct rows rows = read_rows(few[i].spec, 1);

		assert_int_equal(rows.kernels, few[i].kernels);
		assert_int_equal(rows.accesses, few[i].accesses);
	}
}

/* -- pages per kernel, by brute force over the elements */

struct marks {
	bool read[PAGES_MAX], written[PAGES_MAX];
};

static struct marks wanted, seen;

static void mark(const struct program *p, unsigned range, uint64_t element, bool is_write)
{
	uint64_t page = p->first_page[range] + element * 4u / PAGE;

	assert_true(element * 4u < p->workload->range[range].bytes);
	(is_write ? wanted.written : wanted.read)[page] = true;
}

static void load(const struct program *p, unsigned range, uint64_t element)
{
	mark(p, range, element, false);
}

static void store(const struct program *p, unsigned range, uint64_t element)
{
	mark(p, range, element, true);
}

static void mark_step(struct program *p, const struct workload_slot *slot, void *data)
{
	bool *marked = slot->access == UVMP_ACCESS_READ ? seen.read : seen.written;

	(void)data;
	for (uint64_t at = slot->at; slot->lanes == 0 && at < slot->end; at = at / PAGE * PAGE + PAGE)
		marked[page_of(p, at)] = true;
	for (uint32_t lane = 0; lane < slot->lanes; lane++) {
		assert_int_equal(slot->lane[lane] / PAGE, (slot->lane[lane] + slot->lane_bytes - 1) / PAGE);
		marked[page_of(p, slot->lane[lane])] = true;
	}
}

/* The next kernel touches just the pages that have been marked since the last call. */
static void check_kernel(struct program *p)
{
	memset(&seen, 0, sizeof(seen));
	assert_true(walk_kernel(p, mark_step, NULL));
	assert_memory_equal(&seen, &wanted, sizeof(seen));
	workload_end_kernel(p->workload);
	memset(&wanted, 0, sizeof(wanted));
}

static void check_end(struct program *p)
{
	assert_false(walk_kernel(p, mark_step, NULL));
	close_program(p);
}

static void backprop_case(uint64_t n)
{
	enum { UNITS = 0, DELTA = 3, WEIGHTS = 6, WEIGHTS2 = 7, CHANGES = 9, SUMS = 12 };
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "backprop:n=%u", (unsigned)n);
	p = open_program(spec);
	for (uint64_t i = 1; i <= n; i++) {
		load(&p, UNITS, i);
		for (uint64_t j = 1; j <= 16; j++) {
			load(&p, WEIGHTS, i * 17 + j);
			store(&p, WEIGHTS, i * 17 + j);
		}
	}
	for (uint64_t i = 0; i < n; i++) /* 16 sums for every 16 inputs */
		store(&p, SUMS, i);
	check_kernel(&p);
	for (uint64_t i = 0; i <= n; i++) {
		if (i > 0)
			load(&p, UNITS, i);
		for (uint64_t j = 1; j <= 16; j++) {
			load(&p, DELTA, j);
			load(&p, WEIGHTS2, i * 17 + j);
			store(&p, WEIGHTS2, i * 17 + j);
			load(&p, CHANGES, i * 17 + j);
			store(&p, CHANGES, i * 17 + j);
		}
	}
	check_kernel(&p);
	check_end(&p);
}

static void backprop_pages(void **state)
{
	(void)state;
	backprop_case(16);
	backprop_case(1024); /* two rows of units on a page boundary */
	backprop_case(3008);
}

static void hotspot_case(uint64_t n, uint64_t height, uint64_t time)
{
	struct program p;
	char spec[80];

	snprintf(spec, sizeof(spec), "hotspot:n=%u,pyramid_height=%u,sim_time=%u", (unsigned)n,
	         (unsigned)height, (unsigned)time);
	p = open_program(spec);
	for (unsigned kernel = 0; kernel * height < time; kernel++) {
		for (uint64_t cell = 0; cell < n * n; cell++) {
			load(&p, kernel % 2, cell);
			load(&p, 2, cell);
			store(&p, 1 - kernel % 2, cell);
		}
		check_kernel(&p);
	}
	check_end(&p);
}

static void hotspot_pages(void **state)
{
	(void)state;
	hotspot_case(1, 7, 1);
	hotspot_case(12, 2, 2);
	hotspot_case(30, 6, 40);
	hotspot_case(100, 2, 5);
	hotspot_case(131, 7, 20);
	hotspot_case(257, 3, 7);
}

static void pathfinder_case(uint64_t cols, uint64_t rows, uint64_t height)
{
	struct program p;
	char spec[80];

	snprintf(spec, sizeof(spec), "pathfinder:cols=%u,rows=%u,pyramid_height=%u", (unsigned)cols,
	         (unsigned)rows, (unsigned)height);
	p = open_program(spec);
	for (unsigned kernel = 0; kernel * height < rows - 1; kernel++) {
		for (uint64_t x = 0; x < cols; x++) {
			load(&p, kernel % 2, x);
			for (uint64_t y = kernel * height; y < (kernel + 1) * height && y < rows - 1; y++)
				load(&p, 2, y * cols + x);
			store(&p, 1 - kernel % 2, x);
		}
		check_kernel(&p);
	}
	check_end(&p);
}

static void pathfinder_pages(void **state)
{
	(void)state;
	pathfinder_case(1, 2, 127);
	pathfinder_case(1000, 20, 5);
	pathfinder_case(3000, 12, 11);
	pathfinder_case(5000, 30, 100);
}

static void srad_case(uint64_t rows, uint64_t cols, bool has_coefficients)
{
	unsigned image = has_coefficients ? 5 : 0;
	struct program p;
	char spec[80];

	snprintf(spec, sizeof(spec), "srad:rows=%u,cols=%u,iterations=2,coefficients=%u", (unsigned)rows,
	         (unsigned)cols, has_coefficients);
	p = open_program(spec);
	for (unsigned kernel = 0; kernel < 4; kernel++) {
		for (uint64_t cell = 0; cell < rows * cols; cell++) {
			load(&p, image, cell);
			if (kernel % 2 == 1)
				store(&p, image, cell);
			for (unsigned i = 0; i < image; i++)
				mark(&p, i, cell, kernel % 2 == 0);
		}
		check_kernel(&p);
	}
	check_end(&p);
}

static void srad_pages(void **state)
{
	(void)state;
	srad_case(16, 16, true);
	srad_case(16, 176, true);
	srad_case(160, 16, false);
	srad_case(112, 96, true);
	srad_case(48, 1040, false);
}

static void nw_case(uint64_t n)
{
	uint64_t tiles = n / 16, side = n + 1;
	struct program p;
	char spec[40];

	snprintf(spec, sizeof(spec), "nw:n=%u", (unsigned)n);
	p = open_program(spec);
	for (uint64_t diagonal = 0; diagonal < 2 * tiles - 1; diagonal++) {
		for (uint64_t y = 1; y <= n; y++)
			for (uint64_t x = 1; x <= n; x++) {
				if ((y - 1) / 16 + (x - 1) / 16 != diagonal)
					continue;
				load(&p, 0, y * side + x);
				store(&p, 1, y * side + x);
				if (y % 16 == 1 || x % 16 == 1) { /* from another tile */
					load(&p, 1, (y % 16 == 1 ? y - 1 : y) * side + x - (x % 16 == 1));
					if (y % 16 == 1)
						load(&p, 1, (y - 1) * side + x);
				}
			}
		check_kernel(&p);
	}
	check_end(&p);
}

static void nw_pages(void **state)
{
	(void)state;
	nw_case(16);
	nw_case(80);
	nw_case(272);
}

static void fdtd2d_case(uint64_t nx, uint64_t ny, unsigned tmax)
{
	enum { FICT, EX, EY, HZ };
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "fdtd2d:nx=%u,ny=%u,tmax=%u", (unsigned)nx, (unsigned)ny, tmax);
	p = open_program(spec);
	for (unsigned t = 0; t < tmax; t++) {
		load(&p, FICT, t);
		for (uint64_t i = 0; i < nx; i++)
			for (uint64_t j = 0; j < ny; j++) {
				store(&p, EY, i * ny + j);
				if (i == 0)
					continue;
				load(&p, EY, i * ny + j);
				load(&p, HZ, i * ny + j);
				load(&p, HZ, (i - 1) * ny + j);
			}
		check_kernel(&p);
		for (uint64_t i = 0; i < nx; i++)
			for (uint64_t j = 1; j < ny; j++) {
				load(&p, EX, i * (ny + 1) + j);
				store(&p, EX, i * (ny + 1) + j);
				load(&p, HZ, i * ny + j);
				load(&p, HZ, i * ny + j - 1);
			}
		check_kernel(&p);
		for (uint64_t i = 0; i < nx; i++)
			for (uint64_t j = 0; j < ny; j++) {
				load(&p, HZ, i * ny + j);
				store(&p, HZ, i * ny + j);
				load(&p, EX, i * (ny + 1) + j);
				load(&p, EX, i * (ny + 1) + j + 1);
				load(&p, EY, i * ny + j);
				load(&p, EY, (i + 1) * ny + j);
			}
		check_kernel(&p);
	}
	check_end(&p);
}

static void fdtd2d_pages(void **state)
{
	(void)state;
	fdtd2d_case(1, 1, 1);
	fdtd2d_case(7, 33, 2);
	fdtd2d_case(65, 100, 2);
	fdtd2d_case(3, 2050, 1);
	fdtd2d_case(2050, 3, 1);
}

static void atax_case(uint64_t nx, uint64_t ny)
{
	enum { A, X, Y, TMP };
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "atax:nx=%u,ny=%u", (unsigned)nx, (unsigned)ny);
	p = open_program(spec);
	for (unsigned kernel = 0; kernel < 2; kernel++) {
		for (uint64_t i = 0; i < nx; i++)
			for (uint64_t j = 0; j < ny; j++) {
				load(&p, A, i * ny + j);
				load(&p, TMP, i);
				load(&p, kernel == 0 ? X : Y, j);
				store(&p, kernel == 0 ? TMP : Y, kernel == 0 ? i : j);
			}
		check_kernel(&p);
	}
	check_end(&p);
}

static void atax_pages(void **state)
{
	(void)state;
	atax_case(1, 1);
	atax_case(100, 31);
	atax_case(33, 1200);
	atax_case(1025, 77);
}

static void conv2d_case(uint64_t ni, uint64_t nj)
{
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "conv2d:ni=%u,nj=%u", (unsigned)ni, (unsigned)nj);
	p = open_program(spec);
	for (uint64_t i = 1; i + 1 < ni; i++)
		for (uint64_t j = 1; j + 1 < nj; j++) {
			for (uint64_t k = 0; k < 9; k++)
				load(&p, 0, (i + k / 3 - 1) * nj + j + k % 3 - 1);
			store(&p, 1, i * nj + j);
		}
	check_kernel(&p);
	check_end(&p);
}

static void conv2d_pages(void **state)
{
	(void)state;
	conv2d_case(3, 3);
	conv2d_case(40, 33);
	conv2d_case(70, 130);
	conv2d_case(5, 3000);
}

/* Table and output are touched at the same elements, chosen by all threads of the stride alike. */
static void add_lanes(struct program *p, const struct workload_slot *slot, void *data)
{
	uint64_t *sum = data;
	unsigned range = range_of(p, slot->lanes != 0 ? slot->lane[0] : slot->at);

	if (slot->lanes == 0) {
		sum[3]++;
		return;
	}
	for (uint32_t lane = 0; lane < slot->lanes; lane++)
		sum[range] += (slot->lane[lane] - p->workload->range[range].base) / 4u + 1;
	sum[0] += range == 1 ? slot->lanes : 0;
}

static void ra_pages(void **state)
{
	static const struct {
		const char *spec;
		uint64_t threads, warps;
	} run[] = {{"ra:n=1", 1, 1},
	           {"ra:n=100,stride=100", 1, 1},
	           {"ra:n=101,stride=100", 2, 2},
	           {"ra:n=5000,stride=1", 5000, 157},
	           {"ra:n=1048576", 10486, 10486},
	           {"ra:n=6400,stride=40", 160, 160}};

	(void)state;
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
		struct program p = open_program(run[i].spec);
		uint64_t sum[4] = {0};

		assert_int_equal(walk(&p, add_lanes, sum), 1);
		assert_int_equal(sum[0], run[i].threads);
		assert_int_equal(sum[1], sum[2]);
		assert_int_equal(sum[3], run[i].warps);
		/* uniform: the mean is within 2 % of the middle for the larger ones */
		if (run[i].threads > 4000)
			assert_in_range(sum[1] / run[i].threads, p.workload->value[0] / 2 * 98 / 100,
			                p.workload->value[0] / 2 * 102 / 100);
		close_program(&p);
	}
}

/* -- searches: the same graphs, drawn and searched here in a naive way */

#define NODES_MAX 3000u

/* How often an element of each range was loaded, or stored, in one kernel. */
struct elements {
	unsigned loads[6][8 * NODES_MAX], stores[6][8 * NODES_MAX];
	uint64_t element_bytes[6];
};

static struct elements elements;

static void count_elements(struct program *p, const struct workload_slot *slot, void *data)
{
	struct elements *e = data;
	uint64_t address = slot->lanes != 0 ? slot->lane[0] : slot->at;
	unsigned range = range_of(p, address);
	unsigned *count = slot->access == UVMP_ACCESS_READ ? e->loads[range] : e->stores[range];
	uint64_t base = p->workload->range[range].base, bytes = e->element_bytes[range];

	for (uint64_t at = slot->at; slot->lanes == 0 && at < slot->end; at += bytes)
		count[(at - base) / bytes]++;
	for (uint32_t lane = 0; lane < slot->lanes; lane++)
		count[(slot->lane[lane] - base) / bytes]++;
}

static bool next_kernel(struct program *p)
{
	bool is_there;

	memset(elements.loads, 0, sizeof(elements.loads));
	memset(elements.stores, 0, sizeof(elements.stores));
	is_there = walk_kernel(p, count_elements, &elements);
	workload_end_kernel(p->workload);
	return is_there;
}

struct pair {
	uint32_t from, to;
};

/* The generator of Rodinia: all edges as pairs; those of a node stand in the order in which they were made.
 */
static unsigned draw_pairs(struct pair *pair, unsigned nodes, unsigned edges, uint64_t random)
{
	static unsigned degree[NODES_MAX];
	unsigned pairs = 0, sum = 0, most = edges != 0 ? edges : 8 * NODES_MAX;

	for (unsigned v = 0; v < nodes; v++)
		sum += degree[v] = 2 + (unsigned)uvmp_random_below(&random, 3);
	for (; edges != 0 && sum < (edges + 1) / 2; sum++)
		degree[uvmp_random_below(&random, nodes)]++;
	while (edges != 0 && sum > (edges + 1) / 2) {
		uint64_t v = uvmp_random_below(&random, nodes);

		if (degree[v] > 0) {
			degree[v]--;
			sum--;
		}
	}
	random = uvmp_random_next(&random);
	for (unsigned v = 0; v < nodes; v++)
		for (unsigned i = 0; i < degree[v]; i++) {
			uint32_t end = (uint32_t)uvmp_random_below(&random, nodes);

			pair[pairs++] = (struct pair){v, end};
			if (pairs < most)
				pair[pairs++] = (struct pair){end, v};
		}
	return pairs;
}

static void bfs_case(unsigned nodes, unsigned edges)
{
	enum { NODE, FRONTIER, FOUND, SEEN, EDGE, COST };
	static struct pair pair[8 * NODES_MAX];
	static unsigned level[NODES_MAX], edge_loads[8 * NODES_MAX];
	const uint64_t element_bytes[6] = {8, 1, 1, 1, 4, 4};
	unsigned pairs = draw_pairs(pair, nodes, edges, 1), reached = 1, edges_loaded = 0, edges_wanted = 0;
	bool is_any = true;
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "rodinia_bfs:nodes=%u,edges=%u", nodes, edges);
	p = open_program(spec);
	assert_int_equal(p.workload->range[EDGE].bytes, pairs * 4);
	memcpy(elements.element_bytes, element_bytes, sizeof(element_bytes));
	memset(level, 0xff, sizeof(level));
	memset(edge_loads, 0, sizeof(edge_loads));
	level[0] = 0;
	for (unsigned now = 0; is_any; now++) {
		is_any = false;
		for (unsigned i = 0; i < pairs; i++)
			if (level[pair[i].from] == now && level[pair[i].to] == UINT32_MAX)
				level[pair[i].to] = now + 1;
		assert_true(next_kernel(&p));
		for (unsigned v = 0; v < nodes; v++) {
			assert_int_equal(elements.loads[FRONTIER][v], 1);
			assert_int_equal(elements.stores[COST][v] != 0, level[v] == now + 1);
			assert_int_equal(elements.stores[FOUND][v], elements.stores[COST][v]);
			if (level[v] == now)
				assert_true(elements.stores[FRONTIER][v] == 1 &&
				            elements.loads[NODE][v] >= 2);
			is_any |= level[v] == now + 1;
			reached += level[v] == now + 1;
		}
		for (unsigned i = 0; i < pairs; i++)
			edge_loads[i] += elements.loads[EDGE][i];
		/* each look at an edge is one at whether its end is seen */
		for (unsigned v = 0; v < nodes; v++) {
			unsigned looks = 0;

			for (unsigned i = 0; i < pairs; i++)
				looks += level[pair[i].from] == now && pair[i].to == v;
			assert_int_equal(elements.loads[SEEN][v], looks);
		}
		assert_true(next_kernel(&p));
		for (unsigned v = 0; v < nodes; v++) {
			assert_int_equal(elements.loads[FOUND][v], 1);
			if (level[v] == now + 1)
				assert_true(elements.stores[FRONTIER][v] == 1 &&
				            elements.stores[SEEN][v] == 1 && elements.stores[FOUND][v] == 1);
		}
	}
	assert_false(next_kernel(&p));
	assert_true(edges != 0 || reached == nodes);
	for (unsigned i = 0; i < pairs; i++) {
		assert_in_range(edge_loads[i], 0, 1);
		edges_loaded += edge_loads[i];
		edges_wanted += level[pair[i].from] != UINT32_MAX;
	}
	assert_int_equal(edges_loaded, edges_wanted);
	close_program(&p);
}

static void bfs_search(void **state)
{
	(void)state;
	bfs_case(1, 0);
	bfs_case(31, 0);
	bfs_case(600, 0);
	bfs_case(600, 601); /* not all nodes are reached */
	bfs_case(40, 999);
}

static void sssp_case(unsigned nodes, unsigned degree, unsigned rounds)
{
	enum { VERTEX, EDGE, WEIGHT, DISTANCE, UPDATING };
	static uint32_t end[3 * NODES_MAX], weight[3 * NODES_MAX], distance[NODES_MAX], shorter[NODES_MAX];
	static bool is_active[NODES_MAX];
	uint64_t random = 1;
	unsigned done = 0, active = 1;
	struct program p;
	char spec[60];

	snprintf(spec, sizeof(spec), "sssp:nodes=%u,degree=%u,rounds=%u", nodes, degree, rounds);
	p = open_program(spec);
	for (unsigned i = 0; i < 6; i++)
		elements.element_bytes[i] = 4;
	for (unsigned i = 0; i < nodes * degree; i++) {
		bool is_new;

		do {
			end[i] = (uint32_t)uvmp_random_below(&random, nodes);
			is_new = end[i] != i / degree;
			for (unsigned k = i / degree * degree; k < i; k++)
				is_new &= end[k] != end[i];
		} while (!is_new);
		weight[i] = (uint32_t)uvmp_random_below(&random, 1000);
	}
	memset(distance, 0xff, sizeof(distance));
	memset(is_active, 0, sizeof(is_active));
	distance[0] = 0;
	is_active[0] = true;
	assert_true(next_kernel(&p));
	for (unsigned v = 0; v < nodes; v++)
		assert_true(elements.stores[DISTANCE][v] == 1 && elements.stores[UPDATING][v] == 1);
	for (; done % 5 != 0 || (active > 0 && done < rounds); done++) {
		static unsigned offers[NODES_MAX];

		memset(offers, 0, sizeof(offers));
		memcpy(shorter, distance, sizeof(shorter));
		assert_true(next_kernel(&p));
		for (unsigned i = 0; i < nodes * degree; i++) {
			unsigned from = i / degree;

			assert_int_equal(elements.loads[EDGE][i], is_active[from]);
			assert_int_equal(elements.loads[WEIGHT][i], is_active[from]);
			if (!is_active[from])
				continue;
			offers[end[i]]++;
			if (distance[from] + weight[i] < shorter[end[i]])
				shorter[end[i]] = distance[from] + weight[i];
		}
		for (unsigned v = 0; v < nodes; v++) {
			assert_int_equal(elements.loads[UPDATING][v], offers[v]);
			assert_int_equal(elements.stores[UPDATING][v], offers[v]);
			assert_true(!is_active[v] || elements.loads[DISTANCE][v] == 1);
		}
		assert_true(next_kernel(&p));
		active = 0;
		for (unsigned v = 0; v < nodes; v++) {
			is_active[v] = shorter[v] < distance[v];
			active += is_active[v];
			assert_true(elements.loads[DISTANCE][v] == 1 && elements.loads[UPDATING][v] == 1);
			assert_int_equal(elements.stores[UPDATING][v], 1);
			assert_true(!is_active[v] || elements.stores[DISTANCE][v] == 1);
		}
		/* a store spans a block's shorter distances, from the first to the last */
		for (unsigned block = 0; block * 16 < nodes; block++) {
			unsigned stores = 0, first = 16, last = 0;

			for (unsigned i = 0; i < 16 && block * 16 + i < nodes; i++) {
				stores += elements.stores[DISTANCE][block * 16 + i];
				if (!is_active[block * 16 + i])
					continue;
				last = i;
				if (first == 16)
					first = i;
			}
			assert_int_equal(stores, first == 16 ? 0 : last - first + 1);
		}
		memcpy(distance, shorter, sizeof(distance));
	}
	assert_false(next_kernel(&p));
	close_program(&p);
}

static void sssp_search(void **state)
{
	(void)state;
	sssp_case(2, 1, 1);
	sssp_case(37, 3, 4);
	sssp_case(1000, 2, 15);
	sssp_case(2999, 3, 100);
}

/* -- published figures */

static struct counts counted;

/* Kernels, touched pages, and accesses of lines, as published: all is exact but the accesses of the searches,
 * which are of other graphs of the same kind. */
static void totals(void **state)
{
	static const struct {
		const char *spec;
		unsigned kernels;
		uint64_t pages, accesses, percent; /* by which the accesses may differ */
	} run[] = {
	        {"backprop:n=18000", 2, 934, 181693, 0},
	        {"backprop:n=16384", 2, 853, 165383, 0},
	        {"backprop:n=131056", 2, 6785, 1322852, 0},
	        {"hotspot:n=512,pyramid_height=2,sim_time=2", 1, 768, 112816, 0},
	        {"pathfinder:cols=100000,rows=100,pyramid_height=20", 5, 9864, 767503, 0},
	        {"nw:n=2048", 255, 8200, 1073152, 0},
	        {"srad:rows=1024,cols=1024,iterations=2", 4, 1024, 790524, 0},
	        {"rodinia_bfs:nodes=261444,edges=1568420", 22, 2491, 4639171, 1},
	        /* without the flag that ends the search */
	        {"rodinia_bfs:nodes=65536", 20, 128 + 3 * 16 + 384 + 64, 1187084 - 8357, 3},
	        /* of these the kernels are published; every page, but the first row of nw's similarities */
	        {"hotspot:n=1024,pyramid_height=2,sim_time=8", 4, 3 * 1024, 0, 100},
	        {"nw:n=1024", 127, 1026 + 1027, 0, 100},
	        /* of these nothing; conv2d does not write the first and last row, a page each */
	        {"fdtd2d:nx=1200,ny=1200,tmax=1", 3, 1 + 1408 + 1408 + 1407, 0, 100},
	        {"atax:nx=1200,ny=1200", 2, 1407 + 3 * 2, 0, 100},
	        {"conv2d:ni=1024,nj=1024", 1, 1024 + 1022, 0, 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
		struct program p = open_program(run[i].spec);
		uint64_t pages = 0;

		memset(&counted, 0, sizeof(counted));
		assert_int_equal(walk(&p, count_lines, &counted), run[i].kernels);
		for (uint64_t page = 0; page < pages_of(&p); page++)
			pages += counted.page[page] != 0;
		assert_int_equal(pages, run[i].pages);
		if (run[i].accesses != 0)
			assert_in_range(counted.total, run[i].accesses * (100 - run[i].percent) / 100,
			                run[i].accesses * (100 + run[i].percent) / 100);
		close_program(&p);
	}
}

/* The grid of the runs of hotspot on the GTX 1080 Ti: 86 x 86 blocks. */
static void hotspot_grid(void **state)
{
	struct program p = open_program("hotspot:n=1024,pyramid_height=2,sim_time=8");

	(void)state;
	assert_true(workload_launch(p.workload));
	assert_int_equal(p.workload->op.kind, WORKLOAD_KERNEL);
	assert_int_equal(p.workload->blocks, 86 * 86);
	close_program(&p);
}

/* -- published files */

/* NULL: the published data are not beside the repository. */
static FILE *open_published(const char *name)
{
	char command[200];
	FILE *in;

	snprintf(command, sizeof(command), PUBLISHED "/%s", name);
	in = fopen(command, "r");
	if (in == NULL) {
		print_message(PUBLISHED "/%s is not there: skipped\n", name);
		return NULL;
	}
	if (strstr(name, ".gz") == NULL)
		return in;
	fclose(in);
	snprintf(command, sizeof(command), "gzip -dc " PUBLISHED "/%s", name);
	in = popen(command, "r");
	assert_non_null(in);
	return in;
}

static void close_published(FILE *in, const char *name)
{
	if (strstr(name, ".gz") != NULL)
		pclose(in);
	else
		fclose(in);
}

static void published_layouts(void **state)
{
	const char *file = "uvmsmart-access/allocations.csv";
	unsigned index, at[LAYOUTS] = {0};
	unsigned long long bytes;
	char line[200], set[20], benchmark[20];
	FILE *in = open_published(file);

	(void)state;
	if (in == NULL)
		return;
	while (fgets(line, sizeof(line), in) != NULL) {
		if (sscanf(line, "%19[^,],%19[^,],%u,%llu", set, benchmark, &index, &bytes) != 4)
			continue;
		for (size_t i = 0; i < LAYOUTS; i++) {
			if (layouts[i].set == NULL || strcmp(layouts[i].set, set) != 0 ||
			    strcmp(layouts[i].benchmark, benchmark) != 0)
				continue;
			assert_int_equal(index, at[i]);
			assert_int_equal(bytes, layouts[i].bytes[at[i]++]);
		}
	}
	for (size_t i = 0; i < LAYOUTS; i++)
		assert_int_equal(at[i], layouts[i].set == NULL ? 0 : layouts[i].ranges);
	close_published(in, file);
}

/* Accesses of lines page by page; srad's file has pages of unmanaged memory, too, and no gap around the
 * image. */
static void published_counts(void **state)
{
	static const struct {
		const char *name, *spec;
		unsigned long long first, last;
	} run[] = {{"hotspot", "hotspot:n=512,pyramid_height=2,sim_time=2", 0, UINT64_MAX},
	           {"backprop", "backprop:n=16384", 0, UINT64_MAX},
	           {"needle", "nw:n=2048", 0, UINT64_MAX},
	           {"pathfinder", "pathfinder:cols=100000,rows=100,pyramid_height=20", 0, UINT64_MAX},
	           {"srad", "srad:rows=1024,cols=1024,iterations=2", 525219, 526242}};
	const char *file = "uvmsmart-access/page_access_counts.csv.gz";

	(void)state;
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
		unsigned long long page, accesses, sum = 0;
		FILE *in = open_published(file);
		char line[100], name[20];
		uint64_t at = 0;
		struct program p;

		if (in == NULL)
			return;
		p = open_program(run[i].spec);
		memset(&counted, 0, sizeof(counted));
		walk(&p, count_lines, &counted);
		while (fgets(line, sizeof(line), in) != NULL) {
			if (sscanf(line, "%19[a-z],%llu,%llu", name, &page, &accesses) != 3 ||
			    strcmp(name, run[i].name) != 0 || page < run[i].first || page > run[i].last)
				continue;
			while (at < pages_of(&p) && counted.page[at] == 0)
				at++;
			assert_true(at < pages_of(&p));
			assert_int_equal(counted.page[at++], accesses);
			sum += accesses;
		}
		assert_int_equal(sum, counted.total);
		close_published(in, file);
		close_program(&p);
	}
}

/* The order in which pages are touched first: rank[page] from 1 on, 0 never. */
struct order {
	unsigned touched, rank[PAGES_MAX];
	uint64_t accesses;
};

static void touch(struct order *order, uint64_t page)
{
	order->accesses++;
	if (order->rank[page] == 0)
		order->rank[page] = ++order->touched;
}

/* Where the published allocations start, in pages. */
static unsigned read_starts(const char *set, const char *benchmark, uint64_t start[13])
{
	FILE *in = open_published("uvmsmart-access/allocations.csv");
	char line[200], a[20], b[20];
	unsigned long long address;
	unsigned count = 0;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL)
		if (sscanf(line, "%19[^,],%19[^,],%*u,%*u,%*u,%llx", a, b, &address) == 3 &&
		    strcmp(a, set) == 0 && strcmp(b, benchmark) == 0)
			start[count++] = address / PAGE;
	fclose(in);
	return count;
}

/* The pages of a published file are ours; prints the correlation of the orders (Spearman's rank). `format`
 * gives the address or page of a line. Returns 1 when there is no file. */
static double compare_orders(const char *file, const char *format, uint64_t unit, const char *set,
                             const char *benchmark, const char *spec)
{
	static struct order ours, theirs;
	FILE *in = open_published(file);
	unsigned long long value;
	struct source_row row;
	uint64_t start[13];
	unsigned starts;
	struct program p;
	char line[200];
	double sum = 0, n, correlation;

	if (in == NULL)
		return 1;
	starts = read_starts(set, benchmark, start);
	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	p = open_program(spec);
	assert_int_equal(starts, p.workload->ranges);
	while (fgets(line, sizeof(line), in) != NULL) {
		unsigned range = starts;

		if (sscanf(line, format, &value) != 1 || value * unit / PAGE < start[0])
			continue;
		while (start[range - 1] > value * unit / PAGE)
			range--;
		touch(&theirs, p.first_page[range - 1] + value * unit / PAGE - start[range - 1]);
	}
	close_published(in, file);
	for (p.source->next(p.source, &row); row.kind != SOURCE_END; p.source->next(p.source, &row))
		if (row.kind == SOURCE_ACCESS && !row.is_cpu)
			touch(&ours, page_of(&p, row.address));
	for (uint64_t page = 0; page < pages_of(&p); page++) {
		double d = (double)ours.rank[page] - (double)theirs.rank[page];

		assert_int_equal(ours.rank[page] != 0, theirs.rank[page] != 0);
		sum += d * d;
	}
	n = ours.touched;
	correlation = 1 - 6 * sum / (n * (n * n - 1));
	print_message("%s: the %u pages published, in an order of rank correlation %.3f\n", spec,
	              ours.touched, correlation);
	close_program(&p);
	return correlation;
}

/* 28 SMs of 64 warps. The orders of bfs are those of two graphs. */
static void published_orders(void **state)
{
	(void)state;
	assert_true(compare_orders("uvmsmart-access/backprop_access.csv.gz", "%*u,%llu", PAGE, "access",
	                           "backprop", "backprop:n=18000,agents=1792") > 0.99);
	assert_true(compare_orders("uvmsmart-access/hotspot_access.csv.gz", "%*u,%llu", PAGE, "access",
	                           "hotspot",
	                           "hotspot:n=512,pyramid_height=2,sim_time=2,agents=1792") > 0.99);
	assert_true(compare_orders("uvmsmart/events/prefetch-OnDemand-backprop.csv", "%*u,%*u,h2d,%llx", 1,
	                           "logs", "backprop", "backprop:n=131056,agents=1792") > 0.99);
	compare_orders("uvmsmart/events/prefetch-OnDemand-bfs.csv", "%*u,%*u,h2d,%llx", 1, "logs", "bfs",
	               "rodinia_bfs:nodes=261444,edges=1568420,agents=1792");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sizes),
	        cmocka_unit_test(bad_values),
	        cmocka_unit_test(determinism),
	        cmocka_unit_test(few_accesses),
	        cmocka_unit_test(backprop_pages),
	        cmocka_unit_test(hotspot_pages),
	        cmocka_unit_test(pathfinder_pages),
	        cmocka_unit_test(srad_pages),
	        cmocka_unit_test(nw_pages),
	        cmocka_unit_test(fdtd2d_pages),
	        cmocka_unit_test(atax_pages),
	        cmocka_unit_test(conv2d_pages),
	        cmocka_unit_test(ra_pages),
	        cmocka_unit_test(bfs_search),
	        cmocka_unit_test(sssp_search),
	        cmocka_unit_test(totals),
	        cmocka_unit_test(hotspot_grid),
	        cmocka_unit_test(published_layouts),
	        cmocka_unit_test(published_counts),
	        cmocka_unit_test(published_orders),
	};

	return cmocka_run_group_tests_name("workload_rodinia", tests, NULL, NULL);
}
