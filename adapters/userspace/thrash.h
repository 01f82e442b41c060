/* thrash.h: does the process thrash? From statistics of its pager and the time; the definition is in thrash.c. */
#ifndef UVMP_PAGER_THRASH_H
#define UVMP_PAGER_THRASH_H

#include "pager.h"

#define THRASH_PERIOD_NS 1000000000u
#define THRASH_SHARE	 4u
#define THRASH_PASSES	 2u

/* Zeroed: nothing has happened yet. */
struct thrash {
	bool is_waiting;				 /* a thread waits for a page, */
	uint64_t since_ns;				 /* counted up to this time */
	uint64_t begin_ns, begin_waited_ns, begin_bytes; /* of the period; begin_ns 0: none has begun */
};

/* Threads wait for a page from now on, or none does. Adds the time to stats->waited_ns. */
void thrash_wait(struct thrash *thrash, struct uvmp_pager_stats *stats, bool is_waiting, uint64_t now_ns);
/* Adds to stats->thrash_... if a period of thrashing has ended. now_ns: monotonic, not 0. */
void thrash_judge(struct thrash *thrash, struct uvmp_pager_stats *stats, uint64_t now_ns);

#endif
