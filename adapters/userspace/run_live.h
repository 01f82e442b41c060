/* run_live.h: what a run does, on standard error while the program runs: lines about thrashing, and one status line. */
#ifndef UVMP_RUN_LIVE_H
#define UVMP_RUN_LIVE_H

#include "run_rates.h"

/* A line for each process that has begun to thrash, or has thrashed for twice as long as at its last line. is_line: the
 * terminal shows run_live_line's. */
void run_live_thrash(struct run_rates *rates, const struct run_shared *shared, bool is_line);
/* The status line in `width` columns: figures that do not fit are left out, and the policy is cut. On a terminal the
 * line replaces the last one; else it is a line of its own. */
void run_live_line(const struct run_rates *rates, const char *policy, int width, bool is_terminal);
/* Columns of the terminal on standard error, less one; 0: unknown. rows may be NULL. */
int run_live_width(int *rows);
/* A count in at most 6 characters. */
struct run_count_text {
	char text[16];
};
struct run_count_text run_count(uint64_t count);

#endif
