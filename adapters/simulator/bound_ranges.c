/* See bound_ranges.h. */
#include "bound_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "space.h"

#define FOOTPRINT_MAX (UINT64_C(1) << 45)

/* Number of ranges that start at or below the address. */
static size_t ranges_below(const struct bound_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->range[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t bound_ranges_pages(const struct bound_ranges *r, uint64_t start, uint64_t bytes, bool is_fresh)
{
	uint64_t last = start + (bytes - 1u), pages = 0;

	for (size_t i = ranges_below(r, last); i > 0 && r->range[i - 1].last >= start; i--) {
		const struct bound_range *range = &r->range[i - 1];
		uint64_t first = range->start > start ? range->start : start;
		uint64_t upper = range->last < last ? range->last : last;

		if (range->is_fresh || !is_fresh)
			pages += (upper - first) / PAGE_BYTES + 1u;
	}
	return (uint32_t)pages;
}

static bool insert_range(struct bound_ranges *r, size_t place, struct bound_range range)
{
	if (!ARRAY_RESERVE(r->range, r->room, r->count + 1))
		return false;
	ARRAY_OPEN(r->range, r->count, place);
	r->range[place] = range;
	r->count++;
	return true;
}

const char *bound_ranges_add(struct bound_ranges *r, const struct source_range *source)
{
	struct bound_range range = {source->base, (source->base + source->bytes - 1u) | (PAGE_BYTES - 1u),
				    source->is_fresh};
	size_t place = ranges_below(r, source->base);

	if (source->bytes == 0 || range.last < range.start ||
	    range.last - range.start >= FOOTPRINT_MAX - r->footprint_bytes)
		return "a range is too large to be managed";
	if ((place > 0 && r->range[place - 1].last >= range.start) ||
	    (place < r->count && r->range[place].start <= range.last))
		return "a range overlaps another one";
	if (!insert_range(r, place, range))
		return "out of memory";
	r->has_fresh |= range.is_fresh;
	r->footprint_bytes += range.last - range.start + 1u;
	return NULL;
}

const char *bound_ranges_cut(struct bound_ranges *r, const struct bound_range *freed)
{
	size_t place = ranges_below(r, freed->start), end;

	if (place > 0 && r->range[place - 1].start == freed->start)
		place--;
	if (place > 0 && r->range[place - 1].last >= freed->start) {
		struct bound_range above = r->range[place - 1];

		r->range[place - 1].last = freed->start - 1u;
		above.start = freed->start;
		if (!insert_range(r, place, above))
			return "out of memory";
	}
	end = place;
	while (end < r->count && r->range[end].last <= freed->last)
		end++;
	r->count -= end - place;
	memmove(r->range + place, r->range + end, (r->count - place) * sizeof(*freed));
	if (place < r->count && r->range[place].start <= freed->last)
		r->range[place].start = freed->last + 1u;
	return NULL;
}

void bound_ranges_close(struct bound_ranges *r)
{
	free(r->range);
}
