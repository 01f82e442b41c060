/* Sequential prefetch after Zheng et al. (uvm-smart specification, 9.2): a cursor walks the range once, from
 * its first page to its last, whatever faults. A decision takes the next few pages on its way that are
 * neither resident, in flight nor faulting.
 *
 * The cursor is rarely in the block that faulted. A decision sees one block, so it takes what lies in its
 * block and asks, through hint->follow, to be called again for the block that holds the cursor. */
#include "prefetch_internal.h"

enum uvmp_status uvmp_prefetch_range_check(const struct uvmp_prefetch_params *params,
                                           const struct uvmp_prefetch_facts *facts,
                                           const struct uvmp_prefetch_state *state,
                                           const struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_check(params, facts, state, hint);

	if (status != UVMP_OK)
		return status;
	if (state->range == NULL)
		return UVMP_ERR_ARGUMENT;
	if (facts->range_pages < facts->block.pages ||
	    facts->range_pages - facts->block.pages < facts->range_first)
		return UVMP_ERR_RANGE;
	return UVMP_OK;
}

static bool has_cursor(const struct uvmp_prefetch_facts *facts, const struct uvmp_prefetch_range *range)
{
	return range->cursor >= facts->range_first && range->cursor - facts->range_first < facts->block.pages;
}

/* Takes up to `budget` of the absent pages from the cursor on, which lies in the block. */
static void take(const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_range *range, uvmp_mask *pages)
{
	uint32_t next = (uint32_t)(range->cursor - facts->range_first);
	uvmp_mask absent;

	uvmp_prefetch_absent(facts, &absent);
	while (range->budget != 0) {
		uint32_t page = uvmp_mask_next_set(&absent, next);

		if (page == UVMP_MASK_BITS) {
			next = facts->block.pages;
			break;
		}
		uvmp_mask_set(pages, page);
		range->budget--;
		next = page + 1u;
	}
	range->cursor = facts->range_first + next;
}

enum uvmp_status uvmp_prefetch_sequential(const struct uvmp_prefetch_params *params,
                                          const struct uvmp_prefetch_facts *facts,
                                          struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_range_check(params, facts, state, hint);
	struct uvmp_prefetch_range *range;
	uvmp_mask pages;

	if (status != UVMP_OK)
		return status;
	range = state->range;
	/* The answer could only be the question again, for ever. */
	if (facts->is_follow && !has_cursor(facts, range))
		return UVMP_ERR_RANGE;
	uvmp_mask_zero(&pages);
	if (!facts->is_follow)
		range->budget = params->sequential_pages;
	if (has_cursor(facts, range))
		take(facts, range, &pages);
	uvmp_prefetch_hint_set(hint, facts->dst, &pages);
	if (range->budget != 0 && range->cursor < facts->range_pages)
		hint->follow = range->cursor;
	return UVMP_OK;
}
