/* sync.h: a device synchronisation of UVM Smart [uvmsmart: device-synchronisation]: what the GPU's kernels
 * have written goes back to the CPU, which frees the GPU's memory for what comes next. The driver does not do
 * that; models say so with sync_frees.
 *
 * Clean pages stay, as they do in the original, but go on counting as used (its quirk
 * [uvmsmart: clean-pages-uncounted]: there nothing counts them any more, so that more can be resident than
 * there is memory). */
#ifndef UVMSIM_SYNC_H
#define UVMSIM_SYNC_H

#include "../space.h"

/* Where a walk over all written pages is; it begins with zeros. */
struct sync {
	size_t range;
	uint64_t block;
	uint32_t page;
};

/* The next run of pages of a block that the GPU has and has written; false: there is none. In the order of addresses. */
bool sync_next(const struct space *space, struct sync *sync, uint64_t *address, uint64_t *bytes);

#endif
