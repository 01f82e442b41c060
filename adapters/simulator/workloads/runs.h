/* Several runs of bytes that a warp asks for with one load or store: rows of a tile, halves of a warp. */
#ifndef UVMSIM_RUNS_H
#define UVMSIM_RUNS_H

#include "workload.h"

/* The slot's first `runs` addresses (1..16), in lane[], start runs of `bytes` each, of 4-byte elements and
 * not longer than a page. Where one goes on into another page, only the elements on which runs begin and end
 * stand in lane[], which are enough to touch all pages. */
static inline void runs_set(struct workload_slot *slot, uint32_t runs, uint32_t bytes,
                            enum uvmp_access access)
{
	uint32_t lanes = runs;

	for (uint32_t i = 0; i < runs; i++) {
		uint64_t last = slot->lane[i] + bytes - 4u;

		if (last / WORKLOAD_PAGE != slot->lane[i] / WORKLOAD_PAGE)
			slot->lane[lanes++] = last;
	}
	workload_set_lanes(slot, lanes, lanes == runs ? bytes : 4u, access);
}

/* Elements [at, end) of an array of 4 bytes an element, all at once. */
static inline void runs_set_one(struct workload_slot *slot, uint64_t base, uint64_t at, uint64_t end,
                                enum uvmp_access access)
{
	workload_set_wide(slot, base + at * 4u, (end - at) * 4u, access);
}

#endif
