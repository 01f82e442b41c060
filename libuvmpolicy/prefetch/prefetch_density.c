/* The driver's density prefetcher, and its variant for system-allocated memory.
 *
 * The leaves of a binary tree are the pages of the block. A page is "set" if it is resident or faulted; a
 * faulted big page counts as wholly set. For every faulted page, the largest node above it is chosen of which
 * more than `threshold` percent are set, and the pages of the node are fetched. The tree starts at a big-page
 * boundary. So a block that starts elsewhere has padding leaves in front, which are never set.
 *
 * No tree is stored: density_internal.h judges all nodes of a level at once. In a whole block of whole big
 * pages, the smallest chosen nodes are big pages, and only the levels above them are judged. */
#include "density_internal.h"
#include "prefetch_internal.h"

#define FAULTS_MAX 65535u

/* What is chosen: `pages`, and where the nodes begin and end (see uvmp_prefetch_subtree). */
struct choice {
	uvmp_mask *pages, *subtrees;
};

/* -- a whole block of whole big pages, all of whose faulted pages are candidates -- */

/* The faulted pages of a block, and their rows. */
struct faulted {
	uint64_t rows;
	uint32_t pages;
};

/* Bits are counted in nibbles: a row is faulted if any of its four nibbles is not 0. Up to three words fit a nibble. */
static struct faulted faulted_of(const uvmp_mask *mask)
{
	uint64_t rows = 0, bytes = 0, sum = 0, nibbles;

	_Pragma("GCC unroll 8") for (uint32_t w = UVMP_MASK_WORDS; w-- > 0;)
	{
		rows *= 2u;
		if (mask->word[w] != 0) {
			nibbles = uvmpi_nibble_weights(mask->word[w]);
			sum += nibbles;
			rows += (nibbles + 0x7fff * ROWS) >> 15 & ROWS;
		}
		if (w % 3u == 0) {
			bytes += uvmpi_byte_weights(sum);
			sum = 0;
		}
	}
	return (struct faulted){rows, uvmpi_byte_sum(bytes)};
}

/* Each row with a fault is wholly set, so each is dense. */
static struct density_choice choose_rows(uint64_t rows, const uvmp_mask *resident, uint32_t threshold)
{
	struct density_keys keys = density_keys(threshold);
	struct density_choice choice = {rows, 0};
	struct density_counts counts;
	uint64_t set[UVMP_MASK_WORDS];

	if (popcount(rows) * 16u >= keys.all)
		return density_root;
	if (uvmpi_mask_is_empty(resident)) {
		density_pairs_of_rows(rows, counts.pair);
	} else {
		UVMPI_EACH_WORD (w)
			set[w] = resident->word[w] | density_leaves_of(rows >> w & ROWS);
		counts.pair[0] = density_pairs(set);
		counts.pair[1] = density_pairs(set + 4);
	}
	density_sum(&counts);
	return density_rows(&counts, &keys, rows, choice);
}

/* Returns whether any page is chosen. Masks of the facts may be choice.pages: each word is read before it is written. */
UVMPI_NOINLINE_32 static bool choose_regular(uint64_t rows_faulted, const struct uvmp_prefetch_facts *facts,
					  uint32_t threshold, struct choice choice)
{
	struct density_choice rows =
		choose_rows(rows_faulted, uvmpi_mask_or_none(facts->resident), threshold);
	uint64_t begin = density_begin(rows), any = 0;

	UVMPI_EACH_WORD (w) {
		/* all rows with a fault are chosen */
		uint64_t pages = density_leaves_of(rows.chosen >> w & ROWS) ^ facts->faulted->word[w];

		choice.pages->word[w] = pages;
		choice.subtrees->word[w] = begin >> w & ROWS;
		any |= pages;
	}
	return any != 0;
}

/* -- any tree [driver: density-tree] -- */

struct tree {
	struct uvmp_region max; /* the pages of the block that the tree is over */
	uint32_t padding;	/* leaves in front of page max.first */
	uint32_t leaves;	/* padding and pages */
	uint32_t threshold;	/* percent, below 100 */
	uvmp_mask set;		/* by leaf */
	uvmp_mask candidates;	/* faulted leaves around which nodes are chosen; all are set */
};

