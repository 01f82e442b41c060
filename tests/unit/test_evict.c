/* Unit tests of evict.h: the recency list, and each order behind the common interface. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "evict/evict_auto_internal.h"
#include "evict/evict_mhpe_internal.h"
#include "evict/grouped_internal.h"
#include "evict/clock2m_internal.h"
#include "evict/lfu2m_internal.h"
#include "uvmpolicy/evict.h"

#define UNITS 8u

/* Memory for an order over this many units, whichever order it is. */
#define MEMORY_WORDS(units) (80u + 5u * (units))

/* The whole list, oldest first, must be these `count` units; walked both ways. */
static void assert_order(const struct recency *list, const uint32_t *unit, uint32_t count)
{
	uint32_t at = uvmpi_recency_oldest(list);

	assert_true(uvmpi_recency_is_valid(list, count));
	for (uint32_t i = 0; i < count; i++, at = uvmpi_recency_next(list, at))
		assert_int_equal(at, unit[i]);
	assert_int_equal(at, UVMP_UNIT_NONE);
	at = uvmpi_recency_older(list, UVMP_UNIT_NONE);
	for (uint32_t i = count; i-- > 0; at = uvmpi_recency_older(list, at))
		assert_int_equal(at, unit[i]);
	assert_int_equal(at, UVMP_UNIT_NONE);
}
#define ASSERT_ORDER(list, ...)                                                                              \
	assert_order(list, (const uint32_t[]){__VA_ARGS__},                                                  \
	             sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void recency_init(void **state)
{
	struct recency_link link[UNITS + 1];
	struct recency list;

	(void)state;
	memset(&list, 0x5a, sizeof(list));
	uvmpi_recency_init(&list, link, UNITS);
	assert_order(&list, NULL, 0);
	for (uint32_t unit = 0; unit < UNITS; unit++)
		assert_false(uvmpi_recency_contains(&list, unit));
}

static void recency_order(void **state)
{
	struct recency_link link[UNITS + 1];
	struct recency list;

	(void)state;
	uvmpi_recency_init(&list, link, UNITS);
	(void)uvmpi_recency_touch(&list, 3);
	ASSERT_ORDER(&list, 3);
	(void)uvmpi_recency_touch(&list, 3); /* the only one */
	ASSERT_ORDER(&list, 3);
	(void)uvmpi_recency_touch(&list, 0);
	(void)uvmpi_recency_touch(&list, 7);
	(void)uvmpi_recency_touch(&list, 5);
	ASSERT_ORDER(&list, 3, 0, 7, 5);
	(void)uvmpi_recency_touch(&list, 3); /* head to tail */
	ASSERT_ORDER(&list, 0, 7, 5, 3);
	(void)uvmpi_recency_touch(&list, 7); /* middle to tail */
	ASSERT_ORDER(&list, 0, 5, 3, 7);
	(void)uvmpi_recency_touch(&list, 7); /* tail stays */
	ASSERT_ORDER(&list, 0, 5, 3, 7);
	uvmpi_recency_take_off(&list, 5); /* middle */
	ASSERT_ORDER(&list, 0, 3, 7);
	uvmpi_recency_take_off(&list, 7); /* tail */
	ASSERT_ORDER(&list, 0, 3);
	uvmpi_recency_take_off(&list, 0); /* head */
	ASSERT_ORDER(&list, 3);
	uvmpi_recency_take_off(&list, 3); /* the last */
	assert_order(&list, NULL, 0);
	(void)uvmpi_recency_touch(&list, 1);
	ASSERT_ORDER(&list, 1);
}

static void recency_bad_unit(void **state)
{
	struct recency_link link[UNITS + 1];
	struct recency list;

	(void)state;
	uvmpi_recency_init(&list, link, UNITS);
	(void)uvmpi_recency_touch(&list, 2);
	assert_false(uvmpi_recency_contains(&list, UNITS));
	assert_false(uvmpi_recency_contains(&list, UVMP_UNIT_NONE));
	assert_int_equal(uvmpi_recency_next(&list, UNITS), UVMP_UNIT_NONE);
	assert_int_equal(uvmpi_recency_next(&list, 4), UVMP_UNIT_NONE);
}

static void recency_is_valid(void **state)
{
	struct recency_link link[UNITS + 1], copy[UNITS + 1], none[1];
	struct recency good, empty, list;

	(void)state;
	uvmpi_recency_init(&empty, none, UNITS);
	uvmpi_recency_init(&good, link, UNITS);
	assert_false(uvmpi_recency_touch(&good, 2));
	assert_true(uvmpi_recency_touch(&good, 2));
	assert_true(uvmpi_recency_is_valid(&good, 1));
	assert_false(uvmpi_recency_is_valid(&good, 0));
	assert_false(uvmpi_recency_is_valid(&good, 4));
	list = good, list.link = NULL;
	assert_false(uvmpi_recency_is_valid(&list, 1));
	list = good, list.units = UVMP_UNITS_MAX + 1u;
	assert_false(uvmpi_recency_is_valid(&list, 1));
	list = good, list.begun = UNITS + 1u;
	assert_false(uvmpi_recency_is_valid(&list, 1));
	memcpy(copy, link, sizeof(link));
	list = good, list.link = copy;
	copy[0].next = 4; /* unit 3 was never touched, nor a later one */
	assert_false(uvmpi_recency_is_valid(&list, 1));
	copy[0] = (struct recency_link){4, 3};
	assert_false(uvmpi_recency_is_valid(&list, 1));
	copy[0] = (struct recency_link){3, 0};
	assert_false(uvmpi_recency_is_valid(&list, 0));
	assert_true(uvmpi_recency_is_valid(&empty, 0));
	list = empty, list.units = 0;
	assert_false(uvmpi_recency_is_valid(&list, 0));
}

static void table(void **state)
{
	(void)state;
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_LRU), "lru");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_LRU_2M), "lru2m");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_LRU_4K), "lru4k");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_RANDOM_4K), "random4k");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_SL_64K), "sl64k");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_TBN), "tbne");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_LFU_2M), "lfu2m");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_CLOCK_2M), "clock2m");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_MHPE), "mhpe");
	assert_string_equal(uvmp_evict_name(UVMP_EVICT_AUTO), "auto");
	assert_null(uvmp_evict_name(UVMP_EVICT_COUNT));
	assert_null(uvmp_evict_traits_of(UVMP_EVICT_COUNT));
	for (uint32_t i = 0; i < UVMP_EVICT_COUNT; i++) {
		const struct uvmp_evict_traits *traits = uvmp_evict_traits_of((enum uvmp_evictor)i);

		assert_int_equal(traits->is_chunked, i == UVMP_EVICT_LRU);
		assert_int_equal(traits->has_tree, i == UVMP_EVICT_TBN);
		assert_int_equal(traits->has_reserve,
		                 i != UVMP_EVICT_LRU && i != UVMP_EVICT_RANDOM_4K && i != UVMP_EVICT_AUTO);
	}
	assert_null(uvmp_evict_name((enum uvmp_evictor)0x7fffffff));
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_LRU), 512);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_LRU_2M), 512);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_LRU_4K), 1);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_RANDOM_4K), 1);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_SL_64K), 16);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_TBN), 16);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_LFU_2M), 512);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_AUTO), 16);
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_COUNT), 0);
}

