/* Least squares by the normal equations: a handful of terms, scaled so that their sizes do not matter. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1.15 /* a rise that counts */
#define TINY 1e-9 /* of a pivot, relative to the largest */

struct system {
	size_t size, term[FIT_TERMS_MAX]; /* the terms that are still in */
	double scale[FIT_TERMS_MAX];
	double matrix[FIT_TERMS_MAX][FIT_TERMS_MAX], right[FIT_TERMS_MAX], inverse[FIT_TERMS_MAX][FIT_TERMS_MAX];
};

static void build(struct system *s, const struct fit_row *row, size_t rows)
{
	memset(s->matrix, 0, sizeof(s->matrix));
	memset(s->right, 0, sizeof(s->right));
	for (size_t i = 0; i < s->size; i++) {
		s->scale[i] = 0;
		for (size_t k = 0; k < rows; k++) {
			double part = row[k].count[s->term[i]] / row[k].value;

			s->scale[i] = part > s->scale[i] ? part : s->scale[i];
		}
	}
	for (size_t k = 0; k < rows; k++) {
		for (size_t i = 0; i < s->size; i++) {
			double left = row[k].count[s->term[i]] / row[k].value / s->scale[i];

			s->right[i] += left;
			for (size_t j = 0; j < s->size; j++)
				s->matrix[i][j] += left * row[k].count[s->term[j]] / row[k].value / s->scale[j];
		}
	}
}

/* Inverts the matrix by Gauss and Jordan. Returns the row that depends on others, s->size: none. */
static size_t invert(struct system *s)
{
	double work[FIT_TERMS_MAX][FIT_TERMS_MAX];

	memcpy(work, s->matrix, sizeof(work));
	for (size_t i = 0; i < s->size; i++)
		for (size_t j = 0; j < s->size; j++)
			s->inverse[i][j] = i == j;
	for (size_t i = 0; i < s->size; i++) { /* the matrix is symmetric and positive: pivots lie on the diagonal */
		double pivot = work[i][i];

		if (!(pivot > TINY * s->matrix[i][i]))
			return i;
		for (size_t j = 0; j < s->size; j++) {
			work[i][j] /= pivot;
			s->inverse[i][j] /= pivot;
		}
		for (size_t k = 0; k < s->size; k++) {
			double factor = work[k][i];

			if (k == i)
				continue;
			for (size_t j = 0; j < s->size; j++) {
				work[k][j] -= factor * work[i][j];
				s->inverse[k][j] -= factor * s->inverse[i][j];
			}
		}
	}
	return s->size;
}

static void drop(struct system *s, size_t at)
{
	for (size_t i = at; i + 1 < s->size; i++)
		s->term[i] = s->term[i + 1];
	s->size--;
}

/* The solution, into fit. Returns the most negative term, s->size: none is. */
static size_t solve(const struct system *s, struct fit *fit)
{
	size_t worst = s->size;
	double least = 0;

	memset(fit->coefficient, 0, sizeof(fit->coefficient));
	memset(fit->is_known, 0, sizeof(fit->is_known));
	for (size_t i = 0; i < s->size; i++) {
		double sum = 0;

		for (size_t j = 0; j < s->size; j++)
			sum += s->inverse[i][j] * s->right[j];
		if (sum < least) {
			least = sum;
			worst = i;
		}
		fit->coefficient[s->term[i]] = sum / s->scale[i];
		fit->is_known[s->term[i]] = true;
	}
	return worst;
}

static void judge(const struct system *s, const struct fit_row *row, size_t rows, size_t terms, struct fit *fit)
{
	double squares = 0;

	fit->worst = 0;
	memset(fit->error, 0, sizeof(fit->error));
	for (size_t k = 0; k < rows; k++) {
		double sum = 0, part;

		for (size_t i = 0; i < terms; i++)
			sum += row[k].count[i] * fit->coefficient[i];
		part = fabs(sum / row[k].value - 1);
		squares += part * part;
		fit->worst = part > fit->worst ? part : fit->worst;
	}
	for (size_t i = 0; i < s->size && rows > s->size; i++)
		fit->error[s->term[i]] = sqrt(squares / (double)(rows - s->size) * s->inverse[i][i]) / s->scale[i];
}

bool fit_rows(const struct fit_row *row, size_t rows, size_t terms, struct fit *fit)
{
	struct system s = {.size = 0};

	if (rows == 0 || rows > FIT_ROWS_MAX || terms == 0 || terms > FIT_TERMS_MAX)
		return false;
	for (size_t i = 0; i < terms; i++) {
		bool occurs = false;

		for (size_t k = 0; k < rows; k++)
			occurs = occurs || row[k].count[i] > 0;
		if (occurs)
			s.term[s.size++] = i;
	}
	for (size_t k = 0; k < rows; k++)
		if (!(row[k].value > 0))
			return false;
	if (s.size == 0 || rows < s.size)
		return false;
	while (s.size > 0) { /* each turn drops one term */
		size_t at;

		build(&s, row, rows);
		at = invert(&s);
		if (at == s.size)
			at = solve(&s, fit);
		if (at == s.size)
			break;
		drop(&s, at);
	}
	if (s.size == 0)
		return false;
	judge(&s, row, rows, terms, fit);
	return true;
}

bool fit_line(const double *bytes, const double *ns, size_t count, struct fit_line *line)
{
	struct fit_row *row = calloc(count + 1, sizeof(*row));
	struct fit fit;
	bool is_good;

	if (!row)
		return false;
	for (size_t i = 0; i < count; i++)
		row[i] = (struct fit_row){.count = {1, bytes[i]}, .value = ns[i]};
	is_good = count >= 2 && fit_rows(row, count, 2, &fit) && fit.is_known[1] && fit.coefficient[1] > 0;
	free(row);
	if (is_good)
		*line = (struct fit_line){.start_ns = fit.coefficient[0], .bytes_per_ns = 1 / fit.coefficient[1], .worst = fit.worst};
	return is_good;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median(const double *values, size_t count)
{
	double copy[FIT_ROWS_MAX];

	memcpy(copy, values, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), by_value);
	return copy[(count - 1) / 2];
}

/* Are all points from `at` on above the level? */
static bool stays_above(const double *ns, size_t at, size_t count, double level)
{
	for (size_t i = at; i < count; i++)
		if (ns[i] <= level)
			return false;
	return true;
}

bool fit_steps(const double *bytes, const double *ns, size_t count, struct fit_steps *steps)
{
	size_t begin = 0;

	*steps = (struct fit_steps){.steps = 0};
	if (count < 2 || count > FIT_ROWS_MAX)
		return false;
	for (size_t i = 1; i < count; i++)
		if (!(bytes[i] > bytes[i - 1]))
			return false;
	for (size_t i = 1; i < count && steps->steps < 2; i++) {
		double level = median(ns + begin, i - begin);

		if (!stays_above(ns, i, count, STEP * level))
			continue;
		steps->bytes[steps->steps] = bytes[i - 1];
		steps->ns[steps->steps++] = level;
		begin = i;
	}
	steps->ns[steps->steps] = median(ns + begin, count - begin);
	return true;
}
