/* pressure.h: how full is GPU memory, what is on its way counted in?
 *
 * UVM Smart asks this in three places: has memory become over-subscribed [uvmsmart: oversubscription-switch],
 * must something leave now [uvmsmart: eviction-trigger], and how many accesses are worth a migration
 * ([uvmsmart: migrate-or-remote], counter.h). What it calculates in 32-bit floating point is done here in
 * integers, step by step with the same rounding [uvmsmart: integer-forms], so that equality falls on the same
 * side.
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
	uint64_t total_pages; /* capacity, at least 1 */
	uint64_t free_pages;  /* above total_pages: [uvmsmart: clean-pages-uncounted] */
	/* Asked for and not yet given memory. [uvmsmart: eviction-trigger, migrate-or-remote]: the read stage
	 * queue (a fault-latency entry counts one page, [uvmsmart: fault-entry-counts]; a remote access
	 * none). [uvmsmart: oversubscription-switch]: that queue before the batch and the pages that the
	 * batch has asked for. */
	uint64_t incoming_pages;
	/* On their way out. [uvmsmart: eviction-trigger]: the write stage queue and, as the original has it
	 * [uvmsmart: write-credited-twice], the write in flight; [uvmsmart: migrate-or-remote]: the queue
	 * alone; [uvmsmart: oversubscription-switch]: 0. */
	uint64_t leaving_pages;
	uint32_t buffer_percent; /* memory to keep free, 0..100 */
	bool quirks;		 /* false: free pages above the total count as the total */
};

/* False for NULL and for numbers out of range. */
UVMP_API bool uvmp_pressure_is_valid(const struct uvmp_pressure *pressure);

/* What has been asked for does not fit: over-subscription begins [uvmsmart: oversubscription-switch], an
 * eviction is due [uvmsmart: eviction-trigger]. False if not valid. O(1). */
UVMP_API bool uvmp_pressure_is_over(const struct uvmp_pressure *pressure);

/* `factor` times the occupancy, 1 being full, and the fraction dropped [uvmsmart: migrate-or-remote].
 * UINT64_MAX if it exceeds that; 0 if not valid. 24 bits are significant. O(1). */
UVMP_API uint64_t uvmp_pressure_scale(const struct uvmp_pressure *pressure, uint32_t factor);

#ifdef __cplusplus
}
#endif
#endif
