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
#include "uvmpolicy/smart_evict.h"

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
	gone = uvmp_smart_evict_closure(&tree, evictable);
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
	assert_int_equal(uvmp_smart_evict_closure(&tree, evictable), 0);
	assert_memory_equal(&tree, &before, sizeof(tree));
}

/* The O(1) order of evict.h names the victims that the sorted list names, with cycles that differ. */
static void order_in_groups(uint64_t *random)
{
	static _Alignas(uint64_t) unsigned char memory[65536], group_memory[4096];
	uint32_t trees = 1 + (uint32_t)uvmp_random_below(random, 5), units = 4 * trees;
	struct uvmp_smart_evict e;
	struct uvmp_grouped list;

	assert_int_equal(
	        uvmp_smart_evict_init(&e, UVMP_SMART_SL, 1000, trees, 64 * trees, memory, sizeof(memory)),
	        UVMP_OK);
	assert_int_equal(uvmp_grouped_init(&list, units, 4, group_memory, sizeof(group_memory)), UVMP_OK);
	for (uint32_t i = 0; i < trees; i++) {
		assert_int_equal(uvmp_smart_evict_add_tree(&e, 4), UVMP_OK);
		uvmp_mask_region_set(&e.tree[i].valid, (struct uvmp_region){0, 64});
	}
	for (uint64_t now = 1; now < 120; now++) {
		uint32_t unit = (uint32_t)uvmp_random_below(random, units);
		struct uvmp_smart_choice choice;

		if (uvmp_random_below(random, 4) != 0) {
			uvmp_grouped_touch(&list, unit);
			assert_int_equal(uvmp_smart_evict_touch(&e, unit / 4, unit % 4 * 16, now), UVMP_OK);
			continue;
		}
		/* mostly the victim leaves, now and then another one first */
		if (uvmp_random_below(random, 2) != 0) {
			for (uint32_t p = 0; p < 64; p++) /* all but this unit are pinned */
				for (uint32_t i = 0; i < trees; i++)
					if (i != unit / 4 || p / 16 != unit % 4)
						uvmp_mask_set(&e.tree[i].pinned, p);
		}
		assert_int_equal(uvmp_smart_evict_select(&e, NULL, &choice), UVMP_OK);
		if (uvmp_mask_is_empty(&e.tree[0].pinned) && uvmp_mask_is_empty(&e.tree[trees - 1].pinned))
			assert_int_equal(uvmp_grouped_oldest(&list),
			                 choice.ranges == 0 ? UVMP_UNIT_NONE
			                                    : choice.tree * 4 + choice.page / 16);
		if (choice.ranges != 0)
			uvmp_grouped_remove(&list, choice.tree * 4 + choice.page / 16);
		assert_int_equal(list.count, e.entries);
		e.queued = 0;
		for (uint32_t i = 0; i < trees; i++) {
			uvmp_mask_zero(&e.tree[i].staged);
			uvmp_mask_zero(&e.tree[i].pinned);
		}
	}
}

/* The same for LFU: one tree of one block a unit. */
static void order_by_frequency(uint64_t *random)
{
	static _Alignas(uint64_t) unsigned char memory[65536], heap_memory[1024];
	struct uvmp_counter_tree counter[30];
	uint32_t trees = 1 + (uint32_t)uvmp_random_below(random, 30);
	struct uvmp_smart_evict e;
	struct uvmp_frequency list;

	assert_int_equal(
	        uvmp_smart_evict_init(&e, UVMP_SMART_LFU_2M, 1000, trees, 16 * trees, memory, sizeof(memory)),
	        UVMP_OK);
	assert_int_equal(uvmp_frequency_init(&list, trees, heap_memory, sizeof(heap_memory)), UVMP_OK);
	e.counter = counter;
	for (uint32_t i = 0; i < trees; i++) {
		assert_int_equal(uvmp_smart_evict_add_tree(&e, 1), UVMP_OK);
		assert_int_equal(uvmp_counter_tree_init(&counter[i], 1), UVMP_OK);
		uvmp_mask_region_set(&e.tree[i].valid, (struct uvmp_region){0, 16});
	}
	for (uint64_t now = 1; now < 200; now++) {
		struct uvmp_counter_access access = {(uint32_t)uvmp_random_below(random, trees), 0,
		                                     now % 5 == 0, false};
		struct uvmp_smart_choice choice;
		uint32_t what = (uint32_t)uvmp_random_below(random, 20);

		if (what > 4) {
			uint32_t t = access.tree;

			assert_int_equal(uvmp_counter_record(counter, trees, &access, true), UVMP_OK);
			assert_int_equal(uvmp_smart_evict_touch(&e, t, 0, now), UVMP_OK);
			uvmp_frequency_touch(&list, t,
			                     4 * (uint64_t)uvmp_counter_tree_word(&counter[t], 0, 1) +
			                             uvmp_counter_tree_marks(&counter[t], 0, 1));
			continue;
		}
		if (what == 0) {
			uvmp_counter_halve(counter, trees);
			for (uint32_t t = 0; t < trees; t++)
				uvmp_frequency_set(&list, t,
				                   4 * (uint64_t)uvmp_counter_tree_word(&counter[t], 0, 1) +
				                           uvmp_counter_tree_marks(&counter[t], 0, 1));
			continue;
		}
		assert_int_equal(uvmp_smart_evict_select(&e, NULL, &choice), UVMP_OK);
		assert_int_equal(uvmp_frequency_least(&list),
		                 choice.ranges == 0 ? UVMP_UNIT_NONE : choice.tree);
		uvmp_frequency_remove(&list, uvmp_frequency_least(&list));
		assert_int_equal(list.count, e.entries);
		e.queued = 0;
		uvmp_mask_zero(&e.tree[choice.tree].staged);
	}
}

static void test_order_by_frequency(void **state)
{
	(void)state;
	for_both_seeds(order_by_frequency);
}

static void test_order_in_groups(void **state)
{
	(void)state;
	for_both_seeds(order_in_groups);
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
	        cmocka_unit_test(test_order_in_groups),
	        cmocka_unit_test(test_order_by_frequency),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests_name("UVM Smart eviction properties", tests, NULL, NULL);
}
