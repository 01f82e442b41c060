/* Feedback: what a run does to the parameters of the next decisions. Events go to each controller that the policy
 * turns on, through the controller's descriptor (adapt/adapt_internal.h). This file names no controller.
 *
 *   event                              descriptor's function   answer
 *   a batch begins, or due_ns passes   batch                   density threshold, or UVMP_ACTION_LIMIT
 *   time passes                        due_ns                  when the next `batch` is due
 *   a block with faults is serviced    faulted                 density threshold of this decision
 *   pages were evicted                 evicted                 none
 *
 * Faults, refaults, evicted pages and lifetimes of units of memory are counted here, once for all controllers. A
 * controller never calls the engine. After the last fault the controllers are due a limited number of times, so
 * that an engine without work asks for no wake-up in the end. Prefetchers and eviction orders that read touches use
 * the history, too.
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
#include "../policy/policy_internal.h"
#include "../prefetch/prefetch_internal.h"
#include "controllers_internal.h"
#include "memory_internal.h"
#include "prefetch_states_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define ALIGNMENT 16u

/* -- setting up -- */

/* Bytes of private state of a controller on a GPU; of the CPU: of a state that the GPUs share. */
static uint64_t state_bytes(const struct uvmp_service_params *params, uint32_t processor, uint32_t i)
{
	const struct controller *controller = uvmpi_controller_at(i);

	if (!policy_has_controller(params->policy, controller) ||
	    controller->is_shared != (processor == UVMP_CPU) ||
	    (controller->needs_sms && uvmpi_params_gpu(params, processor).sms == 0))
		return 0;
	return (controller->state_bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
}

uint64_t uvmpi_adapt_units(const struct uvmp_service_params *params, uint32_t gpu)
{
	bool has_lifetimes = false;

	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		has_lifetimes |= uvmpi_controller_at(i)->needs_lifetimes && state_bytes(params, gpu, i) != 0;
	return has_lifetimes ? uvmpi_memory_units(params, gpu) : 0;
}

uint64_t uvmpi_adapt_state_bytes(const struct uvmp_service_params *params, uint32_t processor)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		bytes += state_bytes(params, processor, i);
	return bytes;
}

uint32_t uvmpi_adapt_block_bytes(const struct uvmp_policy *policy)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		if (policy_has_controller(policy, uvmpi_controller_at(i)))
			bytes += uvmpi_controller_at(i)->block_bytes;
	return bytes;
}

/* Gives each controller of the processor its state. */
static void attach(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t processor,
		   uint8_t *memory)
{
	struct controls *c = &s->gpu[processor].controls;
	struct control_setup setup = {.controls = &params->policy->controls,
				      .base = s->policy.prefetch.threshold,
				      .sms = processor != UVMP_CPU ? uvmpi_params_gpu(params, processor).sms : 0};

	if (setup.base == 0)
		setup.base = 1;
	c->answer.setting = (struct uvmp_prefetch_setting){.is_on = true, .threshold = setup.base};
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++) {
		const struct controller *controller = uvmpi_controller_at(i);
		uint64_t bytes = state_bytes(params, processor, i);

		c->state[i] = s->gpu[UVMP_CPU].controls.state[i];
		if (bytes == 0)
			continue;
		c->state[i] = memory;
		memory += bytes;
		controller->init(&setup, c->state[i], &c->answer);
		c->has_lifetimes |= controller->needs_lifetimes;
		c->is_timed |= controller->due_ns != NULL;
		s->adapt.counts_refaults |= controller->counts_refaults;
		s->adapt.is_on = true;
	}
}

void uvmpi_adapt_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory)
{
	struct adapt *adapt = &s->adapt;
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)uvmp_policy_needs(params->policy, &needs); /* the policy is valid */
	adapt->has_touches = needs.histories;
	adapt->is_on = adapt->has_touches;
	adapt->tuner = 0;
	while (adapt->tuner < UVMP_CONTROLLER_COUNT &&
	       (uvmpi_controller_at(adapt->tuner)->adapt == UVMP_ADAPT_OFF ||
		uvmpi_controller_at(adapt->tuner)->adapt != (uint8_t)s->policy.adapt))
		adapt->tuner++;
	attach(s, params, UVMP_CPU, memory);
}

void uvmpi_adapt_init_gpu(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
			  uint64_t *units, uint8_t *memory)
{
	attach(s, params, gpu, memory);
	if (s->gpu[gpu].controls.has_lifetimes)
		(void)uvmp_lifetime_init(&s->gpu[gpu].controls.lifetime, units,
					 uvmpi_adapt_units(params, gpu));
}

/* -- a batch begins, and time passes -- */

static struct control_facts facts_of(const struct uvmp_service *s, uint32_t gpu)
{
	const struct controls *c = &s->gpu[gpu].controls;

	return (struct control_facts){.now_ns = s->now_ns,
				      .managed_bytes = s->adapt.managed_bytes,
				      .memory_bytes = s->gpu[gpu].capacity_pages * s->page_bytes,
				      .load = c->load,
				      .lifetime = &c->lifetime,
				      .has_begun = c->has_begun};
}

