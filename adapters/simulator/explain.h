/* explain.h: why pages moved, told from a decision log (uvmpolicy/service.h, uvmp_action_print).
 *
 * The log is streamed, so it may be of any length. The summary needs about 1 KiB for each block that is in the
 * log; a story as much, and 216 bytes for each processor, for each block around its pages, and less than 1 MiB
 * for the copies of one step.
 */
#ifndef UVMSIM_EXPLAIN_H
#define UVMSIM_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "observe/observe.h"

#define EXPLAIN_ERROR_MAX 512

struct explain_query {
	bool has_address;     /* tell the story of these bytes; else a summary of the log */
	uint64_t first, last; /* of the bytes: all pages that hold one of them */
	bool has_space;	      /* leave out other address spaces */
	uint64_t space;
	const struct observers *observers; /* are told of the whole log, on the clock of its actions; NULL: none */
};

/* Reads the log `in`, which error messages call `name`, to its end and writes plain English to `out`.
 *
 * Story: one line for each action on one of the pages, in the order of the log, and a closing line. A page
 * arrives when it is copied to a processor or as zeros; it is evicted from a GPU. An eviction to the CPU is
 * no arrival. Numbers of times count pages: two pages that arrive in one copy arrive two times. For
 * prefetched pages the line names the subtree of 64 KiB big pages that arrived together, if the log says
 * enough; else how many pages of the block had faulted and how many were resident.
 *
 * Where the log has completions, a copy says how long it took, if that is not 0: from the time of its action
 * on, with its waits. Completions have no other effect.
 *
 * Summary: the ten blocks with the most moved pages, all blocks together, and the copies by cause. A page
 * bounces when it returns to the processor from which it was migrated last, except by eviction. It is pinned
 * when it is placed or mapped for that cause the first time, or the first time after it was unpinned.
 *
 * False with `error` filled: `NAME:LINE: error`, or out of memory. In the log of one run the ids of actions increase; where
 * they do not, the log is refused. */
bool explain_log(FILE *in, const char *name, const struct explain_query *query, FILE *out,
		 char error[EXPLAIN_ERROR_MAX]);

#endif
