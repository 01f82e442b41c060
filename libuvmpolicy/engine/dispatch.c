/* Dispatch [driver: batch-walk]: the faults of a batch, block by block, then the pages that the prefetcher adds
 * beyond the block. After an eviction the whole walk is repeated [driver: eviction-retry]. bottom_half_internal.h. */
#include "bottom_half_internal.h"

#include "../base/debug_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

#define RETRIES_MAX 1100u /* chunks of a block on two processors, and some */

/* -- blocks with faults -- */

static void answer(struct uvmp_service *s, enum uvmp_status status)
{
	s->fault.event.status = status;
	s->fault.phase = s->fault.is_cancelling ? FAULT_CANCEL : FAULT_ANSWER;
}

/* Skips faults that are not serviced; false: no fault is left. */
static bool next_fault(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);

	for (; run->next_bin < g->representatives; run->next_bin++) {
		uint32_t index = g->order_of[run->next_bin];
		const struct uvmp_fault *fault = &g->batch.entry[index];

		if (fault->is_fatal)
			uvmpi_walk_mark_fatal(s, index, UVMP_CANCEL_ALL);
		else if (!run->is_cancelling || (fault->va_space == run->fatal_space))
			return true;
	}
	return false;
}

/* Handles a fault outside all ranges. */
static void dispatch_unmapped(struct uvmp_service *s, uint32_t index)
{
	struct fault_run *run = &s->fault;
	const struct gpu *g = gpu_of(s);
	const struct uvmp_fault *fault = &g->batch.entry[index];
	const struct uvmp_fault *previous =
		run->next_bin == 0 ? NULL : &g->batch.entry[g->order_of[run->next_bin - 1u]];
	struct uvmp_fault_facts facts = {.is_unmapped = true};
	struct uvmp_fault_verdict verdict;

	uvmp_fault_classify(fault, &facts, NULL, NULL, &verdict);
	run->event.duplicates = fault->num_instances - (uvmp_fault_is_same_page(previous, fault) ? 0u : 1u);
	run->next_bin++;
	run->event.invalid_prefetches = verdict.invalid_prefetches;
	if (verdict.is_fatal)
		uvmpi_walk_mark_fatal(s, index, verdict.cancel_mode);
	run->event.is_last = batch_is_last(s);
	answer(s, UVMP_OK);
}

#ifdef UVMPI_DEBUG
static bool is_bin(const struct gpu *g, const struct bin *bin, uvmp_addr last)
{
	struct uvmp_fault_bin same;

	return uvmp_fault_bin_next(g->batch.entry, g->order_of, g->representatives, bin->first, last,
				   &same) == UVMP_OK &&
	       same.count == bin->count && same.duplicates == bin->duplicates;
}
#endif

/* The faults of the block, from next_bin on: the answer of uvmp_fault_bin_next, and their pages. All are of one GPU. */
static void take_bin(struct uvmp_service *s, const struct block *b)
{
	const struct gpu *g = gpu_of(s);
	struct bin *bin = &s->fault.bin;
	const uint32_t *at = g->order_of + s->fault.next_bin, *first = at,
		       *end = g->order_of + g->representatives;
	const struct uvmp_fault *entry = g->batch.entry, *head = &entry[*at], *e = head;
	uvmp_addr start = b->start, last = block_last(s, b), before = ~head->address;
	uint32_t shift = s->page_shift, duplicates = 0, pages = 0, differ = 0;

	uvmpi_mask_zero(&bin->pages);
	do {
		uint32_t page = (uint32_t)((e->address - start) >> shift);

		bin->pages.word[page / 64u] |= (uint64_t)1 << (page % 64u);
		pages += e->address != before;
		duplicates += e->num_instances;
		differ |= (uint32_t)(e->access ^ head->access) |
			  (uint32_t)(e->access_mask ^ head->access_mask) | e->is_fatal;
		before = e->address;
		if (++at == end)
			break;
		e = &entry[*at];
	} while (e->address <= last && e->va_space == head->va_space);
	bin->first = s->fault.next_bin;
	bin->count = (uint32_t)(at - first);
	bin->duplicates = duplicates - pages;
	bin->is_uniform = differ == 0 && pages == bin->count;
	UVMPI_ASSERT(is_bin(g, bin, last));
}

