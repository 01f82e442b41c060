/* cli.h: what the subcommands of uvmsim share.
 *
 * A subcommand is one function `int cmd_NAME(int argc, char **argv)` (argv[0] is its name) with a help text
 * `help_NAME`, and one row in the table of main.c. It prints to stdout, reports what is wrong with cli_error
 * (one line) and returns the exit status. main flushes stdout afterwards and turns a failed write into
 * CLI_BAD_INPUT.
 */
#ifndef UVMSIM_CLI_H
#define UVMSIM_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "uvmpolicy/policy.h"

enum cli_exit { CLI_DONE = 0, CLI_CHECK_FAILED = 1, CLI_BAD_INPUT = 2 };

/* Prints `uvmsim: MESSAGE` and a line feed to stderr, after flushing stdout; control characters in the
 * message become '?'. Returns CLI_BAD_INPUT, so that `return cli_error(...)` reads well. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints `uvmsim: note: MESSAGE` and a line feed to stderr: what the user should know of a run that goes on. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The note that an over-subscription of `percent` was asked for and is not met within 2 points; nothing if it is. */
void cli_note_oversub(const char *source, uint32_t percent, uint64_t footprint_bytes, uint64_t memory_bytes);
/* Prints words separated by blanks, wrapped at 100 columns: the first line continues one that stands at
 * `column`, the others start there. Ends with a line feed. */
void cli_print_words(int column, const char *words, FILE *out);
/* Flushes stdout. True if all that was written to it has arrived; false after a report on stderr. */
bool cli_flush(void);

/* -- options: `--name value`, `--name=value`, `--flag`, operands in between, `--` ends the options -- */
enum { CLI_OPERAND = -1, CLI_END = -2, CLI_BAD = -3 };

struct cli_args {
	int argc;
	char **argv;
	int next;        /* start with 1 */
	bool is_literal; /* behind `--`; start with false */
	uint64_t seen;   /* bit i: option i was given; start with 0 */
};

/* The next argument. `options` is a NULL-terminated list of names without dashes; one that ends in '=' takes
 * a value, one that ends in '*' may be repeated. At most 64 names. Returns the index in that list with *value (NULL for flags), or CLI_OPERAND with *value (a single
 * "-" is an operand), or CLI_END, or CLI_BAD after a report: an unknown option (with the nearest one), a missing
 * value, an option that is given twice. */
int cli_next(struct cli_args *args, const char *const *options, const char **value);

/* -- values; each reports with the name of the option and returns false if the text is not accepted -- */
/* Bytes, as number.h spells sizes, min..max. */
bool cli_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes);
bool cli_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number);
/* Over-subscription: percent (125 or 125%; whole numbers below 20 only with the sign), or a ratio with a point (1.25, up
 * to 19.99). *percent is 1..10000. */
bool cli_oversub(const char *option, const char *text, uint32_t *percent);
/* A policy string. */
bool cli_policy(const char *option, const char *text, struct uvmp_policy *policy);

/* table, json or csv: its number in this order. -1 after a report. */
int cli_format(const char *option, const char *text);

/* Opens for reading; "-" is stdin. NULL after a report (also for a directory). Close with cli_close. */
FILE *cli_open(const char *path);
void cli_close(FILE *file);

/* -- subcommands -- */
/* --version; verbose: with the arena that an engine needs. Returns CLI_DONE. */
int cli_version(bool is_verbose);
int cmd_decide(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_bound(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_measured(int argc, char **argv);

extern const char help_decide[], help_check[], help_run[], help_compare[], help_list[], help_measured[];
extern const char help_bound[], help_explain[], help_trace[], help_import[];

#endif
