/* Prefetch decisions, on a block or tree of 2 MiB: 512 pages of 4 KiB. */
#include <stdbool.h>
#include <stdlib.h>

#include "bench.h"
#include "uvmpolicy/advanced.h"

#define PAGES 512u
#define ROUND 50u /* decisions whose inputs are prepared together */

/* The inputs of a decision, and what it fills. */
struct input {
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	struct uvmp_tree tree;
	struct uvmp_prefetch_hint hint;
	uvmp_mask resident, faulted, thrashing;
};

static struct input input[ROUND];

static void begin_input(struct input *in)
{
	in->facts = (struct uvmp_prefetch_facts){
	        .faulted = &in->faulted, .resident = &in->resident, .to = 1, .range_pages = PAGES};
	bench_check(uvmp_block_from_shape(PAGES, 0, 16, &in->facts.block) == UVMP_OK);
	uvmp_prefetch_state_init(&in->state);
	uvmp_tree_init(&in->tree, 32);
	in->state.tree = &in->tree;
	uvmp_mask_zero(&in->resident);
	uvmp_mask_zero(&in->faulted);
}

/* The lower bound: reads the masks of the facts and writes the masks of the hint once. */
__attribute__((noinline)) void bench_prefetch_floor(const struct uvmp_prefetch_facts *facts,
                                                    struct uvmp_prefetch_hint *hint);
void bench_prefetch_floor(const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_hint *hint)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		hint->pages.word[i] = facts->resident->word[i] & ~facts->faulted->word[i];
		hint->subtrees.word[i] = facts->faulted->word[i];
	}
	hint->to = facts->to;
	hint->follow = UVMP_PAGE_NONE;
	hint->basic_blocks = 0;
}

/* The decisions of a round; each has inputs of its own. */
static void decide(const struct uvmp_prefetch_params *params, unsigned long decisions)
{
	bool is_ok = true;

	for (unsigned long i = 0; i < decisions; i++)
		bench_prefetch_floor(&input[i].facts, &input[i].hint);
	bench_begin();
	for (unsigned long i = 0; i < decisions; i++)
		is_ok &= uvmp_prefetch_decide(params, &input[i].facts, &input[i].state, &input[i].hint) ==
		         UVMP_OK;
	bench_end();
	bench_check(is_ok);
}

/* Independent decisions: every `stride`-th page faults, or with stride 0 `faults` random pages, in a block of
 * which `resident` other random pages are resident. */
static void density(uint32_t stride, uint32_t faults, uint32_t resident, unsigned long calls)
{
	struct uvmp_prefetch_params params;

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	for (unsigned long done = 0; done < calls; done += ROUND) {
		unsigned long decisions = calls - done < ROUND ? calls - done : ROUND;

		for (unsigned long i = 0; i < decisions; i++) {
			struct input *in = &input[i];

			begin_input(in);
			for (uint32_t page = 0; stride != 0 && page < PAGES; page += stride)
				uvmp_mask_set(&in->faulted, page);
			while (stride == 0 && uvmp_mask_weight(&in->faulted) < faults)
				uvmp_mask_set(&in->faulted, bench_draw(PAGES));
			while (uvmp_mask_weight(&in->resident) < resident) {
				uvmp_mask_set(&in->resident, bench_draw(PAGES));
				uvmp_mask_andnot(&in->resident, &in->resident, &in->faulted);
			}
			in->facts.faulted_region = uvmp_mask_bounds(&in->faulted);
		}
		decide(&params, decisions);
	}
}

/* Independent decisions on an empty block of this shape: 16 random faults, and with `thrashes` a random page that
 * thrashes. */
static void density_of_shape(uint32_t pages, uint32_t offset, bool thrashes, unsigned long calls)
{
	struct uvmp_prefetch_params params;

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	for (unsigned long done = 0; done < calls; done += ROUND) {
		unsigned long decisions = calls - done < ROUND ? calls - done : ROUND;

		for (unsigned long i = 0; i < decisions; i++) {
			struct input *in = &input[i];

			begin_input(in);
			bench_check(uvmp_block_from_shape(pages, offset, 16, &in->facts.block) == UVMP_OK);
			while (uvmp_mask_weight(&in->faulted) < 16u)
				uvmp_mask_set(&in->faulted, bench_draw(pages));
			in->facts.faulted_region = uvmp_mask_bounds(&in->faulted);
			uvmp_mask_zero(&in->thrashing);
			if (thrashes) {
				uvmp_mask_set(&in->thrashing, bench_draw(pages));
				in->facts.thrashing = &in->thrashing;
			}
		}
		decide(&params, decisions);
	}
}

