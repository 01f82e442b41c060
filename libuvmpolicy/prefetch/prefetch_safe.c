/* Sharing-aware prefetch (SAFE: Shin et al., IEEE Computer Architecture Letters 24(1), 2025).
 *
 * Idea: whether a program is regular shows in how many SMs share a block, and so does whether prefetching
 * pays. Faults carry the uTLB they came from; a few SMs share one. So the number of different uTLBs that
 * fault on a block chooses between two configurations of the driver's prefetcher.
 *
 * Written from the abstract, which tells neither the rule nor the configurations. Assumed: a block is shared
 * from `shared_utlbs` uTLBs on; shared blocks are fetched aggressively, others hardly, each by a threshold of
 * density. Threshold 1 brings the whole block after any fault, 99 the faulting big pages alone, 100 nothing;
 * who takes sharing for a sign of disorder exchanges the two. Over which time uTLBs are counted is the host's
 * choice: those of the batch need no memory. A number that is not known (0) leaves density as it is. */
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
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .may_repeat = true,
		   .has_utlbs = true},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
