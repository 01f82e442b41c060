/* The shape of the density prefetcher's tree [driver: tree-geometry]. */
#include "tree_shape.h"

#include "base/bits_internal.h"

#define LEVELS_MAX 25u /* of a tree over TREE_LEAVES_MAX leaves */

/* Guards the shifts below against a structure that was not initialised. `nodes` is not recounted, because
 * counting costs more than the query. */
static bool is_tree(const struct tree_shape *shape)
{
	return shape != NULL && shape->levels - 1u < LEVELS_MAX &&
	       shape->pow2 == 1u << (shape->levels - 1u) && shape->leaves > shape->pow2 / 2u &&
	       shape->leaves <= shape->pow2;
}

enum uvmp_status tree_shape_init(uint32_t leaves, struct tree_shape *shape)
{
	struct tree_shape s = {leaves, 1, 1, 1};

	if (shape == NULL)
		return UVMP_ERR_ARGUMENT;
	if (leaves == 0 || leaves > TREE_LEAVES_MAX)
		return UVMP_ERR_RANGE;
	/* x is the width of the level above the one that is counted: leaves, ceil(leaves / 2), ..., 2,
	 * without the root. */
	for (uint32_t x = leaves; x > 1u; x -= x / 2u) {
		s.nodes += x;
		s.levels++;
		s.pow2 *= 2u;
	}
	*shape = s;
	return UVMP_OK;
}

uint32_t tree_shape_level_nodes(const struct tree_shape *shape, uint32_t level)
{
	if (!is_tree(shape) || level >= shape->levels)
		return 0;
	return (1u << level) - ((shape->pow2 - shape->leaves) >> (shape->levels - 1u - level));
}

uint32_t tree_shape_level_offset(const struct tree_shape *shape, uint32_t level)
{
	uint32_t offset = 0;

	if (!is_tree(shape))
		return 0;
	if (level >= shape->levels)
		return shape->nodes;
	for (uint32_t below = shape->levels - 1u; below > level; below--)
		offset += tree_shape_level_nodes(shape, below);
	return offset;
}

enum uvmp_status tree_shape_branch(const struct tree_shape *shape, uint32_t leaf, uint32_t level,
				   struct tree_branch *branch)
{
	uint32_t height;

	if (branch == NULL || !is_tree(shape))
		return UVMP_ERR_ARGUMENT;
	if (leaf >= shape->leaves || level >= shape->levels)
		return UVMP_ERR_RANGE;
	height = shape->levels - 1u - level;
	branch->first = leaf >> height << height;
	branch->leaves = minimum(1u << height, shape->leaves - branch->first);
	branch->node = tree_shape_level_offset(shape, level) + (leaf >> height);
	return UVMP_OK;
}
