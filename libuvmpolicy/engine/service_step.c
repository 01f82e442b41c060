/* One service step [driver: block-service]: pages of one block to their destinations.
 *
 * The operation has said where each page shall be. Then, destination by destination, lowest id first:
 *
 *   ALLOCATE  chunks for the pages; if there are none an eviction runs, and the operation walks again [driver: eviction-retry]
 *   COPY      whoever maps a page that moves loses it; the copies of the plan
 *   COMMIT    what has come is resident here, and no more elsewhere unless it was duplicated; the thrashing
 *             detector hears of it; then mappings [driver: other-mappings]: revoke from others, map the requester, map others
 *
 * Nothing is committed before the host has said that it is done, so a copy that fails leaves its pages where
 * they were.
 */
#include "../base/bits_internal.h"
#include "service_internal.h"

/* -- thrashing: the detector's view of a block -- */

/* -- where each page goes -- */

void uvmpi_step_clear(struct uvmp_service *s, handle block, uint32_t requester)
{
	struct step *step = &s->step;

	for (uint32_t proc = 0; proc < s->processors.count; proc++)
		uvmp_mask_zero(&step->arrive[proc]);
	uvmp_mask_zero(&step->duplicate);
	uvmp_mask_zero(&step->pinned);
	uvmp_mask_zero(&step->throttled);
	uvmp_mask_zero(&step->remote);
	uvmp_mask_zero(&step->faulted);
	step->block = block;
	step->requester = requester;
	step->operation = UVMP_OPERATION_FAULT;
	step->cause = UVMP_CAUSE_DEMAND;
	step->migrate = UVMP_MIGRATE_FAULT;
	step->is_prefetching = step->is_retry = step->is_follow = step->has_next = false;
	step->may_map = true;
	step->keep = 0;
	step->utlbs = 0;
	step->destinations = 0;
	step->phase = STEP_IDLE;
	step->status = step->error = UVMP_OK;
}

void uvmpi_step_add(struct uvmp_service *s, uint32_t page, uint32_t dst, uint8_t access, bool is_duplicate)
{
	struct step *step = &s->step;

	for (uint32_t bit = 0; bit < 3u; bit++) {
		uvmp_mask_clear(&step->access[bit], page);
		step->access[bit].word[page / 64u] |= (uint64_t)((uint32_t)access >> bit & 1u)
						      << (page % 64u);
	}
	step->destinations |= BIT(dst);
	uvmp_mask_set(&step->arrive[dst], page);
	uvmp_mask_clear(&step->duplicate, page); /* of two verdicts the last: what is written has one home */
	if (is_duplicate)
		uvmp_mask_set(&step->duplicate, page);
}

void uvmpi_step_add_prefetched(struct uvmp_service *s, const uvmp_mask *pages, uint32_t dst,
			       uint8_t duplication)
{
	struct step *step = &s->step;
	const struct block *b = block_at(s, step->block);
	uvmp_mask some;

	for (uint32_t bit = 0; bit < 3u; bit++) /* UVMP_ACCESS_PREFETCH is 0 */
		uvmp_mask_andnot(&step->access[bit], &step->access[bit], pages);
	step->destinations |= BIT(dst);
	uvmp_mask_or(&step->arrive[dst], &step->arrive[dst], pages);
	uvmp_mask_andnot(&step->duplicate, &step->duplicate, pages);
	if (duplication == UVMP_DUPLICATION_ENABLED) {
		uvmp_mask_or(&step->duplicate, &step->duplicate, pages);
	} else if (duplication == UVMP_DUPLICATION_UNSET && b->cold != 0) {
		uvmp_mask_and(&some, pages, &cold_at(s, b->cold)->duplicated);
		uvmp_mask_or(&step->duplicate, &step->duplicate, &some);
	}
}

/* Destination of one page [driver: residency-choice]; pin: the hint's target or UVMP_PROC_NONE. */
static void select_place(const struct uvmp_service *s, const struct block *b, uint32_t page, uint8_t accesses,
			 uint32_t pin, struct uvmp_residency_place *place)
{
	const struct range *range = range_of(s, b);
	struct uvmp_residency_facts facts = {.requester = s->step.requester,
					     .accesses = accesses,
					     .operation = s->step.operation,
					     .has_preferred = range->preferred != UVMP_PROC_NONE,
					     .preferred = range->preferred,
					     .accessed_by = range->accessed_by,
					     .resident = uvmpi_block_holders(s, b, page),
					     .pin = pin,
					     .has_pin = pin != UVMP_PROC_NONE,
					     .duplication = range->duplication,
					     .is_duplicated = block_is_duplicated(s, b, page),
					     .maps_on_atomics = s->policy.map_on_atomics};

	uvmp_residency_select(&s->processors, &facts, place);
}

