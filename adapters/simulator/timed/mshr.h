/* mshr.h: far-fault MSHRs: the pages that warps have requested and that are not mapped yet, each with the
 * warps that wait. */
#ifndef UVMSIM_MSHR_H
#define UVMSIM_MSHR_H

#include <stdbool.h>
#include <stdint.h>

#define MSHR_NONE UINT32_MAX

/* A warp, and which page of its step it is. */
struct mshr_waiter {
	uint32_t sm, warp, number;
	uint32_t next; /* private */
};

struct mshr_entry {
	uint64_t page;
	uint64_t fault; /* its number in the order of being written, if is_written */
	bool is_written;
	uint32_t first, last; /* the waiters, the oldest first */
	uint32_t next;	      /* in its bucket, or free */
	uint32_t older, newer;
};

struct mshr {
	struct mshr_entry
		*entry;	  /* [size + 1]; the last one is of no page: its waiters wait for a free entry */
	uint32_t *bucket; /* [buckets]: the first entry of each chain */
	uint32_t size, count, buckets;
	uint32_t oldest, newest, free_entry;
	struct mshr_waiter *waiter;
	uint32_t waiters, free_waiter; /* capacity; the first free one */
};

/* False: out of memory; mshr_close may be called all the same, as on zeros. */
bool mshr_open(struct mshr *mshr, uint32_t size);
void mshr_close(struct mshr *mshr);
/* The page's entry, or MSHR_NONE. */
uint32_t mshr_find(const struct mshr *mshr, uint64_t page);
/* Adds an entry for a page that has none; MSHR_NONE: the table is full. */
uint32_t mshr_add(struct mshr *mshr, uint64_t page);
/* Adds a waiter for the entry, or (entry == mshr->size) for a free entry. False: out of memory. */
bool mshr_wait(struct mshr *mshr, uint32_t entry, const struct mshr_waiter *waiter);
/* Takes the first waiter; false: no warp waits. */
bool mshr_release(struct mshr *mshr, uint32_t entry, struct mshr_waiter *waiter);
/* Frees the entry, with which no warp waits. */
void mshr_drop(struct mshr *mshr, uint32_t entry);

#endif
