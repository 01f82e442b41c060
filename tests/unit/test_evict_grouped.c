/* Unit tests of the recency list in groups (evict.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/evict.h"

#define UNITS 20u
#define GROUP 4u

static _Alignas(uint64_t) unsigned char memory[4096];
static struct uvmp_grouped list;

static void begin(void)
{
	assert_int_equal(uvmp_grouped_init(&list, UNITS, GROUP, memory, sizeof(memory)), UVMP_OK);
	assert_true(uvmp_grouped_is_valid(&list));
	assert_int_equal(uvmp_grouped_oldest(&list), UVMP_UNIT_NONE);
}

static void touch(uint32_t count, const uint32_t *unit)
{
	for (uint32_t i = 0; i < count; i++)
		uvmp_grouped_touch(&list, unit[i]);
}
#define TOUCH(...)                                                                                           \
	touch(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* Drained, the list gives these. */
static void drain(uint32_t count, const uint32_t *unit)
{
	assert_int_equal(list.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(uvmp_grouped_oldest(&list), unit[i]);
		uvmp_grouped_remove(&list, unit[i]);
		assert_true(uvmp_grouped_is_valid(&list));
	}
	assert_int_equal(uvmp_grouped_oldest(&list), UVMP_UNIT_NONE);
	assert_int_equal(list.order.count, 0);
}
#define DRAIN(...)                                                                                           \
	drain(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* [uvmsmart: eviction-list]: tree A blocks touched at 10, 50, 5; tree B at 20, 30: B20, B30, A5, A10, A50. */
static void test_order(void **state)
{
	(void)state;
	begin();
	TOUCH(2, 0, 4, 5, 1);
	DRAIN(4, 5, 2, 0, 1);
	TOUCH(0, 1, 4, 0);
	DRAIN(4, 1, 0);
	TOUCH(3, 3, 3);
	assert_true(uvmp_grouped_contains(&list, 3));
	assert_false(uvmp_grouped_contains(&list, 2));
	assert_false(uvmp_grouped_contains(&list, UNITS));
	assert_false(uvmp_grouped_contains(NULL, 3));
	DRAIN(3);
}

static void test_remove(void **state)
{
	(void)state;
	begin();
	/* the oldest and one in the middle: the group stays where it is */
	TOUCH(4, 0, 1, 2, 3, 8);
	uvmp_grouped_remove(&list, 0);
	uvmp_grouped_remove(&list, 2);
	DRAIN(4, 1, 3, 8);
	/* the newest: past one group to the head, past one in the middle, past none */
	TOUCH(0, 4, 1, 8);
	uvmp_grouped_remove(&list, 1);
	DRAIN(0, 4, 8);
	TOUCH(12, 0, 4, 8, 1);
	uvmp_grouped_remove(&list, 1);
	DRAIN(12, 0, 4, 8);
	TOUCH(4, 0, 1);
	uvmp_grouped_remove(&list, 1);
	DRAIN(4, 0);
	/* what is not there */
	TOUCH(4);
	uvmp_grouped_remove(&list, 5);
	uvmp_grouped_remove(&list, UNITS);
	uvmp_grouped_touch(&list, UNITS);
	DRAIN(4);
}

static void test_init(void **state)
{
	struct uvmp_grouped x, blank;
	size_t size = uvmp_grouped_size(UNITS, GROUP);

	(void)state;
	assert_int_equal(uvmp_grouped_size(0, 4), 0);
	assert_int_equal(uvmp_grouped_size(4, 0), 0);
	assert_int_equal(uvmp_grouped_size(UVMP_UNITS_MAX + 1u, 4), 0);
	assert_int_equal(uvmp_grouped_size(5, 4), 5 * 16 + 2 * 16);
	memset(&x, 0x5a, sizeof(x));
	blank = x;
	assert_int_equal(uvmp_grouped_init(NULL, UNITS, GROUP, memory, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_grouped_init(&x, UNITS, GROUP, NULL, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_grouped_init(&x, UNITS, GROUP, memory + 4, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_grouped_init(&x, 0, GROUP, memory, size), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_grouped_init(&x, UNITS, GROUP, memory, size - 1), UVMP_ERR_SPACE);
	assert_memory_equal(&x, &blank, sizeof(x));
	assert_int_equal(uvmp_grouped_init(&x, UNITS, GROUP, memory, size), UVMP_OK);
}

static void assert_refused(struct uvmp_grouped *bad)
{
	assert_false(uvmp_grouped_is_valid(bad));
	uvmp_grouped_touch(bad, 0);
	uvmp_grouped_remove(bad, 0);
	assert_int_equal(uvmp_grouped_oldest(bad), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_grouped_next(bad, 0), UVMP_UNIT_NONE);
}

static void test_is_valid(void **state)
{
	struct uvmp_grouped bad;

	(void)state;
	begin();
	TOUCH(0, 7);
	assert_refused(NULL);
	assert_int_equal(uvmp_grouped_next(&list, UNITS), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_grouped_next(&list, 1), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_grouped_next(&list, 0), 7);
	assert_int_equal(uvmp_grouped_next(&list, 7), UVMP_UNIT_NONE);
	bad = list, bad.link = NULL, assert_refused(&bad);
	bad = list, bad.ends = NULL, assert_refused(&bad);
	bad = list, bad.group_units = 0, assert_refused(&bad);
	bad = list, bad.units = 0, assert_refused(&bad);
	bad = list, bad.order.link = NULL, assert_refused(&bad);
	bad = list, bad.group_units = 5, assert_refused(&bad);
	bad = list, bad.count = UNITS + 1, assert_refused(&bad);
	bad = list, bad.count = 1, assert_refused(&bad);
	bad = list, bad.begun = UNITS + 1, assert_refused(&bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_order),
	        cmocka_unit_test(test_remove),
	        cmocka_unit_test(test_init),
	        cmocka_unit_test(test_is_valid),
	};

	return cmocka_run_group_tests_name("recency in groups", tests, NULL, NULL);
}
