/* The table of prefetchers, and what they share: defaults, the check of parameters, facts and state, the
 * hint, and the set of pages that are still absent. */
#include "../base/bits_internal.h"
#include "prefetch_internal.h"

/* One row per prefetcher: value, name, function, grouping, other traits. Rows of a macro, because an array of
 * pointers would have to be relocated, and so be written, before it can be read. */
#define PREFETCHERS(ROW)                                                                                     \
	ROW(UVMP_PREFETCH_NONE, "none", uvmp_prefetch_none, UVMP_GROUPING_BY_CAUSE, 0)                       \
	ROW(UVMP_PREFETCH_DENSITY, "density", uvmp_prefetch_density, UVMP_GROUPING_BY_CAUSE,                 \
	    DRIVER | REPEAT | THRESHOLD)                                                                     \
	ROW(UVMP_PREFETCH_TBN, "tbn", uvmp_prefetch_tbn, UVMP_GROUPING_RUN_TO_FAULT, TREE)                   \
	ROW(UVMP_PREFETCH_SL, "sl", uvmp_prefetch_sl, UVMP_GROUPING_RUN_TO_FAULT, TREE)                      \
	ROW(UVMP_PREFETCH_RANDOM, "random", uvmp_prefetch_random, UVMP_GROUPING_SINGLE, 0)                   \
	ROW(UVMP_PREFETCH_SEQUENTIAL, "sequential", uvmp_prefetch_sequential, UVMP_GROUPING_RUN_TO_FAULT,    \
	    RANGES)                                                                                          \
	ROW(UVMP_PREFETCH_LOCALITY, "locality", uvmp_prefetch_locality, UVMP_GROUPING_RUN_TO_FAULT, RANGES)  \
	ROW(UVMP_PREFETCH_BLOCK, "block", uvmp_prefetch_block, UVMP_GROUPING_BY_CAUSE, 0)                    \
	ROW(UVMP_PREFETCH_STRIDE, "stride", uvmp_prefetch_stride, UVMP_GROUPING_BY_CAUSE, RANGES)            \
	ROW(UVMP_PREFETCH_NEXT, "next", uvmp_prefetch_next, UVMP_GROUPING_BY_CAUSE,                          \
	    DRIVER | RANGES | THRESHOLD)                                                                     \
	ROW(UVMP_PREFETCH_PATTERN, "pattern", uvmp_prefetch_pattern, UVMP_GROUPING_BY_CAUSE,                 \
	    DRIVER | REPEAT | THRESHOLD)                                                                     \
	ROW(UVMP_PREFETCH_SAFE, "safe", uvmp_prefetch_safe, UVMP_GROUPING_BY_CAUSE, DRIVER | REPEAT)

#define DRIVER    1u
#define REPEAT    2u
#define TREE      4u
#define RANGES    8u
#define THRESHOLD 16u

#define NAME(value, name, function, grouping, traits) [value] = name,
#define TRAITS(value, name, function, grouping, traits)                                                      \
	[value] = {grouping,                                                                                 \
	           ((traits)&DRIVER) != 0,                                                                   \
	           ((traits)&REPEAT) != 0,                                                                   \
	           ((traits)&TREE) != 0,                                                                     \
	           ((traits)&RANGES) != 0,                                                                   \
	           ((traits)&THRESHOLD) != 0},
#define CALL(value, name, function, grouping, traits)                                                        \
	case value:                                                                                          \
		return function(params, facts, state, hint);

static const char names[UVMP_PREFETCH_COUNT][16] = {PREFETCHERS(NAME)};
static const struct uvmp_prefetch_traits all_traits[UVMP_PREFETCH_COUNT] = {PREFETCHERS(TRAITS)};

static bool is_known(enum uvmp_prefetcher prefetcher)
{
	return (uint32_t)prefetcher < UVMP_PREFETCH_COUNT;
}

static bool is_between(uint32_t value, uint32_t low, uint32_t high)
{
	return value >= low && value <= high;
}

const char *uvmp_prefetch_name(enum uvmp_prefetcher prefetcher)
{
	return is_known(prefetcher) ? names[prefetcher] : NULL;
}

const struct uvmp_prefetch_traits *uvmp_prefetch_traits_of(enum uvmp_prefetcher prefetcher)
{
	return is_known(prefetcher) ? &all_traits[prefetcher] : NULL;
}

void uvmp_prefetch_params_init(struct uvmp_prefetch_params *params, enum uvmp_prefetcher prefetcher)
{
	if (params == NULL)
		return;
	params->prefetcher = prefetcher;
	params->threshold = 51;
	params->min_faults = 1;
	params->sequential_pages = 1;
	params->locality_pages = 128;
	params->stride_depth = 4;
	params->stride_confidence = 2;
	params->next_blocks = 2;
	params->next_percent = 90;
	params->shared_utlbs = 2;
	params->shared_threshold = 1;
	params->private_threshold = 99;
	params->quirks = true;
}

bool uvmp_prefetch_params_is_valid(const struct uvmp_prefetch_params *params)
{
	/* Driver Q8: 1..100 is documented, 0 accepted. */
	return params != NULL && is_known(params->prefetcher) &&
	       is_between(params->threshold, params->quirks ? 0 : 1, 100) &&
	       is_between(params->min_faults, 1, 20) &&
	       is_between(params->sequential_pages, 1, UVMP_MASK_BITS) &&
	       is_between(params->locality_pages, 1, UVMP_MASK_BITS) &&
	       is_between(params->stride_depth, 1, 64) && is_between(params->stride_confidence, 1, 7) &&
	       is_between(params->next_blocks, 1, 8) && is_between(params->next_percent, 1, 100) &&
	       is_between(params->shared_utlbs, 2, 4096) && is_between(params->shared_threshold, 1, 100) &&
	       is_between(params->private_threshold, 1, 100);
}

