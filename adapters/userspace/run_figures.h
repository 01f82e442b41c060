/* run_figures.h: consistent copies of what the processes of a run publish, their sums, and sizes as text. */
#ifndef UVMP_RUN_FIGURES_H
#define UVMP_RUN_FIGURES_H

#include "run.h"

/* A figure of struct uvmp_pager_stats, in the order of the report. */
struct run_column {
	const char *key;
	size_t offset;
	bool is_greatest; /* over processes: of the process that has most; else the sum */
};

extern const struct run_column run_columns[];
extern const size_t run_columns_count;

struct run_size_text {
	char text[32];
};

uint64_t run_figure(const struct run_column *column, const struct uvmp_pager_stats *stats);
/* Processes that the report lists, and those beyond. */
uint32_t run_slots(const struct run_shared *shared);
uint32_t run_slots_beyond(const struct run_shared *shared);
/* Forked children inherit their parent's memory, but most only start another program: has the process faulted? */
bool run_has_used(const struct uvmp_pager_stats *stats);
/* Copies the statistics of all run_slots(), which it returns. If a process is writing them just now, the older copy stays,
 * unless `is_last`: then the program has ended, and the figures are taken as they are. */
uint32_t run_read(const struct run_shared *shared, struct uvmp_pager_stats stats[RUN_PROCESSES],
		  bool is_last);
/* Sums over processes. Managed memory is that of the largest process: the budget holds for each. Returns the number of
 * processes that used managed memory. */
uint32_t run_sum(const struct uvmp_pager_stats *stats, uint32_t slots, struct uvmp_pager_stats *sum);
/* As "12.5 MiB". */
struct run_size_text run_size(uint64_t bytes);

#endif
