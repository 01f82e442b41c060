/* What the subcommands share: words, values, files. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "number.h"
#include "output_conflicts.h"

#define COLUMNS_MOST 100
#define WHOLE_LEAST  20 /* percent without a sign or a point */
#define RATIO_MOST   20
#define NS_PER_S     UINT64_C(1000000000)
#define NS_MOST	     (NS_PER_S * 86400u) /* of a simulated time that an option gives */

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

void cli_note_oversub(const char *source, uint32_t percent, uint64_t footprint_bytes, uint64_t memory_bytes)
{
	double got = memory_bytes != 0 ? 100.0 * (double)footprint_bytes / (double)memory_bytes : percent;

	if (footprint_bytes != 0 && (got > percent + 2.0 || got < percent - 2.0))
		say_note("%.200s: over-subscription is %.1f %%, not %u %%: GPU memory is a whole number of 2 "
			 "MiB; a "
			 "larger footprint comes nearer",
			 source, got, percent);
}

/* -- values -- */

/* `125%`, `125`; `1.25`. Of the last, the digits after the point give hundredths. */
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
		say_error("%s: \"%.100s\" is ambiguous; write %s%% for percent or %s.0 for a ratio", option,
			  text, text, text);
	else
		say_error(
			"%s: \"%.100s\" is not accepted; percent, 20..10000 or 1%%..10000%%, or a ratio with "
			"a point, 0.01..19.99",
			option, text);
	return false;
}

/* -- files -- */

FILE *cli_open(const char *path)
{
	struct stat info;
	FILE *file;

	if (!output_reads(NULL, path))
		return NULL;
	if (strcmp(path, "-") == 0)
		return stdin;
	file = fopen(path, "r");
	if (file == NULL) {
		say_error("%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
		say_error("%s: %s", path, strerror(EISDIR));
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

/* -- options -- */

int cli_take_options(struct options *options, int (*take)(void *request, int option, const char *value),
		     void *request)
{
	int status = CLI_DONE, option;
	const char *value;

	while (status == CLI_DONE && (option = options_next(options, &value)) != OPTIONS_END) {
		if (option == OPTIONS_BAD)
			status = CLI_BAD_INPUT;
		else if (option == OPTIONS_OPERAND)
			status = say_error("%s: unexpected argument %s", options->argv[0], value);
		else
			status = take(request, option, value);
	}
	return status;
}

int cli_format(const char *text, enum report_format *format)
{
	int number = options_format("--format", text);

	*format = number < 0 ? REPORT_TABLE : (enum report_format)number;
	return number < 0 ? CLI_BAD_INPUT : CLI_DONE;
}

int cli_seed(const char *text, uint64_t *seed)
{
	return options_number("--seed", text, 0, UINT64_MAX, seed) ? CLI_DONE : CLI_BAD_INPUT;
}

bool cli_time(const char *option, const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} unit[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", NS_PER_S}};
	const size_t digits = strspn(text, "0123456789");
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++) {
		if (strcmp(text + digits, unit[i].name) != 0 || !number_parse(text, digits, &number) || number == 0 ||
		    number > NS_MOST / unit[i].ns)
			continue;
		*ns = number * unit[i].ns;
		return true;
	}
	say_error("%s: \"%.100s\" is not accepted; a time, 1ns..86400s, as 100, 100ns, 20us, 5ms or 2s", option, text);
	return false;
}

int cli_memory(bool is_percent, const char *text, struct sim_memory *memory)
{
	bool is_good = is_percent ? cli_oversub("--oversub", text, &memory->oversub_percent)
				  : options_size("--memory", text, 2097152, UINT64_C(1) << 44, &memory->bytes);

	return is_good ? CLI_DONE : CLI_BAD_INPUT;
}
