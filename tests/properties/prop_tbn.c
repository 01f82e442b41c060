/* Prefetchers of UVM Smart and of Zheng et al.: the properties of [uvmsmart: invariants] that concern
 * prefetch, and equality of tbn and sl with the naive model, on random scripts. Each property runs from a
 * fixed seed and from one that changes and is printed; UVMP_TEST_SEED repeats a run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/seed.h"
#include "model/tbn_case.h"
#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"

#define FIXED_SEED   20190622u
#define ROUNDS       250
#define SCRIPT_STEPS 24

static uint64_t printed_seed;

static void for_both_seeds(void (*property)(uint64_t *random))
{
	uint64_t seeds[2] = {FIXED_SEED, printed_seed};

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < ROUNDS; i++)
			property(&seeds[s]);
}

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

static uvmp_mask single(uint32_t page)
{
	uvmp_mask mask = {{0}};

	uvmp_mask_set(&mask, page);
	return mask;
}

/* Up to `count` pages anywhere. */
static uvmp_mask some_pages(uint64_t *random, uint32_t pages, uint32_t count)
{
	uvmp_mask mask = {{0}};

	for (uint32_t i = below(random, count) + 1; i > 0; i--)
		uvmp_mask_set(&mask, below(random, pages));
	return mask;
}

/* Most pages of a random set, or few, or none. */
static uvmp_mask any_pages(uint64_t *random, uint32_t pages)
{
	struct uvmp_region whole = {0, pages};
	uint32_t kind = below(random, 4);
	uvmp_mask mask;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t x = uvmp_random_next(random), y = uvmp_random_next(random);

		mask.word[i] = kind == 0 ? 0 : kind == 1 ? x : kind == 2 ? x & y : x | y;
	}
	uvmp_mask_region_and(&mask, &mask, whole);
	return mask;
}

/* -- tbn and sl -- */

static void equality_with_the_naive_model(uint64_t *random)
{
	uint8_t script[400];
	size_t size = 2 + below(random, sizeof(script) - 2);

	for (size_t i = 0; i < size; i++)
		script[i] = (uint8_t)uvmp_random_next(random);
	if (below(random, 2) == 0)
		script[1] = 0; /* a block of tree shape */
	assert_true(tbn_case_run(script, size));
}

/* What holds after any decision. */
static void check_decision(const struct tbn_case *c, const uvmp_mask *resident, const uvmp_mask *pending)
{
	struct uvmp_region whole = {0, c->block.pages};
	const uvmp_mask *got = &c->hint.pages;

	assert_int_equal(uvmp_mask_region_weight(got, whole), uvmp_mask_weight(got));
	assert_false(uvmp_mask_intersects(got, &c->batch));
	assert_false(uvmp_mask_intersects(got, resident));
	if (!c->params.quirks)
		assert_false(uvmp_mask_intersects(got, pending));
	for (uint32_t b = 0; b < UVMP_TREE_BLOCKS_MAX; b++) {
		struct uvmp_region own = {b * 16, b * 16 + 16};

		if (uvmp_mask_region_any(&c->batch, own)) /* every faulting block is in the set */
			assert_true((c->hint.basic_blocks >> b & 1u) != 0);
		if (uvmp_mask_region_any(got, own))
			assert_true((c->hint.basic_blocks >> b & 1u) != 0);
		if ((c->hint.basic_blocks >> b & 1u) != 0)
			assert_true(own.first < c->block.pages);
	}
	if (c->params.prefetcher == UVMP_PREFETCH_SL)
		assert_true(uvmp_mask_weight(got) <= 15 * uvmp_mask_weight(&c->batch));
}

/* Transfers are disjoint, ascending, cover just what was chosen, and each faulting page is the last page of
 * exactly one. */
static void check_transfers(const struct tbn_case *c)
{
	struct uvmp_group group[1024];
	uint32_t count = 0, behind = 0, faults = 0;
	uvmp_mask pages, covered = {{0}};

	uvmp_mask_or(&pages, &c->hint.pages, &c->batch);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_RUN_TO_FAULT, &pages, &c->batch, false, group,
	                                      1024, &count),
	                 UVMP_OK);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(group[i].pages.first >= behind && !uvmp_region_is_empty(group[i].pages));
		behind = group[i].pages.end;
		uvmp_mask_region_set(&covered, group[i].pages);
		if (group[i].kind == UVMP_GROUP_FAULT) {
			assert_true(uvmp_mask_test(&c->batch, behind - 1));
			faults++;
		}
	}
	assert_true(uvmp_mask_equal(&covered, &pages));
	assert_int_equal(faults, uvmp_mask_weight(&c->batch));
}

static void open_random(struct tbn_case *c, uint64_t *random, enum uvmp_prefetcher prefetcher, bool quirks,
                        bool any_shape)
{
	uint32_t blocks = (uint32_t)1 << below(random, 6);
	uint32_t missing = any_shape && below(random, 2) == 0 ? below(random, blocks * 16) : 0;

	tbn_case_open(c, prefetcher, quirks, blocks * 16 - missing, blocks);
}

