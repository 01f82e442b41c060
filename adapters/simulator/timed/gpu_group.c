/* Thread blocks; gpu_group.h.
 *
 * An SM holds as many thread blocks as fit. With thread oversubscription (Kim et al., ASPLOS'20, section 4.1) it gets extra
 * blocks, whose registers and state lie in the GPU's memory: they are switched out. If all warps of a block wait for
 * pages, the block is switched out. Of the switched-out blocks with a warp that can run, the block that was
 * switched out first is switched in; the same happens when a block has ended, before the SM gets a new one. Saving a
 * block, and restoring it if it has run before, moves the context of each of its warps (context_bytes), one after the
 * other, in the SM's share of the memory bandwidth. Warps of a block that is switched out are woken like others, and run
 * when their block is switched in.
 *
 * If the limit falls, the excess blocks are held: of the blocks that are switched out, those that were switched out last.
 * They are switched in again, and the SM gets new ones, only when others have ended.
 *
 * SMs that stand still (ETC's throttling) are the last ones. Their warps wait, and they get no blocks; but if the other
 * SMs have no work left, they run. */
#include "gpu_group.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gpu_ready.h"

#define WARPS_MOST 32u /* of a thread block */

/* -- room -- */

static bool grow_sm(const struct gpu *gpu, struct sm *sm, uint32_t warps, uint32_t groups)
{
	return ARRAY_RESIZE(sm->warp, gpu->warps_room, warps) &&
	       ARRAY_RESIZE(sm->group, gpu->groups_room, groups) &&
	       ARRAY_RESIZE(sm->ready, 2u * (uint64_t)gpu->warps_room, 2u * (uint64_t)warps);
}

bool gpu_group_grow(struct gpu *gpu, uint32_t extra)
{
	uint32_t warps = gpu->model->warps_per_sm + extra * WARPS_MOST;
	uint32_t groups = gpu->model->blocks_per_sm + extra;

	if (groups <= gpu->groups_room)
		return true;
	for (uint32_t i = 0; i < gpu->model->sms; i++) {
		if (!grow_sm(gpu, &gpu->sm[i], warps, groups))
			return false;
	}
	gpu->warps_room = warps;
	gpu->groups_room = groups;
	return true;
}

/* -- in and out -- */

/* The SM's share of the memory bandwidth moves the contexts of `warps` warps, from at_ns on. Returns when that ends. */
static uint64_t move_contexts(const struct gpu *gpu, struct sm *sm, uint64_t at_ns, uint32_t warps)
{
	uint64_t owed = sm->memory_debt + (uint64_t)warps * gpu->model->context_bytes * 1000u;

	if (sm->memory_ns < at_ns)
		sm->memory_ns = at_ns;
	sm->memory_ns += owed / gpu->share;
	sm->memory_debt = owed % gpu->share;
	return sm->memory_ns;
}

/* All its warps that have not ended wait: for pages, or at a barrier for those. */
static bool is_all_waiting(const struct group *group)
{
	return group->left != 0 && group->waiting + group->at_barrier == group->left;
}

static bool is_stalled(const struct group *group)
{
	return group->is_in && is_all_waiting(group);
}

static bool can_come_in(const struct group *group)
{
	return group->left != 0 && !group->is_in && !group->is_held && !is_all_waiting(group);
}

/* The switched-out group with the lowest number in switch-out order that can run; NULL: none can run. */
static struct group *first_out(const struct gpu *gpu, struct sm *sm)
{
	struct group *first = NULL;

	for (uint32_t i = 0; i < gpu->groups_room; i++) {
		struct group *group = &sm->group[i];

		if (can_come_in(group) && (!first || group->out_number < first->out_number))
			first = group;
	}
	return first;
}

static struct group *first_stalled(const struct gpu *gpu, struct sm *sm)
{
	for (uint32_t i = 0; i < gpu->groups_room; i++) {
		if (is_stalled(&sm->group[i]))
			return &sm->group[i];
	}
	return NULL;
}

/* The warp, whose block is switched in, continues when it can and the block is restored. */
static void go_on(struct gpu *gpu, struct sm *sm, uint32_t warp)
{
	const struct warp *w = &sm->warp[warp];
	uint64_t in_ns = sm->group[w->group].in_ns;

	gpu_ready_add(gpu, sm, warp, in_ns > w->ready_ns ? in_ns : w->ready_ns);
}

/* Saved from at_ns on; when its place is free. */
static uint64_t switch_out(struct gpu *gpu, struct sm *sm, struct group *group, uint64_t at_ns)
{
	group->is_in = false;
	group->out_number = gpu->out_number++;
	sm->blocks_in--;
	gpu->counts.context_switches++;
	return move_contexts(gpu, sm, at_ns, group->left);
}

