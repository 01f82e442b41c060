/* The engine: set-up, arena, and what the GPUs must report to it.
 *
 * Parameters that influence decisions are those of the simulator (adapters/common/engine_setup.h), so that
 * both take the same decisions. */
#include "emu_bottom.h"

#include <linux/mm.h>
#include <linux/slab.h>

#define SPACES	     1024u
#define RANGES	     65536u
#define BLOCKS_FIRST 256u	      /* for which the first arena segment is made */
#define SHORT_BYTES  ((u64)512 << 10) /* no action needs more arena */

/* -- building -- */

static void set_gpus(const struct emu_bottom *b, const struct uvmp_policy *policy,
		     struct uvmp_service_gpu *gpu)
{
	const struct emu_params *params = &b->driver->params;
	u64 bytes = (u64)params->memory_mib << 20;
	u32 splits = setup_splits(params->blocks, setup_capacity_bytes(policy, bytes, PAGE_SIZE));

	for (u32 i = 0; i < params->gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
						   .memory_bytes = bytes,
						   .splits = splits,
						   .fault_entries = setup_fault_entries(policy),
						   .utlbs = params->utlbs,
						   .notes = params->counter_entries,
						   .sms = EMU_SMS};
}

/* Writes to the kernel log why there is no engine with this policy. */
int emu_engine_refuse(int error, const char *why)
{
	pr_err("uvmpolicy_emu: the policy is refused: %s\n", why);
	return error;
}

static int refuse_status(enum uvmp_status status)
{
	if (status == UVMP_ERR_UNSUPPORTED)
		return emu_engine_refuse(
			-EINVAL, "a prefetcher of ranges (sequential, locality, stride, next) works with "
				 "one GPU only");
	if (status == UVMP_ERR_RANGE)
		return emu_engine_refuse(
			-EINVAL, "the engine cannot keep that much GPU memory: memory_mib=, memory_ratio");
	return emu_engine_refuse(-EINVAL, uvmp_status_text(status));
}

/* All processes together make the engine grow, so none may be killed for its memory. */
static bool add_segment(struct emu_engine *engine, u64 bytes)
{
	void *segment = NULL;

	if (engine->segments < EMU_SEGMENTS)
		segment = kvmalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (segment == NULL)
		return false;
	engine->segment[engine->segments++] = segment;
	engine->bytes += bytes;
	return true;
}

static int begin(struct uvmp_service_params *params, struct emu_engine *engine)
{
	u64 bytes = uvmp_service_size(params, min(params->blocks, BLOCKS_FIRST));
	struct uvmp_service_error error;
	enum uvmp_status status;

	if (bytes != 0 && !add_segment(engine, bytes + 2u * SHORT_BYTES)) {
		pr_err("uvmpolicy_emu: the policy is refused: no memory for its engine of %llu bytes\n",
		       bytes + 2u * SHORT_BYTES);
		return -ENOMEM;
	}
	if (uvmp_service_params_check(params, &error) != UVMP_OK)
		pr_err("uvmpolicy_emu: %s\n", error.text);
	status = uvmp_service_init(params, engine->segment[0], engine->bytes, &engine->service);
	return status == UVMP_OK ? 0 : refuse_status(status);
}

void emu_engine_free(struct emu_engine *engine)
{
	for (u32 i = 0; i < engine->segments; i++)
		kvfree(engine->segment[i]);
	kvfree(engine->stalled);
	kvfree(engine->fetched);
	memset(engine, 0, sizeof(*engine));
}

int emu_engine_make(struct emu_bottom *b, const struct uvmp_policy *policy, struct emu_engine *engine)
{
	struct uvmp_service_gpu gpu[UVMP_EMU_GPUS_MAX];
	struct uvmp_service_params params = {.size = sizeof(params),
					     .policy = policy,
					     .gpu = gpu,
					     .gpus = b->driver->params.gpus,
					     .page_bytes = PAGE_SIZE,
					     .blocks = b->driver->params.blocks,
					     .spaces = SPACES,
					     .ranges = RANGES,
					     .instances = SPACES * b->driver->params.gpus,
					     .requests = EMU_REQUESTS,
					     .seed = b->driver->params.seed};
	int result;

	memset(engine, 0, sizeof(*engine));
	set_gpus(b, policy, gpu);
	engine->fault_capacity = setup_fault_entries(policy) - 1u;
	engine->stalled = kvcalloc(engine->fault_capacity, sizeof(*engine->stalled), GFP_KERNEL);
	engine->fetched = kvcalloc(engine->fault_capacity, sizeof(*engine->fetched), GFP_KERNEL);
	if (engine->stalled != NULL && engine->fetched != NULL)
		result = begin(&params, engine);
	else
		result = emu_engine_refuse(-ENOMEM, "no memory for stalled faults");
	if (result != 0)
		emu_engine_free(engine);
	return result;
}

