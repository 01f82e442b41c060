/* Functions of tree.h without checks, for callers whose trees and pages are valid.
 *
 * Node numbers plus one: the root is 1, the children of n are 2n and 2n + 1, the leaf of block b is blocks + b. */
#ifndef UVMPOLICY_TREE_INTERNAL_H
#define UVMPOLICY_TREE_INTERNAL_H

#include "bits_internal.h"
#include "uvmpolicy/tree.h"

static inline bool uvmpi_is_tree_size(uint32_t blocks)
{
	return is_power_of_two(blocks) && blocks <= UVMP_TREE_BLOCKS_MAX;
}

static inline bool uvmpi_tree_is_valid(const struct uvmp_tree *tree)
{
	return uvmpi_is_tree_size(tree->blocks);
}

/* The leaf of a block of the tree. */
static inline uint32_t *uvmpi_tree_leaf(struct uvmp_tree *tree, uint32_t block)
{
	return &tree->node[tree->blocks - 1u + block];
}

/* Node i becomes the sum of its children. Returns the node. */
static inline uint32_t *uvmpi_tree_sum(struct uvmp_tree *tree, uint32_t i)
{
	tree->node[i] = tree->node[2u * i + 1u] + tree->node[2u * i + 2u];
	return &tree->node[i];
}

/* uvmp_tree_recompute. The tree of 2 MiB is the usual one; its loop is unrolled. */
static inline void uvmpi_tree_recompute(struct uvmp_tree *tree)
{
	if (tree->blocks == UVMP_TREE_BLOCKS_MAX) {
		_Pragma("GCC unroll 31") for (uint32_t i = UVMP_TREE_BLOCKS_MAX - 1u; i-- > 0;)
			(void)uvmpi_tree_sum(tree, i);
		return;
	}
	for (uint32_t i = tree->blocks - 1u; i-- > 0;)
		(void)uvmpi_tree_sum(tree, i);
}

/* uvmp_tree_add with quirks, to a block of the tree: each node on the path that is not full gains the pages. */
static inline void uvmpi_tree_add(struct uvmp_tree *tree, uint32_t block, uint32_t pages)
{
	uint32_t size = UVMP_BASIC_BLOCK_PAGES;

	for (uint32_t i = tree->blocks + block; i != 0; i /= 2u, size *= 2u)
		if (tree->node[i - 1u] != size)
			tree->node[i - 1u] += pages;
}

#endif
