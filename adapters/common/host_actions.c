/* What each action of the engine does: page tables, frames, copies and their times. */
#include "host_internal.h"

#include <string.h>

/* -- copies -- */

/* One run of pages of a copy, in contiguous frames on both sides. */
static void set_frames(const struct uvmp_host *h, const struct uvmp_action *a, uint32_t page,
		       struct uvmp_host_copy *copy)
{
	uvmp_addr address = hostkit_address(h, a, page);

	copy->from_frame = copy->to_frame = UVMP_HOST_NO_FRAME;
	if (a->kind == UVMP_ACTION_COPY && a->from != UVMP_CPU)
		copy->from_frame = hostkit_frame(h, a->from, address);
	if (a->to != UVMP_CPU)
		copy->to_frame = hostkit_frame(h, a->to, address);
}

static bool follows(uint64_t frame, uint64_t first, uint64_t bytes)
{
	return frame == (first == UVMP_HOST_NO_FRAME ? UVMP_HOST_NO_FRAME : first + bytes);
}

/* The pieces of a transfer: part of *pages from `first` on; fills *copy. */
static struct uvmp_region next_piece(const struct uvmp_host *h, const struct uvmp_action *a, uint32_t first,
				     uint32_t end, struct uvmp_host_copy *copy)
{
	struct uvmp_region piece = {first, first + 1u};
	struct uvmp_host_copy next;

	set_frames(h, a, first, copy);
	copy->address = hostkit_address(h, a, first);
	copy->bytes = h->options.page_bytes;
	for (; piece.end < end; piece.end++) {
		set_frames(h, a, piece.end, &next);
		if (!follows(next.from_frame, copy->from_frame, copy->bytes) ||
		    !follows(next.to_frame, copy->to_frame, copy->bytes))
			break;
		copy->bytes += h->options.page_bytes;
	}
	return piece;
}

/* Begins one piece. Its time follows that of the piece before; without times all begin at once. */
static void begin_piece(struct uvmp_host *h, struct hostkit_action *act, struct uvmp_region piece,
			struct uvmp_host_copy *copy)
{
	copy->id = h->first_piece_id + h->pieces;
	copy->now_ns = act->end_ns;
	if (h->options.copy != NULL) {
		h->piece[h->pieces++] = (struct hostkit_piece){.action = (uint32_t)(act - h->action), .pages = piece};
		act->pieces++;
		h->options.copy(h->options.user, copy);
		return;
	}
	h->first_piece_id++; /* ids count on */
	if (h->options.copy_ns != NULL)
		act->end_ns = hostkit_after(act->end_ns, h->options.copy_ns(h->options.user, copy));
	uvmp_mask_region_set(&act->moved, piece);
}

static void begin_transfer(struct uvmp_host *h, struct hostkit_action *act, struct uvmp_region transfer)
{
	const struct uvmp_action *a = act->action;
	struct uvmp_host_copy copy = {.from = a->kind == UVMP_ACTION_COPY ? a->from : UVMP_PROC_NONE,
				      .to = a->to,
				      .cause = (enum uvmp_cause)a->cause,
				      .is_zero_fill = a->kind == UVMP_ACTION_POPULATE};
	struct uvmp_region piece;

	for (uint32_t first = transfer.first; first < transfer.end; first = piece.end) {
		piece = next_piece(h, a, first, transfer.end, &copy);
		begin_piece(h, act, piece, &copy);
		copy.part++;
	}
}

