/* PathFinder of Rodinia: the cheapest way through a grid of `rows` x `cols` costs, from row to row by dynamic
 * programming, as a program of managed memory (UVM Smart; SAND2022-1528, table 4-1). The first row is the
 * first result, the others are the wall.
 *
 * A kernel advances `pyramid_height` rows: a thread block of 256 threads loads 256 results to shared memory,
 * then row by row, with a barrier in between, the costs of those cells whose three upper neighbours are
 * known, one cell fewer on each side each time, and stores the last row. Blocks overlap so that what is
 * stored covers the columns; their number is that of the full pyramid height also for a last kernel of fewer
 * rows, as in Rodinia.
 *
 * The CPU draws the grid and prints the last row's results.
 *
 * cols=100000,rows=100,pyramid_height=20 is the published run of the page counts (9864 pages; Rodinia's own
 * script), cols=1000,rows=20,pyramid_height=5 the one of SAND2022-1528. */
#include "cpu.h"
#include "runs.h"

enum { COLS, ROWS, PYRAMID_HEIGHT, CPU };
enum { RESULT0, RESULT1, WALL };

#define THREADS   256
#define INT_BYTES 4u

/* Instructions of a warp, counted in what nvcc makes of the kernel (PTX): up to the first load; of a row. */
#define LOAD_CODE 18u
#define ROW_CODE  45u

static bool pathfinder_open(struct workload *workload)
{
	uint64_t row = workload->value[COLS] * INT_BYTES, cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "result0", row);
	workload_add_fresh(workload, "result1", row);
	cpu_add_input(workload, cpu, "wall", row * (workload->value[ROWS] - 1));
	return true;
}

static bool pathfinder_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {{RESULT0, UVMP_ACCESS_WRITE, 0},
	                                        {WALL, UVMP_ACCESS_WRITE, 0}};
	uint64_t height = workload->value[PYRAMID_HEIGHT], at = workload->ops, cpu = workload->value[CPU];
	uint64_t kernels = workload_ceil_div(workload->value[ROWS] - 1, height);

	if (cpu_inputs(workload, cpu, &at, inputs, 2))
		return true;
	if (!cpu_is_within(&at, kernels))
		return cpu_result(workload, cpu, at, RESULT0 + (unsigned)(kernels % 2));
	workload->kernel = "dynproc_kernel";
	workload->blocks = workload_ceil_div(workload->value[COLS], THREADS - 2 * height);
	workload->warps = THREADS / WORKLOAD_LANES;
	return true;
}

/* The columns of the warp's threads in margin..255 - margin of the block; false when there are none. */
static bool set_columns(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t row,
                        int64_t steps, int64_t margin, enum uvmp_access access)
{
	int64_t cols = (int64_t)workload->value[COLS];
	int64_t left =
	        (int64_t)slot->block * (THREADS - 2 * steps) - (int64_t)workload->value[PYRAMID_HEIGHT];
	int64_t thread = (int64_t)slot->warp * WORKLOAD_LANES;
	int64_t x = left + (thread < margin ? margin : thread), end = left + THREADS - margin;

	if (end > left + thread + WORKLOAD_LANES)
		end = left + thread + WORKLOAD_LANES;
	if (end > cols)
		end = cols;
	if (x < 0)
		x = 0;
	if (x >= end)
		return false;
	runs_set_one(slot, workload->range[range].base, row * workload->value[COLS] + (uint64_t)x,
	             row * workload->value[COLS] + (uint64_t)end, access);
	return true;
}

/* The step behind the instructions and the barrier before it: 0 the results, 1..rows the costs, then the store. A warp at
 * the side of its block has nothing more to do from some row on. */
static bool use_memory(struct workload *workload, struct workload_slot *slot)
{
	uint64_t height = workload->value[PYRAMID_HEIGHT], first = workload->kernels_done * height;
	uint64_t left = workload->value[ROWS] - 1 - first, rows = left < height ? left : height;
	unsigned from = (unsigned)(workload->kernels_done % 2);
	uint64_t step = slot->step++;

	if (step == 0)
		return set_columns(workload, slot, RESULT0 + from, 0, (int64_t)rows, 0, UVMP_ACCESS_READ);
	if (step <= rows) {
		if (!set_columns(workload, slot, WALL, first + step - 1, (int64_t)rows, (int64_t)step,
		                 UVMP_ACCESS_READ))
			return false;
		slot->flops = 3 * WORKLOAD_LANES; /* two minima, one sum */
		return true;
	}
	return step == rows + 1 && set_columns(workload, slot, RESULT1 - from, 0, (int64_t)rows,
	                                       (int64_t)rows, UVMP_ACCESS_WRITE);
}

static bool pathfinder_span(struct workload *workload, struct workload_slot *slot)
{
	bool is_shown = slot->own[0] == slot->step + 1;

	slot->own[0] = slot->step + 1;
	if (!is_shown)
		return workload_set_code(slot, slot->step == 0 ? LOAD_CODE : ROW_CODE, 0, slot->step != 0);
	return use_memory(workload, slot);
}

const struct workload_type workload_pathfinder = {
        .name = "pathfinder",
        .summary =
                "Rodinia: cheapest way through a grid, row by row; published runs: 100000 100 20, 1000 20 5",
        .param = {{"cols", "columns", 1, 1 << 24, 1 << 20, false},
                  {"rows", "rows, the first one included", 2, 1 << 14, 64, false},
                  {"pyramid_height", "rows of one kernel", 1, 127, 20, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = pathfinder_open,
        .launch = pathfinder_launch,
        .span = pathfinder_span,
};
