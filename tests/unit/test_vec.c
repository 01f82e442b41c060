/* Vector files: getters, printers, reader errors, and the two passes decide and check. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vectors/vec.h"
#include "vectors/vec_kind.h"

#define HEAD "uvmpolicy-vectors 1 flush\n"
#define ONE  "flush cached=256 dups=129 ratio=50\n"
#define TWO  "flush cached=256 dups=128 ratio=50\n"

/* -- getters
 * -----------------------------------------------------------------------------------------------------------
 */

static char words[512];
static struct vec_args args;

static struct vec_args *take(const char *text)
{
	snprintf(words, sizeof(words), "%s", text);
	memset(&args, 0, sizeof(args));
	args.words = words;
	return &args;
}

static void expect_error(const char *error)
{
	assert_true(args.failed);
	assert_string_equal(args.error, error);
}

static void test_text(void **state)
{
	(void)state;
	take("a=x b=y=z");
	assert_string_equal(vec_text(&args, "a"), "x");
	assert_string_equal(vec_text(&args, "b"), "y=z");
	assert_string_equal(args.words, "");
	assert_null(vec_text(&args, "c"));
	expect_error("the line ends where c= must follow");
	assert_null(vec_text(take("b=1 a=2"), "a"));
	expect_error("\"b=1\" found, a= expected");
	assert_null(vec_text(take("ab=1"), "a"));
	expect_error("\"ab=1\" found, a= expected");
	assert_null(vec_text(take("a="), "a"));
	expect_error("a= has no value");
}

/* Only the first failure counts; later calls return zero and do not change it. */
static void test_first_failure(void **state)
{
	struct vec_range *ranges;
	uint64_t *numbers;
	uvmp_mask mask;
	static const char *const names[] = {"x", NULL};

	(void)state;
	assert_int_equal(vec_number(take("a=7 b=1"), "a", 0, 6), 0);
	assert_int_equal(vec_number(&args, "b", 0, 6), 0);
	assert_false(vec_flag(&args, "b"));
	assert_int_equal(vec_proc(&args, "b"), 0);
	assert_int_equal(vec_choice(&args, "b", names), 0);
	vec_mask(&args, "b", 512, &mask, NULL);
	assert_true(uvmp_mask_is_empty(&mask));
	assert_int_equal(vec_set(&args, "b", 9, &ranges), 0);
	assert_null(ranges);
	assert_int_equal(vec_list(&args, "b", 0, 9, &numbers), 0);
	assert_null(numbers);
	vec_fail(&args, "another");
	expect_error("a=7 is not accepted; 0..6, decimal, without leading zeros");
}

static void test_number(void **state)
{
	static const char *const refused[] = {"n=4",  "n=21", "n=05",  "n=+5",
	                                      "n=-5", "n=5x", "n=0x5", "n=99999999999999999999"};

	(void)state;
	assert_int_equal(vec_number(take("n=5"), "n", 5, 20), 5);
	assert_int_equal(vec_number(take("n=20"), "n", 5, 20), 20);
	assert_int_equal(vec_number(take("n=0"), "n", 0, 20), 0);
	assert_true(vec_number(take("n=18446744073709551615"), "n", 0, UINT64_MAX) == UINT64_MAX);
	assert_false(args.failed);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(vec_number(take(refused[i]), "n", 5, 20), 0);
		assert_true(args.failed);
	}
	vec_number(take("n=18446744073709551616"), "n", 0, UINT64_MAX);
	expect_error("n=18446744073709551616 is not accepted; 0..18446744073709551615, decimal, without "
	             "leading zeros");
}

static void test_small_values(void **state)
{
	static const char *const names[] = {"block", "batch", NULL};

	(void)state;
	assert_true(vec_flag(take("f=1"), "f"));
	assert_false(vec_flag(take("f=0"), "f"));
	vec_flag(take("f=2"), "f");
	expect_error("f=2 is not accepted; 0..1, decimal, without leading zeros");
	assert_int_equal(vec_proc(take("p=none"), "p"), UVMP_PROC_NONE);
	assert_int_equal(vec_proc(take("p=63"), "p"), 63);
	vec_proc(take("p=64"), "p");
	expect_error("p=64 is not accepted; 0 (CPU), 1..63 (GPUs) or none");
	assert_int_equal(vec_choice(take("c=batch"), "c", names), 1);
	vec_choice(take("c=BATCH"), "c", names);
	expect_error("c=BATCH is not accepted; one of block, batch");
}

