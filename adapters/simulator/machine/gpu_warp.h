/* gpu_warp.h: SMs, the thread blocks that they are dealt, and their warps' steps. */
#ifndef UVMSIM_GPU_WARP_H
#define UVMSIM_GPU_WARP_H

#include "gpu_internal.h"

/* Free places get the kernel's next thread blocks, the SMs in turn. */
void gpu_warp_deal(struct gpu *gpu);
/* The SM's ready warps run until then; others are not seen. */
void gpu_warp_run(struct gpu *gpu, uint32_t sm_index, uint64_t until_ns);
/* When the next warp is ready; GPU_NEVER: all wait. */
uint64_t gpu_warp_next_ns(const struct gpu *gpu);
/* A replay: all that wait are ready at ready_ns. */
void gpu_warp_wake(struct gpu *gpu, uint64_t ready_ns);

#endif
