/* The tiled pipeline of the NVIDIA blog 2017 (Sakharnykh; "Overlapping kernels and prefetches"): an array `a`
 * of 8-byte elements that the CPU has written goes through the GPU tile by tile. `kernels` kernels work on a
 * tile; the next tile is prefetched to the GPU and the last one back to the CPU. `order` says in which
 * streams:
 *
 * - single: one stream: prefetch to the GPU, kernels, prefetch to the CPU, tile after tile.
 * - naive: the blog's first listing: the last tile to the CPU in s1, the kernels in s2, the next tile to the
 *   GPU in s3, then wait for all. Nothing prefetches the first tile, and the last one stays. (The listing
 *   goes on to prefetch one tile behind the last one; this does not.)
 * - optimized: the second listing: kernels and then the same tile to the CPU in s1, which is busy, the next
 *   tile to the GPU in s2, which is idle. The thread waits for the tile and for the kernels on the one before
 *   by events; streams and events rotate.
 * - compute: the kernels of `single` alone, on memory of the GPU that is not managed.
 * - move: the prefetches of `single` alone.
 *
 * The blog's line "no overlap" is single, its ideal the longer one of compute and move.
 *
 * The kernel runs on a grid of 1024 x 1024 threads: thread t loads elements t, t + 2^20, ... of the tile,
 * computes `weight` operations on each, and stores it. (The blog does not show the body, a "dummy".) The
 * blog's figure 5 has 16 tiles of 256 MB and varies the weight. */
#include <stdlib.h>

#include "words.h"

enum { TILES, TILE, KERNELS, WEIGHT, ORDER };

enum order { SINGLE, NAIVE, OPTIMIZED, COMPUTE, MOVE, ORDERS };
static const char *const orders[] = {"single", "naive", "optimized", "compute", "move", NULL};

#define ELEMENT_BYTES 8u
#define BLOCKS        1024u
#define BLOCK_WARPS   32u
#define LOOP          ((uint64_t)BLOCKS * BLOCK_WARPS * WORKLOAD_LANES) /* elements of a step of all */

/* The program's streams s1, s2 and s3 (0 is the default one). */
enum { S1 = 1, STREAMS = 3 };

/* Where the program is: in an operation of the loop's iteration for a tile, or (tile: as many as there are)
 * behind the loop. */
struct place {
	uint64_t tile, step;
};

static enum order order_of(const struct workload *workload)
{
	return (enum order)words_find(workload, ORDER, orders);
}

static const char *tiles_check(const struct workload *workload)
{
	if (order_of(workload) == ORDERS)
		return "order is not single, naive, optimized, compute or move";
	if (workload->value[TILE] % WORKLOAD_PAGE != 0)
		return "tile is not a multiple of 4096";
	if (workload->value[TILES] * workload->value[TILE] > (uint64_t)1 << 40)
		return "all tiles together are larger than 1 TiB";
	return NULL;
}

static bool tiles_open(struct workload *workload)
{
	uint64_t bytes = workload->value[TILES] * workload->value[TILE];

	workload->state = calloc(1, sizeof(struct place));
	if (order_of(workload) == COMPUTE)
		workload_add_device(workload, "a", bytes);
	else
		workload_add_range(workload, "a", bytes);
	return workload->state != NULL;
}

static void tiles_close(struct workload *workload)
{
	free(workload->state);
}

/* -- operations: each of these sets one and is always true -- */

static bool prefetch(struct workload *workload, uint64_t tile, bool to_gpu, unsigned stream)
{
	workload_set_prefetch(workload, workload->range[0].base + tile * workload->value[TILE],
	                      workload->value[TILE], to_gpu, stream);
	return true;
}

static bool queue_kernel(struct workload *workload, uint64_t tile, unsigned stream)
{
	workload_set_queued(workload, stream);
	workload->kernel = "kernel";
	workload->blocks = BLOCKS;
	workload->warps = BLOCK_WARPS;
	workload->tag = tile;
	return true;
}

static bool synchronize(struct workload *workload, enum workload_op_kind kind, unsigned stream,
                        unsigned event)
{
	workload_set_sync(workload, kind, stream, event);
	return true;
}

static bool wait_all(struct workload *workload)
{
	return synchronize(workload, WORKLOAD_WAIT_ALL, 0, 0);
}

/* -- orders: each sets operation `step` of the iteration for a tile; false: it has no more -- */

/* Is it one of the next `count` operations? If not, *step goes behind them. */
static bool is_within(uint64_t *step, uint64_t count)
{
	if (*step < count)
		return true;
	*step -= count;
	return false;
}

