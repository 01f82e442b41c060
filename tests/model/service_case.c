/* The model drives: whenever it has decided a group of actions, the engine must hand out the same ones and no
 * more. They are then completed in any order, and between two completions and between groups further events
 * are told to both. */
#include "service_case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "naive_service.h"

#define ROOT     UVMP_ROOT_CHUNK_BYTES
#define WINDOWS  5u
#define BASE     ((uvmp_addr)0x40000000)
#define RANGES   10u
#define CHANNELS 6u
#define SPACES   3u
#define ROOTS    6u
#define VICTIMS  8u                   /* the latest that the case remembers */
#define FRAMES   (NAIVE_BLOCKS * 512u) /* of 4 KiB, on a GPU: page-wise orders have one for each unit */

/* What the case is about. */
enum profile {
	PLAIN,
	TIGHT,     /* one or two roots of memory, whole windows: evictions all the time */
	BOUNCE,    /* few pages, many processors, short times: thrashing */
	DUPLICATE, /* read duplication, mostly reads */
	COUNTERS,  /* access counters work */
	WITHDRAW   /* little memory of a page-wise order: victims are withdrawn, and units held */
};

/* What the host would know of a frame of a GPU's memory: which block has it. */
struct frame {
	uint64_t space;
	uvmp_addr block; /* 0: free */
};

struct known_range {
	bool exists, is_touched;
	uint64_t space;
	uvmp_addr base;
	uint64_t bytes;
};

/* A run of pages that an eviction has copied to the CPU. */
struct known_victim {
	uint64_t space, bytes;
	uvmp_addr base;
	uint32_t gpu;
};

struct known_channel {
	bool exists;
	uint32_t gpu, aperture, subcontext;
	uint64_t instance, space;
};

struct service_case {
	uint64_t random;
	enum service_case_level level;
	enum profile profile;
	uint32_t pace;   /* so many events, on average, between two runs, */
	uint32_t flight; /* and so many completions between two events of a run */
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	struct uvmp_service_gpu gpu[NAIVE_PROCS];
	struct uvmp_service_params params;
	struct uvmp_service *engine;
	struct naive_service *model;
	void *memory;
	uint64_t now, limit, nested;
	struct known_range range[RANGES];
	struct known_channel channel[CHANNELS];
	struct known_victim victim[VICTIMS];
	uint64_t withdrawal[VICTIMS]; /* tickets of the latest withdrawals */
	uint32_t victims; /* so far; the latest is at (victims - 1) % VICTIMS */
	bool has_arrivals; /* the case reports them, mostly those of */
	struct known_victim arriving[VICTIMS]; /* copies to GPUs */
	uint32_t arrivings; /* so far */
	uvmp_addr hot[4];
	uint64_t hot_space[4];
	uint64_t last_fault[NAIVE_PROCS], last_replay[NAIVE_PROCS], sequence; /* in the order of events */
	uint64_t accepted[NAIVE_PROCS], fetched[NAIVE_PROCS], flushed[NAIVE_PROCS]; /* faults */
	uint64_t replayed[NAIVE_PROCS], batched[NAIVE_PROCS];
	uint64_t batches, flushes, groups, evictions, faults; /* of this bottom half */
	struct frame frame[NAIVE_PROCS][FRAMES];
	struct service_case_stats *stats;
	FILE *trace;
	char *error;
	size_t capacity;
	bool has_failed;
};

const char *service_case_event_name(enum service_case_event event)
{
	static const char *const name[] = {"fault", "cpu fault", "add range", "free range", "free part",
	                                   "bind",  "unbind",    "advise",    "migrate",    "withdraw",
	                                   "hold",  "touch",     "arrive",    "note",       "time",
	                                   "bad"};

	return name[event];
}

static uint32_t draw(struct service_case *c, uint32_t bound)
{
	return (uint32_t)(uvmp_random_next(&c->random) >> 33) % bound;
}

static void fail(struct service_case *c, const char *format, ...)
{
	va_list list;

	if (c->has_failed)
		return;
	c->has_failed = true;
	va_start(list, format);
	vsnprintf(c->error, c->capacity, format, list);
	va_end(list);
}

static void tell(struct service_case *c, enum service_case_event event, const char *format, ...)
{
	va_list list;

	c->stats->events++;
	c->stats->event[event]++;
	c->sequence++;
	if (c->trace == NULL)
		return;
	fprintf(c->trace, "# t=%" PRIu64 " %s ", c->now, service_case_event_name(event));
	va_start(list, format);
	vfprintf(c->trace, format, list);
	va_end(list);
	fputc('\n', c->trace);
}

/* -- parameters ------------------------------------------------------------------------------ */

static void draw_processors(struct service_case *c)
{
	struct uvmp_processors *p = &c->processors;
	bool has_links = draw(c, 3) == 0, is_coherent = draw(c, 6) == 0;
	uint64_t from_gpu = draw(c, 8) == 0 ? 0 : 1; /* can GPUs map the CPU's memory? */

	p->count = 2 + draw(c, 3);
	for (uint32_t a = 0; a < p->count; a++) {
		p->can_access[a] = (uint64_t)1 << a | from_gpu;
		p->native_atomics[a] = (uint64_t)1 << a;
	}
	p->no_memory = p->count > 2 && draw(c, 8) == 0 ? (uint64_t)1 << (p->count - 1) : 0;
	for (uint32_t a = 1; a < p->count && is_coherent; a++) {
		p->can_access[0] |= (uint64_t)1 << a;
		p->fast_link[0] |= (uint64_t)1 << a;
		p->fast_link[a] |= 1u;
		p->native_atomics[0] |= (uint64_t)1 << a;
		p->native_atomics[a] |= 1u;
	}
	for (uint32_t a = 1; a < p->count && has_links; a++)
		for (uint32_t b = a + 1; b < p->count; b++) {
			p->can_access[a] |= (uint64_t)1 << b;
			p->can_access[b] |= (uint64_t)1 << a;
			p->fast_link[a] |= (uint64_t)1 << b;
			p->fast_link[b] |= (uint64_t)1 << a;
			p->native_atomics[a] |= (uint64_t)1 << b;
			p->native_atomics[b] |= (uint64_t)1 << a;
		}
}