static void queue_throttle(struct uvmp_service *s, uint32_t page, uint64_t until_ns)
{
	struct uvmp_action *a;
	uvmp_mask pages;

	if (uvmp_mask_test(&s->step.throttled,
			   page)) /* behind a fatal fault each one of the page is judged */
		return;
	uvmp_mask_set(&s->step.throttled, page);
	uvmp_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	a = uvmpi_queue(s, UVMP_ACTION_THROTTLE, UVMP_CAUSE_THRASHING, s->step.block, &pages);
	a->to = (uint8_t)s->step.requester;
	a->until_ns = until_ns;
}

enum uvmp_status uvmpi_step_page(struct uvmp_service *s, uint32_t page, uint8_t access, uint8_t accesses,
				 bool *is_throttled)
{
	struct step *step = &s->step;
	struct block *b = block_at(s, step->block);
	struct uvmp_residency_place place;
	struct uvmp_thrash_hint hint;
	uint8_t before = uvmpi_thrashing_throttles(s, b, page);

	uvmpi_thrashing_ask(s, step->block, page, step->requester, &hint);
	*is_throttled = hint.kind == UVMP_THRASH_THROTTLE;
	if (*is_throttled) {
		if (!step->is_retry)
			queue_throttle(s, page, hint.until_ns);
		return UVMP_OK;
	}
	step->throttles[page] = before;
	if (hint.kind == UVMP_THRASH_PIN) {
		uvmp_mask_set(&step->pinned, page);
		step->pin_procs[page] = hint.procs;
	}
	select_place(s, b, page, accesses, hint.pin_to, &place);
	uvmpi_step_add(s, page, place.destination, access,
		       place.is_duplicate && (step->operation != UVMP_OPERATION_ACCESS_COUNTER ||
					      !s->policy.quirks)); /* [driver: counter-ignores-duplication] */
	return UVMP_OK;
}

/* -- prefetching [driver: prefetch-in-service] -- */

static const struct uvmp_prefetch_traits *traits_of(const struct uvmp_service *s)
{
	return uvmp_prefetch_traits_of(s->policy.prefetch.prefetcher);
}

bool uvmpi_step_has_tree(const struct uvmp_service *s)
{
	return traits_of(s)->has_tree;
}

uint32_t uvmpi_step_tree_blocks(const struct block *b)
{
	uint32_t blocks = 1;

	while (blocks * UVMP_BASIC_BLOCK_PAGES < b->pages)
		blocks *= 2u;
	return blocks;
}

/* The block's tree, NULL if the arena is full. */
static struct uvmp_tree *tree_of(struct uvmp_service *s, struct block *b)
{
	struct cold *cold = uvmpi_cold_make(s, b);

	if (!cold)
		return NULL;
	if (cold->tree == 0) {
		cold->tree = uvmpi_arena_take(s, SLAB_TREE);
		if (cold->tree == 0)
			return NULL;
		uvmp_tree_init(uvmpi_arena_at(s, cold->tree), uvmpi_step_tree_blocks(b));
	}
	return uvmpi_arena_at(s, cold->tree);
}

static bool is_resident_anywhere(const struct uvmp_service *s, const struct block *b)
{
	for (handle h = b->residency; h != 0; h = residency_at(s, h)->next) {
		if (!uvmp_mask_is_empty(&residency_at(s, h)->resident))
			return true;
	}
	return false;
}

