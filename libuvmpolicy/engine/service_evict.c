/* Evictions: what leaves a GPU when nothing is free, block by block.
 *
 * A state machine. NEXT looks at the first block that owns something in the victim (a root, or a unit of a
 * page-wise order), without taking it away yet, and queues that it leaves: unmap, discard, copy to the CPU.
 * COMMIT reads how the copies went. Only when all have arrived does the block lose the memory, MAP lets
 * others keep reaching the pages, and NEXT goes on; when one has failed those pages stay where they are, the
 * victim goes back to the tail of its queue, and the eviction has failed.
 *
 * TBNe [uvmsmart: victim-selection]: the victim is a basic block, and with it leave those basic blocks of its
 * block (the tree) without which the tree is better balanced; each run of them is one pass of the machine.
 * The tree is the one that a tree prefetcher keeps. Where none does, and without quirks, it is made from what
 * is resident or on its way.
 */
#include "block_service_internal.h"
#include "departing_internal.h"
#include "mapping_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "space_internal.h"

#define DRAWS_MOST 8u /* victims that may be refused in a row */

/* -- the victim -- */

/* Lists in the order in which uvmp_pmm_evict_begin looks at them [driver: victim-choice]. */
#define VICTIM_LISTS 5u

struct victim {
	uint32_t root;
	enum uvmp_victim list;
};

/* UVMP_ROOT_NONE, of the last list: nothing may be evicted. */
static struct victim next_root(const struct uvmp_pmm *pmm)
{
	static const uint8_t list[VICTIM_LISTS][2] = {{UVMP_PMM_FREE_NONZERO, UVMP_VICTIM_FREE},
						      {UVMP_PMM_FREE_ZERO, UVMP_VICTIM_FREE},
						      {UVMP_PMM_UNUSED, UVMP_VICTIM_UNUSED},
						      {UVMP_PMM_DISCARDED, UVMP_VICTIM_DISCARDED},
						      {UVMP_PMM_USED, UVMP_VICTIM_USED}};
	struct victim victim = {UVMP_ROOT_NONE, UVMP_VICTIM_FREE};

	for (uint32_t i = 0; i < VICTIM_LISTS && victim.root == UVMP_ROOT_NONE; i++) {
		victim.root = uvmp_pmm_first(pmm, (enum uvmp_pmm_list)list[i][0]);
		victim.list = (enum uvmp_victim)list[i][1];
	}
	return victim;
}

/* The block whose memory must not leave for the present step; 0: none. */
static handle kept_block(const struct eviction *e)
{
	return e->job != NULL && e->job->is_follow ? e->job->keep : 0;
}

/* The block that is being serviced; 0: none. */
static handle serviced_block(const struct eviction *e)
{
	return e->job != NULL ? e->job->block : 0;
}

static bool holds(const struct uvmp_service *s, handle block, uint32_t gpu, uint32_t root)
{
	uvmp_mask pages;

	if (block == 0)
		return false;
	uvmpi_memory_in_root(s, block_at(s, block), uvmpi_residency_find(s, block_at(s, block), gpu), root,
			     &pages);
	return !uvmp_mask_is_empty(&pages);
}

/* Ahead, what the present step brings its pages to may not leave either. */
static bool choose_root(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_ahead)
{
	struct uvmp_pmm *pmm = s->gpu[gpu].pmm;
	struct victim victim = next_root(pmm);

	if (victim.root == UVMP_ROOT_NONE || holds(s, kept_block(e), gpu, victim.root) ||
	    holds(s, is_ahead ? serviced_block(e) : 0, gpu, victim.root))
		return false;
	e->victim = (uint8_t)victim.list;
	(void)uvmp_pmm_evict_begin(pmm, UVMP_CHUNK_USER, &e->root);
	return true;
}

static handle block_of_unit(const struct gpu *g, uint32_t unit)
{
	return g->unit_block[unit / g->block_units];
}

static struct uvmp_region pages_of_unit(const struct gpu *g, uint32_t unit)
{
	uint32_t first = unit % g->block_units * g->unit_pages;

	return (struct uvmp_region){first, first + g->unit_pages};
}

