/* The tree of the density prefetcher over any pages [driver: density-tree].
 *
 * The leaves of a binary tree are the pages of the block. A page is "set" if it is resident or faulted; a
 * faulted big page counts as wholly set. For every faulted page, the largest node above it is chosen of which
 * more than `threshold` percent are set, and the pages of the node are fetched. The tree starts at a big-page
 * boundary. So a block that starts elsewhere has padding leaves in front, which are never set.
 *
 * No tree is stored: density_internal.h judges all nodes of a level at once. Rows that are not wholly set have smaller nodes,
 * which are judged too. */
#include "../base/geometry_internal.h"
#include "density_internal.h"
#include "density_tree_internal.h"

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
static void choose_small(const struct tree *tree, struct density_choice rows, struct density_nodes leaves)
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
static void choose_leaves(const struct tree *tree, struct density_nodes leaves)
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
static struct uvmp_region lost_pages(const struct tree *tree, struct density_nodes leaves)
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
UVMPI_NOINLINE_32 static void choose_nodes(const struct tree *tree, bool quirks, struct density_nodes choice)
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

void uvmpi_density_tree_choose(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       const uvmp_mask *candidates, struct density_nodes choice)
{
	struct buffers buffers;
	struct tree tree;

	tree.max = density_tree_pages(facts);
	tree.is_part = facts->is_hmm;
	tree.threshold = params->threshold;
	build(&tree, facts, candidates, &buffers);
	choose_nodes(&tree, params->quirks, choice);
}

void uvmpi_density_tree_choose_window(struct uvmp_region window, uint32_t threshold, const uvmp_mask *resident,
				      const uvmp_mask *faulted, struct density_nodes choice)
{
	struct buffers buffers;
	struct tree tree = {
		.max = window, .is_part = true, .last = window.end - 1u - window.first, .threshold = threshold};

	tree.set = tree.candidates = by_leaf(&tree, faulted, &buffers.faulted);
	tree.resident = by_leaf(&tree, resident, &buffers.resident);
	tree.thrashing = by_leaf(&tree, NULL, NULL);
	tree.rows = tree.partly = rows_of(tree.candidates);
	choose_nodes(&tree, false, choice);
}
