/* metrics.h: statistics of pagers as OpenMetrics text (OpenMetrics 1.0), for uvmp-run and for programs with a pager. */
#ifndef UVMP_PAGER_METRICS_H
#define UVMP_PAGER_METRICS_H

#include "pager.h"

#define METRICS_LABELS_MOST 2048 /* a policy in canonical form fits */

/* A pager, and the labels of its samples: `key="value",...` or "". */
struct metrics_pager {
	char labels[METRICS_LABELS_MOST];
	struct uvmp_pager_stats stats;
};

/* The lines that introduce a metric. unit: NULL or the end of the name. */
void metrics_family(FILE *out, const char *name, const char *type, const char *unit, const char *help);
/* Appends `key="value"` in the text's syntax. Bytes that are not printable ASCII become '?'. A value that does not fit is cut. */
void metrics_label(char labels[METRICS_LABELS_MOST], const char *key, const char *value);
/* Every metric of pager statistics, with a sample for each pager. */
void metrics_pagers(FILE *out, const struct metrics_pager *pagers, size_t count);
/* The last line. */
void metrics_end(FILE *out);

#endif
