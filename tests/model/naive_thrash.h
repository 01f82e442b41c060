/* naive_thrash.h: the thrashing detector as the text of the specification has it: small arrays, a queue that is
 * shifted, sets looked at member by member. Two blocks of 16 pages. */
#ifndef NAIVE_THRASH_H
#define NAIVE_THRASH_H

#include "uvmpolicy/thrash.h"

#define NAIVE_THRASH_BLOCKS 2u
#define NAIVE_THRASH_PAGES  16u

struct naive_thrash_page {
	uint64_t ts, end, procs, throttled;
	uint32_t ev, thr_count, pin_res, dnt;
	bool has_mig, has_rev, pinned, thrashing;
};

struct naive_thrash_block {
	bool has_array;
	uint64_t last_ts, last_thrashing_ts;
	uint32_t last_proc, reset_count;
	uint64_t pinned_total;
	struct naive_thrash_page page[NAIVE_THRASH_PAGES];
};

struct naive_thrash {
	struct uvmp_thrash_params params;
	struct uvmp_processors processors;
	uint64_t lapse;
	int stat;
	struct naive_thrash_block block[NAIVE_THRASH_BLOCKS];
	struct {
		uint32_t block, page;
		uint64_t deadline;
	} fifo[NAIVE_THRASH_BLOCKS * NAIVE_THRASH_PAGES];
	uint32_t waiting;
};

void naive_thrash_init(struct naive_thrash *t, const struct uvmp_thrash_params *params,
		       const struct uvmp_processors *processors);
void naive_thrash_migrate(struct naive_thrash *t, uint32_t block, const struct uvmp_thrash_migration *m);
void naive_thrash_revoke(struct naive_thrash *t, uint32_t block, struct uvmp_region region, uint32_t proc,
			 uint64_t now);
void naive_thrash_reset(struct naive_thrash *t, uint32_t block, struct uvmp_region region);
void naive_thrash_end(struct naive_thrash *t, uint32_t block);
struct uvmp_thrash_hint naive_thrash_decide(struct naive_thrash *t, uint32_t block,
					    const struct uvmp_thrash_facts *facts);
/* True if a page was unpinned. */
bool naive_thrash_unpin(struct naive_thrash *t, uint64_t now, uint32_t *block, uint32_t *page);

#endif
