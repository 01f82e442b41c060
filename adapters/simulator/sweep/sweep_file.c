/* The grammar of sweep files: see sweep_file.h. */
#include "sweep_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "nearest.h"
#include "number.h"
#include "text_line.h"
#include "uvmpolicy/policy.h"

struct key {
	const char *name;
	enum sweep_kind kind;
	bool is_other;
	bool is_number, is_size; /* have ranges */
};

static const struct key keys[] = {
	{"workload", SWEEP_SOURCE, false, false, false}, {"trace", SWEEP_SOURCE, true, false, false},
	{"gpu", SWEEP_GPU, false, false, false},	 {"memory", SWEEP_MEMORY, false, false, true},
	{"oversub", SWEEP_MEMORY, true, true, false},	 {"policy", SWEEP_POLICY, false, false, false},
	{"seed", SWEEP_SEED, false, true, false},
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

struct parser {
	struct sweep *sweep;
	const char *name;
	uint64_t line;
	bool has_plugins;
	char *error;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct parser *p, const char *format, ...)
{
	int used = snprintf(p->error, SWEEP_ERROR_MAX, "%.200s:%llu: ", p->name, (unsigned long long)p->line);
	va_list list;

	va_start(list, format);
	vsnprintf(p->error + used, SWEEP_ERROR_MAX - (size_t)used, format, list);
	va_end(list);
	return false;
}

/* -- keys -- */

static bool is_policy_key(const char *name, struct nearest *nearest)
{
	struct uvmp_policy_key key = {.size = sizeof(key)};

	for (uint32_t i = 0; uvmp_policy_key_at(i, &key) != NULL; i++) {
		if (strcmp(key.name, name) == 0)
			return true;
		nearest_try(nearest, key.name);
	}
	return false;
}

/* Fills *key. A name that no key has is an error with the nearest one. */
static bool find_key(struct parser *p, const char *name, struct key *key)
{
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name, strlen(name));
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, name) == 0) {
			*key = keys[i];
			return true;
		}
		nearest_try(&nearest, keys[i].name);
	}
	*key = (struct key){name, SWEEP_KEY, false, true, false};
	if (is_policy_key(name, &nearest) || p->has_plugins)
		return true;
	return fail(p,
		    "unknown key %.60s%s; keys are workload, trace, gpu, memory, oversub, policy, seed and "
		    "those of `uvmsim list policies`",
		    name, nearest_hint(&nearest, hint));
}

static struct sweep_axis *axis_for(struct parser *p, const struct key *key)
{
	struct sweep *s = p->sweep;
	struct sweep_axis *axis = s->axis;

	for (; axis < s->axis + s->axes; axis++)
		if (axis->kind == key->kind && (key->kind != SWEEP_KEY || strcmp(axis->name, key->name) == 0))
			return axis;
	if (s->axes == SWEEP_AXES_MAX) {
		fail(p, "more than %d keys", SWEEP_AXES_MAX);
		return NULL;
	}
	axis->kind = key->kind;
	axis->name = strdup(key->name);
	if (!axis->name) {
		fail(p, "out of memory");
		return NULL;
	}
	s->axes++;
	return axis;
}

/* -- values -- */

static bool add_value(struct parser *p, struct sweep_axis *axis, const struct key *key, const char *text,
		      size_t length)
{
	struct sweep_value *value;

	for (size_t i = 0; i < axis->values; i++) {
		value = &axis->value[i];
		if (value->is_other == key->is_other && strlen(value->text) == length &&
		    memcmp(value->text, text, length) == 0)
			return fail(p, "%.60s: %.100s is given twice, first on line %llu", key->name,
				    value->text, (unsigned long long)value->line);
	}
	if (axis->values == SWEEP_VALUES_MAX)
		return fail(p, "%.60s: more than %u values", key->name, SWEEP_VALUES_MAX);
	if (!ARRAY_RESERVE(axis->value, axis->room, axis->values + 1))
		return fail(p, "out of memory");
	value = &axis->value[axis->values];
	*value = (struct sweep_value){strndup(text, length), key->is_other, p->line};
	if (!value->text)
		return fail(p, "out of memory");
	axis->values++;
	return true;
}