/* A block that fills up: each decision has `faults` random missing pages, and the pages that a decision
 * fetches are resident for the next one, until the block is full. */
static void fill(enum uvmp_prefetcher prefetcher, uint32_t faults, unsigned long calls)
{
	struct uvmp_prefetch_params params;
	struct input *in = &input[0];

	uvmp_prefetch_params_init(&params, prefetcher);
	begin_input(in);
	for (unsigned long i = 0; i < calls; i++) {
		if (uvmp_mask_weight(&in->resident) == PAGES)
			begin_input(in);
		uvmp_mask_zero(&in->faulted);
		for (uint32_t f = 0; f < faults; f++) {
			uint32_t page = uvmp_mask_next_clear(&in->resident, bench_draw(PAGES));

			uvmp_mask_set(&in->faulted,
			              page < PAGES ? page : uvmp_mask_next_clear(&in->resident, 0));
		}
		in->facts.faulted_region = uvmp_mask_bounds(&in->faulted);
		decide(&params, 1);
		uvmp_mask_or(&in->resident, &in->resident, &in->faulted);
		if (in->hint.to == 1)
			uvmp_mask_or(&in->resident, &in->resident, &in->hint.pages);
	}
}

/* A fault on the first page of each of these basic blocks in turn, from an empty tree, until the sequence
 * ends; then from the start. The pages that a decision fetches are resident for the next one. */
static void sequence(const uint8_t *block, uint32_t blocks, unsigned long calls)
{
	struct uvmp_prefetch_params params;
	struct input *in = &input[0];

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_TBN);
	for (unsigned long i = 0; i < calls; i++) {
		uint32_t page = block[i % blocks] * UVMP_BASIC_BLOCK_PAGES;

		if (i % blocks == 0)
			begin_input(in);
		uvmp_mask_zero(&in->faulted);
		uvmp_mask_set(&in->faulted, page);
		in->facts.faulted_region = uvmp_mask_bounds(&in->faulted);
		decide(&params, 1);
		uvmp_mask_or(&in->resident, &in->resident, &in->faulted);
		uvmp_mask_or(&in->resident, &in->resident, &in->hint.pages);
	}
}

static const uint8_t p1[] = {0, 1, 2, 4, 8, 16}, p2[] = {1, 3, 0, 4, 8, 16}, p3[] = {1, 3, 5, 7, 0, 8, 16};

/* The last decision of the sequence p1, which fetches half of the block: the first five came before. */
static void sequence_end(unsigned long calls)
{
	static struct input before;
	struct uvmp_prefetch_params params;

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_TBN);
	begin_input(&before);
	for (uint32_t block = 0; block < 16u; block++)
		uvmp_tree_set_leaf(&before.tree, block, UVMP_BASIC_BLOCK_PAGES);
	uvmp_tree_recompute(&before.tree);
	for (uint32_t page = 0; page < PAGES / 2u; page++)
		uvmp_mask_set(&before.resident, page);
	uvmp_mask_set(&before.faulted, PAGES / 2u);
	before.facts.faulted_region = uvmp_mask_bounds(&before.faulted);
	for (unsigned long done = 0; done < calls; done += ROUND) {
		for (uint32_t i = 0; i < ROUND; i++) {
			input[i] = before;
			input[i].facts.faulted = &input[i].faulted;
			input[i].facts.resident = &input[i].resident;
			input[i].state.tree = &input[i].tree;
		}
		decide(&params, ROUND);
	}
}

static void density_1(unsigned long calls)
{
	density(0, 1, 0, calls);
}

static void density_16(unsigned long calls)
{
	density(0, 16, 0, calls);
}