/* Doubles the arena: the engine accepts enough segments for that. */
static bool grow(struct emu_engine *engine)
{
	u64 bytes = engine->bytes;

	if (!add_segment(engine, bytes))
		return false;
	if (uvmp_service_grow(engine->service, engine->segment[engine->segments - 1u], bytes) == UVMP_OK)
		return true;
	kvfree(engine->segment[--engine->segments]);
	engine->bytes -= bytes;
	return false;
}

/* Without memory the engine waits (UVMP_ERR_ARENA), and so do faults. This is called before each
 * action, and a failing allocation of that size takes long: it is not repeated each time. */
void emu_engine_grow(struct emu_bottom *b)
{
	struct emu_engine *engine = &b->engine;
	struct uvmp_service_memory memory = {.size = sizeof(memory)};

	uvmp_service_memory_used(engine->service, &memory);
	if (memory.bytes - memory.used >= SHORT_BYTES || ktime_get_ns() < engine->retry_grow_ns)
		return;
	if (!grow(engine))
		engine->retry_grow_ns = ktime_get_ns() + NSEC_PER_SEC;
}

/* -- an engine in force -- */

void emu_engine_take(struct emu_bottom *b, const struct uvmp_policy *policy, const struct emu_engine *engine)
{
	bool is_counting = setup_counts_accesses(policy, PAGE_SIZE, false);
	u32 threshold = is_counting ? uvmp_counter_threshold(policy->counter_threshold) : 0;
	struct uvmp_needs needs = {.size = sizeof(needs)};

	b->engine = *engine;
	b->driver->service = engine->service;
	b->driver->policy = *policy;
	(void)uvmp_policy_needs(policy, &needs);
	b->wants_touches = needs.touches;
	b->counts_pages = !uvmp_policy_evict_traits(policy)->is_chunked;
	b->stalled = (struct stalled_queue){.fault = engine->stalled, .capacity = engine->fault_capacity};
	b->start_ns = ktime_get_ns();
	b->now_ns = b->throttled_ns = b->paused_until_ns = b->retry_ns = 0;
	b->ended_ticket = 0;
	for (u32 i = 0; i < b->driver->params.gpus; i++) {
		emu_counter_set(&b->driver->gpu[i], threshold, b->wants_touches);
		emu_gpu_toggle(&b->driver->gpu[i], true);
		emu_gpu_limit(&b->driver->gpu[i], 0);
	}
}

int emu_engine_init(struct emu_bottom *b)
{
	struct emu_engine engine;
	int result = emu_engine_make(b, &b->driver->policy, &engine);

	if (result == 0)
		emu_engine_take(b, &b->driver->policy, &engine);
	return result;
}

void emu_engine_exit(struct emu_bottom *b)
{
	emu_engine_free(&b->engine);
	b->driver->service = NULL;
}

int emu_engine_bind(struct emu_bottom *b, struct uvmp_service *service, u64 space)
{
	for (u32 gpu = 1; gpu <= b->driver->params.gpus; gpu++) {
		enum uvmp_status status = uvmp_service_bind(service, gpu, UVMP_APERTURE_VID, space, 0, space);

		if (status == UVMP_OK)
			continue;
		while (--gpu > 0)
			(void)uvmp_service_unbind(service, gpu, UVMP_APERTURE_VID, space, 0);
		return -ENOMEM;
	}
	return 0;
}

void emu_engine_unbind(struct emu_bottom *b, u64 space)
{
	for (u32 gpu = 1; gpu <= b->driver->params.gpus; gpu++)
		(void)uvmp_service_unbind(b->driver->service, gpu, UVMP_APERTURE_VID, space, 0);
}
