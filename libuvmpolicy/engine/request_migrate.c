/* Requests that migrate pages, or withdraw victims [uvmsmart: cancellation]. */
#include "block_service_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "request_internal.h"
#include "space_internal.h"

static void migrate_block(struct uvmp_service *s, handle h)
{
	const struct block *b = block_at(s, h);
	struct job *job = &s->run.servicing->job;
	uint32_t to = s->run.request.processor;
	bool is_duplicate = range_of(s, b)->duplication == UVMP_DUPLICATION_ENABLED;
	uvmp_mask pages;

	uvmpi_job_clear(job, h, to);
	job->cause = UVMP_CAUSE_MIGRATE;
	job->migrate = UVMP_MIGRATE_API_MIGRATE;
	job->takes_back = s->run.request.kind == REQUEST_WITHDRAW;
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, uvmpi_request_part_of(s, b));
	uvmpi_job_add_prefetched(s, job, &pages, to,
				 is_duplicate ? UVMP_DUPLICATION_ENABLED : UVMP_DUPLICATION_DISABLED);
	uvmpi_request_serve(s);
}

void uvmpi_request_migrate(struct uvmp_service *s)
{
	struct request_run *run = &s->run;
	enum uvmp_status status = UVMP_OK;

	if (run->has_stepped) {
		uvmp_addr last = block_last(s, block_at(s, run->block));

		uvmpi_memory_settle(s);
		if (last >= run->last) {
			uvmpi_request_finish(s, UVMP_OK);
			return;
		}
		run->next = last + 1u;
	}
	run->block = uvmpi_block_make(s, uvmpi_space_find(s, run->request.space), run->next, &status);
	if (run->block == 0)
		uvmpi_request_finish(s, status);
	else
		migrate_block(s, run->block);
}
