/* The bottom half of one GPU [driver: fetch, batch-order, batch-walk,
 * block-walk, permission-check, bottom-half]. It performs the actions of the replay state machine (replay.h).
 *
 * A batch is fetched, translated to address spaces and ordered (batch.c), and dispatched block by block (dispatch.c). The
 * walk over the faults of one block decides what each fault needs (walk.c); the block service then moves and maps the
 * pages. Fatal faults are cancelled in a separate round (cancel.c). */
#include "bottom_half_internal.h"

#include "block_service_internal.h"
#include "controllers_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

bool uvmpi_fault_is_due(struct uvmp_service *s, uint32_t gpu)
{
	return uvmp_fault_pending(&s->gpu[gpu].buffer, s->gpu[gpu].put);
}

bool uvmpi_fault_is_between(const struct uvmp_service *s)
{
	return s->fault.phase == FAULT_ACTION;
}

void uvmpi_fault_start(struct uvmp_service *s, uint32_t gpu)
{
	s->fault = (struct fault_run){
		.servicing = s->fault.servicing, .phase = FAULT_ACTION, .gpu = gpu, .follow = UVMP_PAGE_NONE};
	s->fault.was_enabled = s->gpu[gpu].replay.prefetch_faults.is_enabled;
	s->gpu[gpu].representatives = 0; /* of the batch before */
	s->gpu[gpu].counts.bottom_halves++;
	uvmp_replay_start(&s->gpu[gpu].params, &s->gpu[gpu].replay, &s->fault.action);
}

/* -- actions of the replay state machine -- */

static void end_bottom_half(struct uvmp_service *s)
{
	struct uvmp_action *a;

	if (gpu_of(s)->owes_replay) /* an error ended a chain */
		uvmpi_batch_replay(s);
	gpu_of(s)->is_chained = false;
	s->batch = 0;
	a = uvmpi_batch_queue(s, UVMP_ACTION_DONE);
	a->status = (int8_t)s->fault.action.status;
	s->fault.phase = FAULT_IDLE;
}

static void act_on_buffer(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	if (run->action.kind == UVMP_REPLAY_FETCH) {
		run->event.kind = UVMP_REPLAY_EVENT_FETCHED;
		uvmpi_batch_fetch(s, UVMP_FETCH_BATCH_READY);
		run->event.cached = gpu_of(s)->batch.cached;
	} else {
		run->event.kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		uvmpi_batch_announce(s);
		run->event.is_stale = !uvmpi_batch_order(s);
		run->fatal_gpu = 0;
		run->is_trimming = s->policy.free_buffer != 0 && !run->event.is_stale;
		run->is_leaving = s->policy.plan == UVMP_PLAN_UNOBTRUSIVE && !run->event.is_stale;
		run->servicing->eviction.status = UVMP_OK;
		uvmpi_memory_begin_batch(s, run->gpu);
		uvmpi_prefetch_switch(s);
		if (s->adapt.is_on)
			uvmpi_adapt_batch(s, run->gpu);
	}
}

static void act(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	run->event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_DONE};
	run->phase = FAULT_ANSWER;
	switch (run->action.kind) {
	case UVMP_REPLAY_STOP:
		end_bottom_half(s);
		break;
	case UVMP_REPLAY_FETCH:
	case UVMP_REPLAY_PREPROCESS:
		act_on_buffer(s);
		break;
	case UVMP_REPLAY_SERVICE:
		uvmpi_dispatch(s);
		break;
	case UVMP_REPLAY_PUSH:
		uvmpi_batch_replay(s);
		break;
	case UVMP_REPLAY_FLUSH:
		uvmpi_batch_flush(s, run->action.update_put);
		break;
	case UVMP_REPLAY_WAIT_REPLAY:
	case UVMP_REPLAY_WAIT_WORK:
		uvmpi_batch_wait(s, run->action.kind == UVMP_REPLAY_WAIT_WORK);
		break;
	case UVMP_REPLAY_CANCEL_PRECISE:
		uvmpi_cancel_start(s);
		break;
	default:
		if (!uvmpi_cancel_batch(s))
			run->phase = FAULT_ACTION;
		break;
	}
}

static void queue_toggle(struct uvmp_service *s)
{
	bool is_enabled = gpu_of(s)->replay.prefetch_faults.is_enabled;

	if (is_enabled == s->fault.was_enabled)
		return;
	s->fault.was_enabled = is_enabled;
	uvmpi_batch_queue(s, UVMP_ACTION_TOGGLE)->is_update = is_enabled;
}

/* All queued actions are completed: report the result to the replay state machine. */
static void report(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);
	struct uvmp_replay_params params = g->params;

	run->event.now_ns = s->now_ns;
	g->counts.duplicates += run->event.duplicates;
	g->counts.invalid_prefetches += run->event.invalid_prefetches;
	if (run->event.status == UVMP_OK)
		run->event.status = uvmpi_queue_status(s);
	if (run->event.kind == UVMP_REPLAY_EVENT_SERVICED && run->event.is_last)
		uvmpi_batch_serviced(s);
	if (g->is_chained)
		params.policy = UVMP_REPLAY_ONCE;
	uvmp_replay_step(&params, &g->replay, &run->event, &run->action);
	s->batch = g->replay.batch_id;
	queue_toggle(s);
	run->phase = FAULT_ACTION;
}

/* free_buffer: evicts until enough is free, no unit may be evicted, or an eviction fails. */
static bool trim(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	uvmp_addr start;

	run->is_trimming = run->is_trimming && run->servicing->eviction.status == UVMP_OK &&
			   uvmpi_batch_has_more(s, &start) && uvmpi_servicing_trim(s, run->servicing, run->gpu, start);
	return run->is_trimming;
}

/* Unobtrusive: if memory is full, evicts the first victim before the first block is serviced. The victim is
 * another block. */
static bool evict_first(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	const struct gpu *g = gpu_of(s);
	bool is_first = run->is_leaving;
	const struct uvmp_fault *fault;
	uvmp_addr start;

	run->is_leaving = false;
	if (!is_first || !uvmpi_batch_has_more(s, &start))
		return false;
	fault = &g->batch.entry[g->order_of[run->next_bin]];
	uvmpi_job_clear(&run->servicing->job,
			uvmpi_block_find(s, uvmpi_space_find(s, fault->va_space), start), run->gpu);
	return uvmpi_servicing_evict_ahead(s, run->servicing, run->gpu, start);
}

static void give_answer(struct uvmp_service *s)
{
	if (!trim(s) && !evict_first(s))
		report(s);
}

void uvmpi_fault_advance(struct uvmp_service *s)
{
	s->batch = gpu_of(s)->replay.batch_id;
	switch (s->fault.phase) {
	case FAULT_ACTION:
		act(s);
		break;
	case FAULT_JOB:
		uvmpi_dispatch_job_ended(s);
		if (s->fault.phase == FAULT_ANSWER)
			give_answer(s);
		break;
	case FAULT_ANSWER:
		give_answer(s);
		break;
	case FAULT_FOLLOW:
		uvmpi_dispatch_follow(s);
		break;
	default:
		uvmpi_cancel_advance(s);
		break;
	}
}
