/* Sharing-aware prefetch (SAFE: Shin et al., IEEE Computer Architecture Letters 24(1), 2025).
 *
 * Idea: the number of SMs that share a block shows whether the program is regular, and whether prefetching
 * pays. A fault carries the number of its uTLB, which a few SMs share. So the number of different uTLBs that
 * fault on a block selects one of two configurations of the driver's prefetcher.
 *
 * The abstract gives neither the rule nor the configurations. Assumed: a block is shared from `shared_utlbs`
 * uTLBs on. Shared blocks are fetched aggressively, others hardly, each with a density threshold. Threshold 1
 * fetches the whole block after any fault, 99 only the faulting big pages, 100 no page. To treat sharing as a
 * sign of irregular access, exchange the two thresholds. The host chooses the period over which uTLBs are
 * counted: those of one batch need no memory. If the number is not known (0), density decides unchanged. */
#include "prefetch_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_params density;

	density = *params;
	if (facts->utlbs != 0)
		density.threshold = facts->utlbs >= params->shared_utlbs ? params->shared_threshold
									 : params->private_threshold;
	return uvmpi_prefetch_density_decide(&density, facts, state, hint);
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(shared_utlbs, "shared_utlbs", 2, 4096, 2,
			   "uTLBs that fault on a block before it counts as shared"),
	PREFETCH_PARAMETER(shared_threshold, "shared_threshold", 1, 100, 1, "threshold for shared blocks"),
	PREFETCH_PARAMETER(private_threshold, "private_threshold", 1, 100, 99,
			   "threshold for blocks that are not shared; 100: no prefetch"),
};

/* Density with `shared_threshold` if facts->utlbs is at least `shared_utlbs`, with `private_threshold` if it
 * is less, with `threshold` if it is not known. Quirks: as density. */
const struct prefetcher uvmpi_prefetcher_safe = {
	.name = "safe",
	.summary = "as density, with a threshold by the number of uTLBs that fault on the block (SAFE)",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .may_repeat = true,
		   .has_utlbs = true},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
