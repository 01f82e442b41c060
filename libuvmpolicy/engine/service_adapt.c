/* Feedback: what a run does to the parameters of the next decisions. The controllers are those of adapt.h;
 * here is what they hear, when they are asked, and where their answers go.
 *
 *   heard of                                  by                         answer goes to
 *   faults, refaults, evicted pages           threshold  (adapt=pressure)   the GPU's density threshold
 *   faults of a block, evictions              early      (adapt=early)      the threshold of this decision
 *   how long units of memory stay             threads    (threads=on)       UVMP_ACTION_LIMIT
 *   faults, refaults, evicted pages           throttle   (sm_throttle=on)   UVMP_ACTION_LIMIT
 *   pages touched until they were evicted     prefetch=pattern              its state
 *
 * A GPU's controllers look when a batch begins, and where time alone can change their answer also when it is
 * due. That is so only for a while after the last fault: threads grows to its most, throttle releases SM
 * after SM. An engine without work so asks for no wake-up in the end.
 *
 * What is known of a block stands in its history, which is made at the first need. Where the arena has no
 * room for it the block counts as one without past.
 *
 * Assumed where the sources say nothing: a refault is a fault of a GPU on a page that any GPU lost by
 * eviction, ever; early's state is the engine's, not the GPU's; lifetimes are those of units of memory (a
 * root, or what the order evicts as one), from the first page in it until it is evicted, and count nothing if
 * the pages leave otherwise; the clock of threads starts with the first batch. A threshold of 0 in the policy
 * counts as 1 here.
 */
#include "../base/bits_internal.h"
#include "memory_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define NS_PER_US 1000u

/* -- setting up -- */

uint64_t uvmpi_adapt_units(const struct uvmp_service_params *params, uint32_t gpu)
{
	if (!params->policy->threads || params->gpu[gpu - 1u].sms == 0)
		return 0;
	return uvmpi_memory_units(params, gpu);
}

static void init_thresholds(struct adapt *adapt, const struct uvmp_policy *policy)
{
	uint32_t base = policy->prefetch.threshold != 0 ? policy->prefetch.threshold : 1u;

	uvmp_threshold_params_init(&adapt->threshold);
	adapt->threshold.base = base;
	adapt->threshold.aggressive = policy->pressure_low;
	adapt->threshold.step = policy->pressure_step;
	adapt->threshold.window = policy->pressure_window;
	adapt->threshold.is_off_when_full = policy->pressure_off;
	uvmp_early_params_init(&adapt->early_params);
	adapt->early_params.base = base;
	adapt->early_params.aggressive = policy->early_low;
	adapt->early_params.cautious = policy->early_high;
	adapt->early_params.epoch_ns = (uint64_t)policy->early_epoch_us * NS_PER_US;
	uvmp_early_init(&adapt->early_params, 0, &adapt->early);
}

void uvmpi_adapt_init(struct uvmp_service *s, const struct uvmp_policy *policy)
{
	struct adapt *adapt = &s->adapt;
	struct uvmp_needs needs;

	init_thresholds(adapt, &s->policy);
	uvmp_threads_params_init(&adapt->threads);
	adapt->threads.period = (uint64_t)s->policy.threads_period_us * NS_PER_US;
	adapt->threads.drop_percent = s->policy.threads_drop;
	adapt->threads.max = s->policy.extra_blocks;
	(void)uvmp_policy_needs(policy, &needs); /* the policy is valid */
	adapt->has_touches = needs.histories;
	adapt->counts_refaults = s->policy.adapt == UVMP_ADAPT_PRESSURE;
	adapt->is_on = s->policy.adapt != UVMP_ADAPT_OFF || adapt->has_touches;
}

static void init_throttle(struct uvmp_service *s, struct controls *c, uint32_t sms)
{
	uint64_t epoch = (uint64_t)s->policy.sm_epoch_us * NS_PER_US;

	uvmp_throttle_params_init(&c->throttling);
	c->throttling.sms = sms;
	c->throttling.min_running = sms - sms / 2u; /* no source has more than half stand still */
	c->throttling.initial = epoch;
	c->throttling.detect = epoch / 5u;
	c->throttling.execute = epoch - epoch / 5u;
	uvmp_throttle_init(&c->throttle);
	s->adapt.counts_refaults = s->adapt.is_on = true;
}

void uvmpi_adapt_init_gpu(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
			  uint64_t *units)
{
	struct controls *c = &s->gpu[gpu].controls;
	uint32_t sms = params->gpu[gpu - 1u].sms;

	c->setting = (struct uvmp_prefetch_setting){.is_on = true, .threshold = s->adapt.threshold.base};
	uvmp_threshold_init(&s->adapt.threshold, &c->threshold);
	c->has_throttle = s->policy.sm_throttle && sms != 0;
	if (c->has_throttle)
		init_throttle(s, c, sms);
	c->has_threads = s->policy.threads && sms != 0;
	if (!c->has_threads)
		return;
	(void)uvmp_lifetime_init(&c->lifetime, units, uvmpi_adapt_units(params, gpu));
	uvmp_threads_init(&s->adapt.threads, 0, &c->threads);
	s->adapt.is_on = true;
}

