/* Results as text. Integers only: the same run prints the same bytes everywhere. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "quote.h"

#define MIB 1048576u

enum unit { AS_COUNT = 0, AS_BYTES, AS_TIME };

/* One key of a result; keys are only ever added. */
struct field {
	const char *key, *text; /* JSON and CSV; table, NULL: not a line of its own there */
	size_t offset;
	enum unit unit;
};

#define FIELD(name, text, unit)                                                                              \
	{                                                                                                    \
#name, text, offsetof(struct report, result.name), unit                                      \
	}

static const struct field fields[] = {
        FIELD(memory_bytes, "GPU memory", AS_BYTES),
        FIELD(footprint_bytes, "managed footprint", AS_BYTES),
        FIELD(accesses, "page accesses", AS_COUNT),
        FIELD(pages_touched, "distinct pages touched", AS_COUNT),
        FIELD(faults_raw, "faults fetched", AS_COUNT),
        FIELD(faults_coalesced, "after coalescing", AS_COUNT),
        FIELD(duplicates, "duplicates", AS_COUNT),
        FIELD(batches, "fault batches", AS_COUNT),
        FIELD(replays, "replays", AS_COUNT),
        FIELD(far_faults, "far faults", AS_COUNT),
        FIELD(refaults, "refaults (page evicted before)", AS_COUNT),
        FIELD(cpu_faults, "faults of the CPU", AS_COUNT),
        FIELD(pages_migrated, "pages migrated in", AS_COUNT),
        FIELD(pages_prefetched, "prefetched, zeros among them", AS_COUNT),
        FIELD(pages_prefetched_unused, "prefetched and never touched", AS_COUNT),
        FIELD(h2d_bytes, "moved to the GPU", AS_BYTES),
        FIELD(h2d_copies, "in copies", AS_COUNT),
        FIELD(h2d_least_bytes, NULL, AS_BYTES),
        FIELD(h2d_most_bytes, NULL, AS_BYTES),
        FIELD(d2h_bytes, "moved to the CPU", AS_BYTES),
        FIELD(d2h_copies, "in copies", AS_COUNT),
        FIELD(d2h_least_bytes, NULL, AS_BYTES),
        FIELD(d2h_most_bytes, NULL, AS_BYTES),
        FIELD(evictions, "evictions", AS_COUNT),
        FIELD(pages_evicted, "pages evicted", AS_COUNT),
        FIELD(pages_thrashed, "  of them came again", AS_COUNT),
        FIELD(remote_accesses, "accesses across the link", AS_COUNT),
};

#define TIME(name, text, unit)                                                                               \
	{                                                                                                    \
#name, text, offsetof(struct report, times.name), unit                                       \
	}

/* Null without a model of a GPU, never an invented figure. The first is the whole. */
static const struct field times[] = {
        TIME(time_ns, "time", AS_TIME),
        TIME(fetch_ns, "driver: fetch faults", AS_TIME),
        TIME(order_ns, "driver: order them", AS_TIME),
        TIME(service_ns, "driver: service blocks", AS_TIME),
        TIME(migrate_ns, "driver: migrate", AS_TIME),
        TIME(map_ns, "driver: map", AS_TIME),
        TIME(evict_ns, "driver: evict", AS_TIME),
        TIME(replay_ns, "driver: flush, replay, wait", AS_TIME),
        TIME(compute_ns, "some SM could run", AS_TIME),
        TIME(idle_ns, "driver: asleep", AS_TIME),
        TIME(kernel_ns, "kernels, from launch to end", AS_TIME),
        TIME(cpu_ns, "program: faults, calls", AS_TIME),
        TIME(tlb_hits, NULL, AS_COUNT),
        TIME(tlb_misses, NULL, AS_COUNT),
        TIME(l2_tlb_hits, NULL, AS_COUNT),
        TIME(l2_tlb_misses, NULL, AS_COUNT),
        TIME(remote_h2d_bytes, "loads across the link", AS_BYTES),
        TIME(remote_d2h_bytes, "stores across the link", AS_BYTES),
        TIME(context_switches, NULL, AS_COUNT),
        TIME(mshr_merged, NULL, AS_COUNT),
        TIME(mshr_stalled, NULL, AS_COUNT),
};

