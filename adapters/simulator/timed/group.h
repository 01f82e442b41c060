/* group.h: the copies that the engine hands out together, and the order in which a driver with one thread performs their
 * transfers.
 *
 * One action covers all transfers of a block with the same source and cause. The driver walks the pages of the block
 * instead: transfers of faulted pages ascending by page, then those of prefetched pages, all sources together. With
 * plan=overlapped or unobtrusive, transfers of an evicted block alternate with them (uvmp_plan_merge). */
#ifndef UVMSIM_GROUP_H
#define UVMSIM_GROUP_H

#include "../host.h"
#include "uvmpolicy/plan.h"

/* One GPU: incoming pages have two sources, and four actions of each when pages are pinned and transfers cut. */
#define GROUP_COPIES_MAX 16u

struct group_copy {
	const struct uvmp_action *action; /* COPY or POPULATE */
	struct host_target target;	  /* but for `pages` */
	struct uvmp_region next;	  /* transfer that is not in the order yet; (0,0): none */
	uint32_t transfers;		  /* not performed yet */
	uint64_t end_ns;		  /* the performed ones end then */
};

struct group {
	struct group_copy copy[GROUP_COPIES_MAX];
	uint32_t copies;
};

/* A transfer of copy number `copy`. */
struct group_step {
	uint32_t copy;
	struct uvmp_region transfer;
};

#define GROUP_STEPS_MAX (2u * UVMP_PLAN_TRANSFERS_MAX)

struct group_order {
	struct group_step step[GROUP_STEPS_MAX];
	uint32_t steps;
	struct uvmp_plan_step merged[GROUP_STEPS_MAX]; /* private */
};

/* The group is not full. */
void group_add(struct group *group, const struct uvmp_action *action, const struct host_target *target);
/* Puts all transfers in their order. Once for a group. */
void group_put_in_order(struct group *group, enum uvmp_plan_order plan, struct group_order *order);

#endif
