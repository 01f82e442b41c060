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

enum auto_mode { AUTO_WHOLE, AUTO_DENSE, AUTO_SPARSE };

#define AUTO_FINER  2u /* modes, all but whole; arrays of them have mode m at m - 1 */
#define AUTO_PROBES 3u

/* What a stay has cost, in copies of a page: for pages that were copied, and for the rest. */
struct auto_cost {
	uint16_t pages, fixed;
};

/* A stay that is handled in another mode than its range's. */
struct auto_probe {
	uint32_t begun; /* as in the block */
	struct auto_cost cost;
};

struct auto_block {
	uint32_t begun; /* time of the range when the stay began; of an expected block: of the processor, when it was marked */
	uint32_t left;	/* pages that had been evicted when pages of the block left last */
	uint16_t departed; /* pages of the block that left since its last fault */
	uint16_t spent; /* cost of the stay, at the prices of the time */
	uint8_t mode;	/* enum auto_mode, of the stay */
	uint8_t probe;	/* index of the probe that the stay is; AUTO_PROBES: none */
	bool is_known;	/* a stay has begun */
	uint8_t degree : 4, came : 4; /* of an expected block, see auto_walk; degree 0: not expected */
};

/* A walk from a block that faulted over the blocks that follow it in the range. */
struct auto_walk {
	uint8_t budget : 4, passed : 4; /* blocks still to bring; resident ones that it has passed */
	uint8_t degree : 4, came : 4;	/* blocks to bring if the stream goes on; that have come */
};

struct auto_range {
	uint32_t ahead;		/* time of the range less that of the processor: a block for each stay, less own pages */
	uint32_t pages, fixed;	/* what the stays of the present mode have cost */
	uint32_t hold_until;	/* time of the processor: before, the mode does not change */
	int16_t credit;		/* blocks that may come ahead, more than at first, in eighths */
	struct auto_walk walk;
	struct auto_probe probe[AUTO_PROBES];
	struct auto_cost mean[AUTO_FINER]; /* of a stay */
	uint8_t seen[AUTO_FINER];	   /* stays in the mean */
	uint8_t probing[AUTO_PROBES];	   /* mode of the probe; AUTO_WHOLE: the place is free */
	uint8_t stays;			   /* that began in the present mode, which is not whole */
	uint8_t mode;			   /* enum auto_mode */
	uint8_t gap, since;		   /* stays from one probe to the next; since the last one */
	uint8_t patience;		   /* turns of memory before finer modes are tried again */
	uint8_t largest;		   /* half of the pages of its largest block, rounded up, less 1 */
	uint8_t is_filling : 1;		   /* memory fills after a change of the mode, until a turn before hold_until */
	uint8_t has_begun : 1;		   /* its first mode has been chosen */
	uint8_t checks : 4;		   /* times that blocks could come ahead; wraps */
};

struct auto_processor {
	uint32_t time;	   /* pages that were brought */
	uint16_t faults, groups; /* recent services of blocks without pages: pages that faulted; services */
	uint64_t evicted;  /* pages that have left, as told last */
	uint64_t departed; /* those of them that count */
	uint64_t worth;	   /* what room for them would have saved, in 1/16 of a copy */
	struct auto_range small; /* of all small ranges */
};

struct pattern_block {
	uvmp_mask pages; /* touched on the processor before they were evicted from it last */
	uint32_t processor;
};

#endif
