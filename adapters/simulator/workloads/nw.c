/* Needleman-Wunsch of Rodinia: alignment of two sequences of n elements by dynamic programming, as a program
 * of managed memory (UVM Smart). Two matrices of (n + 1)^2 integers: the similarities (`reference`) and the
 * scores (`itemsets`), whose first row and column are given.
 *
 * The scores are computed in tiles of 16 x 16, one kernel per anti-diagonal of tiles: n / 16 kernels of 1, 2,
 * 3, ... thread blocks, then as many less one back to 1 block. A block is 16 threads, half a warp: it loads
 * the score left above and its 16 x 16 similarities (17 loads that do not wait for each other), behind a
 * barrier each the column on the left and the row above, computes 31 anti-diagonals in shared memory, and
 * stores its rows.
 *
 * The CPU clears and fills the scores, then the similarities but for their first row. At the end it walks
 * back from the last score but one to the first: at each step it looks at the three scores before and at the
 * similarity. Where it goes depends on the sequences, which are not modelled: here it keeps to the diagonal.
 *
 * n=1024 is the published run of 127 kernels; n=2048 that of the page counts (8200 pages: 4101 of the scores,
 * and of the similarities, whose first row is not used, 4099). */
#include "cpu.h"
#include "runs.h"

enum { N, CPU };
enum { REFERENCE, ITEMSETS };

#define SIDE      16u
#define INT_BYTES 4u

/* Instructions of a warp, counted in what nvcc makes of the kernels (PTX): of all loads; of the 31 anti-diagonals. The only
 * warp of a thread block waits at no barrier. */
#define LOAD_CODE      90u
#define DIAGONALS_CODE 440u

static const char *nw_check(const struct workload *workload)
{
	return workload->value[N] % SIDE != 0 ? "n is not a multiple of 16" : NULL;
}

static bool nw_open(struct workload *workload)
{
	uint64_t side = workload->value[N] + 1, cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "reference", side * side * INT_BYTES);
	cpu_add_input(workload, cpu, "itemsets", side * side * INT_BYTES);
	return true;
}

/* Elements [first, first + count) of a matrix. */
static bool use_elements(struct workload *workload, unsigned range, uint64_t first, uint64_t count,
                         enum uvmp_access access)
{
	workload_set_cpu(workload, workload->range[range].base + first * INT_BYTES, count * INT_BYTES,
	                 access);
	return true;
}

/* The walk back: the scores above, the one on the left, the similarity; then the same one step up the
 * diagonal. */
static bool trace_back(struct workload *workload, uint64_t at)
{
	uint64_t side = workload->value[N] + 1, step = at / 3, here;

	if (workload->value[CPU] == CPU_NONE || step >= workload->value[N] - 1)
		return false;
	here = (workload->value[N] - 1 - step) * (side + 1);
	if (at % 3 == 0)
		return use_elements(workload, ITEMSETS, here - side - 1, 2, UVMP_ACCESS_READ);
	return use_elements(workload, at % 3 == 1 ? ITEMSETS : REFERENCE, at % 3 == 1 ? here - 1 : here, 1,
	                    UVMP_ACCESS_READ);
}

static bool nw_launch(struct workload *workload)
{
	static const struct cpu_use scores = {ITEMSETS, UVMP_ACCESS_WRITE, 0};
	uint64_t tiles = workload->value[N] / SIDE, diagonal = workload->kernels_done;
	uint64_t at = workload->ops, cpu = workload->value[CPU], side = workload->value[N] + 1;
	bool is_growing = diagonal < tiles;

	if (cpu_inputs(workload, cpu, &at, &scores, 1))
		return true;
	if (cpu == CPU_WRITES_INPUTS && cpu_is_within(&at, 1))
		return use_elements(workload, REFERENCE, side + 1, side * side - side - 1, UVMP_ACCESS_WRITE);
	if (!cpu_is_within(&at, 2 * tiles - 1))
		return trace_back(workload, at);
	workload->kernel = is_growing ? "needle_cuda_shared_1" : "needle_cuda_shared_2";
	workload->blocks = is_growing ? diagonal + 1 : 2 * tiles - 1 - diagonal;
	return true;
}

/* `bytes` of the row at element `first` and of the 15 rows below. */
static void set_rows(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t first,
                     uint32_t bytes, enum uvmp_access access)
{
	uint64_t stride = (workload->value[N] + 1) * INT_BYTES;

	for (uint32_t row = 0; row < SIDE; row++)
		slot->lane[row] = workload->range[range].base + first * INT_BYTES + row * stride;
	runs_set(slot, SIDE, bytes, access);
}

static bool nw_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t tiles = workload->value[N] / SIDE, diagonal = workload->kernels_done,
	         side = tiles * SIDE + 1;
	uint64_t tile_x = diagonal < tiles ? slot->block : slot->block + diagonal + 1 - tiles;
	uint64_t tile_y = diagonal - tile_x;
	uint64_t corner = tile_y * SIDE * side + tile_x * SIDE; /* the score left above the tile */
	uint64_t scores = workload->range[ITEMSETS].base, first = corner + side + 1;

	switch (slot->step++) {
	case 0:
		return workload_set_code(slot, LOAD_CODE, 0, false);
	case 1:
		runs_set_one(slot, scores, corner, corner + 1, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 2:
		set_rows(workload, slot, REFERENCE, first, SIDE * INT_BYTES, UVMP_ACCESS_READ);
		return true;
	case 3:
		set_rows(workload, slot, ITEMSETS, first - 1, INT_BYTES, UVMP_ACCESS_READ);
		return true;
	case 4:
		runs_set_one(slot, scores, corner + 1, corner + 1 + SIDE, UVMP_ACCESS_READ);
		/* 31 anti-diagonals of 5 operations; threads without a cell wait */
		slot->flops = (2 * SIDE - 1) * 5 * WORKLOAD_LANES;
		return true;
	case 5:
		return workload_set_code(slot, DIAGONALS_CODE, 0, false);
	case 6:
		set_rows(workload, slot, ITEMSETS, first, SIDE * INT_BYTES, UVMP_ACCESS_WRITE);
		return true;
	default:
		return false;
	}
}

const struct workload_type workload_nw = {
        .name = "nw",
        .summary = "Rodinia: Needleman-Wunsch alignment in anti-diagonals of tiles; published runs: n=1024, "
                   "2048",
        .param = {{"n", "elements of a sequence, a multiple of 16", 16, 262144, 5776, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .check = nw_check,
        .open = nw_open,
        .launch = nw_launch,
        .span = nw_span,
};
