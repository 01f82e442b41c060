/* uvmsim curve: faults, bytes and time over the size of memory; the working set over time. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "curve/curve_run.h"
#include "interrupt.h"
#include "number.h"
#include "plugins.h"
#include "progress.h"

#define POINTS_DEFAULT 16u
#define WINDOW_DEFAULT 65536u

const char help_curve[] = "usage: uvmsim curve --workload NAME[:k=v,...] | --trace FILE   [options]\n"
			  "\n"
			  "Prints faults, bytes and (with --gpu) time over the size of GPU memory, one row\n"
			  "a size. The column `method` says where a row comes from. exact: one pass over\n"
			  "the accesses for all sizes, where the eviction order allows it. sampled: the\n"
			  "same with a sample of the pages. run: a run with that memory; runs are made\n"
			  "side by side. See docs/curve.md.\n"
			  "\n"
			  "  --workload SPEC  a built-in program, see `uvmsim list workloads`\n"
			  "  --trace FILE     a trace file, see `uvmsim list formats`; -: standard input\n"
			  "  --policy \"...\"   as for `uvmsim run`; repeatable: one curve for each\n"
			  "  --plugin FILE    as for `uvmsim run`\n"
			  "  --gpu NAME       also time: every row is a run\n"
			  "  --sizes A,B,...  sizes of memory, as 16M,32M,1G; rounded down to 2 MiB\n"
			  "  --points N       N equal steps up to the footprint (default 16)\n"
			  "  --serial         takes all accesses as those of one agent, in the order of the\n"
			  "                   source; for methods exact and sampled\n"
			  "  --sample P       samples P percent of the pages, 8 times: 1, 0.5, 0.01\n"
			  "  --working-set    prints the distinct pages of each window of accesses instead,\n"
			  "  --window N       of N accesses (default 65536), or of a time: 100us, 5ms, 2s\n"
			  "  --seed N         seed of all random choices (default 1)\n"
			  "  --jobs N         runs at the same time (default: the number of processors)\n"
			  "  --format F       table (default), json, csv\n";

static const char *const options[] = {
	"workload=*", "trace=*",     "policy=*", "plugin=*", "gpu=",  "sizes=",	 "points=", "serial",
	"sample=",    "working-set", "window=",	 "seed=",    "jobs=", "format=", "help",    NULL};
enum option {
	WORKLOAD,
	TRACE,
	POLICY,
	PLUGIN,
	GPU,
	SIZES,
	POINTS,
	SERIAL,
	SAMPLE,
	WORKING_SET,
	WINDOW,
	SEED,
	JOBS,
	FORMAT,
	HELP
};

struct request {
	struct curve_request curves;
	bool has_working_set, has_window;
	struct working_set set;
};

/* -- options -- */

static int take_sizes(struct request *q, const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, ",");
		struct sim_memory memory = {0, 0};
		char one[64];

		if (q->curves.sizes.count == CURVE_POINTS_MAX)
			return say_error("--sizes: more than %d sizes", CURVE_POINTS_MAX);
		snprintf(one, sizeof(one), "%.*s", (int)(length < sizeof(one) ? length : sizeof(one) - 1u),
			 text);
		if (!options_size("--sizes", one, 2097152, UINT64_C(1) << 44, &memory.bytes))
			return CLI_BAD_INPUT;
		q->curves.sizes.given[q->curves.sizes.count++] = memory.bytes;
		text += length;
		if (*text == ',' && text[1] == '\0')
			return say_error("--sizes: a size must follow the last comma");
		text += *text == ',';
	}
	return q->curves.sizes.count != 0 ? CLI_DONE : say_error("--sizes: at least one size, as 16M,32M");
}

/* Percent with at most four digits after the point. */
static int take_sample(struct request *q, const char *text)
{
	size_t length = strlen(text), whole = strcspn(text, ".%"), digits = 0;
	uint64_t percent = 0, fraction = 0, parts;
	bool is_good = number_parse(text, whole, &percent) && percent <= 100;

	length -= length > whole && text[length - 1] == '%';
	if (is_good && length > whole) {
		digits = length - whole - 1;
		is_good = text[whole] == '.' && digits >= 1 && digits <= 4 &&
			  number_parse(text + whole + 1, digits, &fraction);
	}
	for (; digits < 4; digits++)
		fraction *= 10;
	parts = percent * (CURVE_PARTS / 100u) + fraction;
	if (!is_good || parts == 0 || parts >= CURVE_PARTS)
		return say_error("--sample: \"%.100s\" is not accepted; percent of the pages, "
				 "0.0001..99.9999, as 1, 0.5 or 0.01%%",
				 text);
	q->curves.parts = (uint32_t)parts;
	return CLI_DONE;
}

