/* Parameters of an engine: what is accepted, and which one is not. */
#include "../base/processor_internal.h"
#include "../base/text_internal.h"
#include "../policy/policy_internal.h"
#include "memory_internal.h"
#include "params_internal.h"
#include "service_internal.h"
#include "uvmpolicy/plugin.h"

#define BLOCKS_MAX    (1u << 24)
#define SPACES_MAX    4096u
#define RANGES_MAX    (1u << 20)
#define INSTANCES_MAX 65536u
#define REQUESTS_MAX  4096u
#define ENTRIES_MAX   65536u
#define UTLBS_MAX     4096u
#define SMS_MAX	      65535u

/* -- refusing -- */

/* A parameter: of GPU `gpu`, or of the engine if that is 0. */
struct given {
	uint32_t gpu;
	const char *name;
	uint64_t value;
};

/* Begins the error with the parameter's name. */
static struct text name(struct uvmp_service_error *error, const struct given *given)
{
	struct text field = {error->field, sizeof(error->field), 0};
	struct text text = {error->text, sizeof(error->text), 0};

	if (given->gpu != 0) {
		put_text(&field, "gpu[");
		put_number(&field, given->gpu - 1u);
		put_text(&field, "].");
	}
	put_text(&field, given->name);
	put_text(&text, error->field);
	put_text(&text, ": ");
	error->value = given->value;
	error->min = 1;
	error->max = 0;
	return text;
}

/* is_accepted, after writing the error if it is false. */
static bool judge(struct uvmp_service_error *error, struct given given, bool is_accepted, const char *why)
{
	struct text text;

	if (!is_accepted && error != NULL) {
		text = name(error, &given);
		put_text(&text, why);
	}
	return is_accepted;
}

/* The value is not within min..max. */
static struct text refuse_number(struct uvmp_service_error *error, const struct given *given, uint64_t min,
				 uint64_t max)
{
	struct text text = name(error, given);

	error->min = min;
	error->max = max;
	put_number(&text, given->value);
	put_text(&text, " is not accepted; ");
	put_number(&text, min);
	if (max != min) {
		put_text(&text, "..");
		put_number(&text, max);
	}
	return text;
}

static bool is_within(struct uvmp_service_error *error, struct given given, uint64_t min, uint64_t max)
{
	bool is_accepted = given.value >= min && given.value <= max;

	if (!is_accepted && error != NULL)
		(void)refuse_number(error, &given, min, max);
	return is_accepted;
}

/* is_within for a value that may be 0, which stands for a default. */
static bool is_within_or_0(struct uvmp_service_error *error, struct given given, uint64_t min, uint64_t max)
{
	bool is_accepted = given.value == 0 || (given.value >= min && given.value <= max);
	struct text text;

	if (!is_accepted && error != NULL) {
		text = refuse_number(error, &given, min, max);
		put_text(&text, ", or 0 for the default");
	}
	return is_accepted;
}

/* -- what is accepted -- */

static bool is_there(struct uvmp_service_error *error, const char *field, const void *pointer)
{
	return judge(error, (struct given){0, field, 0}, pointer != NULL, "missing (NULL)");
}

/* Names the field of the policy that is not valid. */
static bool check_policy(const struct uvmp_policy *policy, struct uvmp_service_error *error)
{
	struct policy_fault fault;
	struct given given = {0, NULL, 0};
	struct text text;
	char field[sizeof(error->field)];

	if (uvmpi_policy_check(policy, &fault))
		return true;
	if (error == NULL)
		return false;
	text = (struct text){field, sizeof(field), 0};
	put_text(&text, "policy->");
	put_text(&text, fault.field);
	given.name = field;
	given.value = fault.value;
	if (fault.why != NULL)
		return judge(error, given, false, fault.why);
	text = refuse_number(error, &given, fault.min, fault.max);
	if (fault.by != NULL && fault.by[0] == '\0')
		put_text(&text, ": this policy does not use it");
	if (fault.by != NULL && fault.by[0] != '\0') {
		put_text(&text, " with ");
		put_text(&text, fault.by);
		put_char(&text, '=');
		put_number(&text, fault.by_value);
	}
	return false;
}

