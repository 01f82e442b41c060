/* Sequential prefetch after Zheng et al. [uvmsmart: zheng-prefetchers]: a cursor walks the range once, from
 * its first page to its last, independent of the faults. A decision takes the next pages from the cursor on
 * that are neither resident, in flight nor faulting.
 *
 * The cursor is rarely in the block that faulted. A decision sees one block. So it takes the pages in its
 * block and requests, through hint->follow, another call for the block that holds the cursor. */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

static bool has_cursor(const struct uvmp_prefetch_facts *facts, const struct sequential_range *range)
{
	return range->cursor >= facts->range_first && range->cursor - facts->range_first < facts->block.pages;
}

/* Takes up to `budget` of the absent pages from the cursor on; the cursor is in the block. */
static void take(const struct uvmp_prefetch_facts *facts, struct sequential_range *range, uvmp_mask *pages)
{
	uint32_t next = (uint32_t)(range->cursor - facts->range_first);
	uvmp_mask absent;

	uvmpi_prefetch_absent(facts, &absent);
	while (range->budget != 0) {
		uint32_t page = uvmpi_mask_next_set(&absent, next);

		if (page == UVMP_MASK_BITS) {
			next = facts->block.pages;
			break;
		}
		uvmp_mask_set(pages, page);
		range->budget--;
		next = page + 1u;
	}
	range->cursor = facts->range_first + next;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct sequential_range *range = (struct sequential_range *)state->range;
	uvmp_mask pages;

	/* Another call would give the same answer without end. */
	if (facts->is_follow && !has_cursor(facts, range))
		return UVMP_ERR_RANGE;
	uvmpi_mask_zero(&pages);
	if (!facts->is_follow)
		range->budget = params->sequential_pages;
	if (has_cursor(facts, range))
		take(facts, range, &pages);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	if (range->budget != 0 && range->cursor < facts->range_pages)
		hint->follow = range->cursor;
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PREFETCH_PAGES(sequential_pages, "seq_pages", 1, 512, 1,
		       "pages of 4 KiB that the cursor advances per decision"),
};

/* Zheng et al. (HPCA'16), made exact in [uvmsmart: zheng-prefetchers]: a cursor walks the range from its
 * first page to its last; each decision takes the next `sequential_pages` pages that are neither resident,
 * pending nor faulting. The cursor also moves past the other pages. If the cursor is in another block,
 * hint->follow names that block (see struct uvmp_prefetch_hint). A batch with faults in several blocks is
 * several decisions. UVMP_ERR_RANGE also: range_pages < range_first + block.pages; is_follow for a block that
 * does not hold the cursor. */
const struct prefetcher uvmpi_prefetcher_sequential = {
	.name = "sequential",
	.summary = "the next seq_pages absent pages of the range, from a cursor",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT,
		   .walks_ranges = true,
		   .has_one_gpu = true,
		   .range_bytes = sizeof(struct sequential_range)},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
};
