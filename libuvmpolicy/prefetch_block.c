/* The two ends of the scale: fetch nothing beside the faulted pages, or everything in the block. */
#include "prefetch_internal.h"

enum uvmp_status uvmp_prefetch_none(const struct uvmp_prefetch_params *params,
                                    const struct uvmp_prefetch_facts *facts,
                                    struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_check(params, facts, state, hint);

	if (status == UVMP_OK)
		uvmp_prefetch_hint_clear(hint);
	return status;
}

enum uvmp_status uvmp_prefetch_block(const struct uvmp_prefetch_params *params,
                                     const struct uvmp_prefetch_facts *facts,
                                     struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_check(params, facts, state, hint);

	if (status != UVMP_OK)
		return status;
	uvmp_prefetch_hint_clear(hint);
	uvmp_prefetch_absent(facts, &hint->pages);
	if (!uvmp_mask_is_empty(&hint->pages))
		hint->dst = facts->dst;
	return UVMP_OK;
}
