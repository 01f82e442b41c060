/* The parser of the specification of a workload, `NAME:key=value,...`, and the printer of its canonical name.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "number.h"
#include "workload_internal.h"

bool workload_fail(char error[SOURCE_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SOURCE_ERROR_MAX, format, args);
	va_end(args);
	for (char *p = error; *p != '\0'; p++)
		if (*p < ' ' || *p > '~') /* the specification may hold anything, the message is one line */
			*p = '?';
	return false;
}

unsigned workload_params(const struct workload_type *type)
{
	unsigned count = 0;

	while (count < WORKLOAD_PARAMS_MAX && type->param[count].name != NULL)
		count++;
	return count;
}

static bool parse_text(struct workload *workload, unsigned i, struct workload_word word,
		       char error[SOURCE_ERROR_MAX])
{
	if (word.length == 0)
		return workload_fail(error, "workload %s: a value must follow %s=: %s", workload->type->name,
				     workload->type->param[i].name, workload->type->param[i].summary);
	workload->text[i] = strndup(word.at, word.length);
	return workload->text[i] != NULL ||
	       workload_fail(error, "workload %s: out of memory", workload->type->name);
}

static void print_value(char text[NUMBER_TEXT_MAX], const struct workload_param *param, uint64_t value)
{
	if (param->is_size)
		number_print_size(text, value);
	else
		snprintf(text, NUMBER_TEXT_MAX, "%" PRIu64, value);
}

static bool parse_value(struct workload *workload, unsigned i, struct workload_word word,
			char error[SOURCE_ERROR_MAX])
{
	const struct workload_param *param = &workload->type->param[i];
	bool (*parse)(const char *, size_t, uint64_t *) = param->is_size ? number_parse_size : number_parse;
	char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	uint64_t value;

	if (parse(word.at, word.length, &value) && value >= param->min && value <= param->max) {
		workload->value[i] = value;
		return true;
	}
	print_value(least, param, param->min);
	print_value(most, param, param->max);
	return workload_fail(error, "workload %s: %s=" QUOTE_FORMAT " is not accepted; %s..%s%s",
			     workload->type->name, param->name, SHOWN(word), least, most,
			     param->is_size ? " " NUMBER_SIZE_HINT : "");
}

static bool unknown_key(const struct workload_type *type, struct workload_word key,
			char error[SOURCE_ERROR_MAX])
{
	char keys[SOURCE_ERROR_MAX] = "", hint[NEAREST_TEXT_MAX];
	unsigned count = workload_params(type);
	struct nearest nearest;

	nearest_start(&nearest, key.at, key.length);
	for (unsigned i = 0; i < count; i++) {
		nearest_try(&nearest, type->param[i].name);
		snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", i ? ", " : "",
			 type->param[i].name);
	}
	return workload_fail(error, "workload %s: unknown key `" QUOTE_FORMAT "`%s; keys: %s", type->name,
			     SHOWN(key), nearest_hint(&nearest, hint), keys);
}

static bool parse_param(struct workload *workload, struct workload_word item, unsigned *given,
			char error[SOURCE_ERROR_MAX])
{
	const char *equals = memchr(item.at, '=', item.length);
	const struct workload_type *type = workload->type;
	struct workload_word key = item, text;
	unsigned count = workload_params(type), i = 0;
	const struct workload_param *param;

	if (equals == NULL)
		return workload_fail(error, "workload %s: `" QUOTE_FORMAT "` is not key=value", type->name,
				     SHOWN(item));
	key.length = (size_t)(equals - item.at);
	text = (struct workload_word){equals + 1, item.length - key.length - 1};
	while (i < count && !workload_is_word(key, type->param[i].name))
		i++;
	if (i == count)
		return unknown_key(type, key, error);
	param = &type->param[i];
	if ((*given & 1u << i) != 0)
		return workload_fail(error, "workload %s: %s is given twice", type->name, param->name);
	*given |= 1u << i;
	if (param->max == WORKLOAD_TEXT)
		return parse_text(workload, i, text, error);
	return parse_value(workload, i, text, error);
}

