/* The state of MHPE, for evict_mhpe.c and its tests; evict_mhpe.c explains the words. */
#ifndef UVMPOLICY_EVICT_MHPE_INTERNAL_H
#define UVMPOLICY_EVICT_MHPE_INTERNAL_H

#include "recency_internal.h"

/* A boundary in the chain: `last`, the link of a unit (0: none), and the number of units up to it. */
struct mhpe_place {
	uint32_t last, count;
};

/* The old partition; and the boundaries before the first victim, and before those that a reserve counts backwards from the first
 * victim, and forwards from the oldest chunk. */
enum { MHPE_OLD, MHPE_FIRST, MHPE_BACKWARDS, MHPE_FORWARDS, MHPE_PLACES };

struct mhpe {
	struct recency list;
	uint64_t *stamp;      /* [units]: number of the arrival; of a unit that was evicted since, of the next
			       * arrival at that time; 0: neither */
	uint64_t clock;	      /* arrivals */
	uint64_t begun, last; /* first arrival of the present interval, and of the interval before */
	uint64_t left_pages, untouched, wrong; /* of this interval */
	uint32_t came;			       /* chunks that arrived in this interval */
	uint32_t distance;		       /* forward distance in chunks, 0..32 */
	uint32_t intervals, levels;	       /* of the first intervals: number, sum of untouch levels */
	struct mhpe_place place[MHPE_PLACES];
	uint32_t stamped; /* stamps of units 0..stamped-1 have been written */
	bool is_lru;	  /* the strategy has changed */
};

#endif
