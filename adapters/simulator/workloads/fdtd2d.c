/* FDTD-2D of PolyBench/GPU: finite differences in the time domain, two electric and one magnetic field on a
 * grid of nx x ny floats, as a program of managed memory (UVM Smart). Three kernels per time step update ey,
 * ex and hz; ex has one column more and ey one row more than hz. Thread blocks of 32 x 8 threads: a warp is
 * 32 cells of one row. What a cell's update reads is loaded without waiting in between.
 *
 * The CPU writes the source and the fields, but of ex and ey only as many cells as hz has, and prints every
 * 1000th cell of hz, so that it reads all of its pages.
 *
 * nx=1200,ny=1200,tmax=5 are the published logs. */
#include "cpu.h"
#include "runs.h"

enum { NX, NY, TMAX, CPU };
enum { FICT, EX, EY, HZ };

#define BLOCK_ROWS  8u
#define FLOAT_BYTES 4u

static bool fdtd2d_open(struct workload *workload)
{
	uint64_t nx = workload->value[NX], ny = workload->value[NY], cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "fict", workload->value[TMAX] * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "ex", nx * (ny + 1) * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "ey", (nx + 1) * ny * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "hz", nx * ny * FLOAT_BYTES);
	return true;
}

static bool fdtd2d_launch(struct workload *workload)
{
	static const char *const name[] = {"fdtd_step1", "fdtd_step2", "fdtd_step3"};
	uint64_t at = workload->ops, cpu = workload->value[CPU];
	uint64_t bytes = workload->value[NX] * workload->value[NY] * FLOAT_BYTES;
	const struct cpu_use inputs[] = {{FICT, UVMP_ACCESS_WRITE, 0},
	                                 {EX, UVMP_ACCESS_WRITE, bytes},
	                                 {EY, UVMP_ACCESS_WRITE, bytes},
	                                 {HZ, UVMP_ACCESS_WRITE, 0}};

	if (cpu_inputs(workload, cpu, &at, inputs, 4))
		return true;
	if (!cpu_is_within(&at, 3 * workload->value[TMAX]))
		return cpu_result(workload, cpu, at, HZ);
	workload->kernel = name[workload->kernels_done % 3];
	workload->blocks = workload_ceil_div(workload->value[NX], BLOCK_ROWS) *
	                   workload_ceil_div(workload->value[NY], WORKLOAD_LANES);
	workload->warps = BLOCK_ROWS;
	return true;
}

static bool set_cells(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t first,
                      uint64_t count, enum uvmp_access access)
{
	runs_set_one(slot, workload->range[range].base, first, first + count, access);
	return true;
}

/* The cells j..j + count - 1 of row i. ey -= (hz - hz of the row before) / 2; row 0 is the source. */
static bool update_ey(struct workload *workload, struct workload_slot *slot, uint64_t i, uint64_t j,
                      uint64_t count)
{
	uint64_t at = i * workload->value[NY] + j;

	if (i == 0 && slot->step < 3) {
		slot->step = 3;
		return set_cells(workload, slot, FICT, workload->kernels_done / 3, 1, UVMP_ACCESS_READ);
	}
	switch (slot->step++) {
	case 0:
		return set_cells(workload, slot, EY, at, count, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 1:
		return set_cells(workload, slot, HZ, at, count, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 2:
		set_cells(workload, slot, HZ, at - workload->value[NY], count, UVMP_ACCESS_READ);
		slot->flops = 3 * WORKLOAD_LANES;
		return true;
	case 3:
		return set_cells(workload, slot, EY, at, count, UVMP_ACCESS_WRITE);
	default:
		return false;
	}
}

/* ex -= (hz - hz of the column before) / 2, but in column 0. */
static bool update_ex(struct workload *workload, struct workload_slot *slot, uint64_t i, uint64_t j,
                      uint64_t count)
{
	uint64_t ex = i * (workload->value[NY] + 1) + j, hz = i * workload->value[NY] + j;

	if (j == 0) {
		ex++;
		hz++;
		count--;
	}
	if (count == 0)
		return false;
	switch (slot->step++) {
	case 0:
		return set_cells(workload, slot, EX, ex, count, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 1: /* two loads, shifted by one */
		set_cells(workload, slot, HZ, hz - 1, count + 1, UVMP_ACCESS_READ);
		slot->flops = 3 * WORKLOAD_LANES;
		return true;
	case 2:
		return set_cells(workload, slot, EX, ex, count, UVMP_ACCESS_WRITE);
	default:
		return false;
	}
}

/* hz -= 0.7 * (difference of ex along the row + difference of ey along the column). */
static bool update_hz(struct workload *workload, struct workload_slot *slot, uint64_t i, uint64_t j,
                      uint64_t count)
{
	uint64_t at = i * workload->value[NY] + j;

	switch (slot->step++) {
	case 0:
		return set_cells(workload, slot, HZ, at, count, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 1:
		return set_cells(workload, slot, EX, at + i, count + 1, UVMP_ACCESS_READ) &&
		       workload_go_on(slot);
	case 2:
		return set_cells(workload, slot, EY, at + workload->value[NY], count, UVMP_ACCESS_READ) &&
		       workload_go_on(slot);
	case 3:
		set_cells(workload, slot, EY, at, count, UVMP_ACCESS_READ);
		slot->flops = 5 * WORKLOAD_LANES;
		return true;
	case 4:
		return set_cells(workload, slot, HZ, at, count, UVMP_ACCESS_WRITE);
	default:
		return false;
	}
}

static bool fdtd2d_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t blocks_x = workload_ceil_div(workload->value[NY], WORKLOAD_LANES);
	uint64_t i = slot->block / blocks_x * BLOCK_ROWS + slot->warp;
	uint64_t j = slot->block % blocks_x * WORKLOAD_LANES, count = workload->value[NY] - j;

	if (i >= workload->value[NX])
		return false;
	if (count > WORKLOAD_LANES)
		count = WORKLOAD_LANES;
	switch (workload->kernels_done % 3) {
	case 0:
		return update_ey(workload, slot, i, j, count);
	case 1:
		return update_ex(workload, slot, i, j, count);
	default:
		return update_hz(workload, slot, i, j, count);
	}
}

const struct workload_type workload_fdtd2d = {
        .name = "fdtd2d",
        .summary = "PolyBench/GPU: finite differences in the time domain in 2D; published run: 1200 1200 5",
        .param = {{"nx", "rows", 1, 131072, 4720, false},
                  {"ny", "columns", 1, 131072, 4720, false},
                  {"tmax", "time steps of three kernels", 1, 1000000, 1, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = fdtd2d_open,
        .launch = fdtd2d_launch,
        .span = fdtd2d_span,
};
