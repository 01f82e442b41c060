/* gather.h: what one warp loads or stores by a few instructions that do not wait for each other, put together
 * as the lanes of one step. Page accesses are all that counts, so a run of bytes needs one lane on each of its
 * pages. */
#ifndef UVMSIM_GATHER_H
#define UVMSIM_GATHER_H

#include "workload.h"

/* Adds a run of bytes (at least 1) behind the first `lanes` lanes and returns how many there are now. The
 * caller sees to it that they are not more than WORKLOAD_LANES: a run of at most 4096 bytes adds at most 2. */
static inline uint32_t gather_run(struct workload_slot *slot, uint32_t lanes, uint64_t at, uint64_t bytes)
{
	uint64_t last = (at + bytes - 1) / WORKLOAD_PAGE;

	slot->lane[lanes++] = at;
	for (uint64_t page = at / WORKLOAD_PAGE + 1; page <= last; page++)
		slot->lane[lanes++] = page * WORKLOAD_PAGE;
	return lanes;
}

#endif