/* Orders whose traits this file states; an order that is added later has a test of its own. */
enum { KNOWN = UVMP_EVICT_AUTO + 1 };

/* The known orders with a trait, as a set. */
#define WITH(trait)                                                                                          \
	{                                                                                                    \
		uint32_t set = 0;                                                                            \
		for (uint32_t i = 0; i < KNOWN; i++)                                                         \
			set |= (uint32_t)uvmp_evict_traits_of((enum uvmp_evictor)i)->trait << i;             \
		with = set;                                                                                  \
	}
#define ORDER(name) (1u << UVMP_EVICT_##name)

static void traits(void **state)
{
	const uint32_t large = ORDER(LRU_2M) | ORDER(LFU_2M) | ORDER(CLOCK_2M);
	uint32_t with;

	(void)state;
	WITH(is_chunked);
	assert_int_equal(with, ORDER(LRU));
	WITH(has_granularity);
	assert_int_equal(with, large);
	WITH(has_reserve);
	assert_int_equal(with, large | ORDER(LRU_4K) | ORDER(SL_64K) | ORDER(TBN) | ORDER(MHPE));
	WITH(has_touches);
	assert_int_equal(with, ORDER(MHPE));
	WITH(has_tree);
	assert_int_equal(with, ORDER(TBN));
	WITH(counts_uses);
	assert_int_equal(with, ORDER(LFU_2M));
	WITH(spares_incomplete);
	assert_int_equal(with, ORDER(SL_64K) | ORDER(TBN) | ORDER(LFU_2M));
	WITH(is_random);
	assert_int_equal(with, ORDER(RANDOM_4K));
	WITH(has_groups);
	assert_int_equal(with, ORDER(AUTO));
	WITH(ignores_accesses);
	assert_int_equal(with, ORDER(AUTO));
	for (uint32_t i = 0; i < UVMP_EVICT_COUNT; i++)
		assert_int_equal(uvmp_evict_traits_of((enum uvmp_evictor)i)->unit_pages,
		                 uvmp_evict_unit_pages((enum uvmp_evictor)i));
}

static void size(void **state)
{
	(void)state;
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU, 100), 0);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU_2M, 100), BY_RECENCY_STATE_BYTES + 900);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU_4K, 1), BY_RECENCY_STATE_BYTES + 9);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_RANDOM_4K, 100) -
	                         uvmp_evict_size(UVMP_EVICT_RANDOM_4K, 1),
	                 99 * 8);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_SL_64K, 33), GROUPED_STATE_BYTES + 33 * 16 + 2 * 48);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_TBN, 32), GROUPED_STATE_BYTES + 32 * 16 + 48);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LFU_2M, 9),
	                 sizeof(struct frequency) + SEQUENCE_HEAD_BYTES + 9 * 40);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_CLOCK_2M, 11) - uvmp_evict_size(UVMP_EVICT_CLOCK_2M, 1),
	                 130);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_MHPE, 10), sizeof(struct mhpe) + 8 + 160);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_AUTO, 33),
	                 sizeof(struct auto_order) + 8 + 33 * 12 + 2 * sizeof(struct auto_group));
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU_4K, 0), 0);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU_4K, UVMP_UNITS_MAX + 1u), 0);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_COUNT, 1), 0);
	if (sizeof(size_t) == 8)
		assert_int_equal(uvmp_evict_size(UVMP_EVICT_LRU_4K, UVMP_UNITS_MAX),
		                 BY_RECENCY_STATE_BYTES + 9ull * UVMP_UNITS_MAX);
}

static void init_errors(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	size_t bytes = uvmp_evict_size(UVMP_EVICT_LRU_4K, UNITS);
	struct uvmp_evict evict, before;

	(void)state;
	memset(&evict, 0x5a, sizeof(evict));
	before = evict;
	assert_int_equal(uvmp_evict_init(NULL, UVMP_EVICT_LRU_4K, UNITS, memory, sizeof(memory)),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UNITS, NULL, sizeof(memory)),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(
	        uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UNITS, (char *)memory + 4, sizeof(memory) - 4),
	        UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_COUNT, UNITS, memory, sizeof(memory)),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU, UNITS, memory, sizeof(memory)),
	                 UVMP_ERR_UNSUPPORTED);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, 0, memory, sizeof(memory)),
	                 UVMP_ERR_RANGE);
	assert_int_equal(
	        uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UVMP_UNITS_MAX + 1u, memory, sizeof(memory)),
	        UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UNITS, memory, bytes - 1),
	                 UVMP_ERR_SPACE);
	assert_memory_equal(&evict, &before, sizeof(evict));
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UNITS, memory, bytes), UVMP_OK);
	assert_true(uvmp_evict_is_valid(&evict));
}

/* Is the order refused with `field` of its state damaged? */
#define ASSERT_DAMAGED(evict, type, field, value)                                                            \
	{                                                                                                    \
		type *private = (evict)->state, good = *private;                                             \
		private->field = (value);                                                                    \
		assert_false(uvmp_evict_is_valid(evict));                                                    \
		*private = good;                                                                             \
		assert_true(uvmp_evict_is_valid(evict));                                                     \
	}

/* The private states of random4k and clock2m, with the layout of evict_random4k.c and evict_clock2m.c. */
struct random_state {
	void *dense, *place;
	uint64_t begun;
};
static void assert_bad(struct uvmp_evict evict)
{
	assert_false(uvmp_evict_is_valid(&evict));
}

