/* Sweep files: keys, values, ranges, the order of runs, and a table of wrong lines with their messages. Lines of CSV, and files of
 * results. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/csv_line.h"
#include "sweep/results.h"
#include "sweep/sweep_file.h"

static char error[RESULTS_ERROR_MAX];

static FILE *file_of(const char *text, size_t length)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	rewind(file);
	return file;
}

static bool parse(struct sweep *sweep, const char *text)
{
	FILE *in = file_of(text, strlen(text));
	bool is_good = sweep_parse(sweep, in, "f", false, error);

	fclose(in);
	return is_good;
}

/* -- the grammar -- */

static void wrong_lines_are_named(void **state)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{"", "f:1: the file ends without a workload or trace"},
		{"seed = 1\n", "f:1: the file ends without a workload or trace"},
		{"# nothing\n\n", "f:2: the file ends without a workload or trace"},
		{"workload = ra\nsede = 1\n", "f:2: unknown key sede; did you mean seed?"},
		{"workload = ra\ntreshold = 1\n", "f:2: unknown key treshold; did you mean threshold?"},
		{"workload = ra\nqqqqqqqqqq = 1\n", "f:2: unknown key qqqqqqqqqq; keys are"},
		{"workload\n", "f:1: workload: = must follow the key"},
		{"workload: ra\n", "f:1: workload: = must follow the key"},
		{"= ra\n", "f:1: a line begins with a key and ="},
		{"\"workload\" = ra\n", "f:1: a line begins with a key and ="},
		{"workload =\n", "f:1: workload has no value"},
		{"workload = # ra\n", "f:1: workload has no value"},
		{"workload = \"ra\n", "f:1: a quotation mark has no end"},
		{"workload = \"ra\"x\n", "f:1: a blank must follow the quotation mark"},
		{"workload = r\"a\"\n", "f:1: a quotation mark inside of a value"},
		{"workload = \"\"\n", "f:1: workload: a value is empty"},
		{"workload = ra ra\n", "f:1: workload: ra is given twice, first on line 1"},
		{"workload = ra\nseed = 3\nseed = 1..5\n", "f:3: seed: 3 is given twice, first on line 2"},
		{"seed = 5..1\n", "f:1: seed: \"5..1\" has no values; FROM is at most TO"},
		{"seed = 1..5..0\n", "f:1: seed: \"1..5..0\" has no values"},
		{"seed = 1..x\n", "f:1: seed: \"1..x\" is not a range"},
		{"seed = ..5\n", "f:1: seed: \"..5\" is not a range"},
		{"seed = 1..\n", "f:1: seed: \"1..\" is not a range"},
		{"seed = 1...5\n", "f:1: seed: \"1...5\" is not a range"},
		{"seed = 1..5..\n", "f:1: seed: \"1..5..\" is not a range"},
		{"seed = 1..5..1..1\n", "f:1: seed: \"1..5..1..1\" is not a range"},
		{"seed = 0..18446744073709551615\n", "has more than 10000 values"},
		{"seed = 0..18446744073709551616\n", "is not a range"},
		{"memory = 1..2x\n", "f:1: memory: \"1..2x\" is not a range"},
		{"threshold = 1,2\n",
		 "f:1: threshold: \"1,2\" is not a value; values are separated by blanks"},
		{"threshold = \"1 2\"\n", "f:1: threshold: \"1 2\" is not a value"},
		{"threshold = evict=lru\n", "f:1: threshold: \"evict=lru\" is not a value"},
		{"seed = 1\x01\n", "f:1: a control character (byte 1)"},
		{"workload = ra\nseed = 1..10000\nthreshold = 0..100\nmin_faults = 1..20\n",
		 "f:4: more than 10000000 runs"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sweep sweep;

		if (parse(&sweep, wrong[i].text))
			fail_msg("accepted: %s", wrong[i].text);
		if (strstr(error, wrong[i].error) == NULL || strncmp(error, "f:", 2) != 0)
			fail_msg("%s: %s", wrong[i].text, error);
		sweep_close(&sweep);
	}
}

static void a_long_line_is_refused(void **state)
{
	char *text = malloc(SWEEP_LINE_MAX + 20);
	struct sweep sweep;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', SWEEP_LINE_MAX + 19);
	text[SWEEP_LINE_MAX + 19] = '\0';
	assert_false(parse(&sweep, text));
	assert_non_null(strstr(error, "f:1: the line is longer than 65536 bytes"));
	sweep_close(&sweep);
	free(text);
}

