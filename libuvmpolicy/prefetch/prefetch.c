/* The table of prefetchers, the check of every argument, and the call.
 *
 * UVMP_PREFETCHERS (prefetch.h) lists the prefetchers; each file prefetch_NAME.c defines its descriptor. */
#include "../base/debug_internal.h"
#include "../base/geometry_internal.h"
#include "../base/tree_internal.h"
#include "prefetch_internal.h"
#include "prefetch_plugin_internal.h"

/* In the order of the list, as the enumeration. */
#define ENTRY(upper, lower) &uvmpi_prefetcher_##lower,
static const struct prefetcher *const table[UVMP_PREFETCH_COUNT] = {UVMP_PREFETCHERS(ENTRY)};

_Static_assert((uint32_t)UVMP_PREFETCH_COUNT <= (uint32_t)UVMP_PREFETCH_PLUGIN, "the list leaves room for plugins");

/* Of the list? */
static bool is_known(enum uvmp_prefetcher prefetcher)
{
	return (uint32_t)prefetcher < UVMP_PREFETCH_COUNT;
}

const struct prefetcher *uvmpi_prefetcher_at(enum uvmp_prefetcher prefetcher)
{
	return is_known(prefetcher) ? table[prefetcher] : &uvmpi_prefetcher_plugin;
}

const char *uvmp_prefetch_name(enum uvmp_prefetcher prefetcher)
{
	return is_known(prefetcher) ? table[prefetcher]->name : NULL;
}

const struct uvmp_prefetch_traits *uvmp_prefetch_traits_of(enum uvmp_prefetcher prefetcher)
{
	return is_known(prefetcher) ? &table[prefetcher]->traits : NULL;
}

static inline bool is_plugin(const struct uvmp_prefetch_params *params)
{
	return params->prefetcher == UVMP_PREFETCH_PLUGIN && uvmpi_prefetch_plugin_is_valid(params);
}

const struct uvmp_prefetch_traits *uvmpi_prefetch_params_traits(const struct uvmp_prefetch_params *params)
{
	return is_known(params->prefetcher) ? &table[params->prefetcher]->traits : &params->plugin->traits;
}

uint32_t uvmpi_prefetch_batch_in_one_block(const struct uvmp_prefetch_params *params)
{
	const struct prefetcher *prefetcher = uvmpi_prefetcher_at(params->prefetcher);

	return prefetcher->batch_in_one_block == NULL ? 0 : prefetcher->batch_in_one_block(params);
}

bool uvmpi_prefetch_chains_batches(const struct uvmp_prefetch_params *params)
{
	const struct prefetcher *prefetcher = uvmpi_prefetcher_at(params->prefetcher);

	return prefetcher->chains_batches != NULL && prefetcher->chains_batches(params);
}

/* -- parameters -- */

void uvmp_prefetch_params_init(struct uvmp_prefetch_params *params, enum uvmp_prefetcher prefetcher)
{
	if (params == NULL)
		return;
	*params = (struct uvmp_prefetch_params){.prefetcher = prefetcher, .quirks = true};
	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++)
		uvmpi_parameters_init(table[i]->parameter, table[i]->parameters, params);
}

enum uvmp_status uvmp_prefetch_params_init_plugin(struct uvmp_prefetch_params *params,
						  const struct uvmp_prefetch_plugin *plugin)
{
	if (params == NULL || plugin == NULL || uvmpi_prefetch_plugin_defect(plugin).status != UVMP_OK)
		return UVMP_ERR_ARGUMENT;
	uvmp_prefetch_params_init(params, UVMP_PREFETCH_PLUGIN);
	params->plugin = plugin;
	uvmpi_plugin_values_init(plugin->parameter, plugin->parameters, params->value);
	return UVMP_OK;
}

void uvmpi_prefetch_params_scale(struct uvmp_prefetch_params *params, uint32_t smaller)
{
	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		for (uint32_t k = 0; k < table[i]->parameters; k++) {
			const struct parameter *parameter = &table[i]->parameter[k];
			uint64_t pages = uvmpi_field_get(params, parameter->offset, parameter->bytes);

			if (parameter->is_pages)
				uvmpi_field_set(params, parameter->offset, parameter->bytes,
						(pages + smaller - 1u) / smaller);
		}
	}
}

