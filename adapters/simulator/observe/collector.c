/* What the pictures of a run show; collector.h. */
#include "collector.h"

#include <string.h>

void collector_init(struct collector *c)
{
	memset(c, 0, sizeof(*c));
	grid_init(&c->grid);
	layout_init(&c->layout);
}

static void take_batch(struct collector *c, const struct observe_event *e)
{
	histogram_add(&c->batch_faults, e->faults, 1);
	if (c->batches++ != 0) /* the clock of a log may run backwards */
		histogram_add(&c->batch_interval, e->start > c->last_batch ? e->start - c->last_batch : 0, 1);
	c->last_batch = e->start;
}

static void arrive(struct collector *c, const struct observe_event *e)
{
	uint32_t others = e->pages - e->faulted;
	struct grid_pages came = {.page = e->page, .pages = others};
	struct grid_pages faulted = {.page = e->page + others, .pages = e->faulted};
	struct grid_pages again = {e->page, e->pages, e->evicted, e->first};

	grid_add(&c->grid, GRID_PREFETCHED, &came, e->start);
	grid_add(&c->grid, GRID_FAULTED, &faulted, e->start);
	if (e->evicted)
		grid_add(&c->grid, GRID_AGAIN, &again, e->start);
	returns_arrived(&c->returns, e->page, e->pages);
}

static void leave(struct collector *c, const struct observe_event *e)
{
	struct grid_pages pages = {.page = e->page, .pages = e->pages};
	bool is_eviction = e->cause == UVMP_CAUSE_EVICTION;

	grid_add(&c->grid, is_eviction ? GRID_EVICTED : GRID_LEFT, &pages, e->start);
	if (is_eviction)
		returns_evicted(&c->returns, e->page, e->pages);
}

static void take_copy(struct collector *c, const struct observe_event *e)
{
	c->cause_bytes[e->to_gpu][e->cause] += e->bytes;
	histogram_add(&c->copy_bytes[e->to_gpu], e->bytes, 1);
	if (e->to_gpu)
		arrive(c, e);
	else
		leave(c, e);
}

static void take(void *context, const struct observe_event *e)
{
	struct collector *c = context;

	if (e->kind == OBSERVE_BLOCK) {
		layout_add(&c->layout, e);
		return;
	}
	c->events++;
	grid_extend(&c->grid, e->end);
	if (e->pages != 0)
		c->page_bytes = (uint32_t)(e->bytes / e->pages);
	switch (e->kind) {
	case OBSERVE_BATCH:
		take_batch(c, e);
		return;
	case OBSERVE_COPY:
		take_copy(c, e);
		return;
	case OBSERVE_ZEROS:
		c->zero_bytes += e->bytes;
		arrive(c, e);
		return;
	case OBSERVE_DROP:
		leave(c, e);
		return;
	case OBSERVE_PROGRAM_COPY:
		c->program_bytes[e->to_gpu] += e->bytes;
		return;
	case OBSERVE_STALL:
		c->stalled += e->end - e->start;
		return;
	default:
		return;
	}
}

struct observer collector_observer(struct collector *c)
{
	return (struct observer){take, c};
}
