/* Access counters: notifications of one GPU become migrations [driver: counter-fetch, counter-service,
 * counter-pages, counter-policy, counter-clear].
 *
 * A batch is fetched, given its address spaces and ordered by (space, address). Then it is walked: what lies
 * in one block is a group, whose pages move by one block service; the notifications of a group are cleared
 * afterwards, so that their counters notify again. What leads to no block is a group of its own. After an
 * error nothing is cleared, and the rest of the batch is dropped.
 *
 * The CPU is taken to hold blocks of 2 MiB in one chunk, as the driver's own allocation does where it can:
 * for them, and for whole roots of GPUs, the bits of the sub-granularity count [driver: counter-pages].
 */
#include "../base/bits_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

#define RETRIES_MAX 1100u /* evictions for one block: more than it can have chunks, on two GPUs */

/* -- the buffer [driver: counter-fetch] -- */

enum uvmp_status uvmp_service_note(struct uvmp_service *s, uint32_t gpu, const struct uvmp_note *note)
{
	struct gpu *g;
	uint32_t after;

	if (!service_is_valid(s) || note == NULL)
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= s->processors.count || note->aperture > UVMP_APERTURE_VID)
		return UVMP_ERR_RANGE;
	g = &s->gpu[gpu];
	if (g->note_capacity == 0)
		return UVMP_ERR_RANGE;
	after = g->note_put + 1u == g->note_capacity ? 0 : g->note_put + 1u;
	if (after == g->note_get)
		return UVMP_ERR_SPACE;
	g->note[g->note_put] = *note;
	g->note_put = after;
	s->notes_waiting++;
	return UVMP_OK;
}

/* As for faults, PUT is read only when everything up to the one read before has been taken
 * [driver: cached-put]. */
static uint32_t fetch(struct uvmp_service *s)
{
	struct gpu *g = &s->gpu[s->counter.gpu];
	uint32_t most = uvmp_counter_max_batch(s->policy.counter_batch, g->note_capacity), count = 0;

	if (g->note_get == g->note_cached_put)
		g->note_cached_put = g->note_put;
	while (count < most && g->note_get != g->note_cached_put) {
		s->notes[count] = g->note[g->note_get];
		s->note_order[count] = count;
		count++;
		g->note_get = g->note_get + 1u == g->note_capacity ? 0 : g->note_get + 1u;
	}
	s->notes_waiting -= count;
	return count;
}

/* -- order [driver: counter-service] -- */

/* From here on `aperture` says whether there is an address space, and `instance` which. */
static void translate(struct uvmp_service *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct uvmp_note *note = &s->notes[i];
		uint32_t slot = uvmpi_instance_find(s, s->counter.gpu, note->aperture, note->instance,
						    note->subcontext, NULL);

		note->aperture = slot != NO_INDEX;
		note->instance = slot == NO_INDEX ? 0 : s->space[slot].id;
	}
}

/* Those without address space first; equal ones as they arrived. */
static bool is_before(const struct uvmp_service *s, uint32_t a, uint32_t b)
{
	const struct uvmp_note *x = &s->notes[a], *y = &s->notes[b];

	if (x->aperture != y->aperture)
		return x->aperture < y->aperture;
	if (x->instance != y->instance)
		return x->instance < y->instance;
	if (x->address != y->address)
		return x->address < y->address;
	return a < b;
}

/* What lies below `root` is a heap with its last element on top: lets the one at `root` sink to its place. */
static void sink(struct uvmp_service *s, uint32_t root, uint32_t count)
{
	uint32_t *order = s->note_order, value = order[root];

	while (root < count / 2u) {
		uint32_t child = 2u * root + 1u;

		if (child + 1u < count && is_before(s, order[child], order[child + 1u]))
			child++;
		if (!is_before(s, value, order[child]))
			break;
		order[root] = order[child];
		root = child;
	}
	order[root] = value;
}

static void sort(struct uvmp_service *s, uint32_t count)
{
	uint32_t *order = s->note_order;

	for (uint32_t root = count / 2u; root-- > 0;)
		sink(s, root, count);
	for (uint32_t last = count - 1u; last > 0; last--) {
		uint32_t top = order[0];

		order[0] = order[last];
		order[last] = top;
		sink(s, 0, last);
	}
}

