/* The engine: its set-up, its arena, and how one with another policy takes the place of the old one.
 *
 * What influences decisions is as in the simulator (adapters/simulator/host.c), so that it takes the same
 * ones.
 *
 * A change of policy keeps nothing of what the old engine has learned. While it has nothing to do, it brings
 * all data home to the CPU; a new engine, which was told of all ranges before, finds it there as after
 * initialisation; advice is said again; all GPUs run again what stalled. Whatever can fail is done before the
 * old engine is let go. */
#include "emu_bottom.h"

#include <linux/mm.h>
#include <linux/slab.h>

#define SPACES       1024u
#define RANGES       65536u
#define SPLITS_SPARE 4096u
#define BUFFER_LEAST 1024u
#define BUFFER_MOST  65536u
#define BLOCKS_FIRST 256u             /* that the first piece of arena is made for */
#define SHORT_BYTES  ((u64)512 << 10) /* no action needs more */

#define WINDOW_BYTES ((u64)UVMP_MASK_BITS * PAGE_SIZE)

/* -- building -- */

/* A batch fits into the buffer. */
static u32 buffer_entries(const struct uvmp_policy *policy)
{
	u32 batch = policy->replay.max_batch;

	if (batch < BUFFER_LEAST)
		return BUFFER_LEAST;
	return batch < BUFFER_MOST ? batch + 1u : BUFFER_MOST;
}

/* A root is split for a block that is smaller: no more of them than blocks. */
static u32 splits(const struct emu_params *params, const struct uvmp_policy *policy)
{
	u64 held = uvmp_etc_capacity(UVMP_ETC_COMPRESSION, (u64)params->memory_mib << 20,
	                             policy->memory_ratio, PAGE_SIZE);
	u64 most = min_t(u64, params->blocks + SPLITS_SPARE, UVMP_SPLITS_MAX);

	return (u32)min(most, held / UVMP_ROOT_CHUNK_BYTES);
}

static void set_gpus(const struct emu_bottom *b, const struct uvmp_policy *policy,
                     struct uvmp_service_gpu *gpu)
{
	const struct emu_params *params = &b->driver->params;

	for (u32 i = 0; i < params->gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.memory_bytes = (u64)params->memory_mib << 20,
		                                   .splits = splits(params, policy),
		                                   .fault_entries = buffer_entries(policy),
		                                   .utlbs = params->utlbs,
		                                   .notes = params->counter_entries,
		                                   .sms = EMU_SMS};
}

/* GPUs reach everybody's memory, each other's as fast as their own; the CPU reaches its own. */
static void set_processors(u32 gpus, struct uvmp_processors *processors)
{
	u64 all = ((u64)2 << gpus) - 1u, peers = all & ~(u64)1;

	processors->count = gpus + 1u;
	processors->can_access[UVMP_CPU] = processors->native_atomics[UVMP_CPU] = 1;
	for (u32 gpu = 1; gpu <= gpus; gpu++) {
		processors->can_access[gpu] = all;
		processors->native_atomics[gpu] = peers;
		processors->fast_link[gpu] = peers & ~((u64)1 << gpu);
	}
}

/* Says in the kernel log why there is no engine with this policy. */
static int refuse(int error, const char *why)
{
	pr_err("uvmpolicy_emu: the policy is not taken: %s\n", why);
	return error;
}

static int refuse_status(enum uvmp_status status)
{
	if (status == UVMP_ERR_UNSUPPORTED)
		return refuse(-EINVAL,
		              "a prefetcher of ranges (sequential, locality, stride, next) goes with "
		              "one GPU only");
	if (status == UVMP_ERR_RANGE)
		return refuse(-EINVAL,
		              "the engine cannot keep that much GPU memory: memory_mib=, memory_ratio");
	return refuse(-EINVAL, uvmp_status_text(status));
}

/* All processes together make it grow, so none of them shall be killed for it. */
static bool add_piece(struct emu_engine *engine, u64 bytes)
{
	void *piece = NULL;

	if (engine->pieces < EMU_PIECES)
		piece = kvmalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (piece == NULL)
		return false;
	engine->piece[engine->pieces++] = piece;
	engine->bytes += bytes;
	return true;
}

