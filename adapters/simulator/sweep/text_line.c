/* Lines: see text_line.h. */
#include "text_line.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

enum text_line_end text_line_read(struct text_line *line, FILE *in, size_t most)
{
	int c;

	line->length = 0;
	line->has_end = false;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (line->length == most)
			return TEXT_LINE_TOO_LONG;
		if (!ARRAY_RESERVE(line->text, line->room, line->length + 2u))
			return TEXT_LINE_NO_MEMORY;
		line->text[line->length++] = (char)c;
	}
	if (c == EOF && (line->length == 0 || ferror(in)))
		return TEXT_LINE_END;
	if (!ARRAY_RESERVE(line->text, line->room, line->length + 1u))
		return TEXT_LINE_NO_MEMORY;
	line->text[line->length] = '\0';
	line->has_end = c == '\n';
	return TEXT_LINE_OK;
}

void text_line_close(struct text_line *line)
{
	free(line->text);
	memset(line, 0, sizeof(*line));
}
