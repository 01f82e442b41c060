/* evict.h: what leaves?
 *
 * Orders of eviction over numbered units (pages, large pages), for hosts that account memory in units of one
 * size. The driver's own order, which lives in its root chunks, is pmm.h.
 *
 *   uvmp_recency_*   a recency list over the caller's arrays, every operation O(1)
 *   uvmp_grouped_*   the same in groups, ordered by their newest member
 *   uvmp_frequency_* units by frequency of use, O(log n)
 *   uvmp_evict_*     one interface over the orders; a new one is one file evict_NAME.c, one row in the
 *                    table of evict.c, one test
 *
 * Sources: [uvmsmart: eviction-list, victim-selection]. The simulator's own sorted list, which tests hold
 * these orders against, is adapters/simulator/vectors/reference/smart_evict.h.
 */
#ifndef UVMPOLICY_EVICT_H
#define UVMPOLICY_EVICT_H

#include "base.h"
#include "tree.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_UNIT_NONE 0xffffffffu
#define UVMP_UNITS_MAX (1u << 30)

/* -- recency list ---------------------------------------------------------------------------- */

/* A doubly linked list of units 0..units-1, oldest at the head. A unit that is not on the list has prev =
 * next = itself. Memory of a unit is written when this unit or a later one is touched first, so that a list
 * for many units costs what the ones in use cost. */
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
	uint32_t begun; /* links of units 0..begun-1 have been written */
};

/* An empty list; `link` is not read or written. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: units. O(1). */
UVMP_API enum uvmp_status uvmp_recency_init(struct uvmp_recency *list, struct uvmp_recency_link *link,
					    uint32_t units);
/* Cheap test of the struct, links not walked; false for NULL. The functions below do nothing to, and find
 * nothing on, a list that is not valid. */
UVMP_API bool uvmp_recency_is_valid(const struct uvmp_recency *list);
/* Is the unit on the list? False outside 0..units-1. */
UVMP_API bool uvmp_recency_contains(const struct uvmp_recency *list, uint32_t unit);
/* Makes the unit the newest, inserting it if need be. No effect outside 0..units-1. O(1); at the first touch
 * of the unit O(units before it that were not touched yet). */
UVMP_API void uvmp_recency_touch(struct uvmp_recency *list, uint32_t unit);
/* Takes the unit off the list; no effect if it is not on it. */
UVMP_API void uvmp_recency_remove(struct uvmp_recency *list, uint32_t unit);
/* The unit behind `unit` (towards newer), UVMP_UNIT_NONE at the end or for one that is not on the list. */
UVMP_API uint32_t uvmp_recency_next(const struct uvmp_recency *list, uint32_t unit);

/* -- recency in groups ----------------------------------------------------------------------- */

/* Units in groups of equal size, such as basic blocks in trees: groups in the order of the newest touch of
 * any of their units, and inside a group units in the order of their touches. The first unit of the first
 * group is the victim of UVM Smart's SL and the first victim of TBNe ([uvmsmart: eviction-list];
 * uvmp_evict_tbn_closure names the further victims of TBNe). */
struct uvmp_grouped_link {
	uint64_t stamp; /* number of the unit's last touch */
	uint32_t prev;	/* in its group; prev = next = itself: not listed */
	uint32_t next;
};

struct uvmp_grouped_ends {
	uint32_t head; /* oldest unit of the group, UVMP_UNIT_NONE if it has none */
	uint32_t tail; /* newest */
};

struct uvmp_grouped {
	struct uvmp_grouped_link *link; /* [units] */
	struct uvmp_grouped_ends *ends; /* [groups] */
	struct uvmp_recency order;	/* of the groups that have units */
	uint32_t units;			/* 1..UVMP_UNITS_MAX */
	uint32_t group_units;		/* per group; unit u is in group u / group_units */
	uint32_t count;			/* units that are listed */
	uint32_t begun;			/* links of units 0..begun-1, and the ends of their groups, have
					 * been written */
	uint64_t clock;
};

/* Bytes of memory; 0 if units or group_units is 0, units is above UVMP_UNITS_MAX, or they do not fit size_t.
 * */
UVMP_API size_t uvmp_grouped_size(uint32_t units, uint32_t group_units);
/* An empty list. UVMP_ERR_ARGUMENT: NULL, or memory not aligned to 8. UVMP_ERR_RANGE: uvmp_grouped_size says
 * 0. UVMP_ERR_SPACE: bytes is too small. The memory is not read or written. O(1). */