/* What else should come to dst? The answer is in step->hint. */
static void ask_prefetcher(struct uvmp_service *s, uint32_t dst)
{
	struct step *step = &s->step;
	struct block *b = block_at(s, step->block);
	struct range *range = range_of(s, b);
	const struct residency *place = uvmpi_residency_find(s, b, dst);
	struct uvmp_prefetch_params params = s->policy.prefetch;
	uvmp_mask faulted = step->faulted, mapped;
	struct uvmp_prefetch_state state = {.last_proc = b->last_proc,
					    .faults = b->faults,
					    .range = &range->prefetch,
					    .random = &s->random};
	struct uvmp_prefetch_facts facts = {.faulted = &faulted,
					    .resident = place ? &place->resident : NULL,
					    .dst = dst,
					    .has_preferred = range->preferred != UVMP_PROC_NONE,
					    .preferred = range->preferred,
					    .is_first_touch = !is_resident_anywhere(s, b),
					    .range_first = (b->start - range->start) >> s->page_shift,
					    .range_pages =
						    ((range->end - range->start) >> s->page_shift) + 1u,
					    .utlbs = step->utlbs,
					    .is_follow = step->is_follow};

	if (params.prefetcher == UVMP_PREFETCH_NONE)
		return;
	step->present = place ? uvmp_mask_weight(&place->resident) : 0;
	if (!traits_of(s)->is_driver &&
	    place) /* only the driver's takes pages that are there already for faulted ones */
		uvmp_mask_andnot(&faulted, &faulted, &place->resident);
	if (!step->is_follow && uvmp_mask_is_empty(&faulted))
		return;
	facts.faulted_region = uvmp_mask_hull(&faulted);
	uvmpi_block_shape(s, b, &facts.block);
	if (b->thrash != 0 && !uvmp_mask_is_empty(&thrash_at(s, b->thrash)->block.thrashing))
		facts.thrashing = &thrash_at(s, b->thrash)->block.thrashing;
	if (dst == UVMP_CPU && place) {
		residency_mapped(place, &mapped);
		facts.cpu_read_mapped = &mapped;
	}
	if (uvmpi_step_has_tree(s))
		state.tree = tree_of(s, b);
	if (s->adapt.is_on) {
		state.pattern = uvmpi_adapt_pattern(s, b, dst);
		if (!uvmpi_adapt_tune(s, step->block, dst, &params))
			return;
	}
	if (uvmp_prefetch_decide(&params, &facts, &state, &step->hint) != UVMP_OK)
		step->hint = (struct uvmp_prefetch_hint){.dst = UVMP_PROC_NONE, .follow = UVMP_PAGE_NONE};
	uvmpi_runtime_log(s, b, step->hint.basic_blocks);
	b->last_proc = (uint8_t)state.last_proc;
	b->faults = state.faults;
}

static void add_prefetched(struct uvmp_service *s, uint32_t dst)
{
	struct step *step = &s->step;
	const struct block *b = block_at(s, step->block);
	const struct residency *place = uvmpi_residency_find(s, b, dst);

	uvmp_mask_andnot(&step->prefetched, &step->hint.pages, &step->faulted);
	if (step->hint.dst == UVMP_PROC_NONE)
		return;
	/* a page-wise order evicts until all fits: own pages that leave for that must not come back */
	if (place && dst != UVMP_CPU && !s->gpu[dst].pmm)
		uvmp_mask_andnot(&step->prefetched, &step->prefetched, &place->resident);
	uvmpi_step_add_prefetched(s, &step->prefetched, dst, range_of(s, b)->duplication);
}

/* All but the driver's know nothing of the CPU; those that have counted the faults in their state are not
 * asked again after an eviction. */
static void prefetch(struct uvmp_service *s)
{
	struct step *step = &s->step;
	const struct uvmp_prefetch_traits *traits = traits_of(s);
	uint32_t dst = lowest_bit(step->destinations);

	uvmp_mask_copy(&step->faulted, &step->arrive[dst]);
	if (!step->is_prefetching || (step->destinations & (step->destinations - 1u)) != 0 ||
	    (dst == UVMP_CPU && !traits->is_driver)) {
		step->hint.dst = UVMP_PROC_NONE;
		step->hint.follow = UVMP_PAGE_NONE;
		for (uint32_t proc = dst + 1u; proc < s->processors.count; proc++)
			uvmp_mask_or(&step->faulted, &step->faulted, &step->arrive[proc]);
		if (!s->policy.quirks || !step->is_prefetching) /* [driver: stale-prefetch-mask] */
			uvmp_mask_zero(&step->prefetched);
		return;
	}
	if (!step->is_retry || traits->may_repeat) {
		step->hint = (struct uvmp_prefetch_hint){.dst = UVMP_PROC_NONE, .follow = UVMP_PAGE_NONE};
		ask_prefetcher(s, dst);
	}
	add_prefetched(s, dst);
}

/* Zheng's distances are in pages of 4 KiB, decisions in the host's. */
void uvmpi_step_scale(struct uvmp_service *s)
{
	struct uvmp_prefetch_params *params = &s->policy.prefetch;
	uint32_t smaller = s->page_bytes / UVMP_POLICY_PAGE_BYTES;

	params->locality_pages = (params->locality_pages + smaller - 1u) / smaller;
	params->sequential_pages = (params->sequential_pages + smaller - 1u) / smaller;
}

