/* The two streaming kernels of the NVIDIA blog 2017 (Sakharnykh), which read or write each element of ptr
 * once.
 *
 * stream_thread, thread by thread: thread t of the grid accesses elements t, t + threads, t + 2 * threads,
 * ..., so that a warp's 32 threads share a page with the warps beside them. stream_warp, warp by warp: warp w
 * of the grid accesses the pieces w, w + warps, w + 2 * warps, ... of 64 KiB, alone, 32 elements at a time.
 * The reading version of both adds up what it reads and at its end stores one element per thread to output.
 * nvcc (13.0, sm_75) does not unroll the loop of stream_thread: each load is needed before the next is issued. It
 * unrolls that of stream_warp, whose source asks for it, and issues four to six loads before the first is needed.
 *
 * The CPU has written ptr. The blog compares three ways to the GPU (`move`): on demand, as the kernel touches
 * it; a prefetch of all of it before the kernel, in the same stream; or no managed memory at all, but an
 * explicit copy of pinned memory to memory of the GPU, and the kernel on that.
 *
 * The blog does not give the shape of the grid. The default fills a Tesla P100: 56 SMs of 2048 threads, with
 * thread blocks as large as those of the blog's other kernel (1024 threads). Nor does it say where output
 * lies; that its profile counts 64 MB for 64 MB of input means that output is not managed memory, which is
 * the default here. */
#include "words.h"

enum { BYTES, TYPE_BYTES, GRID, BLOCK, WRITE, OUTPUT, MOVE, UNROLL };

enum move { DEMAND, PREFETCH, COPY, MOVES };
static const char *const moves[] = {"demand", "prefetch", "copy", NULL};

#define PIECE_BYTES 65536u
#define STREAM      0u

static enum move move_of(const struct workload *workload)
{
	return (enum move)words_find(workload, MOVE, moves);
}

static bool stores_output(const struct workload *workload)
{
	return !workload->value[WRITE] && workload->value[OUTPUT];
}

static const char *stream_thread_check(const struct workload *workload)
{
	return move_of(workload) == MOVES ? "move is not demand, prefetch or copy" : NULL;
}

static const char *stream_warp_check(const struct workload *workload)
{
	if (workload->value[BLOCK] % WORKLOAD_LANES != 0)
		return "block is not a multiple of 32";
	return stream_thread_check(workload);
}

static bool stream_open(struct workload *workload)
{
	if (move_of(workload) == COPY)
		workload_add_device(workload, "ptr", workload->value[BYTES]);
	else
		workload_add_range(workload, "ptr", workload->value[BYTES]);
	if (stores_output(workload))
		workload_add_fresh(workload, "output",
		                   workload->value[GRID] * workload->value[BLOCK] *
		                           workload->value[TYPE_BYTES]);
	return true;
}

/* The item before the kernel, if there is one; then the kernel, after it in the same stream. */
static bool stream_launch(struct workload *workload)
{
	enum move move = move_of(workload);

	if (move == PREFETCH && workload->ops == 0) {
		workload_set_prefetch(workload, workload->range[0].base, workload->range[0].bytes, true,
		                      STREAM);
		return true;
	}
	if (move == COPY && workload->ops == 0) {
		workload_set_copy(workload, workload->value[BYTES], true, STREAM);
		return true;
	}
	workload->kernel = workload->type->name;
	workload->blocks = workload->value[GRID];
	workload->warps = (uint32_t)workload_ceil_div(workload->value[BLOCK], WORKLOAD_LANES);
	return workload->kernels_done == 0;
}

/* -- thread by thread -- */

/* Steps: one of the warp's loads or stores each, of which `unroll` are issued together; slot->row is 1 when
 * output has been stored. */
static bool stream_thread_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t size = workload->value[TYPE_BYTES], block = workload->value[BLOCK];
	uint64_t elements = workload->value[BYTES] / size;
	uint64_t lane = (uint64_t)slot->warp * WORKLOAD_LANES, thread = slot->block * block + lane;
	uint64_t lanes = block - lane < WORKLOAD_LANES ? block - lane : WORKLOAD_LANES;
	uint64_t stride = workload->value[GRID] * block, first = thread + slot->step * stride;

	if (first < elements) {
		bool is_next = stride < elements - first;

		if (lanes > elements - first)
			lanes = elements - first;
		slot->step++;
		workload_set_wide(slot, workload->range[0].base + first * size, lanes * size,
		                  workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		slot->flops = workload->value[WRITE] ? 0 : (uint32_t)lanes;
		slot->goes_on = is_next && slot->step % workload->value[UNROLL] != 0;
		return true;
	}
	if (slot->row++ != 0 || !stores_output(workload))
		return false;
	workload_set_wide(slot, workload->range[1].base + thread * size, lanes * size, UVMP_ACCESS_WRITE);
	return true;
}