/* Are pages of this part of the block on their way for the present step? */
static bool is_coming(const struct eviction *e, handle block, uint32_t gpu, struct uvmp_region region)
{
	return block == serviced_block(e) && uvmp_mask_region_any(&e->job->arrive[gpu], region);
}

/* Are all pages there that the block has in this unit? */
static bool is_complete(const struct uvmp_service *s, handle block, uint32_t gpu, struct uvmp_region region)
{
	const struct block *b = block_at(s, block);

	if (region.end > b->pages)
		region.end = b->pages;
	return uvmp_mask_region_all(&uvmpi_residency_find(s, b, gpu)->resident, region);
}

/* Does a page-wise order send 2 MiB away at once? */
static bool is_large(const struct eviction *e, const struct gpu *g)
{
	return g->block_units == 1u || e->is_whole;
}

/* A large page does not make room for itself, a smaller unit not for pages that come to it; and with quirks a
 * basic block that is not complete is spared [uvmsmart: evictable], if that can be. So is a unit of
 * evict=lfu2m ([uvmsmart: incomplete-tree-stays], spare_unit in service_memory.c), by the order itself unless
 * there is a reserve. What follows a decision may not send away what has just come for it. Ahead, the copies
 * of what comes are decided, and no page that is wanted may go. */
static bool is_refused(const struct uvmp_service *s, const struct eviction *e, uint32_t gpu, uint32_t unit,
		       bool is_strict)
{
	const struct gpu *g = &s->gpu[gpu];
	handle block = block_of_unit(g, unit);

	if (block == kept_block(e))
		return true;
	if (g->block_units == UVMP_MASK_BITS)
		return e->is_ahead && is_coming(e, block, gpu, pages_of_unit(g, unit));
	if (is_large(e, g))
		return block == serviced_block(e) || (is_strict && g->block_units == 1u &&
						      !is_complete(s, block, gpu, pages_of_unit(g, unit)));
	return is_coming(e, block, gpu, pages_of_unit(g, unit)) ||
	       (is_strict && !is_complete(s, block, gpu, pages_of_unit(g, unit)));
}

/* -- TBNe: what leaves with the first victim -- */

/* Basic blocks of the block that may leave: wholly resident, nothing coming. */
static uint32_t evictable_blocks(const struct uvmp_service *s, const struct eviction *e, handle block,
				 uint32_t gpu, const uvmp_mask *resident)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < UVMP_TREE_BLOCKS_MAX; i++) {
		struct uvmp_region region = pages_of_unit(&s->gpu[gpu], i);

		if (uvmp_mask_region_all(resident, region) && !is_coming(e, block, gpu, region))
			blocks |= (uint32_t)1 << i;
	}
	return blocks;
}

static void subtract(struct uvmp_tree *tree, const uvmp_mask *pages, bool quirks)
{
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, page + 1u))
		uvmp_tree_sub(tree, page, 1, quirks);
}

/* The tree as it would be without the first victim. */
static void tree_without(const struct uvmp_service *s, const struct eviction *e, handle block, uint32_t gpu,
			 const uvmp_mask *victim, struct uvmp_tree *tree)
{
	const struct block *b = block_at(s, block);
	uvmp_mask pages = uvmpi_residency_find(s, b, gpu)->resident;

	if (s->policy.quirks && uvmpi_prefetch_has_tree(s) && b->cold != 0 &&
	    cold_at(s, b->cold)->tree != 0) {
		*tree = *(const struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree);
	} else {
		(void)uvmp_tree_init(tree, uvmpi_prefetch_tree_blocks(b));
		if (block == serviced_block(e))
			uvmp_mask_or(&pages, &pages, &e->job->arrive[gpu]);
		uvmp_tree_assign(tree, &pages);
	}
	uvmp_mask_and(&pages, victim, &uvmpi_residency_find(s, b, gpu)->resident);
	subtract(tree, &pages, s->policy.quirks);
}

static void add_closure(struct uvmp_service *s, struct eviction *e, uint32_t gpu)
{
	handle block = block_of_unit(&s->gpu[gpu], e->root);
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	struct uvmp_tree tree;
	uint32_t more;

	tree_without(s, e, block, gpu, &e->rest, &tree);
	more = uvmp_evict_closure(&s->gpu[gpu].order, &tree, evictable_blocks(s, e, block, gpu, &p->resident));
	for (uint32_t i = 0; i < UVMP_TREE_BLOCKS_MAX; i++) {
		if ((more >> i & 1u) != 0)
			uvmp_mask_region_set(&e->rest, pages_of_unit(&s->gpu[gpu], i));
	}
}