void uvmpi_step_switch_prefetcher(struct uvmp_service *s)
{
	struct uvmp_prefetch_params *params = &s->policy.prefetch;
	enum uvmp_prefetcher full = (enum uvmp_prefetcher)(s->policy.prefetch_full - 1u);

	if (!s->is_full || s->policy.prefetch_full == UVMP_PREFETCH_FULL_SAME || params->prefetcher == full ||
	    s->policy.runtime) /* [uvmsmart: oversubscription-switch]: the runtime engine keeps the prefetcher */
		return;
	uvmp_prefetch_params_init(params, full);
	params->quirks = s->policy.quirks;
	uvmpi_step_scale(s);
}

void uvmpi_step_start(struct uvmp_service *s)
{
	struct step *step = &s->step;

	step->status = step->error = UVMP_OK;
	if (step->is_follow) {
		step->destinations = BIT(step->requester);
		prefetch(s);
		uvmp_mask_zero(&step->faulted);
		uvmp_mask_copy(&step->arrive[step->requester], &step->prefetched);
		if (step->hint.dst == UVMP_PROC_NONE)
			step->destinations = 0;
	} else if (step->destinations != 0) {
		prefetch(s);
	}
	if (step->destinations == 0)
		return;
	step->dst = lowest_bit(step->destinations);
	step->phase = STEP_ALLOCATE;
}

static void end(struct step *step, enum uvmp_status status)
{
	step->phase = STEP_IDLE;
	step->status = status;
}

/* -- results -- */

void uvmpi_step_collect(struct uvmp_service *s)
{
	struct step *step = &s->step;

	for (uint32_t i = 0; i < s->actions; i++) {
		const struct uvmp_action *a = &s->action[i];
		enum uvmp_status status = action_result(s, i);

		if (a->cause == UVMP_CAUSE_EVICTION && a->kind == UVMP_ACTION_COPY)
			continue; /* the eviction reads these itself */
		if (status != UVMP_OK && step->error == UVMP_OK)
			step->error = status;
		if (a->kind == UVMP_ACTION_ALLOCATE && status != UVMP_OK)
			uvmpi_memory_unback(s, a->to, step->block, &a->pages);
		if (a->kind != UVMP_ACTION_COPY && a->kind != UVMP_ACTION_POPULATE)
			continue;
		if (status != UVMP_OK)
			uvmp_mask_or(&step->failed, &step->failed, &a->pages);
		else if (a->kind == UVMP_ACTION_COPY && a->to == step->dst)
			uvmp_mask_or(&step->came[a->from], &step->came[a->from], &a->pages);
	}
}

/* -- ALLOCATE -- */

static void allocate(struct uvmp_service *s)
{
	struct step *step = &s->step;
	struct block *b = block_at(s, step->block);
	enum backing backing = BACKING_DONE;
	enum uvmp_chunk_size size = UVMP_CHUNK_2M;
	bool has_state = uvmpi_residency_make(s, b, step->dst) != NULL;

	if (has_state && uvmp_mask_intersects(&step->arrive[step->dst], &step->duplicate))
		has_state = uvmpi_cold_make(s, b) != NULL;
	if (!has_state)
		backing = BACKING_FAILED;
	else if (step->dst != UVMP_CPU)
		backing = uvmpi_memory_back(s, step->dst, step->block, &step->arrive[step->dst], &size);
	if (backing == BACKING_DONE)
		step->phase = STEP_COPY;
	else if (backing == BACKING_NEED_ROOM && uvmpi_evict_start(s, step->dst, size, false) == UVMP_OK)
		step->phase = STEP_EVICTED;
	else
		end(step, UVMP_ERR_NO_MEMORY);
}

/* Room was made. The driver walks again; the page-wise orders go on until all fits. */
static void evicted(struct uvmp_service *s)
{
	struct step *step = &s->step;

	if (step->error != UVMP_OK)
		end(step, step->error);
	else if (s->evict.status != UVMP_OK)
		end(step, s->evict.status);
	else if (s->gpu[step->dst].pmm)
		end(step, UVMP_ERR_RETRY);
	else
		step->phase = STEP_ALLOCATE;
}

/* -- COPY -- */

/* Pages that are to be duplicated: holders keep them for reading, nobody maps them from afar. */
static void prepare_duplicates(struct uvmp_service *s, const uvmp_mask *pages)
{
	handle h = s->step.block;
	const struct block *b = block_at(s, h);
	uvmp_mask some;

	if (uvmp_mask_is_empty(pages))
		return;
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		struct residency *place = residency_at(s, at);

		uvmp_mask_and(&some, pages, &place->high);
		uvmp_mask_and(&some, &some, &place->resident);
		if (!uvmp_mask_is_empty(&some))
			uvmpi_mapping_revoke(s, h, place, &some, UVMP_PROT_READ);
	}
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		const struct residency *place = residency_at(s, at);

		uvmp_mask_andnot(&some, pages, &place->resident);
		uvmpi_mapping_unmap(s, h, &some, ~BIT(place->proc), because(s->step.cause));
	}
}

