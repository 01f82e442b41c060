/* What the program asks for: freeing, advice, migration, faults of the CPU; and the worker that unpins pages.
 *
 * A request waits in a ring until no other operation runs, or the bottom half is between two blocks. Then it
 * goes over its part of the address space: range by range, block by block, one decision a call. Nothing that
 * it needs later is kept by index: ranges are looked up again by address, because splitting moves them.
 *
 *   free      each block: unmapped, its GPU memory given back one GPU at a time, removed; then the range
 *   free part the same, between two cuts: from a block that lies across an end its pages that go leave first,
 *             and the rest of it is cut as by advice
 *   migrate   each block, made if need be: one service step with all pages of the part
 *   advise    cuts the ranges at both ends where the value differs, sets the value, and then sees to what
 *             follows from it for each block [driver: va-policy]: mappings that must go, copies that collapse, mappings for
 *             those that access the range
 *   CPU fault the latch, then one service step with one page [driver: cpu-fault]
 */
#include "../base/bits_internal.h"
#include "departing_internal.h"
#include "job_internal.h"
#include "mapping_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

#define RETRIES_MAX 1100u   /* evictions for one block: more than it can have chunks, on two GPUs */
#define LATCH_NS    300000u /* [driver: cpu-fault] */
#define UNPINS_MAX  64u

enum request_phase { BEGIN, WORK, SPLIT, LEAVE, VACATE, REMOVE, RANGE, MAKE, BLOCK, MAP };

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
	const struct request request = {.kind = REQUEST_FREE, .space = space, .base = base, .bytes = 1};

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
		.kind = REQUEST_FREE_PART, .space = space, .base = base, .bytes = bytes};

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
	const struct request request = {.kind = REQUEST_ADVISE,
					.space = space,
					.base = base,
					.bytes = bytes,
					.advice = (uint8_t)advice,
					.processor = processor};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes) || !is_advice(s, advice, processor))
		return UVMP_ERR_RANGE;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_migrate(struct uvmp_service *s, uint64_t space, uvmp_addr base, uint64_t bytes,
				      uint32_t processor, uint64_t *ticket)
{
	struct request request = {.kind = REQUEST_MIGRATE,
				  .space = space,
				  .base = base,
				  .bytes = bytes,
				  .processor = processor};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (!is_part(s, base, bytes) || processor >= s->processors.count)
		return UVMP_ERR_RANGE;
	if ((s->processors.no_memory & BIT(processor)) != 0)
		request.processor = UVMP_CPU;
	return enqueue(s, &request, ticket);
}

enum uvmp_status uvmp_service_cpu_fault(struct uvmp_service *s, uint64_t space, uvmp_addr address,
					enum uvmp_access access, uint64_t thread, uint64_t *ticket)
{
	struct request request = {.kind = REQUEST_CPU_FAULT,
				  .space = space,
				  .bytes = 1,
				  .access = (uint8_t)access,
				  .thread = thread};

	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (access != UVMP_ACCESS_READ && access != UVMP_ACCESS_WRITE)
		return UVMP_ERR_RANGE;
	request.base = address & ~(uvmp_addr)(s->page_bytes - 1u);
	return enqueue(s, &request, ticket);
}

/* -- help for all of them -- */

