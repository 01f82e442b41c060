/* From values to requests: see sweep_plan.h. */
#include "sweep_plan.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"
#include "array.h"
#include "number.h"
#include "plugins.h"

static const char *text_of(const struct sweep *sweep, const struct sweep_axis *axis, uint64_t run)
{
	return sweep_value_of(sweep, axis, run)->text;
}

/* The value of `policy`, followed by the swept keys. False: it is too long. */
static bool policy_of(const struct sweep *sweep, uint64_t run, char text[SWEEP_POLICY_MAX])
{
	const struct sweep_axis *policy = sweep_axis_of(sweep, SWEEP_POLICY);
	int used = snprintf(text, SWEEP_POLICY_MAX, "%s", policy ? text_of(sweep, policy, run) : "");

	for (size_t i = 0; i < sweep->axes && used < SWEEP_POLICY_MAX; i++) {
		const struct sweep_axis *axis = &sweep->axis[i];

		if (axis->kind == SWEEP_KEY)
			used += snprintf(text + used, (size_t)(SWEEP_POLICY_MAX - used), "%s%s=%s",
					 used > 0 ? " " : "", axis->name, text_of(sweep, axis, run));
	}
	if (used == 0)
		snprintf(text, SWEEP_POLICY_MAX, "nvidia-595");
	return used < SWEEP_POLICY_MAX;
}

void sweep_plan_request(const struct sweep_plan *plan, uint64_t run, struct run_request *q,
			char policy[SWEEP_POLICY_MAX])
{
	const struct sweep *s = &plan->sweep;
	const struct sweep_axis *gpu = sweep_axis_of(s, SWEEP_GPU), *memory = sweep_axis_of(s, SWEEP_MEMORY);
	const struct sweep_axis *seed = sweep_axis_of(s, SWEEP_SEED);
	const struct sweep_value *source = sweep_value_of(s, sweep_axis_of(s, SWEEP_SOURCE), run);

	(void)cli_source_add(&q->sources, source->is_other, source->text);
	q->sources.seed = 1;
	if (seed)
		(void)number_parse(text_of(s, seed, run), strlen(text_of(s, seed, run)), &q->sources.seed);
	q->has_model = gpu && strcmp(text_of(s, gpu, run), "none") != 0;
	if (q->has_model)
		q->model = plan->model[sweep_value_of(s, gpu, run) - gpu->value];
	q->memories = 1;
	if (memory)
		(void)cli_memory(sweep_value_of(s, memory, run)->is_other, text_of(s, memory, run),
				 q->memory);
	else if (q->has_model)
		q->memory[0].bytes = q->model.memory_bytes;
	else
		q->memory[0].oversub_percent = 100;
	(void)policy_of(s, run, policy);
	(void)cli_policies_add(&q->policies, "policy", policy);
}

/* -- checks, each after a report -- */

static void label(char text[SWEEP_ERROR_MAX], const char *path, const struct sweep_value *value,
		  const char *key)
{
	snprintf(text, SWEEP_ERROR_MAX, "%.200s:%llu: %s", path, (unsigned long long)value->line, key);
}

static bool check_source(const char *path, const struct sweep_value *value)
{
	struct cli_sources sources = {.seed = 1};
	char where[SWEEP_ERROR_MAX], error[SOURCE_ERROR_MAX] = "";
	struct source *source;

	label(where, path, value, value->is_other ? "trace" : "workload");
	if (value->is_other && strcmp(value->text, "-") == 0) {
		say_error("%s: standard input cannot be read for every run", where);
		return false;
	}
	if (cli_source_add(&sources, value->is_other, value->text) != CLI_DONE)
		return false;
	source = cli_source_open(&sources, 0, 1, error);
	if (!source) {
		say_error("%s: %s", where, error);
		return false;
	}
	source->close(source);
	return true;
}

static bool check_gpu(struct sweep_plan *plan, const char *path, const struct sweep_axis *axis, size_t i)
{
	char where[SWEEP_ERROR_MAX], error[MODEL_ERROR_MAX];

	if (!plan->model)
		plan->model = array_zeros(axis->values, sizeof(*plan->model));
	label(where, path, &axis->value[i], "gpu");
	if (!plan->model) {
		say_error("out of memory");
		return false;
	}
	if (strcmp(axis->value[i].text, "none") == 0 ||
	    model_open(axis->value[i].text, NULL, &plan->model[i], error))
		return true;
	say_error("%s: %s", where, error);
	return false;
}

static bool check_memory(const char *path, const struct sweep_value *value)
{
	struct sim_memory memory = {0, 0};
	char where[SWEEP_ERROR_MAX];

	label(where, path, value, value->is_other ? "oversub" : "memory");
	return value->is_other ? cli_oversub(where, value->text, &memory.oversub_percent)
			       : options_size(where, value->text, 2097152, UINT64_C(1) << 44, &memory.bytes);
}

static bool check_value(struct sweep_plan *plan, const char *path, const struct sweep_axis *axis, size_t i)
{
	char where[SWEEP_ERROR_MAX];
	uint64_t seed;

	switch (axis->kind) {
	case SWEEP_SOURCE:
		return check_source(path, &axis->value[i]);
	case SWEEP_GPU:
		return check_gpu(plan, path, axis, i);
	case SWEEP_MEMORY:
		return check_memory(path, &axis->value[i]);
	case SWEEP_SEED:
		label(where, path, &axis->value[i], "seed");
		return options_number(where, axis->value[i].text, 0, UINT64_MAX, &seed);
	default: /* of policies, below */
		return true;
	}
}

