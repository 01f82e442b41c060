/* thread_copy.h: the transfers that a thread of the driver submits: when each begins and ends, and what
 * waits for it. */
#ifndef UVMSIM_THREAD_COPY_H
#define UVMSIM_THREAD_COPY_H

#include "thread.h"

/* Waits for the copies of the last evictions, if their memory is allocated again only after them. */
void thread_wait_for_eviction(struct thread *t);
/* One transfer of the action COPY. */
void thread_copy(struct thread *t, const struct uvmp_action *action, struct sim_block *block,
		 struct uvmp_region transfer);
/* One transfer of the action POPULATE. The GPU writes zeros, beside the copies of the link. No page of the
 * CPU has to be mapped for that. */
void thread_populate(struct thread *t, const struct uvmp_action *action, struct sim_block *block,
		     uint32_t pages);

#endif