/* -- warp by warp -- */

/* What is left of the piece from byte `at` on, cut off where the last iterations that are issued together on
 * the page end: they alone may ask for the next page, too. */
static uint64_t bytes_of_step(const struct workload *workload, uint64_t first, uint64_t at)
{
	uint64_t size = workload->value[TYPE_BYTES],
	         together = workload->value[UNROLL] * WORKLOAD_LANES * size;
	uint64_t end = first + PIECE_BYTES / size / WORKLOAD_LANES * WORKLOAD_LANES * size;
	uint64_t all = workload->value[BYTES] / size * size,
	         page_end = (at / WORKLOAD_PAGE + 1) * WORKLOAD_PAGE;
	uint64_t step_end = first + workload_ceil_div(page_end - first, together) * together;

	if (end > all)
		end = all;
	if (at >= end)
		return 0;
	return end < step_end ? end - at : step_end - at;
}

/* Steps: the warp's pieces; slot->row is the bytes done of the one in hand, own[0] is 1 when output has been
 * stored. */
static bool stream_warp_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t size = workload->value[TYPE_BYTES], warps = workload->value[BLOCK] / WORKLOAD_LANES;
	uint64_t warp = slot->block * warps + slot->warp;

	for (;; slot->step++, slot->row = 0) {
		uint64_t piece = warp + slot->step * workload->value[GRID] * warps;
		uint64_t first = piece * PIECE_BYTES / size * size, bytes;

		if (piece >= workload_ceil_div(workload->value[BYTES], PIECE_BYTES))
			break;
		bytes = bytes_of_step(workload, first, first + slot->row);
		if (bytes == 0)
			continue;
		workload_set_wide(slot, workload->range[0].base + first + slot->row, bytes,
		                  workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		slot->flops = workload->value[WRITE] ? 0 : (uint32_t)(bytes / size);
		slot->row += bytes;
		return true;
	}
	if (slot->own[0]++ != 0 || !stores_output(workload))
		return false;
	workload_set_wide(slot, workload->range[1].base + warp * WORKLOAD_LANES * size, WORKLOAD_LANES * size,
	                  UVMP_ACCESS_WRITE);
	return true;
}

/* -- types -- */

/* The block of stream_warp is a multiple of 32. */
#define PARAMS(least_block, block_summary, together, unroll_summary)                                         \
	{                                                                                                    \
		{"bytes", "size of ptr", 16, (uint64_t)1 << 40, 256 << 20, true},                             \
		        {"type_bytes", "size of an element", 1, 16, 4, false},                               \
		        {"grid", "thread blocks", 1, 1 << 20, 112, false},                                   \
		        {"block", block_summary, least_block, 1024, 1024, false},                            \
		        {"write", "0 loads, 1 stores", 0, 1, 0, false},                                      \
		        {"output", "1: the sums go to managed memory, too", 0, 1, 0, false},                 \
		        {"move", "migration of ptr to the GPU: demand, prefetch or copy", 0, WORKLOAD_TEXT, 0,  \
		         false},                                                                             \
		        {"unroll", unroll_summary, 1, 8, together, false},                                   \
		        WORKLOAD_AGENTS                                                                      \
	}

const struct workload_type workload_stream_thread = {
        .name = "stream_thread",
        .summary = "neighbouring threads read neighbouring elements, grid after grid (NVIDIA blog 2017)",
        .param = PARAMS(1, "threads of a thread block", 1, "loads (stores) issued together; nvcc does not unroll the loop"),
        .check = stream_thread_check,
        .open = stream_open,
        .launch = stream_launch,
        .span = stream_thread_step,
};

const struct workload_type workload_stream_warp = {
        .name = "stream_warp",
        .summary = "each warp reads pieces of 64 KiB alone (NVIDIA blog 2017)",
        .param = PARAMS(32, "threads of a thread block, a multiple of 32", 4,
                        "loads (stores) issued together; 4 to 6 where nvcc unrolls the loop"),
        .check = stream_warp_check,
        .open = stream_open,
        .launch = stream_launch,
        .span = stream_warp_step,
};