static void is_valid(void **state)
{
	static uint64_t memory[UVMP_EVICT_COUNT][MEMORY_WORDS(UNITS)];
	struct uvmp_evict order[UVMP_EVICT_COUNT], evict;

	(void)state;
	for (uint32_t i = UVMP_EVICT_LRU_2M; i < UVMP_EVICT_COUNT; i++) {
		assert_int_equal(uvmp_evict_init(&order[i], (enum uvmp_evictor)i, UNITS, memory[i],
		                                 sizeof(memory[i])),
		                 UVMP_OK);
		assert_true(uvmp_evict_is_valid(&order[i]));
		evict = order[i], evict.reserve_percent = UVMP_EVICT_RESERVE_MAX;
		assert_true(uvmp_evict_is_valid(&evict));
		evict.reserve_percent++;
		assert_bad(evict);
		evict = order[i], evict.state = NULL, assert_bad(evict);
		evict = order[i], evict.evictor = UVMP_EVICT_COUNT, assert_bad(evict);
		evict = order[i], evict.evictor = UVMP_EVICT_LRU, assert_bad(evict);
		evict = order[i], evict.count = 1, assert_bad(evict);
		if (i == UVMP_EVICT_RANDOM_4K) /* has no list of the units */
			continue;
		evict = order[i], evict.units = 5u * UNITS, assert_bad(evict);
	}
	assert_false(uvmp_evict_is_valid(NULL));
	ASSERT_DAMAGED(&order[UVMP_EVICT_LRU_2M], struct recency, link, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LRU_2M], struct by_recency, is_cold, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LRU_2M], struct by_recency, cold, 1);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LRU_2M], struct by_recency, last, 1);
	ASSERT_DAMAGED(&order[UVMP_EVICT_SL_64K], struct grouped, stamp, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_SL_64K], struct grouped, link, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_SL_64K], struct grouped, group, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_SL_64K], struct grouped, begun, 2);
	ASSERT_DAMAGED(&order[UVMP_EVICT_SL_64K], struct grouped, order.link, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, begun, UNITS + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.link, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.key, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.weight, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.kind, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.elements, 0);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.elements, UVMP_UNITS_MAX + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.lanes, 0);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, order.base[0], 0);
	ASSERT_DAMAGED(&order[UVMP_EVICT_MHPE], struct mhpe, stamp, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_MHPE], struct mhpe, stamped, UNITS + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_MHPE], struct mhpe, distance, 33);
	ASSERT_DAMAGED(&order[UVMP_EVICT_RANDOM_4K], struct random_state, dense, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_RANDOM_4K], struct random_state, place, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_RANDOM_4K], struct random_state, begun, UNITS + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_LFU_2M], struct frequency, class, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, unit, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, slot, NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, begun, UNITS + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, end, 2u * UNITS + 1u);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, hand, 1);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, chances, 1);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, slots.levels, 0);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, slots.word[0], NULL);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, slots.begun, 1);
	ASSERT_DAMAGED(&order[UVMP_EVICT_CLOCK_2M], struct clock, slots.begun, 64u * UNITS);
}

