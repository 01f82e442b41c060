/* counter.h, UVM Smart's access counters: the examples of [uvmsmart: counter-register, access-counting,
 * round-trips], quirks [uvmsmart: retry-counted, counter-overflow]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/counter.h"
#include "vectors/reference/counter_tree.h"

static struct uvmp_counter_tree tree[3];

static void make(uint32_t blocks)
{
	assert_int_equal(uvmp_counter_tree_init(&tree[0], blocks), UVMP_OK);
}

static void set(uint32_t block, uint32_t count, uint32_t rounds)
{
	assert_int_equal(counter_tree_set(&tree[0], block, count, rounds), UVMP_OK);
}

static void touch(uint32_t block, bool is_write, bool quirks)
{
	struct uvmp_counter_access access = {.block = block, .is_write = is_write};

	assert_int_equal(uvmp_counter_record(tree, 1, &access, quirks), UVMP_OK);
}

static void check_leaf(uint32_t block, uint32_t count, uint32_t rounds)
{
	assert_int_equal(uvmp_counter_tree_count(&tree[0], block), count);
	assert_int_equal(uvmp_counter_tree_rounds(&tree[0], block), rounds);
}

static void check_node(uint32_t first, uint32_t blocks, uint32_t word, uint32_t marks)
{
	assert_int_equal(uvmp_counter_tree_word(&tree[0], first, blocks), word);
	assert_int_equal(uvmp_counter_tree_marks(&tree[0], first, blocks), marks);
}

static void test_init(void **state)
{
	static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		memset(tree, 0xff, sizeof(tree));
		make(sizes[i]);
		assert_true(uvmp_counter_tree_is_valid(&tree[0]));
		check_node(0, sizes[i], 0, 0);
		check_node(sizes[i] - 1u, 1, 0, 0);
	}
	assert_int_equal(uvmp_counter_tree_init(NULL, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_tree_init(&tree[0], 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_tree_init(&tree[0], 3), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_tree_init(&tree[0], 64), UVMP_ERR_RANGE);
	assert_int_equal(tree[0].blocks, 32);
	assert_false(uvmp_counter_tree_is_valid(NULL));
	tree[0].blocks = 5;
	assert_false(uvmp_counter_tree_is_valid(&tree[0]));
}

/* Every node above the block counts; marks are those of all blocks below. */
static void test_path(void **state)
{
	(void)state;
	make(8);
	for (int i = 0; i < 4; i++)
		touch(0, false, true);
	touch(1, true, true);
	touch(6, true, true);
	touch(6, false, true);
	check_node(0, 1, 4, UVMP_COUNTER_READ);
	check_node(1, 1, 1, UVMP_COUNTER_WRITTEN);
	check_node(0, 2, 5, 3);
	check_node(2, 2, 0, 0);
	check_node(0, 4, 5, 3);
	check_node(6, 1, 2, 3);
	check_node(7, 1, 0, 0);
	check_node(4, 4, 2, 3);
	check_node(0, 8, 7, 3);
	make(32);
	touch(31, true, true);
	check_node(31, 1, 1, UVMP_COUNTER_WRITTEN);
	check_node(0, 32, 1, UVMP_COUNTER_WRITTEN);
	check_node(0, 16, 0, 0);
}

/* [uvmsmart: access-counting]: 2^27-2, 2^27-1, and then everything is halved, the root's own access
 * included. */
static void test_saturation(void **state)
{
	(void)state;
	for (int quirks = 0; quirks < 2; quirks++) {
		make(32);
		set(0, 134217726, 0);
		set(9, 1001, 5);
		assert_int_equal(counter_tree_set_word(&tree[0], 0, 32, 134217738), UVMP_OK);
		touch(0, false, quirks);
		check_leaf(0, 134217727, 0);
		check_node(0, 32, 134217739, 1);
		touch(0, false, quirks);
		check_leaf(0, 67108864, 0);
		check_node(0, 32, 67108870, 1);
		check_leaf(9, 500, 5);
	}
}

/* The other trees are halved too; what is no tree is left alone. */
static void test_halving(void **state)
{
	struct uvmp_counter_access access = {.tree = 2};

	(void)state;
	for (uint32_t t = 0; t < 3; t++)
		assert_int_equal(uvmp_counter_tree_init(&tree[t], 2), UVMP_OK);
	set(1, 7, 31);
	assert_int_equal(counter_tree_set_word(&tree[0], 0, 2, UINT32_MAX), UVMP_OK);
	tree[1].node[1] = 7;
	tree[1].blocks = 0;
	assert_int_equal(counter_tree_set(&tree[2], 0, UVMP_COUNTER_COUNT_MAX, 0), UVMP_OK);
	assert_int_equal(uvmp_counter_record(tree, 3, &access, true), UVMP_OK);
	check_leaf(1, 3, 31);
	check_node(0, 2, UINT32_MAX / 2u, 0);
	assert_int_equal(tree[1].node[1], 7);
	assert_int_equal(uvmp_counter_tree_count(&tree[2], 0), 67108864);
	uvmp_counter_halve(NULL, 3);
	uvmp_counter_halve(tree, 0);
	check_leaf(1, 3, 31);
}

/* [uvmsmart: counter-overflow]: with round trips the count runs over into them; corrected, the field is
 * tested. */
