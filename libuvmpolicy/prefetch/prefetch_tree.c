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

/* Of 64 pages: the four basic blocks that have one of them, bits 0..3. */
static inline uint32_t blocks_of(uint64_t pages)
{
	uint64_t most = 0x7fff7fff7fff7fffu, last = (((pages & most) + most) | pages) & ~most;

	return (uint32_t)((last >> 15) * 0x0001000200040008u >> 48);
}

uint32_t uvmpi_prefetch_tree_faulted(const uvmp_mask *faulted)
{
	uint32_t blocks = 0;

	UVMPI_EACH_WORD(w)
		if (faulted->word[w] != 0)
			blocks |= blocks_of(faulted->word[w]) << 4u * w;
	return blocks;
}

void uvmpi_prefetch_tree_recount(const struct uvmp_prefetch_facts *facts, uint32_t chosen, struct uvmp_tree *tree)
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

/* uvmpi_prefetch_tree_collect where no mask of the facts is hint->pages: most words stay 0. */
static inline void collect(const struct uvmp_prefetch_facts *facts, const uvmp_mask *pending, uint32_t chosen, uint64_t cuts,
			   struct uvmp_prefetch_hint *hint)
{
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	const uvmp_mask *faulted = facts->faulted, *resident = uvmpi_mask_or_none(facts->resident);
	uint32_t blocks = chosen | (uint32_t)cuts;
	uint64_t any = 0;

	uvmpi_mask_zero(&hint->pages);
	uvmpi_mask_zero(&hint->subtrees);
	UVMPI_EACH_WORD(w) {
		if ((blocks & (uint32_t)0xf << 4u * w) != 0) {
			uint64_t absent = all_pages(chosen >> 4u * w & 0xfu) &
					  ~(faulted->word[w] | resident->word[w] | pending->word[w]);

			hint->pages.word[w] = absent;
			hint->subtrees.word[w] = first_pages((uint32_t)cuts >> 4u * w & 0xfu);
			any |= absent;
		}
	}
	if (facts->block.pages % UVMP_BASIC_BLOCK_PAGES != 0) {
		uvmpi_mask_region_clear(&hint->pages, beyond);
		any = !uvmpi_mask_is_empty(&hint->pages);
	}
	uvmpi_prefetch_hint_to(hint, any != 0 ? facts->to : UVMP_PROC_NONE);
	hint->basic_blocks = chosen;
}

/* Masks of the facts may be hint->pages. */
static UVMPI_NOINLINE void collect_elsewhere(const struct uvmp_prefetch_facts *facts, const uvmp_mask *pending, uint32_t chosen,
					     uint64_t cuts, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_hint copy;

	collect(facts, pending, chosen, cuts, &copy);
	*hint = copy;
}

/* [uvmsmart: in-flight-requested-again]: with quirks pending pages are requested again. */
void uvmpi_prefetch_tree_collect(const struct uvmp_prefetch_params *params,
				 const struct uvmp_prefetch_facts *facts, uint32_t chosen, uint64_t cuts,
				 struct uvmp_prefetch_hint *hint)
{
	const uvmp_mask *pending = uvmpi_mask_or_none(params->quirks ? NULL : facts->pending);

	if (facts->faulted == &hint->pages || facts->resident == &hint->pages || pending == &hint->pages)
		collect_elsewhere(facts, pending, chosen, cuts, hint);
	else
		collect(facts, pending, chosen, cuts, hint);
}
