/* Access-aware trees (Forest: Lin, Feng, Cox, Jeon, "Forest: Access-aware GPU UVM Management", ISCA 2025).
 *
 * Published, as far as summaries of the paper tell, which agree (the paper was not available):
 *
 *  - A tree-based neighbourhood prefetcher whose tree belongs to the object (allocation). A fault fetches its leaf; a node
 *    of which more than half is there fetches the rest. Base: trees of 2 MiB with leaves of 64 KiB.
 *  - The GPU writes an object's count of accesses to the register of the page that is accessed: each page has the time of
 *    its last access. After 10,000 accesses to the object the driver classifies the object, and then the GPU ceases until
 *    the kernel ends. After 10 attempts without a class the base tree stays.
 *  - Linear: R^2 of time against address is above 0.8. Else wide if the accessed pages span 60 percent of the object, and
 *    then dense if they are 40 percent of its pages. Leaf and tree: linear 256 KiB and 4 MiB, wide and dense 64 KiB and
 *    512 KiB, wide and sparse 16 KiB and 512 KiB; the rest has the base tree.
 *
 * Assumed, because the summaries do not say:
 *
 *  - "More than half" counts resident and arriving pages, in a node that the fault lies in. (One summary says "at least
 *    half"; in its picture the third of four leaves brings the fourth.)
 *  - The object is the range. Each range is observed, not only the ten largest of a kernel.
 *  - The last page minus the first, plus 1, is the span. Equal to a limit is wide, and dense; R^2 must exceed its limit.
 *  - Until its first class in a kernel the range keeps the class of the kernel before.
 *  - A tree of 4 MiB is two neighbouring VABlocks of one range. If leaves grow, the next fault in the block fills the
 *    leaves of which pages are there.
 *  - For the CPU, and for pages that prefer another processor, the driver's density decides.
 *
 * Left out: eviction of the least recently used page of the least recently used object, and the speculative variant, which
 * needs a compiler. Without accesses every range keeps the base tree. */
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

_Static_assert(sizeof(struct forest_range) <= 80u && sizeof(struct forest_block) == 1032u, "docs/policies.md says so");
_Static_assert(sizeof(struct forest_block) <= UVMP_PREFETCH_STATE_MAX, "the largest state of all prefetchers");

#define BASE_LEAF_BYTES 65536u
#define BASE_TREE_BYTES 2097152u

/* -- classes -- */

static uint32_t bits_of(uint64_t value)
{
	uint32_t bits = 0;

	for (; value != 0; value /= 2u)
		bits++;
	return bits;
}

/* R^2 = c^2 / (dx dy) > percent / 100, from the covariance c and the variances. The products need 128 bits, so all are cut to
 * their upper 28 bits: the relative error of R^2 is below 2^-25. */
static bool is_correlated(uint64_t c, uint64_t dx, uint64_t dy, uint32_t percent)
{
	uint32_t a = bits_of(dx), b = bits_of(dy);

	if (dx == 0) /* of two positions the times differ, too: dy is not 0 */
		return false;
	a = a > 28u ? a - 28u : 0;
	b = b > 28u ? b - 28u : 0;
	a += (a + b) % 2u;
	c >>= (a + b) / 2u;
	return c * c * 100u > percent * (dx >> a) * (dy >> b);
}

/* Sums of at most 65,535 pages, whose positions and times are below 2^16: no product exceeds 64 bits. */
static bool is_linear(const struct forest_range *range, uint32_t percent)
{
	uint64_t n = range->pages, xy = n * range->xy, product = range->x * range->y;

	return is_correlated(xy > product ? xy - product : product - xy, n * range->xx - range->x * range->x,
			     n * range->yy - range->y * range->y, percent);
}

static enum forest_class classify(const struct uvmp_prefetch_params *params, const struct forest_range *range,
				  uint64_t range_pages)
{
	if (is_linear(range, params->forest_linear))
		return FOREST_LINEAR;
	if (range->pages == 0 || /* the arena was full */
	    (range->highest - range->lowest + 1u) * 100u < params->forest_coverage * range_pages)
		return FOREST_BASE;
	return range->pages * (uint64_t)100u < params->forest_intensity * range_pages ? FOREST_SPARSE : FOREST_DENSE;
}

/* -- accesses -- */

/* Forgets the window; the times of blocks become void. */
static void begin_window(struct forest_range *range)
{
	range->x = range->y = range->xx = range->yy = range->xy = 0;
	range->lowest = ~(uint64_t)0;
	range->highest = 0;
	range->pages = range->time = 0;
	range->window++;
}

