/* Pages leave a processor. */
#ifndef UVMPOLICY_DEPARTING_INTERNAL_H
#define UVMPOLICY_DEPARTING_INTERNAL_H

#include "service_internal.h"

/* The pages are not resident on `proc` any longer, by eviction or otherwise: residency, memory and controllers follow. */
void uvmpi_depart(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages,
		  bool is_eviction);

#endif
