/* What the policy and the model of a system say together; system.h. */
#include "system.h"

bool system_withdraws(const struct system *system)
{
	return system->model->maps_copies != 0 && system->model->queues_copies != 0 && !host_has_roots(&system->host) &&
	       !uvmp_policy_evict_traits(system->host.params.run.policy)->counts_uses;
}
