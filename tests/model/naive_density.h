/* The density prefetcher, page by page and node by node, straight from [driver: density, density-tree,
 * density-region, density-clamp]. */
#ifndef NAIVE_DENSITY_H
#define NAIVE_DENSITY_H

#include <stdbool.h>

#include "uvmpolicy/prefetch.h"

/* *pages, *faults, *last_proc and *to are what the driver's hint and block state are after the call. */
struct naive_density {
	bool pages[512];
	struct uvmp_region subtree[512]; /* of each page that was chosen for one */
	unsigned faults, last_proc, to;
};

void naive_density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                   const struct uvmp_prefetch_state *state, struct naive_density *out);

/* [driver: ats-prefetch]. */
void naive_ats(unsigned threshold, unsigned first, unsigned end, const uvmp_mask *resident,
               const uvmp_mask *faulted, bool is_whole, bool pages[512]);

#endif
