/* cuBLAS-like SGEMM, C = op(A) * op(B) over n x n floats, all three in column-major order (Allen & Ge 2021,
 * up to n = 47,660).
 *
 * A thread block of 256 threads (8 warps) computes a tile x tile square of C (128 x 128) in k-steps of
 * `depth` (8). Each k-step loads depth x tile elements of each operand into shared memory, all warps
 * together. Which pages that are depends on how the operand lies in memory.
 *
 * Across: the tile's side is the fast index (A as it is, B transposed). A k-step is `depth` runs of tile * 4
 * = 512 bytes, each in another column, so each on another page; warp w loads the runs w, w + 8, ...
 *
 * Along: k is the fast index (A transposed, B as it is). A k-step is `tile` runs of depth * 4 = 32 bytes,
 * each in another column. The next k-steps go on in the same pages, up to 1024 / 8 = 128 times. A warp asks
 * for its share of the columns again only every `panel` elements along k: with panel=8 at each k-step, as the
 * hardware does; with more the same pages with fewer rows.
 *
 * What a warp loads in a k-step it asks for without waiting in between. At the end each warp stores its
 * columns of the square, which do not wait for each other either. C is only written (beta = 0).
 *
 * Order: thread blocks are numbered down the columns of C (grid x runs along the rows of op(A), as in cuBLAS
 * and CUTLASS without swizzle), and dealt in that order; raster=1 numbers them along the rows of C instead.
 *
 * B transposed is the default. The paper does not say how it calls the library, but its table II does: what
 * is evicted soars when A and B together no longer fit beside a little of C (n = 38,444), and at n = 33,836
 * it is 5100 blocks of 2 MiB, some 600 that do not fit and about twice the 2184 of A. That takes an order in
 * which each column of squares passes over every block of A and of B while C is written from front to back,
 * which is this one. With transb=0 only A is passed over again and again, and evictions stay below the
 * footprint.
 *
 * Footprint: 12 n^2 bytes. Sizes of table II: n = 29228, 30764, 32300, 33836, 35372, 36908, 38444, 47660. The
 * rows are 2 n^3 / tile^2: larger squares and fewer agents in proportion (tile=512, panel=1024, agents=320)
 * make them quick in nearly the same order of blocks. */
#include "gather.h"

enum { N, TILE, DEPTH, PANEL, RASTER, TRANS_A, TRANS_B };
enum { A, B, C };

#define FLOAT_BYTES 4u
#define WARPS       8u
#define RUNS        16u /* of one step: each adds two lanes at most */

/* A square of C, cut off at the edge, and a warp's share of a run of rows or columns. */
struct run {
	uint64_t first, count;
};
struct square {
	struct run rows, columns;
};

static bool sgemm_open(struct workload *workload)
{
	uint64_t bytes = workload->value[N] * workload->value[N] * FLOAT_BYTES;

	workload_add_range(workload, "A", bytes);
	workload_add_range(workload, "B", bytes);
	workload_add_fresh(workload, "C", bytes);
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
	workload->warps = WARPS;
	return workload->kernels_done == 0;
}

static struct run side_of(const struct workload *workload, uint64_t index)
{
	uint64_t first = index * workload->value[TILE], rest = workload->value[N] - first;

	return (struct run){first, rest < workload->value[TILE] ? rest : workload->value[TILE]};
}

static struct square square_of(const struct workload *workload, uint64_t block)
{
	uint64_t tiles = tiles_of(workload), slow = block / tiles, fast = block - slow * tiles;
	bool is_by_rows = workload->value[RASTER] != 0;

	return (struct square){side_of(workload, is_by_rows ? slow : fast),
	                       side_of(workload, is_by_rows ? fast : slow)};
}

/* The warp's part of a side: equal parts of the whole square's, what lies beyond the edge is missing. */
static struct run share_of(const struct workload *workload, const struct workload_slot *slot, struct run side)
{
	uint64_t part = workload_ceil_div(workload->value[TILE], WARPS), skip = slot->warp * part;

	if (skip >= side.count)
		return (struct run){side.first, 0};
	side.first += skip;
	side.count -= skip;
	if (side.count > part)
		side.count = part;
	return side;
}

static uint64_t address_of(const struct workload *workload, unsigned matrix, uint64_t fast, uint64_t slow)
{
	return workload->range[matrix].base + (slow * workload->value[N] + fast) * FLOAT_BYTES;
}

static bool is_along(const struct workload *workload, unsigned matrix)
{
	return matrix == A ? workload->value[TRANS_A] != 0 : workload->value[TRANS_B] == 0;
}