/* -- looking -- */

static void look(struct uvmp_service *s, uint32_t gpu)
{
	uint64_t memory_bytes = s->gpu[gpu].capacity_pages * s->page_bytes;
	struct controls *c = &s->gpu[gpu].controls;

	if (s->policy.adapt == UVMP_ADAPT_PRESSURE)
		(void)uvmp_threshold_step(&s->adapt.threshold, &c->load, s->adapt.managed_bytes, memory_bytes,
					  &c->threshold, &c->setting);
	if (c->has_throttle)
		(void)uvmp_throttle_step(&c->throttling, c->load.faults, c->load.refaults,
					 c->load.evicted_pages, s->now_ns, &c->throttle);
	if (c->has_threads && !c->has_begun)
		uvmp_threads_init(&s->adapt.threads, s->now_ns, &c->threads);
	else if (c->has_threads)
		(void)uvmp_threads_step(&s->adapt.threads, &c->lifetime, s->now_ns, &c->threads);
	c->has_begun = true;
	c->load = (struct uvmp_threshold_load){0, 0, 0};
}

/* Are the answers other than the last LIMIT said? */
static bool has_news(const struct controls *c)
{
	return c->still != c->throttle.throttled || c->extra != c->threads.runnable;
}

static bool tell(struct uvmp_service *s, uint32_t gpu)
{
	struct controls *c = &s->gpu[gpu].controls;
	struct uvmp_action *a;

	if (!has_news(c))
		return false;
	c->still = c->throttle.throttled;
	c->extra = c->threads.runnable;
	a = uvmpi_queue(s, UVMP_ACTION_LIMIT, UVMP_CAUSE_ADAPT, 0, NULL);
	a->to = (uint8_t)gpu;
	a->count = c->still;
	a->detail = c->extra;
	return true;
}

void uvmpi_adapt_batch(struct uvmp_service *s, uint32_t gpu)
{
	look(s, gpu);
	(void)tell(s, gpu);
}

/* When the next look may change an answer, though nothing happens until then. */
static uint64_t due_ns(const struct uvmp_service *s, const struct controls *c)
{
	uint64_t due = UINT64_MAX;

	if (c->has_begun && c->has_threads &&
	    (c->threads.runnable < s->adapt.threads.max || c->threads.count != c->lifetime.count))
		due = c->threads.due;
	if (c->throttle.phase != UVMP_THROTTLE_IDLE && c->throttle.until < due &&
	    (c->throttle.throttled != 0 || c->throttle.faults != 0 || c->load.faults != 0))
		due = c->throttle.until;
	return due;
}

bool uvmpi_adapt_due(struct uvmp_service *s)
{
	uint32_t told = 0;

	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++) {
		if (due_ns(s, &s->gpu[gpu].controls) <= s->now_ns)
			look(s, gpu);
		told += tell(s, gpu);
	}
	return told != 0;
}

uint64_t uvmpi_adapt_wakeup_ns(const struct uvmp_service *s)
{
	uint64_t soonest = UINT64_MAX;

	for (uint32_t gpu = 1; s->adapt.is_on && gpu < s->processors.count; gpu++) {
		const struct controls *c = &s->gpu[gpu].controls;
		uint64_t due = has_news(c) ? s->now_ns : due_ns(s, c);

		if (due < soonest)
			soonest = due;
	}
	return soonest;
}

/* -- history of a block -- */

/* A stay on another GPU begins: what was touched elsewhere is not looked at any more. */
static void note_touched(struct history *history, uint32_t gpu, const uvmp_mask *pages)
{
	if (history->gpu != gpu)
		uvmp_mask_zero(&history->touched);
	history->gpu = (uint8_t)gpu;
	uvmp_mask_or(&history->touched, &history->touched, pages);
}

static void note_pattern(struct history *history, uint32_t gpu, const uvmp_mask *gone)
{
	uvmp_mask used;

	if (history->pattern_gpu != gpu)
		uvmp_mask_zero(&history->pattern);
	history->pattern_gpu = (uint8_t)gpu;
	uvmp_mask_andnot(&history->pattern, &history->pattern, gone);
	if (history->gpu != gpu)
		return;
	uvmp_mask_and(&used, &history->touched, gone);
	uvmp_mask_or(&history->pattern, &history->pattern, &used);
}

uvmp_mask *uvmpi_adapt_pattern(const struct uvmp_service *s, const struct block *b, uint32_t dst)
{
	struct history *history = block_history(s, b);

	return history != NULL && history->pattern_gpu == dst ? &history->pattern : NULL;
}

void uvmpi_adapt_touch(struct uvmp_service *s, uint32_t gpu, handle h, uint32_t page)
{
	const struct block *b = block_at(s, h);
	struct history *history = block_history(s, b);

	if (history == NULL || history->gpu != gpu) /* else the block has a place there */
		return;
	if (uvmp_mask_test(&uvmpi_residency_find(s, b, gpu)->resident, page))
		uvmp_mask_set(&history->touched, page);
}