/* Its warps that do not wait continue when the context has been restored. */
static void switch_in(struct gpu *gpu, struct sm *sm, struct group *group, uint64_t at_ns)
{
	uint32_t place = (uint32_t)(group - sm->group);

	if (group->has_run)
		at_ns = move_contexts(gpu, sm, at_ns, group->left) + gpu->model->memory_latency_ns;
	group->in_ns = at_ns;
	group->is_in = group->has_run = true;
	sm->blocks_in++;
	for (uint32_t i = 0; i < gpu->warps_room; i++) {
		const struct warp *w = &sm->warp[i];

		if (w->is_alive && w->group == place && !w->is_waiting && !w->is_at_barrier)
			go_on(gpu, sm, i);
	}
}

/* Switches in blocks that can run, while there is a free place or a block that only waits. */
static void settle(struct gpu *gpu, struct sm *sm, uint64_t at_ns)
{
	struct group *in, *out;

	while (sm->blocks != sm->blocks_in && (in = first_out(gpu, sm)) != NULL) {
		if (sm->blocks_in < gpu->groups_per_sm) {
			switch_in(gpu, sm, in, at_ns);
			continue;
		}
		out = first_stalled(gpu, sm);
		if (!out)
			return;
		switch_in(gpu, sm, in, switch_out(gpu, sm, out, at_ns));
	}
}

/* -- limits -- */

/* The one to be held next: the last that went out; or to be let go next: the first. */
static struct group *next_held(const struct gpu *gpu, struct sm *sm, bool is_held)
{
	struct group *next = NULL;

	for (uint32_t i = 0; i < gpu->groups_room; i++) {
		struct group *group = &sm->group[i];

		if (group->left == 0 || group->is_in || group->is_held != is_held)
			continue;
		if (!next || (group->out_number < next->out_number) == is_held)
			next = group;
	}
	return next;
}

/* As many as there are too many. Those that are in are never more than fit, so that enough are out. */
static void hold(const struct gpu *gpu, struct sm *sm)
{
	uint32_t most = gpu->groups_per_sm + gpu->extra, too_many = sm->blocks > most ? sm->blocks - most : 0;

	for (; sm->blocks_held < too_many; sm->blocks_held++)
		next_held(gpu, sm, false)->is_held = true;
	for (; sm->blocks_held > too_many; sm->blocks_held--)
		next_held(gpu, sm, true)->is_held = false;
}

