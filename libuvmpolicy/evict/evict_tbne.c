/* TBNe ([uvmsmart: eviction-list, victim-selection], policy 1), the mirror of the tree-based prefetcher. The
 * first victim is the victim of sl64k; then the closure balances the tree of the victim. Bottom up, each
 * inner node becomes the sum of its children. A node that holds pages but is less than half full loses every
 * full, evictable block below it. A node that is exactly half full keeps its blocks. The recency of the
 * blocks is ignored, and the pass covers the whole tree.
 *
 * A node depends on its own subtree only, so each order that visits children before their parents gives the
 * result of the specification's post-order. This file goes level by level. A drop changes nodes below the
 * judged node, and nodes that are judged later, so all sums can be renewed after the drop. As a rule each basic block is
 * empty or full; then full blocks are counted in lanes of a word, for all nodes of a level at once. */
#include "../base/tree_internal.h"
#include "grouped_internal.h"

/* Empties the full leaves below a node over `leaves` blocks from `first` on that are evictable. Returns them as a set. */
static UVMPI_NOINLINE uint32_t drop(struct uvmp_tree *tree, uint32_t first, uint32_t leaves, uint32_t evictable)
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

/* Sums up and judges all nodes, children before their parents. A drop changes the sum of its node; the nodes below are summed
 * up again behind the pass. */
static UVMPI_NOINLINE uint32_t drop_nodes(struct uvmp_tree *tree, uint32_t evictable)
{
	uint32_t dropped = 0, more, leaves = 2, half = UVMP_BASIC_BLOCK_PAGES;

	for (uint32_t nodes = tree->blocks / 2u; nodes != 0; nodes /= 2u, leaves *= 2u, half *= 2u)
		for (uint32_t n = 0; n < nodes; n++) {
			uint32_t *value = uvmpi_tree_sum(tree, nodes - 1u + n);

			if (*value != 0 && *value < half) {
				more = drop(tree, n * leaves, leaves, evictable);
				*value -= popcount(more) * UVMP_BASIC_BLOCK_PAGES;
				dropped |= more;
			}
		}
	uvmpi_tree_recompute(tree);
	return dropped;
}

/* The same for a tree of 2 MiB of which all basic blocks but `full` are empty. A node loses blocks if some of its blocks are
 * full, but less than half. Of two blocks there would have to be less than one. */
static inline uint32_t drop_levels(struct uvmp_tree *tree, uint32_t full, uint32_t evictable)
{
	uint32_t before = full, counts = uvmpi_tree_pairs(full), dropped;
	uint32_t *leaf = &tree->node[UVMP_TREE_BLOCKS_MAX - 1u];

	_Pragma("GCC unroll 4") for (uint32_t leaves = 4; leaves <= UVMP_TREE_BLOCKS_MAX; leaves *= 2u)
	{
		uint32_t lanes = uvmpi_tree_lanes(leaves), sparse;

		counts = uvmpi_tree_add_halves(counts, leaves);
		sparse = ((counts + (leaves - 1u) * lanes) & ~(counts + leaves / 2u * lanes)) / leaves & lanes;
		dropped = full & evictable & uvmpi_tree_blocks_of(sparse, leaves);
		if (dropped != 0) {
			full &= ~dropped;
			counts = uvmpi_tree_pairs(full);
			_Pragma("GCC unroll 4") for (uint32_t n = 4; n <= leaves; n *= 2u)
				counts = uvmpi_tree_add_halves(counts, n);
		}
	}
	dropped = before & ~full;
	for (uint32_t left = dropped; left != 0; left &= left - 1u)
		leaf[lowest_bit(left)] = 0;
	uvmpi_tree_sum_all(tree);
	return dropped;
}

uint32_t uvmp_evict_tbn_closure(struct uvmp_tree *tree, uint32_t evictable)
{
	uint32_t full;

	if (tree == NULL || !uvmpi_tree_is_valid(tree))
		return 0;
	if (uvmpi_tree_full_blocks(tree, &full))
		return drop_levels(tree, full, evictable);
	return drop_nodes(tree, evictable);
}

const struct eviction_order uvmpi_order_tbne = {
	.name = "tbne",
	.summary = "as sl64k, and the full basic blocks of subtrees left less than half full (UVM Smart)",
	.traits = {.unit_pages = 16, .has_reserve = true, .has_tree = true, .spares_incomplete = true},
	.state_bytes = GROUPED_STATE_BYTES,
	.unit_bytes = GROUPED_UNIT_BYTES,
	.group_bytes = GROUPED_GROUP_BYTES,
	EVICT_FUNCTIONS(uvmpi_by_group_init, uvmpi_by_group_move, uvmpi_by_group_is_valid, uvmpi_by_group_contains,
			uvmpi_by_group_touch, uvmpi_by_group_remove, uvmpi_by_group_victim, uvmpi_by_group_next),
	.enter = uvmpi_by_group_enter,
	.remove_set = uvmpi_by_group_remove_set,
	.forget = uvmpi_by_group_forget,
	.spare = uvmpi_by_group_spare,
	.closure = uvmp_evict_tbn_closure,
};
