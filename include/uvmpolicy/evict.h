/* evict.h: which memory leaves?
 *
 * Orders of eviction over numbered units (pages, basic blocks, large pages), for hosts that account memory in
 * units of one size. One interface, uvmp_evict_*, serves every order. The driver's own order, which lives in
 * its root chunks, is pmm.h.
 *
 * docs/policies.md, "Adding an eviction order", lists the files of a new order.
 *
 * Sources: [uvmsmart: eviction-list, victim-selection]; the papers that the files evict_NAME.c name.
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

/* Every order, as ROW(CONSTANT, name). evict_NAME.c defines it; a new order is one file and one row. */
#define UVMP_EVICT_ORDERS(ROW)                                                                               \
	ROW(LRU, lru)	   /* the driver's queues of root chunks (pmm.h): least recently serviced 2 MiB */   \
	ROW(LRU_2M, lru2m) /* least recently touched 2 MiB */                                                \
	ROW(LRU_4K, lru4k) /* least recently touched 4 KiB page */                                           \
	ROW(RANDOM_4K, random4k) /* a random 4 KiB page */                                                   \
	ROW(SL_64K, sl64k)     /* basic block of 64 KiB, oldest of the tree whose newest touch is oldest */  \
	ROW(TBN, tbne)	       /* TBNe: the same, and the blocks that uvmp_evict_closure names */            \
	ROW(LFU_2M, lfu2m)     /* least often touched 2 MiB */                                               \
	ROW(CLOCK_2M, clock2m) /* second chance over 2 MiB */                                                \
	ROW(MHPE, mhpe)	       /* CPPE: chunks of 64 KiB, the newest of the old ones, or the oldest */       \
			       /* a new row goes above this line */

/* UVMP_EVICT_LRU (0), UVMP_EVICT_LRU_2M, ... in the order of the list. */
enum uvmp_evictor {
#define UVMP_EVICT_VALUE(CONSTANT, name) UVMP_EVICT_##CONSTANT,
	UVMP_EVICT_ORDERS(UVMP_EVICT_VALUE)
#undef UVMP_EVICT_VALUE
		UVMP_EVICT_COUNT
};

/* What engine and hosts know of an order. */
struct uvmp_evict_traits {
	/* Pages of 4 KiB per unit: 512, 16 or 1. */
	uint16_t unit_pages;
	/* Evicts the root chunks of pmm.h; every other order has units of its own. */
	bool is_chunked;
	/* Its units have the size that the policy key `granularity` says; pages of 64 KiB work, too. */
	bool has_granularity;
	/* Knows which unit leaves first: the policy key `reserve` protects the first. Without this trait,
	 * victims are drawn at random. */
	bool has_reserve;
	/* Reads which pages of a block were touched since they arrived (uvmp_evict_left). */
	bool has_touches;
	/* Evicts further basic blocks with a victim (uvmp_evict_closure); the policy key `runtime`. */
	bool has_tree;
	/* Ranks units by uses: uses of pinned units count, and uvmp_evict_weigh sets the rank. */
	bool counts_uses;
	/* [uvmsmart: evictable], with quirks: a unit with a page missing leaves after all others. */
	bool spares_incomplete;
};

/* Name as in the policy string ("lru", "lru2m", "lru4k", "random4k", "sl64k", "tbne", "lfu2m",
 * "clock2m", "mhpe"); NULL for a value outside the enumeration. */
UVMP_API const char *uvmp_evict_name(enum uvmp_evictor evictor);
/* NULL for a value outside the enumeration. */
UVMP_API const struct uvmp_evict_traits *uvmp_evict_traits_of(enum uvmp_evictor evictor);
/* Pages of 4 KiB per unit, 512, 16 or 1; 0 for a value outside the enumeration. */
UVMP_API uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor);

