/* What the prefetchers share: the descriptor, and helpers.
 *
 * Layers of this folder: prefetch_common.c < prefetch_tree.c < one file per prefetcher (auto: see prefetch_auto_internal.h)
 * < prefetch.c, which holds the table and checks every argument before it calls a prefetcher. So a prefetcher checks only
 * requirements that are not traits.
 *
 * A prefetcher writes the hint last, from a mask on its stack: masks of the facts may be hint->pages of an earlier
 * decision. */
#ifndef UVMPOLICY_PREFETCH_INTERNAL_H
#define UVMPOLICY_PREFETCH_INTERNAL_H

#include "../base/mask_internal.h"
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
	const char *summary; /* what it fetches beside faulted pages, one line */
	struct uvmp_prefetch_traits traits;
	uvmpi_prefetch_function *decide;
	/* uvmp_prefetch_left; NULL: no effect. `block`: the private state of the block. */
	void (*left)(void *block, const struct uvmp_prefetch_departure *departure);
	/* uvmp_prefetch_touched; NULL without the trait counts_touches. `block` NULL: the arena is full. */
	void (*touched)(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_touch *touch,
			void *range, void *block);
	/* The most faults of a batch that follows a full batch in one block; 0 or NULL: no limit. replay=batch_flush only. */
	uint32_t (*batch_in_one_block)(const struct uvmp_prefetch_params *params);
	/* While all data fit, and after a full batch that needed pages: may the next batch follow without a replay? NULL: no.
	 * replay=batch_flush only. */
	bool (*chains_batches)(const struct uvmp_prefetch_params *params);
	const struct parameter *parameter; /* [parameters], fields of struct uvmp_prefetch_params */
	uint32_t parameters;
	const struct prefetcher *base; /* takes the parameters of this prefetcher too; NULL: none */
};

#define UVMPI_PREFETCHER_DECLARE(upper, lower) extern const struct prefetcher uvmpi_prefetcher_##lower;
UVMP_PREFETCHERS(UVMPI_PREFETCHER_DECLARE)

/* uvmp_prefetch_decide (prefetch.c) for arguments that are valid: the engine's. UVMP_ERR_RANGE: as there, for a state that
 * contradicts the facts. */
enum uvmp_status uvmpi_prefetch_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint);

/* The descriptor (prefetch.c); the prefetcher is valid. */
const struct prefetcher *uvmpi_prefetcher_at(enum uvmp_prefetcher prefetcher);
/* Calls batch_in_one_block of the descriptor (prefetch.c); 0: no limit. */
uint32_t uvmpi_prefetch_batch_in_one_block(const struct uvmp_prefetch_params *params);
/* Calls chains_batches of the descriptor (prefetch.c). */
bool uvmpi_prefetch_chains_batches(const struct uvmp_prefetch_params *params);
/* The traits (prefetch.c), also of a plugin; the parameters are valid. */
const struct uvmp_prefetch_traits *uvmpi_prefetch_params_traits(const struct uvmp_prefetch_params *params);

/* Parameter of struct uvmp_prefetch_params. */
#define PREFETCH_PARAMETER(field, name, min, max, initial, summary)                                          \
	PARAMETER_NUMBER(struct uvmp_prefetch_params, field, name, min, max, initial, summary)

/* The same; the number counts pages of 4 KiB, and the field of a decision pages of the host. */
#define PREFETCH_PAGES(field, name, min, max, initial, summary)                                              \
	PARAMETER_OF(struct uvmp_prefetch_params, field, name, min, max, initial, 1, LIMIT_NONE, true, NULL, \
		     summary)

#define AUTO_FAULT_MOST 256u
#define FAULT_COPIES 12u /* cost of servicing a block if auto_fault is 0, in copies of 4 KiB */

/* From pages of 4 KiB to pages of the host, of which each holds `smaller`; rounds up. */
void uvmpi_prefetch_params_scale(struct uvmp_prefetch_params *params, uint32_t smaller);

/* -- for all prefetchers -- */