static void call_errors(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	uint32_t unit = 77;
	struct uvmp_evict evict, broken;
	uint64_t seed = 1;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_RANDOM_4K, UNITS, memory, sizeof(memory));
	broken = evict, broken.state = NULL;
	assert_int_equal(uvmp_evict_touch(&broken, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_remove(&broken, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_victim(&broken, &seed, &unit), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_touch(&evict, UNITS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_remove(&evict, UNITS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_remove_set(&broken, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_remove_set(&evict, UVMP_EVICT_GROUP_UNITS, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_remove_set(&evict, 1, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_remove_set(&evict, 0, 1u << UNITS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_remove_set(&evict, 0, (1u << UNITS) - 1u), UVMP_OK); /* none was listed */
	assert_int_equal(uvmp_evict_victim(&evict, &seed, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_victim(&evict, &seed, &unit), UVMP_ERR_NO_MEMORY);
	assert_int_equal(uvmp_evict_forget(&broken, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_forget(&evict, UNITS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_next(&broken, &seed, &unit), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_next(&evict, &seed, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_next(&evict, &seed, &unit), UVMP_ERR_NO_MEMORY);
	uvmp_evict_touch(&evict, 4);
	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_next(&evict, NULL, &unit), UVMP_ERR_ARGUMENT);
	assert_int_equal(unit, 77);
	assert_int_equal(seed, 1);
}

/* [uvmsmart: victim-selection], policies 0 and 5: the least recently touched leaves; a pinned unit
 * [uvmsmart: evictable] is passed over. */
static void lru(void **state)
{
	const enum uvmp_evictor evictor[] = {UVMP_EVICT_LRU_2M, UVMP_EVICT_LRU_4K};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint64_t memory[MEMORY_WORDS(UNITS)];
		uint32_t unit;
		struct uvmp_evict evict;

		assert_int_equal(uvmp_evict_init(&evict, evictor[i], UNITS, memory, sizeof(memory)), UVMP_OK);
		for (unit = 0; unit < 4; unit++)
			assert_int_equal(uvmp_evict_touch(&evict, unit), UVMP_OK);
		assert_int_equal(evict.count, 4);
		assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_OK);
		assert_int_equal(unit, 0);
		uvmp_evict_touch(&evict, 0);
		uvmp_evict_victim(&evict, NULL, &unit);
		assert_int_equal(unit, 1);
		assert_int_equal(uvmp_evict_remove(&evict, 1), UVMP_OK); /* pinned */
		assert_int_equal(evict.count, 3);
		uvmp_evict_victim(&evict, NULL, &unit);
		assert_int_equal(unit, 2);
		uvmp_evict_touch(&evict, 1); /* unpinned: the newest now */
		for (unit = 2; unit < 4; unit++)
			uvmp_evict_remove(&evict, unit);
		uvmp_evict_victim(&evict, NULL, &unit);
		assert_int_equal(unit, 0);
		assert_int_equal(uvmp_evict_remove(&evict, 5), UVMP_OK); /* was never there */
		assert_int_equal(evict.count, 2);
	}
}

/* [uvmsmart: eviction-list], group order example, as plain recency: blocks touched at 10, 50, 5 and 20,
 * 30. */
static void lru_by_time(void **state)
{
	/* A0 10, A1 50, A2 5, B0 20, B1 30 as units 0..4, touched in the order of time */
	const uint32_t touched[] = {2, 0, 3, 4, 1};
	uint64_t memory[MEMORY_WORDS(UNITS)];
	uint32_t unit;
	struct uvmp_evict evict;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, UNITS, memory, sizeof(memory));
	for (size_t i = 0; i < 5; i++)
		uvmp_evict_touch(&evict, touched[i]);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_OK);
		assert_int_equal(unit, touched[i]);
		uvmp_evict_remove(&evict, unit);
	}
	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_ERR_NO_MEMORY);
}

/* [uvmsmart: victim-selection], policy 3: each page that may be evicted is drawn about equally often, no
 * other ever. */
static void random_draws(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	uint32_t drawn[UNITS] = {0};
	struct uvmp_evict evict;
	uint64_t seed = 7;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_RANDOM_4K, UNITS, memory, sizeof(memory));
	for (uint32_t unit = 0; unit < UNITS; unit++)
		uvmp_evict_touch(&evict, unit);
	uvmp_evict_touch(&evict, 3); /* again: no second place */
	assert_int_equal(evict.count, UNITS);
	uvmp_evict_remove(&evict, 2);
	uvmp_evict_remove(&evict, 7); /* stands last or not, both happen here and above */
	uvmp_evict_remove(&evict, 6);
	uvmp_evict_remove(&evict, 6);
	assert_int_equal(evict.count, 5);
	for (int i = 0; i < 5000; i++) {
		uint32_t unit = UVMP_UNIT_NONE;

		assert_int_equal(uvmp_evict_victim(&evict, &seed, &unit), UVMP_OK);
		assert_in_range(unit, 0, UNITS - 1);
		drawn[unit]++;
	}
	for (uint32_t unit = 0; unit < UNITS; unit++)
		if (unit == 2 || unit == 6 || unit == 7)
			assert_int_equal(drawn[unit], 0);
		else
			assert_in_range(drawn[unit], 850, 1150);
}

static void random_repeats(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	uint32_t first, second;
	struct uvmp_evict evict;
	uint64_t a = 42, b = 42;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_RANDOM_4K, UNITS, memory, sizeof(memory));
	for (uint32_t unit = 0; unit < UNITS; unit++)
		uvmp_evict_touch(&evict, unit);
	for (int i = 0; i < 20; i++) {
		uvmp_evict_victim(&evict, &a, &first);
		uvmp_evict_victim(&evict, &b, &second);
		assert_int_equal(first, second);
	}
}

/* All that would go, from the victim on. */
static void assert_victims(struct uvmp_evict *evict, const uint32_t *expected, uint32_t count)
{
	uint64_t seed = 1;
	uint32_t unit;

	assert_int_equal(uvmp_evict_victim(evict, &seed, &unit), UVMP_OK);
	for (uint32_t i = 0; i + 1 < count; i++) {
		assert_int_equal(unit, expected[i]);
		assert_int_equal(uvmp_evict_next(evict, &seed, &unit), UVMP_OK);
	}
	assert_int_equal(unit, expected[count - 1]);
	assert_int_equal(uvmp_evict_next(evict, &seed, &unit), UVMP_ERR_NO_MEMORY);
}
#define ASSERT_VICTIMS(evict, ...)                                                                           \
	assert_victims(evict, (const uint32_t[]){__VA_ARGS__},                                               \
	               sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* [uvmsmart: eviction-list]: blocks of tree A touched at 10, 50, 5, of tree B at 20, 30: B20, B30, A5,
 * A10, A50. */
static void groups(void **state)
{
	const enum uvmp_evictor evictor[] = {UVMP_EVICT_SL_64K, UVMP_EVICT_TBN};
	static uint64_t memory[256];
	struct uvmp_evict evict;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(uvmp_evict_init(&evict, evictor[i], 64, memory, sizeof(memory)), UVMP_OK);
		uvmp_evict_touch(&evict, 2);
		uvmp_evict_touch(&evict, 0);
		uvmp_evict_touch(&evict, 32);
		uvmp_evict_touch(&evict, 63);
		uvmp_evict_touch(&evict, 1);
		ASSERT_VICTIMS(&evict, 32, 63, 2, 0, 1);
		uvmp_evict_remove(&evict, 32);
		uvmp_evict_forget(&evict, 63);
		ASSERT_VICTIMS(&evict, 2, 0, 1);
	}
}

/* [uvmsmart: eviction-list]: a block that is coming is listed, and its tree stays as old as it is until the block arrives. */
static void coming(void **state)
{
	const enum uvmp_evictor evictor[] = {UVMP_EVICT_SL_64K, UVMP_EVICT_TBN};
	static uint64_t memory[256];
	struct uvmp_evict evict;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(uvmp_evict_init(&evict, evictor[i], 96, memory, sizeof(memory)), UVMP_OK);
		for (uint32_t unit = 0; unit < 3; unit++)
			uvmp_evict_touch(&evict, unit);
		uvmp_evict_touch(&evict, 32);
		assert_int_equal(uvmpi_evict_enter(&evict, 3), UVMP_OK);
		assert_int_equal(uvmpi_evict_enter(&evict, 0), UVMP_OK); /* listed: no effect */
		assert_int_equal(evict.count, 5);
		ASSERT_VICTIMS(&evict, 0, 1, 2, 3, 32);
		evict.reserve_percent = 40; /* the boundary moves with units that enter */
		ASSERT_VICTIMS(&evict, 2, 3, 32);
		assert_int_equal(uvmpi_evict_enter(&evict, 4), UVMP_OK);
		ASSERT_VICTIMS(&evict, 2, 3, 4, 32);
		evict.reserve_percent = 0;
		uvmp_evict_touch(&evict, 1); /* a use, and an arrival */
		uvmp_evict_touch(&evict, 3);
		ASSERT_VICTIMS(&evict, 32, 0, 2, 4, 1, 3);
		/* of a tree without listed blocks, begun or not, the first one makes the tree the newest */
		assert_int_equal(uvmpi_evict_enter(&evict, 95), UVMP_OK);
		uvmp_evict_remove(&evict, 32);
		assert_int_equal(uvmpi_evict_enter(&evict, 33), UVMP_OK);
		ASSERT_VICTIMS(&evict, 0, 2, 4, 1, 3, 95, 33);
		/* a tree of spared blocks only, until another one comes */
		uvmp_evict_spare(&evict, 95, true);
		ASSERT_VICTIMS(&evict, 0, 2, 4, 1, 3, 33, 95);
		assert_int_equal(uvmpi_evict_enter(&evict, 94), UVMP_OK);
		ASSERT_VICTIMS(&evict, 0, 2, 4, 1, 3, 94, 33, 95);
	}
	/* uses and arrivals in the newest tree itself */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(uvmp_evict_init(&evict, evictor[i], 96, memory, sizeof(memory)), UVMP_OK);
		uvmp_evict_touch(&evict, 0);
		assert_int_equal(uvmpi_evict_enter(&evict, 1), UVMP_OK);
		assert_int_equal(uvmpi_evict_enter(&evict, 2), UVMP_OK);
		ASSERT_VICTIMS(&evict, 0, 1, 2);
		uvmp_evict_touch(&evict, 0);
		ASSERT_VICTIMS(&evict, 1, 2, 0);
		uvmp_evict_touch(&evict, 0); /* again: no effect */
		uvmp_evict_touch(&evict, 1);
		ASSERT_VICTIMS(&evict, 2, 0, 1);
	}
	/* without trees it is the newest once */
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, 96, memory, sizeof(memory)), UVMP_OK);
	for (uint32_t unit = 0; unit < 3; unit++)
		assert_int_equal(uvmpi_evict_enter(&evict, unit), UVMP_OK);
	assert_int_equal(uvmpi_evict_enter(&evict, 0), UVMP_OK);
	ASSERT_VICTIMS(&evict, 0, 1, 2);
}

