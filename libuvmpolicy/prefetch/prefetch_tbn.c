/* Tree-based neighbourhood prefetch of UVM Smart [uvmsmart: tbnp].
 *
 * First every faulting basic block is taken as in prefetch_sl.c. Then one pass judges each inner node after
 * its children. The node becomes the sum of its children (which repairs [uvmsmart: ancestors-pass-full,
 * partial-leaf-grows] above the leaves). If the node is more than half full but not exactly full, every empty
 * leaf below it is taken too; leaves that are partly full stay unchanged.
 *
 * The original makes the pass as a recursive post-order. A node depends on its own subtree only, so any order
 * that has children before their parents gives the same result: here level by level from the bottom. For the
 * same reason all sums can be recomputed behind the pass: a changed sum is either below the node just filled
 * or not judged yet.
 *
 * As a rule each basic block is empty or full. Then full blocks are counted in lanes of a word, for all nodes of a
 * level at once. */
#include "../base/tree_internal.h"
#include "prefetch_internal.h"

/* Basic blocks that are taken, and where the taken subtrees begin and end. */
struct taken {
	uint64_t cuts;
	uint32_t blocks;
};

/* A pass over the tree. */
struct pass {
	struct uvmp_tree *tree;
	struct taken taken;
	uint32_t block_pages;
	bool quirks;
};

/* The basic blocks [first, end) become one subtree. */
static void merge(uint64_t *cuts, uint32_t first, uint32_t end)
{
	*cuts &= ~(((uint64_t)1 << end) - ((uint64_t)1 << first));
	*cuts |= (uint64_t)1 << first | (uint64_t)1 << end;
}

/* Takes the empty leaves below a node over `leaves` blocks from `first` on; returns the pages that they gain. A leaf behind
 * the end of the block has nothing to fetch and stays empty; without quirks the leaf at the end counts only the pages that it
 * has. */
static UVMPI_NOINLINE uint32_t fill(struct pass *pass, uint32_t first, uint32_t leaves)
{
	uint32_t *leaf = uvmpi_tree_leaf(pass->tree, 0), taken = 0, bit = (uint32_t)1 << first, pages;
	uint32_t last = (pass->block_pages - 1u) / UVMP_BASIC_BLOCK_PAGES, end = minimum(first + leaves, last + 1u);

	for (uint32_t b = first; b < end; b++, bit *= 2u) {
		if (leaf[b] == 0) {
			leaf[b] = UVMP_BASIC_BLOCK_PAGES;
			taken |= bit;
		}
	}
	if (taken == 0)
		return 0;
	pass->taken.blocks |= taken;
	merge(&pass->taken.cuts, first, first + leaves);
	pages = popcount(taken) * UVMP_BASIC_BLOCK_PAGES;
	if (!pass->quirks && (taken >> last & 1u) != 0) {
		leaf[last] = pass->block_pages - last * UVMP_BASIC_BLOCK_PAGES;
		pages -= UVMP_BASIC_BLOCK_PAGES - leaf[last];
	}
	return pages;
}

/* The leaf of a faulting page becomes full; a leaf that is partly full gains a basic block for each page [uvmsmart:
 * ancestors-pass-full, partial-leaf-grows]. The nodes above are summed up later. */
static void add_faults(struct uvmp_tree *tree, const uvmp_mask *faulted)
{
	for (uint32_t page = uvmpi_mask_next_set(faulted, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(faulted, page + 1u)) {
		uint32_t *leaf = uvmpi_tree_leaf(tree, page / UVMP_BASIC_BLOCK_PAGES);

		if (*leaf != UVMP_BASIC_BLOCK_PAGES)
			*leaf += UVMP_BASIC_BLOCK_PAGES;
	}
}

/* Sums up and judges all nodes, children before their parents. A fill changes the sum of its node; the nodes below are
 * summed up again behind the pass. */
static UVMPI_NOINLINE struct taken fill_nodes(const struct uvmp_prefetch_params *params,
					      const struct uvmp_prefetch_facts *facts, struct uvmp_tree *tree,
					      struct taken taken)
{
	struct pass pass = {tree, taken, facts->block.pages, params->quirks};
	uint32_t leaves = 2, full = 2u * UVMP_BASIC_BLOCK_PAGES;

	if (params->quirks)
		add_faults(tree, facts->faulted);
	for (uint32_t nodes = tree->blocks / 2u; nodes != 0; nodes /= 2u, leaves *= 2u, full *= 2u)
		for (uint32_t n = 0; n < nodes; n++) {
			uint32_t *value = uvmpi_tree_sum(tree, nodes - 1u + n);

			/* above half, below full or above full */
			if (*value > full / 2u && *value != full)
				*value += fill(&pass, n * leaves, leaves);
		}
	uvmpi_tree_recompute(tree);
	return pass.taken;
}

/* The same for a whole block of 2 MiB of which all basic blocks but `before` are empty. A node is filled if more than half of its
 * blocks are full, but not all. Of two blocks both would have to be full. */
static inline struct taken fill_levels(struct uvmp_tree *tree, uint32_t before, struct taken taken)
{
	uint32_t full = before | taken.blocks, counts = uvmpi_tree_pairs(full), more;
	uint32_t *leaf = &tree->node[UVMP_TREE_BLOCKS_MAX - 1u];

	_Pragma("GCC unroll 4") for (uint32_t leaves = 4; leaves <= UVMP_TREE_BLOCKS_MAX; leaves *= 2u)
	{
		uint32_t lanes = uvmpi_tree_lanes(leaves), dense;

		counts = uvmpi_tree_add_halves(counts, leaves);
		dense = ((counts + (leaves / 2u - 1u) * lanes) & ~counts) / leaves & lanes;
		if (dense != 0) {
			full |= uvmpi_tree_blocks_of(dense, leaves);
			counts = (counts & ~((leaves - 1u) * dense)) | leaves * dense;
			taken.cuts &= ~((((uint64_t)1 << leaves) - 1u) * dense);
			taken.cuts |= dense | (uint64_t)dense << leaves;
		}
	}
	more = full & ~before;
	taken.blocks |= more;
	for (; more != 0; more &= more - 1u)
		leaf[lowest_bit(more)] = UVMP_BASIC_BLOCK_PAGES;
	uvmpi_tree_sum_all(tree);
	return taken;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uint32_t chosen = uvmpi_prefetch_tree_faulted(facts->faulted), full = 0;
	struct taken taken = {uvmpi_prefetch_tree_cuts(chosen), chosen};

	if (!params->quirks)
		uvmpi_prefetch_tree_recount(facts, chosen, state->tree);
	if (facts->block.pages == UVMP_MASK_BITS && uvmpi_tree_full_blocks(state->tree, &full))
		taken = fill_levels(state->tree, full, taken);
	else
		taken = fill_nodes(params, facts, state->tree, taken);
	uvmpi_prefetch_tree_collect(params, facts, taken.blocks, taken.cuts, hint);
	return UVMP_OK;
}

const struct prefetcher uvmpi_prefetcher_tbn = {
	.name = "tbn",
	.summary = "basic blocks of 64 KiB that faulted, and of subtrees more than half full (UVM Smart)",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .has_tree = true},
	.decide = decide,
};
