/* host_events.h: events about pages, as the effects of the engine's actions (host.h) tell them. Each function has no
 * effect without observers. */
#ifndef UVMSIM_HOST_EVENTS_H
#define UVMSIM_HOST_EVENTS_H

#include "../host.h"

/* Reports the blocks of the range that was added last, if it is managed. */
void host_events_range(struct host *host, const char *name);
/* Keeps what a transfer of a COPY or POPULATE is about: before its effects, with pages of `target->block`. */
void host_events_note(struct host *host, const struct uvmp_action *action, const struct host_target *target,
		      struct uvmp_region run, uint32_t faulted);
/* Reports the transfer that was kept last. */
void host_events_transfer(struct host *host, enum observe_thread thread, uint64_t start, uint64_t end);
/* Reports an action that drops pages of the GPU. */
void host_events_discard(struct host *host, const struct uvmp_action *action,
			 const struct host_target *target, uint64_t now);
/* One page leaves the GPU because its range is freed: now, by the clock of the latest event. */
void host_events_freed(struct host *host, struct sim_block *block, uint32_t page);

#endif
