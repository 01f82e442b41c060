/* cli.h: what the subcommands of uvmsim share.
 *
 * A subcommand is one function `int cmd_NAME(int argc, char **argv)` (argv[0] is its name) with a help text
 * `help_NAME`, and one row in the table of main.c. It prints to stdout, reports what is wrong with say_error
 * (one line) and returns the exit status. main flushes stdout afterwards and turns a failed write into
 * CLI_BAD_INPUT.
 */
#ifndef UVMSIM_CLI_H
#define UVMSIM_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "report.h"
#include "say.h"

enum cli_exit { CLI_DONE = 0, CLI_CHECK_FAILED = 1, CLI_BAD_INPUT = 2 };

/* The note that the over-subscription is not within 2 points of the requested `percent`; no output if it is. */
void cli_note_oversub(const char *source, uint32_t percent, uint64_t footprint_bytes, uint64_t memory_bytes);
/* Prints words separated by blanks, wrapped at 100 columns: the first line continues one that stands at
 * `column`, the others start there. Ends with a line feed. */
void cli_print_words(int column, const char *words, FILE *out);

/* Starts the options of a subcommand, from the argc and argv of its function. */
#define CLI_OPTIONS(names, subcommand)                                                                       \
	{                                                                                                    \
		.argc = argc, .argv = argv, .list = (names), .help = "uvmsim " subcommand " --help"          \
	}

/* Gives each option of a subcommand without operands to `take`, which returns CLI_DONE, or CLI_BAD_INPUT after a report.
 * Returns CLI_DONE, or the first other status. main has answered --help. */
int cli_take_options(struct options *options, int (*take)(void *request, int option, const char *value),
		     void *request);

/* -- values; each reports with the name of the option and returns false if the text is not accepted -- */
/* Over-subscription: percent (125 or 125%; whole numbers below 20 only with the sign), or a ratio with a
 * point (1.25, up to 19.99). *percent is 1..10000. */
bool cli_oversub(const char *option, const char *text, uint32_t *percent);

/* --format */
int cli_format(const char *text, enum report_format *format);
/* --seed */
int cli_seed(const char *text, uint64_t *seed);
/* Simulated time: `100` ns, `100ns`, `100us`, `5ms`, `2s`; at least 1 ns, at most a day. False after a report. */
bool cli_time(const char *option, const char *text, uint64_t *ns);
/* GPU memory: --memory in bytes, or --oversub in percent. */
int cli_memory(bool is_percent, const char *text, struct sim_memory *memory);

/* Opens for reading; "-" is stdin. NULL after a report (also for a directory, and for an output). Close with cli_close. */
FILE *cli_open(const char *path);
void cli_close(FILE *file);

/* -- subcommands -- */
/* --version; verbose: with the arena that an engine needs. Returns CLI_DONE. */
int cli_version(bool is_verbose);
int cmd_decide(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_bound(int argc, char **argv);
int cmd_curve(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_measured(int argc, char **argv);

extern const char help_decide[], help_check[], help_run[], help_compare[], help_list[], help_measured[];
extern const char help_curve[], help_sweep[];
extern const char help_bound[], help_explain[], help_trace[], help_import[], help_whatif[], help_plot[];

#endif
