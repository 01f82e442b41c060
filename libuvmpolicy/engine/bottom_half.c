/* The bottom half of one GPU [driver: fetch, batch-order, batch-walk,
 * block-walk, permission-check, bottom-half]. It performs the actions of the replay state machine (replay.h).
 *
 * A batch is fetched, translated to address spaces, ordered, and dispatched block by block. The walk over the
 * faults of one block decides what each fault needs; the block service then moves and maps the pages. After an
 * eviction the whole walk is repeated [driver: eviction-retry]. Fatal faults are cancelled in a separate round:
 * flush, replay, fetch the retried faults, cancel the fatal ones [driver: flush].
 */
#include "../base/bits_internal.h"
#include "../base/debug_internal.h"
#include "block_service_internal.h"
#include "controllers_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

#define RETRIES_MAX 1100u /* chunks of a block on two processors, and some */
#define CANCELS_MAX 1024u /* queued at a time */

static struct gpu *gpu_of(struct uvmp_service *s)
{
	return &s->gpu[s->fault.gpu];
}

bool uvmpi_fault_is_due(struct uvmp_service *s, uint32_t gpu)
{
	return uvmp_fault_pending(&s->gpu[gpu].buffer, s->gpu[gpu].put);
}

static bool has_more(const struct uvmp_service *s, uvmp_addr *start)
{
	const struct gpu *g = &s->gpu[s->fault.gpu];
	const struct uvmp_fault *fault;
	struct uvmp_block shape;
	const struct range *r;
	uint32_t index;

	if (s->fault.phase == FAULT_IDLE || s->fault.next_bin >= g->representatives)
		return false;
	fault = &g->batch.entry[g->order_of[s->fault.next_bin]];
	index = uvmpi_range_find(s, uvmpi_space_find(s, fault->va_space), fault->address);
	if (index == NO_INDEX)
		return false;
	r = &s->range[s->range_order[index]];
	uvmp_geometry_block(&s->geometry, r->start, r->last,
			    uvmp_geometry_block_index(&s->geometry, r->start, fault->address), &shape);
	*start = shape.start;
	return true;
}

bool uvmpi_fault_has_next(const struct uvmp_service *s, uvmp_addr *start)
{
	return s->policy.plan != UVMP_PLAN_SERIAL && has_more(s, start);
}

bool uvmpi_fault_is_between(const struct uvmp_service *s)
{
	return s->fault.phase == FAULT_ACTION;
}

void uvmpi_fault_start(struct uvmp_service *s, uint32_t gpu)
{
	s->fault = (struct fault_run){
		.servicing = s->fault.servicing, .phase = FAULT_ACTION, .gpu = gpu, .follow = UVMP_PAGE_NONE};
	s->fault.was_enabled = s->gpu[gpu].replay.prefetch_faults.is_enabled;
	s->gpu[gpu].representatives = 0; /* of the batch before */
	s->gpu[gpu].counts.bottom_halves++;
	uvmp_replay_start(&s->gpu[gpu].params, &s->gpu[gpu].replay, &s->fault.action);
}

/* -- actions for the GPU -- */

static struct uvmp_action *queue(struct uvmp_service *s, enum uvmp_action_kind kind)
{
	struct uvmp_action *a = uvmpi_queue(s, kind, UVMP_CAUSE_NONE, 0, NULL);

	a->to = (uint8_t)s->fault.gpu;
	return a;
}

static void queue_wait(struct uvmp_service *s, bool for_copies)
{
	queue(s, UVMP_ACTION_WAIT)->is_update = for_copies;
}

static void queue_flush(struct uvmp_service *s, bool update_put)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_action *a = queue(s, UVMP_ACTION_FLUSH);
	uint32_t discarded = 0;

	uvmp_fault_flush(&g->buffer, update_put, g->put, &discarded);
	a->is_update = update_put;
	a->count = discarded;
}

static void queue_toggle(struct uvmp_service *s)
{
	bool is_enabled = gpu_of(s)->replay.prefetch_faults.is_enabled;

	if (is_enabled == s->fault.was_enabled)
		return;
	s->fault.was_enabled = is_enabled;
	queue(s, UVMP_ACTION_TOGGLE)->is_update = is_enabled;
}

/* -- fetch and order [driver: fetch, batch-order] -- */

