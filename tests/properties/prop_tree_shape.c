/* The reference of the density tree's shape, on random numbers of leaves. Runs from a fixed seed and from one
 * that changes and is printed; UVMP_TEST_SEED repeats it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/seed.h"
#include "vectors/reference/tree_shape.h"

#define ROUNDS 3000

static uint64_t seeds[2];

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

/* A level is what pairing up the level below gives; a branch is found by halving the complete tree from the
 * root down. */
static void tree(uint64_t *random)
{
	uint32_t bits = below(random, 25), leaves = 1 + below(random, 1u << bits),
		 leaf = below(random, leaves);
	struct tree_shape s;
	uint32_t width = leaves, stored = 0, first = 0, span = 1;

	assert_int_equal(tree_shape_init(leaves, &s), UVMP_OK);
	while (span < leaves)
		span *= 2;
	assert_int_equal(s.pow2, span);
	for (uint32_t level = s.levels; level-- > 0;) {
		assert_int_equal(tree_shape_level_nodes(&s, level), width);
		assert_int_equal(tree_shape_level_offset(&s, level), stored);
		stored += width;
		if (level > 0)
			width = width / 2 + width % 2;
	}
	assert_int_equal(width, 1);
	assert_int_equal(s.nodes, stored);
	for (uint32_t level = 0; level < s.levels; level++) {
		uint32_t end = first + span < leaves ? first + span : leaves;
		struct tree_branch b;

		assert_int_equal(tree_shape_branch(&s, leaf, level, &b), UVMP_OK);
		assert_int_equal(b.first, first);
		assert_int_equal(b.leaves, end - first);
		assert_int_equal(b.node, tree_shape_level_offset(&s, level) + first / span);
		span /= 2;
		if (leaf >= first + span)
			first += span;
	}
	assert_int_equal(span, 0);
}

static void trees(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < ROUNDS; i++)
			tree(&random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(trees)};

	seeds[0] = 20260101;
	seeds[1] = test_seed();
	return cmocka_run_group_tests_name("tree shape properties", tests, NULL, NULL);
}
