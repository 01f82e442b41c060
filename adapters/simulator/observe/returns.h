/* returns.h: how far apart the eviction and the return of a page are, in bounded memory.
 *
 * The distance is the number of pages that arrived in between, with the returning page: so many pages more would have had
 * to fit for the page to stay. Evicted pages are remembered in a table. When the table is full, every second page, chosen by
 * a hash of its number, is no longer watched: from then on each page that is watched stands for twice as many. */
#ifndef UVMSIM_RETURNS_H
#define UVMSIM_RETURNS_H

#include <stdint.h>

#include "histogram.h"

enum { RETURNS_SLOTS = 32768 };

struct returns_slot {
	uint64_t page;	/* plus 1; 0: free */
	uint64_t stamp; /* pages that had arrived at its eviction, plus 1; 0: it has returned */
};

/* Begins as zeros. */
struct returns {
	uint64_t arrived; /* pages so far */
	uint32_t shift;	  /* one of 2^shift pages is watched */
	uint32_t used;
	struct histogram distance; /* weighted with 2^shift of its time */
	struct returns_slot slot[RETURNS_SLOTS], spare[RETURNS_SLOTS];
};

void returns_evicted(struct returns *returns, uint64_t page, uint32_t pages);
void returns_arrived(struct returns *returns, uint64_t page, uint32_t pages);

#endif