/* [uvmsmart: victim-selection]: blocks 0..9 of a tree, reserve 20 %: two are passed over, block 2 goes. */
static void reserve(void **state)
{
	static uint64_t memory[256];
	static const enum uvmp_evictor evictor[] = {UVMP_EVICT_SL_64K, UVMP_EVICT_LRU_2M, UVMP_EVICT_LFU_2M};
	struct uvmp_evict evict;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uvmp_evict_init(&evict, evictor[i], 32, memory, sizeof(memory));
		for (uint32_t unit = 0; unit < 10; unit++)
			uvmp_evict_touch(&evict, unit);
		evict.reserve_percent = 20;
		ASSERT_VICTIMS(&evict, 2, 3, 4, 5, 6, 7, 8, 9);
		evict.reserve_percent = 99; /* one is always left */
		ASSERT_VICTIMS(&evict, 9);
		evict.reserve_percent = 9;
		ASSERT_VICTIMS(&evict, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	}
}

/* What all orders share. */
static void every_order(void **state)
{
	static uint64_t memory[MEMORY_WORDS(UNITS)];

	(void)state;
	for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++) {
		struct uvmp_evict evict;
		uint64_t seed = 1;
		uint32_t unit;

		assert_int_equal(
		        uvmp_evict_init(&evict, (enum uvmp_evictor)evictor, UNITS, memory, sizeof(memory)),
		        UVMP_OK);
		uvmp_evict_touch(&evict, 3);
		uvmp_evict_touch(&evict, 5);
		assert_int_equal(uvmp_evict_forget(&evict, 3), UVMP_OK);
		assert_int_equal(uvmp_evict_forget(&evict, 3), UVMP_OK);
		assert_int_equal(evict.count, 1);
		assert_int_equal(uvmp_evict_victim(&evict, &seed, &unit), UVMP_OK);
		assert_int_equal(unit, 5);
		assert_int_equal(uvmp_evict_next(&evict, &seed, &unit),
		                 evictor == UVMP_EVICT_RANDOM_4K ? UVMP_OK : UVMP_ERR_NO_MEMORY);
		assert_int_equal(unit, 5);
	}
}

/* [uvmsmart: victim-selection], policy 4: the least touched first, of equals the one touched longer ago;
 * counts stay [uvmsmart: access-counting].
 */
static void least_frequently(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	struct uvmp_evict evict;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_LFU_2M, UNITS, memory, sizeof(memory));
	for (uint32_t unit = 0; unit < 4; unit++)
		uvmp_evict_touch(&evict, unit);
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 2);
	ASSERT_VICTIMS(&evict, 1, 3, 2, 0);
	uvmp_evict_remove(&evict, 0);
	uvmp_evict_touch(&evict, 0); /* it is back, with four touches */
	uvmp_evict_touch(&evict, 2);
	ASSERT_VICTIMS(&evict, 1, 3, 2, 0);
	uvmp_evict_forget(&evict, 0);
	uvmp_evict_touch(&evict, 0);
	ASSERT_VICTIMS(&evict, 1, 3, 0, 2);
}

/* Protected units are evicted when no other unit remains, independent of their touches, until the protection
 * ends. */
static void spared(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	struct uvmp_evict evict;
	uint32_t unit;

	(void)state;
	assert_int_equal(uvmp_evict_spare(NULL, 0, true), UVMP_ERR_ARGUMENT);
	uvmp_evict_init(&evict, UVMP_EVICT_LFU_2M, UNITS, memory, sizeof(memory));
	assert_int_equal(uvmp_evict_spare(&evict, UNITS, true), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_spare(&evict, 0, true), UVMP_OK);
	assert_int_equal(uvmp_evict_spare(&evict, 1, true), UVMP_OK);
	for (unit = 0; unit < 4; unit++)
		uvmp_evict_touch(&evict, unit);
	ASSERT_VICTIMS(&evict, 2, 3, 0, 1);
	uvmp_evict_spare(&evict, 0, false);
	uvmp_evict_forget(&evict, 1);
	uvmp_evict_touch(&evict, 1);
	ASSERT_VICTIMS(&evict, 0, 2, 3, 1);
	for (unit = 0; unit < 4; unit++)
		uvmp_evict_spare(&evict, unit, true);
	evict.reserve_percent = 50; /* all behind the reserve are spared */
	ASSERT_VICTIMS(&evict, 3, 1);
	evict.reserve_percent = UVMP_EVICT_RESERVE_MAX + 1u;
	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_ERR_ARGUMENT);
	uvmp_evict_init(&evict, UVMP_EVICT_LRU_2M, UNITS, memory, sizeof(memory));
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 1);
	assert_int_equal(uvmp_evict_spare(&evict, 0, true), UVMP_OK); /* means nothing to other orders */
	ASSERT_VICTIMS(&evict, 0, 1);
}

/* Behind the boundary of the reserve, the rest of its tree has spared units only: the next tree is searched. */
static void spared_behind_reserve(void **state)
{
	static uint64_t memory[MEMORY_WORDS(64)];
	struct uvmp_evict evict;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_SL_64K, 64, memory, sizeof(memory));
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 1);
	uvmp_evict_touch(&evict, 32);
	uvmp_evict_spare(&evict, 1, true);
	ASSERT_VICTIMS(&evict, 0, 32, 1);
	evict.reserve_percent = 34;
	ASSERT_VICTIMS(&evict, 32, 1);
}

static void membership(void **state)
{
	static uint64_t memory[256];
	struct uvmp_evict evict;

	(void)state;
	assert_false(uvmp_evict_contains(NULL, 0));
	for (uint32_t order = UVMP_EVICT_LRU_2M; order < UVMP_EVICT_COUNT; order++) {
		assert_int_equal(
		        uvmp_evict_init(&evict, (enum uvmp_evictor)order, UNITS, memory, sizeof(memory)),
		        UVMP_OK);
		uvmp_evict_touch(&evict, 2);
		uvmp_evict_touch(&evict, 5);
		uvmp_evict_remove(&evict, 5);
		for (uint32_t unit = 0; unit <= UNITS; unit++)
			assert_int_equal(uvmp_evict_contains(&evict, unit), unit == 2);
	}
}

/* 99 % of 169501 are 167805.99, and 167806 in 32-bit floats, as the list of smart_evict.h has it. */
static void reserve_in_floats(void **state)
{
	size_t bytes = uvmp_evict_size(UVMP_EVICT_LRU_2M, 169501);
	void *memory = malloc(bytes);
	struct uvmp_evict evict;
	uint32_t unit;

	(void)state;
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_2M, 169501, memory, bytes), UVMP_OK);
	for (unit = 0; unit < 169501; unit++)
		uvmp_evict_touch(&evict, unit);
	evict.reserve_percent = 99;
	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_OK);
	assert_int_equal(unit, 167806);
	free(memory);
}

