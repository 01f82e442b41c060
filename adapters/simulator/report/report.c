/* Results as text: chooses the format. */
#include "report_internal.h"

void report_run(const struct report *report, enum report_format format, FILE *out)
{
	report_run_draws(report, 1, format, out);
}

void report_run_draws(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	struct row row = report_row(report, count);

	if (format == REPORT_JSON) {
		report_json_run(&row, report, out);
		fputc('\n', out);
		return;
	}
	if (format == REPORT_CSV) {
		report_csv_header(true, out);
		report_csv_run(&row, report, true, out);
		return;
	}
	report_table_run(report, out);
	if (report->draws != 0)
		report_table_draws(&row, out);
}

static void print_rows(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	const struct report *first = report;
	struct row row;

	for (size_t i = 0; i < count; i += row.count) {
		first = report_is_same_group(first, &report[i]) ? first : &report[i];
		row = report_row(&report[i], count - i);
		row.base = first != row.run ? first : NULL;
		for (size_t k = 0; k < row.count; k++) {
			if (format == REPORT_CSV) {
				report_csv_run(&row, &row.run[k], true, out);
				continue;
			}
			fputs(i + k == 0 ? "[" : ",\n ", out);
			report_json_run(&row, &row.run[k], out);
		}
	}
}

void report_compare(const struct report *report, size_t count, enum report_format format, FILE *out)
{
	if (format == REPORT_CSV)
		report_csv_header(true, out);
	if (format != REPORT_TABLE)
		print_rows(report, count, format, out);
	if (format == REPORT_JSON)
		fputs("]\n", out);
	for (size_t i = 0, group; format == REPORT_TABLE && i < count; i += group) {
		for (group = 1; i + group < count && report_is_same_group(&report[i], &report[i + group]);
		     group++)
			;
		if (i > 0)
			fputc('\n', out);
		report_table_group(&report[i], group, out);
	}
}
