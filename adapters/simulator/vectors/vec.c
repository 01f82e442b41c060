/* Reading, recomputing and comparing vector files.
 *
 * A file is read line by line. Lines that start with "=>" are the expected results of the input line before
 * them: `decide` drops them, `check` gathers them. Any other line but a comment goes to the kind named in the
 * first line, which takes the words one by one through the getters below and prints its own "=>" lines. An
 * error anywhere ends the file with FILE:LINE and the cause. */
#include "vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

_Static_assert(VEC_LINE_MAX == LINE_BYTES_MAX, "the reader's limit is the format's");

static const struct vec_kind *const kinds[] = {
        &vec_density,       &vec_fetch,         &vec_order,     &vec_flush,
        &vec_toggle,        &vec_replay,        &vec_evict,     &vec_tree,
        &vec_alloc,         &vec_tbn,           &vec_sl,        &vec_residency,
        &vec_counters,      &vec_thrash,        &vec_pcie,      &vec_smart_migrate,
        &vec_smart_counter, &vec_smart_pattern, &vec_tbn_evict, &vec_smart_evict,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* -- output -- */

static void *grow(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes);

	if (memory == NULL) {
		fputs("uvmsim: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

void vec_printf(struct vec_out *out, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (length < 0)
		return;
	if (out->length + (size_t)length + 1 > out->capacity) {
		out->capacity = 2 * (out->length + (size_t)length + 1);
		out->text = grow(out->text, out->capacity);
	}
	va_start(list, format);
	vsnprintf(out->text + out->length, (size_t)length + 1, format, list);
	va_end(list);
	out->length += (size_t)length;
}

void vec_out_clear(struct vec_out *out)
{
	out->length = 0;
	if (out->text != NULL)
		out->text[0] = '\0';
}

void vec_out_free(struct vec_out *out)
{
	free(out->text);
	memset(out, 0, sizeof(*out));
}

void vec_set_begin(struct vec_set_printer *printer, struct vec_out *out)
{
	*printer = (struct vec_set_printer){.out = out, .is_empty = true};
}

static void print_run(struct vec_set_printer *printer)
{
	const char *comma = printer->is_empty ? "" : ",";

	if (printer->first == printer->last)
		vec_printf(printer->out, "%s%llu", comma, (unsigned long long)printer->first);
	else
		vec_printf(printer->out, "%s%llu-%llu", comma, (unsigned long long)printer->first,
		           (unsigned long long)printer->last);
	printer->is_empty = false;
}

void vec_set_add(struct vec_set_printer *printer, uint64_t number)
{
	if (printer->is_open && number == printer->last + 1) {
		printer->last = number;
		return;
	}
	if (printer->is_open)
		print_run(printer);
	printer->first = printer->last = number;
	printer->is_open = true;
}

void vec_set_end(struct vec_set_printer *printer)
{
	if (printer->is_open)
		print_run(printer);
	else
		vec_printf(printer->out, "-");
	printer->is_open = false;
}

void vec_print_mask(struct vec_out *out, const uvmp_mask *mask)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (uint32_t page = 0; page < UVMP_MASK_BITS; page++)
		if (uvmp_mask_test(mask, page))
			vec_set_add(&printer, page);
	vec_set_end(&printer);
}

void vec_print_bits(struct vec_out *out, uint64_t bits)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (uint32_t bit = 0; bit < 64; bit++)
		if ((bits >> bit & 1u) != 0)
			vec_set_add(&printer, bit);
	vec_set_end(&printer);
}

void vec_print_list(struct vec_out *out, const uint32_t *number, size_t count)
{
	if (count == 0)
		vec_printf(out, "-");
	for (size_t i = 0; i < count; i++)
		vec_printf(out, "%s%lu", i == 0 ? "" : ",", (unsigned long)number[i]);
}

void vec_print_proc(struct vec_out *out, uint32_t proc)
{
	if (proc >= UVMP_PROC_NONE)
		vec_printf(out, "none");
	else
		vec_printf(out, "%lu", (unsigned long)proc);
}

/* -- input -- */

void vec_fail(struct vec_args *args, const char *format, ...)
{
	va_list list;

	if (args->failed)
		return;
	args->failed = true;
	va_start(list, format);
	vsnprintf(args->error, sizeof(args->error), format, list);
	va_end(list);
}

/* The value is not what the key accepts. Long values are cut: the line number tells where the rest is. */
__attribute__((format(printf, 4, 5))) static void refuse(struct vec_args *args, const char *key,
                                                         const char *value, const char *format, ...)
{
	char accepted[256];
	va_list list;

	va_start(list, format);
	vsnprintf(accepted, sizeof(accepted), format, list);
	va_end(list);
	vec_fail(args, "%s=%.80s%s is not accepted; %s", key, value, strlen(value) > 80 ? "..." : "",
	         accepted);
}

const char *vec_text(struct vec_args *args, const char *key)
{
	size_t length = strlen(key);
	char *word;

	if (args->failed)
		return NULL;
	word = line_word(&args->words);
	if (word == NULL) {
		vec_fail(args, "the line ends where %s= must follow", key);
		return NULL;
	}
	if (strncmp(word, key, length) != 0 || word[length] != '=') {
		vec_fail(args, "\"%.80s%s\" stands where %s= must stand", word,
		         strlen(word) > 80 ? "..." : "", key);
		return NULL;
	}
	if (word[length + 1] == '\0') {
		vec_fail(args, "%s= has no value", key);
		return NULL;
	}
	return word + length + 1;
}

bool vec_scan_number(const char **text, uint64_t max, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (value > max)
		return false;
	*text = at;
	*number = value;
	return true;
}

uint64_t vec_number(struct vec_args *args, const char *key, uint64_t min, uint64_t max)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	uint64_t number;

	if (value == NULL)
		return 0;
	if (vec_scan_number(&at, max, &number) && *at == '\0' && number >= min)
		return number;
	refuse(args, key, value, "%llu..%llu, decimal, without leading zeros", (unsigned long long)min,
	       (unsigned long long)max);
	return 0;
}

