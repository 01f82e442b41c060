/* uvmsim run, uvmsim compare: sources through the driver under one policy or several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "cli.h"
#include "cli_policies.h"
#include "cli_source.h"
#include "untimed.h"
#include "interrupt.h"
#include "timed/timed.h"
#include "parallel.h"
#include "progress.h"
#include "report.h"

const char help_run[] = "usage: uvmsim run --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			"\n"
			"Feeds page accesses through fault buffer, batches, prefetcher, eviction and\n"
			"replay, and reports the counts. With --gpu the run takes time, on a model of\n"
			"that GPU and its link; without, time fields are null.\n"
			"\n"
			"  --workload SPEC  a built-in program, see `uvmsim list workloads`\n"
			"  --trace FILE     a recorded one, see `uvmsim list formats`; -: standard input\n"
			"  --gpu NAME       a GPU that `uvmsim list gpus` names, or a file of your own\n"
			"  --memory SIZE    GPU memory, rounded down to 2 MiB: bytes, or 512M, 512MB or\n"
			"                   512MiB, all powers of 1024 (default with --gpu: the GPU's)\n"
			"  --oversub P      managed footprint in percent of GPU memory: 125 or 125%;\n"
			"                   a number with a point is a ratio, 0.01 to 19.99: 1.25.\n"
			"                   Whole numbers below 20 need the sign: 5%\n"
			"                   (default without --gpu: 100, everything fits)\n"
			"  --policy \"...\"   a preset's name, key=value words, or both, see\n"
			"                   `uvmsim list policies` and `uvmsim list presets`\n"
			"                   (default: $UVMP_POLICY, else nvidia-595)\n"
			"  --seed N         for everything random (default 1)\n"
			"  --format F       table (default), json, csv\n"
			"  --log FILE       the decision log, one action a line, for `uvmsim explain`\n"
			"                   (run only)\n"
			"  --log-completions  the log also says when each action completed (run only)\n";

const char help_compare[] = "usage: uvmsim compare --workload NAME[:k=v,...] | --trace FILE\n"
			    "                      --policy \"...\" --policy \"...\"   [options]\n"
			    "\n"
			    "The same runs under several policies, side by side. All options of\n"
			    "`uvmsim run`; --workload, --trace, --memory, --oversub and --policy may be\n"
			    "repeated: every combination is run. `--policy all` is every preset,\n"
			    "`--policy 'preset=PATTERN'` those whose names match; a preset that cannot run\n"
			    "gets a row that says why. In each group of runs `*` marks the least value;\n"
			    "the last line is what Belady's optimum, which knows the future, moves page by\n"
			    "page; `% above` it is what a run brought in. See `uvmsim bound`.\n"
			    "JSON is an array of the objects that `uvmsim run` prints.\n"
			    "\n"
			    "  --jobs N         runs at a time, each with memory of its own (default: the\n"
			    "                   number of processors); the results do not depend on it\n"
			    "  --seeds N        each with N seeds, from that of --seed on; a row has the\n"
			    "                   medians, and least and most below it where they differ;\n"
			    "                   JSON and CSV have every run\n";

static const char *const options[] = {"workload=*", "trace=*",	       "gpu=",	  "memory=*", "oversub=*",
				      "policy=*",   "seed=",	       "format=", "log=",     "jobs=",
				      "seeds=",	    "log-completions", "help",	  NULL};
enum option {
	WORKLOAD,
	TRACE,
	GPU,
	MEMORY,
	OVERSUB,
	POLICY,
	SEED,
	FORMAT,
	LOG,
	JOBS,
	SEEDS,
	COMPLETIONS,
	HELP
};

enum { MANY = 64, JOBS_MOST = 1024 }; /* repetitions of one option; processes */

struct request {
	struct model model; /* only if */
	bool has_model;
	struct cli_sources sources;
	struct sim_memory memory[MANY];
	size_t memories;
	bool has_oversub; /* was given */
	struct cli_policies policies;
	bool is_compare;
	unsigned jobs;	/* 0: not given */
	uint32_t seeds; /* 0: not given; the first is that of the sources */
	enum report_format format;
	const char *log_path;
	struct sim_log log;
};

