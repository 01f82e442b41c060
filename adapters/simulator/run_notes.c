/* Notes on what the user should know of runs that succeeded. */
#include <string.h>

#include "cli.h"
#include "run_batch.h"

enum { NAME_MOST = 60, NAMES_MOST = 120 };

/* Does the note apply to the policy? `which` tells the notes of one kind apart. */
typedef bool applies_to(const struct uvmp_policy *policy, uint32_t which);

/* A name of more than NAME_MOST bytes ends behind a whole word. Returns its bytes. */
static size_t name_bytes(const char *name)
{
	size_t end = strlen(name);

	if (end <= NAME_MOST)
		return end;
	for (end = NAME_MOST; end > 0 && name[end] != ' ' && name[end] != ','; end--)
		;
	return end != 0 ? end : NAME_MOST;
}

static bool was_given_before(const struct cli_policies *policies, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(policies->policy[i].given, policies->policy[index].given) == 0)
			return true;
	return false;
}

/* One line for all policies of the command line to which the note applies: each once, as many as fit by name. */
static void note(const struct run_request *q, applies_to *applies, uint32_t which, const char *message)
{
	char names[NAMES_MOST + NAME_MOST + 8] = "";
	size_t length = 0, more = 0;

	for (size_t i = 0; i < q->policies.count; i++) {
		const char *given = q->policies.policy[i].given;
		int bytes = (int)name_bytes(given);

		if (!applies(&q->policies.policy[i].policy, which) || was_given_before(&q->policies, i))
			continue;
		if (length != 0 && length + (size_t)bytes > NAMES_MOST)
			more++;
		else
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%.*s%s",
						   length != 0 ? ", " : "", bytes, given,
						   given[bytes] != '\0' ? " ..." : "");
	}
	if (more != 0)
		say_note("%s and %zu more: %s", names, more, message);
	else if (length != 0)
		say_note("%s: %s", names, message);
}

static bool has_controller(const struct uvmp_policy *policy, uint32_t which)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(policy, &needs); /* the policy was parsed */
	return (needs.sms >> which & 1u) != 0;
}

static bool has_plan(const struct uvmp_policy *policy, uint32_t which)
{
	return (uint32_t)policy->plan == which;
}

static bool has_link_ratio(const struct uvmp_policy *policy, uint32_t which)
{
	return policy->link_ratio != which;
}

static bool is_remote_auto(const struct uvmp_policy *policy, uint32_t which)
{
	(void)which;
	return policy->remote.remote == UVMP_REMOTE_AUTO;
}

static bool has_counters(const struct uvmp_policy *policy, uint32_t which)
{
	return (uint32_t)policy->counters == which;
}

static void note_counters(const struct run_request *q, applies_to *applies, uint32_t which, const char *key, const char *value)
{
	char message[MODEL_NAME_MAX + 120];

	snprintf(message, sizeof(message),
		 "%s=%s: the chip of a real %s has no access counters and does not notify; compare %s=off", key, value,
		 q->model.name, key);
	note(q, applies, which, message);
}

/* Only a GPU with time obeys controllers of SMs. A plan evicts earlier, which changes what is evicted without time, too. */
static void note_untimed(const struct run_request *q)
{
	char message[160];

	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++) {
		snprintf(message, sizeof(message), "%s=on has no effect without --gpu",
			 uvmp_controller_name((enum uvmp_controller)i));
		note(q, has_controller, i, message);
	}
	for (uint32_t i = UVMP_PLAN_OVERLAPPED; uvmp_plan_name((enum uvmp_plan_order)i) != NULL; i++) {
		snprintf(message, sizeof(message),
			 "plan=%s evicts earlier, which can change the counts; the time that it saves needs --gpu",
			 uvmp_plan_name((enum uvmp_plan_order)i));
		note(q, has_plan, i, message);
	}
	note(q, has_link_ratio, 100, "link_ratio has no effect without --gpu");
}

void run_note_policies(const struct run_request *q)
{
	if (!q->has_model) {
		note_untimed(q);
	} else if (q->model.lacks_counters != 0) {
		note_counters(q, is_remote_auto, 0, "remote", "auto");
		note_counters(q, has_counters, UVMP_COUNTERS_ON, "counters", "on");
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
