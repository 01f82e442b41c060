/* sweep_compare.h: what the results of a sweep say about one parameter. */
#ifndef UVMSIM_SWEEP_COMPARE_H
#define UVMSIM_SWEEP_COMPARE_H

#include "../report.h"
#include "statistics.h"

/* One value of the parameter against the first one. */
struct comparison {
	char *value;
	struct statistics statistics; /* of the observations: one for each workload and seed */
	size_t pairs;		      /* of runs */
	size_t repeated; /* cases that are left out: all seeds of their workload have given the same numbers */
	size_t zeros;	 /* pairs of which one number is 0: they have no ratio */
};

struct comparisons {
	const char *path, *key, *column;
	char *base; /* the first value */
	struct comparison *comparison;
	size_t count;
};

/* Compares the values of `key`, a parameter of the sweep but `seed`, by pairs of complete runs that differ in it alone, in
 * `column` (NULL: time_ns, or far_faults without time), and prints the answer. The exit status. */
int sweep_compare(const char *path, const char *key, const char *column, enum report_format format);
void comparisons_print(const struct comparisons *comparisons, enum report_format format, FILE *out);

#endif
