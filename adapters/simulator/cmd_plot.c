/* uvmsim plot: pictures of runs as text. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plot/plot.h"
#include "plugins.h"
#include "run_options.h"

const char help_plot[] = "usage: uvmsim plot --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			 "\n"
			 "Draws runs as text of 80 columns: in block characters if the locale is UTF-8,\n"
			 "in colours if standard output is a terminal and NO_COLOR is not set.\n"
			 "\n"
			 "  --kind heat      pages over time: fetched, resident, evicted (default);\n"
			 "                   several policies make several pictures\n"
			 "  --kind bars      a bar for each policy: its time, or without --gpu its far\n"
			 "                   faults, and the geometric mean of several workloads\n"
			 "  --kind curve     bytes moved to the GPU over the size of its memory, with\n"
			 "                   Belady's optimum; without --memory and --oversub from\n"
			 "                   100 % to 30 % of the footprint\n"
			 "  --rows N         of a heat map, at most (default 24)\n"
			 "  --brief          a heat map without the lines that name the run\n"
			 "\n"
			 "As for `uvmsim compare`: --workload, --trace, --gpu, --memory, --oversub,\n"
			 "--policy, --plugin, --seed, --seeds, --jobs, --until.\n";

static const char *const options[] = {"workload=*", "trace=*", "gpu=",	 "memory=*", "oversub=*", "policy=*", "plugin=*", "seed=",
				      "seeds=",	    "jobs=",   "until=", "kind=",    "rows=",	  "brief",    NULL};
enum { KIND = 11, ROWS, BRIEF };
/* The others, as cmd_run.c numbers them. */
static const enum run_option shared[] = {RUN_WORKLOAD, RUN_TRACE, RUN_GPU,   RUN_MEMORY, RUN_OVERSUB, RUN_POLICY,
					 RUN_PLUGIN,   RUN_SEED,  RUN_SEEDS, RUN_JOBS,	 RUN_UNTIL};

#define ROWS_MOST    256u
#define ROWS_DEFAULT 24u

struct request {
	struct run_request run;
	struct plot plot;
};

static int take(void *request, int option, const char *value)
{
	static const char *const kinds[] = {"heat", "bars", "curve", NULL};
	struct request *q = request;
	uint64_t number;
	int kind;

	switch (option) {
	case KIND:
		kind = options_choice("--kind", value, kinds);
		q->plot.kind = kind < 0 ? PLOT_HEAT : (enum plot_kind)kind;
		return kind < 0 ? CLI_BAD_INPUT : CLI_DONE;
	case ROWS:
		if (!options_number("--rows", value, 1, ROWS_MOST, &number))
			return CLI_BAD_INPUT;
		q->plot.rows = (uint32_t)number;
		return CLI_DONE;
	case BRIEF:
		q->plot.is_brief = true;
		return CLI_DONE;
	default:
		return run_take_option(&q->run, (int)shared[option], value);
	}
}

/* 100 % to 30 % of the footprint. */
static void add_sizes(struct run_request *run)
{
	static const uint32_t percents[] = {100, 111, 125, 143, 167, 200, 250, 333};

	for (size_t i = 0; run->memories == 0 && i < sizeof(percents) / sizeof(*percents); i++)
		run->memory[i].oversub_percent = percents[i];
	if (run->memories == 0)
		run->memories = sizeof(percents) / sizeof(*percents);
}

static void show(void *context, const struct report *report, size_t count)
{
	plot_show(context, report, count, stdout);
}

static int draw(struct request *q, struct options *args)
{
	int status = cli_take_options(args, take, q);

	if (status == CLI_DONE && q->plot.kind != PLOT_HEAT && (q->plot.rows != 0 || q->plot.is_brief))
		return say_error("plot: --rows and --brief belong to --kind heat");
	if (q->plot.rows == 0)
		q->plot.rows = ROWS_DEFAULT;
	if (status == CLI_DONE && q->plot.kind == PLOT_CURVE)
		add_sizes(&q->run);
	if (status == CLI_DONE)
		status = run_set_defaults(&q->run, "plot");
	if (status == CLI_DONE)
		status = run_check_request(&q->run, "plot");
	if (status == CLI_DONE && q->plot.kind == PLOT_HEAT && run_runs_of(&q->run) > OUTPUTS_PICTURES_MOST)
		return say_error("plot: %zu heat maps; at most %u", run_runs_of(&q->run), OUTPUTS_PICTURES_MOST);
	if (status != CLI_DONE)
		return status;
	plot_style_init();
	q->run.outputs.is_plotted = q->plot.kind == PLOT_HEAT;
	q->run.has_bounds = q->plot.kind == PLOT_CURVE;
	q->run.print = show;
	q->run.print_context = &q->plot;
	status = run_batch_perform(&q->run);
	cli_source_close_all(&q->run.sources);
	return status;
}

int cmd_plot(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "plot");
	struct request *q = calloc(1, sizeof(*q));
	int status = CLI_BAD_INPUT;

	if (!q)
		return say_error("out of memory");
	q->run.is_compare = true;
	q->run.sources.seed = 1;
	if (plugins_load_all(argc, argv))
		status = draw(q, &args);
	free(q);
	return status;
}
