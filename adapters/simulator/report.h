/* report.h: results of runs as a table for people, as JSON or CSV for programs. The keys are documented in
 * docs/uvmsim.md. */
#ifndef UVMSIM_REPORT_H
#define UVMSIM_REPORT_H

#include "bound.h"
#include "driver.h"
#include "machine/machine.h"

enum report_format { REPORT_TABLE = 0, REPORT_JSON, REPORT_CSV };

/* One run and what it was made from. */
struct report {
	char *workload;                    /* canonical name of workload or trace; malloc'd */
	char *policy_given;                /* as the user wrote it; malloc'd */
	char policy[UVMP_POLICY_TEXT_MAX]; /* canonical */
	struct driver_memory memory;       /* as asked for */
	uint64_t seed;
	bool is_complete; /* false: the run ended in an error, result is what was counted so far */
	struct driver_result result;
	const char *gpu;            /* NULL: without time */
	struct machine_times times; /* if there is a GPU */
	/* Belady's optimum for pages of 4 KiB, see bound.h */
	bool has_bound;
	uint64_t bound_h2d_bytes, bound_d2h_bytes;
};

/* What is known of a source without running it under a policy. */
struct bound_report {
	const char *workload; /* canonical name */
	struct driver_memory memory;
	uint64_t seed;
	bool is_complete;
	struct bound_result result;
};

/* One run: a table of two columns, one JSON object, or a CSV header and row. */
void report_run(const struct report *report, enum report_format format, FILE *out);
/* Several: runs of one workload and memory stand together; in each such group the table marks the best value
 * of a column with `*`, says how far a run is above Belady's optimum, and closes with that. JSON: an array of
 * objects. */
void report_compare(const struct report *report, size_t count, enum report_format format, FILE *out);
/* The bounds of one source: a table with a column for each size of unit, one JSON object, or a CSV header and a
 * row for each size. */
void report_bound(const struct bound_report *report, enum report_format format, FILE *out);

#endif
