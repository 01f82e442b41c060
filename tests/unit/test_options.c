/* Tests of the reader of options. What it reports is in tests/cli/options.sh. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "options.h"

static const char *const list[] = {"size=", "memory=*", "flag", "many*", "form?=", NULL};

enum { SIZE, MEMORY, FLAG, MANY, FORM };

#define ARGUMENTS(...)                                                                                       \
	char *argv[] = {(char *)(uintptr_t) "test", __VA_ARGS__, NULL};                                      \
	struct options options = {.argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1,                         \
	                          .argv = argv,                                                              \
	                          .list = list,                                                              \
	                          .help = "test --help"}
#define ARGUMENTS_AGAIN(name, ...)                                                                           \
	char *name##_argv[] = {(char *)(uintptr_t) "test", __VA_ARGS__, NULL};                               \
	struct options name = {.argc = (int)(sizeof(name##_argv) / sizeof(name##_argv[0])) - 1,              \
	                       .argv = name##_argv,                                                          \
	                       .list = list,                                                                 \
	                       .help = "test --help"}
#define WORD(text) (char *)(uintptr_t)(text)

static void expect(struct options *options, int want, const char *value)
{
	const char *got = NULL;

	assert_int_equal(options_next(options, &got), want);
	if (value)
		assert_string_equal(got, value);
	else
		assert_null(got);
}

static void both_spellings(void **state)
{
	ARGUMENTS(WORD("--size"), WORD("1"), WORD("--memory=2"), WORD("a"), WORD("--flag"), WORD("-"),
	          WORD("--memory"), WORD("--flag"));

	(void)state;
	expect(&options, SIZE, "1");
	expect(&options, MEMORY, "2");
	expect(&options, OPTIONS_OPERAND, "a");
	expect(&options, FLAG, NULL);
	expect(&options, OPTIONS_OPERAND, "-");
	expect(&options, MEMORY, "--flag"); /* a value may look like an option */
	expect(&options, OPTIONS_END, NULL);
	expect(&options, OPTIONS_END, NULL);
}

static void literal(void **state)
{
	ARGUMENTS(WORD("--size="), WORD("--"), WORD("--flag"), WORD("--"), WORD("-x"));

	(void)state;
	expect(&options, SIZE, "");
	expect(&options, OPTIONS_OPERAND, "--flag");
	expect(&options, OPTIONS_OPERAND, "--");
	expect(&options, OPTIONS_OPERAND, "-x");
	expect(&options, OPTIONS_END, NULL);
}

static void stops_at_operand(void **state)
{
	ARGUMENTS(WORD("--flag"), WORD("program"), WORD("--size"), WORD("1"));

	(void)state;
	options.stops = true;
	expect(&options, FLAG, NULL);
	expect(&options, OPTIONS_END, NULL);
	assert_string_equal(argv[options.next], "program");
}

static void stops_after_dashes(void **state)
{
	ARGUMENTS(WORD("--flag"), WORD("--"), WORD("--size"));

	(void)state;
	options.stops = true;
	expect(&options, FLAG, NULL);
	expect(&options, OPTIONS_END, NULL);
	assert_string_equal(argv[options.next], "--size");
}

static void optional_value(void **state)
{
	ARGUMENTS(WORD("--form"), WORD("line"), WORD("--flag"));
	ARGUMENTS_AGAIN(given, WORD("--form=full"), WORD("--form"));

	(void)state;
	expect(&options, FORM, NULL);
	expect(&options, OPTIONS_OPERAND, "line"); /* the next word is not its value */
	expect(&options, FLAG, NULL);
	expect(&given, FORM, "full");
	expect(&given, OPTIONS_BAD, NULL); /* twice */
}

/* The word is the last of a command line, or the last but one with `next`. */
static void refused(const char *word, const char *next)
{
	ARGUMENTS(WORD("--many"), WORD("--many"), WORD("--flag"), WORD(word), WORD(next));

	options.argc -= next == NULL;
	expect(&options, MANY, NULL);
	expect(&options, MANY, NULL);
	expect(&options, FLAG, NULL);
	expect(&options, OPTIONS_BAD, NULL);
}

static void refuses(void **state)
{
	(void)state;
	refused("--flag", NULL);   /* twice */
	refused("--size", NULL);   /* no value */
	refused("--many=1", NULL); /* unwanted value */
	refused("--siz", "1");     /* abbreviated */
	refused("--siz=1", "1");
	refused("--m", "1"); /* ambiguous */
	refused("--other", "1");
	refused("-x", "1");
	refused("-size", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(both_spellings),   cmocka_unit_test(literal),
	        cmocka_unit_test(stops_at_operand), cmocka_unit_test(stops_after_dashes),
	        cmocka_unit_test(refuses),          cmocka_unit_test(optional_value),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