static void finish(struct uvmp_service *s, enum uvmp_status status)
{
	static const uint8_t cause[] = {UVMP_CAUSE_FREE, UVMP_CAUSE_FREE, UVMP_CAUSE_HINT, UVMP_CAUSE_MIGRATE,
					UVMP_CAUSE_DEMAND};
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
static uint32_t range_at(const struct uvmp_service *s, uvmp_addr address)
{
	uint32_t space = uvmpi_space_find(s, s->run.request.space);
	uint32_t index = space == NO_INDEX ? NO_INDEX : uvmpi_range_find(s, space, address);

	return index == NO_INDEX ? NO_INDEX : s->range_order[index];
}

static void all_pages(const struct block *b, uvmp_mask *pages)
{
	uvmp_mask_zero(pages);
	uvmp_mask_region_set(pages, (struct uvmp_region){0, b->pages});
}

/* Pages of the block that the request names. */
static struct uvmp_region part_of(const struct uvmp_service *s, const struct block *b)
{
	const struct request_run *run = &s->run;
	uvmp_addr last = block_end(s, b);
	struct uvmp_region region = {0, b->pages};

	if (run->request.base > last || run->end < b->start)
		return (struct uvmp_region){0, 0};
	if (run->request.base > b->start)
		region.first = block_page(s, b, run->request.base);
	if (run->end < last)
		region.outer = block_page(s, b, run->end) + 1u;
	return region;
}

/* Gives back what the block has on one GPU; false: it has nothing. One at a time, so that the queue has room.
 */
static bool give_memory(struct uvmp_service *s, handle h)
{
	for (handle at = block_at(s, h)->residency; at != 0; at = residency_at(s, at)->next) {
		const struct residency *place = residency_at(s, at);

		if (place->has_memory) {
			uvmpi_memory_free(s, place->proc, h);
			return true;
		}
	}
	return false;
}

static void start_step(struct uvmp_service *s)
{
	struct job *job = &s->run.servicing->job;

	job->is_retry = s->run.retries != 0;
	job->has_next = s->run.has_next;
	job->next_start = s->run.next_start;
	s->run.is_stepping = true;
	uvmpi_servicing_start(s, s->run.servicing);
}

/* -- free -- */

static void free_block(struct uvmp_service *s, handle h)
{
	uvmp_mask pages;

	all_pages(block_at(s, h), &pages);
	uvmpi_mapping_unmap(s, h, &pages, 0, because(UVMP_CAUSE_FREE));
	for (handle at = block_at(s, h)->residency; at != 0; at = residency_at(s, at)->next)
		uvmpi_depart(s, h, residency_at(s, at)->proc, &pages, false);
	if (give_memory(s, h))
		return;
	uvmpi_block_remove(s, h);
}

static void begin_free(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t slot = range_at(s, run->request.base);

	if (slot == NO_INDEX || s->range[slot].start != run->request.base ||
	    s->range[slot].origin != run->request.base) {
		finish(s, UVMP_ERR_UNKNOWN);
		return;
	}
	run->end = UINT64_MAX; /* pieces may lie anywhere above */
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
	uint32_t outer = index + 1u;

	for (; uvmpi_range_is_in(s, outer, first->space); outer++) {
		const struct range *r = &s->range[s->range_order[outer]];

		if (r->origin != first->origin || r->start > s->run.end || r->block != 0)
			break;
	}
	return outer - index;
}

static void free_pieces(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t index = run->is_last ? NO_INDEX : next_piece(s), count;
	const struct range *r;

	if (index == NO_INDEX) {
		finish(s, run->status);
		return;
	}
	r = &s->range[s->range_order[index]];
	if (r->block != 0) {
		free_block(s, r->block);
		return;
	}
	count = pieces_from(s, index);
	r = &s->range[s->range_order[index + count - 1u]];
	run->is_last = r->end >= run->end;
	run->next = r->end + 1u;
	if (run->request.kind == REQUEST_FREE_PART)
		uvmpi_range_remove_part(s, index, count);
	else
		uvmpi_range_remove(s, index, count);
}

/* -- migrate -- */

static void begin_window(struct uvmp_service *s, enum request_phase phase)
{
	const struct request *request = &s->run.request;
	uint32_t space = uvmpi_space_find(s, request->space);

	if (space == NO_INDEX || !uvmpi_range_covers(s, space, request->base, s->run.end)) {
		finish(s, UVMP_ERR_UNKNOWN);
		return;
	}
	s->run.phase = phase;
}

static void migrate_block(struct uvmp_service *s, handle h)
{
	const struct block *b = block_at(s, h);
	struct job *job = &s->run.servicing->job;
	uint32_t dst = s->run.request.processor;
	bool is_duplicate = range_of(s, b)->duplication == UVMP_DUPLICATION_ENABLED;
	uvmp_mask pages;

	uvmpi_job_clear(s, job, h, dst);
	job->cause = UVMP_CAUSE_MIGRATE;
	job->migrate = UVMP_MIGRATE_API_MIGRATE;
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, part_of(s, b));
	uvmpi_job_add_prefetched(s, job, &pages, dst,
				 is_duplicate ? UVMP_DUPLICATION_ENABLED : UVMP_DUPLICATION_DISABLED);
	start_step(s);
}

