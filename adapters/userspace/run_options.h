/* run_options.h: the command line of uvmp-run, defined by one table in run_options.c. */
#ifndef UVMP_RUN_OPTIONS_H
#define UVMP_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_OPTIONS_MOST 32
#define RUN_USAGE	 2 /* exit status: wrong usage, or impossible */

struct run_options {
	const char *value[RUN_OPTIONS_MOST]; /* in the table's order; NULL: not given */
	const char **plugin;		     /* [plugins], each value of --plugin */
	size_t plugins;
	char **program; /* and its arguments */
};

/* Parses the arguments of main(). 0, or RUN_USAGE after a message. run_options_pass checks the values. */
int run_options_parse(struct run_options *options, int argc, char **argv);
/* Checks every value, and passes it to the program's processes in the environment. 0 or RUN_USAGE. */
int run_options_pass(const struct run_options *options);
/* The same for files to be written: they are created, so that a wrong path is found before the
 * program starts. */
int run_options_make_files(const struct run_options *options);
/* The value as given; NULL: not given. A switch that was given is "". */
const char *run_option(const struct run_options *options, const char *flag);
void run_options_help(void);

#endif