static const char *text_at(const struct sweep *sweep, size_t axis, uint64_t run)
{
	return sweep_value_of(sweep, &sweep->axis[axis], run)->text;
}

static void the_last_key_changes_fastest(void **state)
{
	struct sweep sweep;

	(void)state;
	assert_true(parse(
		&sweep,
		"\t workload = a:x=1,y=2  \"b c\" # two\r\nmemory=4M..8M..2M\nthreshold = 1 51..90..20\r\n"
		"trace = t.trace\noversub = 125 1.5\nseed = 7"));
	assert_int_equal(sweep.axes, 4);
	assert_int_equal(sweep.axis[0].values, 3);
	assert_int_equal(sweep.axis[1].values, 5);
	assert_int_equal(sweep.axis[2].values, 3);
	assert_int_equal(sweep.runs, 45);
	for (uint64_t run = 0; run < sweep.runs; run++) {
		static const char *const sources[] = {"a:x=1,y=2", "b c", "t.trace"};
		static const char *const sizes[] = {"4M", "6M", "8M", "125", "1.5"};
		static const char *const thresholds[] = {"1", "51", "71"};

		assert_string_equal(text_at(&sweep, 0, run), sources[run / 15]);
		assert_string_equal(text_at(&sweep, 1, run), sizes[run / 3 % 5]);
		assert_string_equal(text_at(&sweep, 2, run), thresholds[run % 3]);
		assert_string_equal(text_at(&sweep, 3, run), "7");
		assert_int_equal(sweep_value_of(&sweep, &sweep.axis[0], run)->is_other, run / 15 == 2);
		assert_int_equal(sweep_value_of(&sweep, &sweep.axis[1], run)->is_other, run / 3 % 5 >= 3);
	}
	assert_ptr_equal(sweep_axis_of(&sweep, SWEEP_SEED), &sweep.axis[3]);
	assert_null(sweep_axis_of(&sweep, SWEEP_GPU));
	sweep_close(&sweep);
}

static void a_range_ends_at_the_largest_number(void **state)
{
	struct sweep sweep;

	(void)state;
	assert_true(parse(&sweep, "workload = ra\nseed = 18446744073709551614..18446744073709551615\n"));
	assert_int_equal(sweep.runs, 2);
	assert_string_equal(text_at(&sweep, 1, 1), "18446744073709551615");
	sweep_close(&sweep);
}

/* Blanks, comments, quotes and the way in which values are written do not matter; everything else does. */
static void the_id_is_of_keys_and_values(void **state)
{
	static const char *const same[] = {"workload = ra\nseed = 1..3\n",
					   "# x\nworkload=\"ra\"\n\nseed = 1 2\nseed = 3..3 # y"};
	static const char *const others[] = {
		"workload = ra\nseed = 1..4\n",	     "workload = ra\nseed = 2 1 3\n",
		"seed = 1..3\nworkload = ra\n",	     "trace = ra\nseed = 1..3\n",
		"workload = ra\nthreshold = 1..3\n", "workload = ra\nmin_faults = 1..3\n",
		"workload = ra\nmemory = 1..3\n",    "workload = ra\noversub = 1..3\n"};
	struct sweep a, b;

	(void)state;
	assert_true(parse(&a, same[0]));
	assert_true(parse(&b, same[1]));
	assert_true(a.id == b.id);
	sweep_close(&b);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_true(parse(&b, others[i]));
		if (a.id == b.id)
			fail_msg("%s", others[i]);
		sweep_close(&b);
	}
	sweep_close(&a);
}

/* -- CSV -- */

static void fields_of_a_line(void **state)
{
	static const char line[] = "a,,\"b,\"\"c\"\"\",\"\",12";
	static const char *const want[] = {"a", "", "b,\"c\"", "", "12"};
	static const char *const wrong[] = {"\"a", "a\"b\"", "\"a\"b", "a,\"", "x,\"a\"\"", "a,b\"c"};
	char field[32];

	(void)state;
	assert_int_equal(csv_line_fields(line), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(csv_line_field(line, i, field, sizeof(field)));
		assert_string_equal(field, want[i]);
	}
	assert_false(csv_line_field(line, 5, field, sizeof(field)));
	assert_int_equal(csv_line_find(line, "b,\"c\""), 2);
	assert_true(csv_line_find(line, "b") == SIZE_MAX);
	assert_true(csv_line_field("abcdef", 0, field, 4));
	assert_string_equal(field, "abc");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(csv_line_fields(wrong[i]), 0);
}

