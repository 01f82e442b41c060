/* The runs of one command line: in turn, or side by side in processes. */
#include "run_batch.h"

#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "cli.h"
#include "interrupt.h"
#include "page_cache.h"
#include "parallel.h"
#include "progress.h"
#include "shared_rows.h"
#include "timed/timed.h"
#include "untimed.h"

#define SHARED_GROUPS_MOST 256u

/* -- one run -- */

static size_t answer_bytes(const struct run_request *q)
{
	return sizeof(struct run_answer) + (outputs_collects(&q->outputs) ? sizeof(struct collector) : 0);
}

/* Does the run read rows that it may share? With time a workload is asked for its thread blocks instead. */
static bool shares_rows(const struct run_batch *batch, size_t index)
{
	const struct run_request *q = batch->q;

	return batch->rows && (!q->has_model || run_is_bound(q, index) || q->sources.source[run_source_of(q, index)].is_trace);
}

/* The source of a run, from its beginning, or the rows that another run has recorded of it. *is_shared: may these be taken?
 * Were they? */
static struct source *open_source(const struct run_batch *batch, size_t index, bool *is_shared, struct run_answer *answer)
{
	const struct run_request *q = batch->q;
	struct source *source = NULL;
	bool may_share = *is_shared;

	if (may_share)
		source = shared_rows_source(batch->rows, run_rows_of(q, index));
	*is_shared = source != NULL;
	if (source)
		return source;
	source = cli_source_open(&q->sources, run_source_of(q, index), run_seed_of(q, index), answer->error);
	if (source && may_share)
		shared_rows_record(batch->rows, run_rows_of(q, index), source);
	return source;
}

/* What the source says of its recording, after the run. */
static void describe_recording(const struct source *source, struct run_answer *answer)
{
	answer->recorded.bytes = source->recorded_bytes;
	answer->recorded.has_faults_only = source->has_faults_only;
	memcpy(answer->recorded.policy, source->recorded_policy, sizeof(answer->recorded.policy));
}

static void run_timed(const struct run_batch *batch, size_t index, struct source *source, const struct sim_run *run,
		      struct run_answer *answer)
{
	const struct run_request *q = batch->q;
	struct model drawn;

	model_draw(&q->model, q->sources.seed, run_draw_of(q, index), &drawn);
	answer->is_complete = timed_run(source, &drawn, run, &answer->result, &answer->times, answer->error);
}

static void run_source(const struct run_batch *batch, size_t index, struct source *source, struct run_answer *answer)
{
	const struct run_request *q = batch->q;
	struct sim_run run = {.memory = run_memory_of(q, index),
			      .seed = run_seed_of(q, index),
			      .log = q->log,
			      .until_ns = q->until_ns};
	struct observers observers = {.count = 0};

	outputs_observe(&q->outputs, run_is_collected(q, index) ? answer->collector : NULL, &observers);
	run.observers = observers.count != 0 ? &observers : NULL;
	snprintf(answer->workload, RUN_NAME_MAX, "%s", source->name); /* first: the run may crash */
	if (!run_is_bound(q, index))
		run.policy = &run_policy_of(q, index)->policy;
	if (run_is_bound(q, index))
		answer->is_complete = bound_run(source, run.memory, 1, &answer->bound, answer->error);
	else if (q->has_model)
		run_timed(batch, index, source, &run, answer);
	else
		answer->is_complete = untimed_run(source, &run, &answer->result, answer->error);
	describe_recording(source, answer);
	source->close(source);
}

/* Runs as a cache of pages, if the run suits and its source can be read again should that fail. False: not run. */
static bool run_page_cache(const struct run_batch *batch, size_t index, struct run_answer *answer)
{
	const struct run_request *q = batch->q;
	struct sim_run run = {.memory = run_memory_of(q, index), .seed = run_seed_of(q, index), .log = q->log};
	struct observers observers = {.count = 0};
	enum page_cache_end end;
	struct source *source = NULL;
	bool is_shared = shares_rows(batch, index);

	if (run_is_bound(q, index) || q->has_model || !cli_source_is_file(&q->sources, run_source_of(q, index)))
		return false;
	outputs_observe(&q->outputs, run_is_collected(q, index) ? answer->collector : NULL, &observers);
	run.observers = observers.count != 0 ? &observers : NULL;
	run.policy = &run_policy_of(q, index)->policy;
	if (page_cache_suits(&run))
		source = open_source(batch, index, &is_shared, answer);
	if (!source)
		return false;
	snprintf(answer->workload, RUN_NAME_MAX, "%s", source->name);
	end = page_cache_run(source, &run, &answer->result, answer->error);
	answer->is_complete = end == PAGE_CACHE_DONE;
	describe_recording(source, answer);
	source->close(source);
	return end != PAGE_CACHE_REFUSED;
}

