/* Prefetch by the evicted pattern (CPPE: Yu et al., "Coordinated Page Prefetch and Eviction for Memory
 * Oversubscription Management in GPUs", IPDPS 2020).
 *
 * Idea: what a program did not touch the last time it will not touch the next time. The eviction policy knows
 * which pages of its victim were touched; when the victim comes back, only those come. The paper's eviction
 * policy, MHPE, is not part of this. Written from the abstract; what follows is assumed:
 *
 *  - The unit is the VABlock, which is what the driver evicts. The host keeps one mask per block,
 *    state->pattern: what was touched during its last stay, as far as the host knows.
 *  - All of the pattern comes at once, however much of the block it is.
 *  - The pattern is trusted until a page faults that is not in it; then it is forgotten.
 *  - A block without a pattern is left to the driver's density, parameters and all.
 *  - Pages that bounce, range groups and ranges that prefer to be elsewhere are left alone, as density leaves
 *    them.
 */
#include "prefetch_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct uvmp_region beyond = {0, UVMP_MASK_BITS};
	uvmp_mask pages;

	if (state->pattern == NULL)
		return uvmpi_prefetch_density_decide(params, facts, state, hint);
	beyond.first = facts->block.pages;
	if (uvmp_mask_region_any(state->pattern, beyond))
		return UVMP_ERR_RANGE;
	if (!uvmp_mask_is_subset(facts->faulted, state->pattern)) {
		uvmp_mask_zero(state->pattern);
		return uvmpi_prefetch_density_decide(params, facts, state, hint);
	}
	uvmpi_prefetch_admit(facts, &pages);
	uvmp_mask_and(&pages, &pages, state->pattern);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	return UVMP_OK;
}

/* While all that faults lies in state->pattern: the rest of state->pattern. Otherwise the pattern is emptied,
 * and from then on, or without a pattern, density. UVMP_ERR_RANGE also: state->pattern has a page beyond the
 * block. Quirks: as density. */
const struct prefetcher uvmpi_prefetcher_pattern = {
	.name = "pattern",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .may_repeat = true,
		   .has_threshold = true,
		   .has_pattern = true},
	.decide = decide,
	.base = &uvmpi_prefetcher_density,
};
