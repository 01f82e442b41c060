/* Comparisons as a table, JSON and CSV. */
#include "sweep_compare.h"

#include "quote.h"

typedef long long number;

static const char *verdict_of(const struct comparison *c)
{
	if (c->zeros != 0)
		return "no ratio: a number is 0";
	if (c->statistics.pairs == 0)
		return "no pairs";
	if (c->statistics.p * 20 > STATISTICS_ONE)
		return "no difference shown";
	return c->statistics.mean < 0 ? "less" : "more";
}

static bool has_ratio(const struct comparison *c)
{
	return c->zeros == 0 && c->statistics.pairs != 0;
}

/* Millionths with four digits. */
static void print_ratio(char text[32], bool is_known, int64_t value, const char *unknown)
{
	value = (value + 50) / 100;
	if (is_known)
		snprintf(text, 32, "%lld.%04lld", (number)(value / 10000), (number)(value % 10000));
	else
		snprintf(text, 32, "%s", unknown);
}

struct texts {
	char ratio[32], low[32], high[32], p[32];
};

static void print_texts(struct texts *texts, const struct comparison *c, const char *unknown)
{
	const struct statistics *s = &c->statistics;
	bool is_known = has_ratio(c), has_interval = is_known && s->has_interval;

	print_ratio(texts->ratio, is_known, statistics_exp2(s->mean), unknown);
	print_ratio(texts->low, has_interval, statistics_exp2(s->low), unknown);
	print_ratio(texts->high, has_interval, statistics_exp2(s->high), unknown);
	print_ratio(texts->p, is_known, s->p, unknown);
}

/* What is compared: the same four texts in both formats. */
static void print_case(const struct comparisons *all, const struct comparison *c, enum report_format format, FILE *out)
{
	const struct {
		const char *key, *value;
	} texts[] = {{"key", all->key}, {"value", c->value}, {"base", all->base}, {"column", all->column}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (format == REPORT_CSV) {
			quote_csv(texts[i].value, out);
			fputc(',', out);
		} else {
			fprintf(out, "%s\"%s\": ", i != 0 ? ", " : "", texts[i].key);
			quote_json(texts[i].value, out);
		}
	}
}

static void print_json(const struct comparisons *all, const struct comparison *c, FILE *out)
{
	const struct statistics *s = &c->statistics;
	struct texts texts;

	print_texts(&texts, c, "null");
	fputc('{', out);
	print_case(all, c, REPORT_JSON, out);
	fprintf(out,
		", \"cases\": %zu, \"pairs\": %zu, \"repeated\": %zu, \"zeros\": %zu, \"less\": %zu, "
		"\"equal\": %zu, \"more\": %zu, \"ratio\": %s, "
		"\"ratio_low\": %s, \"ratio_high\": %s, \"p\": %s, \"verdict\": \"%s\"}",
		s->pairs, c->pairs, c->repeated, c->zeros, s->less, s->equal, s->more, texts.ratio, texts.low,
		texts.high, texts.p, verdict_of(c));
}

static void print_csv(const struct comparisons *all, const struct comparison *c, FILE *out)
{
	const struct statistics *s = &c->statistics;
	struct texts texts;

	print_texts(&texts, c, "");
	print_case(all, c, REPORT_CSV, out);
	fprintf(out, "%zu,%zu,%zu,%zu,%zu,%zu,%zu,%s,%s,%s,%s,%s\n", s->pairs, c->pairs, c->repeated,
		c->zeros, s->less, s->equal, s->more, texts.ratio, texts.low, texts.high, texts.p,
		verdict_of(c));
}

static void print_row(const struct comparison *c, FILE *out)
{
	const struct statistics *s = &c->statistics;
	struct texts texts;
	char interval[72];

	print_texts(&texts, c, "-");
	snprintf(interval, sizeof(interval), "%s..%s", texts.low, texts.high);
	fprintf(out, "%-24s %6zu %6zu %6zu %6zu %6zu %10s %20s %8s  %s\n", c->value, c->pairs, s->pairs,
		s->less, s->equal, s->more, texts.ratio, has_ratio(c) && s->has_interval ? interval : "-",
		texts.p, verdict_of(c));
}

static void print_table(const struct comparisons *all, FILE *out)
{
	size_t repeated = 0;

	fprintf(out, "%s of %s, against %s=%s\n\n", all->column, all->path, all->key, all->base);
	fprintf(out, "%-24s %6s %6s %6s %6s %6s %10s %20s %8s\n", all->key, "pairs", "cases", "less", "equal",
		"more", "ratio", "95 % interval", "p");
	for (size_t i = 0; i < all->count; i++) {
		print_row(&all->comparison[i], out);
		repeated += all->comparison[i].repeated;
	}
	if (repeated != 0)
		fprintf(out,
			"\n%zu cases are left out: all seeds of their workload have given the same "
			"numbers.\n",
			repeated);
}

void comparisons_print(const struct comparisons *all, enum report_format format, FILE *out)
{
	if (format == REPORT_TABLE) {
		print_table(all, out);
		return;
	}
	if (format == REPORT_CSV)
		fputs("key,value,base,column,cases,pairs,repeated,zeros,less,equal,more,ratio,ratio_low,"
		      "ratio_high,p,verdict\n",
		      out);
	for (size_t i = 0; i < all->count; i++) {
		if (format == REPORT_JSON)
			fputs(i == 0 ? "[" : ",\n ", out);
		if (format == REPORT_JSON)
			print_json(all, &all->comparison[i], out);
		else
			print_csv(all, &all->comparison[i], out);
	}
	if (format == REPORT_JSON)
		fputs("]\n", out);
}
