/* Parameters of an engine: what is accepted, and which one is not. */
#include "../base/text_internal.h"
#include "../policy/policy_internal.h"
#include "memory_internal.h"
#include "params_internal.h"
#include "service_internal.h"

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

static bool is_within(struct uvmp_service_error *error, struct given given, uint64_t min, uint64_t max)
{
	struct text text;

	if (given.value >= min && given.value <= max)
		return true;
	if (error != NULL) {
		text = name(error, &given);
		error->min = min;
		error->max = max;
		put_number(&text, given.value);
		put_text(&text, " is not accepted; ");
		put_number(&text, min);
		put_text(&text, "..");
		put_number(&text, max);
	}
	return false;
}

/* -- what is accepted -- */

static bool is_there(struct uvmp_service_error *error, const char *field, const void *pointer)
{
	return judge(error, (struct given){0, field, 0}, pointer != NULL, "missing (NULL)");
}

static bool is_valid(struct uvmp_service_error *error, const char *field, bool is_it)
{
	return judge(error, (struct given){0, field, 0}, is_it, "not valid, see its _is_valid function");
}

static bool check_pointers(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return is_there(error, "policy", params->policy) && is_there(error, "processors", params->processors) &&
	       is_there(error, "gpu", params->gpu);
}

static bool check_validity(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return is_valid(error, "policy", uvmp_policy_is_valid(params->policy)) &&
	       is_valid(error, "processors", uvmp_processors_is_valid(params->processors));
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
	if (!check_pointers(&own->params, error))
		return UVMP_ERR_ARGUMENT;
	status = uvmpi_policy_read(&own->policy, own->params.policy);
	status = judge_size(error, (struct given){0, "policy->size", own->params.policy->size}, status);
	own->params.policy = &own->policy;
	return status;
}

static bool check_page(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return judge(error, (struct given){0, "page_bytes", params->page_bytes},
		     params->page_bytes == 4096u || params->page_bytes == 65536u, "neither 4096 nor 65536");
}

static bool check_numbers(const struct uvmp_service_params *p, struct uvmp_service_error *error)
{
	return is_within(error, (struct given){0, "processors->count", p->processors->count}, 2,
			 UVMP_PROCS_MAX) &&
	       check_page(p, error) &&
	       is_within(error, (struct given){0, "blocks", p->blocks}, 1, BLOCKS_MAX) &&
	       is_within(error, (struct given){0, "spaces", p->spaces}, 1, SPACES_MAX) &&
	       is_within(error, (struct given){0, "ranges", p->ranges}, 1, RANGES_MAX) &&
	       is_within(error, (struct given){0, "instances", p->instances}, 1, INSTANCES_MAX) &&
	       is_within(error, (struct given){0, "requests", p->requests}, 1, REQUESTS_MAX);
}

/* What counts is what the GPU holds: memory_ratio percent of its memory, in roots. */
static bool check_memory(const struct uvmp_service_params *params, uint32_t gpu, uint64_t roots,
			 struct uvmp_service_error *error)
{
	const struct given given = {gpu, "memory_bytes", uvmpi_params_gpu(params, gpu).memory_bytes};
	bool has_none = (params->processors->no_memory >> gpu & 1u) != 0;

	if (has_none)
		return judge(error, given, roots == 0,
			     "2 MiB or more (after memory_ratio), but the GPU is in processors->no_memory");
	return judge(error, given, roots >= 1u && roots <= UVMP_ROOTS_MAX,
		     "not 2 MiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
}

/* An order over pages has a number for each unit of each block; also: size_t is too narrow. */
static bool check_size(const struct uvmp_service_params *params, uint32_t gpu, uint64_t roots,
		       struct uvmp_service_error *error)
{
	return judge(error, (struct given){0, "blocks", params->blocks},
		     roots == 0 || uvmpi_memory_size(params, gpu) != 0,
		     "too many for this eviction order, or for size_t");
}

static bool check_gpu(const struct uvmp_service_params *params, uint32_t gpu,
		      struct uvmp_service_error *error)
{
	const struct uvmp_service_gpu g = uvmpi_params_gpu(params, gpu);
	uint64_t roots = uvmpi_memory_capacity(params, gpu) / UVMP_ROOT_CHUNK_BYTES;

	return check_memory(params, gpu, roots, error) &&
	       is_within(error, (struct given){gpu, "splits", g.splits}, 0,
			 roots < UVMP_SPLITS_MAX ? roots : UVMP_SPLITS_MAX) &&
	       is_within(error, (struct given){gpu, "fault_entries", g.fault_entries}, 2, ENTRIES_MAX) &&
	       is_within(error, (struct given){gpu, "utlbs", g.utlbs}, 1, UTLBS_MAX) &&
	       is_within(error, (struct given){gpu, "notes", g.notes}, 0, NOTES_MAX) &&
	       is_within(error, (struct given){gpu, "sms", g.sms}, 0, SMS_MAX) &&
	       check_size(params, gpu, roots, error);
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

/* Does the prefetcher of this field work with the host's GPUs? State of a range knows one GPU only. */
static bool check_prefetcher(const struct uvmp_service_params *params, struct given given,
			     enum uvmp_prefetcher prefetcher, struct uvmp_service_error *error)
{
	char why[UVMP_SERVICE_ERROR_MAX], names[UVMP_SERVICE_ERROR_MAX];
	struct text text = {why, sizeof(why), 0}, list = {names, sizeof(names), 0};

	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		if (!uvmp_prefetch_traits_of((enum uvmp_prefetcher)i)->has_one_gpu)
			continue;
		put_text(&list, list.length != 0 ? "|" : "");
		put_text(&list, uvmp_prefetch_name((enum uvmp_prefetcher)i));
	}
	put_list(&text, names, " and ");
	put_text(&text, " know one GPU only");
	return judge(error, given,
		     params->processors->count == 2u || !uvmp_prefetch_traits_of(prefetcher)->has_one_gpu,
		     why);
}

/* Does the eviction order work with the host's page size? */
static bool check_pages(const struct uvmp_service_params *params, const struct uvmp_needs *needs,
                        struct uvmp_service_error *error)
{
	const struct given evict = {0, "policy->evict", params->policy->evict};
	char why[UVMP_SERVICE_ERROR_MAX], evictors[UVMP_POLICY_EVICTORS_MAX];
	struct text text = {why, sizeof(why), 0};

	(void)uvmp_policy_evictors(params->page_bytes, evictors, sizeof(evictors)); /* fits */
	put_text(&text, "pages of ");
	put_number(&text, params->page_bytes / 1024u);
	put_text(&text, " KiB need ");
	put_list(&text, evictors, " or ");
	return judge(error, evict, (needs->page_bytes & params->page_bytes) != 0, why);
}

static bool check_support(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	const struct given prefetch = {0, "policy->prefetch", params->policy->prefetch.prefetcher};
	const struct given full = {0, "policy->prefetch_full", params->policy->prefetch_full};
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(params->policy, &needs); /* the policy is valid */
	return check_pages(params, &needs, error) &&
	       check_prefetcher(params, prefetch, params->policy->prefetch.prefetcher, error) &&
	       (full.value == UVMP_PREFETCH_FULL_SAME ||
		check_prefetcher(params, full, (enum uvmp_prefetcher)(full.value - 1u), error));
}

static enum uvmp_status check_gpus(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	for (uint32_t gpu = 1; gpu < params->processors->count; gpu++) {
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
