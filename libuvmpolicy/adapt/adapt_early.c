/* Prefetch threshold from fault rates of the block and of all blocks (Early-Adaptor, ISPASS'23).
 *
 * Published idea: the driver measures the rate of page faults of each VABlock and of all VABlocks, and sets
 * the prefetch threshold from these rates, early in the run and whenever the rates change.
 *
 * The source available here gives no details. Assumed:
 *  - A rate is the number of faulted pages in an epoch of fixed length. A block's rate is the larger count of
 *    this epoch and the last epoch. So neither the start of an epoch nor one quiet epoch hides the rate.
 *  - The rate is compared with the mean over the blocks that faulted in the last epoch. Well above the mean,
 *    the block is read densely and more of its pages will be used: lower threshold. Well below, accesses are
 *    scattered: higher threshold. Before the first epoch has ended, or after an epoch without faults, there
 *    is no mean: base threshold.
 *  - The global rate shows whether prefetching helps. If an epoch with evictions had more faults than the
 *    epoch before (by change_percent), prefetching evicted pages that were needed: all thresholds rise by a
 *    step. If it had fewer, or memory was not full, all thresholds fall by a step, but not below the
 *    parameters. An epoch without a predecessor, or after an epoch without faults, changes no threshold.
 *  - Consecutive epochs without faults count as one epoch, with no rate. */
#include "adapt_internal.h"

#include "../base/bits_internal.h"

#define PERCENT 100u

#define NS_PER_US 1000u

static const struct parameter parameters[] = {
	PARAMETER(struct uvmp_controls, early_low, "early_low", 1, 100, 26, 1, LIMIT_TO_THRESHOLD, NULL,
		  "threshold of blocks that fault often; at most threshold"),
	PARAMETER(struct uvmp_controls, early_high, "early_high", 1, 100, 76, 1, LIMIT_FROM_THRESHOLD, NULL,
		  "threshold of blocks that fault seldom; at least threshold"),
	CONTROL_PARAMETER(early_epoch_us, "early_epoch_us", 1, 1000000000, 10000,
			  "period over which fault rates are measured"),
};

static void set(struct uvmp_early_params *params, const struct uvmp_controls *controls)
{
	params->aggressive = controls->early_low;
	params->cautious = controls->early_high;
	params->epoch_ns = (uint64_t)controls->early_epoch_us * NS_PER_US;
}

void uvmp_early_params_init(struct uvmp_early_params *params)
{
	struct uvmp_controls controls;

	if (params == NULL)
		return;
	*params = (struct uvmp_early_params){
	        .base = 51,
	        .hot_percent = 150,
	        .cold_percent = 50,
	        .step = 10,
	        .change_percent = 10,
	};
	uvmpi_parameters_init(parameters, PARAMETERS(parameters), &controls);
	set(params, &controls);
}

bool uvmp_early_params_is_valid(const struct uvmp_early_params *params)
{
	return params != NULL && params->epoch_ns > 0 &&
	       params->aggressive >= parameters[0].min && params->aggressive <= params->base &&
	       params->base <= params->cautious && params->cautious <= parameters[1].max &&
	       params->cold_percent < params->hot_percent &&
	       params->hot_percent <= UINT16_MAX && params->step > 0 && params->step < PERCENT &&
	       params->change_percent > 0 && params->change_percent <= PERCENT;
}

void uvmp_early_init(const struct uvmp_early_params *params, uint64_t now_ns, struct uvmp_early_state *state)
{
	if (uvmp_early_params_is_valid(params) && state != NULL)
		*state = (struct uvmp_early_state){.epoch = now_ns / params->epoch_ns};
}

/* -- global -- */

/* a is more than b by this many percent; both below 2^48 or so. */
static bool is_more(uint64_t a, uint64_t b, uint32_t percent)
{
	return a * PERCENT > b * (PERCENT + percent);
}

/* The shift after the epoch that ends now. */
static uint32_t next_shift(const struct uvmp_early_params *params, const struct uvmp_early_state *state)
{
	if (!state->has_before || state->before == 0)
		return state->shift;
	if (state->is_full && is_more(state->faults, state->before, params->change_percent))
		return minimum(state->shift + params->step, PERCENT - 1u);
	if (!state->is_full || is_more(state->before, state->faults, params->change_percent))
		return state->shift > params->step ? state->shift - params->step : 0;
	return state->shift;
}