static int add_gpu(struct request *q, const char *value)
{
	char error[MODEL_ERROR_MAX];

	q->has_model = true;
	return model_open(value, NULL, &q->model, error) ? CLI_DONE : say_error("--gpu: %s", error);
}

static int add_memory(struct request *q, bool is_percent, const char *value)
{
	struct sim_memory *memory = &q->memory[q->memories];

	if (q->memories == MANY)
		return say_error("more than %d memory sizes", MANY);
	q->memories++;
	q->has_oversub = q->has_oversub || is_percent;
	if (!is_percent)
		return options_size("--memory", value, 2097152, UINT64_C(1) << 44, &memory->bytes)
			       ? CLI_DONE
			       : CLI_BAD_INPUT;
	return cli_oversub("--oversub", value, &memory->oversub_percent) ? CLI_DONE : CLI_BAD_INPUT;
}

static int set_format(enum report_format *format, const char *value)
{
	int number = options_format("--format", value);

	*format = number < 0 ? REPORT_TABLE : (enum report_format)number;
	return number < 0 ? CLI_BAD_INPUT : CLI_DONE;
}

static int add_option(struct request *q, enum option option, const char *value)
{
	uint64_t number;

	switch (option) {
	case WORKLOAD:
	case TRACE:
		return cli_source_add(&q->sources, option == TRACE, value);
	case GPU:
		return add_gpu(q, value);
	case MEMORY:
	case OVERSUB:
		return add_memory(q, option == OVERSUB, value);
	case POLICY:
		return cli_policies_add(&q->policies, "--policy", value);
	case SEED:
		return options_number("--seed", value, 0, UINT64_MAX, &q->sources.seed) ? CLI_DONE
											: CLI_BAD_INPUT;
	case FORMAT:
		return set_format(&q->format, value);
	case LOG:
		q->log_path = value;
		break;
	case JOBS:
		if (!options_number("--jobs", value, 1, JOBS_MOST, &number))
			return CLI_BAD_INPUT;
		q->jobs = (unsigned)number;
		break;
	case SEEDS:
		if (!options_number("--seeds", value, 1, REPORT_SEEDS_MAX, &number))
			return CLI_BAD_INPUT;
		q->seeds = (uint32_t)number;
		break;
	case COMPLETIONS:
		q->log.has_completions = true;
		break;
	case HELP:
		break;
	}
	return CLI_DONE;
}

static int set_defaults(struct request *q, const char *command)
{
	if (q->sources.count == 0)
		return say_error("%s: one of --workload and --trace is needed; see `uvmsim %s --help`",
				 command, command);
	if (q->memories == 0 && q->has_model)
		q->memory[q->memories++].bytes = q->model.memory_bytes;
	else if (q->memories == 0)
		q->memory[q->memories++].oversub_percent = 100;
	if (q->policies.count == 0) {
		const char *text = getenv("UVMP_POLICY");

		return text ? cli_policies_add(&q->policies, "UVMP_POLICY", text)
			    : cli_policies_add(&q->policies, "--policy", "preset=nvidia-595");
	}
	return CLI_DONE;
}

static size_t runs_of(const struct request *q)
{
	return q->sources.count * q->memories * q->policies.count;
}

/* Tasks are numbered: seeds change fastest, then policies, memory sizes, and sources slowest. */
static size_t seeds_of(const struct request *q)
{
	return q->seeds != 0 ? q->seeds : 1;
}

/* In a comparison the runs of a source and memory are followed by one more task for each seed: their bound.
 */
static size_t group_of(const struct request *q)
{
	return (q->policies.count + q->is_compare) * seeds_of(q);
}

static size_t tasks_of(const struct request *q)
{
	return q->sources.count * q->memories * group_of(q);
}

static bool is_bound(const struct request *q, size_t index)
{
	return index % group_of(q) >= q->policies.count * seeds_of(q);
}

