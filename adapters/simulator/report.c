/* Results as text. Integers only: the same run prints the same bytes everywhere. */
#include "report.h"

#include <string.h>

#include "cli.h"

#define MIB 1048576u

/* One key of a result; keys are only ever added. */
struct field {
	const char *key, *text; /* JSON and CSV; table */
	size_t offset;
	bool is_bytes;
};

#define FIELD(name, text, bytes)                                                                             \
	{                                                                                                    \
#name, text, offsetof(struct driver_result, name), bytes                                     \
	}

static const struct field fields[] = {
        FIELD(memory_bytes, "GPU memory", true),
        FIELD(footprint_bytes, "managed footprint", true),
        FIELD(accesses, "page accesses", false),
        FIELD(pages_touched, "distinct pages touched", false),
        FIELD(faults_raw, "faults fetched", false),
        FIELD(faults_coalesced, "after coalescing", false),
        FIELD(duplicates, "duplicates", false),
        FIELD(batches, "fault batches", false),
        FIELD(replays, "replays", false),
        FIELD(far_faults, "far faults", false),
        FIELD(refaults, "refaults (page evicted before)", false),
        FIELD(pages_migrated, "pages migrated in", false),
        FIELD(pages_prefetched, "of them prefetched", false),
        FIELD(pages_prefetched_unused, "prefetched and never touched", false),
        FIELD(h2d_bytes, "moved to the GPU", true),
        FIELD(h2d_copies, "in copies", false),
        FIELD(d2h_bytes, "moved to the CPU", true),
        FIELD(d2h_copies, "in copies", false),
        FIELD(evictions, "evictions", false),
        FIELD(pages_evicted, "pages evicted", false),
};

#define TIME(name, text)                                                                                     \
	{                                                                                                    \
#name, text, offsetof(struct machine_times, name), false                                     \
	}

/* Null without a model of a GPU, never an invented figure. The first is the whole. */
static const struct field times[] = {
        TIME(time_ns, "time"),
        TIME(fetch_ns, "driver: fetch faults"),
        TIME(order_ns, "driver: order them"),
        TIME(service_ns, "driver: service blocks"),
        TIME(migrate_ns, "driver: migrate"),
        TIME(map_ns, "driver: map"),
        TIME(evict_ns, "driver: evict"),
        TIME(replay_ns, "driver: flush, replay, wait"),
        TIME(compute_ns, "some SM could run"),
        TIME(idle_ns, "driver: asleep"),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t value_of(const struct report *report, const struct field *field)
{
	uint64_t value;

	memcpy(&value, (const char *)&report->result + field->offset, sizeof(value));
	return value;
}

static uint64_t time_of(const struct report *report, const struct field *field)
{
	uint64_t value;

	memcpy(&value, (const char *)&report->times + field->offset, sizeof(value));
	return value;
}

/* Bytes as MiB with one decimal, rounded. */
static void print_mib(char text[32], uint64_t bytes)
{
	uint64_t tenths = bytes / MIB * 10u + (bytes % MIB * 10u + MIB / 2u) / MIB;

	snprintf(text, 32, "%llu.%llu", (unsigned long long)(tenths / 10u),
	         (unsigned long long)(tenths % 10u));
}

/* Bytes of the UTF-8 character at text, 0 if there is none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

	if (text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80) /* also where the text ends */
			return 0;
	return length;
}

/* File names may hold any byte; JSON may not. */
static void json_string(const char *text, FILE *out)
{
	const unsigned char *c = (const unsigned char *)text;

	fputc('"', out);
	while (*c) {
		size_t length = utf8_length(c);

		if (length == 0)
			fputs("\\ufffd", out);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else
			fwrite(c, 1, length, out);
		c += length ? length : 1;
	}
	fputc('"', out);
}

static void json_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ", \"%s\": %llu", field->key, (unsigned long long)time_of(report, field));
	else
		fprintf(out, ", \"%s\": null", field->key);
}

