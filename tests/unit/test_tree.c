/* tree.h: shapes, single leaves, the two updates of [uvmsmart: tree-updates] with their quirks
 * [uvmsmart: ancestors-pass-full, partial-leaf-grows] and in the clean form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "support/page_text.h"
#include "uvmpolicy/tree.h"

static struct uvmp_tree tree_of(uint32_t blocks)
{
	struct uvmp_tree tree;

	assert_int_equal(uvmp_tree_init(&tree, blocks), UVMP_OK);
	return tree;
}

static void test_shapes(void **state)
{
	struct uvmp_tree tree = {.blocks = 99};

	(void)state;
	for (uint32_t blocks = 0; blocks < 70; blocks++) {
		bool is_shape = blocks == 1 || blocks == 2 || blocks == 4 || blocks == 8 || blocks == 16 ||
		                blocks == 32;

		tree.blocks = 99;
		assert_int_equal(uvmp_tree_init(&tree, blocks), is_shape ? UVMP_OK : UVMP_ERR_RANGE);
		assert_int_equal(tree.blocks, is_shape ? blocks : 99); /* nothing changed on error */
		tree.blocks = blocks;
		assert_int_equal(uvmp_tree_is_valid(&tree), is_shape);
	}
	assert_int_equal(uvmp_tree_init(NULL, 4), UVMP_ERR_ARGUMENT);
	assert_false(uvmp_tree_is_valid(NULL));
}

static void test_a_new_tree_is_empty(void **state)
{
	struct uvmp_tree tree = tree_of(32);

	(void)state;
	for (uint32_t i = 0; i < UVMP_TREE_NODES_MAX; i++)
		assert_int_equal(tree.node[i], 0);
}

static void test_leaf(void **state)
{
	struct uvmp_tree tree = tree_of(4);

	(void)state;
	uvmp_tree_set_leaf(&tree, 2, 7);
	assert_int_equal(uvmp_tree_leaf(&tree, 2), 7);
	assert_int_equal(tree.node[5], 7); /* leaf of block b is node blocks - 1 + b */
	assert_int_equal(tree.node[0], 0); /* and nothing else */
	uvmp_tree_set_leaf(&tree, 4, 9);
	assert_int_equal(uvmp_tree_leaf(&tree, 4), 0);
	assert_int_equal(tree.node[7], 0);
}

static void test_recompute_and_assign(void **state)
{
	struct uvmp_tree tree = tree_of(4);
	uvmp_mask pages = page_text("0-15,17,40-47,63,64-70");

	(void)state;
	for (uint32_t b = 0; b < 4; b++)
		uvmp_tree_set_leaf(&tree, b, b + 1);
	uvmp_tree_recompute(&tree);
	assert_int_equal(tree.node[1], 3);
	assert_int_equal(tree.node[2], 7);
	assert_int_equal(tree.node[0], 10);
	uvmp_tree_assign(&tree, NULL);
	assert_int_equal(tree.node[0], 10);
	uvmp_tree_assign(&tree, &pages); /* pages behind the tree do not count */
	assert_int_equal(uvmp_tree_leaf(&tree, 0), 16);
	assert_int_equal(uvmp_tree_leaf(&tree, 1), 1);
	assert_int_equal(uvmp_tree_leaf(&tree, 2), 8);
	assert_int_equal(uvmp_tree_leaf(&tree, 3), 1);
	assert_int_equal(tree.node[1], 17);
	assert_int_equal(tree.node[2], 9);
	assert_int_equal(tree.node[0], 26);
}

/* [uvmsmart: tree-updates]: only the nodes between the root and the leaf change. */
static void test_a_page_changes_its_path_only(void **state)
{
	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct uvmp_tree tree = tree_of(8);

		uvmp_tree_add(&tree, 5 * 16 + 3, 2, quirks);
		for (uint32_t i = 0; i < 15; i++)
			assert_int_equal(tree.node[i], i == 0 || i == 2 || i == 5 || i == 12 ? 2 : 0);
		uvmp_tree_sub(&tree, 5 * 16 + 9, 1, quirks);
		for (uint32_t i = 0; i < 15; i++)
			assert_int_equal(tree.node[i], i == 0 || i == 2 || i == 5 || i == 12 ? 1 : 0);
	}
}

