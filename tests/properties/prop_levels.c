/* Decisions that judge all nodes of a level at once, or each node in one pass, against the definition: all patterns of small
 * trees, random ones of whole blocks. A share of the long ones is run; UVMP_TEST_SHARE. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "support/seed.h"
#include "model/density_case.h"
#include "model/tbn_case.h"
#include "uvmpolicy/evict.h"

#define BLOCK_PAGES 16u

/* -- density -- */

static void open_case(struct density_case *c, uint32_t pages, uint32_t offset, uint32_t big_pages, uint32_t threshold)
{
	memset(c, 0, sizeof(*c));
	uvmp_prefetch_params_init(&c->params, UVMP_PREFETCH_DENSITY);
	c->params.threshold = threshold;
	uvmp_prefetch_state_init(&c->state);
	assert_int_equal(uvmp_block_from_shape(pages, offset, big_pages, &c->facts.block), UVMP_OK);
	c->facts.to = 1;
	c->facts.preferred = UVMP_PROC_NONE;
	c->facts.faulted = &c->faulted;
	c->facts.resident = &c->resident;
	c->facts.thrashing = &c->thrashing;
	c->facts.range_group = c->group;
}

/* Each set of faulted pages with each set of resident and of thrashing pages. */
static void all_of_block(uint32_t pages, uint32_t offset, uint32_t big_pages, uint32_t threshold)
{
	uint32_t end = (uint32_t)1 << pages;
	struct density_case c;

	open_case(&c, pages, offset, big_pages, threshold);
	for (uint32_t faulted = 1; faulted < end; faulted++)
		for (uint32_t resident = 0; resident < end; resident++)
			for (uint32_t thrashing = 0; thrashing < end; thrashing++) {
				c.faulted.word[0] = faulted;
				c.resident.word[0] = resident;
				c.thrashing.word[0] = thrashing;
				c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
				assert_true(density_case_agrees(&c));
			}
}

static void test_density_of_small_blocks(void **state)
{
	static const uint32_t threshold[] = {0, 24, 25, 49, 50, 51, 74, 75, 99};
	uint32_t count = test_share_of(sizeof(threshold) / sizeof(threshold[0]));

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		all_of_block(4, 0, 1, threshold[i]);
		all_of_block(4, 0, 4, threshold[i]);
		all_of_block(4, 1, 4, threshold[i]);
		all_of_block(4, 3, 16, threshold[i]);
		all_of_block(3, 1, 2, threshold[i]);
	}
}

/* Pages of 64 KiB, which are big pages: all levels below 16 pages are judged, in blocks that end anywhere. */
static void test_density_of_large_pages(void **state)
{
	uint64_t random = test_seed();
	struct density_case c;

	(void)state;
	for (uint32_t i = 0; i < test_share_of(40000); i++) {
		uint32_t pages = 1u + i % 40u;
		uint64_t all = ~(uint64_t)0 >> (64u - pages), dense = uvmp_random_next(&random) & all;

		open_case(&c, pages, 0, 1, (uint32_t)uvmp_random_below(&random, 100));
		c.facts.thrashing = NULL;
		c.faulted.word[0] = dense & uvmp_random_next(&random) & uvmp_random_next(&random);
		c.resident.word[0] = dense & uvmp_random_next(&random);
		if (c.faulted.word[0] == 0)
			c.faulted.word[0] = (uint64_t)1 << uvmp_random_below(&random, pages);
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		assert_true(density_case_agrees(&c));
	}
}

/* Whole blocks: sets of basic blocks with a fault each, beside others that are resident, in part or wholly. */
static void test_density_of_whole_blocks(void **state)
{
	uint64_t random = test_seed();
	struct density_case c;

	(void)state;
	for (uint32_t i = 0; i < test_share_of(40000); i++) {
		uint32_t some = 1u + (uint32_t)uvmp_random_below(&random, 12);

		open_case(&c, 512, 0, 16, (uint32_t)uvmp_random_below(&random, 100));
		c.facts.thrashing = NULL;
		for (uint32_t page = 0; page < 512u; page += BLOCK_PAGES) {
			uint32_t first = page + (uint32_t)uvmp_random_below(&random, BLOCK_PAGES);
			struct uvmp_region rest = {first, page + BLOCK_PAGES}, all = {page, page + BLOCK_PAGES};

			switch (uvmp_random_below(&random, some)) {
			case 0:
				uvmp_mask_set(&c.faulted, first);
				break;
			case 1:
				uvmp_mask_region_set(&c.resident, rest);
				break;
			case 2:
				uvmp_mask_region_set(&c.resident, all);
				break;
			default:
				break;
			}
		}
		if (uvmp_mask_is_empty(&c.faulted))
			uvmp_mask_set(&c.faulted, (uint32_t)uvmp_random_below(&random, 512));
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		assert_true(density_case_agrees(&c));
	}
}

/* What a number to the base of 4 says of the big pages of a block: its digits are empty, a fault, all resident, a fault
 * beside a page that thrashes. */
