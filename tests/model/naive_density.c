/* See naive_density.h. Sets are arrays of bool, every node of the tree is visited and every page of it
 * counted. */
#include "naive_density.h"

#include <string.h>

struct leaves {
	bool set[1024];
	int count, padding;
};

static void unpack(const uvmp_mask *mask, bool pages[512])
{
	for (unsigned p = 0; p < 512; p++)
		pages[p] = mask != NULL && ((mask->word[p / 64] >> (p % 64)) & 1) != 0;
}

static bool any_in(const bool pages[512], int first, int outer)
{
	for (int p = first; p < outer; p++)
		if (pages[p])
			return true;
	return false;
}

/* [driver: density-region]: from the leaf to the root; the last that satisfies is the highest. */
static bool region_for(const struct leaves *leaves, int leaf, int threshold, int *first, int *outer)
{
	bool found = false;
	int levels = 1;

	while ((1 << (levels - 1)) < leaves->count)
		levels++;
	for (int h = 0; h < levels; h++) {
		int start = leaf / (1 << h) * (1 << h);
		int end = start + (1 << h) < leaves->count ? start + (1 << h) : leaves->count;
		int weight = 0;

		for (int i = start; i < end; i++)
			weight += leaves->set[i];
		if (weight * 100 > (end - start) * threshold) {
			*first = start;
			*outer = end;
			found = true;
		}
	}
	return found;
}

/* [driver: density-clamp], with signed numbers. Without quirks: leaf i is page i - padding of the region, and
 * the padding is nothing. */
static void clamp(int *first, int *outer, int max_first, int max_outer, int padding, bool quirks)
{
	if (quirks) {
		*first += max_first;
		*outer += max_first;
		if (*first < padding)
			*first = padding;
		else
			*first = *first - padding > max_first ? *first - padding : max_first;
		if (*outer < padding)
			*outer = padding;
		else
			*outer = *outer - padding < max_outer ? *outer - padding : max_outer;
		return;
	}
	*first = *first - padding + max_first;
	*outer = *outer - padding + max_first;
	if (*first < max_first)
		*first = max_first;
}

/* Pages around every candidate. */
static void gather(const struct leaves *leaves, const bool candidate[512], int max_first, int max_outer,
                   int threshold, bool quirks, bool pages[512])
{
	for (int p = max_first; p < max_outer; p++) {
		int first, outer;

		if (!candidate[p] ||
		    !region_for(leaves, p - max_first + leaves->padding, threshold, &first, &outer))
			continue;
		clamp(&first, &outer, max_first, max_outer, leaves->padding, quirks);
		for (int q = first; q < outer; q++)
			pages[q] = true;
	}
}

/* Big pages by their absolute number: page p of the block is page p + offset counted from a boundary. A big
 * page counts if all of it lies in the region. */
static bool is_in_big_page(const struct uvmp_block *block, int page, int max_first, int max_outer)
{
	int size = (int)block->big_pages, offset = (int)block->offset;
	int start = (page + offset) / size * size - offset;

	return start >= max_first && start + size <= max_outer;
}

/* [driver: density-tree]: two pages lie in the same segment if nothing divides them: pages of one big page,
 * or both before the first or both behind the last big page. */
static void segment_of(const struct uvmp_block *block, int page, int max_first, int max_outer, int *first,
                       int *outer)
{
	int size = (int)block->big_pages, offset = (int)block->offset;

	*first = page;
	*outer = page + 1;
	if (is_in_big_page(block, page, max_first, max_outer)) {
		*first = (page + offset) / size * size - offset;
		*outer = *first + size;
		return;
	}
	while (*first > max_first && !is_in_big_page(block, *first - 1, max_first, max_outer))
		(*first)--;
	while (*outer < max_outer && !is_in_big_page(block, *outer, max_first, max_outer))
		(*outer)++;
}

/* [driver: density-tree]: leaves in front of the region's first page, if its first big page begins behind
 * it. */
static int padding_of(const struct uvmp_block *block, int max_first, int max_outer)
{
	for (int p = max_first; p < max_outer; p++)
		if (is_in_big_page(block, p, max_first, max_outer))
			return p == max_first ? 0 : (int)block->big_pages - (p - max_first);
	return 0;
}

