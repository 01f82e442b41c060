/* Block service: pages of one block to their destinations [driver: block-service].
 *
 * The job says on which processor each page is to arrive. Then, destination by destination, lowest id first:
 *
 *   ALLOCATE  memory for the pages. If there is none, the caller makes room (NEED_ROOM) and reports it (MADE_ROOM).
 *   COPY      processors that map a page that moves lose the mapping; the copies of the plan. While the pages are
 *             copied, the caller can make room for the next block (NEED_ROOM_AHEAD).
 *   COMMIT    pages that have arrived are resident here, and no longer elsewhere unless they are duplicated. The
 *             thrashing detector gets its events. Then mappings [driver: other-mappings]: revoke from others, map
 *             the requester, map others.
 *
 * Nothing is committed before the host has completed the actions. So the pages of a copy that fails stay where they
 * were.
 */
#include "../base/bits_internal.h"
#include "../decisions/plan_internal.h"
#include "block_service_internal.h"
#include "controllers_internal.h"
#include "departing_internal.h"
#include "job_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

void uvmpi_block_start(struct uvmp_service *s, struct job *job)
{
	job->status = job->error = UVMP_OK;
	uvmpi_job_name_more(s, job);
	if (job->is_follow) {
		job->destinations = BIT(job->requester);
		uvmpi_block_prefetch(s, job);
		uvmpi_mask_zero(&job->faulted);
		job->arrive[job->requester] = s->prefetched;
		if (job->hint.to == UVMP_PROC_NONE)
			job->destinations = 0;
	} else if (job->destinations != 0) {
		uvmpi_block_prefetch(s, job);
	}
	if (job->destinations == 0)
		return;
	job->to = lowest_bit(job->destinations);
	job->phase = JOB_ALLOCATE;
}

/* Would the walk that is repeated decide the same? Pages and mappings of a block of 2 MiB without memory on the destination
 * are those before the eviction. Counters, detector and controllers are asked again for each fault. */
static bool repeats_walk(const struct uvmp_service *s, const struct job *job, const struct block *b)
{
	bool is_counted = s->adapt.is_on | remote_is_counting(s);
	uint64_t others = job->destinations & ~BIT(job->to);

	return !is_counted && block_is_whole(s, b) && (others | b->thrash) == 0;
}

bool uvmpi_block_resume(struct uvmp_service *s, struct job *job)
{
	struct block *b = block_at(s, job->block);

	if (!repeats_walk(s, job, b) || !uvmpi_block_prefetch_repeats(s, job, b))
		return false;
	job->is_retry = true;
	job->status = job->error = UVMP_OK;
	job->phase = JOB_ALLOCATE;
	return true;
}

void uvmpi_block_end(struct job *job, enum uvmp_status status)
{
	job->phase = JOB_IDLE;
	job->status = status;
}

/* -- results -- */

void uvmpi_block_collect(struct uvmp_service *s, struct job *job)
{
	for (uint32_t i = 0; i < s->actions; i++) {
		const struct uvmp_action *a = &s->action[i];
		enum uvmp_status status = action_result(s, i);

		if (a->cause == UVMP_CAUSE_EVICTION && a->kind == UVMP_ACTION_COPY)
			continue; /* the eviction reads these itself */
		if (status != UVMP_OK && job->error == UVMP_OK)
			job->error = status;
		if (a->kind == UVMP_ACTION_ALLOCATE && status != UVMP_OK)
			uvmpi_memory_unback(s, a->to, job->block, &a->pages);
		if (action_has_transfers(a))
			action_add_failed(s, i, &job->failed);
	}
}

/* -- ALLOCATE -- */

/* Backs the pages that fit the memory of the destination. */
static enum backing back(struct uvmp_service *s, struct job *job, enum uvmp_chunk_size *size)
{
	const struct arriving arriving = {&job->arrive[job->to], &job->faulted, job->cause};

	if (job->to == UVMP_CPU)
		return BACKING_DONE;
	uvmpi_memory_fit(s, job->to, &job->arrive[job->to], &job->faulted);
	return uvmpi_memory_back(s, job->to, job->block, &arriving, size);
}

