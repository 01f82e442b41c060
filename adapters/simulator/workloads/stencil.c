/* Five-point Jacobi stencil over n x n floats: each iteration computes the inner cells of one array from the
 * other, then the arrays change roles. A thread block computes one tile x tile square: it loads the rows of
 * its cells with one cell more on each side (the corners are not needed) into shared memory, then stores its
 * rows. Neither loads nor stores wait for each other. */
#include "workload.h"

enum { N, TILE, ITERATIONS };

#define FLOAT_BYTES 4u

static bool stencil_open(struct workload *workload)
{
	uint64_t bytes = workload->value[N] * workload->value[N] * FLOAT_BYTES;

	workload_add_range(workload, "even", bytes);
	workload_add_range(workload, "odd", bytes);
	return true;
}

/* Squares along one side of the inner cells, 1..n-2. */
static uint64_t tiles_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[N] - 2, workload->value[TILE]);
}

static bool stencil_launch(struct workload *workload)
{
	workload->kernel = "jacobi";
	workload->blocks = tiles_of(workload) * tiles_of(workload);
	return workload->kernels_done < workload->value[ITERATIONS];
}

/* One past the last cell of the square that starts at `first`. */
static uint64_t end_of(const struct workload *workload, uint64_t first)
{
	uint64_t inner_end = workload->value[N] - 1;

	return inner_end - first < workload->value[TILE] ? inner_end : first + workload->value[TILE];
}

/* Steps: 0 loads, 1 stores; slot->row counts the rows of each. */
static bool stencil_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t n = workload->value[N], tiles = tiles_of(workload);
	uint64_t top = 1 + slot->block / tiles * workload->value[TILE], bottom = end_of(workload, top);
	uint64_t left = 1 + slot->block % tiles * workload->value[TILE], right = end_of(workload, left);
	bool is_store = slot->step == 1;
	/* loads start one row above the square and end one below */
	uint64_t y = is_store ? top + slot->row : top - 1 + slot->row;
	uint64_t last = is_store ? bottom - 1 : bottom;
	unsigned array = (workload->kernels_done + slot->step) % 2;

	if (slot->step == 2)
		return false;
	if (!is_store && y >= top && y < bottom) {
		left--;
		right++;
	}
	workload_set_wide(slot, workload->range[array].base + (y * n + left) * FLOAT_BYTES,
	                  (right - left) * FLOAT_BYTES, is_store ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	slot->goes_on = y != last;
	slot->row++;
	if (y == last) {
		slot->row = 0;
		slot->step++;
	}
	return true;
}

const struct workload_type workload_stencil = {
        .name = "stencil",
        .summary = "2-D five-point Jacobi iteration over n x n floats, two arrays",
        .param = {{"n", "rows and columns", 3, 1 << 18, 5792, false},
                  {"tile", "rows and columns that one thread block computes", 1, 1024, 32, false},
                  {"iterations", "kernels", 1, 1000000, 4, false},
                  WORKLOAD_AGENTS},
        .open = stencil_open,
        .launch = stencil_launch,
        .span = stencil_span,
};
