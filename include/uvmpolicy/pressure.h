/* pressure.h: occupancy of GPU memory, transfers in flight included.
 *
 * UVM Smart uses the occupancy in three decisions: whether memory has become over-subscribed
 * [uvmsmart: oversubscription-switch], whether an eviction is due [uvmsmart: eviction-trigger], and the
 * number of accesses that justifies a migration ([uvmsmart: migrate-or-remote], counter.h). UVM Smart
 * calculates in 32-bit floating point. This module uses integers with the same rounding in each step
 * [uvmsmart: integer-forms], so that comparisons have the same result.
 *
 * Quirks reproduced by default: [uvmsmart: clean-pages-uncounted] (more free than there is: the difference
 * wraps, memory is fuller than full). [uvmsmart: write-credited-twice, fault-entry-counts] are the caller's:
 * it counts the write in flight among the leaving pages, or not, and a fault-latency entry of the read stage
 * queue as a page that comes, or not.
 */
#ifndef UVMPOLICY_PRESSURE_H
#define UVMPOLICY_PRESSURE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_PRESSURE_PAGES_MAX ((uint64_t)1 << 40)

/* GPU memory in pages; each number at most UVMP_PRESSURE_PAGES_MAX. */
struct uvmp_pressure {
	uint64_t total_pages; /* capacity; required. 0 is not valid: memory then is never over-subscribed */
	uint64_t free_pages;  /* above total_pages: [uvmsmart: clean-pages-uncounted] */
	/* Requested pages without memory yet. [uvmsmart: eviction-trigger, migrate-or-remote]: the read stage
	 * queue (a fault-latency entry counts one page, [uvmsmart: fault-entry-counts]; a remote access
	 * none). [uvmsmart: oversubscription-switch]: the read stage queue before the batch, and the pages
	 * that the batch has requested. */
	uint64_t incoming_pages;
	/* Departing pages. [uvmsmart: eviction-trigger]: the write stage queue and, as in UVM Smart
	 * [uvmsmart: write-credited-twice], the write in flight; [uvmsmart: migrate-or-remote]: the queue
	 * alone; [uvmsmart: oversubscription-switch]: 0. */
	uint64_t leaving_pages;
	uint32_t buffer_percent; /* memory to keep free, 0..100 */
	bool quirks;		 /* false: free pages above the total count as the total */
};

/* False for NULL and for numbers out of range. */
UVMP_API bool uvmp_pressure_is_valid(const struct uvmp_pressure *pressure);

/* Do the requested pages exceed memory? If so, over-subscription begins
 * [uvmsmart: oversubscription-switch], and an eviction is due [uvmsmart: eviction-trigger]. False if not
 * valid. O(1). */
UVMP_API bool uvmp_pressure_is_over(const struct uvmp_pressure *pressure);

/* `factor` times the occupancy (1 is full), rounded down [uvmsmart: migrate-or-remote], at most UINT64_MAX; 0
 * if not valid. 24 bits are significant. O(1). */
UVMP_API uint64_t uvmp_pressure_scale(const struct uvmp_pressure *pressure, uint32_t factor);

#ifdef __cplusplus
}
#endif
#endif
