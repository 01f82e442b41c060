/* Cancelling [driver: flush]: of fatal faults, in a round of its own that flushes, replays, fetches the retried faults
 * and cancels the fatal ones; and of a whole batch after an error. bottom_half_internal.h. */
#include "bottom_half_internal.h"

#include "queue_internal.h"
#include "space_internal.h"

#define CANCELS_MAX 1024u /* queued at a time */

static void queue_cancel(struct uvmp_service *s, uint32_t index, uint8_t mode, enum uvmp_cause cause)
{
	const struct uvmp_fault *fault = &gpu_of(s)->batch.entry[index];
	uint32_t slot = uvmpi_space_find(s, fault->va_space);
	handle h = slot == NO_INDEX ? 0 : uvmpi_block_find(s, slot, fault->address);
	struct uvmp_action *a;
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (h != 0)
		uvmp_mask_set(&pages, block_page(s, block_at(s, h), fault->address));
	a = uvmpi_queue(s, UVMP_ACTION_CANCEL, cause, h, &pages);
	a->to = (uint8_t)s->fault.gpu;
	a->cancel_mode = mode;
	if (cause == UVMP_CAUSE_ERROR)
		a->status = (int8_t)gpu_of(s)->replay.status;
	gpu_of(s)->counts.cancelled++;
	if (h == 0) {
		a->space = fault->va_space;
		a->address = fault->address;
		a->page_bytes = s->page_bytes;
	}
}

/* Queues cancels from next_bin on, of fatal faults only or of all faults; true after the last one. */
static bool queue_cancels(struct uvmp_service *s, bool only_fatal)
{
	struct fault_run *run = &s->fault;
	const struct gpu *g = gpu_of(s);

	for (uint32_t i = 0; i < CANCELS_MAX && run->next_bin < g->representatives; i++, run->next_bin++) {
		uint32_t index = g->order_of[run->next_bin];

		if (!only_fatal)
			queue_cancel(s, index, UVMP_CANCEL_ALL, UVMP_CAUSE_ERROR);
		else if (g->fatal[index] != 0)
			queue_cancel(s, index, (uint8_t)(g->fatal[index] - 1u), UVMP_CAUSE_FATAL);
	}
	return run->next_bin >= g->representatives;
}

enum { CANCEL_FLUSH, CANCEL_FETCH, CANCEL_SERVE, CANCEL_FATAL, CANCEL_REPLAY, CANCEL_END };

static void cancel_fetch(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	uvmpi_batch_fetch(s, UVMP_FETCH_ALL);
	if (gpu_of(s)->batch.cached == 0) {
		run->cancel = CANCEL_REPLAY;
		return;
	}
	uvmpi_batch_announce(s);
	run->cancel = uvmpi_batch_order(s) ? CANCEL_SERVE : CANCEL_END;
}

static void end_cancel(struct uvmp_service *s, enum uvmp_status status)
{
	struct fault_run *run = &s->fault;

	run->is_cancelling = false;
	run->fatal_gpu = 0;
	run->cancel = 0; /* also the start of a cancelled batch */
	run->event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_DONE, .status = status};
	run->phase = FAULT_ANSWER;
}

/* A failed action of the cancel itself ends it. A failed dispatch
 * inside it does not: the queue is empty again by then. */
void uvmpi_cancel_advance(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	enum uvmp_status status = uvmpi_queue_status(s);

	if (run->is_cancelling && status != UVMP_OK) {
		end_cancel(s, status);
		return;
	}
	switch (run->cancel) {
	case CANCEL_FLUSH:
		run->is_cancelling = true;
		uvmpi_batch_wait(s, false);
		uvmpi_batch_replay_all(s);
		uvmpi_batch_wait(s, false);
		run->cancel = CANCEL_FETCH;
		break;
	case CANCEL_FETCH:
		cancel_fetch(s);
		break;
	case CANCEL_SERVE:
		if (run->next_bin < gpu_of(s)->representatives) {
			uvmpi_dispatch(s);
			break;
		}
		run->next_bin = 0;
		run->cancel = CANCEL_FATAL;
		break;
	case CANCEL_FATAL:
		if (queue_cancels(s, true))
			run->cancel = CANCEL_REPLAY;
		break;
	case CANCEL_REPLAY:
		uvmpi_batch_replay_all(s);
		run->cancel = CANCEL_END;
		break;
	default:
		end_cancel(s, UVMP_OK);
		break;
	}
}

void uvmpi_cancel_start(struct uvmp_service *s)
{
	s->fault.cancel = CANCEL_FLUSH;
	s->fault.phase = FAULT_CANCEL;
	uvmpi_cancel_advance(s);
}

bool uvmpi_cancel_batch(struct uvmp_service *s)
{
	if (s->fault.cancel == 0)
		s->fault.next_bin = 0;
	s->fault.cancel = 1;
	if (!queue_cancels(s, false))
		return false;
	s->fault.cancel = 0;
	uvmpi_batch_replay_all(s);
	return true;
}