static int begin(struct uvmp_service_params *params, struct emu_engine *engine)
{
	u64 bytes = uvmp_service_size(params, min(params->blocks, BLOCKS_FIRST));
	struct uvmp_service_error error;
	enum uvmp_status status;

	if (bytes != 0 && !add_piece(engine, bytes + 2u * SHORT_BYTES)) {
		pr_err("uvmpolicy_emu: the policy is not taken: no memory for its engine of %llu bytes\n",
		       bytes + 2u * SHORT_BYTES);
		return -ENOMEM;
	}
	if (uvmp_service_params_check(params, &error) != UVMP_OK)
		pr_err("uvmpolicy_emu: %s\n", error.text);
	status = uvmp_service_init(params, engine->piece[0], engine->bytes, &engine->service);
	return status == UVMP_OK ? 0 : refuse_status(status);
}

static void engine_free(struct emu_engine *engine)
{
	for (u32 i = 0; i < engine->pieces; i++)
		kvfree(engine->piece[i]);
	kvfree(engine->waiting);
	kvfree(engine->fetched);
	memset(engine, 0, sizeof(*engine));
}

static int engine_make(struct emu_bottom *b, const struct uvmp_policy *policy, struct emu_engine *engine)
{
	struct uvmp_processors *processors = kzalloc(sizeof(*processors), GFP_KERNEL);
	struct uvmp_service_gpu gpu[UVMP_EMU_GPUS_MAX];
	struct uvmp_service_params params = {.policy = policy,
	                                     .processors = processors,
	                                     .gpu = gpu,
	                                     .page_bytes = PAGE_SIZE,
	                                     .blocks = b->driver->params.blocks,
	                                     .spaces = SPACES,
	                                     .ranges = RANGES,
	                                     .instances = SPACES * b->driver->params.gpus,
	                                     .requests = EMU_REQUESTS,
	                                     .seed = b->driver->params.seed};
	int result;

	memset(engine, 0, sizeof(*engine));
	if (processors == NULL)
		return refuse(-ENOMEM, "no memory");
	set_processors(b->driver->params.gpus, processors);
	set_gpus(b, policy, gpu);
	engine->fault_room = buffer_entries(policy) - 1u;
	engine->waiting = kvcalloc(engine->fault_room, sizeof(*engine->waiting), GFP_KERNEL);
	engine->fetched = kvcalloc(engine->fault_room, sizeof(*engine->fetched), GFP_KERNEL);
	if (engine->waiting != NULL && engine->fetched != NULL)
		result = begin(&params, engine);
	else
		result = refuse(-ENOMEM, "no memory for the faults that wait");
	kfree(processors);
	if (result != 0)
		engine_free(engine);
	return result;
}

/* Doubles: the pieces that an engine takes suffice. */
static bool grow(struct emu_engine *engine)
{
	u64 bytes = engine->bytes;

	if (!add_piece(engine, bytes))
		return false;
	if (uvmp_service_grow(engine->service, engine->piece[engine->pieces - 1u], bytes) == UVMP_OK)
		return true;
	kvfree(engine->piece[--engine->pieces]);
	engine->bytes -= bytes;
	return false;
}

/* Without memory the engine waits (UVMP_ERR_ARENA), and so do faults. We are asked before each action, and looking for so much
 * memory in vain takes long: not each time. */
void emu_engine_grow(struct emu_bottom *b)
{
	struct emu_engine *engine = &b->engine;
	struct uvmp_service_memory memory;

	uvmp_service_memory_used(engine->service, &memory);
	if (memory.bytes - memory.used >= SHORT_BYTES || ktime_get_ns() < engine->short_ns)
		return;
	if (!grow(engine))
		engine->short_ns = ktime_get_ns() + NSEC_PER_SEC;
}

/* -- an engine in force -- */

static bool wants_touches(const struct uvmp_policy *policy)
{
	return policy->evict != UVMP_EVICT_LRU || !policy->quirks ||
	       policy->prefetch.prefetcher == UVMP_PREFETCH_PATTERN ||
	       policy->prefetch_full == 1u + UVMP_PREFETCH_PATTERN;
}

static u32 counter_threshold(const struct uvmp_policy *policy)
{
	s32 parameter = policy->counters == UVMP_COUNTERS_ON    ? 1
	                : policy->counters == UVMP_COUNTERS_OFF ? 0
	                                                        : -1;

	if (!uvmp_counter_is_enabled(parameter, false))
		return 0;
	if (policy->counters != UVMP_COUNTERS_ON && !uvmp_counter_is_serviced(PAGE_SIZE, policy->quirks))
		return 0;
	return uvmp_counter_threshold(policy->counter_threshold);
}

