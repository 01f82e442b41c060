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

/* Is nearly all of the block there, or coming with this decision? */
static bool is_full(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                    const struct uvmp_prefetch_hint *hint)
{
	uvmp_mask absent;

	uvmp_prefetch_absent(facts, &absent);
	if (hint->dst != UVMP_PROC_NONE)
		uvmp_mask_andnot(&absent, &absent, &hint->pages);
	return (facts->block.pages - uvmp_mask_weight(&absent)) * 100u >=
	       facts->block.pages * params->next_percent;
}

/* Blocks still to come, with this one. */
static uint32_t budget_of(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_range *range)
{
	return range->budget < params->next_blocks ? (uint32_t)range->budget : params->next_blocks;
}

enum uvmp_status uvmp_prefetch_next(const struct uvmp_prefetch_params *params,
                                    const struct uvmp_prefetch_facts *facts,
                                    struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_range_check(params, facts, state, hint);
	struct uvmp_prefetch_hint chosen;
	uint32_t budget;
	uint64_t outer;
	uvmp_mask pages;

	if (status != UVMP_OK)
		return status;
	if (facts->is_follow) {
		budget = budget_of(params, state->range);
		uvmp_mask_zero(&pages);
		if (budget != 0) {
			uvmp_prefetch_admit(facts, &pages);
			budget--;
		}
		uvmp_prefetch_hint_set(&chosen, facts->dst, &pages);
	} else {
		(void)uvmp_prefetch_density(params, facts, state, &chosen); /* checked above */
		budget = is_full(params, facts, &chosen) ? params->next_blocks : 0;
	}
	outer = facts->range_first + facts->block.pages;
	state->range->budget = budget;
	*hint = chosen;
	if (budget != 0 && outer < facts->range_pages)
		hint->follow = outer;
	return UVMP_OK;
}
