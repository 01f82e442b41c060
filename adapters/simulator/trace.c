/* The reader of access traces. Bytes come from the file, through zstd if the first four say so, into one
 * buffer; lines are cut out of it where they stand, so that memory does not depend on the length of the trace
 * or of its longest line. The ranges announced so far are kept in a sorted array; an access usually hits the
 * same range as the one before, else the array is searched by halves. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "input.h"
#include "number.h"
#include "trace_row.h"
#include "trace_write.h"

#define LINE_MAX_BYTES 4096u
#define BUFFER_BYTES   (16u * LINE_MAX_BYTES)
#define AGENT_MAX      ((1u << 20) - 1u)
#define RANGES_MAX     65536u
#define PAGE_MASK      ((uint64_t)4095)
#define QUOTE_MAX      40

/* Addresses first..last, both included: the last may be the highest of all. */
struct extent {
	uint64_t first, last;
	bool is_rest; /* of a range of which a part was freed */
};

struct trace {
	struct source source; /* first: the two are the same pointer to callers */
	FILE *in;
	struct input *input; /* the bytes of `in` */
	char *name;
	bool is_over; /* END or BAD was returned and will be again */
	bool is_bad;
	uint64_t line; /* number of the line in hand */

	char buffer[BUFFER_BYTES]; /* bytes at..end are not yet consumed */
	size_t at, end;
	bool is_exhausted; /* the buffer gets no more bytes */

	uint64_t time_ns; /* of the last row that had one */
	struct extent *range;
	size_t ranges, ranges_room;
	size_t last_hit;
};

/* -- errors -- */

/* Fills error with `NAME:LINE: text`, or `NAME: text` for line 0. Of an overlong name the end is shown. */
static void describe(char error[SOURCE_ERROR_MAX], const char *name, uint64_t line, const char *format,
		     va_list args)
{
	const size_t shown = SOURCE_ERROR_MAX / 2;
	size_t length = strlen(name);
	char text[SOURCE_ERROR_MAX / 2 - 32], where[32] = "";

	vsnprintf(text, sizeof(text), format, args);
	if (line != 0)
		snprintf(where, sizeof(where), "%" PRIu64 ":", line);
	snprintf(error, SOURCE_ERROR_MAX, "%s:%s %s", length > shown ? name + (length - shown) : name, where,
		 text);
}

__attribute__((format(printf, 3, 4))) static bool fail_at(struct trace *trace, uint64_t line,
							  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	describe(trace->source.error, trace->name, line, format, args);
	va_end(args);
	trace->is_over = trace->is_bad = true;
	return false;
}
#define fail(trace, ...) fail_at(trace, (trace)->line, __VA_ARGS__)

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

