/* results.h: the results of a sweep as a CSV file.
 *
 * A line for each run: `sweep,run,runs,version,` the parameters, the results, and `host` as the last field. A line is written when
 * its run has ended, so that a sweep that was ended early keeps all but a last line that is cut. When all runs have ended, the
 * lines are put into the order of the runs. */
#ifndef UVMSIM_SWEEP_RESULTS_H
#define UVMSIM_SWEEP_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "output.h"

#define RESULTS_ERROR_MAX 1024

/* The fields before the parameters. */
struct results_key {
	char sweep[17]; /* hexadecimal */
	uint64_t run, runs;
	char version[32];
};

struct results_line {
	char *text; /* without line feed */
	uint64_t run;
	uint64_t number;  /* in its file, from 1 on; 0: new */
	const char *path; /* the file; the caller's */
};

/* Starts as zeros. */
struct results {
	char *header;
	struct results_key key; /* of all lines, but for key.run */
	bool has_key;
	struct results_line *line;
	size_t count, room;
};

/* Reads the file `path` to the results, behind those that are there: header and key must be the same. *end: bytes up to the
 * end of the last whole line. A cut last line is dropped; an empty file adds nothing. False with `error`. */
bool results_read(struct results *results, FILE *in, const char *path, uint64_t *end,
		  char error[RESULTS_ERROR_MAX]);
/* Adds a line, which becomes that of the results. False: out of memory. */
bool results_add(struct results *results, char *text, uint64_t run, uint64_t number, const char *path);
/* Sorts by run and drops equal lines. False with `error`: two lines of a run differ in more than the host. */
bool results_sort(struct results *results, char error[RESULTS_ERROR_MAX]);
/* Replaces the file, which was claimed, by header and lines: as a whole, or not at all. Closes the output. False after a
 * report. */
bool results_write(const struct results *results, struct output *output);
void results_close(struct results *results);

#endif
