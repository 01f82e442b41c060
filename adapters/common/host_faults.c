/* Stalled accesses: the queue of adapters/common/stalled.h, whose resumption the simulator learns by `replay`. */
#include "host_internal.h"

/* So many bottom halves in a row without an arriving page can be those of entries that are stale: a whole buffer. */
#define STALE_MOST (SETUP_ENTRIES_MOST + STALLED_IDLE_MOST)

void hostkit_answer(struct uvmp_host *h, const struct uvmp_host_waiter *waiter, bool is_cancelled,
		    enum uvmp_status status)
{
	if (is_cancelled) {
		h->counts.cancelled++;
		if (h->options.cancel != NULL)
			h->options.cancel(h->options.user, waiter, status);
		return;
	}
	h->counts.replayed++;
	if (h->options.replay != NULL)
		h->options.replay(h->options.user, waiter);
}

static struct uvmp_host_waiter waiter_of(const struct uvmp_host *h, const struct stalled *w)
{
	return (struct uvmp_host_waiter){.processor = w->gpu,
					 .warp = w->warp,
					 .address = w->address,
					 .access = (enum uvmp_access)w->access,
					 .since_ns = w->since_ns,
					 .now_ns = h->clock_ns};
}

/* -- reporting -- */

static uint8_t type_of(enum uvmp_right right)
{
	if (right == UVMP_RIGHT_NONE)
		return UVMP_FAULT_INVALID_PTE;
	return right == UVMP_RIGHT_READ ? UVMP_FAULT_WRITE : UVMP_FAULT_ATOMIC;
}

/* Memory that could not be managed is not; the access is cancelled then. */
static bool report(void *host, const struct stalled *w)
{
	struct uvmp_host *h = host;
	struct uvmp_fault fault = {.address = hostkit_page_of(h, w->address),
				   .aperture = UVMP_APERTURE_VID,
				   .utlb = w->agent,
				   .type = type_of(hostkit_right(h, w->gpu, w->address)),
				   .access = w->access};

	enum uvmp_status status = hostkit_range_touch(h, fault.address);

	if (status == UVMP_ERR_SPACE)
		(void)hostkit_fail(h, status,
				   "ranges: all are in use, and is_all_managed needs one more: an access is cancelled; set ranges "
				   "up to 1048576, or a larger range_bytes");
	else if (status != UVMP_OK)
		(void)hostkit_fail(h, status, "is_all_managed: no memory for one more range: an access is cancelled");
	return uvmp_service_fault(h->service, w->gpu, &fault) == UVMP_OK;
}

void hostkit_report(struct uvmp_host *h)
{
	stalled_report(&h->stalled, report, h);
}

/* No warp waits for a prefetch. An access whose page is mapped meanwhile goes on at once. */
void hostkit_stall(struct uvmp_host *h, const struct hostkit_event *event)
{
	struct stalled w = {.address = event->address,
			    .warp = event->warp,
			    .since_ns = event->time_ns,
			    .gpu = event->processor,
			    .agent = (uint32_t)(event->warp % h->options.utlbs),
			    .access = (uint8_t)event->access};
	struct uvmp_host_waiter waiter = waiter_of(h, &w);

	h->counts.faults++;
	if (event->access == UVMP_ACCESS_PREFETCH) {
		(void)report(h, &w);
	} else if (hostkit_may(h, event->processor, event->address, event->access)) {
		hostkit_answer(h, &waiter, false, UVMP_OK);
	} else {
		stalled_add(&h->stalled, &w, report, h);
		h->idle_gpus = 0;
		h->paused_until_ns = 0;
	}
}

/* -- answers -- */

static bool resume(void *host, const struct stalled *w)
{
	struct uvmp_host *h = host;
	struct uvmp_host_waiter waiter = waiter_of(h, w);

	if (!hostkit_may(h, w->gpu, w->address, waiter.access))
		return false;
	hostkit_answer(h, &waiter, false, UVMP_OK);
	return true;
}

void hostkit_replay(struct uvmp_host *h, uint32_t gpu)
{
	h->counts.replays++;
	stalled_replay(&h->stalled, gpu, resume, h);
	stalled_report_again(&h->stalled, report, h);
}

/* What a CANCEL ends. */
struct cancelled {
	struct uvmp_host *host;
	uint32_t gpu;
	uvmp_addr page;
	bool only_writes;
	enum uvmp_status status;
};