/* Of each the keys KEY_least, KEY_median and so on; null as above. */
static const struct field spreads[] = {
        TIME(batch_ns, "  time, us", AS_TIME),
        TIME(handling_ns, "  until the first copy, us", AS_TIME),
        TIME(batch_faults, "  faults fetched", AS_COUNT),
        TIME(batch_pages, "  pages moved to the GPU", AS_COUNT),
};

/* Of each the keys KEY_seeds_least, KEY_seeds_median and KEY_seeds_most, over the runs of one policy. */
static const struct field seeded[] = {
        TIME(time_ns, NULL, AS_TIME),      FIELD(h2d_bytes, NULL, AS_BYTES), FIELD(d2h_bytes, NULL, AS_BYTES),
        FIELD(far_faults, NULL, AS_COUNT), FIELD(refaults, NULL, AS_COUNT),
};

enum rank { RANK_LEAST = 0, RANK_MEDIAN, RANK_MOST, RANKS };
static const char *const rank_keys[RANKS] = {"least", "median", "most"};

/* The runs of one policy, which differ in their seeds. */
struct row {
	const struct report *run;
	size_t count;
};

enum statistic { LEAST = 0, MEDIAN, P90, MOST, MEAN, STATISTICS };
static const char *const statistic_keys[STATISTICS] = {"least", "median", "p90", "most", "mean"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t value_of(const struct report *report, const struct field *field)
{
	uint64_t value;

	memcpy(&value, (const char *)report + field->offset, sizeof(value));
	return value;
}

static uint64_t statistic_of(const struct report *report, const struct field *field, enum statistic statistic)
{
	const struct spread *spread =
	        (const struct spread *)(const void *)((const char *)report + field->offset);

	switch (statistic) {
	case LEAST:
		return spread->least;
	case MEDIAN:
		return spread_percentile(spread, 50);
	case P90:
		return spread_percentile(spread, 90);
	case MOST:
		return spread->most;
	default:
		return spread_mean(spread);
	}
}

/* -- runs of several seeds -- */

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Of an even number the median is the lower one of the two in the middle: a value that a run has had. */
static uint64_t value_at(uint64_t *values, size_t count, enum rank rank)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[rank == RANK_LEAST ? 0 : rank == RANK_MOST ? count - 1 : (count - 1) / 2];
}

static size_t complete_of(const struct row *row)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		count += row->run[i].is_complete;
	return count;
}

/* What a run is counted by: that it is complete, or if none is, as far as it came. */
static bool counts_in(const struct row *row, size_t run)
{
	return row->run[run].is_complete || complete_of(row) == 0;
}

static uint64_t field_at(const struct row *row, const struct field *field, enum rank rank)
{
	uint64_t values[REPORT_SEEDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		if (counts_in(row, i))
			values[count++] = value_of(&row->run[i], field);
	return value_at(values, count, rank);
}

static bool is_same_group(const struct report *a, const struct report *b)
{
	return strcmp(a->workload, b->workload) == 0 && a->memory.bytes == b->memory.bytes &&
	       a->memory.oversub_percent == b->memory.oversub_percent;
}

/* The row that begins here. */
static struct row row_at(const struct report *report, size_t count)
{
	struct row row = {report, 1};

	while (row.count < count && row.count < REPORT_SEEDS_MAX &&
	       report[row.count].seed > report[row.count - 1].seed &&
	       is_same_group(report, &report[row.count]) &&
	       strcmp(report->policy_given, report[row.count].policy_given) == 0)
		row.count++;
	return row;
}

/* -- text -- */

/* Bytes as MiB with one decimal, rounded. */
static void print_mib(char text[32], uint64_t bytes)
{
	uint64_t tenths = bytes / MIB * 10u + (bytes % MIB * 10u + MIB / 2u) / MIB;

	snprintf(text, 32, "%llu.%llu", (unsigned long long)(tenths / 10u),
	         (unsigned long long)(tenths % 10u));
}

static void json_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ", \"%s\": %llu", field->key, (unsigned long long)value_of(report, field));
	else
		fprintf(out, ", \"%s\": null", field->key);
}