/* Names the field or row of the relations that is not valid. */
static bool check_processors(const struct uvmp_processors *processors, struct uvmp_service_error *error)
{
	struct processors_fault fault;
	struct given given = {0, NULL, 0};
	struct text text;
	char field[sizeof(error->field)];

	if (uvmpi_processors_check(processors, &fault))
		return true;
	if (error == NULL)
		return false;
	text = (struct text){field, sizeof(field), 0};
	put_text(&text, "processors->");
	put_text(&text, fault.name);
	if (fault.row != UVMP_PROC_NONE) {
		put_char(&text, '[');
		put_number(&text, fault.row);
		put_char(&text, ']');
	}
	given.name = field;
	given.value = fault.value;
	if (fault.why == NULL)
		(void)refuse_number(error, &given, 2, UVMP_PROCS_MAX);
	else
		(void)judge(error, given, false, fault.why);
	return false;
}

static bool check_validity(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return check_policy(params->policy, error) &&
	       (params->processors == NULL || check_processors(params->processors, error));
}

/* The status of reading a structure of this size; writes the error. */
static enum uvmp_status judge_size(struct uvmp_service_error *error, struct given given, enum uvmp_status status)
{
	const char *why = status == UVMP_ERR_RANGE ? "this library does not know all fields that are set"
						   : "not the sizeof of the structure";

	(void)judge(error, given, status == UVMP_OK, why);
	return status;
}

static enum uvmp_status read_params(const struct uvmp_service_params *params, struct own_params *own,
				    struct uvmp_service_error *error)
{
	enum uvmp_status status;

	if (!is_there(error, "params", params))
		return UVMP_ERR_ARGUMENT;
	status = uvmpi_sized_read(&own->params, sizeof(own->params), params,
				  SIZE_THROUGH(struct uvmp_service_params, requests));
	status = judge_size(error, (struct given){0, "size", params->size}, status);
	if (status != UVMP_OK)
		return status;
	if (!is_there(error, "gpu", own->params.gpu))
		return UVMP_ERR_ARGUMENT;
	if (own->params.policy == NULL)
		uvmpi_policy_reset(&own->policy);
	else
		status = uvmpi_policy_read(&own->policy, own->params.policy);
	if (status != UVMP_OK)
		return judge_size(error, (struct given){0, "policy->size", own->params.policy->size}, status);
	own->params.policy = &own->policy;
	return UVMP_OK;
}

static bool check_page(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return judge(error, (struct given){0, "page_bytes", params->page_bytes},
		     params->page_bytes == 0 || is_page_size(params->page_bytes), "not 4096, 16384, 65536 or 2097152");
}

/* Elements of `gpu`. */
static bool check_count(const struct uvmp_service_params *p, struct uvmp_service_error *error)
{
	const struct given gpus = {0, "gpus", p->gpus};
	uint32_t count;

	if (p->processors == NULL)
		return is_within_or_0(error, gpus, 1, UVMP_PROCS_MAX - 1u);
	count = p->processors->count;
	return is_within(error, (struct given){0, "processors->count", count}, 2, UVMP_PROCS_MAX) &&
	       is_within_or_0(error, gpus, count - 1u, count - 1u);
}

static bool check_numbers(const struct uvmp_service_params *p, struct uvmp_service_error *error)
{
	return check_count(p, error) && check_page(p, error) &&
	       is_within_or_0(error, (struct given){0, "blocks", p->blocks}, 1, BLOCKS_MAX) &&
	       is_within_or_0(error, (struct given){0, "spaces", p->spaces}, 1, SPACES_MAX) &&
	       is_within_or_0(error, (struct given){0, "ranges", p->ranges}, 1, RANGES_MAX) &&
	       is_within_or_0(error, (struct given){0, "instances", p->instances}, 1, INSTANCES_MAX) &&
	       is_within_or_0(error, (struct given){0, "requests", p->requests}, 1, REQUESTS_MAX);
}

