/* Lines of results: see results.h. */
#include "results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "csv_line.h"
#include "number.h"
#include "text_line.h"

#define LINE_MOST 1048576u

static const char first_fields[] = "sweep,run,runs,version,";

typedef unsigned long long number;

/* -- reading -- */

struct reader {
	struct results *results;
	const char *path;
	uint64_t line;
	char *error;
	size_t fields; /* of the header */
};

static bool fail(struct reader *r, const char *text)
{
	snprintf(r->error, RESULTS_ERROR_MAX, "%.300s:%llu: %s", r->path, (number)r->line, text);
	return false;
}

static bool read_key(const char *text, struct results_key *key)
{
	char run[24], runs[24];
	const char *at = text;

	memset(key, 0, sizeof(*key));
	return csv_line_next(&at, key->sweep, sizeof(key->sweep)) && at &&
	       csv_line_next(&at, run, sizeof(run)) && at && csv_line_next(&at, runs, sizeof(runs)) && at &&
	       csv_line_next(&at, key->version, sizeof(key->version)) && at && strlen(key->sweep) == 16 &&
	       number_parse(run, strlen(run), &key->run) && number_parse(runs, strlen(runs), &key->runs) &&
	       key->run < key->runs;
}

static bool take_header(struct reader *r, const char *text)
{
	struct results *results = r->results;

	if (strncmp(text, first_fields, strlen(first_fields)) != 0)
		return fail(r,
			    "not the results of a sweep: the first line begins with sweep,run,runs,version");
	r->fields = csv_line_fields(text);
	if (results->header)
		return strcmp(results->header, text) == 0 ||
		       fail(r, "the columns are those of another sweep, or of another version of uvmsim");
	results->header = strdup(text);
	return results->header || fail(r, "out of memory");
}

static bool take_line(struct reader *r, const char *text)
{
	struct results *results = r->results;
	struct results_key key;
	char *copy;

	if (r->line == 1)
		return take_header(r, text);
	if (csv_line_fields(text) != r->fields || !read_key(text, &key))
		return fail(r, "not a line of results");
	if (!results->has_key)
		results->key = key;
	results->has_key = true;
	if (strcmp(key.sweep, results->key.sweep) != 0 || key.runs != results->key.runs)
		return fail(r, "a result of another sweep");
	if (strcmp(key.version, results->key.version) != 0)
		return fail(r, "a result of another version of uvmsim");
	copy = strdup(text);
	return (copy && results_add(results, copy, key.run, r->line, r->path)) || fail(r, "out of memory");
}

/* A last line without a newline is dropped. A file is refused if its only line is not the header of this sweep. */
static bool take_cut(struct reader *r, const char *text)
{
	size_t length = strnlen(text, strlen(first_fields));

	return r->line > 1 || strncmp(text, first_fields, length) == 0 ||
	       fail(r, "not the results of a sweep: the first line begins with sweep,run,runs,version");
}

bool results_read(struct results *results, FILE *in, const char *path, uint64_t *end,
		  char error[RESULTS_ERROR_MAX])
{
	struct reader r = {.results = results, .path = path, .error = error};
	struct text_line line = {.text = NULL};
	enum text_line_end status = TEXT_LINE_OK;
	bool is_good = true;

	*end = 0;
	while (is_good && (status = text_line_read(&line, in, LINE_MOST)) == TEXT_LINE_OK) {
		r.line++;
		if (!line.has_end) {
			is_good = take_cut(&r, line.text);
			break;
		}
		is_good = strlen(line.text) == line.length ? take_line(&r, line.text)
							   : fail(&r, "a NUL character");
		*end += line.length + 1u;
	}
	text_line_close(&line);
	r.line++;
	if (status == TEXT_LINE_TOO_LONG)
		is_good = fail(&r, "a line of more than 1 MiB");
	if (status == TEXT_LINE_NO_MEMORY)
		is_good = fail(&r, "out of memory");
	if (is_good && ferror(in)) {
		snprintf(error, RESULTS_ERROR_MAX, "%.300s: cannot be read: %s", path, strerror(errno));
		return false;
	}
	return is_good;
}

bool results_add(struct results *results, char *text, uint64_t run, uint64_t line, const char *path)
{
	if (!ARRAY_RESERVE(results->line, results->room, results->count + 1)) {
		free(text);
		return false;
	}
	results->line[results->count++] = (struct results_line){text, run, line, path};
	return true;
}

void results_close(struct results *results)
{
	for (size_t i = 0; i < results->count; i++)
		free(results->line[i].text);
	free(results->line);
	free(results->header);
	memset(results, 0, sizeof(*results));
}

/* -- order -- */

/* Of one run the line that was read first is first. */
static int compare(const void *a, const void *b)
{
	const struct results_line *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->path != y->path)
		return strcmp(x->path ? x->path : "", y->path ? y->path : "");
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The length of a line without its last field, the host, which quote_csv writes in quotation marks. */
static size_t without_host(const char *text)
{
	size_t length = strlen(text);

	if (length > 0 && text[length - 1] == '"') {
		length--;
		while (length > 0 && (text[length - 1] != '"' || (length > 1 && text[length - 2] == '"')))
			length -= text[length - 1] == '"' ? 2u : 1u;
	}
	while (length > 0 && text[length - 1] != ',')
		length--;
	return length;
}

static bool is_equal(const char *a, const char *b)
{
	size_t length = without_host(a);

	return length == without_host(b) && memcmp(a, b, length) == 0;
}

bool results_sort(struct results *results, char error[RESULTS_ERROR_MAX])
{
	size_t kept = 0;

	if (results->count != 0)
		qsort(results->line, results->count, sizeof(*results->line), compare);
	for (size_t i = 0; i < results->count; i++) {
		struct results_line *line = &results->line[i],
				    *last = kept > 0 ? &results->line[kept - 1] : NULL;

		if (!last || last->run != line->run) {
			results->line[kept++] = *line;
			continue;
		}
		if (!is_equal(last->text, line->text)) {
			snprintf(error, RESULTS_ERROR_MAX,
				 "run %llu has two results: %.300s:%llu and %.300s:%llu differ in more than "
				 "the host",
				 (number)line->run, last->path, (number)last->number, line->path,
				 (number)line->number);
			for (; i < results->count; i++)
				results->line[kept++] = results->line[i];
			results->count = kept;
			return false;
		}
		free(line->text);
	}
	results->count = kept;
	return true;
}

/* -- writing -- */

/* Errors stay in the stream. */
static void put_lines(const struct results *results, FILE *out)
{
	fprintf(out, "%s\n", results->header);
	for (size_t i = 0; i < results->count && !ferror(out); i++) {
		fputs(results->line[i].text, out);
		fputc('\n', out);
	}
}

bool results_write(const struct results *results, struct output *output)
{
	FILE *out = output_begin(output) ? output_stream(output) : NULL;
	bool is_good = out != NULL;

	if (out) {
		put_lines(results, out);
		is_good = output_sync(output);
	}
	return output_close(output, is_good ? OUTPUT_COMPLETE : OUTPUT_DISCARD) && is_good;
}