static void plan_copies(struct uvmp_service *s, const uvmp_mask *pages)
{
	struct step *step = &s->step;
	const struct block *b = block_at(s, step->block);
	uvmp_mask cuts;
	struct uvmp_copy_facts facts = {.destination = step->dst,
					.pages = pages,
					.faulted = &step->faulted,
					.resident = s->holders,
					.grouping = traits_of(s)->grouping,
					.cuts = &cuts};

	uvmp_mask_zero(&cuts);
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		if (residency_at(s, at)->proc != UVMP_CPU)
			uvmpi_memory_cuts(s, b, residency_at(s, at)->proc, &cuts);
	}
	uvmpi_block_residents(s, b);
	uvmp_plan_copies(&s->processors, &facts, s->in + s->ins, UVMP_PLAN_COPIES_MAX - s->ins, &s->ins);
}

/* Overlapped: while these pages come, room is made for those that are next. */
static void evict_ahead(struct uvmp_service *s)
{
	const struct step *step = &s->step;

	if (s->policy.plan != UVMP_PLAN_SERIAL && step->dst != UVMP_CPU && step->has_next &&
	    uvmpi_evict_ahead(s, step->dst, step->next_start))
		uvmpi_evict_advance(s);
}

static void copy(struct uvmp_service *s)
{
	struct step *step = &s->step;
	const struct block *b = block_at(s, step->block);
	const struct residency *dst = uvmpi_residency_find(s, b, step->dst);
	uvmp_mask come, some;

	if (step->error != UVMP_OK) {
		end(step, step->error);
		return;
	}
	uvmp_mask_andnot(&come, &step->arrive[step->dst], &dst->resident);
	uvmp_mask_and(&some, &come, &step->duplicate);
	prepare_duplicates(s, &some);
	uvmp_mask_andnot(&some, &come, &step->duplicate);
	uvmpi_mapping_unmap(s, step->block, &some, 0, because(step->cause));
	/* pages that were duplicated and are wanted here alone */
	uvmp_mask_and(&some, &step->arrive[step->dst], &dst->resident);
	uvmp_mask_andnot(&some, &some, &step->duplicate);
	if (b->cold != 0) {
		uvmp_mask_and(&some, &some, &cold_at(s, b->cold)->duplicated);
		uvmpi_mapping_unmap(s, step->block, &some, BIT(step->dst), because(step->cause));
	}
	uvmp_mask_zero(&step->failed);
	for (uint32_t proc = 0; proc < s->processors.count; proc++)
		uvmp_mask_zero(&step->came[proc]);
	uvmp_mask_copy(&step->migrated, &come);
	plan_copies(s, &come);
	evict_ahead(s);
	uvmpi_queue_copies(s, step->block, s->evict.block);
	step->phase = STEP_COMMIT;
}

/* -- COMMIT: residency -- */

/* Which pages are still on more than one processor? New ones have found room for the set in `allocate`. */
static void recount_duplicates(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages)
{
	uvmp_mask once, twice, both;
	struct cold *cold;

	if (b->cold == 0)
		return;
	uvmp_mask_zero(&once);
	uvmp_mask_zero(&twice);
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		uvmp_mask_and(&both, &once, &residency_at(s, at)->resident);
		uvmp_mask_or(&twice, &twice, &both);
		uvmp_mask_or(&once, &once, &residency_at(s, at)->resident);
	}
	uvmp_mask_and(&twice, &twice, pages);
	cold = cold_at(s, b->cold);
	uvmp_mask_andnot(&cold->duplicated, &cold->duplicated, pages);
	uvmp_mask_or(&cold->duplicated, &cold->duplicated, &twice);
}

