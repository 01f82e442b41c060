/* From lines to runs: see sweep_table.h. */
#include "sweep_table.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"
#include "array.h"
#include "csv_line.h"
#include "nearest.h"
#include "number.h"
#include "sweep_file.h"

enum {
	FIRST_PARAMETER = 4,
	PARAMETERS_MAX = SWEEP_AXES_MAX,
	NAME_MAX_BYTES = 64,
	FIELD_MAX = 4096,
	CASE_MAX = 16384
};

/* -- columns -- */

/* `policy` stands for policy_given, and so on. */
static bool find_key(struct sweep_table *t, const char *given)
{
	/* as in the file of the sweep, where they are one key each */
	const char *key = strcmp(given, "oversub") == 0 ? "memory" : strcmp(given, "trace") == 0 ? "workload" : given;
	char hint[NEAREST_TEXT_MAX], names[PARAMETERS_MAX][NAME_MAX_BYTES];
	const char *header = t->results.header;
	struct nearest nearest;

	nearest_start(&nearest, key, strlen(key));
	t->seed = t->source = t->key = SIZE_MAX;
	for (size_t i = FIRST_PARAMETER; i < t->parameters_end && i < FIRST_PARAMETER + PARAMETERS_MAX; i++) {
		char *field = names[i - FIRST_PARAMETER];
		size_t length;

		(void)csv_line_field(header, i, field, NAME_MAX_BYTES);
		length = strlen(field);
		if (length > 6 && strcmp(field + length - 6, "_given") == 0)
			field[length - 6] = '\0';
		if (strcmp(field, "seed") == 0)
			t->seed = i;
		if (strcmp(field, "workload") == 0)
			t->source = i;
		if (strcmp(field, key) == 0)
			t->key = i;
		nearest_try(&nearest, field);
	}
	if (t->key != SIZE_MAX && t->key != t->seed)
		return true;
	if (t->key != SIZE_MAX)
		say_error("--compare: seeds are samples of chance; their values are not compared");
	else
		say_error("--compare: %.60s is no parameter of this sweep%s", given,
			  nearest_hint(&nearest, hint));
	return false;
}

static bool has_times(const struct sweep_table *t, size_t column)
{
	char field[32];

	return t->results.count > 0 && column != SIZE_MAX &&
	       csv_line_field(t->results.line[0].text, column, field, sizeof(field)) && field[0] != '\0';
}

bool sweep_table_find_columns(struct sweep_table *t, const char *key, const char *column)
{
	const char *header = t->results.header;
	size_t times = csv_line_find(header, "time_ns");

	t->parameters_end = csv_line_find(header, "workload");
	t->is_complete = csv_line_find(header, "complete");
	if (t->parameters_end == SIZE_MAX || t->is_complete == SIZE_MAX) {
		say_error("--compare: %.200s: there is no column workload or complete", t->to->path);
		return false;
	}
	if (!find_key(t, key))
		return false;
	t->to->column = column ? column : has_times(t, times) ? "time_ns" : "far_faults";
	t->column = csv_line_find(header, t->to->column);
	if (t->column != SIZE_MAX && t->column > t->parameters_end)
		return true;
	say_error("--of: %.60s is no result of this sweep", t->to->column);
	return false;
}

/* -- rows -- */

/* The number of a value, which is new or not; SIZE_MAX: out of memory. */
static size_t number_of(struct sweep_table *t, const char *text)
{
	size_t i = 0;

	while (i < t->values && strcmp(t->value[i], text) != 0)
		i++;
	if (i < t->values)
		return i;
	if (!ARRAY_RESERVE(t->value, t->values_room, t->values + 1))
		return SIZE_MAX;
	t->value[i] = strdup(text);
	return t->value[i] ? t->values++ : SIZE_MAX;
}

/* The texts of a line. */
struct texts {
	char value[FIELD_MAX], source[FIELD_MAX], seed[FIELD_MAX], others[CASE_MAX];
	size_t used; /* of others */
	bool is_complete, is_number;
	uint64_t number;
};

static void read_field(const struct sweep_table *t, size_t i, const char *field, struct texts *to)
{
	if (i == t->key)
		snprintf(to->value, FIELD_MAX, "%s", field);
	else if (i == t->source)
		snprintf(to->source, FIELD_MAX, "%s", field);
	else if (i == t->seed)
		snprintf(to->seed, FIELD_MAX, "%s", field);
	else if (i >= FIRST_PARAMETER && i < t->parameters_end && to->used < CASE_MAX)
		to->used += (size_t)snprintf(to->others + to->used, CASE_MAX - to->used, "%s\x1f", field);
	if (i == t->is_complete)
		to->is_complete = strcmp(field, "1") == 0;
	if (i == t->column)
		to->is_number = number_parse(field, strlen(field), &to->number);
}

/* False: the line has no number in the column. */
static bool read_texts(const struct sweep_table *t, const char *line, struct texts *to)
{
	char field[FIELD_MAX];

	to->source[0] = to->seed[0] = to->others[0] = '\0';
	to->used = 0;
	to->is_number = false;
	for (size_t i = 0; line; i++) {
		if (!csv_line_next(&line, field, sizeof(field)))
			return false;
		read_field(t, i, field, to);
	}
	return to->is_number && to->used < CASE_MAX;
}

static bool add_entry(struct sweep_table *t, struct texts *texts, const char *line)
{
	struct sweep_entry *entry;
	size_t value;

	if (!read_texts(t, line, texts)) {
		say_error("--of: %.60s is not a whole number in every line of %.200s", t->to->column,
			  t->to->path);
		return false;
	}
	value = number_of(t, texts->value);
	t->incomplete += !texts->is_complete;
	if (value == SIZE_MAX || !ARRAY_RESERVE(t->entry, t->room, t->entries + 1)) {
		say_error("out of memory");
		return false;
	}
	if (!texts->is_complete)
		return true;
	entry = &t->entry[t->entries++];
	*entry = (struct sweep_entry){strdup(texts->source), strdup(texts->seed), strdup(texts->others),
				      value, texts->number};
	if (entry->source && entry->seed && entry->others)
		return true;
	say_error("out of memory");
	return false;
}

bool sweep_table_read(struct sweep_table *t)
{
	struct texts *texts = calloc(1, sizeof(*texts));
	bool is_good = texts != NULL;

	if (!texts)
		say_error("out of memory");
	for (size_t i = 0; i < t->results.count && is_good; i++)
		is_good = add_entry(t, texts, t->results.line[i].text);
	free(texts);
	return is_good;
}

void sweep_table_close(struct sweep_table *t)
{
	for (size_t i = 0; i < t->entries; i++) {
		free(t->entry[i].source);
		free(t->entry[i].seed);
		free(t->entry[i].others);
	}
	for (size_t i = 0; i < t->values; i++)
		free(t->value[i]);
	free(t->entry);
	free(t->value);
	free(t->to->comparison);
	results_close(&t->results);
}
