/* Sequential-local prefetch of UVM Smart [uvmsmart: sequential-local]: the rest of every faulting basic
 * block. */
#include "prefetch_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uint32_t chosen = uvmpi_prefetch_tree_fault(params, facts, state->tree, false);

	uvmpi_prefetch_tree_collect(params, facts, chosen, uvmpi_prefetch_tree_cuts(chosen), hint);
	return UVMP_OK;
}

/* UVM Smart's sequential-local prefetcher [uvmsmart: sequential-local]: the rest of every faulting basic
 * block. State, errors and quirks as TBN. */
const struct prefetcher uvmpi_prefetcher_sl = {
	.name = "sl",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .has_tree = true},
	.decide = decide,
};
