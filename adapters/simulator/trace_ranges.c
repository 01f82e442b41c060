/* The ranges that a trace has declared so far: a sorted array; an access usually hits the same range as the one before,
 * else the array is searched by halves. Both forms of a trace check their rows here. */
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "trace_internal.h"

#define RANGES_MAX 65536u
#define PAGE_MASK  ((uint64_t)4095)

/* Index of the first range that ends at or after the address. */
static size_t search_range(const struct trace *trace, uint64_t address)
{
	size_t low = 0, high = trace->ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->range[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool trace_search_address(struct trace *trace, uint64_t address)
{
	size_t at = search_range(trace, address);

	if (at == trace->ranges || !trace_is_inside(&trace->range[at], address))
		return trace_fail(trace, "address 0x%" PRIx64 " is in no range declared so far", address);
	trace->last_hit = at;
	return true;
}

static bool insert_at(struct trace *trace, size_t at, struct extent range)
{
	if (trace->ranges == RANGES_MAX)
		return trace_fail(trace, "more than %u ranges", RANGES_MAX);
	if (!ARRAY_RESERVE(trace->range, trace->ranges_room, trace->ranges + 1))
		return trace_fail(trace, "out of memory");
	ARRAY_OPEN(trace->range, trace->ranges, at);
	trace->range[at] = range;
	trace->ranges++;
	return true;
}

static bool insert_range(struct trace *trace, struct extent range)
{
	size_t at = search_range(trace, range.first);

	if (at < trace->ranges && trace->range[at].first <= range.last)
		return trace_fail(trace, "range overlaps the range at 0x%" PRIx64, trace->range[at].first);
	return insert_at(trace, at, range);
}

static void remove_ranges(struct trace *trace, size_t at, size_t count)
{
	trace->ranges -= count;
	memmove(trace->range + at, trace->range + at + count, (trace->ranges - at) * sizeof(*trace->range));
}

/* Whole pages that are all in ranges are so no longer. What is left of a range is one range on each side. */
static bool cut_out(struct trace *trace, uint64_t first, uint64_t last)
{
	size_t at = search_range(trace, first), end = at;
	struct extent *range = &trace->range[at];

	if (range->first < first) {
		struct extent above = {last + 1, range->last, true};

		if (range->last > last && !insert_at(trace, at + 1, above))
			return false;
		range = &trace->range[at]; /* the array may have moved */
		range->last = first - 1;
		range->is_rest = true;
		end = ++at;
	}
	while (end < trace->ranges && trace->range[end].last <= last)
		end++;
	remove_ranges(trace, at, end - at);
	range = &trace->range[at];
	if (at < trace->ranges && range->first <= last)
		*range = (struct extent){last + 1, range->last, true};
	return true;
}

bool trace_take_range(struct trace *trace, const struct source_range *range)
{
	if ((range->base & PAGE_MASK) != 0)
		return trace_fail(trace, "base 0x%" PRIx64 " is not a multiple of 4096", range->base);
	if (range->bytes == 0)
		return trace_fail(trace, "range of 0 bytes");
	if (range->bytes - 1 > UINT64_MAX - range->base)
		return trace_fail(trace, "range of %" PRIu64 " bytes reaches beyond the address space",
				  range->bytes);
	return insert_range(trace, (struct extent){range->base, range->base + (range->bytes - 1), false});
}

/* Are all pages of these bytes in ranges? */
static bool is_covered(const struct trace *trace, uint64_t address, uint64_t bytes)
{
	uint64_t last = address + (bytes - 1);

	for (size_t at = search_range(trace, address); at < trace->ranges; at++) {
		const struct extent *range = &trace->range[at];

		if (range->first > address)
			return false;
		if ((range->last | PAGE_MASK) >= last)
			return true;
		address = (range->last | PAGE_MASK) + 1;
	}
	return false;
}

bool trace_check_part(struct trace *trace, const struct source_row *row)
{
	if ((row->address & PAGE_MASK) != 0)
		return trace_fail(trace, "address 0x%" PRIx64 " is not a multiple of 4096", row->address);
	if (row->bytes == 0)
		return trace_fail(trace, "size of 0 bytes");
	if (row->bytes - 1 <= UINT64_MAX - row->address && is_covered(trace, row->address, row->bytes))
		return true;
	return trace_fail(trace,
			  "%" PRIu64 " bytes from 0x%" PRIx64 " on are not all in ranges declared so far",
			  row->bytes, row->address);
}

bool trace_free_part(struct trace *trace, const struct source_row *row)
{
	if ((row->bytes & PAGE_MASK) != 0)
		return trace_fail(trace, "size %" PRIu64 " is not a multiple of 4096", row->bytes);
	return cut_out(trace, row->address, row->address + (row->bytes - 1));
}

bool trace_free_whole(struct trace *trace, struct source_row *row)
{
	size_t at = search_range(trace, row->address);
	uint64_t last;

	if (at == trace->ranges || trace->range[at].first != row->address)
		return trace_fail(trace, "no range begins at 0x%" PRIx64, row->address);
	row->is_part = trace->range[at].is_rest;
	last = trace->range[at].last;
	if (row->is_part)
		last |= PAGE_MASK;
	row->bytes = last - row->address + 1;
	remove_ranges(trace, at, 1);
	return true;
}
