/* page_rows.h: the accesses of a source as page numbers, where a run of the engine would be a cache of pages.
 *
 * Under prefetch=none with an eviction order of single pages, and with one agent, each fault moves one page and evicts at most
 * one (page_cache.h). Then faults follow from the accesses and the size of memory alone. With several agents they do not: an
 * agent that waits for a page is overtaken by others, so that the order of accesses depends on the size of memory. */
#ifndef UVMSIM_CURVE_PAGE_ROWS_H
#define UVMSIM_CURVE_PAGE_ROWS_H

#include "space.h"
#include "untimed.h"

enum page_rows_end {
	PAGE_ROWS_DONE,
	PAGE_ROWS_INTERRUPTED,
	PAGE_ROWS_REFUSED, /* the rows need the engine; *reason says why */
	PAGE_ROWS_FAILED /* the source failed, or its ranges are wrong: no run would succeed; `error` is filled */
};

struct page_rows {
	const struct uvmp_policy *policy;
	bool is_serial; /* all accesses count as those of one agent, in the order of the source */
	void *context;
	/* Before the first access: units 0..units - 1 follow, of which ranges may leave some at their ends without a page.
	 * False: out of memory, or the caller knows another reason. */
	bool (*open)(void *context, const struct space *space, uint32_t units);
	/* is_fresh: the unit belongs to memory that has no contents at first. False: out of memory. */
	bool (*access)(void *context, uint32_t unit, bool is_fresh);
	/* results */
	uint64_t accesses, footprint_bytes;
	const char *reason; /* PAGE_ROWS_REFUSED: a clause that may follow "because"; static */
};

/* The unit of the first page of the range; the others follow. */
static inline uint32_t page_rows_first_unit(const struct sim_range *range)
{
	return range->block[0].number * UVMP_MASK_BITS;
}

/* Gives every access of the source to `access`. */
enum page_rows_end page_rows_run(struct page_rows *rows, struct source *source, char error[SOURCE_ERROR_MAX]);

#endif
