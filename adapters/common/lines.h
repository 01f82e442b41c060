/* lines.h: strict line reader for the project's small text formats (vectors, measured faults).
 *
 * A line is UTF-8 without control characters and without trailing blanks, at most LINE_BYTES_MAX bytes long,
 * ended by one LF, the last line too. Memory is one line, however long the input's lines are.
 */
#ifndef UVMP_HOST_LINES_H
#define UVMP_HOST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LINE_BYTES_MAX 16384 /* LF not counted */

enum line_status { LINE_OK = 0, LINE_END, LINE_BAD };

struct line_reader {
	FILE *in;
	uint64_t number; /* of the line in text, from 1; of the bad line, or of the last one at the end */
	size_t length;
	char text[LINE_BYTES_MAX + 1]; /* NUL-terminated, without LF */
	char error[128];	       /* LINE_BAD: what is wrong with line `number` */
};

void line_reader_init(struct line_reader *reader, FILE *in);
/* Reads the next line. After LINE_BAD the reader must not be used again. */
enum line_status line_read(struct line_reader *reader);
/* Cuts the first word off `*rest` at a blank, in place, and moves *rest to the next word. NULL if there is no
 * further word. */
char *line_word(char **rest);
/* Are the words of the line separated by exactly one blank, with none at either end? */
bool line_is_single_spaced(const char *text);

#endif
