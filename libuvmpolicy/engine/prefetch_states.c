/* Private states of the prefetchers `prefetch` and `prefetch_full`. Each has its own, also of the same block, range or
 * processor. The traits say how many bytes; this file names no prefetcher. */
#include "prefetch_states_internal.h"
#include "../prefetch/prefetch_internal.h"
#include "cold_internal.h"
#include "uvmpolicy/plugin.h"

#define ALIGNMENT 8u

/* Adds a state of `bytes` to `total`; returns its offset. */
static uint32_t add(uint32_t *total, uint32_t bytes)
{
	uint32_t offset = *total;

	*total += (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
	return offset;
}

/* `plugin`: of UVMP_PREFETCH_PLUGIN. */
static void add_prefetcher(struct prefetch_states *states, enum uvmp_prefetcher prefetcher,
			   const struct uvmp_prefetch_plugin *plugin)
{
	const struct uvmp_prefetch_traits *traits = plugin != NULL ? &plugin->traits : uvmp_prefetch_traits_of(prefetcher);

	states->counts_touches |= traits->counts_touches;
	states->has_memory |= traits->has_memory;
	states->of[states->count++] =
		(struct prefetch_offsets){.prefetcher = prefetcher,
					  .plugin = plugin,
					  .block = add(&states->block_bytes, traits->block_bytes),
					  .range = add(&states->range_bytes, traits->range_bytes),
					  .processor = add(&states->processor_bytes, traits->processor_bytes)};
}

void uvmpi_prefetch_states_init(const struct uvmp_policy *policy, struct prefetch_states *states)
{
	*states = (struct prefetch_states){.count = 0};
	add_prefetcher(states, policy->prefetch.prefetcher, policy->prefetch.plugin);
	if (policy->prefetch_full != UVMP_PREFETCH_FULL_SAME)
		add_prefetcher(states, (enum uvmp_prefetcher)(policy->prefetch_full - 1u), policy->full_plugin);
	states->has_bytes = (states->block_bytes | states->range_bytes | states->processor_bytes) != 0;
}

/* Of the prefetcher that decides now. */
static void *of_range(const struct prefetch_states *states, uint32_t slot)
{
	return states->range + (size_t)slot * states->range_bytes + states->of[states->present].range;
}

static void *of_block(const struct prefetch_offsets *of, struct history *history)
{
	return history != NULL ? (uint8_t *)(history + 1) + of->block : NULL;
}

void uvmpi_prefetch_states_give(struct uvmp_service *s, struct block *b, uint32_t slot, uint32_t processor,
				struct uvmp_prefetch_state *state)
{
	const struct prefetch_states *states = &s->prefetch_states;
	const struct prefetch_offsets *of = &states->of[states->present];

	state->range = of_range(states, slot);
	state->processor = states->processor + (size_t)processor * states->processor_bytes + of->processor;
	if (states->block_bytes != 0)
		state->block = of_block(of, uvmpi_history_make(s, b));
}

void uvmpi_prefetch_states_touch(struct uvmp_service *s, handle h, uint32_t page)
{
	const struct prefetch_states *states = &s->prefetch_states;
	const struct prefetch_offsets *of = &states->of[states->present];
	const struct prefetcher *prefetcher = uvmpi_prefetcher_at(of->prefetcher);
	struct block *b = block_at(s, h);
	const struct range *range = range_of(s, b);
	struct uvmp_prefetch_touch touch = {.range_page = ((b->start - range->start) >> s->page_shift) + page,
					    .range_pages = ((range->last - range->start) >> s->page_shift) + 1u,
					    .page = page,
					    .kernels = states->kernels};

	if (prefetcher->touched != NULL)
		prefetcher->touched(&s->tuned.prefetch, &touch, of_range(states, b->range),
				    of_block(of, uvmpi_history_make(s, b)));
}

void uvmpi_prefetch_states_clear(struct uvmp_service *s, uint32_t slot)
{
	const struct prefetch_states *states = &s->prefetch_states;
	uint8_t *state = states->range + (size_t)slot * states->range_bytes;

	for (uint32_t i = 0; i < states->range_bytes; i++)
		state[i] = 0;
}

static const struct uvmp_prefetch_traits *traits_of(const struct prefetch_offsets *of)
{
	return of->plugin != NULL ? &of->plugin->traits : uvmp_prefetch_traits_of(of->prefetcher);
}

static void tell_plugin(const struct uvmp_prefetch_plugin *plugin, void *block,
			const struct uvmp_prefetch_departure *departure)
{
	if (plugin->left != NULL)
		plugin->left(plugin->user, plugin->traits.block_bytes != 0 ? block : NULL, departure);
}

/* Tells the prefetchers that learn from evictions with this trait. */
static void tell(const struct uvmp_service *s, struct history *history, const struct uvmp_prefetch_departure *departure,
		 bool has_memory)
{
	for (uint32_t i = 0; i < s->prefetch_states.count; i++) {
		const struct prefetch_offsets *of = &s->prefetch_states.of[i];

		if (traits_of(of)->has_memory != has_memory)
			continue;
		if (of->plugin != NULL)
			tell_plugin(of->plugin, of_block(of, history), departure);
		else
			(void)uvmp_prefetch_left(of->prefetcher, of_block(of, history), departure);
	}
}

void uvmpi_prefetch_states_left(const struct uvmp_service *s, struct history *history, uint32_t processor,
				const uvmp_mask *gone)
{
	struct uvmp_prefetch_departure departure = {.gone = gone,
						    .touched = history->gpu == processor ? &history->touched : NULL,
						    .processor = processor};

	tell(s, history, &departure, false);
}

void uvmpi_prefetch_states_evicted(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *gone)
{
	struct history *history = block_history(s, block_at(s, h));
	struct uvmp_prefetch_departure departure = {.gone = gone, .processor = gpu};

	s->gpu[gpu].evicted_pages += uvmpi_mask_weight(gone);
	departure.evicted_pages = s->gpu[gpu].evicted_pages;
	if (history != NULL)
		tell(s, history, &departure, true);
}
