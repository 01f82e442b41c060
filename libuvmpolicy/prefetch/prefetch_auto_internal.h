/* The prefetcher auto, for its files and for tests. Layers: prefetch_auto_price.c < prefetch_auto_modes.c,
 * prefetch_auto_ahead.c < prefetch_auto.c, which holds the descriptor. The modes and the streams do not need each other.
 *
 * Each state belongs to one of these modules, which alone changes it: prefetch_auto_price.c (price), prefetch_auto_modes.c
 * (modes) or prefetch_auto_ahead.c (streams). The times, and the beginning of a stay, are common to all. States begin as
 * zeros. */
#ifndef UVMPOLICY_PREFETCH_AUTO_INTERNAL_H
#define UVMPOLICY_PREFETCH_AUTO_INTERNAL_H

#include "../base/bits_internal.h"
#include "prefetch_internal.h"

/* -- states -- */

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
	/* price */
	uint32_t left;	/* pages that had been evicted when pages of the block left last */
	uint16_t departed; /* pages of the block that left since its last fault */
	/* modes */
	uint16_t spent; /* cost of the stay, at the prices of the time */
	uint8_t mode;	/* enum auto_mode, of the stay */
	uint8_t probe;	/* index of the probe that the stay is; AUTO_PROBES: none */
	bool is_known;	/* a stay has begun */
	/* streams */
	uint8_t degree : 4, came : 4; /* of an expected block, see auto_walk; degree 0: not expected */
};

/* A walk from a block that faulted over the blocks that follow it in the range. */
struct auto_walk {
	uint8_t budget : 4, passed : 4; /* blocks still to bring; resident ones that it has passed */
	uint8_t degree : 4, came : 4;	/* blocks to bring if the stream goes on; that have come */
};

struct auto_range {
	uint32_t ahead;		/* time of the range less that of the processor: a block for each stay, less own pages */
	/* modes */
	uint32_t pages, fixed;	/* what the stays of the present mode have cost */
	uint32_t hold_until;	/* time of the processor: before, the mode does not change */
	/* streams */
	int16_t credit;		/* blocks that may come ahead, more than at first, in eighths */
	struct auto_walk walk;
	/* modes */
	struct auto_probe probe[AUTO_PROBES];
	struct auto_cost mean[AUTO_FINER]; /* of a stay */
	uint8_t seen[AUTO_FINER];	   /* stays in the mean */
	uint8_t probing[AUTO_PROBES];	   /* mode of the probe; AUTO_WHOLE: the place is free */
	uint8_t stays;			   /* that began in the present mode, which is not whole */
	uint8_t mode;			   /* enum auto_mode */
	uint8_t gap, since;		   /* stays from one probe to the next; since the last one, or the first eviction */
	uint8_t patience;		   /* turns of memory before finer modes are tried again */
	uint8_t largest;		   /* half of the pages of its largest block, rounded up, less 1 */
	uint8_t is_filling : 1;		   /* memory fills after a change of the mode, until a turn before hold_until */
	uint8_t has_begun : 1;		   /* its first mode has been chosen */
	/* streams */
	uint8_t checks : 4;		   /* times that blocks could come ahead; wraps */
};

struct auto_processor {
	uint32_t time;	   /* pages that were brought */
	/* modes */
	uint16_t faults; /* recent services of blocks without pages: pages that faulted, */
	uint8_t groups;	 /* and services */
	/* streams */
	uint8_t opened; /* blocks that came with the first block of a range, and that no stream has confirmed */
	/* price */
	uint64_t evicted;  /* pages that have left, as told last */
	uint64_t departed; /* those of them that count */
	uint64_t worth;	   /* what room for them would have saved, in 1/16 of a copy */
	struct auto_range small; /* of all small ranges */
};

/* -- a decision -- */

#define AUTO_PRICE_UNIT 16u /* of prices: a copy */
#define AUTO_TURN_MOST	((uint32_t)1 << 25)

struct auto_decision {
	const struct uvmp_prefetch_params *params;
	const struct uvmp_prefetch_facts *facts;
	struct auto_block *block;
	struct auto_range *range;
	struct auto_processor *processor;
	uint32_t turn;	/* pages of the memory, at most AUTO_TURN_MOST */
	/* of the facts, whose masks may be the hint's */
	uvmp_mask faulted, resident;
	uint32_t price; /* of a page, AUTO_PRICE_UNIT for a copy; by uvmpi_auto_price_set */
	/* by uvmpi_auto_modes_begin */
	bool is_part;	/* the range has a larger block */
	bool opens;	/* blocks may come with this one, the first of the range; by uvmpi_auto_ahead_confirm */
};

static inline uint16_t auto_add_most(uint16_t sum, uint32_t more)
{
	return (uint16_t)(more < 0xffffu - sum ? sum + more : 0xffffu);
}

/* The time of the range. */
static inline uint32_t auto_time(const struct auto_decision *d)
{
	return d->processor->time + d->range->ahead;
}

/* Pages come, of a block whose stay the time of the range has counted. */
static inline void auto_pass(struct auto_decision *d, uint32_t pages)
{
	d->processor->time += pages;
	d->range->ahead -= pages;
}

/* A stay in mode whole begins; what was known of the block is forgotten. */
static inline void auto_begin_whole(struct auto_decision *d)
{
	*d->block = (struct auto_block){.begun = auto_time(d), .probe = AUTO_PROBES, .is_known = true};
}

/* -- prefetch_auto_price.c -- */

/* A fault: sets d->price. If pages of the block have left, they return now. */
void uvmpi_auto_price_set(struct auto_decision *d);
/* The block is brought. Pages of the block that have left, if any, return now. */
void uvmpi_auto_price_return(struct auto_decision *d);
/* Member `left` of the descriptor. */
void uvmpi_auto_price_left(void *block, const struct uvmp_prefetch_departure *departure);

/* -- prefetch_auto_modes.c -- */

/* A block without pages was faulted. */
void uvmpi_auto_modes_count_group(struct auto_decision *d);
/* Before the decision: the mode of the stay; d->price is set. Returns the rule of the answer. */
enum uvmp_rule uvmpi_auto_modes_begin(struct auto_decision *d);
/* The threshold of density in the mode of the stay. */
uint32_t uvmpi_auto_modes_threshold(const struct auto_decision *d);
/* After the decision: what it costs. */
void uvmpi_auto_modes_charge(struct auto_decision *d, const struct uvmp_prefetch_hint *hint);

/* -- prefetch_auto_ahead.c -- */

/* A fault in a block without pages, before the stay begins: does the fault go on with a stream? Then the blocks that came ahead
 * were right. Returns how many blocks may come behind this one; 0: the fault belongs to no stream. Sets d->opens. */
uint32_t uvmpi_auto_ahead_confirm(struct auto_decision *d);
/* After the decision about a block that had no pages: hint->follow begins the walk over the blocks behind it, of which `ahead`
 * may come, or auto_ahead while all data fit. The stream may double its degree; each sixteenth time nothing comes, as a check. */
void uvmpi_auto_ahead_begin(struct auto_decision *d, uint32_t ahead, struct uvmp_prefetch_hint *hint);
/* The walk comes to the block: it passes pages that are there, brings blocks while it may, and expects the next one to fault. */
void uvmpi_auto_ahead_follow(struct auto_decision *d, struct uvmp_prefetch_hint *hint);

#endif
