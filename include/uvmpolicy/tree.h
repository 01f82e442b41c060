/* tree.h: occupancy of each subtree of basic blocks.
 *
 * The state of the tree-based policies of UVM Smart [uvmsmart: trees, tree-updates]: a perfect binary
 * tree over 1..32 basic blocks (64 KiB, 16 pages of 4 KiB), each node holding the pages below it that are
 * resident or requested. The tree-based prefetcher (prefetch.h) fills it, the tree-based eviction empties
 * it.
 *
 * Quirks reproduced by default: [uvmsmart: ancestors-pass-full, partial-leaf-grows] (adding and removing test
 * "equal to full" and "equal to zero", nothing is clamped: a node can pass its size or wrap below zero).
 */
#ifndef UVMPOLICY_TREE_H
#define UVMPOLICY_TREE_H

#include "base.h"
#include "mask.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_BASIC_BLOCK_PAGES 16u
#define UVMP_TREE_BLOCKS_MAX   32u
#define UVMP_TREE_NODES_MAX    63u

/* node[0] is the root, the children of node[i] are node[2i+1] and node[2i+2], the leaf of block b is
 * node[blocks-1+b]. Values are pages modulo 2^32 (below zero wraps). */
struct uvmp_tree {
	uint32_t blocks; /* 1, 2, 4, 8, 16 or 32 */
	uint32_t node[UVMP_TREE_NODES_MAX];
};

/* Makes an empty tree. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: blocks is not one of 1, 2, 4, 8, 16, 32. */
UVMP_API enum uvmp_status uvmp_tree_init(struct uvmp_tree *tree, uint32_t blocks);
UVMP_API bool uvmp_tree_is_valid(const struct uvmp_tree *tree);

/* All functions below treat a tree that is NULL or not valid as a tree without blocks. */

/* Value of the leaf of a block, in pages; 0 for a block outside the tree. */
UVMP_API uint32_t uvmp_tree_leaf(const struct uvmp_tree *tree, uint32_t block);

/* Sets one leaf and nothing else (inner nodes: uvmp_tree_recompute). No effect outside the tree. */
UVMP_API void uvmp_tree_set_leaf(struct uvmp_tree *tree, uint32_t block, uint32_t pages);

/* From the root to the leaf of `page`: each node that is not full gains `pages` [uvmsmart: tree-updates];
 * without quirks the leaf is clamped at 16 and the nodes above it become the sums of their children. No
 * effect for a page outside the tree. */
UVMP_API void uvmp_tree_add(struct uvmp_tree *tree, uint32_t page, uint32_t pages, bool quirks);

/* Likewise each node that is not 0 loses `pages`; without quirks the leaf is clamped at 0. */
UVMP_API void uvmp_tree_sub(struct uvmp_tree *tree, uint32_t page, uint32_t pages, bool quirks);

/* Every inner node becomes the sum of its children. */
UVMP_API void uvmp_tree_recompute(struct uvmp_tree *tree);

/* Every leaf becomes the number of its pages in `pages` (NULL: no effect), every inner node the sum of its
 * children. */
UVMP_API void uvmp_tree_assign(struct uvmp_tree *tree, const uvmp_mask *pages);

#ifdef __cplusplus
}
#endif
#endif
