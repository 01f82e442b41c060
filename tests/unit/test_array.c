/* Tests of growing arrays. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "array.h"

static void reserves(void **state)
{
	uint16_t *array = NULL;
	uint32_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t before = capacity;

		assert_true(ARRAY_RESERVE(array, capacity, i + 1u));
		assert_true(capacity > i);
		assert_true(capacity == before || capacity >= 2u * before); /* O(1) an element */
		array[i] = (uint16_t)i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(array[i], i);
	free(array);
}

/* What no host has: nothing changes. */
static void refuses(void **state)
{
	uint64_t *array = NULL, capacity = 0;

	(void)state;
	assert_true(ARRAY_RESERVE(array, capacity, 3u));
	assert_int_equal(capacity, ARRAY_CAPACITY_LEAST);
	array[2] = 42;
	assert_false(ARRAY_RESERVE(array, capacity, UINT64_C(1) << 61));
	assert_int_equal(capacity, ARRAY_CAPACITY_LEAST);
	assert_int_equal(array[2], 42);
	assert_false(ARRAY_RESIZE(array, capacity, UINT64_C(1) << 61));
	assert_int_equal(array[2], 42);
	assert_null(array_zeros(UINT64_C(1) << 61, sizeof(*array)));
	free(array);
}

static void resizes(void **state)
{
	uint32_t *array = NULL;

	(void)state;
	assert_true(ARRAY_RESIZE(array, 0, 3));
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(array[i], 0);
		array[i] = i + 1u;
	}
	assert_true(ARRAY_RESIZE(array, 3, 500));
	assert_int_equal(array[2], 3);
	for (uint32_t i = 3; i < 500; i++)
		assert_int_equal(array[i], 0);
	free(array);
}

static void opens_gaps(void **state)
{
	char text[8] = "abcd";

	(void)state;
	ARRAY_OPEN(text, 5, 1); /* NUL included */
	text[1] = 'x';
	assert_string_equal(text, "axbcd");
	ARRAY_OPEN(text, 6, 6);
	assert_string_equal(text, "axbcd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(reserves),
	        cmocka_unit_test(refuses),
	        cmocka_unit_test(resizes),
	        cmocka_unit_test(opens_gaps),
	};

	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
