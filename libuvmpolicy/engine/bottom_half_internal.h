/* The parts of a bottom half, lowest first: batch.c, walk.c, dispatch.c, cancel.c, bottom_half.c. Only these use s->fault. */
#ifndef UVMPOLICY_BOTTOM_HALF_INTERNAL_H
#define UVMPOLICY_BOTTOM_HALF_INTERNAL_H

#include "service_internal.h"

/* The GPU whose faults are serviced. */
static inline struct gpu *gpu_of(struct uvmp_service *s)
{
	return &s->gpu[s->fault.gpu];
}

/* Do both faults have the same channel and subcontext? */
static inline bool has_same_instance(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->instance == b->instance && a->aperture == b->aperture && a->subcontext == b->subcontext;
}

/* -- batch.c -- */

/* Queues an action for the GPU. */
struct uvmp_action *uvmpi_batch_queue(struct uvmp_service *s, enum uvmp_action_kind kind);
void uvmpi_batch_wait(struct uvmp_service *s, bool for_copies);
/* Drops the faults in the buffer up to the PUT pointer; update_put: reads PUT again first. */
void uvmpi_batch_flush(struct uvmp_service *s, bool update_put);
void uvmpi_batch_replay(struct uvmp_service *s);
/* A flush with update_put, and a replay. */
void uvmpi_batch_replay_all(struct uvmp_service *s);
/* Cannot fail: the engine's own ring has neither gaps nor fields out of range, and fits in the batch. */
void uvmpi_batch_fetch(struct uvmp_service *s, enum uvmp_fetch_mode mode);
/* Counts the fetched faults, and queues BATCH. */
void uvmpi_batch_announce(struct uvmp_service *s);
/* Translates and orders the fetched faults. False: the batch is stale; a flush and a replay are queued. */
bool uvmpi_batch_order(struct uvmp_service *s);
/* Decides whether the next batch follows without a replay; call after the last block of a batch. If the batch has failed or has
 * fatal faults, its cancel replays in any case. */
void uvmpi_batch_serviced(struct uvmp_service *s);
/* A block of the batch was serviced, or has failed. Did it need pages or mappings? */
void uvmpi_batch_count_block(struct uvmp_service *s, bool has_needed);
/* Does the batch have a fault that is not dispatched yet, and lies in a range? *start: address of its block. */
bool uvmpi_batch_has_more(const struct uvmp_service *s, uvmp_addr *start);
static inline bool batch_is_last(const struct uvmp_service *s)
{
	return s->fault.next_bin >= s->gpu[s->fault.gpu].representatives;
}

/* -- walk.c -- */

/* The fault number `index` of the batch is to be cancelled. */
void uvmpi_walk_mark_fatal(struct uvmp_service *s, uint32_t index, enum uvmp_cancel_mode mode);
/* Starts the block service of s->fault.bin. A bin without work counts as serviced. */
void uvmpi_walk(struct uvmp_service *s, handle h);

/* -- dispatch.c -- */

/* Starts the service of the next block with faults, from s->fault.next_bin on. */
void uvmpi_dispatch(struct uvmp_service *s);
/* Handles the result of the job that serviced a block with faults: repeats the walk, prefetches for another block of the
 * range, or reports to the replay state machine. */
void uvmpi_dispatch_job_ended(struct uvmp_service *s);
/* Handles the result of a job that prefetched for another block of the range, and starts the next such job, if the prefetcher
 * names a further block. */
void uvmpi_dispatch_follow(struct uvmp_service *s);

/* -- cancel.c -- */

/* Begins the precise cancel: of fatal faults. */
void uvmpi_cancel_start(struct uvmp_service *s);
/* Takes one decision of the precise cancel. */
void uvmpi_cancel_advance(struct uvmp_service *s);
/* Cancels every fault of the batch after an error. False: faults are left for the next call. */
bool uvmpi_cancel_batch(struct uvmp_service *s);

#endif
