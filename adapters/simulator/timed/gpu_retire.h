/* gpu_retire.h: with retires_idle, warps end only while no transfer is under way. */
#ifndef UVMSIM_GPU_RETIRE_H
#define UVMSIM_GPU_RETIRE_H

#include "gpu_internal.h"

/* The warp has no step left, and holds its place until it can end. */
void gpu_retire_add(struct gpu *gpu, uint32_t sm_index, uint32_t warp);
/* Ends the warps that have waited at idle_ns or later, until the first fault of this quantum, and until until_ns. */
void gpu_retire(struct gpu *gpu, uint64_t idle_ns, uint64_t until_ns);
void gpu_retire_close(struct gpu *gpu);

#endif
