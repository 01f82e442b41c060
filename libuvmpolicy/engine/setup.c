/* Setting up the engine: the layout of the fixed part of the arena, and its first contents. */
#include "../base/bits_internal.h"
#include "arena_internal.h"
#include "block_service_internal.h"
#include "controllers_internal.h"
#include "memory_internal.h"
#include "params_internal.h"
#include "prefetch_states_internal.h"
#include "remote_internal.h"
#include "runtime_logs_internal.h"

#define ALIGNMENT      16u
#define OPERATIONS     4u     /* that own a servicing */
#define BIG_PAGE_BYTES 65536u /* of the driver; larger pages are big pages themselves */

/* -- layout: the fixed part of the arena -- */

static void zero_bytes(void *memory, uint64_t bytes)
{
	uint64_t *word = (uint64_t *)memory;

	for (uint64_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = 0;
}

/* Allocates tables one behind the other, and zeros them unless they are zeros; with base NULL it only counts. */
struct layout {
	uint8_t *base;
	uint64_t at;
	bool is_zero;
};

/* A table that is not zeroed. */
static void *plain_part(struct layout *l, uint64_t bytes)
{
	uint8_t *p = l->base ? l->base + l->at : NULL;

	l->at += (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
	return p;
}

static void *part(struct layout *l, uint64_t count, uint64_t size)
{
	uint64_t before = l->at;
	void *p = plain_part(l, count * size);

	if (p && !l->is_zero)
		zero_bytes(p, l->at - before);
	return p;
}
/* An array of the layout. */
#define PART(l, type, count) ((type *)part(l, count, sizeof(type)))

struct gpu_parts {
	void *memory;
	struct uvmp_fault *entry, *batch;
	struct uvmp_utlb *utlb;
	uint32_t *order_of;
	uint64_t *order_scratch;
	uint8_t *fatal;
	struct uvmp_note *note;
	uint64_t *lifetimes, *utlb_seen;
	uint8_t *controllers;
};

static bool asks_utlbs(const struct uvmp_policy *policy)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(policy, &needs); /* the policy is valid */
	return needs.utlbs;
}

static void lay_out_gpu(struct layout *l, const struct uvmp_service_params *params, uint32_t gpu,
			struct gpu_parts *parts)
{
	const struct uvmp_service_gpu g = uvmpi_params_gpu(params, gpu);

	/* An order writes state of a unit when the unit is used. */
	parts->memory = uvmp_policy_evict_traits(params->policy)->is_chunked
				? part(l, 1, uvmpi_memory_size(params, gpu))
				: plain_part(l, uvmpi_memory_size(params, gpu));
	parts->entry = PART(l, struct uvmp_fault, g.fault_entries);
	parts->batch = PART(l, struct uvmp_fault, g.fault_entries);
	parts->utlb = PART(l, struct uvmp_utlb, g.utlbs);
	parts->order_of = PART(l, uint32_t, g.fault_entries);
	parts->order_scratch = PART(l, uint64_t, UVMP_FAULT_ORDER_WORDS(g.fault_entries));
	parts->fatal = PART(l, uint8_t, g.fault_entries);
	parts->note = PART(l, struct uvmp_note, g.notes);
	parts->lifetimes = PART(l, uint64_t, uvmpi_adapt_units(params, gpu));
	parts->controllers = PART(l, uint8_t, uvmpi_adapt_state_bytes(params, gpu));
	parts->utlb_seen = PART(l, uint64_t, asks_utlbs(params->policy) ? g.utlbs : 0);
}

struct parts {
	struct uvmp_service *service;
	struct gpu *gpu;
	handle *bucket;
	uint32_t buckets, most_notes;
	struct address_space *space;
	struct range *range;
	uint32_t *range_order;
	struct instance *instance;
	struct request *request;
	struct uvmp_action *action;
	uint8_t *done;
	struct uvmp_copy *in, *out;
	uint32_t *note_order;
	struct uvmp_note *notes;
	struct pinned *pinned;
	struct servicing *servicing;	  /* [OPERATIONS] */
	uvmp_mask *arrive, *arrived_from; /* [OPERATIONS][processors] */
	uvmp_mask *holders;
	uint32_t processors;
	struct map_want *wants;
	uint8_t *runtime, *controllers;
	struct prefetch_states prefetch;
};

static void lay_out(struct layout *l, const struct uvmp_service_params *params, struct parts *p)
{
	p->buckets = 1;
	while (p->buckets < params->blocks)
		p->buckets *= 2u;
	p->most_notes = 0;
	p->processors = uvmpi_params_processors(params);
	for (uint32_t gpu = 1; gpu < uvmpi_params_processors(params); gpu++) {
		uint32_t notes = uvmpi_params_gpu(params, gpu).notes;

		if (notes > p->most_notes)
			p->most_notes = notes;
	}
	p->service = PART(l, struct uvmp_service, 1);
	p->gpu = PART(l, struct gpu, p->processors);
	p->bucket = PART(l, handle, p->buckets);
	p->space = PART(l, struct address_space, params->spaces);
	p->range = PART(l, struct range, params->ranges);
	p->range_order = PART(l, uint32_t, params->ranges);
	p->instance = PART(l, struct instance, params->instances);
	p->request = PART(l, struct request, params->requests);
	p->action = PART(l, struct uvmp_action, UVMP_SERVICE_PENDING_MAX);
	p->done = PART(l, uint8_t, UVMP_SERVICE_PENDING_MAX);
	p->in = PART(l, struct uvmp_copy, 4u * p->processors);
	p->out = PART(l, struct uvmp_copy, p->processors);
	p->note_order = PART(l, uint32_t, p->most_notes);
	p->notes = PART(l, struct uvmp_note, p->most_notes);
	p->pinned = PART(l, struct pinned, PINNED_MAX);
	p->servicing = PART(l, struct servicing, OPERATIONS);
	p->arrive = PART(l, uvmp_mask, OPERATIONS * p->processors);
	p->arrived_from = PART(l, uvmp_mask, OPERATIONS * p->processors);
	p->holders = PART(l, uvmp_mask, p->processors);
	p->wants = PART(l, struct map_want, p->processors);
	p->runtime = PART(l, uint8_t, uvmpi_runtime_bytes(params));
	p->controllers = PART(l, uint8_t, uvmpi_adapt_state_bytes(params, UVMP_CPU));
	uvmpi_prefetch_states_init(params->policy, &p->prefetch);
	p->prefetch.range = PART(l, uint8_t, (uint64_t)params->ranges * p->prefetch.range_bytes);
	p->prefetch.processor = PART(l, uint8_t, (uint64_t)p->processors * p->prefetch.processor_bytes);
}

static size_t size_for(const struct uvmp_service_params *params, uint32_t resident)
{
	struct layout l = {NULL, 0, false};
	struct gpu_parts gpu_parts;
	struct parts parts;

	lay_out(&l, params, &parts);
	for (uint32_t gpu = 1; gpu < uvmpi_params_processors(params); gpu++)
		lay_out_gpu(&l, params, gpu, &gpu_parts);
	l.at += UNIT_BYTES + uvmpi_arena_reserve(uvmpi_params_processors(params));
	l.at += (uint64_t)resident * (sizeof(struct block) + 2u * sizeof(struct residency));
	return (size_t)l.at == l.at ? (size_t)l.at : 0;
}

size_t uvmp_service_size(const struct uvmp_service_params *params, uint32_t resident)
{
	struct own_params own;

	return uvmpi_params_read(params, &own, NULL) == UVMP_OK ? size_for(&own.params, resident) : 0;
}

/* -- init -- */

static void init_gpu(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
		     struct layout *l)
{
	const struct uvmp_service_gpu from = uvmpi_params_gpu(params, gpu);
	struct gpu *g = &s->gpu[gpu];
	struct gpu_parts parts;
	uint32_t most;

	lay_out_gpu(l, params, gpu, &parts);
	g->buffer = (struct uvmp_fault_buffer){.entry = parts.entry, .capacity = from.fault_entries};
	g->batch = (struct uvmp_fault_batch){.entry = parts.batch,
					     .capacity = from.fault_entries,
					     .utlb = parts.utlb,
					     .utlbs = from.utlbs};
	g->order_of = parts.order_of;
	g->order_scratch = parts.order_scratch;
	g->fatal = parts.fatal;
	g->note = parts.note;
	g->note_capacity = from.notes;
	g->asks_at_misses = from.asks_at_misses;
	most = uvmp_fault_max_batch(params->policy->replay.max_batch, from.fault_entries);
	g->params = params->policy->replay;
	g->params.max_batch = most;
	uvmp_replay_init(&g->replay);
	(void)uvmpi_memory_init(s, params, gpu, parts.memory,
				uvmpi_memory_size(params, gpu)); /* checked before */
	uvmpi_adapt_init_gpu(s, params, gpu, parts.lifetimes, parts.controllers);
	g->utlb_seen = asks_utlbs(params->policy) ? parts.utlb_seen : NULL;
}

static uint32_t rounded(uint64_t bytes)
{
	return (uint32_t)((bytes + UNIT_BYTES - 1u) / UNIT_BYTES * UNIT_BYTES);
}

static void init_slabs(struct uvmp_service *s)
{
	s->slab_bytes[SLAB_BLOCK] = rounded(sizeof(struct block));
	s->slab_bytes[SLAB_RESIDENCY] = rounded(sizeof(struct residency));
	s->slab_bytes[SLAB_COLD] = rounded(sizeof(struct cold));
	s->slab_bytes[SLAB_TREE] = rounded(sizeof(struct uvmp_tree));
	s->slab_bytes[SLAB_CHUNK_MAP] = rounded(sizeof(struct chunk_map));
	s->slab_bytes[SLAB_COUNTERS] = rounded(sizeof(struct counters));
	s->slab_bytes[SLAB_HISTORY] = rounded(sizeof(struct history) + s->prefetch_states.block_bytes +
					      uvmpi_adapt_block_bytes(&s->policy));
	for (uint32_t i = 0; i < ARRAY_CLASSES; i++)
		s->slab_bytes[SLAB_ARRAY + i] = UNIT_BYTES << i;
	s->slab_bytes[SLAB_THRASH] = rounded(sizeof(struct thrash) + uvmp_thrash_array_size(s->block_pages));
}

/* What the operation with this number owns. */
static struct servicing *init_servicing(const struct parts *p, uint32_t operation)
{
	struct servicing *servicing = &p->servicing[operation];

	servicing->job.arrive = &p->arrive[operation * p->processors];
	servicing->job.arrived_from = &p->arrived_from[operation * p->processors];
	servicing->job.hint.to = UVMP_PROC_NONE;
	servicing->job.hint.follow = UVMP_PAGE_NONE;
	return servicing;
}

static void init_parts(struct uvmp_service *s, const struct uvmp_service_params *params,
		       const struct parts *p)
{
	s->policy = *params->policy;
	s->order = uvmp_policy_evict_traits(params->policy);
	if (params->processors != NULL)
		s->processors = *params->processors;
	else
		(void)uvmp_processors_init(&s->processors, params->gpus); /* checked before */
	s->page_bytes = params->page_bytes;
	s->page_shift = lowest_bit(params->page_bytes);
	s->block_pages = UVMP_ROOT_CHUNK_BYTES / params->page_bytes;
	s->tuned.prefetch = s->policy.prefetch;
	s->tuned.remote = s->policy.remote;
	uvmpi_prefetch_scale(s);
	uvmp_geometry_init(&s->geometry, params->page_bytes,
			   params->page_bytes < BIG_PAGE_BYTES ? BIG_PAGE_BYTES : params->page_bytes, UVMP_ROOT_CHUNK_BYTES);
	s->has_counters = params->policy->counters == UVMP_COUNTERS_ON ||
			  (params->policy->counters == UVMP_COUNTERS_DRIVER && params->has_ats) ||
			  remote_is_auto(s);
	s->maps_evicted = uvmp_counter_maps_evicted(params->policy->map_on_eviction, s->has_counters);
	s->bucket = p->bucket;
	s->buckets = p->buckets;
	s->space = p->space;
	s->spaces = params->spaces;
	s->range = p->range;
	s->range_slots = params->ranges;
	s->range_order = p->range_order;
	s->free_range = 0;
	for (uint32_t i = 0; i < params->ranges; i++)
		s->range[i].next_free = i + 1u < params->ranges ? i + 1u : NO_INDEX;
	s->instance = p->instance;
	s->instance_slots = params->instances;
	s->gpu = p->gpu;
	s->request = p->request;
	s->request_capacity = params->requests;
	s->action = p->action;
	s->done = p->done;
	s->in = p->in;
	s->out = p->out;
	s->note_order = p->note_order;
	s->notes = p->notes;
	s->pinned = p->pinned;
	s->base_id = 1;
	s->next_gpu = 1;
	s->prefetch_states = p->prefetch;
	s->random = params->seed;
	s->holders = p->holders;
	s->wants.of = p->wants;
	s->run.servicing = init_servicing(p, 0);
	s->fault.servicing = init_servicing(p, 1);
	s->counter.servicing = init_servicing(p, 2);
	s->remote.servicing = init_servicing(p, 3);
}

/* Builds an engine; the size has been checked. */
static UVMPI_NOINLINE struct uvmp_service *build(const struct uvmp_service_params *params, void *memory, size_t bytes)
{
	struct layout l = {(uint8_t *)memory, 0, false};
	struct uvmp_service *s;
	struct parts parts;

	l.is_zero = params->memory_is_zero;
	lay_out(&l, params, &parts);
	s = parts.service;
	init_parts(s, params, &parts);
	init_slabs(s);
	s->reserve = (uint32_t)(uvmpi_arena_reserve(s->processors.count) / UNIT_BYTES);
	uvmpi_adapt_init(s, params, parts.controllers);
	uvmpi_runtime_init(s, params, parts.runtime);
	for (uint32_t gpu = 1; gpu < uvmpi_params_processors(params); gpu++)
		init_gpu(s, params, gpu, &l);
	/* unit 0 is "none" */
	s->segment[0].memory = l.base + l.at;
	s->segment[0].unused = 1;
	s->segment[0].end =
		(uint32_t)((bytes - l.at) / UNIT_BYTES > UINT32_MAX / 2u ? UINT32_MAX / 2u
									 : (bytes - l.at) / UNIT_BYTES);
	s->segments = 1;
	s->magic = MAGIC;
	return s;
}

enum uvmp_status uvmp_service_init(const struct uvmp_service_params *params, void *memory, size_t bytes,
				   struct uvmp_service **service)
{
	struct own_params own;
	enum uvmp_status status = uvmpi_params_read(params, &own, NULL);

	if (status != UVMP_OK)
		return status;
	if (!memory || !service || (uintptr_t)memory % ALIGNMENT != 0)
		return UVMP_ERR_ARGUMENT;
	if (bytes <= size_for(&own.params, 0) - 1u) /* also: 0, the size does not fit size_t */
		return UVMP_ERR_SPACE;
	*service = build(&own.params, memory, bytes);
	return UVMP_OK;
}