/* Cannot fail: the engine's own ring has neither gaps nor fields out of range, and fits in the batch. */
static void fetch(struct uvmp_service *s, enum uvmp_fetch_mode mode)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_fetch_params params = {.max_batch = g->params.max_batch,
					   .page_bytes = s->page_bytes,
					   .coalesce = s->policy.coalesce,
					   .quirks = s->policy.quirks};

	(void)uvmp_fault_fetch(&params, mode, g->put, &g->buffer, &g->batch);
	g->representatives = 0;
	__builtin_memset(g->fatal, 0, g->batch.cached);
}

static void queue_batch(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_action *a;

	g->counts.batches++;
	g->counts.faults += g->batch.cached;
	g->counts.coalesced += g->batch.coalesced;
	s->batch = g->replay.batch_id;
	a = queue(s, UVMP_ACTION_BATCH);
	a->count = g->batch.cached;
	a->detail = g->batch.coalesced;
}

static bool has_same_instance(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->instance == b->instance && a->aperture == b->aperture && a->subcontext == b->subcontext;
}

/* The slot of the address space that raised the fault. NO_INDEX: its channel was unbound. If only the subcontext was
 * unbound, all faults of the subcontext are cancelled. */
static uint32_t find_space(struct uvmp_service *s, const struct uvmp_fault *fault)
{
	bool is_channel;
	uint32_t slot = uvmpi_instance_find(s, s->fault.gpu, fault->aperture, fault->instance,
					    fault->subcontext, &is_channel);

	if (slot == NO_INDEX && is_channel) {
		queue(s, UVMP_ACTION_CANCEL)->cause = UVMP_CAUSE_FATAL;
		gpu_of(s)->counts.cancelled++;
	}
	return slot;
}

/* Sets the address spaces of the faults that are ordered by instance. False: a channel was unbound, and the batch is
 * void. */
static bool translate(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	const struct uvmp_fault *before = NULL;

	for (uint32_t i = 0; i < g->representatives; i++) {
		struct uvmp_fault *fault = &g->batch.entry[g->order_of[i]];

		if (before && has_same_instance(before, fault)) {
			fault->va_space = before->va_space;
			fault->gpu = before->gpu;
		} else {
			uint32_t slot = find_space(s, fault);

			if (slot == NO_INDEX)
				return false;
			fault->va_space = s->space[slot].id;
			fault->gpu = s->fault.gpu;
		}
		before = fault;
	}
	return true;
}

/* The same for a batch of one instance, with one look-up. */
static bool translate_instance(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	uint32_t slot = find_space(s, &g->batch.entry[0]), gpu = s->fault.gpu;
	const struct uvmp_fault *end = g->batch.entry + g->batch.cached;
	uint64_t id;

	if (slot == NO_INDEX)
		return false;
	id = s->space[slot].id;
	for (struct uvmp_fault *fault = g->batch.entry; fault != end; fault++) {
		fault->va_space = id;
		fault->gpu = gpu;
	}
	return true;
}

