/* The driver's density prefetcher, and its variant for system-allocated memory.
 *
 * The leaves of a binary tree are the pages of the block. A page is "set" if it is resident or faulted; a
 * faulted big page counts as wholly set. For every faulted page, the largest node above it is chosen of which
 * more than `threshold` percent are set, and the pages of the node are fetched. The tree starts at a big-page
 * boundary. So a block that starts elsewhere has padding leaves in front, which are never set.
 *
 * No tree is stored. The set pages are a mask in tree order. The count below a node of 64 leaves or more is a
 * difference of two entries of `before`, the count below a smaller node is a few bits of one word. Nodes are
 * tried from the root down, so the first node that is dense enough is the largest, and the nodes below it are
 * skipped. */
#include "../base/bits_internal.h"
#include "prefetch_internal.h"

#define FAULTS_MAX 65535u

struct tree {
	struct uvmp_region max;		       /* the pages of the block that the tree is over */
	uint32_t padding;		       /* leaves in front of page max.first */
	uint32_t leaves;		       /* padding and pages */
	uint32_t height;		       /* of the root */
	uint32_t threshold;		       /* percent */
	uvmp_mask set;			       /* by leaf */
	uint32_t before[UVMP_MASK_WORDS + 1u]; /* set leaves in front of word w */
};

/* -- building the tree [driver: density-tree] -- */

/* Pages of `max` that form wholly contained big pages; an empty region at its start if there are none. */
static struct uvmp_region big_pages_of(const struct uvmp_block *block, struct uvmp_region max)
{
	struct uvmp_region big = uvmp_block_big_pages(block, max);

	if (uvmp_region_is_empty(big))
		big.first = big.end = max.first;
	return big;
}

/* What is set together with a faulted page: its big page, or the rest of `max` before the first or behind the
 * last one. */
static struct uvmp_region segment_of(uint32_t page, uint32_t big_page, struct uvmp_region big,
				     struct uvmp_region max)
{
	struct uvmp_region segment = {max.first, big.first};

	if (page >= big.end) {
		segment.first = big.end;
		segment.end = max.end;
	} else if (page >= big.first) {
		segment.first = page - (page - big.first) % big_page;
		segment.end = segment.first + big_page;
	}
	return segment;
}

/* Adds the segments of all faulted pages, except those with a thrashing page. */
static void grow(uvmp_mask *set, const struct uvmp_prefetch_facts *facts, struct uvmp_region big,
		 struct uvmp_region max)
{
	struct uvmp_region segment;

	for (uint32_t p = uvmp_mask_next_set(facts->faulted, max.first); p < max.end;
	     p = uvmp_mask_next_set(facts->faulted, segment.end)) {
		segment = segment_of(p, facts->block.big_pages, big, max);
		if (facts->thrashing == NULL || !uvmp_mask_region_any(facts->thrashing, segment))
			uvmp_mask_region_set(set, segment);
	}
}

/* `set` is in pages of the block; pages outside `max` are ignored. */
static void build(struct tree *tree, const uvmp_mask *set, struct uvmp_region max, uint32_t padding,
		  uint32_t threshold)
{
	tree->max = max;
	tree->padding = padding;
	tree->leaves = uvmp_region_pages(max) + padding;
	tree->threshold = threshold;
	for (tree->height = 0; (1u << tree->height) < tree->leaves;)
		tree->height++;
	uvmp_mask_region_and(&tree->set, set, max);
	if (max.first > padding)
		uvmp_mask_shift_down(&tree->set, &tree->set, max.first - padding);
	else if (max.first < padding)
		uvmp_mask_shift_up(&tree->set, &tree->set, padding - max.first);
	tree->before[0] = 0;
	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++)
		tree->before[w + 1u] = tree->before[w] + popcount(tree->set.word[w]);
}