static void test_mask(void **state)
{
	static const char *const refused[] = {"m=3,3",  "m=4,3", "m=0,1", "m=0-1,2", "m=1-1",   "m=2-1",
	                                      "m=0,",   "m=,0",  "m=0-",  "m=100",   "m=0-100", "m=01",
	                                      "m=none", "m=--",  "m=0;2", "m=0-3-5"};
	uvmp_mask mask;
	bool is_none;

	(void)state;
	vec_mask(take("m=0-4,6,98-99"), "m", 100, &mask, NULL);
	assert_false(args.failed);
	assert_int_equal(uvmp_mask_weight(&mask), 8);
	assert_true(uvmp_mask_test(&mask, 99) && uvmp_mask_test(&mask, 6) && !uvmp_mask_test(&mask, 5));
	vec_mask(take("m=-"), "m", 100, &mask, &is_none);
	assert_true(!args.failed && !is_none && uvmp_mask_is_empty(&mask));
	vec_mask(take("m=none x=1"), "m", 100, &mask, &is_none);
	assert_true(!args.failed && is_none && uvmp_mask_is_empty(&mask));
	assert_string_equal(args.words, "x=1");
	vec_mask(take("m=nonesuch"), "m", 100, &mask, &is_none);
	assert_true(args.failed && !is_none);
	vec_mask(take("m=0-511"), "m", 512, &mask, NULL);
	assert_int_equal(uvmp_mask_weight(&mask), 512);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		vec_mask(take(refused[i]), "m", 100, &mask, NULL);
		assert_true(args.failed);
		assert_true(uvmp_mask_is_empty(&mask));
	}
	vec_mask(take("m=3,3"), "m", 100, &mask, NULL);
	expect_error("m=3,3 is not accepted; a set of numbers 0..99: ascending, longest runs first-last, - "
	             "if empty");
	vec_mask(take("m=0"), "m", 0, &mask, NULL);
	expect_error("m=0 is not accepted; only - here");
}

static void test_set_and_list(void **state)
{
	struct vec_range *ranges;
	uint64_t *numbers;

	(void)state;
	assert_int_equal(vec_set(take("s=0,2-5,7,9,11,13,15,17,19,21"), "s", UINT64_MAX, &ranges), 10);
	assert_int_equal(ranges[1].first, 2);
	assert_int_equal(ranges[1].last, 5);
	assert_int_equal(ranges[9].last, 21);
	free(ranges);
	/* The largest number there is, and nothing behind it. */
	assert_int_equal(vec_set(take("s=5-18446744073709551614"), "s", UINT64_MAX, &ranges), 1);
	free(ranges);
	assert_int_equal(vec_set(take("s=18446744073709551614,0"), "s", UINT64_MAX, &ranges), 0);
	assert_true(args.failed);
	assert_int_equal(vec_set(take("s=-"), "s", 8, &ranges), 0);
	assert_true(!args.failed && ranges == NULL);

	assert_int_equal(vec_list(take("l=3,1,1,2,9,9,9,9,9"), "l", 1, 9, &numbers), 9);
	assert_int_equal(numbers[0], 3);
	assert_int_equal(numbers[8], 9);
	free(numbers);
	assert_int_equal(vec_list(take("l=-"), "l", 1, 9, &numbers), 0);
	assert_true(!args.failed && numbers == NULL);
	vec_list(take("l=1,0"), "l", 1, 9, &numbers);
	expect_error("l=1,0 is not accepted; numbers 1..9 separated by commas, - if empty");
	vec_list(take("l=1,"), "l", 1, 9, &numbers);
	assert_true(args.failed);
	vec_list(take("l=1-2"), "l", 1, 9, &numbers);
	assert_true(args.failed);
}

static void test_long_value_is_cut(void **state)
{
	char line[300];

	(void)state;
	memset(line, '7', sizeof(line));
	memcpy(line, "n=", 2);
	line[299] = '\0';
	vec_number(take(line), "n", 0, 1);
	assert_non_null(strstr(args.error, "7... is not accepted"));
	assert_true(strlen(args.error) < 200);
}

