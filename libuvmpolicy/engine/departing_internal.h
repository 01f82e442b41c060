/* Pages leave a processor. */
#ifndef UVMPOLICY_DEPARTING_INTERNAL_H
#define UVMPOLICY_DEPARTING_INTERNAL_H

#include "service_internal.h"

enum departure {
	DEPART_MOVED,	/* to another processor, or as a duplicate that is not needed */
	DEPART_EVICTED, /* the memory was chosen as victim */
	DEPART_FREED	/* with the range: the block gives its memory up next (uvmpi_memory_free) */
};
/* The pages leave the processor `from`: residency, memory and controllers follow. */
void uvmpi_depart(struct uvmp_service *s, handle block, struct residency *from, const uvmp_mask *pages,
		  enum departure departure);

#endif
