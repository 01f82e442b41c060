/* naive_plan.h: the rules of plan.h page by page, and random cases for them. Facts must be right. */
#ifndef NAIVE_PLAN_H
#define NAIVE_PLAN_H

#include "residency_case.h"
#include "uvmpolicy/plan.h"

/* One transfer; as struct uvmp_copy. */
struct naive_transfer {
	struct uvmp_region pages;
	uint8_t from, to, kind;
	bool is_staged;
	uint8_t source; /* the processor that holds the pages, UVMP_PROC_NONE: of both legs */
	uint32_t rank;	/* so many processors with pages to move are closer */
};

/* Stores at most UVMP_PLAN_TRANSFERS_MAX transfers, faulted ones first, each kind ascending by page, both legs of a page side by
 * side; returns their number. */
uint32_t naive_plan_copies(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
			   struct naive_transfer transfer[UVMP_PLAN_TRANSFERS_MAX]);
/* The transfers of the sets in the same order; `source` and `rank` are 0. Returns their number, or the number of the first set
 * whose transfers or cuts are not canonical, negative and minus 1. */
int naive_plan_list(const struct uvmp_copy *copy, uint32_t count,
		    struct naive_transfer transfer[UVMP_PLAN_TRANSFERS_MAX]);
/* Adds a transfer to a set and its cuts: pages that begin a transfer although the page before them is in the set, too. */
void naive_plan_add(const struct uvmp_region *transfer, uvmp_mask *pages, uvmp_mask *cuts);

/* Stores in + out steps. */
void naive_plan_merge(enum uvmp_plan_order order, uint32_t in, uint32_t out, struct uvmp_plan_step *step);

/* A move with all that it points to. Do not copy. */
struct plan_case {
	struct uvmp_processors processors;
	struct uvmp_copy_facts facts;
	uvmp_mask pages, faulted, cuts;
	uvmp_mask resident[UVMP_PROCS_MAX];
};

void plan_case_draw(struct residency_source *source, struct plan_case *c);

#endif
