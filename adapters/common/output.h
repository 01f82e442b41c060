/* output.h: the files that a program writes.
 *
 * The new content of a regular file is written beside the file, as new.PID.NAME, and takes its place when it is complete. If
 * the program fails or is killed, the file stays as it was. Pipes, devices and descriptors (/dev/stdout, /dev/fd/3) are
 * written directly. A file that another use conflicts with is refused (output_conflicts.h). */
#ifndef UVMP_HOST_OUTPUT_H
#define UVMP_HOST_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output;

/* Call it first. Descriptors 0 and 2 that are closed become /dev/null, since the first file that is opened would take their
 * place. False after a report: standard output is closed. */
bool output_begin_standard(void);
/* Call it before anything is written: a write to a pipe or socket without a reader is an error of the file from now on, and does
 * not end the program before its files are in place. */
void output_ignore_pipe(void);
/* After output_ignore_pipe: has the reader of standard output left? False if the program was started with SIGPIPE ignored: its
 * caller wants a report. */
bool output_is_abandoned(void);
/* Has all that was written to standard output arrived? False after a report, or without one if output_is_abandoned. */
bool output_flush_standard(void);
/* Call it last. Ends the process by SIGPIPE if standard output is abandoned and incomplete, as programs do that do not ignore
 * SIGPIPE. Else returns the status. */
int output_end(int status);

enum output_result {
	OUTPUT_DISCARD, /* the new content is dropped */
	OUTPUT_PARTIAL, /* an existing file stays: the new content is kept beside it, and a note says where */
	OUTPUT_COMPLETE
};

/* The program will write this file. Checks all that can be known before anything is written. `option` and `path` are not
 * copied. NULL after a report. */
struct output *output_claim(const char *option, const char *path);
/* Creates the file of the new content. Does not open a pipe or device, for which another process may do that. False after a
 * report. */
bool output_begin(struct output *output);
/* The stream of the new content; closed by output_close. NULL after a report. */
FILE *output_stream(struct output *output);
/* output_claim, output_begin and output_stream in one call. NULL after a report. */
struct output *output_open(const char *option, const char *path, FILE **stream);
/* What was written so far reaches the disk. False after a report; an error of the stream is left to output_close. */
bool output_sync(struct output *output);
/* Where another process writes the new content, after output_begin. */
const char *output_place(const struct output *output);
/* Is the new content written beside the file? */
bool output_is_beside(const struct output *output);
/* Ends and frees an output; NULL: nothing. False after a report: the content could not be written. OUTPUT_DISCARD reports
 * nothing. */
bool output_close(struct output *output, enum output_result result);
/* Removes the files of new content that this process has begun, for a handler of a signal that ends the process:
 * async-signal-safe. A file that is being replaced stays. */
void output_remove_unfinished(void);

#endif
