/* run_report.h: what happened in the processes of a run, as a table for people, as JSON or CSV for programs
 * (docs/uvmp-run.md has the keys), and as one line while it goes on. */
#ifndef UVMP_RUN_REPORT_H
#define UVMP_RUN_REPORT_H

#include "run.h"

#include <stdio.h>

enum run_format { RUN_TABLE, RUN_JSON, RUN_CSV };

struct run_report {
	enum run_format format;
	bool is_verbose, is_quiet; /* is_quiet: only what went wrong is said */
	bool is_aside;		   /* the report has a file of its own */
	bool is_alone;		   /* it was said that the program runs without the library */
	char **program;
	const char *policy;    /* canonical */
	const char *features;  /* sentences, one a line */
	const char *objection; /* why the program did not load the library, if it did not; NULL: not known */
	uint64_t budget_bytes, threshold_bytes, time_ns;
	const char *store;
	int status; /* of the program, as wait gives it */
	uint64_t peak_rss_bytes; /* of the process that had most, with all its memory */
	const struct run_shared *shared;
};

void run_report_write(FILE *out, const struct run_report *report);
/* What went wrong, on stderr, and why nothing was managed, if nothing was. False: the log or the trace is not complete. */
bool run_report_trouble(const struct run_report *report);
/* On the terminal that stderr is, cut to its width. False: there is nothing to show yet. */
bool run_report_live(const struct run_shared *shared, double seconds);

#endif