/* Each parameter is a uint32_t. */
UVMPI_INLINE bool are_in_range(const struct prefetcher *prefetcher, const struct uvmp_prefetch_params *params)
{
	const struct parameter *parameter = prefetcher->parameter; /* NULL: no parameters */

	for (uint32_t left = prefetcher->parameters; left > 0; left--, parameter++) {
		const uint32_t *field = (const uint32_t *)(const void *)((const uint8_t *)params + parameter->offset);

		if (!parameter_accepts(parameter, *field))
			return false;
	}
	return true;
}

/* [driver: threshold-zero]: the driver documents a threshold of 1..100 and accepts 0. */
UVMPI_INLINE bool are_params_valid(const struct prefetcher *prefetcher, const struct uvmp_prefetch_params *params)
{
	do {
		if (!are_in_range(prefetcher, params))
			return false;
		prefetcher = prefetcher->base;
	} while (prefetcher != NULL);
	return params->quirks || params->threshold != 0;
}

bool uvmp_prefetch_params_is_valid(const struct uvmp_prefetch_params *params)
{
	if (params == NULL || (!is_known(params->prefetcher) && !is_plugin(params)))
		return false;
	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++)
		if (!are_params_valid(table[i], params))
			return false;
	return true;
}

/* -- state and facts -- */

void uvmp_prefetch_state_init(struct uvmp_prefetch_state *state)
{
	if (state == NULL)
		return;
	state->last_proc = UVMP_PROC_NONE;
	state->faults = 0;
	state->tree = NULL;
	state->random = NULL;
	state->block = NULL;
	state->range = NULL;
	state->processor = NULL;
}

UVMPI_INLINE bool is_state_valid(const struct uvmp_prefetch_state *state)
{
	return state->last_proc <= UVMP_PROC_NONE && (state->tree == NULL || uvmpi_tree_is_valid(state->tree));
}

bool uvmp_prefetch_state_is_valid(const struct uvmp_prefetch_state *state)
{
	return state != NULL && is_state_valid(state);
}

UVMPI_INLINE bool is_region_of_block(struct uvmp_region region, uint32_t pages)
{
	return !uvmp_region_is_empty(region) && region.end <= pages;
}

/* Is the faulted region one of the block, and does any page fault? The region is inside the mask, and as a rule its first
 * page has faulted. */
UVMPI_INLINE bool has_faults(const struct uvmp_prefetch_facts *facts)
{
	struct uvmp_region region = facts->faulted_region;

	return is_region_of_block(region, facts->block.pages) &&
	       ((facts->faulted->word[region.first / 64u] >> region.first % 64u & 1u) != 0 ||
		!uvmpi_mask_is_empty(facts->faulted));
}

/* -- arguments: what every decision has, and what only some have -- */

/* This and its parts are always inline: of its two callers, uvmp_prefetch_decide must not save registers. */
UVMPI_INLINE enum uvmp_status check_common(const struct prefetcher *prefetcher, const struct uvmp_prefetch_params *params,
					    const struct uvmp_prefetch_facts *facts,
					    const struct uvmp_prefetch_state *state, const struct uvmp_prefetch_hint *hint)
{
	if (!are_params_valid(prefetcher, params) || state == NULL || !is_state_valid(state))
		return UVMP_ERR_ARGUMENT;
	if (facts == NULL || hint == NULL || !uvmpi_block_is_valid(&facts->block) || facts->faulted == NULL ||
	    (facts->range_groups != 0 && facts->range_group == NULL))
		return UVMP_ERR_ARGUMENT;
	if (facts->to >= UVMP_PROCS_MAX ||
	    !is_optional_proc(facts->has_preferred, facts->preferred, UVMP_PROCS_MAX))
		return UVMP_ERR_RANGE;
	return UVMP_OK;
}

/* Does the block have faults in its faulted region, or need none? */
UVMPI_INLINE bool has_reason(const struct uvmp_prefetch_facts *facts)
{
	return facts->is_follow || has_faults(facts);
}

/* Does check_parts have anything to check? */
static inline bool has_parts(const struct uvmp_prefetch_facts *facts)
{
	return ((facts->block.pages ^ UVMP_MASK_BITS) | facts->range_groups | facts->is_hmm) != 0;
}

/* Does check_traits? */
static inline bool has_demands(const struct uvmp_prefetch_traits *traits, const struct uvmp_prefetch_facts *facts)
{
	return (facts->is_follow | traits->has_tree | traits->has_random | traits->walks_ranges | traits->range_bytes |
		traits->processor_bytes) != 0;
}

