/* Requests of the program, and faults of the CPU, which the engine takes as requests. */
#include "host_internal.h"

/* -- queues -- */

/* -- the end of a request -- */

static void leave(struct uvmp_host *h, struct hostkit_request *r)
{
	h->requests--;
	r->is_used = false;
}

static void finish(struct uvmp_host *h, struct hostkit_request *r, enum uvmp_status status)
{
	struct uvmp_host_done done = {r->event.number, status, h->clock_ns};

	leave(h, r);
	if (h->options.done != NULL)
		h->options.done(h->options.user, &done);
}

static void answer(struct uvmp_host *h, const struct hostkit_event *event, bool is_cancelled,
		   enum uvmp_status status)
{
	struct uvmp_host_waiter waiter = {.processor = UVMP_CPU,
					  .warp = event->warp,
					  .address = event->address,
					  .access = event->access,
					  .since_ns = event->time_ns,
					  .now_ns = h->clock_ns};

	hostkit_answer(h, &waiter, is_cancelled, status);
}

/* -- handing over to the engine -- */

static uint64_t last_of(const struct hostkit_event *event)
{
	return event->address + (event->bytes - 1u);
}

/* If the memory cannot be managed, the engine refuses the fault. */
static enum uvmp_status submit_cpu_fault(struct uvmp_host *h, struct hostkit_request *r)
{
	uvmp_addr page = hostkit_page_of(h, r->event.address);
	bool is_read = r->event.access == UVMP_ACCESS_READ;

	h->napping -= r->retry_ns != 0;
	r->retry_ns = 0;
	r->tries++;
	(void)hostkit_range_touch(h, page);
	return uvmp_service_cpu_fault(h->service, UVMP_HOST_SPACE, page,
				      is_read ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE, r->event.warp, &r->ticket);
}

/* The next managed piece of the part; UVMP_ERR_RETRY: nothing is left. */
static enum uvmp_status submit_free_part(struct uvmp_host *h, struct hostkit_request *r)
{
	struct hostkit_range piece = {r->at, last_of(&r->event), 0, UVMP_PROC_NONE};

	if (r->is_over || (h->options.is_all_managed && !hostkit_range_in(h, r->at, piece.last, &piece)))
		return UVMP_ERR_RETRY;
	if (!hostkit_range_reserve(h, 1))
		return UVMP_ERR_NO_MEMORY;
	r->at = piece.start;
	r->piece_last = piece.last;
	return uvmp_service_free_part(h->service, UVMP_HOST_SPACE, piece.start, piece.last - piece.start + 1u,
				      &r->ticket);
}

static enum uvmp_status submit_on_pages(struct uvmp_host *h, struct hostkit_request *r)
{
	const struct hostkit_event *e = &r->event;
	enum uvmp_status status = hostkit_range_touch_all(h, e->address, last_of(e));

	if (status != UVMP_OK)
		return status;
	return e->kind == HOSTKIT_PREFETCH
		       ? uvmp_service_migrate(h->service, UVMP_HOST_SPACE, e->address, e->bytes, e->processor,
					      &r->ticket)
		       : uvmp_service_advise(h->service, UVMP_HOST_SPACE, e->address, e->bytes, e->advice,
					     e->processor, &r->ticket);
}

static enum uvmp_status submit(struct uvmp_host *h, struct hostkit_request *r)
{
	switch (r->event.kind) {
	case HOSTKIT_CPU_FAULT:
		return submit_cpu_fault(h, r);
	case HOSTKIT_FREE:
		return uvmp_service_free_range(h->service, UVMP_HOST_SPACE, r->event.address, &r->ticket);
	case HOSTKIT_FREE_PART:
		return submit_free_part(h, r);
	default:
		return submit_on_pages(h, r);
	}
}

/* A slot for the request. There is one: HOSTKIT_ACTIVE were counted. */
static struct hostkit_request *enter(struct uvmp_host *h, const struct hostkit_event *event)
{
	struct hostkit_request *r = h->request;

	while (r->is_used)
		r++;
	*r = (struct hostkit_request){.event = *event,
				      .is_used = true,
				      .at = event->address,
				      .is_over = event->bytes == 0};
	h->requests++;
	return r;
}

/* A range is added behind the frees before it. False: it has to wait. */
static bool add(struct uvmp_host *h, const struct hostkit_event *event)
{
	enum uvmp_status status;

	if (h->requests != h->napping)
		return false;
	status = hostkit_range_add(h, event->address, last_of(event), event->processor);
	if (status == UVMP_ERR_NO_MEMORY)
		return hostkit_be_short(h);
	(void)hostkit_fifo_pop(&h->queued);
	finish(h, enter(h, event), status);
	return true;
}