static void engine_take(struct emu_bottom *b, const struct uvmp_policy *policy,
                        const struct emu_engine *engine)
{
	b->engine = *engine;
	b->driver->service = engine->service;
	b->driver->policy = *policy;
	b->wants_touches = wants_touches(policy);
	b->counts_pages = policy->evict != UVMP_EVICT_LRU;
	b->waitings = b->untold = b->idle = 0;
	b->start_ns = ktime_get_ns();
	b->now_ns = b->throttled_ns = b->rest_ns = b->retry_ns = 0;
	b->ended_ticket = 0;
	for (u32 i = 0; i < b->driver->params.gpus; i++) {
		emu_counter_set(&b->driver->gpu[i], counter_threshold(policy), b->wants_touches);
		emu_gpu_toggle(&b->driver->gpu[i], true);
		emu_gpu_limit(&b->driver->gpu[i], 0);
	}
}

int emu_engine_init(struct emu_bottom *b)
{
	struct emu_engine engine;
	int result = engine_make(b, &b->driver->policy, &engine);

	if (result == 0)
		engine_take(b, &b->driver->policy, &engine);
	return result;
}

void emu_engine_exit(struct emu_bottom *b)
{
	engine_free(&b->engine);
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

/* -- what is managed -- */

/* Adding goes on beside us; only we take out. */
static struct emu_range *next_piece(struct emu_space *space, u64 *first, u64 *last, u64 end)
{
	MA_STATE(mas, &space->ranges, *first, *first);
	struct emu_range *range;

	mas_lock(&mas);
	range = mas_find(&mas, end);
	*first = mas.index;
	*last = mas.last;
	mas_unlock(&mas);
	return range;
}

int emu_engine_each_piece(struct emu_space *space, u64 address, u64 bytes,
                          int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
                                     void *argument),
                          void *argument)
{
	u64 first = address >> PAGE_SHIFT, end = (address + bytes - 1u) >> PAGE_SHIFT, last;

	while (first <= end) {
		struct emu_range *range = next_piece(space, &first, &last, end);
		int result = 0;

		if (range == NULL)
			return 0;
		if (range->is_known)
			result = use(space, range, first << PAGE_SHIFT, (last - first + 1u) << PAGE_SHIFT,
			             argument);
		if (result != 0)
			return result;
		first = last + 1u;
		cond_resched();
	}
	return 0;
}

static int each_piece_of_all(struct emu_bottom *b,
                             int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
                                        void *argument),
                             void *argument)
{
	struct emu_space *space;
	unsigned long id;

	xa_for_each(&b->spaces, id, space)
	{
		int result = emu_engine_each_piece(space, 0, U64_MAX, use, argument);

		if (result != 0)
			return result;
	}
	return 0;
}

/* -- changing: before -- */

struct change {
	struct emu_bottom *bottom;
	struct emu_engine engine;
};

static int add_piece_of_range(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
                              void *argument)
{
	struct change *change = argument;

	return uvmp_service_add_range(change->engine.service, space->id, base, bytes,
	                              (enum uvmp_prot)range->right, UVMP_CPU) == UVMP_OK
	               ? 0
	               : -ENOMEM;
}

static int tell_new(struct emu_bottom *b, struct change *change)
{
	struct emu_space *space;
	unsigned long id;

	xa_for_each(&b->spaces, id, space)
	{
		int result = emu_engine_bind(b, change->engine.service, id);

		if (result != 0)
			return result;
	}
	return each_piece_of_all(b, add_piece_of_range, change);
}

static bool is_away(const struct emu_bottom *b, const struct emu_space *space, u64 address)
{
	struct uvmp_page_state state;

	return uvmp_service_page(b->driver->service, space->id, address, &state) == UVMP_OK &&
	       state.resident != 0 && (state.resident & 1u) == 0;
}

/* The part of a window that has pages away; false: none are. */
static bool find_away(const struct emu_bottom *b, const struct emu_space *space, u64 *first, u64 *end)
{
	u64 outer = *end;

	while (*first < outer && !is_away(b, space, *first))
		*first += PAGE_SIZE;
	while (*end > *first && !is_away(b, space, *end - PAGE_SIZE))
		*end -= PAGE_SIZE;
	return *first < *end;
}

