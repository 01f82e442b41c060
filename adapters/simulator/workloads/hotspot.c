/* HotSpot of Rodinia: temperatures of a chip of n x n cells by finite differences, as a program of managed
 * memory (UVM Smart; SAND2022-1528, table 4-1). A kernel advances `pyramid_height` time steps, the last one
 * of what is left of sim_time; the two temperature arrays change roles.
 *
 * A thread block of 16 x 16 threads loads a tile of temperatures and powers to shared memory; with each time
 * step the cells whose neighbours are known become fewer by one on each side, and those that are left are
 * stored. The two loads do not wait for each other. Tiles overlap so that what is stored covers the grid; the
 * grid of blocks is that of the full pyramid height also for a last kernel of fewer steps, as in Rodinia. A
 * warp is two rows of a tile.
 *
 * The CPU reads temperatures and powers from files and writes the temperatures of the end to one; between the
 * kernels it does nothing.
 *
 * n=512,pyramid_height=2,sim_time=2 is the published access stream (768 pages, 112816 accesses of 128-byte
 * lines), n=1024,pyramid_height=2,sim_time=8 the run on the GTX 1080 Ti (4 kernels, 86 x 86 blocks), and
 * n=30,pyramid_height=6,sim_time=40 the one of SAND2022-1528. */
#include "cpu.h"
#include "runs.h"

enum { N, PYRAMID_HEIGHT, SIM_TIME, CPU };
enum { TEMPERATURE0, TEMPERATURE1, POWER };

#define SIDE        16
#define FLOAT_BYTES 4u
#define CELL_FLOPS  15u /* of one cell in one time step */

/* Instructions of a warp, counted in what nvcc makes of the kernel (PTX), a division as ten: up to the loads, and from
 * the barrier behind them to the first time step; a time step. The constant 2.0 makes most of a time step fp64: six
 * operations and six conversions. */
#define LOAD_CODE    35u
#define SETUP_CODE   90u
#define STEP_CODE    45u
#define STEP_DOUBLES 12u

static bool hotspot_open(struct workload *workload)
{
	uint64_t bytes = workload->value[N] * workload->value[N] * FLOAT_BYTES, cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "temperature0", bytes);
	workload_add_fresh(workload, "temperature1", bytes);
	cpu_add_input(workload, cpu, "power", bytes);
	return true;
}

/* Thread blocks along one side. */
static uint64_t blocks_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[N], SIDE - 2 * workload->value[PYRAMID_HEIGHT]);
}

static bool hotspot_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {{TEMPERATURE0, UVMP_ACCESS_WRITE, 0},
	                                        {POWER, UVMP_ACCESS_WRITE, 0}};
	uint64_t kernels = workload_ceil_div(workload->value[SIM_TIME], workload->value[PYRAMID_HEIGHT]);
	uint64_t at = workload->ops, cpu = workload->value[CPU];

	if (cpu_inputs(workload, cpu, &at, inputs, 2))
		return true;
	if (!cpu_is_within(&at, kernels))
		return cpu_result(workload, cpu, at, TEMPERATURE0 + (unsigned)(kernels % 2));
	workload->kernel = "calculate_temp";
	workload->blocks = blocks_of(workload) * blocks_of(workload);
	workload->warps = SIDE * SIDE / WORKLOAD_LANES;
	return true;
}

/* Time steps of the kernel that runs. */
static int64_t time_steps(const struct workload *workload)
{
	uint64_t height = workload->value[PYRAMID_HEIGHT];
	uint64_t left = workload->value[SIM_TIME] - workload->kernels_done * height;

	return (int64_t)(left < height ? left : height);
}

/* The warp's cells in rows and columns margin..15 - margin of its tile that lie on the grid; false when there
 * are none. */
static bool set_cells(struct workload *workload, struct workload_slot *slot, unsigned range, int64_t margin,
                      enum uvmp_access access)
{
	int64_t n = (int64_t)workload->value[N], stride = SIDE - 2 * time_steps(workload);
	int64_t border = (int64_t)workload->value[PYRAMID_HEIGHT], blocks = (int64_t)blocks_of(workload);
	int64_t top = (int64_t)slot->block / blocks * stride - border;
	int64_t left = (int64_t)slot->block % blocks * stride - border;
	int64_t x = left + margin, end = left + SIDE - margin;
	uint32_t runs = 0;

	if (x < 0)
		x = 0;
	if (end > n)
		end = n;
	for (int64_t row = 2 * (int64_t)slot->warp; row < 2 * (int64_t)slot->warp + 2; row++) {
		int64_t y = top + row;

		if (row >= margin && row < SIDE - margin && y >= 0 && y < n && x < end)
			slot->lane[runs++] =
			        workload->range[range].base + (uint64_t)(y * n + x) * FLOAT_BYTES;
	}
	if (runs == 0)
		return false;
	runs_set(slot, runs, (uint32_t)(end - x) * FLOAT_BYTES, access);
	return true;
}

/* Does a thread of the warp compute in a time step? Its cells need neighbours on each side. */
static bool computes(const struct workload_slot *slot, uint64_t step)
{
	return 2u * slot->warp >= step && 2u * slot->warp + step < SIDE - 1;
}

/* Time step `step`, and the barrier behind it. */
static bool compute(struct workload_slot *slot, uint64_t step)
{
	uint16_t before = step == 0 ? SETUP_CODE : 0;

	return workload_set_code(slot, before + STEP_CODE, computes(slot, step) ? STEP_DOUBLES : 0, true);
}

/* A warp that stores has loaded, and the other warps of its thread block have, too. */
static bool hotspot_span(struct workload *workload, struct workload_slot *slot)
{
	unsigned from = (unsigned)(workload->kernels_done % 2);

	switch (slot->step++) {
	case 0:
		return workload_set_code(slot, LOAD_CODE, 0, false);
	case 1:
		return set_cells(workload, slot, TEMPERATURE0 + from, 0, UVMP_ACCESS_READ) &&
		       workload_go_on(slot);
	case 2:
		if (!set_cells(workload, slot, POWER, 0, UVMP_ACCESS_READ))
			return false;
		/* threads without a cell wait for the others of their warp */
		slot->flops = WORKLOAD_LANES * CELL_FLOPS * (uint32_t)time_steps(workload);
		return true;
	case 3:
		return workload_set_code(slot, 0, 0, true);
	case 4:
		slot->step = slot->row + 1u < (uint64_t)time_steps(workload) ? 4 : 5;
		return compute(slot, slot->row++);
	case 5:
		return set_cells(workload, slot, TEMPERATURE1 - from, time_steps(workload),
		                 UVMP_ACCESS_WRITE);
	default:
		return false;
	}
}

const struct workload_type workload_hotspot = {
        .name = "hotspot",
        .summary = "Rodinia: temperatures of a chip, a pyramid of time steps per kernel; published runs: 512 "
                   "2 2, "
                   "1024 2 8",
        .param = {{"n", "rows and columns of the grid", 1, 262144, 4720, false},
                  {"pyramid_height", "time steps of one kernel", 1, 7, 2, false},
                  {"sim_time", "time steps", 1, 1000000, 2, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = hotspot_open,
        .launch = hotspot_launch,
        .span = hotspot_span,
};
