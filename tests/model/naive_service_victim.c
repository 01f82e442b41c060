/* Page-wise orders of the naive model [uvmsmart: eviction-list, evictable, victim-selection]: which unit is evicted? */
#include "naive_service_internal.h"

#include <stdlib.h>

#include "naive_withdraw.h"

static bool is_unit_there(const struct gpu *g, const struct block *b, uint32_t gpu, uint32_t first)
{
	for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++)
		if (is_on(b, i, gpu))
			return true;
	return false;
}

/* What the order compares: the group's newest touch before the own one, or the number of touches. */
static void set_key(const struct naive_service *n, uint32_t gpu, struct unit *unit)
{
	const struct gpu *g = &n->gpu[gpu];
	struct block *b = unit->block;

	unit->key[0] = 0;
	unit->key[1] = b->touch[gpu][unit->first / g->unit_pages];
	unit->key[2] = b->entry[gpu][unit->first / g->unit_pages];
	if (n->policy.evict == UVMP_EVICT_LFU_2M)
		unit->key[0] = b->touches[gpu][unit->first / g->unit_pages];
	if (n->policy.evict != UVMP_EVICT_SL_64K && n->policy.evict != UVMP_EVICT_TBN)
		return;
	for (uint32_t first = 0; first < b->pages; first += g->unit_pages)
		if (is_unit_there(g, b, gpu, first) && b->touch[gpu][first / g->unit_pages] > unit->key[0])
			unit->key[0] = b->touch[gpu][first / g->unit_pages];
}

static int compare_units(const void *x, const void *y)
{
	const struct unit *a = x, *b = y;
	int k = 0;

	while (k < 2 && a->key[k] == b->key[k])
		k++;
	return a->key[k] < b->key[k] ? -1 : a->key[k] > b->key[k];
}

/* The list, sorted. */
static uint32_t sort_units(const struct naive_service *n, uint32_t gpu, struct unit *unit)
{
	uint32_t units = 0;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages;
		     i += n->gpu[gpu].unit_pages)
			if (is_unit_there(&n->gpu[gpu], n->block[k], gpu, i)) {
				unit[units] = (struct unit){.block = n->block[k], .first = i};
				set_key(n, gpu, &unit[units++]);
			}
	qsort(unit, units, sizeof(*unit), compare_units);
	return units;
}

/* Do pages arrive in this part of the faulting block? A page may be evicted for other pages of its block. */
static bool is_unit_busy(const struct gpu *g, const struct block *b, const bool *want,
                         const struct unit *unit)
{
	if (b != unit->block || g->order_pages == 1)
		return false;
	for (uint32_t i = unit->first; i < unit->first + g->unit_pages; i++)
		if (want[i])
			return true;
	return g->order_pages == PAGES;
}

static bool is_complete(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	for (uint32_t i = unit->first; i < unit->block->pages && i < unit->first + n->gpu[gpu].unit_pages; i++)
		if (!is_on(unit->block, i, gpu))
			return false;
	return true;
}

/* [uvmsmart: evictable]: a basic block leaves only if all its pages are resident, and so does a unit of lfu2m
 * [uvmsmart: incomplete-tree-stays]. */
static bool is_spared(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	bool spares = n->policy.evict == UVMP_EVICT_SL_64K || n->policy.evict == UVMP_EVICT_TBN ||
	              n->policy.evict == UVMP_EVICT_LFU_2M;

	return spares && n->policy.quirks && !is_complete(n, gpu, unit);
}

/* [uvmsmart: evictable]: an access or a copy is under way. [uvmsmart: incomplete-tree-stays]: a unit of 2 MiB that was held
 * stays while a page of it is missing. */
static bool is_held(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	uint64_t until_ns;

	if (!naive_was_held(&n->holds, gpu, unit->block->number, unit->first / n->gpu[gpu].unit_pages, &until_ns))
		return false;
	return until_ns > n->now || (n->policy.quirks && n->gpu[gpu].order_pages == PAGES && !is_complete(n, gpu, unit));
}

/* TBNe: fill states of the tree's nodes, from the leaves up, and what is dropped. */
struct basic_block {
	uint32_t valid;
	bool may_leave, leaves;
};

static uint32_t sum(const struct basic_block *block, uint32_t first, uint32_t blocks)
{
	uint32_t pages = 0;

	for (uint32_t i = first; i < first + blocks; i++)
		pages += block[i].valid;
	return pages;
}

static void balance(struct basic_block *block, uint32_t first, uint32_t blocks)
{
	uint32_t pages;

	if (blocks == 1)
		return;
	balance(block, first, blocks / 2);
	balance(block, first + blocks / 2, blocks / 2);
	pages = sum(block, first, blocks);
	for (uint32_t i = first; i < first + blocks && pages != 0 && 2 * pages < 16 * blocks; i++)
		if (block[i].valid == 16 && block[i].may_leave) {
			block[i].valid = 0;
			block[i].leaves = true;
		}
}

void naive_take_closure(const struct naive_service *n, uint32_t gpu, const struct block *own, const bool *want,
                         const struct unit *unit, bool *rest)
{
	const struct gpu *g = &n->gpu[gpu];
	const struct block *b = unit->block;
	struct basic_block block[32] = {{0, false, false}};
	bool is_counted = n->policy.quirks && naive_has_tree(n) && b->has_tree; /* by the prefetcher */
	struct naive_tbn tree = b->tree;
	uint32_t blocks = 1;

	while (16 * blocks < b->pages)
		blocks *= 2;
	for (uint32_t k = 0; k < blocks; k++) {
		struct unit other = {.block = unit->block, .first = 16 * k};
		uint32_t here = 0;

		for (uint32_t i = 16 * k; i < b->pages && i < 16 * k + 16; i++) {
			here += is_on(b, i, gpu);
			block[k].valid += is_on(b, i, gpu) || (b == own && want[i]);
		}
		block[k].may_leave = here == 16 && !is_unit_busy(g, own, want, &other) && !is_held(n, gpu, &other);
		if (16 * k == unit->first)
			block[k].valid -= here;
		for (uint32_t i = 0; i < here && is_counted && 16 * k == unit->first; i++)
			naive_tbn_count(&tree, 16 * k, false);
		if (is_counted)
			block[k].valid = naive_tbn_leaf(&tree, k);
	}
	balance(block, 0, blocks);
	for (uint32_t i = 0; i < PAGES; i++)
		rest[i] = rest[i] || block[i / 16].leaves;
}

/* Which unit leaves, while these pages come to a block (NULL: none)? */
bool naive_choose_unit(const struct naive_service *n, uint32_t gpu, const struct block *b, const bool *want,
                        bool withdraws, struct unit *victim)
{
	struct unit *unit = malloc((size_t)NAIVE_BLOCKS * PAGES * sizeof(*unit));
	struct naive_candidate *list = malloc((size_t)NAIVE_BLOCKS * PAGES * sizeof(*list));
	uint32_t units = sort_units(n, gpu, unit), at;

	for (uint32_t i = 0; i < units; i++)
		list[i] = (struct naive_candidate){.is_own = is_unit_busy(&n->gpu[gpu], b, want, &unit[i]),
		                                   .is_spared = is_spared(n, gpu, &unit[i]),
		                                   .is_held = is_held(n, gpu, &unit[i])};
	at = naive_choose(list, units, units * n->policy.reserve / 100, withdraws);
	if (at != NAIVE_NO_UNIT)
		*victim = unit[at];
	free(list);
	free(unit);
	return at != NAIVE_NO_UNIT;
}
