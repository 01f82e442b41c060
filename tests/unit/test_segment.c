/* segment.h: which segment holds an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "segment.h"

static int written = 1;

static void code_and_data(void **state)
{
	struct segment code = {0, 0}, data = {0, 0}, other = {0, 0};

	(void)state;
	assert_false(segment_has(&code, (uintptr_t)code_and_data));
	assert_true(segment_find((uintptr_t)code_and_data, &code));
	assert_true(segment_has(&code, (uintptr_t)code_and_data));
	assert_true(segment_find((uintptr_t)&written, &data));
	assert_true(segment_has(&data, (uintptr_t)&written));
	assert_false(segment_has(&data, (uintptr_t)code_and_data));
	assert_false(segment_has(&code, (uintptr_t)&written));
	assert_true(segment_find((uintptr_t)_assert_true, &other)); /* of another object, unless the program is static */
	assert_true(segment_has(&other, (uintptr_t)_assert_true));
	assert_int_equal(segment_has(&other, (uintptr_t)code_and_data), other.first == code.first);
	assert_false(segment_has(&code, code.first - 1u));
	assert_true(segment_has(&code, code.first));
	assert_true(segment_has(&code, code.end - 1u));
	assert_false(segment_has(&code, code.end));
}

static void in_no_object(void **state)
{
	struct segment found = {1, 2};

	(void)state;
	assert_false(segment_find((uintptr_t)&found, &found)); /* the stack */
	assert_false(segment_find(0, &found));
	assert_true(found.first == 1 && found.end == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_and_data),
		cmocka_unit_test(in_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
