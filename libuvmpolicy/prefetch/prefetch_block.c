/* The two ends of the scale: fetch nothing beside the faulted pages, or everything in the block. */
#include "prefetch_internal.h"

/* On-demand paging of UVM Smart (uvm-smart specification, 2.1) counts each page that moves in the tree, as an
 * eviction that goes by the tree needs it. */
enum uvmp_status uvmp_prefetch_none(const struct uvmp_prefetch_params *params,
                                    const struct uvmp_prefetch_facts *facts,
                                    struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_block_check(params, facts, state, hint);
	uvmp_mask nothing;

	if (status != UVMP_OK)
		return status;
	if (state->tree != NULL && uvmp_prefetch_is_refault(facts))
		return UVMP_ERR_RANGE;
	for (uint32_t p = uvmp_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmp_mask_next_set(facts->faulted, p + 1u))
		uvmp_tree_add(state->tree, p, 1, params->quirks);
	uvmp_mask_zero(&nothing);
	uvmp_prefetch_hint_set(hint, facts->dst, &nothing);
	return UVMP_OK;
}

enum uvmp_status uvmp_prefetch_block(const struct uvmp_prefetch_params *params,
                                     const struct uvmp_prefetch_facts *facts,
                                     struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_block_check(params, facts, state, hint);
	uvmp_mask absent;

	if (status != UVMP_OK)
		return status;
	uvmp_prefetch_absent(facts, &absent);
	uvmp_prefetch_hint_set(hint, facts->dst, &absent);
	return UVMP_OK;
}
