/* The runs of `uvmsim whatif`, side by side in processes. */
#include "whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "explain.h"
#include "interrupt.h"
#include "parallel.h"
#include "progress.h"
#include "timed/timed.h"

struct task {
	size_t reading, policy, repeat;
	bool is_bound;
};

static struct task task_of(const struct whatif_runs *runs, size_t index)
{
	size_t in_group = index % whatif_group(runs);

	return (struct task){.reading = index / whatif_group(runs),
			     .policy = in_group / runs->repeats,
			     .repeat = in_group % runs->repeats,
			     .is_bound = in_group + 1u == whatif_group(runs)};
}

static bool run_policy(const struct whatif_runs *runs, const struct task *task, struct source *source,
		       struct sim_log log, struct whatif_run *run)
{
	const struct whatif_request *q = runs->request;
	struct sim_run settings = {
		.policy = &q->policies.policy[task->policy].policy, .memory = q->memory, .log = log};
	struct sim_times times;
	struct model drawn;
	bool is_good;

	settings.seed = q->seed + (q->draws == 0 ? task->repeat : 0);
	if (!q->has_model)
		return untimed_run(source, &settings, &run->result, run->error);
	memset(&times, 0, sizeof(times));
	model_draw(&q->model, q->seed, q->draws != 0 ? (uint32_t)task->repeat : 0, &drawn);
	is_good = timed_run(source, &drawn, &settings, &run->result, &times, run->error);
	run->time_ns = times.time_ns;
	return is_good;
}

static void perform_task(const struct whatif_runs *runs, const struct task *task, struct sim_log log,
			 struct whatif_run *run)
{
	const struct cli_sources *sources = &runs->input->reading[task->reading].sources;
	struct source *source = cli_source_open(sources, 0, runs->request->seed, run->error);

	if (!source)
		return;
	run->is_complete = task->is_bound
				   ? bound_run(source, runs->request->memory, 1, &run->bound, run->error)
				   : run_policy(runs, task, source, log, run);
	run->has_faults_only = source->has_faults_only;
	source->close(source);
}

static void run_child(void *context, size_t index, void *answer)
{
	const struct whatif_runs *runs = context;
	struct task task = task_of(runs, index);

	perform_task(runs, &task, (struct sim_log){.file = NULL}, answer);
}

static bool take_child(void *context, size_t index, const void *answer, const char *crash)
{
	struct whatif_runs *runs = context;
	struct whatif_run *run = &runs->run[index];

	memcpy(run, answer, sizeof(*run));
	if (crash) {
		run->is_complete = false;
		snprintf(run->error, sizeof(run->error), "%.300s", crash);
	}
	progress_run_ended(run->result.accesses);
	return true;
}

/* A bound, or the baseline, that failed ends all: nothing can be compared. */
static bool check(const struct whatif_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++) {
		struct task task = task_of(runs, i);

		if (runs->run[i].is_complete || (!task.is_bound && task.policy != 0))
			continue;
		say_error("whatif: %s%s%s", task.is_bound ? "" : runs->request->policies.policy[0].given,
			  task.is_bound ? "" : ": ",
			  runs->run[i].error[0] != '\0' ? runs->run[i].error : "was not run");
		return false;
	}
	return true;
}

bool whatif_perform(struct whatif_runs *runs)
{
	struct parallel work = {.answer_bytes = sizeof(struct whatif_run),
				.context = runs,
				.run = run_child,
				.take = take_child};
	unsigned jobs = runs->request->jobs != 0 ? runs->request->jobs : parallel_processors();
	bool is_started;

	runs->repeats = runs->request->draws != 0 ? runs->request->draws + 1u : runs->request->seeds;
	runs->count = runs->input->readings * whatif_group(runs);
	runs->run = calloc(runs->count, sizeof(*runs->run));
	if (!runs->run) {
		say_error("out of memory");
		return false;
	}
	work.count = runs->count;
	work.jobs = jobs < runs->count ? jobs : (unsigned)runs->count;
	interrupt_catch();
	progress_start(runs->count);
	is_started = parallel_run(&work);
	progress_end();
	interrupt_done();
	if (!is_started) {
		say_error("whatif: no process can be started for the runs");
		return false;
	}
	if (interrupt_caught != 0) {
		say_error("whatif: interrupted");
		return false;
	}
	return check(runs);
}

/* The part of the summary that begins with the table of causes. */
static char *cut_causes(char *text)
{
	char *at = text ? strstr(text, "cause  ") : NULL, *end = at ? strstr(at, "\n\n") : NULL;

	if (!at)
		return text;
	if (end)
		end[1] = '\0';
	memmove(text, at, strlen(at) + 1u);
	return text;
}

char *whatif_explain(const struct whatif_runs *runs)
{
	struct task task = {.reading = runs->input->readings - 1u};
	struct explain_query query = {.has_address = false};
	struct whatif_run *run = calloc(1, sizeof(*run));
	FILE *log = tmpfile(), *out;
	char *text = NULL, error[EXPLAIN_ERROR_MAX];
	bool is_good = run && log;
	size_t length = 0;

	if (is_good)
		perform_task(runs, &task, (struct sim_log){.file = log}, run);
	is_good = is_good && run->is_complete && fseeko(log, 0, SEEK_SET) == 0;
	out = is_good ? open_memstream(&text, &length) : NULL;
	is_good = out && explain_log(log, "log", &query, out, error);
	if (out)
		fclose(out);
	if (log)
		fclose(log);
	free(run);
	if (is_good)
		return cut_causes(text);
	free(text);
	return NULL;
}
