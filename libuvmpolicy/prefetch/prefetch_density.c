/* The driver's density prefetcher, and its variant for system-allocated memory.
 *
 * The leaves of a binary tree are the pages of the block. A page is "set" if it is resident or faulted; a
 * faulted big page counts as wholly set. For every faulted page, the largest node above it is chosen of which
 * more than `threshold` percent are set, and the pages of the node are fetched. The tree starts at a big-page
 * boundary. So a block that starts elsewhere has padding leaves in front, which are never set.
 *
 * No tree is stored: density_internal.h judges all nodes of a level at once. In a block of whole big
 * pages, the smallest chosen nodes are big pages, and only the levels above them are judged. */
#include "../base/geometry_internal.h"
#include "density_internal.h"
#include "prefetch_internal.h"

#define FAULTS_MAX 65535u
#define ROW_LEAVES 16u

/* What is chosen: `pages`, and where the nodes begin and end (see uvmp_prefetch_subtree). */
struct choice {
	uvmp_mask *pages, *subtrees;
};

/* -- a block of whole big pages, all of whose faulted pages are candidates and set their big pages -- */

/* The faulted pages of a block, and their rows. */
struct faulted {
	uint64_t rows;
	uint32_t pages;
};

/* All faults are in the region. Bits are counted in nibbles: a row is faulted if any of its four nibbles is not 0. Up to
 * three words fit a nibble. */
static struct faulted faulted_of(const uvmp_mask *mask, struct uvmp_region region)
{
	uint64_t rows = 0, bytes = 0, sum = 0, nibbles;
	uint32_t first = region.first / 64u;

	if ((region.end - 1u) / 64u == first)
		return (struct faulted){density_rows_of(mask->word[first]) << first, popcount(mask->word[first])};
	_Pragma("GCC unroll 8") for (uint32_t w = UVMP_MASK_WORDS; w-- > 0;)
	{
		nibbles = uvmpi_nibble_weights(mask->word[w]);
		sum += nibbles;
		rows = rows * 2u + ((nibbles + 0x7fff * ROWS) >> 15 & ROWS);
		if (w % 3u == 0) {
			bytes += uvmpi_byte_weights(sum);
			sum = 0;
		}
	}
	return (struct faulted){rows, uvmpi_byte_sum(bytes)};
}

/* Each row with a fault is wholly set, so each is dense; `faulted`: the leaves of these rows. `last`: the last leaf. */
UVMPI_INLINE struct density_choice
choose_rows(uint64_t rows, uint32_t faulted, const uvmp_mask *resident, uint32_t last, uint32_t threshold)
{
	struct density_keys keys = last == UVMP_MASK_BITS - 1u ? density_keys(threshold) : density_keys_of(last, threshold);
	struct density_choice choice = {rows, 0};
	struct density_counts counts;
	uint64_t set[UVMP_MASK_WORDS], pairs;

	if (faulted >= keys.all)
		return density_root;
	if (uvmpi_mask_is_empty(resident)) {
		pairs = density_dense_pairs_of_rows(rows, threshold);
		if (pairs == 0 && last % 32u == 31u)
			return choice;
		density_pairs_of_rows(rows, counts.pair);
		if (last % 32u != 31u) /* the last pair has one row */
			pairs = density_dense_pairs(&counts, &keys);
	} else {
		UVMPI_EACH_WORD (w)
			set[w] = resident->word[w] | density_leaves_of(rows >> w & ROWS);
		counts.pair[0] = density_pairs(set);
		counts.pair[1] = density_pairs(set + 4);
		pairs = density_dense_pairs(&counts, &keys);
	}
	density_sum(&counts);
	return density_rows(&counts, &keys, pairs, rows, choice);
}

/* Returns whether any page is chosen. Masks of the facts may be choice.pages: each word is read before it is written. The caller
 * gives the last leaf as a constant if the block is whole. */
