/* TeaLeaf (the CUDA version of the UK Mini-App Consortium): implicit heat conduction on n x n cells, solved
 * by conjugate gradients without preconditioner.
 *
 * All fields are doubles with a halo of two cells on each side, row after row, allocated in the program's
 * order, those that this solver does not use as well: the program clears every field on the GPU when it
 * allocates it (clear=0 leaves that out, and the fields are on the CPU). Thread blocks are 32 x 4 threads,
 * one a cell; a warp is 32 cells of one row. It loads all its operands before it waits, then stores. Kernels
 * with a scalar product store one partial sum for each thread block, which a kernel of their own adds up.
 *
 * A step: copy the energy, coefficients Kx and Ky, start of the solver, `iterations` times (halo of p on four
 * sides, w = A p, sum, u and r, sum, p), end of the solver, summary. The left and right halo are one cell of
 * each row: 32 rows are 32 places, for n > 509 each on its own page.
 *
 * Footprint: 14 fields of 8 (n + 4)^2 bytes and the partial sums. The benchmarks' sizes are n = 250 to 4000
 * (the largest: 1.8 GB). Allen & Ge 2021 give none; without prefetching they count 1,193,619 faults (table
 * I). */
#include <stdlib.h>

#include "gather.h"

enum { N, ITERATIONS, STEPS, CLEAR };

enum field { VOLUME, DENSITY, ENERGY0, ENERGY1, U, U0, Z, P, R, W, MI, KX, KY, SD, SUMS, FIELDS };
static const char *const field_name[FIELDS] = {
        "volume",   "density",  "energy0",   "energy1",   "u",         "u0",        "vector_z",  "vector_p",
        "vector_r", "vector_w", "vector_Mi", "vector_Kx", "vector_Ky", "vector_sd", "reduce_buf"};

#define DOUBLE_BYTES 8u
#define HALO         2u
#define WARP         32u
#define BLOCK_ROWS   4u   /* thread blocks of 32 x 4 */
#define CHUNK        512u /* bytes of one warp where an array is walked from front to back */
#define CHUNK_WARPS  8u

/* A row of 32 cells, `y` rows below the warp's and `left` and `right` cells longer. */
struct operand {
	uint8_t field, left, right;
	int8_t y;
};
#define LOADS_MAX  8u
#define STORES_MAX 5u

enum shape { FILL, CELLS, SUM, FACE_Y, FACE_X };

struct kernel {
	const char *name;
	enum shape shape;
	uint32_t flops; /* of one cell */
	uint8_t loads, stores;
	bool has_sum;
	struct operand load[LOADS_MAX], store[STORES_MAX];
};

/* clang-format off */
static const struct kernel fill = {"memset", FILL, 0, 0, 0, false, {{0}}, {{0}}};
static const struct kernel sum = {"reduce", SUM, 4, 0, 0, false, {{0}}, {{0}}};
static const struct kernel first[] = {
	{"initialise_chunk", CELLS, 1, 0, 1, false, {{0}}, {{VOLUME, 0, 0, 0}}},
	{"generate_chunk", CELLS, 8, 0, 2, false, {{0}}, {{DENSITY, 0, 0, 0}, {ENERGY0, 0, 0, 0}}},
};
static const struct kernel before[] = {
	{"set_field", CELLS, 0, 1, 1, false, {{ENERGY0, 0, 0, 0}}, {{ENERGY1, 0, 0, 0}}},
	{"init_common", CELLS, 9, 3, 4, false,
	 {{DENSITY, 1, 0, 0}, {DENSITY, 0, 0, -1}, {ENERGY1, 0, 0, 0}},
	 {{KX, 0, 0, 0}, {KY, 0, 0, 0}, {U0, 0, 0, 0}, {U, 0, 0, 0}}},
	{"calc_residual", CELLS, 14, 7, 1, false,
	 {{U, 1, 1, 0}, {U, 0, 0, -1}, {U, 0, 0, 1}, {KX, 0, 1, 0}, {KY, 0, 0, 0}, {KY, 0, 0, 1},
	  {U0, 0, 0, 0}},
	 {{R, 0, 0, 0}}},
	{"cg_init_p", CELLS, 2, 1, 1, true, {{R, 0, 0, 0}}, {{P, 0, 0, 0}}},
};
/* The halo of p: y is the row or column that is copied, 0 the first and 1 the last one. */
static const struct kernel halo[] = {
	{"halo_bottom", FACE_Y, 0, 1, 1, false, {{P, 0, 0, 0}}, {{P, 0, 0, 0}}},
	{"halo_top", FACE_Y, 0, 1, 1, false, {{P, 0, 0, 1}}, {{P, 0, 0, 1}}},
	{"halo_left", FACE_X, 0, 1, 1, false, {{P, 0, 0, 0}}, {{P, 0, 0, 0}}},
	{"halo_right", FACE_X, 0, 1, 1, false, {{P, 0, 0, 1}}, {{P, 0, 0, 1}}},
};
static const struct kernel calc_w = {"cg_calc_w", CELLS, 15, 6, 1, true,
	{{P, 1, 1, 0}, {P, 0, 0, -1}, {P, 0, 0, 1}, {KX, 0, 1, 0}, {KY, 0, 0, 0}, {KY, 0, 0, 1}},
	{{W, 0, 0, 0}}};
