/* sweep_run.h: performs the runs of a sweep that have no result yet. */
#ifndef UVMSIM_SWEEP_RUN_H
#define UVMSIM_SWEEP_RUN_H

#include "sweep_plan.h"

struct sweep_order {
	const char *path;	/* of the sweep */
	const char *out;	/* of the results */
	const char *host;	/* the last column */
	uint64_t shard, shards; /* the runs whose number is `shard` modulo `shards` */
	unsigned jobs;
};

/* Performs the runs of the shard, side by side. Results that the file `out` already has are kept. A line on standard output says
 * how far the sweep is. CLI_DONE; CLI_CHECK_FAILED: a run ended in an error, which its row says; else after a report. */
int sweep_run(const struct sweep_plan *plan, const struct sweep_order *order);

#endif
