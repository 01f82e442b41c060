/* trace_internal.h: the reader of traces. trace.c opens a trace and reads the text form, trace_binary.c reads the binary
 * form; trace_bytes.c has the input and errors of both, trace_ranges.c knows the ranges that were declared so far. */
#ifndef UVMSIM_TRACE_INTERNAL_H
#define UVMSIM_TRACE_INTERNAL_H

#include <stdarg.h>
#include <stddef.h>

#include "input.h"
#include "source.h"
#include "trace_binary.h"

#define TRACE_BUFFER	65536u
#define TRACE_AGENT_MAX ((1u << 20) - 1u)

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
	uint64_t line; /* number of the line in hand; of the binary form: offset of the row in hand */

	char buffer[TRACE_BUFFER]; /* bytes at..end are not yet consumed */
	size_t at, end;
	bool is_exhausted; /* the buffer gets no more bytes */
	/* the binary form: */
	const char *from; /* the buffer, or the mapped file */
	uint64_t base;	  /* offset of from[0] in the decompressed trace */
	void *map;	  /* NULL: not mapped */
	size_t map_bytes;
	struct trace_binary sums;

	uint32_t ns_shift; /* of an access of the binary form, as its version has it */
	uint64_t time_ns;  /* of the last row that had one */
	struct extent *range;
	size_t ranges, ranges_room;
	size_t last_hit;
};

/* Fills the error of the source with the name of the trace, the place of the row in hand, and the text. The trace is over.
 * Always false. */
bool trace_fail_at(struct trace *trace, uint64_t place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define trace_fail(trace, ...) trace_fail_at(trace, (trace)->line, __VA_ARGS__)

/* Fills error with `NAME: text`. Of an overlong name the end is shown. */
void trace_describe(char error[SOURCE_ERROR_MAX], const char *name, const char *text);

/* Reads more bytes into the buffer, behind those that are not consumed. False: the end, or a failure. */
bool trace_refill(struct trace *trace);
/* A comment, from `#` on: what the head says of the recording. */
void trace_read_comment(struct source *source, const char *at, const char *end);

/* -- trace_binary.c -- */

/* Do these bytes, at least 8, begin a binary trace? */
bool trace_is_binary(const void *bytes);
/* The trace, of which the buffer has the beginning, becomes a binary one. False: a wrong header. */
bool trace_begin_binary(struct trace *trace);
void trace_end_binary(struct trace *trace);

/* -- trace_requests.c -- */

/* Does the name of the file say that it is a cache trace of libCacheSim? */
bool trace_is_requests(const char *path);
/* Opens such a trace; `in` is closed with the source, and at once on failure. NULL with `error`. */
struct source *trace_open_requests(FILE *in, const char *path, char error[SOURCE_ERROR_MAX]);

/* -- trace_ranges.c: each fills the error and returns false if the row is wrong -- */

/* Checks and declares a range. */
bool trace_take_range(struct trace *trace, const struct source_range *range);
/* Checks the address and size of a call: whole pages of declared ranges. */
bool trace_check_part(struct trace *trace, const struct source_row *row);
/* Frees these pages, which trace_check_part has accepted. */
bool trace_free_part(struct trace *trace, const struct source_row *row);
/* Frees the range that begins at row->address; fills row->bytes and row->is_part. The rest of a range is freed as a part of
 * it. */
bool trace_free_whole(struct trace *trace, struct source_row *row);
bool trace_search_address(struct trace *trace, uint64_t address);

/* Checks the bytes of an access. */
static inline bool trace_check_bytes(struct trace *trace, uint64_t bytes)
{
	return bytes <= TRACE_ROW_BYTES_MOST ||
	       trace_fail(trace, "an access of %llu bytes is larger than a page, %u bytes",
			  (unsigned long long)bytes, TRACE_ROW_BYTES_MOST);
}

/* Checks the time of an access. */
static inline bool trace_check_time(struct trace *trace, uint64_t ns)
{
	return ns <= TRACE_ROW_TIME_MOST || trace_fail(trace, "time %llu is above %llu ns", (unsigned long long)ns,
						       (unsigned long long)TRACE_ROW_TIME_MOST);
}

static inline bool trace_is_inside(const struct extent *range, uint64_t address)
{
	return address >= range->first && address <= range->last;
}

/* Checks the address of an access. */
static inline bool trace_check_address(struct trace *trace, uint64_t address)
{
	if (trace->last_hit < trace->ranges && trace_is_inside(&trace->range[trace->last_hit], address))
		return true;
	return trace_search_address(trace, address);
}

#endif
