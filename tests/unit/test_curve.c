/* The memory-size curve: stack distances against a list that is searched, misses against a cache that is simulated, the table of
 * sparse units, sizes, and which policies are stack algorithms. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "curve/curve.h"
#include "curve/lru_stack.h"
#include "curve/unit_index.h"
#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

#define UNITS 300u

static uint32_t draw(uint64_t *random, uint32_t below)
{
	return (uint32_t)uvmp_random_below(random, below);
}

/* Most recent first. */
struct naive {
	uint32_t unit[UNITS];
	uint32_t count;
};

/* The distance, 0 for a first access; moves the unit to the front. */
static uint64_t naive_access(struct naive *list, uint32_t unit)
{
	uint32_t at = 0, distance;

	while (at < list->count && list->unit[at] != unit)
		at++;
	distance = at < list->count ? at + 1u : 0;
	if (distance == 0)
		list->count++;
	memmove(list->unit + 1, list->unit, at * sizeof(*list->unit));
	list->unit[0] = unit;
	return distance;
}

static void distances_are_those_of_a_list(void **state)
{
	uint64_t random = test_seed();

	(void)state;
	for (uint32_t units = 1; units <= UNITS; units += 13) {
		struct naive list = {.count = 0};
		struct lru_stack stack;

		assert_true(lru_stack_open(&stack, units));
		for (uint32_t i = 0; i < 20u * UNITS; i++) {
			uint32_t unit = draw(&random, i % 3u != 0 ? units : (units + 7u) / 8u);
			uint64_t distance;

			assert_true(lru_stack_access(&stack, unit, &distance));
			assert_int_equal(distance, naive_access(&list, unit));
			assert_int_equal(stack.live, list.count);
		}
		lru_stack_close(&stack);
	}
}

/* A stack that grows with the units has the distances of one that has had them from the start. */
static void a_stack_may_grow(void **state)
{
	uint64_t random = test_seed();
	struct naive list = {.count = 0};
	struct lru_stack stack;

	(void)state;
	assert_true(lru_stack_open(&stack, 0));
	for (uint32_t i = 1; i < 10u * UNITS; i++) {
		uint32_t units = i / 10u + 1u, unit = draw(&random, units);
		uint64_t distance;

		assert_true(units <= stack.units || lru_stack_grow(&stack, units));
		assert_true(lru_stack_access(&stack, unit, &distance));
		assert_int_equal(distance, naive_access(&list, unit));
	}
	lru_stack_close(&stack);
}

/* Misses of a cache of `capacity` units that evicts the least recently used one. */
static uint64_t misses(const uint32_t *access, uint32_t count, uint32_t capacity)
{
	struct naive list = {.count = 0};
	uint64_t missed = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t distance = naive_access(&list, access[i]);

		missed += distance == 0;
		if (list.count > capacity)
			list.count = capacity;
	}
	return missed;
}

static void one_pass_has_the_misses_of_every_size(void **state)
{
	enum { ACCESSES = 3000 };
	static uint32_t access[ACCESSES];
	uint64_t random = test_seed();
	struct lru_histogram histogram = {.count = NULL};
	struct lru_stack stack;

	(void)state;
	assert_true(lru_stack_open(&stack, UNITS));
	for (uint32_t i = 0; i < ACCESSES; i++) {
		uint64_t distance;

		access[i] = draw(&random, i % 2u != 0 ? UNITS : 40u);
		assert_true(lru_stack_access(&stack, access[i], &distance));
		assert_true(lru_histogram_add(&histogram, distance));
	}
	for (uint32_t capacity = 1; capacity <= UNITS + 5u; capacity++)
		assert_int_equal(histogram.count[0] + lru_histogram_above(&histogram, capacity),
				 misses(access, ACCESSES, capacity));
	assert_int_equal(histogram.accesses, ACCESSES);
	assert_int_equal(histogram.count[0], stack.live);
	lru_histogram_close(&histogram);
	lru_stack_close(&stack);
}

static void sparse_units_have_one_index_each(void **state)
{
	uint64_t random = test_seed();
	struct unit_index index = {.count = 0};
	static uint32_t number[5000], unit[5000];
	uint32_t at;

	(void)state;
	for (uint32_t i = 0; i < 5000u; i++) {
		unit[i] = draw(&random, 4000u) * 257u;
		assert_true(unit_index_find(&index, unit[i], &number[i]));
		assert_true(number[i] < index.count);
	}
	for (uint32_t i = 0; i < 5000u; i++) {
		assert_true(unit_index_find(&index, unit[i], &at));
		assert_int_equal(at, number[i]);
		assert_int_equal(number[i] == number[0], unit[i] == unit[0]);
	}
	unit_index_close(&index);
}

static void sizes_are_whole_and_ascend(void **state)
{
	const uint64_t mib = 1048576u;
	struct curve_sizes sizes = {.points = 4};
	uint64_t size[CURVE_POINTS_MAX];

	(void)state;
	assert_int_equal(curve_sizes_of(&sizes, 32 * mib, size), 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(size[i], 8 * mib * (i + 1));
	assert_int_equal(curve_sizes_of(&sizes, 5 * mib, size), 3); /* 2, 4, 6: each once */
	assert_int_equal(size[2], 6 * mib);
	assert_int_equal(curve_sizes_of(&sizes, 1, size), 1);
	assert_int_equal(size[0], 2 * mib);
	assert_int_equal(curve_sizes_of(&sizes, 0, size), 1);
	sizes = (struct curve_sizes){.given = {9 * mib, 3 * mib, 8 * mib, 64 * mib}, .count = 4};
	assert_int_equal(curve_sizes_of(&sizes, 32 * mib, size), 3);
	assert_int_equal(size[0], 2 * mib);
	assert_int_equal(size[1], 8 * mib);
	assert_int_equal(size[2], 64 * mib);
}

static void only_lru_on_demand_is_a_stack_algorithm(void **state)
{
	static const struct {
		const char *text;
		bool is_stack;
	} policies[] = {
		{"prefetch=none evict=lru4k", true},
		{"prefetch=none evict=lru4k batch=1", true},
		{"prefetch=none evict=lru4k thrash=off counters=off", true},
		{"preset=uvmsmart-none", true},
		{"prefetch=none evict=lru4k counters=on", false},
		{"prefetch=none evict=lru4k reserve=10", false},
		{"prefetch=none evict=lru4k free_buffer=5", false},
		{"prefetch=none evict=lru4k memory_ratio=150", false},
		{"prefetch=none evict=random4k", false},
		{"prefetch=none evict=lru2m", false},
		{"prefetch=none evict=lru", false},
		{"prefetch=none evict=tbne", false},
		{"evict=lru4k", false},
		{"preset=nvidia-595", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const char *reason = NULL;
		struct uvmp_policy policy;

		assert_int_equal(uvmp_policy_parse(policies[i].text, strlen(policies[i].text), &policy, NULL),
				 UVMP_OK);
		if (curve_is_stack(&policy, &reason) != policies[i].is_stack)
			fail_msg("%s", policies[i].text);
		assert_int_equal(reason == NULL, policies[i].is_stack);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_are_those_of_a_list),
		cmocka_unit_test(a_stack_may_grow),
		cmocka_unit_test(one_pass_has_the_misses_of_every_size),
		cmocka_unit_test(sparse_units_have_one_index_each),
		cmocka_unit_test(sizes_are_whole_and_ascend),
		cmocka_unit_test(only_lru_on_demand_is_a_stack_algorithm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
