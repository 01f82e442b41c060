/* What uvmp_prefetch_decide refuses, in words. The checks are those of prefetch.c, in their order (test_prefetch_check.c compares
 * the two); that file has none of the texts, since the check is part of each decision. */
#include "../base/geometry_internal.h"
#include "../base/text_internal.h"
#include "../base/tree_internal.h"
#include "prefetch_internal.h"
#include "prefetch_plugin_internal.h"

static enum uvmp_status refuse(struct text *out, enum uvmp_status status, const char *what)
{
	put_text(out, what);
	return status;
}

static enum uvmp_status refuse_number(struct text *out, enum uvmp_status status, const char *name, uint64_t value,
				      uint32_t min, uint32_t max)
{
	put_text(out, name);
	put_text(out, ": ");
	put_number(out, value);
	put_text(out, " is not accepted; ");
	put_number(out, min);
	put_text(out, "..");
	put_number(out, max);
	return status;
}

/* "params->FIELD: 200 is not accepted; 0..100", for the first parameter out of its range. */
static enum uvmp_status check_parameters(const struct prefetcher *prefetcher, const struct uvmp_prefetch_params *params,
					 struct text *out)
{
	for (uint32_t i = 0; i < prefetcher->parameters; i++) {
		const struct parameter *parameter = &prefetcher->parameter[i];
		uint64_t value = uvmpi_field_get(params, parameter->offset, parameter->bytes);

		if (parameter_accepts(parameter, value))
			continue;
		put_text(out, "params->");
		return refuse_number(out, UVMP_ERR_ARGUMENT, parameter->field, value, parameter->min, parameter->max);
	}
	return UVMP_OK;
}

static enum uvmp_status check_params(const struct uvmp_prefetch_params *params, struct text *out)
{
	const struct prefetcher *prefetcher;
	enum uvmp_status status;

	if (params == NULL)
		return refuse(out, UVMP_ERR_ARGUMENT, "params: missing (NULL)");
	if ((uint32_t)params->prefetcher >= UVMP_PREFETCH_COUNT && params->prefetcher != UVMP_PREFETCH_PLUGIN)
		return refuse_number(out, UVMP_ERR_ARGUMENT, "params->prefetcher", (uint32_t)params->prefetcher, 0,
				     UVMP_PREFETCH_COUNT - 1u);
	if (params->prefetcher == UVMP_PREFETCH_PLUGIN && !uvmpi_prefetch_plugin_is_valid(params))
		return refuse(out, UVMP_ERR_ARGUMENT,
			      "params->plugin: not a valid plugin with values of its parameters");
	for (prefetcher = uvmpi_prefetcher_at(params->prefetcher); prefetcher != NULL; prefetcher = prefetcher->base) {
		status = check_parameters(prefetcher, params, out);
		if (status != UVMP_OK)
			return status;
	}
	if (!params->quirks && params->threshold == 0)
		return refuse(out, UVMP_ERR_ARGUMENT, "params->threshold: 0 is not accepted without quirks; 1..100");
	return UVMP_OK;
}

static enum uvmp_status check_state(const struct uvmp_prefetch_state *state, struct text *out)
{
	if (state == NULL)
		return refuse(out, UVMP_ERR_ARGUMENT, "state: missing (NULL)");
	if (state->last_proc > UVMP_PROC_NONE)
		return refuse_number(out, UVMP_ERR_ARGUMENT, "state->last_proc", state->last_proc, 0, UVMP_PROC_NONE);
	if (state->tree != NULL && !uvmpi_tree_is_valid(state->tree))
		return refuse(out, UVMP_ERR_ARGUMENT, "state->tree: not set up");
	return UVMP_OK;
}

static enum uvmp_status check_facts(const struct uvmp_prefetch_facts *facts, struct text *out)
{
	if (facts == NULL)
		return refuse(out, UVMP_ERR_ARGUMENT, "facts: missing (NULL)");
	if (!uvmpi_block_is_valid(&facts->block))
		return refuse(out, UVMP_ERR_ARGUMENT, "facts->block: not a block of geometry.h");
	if (facts->faulted == NULL)
		return refuse(out, UVMP_ERR_ARGUMENT, "facts->faulted: missing (NULL)");
	if (facts->range_groups != 0 && facts->range_group == NULL)
		return refuse(out, UVMP_ERR_ARGUMENT, "facts->range_group: missing (NULL), and range_groups is not 0");
	if (facts->to >= UVMP_PROCS_MAX)
		return refuse_number(out, UVMP_ERR_RANGE, "facts->to", facts->to, 0, UVMP_PROCS_MAX - 1u);
	if (!is_optional_proc(facts->has_preferred, facts->preferred, UVMP_PROCS_MAX))
		return refuse(out, UVMP_ERR_RANGE,
			      "facts->preferred: not 0..63 with has_preferred, not 0 or 64 without");
	return UVMP_OK;
}

