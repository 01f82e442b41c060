/* gpu_ready.h: which warps of an SM can continue, and from when. */
#ifndef UVMSIM_GPU_READY_H
#define UVMSIM_GPU_READY_H

#include "gpu_internal.h"

/* The warp, which is not in the list, can continue at ready_ns. */
void gpu_ready_add(struct gpu *gpu, struct sm *sm, uint32_t warp, uint64_t ready_ns);
/* The first of them, of which there is one, has its turn. */
static inline uint32_t gpu_ready_take(struct sm *sm)
{
	sm->count--;
	return sm->ready[sm->first++].warp;
}
/* Finds gpu->soonest_ns after SMs have run, or others stand still. gpu_ready_add keeps it. */
void gpu_ready_find_soonest(struct gpu *gpu);

#endif
