/* The loop of a thread, which takes the engine's actions and performs them; thread.h. */
#include "thread.h"

#include "../counters.h"
#include "thread_copy.h"
#include "thread_fault.h"
#include "thread_map.h"
#include "thread_memory.h"
#include "thread_pages.h"
#include "watch.h"

/* -- actions -- */

/* The first action about a block pays for looking at it: once in a batch, a fault or a call. CLEAR names a block for the log
 * only. */
static void look_at(struct thread *t, const struct uvmp_action *a, struct sim_block *block)
{
	if (thread_is_frame(t, a))
		return;
	if (a->cause != UVMP_CAUSE_EVICTION)
		thread_wait_for_eviction(t);
	if (a->kind == UVMP_ACTION_CLEAR || a->cause == UVMP_CAUSE_EVICTION || a->page_bytes == 0 ||
	    a->address == t->block)
		return;
	t->block = a->address;
	t->memory_ns = 0;
	t->early_ns = 0;
	if (t->is_fault_of_cpu)
		return;
	thread_work(t, t->system->model->block_ns, &t->system->times->service_ns);
	if (t->has_batch && block)
		thread_service_faults(t, block);
}

static void wait_for(struct thread *t, const struct uvmp_action *a)
{
	if (t->system->model->queues_copies != 0)
		return;
	thread_wait(t, a->waits_for_copies ? t->copies_ns : t->replay_ns, &t->system->times->replay_ns);
}

bool thread_perform(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		thread_fetch(t, a);
		break;
	case UVMP_ACTION_ALLOCATE:
		thread_allocate(t, a, target->block);
		break;
	case UVMP_ACTION_EVICT:
		thread_evict(t, a);
		break;
	case UVMP_ACTION_MAP:
	case UVMP_ACTION_UNMAP:
	case UVMP_ACTION_REVOKE:
		return thread_map(t, a, target);
	case UVMP_ACTION_FLUSH:
		thread_flush(t, a);
		break;
	case UVMP_ACTION_REPLAY:
		thread_replay(t);
		break;
	case UVMP_ACTION_WAIT:
		wait_for(t, a);
		break;
	case UVMP_ACTION_CLEAR:
		counters_clear(&t->system->host, a);
		break;
	case UVMP_ACTION_LIMIT:
		gpu_limit(t->system->gpu, t->now_ns, a->stopped_sms, a->extra_blocks);
		break;
	case UVMP_ACTION_THROTTLE:
		t->until_ns = a->until_ns;
		break;
	default:
		break;
	}
	return true;
}

/* -- the loop -- */

static bool is_copy(const struct uvmp_action *a)
{
	return a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE;
}

static void perform_transfer(struct thread *t, struct group_copy *c, struct uvmp_region transfer)
{
	const struct uvmp_action *a = c->action;
	uint32_t pages = uvmp_region_pages(transfer);

	c->transfers--;
	if (staged_returns(&t->system->staged, a)) {
		c->end_ns = system_later(c->end_ns, t->now_ns);
		return;
	}
	host_transfer(&t->system->host, a, &c->target, transfer);
	look_at(t, a, c->target.block);
	t->end_ns = 0;
	if (a->kind == UVMP_ACTION_COPY)
		thread_copy(t, a, c->target.block, transfer);
	else
		thread_populate(t, a, c->target.block, pages);
	watch_transfer(t, a);
	c->end_ns = system_later(c->end_ns, system_later(t->now_ns, t->end_ns));
}

/* Performs the transfers of the group, which is empty then. An action ends with its last transfer. The bottom half looks
 * for faults before each transfer. */
static bool perform_group(struct thread *t, struct group *group, bool is_bottom_half)
{
	struct group_order *order = &t->system->order;
	struct host *host = &t->system->host;

	group_put_in_order(group, host->params.run.policy->plan, order);
	for (uint32_t i = 0; i < order->steps; i++) {
		struct group_copy *c = &group->copy[order->step[i].copy];

		if (is_bottom_half)
			thread_report_faults(t);
		perform_transfer(t, c, order->step[i].transfer);
		if (c->transfers == 0 && !host_complete(host, c->action, c->end_ns))
			return false;
	}
	thread_pages_leave_rest(t);
	group->copies = 0;
	return true;
}

static bool perform_other(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	watch_before(t, a);
	look_at(t, a, target->block);
	t->end_ns = 0;
	t->push_block = NULL;
	if (!thread_perform(t, a, target))
		return false;
	watch_after(t, a, target);
	return host_complete(&t->system->host, a, system_later(t->now_ns, t->end_ns));
}

/* Copies are kept until the engine has handed out all of their group. */
bool thread_pump(struct thread *t, uint64_t ticket, enum uvmp_status *status)
{
	struct group group = {.copies = 0};
	const struct uvmp_action *action;
	struct host_target target;

	t->block = UINT64_MAX;
	thread_pages_begin(t);
	for (;;) {
		if (ticket == 0)
			thread_report_faults(t);
		*status = host_next(&t->system->host, t->now_ns, &action);
		if (*status != UVMP_OK && group.copies == 0) {
			thread_pages_leave_rest(t);
			watch_rest(t);
			return *status != UVMP_ERR_ARENA;
		}
		if (*status != UVMP_OK) {
			if (!perform_group(t, &group, ticket == 0))
				return false;
			continue;
		}
		if (!host_perform(&t->system->host, action, &target))
			return false;
		if (is_copy(action)) {
			group_add(&group, action, &target);
			if (group.copies == GROUP_COPIES_MAX && !perform_group(t, &group, ticket == 0))
				return false;
			continue;
		}
		if (!perform_other(t, action, &target))
			return false;
		if (action->kind == UVMP_ACTION_DONE && action->ticket == ticket) {
			thread_pages_leave_rest(t);
			*status = (enum uvmp_status)action->status;
			thread_end_batch(t);
			watch_rest(t);
			return true;
		}
	}
}