static void build_managed(struct tree *tree, const struct uvmp_prefetch_params *params,
			  const struct uvmp_prefetch_facts *facts, struct uvmp_region max)
{
	struct uvmp_region big = big_pages_of(&facts->block, max);
	uint32_t padding = big.first > max.first ? facts->block.big_pages - (big.first - max.first) : 0;
	uvmp_mask set = *facts->faulted;

	if (facts->resident != NULL)
		uvmp_mask_or(&set, &set, facts->resident);
	grow(&set, facts, big, max);
	build(tree, &set, max, padding, params->threshold);
}

/* -- asking it [driver: density-region, density-clamp] -- */

static uint32_t node_weight(const struct tree *tree, uint32_t first, uint32_t height)
{
	uint32_t word = first / 64u;

	if (height >= 6)
		return tree->before[word + (1u << (height - 6u))] - tree->before[word];
	return popcount(tree->set.word[word] >> (first % 64u) & (((uint64_t)1 << (1u << height)) - 1u));
}

/* Largest dense node above `leaf`, which is set itself: the threshold is below 100, so at the latest the leaf
 * is dense. */
static struct uvmp_region region_for(const struct tree *tree, uint32_t leaf)
{
	for (uint32_t height = tree->height;; height--) {
		struct uvmp_region node = {leaf & ~((1u << height) - 1u), 0};

		/* The last node of a level ends with the tree, and so does its denominator. */
		node.end = node.first + (1u << height);
		if (node.end > tree->leaves)
			node.end = tree->leaves;
		if (node_weight(tree, node.first, height) * 100u > (node.end - node.first) * tree->threshold)
			return node;
	}
}

/* The block's pages of a node. */
static struct uvmp_region pages_of(const struct tree *tree, struct uvmp_region node)
{
	struct uvmp_region pages = {tree->max.first, node.end + tree->max.first - tree->padding};

	if (node.first > tree->padding)
		pages.first += node.first - tree->padding;
	return pages;
}

/* What is chosen: `pages`, and where the nodes begin and end (see uvmp_prefetch_subtree). */
struct choice {
	uvmp_mask *pages, *subtrees;
};

/* Adds the dense nodes around the candidates. A candidate inside a node found before would find the same node
 * again: what is dense and larger than that would have been found the first time.
 *
 * [driver: padding-clamp]: the driver forgets that the padding comes before max.first and starts a node that
 * begins in the padding `padding` pages into the block. */
static void collect(const struct tree *tree, const uvmp_mask *candidates, bool quirks, struct choice choice)
{
	struct uvmp_region node, region;

	if (tree->threshold >= 100) /* [driver: threshold-zero]: nothing is denser than 100 % */
		return;
	for (uint32_t p = uvmp_mask_next_set(candidates, tree->max.first); p < tree->max.end;
	     p = uvmp_mask_next_set(candidates, region.end)) {
		node = region_for(tree, p - tree->max.first + tree->padding);
		region = pages_of(tree, node);
		uvmp_mask_set(choice.subtrees, region.first);
		uvmp_mask_set(choice.subtrees, region.end);
		if (quirks && node.first + tree->max.first < tree->padding)
			region.first = tree->padding;
		uvmp_mask_region_set(choice.pages, region);
	}
}

/* -- the decision [driver: density] -- */

static void density(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		    struct uvmp_region max, struct choice choice)
{
	struct tree tree;
	uvmp_mask candidates;

	build_managed(&tree, params, facts, max);
	uvmp_mask_region_and(&candidates, facts->faulted, facts->faulted_region);
	if (facts->thrashing != NULL)
		uvmp_mask_andnot(&candidates, &candidates, facts->thrashing);
	collect(&tree, &candidates, params->quirks, choice);
}

