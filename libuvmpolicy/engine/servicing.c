/* Services one block, and evicts for the memory that the block needs: a job of the block service with its
 * evictions.
 *
 * The block service answers with what it needs. If it needs room, a victim is evicted. Then the block service continues
 * (page-wise orders), or ends with UVMP_ERR_RETRY, so that the operation decides again [driver: eviction-retry].
 * While pages of the block are copied, room for the next block of the batch can be made ahead. */
#include "../base/bits_internal.h"
#include "block_service_internal.h"
#include "eviction_internal.h"
#include "servicing_internal.h"

/* s->active is written here only: the job or the eviction that continues with the next advance. */
static bool note_active(struct uvmp_service *s, struct servicing *servicing)
{
	bool is_active = servicing->job.phase != JOB_IDLE || servicing->eviction.phase != EVICT_IDLE;

	s->active = is_active ? servicing : NULL;
	return is_active;
}

void uvmpi_servicing_start(struct uvmp_service *s, struct servicing *servicing)
{
	uvmpi_block_start(s, &servicing->job);
	(void)note_active(s, servicing);
}

bool uvmpi_servicing_resume(struct uvmp_service *s, struct servicing *servicing)
{
	if (!uvmpi_block_resume(s, &servicing->job))
		return false;
	(void)note_active(s, servicing);
	return true;
}

bool uvmpi_servicing_evict_ahead(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
				 uvmp_addr for_address)
{
	(void)uvmpi_evict_ahead(s, &servicing->eviction, &servicing->job, gpu, for_address);
	return note_active(s, servicing);
}

bool uvmpi_servicing_trim(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
			  uvmp_addr for_address)
{
	(void)uvmpi_evict_trim(s, &servicing->eviction, gpu, for_address);
	return note_active(s, servicing);
}

/* Out of line: most steps of a job need nothing. */
UVMPI_NOINLINE static void give_room(struct uvmp_service *s, struct servicing *servicing, struct block_need need)
{
	struct job *job = &servicing->job;
	struct eviction *e = &servicing->eviction;

	if (need.kind == NEED_ROOM) {
		if (uvmpi_evict_start(s, e, job, job->to, need.size, false) != UVMP_OK)
			uvmpi_block_end(job, UVMP_ERR_NO_MEMORY);
		return;
	}
	if (uvmpi_evict_ahead(s, e, job, job->to, job->next_start))
		uvmpi_evict_advance(s, e);
	uvmpi_block_queue_copies(s, job);
}

static void advance_job(struct uvmp_service *s, struct servicing *servicing)
{
	struct block_need need = uvmpi_block_advance(s, &servicing->job, servicing->eviction.status);

	if (need.kind != NEED_NOTHING)
		give_room(s, servicing, need);
}

void uvmpi_servicing_advance(struct uvmp_service *s)
{
	struct servicing *servicing = s->active;

	if (servicing->job.phase != JOB_IDLE && s->has_failed)
		uvmpi_block_collect(s, &servicing->job);
	if (servicing->eviction.phase != EVICT_IDLE)
		uvmpi_evict_advance(s, &servicing->eviction);
	else
		advance_job(s, servicing);
	(void)note_active(s, servicing);
}
