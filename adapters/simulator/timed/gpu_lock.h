/* gpu_lock.h: locks of uTLBs that last until every fault of the uTLB has been resolved (model key lock_holds). */
#ifndef UVMSIM_GPU_LOCK_H
#define UVMSIM_GPU_LOCK_H

#include "gpu_internal.h"

/* A fault of the uTLB was admitted, or has merged with one that was. */
void gpu_lock_note(struct gpu *gpu, const struct gpu_fault *fault);
/* A replay, after the faults of it have been forgotten: all warps that wait try again; of a uTLB that stays locked only those
 * whose faults were outstanding or merged. */
void gpu_lock_replay(struct gpu *gpu);
/* The end of a quantum, after its faults were written: unlocks uTLBs whose last warps to try again have found their pages. */
void gpu_lock_settle(struct gpu *gpu);

#endif
