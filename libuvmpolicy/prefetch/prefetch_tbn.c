/* Tree-based neighbourhood prefetch of UVM Smart [uvmsmart: tbnp].
 *
 * First every faulting basic block is taken as in prefetch_sl.c. Then one pass judges each inner node after
 * its children. The node becomes the sum of its children (which repairs [uvmsmart: ancestors-pass-full,
 * partial-leaf-grows] above the leaves). If the node is more than half full but not exactly full, every empty
 * leaf below it is taken too; leaves that are partly full stay unchanged.
 *
 * The original makes the pass as a recursive post-order. A node depends on its own subtree only, so any order
 * that has children before their parents gives the same result: here level by level from the bottom. For the
 * same reason all sums can be recomputed after each fill: a changed sum is either below the node just filled
 * or not judged yet. */
#include "prefetch_internal.h"

/* Takes the empty ones of the leaves [first, end) and returns them as a set. A leaf behind the end of the
 * block has nothing to fetch and stays empty; without quirks the leaf at the end counts only the pages that
 * it has. */
static uint32_t fill(struct uvmp_tree *tree, uint32_t first, uint32_t end, uint32_t block_pages,
		     bool quirks)
{
	uint32_t taken = 0;

	for (uint32_t b = first; b < end && b * UVMP_BASIC_BLOCK_PAGES < block_pages; b++) {
		uint32_t pages = block_pages - b * UVMP_BASIC_BLOCK_PAGES;

		if (uvmp_tree_leaf(tree, b) != 0)
			continue;
		uvmp_tree_set_leaf(tree, b,
				   quirks || pages > UVMP_BASIC_BLOCK_PAGES ? UVMP_BASIC_BLOCK_PAGES : pages);
		taken |= (uint32_t)1 << b;
	}
	uvmp_tree_recompute(tree);
	return taken;
}

/* The basic blocks [first, end) become one subtree. */
static void merge(uint64_t *cuts, uint32_t first, uint32_t end)
{
	*cuts &= ~(((uint64_t)1 << end) - ((uint64_t)1 << first));
	*cuts |= (uint64_t)1 << first | (uint64_t)1 << end;
}

/* Returns the leaves taken; adds their subtrees to *cuts. */
static uint32_t fill_dense(struct uvmp_tree *tree, uint32_t block_pages, bool quirks, uint64_t *cuts)
{
	uint32_t taken = 0, more;

	uvmp_tree_recompute(tree);
	for (uint32_t leaves = 2; leaves <= tree->blocks; leaves *= 2u) {
		uint32_t full = leaves * UVMP_BASIC_BLOCK_PAGES;

		for (uint32_t first = 0; first < tree->blocks; first += leaves) {
			uint32_t value = tree->node[(tree->blocks + first) / leaves - 1u];

			if (value == full || value <= full / 2u)
				continue;
			more = fill(tree, first, first + leaves, block_pages, quirks);
			if (more != 0)
				merge(cuts, first, first + leaves);
			taken |= more;
		}
	}
	return taken;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uint32_t chosen = uvmpi_prefetch_tree_fault(params, facts, state->tree);
	uint64_t cuts = uvmpi_prefetch_tree_cuts(chosen);

	chosen |= fill_dense(state->tree, facts->block.pages, params->quirks, &cuts);
	uvmpi_prefetch_tree_collect(params, facts, chosen, cuts, hint);
	return UVMP_OK;
}

const struct prefetcher uvmpi_prefetcher_tbn = {
	.name = "tbn",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .has_tree = true},
	.decide = decide,
};
