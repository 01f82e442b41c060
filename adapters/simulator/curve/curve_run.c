/* Curves from one pass, or from runs: see curve_run.h. */
#include "curve_run.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"
#include "../interrupt.h"
#include "../progress.h"
#include "../space.h"

/* -- runs -- */

/* The footprint that a run knows before its first access. */
static bool find_footprint(struct curve_request *q, uint64_t *bytes)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source = cli_source_open(&q->run.sources, 0, q->run.sources.seed, error);
	struct source_row row = {.kind = SOURCE_END};

	*bytes = 0;
	if (!source) {
		say_error("%s", error);
		return false;
	}
	for (source->next(source, &row); row.kind == SOURCE_RANGE; source->next(source, &row))
		if (!row.range.is_device)
			*bytes += (row.range.bytes + PAGE_BYTES - 1u) / PAGE_BYTES * PAGE_BYTES;
	if (row.kind == SOURCE_BAD)
		say_error("%s", source->error);
	source->close(source);
	return row.kind != SOURCE_BAD;
}

static struct kept_curve *new_curve(struct curve_request *q, const struct cli_policy *policy)
{
	struct kept_curve *kept = calloc(1, sizeof(*kept));
	struct curve *curve = &q->curve[q->curves];

	if (!kept)
		return NULL;
	q->kept[q->curves++] = kept;
	(void)uvmp_policy_print(&policy->policy, kept->policy, sizeof(kept->policy));
	*curve = (struct curve){.gpu = q->run.has_model ? q->run.model.name : NULL,
				.preset = policy->preset,
				.policy = kept->policy,
				.given = policy->given,
				.seed = q->run.sources.seed,
				.parts = q->parts,
				.is_serial = q->is_serial,
				.point = kept->point};
	return kept;
}

static bool set_workload(struct curve_request *q, const char *name)
{
	struct kept_curve *kept = q->kept[q->curves - 1];

	if (!kept->workload)
		kept->workload = strdup(name);
	q->curve[q->curves - 1].workload = kept->workload;
	return kept->workload != NULL;
}

static void keep_reports(void *context, const struct report *report, size_t count)
{
	struct curve_request *q = context;
	struct curve *curve = &q->curve[q->curves - 1];
	struct kept_curve *kept = q->kept[q->curves - 1];

	for (size_t i = 0; i < count; i++) {
		const struct sim_result *result = &report[i].result;
		struct curve_point *point = &kept->point[curve->points];

		q->is_short |= !set_workload(q, report[i].workload);
		*point = (struct curve_point){.method = CURVE_RUN,
					      .memory_bytes = report[i].is_complete ? result->memory_bytes
										    : report[i].memory.bytes,
					      .far_faults = result->far_faults,
					      .far_faults_low = result->far_faults,
					      .far_faults_high = result->far_faults,
					      .refaults = result->refaults,
					      .h2d_bytes = result->h2d_bytes,
					      .d2h_bytes = result->d2h_bytes,
					      .time_ns = report[i].times.time_ns};
		if (!report[i].is_complete) {
			kept->error[curve->points] =
				strdup(report[i].error ? report[i].error : "interrupted");
			point->error = kept->error[curve->points];
			q->is_short |= !point->error;
		} else {
			curve->footprint_bytes = result->footprint_bytes;
			curve->accesses = result->accesses;
		}
		curve->points++;
	}
}

/* A run for each size; a size that is too small for the policy has a row that says so. */
static int run_sizes(struct curve_request *q, const struct cli_policy *policy)
{
	uint64_t footprint, size[CURVE_POINTS_MAX];

	if (!find_footprint(q, &footprint))
		return CLI_BAD_INPUT;
	q->run.memories = curve_sizes_of(&q->sizes, footprint, size);
	for (size_t i = 0; i < q->run.memories; i++)
		q->run.memory[i] = (struct sim_memory){.bytes = size[i]};
	q->run.policies.policy[0] = *policy;
	q->run.policies.count = 1;
	q->run.policies.is_sweep = true;
	q->run.print = keep_reports;
	q->run.print_context = q;
	q->curve[q->curves - 1].footprint_bytes = footprint;
	return run_batch_perform(&q->run);
}

/* -- one pass -- */

/* False: runs are needed; pass->reason says why. */
static bool run_pass(struct curve_request *q, struct curve_pass *pass, int *status)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct curve *curve = &q->curve[q->curves - 1];
	enum page_rows_end end;
	struct source *source;

	interrupt_catch();
	progress_start(1);
	source = cli_source_open(&q->run.sources, 0, q->run.sources.seed, error);
	end = source ? curve_pass(pass, source, error) : PAGE_ROWS_FAILED;
	progress_end();
	interrupt_done();
	if (source && !set_workload(q, source->name))
		*status = say_error("out of memory");
	if (source)
		source->close(source);
	if (end == PAGE_ROWS_FAILED)
		*status = say_error("%s", error);
	if (end == PAGE_ROWS_INTERRUPTED) {
		say_error("interrupted");
		*status = interrupt_status();
	}
	if (*status != CLI_DONE || end == PAGE_ROWS_REFUSED)
		return *status != CLI_DONE;
	memcpy(q->kept[q->curves - 1]->point, pass->point, sizeof(pass->point));
	curve->points = pass->points;
	curve->samples = pass->samples;
	curve->footprint_bytes = pass->footprint_bytes;
	curve->accesses = pass->accesses;
	return true;
}

static int run_policy(struct curve_request *q, const struct cli_policy *policy)
{
	const char *reason = NULL, *wish = q->parts != 0 ? "--sample" : "--serial";
	struct curve_pass *pass = calloc(1, sizeof(*pass));
	int status = CLI_DONE;
	bool is_done = false;

	if (!pass || !new_curve(q, policy)) {
		free(pass);
		return say_error("out of memory");
	}
	*pass = (struct curve_pass){.policy = &policy->policy,
				    .sizes = &q->sizes,
				    .is_serial = q->is_serial,
				    .parts = q->parts != 0 ? q->parts : CURVE_PARTS,
				    .seed = q->run.sources.seed};
	if (q->run.has_model)
		reason = "time needs runs";
	else if (curve_is_stack(&policy->policy, &reason)) {
		is_done = run_pass(q, pass, &status);
		reason = pass->reason;
		if (!is_done)
			say_note("%.200s: separate runs, because %s", policy->given, reason);
	}
	free(pass);
	if (is_done)
		return status;
	if (q->parts != 0 || q->is_serial)
		return say_error("curve: %s: %.200s needs separate runs: %s", wish, policy->given, reason);
	return run_sizes(q, policy);
}

int curve_run(struct curve_request *q)
{
	int status = CLI_DONE;

	for (size_t i = 0; i < q->policies.count && status == CLI_DONE; i++)
		status = run_policy(q, &q->policies.policy[i]);
	if (q->is_short)
		status = say_error("out of memory");
	else if (q->curves > 0 && q->curve[0].points > 0)
		curve_print(q->curve, q->curves - (q->curve[q->curves - 1].points == 0), q->run.format,
			    stdout);
	for (size_t i = 0; i < q->curves; i++) {
		free(q->kept[i]->workload);
		for (size_t k = 0; k < CURVE_POINTS_MAX; k++)
			free(q->kept[i]->error[k]);
		free(q->kept[i]);
	}
	return status;
}
