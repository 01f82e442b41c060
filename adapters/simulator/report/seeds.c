/* Runs of one policy that differ in their seeds. */
#include "report_internal.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

uint64_t report_rank(uint64_t *values, size_t count, enum rank rank)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[rank == RANK_LEAST ? 0 : rank == RANK_MOST ? count - 1 : (count - 1) / 2];
}

size_t report_complete(const struct row *row)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		count += row->run[i].is_complete;
	return count;
}

bool report_counts_run(const struct row *row, size_t run)
{
	return row->run[run].is_complete || report_complete(row) == 0;
}

uint64_t report_field_rank(const struct row *row, const struct field *field, enum rank rank)
{
	uint64_t values[REPORT_RUNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		if (report_counts_run(row, i))
			values[count++] = report_value(&row->run[i], field);
	return report_rank(values, count, rank);
}

bool report_is_same_group(const struct report *a, const struct report *b)
{
	return strcmp(a->workload, b->workload) == 0 && a->memory.bytes == b->memory.bytes &&
	       a->memory.oversub_percent == b->memory.oversub_percent;
}

struct row report_row(const struct report *report, size_t count)
{
	struct row row = {report, 1, NULL};

	while (row.count < count && row.count < REPORT_RUNS_MAX &&
	       (report[row.count].seed > report[row.count - 1].seed ||
		report[row.count].draw > report[row.count - 1].draw) &&
	       report_is_same_group(report, &report[row.count]) &&
	       strcmp(report->policy_given, report[row.count].policy_given) == 0)
		row.count++;
	return row;
}

bool report_has_seeded(const struct row *row, const struct field *field)
{
	return report_complete(row) != 0 && (field != &report_seeded[0] || row->run->gpu);
}
