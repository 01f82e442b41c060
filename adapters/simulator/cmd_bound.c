/* uvmsim bound: what no policy can avoid. */
#include <string.h>

#include "bound.h"
#include "cli.h"
#include "cli_source.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"

const char help_bound[] =
        "usage: uvmsim bound --workload NAME[:k=v,...] | --trace FILE   [options]\n"
        "\n"
        "What must move whatever the policy is: all that is touched, once (with any memory), and what "
        "Belady's\n"
        "optimum, which knows the future, moves with this memory, in units of 4 KiB, 64 KiB and 2 MiB. For "
        "the\n"
        "accesses in the order of the source, all of them to GPU memory.\n"
        "\n"
        "  --workload SPEC   a built-in program, see `uvmsim list workloads`\n"
        "  --trace FILE      a recorded one, see `uvmsim list formats`; - is standard input\n"
        "  --memory SIZE     GPU memory, for example 512M or 12G, rounded down to 2 MiB\n"
        "  --oversub PERCENT managed footprint in percent of GPU memory (default 100: everything fits)\n"
        "  --seed N          for everything random (default 1)\n"
        "  --format F        table (default), json, csv\n";

static const char *const options[] = {
        "workload=", "trace=", "memory=", "oversub=", "seed=", "format=", "help", NULL};
enum option { WORKLOAD, TRACE, MEMORY, OVERSUB, SEED, FORMAT, HELP };

struct request {
	struct cli_sources sources;
	struct driver_memory memory;
	enum report_format format;
};

static int set_memory(struct request *q, enum option option, const char *value)
{
	uint64_t percent = 0;

	if (q->memory.bytes != 0 || q->memory.oversub_percent != 0)
		return cli_error("bound: one memory size");
	if (option == MEMORY ? !cli_size("--memory", value, 2097152, UINT64_C(1) << 44, &q->memory.bytes)
	                     : !cli_number("--oversub", value, 1, 10000, &percent))
		return CLI_BAD_INPUT;
	q->memory.oversub_percent = (uint32_t)percent;
	return CLI_DONE;
}

static int set_format(struct request *q, const char *value)
{
	static const char *const names[] = {"table", "json", "csv"};

	for (q->format = REPORT_TABLE; q->format <= REPORT_CSV; q->format++)
		if (strcmp(value, names[q->format]) == 0)
			return CLI_DONE;
	return cli_error("--format %s: not one of table, json, csv", value);
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
		cli_error("%s", error);
		return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
	}
	report.workload = source->name;
	report.is_complete = bound_run(source, q->memory, BOUND_LEVELS, &report.result, error);
	progress_end();
	interrupt_done();
	if (report.is_complete || report.result.accesses > 0)
		report_bound(&report, q->format, stdout);
	source->close(source);
	if (report.is_complete)
		return CLI_DONE;
	cli_error("%s", error);
	return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
}

int cmd_bound(int argc, char **argv)
{
	struct cli_args args = {argc, argv, 1, false};
	struct request q = {.sources = {.seed = 1}};
	int status = CLI_DONE;
	const char *value;

	while (status == CLI_DONE) {
		int option = cli_next(&args, options, &value);

		if (option == CLI_END)
			break;
		switch (option) {
		case WORKLOAD:
		case TRACE:
			if (q.sources.count > 0)
				return cli_error("bound: one workload or trace");
			status = cli_source_add(&q.sources, option == TRACE, value);
			break;
		case MEMORY:
		case OVERSUB:
			status = set_memory(&q, (enum option)option, value);
			break;
		case SEED:
			if (!cli_number("--seed", value, 0, UINT64_MAX, &q.sources.seed))
				return CLI_BAD_INPUT;
			break;
		case FORMAT:
			status = set_format(&q, value);
			break;
		case CLI_OPERAND:
			return cli_error("bound: unexpected argument %s", value);
		default: /* a bad one is reported; --help never comes here */
			return CLI_BAD_INPUT;
		}
	}
	if (status != CLI_DONE)
		return status;
	if (q.sources.count == 0)
		return cli_error("bound: one of --workload and --trace is needed; see `uvmsim bound --help`");
	if (q.memory.bytes == 0 && q.memory.oversub_percent == 0)
		q.memory.oversub_percent = 100;
	return run(&q);
}
