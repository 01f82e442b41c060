/* system.h: the system that all actors of a timed run share: the engine with its host, the GPU, the link,
 * and the memory and queues between them. */
#ifndef UVMSIM_SYSTEM_H
#define UVMSIM_SYSTEM_H

#include "../host.h"
#include "fault_buffer.h"
#include "gpu.h"
#include "group.h"
#include "link.h"
#include "reclaim.h"
#include "staged.h"
#include "timed.h"

#define SYSTEM_PUSHES                                                                                        \
	1024u /* copies that wait or run: entries of a channel of the driver, which waits for a free entry */

struct system {
	struct host host;
	const struct model *model;
	struct sim_times *times;
	struct gpu *gpu;
	struct link link;
	uint64_t *root_ns; /* per root: what was to leave it has left; 0: the GPU's allocator still has it */
	uint64_t cycle_ns;	/* cycle_batches: of the faults that wait in the buffer */
	uint32_t cached_roots;	/* got from the physical allocator and not used yet */
	struct reclaim reclaim; /* page-wise orders: pages do not wait for whole evictions */
	uint64_t backed_bytes;	/* page-wise orders: of the memory that was ever used, in whole roots */
	uint64_t push_ns[SYSTEM_PUSHES], pushes; /* when the last copies end; all copies */
	uint64_t zeroed_ns;			 /* the last pages that began as zeros have */
	struct fault_buffer buffer;		 /* faults that the engine has and has not fetched */
	struct group_order order;		 /* of the copies in hand */
	struct staged staged;			 /* with maps_copies: victims that the GPU still uses */
};

static inline uint64_t system_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Does a use withdraw a victim whose write-back waits [uvmsmart: cancellation]? Not one of an order by
 * counts of uses: the next choice would be the same victim again. */
bool system_withdraws(const struct system *system);

#endif
