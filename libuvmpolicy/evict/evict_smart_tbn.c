/* TBNe of UVM Smart (uvm-smart specification, 3.4, policy 1), the mirror of the tree-based prefetcher: the
 * first victim is that of SL, and then its tree is balanced. Bottom up, each inner node becomes the sum of
 * its children, and one that holds something but less than half loses every block below it that is full and
 * may leave. Exactly half stays. The recency of those blocks is not looked at, and the pass covers the whole
 * tree.
 *
 * A node looks at its own subtree only, so any order that has children before their parents gives the same as
 * the post-order of the specification: here level by level. What a drop changes is either below the node or
 * not judged yet, so all sums can be renewed after it. */
#include "evict_smart_internal.h"

/* Takes the full ones of the leaves [first, outer) that may go, and returns them as a set. */
static uint32_t drop(struct uvmp_tree *tree, uint32_t first, uint32_t outer, uint32_t evictable)
{
	uint32_t dropped = 0;

	for (uint32_t b = first; b < outer; b++) {
		if (uvmp_tree_leaf(tree, b) != UVMP_BASIC_BLOCK_PAGES || (evictable >> b & 1u) == 0)
			continue;
		uvmp_tree_set_leaf(tree, b, 0);
		dropped |= (uint32_t)1 << b;
	}
	uvmp_tree_recompute(tree);
	return dropped;
}

uint32_t uvmp_smart_evict_closure(struct uvmp_tree *tree, uint32_t evictable)
{
	uint32_t dropped = 0;

	if (!uvmp_tree_is_valid(tree))
		return 0;
	uvmp_tree_recompute(tree);
	for (uint32_t leaves = 2; leaves <= tree->blocks; leaves *= 2u)
		for (uint32_t first = 0; first < tree->blocks; first += leaves) {
			uint32_t value = tree->node[(tree->blocks + first) / leaves - 1u];

			if (value != 0 && value < leaves * UVMP_BASIC_BLOCK_PAGES / 2u)
				dropped |= drop(tree, first, first + leaves, evictable);
		}
	return dropped;
}

static uint32_t evictable_blocks(const struct uvmp_smart_tree *tree)
{
	uint32_t blocks = 0;

	for (uint32_t b = 0; b < tree->fill.blocks; b++)
		if (uvmp_smart_is_evictable(tree, smart_block_region(b * UVMP_BASIC_BLOCK_PAGES)))
			blocks |= (uint32_t)1 << b;
	return blocks;
}

void uvmp_smart_victims_tbn(struct uvmp_smart_evict *e, uint32_t skip, struct uvmp_smart_victims *victims)
{
	struct uvmp_smart_tree *tree;
	uint32_t dropped;

	uvmp_smart_victims_sl(e, skip, victims);
	if (uvmp_mask_is_empty(&victims->pages))
		return;
	tree = &e->tree[victims->tree];
	dropped = uvmp_smart_evict_closure(&tree->fill, evictable_blocks(tree));
	for (uint32_t b = 0; b < tree->fill.blocks; b++)
		if ((dropped >> b & 1u) != 0)
			uvmp_mask_region_set(&victims->pages, smart_block_region(b * UVMP_BASIC_BLOCK_PAGES));
}