/* One event for each run of pages with one source and one cause, duplicates apart. */
static void tell_migrations(struct uvmp_service *s, const uvmp_mask *pages, bool is_copy)
{
	const struct step *step = &s->step;
	bool is_enabled = range_of(s, block_at(s, step->block))->duplication == UVMP_DUPLICATION_ENABLED;
	struct uvmp_thrash_migration migration = {.dst = step->dst,
						  .final_dst = step->dst,
						  .is_copy = is_copy,
						  .is_read_duplicated = is_enabled,
						  .now_ns = s->now_ns};
	uvmp_mask prefetched, other;

	for (uint32_t src = 0; src < s->processors.count; src++) {
		uvmp_mask_and(&other, &step->came[src], pages);
		if (uvmp_mask_is_empty(&other))
			continue;
		uvmp_mask_and(&prefetched, &other, &step->prefetched);
		uvmp_mask_andnot(&other, &other, &prefetched);
		for (uint32_t page = 0; page < UVMP_MASK_BITS;) {
			struct uvmp_region a = uvmp_mask_next_run(&other, page);
			struct uvmp_region b = uvmp_mask_next_run(&prefetched, page);
			bool is_fault = a.outer != 0 && (b.outer == 0 || a.first < b.first);

			if (a.outer == 0 && b.outer == 0)
				break;
			migration.region = is_fault ? a : b;
			migration.cause =
				is_fault ? (enum uvmp_migrate_cause)step->migrate : UVMP_MIGRATE_PREFETCH;
			uvmpi_thrashing_migrated(s, step->block, &migration);
			page = migration.region.outer;
		}
	}
}

static void settle_residency(struct uvmp_service *s, const uvmp_mask *arrived)
{
	struct step *step = &s->step;
	struct block *b = block_at(s, step->block);
	struct residency *dst = uvmpi_residency_find(s, b, step->dst);
	uvmp_mask moved;

	uvmp_mask_or(&dst->resident, &dst->resident, arrived);
	uvmp_mask_andnot(&moved, arrived, &step->duplicate);
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		if (residency_at(s, at)->proc != step->dst)
			uvmpi_depart(s, step->block, residency_at(s, at)->proc, &moved, false);
	}
	recount_duplicates(s, b, arrived);
	b->is_touched = true;
	if (step->dst == UVMP_CPU)
		return;
	uvmpi_memory_used(s, step->dst, step->block, arrived,
			  step->cause == UVMP_CAUSE_DEMAND && !step->is_follow);
	if (s->adapt.is_on)
		uvmpi_adapt_arrived(s, arrived);
}

/* -- COMMIT: mappings ([driver: block-service] steps 3 to 6, [driver: other-mappings]) --
 *
 * What is decided for a page depends on few facts, which are sets of pages here. So the pages fall into few
 * classes, and one decision does for a class. A class goes by its first page, its head. */

static uint8_t step_access(const struct step *step, uint32_t page)
{
	uint32_t access = 0;

	for (uint32_t bit = 0; bit < 3u; bit++)
		access |= (uint32_t)uvmp_mask_test(&step->access[bit], page) << bit;
	return (uint8_t)access;
}

static void decide_map(struct uvmp_service *s, const struct block *b, uint32_t page, struct uvmp_map *map)
{
	const struct step *step = &s->step;
	const struct range *range = range_of(s, b);
	struct uvmp_map_facts facts = {.requester = step->requester,
				       .destination = step->dst,
				       .access = step_access(step, page),
				       .logical = range->right,
				       .accessed_by = range->accessed_by,
				       .has_preferred = range->preferred != UVMP_PROC_NONE,
				       .preferred = range->preferred,
				       .duplication = range->duplication,
				       .is_duplicated = block_is_duplicated(s, b, page),
				       .is_discarded = block_is_discarded(s, b, page),
				       /* access counters never revoke [driver: counter-policy] */
				       .has_migrated = step->operation == UVMP_OPERATION_ACCESS_COUNTER ||
						       uvmp_mask_test(&step->migrated, page)};
	uint64_t right[3];

	if (uvmp_mask_test(&step->pinned, page))
		facts.thrashing = step->pin_procs[page];
	uvmpi_block_mapped(s, b, page, right);
	facts.read = right[0];
	facts.write = right[1];
	facts.atomic = right[2];
	(void)uvmp_residency_map(&s->processors, &facts, map); /* what the range forbids has not come here */
}

/* Keeps of `pages` those that are in the set, or not in it, as `page` is. */
static void keep_alike(uvmp_mask *pages, const uvmp_mask *set, uint32_t page)
{
	if (uvmp_mask_test(set, page))
		uvmp_mask_and(pages, pages, set);
	else
		uvmp_mask_andnot(pages, pages, set);
}

/* Those of `pages` for which decide_map says what it says for `page`. Pinned pages have their own facts. */
static void find_alike(const struct uvmp_service *s, const struct block *b, const uvmp_mask *pages,
		       uint32_t page, uvmp_mask *like)
{
	const struct step *step = &s->step;

	if (uvmp_mask_test(&step->pinned, page)) {
		uvmp_mask_zero(like);
		uvmp_mask_set(like, page);
		return;
	}
	uvmp_mask_andnot(like, pages, &step->pinned);
	for (uint32_t bit = 0; bit < 3u; bit++)
		keep_alike(like, &step->access[bit], page);
	keep_alike(like, &step->migrated, page);
	if (b->cold != 0) {
		keep_alike(like, &cold_at(s, b->cold)->duplicated, page);
		keep_alike(like, &cold_at(s, b->cold)->discarded, page);
	}
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		keep_alike(like, &residency_at(s, at)->low, page);
		keep_alike(like, &residency_at(s, at)->high, page);
	}
}

