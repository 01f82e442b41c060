/* One block, tree and range with all that a prefetcher asks for, for tests that play the caller. Points into
 * itself: do not copy. */
#ifndef PREFETCH_CASE_H
#define PREFETCH_CASE_H

#include <string.h>

#include "prefetch/prefetch_states_internal.h"
#include "support/page_text.h"
#include "uvmpolicy/prefetch.h"

/* Private state of a range, of whichever prefetcher decides. */
union prefetch_range {
	uint64_t word[UVMP_PREFETCH_STATE_MAX / 8u];
	struct sequential_range sequential;
	struct locality_range locality;
	struct stride_range stride;
	struct next_range next;
};

struct prefetch_case {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	uvmp_mask faulted, resident, pending;
	struct uvmp_tree tree;
	union prefetch_range range;
	struct pattern_block pattern;
	uint64_t processor[UVMP_PREFETCH_STATE_MAX / 8u];
	uint64_t random;
};

/* An empty block of `pages` pages under the smallest tree that covers it, at the start of a range of `pages`
 * pages. */
static inline void prefetch_case_init(struct prefetch_case *c, enum uvmp_prefetcher prefetcher,
                                      uint32_t pages)
{
	uint32_t blocks = 1;

	memset(c, 0, sizeof(*c));
	while (blocks * UVMP_BASIC_BLOCK_PAGES < pages)
		blocks *= 2;
	(void)uvmp_block_from_shape(pages, 0, 16, &c->facts.block);
	(void)uvmp_tree_init(&c->tree, blocks);
	uvmp_prefetch_params_init(&c->params, prefetcher);
	uvmp_prefetch_state_init(&c->state);
	c->facts.faulted = &c->faulted;
	c->facts.resident = &c->resident;
	c->facts.pending = &c->pending;
	c->facts.to = 1;
	c->facts.has_preferred = false;
	c->facts.preferred = UVMP_PROC_NONE;
	c->facts.range_pages = pages;
	c->state.tree = &c->tree;
	c->state.range = &c->range;
	c->state.processor = c->processor;
	c->state.random = &c->random;
}

static inline enum uvmp_status prefetch_case_decide(struct prefetch_case *c, const char *faulted)
{
	c->faulted = page_text(faulted);
	c->facts.faulted_region = uvmp_mask_bounds(&c->faulted);
	return uvmp_prefetch_decide(&c->params, &c->facts, &c->state, &c->hint);
}

/* What was decided is on its way, and arrives. */
static inline void prefetch_case_arrive(struct prefetch_case *c)
{
	uvmp_mask_or(&c->resident, &c->resident, &c->faulted);
	uvmp_mask_or(&c->resident, &c->resident, &c->hint.pages);
}

#endif
