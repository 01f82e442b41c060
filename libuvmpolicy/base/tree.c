/* A perfect binary tree kept in one array, level by level from the root. A page belongs to one leaf. A change
 * of a page changes the nodes between its leaf and the root, each independent of the others. The walk goes
 * upwards, because the parent of node i is node (i - 1) / 2; the direction makes no difference. */
#include "tree_internal.h"

static bool has_block(const struct uvmp_tree *tree, uint32_t block)
{
	return tree != NULL && uvmpi_tree_is_valid(tree) && block < tree->blocks;
}

enum uvmp_status uvmp_tree_init(struct uvmp_tree *tree, uint32_t blocks)
{
	if (tree == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!uvmpi_is_tree_size(blocks))
		return UVMP_ERR_RANGE;
	tree->blocks = blocks;
	for (uint32_t i = 0; i < UVMP_TREE_NODES_MAX; i++)
		tree->node[i] = 0;
	return UVMP_OK;
}

bool uvmp_tree_is_valid(const struct uvmp_tree *tree)
{
	return tree != NULL && uvmpi_tree_is_valid(tree);
}

uint32_t uvmp_tree_leaf(const struct uvmp_tree *tree, uint32_t block)
{
	return has_block(tree, block) ? tree->node[tree->blocks - 1u + block] : 0;
}

void uvmp_tree_set_leaf(struct uvmp_tree *tree, uint32_t block, uint32_t pages)
{
	if (has_block(tree, block))
		*uvmpi_tree_leaf(tree, block) = pages;
}

void uvmp_tree_recompute(struct uvmp_tree *tree)
{
	if (tree != NULL && uvmpi_tree_is_valid(tree))
		uvmpi_tree_recompute(tree);
}

void uvmp_tree_assign(struct uvmp_tree *tree, const uvmp_mask *pages)
{
	if (!uvmp_tree_is_valid(tree) || pages == NULL)
		return;
	for (uint32_t block = 0; block < tree->blocks; block++) {
		uint64_t bits = pages->word[block / 4u] >> block % 4u * UVMP_BASIC_BLOCK_PAGES & 0xffffu;

		*uvmpi_tree_leaf(tree, block) = popcount(bits);
	}
	uvmpi_tree_recompute(tree);
}

/* The leaf has its final value; the nodes above it become sums. */
static void sum_path(struct uvmp_tree *tree, uint32_t leaf)
{
	for (uint32_t i = leaf; i != 0;) {
		i = (i - 1u) / 2u;
		(void)uvmpi_tree_sum(tree, i);
	}
}

void uvmp_tree_add(struct uvmp_tree *tree, uint32_t page, uint32_t pages, bool quirks)
{
	uint32_t block = page / UVMP_BASIC_BLOCK_PAGES, size = UVMP_BASIC_BLOCK_PAGES;

	if (!has_block(tree, block))
		return;
	if (!quirks) {
		uint32_t *leaf = uvmpi_tree_leaf(tree, block);

		/* [uvmsmart: ancestors-pass-full, partial-leaf-grows] mended: never above full. */
		*leaf = *leaf < size && pages < size - *leaf ? *leaf + pages : size;
		sum_path(tree, tree->blocks - 1u + block);
		return;
	}
	uvmpi_tree_add(tree, block, pages);
}

void uvmp_tree_sub(struct uvmp_tree *tree, uint32_t page, uint32_t pages, bool quirks)
{
	uint32_t block = page / UVMP_BASIC_BLOCK_PAGES;

	if (!has_block(tree, block))
		return;
	if (!quirks) {
		uint32_t *leaf = uvmpi_tree_leaf(tree, block);

		/* [uvmsmart: partial-leaf-grows] mended: never below empty. */
		*leaf = *leaf > pages ? *leaf - pages : 0;
		sum_path(tree, tree->blocks - 1u + block);
		return;
	}
	for (uint32_t i = tree->blocks + block; i != 0; i /= 2u)
		if (tree->node[i - 1u] != 0)
			tree->node[i - 1u] -= pages;
}

bool uvmpi_tree_full_blocks(const struct uvmp_tree *tree, uint32_t *full)
{
	const uint32_t *leaf = &tree->node[UVMP_TREE_BLOCKS_MAX - 1u];
	uint64_t bits = 0; /* of value 16: bit 4 and up */

	if (tree->blocks != UVMP_TREE_BLOCKS_MAX)
		return false;
	_Pragma("GCC unroll 4") for (uint32_t end = UVMP_TREE_BLOCKS_MAX; end > 0; end -= 8u)
	{
		uint32_t any = 0;

		_Pragma("GCC unroll 8") for (uint32_t b = end; b > end - 8u; b--)
		{
			any |= leaf[b - 1u];
			bits = bits * 2u + leaf[b - 1u];
		}
		if ((any & ~UVMP_BASIC_BLOCK_PAGES) != 0)
			return false;
	}
	*full = (uint32_t)(bits / UVMP_BASIC_BLOCK_PAGES);
	return true;
}