static int bring_window_home(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end)
{
	u64 ticket, from = first, to = end;

	if (!find_away(b, space, &from, &to))
		return 0;
	if (uvmp_service_migrate(b->driver->service, space->id, from, to - from, UVMP_CPU, &ticket) !=
	    UVMP_OK)
		return -ENOMEM;
	emu_pump(b, false);
	if (b->ended_ticket != ticket || b->ended_status != UVMP_OK)
		return -ENOMEM;
	return find_away(b, space, &first, &end) ? -EBUSY : 0;
}

/* The engine has nothing to do, and nobody reports anything to it: what is home stays there. */
static int check_window_home(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end)
{
	if (!find_away(b, space, &first, &end))
		return 0;
	emu_broken(b->driver, "a page has gone away again while others came home");
	return -EBUSY;
}

static int each_window(struct emu_bottom *b, struct emu_space *space, u64 base, u64 bytes,
                       int (*use)(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end))
{
	for (u64 at = base, end = base + bytes; at < end;) {
		u64 next = min(end, round_down(at, WINDOW_BYTES) + WINDOW_BYTES);
		int result = use(b, space, at, next);

		if (result != 0)
			return result;
		at = next;
		cond_resched();
	}
	return 0;
}

static int bring_home(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	return each_window(argument, space, base, bytes, bring_window_home);
}

static int check_home(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	return each_window(argument, space, base, bytes, check_window_home);
}

/* -- changing: nothing can fail any more -- */

static void set_window(struct emu_bottom *b, struct emu_space *space, u64 at, u64 end)
{
	struct uvmp_action *a = &b->made;

	*a = (struct uvmp_action){.space = space->id, .address = at, .page_bytes = PAGE_SIZE};
	uvmp_mask_region_set(&a->pages, (struct uvmp_region){0, (u32)((end - at) >> PAGE_SHIFT)});
}

static void keep_framed(struct emu_space *space, struct uvmp_action *a)
{
	for (u32 at = uvmp_mask_next_set(&a->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&a->pages, at + 1u)) {
		const struct emu_page *page = emu_page_find(space, a->address + (u64)at * PAGE_SIZE);

		if (page == NULL || page->data[UVMP_CPU] == NULL)
			uvmp_mask_clear(&a->pages, at);
	}
}

/* The CPU maps all that it has, and no GPU maps anything. */
static int settle_piece(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	struct emu_bottom *b = argument;

	for (u64 at = base; at < base + bytes; at += WINDOW_BYTES) {
		u64 end = min(base + bytes, at + WINDOW_BYTES);

		set_window(b, space, at, end);
		for (u32 processor = 0; processor <= b->driver->params.gpus; processor++) {
			b->made.to = (u8)processor;
			emu_page_unmap(space, &b->made);
		}
		keep_framed(space, &b->made);
		b->made.from = b->made.to = UVMP_CPU;
		b->made.right = range->right;
		emu_page_map(space, &b->made);
		emu_place_forget(b, space, at, end - at);
		cond_resched();
	}
	return 0;
}

static void restart_gpus(struct emu_bottom *b)
{
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		emu_gpu_flush(&b->driver->gpu[i]);
	emu_waiting_give_up(b);
}

static void swap_engines(struct emu_bottom *b, const struct uvmp_policy *policy, const struct change *change)
{
	emu_place_settle(b, true);
	each_piece_of_all(b, settle_piece, b);
	emu_place_exit(b);
	engine_free(&b->engine);
	engine_take(b, policy, &change->engine);
	emu_text_clear(&b->driver->log);
	emu_record_begin(b);
	emu_advice_say_again(b);
	restart_gpus(b);
	b->driver->stats.policy_changes++;
}

static int prepare(struct emu_bottom *b, struct change *change)
{
	int result = tell_new(b, change);

	if (result != 0)
		return refuse(result, "the new engine has no room for all that is managed");
	result = each_piece_of_all(b, bring_home, b);
	if (result == 0)
		result = each_piece_of_all(b, check_home, b);
	if (result == -EBUSY)
		return refuse(result, "a page does not come home");
	if (result != 0)
		return refuse(result, "no memory on the CPU for all that comes home");
	return 0;
}

int emu_engine_change(struct emu_bottom *b, const struct uvmp_policy *policy)
{
	struct change change = {.bottom = b};
	int result = engine_make(b, policy, &change.engine);

	if (result != 0)
		return result;
	b->is_changing = true;
	result = prepare(b, &change);
	if (result == 0)
		swap_engines(b, policy, &change);
	else
		engine_free(&change.engine);
	b->is_changing = false;
	return result;
}