/* Out of line, as each phase: no phase saves registers for another. */
UVMPI_NOINLINE static struct block_need allocate(struct uvmp_service *s, struct job *job)
{
	struct block *b = block_at(s, job->block);
	enum backing backing = BACKING_FAILED;
	struct block_need need = {NEED_NOTHING, UVMP_CHUNK_2M};
	bool has_state = uvmpi_residency_make(s, b, job->to) != NULL;

	if (has_state && job->has_duplicates && uvmpi_mask_intersects(&job->arrive[job->to], &job->duplicate))
		has_state = uvmpi_cold_make(s, b) != NULL;
	if (has_state)
		backing = back(s, job, &need.size);
	if (backing == BACKING_DONE) {
		job->phase = JOB_COPY;
	} else if (backing == BACKING_NEED_ROOM) {
		job->phase = JOB_MADE_ROOM;
		need.kind = NEED_ROOM;
	} else if (backing == BACKING_NEED_TABLES) {
		s->table_gpu = job->to; /* once its tables have grown, ALLOCATE begins again */
	} else {
		uvmpi_block_end(job, UVMP_ERR_NO_MEMORY);
	}
	return need;
}

/* Room was made. With root chunks, the operation decides again; page-wise orders continue until all pages fit. */
static void made_room(const struct uvmp_service *s, struct job *job, enum uvmp_status room)
{
	if (job->error != UVMP_OK)
		uvmpi_block_end(job, job->error);
	else if (room != UVMP_OK)
		uvmpi_block_end(job, room);
	else if (uvmpi_memory_repeats(s, job->to))
		uvmpi_block_end(job, UVMP_ERR_RETRY);
	else
		job->phase = JOB_ALLOCATE;
}

/* -- COPY -- */

/* Pages that are to be duplicated: holders keep them for reading, and remote mappings are removed. */
static void prepare_duplicates(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages)
{
	handle h = job->block;
	const struct block *b = block_at(s, h);
	uvmp_mask some;

	EACH_RESIDENCY(residency, s, b) {
		uvmpi_mask_and(&some, pages, &residency->high);
		if (uvmpi_mask_and_any(&some, &some, &residency->resident))
			uvmpi_mapping_revoke(s, h, residency, &some, UVMP_RIGHT_READ);
	}
	EACH_RESIDENCY(residency, s, b) {
		uvmpi_mask_andnot(&some, pages, &residency->resident);
		uvmpi_mapping_unmap(s, h, &some, ~BIT(residency->proc), because(job->cause));
	}
}

/* Pages come to the destination from this processor: those that do not fail arrive. */
static void add_source(struct job *job, uint32_t from, const uvmp_mask *pages)
{
	if ((job->sources & BIT(from)) == 0)
		job->arrived_from[from] = *pages;
	else
		uvmpi_mask_or(&job->arrived_from[from], &job->arrived_from[from], pages);
	job->sources |= BIT(from);
}

static void plan_copies(struct uvmp_service *s, struct job *job, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, job->block);
	uvmp_mask cuts;
	struct uvmp_copy_facts facts = {.to = job->to,
					.pages = pages,
					.faulted = &job->faulted,
					.resident = s->holders,
					.grouping = uvmpi_prefetch_traits(s)->grouping,
					.cuts = &cuts};

	uvmpi_mask_zero(&cuts);
	EACH_RESIDENCY(at, s, b) {
		if (at->proc != UVMP_CPU)
			uvmpi_memory_cuts(s, b, at->proc, &cuts);
	}
	uvmpi_block_residents(s, b);
	job->planned = uvmpi_plan_copies(&s->processors, &facts, s->in);
	for (uint32_t i = 0; i < job->planned; i++) {
		if (s->in[i].from != UVMP_PROC_NONE && s->in[i].to == job->to)
			add_source(job, s->in[i].from, &s->in[i].pages);
	}
}

/* If the block has state on the destination and on one other processor, which holds all of the pages, and one of the two is
 * the CPU: the other processor. Else UVMP_PROC_NONE. */
