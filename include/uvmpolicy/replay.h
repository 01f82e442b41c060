/* replay.h: fault replay, and the bottom half of the fault interrupt.
 *
 * The bottom half as a state machine [driver: bottom-half]. Each step returns the next action; the host
 * performs the action and reports its result:
 *
 *   uvmp_replay_start(&params, &state, &action);               an interrupt arrived
 *   while (action.kind != UVMP_REPLAY_STOP) {
 *           ... perform the action, fill event ...
 *           uvmp_replay_step(&params, &state, &event, &action);
 *   }
 *
 * Policies: BLOCK replays after every VABlock, BATCH after every batch, BATCH_FLUSH flushes the buffer first
 * and waits for the replay, ONCE replays when the bottom half ends. params.policy may change between
 * BATCH_FLUSH and ONCE from step to step: ONCE for the steps after a batch puts its replay off to the end of
 * a later batch.
 *
 * Quirks reproduced by default: [driver: toggle-by-configured-batch] (the prefetch toggle compares with the
 * configured batch size, not with what was fetched), [driver: service-limit-zero] (a limit of 0 stops all
 * servicing; the forced replay at the end replaces an error). Without quirks: the toggle compares with the
 * batch's raw faults; a limit of 0 counts as 1; the error is kept.
 */
#ifndef UVMPOLICY_REPLAY_H
#define UVMPOLICY_REPLAY_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum uvmp_replay_policy {
	UVMP_REPLAY_BLOCK = 0,
	UVMP_REPLAY_BATCH = 1,
	UVMP_REPLAY_BATCH_FLUSH = 2, /* the driver's default */
	UVMP_REPLAY_ONCE = 3,
	UVMP_REPLAY_BATCH_WAIT = 4 /* not the driver's: BATCH, and the next batch waits for it */
};

/* Name as in the policy string ("block", "batch", "batch_flush", "once", "batch_wait"); NULL outside the
 * enumeration. */
UVMP_API const char *uvmp_replay_name(enum uvmp_replay_policy policy);

/* No field has a default: set all, or take those of uvmp_policy_init. uvmp_policy_is_valid checks
 * them in a policy. */
struct uvmp_replay_params {
	enum uvmp_replay_policy policy; /* 0 is BLOCK; values above 4 count as BATCH_FLUSH */
	uint32_t update_put_ratio;	/* percent, driver: 50; above 100 counts as 100. 0: any duplicate */
	uint32_t max_batches;		/* per bottom half, driver: 20. 0: with quirks no fault is serviced
					 * [driver: service-limit-zero], without quirks 1 */
	uint32_t max_throttled;		/* batches with throttled faults per bottom half, driver: 5. 0: as
					 * max_batches */
	uint32_t max_batch;		/* per batch, as uvmp_fault_max_batch limits it; driver: 256. 0: with
					 * quirks one invalid prefetch turns prefetch faults off */
	uint32_t prefetch_lapse_ms;	/* how long prefetch faults stay off, driver: 1000; 0: never off */
	bool quirks;
};

/* -- the rules alone ------------------------------------------------------------------------- */

/* Should the flush re-read PUT [driver: update-put]? duplicates * 100 > cached * min(ratio, 100), in
 * 32-bit arithmetic. */
UVMP_API bool uvmp_replay_update_put(uint32_t cached, uint32_t duplicates, uint32_t ratio);

/* Prefetch faults on or off [driver: prefetch-fault-toggle]. */
struct uvmp_prefetch_toggle {
	bool is_enabled;	    /* starts true */
	uint64_t disabled_since_ns; /* 0 while enabled */
};

/* Evaluated once per serviced batch: turns prefetch faults off when invalid * 3 > limit * 2, on again when
 * more than lapse_ms have passed. `limit` is the configured batch size (quirk
 * [driver: toggle-by-configured-batch]) or the raw faults of the batch. No effect if toggle is NULL. */
UVMP_API void uvmp_prefetch_toggle_update(struct uvmp_prefetch_toggle *toggle, uint32_t invalid,
					  uint32_t limit, uint32_t lapse_ms, uint64_t now_ns);

/* -- the bottom half ------------------------------------------------------------------------- */

