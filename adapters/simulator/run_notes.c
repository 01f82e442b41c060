/* Notes on what the user should know of runs that succeeded. */
#include <string.h>

#include "cli.h"
#include "run_batch.h"

/* Only a GPU with time obeys controllers of SMs. */
static void note_controllers(const char *given, const struct uvmp_policy *policy)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(policy, &needs); /* the policy was parsed */
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		if ((needs.sms >> i & 1u) != 0)
			say_note("%.200s: %s=on has no effect without --gpu", given,
				 uvmp_controller_name((enum uvmp_controller)i));
}

void run_note_untimed(const struct run_request *q)
{
	for (size_t i = 0; i < q->policies.count && !q->has_model && !q->policies.is_sweep; i++) {
		const struct uvmp_policy *policy = &q->policies.policy[i].policy;
		const char *given = q->policies.policy[i].given;

		note_controllers(given, policy);
		if (policy->plan != UVMP_PLAN_SERIAL)
			say_note("%.200s: plan=%s has no effect without --gpu", given,
				 uvmp_plan_name(policy->plan));
		if (policy->link_ratio != 100)
			say_note("%.200s: link_ratio has no effect without --gpu", given);
	}
}

void run_note_oversub(const struct run_batch *batch)
{
	const struct run_request *q = batch->q;
	size_t noted = SIZE_MAX;

	for (size_t i = 0; i < batch->count && q->has_oversub; i++) {
		const struct report *report = &batch->report[i];

		if (run_is_bound(q, i) || !report->is_complete || i / run_group_of(q) == noted)
			continue;
		noted = i / run_group_of(q);
		if (report->memory.oversub_percent != 0)
			cli_note_oversub(report->workload, report->memory.oversub_percent,
					 report->result.footprint_bytes, report->result.memory_bytes);
	}
}

/* Does a complete run of the source have the memory, the policy (canonical; NULL: any) of its recording? */
static bool has_run_with(const struct run_batch *batch, size_t source, uint64_t bytes, const char *policy)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->report[i];

		if (run_source_of(batch->q, i) != source || run_is_bound(batch->q, i) || !report->is_complete)
			continue;
		if ((bytes == 0 || report->result.memory_bytes >> 21 == bytes >> 21) &&
		    (!policy || strcmp(policy, report->policy) == 0))
			return true;
	}
	return false;
}

void run_note_recording(const struct run_batch *batch, size_t source)
{
	const struct cli_recorded *recorded = &batch->recorded[source];
	const char *name = batch->q->sources.source[source].spec;
	char policy[UVMP_POLICY_TEXT_MAX];
	struct uvmp_policy parsed;

	if (recorded->has_faults_only)
		say_note("%.200s: lists faults only; accesses to resident pages are not known, so hits, "
			 "refaults and "
			 "eviction by use are not those of the program",
			 name);
	if (!has_run_with(batch, source, 0, NULL))
		return;
	if (recorded->bytes != 0 && !has_run_with(batch, source, recorded->bytes, NULL))
		say_note("%.200s: was recorded with --memory %llu; with other memory other accesses would "
			 "have faulted",
			 name, (unsigned long long)recorded->bytes);
	if (uvmp_policy_parse(recorded->policy, strlen(recorded->policy), &parsed, NULL) == UVMP_OK &&
	    recorded->policy[0] != '\0' && uvmp_policy_print(&parsed, policy, sizeof(policy)) == UVMP_OK &&
	    !has_run_with(batch, source, 0, policy))
		say_note("%.200s: was recorded with another policy, with which other accesses would fault; "
			 "see the "
			 "head of the trace",
			 name);
}
