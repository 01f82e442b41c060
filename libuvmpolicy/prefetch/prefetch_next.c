/* Prefetch beyond the VABlock (Rhee et al., "Beyond VABlock", Journal of Systems Architecture 162, 2025).
 *
 * Idea: Transformers read their weights block after block. The driver's prefetcher ends with each block, so
 * every 2 MiB start with the same few faults. A block-aware prefetcher fetches several contiguous VABlocks.
 * The abstract does not say when, and which pages. Assumed:
 *
 *  - In the faulted block the driver's density decides, with all its parameters.
 *  - If then `next_percent` of the block's pages are resident, in flight, faulting or requested, all absent
 *    pages of the `next_blocks` following blocks of the range are fetched too. A block that is already
 *    resident counts: at most next_blocks blocks ahead of the faults are fetched.
 *  - Thrashing pages, range groups and ranges with another preferred location are skipped, as by density. */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

/* Is nearly all of the block there, or coming with this decision? */
static bool is_full(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		    const struct uvmp_prefetch_hint *hint)
{
	uvmp_mask absent;

	uvmpi_prefetch_absent(facts, &absent);
	if (hint->to != UVMP_PROC_NONE)
		uvmpi_mask_andnot(&absent, &absent, &hint->pages);
	return (facts->block.pages - uvmpi_mask_weight(&absent)) * 100u >=
	       facts->block.pages * params->next_percent;
}

/* Blocks still to come, with this one. */
static uint32_t budget_of(const struct uvmp_prefetch_params *params, const struct next_range *range)
{
	return range->budget < params->next_blocks ? (uint32_t)range->budget : params->next_blocks;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct next_range *range = (struct next_range *)state->range;
	struct uvmp_prefetch_hint chosen;
	uint32_t budget;
	uint64_t end;
	uvmp_mask pages;

	if (facts->is_follow) {
		budget = budget_of(params, range);
		uvmpi_mask_zero(&pages);
		if (budget != 0) {
			uvmpi_prefetch_admit(facts, &pages);
			budget--;
		}
		uvmpi_prefetch_hint_set(&chosen, facts->to, &pages);
	} else {
		(void)uvmpi_prefetch_density_decide(params, facts, state, &chosen); /* never fails */
		budget = is_full(params, facts, &chosen) ? params->next_blocks : 0;
	}
	end = facts->range_first + facts->block.pages;
	range->budget = budget;
	*hint = chosen;
	if (budget != 0 && end < facts->range_pages)
		hint->follow = end;
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(next_blocks, "next_blocks", 1, 8, 2, "blocks to fetch when a block is full"),
	PREFETCH_PARAMETER(next_percent, "next_percent", 1, 100, 90,
			   "percent of pages at which a block counts as full"),
};

/* Density in the block that faulted; if `next_percent` of its pages are then resident, in flight or
 * requested, also all pages of the `next_blocks` following blocks, through hint->follow (see struct
 * uvmp_prefetch_hint). UVMP_ERR_RANGE also: range_pages < range_first + block.pages. Quirks: as density. */
const struct prefetcher uvmpi_prefetcher_next = {
	.name = "next",
	.summary = "as density; and next_blocks blocks behind a block of which next_percent are resident",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .has_one_gpu = true,
		   .has_threshold = true,
		   .range_bytes = sizeof(struct next_range)},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
