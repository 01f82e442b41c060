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

/* There is no time model yet: null, never an invented figure. */
static const char *const times[] = {"fetch_ns", "order_ns",  "service_ns", "migrate_ns", "map_ns",
                                    "evict_ns", "replay_ns", "compute_ns", "idle_ns"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t value_of(const struct report *report, const struct field *field)
{
	uint64_t value;

	memcpy(&value, (const char *)&report->result + field->offset, sizeof(value));
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

static void json_object(const struct report *report, FILE *out)
{
	fprintf(out, "{\"workload\": ");
	json_string(report->workload, out);
	fprintf(out, ", \"gpu\": null, \"policy\": ");
	json_string(report->policy, out);
	fprintf(out, ", \"seed\": %llu, \"complete\": %s, \"time_ns\": null",
	        (unsigned long long)report->seed, report->is_complete ? "true" : "false");
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ", \"%s\": %llu", fields[i].key,
		        (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 0; i < COUNT(times); i++)
		fprintf(out, ", \"%s\": null", times[i]);
	fputc('}', out);
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
	for (size_t i = 0; i < COUNT(times); i++)
		fprintf(out, ",%s", times[i]);
	fputc('\n', out);
}

static void csv_row(const struct report *report, FILE *out)
{
	csv_string(report->workload, out);
	fprintf(out, ",,"); /* no GPU model */
	csv_string(report->policy, out);
	fprintf(out, ",%llu,%d,", (unsigned long long)report->seed, report->is_complete);
	for (size_t i = 0; i < COUNT(fields); i++)
		fprintf(out, ",%llu", (unsigned long long)value_of(report, &fields[i]));
	for (size_t i = 0; i < COUNT(times); i++)
		fputc(',', out);
	fputc('\n', out);
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
	fprintf(out, "%-32s %16s\n", "time", "not modelled yet");
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete", "no: the counts up to the error");
}

/* -- the comparison table -- */

enum { COLUMNS = 8, LABEL_MOST = 22, BYTES_IN = 3 };

static const struct {
	const char *title;
	size_t offset;
	bool is_bytes, is_marked; /* marked: the least of a group gets `*`, unless all are the same */
	int width;
} columns[COLUMNS] = {
        {"far faults", offsetof(struct driver_result, far_faults), false, true, 10},
        {"batches", offsetof(struct driver_result, batches), false, true, 9},
        {"duplicates", offsetof(struct driver_result, duplicates), false, false, 10},
        {"MiB in", offsetof(struct driver_result, h2d_bytes), true, true, 9},
        {"MiB out", offsetof(struct driver_result, d2h_bytes), true, true, 9},
        /* not marked: roots, blocks and pages do not compare */
        {"evictions", offsetof(struct driver_result, evictions), false, false, 9},
        {"refaults", offsetof(struct driver_result, refaults), false, true, 9},
        {"unused", offsetof(struct driver_result, pages_prefetched_unused), false, false, 8},
};

static uint64_t cell(const struct report *report, int column)
{
	uint64_t value;

	memcpy(&value, (const char *)&report->result + columns[column].offset, sizeof(value));
	return value;
}

/* A star stands in the gap behind its number, so that no line ends in a blank. */
static void print_cell(int column, const char *text, bool was_best, FILE *out)
{
	fprintf(out, "%c%*s", was_best ? '*' : ' ', columns[column].width, text);
}

static void print_value(int column, uint64_t value, bool was_best, FILE *out)
{
	char text[32];

	if (columns[column].is_bytes)
		print_mib(text, value);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	print_cell(column, text, was_best, out);
}

static bool is_best(const struct report *report, size_t count, size_t row, int column)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t value = cell(&report[i], column);

		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	return columns[column].is_marked && least < most && cell(&report[row], column) == least;
}

static bool is_same_group(const struct report *a, const struct report *b)
{
	return strcmp(a->workload, b->workload) == 0 && a->memory.bytes == b->memory.bytes &&
	       a->memory.oversub_percent == b->memory.oversub_percent;
}

/* Whatever the policy, each page that is touched must come in once, and what does not fit must leave. */
static void print_bound(const struct report *report, int label, FILE *out)
{
	uint64_t in = report->result.pages_touched * 4096u;
	uint64_t leaving = in > report->result.memory_bytes ? in - report->result.memory_bytes : 0;

	fprintf(out, "  %-*s", label, "(least possible)");
	for (int c = 0; c < BYTES_IN; c++)
		print_cell(c, "", false, out);
	print_value(BYTES_IN, in, false, out);
	print_value(BYTES_IN + 1, leaving, false, out);
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
	for (int c = 0; c < COLUMNS; c++)
		print_cell(c, columns[c].title, false, out);
	fputc('\n', out);
	for (size_t i = 0; i < count; i++) {
		bool was_best = false;

		if (has_legend)
			fprintf(out, "  %2zu%*s", i + 1, label - 2, "");
		else
			fprintf(out, "  %-*s", label, report[i].policy_given);
		for (int c = 0; c < COLUMNS; c++) {
			print_value(c, cell(&report[i], c), was_best, out);
			was_best = is_best(report, count, i, c);
		}
		fputs(was_best ? "*\n" : "\n", out);
	}
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