UVMP_API enum uvmp_status uvmp_grouped_init(struct uvmp_grouped *list, uint32_t units, uint32_t group_units,
					    void *memory, size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. The functions below do nothing to, and find
 * nothing on, a list that is not valid. */
UVMP_API bool uvmp_grouped_is_valid(const struct uvmp_grouped *list);
/* Is the unit on the list? False outside 0..units-1. O(1). */
UVMP_API bool uvmp_grouped_contains(const struct uvmp_grouped *list, uint32_t unit);
/* Makes the unit the newest of its group, and its group the newest, inserting it if need be. No effect
 * outside 0..units-1. O(1); a first touch as uvmp_recency_touch. */
UVMP_API void uvmp_grouped_touch(struct uvmp_grouped *list, uint32_t unit);
/* Takes the unit off the list; no effect if it is not on it. O(1), but for the newest unit of its group,
 * without which the group is older: O(groups whose newest touch lies between). The first group has no older
 * ones, so that taking victims is always O(1). */
UVMP_API void uvmp_grouped_remove(struct uvmp_grouped *list, uint32_t unit);
/* The victim, UVMP_UNIT_NONE if the list is empty. O(1). */
UVMP_API uint32_t uvmp_grouped_oldest(const struct uvmp_grouped *list);
/* The one that follows `unit` in the order: of its group, then the first of the next group. UVMP_UNIT_NONE at
 * the end or for one that is not listed. O(1). */
UVMP_API uint32_t uvmp_grouped_next(const struct uvmp_grouped *list, uint32_t unit);

/* -- frequency ------------------------------------------------------------------------------- */

/* Units by how often they were used, the seldom used first, of equals the one whose last touch is older: the
 * order of UVM Smart's LFU 2 MiB, with frequency = counter * 4 + marks ([uvmsmart: eviction-list];
 * counter.h has both). A binary heap. */
struct uvmp_frequency_key {
	uint64_t frequency;
	uint64_t stamp; /* number of the unit's last touch */
	uint64_t late;	/* 1: behind all that are not (uvmp_frequency_spare), else 0 */
};

struct uvmp_frequency {
	struct uvmp_frequency_key *key; /* [units] */
	uint32_t *heap;			/* units, [units] */
	uint32_t *place;		/* of a unit in the heap, UVMP_UNIT_NONE if not listed, [units] */
	uint32_t units;			/* 1..UVMP_UNITS_MAX */
	uint32_t count;			/* units that are listed */
	uint32_t begun;			/* keys and places of units 0..begun-1 have been written */
	uint64_t clock;
};

/* Bytes of memory; 0 if units is 0 or above UVMP_UNITS_MAX, or they do not fit size_t. */
UVMP_API size_t uvmp_frequency_size(uint32_t units);
/* An empty heap. UVMP_ERR_ARGUMENT: NULL, or memory not aligned to 8. UVMP_ERR_RANGE: units. UVMP_ERR_SPACE:
 * bytes is too small. The memory is not read or written. O(1). */
UVMP_API enum uvmp_status uvmp_frequency_init(struct uvmp_frequency *list, uint32_t units, void *memory,
					      size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. The functions below do nothing to, and find
 * nothing on, a heap that is not valid. */
UVMP_API bool uvmp_frequency_is_valid(const struct uvmp_frequency *list);
/* The unit was touched and is used so often by now; inserts it if need be. No effect outside 0..units-1.
 * O(log units), as the next two; a first touch as uvmp_recency_touch. */
UVMP_API void uvmp_frequency_touch(struct uvmp_frequency *list, uint32_t unit, uint64_t frequency);
/* The same without a touch (all counters were halved); no effect if the unit is not listed. */
UVMP_API void uvmp_frequency_set(struct uvmp_frequency *list, uint32_t unit, uint64_t frequency);
/* The unit, listed or not, goes behind all others, or among them again; touches change nothing about that. No
 * effect outside 0..units-1. O(log units). */
UVMP_API void uvmp_frequency_spare(struct uvmp_frequency *list, uint32_t unit, bool is_spared);
/* Takes the unit off; no effect if it is not listed. */
UVMP_API void uvmp_frequency_remove(struct uvmp_frequency *list, uint32_t unit);
/* The victim, UVMP_UNIT_NONE if the heap is empty. O(1). */
UVMP_API uint32_t uvmp_frequency_least(const struct uvmp_frequency *list);
/* The unit that `rank` listed ones precede, UVMP_UNIT_NONE beyond the last. O(1) for rank 0, else O(count):
 * at most 192 looks at each. */
UVMP_API uint32_t uvmp_frequency_at(const struct uvmp_frequency *list, uint32_t rank);
/* The one that follows `unit` in the order, UVMP_UNIT_NONE at the end or for one that is not listed.
 * O(units that precede it). */
UVMP_API uint32_t uvmp_frequency_next(const struct uvmp_frequency *list, uint32_t unit);

/* -- orders ---------------------------------------------------------------------------------- */

enum uvmp_evictor {
	UVMP_EVICT_LRU = 0,   /* the driver's root-chunk queues (pmm.h): least recently serviced 2 MiB */
	UVMP_EVICT_LRU_2M,    /* least recently touched 2 MiB; [uvmsmart: incomplete-tree-stays] is the
			       * host's to apply */
	UVMP_EVICT_LRU_4K,    /* least recently touched 4 KiB page */
	UVMP_EVICT_RANDOM_4K, /* a random 4 KiB page */
	UVMP_EVICT_SL_64K,    /* basic block of 64 KiB, oldest of the tree whose newest touch is oldest */
	UVMP_EVICT_TBN,	      /* TBNe: the same, and the host also evicts the blocks that
			       * uvmp_evict_tbn_closure returns */
	UVMP_EVICT_LFU_2M,    /* least often touched 2 MiB */
	UVMP_EVICT_CLOCK_2M,  /* second chance over 2 MiB */
	UVMP_EVICT_MHPE,      /* CPPE: chunks of 64 KiB, first the newest of those that are old, or the
			       * oldest */
	UVMP_EVICT_COUNT
};

/* Name as in the policy string ("lru", "lru2m", "lru4k", "random4k", "sl64k", "tbne", "lfu2m",
 * "clock2m", "mhpe"); NULL for a value outside the enumeration. */
UVMP_API const char *uvmp_evict_name(enum uvmp_evictor evictor);
/* Pages of 4 KiB per unit, 512, 16 or 1; 0 for a value outside the enumeration. */
UVMP_API uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor);

/* State of one order; lives partly in the caller's memory.
 *
 * RANDOM_4K draws uniformly over the units that may be evicted. The simulator that it comes from draws a
 * position in its recency order and takes the first evictable entry from there on. While every listed entry
 * may be evicted that is the same distribution; where some are pinned, the original favours the entries
 * behind them and finds nothing when only pinned ones follow, which is not reproduced.
 *
 * SL_64K and TBN take every UVMP_EVICT_GROUP_UNITS units, from unit 0 on, for the basic blocks of one tree.
 *
 * LFU_2M counts the touches of a unit by itself (unless uvmp_evict_weigh says otherwise): an arrival is one,
 * an access that the host tells of is one. Counts are historic, removing does not clear them
 * [uvmsmart: access-counting], forgetting does. Of equals the one touched longer ago goes first; the original
 * puts the less written before, which touches do not tell, but weights do: the engine gives them where it
 * counts accesses (policy keys remote and runtime).
 *
 * CLOCK_2M gives a unit that is touched while it is there a second chance, and moves its hand in
 * uvmp_evict_victim.
 *
 * MHPE orders by arrival, not by touches. It takes the newest first, but nothing that came in the last two
 * intervals, until it learns that what leaves was not used yet; then the oldest. For that the host calls
 * uvmp_evict_batch and uvmp_evict_left, which mean nothing to the other orders. */
#define UVMP_EVICT_GROUP_UNITS 32u
#define UVMP_EVICT_PAGES_MAX   512u
#define UVMP_EVICT_RESERVE_MAX 99u

/* What MHPE knows beside its chain; evict_mhpe.c has the words. */
struct uvmp_mhpe {
	uint64_t *stamp;      /* [units]: number of the arrival; of one that was evicted since, of the
				* next arrival then; 0: neither */
	uint64_t clock;	      /* arrivals */
	uint32_t stamped;     /* stamps of units 0..stamped-1 have been written */
	uint64_t begun, last; /* first arrival of the present interval, and of the one before */
	uint64_t left_pages, untouched, wrong; /* of this interval */
	uint32_t came;			       /* chunks, in this interval */
	uint32_t old;			       /* newest of the old partition, UVMP_UNIT_NONE: it is empty */
	uint32_t distance;		       /* forward distance in chunks, 0..32 */
	uint32_t intervals, levels;	       /* of the first intervals: number, sum of untouch levels */
	bool is_lru;			       /* the strategy has changed */
};

struct uvmp_evict {
	enum uvmp_evictor evictor;
	uint32_t units;
	/* 0..UVMP_EVICT_RESERVE_MAX; 0 after init, the caller may change it: so many percent of the units at
	 * the cold end of the order are passed over ([uvmsmart: victim-selection], its reserve, in 32-bit
	 * floats as there). Means nothing to RANDOM_4K, which keeps no order that could have a cold end; the
	 * original sorts by age for that. */
	uint32_t reserve_percent;
	struct uvmp_recency list;	 /* the LRU orders, CLOCK_2M, MHPE */
	struct uvmp_grouped grouped;	 /* SL_64K, TBN */
	struct uvmp_frequency frequency; /* LFU_2M; key.frequency stays when a unit is removed */
	struct uvmp_mhpe mhpe;
	uint8_t *chance; /* CLOCK_2M: touched since the hand passed, or since it came, [units] */
	uint32_t *dense; /* random: units that may be evicted, without gaps, [units] */
	uint32_t *place; /* random: place of a unit in dense, UVMP_UNIT_NONE if none, [units] */
	uint32_t count;	 /* units that may be evicted now */
	uint32_t begun;	 /* random: places of units 0..begun-1 have been written */
};

/* Bytes of memory for `units` units; 0 if out of range, if the size does not fit size_t, or if the order has
 * no state here (UVMP_EVICT_LRU). */
UVMP_API size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units);
/* UVMP_ERR_ARGUMENT: NULL or memory not aligned to 8. UVMP_ERR_RANGE: evictor or units. UVMP_ERR_UNSUPPORTED:
 * UVMP_EVICT_LRU (use pmm.h). UVMP_ERR_SPACE: bytes is too small. The memory is not read or written: state of
 * a unit is, when this unit or a later one is touched first. O(1). */
