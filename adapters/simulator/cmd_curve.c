/* uvmsim curve: faults, bytes and time over the size of memory; the working set over time. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "curve/curve.h"
#include "interrupt.h"
#include "nearest.h"
#include "number.h"
#include "plugins.h"
#include "progress.h"
#include "run_batch.h"
#include "space.h"

#define POINTS_DEFAULT 16u
#define WINDOW_DEFAULT 65536u
#define CURVES_MAX     16

const char help_curve[] =
	"usage: uvmsim curve --workload NAME[:k=v,...] | --trace FILE   [options]\n"
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

/* A curve, and the texts that it points to. */
struct kept_curve {
	struct curve_point point[CURVE_POINTS_MAX];
	char *workload, *error[CURVE_POINTS_MAX];
	char policy[UVMP_POLICY_TEXT_MAX];
};

struct request {
	struct run_request
		run; /* source, model, policies, seed, jobs, format; memory is filled for each batch of runs */
	struct cli_policies policies;
	struct curve_sizes sizes;
	bool is_serial, has_working_set, has_window;
	uint32_t parts; /* 0: no sample */
	struct working_set set;
	struct curve curve[CURVES_MAX];
	struct kept_curve *kept[CURVES_MAX];
	size_t curves;
	bool is_short; /* of memory */
};

/* -- options -- */

static int take_sizes(struct request *q, const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, ",");
		struct sim_memory memory = {0, 0};
		char one[64];

		if (q->sizes.count == CURVE_POINTS_MAX)
			return say_error("--sizes: more than %d sizes", CURVE_POINTS_MAX);
		snprintf(one, sizeof(one), "%.*s", (int)(length < sizeof(one) ? length : sizeof(one) - 1u),
			 text);
		if (!options_size("--sizes", one, 2097152, UINT64_C(1) << 44, &memory.bytes))
			return CLI_BAD_INPUT;
		q->sizes.given[q->sizes.count++] = memory.bytes;
		text += length;
		if (*text == ',' && text[1] == '\0')
			return say_error("--sizes: a size must follow the last comma");
		text += *text == ',';
	}
	return q->sizes.count != 0 ? CLI_DONE : say_error("--sizes: at least one size, as 16M,32M");
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
	q->parts = (uint32_t)parts;
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
		if (q->run.sources.count > 0)
			return say_error("curve: one workload or trace");
		return cli_source_add(&q->run.sources, option == TRACE, value);
	case POLICY:
		return cli_policies_add(&q->policies, "--policy", value);
	case PLUGIN: /* loaded before the options are read */
		return CLI_DONE;
	case GPU:
		return take_gpu(&q->run, value);
	case SIZES:
		return take_sizes(q, value);
	case POINTS:
		return take_number("--points", value, CURVE_POINTS_MAX, &q->sizes.points);
	case SERIAL:
		q->is_serial = true;
		return CLI_DONE;
	case SAMPLE:
		return take_sample(q, value);
	case WORKING_SET:
		q->has_working_set = true;
		return CLI_DONE;
	case WINDOW:
		return take_window(q, value);
	case SEED:
		return cli_seed(value, &q->run.sources.seed);
	case JOBS:
		return take_number("--jobs", value, JOBS_MOST, &q->run.jobs);
	case FORMAT:
		return cli_format(value, &q->run.format);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

/* -- runs -- */

/* The footprint that a run knows before its first access. */
static bool find_footprint(struct request *q, uint64_t *bytes)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source = cli_source_open(&q->run.sources, 0, q->run.sources.seed, error);
	struct source_row row = {.kind = SOURCE_END};

	*bytes = 0;
	if (!source) {
		say_error("%s", error);
		return false;
	}
	for (source->next(source, &row); row.kind == SOURCE_RANGE; source->next(source, &row))
		if (!row.range.is_device)
			*bytes += (row.range.bytes + PAGE_BYTES - 1u) / PAGE_BYTES * PAGE_BYTES;
	if (row.kind == SOURCE_BAD)
		say_error("%s", source->error);
	source->close(source);
	return row.kind != SOURCE_BAD;
}

