/* Unit tests of the recency list in groups (evict.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "evict/grouped_internal.h"

#define UNITS 20u
#define GROUP 4u

static _Alignas(uint64_t) unsigned char memory[4096];
static struct grouped list;

static void begin(void)
{
	uvmpi_grouped_init(&list, UNITS, GROUP, memory);
	assert_true(uvmpi_grouped_is_valid(&list));
	assert_int_equal(uvmpi_grouped_oldest(&list), UVMP_UNIT_NONE);
}

static void touch(uint32_t count, const uint32_t *unit)
{
	for (uint32_t i = 0; i < count; i++)
		uvmpi_grouped_touch(&list, unit[i]);
}
#define TOUCH(...)                                                                                           \
	touch(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* Drained, the list gives these. */
static void drain(uint32_t count, const uint32_t *unit)
{
	assert_int_equal(list.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(uvmpi_grouped_oldest(&list), unit[i]);
		uvmpi_grouped_take_off(&list, unit[i]);
		assert_true(uvmpi_grouped_is_valid(&list));
	}
	assert_int_equal(uvmpi_grouped_oldest(&list), UVMP_UNIT_NONE);
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
	assert_true(uvmpi_grouped_contains(&list, 3));
	assert_false(uvmpi_grouped_contains(&list, 2));
	assert_false(uvmpi_grouped_contains(&list, UNITS));
	DRAIN(3);
}

static void test_remove(void **state)
{
	(void)state;
	begin();
	/* the oldest and one in the middle: the group stays where it is */
	TOUCH(4, 0, 1, 2, 3, 8);
	uvmpi_grouped_take_off(&list, 0);
	uvmpi_grouped_take_off(&list, 2);
	DRAIN(4, 1, 3, 8);
	/* the newest: past one group to the head, past one in the middle, past none */
	TOUCH(0, 4, 1, 8);
	uvmpi_grouped_take_off(&list, 1);
	DRAIN(0, 4, 8);
	TOUCH(12, 0, 4, 8, 1);
	uvmpi_grouped_take_off(&list, 1);
	DRAIN(12, 0, 4, 8);
	TOUCH(4, 0, 1);
	uvmpi_grouped_take_off(&list, 1);
	DRAIN(4, 0);
}

static void assert_refused(const struct grouped *bad)
{
	assert_false(uvmpi_grouped_is_valid(bad));
}

static void test_is_valid(void **state)
{
	struct grouped bad;

	(void)state;
	begin();
	TOUCH(0, 7);
	assert_int_equal(uvmpi_grouped_next(&list, UNITS), UVMP_UNIT_NONE);
	assert_int_equal(uvmpi_grouped_next(&list, 1), UVMP_UNIT_NONE);
	assert_int_equal(uvmpi_grouped_next(&list, 0), 7);
	assert_int_equal(uvmpi_grouped_next(&list, 7), UVMP_UNIT_NONE);
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
	        cmocka_unit_test(test_is_valid),
	};

	return cmocka_run_group_tests_name("recency in groups", tests, NULL, NULL);
}
