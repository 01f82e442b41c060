/* report.h: results of runs as a table for people, as JSON or CSV for programs. The keys are documented in
 * docs/uvmsim.md. */
#ifndef UVMSIM_REPORT_H
#define UVMSIM_REPORT_H

#include "bound.h"
#include "untimed.h"
#include "timed/timed.h"

struct collector;

#define REPORT_SEEDS_MAX 64 /* runs of one policy in a comparison that differ in their seeds */
#define REPORT_DRAWS_MAX 200 /* draws of the constants of a model */

enum report_format { REPORT_TABLE = 0, REPORT_JSON, REPORT_CSV };

/* One run and its settings. */
struct report {
	char *workload;			   /* canonical name of workload or trace; malloc'd */
	char *policy_given;		   /* as the user wrote it; malloc'd */
	char policy[UVMP_POLICY_TEXT_MAX]; /* canonical */
	const char *preset;		   /* its name, if the policy is that and nothing else; NULL */
	struct sim_memory memory;	   /* as asked for */
	uint64_t seed;
	uint32_t draw;	  /* of the constants of the model; 0: the model itself */
	uint32_t draws;	  /* so many draws were asked for besides; 0: none */
	bool is_complete; /* false: the run ended in an error, result has the counts so far */
	bool has_faults_only; /* of the source, see source.h */
	bool was_crash;	  /* its process was ended from outside */
	char *error;	  /* why it is not complete; malloc'd, NULL: not known */
	struct sim_result result;
	const char *gpu;	/* NULL: without time */
	struct sim_times times; /* if there is a GPU */
	/* Belady's optimum for pages of 4 KiB, see bound.h */
	bool has_bound;
	uint64_t bound_h2d_bytes, bound_d2h_bytes;
	struct collector *collector; /* of its pictures; malloc'd, NULL: not collected */
};

/* What is known of a source without running it under a policy. */
struct bound_report {
	const char *workload; /* canonical name */
	struct sim_memory memory;
	uint64_t seed;
	bool is_complete;
	struct bound_result result;
};

/* One run: a table of two columns, one JSON object, or a CSV header and row. */
void report_run(const struct report *report, enum report_format format, FILE *out);
/* The same of the first report, and how far the others spread, which are draws of the constants of its model. */
void report_run_draws(const struct report *report, size_t count, enum report_format format, FILE *out);
/* Several: runs of one workload and memory stand together, in them those of one policy, in the order of their seeds or draws.
 * In each such group the table has a row for a policy, marks the best value of a column with `*`, says how far it is above
 * Belady's optimum, and closes with that. Of several seeds it has the medians, and where they differ, the least and greatest
 * value below. Of draws of a model it has the values of the model itself, least and greatest, and says how the time compares
 * with that of the first policy, draw by draw. JSON: an array of objects, one for each run. */
void report_compare(const struct report *report, size_t count, enum report_format format, FILE *out);
/* The bounds of one source: a table with a column for each size of unit, one JSON object, or a CSV header and a
 * row for each size. */
void report_bound(const struct bound_report *report, enum report_format format, FILE *out);

#endif
