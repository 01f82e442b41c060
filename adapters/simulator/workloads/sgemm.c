/* Tiled SGEMM, C = A * B over n x n floats in row-major order. A thread block computes one tile x tile square
 * of C: along k it loads a square of A and a square of B into shared memory, row by row, and stores its rows
 * of C at the end. Squares at the right and lower edge are cut off. Thread blocks are numbered along the rows
 * of C. */
#include "workload.h"

enum { N, TILE };
enum { A, B, C };

#define FLOAT_BYTES 4u

static bool sgemm_open(struct workload *workload)
{
	uint64_t bytes = workload->value[N] * workload->value[N] * FLOAT_BYTES;

	workload_add_range(workload, "A", bytes);
	workload_add_range(workload, "B", bytes);
	workload_add_range(workload, "C", bytes);
	return true;
}

static uint64_t tiles_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[N], workload->value[TILE]);
}

static bool sgemm_launch(struct workload *workload)
{
	workload->kernel = "sgemm";
	workload->blocks = tiles_of(workload) * tiles_of(workload);
	return workload->kernels_done == 0;
}

/* Length of the tile that starts at `first`. */
static uint64_t extent_of(const struct workload *workload, uint64_t first)
{
	uint64_t rest = workload->value[N] - first;

	return rest < workload->value[TILE] ? rest : workload->value[TILE];
}

static void set_tile_row(struct workload *workload, struct workload_slot *slot, unsigned matrix,
                         uint64_t first_row, uint64_t first_column)
{
	uint64_t element = (first_row + slot->row) * workload->value[N] + first_column;

	workload_set_span(slot, workload->range[matrix].base + element * FLOAT_BYTES,
	                  extent_of(workload, first_column) * FLOAT_BYTES,
	                  matrix == C ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
}

/* Steps: 2k loads the k-th square of A, 2k + 1 that of B, the last one stores C. */
static bool sgemm_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t tile = workload->value[TILE], tiles = tiles_of(workload);
	uint64_t row = slot->block / tiles * tile, column = slot->block % tiles * tile;
	uint64_t k, rows;

	if (slot->step > 2 * tiles)
		return false;
	k = slot->step / 2 * tile;
	if (slot->step == 2 * tiles) {
		set_tile_row(workload, slot, C, row, column);
		rows = extent_of(workload, row);
	} else if (slot->step % 2 == 0) {
		set_tile_row(workload, slot, A, row, k);
		rows = extent_of(workload, row);
	} else {
		set_tile_row(workload, slot, B, k, column);
		rows = extent_of(workload, k);
	}
	if (++slot->row == rows) {
		slot->row = 0;
		slot->step++;
	}
	return true;
}

const struct workload_type workload_sgemm = {
        .name = "sgemm",
        .summary = "tiled matrix product C = A * B of n x n floats",
        .param = {{"n", "rows and columns", 1, 1 << 18, 2048, false},
                  {"tile", "rows and columns of C that one thread block computes", 1, 1024, 128, false},
                  WORKLOAD_AGENTS},
        .open = sgemm_open,
        .launch = sgemm_launch,
        .span = sgemm_span,
};
