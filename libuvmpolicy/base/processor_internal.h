/* Relations between processors, without checks: the relations are valid, and `processor` is below their count. */
#ifndef UVMPOLICY_PROCESSOR_INTERNAL_H
#define UVMPOLICY_PROCESSOR_INTERNAL_H

#include "uvmpolicy/processor.h"

/* As uvmp_accessible_from. */
uint64_t uvmpi_accessible_from(const struct uvmp_processors *processors, uint32_t processor);
/* As uvmp_closest_processor. */
uint32_t uvmpi_closest_processor(const struct uvmp_processors *processors, uint32_t processor,
				 uint64_t candidates);

#endif
