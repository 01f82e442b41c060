/* Curves as a table for people, as JSON and as CSV. */
#include "curve.h"

#include <string.h>

#include "../report/report_internal.h"
#include "quote.h"

typedef unsigned long long number;

/* -- JSON -- */

static void json_text(const char *key, const char *text, FILE *out)
{
	fprintf(out, ", \"%s\": ", key);
	if (text)
		quote_json(text, out);
	else
		fputs("null", out);
}

static void json_count(const char *key, bool is_known, uint64_t value, FILE *out)
{
	fprintf(out, ", \"%s\": ", key);
	if (is_known)
		fprintf(out, "%llu", (number)value);
	else
		fputs("null", out);
}

static void json_point(const struct curve *curve, const struct curve_point *point, FILE *out)
{
	bool is_good = !point->error, is_sampled = point->method == CURVE_SAMPLED;

	fprintf(out, "{\"workload\": ");
	quote_json(curve->workload, out);
	json_text("gpu", curve->gpu, out);
	json_text("policy", curve->policy, out);
	json_text("preset", curve->preset, out);
	fprintf(out, ", \"seed\": %llu, \"serial\": %s", (number)curve->seed,
		curve->is_serial ? "true" : "false");
	json_text("method", curve_method_names[point->method], out);
	json_text("error", point->error, out);
	json_count("memory_bytes", true, point->memory_bytes, out);
	json_count("footprint_bytes", true, curve->footprint_bytes, out);
	json_count("accesses", is_good, curve->accesses, out);
	json_count("far_faults", is_good, point->far_faults, out);
	json_count("far_faults_low", is_good, point->far_faults_low, out);
	json_count("far_faults_high", is_good, point->far_faults_high, out);
	json_count("refaults", is_good, point->refaults, out);
	json_count("h2d_bytes", is_good, point->h2d_bytes, out);
	json_count("d2h_bytes", is_good, point->d2h_bytes, out);
	json_count("time_ns", is_good && curve->gpu, point->time_ns, out);
	json_count("samples", is_sampled, curve->samples, out);
	json_count("sample_millionths", is_sampled, curve->parts, out);
	json_text("version", UVMSIM_VERSION, out);
	fputc('}', out);
}

/* -- CSV -- */

static void csv_text(const char *text, FILE *out)
{
	if (text)
		quote_csv(text, out);
	fputc(',', out);
}

static void csv_count(bool is_known, uint64_t value, FILE *out)
{
	if (is_known)
		fprintf(out, "%llu", (number)value);
	fputc(',', out);
}

static void csv_header(FILE *out)
{
	fputs("workload,gpu,policy,preset,seed,serial,method,error,memory_bytes,footprint_bytes,accesses,far_"
	      "faults,"
	      "far_faults_low,far_faults_high,refaults,h2d_bytes,d2h_bytes,time_ns,samples,sample_millionths,"
	      "version\n",
	      out);
}

static void csv_point(const struct curve *curve, const struct curve_point *point, FILE *out)
{
	bool is_good = !point->error, is_sampled = point->method == CURVE_SAMPLED;

	csv_text(curve->workload, out);
	csv_text(curve->gpu, out);
	csv_text(curve->policy, out);
	csv_text(curve->preset, out);
	fprintf(out, "%llu,%d,%s,", (number)curve->seed, curve->is_serial, curve_method_names[point->method]);
	csv_text(point->error, out);
	csv_count(true, point->memory_bytes, out);
	csv_count(true, curve->footprint_bytes, out);
	csv_count(is_good, curve->accesses, out);
	csv_count(is_good, point->far_faults, out);
	csv_count(is_good, point->far_faults_low, out);
	csv_count(is_good, point->far_faults_high, out);
	csv_count(is_good, point->refaults, out);
	csv_count(is_good, point->h2d_bytes, out);
	csv_count(is_good, point->d2h_bytes, out);
	csv_count(is_good && curve->gpu, point->time_ns, out);
	csv_count(is_sampled, curve->samples, out);
	csv_count(is_sampled, curve->parts, out);
	fputs(UVMSIM_VERSION "\n", out);
}

/* -- table -- */

/* Without a complete run the accesses are not known. */
static bool has_result(const struct curve *curve)
{
	for (size_t i = 0; i < curve->points; i++)
		if (!curve->point[i].error)
			return true;
	return false;
}

static void table_head(const struct curve *curve, FILE *out)
{
	char text[32], accesses[32] = "an unknown number of";

	if (has_result(curve))
		snprintf(accesses, sizeof(accesses), "%llu", (number)curve->accesses);
	fprintf(out, "%-10s %s\n", "workload", curve->workload);
	fprintf(out, "%-10s %s\n", "policy", curve->given);
	if (curve->gpu)
		fprintf(out, "%-10s %s\n", "gpu", curve->gpu);
	report_print_mib(text, curve->footprint_bytes);
	fprintf(out, "%-10s %s MiB managed, %s page accesses, seed %llu%s\n", "footprint", text,
		accesses, (number)curve->seed, curve->is_serial ? ", accesses as of one agent" : "");
	if (curve->points > 0 && curve->point[0].method == CURVE_SAMPLED)
		fprintf(out, "%-10s %u samples of %u.%04u %% of the pages; +-: least and greatest of them\n",
			"sampled", curve->samples, curve->parts / 10000u, curve->parts % 10000u);
	fprintf(out, "\n%10s %6s  %-7s %14s %14s %12s %12s%s\n", "memory MiB", "%", "method", "far faults",
		"refaults", "MiB in", "MiB out", curve->gpu ? "      time ms" : "");
}

static void table_point(const struct curve *curve, const struct curve_point *point, FILE *out)
{
	uint64_t percent =
		curve->footprint_bytes != 0 ? point->memory_bytes * 100u / curve->footprint_bytes : 100u;
	char memory[32], in[32], away[32], time[32];

	report_print_mib(memory, point->memory_bytes);
	fprintf(out, "%10s %6llu  %-7s ", memory, (number)percent, curve_method_names[point->method]);
	if (point->error) {
		fprintf(out, "no result: %s\n", point->error);
		return;
	}
	report_print_mib(in, point->h2d_bytes);
	report_print_mib(away, point->d2h_bytes);
	fprintf(out, "%14llu %14llu %12s %12s", (number)point->far_faults, (number)point->refaults, in, away);
	report_print_thousandths(time, point->time_ns / 1000u, 3);
	if (curve->gpu)
		fprintf(out, " %12s", time);
	if (point->method == CURVE_SAMPLED)
		fprintf(out, "  +- %llu..%llu", (number)point->far_faults_low,
			(number)point->far_faults_high);
	fputc('\n', out);
}

void curve_print(const struct curve *curve, size_t count, enum report_format format, FILE *out)
{
	bool is_first = true;

	if (format == REPORT_CSV)
		csv_header(out);
	for (size_t i = 0; i < count; i++) {
		if (format == REPORT_TABLE) {
			fputs(i > 0 ? "\n" : "", out);
			table_head(&curve[i], out);
		}
		for (size_t k = 0; k < curve[i].points; k++) {
			if (format == REPORT_JSON)
				fputs(is_first ? "[" : ",\n ", out);
			is_first = false;
			if (format == REPORT_JSON)
				json_point(&curve[i], &curve[i].point[k], out);
			else if (format == REPORT_CSV)
				csv_point(&curve[i], &curve[i].point[k], out);
			else
				table_point(&curve[i], &curve[i].point[k], out);
		}
	}
	if (format == REPORT_JSON)
		fputs(is_first ? "[]\n" : "]\n", out);
}
