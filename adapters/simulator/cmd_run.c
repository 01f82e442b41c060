/* uvmsim run, uvmsim compare: sources through the driver under one policy or several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "driver.h"
#include "report.h"

const char help_run[] =
        "usage: uvmsim run --workload NAME[:k=v,...] | --trace FILE   [options]\n"
        "\n"
        "Feeds page accesses through fault buffer, batches, prefetcher, eviction and replay, and reports the "
        "counts.\n"
        "Time is not modelled yet: time fields are null.\n"
        "\n"
        "  --workload SPEC   a built-in program, see `uvmsim list workloads`\n"
        "  --trace FILE      a recorded one, see `uvmsim list formats`; - is standard input\n"
        "  --memory SIZE     GPU memory, for example 512M or 12G, rounded down to 2 MiB\n"
        "  --oversub PERCENT managed footprint in percent of GPU memory (default 100: everything fits)\n"
        "  --policy \"...\"    policy string, see `uvmsim list policies` (default: $UVMP_POLICY, else "
        "preset=nvidia-595)\n"
        "  --seed N          for everything random (default 1)\n"
        "  --format F        table (default), json, csv\n"
        "  --log FILE        the decision log, one action a line, for `uvmsim explain` (run only)\n";

const char help_compare[] = "usage: uvmsim compare --workload NAME[:k=v,...] | --trace FILE   --policy "
                            "\"...\" --policy \"...\"   [options]\n"
                            "\n"
                            "The same runs under several policies, side by side. All options of `uvmsim "
                            "run`; --workload, --trace, --memory,\n"
                            "--oversub and --policy may be repeated: every combination is run. In each group "
                            "of runs `*` marks the least value;\n"
                            "the last line is what no policy can go below: every page touched comes in once, "
                            "what does not fit leaves.\n"
                            "JSON is an array of the objects that `uvmsim run` prints.\n";

static const char *const options[] = {
        "workload=", "trace=", "gpu=", "memory=", "oversub=", "policy=", "seed=", "format=", "log=", "help", NULL};
enum option { WORKLOAD, TRACE, GPU, MEMORY, OVERSUB, POLICY, SEED, FORMAT, LOG, HELP };

enum { MANY = 64 }; /* repetitions of one option */

struct request {
	struct {
		const char *spec;
		bool is_trace;
	} source[MANY];
	struct driver_memory memory[MANY];
	const char *policy_text[MANY];
	struct uvmp_policy policy[MANY];
	size_t sources, memories, policies;
	uint64_t seed;
	enum report_format format;
	const char *log_path;
	FILE *log;
	FILE *spool; /* standard input, kept for further runs */
};

static int add_option(struct request *q, enum option option, const char *value)
{
	uint64_t number;

	switch (option) {
	case WORKLOAD:
	case TRACE:
		if (q->sources == MANY)
			return cli_error("more than %d workloads and traces", MANY);
		q->source[q->sources].spec = value;
		q->source[q->sources++].is_trace = option == TRACE;
		return CLI_DONE;
	case GPU:
		return cli_error("--gpu %s: there is no GPU time model yet; runs count, they do not time",
		                 value);
	case MEMORY:
	case OVERSUB:
		if (q->memories == MANY)
			return cli_error("more than %d memory sizes", MANY);
		if (option == MEMORY) {
			if (!cli_size("--memory", value, 2097152, UINT64_C(1) << 44,
			              &q->memory[q->memories].bytes))
				return CLI_BAD_INPUT;
		} else {
			if (!cli_number("--oversub", value, 1, 10000, &number))
				return CLI_BAD_INPUT;
			q->memory[q->memories].oversub_percent = (uint32_t)number;
		}
		q->memories++;
		return CLI_DONE;
	case POLICY:
		if (q->policies == MANY)
			return cli_error("more than %d policies", MANY);
		q->policy_text[q->policies] = value;
		return cli_policy("--policy", value, &q->policy[q->policies++]) ? CLI_DONE : CLI_BAD_INPUT;
	case SEED:
		return cli_number("--seed", value, 0, UINT64_MAX, &q->seed) ? CLI_DONE : CLI_BAD_INPUT;
	case FORMAT:
		for (q->format = REPORT_TABLE; q->format <= REPORT_CSV; q->format++) {
			static const char *const names[] = {"table", "json", "csv"};

			if (strcmp(value, names[q->format]) == 0)
				return CLI_DONE;
		}
		return cli_error("--format %s: not one of table, json, csv", value);
	case LOG:
		q->log_path = value;
		break;
	case HELP:
		break;
	}
	return CLI_DONE;
}

static int set_defaults(struct request *q, const char *command)
{
	if (q->sources == 0)
		return cli_error("%s: one of --workload and --trace is needed; see `uvmsim %s --help`",
		                 command, command);
	if (q->memories == 0)
		q->memory[q->memories++].oversub_percent = 100;
	if (q->policies == 0) {
		const char *text = getenv("UVMP_POLICY");

		q->policy_text[0] = text ? text : "preset=nvidia-595";
		if (!cli_policy(text ? "UVMP_POLICY" : "--policy", q->policy_text[0], &q->policy[0]))
			return CLI_BAD_INPUT;
		q->policies = 1;
	}
	return CLI_DONE;
}