void uvmp_prefetch_state_init(struct uvmp_prefetch_state *state)
{
	if (state == NULL)
		return;
	state->last_proc = UVMP_PROC_NONE;
	state->faults = 0;
	state->tree = NULL;
	state->range = NULL;
	state->random = NULL;
	state->pattern = NULL;
}

bool uvmp_prefetch_state_is_valid(const struct uvmp_prefetch_state *state)
{
	return state != NULL && state->last_proc <= UVMP_PROC_NONE &&
	       (state->tree == NULL || uvmp_tree_is_valid(state->tree));
}

static bool is_region_of_block(struct uvmp_region region, uint32_t pages)
{
	return !uvmp_region_is_empty(region) && region.outer <= pages;
}

/* Does the mask stay inside the block? No mask does. */
static bool fits(const uvmp_mask *mask, uint32_t pages)
{
	struct uvmp_region beyond = {pages, UVMP_MASK_BITS};

	return mask == NULL || !uvmp_mask_region_any(mask, beyond);
}

static bool do_masks_fit(const struct uvmp_prefetch_facts *facts)
{
	uint32_t pages = facts->block.pages;

	return fits(facts->faulted, pages) && fits(facts->resident, pages) && fits(facts->pending, pages) &&
	       fits(facts->thrashing, pages) && fits(facts->cpu_resident, pages) &&
	       fits(facts->cpu_read_mapped, pages);
}

static bool do_regions_fit(const struct uvmp_prefetch_facts *facts)
{
	uint32_t pages = facts->block.pages;

	if (!facts->is_follow &&
	    (uvmp_mask_is_empty(facts->faulted) || !is_region_of_block(facts->faulted_region, pages)))
		return false;
	if (facts->is_hmm && !is_region_of_block(facts->max_region, pages))
		return false;
	for (uint32_t i = 0; i < facts->range_groups; i++)
		if (!is_region_of_block(facts->range_group[i], pages))
			return false;
	return true;
}

enum uvmp_status uvmp_prefetch_check(const struct uvmp_prefetch_params *params,
                                     const struct uvmp_prefetch_facts *facts,
                                     const struct uvmp_prefetch_state *state,
                                     const struct uvmp_prefetch_hint *hint)
{
	if (facts == NULL || hint == NULL || facts->faulted == NULL)
		return UVMP_ERR_ARGUMENT;
	if (facts->range_group == NULL && facts->range_groups != 0)
		return UVMP_ERR_ARGUMENT;
	if (!uvmp_prefetch_params_is_valid(params) || !uvmp_prefetch_state_is_valid(state) ||
	    !uvmp_block_is_valid(&facts->block))
		return UVMP_ERR_ARGUMENT;
	if (facts->dst >= UVMP_PROCS_MAX ||
	    !is_optional_proc(facts->has_preferred, facts->preferred, UVMP_PROCS_MAX))
		return UVMP_ERR_RANGE;
	return do_masks_fit(facts) && do_regions_fit(facts) ? UVMP_OK : UVMP_ERR_RANGE;
}

enum uvmp_status uvmp_prefetch_block_check(const struct uvmp_prefetch_params *params,
                                           const struct uvmp_prefetch_facts *facts,
                                           const struct uvmp_prefetch_state *state,
                                           const struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = uvmp_prefetch_check(params, facts, state, hint);

	if (status != UVMP_OK)
		return status;
	return facts->is_follow ? UVMP_ERR_RANGE : UVMP_OK;
}

void uvmp_prefetch_hint_set(struct uvmp_prefetch_hint *hint, uint32_t dst, const uvmp_mask *pages)
{
	hint->pages = *pages;
	hint->dst = uvmp_mask_is_empty(pages) ? UVMP_PROC_NONE : dst;
	hint->follow = UVMP_PAGE_NONE;
	hint->basic_blocks = 0;
}

void uvmp_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	struct uvmp_region all = {0, facts->block.pages};
	uvmp_mask absent;

	uvmp_mask_zero(&absent);
	uvmp_mask_region_set(&absent, all);
	uvmp_mask_andnot(&absent, &absent, facts->faulted);
	if (facts->resident != NULL)
		uvmp_mask_andnot(&absent, &absent, facts->resident);
	if (facts->pending != NULL)
		uvmp_mask_andnot(&absent, &absent, facts->pending);
	*pages = absent;
}

static bool is_in(const uvmp_mask *pages, const uvmp_mask *set)
{
	return set != NULL && uvmp_mask_intersects(pages, set);
}

bool uvmp_prefetch_is_refault(const struct uvmp_prefetch_facts *facts)
{
	return is_in(facts->faulted, facts->resident) || is_in(facts->faulted, facts->pending);
}

enum uvmp_status uvmp_prefetch_decide(const struct uvmp_prefetch_params *params,
                                      const struct uvmp_prefetch_facts *facts,
                                      struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	if (params == NULL || !is_known(params->prefetcher))
		return UVMP_ERR_ARGUMENT;
	switch (params->prefetcher) {
	default: /* not reached: joined to the first row */
		PREFETCHERS(CALL)
	}
}
