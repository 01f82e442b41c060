/* workload_internal.h: what the table of workloads, the parser of specifications and the scheduler share. */
#ifndef UVMSIM_WORKLOAD_INTERNAL_H
#define UVMSIM_WORKLOAD_INTERNAL_H

#include <stdio.h>
#include <string.h>

#include "workload.h"

/* A part of a specification as it may stand in a message: "%.*s%s" with WORKLOAD_SHOWN, cut at 40 bytes. */
struct workload_word {
	const char *at;
	size_t length;
};
#define WORKLOAD_SHOWN_MOST 40
#define QUOTE_FORMAT        "%.*s%s"
#define SHOWN(word)                                                                                          \
	(int)((word).length < WORKLOAD_SHOWN_MOST ? (word).length : WORKLOAD_SHOWN_MOST), (word).at,         \
	        (word).length > WORKLOAD_SHOWN_MOST ? "..." : ""

static inline bool workload_is_word(struct workload_word word, const char *name)
{
	return word.length == strlen(name) && memcmp(word.at, name, word.length) == 0;
}

/* -- schedule.c -- */

/* Makes the workload a source of rows. */
void workload_set_source(struct workload *workload);
/* Frees a workload that is not open: its type's close() has been called, or open() has not. */
void workload_discard(struct workload *workload);

/* -- spec.c -- */

/* Fills the error with one line: bytes that are not printable become `?`. Returns false. */
__attribute__((format(printf, 2, 3))) bool workload_fail(char error[SOURCE_ERROR_MAX], const char *format,
                                                         ...);
/* The number of the type's parameters. */
unsigned workload_params(const struct workload_type *type);
/* Fills value[] and text[] from the defaults and `text`, the part of the specification behind the colon
 * (NULL: there is no colon), and checks them. False with `error` filled. */
bool workload_parse(struct workload *workload, const char *text, char error[SOURCE_ERROR_MAX]);
/* Gives the workload its canonical name: every parameter that has an effect, in the order of the table, but
 * no text that is not given. False: out of memory. */
bool workload_print_name(struct workload *workload, size_t spec_length);
/* Prints the type with its parameters, as `uvmsim list workloads` does. */
void workload_list_type(const struct workload_type *type, int width, FILE *out);

#endif