/* The first of the order that is not refused; a random draw may be repeated a few times. */
static bool find_unit(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_strict)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t most = s->order->has_reserve ? g->order.count : DRAWS_MOST;
	enum uvmp_status status = uvmp_evict_victim(&g->order, &s->random, &e->root);

	for (uint32_t tried = 1; status == UVMP_OK && is_refused(s, e, gpu, e->root, is_strict); tried++)
		status = tried < most ? uvmp_evict_next(&g->order, &s->random, &e->root) : UVMP_ERR_NO_MEMORY;
	return status == UVMP_OK;
}

/* What spares all that there is, is not kept: the original would wait for ever. Pins end last. */
static bool choose_unit(struct uvmp_service *s, struct eviction *e, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];
	bool is_strict = s->policy.quirks && s->order->spares_incomplete && !uvmpi_evict_spares(s);
	bool found;

	uvmpi_runtime_judge(s);
	e->is_whole = uvmpi_runtime_evicts_whole(s);
	found = find_unit(s, e, gpu, is_strict);
	if (!found && (is_strict || s->policy.reserve != 0)) {
		g->order.reserve_percent = 0;
		found = find_unit(s, e, gpu, false);
		g->order.reserve_percent = s->policy.reserve;
	}
	while (!found && uvmpi_memory_unpin_oldest(s, gpu))
		found = find_unit(s, e, gpu, false);
	if (!found)
		return false;
	uvmp_mask_zero(&e->rest);
	uvmp_mask_region_set(&e->rest, pages_of_unit(g, e->root));
	if (e->is_whole)
		uvmp_mask_region_set(&e->rest, (struct uvmp_region){0, UVMP_MASK_BITS});
	else if (s->order->has_tree)
		add_closure(s, e, gpu);
	return true;
}

enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, const struct job *job,
				   uint32_t gpu, enum uvmp_chunk_size size, bool is_ahead)
{
	struct gpu *g = &s->gpu[gpu];

	e->job = job;
	e->victim = UVMP_VICTIM_ORDER;
	e->is_ahead = is_ahead;
	e->room = 0;
	if (!(g->pmm ? choose_root(s, e, gpu, is_ahead) : choose_unit(s, e, gpu)))
		return UVMP_ERR_NO_MEMORY;
	e->phase = EVICT_NEXT;
	e->gpu = gpu;
	e->for_address = serviced_block(e) != 0 ? block_at(s, serviced_block(e))->start : 0;
	e->size = size;
	e->block = 0;
	e->blocks = 0;
	e->status = UVMP_OK;
	return UVMP_OK;
}

bool uvmpi_evict_is_next(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];
	struct uvmp_pmm_counts counts;

	if (g->pmm == NULL)
		return g->used_pages + g->coming_pages >= g->capacity_pages;
	uvmp_pmm_count(g->pmm, &counts);
	return counts.in_pool == 0 && next_root(g->pmm).list != UVMP_VICTIM_FREE;
}

static bool has_room(const struct gpu *g, uint32_t pages)
{
	return g->used_pages + g->coming_pages + pages <= g->capacity_pages;
}

bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, const struct job *job, uint32_t gpu,
		       uvmp_addr for_address)
{
	const struct gpu *g = &s->gpu[gpu];

	if ((g->pmm ? !uvmpi_evict_is_next(s, gpu) : has_room(g, g->unit_pages)) ||
	    uvmpi_evict_start(s, e, job, gpu, UVMP_CHUNK_2M, true) != UVMP_OK)
		return false;
	e->room = g->unit_pages;
	e->for_address = for_address;
	return true;
}

bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address)
{
	const struct gpu *g = &s->gpu[gpu];
	struct uvmp_pressure pressure = {.total_pages = g->capacity_pages,
					 .free_pages = g->capacity_pages - g->used_pages,
					 .buffer_percent = s->policy.free_buffer,
					 .quirks = s->policy.quirks};

	if (g->pmm || !uvmp_pressure_is_over(&pressure))
		return false;
	if (uvmpi_evict_start(s, e, NULL, gpu, UVMP_CHUNK_2M, false) != UVMP_OK)
		return false;
	e->for_address = for_address;
	return true;
}

/* -- EVICT_NEXT -- */

/* The next block that loses memory in the root; 0: the root is empty. */
static handle next_owner(const struct uvmp_pmm *pmm, uint32_t root)
{
	handle block = 0;
	bool found;

	(void)uvmp_pmm_evict_peek(pmm, root, &block, &found);
	return block;
}

/* Which block is next, and what has it there? False: nothing is left. */
static bool find_block(struct uvmp_service *s, struct eviction *e)
{
	struct gpu *g = &s->gpu[e->gpu];
	const struct block *b;
	const struct residency *p;
	struct uvmp_region run;

	e->block = g->pmm ? next_owner(g->pmm, e->root) : block_of_unit(g, e->root);
	if (e->block == 0 || (g->pmm == NULL && uvmp_mask_is_empty(&e->rest)))
		return false;
	b = block_at(s, e->block);
	p = uvmpi_residency_find(s, b, e->gpu);
	if (g->pmm) {
		uvmpi_memory_in_root(s, b, p, e->root, &e->held);
		return true;
	}
	run = uvmp_mask_next_run(&e->rest, 0);
	uvmp_mask_zero(&e->held);
	uvmp_mask_region_set(&e->held, run);
	uvmp_mask_and(&e->held, &e->held, &p->resident);
	uvmp_mask_region_clear(&e->rest, run);
	return true;
}

/* Of what the block has there: what leaves, what is not worth it, what must be copied. */
static void sort_pages(struct uvmp_service *s, struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	const struct residency *p = uvmpi_residency_find(s, b, e->gpu),
			       *cpu = uvmpi_residency_find(s, b, UVMP_CPU);

	uvmp_mask_and(&e->pages, &e->held, &p->resident);
	uvmp_mask_zero(&e->lost);
	if (b->cold != 0)
		uvmp_mask_and(&e->lost, &e->pages, &cold_at(s, b->cold)->discarded);
	uvmp_mask_andnot(&e->copied, &e->pages, &e->lost);
	if (cpu != NULL)
		uvmp_mask_andnot(&e->copied, &e->copied, &cpu->resident);
}

static void plan_copies(struct uvmp_service *s, struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	uvmp_mask cuts;
	struct uvmp_copy_facts facts = {.to = UVMP_CPU,
					.pages = &e->copied,
					.resident = s->holders,
					.grouping = UVMP_GROUPING_BY_CAUSE,
					.cuts = &cuts};

	uvmp_mask_zero(&cuts);
	uvmpi_memory_cuts(s, b, e->gpu, &cuts);
	uvmpi_block_residents(s, b);
	(void)uvmp_plan_copies(&s->processors, &facts, s->out, UVMP_PLAN_COPIES_MAX, &s->outs);
}

/* The eviction has failed: what has not left stays, and is the newest. */
static void give_up(struct uvmp_service *s, struct eviction *e, enum uvmp_status status)
{
	struct gpu *g = &s->gpu[e->gpu];

	if (g->pmm) {
		(void)uvmp_pmm_evict_abort(g->pmm, e->root);
	} else {
		uvmp_mask_and(&e->held, &e->held,
			      &uvmpi_residency_find(s, block_at(s, e->block), e->gpu)->resident);
		uvmpi_memory_used(s, e->gpu, e->block, &e->held, false);
	}
	e->phase = EVICT_IDLE;
	e->status = status;
}

static void queue_leave(struct uvmp_service *s, struct eviction *e, enum uvmp_action_kind kind,
			const uvmp_mask *pages)
{
	struct uvmp_action *a = uvmpi_queue(s, kind, UVMP_CAUSE_EVICTION, e->block, pages);

	a->from = (uint8_t)e->gpu;
	a->for_address = e->for_address;
	if (kind != UVMP_ACTION_EVICT)
		return;
	a->victim = e->victim;
	a->count = e->blocks++;
	a->detail = uvmp_mask_weight(pages) * s->page_bytes;
	if (s->gpu[e->gpu].pmm)
		a->offset = (uint64_t)e->root * UVMP_ROOT_CHUNK_BYTES;
}

