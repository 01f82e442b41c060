/* See density_case.h. */
#include "density_case.h"

#include <string.h>

#include "naive_density.h"

struct bytes {
	const uint8_t *data;
	size_t size, at;
};

static uint32_t take(struct bytes *bytes)
{
	return bytes->at < bytes->size ? bytes->data[bytes->at++] : 0;
}

static uint32_t take_below(struct bytes *bytes, uint32_t limit)
{
	uint32_t high = take(bytes);

	return (high * 256u + take(bytes)) % limit;
}

/* Not empty, inside the block. */
static struct uvmp_region take_region(struct bytes *bytes, uint32_t pages)
{
	struct uvmp_region region;

	region.first = take_below(bytes, pages);
	region.end = region.first + 1u + take_below(bytes, pages - region.first);
	return region;
}

/* Up to 15 runs, each set or taken out again; a run is a single page in every other case. */
static void take_mask(struct bytes *bytes, uint32_t pages, uvmp_mask *mask)
{
	uint32_t runs = take(bytes) % 16u;

	memset(mask, 0, sizeof(*mask));
	for (uint32_t i = 0; i < runs; i++) {
		uint32_t how = take(bytes);
		struct uvmp_region run = take_region(bytes, pages);

		if (how & 1u)
			run.end = run.first + 1u;
		for (uint32_t p = run.first; p < run.end; p++)
			if (how & 6u)
				mask->word[p / 64u] |= (uint64_t)1 << (p % 64u);
			else
				mask->word[p / 64u] &= ~((uint64_t)1 << (p % 64u));
	}
}

/* Where pages are 64 KiB a big page is one of them, and a block has 32. */
static void read_block(struct bytes *bytes, struct uvmp_block *block)
{
	static const uint32_t other_big_pages[3] = {1, 64, 512};
	uint32_t shape = take(bytes), big_pages = 16, most = UVMP_MASK_BITS, offset;

	if (shape / 16u >= 13u)
		big_pages = other_big_pages[shape / 16u - 13u];
	if (big_pages == 1u && shape % 2u != 0)
		most = 32;
	offset = shape % 16u % big_pages;
	uvmp_block_from_shape(1u + take_below(bytes, most - offset), offset, big_pages, block);
}

static void read_parameters(struct density_case *c, struct bytes *bytes, uint32_t threshold, uint32_t flags)
{
	uint32_t min_faults = take(bytes), processors = take(bytes), faults = take(bytes);

	uvmp_prefetch_params_init(&c->params, UVMP_PREFETCH_DENSITY);
	c->params.quirks = (flags & 1u) == 0;
	c->params.threshold = threshold == 0 && !c->params.quirks ? 1 : threshold;
	if (min_faults >= 128)
		c->params.min_faults = 1u + min_faults % 20u;
	uvmp_prefetch_state_init(&c->state);
	c->facts.to = processors % 3u;
	c->facts.preferred = processors / 4u % 4u < 3u ? processors / 4u % 4u : UVMP_PROC_NONE;
	c->facts.has_preferred = c->facts.preferred != UVMP_PROC_NONE;
	c->state.last_proc = processors / 16u % 4u < 3u ? processors / 16u % 4u : UVMP_PROC_NONE;
	c->state.faults = (uint16_t)(faults % 2u ? 65535u - faults / 2u : faults / 2u); /* [driver: fault-count-wraps] is
											 * near 65535 */
}

static void read_masks(struct density_case *c, struct bytes *bytes, uint32_t flags)
{
	uint32_t pages = c->facts.block.pages;
	uint32_t how = take(bytes);

	take_mask(bytes, pages, &c->faulted);
	take_mask(bytes, pages, &c->resident);
	take_mask(bytes, pages, &c->thrashing);
	take_mask(bytes, pages, &c->cpu_resident);
	take_mask(bytes, pages, &c->cpu_read_mapped);
	if (uvmp_mask_is_empty(&c->faulted))
		c->faulted.word[0] = 1;
	c->facts.faulted = &c->faulted;
	c->facts.resident = flags & 16u ? NULL : &c->resident;
	c->facts.thrashing = flags & 32u ? &c->thrashing : NULL;
	c->facts.cpu_resident = flags & 64u ? &c->cpu_resident : NULL;
	c->facts.cpu_read_mapped = flags & 128u ? &c->cpu_read_mapped : NULL;
	c->facts.faulted_region = how % 4u ? uvmp_mask_bounds(&c->faulted) : take_region(bytes, pages);
}

void density_case_read(struct density_case *c, const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, size, 0};
	uint32_t threshold, flags;

	memset(c, 0, sizeof(*c));
	read_block(&bytes, &c->facts.block);
	threshold = take(&bytes) % 101u;
	flags = take(&bytes);
	read_parameters(c, &bytes, threshold, flags);
	c->facts.is_first_touch = (flags & 2u) != 0;
	c->facts.is_hmm = (flags & 4u) != 0;
	c->facts.is_confidential = (flags & 8u) != 0;
	c->facts.range_groups = take(&bytes) % 4u;
	c->facts.range_group = c->group;
	read_masks(c, &bytes, flags);
	c->facts.max_region = take_region(&bytes, c->facts.block.pages);
	for (uint32_t i = 0; i < c->facts.range_groups; i++)
		c->group[i] = take_region(&bytes, c->facts.block.pages);
}

static bool same_pages(const uvmp_mask *mask, const bool pages[512])
{
	for (uint32_t p = 0; p < 512; p++)
		if (uvmp_mask_test(mask, p) != pages[p])
			return false;
	return true;
}

static bool same_subtrees(const struct uvmp_prefetch_hint *hint, const struct naive_density *naive)
{
	for (uint32_t p = 0; p < 512; p++) {
		struct uvmp_region subtree = uvmp_prefetch_subtree(&hint->subtrees, p);

		if (naive->pages[p] &&
		    (subtree.first != naive->subtree[p].first || subtree.end != naive->subtree[p].end))
			return false;
	}
	return true;
}

bool density_case_agrees(const struct density_case *c)
{
	struct uvmp_prefetch_state state = c->state;
	struct uvmp_prefetch_hint hint;
	struct naive_density naive;

	if (uvmp_prefetch_decide(&c->params, &c->facts, &state, &hint) != UVMP_OK)
		return false;
	naive_density(&c->params, &c->facts, &c->state, &naive);
	return same_pages(&hint.pages, naive.pages) && same_subtrees(&hint, &naive) && state.faults == naive.faults &&
	       state.last_proc == naive.last_proc && hint.to == naive.to;
}

bool density_case_agrees_ats(const struct density_case *c)
{
	struct uvmp_region window = c->facts.faulted_region;
	bool is_whole = c->facts.is_first_touch, naive[512];
	uvmp_mask pages;

	if (uvmp_prefetch_ats(c->params.threshold, window, c->facts.resident, &c->faulted, is_whole,
	                      &pages) != UVMP_OK)
		return false;
	naive_ats(c->params.threshold, window.first, window.end, c->facts.resident, &c->faulted, is_whole,
	          naive);
	return same_pages(&pages, naive);
}
