/* What the prefetchers share: one row of the table, one check of the facts. */
#ifndef UVMPOLICY_PREFETCH_INTERNAL_H
#define UVMPOLICY_PREFETCH_INTERNAL_H

#include "uvmpolicy/prefetch.h"

/* Checks parameters and facts as prefetch.h states them (not what single prefetchers require of the state). Changes nothing. */
enum uvmp_status uvmp_prefetch_check(const struct uvmp_prefetch_params *params,
				     const struct uvmp_prefetch_facts *facts,
				     const struct uvmp_prefetch_state *state, const struct uvmp_prefetch_hint *hint);

/* An empty hint: no pages, no destination, nothing to follow. */
void uvmp_prefetch_hint_clear(struct uvmp_prefetch_hint *hint);

/* *pages = pages of the block that are neither resident, pending nor faulting. */
void uvmp_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

#endif
