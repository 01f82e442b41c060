/* Random prefetch of UVM Smart [uvmsmart: random-page]: for each faulting page, ascending, one draw over the
 * pages of the block. The drawn page is fetched unless it is resident, in flight, or already moved for this
 * batch. There is no second draw.
 *
 * [uvmsmart: random-page-twice]: the original means to exclude every page of the batch but only knows the
 * pages before the present one. So a later faulting page can be drawn, and is then moved (and counted in the
 * tree) twice. */
#include "prefetch_internal.h"

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	uvmp_mask free_pages, taken;

	uvmpi_mask_zero(&taken);
	uvmpi_prefetch_absent(facts, &free_pages);
	if (params->quirks)
		uvmpi_mask_or(&free_pages, &free_pages, facts->faulted);
	for (uint32_t p = uvmpi_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmpi_mask_next_set(facts->faulted, p + 1u)) {
		uint32_t drawn = (uint32_t)uvmp_random_below(state->random, facts->block.pages);

		uvmp_tree_add(state->tree, p, 1, params->quirks);
		uvmp_mask_clear(&free_pages, p);
		if (!uvmp_mask_test(&free_pages, drawn))
			continue;
		uvmp_tree_add(state->tree, drawn, 1, params->quirks);
		uvmp_mask_clear(&free_pages, drawn);
		uvmp_mask_set(&taken, drawn);
	}
	uvmpi_prefetch_hint_set(hint, facts->to, &taken);
	return UVMP_OK;
}

/* UVM Smart's random prefetcher [uvmsmart: random-page]: for each faulting page, ascending, one draw
 * uvmp_random_below(state->random, block.pages); the page is taken only if it is neither resident nor pending
 * nor chosen already; no second draw. With state->tree each page moved counts there. The original moves each
 * drawn page directly behind the page it was drawn for; hint->pages does not keep that order. UVMP_ERR_RANGE
 * also: a faulted page is resident or pending. Quirk: [uvmsmart: random-page-twice] (a page that faults later
 * in this batch can be drawn, and is then moved twice: it shows in hint->pages although it faulted, and
 * counts twice in the tree). */
const struct prefetcher uvmpi_prefetcher_random = {
	.name = "random",
	.summary = "one random absent page of the tree for each faulted page",
	.traits = {.grouping = UVMP_GROUPING_SINGLE, .has_random = true},
	.decide = decide,
};
