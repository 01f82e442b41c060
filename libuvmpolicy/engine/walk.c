/* The walk over the faults of one block [driver: block-walk, permission-check]: what each of them needs. The answers
 * are the job that the block service performs. bottom_half_internal.h. */
#include "bottom_half_internal.h"

#include "../base/debug_internal.h"
#include "job_internal.h"
#include "operations_internal.h"
#include "remote_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

void uvmpi_walk_mark_fatal(struct uvmp_service *s, uint32_t index, enum uvmp_cancel_mode mode)
{
	struct gpu *g = gpu_of(s);
	const struct uvmp_fault *fault = &g->batch.entry[index];

	g->fatal[index] = (uint8_t)(1u + mode);
	g->batch.utlb[fault->utlb].has_fatal = true;
	s->fault.event.has_fatal = true;
	if (s->fault.fatal_gpu == 0) {
		s->fault.fatal_gpu = fault->gpu;
		s->fault.fatal_space = fault->va_space;
	}
}

/* Is this its uTLB's first fault in the present walk? */
static bool is_new_utlb(struct gpu *g, const struct uvmp_fault *fault)
{
	uint64_t *seen = &g->utlb_seen[fault->utlb];
	bool is_new = *seen != g->walks;

	*seen = g->walks;
	return is_new;
}

/* prefetch=safe: distinct uTLBs among the faults of the block. A merged fault has a representative of its own
 * uTLB, or the latest representative. Representatives therefore cover all uTLBs but those of the merged faults
 * that directly follow a representative. */
static uint32_t count_utlbs(struct uvmp_service *s)
{
	const struct bin *bin = &s->fault.bin;
	struct gpu *g = gpu_of(s);
	uint32_t count = 0;

	g->walks++;
	for (uint32_t i = 0; i < bin->count; i++) {
		const struct uvmp_fault *first = &g->batch.entry[g->order_of[bin->first + i]];
		const struct uvmp_fault *end = g->batch.entry + g->batch.cached;

		count += is_new_utlb(g, first);
		for (const struct uvmp_fault *at = first + 1; at < end && at->is_filtered; at++) {
			if (at->address == first->address && has_same_instance(at, first))
				count += is_new_utlb(g, at);
		}
	}
	return count;
}

static void walk_fault(struct uvmp_service *s, const struct block *b, uint32_t index,
		       const struct uvmp_fault *previous, const struct uvmp_fault_verdict *before,
		       struct uvmp_fault_verdict *verdict)
{
	const struct uvmp_fault *fault = &gpu_of(s)->batch.entry[index];
	const struct residency *residency = uvmpi_residency_find(s, b, s->fault.gpu);
	uint32_t page = block_page(s, b, fault->address);
	struct uvmp_fault_facts facts = {.right = (enum uvmp_right)range_of(s, b)->right,
					 .is_retry = s->fault.retries != 0};
	struct job *job = &s->fault.servicing->job;

	if (residency && !uvmpi_remote_is_asked(s, b, s->fault.gpu, page))
		facts.mapped = (enum uvmp_right)residency_right(residency, page);
	(void)uvmp_fault_classify(fault, &facts, previous, before, verdict);
	s->fault.event.invalid_prefetches += verdict->invalid_prefetches;
	if (verdict->is_fatal)
		uvmpi_walk_mark_fatal(s, index, verdict->cancel_mode);
	if (verdict->service_access == UVMP_ACCESS_NONE)
		return;
	if (uvmpi_remote_keeps(s, job->block, s->fault.gpu, page, verdict->service_access)) {
		uvmp_mask_set(&job->remote, page);
		job->has_remote = true;
		return;
	}
	if (!uvmpi_job_add_fault(s, job, page, verdict->service_access, verdict->service_mask) &&
	    s->fault.retries == 0)
		verdict->is_throttled = s->fault.event.has_throttled = true;
}

/* Pages whose faults are decided as the latest one that was judged, if their accesses are the same: pages of its class that
 * the GPU does not map with the right already. Where the detector or counters are asked for each fault, there are none. */
static void find_common(const struct uvmp_service *s, const struct block *b, const struct job *job,
			uvmp_mask *common)
{
	const struct residency *residency = uvmpi_residency_find(s, b, s->fault.gpu);

	uvmpi_mask_zero(common);
	if (job->alike.access == UVMP_ACCESS_NONE || remote_is_counting(s))
		return;
	*common = job->alike.pages;
	if (residency != NULL)
		(void)residency_without(
			residency, (uint8_t)uvmp_access_right((enum uvmp_access)job->alike.access), common);
}