static void migrate(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	enum uvmp_status status = UVMP_OK;

	if (run->has_stepped) {
		uvmp_addr last = block_end(s, block_at(s, run->block));

		uvmpi_memory_settle(s);
		if (last >= run->end) {
			finish(s, UVMP_OK);
			return;
		}
		run->next = last + 1u;
	}
	run->block = uvmpi_block_make(s, uvmpi_space_find(s, run->request.space), run->next, &status);
	if (run->block == 0)
		finish(s, status);
	else
		migrate_block(s, run->block);
}

/* -- advise and free a part: ranges are cut -- */

/* Would the advice change the policy of the range? Discarding is no policy. */
static bool differs(const struct range *range, const struct request *request)
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

/* Slot of the range that is to be cut here, at the edge of the part; NO_INDEX: none. */
static uint32_t range_across(const struct uvmp_service *s, uvmp_addr address)
{
	const struct request *request = &s->run.request;
	uint32_t slot = range_at(s, address);

	if (slot == NO_INDEX || s->range[slot].start == address)
		return NO_INDEX;
	return request->kind == REQUEST_FREE_PART || differs(&s->range[slot], request) ? slot : NO_INDEX;
}

static enum uvmp_status cut(struct uvmp_service *s, uvmp_addr address)
{
	uint32_t slot = range_across(s, address);

	return slot == NO_INDEX ? UVMP_OK : uvmpi_range_split(s, slot, address, &s->run.block);
}

/* Whoever frees a part finds all as it was if there is no room for both cuts. */
static void begin_free_part(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t cuts = range_across(s, run->request.base) != NO_INDEX;

	cuts += range_across(s, run->end + 1u) != NO_INDEX;
	begin_window(s, SPLIT);
	if (run->is_active && cuts > s->range_slots - s->ranges)
		finish(s, UVMP_ERR_SPACE);
}

static void split(struct uvmp_service *s)
{
	bool is_free = s->run.request.kind == REQUEST_FREE_PART;
	enum uvmp_status status = cut(s, s->run.request.base);

	if (status == UVMP_OK)
		status = cut(s, s->run.end + 1u);
	if (status == UVMP_OK)
		s->run.phase = is_free ? REMOVE : RANGE;
	else if (status == UVMP_ERR_RETRY)
		s->run.phase = is_free ? LEAVE : VACATE;
	else
		finish(s, status);
}

/* Pages that are freed are not carried to the CPU with the rest of their block. */
static void leave(struct uvmp_service *s)
{
	handle h = s->run.block;
	struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, part_of(s, b));
	uvmpi_mapping_unmap(s, h, &pages, 0, because(UVMP_CAUSE_FREE));
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next)
		uvmpi_depart(s, h, residency_at(s, at)->proc, &pages, false);
	if (b->cold != 0) {
		struct cold *cold = cold_at(s, b->cold);

		uvmp_mask_andnot(&cold->duplicated, &cold->duplicated, &pages);
		uvmp_mask_andnot(&cold->discarded, &cold->discarded, &pages);
		uvmpi_counters_give(s, b);
	}
	s->run.phase = VACATE;
}

/* Maps a processor that accesses the range wherever pages lie, but for duplicated and discarded ones. */
static void map_accessor(struct uvmp_service *s, handle h, uint32_t proc)
{
	const struct block *b = block_at(s, h);
	uvmp_mask pages;

	all_pages(b, &pages);
	if (b->cold != 0) {
		uvmp_mask_andnot(&pages, &pages, &cold_at(s, b->cold)->duplicated);
		uvmp_mask_andnot(&pages, &pages, &cold_at(s, b->cold)->discarded);
	}
	uvmpi_mapping_map_remote(s, h, proc, &pages, because(UVMP_CAUSE_HINT));
}