static bool single(struct workload *workload, uint64_t tile, uint64_t step)
{
	uint64_t moves = order_of(workload) != COMPUTE, kernels = workload->value[KERNELS];

	if (is_within(&step, moves))
		return prefetch(workload, tile, true, S1);
	if (order_of(workload) != MOVE && is_within(&step, kernels))
		return queue_kernel(workload, tile, S1);
	return is_within(&step, moves) && prefetch(workload, tile, false, S1);
}

static bool naive(struct workload *workload, uint64_t tile, uint64_t step)
{
	if (is_within(&step, tile > 0))
		return prefetch(workload, tile - 1, false, S1);
	if (is_within(&step, workload->value[KERNELS]))
		return queue_kernel(workload, tile, S1 + 1);
	if (is_within(&step, tile + 1 < workload->value[TILES]))
		return prefetch(workload, tile + 1, true, S1 + 2);
	return is_within(&step, 1) && wait_all(workload);
}

/* At the end of an iteration s1, s2, s3 become s2, s3, s1, and the two events change places. */
static bool optimized(struct workload *workload, uint64_t tile, uint64_t step)
{
	unsigned s1 = S1 + (unsigned)(tile % STREAMS), s2 = S1 + (unsigned)((tile + 1) % STREAMS);
	unsigned e1 = (unsigned)(tile % 2), e2 = 1 - e1;
	uint64_t next = tile + 1;

	if (is_within(&step, tile == 0 ? 2 : 0)) /* before the loop */
		return step == 0 ? prefetch(workload, tile, true, s2)
		                 : synchronize(workload, WORKLOAD_RECORD, s2, e1);
	if (is_within(&step, 2)) /* the tile has come, the kernels on the last one have ended */
		return synchronize(workload, WORKLOAD_WAIT_EVENT, 0, step == 0 ? e1 : e2);
	if (is_within(&step, workload->value[KERNELS]))
		return queue_kernel(workload, tile, s1);
	if (is_within(&step, 1))
		return synchronize(workload, WORKLOAD_RECORD, s1, e1);
	if (next < workload->value[TILES] && is_within(&step, 3)) {
		if (step == 0)
			return synchronize(workload, WORKLOAD_WAIT_STREAM, s2, 0);
		return step == 1 ? prefetch(workload, next, true, s2)
		                 : synchronize(workload, WORKLOAD_RECORD, s2, e2);
	}
	return is_within(&step, 1) && prefetch(workload, tile, false, s1);
}

static bool tiles_launch(struct workload *workload)
{
	static bool (*const set[ORDERS])(struct workload *, uint64_t, uint64_t) = {single, naive, optimized,
	                                                                           single, single};
	struct place *place = workload->state;
	enum order order = order_of(workload);

	while (place->tile < workload->value[TILES]) {
		if (set[order](workload, place->tile, place->step++))
			return true;
		place->tile++;
		place->step = 0;
	}
	/* an iteration of naive ends with this */
	return order != NAIVE && place->step++ == 0 && wait_all(workload);
}

/* -- the kernel -- */

/* Steps: a load and a store, of 32 elements each, in turns. */
static bool tiles_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t elements = workload->value[TILE] / ELEMENT_BYTES; /* a multiple of 32 */
	uint64_t first = (slot->block * BLOCK_WARPS + slot->warp) * WORKLOAD_LANES + slot->step / 2 * LOOP;
	bool is_store = slot->step++ % 2 != 0;

	if (first >= elements)
		return false;
	workload_set_wide(
	        slot, workload->range[0].base + workload->tag * workload->value[TILE] + first * ELEMENT_BYTES,
	        WORKLOAD_LANES * ELEMENT_BYTES, is_store ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	slot->flops = is_store ? 0 : (uint32_t)workload->value[WEIGHT] * WORKLOAD_LANES;
	return true;
}

const struct workload_type workload_tiles = {
        .name = "tiles",
        .summary = "tiles prefetched to the GPU and back around their kernels, in streams (NVIDIA blog 2017)",
        .param = {{"tiles", "how many", 1, 1 << 20, 16, false},
                  {"tile", "size of a tile, a multiple of 4096", 4096, (uint64_t)1 << 36, 256 << 20, true},
                  {"kernels", "kernels on each tile", 1, 100000, 1, false},
                  {"weight", "operations on each element", 0, 10000000, 1, false},
                  {"order", "single (default), naive, optimized, compute or move", 0, WORKLOAD_TEXT, 0,
                   false},
                  WORKLOAD_AGENTS},
        .check = tiles_check,
        .open = tiles_open,
        .close = tiles_close,
        .launch = tiles_launch,
        .span = tiles_step,
};
