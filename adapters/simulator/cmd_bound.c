/* uvmsim bound: the lower bounds of every policy. */
#include <string.h>

#include "bound.h"
#include "cli.h"
#include "cli_source.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"

const char help_bound[] = "usage: uvmsim bound --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			  "\n"
			  "Prints lower bounds for every policy, in units of 4 KiB, 64 KiB and 2 MiB:\n"
			  "with any memory, each touched unit moves once; with this memory, the moves of\n"
			  "Belady's optimum, which knows the future. The accesses are those of the source,\n"
			  "in its order, all of them to GPU memory.\n"
			  "\n"
			  "  --workload SPEC  a built-in program, see `uvmsim list workloads`\n"
			  "  --trace FILE     a trace file, see `uvmsim list formats`; -: standard input\n"
			  "  --memory SIZE    GPU memory, for example 512M or 12G, rounded down to 2 MiB\n"
			  "  --oversub P      managed footprint in percent of GPU memory: 125 or 125%, or a\n"
			  "                   ratio with a point: 1.25 (default 100: everything fits)\n"
			  "  --seed N         seed of all random choices (default 1)\n"
			  "  --format F       table (default), json, csv\n";

static const char *const options[] = {"workload=*", "trace=*", "memory=*", "oversub=*",
				      "seed=",	    "format=", "help",	   NULL};
enum option { WORKLOAD, TRACE, MEMORY, OVERSUB, SEED, FORMAT, HELP };

struct request {
	struct cli_sources sources;
	struct sim_memory memory;
	bool has_oversub; /* was given */
	enum report_format format;
};

static int take(void *request, int option, const char *value)
{
	struct request *q = request;

	switch ((enum option)option) {
	case WORKLOAD:
	case TRACE:
		if (q->sources.count > 0)
			return say_error("bound: one workload or trace");
		return cli_source_add(&q->sources, option == TRACE, value);
	case MEMORY:
	case OVERSUB:
		if (q->memory.bytes != 0 || q->memory.oversub_percent != 0)
			return say_error("bound: one memory size");
		q->has_oversub = option == OVERSUB;
		return cli_memory(q->has_oversub, value, &q->memory);
	case SEED:
		return cli_seed(value, &q->sources.seed);
	case FORMAT:
		return cli_format(value, &q->format);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

static int run(struct request *q)
{
	struct bound_report report = {.seed = q->sources.seed, .memory = q->memory};
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;

	interrupt_catch();
	progress_start(1);
	source = cli_source_open(&q->sources, 0, q->sources.seed, error);
	if (!source) {
		progress_end();
		say_error("%s", error);
		return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
	}
	report.workload = source->name;
	report.is_complete = bound_run(source, q->memory, BOUND_LEVELS, &report.result, error);
	progress_end();
	interrupt_done();
	if (report.is_complete && q->has_oversub)
		cli_note_oversub(source->name, q->memory.oversub_percent, report.result.footprint_bytes,
				 report.result.memory_bytes);
	if (report.is_complete || report.result.accesses > 0)
		report_bound(&report, q->format, stdout);
	source->close(source);
	if (report.is_complete)
		return CLI_DONE;
	say_error("%s", error);
	return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
}

int cmd_bound(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "bound");
	struct request q = {.sources = {.seed = 1}};
	int status = cli_take_options(&args, take, &q);

	if (status != CLI_DONE)
		return status;
	if (q.sources.count == 0)
		return say_error("bound: one of --workload and --trace is needed; see `uvmsim bound --help`");
	if (q.memory.bytes == 0 && q.memory.oversub_percent == 0)
		q.memory.oversub_percent = 100;
	return run(&q);
}
