/* ATAX of PolyBench/GPU: y = A^T * (A * x) for a matrix of nx x ny floats, as a program of managed memory
 * (UVM Smart). Two kernels, thread blocks of 256 threads in a row. In the first one a thread has one row of
 * A, so that the 32 threads of a warp walk down 32 rows side by side; in the second one it has a column, so
 * that a warp reads 32 cells of a row after the other. Both add up in memory, which is stored in each
 * iteration.
 *
 * Neither waits between the loads of an iteration, only before its store.
 *
 * A step of the first kernel is what a warp does with one 128-byte line of each of its rows of A (up to 32
 * iterations): the line stays in the L1 cache from its first use to its last. The same holds for the 128-byte
 * lines of x and tmp.
 *
 * The CPU writes x and A and prints y; what tmp and y hold at first are the zeros of fresh memory.
 *
 * nx=1200,ny=1200 are the published logs. */
#include "cpu.h"
#include "runs.h"

enum { NX, NY, CPU };
enum { A, X, Y, TMP };

#define THREADS     256u
#define LINE        128u
#define FLOAT_BYTES 4u
#define LINE_FLOATS (LINE / FLOAT_BYTES)

static bool atax_open(struct workload *workload)
{
	uint64_t nx = workload->value[NX], ny = workload->value[NY], cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "a", nx * ny * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "x", ny * FLOAT_BYTES);
	workload_add_fresh(workload, "y", ny * FLOAT_BYTES);
	workload_add_fresh(workload, "tmp", nx * FLOAT_BYTES);
	return true;
}

static bool atax_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {{X, UVMP_ACCESS_WRITE, 0}, {A, UVMP_ACCESS_WRITE, 0}};
	uint64_t threads = workload->value[workload->kernels_done == 0 ? NX : NY];
	uint64_t at = workload->ops, cpu = workload->value[CPU];

	if (cpu_inputs(workload, cpu, &at, inputs, 2))
		return true;
	if (!cpu_is_within(&at, 2))
		return cpu_result(workload, cpu, at, Y);
	workload->kernel = workload->kernels_done == 0 ? "atax_kernel1" : "atax_kernel2";
	workload->blocks = workload_ceil_div(threads, THREADS);
	workload->warps = THREADS / WORKLOAD_LANES;
	return true;
}

static bool set_floats(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t first,
                       uint64_t end, enum uvmp_access access)
{
	runs_set_one(slot, workload->range[range].base, first, end, access);
	return true;
}

/* Line slot->row of each of the rows [row, end) of A; false when no row has so many. */
static bool load_lines(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t end)
{
	uint64_t ny = workload->value[NY];
	uint32_t lanes = 0;

	for (; row < end; row++) {
		uint64_t line = row * ny / LINE_FLOATS + slot->row;

		if (line * LINE_FLOATS < (row + 1) * ny)
			slot->lane[lanes++] = workload->range[A].base + line * LINE;
	}
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, LINE, UVMP_ACCESS_READ);
	slot->flops = 2 * LINE_FLOATS * WORKLOAD_LANES;
	return true;
}

/* Columns of a step, as far as they are the same for all threads: those of line slot->row of x. */
static bool rows_span(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	uint64_t ny = workload->value[NY], column = slot->row * LINE_FLOATS;

	switch (slot->step) {
	case 0:
		slot->step = 1;
		return set_floats(workload, slot, TMP, first, end, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 1:
		slot->step = 2;
		if (column < ny)
			return set_floats(workload, slot, X, column,
			                  column + LINE_FLOATS < ny ? column + LINE_FLOATS : ny,
			                  UVMP_ACCESS_READ) &&
			       workload_go_on(slot);
		/* a row that does not begin on a line has one line more than x */
		/* fall through */
	case 2:
		slot->step = 3;
		return load_lines(workload, slot, first, end);
	default:
		slot->step = 1;
		slot->row++;
		return set_floats(workload, slot, TMP, first, end, UVMP_ACCESS_WRITE);
	}
}

/* Iteration slot->row: a row of A. */
static bool columns_span(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	uint64_t nx = workload->value[NX], row = slot->row;

	switch (slot->step) {
	case 0:
		slot->step = 1;
		return set_floats(workload, slot, Y, first, end, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 1:
		slot->step = 2;
		if (row == nx)
			return false;
		if (row % LINE_FLOATS == 0)
			return set_floats(workload, slot, TMP, row,
			                  row + LINE_FLOATS < nx ? row + LINE_FLOATS : nx,
			                  UVMP_ACCESS_READ) &&
			       workload_go_on(slot);
		/* fall through */
	case 2:
		slot->step = 3;
		set_floats(workload, slot, A, row * workload->value[NY] + first,
		           row * workload->value[NY] + end, UVMP_ACCESS_READ);
		slot->flops = 2 * WORKLOAD_LANES;
		return true;
	default:
		slot->step = 1;
		slot->row++;
		return set_floats(workload, slot, Y, first, end, UVMP_ACCESS_WRITE);
	}
}

static bool atax_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t threads = workload->value[workload->kernels_done == 0 ? NX : NY];
	uint64_t first = slot->block * THREADS + slot->warp * WORKLOAD_LANES, end = first + WORKLOAD_LANES;

	if (end > threads)
		end = threads;
	if (first >= end)
		return false;
	return workload->kernels_done == 0 ? rows_span(workload, slot, first, end)
	                                   : columns_span(workload, slot, first, end);
}

const struct workload_type workload_atax = {
        .name = "atax",
        .summary = "PolyBench/GPU: matrix transpose times matrix times vector; published run: 1200 1200",
        .param = {{"nx", "rows of the matrix", 1, 262144, 8176, false},
                  {"ny", "columns of the matrix", 1, 262144, 8176, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = atax_open,
        .launch = atax_launch,
        .span = atax_span,
};
