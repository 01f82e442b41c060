/* timed_listen.h: what the GPU of a timed run reports to the engine: accesses, notifications of access
 * counters, and pages that have arrived. */
#ifndef UVMSIM_TIMED_LISTEN_H
#define UVMSIM_TIMED_LISTEN_H

#include "timed_internal.h"

/* The listener of the GPU: reports only what the policy, the model and observers need. The fields of *m
 * that say so are set. */
struct gpu_listener timed_listener(struct timed *m);
/* Pages have arrived on the GPU: with lists_arrivals they are the newest from then on, not from the
 * driver's decision that they migrate. */
void timed_arrive(struct timed *m, const struct sim_block *block, const uvmp_mask *pages);

#endif
