/* plan.h: in which copies, and in which order?
 *
 * From the pages that must arrive on one processor to their transfers:
 *
 *   uvmp_plan_copies()   regions per source, cut at the chunks of both sides and at a largest size, those
 *                        with faulted pages first
 *   uvmp_plan_merge()    copies that come in and copies that make room, one after the other or side by side
 *
 * No state. Sources: the driver copies each run of pages with one source and one cause by itself, closest
 * source first [driver: block-service]; transfer groups of UVM Smart [uvmsmart: transfer-split]; the
 * eviction of the next victim beside the present migration (the same, 9).
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

/* At most one transfer a page and leg. */
#define UVMP_PLAN_COPIES_MAX 1024u

/* One transfer. */
struct uvmp_copy {
	struct uvmp_region pages; /* of the block */
	uint8_t from;		  /* processor; UVMP_PROC_NONE: the pages are resident nowhere and begin as
				   * zeros */
	uint8_t to;		  /* processor */
	uint8_t kind;		  /* enum uvmp_group_kind, FAULT or PREFETCH: that of the group of
				   * uvmp_prefetch_groups() of which this is all or a piece */
	bool is_staged;		  /* first leg of two: `to` is the CPU, the next leg goes on from there */
};

struct uvmp_copy_facts {
	uint32_t to;		   /* processor */
	const uvmp_mask *pages;	   /* must be there; those that are resident already are left out */
	const uvmp_mask *faulted;  /* which of them faulted; NULL: none */
	const uvmp_mask *resident; /* [processors.count]: pages of the block that each processor holds */
	uint8_t grouping;	   /* enum uvmp_grouping */
	/* Chunk boundaries: bit p set: page p starts a chunk on some side, no transfer runs across. NULL:
	 * none. Bit 0 counts for nothing. */
	const uvmp_mask *cuts;
	uint32_t most_pages; /* largest transfer, in pages; 0: any */
};

/* The transfers of one move or duplication. The pages that are not there yet are grouped as by
 * uvmp_prefetch_groups(), without latency groups; each group is then cut where the source changes and at the
 * cuts, and what is still larger than most_pages every most_pages. Each page comes from the holder closest to
 * the destination [driver: processors]. From GPU to GPU, if neither can map the other's memory,
 * it takes two legs over the CPU, the second right behind the first. Order: the transfers of fault groups
 * first, then those of prefetch groups, each ascending by page. Stores the number in *count.
 * UVMP_ERR_ARGUMENT: NULL (copy may be with capacity 0), processors not valid. UVMP_ERR_RANGE: `to` or
 * grouping. UVMP_ERR_SPACE: capacity is too small; *count is then the number needed. O(pages +
 * processors^2). */
UVMP_API enum uvmp_status uvmp_plan_copies(const struct uvmp_processors *processors,
					   const struct uvmp_copy_facts *facts, struct uvmp_copy *copy,
					   uint32_t capacity, uint32_t *count);

enum uvmp_plan_order {
	UVMP_PLAN_SERIAL = 0,	  /* the driver: room is made, then pages come */
	UVMP_PLAN_OVERLAPPED = 1, /* the next victim leaves while the present pages come */
	UVMP_PLAN_UNOBTRUSIVE = 2 /* the same, and the first one when the batch begins (Kim et al., 4.2) */
};

/* Name as in the policy string ("serial", "overlapped", "unobtrusive"); NULL outside the enumeration. */
UVMP_API const char *uvmp_plan_name(enum uvmp_plan_order order);

/* A step of a merged plan: copy `index` of one of the two lists may start when step `after` has ended. */
struct uvmp_plan_step {
	uint32_t index;
	uint32_t after; /* a step before this one; UVMP_PLAN_AT_ONCE: none */
	bool is_out;	/* of the outgoing list */
};
#define UVMP_PLAN_AT_ONCE 0xffffffffu

/* One order over `in` copies that come and `out` copies of the next victim that leaves. SERIAL: all that
 * leaves, then all that comes, each after the one before. OVERLAPPED: alternating, beginning with one that
 * comes; each waits only for the one before in its own direction, as with one copy engine for each. `step`
 * has room for in + out steps. UVMP_ERR_ARGUMENT: NULL (may be if in + out is 0). UVMP_ERR_RANGE: order, or
 * in or out above UVMP_PLAN_COPIES_MAX. UVMP_ERR_SPACE: capacity < in + out. */
UVMP_API enum uvmp_status uvmp_plan_merge(enum uvmp_plan_order order, uint32_t in, uint32_t out,
					  struct uvmp_plan_step *step, uint32_t capacity);

#ifdef __cplusplus
}
#endif
#endif
