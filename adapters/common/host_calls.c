/* What the simulator reports: ranges and requests of the program, faults and accesses. Faults and requests wait in the
 * inbox until uvmp_host_run takes them up, so that callbacks may report them, too. */
#include "host_internal.h"

static bool reserve(struct uvmp_host *h)
{
	uint64_t faults = (uint64_t)h->stalled.count + h->inbox.count + 1u, capacity = h->stalled.capacity;
	struct stalled *fault;

	if (h->options.is_all_managed && !hostkit_range_reserve(h, faults + h->queued.count))
		return false; /* each access may begin a range */
	if (!hostkit_fifo_reserve(h, &h->inbox, 1) || !hostkit_fifo_reserve(h, &h->queued, h->inbox.count + 1u) ||
	    faults > UINT32_MAX / 2u)
		return false;
	fault = hostkit_reserve(h, h->stalled.fault, &capacity, h->stalled.count, faults, sizeof(*fault));
	if (fault == NULL)
		return false;
	h->stalled.fault = fault;
	h->stalled.capacity = (uint32_t)capacity;
	return true;
}

/* What an event needs later is reserved here, where it can be refused. */
static enum uvmp_status report_event(struct uvmp_host *h, struct hostkit_event *event, uint64_t now_ns)
{
	if (!reserve(h))
		return hostkit_fail(h, UVMP_ERR_NO_MEMORY, "out of memory: repeat the call");
	h->latest_ns = hostkit_later(h->latest_ns, now_ns);
	event->time_ns = h->latest_ns;
	if (event->kind != HOSTKIT_FAULT && event->kind != HOSTKIT_CPU_FAULT)
		event->number = ++h->request_number;
	hostkit_fifo_push(&h->inbox, event);
	h->next_ns = hostkit_sooner(h->next_ns, event->time_ns);
	return UVMP_OK;
}

/* -- ranges and requests -- */

/* Grows the part to whole pages. */
static enum uvmp_status take_pages(struct uvmp_host *h, struct hostkit_event *event)
{
	uint64_t mask = h->options.page_bytes - 1u, last = event->address + (event->bytes - 1u);

	if (event->bytes == 0 || last < event->address)
		return hostkit_fail(h, UVMP_ERR_RANGE, "bytes: 0, or the end is beyond 2^64");
	event->address &= ~mask;
	event->bytes = (last | mask) - event->address + 1u;
	return event->bytes == 0 ? hostkit_fail(h, UVMP_ERR_RANGE, "bytes: the whole address space") : UVMP_OK;
}

/* Shrinks the part to whole pages; may become 0 bytes. */
static enum uvmp_status keep_pages(struct uvmp_host *h, struct hostkit_event *event)
{
	uint64_t mask = h->options.page_bytes - 1u, last = event->address + (event->bytes - 1u);
	uint64_t lost = ((uint64_t)0 - event->address) & mask;

	if (event->bytes == 0 || last < event->address)
		return hostkit_fail(h, UVMP_ERR_RANGE, "bytes: 0, or the end is beyond 2^64");
	event->bytes = event->bytes > lost ? (event->bytes - lost) & ~mask : 0;
	event->address += event->bytes != 0 ? lost : 0;
	return UVMP_OK;
}

enum uvmp_status uvmp_host_add_range_on(struct uvmp_host *h, uvmp_addr base, uint64_t bytes, uint32_t home)
{
	struct hostkit_event event = {.kind = HOSTKIT_ADD, .address = base, .bytes = bytes, .processor = home};
	enum uvmp_status status;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (home != UVMP_CPU && home != UVMP_PROC_NONE)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_add_range_on: data begins on the CPU or nowhere");
	status = take_pages(h, &event);
	if (status != UVMP_OK)
		return status;
	status = hostkit_range_add(h, event.address, event.address + (event.bytes - 1u), home);
	if (status == UVMP_ERR_CONFLICT && hostkit_is_freeing(h))
		return report_event(h, &event, h->latest_ns);
	if (status == UVMP_ERR_CONFLICT)
		return hostkit_fail(h, status, "uvmp_host_add_range: a page of it is managed already");
	if (status == UVMP_ERR_SPACE)
		return hostkit_fail(h, status, "uvmp_host_add_range: more ranges than the option `ranges` says");
	return status == UVMP_OK ? status : hostkit_fail(h, status, "out of memory: repeat the call");
}

