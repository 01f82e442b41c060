/* Faults of the CPU [driver: cpu-fault]. */
#include "job_internal.h"
#include "queue_internal.h"
#include "request_internal.h"
#include "space_internal.h"

#define LATCH_NS 300000u /* [driver: cpu-fault] */

/* The CPU cannot tell atomics from writes; where the range allows writing only, a write is all it can be. */
static enum uvmp_access cpu_access(const struct request *request, const struct range *range)
{
	if (request->access == UVMP_ACCESS_READ)
		return UVMP_ACCESS_READ;
	return range->right == UVMP_RIGHT_READ_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_ATOMIC_STRONG;
}

static void refuse(struct uvmp_service *s, handle h, enum uvmp_cancel_mode mode, enum uvmp_status status)
{
	const struct request *request = &s->run.request;
	struct uvmp_action *a;
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (h != 0)
		uvmp_mask_set(&pages, block_page(s, block_at(s, h), request->base));
	a = uvmpi_queue(s, UVMP_ACTION_CANCEL, UVMP_CAUSE_FATAL, h, &pages);
	a->to = UVMP_CPU;
	a->cancel_mode = (uint8_t)mode;
	a->space = request->space;
	if (h == 0) {
		a->address = request->base;
		a->page_bytes = s->page_bytes;
	}
	uvmpi_request_finish(s, status);
}

/* A fault although the CPU has the right: stale, or the thread has not seen its new mapping yet. The first such
 * fault of a thread on a page passes without service; its retry is serviced. */
static bool is_let_pass(struct uvmp_service *s, handle h, enum uvmp_access access)
{
	const struct request *request = &s->run.request;
	const struct block *b = block_at(s, h);
	const struct residency *place = uvmpi_residency_find(s, b, UVMP_CPU);
	bool is_same = s->latch_thread == request->thread && s->latch_space == request->space &&
		       s->latch_page == request->base;

	if (place == NULL || residency_right(place, block_page(s, b, request->base)) <
				     (uint8_t)uvmp_access_right(access))
		return false;
	if (s->has_latch) {
		s->has_latch = !is_same && s->now_ns - s->latch_ns <= LATCH_NS;
		return s->has_latch;
	}
	s->has_latch = true;
	s->latch_ns = s->now_ns;
	s->latch_thread = request->thread;
	s->latch_space = request->space;
	s->latch_page = request->base;
	return true;
}

void uvmpi_request_begin_cpu_fault(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	uint32_t slot = uvmpi_request_range_at(s, run->request.base),
		 space = uvmpi_space_find(s, run->request.space);
	enum uvmp_status status = UVMP_OK;
	enum uvmp_access access;

	if (slot == NO_INDEX) {
		refuse(s, 0, UVMP_CANCEL_ALL, UVMP_ERR_UNKNOWN);
		return;
	}
	access = cpu_access(&run->request, &s->range[slot]);
	if ((uint8_t)uvmp_access_right(access) > s->range[slot].right) {
		refuse(s, uvmpi_block_find(s, space, run->request.base), UVMP_CANCEL_WRITE_AND_ATOMIC,
		       UVMP_ERR_CONFLICT);
		return;
	}
	run->request.access = (uint8_t)access;
	run->block = uvmpi_block_make(s, space, run->request.base, &status);
	if (run->block == 0 || is_let_pass(s, run->block, access))
		uvmpi_request_finish(s, status);
	else
		run->phase = WORK;
}

void uvmpi_request_cpu_fault(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	struct job *job = &s->run.servicing->job;
	enum uvmp_access access = (enum uvmp_access)run->request.access;

	if (run->has_stepped) {
		uvmpi_request_finish(s, UVMP_OK);
		return;
	}
	uvmpi_job_clear(job, run->block, UVMP_CPU);
	job->is_prefetching = true;
	if (uvmpi_job_add_fault(s, job, block_page(s, block_at(s, run->block), run->request.base), access,
				(uint8_t)(1u << access)))
		uvmpi_request_serve(s);
	else
		uvmpi_request_finish(s, UVMP_ERR_RETRY);
}
