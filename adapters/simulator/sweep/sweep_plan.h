/* sweep_plan.h: the runs of a sweep as requests of the simulator. */
#ifndef UVMSIM_SWEEP_PLAN_H
#define UVMSIM_SWEEP_PLAN_H

#include "../run_batch.h"
#include "sweep_file.h"

#define SWEEP_POLICY_MAX 4096

struct sweep_plan {
	struct sweep sweep;
	struct model *model; /* for each value of the axis SWEEP_GPU */
};

/* Reads the file and checks every value: GPUs, sizes, seeds, workloads and traces that can be opened, every policy. CLI_DONE, or
 * CLI_BAD_INPUT after a report; close it all the same. */
int sweep_plan_open(struct sweep_plan *plan, const char *path);
void sweep_plan_close(struct sweep_plan *plan);
/* Fills the request of a run, which starts as zeros; `policy` has the text that the request points to. */
void sweep_plan_request(const struct sweep_plan *plan, uint64_t run, struct run_request *request,
			char policy[SWEEP_POLICY_MAX]);

#endif