static void decisions_are_sound(uint64_t *random)
{
	struct tbn_case c;

	open_random(&c, random, below(random, 2) == 0 ? UVMP_PREFETCH_TBN : UVMP_PREFETCH_SL,
	            below(random, 2) == 0, true);
	for (int i = 0; i < SCRIPT_STEPS; i++) {
		uvmp_mask pages = some_pages(random, c.block.pages, 12);
		uvmp_mask resident = c.resident, pending = c.pending;

		switch (below(random, 6)) {
		case 0:
			assert_true(tbn_case_arrive(&c, &c.pending));
			break;
		case 1:
			assert_true(tbn_case_drop(&c, &pages));
			break;
		case 2:
			assert_true(tbn_case_arrive(&c, &pages));
			break;
		default:
			assert_true(tbn_case_fault(&c, &pages));
			check_decision(&c, &resident, &pending);
			check_transfers(&c);
		}
	}
}

/* Without quirks the tree always is what is resident or requested. */
static void check_sums(const struct tbn_case *c)
{
	uvmp_mask present;
	uint32_t leaves = 0;

	uvmp_mask_or(&present, &c->resident, &c->pending);
	for (uint32_t b = 0; b < c->tree.blocks; b++)
		leaves += uvmp_tree_leaf(&c->tree, b);
	assert_int_equal(c->tree.node[0], leaves);
	assert_int_equal(leaves, uvmp_mask_weight(&present));
}

/* Where each basic block is wholly there or wholly absent, no inner node is more than half full without being
 * full. (A partly valid leaf is not filled, so with one there may be such a node; [uvmsmart: tbnp].) */
static void check_settled(const struct tbn_case *c)
{
	for (uint32_t i = 0, size = c->tree.blocks * 16; i + 1 < c->tree.blocks; i++) {
		if (i + 1 >= 2 * (c->tree.blocks * 16 / size))
			size /= 2;
		assert_true(c->tree.node[i] <= size / 2 || c->tree.node[i] == size);
	}
}

/* [uvmsmart: invariants], for states of whole basic blocks: blocks of tree shape, of which only basic
 * blocks leave, at once. */
static void tbn_without_quirks_settles_whole_blocks(uint64_t *random)
{
	struct tbn_case c;

	open_random(&c, random, UVMP_PREFETCH_TBN, false, false);
	for (int i = 0; i < SCRIPT_STEPS; i++) {
		uvmp_mask pages = some_pages(random, c.block.pages, 5);
		uint32_t before = c.tree.node[0];

		if (below(random, 4) == 0) {
			assert_true(tbn_case_arrive(&c, &c.pending));
			assert_true(tbn_case_drop_block(&c, below(random, c.tree.blocks)));
			check_sums(&c);
			continue; /* until the next fault a node may be between half and full */
		}
		assert_true(tbn_case_fault(&c, &pages));
		check_sums(&c);
		if (uvmp_mask_is_empty(&c.batch))
			continue;
		check_settled(&c);
		assert_true(c.tree.node[0] >= before + uvmp_mask_weight(&c.batch));
		assert_true(tbn_case_fault(&c, &pages)); /* once more: nothing is left to do */
		assert_true(uvmp_mask_is_empty(&c.batch) && uvmp_mask_is_empty(&c.hint.pages));
	}
}

/* The most that one fault can bring: on each level its own half is filled and the other half needs one block
 * to go past half; so all but one block a level [uvmsmart: invariants]. */
static void one_fault_brings_all_but_a_block_a_level(uint64_t *random)
{
	struct tbn_case c;
	uint32_t most;

	open_random(&c, random, UVMP_PREFETCH_TBN, below(random, 2) == 0, false);
	most = c.block.pages;
	for (uint32_t blocks = c.tree.blocks; blocks > 1; blocks /= 2)
		most -= 16;
	for (int i = 0; i < SCRIPT_STEPS; i++) {
		uvmp_mask page = single(below(random, c.block.pages));

		assert_true(tbn_case_fault(&c, &page));
		assert_true(uvmp_mask_weight(&c.hint.pages) + uvmp_mask_weight(&c.batch) <= most);
		assert_true(tbn_case_arrive(&c, &c.pending));
	}
}

/* -- random, sequential, locality -- */

