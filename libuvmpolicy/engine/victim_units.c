/* Units of a page-wise order as victims of an eviction.
 *
 * TBNe [uvmsmart: victim-selection]: the victim is a basic block. TBNe evicts further basic blocks of the same tree with
 * it, to balance the tree; each run of basic blocks is one pass of the eviction. If a tree prefetcher keeps a tree, TBNe
 * uses that tree. Without such a prefetcher, and without quirks, TBNe builds the tree from the resident and arriving pages.
 */
#include "../base/bits_internal.h"
#include "../base/geometry_internal.h"
#include "../evict/evict_internal.h"
#include "block_service_internal.h"
#include "memory_backend_internal.h"
#include "remote_idle_internal.h"
#include "service_runtime_internal.h"
#include "space_internal.h"
#include "victim_internal.h"

#define DRAWS_MOST   8u /* victims that may be refused in a row */
/* Blocks of a memory that groups of units leave together, if single pages count: of a smaller one they are too much. */
#define GROUPS_LEAST 16u

/* -- which unit -- */

static handle block_of_unit(const struct gpu *g, uint32_t unit)
{
	return g->unit_block[unit / g->block_units];
}

static struct uvmp_region pages_of_unit(const struct gpu *g, uint32_t unit)
{
	uint32_t first = unit % g->block_units * g->unit_pages;

	return (struct uvmp_region){first, first + g->unit_pages};
}

/* Are pages of this part of the block arriving for the present job? */
static bool is_arriving(const struct eviction *e, handle block, uint32_t gpu, struct uvmp_region region)
{
	return block == uvmpi_victim_serviced(e) && uvmp_mask_region_any(&e->job->arrive[gpu], region);
}

/* Does the order evict 2 MiB at once? */
static bool is_large(const struct eviction *e, const struct gpu *g)
{
	return g->block_units == 1u || e->is_whole;
}

/* [uvmsmart: incomplete-tree-stays]: is a page of the large page missing? */
static bool is_incomplete(const struct uvmp_service *s, const struct gpu *g, uint32_t unit)
{
	const struct block *b = block_at(s, g->unit_block[unit]);
	const struct residency *p = uvmpi_residency_find(s, b, (uint32_t)(g - s->gpu));

	return uvmpi_mask_weight(&p->resident) != b->pages;
}

/* [uvmsmart: evictable]: is the unit held by accesses or copies under way? With quirks, a large page that was held since it got
 * its memory is held while a page is missing, too. */
static bool is_held(const struct uvmp_service *s, const struct gpu *g, uint32_t unit)
{
	if (g->held_ns == NULL || g->held_ns[unit] == 0)
		return false;
	return g->held_ns[unit] > s->now_ns || (s->policy.quirks && g->block_units == 1u && is_incomplete(s, g, unit));
}

/* May the unit stay although the order names it?
 *
 * A large page does not make room for itself, nor does a block of an order with groups, if the memory holds a whole block; a
 * smaller unit does not make room for pages that arrive in it. A job that follows another one does not evict the pages of that
 * one. Ahead, the copies of the arriving pages are decided, so that these pages stay. All such units are of at most two
 * blocks. */
static bool is_refused(const struct uvmp_service *s, const struct eviction *e, uint32_t gpu, uint32_t unit)
{
	const struct gpu *g = &s->gpu[gpu];
	handle block = block_of_unit(g, unit);

	if (block == uvmpi_victim_kept(e))
		return true;
	if (g->block_units == UVMP_MASK_BITS)
		return e->is_ahead && is_arriving(e, block, gpu, pages_of_unit(g, unit));
	if (is_large(e, g) || (s->order->has_groups && g->capacity_pages >= s->block_pages))
		return block == uvmpi_victim_serviced(e);
	return is_arriving(e, block, gpu, pages_of_unit(g, unit));
}

/* -- TBNe: units evicted with the first victim -- */