void uvmpi_dispatch(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);
	enum uvmp_status status;
	uint32_t index, slot;
	handle h;

	run->event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_SERVICED};
	run->retries = 0;
	if (!next_fault(s)) {
		run->event.is_last = run->event.is_none = true;
		answer(s, UVMP_OK);
		return;
	}
	index = g->order_of[run->next_bin];
	slot = uvmpi_space_find(s, g->batch.entry[index].va_space);
	status = UVMP_ERR_UNKNOWN; /* the address space may have been removed since the fetch */
	h = slot == NO_INDEX ? 0 : uvmpi_block_make(s, slot, g->batch.entry[index].address, &status);
	if (h == 0 && status == UVMP_ERR_UNKNOWN) {
		dispatch_unmapped(s, index);
		return;
	}
	if (h == 0) {
		run->next_bin++; /* the precise cancel continues after it */
		answer(s, status);
		return;
	}
	take_bin(s, block_at(s, h));
	run->next_bin += run->bin.count;
	run->event.duplicates = run->bin.duplicates;
	uvmpi_walk(s, h);
}

/* -- pages beyond the block that faulted -- */

/* Pages of the block that fault later in this batch, and are serviced then. */
static void faulting_later(struct uvmp_service *s, const struct block *b, uvmp_mask *pages)
{
	const struct gpu *g = gpu_of(s);
	const struct residency *residency = uvmpi_residency_find(s, b, s->fault.gpu);

	for (uint32_t i = s->fault.next_bin; i < g->representatives; i++) {
		const struct uvmp_fault *fault = &g->batch.entry[g->order_of[i]];

		if (fault->address > block_last(s, b))
			break;
		if (fault->address >= b->start && fault->va_space == space_of(s, b)->id)
			uvmp_mask_set(pages, block_page(s, b, fault->address));
	}
	if (residency)
		uvmp_mask_andnot(pages, pages, &residency->resident);
}

/* Runs the prefetcher for the block that holds page run->follow of the range. */
static void follow(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct job *job = &run->servicing->job;
	const struct range *range = range_of(s, block_at(s, job->keep ? job->keep : job->block));
	handle keep = job->keep ? job->keep : job->block, h;
	bool is_retry = run->retries != 0;
	enum uvmp_status status;

	h = uvmpi_block_make(s, range->space, range->start + (run->follow << s->page_shift), &status);
	if (h == 0) { /* the arena is full; no warp waits for these pages */
		run->follow = UVMP_PAGE_NONE;
		return;
	}
	uvmpi_job_clear(job, h, run->gpu);
	job->keep = keep;
	job->is_follow = job->is_prefetching = true;
	job->is_retry = is_retry;
	job->has_next = uvmpi_fault_has_next(s, &job->next_start);
	faulting_later(s, block_at(s, h), &job->arrive[run->gpu]);
	uvmpi_servicing_start(s, run->servicing);
}

void uvmpi_dispatch_follow(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	const struct job *job = &run->servicing->job;

	if (job->status == UVMP_ERR_RETRY) {
		run->retries++;
	} else {
		run->retries = 0;
		run->follow = job->status == UVMP_OK ? job->hint.follow : UVMP_PAGE_NONE;
	}
	if (run->follow != UVMP_PAGE_NONE)
		follow(s);
	if (run->follow != UVMP_PAGE_NONE)
		return;
	uvmpi_memory_settle(s);
	run->event.is_last = batch_is_last(s);
	answer(s, UVMP_OK);
}

/* Repeats the walk after an eviction [driver: eviction-retry]. A walk without verdicts that count once, whose facts the
 * eviction has not changed, gives the same job. */
static void walk_again(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct job *job = &run->servicing->job;

	if ((run->event.invalid_prefetches | run->event.has_fatal) != 0 ||
	    !uvmpi_servicing_resume(s, run->servicing))
		uvmpi_walk(s, job->block);
	else
		job->has_next = uvmpi_fault_has_next(s, &job->next_start);
}

void uvmpi_dispatch_job_ended(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	const struct job *job = &run->servicing->job;
	enum uvmp_status status = job->status;

	if (status == UVMP_OK) /* no page was needed, and a THROTTLE has failed */
		status = uvmpi_queue_status(s);
	if (status == UVMP_ERR_RETRY && ++run->retries < RETRIES_MAX) {
		walk_again(s);
		return;
	}
	uvmpi_batch_count_block(s, job->destinations != 0);
	if (status == UVMP_OK && job->destinations != 0 && job->hint.follow != UVMP_PAGE_NONE) {
		run->retries = 0;
		run->phase = FAULT_FOLLOW;
		uvmpi_dispatch_follow(s);
		return;
	}
	uvmpi_memory_settle(s);
	run->event.is_last = batch_is_last(s);
	answer(s, status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status);
}
