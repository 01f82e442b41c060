/* reclaim.h: the reclaim queue of page-wise orders: memory that evictions have emptied, or will have emptied when their
 * copies end. What was emptied first is used first, and its user waits until it is ready. */
#ifndef UVMSIM_RECLAIM_H
#define UVMSIM_RECLAIM_H

#include <stdint.h>

#define RECLAIM_ENTRIES 1024u /* evictions in progress; beyond, the newest ones count as one */

struct reclaim {
	struct {
		uint64_t pages, ready_ns;
	} entry[RECLAIM_ENTRIES];
	uint32_t first, count;
	uint64_t fresh_pages; /* never used: ready at any time */
};

void reclaim_init(struct reclaim *queue, uint64_t pages);
/* An eviction empties `pages` pages at now_ns. */
void reclaim_empty(struct reclaim *queue, uint64_t pages, uint64_t now_ns);
/* Part of the last eviction must be copied first, which ends at ready_ns. */
void reclaim_delay(struct reclaim *queue, uint64_t ready_ns);
struct reclaim_times {
	uint64_t first_ns, last_ns;
};
/* Takes memory for arriving pages. Returns when it is ready for the first of them, and for the last. */
struct reclaim_times reclaim_take(struct reclaim *queue, uint64_t pages);

#endif
