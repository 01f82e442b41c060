/* watch.h: what a thread of the driver tells observers (observe.h): batches, evictions, replays, and the times of
 * transfers. Each function has no effect without observers. */
#ifndef UVMSIM_WATCH_H
#define UVMSIM_WATCH_H

#include "thread.h"

/* A fault batch begins, is serviced until the thread looks for the next one, and ends once. */
void watch_begin_batch(struct thread *t, const struct uvmp_action *action);
/* Before and after any action but a transfer; after a transfer. An eviction lasts from the choice of its victim to the
 * thread's last action for it. */
void watch_before(struct thread *t, const struct uvmp_action *action);
void watch_after(struct thread *t, const struct uvmp_action *action, const struct host_target *target);
void watch_transfer(struct thread *t, const struct uvmp_action *action);
/* The thread has nothing left to do: what it was in has ended. */
void watch_rest(struct thread *t);

#endif