int64_t vec_signed(struct vec_args *args, const char *key, int64_t min, int64_t max)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	uint64_t magnitude;
	int64_t number;
	bool is_negative;

	if (value == NULL)
		return 0;
	is_negative = *at == '-';
	if (is_negative)
		at++;
	if (vec_scan_number(&at, (uint64_t)INT64_MAX + (is_negative ? 1 : 0), &magnitude) && *at == '\0' &&
	    !(is_negative && magnitude == 0)) {
		number = is_negative ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
		if (number >= min && number <= max)
			return number;
	}
	refuse(args, key, value, "%lld..%lld, decimal, without leading zeros", (long long)min,
	       (long long)max);
	return 0;
}

bool vec_flag(struct vec_args *args, const char *key)
{
	return vec_number(args, key, 0, 1) == 1;
}

uint32_t vec_proc(struct vec_args *args, const char *key)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	uint64_t number;

	if (value == NULL)
		return 0;
	if (strcmp(value, "none") == 0)
		return UVMP_PROC_NONE;
	if (vec_scan_number(&at, UVMP_PROCS_MAX - 1u, &number) && *at == '\0')
		return (uint32_t)number;
	refuse(args, key, value, "0 (CPU), 1..%u (GPUs) or none", UVMP_PROCS_MAX - 1u);
	return 0;
}

uint32_t vec_choice(struct vec_args *args, const char *key, const char *const *names)
{
	const char *value = vec_text(args, key);
	char accepted[200] = "";

	if (value == NULL)
		return 0;
	for (uint32_t i = 0; names[i] != NULL; i++) {
		size_t length = strlen(accepted);

		if (strcmp(value, names[i]) == 0)
			return i;
		snprintf(accepted + length, sizeof(accepted) - length, "%s%s", i == 0 ? "" : ", ", names[i]);
	}
	refuse(args, key, value, "one of %s", accepted);
	return 0;
}

