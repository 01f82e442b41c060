/* run_options.h: the command line of uvmp-run, defined by one table in run_options.c. */
#ifndef UVMP_RUN_OPTIONS_H
#define UVMP_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

#define RUN_OPTIONS_MOST 32
#define RUN_USAGE	 2 /* exit status: wrong usage, or impossible */

struct run_options {
	const char *value[RUN_OPTIONS_MOST]; /* in the table's order; NULL: not given */
	const char **plugin;		     /* [plugins], each value of --plugin */
	size_t plugins;
	struct output *output[RUN_OPTIONS_MOST]; /* in the table's order; NULL: none */
	char **program; /* and its arguments */
};

/* Parses the arguments of main(). 0, or RUN_USAGE after a message. run_options_pass checks the values. */
int run_options_parse(struct run_options *options, int argc, char **argv);
/* Checks every value, and passes it to the program's processes in the environment. 0 or RUN_USAGE. */
int run_options_pass(const struct run_options *options);
/* Checks the files to be written, before the program starts. 0 or RUN_USAGE. */
int run_options_claim_files(struct run_options *options);
/* Creates them, but for the report, and passes their places to the program's processes. 0 or RUN_USAGE. */
int run_options_begin_files(struct run_options *options);
/* The claimed file of an option, which the caller closes; NULL: not given. */
struct output *run_options_take_file(struct run_options *options, const char *flag);
/* Closes the others. False after a report. */
bool run_options_end_files(struct run_options *options, enum output_result result);
/* The value as given; NULL: not given. A switch that was given is "". */
const char *run_option(const struct run_options *options, const char *flag);
void run_options_help(void);

#endif
