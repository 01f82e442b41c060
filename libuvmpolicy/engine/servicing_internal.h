/* A job of the block service with the evictions that it needs. */
#ifndef UVMPOLICY_SERVICING_INTERNAL_H
#define UVMPOLICY_SERVICING_INTERNAL_H

#include "service_internal.h"

/* uvmpi_block_resume. */
bool uvmpi_servicing_resume(struct uvmp_service *s, struct servicing *servicing);
void uvmpi_servicing_start(struct uvmp_service *s, struct servicing *servicing);
/* Is a job or an eviction of some operation active? */
static inline bool uvmpi_servicing_is_active(const struct uvmp_service *s)
{
	return s->active != NULL;
}
/* Decides the next thing of the active eviction, or else of the active job. */
void uvmpi_servicing_advance(struct uvmp_service *s);
/* Evictions without a job that is being serviced: the first victim of a batch, and memory that is to be free. False:
 * nothing has begun. */
bool uvmpi_servicing_evict_ahead(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
				 uvmp_addr for_address);
bool uvmpi_servicing_trim(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
			  uvmp_addr for_address);

#endif
