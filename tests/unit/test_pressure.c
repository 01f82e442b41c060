/* pressure.h: the table of [uvmsmart: eviction-trigger] and the roundings of [uvmsmart: integer-forms], by
 * hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/pressure.h"

static struct uvmp_pressure memory(uint64_t total, uint64_t free, uint64_t incoming, uint64_t leaving,
                                   uint32_t buffer)
{
	return (struct uvmp_pressure){total, free, incoming, leaving, buffer, true};
}

static void check(struct uvmp_pressure pressure, bool is_over, uint64_t per_myriad)
{
	assert_true(uvmp_pressure_is_valid(&pressure));
	assert_int_equal(uvmp_pressure_is_over(&pressure), is_over);
	assert_int_equal(uvmp_pressure_scale(&pressure, 10000), per_myriad);
}

/* [uvmsmart: eviction-trigger]. */
static void test_table(void **state)
{
	(void)state;
	check(memory(1000, 0, 0, 0, 0), false, 10000);
	check(memory(1000, 0, 1, 0, 0), true, 10010);
	check(memory(1000, 0, 1, 1, 0), false, 10000);
	check(memory(1000, 50, 50, 0, 0), false, 10000);
	check(memory(1000, 50, 51, 0, 0), true, 10010);
	check(memory(1000, 50, 0, 0, 5), false, 10000);
	check(memory(1000, 49, 0, 0, 5), true, 10010);
	check(memory(1000, 10, 60, 50, 0), false, 10000);
}

/* [uvmsmart: oversubscription-switch]: 48 pages; blocks 0, 2 and 4 are there, the fault at block 6 tips
 * it. */
static void test_switch(void **state)
{
	struct uvmp_pressure pressure = memory(48, 0, 0, 0, 0);

	(void)state;
	assert_false(uvmp_pressure_is_over(&pressure));
	pressure.incoming_pages = 16;
	assert_true(uvmp_pressure_is_over(&pressure));
}

/* [uvmsmart: integer-forms]: what is a page over in exact numbers is not in 24 bits. */
static void test_rounding(void **state)
{
	struct uvmp_pressure pressure = memory(131077, 131077 - 57018, 57019, 0, 13);

	(void)state;
	assert_true(100u * (57018u + 57019u) + 13u * 131077u > 100u * 131077u);
	assert_false(uvmp_pressure_is_over(&pressure));
	/* 1/3 to 24 bits, and rounded up: 11184811 / 2^25. */
	pressure = memory(3, 2, 0, 0, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1u << 25), 11184811);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1u << 24), 5592405);
	/* 2^24 + 1 is a tie and goes to the even neighbour below, 2^24 + 3 to the one above. */
	pressure = memory(1u << 24, 1, 0, 1, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1u << 24), (1u << 24) - 1u);
	pressure = memory(1u << 24, 0, 0, 3, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1u << 31), 2147483136);
	pressure = memory(1u << 24, 0, 1, 0, 0);
	assert_false(uvmp_pressure_is_over(&pressure));
	pressure.incoming_pages = 2;
	assert_true(uvmp_pressure_is_over(&pressure));
	/* 2^25 - 1 has a bit too many and becomes 2^25. */
	pressure = memory((1u << 25) - 1u, 0, 0, 0, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 7), 7);
	pressure.leaving_pages = 1;
	assert_int_equal(uvmp_pressure_scale(&pressure, 7), 7);
	/* A quotient that is above a tie by less than 2^-48 of itself is not one. */
	pressure = memory(16773219, 16773219 - 15919241, 0, 0, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1u << 24), 15923035);
	/* A hundredth of a page beside more than 2^39 of them. */
	pressure = memory(1, 1, UVMP_PRESSURE_PAGES_MAX, 0, 1);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1), UVMP_PRESSURE_PAGES_MAX);
	pressure = memory(UVMP_PRESSURE_PAGES_MAX, 0, 1, UVMP_PRESSURE_PAGES_MAX, 100);
	check(pressure, false, 10000);
}

static void test_extremes(void **state)
{
	struct uvmp_pressure pressure = memory(UVMP_PRESSURE_PAGES_MAX, UVMP_PRESSURE_PAGES_MAX, 0, 0, 0);

	(void)state;
	check(pressure, false, 0);
	/* less than 2^-24 of a page is none */
	pressure = memory(UVMP_PRESSURE_PAGES_MAX, UVMP_PRESSURE_PAGES_MAX - 1u, 0, 0, 0);
	check(pressure, false, 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, 0), 0);
	assert_int_equal(uvmp_pressure_scale(&pressure, UINT32_MAX), 0);
	pressure.incoming_pages = UVMP_PRESSURE_PAGES_MAX;
	assert_int_equal(uvmp_pressure_scale(&pressure, UINT32_MAX), (uint64_t)1 << 32);
}

/* [uvmsmart: clean-pages-uncounted]: more free than there is. */
static void test_wrap(void **state)
{
	struct uvmp_pressure pressure = memory(1000, 1001, 0, 0, 0);

	(void)state;
	assert_true(uvmp_pressure_is_over(&pressure));
	/* 2^64 / 1000, to 24 bits */
	assert_true(uvmp_pressure_scale(&pressure, 1) == (uint64_t)8589935 << 31);
	assert_true(uvmp_pressure_scale(&pressure, 100000) == UINT64_MAX);
	pressure.buffer_percent = 1; /* beside which ten pages are nothing */
	assert_true(uvmp_pressure_is_over(&pressure));
	pressure.quirks = false;
	check(pressure, false, 100);
	pressure.buffer_percent = 0;
	check(pressure, false, 0);
	pressure.free_pages = 999;
	check(pressure, false, 10);
}

static void test_errors(void **state)
{
	const uint64_t above = UVMP_PRESSURE_PAGES_MAX + 1u;
	struct uvmp_pressure pressure = memory(0, 0, 0, 0, 0);

	(void)state;
	assert_false(uvmp_pressure_is_valid(NULL));
	assert_false(uvmp_pressure_is_over(NULL));
	assert_int_equal(uvmp_pressure_scale(NULL, 1), 0);
	assert_false(uvmp_pressure_is_valid(&pressure));
	pressure = memory(above, 0, 0, 0, 0);
	assert_false(uvmp_pressure_is_valid(&pressure));
	pressure = memory(1, above, 0, 0, 0);
	assert_false(uvmp_pressure_is_valid(&pressure));
	pressure = memory(1, 0, above, 0, 0);
	assert_false(uvmp_pressure_is_over(&pressure));
	pressure = memory(1, 0, 0, above, 0);
	assert_false(uvmp_pressure_is_valid(&pressure));
	pressure = memory(1, 0, 0, 0, 101);
	assert_int_equal(uvmp_pressure_scale(&pressure, 1), 0);
	pressure = memory(1, 0, 0, 0, 100);
	assert_true(uvmp_pressure_is_valid(&pressure));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_table),    cmocka_unit_test(test_switch),
	        cmocka_unit_test(test_rounding), cmocka_unit_test(test_extremes),
	        cmocka_unit_test(test_wrap),     cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
