/* Tests of the nearest valid word: what counts as near, and what a refused policy string is answered. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "nearest.h"

/* The nearest of the words for `word`, "" for none. */
static void assert_nearest(const char *word, const char *want)
{
	static const char *const words[] = {"compare", "run", "trace", "threshold", "titan-v", "titan-xp"};
	struct nearest nearest;
	const char *got;

	nearest_start(&nearest, word, strlen(word));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_try(&nearest, words[i]);
	got = nearest_word(&nearest);
	assert_string_equal(got ? got : "", want);
}

static void words(void **state)
{
	(void)state;
	assert_nearest("compare", "compare");
	assert_nearest("compar", "compare");
	assert_nearest("COMPARE", "compare");
	assert_nearest("comapre", "compare");
	assert_nearest("xcompare", "compare");
	assert_nearest("treshhold", "threshold");
	assert_nearest("ru", "run");
	assert_nearest("rnu", "run");
	assert_nearest("titan", "titan-v");
	assert_nearest("titan-x", "titan-v");
	assert_nearest("", "");
	assert_nearest("x", "");
	assert_nearest("xyz", "");
	assert_nearest("comp-other", "");
	assert_nearest("a word that is longer than any valid one may be, by far", "");
}

static void assert_hint(const char *policy, const char *hint, const char *list)
{
	struct uvmp_policy_error error = {0, 0, ""};
	struct uvmp_policy parsed;
	char text[NEAREST_TEXT_MAX];

	assert_int_not_equal(uvmp_policy_parse(policy, strlen(policy), &parsed, &error), UVMP_OK);
	assert_string_equal(nearest_policy(policy, NULL, &error, text), hint);
	assert_string_equal(nearest_policy_list(policy, NULL, &error), list);
}

static void policies(void **state)
{
	(void)state;
	assert_hint("prefech=tbn", "; did you mean prefetch?", "policies");
	assert_hint("batch=1 treshold=5", "; did you mean threshold?", "policies");
	assert_hint("prefetch=densty", "; did you mean density?", "policies");
	assert_hint("preset=uvmsmrt", "; did you mean uvmsmart?", "presets");
	assert_hint("uvmsmrt evict=lru4k", "; did you mean uvmsmart?", "presets");
	assert_hint("preste=uvmsmart", "; did you mean preset?", "policies");
	assert_hint("threshold=101", "", "policies");
	assert_hint("zzzzzzzz=1", "", "policies");
	assert_hint("batch=1 batch=2", "", "policies");
	assert_hint("batch=1 uvmsmart", "", "presets");
	assert_hint("\t", "", "presets");
	/* the error says what must follow */
	assert_hint("threshold=", "", "policies");
	assert_hint("batch=1 evict", "", "policies");
	assert_hint("preset=", "", "presets");
	assert_hint("preset", "", "presets");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(words),
	        cmocka_unit_test(policies),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
