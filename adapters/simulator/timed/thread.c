/* What actions cost the thread that performs them; thread.h. */
#include "thread.h"

#include "../counters.h"
#include "thread_fault.h"
#include "thread_memory.h"
#include "watch.h"

#define BASIC_BLOCK_BYTES 65536u

static void note_copy(struct thread *t, uint64_t start_ns, uint64_t end_ns, uint32_t pages)
{
	if (t->batch_pages == 0)
		t->first_copy_ns = start_ns;
	t->last_ns = t->batch_pages == 0 ? end_ns : later(t->last_ns, end_ns);
	t->batch_pages += pages;
}

/* -- actions -- */

/* Evicted memory is allocated again only after the copies of the eviction, unless the plan overlaps both, or
 * memory is freed before it is needed. */
static bool waits_for_evictions(const struct thread *t)
{
	return t->system->model->queues_copies == 0 && t->system->host.params.run.policy->plan == UVMP_PLAN_SERIAL && !t->is_ahead;
}

/* Else each arriving page waits only for its own memory. */
static bool waits_for_all(const struct system *system)
{
	const struct uvmp_policy *policy = system->host.params.run.policy;

	return host_has_roots(&system->host) ||
	       (policy->plan == UVMP_PLAN_SERIAL && policy->free_buffer == 0);
}

static void wait_for_eviction(struct thread *t)
{
	if (waits_for_evictions(t))
		thread_wait(t, t->evicted_ns, &t->system->times->evict_ns);
	t->evicted_ns = 0;
	t->is_ahead = false;
}

