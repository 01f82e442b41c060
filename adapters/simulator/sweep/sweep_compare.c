/* Pairs of runs: see sweep_compare.h. The runs of one workload and seed are one case. In it the logarithms of the ratios of all
 * pairs, which differ in the key alone, have a mean: the observation. Further parameters do not add observations, because their
 * runs make the same accesses. */
#include "sweep_compare.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"
#include "array.h"
#include "sweep_table.h"

static bool is_case(const struct sweep_entry *a, const struct sweep_entry *b)
{
	return strcmp(a->source, b->source) == 0 && strcmp(a->seed, b->seed) == 0;
}

/* By case, in it by the other parameters, and the base first. */
static int compare(const void *a, const void *b)
{
	const struct sweep_entry *x = a, *y = b;
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
static size_t observe(const struct sweep_table *t, size_t first, size_t value, struct observation *o,
		      size_t *zeros)
{
	const struct sweep_entry *base = NULL, *e = &t->entry[first];
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

static bool compare_value(const struct sweep_table *t, size_t value, struct comparison *c)
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

static int compare_all(struct sweep_table *t, enum report_format format)
{
	struct comparisons *to = t->to;

	if (!sweep_table_read(t))
		return CLI_BAD_INPUT;
	if (t->values < 2)
		return say_error("--compare: %.60s has one value in %.200s", to->key, to->path);
	if (t->incomplete != 0)
		say_note("%zu runs are not complete, and are left out", t->incomplete);
	if (t->entries != 0)
		qsort(t->entry, t->entries, sizeof(*t->entry), compare);
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

int sweep_compare(const char *path, const char *key, const char *column, enum report_format format)
{
	struct comparisons to = {.path = path, .key = key};
	struct sweep_table t = {.to = &to};
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
	else if (sweep_table_find_columns(&t, key, column))
		status = compare_all(&t, format);
	cli_close(in);
	sweep_table_close(&t);
	return status;
}
