/* A job of the block service: which pages of one block are to arrive on which processor. */
#ifndef UVMPOLICY_JOB_INTERNAL_H
#define UVMPOLICY_JOB_INTERNAL_H

#include "../base/mask_internal.h"
#include "service_internal.h"

/* How often the first pinned page among these had been throttled. */
static inline uint8_t job_throttles(const struct job *job, const uvmp_mask *pages)
{
	uvmp_mask pinned;

	uvmpi_mask_and(&pinned, pages, &job->pinned);
	return job->throttles[uvmpi_mask_next_set(&pinned, 0)];
}

/* An empty job for the block: no destinations, no pages; `hint` stays. */
void uvmpi_job_clear(struct job *job, handle block, uint32_t requester);
/* Page to a destination. */
void uvmpi_job_add(struct job *job, uint32_t page, uint32_t to, enum uvmp_access access, bool is_duplicate);
/* Pages of the job's block to a destination as prefetched ones. Read duplication follows `duplication`, a policy
 * of the range. */
void uvmpi_job_add_prefetched(const struct uvmp_service *s, struct job *job, const uvmp_mask *pages,
			      uint32_t to, uint8_t duplication);
/* Adds a fault that need not be of the class of the fault before. */
bool uvmpi_job_add_new_fault(struct uvmp_service *s, struct job *job, uint32_t page, enum uvmp_access access,
			     uint8_t accesses);
/* Asks for the hint of one faulting page, and adds the page with its destination to the job. False: the page is throttled. The
 * job stays as it is, and a THROTTLE action is queued. A fault of the class of the fault before is only noted: the job names
 * it after uvmpi_job_name_more. */
static inline bool uvmpi_job_add_fault(struct uvmp_service *s, struct job *job, uint32_t page, enum uvmp_access access,
				       uint8_t accesses)
{
	struct job_class *alike = &job->alike;

	if (alike->access != access || alike->accesses != accesses || !uvmp_mask_test(&alike->pages, page))
		return uvmpi_job_add_new_fault(s, job, page, access, accesses);
	uvmp_mask_set(&alike->more, page);
	alike->unnamed = UNNAMED_PLACE | UNNAMED_ACCESS;
	return true;
}
/* Names the destination of the pages that uvmpi_job_add_fault has noted, and whether they are duplicated. */
void uvmpi_job_name_more(const struct uvmp_service *s, struct job *job);
/* Names their accesses, which only some jobs need. */
void uvmpi_job_name_accesses(struct job *job);

#endif
