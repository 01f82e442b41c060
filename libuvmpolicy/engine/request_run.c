/* What the kinds of requests share: the range and the pages at work, the job, the end. */
#include "memory_internal.h"
#include "queue_internal.h"
#include "request_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

void uvmpi_request_finish(struct uvmp_service *s, enum uvmp_status status)
{
	static const uint8_t cause[] = {UVMP_CAUSE_FREE, UVMP_CAUSE_FREE, UVMP_CAUSE_HINT, UVMP_CAUSE_MIGRATE,
					UVMP_CAUSE_DEMAND, UVMP_CAUSE_MIGRATE};
	struct request_run *run = &s->run;
	struct uvmp_action *a;

	uvmpi_memory_settle(s);
	a = uvmpi_queue(s, UVMP_ACTION_DONE, (enum uvmp_cause)cause[run->request.kind], 0, NULL);
	a->ticket = run->request.ticket;
	a->status = (int8_t)status;
	s->batch = run->batch;
	run->is_active = false;
}

/* Slot of the range that holds the address. */
uint32_t uvmpi_request_range_at(const struct uvmp_service *s, uvmp_addr address)
{
	uint32_t space = uvmpi_space_find(s, s->run.request.space);
	uint32_t index = space == NO_INDEX ? NO_INDEX : uvmpi_range_find(s, space, address);

	return index == NO_INDEX ? NO_INDEX : s->range_order[index];
}

void uvmpi_request_all_pages(const struct block *b, uvmp_mask *pages)
{
	uvmp_mask_zero(pages);
	uvmp_mask_region_set(pages, (struct uvmp_region){0, b->pages});
}

/* Pages of the block that the request names. */
struct uvmp_region uvmpi_request_part_of(const struct uvmp_service *s, const struct block *b)
{
	const struct request_run *run = &s->run;
	uvmp_addr last = block_last(s, b);
	struct uvmp_region region = {0, b->pages};

	if (run->request.base > last || run->last < b->start)
		return (struct uvmp_region){0, 0};
	if (run->request.base > b->start)
		region.first = block_page(s, b, run->request.base);
	if (run->last < last)
		region.end = block_page(s, b, run->last) + 1u;
	return region;
}

/* Gives back what the block has on one GPU; false: it has nothing. One at a time, so that the queue has room.
 */
bool uvmpi_request_give_memory(struct uvmp_service *s, handle h)
{
	EACH_RESIDENCY(place, s, block_at(s, h)) {
		if (place->has_memory) {
			uvmpi_memory_free(s, place->proc, h);
			return true;
		}
	}
	return false;
}

void uvmpi_request_serve(struct uvmp_service *s)
{
	struct job *job = &s->run.servicing->job;

	job->is_retry = s->run.retries != 0;
	job->has_next = s->run.has_next;
	job->next_start = s->run.next_start;
	s->run.is_stepping = true;
	uvmpi_servicing_start(s, s->run.servicing);
}

void uvmpi_request_begin_window(struct uvmp_service *s, enum request_phase phase)
{
	const struct request *request = &s->run.request;
	uint32_t space = uvmpi_space_find(s, request->space);

	if (space == NO_INDEX || !uvmpi_range_covers(s, space, request->base, s->run.last)) {
		uvmpi_request_finish(s, UVMP_ERR_UNKNOWN);
		return;
	}
	s->run.phase = phase;
}
