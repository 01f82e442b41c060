/* The rest of the VABlock. */
#include "prefetch_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uvmp_mask absent;

	(void)params;
	(void)state;
	uvmpi_prefetch_absent(facts, &absent);
	uvmpi_prefetch_hint_set(hint, facts->to, &absent);
	return UVMP_OK;
}

/* All pages of the block that are neither resident, pending nor faulting. */
const struct prefetcher uvmpi_prefetcher_block = {
	.name = "block",
	.summary = "the whole VABlock",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE},
	.decide = decide,
};
