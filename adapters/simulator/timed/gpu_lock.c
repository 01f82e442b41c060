/* Locks that outlast a replay; gpu_lock.h.
 *
 * After a fault, translations in progress proceed. New ones wait until all faults of the uTLB are resolved (NVIDIA blog
 * 2017). A replay resolves the faults whose pages have the right by then. If that is all of them, the
 * uTLB is unlocked, and all its warps try again. Else it stays locked: only the warps with faults try again, each with one
 * step, and those that still lack a page raise new faults. When none does, the uTLB is unlocked. */
#include "gpu_lock.h"

#include <stdlib.h>

#include "array.h"
#include "gpu_group.h"

void gpu_lock_note(struct gpu *gpu, const struct gpu_fault *fault)
{
	struct utlb *utlb = &gpu->utlb[fault->utlb];

	if (gpu->model->lock_holds == 0)
		return;
	if (!ARRAY_RESERVE(utlb->out, utlb->out_room, utlb->outs + 1u)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	utlb->out[utlb->outs++] = *fault;
}

static bool is_resolved(const struct gpu *gpu, const struct gpu_fault *fault)
{
	uint32_t page;
	const struct sim_block *block = space_find(gpu->space, fault->address, &page);

	return !block ||
	       right_on(block, UVMP_CPU + 1u, page) >= (uint32_t)uvmp_access_right((enum uvmp_access)fault->access);
}

static bool is_any_left(const struct gpu *gpu, const struct utlb *utlb)
{
	for (size_t i = 0; i < utlb->outs; i++)
		if (!is_resolved(gpu, &utlb->out[i]))
			return true;
	return false;
}

/* All warps behind the uTLB that wait. */
static void wake_behind(struct gpu *gpu, const struct utlb *utlb, uint64_t ready_ns)
{
	uint32_t first = (uint32_t)(utlb - gpu->utlb) * gpu->model->sms_per_utlb;

	for (uint32_t i = first; i < first + gpu->model->sms_per_utlb && i < gpu->model->sms; i++)
		gpu_group_wake_sm(gpu, i, ready_ns);
}

static void unlock(struct gpu *gpu, struct utlb *utlb, uint64_t ready_ns)
{
	utlb->is_held = false;
	utlb->lock_ns = GPU_NEVER;
	wake_behind(gpu, utlb, ready_ns);
}

/* Will the warp try again without another replay? Not while its SM stands still or its thread block is out. */
static bool tries_again(const struct gpu *gpu, uint32_t sm_index, const struct warp *w)
{
	return w->is_retried && w->is_alive && !w->is_waiting && sm_index < gpu->runs &&
	       gpu->sm[sm_index].group[w->group].is_in;
}

static bool is_any_trying(const struct gpu *gpu, const struct utlb *utlb)
{
	uint32_t first = (uint32_t)(utlb - gpu->utlb) * gpu->model->sms_per_utlb;

	for (uint32_t i = first; i < first + gpu->model->sms_per_utlb && i < gpu->model->sms; i++)
		for (uint32_t k = 0; k < gpu->warps_room; k++)
			if (tries_again(gpu, i, &gpu->sm[i].warp[k]))
				return true;
	return false;
}

/* The warps with faults try again, and pass the lock. */
static void retry(struct gpu *gpu, struct utlb *utlb, uint64_t ready_ns)
{
	for (size_t i = 0; i < utlb->outs; i++) {
		const struct gpu_fault *fault = &utlb->out[i];
		struct warp *w = &gpu->sm[fault->sm].warp[fault->warp];

		if (!w->is_waiting)
			continue;
		w->is_retried = true;
		gpu_group_wake(gpu, fault->sm, fault->warp, ready_ns);
	}
}

/* Replays may follow each other within replay_ns: warps that were let go by the last one have not tried yet. */
static bool is_still_trying(const struct gpu *gpu, const struct utlb *utlb)
{
	return utlb->is_held && utlb->outs == 0 && is_any_trying(gpu, utlb);
}

void gpu_lock_replay(struct gpu *gpu)
{
	uint64_t ready_ns = gpu->now_ns + gpu->model->replay_ns;

	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		struct utlb *utlb = &gpu->utlb[i];

		if (is_still_trying(gpu, utlb))
			continue;
		utlb->is_held = is_any_left(gpu, utlb);
		if (utlb->is_held)
			retry(gpu, utlb, ready_ns);
		if (!utlb->is_held || !is_any_trying(gpu, utlb))
			unlock(gpu, utlb, ready_ns);
		utlb->outs = 0;
	}
}

void gpu_lock_settle(struct gpu *gpu)
{
	if (gpu->model->lock_holds == 0)
		return;
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		struct utlb *utlb = &gpu->utlb[i];

		if (utlb->is_held && utlb->outs == 0 && !is_any_trying(gpu, utlb))
			unlock(gpu, utlb, gpu->now_ns);
	}
}