static void end_window(const struct uvmp_prefetch_params *params, struct forest_range *range, uint64_t range_pages)
{
	enum forest_class class = classify(params, range, range_pages);

	range->rounds++;
	if (class != FOREST_BASE || range->rounds == params->forest_rounds) {
		range->class = (uint8_t)class;
		range->is_settled = true;
	} else {
		begin_window(range);
	}
}

/* The position of a page of the range, below 2^16. */
static uint64_t position(uint64_t page, uint64_t range_pages)
{
	while (range_pages > 65536u) {
		page /= 2u;
		range_pages = range_pages / 2u + range_pages % 2u;
	}
	return page;
}

/* The last access of a page moves from time `old` (0: none in this window) to `time`. */
static void move(struct forest_range *range, const struct uvmp_prefetch_touch *touch, uint64_t old, uint64_t time)
{
	uint64_t x = position(touch->range_page, touch->range_pages);

	if (old == 0) {
		range->pages++;
		range->x += x;
		range->xx += x * x;
		range->lowest = touch->range_page < range->lowest ? touch->range_page : range->lowest;
		range->highest = touch->range_page > range->highest ? touch->range_page : range->highest;
	}
	range->y += time - old;
	range->yy += time * time - old * old;
	range->xy += x * (time - old);
}

/* Another window begins. */
static void forget_times(struct forest_block *block, uint32_t window)
{
	block->window = window;
	for (uint32_t page = 0; page < UVMP_MASK_BITS; page++)
		block->time[page] = 0;
}

static void touched(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_touch *touch, void *range_state,
		    void *block_state)
{
	struct forest_range *range = (struct forest_range *)range_state;
	struct forest_block *block = (struct forest_block *)block_state;

	if (range->kernel != touch->kernels) {
		range->kernel = touch->kernels;
		range->rounds = 0;
		range->is_settled = false;
		begin_window(range);
	}
	if (range->is_settled)
		return;
	if (range->window == 0)
		begin_window(range);
	range->time++;
	if (block != NULL) {
		if (block->window != range->window)
			forget_times(block, range->window);
		move(range, touch, block->time[touch->page], range->time);
		block->time[touch->page] = (uint16_t)range->time;
	}
	if (range->time >= params->forest_window)
		end_window(params, range, touch->range_pages);
}

/* -- trees -- */

/* A tree in a block, in pages of the host. */
struct forest {
	uint32_t leaf, tree; /* pages */
	uint32_t lead;	     /* pages from the start of the VABlock's window to the block */
	uint32_t pages;	     /* of the block */
};

static uint32_t page_bytes(const struct uvmp_block *block)
{
	return ((uint32_t)(block->last - block->start) + 1u) / block->pages;
}

/* Pages of a leaf: at least one. */
static uint32_t leaf_of(const struct uvmp_block *block, uint32_t class)
{
	uint32_t bytes = page_bytes(block), leaf = bytes < BASE_LEAF_BYTES ? BASE_LEAF_BYTES / bytes : 1u;

	if (class == FOREST_LINEAR)
		return leaf * 4u;
	return class == FOREST_SPARSE && leaf >= 4u ? leaf / 4u : leaf;
}

static struct forest forest_of(const struct uvmp_block *block, uint32_t class)
{
	uint32_t bytes = page_bytes(block), window = BASE_TREE_BYTES / bytes;
	bool is_small = class == FOREST_DENSE || class == FOREST_SPARSE;

	return (struct forest){.leaf = leaf_of(block, class),
			       .tree = is_small ? window / 4u : window,
			       .lead = (uint32_t)block->start % BASE_TREE_BYTES / bytes,
			       .pages = block->pages};
}

/* The aligned node of `size` pages around a page, cut at the block. */
static struct uvmp_region node_of(const struct forest *forest, uint32_t size, uint32_t page)
{
	uint32_t before = (page + forest->lead) % size, end = page - before + size;

	return (struct uvmp_region){page > before ? page - before : 0, end < forest->pages ? end : forest->pages};
}

/* Takes each leaf with a page of `some`. */
static void take_leaves(const struct forest *forest, const uvmp_mask *some, uvmp_mask *set)
{
	for (uint32_t page = uvmpi_mask_next_set(some, 0); page < UVMP_MASK_BITS;) {
		struct uvmp_region leaf = node_of(forest, forest->leaf, page);

		uvmpi_mask_region_set(set, leaf);
		page = uvmpi_mask_next_set(some, leaf.end);
	}
}

