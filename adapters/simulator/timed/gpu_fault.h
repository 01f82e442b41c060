/* gpu_fault.h: faults, from the walk that fails to the entry in the buffer. */
#ifndef UVMSIM_GPU_FAULT_H
#define UVMSIM_GPU_FAULT_H

#include "gpu_mshr.h"

/* The faults of an SM are raised in the order of their times. So once the SM has raised as many in this quantum as its
 * uTLB can still have outstanding, later ones are not written. Where the uTLB merges faults, every fault
 * is kept until it is admitted, since it may merge. */
static inline bool gpu_fault_is_dropped(const struct gpu *gpu, const struct sm *sm)
{
	return !gpu_mshr_is_there(gpu) && gpu->model->utlb_merges == 0 && sm->utlb->faults + sm->raised >= gpu->model->utlb_faults;
}
/* A warp that has the right `right` on a page has asked its uTLB for more, at now_ns. The fault is not dropped. */
void gpu_fault_raise(struct gpu *gpu, uint64_t now_ns, const struct asker *who, uint64_t page,
		     uint32_t right);
/* The end of a quantum: the GMMU writes the faults raised in it. */
void gpu_fault_write(struct gpu *gpu);
/* A replay: faults that are not in the buffer by now are forgotten, and uTLBs translate again, unless locks hold (gpu_lock.h). */
void gpu_fault_forget(struct gpu *gpu);

#endif