/* Adds the faults that follow the one at position `i` of the bin and are decided alike: other pages of `common` with the
 * same accesses. The verdict on each is that it is serviced. Returns the position of the last one, or i. */
static uint32_t add_common(const struct gpu *g, const struct bin *bin, uint32_t i, uvmp_addr start,
			   uint32_t page_shift, const uvmp_mask *common, struct job_class *alike)
{
	const uint32_t *order = &g->order_of[bin->first];
	uvmp_addr previous = g->batch.entry[order[i]].address;

	for (; i + 1u < bin->count; i++) {
		const struct uvmp_fault *fault = &g->batch.entry[order[i + 1u]];
		uint32_t page = (uint32_t)((fault->address - start) >> page_shift);

		if (fault->access != alike->access || fault->access_mask != alike->accesses ||
		    fault->is_fatal || fault->address == previous || !uvmp_mask_test(common, page))
			break;
		uvmp_mask_set(&alike->more, page);
		alike->unnamed = UNNAMED_PLACE | UNNAMED_ACCESS;
		previous = fault->address;
	}
	return i;
}

/* add_common for all faults of the bin, whose first one has just been judged. False: they must be added one by one. */
static bool add_uniform(const struct gpu *g, const struct bin *bin, uint32_t page, const uvmp_mask *common,
			struct job_class *alike)
{
	const struct uvmp_fault *first = &g->batch.entry[g->order_of[bin->first]];
	uint32_t differ =
		(uint32_t)(first->access ^ alike->access) | (uint32_t)(first->access_mask ^ alike->accesses);
	uvmp_mask others = bin->pages;

	uvmp_mask_clear(&others, page);
	if (!bin->is_uniform || differ != 0 || !uvmpi_mask_is_subset(&others, common))
		return false;
	UVMPI_ASSERT(uvmpi_mask_is_empty(&alike->more)); /* the first fault begins the class */
	alike->more = others;
	alike->unnamed = UNNAMED_PLACE | UNNAMED_ACCESS;
	return true;
}

static void walk_faults(struct uvmp_service *s, const struct block *b, struct job *job)
{
	static const struct uvmp_fault_verdict serviced = {0};
	const struct bin *bin = &s->fault.bin;
	const struct uvmp_fault_verdict *before = NULL;
	const struct uvmp_fault *previous = NULL;
	const struct gpu *g = gpu_of(s);
	struct uvmp_fault_verdict verdict[2];
	uvmp_mask common;

	for (uint32_t i = 0; i < bin->count; i++) {
		struct uvmp_fault_verdict *own = &verdict[i % 2u];
		uint32_t judged = i;

		walk_fault(s, b, g->order_of[bin->first + i], previous, before, own);
		if (own->service_access != UVMP_ACCESS_NONE && i + 1u < bin->count) {
			find_common(s, b, job, &common);
			if (i == 0 &&
			    add_uniform(g, bin, uvmpi_mask_next_set(&bin->pages, 0), &common, &job->alike))
				return;
			i = add_common(g, bin, i, b->start, s->page_shift, &common, &job->alike);
		}
		before = i == judged ? own : &serviced;
		previous = &g->batch.entry[g->order_of[bin->first + i]];
	}
}

void uvmpi_walk(struct uvmp_service *s, handle h)
{
	struct fault_run *run = &s->fault;
	struct gpu *g = gpu_of(s);
	struct job *job = &run->servicing->job;

	uvmpi_job_clear(job, h, run->gpu);
	job->is_prefetching = true;
	job->is_retry = run->retries != 0;
	job->has_next = uvmpi_fault_has_next(s, &job->next_start);
	if (remote_is_auto(s))
		uvmpi_remote_auto_begin(s, h, run->gpu, &run->bin.pages);
	walk_faults(s, block_at(s, h), job);
	uvmpi_job_name_more(s, job);
	if (job->has_remote)
		uvmpi_remote_map(s, h, run->gpu, &job->remote, &job->arrive[run->gpu]);
	if (g->utlb_seen)
		job->utlbs = count_utlbs(s);
	run->phase = FAULT_JOB;
	uvmpi_servicing_start(s, run->servicing);
}