/* A host of asynchronous copies may report the end from inside: the action is not over before all have begun. */
static void begin_copies(struct uvmp_host *h, struct hostkit_action *act)
{
	const struct uvmp_action *a = act->action;
	struct uvmp_region transfer;

	act->pieces = 1;
	for (transfer = uvmp_action_next_transfer(a, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(a, transfer.end))
		begin_transfer(h, act, transfer);
	act->pieces--;
}

/* Space for the pieces: at most one for each page. */
static bool reserve_pieces(struct uvmp_host *h, const struct uvmp_action *a)
{
	void *array;

	if (h->options.copy == NULL || (a->kind != UVMP_ACTION_COPY && a->kind != UVMP_ACTION_POPULATE))
		return true;
	array = hostkit_reserve(h, h->piece, &h->piece_capacity, h->pieces,
				h->pieces + uvmp_mask_weight(&a->pages), sizeof(*h->piece));
	if (array == NULL)
		return false;
	h->piece = array;
	return true;
}

/* The pages that a fault or another need of a GPU brought along. */
static uint32_t prefetched_pages(const struct uvmp_action *a, uint32_t pages)
{
	uint32_t faulted = 0;
	struct uvmp_region transfer;

	if (a->cause != UVMP_CAUSE_PREFETCH && a->cause != UVMP_CAUSE_DEMAND && a->cause != UVMP_CAUSE_PIN)
		return 0;
	for (transfer = uvmp_action_next_transfer(a, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(a, transfer.end))
		faulted += uvmp_action_faulted(a, transfer);
	return faulted < pages ? pages - faulted : 0;
}

static void count_copy(struct uvmp_host *h, const struct hostkit_action *act)
{
	const struct uvmp_action *a = act->action;
	struct uvmp_host_counts *c = &h->counts;
	uint32_t pages = uvmp_mask_weight(&act->moved), transfers = uvmp_action_transfers(a);
	uint64_t bytes = (uint64_t)pages * h->options.page_bytes;

	c->copy_failures += act->status != UVMP_OK;
	if (a->to != UVMP_CPU) {
		c->pages_prefetched += prefetched_pages(a, pages);
		h->arrived += pages;
	}
	if (a->kind == UVMP_ACTION_POPULATE) {
		c->pages_zeroed += a->to != UVMP_CPU ? pages : 0;
	} else if (a->to == UVMP_CPU) {
		c->pages_out += pages;
		c->bytes_out += bytes;
		c->copies_out += transfers;
		c->pages_evicted += a->cause == UVMP_CAUSE_EVICTION ? pages : 0;
	} else if (a->from == UVMP_CPU) {
		c->pages_in += pages;
		c->bytes_in += bytes;
		c->copies_in += transfers;
	} else {
		c->pages_peer += pages;
		c->bytes_peer += bytes;
		c->copies_peer += transfers;
	}
}

enum uvmp_status uvmp_host_copied(struct uvmp_host *h, uint64_t id, enum uvmp_status status, uint64_t now_ns)
{
	struct hostkit_piece *piece;
	struct hostkit_action *act;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (status > UVMP_OK)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_copied: a status is 0 or negative");
	if (id < h->first_piece_id || id - h->first_piece_id >= h->pieces ||
	    h->piece[id - h->first_piece_id].is_ended)
		return hostkit_fail(h, UVMP_ERR_STATE, "uvmp_host_copied: no such copy is in progress");
	piece = &h->piece[id - h->first_piece_id];
	act = &h->action[piece->action];
	piece->is_ended = true;
	h->latest_ns = hostkit_later(h->latest_ns, now_ns);
	act->end_ns = hostkit_later(act->end_ns, h->latest_ns);
	if (status == UVMP_OK)
		uvmp_mask_region_set(&act->moved, piece->pages);
	else if (act->status == UVMP_OK)
		act->status = status;
	act->pieces--;
	if (act->pieces == 0)
		h->next_ns = hostkit_sooner(h->next_ns, act->end_ns);
	return UVMP_OK;
}

/* -- other actions -- */

static void begin_batch(struct uvmp_host *h, struct hostkit_action *act)
{
	const struct uvmp_action *a = act->action;

	h->operation++;
	if (a->cause == UVMP_CAUSE_COUNTER)
		return;
	h->counts.batches++;
	h->counts.fetched += a->faults;
	h->counts.coalesced += a->merged_faults;
	h->fetched += a->faults;
	act->end_ns = hostkit_after(hostkit_after(act->end_ns, h->options.batch_ns),
				    h->options.fault_ns > HOSTKIT_NEVER / (a->faults + 1u)
					    ? HOSTKIT_NEVER
					    : h->options.fault_ns * a->faults);
}

static void throttle(struct uvmp_host *h, const struct uvmp_action *a)
{
	h->counts.throttles++;
	if (a->to == UVMP_CPU)
		h->cpu_throttled_ns = a->until_ns;
	else
		h->throttled_ns = a->until_ns;
}

static void end_operation(struct uvmp_host *h, const struct uvmp_action *a)
{
	h->operation++;
	if (a->ticket != 0)
		hostkit_request_ended(h, a->ticket, (enum uvmp_status)a->status);
	else if (a->cause != UVMP_CAUSE_COUNTER && a->to != UVMP_CPU && a->to <= h->options.gpus)
		hostkit_bottom_half_ended(h, a->to);
}

static void limit(struct uvmp_host *h, const struct uvmp_action *a)
{
	if (h->options.limit != NULL)
		h->options.limit(h->options.user, a->to, a->stopped_sms, a->extra_blocks, h->clock_ns);
}

/* The effects of actions that have no time of their own. */
static void begin_other(struct uvmp_host *h, struct hostkit_action *act)
{
	const struct uvmp_action *a = act->action;

	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		begin_batch(h, act);
		break;
	case UVMP_ACTION_ALLOCATE:
		act->status = hostkit_frames_allocate(h, a) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
		break;
	case UVMP_ACTION_MAP:
		hostkit_map(h, a);
		break;
	case UVMP_ACTION_UNMAP:
	case UVMP_ACTION_REVOKE:
		hostkit_unmap(h, a);
		hostkit_frames_depart(h, a, a->to);
		break;
	case UVMP_ACTION_EVICT:
		h->counts.evictions += a->part == 0;
		hostkit_frames_depart(h, a, a->from);
		break;
	case UVMP_ACTION_DISCARD:
		hostkit_frames_depart(h, a, a->from);
		break;
	case UVMP_ACTION_FREE:
		hostkit_frames_free(h, a);
		break;
	case UVMP_ACTION_REPLAY:
		act->end_ns = hostkit_after(act->end_ns, h->options.replay_ns);
		break;
	case UVMP_ACTION_THROTTLE:
		throttle(h, a);
		break;
	case UVMP_ACTION_CANCEL:
		hostkit_cancel(h, a);
		break;
	case UVMP_ACTION_CLEAR:
		hostkit_counter_clear(h, a);
		break;
	case UVMP_ACTION_LIMIT:
		limit(h, a);
		break;
	case UVMP_ACTION_DONE:
		end_operation(h, a);
		break;
	default: /* for the log, or done by what follows */
		break;
	}
}

/* -- both ends of an action -- */

static bool is_copy(const struct uvmp_action *a)
{
	return a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE;
}

bool hostkit_begin(struct uvmp_host *h, uint32_t index)
{
	struct hostkit_action *act = &h->action[index];

	if (!hostkit_prepare(h, act->action) || !reserve_pieces(h, act->action))
		return hostkit_be_short(h);
	act->state = HOSTKIT_RUNNING;
	act->end_ns = h->clock_ns;
	if (!is_copy(act->action))
		begin_other(h, act);
	else if (hostkit_frames_arrive(h, act->action))
		begin_copies(h, act);
	else
		act->status = UVMP_ERR_NO_MEMORY;
	return true;
}

void hostkit_end(struct uvmp_host *h, uint32_t index)
{
	struct hostkit_action *act = &h->action[index];
	const struct uvmp_action *a = act->action;

	if (is_copy(a)) {
		count_copy(h, act);
		hostkit_frames_landed(h, a);
		hostkit_frames_depart(h, a, act->status == UVMP_OK ? a->from : a->to);
	}
	if (a->kind == UVMP_ACTION_REPLAY)
		hostkit_replay(h, a->to);
	act->state = HOSTKIT_ENDED;
	(void)uvmp_service_complete_pages(h->service, act->id, act->status, &act->moved);
}
