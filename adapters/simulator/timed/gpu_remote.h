/* gpu_remote.h: pages on the CPU that TLBs hold as they hold others (remote_miss_ns; UVM Smart). */
#ifndef UVMSIM_GPU_REMOTE_H
#define UVMSIM_GPU_REMOTE_H

#include "gpu_internal.h"

/* The warp's lane waits until the end of the walk, and for what is answered then: its bit of warp->pending is set. */
void gpu_remote_ask(struct gpu *gpu, const struct asking *asking);
/* At the end of a quantum: for each access that has asked, in the order of their times, either a far fault, or the time of
 * a remote access, at the end of which the uTLB gets the entry and the warp tries again. */
void gpu_remote_answer(struct gpu *gpu, uint64_t until_ns);
/* uTLBs get the entries of remote accesses that have ended by now. */
void gpu_remote_fill(struct gpu *gpu, uint64_t now_ns);

#endif