/* Of a task that is no bound. */
static const struct cli_policy *policy_of(const struct request *q, size_t index)
{
	return &q->policies.policy[index % group_of(q) / seeds_of(q)];
}

static uint64_t seed_of(const struct request *q, size_t index)
{
	return q->sources.seed + index % seeds_of(q);
}

static size_t source_of(const struct request *q, size_t index)
{
	return index / group_of(q) / q->memories;
}

static struct sim_memory memory_of(const struct request *q, size_t index)
{
	return q->memory[index / group_of(q) % q->memories];
}

/* -- one run -- */

enum { NAME_MOST = 4608 }; /* of a workload or trace, in what a run answers */

/* What one run answers. Plain data: it may come from another process. */
struct answer {
	bool is_complete;
	struct sim_result result;  /* not complete: what was counted until then */
	struct sim_times times;	   /* if there is a model */
	struct bound_result bound; /* or this */
	char workload[NAME_MOST], error[SOURCE_ERROR_MAX];
	struct cli_recorded recorded;
};

static void run_one(const struct request *q, size_t index, struct answer *answer)
{
	uint64_t seed = seed_of(q, index);
	struct source *source = cli_source_open(&q->sources, source_of(q, index), seed, answer->error);
	struct sim_run run = {.memory = memory_of(q, index), .seed = seed, .log = q->log};

	if (!source)
		return;
	if (!is_bound(q, index))
		run.policy = &policy_of(q, index)->policy;
	snprintf(answer->workload, NAME_MOST, "%s", source->name);
	if (is_bound(q, index))
		answer->is_complete = bound_run(source, run.memory, 1, &answer->bound, answer->error);
	else if (q->has_model)
		answer->is_complete =
			timed_run(source, &q->model, &run, &answer->result, &answer->times, answer->error);
	else
		answer->is_complete = untimed_run(source, &run, &answer->result, answer->error);
	answer->recorded.bytes = source->recorded_bytes;
	answer->recorded.has_faults_only = source->has_faults_only;
	memcpy(answer->recorded.policy, source->recorded_policy, sizeof(answer->recorded.policy));
	source->close(source);
}

/* -- all runs -- */

struct batch {
	const struct request *q;
	struct report *report;
	struct cli_recorded *recorded; /* for each source */
	size_t count, failed; /* failed: the first task whose failure ends all, count: there is none */
	char error[SOURCE_ERROR_MAX];
};

/* Notes what went wrong. False if the tasks behind are not wanted any more: a preset among many says it in
 * its row, and the others go on. */
static bool fail(struct batch *batch, size_t index, const char *error)
{
	struct report *report = &batch->report[index];

	free(report->error);
	report->error = strdup(error);
	if (batch->q->policies.is_sweep && !is_bound(batch->q, index) && interrupt_caught == 0)
		return true;
	if (index < batch->failed) {
		batch->failed = index;
		snprintf(batch->error, SOURCE_ERROR_MAX, "%s", error);
	}
	return false;
}

/* What was asked for, and what is known of it. False: out of memory. */
static bool describe(const struct request *q, size_t index, const struct answer *answer,
		     struct report *report)
{
	const struct cli_policy *policy = policy_of(q, index);

