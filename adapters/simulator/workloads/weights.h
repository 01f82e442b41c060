/* weights.h: kernels that read matrices from one end to the other, as the product of a matrix and a few
 * vectors does: each thread block reads a tile of them, each of its warps a quarter of the tile. */
#ifndef UVMSIM_WEIGHTS_H
#define UVMSIM_WEIGHTS_H

#include "gather.h"
#include "workload.h"

#define WEIGHTS_WARPS 4u
/* The parameter. The default is a row or two of a matrix. */
#define WEIGHTS_TILE                                                                                         \
	{                                                                                                    \
		"tile", "bytes of weights that one thread block reads", 512, 64 << 20, 16 << 10, true        \
	}

/* Thread blocks for a matrix; at least one, because each kernel has one. */
static inline uint64_t weights_blocks(uint64_t bytes, uint64_t tile)
{
	return bytes != 0 ? workload_ceil_div(bytes, tile) : 1;
}

/* The next step of a warp of a thread block that reads or writes [at, at + bytes), up to 32 pages at once;
 * `flops` for each byte. False: the warp is done. */
static inline bool weights_step(struct workload_slot *slot, uint64_t at, uint64_t bytes, uint64_t flops,
				enum uvmp_access access)
{
	uint64_t quarter = workload_ceil_div(bytes, WEIGHTS_WARPS);
	uint64_t first = slot->warp * quarter, end = first + quarter < bytes ? first + quarter : bytes;
	uint64_t count = (WORKLOAD_LANES - 1) * WORKLOAD_PAGE;

	first += slot->step++ * count;
	if (first >= end)
		return false;
	if (count > end - first)
		count = end - first;
	workload_set_wide(slot, at + first, count, access);
	slot->flops = count * flops < UINT32_MAX ? (uint32_t)(count * flops) : UINT32_MAX;
	return true;
}

/* The same for the slot's thread block, of those that read the matrix [at, at + bytes). */
static inline bool weights_read(struct workload_slot *slot, uint64_t block, uint64_t at, uint64_t bytes,
				uint64_t tile, uint64_t flops)
{
	uint64_t first = block * tile, count = tile;

	if (first >= bytes)
		return false;
	if (count > bytes - first)
		count = bytes - first;
	return weights_step(slot, at + first, count, flops, UVMP_ACCESS_READ);
}

/* As a product with many vectors loads a matrix (llama.cpp's mul_mat_q): the rows of a thread block's tile are dealt
 * to its 8 warps in turn, and each warp issues the loads of `loads` of its rows together. */
#define WEIGHTS_ROW_WARPS 8u
#define WEIGHTS_LOADS	  16u /* the most: rows of at most a page have two lanes each */
struct weights_rows {
	uint64_t tile, row, loads; /* bytes, bytes, rows */
};

static inline bool weights_read_rows(struct workload_slot *slot, uint64_t block, uint64_t at, uint64_t bytes,
				     const struct weights_rows *rows, uint64_t flops)
{
	uint64_t first = block * rows->tile, end = first + rows->tile, loaded = 0;
	uint32_t lanes = 0;

	if (end > bytes)
		end = bytes;
	first += (slot->step++ * rows->loads * WEIGHTS_ROW_WARPS + slot->warp) * rows->row;
	for (uint64_t i = 0; i < rows->loads && first < end; i++) {
		uint64_t size = end - first < rows->row ? end - first : rows->row;

		lanes = gather_run(slot, lanes, at + first, size);
		loaded += size;
		first += WEIGHTS_ROW_WARPS * rows->row;
	}
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, 4, UVMP_ACCESS_READ);
	slot->flops = loaded * flops < UINT32_MAX ? (uint32_t)(loaded * flops) : UINT32_MAX;
	return true;
}

#endif