/* -- results -- */

#define HEAD		   "sweep,run,runs,version,x,host\n"
#define LINE(run, x, host) "0123456789abcdef," run ",3,1.0," x ",\"" host "\"\n"

static bool read_results(struct results *results, const char *text, uint64_t *end)
{
	FILE *in = file_of(text, strlen(text));
	bool is_good = results_read(results, in, "f", end, error);

	fclose(in);
	return is_good;
}

static void results_are_sorted_without_repetitions(void **state)
{
	static const char text[] = HEAD LINE("2", "c", "h") LINE("0", "a", "h")
		LINE("2", "c", "other, \"\"host\"\"") LINE("1", "b", "");
	struct results results = {.header = NULL};
	uint64_t end;

	(void)state;
	assert_true(read_results(&results, text, &end));
	assert_int_equal(end, strlen(text));
	assert_int_equal(results.count, 4);
	assert_true(results_sort(&results, error));
	assert_int_equal(results.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(results.line[i].run, i);
	assert_int_equal(results.line[2].number, 2);
	results_close(&results);
}

static void different_results_of_a_run_are_noticed(void **state)
{
	struct results results = {.header = NULL};
	uint64_t end;

	(void)state;
	assert_true(read_results(&results, HEAD LINE("1", "b", "h") LINE("0", "a", "h") LINE("1", "c", "h"),
				 &end));
	assert_false(results_sort(&results, error));
	assert_string_equal(error, "run 1 has two results: f:2 and f:4 differ in more than the host");
	results_close(&results);
}

static void a_cut_line_is_dropped(void **state)
{
	static const char text[] = HEAD LINE("0", "a", "h") LINE("1", "b", "h");
	const size_t first = strlen(HEAD), second = first + strlen(LINE("0", "a", "h"));
	char cut[sizeof(text)];

	(void)state;
	for (size_t length = 0; length < sizeof(text); length++) {
		struct results results = {.header = NULL};
		uint64_t end;

		memcpy(cut, text, length);
		cut[length] = '\0';
		assert_true(read_results(&results, cut, &end));
		assert_int_equal(end, length < first		  ? 0
				      : length < second		  ? first
				      : length < sizeof(text) - 1 ? second
								  : length);
		assert_int_equal(results.count, length < second ? 0 : length < sizeof(text) - 1 ? 1 : 2);
		results_close(&results);
	}
}

static void wrong_results_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{"a,b\n", "f:1: not the results of a sweep"},
		{"hello", "f:1: not the results of a sweep"},
		{HEAD "x\n", "f:2: not a line of results"},
		{HEAD LINE("3", "a", "h"), "f:2: not a line of results"},
		{HEAD LINE("-1", "a", "h"), "f:2: not a line of results"},
		{HEAD LINE("0", "a,b", "h"), "f:2: not a line of results"},
		{HEAD LINE("0", "\"a", "h"), "f:2: not a line of results"},
		{HEAD "0123456789abcde,0,3,1.0,a,\"h\"\n", "f:2: not a line of results"},
		{HEAD LINE("0", "a", "h") "0123456789abcdee,1,3,1.0,a,\"h\"\n",
		 "f:3: a result of another sweep"},
		{HEAD LINE("0", "a", "h") "0123456789abcdef,1,4,1.0,a,\"h\"\n",
		 "f:3: a result of another sweep"},
		{HEAD LINE("0", "a", "h") "0123456789abcdef,1,3,1.1,a,\"h\"\n",
		 "f:3: a result of another version"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct results results = {.header = NULL};
		uint64_t end;

		if (read_results(&results, wrong[i].text, &end))
			fail_msg("accepted: %s", wrong[i].text);
		if (strstr(error, wrong[i].error) != error)
			fail_msg("%s: %s", wrong[i].text, error);
		results_close(&results);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_lines_are_named),
		cmocka_unit_test(a_long_line_is_refused),
		cmocka_unit_test(the_last_key_changes_fastest),
		cmocka_unit_test(a_range_ends_at_the_largest_number),
		cmocka_unit_test(the_id_is_of_keys_and_values),
		cmocka_unit_test(fields_of_a_line),
		cmocka_unit_test(results_are_sorted_without_repetitions),
		cmocka_unit_test(different_results_of_a_run_are_noticed),
		cmocka_unit_test(a_cut_line_is_dropped),
		cmocka_unit_test(wrong_results_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