static void test_scan_number(void **state)
{
	const char *text = "12,x";
	uint64_t number = 5;

	(void)state;
	assert_true(vec_scan_number(&text, 12, &number));
	assert_int_equal(number, 12);
	assert_string_equal(text, ",x");
	assert_false(vec_scan_number(&text, 12, &number));
	assert_string_equal(text, ",x");
	text = "13";
	assert_false(vec_scan_number(&text, 12, &number));
	assert_string_equal(text, "13");
	assert_int_equal(number, 12);
}

/* -- printers
 * ------------------------------------------------------------------------------------------------------------
 */

static struct vec_out out;

static void expect_text(const char *text)
{
	assert_string_equal(out.text, text);
	assert_int_equal(out.length, strlen(text));
	vec_out_clear(&out);
}

static void test_printers(void **state)
{
	static const uint32_t list[] = {3, 1, 1, 4294967295u};
	struct vec_set_printer printer;
	uvmp_mask mask;

	(void)state;
	uvmp_mask_zero(&mask);
	vec_print_mask(&out, &mask);
	expect_text("-");
	uvmp_mask_region_set(&mask, (struct uvmp_region){0, 5});
	uvmp_mask_set(&mask, 6);
	uvmp_mask_region_set(&mask, (struct uvmp_region){510, 512});
	vec_print_mask(&out, &mask);
	expect_text("0-4,6,510-511");
	vec_print_bits(&out, (uint64_t)1 << 63 | 3);
	expect_text("0-1,63");
	vec_print_list(&out, list, 4);
	expect_text("3,1,1,4294967295");
	vec_print_list(&out, list, 0);
	expect_text("-");
	vec_print_proc(&out, 0);
	vec_print_proc(&out, UVMP_PROC_NONE);
	expect_text("0none");
	vec_set_begin(&printer, &out);
	vec_set_add(&printer, 5);
	vec_set_add(&printer, UINT64_MAX);
	vec_set_end(&printer);
	expect_text("5,18446744073709551615");
	for (int i = 0; i < 1000; i++)
		vec_printf(&out, "%d", i % 10);
	assert_int_equal(out.length, 1000);
	vec_out_free(&out);
	assert_null(out.text);
}

/* What is printed is what the getter reads. */
static void test_mask_round_trip(void **state)
{
	uint64_t random = 42;

	(void)state;
	for (int i = 0; i < 200; i++) {
		char line[4096];
		struct vec_args one = {.words = line};
		uvmp_mask mask, again;

		for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++)
			mask.word[w] =
			        uvmp_random_next(&random) | (i % 2 != 0 ? uvmp_random_next(&random) : 0);
		vec_print_mask(&out, &mask);
		snprintf(line, sizeof(line), "m=%s", out.text);
		vec_out_clear(&out);
		vec_mask(&one, "m", 512, &again, NULL);
		assert_false(one.failed);
		assert_true(uvmp_mask_equal(&mask, &again));
	}
	vec_out_free(&out);
}

/* -- files
 * ---------------------------------------------------------------------------------------------------------------
 */

static struct vec_result result;
static char *printed;

/* The text through one pass; `printed` holds what it printed. */
static void pass_bytes(void (*pass)(FILE *, const char *, FILE *, struct vec_result *), const char *text,
                       size_t length)
{
	FILE *in = tmpfile();
	size_t size;
	FILE *to;

	free(printed);
	printed = NULL;
	to = open_memstream(&printed, &size);
	assert_non_null(in);
	assert_non_null(to);
	assert_int_equal(fwrite(text, 1, length, in), length);
	rewind(in);
	pass(in, "F", to, &result);
	fclose(in);
	fclose(to);
}

static void decide(const char *text)
{
	pass_bytes(vec_decide, text, strlen(text));
}

static void check(const char *text)
{
	pass_bytes(vec_check, text, strlen(text));
}

/* Both passes refuse the text with this error. */
static void expect_bad(const char *text, const char *error)
{
	decide(text);
	assert_true(result.is_bad);
	assert_string_equal(result.error, error);
	check(text);
	assert_true(result.is_bad);
	assert_string_equal(result.error, error);
}

