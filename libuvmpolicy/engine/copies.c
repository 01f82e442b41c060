/* The sets of transfers of one plan become actions: pages that arrive for the block being serviced, and pages that an
 * eviction sends away. */
#include "../decisions/plan_internal.h"
#include "arena_internal.h"
#include "block_service_internal.h"
#include "job_internal.h"
#include "queue_internal.h"

static struct uvmp_action *queue_copy(struct uvmp_service *s, const struct uvmp_copy *copy, handle block,
				      enum uvmp_cause cause)
{
	bool is_zero = copy->from == UVMP_PROC_NONE;
	struct uvmp_action *a = uvmpi_queue(s, is_zero ? UVMP_ACTION_POPULATE : UVMP_ACTION_COPY, cause,
					    block, &copy->pages);

	a->from = copy->from;
	a->to = copy->to;
	a->cuts = copy->cuts;
	return a;
}

/* Where chosen subtrees begin and end inside the block. Only a job with one destination prefetches, so the hint is for
 * job->to (a->to can be a stop on the way). */
static void name_subtrees(const struct uvmp_service *s, const struct job *job, struct uvmp_action *a)
{
	uint32_t pages = block_at(s, job->block)->pages;

	a->subtrees = job->hint.subtrees;
	if (pages < UVMP_MASK_BITS)
		uvmpi_mask_region_clear(&a->subtrees, (struct uvmp_region){pages, UVMP_MASK_BITS});
	if (!uvmpi_mask_is_empty(&a->subtrees))
		uvmp_mask_set(&a->subtrees, pages);
}

/* The rule that decided about faulted or notified pages of the job. */
static uint8_t rule_of(const struct job *job, enum uvmp_cause cause)
{
	bool is_own = cause == UVMP_CAUSE_COUNTER && job->rule != UVMP_RULE_NONE;

	return is_own ? job->rule : (uint8_t)job->hint.rule;
}

static void explain_prefetch(const struct uvmp_service *s, const struct job *job, uint32_t faulted,
			     struct uvmp_action *a)
{
	a->faulted = faulted;
	a->present = job->present;
	a->rule = (uint8_t)job->hint.rule;
	name_subtrees(s, job, a);
}

static void queue_prefetched(struct uvmp_service *s, const struct uvmp_copy *copy, const struct job *job)
{
	explain_prefetch(s, job, uvmpi_mask_weight(&job->faulted),
			 queue_copy(s, copy, job->block, UVMP_CAUSE_PREFETCH));
}

/* Splits a set by its transfers: `with` gets those with a marked page (is_last: with a marked last page), `without` the
 * others. */
static void split(const struct uvmp_copy *copy, const uvmp_mask *marked, bool is_last, struct uvmp_copy *with,
		  struct uvmp_copy *without)
{
	struct uvmp_region transfer;

	*with = *without = *copy;
	uvmpi_mask_zero(&with->pages);
	for (transfer = uvmp_next_transfer(&copy->pages, &copy->cuts, 0); transfer.end != 0;
	     transfer = uvmp_next_transfer(&copy->pages, &copy->cuts, transfer.end)) {
		struct uvmp_region decisive = {is_last ? transfer.end - 1u : transfer.first, transfer.end};

		if (uvmpi_mask_region_any(marked, decisive))
			uvmpi_mask_region_set(&with->pages, transfer);
	}
	uvmpi_mask_andnot(&without->pages, &copy->pages, &with->pages);
	uvmpi_cuts_inside(&with->cuts, &with->pages, &copy->cuts);
	uvmpi_cuts_inside(&without->cuts, &without->pages, &copy->cuts);
}

static void queue_caused(struct uvmp_service *s, const struct uvmp_copy *copy, const struct job *job, enum uvmp_cause cause)
{
	struct uvmp_action *a = queue_copy(s, copy, job->block, cause);
	uvmp_mask faulted;

	uvmpi_mask_and(&faulted, &copy->pages, &job->faulted);
	a->detail = uvmpi_mask_weight(&faulted);
	a->rule = rule_of(job, cause);
	if (cause == UVMP_CAUSE_PIN)
		a->throttles = job_throttles(job, &copy->pages);
}