/* Translates the representatives of the batch, and orders them. False: the batch is void. */
static bool order_batch(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);

	if (g->batch.is_single_instance) {
		if (!translate_instance(s))
			return false;
		g->representatives = uvmp_fault_order_batch(&g->batch, g->order_of, g->order_scratch);
		return true;
	}
	g->representatives = uvmp_fault_representatives(&g->batch, g->order_of);
	uvmp_fault_order_by_instance(g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	if (!translate(s))
		return false;
	uvmp_fault_order(g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	return true;
}

/* False: stale, flush and replay are queued. */
static bool preprocess(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);

	if (!order_batch(s)) {
		g->representatives = 0;
		queue_flush(s, true);
		queue(s, UVMP_ACTION_REPLAY);
		return false;
	}
	s->fault.next_bin = 0;
	uvmpi_blocks_read_ahead(s, g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	return true;
}

/* -- the walk over one block [driver: block-walk] -- */

static void mark_fatal(struct uvmp_service *s, uint32_t index, enum uvmp_cancel_mode mode)
{
	struct gpu *g = gpu_of(s);
	const struct uvmp_fault *fault = &g->batch.entry[index];

	g->fatal[index] = (uint8_t)(1u + mode);
	g->batch.utlb[fault->utlb].has_fatal = true;
	s->fault.event.has_fatal = true;
	if (s->fault.fatal_gpu == 0) {
		s->fault.fatal_gpu = fault->gpu;
		s->fault.fatal_space = fault->va_space;
	}
}

/* Is this its uTLB's first fault in the present walk? */
static bool is_new_utlb(struct gpu *g, const struct uvmp_fault *fault)
{
	uint64_t *seen = &g->utlb_seen[fault->utlb];
	bool is_new = *seen != g->walks;

	*seen = g->walks;
	return is_new;
}

/* prefetch=safe: distinct uTLBs among the faults of the block. A merged fault has a representative of its own
 * uTLB, or the latest representative. Representatives therefore cover all uTLBs but those of the merged faults
 * that directly follow a representative. */
static uint32_t count_utlbs(struct uvmp_service *s)
{
	const struct bin *bin = &s->fault.bin;
	struct gpu *g = gpu_of(s);
	uint32_t count = 0;

	g->walks++;
	for (uint32_t i = 0; i < bin->count; i++) {
		const struct uvmp_fault *first = &g->batch.entry[g->order_of[bin->first + i]];
		const struct uvmp_fault *end = g->batch.entry + g->batch.cached;

		count += is_new_utlb(g, first);
		for (const struct uvmp_fault *at = first + 1; at < end && at->is_filtered; at++) {
			if (at->address == first->address && has_same_instance(at, first))
				count += is_new_utlb(g, at);
		}
	}
	return count;
}

static void walk_fault(struct uvmp_service *s, const struct block *b, uint32_t index,
		       const struct uvmp_fault *previous, const struct uvmp_fault_verdict *before,
		       struct uvmp_fault_verdict *verdict)
{
	const struct uvmp_fault *fault = &gpu_of(s)->batch.entry[index];
	const struct residency *residency = uvmpi_residency_find(s, b, s->fault.gpu);
	uint32_t page = block_page(s, b, fault->address);
	struct uvmp_fault_facts facts = {.right = (enum uvmp_right)range_of(s, b)->right,
					 .is_retry = s->fault.retries != 0};
	struct job *job = &s->fault.servicing->job;

	if (residency && !uvmpi_remote_is_asked(s, b, s->fault.gpu, page))
		facts.mapped = (enum uvmp_right)residency_right(residency, page);
	(void)uvmp_fault_classify(fault, &facts, previous, before, verdict);
	s->fault.event.invalid_prefetches += verdict->invalid_prefetches;
	if (verdict->is_fatal)
		mark_fatal(s, index, verdict->cancel_mode);
	if (verdict->service_access == UVMP_ACCESS_NONE)
		return;
	if (uvmpi_remote_keeps(s, job->block, s->fault.gpu, page, verdict->service_access)) {
		uvmp_mask_set(&job->remote, page);
		job->has_remote = true;
		return;
	}
	if (!uvmpi_job_add_fault(s, job, page, verdict->service_access, verdict->service_mask) &&
	    s->fault.retries == 0)
		verdict->is_throttled = s->fault.event.has_throttled = true;
}

/* Pages whose faults are decided as the latest one that was judged, if their accesses are the same: pages of its class that
 * the GPU does not map with the right already. Where the detector or counters are asked for each fault, there are none. */
static void find_common(const struct uvmp_service *s, const struct block *b, const struct job *job,
			uvmp_mask *common)
{
	const struct residency *residency = uvmpi_residency_find(s, b, s->fault.gpu);

	uvmpi_mask_zero(common);
	if (job->alike.access == UVMP_ACCESS_NONE || remote_is_counting(s))
		return;
	*common = job->alike.pages;
	if (residency != NULL)
		(void)residency_without(
			residency, (uint8_t)uvmp_access_right((enum uvmp_access)job->alike.access), common);
}

/* Adds the faults that follow the one at position `i` of the bin and are decided alike: other pages of `common` with the
 * same accesses. The verdict on each is that it is serviced. Returns the position of the last one, or i. */
static uint32_t add_common(const struct gpu *g, const struct bin *bin, uint32_t i, uvmp_addr start,
			   uint32_t page_shift, const uvmp_mask *common, struct job_class *alike)
{
	const uint32_t *order = &g->order_of[bin->first];
	uvmp_addr previous = g->batch.entry[order[i]].address;

	for (; i + 1u < bin->count; i++) {
		const struct uvmp_fault *fault = &g->batch.entry[order[i + 1u]];
		uint32_t page = (uint32_t)((fault->address - start) >> page_shift);

		if (fault->access != alike->access || fault->access_mask != alike->accesses ||
		    fault->is_fatal || fault->address == previous || !uvmp_mask_test(common, page))
			break;
		uvmp_mask_set(&alike->more, page);
		alike->unnamed = UNNAMED_PLACE | UNNAMED_ACCESS;
		previous = fault->address;
	}
	return i;
}

/* add_common for all faults of the bin, whose first one has just been judged. False: they must be added one by one. */
static bool add_uniform(const struct gpu *g, const struct bin *bin, uint32_t page, const uvmp_mask *common,
			struct job_class *alike)
{
	const struct uvmp_fault *first = &g->batch.entry[g->order_of[bin->first]];
	uint32_t differ =
		(uint32_t)(first->access ^ alike->access) | (uint32_t)(first->access_mask ^ alike->accesses);
	uvmp_mask others = bin->pages;

	uvmp_mask_clear(&others, page);
	if (!bin->is_uniform || differ != 0 || !uvmpi_mask_is_subset(&others, common))
		return false;
	UVMPI_ASSERT(uvmpi_mask_is_empty(&alike->more)); /* the first fault begins the class */
	alike->more = others;
	alike->unnamed = UNNAMED_PLACE | UNNAMED_ACCESS;
	return true;
}

static void walk_faults(struct uvmp_service *s, const struct block *b, struct job *job)
{
	static const struct uvmp_fault_verdict serviced = {0};
	const struct bin *bin = &s->fault.bin;
	const struct uvmp_fault_verdict *before = NULL;
	const struct uvmp_fault *previous = NULL;
	const struct gpu *g = gpu_of(s);
	struct uvmp_fault_verdict verdict[2];
	uvmp_mask common;

	for (uint32_t i = 0; i < bin->count; i++) {
		struct uvmp_fault_verdict *own = &verdict[i % 2u];
		uint32_t judged = i;

		walk_fault(s, b, g->order_of[bin->first + i], previous, before, own);
		if (own->service_access != UVMP_ACCESS_NONE && i + 1u < bin->count) {
			find_common(s, b, job, &common);
			if (i == 0 &&
			    add_uniform(g, bin, uvmpi_mask_next_set(&bin->pages, 0), &common, &job->alike))
				return;
			i = add_common(g, bin, i, b->start, s->page_shift, &common, &job->alike);
		}
		before = i == judged ? own : &serviced;
		previous = &g->batch.entry[g->order_of[bin->first + i]];
	}
}

/* Starts the block service of the bin. A bin without work counts as serviced. */
static void walk(struct uvmp_service *s, handle h)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);
	struct job *job = &run->servicing->job;

	uvmpi_job_clear(job, h, run->gpu);
	job->is_prefetching = true;
	job->is_retry = run->retries != 0;
	job->has_next = uvmpi_fault_has_next(s, &job->next_start);
	if (remote_is_auto(s))
		uvmpi_remote_auto_begin(s, h, run->gpu);
	walk_faults(s, block_at(s, h), job);
	uvmpi_job_name_more(s, job);
	if (job->has_remote)
		uvmpi_remote_map(s, h, run->gpu, &job->remote, &job->arrive[run->gpu]);
	if (g->utlb_seen)
		job->utlbs = count_utlbs(s);
	run->phase = FAULT_JOB;
	uvmpi_servicing_start(s, run->servicing);
}

