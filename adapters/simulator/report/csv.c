/* Results as CSV. */
#include "report_internal.h"

#include "quote.h"

static void csv_spread_keys(size_t first, size_t end, FILE *out)
{
	for (size_t i = first; i < end; i++)
		for (enum statistic k = LEAST; k < STATISTICS; k++)
			fprintf(out, ",%s_%s", report_spreads[i].key, report_statistic_keys[k]);
}

void report_csv_header(bool has_version, FILE *out)
{
	fprintf(out, "workload,gpu,policy,seed,complete,time_ns");
	for (size_t i = 0; i < REPORT_FIELDS; i++)
		fprintf(out, ",%s", report_fields[i].key);
	for (size_t i = 1; i < REPORT_TIMES - REPORT_LATE; i++)
		fprintf(out, ",%s", report_times[i].key);
	csv_spread_keys(0, REPORT_SPREADS - REPORT_LATE_SPREADS, out);
	fprintf(out, ",bound_h2d_bytes,bound_d2h_bytes,preset,error,seeds");
	for (size_t i = 0; i < REPORT_SEEDED; i++)
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
			fprintf(out, ",%s_seeds_%s", report_seeded[i].key, report_rank_keys[rank]);
	for (size_t i = REPORT_TIMES - REPORT_LATE; i < REPORT_TIMES; i++)
		fprintf(out, ",%s", report_times[i].key);
	fprintf(out, ",draw,draws");
	for (size_t i = 0; i < REPORT_SEEDED; i++)
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
			fprintf(out, ",%s_draws_%s", report_seeded[i].key, report_rank_keys[rank]);
	fprintf(out, ",draws_faster,draws_slower");
	for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
		fprintf(out, ",time_permille_draws_%s", report_rank_keys[rank]);
	csv_spread_keys(REPORT_SPREADS - REPORT_LATE_SPREADS, REPORT_SPREADS, out);
	fprintf(out, ",oversub_percent,memory_asked%s,faults_only\n", has_version ? ",version" : "");
}

static void csv_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ",%llu", (unsigned long long)report_value(report, field));
	else
		fputc(',', out);
}

static void csv_spread(const struct report *report, const struct field *field, FILE *out)
{
	for (enum statistic k = LEAST; k < STATISTICS; k++) {
		fputc(',', out);
		if (report->gpu)
			fprintf(out, "%llu", (unsigned long long)report_statistic(report, field, k));
	}
}

static void csv_text(const char *text, FILE *out)
{
	fputc(',', out);
	if (text)
		quote_csv(text, out);
}

static void csv_seeds(const struct row *row, FILE *out)
{
	fprintf(out, ",%zu", report_complete(row));
	for (size_t i = 0; i < REPORT_SEEDED; i++) {
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			fputc(',', out);
			if (report_has_seeded(row, &report_seeded[i]))
				fprintf(out, "%llu",
					(unsigned long long)report_field_rank(row, &report_seeded[i], rank));
		}
	}
}

static void csv_number(bool is_known, uint64_t value, FILE *out)
{
	fputc(',', out);
	if (is_known)
		fprintf(out, "%llu", (unsigned long long)value);
}

void report_csv_memory(const struct sim_memory *memory, FILE *out)
{
	csv_number(memory->bytes == 0, memory->oversub_percent, out);
	csv_number(memory->bytes != 0, memory->bytes, out);
}

static void csv_draws(const struct row *row, const struct report *report, FILE *out)
{
	struct report_sign sign;
	bool has_sign = report_sign(row, &sign);

	csv_number(report->draws != 0, report->draw, out);
	csv_number(true, report_drawn(row), out);
	for (size_t i = 0; i < REPORT_SEEDED; i++) {
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			uint64_t value = 0;
			bool is_known = report_drawn_rank(row, &report_seeded[i], rank, &value);

			csv_number(is_known, value, out);
		}
	}
	csv_number(has_sign, sign.faster, out);
	csv_number(has_sign, sign.slower, out);
	for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
		csv_number(has_sign, sign.permille[rank], out);
}

void report_csv_run(const struct row *row, const struct report *report, bool has_version, FILE *out)
{
	struct row one = report_without_draws(row);

	quote_csv(report->workload, out);
	csv_text(report->gpu, out);
	csv_text(report->policy, out);
	fprintf(out, ",%llu,%d", (unsigned long long)report->seed, report->is_complete);
	csv_time(report, &report_times[0], out);
	for (size_t i = 0; i < REPORT_FIELDS; i++)
		fprintf(out, ",%llu", (unsigned long long)report_value(report, &report_fields[i]));
	for (size_t i = 1; i < REPORT_TIMES - REPORT_LATE; i++)
		csv_time(report, &report_times[i], out);
	for (size_t i = 0; i < REPORT_SPREADS - REPORT_LATE_SPREADS; i++)
		csv_spread(report, &report_spreads[i], out);
	if (report->has_bound)
		fprintf(out, ",%llu,%llu", (unsigned long long)report->bound_h2d_bytes,
			(unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ",,");
	csv_text(report->preset, out);
	csv_text(report->error, out);
	csv_seeds(&one, out);
	for (size_t i = REPORT_TIMES - REPORT_LATE; i < REPORT_TIMES; i++)
		csv_time(report, &report_times[i], out);
	csv_draws(row, report, out);
	for (size_t i = REPORT_SPREADS - REPORT_LATE_SPREADS; i < REPORT_SPREADS; i++)
		csv_spread(report, &report_spreads[i], out);
	report_csv_memory(&report->memory, out);
	fprintf(out, "%s,%d\n", has_version ? "," UVMSIM_VERSION : "", report->has_faults_only);
}
