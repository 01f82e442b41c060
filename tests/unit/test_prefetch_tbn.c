/* The tree-based neighbourhood prefetcher: worked examples of [uvmsmart: tbnp], figure 2-2 of SAND2022-1528,
 * quirks [uvmsmart: ancestors-pass-full, partial-leaf-grows, user-prefetch-bypasses-tree,
 * in-flight-requested-again] and the clean form, blocks of no tree shape, errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/prefetch_case.h"

/* Fault group and prefetch groups, as "KB+KB ..." in transfer order, pages of one leaf block being 64 KB. */
static void assert_transfers(const struct prefetch_case *c, const char *expected)
{
	struct uvmp_group group[1024];
	uvmp_mask pages;
	uint32_t count = 0;
	char text[1024] = "";

	uvmp_mask_or(&pages, &c->hint.pages, &c->faulted);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_RUN_TO_FAULT, &pages, &c->faulted, false, group,
	                                      1024, &count),
	                 UVMP_OK);
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u+%u", i == 0 ? "" : " ",
		         4 * group[i].pages.first, 4 * uvmp_region_pages(group[i].pages));
	assert_string_equal(text, expected);
}

static void assert_subtree(const struct prefetch_case *c, uint32_t page, uint32_t first, uint32_t end)
{
	struct uvmp_region subtree = uvmp_prefetch_subtree(&c->hint.subtrees, page);

	assert_int_equal(subtree.first, first);
	assert_int_equal(subtree.end, end);
}

/* A batch whose pages arrive before the next one. */
static void fault(struct prefetch_case *c, const char *pages, const char *transfers)
{
	assert_int_equal(prefetch_case_decide(c, pages), UVMP_OK);
	assert_transfers(c, transfers);
	prefetch_case_arrive(c);
}

static void assert_pages(const uvmp_mask *mask, const char *expected)
{
	uvmp_mask pages = page_text(expected);

	assert_memory_equal(mask, &pages, sizeof(pages));
}

/* Figure 2-2, first example, and the first row of the table in [uvmsmart: tbnp]. */
static void test_figure_first_example(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		fault(&c, "16", "64+4 68+60");
		assert_subtree(&c, 15, 0, 0);
		assert_subtree(&c, 20, 16, 32);
		fault(&c, "48", "192+4 196+60");
		fault(&c, "80", "320+4 324+60");
		fault(&c, "112", "448+4 452+60");
		assert_int_equal(c.hint.basic_blocks, 1u << 7);
		assert_int_equal(c.tree.node[0], 64);
		fault(&c, "0", "0+4 4+60 128+64 256+64 384+64");
		assert_subtree(&c, 1, 0, 128); /* the root has filled more than the left half */
		assert_subtree(&c, 127, 0, 128);
		assert_int_equal(c.hint.basic_blocks, 0x55);
		assert_int_equal(c.hint.to, 1);
		assert_true(c.hint.follow == UVMP_PAGE_NONE);
		assert_int_equal(c.tree.node[0], 128);
	}
}

/* Figure 2-2, second example, as the code does it [uvmsmart: sandia-report]. */
static void test_figure_second_example(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		fault(&c, "16", "64+4 68+60");
		fault(&c, "48", "192+4 196+60");
		fault(&c, "0", "0+4 4+60 128+64");
		assert_int_equal(c.hint.basic_blocks, 0x5);
		fault(&c, "64", "256+4 260+252");
		assert_int_equal(c.hint.basic_blocks, 0xf0);
		assert_int_equal(c.tree.node[0], 128);
	}
}

/* [uvmsmart: tbnp]: sequential first touch of 2 MB; the last fault brings half of the root. */
static void test_sequential_first_touch(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	fault(&c, "0", "0+4 4+60");
	fault(&c, "16", "64+4 68+60");
	fault(&c, "32", "128+4 132+124");
	fault(&c, "64", "256+4 260+252");
	fault(&c, "128", "512+4 516+508");
	fault(&c, "256", "1024+4 1028+1020");
	assert_int_equal(c.tree.node[0], 512);
}

/* The most that one fault can bring to 2 MB: where each level waits for it with one block on the other side,
 * all but those five blocks [uvmsmart: invariants]. */
static void test_most_of_one_fault(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	fault(&c, "256", "1024+4 1028+60");
	fault(&c, "128", "512+4 516+60");
	fault(&c, "64", "256+4 260+60");
	fault(&c, "32", "128+4 132+60");
	fault(&c, "16", "64+4 68+60");
	fault(&c, "0", "0+4 4+60 192+64 320+192 576+448 1088+960");
	assert_int_equal(c.tree.node[0], 512);
	assert_int_equal(uvmp_mask_weight(&c.hint.pages) + 1, (32 - 5) * 16);
}

