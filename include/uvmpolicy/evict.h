/* evict.h: eviction orders.
 *
 * Eviction orders over numbered units (pages, basic blocks, large pages), for hosts that account memory in
 * units of one size. One interface, uvmp_evict_*, serves every order. The driver's own order, over root
 * chunks, is in pmm.h.
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
	ROW(AUTO, auto)	       /* 64 KiB by last fault, the oldest or the newest old; whole blocks as one */ \
			       /* a new row goes above this line */

/* UVMP_EVICT_LRU (0), UVMP_EVICT_LRU_2M, ... in the order of the list. UVMP_EVICT_PLUGIN: in
 * struct uvmp_policy an order that is not of the library (plugin.h). */
enum uvmp_evictor {
#define UVMP_EVICT_VALUE(CONSTANT, name) UVMP_EVICT_##CONSTANT,
	UVMP_EVICT_ORDERS(UVMP_EVICT_VALUE)
#undef UVMP_EVICT_VALUE
		UVMP_EVICT_COUNT,
	UVMP_EVICT_PLUGIN = 63
};

/* Properties of an order, for the engine and for hosts. */
struct uvmp_evict_traits {
	/* Pages of 4 KiB per unit: 512, 16 or 1. */
	uint16_t unit_pages;
	/* Evicts the root chunks of pmm.h; every other order has units of its own. */
	bool is_chunked;
	/* Its units have the size that the policy key `granularity` says. */
	bool has_granularity;
	/* The policy key `reserve` protects the first units of its ranking. */
	bool has_reserve;
	/* Reads which pages of a block were touched since they arrived (uvmp_evict_left). */
	bool has_touches;
	/* Evicts further basic blocks with a victim (uvmp_evict_closure); the policy key `runtime`. */
	bool has_tree;
	/* Ranks units by uses: uses of pinned units count, and uvmp_evict_weigh sets the rank. */
	bool counts_uses;
	/* With quirks, evicts an incomplete unit after all complete units [uvmsmart: evictable,
	 * incomplete-tree-stays]. */
	bool spares_incomplete;
	/* Draws victims at random. */
	bool is_random;
	/* Takes UVMP_EVICT_GROUP_UNITS units for the parts of one block, and evicts further ones with a
	 * victim (uvmp_evict_together). A block makes no room for itself. If all units of a block
	 * arrive at once, they get neighbouring frames at a multiple of 2 MiB, if such frames are free. */
	bool has_groups;
	/* Learns from faults only: accesses to resident pages are not reported to it (uvmp_evict_touch). */
	bool ignores_accesses;
};

/* Name as in the policy string ("lru", "lru2m", "lru4k", "random4k", "sl64k", "tbne", "lfu2m",
 * "clock2m", "mhpe", "auto"); NULL for a value outside the list. */
UVMP_API const char *uvmp_evict_name(enum uvmp_evictor evictor);
/* NULL for a value outside the list. */
UVMP_API const struct uvmp_evict_traits *uvmp_evict_traits_of(enum uvmp_evictor evictor);
/* Pages of 4 KiB per unit, 512, 16 or 1; 0 for a value outside the list. */
UVMP_API uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor);

/* An order in use; its state lives in the caller's memory and is private to the order.
 *
 * SL_64K and TBN take every UVMP_EVICT_GROUP_UNITS units, from unit 0 on, for the basic blocks of one tree,
 * AUTO for the parts of one block.
 *
 * LFU_2M counts the touches of a unit, unless uvmp_evict_weigh sets the count: each arrival and each access
 * that the host reports is one touch. Counts are historic: removing a unit keeps its count
 * [uvmsmart: access-counting], forgetting clears it. Among equals the unit touched longer ago is evicted
 * first. UVM Smart evicts the unit with fewer writes first. Touches do not carry that information; weights
 * do, and the engine sets weights if it counts accesses (policy keys remote and runtime).
 *
 * CLOCK_2M gives a unit that is touched while it is listed a second chance, and moves its hand in
 * uvmp_evict_victim.
 *
 * MHPE orders by arrival, not by touches. MHPE first evicts the newest unit that arrived before the last two
 * intervals. Once evicted pages prove to be unused, MHPE evicts the oldest unit. The host calls
 * uvmp_evict_batch and uvmp_evict_left to supply that information.
 *
 * AUTO orders by faults: the host reports a touch when a page of the unit arrives or faults, and no access.
 * AUTO evicts the oldest unit, or the newest of the old units where data return in a cycle. Units that return
 * decide between the two (evict_auto.c). Little data of one owner (uvmp_evict_own) are protected from others.
 * AUTO needs uvmp_evict_batch and uvmp_evict_left, too; both have no effect on the remaining orders. */
