/* Look-ups of the host kit, below everything that changes what they find: windows and sides of the page tables, ranges, queued
 * events. */
#include "host_internal.h"

/* -- windows -- */

uint64_t hostkit_window_number(uvmp_addr address)
{
	return address / HOSTKIT_WINDOW_BYTES;
}

/* Neighbouring windows are in different buckets. */
struct hostkit_window **hostkit_bucket(const struct hostkit_tables *tables, uint64_t number)
{
	return &tables->bucket[(number ^ number >> 20) & (tables->buckets - 1u)];
}

struct hostkit_window *hostkit_window(const struct uvmp_host *h, uvmp_addr address)
{
	uint64_t number = hostkit_window_number(address);
	struct hostkit_window *window;

	if (h->tables.buckets == 0)
		return NULL;
	window = *hostkit_bucket(&h->tables, number);
	while (window != NULL && window->number != number)
		window = window->next;
	return window;
}

/* -- sides -- */

struct hostkit_side *hostkit_side_in(const struct hostkit_window *window, uint32_t processor)
{
	struct hostkit_side *side = window->side;

	while (side != NULL && side->processor != processor)
		side = side->next;
	return side;
}

uint32_t hostkit_page_in(const struct uvmp_host *h, uvmp_addr address)
{
	return (uint32_t)(address % HOSTKIT_WINDOW_BYTES / h->options.page_bytes);
}

struct hostkit_side *hostkit_side(const struct uvmp_host *h, uint32_t processor, uvmp_addr address,
				  uint32_t *page)
{
	const struct hostkit_window *window = hostkit_window(h, address);

	*page = hostkit_page_in(h, address);
	return window != NULL ? hostkit_side_in(window, processor) : NULL;
}

/* -- ranges -- */

/* The first range that ends at or behind the address; may be `count`. */
uint64_t hostkit_range_index(const struct hostkit_ranges *ranges, uint64_t address)
{
	uint64_t low = 0, high = ranges->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2u;

		if (ranges->range[middle].last < address)
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

bool hostkit_is_managed(const struct uvmp_host *h, uvmp_addr address)
{
	uint64_t at = hostkit_range_index(&h->ranges, address);

	return at < h->ranges.count && h->ranges.range[at].start <= address;
}

bool hostkit_range_in(const struct uvmp_host *h, uint64_t start, uint64_t last, struct hostkit_range *part)
{
	uint64_t at = hostkit_range_index(&h->ranges, start);

	if (at == h->ranges.count || h->ranges.range[at].start > last)
		return false;
	*part = h->ranges.range[at];
	part->start = hostkit_later(part->start, start);
	part->last = hostkit_sooner(part->last, last);
	return true;
}

/* -- queued events -- */

bool hostkit_fifo_reserve(const struct uvmp_host *h, struct hostkit_fifo *fifo, uint64_t more)
{
	struct hostkit_event *array;

	if (fifo->first + fifo->count + more <= fifo->capacity)
		return true;
	if (fifo->first >= fifo->count + more) { /* half of it is free, or more */
		for (uint64_t i = 0; i < fifo->count; i++)
			fifo->event[i] = fifo->event[fifo->first + i];
		fifo->first = 0;
		return true;
	}
	array = hostkit_reserve(h, fifo->event, &fifo->capacity, fifo->first + fifo->count,
				fifo->first + fifo->count + more, sizeof(*array));
	if (array == NULL)
		return false;
	fifo->event = array;
	return true;
}

void hostkit_fifo_push(struct hostkit_fifo *fifo, const struct hostkit_event *event)
{
	fifo->event[fifo->first + fifo->count++] = *event;
}

struct hostkit_event hostkit_fifo_pop(struct hostkit_fifo *fifo)
{
	struct hostkit_event event = fifo->event[fifo->first++];

	fifo->count--;
	if (fifo->count == 0)
		fifo->first = 0;
	return event;
}

static bool is_free(const struct hostkit_event *event)
{
	return event->kind == HOSTKIT_FREE || event->kind == HOSTKIT_FREE_PART;
}

static bool has(const struct hostkit_fifo *fifo, bool (*is_it)(const struct hostkit_event *event))
{
	for (uint64_t i = 0; i < fifo->count; i++)
		if (is_it(&fifo->event[fifo->first + i]))
			return true;
	return false;
}

bool hostkit_is_freeing(const struct uvmp_host *h)
{
	for (uint32_t i = 0; i < HOSTKIT_ACTIVE; i++)
		if (h->request[i].is_used && is_free(&h->request[i].event))
			return true;
	return has(&h->queued, is_free) || has(&h->inbox, is_free);
}

static bool adds(const struct hostkit_fifo *fifo, uvmp_addr address)
{
	for (uint64_t i = 0; i < fifo->count; i++) {
		const struct hostkit_event *event = &fifo->event[fifo->first + i];

		if (event->kind == HOSTKIT_ADD && address - event->address < event->bytes)
			return true;
	}
	return false;
}

bool hostkit_is_announced(const struct uvmp_host *h, uvmp_addr address)
{
	return adds(&h->queued, address) || adds(&h->inbox, address);
}