/* One `first` or `first-last` of a set; `next` is the least number that may stand here. Returns false if
 * there is none. */
static bool scan_range(const char **text, uint64_t next, uint64_t limit, struct vec_range *range)
{
	if (!vec_scan_number(text, limit - 1, &range->first) || range->first < next)
		return false;
	range->last = range->first;
	if (**text != '-')
		return true;
	(*text)++;
	return vec_scan_number(text, limit - 1, &range->last) && range->last > range->first;
}

size_t vec_set(struct vec_args *args, const char *key, uint64_t limit, struct vec_range **ranges)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	size_t count = 0, capacity = 0;
	uint64_t next = 0;

	*ranges = NULL;
	if (value == NULL || strcmp(value, "-") == 0)
		return 0;
	while (limit > 0) {
		if (count == capacity) {
			capacity = capacity * 2 + 8;
			*ranges = grow(*ranges, capacity * sizeof(**ranges));
		}
		if (!scan_range(&at, next, limit, &(*ranges)[count]))
			break;
		/* Neighbouring runs would have been one run, so the next one starts behind a gap. */
		next = (*ranges)[count].last < UINT64_MAX - 1 ? (*ranges)[count].last + 2 : UINT64_MAX;
		count++;
		if (*at == '\0')
			return count;
		if (*at++ != ',')
			break;
	}
	free(*ranges);
	*ranges = NULL;
	if (limit == 0)
		refuse(args, key, value, "only - here");
	else
		refuse(args, key, value,
		       "a set of numbers 0..%llu: ascending, longest runs first-last, - if empty",
		       (unsigned long long)(limit - 1));
	return 0;
}

void vec_mask(struct vec_args *args, const char *key, uint32_t limit, uvmp_mask *mask, bool *is_none)
{
	size_t length = strlen(key);
	struct vec_range *ranges;
	size_t count;

	uvmp_mask_zero(mask);
	if (is_none != NULL)
		*is_none = !args->failed && strncmp(args->words, key, length) == 0 &&
		           strncmp(args->words + length, "=none", 5) == 0 &&
		           (args->words[length + 5] == ' ' || args->words[length + 5] == '\0');
	if (is_none != NULL && *is_none) {
		vec_text(args, key);
		return;
	}
	count = vec_set(args, key, limit <= UVMP_MASK_BITS ? limit : UVMP_MASK_BITS, &ranges);
	for (size_t i = 0; i < count; i++) {
		struct uvmp_region region = {(uint32_t)ranges[i].first, (uint32_t)ranges[i].last + 1};

		uvmp_mask_region_set(mask, region);
	}
	free(ranges);
}

size_t vec_list(struct vec_args *args, const char *key, uint64_t min, uint64_t max, uint64_t **numbers)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	size_t count = 0, capacity = 0;

	*numbers = NULL;
	if (value == NULL || strcmp(value, "-") == 0)
		return 0;
	for (;;) {
		if (count == capacity) {
			capacity = capacity * 2 + 8;
			*numbers = grow(*numbers, capacity * sizeof(**numbers));
		}
		if (!vec_scan_number(&at, max, &(*numbers)[count]) || (*numbers)[count] < min)
			break;
		count++;
		if (*at == '\0')
			return count;
		if (*at++ != ',')
			break;
	}
	free(*numbers);
	*numbers = NULL;
	refuse(args, key, value, "numbers %llu..%llu separated by commas, - if empty",
	       (unsigned long long)min, (unsigned long long)max);
	return 0;
}

/* -- files -- */

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
		vec_fail(&pass->args, "\"%.80s\" stands behind the last key", line_word(&pass->args.words));
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
		return bad(pass, "\"%.80s\" stands before the first `case`", word);
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
	struct pass *pass = grow(NULL, sizeof(*pass));

	memset(pass, 0, sizeof(*pass));
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