static void draw_policy(struct service_case *c)
{
	static const enum uvmp_prefetcher prefetchers[] = {UVMP_PREFETCH_DENSITY, UVMP_PREFETCH_DENSITY,
	                                                   UVMP_PREFETCH_DENSITY, UVMP_PREFETCH_NONE,
	                                                   UVMP_PREFETCH_BLOCK,   UVMP_PREFETCH_TBN,
	                                                   UVMP_PREFETCH_TBN,     UVMP_PREFETCH_SL};
	static const enum uvmp_evictor evictors[] = {UVMP_EVICT_LRU_2M, UVMP_EVICT_LRU_4K, UVMP_EVICT_SL_64K,
	                                             UVMP_EVICT_TBN, UVMP_EVICT_LFU_2M};
	struct uvmp_policy *p = &c->policy;
	bool quirks = draw(c, 4) != 0;

	uvmp_policy_init(p);
	uvmp_prefetch_params_init(&p->prefetch, prefetchers[draw(c, 8)]);
	if (p->prefetch.prefetcher == UVMP_PREFETCH_DENSITY && draw(c, 2) == 0) {
		p->prefetch.threshold = draw(c, 2) == 0 ? 1 + draw(c, 100) : 25 * (1 + draw(c, 4));
		p->prefetch.min_faults = 1 + draw(c, 3);
	}
	if (c->profile == WITHDRAW || draw(c, 3) == 0) {
		p->evict = evictors[c->profile == WITHDRAW ? (draw(c, 12) == 0 ? 4 : draw(c, 4)) : draw(c, 5)];
		if (p->evict == UVMP_EVICT_TBN && draw(c, 3) != 0) /* as UVM Smart: they share the tree */
			uvmp_prefetch_params_init(&p->prefetch, draw(c, 3) == 0 ? UVMP_PREFETCH_SL : UVMP_PREFETCH_TBN);
		if (uvmp_evict_traits_of(p->evict)->has_granularity && draw(c, 2) == 0)
			p->granularity = (enum uvmp_granularity)draw(c, UVMP_GRANULARITY_2M + 1);
		p->reserve = draw(c, 3) == 0 ? draw(c, UVMP_EVICT_RESERVE_MAX + 1) : 0;
		p->free_buffer = draw(c, 3) == 0 ? draw(c, draw(c, 2) == 0 ? 20 : 101) : 0;
	} else {
		p->pma_order = draw(c, 3);
	}
	if (draw(c, 4) == 0)
		p->prefetch_full = 1u + (uint32_t)prefetchers[draw(c, 8)];
	p->replay.policy = (enum uvmp_replay_policy)draw(c, 5);
	if (p->replay.policy == UVMP_REPLAY_BATCH_FLUSH)
		p->replay.update_put_ratio = draw(c, 101);
	p->replay.max_batch = 1 + draw(c, draw(c, 3) == 0 ? 4 : 256);
	p->replay.max_batches = 1 + draw(c, 6);
	p->replay.max_throttled = 1 + draw(c, 3);
	p->replay.prefetch_lapse_ms = draw(c, 3);
	p->coalesce = draw(c, 5) != 0;
	p->thrash.is_enabled = draw(c, 5) != 0;
	if (c->profile == BOUNCE)
		p->thrash.is_enabled = true;
	if (p->thrash.is_enabled && draw(c, 4) != 0) {
		p->thrash.lapse_us = draw(c, 2) == 0 ? 500 : 1 + draw(c, 2000);
		p->thrash.max_resets = draw(c, 6);
		p->thrash.nap = 1 + draw(c, 3);
		p->thrash.threshold = 1 + draw(c, 3);
		p->thrash.pin_threshold = 1 + draw(c, 4);
		p->thrash.epoch = draw(c, 2) == 0 ? 2000 : 1 + draw(c, 20);
		p->thrash.pin = draw(c, 40);
	}
	p->counters = (enum uvmp_counters)draw(c, 3);
	if (c->profile == COUNTERS)
		p->counters = UVMP_COUNTERS_ON;
	if (p->counters != UVMP_COUNTERS_OFF) {
		p->counter_batch = 1 + draw(c, draw(c, 2) == 0 ? 3 : 64);
		p->map_on_eviction = draw(c, 4) != 0;
	}
	p->plan = draw(c, 3) == 0 ? UVMP_PLAN_OVERLAPPED : UVMP_PLAN_SERIAL;
	if (p->evict != UVMP_EVICT_LRU) /* the model does not know that they can */
		p->plan = UVMP_PLAN_SERIAL;
	p->map_on_atomics = draw(c, 4) == 0;
	p->quirks = p->prefetch.quirks = p->replay.quirks = p->thrash.quirks = quirks;
}

/* Evictions all the time. */
static bool is_tight(const struct service_case *c)
{
	return c->profile == TIGHT || c->profile == WITHDRAW;
}

/* Units of eviction are whole pages; TBNe knows pages of 4 KiB only. */
static uint32_t draw_page_bytes(struct service_case *c)
{
	static const uint32_t large[] = {16384, 65536, 65536, 2097152};
	uint32_t page = draw(c, 5) < 2 ? large[draw(c, 4)] : 4096;
	uint32_t unit = c->policy.evict == UVMP_EVICT_TBN ? 4096 : uvmp_policy_unit_pages(&c->policy) * 4096;

	return page <= unit ? page : 4096;
}

/* Some memories of page-wise orders hold less than a block, and some no whole number of units. */
static uint64_t draw_memory(struct service_case *c, uint32_t roots)
{
	uint32_t unit = uvmp_policy_unit_pages(&c->policy) * 4096, page = c->params.page_bytes;

	if (roots == 0 || c->policy.evict == UVMP_EVICT_LRU || draw(c, 3) != 0)
		return (uint64_t)roots * ROOT;
	return (uint64_t)unit * (1 + draw(c, draw(c, 2) == 0 ? 8 : ROOT / unit)) + (uint64_t)draw(c, unit / page) * page;
}

static bool start(struct service_case *c)
{
	size_t bytes;

	static const uint32_t paces[] = {2, 6, 25, 80};
	static const enum profile profiles[] = {PLAIN, TIGHT, TIGHT, BOUNCE, DUPLICATE, COUNTERS, WITHDRAW, WITHDRAW};

	c->profile = profiles[draw(c, 8)];
	c->pace = paces[draw(c, 4)];
	c->flight = draw(c, 3) == 0 ? 10 : 60;
	c->has_arrivals = draw(c, 2) == 0;
	draw_processors(c);
	draw_policy(c);
	c->params.page_bytes = draw_page_bytes(c);
	for (uint32_t i = 0; i + 1 < c->processors.count; i++) {
		uint32_t roots = is_tight(c) ? 1 + draw(c, 2) : 1 + draw(c, ROOTS);
		uint64_t memory;

		if ((c->processors.no_memory >> (i + 1) & 1) != 0)
			roots = 0;
		memory = draw_memory(c, roots);
		roots = (uint32_t)(memory / ROOT);
		c->gpu[i] =
		        (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                  .memory_bytes = memory,
		                                  .splits = draw(c, 8) == 0 ? (roots + 1) / 2 : roots,
		                                  .fault_entries = 4 + draw(c, draw(c, 2) == 0 ? 60 : 250),
		                                  .utlbs = 4,
		                                  .notes = draw(c, 8) == 0 ? 0 : 2 + draw(c, 40),
		                                  .counts_units = draw(c, 3) == 0};
	}
	c->params = (struct uvmp_service_params){.size = sizeof(struct uvmp_service_params),
	                                         .policy = &c->policy,
	                                         .processors = &c->processors,
	                                         .gpu = c->gpu,
	                                         .page_bytes = c->params.page_bytes,
	                                         .blocks = draw(c, 3) == 0 ? 1 + draw(c, 4) : NAIVE_BLOCKS,
	                                         .spaces = 2 + draw(c, 2),
	                                         .ranges = draw(c, 4) == 0 ? RANGES : NAIVE_RANGES,
	                                         .has_ats = draw(c, 2) == 0,
	                                         .instances = 8,
	                                         .requests = 4,
	                                         .seed = 1};
	bytes = uvmp_service_size(&c->params, 64) + (8u << 20);
	c->memory = aligned_alloc(16, bytes / 16 * 16);
	if (uvmp_service_init(&c->params, c->memory, bytes / 16 * 16, &c->engine) != UVMP_OK) {
		fail(c, "the engine does not start (policy %d, processors %d)",
		     uvmp_policy_is_valid(&c->policy), uvmp_processors_is_valid(&c->processors));
		return false;
	}
	return true;
}

