/* The input of importers. Other tools' text comes with the line ends of other systems, blanks at the ends of
 * lines and what programs print in between; a stream is laid over the file that decompresses it and irons
 * that out, so that the strict line reader can read the rest. What is not text (NUL) stays and is refused. */
#include "import/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "number.h"

#define BUFFER_BYTES 65536u
#define MAGIC_BYTES  4u

struct import_view {
	FILE *raw, *file;
	bool is_text;
	bool is_begun;
	size_t at, end; /* of plain */
	size_t blanks;  /* read but not handed out: they may end the line */
	char problem[120];
	unsigned char plain[BUFFER_BYTES];
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd; /* NULL: the input is not compressed */
	bool is_mid_frame, is_output_full;
	size_t packed_at, packed_end;
	unsigned char packed[BUFFER_BYTES];
#endif
};

/* -- bytes -- */

static bool fail(struct import_view *view, const char *what, const char *why)
{
	snprintf(view->problem, sizeof(view->problem), "%s%s", what, why);
	return false;
}

static size_t read_raw(struct import_view *view, unsigned char *to, size_t room)
{
	size_t got = fread(to, 1, room, view->raw);

	if (got == 0 && ferror(view->raw))
		fail(view, "cannot be read: ", strerror(errno));
	return got;
}

#ifdef HAVE_ZSTD
/* Decompresses into the buffer. False at the end of the input, or with a problem. */
static bool refill_zstd(struct import_view *view)
{
	ZSTD_outBuffer out = {view->plain, sizeof(view->plain), 0};

	while (out.pos == 0) {
		ZSTD_inBuffer in = {view->packed, view->packed_end, view->packed_at};
		size_t rest;

		if (in.pos == in.size && !view->is_output_full) {
			in.size = view->packed_end = read_raw(view, view->packed, sizeof(view->packed));
			in.pos = view->packed_at = 0;
			if (in.size == 0 && view->problem[0] == '\0' && view->is_mid_frame)
				return fail(view, "the compressed data ends in the middle", "");
			if (in.size == 0)
				return false;
		}
		rest = ZSTD_decompressStream(view->zstd, &out, &in);
		if (ZSTD_isError(rest))
			return fail(view, "bad compressed data: ", ZSTD_getErrorName(rest));
		view->packed_at = in.pos;
		view->is_mid_frame = rest != 0;
		view->is_output_full = out.pos == out.size && rest != 0;
	}
	view->end = out.pos;
	return true;
}

/* The bytes read so far belong to zstd. */
static bool start_zstd(struct import_view *view)
{
	view->zstd = ZSTD_createDStream();
	if (!view->zstd || ZSTD_isError(ZSTD_initDStream(view->zstd)))
		return fail(view, "out of memory", "");
	memcpy(view->packed, view->plain, view->end);
	view->packed_end = view->end;
	view->end = 0;
	return refill_zstd(view);
}
#endif

/* The first bytes say what the input is. */
static bool begin(struct import_view *view)
{
	static const unsigned char zstd[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

	view->is_begun = true;
	view->end = read_raw(view, view->plain, MAGIC_BYTES);
	if (view->end >= 2 && view->plain[0] == 0x1f && view->plain[1] == 0x8b)
		return fail(view, "is gzip-compressed; give it as `zcat FILE | uvmsim import FORMAT -`", "");
	if (view->end < MAGIC_BYTES || memcmp(view->plain, zstd, MAGIC_BYTES) != 0)
		return view->end != 0;
#ifdef HAVE_ZSTD
	return start_zstd(view);
#else
	return fail(view, "is zstd-compressed, and this program was built without zstd", "");
#endif
}

static bool refill(struct import_view *view)
{
	view->at = view->end = 0;
	if (view->problem[0] != '\0')
		return false;
	if (!view->is_begun)
		return begin(view);
#ifdef HAVE_ZSTD
	if (view->zstd)
		return refill_zstd(view);
#endif
	view->end = read_raw(view, view->plain, sizeof(view->plain));
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
	if (done > 0 || view->problem[0] == '\0')
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
	view->raw = raw;
	view->is_text = is_text;
	view->file = fopencookie(view, "r", functions);
	if (view->file)
		return view;
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
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(view->zstd);
#endif
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
		import_text_bad(text, "%s", problem[0] != '\0' ? problem : text->lines.error);
	return status;
}

void import_text_close(struct import_text *text)
{
	import_view_close(text->view);
	text->view = NULL;
}

/* -- fields -- */

char *import_field(char **rest)
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
