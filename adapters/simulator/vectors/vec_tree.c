/* Kind "tree": shapes of the density prefetcher's trees.
 *
 *   tree n=5          => levels=4 nodes=11 pow2=8 at=1,2,3,5
 *   tree n=5 leaf=4   => ranges=4:1:4,4:1:7,4:1:9,0:5:10
 *
 * The first form lists the nodes of each level from the root down, the second the nodes above one leaf from
 * the leaf up, each as first leaf, number of leaves and index in storage order. Which form it is depends on
 * whether a second word follows.
 */
#include "vec_kind.h"
#include "reference/tree_shape.h"

static void print_shape(const struct tree_shape *shape, struct vec_out *out)
{
	vec_printf(out, "=> levels=%u nodes=%u pow2=%u at=", shape->levels, shape->nodes, shape->pow2);
	for (uint32_t level = 0; level < shape->levels; level++)
		vec_printf(out, "%s%u", level == 0 ? "" : ",", tree_shape_level_nodes(shape, level));
	vec_printf(out, "\n");
}

static void print_branch(const struct tree_shape *shape, uint32_t leaf, struct vec_out *out)
{
	struct tree_branch branch;

	vec_printf(out, "=> ranges=");
	for (uint32_t level = shape->levels; level-- > 0;) {
		if (tree_shape_branch(shape, leaf, level, &branch) != UVMP_OK)
			return; /* cannot be: leaf and level come from the shape */
		vec_printf(out, "%u:%u:%u%s", branch.first, branch.leaves, branch.node,
		           level == 0 ? "\n" : ",");
	}
}

static void tree_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	uint32_t leaves = (uint32_t)vec_number(args, "n", 1, TREE_LEAVES_MAX);
	bool has_leaf = !args->failed && args->words != NULL && args->words[0] != '\0';
	uint32_t leaf = has_leaf ? (uint32_t)vec_number(args, "leaf", 0, leaves - 1u) : 0;
	struct tree_shape shape;

	(void)state;
	(void)word;
	if (args->failed || tree_shape_init(leaves, &shape) != UVMP_OK)
		return;
	if (has_leaf)
		print_branch(&shape, leaf, out);
	else
		print_shape(&shape, out);
}

const struct vec_kind vec_tree = {.name = "tree", .line = tree_line};