/* -- dispatch [driver: batch-walk] -- */

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
			mark_fatal(s, index, UVMP_CANCEL_ALL);
		else if (!run->is_cancelling || (fault->va_space == run->fatal_space))
			return true;
	}
	return false;
}

static bool is_last(const struct uvmp_service *s)
{
	const struct gpu *g = &s->gpu[s->fault.gpu];

	return s->fault.next_bin >= g->representatives;
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
		mark_fatal(s, index, verdict.cancel_mode);
	run->event.is_last = is_last(s);
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

static void dispatch(struct uvmp_service *s)
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
	walk(s, h);
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

static void follow_next(struct uvmp_service *s)
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
	run->event.is_last = is_last(s);
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
		walk(s, job->block);
	else
		job->has_next = uvmpi_fault_has_next(s, &job->next_start);
}

static void job_ended(struct uvmp_service *s)
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
	if (status == UVMP_OK && job->destinations != 0 && job->hint.follow != UVMP_PAGE_NONE) {
		run->retries = 0;
		run->phase = FAULT_FOLLOW;
		follow_next(s);
		return;
	}
	uvmpi_memory_settle(s);
	run->event.is_last = is_last(s);
	answer(s, status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status);
}

/* -- cancelling -- */

static void queue_cancel(struct uvmp_service *s, uint32_t index, uint8_t mode, enum uvmp_cause cause)
{
	const struct uvmp_fault *fault = &gpu_of(s)->batch.entry[index];
	uint32_t slot = uvmpi_space_find(s, fault->va_space);
	handle h = slot == NO_INDEX ? 0 : uvmpi_block_find(s, slot, fault->address);
	struct uvmp_action *a;
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (h != 0)
		uvmp_mask_set(&pages, block_page(s, block_at(s, h), fault->address));
	a = uvmpi_queue(s, UVMP_ACTION_CANCEL, cause, h, &pages);
	a->to = (uint8_t)s->fault.gpu;
	a->cancel_mode = mode;
	if (cause == UVMP_CAUSE_ERROR)
		a->status = (int8_t)gpu_of(s)->replay.status;
	gpu_of(s)->counts.cancelled++;
	if (h == 0) {
		a->space = fault->va_space;
		a->address = fault->address;
		a->page_bytes = s->page_bytes;
	}
}