/* Basic blocks of the block that may leave: all pages are resident, none is arriving, and the basic block is not held. */
static uint32_t evictable_blocks(const struct uvmp_service *s, const struct eviction *e, handle block,
				 uint32_t gpu, const struct residency *p)
{
	const struct gpu *g = &s->gpu[gpu];
	uint32_t blocks = 0, first = p->memory * g->block_units;

	for (uint32_t i = 0; i < UVMP_TREE_BLOCKS_MAX; i++) {
		struct uvmp_region region = pages_of_unit(g, i);

		if (uvmp_mask_region_all(&p->resident, region) && !is_arriving(e, block, gpu, region) &&
		    !is_held(s, g, first + i))
			blocks |= (uint32_t)1 << i;
	}
	return blocks;
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
		if (block == uvmpi_victim_serviced(e))
			uvmp_mask_or(&pages, &pages, &e->job->arrive[gpu]);
		uvmp_tree_assign(tree, &pages);
	}
	uvmp_mask_and(&pages, victim, &uvmpi_residency_find(s, b, gpu)->resident);
	uvmpi_prefetch_tree_leave(tree, &pages, s->policy.quirks);
}

static void add_closure(struct uvmp_service *s, struct eviction *e, uint32_t gpu)
{
	handle block = block_of_unit(&s->gpu[gpu], e->root);
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	struct uvmp_tree tree;
	uint32_t more;

	tree_without(s, e, block, gpu, &e->rest, &tree);
	more = uvmpi_evict_closure(&s->gpu[gpu].order, &tree, evictable_blocks(s, e, block, gpu, p));
	for (; more != 0; more &= more - 1u)
		uvmp_mask_region_set(&e->rest, pages_of_unit(&s->gpu[gpu], lowest_bit(more)));
}

/* -- orders with groups: units evicted with the first victim -- */

static void add_group(struct uvmp_service *s, struct eviction *e, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];

	for (uint32_t more = uvmpi_evict_together(&g->order, e->root); more != 0; more &= more - 1u)
		uvmp_mask_region_set(&e->rest, pages_of_unit(g, lowest_bit(more)));
}

/* The pages of a block that is not made yet; as many as any block has if the address is in no range. */
static uint32_t count_pages(const struct uvmp_service *s, uint32_t space, uvmp_addr start)
{
	uint32_t index = uvmpi_range_find(s, space, start);
	const struct range *r;
	struct uvmp_block shape;

	if (index == NO_INDEX)
		return s->block_pages;
	r = &s->range[s->range_order[index]];
	uvmpi_geometry_block_at(&s->geometry, r->start, r->last, start, &shape);
	return shape.pages;
}

/* The pages for which the block that follows the job has no room yet. */
static uint32_t count_missing(const struct uvmp_service *s, const struct job *job, uint32_t gpu)
{
	uint32_t space = range_of(s, block_at(s, job->block))->space;
	handle next = uvmpi_block_find(s, space, job->next_start);
	const struct residency *p;
	uvmp_mask held;

	if (next == 0)
		return count_pages(s, space, job->next_start);
	p = uvmpi_residency_find(s, block_at(s, next), gpu);
	if (p == NULL)
		return block_at(s, next)->pages;
	held = p->resident;
	if (next == job->block)
		uvmpi_mask_or(&held, &held, &job->arrive[gpu]);
	if (s->is_full)
		return block_at(s, next)->pages - uvmpi_mask_weight(&held);
	return block_at(s, next)->pages - uvmpi_units_counted(&s->gpu[gpu], block_at(s, next), &held);
}

/* The next block probably needs as much as the present one, unless all of it is on the GPU. Until an arriving page has found no
 * room, all data may fit. Then the room is at most what the next block can need. */
uint32_t uvmpi_victim_room_ahead(const struct uvmp_service *s, const struct job *job, uint32_t gpu)
{
	uint32_t pages = s->gpu[gpu].unit_pages, room, missing;

	if (!s->order->has_groups)
		return pages;
	room = uvmpi_mask_weight(&job->arrive[gpu]);
	room = room > pages ? room : pages;
	if (!job->has_next)
		return room;
	missing = count_missing(s, job, gpu);
	return s->is_full && missing != 0 ? room : minimum(room, missing);
}

/* -- the victim -- */

/* What a search for a victim passes over. */
struct search {
	enum evict_walk walk;
	uint32_t reserve_percent;
	uint32_t used; /* tenants in use */
};

/* The first unit of the search that is not refused, and not held if `spares_held`. Random draws are repeated a few times. */
static bool find_unit(struct uvmp_service *s, struct eviction *e, uint32_t gpu, struct search search,
		      bool spares_held)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t most = s->order->is_random ? DRAWS_MOST : g->order.count;
	enum uvmp_status status = uvmpi_evict_first(&g->order, &s->random, search.walk, search.reserve_percent,
						    search.used, &e->root);

	for (uint32_t tried = 1; status == UVMP_OK && (is_refused(s, e, gpu, e->root) ||
						       (spares_held && is_held(s, g, e->root))); tried++)
		status = tried < most ? uvmpi_evict_next(&g->order, &s->random, search.walk, &e->root)
				      : UVMP_ERR_NO_MEMORY;
	return status == UVMP_OK;
}

