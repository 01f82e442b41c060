/* cyclic=on: page-wise orders, by block number; without effect while cyclic=off. */
#ifndef UVMPOLICY_CYCLIC_INTERNAL_H
#define UVMPOLICY_CYCLIC_INTERNAL_H

#include "service_internal.h"

/* Turns cyclic=on for a GPU with so many block numbers. */
void uvmpi_cyclic_init(struct gpu *g, uint32_t blocks, void *memory);
/* Moves the blocks to memory for more of them. */
void uvmpi_cyclic_grow(struct gpu *g, uint32_t blocks, void *memory);
static inline bool uvmpi_cyclic_is_pinned(const struct gpu *g, uint32_t number)
{
	return g->cyclic.block != NULL && g->cyclic.block[number].is_pinned;
}
/* Pages of the block have arrived. True: a fault brought the block back in a circle, and the block is pinned now. */
bool uvmpi_cyclic_return(const struct uvmp_service *s, struct gpu *g, uint32_t number, bool is_fault);
/* The last page of the block was evicted. */
void uvmpi_cyclic_leave(struct gpu *g, uint32_t number);
/* The number of a block whose pin ends now, NO_INDEX: no pin ends. Call it until NO_INDEX. */
uint32_t uvmpi_cyclic_release(const struct uvmp_service *s, struct gpu *g);
/* Ends the oldest pin; the block's number, NO_INDEX: nothing is pinned. */
uint32_t uvmpi_cyclic_give_up(struct gpu *g);
/* The number becomes free for another block. */
void uvmpi_cyclic_forget(struct gpu *g, uint32_t number);

#endif
