/* gpu_idle.h: from when on no transfer of the GPU is under way. Below gpu_retire.h. */
#ifndef UVMSIM_GPU_IDLE_H
#define UVMSIM_GPU_IDLE_H

#include "gpu_internal.h"

/* From when on no fault is out and the link is idle, at gpu->now_ns or later; GPU_NEVER: a fault is out. */
uint64_t gpu_idle_ns(const struct gpu *gpu);
/* Keeps gpu->soonest_ns: warps that wait to end (gpu_retire.h) do so when the link is idle. */
void gpu_idle_find_soonest(struct gpu *gpu);

#endif
