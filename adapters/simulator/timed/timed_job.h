/* timed_job.h: prefetches that a thread has in hand, and what a call of the driver costs the thread that
 * makes it. */
#ifndef UVMSIM_TIMED_JOB_H
#define UVMSIM_TIMED_JOB_H

#include "timed_internal.h"

/* Performs the call of [at, at + bytes) whose DONE has `ticket`. False: an error of the run; the host has
 * it. */
bool timed_call(struct timed *m, struct thread *t, uint64_t ticket, uint64_t at, uint64_t bytes);
/* Moves [at, at + bytes) to the GPU, or to the CPU. False as above. */
bool timed_migrate(struct timed *m, struct thread *t, uint64_t at, uint64_t bytes, bool to_gpu);
/* Puts the prefetch into the thread's hand. */
void timed_start_job(struct thread *t, struct timed_job *job, const struct workload_op *op, bool is_deferred);
/* One VABlock of it. False as above. */
bool timed_step_job(struct timed *m, struct thread *t, struct timed_job *job);

#endif
