/* TBNe ([uvmsmart: eviction-list, victim-selection], policy 1), the mirror of the tree-based prefetcher. The
 * first victim is the victim of sl64k; then the closure balances the tree of the victim. Bottom up, each
 * inner node becomes the sum of its children. A node that holds pages but is less than half full loses every
 * full, evictable block below it. A node that is exactly half full keeps its blocks. The recency of the
 * blocks is ignored, and the pass covers the whole tree.
 *
 * A node depends on its own subtree only, so each order that visits children before their parents gives the
 * result of the specification's post-order. This file goes level by level. A drop changes nodes below the
 * judged node, and nodes that are judged later, so all sums can be renewed after the drop. */
#include "../base/tree_internal.h"
#include "grouped_internal.h"

/* Empties the full leaves below a node over `leaves` blocks from `first` on that are evictable. Returns them as a set. */
static __attribute__((__noinline__)) uint32_t drop(struct uvmp_tree *tree, uint32_t first, uint32_t leaves, uint32_t evictable)
{
	uint32_t *leaf = uvmpi_tree_leaf(tree, first), dropped = 0;

	evictable >>= first;
	for (uint32_t b = 0; b < leaves; b++) {
		if (leaf[b] == UVMP_BASIC_BLOCK_PAGES && (evictable >> b & 1u) != 0) {
			leaf[b] = 0;
			dropped |= (uint32_t)1 << b;
		}
	}
	return dropped << first;
}

/* Sums up and judges all nodes of a tree of `blocks` blocks, children before their parents. A drop changes the sum of its
 * node; the nodes below are summed up again behind the pass. */
static inline __attribute__((always_inline)) uint32_t drop_sparse(struct uvmp_tree *tree, uint32_t blocks,
								  uint32_t evictable)
{
	uint32_t dropped = 0, more, leaves = 2, half = UVMP_BASIC_BLOCK_PAGES;

	_Pragma("GCC unroll 5") for (uint32_t nodes = blocks / 2u; nodes != 0; nodes /= 2u, leaves *= 2u, half *= 2u)
	{
		_Pragma("GCC unroll 16") for (uint32_t n = 0; n < nodes; n++)
		{
			uint32_t *value = uvmpi_tree_sum(tree, nodes - 1u + n);

			if (*value != 0 && *value < half) {
				more = drop(tree, n * leaves, leaves, evictable);
				*value -= popcount(more) * UVMP_BASIC_BLOCK_PAGES;
				dropped |= more;
			}
		}
	}
	if (dropped != 0)
		uvmpi_tree_recompute(tree);
	return dropped;
}

uint32_t uvmp_evict_tbn_closure(struct uvmp_tree *tree, uint32_t evictable)
{
	if (tree == NULL || !uvmpi_tree_is_valid(tree))
		return 0;
	if (tree->blocks == UVMP_TREE_BLOCKS_MAX)
		return drop_sparse(tree, UVMP_TREE_BLOCKS_MAX, evictable);
	return drop_sparse(tree, tree->blocks, evictable);
}

const struct eviction_order uvmpi_order_tbne = {
	.name = "tbne",
	.traits = {.unit_pages = 16, .has_reserve = true, .has_tree = true, .spares_incomplete = true},
	.state_bytes = GROUPED_STATE_BYTES,
	.unit_bytes = GROUPED_UNIT_BYTES,
	.group_bytes = GROUPED_GROUP_BYTES,
	.init = uvmpi_by_group_init,
	.is_valid = uvmpi_by_group_is_valid,
	.contains = uvmpi_by_group_contains,
	.touch = uvmpi_by_group_touch,
	.remove = uvmpi_by_group_remove,
	.forget = uvmpi_by_group_forget,
	.victim = uvmpi_by_group_victim,
	.next = uvmpi_by_group_next,
	.spare = uvmpi_by_group_spare,
	.closure = uvmp_evict_tbn_closure,
};
