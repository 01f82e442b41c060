/* gpu_warp.h: SMs, and their warps' steps. */
#ifndef UVMSIM_GPU_WARP_H
#define UVMSIM_GPU_WARP_H

#include "gpu_internal.h"

/* The SM's ready warps run until then; others are not seen. */
void gpu_warp_run(struct gpu *gpu, uint32_t sm_index, uint64_t until_ns);

#endif