/* The number that a good value stands for: 1 and 01, 4M and 4096K, 125 and 1.25. False: it is no number. */
static bool number_of(const struct sweep_axis *axis, const struct sweep_value *value, uint64_t *number)
{
	size_t length = strlen(value->text);
	uint32_t percent;

	if (axis->kind == SWEEP_SEED || axis->kind == SWEEP_KEY)
		return number_parse(value->text, length, number);
	if (axis->kind != SWEEP_MEMORY)
		return false;
	if (!value->is_other)
		return number_parse_size(value->text, length, number);
	if (!cli_oversub("oversub", value->text, &percent))
		return false;
	*number = percent;
	return true;
}

/* A value in two spellings would make every run of it twice. */
static bool check_spellings(const char *path, const struct sweep_axis *axis)
{
	struct number {
		bool is_known;
		uint64_t number;
	} *number = array_zeros(axis->values, sizeof(*number));
	char where[SWEEP_ERROR_MAX];

	if (!number) {
		say_error("out of memory");
		return false;
	}
	for (size_t i = 0; i < axis->values; i++) {
		const struct sweep_value *value = &axis->value[i], *other;
		size_t k = 0;

		number[i].is_known = number_of(axis, value, &number[i].number);
		while (k < i && (!number[k].is_known || number[k].number != number[i].number ||
				 axis->value[k].is_other != value->is_other))
			k++;
		if (k == i || !number[i].is_known)
			continue;
		other = &axis->value[k];
		label(where, path, value,
		      axis->kind == SWEEP_MEMORY ? (value->is_other ? "oversub" : "memory") : axis->name);
		say_error("%s: %.100s is the same as %.100s on line %llu", where, value->text, other->text,
			  (unsigned long long)other->line);
		free(number);
		return false;
	}
	free(number);
	return true;
}

/* Does the run have the first value of every key that does not belong to the policy? */
static bool is_first(const struct sweep *s, uint64_t run)
{
	for (size_t i = 0; i < s->axes; i++) {
		const struct sweep_axis *axis = &s->axis[i];

		if (axis->kind != SWEEP_POLICY && axis->kind != SWEEP_KEY &&
		    sweep_value_of(s, axis, run) != axis->value)
			return false;
	}
	return true;
}

/* The value that the byte of policy_of's text comes from; the last one of the policy, if the text is shorter. *is_key: the value
 * is that of a key of the policy. */
static const struct sweep_value *value_at(const struct sweep *s, uint64_t run, size_t offset, bool *is_key)
{
	const struct sweep_axis *policy = sweep_axis_of(s, SWEEP_POLICY);
	const struct sweep_value *value = policy ? sweep_value_of(s, policy, run) : NULL;
	size_t end = value ? strlen(value->text) : 0;

	*is_key = false;
	for (size_t i = 0; i < s->axes && offset >= end; i++) {
		const struct sweep_axis *axis = &s->axis[i];

		if (axis->kind != SWEEP_KEY)
			continue;
		*is_key = true;
		value = sweep_value_of(s, axis, run);
		end += (end > 0) + strlen(axis->name) + 1 + strlen(value->text);
	}
	return value;
}

static bool check_policy(const struct sweep *s, const char *path, uint64_t run)
{
	struct cli_policies *policies;
	struct uvmp_policy policy;
	struct uvmp_policy_error error = {0, 0, ""};
	char text[SWEEP_POLICY_MAX], where[SWEEP_ERROR_MAX];
	bool is_good = false, is_key, fits = policy_of(s, run, text);
	const struct sweep_value *value;
	enum uvmp_status status = UVMP_OK;

	if (fits)
		status = uvmp_policy_parse_plugins(text, strlen(text), plugins_all(), &policy, &error);
	if (fits && status == UVMP_OK)
		return true;
	value = value_at(s, run, fits ? error.offset : SIZE_MAX, &is_key);
	if (fits && is_key) { /* the error names the key; its place in the joined text says nothing to the user */
		snprintf(where, sizeof(where), "%.200s:%llu", path, (unsigned long long)value->line);
		options_policy_error(where, text, status, &error);
		return false;
	}
	policies = calloc(1, sizeof(*policies));
	label(where, path, value, "policy");
	if (!policies)
		say_error("out of memory");
	else if (!fits)
		say_error("%s: longer than %d bytes", where, SWEEP_POLICY_MAX - 1);
	else if (cli_policies_add(policies, where, text) == CLI_DONE) {
		is_good = policies->count == 1 && !policies->is_sweep;
		if (!is_good)
			say_error("%s: \"%.100s\" is several presets; list each of them", where, text);
	}
	free(policies);
	return is_good;
}

static bool check(struct sweep_plan *plan, const char *path)
{
	const struct sweep *s = &plan->sweep;

	for (size_t i = 0; i < s->axes; i++) {
		for (size_t k = 0; k < s->axis[i].values; k++)
			if (!check_value(plan, path, &s->axis[i], k))
				return false;
		if (!check_spellings(path, &s->axis[i]))
			return false;
	}
	for (uint64_t run = 0; run < s->runs; run++)
		if (is_first(s, run) && !check_policy(s, path, run))
			return false;
	return true;
}

int sweep_plan_open(struct sweep_plan *plan, const char *path)
{
	const struct uvmp_plugins *plugins = plugins_all();
	char error[SWEEP_ERROR_MAX] = "";
	FILE *in;
	bool is_good;

	memset(plan, 0, sizeof(*plan));
	in = cli_open(path);
	if (!in)
		return CLI_BAD_INPUT;
	is_good = sweep_parse(&plan->sweep, in, path, plugins->prefetchers + plugins->orders != 0, error);
	cli_close(in);
	if (!is_good)
		return say_error("%s", error);
	return check(plan, path) ? CLI_DONE : CLI_BAD_INPUT;
}

void sweep_plan_close(struct sweep_plan *plan)
{
	sweep_close(&plan->sweep);
	free(plan->model);
	plan->model = NULL;
}
