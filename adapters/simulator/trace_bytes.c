/* What both forms of a trace share (trace_internal.h): errors, the bytes of the input, and comments. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "number.h"
#include "trace_internal.h"

#define PLACE_MAX 40

/* -- errors -- */

/* The place of a row: `LINE:`, ` byte OFFSET:`, or nothing for 0. */
static void describe_place(char where[PLACE_MAX], uint64_t line, bool is_binary)
{
	where[0] = '\0';
	if (line != 0)
		snprintf(where, PLACE_MAX, is_binary ? " byte %" PRIu64 ":" : "%" PRIu64 ":", line);
}

/* Fills error with `NAME:PLACE text`. Of an overlong name the end is shown. */
static void describe(char error[SOURCE_ERROR_MAX], const char *name, const char *where, const char *format,
		     va_list args)
{
	const size_t shown = SOURCE_ERROR_MAX / 2;
	size_t length = strlen(name);
	char text[SOURCE_ERROR_MAX / 2 - PLACE_MAX];

	vsnprintf(text, sizeof(text), format, args);
	snprintf(error, SOURCE_ERROR_MAX, "%s:%s %s", length > shown ? name + (length - shown) : name, where,
		 text);
}

bool trace_fail_at(struct trace *trace, uint64_t place, const char *format, ...)
{
	char where[PLACE_MAX];
	va_list args;

	describe_place(where, place, trace->source.is_binary);
	va_start(args, format);
	describe(trace->source.error, trace->name, where, format, args);
	va_end(args);
	trace->is_over = trace->is_bad = true;
	return false;
}

bool source_fail(const struct source *source, const char *text, char error[SOURCE_ERROR_MAX])
{
	char where[PLACE_MAX];

	describe_place(where, source->line, source->is_binary);
	snprintf(error, SOURCE_ERROR_MAX, "%.200s:%s %.240s", source->name, where, text);
	return false;
}

void trace_describe(char error[SOURCE_ERROR_MAX], const char *name, const char *text)
{
	const size_t shown = SOURCE_ERROR_MAX / 2;
	size_t length = strlen(name);

	snprintf(error, SOURCE_ERROR_MAX, "%s: %.200s", length > shown ? name + (length - shown) : name,
		 text);
}

/* -- bytes -- */

/* Makes room and reads once. False: the end, or a failure. */
bool trace_refill(struct trace *trace)
{
	size_t got, room;

	memmove(trace->buffer, trace->buffer + trace->at, trace->end - trace->at);
	trace->end -= trace->at;
	trace->at = 0;
	if (trace->is_exhausted)
		return false;
	room = TRACE_BUFFER - trace->end;
	got = input_read(trace->input, trace->buffer + trace->end, room);
	trace->source.done = input_bytes(trace->input);
	if (got == 0 && input_problem(trace->input)) /* compressed data is bad behind the line in hand */
		trace_fail_at(trace, trace->line + input_is_packed(trace->input), "%s",
			      input_problem(trace->input));
	trace->end += got;
	trace->is_exhausted = got == 0;
	return got != 0;
}

/* -- comments -- */

/* Part of a line. */
struct piece {
	const char *at, *end;
};

/* Behind `start`, which the text contains; NULL: it does not. */
static const char *behind(struct piece text, const char *start)
{
	size_t length = strlen(start);
	const char *found = memmem(text.at, (size_t)(text.end - text.at), start, length);

	return found ? found + length : NULL;
}

/* `# uvmsim run --memory N --policy '...'`, as recorders write it, and `# import FORMAT, faults only`. */
void trace_read_comment(struct source *source, const char *at, const char *line_end)
{
	const struct piece line = {at, line_end};
	static const char command[] = "# uvmsim run --memory ", import[] = "# import ";
	const char *memory = behind(line, command), *policy = behind(line, " --policy '"), *end;

	if (source->comment)
		source->comment(source->comment_context, at, (size_t)(line_end - at));
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