static bool is_inside(struct uvmp_region region, uint32_t pages)
{
	return !uvmp_region_is_empty(region) && region.end <= pages;
}

static bool has_faults(const struct uvmp_prefetch_facts *facts)
{
	struct uvmp_region region = facts->faulted_region;

	return !uvmpi_mask_is_empty(facts->faulted) &&
	       ((region.first == 0 && region.end == 0) || is_inside(region, facts->block.pages));
}

/* The name of a mask with a page beyond the block; NULL: none has one. */
static const char *mask_beyond(const struct uvmp_prefetch_facts *facts)
{
	const struct {
		const uvmp_mask *mask;
		const char *name;
	} masks[] = {{facts->faulted, "facts->faulted"},	   {facts->resident, "facts->resident"},
		     {facts->pending, "facts->pending"},	   {facts->thrashing, "facts->thrashing"},
		     {facts->cpu_resident, "facts->cpu_resident"}, {facts->cpu_read_mapped, "facts->cpu_read_mapped"}};

	for (uint32_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if (masks[i].mask != NULL && uvmpi_mask_next_set(masks[i].mask, facts->block.pages) < UVMP_MASK_BITS)
			return masks[i].name;
	return NULL;
}

static enum uvmp_status check_pages(const struct uvmp_prefetch_facts *facts, struct text *out)
{
	const char *beyond;

	if (!facts->is_follow && !has_faults(facts))
		return refuse(out, UVMP_ERR_RANGE, "facts->faulted: no page, or faulted_region is no region of the block");
	beyond = mask_beyond(facts);
	if (beyond != NULL) {
		put_text(out, beyond);
		return refuse(out, UVMP_ERR_RANGE, ": a page beyond block.pages");
	}
	if (facts->is_hmm && !is_inside(facts->max_region, facts->block.pages))
		return refuse(out, UVMP_ERR_RANGE, "facts->max_region: no region of the block, and is_hmm is set");
	for (uint32_t i = 0; i < facts->range_groups; i++)
		if (!is_inside(facts->range_group[i], facts->block.pages))
			return refuse(out, UVMP_ERR_RANGE, "facts->range_group: no region of the block");
	return UVMP_OK;
}

/* "state->range: missing (NULL); prefetch=stride needs it" */
static enum uvmp_status refuse_state(struct text *out, const char *field, const struct uvmp_prefetch_params *params)
{
	put_text(out, "state->");
	put_text(out, field);
	put_text(out, ": missing (NULL); required by prefetch=");
	put_text(out, params->prefetcher == UVMP_PREFETCH_PLUGIN ? params->plugin->name
								  : uvmpi_prefetcher_at(params->prefetcher)->name);
	return UVMP_ERR_ARGUMENT;
}

static bool is_in_range(const struct uvmp_prefetch_facts *facts)
{
	uint64_t pages = facts->range_pages != 0 ? facts->range_pages : facts->block.pages;

	return pages >= facts->block.pages && pages - facts->block.pages >= facts->range_first;
}

static enum uvmp_status check_demands(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				      const struct uvmp_prefetch_state *state, struct text *out)
{
	const struct uvmp_prefetch_traits *traits = uvmpi_prefetch_params_traits(params);

	if (facts->is_follow && !traits->walks_ranges)
		return refuse(out, UVMP_ERR_RANGE, "facts->is_follow: only for prefetchers with the trait walks_ranges");
	if (traits->range_bytes != 0 && state->range == NULL)
		return refuse_state(out, "range", params);
	if (traits->processor_bytes != 0 && state->processor == NULL)
		return refuse_state(out, "processor", params);
	if (traits->has_random && state->random == NULL)
		return refuse_state(out, "random", params);
	if (traits->has_tree && state->tree == NULL)
		return refuse_state(out, "tree", params);
	if (traits->has_tree && state->tree->blocks * UVMP_BASIC_BLOCK_PAGES < facts->block.pages)
		return refuse(out, UVMP_ERR_ARGUMENT, "state->tree: smaller than the block");
	if (traits->walks_ranges && !is_in_range(facts))
		return refuse(out, UVMP_ERR_RANGE, "facts->range_first: the block is not within range_pages");
	if ((traits->has_tree || traits->has_random) && uvmpi_prefetch_is_refault(facts))
		return refuse(out, UVMP_ERR_RANGE, "facts->faulted: a page that is resident or pending");
	return UVMP_OK;
}

enum uvmp_status uvmp_prefetch_check(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				     const struct uvmp_prefetch_state *state, char *text, size_t capacity)
{
	struct text out = {text, text != NULL ? capacity : 0, 0};
	enum uvmp_status status = check_params(params, &out);

	if (status == UVMP_OK)
		status = check_state(state, &out);
	if (status == UVMP_OK)
		status = check_facts(facts, &out);
	if (status == UVMP_OK)
		status = check_pages(facts, &out);
	return status == UVMP_OK ? check_demands(params, facts, state, &out) : status;
}
