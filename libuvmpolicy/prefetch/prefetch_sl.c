/* Sequential-local prefetch of UVM Smart [uvmsmart: sequential-local]: the rest of every faulting basic
 * block. */
#include "../base/tree_internal.h"
#include "prefetch_internal.h"

/* [uvmsmart: ancestors-pass-full]: for each page, not for each block. */
static void add_faults(struct uvmp_tree *tree, const uvmp_mask *faulted)
{
	for (uint32_t page = uvmpi_mask_next_set(faulted, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(faulted, page + 1u))
		uvmpi_tree_add(tree, page / UVMP_BASIC_BLOCK_PAGES, UVMP_BASIC_BLOCK_PAGES);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uint32_t chosen = uvmpi_prefetch_tree_faulted(facts->faulted);

	if (params->quirks)
		add_faults(state->tree, facts->faulted);
	else
		uvmpi_prefetch_tree_recount(facts, chosen, state->tree);
	uvmpi_prefetch_tree_collect(params, facts, chosen, uvmpi_prefetch_tree_cuts(chosen), hint);
	return UVMP_OK;
}

/* UVM Smart's sequential-local prefetcher [uvmsmart: sequential-local]: the rest of every faulting basic
 * block. State, errors and quirks as TBN. */
const struct prefetcher uvmpi_prefetcher_sl = {
	.name = "sl",
	.summary = "the rest of each basic block of 64 KiB that faulted (UVM Smart)",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .has_tree = true},
	.decide = decide,
};