/* An order in use; its state lives in the caller's memory and is private to the order.
 *
 * SL_64K and TBN take every UVMP_EVICT_GROUP_UNITS units, from unit 0 on, for the basic blocks of one tree.
 *
 * LFU_2M counts the touches of a unit by itself, unless uvmp_evict_weigh says otherwise: an arrival is one
 * touch, an access that the host reports is one. Counts are historic: removing a unit keeps its count
 * [uvmsmart: access-counting], forgetting clears it. Of equals the unit touched longer ago leaves first. The
 * original evicts the less written unit first, which touches do not tell, but weights do: the engine sets
 * them if it counts accesses (policy keys remote and runtime).
 *
 * CLOCK_2M gives a unit that is touched while it is listed a second chance, and moves its hand in
 * uvmp_evict_victim.
 *
 * MHPE orders by arrival, not by touches. MHPE evicts the newest first, but no unit that arrived in the last
 * two intervals, until it learns that evicted pages were not used yet; then the oldest. For that the host
 * calls uvmp_evict_batch and uvmp_evict_left, which have no effect on the other orders. */
#define UVMP_EVICT_GROUP_UNITS 32u
#define UVMP_EVICT_PAGES_MAX   512u
#define UVMP_EVICT_RESERVE_MAX 99u

struct uvmp_evict {
	enum uvmp_evictor evictor;
	uint32_t units;
	/* 0..UVMP_EVICT_RESERVE_MAX; 0 after init, the caller may change it: so many percent of the units at
	 * the cold end of the order are passed over ([uvmsmart: victim-selection], its reserve, in 32-bit
	 * floats as there). No effect on RANDOM_4K, which has no cold end; the original sorts by age for
	 * that. */
	uint32_t reserve_percent;
	uint32_t count; /* units that may be evicted now */
	void *state;	/* private to the order, in the caller's memory */
};

/* Bytes of memory for `units` units; 0 if out of range, if the size does not fit size_t, or if the order has
 * no state here (UVMP_EVICT_LRU). */
UVMP_API size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units);
/* UVMP_ERR_ARGUMENT: NULL or memory not aligned to 8. UVMP_ERR_RANGE: evictor or units. UVMP_ERR_UNSUPPORTED:
 * UVMP_EVICT_LRU (use pmm.h). UVMP_ERR_SPACE: bytes is too small. Only the head of the memory is written, at
 * most 136 bytes. The state of a unit is written when this unit or a later one is touched first. O(1). */
UVMP_API enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
					  void *memory, size_t bytes);
/* Cheap test of the structure and of the head of its memory; false for NULL. */
UVMP_API bool uvmp_evict_is_valid(const struct uvmp_evict *evict);

/* The unit was touched, or became resident: it may be evicted, and is the newest. UVMP_ERR_ARGUMENT,
 * UVMP_ERR_RANGE (unit). O(1); LFU_2M: O(log units); the first touch of a unit
 * also O(units before it that were not touched yet). */
UVMP_API enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit);
/* LFU_2M: the unit, if it is listed, has been used so often by now, as somebody else counts ([uvmsmart:
 * eviction-list]: counter * 4 + marks, of its tree in counter.h); a touch goes on from there. No effect on
 * other orders. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(log units). */
UVMP_API enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
/* LFU_2M: the unit, listed or not, is spared while others may be evicted, or no longer ([uvmsmart:
 * incomplete-tree-stays]: one that is not complete); it stays so until it is forgotten. No effect on other
 * orders. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(log units). */
UVMP_API enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
/* May the unit be evicted? False also outside 0..units-1, and for a state that is not valid. O(1). */
UVMP_API bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit);
/* The unit left, or is pinned: it may not be evicted. Success also if it was not there. To unpin, touch it.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1); LFU_2M: O(log units); SL_64K and TBN: the
 * newest unit of a tree O(trees whose newest touch lies between). */
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
/* Trait has_tree: the basic blocks of `tree` that leave with a victim, which has left the tree already, as
 * uvmp_evict_tbn_closure. 0 for every other order and for arguments that are not valid. O(blocks). */
UVMP_API uint32_t uvmp_evict_closure(const struct uvmp_evict *evict, struct uvmp_tree *tree,
				     uint32_t evictable);

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
