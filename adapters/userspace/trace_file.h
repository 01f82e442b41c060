/* trace_file.h: records a pager's events as rows of the trace format (docs/uvmsim.md). Functions
 * that add a row do nothing for NULL, and nothing after an error. The pager's lock is held. */
#ifndef UVMP_TRACE_FILE_H
#define UVMP_TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct trace_file;

/* Creates or truncates the file; compressed if its name ends in .zst. NULL with *error: negative
 * errno, -ENOTSUP: built without zstd. */
struct trace_file *trace_file_open(const char *path, int *error);
/* Writes buffered rows and closes the file. Returns the first error; 0: the trace is complete. */
int trace_file_close(struct trace_file *trace);
/* Closes the file without writing: in a child the buffer belongs to the parent. */
void trace_file_leave(struct trace_file *trace);

/* Cut to a line; at most 8 before the first row. */
__attribute__((format(printf, 2, 3))) void trace_file_comment(struct trace_file *trace, const char *format,
							      ...);
void trace_file_range(struct trace_file *trace, uint64_t base, uint64_t bytes);
void trace_file_free(struct trace_file *trace, uint64_t base);
void trace_file_prefetch(struct trace_file *trace, uint64_t address, uint64_t bytes, bool is_in);
/* `advice`: enum uvmp_advice; `processor`: gpu, cpu or none, ignored where the advice has none. */
void trace_file_advise(struct trace_file *trace, uint32_t advice, const char *processor, uint64_t address,
		       uint64_t bytes);
/* A touch of a page; is_fault: of a missing page, for which the thread waits. */
void trace_file_access(struct trace_file *trace, uint64_t time_ns, uint32_t thread, bool is_write,
		       uint64_t address, bool is_fault);
/* Events since the last call are serviced before those that follow. */
void trace_file_batch(struct trace_file *trace);

/* Are there buffered rows? And: writes them. */
bool trace_file_waits(const struct trace_file *trace);
void trace_file_flush(struct trace_file *trace);
int trace_file_descriptor(const struct trace_file *trace); /* -1: none */
/* The first error, negative errno; 0: none. */
int trace_file_error(const struct trace_file *trace);

#endif