/* The first action about a block pays for looking at it: once in a batch, a fault or a call. */
static void look_at(struct thread *t, const struct uvmp_action *a, struct sim_block *block)
{
	if (thread_is_frame(t, a))
		return;
	if (a->cause != UVMP_CAUSE_EVICTION)
		wait_for_eviction(t);
	if (a->cause == UVMP_CAUSE_EVICTION || a->page_bytes == 0 || a->address == t->block)
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

/* When is the block's memory ready for the first and the last arriving page? Of memory in pages the oldest is used
 * first. */
static struct reclaim_times take_memory(struct thread *t, uint32_t pages)
{
	struct system *system = t->system;

	if (waits_for_all(system))
		return (struct reclaim_times){t->memory_ns, t->memory_ns};
	return reclaim_take(&system->reclaim, pages);
}

/* A submitted copy runs while the thread continues; but a channel has a limited number of entries. */
static void push(struct thread *t, uint64_t *sum)
{
	thread_wait(t, t->system->push_ns[t->system->pushes % SYSTEM_PUSHES], sum);
}

static void note_push(struct thread *t, uint64_t end_ns)
{
	t->system->push_ns[t->system->pushes++ % SYSTEM_PUSHES] = end_ns;
	t->end_ns = end_ns;
}

/* Mappings, replays and threads that wait for copies wait for this one. */
static void note_end(struct thread *t, uint64_t end_ns)
{
	t->copies_ns = later(t->copies_ns, end_ns);
}

/* With holds_memory, memory is evicted last until its pages have arrived. */
static void hold(struct system *system, const struct sim_block *block, const uvmp_mask *pages, uint64_t until_ns)
{
	if (system->model->holds_memory == 0)
		return;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		(void)uvmp_service_hold(system->host.service, HOST_GPU, HOST_SPACE,
					block->shape.start + (uint64_t)page * system->model->page_bytes, until_ns);
}

/* With maps_copies: the pages of the transfer, to the GPU, are there at end_ns. */
static void note_arrival(struct thread *t, const struct sim_block *block, const uvmp_mask *pages, struct uvmp_region transfer,
			 uint64_t end_ns)
{
	struct thread_arrival *arrival = &t->arrival[t->arrivals];

	if (t->system->model->maps_copies == 0 || t->arrivals == GROUP_STEPS_MAX)
		return;
	arrival->block = block;
	arrival->end_ns = end_ns;
	uvmp_mask_zero(&arrival->pages);
	uvmp_mask_region_and(&arrival->pages, pages, transfer);
	t->arrivals++;
}

/* A copy to the CPU that takes places of withdrawn ones: the link has kept these free. */
static void copy_in_place(struct thread *t)
{
	const struct staged_place *taken = &t->system->staged.taken;

	t->start_ns = later(t->now_ns, taken->begin_ns);
	note_push(t, later(t->start_ns, taken->end_ns));
}

/* In UVM Smart (queues_copies) copies of a block do not wait for each other. */
static uint64_t copied_ns(const struct system *system, const struct sim_block *block)
{
	return system->model->queues_copies != 0 ? 0 : block->copied_ns;
}

static void copy(struct thread *t, const struct uvmp_action *a, struct sim_block *block, struct uvmp_region transfer)
{
	uint32_t pages = uvmp_region_pages(transfer);
	struct system *system = t->system;
	uint64_t bytes = (uint64_t)pages * system->model->page_bytes, start_ns, end_ns, free_ns;
	bool is_out = a->cause == UVMP_CAUSE_EVICTION;
	enum model_direction direction = a->to == HOST_GPU ? MODEL_TO_GPU : MODEL_TO_CPU;
	uint64_t *sum = is_out ? &system->times->evict_ns : &system->times->migrate_ns;
	struct reclaim_times memory = {0, 0};

	if (direction == MODEL_TO_GPU)
		memory = take_memory(t, pages);
	thread_work(t, system->model->copy_ns + (uint64_t)pages * system->model->page_ns, sum);
	push(t, sum);
	if (is_out && system->staged.taken.pages >= pages) {
		copy_in_place(t);
		staged_note_end(&system->staged, block, transfer.first, t->end_ns);
		return;
	}
	if (is_out)
		bytes -= (uint64_t)system->staged.taken.pages * system->model->page_bytes;
	start_ns = later(is_out && t->leave_ns != 0 ? t->leave_ns : t->now_ns, copied_ns(system, block));
	start_ns = later(start_ns, memory.first_ns);
	start_ns = later(start_ns, system->link.engine[direction].copies_until_ns);
	t->start_ns = start_ns;
	end_ns = link_copy_pages(&system->link, direction, start_ns, bytes);
	if (memory.last_ns > start_ns)
		end_ns = link_delay_pages(&system->link, direction, memory.last_ns,
					  bytes < BASIC_BLOCK_BYTES ? bytes : BASIC_BLOCK_BYTES);
	note_push(t, end_ns);
	free_ns = is_out && system->model->frees_at_start != 0 ? start_ns : end_ns;
	block->copied_ns = free_ns; /* the next copy of the block waits until then */
	if (!is_out)
		note_end(t, end_ns);
	else if (waits_for_evictions(t))
		note_end(t, free_ns);
	if (direction == MODEL_TO_GPU) {
		note_copy(t, start_ns, end_ns, pages);
		hold(system, block, &a->pages, end_ns);
		note_arrival(t, block, &a->pages, transfer, end_ns);
	}
	if (!is_out)
		return;
	staged_note_end(&system->staged, block, transfer.first, end_ns);
	reclaim_delay(&system->reclaim, free_ns);
	t->evicted_ns = later(t->evicted_ns, free_ns);
	if (host_has_roots(&system->host))
		system->root_ns[t->evict_root] = later(system->root_ns[t->evict_root], free_ns);
	else
		t->memory_ns = later(t->memory_ns, free_ns);
}

/* The GPU writes zeros, beside the copies of the link. No page of the CPU has to be mapped for that. */
static void populate(struct thread *t, const struct uvmp_action *a, struct sim_block *block, uint32_t pages)
{
	struct system *system = t->system;
	uint64_t bytes = (uint64_t)pages * system->model->page_bytes;
	struct reclaim_times memory;

	if (a->to != HOST_GPU) /* the CPU's own, part of cpu_fault_ns */
		return;
	memory = take_memory(t, pages);
	thread_work(t, system->model->copy_ns, &system->times->migrate_ns);
	push(t, &system->times->migrate_ns);
	t->start_ns = later(later(system->zeroed_ns, t->now_ns), later(block->copied_ns, memory.last_ns));
	system->zeroed_ns = t->start_ns + bytes * 1000u / system->model->zero_mb_s;
	block->copied_ns = system->zeroed_ns;
	note_push(t, system->zeroed_ns);
	note_end(t, system->zeroed_ns);
}

/* The CPU's own page tables. */
static void map_cpu(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	const struct model *model = t->system->model;
	uint32_t pages = uvmp_mask_weight(&a->pages);
	struct sim_times *times = t->system->times;

	if (a->kind == UVMP_ACTION_UNMAP)
		thread_work(t, model->unmap_ns + (uint64_t)pages * model->unmap_page_ns, &times->migrate_ns);
	else if (!t->is_fault_of_cpu)
		thread_work(t, model->map_ns + (uint64_t)pages * model->map_page_ns,
			    a->cause == UVMP_CAUSE_EVICTION ? &times->evict_ns : &times->map_ns);
	host_set_rights(target, a);
}

/* With maps_copies: pages of transfers that have been noted are mapped when these end. *rest: the other pages. */
static void map_arrivals(struct thread *t, const struct uvmp_action *a, const struct host_target *target, uvmp_mask *rest)
{
	uvmp_mask pages;

	for (uint32_t i = 0; i < t->arrivals; i++) {
		const struct thread_arrival *arrival = &t->arrival[i];

		if (arrival->block != target->block)
			continue;
		uvmp_mask_and(&pages, rest, &arrival->pages);
		if (uvmp_mask_is_empty(&pages))
			continue;
		gpu_map(t->system->gpu, arrival->end_ns, target->block, &pages, a->right, false);
		uvmp_mask_andnot(rest, rest, &pages);
	}
}

/* With maps_copies, the GPU uses the pages of a victim until its write-back begins: when the copies that are queued have ended. A
 * use withdraws the victim if it is complete: one run of pages. */
static uint64_t stage(struct thread *t, const struct host_target *target)
{
	struct system *system = t->system;
	struct staged *staged = &system->staged;
	struct staged_victim victim = {.block = target->block, .pages = *target->pages, .is_first = t->is_first_part};

	victim.begin_ns = later(t->end_ns, system->link.engine[MODEL_TO_CPU].copies_until_ns);
	if (staged->taken.pages != 0 && staged->taken.pages >= uvmp_mask_weight(target->pages))
		victim.begin_ns = later(t->end_ns, staged->taken.begin_ns);
	victim.end_ns = victim.begin_ns;
	if (system_withdraws(system) &&
	    uvmp_region_pages(uvmp_mask_next_run(target->pages, 0)) == uvmp_mask_weight(target->pages) &&
	    !staged_add(staged, &victim, t->now_ns))
		host_fail(&system->host, "out of memory");
	return victim.begin_ns;
}

/* The GPU sees the change of its page tables at t->end_ns. */
static void give(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	bool is_map = a->kind == UVMP_ACTION_MAP;
	uvmp_mask rest = *target->pages;
	uint64_t at_ns = t->end_ns;

	if (is_map && a->from != UVMP_CPU)
		map_arrivals(t, a, target, &rest);
	if (!is_map && t->system->model->maps_copies != 0 && a->cause == UVMP_CAUSE_EVICTION)
		at_ns = stage(t, target);
	if (!uvmp_mask_is_empty(&rest))
		gpu_map(t->system->gpu, at_ns, target->block, &rest, a->right, is_map && a->from == UVMP_CPU);
}

/* Is the action about pages of a withdrawn victim, which the GPU has and reaches all the time? */
static bool returns(const struct system *system, const struct uvmp_action *a)
{
	return system->staged.is_back && a->to == HOST_GPU && a->cause != UVMP_CAUSE_EVICTION &&
	       (a->kind == UVMP_ACTION_MAP || a->kind == UVMP_ACTION_UNMAP || a->kind == UVMP_ACTION_COPY);
}

static void map(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	const struct model *model = t->system->model;
	struct sim_times *times = t->system->times;

	if (a->to != HOST_GPU) {
		map_cpu(t, a, target);
		return;
	}
	host_set_planes(&target->block->given_low, &target->block->given_high, target->pages, a->right);
	if (!t->is_fault_of_cpu)
		thread_work(t, model->map_ns + (uint64_t)uvmp_mask_weight(&a->pages) * model->map_page_ns,
			    a->cause == UVMP_CAUSE_EVICTION ? &times->evict_ns : &times->map_ns);
	/* the thread waits until rights are removed; rights are granted after the data */
	t->end_ns = a->kind == UVMP_ACTION_MAP ? later(t->now_ns, t->copies_ns) : t->now_ns;
	if (!returns(t->system, a))
		give(t, a, target);
	if (t->batch_pages != 0)
		t->last_ns = later(t->last_ns, t->now_ns);
}

static void wait_for(struct thread *t, const struct uvmp_action *a)
{
	if (t->system->model->queues_copies != 0)
		return;
	thread_wait(t, a->waits_for_copies ? t->copies_ns : t->replay_ns, &t->system->times->replay_ns);
}

void thread_perform(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		thread_fetch(t, a);
		return;
	case UVMP_ACTION_ALLOCATE:
		thread_allocate(t, a, target->block);
		return;
	case UVMP_ACTION_EVICT:
		thread_evict(t, a);
		return;
	case UVMP_ACTION_MAP:
	case UVMP_ACTION_UNMAP:
	case UVMP_ACTION_REVOKE:
		map(t, a, target);
		return;
	case UVMP_ACTION_FLUSH:
		thread_flush(t, a);
		return;
	case UVMP_ACTION_REPLAY:
		thread_replay(t);
		return;
	case UVMP_ACTION_WAIT:
		wait_for(t, a);
		return;
	case UVMP_ACTION_CLEAR:
		counters_clear(&t->system->host, a);
		return;
	case UVMP_ACTION_LIMIT:
		gpu_limit(t->system->gpu, t->now_ns, a->stopped_sms, a->extra_blocks);
		return;
	case UVMP_ACTION_THROTTLE:
		t->until_ns = a->until_ns;
		return;
	default:
		return;
	}
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
	if (returns(t->system, a)) {
		c->end_ns = later(c->end_ns, t->now_ns);
		return;
	}
	host_transfer(&t->system->host, a, &c->target, transfer);
	look_at(t, a, c->target.block);
	t->end_ns = 0;
	if (a->kind == UVMP_ACTION_COPY)
		copy(t, a, c->target.block, transfer);
	else
		populate(t, a, c->target.block, pages);
	watch_transfer(t, a);
	c->end_ns = later(c->end_ns, later(t->now_ns, t->end_ns));
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
	group->copies = 0;
	return true;
}

static bool perform_other(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	watch_before(t, a);
	look_at(t, a, target->block);
	t->end_ns = 0;
	thread_perform(t, a, target);
	watch_after(t, a, target);
	return host_complete(&t->system->host, a, later(t->now_ns, t->end_ns));
}

/* Copies are kept until the engine has handed out all of their group. */
bool thread_pump(struct thread *t, uint64_t ticket, enum uvmp_status *status)
{
	struct group group = {.copies = 0};
	const struct uvmp_action *action;
	struct host_target target;

	t->block = UINT64_MAX;
	for (;;) {
		if (ticket == 0)
			thread_report_faults(t);
		*status = host_next(&t->system->host, t->now_ns, &action);
		if (*status != UVMP_OK && group.copies == 0) {
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
			*status = (enum uvmp_status)action->status;
			thread_end_batch(t);
			watch_rest(t);
			return true;
		}
	}
}