	report->memory = memory_of(q, index);
	report->seed = seed_of(q, index);
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

/* Keeps a run's answer. False if those behind it are not wanted any more. */
static bool take(struct batch *batch, size_t index, const struct answer *answer)
{
	const struct request *q = batch->q;
	struct report *report = &batch->report[index];

	report->is_complete = answer->is_complete;
	if (!is_bound(q, index))
		batch->recorded[source_of(q, index)] = answer->recorded;
	if (is_bound(q, index)) {
		report->bound_h2d_bytes = answer->bound.level[0].h2d_bytes;
		report->bound_d2h_bytes = answer->bound.level[0].d2h_bytes;
		progress_run_ended(answer->bound.accesses);
	} else {
		if (!describe(q, index, answer, report))
			return fail(batch, index, "out of memory");
		progress_run_ended(answer->result.accesses);
	}
	return answer->is_complete || fail(batch, index, answer->error);
}

static void run_child(void *context, size_t index, void *answer)
{
	run_one(((struct batch *)context)->q, index, answer);
}

static bool take_child(void *context, size_t index, const void *memory, const char *crash)
{
	const struct answer *answer = memory;
	struct batch *batch = context;
	const struct request *q = batch->q;
	const char *name =
		answer->workload[0] != '\0' ? answer->workload : q->sources.source[source_of(q, index)].spec;
	char error[SOURCE_ERROR_MAX];

	if (!crash) /* an interrupted run does not make those behind it, interrupted too, worth less */
		return take(batch, index, answer) || interrupt_caught != 0;
	snprintf(error, SOURCE_ERROR_MAX, "%.300s: %s", name, crash);
	batch->report[index].was_crash = true;
	if (q->policies.is_sweep && !is_bound(q, index) && !describe(q, index, answer, &batch->report[index]))
		return fail(batch, index, "out of memory");
	return fail(batch, index, error);
}

static void run_in_turn(struct batch *batch)
{
	struct answer *answer = malloc(sizeof(*answer));

	if (!answer)
		fail(batch, 0, "out of memory");
	for (size_t i = 0; i < batch->count && batch->failed == batch->count; i++) {
		memset(answer, 0, sizeof(*answer));
		run_one(batch->q, i, answer);
		take(batch, i, answer);
	}
	free(answer);
}

static void run_side_by_side(struct batch *batch, unsigned jobs)
{
	struct parallel work = {.count = batch->count,
				.jobs = jobs,
				.answer_bytes = sizeof(struct answer),
				.context = batch,
				.run = run_child,
				.take = take_child};

	if (!parallel_run(&work))
		fail(batch, 0, "no process can be started for the runs");
}

static void run_batch(struct batch *batch)
{
	size_t jobs = batch->q->jobs != 0 ? batch->q->jobs : parallel_processors();

	jobs = jobs < JOBS_MOST ? jobs : JOBS_MOST;
	jobs = jobs < batch->count ? jobs : batch->count;
	if (jobs > 1)
		run_side_by_side(batch, (unsigned)jobs);
	else
		run_in_turn(batch);
}

/* Each run learns the bound of its group and seed, where there is one. */
static void share_bounds(struct batch *batch)
{
	const struct request *q = batch->q;

	for (size_t i = 0; i < batch->count && q->is_compare; i++) {
		size_t group = i - i % group_of(q);
		const struct report *bound =
			&batch->report[group + q->policies.count * seeds_of(q) + i % seeds_of(q)];

		batch->report[i].has_bound = bound->is_complete;
		batch->report[i].bound_h2d_bytes = bound->bound_h2d_bytes;
		batch->report[i].bound_d2h_bytes = bound->bound_d2h_bytes;
	}
}

static bool was_refused(const struct report *report)
{
	return report->error && report->result.accesses == 0 && !report->was_crash;
}

/* Among many presets some may be of no use for a model: they are refused before their first access, and their
 * rows say so. A run that broke later is an error of the whole, and so is it if no preset runs. */
static void judge_presets(struct batch *batch)
{
	const struct report *worst = NULL;
	size_t good = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->report[i];

		if (is_bound(batch->q, i))
			continue;
		good += report->is_complete;
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
static bool is_kept(const struct batch *batch, size_t index)
{
	const struct report *report = &batch->report[index];

	if (!report->workload || !report->policy_given) /* no run, but a bound */
		return false;
	if (interrupt_caught != 0 || !batch->q->is_compare)
		return report->is_complete || report->result.accesses > 0;
	if (batch->q->policies.is_sweep)
		return report->workload[0] != '\0';
	return report->is_complete && index < batch->failed;
}

/* Moves what is printed to the front. */
static size_t keep_results(struct batch *batch)
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

/* -- notes -- */

/* Keys that only a run with time looks at. */
static void note_untimed(const struct request *q)
{
	for (size_t i = 0; i < q->policies.count && !q->has_model && !q->policies.is_sweep; i++) {
		const struct uvmp_policy *policy = &q->policies.policy[i].policy;
		const char *given = q->policies.policy[i].given;

		if (policy->threads)
			say_note("%.200s: threads=on has no effect without --gpu", given);
		if (policy->sm_throttle)
			say_note("%.200s: sm_throttle=on has no effect without --gpu", given);
		if (policy->plan != UVMP_PLAN_SERIAL)
			say_note("%.200s: plan=%s has no effect without --gpu", given,
				 policy->plan == UVMP_PLAN_OVERLAPPED ? "overlapped" : "unobtrusive");
		if (policy->link_ratio != 100)
			say_note("%.200s: link_ratio has no effect without --gpu", given);
	}
}

/* Of each workload and memory size, by its first complete run. */
static void note_oversub(const struct batch *batch)
{
	const struct request *q = batch->q;
	size_t noted = SIZE_MAX;

	for (size_t i = 0; i < batch->count && q->has_oversub; i++) {
		const struct report *report = &batch->report[i];

		if (is_bound(q, i) || !report->is_complete || i / group_of(q) == noted)
			continue;
		noted = i / group_of(q);
		if (report->memory.oversub_percent != 0)
			cli_note_oversub(report->workload, report->memory.oversub_percent,
					 report->result.footprint_bytes, report->result.memory_bytes);
	}
}

/* Does a complete run of the source have the memory, the policy (canonical; NULL: any) of its recording? */
static bool has_run_with(const struct batch *batch, size_t source, uint64_t bytes, const char *policy)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->report[i];

		if (source_of(batch->q, i) != source || is_bound(batch->q, i) || !report->is_complete)
			continue;
		if ((bytes == 0 || report->result.memory_bytes >> 21 == bytes >> 21) &&
		    (!policy || strcmp(policy, report->policy) == 0))
			return true;
	}
	return false;
}

