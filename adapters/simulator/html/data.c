/* The data of the HTML file as JSON. */
#include "html_internal.h"

#include <stdlib.h>

#include "quote.h"

/* -- pictures -- */

/* Cells that are not 0: how far each is from the one before, in the order of rows, and its count. */
static void write_plane(const char *key, const struct grid *g, enum grid_plane plane, FILE *out)
{
	uint64_t last = 0;
	const char *separator = "";

	fprintf(out, ",\n\"%s\":[", key);
	for (uint32_t row = 0; row < g->rows; row++) {
		for (uint32_t column = 0; column < g->columns; column++) {
			uint64_t at = (uint64_t)row * g->columns + column;

			if (g->cell[plane][row][column] == 0)
				continue;
			fprintf(out, "%s%llu,%u", separator, (unsigned long long)(at - last),
				g->cell[plane][row][column]);
			separator = ",";
			last = at;
		}
	}
	fputc(']', out);
}

/* [least value, count] of the buckets from the first to the last that is not empty. */
static void write_histogram(const char *key, const struct histogram *h, FILE *out)
{
	uint32_t first = 0, end = HISTOGRAM_BUCKETS;

	while (end > 0 && h->count[end - 1] == 0)
		end--;
	while (first < end && h->count[first] == 0)
		first++;
	fprintf(out, ",\n\"%s\":[", key);
	for (uint32_t i = first; i < end; i++)
		fprintf(out, "%s[%llu,%llu]", i > first ? "," : "", (unsigned long long)histogram_least(i),
			(unsigned long long)h->count[i]);
	fputc(']', out);
}

static void write_causes(const char *key, const struct collector *c, int direction, FILE *out)
{
	const char *separator = "";

	fprintf(out, ",\n\"%s\":{", key);
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++) {
		if (c->cause_bytes[direction][cause] == 0)
			continue;
		fprintf(out, "%s\"%s\":%llu", separator, uvmp_cause_name((enum uvmp_cause)cause),
			(unsigned long long)c->cause_bytes[direction][cause]);
		separator = ",";
	}
	fputc('}', out);
}

/* `knows_stalls`: the events came from a run with time; a log does not say when warps stalled. */
static void write_pictures(const struct collector *c, const char *clock, bool knows_stalls, FILE *out)
{
	const struct grid *g = &c->grid;

	fprintf(out, "{\"clock\":\"%s\",\"events\":%llu,\"rows\":%u,\"columns\":%u,\"row_pages\":%llu,\"column_width\":%llu",
		clock, (unsigned long long)c->events, g->rows, g->columns, (unsigned long long)g->row_pages,
		(unsigned long long)g->column_width);
	write_plane("faulted", g, GRID_FAULTED, out);
	write_plane("prefetched", g, GRID_PREFETCHED, out);
	write_plane("again", g, GRID_AGAIN, out);
	write_plane("evicted", g, GRID_EVICTED, out);
	write_plane("left", g, GRID_LEFT, out);
	write_histogram("batch_faults", &c->batch_faults, out);
	if (strcmp(clock, "ns") == 0)
		write_histogram("batch_interval_ns", &c->batch_interval, out);
	write_histogram("copy_to_gpu_bytes", &c->copy_bytes[COLLECTOR_TO_GPU], out);
	write_histogram("copy_to_cpu_bytes", &c->copy_bytes[COLLECTOR_TO_CPU], out);
	write_histogram("return_distance_pages", &c->returns.distance, out);
	fprintf(out, ",\"return_sample\":%llu", 1ULL << c->returns.shift);
	write_causes("to_gpu_bytes", c, COLLECTOR_TO_GPU, out);
	write_causes("to_cpu_bytes", c, COLLECTOR_TO_CPU, out);
	fprintf(out, ",\"zero_bytes\":%llu,\"program_to_gpu_bytes\":%llu,\"program_to_cpu_bytes\":%llu,\"stalled_ns\":",
		(unsigned long long)c->zero_bytes, (unsigned long long)c->program_bytes[COLLECTOR_TO_GPU],
		(unsigned long long)c->program_bytes[COLLECTOR_TO_CPU]);
	if (knows_stalls)
		fprintf(out, "%llu}", (unsigned long long)c->stalled);
	else
		fputs("null}", out);
}

/* -- runs and bounds -- */

static void write_run(const struct row *row, const struct report *report, FILE *out)
{
	fputs("{\"given\":", out);
	quote_json(report->policy_given, out);
	fprintf(out, ",\"oversub_percent\":%u,\"run\":", report->memory.oversub_percent);
	report_json_run(row, report, out);
	fputs(",\"pictures\":", out);
	if (report->collector)
		write_pictures(report->collector, report->gpu ? "ns" : "faults", report->gpu != NULL, out);
	else
		fputs("null", out);
	fputc('}', out);
}

static void write_runs(const struct html_page *page, FILE *out)
{
	const struct report *report = page->report, *first = report;
	struct row row;

	for (size_t i = 0; i < page->reports; i += row.count) {
		first = report_is_same_group(first, &report[i]) ? first : &report[i];
		row = report_row(&report[i], page->reports - i);
		row.base = first != row.run ? first : NULL;
		for (size_t k = 0; k < row.count; k++) {
			fputs(i + k == 0 ? "\n" : ",\n", out);
			write_run(&row, &row.run[k], out);
		}
	}
}

static void write_bounds(const struct html_page *page, FILE *out)
{
	for (size_t i = 0; i < page->bounds; i++) {
		fputs(i == 0 ? "\n" : ",\n", out);
		report_bound(&page->bound[i], REPORT_JSON, out);
	}
}

static void write_all(const struct html_page *page, const char *command, FILE *out)
{
	fputs("{\"uvmsim_report\":1,\"version\":\"" UVMSIM_VERSION "\",\"subcommand\":", out);
	quote_json(page->command.argv[0], out);
	fputs(",\"command\":", out);
	quote_json(command, out);
	fprintf(out, ",\"not_drawn\":%llu,\"runs\":[", (unsigned long long)page->not_drawn);
	write_runs(page, out);
	fputs("],\"bounds\":[", out);
	write_bounds(page, out);
	fputs("],\"log\":", out);
	if (page->log) {
		fputs("{\"name\":", out);
		quote_json(page->log, out);
		fputs(",\"pictures\":", out);
		write_pictures(page->log_pictures, "ns", false, out);
		fputs("}}\n", out);
	} else {
		fputs("null}\n", out);
	}
}

bool html_data(const struct html_page *page, const char *command, FILE *out)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *json = open_memstream(&text, &bytes);
	bool is_good = json != NULL;

	if (!is_good)
		return false;
	write_all(page, command, json);
	is_good = ferror(json) == 0;
	is_good = fclose(json) == 0 && is_good;
	if (is_good)
		html_json(text, bytes, out);
	free(text);
	return is_good;
}
