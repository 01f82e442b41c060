/* text_line.h: lines of any file, each of a limited length. */
#ifndef UVMSIM_SWEEP_TEXT_LINE_H
#define UVMSIM_SWEEP_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Starts as zeros. */
struct text_line {
	char *text; /* with a NUL behind it, without line feed */
	size_t length;
	bool has_end; /* a line feed followed */
	size_t room;
};

enum text_line_end { TEXT_LINE_OK = 0, TEXT_LINE_END, TEXT_LINE_TOO_LONG, TEXT_LINE_NO_MEMORY };

/* Reads the next line, of at most `most` bytes. TEXT_LINE_END: the file has ended, or cannot be read (ferror). */
enum text_line_end text_line_read(struct text_line *line, FILE *in, size_t most);
void text_line_close(struct text_line *line);

#endif