/* All pages that are wanted, before range groups and min_faults have their say. */
static void choose(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		   struct choice choice)
{
	struct uvmp_region max = {0, facts->block.pages};
	uvmp_mask *pages = choice.pages, mapped;

	if (facts->is_hmm)
		max = facts->max_region;
	uvmp_mask_zero(pages);
	uvmp_mask_zero(choice.subtrees);
	if (facts->is_first_touch && facts->has_preferred && facts->to == facts->preferred)
		uvmp_mask_region_set(pages, max);
	else if (uvmpi_prefetch_is_allowed(facts))
		density(params, facts, max, choice);
	uvmp_mask_andnot(pages, pages, facts->faulted);
	/* Pages that the CPU reads at home already would only be mapped again. */
	if (facts->to == UVMP_CPU && !facts->is_hmm && facts->resident != NULL &&
	    facts->cpu_read_mapped != NULL) {
		uvmp_mask_and(&mapped, facts->resident, facts->cpu_read_mapped);
		uvmp_mask_andnot(pages, pages, &mapped);
	}
	if (facts->thrashing != NULL)
		uvmp_mask_andnot(pages, pages, facts->thrashing);
}

/* [driver: fault-count-wraps]: its counter has 16 bits and wraps. */
static uint16_t count_faults(uint32_t faults, const struct uvmp_prefetch_facts *facts, bool quirks)
{
	faults += uvmp_mask_region_weight(facts->faulted, facts->faulted_region);
	return !quirks && faults > FAULTS_MAX ? FAULTS_MAX : (uint16_t)faults;
}

enum uvmp_status uvmpi_prefetch_density_decide(const struct uvmp_prefetch_params *params,
					       const struct uvmp_prefetch_facts *facts,
					       struct uvmp_prefetch_state *state,
					       struct uvmp_prefetch_hint *hint)
{
	uint32_t to = UVMP_PROC_NONE;
	uvmp_mask pages;

	choose(params, facts, (struct choice){&pages, &hint->subtrees});
	if (state->last_proc != facts->to) {
		state->last_proc = facts->to;
		state->faults = 0;
	}
	state->faults = count_faults(state->faults, facts, params->quirks);
	if (state->faults >= params->min_faults) {
		uvmpi_prefetch_drop_groups(facts, &pages);
		to = facts->to;
	}
	uvmpi_prefetch_hint_set_pages(hint, to, &pages);
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PARAMETER(struct uvmp_prefetch_params, threshold, "threshold", 0, 100, 51, 1, LIMIT_QUIRKS, NULL,
		  "percent of a subtree above which all of it is fetched; 0 only with quirks=1"),
	PREFETCH_PARAMETER(min_faults, "min_faults", 1, 20, 1,
			   "faulted pages of a block before pages are prefetched"),
};

const struct prefetcher uvmpi_prefetcher_density = {
	.name = "density",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .may_repeat = true,
		   .has_threshold = true},
	.decide = uvmpi_prefetch_density_decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
};

/* -- system-allocated memory [driver: ats-prefetch] -- */

enum uvmp_status uvmp_prefetch_ats(uint32_t threshold, struct uvmp_region window, const uvmp_mask *resident,
				   const uvmp_mask *faulted, bool is_preferred_node_first_touch,
				   uvmp_mask *pages)
{
	struct uvmp_region block = {0, UVMP_MASK_BITS};
	struct tree tree;
	uvmp_mask set, chosen, subtrees;

	if (faulted == NULL || pages == NULL)
		return UVMP_ERR_ARGUMENT;
	if (threshold > 100 || window.end < window.first)
		return UVMP_ERR_RANGE;
	window = uvmp_region_intersect(window, block);
	set = *faulted;
	if (resident != NULL)
		uvmp_mask_or(&set, &set, resident);
	build(&tree, &set, window, 0, threshold);
	uvmp_mask_zero(&chosen);
	uvmp_mask_zero(&subtrees);
	collect(&tree, faulted, false, (struct choice){&chosen, &subtrees});
	if (is_preferred_node_first_touch)
		uvmp_mask_region_set(&chosen, window);
	uvmp_mask_andnot(pages, &chosen, faulted);
	return UVMP_OK;
}