/* -- events ---------------------------------------------------------------------------------- */

static bool same(struct service_case *c, const char *what, enum uvmp_status engine, enum uvmp_status model)
{
	if (engine != model)
		fail(c, "%s: engine says %d, model %d", what, (int)engine, (int)model);
	return engine == model;
}

/* An address that is interesting: one of the hot ones, one in a range, any. */
static uvmp_addr draw_address(struct service_case *c, uint64_t *space)
{
	uint32_t i = draw(c, 4);
	const struct known_range *r = &c->range[draw(c, RANGES)];

	if (c->profile == BOUNCE && draw(c, 12) != 0) {
		*space = c->hot_space[i / 2];
		return c->hot[i / 2] + draw(c, draw(c, 3) == 0 ? 3 : 1) * (uvmp_addr)c->params.page_bytes;
	}
	if (draw(c, 3) < (is_tight(c) ? 1 : 2)) {
		*space = c->hot_space[i];
		return c->hot[i] + draw(c, draw(c, 2) == 0 ? 1 : 20) % (ROOT / c->params.page_bytes) *
		                           (uvmp_addr)c->params.page_bytes;
	}
	if (r->exists && draw(c, 40) != 0) {
		*space = r->space;
		return r->base + ((uint64_t)draw(c, 1u << 30) << 12) % r->bytes;
	}
	*space = 1 + draw(c, SPACES);
	return BASE + draw(c, WINDOWS * ROOT);
}

static void heat(struct service_case *c, const struct known_range *r)
{
	uint32_t i = draw(c, 4);

	c->hot[i] = r->base + ((uint64_t)draw(c, 1u << 30) << 12) % r->bytes;
	c->hot_space[i] = r->space;
}

static void advise(struct service_case *c, uint64_t space, uvmp_addr base, uint64_t bytes,
                   enum uvmp_advice advice, uint32_t processor)
{
	tell(c, SERVICE_CASE_ADVISE, "space=%" PRIu64 " 0x%" PRIx64 "+0x%" PRIx64 " advice=%d processor=%u",
	     space, base, bytes, (int)advice, processor);
	same(c, "advise", uvmp_service_advise(c->engine, space, base, bytes, advice, processor, NULL),
	     naive_service_advise(c->model, space, base, bytes, advice, processor));
}

static void do_add_range(struct service_case *c)
{
	static const enum uvmp_right rights[] = {UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_READ,
	                                        UVMP_RIGHT_READ_WRITE};
	struct known_range r = {.exists = true, .space = 1 + draw(c, SPACES)};
	enum uvmp_right right = rights[draw(c, 5)];
	uint32_t home = draw(c, 3) == 0 ? UVMP_CPU : UVMP_PROC_NONE, page = c->params.page_bytes;
	uint32_t free = 0;
	enum uvmp_status status;

	while (free < RANGES && c->range[free].exists)
		free++;
	if (free == RANGES)
		return;
	r.base = BASE + (uvmp_addr)draw(c, WINDOWS) * ROOT;
	r.bytes = ROOT * (1u + (draw(c, 6) == 0));
	if (draw(c, 3) != 0 && (!is_tight(c) || draw(c, 4) == 0)) {
		r.base += (uvmp_addr)draw(c, ROOT / page) * page;
		r.bytes = (uint64_t)(1 + draw(c, draw(c, 3) == 0 || page == ROOT ? ROOT / page : 40)) * page;
	}
	tell(c, SERVICE_CASE_ADD_RANGE, "space=%" PRIu64 " 0x%" PRIx64 "+0x%" PRIx64 " right=%d home=%u",
	     r.space, r.base, r.bytes, (int)right, home);
	status = uvmp_service_add_range(c->engine, r.space, r.base, r.bytes, right, home);
	if (same(c, "add_range", status,
	         naive_service_add_range(c->model, r.space, r.base, r.bytes, right, home)) &&
	    status == UVMP_OK) {
		c->range[free] = r;
		heat(c, &r);
		if (draw(c, 3) == 0)
			heat(c, &r);
		if (c->profile == DUPLICATE && draw(c, 3) != 0)
			advise(c, r.space, r.base, r.bytes, UVMP_ADVISE_READ_DUPLICATE, 0);
	}
}

static void do_free_range(struct service_case *c)
{
	struct known_range *r = &c->range[draw(c, RANGES)];

	if (!r->exists)
		return;
	tell(c, SERVICE_CASE_FREE_RANGE, "space=%" PRIu64 " 0x%" PRIx64, r->space, r->base);
	if (!same(c, "free_range", uvmp_service_free_range(c->engine, r->space, r->base, NULL),
	          naive_service_free_range(c->model, r->space, r->base)))
		return;
	r->exists = false; /* if it could be queued; if not it is forgotten, and addresses stay taken */
}

/* Beyond both ends of a range at times, where there is another or none. What is known of the range is where
 * it can lie: if its base goes it is freed by the address at which it begins then. */
static void do_free_part(struct service_case *c)
{
	struct known_range *r = &c->range[draw(c, RANGES)];
	uint32_t page = c->params.page_bytes, pages = (uint32_t)(r->bytes / page), first, count;
	uvmp_addr base;
	uint64_t bytes;

	if (!r->exists)
		return;
	first = draw(c, 3) == 0 ? 0 : draw(c, pages);
	count = draw(c, 2) == 0 ? 1u + draw(c, 16) : 1u + draw(c, pages);
	if (first + count > pages && draw(c, 4) != 0)
		count = pages - first;
	base = r->base + (uint64_t)first * page;
	bytes = (uint64_t)count * page;
	tell(c, SERVICE_CASE_FREE_PART, "space=%" PRIu64 " 0x%" PRIx64 "+0x%" PRIx64, r->space, base, bytes);
	if (!same(c, "free_part", uvmp_service_free_part(c->engine, r->space, base, bytes, NULL),
	          naive_service_free_part(c->model, r->space, base, bytes)) ||
	    first != 0)
		return;
	if (count >= pages) {
		r->exists = false;
		return;
	}
	r->base += bytes;
	r->bytes -= bytes;
}

