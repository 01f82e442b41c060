/* Text in columns, and lines of pairs: see columns.h. */
#include "import/columns.h"

#include <ctype.h>
#include <string.h>

/* -- fields -- */

/* Ends a field at its comma, removes its quotes and the blanks around it; returns what follows the comma, or NULL. */
static char *cut_field(char *text, char **field)
{
	char *end = text + strspn(text, " ");
	bool is_quoted = *end == '"';

	*field = end + is_quoted;
	end = *field + strcspn(*field, is_quoted ? "\"" : ",");
	if (is_quoted && *end == '"')
		*end++ = '\0';
	end += strcspn(end, ",");
	text = *end == ',' ? end + 1 : NULL;
	*end = '\0';
	for (end = *field + strlen(*field); end > *field && end[-1] == ' '; end--)
		end[-1] = '\0';
	return text;
}

/* Cuts the line in hand into fields; those in double quotes may have commas. False: too many, the error is filled. */
static bool columns_cut(struct import *import, struct columns *columns)
{
	char *rest = import->text.lines.text;

	for (columns->fields = 0; rest; columns->fields++) {
		if (columns->fields == COLUMNS_FIELDS_MAX)
			return import_bad(import, "more than %u fields", COLUMNS_FIELDS_MAX);
		rest = cut_field(rest, &columns->field[columns->fields]);
	}
	return true;
}

bool columns_head(struct import *import, struct columns *columns, const char *const *wanted, size_t count,
		  size_t needed)
{
	if (!columns_cut(import, columns))
		return false;
	for (size_t i = 0; i < count; i++) {
		columns->at[i] = IMPORT_NONE;
		for (size_t at = 0; at < columns->fields; at++)
			if (strcmp(columns->field[at], wanted[i]) == 0)
				columns->at[i] = at;
		if (i < needed && columns->at[i] == IMPORT_NONE)
			return import_bad(import, "the first line names no column %s", wanted[i]);
	}
	return true;
}

bool columns_row(struct import *import, struct columns *columns)
{
	size_t wanted = columns->fields;

	if (!columns_cut(import, columns))
		return false;
	if (columns->fields == wanted)
		return true;
	import_bad(import, "%zu fields; the first line has %zu", columns->fields, wanted);
	columns->fields = wanted;
	return false;
}

const char *columns_text(const struct columns *columns, size_t column)
{
	return columns->at[column] == IMPORT_NONE ? "" : columns->field[columns->at[column]];
}

static bool read_number(const char *text, uint64_t *number)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

	return is_hex ? import_hex(text, number) : import_decimal(text, number);
}

bool columns_number(struct import *import, const struct columns *columns, size_t column, const char *name,
		    uint64_t *number, bool *is_empty)
{
	const char *text = columns_text(columns, column);

	*number = 0;
	*is_empty = text[0] == '\0';
	return *is_empty || read_number(text, number) ||
	       import_bad(import, "%s \"%.40s\" is not a number of 64 bits", name, text);
}

/* -- pairs -- */

bool pairs_show(const char *head, size_t length, const char *word)
{
	const char *end = head + length;

	while (head < end && (*head == '#' || *head == '\n' || *head == '\r')) {
		const char *line_end = memchr(head, '\n', (size_t)(end - head));

		head = line_end ? line_end + 1 : end;
	}
	return (size_t)(end - head) > strlen(word) && memcmp(head, word, strlen(word)) == 0;
}

bool pairs_cut(struct import *import, struct pairs *pairs)
{
	static const char gaps[] = " ,";
	char *at = import->text.lines.text + strspn(import->text.lines.text, gaps);

	pairs->word = at;
	at += strcspn(at, gaps);
	for (pairs->count = 0; *at != '\0'; pairs->count++) {
		char *equals;

		*at++ = '\0';
		at += strspn(at, gaps);
		if (*at == '\0')
			break;
		if (pairs->count == PAIRS_MAX)
			return import_bad(import, "more than %u pairs", PAIRS_MAX);
		equals = at + strcspn(at, "= ,");
		if (*equals != '=')
			return import_bad(import, "\"%.*s\" is not KEY=VALUE",
					  (int)(equals - at < 40 ? equals - at : 40), at);
		*equals = '\0';
		pairs->key[pairs->count] = at;
		pairs->value[pairs->count] = equals + 1;
		at = equals + 1 + strcspn(equals + 1, gaps);
	}
	return true;
}

const char *pairs_text(const struct pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (strcmp(pairs->key[i], key) == 0)
			return pairs->value[i];
	return NULL;
}

bool pairs_number(struct import *import, const struct pairs *pairs, const char *key, uint64_t *number,
		  bool *is_missing)
{
	const char *text = pairs_text(pairs, key);

	*number = 0;
	if (is_missing)
		*is_missing = text == NULL;
	if (!text)
		return is_missing != NULL || import_bad(import, "%.40s has no %s", pairs->word, key);
	return read_number(text, number) ||
	       import_bad(import, "%s=%.40s is not a number of 64 bits", key, text);
}

/* Does the text end as the name, letters of either case? */
static bool ends_as(const char *text, const char *name)
{
	size_t length = strlen(text), tail = strlen(name);

	return length >= tail && strcasecmp(text + length - tail, name) == 0;
}

bool pairs_name(struct import *import, const struct pairs *pairs, const char *key,
		const struct pairs_name *list, size_t count, uint8_t *value)
{
	const char *text = pairs_text(pairs, key);
	uint64_t number = 0;
	bool is_number = text && read_number(text, &number);

	if (!text)
		return import_bad(import, "%.40s has no %s", pairs->word, key);
	for (size_t i = 0; i < count; i++) {
		if (is_number ? number != list[i].number : !ends_as(text, list[i].name))
			continue;
		*value = list[i].value;
		return true;
	}
	return import_bad(import, "%s=%.40s is not known", key, text);
}