static void json_object(const struct report *report, FILE *out)
{
	fprintf(out, "{\"workload\": ");
	json_string(report->workload, out);
	fprintf(out, ", \"gpu\": ");
	if (report->gpu)
		json_string(report->gpu, out);
	else
		fputs("null", out);
	fprintf(out, ", \"policy\": ");
	json_string(report->policy, out);
	fprintf(out, ", \"seed\": %llu, \"complete\": %s", (unsigned long long)report->seed,
	        report->is_complete ? "true" : "false");
	json_time(report, &times[0], out);
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ", \"%s\": %llu", fields[i].key,
		        (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 1; i < COUNT(times); i++)
		json_time(report, &times[i], out);
	if (report->has_bound)
		fprintf(out, ", \"bound_h2d_bytes\": %llu, \"bound_d2h_bytes\": %llu}",
		        (unsigned long long)report->bound_h2d_bytes,
		        (unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ", \"bound_h2d_bytes\": null, \"bound_d2h_bytes\": null}");
}

/* RFC 4180: always quoted, quotes doubled. */
static void csv_string(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_header(FILE *out)
{
	fprintf(out, "workload,gpu,policy,seed,complete,time_ns");
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ",%s", fields[i].key);
	for (size_t i = 1; i < COUNT(times); i++)
		fprintf(out, ",%s", times[i].key);
	fprintf(out, ",bound_h2d_bytes,bound_d2h_bytes\n");
}

static void csv_time(const struct report *report, const struct field *field, FILE *out)
{
	if (report->gpu)
		fprintf(out, ",%llu", (unsigned long long)time_of(report, field));
	else
		fputc(',', out);
}

static void csv_row(const struct report *report, FILE *out)
{
	csv_string(report->workload, out);
	fputc(',', out);
	if (report->gpu)
		csv_string(report->gpu, out);
	fputc(',', out);
	csv_string(report->policy, out);
	fprintf(out, ",%llu,%d", (unsigned long long)report->seed, report->is_complete);
	csv_time(report, &times[0], out);
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ",%llu", (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 1; i < COUNT(times); i++)
		csv_time(report, &times[i], out);
	if (report->has_bound)
		fprintf(out, ",%llu,%llu\n", (unsigned long long)report->bound_h2d_bytes,
		        (unsigned long long)report->bound_d2h_bytes);
	else
		fprintf(out, ",,\n");
}

static void print_time(const struct report *report, const struct field *field, FILE *out)
{
	uint64_t us = time_of(report, field) / 1000u;

	fprintf(out, "%-32s %12llu.%03llu ms\n", field->text, (unsigned long long)(us / 1000u),
	        (unsigned long long)(us % 1000u));
}

void report_run(const struct report *report, enum report_format format, FILE *out)
{
	char text[32];

	if (format == REPORT_JSON) {
		json_object(report, out);
		fputc('\n', out);
		return;
	}
	if (format == REPORT_CSV) {
		csv_header(out);
		csv_row(report, out);
		return;
	}
	fprintf(out, "%-32s %s\n", "workload", report->workload);
	if (report->gpu)
		fprintf(out, "%-32s %s\n", "GPU", report->gpu);
	cli_print_words(fprintf(out, "%-32s ", "policy"), report->policy, out);
	fprintf(out, "%-32s %llu\n", "seed", (unsigned long long)report->seed);
	for (size_t i = 0; i < COUNT(fields); i++) {
		uint64_t value = value_of(report, &fields[i]);

		print_mib(text, value);
		if (fields[i].is_bytes)
			fprintf(out, "%-32s %16s MiB\n", fields[i].text, text);
		else
			fprintf(out, "%-32s %16llu\n", fields[i].text, (unsigned long long)value);
	}
	for (size_t i = 0; report->gpu && i < COUNT(times); i++)
		print_time(report, &times[i], out);
	if (!report->gpu)
		fprintf(out, "%-32s %16s\n", "time", "needs --gpu");
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete", "no: the counts up to the error");
}

/* -- the comparison table -- */

enum { COLUMNS = 8, LABEL_MOST = 21, BYTES_IN = 3, ABOVE_WIDTH = 7 };

static const struct {
	const char *title;
	size_t offset;
	bool is_bytes, is_marked; /* marked: the least of a group gets `*`, unless all are the same */
	int width;
} columns[COLUMNS] = {
        {"far faults", offsetof(struct driver_result, far_faults), false, true, 10},
        {"batches", offsetof(struct driver_result, batches), false, true, 8},
        {"duplicates", offsetof(struct driver_result, duplicates), false, false, 10},
        {"MiB in", offsetof(struct driver_result, h2d_bytes), true, true, 9},
        {"MiB out", offsetof(struct driver_result, d2h_bytes), true, true, 9},
        /* not marked: roots, blocks and pages do not compare */
        {"evictions", offsetof(struct driver_result, evictions), false, false, 9},
        {"refaults", offsetof(struct driver_result, refaults), false, true, 8},
        {"unused", offsetof(struct driver_result, pages_prefetched_unused), false, false, 8},
};

/* With time the last column is what matters most. */
static bool is_time(const struct report *report, int column)
{
	return report->gpu && column == COLUMNS - 1;
}

static uint64_t cell(const struct report *report, int column)
{
	uint64_t value;

	if (is_time(report, column))
		return report->times.time_ns;
	memcpy(&value, (const char *)&report->result + columns[column].offset, sizeof(value));
	return value;
}

/* A star stands in the gap behind its number, so that no line ends in a blank. */
static void print_cell(int column, const char *text, bool was_best, FILE *out)
{
	fprintf(out, "%c%*s", was_best ? '*' : ' ', columns[column].width, text);
}

static void print_value(const struct report *report, int column, uint64_t value, bool was_best, FILE *out)
{
	char text[32];

	if (is_time(report, column)) /* ms with one decimal */
		snprintf(text, sizeof(text), "%llu.%llu", (unsigned long long)(value / 1000000u),
		         (unsigned long long)(value / 100000u % 10u));
	else if (columns[column].is_bytes)
		print_mib(text, value);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	print_cell(column, text, was_best, out);
}

/* By how much more comes in than Belady's optimum needs, in percent with one decimal, rounded. A run whose
 * warps overtake each other, or that leaves pages where they are, may be below it. */
static void print_above(const struct report *report, bool was_best, FILE *out)
{
	uint64_t in = report->result.h2d_bytes, bound = report->bound_h2d_bytes;
	uint64_t more = in > bound ? in - bound : bound - in, tenths;
	char text[32] = "";

	if (report->has_bound && report->is_complete && bound != 0) {
		tenths = (more * 1000u + bound / 2u) / bound;
		snprintf(text, sizeof(text), "%s%llu.%llu", in < bound && tenths != 0 ? "-" : "",
		         (unsigned long long)(tenths / 10u), (unsigned long long)(tenths % 10u));
	}
	fprintf(out, "%c%*s", was_best ? '*' : ' ', ABOVE_WIDTH, text);
}

static bool is_best(const struct report *report, size_t count, size_t row, int column)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t value = cell(&report[i], column);

		if (!report[i].is_complete) /* would win by having done less */
			continue;
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	return (columns[column].is_marked || is_time(&report[row], column)) && report[row].is_complete &&
	       least < most && cell(&report[row], column) == least;
}

