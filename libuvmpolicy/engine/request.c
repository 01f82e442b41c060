/* Requests of the program: the ring, and the state machine that runs one request.
 *
 * A request waits in a ring until no other operation runs, or the bottom half is between two blocks. Then it
 * goes over its part of the address space: range by range, block by block, one decision a call. Nothing that
 * it needs later is kept by index: ranges are looked up again by address, because splitting moves them.
 *
 *   free      each block: unmapped, its GPU memory given back one GPU at a time, removed; then the range
 *   free part the same, between two cuts: from a block that lies across an end its pages that go leave first,
 *             and the rest of it is cut as by advice
 *   migrate   each block, made if need be: one block service with all pages of the part
 *   advise    cuts the ranges at both ends where the value differs, sets the value, and then sees to what
 *             follows from it for each block [driver: va-policy]: mappings that must go, copies that collapse, mappings for
 *             those that access the range
 *   withdraw  the same with the pages of a victim, which the tree prefetcher counts again
 *   CPU fault the latch, then one block service with one page [driver: cpu-fault]
 */
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "request_internal.h"

#define RETRIES_MAX 1100u /* evictions for one block: more than it can have chunks, on two GPUs */

/* -- the ring -- */

static bool is_part(const struct uvmp_service *s, uvmp_addr base, uint64_t bytes)
{
	uint64_t within = s->page_bytes - 1u;

	return ((base | bytes) & within) == 0 && bytes != 0 && base + (bytes - 1u) >= base;
}

static enum uvmp_status enqueue(struct uvmp_service *s, const struct request *request, uint64_t *ticket)
{
	struct request *at;

	if (s->request_count == s->request_capacity)
		return UVMP_ERR_SPACE;
	at = &s->request[(s->request_get + s->request_count) % s->request_capacity];
	*at = *request;
	at->ticket = ++s->tickets;
	s->request_count++;
	if (ticket != NULL)
		*ticket = at->ticket;
	return UVMP_OK;
}

enum uvmp_status uvmp_service_free_range(struct uvmp_service *s, uint64_t space, uvmp_addr base,
					 uint64_t *ticket)
{
	const struct request request = {.space = space, .base = base, .bytes = 1, .kind = REQUEST_FREE};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, s->page_bytes))
		return UVMP_ERR_RANGE;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_free_part(struct uvmp_service *s, uint64_t space, uvmp_addr base,
					uint64_t bytes, uint64_t *ticket)
{
	const struct request request = {
		.space = space, .base = base, .bytes = bytes, .kind = REQUEST_FREE_PART};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes))
		return UVMP_ERR_RANGE;
	return enqueue(s, &request, ticket);
}

/* Does the advice name a processor that there is? */
static bool is_advice(const struct uvmp_service *s, enum uvmp_advice advice, uint32_t processor)
{
	switch (advice) {
	case UVMP_ADVISE_PREFERRED:
		return processor < s->processors.count || processor == UVMP_PROC_NONE;
	case UVMP_ADVISE_ACCESSED_BY:
	case UVMP_ADVISE_NOT_ACCESSED_BY:
		return processor < s->processors.count;
	default:
		return (uint32_t)advice <= UVMP_ADVISE_DISCARD;
	}
}