static int take_window(struct request *q, const char *text)
{
	q->has_window = true;
	q->set.is_time = text[strspn(text, "0123456789")] != '\0';
	if (q->set.is_time)
		return cli_time("--window", text, &q->set.window) ? CLI_DONE : CLI_BAD_INPUT;
	return options_number("--window", text, 1, UINT64_C(1) << 48, &q->set.window) ? CLI_DONE
										      : CLI_BAD_INPUT;
}

static int take_gpu(struct run_request *q, const char *value)
{
	char error[MODEL_ERROR_MAX];

	q->has_model = true;
	return model_open(value, NULL, &q->model, error) ? CLI_DONE : say_error("--gpu: %s", error);
}

static int take_number(const char *option, const char *value, uint64_t most, uint32_t *to)
{
	uint64_t number;

	if (!options_number(option, value, 1, most, &number))
		return CLI_BAD_INPUT;
	*to = (uint32_t)number;
	return CLI_DONE;
}

static int take(void *request, int option, const char *value)
{
	struct request *q = request;

	switch ((enum option)option) {
	case WORKLOAD:
	case TRACE:
		if (q->curves.run.sources.count > 0)
			return say_error("curve: one workload or trace");
		return cli_source_take(&q->curves.run.sources, option == TRACE, value);
	case POLICY:
		return cli_policies_add(&q->curves.policies, "--policy", value);
	case PLUGIN: /* loaded before the options are read */
		return CLI_DONE;
	case GPU:
		return take_gpu(&q->curves.run, value);
	case SIZES:
		return take_sizes(q, value);
	case POINTS:
		return take_number("--points", value, CURVE_POINTS_MAX, &q->curves.sizes.points);
	case SERIAL:
		q->curves.is_serial = true;
		return CLI_DONE;
	case SAMPLE:
		return take_sample(q, value);
	case WORKING_SET:
		q->has_working_set = true;
		return CLI_DONE;
	case WINDOW:
		return take_window(q, value);
	case SEED:
		return cli_seed(value, &q->curves.run.sources.seed);
	case JOBS:
		return take_number("--jobs", value, JOBS_MOST, &q->curves.run.jobs);
	case FORMAT:
		return cli_format(value, &q->curves.run.format);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

/* -- working set -- */

static int run_working_set(struct request *q)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;
	bool is_good = false;

	interrupt_catch();
	progress_start(1);
	source = cli_source_open(&q->curves.run.sources, 0, q->curves.run.sources.seed, error);
	if (source)
		is_good = working_set_print(source, &q->set, stdout, error);
	progress_end();
	interrupt_done();
	if (source)
		source->close(source);
	if (is_good)
		return CLI_DONE;
	say_error("%s", error);
	return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
}

/* -- the command line -- */

static int check(struct request *q)
{
	if (q->curves.run.sources.count == 0)
		return say_error("curve: one of --workload and --trace is needed; see `uvmsim curve --help`");
	if (q->curves.sizes.count != 0 && q->curves.sizes.points != 0)
		return say_error("curve: --sizes and --points: one of them");
	if (q->has_window && !q->has_working_set)
		return say_error("curve: --window needs --working-set");
	if (q->has_working_set &&
	    (q->curves.policies.count != 0 || q->curves.run.has_model || q->curves.sizes.count != 0 ||
	     q->curves.sizes.points != 0 || q->curves.parts != 0 || q->curves.is_serial))
		return say_error("curve: --working-set is of the accesses alone; it takes no policy, GPU, "
				 "size or sample");
	if (q->curves.policies.count > CURVES_MAX)
		return say_error("curve: more than %d policies", CURVES_MAX);
	if (q->curves.sizes.count == 0 && q->curves.sizes.points == 0)
		q->curves.sizes.points = POINTS_DEFAULT;
	if (q->curves.policies.count == 0) {
		const char *text = getenv("UVMP_POLICY");

		return cli_policies_add(&q->curves.policies, text ? "UVMP_POLICY" : "--policy",
					text ? text : "preset=nvidia-595");
	}
	return CLI_DONE;
}

int cmd_curve(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "curve");
	struct request *q;
	int status;

	if (!plugins_load_all(argc, argv))
		return CLI_BAD_INPUT;
	q = calloc(1, sizeof(*q));
	if (!q)
		return say_error("out of memory");
	q->curves.run.sources.seed = 1;
	q->set.window = WINDOW_DEFAULT;
	status = cli_take_options(&args, take, q);
	if (status == CLI_DONE)
		status = check(q);
	q->set.format = q->curves.run.format;
	if (status == CLI_DONE && !q->has_working_set)
		cli_source_keep_stdin(&q->curves.run.sources);
	if (status == CLI_DONE)
		status = q->has_working_set ? run_working_set(q) : curve_run(&q->curves);
	cli_source_close_all(&q->curves.run.sources);
	free(q);
	return status;
}