/* Pages of the mask behind the block, which has less than 512 pages: not 0 if there are any. No mask has none. */
static inline uint64_t pages_beyond(const uvmp_mask *mask, uint32_t pages)
{
	uint32_t w = pages / 64u;
	uint64_t beyond;

	if (mask == NULL)
		return 0;
	beyond = mask->word[w] >> pages % 64u;
	while (++w < UVMP_MASK_WORDS)
		beyond |= mask->word[w];
	return beyond;
}

static bool do_masks_fit(const struct uvmp_prefetch_facts *facts)
{
	uint32_t pages = facts->block.pages;

	return pages == UVMP_MASK_BITS ||
	       (pages_beyond(facts->faulted, pages) | pages_beyond(facts->resident, pages) |
		pages_beyond(facts->pending, pages) | pages_beyond(facts->thrashing, pages) |
		pages_beyond(facts->cpu_resident, pages) | pages_beyond(facts->cpu_read_mapped, pages)) == 0;
}

static bool do_regions_fit(const struct uvmp_prefetch_facts *facts)
{
	uint32_t pages = facts->block.pages;

	if (facts->is_hmm && !is_region_of_block(facts->max_region, pages))
		return false;
	for (uint32_t i = 0; i < facts->range_groups; i++)
		if (!is_region_of_block(facts->range_group[i], pages))
			return false;
	return true;
}

static inline enum uvmp_status check_parts(const struct uvmp_prefetch_facts *facts)
{
	return do_masks_fit(facts) && do_regions_fit(facts) ? UVMP_OK : UVMP_ERR_RANGE;
}

/* 1: a private state of so many bytes is missing. */
static inline uint32_t is_lacking(uint32_t bytes, const void *memory)
{
	return bytes != 0 && memory == NULL;
}

/* Private states that a decision cannot do without. */
static inline bool has_states(const struct uvmp_prefetch_traits *traits, const struct uvmp_prefetch_state *state)
{
	return (is_lacking(traits->range_bytes, state->range) | is_lacking(traits->processor_bytes, state->processor)) == 0;
}

/* Checks the facts that the traits require: a tree that covers the block, a random state, a range that
 * contains the block. */
static inline enum uvmp_status check_traits(const struct uvmp_prefetch_traits *traits,
					    const struct uvmp_prefetch_facts *facts,
					    const struct uvmp_prefetch_state *state)
{
	if (facts->is_follow && !traits->walks_ranges)
		return UVMP_ERR_RANGE;
	if (!has_states(traits, state) || (traits->has_random && state->random == NULL))
		return UVMP_ERR_ARGUMENT;
	if (traits->has_tree &&
	    (state->tree == NULL || state->tree->blocks * UVMP_BASIC_BLOCK_PAGES < facts->block.pages))
		return UVMP_ERR_ARGUMENT;
	if (traits->walks_ranges && (facts->range_pages < facts->block.pages ||
				     facts->range_pages - facts->block.pages < facts->range_first))
		return UVMP_ERR_RANGE;
	return (traits->has_tree || traits->has_random) && uvmpi_prefetch_is_refault(facts) ? UVMP_ERR_RANGE
											    : UVMP_OK;
}

static UVMPI_NOINLINE enum uvmp_status
check_traits_and_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = check_traits(uvmpi_prefetch_params_traits(params), facts, state);

	return status == UVMP_OK ? uvmpi_prefetcher_at(params->prefetcher)->decide(params, facts, state, hint) : status;
}

static UVMPI_NOINLINE enum uvmp_status
check_rest_and_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		      struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status = check_parts(facts);

	return status == UVMP_OK ? check_traits_and_decide(params, facts, state, hint) : status;
}

/* -- decisions -- */

struct uvmp_region uvmp_prefetch_subtree(const uvmp_mask *subtrees, uint32_t page)
{
	uint32_t i = page / 64u;
	uint64_t word = subtrees->word[i] & ~(uint64_t)0 >> (63u - page % 64u);
	struct uvmp_region subtree = {0, 0};

	while (word == 0 && i > 0)
		word = subtrees->word[--i];
	if (word != 0) {
		for (uint32_t shift = 1; shift < 64u; shift *= 2u)
			word |= word >> shift; /* smear the highest bit down */
		subtree.first = i * 64u + popcount(word) - 1u;
		subtree.end = uvmpi_mask_next_set(subtrees, page + 1u);
	}
	return subtree;
}

