/* The reader takes byte after byte and stops at the first one that cannot belong to a line, so that neither a
 * line of a gigabyte nor a binary file is ever held in memory. */
#include "lines.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void line_reader_init(struct line_reader *reader, FILE *in)
{
	reader->in = in;
	reader->number = 0;
	reader->length = 0;
	reader->text[0] = '\0';
	reader->error[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static enum line_status bad(struct line_reader *reader,
								  const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(reader->error, sizeof(reader->error), format, list);
	va_end(list);
	return LINE_BAD;
}

/* Length of the UTF-8 sequence at `text`, 0 if it is malformed, overlong, a surrogate or beyond U+10FFFF. */
static size_t utf8_length(const unsigned char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	uint32_t code;

	if (length == 1)
		return 1;
	if (text[0] < 0xc0 || text[0] > 0xf7)
		return 0;
	code = text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0u) != 0x80u)
			return 0;
		code = code << 6 | (text[i] & 0x3fu);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static bool is_utf8(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	while (*byte != 0) {
		size_t length = utf8_length(byte);

		if (length == 0)
			return false;
		byte += length;
	}
	return true;
}

static enum line_status at_end(struct line_reader *reader)
{
	if (ferror(reader->in)) {
		reader->number++;
		return bad(reader, "cannot be read: %s", strerror(errno));
	}
	if (reader->length == 0)
		return LINE_END;
	reader->number++;
	return bad(reader, "the file ends within this line: its line feed is missing");
}

static enum line_status finish(struct line_reader *reader)
{
	reader->text[reader->length] = '\0';
	if (reader->length > 0 && reader->text[reader->length - 1] == ' ')
		return bad(reader, "blank at the end of the line");
	if (!is_utf8(reader->text))
		return bad(reader, "not UTF-8");
	return LINE_OK;
}

enum line_status line_read(struct line_reader *reader)
{
	reader->length = 0;
	for (;;) {
		int byte = getc_unlocked(reader->in);

		if (byte == EOF)
			return at_end(reader);
		if (byte == '\n') {
			reader->number++;
			return finish(reader);
		}
		if (byte < 0x20 || byte == 0x7f) {
			reader->number++;
			if (byte == '\r')
				return bad(reader, "carriage return; lines end with one line feed");
			return bad(reader, "%s (byte 0x%02x) in the line",
				   byte == 0 ? "NUL byte" : "control character", (unsigned)byte);
		}
		if (reader->length == LINE_BYTES_MAX) {
			reader->number++;
			return bad(reader, "line longer than %d bytes", LINE_BYTES_MAX);
		}
		reader->text[reader->length++] = (char)byte;
	}
}

char *line_word(char **rest)
{
	char *word = *rest;
	char *blank;

	if (*word == '\0')
		return NULL;
	blank = strchr(word, ' ');
	if (blank == NULL) {
		*rest = word + strlen(word);
		return word;
	}
	*blank = '\0';
	*rest = blank + 1;
	return word;
}

bool line_is_single_spaced(const char *text)
{
	return text[0] != ' ' && strstr(text, "  ") == NULL &&
	       (text[0] == '\0' || text[strlen(text) - 1] != ' ');
}
