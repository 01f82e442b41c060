/* UVM Smart's eviction: equality with the naive model on random scripts, and what must hold of any eviction.
 * Each property runs from a fixed seed and from one that changes and is printed; UVMP_TEST_SEED repeats a
 * run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/seed.h"
#include "model/smart_evict_case.h"
#include "uvmpolicy/evict.h"
#include "vectors/reference/smart_evict.h"

#define FIXED_SEED 20190622u
#define ROUNDS     400

static uint64_t printed_seed;

static void for_both_seeds(void (*property)(uint64_t *random))
{
	uint64_t seeds[2] = {FIXED_SEED, printed_seed};

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < ROUNDS; i++)
			property(&seeds[s]);
}

static void equality_with_the_naive_model(uint64_t *random)
{
	uint8_t script[500];
	size_t size = 5 + (size_t)uvmp_random_below(random, sizeof(script) - 5);

	for (size_t i = 0; i < size; i++)
		script[i] = (uint8_t)uvmp_random_next(random);
	if (!smart_evict_case_run(script, size)) {
		for (size_t i = 0; i < size; i++)
			printf("%02x", script[i]);
		printf("\n");
		fail();
	}
}

/* The closure of any tree with whole blocks: nothing that may not leave leaves, every inner node is empty, at
 * least half full, or holds something that may not leave; doing it again changes nothing then. */
static void closure(uint64_t *random)
{
	struct uvmp_tree tree, before;
	uint32_t blocks = 1u << uvmp_random_below(random, 6);
	uint32_t evictable = (uint32_t)uvmp_random_next(random) | (uint32_t)uvmp_random_next(random), gone;

	assert_int_equal(uvmp_tree_init(&tree, blocks), UVMP_OK);
	for (uint32_t b = 0; b < blocks; b++)
		uvmp_tree_set_leaf(&tree, b, uvmp_random_below(random, 2) != 0 ? 16 : 0);
	before = tree;
	gone = uvmp_evict_tbn_closure(&tree, evictable);
	assert_int_equal(gone & ~evictable, 0);
	for (uint32_t b = 0; b < blocks; b++)
		assert_int_equal(uvmp_tree_leaf(&tree, b),
		                 (gone >> b & 1u) != 0 ? 0 : uvmp_tree_leaf(&before, b));
	for (uint32_t leaves = 2; leaves <= blocks; leaves *= 2)
		for (uint32_t first = 0; first < blocks; first += leaves) {
			uint32_t value = tree.node[(blocks + first) / leaves - 1], stuck = 0;

			for (uint32_t b = first; b < first + leaves; b++)
				stuck += (evictable >> b & 1u) == 0 ? uvmp_tree_leaf(&tree, b) : 0;
			assert_true(value == stuck || value >= leaves * 8);
		}
	before = tree;
	assert_int_equal(uvmp_evict_tbn_closure(&tree, evictable), 0);
	assert_memory_equal(&tree, &before, sizeof(tree));
}

static void test_equality(void **state)
{
	(void)state;
	for_both_seeds(equality_with_the_naive_model);
}

static void test_closure(void **state)
{
	(void)state;
	for_both_seeds(closure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_equality),
	        cmocka_unit_test(test_closure),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests_name("UVM Smart eviction properties", tests, NULL, NULL);
}