/* Errors in a trace name the place of a row, which shared rows do not have: such a run is repeated with the trace itself. */
static void run_one(const struct run_batch *batch, size_t index, struct run_answer *answer)
{
	bool is_trace = batch->q->sources.source[run_source_of(batch->q, index)].is_trace;
	bool is_shared = shares_rows(batch, index);

	if (run_page_cache(batch, index, answer))
		return;
	for (;;) {
		struct source *source;

		memset(answer, 0, sizeof(*answer));
		source = open_source(batch, index, &is_shared, answer);
		if (!source)
			return;
		run_source(batch, index, source, answer);
		if (answer->is_complete || answer->times.is_cut || !is_shared || !is_trace || interrupt_caught != 0)
			return;
		is_shared = false;
	}
}

void run_alone(const struct run_request *q, struct run_answer *answer)
{
	const struct run_batch batch = {.q = q, .count = 1};

	run_one(&batch, 0, answer);
}

/* -- all runs -- */

/* Keeps an error. False: the later tasks are not needed. If the policies are presets among many, the row of the preset
 * has the error, and the others continue. */
static bool fail(struct run_batch *batch, size_t index, const char *error)
{
	struct report *report = &batch->report[index];

	free(report->error);
	report->error = strdup(error);
	if (batch->q->policies.is_sweep && !run_is_bound(batch->q, index) && interrupt_caught == 0)
		return true;
	if (index < batch->failed) {
		batch->failed = index;
		snprintf(batch->error, SOURCE_ERROR_MAX, "%s", error);
	}
	return false;
}

bool run_describe(const struct run_request *q, size_t index, const struct run_answer *answer, struct report *report)
{
	const struct cli_policy *policy = run_policy_of(q, index);

	report->memory = run_memory_of(q, index);
	report->seed = run_seed_of(q, index);
	report->draw = run_draw_of(q, index);
	report->draws = q->draws;
	report->gpu = q->has_model ? q->model.name : NULL;
	report->preset = policy->preset;
	uvmp_policy_print(&policy->policy, report->policy, sizeof(report->policy));
	report->result = answer->result;
	if (q->has_model)
		report->times = answer->times;
	report->workload = strdup(answer->workload);
	report->policy_given = strdup(policy->given);
	return report->workload && report->policy_given;
}

static bool keep_pictures(const struct collector *collector, struct report *report)
{
	report->collector = malloc(sizeof(*collector));
	if (report->collector)
		*report->collector = *collector;
	return report->collector != NULL;
}

/* Keeps the answer of a run. False: the later tasks are not needed. */
static bool take(struct run_batch *batch, size_t index, const struct run_answer *answer)
{
	const struct run_request *q = batch->q;
	struct report *report = &batch->report[index];

	report->is_complete = answer->is_complete;
	if (!run_is_bound(q, index))
		batch->recorded[run_source_of(q, index)] = answer->recorded;
	if (run_is_bound(q, index)) {
		report->bound_h2d_bytes = answer->bound.level[0].h2d_bytes;
		report->bound_d2h_bytes = answer->bound.level[0].d2h_bytes;
		progress_run_ended(answer->bound.accesses);
	} else {
		report->has_faults_only = answer->recorded.has_faults_only;
		if (!run_describe(q, index, answer, report) ||
		    (run_is_collected(q, index) && !keep_pictures(answer->collector, report)))
			return fail(batch, index, "out of memory");
		progress_run_ended(answer->result.accesses);
	}
	if (answer->times.is_cut) { /* as asked: its row says so, and the others continue */
		report->error = strdup(answer->error);
		return report->error || fail(batch, index, "out of memory");
	}
	return answer->is_complete || fail(batch, index, answer->error);
}