UVMP_API enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
					  void *memory, size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. */
UVMP_API bool uvmp_evict_is_valid(const struct uvmp_evict *evict);

/* The unit was touched, or became resident: it may be evicted, and is the newest. UVMP_ERR_ARGUMENT,
 * UVMP_ERR_RANGE (unit). O(1); LFU_2M: O(log units); a first touch as uvmp_recency_touch. */
UVMP_API enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit);
/* LFU_2M: the unit, if it is listed, has been used so often by now, as somebody else counts
 * ([uvmsmart: eviction-list]: counter * 4 + marks, of its tree in counter.h); a touch goes on from there. No
 * effect on other orders. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(log units). */
UVMP_API enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
/* LFU_2M: the unit, listed or not, is spared while others may be evicted, or no longer
 * ([uvmsmart: incomplete-tree-stays]: one that is not complete); it stays so until it is forgotten. No effect
 * on other orders. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(log units). */
UVMP_API enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
/* May the unit be evicted? False also outside 0..units-1, and for a state that is not valid. O(1). */
UVMP_API bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit);
/* The unit left, or is pinned: it may not be evicted. Success also if it was not there. To unpin, touch it.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1); LFU_2M: O(log units); the newest of a group:
 * uvmp_grouped_remove. */
UVMP_API enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit);
/* The same, and the unit's history is gone: it will stand for other memory. Errors and cost as remove. */
UVMP_API enum uvmp_status uvmp_evict_forget(struct uvmp_evict *evict, uint32_t unit);
/* A batch of faults begins: MHPE's interval may end. UVMP_ERR_ARGUMENT. O(1) amortised. */
UVMP_API enum uvmp_status uvmp_evict_batch(struct uvmp_evict *evict);
/* The unit, which has been removed, was evicted with `pages` pages (..UVMP_EVICT_PAGES_MAX), of which
 * `untouched` had not been touched since they came. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit, numbers).
 * O(1). */
