/* Pairs of runs: see sweep_compare.h. The runs of one workload and seed are one case. In it the logarithms of the ratios of all
 * pairs, which differ in the key alone, have a mean: the observation. Further parameters do not add observations, because their
 * runs make the same accesses. */
#include "sweep_compare.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"
#include "array.h"
#include "csv_line.h"
#include "nearest.h"
#include "number.h"
#include "results.h"
#include "sweep_file.h"

enum {
	FIRST_PARAMETER = 4,
	PARAMETERS_MAX = SWEEP_AXES_MAX,
	NAME_MAX_BYTES = 64,
	FIELD_MAX = 4096,
	CASE_MAX = 16384
};

/* A complete run. */
struct entry {
	char *source, *seed; /* the case; "" if it is the key, or no parameter */
	char *others;	     /* further parameters but the key */
	size_t value;	     /* of the key, numbered in the order of the sweep */
	uint64_t number;
};

struct table {
	struct comparisons *to;
	struct results results;
	size_t parameters_end;	  /* column */
	size_t key, source, seed; /* columns; SIZE_MAX: none */
	size_t column, is_complete;
	struct entry *entry;
	size_t entries, room, incomplete;
	char **value;
	size_t values, values_room;
};

/* -- columns -- */

/* `policy` stands for policy_given, and so on. */
static bool find_key(struct table *t, const char *key)
{
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
		say_error("--compare: %.60s is no parameter of this sweep%s", key,
			  nearest_hint(&nearest, hint));
	return false;
}

static bool has_times(const struct table *t, size_t column)
{
	char field[32];

	return t->results.count > 0 && column != SIZE_MAX &&
	       csv_line_field(t->results.line[0].text, column, field, sizeof(field)) && field[0] != '\0';
}

static bool find_columns(struct table *t, const char *key, const char *column)
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
static size_t number_of(struct table *t, const char *text)
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

static void read_field(const struct table *t, size_t i, const char *field, struct texts *to)
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
static bool read_texts(const struct table *t, const char *line, struct texts *to)
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

static bool add_entry(struct table *t, struct texts *texts, const char *line)
{
	struct entry *entry;
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
	*entry = (struct entry){strdup(texts->source), strdup(texts->seed), strdup(texts->others), value,
				texts->number};
	if (entry->source && entry->seed && entry->others)
		return true;
	say_error("out of memory");
	return false;
}

static bool is_case(const struct entry *a, const struct entry *b)
{
	return strcmp(a->source, b->source) == 0 && strcmp(a->seed, b->seed) == 0;
}

/* By case, in it by the other parameters, and the base first. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->source, y->source);

	if (order == 0)
		order = strcmp(x->seed, y->seed);
	if (order == 0)
		order = strcmp(x->others, y->others);
	return order != 0 ? order : x->value < y->value ? -1 : x->value > y->value;
}

/* -- observations -- */

struct observation {
	const char *source;
	int64_t sum; /* of logarithms */
	size_t pairs;
	uint64_t hash; /* of all numbers */
};

static bool is_equal(const struct observation *a, const struct observation *b)
{
	return a->hash == b->hash && a->sum == b->sum && a->pairs == b->pairs;
}

/* If all seeds of a workload have given the same numbers, its runs do not depend on the seed, and the cases count as one. Returns
 * how many observations are left. */
static size_t drop_repeated(struct observation *o, size_t count, size_t *repeated)
{
	size_t kept = 0, end;

	for (size_t first = 0; first < count; first = end) {
		bool is_repeated = true;

		for (end = first; end < count && strcmp(o[first].source, o[end].source) == 0; end++)
			is_repeated = is_repeated && is_equal(&o[first], &o[end]);
		for (size_t i = first; i < (is_repeated ? first + 1 : end); i++)
			o[kept++] = o[i];
		*repeated += is_repeated ? end - first - 1 : 0;
	}
	return kept;
}

