/* Decisions of residency.h without checks, for callers whose arguments are valid: the engine. */
#ifndef UVMPOLICY_RESIDENCY_INTERNAL_H
#define UVMPOLICY_RESIDENCY_INTERNAL_H

#include "uvmpolicy/residency.h"

/* As uvmp_residency_select. */
void uvmpi_residency_select(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts,
			    struct uvmp_residency_place *place);
/* As uvmp_residency_map; the range allows the access. */
void uvmpi_residency_rights(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
			    struct uvmp_map *map);

#endif
