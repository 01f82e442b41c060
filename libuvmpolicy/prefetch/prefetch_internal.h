/* What the prefetchers share: one row of the table, one check of the facts, one way to answer.
 *
 * The hint is written last, from a mask on the stack: masks of the facts may be hint->pages of an earlier
 * decision, so nothing is read from the facts any more once the hint has changed. */
#ifndef UVMPOLICY_PREFETCH_INTERNAL_H
#define UVMPOLICY_PREFETCH_INTERNAL_H

#include "uvmpolicy/prefetch.h"

/* Checks parameters, facts and state as prefetch.h states them. Left to the prefetchers that look at them:
 * which pointers the state must have, is_follow, and range_first and range_pages (those that cross blocks).
 * Changes nothing. */
enum uvmp_status uvmp_prefetch_check(const struct uvmp_prefetch_params *params,
				     const struct uvmp_prefetch_facts *facts,
				     const struct uvmp_prefetch_state *state,
				     const struct uvmp_prefetch_hint *hint);

/* uvmp_prefetch_check for those that look at one block only: is_follow is out of range. */
enum uvmp_status uvmp_prefetch_block_check(const struct uvmp_prefetch_params *params,
					   const struct uvmp_prefetch_facts *facts,
					   const struct uvmp_prefetch_state *state,
					   const struct uvmp_prefetch_hint *hint);

/* *hint = `pages` to dst, or nothing to nowhere; nothing to follow, no basic blocks. */
void uvmp_prefetch_hint_set(struct uvmp_prefetch_hint *hint, uint32_t dst, const uvmp_mask *pages);

/* *pages = pages of the block that are neither resident, pending nor faulting. */
void uvmp_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* Did a page fault that is resident or pending already? */
bool uvmp_prefetch_is_refault(const struct uvmp_prefetch_facts *facts);

/* What the driver would let come along: *pages = absent pages that do not bounce, of range groups that fault,
 * and none if the preferred location is elsewhere (prefetch_density.c). */
void uvmp_prefetch_admit(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* -- tree prefetchers (prefetch_sl.c) -- */

/* uvmp_prefetch_block_check, then what tbn and sl require: a tree that covers the block, and no refault. */
enum uvmp_status uvmp_prefetch_tree_check(const struct uvmp_prefetch_params *params,
					  const struct uvmp_prefetch_facts *facts,
					  const struct uvmp_prefetch_state *state,
					  const struct uvmp_prefetch_hint *hint);

/* Counts the faulting basic blocks in the tree; returns their set. */
uint32_t uvmp_prefetch_tree_fault(const struct uvmp_prefetch_params *params,
				  const struct uvmp_prefetch_facts *facts, struct uvmp_tree *tree);

/* *hint = what is missing of the chosen basic blocks. */
void uvmp_prefetch_tree_collect(const struct uvmp_prefetch_params *params,
				const struct uvmp_prefetch_facts *facts, uint32_t chosen,
				struct uvmp_prefetch_hint *hint);

/* -- range prefetchers (prefetch_sequential.c) -- */

/* uvmp_prefetch_check, then what those that cross blocks require: state->range, and a block that lies in
 * its range. */
enum uvmp_status uvmp_prefetch_range_check(const struct uvmp_prefetch_params *params,
					   const struct uvmp_prefetch_facts *facts,
					   const struct uvmp_prefetch_state *state,
					   const struct uvmp_prefetch_hint *hint);

#endif
