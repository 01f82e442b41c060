/* UVM Smart's tree prefetchers once more, rule by rule: recursive, in bytes, on arrays of
 * flags. */
#ifndef NAIVE_TBN_H
#define NAIVE_TBN_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_TBN_PAGES  512
#define NAIVE_TBN_BLOCKS 32
#define NAIVE_TBN_NODES  63

struct naive_tbn {
	unsigned pages;  /* of the block */
	unsigned blocks; /* leaves of the tree */
	bool is_tbn;     /* else sequential-local */
	bool quirks;
	uint64_t valid[NAIVE_TBN_NODES]; /* bytes; node 0 is the root, 2i+1 and 2i+2 are the children of i */
	bool resident[NAIVE_TBN_PAGES], pending[NAIVE_TBN_PAGES];
	/* of each basic block that the last decision chose: the largest node that was filled with it, or the block alone */
	unsigned node_first[NAIVE_TBN_BLOCKS], node_end[NAIVE_TBN_BLOCKS];
};

void naive_tbn_init(struct naive_tbn *m, unsigned pages, unsigned blocks, bool is_tbn, bool quirks);
/* Faults on the pages of `faulted` that are neither resident nor pending; tells what else is fetched, and
 * which blocks were chosen. */
void naive_tbn_fault(struct naive_tbn *m, const bool *faulted, bool *fetched, bool *chosen);
/* From now on, these pages are resident and none is pending. With quirks the tree keeps its counts. */
void naive_tbn_see(struct naive_tbn *m, const bool *resident);
/* The tree counts a page more, or a page less, whether the page is resident or not; with quirks. */
void naive_tbn_count(struct naive_tbn *m, unsigned page, bool is_more);
/* Inner nodes become the sums of their children. */
void naive_tbn_sum(struct naive_tbn *m);
/* Pages that the leaf of a basic block counts. */
unsigned naive_tbn_leaf(const struct naive_tbn *m, unsigned block);
void naive_tbn_arrive(struct naive_tbn *m, unsigned page);
void naive_tbn_drop(struct naive_tbn *m, unsigned page);
void naive_tbn_drop_block(struct naive_tbn *m, unsigned block);

#endif
