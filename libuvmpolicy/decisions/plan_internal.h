/* Transfers inside the library. */
#ifndef UVMPOLICY_PLAN_INTERNAL_H
#define UVMPOLICY_PLAN_INTERNAL_H

#include "../base/mask_internal.h"
#include "uvmpolicy/plan.h"

/* uvmp_plan_copies for valid arguments, with room for 4 sets per processor; returns the number of sets. */
uint32_t uvmpi_plan_copies(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
			   struct uvmp_copy *copy);

/* Of `cuts`, those inside runs of the pages. */
static inline void uvmpi_cuts_inside(uvmp_mask *to, const uvmp_mask *pages, const uvmp_mask *cuts)
{
	uint64_t before = 0;

	UVMPI_EACH_WORD(i) {
		uint64_t word = pages->word[i];

		to->word[i] = cuts->word[i] & word & (word << 1 | before >> 63);
		before = word;
	}
}

#endif
