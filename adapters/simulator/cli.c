/* What the subcommands share: reports, options, values, files. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nearest.h"
#include "number.h"

#define COLUMNS_MOST 100
#define WHOLE_LEAST  20 /* percent without a sign or a point */
#define RATIO_MOST   20

/* One line on stderr. A file name may hold anything; the report stays one line. */
static void report(const char *kind, const char *format, va_list list)
{
	char message[2048];

	vsnprintf(message, sizeof(message), format, list);
	for (char *at = message; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	fflush(stdout);
	fprintf(stderr, "uvmsim: %s%s\n", kind, message);
}

int cli_error(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	report("", format, list);
	va_end(list);
	return CLI_BAD_INPUT;
}

void cli_print_words(int column, const char *words, FILE *out)
{
	int at = column;

	while (*words != '\0') {
		int length = (int)strcspn(words, " ");

		if (at > column && at + 1 + length > COLUMNS_MOST) {
			fprintf(out, "\n%*s", column, "");
			at = column;
		}
		at += fprintf(out, "%s%.*s", at > column ? " " : "", length, words);
		words += length;
		words += strspn(words, " ");
	}
	fputc('\n', out);
}

bool cli_flush(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	cli_error("standard output: %s", errno != 0 ? strerror(errno) : "write error");
	return false;
}

/* -- options -- */

void cli_note(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	report("note: ", format, list);
	va_end(list);
}

static int bad_option(const struct cli_args *args, const char *problem, const char *word)
{
	cli_error("%s %.200s; see `uvmsim %s --help`", problem, word, args->argv[0]);
	return CLI_BAD;
}

/* `word` is `--name` or `--name=value`, `option` an entry of the list: `name` or `name=`. */
static bool is_option(const char *word, const char *option)
{
	size_t length = strcspn(option, "=*");

	return strncmp(word + 2, option, length) == 0 &&
	       (word[2 + length] == '\0' || word[2 + length] == '=');
}

void cli_note_oversub(const char *source, uint32_t percent, uint64_t footprint_bytes, uint64_t memory_bytes)
{
	double got = memory_bytes != 0 ? 100.0 * (double)footprint_bytes / (double)memory_bytes : percent;

	if (footprint_bytes != 0 && (got > percent + 2.0 || got < percent - 2.0))
		cli_note("%.200s: over-subscription is %.1f %%, not %u %%: GPU memory is a whole number of 2 "
		         "MiB; a "
		         "larger footprint comes nearer",
		         source, got, percent);
}

static int unknown_option(const struct cli_args *args, const char *word, const char *const *options)
{
	char names[64][NEAREST_TEXT_MAX / 2], hint[NEAREST_TEXT_MAX];
	size_t dashes = strspn(word, "-");
	struct nearest nearest;

	nearest_start(&nearest, word + dashes, strcspn(word + dashes, "="));
	for (int i = 0; i < 64 && options[i] != NULL; i++) {
		snprintf(names[i], sizeof(names[i]), "--%.*s", (int)strcspn(options[i], "=*"), options[i]);
		nearest_try(&nearest, names[i] + 2);
	}
	if (nearest.best)
		nearest.best -= 2; /* with its dashes */
	cli_error("unknown option %.200s%s; see `uvmsim %s --help`", word, nearest_hint(&nearest, hint),
	          args->argv[0]);
	return CLI_BAD;
}

static int take_option(struct cli_args *args, const char *option, int index, const char *word,
                       const char **value)
{
	bool takes_value = strchr(option, '=') != NULL;
	const char *equals = strchr(word, '=');
	uint64_t bit = UINT64_C(1) << index;

	if ((args->seen & bit) != 0 && strchr(option, '*') == NULL) {
		cli_error("%.*s is given twice", (int)strcspn(word, "="), word);
		return CLI_BAD;
	}
	args->seen |= bit;
	if (!takes_value)
		return equals == NULL ? index : bad_option(args, "no value is accepted by", word);
	if (equals != NULL) {
		*value = equals + 1;
		return index;
	}
	if (args->next == args->argc)
		return bad_option(args, "a value must follow", word);
	*value = args->argv[args->next++];
	return index;
}

int cli_next(struct cli_args *args, const char *const *options, const char **value)
{
	const char *word;

	*value = NULL;
	if (args->next < args->argc && !args->is_literal && strcmp(args->argv[args->next], "--") == 0) {
		args->is_literal = true;
		args->next++;
	}
	if (args->next >= args->argc)
		return CLI_END;
	word = args->argv[args->next++];
	if (args->is_literal || word[0] != '-' || word[1] == '\0') {
		*value = word;
		return CLI_OPERAND;
	}
	for (int i = 0; word[1] == '-' && options[i] != NULL; i++)
		if (is_option(word, options[i]))
			return take_option(args, options[i], i, word, value);
	return unknown_option(args, word, options);
}

/* -- values -- */

bool cli_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t value;

	if (number_parse(text, strlen(text), &value) && value >= min && value <= max) {
		*number = value;
		return true;
	}
	cli_error("%s: \"%.100s\" is not accepted; %llu..%llu", option, text, (unsigned long long)min,
	          (unsigned long long)max);
	return false;
}

