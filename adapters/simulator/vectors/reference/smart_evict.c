/* One eviction of UVM Smart [uvmsmart: evictable, eviction-trigger, victim-selection, write-back], and the
 * state that it works on.
 *
 * The list is sorted, its cold end is passed over as far as the reserve reaches, the policy's rule names
 * victims in one tree, and each run of them becomes a range at the end of the queue. A range is an
 * invalidation if the entry that holds its first page says "only read" at that moment; then, page by page,
 * the first entry that holds the page leaves the list. Ranges are treated one after the other: an entry that
 * went with the first range has nothing to say about the second.
 *
 * Without quirks a range is an invalidation if the entries of all its pages say so, and all ranges are
 * judged before any entry leaves: the entry of a tree with holes speaks for all runs of the tree, and a run
 * of several blocks is only read if each of them is. */
#include "base/bits_internal.h"
#include "smart_evict_internal.h"

/* Bytes of memory per page (its entry, scratch for one, a range, its place in the index), and per tree. */
enum {
	PAGE_BYTES = 2 * sizeof(struct smart_entry) + sizeof(struct smart_range) + sizeof(uint32_t),
	TREE_BYTES = sizeof(struct smart_tree) + sizeof(uint32_t)
};

static bool is_evictor(enum smart_evictor evictor)
{
	return (uint32_t)evictor < SMART_EVICTORS;
}

/* -- state -- */

size_t smart_evict_size(uint32_t trees, uint32_t pages)
{
	uint64_t bytes = (uint64_t)trees * TREE_BYTES + (uint64_t)pages * PAGE_BYTES +
	                 pages / UVMP_BASIC_BLOCK_PAGES * sizeof(uint32_t);

	if (trees == 0 || trees > SMART_TREES_MAX || pages == 0 || pages > SMART_PAGES_MAX)
		return 0;
	return (size_t)bytes * ((size_t)bytes == bytes);
}

enum uvmp_status smart_evict_init(struct smart_evict *evict, enum smart_evictor evictor, uint64_t total,
                                  uint32_t trees, uint32_t pages, void *memory, size_t bytes)
{
	size_t wanted = smart_evict_size(trees, pages);

	if (evict == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0)
		return UVMP_ERR_ARGUMENT;
	if (!is_evictor(evictor) || wanted == 0)
		return UVMP_ERR_RANGE;
	if (bytes < wanted)
		return UVMP_ERR_SPACE;
	*evict = (struct smart_evict){.evictor = evictor,
	                              .quirks = true,
	                              .total = total,
	                              .free = total,
	                              .trees_max = trees,
	                              .pages_max = pages};
	evict->tree = memory;
	evict->entry = (void *)(evict->tree + trees);
	evict->scratch = evict->entry + pages;
	evict->queue = (void *)(evict->scratch + pages);
	evict->index = (void *)(evict->queue + pages);
	return UVMP_OK;
}

bool smart_evict_is_valid(const struct smart_evict *evict)
{
	return evict != NULL && is_evictor(evict->evictor) && evict->reserve_percent <= 100u &&
	       evict->tree != NULL && evict->entry != NULL && evict->scratch != NULL &&
	       evict->queue != NULL && evict->index != NULL && evict->trees <= evict->trees_max &&
	       evict->pages <= evict->pages_max && evict->entries <= evict->pages &&
	       evict->queued <= evict->pages;
}

enum uvmp_status smart_evict_add_tree(struct smart_evict *evict, uint32_t blocks)
{
	struct smart_tree tree = {0};

	if (!smart_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (uvmp_tree_init(&tree.fill, blocks) != UVMP_OK)
		return UVMP_ERR_RANGE;
	if (evict->trees == evict->trees_max ||
	    blocks * UVMP_BASIC_BLOCK_PAGES > evict->pages_max - evict->pages)
		return UVMP_ERR_SPACE;
	tree.first = evict->pages;
	evict->tree[evict->trees++] = tree;
	evict->pages += blocks * UVMP_BASIC_BLOCK_PAGES;
	for (uint32_t page = 0; page < blocks * UVMP_BASIC_BLOCK_PAGES; page++) {
		*smart_slot(evict, evict->trees - 1u, page, 1) = SMART_NO_ENTRY;
		*smart_slot(evict, evict->trees - 1u, page, UVMP_BASIC_BLOCK_PAGES) = SMART_NO_ENTRY;
	}
	*smart_slot(evict, evict->trees - 1u, 0, UVMP_MASK_BITS) = SMART_NO_ENTRY;
	return UVMP_OK;
}

enum uvmp_status smart_evict_switch(struct smart_evict *evict, enum smart_evictor evictor)
{
	if (!smart_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (!is_evictor(evictor))
		return UVMP_ERR_RANGE;
	evict->evictor = evictor;
	if (!evict->quirks)
		smart_list_rebuild(evict);
	return UVMP_OK;
}

enum uvmp_status smart_evict_order(struct smart_evict *evict)
{
	if (!smart_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	smart_list_sort(evict);
	return UVMP_OK;
}

/* -- choosing -- */

static bool is_only_read(const struct smart_evict *e, uint32_t tree, struct uvmp_region pages)
{
	uint32_t end = e->quirks ? pages.first + 1u : pages.end;

	for (uint32_t page = pages.first; page < end; page++) {
		uint32_t entry = smart_list_find(e, tree, page);

		if (entry == e->entries || e->entry[entry].rw != UVMP_COUNTER_READ)
			return false;
	}
	return true;
}

static void stage(struct smart_evict *e, uint32_t tree, struct uvmp_region pages)
{
	e->queue[e->queued++] = (struct smart_range){
	        tree, pages, is_only_read(e, tree, pages) ? SMART_INVALIDATE : SMART_WRITEBACK};
	uvmp_mask_region_set(&e->tree[tree].staged, pages);
	if (e->quirks)
		smart_list_remove(e, tree, pages);
}

/* Each run of the victims becomes a range; returns how many there are. */
static uint32_t stage_all(struct smart_evict *e, const struct smart_victims *victims)
{
	uint32_t before = e->queued;

	for (struct uvmp_region run = uvmp_mask_next_run(&victims->pages, 0); run.end != 0;
	     run = uvmp_mask_next_run(&victims->pages, run.end))
		stage(e, victims->tree, run);
	for (uint32_t i = before; !e->quirks && i < e->queued; i++)
		smart_list_remove(e, victims->tree, e->queue[i].pages);
	return e->queued - before;
}

enum uvmp_status smart_evict_select(struct smart_evict *evict, uint64_t *random, struct smart_choice *choice)
{
	struct smart_victims victims = {0};
	struct smart_evict *e = evict;
	uint32_t skip;

	if (!smart_evict_is_valid(evict) || choice == NULL ||
	    (random == NULL && evict->evictor == SMART_RANDOM_4K))
		return UVMP_ERR_ARGUMENT;
	smart_list_sort(e);
	skip = percent_as_float(e->entries, e->reserve_percent);
	switch (e->evictor) {
	default:
	case SMART_LRU_2M:
	case SMART_LFU_2M:
		smart_victims_large(e, skip, &victims);
		break;
	case SMART_TBN:
		smart_victims_tbn(e, skip, &victims);
		break;
	case SMART_SL:
		smart_victims_sl(e, skip, &victims);
		break;
	case SMART_RANDOM_4K:
		smart_victims_random4k(e, skip, random, &victims);
		break;
	case SMART_LRU_4K:
		smart_victims_lru4k(e, skip, &victims);
		break;
	}
	*choice = (struct smart_choice){stage_all(e, &victims), victims.tree, victims.first};
	return UVMP_OK;
}