static void send_away(struct uvmp_service *s, struct eviction *e)
{
	sort_pages(s, e);
	if (!uvmp_mask_is_empty(&e->copied) &&
	    uvmpi_residency_make(s, block_at(s, e->block), UVMP_CPU) == NULL) {
		give_up(s, e, UVMP_ERR_NO_MEMORY);
		return;
	}
	uvmpi_remote_leave(s, e->block, e->gpu, &e->pages);
	uvmpi_runtime_tell(s);
	queue_leave(s, e, UVMP_ACTION_EVICT, &e->held);
	uvmpi_mapping_unmap(s, e->block, &e->pages, 0, (struct reason){UVMP_CAUSE_EVICTION, e->for_address});
	if (!uvmp_mask_is_empty(&e->lost))
		queue_leave(s, e, UVMP_ACTION_DISCARD, &e->lost);
	plan_copies(s, e);
	uvmpi_queue_copies(s, e->job, (struct outgoing){e->block, e->for_address});
	e->phase = EVICT_COMMIT;
}

/* The allocation that asked gets its chunk from the root; it waits for the pass that follows [driver: eviction-retry]. */
static void park(struct uvmp_service *s, const struct eviction *e, struct uvmp_chunk chunk)
{
	uint32_t i = 0;

	while (i + 1u < PARKED_MAX && s->parked[i].is_set)
		i++;
	if (s->parked[i].is_set)
		(void)uvmp_pmm_free(s->gpu[s->parked[i].gpu].pmm, s->parked[i].chunk);
	s->parked[i] = (struct parked){
		.chunk = chunk, .block = serviced_block(e), .gpu = (uint8_t)e->gpu, .is_set = true};
}

/* Ahead, units go until there is the room that is wanted. */
static void go_on(struct uvmp_service *s, struct eviction *e)
{
	if (has_room(&s->gpu[e->gpu], e->room) || !choose_unit(s, e, e->gpu))
		return;
	e->phase = EVICT_NEXT;
	e->blocks = 0;
}

/* Nothing is left in the victim. */
static void finish(struct uvmp_service *s, struct eviction *e)
{
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	struct uvmp_chunk chunk;

	e->phase = EVICT_IDLE;
	if (pmm == NULL) {
		go_on(s, e);
		return;
	}
	if (e->is_ahead) {
		(void)uvmp_pmm_evict_release(pmm, e->root);
		return;
	}
	e->status = uvmp_pmm_evict_end(pmm, e->root, UVMP_CHUNK_USER, e->size, serviced_block(e), &chunk);
	if (e->status == UVMP_OK) {
		park(s, e, chunk);
		return;
	}
	e->status = UVMP_ERR_NO_MEMORY; /* no root may be split any more */
	(void)uvmp_pmm_evict_release(pmm, e->root);
}

/* -- EVICT_COMMIT -- */

/* Pages whose copy has failed, and why. */
static enum uvmp_status failed_pages(const struct uvmp_service *s, uvmp_mask *failed)
{
	enum uvmp_status status = UVMP_OK;

	uvmp_mask_zero(failed);
	for (uint32_t i = 0; i < s->actions; i++) {
		const struct uvmp_action *a = &s->action[i];

		if (a->kind != UVMP_ACTION_COPY || a->cause != UVMP_CAUSE_EVICTION ||
		    action_result(s, i) == UVMP_OK)
			continue;
		uvmp_mask_or(failed, failed, &a->pages);
		status = action_result(s, i);
	}
	return status;
}

/* The tree of the UVM Smart family no longer counts what left; a large page that leaves empties it
 * [uvmsmart: victim-selection]. */
static void leave_tree(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages, bool is_large)
{
	struct uvmp_tree *tree;

	if (b->cold == 0 || cold_at(s, b->cold)->tree == 0)
		return;
	tree = uvmpi_arena_at(s, cold_at(s, b->cold)->tree);
	subtract(tree, pages, s->policy.quirks);
	if (s->order->has_tree)
		uvmp_tree_recompute(tree);
	if (is_large)
		(void)uvmp_tree_init(tree, tree->blocks);
}

