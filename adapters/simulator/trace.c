/* The reader of access traces: the text form. Bytes come from the file, through zstd if the first four say so, into one
 * buffer; lines are cut out of it where they stand, so that memory does not depend on the length of the trace
 * or of its longest line. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "number.h"
#include "trace_internal.h"

#define LINE_MAX_BYTES 4096u
#define QUOTE_MAX      40

/* A piece of the input as it may stand in a message: cut, and without control characters. */
struct quote {
	char text[QUOTE_MAX + 4];
};

static struct quote quote(const char *from, size_t length)
{
	struct quote q;
	size_t shown = length < QUOTE_MAX ? length : QUOTE_MAX;

	for (size_t i = 0; i < shown; i++)
		q.text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	strcpy(q.text + shown, length > shown ? "..." : "");
	return q;
}

/* -- bytes -- */

static const char carriage_return[] = "carriage return; lines end with one line feed";

/* Cuts out the next line, without its newline. False at the end of the trace, or on failure (is_bad). */
static bool next_line(struct trace *trace, const char **line, size_t *length)
{
	size_t searched = 0;
	bool is_whole = true;

	for (;;) {
		const char *start = trace->buffer + trace->at;
		size_t have = trace->end - trace->at;
		const char *newline = memchr(start + searched, '\n', have - searched);

		if (newline != NULL || (trace->is_exhausted && have > 0)) {
			*line = start;
			*length = newline != NULL ? (size_t)(newline - start) : have;
			is_whole = newline != NULL;
			trace->at += *length + is_whole;
			break;
		}
		if (have > LINE_MAX_BYTES) {
			*length = have;
			break;
		}
		searched = have;
		if (!trace_refill(trace) && (trace->is_bad || trace->end == 0))
			return false;
	}
	trace->source.line = ++trace->line;
	if (*length > LINE_MAX_BYTES)
		return trace_fail(trace, "line longer than %u bytes", LINE_MAX_BYTES);
	if (memchr(*line, '\0', *length) != NULL)
		return trace_fail(trace, "NUL byte");
	if (trace->line > 1 && *length > 0 && (*line)[*length - 1] == '\r')
		return trace_fail(trace, "%s", carriage_return);
	if (!is_whole && trace->line > 1) /* a wrong first line has an error of its own */
		return trace_fail(trace, "the trace ends within this line: its line feed is missing");
	return true;
}

/* -- fields -- */

/* The rest of a line. */
struct text {
	const char *at, *end;
};

/* Takes the field up to the next comma, and the comma. */
static struct text take_field(struct text *line)
{
	const char *comma = memchr(line->at, ',', (size_t)(line->end - line->at));
	struct text field = {line->at, comma != NULL ? comma : line->end};

	line->at = comma != NULL ? comma + 1 : line->end;
	return field;
}

static bool is_word(struct text field, const char *word)
{
	size_t length = (size_t)(field.end - field.at);

	return length == strlen(word) && memcmp(field.at, word, length) == 0;
}

static bool check_number(struct trace *trace, struct text field, const char *what, const char *kind,
			 enum number_status status)
{
	if (status == NUMBER_OK)
		return true;
	if (field.at == field.end)
		return trace_fail(trace, "%s is missing", what);
	return trace_fail(trace, "%s `%s` %s%s", what, quote(field.at, (size_t)(field.end - field.at)).text,
			  status == NUMBER_BAD ? "is not a " : "does not fit 64 bits",
			  status == NUMBER_BAD ? kind : "");
}

static bool parse_decimal(struct trace *trace, struct text field, const char *what, uint64_t *value)
{
	return check_number(trace, field, what, "decimal number",
			    number_decimal(field.at, (size_t)(field.end - field.at), value));
}

/* With or without 0x. */
static bool parse_hex(struct trace *trace, struct text field, const char *what, uint64_t *value)
{
	return check_number(trace, field, what, "hexadecimal number",
			    number_hex(field.at, (size_t)(field.end - field.at), value));
}

static bool parse_name(struct trace *trace, struct text field, const char *what, char *to, size_t room)
{
	size_t length = (size_t)(field.end - field.at);

	if (length == 0)
		return trace_fail(trace, "name of the %s is missing", what);
	if (length >= room)
		return trace_fail(trace, "name of the %s is longer than %zu bytes", what, room - 1);
	for (const char *p = field.at; p < field.end; p++)
		if (*p < ' ' || *p > '~' || *p == ',')
			return trace_fail(
				trace,
				"name of the %s holds `%s`, which is not a printable ASCII character or "
				"is a comma",
				what, quote(p, 1).text);
	memcpy(to, field.at, length);
	to[length] = '\0';
	return true;
}