static void add_pair(struct observation *o, uint64_t base, uint64_t number, size_t *zeros)
{
	o->pairs++;
	o->hash = (o->hash ^ base) * UINT64_C(0x9e3779b97f4a7c15);
	o->hash = (o->hash ^ number ^ o->hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	if ((base == 0) != (number == 0))
		(*zeros)++;
	else if (base != 0)
		o->sum += statistics_log2(number) - statistics_log2(base);
}

/* The observation of the case that begins with entry `first`; returns where the next case begins. */
static size_t observe(const struct table *t, size_t first, size_t value, struct observation *o, size_t *zeros)
{
	const struct entry *base = NULL, *e = &t->entry[first];
	size_t i = first;

	*o = (struct observation){.source = e->source};
	for (; i < t->entries && is_case(&t->entry[first], &t->entry[i]); i++) {
		e = &t->entry[i];
		if (e->value == 0)
			base = e;
		else if (e->value == value && base && strcmp(base->others, e->others) == 0)
			add_pair(o, base->number, e->number, zeros);
	}
	return i;
}

static bool compare_value(const struct table *t, size_t value, struct comparison *c)
{
	struct observation *o = array_zeros(t->entries + 1u, sizeof(*o));
	int64_t *log = array_zeros(t->entries + 1u, sizeof(*log));
	size_t count = 0;
	bool is_good = o && log;

	for (size_t i = 0; i < t->entries && is_good;) {
		i = observe(t, i, value, &o[count], &c->zeros);
		c->pairs += o[count].pairs;
		count += o[count].pairs != 0;
	}
	count = is_good ? drop_repeated(o, count, &c->repeated) : 0;
	for (size_t i = 0; i < count; i++)
		log[i] = o[i].sum / (int64_t)o[i].pairs;
	is_good = is_good && statistics_of(log, count, &c->statistics);
	free(o);
	free(log);
	return is_good;
}

/* -- the whole -- */

static int compare_all(struct table *t, enum report_format format)
{
	struct comparisons *to = t->to;
	struct texts *texts = calloc(1, sizeof(*texts));
	bool is_good = texts != NULL;

	for (size_t i = 0; i < t->results.count && is_good; i++)
		is_good = add_entry(t, texts, t->results.line[i].text);
	free(texts);
	if (!is_good)
		return CLI_BAD_INPUT;
	if (t->values < 2)
		return say_error("--compare: %.60s has one value in %.200s", to->key, to->path);
	if (t->incomplete != 0)
		say_note("%zu runs are not complete, and are left out", t->incomplete);
	qsort(t->entry, t->entries, t->entries != 0 ? sizeof(*t->entry) : 1u, compare);
	to->base = t->value[0];
	to->comparison = array_zeros(t->values - 1u, sizeof(*to->comparison));
	to->count = t->values - 1u;
	for (size_t i = 0; i < to->count; i++) {
		if (!to->comparison || !compare_value(t, i + 1u, &to->comparison[i]))
			return say_error("out of memory");
		to->comparison[i].value = t->value[i + 1u];
	}
	comparisons_print(to, format, stdout);
	return CLI_DONE;
}

static void close_table(struct table *t)
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

int sweep_compare(const char *path, const char *key, const char *column, enum report_format format)
{
	struct comparisons to = {.path = path, .key = key};
	struct table t = {.to = &to};
	char error[RESULTS_ERROR_MAX];
	FILE *in = cli_open(path);
	int status = CLI_BAD_INPUT;
	uint64_t end;

	if (!in)
		return CLI_BAD_INPUT;
	if (!results_read(&t.results, in, path, &end, error) || !results_sort(&t.results, error))
		say_error("--compare: %s", error);
	else if (!t.results.has_key)
		say_error("--compare: %.200s has no results", path);
	else if (find_columns(&t, key, column))
		status = compare_all(&t, format);
	cli_close(in);
	close_table(&t);
	return status;
}
