/* Unit tests of uvmp_evict_tbn_closure (evict.h): the worked examples of [uvmsmart: victim-selection]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/evict.h"

#define ALL 0xffffffffu

/* A tree with these pages in its leaves. Inner nodes stay 0: the closure computes them. */
static struct uvmp_tree tree_of(uint32_t blocks, const uint32_t *pages)
{
	struct uvmp_tree tree;

	assert_int_equal(uvmp_tree_init(&tree, blocks), UVMP_OK);
	for (uint32_t b = 0; b < blocks; b++)
		uvmp_tree_set_leaf(&tree, b, pages[b]);
	return tree;
}
#define TREE(...)                                                                                            \
	tree_of(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* A block that is not full, or not evictable, stays, and its pages count. */
static void test_partial(void **state)
{
	struct uvmp_tree tree = TREE(16, 5, 0, 0, 0, 16, 0, 0);

	(void)state;
	assert_int_equal(uvmp_evict_tbn_closure(&tree, ALL & ~1u), 1u << 5);
	assert_int_equal(tree.node[0], 21);
	assert_int_equal(uvmp_tree_leaf(&tree, 0), 16);
	assert_int_equal(uvmp_tree_leaf(&tree, 1), 5);
	assert_int_equal(uvmp_tree_leaf(&tree, 5), 0);
}

/* Exactly half stays; below half the subtree loses its full blocks. */
static void test_half(void **state)
{
	struct uvmp_tree half = TREE(0, 16, 16, 0), less = TREE(0, 0, 16, 0, 0, 16, 0, 0);

	(void)state;
	assert_int_equal(uvmp_evict_tbn_closure(&half, ALL), 0);
	assert_int_equal(half.node[0], 32);
	assert_int_equal(uvmp_evict_tbn_closure(&less, ALL), 1u << 2 | 1u << 5);
	assert_int_equal(less.node[0], 0);
}

/* A tree that is not valid, of one block, or empty has no further victims. */
static void test_none(void **state)
{
	struct uvmp_tree one = TREE(16), empty = TREE(0, 0), bad = {.blocks = 3};

	(void)state;
	assert_int_equal(uvmp_evict_tbn_closure(NULL, ALL), 0);
	assert_int_equal(uvmp_evict_tbn_closure(&bad, ALL), 0);
	assert_int_equal(uvmp_evict_tbn_closure(&one, ALL), 0);
	assert_int_equal(uvmp_evict_tbn_closure(&empty, ALL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_partial),
	        cmocka_unit_test(test_half),
	        cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests_name("TBNe closure", tests, NULL, NULL);
}