UVMP_API enum uvmp_status uvmp_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages,
					  uint32_t untouched);
/* Chooses a victim and leaves it in place (the caller removes it when it goes). `random` is the generator's
 * state, needed by RANDOM_4K only, which advances it by one draw; elsewhere it may be NULL.
 * UVMP_ERR_NO_MEMORY: nothing may be evicted (no draw is made). UVMP_ERR_ARGUMENT. O(1), CLOCK_2M amortised;
 * with a reserve O(count). */
UVMP_API enum uvmp_status uvmp_evict_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
/* Where that victim cannot go: the next one, towards those that would go last; RANDOM_4K draws again.
 * UVMP_ERR_NO_MEMORY: `unit` is the last, or may not be evicted itself. Otherwise as uvmp_evict_victim. O(1);
 * LFU_2M: O(units that precede it); CLOCK_2M: O(count). */
UVMP_API enum uvmp_status uvmp_evict_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* TBN, second step, after the victim was taken from its tree [uvmsmart: victim-selection]: bottom up, each
 * subtree that holds pages but is less than half full loses its full blocks. `evictable`: set of evictable
 * blocks, bit b for block b. Returns the set of blocks to evict with the victim. Their leaves become 0, and
 * all inner nodes become sums. Returns 0 for a tree that is NULL or not valid. O(blocks): at most 31 nodes
 * are judged. */
UVMP_API uint32_t uvmp_evict_tbn_closure(struct uvmp_tree *tree, uint32_t evictable);

#ifdef __cplusplus
}
#endif
#endif