/* Takes each node of `size` pages with a faulted page of which more than half is there. */
static void take_nodes(const struct forest *forest, uint32_t size, const uvmp_mask *faulted, uvmp_mask *set)
{
	for (uint32_t page = uvmpi_mask_next_set(faulted, 0); page < UVMP_MASK_BITS;) {
		struct uvmp_region node = node_of(forest, size, page);

		if (2u * uvmpi_mask_region_weight(set, node) > node.end - node.first)
			uvmpi_mask_region_set(set, node);
		page = uvmpi_mask_next_set(faulted, node.end);
	}
}

/* The first page of the block that shares the tree of 4 MiB: behind this block or before it. */
static uint64_t neighbour_of(const struct uvmp_prefetch_facts *facts)
{
	return (facts->block.start & BASE_TREE_BYTES) == 0 ? facts->range_first + facts->block.pages
							   : facts->range_first - facts->neighbour_pages;
}

/* The root of 4 MiB. Returns whether the neighbour is to be filled too. */
static bool take_root(const struct uvmp_prefetch_facts *facts, uvmp_mask *set)
{
	uint32_t pages = facts->block.pages + facts->neighbour_pages;
	struct uvmp_region all = {0, facts->block.pages};

	if (facts->neighbour_pages == 0 || 2u * (uvmpi_mask_weight(set) + facts->neighbour_present) <= pages)
		return false;
	uvmpi_mask_region_set(set, all);
	return facts->neighbour_present < facts->neighbour_pages;
}

/* The pages that the trees of the class want: *set. Returns as take_root. */
static bool grow(const struct uvmp_prefetch_facts *facts, uint32_t class, uint32_t before, uvmp_mask *set)
{
	struct forest forest = forest_of(&facts->block, class);
	struct uvmp_region beyond = {facts->block.pages, UVMP_MASK_BITS};
	uvmp_mask there;

	uvmpi_prefetch_absent(facts, &there);
	UVMPI_EACH_WORD(w)
		there.word[w] = ~there.word[w];
	uvmpi_mask_region_clear(&there, beyond);
	*set = there;
	take_leaves(&forest, leaf_of(&facts->block, before) < forest.leaf ? &there : facts->faulted, set);
	for (uint32_t size = 2u * forest.leaf; size <= forest.tree; size *= 2u)
		take_nodes(&forest, size, facts->faulted, set);
	return class == FOREST_LINEAR && take_root(facts, set);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct forest_range *range = (struct forest_range *)state->range;
	struct forest_block *block = (struct forest_block *)state->block;
	uvmp_mask set, admitted;
	bool has_more = false;

	if (!facts->is_follow && (facts->to == UVMP_CPU || !uvmpi_prefetch_is_allowed(facts)))
		return uvmpi_prefetch_density_decide(params, facts, state, hint);
	uvmpi_prefetch_admit(facts, &admitted);
	if (!facts->is_follow) {
		has_more = grow(facts, range->class, block != NULL ? block->class : range->class, &set);
		uvmpi_mask_and(&admitted, &admitted, &set);
		if (block != NULL)
			block->class = range->class;
	}
	uvmpi_prefetch_hint_set(hint, facts->to, &admitted);
	if (has_more)
		hint->follow = neighbour_of(facts);
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(forest_window, "forest_window", 16, 65535, 10000,
			   "accesses to a range before its pattern is judged"),
	PREFETCH_PARAMETER(forest_linear, "forest_linear", 1, 99, 80,
			   "percent of R^2 of time and address above which a range is linear"),
	PREFETCH_PARAMETER(forest_coverage, "forest_coverage", 1, 100, 60,
			   "percent of a range that accesses must span to cover it"),
	PREFETCH_PARAMETER(forest_intensity, "forest_intensity", 1, 100, 40,
			   "percent of a range's pages that are accessed if it is dense"),
	PREFETCH_PARAMETER(forest_rounds, "forest_rounds", 1, 255, 10,
			   "windows of a kernel without a pattern before the base tree stays"),
};

/* Each faulted leaf, then from the leaves up the rest of each node with a faulted page of which more than half is there, in
 * trees that fit how the range was accessed. In trees of 4 MiB the neighbour block through hint->follow. UVMP_ERR_RANGE also:
 * range_pages < range_first + block.pages. Quirks: as density, for the CPU and preferred locations elsewhere. */
const struct prefetcher uvmpi_prefetcher_forest = {
	.name = "forest",
	.summary = "leaves that faulted, and nodes more than half full, in trees that fit the accesses (Forest)",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .has_one_gpu = true,
		   .block_bytes = sizeof(struct forest_block),
		   .range_bytes = sizeof(struct forest_range),
		   .counts_touches = true,
		   .has_kernels = true,
		   .has_neighbour = true},
	.decide = decide,
	.touched = touched,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
