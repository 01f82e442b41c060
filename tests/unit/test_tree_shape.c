/* The reference of the density tree's shape: worked examples of [driver: tree-geometry], edges and bad input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "vectors/reference/tree_shape.h"

static struct tree_shape shape_of(uint32_t leaves)
{
	struct tree_shape s;

	assert_int_equal(tree_shape_init(leaves, &s), UVMP_OK);
	assert_int_equal(s.leaves, leaves);
	return s;
}

static void test_tree_examples(void **state)
{
	struct tree_shape one = shape_of(1), five = shape_of(5), many = shape_of(300);
	static const uint32_t nodes_of_5[] = {1, 2, 3, 5, 0, 0}, offset_of_5[] = {10, 8, 5, 0, 11, 11};

	(void)state;
	assert_int_equal(one.nodes, 1);
	assert_int_equal(one.levels, 1);
	assert_int_equal(one.pow2, 1);
	assert_int_equal(five.nodes, 11);
	assert_int_equal(five.levels, 4);
	assert_int_equal(five.pow2, 8);
	for (uint32_t level = 0; level < 6; level++) {
		assert_int_equal(tree_shape_level_nodes(&five, level), nodes_of_5[level]);
		assert_int_equal(tree_shape_level_offset(&five, level), offset_of_5[level]);
	}
	assert_int_equal(many.nodes, 603);
	assert_int_equal(many.levels, 10);
	assert_int_equal(many.pow2, 512);
	assert_int_equal(tree_shape_level_nodes(&many, UINT32_MAX), 0);
	assert_int_equal(tree_shape_level_offset(&many, UINT32_MAX), 603);
}

static void test_largest_tree(void **state)
{
	struct tree_shape s = shape_of(TREE_LEAVES_MAX);
	struct tree_branch b;

	(void)state;
	assert_int_equal(s.levels, 25);
	assert_int_equal(s.nodes, 2 * TREE_LEAVES_MAX - 1);
	assert_int_equal(tree_shape_branch(&s, TREE_LEAVES_MAX - 1, 0, &b), UVMP_OK);
	assert_int_equal(b.first, 0);
	assert_int_equal(b.leaves, TREE_LEAVES_MAX);
	assert_int_equal(b.node, s.nodes - 1);
}

/* Leaf 290 of 300: [288,300) at heights 4 and 5, [256,300) at 6 and 8, [0,300) at the root. */
static void test_branch_examples(void **state)
{
	static const uint32_t expected[][3] = {
		{4, 288, 12}, {5, 288, 12}, {6, 256, 44}, {8, 256, 44}, {9, 0, 300}};
	struct tree_shape s = shape_of(300);
	struct tree_branch b;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(tree_shape_branch(&s, 290, s.levels - 1 - expected[i][0], &b), UVMP_OK);
		assert_int_equal(b.first, expected[i][1]);
		assert_int_equal(b.leaves, expected[i][2]);
	}
	assert_int_equal(b.node, 602);
	assert_int_equal(tree_shape_branch(&s, 290, 9, &b), UVMP_OK);
	assert_int_equal(b.node, 290);
	assert_int_equal(b.leaves, 1);
	assert_int_equal(tree_shape_branch(&s, 290, 8, &b), UVMP_OK);
	assert_int_equal(b.node, 300 + 145);
}

static void test_bad_trees(void **state)
{
	struct tree_shape s = shape_of(300), bad[6];
	struct tree_branch b = {1, 2, 3};

	(void)state;
	assert_int_equal(tree_shape_init(5, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(tree_shape_init(0, &s), UVMP_ERR_RANGE);
	assert_int_equal(tree_shape_init(TREE_LEAVES_MAX + 1, &s), UVMP_ERR_RANGE);
	assert_int_equal(s.leaves, 300);
	assert_int_equal(tree_shape_branch(&s, 300, 0, &b), UVMP_ERR_RANGE);
	assert_int_equal(tree_shape_branch(&s, 0, 10, &b), UVMP_ERR_RANGE);
	assert_int_equal(tree_shape_branch(&s, 0, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(tree_shape_branch(NULL, 0, 0, &b), UVMP_ERR_ARGUMENT);
	assert_int_equal(tree_shape_level_nodes(NULL, 0), 0);
	assert_int_equal(tree_shape_level_offset(NULL, 0), 0);
	/* structures that were not initialised */
	for (size_t i = 0; i < 6; i++)
		bad[i] = s;
	bad[0].levels = 0;
	bad[1].levels = 26;
	bad[2].pow2 = 300;
	bad[3].leaves = 0;
	bad[4].leaves = 513;
	bad[5].leaves = 256; /* would be a smaller tree */
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(tree_shape_branch(&bad[i], 0, 0, &b), UVMP_ERR_ARGUMENT);
		assert_int_equal(tree_shape_level_nodes(&bad[i], 0), 0);
		assert_int_equal(tree_shape_level_offset(&bad[i], 0), 0);
	}
	assert_int_equal(b.first, 1);
	assert_int_equal(b.leaves, 2);
	assert_int_equal(b.node, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_examples),
		cmocka_unit_test(test_largest_tree),
		cmocka_unit_test(test_branch_examples),
		cmocka_unit_test(test_bad_trees),
	};

	return cmocka_run_group_tests_name("tree shapes", tests, NULL, NULL);
}
