/* Functions of tree.h without checks, for callers whose trees and pages are valid.
 *
 * Node numbers plus one: the root is 1, the children of n are 2n and 2n + 1, the leaf of block b is blocks + b. */
#ifndef UVMPOLICY_TREE_INTERNAL_H
#define UVMPOLICY_TREE_INTERNAL_H

#include "bits_internal.h"
#include "uvmpolicy/tree.h"

static inline bool uvmpi_is_tree_size(uint32_t blocks)
{
	return blocks - 1u < UVMP_TREE_BLOCKS_MAX && (blocks & (blocks - 1u)) == 0;
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

/* All inner nodes of a tree of 2 MiB become sums: subtree by subtree of 8 blocks, so that few sums are in registers at a time. */
static inline void uvmpi_tree_sum_all(struct uvmp_tree *tree)
{
	_Pragma("GCC unroll 4") for (uint32_t top = 3; top < 7; top++)
	{
		_Pragma("GCC unroll 4") for (uint32_t i = 0; i < 4; i++)
			(void)uvmpi_tree_sum(tree, 4u * top + 3u + i);
		(void)uvmpi_tree_sum(tree, 2u * top + 1u);
		(void)uvmpi_tree_sum(tree, 2u * top + 2u);
		(void)uvmpi_tree_sum(tree, top);
	}
	(void)uvmpi_tree_sum(tree, 1);
	(void)uvmpi_tree_sum(tree, 2);
	(void)uvmpi_tree_sum(tree, 0);
}

/* uvmp_tree_recompute. The tree of 2 MiB is the usual one. */
static inline void uvmpi_tree_recompute(struct uvmp_tree *tree)
{
	if (tree->blocks == UVMP_TREE_BLOCKS_MAX) {
		uvmpi_tree_sum_all(tree);
		return;
	}
	for (uint32_t i = tree->blocks - 1u; i-- > 0;)
		(void)uvmpi_tree_sum(tree, i);
}

/* -- trees of 2 MiB whose basic blocks are empty or full: sets of basic blocks, counts in lanes -- */

/* *full = the full blocks. Returns whether all others are empty. Out of line: else the compiler keeps all leaves on the stack. */
bool uvmpi_tree_full_blocks(const struct uvmp_tree *tree, uint32_t *full);

/* Bit 0 of each `leaves` bits, 4 to 32. */
static inline uint32_t uvmpi_tree_lanes(uint32_t leaves)
{
	return leaves == 4u ? 0x11111111u : leaves == 8u ? 0x01010101u : leaves == 16u ? 0x00010001u : 1u;
}

/* All blocks of the nodes over `leaves` blocks whose first block is in `nodes`. */
static inline uint32_t uvmpi_tree_blocks_of(uint32_t nodes, uint32_t leaves)
{
	return nodes * (uint32_t)(((uint64_t)1 << leaves) - 1u);
}

/* Full blocks below each node over `leaves` blocks, in as many bits each, from the counts below its halves; the halves of nodes
 * over 4 blocks have 2 bits. */
static inline uint32_t uvmpi_tree_add_halves(uint32_t counts, uint32_t leaves)
{
	uint32_t half = leaves / 2u, lower = uvmpi_tree_blocks_of(uvmpi_tree_lanes(leaves), half);

	return (counts & lower) + (counts >> half & lower);
}

/* Full blocks of each pair, in 2 bits each. */
static inline uint32_t uvmpi_tree_pairs(uint32_t full)
{
	return full - (full >> 1 & 0x55555555u);
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
