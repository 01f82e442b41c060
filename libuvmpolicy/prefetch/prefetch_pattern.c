/* Prefetch by the evicted pattern (CPPE: Yu et al., "Coordinated Page Prefetch and Eviction for Memory
 * Oversubscription Management in GPUs", IPDPS 2020).
 *
 * Idea: pages that a program did not touch during the last residency of their block, it will not touch during
 * the next. The eviction policy knows the touched pages of its victim; when the victim is fetched again, only
 * these pages are fetched. The paper's eviction policy, MHPE, is not part of this file. From the abstract;
 * assumed:
 *
 *  - The unit is the VABlock, which is what the driver evicts. The state of a block is one mask: pages that were
 *    touched during the last stay on a processor, as far as the host knows (uvmp_prefetch_left).
 *  - The whole pattern is fetched at once, however much of the block it is.
 *  - The pattern is trusted until a page faults that is not in it; then it is forgotten.
 *  - Without a pattern the driver's density decides, with all of its parameters.
 *  - Pages that thrash, range groups and ranges with another preferred location are left alone, as density leaves
 *    them.
 */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	struct pattern_block *block = (struct pattern_block *)state->block;
	uvmp_mask pages;

	if (block == NULL || block->processor != facts->to)
		return uvmpi_prefetch_density_decide(params, facts, state, hint);
	if (uvmpi_mask_region_any(&block->pages, beyond))
		return UVMP_ERR_RANGE;
	if (!uvmpi_mask_is_subset(facts->faulted, &block->pages)) {
		uvmpi_mask_zero(&block->pages);
		return uvmpi_prefetch_density_decide(params, facts, state, hint);
	}
	uvmpi_prefetch_admit(facts, &pages);
	uvmpi_mask_and(&pages, &pages, &block->pages);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	return UVMP_OK;
}

static void left(void *state, const struct uvmp_prefetch_departure *departure)
{
	struct pattern_block *block = (struct pattern_block *)state;
	uvmp_mask used;

	if (block->processor != departure->processor)
		uvmpi_mask_zero(&block->pages);
	block->processor = departure->processor;
	uvmpi_mask_andnot(&block->pages, &block->pages, departure->gone);
	if (departure->touched == NULL)
		return;
	uvmpi_mask_and(&used, departure->touched, departure->gone);
	uvmpi_mask_or(&block->pages, &block->pages, &used);
}

/* If all faulted pages lie in the pattern of the block: the rest of the pattern. Otherwise the pattern is emptied.
 * From then on, or without a pattern, density. UVMP_ERR_RANGE also: the pattern has a page beyond the block. Quirks:
 * as density. */
const struct prefetcher uvmpi_prefetcher_pattern = {
	.name = "pattern",
	.summary = "the pages that were touched before the block was evicted; else as density (CPPE)",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .may_repeat = true,
		   .has_threshold = true,
		   .has_touches = true,
		   .block_bytes = sizeof(struct pattern_block)},
	.decide = decide,
	.left = left,
	.base = &uvmpi_prefetcher_density,
};