bool cli_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes)
{
	char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	uint64_t value;

	if (number_parse_size(text, strlen(text), &value) && value >= min && value <= max) {
		*bytes = value;
		return true;
	}
	number_print_size(least, min);
	number_print_size(most, max);
	cli_error("%s: \"%.100s\" is not accepted; %s..%s " NUMBER_SIZE_HINT, option, text, least, most);
	return false;
}

/* `125%`, `125`; `1.25`. Of the last, the digits behind the point give hundredths. */
static bool read_oversub(const char *text, uint64_t *percent)
{
	size_t length = strlen(text), whole = strcspn(text, "."), digits;
	uint64_t fraction = 0;

	if (whole == length) {
		bool has_sign = length > 0 && text[length - 1] == '%';

		return number_parse(text, length - has_sign, percent) && *percent > 0 && *percent <= 10000 &&
		       (has_sign || *percent >= WHOLE_LEAST);
	}
	digits = length - whole - 1;
	if (digits < 1 || digits > 2 || !number_parse(text, whole, percent) || *percent >= RATIO_MOST ||
	    !number_parse(text + whole + 1, digits, &fraction))
		return false;
	*percent = 100 * *percent + (digits == 1 ? 10 : 1) * fraction;
	return *percent > 0;
}

bool cli_oversub(const char *option, const char *text, uint32_t *percent)
{
	uint64_t value = 0;

	if (read_oversub(text, &value)) {
		*percent = (uint32_t)value;
		return true;
	}
	if (number_parse(text, strlen(text), &value) && value > 0 && value < WHOLE_LEAST)
		cli_error("%s: \"%.100s\" is ambiguous; write %s%% for percent or %s.0 for a ratio", option,
		          text, text, text);
	else
		cli_error(
		        "%s: \"%.100s\" is not accepted; percent, 20..10000 or 1%%..10000%%, or a ratio with "
		        "a point, 0.01..19.99",
		        option, text);
	return false;
}

bool cli_policy(const char *option, const char *text, struct uvmp_policy *policy)
{
	struct uvmp_policy_error error = {0, 0, ""};
	enum uvmp_status status = uvmp_policy_parse(text, strlen(text), policy, &error);
	char hint[NEAREST_TEXT_MAX];

	if (status == UVMP_OK)
		return true;
	cli_error("%s: %s%s; see `uvmsim list %s`", option,
	          error.text[0] != '\0' ? error.text : uvmp_status_text(status),
	          nearest_policy(text, &error, hint), nearest_policy_list(text, &error));
	return false;
}

int cli_format(const char *option, const char *text)
{
	static const char *const names[] = {"table", "json", "csv"};
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, text, strlen(text));
	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
		nearest_try(&nearest, names[i]);
	}
	cli_error("%s %.100s: not one of table, json, csv%s", option, text, nearest_hint(&nearest, hint));
	return -1;
}

/* -- files -- */

FILE *cli_open(const char *path)
{
	struct stat info;
	FILE *file;

	if (strcmp(path, "-") == 0)
		return stdin;
	file = fopen(path, "r");
	if (file == NULL) {
		cli_error("%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
		cli_error("%s: %s", path, strerror(EISDIR));
		fclose(file);
		return NULL;
	}
	return file;
}

void cli_close(FILE *file)
{
	if (file != stdin)
		fclose(file);
}
