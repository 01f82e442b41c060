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

static bool any_in(const bool pages[512], int first, int end)
{
	for (int p = first; p < end; p++)
		if (pages[p])
			return true;
	return false;
}

/* [driver: density-region]: from the leaf to the root; the last that satisfies is the highest. */
static bool region_for(const struct leaves *leaves, int leaf, int threshold, int *first, int *end)
{
	bool found = false;
	int levels = 1;

	while ((1 << (levels - 1)) < leaves->count)
		levels++;
	for (int h = 0; h < levels; h++) {
		int start = leaf / (1 << h) * (1 << h);
		int stop = start + (1 << h) < leaves->count ? start + (1 << h) : leaves->count;
		int weight = 0;

		for (int i = start; i < stop; i++)
			weight += leaves->set[i];
		if (weight * 100 > (stop - start) * threshold) {
			*first = start;
			*end = stop;
			found = true;
		}
	}
	return found;
}

/* [driver: density-clamp], with signed numbers. Without quirks: leaf i is page i - padding of the region, and
 * the padding is nothing. */
static void clamp(int *first, int *end, int max_first, int max_end, int padding, bool quirks)
{
	if (quirks) {
		*first += max_first;
		*end += max_first;
		if (*first < padding)
			*first = padding;
		else
			*first = *first - padding > max_first ? *first - padding : max_first;
		if (*end < padding)
			*end = padding;
		else
			*end = *end - padding < max_end ? *end - padding : max_end;
		return;
	}
	*first = *first - padding + max_first;
	*end = *end - padding + max_first;
	if (*first < max_first)
		*first = max_first;
}

/* The pages of a node, which may begin in the padding. */
static struct uvmp_region node_pages(int first, int end, int max_first)
{
	return (struct uvmp_region){(uint32_t)(first < max_first ? max_first : first), (uint32_t)end};
}

/* Pages around every candidate. */
static void gather(const struct leaves *leaves, const bool candidate[512], int max_first, int max_end,
                   int threshold, bool quirks, bool pages[512], struct uvmp_region subtree[512])
{
	for (int p = max_first; p < max_end; p++) {
		int first, end;

		if (!candidate[p] ||
		    !region_for(leaves, p - max_first + leaves->padding, threshold, &first, &end))
			continue;
		for (int q = 0; q < 512; q++)
			if (q - max_first + leaves->padding >= first && q - max_first + leaves->padding < end &&
			    q >= max_first)
				subtree[q] = node_pages(first - leaves->padding + max_first,
				                        end - leaves->padding + max_first, max_first);
		clamp(&first, &end, max_first, max_end, leaves->padding, quirks);
		for (int q = first; q < end; q++)
			pages[q] = true;
	}
}

/* Big pages by their absolute number: page p of the block is page p + offset counted from a boundary. A big
 * page counts if all of it lies in the region. */
static bool is_in_big_page(const struct uvmp_block *block, int page, int max_first, int max_end)
{
	int size = (int)block->big_pages, offset = (int)block->offset;
	int start = (page + offset) / size * size - offset;

	return start >= max_first && start + size <= max_end;
}

/* [driver: density-tree]: two pages lie in the same segment if nothing divides them: pages of one big page,
 * or both before the first or both behind the last big page. */
static void segment_of(const struct uvmp_block *block, int page, int max_first, int max_end, int *first,
                       int *end)
{
	int size = (int)block->big_pages, offset = (int)block->offset;

	*first = page;
	*end = page + 1;
	if (is_in_big_page(block, page, max_first, max_end)) {
		*first = (page + offset) / size * size - offset;
		*end = *first + size;
		return;
	}
	while (*first > max_first && !is_in_big_page(block, *first - 1, max_first, max_end))
		(*first)--;
	while (*end < max_end && !is_in_big_page(block, *end, max_first, max_end))
		(*end)++;
}

/* [driver: density-tree]: leaves in front of the region's first page, if its first big page begins behind
 * it. */
static int padding_of(const struct uvmp_block *block, int max_first, int max_end)
{
	for (int p = max_first; p < max_end; p++)
		if (is_in_big_page(block, p, max_first, max_end))
			return p == max_first ? 0 : (int)block->big_pages - (p - max_first);
	return 0;
}