void uvmpi_counter_start(struct uvmp_service *s, uint32_t gpu)
{
	struct counter_run *run = &s->counter;
	struct uvmp_action *a;

	run->gpu = gpu;
	run->next = run->group = run->retries = 0;
	run->count = fetch(s);
	s->batch = ++s->gpu[gpu].note_batches;
	a = uvmpi_queue(s, UVMP_ACTION_BATCH, UVMP_CAUSE_COUNTER, 0, NULL);
	a->to = (uint8_t)gpu;
	a->count = a->detail = run->count;
	/* with 4 KiB pages the driver only reports them [driver: notifications-drained], and without
	 * migrations too */
	if (!s->has_counters ||
	    !uvmp_counter_is_serviced(s->page_bytes, s->policy.quirks &&
							     s->policy.counters != UVMP_COUNTERS_ON &&
							     !remote_is_auto(s)))
		return;
	translate(s, run->count);
	sort(s, run->count);
	run->phase = COUNTER_WALK;
}

/* -- one block [driver: counter-pages, counter-policy] -- */

static const struct uvmp_note *note_at(const struct uvmp_service *s, uint32_t position)
{
	return &s->notes[s->note_order[position]];
}

/* Notifications from `next` on that lie in the block. */
static uint32_t gather(struct uvmp_service *s, const struct block *b)
{
	struct counter_run *run = &s->counter;
	const struct uvmp_note *first = note_at(s, run->next);
	uint32_t most = minimum(run->count - run->next, COUNTER_GROUP_MAX), count = 0;

	for (; count < most; count++) {
		const struct uvmp_note *note = note_at(s, run->next + count);

		if (note->instance != first->instance || note->address > block_last(s, b))
			break;
		run->note[count] =
			(struct uvmp_counter_note){block_page(s, b, note->address), note->sub_granularity};
	}
	return count;
}

/* Set of processors that hold the block in one chunk. */
static uint64_t contiguous(const struct uvmp_service *s, const struct block *b)
{
	uint64_t set = BIT(UVMP_CPU);

	if (!block_is_whole(s, b))
		return 0;
	EACH_RESIDENCY (residency, s, b) {
		if (uvmpi_memory_is_chunked(s, residency))
			set |= BIT(residency->proc);
	}
	return set;
}

/* The pages that the group names and that may move. */
static void name_pages(struct uvmp_service *s, const struct block *b, uvmp_mask *pages)
{
	const struct counter_run *run = &s->counter;
	const struct residency *residency = uvmpi_residency_find(s, b, run->gpu);
	struct uvmp_counter_facts facts = {.gpu = run->gpu,
					   .page_bytes = s->page_bytes,
					   .granularity = UVMP_COUNTER_2M,
					   .quirks = s->policy.quirks,
					   .contiguous = contiguous(s, b),
					   .resident = s->holders};
	struct uvmp_counter_block block = {.resident = &s->holders[run->gpu]};
	uvmp_mask mapped;

	uvmpi_block_residents(s, b);
	if (residency != NULL) {
		residency_mapped(residency, &mapped);
		block.is_mapped = !uvmp_mask_is_empty(&mapped);
	}
	uvmp_counter_expand(&s->processors, &facts, run->note, run->group, pages);
	uvmp_counter_filter(pages, pages, &block);
}

/* -- the walk [driver: counter-service, counter-clear] -- */

/* Names the block and `pages` of it for the log; 0 and NULL: none. */
static struct uvmp_action *clear_because(struct uvmp_service *s, const struct uvmp_note *note, handle block,
					 const uvmp_mask *pages)
{
	struct uvmp_action *a = uvmpi_queue(s, UVMP_ACTION_CLEAR, UVMP_CAUSE_COUNTER, block, pages);

	a->to = (uint8_t)s->counter.gpu;
	a->offset = note->bank;
	a->detail = note->tag;
	return a;
}

static void clear(struct uvmp_service *s, const struct uvmp_note *note)
{
	(void)clear_because(s, note, 0, NULL);
}

static void end_group(struct uvmp_service *s)
{
	struct counter_run *run = &s->counter;

	run->next += run->group;
	run->phase = run->next < run->count ? COUNTER_WALK : COUNTER_IDLE;
}

/* The group at `next` led to `place` and has been served. */
static void clear_group(struct uvmp_service *s, enum uvmp_counter_place place)
{
	struct counter_run *run = &s->counter;

	switch (uvmp_counter_clears(place, UVMP_OK, s->policy.quirks)) {
	case UVMP_COUNTER_CLEAR_GROUP:
		for (uint32_t i = 0; i < run->group; i++)
			clear(s, note_at(s, run->next + i));
		break;
	case UVMP_COUNTER_CLEAR_FIRST: /* [driver: clears-first-notification] */
		clear(s, note_at(s, 0));
		break;
	case UVMP_COUNTER_CLEAR_THIS:
		clear(s, note_at(s, run->next));
		break;
	default:
		break;
	}
	end_group(s);
}

/* remote=auto: the pages that the group names stay. Each CLEAR says by which rule. Only the first one names the pages, so that the
 * story of a page has the decision once. */
