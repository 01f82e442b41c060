/* run_options.h: the options of uvmsim run and compare (cmd_run.c), which uvmsim plot shares. */
#ifndef UVMSIM_RUN_OPTIONS_H
#define UVMSIM_RUN_OPTIONS_H

#include "run_batch.h"

enum run_option {
	RUN_WORKLOAD = 0,
	RUN_TRACE,
	RUN_GPU,
	RUN_MEMORY,
	RUN_OVERSUB,
	RUN_POLICY,
	RUN_SEED,
	RUN_FORMAT,
	RUN_LOG,
	RUN_JOBS,
	RUN_SEEDS,
	RUN_COMPLETIONS,
	RUN_UNTIL,
	RUN_PLUGIN,
	RUN_UNCERTAINTY,
	RUN_TIMELINE,
	RUN_REPORT,
	RUN_HELP
};

/* Takes one option into the struct run_request at `request`. Returns CLI_DONE, or CLI_BAD_INPUT after a report. */
int run_take_option(void *request, int option, const char *value);
/* What was not given; `command`: the subcommand, for messages. The same results. */
int run_set_defaults(struct run_request *request, const char *command);
/* Options that contradict each other or the subcommand. The same results. */
int run_check_request(const struct run_request *request, const char *subcommand);

#endif