static bool no_more(struct trace *trace, struct text line, struct text last)
{
	if (last.end == line.end && line.at == line.end)
		return true;
	return trace_fail(trace, "too many fields: `%s`", quote(line.at, (size_t)(line.end - line.at)).text);
}

/* -- rows -- */

/* `fresh`, behind the name. */
static bool parse_state(struct trace *trace, struct text line, struct source_range *range)
{
	struct text field = take_field(&line);

	range->is_fresh = is_word(field, "fresh");
	if (range->is_fresh)
		return no_more(trace, line, field);
	return trace_fail(trace, "`%s` after the name of the range is not `fresh`",
			  quote(field.at, (size_t)(field.end - field.at)).text);
}

/* range,BASE,BYTES[,NAME[,fresh]]; the name may be empty before `fresh` */
static bool parse_range(struct trace *trace, struct text line, struct source_row *row)
{
	struct source_range *range = &row->range;
	struct text bytes, name;

	if (!parse_hex(trace, take_field(&line), "base", &range->base))
		return false;
	bytes = take_field(&line);
	if (!parse_decimal(trace, bytes, "size of the range", &range->bytes))
		return false;
	if (bytes.end != line.end) {
		name = take_field(&line);
		if ((name.at != name.end || name.end == line.end) &&
		    !parse_name(trace, name, "range", range->name, sizeof(range->name)))
			return false;
		if (name.end != line.end && !parse_state(trace, line, range))
			return false;
	}
	row->kind = SOURCE_RANGE;
	return trace_take_range(trace, range);
}

static bool parse_access(struct trace *trace, struct text field, enum uvmp_access *access)
{
	if (field.end - field.at == 1) {
		switch (*field.at) {
		case 'r':
			*access = UVMP_ACCESS_READ;
			return true;
		case 'w':
			*access = UVMP_ACCESS_WRITE;
			return true;
		case 'a':
			*access = UVMP_ACCESS_ATOMIC_STRONG;
			return true;
		case 'p':
			*access = UVMP_ACCESS_PREFETCH;
			return true;
		}
	}
	return trace_fail(trace, "access `%s` is not one of r, w, a, p",
			  quote(field.at, (size_t)(field.end - field.at)).text);
}

/* The end of an access, from its address on: ADDRESS, in version 2 also ADDRESS,BYTES, of which the bytes may be empty. */
static bool parse_target(struct trace *trace, struct text line, struct source_row *row)
{
	struct text field = take_field(&line);
	uint64_t bytes = 0;

	row->access_bytes = 0;
	if (!parse_hex(trace, field, "address", &row->address))
		return false;
	if (trace->source.has_bytes && field.end != line.end) {
		field = take_field(&line);
		if (field.at != field.end) {
			if (!parse_decimal(trace, field, "size of the access", &bytes) ||
			    !trace_check_bytes(trace, bytes))
				return false;
			if (bytes == 0)
				return trace_fail(
					trace, "an access of 0 bytes: leave them out if they are not known");
			row->access_bytes = (uint16_t)bytes;
		}
	}
	return no_more(trace, line, field) && trace_check_address(trace, row->address);
}

/* time_ns,agent,access,address[,bytes]; the time may be empty */
static bool parse_access_row(struct trace *trace, struct text line, struct source_row *row)
{
	struct text time = take_field(&line), field;
	uint64_t agent = 0;

	row->kind = SOURCE_ACCESS;
	row->time_ns = 0;
	row->has_time = time.at != time.end;
	if (row->has_time &&
	    (!parse_decimal(trace, time, "time", &row->time_ns) || !trace_check_time(trace, row->time_ns)))
		return false;
	if (row->has_time && row->time_ns < trace->time_ns)
		return trace_fail(trace, "time goes backwards, from %" PRIu64 " to %" PRIu64, trace->time_ns,
				  row->time_ns);
	field = take_field(&line);
	row->is_cpu = is_word(field, "cpu");
	if (!row->is_cpu && !parse_decimal(trace, field, "agent", &agent))
		return false;
	if (agent > TRACE_AGENT_MAX)
		return trace_fail(trace, "agent %" PRIu64 " is above %u", agent, TRACE_AGENT_MAX);
	row->agent = (uint32_t)agent;
	if (!parse_access(trace, take_field(&line), &row->access))
		return false;
	if (!parse_target(trace, line, row))
		return false;
	if (row->has_time)
		trace->time_ns = row->time_ns;
	return true;
}

/* ADDRESS,BYTES, the end of a line about part of the ranges */
static bool parse_part(struct trace *trace, struct text line, struct source_row *row)
{
	struct text field;

	if (!parse_hex(trace, take_field(&line), "address", &row->address))
		return false;
	field = take_field(&line);
	if (!parse_decimal(trace, field, "size", &row->bytes) || !no_more(trace, line, field))
		return false;
	return trace_check_part(trace, row);
}