static void density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                    int max_first, int max_outer, bool pages[512])
{
	bool resident[512], faulted[512], thrashing[512], candidate[512];
	struct leaves leaves;

	unpack(facts->resident, resident);
	unpack(facts->faulted, faulted);
	unpack(facts->thrashing, thrashing);
	memset(&leaves, 0, sizeof(leaves));
	leaves.padding = padding_of(&facts->block, max_first, max_outer);
	leaves.count = leaves.padding + max_outer - max_first;
	for (int p = max_first; p < max_outer; p++) {
		int first, outer;

		segment_of(&facts->block, p, max_first, max_outer, &first, &outer);
		leaves.set[p - max_first + leaves.padding] =
		        resident[p] || faulted[p] ||
		        (any_in(faulted, first, outer) && !any_in(thrashing, first, outer));
	}
	for (int p = 0; p < 512; p++)
		candidate[p] = faulted[p] && !thrashing[p] && p >= (int)facts->faulted_region.first &&
		               p < (int)facts->faulted_region.outer;
	gather(&leaves, candidate, max_first, max_outer, (int)params->threshold, params->quirks, pages);
}

static bool is_allowed(const struct uvmp_prefetch_facts *facts)
{
	bool faulted[512], cpu_resident[512], on_cpu = false;

	unpack(facts->faulted, faulted);
	unpack(facts->cpu_resident, cpu_resident);
	for (int p = 0; p < 512; p++)
		on_cpu = on_cpu || (faulted[p] && cpu_resident[p]);
	if (facts->preferred == UVMP_PROC_NONE || facts->preferred == facts->dst)
		return true;
	return facts->is_confidential && (facts->dst == 0 || on_cpu);
}

void naive_density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                   const struct uvmp_prefetch_state *state, struct naive_density *out)
{
	bool resident[512], faulted[512], thrashing[512], mapped[512];
	int max_first = facts->is_hmm ? (int)facts->max_region.first : 0;
	int max_outer = (int)(facts->is_hmm ? facts->max_region.outer : facts->block.pages);

	unpack(facts->resident, resident);
	unpack(facts->faulted, faulted);
	unpack(facts->thrashing, thrashing);
	unpack(facts->cpu_read_mapped, mapped);
	memset(out, 0, sizeof(*out));
	out->dst = UVMP_PROC_NONE;
	out->last_proc = facts->dst;
	out->faults = state->last_proc == facts->dst ? state->faults : 0;
	if (facts->is_first_touch && facts->dst == facts->preferred)
		for (int p = max_first; p < max_outer; p++)
			out->pages[p] = true;
	else if (is_allowed(facts))
		density(params, facts, max_first, max_outer, out->pages);
	for (int p = 0; p < 512; p++) {
		if (faulted[p] || thrashing[p])
			out->pages[p] = false;
		if (facts->dst == 0 && !facts->is_hmm && resident[p] && mapped[p])
			out->pages[p] = false;
		if (faulted[p] && p >= (int)facts->faulted_region.first &&
		    p < (int)facts->faulted_region.outer)
			out->faults++;
	}
	if (out->faults > 65535)
		out->faults = params->quirks ? out->faults - 65536 : 65535;
	if (out->faults < params->min_faults)
		return;
	for (unsigned g = 0; g < facts->range_groups; g++)
		for (unsigned p = facts->range_group[g].first; p < facts->range_group[g].outer; p++)
			if (!any_in(faulted, (int)facts->range_group[g].first,
			            (int)facts->range_group[g].outer))
				out->pages[p] = false;
	if (any_in(out->pages, 0, 512))
		out->dst = facts->dst;
}

void naive_ats(unsigned threshold, unsigned first, unsigned outer, const uvmp_mask *resident,
               const uvmp_mask *faulted, bool is_whole, bool pages[512])
{
	bool is_resident[512], is_faulted[512];
	struct leaves leaves;

	unpack(resident, is_resident);
	unpack(faulted, is_faulted);
	memset(pages, 0, 512 * sizeof(bool));
	memset(&leaves, 0, sizeof(leaves));
	if (outer > 512)
		outer = 512;
	if (first >= outer)
		return;
	leaves.count = (int)(outer - first);
	for (unsigned p = first; p < outer; p++)
		leaves.set[p - first] = is_resident[p] || is_faulted[p];
	gather(&leaves, is_faulted, (int)first, (int)outer, (int)threshold, false, pages);
	for (unsigned p = 0; p < 512; p++)
		pages[p] = (pages[p] || (is_whole && p >= first && p < outer)) && !is_faulted[p];
}