/* Queues cancels from next_bin on, of fatal faults only or of all faults; true after the last one. */
static bool queue_cancels(struct uvmp_service *s, bool only_fatal)
{
	struct fault_run *run = &s->fault;
	const struct gpu *g = gpu_of(s);

	for (uint32_t i = 0; i < CANCELS_MAX && run->next_bin < g->representatives; i++, run->next_bin++) {
		uint32_t index = g->order_of[run->next_bin];

		if (!only_fatal)
			queue_cancel(s, index, UVMP_CANCEL_ALL, UVMP_CAUSE_ERROR);
		else if (g->fatal[index] != 0)
			queue_cancel(s, index, (uint8_t)(g->fatal[index] - 1u), UVMP_CAUSE_FATAL);
	}
	return run->next_bin >= g->representatives;
}

static void flush_and_replay(struct uvmp_service *s)
{
	queue_flush(s, true);
	queue(s, UVMP_ACTION_REPLAY);
}

enum { CANCEL_FLUSH, CANCEL_FETCH, CANCEL_SERVE, CANCEL_FATAL, CANCEL_REPLAY, CANCEL_END };

static void cancel_fetch(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	fetch(s, UVMP_FETCH_ALL);
	if (gpu_of(s)->batch.cached == 0) {
		run->cancel = CANCEL_REPLAY;
		return;
	}
	queue_batch(s);
	run->cancel = preprocess(s) ? CANCEL_SERVE : CANCEL_END;
}

static void end_cancel(struct uvmp_service *s, enum uvmp_status status)
{
	struct fault_run *run = &s->fault;

	run->is_cancelling = false;
	run->fatal_gpu = 0;
	run->cancel = 0; /* also the start of a cancelled batch */
	run->event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_DONE, .status = status};
	run->phase = FAULT_ANSWER;
}

/* The precise cancel, one decision per call. A failed action of the cancel itself ends it. A failed dispatch
 * inside it does not: the queue is empty again by then. */
static void cancel(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	enum uvmp_status status = uvmpi_queue_status(s);

	if (run->is_cancelling && status != UVMP_OK) {
		end_cancel(s, status);
		return;
	}
	switch (run->cancel) {
	case CANCEL_FLUSH:
		run->is_cancelling = true;
		queue_wait(s, false);
		flush_and_replay(s);
		queue_wait(s, false);
		run->cancel = CANCEL_FETCH;
		break;
	case CANCEL_FETCH:
		cancel_fetch(s);
		break;
	case CANCEL_SERVE:
		if (run->next_bin < gpu_of(s)->representatives) {
			dispatch(s);
			break;
		}
		run->next_bin = 0;
		run->cancel = CANCEL_FATAL;
		break;
	case CANCEL_FATAL:
		if (queue_cancels(s, true))
			run->cancel = CANCEL_REPLAY;
		break;
	case CANCEL_REPLAY:
		flush_and_replay(s);
		run->cancel = CANCEL_END;
		break;
	default:
		end_cancel(s, UVMP_OK);
		break;
	}
}

/* Cancels every fault of the batch after an error. False: faults are left for the next call. */
static bool cancel_batch(struct uvmp_service *s)
{
	if (s->fault.cancel == 0)
		s->fault.next_bin = 0;
	s->fault.cancel = 1;
	if (!queue_cancels(s, false))
		return false;
	s->fault.cancel = 0;
	flush_and_replay(s);
	return true;
}

/* -- actions of the replay state machine -- */

static void end_bottom_half(struct uvmp_service *s)
{
	struct uvmp_action *a;

	s->batch = 0;
	a = queue(s, UVMP_ACTION_DONE);
	a->status = (int8_t)s->fault.action.status;
	s->fault.phase = FAULT_IDLE;
}

