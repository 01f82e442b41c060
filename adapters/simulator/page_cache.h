/* page_cache.h: runs in which the engine does only what its eviction order says: a cache of pages.
 *
 * One agent accesses 4 KiB pages, nothing is prefetched, and the eviction order has units of one page. So each fault is a
 * batch of its own, moves one page, and evicts at most one. The counts of such a run follow from the calls of the eviction
 * order (evict.h) alone. page_cache_run makes the calls that the engine makes, in the same order, and counts.
 *
 * Definition: untimed_run, for the same source and run (tests/properties/prop_page_cache.c).
 */
#ifndef UVMSIM_PAGE_CACHE_H
#define UVMSIM_PAGE_CACHE_H

#include "untimed.h"

enum page_cache_end {
	PAGE_CACHE_DONE,
	PAGE_CACHE_INTERRUPTED, /* with `error`; *result has the counts so far */
	PAGE_CACHE_REFUSED	/* the rows, or an error among them, need the engine; the source has been read in part */
};

/* May page_cache_run be asked for the run? True only if the policy differs from the default in keys that cannot matter here,
 * or that belong to the eviction order. */
bool page_cache_suits(const struct sim_run *run);
/* Runs the source to its end, as untimed_run. */
enum page_cache_end page_cache_run(struct source *source, const struct sim_run *run, struct sim_result *result,
				   char error[SOURCE_ERROR_MAX]);

#endif