/* *hint: hint->pages go to processor `to`; nothing follows, no basic blocks. */
static inline void uvmpi_prefetch_hint_to(struct uvmp_prefetch_hint *hint, uint32_t to)
{
	hint->to = to;
	hint->follow = UVMP_PAGE_NONE;
	hint->rule = UVMP_RULE_NONE;
	hint->basic_blocks = 0;
}

/* *hint: `pages` go to processor `to` (UVMP_PROC_NONE: no pages); nothing follows, no basic blocks; hint->subtrees stays. */
static inline void uvmpi_prefetch_hint_set_pages(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages)
{
	hint->pages = *pages;
	uvmpi_prefetch_hint_to(hint, uvmpi_mask_is_empty(pages) ? UVMP_PROC_NONE : to);
}

/* The same; no subtrees. */
static inline void uvmpi_prefetch_hint_set(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages)
{
	uvmpi_mask_zero(&hint->subtrees);
	uvmpi_prefetch_hint_set_pages(hint, to, pages);
}

/* *pages = pages of the block that are neither resident, pending nor faulting. */
static inline void uvmpi_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	uvmp_mask absent;

	UVMPI_EACH_WORD(i)
		absent.word[i] = ~facts->faulted->word[i];
	if (facts->resident != NULL)
		uvmpi_mask_andnot(&absent, &absent, facts->resident);
	if (facts->pending != NULL)
		uvmpi_mask_andnot(&absent, &absent, facts->pending);
	uvmpi_mask_region_clear(&absent, beyond);
	*pages = absent;
}

/* Did a page fault that is resident or pending already? */
static inline bool uvmpi_prefetch_is_refault(const struct uvmp_prefetch_facts *facts)
{
	return (facts->resident != NULL && uvmpi_mask_intersects(facts->faulted, facts->resident)) ||
	       (facts->pending != NULL && uvmpi_mask_intersects(facts->faulted, facts->pending));
}

/* Removes range groups without a faulting page from *pages. */
static inline void uvmpi_prefetch_drop_groups(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	for (uint32_t i = 0; i < facts->range_groups; i++)
		if (!uvmpi_mask_region_any(facts->faulted, facts->range_group[i]))
			uvmpi_mask_region_clear(pages, facts->range_group[i]);
}

/* -- prefetch_common.c: the driver's limits on prefetching -- */

/* May pages be prefetched to processor `to` although their preferred location is another one? */
bool uvmpi_prefetch_is_allowed_elsewhere(const struct uvmp_prefetch_facts *facts);

/* Does the preferred location of the pages allow prefetching to processor `to`? */
static inline bool uvmpi_prefetch_is_allowed(const struct uvmp_prefetch_facts *facts)
{
	return !facts->has_preferred || facts->preferred == facts->to || uvmpi_prefetch_is_allowed_elsewhere(facts);
}

/* What the driver would prefetch: *pages = absent pages that do not thrash, of range groups that fault; none if
 * the preferred location is elsewhere. */
void uvmpi_prefetch_admit(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages);

/* -- prefetch_density.c: the decision that next, pattern and safe start from -- */

uvmpi_prefetch_function uvmpi_prefetch_density_decide;
/* A prefetcher that may repeat, without private state, is asked again with the same facts, whose `faults` pages faulted. True:
 * it answers the same, and the state is as after that. False: the state is unchanged. */
bool uvmpi_prefetch_repeats(const struct uvmp_prefetch_params *params, uint32_t to, uint32_t faults,
			    struct uvmp_prefetch_state *state);

/* -- prefetch_tree.c: for prefetchers with the trait has_tree -- */

/* The basic blocks with a faulting page: bit b for block b. */
uint32_t uvmpi_prefetch_tree_faulted(const uvmp_mask *faulted);
/* Without quirks: every leaf becomes what is resident, pending or requested now that the basic blocks `chosen` are fetched too. */
void uvmpi_prefetch_tree_recount(const struct uvmp_prefetch_facts *facts, uint32_t chosen, struct uvmp_tree *tree);

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
