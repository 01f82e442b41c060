/* Access counters of UVM Smart [uvmsmart: counter-register, access-counting, round-trips].
 *
 * Each node of a tree of basic blocks has a word. A leaf's word has 27 bits of accesses with 5 bits of round
 * trips above them; an inner node's word is a plain count. An access adds one to every word on its path, the
 * leaf last. If the leaf cannot count further, all counts of all trees are halved first, so that hot and cold
 * keep their order. The original compares the whole word, which never matches once there are round trips:
 * then the count overflows into them [uvmsmart: counter-overflow]. Round trips are counted on all leaves of a
 * tree when a part of the tree is written back.
 *
 * Reads and writes are recorded per block: a node was read or written if one of its blocks was. */
#include "uvmpolicy/counter.h"

#include "../base/bits_internal.h"

#define ROUND 0x8000000u /* one round trip */

static bool is_block_count(uint32_t blocks)
{
	return is_power_of_two(blocks) && blocks <= UVMP_TREE_BLOCKS_MAX;
}

enum uvmp_status uvmp_counter_tree_init(struct uvmp_counter_tree *tree, uint32_t blocks)
{
	if (tree == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!is_block_count(blocks))
		return UVMP_ERR_RANGE;
	tree->blocks = blocks;
	tree->blocks_read = tree->blocks_written = 0;
	for (uint32_t i = 0; i < UVMP_TREE_NODES_MAX; i++)
		tree->node[i] = 0;
	return UVMP_OK;
}

bool uvmp_counter_tree_is_valid(const struct uvmp_counter_tree *tree)
{
	return tree != NULL && is_block_count(tree->blocks);
}

/* Is there a node over [first, first + blocks)? A level's nodes start at multiples of their size. */
static bool has_node(const struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks)
{
	return uvmp_counter_tree_is_valid(tree) && is_power_of_two(blocks) && blocks <= tree->blocks &&
	       first < tree->blocks && first % blocks == 0;
}

/* A level of k nodes follows the k - 1 nodes above it. */
static uint32_t node_index(const struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks)
{
	return (tree->blocks + first) / blocks - 1u;
}

uint32_t uvmp_counter_tree_word(const struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks)
{
	return has_node(tree, first, blocks) ? tree->node[node_index(tree, first, blocks)] : 0;
}

uint32_t uvmp_counter_tree_count(const struct uvmp_counter_tree *tree, uint32_t block)
{
	return uvmp_counter_tree_word(tree, block, 1) & UVMP_COUNTER_COUNT_MAX;
}

uint32_t uvmp_counter_tree_rounds(const struct uvmp_counter_tree *tree, uint32_t block)
{
	return uvmp_counter_tree_word(tree, block, 1) / ROUND;
}

uint32_t uvmp_counter_tree_marks(const struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks)
{
	uint32_t own;

	if (!has_node(tree, first, blocks))
		return 0;
	own = (uint32_t)(((uint64_t)1 << blocks) - 1u) << first;
	return ((tree->blocks_read & own) != 0 ? UVMP_COUNTER_READ : 0) |
	       ((tree->blocks_written & own) != 0 ? UVMP_COUNTER_WRITTEN : 0);
}

void uvmp_counter_tree_clear_marks(struct uvmp_counter_tree *tree, uint32_t block)
{
	if (!has_node(tree, block, 1))
		return;
	tree->blocks_read &= ~((uint32_t)1 << block);
	tree->blocks_written &= ~((uint32_t)1 << block);
}

void uvmp_counter_tree_round_trip(struct uvmp_counter_tree *tree, bool quirks)
{
	if (!uvmp_counter_tree_is_valid(tree))
		return;
	for (uint32_t b = 0; b < tree->blocks; b++) {
		uint32_t *leaf = &tree->node[node_index(tree, b, 1)];

		if (quirks || *leaf / ROUND < UVMP_COUNTER_ROUNDS_MAX) /* [uvmsmart: counter-overflow] */
			*leaf += ROUND;
	}
}

static void halve(struct uvmp_counter_tree *tree)
{
	uint32_t leaves = tree->blocks - 1u;

	for (uint32_t i = 0; i < leaves; i++)
		tree->node[i] /= 2u;
	for (uint32_t i = leaves; i < leaves + tree->blocks; i++) {
		uint32_t count = tree->node[i] & UVMP_COUNTER_COUNT_MAX;

		tree->node[i] -= count - count / 2u;
	}
}

void uvmp_counter_halve(struct uvmp_counter_tree *trees, uint32_t count)
{
	for (uint32_t i = 0; trees != NULL && i < count; i++)
		if (uvmp_counter_tree_is_valid(&trees[i]))
			halve(&trees[i]);
}

/* [uvmsmart: counter-overflow]: the test is made on the whole word, or on its field. */
static bool is_saturated(uint32_t leaf, bool quirks)
{
	return (quirks ? leaf : leaf & UVMP_COUNTER_COUNT_MAX) == UVMP_COUNTER_COUNT_MAX;
}

enum uvmp_status uvmp_counter_record(struct uvmp_counter_tree *trees, uint32_t count,
                                     const struct uvmp_counter_access *access, bool quirks)
{
	struct uvmp_counter_tree *tree;
	uint32_t leaf;

	if (trees == NULL || access == NULL)
		return UVMP_ERR_ARGUMENT;
	if (access->tree >= count)
		return UVMP_ERR_RANGE;
	tree = &trees[access->tree];
	if (!uvmp_counter_tree_is_valid(tree))
		return UVMP_ERR_ARGUMENT;
	if (access->block >= tree->blocks)
		return UVMP_ERR_RANGE;
	if (access->is_retry && !quirks) /* [uvmsmart: retry-counted] */
		return UVMP_OK;
	*(access->is_write ? &tree->blocks_written : &tree->blocks_read) |= (uint32_t)1 << access->block;
	leaf = node_index(tree, access->block, 1);
	/* Node numbers plus one: halving walks to the root, which is 1. */
	for (uint32_t i = (leaf + 1u) / 2u; i != 0; i /= 2u)
		tree->node[i - 1u]++;
	if (is_saturated(tree->node[leaf], quirks))
		uvmp_counter_halve(trees, count);
	tree->node[leaf]++;
	return UVMP_OK;
}
