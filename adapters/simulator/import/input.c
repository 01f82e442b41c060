/* The input of importers. Other tools' text comes with the line ends of other systems, blanks at the ends of
 * lines and what programs print in between; a stream is laid over the file that decompresses it and irons
 * that out, so that the strict line reader can read the rest. What is not text (NUL) stays and is refused. */
#include "import/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "number.h"

#define BUFFER_BYTES 65536u

struct import_view {
	FILE *file;
	struct input *input; /* the bytes below `file` */
	bool is_text;
	bool is_begun;
	size_t at, end;	     /* of plain */
	size_t blanks;	     /* read but not handed out: they may end the line */
	const char *problem; /* NULL: none */
	unsigned char plain[BUFFER_BYTES];
};

/* -- bytes -- */

static bool is_gzip(const struct import_view *view)
{
	return view->end >= 2 && view->plain[0] == 0x1f && view->plain[1] == 0x8b;
}

/* False: the end, or a problem. */
static bool refill(struct import_view *view)
{
	view->at = view->end = 0;
	if (view->problem)
		return false;
	view->end = input_read(view->input, view->plain, sizeof(view->plain));
	view->problem = input_problem(view->input);
	if (!view->is_begun && !input_is_packed(view->input) && is_gzip(view)) {
		view->problem = "is gzip-compressed; give it as `zcat FILE | uvmsim import FORMAT -`";
		view->end = 0;
	}
	view->is_begun = true;
	return view->end != 0;
}

/* -- the stream over it -- */

static size_t take_bytes(struct import_view *view, char *to, size_t room)
{
	size_t length = view->end - view->at < room ? view->end - view->at : room;

	memcpy(to, view->plain + view->at, length);
	view->at += length;
	return length;
}

static char as_text(unsigned char byte)
{
	bool is_kept = (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\0';

	return is_kept ? (char)byte : '?';
}

static size_t take_text(struct import_view *view, char *to, size_t room)
{
	size_t done = 0;

	while (view->at < view->end && done < room) {
		unsigned char byte = view->plain[view->at];

		if (byte == ' ' || byte == '\t' || byte == '\r') {
			view->blanks++;
			view->at++;
			continue;
		}
		if (byte == '\n')
			view->blanks = 0;
		if (view->blanks > 0) {
			view->blanks--;
			to[done++] = ' ';
			continue;
		}
		to[done++] = as_text(byte);
		view->at++;
	}
	return done;
}

static ssize_t read_view(void *cookie, char *to, size_t room)
{
	struct import_view *view = cookie;
	size_t done = 0;

	while (done < room && (view->at < view->end || refill(view)))
		done += view->is_text ? take_text(view, to + done, room - done)
				      : take_bytes(view, to + done, room - done);
	if (done > 0 || !view->problem)
		return (ssize_t)done;
	errno = EIO;
	return -1;
}

struct import_view *import_view_open(FILE *raw, bool is_text)
{
	static const cookie_io_functions_t functions = {.read = read_view};
	struct import_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->input = input_open(raw);
	view->is_text = is_text;
	view->file = view->input ? fopencookie(view, "r", functions) : NULL;
	if (view->file)
		return view;
	input_close(view->input);
	free(view);
	return NULL;
}

FILE *import_view_file(struct import_view *view)
{
	return view->file;
}

const char *import_view_problem(const struct import_view *view)
{
	return view->problem;
}

void import_view_close(struct import_view *view)
{
	if (!view)
		return;
	fclose(view->file);
	input_close(view->input);
	free(view);
}

/* -- lines -- */

bool import_text_open(struct import_text *text, FILE *raw, const char *name, char error[SOURCE_ERROR_MAX])
{
	text->name = name;
	text->error = error;
	text->view = import_view_open(raw, true);
	if (!text->view) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	line_reader_init(&text->lines, text->view->file);
	return true;
}

bool import_text_bad(struct import_text *text, const char *format, ...)
{
	char cause[SOURCE_ERROR_MAX / 2 - 32];
	uint64_t line = text->lines.number;
	va_list list;

	va_start(list, format);
	vsnprintf(cause, sizeof(cause), format, list);
	va_end(list);
	snprintf(text->error, SOURCE_ERROR_MAX, "%.250s:%llu: %s", text->name,
		 (unsigned long long)(line == 0 ? 1 : line), cause);
	return false;
}

enum line_status import_text_next(struct import_text *text)
{
	enum line_status status = line_read(&text->lines);
	const char *problem = text->view->problem;

	if (status == LINE_BAD)
		import_text_bad(text, "%s", problem ? problem : text->lines.error);
	return status;
}

void import_text_close(struct import_text *text)
{
	import_view_close(text->view);
	text->view = NULL;
}

/* -- fields -- */

/* Cuts the field up to the next comma off *rest, in place; NULL when there is no further field. */
static char *import_field(char **rest)
{
	char *field = *rest, *comma;

	if (!field)
		return NULL;
	comma = strchr(field, ',');
	*rest = comma ? comma + 1 : NULL;
	if (comma)
		*comma = '\0';
	return field;
}

size_t import_fields(char *line, char **field, size_t max)
{
	size_t count = 0;

	while (count < max && (field[count] = import_field(&line)) != NULL)
		count++;
	return line ? max + 1 : count;
}

bool import_decimal(const char *text, uint64_t *number)
{
	return number_parse(text, strlen(text), number);
}

bool import_hex(const char *text, uint64_t *number)
{
	return number_hex(text, strlen(text), number) == NUMBER_OK;
}
