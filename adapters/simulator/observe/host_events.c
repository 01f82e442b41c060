/* Events about pages; host_events.h. */
#include "host_events.h"

static struct observe_event event_of(const struct host *h, struct sim_block *block, struct uvmp_region run)
{
	return (struct observe_event){
		.address = block->shape.start + (uint64_t)run.first * h->space.page_bytes,
		.page = (uint64_t)block->number * (ROOT_BYTES / h->space.page_bytes) + run.first,
		.first = run.first,
		.pages = uvmp_region_pages(run),
		.bytes = (uint64_t)uvmp_region_pages(run) * h->space.page_bytes};
}

static const struct sim_range *latest_range(const struct space *space)
{
	size_t i = 0;

	while (space->range[i]->block[0].number + space->range[i]->blocks != space->numbers)
		i++;
	return space->range[i];
}

void host_events_range(struct host *h, const char *name)
{
	const struct sim_range *range;

	if (!h->params.run.observers)
		return;
	range = latest_range(&h->space);
	if (range->is_device)
		return;
	for (uint64_t i = 0; i < range->blocks; i++) {
		struct sim_block *block = &range->block[i];
		struct observe_event event = event_of(h, block, (struct uvmp_region){0, block->shape.pages});

		event.kind = OBSERVE_BLOCK;
		event.number = i;
		event.name = name;
		observe_tell(h->params.run.observers, &event);
	}
}

void host_events_note(struct host *h, const struct uvmp_action *a, const struct host_target *target,
		      struct uvmp_region run, uint32_t faulted)
{
	h->has_event = h->params.run.observers != NULL && (a->kind == UVMP_ACTION_COPY || a->to == HOST_GPU);
	if (!h->has_event)
		return;
	h->event = event_of(h, target->block, run);
	h->event.kind = a->kind == UVMP_ACTION_COPY ? OBSERVE_COPY : OBSERVE_ZEROS;
	h->event.faulted = faulted;
	h->event.evicted = target->block->had_evicted ? &target->block->evicted : NULL;
	h->event.to_gpu = a->to == HOST_GPU;
	h->event.cause = a->cause;
}

void host_events_transfer(struct host *h, enum observe_thread thread, uint64_t start, uint64_t end)
{
	if (!h->has_event)
		return;
	h->event.thread = thread;
	h->event.start = start;
	h->event.end = end;
	observe_tell(h->params.run.observers, &h->event);
	h->has_event = false;
}

static void tell_drop(struct host *h, struct sim_block *block, struct uvmp_region run, uint32_t cause,
		      uint64_t now)
{
	struct observe_event event = event_of(h, block, run);

	event.kind = OBSERVE_DROP;
	event.start = event.end = now;
	event.cause = cause;
	observe_tell(h->params.run.observers, &event);
}

void host_events_discard(struct host *h, const struct uvmp_action *a, const struct host_target *target,
			 uint64_t now)
{
	struct uvmp_region run;

	if (!h->params.run.observers || a->cause != UVMP_CAUSE_EVICTION || a->from != HOST_GPU)
		return;
	for (run = uvmp_mask_next_run(target->pages, 0); run.first != run.end;
	     run = uvmp_mask_next_run(target->pages, run.end))
		tell_drop(h, target->block, run, a->cause, now);
}

void host_events_freed(struct host *h, struct sim_block *block, uint32_t page)
{
	if (h->params.run.observers)
		tell_drop(h, block, (struct uvmp_region){page, page + 1u}, UVMP_CAUSE_FREE, h->event.end);
}
