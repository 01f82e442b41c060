/* Options on getopt_long. The library's own messages are off: these name the nearest option. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "number.h"
#include "say.h"

#define OPTIONS_WHERE_MAX 600

#define FIRST_VALUE 256 /* what getopt_long returns for the first option: above all characters */

static int name_length(const char *option)
{
	return (int)strcspn(option, "?=*");
}

static int bad(const struct options *options, const char *problem, const char *word)
{
	say_error("%s %.200s; see `%s`", problem, word, options->help);
	return OPTIONS_BAD;
}

static int unknown(const struct options *options, const char *word)
{
	char names[OPTIONS_MOST][NEAREST_TEXT_MAX / 2], hint[NEAREST_TEXT_MAX];
	size_t dashes = strspn(word, "-");
	struct nearest nearest;

	nearest_start(&nearest, word + dashes, strcspn(word + dashes, "="));
	for (int i = 0; i < OPTIONS_MOST && options->list[i]; i++) {
		snprintf(names[i], sizeof(names[i]), "--%.*s", name_length(options->list[i]),
			 options->list[i]);
		nearest_try(&nearest, names[i] + 2);
	}
	if (nearest.best)
		nearest.best -= 2; /* with its dashes */
	say_error("unknown option %.200s%s; see `%s`", word, nearest_hint(&nearest, hint), options->help);
	return OPTIONS_BAD;
}

/* The list as getopt_long takes it; `names` holds the texts. */
static void fill_rows(const struct options *options, struct option rows[OPTIONS_MOST + 1],
		      char names[OPTIONS_MOST][NEAREST_TEXT_MAX / 2])
{
	int i = 0;

	for (; i < OPTIONS_MOST && options->list[i]; i++) {
		const char *option = options->list[i];

		snprintf(names[i], sizeof(names[i]), "%.*s", name_length(option), option);
		rows[i] = (struct option){names[i],
					  strchr(option, '?')	? optional_argument
					  : strchr(option, '=') ? required_argument
								: no_argument,
					  NULL, FIRST_VALUE + i};
	}
	rows[i] = (struct option){NULL, 0, NULL, 0};
}

/* getopt_long accepts the beginning of a name. */
static bool is_spelled_out(const char *word, const char *option)
{
	size_t length = (size_t)name_length(option);

	return strlen(word) >= 2 + length && (word[2 + length] == '\0' || word[2 + length] == '=');
}

static int take(struct options *options, int index, const char *word, const char **value)
{
	const char *option = options->list[index];
	uint64_t bit = UINT64_C(1) << index;

	if ((options->seen & bit) != 0 && !strchr(option, '*')) {
		say_error("%.*s is given twice", (int)strcspn(word, "="), word);
		return OPTIONS_BAD;
	}
	options->seen |= bit;
	*value = optarg;
	return index;
}

static int end_or_operand(struct options *options, const char **value)
{
	if (options->next >= options->argc || options->stops)
		return OPTIONS_END;
	options->is_literal = true; /* else getopt_long had returned the operand */
	*value = options->argv[options->next++];
	return OPTIONS_OPERAND;
}

int options_next(struct options *options, const char **value)
{
	char names[OPTIONS_MOST][NEAREST_TEXT_MAX / 2];
	struct option rows[OPTIONS_MOST + 1];
	const char *word;
	int found, index;

	*value = NULL;
	if (options->is_literal)
		return end_or_operand(options, value);
	fill_rows(options, rows, names);
	word = options->next < options->argc ? options->argv[options->next ? options->next : 1] : NULL;
	optind = options->next; /* 0 restarts getopt_long */
	opterr = 0;
	found = getopt_long(options->argc, options->argv, options->stops ? "+:" : "-:", rows, NULL);
	options->next = optind;
	if (found == -1)
		return end_or_operand(options, value);
	if (found == 1) {
		*value = optarg;
		return OPTIONS_OPERAND;
	}
	index = (found == ':' || found == '?' ? optopt : found) - FIRST_VALUE;
	if (index < 0 || !is_spelled_out(word, options->list[index]))
		return unknown(options, word);
	if (found == ':')
		return bad(options, "a value must follow", word);
	if (found == '?')
		return bad(options, "no value is accepted by", word);
	return take(options, index, word, value);
}

/* -- values -- */

bool options_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t value;

	if (number_parse(text, strlen(text), &value) && value >= min && value <= max) {
		*number = value;
		return true;
	}
	say_error("%s: \"%.100s\" is not accepted; %llu..%llu", option, text, (unsigned long long)min,
		  (unsigned long long)max);
	return false;
}

bool options_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes)
{
	char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	uint64_t value;

	if (number_parse_size(text, strlen(text), &value) && value >= min && value <= max) {
		*bytes = value;
		return true;
	}
	number_print_size(least, min);
	number_print_size(most, max);
	say_error("%s: \"%.100s\" is not accepted; %s..%s " NUMBER_SIZE_HINT, option, text, least, most);
	return false;
}

static const struct uvmp_plugins *plugins; /* NULL: none */

void options_use_plugins(const struct uvmp_plugins *list)
{
	plugins = list;
}

void options_policy_error(const char *where, const char *text, enum uvmp_status status,
			  const struct uvmp_policy_error *error)
{
	char hint[NEAREST_TEXT_MAX];

	say_error("%s: %s%s; see `uvmsim list %s`", where,
		  error->text[0] != '\0' ? error->text : uvmp_status_text(status),
		  nearest_policy(text, plugins, error, hint), nearest_policy_list(text, plugins, error));
}

bool options_policy(const char *option, const char *text, struct uvmp_policy *policy)
{
	struct uvmp_policy_error error = {0, 0, ""};
	enum uvmp_status status = uvmp_policy_parse_plugins(text, strlen(text), plugins, policy, &error);
	char where[OPTIONS_WHERE_MAX];

	if (status == UVMP_OK)
		return true;
	snprintf(where, sizeof(where), "%s: character %lu", option, (unsigned long)error.offset + 1u);
	options_policy_error(where, text, status, &error);
	return false;
}

int options_choice(const char *option, const char *text, const char *const *words)
{
	char all[256] = "", hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, text, strlen(text));
	for (int i = 0; words[i]; i++) {
		if (strcmp(text, words[i]) == 0)
			return i;
		nearest_try(&nearest, words[i]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", words[i]);
	}
	say_error("%s %.100s: not one of %s%s", option, text, all, nearest_hint(&nearest, hint));
	return -1;
}

int options_format(const char *option, const char *text)
{
	static const char *const formats[] = {"table", "json", "csv", NULL};

	return options_choice(option, text, formats);
}
