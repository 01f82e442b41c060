/* See oracle.h: one prefetch decision in a managed block, in an HMM block, and in system-allocated memory. */
#include "oracle.h"

#include <string.h>

#define BLOCK_PAGES 512u
#define PAGE_BYTES  4096u
#define GROUPS_MAX  16u

struct prefetch_case {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	uvmp_mask faulted, resident, thrashing, cpu_read, cpu_resident;
	struct uvmp_region group[GROUPS_MAX];
};

static void draw_layout(struct oracle *oracle, uint32_t *offset, uint32_t *pages)
{
	*offset = 0;
	*pages = BLOCK_PAGES;
	switch (oracle_below(oracle, 6)) {
	case 2:
		*pages = 1u + oracle_below(oracle, BLOCK_PAGES);
		break;
	case 3:
		*offset = oracle_below(oracle, BLOCK_PAGES);
		*pages = BLOCK_PAGES - *offset;
		break;
	case 4:
		*offset = oracle_below(oracle, BLOCK_PAGES);
		*pages = 1u + oracle_below(oracle, BLOCK_PAGES - *offset);
		break;
	case 5:
		*offset = oracle_below(oracle, 32);
		*pages = BLOCK_PAGES - *offset - oracle_below(oracle, 32);
		break;
	default:
		break;
	}
}

static void draw_block(struct oracle *oracle, struct uvmp_block *block)
{
	uint32_t offset, pages;

	draw_layout(oracle, &offset, &pages);
	block->start = 0x7f0000000000u + (uint64_t)oracle_below(oracle, 1000) * 0x200000u +
	               (uint64_t)offset * PAGE_BYTES;
	block->last = block->start + (uint64_t)pages * PAGE_BYTES - 1u;
	block->pages = pages;
	block->offset = offset % 16u;
	block->big_pages = 16;
}

/* Part of the block that may be prefetched. */
static struct uvmp_region draw_window(struct oracle *oracle, uint32_t pages)
{
	struct uvmp_region window;

	window.first = oracle_below(oracle, 2) ? oracle_below(oracle, pages) : 0;
	window.end = oracle_below(oracle, 2)
	                       ? window.first + 1u + oracle_below(oracle, pages - window.first)
	                       : pages;
	return window;
}

static void draw_masks(struct oracle *oracle, struct uvmp_region window, struct prefetch_case *c)
{
	struct uvmp_region *region = &c->facts.faulted_region;
	uint32_t pages = c->facts.block.pages;

	oracle_fill_not_empty(oracle, window.first, window.end, &c->faulted);
	*region = uvmp_mask_bounds(&c->faulted);
	if (oracle_one_in(oracle, 4)) {
		region->first = window.first + oracle_below(oracle, window.end - window.first);
		region->end = region->first + 1u + oracle_below(oracle, window.end - region->first);
	}
	oracle_fill(oracle, 0, pages, &c->resident);
	oracle_fill(oracle, 0, pages, &c->thrashing);
	oracle_fill(oracle, 0, pages, &c->cpu_read);
	oracle_fill(oracle, 0, pages, &c->cpu_resident);
	if (oracle_one_in(oracle, 3))
		c->cpu_read = c->resident;
}

static void draw_facts(struct oracle *oracle, struct prefetch_case *c)
{
	struct uvmp_prefetch_facts *facts = &c->facts;
	bool has_resident, has_thrashing;

	facts->to = UVMP_CPU;
	if (oracle_below(oracle, 3))
		facts->to = oracle_below(oracle, 2) ? 1u + oracle_below(oracle, 63) : 1u;
	has_resident = oracle_below(oracle, 6) != 0;
	has_resident |= facts->to == UVMP_CPU;
	has_thrashing = oracle_below(oracle, 2);
	facts->is_first_touch = oracle_one_in(oracle, 5);
	facts->is_confidential = oracle_one_in(oracle, 4);
	facts->faulted = &c->faulted;
	facts->resident = has_resident ? &c->resident : NULL;
	facts->thrashing = has_thrashing ? &c->thrashing : NULL;
	facts->cpu_read_mapped = facts->to == UVMP_CPU ? &c->cpu_read : NULL;
	facts->cpu_resident = facts->to != UVMP_CPU && facts->is_confidential ? &c->cpu_resident : NULL;
}

static uint32_t draw_preferred(struct oracle *oracle, uint32_t dst)
{
	switch (oracle_below(oracle, 8)) {
	case 4:
	case 5:
		return dst;
	case 6:
		return UVMP_CPU;
	case 7:
		return 1u + oracle_below(oracle, 63);
	default:
		return UVMP_PROC_NONE;
	}
}

