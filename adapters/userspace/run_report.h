/* run_report.h: the report of a run, as a table for people, as JSON or CSV for programs: docs/uvmp-run.md has
 * the keys. */
#ifndef UVMP_RUN_REPORT_H
#define UVMP_RUN_REPORT_H

#include "run.h"

#include <stdio.h>

enum run_format { RUN_TABLE, RUN_JSON, RUN_CSV };

struct run_report {
	enum run_format format;
	bool is_verbose, is_quiet; /* is_quiet: only problems are reported */
	bool is_aside;		   /* the report has a file of its own */
	bool is_alone;		   /* a message said that the program runs without the library */
	char **program;
	const char *policy;    /* in canonical form */
	const char *features;  /* sentences, one a line */
	const char *objection; /* why the program did not load the library; NULL: it did, or the
				* reason is unknown */
	uint64_t budget_bytes, threshold_bytes, time_ns;
	const char *store;
	int status;		 /* of the program, as returned by wait */
	uint64_t peak_rss_bytes; /* of the process with the largest resident set */
	const struct run_shared *shared;
};

void run_report_write(FILE *out, const struct run_report *report);
/* Reports problems on stderr, and why nothing was managed, if so. False: the log or the trace is
 * incomplete. */
bool run_report_trouble(const struct run_report *report);

#endif
