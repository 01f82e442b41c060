/* trace_write.h: rows of a source in the project's trace format, text or binary, as trace.c reads it. Memory is one buffer,
 * however long the trace. */
#ifndef UVMSIM_TRACE_WRITE_H
#define UVMSIM_TRACE_WRITE_H

#include "source.h"

struct trace_writer;

/* The form of a trace, flags: compressed with zstd; binary, else text; version 2, in which accesses have their bytes, else
 * version 1, which leaves them out. */
#define TRACE_WRITE_PACKED 1u
#define TRACE_WRITE_BINARY 2u
#define TRACE_WRITE_SIZED  4u

/* Starts a trace on an open stream, which stays the caller's. `name` stands in errors. `comment` (NULL: none)
 * becomes a line that readers skip. NULL with `error` filled: out of memory, or TRACE_WRITE_PACKED in a program that
 * was built without zstd. */
struct trace_writer *trace_write_open(FILE *out, const char *name, unsigned form, const char *comment,
				      char error[SOURCE_ERROR_MAX]);
/* A comment of printable characters, from `#` on. A comment of more than 4,000 bytes is left out. */
bool trace_write_comment(struct trace_writer *writer, const char *text, size_t length,
			 char error[SOURCE_ERROR_MAX]);
/* One row: an access, kernel, sync, range, free, prefetch, advice or batch. False with `error` filled if it could not be
 * written, or if it could not be read back (a name with a comma, say). */
bool trace_write_row(struct trace_writer *writer, const struct source_row *row, char error[SOURCE_ERROR_MAX]);
/* Writes the rest and frees the writer. True: the stream has the whole trace. */
bool trace_write_close(struct trace_writer *writer, char error[SOURCE_ERROR_MAX]);
/* Gives up in the middle. */
void trace_write_abandon(struct trace_writer *writer);

#endif
