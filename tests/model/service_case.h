/* service_case.h: random lives of the engine, lived by the naive model too. From a seed come the processors,
 * the policy and a stream of events; every action that the engine decides must be the one that the model
 * decides, and what issue demands of the state must hold after every event. */
#ifndef SERVICE_CASE_H
#define SERVICE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "uvmpolicy/service.h"

enum service_case_event {
	SERVICE_CASE_FAULT,
	SERVICE_CASE_CPU_FAULT,
	SERVICE_CASE_ADD_RANGE,
	SERVICE_CASE_FREE_RANGE,
	SERVICE_CASE_FREE_PART,
	SERVICE_CASE_BIND,
	SERVICE_CASE_UNBIND,
	SERVICE_CASE_ADVISE,
	SERVICE_CASE_MIGRATE,
	SERVICE_CASE_WITHDRAW,
	SERVICE_CASE_HOLD,
	SERVICE_CASE_TOUCH,
	SERVICE_CASE_ARRIVE,
	SERVICE_CASE_NOTE,
	SERVICE_CASE_TIME,
	SERVICE_CASE_BAD, /* a call that must be refused */
	SERVICE_CASE_EVENTS
};

/* How hard the case may be. */
enum service_case_level {
	SERVICE_CASE_SIMPLE,   /* faults, ranges, channels, time; advice before the first fault */
	SERVICE_CASE_REQUESTS, /* advice at any time, migrations, discards */
	SERVICE_CASE_FAILURES, /* and actions that fail */
	SERVICE_CASE_LEVELS
};

struct service_case_stats {
	uint64_t events, actions, failed;
	uint64_t withdrawn, returned, refused; /* withdrawals that waited; ended with OK, with NO_MEMORY */
	uint64_t event[SERVICE_CASE_EVENTS]; /* by enum service_case_event */
	uint64_t action[UVMP_ACTION_COUNT][UVMP_CAUSE_COUNT];
	uint64_t batches, batches_evicting, faults, groups_most;
};

const char *service_case_event_name(enum service_case_event event);

/* One case of about `events` events. False: the two differ or something does not hold; `error` then says
 * what. `stats` is added to. `trace` (may be NULL) gets events and actions as text. */
bool service_case_run(uint64_t seed, uint64_t events, enum service_case_level level,
		      struct service_case_stats *stats, FILE *trace, char *error, size_t capacity);

#endif
