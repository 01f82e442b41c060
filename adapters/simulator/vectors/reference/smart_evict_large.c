/* LRU 2 MiB and LFU 2 MiB of UVM Smart ([uvmsmart: victim-selection], policies 0 and 4): the first entry of
 * the list that may leave takes its whole tree with it. The two differ in the order of the list only.
 *
 * A new entry is a whole tree, so a tree of which one page is missing never leaves
 * [uvmsmart: incomplete-tree-stays]. An entry from a time of smaller units is asked for its own pages, but
 * its tree leaves all the same, pages that are not resident included [uvmsmart: stale-list-units]. Without
 * quirks what is resident of the entry's tree leaves, unless a page of the tree is pinned. */
#include "smart_evict_internal.h"

static bool find_resident(const struct smart_evict *e, uint32_t from, struct smart_victims *victims)
{
	for (uint32_t i = from; i < e->entries; i++) {
		const struct smart_tree *tree = &e->tree[e->entry[i].tree];

		victims->tree = e->entry[i].tree;
		victims->first = e->entry[i].first;
		uvmp_mask_andnot(&victims->pages, &tree->valid, &tree->staged);
		if (!uvmp_mask_is_empty(&victims->pages) && uvmp_mask_is_empty(&tree->pinned))
			return true;
	}
	uvmp_mask_zero(&victims->pages);
	return false;
}

static void take_resident(struct smart_evict *e, const struct smart_victims *victims)
{
	for (uint32_t page = uvmp_mask_next_set(&victims->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&victims->pages, page + 1u))
		uvmp_tree_sub(&e->tree[victims->tree].fill, page, 1, false);
}

void smart_victims_large(struct smart_evict *e, uint32_t skip, struct smart_victims *victims)
{
	struct uvmp_tree *fill;
	uint32_t i;

	if (!e->quirks) {
		if (find_resident(e, skip, victims))
			take_resident(e, victims);
		return;
	}
	i = smart_find_evictable(e, skip);
	if (i == e->entries)
		return;
	victims->tree = e->entry[i].tree;
	victims->first = e->entry[i].first;
	fill = &e->tree[victims->tree].fill;
	uvmp_mask_region_set(&victims->pages, (struct uvmp_region){0, fill->blocks * UVMP_BASIC_BLOCK_PAGES});
	(void)uvmp_tree_init(fill, fill->blocks);
}