static void json_spread(const struct report *report, const struct field *field, FILE *out)
{
	for (enum statistic k = LEAST; k < STATISTICS; k++) {
		fprintf(out, ", \"%s_%s\": ", field->key, statistic_keys[k]);
		if (report->gpu)
			fprintf(out, "%llu", (unsigned long long)statistic_of(report, field, k));
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

/* Null of what has no time, and if no run is complete. */
static bool has_seeded(const struct row *row, const struct field *field)
{
	return complete_of(row) != 0 && (field != &seeded[0] || row->run->gpu);
}

static void json_seeds(const struct row *row, FILE *out)
{
	fprintf(out, ", \"seeds\": %zu", complete_of(row));
	for (size_t i = 0; i < COUNT(seeded); i++) {
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			fprintf(out, ", \"%s_seeds_%s\": ", seeded[i].key, rank_keys[rank]);
			if (has_seeded(row, &seeded[i]))
				fprintf(out, "%llu", (unsigned long long)field_at(row, &seeded[i], rank));
			else
				fputs("null", out);
		}
	}
}

/* One run of the row. */
static void json_object(const struct row *row, const struct report *report, FILE *out)
{
	fprintf(out, "{\"workload\": ");
	quote_json(report->workload, out);
	json_text("gpu", report->gpu, out);
	json_text("policy", report->policy, out);
	json_text("preset", report->preset, out);
	fprintf(out, ", \"seed\": %llu, \"complete\": %s", (unsigned long long)report->seed,
	        report->is_complete ? "true" : "false");
	json_text("error", report->error, out);
	json_time(report, &times[0], out);
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ", \"%s\": %llu", fields[i].key,
		        (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 1; i < COUNT(times); i++)
		json_time(report, &times[i], out);
	for (size_t i = 0; i < COUNT(spreads); i++)
		json_spread(report, &spreads[i], out);
	json_seeds(row, out);
	if (report->has_bound)
		fprintf(out, ", \"bound_h2d_bytes\": %llu, \"bound_d2h_bytes\": %llu}",
		        (unsigned long long)report->bound_h2d_bytes,
		        (unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ", \"bound_h2d_bytes\": null, \"bound_d2h_bytes\": null}");
}

static void csv_header(FILE *out)
{
	fprintf(out, "workload,gpu,policy,seed,complete,time_ns");
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ",%s", fields[i].key);
	for (size_t i = 1; i < COUNT(times); i++)
		fprintf(out, ",%s", times[i].key);
	for (size_t i = 0; i < COUNT(spreads); i++)
		for (enum statistic k = LEAST; k < STATISTICS; k++)
			fprintf(out, ",%s_%s", spreads[i].key, statistic_keys[k]);
	fprintf(out, ",bound_h2d_bytes,bound_d2h_bytes,preset,error,seeds");
	for (size_t i = 0; i < COUNT(seeded); i++)
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
			fprintf(out, ",%s_seeds_%s", seeded[i].key, rank_keys[rank]);
	fputc('\n', out);
}

static void csv_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ",%llu", (unsigned long long)value_of(report, field));
	else
		fputc(',', out);
}

