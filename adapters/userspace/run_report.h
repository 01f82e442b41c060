/* run_report.h: the report of a run, as a table for people, as JSON or CSV for programs (docs/uvmp-
 * run.md has the keys), and as one line while it runs. */
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
/* Statistics of a process as of the last call, and as of the last line. */
struct run_thrash {
	uint64_t seen_ns, ns, waited_ns, bytes;
};

/* While the program runs: a line on stderr for each process that has begun to thrash, or has thrashed for twice as long as at
 * its last line. Call it at most every THRASH_PERIOD_NS / 2. is_line: the terminal shows run_report_live's. */
void run_report_thrash(const struct run_shared *shared, struct run_thrash said[RUN_PROCESSES], bool is_line);
/* For the terminal on stderr, cut to its width. False: no process has reported yet. */
bool run_report_live(const struct run_shared *shared, double seconds);

#endif
