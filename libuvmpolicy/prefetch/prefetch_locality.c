/* Locality-aware prefetch after Zheng et al. [uvmsmart: zheng-prefetchers]: `locality_pages` consecutive
 * pages of the range from each faulting page on, without pages that are resident, in flight or faulting.
 *
 * Pages beyond the block are requested block by block through hint->follow; range->reach is their end. */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

/* How far [page, page + locality_pages) of the last faulting page goes, cut at the end of the range. */
static uint64_t reach_of(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts)
{
	uint64_t end = (uint64_t)uvmpi_mask_bounds(facts->faulted).end - 1u + params->locality_pages;
	uint64_t left = facts->range_pages - facts->range_first;

	return facts->range_first + (end < left ? end : left);
}

/* Adds all pages within `locality_pages` from a faulting page on. */
static void spread(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		   uvmp_mask *pages)
{
	for (uint32_t p = uvmpi_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmpi_mask_next_set(facts->faulted, p + 1u)) {
		struct uvmp_region run = {p, p + params->locality_pages};

		uvmpi_mask_region_set(pages, run);
	}
}

/* Adds the pages of the block before `reach`. */
static void carry_on(const struct uvmp_prefetch_facts *facts, uint64_t reach, uvmp_mask *pages)
{
	struct uvmp_region run = {0, 0};

	if (reach > facts->range_first)
		run.end = reach - facts->range_first < UVMP_MASK_BITS
				    ? (uint32_t)(reach - facts->range_first)
				    : UVMP_MASK_BITS;
	uvmpi_mask_region_set(pages, run);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct locality_range *range = (struct locality_range *)state->range;
	uvmp_mask pages, absent;
	uint64_t end;

	uvmpi_mask_zero(&pages);
	if (facts->is_follow) {
		carry_on(facts, range->reach, &pages);
	} else {
		spread(params, facts, &pages);
		range->reach = reach_of(params, facts);
	}
	uvmpi_prefetch_absent(facts, &absent);
	uvmpi_mask_and(&pages, &pages, &absent);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	end = facts->range_first + facts->block.pages;
	if (range->reach > end && end < facts->range_pages)
		hint->follow = end;
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PREFETCH_PAGES(locality_pages, "locality_pages", 1, 512, 128,
		       "pages of 4 KiB to fetch, the faulted page first"),
};

/* Zheng et al. [uvmsmart: zheng-prefetchers]: pages [p, p + locality_pages) of each faulting page p, cut at
 * the end of the range, without those resident, pending or faulting. Pages beyond the block are requested
 * through hint->follow (see struct uvmp_prefetch_hint). UVMP_ERR_RANGE also: range_pages < range_first +
 * block.pages. */
const struct prefetcher uvmpi_prefetcher_locality = {
	.name = "locality",
	.summary = "locality_pages pages from the faulted page on",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT,
		   .walks_ranges = true,
		   .has_one_gpu = true,
		   .range_bytes = sizeof(struct locality_range)},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
};
