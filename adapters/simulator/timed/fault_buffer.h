/* fault_buffer.h: the faults that the engine has been told of and has not fetched, and those of the batch in hand.
 *
 * The engine does not say how its walk judges each entry of a batch. The simulator knows as much as the driver: the page
 * and the access of each entry, and the rights that the driver has given the GPU when the walk gets to the block
 * (block->given_low, given_high; the GPU sees them later). So it can tell the entries that are serviced from those that
 * the walk skips: duplicates, and stale entries, whose page the GPU can reach already. */
#ifndef UVMSIM_FAULT_BUFFER_H
#define UVMSIM_FAULT_BUFFER_H

#include "../space.h"

struct reported_fault {
	struct sim_block *block; /* NULL: outside every range */
	uint32_t page;		 /* of the block */
	uint32_t right;		 /* enum uvmp_right that the access needs */
	uint64_t written_ns;	 /* into the GPU's buffer */
};

struct fault_buffer {
	struct reported_fault *entry; /* a ring */
	uint32_t room, first, count;
	uint64_t batches; /* so far; the last one is in hand */
};

/* For so many faults. False: out of memory. */
bool fault_buffer_open(struct fault_buffer *buffer, uint32_t room);
void fault_buffer_close(struct fault_buffer *buffer);
/* Adds the newest fault; there is room for it. O(1). */
void fault_buffer_add(struct fault_buffer *buffer, struct reported_fault fault);
/* Removes the oldest `count` faults. O(1). */
void fault_buffer_drop(struct fault_buffer *buffer, uint32_t count);
/* The oldest `count` faults are the batch in hand. Returns the time at which the first of them was written; UINT64_MAX
 * without any. O(count). */
uint64_t fault_buffer_take(struct fault_buffer *buffer, uint32_t count);
/* The walk of the batch in hand gets to the block: how many entries it services. That is one for each page on which the
 * strongest access of the batch needs more than the driver has given the GPU. 0 when asked again. O(1). */
uint32_t fault_buffer_walk(const struct fault_buffer *buffer, struct sim_block *block);

#endif
