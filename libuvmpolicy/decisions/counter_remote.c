/* Migrate, or access remotely? UVM Smart's delayed migration [uvmsmart: migrate-or-remote].
 *
 * A block migrates when the number of its accesses reaches a limit; a store always migrates it. The limit is
 * a constant (always, oversub), or follows the state of memory (adaptive). While all data fits, the limit is
 * the threshold's share that corresponds to the occupancy of memory, plus one. Afterwards it is the threshold
 * times the penalty times one plus the number of round trips of the block. */
#include "uvmpolicy/counter.h"

#include "parameters_internal.h"

const char *uvmp_remote_name(enum uvmp_remote remote)
{
	static const char *const name[] = {"off", "adaptive", "always", "oversub", "auto"};

	return (uint32_t)remote < UVMP_REMOTE_COUNT ? name[remote] : NULL;
}

static const char *remote_name(uint32_t remote)
{
	return uvmp_remote_name((enum uvmp_remote)remote);
}

const struct parameter uvmpi_remote_parameters[3] = {
        PARAMETER_CHOICE(struct uvmp_remote_params, remote, "remote", UVMP_REMOTE_COUNT, UVMP_REMOTE_OFF,
                         remote_name, "condition for accessing a page on the CPU remotely, without migrating it"),
        PARAMETER_NUMBER(struct uvmp_remote_params, threshold, "remote_threshold", 1, 134217727, 8,
                         "remote accesses to 64 KiB after which pages migrate"),
        PARAMETER_NUMBER(struct uvmp_remote_params, penalty, "remote_penalty", 0, 1048576, 2,
                         "factor of remote_threshold for each round trip; 1048576 pins"),
};

void uvmp_remote_params_init(struct uvmp_remote_params *params)
{
	if (params != NULL)
		uvmpi_parameters_init(uvmpi_remote_parameters, 3, params);
}

static uint64_t saturating_next(uint64_t n)
{
	return n < UINT64_MAX ? n + 1u : n;
}

/* threshold * penalty * (rounds + 1) fits: rounds is small, so only the first product can be near 2^64. */
static uint64_t penalized(const struct uvmp_remote_params *params, uint32_t rounds)
{
	uint64_t each = (uint64_t)params->threshold * params->penalty;

	return each <= UINT64_MAX / (rounds + 1u) ? each * (rounds + 1u) : UINT64_MAX;
}

static uint64_t least_count(const struct uvmp_remote_params *params, const struct uvmp_remote_facts *facts)
{
	if (facts->is_write || params->remote == UVMP_REMOTE_OFF)
		return 0;
	if (params->remote == UVMP_REMOTE_ALWAYS)
		return params->threshold;
	if (params->remote == UVMP_REMOTE_OVERSUB)
		return facts->is_oversubscribed ? params->threshold : 0;
	if (facts->is_oversubscribed)
		return penalized(params, facts->rounds);
	return saturating_next(uvmp_pressure_scale(&facts->pressure, params->threshold));
}

enum uvmp_status uvmp_remote_decide(const struct uvmp_remote_params *params,
                                    const struct uvmp_remote_facts *facts,
                                    struct uvmp_remote_verdict *verdict)
{
	if (params == NULL || facts == NULL || verdict == NULL)
		return UVMP_ERR_ARGUMENT;
	if (params->remote >= UVMP_REMOTE_AUTO || facts->rounds > UVMP_COUNTER_ROUNDS_MAX ||
	    !uvmp_pressure_is_valid(&facts->pressure))
		return UVMP_ERR_RANGE;
	verdict->threshold = least_count(params, facts);
	verdict->migrates = facts->count >= verdict->threshold;
	return UVMP_OK;
}