UVMPI_INLINE bool choose_regular(struct faulted faulted, const struct uvmp_prefetch_facts *facts, uint32_t last,
				 uint32_t threshold, struct choice choice)
{
	uint32_t leaves = density_row_count(faulted.rows) * ROW_LEAVES;
	struct density_choice rows =
		choose_rows(faulted.rows, leaves, uvmpi_mask_or_none(facts->resident), last, threshold);
	uint64_t begin;

	if (last != UVMP_MASK_BITS - 1u) {
		rows.chosen &= density_rows_to(last);
		rows.inner &= density_rows_to(last);
	}
	begin = density_begin(rows);
	UVMPI_EACH_WORD (w) {
		/* all rows with a fault are chosen */
		choice.pages->word[w] = density_leaves_of(rows.chosen >> w & ROWS) ^ facts->faulted->word[w];
		choice.subtrees->word[w] = begin >> w & ROWS;
	}
	return rows.chosen != faulted.rows || faulted.pages != leaves;
}

UVMPI_NOINLINE_32 static bool choose_whole(struct faulted faulted, const struct uvmp_prefetch_facts *facts, uint32_t threshold,
					   struct choice choice)
{
	return choose_regular(faulted, facts, UVMP_MASK_BITS - 1u, threshold, choice);
}

UVMPI_NOINLINE_32 static bool choose_part(struct faulted faulted, const struct uvmp_prefetch_facts *facts, uint32_t threshold,
					  struct choice choice)
{
	return choose_regular(faulted, facts, facts->block.pages - 1u, threshold, choice);
}

/* -- any tree [driver: density-tree] -- */

/* All sets are by leaf. Set leaves: `set`, `resident`, and all leaves of the rows `grown` that are in the tree. */
struct tree {
	struct uvmp_region max; /* the pages of the block that the tree is over */
	bool is_part;		/* `max` is a part of the block; else all pages of all masks are in `max` */
	uint32_t padding;	/* leaves in front of page max.first */
	uint32_t last;		/* leaf of page max.end - 1 */
	uint32_t threshold;	/* percent, below 100 */
	const uvmp_mask *set, *resident;
	const uvmp_mask *candidates, *thrashing; /* nodes are chosen around candidates that do not thrash; these are set */
	uint64_t grown;
	bool is_only_grown; /* no other leaf is set */
	uint64_t rows;	 /* rows with a candidate that does not thrash */
	uint64_t partly; /* of these, rows that are not wholly set: smaller nodes are judged, too */
};

/* Are leaves pages? */
static bool is_by_page(const struct tree *tree)
{
	return !tree->is_part && tree->padding == 0;
}

/* `pages` in `max`, by leaf: the mask itself if leaves are pages, else *leaves. */
static const uvmp_mask *by_leaf(const struct tree *tree, const uvmp_mask *pages, uvmp_mask *leaves)
{
	if (pages == NULL || is_by_page(tree))
		return uvmpi_mask_or_none(pages);
	if (tree->is_part) {
		uvmpi_mask_region_and(leaves, pages, tree->max);
		pages = leaves;
	}
	if (tree->max.first <= tree->padding)
		uvmpi_mask_shift_up(leaves, pages, tree->padding - tree->max.first);
	else
		uvmp_mask_shift_down(leaves, pages, tree->max.first - tree->padding);
	return leaves;
}

/* The reverse, in place. */
static void by_page(const struct tree *tree, uvmp_mask *mask)
{
	if (is_by_page(tree))
		return;
	if (tree->max.first <= tree->padding)
		uvmpi_mask_shift_down(mask, mask, tree->padding - tree->max.first);
	else
		uvmp_mask_shift_up(mask, mask, tree->max.first - tree->padding);
}

/* Rows of which any leaf is in the set. */
static uint64_t rows_of(const uvmp_mask *leaves)
{
	uint64_t rows = 0;

	UVMPI_EACH_WORD(w)
		if (leaves->word[w] != 0)
			rows |= density_rows_of(leaves->word[w]) << w;
	return rows;
}

/* The leaves of word `w` that are set. */
static inline uint64_t set_leaves(const struct tree *tree, uint32_t w)
{
	return tree->set->word[w] | tree->resident->word[w] | density_leaves_of(tree->grown >> w & ROWS);
}

