/* plan.h: the transfers of a migration, and their order.
 *
 *   uvmp_plan_copies()     transfers as sets: one set per source and kind, faulted pages first
 *   uvmp_next_transfer()   the transfers of a set, one after the other
 *   uvmp_plan_merge()      one order over incoming transfers and those of the next victim
 *
 * No state. Sources: the driver copies each run of pages with one source and one cause separately, closest
 * source first [driver: block-service]; transfer groups of UVM Smart [uvmsmart: transfer-split]; eviction of
 * the next victim during the present migration: Kim et al. (ASPLOS'20), section 4.2.
 */
#ifndef UVMPOLICY_PLAN_H
#define UVMPOLICY_PLAN_H

#include "base.h"
#include "mask.h"
#include "prefetch.h"
#include "processor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At most two kinds of each source, and two legs of each; and at most one transfer per page and leg. */
#define UVMP_PLAN_COPIES_MAX	(4u * UVMP_PROCS_MAX)
#define UVMP_PLAN_TRANSFERS_MAX (2u * UVMP_MASK_BITS)

/* Packed record: all transfers of one source and one kind. The transfers are the runs of `pages`, cut before
 * each page of `cuts`; uvmp_next_transfer walks them. */
struct uvmp_copy {
	uvmp_mask pages; /* of the block; not empty */
	uvmp_mask cuts;	 /* pages that begin a transfer although the page before them is in `pages`, too */
	uint8_t from;	 /* processor; UVMP_PROC_NONE: the pages are resident nowhere and begin as zeros */
	uint8_t to;	 /* processor */
	uint8_t kind;	 /* enum uvmp_group_kind, FAULT or PREFETCH: kind of the transfer groups
			  * (uvmp_prefetch_groups) that contain the pages */
	bool is_staged;	 /* first leg of two: `to` is the CPU, the source of the second leg */
};

/* The first transfer at or after page `from`, cut at `from`; (0,0): no transfer. Walk all transfers with
 *   for (t = uvmp_next_transfer(&pages, &cuts, 0); t.end; t = uvmp_next_transfer(&pages, &cuts, t.end))
 * Pages of `cuts` outside `pages` are ignored. O(words). */
UVMP_API struct uvmp_region uvmp_next_transfer(const uvmp_mask *pages, const uvmp_mask *cuts, uint32_t from);
/* The number of transfers, 0..512. O(words). */
UVMP_API uint32_t uvmp_count_transfers(const uvmp_mask *pages, const uvmp_mask *cuts);

struct uvmp_copy_facts {
	uint32_t to;		   /* processor; 0 is the CPU */
	const uvmp_mask *pages;	   /* pages needed on `to`; pages resident there already are left out */
	const uvmp_mask *faulted;  /* pages that faulted; NULL: none */
	const uvmp_mask *resident; /* [processors.count]: pages of the block that each processor holds */
	enum uvmp_grouping grouping;
	/* Chunk boundaries. Bit p set: page p starts a chunk on either side, and no transfer crosses the
	 * boundary. NULL: none. Bit 0 is ignored. */
	const uvmp_mask *cuts;
	uint32_t most_pages; /* largest transfer, in pages; 0: any */
};

/* Computes the transfers of one move or duplication. Pages not yet resident on `to` are grouped as by
 * uvmp_prefetch_groups(), without latency groups. Each group is cut where the source changes, at the cuts,
 * and after most_pages pages. The source of a page is the holder closest to the destination
 * [driver: processors]. If two GPUs cannot map each other's memory, a transfer between them takes two
 * legs over the CPU.
 *
 * The sets of fault groups come first, then those of prefetch groups; of each kind the closest source first,
 * pages that are resident nowhere last. The second leg of a set follows the first leg. Stores the number of
 * sets in *count. UVMP_ERR_ARGUMENT: NULL (copy may be with capacity 0), processors not valid.
 * UVMP_ERR_RANGE: `to` or grouping. UVMP_ERR_SPACE: capacity is too small; *count is then the number needed,
 * and no set is stored. UVMP_PLAN_COPIES_MAX, and 4 sets per processor, always suffice. O(processors * words
 * + processors^2); grouping=run-to-fault: + runs; most_pages: + transfers. */
UVMP_API enum uvmp_status uvmp_plan_copies(const struct uvmp_processors *processors,
					   const struct uvmp_copy_facts *facts, struct uvmp_copy *copy,
					   uint32_t capacity, uint32_t *count);

enum uvmp_plan_order {
	UVMP_PLAN_SERIAL = 0,	  /* the driver: evict, then migrate */
	UVMP_PLAN_OVERLAPPED = 1, /* evict the next victim during the present migration */
	UVMP_PLAN_UNOBTRUSIVE =
		2 /* OVERLAPPED, and the first eviction starts with the batch (Kim et al., 4.2) */
};

/* Name as in the policy string ("serial", "overlapped", "unobtrusive"); NULL outside the enumeration. */
UVMP_API const char *uvmp_plan_name(enum uvmp_plan_order order);

/* A step of a merged plan: transfer `index` of one of the two lists may start once step `after` has ended. */
struct uvmp_plan_step {
	uint32_t index;
	uint32_t after; /* an earlier step; UVMP_PLAN_AT_ONCE: none */
	bool is_out;	/* `index` is in the outgoing list */
};
#define UVMP_PLAN_AT_ONCE 0xffffffffu

/* Merges `in` incoming transfers and `out` transfers of the next victim into one order, for hosts that
 * perform transfers one after the other. SERIAL: all outgoing transfers, then all incoming ones, each after
 * the previous one. OVERLAPPED: alternating, an incoming transfer first; each transfer waits only for the
 * previous transfer of its direction, as with one copy engine per direction. `step` has space for in + out
 * steps. UVMP_ERR_ARGUMENT: NULL (allowed if in + out is 0). UVMP_ERR_RANGE: order, or in or out above
 * UVMP_PLAN_TRANSFERS_MAX. UVMP_ERR_SPACE: capacity < in + out. */
UVMP_API enum uvmp_status uvmp_plan_merge(enum uvmp_plan_order order, uint32_t in, uint32_t out,
					  struct uvmp_plan_step *step, uint32_t capacity);

#ifdef __cplusplus
}
#endif
#endif
