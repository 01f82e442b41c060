/* naive_thrash.h: the thrashing detector rule by rule: small arrays, a queue that is
 * shifted, sets looked at member by member. */
#ifndef NAIVE_THRASH_H
#define NAIVE_THRASH_H

#include "uvmpolicy/thrash.h"

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
	struct naive_thrash_page *page; /* [pages] */
};

struct naive_thrash_waiting {
	uint32_t block, page;
	uint64_t deadline;
};

struct naive_thrash {
	struct uvmp_thrash_params params;
	struct uvmp_processors processors;
	uint64_t lapse;
	int stat;
	uint32_t blocks, pages;
	struct naive_thrash_block *block;  /* [blocks] */
	struct naive_thrash_waiting *fifo; /* [blocks * pages] */
	uint32_t waiting;
};

/* A space with `blocks` blocks of at most `pages` pages; naive_thrash_free gives its memory back. */
void naive_thrash_init(struct naive_thrash *t, const struct uvmp_thrash_params *params,
		       const struct uvmp_processors *processors, uint32_t blocks, uint32_t pages);
void naive_thrash_free(struct naive_thrash *t);
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