static bool read_number(const struct key *key, const char *text, size_t length, uint64_t *number)
{
	return key->is_size ? number_parse_size(text, length, number) : number_parse(text, length, number);
}

/* FROM..TO or FROM..TO..STEP, TO included if a step meets it. */
static bool add_range(struct parser *p, struct sweep_axis *axis, const struct key *key, const char *text)
{
	const char *second = strstr(text, "..") + 2, *third = strstr(second, "..");
	size_t first_length = (size_t)(second - 2 - text);
	size_t second_length = third ? (size_t)(third - second) : strlen(second);
	uint64_t from, to, step = 1;

	if (!read_number(key, text, first_length, &from) || !read_number(key, second, second_length, &to) ||
	    (third && !read_number(key, third + 2, strlen(third + 2), &step)))
		return fail(p, "%.60s: \"%.100s\" is not a range; FROM..TO or FROM..TO..STEP", key->name,
			    text);
	if (step == 0 || from > to)
		return fail(p, "%.60s: \"%.100s\" has no values; FROM is at most TO, and STEP at least 1",
			    key->name, text);
	if ((to - from) / step >= SWEEP_VALUES_MAX)
		return fail(p, "%.60s: \"%.100s\" has more than %u values", key->name, text,
			    SWEEP_VALUES_MAX);
	for (uint64_t left = (to - from) / step + 1u, at = from; left > 0; left--, at += step) {
		char word[NUMBER_TEXT_MAX];

		if (key->is_size)
			number_print_size(word, at);
		else
			snprintf(word, sizeof(word), "%llu", (unsigned long long)at);
		if (!add_value(p, axis, key, word, strlen(word)))
			return false;
	}
	return true;
}

static bool add_word(struct parser *p, struct sweep_axis *axis, const struct key *key, const char *word,
		     bool is_quoted)
{
	size_t length = strlen(word);

	if ((key->is_number || key->is_size) && !is_quoted && strstr(word, "..") != NULL)
		return add_range(p, axis, key, word);
	if (key->kind == SWEEP_KEY && (length == 0 || strcspn(word, " \t,=") != length))
		return fail(p, "%.60s: \"%.100s\" is not a value; values are separated by blanks", key->name,
			    word);
	if (length == 0)
		return fail(p, "%.60s: a value is empty", key->name);
	return add_value(p, axis, key, word, length);
}

/* -- lines -- */

static char *skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* Cuts the next word off, which begins at `at`; NULL after an error. */
static char *end_word(struct parser *p, char *at, char **word, bool *is_quoted)
{
	char *end;

	*is_quoted = *at == '"';
	*word = at + *is_quoted;
	end = *is_quoted ? strchr(*word, '"') : *word + strcspn(*word, " \t");
	if (!end) {
		fail(p, "a quotation mark has no end");
		return NULL;
	}
	at = end + *is_quoted;
	if (*at != '\0' && *at != ' ' && *at != '\t') {
		fail(p, "a blank must follow the quotation mark");
		return NULL;
	}
	if (!*is_quoted && memchr(*word, '"', (size_t)(end - *word)) != NULL) {
		fail(p, "a quotation mark inside of a value; quote the whole value");
		return NULL;
	}
	at += *at != '\0';
	*end = '\0';
	return at;
}

static bool parse_values(struct parser *p, char *at, const struct key *key)
{
	struct sweep_axis *axis = axis_for(p, key);
	size_t words = 0;

	if (!axis)
		return false;
	for (at = skip_blanks(at); *at != '\0' && *at != '#'; at = skip_blanks(at)) {
		bool is_quoted;
		char *word;

		at = end_word(p, at, &word, &is_quoted);
		if (!at || !add_word(p, axis, key, word, is_quoted))
			return false;
		words++;
	}
	return words > 0 || fail(p, "%.60s has no value", key->name);
}

