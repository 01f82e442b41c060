/* Operations: bottom half, requests, access counters, hot pages. */
#ifndef UVMPOLICY_OPERATIONS_INTERNAL_H
#define UVMPOLICY_OPERATIONS_INTERNAL_H

#include "service_internal.h"

/* Only the file of an operation and its helpers use the state of the operation (s->run, s->fault, s->counter,
 * s->remote). The scheduler asks with the functions below. */

/* -- bottom_half.c, batch.c -- */

bool uvmpi_fault_is_due(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_advance(struct uvmp_service *s);
static inline bool uvmpi_fault_is_active(const struct uvmp_service *s)
{
	return s->fault.phase != FAULT_IDLE;
}
/* May room be made ahead, for faults of the batch behind the present block? *start: of the next block. */
bool uvmpi_fault_has_next(const struct uvmp_service *s, uvmp_addr *start);
/* Between two blocks of a batch, where requests may go first? */
bool uvmpi_fault_is_between(const struct uvmp_service *s);

/* -- request.c -- */

/* has_next: the request may make room ahead, for the block that starts at `next_start`. */
void uvmpi_request_start(struct uvmp_service *s, bool has_next, uvmp_addr next_start);
void uvmpi_request_advance(struct uvmp_service *s);
static inline bool uvmpi_request_is_active(const struct uvmp_service *s)
{
	return s->run.is_active;
}
/* Can the active request need an object of the arena? Freeing a range needs none. */
static inline bool uvmpi_request_needs_arena(const struct uvmp_service *s)
{
	return s->run.request.kind != REQUEST_FREE;
}
/* Unpins what is due; true if it queued something. */
bool uvmpi_unpin_due(struct uvmp_service *s);

/* -- access_counter.c -- */

static inline bool uvmpi_counter_is_due(const struct uvmp_service *s, uint32_t gpu)
{
	return s->gpu[gpu].note_get != s->gpu[gpu].note_put;
}
void uvmpi_counter_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_counter_advance(struct uvmp_service *s);
static inline bool uvmpi_counter_is_active(const struct uvmp_service *s)
{
	return s->counter.phase != COUNTER_IDLE;
}

/* -- hot.c: as access counters -- */

static inline bool uvmpi_hot_is_due(const struct uvmp_service *s)
{
	return s->hot_first != 0;
}
void uvmpi_hot_start(struct uvmp_service *s);
void uvmpi_hot_advance(struct uvmp_service *s);
static inline bool uvmpi_hot_is_active(const struct uvmp_service *s)
{
	return s->remote.phase != REMOTE_IDLE;
}

#endif
