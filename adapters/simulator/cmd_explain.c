/* uvmsim explain: a decision log in plain English. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "explain.h"
#include "number.h"
#include "outputs.h"

const char help_explain[] =
	"usage: uvmsim explain LOG [ADDRESS[-END | +BYTES]]   [options]\n"
	"\n"
	"Explains why pages moved, from a decision log (-: standard input; a compressed\n"
	"log: zstdcat LOG | uvmsim explain - ...). With an address: every action on the\n"
	"page that holds the address, one line each, and how often the page arrived and\n"
	"was evicted. With a range: the same for every page that overlaps the range.\n"
	"Without: the ten blocks with the most moved pages, and the copies by cause.\n"
	"\n"
	"  ADDRESS, END     hexadecimal, with or without 0x; END: one past the last byte\n"
	"  BYTES            for example 65536, 64K, 2M\n"
	"  --space N        only actions of this address space\n"
	"  --report FILE    the answer, and pictures of the whole log, as one HTML file\n"
	"\n"
	"Exit status: 0 done; 2 bad input: the output ends before the bad line.\n";

static const char *const options[] = {"space=", "report=", NULL};

/* Hexadecimal digits at *text, at most 64 bits; moves *text past them. */
static bool scan_address(const char **text, uint64_t *address)
{
	if ((*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X'))
		*text += 2;
	return number_read(text, *text + strlen(*text), 16, address) == NUMBER_OK;
}

/* ADDRESS, ADDRESS-END or ADDRESS+BYTES; false after a report. */
static bool read_address(const char *text, struct explain_query *query)
{
	const char *at = text;
	uint64_t end, bytes;

	query->has_address = true;
	if (scan_address(&at, &query->first)) {
		query->last = query->first;
		if (*at == '\0')
			return true;
		if (*at == '+') {
			if (!options_size("BYTES", at + 1, 1, UINT64_MAX, &bytes))
				return false;
			query->last = query->first + (bytes - 1);
			if (query->last >= query->first)
				return true;
		} else if (*at++ == '-' && scan_address(&at, &end) && *at == '\0' && end > query->first) {
			query->last = end - 1;
			return true;
		}
	}
	say_error("\"%.100s\" is not accepted; hexadecimal ADDRESS, ADDRESS-END or ADDRESS+BYTES", text);
	return false;
}

/* The answer, on standard output and in a file with pictures. */
static int explain_with_report(FILE *in, const char *name, struct explain_query query, struct html_page *page,
			       const char *path)
{
	struct output *output = output_claim("--report", path);
	struct collector *collector = malloc(sizeof(*collector));
	struct observers observers = {.count = 0};
	char error[EXPLAIN_ERROR_MAX] = "out of memory", *text = NULL;
	size_t bytes;
	FILE *answer = output ? open_memstream(&text, &bytes) : NULL;
	bool is_good = collector && answer, is_written = output != NULL;

	if (is_good) {
		collector_init(collector);
		observe_add(&observers, collector_observer(collector));
		query.observers = &observers;
		is_good = explain_log(in, name, &query, answer, error);
		fclose(answer);
	}
	if (text)
		fputs(text, stdout);
	page->log = name;
	page->log_pictures = collector;
	page->summary = text;
	is_written = is_written && (!is_good || outputs_write_page(output, page));
	is_written = output_close(output, is_good && is_written ? OUTPUT_COMPLETE : OUTPUT_DISCARD) && is_written;
	free(text);
	free(collector);
	return !is_written ? CLI_BAD_INPUT : is_good ? CLI_DONE : say_error("%s", error);
}

int cmd_explain(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "explain");
	struct explain_query query = {0};
	struct html_page page = {.command = {.argc = argc, .argv = argv}};
	const char *path = NULL, *address = NULL, *report = NULL, *value;
	char error[EXPLAIN_ERROR_MAX];
	bool is_good;
	FILE *in;
	int what, status;

	while ((what = options_next(&args, &value)) != OPTIONS_END) {
		if (what == OPTIONS_BAD)
			return CLI_BAD_INPUT;
		if (what == 0) {
			query.has_space = true;
			if (!options_number("--space", value, 0, UINT64_MAX, &query.space))
				return CLI_BAD_INPUT;
		} else if (what == 1) {
			report = value;
			if (!html_is_built_in())
				return CLI_BAD_INPUT;
		} else if (path == NULL) {
			path = value;
		} else if (address == NULL) {
			address = value;
		} else {
			return say_error("explain: unexpected argument %.100s", value);
		}
	}
	if (path == NULL)
		return say_error("a log must follow explain; see `uvmsim explain --help`");
	if (address != NULL && !read_address(address, &query))
		return CLI_BAD_INPUT;
	in = cli_open(path);
	if (in == NULL)
		return CLI_BAD_INPUT;
	if (report) {
		status = explain_with_report(in, path, query, &page, report);
		cli_close(in);
		return status;
	}
	is_good = explain_log(in, path, &query, stdout, error);
	cli_close(in);
	return is_good ? CLI_DONE : say_error("%s", error);
}
