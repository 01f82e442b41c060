/* Bottom half of the naive model: fetch, order, dispatch, cancel. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

bool naive_is_pending(const struct gpu *g)
{
	return g->get != g->put;
}

static uint32_t flush(struct gpu *g, bool update_put)
{
	uint32_t gone = 0;

	if (update_put)
		g->cached_put = g->put;
	while (g->get != g->cached_put) {
		g->get = (g->get + 1) % g->capacity;
		gone++;
	}
	return gone;
}

static void emit_flush(struct naive_service *n, bool update_put)
{
	struct uvmp_action *action = naive_emit(n, UVMP_ACTION_FLUSH, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->is_update = update_put;
	action->count = flush(&n->gpu[n->in_gpu], update_put);
}

static void emit_for_gpu(struct naive_service *n, enum uvmp_action_kind kind, bool is_update)
{
	struct uvmp_action *action = naive_emit(n, kind, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->is_update = is_update;
}

static void emit_cancel(struct naive_service *n, const struct uvmp_fault *f, enum uvmp_cause cause,
                        uint8_t mode)
{
	naive_emit_cancel(n, n->in_gpu, f->va_space, f->address, cause, mode, true);
	n->gpu[n->in_gpu].counts.cancelled++;
}

static void fetch(struct naive_service *n, enum uvmp_fetch_mode mode)
{
	struct gpu *g = &n->gpu[n->in_gpu];
	struct uvmp_fault_buffer buffer = {g->entry, g->capacity, g->get, g->cached_put};
	struct uvmp_fetch_params params = {n->policy.replay.max_batch, n->page_bytes, n->policy.coalesce,
	                                   n->policy.quirks};

	n->orders = n->position = 0;
	naive_fault_fetch(&params, mode, g->put, &buffer, g->capacity, UINT32_MAX, n->fetch);
	g->get = n->fetch->get;
	g->cached_put = n->fetch->cached_put;
	if (n->fetch->cached > 0) {
		g->counts.batches++;
		g->counts.faults += n->fetch->cached;
		g->counts.coalesced += n->fetch->coalesced;
	}
}

static struct channel *find_channel(struct naive_service *n, const struct uvmp_fault *f)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == n->in_gpu && c->aperture == f->aperture &&
		    c->instance == f->instance && c->subcontext == f->subcontext)
			return c;
	}
	return NULL;
}

static bool has_sibling(struct naive_service *n, const struct uvmp_fault *f)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == n->in_gpu && c->aperture == f->aperture &&
		    c->instance == f->instance)
			return true;
	}
	return false;
}

/* Order and channels; false: one is dead, all is flushed. */
static bool preprocess(struct naive_service *n)
{
	struct naive_fetch *f = n->fetch;
	struct uvmp_action *action = naive_emit(n, UVMP_ACTION_BATCH, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->count = f->cached;
	action->detail = f->coalesced;
	n->orders = 0;
	for (uint32_t i = 0; i < f->cached; i++)
		if (!f->entry[i].is_filtered)
			n->order[n->orders++] = i;
	if (!f->is_single_instance)
		naive_fault_order_by_instance(f->entry, n->order, n->orders);
	for (uint32_t i = 0; i < n->orders; i++) {
		struct uvmp_fault *e = &f->entry[n->order[i]];
		struct channel *c = find_channel(n, e);

		if (c == NULL) {
			if (has_sibling(n, e)) {
				action = naive_emit(n, UVMP_ACTION_CANCEL, UVMP_CAUSE_FATAL);
				action->to = (uint8_t)n->in_gpu;
				action->cancel_mode = UVMP_CANCEL_ALL;
				n->gpu[n->in_gpu].counts.cancelled++;
			}
			n->orders = 0;
			emit_flush(n, true);
			emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
			return false;
		}
		e->va_space = c->space;
		e->gpu = n->in_gpu;
	}
	naive_fault_order(f->entry, n->order, n->orders);
	n->position = 0;
	n->has_fatal = false;
	memset(n->is_fatal, 0, sizeof(n->is_fatal));
	return true;
}

static void mark_fatal(struct naive_service *n, uint32_t position, enum uvmp_cancel_mode mode)
{
	const struct uvmp_fault *f = &n->fetch->entry[n->order[position]];

	if (!n->has_fatal)
		n->fatal_space = f->va_space;
	n->has_fatal = true;
	n->is_fatal[position] = true;
	n->cancel_mode[position] = (uint8_t)mode;
}

/* One walk over the faults of a block; returns how many they are. */
static uint32_t walk(struct naive_service *n, struct block_service *s, struct uvmp_replay_event *event)
{
	struct block *b = s->block;
	struct uvmp_fault *entry = n->fetch->entry;
	const struct uvmp_fault *previous = NULL;
	struct uvmp_fault_verdict verdict, before;
	uvmp_addr end = b->start + (uint64_t)b->pages * n->page_bytes - 1;
	uint32_t k = n->position;

	memset(&before, 0, sizeof(before));
	for (; k < n->orders; k++) {
		struct uvmp_fault *f = &entry[n->order[k]];
		uint32_t i = (uint32_t)((f->address - b->start) / n->page_bytes);
		struct uvmp_fault_facts facts = {.right = b->range->right, .is_retry = s->is_retry};
		uint64_t until_ns;

		if (f->va_space != b->space || f->address > end)
			break;
		facts.mapped = (enum uvmp_right)b->page[i].right[n->in_gpu];
		naive_fault_classify(f, &facts, previous, previous == NULL ? NULL : &before, &verdict);
		if (!s->is_retry) {
			event->duplicates += f->num_instances - (verdict.is_duplicate ? 0 : 1);
			event->invalid_prefetches += verdict.invalid_prefetches;
		}
		if (verdict.is_fatal)
			mark_fatal(n, k, verdict.cancel_mode);
		if (verdict.service_access != UVMP_ACCESS_NONE &&
		    naive_choose_destination(n, s, i, verdict.service_access, verdict.service_mask, UVMP_OPERATION_FAULT,
		           &until_ns) &&
		    !s->is_retry) {
			naive_emit_throttle(n, b, n->in_gpu, i, until_ns);
			verdict.is_throttled = true;
			event->has_throttled = true;
		}
		previous = f;
		before = verdict;
	}
	return k - n->position;
}

static void dispatch_block(struct naive_service *n, struct range *range, struct uvmp_replay_event *event)
{
	struct block *b = naive_make_block(n, range, n->fetch->entry[n->order[n->position]].address);
	struct block_service *s = malloc(sizeof(*s));

	event->status = UVMP_ERR_RETRY;
	for (uint32_t k = 0; k < WALKS && event->status == UVMP_ERR_RETRY; k++) {
		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = n->in_gpu;
		s->cause = UVMP_CAUSE_DEMAND;
		s->migrate_cause = UVMP_MIGRATE_FAULT;
		s->is_prefetching = true;
		s->is_retry = k > 0;
		n->walked = walk(n, s, event);
		naive_look_ahead(n);
		event->status = naive_perform_group(n); /* what is throttled */
		if (event->status == UVMP_OK)
			event->status = naive_serve_block(n, s);
	}
	if (event->status == UVMP_ERR_RETRY)
		event->status = UVMP_ERR_NO_MEMORY;
	free(s);
	naive_unpin_all(n);
	n->position += n->walked;
	n->walked = 0;
}

/* The next block of the batch. */
static void dispatch(struct naive_service *n, struct uvmp_replay_event *event)
{
	struct uvmp_fault *f = NULL;
	struct range *range;

	for (; n->position < n->orders; n->position++) {
		f = &n->fetch->entry[n->order[n->position]];
		if (!f->is_fatal)
			break;
		mark_fatal(n, n->position, UVMP_CANCEL_ALL);
	}
	if (n->position == n->orders) {
		event->is_none = true;
	} else {
		range = naive_find_range(n, f->va_space, f->address);
		if (range != NULL) {
			dispatch_block(n, range, event);
		} else {
			if (n->position == 0 ||
			    !uvmp_fault_is_same_page(&n->fetch->entry[n->order[n->position - 1]], f))
				event->duplicates--;
			event->duplicates += f->num_instances;
			if (f->access == UVMP_ACCESS_PREFETCH)
				event->invalid_prefetches += f->num_instances;
			else
				mark_fatal(n, n->position, UVMP_CANCEL_ALL);
			n->position++;
		}
	}
	event->is_last = n->position == n->orders;
	event->has_fatal = n->has_fatal;
}

static void cancel_batch(struct naive_service *n)
{
	uint32_t cancelled = 0;

	for (uint32_t i = 0; i < n->orders; i++) {
		if (++cancelled % 1024 == 0)
			(void)naive_perform_group(n);
		emit_cancel(n, &n->fetch->entry[n->order[i]], UVMP_CAUSE_ERROR, UVMP_CANCEL_ALL);
	}
	n->position = n->orders;
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	(void)naive_perform_group(n);
}

static enum uvmp_status cancel_precise(struct naive_service *n)
{
	uint64_t space = n->fatal_space;
	struct uvmp_replay_event event;

	emit_for_gpu(n, UVMP_ACTION_WAIT, false);
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	emit_for_gpu(n, UVMP_ACTION_WAIT, false);
	(void)naive_perform_group(n);
	fetch(n, UVMP_FETCH_ALL);
	if (n->fetch->cached > 0) {
		bool is_alive = preprocess(n);

		(void)naive_perform_group(n);
		if (!is_alive)
			return UVMP_OK;
		while (n->position < n->orders) {
			const struct uvmp_fault *f = &n->fetch->entry[n->order[n->position]];

			memset(&event, 0, sizeof(event));
			if (f->is_fatal)
				mark_fatal(n, n->position++, UVMP_CANCEL_ALL);
			else if (f->va_space != space)
				n->position++;
			else
				dispatch(n, &event); /* what it could not bring ends nothing */
		}
		for (uint32_t i = 0; i < n->orders; i++)
			if (n->is_fatal[i])
				emit_cancel(n, &n->fetch->entry[n->order[i]], UVMP_CAUSE_FATAL,
				            n->cancel_mode[i]);
		(void)naive_perform_group(n);
	}
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	return naive_perform_group(n);
}

static void report_toggle(struct naive_service *n)
{
	struct naive_replay *replay = &n->gpu[n->in_gpu].replay;

	if (replay->is_prefetch_enabled == n->was_prefetch_enabled)
		return;
	n->was_prefetch_enabled = replay->is_prefetch_enabled;
	emit_for_gpu(n, UVMP_ACTION_TOGGLE, replay->is_prefetch_enabled);
	(void)naive_perform_group(n);
}

static struct uvmp_replay_event perform_replay(void *host, enum uvmp_replay_action_kind kind, bool update_put)
{
	struct naive_service *n = host;
	struct uvmp_replay_event event;

	memset(&event, 0, sizeof(event));
	n->batch = n->gpu[n->in_gpu].replay.batch_id;
	report_toggle(n);
	while (n->requests > 0)
		naive_serve_request(n);
	switch (kind) {
	case UVMP_REPLAY_FETCH:
		fetch(n, UVMP_FETCH_BATCH_READY);
		event.cached = n->fetch->cached;
		break;
	case UVMP_REPLAY_PREPROCESS:
		event.is_stale = !preprocess(n);
		event.status = naive_perform_group(n);
		naive_switch_prefetcher(n);
		if (!event.is_stale && n->policy.free_buffer != 0)
			naive_keep_free(n);
		break;
	case UVMP_REPLAY_SERVICE:
		dispatch(n, &event);
		n->gpu[n->in_gpu].counts.duplicates += event.duplicates;
		n->gpu[n->in_gpu].counts.invalid_prefetches += event.invalid_prefetches;
		break;
	case UVMP_REPLAY_PUSH:
		emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
		event.status = naive_perform_group(n);
		break;
	case UVMP_REPLAY_FLUSH:
		emit_flush(n, update_put);
		event.status = naive_perform_group(n);
		break;
	case UVMP_REPLAY_WAIT_REPLAY:
	case UVMP_REPLAY_WAIT_WORK:
		emit_for_gpu(n, UVMP_ACTION_WAIT, kind == UVMP_REPLAY_WAIT_WORK);
		event.status = naive_perform_group(n);
		break;
	case UVMP_REPLAY_CANCEL_PRECISE:
		event.status = cancel_precise(n);
		break;
	case UVMP_REPLAY_CANCEL_BATCH:
		cancel_batch(n);
		break;
	case UVMP_REPLAY_STOP:
		break;
	}
	if (event.status != UVMP_OK)
		n->replay_error = event.status;
	event.now_ns = n->now;
	return event;
}

void naive_bottom_half(struct naive_service *n, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct uvmp_replay_params params = n->policy.replay;
	struct uvmp_action *action;
	enum uvmp_status status;

	if (params.max_batch < 1)
		params.max_batch = 1;
	if (params.max_batch > g->capacity)
		params.max_batch = g->capacity;
	n->in_gpu = gpu;
	n->orders = n->position = 0;
	n->was_prefetch_enabled = g->replay.is_prefetch_enabled;
	g->counts.bottom_halves++;
	status = naive_replay_run(&g->replay, &params, perform_replay, n);
	n->batch = g->replay.batch_id;
	report_toggle(n);
	while (n->requests > 0)
		naive_serve_request(n);
	n->batch = 0;
	action = naive_emit(n, UVMP_ACTION_DONE, UVMP_CAUSE_NONE);
	action->to = (uint8_t)gpu;
	action->status = (int8_t)status;
	(void)naive_perform_group(n);
	n->in_gpu = 0;
}