/* The first request of the queue. False: it has to wait. */
static bool submit_first(struct uvmp_host *h)
{
	struct hostkit_event event = h->queued.event[h->queued.first];
	struct hostkit_request *r;
	enum uvmp_status status;

	if (event.kind == HOSTKIT_ADD)
		return add(h, &event);
	if (h->requests == HOSTKIT_ACTIVE)
		return false;
	if (event.kind == HOSTKIT_CPU_FAULT && hostkit_may(h, UVMP_CPU, event.address, event.access)) {
		(void)hostkit_fifo_pop(&h->queued);
		answer(h, &event, false, UVMP_OK);
		return true;
	}
	r = enter(h, &event);
	status = submit(h, r);
	if (status == UVMP_ERR_NO_MEMORY) {
		leave(h, r);
		return hostkit_be_short(h);
	}
	(void)hostkit_fifo_pop(&h->queued);
	if (status != UVMP_OK)
		finish(h, r, status == UVMP_ERR_RETRY ? UVMP_OK : status);
	return true;
}

bool hostkit_submit(struct uvmp_host *h)
{
	bool is_some = false;

	for (uint32_t i = 0; h->napping != 0 && i < HOSTKIT_ACTIVE; i++) {
		struct hostkit_request *r = &h->request[i];

		if (!r->is_used || r->retry_ns == 0 || r->retry_ns > h->clock_ns)
			continue;
		(void)submit_cpu_fault(h, r);
		is_some = true;
	}
	while (h->queued.count != 0 && !h->is_short && submit_first(h))
		is_some = true;
	return is_some;
}

uint64_t hostkit_retry_ns(const struct uvmp_host *h)
{
	uint64_t first = HOSTKIT_NEVER;

	for (uint32_t i = 0; h->napping != 0 && i < HOSTKIT_ACTIVE; i++)
		if (h->request[i].is_used && h->request[i].retry_ns != 0)
			first = hostkit_sooner(first, h->request[i].retry_ns);
	return first;
}

/* -- DONE -- */

/* A page that left the CPU again before its thread could use it faults again; so does one whose memory is to be managed
 * again. */
static void cpu_fault_ended(struct uvmp_host *h, struct hostkit_request *r, enum uvmp_status status)
{
	struct hostkit_event event = r->event;
	bool may_go_on = hostkit_may(h, UVMP_CPU, event.address, event.access);
	bool may_retry = status == UVMP_OK ||
			 (status == UVMP_ERR_UNKNOWN && h->options.is_all_managed &&
			  hostkit_range_touch(h, hostkit_page_of(h, event.address)) == UVMP_OK);

	if (status == UVMP_ERR_RETRY) {
		r->retry_ns = hostkit_later(h->cpu_throttled_ns, h->clock_ns + 1u);
		h->napping++;
	} else if (status == UVMP_OK && may_go_on) {
		leave(h, r);
		answer(h, &event, false, UVMP_OK);
	} else if (may_retry && r->tries < STALLED_IDLE_MOST) {
		(void)submit_cpu_fault(h, r);
	} else {
		leave(h, r);
		answer(h, &event, true, status == UVMP_OK ? UVMP_ERR_NO_MEMORY : status);
	}
}

/* After a failure the engine knows whether the memory is still managed. */
static bool is_gone(const struct uvmp_host *h, uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	return uvmp_service_page(h->service, UVMP_HOST_SPACE, address, &state) == UVMP_ERR_UNKNOWN;
}

static void free_part_ended(struct uvmp_host *h, struct hostkit_request *r, enum uvmp_status status)
{
	if (r->status == UVMP_OK)
		r->status = status;
	if (is_gone(h, r->at) && hostkit_is_managed(h, r->at))
		hostkit_range_remove(h, r->at, r->piece_last);
	r->is_over = r->piece_last == last_of(&r->event);
	r->at = r->piece_last + 1u;
	status = submit_free_part(h, r);
	if (status != UVMP_OK)
		finish(h, r, r->status != UVMP_OK || status == UVMP_ERR_RETRY ? r->status : status);
}

void hostkit_request_ended(struct uvmp_host *h, uint64_t ticket, enum uvmp_status status)
{
	struct hostkit_request *r = h->request;

	while (r < h->request + HOSTKIT_ACTIVE && (!r->is_used || r->ticket != ticket))
		r++;
	if (r == h->request + HOSTKIT_ACTIVE)
		return;
	if (r->event.kind == HOSTKIT_CPU_FAULT) {
		cpu_fault_ended(h, r, status);
	} else if (r->event.kind == HOSTKIT_FREE_PART) {
		free_part_ended(h, r, status);
	} else {
		if (r->event.kind == HOSTKIT_FREE && is_gone(h, r->event.address))
			hostkit_range_free(h, r->event.address);
		finish(h, r, status);
	}
}
