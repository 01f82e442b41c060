/* naive_withdraw.h: holds and withdrawn victims once more, from the words of service.h at uvmp_service_hold and
 * uvmp_service_withdraw, and from [uvmsmart: cancellation, evictable]: a list of holds that is searched from its
 * beginning, and walks along a sorted list of units. */
#ifndef NAIVE_WITHDRAW_H
#define NAIVE_WITHDRAW_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_HOLDS   8192u /* of 4 GPUs, 64 blocks of 32 units each */
#define NAIVE_NO_UNIT UINT32_MAX

struct naive_hold {
	uint32_t gpu, block, unit; /* the unit's number within the block */
	uint64_t until_ns;
};

struct naive_holds {
	struct naive_hold hold[NAIVE_HOLDS];
	uint32_t count;
};

/* An access to the unit, or a copy, is under way until this time. An earlier time changes nothing. */
void naive_hold(struct naive_holds *holds, uint32_t gpu, uint32_t block, uint32_t unit, uint64_t until_ns);
/* All holds of the block on this GPU end. */
void naive_release(struct naive_holds *holds, uint32_t gpu, uint32_t block);
/* Was the unit held since the block came; until when? */
bool naive_was_held(const struct naive_holds *holds, uint32_t gpu, uint32_t block, uint32_t unit, uint64_t *until_ns);

/* What a unit of the sorted list is to an eviction. */
struct naive_candidate {
	bool is_own;    /* of the pages that need the memory: never leaves */
	bool is_spared; /* incomplete, and the order spares such units */
	bool is_held;
};

/* Index of the unit that leaves; NAIVE_NO_UNIT: none. `reserve`: so many units at the cold end of the list are protected.
 * `withdraws`: the pages are those of a withdrawn victim, which leaves itself unless an unprotected unit can. */
uint32_t naive_choose(const struct naive_candidate *list, uint32_t count, uint32_t reserve, bool withdraws);

#endif