static void test_decide(void **state)
{
	(void)state;
	decide(HEAD "# one\n" ONE "# two\n" TWO "=> put=update\n=> nonsense\n");
	assert_false(result.is_bad);
	assert_string_equal(printed, HEAD "# one\n" ONE "=> put=update\n# two\n" TWO "=> put=cached\n");
	decide(HEAD ONE "flush cached=1 dups=x ratio=0\n" TWO);
	assert_string_equal(printed, HEAD ONE "=> put=update\n");
	assert_string_equal(result.error,
	                    "F:3: dups=x is not accepted; 0..4294967295, decimal, without leading zeros");
	decide(HEAD);
	assert_false(result.is_bad);
	assert_string_equal(printed, HEAD);
}

static void expect_totals(uint64_t passed, uint64_t failed)
{
	assert_false(result.is_bad);
	assert_int_equal(result.passed, passed);
	assert_int_equal(result.failed, failed);
}

static void test_check(void **state)
{
	(void)state;
	check(HEAD ONE "=> put=update\n# c\n" TWO "=> put=cached\n");
	expect_totals(2, 0);
	assert_string_equal(printed, "");
	check(HEAD ONE "=> put=cached\n" TWO "=> put=cached\n");
	expect_totals(1, 1);
	assert_string_equal(printed, "F:2: " ONE "  expected => put=cached\n  computed => put=update\n");
	check(HEAD ONE TWO "=> put=cached\n");
	expect_totals(1, 1);
	assert_string_equal(printed, "F:2: " ONE "  expected (no line)\n  computed => put=update\n");
	check(HEAD ONE "=> put=update\n=> put=update\n=> put=update\n");
	expect_totals(0, 1);
	assert_string_equal(printed, "F:2: " ONE "  expected => put=update\n  computed (no further line)\n");
	check(HEAD);
	expect_totals(0, 0);
}

/* A line with several results shows those that differ. */
static void test_check_several_lines(void **state)
{
	(void)state;
	check("uvmpolicy-vectors 1 alloc\nalloc bytes=0,1\n=> error=invalid_value\n");
	expect_totals(0, 1);
	assert_string_equal(printed, "F:2: alloc bytes=0,1\n  expected (no further line)\n"
	                             "  computed => start=0xc0000000 rounded=65536 trees=1x65536\n");
}

/* A leaf below zero, as it is printed. */
static void test_negative_leaf(void **state)
{
#define LEAF(leaf)                                                                                           \
	"uvmpolicy-vectors 1 tbn_evict\ntbn_evict tree=4 resident=- pending=- staged=- pinned=- "            \
	"leaf=" leaf " order=- quirks=1\n"
	(void)state;
	decide(LEAF("1:8,3:-60"));
	assert_string_equal(printed, LEAF("1:8,3:-60") "=> first=- victims=- bytes=-\n"
	                                               "=> full=- part=1:8,3:-60 root=-52\n");
	expect_bad(LEAF("3:-"), "F:2: leaf: a list of BLOCK:KB is accepted, KB a multiple of 4");
	expect_bad(LEAF("3:-62"), "F:2: leaf: a list of BLOCK:KB is accepted, KB a multiple of 4");
	expect_bad(LEAF("3:--4"), "F:2: leaf: a list of BLOCK:KB is accepted, KB a multiple of 4");
}

/* The pieces of the largest synchronisation fit a line, so that what decide prints can be checked. */
static void test_longest_pieces(void **state)
{
#define SYNC(bytes) "uvmpolicy-vectors 1 pcie\npcie op=sync bytes=" bytes " gbps=16 clock_mhz=1481 quirks=1\n"
	char *text;

	(void)state;
	decide(SYNC("268435456"));
	assert_false(result.is_bad);
	text = strdup(printed);
	check(text);
	expect_totals(1, 0);
	free(text);
	expect_bad(SYNC("268435457"),
	           "F:2: bytes=268435457 is not accepted; 0..268435456, decimal, without leading zeros");
}

#define PINS                                                                                                 \
	"uvmpolicy-vectors 1 smart_evict\ncase a policy=sl capacity=9 alloc=1,65537,4096 "                   \
	"prefetch=none oversub_prefetch=none reserve=0 buffer=0 invalidate_clean=0\n"

