/* The tree of basic blocks of UVM Smart, as sl and tbn use it [uvmsmart: sequential-local, tree-updates].
 *
 * Each faulting page adds a whole basic block (16 pages) on its path in the tree; the chosen basic blocks are
 * fetched unless they are resident. [uvmsmart: in-flight-requested-again]: the original tests only for "not
 * resident", so pages in flight are requested again. The corrected rule excludes them, and sets the leaves to
 * the pages that are resident or requested [uvmsmart: ancestors-pass-full, partial-leaf-grows,
 * user-prefetch-bypasses-tree]. */
#include "../base/mask_internal.h"
#include "prefetch_internal.h"

static struct uvmp_region region_of(uint32_t basic_block)
{
	struct uvmp_region region = {basic_block * UVMP_BASIC_BLOCK_PAGES,
				     (basic_block + 1u) * UVMP_BASIC_BLOCK_PAGES};

	return region;
}

/* *pages = all pages of the chosen basic blocks that lie in the block. */
static void pages_of(const struct uvmp_prefetch_facts *facts, uint32_t chosen, uvmp_mask *pages)
{
	struct uvmp_region whole = {0, facts->block.pages};

	uvmpi_mask_zero(pages);
	for (uint32_t b = 0; b < UVMP_TREE_BLOCKS_MAX; b++)
		if ((chosen >> b & 1u) != 0)
			uvmpi_mask_region_set(pages, uvmp_region_intersect(region_of(b), whole));
}

/* Every leaf becomes what is resident, pending or requested now that `chosen` is fetched too. */
static void recount(const struct uvmp_prefetch_facts *facts, uint32_t chosen, struct uvmp_tree *tree)
{
	uvmp_mask present, absent;

	uvmpi_prefetch_absent(facts, &absent);
	pages_of(facts, ~(uint32_t)0, &present);
	uvmpi_mask_andnot(&present, &present, &absent);
	pages_of(facts, chosen, &absent);
	uvmpi_mask_or(&present, &present, &absent);
	uvmp_tree_assign(tree, &present);
}

uint32_t uvmpi_prefetch_tree_fault(const struct uvmp_prefetch_params *params,
				   const struct uvmp_prefetch_facts *facts, struct uvmp_tree *tree)
{
	uint32_t chosen = 0;

	for (uint32_t p = uvmpi_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmpi_mask_next_set(facts->faulted, p + 1u)) {
		chosen |= (uint32_t)1 << p / UVMP_BASIC_BLOCK_PAGES;
		if (params->quirks) /* [uvmsmart: ancestors-pass-full]: for each page, not for each block */
			uvmp_tree_add(tree, p, UVMP_BASIC_BLOCK_PAGES, true);
	}
	if (!params->quirks)
		recount(facts, chosen, tree);
	return chosen;
}

void uvmpi_prefetch_tree_collect(const struct uvmp_prefetch_params *params,
				 const struct uvmp_prefetch_facts *facts, uint32_t chosen, uint64_t cuts,
				 struct uvmp_prefetch_hint *hint)
{
	uvmp_mask wanted, pages;

	uvmpi_prefetch_absent(facts, &wanted);
	if (params->quirks && facts->pending != NULL) { /* [uvmsmart: in-flight-requested-again] */
		uvmpi_mask_or(&wanted, &wanted, facts->pending);
		if (facts->resident != NULL)
			uvmpi_mask_andnot(&wanted, &wanted, facts->resident);
	}
	pages_of(facts, chosen, &pages);
	uvmpi_mask_and(&pages, &pages, &wanted);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	hint->basic_blocks = chosen;
	for (; cuts != 0; cuts &= cuts - 1u)
		uvmp_mask_set(&hint->subtrees, lowest_bit(cuts) * UVMP_BASIC_BLOCK_PAGES);
}
