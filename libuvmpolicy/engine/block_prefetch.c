/* Block service: which further pages of the block are to arrive [driver: prefetch-in-service]. */
#include "../base/bits_internal.h"
#include "../prefetch/prefetch_internal.h"
#include "block_service_internal.h"
#include "controllers_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "prefetch_states_internal.h"
#include "service_runtime_internal.h"
#include "space_internal.h"
#include "uvmpolicy/plugin.h"

const struct uvmp_prefetch_traits *uvmpi_prefetch_traits(const struct uvmp_service *s)
{
	return uvmpi_prefetch_params_traits(&s->tuned.prefetch);
}

bool uvmpi_prefetch_has_tree(const struct uvmp_service *s)
{
	return uvmpi_prefetch_traits(s)->has_tree;
}

void uvmpi_prefetch_tree_leave(struct uvmp_tree *tree, const uvmp_mask *pages, bool quirks)
{
	for (uint32_t page = uvmpi_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(pages, page + 1u))
		uvmp_tree_sub(tree, page, 1, quirks);
}

void uvmpi_prefetch_tree_return(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages)
{
	struct uvmp_tree *tree;

	if (b->cold == 0 || cold_at(s, b->cold)->tree == 0)
		return;
	tree = (struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree);
	for (uint32_t page = uvmpi_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(pages, page + 1u))
		uvmp_tree_add(tree, page, 1, s->policy.quirks);
}

uint32_t uvmpi_prefetch_tree_blocks(const struct block *b)
{
	uint32_t blocks = 1;

	while (blocks * UVMP_BASIC_BLOCK_PAGES < b->pages)
		blocks *= 2u;
	return blocks;
}

/* The block's tree, NULL if the arena is full. */
static struct uvmp_tree *tree_of(struct uvmp_service *s, struct block *b)
{
	struct cold *cold = uvmpi_cold_make(s, b);

	if (!cold)
		return NULL;
	if (cold->tree == 0) {
		cold->tree = uvmpi_arena_take(s, SLAB_TREE);
		if (cold->tree == 0)
			return NULL;
		uvmp_tree_init((struct uvmp_tree *)uvmpi_arena_at(s, cold->tree), uvmpi_prefetch_tree_blocks(b));
	}
	return (struct uvmp_tree *)uvmpi_arena_at(s, cold->tree);
}

static bool is_resident_anywhere(const struct uvmp_service *s, const struct block *b)
{
	for (handle h = b->residency; h != 0; h = residency_at(s, h)->next) {
		if (!uvmpi_mask_is_empty(&residency_at(s, h)->resident))
			return true;
	}
	return false;
}

/* Faults that count for adapt=early: those of a walk that is repeated have been counted. */
static uint32_t counted_faults(const struct job *job)
{
	return job->is_retry || job->is_follow ? NO_INDEX : uvmpi_mask_weight(&job->faulted);
}

/* The pages that count as faulted for the prefetcher: only the driver's takes pages that are there already for faulted
 * ones. `some` is memory for them. */
static const uvmp_mask *faulted_for(const struct uvmp_prefetch_traits *traits, const struct job *job,
				    const struct residency *residency, uvmp_mask *some)
{
	if (traits->is_driver || residency == NULL)
		return &job->faulted;
	uvmpi_mask_andnot(some, &job->faulted, &residency->resident);
	return some;
}

static void fill_block_facts(const struct uvmp_service *s, const struct block *b,
			     struct uvmp_prefetch_facts *facts)
{
	const struct range *range = range_of(s, b);

	facts->has_preferred = range->preferred != UVMP_PROC_NONE;
	facts->preferred = range->preferred;
	facts->is_first_touch = !is_resident_anywhere(s, b);
	facts->range_first = (b->start - range->start) >> s->page_shift;
	facts->range_pages = ((range->last - range->start) >> s->page_shift) + 1u;
	facts->thrashing = NULL;
	if (b->thrash != 0 && !uvmpi_mask_is_empty(&thrash_at(s, b->thrash)->block.thrashing))
		facts->thrashing = &thrash_at(s, b->thrash)->block.thrashing;
	uvmpi_block_shape(s, b, &facts->block);
}