static uint32_t only_source(const struct uvmp_service *s, const struct block *b, const struct job *job,
			    const uvmp_mask *pages)
{
	const struct residency *first = residency_first(s, b), *second = residency_next(s, first), *other;

	if (second == NULL || residency_next(s, second) != NULL)
		return UVMP_PROC_NONE;
	other = first->proc == job->to ? second : first;
	if ((other->proc != UVMP_CPU && job->to != UVMP_CPU) || !uvmpi_mask_is_subset(pages, &other->resident))
		return UVMP_PROC_NONE;
	return other->proc;
}

/* Plans and queues the copies of a block of 2 MiB from one source. False: another case. */
static bool copy_from_one(struct uvmp_service *s, struct job *job, const struct block *b, const uvmp_mask *pages)
{
	uint32_t from;

	if (!block_is_whole(s, b) || job->has_pins ||
	    uvmpi_prefetch_traits(s)->grouping != UVMP_GROUPING_BY_CAUSE)
		return false;
	from = only_source(s, b, job, pages);
	if (from == UVMP_PROC_NONE)
		return false;
	add_source(job, from, pages);
	uvmpi_queue_from_one(s, job, pages, from);
	return true;
}

static bool can_make_room_ahead(const struct job *job)
{
	return job->to != UVMP_CPU && job->has_next;
}

void uvmpi_block_queue_copies(struct uvmp_service *s, struct job *job)
{
	uvmpi_queue_copies(s, job, (struct outgoing){0});
}

/* Pages that were duplicated and are wanted here alone. */
static void unmap_former_duplicates(struct uvmp_service *s, const struct job *job,
				    const struct residency *residency)
{
	const struct cold *cold = cold_at(s, block_at(s, job->block)->cold);
	uvmp_mask pages;

	uvmpi_mask_and(&pages, &job->arrive[job->to], &residency->resident);
	uvmpi_mask_andnot(&pages, &pages, &job->duplicate);
	if (uvmpi_mask_and_any(&pages, &pages, &cold->duplicated))
		uvmpi_mapping_unmap(s, job->block, &pages, BIT(job->to), because(job->cause));
}

/* Mappings of the pages that move end. Without cold state no page is duplicated: `allocate` has made it for new ones. */
static void unmap(struct uvmp_service *s, const struct job *job, const struct block *b,
		  const struct residency *residency)
{
	uvmp_mask some;

	if (b->cold == 0) {
		uvmpi_mapping_unmap(s, job->block, &job->migrated, 0, because(job->cause));
		return;
	}
	if (uvmpi_mask_and_any(&some, &job->migrated, &job->duplicate))
		prepare_duplicates(s, job, &some);
	if (uvmpi_mask_andnot_any(&some, &job->migrated, &job->duplicate))
		uvmpi_mapping_unmap(s, job->block, &some, 0, because(job->cause));
	unmap_former_duplicates(s, job, residency);
}

UVMPI_NOINLINE static struct block_need copy(struct uvmp_service *s, struct job *job)
{
	struct block_need need = {NEED_NOTHING, UVMP_CHUNK_2M};
	const struct block *b = block_at(s, job->block);
	const struct residency *residency = uvmpi_residency_find(s, b, job->to);

	if (job->error != UVMP_OK) {
		uvmpi_memory_abandon(s, job->to, job->block, &job->arrive[job->to]);
		uvmpi_block_end(job, job->error);
		return need;
	}
	uvmpi_mask_andnot(&job->migrated, &job->arrive[job->to], &residency->resident);
	unmap(s, job, b, residency);
	uvmpi_mask_zero(&job->failed);
	job->sources = 0;
	job->phase = JOB_COMMIT;
	if (can_make_room_ahead(job)) {
		plan_copies(s, job, &job->migrated);
		need.kind = NEED_ROOM_AHEAD;
	} else if (!copy_from_one(s, job, b, &job->migrated)) {
		plan_copies(s, job, &job->migrated);
		uvmpi_block_queue_copies(s, job);
	}
	return need;
}

/* -- COMMIT: residency -- */

