/* The driver's answers to generated cases, by their hashes (tests/model/oracle.h).
 *
 * The worked cases below need nothing else. The files ../shared/oracle/KIND.hash, a line "SEED KIND FIRST
 * HASH" for 1,000 cases each, are not part of the repository; where they are absent that part is skipped,
 * visibly. Of each file every UVMP_ORACLE_STEPth line is replayed (default 40; 1: all of them, about four
 * million cases). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/oracle.h"

#define CASES_A_LINE 1000u

static const struct oracle_kind *kind_by_name(const char *name)
{
	for (const struct oracle_kind *kind = oracle_kinds; kind->name != NULL; kind++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}

static void test_generator_and_hash(void **state)
{
	struct oracle oracle = {0, ORACLE_EMPTY_SUM};

	(void)state;
	oracle_begin(&oracle, 1, 1, 0);
	assert_int_equal(oracle.state, 0xdfdb923b60968cdb);
	assert_int_equal(oracle_next(&oracle), 0xcb49ad6fca332c78);
	oracle_put(&oracle, 'a', 1);
	assert_int_equal(oracle.sum, 0xaf63dc4c8601ec8c);
}

/* Single cases of seed 1, as driver 595.45.04 answered them. */
static void test_worked_cases(void **state)
{
	static const struct {
		const char *kind;
		uint64_t number, hash;
	} row[] = {
	        {"density", 689, 0x0515c030cd2e02cd}, {"density", 1038, 0xf873a2cfb1a4428c},
	        {"density", 146, 0x230b4468071f86b5}, {"hmm", 1415, 0x1e74b0b6ae5835bc},
	        {"hmm", 767, 0x976583b779223bcd},     {"hmm", 1243, 0x6b0b6b7ab5ffdb7b},
	        {"ats", 75, 0xd9358a1bd8c907f4},      {"ats", 6, 0xe7d16c6b24f5c8f5},
	        {"ats", 2, 0xff4232e6764ea8c9},       {"residency", 7, 0xbcb3f49b12fc671c},
	        {"residency", 8, 0xbe08f285858d42dc}, {"residency", 10, 0x2daa880c547771be},
	        {"thrash", 1349, 0xa202f29125b3724f}, {"thrash", 732, 0x2ebab6b32a6f015b},
	        {"thrash", 3344, 0x6329277c0857be43}, {"order", 0, 0x832401fa80e858ea},
	        {"order", 1, 0x73ba281fc14d8333},     {"order", 2, 0x25b7c9e679bc9788},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct oracle_kind *kind = kind_by_name(row[i].kind);

		assert_non_null(kind);
		assert_int_equal(oracle_hash(kind, 1, row[i].number, 1), row[i].hash);
	}
}

/* Every `step`th line of one file. */
static void replay_file(const struct oracle_kind *kind, unsigned long step)
{
	char path[64], name[16];
	unsigned long line = 0, replayed = 0;
	uint64_t seed, first, hash;
	FILE *file;

	snprintf(path, sizeof(path), "../shared/oracle/%s.hash", kind->name);
	file = fopen(path, "r");
	if (file == NULL) {
		printf("skipped: %s is absent\n", path);
		skip();
	}
	while (fscanf(file, "%" SCNu64 " %15s %" SCNu64 " %" SCNx64, &seed, name, &first, &hash) == 4) {
		if (line++ % step != 0)
			continue;
		assert_string_equal(name, kind->name);
		if (oracle_hash(kind, seed, first, CASES_A_LINE) != hash)
			fail_msg("%s: line %lu: another answer in cases %" PRIu64 " to %" PRIu64, path, line,
			         first, first + CASES_A_LINE - 1u);
		replayed++;
	}
	assert_true(feof(file) && replayed > 0);
	fclose(file);
	printf("%s: %lu cases of %lu replayed\n", kind->name, replayed * CASES_A_LINE, line * CASES_A_LINE);
}

static unsigned long step_of_lines(void)
{
	const char *given = getenv("UVMP_ORACLE_STEP");
	unsigned long step = given != NULL ? strtoul(given, NULL, 10) : 40;

	return step > 0 ? step : 1;
}

#define REPLAY(name)                                                                                         \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		replay_file(kind_by_name(#name), step_of_lines());                                           \
	}

REPLAY(density)
REPLAY(hmm)
REPLAY(ats)
REPLAY(thrash)
REPLAY(residency)
REPLAY(order)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_generator_and_hash),
	        cmocka_unit_test(test_worked_cases),
	        cmocka_unit_test(test_density),
	        cmocka_unit_test(test_hmm),
	        cmocka_unit_test(test_ats),
	        cmocka_unit_test(test_thrash),
	        cmocka_unit_test(test_residency),
	        cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
