/* whatif.h: what a profile or trace says of other policies.
 *
 * The input becomes one or two readings. A profile lists faults; accesses to pages that were resident or prefetched are not in
 * it. So its first reading has the pages that faulted, the least that the program can have touched, and its second one also
 * those that migrated without a fault, the most. What holds in both readings does not depend on what the profile leaves out.
 * Each policy is run on each reading, with several seeds or with several draws of the constants of the GPU's model. */
#ifndef UVMSIM_WHATIF_H
#define UVMSIM_WHATIF_H

#include "bound.h"
#include "cli_policies.h"
#include "cli_source.h"
#include "import.h"
#include "model.h"
#include "report.h"

#define WHATIF_READINGS 2u

struct whatif_request {
	const char *path, *from; /* from: the format; NULL: as the first bytes show */
	struct model model;	 /* only if */
	bool has_model;
	struct sim_memory memory; /* zeros: not given */
	struct cli_policies policies;
	uint64_t seed;
	uint32_t seeds, draws; /* one of them is 1 and 0 */
	unsigned jobs;
	enum report_format format;
	struct import_options import;
};

/* -- reading.c -- */

struct whatif_reading {
	struct cli_sources sources; /* one */
	bool is_most;		    /* pages that migrated count as touched */
};

struct whatif_input {
	const char *path, *format; /* format: `trace`, or that of an importer */
	struct import_told told;
	struct whatif_reading reading[WHATIF_READINGS];
	size_t readings;
};

/* False after a report. */
bool whatif_read(const struct whatif_request *request, struct whatif_input *input);
void whatif_input_close(struct whatif_input *input);

/* -- runs.c -- */

/* One run of a policy, or the bound of a reading. Plain data: it comes from another process. */
struct whatif_run {
	bool is_complete;
	char error[SOURCE_ERROR_MAX];
	bool has_faults_only;
	struct sim_result result;
	uint64_t time_ns;
	struct bound_result bound;
};

/* All runs: of each reading those of each policy, repeat by repeat, and then its bound. */
struct whatif_runs {
	const struct whatif_request *request;
	struct whatif_input *input;
	struct whatif_run *run;
	size_t repeats, count;
};

static inline size_t whatif_group(const struct whatif_runs *runs)
{
	return runs->request->policies.count * runs->repeats + 1u;
}

static inline const struct whatif_run *whatif_run_of(const struct whatif_runs *runs, size_t reading,
						     size_t policy, size_t repeat)
{
	return &runs->run[reading * whatif_group(runs) + policy * runs->repeats + repeat];
}

static inline const struct whatif_run *whatif_bound_of(const struct whatif_runs *runs, size_t reading)
{
	return &runs->run[(reading + 1u) * whatif_group(runs) - 1u];
}

/* Performs them. False after a report. */
bool whatif_perform(struct whatif_runs *runs);
/* The baseline's copies by cause, as `uvmsim explain` counts them, of the last reading; NULL: not known. Freed by the caller. */
char *whatif_explain(const struct whatif_runs *runs);

/* -- judge.c -- */

struct whatif_spread {
	uint64_t least, median, most;
};

/* What all runs of one policy say. */
struct whatif_verdict {
	size_t policy;
	const char *error; /* NULL, or why a run of it failed; then nothing else counts */
	/* time_ns with a model, else bytes that moved */
	struct whatif_spread cost;
	struct whatif_spread permille; /* of the baseline's cost, run by run */
	size_t pairs, better,
		worse; /* runs that are compared with one of the baseline; how many cost less, more */
	struct whatif_spread to_gpu, to_cpu, far_faults,
		above; /* above: pages above the optimum, thousandths of it */
};

/* Is the policy better, or worse, than the baseline in every reading and with all seeds and constants? */
const char *whatif_judgement(const struct whatif_verdict *verdict);
/* One verdict for each policy, the best first. NULL: out of memory. */
struct whatif_verdict *whatif_judge(const struct whatif_runs *runs);

/* -- page.c, data.c -- */

void whatif_print_page(const struct whatif_runs *runs, const struct whatif_verdict *verdict,
		       const char *explained, FILE *out);
/* JSON: one object. CSV: a row for each policy. */
void whatif_print_json(const struct whatif_runs *runs, const struct whatif_verdict *verdict, FILE *out);
void whatif_print_csv(const struct whatif_runs *runs, const struct whatif_verdict *verdict, FILE *out);
/* Sentences on what the input does not record about these policies; NULL after the last. */
const char *whatif_limit(const struct whatif_runs *runs, size_t index);

#endif