static void csv_spread(const struct report *report, const struct field *field, FILE *out)
{
	for (enum statistic k = LEAST; k < STATISTICS; k++) {
		fputc(',', out);
		if (report->gpu)
			fprintf(out, "%llu", (unsigned long long)statistic_of(report, field, k));
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
	fprintf(out, ",%zu", complete_of(row));
	for (size_t i = 0; i < COUNT(seeded); i++) {
		for (enum rank rank = RANK_LEAST; rank < RANKS; rank++) {
			fputc(',', out);
			if (has_seeded(row, &seeded[i]))
				fprintf(out, "%llu", (unsigned long long)field_at(row, &seeded[i], rank));
		}
	}
}

/* One run of the row. */
static void csv_row(const struct row *row, const struct report *report, FILE *out)
{
	quote_csv(report->workload, out);
	csv_text(report->gpu, out);
	csv_text(report->policy, out);
	fprintf(out, ",%llu,%d", (unsigned long long)report->seed, report->is_complete);
	csv_time(report, &times[0], out);
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ",%llu", (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 1; i < COUNT(times); i++)
		csv_time(report, &times[i], out);
	for (size_t i = 0; i < COUNT(spreads); i++)
		csv_spread(report, &spreads[i], out);
	if (report->has_bound)
		fprintf(out, ",%llu,%llu", (unsigned long long)report->bound_h2d_bytes,
		        (unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ",,");
	csv_text(report->preset, out);
	csv_text(report->error, out);
	csv_seeds(row, out);
	fputc('\n', out);
}

/* -- the table of one run -- */

/* Thousandths with `digits` decimals (1 or 3) as text. */
static void print_thousandths(char text[32], uint64_t value, int digits)
{
	unsigned long long whole = value / 1000u, rest = value % 1000u;

	if (digits == 1)
		snprintf(text, 32, "%llu.%llu", whole, rest / 100u);
	else
		snprintf(text, 32, "%llu.%03llu", whole, rest);
}

static void print_field(const struct report *report, const struct field *field, FILE *out)
{
	static const char *const units[] = {"", " MiB", " ms"};
	uint64_t value = value_of(report, field);
	char text[32];

	if (field->text == NULL)
		return;
	if (field->unit == AS_BYTES)
		print_mib(text, value);
	else if (field->unit == AS_TIME)
		print_thousandths(text, value / 1000u, 3);
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
		uint64_t value = statistic_of(report, field, k);

		if (field->unit == AS_TIME)
			print_thousandths(text, value, 1);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		fprintf(out, " %10s", text);
	}
	fputc('\n', out);
}

/* KiB with one decimal, rounded down. */
static void print_kib(char text[32], uint64_t bytes)
{
	snprintf(text, 32, "%llu.%llu", (unsigned long long)(bytes / 1024u),
	         (unsigned long long)(bytes % 1024u * 10u / 1024u));
}

/* Under the columns of the batches, of which copies have no median and no 90 %. */
static void print_copies(const struct report *report, const char *text, uint64_t copies, uint64_t bytes,
                         uint64_t least, uint64_t most, FILE *out)
{
	char kib[3][32];

	if (copies == 0)
		return;
	print_kib(kib[0], least);
	print_kib(kib[1], most);
	print_kib(kib[2], bytes / copies);
	fprintf(out, "%-28s %10s%*s %10s %10s\n", text, kib[0], report->gpu ? 22 : 0, "", kib[1], kib[2]);
}

/* How batches and copies are spread; without time there is nothing to be said about batches. */
static void print_spreads(const struct report *report, FILE *out)
{
	const struct driver_result *result = &report->result;
	bool has_batches = report->gpu && result->batches != 0;

	if (!has_batches && result->h2d_copies == 0 && result->d2h_copies == 0)
		return;
	if (report->gpu)
		fprintf(out, "\n%-28s %10s %10s %10s %10s %10s\n", has_batches ? "fault batches" : "",
		        "least", "median", "90 %", "most", "mean");
	else
		fprintf(out, "\n%-28s %10s %10s %10s\n", "", "least", "most", "mean");
	for (size_t i = 0; has_batches && i < COUNT(spreads); i++)
		print_spread(report, &spreads[i], out);
	print_copies(report, "copies to the GPU, KiB", result->h2d_copies, result->h2d_bytes,
	             result->h2d_least_bytes, result->h2d_most_bytes, out);
	print_copies(report, "copies to the CPU, KiB", result->d2h_copies, result->d2h_bytes,
	             result->d2h_least_bytes, result->d2h_most_bytes, out);
}

void report_run(const struct report *report, enum report_format format, FILE *out)
{
	struct row row = {report, 1};

	if (format == REPORT_JSON) {
		json_object(&row, report, out);
		fputc('\n', out);
		return;
	}
	if (format == REPORT_CSV) {
		csv_header(out);
		csv_row(&row, report, out);
		return;
	}
	fprintf(out, "%-32s %s\n", "workload", report->workload);
	if (report->gpu)
		fprintf(out, "%-32s %s\n", "GPU", report->gpu);
	cli_print_words(fprintf(out, "%-32s ", "policy"), report->policy, out);
	fprintf(out, "%-32s %llu\n", "seed", (unsigned long long)report->seed);
	for (size_t i = 0; i < COUNT(fields); i++)
		print_field(report, &fields[i], out);
	for (size_t i = 0; report->gpu && i < COUNT(times); i++)
		print_field(report, &times[i], out);
	if (report->gpu) {
		print_hits("uTLB hits", report->times.tlb_hits, report->times.tlb_misses, out);
		print_hits("second-level TLB hits", report->times.l2_tlb_hits, report->times.l2_tlb_misses,
		           out);
	} else {
		fprintf(out, "%-32s %16s\n", "time", "needs --gpu");
	}
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete", "no: the counts up to the error");
	print_spreads(report, out);
}

/* -- the comparison table -- */

enum { COLUMNS = 8, LABEL_LEAST = 16, LABEL_MOST = 21, BYTES_IN = 3, ABOVE_WIDTH = 7 };

enum cell { COUNT_CELL = 0, MIB_CELL, LINK_IN_CELL, LINK_OUT_CELL, MS_CELL, MEDIAN_US_CELL, COPY_KIB_CELL };

struct column {
	const char *title;
	size_t offset;
	enum cell cell;
	bool is_marked; /* the least of a group gets `*`, unless all are the same */
	int width;
};

#define RESULT(name) offsetof(struct report, result.name)

static const struct column untimed[COLUMNS] = {
        {"far faults", RESULT(far_faults), COUNT_CELL, true, 10},
        {"batches", RESULT(batches), COUNT_CELL, true, 8},
        {"duplicates", RESULT(duplicates), COUNT_CELL, false, 10},
        {"MiB in", RESULT(h2d_bytes), MIB_CELL, true, 9},
        {"MiB out", RESULT(d2h_bytes), MIB_CELL, true, 9},
        /* not marked: roots, blocks and pages do not compare */
        {"evictions", RESULT(evictions), COUNT_CELL, false, 9},
        {"refaults", RESULT(refaults), COUNT_CELL, true, 8},
        {"unused", RESULT(pages_prefetched_unused), COUNT_CELL, false, 8},
};

/* With time the last column is what matters most; how long a batch takes (the median) and how large a copy to
 * the GPU is (the mean) say where it went. What is used across the link counts as moved: a policy that leaves
 * pages where they are would seem to move nothing. */
static const struct column timed[COLUMNS] = {
        {"far faults", RESULT(far_faults), COUNT_CELL, true, 10},
        {"batches", RESULT(batches), COUNT_CELL, true, 8},
        {"batch us", offsetof(struct report, times.batch_ns), MEDIAN_US_CELL, false, 8},
        {"MiB in", RESULT(h2d_bytes), LINK_IN_CELL, true, 9},
        {"MiB out", RESULT(d2h_bytes), LINK_OUT_CELL, true, 9},
        {"KiB/copy", RESULT(h2d_copies), COPY_KIB_CELL, false, 9},
        {"refaults", RESULT(refaults), COUNT_CELL, true, 8},
        {"time ms", offsetof(struct report, times.time_ns), MS_CELL, true, 9},
};

static const struct column *columns_of(const struct report *report)
{
	return report->gpu ? timed : untimed;
}

/* What a column compares and prints, of one run. */
static uint64_t cell(const struct report *report, int column)
{
	const struct column *at = &columns_of(report)[column];
	uint64_t value;

	if (at->cell == MEDIAN_US_CELL)
		return spread_percentile(&report->times.batch_ns, 50);
	memcpy(&value, (const char *)report + at->offset, sizeof(value));
	if (at->cell == COPY_KIB_CELL)
		return value != 0 ? report->result.h2d_bytes / value : 0;
	if (at->cell == LINK_IN_CELL)
		return value + report->times.remote_h2d_bytes;
	if (at->cell == LINK_OUT_CELL)
		return value + report->times.remote_d2h_bytes;
	return value;
}

static uint64_t cell_at(const struct row *row, int column, enum rank rank)
{
	uint64_t values[REPORT_SEEDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		if (counts_in(row, i))
			values[count++] = cell(&row->run[i], column);
	return value_at(values, count, rank);
}

static uint64_t bound_at(const struct row *row, bool is_out, enum rank rank)
{
	uint64_t values[REPORT_SEEDS_MAX];

	for (size_t i = 0; i < row->count; i++)
		values[i] = is_out ? row->run[i].bound_d2h_bytes : row->run[i].bound_h2d_bytes;
	return value_at(values, row->count, rank);
}

static bool has_bound(const struct row *row)
{
	bool all = true;

	for (size_t i = 0; i < row->count; i++)
		all = all && row->run[i].has_bound;
	return all;
}

/* A star stands in the gap behind its number, so that no line ends in a blank. */
static void print_cell(const struct report *report, int column, const char *text, bool was_best, FILE *out)
{
	fprintf(out, "%c%*s", was_best ? '*' : ' ', columns_of(report)[column].width, text);
}

static void print_value(const struct report *report, int column, uint64_t value, bool was_best, FILE *out)
{
	char text[32];

	switch (columns_of(report)[column].cell) {
	case MIB_CELL:
	case LINK_IN_CELL:
	case LINK_OUT_CELL:
		print_mib(text, value);
		break;
	case MS_CELL:
		print_thousandths(text, value / 1000u, 1);
		break;
	case MEDIAN_US_CELL:
		print_thousandths(text, value, 1);
		break;
	case COPY_KIB_CELL:
		print_kib(text, value);
		break;
	default:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	}
	print_cell(report, column, text, was_best, out);
}

/* By how much more comes in than Belady's optimum needs, in percent with one decimal, rounded. A run whose
 * warps overtake each other, or that leaves pages where they are, may be below it. */
static void print_above(const struct row *row, bool was_best, FILE *out)
{
	uint64_t in = cell_at(row, BYTES_IN, RANK_MEDIAN), bound = bound_at(row, false, RANK_MEDIAN);
	uint64_t more = in > bound ? in - bound : bound - in, tenths;
	char text[32] = "";

	if (has_bound(row) && complete_of(row) != 0 && bound != 0) {
		tenths = (more * 1000u + bound / 2u) / bound;
		snprintf(text, sizeof(text), "%s%llu.%llu", in < bound && tenths != 0 ? "-" : "",
		         (unsigned long long)(tenths / 10u), (unsigned long long)(tenths % 10u));
	}
	fprintf(out, "%c%*s", was_best ? '*' : ' ', ABOVE_WIDTH, text);
}

/* The medians of the rows are what is compared. */
static bool is_best(const struct report *report, size_t count, const struct row *row, int column)
{
	uint64_t least = UINT64_MAX, most = 0, value;
	struct row other;

	for (size_t i = 0; i < count; i += other.count) {
		other = row_at(&report[i], count - i);
		if (complete_of(&other) < other.count) /* would win by having done less */
			continue;
		value = cell_at(&other, column, RANK_MEDIAN);
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	return columns_of(report)[column].is_marked && complete_of(row) == row->count && least < most &&
	       cell_at(row, column, RANK_MEDIAN) == least;
}

/* What Belady's optimum moves, page by page, with the same accesses. */
static void print_bound(const struct row *row, int label, FILE *out)
{
	fprintf(out, "  %-*s", label, "(least possible)");
	for (int c = 0; c < BYTES_IN; c++)
		print_cell(row->run, c, "", false, out);
	print_value(row->run, BYTES_IN, bound_at(row, false, RANK_MEDIAN), false, out);
	fprintf(out, " %*s", ABOVE_WIDTH, "");
	print_value(row->run, BYTES_IN + 1, bound_at(row, true, RANK_MEDIAN), false, out);
	fputc('\n', out);
}

static void print_heading(const struct report *report, FILE *out)
{
	uint64_t percent = report->result.footprint_bytes * 100u / report->result.memory_bytes;
	char memory[32], footprint[32];

	print_mib(memory, report->result.memory_bytes);
	print_mib(footprint, report->result.footprint_bytes);
	fprintf(out, "%s\n  %s MiB of managed memory on a GPU with %s MiB: %llu %%", report->workload,
	        footprint, memory, (unsigned long long)percent);
	if (report->memory.bytes == 0 && report->memory.oversub_percent != percent)
		fprintf(out, " (%u %% asked, whole roots of 2 MiB)", report->memory.oversub_percent);
	fputc('\n', out);
}

static const char *label_of(const struct report *report)
{
	return report->preset ? report->preset : report->policy_given;
}

/* Policies that would make the table too wide get a number there and a line of their own above it. Returns
 * how wide the labels are, 0: they are numbers. */
static int print_legend(const struct report *report, size_t count, FILE *out)
{
	size_t longest = LABEL_LEAST, number = 0;
	struct row row;

	for (size_t i = 0; i < count; i++)
		longest = strlen(label_of(&report[i])) > longest ? strlen(label_of(&report[i])) : longest;
	if (longest <= LABEL_MOST)
		return (int)longest;
	for (size_t i = 0; i < count; i += row.count) {
		row = row_at(&report[i], count - i);
		cli_print_words(fprintf(out, "  %2zu: ", ++number), label_of(&report[i]), out);
	}
	return 0;
}

/* Why there is nothing to be counted. */
static void print_refusal(const struct row *row, int column, FILE *out)
{
	const char *error = row->run->error;
	size_t name = strlen(row->run->workload);

	if (strncmp(error, row->run->workload, name) == 0 && strncmp(error + name, ": ", 2) == 0)
		error += name + 2;
	column += fprintf(out, " does not run: ");
	cli_print_words(column, error, out);
}

/* Where the seeds make a difference: the least or greatest values, under the medians. */
static void print_seeds(const struct row *row, int label, enum rank rank, FILE *out)
{
	fprintf(out, "  %*s", label, rank_keys[rank]);
	for (int c = 0; c < COLUMNS; c++) {
		print_value(row->run, c, cell_at(row, c, rank), false, out);
		if (c == BYTES_IN)
			fprintf(out, " %*s", ABOVE_WIDTH, "");
	}
	fputc('\n', out);
}

static bool has_difference(const struct row *row)
{
	for (int c = 0; c < COLUMNS; c++)
		if (cell_at(row, c, RANK_LEAST) != cell_at(row, c, RANK_MOST))
			return true;
	return false;
}

/* Of the group of `count` reports. */
static void print_row(const struct report *report, size_t count, const struct row *row, int label, FILE *out)
{
	size_t complete = complete_of(row);
	bool was_best = false;

	if (complete == 0 && row->run->error && row->run->result.accesses == 0) {
		print_refusal(row, label + 2, out);
		return;
	}
	for (int c = 0; c < COLUMNS; c++) {
		print_value(row->run, c, cell_at(row, c, RANK_MEDIAN), was_best, out);
		was_best = is_best(report, count, row, c);
		if (c != BYTES_IN)
			continue;
		print_above(row, was_best, out);
		was_best = false;
	}
	fputs(was_best ? "*" : "", out);
	if (complete == row->count)
		fputc('\n', out);
	else if (row->count == 1)
		fputs("  complete: no\n", out);
	else
		fprintf(out, "  complete: %zu of %zu\n", complete, row->count);
	if (has_difference(row)) {
		print_seeds(row, label, RANK_LEAST, out);
		print_seeds(row, label, RANK_MOST, out);
	}
}

static void print_group(const struct report *report, size_t count, FILE *out)
{
	struct row row = row_at(report, count);
	size_t number = 0;
	int width, label;

	print_heading(report, out);
	if (row.count > 1)
		fprintf(out, "  medians of %zu runs, of seeds %llu to %llu\n", row.count,
		        (unsigned long long)row.run->seed, (unsigned long long)row.run[row.count - 1].seed);
	width = print_legend(report, count, out);
	label = width != 0 ? width : LABEL_LEAST;
	fprintf(out, "  %-*s", label, "policy");
	for (int c = 0; c < COLUMNS; c++) {
		print_cell(report, c, columns_of(report)[c].title, false, out);
		if (c == BYTES_IN)
			fprintf(out, " %*s", ABOVE_WIDTH, "% above");
	}
	fputc('\n', out);
	for (size_t i = 0; i < count; i += row.count) {
		row = row_at(&report[i], count - i);
		if (width == 0)
			fprintf(out, "  %2zu%*s", ++number, label - 2, "");
		else
			fprintf(out, "  %-*s", label, label_of(&report[i]));
		print_row(report, count, &row, label, out);
	}
	row = row_at(report, count);
	if (has_bound(&row))
		print_bound(&row, label, out);
}

static void print_rows(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	struct row row;

	for (size_t i = 0; i < count; i += row.count) {
		row = row_at(&report[i], count - i);
		for (size_t k = 0; k < row.count; k++) {
			if (format == REPORT_CSV) {
				csv_row(&row, &row.run[k], out);
				continue;
			}
			fputs(i + k == 0 ? "[" : ",\n ", out);
			json_object(&row, &row.run[k], out);
		}
	}
}

void report_compare(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	if (format == REPORT_CSV)
		csv_header(out);
	if (format != REPORT_TABLE)
		print_rows(report, count, format, out);
	if (format == REPORT_JSON)
		fputs("]\n", out);
	for (size_t i = 0, group; format == REPORT_TABLE && i < count; i += group) {
		for (group = 1; i + group < count && is_same_group(&report[i], &report[i + group]); group++)
			;
		if (i > 0)
			fputc('\n', out);
		print_group(&report[i], group, out);
	}
}

/* -- bounds -- */

#define LEVEL_FIELD(name, text, unit)                                                                        \
	{                                                                                                    \
#name, text, offsetof(struct bound_level, name), unit                                        \
	}

static const struct field level_fields[] = {
        LEVEL_FIELD(unit_bytes, "unit", AS_BYTES),
        LEVEL_FIELD(places, "units that fit into memory", AS_COUNT),
        LEVEL_FIELD(touched, "units touched: least faults", AS_COUNT),
        LEVEL_FIELD(touched_bytes, "moved to the GPU at least", AS_BYTES),
        LEVEL_FIELD(misses, "optimum: misses", AS_COUNT),
        LEVEL_FIELD(h2d_bytes, "moved to the GPU", AS_BYTES),
        LEVEL_FIELD(left, "units that leave", AS_COUNT),
        LEVEL_FIELD(d2h_bytes, "moved to the CPU", AS_BYTES),
        LEVEL_FIELD(written_back, "of them written", AS_COUNT),
        LEVEL_FIELD(written_back_bytes, "moved if only they are", AS_BYTES),
};

static uint64_t level_value(const struct bound_level *level, size_t field)
{
	uint64_t value;

	memcpy(&value, (const char *)level + level_fields[field].offset, sizeof(value));
	return value;
}

static void bound_json(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;

	fprintf(out, "{\"workload\": ");
	quote_json(report->workload, out);
	fprintf(out,
	        ", \"seed\": %llu, \"complete\": %s, \"memory_bytes\": %llu, \"footprint_bytes\": %llu, "
	        "\"accesses\": %llu, \"units\": [",
	        (unsigned long long)report->seed, report->is_complete ? "true" : "false",
	        (unsigned long long)result->memory_bytes, (unsigned long long)result->footprint_bytes,
	        (unsigned long long)result->accesses);
	for (uint32_t i = 0; i < result->levels; i++) {
		fputs(i > 0 ? ", {" : "{", out);
		for (size_t k = 0; k < COUNT(level_fields); k++)
			fprintf(out, "%s\"%s\": %llu", k > 0 ? ", " : "", level_fields[k].key,
			        (unsigned long long)level_value(&result->level[i], k));
		fputc('}', out);
	}
	fputs("]}\n", out);
}

static void bound_csv(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;

	fprintf(out, "workload,seed,complete,memory_bytes,footprint_bytes,accesses");
	for (size_t k = 0; k < COUNT(level_fields); k++)
		fprintf(out, ",%s", level_fields[k].key);
	fputc('\n', out);
	for (uint32_t i = 0; i < result->levels; i++) {
		quote_csv(report->workload, out);
		fprintf(out, ",%llu,%d,%llu,%llu,%llu", (unsigned long long)report->seed, report->is_complete,
		        (unsigned long long)result->memory_bytes, (unsigned long long)result->footprint_bytes,
		        (unsigned long long)result->accesses);
		for (size_t k = 0; k < COUNT(level_fields); k++)
			fprintf(out, ",%llu", (unsigned long long)level_value(&result->level[i], k));
		fputc('\n', out);
	}
}

static void bound_table(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;
	char text[32];

	fprintf(out, "%-32s %s\n", "workload", report->workload);
	fprintf(out, "%-32s %llu\n", "seed", (unsigned long long)report->seed);
	print_mib(text, result->memory_bytes);
	fprintf(out, "%-32s %16s MiB\n", "GPU memory", text);
	print_mib(text, result->footprint_bytes);
	fprintf(out, "%-32s %16s MiB\n", "managed footprint", text);
	fprintf(out, "%-32s %16llu\n", "page accesses", (unsigned long long)result->accesses);
	fprintf(out, "\n%-32s", level_fields[0].text);
	for (uint32_t i = 0; i < result->levels; i++) {
		uint64_t kib = result->level[i].unit_bytes / 1024u;

		fprintf(out, " %12llu %ciB", (unsigned long long)(kib < 1024u ? kib : kib / 1024u),
		        kib < 1024u ? 'K' : 'M');
	}
	fputc('\n', out);
	for (size_t k = 1; k < COUNT(level_fields); k++) {
		fprintf(out, "%-32s", level_fields[k].text);
		for (uint32_t i = 0; i < result->levels; i++) {
			uint64_t value = level_value(&result->level[i], k);

			print_mib(text, value);
			if (level_fields[k].unit == AS_BYTES)
				fprintf(out, " %12s MiB", text);
			else
				fprintf(out, " %12llu%s", (unsigned long long)value,
				        i + 1 < result->levels ? "    " : "");
		}
		fputc('\n', out);
	}
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete", "no: the accesses up to the error");
}

void report_bound(const struct bound_report *report, enum report_format format, FILE *out)
{
	if (format == REPORT_JSON)
		bound_json(report, out);
	else if (format == REPORT_CSV)
		bound_csv(report, out);
	else
		bound_table(report, out);
}