static void test_overflow(void **state)
{
	(void)state;
	make(1);
	set(0, UVMP_COUNTER_COUNT_MAX, 3);
	touch(0, false, true);
	check_leaf(0, 0, 4);
	set(0, UVMP_COUNTER_COUNT_MAX, 31);
	touch(0, false, true);
	check_leaf(0, 0, 0);
	set(0, UVMP_COUNTER_COUNT_MAX, 31);
	touch(0, false, false);
	check_leaf(0, 67108864, 31);
}

/* [uvmsmart: round-trips, counter-overflow]: all leaves; 31 goes to 0, or stays. */
static void test_round_trips(void **state)
{
	(void)state;
	make(4);
	set(1, 5, 30);
	set(2, 6, 31);
	uvmp_counter_tree_round_trip(&tree[0], true);
	check_leaf(0, 0, 1);
	check_leaf(1, 5, 31);
	check_leaf(2, 6, 0);
	check_leaf(3, 0, 1);
	check_node(0, 4, 0, 0);
	uvmp_counter_tree_round_trip(&tree[0], false);
	uvmp_counter_tree_round_trip(&tree[0], false);
	check_leaf(1, 5, 31);
	check_leaf(2, 6, 2);
	/* in a tree of one block the root's word has the round trips as well [uvmsmart: eviction-list] */
	make(1);
	set(0, 4, 1);
	check_node(0, 1, (1u << 27) + 4u, 0);
}

/* [uvmsmart: retry-counted]: an access that was stalled. */
static void test_retry(void **state)
{
	struct uvmp_counter_access access = {.block = 0, .is_retry = true};

	(void)state;
	make(2);
	assert_int_equal(uvmp_counter_record(tree, 1, &access, false), UVMP_OK);
	check_node(0, 1, 0, 0);
	assert_int_equal(uvmp_counter_record(tree, 1, &access, true), UVMP_OK);
	check_node(0, 1, 1, UVMP_COUNTER_READ);
}

/* For the corrected form of [uvmsmart: written-mark-stays]. */
static void test_clear_marks(void **state)
{
	(void)state;
	make(2);
	touch(0, true, true);
	touch(1, false, true);
	uvmp_counter_tree_clear_marks(&tree[0], 0);
	check_node(0, 1, 1, 0);
	check_node(0, 2, 2, UVMP_COUNTER_READ);
	uvmp_counter_tree_clear_marks(&tree[0], 2);
	uvmp_counter_tree_clear_marks(NULL, 0);
	check_node(0, 2, 2, UVMP_COUNTER_READ);
	uvmp_counter_tree_clear_marks(&tree[0], 1);
	check_node(0, 2, 2, 0);
}

static void test_no_node(void **state)
{
	struct uvmp_counter_tree before;

	(void)state;
	make(8);
	touch(7, true, true);
	before = tree[0];
	check_node(8, 1, 0, 0);
	check_node(4, 8, 0, 0);
	check_node(0, 16, 0, 0);
	check_node(0, 3, 0, 0);
	check_node(0, 0, 0, 0);
	check_node(1, 2, 0, 0);
	assert_int_equal(uvmp_counter_tree_word(NULL, 0, 1), 0);
	assert_int_equal(uvmp_counter_tree_count(NULL, 0), 0);
	assert_int_equal(uvmp_counter_tree_rounds(&tree[0], 8), 0);
	assert_int_equal(uvmp_counter_tree_marks(NULL, 0, 1), 0);
	assert_int_equal(counter_tree_set_word(&tree[0], 1, 2, 9), UVMP_ERR_RANGE);
	assert_int_equal(counter_tree_set_word(NULL, 0, 1, 9), UVMP_ERR_ARGUMENT);
	assert_int_equal(counter_tree_set(NULL, 0, 1u << 27, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(counter_tree_set(&tree[0], 8, 0, 0), UVMP_ERR_RANGE);
	assert_int_equal(counter_tree_set(&tree[0], 0, 1u << 27, 0), UVMP_ERR_RANGE);
	assert_int_equal(counter_tree_set(&tree[0], 0, 0, 32), UVMP_ERR_RANGE);
	uvmp_counter_tree_round_trip(NULL, true);
	assert_memory_equal(&before, &tree[0], sizeof(before));
}

static void test_record_errors(void **state)
{
	struct uvmp_counter_access access = {.tree = 1, .block = 2};

	(void)state;
	make(2);
	assert_int_equal(uvmp_counter_tree_init(&tree[1], 2), UVMP_OK);
	assert_int_equal(uvmp_counter_record(NULL, 2, &access, true), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_record(tree, 2, NULL, true), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_record(tree, 1, &access, true), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_record(tree, 2, &access, true), UVMP_ERR_RANGE);
	access.block = 0; /* which tree 1 has, but the caller has no tree 1 */
	assert_int_equal(uvmp_counter_record(tree, 1, &access, true), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_record(tree, 0, &access, true), UVMP_ERR_RANGE);
	tree[1].blocks = 0;
	assert_int_equal(uvmp_counter_record(tree, 2, &access, true), UVMP_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_init),       cmocka_unit_test(test_path),
	        cmocka_unit_test(test_saturation), cmocka_unit_test(test_halving),
	        cmocka_unit_test(test_overflow),   cmocka_unit_test(test_round_trips),
	        cmocka_unit_test(test_retry),      cmocka_unit_test(test_clear_marks),
	        cmocka_unit_test(test_no_node),    cmocka_unit_test(test_record_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