/* The leaves of the word of the last leaf that are in the tree. */
static uint64_t last_leaves(const struct tree *tree)
{
	return UVMPI_ALL_ONES >> (63u - tree->last % 64u);
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
 * the tree. Returns the rows that are not wholly set. */
static uint64_t grow(const struct tree *tree, uint32_t size, const uvmp_mask *faulted, uvmp_mask *set)
{
	struct uvmp_region leaves = {tree->padding, tree->last + 1u};
	uvmp_mask missing;

	if (size < 64u)
		grow_lanes(size, faulted, tree->thrashing, set);
	else
		grow_segments(size, faulted, tree->thrashing, set);
	uvmpi_mask_region_and(set, set, leaves);
	UVMPI_EACH_WORD(w)
		missing.word[w] = ~(set->word[w] | tree->resident->word[w]);
	return rows_of(&missing);
}

/* The masks of a tree. */
struct buffers {
	uvmp_mask faulted, grown, resident, candidates, thrashing;
};

/* Sets all that `tree` does not have yet: max, is_part and threshold are set. `candidates`: the faulted pages in the
 * faulted region. */
UVMPI_NOINLINE_32 static void build(struct tree *tree, const struct uvmp_prefetch_facts *facts, const uvmp_mask *candidates,
		  struct buffers *buffers)
{
	struct uvmp_region big = uvmpi_block_big_pages(&facts->block, tree->max);
	uint32_t size = uvmp_region_is_empty(big) ? UVMP_MASK_BITS : facts->block.big_pages;
	bool has_resident = facts->resident != NULL && !uvmpi_mask_is_empty(facts->resident);
	uint64_t rows, thrashing = 0;

	tree->padding = big.first > tree->max.first ? size - (big.first - tree->max.first) : 0;
	tree->last = tree->max.end - 1u - tree->max.first + tree->padding;
	tree->set = tree->candidates = by_leaf(tree, facts->faulted, &buffers->faulted);
	tree->resident = by_leaf(tree, has_resident ? facts->resident : NULL, &buffers->resident);
	tree->thrashing = by_leaf(tree, facts->thrashing, &buffers->thrashing);
	tree->rows = rows = rows_of(tree->set);
	if (facts->thrashing != NULL)
		thrashing = rows_of(tree->thrashing);
	if (candidates != facts->faulted || (rows & thrashing) != 0) {
		uvmpi_mask_andnot(&buffers->candidates, by_leaf(tree, candidates, &buffers->candidates), tree->thrashing);
		tree->candidates = &buffers->candidates;
		tree->rows = rows_of(tree->candidates);
	}
	tree->grown = rows & ~thrashing;
	tree->is_only_grown = tree->grown == rows && !has_resident;
	tree->partly = tree->rows & (~tree->grown | (tree->padding != 0));
	if (size != ROW_LEAVES) {
		buffers->grown = *tree->set;
		tree->grown = 0;
		tree->is_only_grown = false;
		tree->partly = tree->rows & grow(tree, size, tree->set, &buffers->grown);
		tree->set = &buffers->grown;
	}
}

/* Leaves of grown rows in the nodes of level 5. */
static void count_grown(const struct tree *tree, struct density_counts *counts)
{
	uint32_t last = tree->last, row = last / 16u, node = last / 32u;

	density_pairs_of_rows(tree->grown, counts->pair);
	counts->pair[0] -= (tree->grown & 1u) * tree->padding;
	counts->pair[node / 8u] -= (tree->grown >> (row % 4u * 16u + row / 4u) & 1u) * (15u - last % 16u)
			   << (node % 2u * 32u + node / 2u % 4u * 8u);
}

/* Set leaves of the nodes of level 5. */
static void count_set(const struct tree *tree, struct density_counts *counts)
{
	uint64_t set[UVMP_MASK_WORDS];

	if (tree->is_only_grown) {
		count_grown(tree, counts);
		return;
	}
	UVMPI_EACH_WORD(w)
		set[w] = set_leaves(tree, w);
	if (tree->grown != 0) {
		set[0] &= UVMPI_ALL_ONES << tree->padding;
		set[tree->last / 64u] &= last_leaves(tree);
	}
	counts->pair[0] = density_pairs(set);
	counts->pair[1] = density_pairs(set + 4);
}

/* Levels 5 to 9, and the candidates' rows that are wholly set. Nodes may begin in the padding, and the last one may
 * end behind the tree. */
UVMPI_NOINLINE_32 static struct density_choice choose_large(const struct tree *tree)
{
	struct density_keys keys = tree->last == UVMP_MASK_BITS - 1u ? density_keys(tree->threshold)
								      : density_keys_of(tree->last, tree->threshold);
	struct density_choice rows = {tree->rows & ~tree->partly, 0};
	struct density_counts counts;

	count_set(tree, &counts);
	density_sum(&counts);
	return density_rows(&counts, &keys, density_dense_pairs(&counts, &keys), tree->rows, rows);
}

/* Adds levels 0 to 4 of the words with a candidate in a row that is not wholly set. */
static void choose_small(const struct tree *tree, struct density_choice rows, struct choice leaves)
{
	uint32_t words = (uint32_t)density_words_of(tree->partly);
	struct density_low_keys keys = density_low_keys(63, tree->threshold);
	uint64_t *chosen = leaves.pages->word, *begin = leaves.subtrees->word, set, inner, before = 0;
	struct density_choice small;

	for (uint32_t w = 0; words != 0; before = chosen[w] >> 63, w++, words >>= 1) {
		if ((words & 1u) == 0)
			continue;
		set = set_leaves(tree, w);
		if (w == tree->padding / 64u)
			set &= UVMPI_ALL_ONES << tree->padding % 64u;
		if (w == tree->last / 64u) {
			set &= last_leaves(tree);
			keys = density_low_keys(tree->last % 64u, tree->threshold);
		}
		small = density_leaves(set, tree->candidates->word[w], &keys);
		inner = small.inner | (chosen[w] & ~ROWS) | (rows.inner >> w & ROWS);
		chosen[w] |= small.chosen;
		begin[w] = (chosen[w] | chosen[w] << 1 | before) & ~inner;
		if (w < tree->last / 64u)
			begin[w + 1u] |= chosen[w] >> 63 & ~(rows.inner >> (w + 1u));
	}
}

/* Chosen leaves as pages; the first leaf of each node, and the leaf behind its last one, as subtrees. */
static void choose_leaves(const struct tree *tree, struct choice leaves)
{
	struct density_choice rows = {0, 0};
	uint64_t begin, inside = density_rows_to(tree->last);

	if (tree->rows != 0)
		rows = choose_large(tree);
	rows.chosen &= inside;
	begin = density_begin(rows) & inside;
	UVMPI_EACH_WORD(w) {
		leaves.pages->word[w] = density_leaves_of(rows.chosen >> w & ROWS);
		leaves.subtrees->word[w] = begin >> w & ROWS;
	}
	if (tree->partly != 0)
		choose_small(tree, rows, leaves);
}

/* [driver: padding-clamp]: the driver forgets that the padding comes before max.first and starts a node that
 * begins in the padding `padding` pages into the block. Returns the pages that the node loses. */
static struct uvmp_region lost_pages(const struct tree *tree, struct choice leaves)
{
	struct uvmp_region lost = {tree->max.first, 0};

	if (uvmp_mask_test(leaves.pages, tree->padding) &&
	    uvmpi_mask_last_set(leaves.subtrees, tree->padding) + tree->max.first < tree->padding) {
		lost.end = uvmpi_mask_next_set(leaves.subtrees, tree->padding + 1u) + tree->max.first - tree->padding;
		lost.end = minimum(lost.end, tree->padding);
	}
	return lost;
}

/* [driver: density-region, density-clamp] */
UVMPI_NOINLINE_32 static void choose_nodes(const struct tree *tree, bool quirks, struct choice choice)
{
	struct uvmp_region lost = {0, 0}, padding = {0, tree->padding};
	uvmp_mask *pages = choice.pages, *subtrees = choice.subtrees;

	choose_leaves(tree, choice);
	pages->word[tree->last / 64u] &= last_leaves(tree);
	subtrees->word[tree->last / 64u] &= last_leaves(tree);
	if (tree->padding != 0) {
		if (quirks)
			lost = lost_pages(tree, choice);
		uvmpi_mask_region_clear(pages, padding);
		uvmpi_mask_region_clear(subtrees, padding);
		if (uvmp_mask_test(pages, tree->padding))
			uvmp_mask_set(subtrees, tree->padding);
	}
	by_page(tree, pages);
	by_page(tree, subtrees);
	if (uvmp_mask_test(pages, tree->max.end - 1u))
		uvmp_mask_set(subtrees, tree->max.end);
	uvmpi_mask_region_clear(pages, lost);
}

/* -- the decision [driver: density] -- */

/* [driver: threshold-zero]: nothing is denser than 100 %. */
static bool has_nodes(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts)
{
	return params->threshold < 100u && uvmpi_prefetch_is_allowed(facts);
}

static bool is_first_touch_at_home(const struct uvmp_prefetch_facts *facts)
{
	return facts->is_first_touch && facts->has_preferred && facts->to == facts->preferred;
}

/* Is the tree a block of whole big pages of a row each, and does nothing but thrashing limit what is chosen? */
static bool is_regular(const struct uvmp_prefetch_facts *facts)
{
	return (facts->block.pages % ROW_LEAVES | facts->block.offset) == 0 && facts->block.big_pages == ROW_LEAVES &&
	       facts->cpu_read_mapped == NULL && facts->range_groups == 0 &&
	       !facts->is_hmm && !is_first_touch_at_home(facts);
}

/* All pages that are wanted, before range groups and min_faults restrict them. `candidates`: the faulted pages in the
 * faulted region. */
UVMPI_NOINLINE_32 static void choose(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		   const uvmp_mask *candidates, struct choice choice)
{
	struct uvmp_region max = {0, facts->block.pages};
	uvmp_mask *pages = choice.pages, mapped;
	struct buffers buffers;
	struct tree tree;

	if (facts->is_hmm)
		max = facts->max_region;
	if (has_nodes(params, facts) && !is_first_touch_at_home(facts)) {
		tree.max = max;
		tree.is_part = facts->is_hmm;
		tree.threshold = params->threshold;
		build(&tree, facts, candidates, &buffers);
		choose_nodes(&tree, params->quirks, choice);
	} else {
		uvmpi_mask_zero(pages);
		uvmpi_mask_zero(choice.subtrees);
		if (is_first_touch_at_home(facts))
			uvmpi_mask_region_set(pages, max);
	}
	/* Pages that the CPU reads at home already would only be mapped again. */
	if (facts->to == UVMP_CPU && !facts->is_hmm && facts->resident != NULL &&
	    facts->cpu_read_mapped != NULL) {
		uvmpi_mask_and(&mapped, facts->resident, facts->cpu_read_mapped);
		uvmpi_mask_andnot(pages, pages, &mapped);
	}
	if (facts->thrashing != NULL)
		UVMPI_EACH_WORD(w)
			pages->word[w] &= ~(facts->faulted->word[w] | facts->thrashing->word[w]);
	else
		uvmpi_mask_andnot(pages, pages, facts->faulted);
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

/* Blocks of any shape, with anything that limits what is chosen. */
static UVMPI_NOINLINE enum uvmp_status decide_any(const struct uvmp_prefetch_params *params,
						  const struct uvmp_prefetch_facts *facts,
						  struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	const uvmp_mask *candidates = facts->faulted;
	uint32_t to = UVMP_PROC_NONE;
	uvmp_mask inside, pages;

	if (!uvmpi_mask_is_inside(facts->faulted, facts->faulted_region)) {
		uvmpi_mask_region_and(&inside, facts->faulted, facts->faulted_region);
		candidates = &inside;
	}
	if (is_enough(params, facts, uvmpi_mask_weight(candidates), state))
		to = facts->to;
	choose(params, facts, candidates, (struct choice){&pages, &hint->subtrees});
	if (to != UVMP_PROC_NONE)
		uvmpi_prefetch_drop_groups(facts, &pages);
	uvmpi_prefetch_hint_set_pages(hint, to, &pages);
	return UVMP_OK;
}

/* Does a page thrash in the row of a faulted page? */
static bool do_rows_thrash(const uvmp_mask *thrashing, const uvmp_mask *faulted)
{
	uint64_t any = 0;

	UVMPI_EACH_WORD(w)
		if (thrashing->word[w] != 0)
			any |= density_leaves_of(density_rows_of(thrashing->word[w])) & faulted->word[w];
	return any != 0;
}

/* A regular tree of less than 512 pages, or with thrashing pages. If none of these is in a row with a fault, they only are not
 * fetched. */
static UVMPI_NOINLINE enum uvmp_status decide_part(const struct uvmp_prefetch_params *params,
						   const struct uvmp_prefetch_facts *facts,
						   struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	uvmp_mask thrashing = *uvmpi_mask_or_none(facts->thrashing); /* may be hint->pages */
	uint32_t to = UVMP_PROC_NONE;
	struct faulted faulted;

	if (do_rows_thrash(&thrashing, facts->faulted))
		return decide_any(params, facts, state, hint);
	faulted = faulted_of(facts->faulted, facts->faulted_region);
	if (is_enough(params, facts, faulted.pages, state))
		to = facts->to;
	(void)choose_part(faulted, facts, params->threshold, (struct choice){&hint->pages, &hint->subtrees});
	uvmpi_mask_andnot(&hint->pages, &hint->pages, &thrashing);
	uvmpi_prefetch_hint_to(hint, uvmpi_mask_is_empty(&hint->pages) ? UVMP_PROC_NONE : to);
	return UVMP_OK;
}

enum uvmp_status uvmpi_prefetch_density_decide(const struct uvmp_prefetch_params *params,
					       const struct uvmp_prefetch_facts *facts,
					       struct uvmp_prefetch_state *state,
					       struct uvmp_prefetch_hint *hint)
{
	uint32_t to = UVMP_PROC_NONE;
	struct faulted faulted;
	bool is_any;

	if (!is_regular(facts) || !has_nodes(params, facts) ||
	    !uvmpi_mask_is_inside(facts->faulted, facts->faulted_region))
		return decide_any(params, facts, state, hint);
	if (facts->block.pages != UVMP_MASK_BITS || facts->thrashing != NULL)
		return decide_part(params, facts, state, hint);
	faulted = faulted_of(facts->faulted, facts->faulted_region);
	if (is_enough(params, facts, faulted.pages, state))
		to = facts->to;
	is_any = choose_whole(faulted, facts, params->threshold, (struct choice){&hint->pages, &hint->subtrees});
	uvmpi_prefetch_hint_to(hint, is_any ? to : UVMP_PROC_NONE);
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
	uvmp_mask chosen = {{0}}, subtrees;
	struct buffers buffers;
	struct tree tree;

	if (faulted == NULL || pages == NULL)
		return UVMP_ERR_ARGUMENT;
	if (threshold > 100 || window.end < window.first)
		return UVMP_ERR_RANGE;
	window.end = minimum(window.end, UVMP_MASK_BITS);
	if (is_preferred_node_first_touch) {
		uvmpi_mask_region_set(&chosen, window);
	} else if (threshold < 100u && window.first < window.end) {
		tree = (struct tree){
			.max = window, .is_part = true, .last = window.end - 1u - window.first, .threshold = threshold};
		tree.set = tree.candidates = by_leaf(&tree, faulted, &buffers.faulted);
		tree.resident = by_leaf(&tree, resident, &buffers.resident);
		tree.thrashing = by_leaf(&tree, NULL, NULL);
		tree.rows = tree.partly = rows_of(tree.candidates);
		choose_nodes(&tree, false, (struct choice){&chosen, &subtrees});
	}
	uvmpi_mask_andnot(pages, &chosen, faulted);
	return UVMP_OK;
}