static bool is_same_group(const struct report *a, const struct report *b)
{
	return strcmp(a->workload, b->workload) == 0 && a->memory.bytes == b->memory.bytes &&
	       a->memory.oversub_percent == b->memory.oversub_percent;
}

/* What Belady's optimum moves, page by page, with the same accesses. */
static void print_bound(const struct report *report, int label, FILE *out)
{
	fprintf(out, "  %-*s", label, "(least possible)");
	for (int c = 0; c < BYTES_IN; c++)
		print_cell(c, "", false, out);
	print_value(report, BYTES_IN, report->bound_h2d_bytes, false, out);
	fprintf(out, " %*s", ABOVE_WIDTH, "");
	print_value(report, BYTES_IN + 1, report->bound_d2h_bytes, false, out);
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

/* Long policies get a letter in the table and a line of their own above it. */
static void print_group(const struct report *report, size_t count, FILE *out)
{
	size_t longest = 16;
	bool has_legend;
	int label;

	print_heading(report, out);
	for (size_t i = 0; i < count; i++)
		longest = strlen(report[i].policy_given) > longest ? strlen(report[i].policy_given) : longest;
	has_legend = longest > LABEL_MOST;
	label = has_legend ? 16 : (int)longest;
	for (size_t i = 0; has_legend && i < count; i++)
		cli_print_words(fprintf(out, "  %2zu: ", i + 1), report[i].policy_given, out);
	fprintf(out, "  %-*s", label, "policy");
	for (int c = 0; c < COLUMNS; c++) {
		print_cell(c, is_time(report, c) ? "time ms" : columns[c].title, false, out);
		if (c == BYTES_IN)
			fprintf(out, " %*s", ABOVE_WIDTH, "% above");
	}
	fputc('\n', out);
	for (size_t i = 0; i < count; i++) {
		bool was_best = false;

		if (has_legend)
			fprintf(out, "  %2zu%*s", i + 1, label - 2, "");
		else
			fprintf(out, "  %-*s", label, report[i].policy_given);
		for (int c = 0; c < COLUMNS; c++) {
			print_value(&report[i], c, cell(&report[i], c), was_best, out);
			was_best = is_best(report, count, i, c);
			if (c != BYTES_IN)
				continue;
			print_above(&report[i], was_best, out);
			was_best = false;
		}
		fputs(was_best ? "*" : "", out);
		fputs(report[i].is_complete ? "\n" : "  complete: no\n", out);
	}
	if (report->has_bound)
		print_bound(report, label, out);
}

void report_compare(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	if (format == REPORT_CSV)
		csv_header(out);
	for (size_t i = 0; format == REPORT_CSV && i < count; i++)
		csv_row(&report[i], out);
	for (size_t i = 0; format == REPORT_JSON && i < count; i++) {
		fputs(i == 0 ? "[" : ",\n ", out);
		json_object(&report[i], out);
	}
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

#define LEVEL_FIELD(name, text, bytes)                                                                       \
	{                                                                                                    \
#name, text, offsetof(struct bound_level, name), bytes                                       \
	}

static const struct field level_fields[] = {
        LEVEL_FIELD(unit_bytes, "unit", true),
        LEVEL_FIELD(places, "units that fit into memory", false),
        LEVEL_FIELD(touched, "units touched: least faults", false),
        LEVEL_FIELD(touched_bytes, "moved to the GPU at least", true),
        LEVEL_FIELD(misses, "optimum: misses", false),
        LEVEL_FIELD(h2d_bytes, "moved to the GPU", true),
        LEVEL_FIELD(left, "units that leave", false),
        LEVEL_FIELD(d2h_bytes, "moved to the CPU", true),
        LEVEL_FIELD(written_back, "of them written", false),
        LEVEL_FIELD(written_back_bytes, "moved if only they are", true),
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
	json_string(report->workload, out);
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
		csv_string(report->workload, out);
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
			if (level_fields[k].is_bytes)
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