/* The block of the range that shares the aligned window of two VABlocks. */
static void fill_neighbour(const struct uvmp_service *s, const struct block *b, struct uvmp_prefetch_facts *facts)
{
	const struct range *range = range_of(s, b);
	uvmp_addr bytes = (uvmp_addr)s->block_pages << s->page_shift;
	uvmp_addr first = (b->start & ~(bytes - 1u)) ^ bytes, last = first + bytes - 1u;
	const struct residency *residency;
	handle h;

	if (last < range->start || first > range->last)
		return;
	first = first < range->start ? range->start : first;
	last = last > range->last ? range->last : last;
	facts->neighbour_pages = (uint32_t)((last - first) >> s->page_shift) + 1u;
	h = uvmpi_block_find(s, range->space, first);
	residency = h != 0 ? uvmpi_residency_find(s, block_at(s, h), facts->to) : NULL;
	if (residency != NULL)
		facts->neighbour_present = uvmpi_mask_weight(&residency->resident);
}

static struct uvmp_prefetch_hint no_hint(void)
{
	return (struct uvmp_prefetch_hint){.to = UVMP_PROC_NONE, .follow = UVMP_PAGE_NONE};
}

/* Adds to auto_fault what flushes cost for each serviced block. Those of the GPU that the pages go to stand for those of the GPU
 * that faulted. */
static void add_flushes(const struct uvmp_service *s, uint32_t gpu, struct uvmp_prefetch_params *params)
{
	uint32_t copies = flush_copies(&s->gpu[gpu]) / (s->page_bytes / UVMP_POLICY_PAGE_BYTES);

	params->auto_fault = minimum(params->auto_fault + copies, AUTO_FAULT_MOST);
}

/* What else should arrive on `to`? The answer is in job->hint. False: the prefetcher was not asked. */
static bool ask_prefetcher(struct uvmp_service *s, struct job *job, const struct uvmp_prefetch_traits *traits,
			   uint32_t to)
{
	struct block *b = block_at(s, job->block);
	const struct residency *residency = uvmpi_residency_find(s, b, to);
	const struct uvmp_prefetch_params *params = &s->tuned.prefetch;
	struct uvmp_prefetch_params own;
	struct uvmp_prefetch_state state = {
		.last_proc = b->last_proc, .faults = b->faults, .random = &s->random};
	struct uvmp_prefetch_facts facts = {.resident = residency ? &residency->resident : NULL,
					    .to = to,
					    .utlbs = job->utlbs,
					    .is_follow = job->is_follow};
	uvmp_mask faulted, mapped;

	if (traits->is_off)
		return false;
	facts.faulted = faulted_for(traits, job, residency, &faulted);
	facts.faulted_region = uvmpi_mask_bounds(facts.faulted);
	job->present = residency && !uvmpi_mask_is_empty(&residency->resident)
			       ? uvmpi_mask_weight(&residency->resident)
			       : 0;
	if (!job->is_follow && uvmp_region_is_empty(facts.faulted_region))
		return false;
	fill_block_facts(s, b, &facts);
	if (traits->has_neighbour)
		fill_neighbour(s, b, &facts);
	if (traits->has_memory && to != UVMP_CPU) {
		own = *params;
		params = &own;
		add_flushes(s, to, &own);
		facts.memory = (struct uvmp_prefetch_memory){s->gpu[to].capacity_pages, s->gpu[to].evicted_pages,
							     uvmpi_memory_frame_pages(s, to),
							     uvmpi_memory_fits(s)};
	}
	if (to == UVMP_CPU && residency) {
		residency_mapped(residency, &mapped);
		facts.cpu_read_mapped = &mapped;
	}
	if (traits->has_tree)
		state.tree = tree_of(s, b);
	if (s->prefetch_states.has_bytes)
		uvmpi_prefetch_states_give(s, b, b->range, to, &state);
	if (s->adapt.is_on) {
		if (params != &own)
			own = *params;
		params = &own;
		if (!uvmpi_adapt_tune(s, job->block, to, counted_faults(job), &own))
			return false;
	}
	if (traits->has_tree && !state.tree) /* a full arena */
		job->hint = no_hint();
	else /* the engine's own facts are valid, so the decision succeeds */
		(void)uvmpi_prefetch_decide(params, &facts, &state, &job->hint);
	if (s->policy.runtime)
		uvmpi_runtime_log(s, b, job->hint.basic_blocks);
	b->last_proc = (uint8_t)state.last_proc;
	b->faults = state.faults;
	return true;
}