enum uvmp_status uvmp_host_add_range(struct uvmp_host *h, uvmp_addr base, uint64_t bytes)
{
	return h == NULL ? UVMP_ERR_ARGUMENT : uvmp_host_add_range_on(h, base, bytes, hostkit_home(h));
}

enum uvmp_status uvmp_host_free(struct uvmp_host *h, uvmp_addr base, uint64_t now_ns)
{
	struct hostkit_event event = {.kind = HOSTKIT_FREE};

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	event.address = hostkit_page_of(h, base);
	return report_event(h, &event, now_ns);
}

enum uvmp_status uvmp_host_free_part(struct uvmp_host *h, uvmp_addr base, uint64_t bytes, uint64_t now_ns)
{
	struct hostkit_event event = {.kind = HOSTKIT_FREE_PART, .address = base, .bytes = bytes};
	enum uvmp_status status;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	status = keep_pages(h, &event);
	return status == UVMP_OK ? report_event(h, &event, now_ns) : status;
}

enum uvmp_status uvmp_host_prefetch(struct uvmp_host *h, uvmp_addr base, uint64_t bytes, uint32_t processor,
				    uint64_t now_ns)
{
	struct hostkit_event event = {
		.kind = HOSTKIT_PREFETCH, .address = base, .bytes = bytes, .processor = processor};
	enum uvmp_status status;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (processor > h->options.gpus)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_prefetch: no such processor");
	status = take_pages(h, &event);
	return status == UVMP_OK ? report_event(h, &event, now_ns) : status;
}

enum uvmp_status uvmp_host_advise(struct uvmp_host *h, uvmp_addr base, uint64_t bytes, enum uvmp_advice advice,
				  uint32_t processor, uint64_t now_ns)
{
	struct hostkit_event event = {.kind = HOSTKIT_ADVISE,
				      .address = base,
				      .bytes = bytes,
				      .advice = advice,
				      .processor = processor};
	bool needs_processor = advice == UVMP_ADVISE_ACCESSED_BY || advice == UVMP_ADVISE_NOT_ACCESSED_BY;
	enum uvmp_status status;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)advice > UVMP_ADVISE_DISCARD)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_advise: no such advice");
	if (processor > h->options.gpus && (needs_processor || processor != UVMP_PROC_NONE))
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_advise: no such processor");
	status = take_pages(h, &event);
	return status == UVMP_OK ? report_event(h, &event, now_ns) : status;
}

/* -- faults and accesses -- */

enum uvmp_status uvmp_host_fault_on(struct uvmp_host *h, uint32_t processor, uint64_t warp, uvmp_addr address,
				    enum uvmp_access access, uint64_t now_ns)
{
	struct hostkit_event event = {.kind = processor == UVMP_CPU ? HOSTKIT_CPU_FAULT : HOSTKIT_FAULT,
				      .access = access,
				      .processor = processor,
				      .warp = warp,
				      .address = address};

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (processor > h->options.gpus)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_fault_on: no such processor");
	if ((uint32_t)access >= UVMP_ACCESS_NONE || (processor == UVMP_CPU && access == UVMP_ACCESS_PREFETCH))
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_fault_on: no such access");
	return report_event(h, &event, now_ns);
}

enum uvmp_status uvmp_host_fault(struct uvmp_host *h, uint64_t warp, uvmp_addr address, enum uvmp_access access,
				 uint64_t now_ns)
{
	return uvmp_host_fault_on(h, 1, warp, address, access, now_ns);
}

enum uvmp_status uvmp_host_access(struct uvmp_host *h, uint32_t processor, uvmp_addr address,
				  enum uvmp_access access)
{
	struct hostkit_side *side;
	uint32_t page;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (processor > h->options.gpus)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_access: no such processor");
	if ((uint32_t)access >= UVMP_ACCESS_NONE)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_access: no such access");
	if (h->needs.touches || h->needs.accesses)
		(void)uvmp_service_access(h->service, processor, UVMP_HOST_SPACE, address, access);
	if (h->counts_accesses && processor != UVMP_CPU) {
		side = hostkit_side(h, processor, address, &page);
		if (side != NULL && side->right[page] != (uint8_t)UVMP_RIGHT_NONE && side->holder[page] == UVMP_CPU)
			hostkit_counter_use(h, side, address);
	}
	if (uvmp_service_has_notes(h->service))
		h->next_ns = hostkit_sooner(h->next_ns, hostkit_later(h->latest_ns, h->clock_ns));
	return UVMP_OK;
}
