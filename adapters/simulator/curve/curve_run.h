/* curve_run.h: the curves of one command line: one pass where the policy allows it, else runs. */
#ifndef UVMSIM_CURVE_RUN_H
#define UVMSIM_CURVE_RUN_H

#include "../run_batch.h"
#include "curve.h"

#define CURVES_MAX 16

/* A curve, and the texts that it points to. */
struct kept_curve {
	struct curve_point point[CURVE_POINTS_MAX];
	char *workload, *error[CURVE_POINTS_MAX];
	char policy[UVMP_POLICY_TEXT_MAX];
};

struct curve_request {
	struct run_request
		run; /* source, model, policies, seed, jobs, format; memory is filled for each batch of runs */
	struct cli_policies policies;
	struct curve_sizes sizes;
	bool is_serial;
	uint32_t parts; /* 0: no sample */
	/* private */
	struct curve curve[CURVES_MAX];
	struct kept_curve *kept[CURVES_MAX];
	size_t curves;
	bool is_short; /* of memory */
};

/* Prints a curve for each policy. The exit status. */
int curve_run(struct curve_request *request);

#endif
