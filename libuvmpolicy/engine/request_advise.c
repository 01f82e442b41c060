/* Advice: the policy of ranges, and what follows from it for each block [driver: va-policy]. */
#include "../base/bits_internal.h"
#include "departing_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "queue_internal.h"
#include "request_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

static void set_policy(struct request_run *run, struct range *range)
{
	const struct request *request = &run->request;

	run->old = range->duplication;
	switch (request->advice) {
	case UVMP_ADVISE_PREFERRED:
		run->old = range->preferred;
		range->preferred = (uint8_t)request->processor;
		break;
	case UVMP_ADVISE_ACCESSED_BY:
		range->accessed_by |= BIT(request->processor);
		break;
	case UVMP_ADVISE_NOT_ACCESSED_BY:
		range->accessed_by &= ~BIT(request->processor);
		break;
	case UVMP_ADVISE_READ_DUPLICATE:
		range->duplication = UVMP_DUPLICATION_ENABLED;
		break;
	case UVMP_ADVISE_NO_DUPLICATE:
		range->duplication = UVMP_DUPLICATION_DISABLED;
		break;
	default:
		range->duplication = UVMP_DUPLICATION_UNSET;
		break;
	}
}

/* What the CPU has from the beginning is there without a block too: it is to be mapped, or given up. */
static bool needs_blocks(const struct range *range, const struct request *request)
{
	return range->home == UVMP_CPU &&
	       (request->advice == UVMP_ADVISE_ACCESSED_BY || request->advice == UVMP_ADVISE_DISCARD);
}

void uvmpi_request_next_range(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	struct range *range;

	if (run->is_last) {
		uvmpi_request_finish(s, UVMP_OK);
		return;
	}
	run->range = uvmpi_request_range_at(s, run->next);
	range = &s->range[run->range];
	run->next = range->last + 1u;
	run->is_last = range->last >= run->last;
	run->block = range->block;
	if (run->request.advice == UVMP_ADVISE_DISCARD) {
		run->phase = BLOCK;
	} else if (uvmpi_request_differs(range, &run->request)) {
		set_policy(run, range);
		run->phase = BLOCK;
	}
	if (run->phase == BLOCK && needs_blocks(range, &run->request)) {
		run->phase = MAKE;
		run->make = range->start > run->request.base ? range->start : run->request.base;
	}
}

/* The next block of the range in the part, if it is not there yet. */
void uvmpi_request_make_next(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	const struct range *range = &s->range[run->range];
	enum uvmp_status status;
	handle h = uvmpi_block_make(s, range->space, run->make, &status);
	uvmp_addr last;

	if (h == 0) {
		uvmpi_request_finish(s, status);
		return;
	}
	last = block_last(s, block_at(s, h));
	if (last < range->last && last < run->last) {
		run->make = last + 1u;
		return;
	}
	run->block = range->block;
	run->phase = BLOCK;
}

/* A preferred location is never mapped to the memory of others [driver: other-mappings], unless it has
 * none itself. */
static uint64_t kept_at_home(const struct uvmp_service *s, uint32_t preferred)
{
	return preferred == UVMP_PROC_NONE ? 0 : BIT(preferred) & ~s->processors.no_memory;
}

/* Each processor loses the pages that it maps but does not hold, if it is one of the set. */
static void unmap_remote(struct uvmp_service *s, handle h, uint64_t procs)
{
	EACH_RESIDENCY(place, s, block_at(s, h)) {
		uvmp_mask pages;

		residency_mapped(place, &pages);
		uvmp_mask_andnot(&pages, &pages, &place->resident);
		uvmpi_mapping_unmap(s, h, &pages, ~(procs & BIT(place->proc)), because(UVMP_CAUSE_HINT));
	}
}

/* Of the holders of a read-duplicated page the preferred location keeps it, else the lowest. */
static bool is_keeper(const struct uvmp_service *s, const struct block *b, uint32_t page, uint32_t proc)
{
	uint64_t holders = uvmpi_block_holders(s, b, page);
	uint32_t preferred = range_of(s, b)->preferred;

	if (preferred != UVMP_PROC_NONE && (holders & BIT(preferred)) != 0)
		return proc == preferred;
	return proc == lowest_bit(holders);
}