/* *leaves = `pages` in `max`, by leaf. */
static void by_leaf(const struct tree *tree, const uvmp_mask *pages, uvmp_mask *leaves)
{
	if (uvmp_region_pages(tree->max) == UVMP_MASK_BITS)
		*leaves = *pages;
	else
		uvmpi_mask_region_and(leaves, pages, tree->max);
	if (tree->max.first > tree->padding)
		uvmp_mask_shift_down(leaves, leaves, tree->max.first - tree->padding);
	else if (tree->max.first < tree->padding)
		uvmp_mask_shift_up(leaves, leaves, tree->padding - tree->max.first);
}

/* The reverse, in place. */
static void by_page(const struct tree *tree, uvmp_mask *mask)
{
	if (tree->max.first > tree->padding)
		uvmp_mask_shift_up(mask, mask, tree->max.first - tree->padding);
	else if (tree->max.first < tree->padding)
		uvmp_mask_shift_down(mask, mask, tree->padding - tree->max.first);
}

/* Adds the leaves of each segment that has a faulted leaf and no thrashing one. A segment has `size` leaves, a
 * power of two. */
static void grow_segments(uint32_t size, const uvmp_mask *faulted, const uvmp_mask *thrashing, uvmp_mask *set)
{
	for (struct uvmp_region r = {0, size}; r.first < UVMP_MASK_BITS; r.first += size, r.end += size)
		if (uvmpi_mask_region_any(faulted, r) && !uvmpi_mask_region_any(thrashing, r))
			uvmpi_mask_region_set(set, r);
}

/* The same for segments of less than 64 leaves, all those of a word at once. */
static void grow_lanes(uint32_t size, const uvmp_mask *faulted, const uvmp_mask *thrashing, uvmp_mask *set)
{
	uint64_t lanes = 1;

	for (uint32_t step = size; step < 64u; step *= 2u)
		lanes |= lanes << step;
	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++) {
		uint64_t hit = faulted->word[w], thrashes = thrashing->word[w];

		for (uint32_t step = 1; step < size; step *= 2u) {
			hit |= hit >> step;
			thrashes |= thrashes >> step;
		}
		hit &= ~thrashes & lanes;
		set->word[w] |= (hit << size) - hit;
	}
}

/* A faulted page sets its big page; or the rest of `max` in front of the first big page, or behind the last
 * one; or all of `max`, if no big page is inside. In tree order each of these is the part of a segment that is in
 * the tree. */
static void grow(struct tree *tree, uint32_t size, const uvmp_mask *faulted, const uvmp_mask *thrashing)
{
	struct uvmp_region leaves = {tree->padding, tree->leaves};

	if (size < 64u)
		grow_lanes(size, faulted, thrashing, &tree->set);
	else
		grow_segments(size, faulted, thrashing, &tree->set);
	uvmpi_mask_region_and(&tree->set, &tree->set, leaves);
}

static void build(struct tree *tree, const struct uvmp_prefetch_params *params,
		  const struct uvmp_prefetch_facts *facts, struct uvmp_region max)
{
	struct uvmp_region big = uvmp_block_big_pages(&facts->block, max);
	uint32_t size = uvmp_region_is_empty(big) ? UVMP_MASK_BITS : facts->block.big_pages;
	uvmp_mask faulted, thrashing;

	tree->max = max;
	tree->padding = big.first > max.first ? size - (big.first - max.first) : 0;
	tree->leaves = uvmp_region_pages(max) + tree->padding;
	tree->threshold = params->threshold;
	uvmpi_mask_region_and(&tree->candidates, facts->faulted, facts->faulted_region);
	by_leaf(tree, &tree->candidates, &tree->candidates);
	by_leaf(tree, facts->faulted, &faulted);
	by_leaf(tree, uvmpi_mask_or_none(facts->thrashing), &thrashing);
	by_leaf(tree, uvmpi_mask_or_none(facts->resident), &tree->set);
	uvmpi_mask_or(&tree->set, &tree->set, &faulted);
	grow(tree, size, &faulted, &thrashing);
	uvmpi_mask_andnot(&tree->candidates, &tree->candidates, &thrashing);
}

/* Chosen leaves, and those that have their predecessor in the same node. Nodes may begin in the padding, and the
 * last one may end behind the tree. */
