/* thread_pages.h: pages that arrive or leave with the transfers of a thread, with maps_copies: the GPU can reach a page from
 * the end of its copy until the beginning of its write-back. */
#ifndef UVMSIM_THREAD_PAGES_H
#define UVMSIM_THREAD_PAGES_H

#include "thread.h"

/* A batch, fault or call begins: copies that earlier ones have submitted say nothing about its pages. */
void thread_pages_begin(struct thread *t);
/* The pages of the transfer, to the GPU, are there at end_ns. Nothing without maps_copies. Of transfers behind the
 * first GROUP_STEPS_MAX of a batch it is not known when the pages arrive. */
void thread_pages_arrive(struct thread *t, const struct sim_block *block, const uvmp_mask *pages, struct uvmp_region transfer,
			 uint64_t end_ns);
/* Queues the mappings of those of *rest that have arrived, or will, and removes them from *rest. The newest transfer counts. */
void thread_pages_map(struct thread *t, struct sim_block *block, uint32_t right, uvmp_mask *rest);
/* The engine has decided that the pages leave. The GPU can reach them until thread_pages_leave, or until the thread changes another
 * mapping of the GPU (thread_pages_leave_rest). */
void thread_pages_stage(struct thread *t, struct sim_block *block, const uvmp_mask *pages);
/* The write-back of these pages of the block begins at begin_ns. */
void thread_pages_leave(struct thread *t, struct sim_block *block, struct uvmp_region transfer, uint64_t begin_ns);
/* Staged pages that no write-back has taken leave now. */
void thread_pages_leave_rest(struct thread *t);

#endif
