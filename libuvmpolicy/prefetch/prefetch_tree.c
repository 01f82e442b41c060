/* The tree of basic blocks of UVM Smart, as sl and tbn use it [uvmsmart: sequential-local, tree-updates].
 *
 * Each faulting page adds a whole basic block (16 pages) on its path in the tree; the chosen basic blocks are
 * fetched unless they are resident. [uvmsmart: in-flight-requested-again]: the original tests only for "not
 * resident", so pages in flight are requested again. The corrected rule excludes them, and sets the leaves to
 * the pages that are resident or requested [uvmsmart: ancestors-pass-full, partial-leaf-grows,
 * user-prefetch-bypasses-tree]. */
#include "../base/tree_internal.h"
#include "prefetch_internal.h"

/* The first page of each of four basic blocks, in the word of a mask that holds the blocks. */
static inline uint64_t first_pages(uint32_t blocks)
{
	return blocks * 0x0000200040008001u & 0x0001000100010001u;
}

/* All pages of the four. */
static inline uint64_t all_pages(uint32_t blocks)
{
	uint64_t first = first_pages(blocks);

	return (first << 16) - first;
}

/* Every leaf becomes what is resident, pending or requested now that `chosen` is fetched too. */
static void recount(const struct uvmp_prefetch_facts *facts, uint32_t chosen, struct uvmp_tree *tree)
{
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	const uvmp_mask *resident = uvmpi_mask_or_none(facts->resident), *pending = uvmpi_mask_or_none(facts->pending);
	uvmp_mask present;

	UVMPI_EACH_WORD(w)
		present.word[w] = facts->faulted->word[w] | resident->word[w] | pending->word[w] |
				  all_pages(chosen >> 4u * w & 0xfu);
	uvmpi_mask_region_clear(&present, beyond);
	uvmp_tree_assign(tree, &present);
}

uint32_t uvmpi_prefetch_tree_fault(const struct uvmp_prefetch_params *params,
				   const struct uvmp_prefetch_facts *facts, struct uvmp_tree *tree, bool only_leaves)
{
	uint32_t chosen = 0;

	UVMPI_EACH_WORD(w) {
		for (uint64_t bits = facts->faulted->word[w]; bits != 0; bits &= bits - 1u) {
			uint32_t block = w * 4u + lowest_bit(bits) / UVMP_BASIC_BLOCK_PAGES;
			uint32_t *leaf = uvmpi_tree_leaf(tree, block);

			chosen |= (uint32_t)1 << block;
			/* [uvmsmart: ancestors-pass-full]: for each page, not for each block */
			if (only_leaves && *leaf != UVMP_BASIC_BLOCK_PAGES)
				*leaf += UVMP_BASIC_BLOCK_PAGES;
			else if (!only_leaves && params->quirks)
				uvmpi_tree_add(tree, block, UVMP_BASIC_BLOCK_PAGES);
		}
	}
	if (!params->quirks)
		recount(facts, chosen, tree);
	return chosen;
}

/* [uvmsmart: in-flight-requested-again]: with quirks pending pages are requested again. */
void uvmpi_prefetch_tree_collect(const struct uvmp_prefetch_params *params,
				 const struct uvmp_prefetch_facts *facts, uint32_t chosen, uint64_t cuts,
				 struct uvmp_prefetch_hint *hint)
{
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	const uvmp_mask *resident = uvmpi_mask_or_none(facts->resident);
	const uvmp_mask *pending = uvmpi_mask_or_none(params->quirks ? NULL : facts->pending);
	uint64_t any = 0;

	/* masks of the facts may be hint->pages: each word is read before it is written */
	UVMPI_EACH_WORD(w) {
		uint64_t absent = 0, begin = 0;

		if (((chosen | (uint32_t)cuts) & (uint32_t)0xf << 4u * w) != 0) {
			absent = all_pages(chosen >> 4u * w & 0xfu) &
				 ~(facts->faulted->word[w] | resident->word[w] | pending->word[w]);
			begin = first_pages((uint32_t)cuts >> 4u * w & 0xfu);
			any |= absent;
		}
		hint->pages.word[w] = absent;
		hint->subtrees.word[w] = begin;
	}
	if (facts->block.pages % UVMP_BASIC_BLOCK_PAGES != 0) {
		uvmpi_mask_region_clear(&hint->pages, beyond);
		any = !uvmpi_mask_is_empty(&hint->pages);
	}
	uvmpi_prefetch_hint_to(hint, any != 0 ? facts->to : UVMP_PROC_NONE);
	hint->basic_blocks = chosen;
}
