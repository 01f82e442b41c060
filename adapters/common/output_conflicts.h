/* output_conflicts.h: the files that a program reads and writes. No file is both an input and an output, or two outputs.
 *
 * Device and inode decide, so that links are recognised. Only regular files conflict. */
#ifndef UVMP_HOST_OUTPUT_CONFLICTS_H
#define UVMP_HOST_OUTPUT_CONFLICTS_H

#include <stdbool.h>

struct output;

/* No output may be this file; "-": standard input. `option`: for messages; NULL: the path alone. */
void output_protect(const char *option, const char *path);
/* The same, for a file that the program reads. False after a report: the program writes the file already. */
bool output_reads(const char *option, const char *path);

/* Registers a file that an output replaces or writes. `target`: the path without links in its last part. `descriptor`: that
 * the path names; -1: none. False after a report: an input, another output, or a redirection of standard output or standard
 * error that the path does not name uses the file, or memory is short. */
bool output_conflicts_add(const struct output *output, const char *option, const char *path, const char *target, int descriptor);
/* The output is closed: its file may be read, and written again. */
void output_conflicts_remove(const struct output *output);

#endif
