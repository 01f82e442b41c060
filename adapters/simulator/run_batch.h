/* run_batch.h: the runs of one command line, and how they are performed. */
#ifndef UVMSIM_RUN_BATCH_H
#define UVMSIM_RUN_BATCH_H

#include "cli_policies.h"
#include "cli_source.h"
#include "outputs.h"
#include "report.h"

enum { MANY = 64, JOBS_MOST = 1024 }; /* repetitions of one option; processes */

/* The requests of the command line. */
struct run_request {
	struct model model; /* only if */
	bool has_model;
	struct cli_sources sources;
	struct sim_memory memory[MANY];
	size_t memories;
	bool has_oversub; /* was given */
	struct cli_policies policies;
	bool is_compare;
	bool has_bounds; /* each group of runs has its bound: a comparison, or a run with pictures */
	unsigned jobs;	/* 0: not given */
	uint32_t seeds; /* 0: not given; the first is that of the sources */
	uint32_t draws; /* 0: not given; of the constants of the model, besides the model itself; then seeds is 0 */
	enum report_format format;
	struct sim_log log;
	uint64_t until_ns; /* 0: not given */
	struct outputs outputs;
	/* Receives the `count` reports that are kept, in the order of their tasks, instead of standard output; the sources then
	 * stay open for further batches. A run that is refused before its first access is kept, too. */
	void (*print)(void *context, const struct report *report, size_t count);
	void *print_context;
};

static inline size_t run_runs_of(const struct run_request *q)
{
	return q->sources.count * q->memories * q->policies.count;
}

/* Tasks are numbered: seeds (or draws) change fastest, then policies, memory sizes, and sources slowest. */
static inline size_t run_seeds_of(const struct run_request *q)
{
	return q->seeds != 0 ? q->seeds : 1;
}

/* Runs of one policy. */
static inline size_t run_repeats_of(const struct run_request *q)
{
	return q->draws != 0 ? q->draws + 1u : run_seeds_of(q);
}

/* The first bound of a group. */
static inline size_t run_bounds_of(const struct run_request *q)
{
	return q->policies.count * run_repeats_of(q);
}

/* With bounds the runs of a source and memory are followed by one more task for each seed: their bound.
 */
static inline size_t run_group_of(const struct run_request *q)
{
	return run_bounds_of(q) + (q->has_bounds ? run_seeds_of(q) : 0);
}

static inline size_t run_tasks_of(const struct run_request *q)
{
	return q->sources.count * q->memories * run_group_of(q);
}

static inline bool run_is_bound(const struct run_request *q, size_t index)
{
	return index % run_group_of(q) >= run_bounds_of(q);
}

/* Does the run have pictures? Those of the first seed and of the model itself, of the first runs. */
static inline bool run_is_collected(const struct run_request *q, size_t index)
{
	size_t repeats = run_repeats_of(q), place = index % run_group_of(q);

	return outputs_collects(&q->outputs) && !run_is_bound(q, index) && place % repeats == 0 &&
	       index / run_group_of(q) * q->policies.count + place / repeats < OUTPUTS_PICTURES_MOST;
}

/* Of a task that is no bound. */
static inline const struct cli_policy *run_policy_of(const struct run_request *q, size_t index)
{
	return &q->policies.policy[index % run_group_of(q) / run_repeats_of(q)];
}

/* Counted from 0, the first seed. With draws there is one seed. */
static inline size_t run_seed_number(const struct run_request *q, size_t index)
{
	return index % run_group_of(q) % run_seeds_of(q);
}

static inline uint64_t run_seed_of(const struct run_request *q, size_t index)
{
	return q->sources.seed + run_seed_number(q, index);
}

/* 0: the model itself. */
static inline uint32_t run_draw_of(const struct run_request *q, size_t index)
{
	return q->draws != 0 && !run_is_bound(q, index)
		       ? (uint32_t)(index % run_group_of(q) % run_repeats_of(q))
		       : 0;
}

static inline size_t run_source_of(const struct run_request *q, size_t index)
{
	return index / run_group_of(q) / q->memories;
}

static inline struct sim_memory run_memory_of(const struct run_request *q, size_t index)
{
	return q->memory[index / run_group_of(q) % q->memories];
}

/* Tasks with the same rows: those of one trace, or of one workload and seed, are a group. */
static inline size_t run_rows_of(const struct run_request *q, size_t index)
{
	size_t source = run_source_of(q, index);

	return source * run_seeds_of(q) + (q->sources.source[source].is_trace ? 0 : run_seed_number(q, index));
}

enum { RUN_NAME_MAX = 4608 }; /* of a workload or trace, in an answer */

/* What one run answers. Plain data: it may come from another process. */
struct run_answer {
	bool is_complete;
	struct sim_result result;  /* not complete: the counts so far */
	struct sim_times times;	   /* if there is a model */
	struct bound_result bound; /* or this */
	char workload[RUN_NAME_MAX], error[SOURCE_ERROR_MAX];
	struct cli_recorded recorded;
	struct collector collector[]; /* of a batch: one, if the command line collects */
};

/* Performs the only run of the request. *answer starts as zeros. */
void run_alone(const struct run_request *q, struct run_answer *answer);
/* Fills the report of a run, which starts as zeros, without is_complete and error. False: out of memory. */
bool run_describe(const struct run_request *q, size_t index, const struct run_answer *answer, struct report *report);

/* All runs and their results. */
struct run_batch {
	const struct run_request *q;
	struct report *report;
	struct cli_recorded *recorded; /* for each source */
	struct shared_rows *rows;      /* NULL: each run reads its own source */
	size_t *rows_left;	       /* for each group of run_rows_of: tasks that have not ended */
	size_t count, failed; /* failed: the first task whose failure ends all; count: none has failed */
	char error[SOURCE_ERROR_MAX];
};

/* Performs all runs and prints the report; all that was counted is printed before an error. Returns the exit status. */
int run_batch_perform(struct run_request *q);

/* -- run_notes.c: notes on standard error -- */

/* Keys of policies that have an effect only with --gpu, or that the real chip of the model does not have. */
void run_note_policies(const struct run_request *q);
/* Notes that the requested over-subscription is not met, once for each workload and memory size. */
void run_note_oversub(const struct run_batch *batch);
/* What a recorded trace cannot tell about these runs. */
void run_note_recording(const struct run_batch *batch, size_t source);

#endif