enum uvmp_replay_action_kind {
	UVMP_REPLAY_STOP = 0,	    /* the bottom half is over; action.status is its result */
	UVMP_REPLAY_FETCH,	    /* fetch a batch (mode BATCH_READY) -> event FETCHED */
	UVMP_REPLAY_PREPROCESS,	    /* translate and order it -> event PREPROCESSED */
	UVMP_REPLAY_SERVICE,	    /* service the next bin (dispatch) -> event SERVICED */
	UVMP_REPLAY_PUSH,	    /* push a START replay to the GPU -> event DONE */
	UVMP_REPLAY_FLUSH,	    /* flush the fault buffer, action.update_put -> event DONE */
	UVMP_REPLAY_WAIT_REPLAY,    /* wait until pushed replays have completed -> event DONE */
	UVMP_REPLAY_WAIT_WORK,	    /* wait for the batch's copies and mappings -> event DONE */
	UVMP_REPLAY_CANCEL_PRECISE, /* cancel the fatal faults (fetch ALL, preprocess, cancel, with flushes
				       * and replays of its own) -> event DONE */
	UVMP_REPLAY_CANCEL_BATCH    /* cancel every fault of the batch, flush, replay -> event DONE */
};

struct uvmp_replay_action {
	enum uvmp_replay_action_kind kind;
	bool update_put;	 /* FLUSH */
	enum uvmp_status status; /* STOP */
};

enum uvmp_replay_event_kind {
	UVMP_REPLAY_EVENT_FETCHED = 0,
	UVMP_REPLAY_EVENT_PREPROCESSED,
	UVMP_REPLAY_EVENT_SERVICED,
	UVMP_REPLAY_EVENT_DONE
};

/* What happened. Fields that the kind does not name are ignored. */
struct uvmp_replay_event {
	enum uvmp_replay_event_kind kind;
	uint64_t now_ns;	 /* when, for every kind */
	enum uvmp_status status; /* how it went, for every kind; ignored after CANCEL_BATCH, where the batch's
				  * own error stays */
	uint32_t cached;	 /* FETCHED: raw faults in the batch */
	bool is_stale;		 /* PREPROCESSED: a dead channel was met; the host has flushed (UPDATE_PUT)
				  * and replayed */
	bool is_last;		 /* SERVICED: no further bin in this batch */
	bool is_none;		 /* SERVICED: there was no bin to dispatch (every fault skipped); ends the
				  * batch as is_last does, but BLOCK does not replay */
	/* SERVICED: what this dispatch added, also when it failed */
	uint32_t duplicates;
	uint32_t invalid_prefetches;
	bool has_throttled;
	bool has_fatal;
};

/* One per GPU. Initialise with uvmp_replay_init; only the functions below write to it. */
struct uvmp_replay_state {
	struct uvmp_prefetch_toggle prefetch_faults;
	uint32_t batch_id; /* grows by one with each fetched batch and each BLOCK replay */
	uint32_t position; /* where in the loop (private) */
	uint32_t batches;  /* of this bottom half */
	uint32_t throttled;
	uint32_t replays;
	uint32_t cached; /* of this batch */
	uint32_t duplicates;
	uint32_t invalid_prefetches;
	bool has_throttled;
	bool has_fatal;
	enum uvmp_status status;
};

UVMP_API void uvmp_replay_init(struct uvmp_replay_state *state);
UVMP_API bool uvmp_replay_is_valid(const struct uvmp_replay_state *state);

/* Starts a bottom half. batch_id and the prefetch toggle keep their values from the previous bottom half.
 * UVMP_ERR_ARGUMENT: NULL or state not valid. UVMP_ERR_STATE: a bottom half is running already.
 *
 * A bottom half has at most max(max_batches, 1) fetches that are not stale. Each fetch has at most 5 actions,
 * plus one SERVICE (for BLOCK also one PUSH) per bin. One PUSH may follow at the end. An error in any event
 * ends the bottom half with that status (except for [driver: service-limit-zero]): an error of servicing or
 * of a BLOCK replay after CANCEL_BATCH, any other error immediately. */
UVMP_API enum uvmp_status uvmp_replay_start(const struct uvmp_replay_params *params,
					    struct uvmp_replay_state *state,
					    struct uvmp_replay_action *action);

/* Takes the event that answers the last action and gives the next action. O(1). UVMP_ERR_ARGUMENT: NULL or
 * state not valid. UVMP_ERR_STATE: no bottom half is running, or the event does not answer the last
 * action. */
UVMP_API enum uvmp_status uvmp_replay_step(const struct uvmp_replay_params *params,
					   struct uvmp_replay_state *state,
					   const struct uvmp_replay_event *event,
					   struct uvmp_replay_action *action);

#ifdef __cplusplus
}
#endif
#endif
