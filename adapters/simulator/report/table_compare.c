/* The table that compares policies. */
#include "report_internal.h"

#include "cli.h"

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

/* Takes the place of "duplicates" if a run without time reads or writes pages in CPU memory. The bytes of these accesses are not
 * known without time. */
static const struct column remote = {"remote", RESULT(remote_accesses), COUNT_CELL, false, 10};
#define REMOTE_AT 2u

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

/* The runs of one workload and memory. */
struct table {
	const struct report *report;
	size_t count;
	struct column column[COLUMNS];
	int label; /* width of the first column */
};

static void take_columns(struct table *table)
{
	memcpy(table->column, table->report->gpu ? timed : untimed, sizeof(table->column));
	for (size_t i = 0; i < table->count && !table->report->gpu; i++)
		if (table->report[i].result.remote_accesses != 0)
			table->column[REMOTE_AT] = remote;
}

/* What a column compares and prints, of one run. */
static uint64_t cell(const struct report *report, const struct column *at)
{
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

static uint64_t cell_at(const struct row *row, const struct column *column, enum rank rank)
{
	uint64_t values[REPORT_RUNS_MAX];
	size_t count = 0;

	if (rank == RANK_MEDIAN && row->run->draws != 0) /* of draws the model itself */
		return cell(row->run, column);
	for (size_t i = 0; i < row->count; i++)
		if (report_counts_run(row, i))
			values[count++] = cell(&row->run[i], column);
	return report_rank(values, count, rank);
}

static uint64_t bound_at(const struct row *row, bool is_out, enum rank rank)
{
	uint64_t values[REPORT_RUNS_MAX];

	for (size_t i = 0; i < row->count; i++)
		values[i] = is_out ? row->run[i].bound_d2h_bytes : row->run[i].bound_h2d_bytes;
	return report_rank(values, row->count, rank);
}

static bool has_bound(const struct row *row)
{
	bool all = true;

	for (size_t i = 0; i < row->count; i++)
		all = all && row->run[i].has_bound;
	return all;
}

/* A star stands in the gap after its number, so that no line ends in a blank. */
static void print_cell(const struct column *column, const char *text, bool was_best, FILE *out)
{
	fprintf(out, "%c%*s", was_best ? '*' : ' ', column->width, text);
}

static void print_value(const struct column *column, uint64_t value, bool was_best, FILE *out)
{
	char text[32];

	switch (column->cell) {
	case MIB_CELL:
	case LINK_IN_CELL:
	case LINK_OUT_CELL:
		report_print_mib(text, value);
		break;
	case MS_CELL:
		report_print_thousandths(text, value / 1000u, 1);
		break;
	case MEDIAN_US_CELL:
		report_print_thousandths(text, value, 1);
		break;
	case COPY_KIB_CELL:
		report_print_kib(text, value);
		break;
	default:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	}
	print_cell(column, text, was_best, out);
}

/* Only a complete run has a distance, and only if the optimum moves something. */
static bool has_distance(const struct row *row)
{
	return has_bound(row) && report_complete(row) != 0 && bound_at(row, false, RANK_MEDIAN) != 0;
}

/* Of its bytes to the GPU. The optimum is no bound for the run: docs/uvmsim.md, Bounds. */
static bool is_below(const struct table *table, const struct row *row)
{
	return has_distance(row) &&
	       cell_at(row, &table->column[BYTES_IN], RANK_MEDIAN) < bound_at(row, false, RANK_MEDIAN);
}

/* By how much more comes in than with Belady's optimum, in percent with one decimal, rounded. */
static void print_above(const struct table *table, const struct row *row, bool was_best, FILE *out)
{
	uint64_t in = cell_at(row, &table->column[BYTES_IN], RANK_MEDIAN), bound = bound_at(row, false, RANK_MEDIAN);
	char text[32] = "";
	uint64_t tenths;

	if (is_below(table, row)) {
		snprintf(text, sizeof(text), "below");
	} else if (has_distance(row)) {
		tenths = ((in - bound) * 1000u + bound / 2u) / bound;
		snprintf(text, sizeof(text), "%llu.%llu", (unsigned long long)(tenths / 10u),
			 (unsigned long long)(tenths % 10u));
	}
	fprintf(out, "%c%*s", was_best ? '*' : ' ', ABOVE_WIDTH, text);
}

/* A run that is cut would win by having done less, and a run with remote accesses by bytes that are not counted. */
static bool is_compared(const struct row *row, const struct column *column)
{
	if (column->cell == MIB_CELL)
		for (size_t i = 0; i < row->count; i++)
			if (row->run[i].result.remote_accesses != 0)
				return false;
	return column->is_marked && report_complete(row) == row->count;
}

/* Compares the medians of the rows. */
static bool is_best(const struct table *table, const struct row *row, const struct column *column)
{
	uint64_t least = UINT64_MAX, most = 0, value;
	struct row other;

	for (size_t i = 0; i < table->count; i += other.count) {
		other = report_row(&table->report[i], table->count - i);
		if (!is_compared(&other, column))
			continue;
		value = cell_at(&other, column, RANK_MEDIAN);
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	return is_compared(row, column) && least < most && cell_at(row, column, RANK_MEDIAN) == least;
}

/* What Belady's optimum moves, page by page, with the same accesses, if each page that is used must move. */
static void print_bound(const struct table *table, const struct row *row, FILE *out)
{
	fprintf(out, "  %-*s", table->label, "(Belady optimum)");
	for (int c = 0; c < BYTES_IN; c++)
		print_cell(&table->column[c], "", false, out);
	print_value(&table->column[BYTES_IN], bound_at(row, false, RANK_MEDIAN), false, out);
	fprintf(out, " %*s", ABOVE_WIDTH, "");
	print_value(&table->column[BYTES_IN + 1], bound_at(row, true, RANK_MEDIAN), false, out);
	fputc('\n', out);
}

/* Only if a row is below the optimum, in one of the directions. */
static void print_below(const struct table *table, FILE *out)
{
	const struct column *bytes_out = &table->column[BYTES_IN + 1];
	struct row row;

	for (size_t i = 0; i < table->count; i += row.count) {
		row = report_row(&table->report[i], table->count - i);
		if (!is_below(table, &row) && (!has_bound(&row) || report_complete(&row) == 0 ||
					       cell_at(&row, bytes_out, RANK_MEDIAN) >= bound_at(&row, true, RANK_MEDIAN)))
			continue;
		fputs("  Runs can be below the optimum, which moves every page that is used to the GPU: see "
		      "`uvmsim bound --help`\n",
		      out);
		return;
	}
}

static void print_heading(const struct report *report, FILE *out)
{
	uint64_t percent = report->result.footprint_bytes * 100u / report->result.memory_bytes;
	char memory[32], footprint[32];

	report_print_mib(memory, report->result.memory_bytes);
	report_print_mib(footprint, report->result.footprint_bytes);
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
		row = report_row(&report[i], count - i);
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
static void print_seeds(const struct table *table, const struct row *row, enum rank rank, FILE *out)
{
	fprintf(out, "  %*s", table->label, report_rank_keys[rank]);
	for (int c = 0; c < COLUMNS; c++) {
		print_value(&table->column[c], cell_at(row, &table->column[c], rank), false, out);
		if (c == BYTES_IN)
			fprintf(out, " %*s", ABOVE_WIDTH, "");
	}
	fputc('\n', out);
}

static bool has_difference(const struct table *table, const struct row *row)
{
	for (int c = 0; c < COLUMNS; c++)
		if (cell_at(row, &table->column[c], RANK_LEAST) != cell_at(row, &table->column[c], RANK_MOST))
			return true;
	return false;
}

/* Why runs are not complete, if --until is the reason. */
static const char *cut_of(const struct row *row)
{
	for (size_t i = 0; i < row->count; i++)
		if (row->run[i].times.is_cut)
			return ", cut by --until";
	return "";
}

static void print_row(const struct table *table, const struct row *row, FILE *out)
{
	size_t complete = report_complete(row);
	bool was_best = false;

	if (complete == 0 && row->run->error && row->run->result.accesses == 0 && !row->run->times.is_cut) {
		print_refusal(row, table->label + 2, out);
		return;
	}
	for (int c = 0; c < COLUMNS; c++) {
		print_value(&table->column[c], cell_at(row, &table->column[c], RANK_MEDIAN), was_best, out);
		was_best = is_best(table, row, &table->column[c]);
		if (c != BYTES_IN)
			continue;
		print_above(table, row, was_best, out);
		was_best = false;
	}
	fputs(was_best ? "*" : "", out);
	if (complete == row->count)
		fputc('\n', out);
	else if (row->count == 1)
		fprintf(out, "  complete: no%s\n", cut_of(row));
	else
		fprintf(out, "  complete: %zu of %zu%s\n", complete, row->count, cut_of(row));
	if (has_difference(table, row)) {
		print_seeds(table, row, RANK_LEAST, out);
		print_seeds(table, row, RANK_MOST, out);
	}
}

/* -4.2 or +13.0: percent of a change to so many thousandths. */
static void print_change(uint64_t permille, FILE *out)
{
	uint64_t change = permille < 1000u ? 1000u - permille : permille - 1000u;
	char text[32];

	snprintf(text, sizeof(text), "%s%llu.%llu", change == 0 ? "" : permille < 1000u ? "-" : "+",
		 (unsigned long long)(change / 10u), (unsigned long long)(change % 10u));
	fprintf(out, " %9s", text);
}

/* Whether a policy is faster or slower than the first one in all draws. */
static void print_sign(const struct row *row, FILE *out)
{
	struct report_sign sign;

	if (!report_sign(row, &sign)) {
		fputs(sign.instant != 0 ? " the program takes no time: nothing to compare\n"
					: " no draw is complete for both\n",
		      out);
		return;
	}
	for (enum rank rank = RANK_LEAST; rank < RANKS; rank++)
		print_change(sign.permille[rank], out);
	if (sign.faster == 0 && sign.slower == 0)
		fprintf(out, "  no difference in %zu draws\n", sign.pairs);
	else if (sign.faster == sign.pairs || sign.slower == sign.pairs)
		fprintf(out, "  %s in all %zu draws\n", sign.faster != 0 ? "faster" : "slower", sign.pairs);
	else
		fprintf(out, "  open: faster in %zu, slower in %zu of %zu draws\n", sign.faster, sign.slower,
			sign.pairs);
}

/* The time of each policy against that of the first one, which had the same draws. */
static void print_signs(const struct report *report, size_t count, int width, FILE *out)
{
	int label = width != 0 ? width : LABEL_LEAST;
	struct row row = report_row(report, count);
	size_t number = 1;

	if (row.count == count)
		return;
	fprintf(out, "  %-*s %9s %9s %9s\n", label, "against first, %", report_rank_keys[RANK_LEAST],
		report_rank_keys[RANK_MEDIAN], report_rank_keys[RANK_MOST]);
	for (size_t i = row.count; i < count; i += row.count) {
		row = report_row(&report[i], count - i);
		row.base = report;
		if (width == 0)
			fprintf(out, "  %2zu%*s", ++number, label - 2, "");
		else
			fprintf(out, "  %-*s", label, label_of(row.run));
		print_sign(&row, out);
	}
}

void report_table_group(const struct report *report, size_t count, FILE *out)
{
	struct table table = {.report = report, .count = count, .label = LABEL_LEAST};
	struct row row = report_row(report, count);
	size_t number = 0;
	int width;

	take_columns(&table);
	print_heading(report, out);
	if (report->draws != 0)
		fprintf(out, "  values of the model; least and most of the model and %u draws of its constants\n",
			report->draws);
	else if (row.count > 1)
		fprintf(out, "  medians of %zu runs, of seeds %llu to %llu\n", row.count,
			(unsigned long long)row.run->seed, (unsigned long long)row.run[row.count - 1].seed);
	width = print_legend(report, count, out);
	table.label = width != 0 ? width : LABEL_LEAST;
	fprintf(out, "  %-*s", table.label, "policy");
	for (int c = 0; c < COLUMNS; c++) {
		print_cell(&table.column[c], table.column[c].title, false, out);
		if (c == BYTES_IN)
			fprintf(out, " %*s", ABOVE_WIDTH, "% above");
	}
	fputc('\n', out);
	for (size_t i = 0; i < count; i += row.count) {
		row = report_row(&report[i], count - i);
		if (width == 0)
			fprintf(out, "  %2zu%*s", ++number, table.label - 2, "");
		else
			fprintf(out, "  %-*s", table.label, label_of(&report[i]));
		print_row(&table, &row, out);
	}
	row = report_row(report, count);
	if (has_bound(&row))
		print_bound(&table, &row, out);
	print_below(&table, out);
	if (report->draws != 0)
		print_signs(report, count, width, out);
}
