/* The allocations of a run among its pages; layout.h. */
#include "layout.h"

#include <stdio.h>
#include <string.h>

void layout_init(struct layout *l)
{
	memset(l, 0, sizeof(*l));
	l->chunk_pages = 1;
}

static void merge(struct layout *l)
{
	for (size_t i = 0; i < LAYOUT_CHUNKS / 2; i++)
		l->has_pages[i] = l->has_pages[2 * i] || l->has_pages[2 * i + 1];
	memset(l->has_pages + LAYOUT_CHUNKS / 2, 0, sizeof(l->has_pages) / 2);
	l->chunk_pages *= 2;
}

void layout_add(struct layout *l, const struct observe_event *e)
{
	if (e->number == 0) {
		if (l->allocations < LAYOUT_ALLOCATIONS) {
			struct layout_allocation *own = &l->allocation[l->allocations];

			own->page = e->page;
			own->address = e->address;
			snprintf(own->name, sizeof(own->name), "%s", e->name);
		}
		l->allocations++;
	}
	if (l->allocations <= LAYOUT_ALLOCATIONS)
		l->allocation[l->allocations - 1].bytes += e->bytes;
	while ((e->page + e->pages - 1) / l->chunk_pages >= LAYOUT_CHUNKS)
		merge(l);
	for (uint64_t i = e->page / l->chunk_pages; i <= (e->page + e->pages - 1) / l->chunk_pages; i++)
		l->has_pages[i] = true;
}

bool layout_has(const struct layout *l, uint64_t from, uint64_t end)
{
	if (l->allocations == 0)
		return true;
	for (uint64_t i = from / l->chunk_pages; i < LAYOUT_CHUNKS && i * l->chunk_pages < end; i++)
		if (l->has_pages[i])
			return true;
	return false;
}
