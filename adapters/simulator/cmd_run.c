/* The command lines of uvmsim run and uvmsim compare. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plugins.h"
#include "run_options.h"

const char help_run[] = "usage: uvmsim run --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			"\n"
			"Runs page accesses through fault buffer, batches, prefetcher, eviction and\n"
			"replay, and reports the counts. With --gpu the run has simulated times, from a\n"
			"model of that GPU and its link; without, time fields are null.\n"
			"\n"
			"  --workload SPEC  a built-in program, see `uvmsim list workloads`\n"
			"  --trace FILE     a trace file, see `uvmsim list formats`; -: standard input\n"
			"  --gpu NAME       a GPU of `uvmsim list gpus`, or a file of your own\n"
			"  --memory SIZE    GPU memory, rounded down to 2 MiB: bytes, or 512M, 512MB or\n"
			"                   512MiB, all powers of 1024 (default with --gpu: the GPU's)\n"
			"  --oversub P      managed footprint in percent of GPU memory: 125 or 125%;\n"
			"                   a number with a point is a ratio, 0.01 to 19.99: 1.25.\n"
			"                   Whole numbers below 20 need the sign: 5%\n"
			"                   (default without --gpu: 100, everything fits)\n"
			"  --policy \"...\"   a preset's name, key=value words, or both, see\n"
			"                   `uvmsim list policies` and `uvmsim list presets`\n"
			"                   (default: $UVMP_POLICY, else nvidia-595)\n"
			"  --plugin FILE    a shared object with prefetchers or eviction orders of your\n"
			"                   own, which --policy may name (docs/plugins.md); repeatable\n"
			"  --seed N         seed of all random choices (default 1)\n"
			"  --until TIME     with --gpu: the run ends when the program's time passes TIME,\n"
			"                   and is not complete: ns, or 100us, 5ms, 2s\n"
			"  --uncertainty N  with --gpu: N more runs with the model's estimated constants\n"
			"                   drawn from their ranges; prints how far they spread\n"
			"  --format F       table (default), json, csv\n"
			"  --log FILE       the decision log, one action a line, for `uvmsim explain`\n"
			"                   (run only)\n"
			"  --report FILE    pictures and tables as one HTML file\n"
			"  --timeline FILE  with --gpu: start and end of kernels, batches, copies,\n"
			"                   evictions and replays, for Perfetto (run only)\n"
			"  --log-completions  the log also says when each action completed (run only)\n";

const char help_compare[] = "usage: uvmsim compare --workload NAME[:k=v,...] | --trace FILE\n"
			    "                      --policy \"...\" --policy \"...\"   [options]\n"
			    "\n"
			    "Runs several policies and prints one row for each. Accepts all options of\n"
			    "`uvmsim run`; --workload, --trace, --memory, --oversub and --policy may be\n"
			    "repeated: every combination is run. `--policy all` is every preset,\n"
			    "`--policy 'preset=PATTERN'` those whose names match; a preset that cannot run\n"
			    "gets a row that says why. In each group of runs `*` marks the least value;\n"
			    "the last line has what Belady's optimum moves, which knows the future and\n"
			    "moves every page that is used; `% above` compares a run with it. Some runs\n"
			    "can be below it: see `uvmsim bound --help`.\n"
			    "JSON is an array of the objects that `uvmsim run` prints.\n"
			    "\n"
			    "  --jobs N         runs at the same time, with separate memory (default: the\n"
			    "                   number of processors); results do not depend on it\n"
			    "  --seeds N        run each with N seeds, from --seed on; a row has medians,\n"
			    "                   with least and most below where they differ; JSON and\n"
			    "                   CSV have every run\n"
			    "  --uncertainty N  as for run; also says in how many draws each policy is\n"
			    "                   faster than the first one, with the same constants\n";

static const char *const options[] = {"workload=*", "trace=*",	       "gpu=",	  "memory=*", "oversub=*",
				      "policy=*",   "seed=",	       "format=", "log=",     "jobs=",
				      "seeds=",	    "log-completions", "until=",  "plugin=*", "uncertainty=", "timeline=", "report=", "help",	  NULL};

static int add_gpu(struct run_request *q, const char *value)
{
	char error[MODEL_ERROR_MAX];

	q->has_model = true;
	return model_open(value, NULL, &q->model, error) ? CLI_DONE : say_error("--gpu: %s", error);
}

static int add_memory(struct run_request *q, bool is_percent, const char *value)
{
	struct sim_memory *memory = &q->memory[q->memories];

	if (q->memories == MANY)
		return say_error("more than %d memory sizes", MANY);
	q->memories++;
	q->has_oversub = q->has_oversub || is_percent;
	return cli_memory(is_percent, value, memory);
}

int run_take_option(void *request, int option, const char *value)
{
	struct run_request *q = request;
	uint64_t number;

	switch ((enum run_option)option) {
	case RUN_WORKLOAD:
	case RUN_TRACE:
		return cli_source_take(&q->sources, option == RUN_TRACE, value);
	case RUN_GPU:
		return add_gpu(q, value);
	case RUN_MEMORY:
	case RUN_OVERSUB:
		return add_memory(q, option == RUN_OVERSUB, value);
	case RUN_POLICY:
		return cli_policies_add(&q->policies, "--policy", value);
	case RUN_SEED:
		return cli_seed(value, &q->sources.seed);
	case RUN_FORMAT:
		return cli_format(value, &q->format);
	case RUN_LOG:
		q->outputs.log_path = q->log.name = value;
		break;
	case RUN_JOBS:
		if (!options_number("--jobs", value, 1, JOBS_MOST, &number))
			return CLI_BAD_INPUT;
		q->jobs = (unsigned)number;
		break;
	case RUN_SEEDS:
		if (!options_number("--seeds", value, 1, REPORT_SEEDS_MAX, &number))
			return CLI_BAD_INPUT;
		q->seeds = (uint32_t)number;
		break;
	case RUN_COMPLETIONS:
		q->log.has_completions = true;
		break;
	case RUN_UNTIL:
		return cli_time("--until", value, &q->until_ns) ? CLI_DONE : CLI_BAD_INPUT;
	case RUN_PLUGIN: /* loaded before the options are read */
		break;
	case RUN_UNCERTAINTY:
		if (!options_number("--uncertainty", value, 1, REPORT_DRAWS_MAX, &number))
			return CLI_BAD_INPUT;
		q->draws = (uint32_t)number;
		break;
	case RUN_TIMELINE:
		q->outputs.timeline_path = value;
		break;
	case RUN_REPORT:
		q->outputs.report_path = value;
		break;
	case RUN_HELP: /* main has answered it */
		return CLI_BAD_INPUT;
	}
	return CLI_DONE;
}