static void set_big_pages(struct density_case *c, uint32_t kinds, uint64_t *random)
{
	uint32_t pages = c->facts.block.pages, offset = c->facts.block.offset;

	for (uint32_t first = 0; first < pages; kinds /= 4u) {
		uint32_t end = (first + offset) / BLOCK_PAGES * BLOCK_PAGES + BLOCK_PAGES - offset;
		struct uvmp_region all = {first, end < pages ? end : pages};
		uint32_t page = all.first + (uint32_t)uvmp_random_below(random, all.end - all.first);

		if (kinds % 2u != 0)
			uvmp_mask_set(&c->faulted, page);
		if (kinds % 4u == 2u)
			uvmp_mask_region_set(&c->resident, all);
		if (kinds % 4u == 3u)
			uvmp_mask_set(&c->thrashing, all.first + (page + 5u) % (all.end - all.first));
		first = all.end;
	}
}

/* Blocks that begin and end anywhere in a big page: each number of five digits for each begin and end. */
static void test_density_of_unaligned_blocks(void **state)
{
	static const uint32_t threshold[] = {51, 25, 50, 74, 12, 90, 6, 0, 99};
	uint32_t all = 1024u * BLOCK_PAGES * BLOCK_PAGES;
	uint64_t seed = test_seed(), random = seed;
	struct density_case c;

	(void)state;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t kinds = i % 1024u, offset = i / 1024u % BLOCK_PAGES, cut = i / 1024u / BLOCK_PAGES;

		if (!test_is_chosen(seed, i, all))
			continue;
		open_case(&c, 5u * BLOCK_PAGES - offset - cut, offset, BLOCK_PAGES, threshold[(i + seed) % 9u]);
		set_big_pages(&c, kinds, &random);
		if (uvmp_mask_is_empty(&c.faulted))
			continue;
		if (uvmp_mask_is_empty(&c.thrashing) && kinds % 5u != 0)
			c.facts.thrashing = NULL;
		if (uvmp_mask_is_empty(&c.resident) && kinds % 3u != 0)
			c.facts.resident = NULL;
		c.params.quirks = i % 7u != 0 || c.params.threshold == 0;
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		assert_true(density_case_agrees(&c));
	}
}

/* Big pages of each size, in blocks that begin and end anywhere. */
static void test_density_of_other_big_pages(void **state)
{
	uint64_t random = test_seed();
	struct density_case c;

	(void)state;
	for (uint32_t i = 0; i < test_share_of(20000); i++) {
		uint32_t big_pages = (uint32_t)1 << i % 10u, offset = (uint32_t)uvmp_random_below(&random, big_pages);
		uint32_t pages = 1u + (uint32_t)uvmp_random_below(&random, 512u - offset);
		struct uvmp_region run = {(uint32_t)uvmp_random_below(&random, pages), pages};

		open_case(&c, pages, offset, big_pages, 1u + (uint32_t)uvmp_random_below(&random, 99));
		for (uint64_t faults = 1u + uvmp_random_below(&random, 4); faults > 0; faults--)
			uvmp_mask_set(&c.faulted, (uint32_t)uvmp_random_below(&random, pages));
		if (i % 3u == 0)
			uvmp_mask_set(&c.thrashing, (uint32_t)uvmp_random_below(&random, pages));
		else
			c.facts.thrashing = NULL;
		if (i % 5u != 0)
			uvmp_mask_region_set(&c.resident, run);
		c.params.quirks = i % 4u != 0;
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		assert_true(density_case_agrees(&c));
	}
}

/* -- trees of basic blocks -- */

/* A fault in the lowest absent basic block of a tree in which `present` are full. */
static void fault_in_tree(uint32_t blocks, uint32_t present, bool quirks)
{
	static const struct uvmp_region first = {0, BLOCK_PAGES};
	struct tbn_case c;
	uvmp_mask pages, fault;
	uint32_t block = 0;

	tbn_case_open(&c, UVMP_PREFETCH_TBN, quirks, blocks * BLOCK_PAGES, blocks);
	uvmp_mask_zero(&pages);
	uvmp_mask_zero(&fault);
	for (uint32_t b = 0; b < blocks; b++) {
		struct uvmp_region own = {first.first + b * BLOCK_PAGES, first.end + b * BLOCK_PAGES};

		if ((present >> b & 1u) != 0)
			uvmp_mask_region_set(&pages, own);
	}
	while ((present >> block & 1u) != 0)
		block++;
	uvmp_mask_set(&fault, block * BLOCK_PAGES + present % BLOCK_PAGES);
	assert_true(tbn_case_arrive(&c, &pages));
	assert_true(tbn_case_fault(&c, &fault));
}

