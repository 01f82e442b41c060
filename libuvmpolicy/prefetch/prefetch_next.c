/* Prefetch beyond the VABlock (Rhee et al., "Beyond VABlock", Journal of Systems Architecture 162, 2025).
 *
 * Idea: Transformers read their weights block after block, and the driver's prefetcher ends with each block,
 * so that every 2 MiB begin with the same few faults. A block-aware prefetcher brings several contiguous
 * VABlocks. Written from the abstract, which does not tell when and in what shape; what follows is ours:
 *
 *  - In the block that faulted the driver's density decides, parameters and all.
 *  - If after that `next_percent` of the block's pages are resident, on their way, faulting or asked for, all
 *    absent pages of the `next_blocks` blocks behind it in the range come too. A block that is there already
 *    counts: never more than next_blocks ahead of the faults.
 *  - Pages that bounce, range groups and ranges that prefer to be elsewhere are left alone, as density leaves
 *    them. */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

/* Is nearly all of the block there, or coming with this decision? */
static bool is_full(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		    const struct uvmp_prefetch_hint *hint)
{
	uvmp_mask absent;

	uvmpi_prefetch_absent(facts, &absent);
	if (hint->to != UVMP_PROC_NONE)
		uvmp_mask_andnot(&absent, &absent, &hint->pages);
	return (facts->block.pages - uvmp_mask_weight(&absent)) * 100u >=
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
	struct next_range *range = state->range;
	struct uvmp_prefetch_hint chosen;
	uint32_t budget;
	uint64_t end;
	uvmp_mask pages;

	if (facts->is_follow) {
		budget = budget_of(params, range);
		uvmp_mask_zero(&pages);
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

/* Density in the block that faulted; if `next_percent` of its pages are there, coming or asked for after
 * that, also all of the `next_blocks` blocks behind it, through hint->follow (see struct
 * uvmp_prefetch_hint). UVMP_ERR_RANGE also: range_pages < range_first + block.pages. Quirks: as density. */
const struct prefetcher uvmpi_prefetcher_next = {
	.name = "next",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .range_bytes = sizeof(struct next_range),
		   .has_threshold = true},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
