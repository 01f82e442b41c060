/* What tables of the core are made of: parameters as fields of a structure, and text output. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/parameter_internal.h"
#include "base/text_internal.h"

enum colour { RED, GREEN, BLUE };

struct thing {
	uint64_t period_ns;
	uint32_t depth;
	enum colour colour;
	bool is_on;
};

static const char *colour_name(uint32_t colour)
{
	static const char name[][6] = {"red", "green", "blue"};

	return colour <= BLUE ? name[colour] : NULL;
}

static const struct parameter table[] = {
	PARAMETER(struct thing, period_ns, "period_us", 1, 4000000000u, 10, 1000, LIMIT_NONE, NULL, "period"),
	PARAMETER_NUMBER(struct thing, depth, "depth", 2, 9, 4, "depth"),
	PARAMETER_CHOICE(struct thing, colour, "colour", 3, GREEN, colour_name, "colour"),
	PARAMETER_NUMBER(struct thing, is_on, "is_on", 0, 1, 1, "whether it is on"),
};

#define COUNT (uint32_t)(sizeof(table) / sizeof(table[0]))

static uint64_t get(const struct parameter *parameter, const struct thing *thing)
{
	return uvmpi_field_get(thing, parameter->offset, parameter->bytes);
}

static void set(const struct parameter *parameter, struct thing *thing, uint32_t value)
{
	uvmpi_field_set(thing, parameter->offset, parameter->bytes, (uint64_t)value * parameter->scale);
}

static void test_fields(void **state)
{
	struct thing thing;

	(void)state;
	memset(&thing, 0, sizeof(thing));
	uvmpi_parameters_init(table, COUNT, &thing);
	assert_true(thing.period_ns == 10000);
	assert_int_equal(thing.depth, 4);
	assert_int_equal(thing.colour, GREEN);
	assert_true(thing.is_on);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(get(&table[i], &thing) == (uint64_t)table[i].initial * table[i].scale);
	set(&table[0], &thing, 4000000000u);
	assert_true(thing.period_ns == 4000000000000u);
	assert_string_equal(table[2].choice(thing.colour), "green");
	assert_null(table[0].choice);
	for (uint32_t i = 0; i < COUNT; i++) {
		set(&table[i], &thing, table[i].max);
		assert_true(get(&table[i], &thing) == (uint64_t)table[i].max * table[i].scale);
	}
}

static void test_text(void **state)
{
	char room[8];
	struct text text = {room, sizeof(room), 0}, count = {NULL, 0, 0};

	(void)state;
	put_number(&text, 0);
	put_char(&text, ' ');
	uvmpi_text_number(&text, 0xabcdu, 16);
	assert_string_equal(room, "0 abcd");
	put_text(&text, "xyz"); /* one byte fits beside the NUL */
	assert_string_equal(room, "0 abcdx");
	assert_int_equal(text.length, 9);
	put_number(&count, UINT64_MAX);
	assert_int_equal(count.length, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
