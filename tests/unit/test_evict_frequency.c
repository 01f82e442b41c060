/* Unit tests of the frequency heap (evict.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "evict/frequency_internal.h"

#define UNITS 12u

static _Alignas(uint64_t) unsigned char memory[32 * UNITS];
static struct frequency list;

static void begin(void)
{
	uvmpi_frequency_init(&list, UNITS, memory);
	assert_true(uvmpi_frequency_is_valid(&list));
	assert_int_equal(uvmpi_frequency_least(&list), UVMP_UNIT_NONE);
}

static void drain(uint32_t count, const uint32_t *unit)
{
	assert_int_equal(list.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(uvmpi_frequency_least(&list), unit[i]);
		uvmpi_frequency_remove(&list, unit[i]);
	}
	assert_int_equal(uvmpi_frequency_least(&list), UVMP_UNIT_NONE);
}
#define DRAIN(...)                                                                                           \
	drain(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* [uvmsmart: victim-selection]: (counter, rw, cycle) = (5,1,16) (3,2,48) (3,1,500) (3,1,older): T3, T2,
 * T1, T0. */
static void test_order(void **state)
{
	(void)state;
	begin();
	uvmpi_frequency_touch(&list, 0, 5 * 4 + 1);
	uvmpi_frequency_touch(&list, 1, 3 * 4 + 2);
	uvmpi_frequency_touch(&list, 3, 3 * 4 + 1);
	uvmpi_frequency_touch(&list, 2, 3 * 4 + 1);
	DRAIN(3, 2, 1, 0);
}

static void test_changes(void **state)
{
	(void)state;
	begin();
	for (uint32_t unit = 0; unit < 10; unit++)
		uvmpi_frequency_touch(&list, unit, 10 * (unit + 1));
	uvmpi_frequency_touch(&list, 0, 95); /* sinks */
	uvmpi_frequency_set(&list, 7, 5);    /* rises */
	uvmpi_frequency_set(&list, 4, 50);   /* stays */
	uvmpi_frequency_set(&list, 3, 20);   /* as often as unit 1, touched later */
	uvmpi_frequency_remove(&list, 8);
	DRAIN(7, 1, 3, 2, 4, 5, 6, 0, 9);
	/* the last of the heap takes the place of one that leaves, and rises there */
	for (uint32_t unit = 0; unit < 7; unit++)
		uvmpi_frequency_touch(&list, unit, (uint64_t[]){1, 50, 2, 51, 52, 3, 4}[unit]);
	uvmpi_frequency_remove(&list, 3);
	DRAIN(0, 2, 5, 6, 1, 4);
	/* what is not there */
	uvmpi_frequency_set(&list, UNITS, 1);
	uvmpi_frequency_set(&list, 1, 1);
	uvmpi_frequency_remove(&list, UNITS);
	uvmpi_frequency_remove(&list, 1);
	assert_int_equal(list.count, 0);
}

/* The order beyond its first unit. */
static void test_ranks(void **state)
{
	static const uint32_t expected[] = {7, 1, 3, 2, 4, 0};

	(void)state;
	begin();
	assert_int_equal(uvmpi_frequency_at(&list, 0), UVMP_UNIT_NONE);
	uvmpi_frequency_touch(&list, 0, UINT64_MAX);
	uvmpi_frequency_touch(&list, 1, 20);
	uvmpi_frequency_touch(&list, 2, 30);
	uvmpi_frequency_touch(&list, 3, 20);
	uvmpi_frequency_touch(&list, 4, 1000);
	uvmpi_frequency_touch(&list, 7, 0);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(uvmpi_frequency_at(&list, i), expected[i]);
		assert_int_equal(uvmpi_frequency_next(&list, expected[i]),
		                 i < 5 ? expected[i + 1] : UVMP_UNIT_NONE);
	}
	assert_int_equal(uvmpi_frequency_at(&list, 6), UVMP_UNIT_NONE);
	assert_int_equal(uvmpi_frequency_next(&list, 5), UVMP_UNIT_NONE);
	assert_int_equal(uvmpi_frequency_next(&list, UNITS), UVMP_UNIT_NONE);
}

/* Those that are spared come behind all others, in the same order among themselves. */
static void test_spared(void **state)
{
	static const uint32_t expected[] = {2, 4, 5, 0, 1, 3};

	(void)state;
	begin();
	uvmpi_frequency_spare(&list, 3, true); /* before it is listed */
	for (uint32_t unit = 0; unit < 6; unit++)
		uvmpi_frequency_touch(&list, unit, 10 * (unit + 1));
	uvmpi_frequency_spare(&list, 0, true);
	uvmpi_frequency_spare(&list, 1, true);
	uvmpi_frequency_spare(&list, 2, true);
	uvmpi_frequency_spare(&list, 2, false);
	uvmpi_frequency_touch(&list, 0, 5);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(uvmpi_frequency_at(&list, i), expected[i]);
		assert_int_equal(uvmpi_frequency_next(&list, expected[i]),
		                 i < 5 ? expected[i + 1] : UVMP_UNIT_NONE);
	}
	drain(6, expected);
}

static void assert_refused(const struct frequency *bad)
{
	assert_false(uvmpi_frequency_is_valid(bad));
}

static void test_is_valid(void **state)
{
	struct frequency bad;

	(void)state;
	begin();
	bad = list, bad.key = NULL, assert_refused(&bad);
	bad = list, bad.heap = NULL, assert_refused(&bad);
	bad = list, bad.place = NULL, assert_refused(&bad);
	bad = list, bad.units = 0, assert_refused(&bad);
	bad = list, bad.units = UVMP_UNITS_MAX + 1u, assert_refused(&bad);
	bad = list, bad.count = UNITS + 1, assert_refused(&bad);
	bad = list, bad.begun = UNITS + 1, assert_refused(&bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_order), cmocka_unit_test(test_changes),
	        cmocka_unit_test(test_ranks), cmocka_unit_test(test_spared),
	        cmocka_unit_test(test_is_valid),
	};

	return cmocka_run_group_tests_name("frequency", tests, NULL, NULL);
}