static bool bad_processor(struct trace *trace, struct text field, const char *accepted)
{
	return trace_fail(trace, "processor `%s` is not %s",
			  quote(field.at, (size_t)(field.end - field.at)).text, accepted);
}

/* free,BASE[,BYTES] */
static bool parse_free(struct trace *trace, struct text line, struct source_row *row)
{
	struct text base = line, field = take_field(&base);

	row->kind = SOURCE_FREE;
	if (field.end == line.end)
		return parse_hex(trace, field, "base", &row->address) && trace_free_whole(trace, row);
	row->is_part = true;
	return parse_part(trace, line, row) && trace_free_part(trace, row);
}

/* prefetch,gpu|cpu,ADDRESS,BYTES */
static bool parse_prefetch(struct trace *trace, struct text line, struct source_row *row)
{
	struct text processor = take_field(&line);

	row->kind = SOURCE_PREFETCH;
	row->to_gpu = is_word(processor, "gpu");
	if (!row->to_gpu && !is_word(processor, "cpu"))
		return bad_processor(trace, processor, "gpu or cpu");
	return parse_part(trace, line, row);
}

static bool parse_advice(struct trace *trace, struct text field, enum uvmp_advice *advice)
{
	for (unsigned i = 0; i < TRACE_ROW_ADVICES; i++) {
		if (is_word(field, trace_row_advice(i))) {
			*advice = (enum uvmp_advice)i;
			return true;
		}
	}
	return trace_fail(
		trace,
		"advice `%s` is not one of preferred, accessed-by, not-accessed-by, read-duplicate, "
		"no-duplicate, unset-duplicate, discard",
		quote(field.at, (size_t)(field.end - field.at)).text);
}

/* advise,WHAT,gpu|cpu|none|,ADDRESS,BYTES; which processors there are depends on the advice */
static bool parse_advise(struct trace *trace, struct text line, struct source_row *row)
{
	struct text processor;

	row->kind = SOURCE_ADVISE;
	if (!parse_advice(trace, take_field(&line), &row->advice))
		return false;
	processor = take_field(&line);
	row->to_gpu = is_word(processor, "gpu");
	row->to_none = row->advice == UVMP_ADVISE_PREFERRED && is_word(processor, "none");
	if (row->advice > UVMP_ADVISE_NOT_ACCESSED_BY) {
		if (processor.at != processor.end)
			return bad_processor(trace, processor, "empty, which it is for this advice");
	} else if (!row->to_gpu && !row->to_none && !is_word(processor, "cpu")) {
		return bad_processor(trace, processor,
				     row->advice == UVMP_ADVISE_PREFERRED ? "gpu, cpu or none"
									  : "gpu or cpu");
	}
	return parse_part(trace, line, row);
}

static bool parse_row(struct trace *trace, struct text line, struct source_row *row)
{
	struct text rest = line, word;

	if (line.at < line.end && ((*line.at >= '0' && *line.at <= '9') || *line.at == ','))
		return parse_access_row(trace, line, row);
	*row = (struct source_row){0};
	word = take_field(&rest);
	if (is_word(word, "range"))
		return parse_range(trace, rest, row);
	if (is_word(word, "kernel")) {
		row->kind = SOURCE_KERNEL;
		return parse_name(trace, rest, "kernel", row->name, sizeof(row->name));
	}
	if (is_word(word, "prefetch"))
		return parse_prefetch(trace, rest, row);
	if (is_word(word, "advise"))
		return parse_advise(trace, rest, row);
	if (is_word(word, "free"))
		return parse_free(trace, rest, row);
	if (is_word(word, "sync") || is_word(word, "batch")) {
		row->kind = is_word(word, "sync") ? SOURCE_SYNC : SOURCE_BATCH;
		return no_more(trace, rest, word);
	}
	if (line.at == line.end)
		return trace_fail(trace, "empty line");
	return trace_fail(trace, "unknown row `%s`", quote(line.at, (size_t)(line.end - line.at)).text);
}

/* -- source -- */

static void trace_next(struct source *source, struct source_row *row)
{
	struct trace *trace = (struct trace *)source;
	size_t length = 0;
	const char *line;

	while (!trace->is_over) {
		if (!next_line(trace, &line, &length)) {
			trace->is_over = true;
			break;
		}
		if (length > 0 && line[0] == '#') {
			trace_read_comment(&trace->source, line, line + length);
			continue;
		}
		if (parse_row(trace, (struct text){line, line + length}, row))
			return;
	}
	*row = (struct source_row){.kind = trace->is_bad ? SOURCE_BAD : SOURCE_END};
}