/* -- pages come and go -- */

static void begin_lives(struct uvmp_service *s, uint32_t gpu, const struct block *b, const uvmp_mask *arrived,
			const uvmp_mask *faulted)
{
	struct uvmp_region region;
	uint32_t unit;

	for (uint32_t page = uvmp_mask_next_set(arrived, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(arrived, region.end)) {
		region = uvmpi_memory_unit(s, gpu, b, page, &unit);
		/* refused where it lives already */
		(void)uvmp_lifetime_allocate(&s->gpu[gpu].controls.lifetime, unit, s->now_ns,
					     uvmp_mask_region_any(faulted, region));
	}
}

/* Of the units in which nothing is left of the block. */
static void end_lives(struct uvmp_service *s, uint32_t gpu, const struct block *b, const uvmp_mask *gone,
		      bool is_eviction)
{
	const uvmp_mask *resident = &uvmpi_residency_find(s, b, gpu)->resident;
	struct uvmp_lifetime *lifetime = &s->gpu[gpu].controls.lifetime;
	struct uvmp_region region;
	uint32_t unit;

	for (uint32_t page = uvmp_mask_next_set(gone, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(gone, region.end)) {
		region = uvmpi_memory_unit(s, gpu, b, page, &unit);
		if (uvmp_mask_region_any(resident, region))
			continue;
		if (is_eviction) /* refused for a root that another block has left before */
			(void)uvmp_lifetime_evict(lifetime, unit, s->now_ns);
		else
			(void)uvmp_lifetime_free(lifetime, unit);
	}
}

/* The GPU has faulted on these. */
static void note_faults(const struct uvmp_service *s, struct controls *c, const struct block *b,
			const uvmp_mask *missed)
{
	const struct history *history = block_history(s, b);
	uvmp_mask again;

	c->load.faults += uvmp_mask_weight(missed);
	if (history == NULL)
		return;
	uvmp_mask_and(&again, missed, &history->evicted);
	c->load.refaults += uvmp_mask_weight(&again);
}

void uvmpi_adapt_arrived(struct uvmp_service *s, uint32_t gpu, handle h, const uvmp_mask *arrived,
			 const uvmp_mask *faulted, const uvmp_mask *missed)
{
	struct controls *c = &s->gpu[gpu].controls;
	struct block *b = block_at(s, h);

	note_faults(s, c, b, missed);
	if (s->adapt.has_touches) {
		struct history *history = uvmpi_history_make(s, b);

		if (history != NULL)
			note_touched(history, gpu, faulted);
	}
	if (c->has_threads)
		begin_lives(s, gpu, b, arrived, faulted);
}

static void note_eviction(struct uvmp_service *s, uint32_t gpu, struct block *b, const uvmp_mask *gone)
{
	struct history *history = block_history(s, b);

	if (s->adapt.counts_refaults)
		history = uvmpi_history_make(s, b);
	s->gpu[gpu].controls.load.evicted_pages += uvmp_mask_weight(gone);
	(void)uvmp_early_evict(&s->adapt.early_params, &s->adapt.early, s->now_ns);
	if (history == NULL)
		return;
	uvmp_mask_or(&history->evicted, &history->evicted, gone);
	note_pattern(history, gpu, gone);
}

void uvmpi_adapt_left(struct uvmp_service *s, uint32_t gpu, handle h, const uvmp_mask *gone, bool is_eviction)
{
	struct block *b = block_at(s, h);
	struct history *history;

	if (is_eviction)
		note_eviction(s, gpu, b, gone);
	history = block_history(s, b);
	if (history != NULL && history->gpu == gpu)
		uvmp_mask_andnot(&history->touched, &history->touched, gone);
	if (s->gpu[gpu].controls.has_threads)
		end_lives(s, gpu, b, gone, is_eviction);
}

/* -- the next decision -- */

/* A block without history has the threshold of one that faults at the mean rate. */
static uint32_t early_threshold(struct uvmp_service *s, handle h, uint32_t faults)
{
	struct history *history = uvmpi_history_make(s, block_at(s, h));
	uint32_t threshold = s->adapt.early_params.base;

	if (history != NULL)
		(void)uvmp_early_fault(&s->adapt.early_params, &s->adapt.early, &history->early, s->now_ns,
				       faults, &threshold);
	return threshold;
}

bool uvmpi_adapt_tune(struct uvmp_service *s, handle h, uint32_t dst, uint32_t faults,
		      struct uvmp_prefetch_params *params)
{
	const struct uvmp_prefetch_traits *traits = uvmp_prefetch_traits_of(params->prefetcher);
	struct controls *c = &s->gpu[dst].controls;

	if (s->policy.adapt == UVMP_ADAPT_OFF || dst == UVMP_CPU || !traits->has_threshold)
		return true;
	if (s->policy.adapt == UVMP_ADAPT_EARLY && faults != NO_INDEX)
		c->setting.threshold = early_threshold(s, h, faults);
	params->threshold = c->setting.threshold;
	return c->setting.is_on;
}
