/* uvmsim whatif: what other policies would have moved, from a profile or trace. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "interrupt.h"
#include "whatif/whatif.h"

const char help_whatif[] =
	"usage: uvmsim whatif FILE [options]\n"
	"\n"
	"Says what moved in a profile or trace, why, what other policies would have\n"
	"moved, the best first, what the optimum is, and what the file cannot tell. FILE\n"
	"is a trace, or of any format of `uvmsim import`.\n"
	"\n"
	"A profile lists faults. So each policy is run on two readings of it: with the\n"
	"pages that faulted, and with all that migrated. A policy is better or worse than\n"
	"the first one if it is so in every run: every reading and seed.\n"
	"\n"
	"  --from FORMAT    format of FILE, if its first bytes do not show it\n"
	"  --gpu NAME       a GPU of `uvmsim list gpus`, or a file of your own: policies\n"
	"                   are ranked by time, else by bytes moved\n"
	"  --memory SIZE    GPU memory (default: that of --gpu, or of the profile)\n"
	"  --oversub P      managed footprint in percent of GPU memory\n"
	"  --policy \"...\"   the first is the baseline (default: nvidia-595, auto, and\n"
	"                   each preset that does not need what FILE leaves out)\n"
	"  --seed N         seed of all random choices (default 1)\n"
	"  --seeds N        runs of each policy with N seeds (default 3; with draws 1)\n"
	"  --uncertainty N  with --gpu: draws of its estimated constants (default 4)\n"
	"  --device N       profiles: of several GPUs, whose events\n"
	"  --process N      profiles: of several processes, whose events\n"
	"  --jobs N         runs at the same time (default: the number of processors)\n"
	"  --format F       table (default), json, csv\n";

static const char *const options[] = {"from=", "gpu=",	  "memory=",	  "oversub=", "policy=*",
				      "seed=", "seeds=",  "uncertainty=", "device=",  "process=",
				      "jobs=", "format=", "help",	  NULL};
enum option {
	FROM,
	GPU,
	MEMORY,
	OVERSUB,
	POLICY,
	SEED,
	SEEDS,
	UNCERTAINTY,
	DEVICE,
	PROCESS,
	JOBS,
	FORMAT,
	HELP
};

#define JOBS_MOST     1024
#define SEEDS_DEFAULT 3u
#define DRAWS_DEFAULT 4u

struct given {
	bool has_memory, has_seeds, has_draws;
};

static int take_number(const char *option, const char *text, uint64_t least, uint64_t most, uint32_t *value)
{
	uint64_t number;

	if (!options_number(option, text, least, most, &number))
		return CLI_BAD_INPUT;
	*value = (uint32_t)number;
	return CLI_DONE;
}

static int take_gpu(struct whatif_request *q, const char *value)
{
	char error[MODEL_ERROR_MAX];

	q->has_model = true;
	return model_open(value, NULL, &q->model, error) ? CLI_DONE : say_error("--gpu: %s", error);
}

static int take(struct whatif_request *q, struct given *given, int option, const char *value)
{
	switch ((enum option)option) {
	case FROM:
		q->from = value;
		return CLI_DONE;
	case GPU:
		return take_gpu(q, value);
	case MEMORY:
	case OVERSUB:
		if (given->has_memory)
			return say_error("whatif: one memory size: --memory or --oversub, once");
		given->has_memory = true;
		return cli_memory(option == OVERSUB, value, &q->memory);
	case POLICY:
		return cli_policies_add(&q->policies, "--policy", value);
	case SEED:
		return cli_seed(value, &q->seed);
	case SEEDS:
		given->has_seeds = true;
		return take_number("--seeds", value, 1, REPORT_SEEDS_MAX, &q->seeds);
	case UNCERTAINTY:
		given->has_draws = true;
		return take_number("--uncertainty", value, 1, REPORT_DRAWS_MAX, &q->draws);
	case DEVICE:
		q->import.has_device = true;
		return options_number("--device", value, 0, UINT32_MAX, &q->import.device) ? CLI_DONE
											   : CLI_BAD_INPUT;
	case PROCESS:
		q->import.has_process = true;
		return options_number("--process", value, 0, UINT32_MAX, &q->import.process) ? CLI_DONE
											     : CLI_BAD_INPUT;
	case JOBS:
		return take_number("--jobs", value, 1, JOBS_MOST, &q->jobs);
	case FORMAT:
		return cli_format(value, &q->format);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

static int parse(struct whatif_request *q, struct given *given, int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "whatif");
	int status = CLI_DONE, option;
	const char *value;

	while (status == CLI_DONE && (option = options_next(&args, &value)) != OPTIONS_END) {
		if (option == OPTIONS_BAD)
			status = CLI_BAD_INPUT;
		else if (option != OPTIONS_OPERAND)
			status = take(q, given, option, value);
		else if (q->path)
			status = say_error("whatif: unexpected argument %.200s", value);
		else
			q->path = value;
	}
	if (status == CLI_DONE && !q->path)
		return say_error("whatif: FILE is needed; see `uvmsim whatif --help`");
	return status;
}

static int check(struct whatif_request *q, const struct given *given)
{
	if (given->has_draws && !q->has_model)
		return say_error(
			"whatif: --uncertainty needs --gpu: its draws are of the constants of a GPU model");
	if (given->has_draws && model_uncertain(&q->model) == 0)
		return say_error("whatif: --uncertainty: no constant of %s has a range", q->model.name);
	if (given->has_draws && given->has_seeds)
		return say_error("whatif: --uncertainty and --seeds: one of them; draws are of one seed");
	if (!given->has_draws && !given->has_seeds && q->has_model && model_uncertain(&q->model) > 0)
		q->draws = DRAWS_DEFAULT;
	if (!given->has_seeds)
		q->seeds = SEEDS_DEFAULT;
	if (q->seed > UINT64_MAX - q->seeds)
		return say_error("--seeds: %u seeds from %llu on are too many", q->seeds,
				 (unsigned long long)q->seed);
	return CLI_DONE;
}

/* -- which policies -- */