/* GPU memory and thrashing state cannot be cut: everything goes to the CPU first, where those who access the
 * range keep reaching it. */
static void vacate(struct uvmp_service *s)
{
	handle h = s->run.block;
	struct job *job = &s->run.servicing->job;
	const struct block *b = block_at(s, h);

	uvmpi_job_clear(s, job, h, UVMP_CPU);
	job->cause = UVMP_CAUSE_HINT;
	job->migrate = UVMP_MIGRATE_API_HINT;
	job->may_map = false;
	for (uint32_t page = 0; page < b->pages; page++)
		if ((uvmpi_block_holders(s, b, page) & ~BIT(UVMP_CPU)) != 0)
			uvmpi_job_add(job, page, UVMP_CPU, UVMP_ACCESS_PREFETCH, false);
	if (job->destinations != 0) {
		start_step(s);
	} else if (!give_memory(s, h)) {
		for (uint64_t left = range_of(s, b)->accessed_by; left != 0; left &= left - 1u)
			map_accessor(s, h, lowest_bit(left));
		uvmpi_thrashing_end(s, h);
		s->run.phase = SPLIT;
	}
}

/* -- advise: ranges -- */

/* What the CPU has from the beginning is there without a block too: it is to be mapped, or given up. */
static bool needs_blocks(const struct range *range, const struct request *request)
{
	return range->home == UVMP_CPU &&
	       (request->advice == UVMP_ADVISE_ACCESSED_BY || request->advice == UVMP_ADVISE_DISCARD);
}

static void next_range(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	struct range *range;

	if (run->is_last) {
		finish(s, UVMP_OK);
		return;
	}
	run->range = range_at(s, run->next);
	range = &s->range[run->range];
	run->next = range->end + 1u;
	run->is_last = range->end >= run->end;
	run->block = range->block;
	if (run->request.advice == UVMP_ADVISE_DISCARD) {
		run->phase = BLOCK;
	} else if (differs(range, &run->request)) {
		set_policy(run, range);
		run->phase = BLOCK;
	}
	if (run->phase == BLOCK && needs_blocks(range, &run->request)) {
		run->phase = MAKE;
		run->make = range->start > run->request.base ? range->start : run->request.base;
	}
}

/* The next block of the range in the part, if it is not there yet. */
static void make_next(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	const struct range *range = &s->range[run->range];
	enum uvmp_status status;
	handle h = uvmpi_block_make(s, range->space, run->make, &status);
	uvmp_addr last;

	if (h == 0) {
		finish(s, status);
		return;
	}
	last = block_end(s, block_at(s, h));
	if (last < range->end && last < run->end) {
		run->make = last + 1u;
		return;
	}
	run->block = range->block;
	run->phase = BLOCK;
}

/* -- advise: blocks [driver: va-policy] -- */

/* A preferred location is never mapped to the memory of others [driver: other-mappings], unless it has
 * none itself. */
static uint64_t kept_at_home(const struct uvmp_service *s, uint32_t preferred)
{
	return preferred == UVMP_PROC_NONE ? 0 : BIT(preferred) & ~s->processors.no_memory;
}