static void do_bind(struct service_case *c)
{
	struct known_channel *known = &c->channel[draw(c, CHANNELS)];
	struct known_channel made = {.exists = true,
	                             .gpu = 1 + draw(c, c->processors.count - 1),
	                             .aperture = draw(c, 2) == 0 ? 11 : 9,
	                             .subcontext = draw(c, 2),
	                             .instance = 0x1000 * (1 + draw(c, 2)),
	                             .space = 1 + draw(c, SPACES)};
	enum uvmp_status status;

	if (known->exists)
		return;
	tell(c, SERVICE_CASE_BIND, "gpu=%u %u/0x%" PRIx64 "/%u space=%" PRIu64, made.gpu, made.aperture,
	     made.instance, made.subcontext, made.space);
	status = uvmp_service_bind(c->engine, made.gpu, made.aperture, made.instance, made.subcontext,
	                           made.space);
	if (same(c, "bind", status,
	         naive_service_bind(c->model, made.gpu, made.aperture, made.instance, made.subcontext,
	                            made.space)) &&
	    status == UVMP_OK)
		*known = made;
}

static void do_unbind(struct service_case *c)
{
	struct known_channel *k = &c->channel[draw(c, CHANNELS)];

	tell(c, SERVICE_CASE_UNBIND, "gpu=%u %u/0x%" PRIx64 "/%u", k->gpu, k->aperture, k->instance,
	     k->subcontext);
	if (!k->exists)
		return;
	same(c, "unbind", uvmp_service_unbind(c->engine, k->gpu, k->aperture, k->instance, k->subcontext),
	     naive_service_unbind(c->model, k->gpu, k->aperture, k->instance, k->subcontext));
	k->exists = false;
}

static void do_fault(struct service_case *c)
{
	static const uint8_t accesses[] = {0, 1, 1, 1, 2, 2, 2, 3, 4, 4};
	static const uint8_t reads[] = {0, 1, 1, 1, 1, 1, 1, 1, 2, 4};
	struct known_channel *k = &c->channel[draw(c, CHANNELS)];
	struct uvmp_fault f;
	uint64_t space;
	enum uvmp_status status;

	memset(&f, 0, sizeof(f));
	f.address = draw_address(c, &space);
	for (uint32_t i = 0; i < CHANNELS && draw(c, 60) != 0; i++)
		if (c->channel[i].exists && c->channel[i].space == space && draw(c, 3) != 0)
			k = &c->channel[i];
	if (k->gpu == 0)
		return;
	f.aperture = k->aperture;
	f.instance = k->instance;
	f.subcontext = k->subcontext;
	f.utlb = draw(c, 4);
	f.type = (uint8_t)(draw(c, 400) == 0 ? 5 + draw(c, 3) : draw(c, 5));
	f.access = (c->profile == DUPLICATE ? reads : accesses)[draw(c, 10)];
	tell(c, SERVICE_CASE_FAULT,
	     "gpu=%u channel=%u/0x%" PRIx64 "/%u space=%" PRIu64 " 0x%" PRIx64 " access=%u type=%u utlb=%u",
	     k->gpu, f.aperture, f.instance, f.subcontext, k->space, f.address, f.access, f.type, f.utlb);
	status = uvmp_service_fault(c->engine, k->gpu, &f);
	if (same(c, "fault", status, naive_service_fault(c->model, k->gpu, &f)) && status == UVMP_OK) {
		c->last_fault[k->gpu] = c->sequence;
		c->accepted[k->gpu]++;
	}
}

static void do_cpu_fault(struct service_case *c)
{
	uint64_t space, thread = draw(c, 2);
	uvmp_addr address = draw_address(c, &space);
	enum uvmp_access access =
	        draw(c, c->profile == DUPLICATE ? 6 : 2) != 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;

	tell(c, SERVICE_CASE_CPU_FAULT, "space=%" PRIu64 " 0x%" PRIx64 " access=%d thread=%" PRIu64, space,
	     address, (int)access, thread);
	same(c, "cpu_fault", uvmp_service_cpu_fault(c->engine, space, address, access, thread, NULL),
	     naive_service_cpu_fault(c->model, space, address, access, thread));
}

/* Is the range still as it was made? */
static bool is_fresh(struct service_case *c, const struct known_range *r)
{
	(void)c;
	return !r->is_touched;
}

static void do_advise(struct service_case *c)
{
	static const enum uvmp_advice advices[] = {
	        UVMP_ADVISE_PREFERRED,       UVMP_ADVISE_PREFERRED,       UVMP_ADVISE_ACCESSED_BY,
	        UVMP_ADVISE_ACCESSED_BY,     UVMP_ADVISE_READ_DUPLICATE,  UVMP_ADVISE_NO_DUPLICATE,
	        UVMP_ADVISE_UNSET_DUPLICATE, UVMP_ADVISE_NOT_ACCESSED_BY, UVMP_ADVISE_DISCARD};
	const struct known_range *r = &c->range[draw(c, RANGES)];
	enum uvmp_advice advice = advices[draw(c, 9)];
	uint32_t processor = draw(c, c->processors.count);
	uvmp_addr base = r->base;
	uint64_t bytes = r->bytes;

	if (!r->exists ||
	    (c->level == SERVICE_CASE_SIMPLE && (!is_fresh(c, r) || advice == UVMP_ADVISE_DISCARD)))
		return;
	if (c->level > SERVICE_CASE_SIMPLE && draw(c, 3) != 0) {
		uint64_t page = c->params.page_bytes, pages = r->bytes / page,
		         first = draw(c, (uint32_t)pages);

		base += first * page;
		bytes = (1 + draw(c, (uint32_t)(pages - first))) * page;
	}
	if (advice == UVMP_ADVISE_PREFERRED && draw(c, 4) == 0)
		processor = UVMP_PROC_NONE;
	advise(c, r->space, base, bytes, advice, processor);
}

static void do_migrate(struct service_case *c)
{
	const struct known_range *r = &c->range[draw(c, RANGES)];
	uint32_t processor = draw(c, c->processors.count);
	uint64_t page = c->params.page_bytes, pages = r->bytes / page, first;

	if (!r->exists || c->level == SERVICE_CASE_SIMPLE)
		return;
	first = draw(c, (uint32_t)pages);
	pages = 1 + draw(c, (uint32_t)(pages - first));
	tell(c, SERVICE_CASE_MIGRATE, "space=%" PRIu64 " 0x%" PRIx64 "+0x%" PRIx64 " processor=%u", r->space,
	     r->base + first * page, pages * page, processor);
	same(c, "migrate",
	     uvmp_service_migrate(c->engine, r->space, r->base + first * page, pages * page, processor, NULL),
	     naive_service_migrate(c->model, r->space, r->base + first * page, pages * page, processor));
}

static void withdraw(struct service_case *c, const struct known_victim *v)
{
	enum uvmp_status status;
	uint64_t ticket = 0;

	tell(c, SERVICE_CASE_WITHDRAW, "gpu=%u space=%" PRIu64 " 0x%" PRIx64 "+0x%" PRIx64, v->gpu, v->space, v->base,
	     v->bytes);
	status = uvmp_service_withdraw(c->engine, v->space, v->base, v->bytes, v->gpu, &ticket);
	same(c, "withdraw", status, naive_service_withdraw(c->model, v->space, v->base, v->bytes, v->gpu));
	if (status == UVMP_OK)
		c->withdrawal[c->stats->withdrawn++ % VICTIMS] = ticket;
}