/* Makes room and reads once. False: the end, or a failure. */
static bool refill(struct trace *trace)
{
	size_t got, room;

	memmove(trace->buffer, trace->buffer + trace->at, trace->end - trace->at);
	trace->end -= trace->at;
	trace->at = 0;
	if (trace->is_exhausted)
		return false;
	room = sizeof(trace->buffer) - trace->end;
	got = input_read(trace->input, trace->buffer + trace->end, room);
	trace->source.done = input_bytes(trace->input);
	if (got == 0 && input_problem(trace->input)) /* compressed data is bad behind the line in hand */
		fail_at(trace, trace->line + input_is_packed(trace->input), "%s",
			input_problem(trace->input));
	trace->end += got;
	trace->is_exhausted = got == 0;
	return got != 0;
}

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
		if (!refill(trace) && (trace->is_bad || trace->end == 0))
			return false;
	}
	trace->source.line = ++trace->line;
	if (*length > LINE_MAX_BYTES)
		return fail(trace, "line longer than %u bytes", LINE_MAX_BYTES);
	if (memchr(*line, '\0', *length) != NULL)
		return fail(trace, "NUL byte");
	if (!is_whole && trace->line > 1) /* a wrong first line has an error of its own */
		return fail(trace, "the trace ends within this line: its line feed is missing");
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
		return fail(trace, "%s is missing", what);
	return fail(trace, "%s `%s` %s%s", what, quote(field.at, (size_t)(field.end - field.at)).text,
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
		return fail(trace, "name of the %s is missing", what);
	if (length >= room)
		return fail(trace, "name of the %s is longer than %zu bytes", what, room - 1);
	for (const char *p = field.at; p < field.end; p++)
		if (*p < ' ' || *p > '~' || *p == ',')
			return fail(trace,
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
	return fail(trace, "too many fields: `%s`", quote(line.at, (size_t)(line.end - line.at)).text);
}

/* -- ranges -- */

/* Index of the first range that ends at or after the address. */
static size_t search_range(const struct trace *trace, uint64_t address)
{
	size_t low = 0, high = trace->ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->range[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_inside(const struct extent *range, uint64_t address)
{
	return address >= range->first && address <= range->last;
}

static bool is_declared(struct trace *trace, uint64_t address)
{
	size_t at;

	if (trace->last_hit < trace->ranges && is_inside(&trace->range[trace->last_hit], address))
		return true;
	at = search_range(trace, address);
	if (at == trace->ranges || !is_inside(&trace->range[at], address))
		return false;
	trace->last_hit = at;
	return true;
}

static bool insert_at(struct trace *trace, size_t at, struct extent range)
{
	if (trace->ranges == RANGES_MAX)
		return fail(trace, "more than %u ranges", RANGES_MAX);
	if (!ARRAY_RESERVE(trace->range, trace->ranges_room, trace->ranges + 1))
		return fail(trace, "out of memory");
	ARRAY_OPEN(trace->range, trace->ranges, at);
	trace->range[at] = range;
	trace->ranges++;
	return true;
}

static bool insert_range(struct trace *trace, struct extent range)
{
	size_t at = search_range(trace, range.first);

	if (at < trace->ranges && trace->range[at].first <= range.last)
		return fail(trace, "range overlaps the range at 0x%" PRIx64, trace->range[at].first);
	return insert_at(trace, at, range);
}

static void remove_ranges(struct trace *trace, size_t at, size_t count)
{
	trace->ranges -= count;
	memmove(trace->range + at, trace->range + at + count, (trace->ranges - at) * sizeof(*trace->range));
}

/* Whole pages that are all in ranges are so no longer. What is left of a range is one range on each side. */
static bool cut_out(struct trace *trace, uint64_t first, uint64_t last)
{
	size_t at = search_range(trace, first), end = at;
	struct extent *range = &trace->range[at];

	if (range->first < first) {
		struct extent above = {last + 1, range->last, true};

		if (range->last > last && !insert_at(trace, at + 1, above))
			return false;
		range = &trace->range[at]; /* the array may have moved */
		range->last = first - 1;
		range->is_rest = true;
		end = ++at;
	}
	while (end < trace->ranges && trace->range[end].last <= last)
		end++;
	remove_ranges(trace, at, end - at);
	range = &trace->range[at];
	if (at < trace->ranges && range->first <= last)
		*range = (struct extent){last + 1, range->last, true};
	return true;
}

/* -- rows -- */

/* `fresh`, behind the name. */
static bool parse_state(struct trace *trace, struct text line, struct source_range *range)
{
	struct text field = take_field(&line);

	range->is_fresh = is_word(field, "fresh");
	if (range->is_fresh)
		return no_more(trace, line, field);
	return fail(trace, "`%s` after the name of the range is not `fresh`",
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
	if ((range->base & PAGE_MASK) != 0)
		return fail(trace, "base 0x%" PRIx64 " is not a multiple of 4096", range->base);
	if (range->bytes == 0)
		return fail(trace, "range of 0 bytes");
	if (range->bytes - 1 > UINT64_MAX - range->base)
		return fail(trace, "range of %" PRIu64 " bytes reaches beyond the address space",
			    range->bytes);
	row->kind = SOURCE_RANGE;
	return insert_range(trace, (struct extent){range->base, range->base + (range->bytes - 1), false});
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
	return fail(trace, "access `%s` is not one of r, w, a, p",
		    quote(field.at, (size_t)(field.end - field.at)).text);
}

/* time_ns,agent,access,address; the time may be empty */
static bool parse_access_row(struct trace *trace, struct text line, struct source_row *row)
{
	struct text time = take_field(&line), field;
	uint64_t agent = 0;

	row->kind = SOURCE_ACCESS;
	row->time_ns = 0;
	row->has_time = time.at != time.end;
	if (row->has_time && !parse_decimal(trace, time, "time", &row->time_ns))
		return false;
	if (row->has_time && row->time_ns < trace->time_ns)
		return fail(trace, "time goes backwards, from %" PRIu64 " to %" PRIu64, trace->time_ns,
			    row->time_ns);
	field = take_field(&line);
	row->is_cpu = is_word(field, "cpu");
	if (!row->is_cpu && !parse_decimal(trace, field, "agent", &agent))
		return false;
	if (agent > AGENT_MAX)
		return fail(trace, "agent %" PRIu64 " is above %u", agent, AGENT_MAX);
	row->agent = (uint32_t)agent;
	if (!parse_access(trace, take_field(&line), &row->access))
		return false;
	field = take_field(&line);
	if (!parse_hex(trace, field, "address", &row->address) || !no_more(trace, line, field))
		return false;
	if (!is_declared(trace, row->address))
		return fail(trace, "address 0x%" PRIx64 " is in no range declared so far", row->address);
	if (row->has_time)
		trace->time_ns = row->time_ns;
	return true;
}

/* Are all pages of these bytes in ranges? */
static bool is_covered(const struct trace *trace, uint64_t address, uint64_t bytes)
{
	uint64_t last = address + (bytes - 1);

	for (size_t at = search_range(trace, address); at < trace->ranges; at++) {
		const struct extent *range = &trace->range[at];

		if (range->first > address)
			return false;
		if ((range->last | PAGE_MASK) >= last)
			return true;
		address = (range->last | PAGE_MASK) + 1;
	}
	return false;
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
	if ((row->address & PAGE_MASK) != 0)
		return fail(trace, "address 0x%" PRIx64 " is not a multiple of 4096", row->address);
	if (row->bytes == 0)
		return fail(trace, "size of 0 bytes");
	if (row->bytes - 1 > UINT64_MAX - row->address || !is_covered(trace, row->address, row->bytes))
		return fail(trace,
			    "%" PRIu64 " bytes from 0x%" PRIx64 " on are not all in ranges declared so far",
			    row->bytes, row->address);
	return true;
}

static bool bad_processor(struct trace *trace, struct text field, const char *accepted)
{
	return fail(trace, "processor `%s` is not %s", quote(field.at, (size_t)(field.end - field.at)).text,
		    accepted);
}

/* What is left of a range is freed as a part of it. */
static bool free_whole(struct trace *trace, struct source_row *row)
{
	size_t at = search_range(trace, row->address);
	uint64_t last;

	if (at == trace->ranges || trace->range[at].first != row->address)
		return fail(trace, "no range begins at 0x%" PRIx64, row->address);
	row->is_part = trace->range[at].is_rest;
	last = trace->range[at].last;
	if (row->is_part)
		last |= PAGE_MASK;
	row->bytes = last - row->address + 1;
	remove_ranges(trace, at, 1);
	return true;
}

/* free,BASE[,BYTES] */
static bool parse_free(struct trace *trace, struct text line, struct source_row *row)
{
	struct text base = line, field = take_field(&base);

	row->kind = SOURCE_FREE;
	if (field.end == line.end)
		return parse_hex(trace, field, "base", &row->address) && free_whole(trace, row);
	row->is_part = true;
	if (!parse_part(trace, line, row))
		return false;
	if ((row->bytes & PAGE_MASK) != 0)
		return fail(trace, "size %" PRIu64 " is not a multiple of 4096", row->bytes);
	return cut_out(trace, row->address, row->address + (row->bytes - 1));
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
	return fail(trace,
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
		return fail(trace, "empty line");
	return fail(trace, "unknown row `%s`", quote(line.at, (size_t)(line.end - line.at)).text);
}

/* -- source -- */

/* -- the head -- */

/* Behind `start`, which the text contains; NULL: it does not. */
static const char *behind(struct text text, const char *start)
{
	size_t length = strlen(start);
	const char *found = memmem(text.at, (size_t)(text.end - text.at), start, length);

	return found ? found + length : NULL;
}

/* `# uvmsim run --memory N --policy '...'`, as recorders write it, and `# import FORMAT, faults only`. */
static void read_comment(struct source *source, struct text line)
{
	static const char command[] = "# uvmsim run --memory ", import[] = "# import ";
	const char *memory = behind(line, command), *policy = behind(line, " --policy '"), *end;

	if (behind(line, import) == line.at + sizeof(import) - 1)
		source->has_faults_only =
			source->has_faults_only || behind(line, ", faults only") == line.end;
	if (memory != line.at + sizeof(command) - 1)
		return;
	end = memchr(memory, ' ', (size_t)(line.end - memory));
	end = end ? end : line.end;
	(void)number_parse(memory, (size_t)(end - memory), &source->recorded_bytes);
	end = policy ? memchr(policy, '\'', (size_t)(line.end - policy)) : NULL;
	if (end && (size_t)(end - policy) < sizeof(source->recorded_policy))
		snprintf(source->recorded_policy, sizeof(source->recorded_policy), "%.*s",
			 (int)(end - policy), policy);
}

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
			read_comment(&trace->source, (struct text){line, line + length});
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

	input_close(trace->input);
	if (trace->in != stdin)
		fclose(trace->in);
	free(trace->range);
	free(trace->name);
	free(trace);
}

static bool read_first_line(struct trace *trace)
{
	static const char expected[] = "uvmp-trace 1";
	struct text line;
	size_t length = 0;

	if (!next_line(trace, &line.at, &length)) {
		if (trace->is_bad)
			return false;
		trace->line = 1;
		return fail(trace, "is empty, the first line must be `%s`", expected);
	}
	line.end = line.at + length;
	if (!is_word(line, expected))
		return fail(trace, "the first line must be `%s`, not `%s`", expected,
			    quote(line.at, length).text);
	return true;
}

__attribute__((format(printf, 3, 4))) static void fail_open(char error[SOURCE_ERROR_MAX], const char *name,
							    const char *format, ...)
{
	va_list args;

	va_start(args, format);
	describe(error, name, 0, format, args);
	va_end(args);
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
		fail_open(error, name, "out of memory");
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

struct source *trace_open(const char *path, char error[SOURCE_ERROR_MAX])
{
	FILE *in;

	if (strcmp(path, "-") == 0)
		return trace_open_stream(stdin, "-", error);
	in = fopen(path, "rb");
	if (in == NULL) {
		fail_open(error, path, "%s", strerror(errno));
		return NULL;
	}
	return trace_open_stream(in, path, error);
}