static void note_recording(const struct batch *batch, size_t source)
{
	const struct cli_recorded *recorded = &batch->recorded[source];
	const char *name = batch->q->sources.source[source].spec;
	char policy[UVMP_POLICY_TEXT_MAX];
	struct uvmp_policy parsed;

	if (recorded->has_faults_only)
		say_note("%.200s: lists faults only; accesses to resident pages are not known, so hits, "
			 "refaults and "
			 "eviction by use are not those of the program",
			 name);
	if (!has_run_with(batch, source, 0, NULL))
		return;
	if (recorded->bytes != 0 && !has_run_with(batch, source, recorded->bytes, NULL))
		say_note("%.200s: was recorded with --memory %llu; with other memory other accesses would "
			 "have faulted",
			 name, (unsigned long long)recorded->bytes);
	if (uvmp_policy_parse(recorded->policy, strlen(recorded->policy), &parsed, NULL) == UVMP_OK &&
	    recorded->policy[0] != '\0' && uvmp_policy_print(&parsed, policy, sizeof(policy)) == UVMP_OK &&
	    !has_run_with(batch, source, 0, policy))
		say_note("%.200s: was recorded with another policy, with which other accesses would fault; "
			 "see the "
			 "head of the trace",
			 name);
}

static void free_reports(struct report *report, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(report[i].workload);
		free(report[i].policy_given);
		free(report[i].error);
	}
	free(report);
}

static int open_log(struct request *q)
{
	if (!q->log_path)
		return CLI_DONE;
	q->log.file = fopen(q->log_path, "w");
	return q->log.file ? CLI_DONE : say_error("--log %s: %s", q->log_path, strerror(errno));
}

/* What the operating system could not write is an error of the run. */
static int close_log(struct request *q, int status)
{
	if (q->log.file && fclose(q->log.file) != 0 && status == CLI_DONE)
		return say_error("--log %s: %s", q->log_path, strerror(errno));
	return status;
}

