/* Tests of the spelling of numbers and sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "number.h"

static void assert_size(const char *text, uint64_t want)
{
	uint64_t got = 0;

	assert_true(number_parse_size(text, strlen(text), &got));
	assert_int_equal(got, want);
}

static void sizes(void **state)
{
	(void)state;
	assert_size("0", 0);
	assert_size("4096", 4096);
	assert_size("64K", 65536);
	assert_size("64k", 65536);
	assert_size("64KiB", 65536);
	assert_size("64kiB", 65536);
	assert_size("64KB", 65536);
	assert_size("64kB", 65536);
	assert_size("64MB", 67108864);
	assert_size("4B", 4);
	assert_size("3m", 3145728);
	assert_size("1G", 1073741824);
	assert_size("2t", UINT64_C(2) << 40);
	assert_size("16777215TiB", UINT64_C(16777215) << 40);
	assert_size("18446744073709551615", UINT64_MAX);
	assert_size("4mb", 4 << 20);
	assert_size("4Kib", 4096);
	assert_size("4b", 4);
}

static void not_sizes(void **state)
{
	static const char *const bad[] = {"",
	                                  "k",
	                                  "KiB",
	                                  "iB",
	                                  "4iB",
	                                  "B",
	                                  "4BB",
	                                  "4BiB",
	                                  "4Ki",
	                                  "4 K",
	                                  "4K ",
	                                  " 4",
	                                  "-1",
	                                  "+1",
	                                  "1.5G",
	                                  "0x1000",
	                                  "16777216T",
	                                  "18446744073709551616",
	                                  "4P",
	                                  "4Kk",
	                                  "4KiBiB",
	                                  "4\x0b",
	                                  "99999999999999999999K"};
	uint64_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (number_parse_size(bad[i], strlen(bad[i]), &number))
			fail_msg("\"%s\" is accepted", bad[i]);
	assert_int_equal(number, 7);
}

static void numbers(void **state)
{
	uint64_t number = 0;

	(void)state;
	assert_true(number_parse("0123x", 4, &number));
	assert_int_equal(number, 123);
	assert_false(number_parse("4K", 2, &number));
	assert_false(number_parse("", 0, &number));
	assert_false(number_parse("18446744073709551616", 20, &number));
	assert_int_equal(number, 123);
}

static void assert_hex(const char *text, enum number_status status, uint64_t want)
{
	uint64_t got = 7;

	assert_int_equal(number_hex(text, strlen(text), &got), status);
	assert_int_equal(got, want);
}

static void hexadecimal(void **state)
{
	(void)state;
	assert_hex("0", NUMBER_OK, 0);
	assert_hex("0x10", NUMBER_OK, 16);
	assert_hex("0XfFfFfFfFfFfFfFfF", NUMBER_OK, UINT64_MAX);
	assert_hex("10000000000000000", NUMBER_TOO_LARGE, UINT64_MAX);
	assert_hex("", NUMBER_BAD, 7);
	assert_hex("0x", NUMBER_BAD, 7);
	assert_hex("12g", NUMBER_BAD, 7);
	assert_hex("-1", NUMBER_BAD, 7);
}

static void prefixes(void **state)
{
	const char *text = "125abc", *at = text, *end = text + strlen(text);
	uint64_t got = 0;

	(void)state;
	assert_int_equal(number_read(&at, end, 10, &got), NUMBER_OK);
	assert_int_equal(got, 125);
	assert_ptr_equal(at, text + 3);
	assert_int_equal(number_read(&at, end, 10, &got), NUMBER_BAD);
	assert_int_equal(got, 125);
	assert_ptr_equal(at, text + 3);
	assert_int_equal(number_read(&at, text + 4, 16, &got), NUMBER_OK);
	assert_int_equal(got, 10);
	assert_int_equal(number_decimal("18446744073709551616", 20, &got), NUMBER_TOO_LARGE);
	assert_int_equal(got, UINT64_MAX);
	assert_int_equal(number_decimal("18446744073709551616x", 21, &got), NUMBER_BAD);
}

static void assert_printed(uint64_t bytes, const char *want)
{
	char text[NUMBER_TEXT_MAX];

	number_print_size(text, bytes);
	assert_string_equal(text, want);
	assert_size(text, bytes);
}

static void printed(void **state)
{
	(void)state;
	assert_printed(0, "0");
	assert_printed(1, "1");
	assert_printed(1000, "1000");
	assert_printed(4096, "4K");
	assert_printed(UINT64_C(3) << 29, "1536M");
	assert_printed(UINT64_C(1) << 40, "1T");
	assert_printed(UINT64_C(1) << 52, "4096T");
	assert_printed(UINT64_MAX, "18446744073709551615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sizes),       cmocka_unit_test(not_sizes), cmocka_unit_test(numbers),
	        cmocka_unit_test(hexadecimal), cmocka_unit_test(prefixes),  cmocka_unit_test(printed),
	};

	return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