static bool is_cancelled(void *host, const struct stalled *w)
{
	const struct cancelled *c = host;
	struct uvmp_host_waiter waiter = waiter_of(c->host, w);

	if (w->gpu != c->gpu || hostkit_page_of(c->host, w->address) != c->page ||
	    (c->only_writes && waiter.access <= UVMP_ACCESS_READ))
		return false;
	hostkit_answer(c->host, &waiter, true, c->status);
	return true;
}

/* Memory that was freed while a fault on it was in the buffer, and that is to be managed again, is not cancelled: the
 * fault is reported again at the replay that follows. */
static bool will_be_managed(struct uvmp_host *h, const struct cancelled *c)
{
	if (hostkit_is_managed(h, c->page))
		return false;
	return h->options.is_all_managed ? hostkit_range_touch(h, c->page) == UVMP_OK
					 : hostkit_is_announced(h, c->page);
}

static void cancel_page(struct uvmp_host *h, const struct uvmp_action *a, uvmp_addr address)
{
	struct cancelled c = {.host = h,
			      .gpu = a->to,
			      .page = hostkit_page_of(h, address),
			      .only_writes = a->cancel_mode == UVMP_CANCEL_WRITE_AND_ATOMIC,
			      .status = (enum uvmp_status)a->status};

	if (c.status == UVMP_OK)
		c.status = c.only_writes ? UVMP_ERR_CONFLICT : UVMP_ERR_UNKNOWN;
	if (!will_be_managed(h, &c))
		stalled_remove(&h->stalled, is_cancelled, &c);
}

void hostkit_cancel(struct uvmp_host *h, const struct uvmp_action *a)
{
	if (a->to == UVMP_CPU) /* its request ends with the status */
		return;
	if (uvmp_mask_is_empty(&a->pages))
		cancel_page(h, a, a->address);
	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u))
		cancel_page(h, a, hostkit_address(h, a, i));
}

/* -- the end of a bottom half -- */

static bool give_up(void *host, const struct stalled *w)
{
	struct uvmp_host *h = host;
	struct uvmp_host_waiter waiter = waiter_of(h, w);

	hostkit_answer(h, &waiter, true, UVMP_ERR_NO_MEMORY);
	return true;
}

/* The set of GPUs with stalled accesses. */
static uint64_t stalled_gpus(const struct uvmp_host *h)
{
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < h->stalled.count; i++)
		gpus |= (uint64_t)1 << h->stalled.fault[i].gpu;
	return gpus;
}

/* Bottom halves count as idle that moved pages and resumed no access, or that did nothing. Those of stale entries do not
 * count: many may follow each other. */
static bool is_stuck(struct uvmp_host *h)
{
	bool is_stale = h->arrived == h->arrived_before && h->fetched != h->fetched_before;

	if (is_stale && h->stalled.idle != 0)
		h->stalled.idle--;
	h->stale = is_stale ? h->stale + 1u : 0;
	return stalled_is_stuck(&h->stalled) || h->stale > STALE_MOST;
}

/* At the end of its time a page is still throttled. */
static void pause(struct uvmp_host *h)
{
	if (h->throttled_ns >= h->clock_ns && h->throttled_ns != 0)
		h->paused_until_ns = hostkit_later(h->throttled_ns, h->clock_ns + 1u);
	h->throttled_ns = 0;
	h->idle_gpus = 0;
}

/* If no GPU can resume an access before a throttled one, the engine pauses until then. */
void hostkit_bottom_half_ended(struct uvmp_host *h, uint32_t gpu)
{
	bool is_idle = stalled_is_idle(&h->stalled);

	if (!is_idle) {
		h->idle_gpus = 0;
		h->stale = 0;
	} else if (is_stuck(h)) {
		(void)hostkit_fail(h, UVMP_ERR_CONFLICT,
				   "no access can continue: with this policy and memory_bytes every page departs "
				   "before it is used; the stalled accesses are cancelled");
		stalled_remove(&h->stalled, give_up, h);
		h->stalled.idle = 0;
		h->stale = 0;
	} else {
		h->idle_gpus |= (uint64_t)1 << gpu;
		if ((stalled_gpus(h) & ~h->idle_gpus) == 0)
			pause(h);
	}
	h->arrived_before = h->arrived;
	h->fetched_before = h->fetched;
}