static void put_size(struct text *text, uint32_t bytes)
{
	bool is_root = bytes == UVMP_ROOT_CHUNK_BYTES;

	put_number(text, is_root ? 2u : bytes / 1024u);
	put_text(text, is_root ? " MiB" : " KiB");
}

/* What counts is what the GPU holds: memory_ratio percent of its memory. */
static bool check_memory(const struct uvmp_service_params *params, uint32_t gpu, uint64_t roots,
			 struct uvmp_service_error *error)
{
	const struct given given = {gpu, "memory_bytes", uvmpi_params_gpu(params, gpu).memory_bytes};
	bool has_none = params->processors != NULL && (params->processors->no_memory >> gpu & 1u) != 0;
	bool is_there = uvmpi_memory_is_there(params, gpu);
	char why[UVMP_SERVICE_ERROR_MAX];
	struct text text = {why, sizeof(why), 0};

	put_text(&text, has_none ? "" : "not ");
	put_size(&text, uvmpi_memory_least(params->policy));
	if (has_none) {
		put_text(&text, " or more (after memory_ratio), but the GPU is in processors->no_memory");
		return judge(error, given, !is_there, why);
	}
	put_text(&text, " to 32 TiB (after memory_ratio)");
	if (params->processors != NULL)
		put_text(&text, "; less only in processors->no_memory");
	else if (uvmp_policy_evict_traits(params->policy)->is_chunked)
		put_text(&text, "; page-wise eviction orders take less");
	return judge(error, given, is_there && roots <= UVMP_ROOTS_MAX, why);
}

/* An order over pages has a number for each unit of each block; also: size_t is too narrow. */
static bool check_size(const struct uvmp_service_params *params, uint32_t gpu, struct uvmp_service_error *error)
{
	return judge(error, (struct given){0, "blocks", params->blocks},
		     !uvmpi_memory_is_there(params, gpu) || uvmpi_memory_size(params, gpu) != 0,
		     "too many for this eviction order, or for size_t");
}

static bool check_gpu(const struct uvmp_service_params *params, uint32_t gpu,
		      struct uvmp_service_error *error)
{
	const struct uvmp_service_gpu g = uvmpi_params_gpu(params, gpu); /* zeros have become defaults */
	uint64_t roots = uvmpi_memory_capacity(params, gpu) / UVMP_ROOT_CHUNK_BYTES;

	return check_memory(params, gpu, roots, error) &&
	       is_within(error, (struct given){gpu, "splits", g.splits}, 0,
			 roots < UVMP_SPLITS_MAX ? roots : UVMP_SPLITS_MAX) &&
	       is_within_or_0(error, (struct given){gpu, "fault_entries", g.fault_entries}, 2, ENTRIES_MAX) &&
	       is_within_or_0(error, (struct given){gpu, "utlbs", g.utlbs}, 1, UTLBS_MAX) &&
	       is_within(error, (struct given){gpu, "notes", g.notes}, 0, NOTES_MAX) &&
	       is_within(error, (struct given){gpu, "sms", g.sms}, 0, SMS_MAX) &&
	       check_size(params, gpu, error);
}

/* "a|b|c" as "a, b or c", if `before_last` is " or ". */
static void put_list(struct text *text, const char *list, const char *before_last)
{
	const char *last = list;

	for (const char *c = list; *c != '\0'; c++)
		last = *c == '|' ? c : last;
	for (; *list != '\0'; list++) {
		if (*list != '|')
			put_char(text, *list);
		else
			put_text(text, list == last ? before_last : ", ");
	}
}

/* "sequential, locality and stride know one GPU only" */
static void put_one_gpu(struct text *text)
{
	char names[UVMP_SERVICE_ERROR_MAX];
	struct text list = {names, sizeof(names), 0};

	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		if (!uvmp_prefetch_traits_of((enum uvmp_prefetcher)i)->has_one_gpu)
			continue;
		put_text(&list, list.length != 0 ? "|" : "");
		put_text(&list, uvmp_prefetch_name((enum uvmp_prefetcher)i));
	}
	put_list(text, names, " and ");
	put_text(text, " know one GPU only");
}

/* Does the prefetcher of this field work with the host's GPUs? State of a range knows one GPU only. `plugin`: NULL for a
 * prefetcher of the library. */
