/* Private states of prefetchers, for the file of each prefetcher and for its tests. All begin as zeros.
 *
 * A state of a range serves all blocks of the range. Each decision that is no follow (is_follow) sets `budget`,
 * `step` and `reach`. */
#ifndef UVMPOLICY_PREFETCH_STATES_INTERNAL_H
#define UVMPOLICY_PREFETCH_STATES_INTERNAL_H

#include "uvmpolicy/mask.h"

struct sequential_range {
	uint64_t cursor; /* next page of the range to look at; never decreases */
	uint64_t budget; /* pages still to take */
};

struct locality_range {
	uint64_t reach; /* end of the pages to fetch, as page of the range */
};

struct next_range {
	uint64_t budget; /* blocks still to fetch */
};

#define STRIDE_STREAMS 4u   /* streams that a range remembers */
#define STRIDE_MAX     512u /* most pages between two faults of a stream without a stride */

/* Faults of a range that seem to belong together. */
struct stride_stream {
	uint64_t page;	     /* of the range, the last that faulted */
	int32_t stride;	     /* pages from fault to fault, -512..512; 0: only one fault was seen */
	uint32_t confidence; /* times that the stride was seen, less the faults that did not fit; 0..7 */
};

struct stride_range {
	uint64_t cursor;  /* page of the range at which a follow goes on, while budget is not 0 */
	uint64_t budget;  /* pages still to take */
	int32_t step;	  /* pages that the cursor moves at a time */
	uint32_t streams; /* in use, 0..STRIDE_STREAMS */
	struct stride_stream stream[STRIDE_STREAMS]; /* last used first */
};

enum forest_class { FOREST_BASE, FOREST_LINEAR, FOREST_DENSE, FOREST_SPARSE };

struct forest_range {
	uint64_t x, y, xx, yy, xy;	/* sums over the pages of the window: position, time, products */
	uint64_t lowest, highest;	/* pages of the range that were accessed in the window */
	uint32_t pages, time;		/* distinct pages, and accesses, of the window */
	uint32_t window;		/* number of the window; 0: none yet */
	uint32_t kernel;		/* kernels that had begun when this one's observation began */
	uint8_t class, rounds;		/* enum forest_class; windows of this kernel that have ended */
	bool is_settled;		/* the class stays until the next kernel */
};

struct forest_block {
	uint32_t window;    /* that the times belong to; in others all are 0 */
	uint32_t class;	    /* of the range, at the last decision */
	uint16_t time[512]; /* of the last access in the window; 0: none */
};

struct pattern_block {
	uvmp_mask pages; /* touched on the processor before they were evicted from it last */
	uint32_t processor;
};

#endif