static void advance(const struct uvmp_early_params *params, struct uvmp_early_state *state, uint64_t epoch)
{
	bool is_next = epoch == state->epoch + 1u;

	if (epoch == state->epoch)
		return;
	*state = (struct uvmp_early_state){
	        .epoch = epoch,
	        .before = is_next ? state->faults : 0,
	        .blocks_before = is_next ? state->blocks : 0,
	        .shift = next_shift(params, state),
	        .has_before = true,
	};
}

/* -- block -- */

static void count(struct uvmp_early_state *state, struct uvmp_early_block *block, uint32_t faults)
{
	if (block->epoch != state->epoch + 1u) {
		*block = (struct uvmp_early_block){
		        .epoch = state->epoch + 1u,
		        .before = block->epoch == state->epoch ? block->faults : 0,
		};
		state->blocks++;
	}
	block->faults = faults < UINT32_MAX - block->faults ? block->faults + faults : UINT32_MAX;
	state->faults += faults;
}

static uint32_t of_block(const struct uvmp_early_params *params, const struct uvmp_early_state *state,
                         const struct uvmp_early_block *block)
{
	uint64_t rate = block->faults > block->before ? block->faults : block->before;
	uint64_t scaled;

	if (state->before == 0)
		return params->base;
	/* rate against before / blocks_before, without the division */
	scaled = rate * PERCENT * state->blocks_before;
	if (scaled >= state->before * params->hot_percent)
		return params->aggressive;
	return scaled <= state->before * params->cold_percent ? params->cautious : params->base;
}

static enum uvmp_status check(const struct uvmp_early_params *params, const struct uvmp_early_state *state,
                              uint64_t now_ns)
{
	if (!uvmp_early_params_is_valid(params) || state == NULL)
		return UVMP_ERR_ARGUMENT;
	return now_ns / params->epoch_ns < state->epoch ? UVMP_ERR_STATE : UVMP_OK;
}

enum uvmp_status uvmp_early_fault(const struct uvmp_early_params *params, struct uvmp_early_state *state,
                                  struct uvmp_early_block *block, uint64_t now_ns, uint32_t faults,
                                  uint32_t *threshold)
{
	enum uvmp_status status = check(params, state, now_ns);

	if (status != UVMP_OK)
		return status;
	if (block == NULL || threshold == NULL)
		return UVMP_ERR_ARGUMENT;
	if (faults == 0)
		return UVMP_ERR_RANGE;
	advance(params, state, now_ns / params->epoch_ns);
	count(state, block, faults);
	*threshold = minimum(of_block(params, state, block) + state->shift, PERCENT);
	return UVMP_OK;
}

enum uvmp_status uvmp_early_evict(const struct uvmp_early_params *params, struct uvmp_early_state *state,
                                  uint64_t now_ns)
{
	enum uvmp_status status = check(params, state, now_ns);

	if (status != UVMP_OK)
		return status;
	advance(params, state, now_ns / params->epoch_ns);
	state->is_full = true;
	return UVMP_OK;
}

/* -- in the engine -- */

struct early {
	struct uvmp_early_state state;
	struct uvmp_early_params params;
};

static void init(const struct control_setup *setup, void *state, struct control_answer *answer)
{
	struct early *early = (struct early *)state;

	uvmp_early_params_init(&early->params);
	early->params.base = setup->base;
	set(&early->params, setup->controls);
	uvmp_early_init(&early->params, 0, &early->state);
	answer->setting.threshold = setup->base;
}

/* A block without state has the threshold of a block that faults at the mean rate. */
static uint32_t faulted(void *state, void *block, uint64_t now_ns, uint32_t faults)
{
	struct early *early = (struct early *)state;
	uint32_t threshold = early->params.base;

	(void)uvmp_early_fault(&early->params, &early->state, (struct uvmp_early_block *)block, now_ns, faults, &threshold);
	return threshold;
}

static void evicted(void *state, uint64_t now_ns)
{
	struct early *early = (struct early *)state;

	(void)uvmp_early_evict(&early->params, &early->state, now_ns);
}

const struct controller uvmpi_controller_early = {
	.name = "early",
	.adapt = UVMP_ADAPT_EARLY,
	.is_shared = true,
	.parameter = parameters,
	.parameters = PARAMETERS(parameters),
	.state_bytes = sizeof(struct early),
	.block_bytes = sizeof(struct uvmp_early_block),
	.init = init,
	.faulted = faulted,
	.evicted = evicted,
};