/* [uvmsmart: ancestors-pass-full]: a full node gains nothing, the ones above it do. */
static void test_a_block_added_twice(void **state)
{
	struct uvmp_tree tree = tree_of(2);

	(void)state;
	uvmp_tree_add(&tree, 0, 16, true);
	uvmp_tree_add(&tree, 3, 16, true);
	assert_int_equal(uvmp_tree_leaf(&tree, 0), 16);
	assert_int_equal(tree.node[0], 32);
	uvmp_tree_add(&tree, 16, 16, true); /* the root counts as full already */
	assert_int_equal(uvmp_tree_leaf(&tree, 1), 16);
	assert_int_equal(tree.node[0], 32);

	tree = tree_of(2);
	uvmp_tree_add(&tree, 0, 16, false);
	uvmp_tree_add(&tree, 3, 16, false);
	assert_int_equal(uvmp_tree_leaf(&tree, 0), 16);
	assert_int_equal(tree.node[0], 16);
}

/* [uvmsmart: partial-leaf-grows]: nothing is clamped. */
static void test_values_pass_their_limits(void **state)
{
	struct uvmp_tree tree = tree_of(1);

	(void)state;
	uvmp_tree_add(&tree, 0, 15, true);
	uvmp_tree_add(&tree, 0, 16, true);
	assert_int_equal(tree.node[0], 31); /* 124 KB in a leaf of 64 KB */
	tree = tree_of(2);
	uvmp_tree_add(&tree, 0, 1, true);
	uvmp_tree_sub(&tree, 0, 16, true);
	assert_int_equal(tree.node[0], (uint32_t)-15);
	assert_int_equal(tree.node[1], (uint32_t)-15);
	uvmp_tree_sub(&tree, 16, 16, true); /* an empty leaf stays empty, the root wraps further */
	assert_int_equal(tree.node[2], 0);
	assert_int_equal(tree.node[0], (uint32_t)-31);
}

static void test_clean_values_are_clamped(void **state)
{
	struct uvmp_tree tree = tree_of(2);

	(void)state;
	uvmp_tree_add(&tree, 0, 15, false);
	uvmp_tree_add(&tree, 0, 1, false);
	assert_int_equal(tree.node[1], 16);
	uvmp_tree_add(&tree, 0, 16, false);
	uvmp_tree_add(&tree, 0, UINT32_MAX, false);
	assert_int_equal(tree.node[1], 16);
	assert_int_equal(tree.node[0], 16);
	uvmp_tree_sub(&tree, 0, 17, false);
	assert_int_equal(tree.node[1], 0);
	assert_int_equal(tree.node[0], 0);
	uvmp_tree_set_leaf(&tree, 1, 400); /* what quirks have left behind */
	uvmp_tree_add(&tree, 16, 1, false);
	assert_int_equal(tree.node[2], 16);
	assert_int_equal(tree.node[0], 16);
	uvmp_tree_sub(&tree, 16, 16, false);
	assert_int_equal(tree.node[0], 0);
}

/* No tree, a broken tree, a page or block outside: nothing happens. */
static void test_outside(void **state)
{
	struct uvmp_tree tree = tree_of(4), before, broken[4];
	const uint32_t shapes[4] = {0, 3, 33, 64};
	uvmp_mask all = page_text("0-511");

	(void)state;
	before = tree;
	for (int quirks = 0; quirks <= 1; quirks++) {
		uvmp_tree_add(&tree, 64, 1, quirks);
		uvmp_tree_sub(&tree, UINT32_MAX, 1, quirks);
		uvmp_tree_add(NULL, 0, 1, quirks);
		uvmp_tree_sub(NULL, 0, 1, quirks);
	}
	assert_memory_equal(&tree, &before, sizeof(tree));
	uvmp_tree_set_leaf(NULL, 0, 1);
	uvmp_tree_recompute(NULL);
	uvmp_tree_assign(NULL, &all);
	assert_int_equal(uvmp_tree_leaf(NULL, 0), 0);
	for (int i = 0; i < 4; i++) {
		memset(&broken[i], 0x55, sizeof(broken[i]));
		broken[i].blocks = shapes[i];
		before = broken[i];
		assert_int_equal(uvmp_tree_leaf(&broken[i], 0), 0);
		uvmp_tree_set_leaf(&broken[i], 0, 1);
		uvmp_tree_add(&broken[i], 0, 1, true);
		uvmp_tree_sub(&broken[i], 0, 1, false);
		uvmp_tree_recompute(&broken[i]);
		uvmp_tree_assign(&broken[i], &all);
		assert_memory_equal(&broken[i], &before, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_shapes),
	        cmocka_unit_test(test_a_new_tree_is_empty),
	        cmocka_unit_test(test_leaf),
	        cmocka_unit_test(test_recompute_and_assign),
	        cmocka_unit_test(test_a_page_changes_its_path_only),
	        cmocka_unit_test(test_a_block_added_twice),
	        cmocka_unit_test(test_values_pass_their_limits),
	        cmocka_unit_test(test_clean_values_are_clamped),
	        cmocka_unit_test(test_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