/* Which pages are still on more than one processor? `allocate` has made cold state for new ones. */
UVMPI_NOINLINE_32 static void recount_duplicates(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages)
{
	uvmp_mask once, twice, *duplicated;

	if (b->cold == 0)
		return;
	uvmpi_mask_zero(&once);
	uvmpi_mask_zero(&twice);
	EACH_RESIDENCY(p, s, b) {
		UVMPI_EACH_WORD(i) {
			twice.word[i] |= once.word[i] & p->resident.word[i];
			once.word[i] |= p->resident.word[i];
		}
	}
	duplicated = &cold_at(s, b->cold)->duplicated;
	UVMPI_EACH_WORD(i)
		duplicated->word[i] = (duplicated->word[i] & ~pages->word[i]) | (twice.word[i] & pages->word[i]);
}

/* One event for each run of pages with one source and one cause. */
static void tell_runs(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages, bool is_copy)
{
	bool is_enabled = range_of(s, block_at(s, job->block))->duplication == UVMP_DUPLICATION_ENABLED;
	struct uvmp_thrash_migration migration = {.to = job->to,
						  .final_to = job->to,
						  .is_copy = is_copy,
						  .is_read_duplicated = is_enabled,
						  .now_ns = s->now_ns};
	uvmp_mask prefetched, other;

	uvmpi_mask_and(&prefetched, pages, &s->prefetched);
	uvmpi_mask_andnot(&other, pages, &prefetched);
	for (uint32_t page = 0;;) {
		struct uvmp_region a = uvmpi_mask_next_run(&other, page);
		struct uvmp_region b = uvmpi_mask_next_run(&prefetched, page);
		bool is_fault = a.end != 0 && (b.end == 0 || a.first < b.first);

		if (a.end == 0 && b.end == 0)
			break;
		migration.region = is_fault ? a : b;
		migration.cause = is_fault ? (enum uvmp_migrate_cause)job->migrate : UVMP_MIGRATE_PREFETCH;
		uvmpi_thrashing_migrated(s, job->block, &migration);
		page = migration.region.end;
	}
}

/* Tells the detector of the arrived pages that have a source. */
UVMPI_NOINLINE_32 static void tell_sources(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages, bool is_copy)
{
	uvmp_mask some;

	for (uint64_t sources = job->sources; sources != 0; sources &= sources - 1u)
		if (uvmpi_mask_and_any(&some, pages, &job->arrived_from[lowest_bit(sources)]))
			tell_runs(s, job, &some, is_copy);
}

/* The controllers hear which pages have arrived, which of these were faulted on, and which of those are new. */
UVMPI_NOINLINE_32 static void report_arrival(struct uvmp_service *s, const struct job *job,
					     const uvmp_mask *arrived)
{
	uvmp_mask faulted, missed;

	uvmpi_mask_zero(&faulted);
	if (job->migrate == UVMP_MIGRATE_FAULT && job->requester == job->to)
		uvmpi_mask_and(&faulted, arrived, &job->faulted);
	uvmpi_mask_and(&missed, &faulted, &job->migrated);
	uvmpi_adapt_arrived(s, job->to, job->block, arrived, &faulted, &missed);
}

/* Pages that are on the destination now. Other holders keep the copied ones, and not the moved ones. */
struct arrived {
	const uvmp_mask *moved; /* `all`, or `rest` */
	uvmp_mask all, copied, rest;
	bool have_migrated; /* there are some, and all of them were elsewhere */
};

/* Makes the pages resident on the destination. An eviction ahead may have taken older pages of this block away. */
static void arrive(struct job *job, struct residency *to, struct arrived *arrived)
{
	const uvmp_mask *wanted = &job->arrive[job->to];
	uint64_t any = 0, old = 0;

	UVMPI_EACH_WORD(i) {
		uint64_t migrated = job->migrated.word[i] & ~job->failed.word[i], there = to->resident.word[i];
		uint64_t all = (wanted->word[i] & there) | migrated;

		job->migrated.word[i] = migrated;
		to->resident.word[i] = there | migrated;
		arrived->all.word[i] = all;
		any |= migrated;
		old |= all & ~migrated;
	}
	arrived->have_migrated = old == 0 && any != 0;
	arrived->moved = &arrived->all;
	if (!job->has_duplicates)
		return;
	arrived->moved = &arrived->rest;
	uvmpi_mask_and(&arrived->copied, &arrived->all, &job->duplicate);
	uvmpi_mask_andnot(&arrived->rest, &arrived->all, &job->duplicate);
}