/* Sets the classes of the pages, and what is decided for each. */
static void decide_maps(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages)
{
	struct step *step = &s->step;
	uvmp_mask left = *pages;

	uvmp_mask_zero(&step->heads);
	for (uint32_t page = uvmp_mask_next_set(&left, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&left, page)) {
		uvmp_mask_set(&step->heads, page);
		find_alike(s, b, &left, page, &step->like[page]);
		uvmp_mask_andnot(&left, &left, &step->like[page]);
		decide_map(s, b, page, &step->map[page]);
	}
}

/* The head behind this one; UVMP_MASK_BITS: there is none. */
static uint32_t next_head(const struct step *step, uint32_t from)
{
	return uvmp_mask_next_set(&step->heads, from);
}

/* What a processor shall have on a page; NONE: leave it. */
static uint8_t right_of(const struct step *step, const struct uvmp_map *map, uint32_t proc)
{
	if (proc == step->requester)
		return map->right;
	if ((map->others_atomic & BIT(proc)) != 0)
		return UVMP_PROT_READ_WRITE_ATOMIC;
	return (map->others & BIT(proc)) != 0 ? map->others_right : UVMP_PROT_NONE;
}

static void revoke_victims(struct uvmp_service *s)
{
	const struct step *step = &s->step;
	const struct block *b = block_at(s, step->block);
	struct uvmp_region run;
	uvmp_mask some;

	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		struct residency *place = residency_at(s, at);

		for (uint8_t left = UVMP_PROT_READ; left <= UVMP_PROT_READ_WRITE; left++) {
			uvmp_mask_zero(&some);
			for (uint32_t head = next_head(step, 0); head < UVMP_MASK_BITS;
			     head = next_head(step, head + 1)) {
				const struct uvmp_map *map = &step->map[head];

				if ((map->victims & BIT(place->proc)) != 0 && map->left == left)
					uvmp_mask_or(&some, &some, &step->like[head]);
			}
			if (uvmp_mask_is_empty(&some))
				continue;
			uvmpi_mapping_revoke(s, step->block, place, &some, left);
			for (run = uvmp_mask_next_run(&some, 0); run.outer != 0;
			     run = uvmp_mask_next_run(&some, run.outer))
				uvmpi_thrashing_revoked(s, step->block, run, place->proc);
		}
	}
}

/* The pages on which the processor gains each right. */
static bool gains(const struct uvmp_service *s, uint32_t proc, uvmp_mask gain[3])
{
	const struct step *step = &s->step;
	const struct residency *place = uvmpi_residency_find(s, block_at(s, step->block), proc);
	bool any = false;
	uvmp_mask has;

	for (int i = 0; i < 3; i++)
		uvmp_mask_zero(&gain[i]);
	uvmp_mask_zero(&has);
	for (uint32_t head = next_head(step, 0); head < UVMP_MASK_BITS; head = next_head(step, head + 1)) {
		uint8_t right = right_of(step, &step->map[head], proc);

		if (right == UVMP_PROT_NONE)
			continue;
		if (place)
			residency_has(place, right, &has);
		uvmp_mask_or(&gain[right - 1], &gain[right - 1], &step->like[head]);
		uvmp_mask_andnot(&gain[right - 1], &gain[right - 1], &has);
		any = any || !uvmp_mask_is_empty(&gain[right - 1]);
	}
	return any;
}

static void map_processor(struct uvmp_service *s, uint32_t proc)
{
	struct step *step = &s->step;
	struct residency *place;
	uvmp_mask gain[3];

	if (!gains(s, proc, gain))
		return;
	place = uvmpi_residency_make(s, block_at(s, step->block), proc);
	if (!place) {
		if (proc == step->requester) /* it would fault again for ever */
			step->error = UVMP_ERR_NO_MEMORY;
		return;
	}
	for (uint8_t right = UVMP_PROT_READ; right <= UVMP_PROT_READ_WRITE_ATOMIC; right++) {
		struct reason reason = because(step->cause);
		struct uvmp_action *a;

		if (uvmp_mask_is_empty(&gain[right - 1]))
			continue;
		if (uvmp_mask_intersects(&gain[right - 1], &step->pinned))
			reason.cause = UVMP_CAUSE_PIN;
		else if (proc != step->requester)
			reason.cause = UVMP_CAUSE_HINT;
		a = uvmpi_mapping_map(s, step->block, place, &gain[right - 1], right, reason);
		a->from = (uint8_t)step->dst;
		if (reason.cause == UVMP_CAUSE_PIN)
			a->throttles = step_throttles(step, &gain[right - 1]);
	}
}

