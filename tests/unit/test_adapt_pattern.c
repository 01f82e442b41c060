/* adapt.h: patterns of allocations and what follows (UVM Smart [uvmsmart: runtime-engine]). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/adapt.h"

#define BLOCKS 32u
#define OPEN   3u

static struct uvmp_pattern_engine engine;
static struct uvmp_pattern_kernel open_kernels[OPEN];
static struct uvmp_pattern_data data[2];
static uint32_t blocks[2][BLOCKS];

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(uvmp_pattern_init(&engine, open_kernels, OPEN, data, 2), UVMP_OK);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(uvmp_pattern_watch(&engine, i, blocks[i], BLOCKS), UVMP_OK);
	return 0;
}

static uint64_t launch(uint64_t cycle)
{
	uint64_t id = 99;

	assert_int_equal(uvmp_pattern_launch(&engine, cycle, &id), UVMP_OK);
	return id;
}

static void end(uint64_t id, uint64_t cycle)
{
	assert_int_equal(uvmp_pattern_end(&engine, id, cycle), UVMP_OK);
}

static void record(uint64_t cycle, uint32_t block)
{
	assert_int_equal(uvmp_pattern_log(&engine, cycle, 0, block), UVMP_OK);
}

static void expect(enum uvmp_pattern pattern, enum uvmp_pattern_verdict verdict)
{
	assert_int_equal(uvmp_pattern_of(&engine, 0), pattern);
	assert_int_equal(uvmp_pattern_of(&engine, 1), UVMP_PATTERN_UNDECIDED);
	assert_int_equal(uvmp_pattern_decide(&engine), verdict);
	assert_true(uvmp_pattern_is_valid(&engine));
}

/* One kernel after the other, text "012 53": blocks 0, 1, 2, then 5, 3 in the next kernel, one cycle each. */
static void play(const char *text)
{
	uint64_t cycle = 10, id = launch(cycle);

	for (; *text != '\0'; text++) {
		cycle++;
		if (*text != ' ') {
			record(cycle, (uint32_t)(*text - '0'));
			continue;
		}
		end(id, cycle);
		id = launch(++cycle);
	}
	end(id, cycle + 1);
}

/* [uvmsmart: runtime-engine], "Examples". */
static void test_examples(void **state)
{
	static const struct {
		const char *text;
		enum uvmp_pattern pattern;
		enum uvmp_pattern_verdict verdict;
	} rows[] = {
	        {"0123", UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP},
	        {"01 23", UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP},
	        {"012 012", UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE},
	        {"0112", UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE},
	        {"021", UVMP_PATTERN_RANDOM, UVMP_PATTERN_REMOTE},
	        {"01 53", UVMP_PATTERN_MIXED, UVMP_PATTERN_REMOTE},
	        {"", UVMP_PATTERN_UNDECIDED, UVMP_PATTERN_KEEP},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_up(state);
		play(rows[i].text);
		expect(rows[i].pattern, rows[i].verdict);
	}
}

/* Step 4: the table, each row reached by its first kernel (or two), each column by the next one. */
static void test_table(void **state)
{
	static const char *const rows[] = {"", "01 ", "00 ", "10 ", "101 ", "01 32 ", "00 32 "};
	static const char *const columns[] = {"78", "77", "87", "878"};
	static const char *const patterns[7][4] = {
	        {"L", "l", "R", "r"}, {"L", "l", "M", "m"}, {"l", "l", "m", "m"}, {"M", "m", "R", "r"},
	        {"m", "m", "r", "r"}, {"M", "M", "M", "M"}, {"m", "m", "m", "m"},
	};
	static const char letters[] = "-LlRrMm";
	char text[32];

	for (size_t r = 0; r < 7; r++)
		for (size_t c = 0; c < 4; c++) {
			set_up(state);
			strcpy(text, rows[r]);
			strcat(text, columns[c]);
			play(text);
			assert_int_equal(letters[uvmp_pattern_of(&engine, 0)], patterns[r][c][0]);
		}
}