static void trace_close(struct source *source)
{
	struct trace *trace = (struct trace *)source;

	trace_end_binary(trace);
	input_close(trace->input);
	if (trace->in != stdin)
		fclose(trace->in);
	free(trace->range);
	free(trace->name);
	free(trace);
}

/* Reads until the buffer has `bytes`, or the input ends. */
static bool has_bytes(struct trace *trace, size_t bytes)
{
	while (trace->end - trace->at < bytes) {
		if (!trace_refill(trace))
			return false;
	}
	return true;
}

/* The first line, or the header of the binary form. */
static bool read_first_line(struct trace *trace)
{
	static const char expected[] = "uvmp-trace 1", sized[] = "uvmp-trace 2";
	struct text line;
	size_t length = 0;

	if (has_bytes(trace, TRACE_BINARY_UNIT) && trace_is_binary(trace->buffer))
		return trace_begin_binary(trace);
	if (trace->is_bad)
		return false;

	if (!next_line(trace, &line.at, &length)) {
		if (trace->is_bad)
			return false;
		trace->line = 1;
		return trace_fail(trace, "is empty, the first line must be `%s` or `%s`", expected, sized);
	}
	line.end = line.at + length;
	if (length > 0 && line.end[-1] == '\r') {
		struct text before = {line.at, line.end - 1};

		if (is_word(before, sized) || is_word(before, expected))
			return trace_fail(trace, "%s", carriage_return);
	}
	trace->source.has_bytes = is_word(line, sized);
	if (!trace->source.has_bytes && !is_word(line, expected))
		return trace_fail(trace, "the first line must be `%s` or `%s`, not `%s`", expected, sized,
				  quote(line.at, length).text);
	return true;
}

/* 0: not known, or nothing. */
static uint64_t bytes_left(FILE *in)
{
	off_t at = ftello(in);
	struct stat info;

	if (at < 0 || fileno(in) < 0 || fstat(fileno(in), &info) != 0 || !S_ISREG(info.st_mode))
		return 0;
	return info.st_size > at ? (uint64_t)(info.st_size - at) : 0;
}

struct source *trace_open_stream(FILE *in, const char *name, char error[SOURCE_ERROR_MAX])
{
	struct trace *trace = calloc(1, sizeof(*trace));
	char *copy = strdup(name);

	if (trace != NULL)
		trace->input = input_open(in);
	if (trace == NULL || copy == NULL || trace->input == NULL) {
		trace_describe(error, name, "out of memory");
		input_close(trace != NULL ? trace->input : NULL);
		free(trace);
		free(copy);
		if (in != stdin)
			fclose(in);
		return NULL;
	}
	trace->in = in;
	trace->name = copy;
	trace->source.name = copy;
	trace->source.next = trace_next;
	trace->source.close = trace_close;
	trace->source.total = bytes_left(in);
	if (!read_first_line(trace)) {
		memcpy(error, trace->source.error, SOURCE_ERROR_MAX);
		trace_close(&trace->source);
		return NULL;
	}
	return &trace->source;
}

/* Does the file begin as a trace of either form does? */
static bool is_trace(FILE *in)
{
	struct input *input = input_open(in);
	char first[TRACE_BINARY_UNIT] = "";
	size_t length = 0, got = 1;

	while (input && got != 0 && length < sizeof(first)) {
		got = input_read(input, first + length, sizeof(first) - length);
		length += got;
	}
	input_close(input);
	rewind(in);
	return trace_is_binary(first) || memcmp(first, TRACE_ROW_FIRST, sizeof(TRACE_ROW_FIRST) - 1u) == 0 ||
	       memcmp(first, TRACE_ROW_FIRST_SIZED, sizeof(TRACE_ROW_FIRST_SIZED) - 1u) == 0;
}

static FILE *open_trace_file(const char *path, char error[SOURCE_ERROR_MAX])
{
	FILE *in = fopen(path, "rb");

	if (in == NULL)
		trace_describe(error, path, strerror(errno));
	return in;
}

struct source *trace_open(const char *path, char error[SOURCE_ERROR_MAX])
{
	FILE *in;

	if (strcmp(path, "-") == 0)
		return trace_open_stream(stdin, "-", error);
	in = open_trace_file(path, error);
	if (in == NULL)
		return NULL;
	if (trace_is_requests(path) && !is_trace(in))
		return trace_open_requests(in, path, error);
	return trace_open_stream(in, path, error);
}

bool trace_check(const char *path, char error[SOURCE_ERROR_MAX])
{
	FILE *in = open_trace_file(path, error);
	struct source *source;

	if (in == NULL)
		return false;
	if (trace_is_requests(path) && !is_trace(in)) { /* has no first line; opening it reads all of it */
		fclose(in);
		return true;
	}
	source = trace_open_stream(in, path, error);
	if (source != NULL)
		source->close(source);
	return source != NULL;
}