static const struct kernel calc_ur = {"cg_calc_ur", CELLS, 6, 4, 2, true,
	{{U, 0, 0, 0}, {P, 0, 0, 0}, {R, 0, 0, 0}, {W, 0, 0, 0}},
	{{U, 0, 0, 0}, {R, 0, 0, 0}}};
static const struct kernel calc_p = {"cg_calc_p", CELLS, 2, 2, 1, false,
	{{P, 0, 0, 0}, {R, 0, 0, 0}},
	{{P, 0, 0, 0}}};
static const struct kernel after[] = {
	{"finalise", CELLS, 1, 2, 1, false, {{U, 0, 0, 0}, {DENSITY, 0, 0, 0}}, {{ENERGY1, 0, 0, 0}}},
	{"field_summary", CELLS, 6, 4, 0, true,
	 {{VOLUME, 0, 0, 0}, {DENSITY, 0, 0, 0}, {ENERGY1, 0, 0, 0}, {U, 0, 0, 0}}, {{0}}},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum {
	FIRST = COUNT(first),
	BEFORE = COUNT(before) + 1, /* the scalar product of the last one is summed */
	ITERATION = COUNT(halo) + 5,
	AFTER = COUNT(after) + 1
};

struct tealeaf {
	const struct kernel *kernel;
	unsigned filled; /* FILL: which field */
	uint64_t blocks_x, blocks_y;
};

/* -- layout -- */

static uint64_t pitch_of(const struct workload *workload)
{
	return workload->value[N] + 2 * HALO;
}

/* Columns and rows count from the first inner cell; the halo is before it. */
static uint64_t address_of(const struct workload *workload, unsigned field, int64_t column, int64_t row)
{
	uint64_t x = (uint64_t)(column + (int64_t)HALO), y = (uint64_t)(row + (int64_t)HALO);

	return workload->range[field].base + (y * pitch_of(workload) + x) * DOUBLE_BYTES;
}

static bool tealeaf_open(struct workload *workload)
{
	struct tealeaf *tealeaf = calloc(1, sizeof(*tealeaf));

	if (tealeaf == NULL)
		return false;
	workload->state = tealeaf;
	tealeaf->blocks_x = workload_ceil_div(pitch_of(workload), WARP);
	tealeaf->blocks_y = workload_ceil_div(pitch_of(workload), BLOCK_ROWS);
	for (unsigned field = 0; field < FIELDS; field++) {
		uint64_t elements = field == SUMS ? tealeaf->blocks_x * tealeaf->blocks_y
		                                  : pitch_of(workload) * pitch_of(workload);

		if (workload->value[CLEAR] || field == SUMS)
			workload_add_fresh(workload, field_name[field], elements * DOUBLE_BYTES);
		else
			workload_add_range(workload, field_name[field], elements * DOUBLE_BYTES);
	}
	return true;
}

static void tealeaf_close(struct workload *workload)
{
	free(workload->state);
}

/* -- the sequence of kernels -- */

static const struct kernel *iteration_kernel(uint64_t index)
{
	static const struct kernel *const behind[] = {&calc_w, &sum, &calc_ur, &sum, &calc_p};

	return index < COUNT(halo) ? &halo[index] : behind[index - COUNT(halo)];
}

/* Kernel `index` of the run; NULL behind the last one. */
static const struct kernel *kernel_of(struct workload *workload, uint64_t index)
{
	struct tealeaf *tealeaf = workload->state;
	uint64_t solver = workload->value[ITERATIONS] * ITERATION, step = BEFORE + solver + AFTER;
	uint64_t fills = workload->value[CLEAR] ? FIELDS : 0;

	if (index < fills) {
		tealeaf->filled = (unsigned)index;
		return &fill;
	}
	index -= fills;
	if (index < FIRST)
		return &first[index];
	index -= FIRST;
	if (index / step == workload->value[STEPS])
		return NULL;
	index %= step;
	if (index < BEFORE)
		return index < COUNT(before) ? &before[index] : &sum;
	index -= BEFORE;
	if (index < solver)
		return iteration_kernel(index % ITERATION);
	index -= solver;
	return index < COUNT(after) ? &after[index] : &sum;
}

static bool tealeaf_launch(struct workload *workload)
{
	struct tealeaf *tealeaf = workload->state;

	tealeaf->kernel = kernel_of(workload, workload->kernels_done);
	if (tealeaf->kernel == NULL)
		return false;
	workload->kernel = tealeaf->kernel->name;
	switch (tealeaf->kernel->shape) {
	case FILL:
	case SUM:
		if (tealeaf->kernel->shape == SUM)
			tealeaf->filled = SUMS;
		workload->warps = CHUNK_WARPS;
		workload->blocks = workload_ceil_div(workload->range[tealeaf->filled].bytes,
		                                     (uint64_t)CHUNK * CHUNK_WARPS);
		break;
	case CELLS:
		workload->warps = BLOCK_ROWS;
		workload->blocks = tealeaf->blocks_x * tealeaf->blocks_y;
		break;
	case FACE_Y:
	case FACE_X:
		workload->warps = 1;
		workload->blocks = workload_ceil_div(workload->value[N], WARP);
		break;
	}
	return true;
}

/* -- what a warp does -- */

/* A piece of an array from front to back. */
static bool set_chunk(struct workload *workload, struct workload_slot *slot)
{
	const struct tealeaf *tealeaf = workload->state;
	const struct source_range *range = &workload->range[tealeaf->filled];
	uint64_t offset = (slot->block * CHUNK_WARPS + slot->warp) * CHUNK, rest;

	if (offset >= range->bytes || slot->step != 0)
		return false;
	slot->step = 1;
	rest = range->bytes - offset;
	workload_set_wide(slot, range->base + offset, rest < CHUNK ? rest : CHUNK,
	                  tealeaf->kernel->shape == FILL ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	slot->flops = tealeaf->kernel->flops * WARP;
	return true;
}

/* Cells column.. of the row, as many as the warp has. */
static void set_operands(struct workload *workload, struct workload_slot *slot, const struct operand *operand,
                         unsigned count, uint64_t column, uint64_t row, enum uvmp_access access)
{
	uint64_t cells = workload->value[N] - column;
	uint32_t lanes = 0;

	if (cells > WARP)
		cells = WARP;
	for (unsigned i = 0; i < count; i++)
		lanes = gather_run(slot, lanes,
		                   address_of(workload, operand[i].field, (int64_t)column - operand[i].left,
		                              (int64_t)row + operand[i].y),
		                   (operand[i].left + cells + operand[i].right) * DOUBLE_BYTES);
	workload_set_lanes(slot, lanes, DOUBLE_BYTES, access);
}

/* Loads, stores, and the first warp of the thread block its partial sum. Thread blocks that lie in the halo
 * have nothing but that. */
static bool set_cells(struct workload *workload, struct workload_slot *slot)
{
	const struct tealeaf *tealeaf = workload->state;
	const struct kernel *kernel = tealeaf->kernel;
	uint64_t block_y = slot->block / tealeaf->blocks_x,
	         block_x = slot->block - block_y * tealeaf->blocks_x;
	uint64_t column = block_x * WARP, row = block_y * BLOCK_ROWS + slot->warp;
	bool is_inside = column < workload->value[N] && row < workload->value[N];

	if (slot->step == 0) {
		slot->step = 1;
		if (is_inside && kernel->loads > 0) {
			set_operands(workload, slot, kernel->load, kernel->loads, column, row,
			             UVMP_ACCESS_READ);
			slot->flops = kernel->flops * WARP;
			return true;
		}
	}
	if (slot->step == 1) {
		slot->step = 2;
		if (is_inside && kernel->stores > 0) {
			set_operands(workload, slot, kernel->store, kernel->stores, column, row,
			             UVMP_ACCESS_WRITE);
			slot->goes_on = kernel->has_sum && slot->warp == 0;
			return true;
		}
	}
	if (slot->step == 3 || !kernel->has_sum || slot->warp != 0)
		return false;
	slot->step = 3;
	workload_set_wide(slot, workload->range[SUMS].base + slot->block * DOUBLE_BYTES, DOUBLE_BYTES,
	                  UVMP_ACCESS_WRITE);
	return true;
}

/* 32 cells of an edge row to the halo row beside it, or of an edge column to the halo column. */
static bool set_face(struct workload *workload, struct workload_slot *slot)
{
	const struct kernel *kernel = ((const struct tealeaf *)workload->state)->kernel;
	uint64_t first_cell = slot->block * WARP, n = workload->value[N];
	bool is_store = slot->step == 1, is_last = kernel->load[0].y == 1;
	int64_t edge = is_last ? (int64_t)n - 1 + is_store : -(int64_t)is_store;
	unsigned field = kernel->load[0].field;
	enum uvmp_access access = is_store ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ;
	uint32_t lanes = 0;

	if (slot->step == 2)
		return false;
	slot->step++;
	if (kernel->shape == FACE_Y) {
		const struct operand row = {.field = (uint8_t)field};

		set_operands(workload, slot, &row, 1, first_cell, (uint64_t)edge, access);
		return true;
	}
	for (; lanes < WARP && first_cell + lanes < n; lanes++)
		slot->lane[lanes] = address_of(workload, field, edge, (int64_t)(first_cell + lanes));
	workload_set_lanes(slot, lanes, DOUBLE_BYTES, access);
	return true;
}

static bool tealeaf_span(struct workload *workload, struct workload_slot *slot)
{
	switch (((const struct tealeaf *)workload->state)->kernel->shape) {
	case FILL:
	case SUM:
		return set_chunk(workload, slot);
	case CELLS:
		return set_cells(workload, slot);
	case FACE_Y:
	case FACE_X:
		break;
	}
	return set_face(workload, slot);
}

const struct workload_type workload_tealeaf = {
        .name = "tealeaf",
        .summary = "TeaLeaf: heat conduction by conjugate gradients, 2-D five-point stencil",
        .param = {{"n", "cells along each side; the benchmarks: 250 to 4000", 1, 1 << 17, 1536, false},
                  {"iterations", "of the solver, each step", 1, 1000000, 5, false},
                  {"steps", "time steps", 1, 1000000, 1, false},
                  {"clear", "1: the program clears its fields on the GPU first, 0: it does not", 0, 1, 1,
                   false},
                  WORKLOAD_AGENTS},
        .open = tealeaf_open,
        .close = tealeaf_close,
        .launch = tealeaf_launch,
        .span = tealeaf_span,
};