/* Why parameter i has no effect: the text that is given, or is not; NULL: it counts. */
static const struct workload_param *blocked_by(const struct workload *workload, unsigned i)
{
	const struct workload_type *type = workload->type;

	for (unsigned t = 0; t < workload_params(type); t++) {
		const struct workload_param *text = &type->param[t];
		bool is_given = workload->text[t] != NULL;

		if (text->max != WORKLOAD_TEXT || t == i)
			continue;
		if (is_given ? i < t && i + text->min >= t : i > t && i <= t + text->initial)
			return text;
	}
	return NULL;
}

/* Parameters that have no effect are not given by mistake. */
static bool check_effect(const struct workload *workload, unsigned given, char error[SOURCE_ERROR_MAX])
{
	const struct workload_type *type = workload->type;

	for (unsigned i = 0; i < workload_params(type); i++) {
		const struct workload_param *text = blocked_by(workload, i);

		if (text != NULL && (given & 1u << i) != 0)
			return workload_fail(error, "workload %s: %s has no effect with%s %s=", type->name,
					     type->param[i].name, text > &type->param[i] ? "" : "out",
					     text->name);
	}
	return true;
}

static bool check(const struct workload *workload, char error[SOURCE_ERROR_MAX])
{
	const char *wrong = workload->type->check != NULL ? workload->type->check(workload) : NULL;

	return wrong == NULL || workload_fail(error, "workload %s: %s", workload->type->name, wrong);
}

bool workload_parse(struct workload *workload, const char *text, char error[SOURCE_ERROR_MAX])
{
	unsigned count = workload_params(workload->type), given = 0;

	for (unsigned i = 0; i < count; i++)
		workload->value[i] = workload->type->param[i].initial;
	while (text != NULL) {
		const char *comma = strchr(text, ',');
		struct workload_word item = {text, comma != NULL ? (size_t)(comma - text) : strlen(text)};

		if (!parse_param(workload, item, &given, error))
			return false;
		text = comma != NULL ? comma + 1 : NULL;
	}
	return check_effect(workload, given, error) && check(workload, error);
}

bool workload_print_name(struct workload *workload, size_t spec_length)
{
	const struct workload_type *type = workload->type;
	/* texts are pieces of the specification, numbers have up to 20 digits */
	size_t size = spec_length + 64u * (WORKLOAD_PARAMS_MAX + 1u), used;
	char *name = workload->name = malloc(size), separator = ':';

	if (name == NULL)
		return false;
	used = (size_t)snprintf(name, size, "%s", type->name);
	for (unsigned i = 0; i < workload_params(type); i++) {
		const struct workload_param *param = &type->param[i];

		if (blocked_by(workload, i) != NULL)
			continue;
		if (param->max != WORKLOAD_TEXT)
			used += (size_t)snprintf(name + used, size - used, "%c%s=%" PRIu64, separator,
						 param->name, workload->value[i]);
		else if (workload->text[i] != NULL)
			used += (size_t)snprintf(name + used, size - used, "%c%s=%s", separator, param->name,
						 workload->text[i]);
		else
			continue;
		separator = ',';
	}
	workload->source.name = name;
	return true;
}

void workload_list_type(const struct workload_type *type, int width, FILE *out)
{
	unsigned count = workload_params(type);

	fprintf(out, "%-*s %s\n", width, type->name, type->summary);
	for (unsigned i = 0; i < count; i++) {
		const struct workload_param *param = &type->param[i];
		char initial[NUMBER_TEXT_MAX], least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];

		print_value(initial, param, param->initial);
		print_value(least, param, param->min);
		print_value(most, param, param->max);
		if (param->max == WORKLOAD_TEXT)
			fprintf(out, "%-*s %s=  %s\n", width, "", param->name, param->summary);
		else
			fprintf(out, "%-*s %s=%s  %s (%s..%s)\n", width, "", param->name, initial,
				param->summary, least, most);
	}
}
