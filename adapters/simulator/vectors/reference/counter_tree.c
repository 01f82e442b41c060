/* Sets words of an access counter tree. A level of k nodes is stored after the k - 1 nodes above it. */
#include "counter_tree.h"

#include "base/bits_internal.h"

enum uvmp_status counter_tree_set_word(struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks,
				       uint32_t word)
{
	if (!uvmp_counter_tree_is_valid(tree))
		return UVMP_ERR_ARGUMENT;
	if (!is_power_of_two(blocks) || blocks > tree->blocks || first >= tree->blocks || first % blocks != 0)
		return UVMP_ERR_RANGE;
	tree->node[(tree->blocks + first) / blocks - 1u] = word;
	return UVMP_OK;
}

enum uvmp_status counter_tree_set(struct uvmp_counter_tree *tree, uint32_t block, uint32_t count,
				  uint32_t rounds)
{
	if (uvmp_counter_tree_is_valid(tree) &&
	    (count > UVMP_COUNTER_COUNT_MAX || rounds > UVMP_COUNTER_ROUNDS_MAX))
		return UVMP_ERR_RANGE;
	return counter_tree_set_word(tree, block, 1, rounds * (UVMP_COUNTER_COUNT_MAX + 1u) + count);
}