static void run_child(void *context, size_t index, void *answer)
{
	run_one(context, index, answer);
}

/* The run has ended: rows that no further run reads are dropped. */
static void end_rows(struct run_batch *batch, size_t index)
{
	size_t rows = run_rows_of(batch->q, index);

	if (batch->rows && --batch->rows_left[rows] == 0)
		shared_rows_drop(batch->rows, rows);
}

static bool take_child(void *context, size_t index, const void *memory, const char *crash)
{
	const struct run_answer *answer = memory;
	struct run_batch *batch = context;
	const struct run_request *q = batch->q;
	const char *name = answer->workload[0] != '\0' ? answer->workload
						       : q->sources.source[run_source_of(q, index)].spec;
	char error[SOURCE_ERROR_MAX];

	end_rows(batch, index);
	if (!crash) /* an interrupt ends the later runs, too: each answer counts */
		return take(batch, index, answer) || interrupt_caught != 0;
	snprintf(error, SOURCE_ERROR_MAX, "%.300s: %s", name, crash);
	batch->report[index].was_crash = true;
	if (q->policies.is_sweep && !run_is_bound(q, index) &&
	    !run_describe(q, index, answer, &batch->report[index]))
		return fail(batch, index, "out of memory");
	return fail(batch, index, error);
}

static void run_in_turn(struct run_batch *batch)
{
	struct run_answer *answer = malloc(answer_bytes(batch->q));

	if (!answer)
		fail(batch, 0, "out of memory");
	for (size_t i = 0; i < batch->count && batch->failed == batch->count; i++) {
		memset(answer, 0, sizeof(*answer));
		run_one(batch, i, answer);
		end_rows(batch, i);
		take(batch, i, answer);
	}
	free(answer);
}

static void run_side_by_side(struct run_batch *batch, unsigned jobs)
{
	struct parallel work = {.count = batch->count,
				.jobs = jobs,
				.answer_bytes = answer_bytes(batch->q),
				.context = batch,
				.run = run_child,
				.take = take_child};

	if (!parallel_run(&work))
		fail(batch, 0, "no process can be started for the runs");
}

static bool has_trace(const struct run_request *q)
{
	for (size_t i = 0; i < q->sources.count; i++)
		if (q->sources.source[i].is_trace)
			return true;
	return false;
}

/* Rows are recorded if runs can still read them when the first one has ended: more runs than are started together. */
static void share_rows(struct run_batch *batch, size_t jobs)
{
	const struct run_request *q = batch->q;
	size_t groups = q->sources.count * run_seeds_of(q);

	if (batch->count <= jobs || batch->count == groups || (q->has_model && !has_trace(q)) || groups > SHARED_GROUPS_MOST)
		return;
	batch->rows_left = calloc(groups, sizeof(*batch->rows_left));
	if (!batch->rows_left)
		return;
	for (size_t i = 0; i < batch->count; i++)
		batch->rows_left[run_rows_of(q, i)]++;
	batch->rows = shared_rows_open(groups);
}

static void close_rows(struct run_batch *batch)
{
	if (batch->rows)
		shared_rows_close(batch->rows);
	free(batch->rows_left);
}

static void perform(struct run_batch *batch)
{
	size_t jobs = batch->q->jobs != 0 ? batch->q->jobs : parallel_processors();

	if (batch->q->has_bounds && !batch->q->is_compare && batch->q->draws == 0)
		jobs = 1; /* one run, and then its bound: the run writes files */
	jobs = jobs < JOBS_MOST ? jobs : JOBS_MOST;
	jobs = jobs < batch->count ? jobs : batch->count;
	share_rows(batch, jobs);
	if (jobs > 1)
		run_side_by_side(batch, (unsigned)jobs);
	else
		run_in_turn(batch);
	close_rows(batch);
}

