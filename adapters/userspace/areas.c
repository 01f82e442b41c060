/* Managed memory by address and by store page: areas in one array by address, and in another one by their
 * store pages, which are assigned first fit.
 *
 * An area stays whole, as the engine knows it, until the program has unmapped all of its pages. Pages that
 * were unmapped by a call of the pager stay mapped and read as zeros. Pages that were unmapped by a system
 * call are foreign: other memory may lie there, which must not be touched. */
#include "array.h"
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

struct block *area_block(const struct area *area, uint64_t address)
{
	return &area->block[(address - area->base) / BLOCK_BYTES];
}

/* -- store pages -- */

static uint64_t store_end(const struct area *area)
{
	return area->store_page + area->bytes / UVMP_STORE_PAGE_BYTES;
}

/* The first gap of so many store pages. It lies before by_store[*at]. */
static bool find_gap(const struct areas *areas, uint64_t pages, uint64_t *first, size_t *at)
{
	*first = 0;
	for (*at = 0; *at < areas->stored && areas->by_store[*at]->store_page - *first < pages; ++*at)
		*first = store_end(areas->by_store[*at]);
	return (*first + pages) * UVMP_STORE_PAGE_BYTES <= areas->most;
}

static void leave_store(struct areas *areas, const struct area *area)
{
	size_t at = 0;

	while (areas->by_store[at] != area)
		at++;
	areas->stored--;
	memmove(areas->by_store + at, areas->by_store + at + 1u,
		(areas->stored - at) * sizeof(struct area *));
}

/* -- areas -- */

/* There are at least as many areas by_store as by address. */
static bool reserve_areas(struct areas *areas)
{
	size_t capacity = areas->capacity;

	return ARRAY_RESERVE(areas->area, capacity, areas->stored + 1u) &&
	       ARRAY_RESERVE(areas->by_store, areas->capacity, areas->stored + 1u);
}

struct area *areas_add(struct areas *areas, uint64_t base, uint64_t asked)
{
	uint64_t bytes = (asked + BLOCK_BYTES - 1u) / BLOCK_BYTES * BLOCK_BYTES, place;
	struct area *area;
	size_t at, before;

	if (bytes < asked || !find_gap(areas, bytes / UVMP_STORE_PAGE_BYTES, &place, &before) ||
	    !reserve_areas(areas))
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
	area->page_bytes = areas->page_bytes;
	area->mapped = bytes / areas->page_bytes;
	at = behind(areas, base);
	memmove(areas->area + at + 1u, areas->area + at, (areas->count - at) * sizeof(struct area *));
	areas->area[at] = area;
	areas->count++;
	memmove(areas->by_store + before + 1u, areas->by_store + before,
		(areas->stored - before) * sizeof(struct area *));
	areas->by_store[before] = area;
	areas->stored++;
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
	area->block = NULL;
	if (area->keeps_store)
		return;
	leave_store(areas, area);
	free(area);
}

bool areas_overlap(const struct areas *areas, uint64_t base, uint64_t bytes)
{
	size_t at = behind(areas, base + bytes - 1u);

	return at != 0 && areas->area[at - 1u]->base + areas->area[at - 1u]->bytes > base;
}

void areas_retire(struct areas *areas, const struct area *area)
{
	if (!ARRAY_RESERVE(areas->retired, areas->retired_capacity, areas->retireds + 1u))
		return;
	areas->retired[areas->retireds++] = (struct retired){area->base, area->bytes};
}

bool areas_are_retired(const struct areas *areas, uint64_t base, uint64_t bytes)
{
	for (size_t i = 0; i < areas->retireds; i++) {
		const struct retired *retired = &areas->retired[i];

		if (base < retired->base + retired->bytes && retired->base < base + bytes)
			return true;
	}
	return false;
}

/* -- parts of an area -- */

bool area_next(const struct area *area, uint64_t from, uint64_t end, struct part *part)
{
	uint64_t offset = from - area->base, within = offset % BLOCK_BYTES, bytes = BLOCK_BYTES - within;

	if (from >= end)
		return false;
	bytes = bytes < end - from ? bytes : end - from;
	part->block = &area->block[offset / BLOCK_BYTES];
	part->address = from;
	part->bytes = bytes;
	part->run =
		(struct uvmp_region){(uint32_t)(within / area->page_bytes),
				     (uint32_t)((within + bytes + area->page_bytes - 1u) / area->page_bytes)};
	return true;
}

void area_unmap(struct area *area, uint64_t from, uint64_t bytes, bool is_foreign)
{
	struct part part;

	for (uint64_t at = from; area_next(area, at, from + bytes, &part); at += part.bytes) {
		area->mapped -= uvmp_region_pages(part.run) -
				uvmp_mask_region_weight(&part.block->unmapped, part.run);
		uvmp_mask_region_set(&part.block->unmapped, part.run);
		if (is_foreign)
			uvmp_mask_region_set(&part.block->foreign, part.run);
	}
}

/* The address of the first page from here on that is foreign, or is not; the area's end if there is none. */
static uint64_t next_page(const struct area *area, uint64_t from, bool is_foreign)
{
	uint64_t end = area->base + area->bytes;
	struct part part;

	for (uint64_t at = from; area_next(area, at, end, &part); at += part.bytes) {
		uint32_t page = is_foreign ? uvmp_mask_next_set(&part.block->foreign, part.run.first)
					   : uvmp_mask_next_clear(&part.block->foreign, part.run.first);

		uint64_t address = at - at % BLOCK_BYTES + (uint64_t)page * area->page_bytes;

		if (page < part.run.end)
			return address > at ? address : at;
	}
	return end;
}

bool area_next_own(const struct area *area, uint64_t from, uint64_t *first, uint64_t *bytes)
{
	*first = next_page(area, from, false);
	*bytes = next_page(area, *first, true) - *first;
	return *bytes != 0;
}

uint64_t area_usable(const struct area *area, uint64_t base)
{
	uint64_t first, bytes;

	if (!area || !area_next_own(area, base, &first, &bytes))
		return 0;
	return first == base ? bytes : 0;
}

void areas_close(struct areas *areas)
{
	while (areas->count != 0)
		areas_remove(areas, areas->area[areas->count - 1u]);
	while (areas->stored != 0)
		free(areas->by_store[--areas->stored]);
	free(areas->by_store);
	free(areas->retired);
	free(areas->area);
	*areas = (struct areas){0};
}