/* Has any of the pages come from another processor? */
static bool has_source(const struct job *job, const uvmp_mask *pages)
{
	for (uint64_t sources = job->sources; sources != 0; sources &= sources - 1u)
		if (uvmpi_mask_meets(pages, &job->arrived_from[lowest_bit(sources)]))
			return true;
	return false;
}

/* Does each event of pages that moved count for the detector? Then the block without an array of pages needs one event. */
static bool all_count(const struct uvmp_service *s, const struct job *job)
{
	return uvmpi_thrash_is_demand((enum uvmp_migrate_cause)job->migrate) &&
	       range_of(s, block_at(s, job->block))->duplication != UVMP_DUPLICATION_ENABLED;
}

static void tell_migrations(struct uvmp_service *s, const struct job *job, const struct arrived *arrived)
{
	if (!uvmpi_thrashing_listens(s, job->block, job->to))
		return;
	if (all_count(s, job) && uvmpi_thrashing_is_quiet(s, job->block, job->to)) {
		if (has_source(job, arrived->moved))
			uvmpi_thrashing_keep_event(block_at(s, job->block), s->now_ns, job->to);
		return;
	}
	if (job->has_duplicates)
		tell_sources(s, job, &arrived->copied, true);
	tell_sources(s, job, arrived->moved, false);
}

static void settle_residency(struct uvmp_service *s, const struct job *job, const struct arrived *arrived)
{
	struct block *b = block_at(s, job->block);

	EACH_RESIDENCY(p, s, b) {
		if (p->proc == UVMP_CPU && job->to != UVMP_CPU) /* only residency knows of pages on the CPU */
			uvmpi_mask_andnot(&p->resident, &p->resident, arrived->moved);
		else if (p->proc != job->to)
			uvmpi_depart(s, job->block, p, arrived->moved, DEPART_MOVED);
	}
	recount_duplicates(s, b, &arrived->all);
	b->is_touched = true;
	if (job->to == UVMP_CPU)
		return;
	uvmpi_memory_used(s, job->to, job->block, &arrived->all,
			  job->cause == UVMP_CAUSE_DEMAND && !job->is_follow);
	uvmpi_memory_abandon(s, job->to, job->block, &job->failed);
	if (s->adapt.is_on)
		report_arrival(s, job, &arrived->all);
}

UVMPI_NOINLINE static void commit(struct uvmp_service *s, struct job *job)
{
	struct arrived arrived;

	arrive(job, uvmpi_residency_find(s, block_at(s, job->block), job->to), &arrived);
	tell_migrations(s, job, &arrived);
	settle_residency(s, job, &arrived);
	if (job->takes_back) /* what has returned, even if other copies failed */
		uvmpi_prefetch_tree_return(s, block_at(s, job->block), &job->migrated);
	job->phase = JOB_MAPPED;
	if (job->may_map && job->error == UVMP_OK)
		uvmpi_block_map(s, job, &arrived.all, arrived.have_migrated);
}

static void next_destination(struct job *job)
{
	uint64_t left = job->destinations & ~(BIT(job->to) | (BIT(job->to) - 1u));

	if (job->error != UVMP_OK || left == 0) {
		uvmpi_block_end(job, job->error);
		return;
	}
	job->to = lowest_bit(left);
	job->phase = JOB_ALLOCATE;
}

/* -- the machine -- */

struct block_need uvmpi_block_advance(struct uvmp_service *s, struct job *job, enum uvmp_status room)
{
	switch (job->phase) {
	case JOB_ALLOCATE:
		return allocate(s, job);
	case JOB_COPY:
		return copy(s, job);
	case JOB_MADE_ROOM:
		made_room(s, job, room);
		break;
	case JOB_COMMIT:
		commit(s, job);
		break;
	default:
		next_destination(job);
		break;
	}
	return (struct block_need){NEED_NOTHING, UVMP_CHUNK_2M};
}
