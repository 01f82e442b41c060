/* Unit tests of the frequency heap (evict.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/evict.h"

#define UNITS 12u

static _Alignas(uint64_t) unsigned char memory[32 * UNITS];
static struct uvmp_frequency list;

static void begin(void)
{
	assert_int_equal(uvmp_frequency_init(&list, UNITS, memory, sizeof(memory)), UVMP_OK);
	assert_true(uvmp_frequency_is_valid(&list));
	assert_int_equal(uvmp_frequency_least(&list), UVMP_UNIT_NONE);
}

static void drain(uint32_t count, const uint32_t *unit)
{
	assert_int_equal(list.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(uvmp_frequency_least(&list), unit[i]);
		uvmp_frequency_remove(&list, unit[i]);
	}
	assert_int_equal(uvmp_frequency_least(&list), UVMP_UNIT_NONE);
}
#define DRAIN(...)                                                                                           \
	drain(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* [uvmsmart: victim-selection]: (counter, rw, cycle) = (5,1,16) (3,2,48) (3,1,500) (3,1,older): T3, T2,
 * T1, T0. */
static void test_order(void **state)
{
	(void)state;
	begin();
	uvmp_frequency_touch(&list, 0, 5 * 4 + 1);
	uvmp_frequency_touch(&list, 1, 3 * 4 + 2);
	uvmp_frequency_touch(&list, 3, 3 * 4 + 1);
	uvmp_frequency_touch(&list, 2, 3 * 4 + 1);
	DRAIN(3, 2, 1, 0);
}

static void test_changes(void **state)
{
	(void)state;
	begin();
	for (uint32_t unit = 0; unit < 10; unit++)
		uvmp_frequency_touch(&list, unit, 10 * (unit + 1));
	uvmp_frequency_touch(&list, 0, 95); /* sinks */
	uvmp_frequency_set(&list, 7, 5);    /* rises */
	uvmp_frequency_set(&list, 4, 50);   /* stays */
	uvmp_frequency_set(&list, 3, 20);   /* as often as unit 1, touched later */
	uvmp_frequency_remove(&list, 8);
	DRAIN(7, 1, 3, 2, 4, 5, 6, 0, 9);
	/* the last of the heap takes the place of one that leaves, and rises there */
	for (uint32_t unit = 0; unit < 7; unit++)
		uvmp_frequency_touch(&list, unit, (uint64_t[]){1, 50, 2, 51, 52, 3, 4}[unit]);
	uvmp_frequency_remove(&list, 3);
	DRAIN(0, 2, 5, 6, 1, 4);
	/* what is not there */
	uvmp_frequency_touch(&list, UNITS, 1);
	uvmp_frequency_set(&list, UNITS, 1);
	uvmp_frequency_set(&list, 1, 1);
	uvmp_frequency_remove(&list, UNITS);
	uvmp_frequency_remove(&list, 1);
	assert_int_equal(list.count, 0);
}

/* The order beyond its first unit. */
static void test_ranks(void **state)
{
	static const uint32_t expected[] = {7, 1, 3, 2, 4, 0};
	struct uvmp_frequency bad;

	(void)state;
	begin();
	assert_int_equal(uvmp_frequency_at(&list, 0), UVMP_UNIT_NONE);
	uvmp_frequency_touch(&list, 0, UINT64_MAX);
	uvmp_frequency_touch(&list, 1, 20);
	uvmp_frequency_touch(&list, 2, 30);
	uvmp_frequency_touch(&list, 3, 20);
	uvmp_frequency_touch(&list, 4, 1000);
	uvmp_frequency_touch(&list, 7, 0);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(uvmp_frequency_at(&list, i), expected[i]);
		assert_int_equal(uvmp_frequency_next(&list, expected[i]),
		                 i < 5 ? expected[i + 1] : UVMP_UNIT_NONE);
	}
	assert_int_equal(uvmp_frequency_at(&list, 6), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_frequency_next(&list, 5), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_frequency_next(&list, UNITS), UVMP_UNIT_NONE);
	bad = list, bad.key = NULL;
	assert_int_equal(uvmp_frequency_at(&bad, 1), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_frequency_next(&bad, 1), UVMP_UNIT_NONE);
}

/* Those that are spared come behind all others, in the same order among themselves. */
static void test_spared(void **state)
{
	static const uint32_t expected[] = {2, 4, 5, 0, 1, 3};

	(void)state;
	begin();
	uvmp_frequency_spare(&list, 3, true); /* before it is listed */
	for (uint32_t unit = 0; unit < 6; unit++)
		uvmp_frequency_touch(&list, unit, 10 * (unit + 1));
	uvmp_frequency_spare(&list, 0, true);
	uvmp_frequency_spare(&list, 1, true);
	uvmp_frequency_spare(&list, 2, true);
	uvmp_frequency_spare(&list, 2, false);
	uvmp_frequency_spare(&list, UNITS, true);
	uvmp_frequency_touch(&list, 0, 5);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(uvmp_frequency_at(&list, i), expected[i]);
		assert_int_equal(uvmp_frequency_next(&list, expected[i]),
		                 i < 5 ? expected[i + 1] : UVMP_UNIT_NONE);
	}
	drain(6, expected);
}

static void test_init(void **state)
{
	struct uvmp_frequency x, blank;
	size_t size = uvmp_frequency_size(UNITS);

	(void)state;
	assert_int_equal(size, 32 * UNITS);
	assert_int_equal(uvmp_frequency_size(0), 0);
	assert_int_equal(uvmp_frequency_size(UVMP_UNITS_MAX + 1u), 0);
	memset(&x, 0x5a, sizeof(x));
	blank = x;
	assert_int_equal(uvmp_frequency_init(NULL, UNITS, memory, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_frequency_init(&x, UNITS, NULL, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_frequency_init(&x, UNITS, memory + 4, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_frequency_init(&x, 0, memory, size), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_frequency_init(&x, UNITS, memory, size - 1), UVMP_ERR_SPACE);
	assert_memory_equal(&x, &blank, sizeof(x));
}

static void assert_refused(struct uvmp_frequency *bad)
{
	assert_false(uvmp_frequency_is_valid(bad));
	uvmp_frequency_touch(bad, 0, 1);
	uvmp_frequency_set(bad, 0, 1);
	uvmp_frequency_spare(bad, 0, true);
	uvmp_frequency_remove(bad, 0);
	assert_int_equal(uvmp_frequency_least(bad), UVMP_UNIT_NONE);
}

static void test_is_valid(void **state)
{
	struct uvmp_frequency bad;

	(void)state;
	begin();
	assert_refused(NULL);
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
	        cmocka_unit_test(test_init),  cmocka_unit_test(test_is_valid),
	};

	return cmocka_run_group_tests_name("frequency", tests, NULL, NULL);
}