static void act_on_buffer(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	if (run->action.kind == UVMP_REPLAY_FETCH) {
		run->event.kind = UVMP_REPLAY_EVENT_FETCHED;
		fetch(s, UVMP_FETCH_BATCH_READY);
		run->event.cached = gpu_of(s)->batch.cached;
	} else {
		run->event.kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		queue_batch(s);
		run->event.is_stale = !preprocess(s);
		run->fatal_gpu = 0;
		run->is_trimming = s->policy.free_buffer != 0 && !run->event.is_stale;
		run->is_leaving = s->policy.plan == UVMP_PLAN_UNOBTRUSIVE && !run->event.is_stale;
		run->servicing->eviction.status = UVMP_OK;
		(void)uvmp_evict_batch(&gpu_of(s)->order);
		uvmpi_prefetch_switch(s);
		if (s->adapt.is_on)
			uvmpi_adapt_batch(s, run->gpu);
	}
}

static void act(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;

	run->event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_DONE};
	run->phase = FAULT_ANSWER;
	switch (run->action.kind) {
	case UVMP_REPLAY_STOP:
		end_bottom_half(s);
		break;
	case UVMP_REPLAY_FETCH:
	case UVMP_REPLAY_PREPROCESS:
		act_on_buffer(s);
		break;
	case UVMP_REPLAY_SERVICE:
		dispatch(s);
		break;
	case UVMP_REPLAY_PUSH:
		queue(s, UVMP_ACTION_REPLAY);
		break;
	case UVMP_REPLAY_FLUSH:
		queue_flush(s, run->action.update_put);
		break;
	case UVMP_REPLAY_WAIT_REPLAY:
	case UVMP_REPLAY_WAIT_WORK:
		queue_wait(s, run->action.kind == UVMP_REPLAY_WAIT_WORK);
		break;
	case UVMP_REPLAY_CANCEL_PRECISE:
		run->cancel = CANCEL_FLUSH;
		run->phase = FAULT_CANCEL;
		cancel(s);
		break;
	default:
		if (!cancel_batch(s))
			run->phase = FAULT_ACTION;
		break;
	}
}

/* All queued actions are completed: report the result to the replay state machine. */
static void tell(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);

	run->event.now_ns = s->now_ns;
	g->counts.duplicates += run->event.duplicates;
	g->counts.invalid_prefetches += run->event.invalid_prefetches;
	if (run->event.status == UVMP_OK)
		run->event.status = uvmpi_queue_status(s);
	uvmp_replay_step(&g->params, &g->replay, &run->event, &run->action);
	s->batch = g->replay.batch_id;
	queue_toggle(s);
	run->phase = FAULT_ACTION;
}

/* free_buffer: evicts until enough is free, no unit may be evicted, or an eviction fails. */
static bool trim(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	uvmp_addr start;

	run->is_trimming = run->is_trimming && run->servicing->eviction.status == UVMP_OK &&
			   has_more(s, &start) && uvmpi_servicing_trim(s, run->servicing, run->gpu, start);
	return run->is_trimming;
}

/* Unobtrusive: if memory is full, evicts the first victim before the first block is serviced. The victim is
 * another block. */
static bool evict_first(struct uvmp_service *s)
{
	struct fault_run *run = &s->fault;
	const struct gpu *g = gpu_of(s);
	bool is_first = run->is_leaving;
	const struct uvmp_fault *fault;
	uvmp_addr start;

	run->is_leaving = false;
	if (!is_first || !has_more(s, &start))
		return false;
	fault = &g->batch.entry[g->order_of[run->next_bin]];
	uvmpi_job_clear(&run->servicing->job,
			uvmpi_block_find(s, uvmpi_space_find(s, fault->va_space), start), run->gpu);
	return uvmpi_servicing_evict_ahead(s, run->servicing, run->gpu, start);
}

static void give_answer(struct uvmp_service *s)
{
	if (!trim(s) && !evict_first(s))
		tell(s);
}

void uvmpi_fault_advance(struct uvmp_service *s)
{
	s->batch = gpu_of(s)->replay.batch_id;
	switch (s->fault.phase) {
	case FAULT_ACTION:
		act(s);
		break;
	case FAULT_JOB:
		job_ended(s);
		if (s->fault.phase == FAULT_ANSWER)
			give_answer(s);
		break;
	case FAULT_ANSWER:
		give_answer(s);
		break;
	case FAULT_FOLLOW:
		follow_next(s);
		break;
	default:
		cancel(s);
		break;
	}
}