static bool is_large_victim(const struct uvmp_service *s, const struct eviction *e, const struct block *b)
{
	const struct gpu *g = &s->gpu[e->gpu];

	return g->pmm ? block_is_whole(s, b) : is_large(e, g);
}

/* What has left is on the CPU alone, duplicates on other GPUs are given up too [driver: victim-choice]. */
static void leave(struct uvmp_service *s, const struct eviction *e, const uvmp_mask *failed)
{
	struct block *b = block_at(s, e->block);
	struct residency *cpu = uvmpi_residency_find(s, b, UVMP_CPU);
	uvmp_mask gone, some;

	uvmp_mask_andnot(&gone, &e->pages, failed);
	if (cpu != NULL) {
		uvmp_mask_and(&some, &e->copied, &gone);
		uvmp_mask_or(&cpu->resident, &cpu->resident, &some);
	}
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		if (residency_at(s, at) != cpu)
			uvmpi_depart(s, e->block, residency_at(s, at)->proc, &gone,
			             residency_at(s, at)->proc == e->gpu ? DEPART_EVICTED : DEPART_MOVED);
	}
	if (b->cold != 0)
		uvmp_mask_andnot(&cold_at(s, b->cold)->duplicated, &cold_at(s, b->cold)->duplicated, &gone);
	leave_tree(s, b, &gone, is_large_victim(s, e, b) && uvmp_mask_is_empty(failed));
}

/* Accessed-by processors, and the GPU itself where its accesses are counted, keep reaching the pages
 * [driver: victim-choice, remote-on-eviction]. */
static void map_again(struct uvmp_service *s, const struct eviction *e)
{
	uint64_t processors = range_of(s, block_at(s, e->block))->accessed_by;
	uvmp_mask pages;

	if (s->maps_evicted && s->tuned.remote.remote == UVMP_REMOTE_OFF)
		processors |= BIT(e->gpu);
	uvmp_mask_andnot(&pages, &e->pages, &e->lost);
	if (uvmp_mask_is_empty(&pages))
		return;
	for (uint32_t p = 0; p < s->processors.count; p++) {
		if ((processors & BIT(p)) != 0)
			uvmpi_mapping_map_remote(s, e->block, p, &pages,
						 (struct reason){UVMP_CAUSE_EVICTION, e->for_address});
	}
	uvmpi_remote_map_evicted(s, e->block, e->gpu, &pages, e->for_address);
}

/* All has arrived: the block gives the memory up. */
static void take_away(struct uvmp_service *s, struct eviction *e)
{
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	const struct block *b = block_at(s, e->block);
	struct uvmp_pmm_eviction eviction;
	bool found;

	if (pmm == NULL)
		return;
	(void)uvmp_pmm_evict_next(pmm, e->root, &eviction, &found);
	uvmpi_memory_forget(s, b, uvmpi_residency_find(s, b, e->gpu), &e->held);
}

/* How much of what leaves was not touched since it came? Nothing that nobody knows of. */
static uint32_t count_untouched(const struct uvmp_service *s, const struct eviction *e)
{
	const struct history *history = block_history(s, block_at(s, e->block));
	uvmp_mask untouched;

	if (history == NULL || history->gpu != e->gpu)
		return 0;
	uvmp_mask_andnot(&untouched, &e->pages, &history->touched);
	return uvmp_mask_weight(&untouched);
}

static void commit(struct uvmp_service *s, struct eviction *e)
{
	uvmp_mask failed;
	enum uvmp_status status = failed_pages(s, &failed);
	uint32_t untouched = count_untouched(s, e);

	leave(s, e, &failed);
	if (status != UVMP_OK) {
		give_up(s, e, status);
		return;
	}
	uvmpi_memory_evicted(s, e->gpu, e->block, e->root, uvmp_mask_weight(&e->pages), untouched);
	take_away(s, e);
	e->phase = EVICT_NEXT;
	map_again(s, e);
}

void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e)
{
	if (e->phase == EVICT_COMMIT)
		commit(s, e);
	else if (find_block(s, e))
		send_away(s, e);
	else
		finish(s, e);
}
