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
};

void naive_tbn_init(struct naive_tbn *m, unsigned pages, unsigned blocks, bool is_tbn, bool quirks);
/* Faults on the pages of `faulted` that are neither resident nor pending; tells what else is fetched, and
 * which blocks were chosen. */
void naive_tbn_fault(struct naive_tbn *m, const bool *faulted, bool *fetched, bool *chosen);
void naive_tbn_arrive(struct naive_tbn *m, unsigned page);
void naive_tbn_drop(struct naive_tbn *m, unsigned page);
void naive_tbn_drop_block(struct naive_tbn *m, unsigned block);

#endif
