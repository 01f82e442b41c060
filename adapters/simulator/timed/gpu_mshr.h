/* gpu_mshr.h: the far-fault MSHRs of a GPU that has them (mshr_entries). */
#ifndef UVMSIM_GPU_MSHR_H
#define UVMSIM_GPU_MSHR_H

#include "gpu_internal.h"

static inline bool gpu_mshr_is_there(const struct gpu *gpu)
{
	return gpu->model->mshr_entries != 0;
}

/* Does the page have an entry? */
static inline bool gpu_mshr_holds(const struct gpu *gpu, uint64_t page)
{
	return mshr_find(&gpu->mshr, page) != MSHR_NONE;
}

/* Has the driver given the GPU the right to write the page, or to use it elsewhere, which the GPU does not see yet? Then the copy
 * is under way. */
static inline bool gpu_mshr_is_coming(const struct sim_block *block, uint32_t page)
{
	return uvmp_mask_test(&block->given_high, page) &&
	       (!uvmp_mask_test(&block->high[1], page) ||
		uvmp_mask_test(&block->given_low, page) != uvmp_mask_test(&block->low[1], page) ||
		uvmp_mask_test(&block->given_remote, page) != uvmp_mask_test(&block->remote, page));
}

/* The warp lacks the page, and waits with its entry. *is_new: the entry is new, and the caller raises the
 * fault. GPU_STALLED: the table is full. */
enum gpu_outcome gpu_mshr_miss(struct gpu *gpu, const struct asker *who, uint64_t page, bool *is_new);
/* The page's fault is in the buffer; `number` counts all faults written, from 0. */
void gpu_mshr_write(struct gpu *gpu, uint64_t page, uint64_t number);
/* These pages of the block are mapped now. */
void gpu_mshr_notify(struct gpu *gpu, const struct sim_block *block, const uvmp_mask *pages);
/* A replay; the driver had fetched `fetched` faults. */
void gpu_mshr_replay(struct gpu *gpu, uint64_t fetched);

#endif
