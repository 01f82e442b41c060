/* What the prefetchers share: the descriptor, and helpers.
 *
 * Layers of this folder: prefetch_common.c < prefetch_tree.c < one file per prefetcher < prefetch.c, which
 * holds the table and checks every argument before it calls a prefetcher. So a prefetcher checks only
 * requirements that are not traits.
 *
 * A prefetcher writes the hint last, from a mask on its stack: masks of the facts may be hint->pages of an earlier
 * decision. */
#ifndef UVMPOLICY_PREFETCH_INTERNAL_H
#define UVMPOLICY_PREFETCH_INTERNAL_H

#include "../base/parameter_internal.h"
#include "uvmpolicy/prefetch.h"

/* Decides; the arguments are valid, and the state holds what the traits ask for. UVMP_ERR_RANGE: facts or state
 * contradict each other; nothing has changed then. */
typedef enum uvmp_status uvmpi_prefetch_function(const struct uvmp_prefetch_params *params,
						 const struct uvmp_prefetch_facts *facts,
						 struct uvmp_prefetch_state *state,
						 struct uvmp_prefetch_hint *hint);

/* The descriptor of one prefetcher. */
struct prefetcher {
	char name[16]; /* in the policy string */
	struct uvmp_prefetch_traits traits;
	uvmpi_prefetch_function *decide;
	/* uvmp_prefetch_left; NULL: no effect. `block`: the private state of the block. */
	void (*left)(void *block, uint32_t processor, const uvmp_mask *gone, const uvmp_mask *touched);
	const struct parameter *parameter; /* [parameters], fields of struct uvmp_prefetch_params */
	uint32_t parameters;
	const struct prefetcher *base; /* takes the parameters of this prefetcher too; NULL: none */
};

#define UVMPI_PREFETCHER_DECLARE(upper, lower) extern const struct prefetcher uvmpi_prefetcher_##lower;
UVMP_PREFETCHERS(UVMPI_PREFETCHER_DECLARE)

/* The descriptor (prefetch.c); the prefetcher is valid. */
const struct prefetcher *uvmpi_prefetcher_at(enum uvmp_prefetcher prefetcher);

/* Parameter of struct uvmp_prefetch_params. */
#define PREFETCH_PARAMETER(field, name, min, max, initial, summary)                                          \
	PARAMETER_NUMBER(struct uvmp_prefetch_params, field, name, min, max, initial, summary)

/* The same; the number counts pages of 4 KiB, and the field of a decision pages of the host. */
#define PREFETCH_PAGES(field, name, min, max, initial, summary)                                              \
	PARAMETER_OF(struct uvmp_prefetch_params, field, name, min, max, initial, 1, LIMIT_NONE, true, NULL, \
		     summary)

/* From pages of 4 KiB to pages of the host, of which each holds `smaller`; rounds up. */
void uvmpi_prefetch_params_scale(struct uvmp_prefetch_params *params, uint32_t smaller);

/* -- prefetch_common.c -- */

/* *hint: `pages` go to processor `to` (UVMP_PROC_NONE: no pages); nothing follows, no basic blocks, no subtrees. */
void uvmpi_prefetch_hint_set(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages);
/* The same; hint->subtrees stays. */
void uvmpi_prefetch_hint_set_pages(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages);

/* *pages = pages of the block that are neither resident, pending nor faulting. */
void uvmpi_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* Did a page fault that is resident or pending already? */
bool uvmpi_prefetch_is_refault(const struct uvmp_prefetch_facts *facts);

/* Does the preferred location of the pages allow prefetching to processor `to`? */
bool uvmpi_prefetch_is_allowed(const struct uvmp_prefetch_facts *facts);

/* Removes range groups without a faulting page from *pages. */
void uvmpi_prefetch_drop_groups(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* What the driver would prefetch: *pages = absent pages that do not thrash, of range groups that fault; none if
 * the preferred location is elsewhere. */
void uvmpi_prefetch_admit(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* -- prefetch_density.c: the decision that next, pattern and safe start from -- */

uvmpi_prefetch_function uvmpi_prefetch_density_decide;

/* -- prefetch_tree.c: for prefetchers with the trait has_tree -- */

/* Counts the faulting basic blocks in the tree; returns their set. */
uint32_t uvmpi_prefetch_tree_fault(const struct uvmp_prefetch_params *params,
				   const struct uvmp_prefetch_facts *facts, struct uvmp_tree *tree);

/* Basic blocks at which a chosen subtree begins or ends, bits 0..32, if each chosen basic block is one. */
static inline uint64_t uvmpi_prefetch_tree_cuts(uint32_t chosen)
{
	return chosen | (uint64_t)chosen << 1;
}

/* *hint = what is missing of the chosen basic blocks; `cuts`: see uvmpi_prefetch_tree_cuts. */
void uvmpi_prefetch_tree_collect(const struct uvmp_prefetch_params *params,
				 const struct uvmp_prefetch_facts *facts, uint32_t chosen, uint64_t cuts,
				 struct uvmp_prefetch_hint *hint);

#endif