static bool parse_line(struct parser *p, char *line)
{
	char *at = skip_blanks(line), *name = at;
	struct key key;

	if (*at == '\0' || *at == '#')
		return true;
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (at == name)
		return fail(p, "a line begins with a key and =, as in seed = 1..5");
	line = skip_blanks(at);
	if (*line != '=')
		return fail(p, "%.*s: = must follow the key, as in seed = 1..5",
			    (int)(at - name > 60 ? 60 : at - name), name);
	*at = '\0';
	return find_key(p, name, &key) && parse_values(p, line + 1, &key);
}

/* Trailing blanks and carriage returns do not count. */
static bool trim(struct parser *p, char *line, size_t length)
{
	while (length > 0 &&
	       (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
		length--;
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == '\x7f')
			return fail(p, "a control character (byte %u)", (unsigned char)line[i]);
	line[length] = '\0';
	return true;
}

/* -- the whole -- */

static uint64_t mix(uint64_t hash, const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	do
		hash = (hash ^ *byte) * UINT64_C(0x100000001b3); /* FNV-1a; the NUL, too */
	while (*byte++ != '\0');
	return hash;
}

static bool finish(struct parser *p)
{
	struct sweep *s = p->sweep;

	if (!sweep_axis_of(s, SWEEP_SOURCE))
		return fail(p, "the file ends without a workload or trace");
	s->runs = 1;
	s->id = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < s->axes; i++) {
		const struct sweep_axis *axis = &s->axis[i];

		if (axis->values > SWEEP_RUNS_MAX / s->runs)
			return fail(p, "more than %llu runs", (unsigned long long)SWEEP_RUNS_MAX);
		s->runs *= axis->values;
		s->id = mix(s->id, axis->kind == SWEEP_KEY ? axis->name : "");
		for (size_t k = 0; k < axis->values; k++) {
			static const char *const kinds[] = {"s", "g", "m", "p", "n", "k"};

			s->id = mix(mix(s->id, kinds[axis->kind]), axis->value[k].is_other ? "1" : "0");
			s->id = mix(s->id, axis->value[k].text);
		}
	}
	return true;
}

bool sweep_parse(struct sweep *sweep, FILE *in, const char *name, bool has_plugins,
		 char error[SWEEP_ERROR_MAX])
{
	struct parser p = {.sweep = sweep, .name = name, .has_plugins = has_plugins, .error = error};
	struct text_line line = {.text = NULL};
	enum text_line_end end = TEXT_LINE_OK;
	bool is_good = true;

	memset(sweep, 0, sizeof(*sweep));
	while (is_good && (end = text_line_read(&line, in, SWEEP_LINE_MAX)) == TEXT_LINE_OK) {
		p.line++;
		is_good = trim(&p, line.text, line.length) && parse_line(&p, line.text);
	}
	text_line_close(&line);
	p.line += is_good && (p.line == 0 || end != TEXT_LINE_END);
	if (end == TEXT_LINE_TOO_LONG)
		is_good = fail(&p, "the line is longer than %u bytes", SWEEP_LINE_MAX);
	if (end == TEXT_LINE_NO_MEMORY)
		is_good = fail(&p, "out of memory");
	if (is_good && ferror(in))
		is_good = fail(&p, "the file cannot be read");
	return is_good && finish(&p);
}

void sweep_close(struct sweep *s)
{
	for (size_t i = 0; i < s->axes; i++) {
		for (size_t k = 0; k < s->axis[i].values; k++)
			free(s->axis[i].value[k].text);
		free(s->axis[i].value);
		free(s->axis[i].name);
	}
	memset(s, 0, sizeof(*s));
}

const struct sweep_axis *sweep_axis_of(const struct sweep *s, enum sweep_kind kind)
{
	for (size_t i = 0; i < s->axes; i++)
		if (s->axis[i].kind == kind)
			return &s->axis[i];
	return NULL;
}

const struct sweep_value *sweep_value_of(const struct sweep *s, const struct sweep_axis *axis, uint64_t run)
{
	for (size_t i = s->axes - 1; &s->axis[i] != axis; i--)
		run /= s->axis[i].values;
	return &axis->value[run % axis->values];
}
