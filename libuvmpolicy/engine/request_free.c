/* Requests that free a range or a part of one. */
#include "departing_internal.h"
#include "mapping_internal.h"
#include "request_internal.h"
#include "space_internal.h"

static void free_block(struct uvmp_service *s, handle h)
{
	uvmp_mask pages;

	uvmpi_request_all_pages(block_at(s, h), &pages);
	uvmpi_mapping_unmap(s, h, &pages, 0, because(UVMP_CAUSE_FREE));
	EACH_RESIDENCY(at, s, block_at(s, h))
		uvmpi_depart(s, h, at, &pages, DEPART_FREED);
	if (uvmpi_request_give_memory(s, h))
		return;
	uvmpi_block_remove(s, h);
}

void uvmpi_request_begin_free(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t slot = uvmpi_request_range_at(s, run->request.base);

	if (slot == NO_INDEX || s->range[slot].start != run->request.base ||
	    s->range[slot].origin != run->request.base) {
		uvmpi_request_finish(s, UVMP_ERR_UNKNOWN);
		return;
	}
	run->last = UINT64_MAX; /* pieces may lie anywhere above */
	run->phase = REMOVE;
}

/* Index of the next range that goes. Between the pieces of a range others may lie, where a part was freed. */
static uint32_t next_piece(const struct uvmp_service *s)
{
	const struct request_run *run = &s->run;
	uint32_t space = uvmpi_space_find(s, run->request.space);
	uint32_t index = uvmpi_range_from(s, space, run->next);

	for (; uvmpi_range_is_in(s, index, space); index++) {
		if (run->request.kind == REQUEST_FREE_PART ||
		    s->range[s->range_order[index]].origin == run->request.base)
			return index;
	}
	return NO_INDEX;
}

/* Those that go with the one at `index`, which has no block: its neighbours of the same range that have none
 * either. Together, as each removal moves all that is behind it. */
static uint32_t pieces_from(const struct uvmp_service *s, uint32_t index)
{
	const struct range *first = &s->range[s->range_order[index]];
	uint32_t end = index + 1u;

	for (; uvmpi_range_is_in(s, end, first->space); end++) {
		const struct range *r = &s->range[s->range_order[end]];

		if (r->origin != first->origin || r->start > s->run.last || r->block != 0)
			break;
	}
	return end - index;
}

void uvmpi_request_free_pieces(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t index = run->is_last ? NO_INDEX : next_piece(s), count;
	const struct range *r;

	if (index == NO_INDEX) {
		uvmpi_request_finish(s, run->status);
		return;
	}
	r = &s->range[s->range_order[index]];
	if (r->block != 0) {
		free_block(s, r->block);
		return;
	}
	count = pieces_from(s, index);
	r = &s->range[s->range_order[index + count - 1u]];
	run->is_last = r->last >= run->last;
	run->next = r->last + 1u;
	if (run->request.kind == REQUEST_FREE_PART)
		uvmpi_range_remove_part(s, index, count);
	else
		uvmpi_range_remove(s, index, count);
}
