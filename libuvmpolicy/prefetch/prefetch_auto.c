/* auto: a fault brings the whole block, or parts of it, by what each range of memory costs. Streams of faults bring whole blocks
 * ahead. This file asks three modules in turn. The head comment of each module states its rules:
 *
 *   prefetch_auto_price.c  the price of a page: its copy, and the room that it takes from others
 *   prefetch_auto_modes.c  the mode of each range: whole, dense or sparse; which costs least
 *   prefetch_auto_ahead.c  streams: which blocks come ahead, before they fault
 *
 * Small ranges, below SMALL_PAGES, have one state together: programs that allocate much in small ranges do the same in most of
 * them, and each is too small to learn from.
 *
 * What faults on the CPU brings its whole block back. */
#include "prefetch_auto_internal.h"

#define SMALL_PAGES (4u * UVMP_MASK_BITS) /* a range of fewer pages is small */

_Static_assert(sizeof(struct auto_block) == 16 && sizeof(struct auto_range) == 64, "bounded memory");

/* One block or a few are used too seldom to show what they cost. */
static bool is_small(const struct uvmp_prefetch_facts *facts)
{
	return facts->range_pages < SMALL_PAGES;
}

/* Without a state of the block, or without memory: density. What follows a block without a state brings nothing. */
static enum uvmp_status decide_plainly(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_params density = *params;
	uvmp_mask none;

	if (facts->is_follow) {
		uvmpi_mask_zero(&none);
		uvmpi_prefetch_hint_set(hint, facts->to, &none);
		return UVMP_OK;
	}
	if (facts->to == UVMP_CPU)
		density.threshold = 1;
	return uvmpi_prefetch_density_decide(&density, facts, state, hint);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_params density = *params;
	struct auto_decision d = {.params = params,
				  .facts = facts,
				  .block = (struct auto_block *)state->block,
				  .range = (struct auto_range *)state->range,
				  .processor = (struct auto_processor *)state->processor,
				  .turn = facts->memory.pages < AUTO_TURN_MOST ? (uint32_t)facts->memory.pages
									       : AUTO_TURN_MOST};
	enum uvmp_rule rule;
	enum uvmp_status status;
	uint32_t ahead = 0;
	bool is_empty;

	if (facts->to == UVMP_CPU || d.block == NULL || d.turn == 0)
		return decide_plainly(params, facts, state, hint);
	d.faulted = *facts->faulted;
	d.resident = *uvmpi_mask_or_none(facts->resident);
	if (is_small(facts))
		d.range = &d.processor->small;
	if (facts->is_follow) {
		uvmpi_auto_ahead_follow(&d, hint);
		return UVMP_OK;
	}
	is_empty = uvmpi_mask_is_empty(&d.resident);
	if (is_empty) {
		uvmpi_auto_modes_count_group(&d);
		ahead = uvmpi_auto_ahead_confirm(&d);
	}
	uvmpi_auto_price_set(&d);
	rule = uvmpi_auto_modes_begin(&d);
	density.threshold = uvmpi_auto_modes_threshold(&d);
	status = uvmpi_prefetch_density_decide(&density, facts, state, hint);
	hint->rule = rule;
	uvmpi_auto_modes_charge(&d, hint);
	if (is_empty)
		uvmpi_auto_ahead_begin(&d, ahead, hint);
	return status;
}

/* The whole block comes with its first fault. To service further faults in it only delays its copy and the replay. */
static uint32_t batch_in_one_block(const struct uvmp_prefetch_params *params)
{
	return params->auto_batch;
}

/* While all data fit, a replay after each small batch costs more than it saves. */
static bool chains_batches(const struct uvmp_prefetch_params *params)
{
	return params->auto_chain != 0;
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(auto_ahead, "auto_ahead", 0, 8, 4,
			   "blocks that may come ahead of a stream of faults, at most; 0: none"),
	PREFETCH_PARAMETER(auto_batch, "auto_batch", 0, 1024, 16,
			   "most raw faults of a batch that follows a full batch in one block; 0: no such limit"),
	PREFETCH_PARAMETER(auto_chain, "auto_chain", 0, 1, 1,
			   "1: while all data fit, no replay after a full batch that needed pages; 0: a replay after each"),
	PREFETCH_PAGES(auto_fault, "auto_fault", 0, AUTO_FAULT_MOST, 0,
		       "cost of a service without its flush, in copies of 4 KiB; 0: that of a GPU, 12; of the pager, 5"),
	PREFETCH_PARAMETER(auto_gap, "auto_gap", 0, 255, 64,
			   "stays of blocks between two probes of other modes, at most; 0: no probes, whole blocks only"),
	PREFETCH_PARAMETER(auto_price, "auto_price", 1, 16, 8,
			   "highest price of a page in scarce memory, in copies of a page; 1: its copy alone"),
	PREFETCH_PARAMETER(auto_threshold, "auto_threshold", 0, 100, 0,
			   "threshold of the sparse mode; 0: 99, or 100 where memory has frames of pages"),
};

/* Before the first eviction density with threshold 1; then with 1, `threshold` or `auto_threshold`, by what each costs in the
 * range. All pages of blocks that follow in a stream of faults, through hint->follow (see struct uvmp_prefetch_hint). Without
 * facts->memory, or without a state of the block: density. UVMP_ERR_RANGE also: range_pages < range_first + block.pages. Quirks:
 * as density. */
const struct prefetcher uvmpi_prefetcher_auto = {
	.name = "auto",
	.summary = "block, subtrees or big pages, by what each allocation costs; blocks ahead of a stream",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .block_bytes = sizeof(struct auto_block),
		   .range_bytes = sizeof(struct auto_range),
		   .processor_bytes = sizeof(struct auto_processor),
		   .has_memory = true},
	.decide = decide,
	.left = uvmpi_auto_price_left,
	.batch_in_one_block = batch_in_one_block,
	.chains_batches = chains_batches,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