/* TBNp: each set of absent basic blocks among 16; and each as lower half of a tree of 32, whose upper half is drawn. */
static void test_tbn_of_16_blocks(void **state)
{
	uint64_t seed = test_seed(), random = seed;

	(void)state;
	for (uint32_t present = 0; present < 0xffffu; present++) {
		if (!test_is_chosen(seed, present, 0xffffu))
			continue;
		fault_in_tree(16, present, true);
		fault_in_tree(32, present | (uint32_t)uvmp_random_next(&random) << 16, present % 3u != 0);
	}
}

/* The definition of the closure: [uvmsmart: victim-selection], with all sums computed again for each node. */
static uint32_t closure(uint32_t *leaf, uint32_t blocks, uint32_t evictable)
{
	uint32_t dropped = 0;

	for (uint32_t leaves = 2; leaves <= blocks; leaves *= 2u)
		for (uint32_t first = 0; first < blocks; first += leaves) {
			uint32_t sum = 0;

			for (uint32_t b = first; b < first + leaves; b++)
				sum += leaf[b];
			for (uint32_t b = first; sum != 0 && sum < leaves * BLOCK_PAGES / 2u && b < first + leaves; b++)
				if (leaf[b] == BLOCK_PAGES && (evictable >> b & 1u) != 0) {
					leaf[b] = 0;
					dropped |= (uint32_t)1 << b;
				}
		}
	return dropped;
}

static void check_closure(uint32_t blocks, const uint32_t *pages, uint32_t evictable)
{
	struct uvmp_tree tree, sums;
	uint32_t leaf[32];

	assert_int_equal(uvmp_tree_init(&tree, blocks), UVMP_OK);
	for (uint32_t b = 0; b < blocks; b++) {
		leaf[b] = pages[b];
		uvmp_tree_set_leaf(&tree, b, pages[b]);
	}
	assert_int_equal(uvmp_evict_tbn_closure(&tree, evictable), closure(leaf, blocks, evictable));
	assert_int_equal(uvmp_tree_init(&sums, blocks), UVMP_OK);
	for (uint32_t b = 0; b < blocks; b++)
		uvmp_tree_set_leaf(&sums, b, leaf[b]);
	for (uint32_t i = blocks - 1u; i-- > 0;)
		sums.node[i] = sums.node[2u * i + 1u] + sums.node[2u * i + 2u];
	assert_memory_equal(&tree, &sums, sizeof(tree));
}

/* TBNe: each set of full basic blocks among 16; all are evictable, or those of another set. */
static void test_closure_of_16_blocks(void **state)
{
	uint32_t pages[16];

	(void)state;
	for (uint32_t full = 0; full <= 0xffffu; full++) {
		for (uint32_t b = 0; b < 16u; b++)
			pages[b] = (full >> b & 1u) != 0 ? BLOCK_PAGES : 0;
		check_closure(16, pages, ~(uint32_t)0);
		check_closure(16, pages, full * 40503u);
	}
}

/* The same as the lower halves of trees of 32, whose upper halves are drawn. */
static void test_closure_of_32_blocks(void **state)
{
	uint64_t random = test_seed();
	uint32_t pages[32];

	(void)state;
	for (uint32_t full = 0; full <= 0xffffu; full++) {
		uint32_t upper = (uint32_t)uvmp_random_next(&random), some = (uint32_t)uvmp_random_next(&random);

		if (full % 2u != 0) /* sparse, so that large nodes lose blocks */
			upper &= upper << 7 & upper << 13;
		for (uint32_t b = 0; b < 32u; b++)
			pages[b] = ((full | upper << 16) >> b & 1u) != 0 ? BLOCK_PAGES : 0;
		check_closure(32, pages, ~(uint32_t)0);
		check_closure(32, pages, some);
	}
}

/* Leaves in part full, or beyond full [uvmsmart: partial-leaf-grows], of trees of any size. */
static void test_closure_of_any_tree(void **state)
{
	uint64_t random = test_seed();
	uint32_t pages[32];

	(void)state;
	for (uint32_t i = 0; i < test_share_of(400000); i++) {
		uint64_t some = 1u + uvmp_random_below(&random, 6);

		for (uint32_t b = 0; b < 32u; b++)
			switch (uvmp_random_below(&random, some)) {
			case 0:
				pages[b] = BLOCK_PAGES;
				break;
			case 1:
				pages[b] = (uint32_t)uvmp_random_below(&random, 40);
				break;
			default:
				pages[b] = 0;
				break;
			}
		check_closure((uint32_t)1 << i % 6u, pages, (uint32_t)uvmp_random_next(&random));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_density_of_small_blocks), cmocka_unit_test(test_density_of_whole_blocks),
	        cmocka_unit_test(test_density_of_large_pages), cmocka_unit_test(test_density_of_unaligned_blocks),
	        cmocka_unit_test(test_density_of_other_big_pages),
	        cmocka_unit_test(test_tbn_of_16_blocks),	cmocka_unit_test(test_closure_of_16_blocks),
	        cmocka_unit_test(test_closure_of_32_blocks),
	        cmocka_unit_test(test_closure_of_any_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
