/* Values of keys, and errors with their place; model_internal.h. */
#include "model_internal.h"

#include <stdarg.h>
#include <string.h>

#include "number.h"

bool model_bad_at(struct model_parse *parse, uint64_t line, const char *format, ...)
{
	char text[MODEL_ERROR_MAX - MODEL_NAME_MAX - 32];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(parse->error, MODEL_ERROR_MAX, "%s:%llu: %s", parse->file,
		 (unsigned long long)(line ? line : 1), text);
	return false;
}

bool model_parse_once(struct model_parse *parse, const char *key, uint64_t *line)
{
	if (*line != 0)
		return model_bad_at(parse, parse->reader.number, "%s is given twice; the first is in line %llu",
				    key, (unsigned long long)*line);
	*line = parse->reader.number;
	return true;
}

bool model_parse_text(struct model_parse *parse, const char *key, const char *value, uint64_t *line, char *out,
		      size_t room)
{
	if (!model_parse_once(parse, key, line))
		return false;
	if (strlen(value) >= room)
		return model_bad_at(parse, *line, "%s is longer than %zu bytes", key, room - 1);
	memcpy(out, value, strlen(value) + 1);
	return true;
}

bool model_parse_number(struct model_parse *parse, const char *key, const char **text, uint64_t min, uint64_t max,
			uint64_t *number)
{
	int length = (int)strcspn(*text, " ");
	enum number_status status = number_decimal(*text, (size_t)length, number);

	if (status == NUMBER_BAD)
		return model_bad_at(parse, parse->reader.number, "%s: \"%.*s\" is not a whole number", key,
				    length < 60 ? length : 60, *text);
	if (status == NUMBER_TOO_LARGE || *number < min || *number > max)
		return model_bad_at(parse, parse->reader.number, "%s: %.*s is out of range, %llu..%llu", key,
				    length < 60 ? length : 60, *text, (unsigned long long)min,
				    (unsigned long long)max);
	*text += length;
	*text += strspn(*text, " ");
	return true;
}

bool model_parse_end(struct model_parse *parse, const char *key, const char *rest)
{
	return *rest == '\0' || model_bad_at(parse, parse->reader.number, "%s: \"%.60s\" is too much", key, rest);
}
