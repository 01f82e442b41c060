/* thread_fault.h: what a thread of the driver does about the GPU's faults: reports them to the engine,
 * fetches them in batches, services them, flushes the buffer and replays. */
#ifndef UVMSIM_THREAD_FAULT_H
#define UVMSIM_THREAD_FAULT_H

#include "thread.h"

/* Lets the GPU run up to the thread's time and reports to the engine the faults that were written by then. */
void thread_report_faults(struct thread *t);
/* The action BATCH: of faults, or of notifications, which cost nothing to fetch. */
void thread_fetch(struct thread *t, const struct uvmp_action *action);
/* The walk of the batch services the entries of this block that it does not skip. */
void thread_service_faults(struct thread *t, struct sim_block *block);
/* If the thread has a batch, adds its time and size to the statistics; the batch has ended then. */
void thread_end_batch(struct thread *t);
/* The actions FLUSH and REPLAY. */
void thread_flush(struct thread *t, const struct uvmp_action *action);
void thread_replay(struct thread *t);

#endif
