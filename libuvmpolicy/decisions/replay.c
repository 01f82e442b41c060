/* The bottom half of the fault interrupt as a machine that waits for one answer at a time [driver:
 * bottom-half].
 *
 * `position` names the action that the host performs. A table has, for each position, the action, the kind of
 * event that answers it, and the rule that reads the event and names the next position. The rules read top to
 * bottom like the driver's loop: head of the loop, fetch, preprocess, service, cancel or replay, end.
 * Position IDLE is both "not running" and "over". */
#include "uvmpolicy/replay.h"

enum position {
	IDLE = 0,
	FETCHING,
	PREPROCESSING,
	SERVICING,
	PUSHING_BLOCK,      /* BLOCK, more bins to come */
	PUSHING_LAST_BLOCK, /* BLOCK, behind the last bin */
	PUSHING_BATCH,
	FLUSHING,
	PUSHING_FLUSH,
	WAITING_REPLAY,
	WAITING_WORK,
	CANCELLING_PRECISE,
	CANCELLING_BATCH,
	PUSHING_END,
	POSITIONS
};

const char *uvmp_replay_name(enum uvmp_replay_policy policy)
{
	static const char name[][12] = {"block", "batch", "batch_flush", "once", "batch_wait"};

	return (uint32_t)policy <= UVMP_REPLAY_BATCH_WAIT ? name[policy] : NULL;
}

bool uvmp_replay_update_put(uint32_t cached, uint32_t duplicates, uint32_t ratio)
{
	return duplicates * 100u > cached * (ratio < 100u ? ratio : 100u);
}

void uvmp_prefetch_toggle_update(struct uvmp_prefetch_toggle *toggle, uint32_t invalid, uint32_t limit,
                                 uint32_t lapse_ms, uint64_t now_ns)
{
	if (toggle == NULL)
		return;
	if (toggle->is_enabled) {
		if (lapse_ms == 0 || (uint64_t)invalid * 3u <= (uint64_t)limit * 2u)
			return;
		toggle->is_enabled = false;
		toggle->disabled_since_ns = now_ns;
	} else if (now_ns - toggle->disabled_since_ns > (uint64_t)lapse_ms * 1000000u) {
		toggle->is_enabled = true;
		toggle->disabled_since_ns = 0;
	}
}

/* A bottom half that has not replayed at all does so now, or the GPU would stand still
 * [driver: bottom-half]. */
static enum position finish(const struct uvmp_replay_params *params, const struct uvmp_replay_state *state)
{
	bool is_once = state->status == UVMP_OK && params->policy == UVMP_REPLAY_ONCE;

	return is_once || state->replays == 0 ? PUSHING_END : IDLE;
}

/* [driver: service-limit-zero]: the driver takes a limit of 0 as it stands. */
static bool is_reached(uint32_t count, uint32_t limit, bool quirks)
{
	return count >= (limit == 0 && !quirks ? 1u : limit);
}

static enum position loop_head(const struct uvmp_replay_params *params, struct uvmp_replay_state *state)
{
	if (is_reached(state->throttled, params->max_throttled, params->quirks) ||
	    is_reached(state->batches, params->max_batches, params->quirks))
		return finish(params, state);
	state->cached = 0;
	state->duplicates = 0;
	state->invalid_prefetches = 0;
	state->has_throttled = false;
	state->has_fatal = false;
	return FETCHING;
}

static enum position on_fetched(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                const struct uvmp_replay_event *event)
{
	state->status = event->status;
	if (event->status != UVMP_OK || event->cached == 0)
		return finish(params, state);
	state->batch_id++;
	state->cached = event->cached;
	return PREPROCESSING;
}

static enum position on_preprocessed(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                     const struct uvmp_replay_event *event)
{
	state->status = event->status;
	if (event->status != UVMP_OK)
		return finish(params, state);
	if (!event->is_stale)
		return SERVICING;
	state->replays++; /* the whole batch was thrown away: it counts towards no limit */
	return loop_head(params, state);
}

static enum position batch_done(const struct uvmp_replay_params *params, struct uvmp_replay_state *state)
{
	if (state->has_throttled)
		state->throttled++;
	state->batches++;
	return loop_head(params, state);
}