static void draw_state(struct oracle *oracle, struct prefetch_case *c)
{
	uint32_t last = oracle_below(oracle, 4), faults;

	uvmp_prefetch_state_init(&c->state);
	c->state.last_proc = last < 2u    ? c->facts.to
	                     : last == 2u ? UVMP_PROC_NONE
	                                  : oracle_below(oracle, 65);
	faults = oracle_below(oracle, 4);
	faults = faults < 2u    ? oracle_below(oracle, 25)
	         : faults == 2u ? oracle_below(oracle, 65536)
	                        : 65535u - oracle_below(oracle, 600);
	c->state.faults = (uint16_t)faults;
}

/* Cuts [first, end), which may lie before page 0 or behind the block, to the part inside the block. */
static void add_group(struct prefetch_case *c, int32_t first, int32_t end)
{
	int32_t pages = (int32_t)c->facts.block.pages;

	first = first < 0 ? 0 : first;
	end = end > pages ? pages : end;
	if (first < end) {
		struct uvmp_region group = {(uint32_t)first, (uint32_t)end};

		c->group[c->facts.range_groups++] = group;
	}
}

static void draw_groups(struct oracle *oracle, struct prefetch_case *c)
{
	int32_t shift, at = 0;

	c->facts.range_group = c->group;
	if (!oracle_one_in(oracle, 3))
		return;
	shift = (int32_t)oracle_below(oracle, 64) - 32;
	for (uint32_t i = 0; i < GROUPS_MAX && at < 560; i++) {
		int32_t first = at + (int32_t)oracle_below(oracle, 40);
		uint32_t longest = oracle_below(oracle, 2) ? 200u : 20u;

		at = first + 1 + (int32_t)oracle_below(oracle, longest);
		add_group(c, first + shift, at + shift);
	}
	if (oracle_one_in(oracle, 3)) {
		c->facts.range_groups = 0;
		add_group(c, shift, shift + 700);
	}
}

static void answer_prefetch(struct oracle *oracle, bool is_hmm)
{
	struct prefetch_case c;
	struct uvmp_prefetch_hint hint;
	struct uvmp_region window;

	memset(&c, 0, sizeof(c));
	memset(&hint, 0, sizeof(hint));
	uvmp_prefetch_params_init(&c.params, UVMP_PREFETCH_DENSITY);
	draw_block(oracle, &c.facts.block);
	window.first = 0;
	window.end = c.facts.block.pages;
	if (is_hmm)
		window = draw_window(oracle, c.facts.block.pages);
	c.facts.is_hmm = is_hmm;
	c.facts.max_region = window;
	draw_masks(oracle, window, &c);
	draw_facts(oracle, &c);
	c.facts.preferred = draw_preferred(oracle, c.facts.to);
	c.facts.has_preferred = c.facts.preferred != UVMP_PROC_NONE;
	draw_state(oracle, &c);
	c.params.threshold = oracle_below(oracle, 2) ? 51u : oracle_below(oracle, 101);
	c.params.min_faults = oracle_below(oracle, 2) ? 1u : 1u + oracle_below(oracle, 20);
	draw_groups(oracle, &c);
	oracle_put(oracle, (uint32_t)oracle_subject->prefetch(&c.params, &c.facts, &c.state, &hint), 4);
	oracle_put_mask(oracle, &hint.pages);
	oracle_put(oracle, hint.to, 4);
	oracle_put(oracle, c.state.last_proc, 4);
	oracle_put(oracle, c.state.faults, 2);
}

void oracle_density(struct oracle *oracle)
{
	answer_prefetch(oracle, false);
}

void oracle_hmm(struct oracle *oracle)
{
	answer_prefetch(oracle, true);
}

void oracle_ats(struct oracle *oracle)
{
	uint32_t size = oracle_below(oracle, 2) ? 1u + oracle_below(oracle, BLOCK_PAGES) : BLOCK_PAGES,
	         threshold;
	struct uvmp_region window = draw_window(oracle, size);
	uvmp_mask faulted, resident, pages;
	bool has_resident;

	oracle_fill_not_empty(oracle, window.first, window.end, &faulted);
	oracle_fill(oracle, 0, size, &resident);
	has_resident = oracle_below(oracle, 6) != 0;
	threshold = oracle_below(oracle, 2) ? 51u : oracle_below(oracle, 101);
	memset(&pages, 0, sizeof(pages));
	oracle_put(oracle,
	           (uint32_t)uvmp_prefetch_ats(threshold, window, has_resident ? &resident : NULL, &faulted,
	                                       false, &pages),
	           4);
	oracle_put_mask(oracle, &pages);
}