void gpu_group_limit(struct gpu *gpu, uint32_t still, uint32_t extra)
{
	uint32_t sms = gpu->model->sms;

	if (!gpu_group_grow(gpu, extra)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	gpu->extra = extra;
	gpu->may_run = gpu->runs = still < sms ? sms - still : 1u;
	gpu_ready_find_soonest(gpu);
	for (uint32_t i = 0; i < sms; i++) {
		hold(gpu, &gpu->sm[i]);
		settle(gpu, &gpu->sm[i], gpu->now_ns);
	}
	gpu_group_deal(gpu);
}

/* -- dealing -- */

static uint32_t free_group(const struct sm *sm)
{
	uint32_t place = 0;

	while (sm->group[place].left != 0)
		place++;
	return place;
}

static void start_warps(struct gpu *gpu, struct sm *sm, uint32_t place)
{
	uint32_t number = 0;

	for (uint32_t i = 0; number < gpu->kernel.warps; i++) {
		struct warp *w = &sm->warp[i];

		if (w->is_alive)
			continue;
		workload_start_warp(gpu->workload, &w->slot, gpu->next_block, number++);
		w->group = place;
		w->has_step = false;
		w->is_alive = true;
		w->ready_ns = gpu->now_ns;
		if (sm->group[place].is_in)
			go_on(gpu, sm, i);
	}
}

/* Gives the SM the next thread block; false: no block or no place is left. */
static bool deal_block(struct gpu *gpu, struct sm *sm)
{
	uint32_t place;
	bool is_in = sm->blocks_in < gpu->groups_per_sm;

	if (sm->blocks >= gpu->groups_per_sm + gpu->extra || gpu->next_block == gpu->kernel.blocks)
		return false;
	place = free_group(sm);
	sm->group[place] = (struct group){.left = gpu->kernel.warps, .is_in = is_in, .has_run = is_in};
	if (!is_in)
		sm->group[place].out_number = gpu->out_number++;
	sm->blocks++;
	sm->blocks_in += is_in;
	start_warps(gpu, sm, place);
	gpu->alive += gpu->kernel.warps;
	gpu->next_block++;
	return true;
}

/* A thread block for one SM of each cluster, the one with that number. */
static bool deal_round(struct gpu *gpu, uint32_t number)
{
	bool any = false;

	for (uint32_t i = number; i < gpu->runs; i += gpu->model->sms_per_utlb)
		any |= deal_block(gpu, &gpu->sm[i]);
	return any;
}

/* SMs that stand still run again when no other SM has work left. */
static void let_go(struct gpu *gpu)
{
	uint32_t i = 0;

	while (i < gpu->runs && gpu->sm[i].blocks == 0)
		i++;
	if (i != gpu->runs)
		return;
	gpu->runs = gpu->model->sms;
	gpu_ready_find_soonest(gpu);
}

void gpu_group_deal(struct gpu *gpu)
{
	bool any = gpu->workload && gpu->next_block < gpu->kernel.blocks;

	while (any) {
		any = false;
		for (uint32_t first = 0; first < gpu->model->sms_per_utlb; first++)
			any |= deal_round(gpu, first);
	}
	for (uint32_t i = 0; i < gpu->model->sms && gpu->extra != 0; i++)
		settle(gpu, &gpu->sm[i], gpu->now_ns);
	if (gpu->runs != gpu->model->sms)
		let_go(gpu);
}

void gpu_group_begin(struct gpu *gpu)
{
	gpu->runs = gpu->may_run;
	gpu_ready_find_soonest(gpu);
	gpu_group_deal(gpu);
}

/* -- warps -- */

void gpu_group_wait(struct gpu *gpu, uint32_t sm_index, uint32_t warp)
{
	struct sm *sm = &gpu->sm[sm_index];
	struct group *group = &sm->group[sm->warp[warp].group];

	sm->warp[warp].is_waiting = true;
	group->waiting++;
	if (is_stalled(group))
		settle(gpu, sm, sm->now_ns);
}

/* If every warp of the thread block that has not ended is at the barrier, all go on at now_ns. */
static void pass_barrier(struct gpu *gpu, struct sm *sm, uint32_t place, uint64_t now_ns)
{
	struct group *group = &sm->group[place];

	if (group->at_barrier == 0 || group->at_barrier != group->left)
		return;
	group->at_barrier = 0;
	for (uint32_t i = 0; i < gpu->warps_room; i++) {
		struct warp *w = &sm->warp[i];

		if (!w->is_alive || w->group != place)
			continue;
		w->is_at_barrier = false;
		w->ready_ns = now_ns;
		go_on(gpu, sm, i);
	}
}

void gpu_group_synchronise(struct gpu *gpu, uint32_t sm_index, uint32_t warp)
{
	struct sm *sm = &gpu->sm[sm_index];
	uint32_t place = sm->warp[warp].group;

	sm->warp[warp].is_at_barrier = true;
	sm->group[place].at_barrier++;
	pass_barrier(gpu, sm, place, sm->now_ns);
	if (is_stalled(&sm->group[place]))
		settle(gpu, sm, sm->now_ns);
}

void gpu_group_end(struct gpu *gpu, uint32_t sm_index, uint32_t warp, uint64_t end_ns)
{
	struct sm *sm = &gpu->sm[sm_index];
	struct group *group = &sm->group[sm->warp[warp].group];

	if (gpu->end_ns < end_ns)
		gpu->end_ns = end_ns;
	sm->warp[warp].is_alive = false;
	gpu->alive--;
	group->left--;
	pass_barrier(gpu, sm, sm->warp[warp].group, end_ns);
	if (group->left == 0) {
		sm->blocks--;
		sm->blocks_in--;
		hold(gpu, sm);
	}
	if (group->left == 0 || is_stalled(group))
		settle(gpu, sm, end_ns);
}

/* False: it did not wait. */
static bool wake(struct gpu *gpu, struct sm *sm, uint32_t warp, uint64_t ready_ns)
{
	struct warp *w = &sm->warp[warp];

	if (!w->is_waiting)
		return false;
	w->is_waiting = false;
	w->ready_ns = ready_ns;
	sm->group[w->group].waiting--;
	if (sm->group[w->group].is_in)
		go_on(gpu, sm, warp);
	return true;
}

void gpu_group_wake(struct gpu *gpu, uint32_t sm_index, uint32_t warp, uint64_t ready_ns)
{
	if (wake(gpu, &gpu->sm[sm_index], warp, ready_ns))
		settle(gpu, &gpu->sm[sm_index], gpu->now_ns);
}

void gpu_group_wake_sm(struct gpu *gpu, uint32_t sm_index, uint64_t ready_ns)
{
	struct sm *sm = &gpu->sm[sm_index];

	for (uint32_t k = 0; k < gpu->warps_room; k++)
		wake(gpu, sm, k, ready_ns);
	settle(gpu, sm, gpu->now_ns);
}

void gpu_group_wake_all(struct gpu *gpu, uint64_t ready_ns)
{
	for (uint32_t i = 0; i < gpu->model->sms; i++)
		gpu_group_wake_sm(gpu, i, ready_ns);
}
