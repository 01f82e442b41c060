/* A job of the block service: which pages of one block are to arrive on which processor. */
#ifndef UVMPOLICY_JOB_INTERNAL_H
#define UVMPOLICY_JOB_INTERNAL_H

#include "../base/mask_internal.h"
#include "objects_internal.h"
#include "uvmpolicy/prefetch.h"
#include "uvmpolicy/residency.h"

enum { UNNAMED_PLACE = 1, UNNAMED_ACCESS = 2 };

/* Pages whose destination follows from the same facts: their holders, and whether they are duplicated. */
struct job_class {
	uvmp_mask pages;  /* empty: no class yet */
	uint64_t holders; /* of each of them */
	uint8_t accesses; /* of the faults added last; as for uvmp_residency_facts */
	uint8_t access;   /* as what they are serviced: enum uvmp_access; NONE: each fault is decided for itself */
	uint8_t unnamed;  /* what the job does not name of the pages in `more` yet */
	struct uvmp_residency_place place; /* their destination */
	uvmp_mask more;	  /* faults like the last one */
};

enum job_phase { JOB_IDLE, JOB_ALLOCATE, JOB_MADE_ROOM, JOB_COPY, JOB_COMMIT, JOB_MAPPED };

struct job {
	/* set by the operation */
	handle block;
	uint32_t requester;
	uint8_t operation; /* enum uvmp_operation */
	uint8_t cause;	   /* enum uvmp_cause of pages that are not prefetched */
	uint8_t migrate;   /* enum uvmp_migrate_cause of the same */
	bool is_prefetching; /* ask the prefetcher [driver: prefetch-in-service] */
	bool is_retry;
	bool is_follow;	   /* prefetched pages only; fails if memory is full, never evicts `keep` */
	bool may_map;	   /* map the requester and others when the pages are there */
	bool has_next;	   /* room may be made ahead, for the next block of the batch, which starts at */
	uvmp_addr next_start;
	handle keep;
	uint32_t utlbs; /* uvmp_prefetch_facts.utlbs */
	uvmp_mask *arrive; /* [processors]: per destination */
	uint64_t destinations;
	uint64_t used; /* processors whose `arrive` may hold pages */
	struct job_class alike;
	uvmp_mask duplicate;
	bool has_duplicates; /* `duplicate` may hold pages */
	bool has_pins; /* `pinned` holds pages */
	bool has_throttled, has_remote; /* so do `throttled` and `remote` */
	uint8_t rule; /* enum uvmp_rule that decided about the job, of its copies with the cause COUNTER; NONE: that of `hint` */
	bool takes_back; /* pages of a withdrawn victim: only a unit leaves for them that nothing holds or spares */
	uvmp_mask pinned;
	uvmp_mask throttled; /* the host was told: at most one THROTTLE a page */
	uvmp_mask remote;    /* faulted, and stay on the CPU */
	uvmp_mask access[3]; /* bits of enum uvmp_access, per page */
	uint32_t accesses;   /* bit per value of enum uvmp_access that some page has had */
	uint64_t pin_procs[UVMP_MASK_BITS]; /* of pinned pages only */
	uint8_t throttles[UVMP_MASK_BITS];
	/* set by the block service */
	enum job_phase phase;
	uint32_t to;
	enum uvmp_status status; /* result, when phase is JOB_IDLE again; UVMP_ERR_RETRY: decide again */
	enum uvmp_status error;	 /* of a failed action */
	uvmp_mask failed;	 /* pages that did not arrive */
	uvmp_mask *arrived_from;	 /* [processors]: pages that did, per source */
	uint64_t sources;	 /* processors whose `arrived_from` may hold pages */
	uvmp_mask faulted;
	uvmp_mask migrated; /* of this destination */
	uint32_t planned;   /* copies of them in s->in that are not queued yet */
	uint32_t present;   /* pages that the destination had when the prefetcher was asked */
	struct uvmp_prefetch_hint hint;
};

/* The destination of the latest class of pages without a pin, and the facts that it follows from (job.c); so do the
 * processors and the policy key map_on_atomics, which do not change. */
struct place_memo {
	uint64_t accessed_by, holders;
	uint64_t key; /* requester, operation, accesses, preferred location, duplication; 0: none, as no page has no access */
	struct uvmp_residency_place place;
};

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
