/* The sequential-local prefetcher: examples of [uvmsmart: sequential-local, transfer-split], quirks
 * [uvmsmart: ancestors-pass-full, partial-leaf-grows, in-flight-requested-again] and the clean form,
 * errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_case.h"

static void decide(struct prefetch_case *c, const char *faulted, const char *pages, uint32_t basic_blocks)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(prefetch_case_decide(c, faulted), UVMP_OK);
	assert_memory_equal(&c->hint.pages, &expected, sizeof(expected));
	assert_int_equal(c->hint.basic_blocks, basic_blocks);
	assert_int_equal(c->hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_true(c->hint.follow == UVMP_PAGE_NONE);
	prefetch_case_arrive(c);
}

/* [uvmsmart: transfer-split]: the rest of the faulting block, wherever in it the fault was. */
static void test_rest_of_the_block(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SL, 512);
	decide(&c, "3", "0-2,4-15", 1);
	decide(&c, "31", "16-30", 2);
	decide(&c, "32,35", "33-34,36-47", 4);
	decide(&c, "496,511", "497-510", 1u << 31);
	decide(&c, "64-79", "-", 1u << 4);
}

/* However full the tree is, nothing but the faulting blocks comes. */
static void test_nothing_is_filled(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_SL, 128);
		c.params.quirks = quirks;
		decide(&c, "0", "1-15", 1);
		decide(&c, "16", "17-31", 2);
		decide(&c, "32", "33-47", 4);
		assert_int_equal(c.tree.node[0], 48);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 3), 0);
	}
}

static void test_resident_pages_stay(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SL, 32);
	c.resident = page_text("1-3,20");
	decide(&c, "0,21", "4-19,22-31", 3);
}

/* [uvmsmart: ancestors-pass-full]: root 128 KB with one block resident, for good; the clean tree holds
 * 64 KB. */
static void test_two_faults_in_a_block(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_SL, 128);
		c.params.quirks = quirks;
		decide(&c, "0,3", "1-2,4-15", 1);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 0), 16);
		assert_int_equal(c.tree.node[0], quirks ? 32 : 16);
	}
}

/* [uvmsmart: partial-leaf-grows]: a page of a full block faults again;
 * [uvmsmart: in-flight-requested-again]: the others are in flight. */
static void test_partial_leaf_refault(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_SL, 32);
		c.params.quirks = quirks;
		assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_OK);
		c.pending = page_text("1-9");
		c.resident = page_text("10-14"); /* 0 and 15 have come and gone */
		uvmp_tree_sub(&c.tree, 0, 1, quirks);
		uvmp_tree_sub(&c.tree, 15, 1, quirks);
		decide(&c, "0", quirks ? "1-9,15" : "15", 1);
		assert_int_equal(uvmp_tree_leaf(&c.tree, 0), quirks ? 30 : 16);
	}
}

/* Without quirks the tree equals the resident pages, independent of its former values [uvmsmart:
 * user-prefetch-bypasses-tree]. */
static void test_clean_tree_counts_what_is_there(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SL, 100);
	c.params.quirks = false;
	c.resident = page_text("20-25");
	c.pending = page_text("26,64");
	uvmp_tree_set_leaf(&c.tree, 3, 16);
	decide(&c, "98", "96-97,99", 1u << 6);
	assert_int_equal(uvmp_tree_leaf(&c.tree, 1), 7);
	assert_int_equal(uvmp_tree_leaf(&c.tree, 3), 0);
	assert_int_equal(uvmp_tree_leaf(&c.tree, 4), 1);
	assert_int_equal(uvmp_tree_leaf(&c.tree, 6), 4);
	assert_int_equal(c.tree.node[0], 12);
}

static void test_errors_change_nothing(void **state)
{
	struct prefetch_case c;
	struct uvmp_tree before;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SL, 32);
	before = c.tree;
	c.resident = page_text("4");
	assert_int_equal(prefetch_case_decide(&c, "4"), UVMP_ERR_RANGE);
	assert_int_equal(prefetch_case_decide(&c, "40"), UVMP_ERR_RANGE);
	c.state.tree = NULL;
	assert_int_equal(prefetch_case_decide(&c, "5"), UVMP_ERR_ARGUMENT);
	assert_memory_equal(&c.tree, &before, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_rest_of_the_block),
	        cmocka_unit_test(test_nothing_is_filled),
	        cmocka_unit_test(test_resident_pages_stay),
	        cmocka_unit_test(test_two_faults_in_a_block),
	        cmocka_unit_test(test_partial_leaf_refault),
	        cmocka_unit_test(test_clean_tree_counts_what_is_there),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
