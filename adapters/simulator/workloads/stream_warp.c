/* Streaming, warp by warp: the kernel stream_warp of the NVIDIA blog 2017 (Sakharnykh). Warp w of the grid
 * accesses the pieces w, w + warps, w + 2 * warps, ... of 64 KiB of ptr, alone, 32 elements at a time. Shape
 * of the grid and output as in stream_thread.c. */
#include "workload.h"

enum { BYTES, TYPE_BYTES, GRID, BLOCK, WRITE, OUTPUT };

#define PIECE_BYTES 65536u

static bool stores_output(const struct workload *workload)
{
	return !workload->value[WRITE] && workload->value[OUTPUT];
}

static const char *stream_warp_check(const struct workload *workload)
{
	return workload->value[BLOCK] % WORKLOAD_LANES != 0 ? "block is not a multiple of 32" : NULL;
}

static bool stream_warp_open(struct workload *workload)
{
	workload_add_range(workload, "ptr", workload->value[BYTES]);
	if (stores_output(workload))
		workload_add_range(workload, "output",
		                   workload->value[GRID] * workload->value[BLOCK] *
		                           workload->value[TYPE_BYTES]);
	return true;
}

static bool stream_warp_launch(struct workload *workload)
{
	workload->kernel = "stream_warp";
	workload->blocks = workload->value[GRID];
	workload->warps = (uint32_t)(workload->value[BLOCK] / WORKLOAD_LANES);
	return workload->kernels_done == 0;
}

/* What is left of the piece from byte `at` on, cut off at the end of the page: the loads of a page in one
 * step. */
static uint64_t bytes_on_page(const struct workload *workload, uint64_t first, uint64_t at)
{
	uint64_t size = workload->value[TYPE_BYTES];
	uint64_t end = first + PIECE_BYTES / size / WORKLOAD_LANES * WORKLOAD_LANES * size;
	uint64_t all = workload->value[BYTES] / size * size,
	         page_end = (at / WORKLOAD_PAGE + 1) * WORKLOAD_PAGE;

	if (end > all)
		end = all;
	if (at >= end)
		return 0;
	return end < page_end ? end - at : page_end - at;
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
		bytes = bytes_on_page(workload, first, first + slot->row);
		if (bytes == 0)
			continue;
		workload_set_span(slot, workload->range[0].base + first + slot->row, bytes,
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

const struct workload_type workload_stream_warp = {
        .name = "stream_warp",
        .summary = "each warp reads pieces of 64 KiB alone (NVIDIA blog 2017)",
        .param = {{"bytes", "size of ptr", 16, (uint64_t)1 << 40, 64 << 20, true},
                  {"type_bytes", "size of an element", 1, 16, 4, false},
                  {"grid", "thread blocks", 1, 1 << 20, 112, false},
                  {"block", "threads of a thread block, a multiple of 32", 32, 1024, 1024, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  {"output", "1: the sums go to managed memory, too", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .check = stream_warp_check,
        .open = stream_warp_open,
        .launch = stream_warp_launch,
        .span = stream_warp_step,
};
