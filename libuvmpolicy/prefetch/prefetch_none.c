/* No prefetch: only the faulting pages move. */
#include "prefetch_internal.h"

/* On-demand paging of UVM Smart [uvmsmart: prefetch-batch] counts each page that moves in the tree: an
 * eviction order that reads the tree needs the counts. */
static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uvmp_mask nothing;

	if (state->tree != NULL && uvmpi_prefetch_is_refault(facts))
		return UVMP_ERR_RANGE;
	for (uint32_t p = uvmpi_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmpi_mask_next_set(facts->faulted, p + 1u))
		uvmp_tree_add(state->tree, p, 1, params->quirks);
	uvmpi_mask_zero(&nothing);
	uvmpi_prefetch_hint_set(hint, facts->to, &nothing);
	return UVMP_OK;
}

/* Nothing [uvmsmart: on-demand]. With state->tree each faulted page counts there [uvmsmart: prefetch-batch];
 * UVMP_ERR_RANGE then also: a faulted page is resident or pending. Quirks: [uvmsmart: ancestors-pass-full,
 * partial-leaf-grows]. */
const struct prefetcher uvmpi_prefetcher_none = {
	.name = "none",
	.summary = "nothing",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE, .is_off = true},
	.decide = decide,
};
