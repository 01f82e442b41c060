/* The copies of one plan become actions: pages that arrive for the block being serviced, and pages that an eviction
 * sends away. */
#include "arena_internal.h"
#include "block_service_internal.h"
#include "job_internal.h"
#include "queue_internal.h"

static struct uvmp_action *queue_copy(struct uvmp_service *s, const struct uvmp_copy *copy, handle block,
				      enum uvmp_cause cause)
{
	bool is_zero = copy->from == UVMP_PROC_NONE;
	struct uvmp_action *a;
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, copy->pages);
	a = uvmpi_queue(s, is_zero ? UVMP_ACTION_POPULATE : UVMP_ACTION_COPY, cause, block, &pages);
	a->from = copy->from;
	a->to = copy->to;
	return a;
}

static struct uvmp_region subtree_at(const struct uvmp_service *s, const struct job *job, uint32_t page)
{
	struct uvmp_region block = {0, block_at(s, job->block)->pages};

	return uvmp_region_intersect(uvmp_prefetch_subtree(&job->hint, page), block);
}

/* Only a job with one destination prefetches, so the hint is for job->to (a->to can be a stop on the way). A chosen
 * subtree holds a page that faulted, or arrives in part. So a run of prefetched pages begins in one subtree and can end
 * in the next one. */
static void name_subtrees(const struct uvmp_service *s, const struct job *job, struct uvmp_action *a)
{
	uint32_t last = a->run.end - 1u;

	a->subtree[0] = subtree_at(s, job, a->run.first);
	if (last >= a->subtree[0].end)
		a->subtree[1] = subtree_at(s, job, last);
}

static void queue_incoming(struct uvmp_service *s, const struct uvmp_copy *copy, const struct job *job)
{
	bool is_prefetched = copy->kind == UVMP_GROUP_PREFETCH;
	struct uvmp_action *a = queue_copy(s, copy, job->block,
					   is_prefetched ? UVMP_CAUSE_PREFETCH : (enum uvmp_cause)job->cause);

	a->detail = uvmp_mask_region_weight(&job->faulted, copy->pages);
	if (a->cause == UVMP_CAUSE_PREFETCH) {
		a->faulted = uvmp_mask_weight(&job->faulted);
		a->present = job->present;
		name_subtrees(s, job, a);
	} else if (uvmp_mask_intersects(&a->pages, &job->pinned)) {
		a->cause = UVMP_CAUSE_PIN;
		a->throttles = job_throttles(job, &a->pages);
	}
}

void uvmpi_queue_copies(struct uvmp_service *s, const struct job *job, struct outgoing outgoing)
{
	uint32_t count = s->ins + s->outs, first;

	uvmp_plan_merge(s->policy.plan, s->ins, s->outs, s->plan, 2u * UVMP_PLAN_COPIES_MAX);
	first = s->is_drained ? 0 : s->actions;
	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_plan_step *step = &s->plan[i];

		if (step->is_out)
			queue_copy(s, &s->out[step->index], outgoing.block, UVMP_CAUSE_EVICTION)
				->for_address = outgoing.for_address;
		else
			queue_incoming(s, &s->in[step->index], job);
		if (i > 0) /* the first ones wait for the unmapping before them */
			s->action[first + i].after = step->after == UVMP_PLAN_AT_ONCE
							     ? s->action[first].after
							     : s->action[first + step->after].id;
	}
	s->ins = s->outs = 0;
}