/* A page stays pinned until the last access lets go of it. */
static void test_pins(void **state)
{
	(void)state;
	check(PINS "pin page=50 id=1\n=> pinned=50\npin page=50 id=2\n=> pinned=50\n"
	           "pin page=15 id=1\n=> pinned=15,50\npin page=16 id=1\n=> pinned=15-16,50\n"
	           "unpin page=50 id=3\n=> pinned=15-16,50\nunpin page=50 id=1\n=> pinned=15-16,50\n"
	           "unpin page=16 id=1\n=> pinned=15,50\nunpin page=50 id=2\n=> pinned=15\n"
	           "unpin page=50 id=2\n=> pinned=15\n");
	expect_totals(9, 0);
}

/* 5000 accesses to the last of 8000 trees: a step looks at no other pin than its own. Once that took a minute
 * and more, now it is well below one second. */
static void test_many_pins(void **state)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	clock_t begin;

	(void)state;
	assert_non_null(to);
	fprintf(to, "uvmpolicy-vectors 1 smart_evict\ncase a policy=sl capacity=1 alloc=1");
	for (int i = 1; i < 8000; i++)
		fprintf(to, ",1");
	fprintf(to, " prefetch=none oversub_prefetch=none reserve=0 buffer=0 invalidate_clean=0\n");
	for (int i = 0; i < 5000; i++)
		fprintf(to, "pin page=127999 id=%d\n", i);
	fclose(to);
	begin = clock();
	decide(text);
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
	assert_false(result.is_bad);
	free(text);
}

static void test_bad_header(void **state)
{
	(void)state;
	expect_bad("", "F:1: empty file; the first line is `uvmpolicy-vectors 1 KIND`");
	expect_bad("flush\n", "F:1: not a vector file: the first line must be `uvmpolicy-vectors 1 KIND`");
	expect_bad("uvmpolicy-vectors 1\n",
	           "F:1: format version \"1\" is not accepted; 1 followed by a kind");
	expect_bad("uvmpolicy-vectors 2 flush\n",
	           "F:1: format version \"2\" is not accepted; 1 followed by a kind");
	expect_bad("uvmpolicy-vectors 1 flush x\n", "F:1: the first line must be `uvmpolicy-vectors 1 KIND`");
	expect_bad("uvmpolicy-vectors 1 bogus\n", "F:1: kind \"bogus\" is not known; known are density, "
	                                          "fetch, order, flush, toggle, replay, evict, "
	                                          "tree, alloc, tbn, sl, residency, counters, "
	                                          "thrash, pcie, smart_migrate, smart_counter, "
	                                          "smart_pattern, tbn_evict, smart_evict");
}

static void test_bad_lines(void **state)
{
	(void)state;
	expect_bad(HEAD "\n", "F:2: empty line");
	expect_bad(HEAD "flush  cached=1\n", "F:2: words must be separated by exactly one blank");
	expect_bad(HEAD " flush\n", "F:2: words must be separated by exactly one blank");
	expect_bad(HEAD "# x \n", "F:2: blank at the end of the line");
	expect_bad(HEAD ONE "=> put=update", "F:3: the file ends within this line: its line feed is missing");
	expect_bad(HEAD "# \xc3\xa9\n# \xc3\n", "F:3: not UTF-8");
	expect_bad(HEAD "# \xe0\x80\x80\n", "F:2: not UTF-8");
	expect_bad(HEAD "# \xed\xa0\x80\n", "F:2: not UTF-8");
	expect_bad(HEAD "# \xff\n", "F:2: not UTF-8");
	expect_bad(HEAD "#\ttab\n", "F:2: control character (byte 0x09) in the line");
	expect_bad(HEAD "#\r\n", "F:2: carriage return; lines end with one line feed");
	expect_bad(HEAD "=> put=update\n", "F:2: an expected line without an input line directly before it");
	expect_bad(HEAD ONE "# c\n=> put=update\n",
	           "F:4: an expected line without an input line directly before it");
	expect_bad(HEAD ONE "=>put=update\n", "F:3: an expected line starts with `=> `");
	expect_bad(HEAD ONE "=>  put\n", "F:3: words must be separated by exactly one blank");
	expect_bad(HEAD "toggle\n",
	           "F:2: the line starts with \"toggle\"; `flush`, `=>` or `#` are accepted");
	expect_bad(HEAD "flush cached=1 dups=1\n", "F:2: the line ends where ratio= must follow");
	expect_bad(HEAD "flush dups=1 cached=1 ratio=1\n", "F:2: \"dups=1\" found, cached= expected");
	expect_bad(HEAD "flush cached=1 dups=1 ratio=1 ratio=1\n",
	           "F:2: \"ratio=1\" follows the last key");
	pass_bytes(vec_check, HEAD "# a\0b\n", sizeof(HEAD "# a\0b\n") - 1);
	assert_string_equal(result.error, "F:2: NUL byte (byte 0x00) in the line");
}