/* All that was counted is printed before the error. */
static int run_all(struct request *q)
{
	struct batch batch = {.q = q, .count = tasks_of(q), .failed = tasks_of(q)};
	size_t kept;

	batch.report = calloc(batch.count, sizeof(*batch.report));
	batch.recorded = calloc(q->sources.count, sizeof(*batch.recorded));
	if (!batch.report || !batch.recorded) {
		free(batch.report);
		free(batch.recorded);
		return say_error("out of memory");
	}
	note_untimed(q);
	interrupt_catch();
	progress_start(batch.count);
	if (batch.count > 1)
		cli_source_keep_stdin(&q->sources);
	run_batch(&batch);
	progress_end();
	interrupt_done();
	share_bounds(&batch);
	note_oversub(&batch);
	for (size_t i = 0; i < q->sources.count; i++)
		note_recording(&batch, i);
	free(batch.recorded);
	if (q->policies.is_sweep)
		judge_presets(&batch);
	kept = keep_results(&batch);
	if (q->is_compare && kept > 0)
		report_compare(batch.report, kept, q->format, stdout);
	else if (kept > 0)
		report_run(batch.report, q->format, stdout);
	free_reports(batch.report, batch.count);
	cli_source_close_all(&q->sources);
	if (interrupt_caught != 0) {
		say_error("%s", batch.failed < batch.count ? batch.error : "interrupted");
		return interrupt_status();
	}
	return batch.failed == batch.count ? CLI_DONE : say_error("%s", batch.error);
}

/* Options that contradict each other or the subcommand. */
static int check_request(const struct request *q, const char *subcommand)
{
	if (!q->is_compare && runs_of(q) > 1)
		return say_error(
			"run: one workload, one memory size, one policy; `uvmsim compare` takes several");
	if (q->is_compare && q->log_path)
		return say_error("compare: --log belongs to one run; use `uvmsim run`");
	if (q->log.has_completions && !q->log_path)
		return say_error(
			"%s: --log-completions belongs to --log FILE of `uvmsim run`, which is missing",
			subcommand);
	if (!q->is_compare && q->jobs != 0)
		return say_error("run: --jobs belongs to several runs; use `uvmsim compare`");
	if (!q->is_compare && q->seeds != 0)
		return say_error("run: --seeds belongs to several runs; use `uvmsim compare`");
	if (q->sources.seed > UINT64_MAX - (seeds_of(q) - 1))
		return say_error("--seeds: %zu seeds from %llu on are too many", seeds_of(q),
				 (unsigned long long)q->sources.seed);
	return CLI_DONE;
}

/* The whole command line; main answers --help. */
static int take_arguments(struct request *q, struct options *args)
{
	int status = CLI_DONE, option;
	const char *value;

	while (status == CLI_DONE && (option = options_next(args, &value)) != OPTIONS_END) {
		if (option == OPTIONS_BAD || option == HELP)
			status = CLI_BAD_INPUT;
		else if (option == OPTIONS_OPERAND)
			status = say_error("%s: unexpected argument %s", args->argv[0], value);
		else
			status = add_option(q, (enum option)option, value);
	}
	return status;
}

static int run_request(struct request *q, struct options *args)
{
	int status = take_arguments(q, args);

	if (status == CLI_DONE)
		status = set_defaults(q, args->argv[0]);
	if (status == CLI_DONE)
		status = check_request(q, args->argv[0]);
	if (status == CLI_DONE)
		status = open_log(q);
	return status == CLI_DONE ? close_log(q, run_all(q)) : status;
}

static int run_command(struct options args, bool is_compare)
{
	struct request *q = calloc(1, sizeof(*q));
	int status;

	if (!q)
		return say_error("out of memory");
	q->sources.seed = 1;
	q->is_compare = is_compare;
	status = run_request(q, &args);
	free(q);
	return status;
}

int cmd_run(int argc, char **argv)
{
	return run_command((struct options)CLI_OPTIONS(options, "run"), false);
}

int cmd_compare(int argc, char **argv)
{
	return run_command((struct options)CLI_OPTIONS(options, "compare"), true);
}