static struct kept_curve *new_curve(struct request *q, const struct cli_policy *policy)
{
	struct kept_curve *kept = calloc(1, sizeof(*kept));
	struct curve *curve = &q->curve[q->curves];

	if (!kept)
		return NULL;
	q->kept[q->curves++] = kept;
	(void)uvmp_policy_print(&policy->policy, kept->policy, sizeof(kept->policy));
	*curve = (struct curve){.gpu = q->run.has_model ? q->run.model.name : NULL,
				.preset = policy->preset,
				.policy = kept->policy,
				.given = policy->given,
				.seed = q->run.sources.seed,
				.samples = CURVE_SAMPLES,
				.parts = q->parts,
				.is_serial = q->is_serial,
				.point = kept->point};
	return kept;
}

static bool set_workload(struct request *q, const char *name)
{
	struct kept_curve *kept = q->kept[q->curves - 1];

	if (!kept->workload)
		kept->workload = strdup(name);
	q->curve[q->curves - 1].workload = kept->workload;
	return kept->workload != NULL;
}

static void keep_reports(void *context, const struct report *report, size_t count)
{
	struct request *q = context;
	struct curve *curve = &q->curve[q->curves - 1];
	struct kept_curve *kept = q->kept[q->curves - 1];

	for (size_t i = 0; i < count; i++) {
		const struct sim_result *result = &report[i].result;
		struct curve_point *point = &kept->point[curve->points];

		q->is_short |= !set_workload(q, report[i].workload);
		*point = (struct curve_point){.method = CURVE_RUN,
					      .memory_bytes = report[i].is_complete ? result->memory_bytes
										    : report[i].memory.bytes,
					      .far_faults = result->far_faults,
					      .far_faults_low = result->far_faults,
					      .far_faults_high = result->far_faults,
					      .refaults = result->refaults,
					      .h2d_bytes = result->h2d_bytes,
					      .d2h_bytes = result->d2h_bytes,
					      .time_ns = report[i].times.time_ns};
		if (!report[i].is_complete) {
			kept->error[curve->points] =
				strdup(report[i].error ? report[i].error : "interrupted");
			point->error = kept->error[curve->points];
			q->is_short |= !point->error;
		} else {
			curve->footprint_bytes = result->footprint_bytes;
			curve->accesses = result->accesses;
		}
		curve->points++;
	}
}

/* A run for each size; a size that is too small for the policy has a row that says so. */
static int run_sizes(struct request *q, const struct cli_policy *policy)
{
	uint64_t footprint, size[CURVE_POINTS_MAX];

	if (!find_footprint(q, &footprint))
		return CLI_BAD_INPUT;
	q->run.memories = curve_sizes_of(&q->sizes, footprint, size);
	for (size_t i = 0; i < q->run.memories; i++)
		q->run.memory[i] = (struct sim_memory){.bytes = size[i]};
	q->run.policies.policy[0] = *policy;
	q->run.policies.count = 1;
	q->run.policies.is_sweep = true;
	q->run.print = keep_reports;
	q->run.print_context = q;
	q->curve[q->curves - 1].footprint_bytes = footprint;
	return run_batch_perform(&q->run);
}

/* -- one pass -- */

/* False: runs are needed, and a note says why. */
static bool run_pass(struct request *q, struct curve_pass *pass, int *status)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct curve *curve = &q->curve[q->curves - 1];
	enum page_rows_end end;
	struct source *source;

	interrupt_catch();
	progress_start(1);
	source = cli_source_open(&q->run.sources, 0, q->run.sources.seed, error);
	end = source ? curve_pass(pass, source) : PAGE_ROWS_REFUSED;
	progress_end();
	interrupt_done();
	if (source && !set_workload(q, source->name))
		*status = say_error("out of memory");
	if (source)
		source->close(source);
	else
		*status = say_error("%s", error);
	if (end == PAGE_ROWS_INTERRUPTED) {
		say_error("interrupted");
		*status = interrupt_status();
	}
	if (*status != CLI_DONE || end == PAGE_ROWS_REFUSED)
		return *status != CLI_DONE;
	memcpy(q->kept[q->curves - 1]->point, pass->point, sizeof(pass->point));
	curve->points = pass->points;
	curve->footprint_bytes = pass->footprint_bytes;
	curve->accesses = pass->accesses;
	return true;
}