/* [uvmsmart: tbnp]: sixteen even blocks, then block 1. */
static void test_every_even_block(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	for (uint32_t b = 0; b < 32; b += 2) {
		char page[8];

		snprintf(page, sizeof(page), "%u", 16 * b);
		assert_int_equal(prefetch_case_decide(&c, page), UVMP_OK);
		assert_int_equal(c.hint.basic_blocks, (uint32_t)1 << b);
		prefetch_case_arrive(&c);
	}
	fault(&c, "16",
	      "64+4 68+60 192+64 320+64 448+64 576+64 704+64 832+64 960+64 1088+64 1216+64 1344+64 1472+64 "
	      "1600+64 1728+64 1856+64 1984+64");
	assert_int_equal(c.hint.basic_blocks, 0xaaaaaaaa);
}

/* [uvmsmart: transfer-split], the tree's row: several faults in several blocks. */
static void test_batch_over_blocks(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	fault(&c, "2,5,31,32", "0+12 12+12 24+104 128+4 132+124");
	assert_int_equal(c.hint.basic_blocks, 0xf);
}

/* Exactly half does nothing; what is in flight weighs as what has arrived. */
static void test_more_than_half(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
	fault(&c, "0,16,32,48", "0+4 4+64 68+64 132+64 196+60");
	assert_int_equal(c.hint.basic_blocks, 0xf);
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
	assert_int_equal(prefetch_case_decide(&c, "0,16"), UVMP_OK);
	uvmp_mask_or(&c.pending, &c.hint.pages, &c.faulted);
	assert_int_equal(prefetch_case_decide(&c, "32"), UVMP_OK);
	assert_pages(&c.hint.pages, "33-63");
}

/* A partly valid leaf counts, but is passed over when its subtree is filled. */
static void test_partly_valid_leaves_stay(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		c.resident = page_text("0-47,50,100");
		uvmp_tree_assign(&c.tree, &c.resident);
		fault(&c, "80", "256+68 324+60 448+64");
		assert_int_equal(c.hint.basic_blocks, 0xb0);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 3), 1);
		assert_int_equal(c.tree.node[0], 98);
	}
}

static void test_smallest_tree(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 16);
	fault(&c, "3", "0+16 16+48");
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 16);
	fault(&c, "0-15", "0+4 4+4 8+4 12+4 16+4 20+4 24+4 28+4 32+4 36+4 40+4 44+4 48+4 52+4 56+4 60+4");
	assert_int_equal(c.hint.to, UVMP_PROC_NONE); /* nothing beside the faults */
	assert_int_equal(c.hint.basic_blocks, 1);
	assert_int_equal(c.tree.node[0], 16);
}

/* Neighbours that do not fill a common node are subtrees of their own, and so are nodes beside them. */
static void test_subtrees(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	fault(&c, "511", "1984+64");
	assert_subtree(&c, 500, 496, 512);
	fault(&c, "0,16,32,80", "0+4 4+64 68+64 132+192 324+188");
	assert_subtree(&c, 1, 0, 128);
	assert_subtree(&c, 100, 0, 128);
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 512);
	fault(&c, "16,32", "64+4 68+64 132+60");
	assert_subtree(&c, 31, 16, 32);
	assert_subtree(&c, 33, 32, 48);
	prefetch_case_init(&c, UVMP_PREFETCH_SL, 40);
	fault(&c, "16,39", "64+4 68+92");
	assert_subtree(&c, 17, 16, 32);
	assert_subtree(&c, 33, 32, 48);
}

/* [uvmsmart: ancestors-pass-full] is harmless here: the pass makes sums of the nodes above the leaves. */
static void test_full_ancestors_are_healed(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		fault(&c, "0,3", "0+4 4+12 16+48");
		assert_int_equal(c.tree.node[0], 16);
	}
}

/* [uvmsmart: partial-leaf-grows]: one page evicted and faulted again makes a leaf of 124 KB, which fills
 * the whole tree. */
static void test_partial_leaf_refault(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		fault(&c, "0", "0+4 4+60");
		uvmp_mask_clear(&c.resident, 0);
		uvmp_tree_sub(&c.tree, 0, 1, quirks);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 0), 15);
		fault(&c, "0", quirks ? "0+4 64+448" : "0+4");
		assert_int_equal(uvmp_tree_leaf(&c.tree, 0), quirks ? 31 : 16);
		assert_int_equal(c.tree.node[0], quirks ? 143 : 16);
		assert_int_equal(c.hint.to, quirks ? 1 : UVMP_PROC_NONE);
	}
}

/* [uvmsmart: user-prefetch-bypasses-tree]: pages that came without the tree's knowledge. Block 0 is chosen by
 * its fault; blocks 1 to 3 are there already. */
static void test_unknown_pages(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		c.resident = page_text("16-63");
		fault(&c, "0", "0+4 4+60");
		assert_int_equal(c.tree.node[0], quirks ? 16 : 64);
		fault(&c, "64", quirks ? "256+4 260+60" : "256+4 260+252");
	}
}

