/* Properties of evict.h on random histories: the recency list equals a plain array that is searched, nothing
 * is lost or doubled, and every victim was present. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/seed.h"
#include "model/naive_recency.h"
#include "uvmpolicy/evict.h"

#define UNITS_MAX 200u
#define HISTORIES 60
#define STEPS     400

static uint64_t seeds[2];

static void assert_same(const struct uvmp_recency *list, const struct naive_recency *naive)
{
	uint32_t forward = list->head, backward = list->tail;

	assert_true(uvmp_recency_is_valid(list));
	assert_int_equal(list->count, naive->count);
	for (uint32_t i = 0; i < naive->count; i++) {
		assert_int_equal(forward, naive->unit[i]);
		assert_int_equal(backward, naive->unit[naive->count - 1 - i]);
		forward = uvmp_recency_next(list, forward);
		backward = list->link[backward].prev;
	}
	assert_int_equal(forward, UVMP_UNIT_NONE);
	assert_int_equal(backward, UVMP_UNIT_NONE);
}

/* The unit of the next step: mostly inside, now and then beyond the end. */
static uint32_t any_unit(uint64_t *random, uint32_t units)
{
	return (uint32_t)uvmp_random_below(random, units + (uvmp_random_below(random, 16) == 0 ? 2 : 0));
}

static void recency_history(uint64_t *random)
{
	uint32_t units = 1 + (uint32_t)uvmp_random_below(random, UNITS_MAX);
	struct uvmp_recency_link link[UNITS_MAX];
	struct naive_recency naive;
	struct uvmp_recency list;

	naive_recency_init(&naive);
	assert_int_equal(uvmp_recency_init(&list, link, units), UVMP_OK);
	for (int step = 0; step < STEPS; step++) {
		uint32_t unit = any_unit(random, units);
		uint64_t what = uvmp_random_below(random, 8);

		if (what == 0)
			unit = list.head;
		if (what < 4) {
			uvmp_recency_remove(&list, unit);
			naive_recency_remove(&naive, unit);
		} else {
			uvmp_recency_touch(&list, unit);
			if (unit < units)
				naive_recency_touch(&naive, unit);
		}
		assert_int_equal(uvmp_recency_contains(&list, unit), naive_recency_find(&naive, unit) >= 0);
		if (step % 16 == 0)
			assert_same(&list, &naive);
	}
	assert_same(&list, &naive);
}

/* One order: the victim is the array's first (LRU) or any that is in it (random). */
static void evict_history(uint64_t *random, enum uvmp_evictor evictor)
{
	uint32_t units = 1 + (uint32_t)uvmp_random_below(random, UNITS_MAX);
	uint32_t memory[2 * UNITS_MAX];
	struct naive_recency naive;
	struct uvmp_evict evict;

	naive_recency_init(&naive);
	assert_int_equal(uvmp_evict_init(&evict, evictor, units, memory, sizeof(memory)), UVMP_OK);
	for (int step = 0; step < STEPS; step++) {
		uint32_t unit = any_unit(random, units), victim = UVMP_UNIT_NONE;
		uint64_t what = uvmp_random_below(random, 8);
		enum uvmp_status status, expected = unit < units ? UVMP_OK : UVMP_ERR_RANGE;

		if (what < 2) {
			assert_int_equal(uvmp_evict_remove(&evict, unit), expected);
			naive_recency_remove(&naive, unit);
		} else if (what < 6) {
			assert_int_equal(uvmp_evict_touch(&evict, unit), expected);
			if (expected == UVMP_OK)
				naive_recency_touch(&naive, unit);
		} else {
			status = uvmp_evict_victim(&evict, random, &victim);
			assert_int_equal(status, naive.count == 0 ? UVMP_ERR_NO_MEMORY : UVMP_OK);
			if (status != UVMP_OK)
				continue;
			assert_true(naive_recency_find(&naive, victim) >= 0);
			if (evictor != UVMP_EVICT_RANDOM_4K)
				assert_int_equal(victim, naive.unit[0]);
			assert_int_equal(uvmp_evict_remove(&evict, victim), UVMP_OK);
			naive_recency_remove(&naive, victim);
		}
		assert_true(uvmp_evict_is_valid(&evict));
		assert_int_equal(evict.count, naive.count);
	}
	/* conservation: drained one by one, exactly the units of the array come out */
	while (naive.count > 0) {
		uint32_t victim = UVMP_UNIT_NONE;

		assert_int_equal(uvmp_evict_victim(&evict, random, &victim), UVMP_OK);
		assert_true(naive_recency_find(&naive, victim) >= 0);
		naive_recency_remove(&naive, victim);
		uvmp_evict_remove(&evict, victim);
	}
	assert_int_equal(evict.count, 0);
}

static void recency(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < HISTORIES; i++)
			recency_history(&random);
	}
}

static void orders(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < HISTORIES; i++)
			for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++)
				evict_history(&random, (enum uvmp_evictor)evictor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(recency), cmocka_unit_test(orders)};

	seeds[0] = 20260101;
	seeds[1] = test_seed();
	return cmocka_run_group_tests_name("evict properties", tests, NULL, NULL);
}