static int run_policy(struct request *q, const struct cli_policy *policy)
{
	const char *reason = NULL, *wish = q->parts != 0 ? "--sample" : "--serial";
	struct curve_pass *pass = calloc(1, sizeof(*pass));
	int status = CLI_DONE;
	bool is_done = false;

	if (!pass || !new_curve(q, policy)) {
		free(pass);
		return say_error("out of memory");
	}
	*pass = (struct curve_pass){.policy = &policy->policy,
				    .sizes = &q->sizes,
				    .is_serial = q->is_serial,
				    .parts = q->parts != 0 ? q->parts : CURVE_PARTS,
				    .seed = q->run.sources.seed};
	if (q->run.has_model)
		reason = "time needs runs";
	else if (curve_is_stack(&policy->policy, &reason)) {
		is_done = run_pass(q, pass, &status);
		reason = pass->reason;
		if (!is_done)
			say_note("%.200s: separate runs, because %s", policy->given, reason);
	}
	free(pass);
	if (is_done)
		return status;
	if (q->parts != 0 || q->is_serial)
		return say_error("curve: %s: %.200s needs separate runs: %s", wish, policy->given, reason);
	return run_sizes(q, policy);
}

static int run_curves(struct request *q)
{
	int status = CLI_DONE;

	for (size_t i = 0; i < q->policies.count && status == CLI_DONE; i++)
		status = run_policy(q, &q->policies.policy[i]);
	if (q->is_short)
		status = say_error("out of memory");
	else if (q->curves > 0 && q->curve[0].points > 0)
		curve_print(q->curve, q->curves - (q->curve[q->curves - 1].points == 0), q->run.format,
			    stdout);
	for (size_t i = 0; i < q->curves; i++) {
		free(q->kept[i]->workload);
		for (size_t k = 0; k < CURVE_POINTS_MAX; k++)
			free(q->kept[i]->error[k]);
		free(q->kept[i]);
	}
	return status;
}

/* -- working set -- */

static int run_working_set(struct request *q)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;
	bool is_good = false;

	interrupt_catch();
	progress_start(1);
	source = cli_source_open(&q->run.sources, 0, q->run.sources.seed, error);
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
	if (q->run.sources.count == 0)
		return say_error("curve: one of --workload and --trace is needed; see `uvmsim curve --help`");
	if (q->sizes.count != 0 && q->sizes.points != 0)
		return say_error("curve: --sizes and --points: one of them");
	if (q->has_window && !q->has_working_set)
		return say_error("curve: --window needs --working-set");
	if (q->has_working_set && (q->policies.count != 0 || q->run.has_model || q->sizes.count != 0 ||
				   q->sizes.points != 0 || q->parts != 0 || q->is_serial))
		return say_error("curve: --working-set is of the accesses alone; it takes no policy, GPU, "
				 "size or sample");
	if (q->policies.count > CURVES_MAX)
		return say_error("curve: more than %d policies", CURVES_MAX);
	if (q->sizes.count == 0 && q->sizes.points == 0)
		q->sizes.points = POINTS_DEFAULT;
	if (q->policies.count == 0) {
		const char *text = getenv("UVMP_POLICY");

		return cli_policies_add(&q->policies, text ? "UVMP_POLICY" : "--policy",
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
	q->run.sources.seed = 1;
	q->set.window = WINDOW_DEFAULT;
	status = cli_take_options(&args, take, q);
	if (status == CLI_DONE)
		status = check(q);
	q->set.format = q->run.format;
	if (status == CLI_DONE && !q->has_working_set)
		cli_source_keep_stdin(&q->run.sources);
	if (status == CLI_DONE)
		status = q->has_working_set ? run_working_set(q) : run_curves(q);
	cli_source_close_all(&q->run.sources);
	free(q);
	return status;
}