/* Counts of the caller instead of touches. */
static void weights(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	struct uvmp_evict evict;

	(void)state;
	assert_int_equal(uvmp_evict_weigh(NULL, 0, 1), UVMP_ERR_ARGUMENT);
	uvmp_evict_init(&evict, UVMP_EVICT_LFU_2M, UNITS, memory, sizeof(memory));
	assert_int_equal(uvmp_evict_weigh(&evict, UNITS, 1), UVMP_ERR_RANGE);
	for (uint32_t unit = 0; unit < 4; unit++) {
		uvmp_evict_touch(&evict, unit);
		assert_int_equal(uvmp_evict_weigh(&evict, unit, 10 - unit), UVMP_OK);
		assert_int_equal(uvmp_evict_weigh(&evict, unit, 10 - unit), UVMP_OK); /* again: no change */
	}
	ASSERT_VICTIMS(&evict, 3, 2, 1, 0);
	uvmp_evict_touch(&evict, 3); /* goes on from 7 */
	uvmp_evict_touch(&evict, 3);
	ASSERT_VICTIMS(&evict, 2, 1, 3, 0);
	uvmp_evict_remove(&evict, 0);
	assert_int_equal(uvmp_evict_weigh(&evict, 0, 1), UVMP_OK); /* not listed */
	uvmp_evict_touch(&evict, 0);
	ASSERT_VICTIMS(&evict, 2, 1, 3, 0);
	uvmp_evict_init(&evict, UVMP_EVICT_LRU_2M, UNITS, memory, sizeof(memory));
	for (uint32_t unit = 0; unit < 4; unit++)
		uvmp_evict_touch(&evict, unit);
	assert_int_equal(uvmp_evict_weigh(&evict, 0, 100), UVMP_OK); /* means nothing to other orders */
	ASSERT_VICTIMS(&evict, 0, 1, 2, 3);
}

/* A touch gives a chance, which the hand takes; what is touched never is only as old as its arrival. */
static void second_chance(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	const struct clock *clock = (const void *)memory;
	struct uvmp_evict evict;
	uint32_t unit = 7;

	(void)state;
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_CLOCK_2M, UNITS, memory, sizeof(memory)),
	                 UVMP_OK);
	for (uint32_t u = 0; u < 4; u++)
		uvmp_evict_touch(&evict, u);
	ASSERT_VICTIMS(&evict, 0, 1, 2, 3); /* as they came */
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 2);
	assert_int_equal(uvmp_evict_next(&evict, NULL, &unit), UVMP_ERR_NO_MEMORY); /* 7 is not there */
	ASSERT_VICTIMS(&evict, 1, 3, 0, 2);
	assert_int_equal(clock->hand, 1); /* the hand has passed 0 and stands at 1 */
	assert_int_equal(clock->unit[clock->end - 1u], 0);
	assert_int_equal(clock->chances, 1);
	uvmp_evict_touch(&evict, 1);
	uvmp_evict_touch(&evict, 3);
	uvmp_evict_touch(&evict, 0);
	ASSERT_VICTIMS(&evict, 1, 2, 3, 0); /* all had one: once around, and the oldest goes after all */
	uvmp_evict_touch(&evict, 1);
	uvmp_evict_remove(&evict, 1);
	uvmp_evict_touch(&evict, 1); /* a pin that ends, or a new stay: no chance */
	ASSERT_VICTIMS(&evict, 2, 3, 0, 1);
	uvmp_evict_touch(&evict, 2);
	evict.reserve_percent = 50;
	ASSERT_VICTIMS(&evict, 1, 2);
}

static struct mhpe *mhpe_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void open_mhpe(struct uvmp_evict *evict, uint64_t *memory, uint32_t units, size_t bytes)
{
	assert_int_equal(uvmp_evict_init(evict, UVMP_EVICT_MHPE, units, memory, bytes), UVMP_OK);
}

/* So many chunks come in one interval, then it ends. */
static void come(struct uvmp_evict *evict, uint32_t first, uint32_t count)
{
	for (uint32_t unit = first; unit < first + count; unit++)
		uvmp_evict_touch(evict, unit);
	assert_int_equal(uvmp_evict_batch(evict), UVMP_OK);
}

static void leave(struct uvmp_evict *evict, uint32_t unit, uint32_t untouched)
{
	uvmp_evict_remove(evict, unit);
	assert_int_equal(uvmp_evict_left(evict, unit, 16, untouched), UVMP_OK);
}

/* The newest goes, but for what came in the present interval and in the last. */
static void mhpe_partitions(void **state)
{
	uint64_t memory[MEMORY_WORDS(32)];
	struct uvmp_evict evict;

	(void)state;
	open_mhpe(&evict, memory, 32, sizeof(memory));
	come(&evict, 0, 3); /* less than an interval */
	uvmp_evict_touch(&evict, 3);
	ASSERT_VICTIMS(&evict, 0, 1, 2, 3); /* nothing is old: the first to come */
	uvmp_evict_batch(&evict);
	come(&evict, 4, 4);
	uvmp_evict_touch(&evict, 0);
	uvmp_evict_touch(&evict, 8);
	ASSERT_VICTIMS(&evict, 3, 2, 1, 0, 4, 5, 6, 7, 8); /* touches change nothing */
	evict.reserve_percent = 50;
	ASSERT_VICTIMS(&evict, 4, 5, 6, 7, 8);
	evict.reserve_percent = 0;
	uvmp_evict_remove(&evict, 3);
	ASSERT_VICTIMS(&evict, 2, 1, 0, 4, 5, 6, 7, 8);
	uvmp_evict_remove(&evict, 1);
	uvmp_evict_remove(&evict, 2);
	uvmp_evict_forget(&evict, 0);
	ASSERT_VICTIMS(&evict, 4, 5, 6, 7, 8); /* none is old now */
	come(&evict, 9, 3);
	ASSERT_VICTIMS(&evict, 7, 6, 5, 4, 8, 9, 10, 11);
	come(&evict, 12, 4);
	ASSERT_VICTIMS(&evict, 11, 10, 9, 8, 7, 6, 5, 4, 12, 13, 14, 15);
	for (uint32_t unit = 16; unit < 20; unit++) {
		uvmp_evict_touch(&evict, unit);
		uvmp_evict_remove(&evict, unit); /* came and went in one interval */
	}
	uvmp_evict_batch(&evict);
	for (uint32_t unit = 12; unit < 16; unit++)
		uvmp_evict_remove(&evict, unit);
	for (uint32_t unit = 20; unit < 24; unit++) {
		uvmp_evict_touch(&evict, unit);
		uvmp_evict_remove(&evict, unit);
	}
	uvmp_evict_batch(&evict);
	ASSERT_VICTIMS(&evict, 11, 10, 9, 8, 7, 6, 5, 4); /* all are old */
}

