/* uvmsim bound: what must move if every page that is used must move to the GPU. */
#include <string.h>

#include "bound.h"
#include "cli.h"
#include "cli_source.h"
#include "interrupt.h"
#include "outputs.h"
#include "progress.h"
#include "report.h"

const char help_bound[] = "usage: uvmsim bound --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			  "\n"
			  "Prints what must move if every page that is used must move to the GPU, in units\n"
			  "of 4 KiB, 64 KiB and 2 MiB: with any memory, each touched unit moves once; with\n"
			  "this memory, the moves of Belady's optimum, which knows the future. The accesses\n"
			  "are those of the source, in its order, all of them to GPU memory.\n"
			  "\n"
			  "A run can move less in these cases:\n"
			  "  - the GPU uses pages in CPU memory: remote=, pins of thrash=on,\n"
			  "    map_on_eviction=1, advice `preferred` and `accessed-by`\n"
			  "  - the GPU holds more than its memory: memory_ratio above 100\n"
			  "  - copies are spared: advice `read-duplicate` and `discard`\n"
			  "  - warps overtake each other, or with --gpu run in another order\n"
			  "\n"
			  "  --workload SPEC  a built-in program, see `uvmsim list workloads`\n"
			  "  --trace FILE     a trace file, see `uvmsim list formats`; -: standard input\n"
			  "  --memory SIZE    GPU memory, for example 512M or 12G, rounded down to 2 MiB\n"
			  "  --oversub P      managed footprint in percent of GPU memory: 125 or 125%, or a\n"
			  "                   ratio with a point: 1.25 (default 100: everything fits)\n"
			  "  --seed N         seed of all random choices (default 1)\n"
			  "  --format F       table (default), json, csv\n"
			  "  --report FILE    the bounds over memory size, 1/8 to all of the footprint, as\n"
			  "                   one HTML file; takes about eight times as long\n";

#define ROOT_BYTES 2097152u
#define SIZES_MOST 8u /* of memory, in a report */

static const char *const options[] = {"workload=*", "trace=*", "memory=*", "oversub=*",
				      "seed=",	    "format=", "report=", "help",	  NULL};
enum option { WORKLOAD, TRACE, MEMORY, OVERSUB, SEED, FORMAT, REPORT, HELP };

struct request {
	struct cli_sources sources;
	struct sim_memory memory;
	bool has_oversub; /* was given */
	enum report_format format;
	const char *report_path; /* NULL: not asked for */
	struct output *report;
	struct html_command command;
};

static int take(void *request, int option, const char *value)
{
	struct request *q = request;

	switch ((enum option)option) {
	case WORKLOAD:
	case TRACE:
		if (q->sources.count > 0)
			return say_error("bound: one workload or trace");
		return cli_source_take(&q->sources, option == TRACE, value);
	case MEMORY:
	case OVERSUB:
		if (q->memory.bytes != 0 || q->memory.oversub_percent != 0)
			return say_error("bound: one memory size: --memory or --oversub, once");
		q->has_oversub = option == OVERSUB;
		return cli_memory(q->has_oversub, value, &q->memory);
	case SEED:
		return cli_seed(value, &q->sources.seed);
	case FORMAT:
		return cli_format(value, &q->format);
	case REPORT:
		q->report_path = value;
		return html_is_built_in() ? CLI_DONE : CLI_BAD_INPUT;
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

/* -- the report -- */

/* The bounds with this memory. False: the size tells nothing new, or there is an error. */
static bool run_size(struct request *q, struct bound_report *report, char error[SOURCE_ERROR_MAX])
{
	struct source *source = cli_source_open(&q->sources, 0, q->sources.seed, error);

	if (!source)
		return false;
	report->is_complete = bound_run(source, report->memory, BOUND_LEVELS, &report->result, error);
	source->close(source);
	return report->is_complete;
}

/* Bounds of the asked size of memory and of each eighth of the footprint. */
static int write_report(struct request *q, const struct bound_report *asked)
{
	struct bound_report all[SIZES_MOST + 1];
	struct html_page page = {.command = q->command, .bound = all, .bounds = 1};
	char error[SOURCE_ERROR_MAX] = "";

	all[0] = *asked;
	for (uint64_t i = 1; i <= SIZES_MOST; i++) {
		struct bound_report *next = &all[page.bounds];
		uint64_t bytes = asked->result.footprint_bytes / SIZES_MOST * i / ROOT_BYTES * ROOT_BYTES;

		*next = (struct bound_report){.workload = asked->workload, .seed = asked->seed, .memory = {.bytes = bytes}};
		if (bytes == 0 || bytes == next[-1].result.memory_bytes || bytes == asked->result.memory_bytes)
			continue;
		if (interrupt_caught != 0 || !run_size(q, next, error))
			break;
		page.bounds++;
	}
	if (!outputs_write_page(q->report, &page))
		return CLI_BAD_INPUT;
	return error[0] == '\0' ? CLI_DONE : say_error("%s", error);
}

static int run(struct request *q)
{
	struct bound_report report = {.seed = q->sources.seed, .memory = q->memory};
	int status = CLI_DONE;
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;

	interrupt_catch();
	progress_start(1);
	if (q->report_path)
		cli_source_keep_stdin(&q->sources);
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
	if (report.is_complete && q->report_path)
		status = write_report(q, &report);
	source->close(source);
	cli_source_close_all(&q->sources);
	if (report.is_complete)
		return status;
	say_error("%s", error);
	return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
}

int cmd_bound(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "bound");
	struct request q = {.sources = {.seed = 1}, .command = {.argc = argc, .argv = argv}};
	int status = cli_take_options(&args, take, &q);

	if (status != CLI_DONE)
		return status;
	if (q.sources.count == 0)
		return say_error("bound: one of --workload and --trace is needed; see `uvmsim bound --help`");
	if (q.memory.bytes == 0 && q.memory.oversub_percent == 0)
		q.memory.oversub_percent = 100;
	if (q.report_path && !(q.report = output_claim("--report", q.report_path)))
		return CLI_BAD_INPUT;
	status = run(&q);
	return output_close(q.report, status == CLI_DONE ? OUTPUT_COMPLETE : OUTPUT_DISCARD) ? status : CLI_BAD_INPUT;
}
