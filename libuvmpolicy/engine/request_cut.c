/* Requests that cut ranges: advice, and freeing a part. */
#include "../base/bits_internal.h"
#include "departing_internal.h"
#include "job_internal.h"
#include "mapping_internal.h"
#include "request_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

/* Would the advice change the policy of the range? Discarding is no policy. */
bool uvmpi_request_differs(const struct range *range, const struct request *request)
{
	switch (request->advice) {
	case UVMP_ADVISE_PREFERRED:
		return range->preferred != request->processor;
	case UVMP_ADVISE_ACCESSED_BY:
		return (range->accessed_by & BIT(request->processor)) == 0;
	case UVMP_ADVISE_NOT_ACCESSED_BY:
		return (range->accessed_by & BIT(request->processor)) != 0;
	case UVMP_ADVISE_READ_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_ENABLED;
	case UVMP_ADVISE_NO_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_DISABLED;
	case UVMP_ADVISE_UNSET_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_UNSET;
	default:
		return false;
	}
}

/* Slot of the range that is to be cut here, at the edge of the part; NO_INDEX: none. */
static uint32_t range_across(const struct uvmp_service *s, uvmp_addr address)
{
	const struct request *request = &s->run.request;
	uint32_t slot = uvmpi_request_range_at(s, address);

	if (slot == NO_INDEX || s->range[slot].start == address)
		return NO_INDEX;
	return request->kind == REQUEST_FREE_PART || uvmpi_request_differs(&s->range[slot], request)
		       ? slot
		       : NO_INDEX;
}

static enum uvmp_status cut(struct uvmp_service *s, uvmp_addr address)
{
	uint32_t slot = range_across(s, address);

	return slot == NO_INDEX ? UVMP_OK : uvmpi_range_split(s, slot, address, &s->run.block);
}

void uvmpi_request_split(struct uvmp_service *s)
{
	bool is_free = s->run.request.kind == REQUEST_FREE_PART;
	enum uvmp_status status = cut(s, s->run.request.base);

	if (status == UVMP_OK)
		status = cut(s, s->run.last + 1u);
	if (status == UVMP_OK)
		s->run.phase = is_free ? REMOVE : RANGE;
	else if (status == UVMP_ERR_RETRY)
		s->run.phase = is_free ? LEAVE : VACATE;
	else
		uvmpi_request_finish(s, status);
}

/* Pages that are freed are not carried to the CPU with the rest of their block. */
void uvmpi_request_leave(struct uvmp_service *s)
{
	handle h = s->run.block;
	struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, uvmpi_request_part_of(s, b));
	uvmpi_mapping_unmap(s, h, &pages, 0, because(UVMP_CAUSE_FREE));
	EACH_RESIDENCY(at, s, b)
		uvmpi_depart(s, h, at, &pages, DEPART_FREED);
	if (b->cold != 0) {
		struct cold *cold = cold_at(s, b->cold);

		uvmp_mask_andnot(&cold->duplicated, &cold->duplicated, &pages);
		uvmp_mask_andnot(&cold->discarded, &cold->discarded, &pages);
		uvmpi_counters_give(s, b);
	}
	s->run.phase = VACATE;
}

/* Maps a processor that accesses the range to all resident pages except duplicated and discarded pages. */
void uvmpi_request_map_accessor(struct uvmp_service *s, handle h, uint32_t proc)
{
	const struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmpi_request_all_pages(b, &pages);
	if (b->cold != 0) {
		uvmp_mask_andnot(&pages, &pages, &cold_at(s, b->cold)->duplicated);
		uvmp_mask_andnot(&pages, &pages, &cold_at(s, b->cold)->discarded);
	}
	uvmpi_mapping_map_remote(s, h, proc, &pages, because(UVMP_CAUSE_HINT));
}

/* GPU memory and thrashing state cannot be cut: all pages first move to the CPU, and accessed-by processors stay
 * mapped there. */
void uvmpi_request_vacate(struct uvmp_service *s)
{
	handle h = s->run.block;
	struct job *job = &s->run.servicing->job;
	const struct block *b = block_at(s, h);

	uvmpi_job_clear(job, h, UVMP_CPU);
	job->cause = UVMP_CAUSE_HINT;
	job->migrate = UVMP_MIGRATE_API_HINT;
	job->may_map = false;
	for (uint32_t page = 0; page < b->pages; page++)
		if ((uvmpi_block_holders(s, b, page) & ~BIT(UVMP_CPU)) != 0)
			uvmpi_job_add(job, page, UVMP_CPU, UVMP_ACCESS_PREFETCH, false);
	if (job->destinations != 0) {
		uvmpi_request_serve(s);
	} else if (!uvmpi_request_give_memory(s, h)) {
		for (uint64_t left = range_of(s, b)->accessed_by; left != 0; left &= left - 1u)
			uvmpi_request_map_accessor(s, h, lowest_bit(left));
		uvmpi_thrashing_end(s, h);
		s->run.phase = SPLIT;
	}
}

/* Checks for space for both cuts first, so that a refused request changes nothing. */
void uvmpi_request_begin_free_part(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t cuts = range_across(s, run->request.base) != NO_INDEX;

	cuts += range_across(s, run->last + 1u) != NO_INDEX;
	uvmpi_request_begin_window(s, SPLIT);
	if (run->is_active && cuts > s->range_slots - s->ranges)
		uvmpi_request_finish(s, UVMP_ERR_SPACE);
}