/* What the warp computes in `count` elements along k. */
static uint32_t flops_of(const struct square *square, uint64_t count)
{
	return (uint32_t)(2 * square->rows.count * square->columns.count * count / WARPS);
}

/* The next up to 16 columns of the operands that lie along k; slot->row counts them. False: all are
 * requested. More loads follow in the k-step if the warp has columns left or something across. */
static bool set_along(struct workload *workload, struct workload_slot *slot, const struct square *square,
                      bool has_across)
{
	uint64_t k = slot->step, rest = workload->value[N] - k, done = slot->row;
	uint64_t count = rest < workload->value[PANEL] ? rest : workload->value[PANEL];

	for (unsigned matrix = A; matrix <= B; matrix++) {
		struct run share = share_of(workload, slot, matrix == A ? square->rows : square->columns);
		uint32_t lanes = 0;

		if (!is_along(workload, matrix))
			continue;
		if (done >= share.count) {
			done -= share.count;
			continue;
		}
		for (unsigned i = 0; i < RUNS && done < share.count; i++, done++, slot->row++)
			lanes = gather_run(slot, lanes, address_of(workload, matrix, k, share.first + done),
			                   count * FLOAT_BYTES);
		workload_set_lanes(slot, lanes, FLOAT_BYTES, UVMP_ACCESS_READ);
		slot->goes_on = has_across || done < share.count;
		if (matrix == B && done == share.count && is_along(workload, A))
			slot->flops = flops_of(square, count); /* no step of another kind follows */
		return true;
	}
	return false;
}

/* Row or column k of the operands that lie across k. */
static void set_across(struct workload *workload, struct workload_slot *slot, const struct square *square,
                       uint64_t k)
{
	uint32_t lanes = 0;

	if (!is_along(workload, A))
		lanes = gather_run(slot, lanes, address_of(workload, A, square->rows.first, k),
		                   square->rows.count * FLOAT_BYTES);
	if (!is_along(workload, B))
		lanes = gather_run(slot, lanes, address_of(workload, B, square->columns.first, k),
		                   square->columns.count * FLOAT_BYTES);
	workload_set_lanes(slot, lanes, FLOAT_BYTES, UVMP_ACCESS_READ);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* slot->step is the first k of the k-step, own[0] the first of which the operands along k have not been asked
 * for: a k-step ends there at the latest. */
static bool sgemm_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t n = workload->value[N];
	bool is_any_across = !is_along(workload, A) || !is_along(workload, B);
	struct square square = square_of(workload, slot->block);
	struct run share;

	while (slot->step < n) {
		uint64_t panel_end = least(slot->own[0] + workload->value[PANEL], n);
		uint64_t end, k = slot->step + slot->row * WARPS + slot->warp;

		if (slot->step == slot->own[0]) {
			end = least(slot->step + workload->value[DEPTH], panel_end);
			if (set_along(workload, slot, &square,
			              is_any_across && slot->step + slot->warp < end))
				return true;
			slot->own[0] = panel_end;
			slot->row = 0;
			if (!is_any_across)
				slot->step = slot->own[0];
			continue;
		}
		end = least(slot->step + workload->value[DEPTH], slot->own[0]);
		if (k < end) {
			set_across(workload, slot, &square, k);
			slot->goes_on = k + WARPS < end;
			if (slot->row++ == 0)
				slot->flops = flops_of(&square, end - slot->step);
			return true;
		}
		slot->step = end;
		slot->row = 0;
	}
	share = share_of(workload, slot, square.columns);
	if (slot->row == share.count)
		return false;
	workload_set_wide(slot, address_of(workload, C, square.rows.first, share.first + slot->row),
	                  square.rows.count * FLOAT_BYTES, UVMP_ACCESS_WRITE);
	slot->goes_on = ++slot->row < share.count;
	return true;
}

const struct workload_type workload_sgemm = {
        .name = "sgemm",
        .summary = "cuBLAS-like matrix product C = A * B of n x n floats, column-major",
        .param = {{"n", "rows and columns of each matrix; published runs have 29228 to 47660", 1, 1 << 18, 4608, false},
                  {"tile", "rows and columns of C that one thread block computes", 1, 1024, 128, false},
                  {"depth", "elements along k of one step", 1, 64, 8, false},
                  {"panel", "elements along k after which a thread block loads an operand along k again", 1, 1024, 64,
                   false},
                  {"raster", "0 thread blocks run down the columns of C, 1 along the rows", 0, 1, 0, false},
                  {"transa", "1: A is given transposed", 0, 1, 0, false},
                  {"transb", "1: B is given transposed", 0, 1, 1, false},
                  WORKLOAD_AGENTS},
        .open = sgemm_open,
        .launch = sgemm_launch,
        .span = sgemm_span,
};