#define UVMP_EVICT_GROUP_UNITS 32u
#define UVMP_EVICT_PAGES_MAX   512u
#define UVMP_EVICT_TENANTS     16u
#define UVMP_EVICT_RESERVE_MAX 99u

struct uvmp_evict {
	enum uvmp_evictor evictor;
	uint32_t units;
	/* Percentage of units at the cold end of the order that are skipped, 0..UVMP_EVICT_RESERVE_MAX; 0
	 * after init, and the caller may change it ([uvmsmart: victim-selection], with the result of 32-bit
	 * floats). No effect on RANDOM_4K, which has no cold end, and on AUTO; UVM Smart sorts by age for its
	 * reserve. */
	uint32_t reserve_percent;
	uint32_t count; /* units that may be evicted now */
	/* AUTO: may evict the newest of the old units; true after init, and the caller may change it. */
	bool keeps_old;
	void *state; /* private to the order, in the caller's memory */
	/* AUTO: set of tenants (uvmp_evict_own) of which the host knows that they are in use. Their units
	 * stay as those of protected tenants do, if any other tenant has units: each eighth protected victim
	 * leaves all the same. 0 after init, and the caller may change it. */
	uint32_t used;
};

/* Bytes of memory for `units` units; 0 if out of range, if the size does not fit size_t, or if the order has
 * no state here (UVMP_EVICT_LRU). Of a plugin: uvmp_evict_plugin_size. */
UVMP_API size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units);
/* UVMP_ERR_ARGUMENT: NULL or memory not aligned to 8. UVMP_ERR_RANGE: evictor or units; for a plugin use
 * uvmp_evict_init_plugin. UVMP_ERR_UNSUPPORTED: UVMP_EVICT_LRU (use pmm.h). UVMP_ERR_SPACE: bytes is too
 * small. Only the head of the memory is written, at most 520 bytes. The state of a unit is written when this
 * unit or a later one is touched first. O(1). */
UVMP_API enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
					  void *memory, size_t bytes);
/* Moves an order to `memory` (aligned to 8) for `units` units. The units so far keep their numbers, places
 * and histories, so that each later answer is that of an order which had `units` units from the beginning.
 * The former memory is free afterwards. UVMP_ERR_ARGUMENT: also a state that is not valid, or memory that
 * overlaps its present memory. UVMP_ERR_RANGE: fewer units than before, or out of range. UVMP_ERR_SPACE:
 * bytes below uvmp_evict_size. O(units that were ever touched). */
UVMP_API enum uvmp_status uvmp_evict_grow(struct uvmp_evict *evict, uint32_t units, void *memory,
					  size_t bytes);
/* Cheap test of the structure and of the head of its memory; false for NULL. The functions below return
 * UVMP_ERR_ARGUMENT if evict is NULL, has no state or names no order with a state; they trust the state. */
UVMP_API bool uvmp_evict_is_valid(const struct uvmp_evict *evict);

/* Reports that the unit was touched, or became resident: the unit may be evicted, and is the newest.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1); LFU_2M: O(1) on average over the units, an arrival
 * O(log units); AUTO: O(1) on average over the units, at most O(units of the group); the first touch of a
 * unit also O(lower units that were never touched). */
UVMP_API enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit);
/* LFU_2M: sets the frequency of a listed unit from an external count ([uvmsmart: eviction-list]: counter * 4
 * + marks, of its tree in counter.h); later touches add to it. No effect on other orders. UVMP_ERR_ARGUMENT,
 * UVMP_ERR_RANGE (unit). O(log units). */
UVMP_API enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
/* AUTO: sets the owner of the group of `unit`, such as an allocation; all groups begin with owner 0. Owners
 * with the same remainder modulo UVMP_EVICT_TENANTS are one tenant. A tenant whose evicted units return keeps
 * a minimum share of memory while other tenants need room (evict_auto.c). No effect on other orders.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1), and O(lower units that were never touched). */
