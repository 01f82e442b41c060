/* What the files of the density prefetcher share: prefetch_density_tree.c < prefetch_density.c. */
#ifndef UVMPOLICY_DENSITY_TREE_INTERNAL_H
#define UVMPOLICY_DENSITY_TREE_INTERNAL_H

#include "prefetch_internal.h"

#define ROW_LEAVES 16u

/* What is chosen: `pages`, and where the nodes begin and end (see uvmp_prefetch_subtree). */
struct density_nodes {
	uvmp_mask *pages, *subtrees;
};

/* The pages of the block that the tree is over. */
static inline struct uvmp_region density_tree_pages(const struct uvmp_prefetch_facts *facts)
{
	return facts->is_hmm ? facts->max_region : (struct uvmp_region){0, facts->block.pages};
}

/* Chooses nodes in a block of any layout; threshold is below 100. `candidates`: the faulted pages in the faulted region. */
void uvmpi_density_tree_choose(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       const uvmp_mask *candidates, struct density_nodes choice);
/* The same for system-allocated memory, in the pages of `window`, which is not empty. A faulted page sets its leaf alone. */
void uvmpi_density_tree_choose_window(struct uvmp_region window, uint32_t threshold, const uvmp_mask *resident,
				      const uvmp_mask *faulted, struct density_nodes choice);

#endif