static void clear_staying(struct uvmp_service *s, enum uvmp_rule rule, const uvmp_mask *pages)
{
	struct counter_run *run = &s->counter;

	for (uint32_t i = 0; i < run->group; i++)
		clear_because(s, note_at(s, run->next + i), run->block, i == 0 ? pages : NULL)->rule = (uint8_t)rule;
	end_group(s);
}

/* remote=auto: `*rule` decides about the pages, if there are any. True: they stay, and the group has been served. */
static bool stays(struct uvmp_service *s, const struct block *b, uvmp_mask *pages, enum uvmp_rule *rule)
{
	const struct counter_run *run = &s->counter;
	uint64_t accesses = (uint64_t)run->group * uvmp_counter_threshold(s->policy.counter_threshold);
	uvmp_mask named = *pages;

	if (uvmpi_mask_is_empty(pages)) {
		clear_group(s, UVMP_COUNTER_BLOCK);
		return true;
	}
	*rule = uvmpi_remote_auto_rule(s, b, uvmpi_residency_find(s, b, run->gpu), accesses, pages);
	if (!remote_rule_keeps(*rule))
		return false;
	clear_staying(s, *rule, &named);
	return true;
}

/* uvmpi_job_add_fault leaves throttled pages out, and ignores the read-duplicate verdict
 * [driver: counter-ignores-duplication]. */
static void start_job(struct uvmp_service *s)
{
	struct counter_run *run = &s->counter;
	struct job *job = &run->servicing->job;
	const struct block *b = block_at(s, run->block);
	enum uvmp_rule rule = UVMP_RULE_NONE;
	struct uvmp_region bounds;
	uvmp_mask pages;

	name_pages(s, b, &pages);
	if (remote_is_auto(s) && stays(s, b, &pages, &rule))
		return;
	uvmpi_job_clear(job, run->block, run->gpu);
	job->operation = UVMP_OPERATION_ACCESS_COUNTER;
	job->cause = UVMP_CAUSE_COUNTER;
	job->migrate = UVMP_MIGRATE_ACCESS_COUNTER;
	job->rule = (uint8_t)rule;
	job->is_prefetching = true;
	job->is_retry = run->retries != 0;
	for (uint32_t page = uvmp_mask_next_set(&pages, 0); page < b->pages;
	     page = uvmp_mask_next_set(&pages, page + 1u))
		(void)uvmpi_job_add_fault(s, job, page, UVMP_ACCESS_PREFETCH, 1u << UVMP_ACCESS_PREFETCH);
	uvmpi_job_name_more(s, job);
	uvmp_counter_settle(job->arrive, s->holders, s->processors.count, &job->destinations, &bounds);
	run->phase = COUNTER_JOB;
	uvmpi_servicing_start(s, run->servicing);
}

static void walk(struct uvmp_service *s)
{
	struct counter_run *run = &s->counter;
	const struct uvmp_note *note = note_at(s, run->next);
	uint32_t space = note->aperture != 0 ? uvmpi_space_find(s, note->instance) : NO_INDEX;

	run->group = 1;
	run->retries = 0;
	if (space == NO_INDEX) {
		clear_group(s, UVMP_COUNTER_NO_SPACE);
		return;
	}
	run->block = uvmpi_block_find(s, space, note->address);
	if (run->block == 0) {
		clear_group(s, uvmpi_range_find(s, space, note->address) == NO_INDEX ? UVMP_COUNTER_NOWHERE
										     : UVMP_COUNTER_NO_BLOCK);
		return;
	}
	run->group = gather(s, block_at(s, run->block));
	start_job(s);
}

static void fail(struct uvmp_service *s, enum uvmp_status status)
{
	struct uvmp_action *a = uvmpi_queue(s, UVMP_ACTION_DONE, UVMP_CAUSE_COUNTER, 0, NULL);

	a->to = (uint8_t)s->counter.gpu;
	a->status = (int8_t)status;
	s->counter.phase = COUNTER_IDLE;
}

void uvmpi_counter_advance(struct uvmp_service *s)
{
	struct counter_run *run = &s->counter;
	enum uvmp_status status = run->servicing->job.status;

	if (run->phase == COUNTER_WALK) {
		walk(s);
		return;
	}
	if (status == UVMP_ERR_RETRY && ++run->retries <= RETRIES_MAX) { /* an eviction has made room
									  * [driver: eviction-retry] */
		start_job(s);
		return;
	}
	uvmpi_memory_settle(s);
	if (status == UVMP_OK && remote_is_auto(s))
		uvmpi_remote_auto_returned(s, run->block, run->gpu, &run->servicing->job.arrive[run->gpu]);
	if (status == UVMP_OK)
		clear_group(s, UVMP_COUNTER_BLOCK);
	else
		fail(s, status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status);
}
