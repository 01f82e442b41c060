/* Fields of a line: see csv_line.h. */
#include "csv_line.h"

#include <stdint.h>
#include <string.h>

static void put(char *field, size_t room, size_t *used, char c)
{
	if (*used + 1u < room)
		field[(*used)++] = c;
}

/* After the opening quotation mark. Returns the text behind the closing quotation mark; NULL if it is missing. */
static const char *read_quoted(const char *c, char *field, size_t room, size_t *used)
{
	for (; *c != '\0'; c++) {
		if (*c == '"' && *++c != '"')
			return c;
		put(field, room, used, *c);
	}
	return NULL;
}

bool csv_line_next(const char **at, char *field, size_t room)
{
	const char *c = *at;
	size_t used = 0;

	if (*c == '"') {
		c = read_quoted(c + 1, field, room, &used);
		if (!c || (*c != ',' && *c != '\0'))
			return false;
	}
	for (; *c != ',' && *c != '\0'; c++) {
		if (*c == '"')
			return false;
		put(field, room, &used, *c);
	}
	if (room != 0)
		field[used] = '\0';
	*at = *c == ',' ? c + 1 : NULL;
	return true;
}

bool csv_line_field(const char *line, size_t number, char *field, size_t room)
{
	for (size_t i = 0; line; i++) {
		if (!csv_line_next(&line, field, i == number ? room : 0))
			return false;
		if (i == number)
			return true;
	}
	return false;
}

size_t csv_line_fields(const char *line)
{
	size_t count = 0;

	for (; line; count++)
		if (!csv_line_next(&line, NULL, 0))
			return 0;
	return count;
}

size_t csv_line_find(const char *line, const char *name)
{
	char field[256];

	for (size_t i = 0; line; i++) {
		if (!csv_line_next(&line, field, sizeof(field)))
			return SIZE_MAX;
		if (strcmp(field, name) == 0)
			return i;
	}
	return SIZE_MAX;
}
