/* naive_plan.h: the rules of plan.h page by page, and random cases for them. Facts must be right. */
#ifndef NAIVE_PLAN_H
#define NAIVE_PLAN_H

#include "residency_case.h"
#include "uvmpolicy/plan.h"

/* Stores at most UVMP_PLAN_COPIES_MAX transfers; returns their number. */
uint32_t naive_plan_copies(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
			   struct uvmp_copy copy[UVMP_PLAN_COPIES_MAX]);

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
