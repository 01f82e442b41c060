/* Any bytes as a string of JSON or CSV. */
#include "quote.h"

#include <stddef.h>

/* Bytes of the UTF-8 character at text, 0: the text is not UTF-8 there. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

	if (text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80) /* also where the text ends */
			return 0;
	return length;
}

/* File names may hold any byte; JSON may not. */
void quote_json(const char *text, FILE *out)
{
	const unsigned char *c = (const unsigned char *)text;

	fputc('"', out);
	while (*c) {
		size_t length = utf8_length(c);

		if (length == 0)
			fputs("\\ufffd", out);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else
			fwrite(c, 1, length, out);
		c += length ? length : 1;
	}
	fputc('"', out);
}

/* RFC 4180: always quoted, quotes doubled. */
void quote_csv(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}
