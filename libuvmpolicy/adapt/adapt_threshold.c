/* Prefetch threshold from fault and eviction load (Allen and Ge 2021, section VI.B, "Adaptive prefetching").
 *
 * The authors propose, but do not specify: while the allocations fit in GPU memory, prefetch as aggressively
 * as possible. Once they do not fit, switch prefetching off, or infer its benefit from the load of faults and
 * evictions and set the density threshold accordingly.
 *
 * Assumed here. Data fits while managed bytes do not exceed GPU memory. The threshold is updated every
 * `window` faulted pages. The authors find that programs slow down with the number of pages evicted per fault
 * and with data that is evicted before its use. So these two are the load:
 *
 *   few refaults (evicted data is not used again: streams)     threshold down a step, prefetch more
 *   refaults, many pages evicted per fault                     threshold up a step, prefetch less
 *   refaults, few pages evicted per fault (faults are the load) threshold down a step
 *   in between                                                 unchanged
 *
 * A step up from 100 is off, a step down from off is 100. When all data fits again, tuning starts from the
 * beginning. */
#include "adapt_internal.h"

#define PERCENT 100u
#define OFF     101u

static const struct parameter parameters[] = {
	PARAMETER(struct uvmp_controls, pressure_low, "pressure_low", 1, 100, 1, 1, LIMIT_TO_THRESHOLD, NULL,
		  "threshold while all data fits, and lower limit; at most threshold"),
	CONTROL_PARAMETER(pressure_step, "pressure_step", 1, 100, 10, "percentage points per change"),
	CONTROL_PARAMETER(pressure_window, "pressure_window", 1, 1048576, 1024,
			  "faulted pages between two updates"),
	CONTROL_PARAMETER(pressure_off, "pressure_off", 0, 1, 0,
			  "1: no prefetch while managed memory does not fit"),
};

static void set(struct uvmp_threshold_params *params, const struct uvmp_controls *controls)
{
	params->aggressive = controls->pressure_low;
	params->step = controls->pressure_step;
	params->window = controls->pressure_window;
	params->is_off_when_full = controls->pressure_off;
}

void uvmp_threshold_params_init(struct uvmp_threshold_params *params)
{
	struct uvmp_controls controls;

	if (params == NULL)
		return;
	*params = (struct uvmp_threshold_params){
	        .base = 51,
	        .evicted_high = 64,
	        .evicted_low = 8,
	        .refault_percent = 10,
	};
	uvmpi_parameters_init(parameters, PARAMETERS(parameters), &controls);
	set(params, &controls);
}

static bool is_within(uint32_t x, uint32_t min, uint32_t max)
{
	return x >= min && x <= max;
}

bool uvmp_threshold_params_is_valid(const struct uvmp_threshold_params *params)
{
	return params != NULL && is_within(params->base, 1, PERCENT) &&
	       is_within(params->aggressive, parameters[0].min, params->base) &&
	       parameter_accepts(&parameters[1], params->step) &&
	       parameter_accepts(&parameters[2], params->window) && is_within(params->evicted_high, 1, 65536) &&
	       params->evicted_low <= params->evicted_high && is_within(params->refault_percent, 1, PERCENT);
}

void uvmp_threshold_init(const struct uvmp_threshold_params *params, struct uvmp_threshold_state *state)
{
	if (params != NULL && state != NULL)
		*state = (struct uvmp_threshold_state){.threshold = params->base};
}

static uint32_t raised(const struct uvmp_threshold_params *params, uint32_t threshold)
{
	if (threshold >= PERCENT)
		return OFF;
	return threshold + params->step < PERCENT ? threshold + params->step : PERCENT;
}

static uint32_t lowered(const struct uvmp_threshold_params *params, uint32_t threshold)
{
	if (threshold == OFF)
		return PERCENT;
	return threshold > params->aggressive + params->step ? threshold - params->step : params->aggressive;
}

static uint32_t look(const struct uvmp_threshold_params *params, const struct uvmp_threshold_state *state)
{
	if (state->refaults * PERCENT < state->faults * params->refault_percent ||
	    state->evicted_pages < state->faults * params->evicted_low)
		return lowered(params, state->threshold);
	if (state->evicted_pages >= state->faults * params->evicted_high)
		return raised(params, state->threshold);
	return state->threshold;
}

static void give(struct uvmp_prefetch_setting *setting, uint32_t threshold)
{
	setting->is_on = threshold <= PERCENT;
	setting->threshold = threshold <= PERCENT ? threshold : PERCENT;
}

enum uvmp_status uvmp_threshold_step(const struct uvmp_threshold_params *params,
                                     const struct uvmp_threshold_load *load, uint64_t managed_bytes,
                                     uint64_t memory_bytes, struct uvmp_threshold_state *state,
                                     struct uvmp_prefetch_setting *setting)
{
	if (!uvmp_threshold_params_is_valid(params) || load == NULL || state == NULL || setting == NULL)
		return UVMP_ERR_ARGUMENT;
	if (load->refaults > load->faults || !is_within(state->threshold, params->aggressive, OFF))
		return UVMP_ERR_RANGE;
	if (managed_bytes <= memory_bytes) {
		uvmp_threshold_init(params, state);
		give(setting, params->aggressive);
		return UVMP_OK;
	}
	if (params->is_off_when_full) {
		give(setting, OFF);
		return UVMP_OK;
	}
	state->faults += load->faults;
	state->refaults += load->refaults;
	state->evicted_pages += load->evicted_pages;
	if (state->faults >= params->window)
		*state = (struct uvmp_threshold_state){.threshold = look(params, state)};
	give(setting, state->threshold);
	return UVMP_OK;
}

/* -- in the engine -- */

struct pressure {
	struct uvmp_threshold_state state;
	struct uvmp_threshold_params params;
};

static void init(const struct control_setup *setup, void *state, struct control_answer *answer)
{
	struct pressure *pressure = (struct pressure *)state;

	uvmp_threshold_params_init(&pressure->params);
	pressure->params.base = setup->base;
	set(&pressure->params, setup->controls);
	uvmp_threshold_init(&pressure->params, &pressure->state);
	answer->setting.threshold = setup->base;
}

static void batch(const struct control_facts *facts, void *state, struct control_answer *answer)
{
	struct pressure *pressure = (struct pressure *)state;

	(void)uvmp_threshold_step(&pressure->params, &facts->load, facts->managed_bytes, facts->memory_bytes,
				  &pressure->state, &answer->setting);
}

const struct controller uvmpi_controller_pressure = {
	.name = "pressure",
	.adapt = UVMP_ADAPT_PRESSURE,
	.counts_refaults = true,
	.parameter = parameters,
	.parameters = PARAMETERS(parameters),
	.state_bytes = sizeof(struct pressure),
	.init = init,
	.batch = batch,
};
