/* options.h: the options of a command line, on getopt_long, and the values that they take. Errors are
 * reported by say_error, with the nearest valid word.
 *
 * Accepted: `--name value`, `--name=value`, `--flag`; `--` ends the options. Names are not abbreviated, so
 * that a new option does not change what an old command line means. */
#ifndef UVMP_HOST_OPTIONS_H
#define UVMP_HOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "uvmpolicy/plugin.h"

#define OPTIONS_MOST 64

enum { OPTIONS_OPERAND = -1, OPTIONS_END = -2, OPTIONS_BAD = -3 };

struct options {
	int argc;
	char **argv;		 /* argv[0] is not an argument */
	const char *const *list; /* ends with NULL: names without dashes; `name=` takes a value, `name?=` takes
	                            one only as `--name=value`, `name*` and `name=*` may be repeated; at most
	                            OPTIONS_MOST */
	const char *help;	 /* the command that prints help, for messages */
	bool stops;		 /* the first operand ends the options */
	int next;		 /* argv[next] is the next argument; start with 0 */
	bool is_literal;	 /* after `--`; start with false */
	uint64_t seen;		 /* bit i: option i was given; start with 0 */
};

/* Takes the next argument. Returns the option's index in the list, with *value (NULL for flags);
 * OPTIONS_OPERAND with *value (a single `-` is an operand); OPTIONS_END: no argument is left, or with
 * `stops`, argv[next] is an operand; OPTIONS_BAD after a report: unknown option, missing or unwanted value,
 * option given twice. */
int options_next(struct options *options, const char **value);

/* -- values; each reports with the name of the option and returns false if the text is not accepted -- */

/* A decimal number, min..max. */
bool options_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number);
/* Bytes, as number.h spells sizes, min..max. */
bool options_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes);
/* The plugins that options_policy accepts from now on; NULL: none. */
void options_use_plugins(const struct uvmp_plugins *list);
/* A policy string. */
bool options_policy(const char *option, const char *text, struct uvmp_policy *policy);
/* Reports that the policy is wrong in the place `where`, which stands before the error. */
void options_policy_error(const char *where, const char *text, enum uvmp_status status,
			  const struct uvmp_policy_error *error);
/* One of `words`, which end with NULL: its index. -1 after a report. */
int options_choice(const char *option, const char *text, const char *const *words);
/* The format of a report: 0 table, 1 json, 2 csv. -1 after a report. */
int options_format(const char *option, const char *text);

#endif