int run_set_defaults(struct run_request *q, const char *command)
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

		q->outputs.command.default_policy = text;
		return text ? cli_policies_add(&q->policies, "UVMP_POLICY", text)
			    : cli_policies_add(&q->policies, "--policy", "preset=nvidia-595");
	}
	return CLI_DONE;
}

static int check_draws(const struct run_request *q, const char *subcommand)
{
	if (q->draws == 0)
		return CLI_DONE;
	if (!q->has_model)
		return say_error("%s: --uncertainty needs --gpu: its draws are of the constants of a GPU model",
				 subcommand);
	if (model_uncertain(&q->model) == 0)
		return say_error("%s: --uncertainty: no constant of %s has a range", subcommand, q->model.name);
	if (q->seeds != 0)
		return say_error("compare: --uncertainty and --seeds: one of them; draws are of one seed");
	if (q->outputs.log_path)
		return say_error("run: --uncertainty makes several runs, and --log belongs to one run");
	return CLI_DONE;
}

/* Options that contradict each other or the subcommand. */
int run_check_request(const struct run_request *q, const char *subcommand)
{
	if (!q->is_compare && run_runs_of(q) > 1)
		return say_error("run: one %s; `uvmsim compare` takes several",
				 q->sources.count > 1 ? "workload or trace: --workload or --trace, once"
				 : q->memories > 1    ? "memory size: --memory or --oversub, once"
						      : "policy: --policy, once");
	if (q->is_compare && q->outputs.log_path)
		return say_error("compare: --log belongs to one run; use `uvmsim run`");
	if (q->log.has_completions && !q->outputs.log_path)
		return say_error(
			"%s: --log-completions belongs to --log FILE of `uvmsim run`, which is missing",
			subcommand);
	if (q->until_ns != 0 && !q->has_model)
		return say_error("%s: --until needs --gpu: without a GPU model a run has no time", subcommand);
	if (!q->is_compare && q->jobs != 0)
		return say_error("run: --jobs belongs to several runs; use `uvmsim compare`");
	if (!q->is_compare && q->seeds != 0)
		return say_error("run: --seeds belongs to several runs; use `uvmsim compare`");
	if (q->sources.seed > UINT64_MAX - (run_seeds_of(q) - 1))
		return say_error("--seeds: %zu seeds from %llu on are too many", run_seeds_of(q),
				 (unsigned long long)q->sources.seed);
	return check_draws(q, subcommand);
}

/* Options of files that show runs. */
static int check_outputs(const struct run_request *q, const char *subcommand)
{
	if (q->outputs.report_path != NULL && !html_is_built_in())
		return CLI_BAD_INPUT;
	if (q->outputs.timeline_path == NULL)
		return CLI_DONE;
	if (q->is_compare)
		return say_error("compare: --timeline belongs to one run; use `uvmsim run`");
	if (!q->has_model)
		return say_error("%s: --timeline needs --gpu: without a GPU model a run has no time", subcommand);
	if (q->draws != 0)
		return say_error("run: --uncertainty makes several runs, and --timeline belongs to one run");
	return CLI_DONE;
}

static int run_request(struct run_request *q, struct options *args)
{
	int status = cli_take_options(args, run_take_option, q);

	if (status == CLI_DONE)
		status = run_set_defaults(q, args->argv[0]);
	if (status == CLI_DONE)
		status = run_check_request(q, args->argv[0]);
	if (status == CLI_DONE)
		status = check_outputs(q, args->argv[0]);
	q->has_bounds = q->is_compare || q->outputs.report_path != NULL;
	if (status != CLI_DONE)
		return status;
	status = outputs_open(&q->outputs, &q->log.file);
	return outputs_close(&q->outputs, status == CLI_DONE ? run_batch_perform(q) : status);
}

static int run_command(struct options args, bool is_compare)
{
	struct run_request *q = calloc(1, sizeof(*q));
	int status;

	if (!q)
		return say_error("out of memory");
	if (!plugins_load_all(args.argc, args.argv)) {
		free(q);
		return CLI_BAD_INPUT;
	}
	q->sources.seed = 1;
	q->is_compare = is_compare;
	q->outputs.command.argc = args.argc;
	q->outputs.command.argv = args.argv;
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