/* [uvmsmart: in-flight-requested-again]: the rest of block 0 is in flight and is requested again. */
static void test_pages_in_flight(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
		c.params.quirks = quirks;
		assert_int_equal(prefetch_case_decide(&c, "3"), UVMP_OK);
		assert_transfers(&c, "0+16 16+48");
		c.resident = page_text("0,2-3"); /* the first transfer arrived, page 1 was evicted */
		c.pending = page_text("4-15");
		uvmp_tree_sub(&c.tree, 1, 1, quirks);
		assert_int_equal(prefetch_case_decide(&c, "1"), UVMP_OK);
		assert_transfers(&c, quirks ? "4+4 16+496" : "4+4");
		assert_int_equal(c.hint.basic_blocks, quirks ? 0xff : 1);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 0), quirks ? 31 : 16);
	}
}

/* Masks may be missing; a page that is both resident and pending is resident. */
static void test_masks(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 16);
	c.pending = page_text("2,4");
	c.facts.resident = NULL;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_OK);
	assert_pages(&c.hint.pages, "1-15");
	c.facts.pending = NULL;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_OK);
	assert_pages(&c.hint.pages, "1-15");
	c.facts.resident = &c.resident;
	c.facts.pending = &c.pending;
	c.resident = page_text("2-3");
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_OK);
	assert_pages(&c.hint.pages, "1,4-15");
}

/* A block of 100 pages starting anywhere: seven basic blocks, the last of 4 pages, under a tree of eight. */
static void test_block_of_no_tree_shape(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_TBN, 100);
		assert_int_equal(uvmp_block_from_shape(100, 7, 16, &c.facts.block), UVMP_OK);
		c.params.quirks = quirks;
		c.resident = page_text("0-63");
		uvmp_tree_assign(&c.tree, &c.resident);
		fault(&c, "64", "256+4 260+140");
		assert_int_equal(c.hint.basic_blocks, 0x70);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 6), quirks ? 16 : 4);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 7), 0);
		assert_int_equal(c.tree.node[0], quirks ? 112 : 100);
	}
}

static void assert_refused(struct prefetch_case *c, const char *faulted, enum uvmp_status status)
{
	struct uvmp_tree before = c->tree;
	struct uvmp_prefetch_hint hint;

	memset(&c->hint, 0x5a, sizeof(c->hint));
	hint = c->hint;
	assert_int_equal(prefetch_case_decide(c, faulted), status);
	assert_memory_equal(&c->tree, &before, sizeof(before));
	assert_memory_equal(&c->hint, &hint, sizeof(hint));
}

/* [uvmsmart: prefetch-batch]: an empty batch does nothing; here it is no question at all. */
static void test_empty_batch_does_nothing(void **state)
{
	struct prefetch_case c;

	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		prefetch_case_init(&c, (bits & 1) != 0 ? UVMP_PREFETCH_TBN : UVMP_PREFETCH_SL, 32);
		c.params.quirks = (bits & 2) != 0;
		c.facts.is_follow = (bits & 4) != 0;
		c.facts.faulted_region.end = 32;
		uvmp_tree_set_leaf(&c.tree, 0, 24); /* would fill, or be set right */
		assert_refused(&c, "-", UVMP_ERR_RANGE);
	}
}

static void test_errors_change_nothing(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_TBN, 128);
	assert_int_equal(uvmp_prefetch_decide(&c.params, NULL, &c.state, &c.hint), UVMP_ERR_ARGUMENT);
	assert_refused(&c, "-", UVMP_ERR_RANGE);
	assert_refused(&c, "128", UVMP_ERR_RANGE);
	c.resident = page_text("7");
	assert_refused(&c, "6,7", UVMP_ERR_RANGE);
	c.resident = page_text("-");
	c.pending = page_text("7");
	assert_refused(&c, "6,7", UVMP_ERR_RANGE);
	c.pending = page_text("-");
	c.state.tree = NULL;
	assert_refused(&c, "6", UVMP_ERR_ARGUMENT);
	c.state.tree = &c.tree;
	c.tree.blocks = 7;
	assert_refused(&c, "6", UVMP_ERR_ARGUMENT);
	c.tree.blocks = 4; /* does not cover 128 pages */
	assert_refused(&c, "6", UVMP_ERR_ARGUMENT);
	c.tree.blocks = 16; /* more than needed is fine */
	assert_int_equal(prefetch_case_decide(&c, "6"), UVMP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_figure_first_example),
	        cmocka_unit_test(test_figure_second_example),
	        cmocka_unit_test(test_sequential_first_touch),
	        cmocka_unit_test(test_most_of_one_fault),
	        cmocka_unit_test(test_every_even_block),
	        cmocka_unit_test(test_batch_over_blocks),
	        cmocka_unit_test(test_more_than_half),
	        cmocka_unit_test(test_partly_valid_leaves_stay),
	        cmocka_unit_test(test_smallest_tree),
	        cmocka_unit_test(test_subtrees),
	        cmocka_unit_test(test_full_ancestors_are_healed),
	        cmocka_unit_test(test_partial_leaf_refault),
	        cmocka_unit_test(test_unknown_pages),
	        cmocka_unit_test(test_pages_in_flight),
	        cmocka_unit_test(test_masks),
	        cmocka_unit_test(test_block_of_no_tree_shape),
	        cmocka_unit_test(test_empty_batch_does_nothing),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