/* A part that need not be a victim, of any processor. */
static void do_withdraw_part(struct service_case *c)
{
	const struct known_range *r = &c->range[draw(c, RANGES)];
	uint64_t page = c->params.page_bytes, first, pages;
	struct known_victim v = {.space = r->space, .gpu = draw(c, c->processors.count)};

	if (!r->exists)
		return;
	first = draw(c, (uint32_t)(r->bytes / page));
	pages = 1 + draw(c, draw(c, 2) == 0 ? 16 : 1 + (uint32_t)(r->bytes / page - first));
	v.base = r->base + first * page;
	v.bytes = pages * page;
	withdraw(c, &v);
}

/* Some of the latest victims, whole or in part, perhaps one twice. */
static void do_withdraw(struct service_case *c)
{
	uint32_t known = c->victims < VICTIMS ? c->victims : VICTIMS;

	if (known == 0 || draw(c, 16) == 0) {
		do_withdraw_part(c);
		return;
	}
	for (uint32_t i = draw(c, 3) == 0 ? 3 : 1; i > 0; i--) {
		struct known_victim v = c->victim[(c->victims - 1u - draw(c, known)) % VICTIMS];
		uint64_t pages = v.bytes / c->params.page_bytes;

		if (draw(c, 8) == 0)
			v.bytes = (1 + draw(c, (uint32_t)pages)) * (uint64_t)c->params.page_bytes;
		withdraw(c, &v);
	}
}

/* An access or a copy lasts until some time, which may have passed. */
static void do_hold(struct service_case *c)
{
	uint64_t space, until_ns = c->now + draw(c, draw(c, 3) == 0 ? 100 : 50000);
	uvmp_addr address = draw_address(c, &space);
	uint32_t gpu = 1 + draw(c, c->processors.count - 1);

	if (draw(c, 10) == 0)
		until_ns = draw(c, 2) == 0 ? UINT64_MAX : 0;
	tell(c, SERVICE_CASE_HOLD, "gpu=%u space=%" PRIu64 " 0x%" PRIx64 " until=%" PRIu64, gpu, space, address, until_ns);
	if (uvmp_service_hold(c->engine, gpu, space, address, until_ns) != UVMP_OK)
		fail(c, "hold");
	naive_service_hold(c->model, gpu, space, address, until_ns);
}

static void do_touch(struct service_case *c)
{
	uint64_t space;
	uvmp_addr address = draw_address(c, &space);
	uint32_t p = draw(c, c->processors.count);

	tell(c, SERVICE_CASE_TOUCH, "p=%u space=%" PRIu64 " 0x%" PRIx64, p, space, address);
	(void)uvmp_service_touch(c->engine, p, space, address);
	naive_service_touch(c->model, p, space, address);
}

/* A page of one of the latest copies has arrived, or any page, which may be elsewhere by now. */
static void do_arrive(struct service_case *c)
{
	uint32_t known = c->arrivings < VICTIMS ? c->arrivings : VICTIMS, gpu = draw(c, c->processors.count);
	uint64_t space;
	uvmp_addr address;

	if (known == 0 || draw(c, 8) == 0) {
		address = draw_address(c, &space);
	} else {
		const struct known_victim *v = &c->arriving[draw(c, known)];

		gpu = v->gpu;
		space = v->space;
		address = v->base + draw(c, (uint32_t)(v->bytes / c->params.page_bytes)) * (uint64_t)c->params.page_bytes;
	}
	tell(c, SERVICE_CASE_ARRIVE, "gpu=%u space=%" PRIu64 " 0x%" PRIx64, gpu, space, address);
	if (uvmp_service_access(c->engine, gpu, space, address, UVMP_ACCESS_NONE) != UVMP_OK)
		fail(c, "arrive");
	naive_service_arrive(c->model, gpu, space, address);
}

static void do_note(struct service_case *c)
{
	struct known_channel *k = &c->channel[draw(c, CHANNELS)];
	struct uvmp_note note;
	uint64_t space;

	memset(&note, 0, sizeof(note));
	note.address = draw_address(c, &space);
	for (uint32_t i = 0; i < CHANNELS && draw(c, 60) != 0; i++)
		if (c->channel[i].exists && c->channel[i].space == space && draw(c, 3) != 0)
			k = &c->channel[i];
	if (k->gpu == 0)
		return;
	note.aperture = k->aperture;
	note.instance = k->instance;
	note.subcontext = k->subcontext;
	note.sub_granularity = draw(c, 3) == 0 ? UINT32_MAX : (uint32_t)1 << draw(c, 32) | draw(c, 1u << 30);
	note.bank = draw(c, 4);
	note.tag = draw(c, 100);
	tell(c, SERVICE_CASE_NOTE, "gpu=%u channel=%u/0x%" PRIx64 "/%u space=%" PRIu64 " 0x%" PRIx64 " %#x",
	     k->gpu, note.aperture, note.instance, note.subcontext, k->space, note.address,
	     note.sub_granularity);
	same(c, "note", uvmp_service_note(c->engine, k->gpu, &note),
	     naive_service_note(c->model, k->gpu, &note));
}

/* What a host must not do changes nothing. */
static void do_bad(struct service_case *c)
{
	struct uvmp_fault fault;
	uint32_t k = draw(c, 11), none = c->processors.count + draw(c, 100);
	const struct known_range *r = &c->range[draw(c, RANGES)];
	enum uvmp_status status = UVMP_OK;

	memset(&fault, 0, sizeof(fault));
	fault.aperture = draw(c, 12);
	fault.access = (uint8_t)(k == 1 ? 5 + draw(c, 250) : 1);
	fault.utlb = k == 2 ? 4 + draw(c, 5000) : 0;
	tell(c, SERVICE_CASE_BAD, "%u", k);
	if (k < 3)
		status = uvmp_service_fault(c->engine, k == 0 ? none : 1, &fault);
	if (k == 3)
		status = uvmp_service_complete(c->engine, draw(c, 3) == 0 ? 0 : UINT64_MAX - draw(c, 9),
		                               UVMP_OK);
	if (k == 4)
		status = uvmp_service_migrate(c->engine, r->space, r->base, r->bytes, none, NULL);
	if (k == 5)
		status = uvmp_service_advise(c->engine, r->space, r->base + 1, 4096, UVMP_ADVISE_DISCARD, 0,
		                             NULL);
	if (k == 6)
		status = uvmp_service_add_range(c->engine, 1, UINT64_MAX - 4095, 8192, UVMP_RIGHT_READ,
		                                UVMP_PROC_NONE);
	if (k == 7)
		status = uvmp_service_unbind(c->engine, 1, 11, 0x777000, 0);
	if (k == 8)
		status = uvmp_service_withdraw(c->engine, r->space, r->base, r->bytes, none, NULL);
	if (k == 9)
		status = uvmp_service_withdraw(c->engine, r->space, r->base + 1, c->params.page_bytes, 1, NULL);
	if (k == 10)
		status = uvmp_service_hold(c->engine, draw(c, 2) == 0 ? UVMP_CPU : none, r->space, r->base, c->now);
	if (status == UVMP_OK)
		fail(c, "bad call %u was taken", k);
}

