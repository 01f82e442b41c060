/* Forest, from the words at the top of prefetch_forest.c: pages of a range are entries of arrays, sums are computed
 * from all pages of the window, and every node is visited. */
#ifndef NAIVE_FOREST_H
#define NAIVE_FOREST_H

#include <stdbool.h>

#include "uvmpolicy/prefetch.h"

#define NAIVE_FOREST_PAGES 4096

/* As the classes of the library, in its order. */
enum naive_forest_class { NAIVE_BASE, NAIVE_LINEAR, NAIVE_DENSE, NAIVE_SPARSE, NAIVE_UNSURE };

struct naive_forest {
	long page_bytes;
	long first, pages; /* of the part of the range that is looked at: its first page as page of the address space */
	long before, all;  /* pages of the range before that part, and in all */
	bool is_unknown[NAIVE_FOREST_PAGES];  /* lies in a block without memory for times */
	long time[NAIVE_FOREST_PAGES];	      /* of the last access in the window; 0: none */
	long now, rounds;
	uint32_t kernels;
	bool is_settled;
	enum naive_forest_class class;
};

/* Page `page` of the part is accessed. `other` is the class to take where rounding decides. */
void naive_forest_touch(const struct uvmp_prefetch_params *params, struct naive_forest *forest, long page, uint32_t kernels,
                        enum naive_forest_class other);

/* Adds to `there`, pages of the part that are resident, on their way or faulting, what the trees of the class fetch of the
 * block [first, end) beside the faulting pages. `was`: the class at the block's last decision. Returns the first page of
 * the neighbour if it is to be filled, -1 if not. `resident`: without what is on its way. */
long naive_forest_grow(const struct naive_forest *forest, enum naive_forest_class was, long first, long end,
                       const bool faulted[NAIVE_FOREST_PAGES], const bool resident[NAIVE_FOREST_PAGES],
                       bool there[NAIVE_FOREST_PAGES]);

/* The block of the part around a page. */
void naive_forest_block(const struct naive_forest *forest, long page, long *first, long *end);

/* Distinct pages of the window. */
long naive_forest_touched(const struct naive_forest *forest);

#endif