static void choose_leaves(const struct tree *tree, uvmp_mask *chosen, uvmp_mask *inner)
{
	uint32_t last = tree->leaves - 1u;
	struct density_low_keys low = density_low_keys(63, tree->threshold);
	struct density_keys keys = density_keys_of(last, tree->threshold);
	struct density_choice rows = {0, 0}, part;
	struct density_counts counts;
	uint64_t candidates = 0;

	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++) {
		if (w == last / 64u)
			low = density_low_keys(last % 64u, tree->threshold);
		candidates |= density_rows_of(tree->candidates.word[w]) << w;
		part = density_leaves(tree->set.word[w], tree->candidates.word[w], &low);
		chosen->word[w] = part.chosen;
		inner->word[w] = part.inner;
	}
	counts.pair[0] = density_pairs(tree->set.word);
	counts.pair[1] = density_pairs(tree->set.word + 4);
	density_sum(&counts);
	if (candidates != 0)
		rows = density_rows(&counts, &keys, candidates, rows);
	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++) {
		uint64_t row = rows.chosen >> w & ROWS;

		chosen->word[w] |= row * 0xffffu;
		inner->word[w] |= row * 0xfffeu | (rows.inner >> w & ROWS);
	}
}

/* [driver: padding-clamp]: the driver forgets that the padding comes before max.first and starts a node that
 * begins in the padding `padding` pages into the block. Returns the pages that the node loses. */
static struct uvmp_region lost_pages(const struct tree *tree, const uvmp_mask *chosen, const uvmp_mask *inner)
{
	struct uvmp_region lost = {tree->max.first, 0};
	uint32_t first = tree->padding;

	if (!uvmp_mask_test(chosen, first))
		return lost;
	while (uvmp_mask_test(inner, first))
		first--;
	if (first + tree->max.first < tree->padding) {
		lost.end = uvmpi_mask_next_clear(inner, tree->padding + 1u) + tree->max.first - tree->padding;
		lost.end = minimum(lost.end, tree->padding);
	}
	return lost;
}

/* [driver: density-region, density-clamp] */
static void choose_nodes(const struct tree *tree, bool quirks, struct choice choice)
{
	struct uvmp_region max = tree->max, lost;
	uvmp_mask chosen, inner;
	uint64_t carry = 0;

	choose_leaves(tree, &chosen, &inner);
	lost = lost_pages(tree, &chosen, &inner);
	by_page(tree, &chosen);
	by_page(tree, &inner);
	uvmpi_mask_region_and(&chosen, &chosen, max);
	max.first++;
	uvmpi_mask_region_and(&inner, &inner, max);
	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++) {
		uint64_t pages = chosen.word[w];

		choice.pages->word[w] = pages;
		choice.subtrees->word[w] = (pages | pages << 1 | carry) & ~inner.word[w];
		carry = pages >> 63;
	}
	if (quirks)
		uvmpi_mask_region_clear(choice.pages, lost);
}

/* -- the decision [driver: density] -- */

/* Are all faulted pages in the faulted region? */
static bool is_inside(const struct uvmp_prefetch_facts *facts, uint64_t rows)
{
	const uint64_t *word = facts->faulted->word;
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t words = density_words_of(rows);

	(void)uvmpi_region_words(facts->faulted_region, &w); /* never empty */
	return (words >> w.first << w.first) == words && words >> w.last <= 1u &&
	       ((word[w.first] & ~w.low) | (word[w.last] & ~w.high)) == 0;
}

/* [driver: threshold-zero]: nothing is denser than 100 %. */
static bool has_nodes(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts)
{
	return params->threshold < 100u && uvmpi_prefetch_is_allowed(facts);
}

static bool is_first_touch_at_home(const struct uvmp_prefetch_facts *facts)
{
	return facts->is_first_touch && facts->has_preferred && facts->to == facts->preferred;
}

/* Is the tree a whole block of whole big pages of a row each, and does nothing limit what is chosen? */
static bool is_regular(const struct uvmp_prefetch_facts *facts)
{
	return facts->block.pages == UVMP_MASK_BITS && facts->block.big_pages == 16u &&
	       facts->thrashing == NULL && facts->cpu_read_mapped == NULL && facts->range_groups == 0 &&
	       !facts->is_hmm && !is_first_touch_at_home(facts);
}

