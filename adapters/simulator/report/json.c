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

static void json_number(const char *key, const char *rank, bool is_known, uint64_t value, FILE *out)
{
	fprintf(out, ", \"%s%s\": ", key, rank);
	if (is_known)
		fprintf(out, "%llu", (unsigned long long)value);
	else
		fputs("null", out);
}

void report_json_memory(const struct sim_memory *memory, FILE *out)
{
	json_number("oversub_percent", "", memory->bytes == 0, memory->oversub_percent, out);
	json_number("memory_asked", "", memory->bytes != 0, memory->bytes, out);
}

static void json_draws(const struct row *row, const struct report *report, FILE *out)
{
	struct report_sign sign;
	bool has_sign = report_sign(row, &sign);
	char key[64];

	json_number("draw", "", report->draws != 0, report->draw, out);
	fprintf(out, ", \"draws\": %zu", report_drawn(row));
	for (size_t i = 0; i < REPORT_SEEDED; i++) {
		snprintf(key, sizeof(key), "%s_draws_", report_seeded[i].key);
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			uint64_t value = 0;
			bool is_known = report_drawn_rank(row, &report_seeded[i], rank, &value);

			json_number(key, report_rank_keys[rank], is_known, value, out);
		}
	}
	json_number("draws_faster", "", has_sign, sign.faster, out);
	json_number("draws_slower", "", has_sign, sign.slower, out);
	for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
		json_number("time_permille_draws_", report_rank_keys[rank], has_sign, sign.permille[rank], out);
}

void report_json_run(const struct row *row, const struct report *report, FILE *out)
{
	struct row one = report_without_draws(row);

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
	json_seeds(&one, out);
	json_number("bound_h2d_bytes", "", report->has_bound, report->bound_h2d_bytes, out);
	json_number("bound_d2h_bytes", "", report->has_bound, report->bound_d2h_bytes, out);
	fprintf(out, ", \"faults_only\": %s", report->has_faults_only ? "true" : "false");
	report_json_memory(&report->memory, out);
	json_text("version", UVMSIM_VERSION, out);
	json_draws(row, report, out);
	fputc('}', out);
}
