/* lanes.h: the lanes that wait for pages, by page: a hash table with one entry for each lane and page. */
#ifndef UVMSIM_LANES_H
#define UVMSIM_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* A warp that wants a page of its step, by number (a span: 0). */
struct asker {
	uint32_t sm, warp, number;
};

/* Private. */
struct lane_entry {
	uint64_t page;
	struct asker who;
	uint32_t next; /* in its bucket, or free */
};

/* Zeros are an empty table. */
struct lanes {
	struct lane_entry *entry; /* [capacity] */
	uint32_t *bucket; /* [capacity]: the first entry of each chain; capacity: 0 or a power of two */
	uint32_t capacity, count, free;
};

void lanes_close(struct lanes *lanes);
/* The first entry of the page's chain is at lanes->bucket[...]. Private. */
static inline uint32_t *lanes_chain(const struct lanes *lanes, uint64_t page)
{
	return &lanes->bucket[(page * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (lanes->capacity - 1u)];
}
/* Read ahead what lanes_take of the page needs: the chain; and, when the chain is there, its first entry. The table is not
 * empty. */
static inline void lanes_prefetch_chain(const struct lanes *lanes, uint64_t page)
{
	__builtin_prefetch(lanes_chain(lanes, page), 1);
}
static inline void lanes_prefetch_entry(const struct lanes *lanes, uint64_t page)
{
	uint32_t at = *lanes_chain(lanes, page);

	if (at < lanes->capacity)
		__builtin_prefetch(&lanes->entry[at], 1);
}
/* Adds a lane that waits for the page. False: out of memory; the table is as before. Cost: amortised O(1). */
bool lanes_add(struct lanes *lanes, uint64_t page, const struct asker *who);
/* Removes a lane that waits for the page; false: no lane waits. Cost: the length of a chain, about 1. */
bool lanes_take(struct lanes *lanes, uint64_t page, struct asker *who);

#endif
