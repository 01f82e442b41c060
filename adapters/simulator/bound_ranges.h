/* Managed ranges of a bound: which pages belong to data, and which of them had no contents at first. */
#ifndef BOUND_RANGES_H
#define BOUND_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source.h"

struct bound_range {
	uint64_t start, last; /* bytes, both included; whole pages */
	bool is_fresh;
};

/* All zero: no range. */
struct bound_ranges {
	struct bound_range *range; /* by start */
	size_t count, room;
	bool has_fresh;		   /* some range was fresh */
	uint64_t footprint_bytes;  /* of all ranges that were added */
};

/* Adds a range. NULL, or what is wrong with the range. */
const char *bound_ranges_add(struct bound_ranges *r, const struct source_range *source);
/* Removes memory that is freed. The rest of a range is one range on each side of the freed part. NULL, or what is wrong. */
const char *bound_ranges_cut(struct bound_ranges *r, const struct bound_range *freed);
/* Pages of ranges, or of fresh ones only, in `bytes` bytes from `start` on. */
uint32_t bound_ranges_pages(const struct bound_ranges *r, uint64_t start, uint64_t bytes, bool is_fresh);
void bound_ranges_close(struct bound_ranges *r);

#endif
