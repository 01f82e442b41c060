/* run_options.h: the command line of uvmp-run. One table says what there is, run_options.c. */
#ifndef UVMP_RUN_OPTIONS_H
#define UVMP_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_OPTIONS_MOST 32
#define RUN_USAGE	 2 /* exit status: usage, or something that cannot be done as asked */

struct run_options {
	const char *value[RUN_OPTIONS_MOST]; /* in the table's order; NULL: not given */
	char **program;			     /* and its arguments */
};

/* Takes the arguments of main(). 0, or RUN_USAGE after a report. run_options_pass checks the values. */
int run_options_parse(struct run_options *options, int argc, char **argv);
/* Checks every value and puts it where the program's processes find it: into the environment. 0 or RUN_USAGE. */
int run_options_pass(const struct run_options *options);
/* The same for files that are to be written: they are made, so that nothing is started in vain. */
int run_options_make_files(const struct run_options *options);
/* As given; NULL: not. A switch that was given is "". */
const char *run_option(const struct run_options *options, const char *flag);
void run_options_help(void);

#endif
