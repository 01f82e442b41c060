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
#include "../base/tree_internal.h"
#include "prefetch_internal.h"

/* A pass over the tree: what is taken, and where the taken subtrees begin and end. */
struct pass {
	struct uvmp_tree *tree;
	uint64_t cuts;
	uint32_t taken, block_pages;
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
static __attribute__((__noinline__)) uint32_t fill(struct pass *pass, uint32_t first, uint32_t leaves)
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
	pass->taken |= taken;
	merge(&pass->cuts, first, first + leaves);
	pages = popcount(taken) * UVMP_BASIC_BLOCK_PAGES;
	if (!pass->quirks && (taken >> last & 1u) != 0) {
		leaf[last] = pass->block_pages - last * UVMP_BASIC_BLOCK_PAGES;
		pages -= UVMP_BASIC_BLOCK_PAGES - leaf[last];
	}
	return pages;
}

/* Sums up and judges all nodes of a tree of `blocks` blocks, children before their parents. A fill changes the sum of its
 * node; the nodes below are summed up again behind the pass. */
static inline __attribute__((always_inline)) void fill_dense(struct pass *pass, uint32_t blocks)
{
	uint32_t before = pass->taken, leaves = 2, full = 2u * UVMP_BASIC_BLOCK_PAGES;

	_Pragma("GCC unroll 5") for (uint32_t nodes = blocks / 2u; nodes != 0; nodes /= 2u, leaves *= 2u, full *= 2u)
	{
		_Pragma("GCC unroll 16") for (uint32_t n = 0; n < nodes; n++)
		{
			uint32_t *value = uvmpi_tree_sum(pass->tree, nodes - 1u + n);

			/* above half, below full or above full */
			if (*value > full / 2u && *value != full)
				*value += fill(pass, n * leaves, leaves);
		}
	}
	if (pass->taken != before)
		uvmpi_tree_recompute(pass->tree);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uint32_t chosen = uvmpi_prefetch_tree_fault(params, facts, state->tree, true);
	struct pass pass = {state->tree, uvmpi_prefetch_tree_cuts(chosen), chosen, facts->block.pages, params->quirks};

	if (state->tree->blocks == UVMP_TREE_BLOCKS_MAX)
		fill_dense(&pass, UVMP_TREE_BLOCKS_MAX);
	else
		fill_dense(&pass, state->tree->blocks);
	uvmpi_prefetch_tree_collect(params, facts, pass.taken, pass.cuts, hint);
	return UVMP_OK;
}

const struct prefetcher uvmpi_prefetcher_tbn = {
	.name = "tbn",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .has_tree = true},
	.decide = decide,
};
