/* The driver's density prefetcher, and its variant for system-allocated memory.
 *
 * Around each faulted page, the largest node of a binary tree is chosen of which more than `threshold` percent are set, and
 * the pages of the node are fetched. prefetch_density_tree.c states the rule, and chooses in blocks of any layout.
 *
 * In a block of whole big pages, the smallest chosen nodes are big pages, and only the levels above them are judged: this
 * file does that. */
#include "density_internal.h"
#include "density_tree_internal.h"

#define FAULTS_MAX 65535u

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
				 uint32_t threshold, struct density_nodes choice)
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
					   struct density_nodes choice)
{
	return choose_regular(faulted, facts, UVMP_MASK_BITS - 1u, threshold, choice);
}

UVMPI_NOINLINE_32 static bool choose_part(struct faulted faulted, const struct uvmp_prefetch_facts *facts, uint32_t threshold,
					  struct density_nodes choice)
{
	return choose_regular(faulted, facts, facts->block.pages - 1u, threshold, choice);
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
		   const uvmp_mask *candidates, struct density_nodes choice)
{
	uvmp_mask *pages = choice.pages, mapped;

	if (has_nodes(params, facts) && !is_first_touch_at_home(facts)) {
		uvmpi_density_tree_choose(params, facts, candidates, choice);
	} else {
		uvmpi_mask_zero(pages);
		uvmpi_mask_zero(choice.subtrees);
		if (is_first_touch_at_home(facts))
			uvmpi_mask_region_set(pages, density_tree_pages(facts));
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
	choose(params, facts, candidates, (struct density_nodes){&pages, &hint->subtrees});
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
	(void)choose_part(faulted, facts, params->threshold, (struct density_nodes){&hint->pages, &hint->subtrees});
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
	is_any = choose_whole(faulted, facts, params->threshold, (struct density_nodes){&hint->pages, &hint->subtrees});
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
	.summary = "the largest subtree of the VABlock with more than threshold percent resident or faulted",
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

	if (faulted == NULL || pages == NULL)
		return UVMP_ERR_ARGUMENT;
	if (threshold > 100 || window.end < window.first)
		return UVMP_ERR_RANGE;
	window.end = minimum(window.end, UVMP_MASK_BITS);
	if (is_preferred_node_first_touch) {
		uvmpi_mask_region_set(&chosen, window);
	} else if (threshold < 100u && window.first < window.end) {
		uvmpi_density_tree_choose_window(window, threshold, resident, faulted,
						 (struct density_nodes){&chosen, &subtrees});
	}
	uvmpi_mask_andnot(pages, &chosen, faulted);
	return UVMP_OK;
}
