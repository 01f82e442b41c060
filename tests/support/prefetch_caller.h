/* Plays the caller of the prefetchers that cross blocks, over one range cut into blocks of equal size:
 * decides for each block with faults, and then for each block that hint->follow names, as struct
 * uvmp_prefetch_hint states. */
#ifndef PREFETCH_CALLER_H
#define PREFETCH_CALLER_H

#include <string.h>

#include "support/page_text.h"
#include "support/prefetch_case.h"
#include "uvmpolicy/prefetch.h"

#define CALLER_PAGES 512u

struct prefetch_caller {
	struct uvmp_prefetch_params params;
	union prefetch_range range;
	uint32_t pages, block_pages; /* of the range, of a block; the last block may be shorter */
	uvmp_mask resident, faulted; /* pages of the range, which in tests has at most 512 */
	uvmp_mask fetched;           /* of this batch */
	unsigned asked;              /* decisions made */
};

static inline void prefetch_caller_init(struct prefetch_caller *c, enum uvmp_prefetcher prefetcher,
                                        uint32_t pages, uint32_t block_pages)
{
	memset(c, 0, sizeof(*c));
	uvmp_prefetch_params_init(&c->params, prefetcher);
	c->pages = pages;
	c->block_pages = block_pages;
}

/* Decides for one block. Returns the status; *follow is what the hint says. */
static inline enum uvmp_status prefetch_caller_ask(struct prefetch_caller *c, uint32_t index, bool is_follow,
                                                   uint64_t *follow)
{
	uint32_t first = index * c->block_pages;
	uint32_t left = c->pages - first;
	struct uvmp_region own = {0, left < c->block_pages ? left : c->block_pages};
	uvmp_mask resident, pending, faulted, taken;
	struct uvmp_prefetch_facts facts = {
	        .faulted = &faulted,
	        .resident = &resident,
	        .pending = &pending,
	        .to = 1,
	        .range_first = first,
	        .range_pages = c->pages,
	        .is_follow = is_follow,
	};
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	enum uvmp_status status;

	uvmp_mask_shift_down(&resident, &c->resident, first);
	uvmp_mask_shift_down(&pending, &c->fetched, first);
	uvmp_mask_shift_down(&faulted, &c->faulted, first);
	uvmp_mask_region_and(&resident, &resident, own);
	uvmp_mask_region_and(&pending, &pending, own);
	uvmp_mask_region_and(&faulted, &faulted, own);
	*follow = UVMP_PAGE_NONE;
	if (!is_follow && uvmp_mask_is_empty(&faulted))
		return UVMP_OK;
	c->asked++;
	facts.faulted_region = uvmp_mask_bounds(&faulted);
	(void)uvmp_block_from_shape(own.end, 0, 16, &facts.block);
	uvmp_prefetch_state_init(&state);
	state.range = &c->range;
	status = uvmp_prefetch_decide(&c->params, &facts, &state, &hint);
	if (status != UVMP_OK)
		return status;
	*follow = hint.follow;
	uvmp_mask_shift_up(&taken, &hint.pages, first);
	uvmp_mask_or(&c->fetched, &c->fetched, &taken);
	return UVMP_OK;
}

/* One batch of faults; what it fetches is in c->fetched and becomes resident, together with the faulted
 * pages. */
static inline enum uvmp_status prefetch_caller_batch(struct prefetch_caller *c, const uvmp_mask *faulted)
{
	enum uvmp_status status = UVMP_OK;

	c->faulted = *faulted;
	uvmp_mask_zero(&c->fetched);
	c->asked = 0;
	for (uint32_t i = 0; i * c->block_pages < c->pages && status == UVMP_OK; i++) {
		uint64_t follow;

		status = prefetch_caller_ask(c, i, false, &follow);
		while (status == UVMP_OK && follow != UVMP_PAGE_NONE)
			status = prefetch_caller_ask(c, (uint32_t)follow / c->block_pages, true, &follow);
	}
	uvmp_mask_or(&c->resident, &c->resident, &c->faulted);
	uvmp_mask_or(&c->resident, &c->resident, &c->fetched);
	return status;
}

#endif
