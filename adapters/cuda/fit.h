/* fit.h: least squares with terms that cannot be negative, lines through copies, and steps of a latency curve. */
#ifndef UVMP_CUDA_FIT_H
#define UVMP_CUDA_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define FIT_TERMS_MAX 8u
#define FIT_ROWS_MAX  4096u

/* value = sum of count[i] * coefficient[i] */
struct fit_row {
	double count[FIT_TERMS_MAX], value;
};

struct fit {
	double coefficient[FIT_TERMS_MAX];
	double error[FIT_TERMS_MAX]; /* standard errors; 0 where the term was dropped */
	bool is_known[FIT_TERMS_MAX]; /* false: the rows do not determine the term, or it would be negative; then 0 */
	double worst;		      /* the greatest relative residual */
};

/* Fits so that the sum of the squares of relative residuals is least. Terms that would be negative are 0. False: fewer rows
 * than terms that occur, or no row, or values that are not positive. */
bool fit_rows(const struct fit_row *row, size_t rows, size_t terms, struct fit *fit);

/* ns = start + bytes / rate. */
struct fit_line {
	double start_ns, bytes_per_ns, worst;
};
/* The line through copies; relative residuals. False: fewer than two sizes, or no positive rate. */
bool fit_line(const double *bytes, const double *ns, size_t count, struct fit_line *line);

/* A latency curve over ascending footprints rises in up to two steps. */
struct fit_steps {
	size_t steps;
	double bytes[2]; /* the last footprint before each rise */
	double ns[3];	 /* medians: before, between, behind */
};
/* A step is a rise to more than 1.15 times the median of the level so far that lasts for all larger footprints. False: fewer
 * than two points, or not ascending. */
bool fit_steps(const double *bytes, const double *ns, size_t count, struct fit_steps *steps);

#endif