static bool check_prefetcher(const struct uvmp_service_params *params, struct given given,
			     const struct uvmp_prefetch_traits *prefetcher, const struct uvmp_prefetch_plugin *plugin,
			     struct uvmp_service_error *error)
{
	char why[UVMP_SERVICE_ERROR_MAX];
	struct text text = {why, sizeof(why), 0};

	if (plugin != NULL) {
		put_text(&text, plugin->name);
		put_text(&text, " knows one GPU only");
	} else {
		put_one_gpu(&text);
	}
	return judge(error, given, uvmpi_params_processors(params) == 2u || !prefetcher->has_one_gpu, why);
}

/* Does the eviction order, with its granularity, work with the host's page size? */
static bool check_pages(const struct uvmp_service_params *params, const struct uvmp_needs *needs,
                        struct uvmp_service_error *error)
{
	const struct uvmp_policy *policy = params->policy;
	bool has_granularity = uvmp_policy_evict_traits(policy)->has_granularity;
	const struct given evict = {0, "policy->evict", policy->evict},
			   granularity = {0, "policy->granularity", policy->granularity};
	char why[UVMP_SERVICE_ERROR_MAX], evictors[UVMP_POLICY_EVICTORS_MAX];
	struct text text = {why, sizeof(why), 0};

	(void)uvmp_policy_evictors(params->page_bytes, evictors, sizeof(evictors)); /* fits */
	put_text(&text, "pages of ");
	put_number(&text, params->page_bytes / 1024u);
	put_text(&text, " KiB need ");
	if (has_granularity)
		put_text(&text, "units of that size or more");
	else
		put_list(&text, evictors, " or ");
	return judge(error, has_granularity ? granularity : evict, (needs->page_bytes & params->page_bytes) != 0, why);
}

static bool check_support(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	const struct uvmp_policy *policy = params->policy;
	const struct given prefetch = {0, "policy->prefetch", policy->prefetch.prefetcher};
	const struct given full = {0, "policy->prefetch_full", policy->prefetch_full};
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(params->policy, &needs); /* the policy is valid */
	return check_pages(params, &needs, error) &&
	       check_prefetcher(params, prefetch, uvmp_policy_prefetch_traits(policy), policy->prefetch.plugin, error) &&
	       (full.value == UVMP_PREFETCH_FULL_SAME ||
		check_prefetcher(params, full, uvmpi_policy_full_traits(policy), policy->full_plugin, error));
}

static enum uvmp_status check_gpus(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	for (uint32_t gpu = 1; gpu < uvmpi_params_processors(params); gpu++) {
		struct uvmp_service_gpu own;
		enum uvmp_status status = UVMP_ERR_ARGUMENT;
		uint32_t size;

		__builtin_memcpy(&size, uvmpi_params_gpu_at(params, gpu), sizeof(size));
		if (size == params->gpu->size)
			status = uvmpi_params_read_gpu(params, gpu, &own);
		status = judge_size(error, (struct given){gpu, "size", size}, status);
		if (status != UVMP_OK)
			return status;
		if (!check_gpu(params, gpu, error))
			return UVMP_ERR_RANGE;
	}
	return UVMP_OK;
}

enum uvmp_status uvmpi_params_read(const struct uvmp_service_params *params, struct own_params *own,
				   struct uvmp_service_error *error)
{
	enum uvmp_status status = read_params(params, own, error);

	if (status != UVMP_OK)
		return status;
	if (!check_validity(&own->params, error))
		return UVMP_ERR_ARGUMENT;
	if (!check_numbers(&own->params, error))
		return UVMP_ERR_RANGE;
	uvmpi_params_fill(&own->params);
	status = check_gpus(&own->params, error);
	if (status != UVMP_OK)
		return status;
	return check_support(&own->params, error) ? UVMP_OK : UVMP_ERR_UNSUPPORTED;
}

enum uvmp_status uvmp_service_params_check(const struct uvmp_service_params *params,
					   struct uvmp_service_error *error)
{
	struct own_params own;

	return uvmpi_params_read(params, &own, error);
}
