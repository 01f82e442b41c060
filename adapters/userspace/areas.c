/* Managed memory by address, and where the store has it: areas in an array by address; places in the store
 * are given first fit. There are few of them. */
#include "pager_internal.h"

#include <stdlib.h>
#include <string.h>

/* The first area that begins behind the address. */
static size_t behind(const struct areas *areas, uint64_t address)
{
	size_t low = 0, high = areas->count;

	while (low < high) {
		size_t middle = (low + high) / 2u;

		if (areas->area[middle]->base <= address)
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

struct area *areas_find(const struct areas *areas, uint64_t address)
{
	size_t at = behind(areas, address);
	struct area *area = at == 0 ? NULL : areas->area[at - 1u];

	return area && address - area->base < area->bytes ? area : NULL;
}

/* Does [first, first + pages) of the store meet an area, and where does the last such one end? */
static bool is_taken(const struct areas *areas, uint64_t first, uint64_t pages, uint64_t *outer)
{
	bool is_taken = false;

	for (size_t i = 0; i < areas->count; i++) {
		const struct area *area = areas->area[i];
		uint64_t end = area->store_page + area->bytes / UVMP_STORE_PAGE_BYTES;

		if (area->store_page >= first + pages || end <= first)
			continue;
		if (!is_taken || end > *outer)
			*outer = end;
		is_taken = true;
	}
	return is_taken;
}

static bool find_place(const struct areas *areas, uint64_t bytes, uint64_t *place)
{
	uint64_t pages = bytes / UVMP_STORE_PAGE_BYTES, first = 0;

	while (is_taken(areas, first, pages, &first))
		;
	*place = first;
	return (first + pages) * UVMP_STORE_PAGE_BYTES <= areas->most;
}

static bool make_room(struct areas *areas)
{
	size_t room = areas->room == 0 ? 64 : 2u * areas->room;
	struct area **area;

	if (areas->count < areas->room)
		return true;
	area = realloc(areas->area, room * sizeof(struct area *));
	if (!area)
		return false;
	areas->area = area;
	areas->room = room;
	return true;
}

struct area *areas_add(struct areas *areas, uint64_t base, uint64_t asked)
{
	uint64_t bytes = (asked + BLOCK_BYTES - 1u) / BLOCK_BYTES * BLOCK_BYTES, place;
	struct area *area;
	size_t at;

	if (bytes < asked || !find_place(areas, bytes, &place) || !make_room(areas))
		return NULL;
	area = calloc(1, sizeof(*area));
	if (area)
		area->block = calloc(bytes / BLOCK_BYTES, sizeof(*area->block));
	if (!area || !area->block) {
		free(area);
		return NULL;
	}
	area->base = base;
	area->bytes = bytes;
	area->store_page = place;
	at = behind(areas, base);
	memmove(areas->area + at + 1u, areas->area + at, (areas->count - at) * sizeof(struct area *));
	areas->area[at] = area;
	areas->count++;
	areas->bytes += bytes;
	return area;
}

void areas_remove(struct areas *areas, struct area *area)
{
	size_t at = behind(areas, area->base) - 1u;

	areas->bytes -= area->bytes;
	areas->count--;
	memmove(areas->area + at, areas->area + at + 1u, (areas->count - at) * sizeof(struct area *));
	free(area->block);
	free(area);
}

void areas_close(struct areas *areas)
{
	while (areas->count != 0)
		areas_remove(areas, areas->area[areas->count - 1u]);
	free(areas->area);
	*areas = (struct areas){0};
}
