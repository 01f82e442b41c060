/* evict.h: what leaves?
 *
 * Orders of eviction over numbered units (pages, large pages), for hosts that account memory in units of one
 * size. The driver's own order, which lives in its root chunks, is pmm.h.
 *
 *   uvmp_recency_*   a recency list over the caller's arrays, every operation O(1)
 *   uvmp_evict_*     one interface over the orders; a new one is one file evict_NAME.c, one row in the
 *                    table of evict.c, one test
 *
 * Sources: uvm-smart specification, section 3 (LRU 2 MiB, LRU 4 KiB, random 4 KiB; no reserve).
 */
#ifndef UVMPOLICY_EVICT_H
#define UVMPOLICY_EVICT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_UNIT_NONE 0xffffffffu
#define UVMP_UNITS_MAX (1u << 30)

/* -- recency list ---------------------------------------------------------------------------- */

/* A doubly linked list of units 0..units-1, oldest at the head. A unit that is not on the list has
 * prev = next = itself. */
struct uvmp_recency_link {
	uint32_t prev;
	uint32_t next;
};

struct uvmp_recency {
	struct uvmp_recency_link *link; /* [units], the caller's */
	uint32_t units;			/* 1..UVMP_UNITS_MAX */
	uint32_t head;			/* oldest, UVMP_UNIT_NONE when empty */
	uint32_t tail;			/* newest */
	uint32_t count;
};

/* An empty list. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: units. O(units). */
UVMP_API enum uvmp_status uvmp_recency_init(struct uvmp_recency *list, struct uvmp_recency_link *link,
					    uint32_t units);
/* Cheap test of the struct, links not walked; false for NULL. The functions below do nothing to, and find
 * nothing on, a list that is not valid. */
UVMP_API bool uvmp_recency_is_valid(const struct uvmp_recency *list);
/* Is the unit on the list? False outside 0..units-1. */
UVMP_API bool uvmp_recency_contains(const struct uvmp_recency *list, uint32_t unit);
/* Makes the unit the newest, inserting it if need be. No effect outside 0..units-1. */
UVMP_API void uvmp_recency_touch(struct uvmp_recency *list, uint32_t unit);
/* Takes the unit off the list; no effect if it is not on it. */
UVMP_API void uvmp_recency_remove(struct uvmp_recency *list, uint32_t unit);
/* The unit behind `unit` (towards newer), UVMP_UNIT_NONE at the end or for one that is not on the list. */
UVMP_API uint32_t uvmp_recency_next(const struct uvmp_recency *list, uint32_t unit);

/* -- orders ---------------------------------------------------------------------------------- */

enum uvmp_evictor {
	UVMP_EVICT_LRU = 0,   /* the driver's root-chunk queues (pmm.h): least recently serviced 2 MiB */
	UVMP_EVICT_LRU_2M,    /* least recently touched 2 MiB; UVM Smart Q7 is the host's to apply */
	UVMP_EVICT_LRU_4K,    /* least recently touched 4 KiB page */
	UVMP_EVICT_RANDOM_4K, /* a random 4 KiB page */
	UVMP_EVICT_COUNT
};

/* Name as in the policy string ("lru", "lru2m", "lru4k", "random4k"); NULL for a value outside the
 * enumeration. */
UVMP_API const char *uvmp_evict_name(enum uvmp_evictor evictor);
/* Pages of 4 KiB per unit, 512 or 1; 0 for a value outside the enumeration. */
UVMP_API uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor);

/* State of one order; lives partly in the caller's memory.
 *
 * RANDOM_4K draws uniformly over the units that may be evicted. The simulator that it comes from draws a
 * position in its recency order and takes the first evictable entry from there on. While every listed entry
 * may be evicted that is the same distribution; where some are pinned, the original favours the entries
 * behind them and finds nothing when only pinned ones follow, which is not reproduced. */
struct uvmp_evict {
	enum uvmp_evictor evictor;
	uint32_t units;
	struct uvmp_recency list; /* the LRU orders */
	uint32_t *dense;	  /* random: units that may be evicted, without gaps, [units] */
	uint32_t *place;	  /* random: place of a unit in dense, UVMP_UNIT_NONE if none, [units] */
	uint32_t count;		  /* units that may be evicted now */
};

/* Bytes of memory for `units` units; 0 if out of range, if the size does not fit size_t, or if the order has
 * no state here (UVMP_EVICT_LRU). */
UVMP_API size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units);
/* UVMP_ERR_ARGUMENT: NULL or misaligned memory (it wants that of a uint32_t). UVMP_ERR_RANGE: evictor or
 * units. UVMP_ERR_UNSUPPORTED: UVMP_EVICT_LRU (use pmm.h). UVMP_ERR_SPACE: bytes is too small. O(units). */
UVMP_API enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
					  void *memory, size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. */
UVMP_API bool uvmp_evict_is_valid(const struct uvmp_evict *evict);

/* The unit was touched, or became resident: it may be evicted, and is the newest. UVMP_ERR_ARGUMENT,
 * UVMP_ERR_RANGE (unit). O(1). */
UVMP_API enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit);
/* The unit left, or is pinned: it may not be evicted. Success also if it was not there. To unpin, touch it.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1). */
UVMP_API enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit);
/* Chooses a victim and leaves it in place (the caller removes it when it goes). `random` is the generator's
 * state, needed by RANDOM_4K only, which advances it by one draw; elsewhere it may be NULL.
 * UVMP_ERR_NO_MEMORY: nothing may be evicted (no draw is made). UVMP_ERR_ARGUMENT. O(1). */
UVMP_API enum uvmp_status uvmp_evict_victim(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

#ifdef __cplusplus
}
#endif
#endif