static void update(struct uvmp_service *s, uint32_t gpu)
{
	struct controls *c = &s->gpu[gpu].controls;
	struct control_facts facts = facts_of(s, gpu);

	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		if (c->state[i] != NULL && uvmpi_controller_at(i)->batch != NULL)
			uvmpi_controller_at(i)->batch(&facts, c->state[i], &c->answer);
	c->has_begun = true;
	c->load = (struct uvmp_threshold_load){0, 0, 0};
}

/* Does the answer differ from the last LIMIT? */
static bool has_news(const struct controls *c)
{
	return c->told_sms != c->answer.stopped_sms || c->told_blocks != c->answer.extra_blocks;
}

static bool report(struct uvmp_service *s, uint32_t gpu)
{
	struct controls *c = &s->gpu[gpu].controls;
	struct uvmp_action *a;

	if (!has_news(c))
		return false;
	c->told_sms = c->answer.stopped_sms;
	c->told_blocks = c->answer.extra_blocks;
	a = uvmpi_queue(s, UVMP_ACTION_LIMIT, UVMP_CAUSE_ADAPT, 0, NULL);
	a->to = (uint8_t)gpu;
	a->count = c->told_sms;
	a->detail = c->told_blocks;
	return true;
}

void uvmpi_adapt_batch(struct uvmp_service *s, uint32_t gpu)
{
	update(s, gpu);
	(void)report(s, gpu);
}

/* When time alone may change an answer of the GPU. */
static uint64_t due_ns(const struct uvmp_service *s, uint32_t gpu)
{
	const struct controls *c = &s->gpu[gpu].controls;
	struct control_facts facts;
	uint64_t due = UINT64_MAX;

	if (!c->is_timed)
		return due;
	facts = facts_of(s, gpu);
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++) {
		uint64_t at = c->state[i] != NULL && uvmpi_controller_at(i)->due_ns != NULL
				      ? uvmpi_controller_at(i)->due_ns(&facts, c->state[i])
				      : UINT64_MAX;

		if (at < due)
			due = at;
	}
	return due;
}

bool uvmpi_adapt_due(struct uvmp_service *s)
{
	uint32_t told = 0;

	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++) {
		if (due_ns(s, gpu) <= s->now_ns)
			update(s, gpu);
		told += report(s, gpu);
	}
	return told != 0;
}

uint64_t uvmpi_adapt_wakeup_ns(const struct uvmp_service *s)
{
	uint64_t soonest = UINT64_MAX;

	for (uint32_t gpu = 1; s->adapt.is_on && gpu < s->processors.count; gpu++) {
		uint64_t due = has_news(&s->gpu[gpu].controls) ? s->now_ns : due_ns(s, gpu);

		if (due < soonest)
			soonest = due;
	}
	return soonest;
}

/* -- history of a block -- */

/* The block arrives on another GPU: pages touched elsewhere no longer count. */
static void note_touched(struct history *history, uint32_t gpu, const uvmp_mask *pages)
{
	if (history->gpu != gpu)
		uvmp_mask_zero(&history->touched);
	history->gpu = (uint8_t)gpu;
	uvmp_mask_or(&history->touched, &history->touched, pages);
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
	if (c->has_lifetimes)
		begin_lives(s, gpu, b, arrived, faulted);
}

static void note_eviction(struct uvmp_service *s, uint32_t gpu, struct block *b, const uvmp_mask *gone)
{
	struct controls *c = &s->gpu[gpu].controls;
	struct history *history = block_history(s, b);

	if (s->adapt.counts_refaults)
		history = uvmpi_history_make(s, b);
	c->load.evicted_pages += uvmp_mask_weight(gone);
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		if (c->state[i] != NULL && uvmpi_controller_at(i)->evicted != NULL)
			uvmpi_controller_at(i)->evicted(c->state[i], s->now_ns);
	if (history == NULL)
		return;
	uvmp_mask_or(&history->evicted, &history->evicted, gone);
	uvmpi_prefetch_states_left(s, history, gpu, gone);
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
	if (s->gpu[gpu].controls.has_lifetimes)
		end_lives(s, gpu, b, gone, is_eviction);
}

/* -- the next decision -- */

/* The private state of the block; NULL: the arena is full. */
static void *of_block(const struct uvmp_service *s, struct history *history)
{
	return history != NULL ? (uint8_t *)(history + 1) + s->prefetch_states.block_bytes : NULL;
}

bool uvmpi_adapt_tune(struct uvmp_service *s, handle h, uint32_t to, uint32_t faults,
		      struct uvmp_prefetch_params *params)
{
	const struct uvmp_prefetch_traits *traits = uvmpi_prefetch_params_traits(params);
	struct controls *c = &s->gpu[to].controls;
	const struct controller *tuner;

	if (s->adapt.tuner == UVMP_CONTROLLER_COUNT || to == UVMP_CPU || !traits->has_threshold)
		return true;
	tuner = uvmpi_controller_at(s->adapt.tuner);
	if (tuner->faulted != NULL && faults != NO_INDEX) {
		struct history *history = uvmpi_history_make(s, block_at(s, h));

		c->answer.setting.threshold =
			tuner->faulted(c->state[s->adapt.tuner], of_block(s, history), s->now_ns, faults);
	}
	params->threshold = c->answer.setting.threshold;
	return c->answer.setting.is_on;
}
