/* Thread oversubscription (Kim et al., ASPLOS'20, sections 4.1 and 5): how many extra thread blocks may each
 * SM hold?
 *
 * An SM whose thread blocks are all stalled on faults switches to another thread block; the faults of that
 * block make the batch larger. At the start each SM has one extra thread block. Every 100,000 cycles the
 * running mean of the lifetimes of pages is compared with the mean at the last check. If the mean fell by 20
 * %, pages are evicted too early, and each SM loses one extra block. Otherwise each SM gets one more.
 *
 * Assumed. The mean runs over all evictions since the start (of the period, by option). A period without
 * evictions leaves the mean unchanged, which is no fall; the first mean has no predecessor. "Decreased by 20
 * %" includes exactly 20 %. A removed block stays allocated (it may have started) and is the first to be
 * added again. The number of extra blocks is limited: the source reports up to two and three times the
 * blocks. */
#include "adapt_internal.h"

#include "../base/bits_internal.h"

#define NS_PER_US 1000u

static const struct parameter parameters[] = {
	CONTROL_SWITCH(threads, "threads",
		       "give SMs more thread blocks than fit, and switch between them (Kim et al.)"),
	CONTROL_PARAMETER(extra_blocks, "extra_blocks", 1, 16, 2, "extra thread blocks per SM, at most"),
	CONTROL_PARAMETER(threads_period_us, "threads_period_us", 1, 1000000000, 100,
			  "time between two checks of the lifetimes of pages"),
	CONTROL_PARAMETER(threads_drop, "threads_drop", 1, 100, 20,
			  "drop of the mean lifetime, in percent, at which an extra block is removed"),
};

static void set(struct uvmp_threads_params *params, const struct uvmp_controls *controls)
{
	params->max = controls->extra_blocks;
	params->period = (uint64_t)controls->threads_period_us * NS_PER_US;
	params->drop_percent = controls->threads_drop;
}

void uvmp_threads_params_init(struct uvmp_threads_params *params)
{
	struct uvmp_controls controls;

	if (params == NULL)
		return;
	*params = (struct uvmp_threads_params){.start = 1};
	uvmpi_parameters_init(parameters, PARAMETERS(parameters), &controls);
	set(params, &controls);
}

bool uvmp_threads_params_is_valid(const struct uvmp_threads_params *params)
{
	return params != NULL && params->period > 0 &&
	       parameter_accepts(&parameters[3], params->drop_percent) && params->start <= params->max;
}

void uvmp_threads_init(const struct uvmp_threads_params *params, uint64_t now,
                       struct uvmp_threads_state *state)
{
	if (params == NULL || state == NULL)
		return;
	*state = (struct uvmp_threads_state){
	        .due = now < UINT64_MAX - params->period ? now + params->period : UINT64_MAX,
	        .runnable = params->start,
	        .allocated = params->start,
	};
}

/* The mean at this look; that of the last one if nothing was evicted since. */
static uint64_t mean_now(const struct uvmp_threads_params *params, const struct uvmp_lifetime *lifetime,
                         const struct uvmp_threads_state *state)
{
	if (!params->is_each_period)
		return uvmp_lifetime_mean(lifetime);
	/* both also shrink, when the monitor halves them */
	if (lifetime->count <= state->count || lifetime->sum < state->sum)
		return state->mean;
	return (lifetime->sum - state->sum) / (lifetime->count - state->count);
}

/* x * percent / 100, rounded up, for percent up to 100. */
static uint64_t share(uint64_t x, uint32_t percent)
{
	return x / 100u * percent + (x % 100u * percent + 99u) / 100u;
}

enum uvmp_status uvmp_threads_step(const struct uvmp_threads_params *params,
                                   const struct uvmp_lifetime *lifetime, uint64_t now,
                                   struct uvmp_threads_state *state)
{
	uint64_t mean, elapsed;

	if (!uvmp_threads_params_is_valid(params) || lifetime == NULL || state == NULL)
		return UVMP_ERR_ARGUMENT;
	if (state->runnable > params->max)
		return UVMP_ERR_RANGE;
	if (now < state->due)
		return UVMP_OK;
	mean = mean_now(params, lifetime, state);
	if (mean < state->mean && state->mean - mean >= share(state->mean, params->drop_percent)) {
		if (state->runnable > 0)
			state->runnable--;
	} else {
		state->runnable = minimum(state->runnable + 1u, params->max);
	}
	if (state->allocated < state->runnable)
		state->allocated = state->runnable;
	state->mean = mean;
	state->sum = lifetime->sum;
	state->count = lifetime->count;
	elapsed = (now - state->due) % params->period; /* since the last end of a period */
	state->due =
	        now - elapsed < UINT64_MAX - params->period ? now - elapsed + params->period : UINT64_MAX;
	return UVMP_OK;
}

/* -- in the engine -- */

struct threads {
	struct uvmp_threads_state state;
	struct uvmp_threads_params params;
};

static void init(const struct control_setup *setup, void *state, struct control_answer *answer)
{
	struct threads *threads = (struct threads *)state;

	uvmp_threads_params_init(&threads->params);
	set(&threads->params, setup->controls);
	uvmp_threads_init(&threads->params, 0, &threads->state);
	answer->extra_blocks = threads->state.runnable;
}

/* Periods run from the first batch on. */
static void batch(const struct control_facts *facts, void *state, struct control_answer *answer)
{
	struct threads *threads = (struct threads *)state;

	if (facts->has_begun)
		(void)uvmp_threads_step(&threads->params, facts->lifetime, facts->now_ns, &threads->state);
	else
		uvmp_threads_init(&threads->params, facts->now_ns, &threads->state);
	answer->extra_blocks = threads->state.runnable;
}

/* The number grows to its maximum, and changes after evictions. */
static uint64_t due_ns(const struct control_facts *facts, const void *state)
{
	const struct threads *threads = (const struct threads *)state;

	return facts->has_begun && (threads->state.runnable < threads->params.max ||
				    threads->state.count != facts->lifetime->count)
		       ? threads->state.due
		       : UINT64_MAX;
}

const struct controller uvmpi_controller_threads = {
	.name = "threads",
	.needs_sms = true,
	.needs_lifetimes = true,
	.parameter = parameters,
	.parameters = PARAMETERS(parameters),
	.state_bytes = sizeof(struct threads),
	.init = init,
	.batch = batch,
	.due_ns = due_ns,
};