/* All pages that are wanted, before range groups and min_faults have their say. */
UVMPI_NOINLINE static void choose(const struct uvmp_prefetch_params *params,
				  const struct uvmp_prefetch_facts *facts, struct choice choice)
{
	struct uvmp_region max = {0, facts->block.pages};
	uvmp_mask *pages = choice.pages, mapped;
	struct tree tree;

	if (facts->is_hmm)
		max = facts->max_region;
	uvmpi_mask_zero(pages);
	uvmpi_mask_zero(choice.subtrees);
	if (is_first_touch_at_home(facts)) {
		uvmpi_mask_region_set(pages, max);
	} else if (has_nodes(params, facts)) {
		build(&tree, params, facts, max);
		choose_nodes(&tree, params->quirks, choice);
	}
	uvmpi_mask_andnot(pages, pages, facts->faulted);
	/* Pages that the CPU reads at home already would only be mapped again. */
	if (facts->to == UVMP_CPU && !facts->is_hmm && facts->resident != NULL &&
	    facts->cpu_read_mapped != NULL) {
		uvmpi_mask_and(&mapped, facts->resident, facts->cpu_read_mapped);
		uvmpi_mask_andnot(pages, pages, &mapped);
	}
	if (facts->thrashing != NULL)
		uvmpi_mask_andnot(pages, pages, facts->thrashing);
}

/* Counts the faults; returns whether they are enough to prefetch. [driver: fault-count-wraps]: the driver's counter has
 * 16 bits and wraps. */
static bool is_enough(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		      uint32_t faults, struct uvmp_prefetch_state *state)
{
	if (state->last_proc == facts->to)
		faults += state->faults;
	state->last_proc = facts->to;
	state->faults = !params->quirks && faults > FAULTS_MAX ? FAULTS_MAX : (uint16_t)faults;
	return state->faults >= params->min_faults;
}

bool uvmpi_prefetch_repeats(const struct uvmp_prefetch_params *params, uint32_t to, uint32_t faults,
			    struct uvmp_prefetch_state *state)
{
	const struct uvmp_prefetch_facts facts = {.to = to};
	struct uvmp_prefetch_state again = *state;

	if (is_enough(params, &facts, faults, &again) != (state->faults >= params->min_faults))
		return false;
	*state = again;
	return true;
}

enum uvmp_status uvmpi_prefetch_density_decide(const struct uvmp_prefetch_params *params,
					       const struct uvmp_prefetch_facts *facts,
					       struct uvmp_prefetch_state *state,
					       struct uvmp_prefetch_hint *hint)
{
	struct faulted faulted = faulted_of(facts->faulted);
	bool are_all = is_inside(facts, faulted.rows), is_any;
	uint32_t to = UVMP_PROC_NONE;
	uvmp_mask pages;

	if (!are_all)
		faulted.pages = uvmpi_mask_region_weight(facts->faulted, facts->faulted_region);
	if (is_enough(params, facts, faulted.pages, state))
		to = facts->to;
	if (are_all && is_regular(facts) && has_nodes(params, facts)) {
		is_any = choose_regular(faulted.rows, facts, params->threshold,
					(struct choice){&hint->pages, &hint->subtrees});
		uvmpi_prefetch_hint_to(hint, is_any ? to : UVMP_PROC_NONE);
		return UVMP_OK;
	}
	choose(params, facts, (struct choice){&pages, &hint->subtrees});
	if (to != UVMP_PROC_NONE)
		uvmpi_prefetch_drop_groups(facts, &pages);
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
	const uvmp_mask none = {{0}};
	uvmp_mask chosen = none, subtrees;
	struct tree tree;

	if (faulted == NULL || pages == NULL)
		return UVMP_ERR_ARGUMENT;
	if (threshold > 100 || window.end < window.first)
		return UVMP_ERR_RANGE;
	window.end = minimum(window.end, UVMP_MASK_BITS);
	if (is_preferred_node_first_touch) {
		uvmpi_mask_region_set(&chosen, window);
	} else if (threshold < 100u && window.first < window.end) {
		tree = (struct tree){window, 0, window.end - window.first, threshold, none, none};
		by_leaf(&tree, uvmpi_mask_or_none(resident), &tree.set);
		by_leaf(&tree, faulted, &tree.candidates);
		uvmpi_mask_or(&tree.set, &tree.set, &tree.candidates);
		choose_nodes(&tree, false, (struct choice){&chosen, &subtrees});
	}
	uvmpi_mask_andnot(pages, &chosen, faulted);
	return UVMP_OK;
}
