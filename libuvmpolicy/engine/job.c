/* A job of the block service: which pages of one block are to arrive on which processor.
 *
 * The operation owns the job and fills it: page by page, with the thrashing detector's hint and the destination of
 * each fault [driver: residency-choice], or with a set of pages that nothing has faulted on. */
#include "../base/bits_internal.h"
#include "../decisions/residency_internal.h"
#include "job_internal.h"
#include "queue_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

void uvmpi_job_clear(const struct uvmp_service *s, struct job *job, handle block, uint32_t requester)
{
	for (uint32_t proc = 0; proc < s->processors.count; proc++)
		uvmpi_mask_zero(&job->arrive[proc]);
	uvmpi_mask_zero(&job->duplicate);
	uvmpi_mask_zero(&job->pinned);
	uvmpi_mask_zero(&job->throttled);
	uvmpi_mask_zero(&job->remote);
	uvmpi_mask_zero(&job->faulted);
	job->block = block;
	job->requester = requester;
	job->operation = UVMP_OPERATION_FAULT;
	job->cause = UVMP_CAUSE_DEMAND;
	job->migrate = UVMP_MIGRATE_FAULT;
	job->is_prefetching = job->is_retry = job->is_follow = job->has_next = false;
	job->may_map = true;
	job->keep = 0;
	job->utlbs = 0;
	job->destinations = 0;
	job->phase = JOB_IDLE;
	job->status = job->error = UVMP_OK;
}

void uvmpi_job_add(struct job *job, uint32_t page, uint32_t to, enum uvmp_access access, bool is_duplicate)
{
	for (uint32_t bit = 0; bit < 3u; bit++) {
		uvmp_mask_clear(&job->access[bit], page);
		job->access[bit].word[page / 64u] |= (uint64_t)((uint32_t)access >> bit & 1u) << (page % 64u);
	}
	job->destinations |= BIT(to);
	uvmp_mask_set(&job->arrive[to], page);
	uvmp_mask_clear(&job->duplicate, page); /* of two verdicts the last: what is written has one home */
	if (is_duplicate)
		uvmp_mask_set(&job->duplicate, page);
}

void uvmpi_job_add_prefetched(const struct uvmp_service *s, struct job *job, const uvmp_mask *pages,
			      uint32_t to, uint8_t duplication)
{
	const struct block *b = block_at(s, job->block);
	uvmp_mask some;

	for (uint32_t bit = 0; bit < 3u; bit++) /* UVMP_ACCESS_PREFETCH is 0 */
		uvmpi_mask_andnot(&job->access[bit], &job->access[bit], pages);
	job->destinations |= BIT(to);
	uvmpi_mask_or(&job->arrive[to], &job->arrive[to], pages);
	uvmpi_mask_andnot(&job->duplicate, &job->duplicate, pages);
	if (duplication == UVMP_DUPLICATION_ENABLED) {
		uvmpi_mask_or(&job->duplicate, &job->duplicate, pages);
	} else if (duplication == UVMP_DUPLICATION_UNSET && b->cold != 0) {
		uvmpi_mask_and(&some, pages, &cold_at(s, b->cold)->duplicated);
		uvmpi_mask_or(&job->duplicate, &job->duplicate, &some);
	}
}

/* Destination of one page [driver: residency-choice]; pin: the hint's target or UVMP_PROC_NONE. */
static void select_place(const struct uvmp_service *s, const struct job *job, uint32_t page, uint8_t accesses,
			 uint32_t pin, struct uvmp_residency_place *place)
{
	const struct block *b = block_at(s, job->block);
	const struct range *range = range_of(s, b);
	struct uvmp_residency_facts facts = {.requester = job->requester,
					     .accesses = accesses,
					     .operation = job->operation,
					     .has_preferred = range->preferred != UVMP_PROC_NONE,
					     .preferred = range->preferred,
					     .accessed_by = range->accessed_by,
					     .resident = uvmpi_block_holders(s, b, page),
					     .pin = pin,
					     .has_pin = pin != UVMP_PROC_NONE,
					     .duplication = range->duplication,
					     .is_duplicated = block_is_duplicated(s, b, page),
					     .maps_on_atomics = s->policy.map_on_atomics};

	uvmpi_residency_select(&s->processors, &facts, place);
}

static void queue_throttle(struct uvmp_service *s, struct job *job, uint32_t page, uint64_t until_ns)
{
	struct uvmp_action *a;
	uvmp_mask pages;

	if (uvmp_mask_test(&job->throttled, page)) /* behind a fatal fault each one of the page is judged */
		return;
	uvmp_mask_set(&job->throttled, page);
	uvmpi_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	a = uvmpi_queue(s, UVMP_ACTION_THROTTLE, UVMP_CAUSE_THRASHING, job->block, &pages);
	a->to = (uint8_t)job->requester;
	a->until_ns = until_ns;
}

bool uvmpi_job_add_fault(struct uvmp_service *s, struct job *job, uint32_t page, enum uvmp_access access,
			 uint8_t accesses)
{
	struct block *b = block_at(s, job->block);
	struct uvmp_residency_place place;
	struct uvmp_thrash_hint hint;
	uint8_t before = uvmpi_thrashing_throttles(s, b, page);

	uvmpi_thrashing_ask(s, job->block, page, job->requester, &hint);
	if (hint.kind == UVMP_THRASH_THROTTLE) {
		if (!job->is_retry)
			queue_throttle(s, job, page, hint.until_ns);
		return false;
	}
	job->throttles[page] = before;
	if (hint.kind == UVMP_THRASH_PIN) {
		uvmp_mask_set(&job->pinned, page);
		job->pin_procs[page] = hint.procs;
	}
	select_place(s, job, page, accesses, hint.pin_to, &place);
	uvmpi_job_add(job, page, place.to, access,
		      place.is_duplicate && (job->operation != UVMP_OPERATION_ACCESS_COUNTER ||
					     !s->policy.quirks)); /* [driver: counter-ignores-duplication] */
	return true;
}