/* Nanoseconds, microseconds, seldom milliseconds. */
static void do_time(struct service_case *c)
{
	static const uint32_t spans[] = {100, 10000, 100000, 600000, 3000000, 2000000000};
	uint32_t k = draw(c, c->profile == BOUNCE && draw(c, 8) != 0 ? 40 : 50);

	c->now += draw(c, spans[k < 20 ? 0 : k < 30 ? 1 : k < 40 ? 2 : k < 46 ? 3 : k < 49 ? 4 : 5]);
	naive_service_set_time(c->model, c->now);
	tell(c, SERVICE_CASE_TIME, "%s", "");
}

static void check(struct service_case *c, uint64_t space, uvmp_addr address)
{
	struct uvmp_page_state e = {.size = sizeof(e)}, m;
	enum uvmp_status status = uvmp_service_page(c->engine, space, address, &e);

	if (!same(c, "page", status, naive_service_page(c->model, space, address, &m)) || status != UVMP_OK)
		return;
	if (e.resident == 0 && e.read != 0)
		fail(c, "0x%" PRIx64 " is mapped and nowhere", address);
	if ((e.resident & (e.resident - 1)) != 0 && !e.is_duplicated)
		fail(c, "0x%" PRIx64 " has two homes", address);
	if (e.is_duplicated && e.write != 0)
		fail(c, "0x%" PRIx64 " is duplicated and written", address);
	if ((e.write & ~e.read) != 0 || (e.atomic & ~e.write) != 0)
		fail(c, "0x%" PRIx64 " is written where it cannot be read", address);
	if (c->nested > 0)
		return;
	if (e.resident != m.resident || e.read != m.read || e.write != m.write || e.atomic != m.atomic ||
	    e.is_duplicated != m.is_duplicated || e.is_discarded != m.is_discarded ||
	    e.is_pinned != m.is_pinned || e.is_thrashing != m.is_thrashing)
		fail(c,
		     "page 0x%" PRIx64 " of space %" PRIu64
		     ": engine resident %#x read %#x write %#x atomic %#x %d%d%d%d, model %#x %#x %#x %#x "
		     "%d%d%d%d",
		     address, space, (unsigned)e.resident, (unsigned)e.read, (unsigned)e.write,
		     (unsigned)e.atomic, e.is_duplicated, e.is_discarded, e.is_pinned, e.is_thrashing,
		     (unsigned)m.resident, (unsigned)m.read, (unsigned)m.write, (unsigned)m.atomic,
		     m.is_duplicated, m.is_discarded, m.is_pinned, m.is_thrashing);
}

static void check_some(struct service_case *c)
{
	uint64_t space;
	uvmp_addr address = draw_address(c, &space);

	if (!uvmp_service_check(c->engine))
		fail(c, "uvmp_service_check");
	check(c, space, address);
}

/* Weights in 1000. */
static void do_event(struct service_case *c)
{
	uint32_t k = draw(c, 1000);

	if (c->profile == WITHDRAW && draw(c, 6) == 0)
		(draw(c, 2) == 0 ? do_withdraw : do_hold)(c);
	else if (c->has_arrivals && draw(c, 6) == 0)
		do_arrive(c);
	else if (k < 620 && c->profile == COUNTERS && draw(c, 4) == 0)
		do_note(c);
	else if (k < 620)
		do_fault(c);
	else if (k < 735)
		do_cpu_fault(c);
	else if (k < 850)
		do_time(c);
	else if (k < 880)
		do_add_range(c);
	else if (k < 890)
		do_free_range(c);
	else if (k < 898)
		do_free_part(c);
	else if (k < 912)
		do_bind(c);
	else if (k < 915)
		do_unbind(c);
	else if (k < 945)
		do_advise(c);
	else if (k < 961)
		do_migrate(c);
	else if (k < 963)
		do_withdraw(c);
	else if (k < 965)
		do_hold(c);
	else if (k < 980)
		do_touch(c);
	else if (k < 990)
		do_note(c);
	else
		do_bad(c);
	check_some(c);
}

/* -- groups ---------------------------------------------------------------------------------- */

static bool is_same_action(const struct uvmp_action *a, const struct uvmp_action *b)
{
	return a->id == b->id && a->after == b->after && a->time_ns == b->time_ns && a->kind == b->kind &&
	       a->cause == b->cause && a->from == b->from && a->to == b->to && a->right == b->right &&
	       a->is_update == b->is_update && a->victim == b->victim && a->status == b->status &&
	       a->batch == b->batch && a->count == b->count && a->detail == b->detail &&
	       a->ticket == b->ticket && a->offset == b->offset && a->until_ns == b->until_ns &&
	       a->space == b->space && a->address == b->address && a->for_address == b->for_address &&
	       a->page_bytes == b->page_bytes && a->faulted == b->faulted && a->present == b->present &&
	       a->throttles == b->throttles &&
	       memcmp(&a->cuts, &b->cuts, sizeof(a->cuts)) == 0 &&
	       memcmp(&a->subtrees, &b->subtrees, sizeof(a->subtrees)) == 0 &&
	       memcmp(&a->pages, &b->pages, sizeof(a->pages)) == 0;
}

static void differ(struct service_case *c, const struct uvmp_action *engine, const struct uvmp_action *model)
{
	char e[UVMP_ACTION_TEXT_MAX] = "nothing", m[UVMP_ACTION_TEXT_MAX] = "nothing";

	if (engine != NULL && uvmp_action_print(engine, e, sizeof(e)) != UVMP_OK)
		snprintf(e, sizeof(e), "unprintable kind %u", engine->kind);
	if (model != NULL && uvmp_action_print(model, m, sizeof(m)) != UVMP_OK)
		snprintf(m, sizeof(m), "unprintable kind %u", model->kind);
	fail(c, "actions differ\nengine: %s\nmodel:  %s", e, m);
}

/* -- what a host would see ------------------------------------------------------------------- */

/* Frames of a page-wise order: a frame may have been of another block, which has left it without a word, and it may lie
 * beyond the memory, as only resident pages count. FREE names the block that has the frame. */
static void set_unit_frames(struct service_case *c, uint32_t gpu, const struct uvmp_action *a, bool is_taken)
{
	uint64_t first = a->offset / 4096, count = a->detail / 4096;

	for (uint64_t i = first; i < first + count && !c->has_failed; i++) {
		struct frame *f = &c->frame[gpu][i % FRAMES];

		if (first + count > FRAMES || (!is_taken && (f->block != a->address || f->space != a->space)))
			fail(c, "action %" PRIu64 ": frame %" PRIu64 " of GPU %u is of block 0x%" PRIx64,
			     a->id, i, gpu, f->block);
		*f = is_taken ? (struct frame){a->space, a->address} : (struct frame){0, 0};
	}
}

