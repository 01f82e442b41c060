/* Runs of one policy that differ in the constants of their model. */
#include "report_internal.h"

struct row report_without_draws(const struct row *row)
{
	return row->run->draws != 0 ? (struct row){row->run, 1, NULL} : *row;
}

static bool is_drawn(const struct report *report)
{
	return report->draw != 0 && report->is_complete;
}

size_t report_drawn(const struct row *row)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		count += is_drawn(&row->run[i]);
	return count;
}

bool report_drawn_rank(const struct row *row, const struct field *field, enum rank rank, uint64_t *value)
{
	uint64_t values[REPORT_RUNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++)
		if (is_drawn(&row->run[i]))
			values[count++] = report_value(&row->run[i], field);
	if (count == 0)
		return false;
	*value = report_rank(values, count, rank);
	return true;
}

/* The same draw of the first policy, if the group has it. */
static const struct report *find_base(const struct row *row, uint32_t draw)
{
	const size_t count = report_row(row->base, draw + 1u).count;

	for (size_t i = 0; i < count; i++)
		if (row->base[i].draw == draw && row->base[i].is_complete)
			return &row->base[i];
	return NULL;
}

bool report_sign(const struct row *row, struct report_sign *sign)
{
	uint64_t values[REPORT_RUNS_MAX];

	memset(sign, 0, sizeof(*sign));
	for (size_t i = 0; row->base && i < row->count; i++) {
		const struct report *run = &row->run[i];
		const struct report *base = is_drawn(run) ? find_base(row, run->draw) : NULL;
		uint64_t ns = run->times.time_ns;

		sign->instant += base && base->times.time_ns == 0;
		if (!base || base->times.time_ns == 0)
			continue;
		sign->faster += ns < base->times.time_ns;
		sign->slower += ns > base->times.time_ns;
		values[sign->pairs++] = ns > UINT64_MAX / 1000u ? ns / (base->times.time_ns / 1000u)
								: ns * 1000u / base->times.time_ns;
	}
	for (enum rank rank = RANK_LEAST; rank < RANKS && sign->pairs != 0; rank++)
		sign->permille[rank] = report_rank(values, sign->pairs, rank);
	return sign->pairs != 0;
}