/* Step 1: a record on a bound belongs to both kernels. */
static void test_bounds(void **state)
{
	uint64_t first, second;

	(void)state;
	first = launch(10);
	record(10, 0);
	record(20, 1);
	end(first, 20);
	second = launch(20);
	record(30, 2);
	end(second, 30);
	record(31, 0); /* of no kernel */
	expect(UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE);
}

/* Records before the report of a launch in the same cycle belong to the kernel, older records to no kernel.
 */
static void test_taken_in(void **state)
{
	(void)state;
	record(9, 3);
	record(9, 3);
	record(10, 2); /* descends, but from a record of no kernel */
	record(10, 4);
	expect(UVMP_PATTERN_UNDECIDED, UVMP_PATTERN_KEEP);
	launch(10);
	expect(UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP);
	record(11, 5);
	expect(UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP);
	record(11, 4);
	expect(UVMP_PATTERN_RANDOM_REUSE, UVMP_PATTERN_REMOTE);
}

static void test_taken_in_facts(void **state)
{
	record(10, 4);
	record(10, 2);
	launch(10);
	expect(UVMP_PATTERN_RANDOM, UVMP_PATTERN_REMOTE);
	set_up(state);
	record(10, 4);
	record(10, 4);
	launch(10);
	expect(UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE);
	/* the launch takes in records of one allocation, not older ones of the other */
	set_up(state);
	assert_int_equal(uvmp_pattern_log(&engine, 9, 1, 0), UVMP_OK);
	record(10, 4);
	launch(10);
	expect(UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP);
	/* a second kernel of the same cycle has the same records */
	launch(10);
	expect(UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE);
}

/* [uvmsmart: kernels-never-end]: no end is ever reported; later blocks join all earlier kernels. */
static void test_without_ends(void **state)
{
	(void)state;
	launch(10);
	record(11, 0);
	launch(20);
	expect(UVMP_PATTERN_LINEAR, UVMP_PATTERN_KEEP); /* the second has none yet */
	record(21, 5);
	expect(UVMP_PATTERN_LINEAR_REUSE, UVMP_PATTERN_EVICT_TREE);
	record(30, 2);
	/* both are random now, a third one is linear */
	expect(UVMP_PATTERN_RANDOM_REUSE, UVMP_PATTERN_REMOTE);
	launch(40);
	record(41, 6);
	expect(UVMP_PATTERN_MIXED_REUSE, UVMP_PATTERN_REMOTE);
}

/* A younger kernel that is over counts behind an elder one that still runs. */
static void test_ends_out_of_order(void **state)
{
	uint64_t elder, younger;

	(void)state;
	elder = launch(10);
	record(10, 7);
	younger = launch(20);
	record(21, 8);
	end(younger, 22);
	record(23, 3);
	assert_int_equal(uvmp_pattern_of(&engine, 0), UVMP_PATTERN_MIXED_REUSE);
	end(elder, 23);
	record(24, 1);
	expect(UVMP_PATTERN_MIXED_REUSE, UVMP_PATTERN_REMOTE);
}

static void test_exchanged(void **state)
{
	(void)state;
	launch(10);
	record(11, 1);
	record(11, 0);
	assert_int_equal(uvmp_pattern_watch(&engine, 0, blocks[0], 4), UVMP_OK);
	expect(UVMP_PATTERN_UNDECIDED, UVMP_PATTERN_REMOTE);
	assert_int_equal(uvmp_pattern_log(&engine, 12, 0, 4), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_watch(&engine, 0, NULL, 0), UVMP_OK);
	assert_int_equal(uvmp_pattern_log(&engine, 12, 0, 0), UVMP_ERR_RANGE);
}

static void test_room(void **state)
{
	uint64_t id = 77, first = launch(10);

	(void)state;
	launch(11);
	launch(12);
	assert_int_equal(uvmp_pattern_launch(&engine, 13, &id), UVMP_ERR_SPACE);
	end(first, 14);
	assert_int_equal(uvmp_pattern_launch(&engine, 14, &id), UVMP_ERR_SPACE);
	assert_int_equal(id, 77);
	assert_int_equal(launch(15), 3);
}

