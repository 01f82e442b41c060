/* tree_shape.h: the tree over n leaves of the density prefetcher [driver: tree-geometry], with the storage order of
 * the driver. A reference for the vectors: libuvmpolicy/prefetch/prefetch_density.c needs no stored tree. */
#ifndef UVMSIM_TREE_SHAPE_H
#define UVMSIM_TREE_SHAPE_H

#include "uvmpolicy/base.h"

#define TREE_LEAVES_MAX (1u << 24)

/* Level 0 is the root, levels-1 the leaves. Storage order: leaves first, then each parent level, root
 * last. (A struct uvmp_tree, tree.h, is something else: fill states of UVM Smart, root first.) */
struct tree_shape {
	uint32_t leaves; /* 1..TREE_LEAVES_MAX */
	uint32_t pow2;	 /* leaves rounded up to a power of two */
	uint32_t levels; /* log2(pow2) + 1 */
	uint32_t nodes;	 /* leaves + ceil(leaves/2) + ... + 1 */
};

/* The node above (or at) one leaf on one level. */
struct tree_branch {
	uint32_t first;	 /* first leaf below the node */
	uint32_t leaves; /* leaves below it; the last node of a level may have fewer than 2^height */
	uint32_t node;	 /* index in storage order */
};

/* UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: leaves is 0 or above the maximum. */
enum uvmp_status tree_shape_init(uint32_t leaves, struct tree_shape *shape);
/* Nodes on a level; 0 outside 0..levels-1 and, as the next one, for what is no shape: leaves, pow2 and levels
 * that do not belong together (`nodes` is not recounted). */
uint32_t tree_shape_level_nodes(const struct tree_shape *shape, uint32_t level);
/* Storage index of a level's first node; `nodes` outside 0..levels-1. */
uint32_t tree_shape_level_offset(const struct tree_shape *shape, uint32_t level);
/* UVMP_ERR_ARGUMENT: NULL, or not a shape. UVMP_ERR_RANGE: leaf or level outside the tree. */
enum uvmp_status tree_shape_branch(const struct tree_shape *shape, uint32_t leaf, uint32_t level,
				   struct tree_branch *branch);

#endif
