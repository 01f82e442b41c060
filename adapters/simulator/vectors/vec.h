/* vec.h: reading, recomputing and comparing vector files (format: docs/vectors.md).
 *
 * vec.c has the table of kinds. It reads lines, passes the words of a line to the kind of the file, and collects
 * expected lines. vec_kind.h says what a kind is.
 */
#ifndef UVMSIM_VEC_H
#define UVMSIM_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct vec_result {
	uint64_t passed, failed; /* input lines that have expected lines */
	bool is_bad;		 /* bad input: `error` says FILE:LINE: what */
	char error[1024];
};

/* Recomputes: prints the whole file with recomputed `=> ` lines to `out`. Stops at the first bad line, after
 * the lines before it were printed. */
void vec_decide(FILE *in, const char *name, FILE *out, struct vec_result *result);
/* Compares: prints each failure (file, line, expected, computed) to `out`. Continues after failures, stops
 * at bad input. */
void vec_check(FILE *in, const char *name, FILE *out, struct vec_result *result);

#endif
