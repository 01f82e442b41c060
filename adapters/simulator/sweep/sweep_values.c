/* Keys and values of sweep files: see sweep_parser.h. */
#include "sweep_parser.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "nearest.h"
#include "number.h"
#include "uvmpolicy/policy.h"

static const struct sweep_key keys[] = {
	{"workload", SWEEP_SOURCE, false, false, false}, {"trace", SWEEP_SOURCE, true, false, false},
	{"gpu", SWEEP_GPU, false, false, false},	 {"memory", SWEEP_MEMORY, false, false, true},
	{"oversub", SWEEP_MEMORY, true, true, false},	 {"policy", SWEEP_POLICY, false, false, false},
	{"seed", SWEEP_SEED, false, true, false},
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

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

bool sweep_parser_find_key(struct sweep_parser *p, const char *name, struct sweep_key *key)
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
	*key = (struct sweep_key){name, SWEEP_KEY, false, true, false};
	if (is_policy_key(name, &nearest) || p->has_plugins)
		return true;
	return sweep_parser_fail(
		p,
		"unknown key %.60s%s; keys are workload, trace, gpu, memory, oversub, policy, seed and "
		"those of `uvmsim list policies`",
		name, nearest_hint(&nearest, hint));
}

/* -- values -- */

static bool add_value(struct sweep_parser *p, struct sweep_axis *axis, const struct sweep_key *key,
		      const char *text, size_t length)
{
	struct sweep_value *value;

	for (size_t i = 0; i < axis->values; i++) {
		value = &axis->value[i];
		if (value->is_other == key->is_other && strlen(value->text) == length &&
		    memcmp(value->text, text, length) == 0)
			return sweep_parser_fail(p, "%.60s: %.100s is given twice, first on line %llu",
						 key->name, value->text, (unsigned long long)value->line);
	}
	if (axis->values == SWEEP_VALUES_MAX)
		return sweep_parser_fail(p, "%.60s: more than %u values", key->name, SWEEP_VALUES_MAX);
	if (!ARRAY_RESERVE(axis->value, axis->room, axis->values + 1))
		return sweep_parser_fail(p, "out of memory");
	value = &axis->value[axis->values];
	*value = (struct sweep_value){strndup(text, length), key->is_other, p->line};
	if (!value->text)
		return sweep_parser_fail(p, "out of memory");
	axis->values++;
	return true;
}

static bool read_number(const struct sweep_key *key, const char *text, size_t length, uint64_t *number)
{
	return key->is_size ? number_parse_size(text, length, number) : number_parse(text, length, number);
}

/* FROM..TO or FROM..TO..STEP, TO included if a step meets it. */
static bool add_range(struct sweep_parser *p, struct sweep_axis *axis, const struct sweep_key *key,
		      const char *text)
{
	const char *second = strstr(text, "..") + 2, *third = strstr(second, "..");
	size_t first_length = (size_t)(second - 2 - text);
	size_t second_length = third ? (size_t)(third - second) : strlen(second);
	uint64_t from, to, step = 1;

	if (!read_number(key, text, first_length, &from) || !read_number(key, second, second_length, &to) ||
	    (third && !read_number(key, third + 2, strlen(third + 2), &step)))
		return sweep_parser_fail(p, "%.60s: \"%.100s\" is not a range; FROM..TO or FROM..TO..STEP",
					 key->name, text);
	if (step == 0 || from > to)
		return sweep_parser_fail(
			p, "%.60s: \"%.100s\" has no values; FROM is at most TO, and STEP at least 1",
			key->name, text);
	if ((to - from) / step >= SWEEP_VALUES_MAX)
		return sweep_parser_fail(p, "%.60s: \"%.100s\" has more than %u values", key->name, text,
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

bool sweep_parser_add_word(struct sweep_parser *p, struct sweep_axis *axis, const struct sweep_key *key,
			   const char *word, bool is_quoted)
{
	size_t length = strlen(word);

	if ((key->is_number || key->is_size) && !is_quoted && strstr(word, "..") != NULL)
		return add_range(p, axis, key, word);
	if (key->kind == SWEEP_KEY && (length == 0 || strcspn(word, " \t,=") != length))
		return sweep_parser_fail(p,
					 "%.60s: \"%.100s\" is not a value; values are separated by blanks",
					 key->name, word);
	if (length == 0)
		return sweep_parser_fail(p, "%.60s: a value is empty", key->name);
	return add_value(p, axis, key, word, length);
}
