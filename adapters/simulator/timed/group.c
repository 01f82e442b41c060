#include "group.h"

static bool is_out(const struct group_copy *copy)
{
	return copy->action->cause == UVMP_CAUSE_EVICTION;
}

void group_add(struct group *group, const struct uvmp_action *action, const struct host_target *target)
{
	group->copy[group->copies++] = (struct group_copy){.action = action,
							   .target = *target,
							   .next = uvmp_action_next_transfer(action, 0),
							   .transfers = uvmp_action_transfers(action)};
}

static uint32_t count_transfers(const struct group *group, bool out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < group->copies; i++)
		count += is_out(&group->copy[i]) == out ? group->copy[i].transfers : 0;
	return count;
}

/* Does the next transfer of `a` precede that of `b`? */
static bool precedes(const struct group_copy *a, const struct group_copy *b)
{
	bool a_is_late = a->action->cause == UVMP_CAUSE_PREFETCH, b_is_late = b->action->cause == UVMP_CAUSE_PREFETCH;

	return a_is_late == b_is_late ? a->next.first < b->next.first : b_is_late;
}

/* The next transfer of one direction; at least one is pending. */
static struct group_step take(struct group *group, bool out)
{
	uint32_t first = 0;
	bool is_found = false;
	struct group_step step;

	for (uint32_t i = 0; i < group->copies; i++) {
		const struct group_copy *copy = &group->copy[i];

		if (is_out(copy) != out || copy->next.end == 0)
			continue;
		if (!is_found || precedes(copy, &group->copy[first]))
			first = i;
		is_found = true;
	}
	step = (struct group_step){first, group->copy[first].next};
	group->copy[first].next = uvmp_action_next_transfer(group->copy[first].action, step.transfer.end);
	return step;
}

void group_put_in_order(struct group *group, enum uvmp_plan_order plan, struct group_order *order)
{
	uint32_t in = count_transfers(group, false), out = count_transfers(group, true);

	uvmp_plan_merge(plan, in, out, order->merged, GROUP_STEPS_MAX);
	order->steps = in + out;
	for (uint32_t i = 0; i < order->steps; i++)
		order->step[i] = take(group, order->merged[i].is_out);
}