/* Memory: a chunk is given only where nothing is. */
static void set_frames(struct service_case *c, uint32_t gpu, const struct uvmp_action *a, bool is_taken)
{
	uint64_t first = a->offset / 4096, count = a->detail / 4096;

	if (c->policy.evict != UVMP_EVICT_LRU) {
		set_unit_frames(c, gpu, a, is_taken);
		return;
	}
	for (uint64_t i = first; i < first + count && !c->has_failed; i++) {
		struct frame *f = &c->frame[gpu][i];

		if ((i + 1) * 4096 > c->gpu[gpu - 1].memory_bytes || (f->block == 0) != is_taken ||
		    (!is_taken && (f->block != a->address || f->space != a->space)))
			fail(c, "action %" PRIu64 ": frame %" PRIu64 " of GPU %u is of block 0x%" PRIx64,
			     a->id, i, gpu, f->block);
		*f = is_taken ? (struct frame){a->space, a->address} : (struct frame){0, 0};
	}
}

/* All that the block had in the root has left. */
static void clear_root(struct service_case *c, const struct uvmp_action *evict)
{
	uint32_t left = evict->detail / 4096;

	for (uint64_t i = 0; i < 512; i++) {
		struct frame *f = &c->frame[evict->from][evict->offset / 4096 + i];

		if (f->block != evict->address || f->space != evict->space)
			continue;
		left--;
		*f = (struct frame){0, 0};
	}
	if (left != 0)
		fail(c, "action %" PRIu64 ": the block had another part of the root", evict->id);
}

/* The runs of a copy of an eviction are victims that a host can withdraw. Those of a copy to a GPU arrive. */
static void remember_runs(const struct uvmp_action *copy, uint32_t gpu, struct known_victim known[VICTIMS], uint32_t *count)
{
	for (struct uvmp_region t = uvmp_action_next_transfer(copy, 0); t.end != 0;
	     t = uvmp_action_next_transfer(copy, t.end))
		known[(*count)++ % VICTIMS] =
		        (struct known_victim){.space = copy->space,
		                              .gpu = gpu,
		                              .base = copy->address + (uint64_t)t.first * copy->page_bytes,
		                              .bytes = (uint64_t)(t.end - t.first) * copy->page_bytes};
}

/* Has a withdrawal ended? */
static void count_withdrawal(struct service_case *c, const struct uvmp_action *done)
{
	for (uint32_t i = 0; i < VICTIMS; i++)
		if (done->ticket != 0 && c->withdrawal[i] == done->ticket) {
			c->stats->returned += done->status == UVMP_OK;
			c->stats->refused += done->status == UVMP_ERR_NO_MEMORY;
		}
}

/* A group has been completed. */
static void account(struct service_case *c, const struct uvmp_action *action, uint32_t count,
                    const enum uvmp_status *status)
{
	bool has_stayed = false;

	for (uint32_t i = 0; i < count; i++)
		has_stayed = has_stayed || (action[i].kind == UVMP_ACTION_COPY && status[i] != UVMP_OK &&
		                            action[i].cause == UVMP_CAUSE_EVICTION);
	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_action *a = &action[i];

		if (a->kind == UVMP_ACTION_ALLOCATE && status[i] == UVMP_OK)
			set_frames(c, a->to, a, true);
		if (a->kind == UVMP_ACTION_COPY && a->cause == UVMP_CAUSE_EVICTION && status[i] == UVMP_OK)
			remember_runs(a, a->from, c->victim, &c->victims);
		if ((a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE) && a->to != UVMP_CPU)
			remember_runs(a, a->to, c->arriving, &c->arrivings);
		if (a->kind == UVMP_ACTION_DONE)
			count_withdrawal(c, a);
		if (a->kind == UVMP_ACTION_FREE)
			set_frames(c, a->from, a, false);
		if (a->kind == UVMP_ACTION_EVICT && !has_stayed && c->policy.evict == UVMP_EVICT_LRU)
			clear_root(c, a);
		if (a->kind == UVMP_ACTION_BATCH && a->cause == UVMP_CAUSE_NONE) {
			c->fetched[a->to] += a->count;
			c->batched[a->to] = ++c->sequence;
		}
		if (a->kind == UVMP_ACTION_FLUSH)
			c->flushed[a->to] += a->count;
		if (a->kind == UVMP_ACTION_REPLAY)
			c->replayed[a->to] = ++c->sequence;
	}
}

/* A bottom half ends: batches, and for each a second one to cancel precisely; others were flushed as a whole.
 * And it continues for a reason: a fault, a batch, an eviction. */
static void bound(struct service_case *c, const struct uvmp_action *action, uint32_t count)
{
	uint64_t most;

	if (count > UVMP_SERVICE_PENDING_MAX)
		fail(c, "a group of %u", count);
	c->groups++;
	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_action *a = &action[i];

		c->evictions += a->kind == UVMP_ACTION_EVICT;
		c->flushes += a->kind == UVMP_ACTION_FLUSH;
		if (a->kind == UVMP_ACTION_BATCH && a->cause == UVMP_CAUSE_NONE) {
			c->batches++;
			c->faults += a->count;
		}
		if (a->kind == UVMP_ACTION_UNPIN || a->cause == UVMP_CAUSE_COUNTER)
			c->groups = 0; /* these end with no DONE */
		if (a->kind != UVMP_ACTION_DONE)
			continue;
		c->stats->groups_most = c->groups > c->stats->groups_most ? c->groups : c->stats->groups_most;
		if (a->ticket != 0 || a->cause == UVMP_CAUSE_COUNTER) {
			c->groups = 0; /* requests interrupt bottom halves */
			continue;
		}
		c->stats->batches += c->batches;
		c->stats->faults += c->faults;
		c->stats->batches_evicting += c->evictions != 0 ? c->batches : 0;
		most = 2 * c->policy.replay.max_batches + c->flushes;
		if (c->batches > most || c->groups > 8 + 16 * c->batches + 10 * c->faults + 3 * c->evictions)
			fail(c, "%" PRIu64 " batches, %" PRIu64 " groups in a bottom half", c->batches,
			     c->groups);
		c->batches = c->flushes = c->groups = c->evictions = c->faults = 0;
	}
}

static void take_actions(struct service_case *c, const struct uvmp_action *action, uint32_t count)
{
	const struct uvmp_action *engine = NULL;

	for (uint32_t i = 0; i <= count && !c->has_failed; i++) {
		enum uvmp_status status = uvmp_service_next(c->engine, c->now, &engine);

		if (status == UVMP_OK && c->trace != NULL) {
			char text[UVMP_ACTION_TEXT_MAX] = "unprintable";

			(void)uvmp_action_print(engine, text, sizeof(text));
			fprintf(c->trace, "%s\n", text);
		}
		if (i == count ? status != UVMP_ERR_RETRY : status != UVMP_OK)
			differ(c, status == UVMP_OK ? engine : NULL, i == count ? NULL : &action[i]);
		else if (i < count && !is_same_action(engine, &action[i]))
			differ(c, engine, &action[i]);
		if (i < count && status == UVMP_OK) {
			c->stats->actions++;
			c->stats->action[engine->kind][engine->cause]++;
			if (engine->kind == UVMP_ACTION_REPLAY)
				c->last_replay[engine->to] = ++c->sequence;
		}
	}
	if (!c->has_failed && uvmp_service_pending(c->engine) != count)
		fail(c, "pending");
}

