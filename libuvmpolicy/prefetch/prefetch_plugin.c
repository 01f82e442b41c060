/* A prefetcher that is not of the library: calls its functions, and checks its answers. */
#include "prefetch_plugin_internal.h"
#include "../base/sized_internal.h"

/* Traits that the library handles for its own prefetchers only. */
static bool has_own_traits(const struct uvmp_prefetch_traits *traits)
{
	return (traits->is_off | traits->may_repeat | traits->has_tree | traits->has_threshold | traits->has_random) != 0;
}

static bool fits(const struct uvmp_prefetch_traits *traits)
{
	return (uint32_t)traits->grouping <= UVMP_GROUPING_SINGLE && traits->block_bytes <= UVMP_PREFETCH_STATE_MAX &&
	       traits->range_bytes <= UVMP_PREFETCH_STATE_MAX && traits->processor_bytes <= UVMP_PREFETCH_STATE_MAX;
}

struct plugin_defect uvmpi_prefetch_plugin_defect(const struct uvmp_prefetch_plugin *plugin)
{
	struct plugin_head head;
	struct plugin_defect defect;

	if (!uvmpi_sized_fits(plugin->size, SIZE_THROUGH(struct uvmp_prefetch_plugin, touched)))
		return PLUGIN_SIZE_DEFECT;
	head = (struct plugin_head){plugin->name, plugin->parameter, plugin->parameters};
	defect = uvmpi_plugin_defect(&head);
	if (defect.status != UVMP_OK)
		return defect;
	if (plugin->decide == NULL)
		return plugin_defect(UVMP_ERR_ARGUMENT, "decide is missing");
	if (has_own_traits(&plugin->traits))
		return plugin_defect(UVMP_ERR_UNSUPPORTED,
				     "is_off, may_repeat, has_tree, has_threshold and has_random must be false");
	if (!fits(&plugin->traits))
		return plugin_defect(UVMP_ERR_RANGE, "the grouping, or the bytes of private memory, at most 1040");
	return defect;
}

bool uvmpi_prefetch_plugin_is_valid(const struct uvmp_prefetch_params *params)
{
	const struct uvmp_prefetch_plugin *plugin = params->plugin;

	return plugin != NULL && uvmpi_prefetch_plugin_defect(plugin).status == UVMP_OK &&
	       uvmpi_plugin_values_are_valid(plugin->parameter, plugin->parameters, params->value);
}

/* A follow-up decision may only name a later block: a walk over the range ends. */
static bool may_follow(const struct uvmp_prefetch_plugin *plugin, const struct uvmp_prefetch_facts *facts, uint64_t page)
{
	uint64_t least = facts->is_follow ? facts->range_first + facts->block.pages : 0;

	return plugin->traits.walks_ranges && page >= least && page < facts->range_pages;
}

/* Private memory; NULL without bytes of it, also where another prefetcher has some. */
static void *own(void *memory, uint32_t bytes)
{
	return bytes != 0 ? memory : NULL;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	const struct uvmp_prefetch_plugin *plugin = params->plugin;
	uvmp_mask candidates, offered, pages;
	struct uvmp_prefetch_call call = {.size = sizeof(call),
					  .facts = facts,
					  .candidates = &offered,
					  .value = params->value,
					  .block = own(state->block, plugin->traits.block_bytes),
					  .range = own(state->range, plugin->traits.range_bytes),
					  .processor = own(state->processor, plugin->traits.processor_bytes),
					  .random = state->random,
					  .pages = &pages,
					  .follow = UVMP_PAGE_NONE};

	uvmpi_prefetch_admit(facts, &candidates);
	offered = candidates;
	uvmpi_mask_zero(&pages);
	plugin->decide(plugin->user, &call);
	uvmpi_mask_and(&pages, &pages, &candidates);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	if (may_follow(plugin, facts, call.follow))
		hint->follow = call.follow;
	return UVMP_OK;
}

static void touched(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_touch *touch, void *range,
		    void *block)
{
	const struct uvmp_prefetch_plugin *plugin = params->plugin;

	if (plugin->touched != NULL)
		plugin->touched(plugin->user, params->value, touch, own(range, plugin->traits.range_bytes),
				own(block, plugin->traits.block_bytes));
}

const struct prefetcher uvmpi_prefetcher_plugin = {
	.name = "plugin",
	.decide = decide,
	.touched = touched,
};