/* Each processor loses the pages that it maps but does not hold, if it is one of the set. */
static void unmap_remote(struct uvmp_service *s, handle h, uint64_t procs)
{
	for (handle at = block_at(s, h)->residency; at != 0; at = residency_at(s, at)->next) {
		const struct residency *place = residency_at(s, at);
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
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		const struct residency *place = residency_at(s, at);
		uvmp_mask lost = *duplicated;

		for (uint32_t page = uvmp_mask_next_set(&lost, 0); page < UVMP_MASK_BITS;
		     page = uvmp_mask_next_set(&lost, page + 1u))
			if (is_keeper(s, b, page, place->proc))
				uvmp_mask_clear(&lost, page);
		uvmpi_mapping_unmap(s, h, &lost, ~BIT(place->proc), because(UVMP_CAUSE_HINT));
		uvmpi_depart(s, h, place->proc, &lost, false);
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
	struct uvmp_region part = part_of(s, b);
	struct cold *cold;

	if (uvmp_region_is_empty(part))
		return true;
	cold = uvmpi_cold_make(s, b);
	if (cold == NULL)
		return false;
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next)
		discard_place(s, h, residency_at(s, at), part, &cold->discarded);
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
		all_pages(block_at(s, h), &pages);
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

static void next_block(struct uvmp_service *s)
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
		finish(s, UVMP_ERR_NO_MEMORY);
}

/* Maps one of the processors that access the range. */
static void map_next(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t proc = lowest_bit(run->todo);

	if (run->todo == 0) {
		run->block = block_at(s, run->block)->range_next;
		run->phase = BLOCK;
		return;
	}
	run->todo &= run->todo - 1u;
	map_accessor(s, run->block, proc);
}

static void advise_or_free(struct uvmp_service *s)
{
	switch (s->run.phase) {
	case SPLIT:
		split(s);
		break;
	case LEAVE:
		leave(s);
		break;
	case VACATE:
		vacate(s);
		break;
	case RANGE:
		next_range(s);
		break;
	case MAKE:
		make_next(s);
		break;
	case BLOCK:
		next_block(s);
		break;
	default:
		map_next(s);
		break;
	}
}

/* -- faults of the CPU [driver: cpu-fault] -- */

/* The CPU cannot tell atomics from writes; where the range allows writing only, a write is all it can be. */
static uint8_t cpu_access(const struct request *request, const struct range *range)
{
	if (request->access == UVMP_ACCESS_READ)
		return UVMP_ACCESS_READ;
	return range->right == UVMP_PROT_READ_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_ATOMIC_STRONG;
}

static void refuse(struct uvmp_service *s, handle h, enum uvmp_cancel_mode mode, enum uvmp_status status)
{
	const struct request *request = &s->run.request;
	struct uvmp_action *a;
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (h != 0)
		uvmp_mask_set(&pages, block_page(s, block_at(s, h), request->base));
	a = uvmpi_queue(s, UVMP_ACTION_CANCEL, UVMP_CAUSE_FATAL, h, &pages);
	a->to = UVMP_CPU;
	a->right = (uint8_t)mode;
	a->space = request->space;
	if (h == 0) {
		a->address = request->base;
		a->page_bytes = s->page_bytes;
	}
	finish(s, status);
}

/* A fault although the CPU has the right: stale, or the thread has not seen its new mapping yet. The first
 * one is let pass; whoever comes again for the same page is serviced. */
static bool is_let_pass(struct uvmp_service *s, handle h, uint8_t access)
{
	const struct request *request = &s->run.request;
	const struct block *b = block_at(s, h);
	const struct residency *place = uvmpi_residency_find(s, b, UVMP_CPU);
	bool is_same = s->latch_thread == request->thread && s->latch_space == request->space &&
		       s->latch_page == request->base;

	if (place == NULL || residency_right(place, block_page(s, b, request->base)) <
				     (uint8_t)uvmp_access_prot((enum uvmp_access)access))
		return false;
	if (s->has_latch) {
		s->has_latch = !is_same && s->now_ns - s->latch_ns <= LATCH_NS;
		return s->has_latch;
	}
	s->has_latch = true;
	s->latch_ns = s->now_ns;
	s->latch_thread = request->thread;
	s->latch_space = request->space;
	s->latch_page = request->base;
	return true;
}

