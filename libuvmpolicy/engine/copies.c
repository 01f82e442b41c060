/* The copies of one plan become actions: pages that arrive for the block being serviced, and pages that an
 * eviction sends away. */
#include "service_internal.h"

/* One copy of the step's block (in) or of the victim's (out). */
static void queue_copy(struct uvmp_service *s, const struct uvmp_copy *copy, handle block, bool is_out)
{
	enum uvmp_cause cause = is_out ? UVMP_CAUSE_EVICTION : (enum uvmp_cause)s->step.cause;
	bool is_zero = copy->from == UVMP_PROC_NONE;
	struct uvmp_action *a;
	uvmp_mask pages;

	if (!is_out && copy->kind == UVMP_GROUP_PREFETCH)
		cause = UVMP_CAUSE_PREFETCH;
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, copy->pages);
	a = uvmpi_queue(s, is_zero ? UVMP_ACTION_POPULATE : UVMP_ACTION_COPY, cause, block, &pages);
	a->from = copy->from;
	a->to = copy->to;
	if (!is_out)
		a->detail = uvmp_mask_region_weight(&s->step.faulted, copy->pages);
	if (is_out) {
		a->for_address = s->evict.for_address;
	} else if (cause == UVMP_CAUSE_PREFETCH) {
		a->faulted = uvmp_mask_weight(&s->step.faulted);
		a->present = s->step.present;
	}
	if (cause != UVMP_CAUSE_PREFETCH && !is_out && uvmp_mask_intersects(&pages, &s->step.pinned)) {
		a->cause = UVMP_CAUSE_PIN;
		a->throttles = step_throttles(&s->step, &pages);
	}
}

void uvmpi_queue_copies(struct uvmp_service *s, handle in_block, handle out_block)
{
	uint32_t count = s->ins + s->outs, first;

	uvmp_plan_merge(s->policy.plan, s->ins, s->outs, s->plan, 2u * UVMP_PLAN_COPIES_MAX);
	first = s->is_drained ? 0 : s->actions;
	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_plan_step *step = &s->plan[i];

		queue_copy(s, step->is_out ? &s->out[step->index] : &s->in[step->index],
		           step->is_out ? out_block : in_block, step->is_out);
		if (i > 0) /* the first ones wait for the unmapping before them */
			s->action[first + i].after = step->after == UVMP_PLAN_AT_ONCE
			                                     ? s->action[first].after
			                                     : s->action[first + step->after].id;
	}
	s->ins = s->outs = 0;
}
