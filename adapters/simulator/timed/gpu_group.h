/* gpu_group.h: thread blocks on the SMs: dealt, switched in and out, limited. */
#ifndef UVMSIM_GPU_GROUP_H
#define UVMSIM_GPU_GROUP_H

#include "gpu_internal.h"

/* Makes room on each SM for the thread blocks of the model's SM and `extra` more. False: out of memory. */
bool gpu_group_grow(struct gpu *gpu, uint32_t extra);
/* What gpu_limit says holds from now on. */
void gpu_group_limit(struct gpu *gpu, uint32_t still, uint32_t extra);
/* A kernel begins. */
void gpu_group_begin(struct gpu *gpu);
/* Free places get the kernel's next thread blocks, the SMs in turn. */
void gpu_group_deal(struct gpu *gpu);

/* The warp, which has had its turn, waits for a page. */
void gpu_group_wait(struct gpu *gpu, uint32_t sm_index, uint32_t warp);
/* The warp, which has had its turn, has come to a barrier (__syncthreads). The last warp of the thread block to come, or to
 * end instead, lets all go on. */
void gpu_group_synchronise(struct gpu *gpu, uint32_t sm_index, uint32_t warp);
/* The warp has ended, at end_ns. */
void gpu_group_end(struct gpu *gpu, uint32_t sm_index, uint32_t warp, uint64_t end_ns);
/* The warp can continue at ready_ns, if its thread block is switched in. No effect if it does not wait. */
void gpu_group_wake(struct gpu *gpu, uint32_t sm_index, uint32_t warp, uint64_t ready_ns);
/* All that wait on the SM; on all SMs. */
void gpu_group_wake_sm(struct gpu *gpu, uint32_t sm_index, uint64_t ready_ns);
void gpu_group_wake_all(struct gpu *gpu, uint64_t ready_ns);

#endif