static void collapse(struct uvmp_service *s, handle h)
{
	const struct block *b = block_at(s, h);
	uvmp_mask *duplicated;

	if (b->cold == 0)
		return;
	duplicated = &cold_at(s, b->cold)->duplicated;
	EACH_RESIDENCY(place, s, b) {
		uvmp_mask lost = *duplicated;

		for (uint32_t page = uvmp_mask_next_set(&lost, 0); page < UVMP_MASK_BITS;
		     page = uvmp_mask_next_set(&lost, page + 1u))
			if (is_keeper(s, b, page, place->proc))
				uvmp_mask_clear(&lost, page);
		uvmpi_mapping_unmap(s, h, &lost, ~BIT(place->proc), because(UVMP_CAUSE_HINT));
		uvmpi_depart(s, h, place, &lost, DEPART_MOVED);
	}
	uvmp_mask_zero(duplicated);
}

static void discard_place(struct uvmp_service *s, handle h, struct residency *place, struct uvmp_region part,
			  uvmp_mask *discarded)
{
	uvmp_mask pages;

	uvmp_mask_region_and(&pages, &place->resident, part);
	if (uvmp_mask_is_empty(&pages))
		return;
	uvmp_mask_or(discarded, discarded, &pages);
	uvmpi_queue(s, UVMP_ACTION_DISCARD, UVMP_CAUSE_HINT, h, &pages)->from = place->proc;
	if (place->proc != UVMP_CPU && uvmp_mask_is_subset(&place->resident, discarded))
		uvmpi_memory_mark(s, place->proc, h, UVMP_MARK_DISCARDED);
}

/* False: the arena is full. */
static bool discard(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	struct uvmp_region part = uvmpi_request_part_of(s, b);
	struct cold *cold;

	if (uvmp_region_is_empty(part))
		return true;
	cold = uvmpi_cold_make(s, b);
	if (cold == NULL)
		return false;
	EACH_RESIDENCY(at, s, b)
		discard_place(s, h, at, part, &cold->discarded);
	return true;
}

/* Set of processors that get mappings in the block; what has to go goes at once. */
static uint64_t take_effect(struct uvmp_service *s, handle h)
{
	const struct request_run *run = &s->run;
	const struct range *range = range_of(s, block_at(s, h));
	uint32_t old = run->old;
	uvmp_mask pages;

	switch (run->request.advice) {
	case UVMP_ADVISE_PREFERRED:
		if (range->duplication == UVMP_DUPLICATION_ENABLED)
			return 0;
		unmap_remote(s, h, kept_at_home(s, range->preferred));
		return old == UVMP_PROC_NONE ? 0 : BIT(old) & range->accessed_by;
	case UVMP_ADVISE_ACCESSED_BY:
		return range->duplication == UVMP_DUPLICATION_ENABLED ? 0 : BIT(run->request.processor);
	case UVMP_ADVISE_READ_DUPLICATE:
		unmap_remote(s, h, ~(uint64_t)0);
		uvmpi_request_all_pages(block_at(s, h), &pages);
		uvmpi_thrashing_reset(s, h, &pages); /* [driver: pin-and-reset] */
		return 0;
	case UVMP_ADVISE_NO_DUPLICATE:
	case UVMP_ADVISE_UNSET_DUPLICATE:
		if (old != UVMP_DUPLICATION_ENABLED)
			return 0;
		collapse(s, h);
		return range->accessed_by;
	default: /* no more accessed by: what is mapped stays so */
		return 0;
	}
}

void uvmpi_request_next_block(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	handle h = run->block;

	if (h == 0) {
		run->phase = RANGE;
		return;
	}
	run->phase = MAP;
	run->todo = 0;
	if (run->request.advice != UVMP_ADVISE_DISCARD)
		run->todo = take_effect(s, h) & ~kept_at_home(s, range_of(s, block_at(s, h))->preferred);
	else if (!discard(s, h))
		uvmpi_request_finish(s, UVMP_ERR_NO_MEMORY);
}

/* Maps one of the processors that access the range. */
void uvmpi_request_map_next(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t proc = lowest_bit(run->todo);

	if (run->todo == 0) {
		run->block = block_at(s, run->block)->range_next;
		run->phase = BLOCK;
		return;
	}
	run->todo &= run->todo - 1u;
	uvmpi_request_map_accessor(s, run->block, proc);
}