static enum uvmp_status draw_status(struct service_case *c, const struct uvmp_action *action)
{
	bool can_fail = action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE ||
	                action->kind == UVMP_ACTION_ALLOCATE;

	if (c->level < SERVICE_CASE_FAILURES || !can_fail || draw(c, 40) != 0)
		return UVMP_OK;
	c->stats->failed++;
	return draw(c, 2) == 0 ? UVMP_ERR_NO_MEMORY : UVMP_ERR_UNSUPPORTED;
}

/* Some of the pages of a copy that failed have moved all the same. NULL: none. */
static const uvmp_mask *draw_moved(struct service_case *c, const struct uvmp_action *action, uvmp_mask *moved)
{
	bool is_copy = action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE;

	if (!is_copy || draw(c, 2) == 0)
		return NULL;
	for (uint32_t i = draw(c, 8); i < UVMP_MASK_BITS; i += 1 + draw(c, 3))
		uvmp_mask_set(moved, i);
	return moved;
}

static void complete(struct service_case *c, const struct uvmp_action *action, uint32_t count,
                     enum uvmp_status *status, uvmp_mask *moved)
{
	uint32_t *left = malloc(count * sizeof(*left));

	for (uint32_t i = 0; i < count; i++)
		left[i] = i;
	for (uint32_t n = count; n > 0 && !c->has_failed; n--) {
		uint32_t k = draw(c, n), i = left[k];

		left[k] = left[n - 1];
		status[i] = draw_status(c, &action[i]);
		if (status[i] != UVMP_OK && c->trace != NULL)
			fprintf(c->trace, "# %" PRIu64 " fails with %d\n", action[i].id, (int)status[i]);
		if (uvmp_service_complete_pages(c->engine, action[i].id, status[i],
		                                status[i] == UVMP_OK ? NULL
		                                                     : draw_moved(c, &action[i], &moved[i])) !=
		    UVMP_OK)
			fail(c, "complete");
		if (draw(c, c->flight) == 0 && c->stats->events < c->limit)
			do_event(c);
	}
	account(c, action, count, status);
	free(left);
}

static void perform(void *host, const struct uvmp_action *action, uint32_t count, enum uvmp_status *status,
                    uvmp_mask *moved)
{
	struct service_case *c = host;

	if (c->has_failed)
		return;
	c->nested++;
	bound(c, action, count);
	take_actions(c, action, count);
	complete(c, action, count, status, moved);
	c->now += draw(c, 4) == 0 ? draw(c, 20000) : draw(c, 100);
	naive_service_set_time(c->model, c->now);
	c->nested--;
}

/* -- the whole ------------------------------------------------------------------------------- */

/* What the host was told is backed is what blocks own. */
static void check_frames(struct service_case *c, uint32_t gpu, uint64_t owned_pages)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < c->gpu[gpu - 1].memory_bytes / 4096; i++)
		taken += c->frame[gpu][i].block != 0;
	if (taken * 4096 != owned_pages * c->params.page_bytes)
		fail(c, "GPU %u: %" PRIu64 " frames are taken, blocks own %" PRIu64 " pages", gpu, taken,
		     owned_pages);
}

static void check_rest(struct service_case *c)
{
	uint64_t wakeup = uvmp_service_wakeup_ns(c->engine), due = naive_service_due_ns(c->model);
	uint64_t owned = 0, resident = 0;
	bool is_thorough = draw(c, 4) == 0;

	if (uvmp_service_pending(c->engine) != 0)
		fail(c, "pending");
	if (wakeup > due || (due != UINT64_MAX && due - wakeup >= 1000u)) /* whole microseconds [driver: pin-and-reset] */
		fail(c, "wakeup: engine %" PRIu64 ", due %" PRIu64, wakeup, due);
	for (uint32_t g = 1; g < c->processors.count; g++) {
		struct uvmp_service_counts e = {.size = sizeof(e)}, m;

		if (is_thorough) {
			naive_service_used(c->model, g, &owned, &resident);
			if (c->policy.evict == UVMP_EVICT_LRU)
				check_frames(c, g, owned);
		}
		if (owned * c->params.page_bytes > c->gpu[g - 1].memory_bytes || resident > owned)
			fail(c, "capacity");
		if (c->last_fault[g] > c->last_replay[g] || c->batched[g] > c->replayed[g] ||
		    c->accepted[g] != c->fetched[g] + c->flushed[g] + naive_service_waiting(c->model, g))
			fail(c, "a fault of GPU %u is lost", g);
		(void)uvmp_service_count(c->engine, g, &e);
		naive_service_count(c->model, g, &m);
		if (e.bottom_halves != m.bottom_halves || e.batches != m.batches || e.faults != m.faults ||
		    e.coalesced != m.coalesced || e.duplicates != m.duplicates ||
		    e.invalid_prefetches != m.invalid_prefetches || e.cancelled != m.cancelled)
			fail(c,
			     "counts of GPU %u: engine %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			     " %" PRIu64 " %" PRIu64 " %" PRIu64 ", model %" PRIu64 " %" PRIu64 " %" PRIu64
			     " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
			     g, e.bottom_halves, e.batches, e.faults, e.coalesced, e.duplicates,
			     e.invalid_prefetches, e.cancelled, m.bottom_halves, m.batches, m.faults,
			     m.coalesced, m.duplicates, m.invalid_prefetches, m.cancelled);
	}
	for (uint32_t i = 0; i < RANGES && is_thorough; i++) {
		const struct known_range *r = &c->range[i];

		for (uint64_t at = draw(c, 20) * (uint64_t)c->params.page_bytes; r->exists && at < r->bytes;
		     at += c->params.page_bytes * 23u)
			check(c, r->space, r->base + at);
	}
}

static void work(struct service_case *c)
{
	const struct uvmp_action *action;

	naive_service_run(c->model);
	if (!c->has_failed && uvmp_service_next(c->engine, c->now, &action) == UVMP_OK)
		differ(c, action, NULL);
	for (uint32_t i = 0; i < RANGES; i++)
		c->range[i].is_touched = true;
	if (!c->has_failed)
		check_rest(c);
}

bool service_case_run(uint64_t seed, uint64_t events, enum service_case_level level,
                      struct service_case_stats *stats, FILE *trace, char *error, size_t capacity)
{
	struct service_case *c = calloc(1, sizeof(*c));
	bool has_failed;

	c->random = seed;
	c->level = level;
	c->stats = stats;
	c->trace = trace;
	c->error = error;
	c->capacity = capacity;
	c->limit = stats->events + events;
	c->now = 1000000;
	if (start(c)) {
		c->model = naive_service_new(&c->params, perform, c);
		naive_service_set_time(c->model, c->now);
		for (uint32_t i = 0; i < 16; i++)
			(i % 2 != 0 ? do_bind : do_add_range)(c);
		while (stats->events < c->limit && !c->has_failed) {
			do_event(c);
			if (draw(c, c->pace) == 0 && !c->has_failed)
				work(c);
		}
		if (!c->has_failed)
			work(c);
		naive_service_free(c->model);
	}
	has_failed = c->has_failed;
	free(c->memory);
	free(c);
	return !has_failed;
}