static void add_prefetched(struct uvmp_service *s, struct job *job, uint32_t to)
{
	const struct block *b = block_at(s, job->block);
	const struct residency *residency = uvmpi_residency_find(s, b, to);

	uvmpi_mask_andnot(&s->prefetched, &job->hint.pages, &job->faulted);
	if (job->hint.to == UVMP_PROC_NONE)
		return;
	/* a page-wise order evicts until all pages fit: own pages that it evicts must not return */
	if (residency && to != UVMP_CPU && !uvmpi_memory_repeats(s, to))
		uvmpi_mask_andnot(&s->prefetched, &s->prefetched, &residency->resident);
	uvmpi_job_add_prefetched(s, job, &s->prefetched, to, range_of(s, b)->duplication);
}

/* All but the driver's know nothing of the CPU; those that have counted the faults in their state are not
 * asked again after an eviction. */
void uvmpi_block_prefetch(struct uvmp_service *s, struct job *job)
{
	const struct uvmp_prefetch_traits *traits = uvmpi_prefetch_traits(s);
	uint32_t to = lowest_bit(job->destinations);

	job->faulted = job->arrive[to];
	if (!job->is_prefetching || (job->destinations & (job->destinations - 1u)) != 0 ||
	    (to == UVMP_CPU && !traits->is_driver)) {
		job->hint.to = UVMP_PROC_NONE;
		job->hint.follow = UVMP_PAGE_NONE;
		job->hint.rule = UVMP_RULE_NONE;
		for (uint32_t proc = to + 1u; proc < s->processors.count; proc++)
			uvmpi_mask_or(&job->faulted, &job->faulted, &job->arrive[proc]);
		if (!s->policy.quirks || !job->is_prefetching) /* [driver: stale-prefetch-mask] */
			uvmpi_mask_zero(&s->prefetched);
		return;
	}
	if ((!job->is_retry || traits->may_repeat) && !ask_prefetcher(s, job, traits, to))
		job->hint = no_hint();
	add_prefetched(s, job, to);
}

bool uvmpi_block_prefetch_repeats(const struct uvmp_service *s, const struct job *job, struct block *b)
{
	const struct uvmp_prefetch_traits *traits = uvmpi_prefetch_traits(s);
	struct uvmp_prefetch_state state = {.last_proc = b->last_proc, .faults = b->faults};
	bool is_stateless = (traits->block_bytes | traits->range_bytes | traits->processor_bytes) == 0;

	if (!traits->may_repeat)
		return true; /* it is not asked again */
	/* a private state may answer the second request differently */
	if (!(is_stateless &
	      uvmpi_prefetch_repeats(&s->tuned.prefetch, job->to, uvmpi_mask_weight(&job->faulted), &state)))
		return false;
	b->last_proc = (uint8_t)state.last_proc;
	b->faults = state.faults;
	return true;
}

void uvmpi_prefetch_scale(struct uvmp_service *s)
{
	if (s->tuned.prefetch.auto_fault == 0)
		s->tuned.prefetch.auto_fault = FAULT_COPIES;
	uvmpi_prefetch_params_scale(&s->tuned.prefetch, s->page_bytes / UVMP_POLICY_PAGE_BYTES);
}

void uvmpi_prefetch_switch(struct uvmp_service *s)
{
	struct uvmp_prefetch_params *params = &s->tuned.prefetch;
	enum uvmp_prefetcher full = (enum uvmp_prefetcher)(s->policy.prefetch_full - 1u);

	if (!s->is_full || s->policy.prefetch_full == UVMP_PREFETCH_FULL_SAME ||
	    (params->prefetcher == full && params->plugin == s->policy.full_plugin) ||
	    s->policy
		    .runtime) /* [uvmsmart: oversubscription-switch]: the runtime engine keeps the prefetcher */
		return;
	if (full == UVMP_PREFETCH_PLUGIN)
		(void)uvmp_prefetch_params_init_plugin(params, s->policy.full_plugin); /* the policy is valid */
	else
		uvmp_prefetch_params_init(params, full);
	params->quirks = s->policy.quirks;
	s->prefetch_states.present = 1;
	uvmpi_prefetch_scale(s);
}
