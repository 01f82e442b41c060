/* The grammar of sweep files: see sweep_file.h. */
#include "sweep_file.h"

#include <stdlib.h>
#include <string.h>

#include "sweep_parser.h"
#include "text_line.h"

/* -- lines -- */

static struct sweep_axis *axis_for(struct sweep_parser *p, const struct sweep_key *key)
{
	struct sweep *s = p->sweep;
	struct sweep_axis *axis = s->axis;

	for (; axis < s->axis + s->axes; axis++)
		if (axis->kind == key->kind && (key->kind != SWEEP_KEY || strcmp(axis->name, key->name) == 0))
			return axis;
	if (s->axes == SWEEP_AXES_MAX) {
		sweep_parser_fail(p, "more than %d keys", SWEEP_AXES_MAX);
		return NULL;
	}
	axis->kind = key->kind;
	axis->name = strdup(key->name);
	if (!axis->name) {
		sweep_parser_fail(p, "out of memory");
		return NULL;
	}
	s->axes++;
	return axis;
}

static char *skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* Cuts the next word off, which begins at `at`; NULL after an error. */
static char *end_word(struct sweep_parser *p, char *at, char **word, bool *is_quoted)
{
	char *end;

	*is_quoted = *at == '"';
	*word = at + *is_quoted;
	end = *is_quoted ? strchr(*word, '"') : *word + strcspn(*word, " \t");
	if (!end) {
		sweep_parser_fail(p, "a quotation mark has no end");
		return NULL;
	}
	at = end + *is_quoted;
	if (*at != '\0' && *at != ' ' && *at != '\t') {
		sweep_parser_fail(p, "a blank must follow the quotation mark");
		return NULL;
	}
	if (!*is_quoted && memchr(*word, '"', (size_t)(end - *word)) != NULL) {
		sweep_parser_fail(p, "a quotation mark inside of a value; quote the whole value");
		return NULL;
	}
	at += *at != '\0';
	*end = '\0';
	return at;
}

static bool parse_values(struct sweep_parser *p, char *at, const struct sweep_key *key)
{
	struct sweep_axis *axis = axis_for(p, key);
	size_t words = 0;

	if (!axis)
		return false;
	for (at = skip_blanks(at); *at != '\0' && *at != '#'; at = skip_blanks(at)) {
		bool is_quoted;
		char *word;

		at = end_word(p, at, &word, &is_quoted);
		if (!at || !sweep_parser_add_word(p, axis, key, word, is_quoted))
			return false;
		words++;
	}
	return words > 0 || sweep_parser_fail(p, "%.60s has no value", key->name);
}

static bool parse_line(struct sweep_parser *p, char *line)
{
	char *at = skip_blanks(line), *name = at;
	struct sweep_key key;

	if (*at == '\0' || *at == '#')
		return true;
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (at == name)
		return sweep_parser_fail(p, "a line begins with a key and =, as in seed = 1..5");
	line = skip_blanks(at);
	if (*line != '=')
		return sweep_parser_fail(p, "%.*s: = must follow the key, as in seed = 1..5",
					 (int)(at - name > 60 ? 60 : at - name), name);
	*at = '\0';
	return sweep_parser_find_key(p, name, &key) && parse_values(p, line + 1, &key);
}

/* Trailing blanks and carriage returns do not count. */
static bool trim(struct sweep_parser *p, char *line, size_t length)
{
	while (length > 0 &&
	       (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
		length--;
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == '\x7f')
			return sweep_parser_fail(p, "a control character (byte %u)", (unsigned char)line[i]);
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

static bool finish(struct sweep_parser *p)
{
	struct sweep *s = p->sweep;

	if (!sweep_axis_of(s, SWEEP_SOURCE))
		return sweep_parser_fail(p, "the file ends without a workload or trace");
	s->runs = 1;
	s->id = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < s->axes; i++) {
		const struct sweep_axis *axis = &s->axis[i];

		if (axis->values > SWEEP_RUNS_MAX / s->runs)
			return sweep_parser_fail(p, "more than %llu runs",
						 (unsigned long long)SWEEP_RUNS_MAX);
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
	struct sweep_parser p = {.sweep = sweep, .name = name, .has_plugins = has_plugins, .error = error};
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
		is_good = sweep_parser_fail(&p, "the line is longer than %u bytes", SWEEP_LINE_MAX);
	if (end == TEXT_LINE_NO_MEMORY)
		is_good = sweep_parser_fail(&p, "out of memory");
	if (is_good && ferror(in))
		is_good = sweep_parser_fail(&p, "the file cannot be read");
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
