/* A job of the block service with the evictions that it needs. */
#ifndef UVMPOLICY_SERVICING_INTERNAL_H
#define UVMPOLICY_SERVICING_INTERNAL_H

#include "service_internal.h"

void uvmpi_servicing_start(struct uvmp_service *s, struct servicing *servicing);
/* Decides the next thing of the eviction, if there is one, or of the job. */
void uvmpi_servicing_advance(struct uvmp_service *s, struct servicing *servicing);
/* Evictions without a job that is being serviced: the first victim of a batch, and memory that is to be free. False:
 * nothing has begun. */
bool uvmpi_servicing_evict_ahead(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
				 uvmp_addr for_address);
bool uvmpi_servicing_trim(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
			  uvmp_addr for_address);

#endif
