/* uvmsim sweep: many runs from a file of parameters. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "number.h"
#include "plugins.h"
#include "sweep/sweep_compare.h"
#include "sweep/sweep_merge.h"
#include "sweep/sweep_run.h"

const char help_sweep[] =
	"usage: uvmsim sweep FILE --out RESULTS.csv [--shard I/N] [--jobs N]\n"
	"       uvmsim sweep FILE --list\n"
	"       uvmsim sweep --merge OUT.csv RESULTS.csv...\n"
	"       uvmsim sweep --compare KEY RESULTS.csv [--of COLUMN] [--format F]\n"
	"\n"
	"Performs every combination of the values in FILE, for example\n"
	"\n"
	"    workload = regular:bytes=64m,passes=2 ra:n=1048576\n"
	"    oversub = 100 150\n"
	"    policy = nvidia-595 \"prefetch=density evict=lru2m\"\n"
	"    threshold = 1..91..10\n"
	"    seed = 1..5\n"
	"\n"
	"and writes one line of CSV for each run. Lines are written when their runs end;\n"
	"a sweep that was interrupted continues with the same command. See docs/sweep.md.\n"
	"\n"
	"  --out FILE       the results; those that are there are kept\n"
	"  --shard I/N      only the I-th of N parts, 1 <= I <= N, for several hosts\n"
	"  --jobs N         runs at the same time (default: the number of processors)\n"
	"  --host NAME      the text of the last column (default: the host's name)\n"
	"  --plugin FILE    as for `uvmsim run`\n"
	"  --list           prints the runs instead, one a line\n"
	"  --merge OUT      joins the results of all shards in the order of the sweep;\n"
			  "                   every run must be there\n"
			  "  --compare KEY    pairs the runs that differ in KEY alone, and says for each\n"
	"                   value whether it differs from the first one\n"
	"  --of COLUMN      what is compared (default: time_ns, else far_faults)\n"
	"  --format F       of --compare: table (default), json, csv\n";

static const char *const options[] = {"out=",	"shard=",   "jobs=", "host=",	"plugin=*", "list",
				      "merge=", "compare=", "of=",   "format=", "help",	    NULL};
enum option { OUT, SHARD, JOBS, HOST, PLUGIN, LIST, MERGE, COMPARE, OF, FORMAT, HELP };

struct request {
	struct sweep_order order;
	bool is_list;
	const char *merge, *compare, *of;
	enum report_format format;
	bool has_format;
	const char **file; /* operands */
	size_t files;
};

static int take_shard(struct sweep_order *order, const char *text)
{
	size_t first = strcspn(text, "/");

	if (text[first] != '/' || !number_parse(text, first, &order->shard) ||
	    !number_parse(text + first + 1, strlen(text + first + 1), &order->shards) || order->shard < 1 ||
	    order->shard > order->shards || order->shards > SWEEP_RUNS_MAX)
		return say_error("--shard: \"%.100s\" is not accepted; I/N with 1 <= I <= N, as 1/8", text);
	order->shard--;
	return CLI_DONE;
}

static int take(struct request *q, int option, const char *value)
{
	uint64_t number;

	switch ((enum option)option) {
	case OUT:
		q->order.out = value;
		return CLI_DONE;
	case SHARD:
		return take_shard(&q->order, value);
	case JOBS:
		if (!options_number("--jobs", value, 1, JOBS_MOST, &number))
			return CLI_BAD_INPUT;
		q->order.jobs = (unsigned)number;
		return CLI_DONE;
	case HOST:
		q->order.host = value;
		return CLI_DONE;
	case PLUGIN: /* loaded before the options are read */
		return CLI_DONE;
	case LIST:
		q->is_list = true;
		return CLI_DONE;
	case MERGE:
		q->merge = value;
		return CLI_DONE;
	case COMPARE:
		q->compare = value;
		return CLI_DONE;
	case OF:
		q->of = value;
		return CLI_DONE;
	case FORMAT:
		q->has_format = true;
		return cli_format(value, &q->format);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

static int take_all(struct request *q, struct options *args)
{
	int status = CLI_DONE, option;
	const char *value;

	while (status == CLI_DONE && (option = options_next(args, &value)) != OPTIONS_END) {
		if (option == OPTIONS_BAD)
			status = CLI_BAD_INPUT;
		else if (option == OPTIONS_OPERAND)
			q->file[q->files++] = value;
		else
			status = take(q, option, value);
	}
	return status;
}

static int check(const struct request *q)
{
	bool runs = !q->merge && !q->compare;

	if ((q->merge != NULL) + (q->compare != NULL) + q->is_list > 1)
		return say_error("sweep: --list, --merge and --compare: one of them");
	if (!runs && (q->order.out || q->order.shards > 1 || q->order.jobs != 0 || q->order.host))
		return say_error("sweep: %s takes no --out, --shard, --jobs and --host",
				 q->merge ? "--merge" : "--compare");
	if ((q->of || q->has_format) && !q->compare)
		return say_error("sweep: --of and --format belong to --compare");
	if (q->files == 0)
		return say_error("sweep: a file must follow; see `uvmsim sweep --help`");
	if (!q->merge && q->files > 1)
		return say_error("sweep: unexpected argument %.100s", q->file[1]);
	if (runs && !q->is_list && !q->order.out)
		return say_error("sweep: --out is needed, the file of the results");
	return CLI_DONE;
}

static void print_runs(const struct sweep *sweep, const struct sweep_order *order)
{
	for (uint64_t run = order->shard; run < sweep->runs; run += order->shards) {
		printf("%llu", (unsigned long long)run);
		for (size_t i = 0; i < sweep->axes; i++) {
			const struct sweep_value *value = sweep_value_of(sweep, &sweep->axis[i], run);
			const char *name = sweep->axis[i].kind == SWEEP_SOURCE
						   ? (value->is_other ? "trace" : "workload")
					   : sweep->axis[i].kind == SWEEP_MEMORY
						   ? (value->is_other ? "oversub" : "memory")
						   : sweep->axis[i].name;

			printf(strpbrk(value->text, " \t") ? " %s=\"%s\"" : " %s=%s", name, value->text);
		}
		putchar('\n');
	}
}

static int run_file(struct request *q)
{
	struct sweep_plan plan;
	char host[256] = "";
	int status = sweep_plan_open(&plan, q->file[0]);

	if (!q->order.host && gethostname(host, sizeof(host) - 1) == 0)
		q->order.host = host;
	if (!q->order.host)
		q->order.host = "";
	if (status == CLI_DONE && q->is_list)
		print_runs(&plan.sweep, &q->order);
	else if (status == CLI_DONE)
		status = sweep_run(&plan, &q->order);
	sweep_plan_close(&plan);
	return status;
}

int cmd_sweep(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "sweep");
	struct request q = {.order = {.shards = 1}};
	int status;

	if (!plugins_load_all(argc, argv))
		return CLI_BAD_INPUT;
	q.file = calloc((size_t)argc, sizeof(*q.file));
	if (!q.file)
		return say_error("out of memory");
	status = take_all(&q, &args);
	if (status == CLI_DONE)
		status = check(&q);
	if (status == CLI_DONE && q.merge)
		status = sweep_merge(q.merge, q.file, q.files);
	else if (status == CLI_DONE && q.compare)
		status = sweep_compare(q.file[0], q.compare, q.of, q.format);
	else if (status == CLI_DONE)
		status = run_file(&q);
	free(q.file);
	return status;
}