/* The forward distance grows by what was not touched and by what came back at once. */
static void mhpe_distance(void **state)
{
	uint64_t memory[MEMORY_WORDS(64)];
	struct uvmp_evict evict;
	uint32_t unit = 20;

	(void)state;
	open_mhpe(&evict, memory, 64, sizeof(memory));
	come(&evict, 0, 4);
	come(&evict, 4, 4);
	assert_int_equal(uvmp_evict_next(&evict, NULL, &unit), UVMP_ERR_NO_MEMORY); /* it is not there */
	leave(&evict, 3, 0);
	leave(&evict, 2, 1); /* one of 32 pages: level 2 */
	come(&evict, 8, 4);
	assert_int_equal(mhpe_of(&evict)->distance, 1);
	ASSERT_VICTIMS(&evict, 6, 5, 4, 1, 0, 7, 8, 9, 10, 11);
	leave(&evict, 6, 0);
	uvmp_evict_touch(&evict, 6); /* wrong: it left in this interval, */
	uvmp_evict_touch(&evict, 3); /* in the one before */
	come(&evict, 12, 4);
	assert_int_equal(mhpe_of(&evict)->distance, 3);
	leave(&evict, 0, 0);
	assert_int_equal(uvmp_evict_left(&evict, 1, 16, 0), UVMP_OK); /* it was not removed */
	come(&evict, 16, 4);
	uvmp_evict_touch(&evict, 0); /* wrong: in the last one */
	uvmp_evict_touch(&evict, 2); /* not so: long ago */
	leave(&evict, 1, 16);
	mhpe_of(&evict)->intervals = 4; /* late, so that the strategy stays */
	come(&evict, 20, 4);
	assert_int_equal(mhpe_of(&evict)->distance, 3 + 4 + 1);
	mhpe_of(&evict)->distance = 30;
	leave(&evict, 4, 16);
	come(&evict, 24, 4);
	assert_int_equal(mhpe_of(&evict)->distance, 32);
	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_OK);
	assert_int_equal(unit, uvmpi_recency_oldest(&mhpe_of(&evict)->list)); /* further than there are */
	uvmp_evict_remove(&evict, 5);
	mhpe_of(&evict)->distance = 33;
	assert_false(uvmp_evict_is_valid(&evict));
}

/* Many untouched pages in the first four intervals with evictions: the oldest go from then on. */
static void mhpe_strategy(void **state)
{
	static const struct {
		uint32_t untouched[5];
		bool is_lru;
	} cases[] = {
	        {{0, 0, 0, 0, 0}, false}, {{8}, true},          {{7, 0, 0, 0, 0}, false},  {{5, 5}, true},
	        {{2, 2, 2, 3}, false},    {{2, 2, 2, 4}, true}, {{1, 1, 1, 1, 16}, false},
	};
	uint64_t memory[MEMORY_WORDS(64)];
	struct uvmp_evict evict;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_mhpe(&evict, memory, 64, sizeof(memory));
		come(&evict, 0, 12); /* nothing leaves: does not count */
		come(&evict, 12, 4);
		for (uint32_t k = 0; k < 5; k++) {
			leave(&evict, k, cases[i].untouched[k]);
			come(&evict, 16 + 4 * k, 4);
		}
		assert_int_equal(mhpe_of(&evict)->is_lru, cases[i].is_lru);
		if (cases[i].is_lru)
			ASSERT_VICTIMS(&evict, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
			               22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35);
	}
}