static void density_64(unsigned long calls)
{
	density(0, 64, 256, calls);
}

static void density_512(unsigned long calls)
{
	density(1, 0, 0, calls);
}

static void density_32nd(unsigned long calls)
{
	density(32, 0, 0, calls);
}

static void density_unaligned(unsigned long calls)
{
	density_of_shape(500, 12, false, calls);
}

static void density_thrashing(unsigned long calls)
{
	density_of_shape(PAGES, 0, true, calls);
}

static void density_small(unsigned long calls)
{
	density_of_shape(64, 0, false, calls);
}

static void density_fill(unsigned long calls)
{
	fill(UVMP_PREFETCH_DENSITY, 1, calls);
}

static void tbnp_1(unsigned long calls)
{
	fill(UVMP_PREFETCH_TBN, 1, calls);
}

static void tbnp_16(unsigned long calls)
{
	fill(UVMP_PREFETCH_TBN, 16, calls);
}

static void tbnp_first(unsigned long calls)
{
	sequence(p1, 1, calls);
}

static void tbnp_p1(unsigned long calls)
{
	sequence(p1, sizeof(p1), calls);
}

static void tbnp_p2(unsigned long calls)
{
	sequence(p2, sizeof(p2), calls);
}

static void tbnp_p3(unsigned long calls)
{
	sequence(p3, sizeof(p3), calls);
}

static void sl_1(unsigned long calls)
{
	fill(UVMP_PREFETCH_SL, 1, calls);
}

#define DECIDE .function = "uvmp_prefetch_decide", .units = 1, .floor = "bench_prefetch_floor", .unit = "decision"

const struct bench_case bench_prefetch_cases[] = {
        {"density-1", DECIDE, .original = 3450, .budget = 600, .budget_ns = 120,
         .text = "density: 1 random fault; empty block", .run = density_1},
        {"density-16", DECIDE, .original = 22950, .budget = 600, .budget_ns = 120,
         .text = "density: 16 random faults; empty block", .run = density_16},
        {"density-64", DECIDE, .original = 4048, .budget = 600, .budget_ns = 120,
         .text = "density: 64 random faults; 256 other random pages resident", .run = density_64},
        {"density-512", DECIDE, .original = 4185, .budget = 600, .budget_ns = 120,
         .text = "density: all 512 pages faulted", .run = density_512},
        {"density-32nd", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "density: every 32nd page faulted; empty block", .run = density_32nd},
        {"density-unaligned", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "density: 16 random faults; empty block of 500 pages that starts 12 pages behind a big page's start",
         .run = density_unaligned},
        {"density-thrashing", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "density: 16 random faults; empty block in which a random page thrashes", .run = density_thrashing},
        {"density-small", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "density: 16 random faults; empty block of 64 pages", .run = density_small},
        {"density-fill", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "density: 1 random fault; a block that fills up", .run = density_fill},
        {"tbnp-first", DECIDE, .original = 29136, .budget = 600, .budget_ns = 120,
         .text = "TBNp: 1 fault in an empty block", .run = tbnp_first},
        {"tbnp-last", DECIDE, .original = 485473, .budget = 600, .budget_ns = 120,
         .text = "TBNp: the sixth fault of 0 1 2 4 8 16; it fetches half of the block", .run = sequence_end},
        {"tbnp-p1", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "TBNp: mean of the faults in basic blocks 0 1 2 4 8 16", .run = tbnp_p1, .calls = 1200},
        {"tbnp-p2", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "TBNp: mean of the faults in basic blocks 1 3 0 4 8 16", .run = tbnp_p2, .calls = 1200},
        {"tbnp-p3", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "TBNp: mean of the faults in basic blocks 1 3 5 7 0 8 16", .run = tbnp_p3, .calls = 1400},
        {"tbnp-1", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "TBNp: 1 random fault; a block that fills up", .run = tbnp_1},
        {"tbnp-16", DECIDE, .budget = 600, .budget_ns = 120,
         .text = "TBNp: 16 random faults; a block that fills up", .run = tbnp_16},
        {"sl-1", DECIDE, .text = "sequential-local: 1 random fault; a block that fills up", .run = sl_1},
        {0}};
