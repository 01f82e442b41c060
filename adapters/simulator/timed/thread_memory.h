/* thread_memory.h: what memory of the GPU costs a thread of the driver: root chunks and frames that are
 * allocated, and victims that are chosen. */
#ifndef UVMSIM_THREAD_MEMORY_H
#define UVMSIM_THREAD_MEMORY_H

#include "thread.h"

/* Is the action about a frame of a page-wise order? Such an action takes no time but that of the frame's
 * memory. */
bool thread_is_frame(const struct thread *t, const struct uvmp_action *action);
/* The action ALLOCATE. block: NULL if the memory is for no block. */
void thread_allocate(struct thread *t, const struct uvmp_action *action, struct sim_block *block);
/* The action EVICT of a root (lru), or of a unit of any size of another order: a victim is chosen, and
 * locked. The memory of a victim that takes the place of a withdrawn one has been promised before. */
void thread_evict(struct thread *t, const struct uvmp_action *action);

#endif
