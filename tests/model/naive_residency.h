/* naive_residency.h: the rules of residency.h row by row, processor by processor. Facts must be right. */
#ifndef NAIVE_RESIDENCY_H
#define NAIVE_RESIDENCY_H

#include "uvmpolicy/residency.h"

/* [driver: processors]: the candidate closest to src. */
uint32_t naive_closest(const struct uvmp_processors *processors, uint32_t src, uint64_t candidates);

struct uvmp_residency_place naive_residency_select(const struct uvmp_processors *processors,
						   const struct uvmp_residency_facts *facts);

struct uvmp_map naive_residency_map(const struct uvmp_processors *processors,
				    const struct uvmp_map_facts *facts);

/* The number of levels at which others are mapped, from the one for reading on: 1..3. */
uint32_t naive_residency_levels(const uvmp_mask level[3], const uvmp_mask *pinned, bool quirks);

#endif