enum uvmp_status uvmp_prefetch_left(enum uvmp_prefetcher prefetcher, void *block,
				    const struct uvmp_prefetch_departure *departure)
{
	if (!is_known(prefetcher) || departure == NULL || departure->gone == NULL)
		return UVMP_ERR_ARGUMENT;
	if (departure->processor >= UVMP_PROCS_MAX)
		return UVMP_ERR_RANGE;
	if (table[prefetcher]->left != NULL && block != NULL)
		table[prefetcher]->left(block, departure);
	return UVMP_OK;
}

enum uvmp_status uvmp_prefetch_touched(const struct uvmp_prefetch_params *params,
				       const struct uvmp_prefetch_touch *touch, struct uvmp_prefetch_state *state)
{
	const struct prefetcher *prefetcher;

	if (touch == NULL || state == NULL || !uvmp_prefetch_params_is_valid(params))
		return UVMP_ERR_ARGUMENT;
	prefetcher = uvmpi_prefetcher_at(params->prefetcher);
	if (!has_states(uvmpi_prefetch_params_traits(params), state))
		return UVMP_ERR_ARGUMENT;
	if (touch->page >= UVMP_MASK_BITS || touch->range_page >= touch->range_pages)
		return UVMP_ERR_RANGE;
	if (prefetcher->touched != NULL)
		prefetcher->touched(params, touch, state->range, state->block);
	return UVMP_OK;
}

/* Facts of zero that stand for others: no region is the bounds of the faults, no range is the block alone. */
static void complete_facts(struct uvmp_prefetch_facts *facts)
{
	if (facts->faulted_region.first == 0 && facts->faulted_region.end == 0)
		facts->faulted_region = uvmpi_mask_bounds(facts->faulted);
	if (facts->range_pages == 0)
		facts->range_pages = facts->block.pages;
}

static UVMPI_NOINLINE enum uvmp_status
complete_and_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		    struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_facts full = *facts;

	complete_facts(&full);
	return has_reason(&full) ? check_rest_and_decide(params, &full, state, hint) : UVMP_ERR_RANGE;
}

/* Does the prefetcher read a fact that complete_facts sets? */
static inline bool has_gaps(const struct uvmp_prefetch_traits *traits, const struct uvmp_prefetch_facts *facts)
{
	return !has_reason(facts) || (traits->walks_ranges && facts->range_pages == 0);
}

static UVMPI_NOINLINE enum uvmp_status decide_plugin(const struct uvmp_prefetch_params *params,
						     const struct uvmp_prefetch_facts *facts,
						     struct uvmp_prefetch_state *state,
						     struct uvmp_prefetch_hint *hint)
{
	enum uvmp_status status;

	if (params == NULL || !is_plugin(params))
		return UVMP_ERR_ARGUMENT;
	status = check_common(&uvmpi_prefetcher_plugin, params, facts, state, hint);
	return status == UVMP_OK ? complete_and_decide(params, facts, state, hint) : status;
}

/* All calls are in tail position: no register must be saved. */
enum uvmp_status uvmp_prefetch_decide(const struct uvmp_prefetch_params *params,
				      const struct uvmp_prefetch_facts *facts,
				      struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	const struct prefetcher *prefetcher;
	enum uvmp_status status;

	if (params == NULL || !is_known(params->prefetcher))
		return decide_plugin(params, facts, state, hint);
	prefetcher = table[params->prefetcher];
	status = check_common(prefetcher, params, facts, state, hint);
	if (status != UVMP_OK)
		return status;
	if (has_gaps(&prefetcher->traits, facts))
		return complete_and_decide(params, facts, state, hint);
	if (has_parts(facts))
		return check_rest_and_decide(params, facts, state, hint);
	if (has_demands(&prefetcher->traits, facts))
		return check_traits_and_decide(params, facts, state, hint);
	return prefetcher->decide(params, facts, state, hint);
}

enum uvmp_status uvmpi_prefetch_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	const struct prefetcher *prefetcher = uvmpi_prefetcher_at(params->prefetcher);

	UVMPI_ASSERT(check_common(prefetcher, params, facts, state, hint) == UVMP_OK && has_reason(facts));
	UVMPI_ASSERT(check_parts(facts) == UVMP_OK);
	UVMPI_ASSERT(check_traits(uvmpi_prefetch_params_traits(params), facts, state) == UVMP_OK);
	return prefetcher->decide(params, facts, state, hint);
}