/* Transfers that end before the faulted page of their group are an action of their own, so that the number of faulted
 * pages tells which pages faulted (uvmp_action_faulted). */
static void queue_ends_apart(struct uvmp_service *s, const struct uvmp_copy *copy, const struct job *job,
			     enum uvmp_cause cause)
{
	struct uvmp_copy to_fault, others;

	if (uvmpi_mask_is_subset(&copy->pages, &job->faulted)) {
		queue_caused(s, copy, job, cause);
		return;
	}
	split(copy, &job->faulted, true, &to_fault, &others);
	if (!uvmpi_mask_is_empty(&to_fault.pages))
		queue_caused(s, &to_fault, job, cause);
	if (!uvmpi_mask_is_empty(&others.pages))
		queue_caused(s, &others, job, cause);
}

/* A transfer with a pinned page has the cause PIN. These come first. */
static void queue_demanded(struct uvmp_service *s, const struct uvmp_copy *copy, const struct job *job)
{
	struct uvmp_copy pinned, others;

	if (!job->has_pins || !uvmpi_mask_intersects(&copy->pages, &job->pinned)) {
		queue_ends_apart(s, copy, job, (enum uvmp_cause)job->cause);
		return;
	}
	split(copy, &job->pinned, false, &pinned, &others);
	queue_ends_apart(s, &pinned, job, UVMP_CAUSE_PIN);
	if (!uvmpi_mask_is_empty(&others.pages))
		queue_ends_apart(s, &others, job, (enum uvmp_cause)job->cause);
}

/* Copies from one processor: the faulted pages, and those that are prefetched. */
void uvmpi_queue_from_one(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages, uint32_t from)
{
	struct uvmp_action *a;
	uint32_t faulted = 0;

	if (uvmpi_mask_and_any(uvmpi_queue_pages(s), pages, &job->faulted)) {
		a = uvmpi_queue_with(s, UVMP_ACTION_COPY, (enum uvmp_cause)job->cause, job->block);
		faulted = uvmpi_mask_weight(&a->pages);
		a->from = (uint8_t)from;
		a->to = (uint8_t)job->to;
		a->faulted_pages = faulted;
		a->rule = rule_of(job, (enum uvmp_cause)job->cause);
	}
	if (uvmpi_mask_andnot_any(uvmpi_queue_pages(s), pages, &job->faulted)) {
		a = uvmpi_queue_with(s, UVMP_ACTION_COPY, UVMP_CAUSE_PREFETCH, job->block);
		a->from = (uint8_t)from;
		a->to = (uint8_t)job->to;
		if (!uvmpi_mask_is_subset(&job->faulted, pages)) /* some were resident */
			faulted = uvmpi_mask_weight(&job->faulted);
		explain_prefetch(s, job, faulted, a);
	}
}

static void queue_incoming(struct uvmp_service *s, struct job *job)
{
	if (job == NULL)
		return;
	for (uint32_t i = 0; i < job->planned; i++) {
		if (s->in[i].kind == UVMP_GROUP_PREFETCH)
			queue_prefetched(s, &s->in[i], job);
		else
			queue_demanded(s, &s->in[i], job);
	}
	job->planned = 0;
}

static void queue_outgoing(struct uvmp_service *s, struct outgoing outgoing)
{
	for (uint32_t i = 0; i < outgoing.copies; i++)
		queue_copy(s, &s->out[i], outgoing.block, UVMP_CAUSE_EVICTION)->for_address =
			outgoing.for_address;
}

/* Each action waits for the action before it, and so the first copy for the unmapping. Side by side, the first outgoing
 * copy waits for what the first incoming copy waits for. */
void uvmpi_queue_copies(struct uvmp_service *s, struct job *job, struct outgoing outgoing)
{
	uint32_t in, out;

	if (s->policy.plan == UVMP_PLAN_SERIAL) {
		queue_outgoing(s, outgoing);
		queue_incoming(s, job);
		return;
	}
	uvmpi_queue_begin_group(s);
	in = s->actions;
	queue_incoming(s, job);
	out = s->actions;
	queue_outgoing(s, outgoing);
	if (out < s->actions)
		s->action[out].after = s->action[in].after;
}
