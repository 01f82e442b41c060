/* base.h: version, status texts, the generator. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "uvmpolicy/uvmpolicy.h"

static void test_version(void **state)
{
	char expected[32];

	(void)state;
	snprintf(expected, sizeof(expected), "%d.%d.%d", UVMP_VERSION_MAJOR, UVMP_VERSION_MINOR,
	         UVMP_VERSION_PATCH);
	assert_string_equal(uvmp_version(), expected);
	assert_string_equal(UVMP_VERSION_STRING, expected);
	assert_int_equal(uvmp_version_number(), UVMP_VERSION_NUMBER);
	assert_int_equal(UVMP_VERSION_NUMBER, UVMP_VERSION_MAJOR * 1000000 + UVMP_VERSION_MINOR * 1000 + UVMP_VERSION_PATCH);
}

static void test_status_texts_are_distinct(void **state)
{
	(void)state;
	for (int a = UVMP_ERR_ARENA; a <= UVMP_OK; a++) {
		const char *text = uvmp_status_text((enum uvmp_status)a);
		size_t length = strlen(text);

		assert_true(length > 0);
		assert_string_not_equal(text, "unknown status");
		assert_int_not_equal(text[length - 1], '.');
		assert_null(strchr(text, '\n'));
		for (int b = UVMP_ERR_ARENA; b < a; b++)
			assert_string_not_equal(text, uvmp_status_text((enum uvmp_status)b));
	}
	assert_string_equal(uvmp_status_text(UVMP_OK), "success");
}

static void test_status_text_of_anything_else(void **state)
{
	(void)state;
	assert_string_equal(uvmp_status_text((enum uvmp_status)1), "unknown status");
	assert_string_equal(uvmp_status_text((enum uvmp_status)(UVMP_ERR_ARENA - 1)), "unknown status");
}

/* The recurrence of Vigna 2016 (xorshift64*, shifts 12, 25, 27, multiplier 2685821657736338717), step by
 * step. */
static void test_random_is_xorshift64star(void **state)
{
	uint64_t mine = 1, theirs = 1;

	(void)state;
	for (int i = 0; i < 100; i++) {
		theirs ^= theirs >> 12;
		theirs ^= theirs << 25;
		theirs ^= theirs >> 27;
		assert_true(uvmp_random_next(&mine) == theirs * 2685821657736338717u);
		assert_true(mine == theirs);
	}
}

static void test_random_seed_zero_works(void **state)
{
	uint64_t zero = 0, again = 0, x;

	(void)state;
	x = uvmp_random_next(&zero);
	assert_true(zero != 0);
	assert_true(uvmp_random_next(&again) == x);
	assert_true(uvmp_random_next(&zero) != x);
}

static void test_random_below(void **state)
{
	uint64_t a = 7, b = 7, seen = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		uint64_t x = uvmp_random_below(&a, 10);

		assert_true(x == uvmp_random_next(&b) % 10);
		assert_true(x < 10);
		seen |= (uint64_t)1 << x;
	}
	assert_int_equal(seen, 0x3ff);
	assert_true(uvmp_random_below(&a, 1) == 0);
	/* A bound of 0 has no answer and costs no draw. */
	b = a;
	assert_true(uvmp_random_below(&a, 0) == 0);
	assert_true(a == b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_version),
	        cmocka_unit_test(test_status_texts_are_distinct),
	        cmocka_unit_test(test_status_text_of_anything_else),
	        cmocka_unit_test(test_random_is_xorshift64star),
	        cmocka_unit_test(test_random_seed_zero_works),
	        cmocka_unit_test(test_random_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
