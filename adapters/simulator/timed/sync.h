/* sync.h: a device synchronisation of UVM Smart [uvmsmart: device-synchronisation]: pages that kernels have written return
 * to the CPU, which frees the GPU's memory for later pages. NVIDIA's driver does not do so; a model says so with
 * sync_frees.
 *
 * Clean pages stay, as in the original, but still count as used (quirk [uvmsmart: clean-pages-uncounted] of the original:
 * there they are not counted, so that more can be resident than fits into memory). */
#ifndef UVMSIM_SYNC_H
#define UVMSIM_SYNC_H

#include "../space.h"

/* Where a walk over all written pages is; it begins with zeros. */
struct sync {
	size_t range;
	uint64_t block;
	uint32_t page;
};

/* The next run of pages of a block that are resident on the GPU and written, in the order of addresses; false: no more. */
bool sync_next(const struct space *space, struct sync *sync, uint64_t *address, uint64_t *bytes);

#endif
