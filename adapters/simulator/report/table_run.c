/* The table of one run. */
#include "report_internal.h"

#include "cli.h"

static void print_field(const struct report *report, const struct field *field, FILE *out)
{
	static const char *const units[] = {"", " MiB", " ms"};
	uint64_t value = report_value(report, field);
	char text[32];

	if (field->text == NULL)
		return;
	if (field->unit == AS_BYTES)
		report_print_mib(text, value);
	else if (field->unit == AS_TIME)
		report_print_thousandths(text, value / 1000u, 3);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	fprintf(out, "%-32s %16s%s\n", field->text, text, units[field->unit]);
}

/* Rounded down: 100.0 % are all. */
static void print_hits(const char *text, uint64_t hits, uint64_t misses, FILE *out)
{
	uint64_t all = hits + misses;
	uint64_t tenths = all > UINT64_MAX / 1000u ? hits / (all / 1000u) : all ? hits * 1000u / all : 0;

	if (all != 0)
		fprintf(out, "%-32s %14llu.%llu %%\n", text, (unsigned long long)(tenths / 10u),
			(unsigned long long)(tenths % 10u));
}

static void print_spread(const struct report *report, const struct field *field, FILE *out)
{
	char text[32];

	fprintf(out, "%-28s", field->text);
	for (enum statistic k = LEAST; k < STATISTICS; k++) {
		uint64_t value = report_statistic(report, field, k);

		if (field->unit == AS_TIME)
			report_print_thousandths(text, value, 1);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		fprintf(out, " %10s", text);
	}
	fputc('\n', out);
}

/* The copies of one direction, in bytes. */
struct copies {
	const char *text;
	uint64_t count, bytes, least, most;
};

/* Under the columns of the batches, of which copies have no median and no 90 %. */
static void print_copies(const struct copies *copies, bool has_time, FILE *out)
{
	char kib[3][32];

	if (copies->count == 0)
		return;
	report_print_kib(kib[0], copies->least);
	report_print_kib(kib[1], copies->most);
	report_print_kib(kib[2], copies->bytes / copies->count);
	fprintf(out, "%-28s %10s%*s %10s %10s\n", copies->text, kib[0], has_time ? 22 : 0, "", kib[1],
		kib[2]);
}

/* How batches and copies are spread; without time there is nothing to be said about batches. */
static void print_spreads(const struct report *report, FILE *out)
{
	const struct sim_result *result = &report->result;
	bool has_batches = report->gpu && result->batches != 0;
	struct copies in = {"copies to the GPU, KiB", result->h2d_copies, result->h2d_bytes,
			    result->h2d_least_bytes, result->h2d_most_bytes};
	struct copies out_copies = {"copies to the CPU, KiB", result->d2h_copies, result->d2h_bytes,
				    result->d2h_least_bytes, result->d2h_most_bytes};

	if (!has_batches && result->h2d_copies == 0 && result->d2h_copies == 0)
		return;
	if (report->gpu)
		fprintf(out, "\n%-28s %10s %10s %10s %10s %10s\n", has_batches ? "fault batches" : "",
			"least", "median", "90 %", "most", "mean");
	else
		fprintf(out, "\n%-28s %10s %10s %10s\n", "", "least", "most", "mean");
	for (size_t i = 0; has_batches && i < REPORT_SPREADS && report_spreads[i].text; i++)
		print_spread(report, &report_spreads[i], out);
	print_copies(&in, report->gpu, out);
	print_copies(&out_copies, report->gpu, out);
}

void report_table_run(const struct report *report, FILE *out)
{
	fprintf(out, "%-32s %s\n", "workload", report->workload);
	if (report->gpu)
		fprintf(out, "%-32s %s\n", "GPU", report->gpu);
	cli_print_words(fprintf(out, "%-32s ", "policy"), report->policy, out);
	fprintf(out, "%-32s %llu\n", "seed", (unsigned long long)report->seed);
	for (size_t i = 0; i < REPORT_FIELDS; i++)
		print_field(report, &report_fields[i], out);
	for (size_t i = 0; report->gpu && i < REPORT_TIMES; i++)
		print_field(report, &report_times[i], out);
	if (report->gpu) {
		print_hits("uTLB hits", report->times.tlb_hits, report->times.tlb_misses, out);
		print_hits("second-level TLB hits", report->times.l2_tlb_hits, report->times.l2_tlb_misses,
			   out);
	} else {
		fprintf(out, "%-32s %16s\n", "time", "needs --gpu");
	}
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete",
			report->times.is_cut ? "no: cut by --until" : "no: the counts up to the error");
	print_spreads(report, out);
}

static void print_drawn(const struct row *row, const struct field *field, const char *label, FILE *out)
{
	char text[32];
	uint64_t value = report_value(row->run, field);

	fprintf(out, "%-28s", label);
	for (int i = -1; i < RANKS; i++) {
		if (i >= 0 && !report_drawn_rank(row, field, (enum rank)i, &value))
			snprintf(text, sizeof(text), "-");
		else if (field->unit == AS_TIME)
			report_print_thousandths(text, value / 1000u, 3);
		else if (field->unit == AS_BYTES)
			report_print_mib(text, value);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		fprintf(out, " %10s", text);
	}
	fputc('\n', out);
}

void report_table_draws(const struct row *row, FILE *out)
{
	static const char *const labels[REPORT_SEEDED] = {"time, ms", "moved to the GPU, MiB", "moved to the CPU, MiB",
							  "far faults", "refaults"};
	char title[64];

	snprintf(title, sizeof(title), "%zu draws of the constants", report_drawn(row));
	fprintf(out, "\n%-28s %10s %10s %10s %10s\n", title, "model", report_rank_keys[RANK_LEAST],
		report_rank_keys[RANK_MEDIAN], report_rank_keys[RANK_MOST]);
	for (size_t i = 0; i < REPORT_SEEDED; i++)
		print_drawn(row, &report_seeded[i], labels[i], out);
}