static void test_bad_scripts(void **state)
{
	static const char head[] = "uvmpolicy-vectors 1 replay\n";
	char text[400];

	(void)state;
	snprintf(text, sizeof(text), "%sempty t=1\n", head);
	expect_bad(text, "F:2: \"empty\" precedes the first `case`");
	snprintf(text, sizeof(text), "%scase\n", head);
	expect_bad(text, "F:2: a name must follow `case`");
	snprintf(text, sizeof(text), "%scase policy=block\n", head);
	expect_bad(text, "F:2: a name must follow `case`");
	snprintf(text, sizeof(text), "%scase x policy=best\n", head);
	expect_bad(text, "F:2: policy=best is not accepted; one of block, batch, batch_flush, once, batch_wait");
	snprintf(text, sizeof(text),
	         "%scase x policy=block ratio=50 max_batches=20 max_throttled=5 max_batch=256 lapse_ms=1000 "
	         "y=1\n",
	         head);
	expect_bad(text, "F:2: \"y=1\" follows the last key");
	snprintf(text, sizeof(text),
	         "%scase x policy=block ratio=50 max_batches=20 max_throttled=5 max_batch=256 "
	         "lapse_ms=1000\n=> ok\n",
	         head);
	expect_bad(text, "F:3: an expected line without an input line directly before it");
}

/* The longest line passes, one byte more does not. */
static void test_line_length(void **state)
{
	char *text = malloc(sizeof(HEAD) + VEC_LINE_MAX + 2);
	size_t head = strlen(HEAD);

	(void)state;
	memcpy(text, HEAD, head);
	memset(text + head, '#', VEC_LINE_MAX + 1);
	text[head + VEC_LINE_MAX] = '\n';
	pass_bytes(vec_decide, text, head + VEC_LINE_MAX + 1);
	assert_false(result.is_bad);
	assert_int_equal(strlen(printed), head + VEC_LINE_MAX + 1);
	text[head + VEC_LINE_MAX] = '#';
	text[head + VEC_LINE_MAX + 1] = '\n';
	pass_bytes(vec_decide, text, head + VEC_LINE_MAX + 2);
	assert_string_equal(result.error, "F:2: line longer than 16384 bytes");
	free(text);
}

static void test_unreadable(void **state)
{
	FILE *directory = fopen(".", "r");

	(void)state;
	assert_non_null(directory);
	vec_check(directory, "F", stderr, &result);
	fclose(directory);
	assert_true(result.is_bad);
	assert_string_equal(result.error, "F:1: cannot be read: Is a directory");
}

static int free_printed(void **state)
{
	(void)state;
	free(printed);
	printed = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_text),
	        cmocka_unit_test(test_first_failure),
	        cmocka_unit_test(test_number),
	        cmocka_unit_test(test_small_values),
	        cmocka_unit_test(test_mask),
	        cmocka_unit_test(test_set_and_list),
	        cmocka_unit_test(test_long_value_is_cut),
	        cmocka_unit_test(test_scan_number),
	        cmocka_unit_test(test_printers),
	        cmocka_unit_test(test_mask_round_trip),
	        cmocka_unit_test(test_decide),
	        cmocka_unit_test(test_check),
	        cmocka_unit_test(test_check_several_lines),
	        cmocka_unit_test(test_negative_leaf),
	        cmocka_unit_test(test_longest_pieces),
	        cmocka_unit_test(test_pins),
	        cmocka_unit_test(test_many_pins),
	        cmocka_unit_test(test_bad_header),
	        cmocka_unit_test(test_bad_lines),
	        cmocka_unit_test(test_bad_scripts),
	        cmocka_unit_test(test_line_length),
	        cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, free_printed);
}
