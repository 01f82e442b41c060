/* Bars: one for each policy, in groups of one workload and memory size. */
#include "plot_internal.h"

enum { NAME_COLUMNS = 24, BAR_COLUMNS = 32 };

/* Time with a GPU model, else far faults. */
static const struct field *cost_field(const struct report *report)
{
	for (size_t i = 0; !report->gpu && i < REPORT_FIELDS; i++)
		if (strcmp(report_fields[i].key, "far_faults") == 0)
			return &report_fields[i];
	return &report_times[0];
}

static uint64_t cost_of(const struct row *row)
{
	return report_field_rank(row, cost_field(row->run), RANK_MEDIAN);
}

static void draw_value(const struct row *row, uint64_t value, uint64_t base, FILE *out)
{
	char text[PLOT_TEXT_MAX];

	if (row->run->gpu)
		plot_time(text, value);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	fprintf(out, " %s", text);
	if (base != 0 && value != 0)
		fprintf(out, "  %.2f x", (double)base / (double)value);
	if (report_complete(row) == 0)
		fputs("  not complete", out);
	fputc('\n', out);
}

static uint64_t draw_group(const struct report *report, size_t count, FILE *out)
{
	uint64_t most = 1, base = 0;
	char memory[PLOT_TEXT_MAX];
	struct row row;

	plot_bytes(memory, report->result.memory_bytes);
	fprintf(out, "%.60s, %s\n", report->workload, memory);
	for (size_t i = 0; i < count; i += row.count) {
		row = report_row(&report[i], count - i);
		most = cost_of(&row) > most ? cost_of(&row) : most;
	}
	for (size_t i = 0; i < count; i += row.count) {
		uint64_t value;

		row = report_row(&report[i], count - i);
		value = cost_of(&row);
		base = i == 0 && report_complete(&row) != 0 ? value : base;
		plot_name(row.run->policy_given, NAME_COLUMNS, out);
		fputs(plot_is_utf8() ? "│" : "|", out);
		plot_colour(i == 0 ? PLOT_GREY : PLOT_BLUE, out);
		plot_bar((uint64_t)((double)value / (double)most * BAR_COLUMNS * 8), out);
		plot_colour(PLOT_PLAIN, out);
		draw_value(&row, value, report_complete(&row) != 0 ? base : 0, out);
	}
	return base;
}

static double power(double x, size_t n)
{
	double result = 1;

	for (; n != 0; n >>= 1, x *= x)
		if ((n & 1u) != 0)
			result *= x;
	return result;
}

/* The n-th root of a positive number, by bisection: uvmsim does without libm. */
static double root(double x, size_t n)
{
	double low = x < 1 ? x : 1, high = x < 1 ? 1 : x;

	for (int i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (power(middle, n) < x)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The speed-up of each policy over the first one, as the geometric mean of all groups. */
static void draw_means(const struct report *report, size_t count, size_t group, FILE *out)
{
	struct row first, row;

	fputs("geometric mean of all groups\n", out);
	for (size_t i = 0; i < group; i += row.count) {
		double mean = 1;
		size_t groups = 0;

		row = report_row(&report[i], group - i);
		for (size_t k = 0; k + group <= count; k += group) {
			struct row own = report_row(&report[k + i], group - i);

			first = report_row(&report[k], group);
			if (report_complete(&own) == 0 || report_complete(&first) == 0 || cost_of(&own) == 0 || cost_of(&first) == 0)
				break;
			mean *= root((double)cost_of(&first) / (double)cost_of(&own), count / group);
			groups++;
		}
		plot_name(row.run->policy_given, NAME_COLUMNS, out);
		if (groups * group == count)
			fprintf(out, "  %.2f x\n", mean);
		else
			fputs("  a run is not complete, or costs nothing\n", out);
	}
}

static size_t group_at(const struct report *report, size_t count)
{
	size_t group = 1;

	while (group < count && report_is_same_group(report, &report[group]))
		group++;
	return group;
}

void plot_bars(const struct report *report, size_t count, FILE *out)
{
	size_t first = group_at(report, count), group;
	bool is_even = true;

	fprintf(out, "%s; x: %s of the first policy divided by it\n", report->gpu ? "time" : "far faults",
		report->gpu ? "time" : "far faults");
	for (size_t i = 0; i < count; i += group) {
		group = group_at(&report[i], count - i);
		is_even = is_even && group == first;
		fputc('\n', out);
		(void)draw_group(&report[i], group, out);
	}
	if (!is_even || count == first)
		return;
	fputc('\n', out);
	draw_means(report, count, first, out);
}