static void test_errors(void **state)
{
	uint64_t id;

	(void)state;
	assert_int_equal(uvmp_pattern_init(NULL, open_kernels, 1, data, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_init(&engine, NULL, 1, data, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_init(&engine, open_kernels, 1, NULL, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_init(&engine, open_kernels, 0, data, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_init(&engine, open_kernels, 1, data, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_watch(NULL, 0, NULL, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_watch(&engine, 0, NULL, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_watch(&engine, 2, blocks[0], 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_watch(&engine, 0, blocks[0], UINT32_MAX - 2u), UVMP_ERR_RANGE);
	launch(10);
	assert_int_equal(uvmp_pattern_launch(NULL, 10, &id), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_launch(&engine, 10, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_launch(&engine, 9, &id), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pattern_launch(&engine, UINT64_MAX, &id), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_end(NULL, 0, 10), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_end(&engine, 0, 9), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pattern_end(&engine, 0, UINT64_MAX), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_end(&engine, 1, 10), UVMP_ERR_STATE); /* none behind the last */
	end(0, 10);
	assert_int_equal(uvmp_pattern_end(&engine, 0, 10), UVMP_ERR_STATE); /* ended, but still open */
	launch(12);
	assert_int_equal(uvmp_pattern_end(&engine, 0, 12), UVMP_ERR_STATE); /* over */
	assert_int_equal(uvmp_pattern_log(NULL, 12, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pattern_log(&engine, 11, 0, 0), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pattern_log(&engine, UINT64_MAX, 0, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_log(&engine, 12, 2, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_log(&engine, 12, 0, BLOCKS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pattern_of(NULL, 0), UVMP_PATTERN_UNDECIDED);
	assert_int_equal(uvmp_pattern_of(&engine, 2), UVMP_PATTERN_UNDECIDED);
	assert_int_equal(uvmp_pattern_decide(NULL), UVMP_PATTERN_KEEP);
	expect(UVMP_PATTERN_UNDECIDED, UVMP_PATTERN_KEEP);
}

static void test_is_valid(void **state)
{
	struct uvmp_pattern_engine bad;

	(void)state;
	bad = engine;
	bad.open = NULL;
	assert_false(uvmp_pattern_is_valid(&bad));
	bad = engine;
	bad.data = NULL;
	assert_false(uvmp_pattern_is_valid(&bad));
	bad = engine;
	bad.opens = OPEN + 1;
	assert_false(uvmp_pattern_is_valid(&bad));
	bad = engine;
	bad.ending = 1;
	assert_false(uvmp_pattern_is_valid(&bad));
	bad = engine;
	bad.count = 0;
	assert_false(uvmp_pattern_is_valid(&bad));
}

/* In the cycle of an end no kernel is over, so records do not look at the kernels again: they would find this
 * one, whose end has been moved behind their back. In the next cycle it is found. */
static void test_once_a_cycle(void **state)
{
	(void)state;
	end(launch(5), 5);
	open_kernels[0].last = 4;
	record(5, 0);
	assert_int_equal(engine.opens, 1);
	record(6, 1);
	assert_int_equal(engine.opens, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_examples, set_up),
	        cmocka_unit_test_setup(test_table, set_up),
	        cmocka_unit_test_setup(test_bounds, set_up),
	        cmocka_unit_test_setup(test_taken_in, set_up),
	        cmocka_unit_test_setup(test_taken_in_facts, set_up),
	        cmocka_unit_test_setup(test_without_ends, set_up),
	        cmocka_unit_test_setup(test_ends_out_of_order, set_up),
	        cmocka_unit_test_setup(test_exchanged, set_up),
	        cmocka_unit_test_setup(test_room, set_up),
	        cmocka_unit_test_setup(test_once_a_cycle, set_up),
	        cmocka_unit_test_setup(test_errors, set_up),
	        cmocka_unit_test_setup(test_is_valid, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
