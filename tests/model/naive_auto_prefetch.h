/* The prefetcher auto, rule by rule from the head comments of prefetch_auto*.c: numbers do not wrap, a cost is a sum over
 * pages, and the answer is naive_density's. */
#ifndef NAIVE_AUTO_PREFETCH_H
#define NAIVE_AUTO_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/naive_density.h"

enum naive_auto_mode { NAIVE_WHOLE, NAIVE_DENSE, NAIVE_SPARSE };

struct naive_auto_cost {
	int64_t pages, fixed;
};

struct naive_auto_probe {
	enum naive_auto_mode mode; /* NAIVE_WHOLE: no probe */
	int64_t begun;
	struct naive_auto_cost cost;
};

struct naive_auto_block {
	bool is_known;
	enum naive_auto_mode mode;
	int64_t begun, spent, gone, left;
	int probe; /* -1: none */
	bool is_expected; /* to be the next block of a stream that faults */
	int64_t expected_at, degree, came;
};

struct naive_auto_range {
	int64_t own, begun; /* pages that came; pages of the blocks whose stays began */
	enum naive_auto_mode mode;
	bool has_changed, is_filling, is_old;
	int64_t full_at, hold_until, patience, largest, gap, since, stays;
	struct naive_auto_cost sum, mean[3];
	int64_t seen[3];
	struct naive_auto_probe probe[3];
	int64_t earned; /* eighths of a block beyond the first two that may come ahead */
	int64_t chances;
	/* of the walk from the block that faulted last */
	int64_t to_bring, passed, degree, came;
};

struct naive_auto_processor {
	int64_t time, evicted, departed, worth;
	int64_t alone, together; /* services of blocks without pages, and the pages that faulted in them */
	struct naive_auto_range small; /* what all ranges below four blocks share */
	int64_t opened; /* blocks that came with the first ones of ranges, less those of streams that went on */
};

struct naive_auto {
	struct naive_auto_block *block; /* NULL: without a state */
	struct naive_auto_range *range;
	struct naive_auto_processor *processor;
};

/* Decides: the pages, and what density remembers, are in *out; returns the rule. `state`: last_proc and faults. *goes_on: the
 * next block of the range is asked too. */
enum uvmp_rule
naive_auto_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                  const struct uvmp_prefetch_state *state, const struct naive_auto *own, struct naive_density *out,
                  bool *goes_on);
/* Decides about a block that an answer has named to follow: its pages come or not. *goes_on: the next block of the range is asked
 * too. Returns the rule. */
enum uvmp_rule naive_auto_follow(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                                          const struct naive_auto *own, bool pages[512], bool *goes_on);
/* So many pages of the block left; `evicted`: from the memory so far, these among them. */
void naive_auto_departed(struct naive_auto_block *block, int64_t pages, int64_t evicted);

#endif