enum uvmp_status uvmp_service_advise(struct uvmp_service *s, uint64_t space, uvmp_addr base, uint64_t bytes,
				     enum uvmp_advice advice, uint32_t processor, uint64_t *ticket)
{
	const struct request request = {.space = space,
					.base = base,
					.bytes = bytes,
					.processor = processor,
					.kind = REQUEST_ADVISE,
					.advice = (uint8_t)advice};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes) || !is_advice(s, advice, processor))
		return UVMP_ERR_RANGE;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_migrate(struct uvmp_service *s, uint64_t space, uvmp_addr base, uint64_t bytes,
				      uint32_t processor, uint64_t *ticket)
{
	struct request request = {.space = space,
				  .base = base,
				  .bytes = bytes,
				  .processor = processor,
				  .kind = REQUEST_MIGRATE};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes) || processor >= s->processors.count)
		return UVMP_ERR_RANGE;
	if ((s->processors.no_memory & BIT(processor)) != 0)
		request.processor = UVMP_CPU;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_withdraw(struct uvmp_service *s, uint64_t space, uvmp_addr base, uint64_t bytes,
				       uint32_t processor, uint64_t *ticket)
{
	const struct request request = {.space = space,
					.base = base,
					.bytes = bytes,
					.processor = processor,
					.kind = REQUEST_WITHDRAW};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes) || processor == UVMP_CPU || processor >= s->processors.count ||
	    (s->processors.no_memory & BIT(processor)) != 0 || !uvmpi_memory_can_withdraw(s, processor))
		return UVMP_ERR_RANGE;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_cpu_fault(struct uvmp_service *s, uint64_t space, uvmp_addr address,
					enum uvmp_access access, uint64_t thread, uint64_t *ticket)
{
	struct request request = {.space = space,
				  .thread = thread,
				  .bytes = 1,
				  .kind = REQUEST_CPU_FAULT,
				  .access = (uint8_t)access};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (access != UVMP_ACCESS_READ && access != UVMP_ACCESS_WRITE)
		return UVMP_ERR_RANGE;
	request.base = address & ~(uvmp_addr)(s->page_bytes - 1u);
	return enqueue(s, &request, ticket);
}

/* -- advise: blocks [driver: va-policy] -- */

static void advise_or_free(struct uvmp_service *s)
{
	switch (s->run.phase) {
	case SPLIT:
		uvmpi_request_split(s);
		break;
	case LEAVE:
		uvmpi_request_leave(s);
		break;
	case VACATE:
		uvmpi_request_vacate(s);
		break;
	case RANGE:
		uvmpi_request_next_range(s);
		break;
	case MAKE:
		uvmpi_request_make_next(s);
		break;
	case BLOCK:
		uvmpi_request_next_block(s);
		break;
	default:
		uvmpi_request_map_next(s);
		break;
	}
}

/* -- the machine -- */

void uvmpi_request_start(struct uvmp_service *s, bool has_next, uvmp_addr next_start)
{
	struct request_run *run = &s->run;

	*run = (struct request_run){.servicing = run->servicing,
				    .is_active = true,
				    .phase = BEGIN,
				    .batch = s->batch,
				    .has_next = has_next,
				    .next_start = next_start};
	run->request = s->request[s->request_get];
	s->request_get = (s->request_get + 1u) % s->request_capacity;
	s->request_count--;
	run->next = run->request.base;
	run->last = run->request.base + (run->request.bytes - 1u);
	s->batch = 0;
}

/* How what was decided last has ended. */
static enum uvmp_status last_result(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	bool was_stepping = run->is_stepping;

	run->has_stepped = false;
	run->is_stepping = false;
	if (!was_stepping)
		return uvmpi_queue_status(s);
	/* an eviction has made room: the same again [driver: eviction-retry] */
	if (run->servicing->job.status == UVMP_ERR_RETRY)
		return ++run->retries > RETRIES_MAX ? UVMP_ERR_NO_MEMORY : UVMP_OK;
	run->retries = 0;
	run->has_stepped = run->servicing->job.status == UVMP_OK;
	return run->servicing->job.status;
}

static void begin(struct uvmp_service *s)
{
	switch (s->run.request.kind) {
	case REQUEST_FREE:
		uvmpi_request_begin_free(s);
		break;
	case REQUEST_FREE_PART:
		uvmpi_request_begin_free_part(s);
		break;
	case REQUEST_ADVISE:
		uvmpi_request_begin_window(s, SPLIT);
		break;
	case REQUEST_MIGRATE:
	case REQUEST_WITHDRAW:
		uvmpi_request_begin_window(s, WORK);
		break;
	default:
		uvmpi_request_begin_cpu_fault(s);
		break;
	}
}

void uvmpi_request_advance(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	enum uvmp_status status = last_result(s);

	if (run->phase == BEGIN) {
		begin(s);
		return;
	}
	if (run->phase == REMOVE) { /* continues to the end, and returns the first failure */
		if (run->status == UVMP_OK)
			run->status = status;
		uvmpi_request_free_pieces(s);
	} else if (status != UVMP_OK) {
		uvmpi_request_finish(s, status);
	} else if (run->phase != WORK) {
		advise_or_free(s);
	} else if (run->request.kind == REQUEST_CPU_FAULT) {
		uvmpi_request_cpu_fault(s);
	} else {
		uvmpi_request_migrate(s);
	}
}

