/* The table of kinds, and the pass over one vector file.
 *
 * A file is read line by line. Lines that start with "=>" are the expected results of the input line before
 * them: `decide` drops them, `check` collects them. All other lines but comments go to the kind that the
 * first line names, which prints its own "=>" lines. An error anywhere ends the file with FILE:LINE and the
 * cause. */
#include "vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "vec_kind.h"

_Static_assert(VEC_LINE_MAX == LINE_BYTES_MAX, "the reader's limit is the format's");

static const struct vec_kind *const kinds[] = {
        &vec_density,       &vec_fetch,         &vec_order,     &vec_flush,
        &vec_toggle,        &vec_replay,        &vec_evict,     &vec_tree,
        &vec_alloc,         &vec_tbn,           &vec_sl,        &vec_residency,
        &vec_counters,      &vec_thrash,        &vec_pcie,      &vec_smart_migrate,
        &vec_smart_counter, &vec_smart_pattern, &vec_tbn_evict, &vec_smart_evict,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One file on its way through. */
struct pass {
	struct line_reader reader;
	char copy[VEC_LINE_MAX + 1]; /* the line that the getters cut up */
	const char *name;
	FILE *out;
	bool is_check;
	struct vec_result *result;
	const struct vec_kind *kind;
	void *state; /* of the present script */
	struct vec_args args;
	struct vec_out computed;
	bool may_expect; /* an "=>" line may follow */
	/* check: the input line that waits for its expected lines */
	struct vec_out input, expected;
	uint64_t input_line;
	bool has_input, has_surplus;
};

__attribute__((format(printf, 2, 3))) static bool bad(struct pass *pass, const char *format, ...)
{
	struct vec_result *result = pass->result;
	char cause[700];
	va_list list;

	va_start(list, format);
	vsnprintf(cause, sizeof(cause), format, list);
	va_end(list);
	snprintf(result->error, sizeof(result->error), "%.250s:%llu: %s", pass->name,
	         (unsigned long long)(pass->reader.number == 0 ? 1 : pass->reader.number), cause);
	result->is_bad = true;
	return false;
}

/* False at the end of the file and at a bad line. */
static bool next_line(struct pass *pass)
{
	enum line_status status = line_read(&pass->reader);

	if (status == LINE_BAD)
		return bad(pass, "%s", pass->reader.error);
	return status == LINE_OK;
}

static bool find_kind(struct pass *pass, const char *name)
{
	char known[400] = "";

	for (size_t i = 0; i < COUNT(kinds); i++) {
		size_t length = strlen(known);

		if (strcmp(name, kinds[i]->name) == 0) {
			pass->kind = kinds[i];
			return true;
		}
		snprintf(known + length, sizeof(known) - length, "%s%s", i == 0 ? "" : ", ", kinds[i]->name);
	}
	return bad(pass, "kind \"%.80s\" is not known; known are %s", name, known);
}

static bool read_header(struct pass *pass)
{
	static const char magic[] = "uvmpolicy-vectors ";
	const char *text = pass->reader.text;

	if (!next_line(pass))
		return pass->result->is_bad ? false
		                            : bad(pass, "empty file; the first line is `%s1 KIND`", magic);
	if (strncmp(text, magic, sizeof(magic) - 1) != 0)
		return bad(pass, "not a vector file: the first line must be `%s1 KIND`", magic);
	text += sizeof(magic) - 1;
	if (strncmp(text, "1 ", 2) != 0)
		return bad(pass, "format version \"%.*s\" is not accepted; 1 followed by a kind",
		           (int)strcspn(text, " "), text);
	if (text[2] == '\0' || strchr(text + 2, ' ') != NULL)
		return bad(pass, "the first line must be `%s1 KIND`", magic);
	return find_kind(pass, text + 2);
}

/* The next line of a text of lines, NULL at its end; *rest moves behind it. */
static const char *text_line(const char **rest, int *length)
{
	const char *line = *rest;
	size_t bytes;

	if (line == NULL || *line == '\0')
		return NULL;
	bytes = strcspn(line, "\n");
	*length = (int)bytes;
	*rest = line + bytes + (line[bytes] == '\n' ? 1 : 0);
	return line;
}

/* Shows the lines in which the results differ, pair by pair. */
static void print_difference(const struct pass *pass)
{
	const char *expected = pass->expected.text, *computed = pass->computed.text;
	int expected_length = 0, computed_length = 0;

	fprintf(pass->out, "%s:%llu: %s\n", pass->name, (unsigned long long)pass->input_line,
	        pass->input.text);
	if (pass->expected.length == 0)
		fputs("  expected (no line)\n", pass->out);
	for (;;) {
		const char *left = text_line(&expected, &expected_length);
		const char *right = text_line(&computed, &computed_length);

		if (left == NULL && right == NULL)
			break;
		if (left != NULL && right != NULL && expected_length == computed_length &&
		    memcmp(left, right, (size_t)expected_length) == 0)
			continue;
		if (left != NULL)
			fprintf(pass->out, "  expected %.*s\n", expected_length, left);
		else if (pass->expected.length != 0)
			fputs("  expected (no further line)\n", pass->out);
		fprintf(pass->out, "  computed %.*s\n", right != NULL ? computed_length : 17,
		        right != NULL ? right : "(no further line)");
	}
}

/* check: judges the input line whose expected lines are complete. */
static void settle(struct pass *pass)
{
	if (!pass->has_input)
		return;
	pass->has_input = false;
	if (pass->expected.length > 0 && pass->expected.length == pass->computed.length &&
	    !pass->has_surplus &&
	    memcmp(pass->expected.text, pass->computed.text, pass->expected.length) == 0) {
		pass->result->passed++;
		return;
	}
	pass->result->failed++;
	print_difference(pass);
}

static bool take_expected(struct pass *pass)
{
	if (pass->reader.text[2] != ' ')
		return bad(pass, "an expected line starts with `=> `");
	if (!pass->may_expect)
		return bad(pass, "an expected line without an input line directly before it");
	if (!pass->is_check)
		return true;
	/* Once there is more than was computed the verdict is clear; the rest is not kept. */
	if (pass->expected.length > pass->computed.length)
		pass->has_surplus = true;
	else
		vec_printf(&pass->expected, "%s\n", pass->reader.text);
	return true;
}

/* What the kind has printed must itself be lines of the format. */
static bool computed_fits(struct pass *pass)
{
	const char *rest = pass->computed.text;
	int length;

	while (text_line(&rest, &length) != NULL)
		if (length > VEC_LINE_MAX)
			return bad(pass, "the result of this line is longer than %d bytes", VEC_LINE_MAX);
	return true;
}

static void close_script(struct pass *pass)
{
	if (pass->state != NULL)
		pass->kind->close(pass->state);
	pass->state = NULL;
}

static bool words_are_done(struct pass *pass)
{
	if (!pass->args.failed && pass->args.words[0] != '\0')
		vec_fail(&pass->args, "\"%.80s\" follows the last key", line_word(&pass->args.words));
	return !pass->args.failed || bad(pass, "%s", pass->args.error);
}

static bool take_case(struct pass *pass)
{
	const char *case_name = line_word(&pass->args.words);

	if (case_name == NULL || strchr(case_name, '=') != NULL)
		return bad(pass, "a name must follow `case`");
	close_script(pass);
	pass->state = pass->kind->open(&pass->args, case_name);
	pass->may_expect = false;
	if (!words_are_done(pass))
		return false;
	if (pass->state == NULL)
		return bad(pass, "the case cannot be set up");
	if (!pass->is_check)
		fprintf(pass->out, "%s\n", pass->reader.text);
	return true;
}

static bool take_input(struct pass *pass)
{
	const char *word;

	if (!line_is_single_spaced(pass->reader.text))
		return bad(pass, "words must be separated by exactly one blank");
	memcpy(pass->copy, pass->reader.text, pass->reader.length + 1);
	pass->args.words = pass->copy;
	pass->args.failed = false;
	word = line_word(&pass->args.words);
	if (word == NULL)
		return bad(pass, "empty line");
	if (pass->kind->is_scripted && strcmp(word, "case") == 0)
		return take_case(pass);
	if (pass->kind->is_scripted && pass->state == NULL)
		return bad(pass, "\"%.80s\" precedes the first `case`", word);
	if (!pass->kind->is_scripted && strcmp(word, pass->kind->name) != 0)
		return bad(pass, "the line starts with \"%.80s\"; `%s`, `=>` or `#` are accepted", word,
		           pass->kind->name);
	vec_out_clear(&pass->computed);
	pass->kind->line(pass->state, word, &pass->args, &pass->computed);
	if (!words_are_done(pass) || !computed_fits(pass))
		return false;
	pass->may_expect = true;
	if (!pass->is_check) {
		fprintf(pass->out, "%s\n%s", pass->reader.text,
		        pass->computed.text != NULL ? pass->computed.text : "");
		return true;
	}
	vec_out_clear(&pass->input);
	vec_printf(&pass->input, "%s", pass->reader.text);
	vec_out_clear(&pass->expected);
	pass->input_line = pass->reader.number;
	pass->has_input = true;
	pass->has_surplus = false;
	return true;
}

static bool take_line(struct pass *pass)
{
	if (strncmp(pass->reader.text, "=>", 2) == 0) {
		if (!line_is_single_spaced(pass->reader.text))
			return bad(pass, "words must be separated by exactly one blank");
		return take_expected(pass);
	}
	settle(pass);
	if (pass->reader.text[0] != '#')
		return take_input(pass);
	pass->may_expect = false;
	if (!pass->is_check)
		fprintf(pass->out, "%s\n", pass->reader.text);
	return true;
}

static void process(struct pass *pass)
{
	memset(pass->result, 0, sizeof(*pass->result));
	if (!read_header(pass))
		return;
	if (!pass->is_check)
		fprintf(pass->out, "%s\n", pass->reader.text);
	while (!ferror(pass->out) && next_line(pass))
		if (!take_line(pass))
			break;
	if (!pass->result->is_bad)
		settle(pass);
	close_script(pass);
}

static void run(FILE *in, const char *name, FILE *out, struct vec_result *result, bool is_check)
{
	struct pass *pass = vec_zeros(1, sizeof(*pass));

	line_reader_init(&pass->reader, in);
	pass->name = name;
	pass->out = out;
	pass->result = result;
	pass->is_check = is_check;
	process(pass);
	vec_out_free(&pass->computed);
	vec_out_free(&pass->input);
	vec_out_free(&pass->expected);
	free(pass);
}

void vec_decide(FILE *in, const char *name, FILE *out, struct vec_result *result)
{
	run(in, name, out, result, false);
}

void vec_check(FILE *in, const char *name, FILE *out, struct vec_result *result)
{
	run(in, name, out, result, true);
}