/* Everything dispatched, or servicing failed. */
static enum position end_service(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                 uint64_t now_ns)
{
	uvmp_prefetch_toggle_update(&state->prefetch_faults, state->invalid_prefetches,
	                            params->quirks ? params->max_batch : state->cached,
	                            params->prefetch_lapse_ms, now_ns); /* [driver: toggle-by-configured-batch] */
	if (state->status != UVMP_OK)
		return CANCELLING_BATCH;
	if (state->has_fatal)
		return WAITING_WORK;
	if (params->policy == UVMP_REPLAY_BATCH || params->policy == UVMP_REPLAY_BATCH_WAIT)
		return PUSHING_BATCH;
	if (params->policy == UVMP_REPLAY_BLOCK || params->policy == UVMP_REPLAY_ONCE)
		return batch_done(params, state);
	return FLUSHING;
}

static enum position on_serviced(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                 const struct uvmp_replay_event *event)
{
	state->status = event->status;
	state->duplicates += event->duplicates;
	state->invalid_prefetches += event->invalid_prefetches;
	state->has_throttled = state->has_throttled || event->has_throttled;
	state->has_fatal = state->has_fatal || event->has_fatal;
	if (event->status != UVMP_OK || event->is_none)
		return end_service(params, state, event->now_ns);
	if (params->policy == UVMP_REPLAY_BLOCK && !state->has_fatal)
		return event->is_last ? PUSHING_LAST_BLOCK : PUSHING_BLOCK;
	return event->is_last ? end_service(params, state, event->now_ns) : SERVICING;
}

/* A BLOCK replay belongs to servicing: its failure is the batch's failure. */
static enum position on_block_pushed(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                     const struct uvmp_replay_event *event)
{
	state->status = event->status;
	if (event->status != UVMP_OK)
		return end_service(params, state, event->now_ns);
	state->replays++;
	state->batch_id++;
	return state->position == PUSHING_BLOCK ? SERVICING : end_service(params, state, event->now_ns);
}

static enum position on_flushed(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                const struct uvmp_replay_event *event)
{
	state->status = event->status;
	return event->status == UVMP_OK ? PUSHING_FLUSH : finish(params, state);
}

static enum position on_batch_pushed(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                     const struct uvmp_replay_event *event)
{
	state->status = event->status;
	if (event->status != UVMP_OK)
		return finish(params, state);
	state->replays++;
	return state->position == PUSHING_FLUSH || params->policy == UVMP_REPLAY_BATCH_WAIT
	               ? WAITING_REPLAY
	               : batch_done(params, state);
}

static enum position on_replay_waited(const struct uvmp_replay_params *params,
                                      struct uvmp_replay_state *state, const struct uvmp_replay_event *event)
{
	state->status = event->status;
	return event->status == UVMP_OK ? batch_done(params, state) : finish(params, state);
}

static enum position on_work_waited(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                    const struct uvmp_replay_event *event)
{
	state->status = event->status;
	return event->status == UVMP_OK ? CANCELLING_PRECISE : finish(params, state);
}

/* The replays within a cancel do not count as this bottom half's [driver: flush]; neither does its
 * throttling. */
static enum position on_cancelled(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                  const struct uvmp_replay_event *event)
{
	state->status = event->status;
	if (event->status != UVMP_OK)
		return finish(params, state);
	state->batches++;
	return loop_head(params, state);
}

static enum position on_batch_cancelled(const struct uvmp_replay_params *params,
                                        struct uvmp_replay_state *state,
                                        const struct uvmp_replay_event *event)
{
	(void)event;
	return finish(params, state);
}

/* [driver: service-limit-zero]: the status of the last replay replaces an earlier error. */
static enum position on_end_pushed(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                   const struct uvmp_replay_event *event)
{
	if (params->quirks || state->status == UVMP_OK)
		state->status = event->status;
	return IDLE;
}

/* One row per position: what the host does there, the event that answers it, the rule that takes the answer.
 * Rows of a macro, because a table of function pointers would have to be relocated, and so be written. */