/* With quirks, a unit with a page missing is spared if another unit can leave [uvmsmart: evictable, incomplete-tree-stays];
 * its order keeps such units apart (spare_unit in memory_units.c). A held unit is spared, too, if another unit can leave. A
 * basic block is not spared where whole large pages leave. If every unit is protected, the protection is ignored: the original
 * would wait without end. Pins end last. Protection holds for a withdrawn victim, which leaves if no other unit can. `used`: the
 * tenants in use. */
static bool find_victim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uint32_t used)
{
	const struct gpu *g = &s->gpu[gpu];
	uint32_t reserve = s->policy.reserve;
	bool is_strict = uvmpi_units_are_spared(s), spares = is_strict && (g->block_units == 1u || !e->is_whole);
	struct search search = {spares ? EVICT_UNSPARED : EVICT_ANY, reserve, used};
	bool found = find_unit(s, e, gpu, search, true);

	if (found || (e->job != NULL && e->job->takes_back))
		return found;
	found = g->held_ns != NULL && find_unit(s, e, gpu, search, false);
	if (!found && (is_strict || reserve != 0)) {
		search = (struct search){EVICT_ANY, 0, used};
		found = find_unit(s, e, gpu, search, false);
	}
	search = (struct search){reserve == 0 ? EVICT_SPARED_LAST : EVICT_ANY, reserve, used};
	while (!found && uvmpi_memory_unpin_oldest(s, gpu))
		found = find_unit(s, e, gpu, search, false);
	return found;
}

bool uvmpi_victim_choose_unit(struct uvmp_service *s, struct eviction *e, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];
	bool is_notified = e->job != NULL && e->job->operation == UVMP_OPERATION_ACCESS_COUNTER;
	uint32_t used = is_notified ? uvmpi_idle_used(s, gpu) : 0;

	uvmpi_runtime_judge(s);
	e->is_whole = uvmpi_runtime_evicts_whole(s);
	if (!find_victim(s, e, gpu, used))
		return false;
	e->victim = (uint8_t)(UVMP_VICTIM_ORDER + (uint32_t)uvmpi_evict_chosen(&g->order));
	uvmp_mask_zero(&e->rest);
	uvmp_mask_region_set(&e->rest, pages_of_unit(g, e->root));
	if (e->is_whole)
		uvmp_mask_region_set(&e->rest, (struct uvmp_region){0, UVMP_MASK_BITS});
	else if (s->order->has_tree)
		add_closure(s, e, gpu);
	else if (s->order->has_groups && (g->counts_units || g->capacity_pages >= GROUPS_LEAST * s->block_pages))
		add_group(s, e, gpu);
	return true;
}

bool uvmpi_victim_next_unit(struct uvmp_service *s, struct eviction *e)
{
	struct uvmp_region run;

	e->block = block_of_unit(&s->gpu[e->gpu], e->root);
	if (uvmp_mask_is_empty(&e->rest))
		return false;
	run = uvmp_mask_next_run(&e->rest, 0);
	uvmp_mask_zero(&e->held);
	uvmp_mask_region_set(&e->held, run);
	uvmp_mask_and(&e->held, &e->held,
		      &uvmpi_residency_find(s, block_at(s, e->block), e->gpu)->resident);
	uvmp_mask_region_clear(&e->rest, run);
	return true;
}

void uvmpi_victim_keep_unit(struct uvmp_service *s, struct eviction *e)
{
	uvmp_mask_and(&e->held, &e->held,
		      &uvmpi_residency_find(s, block_at(s, e->block), e->gpu)->resident);
	uvmpi_memory_used(s, e->gpu, e->block, &e->held, false);
}

/* Ahead, units leave until there is the room that is wanted. */
void uvmpi_victim_finish_unit(struct uvmp_service *s, struct eviction *e)
{
	if (uvmpi_units_have_room(&s->gpu[e->gpu], e->room) || !uvmpi_victim_choose_unit(s, e, e->gpu))
		return;
	e->phase = EVICT_NEXT;
	e->blocks = 0;
}

bool uvmpi_victim_is_large_unit(const struct uvmp_service *s, const struct eviction *e)
{
	return is_large(e, &s->gpu[e->gpu]);
}
