/* Memory-aware throttling of ETC (Li et al., ASPLOS'19, from section 5.2 and footnote 8 of Kim et al.,
 * ASPLOS'20): some SMs stop so that the working set of the others fits.
 *
 * The trigger throttles half of the SMs. After this initial phase two epochs alternate: the detection epoch
 * measures behaviour; in the execution epoch SMs are throttled or released accordingly.
 *
 * Assumed. The trigger is the first eviction: memory is full. The measured behaviour is thrashing: the share
 * of faults on pages that were evicted before. A large share throttles `step` more SMs; a small share, or no
 * fault, releases as many; otherwise the number stays. At least `min_running` SMs run. A phase starts at the
 * call that ends the phase before. */
#include "adapt_internal.h"

#include "../base/bits_internal.h"

#define PERCENT	  100u
#define NS_PER_US 1000u

static const struct parameter parameters[] = {
	CONTROL_SWITCH(sm_throttle, "sm_throttle", "stop SMs while memory thrashes (ETC)"),
	CONTROL_PARAMETER(sm_epoch_us, "sm_epoch_us", 10, 1000000000, 100,
			  "period: observe thrashing for a fifth of it, keep the number of SMs for the rest"),
};

static void set(struct uvmp_throttle_params *params, const struct uvmp_controls *controls)
{
	uint64_t epoch = (uint64_t)controls->sm_epoch_us * NS_PER_US;

	params->initial = epoch;
	params->detect = epoch / 5u;
	params->execute = epoch - epoch / 5u;
}

void uvmp_throttle_params_init(struct uvmp_throttle_params *params)
{
	struct uvmp_controls controls;

	if (params == NULL)
		return;
	*params = (struct uvmp_throttle_params){
	        .sms = 16,
	        .min_running = 1,
	        .step = 1,
	        .thrash_percent = 20,
	        .calm_percent = 5,
	};
	uvmpi_parameters_init(parameters, PARAMETERS(parameters), &controls);
	set(params, &controls);
}

bool uvmp_throttle_params_is_valid(const struct uvmp_throttle_params *params)
{
	return params != NULL && params->sms <= UINT16_MAX && params->min_running > 0 &&
	       params->min_running <= params->sms && params->step > 0 && params->step <= UINT16_MAX &&
	       params->initial > 0 && params->detect > 0 && params->execute > 0 && params->calm_percent > 0 &&
	       params->calm_percent <= params->thrash_percent && params->thrash_percent <= PERCENT;
}

void uvmp_throttle_init(struct uvmp_throttle_state *state)
{
	if (state != NULL)
		*state = (struct uvmp_throttle_state){.phase = UVMP_THROTTLE_IDLE};
}

static void begin(struct uvmp_throttle_state *state, enum uvmp_throttle_phase phase, uint64_t now,
                  uint64_t length)
{
	state->phase = phase;
	state->until = now < UINT64_MAX - length ? now + length : UINT64_MAX;
	state->faults = 0;
	state->refaults = 0;
}

static void judge(const struct uvmp_throttle_params *params, struct uvmp_throttle_state *state)
{
	if (state->faults == 0 || state->refaults * PERCENT < state->faults * params->calm_percent)
		state->throttled -= minimum(params->step, state->throttled);
	else if (state->refaults * PERCENT >= state->faults * params->thrash_percent)
		state->throttled =
		        minimum(state->throttled + params->step, params->sms - params->min_running);
}

enum uvmp_status uvmp_throttle_step(const struct uvmp_throttle_params *params, uint32_t faults,
                                    uint32_t refaults, uint32_t evicted, uint64_t now,
                                    struct uvmp_throttle_state *state)
{
	if (!uvmp_throttle_params_is_valid(params) || state == NULL)
		return UVMP_ERR_ARGUMENT;
	if (refaults > faults || state->throttled > params->sms - params->min_running)
		return UVMP_ERR_RANGE;
	if (state->phase == UVMP_THROTTLE_IDLE) {
		if (evicted == 0)
			return UVMP_OK;
		state->throttled = minimum(params->sms / 2u, params->sms - params->min_running);
		begin(state, UVMP_THROTTLE_INITIAL, now, params->initial);
		return UVMP_OK;
	}
	state->faults += faults;
	state->refaults += refaults;
	if (now < state->until)
		return UVMP_OK;
	if (state->phase == UVMP_THROTTLE_DETECT) {
		judge(params, state);
		begin(state, UVMP_THROTTLE_EXECUTE, now, params->execute);
	} else {
		begin(state, UVMP_THROTTLE_DETECT, now, params->detect);
	}
	return UVMP_OK;
}

/* -- in the engine -- */

struct throttle {
	struct uvmp_throttle_state state;
	struct uvmp_throttle_params params;
};

/* No source has more than half of the SMs stand still. */
static void init(const struct control_setup *setup, void *state, struct control_answer *answer)
{
	struct throttle *throttle = (struct throttle *)state;

	uvmp_throttle_params_init(&throttle->params);
	set(&throttle->params, setup->controls);
	throttle->params.sms = setup->sms;
	throttle->params.min_running = setup->sms - setup->sms / 2u;
	uvmp_throttle_init(&throttle->state);
	answer->stopped_sms = 0;
}

static void batch(const struct control_facts *facts, void *state, struct control_answer *answer)
{
	struct throttle *throttle = (struct throttle *)state;

	(void)uvmp_throttle_step(&throttle->params, facts->load.faults, facts->load.refaults,
				 facts->load.evicted_pages, facts->now_ns, &throttle->state);
	answer->stopped_sms = throttle->state.throttled;
}

/* While SMs stand still, or faults of this epoch are to be judged. */
static uint64_t due_ns(const struct control_facts *facts, const void *state)
{
	const struct uvmp_throttle_state *throttle = &((const struct throttle *)state)->state;

	return throttle->phase != UVMP_THROTTLE_IDLE &&
			       (throttle->throttled != 0 || throttle->faults != 0 || facts->load.faults != 0)
		       ? throttle->until
		       : UINT64_MAX;
}

const struct controller uvmpi_controller_sm_throttle = {
	.name = "sm_throttle",
	.needs_sms = true,
	.counts_refaults = true,
	.parameter = parameters,
	.parameters = PARAMETERS(parameters),
	.state_bytes = sizeof(struct throttle),
	.init = init,
	.batch = batch,
	.due_ns = due_ns,
};
