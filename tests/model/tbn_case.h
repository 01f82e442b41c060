/* One block under a tree prefetcher, in the library and in the naive model at once: what happens to one
 * happens to the other, and every step says whether they still agree. The library's side is what a host does:
 * faults through uvmp_prefetch_decide, evictions through uvmp_tree_sub. */
#ifndef TBN_CASE_H
#define TBN_CASE_H

#include <stddef.h>

#include "model/naive_tbn.h"
#include "uvmpolicy/prefetch.h"

struct tbn_case {
	struct uvmp_prefetch_params params;
	struct uvmp_block block;
	struct uvmp_tree tree;
	uvmp_mask resident, pending;
	uvmp_mask batch; /* pages of the last fault step that were neither resident nor pending */
	struct uvmp_prefetch_hint hint; /* its result; empty if the batch was */
	struct naive_tbn model;
};

void tbn_case_open(struct tbn_case *c, enum uvmp_prefetcher prefetcher, bool quirks, uint32_t pages,
                   uint32_t blocks);
bool tbn_case_fault(struct tbn_case *c, const uvmp_mask *pages);
/* The pages become resident, pending before or not [uvmsmart: user-prefetch-bypasses-tree]. */
bool tbn_case_arrive(struct tbn_case *c, const uvmp_mask *pages);
bool tbn_case_drop(struct tbn_case *c, const uvmp_mask *pages);
/* A block of 16 resident pages leaves at once; any other stays. */
bool tbn_case_drop_block(struct tbn_case *c, uint32_t block);

/* A whole script from bytes (a fuzzer's, or random ones); false where the two differ. */
bool tbn_case_run(const uint8_t *data, size_t size);

#endif