/* Standard input can be read once: it is kept in a temporary file, for every run to read from its start. */
static FILE *reopen_stdin(struct request *q)
{
	char buffer[65536];
	size_t length;
	int fd;

	if (!q->spool) {
		q->spool = tmpfile();
		while (q->spool && (length = fread(buffer, 1, sizeof(buffer), stdin)) > 0) {
			if (fwrite(buffer, 1, length, q->spool) != length) {
				fclose(q->spool);
				q->spool = NULL;
			}
		}
	}
	if (!q->spool || fflush(q->spool) != 0 || fseek(q->spool, 0, SEEK_SET) != 0)
		return NULL;
	fd = dup(fileno(q->spool));
	return fd < 0 ? NULL : fdopen(fd, "rb");
}

static struct source *open_source(struct request *q, size_t index, bool once, char error[SOURCE_ERROR_MAX])
{
	const char *spec = q->source[index].spec;
	FILE *in;

	if (!q->source[index].is_trace)
		return workload_open(spec, q->seed, error);
	if (once || strcmp(spec, "-") != 0)
		return trace_open(spec, error);
	in = reopen_stdin(q);
	if (!in) {
		snprintf(error, SOURCE_ERROR_MAX, "standard input cannot be kept in a temporary file");
		return NULL;
	}
	return trace_open_stream(in, "-", error);
}

/* False with `error` filled; what was counted until then is in the report all the same. */
static bool run_one(struct request *q, size_t source_index, size_t memory, size_t policy, bool once,
                    struct report *report, char error[SOURCE_ERROR_MAX])
{
	struct source *source = open_source(q, source_index, once, error);

	if (!source)
		return false;
	report->workload = strdup(source->name);
	report->policy_given = strdup(q->policy_text[policy]);
	report->memory = q->memory[memory];
	report->seed = q->seed;
	uvmp_policy_print(&q->policy[policy], report->policy, sizeof(report->policy));
	if (report->workload && report->policy_given)
		report->is_complete = driver_run(source, &q->policy[policy], report->memory, q->seed,
		                                 q->log, &report->result, error);
	else
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
	source->close(source);
	return report->is_complete;
}

static void free_reports(struct report *report, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(report[i].workload);
		free(report[i].policy_given);
	}
	free(report);
}

static int open_log(struct request *q)
{
	if (!q->log_path)
		return CLI_DONE;
	q->log = fopen(q->log_path, "w");
	return q->log ? CLI_DONE : cli_error("--log %s: %s", q->log_path, strerror(errno));
}

/* What the operating system could not write is an error of the run. */
static int close_log(struct request *q, int status)
{
	if (q->log && fclose(q->log) != 0 && status == CLI_DONE)
		return cli_error("--log %s: %s", q->log_path, strerror(errno));
	return status;
}

/* Runs in order, up to the first that fails; all that was counted is printed before the error. */
static int run_all(struct request *q, bool is_compare)
{
	size_t count = q->sources * q->memories * q->policies, done = 0;
	struct report *report = calloc(count, sizeof(*report));
	char error[SOURCE_ERROR_MAX] = "out of memory";
	bool is_good = report != NULL;

	for (size_t i = 0; i < count && is_good; i++) {
		size_t policy = i % q->policies, memory = i / q->policies % q->memories;

		is_good = run_one(q, i / q->policies / q->memories, memory, policy, count == 1, &report[i],
		                  error);
		done += is_good || (!is_compare && report[i].result.accesses > 0);
	}
	if (is_compare && done > 0)
		report_compare(report, done, q->format, stdout);
	else if (done > 0)
		report_run(report, q->format, stdout);
	free_reports(report, report ? count : 0);
	if (q->spool)
		fclose(q->spool);
	return is_good ? CLI_DONE : cli_error("%s", error);
}

static int run_command(int argc, char **argv, bool is_compare, const char *help)
{
	struct cli_args args = {argc, argv, 1, false};
	struct request *q = calloc(1, sizeof(*q));
	int option = CLI_END, status = CLI_DONE;
	const char *value;

	if (!q)
		return cli_error("out of memory");
	q->seed = 1;
	while (status == CLI_DONE && (option = cli_next(&args, options, &value)) != CLI_END &&
	       option != HELP) {
		if (option == CLI_BAD)
			status = CLI_BAD_INPUT;
		else if (option == CLI_OPERAND)
			status = cli_error("%s: unexpected argument %s", argv[0], value);
		else
			status = add_option(q, (enum option)option, value);
	}
	if (status == CLI_DONE && option == HELP) {
		fputs(help, stdout);
	} else if (status == CLI_DONE) {
		status = set_defaults(q, argv[0]);
		if (status == CLI_DONE && !is_compare && q->sources * q->memories * q->policies > 1)
			status = cli_error("run: one workload, one memory size, one policy; `uvmsim compare` "
			                   "takes several");
		if (status == CLI_DONE && is_compare && q->log_path)
			status = cli_error("compare: --log belongs to one run; use `uvmsim run`");
		if (status == CLI_DONE)
			status = open_log(q);
		if (status == CLI_DONE)
			status = close_log(q, run_all(q, is_compare));
	}
	free(q);
	return status;
}

int cmd_run(int argc, char **argv)
{
	return run_command(argc, argv, false, help_run);
}

int cmd_compare(int argc, char **argv)
{
	return run_command(argc, argv, true, help_compare);
}