/* [driver: root-queues]: all that the destination has is discarded, or some of what it has been mapped to
 * now. */
static bool has_lost(const struct uvmp_service *s, const struct block *b, const uvmp_mask *pages)
{
	const struct step *step = &s->step;
	const uvmp_mask *discarded = &cold_at(s, b->cold)->discarded;

	if (step->dst == step->requester && uvmp_mask_intersects(pages, discarded))
		return true;
	return uvmp_mask_is_subset(&uvmpi_residency_find(s, b, step->dst)->resident, discarded);
}

static void map_pages(struct uvmp_service *s, const uvmp_mask *pages)
{
	struct step *step = &s->step;
	struct block *b = block_at(s, step->block);
	uvmp_mask level[3], kept;
	enum uvmp_prot highest;

	for (int i = 0; i < 3; i++)
		uvmp_mask_zero(&level[i]);
	uvmp_mask_zero(&kept);
	decide_maps(s, b, pages);
	for (uint32_t head = next_head(step, 0); head < UVMP_MASK_BITS; head = next_head(step, head + 1)) {
		const struct uvmp_map *map = &step->map[head];

		uvmp_mask_or(&level[map->right - 1], &level[map->right - 1], &step->like[head]);
		if (map->leaves_discarded)
			uvmp_mask_or(&kept, &kept, &step->like[head]);
	}
	highest = uvmp_residency_map_levels(level, &step->pinned, s->policy.quirks);
	for (uint32_t head = next_head(step, 0); head < UVMP_MASK_BITS; head = next_head(step, head + 1)) {
		if (step->map[head].right > highest)
			step->map[head].others = step->map[head].others_atomic = 0;
	}
	if (b->cold != 0)
		uvmp_mask_andnot(&cold_at(s, b->cold)->discarded, &cold_at(s, b->cold)->discarded, &kept);
	revoke_victims(s);
	if ((uvmp_accessible_from(&s->processors, step->dst) & BIT(step->requester)) != 0)
		map_processor(s, step->requester);
	for (uint32_t proc = 0; proc < s->processors.count; proc++) {
		if (proc != step->requester)
			map_processor(s, proc);
	}
	if (step->dst != UVMP_CPU && b->cold != 0 && has_lost(s, b, pages))
		uvmpi_memory_mark(s, step->dst, step->block, UVMP_MARK_DISCARDED);
}

static void commit(struct uvmp_service *s)
{
	struct step *step = &s->step;
	const struct residency *dst = uvmpi_residency_find(s, block_at(s, step->block), step->dst);
	uvmp_mask arrived, some;

	/* an eviction ahead may have taken older pages of this block away */
	uvmp_mask_andnot(&step->migrated, &step->migrated, &step->failed);
	uvmp_mask_and(&arrived, &step->arrive[step->dst], &dst->resident);
	uvmp_mask_or(&arrived, &arrived, &step->migrated);
	uvmp_mask_and(&some, &arrived, &step->duplicate);
	tell_migrations(s, &some, true);
	uvmp_mask_andnot(&some, &arrived, &step->duplicate);
	tell_migrations(s, &some, false);
	settle_residency(s, &arrived);
	step->phase = STEP_MAPPED;
	if (step->may_map && step->error == UVMP_OK)
		map_pages(s, &arrived);
}

static void next_destination(struct step *step)
{
	uint64_t left = step->destinations & ~(BIT(step->dst) | (BIT(step->dst) - 1u));

	if (step->error != UVMP_OK || left == 0) {
		end(step, step->error);
		return;
	}
	step->dst = lowest_bit(left);
	step->phase = STEP_ALLOCATE;
}

/* -- mappings for hints -- */

/* -- the machine -- */

void uvmpi_step_advance(struct uvmp_service *s)
{
	switch (s->step.phase) {
	case STEP_ALLOCATE:
		allocate(s);
		break;
	case STEP_EVICTED:
		evicted(s);
		break;
	case STEP_COPY:
		copy(s);
		break;
	case STEP_COMMIT:
		commit(s);
		break;
	default:
		next_destination(&s->step);
		break;
	}
}