/* Does a preset need what the input leaves out, or a GPU that is not modelled? */
static bool is_meaningful(const struct uvmp_policy *policy, bool has_model, bool lists_faults)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	if (uvmp_policy_needs(policy, &needs) != UVMP_OK)
		return false;
	if (!has_model && (needs.sms != 0 || policy->plan != UVMP_PLAN_SERIAL || policy->link_ratio != 100))
		return false;
	return !lists_faults || !(needs.touches || needs.accesses || needs.notifications || needs.utlbs);
}

static int choose_policies(struct whatif_request *q, const struct whatif_input *input)
{
	const struct uvmp_policy_preset *preset;
	bool lists_faults = input->told.has_faults_only;
	struct uvmp_policy policy;

	if (q->policies.count > 0)
		return CLI_DONE;
	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		if (uvmp_policy_parse(preset->name, strlen(preset->name), &policy, NULL) != UVMP_OK ||
		    (i > 0 && strcmp(preset->name, "auto") != 0 &&
		     !is_meaningful(&policy, q->has_model, lists_faults)))
			continue;
		if (cli_policies_add(&q->policies, "--policy", preset->name) != CLI_DONE)
			return CLI_BAD_INPUT;
	}
	return CLI_DONE;
}

static void choose_memory(struct whatif_request *q, const struct given *given,
			  const struct whatif_input *input)
{
	if (given->has_memory)
		return;
	if (q->has_model)
		q->memory.bytes = q->model.memory_bytes;
	else if (input->told.gpu_bytes >= UVMP_ROOT_CHUNK_BYTES)
		q->memory.bytes = input->told.gpu_bytes;
	else
		q->memory.oversub_percent = 100;
}

/* -- running -- */

static int report(const struct whatif_runs *runs)
{
	struct whatif_verdict *verdict = whatif_judge(runs);
	char *explained = NULL;

	if (!verdict)
		return say_error("out of memory");
	if (runs->request->format == REPORT_JSON) {
		whatif_print_json(runs, verdict, stdout);
	} else if (runs->request->format == REPORT_CSV) {
		whatif_print_csv(runs, verdict, stdout);
	} else {
		explained = whatif_explain(runs);
		whatif_print_page(runs, verdict, explained, stdout);
	}
	free(explained);
	free(verdict);
	return CLI_DONE;
}

static int run(struct whatif_request *q, const struct given *given, struct whatif_input *input)
{
	struct whatif_runs runs = {.request = q, .input = input};
	int status = CLI_BAD_INPUT;

	if (whatif_read(q, input) && choose_policies(q, input) == CLI_DONE) {
		choose_memory(q, given, input);
		if (whatif_perform(&runs))
			status = report(&runs);
		else if (interrupt_caught != 0)
			status = interrupt_status();
	}
	free(runs.run);
	whatif_input_close(input);
	return status;
}

int cmd_whatif(int argc, char **argv)
{
	struct whatif_request *q = calloc(1, sizeof(*q));
	struct whatif_input *input = calloc(1, sizeof(*input));
	struct given given = {.has_memory = false};
	int status = CLI_BAD_INPUT;

	if (q && input) {
		q->seed = 1;
		q->import = import_defaults;
		status = parse(q, &given, argc, argv);
		if (status == CLI_DONE)
			status = check(q, &given);
		if (status == CLI_DONE)
			status = run(q, &given, input);
	} else {
		say_error("out of memory");
	}
	free(q);
	free(input);
	return status;
}
