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

enum uvmp_status uvmp_prefetch_safe(const struct uvmp_prefetch_params *params,
                                    const struct uvmp_prefetch_facts *facts,
                                    struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_block_check(params, facts, state, hint);
	struct uvmp_prefetch_params density;

	if (status != UVMP_OK)
		return status;
	density = *params;
	if (facts->utlbs != 0)
		density.threshold = facts->utlbs >= params->shared_utlbs ? params->shared_threshold
		                                                         : params->private_threshold;
	return uvmp_prefetch_density(&density, facts, state, hint);
}