static void density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                    int max_first, int max_end, struct naive_density *out)
{
	bool resident[512], faulted[512], thrashing[512], candidate[512];
	struct leaves leaves;

	unpack(facts->resident, resident);
	unpack(facts->faulted, faulted);
	unpack(facts->thrashing, thrashing);
	memset(&leaves, 0, sizeof(leaves));
	leaves.padding = padding_of(&facts->block, max_first, max_end);
	leaves.count = leaves.padding + max_end - max_first;
	for (int p = max_first; p < max_end; p++) {
		int first, end;

		segment_of(&facts->block, p, max_first, max_end, &first, &end);
		leaves.set[p - max_first + leaves.padding] =
		        resident[p] || faulted[p] ||
		        (any_in(faulted, first, end) && !any_in(thrashing, first, end));
	}
	for (int p = 0; p < 512; p++)
		candidate[p] = faulted[p] && !thrashing[p] && p >= (int)facts->faulted_region.first &&
		               p < (int)facts->faulted_region.end;
	gather(&leaves, candidate, max_first, max_end, (int)params->threshold, params->quirks,
	       out->pages, out->subtree);
}

static bool is_allowed(const struct uvmp_prefetch_facts *facts)
{
	bool faulted[512], cpu_resident[512], on_cpu = false;

	unpack(facts->faulted, faulted);
	unpack(facts->cpu_resident, cpu_resident);
	for (int p = 0; p < 512; p++)
		on_cpu = on_cpu || (faulted[p] && cpu_resident[p]);
	if (facts->preferred == UVMP_PROC_NONE || facts->preferred == facts->to)
		return true;
	return facts->is_confidential && (facts->to == 0 || on_cpu);
}

void naive_density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                   const struct uvmp_prefetch_state *state, struct naive_density *out)
{
	bool resident[512], faulted[512], thrashing[512], mapped[512];
	int max_first = facts->is_hmm ? (int)facts->max_region.first : 0;
	int max_end = (int)(facts->is_hmm ? facts->max_region.end : facts->block.pages);

	unpack(facts->resident, resident);
	unpack(facts->faulted, faulted);
	unpack(facts->thrashing, thrashing);
	unpack(facts->cpu_read_mapped, mapped);
	memset(out, 0, sizeof(*out));
	out->to = UVMP_PROC_NONE;
	out->last_proc = facts->to;
	out->faults = state->last_proc == facts->to ? state->faults : 0;
	if (facts->is_first_touch && facts->to == facts->preferred)
		for (int p = max_first; p < max_end; p++)
			out->pages[p] = true;
	else if (is_allowed(facts))
		density(params, facts, max_first, max_end, out);
	for (int p = 0; p < 512; p++) {
		if (faulted[p] || thrashing[p])
			out->pages[p] = false;
		if (facts->to == 0 && !facts->is_hmm && resident[p] && mapped[p])
			out->pages[p] = false;
		if (faulted[p] && p >= (int)facts->faulted_region.first &&
		    p < (int)facts->faulted_region.end)
			out->faults++;
	}
	if (out->faults > 65535)
		out->faults = params->quirks ? out->faults - 65536 : 65535;
	if (out->faults < params->min_faults)
		return;
	for (unsigned g = 0; g < facts->range_groups; g++)
		for (unsigned p = facts->range_group[g].first; p < facts->range_group[g].end; p++)
			if (!any_in(faulted, (int)facts->range_group[g].first,
			            (int)facts->range_group[g].end))
				out->pages[p] = false;
	if (any_in(out->pages, 0, 512))
		out->to = facts->to;
}

void naive_ats(unsigned threshold, unsigned first, unsigned end, const uvmp_mask *resident,
               const uvmp_mask *faulted, bool is_whole, bool pages[512])
{
	bool is_resident[512], is_faulted[512];
	struct uvmp_region subtree[512];
	struct leaves leaves;

	unpack(resident, is_resident);
	unpack(faulted, is_faulted);
	memset(pages, 0, 512 * sizeof(bool));
	memset(&leaves, 0, sizeof(leaves));
	if (end > 512)
		end = 512;
	if (first >= end)
		return;
	leaves.count = (int)(end - first);
	for (unsigned p = first; p < end; p++)
		leaves.set[p - first] = is_resident[p] || is_faulted[p];
	gather(&leaves, is_faulted, (int)first, (int)end, (int)threshold, false, pages, subtree);
	for (unsigned p = 0; p < 512; p++)
		pages[p] = (pages[p] || (is_whole && p >= first && p < end)) && !is_faulted[p];
}