static void random_takes_what_is_absent(uint64_t *random)
{
	struct prefetch_case c;
	uvmp_mask taken;
	uint64_t draws;

	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 1 + below(random, 512));
	c.params.quirks = below(random, 2) == 0;
	c.resident = any_pages(random, c.facts.block.pages);
	c.pending = any_pages(random, c.facts.block.pages);
	c.faulted = any_pages(random, c.facts.block.pages);
	uvmp_mask_set(&c.faulted, below(random, c.facts.block.pages));
	uvmp_mask_andnot(&c.resident, &c.resident, &c.faulted);
	uvmp_mask_andnot(&c.pending, &c.pending, &c.faulted);
	c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
	c.random = draws = uvmp_random_next(random);
	assert_int_equal(uvmp_prefetch_decide(&c.params, &c.facts, &c.state, &c.hint), UVMP_OK);
	assert_false(uvmp_mask_intersects(&c.hint.pages, &c.resident));
	assert_false(uvmp_mask_intersects(&c.hint.pages, &c.pending));
	if (!c.params.quirks)
		assert_false(uvmp_mask_intersects(&c.hint.pages, &c.faulted));
	assert_true(uvmp_mask_weight(&c.hint.pages) <= uvmp_mask_weight(&c.faulted));
	taken = c.hint.pages;
	for (uint32_t i = uvmp_mask_weight(&c.faulted); i > 0; i--)
		uvmp_mask_clear(&taken, (uint32_t)uvmp_random_below(&draws, c.facts.block.pages));
	assert_true(uvmp_mask_is_empty(&taken)); /* nothing but what was drawn */
	assert_true(draws == c.random);
}

static void open_range(struct prefetch_caller *c, uint64_t *random, enum uvmp_prefetcher prefetcher)
{
	uint32_t pages = 1 + below(random, CALLER_PAGES);

	prefetch_caller_init(c, prefetcher, pages, 1 + below(random, pages));
	c->params.sequential_pages = 1 + below(random, 40);
	c->params.locality_pages = 1 + below(random, 200);
	c->resident = any_pages(random, pages);
}

/* Faults on pages that are not there yet; false when everything is. */
static bool next_batch(const struct prefetch_caller *c, uint64_t *random, uvmp_mask *faulted)
{
	*faulted = some_pages(random, c->pages, 5);
	uvmp_mask_andnot(faulted, faulted, &c->resident);
	return !uvmp_mask_is_empty(faulted);
}

/* Page by page, over the whole range at once. */
static void locality_is_the_union_of_its_runs(uint64_t *random)
{
	struct prefetch_caller c;

	open_range(&c, random, UVMP_PREFETCH_LOCALITY);
	for (int i = 0; i < SCRIPT_STEPS; i++) {
		uvmp_mask faulted, expected = {{0}};

		if (!next_batch(&c, random, &faulted))
			continue;
		for (uint32_t p = 0; p < c.pages; p++)
			for (uint32_t q = p; q < p + c.params.locality_pages && q < c.pages; q++)
				if (uvmp_mask_test(&faulted, p))
					uvmp_mask_set(&expected, q);
		uvmp_mask_andnot(&expected, &expected, &faulted);
		uvmp_mask_andnot(&expected, &expected, &c.resident);
		assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
		assert_true(uvmp_mask_equal(&c.fetched, &expected));
		if (below(random, 3) == 0) {
			uvmp_mask gone = any_pages(random, c.pages);

			uvmp_mask_andnot(&c.resident, &c.resident, &gone);
		}
	}
}

/* One walk, one decision for each block that faults. */
static void sequential_is_one_walk(uint64_t *random)
{
	struct prefetch_caller c;
	uint32_t cursor = 0;

	open_range(&c, random, UVMP_PREFETCH_SEQUENTIAL);
	for (int i = 0; i < SCRIPT_STEPS; i++) {
		uvmp_mask faulted, gone = any_pages(random, c.pages), expected = {{0}};
		uint32_t budget = 0, behind;

		if (!next_batch(&c, random, &faulted))
			continue;
		behind = 0;
		for (uint32_t p = 0; p < c.pages; p++)
			if (uvmp_mask_test(&faulted, p) && p >= behind) {
				budget += c.params.sequential_pages;
				behind = (p / c.block_pages + 1) * c.block_pages;
			}
		for (; budget > 0 && cursor < c.pages; cursor++)
			if (!uvmp_mask_test(&c.resident, cursor) && !uvmp_mask_test(&faulted, cursor)) {
				uvmp_mask_set(&expected, cursor);
				budget--;
			}
		assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
		assert_true(uvmp_mask_equal(&c.fetched, &expected));
		uvmp_mask_andnot(&c.resident, &c.resident, &gone);
	}
}

#define PROPERTY(name)                                                                                       \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		for_both_seeds(name);                                                                        \
	}

PROPERTY(equality_with_the_naive_model)
PROPERTY(decisions_are_sound)
PROPERTY(tbn_without_quirks_settles_whole_blocks)
PROPERTY(one_fault_brings_all_but_a_block_a_level)
PROPERTY(random_takes_what_is_absent)
PROPERTY(locality_is_the_union_of_its_runs)
PROPERTY(sequential_is_one_walk)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_equality_with_the_naive_model),
	        cmocka_unit_test(test_decisions_are_sound),
	        cmocka_unit_test(test_tbn_without_quirks_settles_whole_blocks),
	        cmocka_unit_test(test_one_fault_brings_all_but_a_block_a_level),
	        cmocka_unit_test(test_random_takes_what_is_absent),
	        cmocka_unit_test(test_locality_is_the_union_of_its_runs),
	        cmocka_unit_test(test_sequential_is_one_walk),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
