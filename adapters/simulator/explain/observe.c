/* A decision log as events for observers. Pages are numbered in the order in which the log names their blocks. */
#include "explain_internal.h"

#include <stdlib.h>

static void tell(const struct explanation *explanation, struct observe_event event, const struct uvmp_action *a)
{
	event.start = event.end = a->time_ns;
	event.cause = a->cause;
	observe_tell(explanation->query->observers, &event);
}

/* The next pages that move together. */
static struct uvmp_region next_run(const struct uvmp_action *a, uint32_t from)
{
	return a->kind == UVMP_ACTION_DISCARD ? uvmp_mask_next_run(&a->pages, from)
					      : uvmp_action_next_transfer(a, from);
}

/* The block's number, by the order of first sight, with its pages that were evicted. NULL: out of memory. */
static struct block *number_block(struct explanation *explanation, const struct uvmp_action *a, uint64_t *number)
{
	struct block *block;

	if (!explanation->seen)
		explanation->seen = calloc(1, sizeof(*explanation->seen));
	if (!explanation->seen)
		return NULL;
	block = explain_find_block(explanation->seen, a->space, a->address);
	if (block)
		*number = (uint64_t)(block - explanation->seen->block);
	return block;
}

static bool tell_pages(struct explanation *explanation, const struct uvmp_action *a)
{
	bool is_copy = a->kind == UVMP_ACTION_COPY, is_drop = a->kind == UVMP_ACTION_DISCARD;
	bool to_gpu = !is_drop && a->to != UVMP_CPU;
	uint64_t number;
	struct block *block = number_block(explanation, a, &number);
	struct uvmp_region run;

	if (!block)
		return false;
	for (run = next_run(a, 0); run.end != 0; run = next_run(a, run.end)) {
		bool has_faulted = to_gpu && a->cause != UVMP_CAUSE_MIGRATE && a->cause != UVMP_CAUSE_COUNTER;
		struct observe_event event = {.kind = is_drop ? OBSERVE_DROP : is_copy ? OBSERVE_COPY : OBSERVE_ZEROS,
					      .address = a->address + (uint64_t)run.first * page_bytes(a),
					      .page = number * UVMP_MASK_BITS + run.first,
					      .first = run.first,
					      .pages = uvmp_region_pages(run),
					      .faulted = has_faulted ? uvmp_action_faulted(a, run) : 0,
					      .evicted = &block->faulted,
					      .bytes = (uint64_t)uvmp_region_pages(run) * page_bytes(a),
					      .to_gpu = to_gpu};

		tell(explanation, event, a);
	}
	if (is_eviction(a) && !to_gpu)
		uvmp_mask_or(&block->faulted, &block->faulted, &a->pages);
	return true;
}

bool explain_observe(struct explanation *explanation, const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		if (a->cause != UVMP_CAUSE_COUNTER)
			tell(explanation,
			     (struct observe_event){
				     .kind = OBSERVE_BATCH, .faults = a->faults, .merged = a->merged_faults},
			     a);
		return true;
	case UVMP_ACTION_EVICT:
		if (a->part == 0)
			tell(explanation, (struct observe_event){.kind = OBSERVE_EVICTION, .address = a->address}, a);
		return true;
	case UVMP_ACTION_REPLAY:
		tell(explanation, (struct observe_event){.kind = OBSERVE_REPLAY}, a);
		return true;
	case UVMP_ACTION_POPULATE:
		return a->to == UVMP_CPU || tell_pages(explanation, a);
	case UVMP_ACTION_COPY:
		return tell_pages(explanation, a);
	case UVMP_ACTION_DISCARD:
		return !is_eviction(a) || a->from == UVMP_CPU || tell_pages(explanation, a);
	default:
		return true;
	}
}

void explain_end_observing(struct explanation *explanation)
{
	if (!explanation->seen)
		return;
	free(explanation->seen->block);
	free(explanation->seen->slot);
	free(explanation->seen);
}