#define ROWS(ROW)                                                                                            \
	ROW(FETCHING, UVMP_REPLAY_FETCH, UVMP_REPLAY_EVENT_FETCHED, on_fetched)                              \
	ROW(PREPROCESSING, UVMP_REPLAY_PREPROCESS, UVMP_REPLAY_EVENT_PREPROCESSED, on_preprocessed)          \
	ROW(SERVICING, UVMP_REPLAY_SERVICE, UVMP_REPLAY_EVENT_SERVICED, on_serviced)                         \
	ROW(PUSHING_BLOCK, UVMP_REPLAY_PUSH, UVMP_REPLAY_EVENT_DONE, on_block_pushed)                        \
	ROW(PUSHING_LAST_BLOCK, UVMP_REPLAY_PUSH, UVMP_REPLAY_EVENT_DONE, on_block_pushed)                   \
	ROW(PUSHING_BATCH, UVMP_REPLAY_PUSH, UVMP_REPLAY_EVENT_DONE, on_batch_pushed)                        \
	ROW(FLUSHING, UVMP_REPLAY_FLUSH, UVMP_REPLAY_EVENT_DONE, on_flushed)                                 \
	ROW(PUSHING_FLUSH, UVMP_REPLAY_PUSH, UVMP_REPLAY_EVENT_DONE, on_batch_pushed)                        \
	ROW(WAITING_REPLAY, UVMP_REPLAY_WAIT_REPLAY, UVMP_REPLAY_EVENT_DONE, on_replay_waited)               \
	ROW(WAITING_WORK, UVMP_REPLAY_WAIT_WORK, UVMP_REPLAY_EVENT_DONE, on_work_waited)                     \
	ROW(CANCELLING_PRECISE, UVMP_REPLAY_CANCEL_PRECISE, UVMP_REPLAY_EVENT_DONE, on_cancelled)            \
	ROW(CANCELLING_BATCH, UVMP_REPLAY_CANCEL_BATCH, UVMP_REPLAY_EVENT_DONE, on_batch_cancelled)          \
	ROW(PUSHING_END, UVMP_REPLAY_PUSH, UVMP_REPLAY_EVENT_DONE, on_end_pushed)

static const struct {
	enum uvmp_replay_action_kind action;
	enum uvmp_replay_event_kind answer;
} table[POSITIONS] = {
#define STEP(position, action, answer, rule) [position] = {action, answer},
        [IDLE] = {UVMP_REPLAY_STOP, UVMP_REPLAY_EVENT_DONE}, ROWS(STEP)};

static enum position take(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                          const struct uvmp_replay_event *event)
{
#define CALL(position, action, answer, rule)                                                                 \
	case position:                                                                                       \
		return rule(params, state, event);
	switch (state->position) {
	default: /* IDLE takes no event: joined to the first row */
		ROWS(CALL)
	}
}

static void go(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
               struct uvmp_replay_action *action, enum position position)
{
	state->position = position;
	action->kind = table[position].action;
	action->update_put = position == FLUSHING && uvmp_replay_update_put(state->cached, state->duplicates,
	                                                                    params->update_put_ratio);
	action->status = position == IDLE ? state->status : UVMP_OK;
}

void uvmp_replay_init(struct uvmp_replay_state *state)
{
	const struct uvmp_replay_state fresh = {.prefetch_faults = {true, 0}};

	if (state != NULL)
		*state = fresh;
}

bool uvmp_replay_is_valid(const struct uvmp_replay_state *state)
{
	return state != NULL && state->position < POSITIONS &&
	       (!state->prefetch_faults.is_enabled || state->prefetch_faults.disabled_since_ns == 0);
}

enum uvmp_status uvmp_replay_start(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                   struct uvmp_replay_action *action)
{
	if (params == NULL || action == NULL || !uvmp_replay_is_valid(state))
		return UVMP_ERR_ARGUMENT;
	if (state->position != IDLE)
		return UVMP_ERR_STATE;
	state->batches = 0;
	state->throttled = 0;
	state->replays = 0;
	state->status = UVMP_OK;
	go(params, state, action, loop_head(params, state));
	return UVMP_OK;
}

enum uvmp_status uvmp_replay_step(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                  const struct uvmp_replay_event *event, struct uvmp_replay_action *action)
{
	if (params == NULL || event == NULL || action == NULL || !uvmp_replay_is_valid(state))
		return UVMP_ERR_ARGUMENT;
	if (state->position == IDLE || event->kind != table[state->position].answer)
		return UVMP_ERR_STATE;
	go(params, state, action, take(params, state, event));
	return UVMP_OK;
}