UVMP_API enum uvmp_status uvmp_evict_own(struct uvmp_evict *evict, uint32_t unit, uint32_t owner);
/* SL_64K, TBN, LFU_2M: sets whether the unit, listed or not, is spared while other units may be evicted
 * ([uvmsmart: evictable, incomplete-tree-stays] spare incomplete units). The setting lasts until the unit is
 * forgotten. No effect on other orders. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). LFU_2M: O(log units).
 * SL_64K and TBN: O(1), and O(log trees) if all units of the tree are spared now, or no longer. */
UVMP_API enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
/* May the unit be evicted? False also outside 0..units-1, and for a state that is not valid. O(1). */
UVMP_API bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit);
/* Reports that the unit was evicted, or is pinned: it may not be evicted. Success even if the unit was not
 * listed. To unpin a unit, touch it. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit). O(1);
 * SL_64K and TBN, the newest unit of a tree: O(log trees). */
UVMP_API enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit);
/* The same for a set of units that leave together, as a victim and its closure do: unit first + b for each
 * bit b of `units`. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (`first` is no multiple of UVMP_EVICT_GROUP_UNITS, or
 * a unit is out of range). O(units of the set); SL_64K and TBN, the newest unit of a tree: O(log trees)
 * more. */
UVMP_API enum uvmp_status uvmp_evict_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units);
/* Removes the unit and clears its history, because its number will name other memory. Errors and cost as
 * uvmp_evict_remove. */
UVMP_API enum uvmp_status uvmp_evict_forget(struct uvmp_evict *evict, uint32_t unit);
/* A batch of faults begins: MHPE's interval may end. UVMP_ERR_ARGUMENT. O(1) amortised. */
UVMP_API enum uvmp_status uvmp_evict_batch(struct uvmp_evict *evict);
/* Reports that a removed unit was evicted with `pages` pages of 4 KiB (..UVMP_EVICT_PAGES_MAX), of which
 * `untouched` had no touch since their arrival. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (unit, numbers). O(1). */
UVMP_API enum uvmp_status uvmp_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages,
					  uint32_t untouched);
/* Chooses a victim; the caller removes it at its eviction. The reserve passes over the first units of the
 * order, spared or not. If every unit behind is spared, the first of those is the victim. `random` is the
 * generator's state, which RANDOM_4K advances by one draw; for other orders it may be NULL.
 * AUTO makes protected units the newest instead, at most 7 groups in a call (uvmp_evict_own).
 * UVMP_ERR_NO_MEMORY: nothing may be evicted (no draw is made). UVMP_ERR_ARGUMENT. O(1), CLOCK_2M amortised.
 * With a reserve also O(units that have come or left since the last call). */
UVMP_API enum uvmp_status uvmp_evict_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
/* Replaces a victim that cannot be evicted by the next unit of the order, and the last unit that is not
 * spared by the first spared one; RANDOM_4K draws again.
 * UVMP_ERR_NO_MEMORY: `unit` is the last, or may not be evicted itself. Otherwise as uvmp_evict_victim. O(1);
 * CLOCK_2M: O(log units); SL_64K and TBN, a spared unit: O(trees without spared units before it). */
UVMP_API enum uvmp_status uvmp_evict_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
/* Trait has_tree: the basic blocks of `tree` to evict with a victim that the caller has removed from the tree
 * (uvmp_evict_tbn_closure). 0 for every other order and for arguments that are not valid. O(blocks). */
UVMP_API uint32_t uvmp_evict_closure(const struct uvmp_evict *evict, struct uvmp_tree *tree,
				     uint32_t evictable);

/* Which rule of AUTO chose the last victim. */
enum uvmp_evict_choice {
	UVMP_CHOICE_ORDER,  /* another order */
	UVMP_CHOICE_OLDEST, /* longest without a fault */
	UVMP_CHOICE_NEWEST, /* newest of the old units */
	UVMP_CHOICE_SAMPLE  /* longest without a fault, though the newest leave at present */
};
/* UVMP_CHOICE_ORDER also for arguments that are not valid. O(1). */
UVMP_API enum uvmp_evict_choice uvmp_evict_chosen(const struct uvmp_evict *evict);

/* Trait has_groups: the listed units to evict with the victim `unit`: unit first + b for each bit b, where
 * `first` is the first unit of the victim's group. AUTO: the group, if half or more arrived in one batch;
 * else the units of the group that follow the victim without a gap in the walk of uvmp_evict_next. 0 for
 * every other order, for a unit that is not listed and for arguments that are not valid. O(units of the
 * group). */
UVMP_API uint32_t uvmp_evict_together(const struct uvmp_evict *evict, uint32_t unit);

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
