/* Results as JSON. */
#include "report_internal.h"

#include "quote.h"

static void json_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ", \"%s\": %llu", field->key, (unsigned long long)report_value(report, field));
	else
		fprintf(out, ", \"%s\": null", field->key);
}

static void json_spread(const struct report *report, const struct field *field, FILE *out)
{
	for (enum statistic k = LEAST; k < STATISTICS; k++) {
		fprintf(out, ", \"%s_%s\": ", field->key, report_statistic_keys[k]);
		if (report->gpu)
			fprintf(out, "%llu", (unsigned long long)report_statistic(report, field, k));
		else
			fputs("null", out);
	}
}

static void json_text(const char *key, const char *text, FILE *out)
{
	fprintf(out, ", \"%s\": ", key);
	if (text)
		quote_json(text, out);
	else
		fputs("null", out);
}

static void json_seeds(const struct row *row, FILE *out)
{
	fprintf(out, ", \"seeds\": %zu", report_complete(row));
	for (size_t i = 0; i < REPORT_SEEDED; i++) {
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			fprintf(out, ", \"%s_seeds_%s\": ", report_seeded[i].key, report_rank_keys[rank]);
			if (report_has_seeded(row, &report_seeded[i]))
				fprintf(out, "%llu",
					(unsigned long long)report_field_rank(row, &report_seeded[i], rank));
			else
				fputs("null", out);
		}
	}
}

void report_json_run(const struct row *row, const struct report *report, FILE *out)
{
	fprintf(out, "{\"workload\": ");
	quote_json(report->workload, out);
	json_text("gpu", report->gpu, out);
	json_text("policy", report->policy, out);
	json_text("preset", report->preset, out);
	fprintf(out, ", \"seed\": %llu, \"complete\": %s", (unsigned long long)report->seed,
		report->is_complete ? "true" : "false");
	json_text("error", report->error, out);
	json_time(report, &report_times[0], out);
	for (size_t i = 0; i < REPORT_FIELDS; i++)
		fprintf(out, ", \"%s\": %llu", report_fields[i].key,
			(unsigned long long)report_value(report, &report_fields[i]));
	for (size_t i = 1; i < REPORT_TIMES; i++)
		json_time(report, &report_times[i], out);
	for (size_t i = 0; i < REPORT_SPREADS; i++)
		json_spread(report, &report_spreads[i], out);
	json_seeds(row, out);
	if (report->has_bound)
		fprintf(out, ", \"bound_h2d_bytes\": %llu, \"bound_d2h_bytes\": %llu}",
			(unsigned long long)report->bound_h2d_bytes,
			(unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ", \"bound_h2d_bytes\": null, \"bound_d2h_bytes\": null}");
}