static void batch_and_left_errors(void **state)
{
	uint64_t memory[MEMORY_WORDS(UNITS)];
	struct uvmp_evict evict, broken;

	(void)state;
	uvmp_evict_init(&evict, UVMP_EVICT_MHPE, UNITS, memory, sizeof(memory));
	broken = evict, broken.state = NULL;
	assert_int_equal(uvmp_evict_batch(&broken), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_left(&broken, 0, 1, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_left(&evict, UNITS, 1, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_left(&evict, 0, 1, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_left(&evict, 0, 513, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_left(&evict, 0, 512, 512), UVMP_OK);
	uvmp_evict_init(&evict, UVMP_EVICT_CLOCK_2M, UNITS, memory, sizeof(memory));
	assert_int_equal(uvmp_evict_batch(&evict), UVMP_OK);
	assert_int_equal(uvmp_evict_left(&evict, 0, 1, 1), UVMP_OK);
}

/* The blocks that leave with a victim: tbne's alone. */
static void closure(void **state)
{
	static uint64_t memory[MEMORY_WORDS(32)];
	struct uvmp_evict evict;
	struct uvmp_tree tree, same;

	(void)state;
	assert_int_equal(uvmp_tree_init(&tree, 4), UVMP_OK);
	uvmp_tree_set_leaf(&tree, 1, UVMP_BASIC_BLOCK_PAGES);
	same = tree;
	assert_int_equal(uvmp_evict_closure(NULL, &tree, ~0u), 0);
	uvmp_evict_init(&evict, UVMP_EVICT_SL_64K, 32, memory, sizeof(memory));
	assert_int_equal(uvmp_evict_closure(&evict, &tree, ~0u), 0);
	assert_memory_equal(&tree, &same, sizeof(tree));
	uvmp_evict_init(&evict, UVMP_EVICT_TBN, 32, memory, sizeof(memory));
	assert_int_equal(uvmp_evict_closure(&evict, &tree, ~0u), uvmp_evict_tbn_closure(&same, ~0u));
	assert_int_equal(uvmp_tree_leaf(&tree, 1), 0);
}

/* State of a unit is written when the unit is used: a large order costs what is used of it. */
static void memory_is_written_as_used(void **state)
{
	enum { MANY = 4096, FIRST = 137, HEAD = 520 / 8 };
	static uint64_t space[MEMORY_WORDS(MANY)];
	uint64_t random = 7;

	(void)state;
	for (uint32_t order = UVMP_EVICT_LRU + 1u; order < UVMP_EVICT_COUNT; order++) {
		size_t bytes = uvmp_evict_size((enum uvmp_evictor)order, MANY), written = 0;
		struct uvmp_evict evict;
		uint32_t unit = MANY - 1u;

		assert_true(bytes != 0 && bytes <= sizeof(space));
		memset(space, 0xa5, sizeof(space));
		assert_int_equal(uvmp_evict_init(&evict, (enum uvmp_evictor)order, MANY, space, bytes), UVMP_OK);
		for (size_t i = HEAD; i < sizeof(space) / sizeof(*space); i++)
			assert_true(space[i] == 0xa5a5a5a5a5a5a5a5u);
		/* units that were never used */
		assert_false(uvmp_evict_contains(&evict, unit));
		assert_int_equal(uvmp_evict_remove(&evict, unit), UVMP_OK);
		assert_int_equal(uvmp_evict_weigh(&evict, unit, 9), UVMP_OK);
		assert_int_equal(uvmp_evict_victim(&evict, &random, &unit), UVMP_ERR_NO_MEMORY);
		assert_int_equal(uvmp_evict_touch(&evict, FIRST), UVMP_OK);
		unit = MANY - 1u;
		if (order != UVMP_EVICT_RANDOM_4K)
			assert_int_equal(uvmp_evict_next(&evict, &random, &unit), UVMP_ERR_NO_MEMORY);
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(uvmp_evict_contains(&evict, i), i == FIRST);
		assert_int_equal(uvmp_evict_victim(&evict, &random, &unit), UVMP_OK);
		assert_int_equal(unit, FIRST);
		for (size_t i = HEAD; i < sizeof(space) / sizeof(*space); i++)
			written += space[i] != 0xa5a5a5a5a5a5a5a5u;
		assert_in_range(written, 1, 5 * (FIRST + 2));
		/* history of a unit that was never used */
		assert_int_equal(uvmp_evict_spare(&evict, FIRST + 2u, true), UVMP_OK);
		assert_int_equal(uvmp_evict_left(&evict, FIRST + 3u, 16, 0), UVMP_OK);
		assert_int_equal(uvmp_evict_forget(&evict, FIRST + 4u), UVMP_OK);
		assert_int_equal(evict.count, 1);
		assert_int_equal(uvmp_evict_touch(&evict, FIRST + 5u), UVMP_OK);
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(uvmp_evict_contains(&evict, i), i == FIRST || i == FIRST + 5u);
	}
}

#define LARGE 4096u

static struct uvmp_evict *open_large(enum uvmp_evictor evictor)
{
	static uint64_t memory[MEMORY_WORDS(LARGE)];
	static struct uvmp_evict evict;

	assert_int_equal(uvmp_evict_init(&evict, evictor, LARGE, memory, sizeof(memory)), UVMP_OK);
	for (uint32_t unit = 0; unit < LARGE; unit++)
		uvmp_evict_touch(&evict, unit);
	return &evict;
}

/* The victims in their order must be first, first + step, ... modulo LARGE, without the first `reserved` ones. */
static void assert_large(struct uvmp_evict *evict, uint32_t first, uint32_t step, uint32_t reserved)
{
	uint32_t unit = UVMP_UNIT_NONE;
	enum uvmp_status status = uvmp_evict_victim(evict, NULL, &unit);

	for (uint32_t i = reserved; i < LARGE; i++) {
		assert_int_equal(status, UVMP_OK);
		assert_int_equal(unit, (first + i * step) % LARGE);
		status = uvmp_evict_next(evict, NULL, &unit);
	}
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
}

/* Populations whose searches take several levels: frequencies are set in a mixed order, then raised by touches. */
static void large_frequencies(void **state)
{
	struct uvmp_evict *evict = open_large(UVMP_EVICT_LFU_2M);

	(void)state;
	for (uint32_t i = 0; i < LARGE; i++) /* 5 * 3277 = 4 * LARGE + 1: unit 5 * f gets frequency 2 * f + 2 */
		uvmp_evict_weigh(evict, i * 7u % LARGE, 2u * (i * 7u % LARGE * 3277u % LARGE) + 2u);
	assert_large(evict, 0, 5, 0);
	for (uint32_t unit = 0; unit < LARGE; unit++)
		uvmp_evict_touch(evict, unit);
	assert_large(evict, 0, 5, 0);
	for (uint32_t unit = LARGE; unit-- > 0;)
		uvmp_evict_weigh(evict, unit, 3u * unit);
	assert_large(evict, 0, 1, 0);
	evict->reserve_percent = 50;
	assert_large(evict, 0, 1, LARGE / 2u);
}

static void large_clock(void **state)
{
	struct uvmp_evict *evict = open_large(UVMP_EVICT_CLOCK_2M);

	(void)state;
	assert_large(evict, 0, 1, 0);
	for (uint32_t unit = 0; unit < LARGE - 1u; unit++)
		uvmp_evict_touch(evict, unit);
	assert_large(evict, LARGE - 1u, 1, 0); /* the hand has passed all others */
	for (uint32_t unit = 1000; unit < 3000; unit++) {
		uvmp_evict_remove(evict, unit);
		uvmp_evict_touch(evict, unit);
	}
	for (uint32_t unit = 0; unit < LARGE; unit++) { /* the slots have been given more than once */
		uvmp_evict_remove(evict, unit);
		uvmp_evict_touch(evict, unit);
	}
	evict->reserve_percent = 50;
	assert_large(evict, 0, 1, LARGE / 2u);
	evict->reserve_percent = 10;
	assert_large(evict, 0, 1, LARGE / 10u);
}

static void large_groups(void **state)
{
	struct uvmp_evict *evict = open_large(UVMP_EVICT_SL_64K);

	(void)state;
	for (uint32_t unit = 0; unit < LARGE; unit++)
		uvmp_evict_touch(evict, unit);
	assert_large(evict, 0, 1, 0);
	for (uint32_t unit = LARGE; unit-- > 0;)
		uvmp_evict_touch(evict, unit);
	assert_large(evict, LARGE - 1u, LARGE - 1u, 0);
	evict->reserve_percent = 50;
	assert_large(evict, LARGE - 1u, LARGE - 1u, LARGE / 2u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(large_frequencies),
	        cmocka_unit_test(large_clock),
	        cmocka_unit_test(large_groups),
	        cmocka_unit_test(memory_is_written_as_used),
	        cmocka_unit_test(recency_init),
	        cmocka_unit_test(recency_order),
	        cmocka_unit_test(recency_bad_unit),
	        cmocka_unit_test(recency_is_valid),
	        cmocka_unit_test(table),
	        cmocka_unit_test(traits),
	        cmocka_unit_test(closure),
	        cmocka_unit_test(size),
	        cmocka_unit_test(init_errors),
	        cmocka_unit_test(is_valid),
	        cmocka_unit_test(call_errors),
	        cmocka_unit_test(lru),
	        cmocka_unit_test(lru_by_time),
	        cmocka_unit_test(random_draws),
	        cmocka_unit_test(random_repeats),
	        cmocka_unit_test(every_order),
	        cmocka_unit_test(groups),
	        cmocka_unit_test(coming),
	        cmocka_unit_test(reserve),
	        cmocka_unit_test(least_frequently),
	        cmocka_unit_test(spared),
	        cmocka_unit_test(spared_behind_reserve),
	        cmocka_unit_test(membership),
	        cmocka_unit_test(reserve_in_floats),
	        cmocka_unit_test(weights),
	        cmocka_unit_test(second_chance),
	        cmocka_unit_test(mhpe_partitions),
	        cmocka_unit_test(mhpe_distance),
	        cmocka_unit_test(mhpe_strategy),
	        cmocka_unit_test(batch_and_left_errors),
	};

	return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