/* Gives each run the bound of its group and seed. */
static void share_bounds(struct run_batch *batch)
{
	const struct run_request *q = batch->q;

	for (size_t i = 0; i < batch->count && q->has_bounds; i++) {
		size_t group = i - i % run_group_of(q);
		const struct report *bound =
			&batch->report[group + run_bounds_of(q) + run_seed_number(q, i)];

		batch->report[i].has_bound = bound->is_complete;
		batch->report[i].bound_h2d_bytes = bound->bound_h2d_bytes;
		batch->report[i].bound_d2h_bytes = bound->bound_d2h_bytes;
	}
}

static bool was_refused(const struct report *report)
{
	return report->error && report->result.accesses == 0 && !report->was_crash;
}

/* Among many presets some may not suit a model: they are refused before their first access, and their rows
 * say so. A later failure of a run is an error of the whole comparison; so is a comparison in which no preset
 * runs. */
static void judge_presets(struct run_batch *batch)
{
	const struct report *worst = NULL;
	size_t good = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->report[i];

		if (run_is_bound(batch->q, i))
			continue;
		good += report->is_complete || report->times.is_cut;
		if (report->times.is_cut)
			continue;
		if (report->error && (!worst || (was_refused(worst) && !was_refused(report))))
			worst = report;
	}
	if (!worst || batch->failed < batch->count || (good > 0 && was_refused(worst)))
		return;
	batch->failed = (size_t)(worst - batch->report);
	snprintf(batch->error, SOURCE_ERROR_MAX, "%s", worst->error);
}

/* Of a comparison those before the first error; of a single run, and where the user has interrupted, all that
 * was counted; of many presets all whose source could be opened. */
static bool is_kept(const struct run_batch *batch, size_t index)
{
	const struct report *report = &batch->report[index];

	if (!report->workload || !report->policy_given) /* no run, but a bound */
		return false;
	if (interrupt_caught == 0 && report->times.is_cut)
		return index < batch->failed;
	if (interrupt_caught != 0 || (!batch->q->is_compare && !batch->q->print))
		return report->is_complete || report->result.accesses > 0;
	if (batch->q->policies.is_sweep)
		return report->workload[0] != '\0';
	return report->is_complete && index < batch->failed;
}

/* Moves the reports that are printed to the front. */
static size_t keep_results(struct run_batch *batch)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->count; i++) {
		struct report report = batch->report[i];

		if (!is_kept(batch, i))
			continue;
		batch->report[i] = batch->report[kept];
		batch->report[kept++] = report;
	}
	return kept;
}

static void free_reports(struct report *report, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(report[i].workload);
		free(report[i].policy_given);
		free(report[i].error);
		free(report[i].collector);
	}
	free(report);
}

int run_batch_perform(struct run_request *q)
{
	struct run_batch batch = {.q = q, .count = run_tasks_of(q), .failed = run_tasks_of(q)};
	size_t kept;

	batch.report = calloc(batch.count, sizeof(*batch.report));
	batch.recorded = calloc(q->sources.count, sizeof(*batch.recorded));
	if (!batch.report || !batch.recorded) {
		free(batch.report);
		free(batch.recorded);
		return say_error("out of memory");
	}
	run_note_policies(q);
	interrupt_catch();
	progress_start(batch.count);
	if (batch.count > 1)
		cli_source_keep_stdin(&q->sources);
	perform(&batch);
	progress_end();
	interrupt_done();
	share_bounds(&batch);
	run_note_oversub(&batch);
	for (size_t i = 0; i < q->sources.count; i++)
		run_note_recording(&batch, i);
	free(batch.recorded);
	if (q->policies.is_sweep)
		judge_presets(&batch);
	kept = keep_results(&batch);
	outputs_write(&q->outputs, batch.report, kept);
	if (q->print && kept > 0)
		q->print(q->print_context, batch.report, kept);
	else if (q->is_compare && kept > 0)
		report_compare(batch.report, kept, q->format, stdout);
	else if (kept > 0)
		report_run_draws(batch.report, kept, q->format, stdout);
	free_reports(batch.report, batch.count);
	if (!q->print)
		cli_source_close_all(&q->sources);
	if (interrupt_caught != 0) {
		say_error("%s", batch.failed < batch.count ? batch.error : "interrupted");
		return interrupt_status();
	}
	return batch.failed == batch.count ? CLI_DONE : say_error("%s", batch.error);
}