static void begin_cpu_fault(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t slot = range_at(s, run->request.base), space = uvmpi_space_find(s, run->request.space);
	enum uvmp_status status = UVMP_OK;
	uint8_t access;

	if (slot == NO_INDEX) {
		refuse(s, 0, UVMP_CANCEL_ALL, UVMP_ERR_UNKNOWN);
		return;
	}
	access = cpu_access(&run->request, &s->range[slot]);
	if ((uint8_t)uvmp_access_prot((enum uvmp_access)access) > s->range[slot].right) {
		refuse(s, uvmpi_block_find(s, space, run->request.base), UVMP_CANCEL_WRITE_AND_ATOMIC,
		       UVMP_ERR_CONFLICT);
		return;
	}
	run->request.access = access;
	run->block = uvmpi_block_make(s, space, run->request.base, &status);
	if (run->block == 0 || is_let_pass(s, run->block, access))
		finish(s, status);
	else
		run->phase = WORK;
}

static void cpu_fault(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	struct job *job = &s->run.servicing->job;
	uint8_t access = run->request.access;
	enum uvmp_status status;
	bool is_throttled;

	if (run->has_stepped) {
		finish(s, UVMP_OK);
		return;
	}
	uvmpi_job_clear(s, job, run->block, UVMP_CPU);
	job->is_prefetching = true;
	status = uvmpi_job_add_fault(s, job, block_page(s, block_at(s, run->block), run->request.base),
				     access, (uint8_t)(1u << access), &is_throttled);
	if (is_throttled)
		status = UVMP_ERR_RETRY;
	if (status != UVMP_OK)
		finish(s, status);
	else
		start_step(s);
}

/* -- the machine -- */

void uvmpi_request_start(struct uvmp_service *s)
{
	struct request_run *run = &s->run;

	*run = (struct request_run){
		.servicing = run->servicing, .is_active = true, .phase = BEGIN, .batch = s->batch};
	run->request = s->request[s->request_get];
	s->request_get = (s->request_get + 1u) % s->request_capacity;
	s->request_count--;
	run->next = run->request.base;
	run->end = run->request.base + (run->request.bytes - 1u);
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
		begin_free(s);
		break;
	case REQUEST_FREE_PART:
		begin_free_part(s);
		break;
	case REQUEST_ADVISE:
		begin_window(s, SPLIT);
		break;
	case REQUEST_MIGRATE:
		begin_window(s, WORK);
		break;
	default:
		begin_cpu_fault(s);
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
	if (run->phase == REMOVE) { /* goes on to the end, and tells the first failure */
		if (run->status == UVMP_OK)
			run->status = status;
		free_pieces(s);
	} else if (status != UVMP_OK) {
		finish(s, status);
	} else if (run->phase != WORK) {
		advise_or_free(s);
	} else if (run->request.kind == REQUEST_MIGRATE) {
		migrate(s);
	} else {
		cpu_fault(s);
	}
}

/* -- the unpin worker [driver: pin-and-reset] -- */

/* What was mapped for the sake of the pin goes. */
static void unpin(struct uvmp_service *s, handle h, uint32_t page)
{
	const struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	uvmpi_mapping_unmap(s, h, &pages, range_of(s, b)->accessed_by | uvmpi_block_holders(s, b, page),
			    because(UVMP_CAUSE_PIN));
	uvmpi_queue(s, UVMP_ACTION_UNPIN, UVMP_CAUSE_PIN, h, &pages);
}

/* The next page of the space whose pin is over; false: none, or there is no space in this slot. */
static bool next_due(struct uvmp_service *s, uint32_t space, handle *block, uint32_t *page)
{
	struct uvmp_thrash_block *of = NULL;
	bool found = false;

	uvmp_thrash_unpin(&s->space[space].thrash, s->now_ns, &of, page, &found);
	if (found)
		*block = (handle)of->id;
	return found;
}

bool uvmpi_unpin_due(struct uvmp_service *s)
{
	/* each page takes an action a processor, and one for itself */
	uint32_t most = minimum(UNPINS_MAX, (UVMP_SERVICE_PENDING_MAX - 1u) / (s->processors.count + 1u));
	uint32_t count = 0, page;
	handle block;

	for (uint32_t i = 0; i < s->spaces_used; i++) {
		while (count < most && next_due(s, i, &block, &page)) {
			unpin(s, block, page);
			count++;
		}
	}
	return count != 0;
}
