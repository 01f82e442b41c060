/* Functions of tree.h without checks, for callers whose trees and pages are valid. */
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

#endif
