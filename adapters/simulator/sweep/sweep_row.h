/* sweep_row.h: one line of the results of a sweep. */
#ifndef UVMSIM_SWEEP_ROW_H
#define UVMSIM_SWEEP_ROW_H

#include "../report.h"
#include "sweep_file.h"

/* The names of the columns, and the line of a run; malloc'd, without line feed. NULL: out of memory. */
char *sweep_header(const struct sweep *sweep);
char *sweep_row(const struct sweep *sweep, uint64_t run, const struct report *report, const char *host);

#endif
