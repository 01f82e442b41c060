/* The eviction order auto once more, rule by rule (evict_auto.c): flat arrays, sorting, wide integers that do not wrap. Each
 * call is O(units^2). The constants are stated a second time. */
#ifndef NAIVE_AUTO_H
#define NAIVE_AUTO_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_AUTO_UNITS   704u /* 22 blocks */
#define NAIVE_AUTO_BLOCK   32u
#define NAIVE_AUTO_BATCHES 4096

#define NAIVE_AUTO_TENANTS 16u

enum naive_auto_rule { NAIVE_OLDEST, NAIVE_KEEP };

struct naive_auto_block {
	uint64_t left; /* clock at the last departure */
	int64_t batch, came; /* units that came in the batch with this number */
	uint32_t gone;
	enum naive_auto_rule rule;
	bool is_whole;
	uint32_t owner;
};

struct naive_auto {
	bool is_listed[NAIVE_AUTO_UNITS], is_fresh[NAIVE_AUTO_UNITS];
	uint64_t moved[NAIVE_AUTO_UNITS]; /* when the unit became the newest */
	struct naive_auto_block block[NAIVE_AUTO_UNITS / NAIVE_AUTO_BLOCK];
	uint32_t begun; /* units from here on have no history: neither they nor higher ones were touched */
	uint64_t moves, begin[NAIVE_AUTO_BATCHES]; /* of batches: moves before */
	int64_t batches;
	uint64_t clock, turn, unordered, evicted[2], regret[2];
	int64_t judged; /* clock */
	uint64_t score, wait, gap;
	enum naive_auto_rule rule, chosen;
	uint64_t lost[NAIVE_AUTO_TENANTS], regained[NAIVE_AUTO_TENANTS], refusals;
	uint32_t asker; /* tenant */
	uint32_t used;	/* tenants */
};

void naive_auto_init(struct naive_auto *n);
uint32_t naive_auto_count(const struct naive_auto *n);
void naive_auto_own(struct naive_auto *n, uint32_t unit, uint32_t owner);
void naive_auto_touch(struct naive_auto *n, uint32_t unit);
void naive_auto_remove(struct naive_auto *n, uint32_t unit);
void naive_auto_forget(struct naive_auto *n, uint32_t unit);
void naive_auto_left(struct naive_auto *n, uint32_t unit, uint32_t pages);
void naive_auto_batch(struct naive_auto *n);
/* The units as they would leave, and the rule that chooses the first; their number. Protected units move. */
uint32_t naive_auto_walk(struct naive_auto *n, uint32_t walk[NAIVE_AUTO_UNITS]);
/* Units of the block of `unit` that leave with it: bit b for the unit b of the block. */
uint32_t naive_auto_together(const struct naive_auto *n, uint32_t unit);

#endif
