/* The choice of a page's processor, without checks, for callers whose arguments are valid: the engine. */
#ifndef UVMPOLICY_RESIDENCY_INTERNAL_H
#define UVMPOLICY_RESIDENCY_INTERNAL_H

#include "uvmpolicy/residency.h"

/* As uvmp_residency_select. */
void uvmpi_residency_select(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts,
			    struct uvmp_residency_place *place);

#endif
