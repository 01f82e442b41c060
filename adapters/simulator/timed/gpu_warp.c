/* SMs and warps; gpu_warp.h.
 *
 * A step asks for one page after another (a span), or for all its pages at once. When the pages are usable, the SM is busy
 * for as long as its share of the memory bandwidth takes, and the warp continues when latency and arithmetic are over. If
 * a page is not usable, the warp waits. */
#include "gpu_warp.h"

#include "uvmpolicy/base.h"

#include "gpu_group.h"
#include "gpu_ready.h"
#include "gpu_retire.h"
#include "gpu_translate.h"

#define WANTS 64u /* pages that a step can request at once; more are requested in turns */

/* -- steps -- */

/* The SM's arithmetic is busy with that many more operations. Returns how long. */
static uint64_t reserve_flops(const struct gpu *gpu, struct sm *sm, uint64_t flops)
{
	uint64_t owed = sm->flop_debt + flops * gpu->model->sms;

	if (sm->flop_ns < sm->now_ns)
		sm->flop_ns = sm->now_ns;
	sm->flop_ns += owed / gpu->model->gflops;
	sm->flop_debt = owed % gpu->model->gflops;
	return owed / gpu->model->gflops;
}

/* The latency of a step's data: from the least to the most, each equally likely. */
static uint64_t latency_ns(const struct gpu *gpu, struct sm *sm)
{
	uint32_t spread_ns = gpu->model->memory_spread_ns;

	if (spread_ns == 0)
		return gpu->model->memory_latency_ns;
	return gpu->model->memory_latency_ns + uvmp_random_below(&sm->random, spread_ns + UINT64_C(1));
}

/* The warp has asked for `bytes`, translated at ready_ns; when it can go on. Memory and arithmetic of an SM
 * work at the same time, and have time for each warp from now on: a warp that waits for a page across the link does
 * not hold up the others. */
static uint64_t work_ns(struct gpu *gpu, struct sm *sm, uint64_t ready_ns, uint64_t bytes, uint64_t flops)
{
	uint64_t owed = sm->memory_debt + bytes * 1000u, end_ns;

	if (sm->memory_ns < sm->now_ns)
		sm->memory_ns = sm->now_ns;
	sm->memory_ns += owed / gpu->share;
	sm->memory_debt = owed % gpu->share;
	end_ns = (ready_ns > sm->memory_ns ? ready_ns : sm->memory_ns) + latency_ns(gpu, sm);
	if (flops == 0)
		return end_ns;
	end_ns += reserve_flops(gpu, sm, flops);
	return end_ns > sm->flop_ns ? end_ns : sm->flop_ns;
}

/* The warp executes the instructions of its step, behind those of other warps. An instruction takes the time of a fused
 * multiply-add of 32 lanes: two operations each. When it can go on. */
static uint64_t code_ns(struct gpu *gpu, struct sm *sm, const struct workload_slot *slot)
{
	const struct model *m = gpu->model;
	uint64_t rate_64 = m->gflops_64 != 0 ? m->gflops_64 : m->gflops;

	reserve_flops(gpu, sm, 2u * WORKLOAD_LANES * (slot->instructions + (uint64_t)slot->doubles * m->gflops / rate_64));
	return sm->flop_ns;
}

/* A span: pages one after another. Returns when the warp continues; GPU_NEVER: it waits for a page. */
static uint64_t walk_span(struct gpu *gpu, struct sm *sm, struct warp *w)
{
	uint64_t page = w->at >> gpu->page_shift, end = (page + 1u) << gpu->page_shift, ready_ns, bytes;

	if (!gpu_ask(gpu, sm, w, page, &ready_ns))
		return GPU_NEVER;
	if (end > w->slot.end)
		end = w->slot.end;
	bytes = end - w->at;
	w->at = end;
	w->has_step = end != w->slot.end;
	return work_ns(gpu, sm, ready_ns, bytes, w->has_step ? 0 : w->slot.flops);
}

/* The same with `coalesces`: each page once, at its first lane. */
static void list_pages(const struct gpu *gpu, struct warp *w)
{
	for (uint32_t i = 0, before; i < w->slot.lanes; i++) {
		for (before = 0; before < i; before++)
			if (w->slot.lane[before] >> gpu->page_shift == w->slot.lane[i] >> gpu->page_shift)
				break;
		if (before == i)
			w->want |= (uint64_t)1 << i;
	}
}

/* The pages that the step requests now, one bit each; lanes on a page of an earlier lane are skipped. */
static void list_wants(const struct gpu *gpu, struct warp *w)
{
	uint64_t pages, last[4] = {GPU_NEVER, GPU_NEVER, GPU_NEVER, GPU_NEVER}; /* no page is this one */

	w->want = w->counted = 0;
	if (w->slot.lanes == 0) {
		pages = ((w->slot.end - 1u) >> gpu->page_shift) - (w->at >> gpu->page_shift) + 1u;
		w->want = pages >= WANTS ? ~(uint64_t)0 : ((uint64_t)1 << pages) - 1u;
		return;
	}
	if (gpu->model->coalesces != 0) {
		list_pages(gpu, w);
		return;
	}
	for (uint32_t i = 0; i < w->slot.lanes; i++) { /* neighbours are mostly neighbours */
		uint64_t page = w->slot.lane[i] >> gpu->page_shift;

		if (page != last[0] && page != last[1] && page != last[2] && page != last[3])
			w->want |= (uint64_t)1 << i;
		last[3] = last[2];
		last[2] = last[1];
		last[1] = last[0];
		last[0] = page;
	}
}

/* Bytes of the step that are moved when all its pages are there, and on to the next part of a long one. */
static uint64_t finish_wants(const struct gpu *gpu, struct warp *w)
{
	uint64_t end, bytes;

	if (w->slot.lanes != 0) {
		w->has_step = false;
		return (uint64_t)w->slot.lanes *
		       (w->slot.lane_bytes < GPU_SECTOR ? GPU_SECTOR : w->slot.lane_bytes);
	}
	end = ((w->at >> gpu->page_shift) + WANTS) << gpu->page_shift;
	if (end > w->slot.end)
		end = w->slot.end;
	bytes = end - w->at;
	w->at = end;
	w->has_step = end != w->slot.end;
	if (w->has_step)
		list_wants(gpu, w);
	return bytes;
}

/* All pages at once, but those that wait with an entry of the MSHRs; as walk_span. */
static uint64_t ask_all(struct gpu *gpu, struct sm *sm, struct warp *w)
{
	uint64_t ready_ns, bytes;

	if (!gpu_ask_all(gpu, sm, w, &ready_ns))
		return GPU_NEVER;
	bytes = finish_wants(gpu, w);
	return work_ns(gpu, sm, ready_ns, bytes, w->has_step ? 0 : w->slot.flops);
}

/* The next step; false: the warp has ended. */
static bool begin_step(struct gpu *gpu, struct warp *w)
{
	if (!workload_step(gpu->workload, &w->slot))
		return false;
	w->has_step = true;
	w->at = w->slot.at;
	w->needs = (uint8_t)uvmp_access_right(w->slot.access);
	w->counted = 0;
	if (w->slot.at_once)
		list_wants(gpu, w);
	return true;
}

/* The step is instructions, and a barrier behind them: the warp comes to that when they have been executed. */
static void run_code(struct gpu *gpu, uint32_t sm_index, uint32_t index)
{
	struct sm *sm = &gpu->sm[sm_index];
	struct warp *w = &sm->warp[index];

	if (w->slot.instructions != 0 || w->slot.doubles != 0) {
		gpu_ready_add(gpu, sm, index, code_ns(gpu, sm, &w->slot));
		w->slot.instructions = w->slot.doubles = 0;
		w->has_step = w->slot.is_barrier;
		return;
	}
	w->has_step = false;
	gpu_group_synchronise(gpu, sm_index, index);
}

/* The first ready warp has its turn. */
static void run_warp(struct gpu *gpu, uint32_t sm_index)
{
	struct sm *sm = &gpu->sm[sm_index];
	uint32_t index = gpu_ready_take(sm);
	struct warp *w = &sm->warp[index];
	uint64_t ready_ns;

	if (!w->has_step && !begin_step(gpu, w)) {
		if (gpu->model->retires_idle != 0)
			gpu_retire_add(gpu, sm_index, index);
		else
			gpu_group_end(gpu, sm_index, index, sm->now_ns);
		return;
	}
	if (w->slot.is_code) {
		run_code(gpu, sm_index, index);
		return;
	}
	ready_ns = w->slot.at_once ? ask_all(gpu, sm, w) : walk_span(gpu, sm, w);
	if (ready_ns != GPU_NEVER)
		gpu_ready_add(gpu, sm, index, ready_ns);
	else
		gpu_group_wait(gpu, sm_index, index);
}

void gpu_warp_run(struct gpu *gpu, uint32_t sm_index, uint64_t until_ns)
{
	struct sm *sm = &gpu->sm[sm_index];

	if (sm->now_ns < gpu->now_ns)
		sm->now_ns = gpu->now_ns;
	while (sm->count != 0 && sm->now_ns < until_ns && !gpu->is_lost) {
		uint64_t ready_ns = sm->ready[sm->first].ready_ns;

		if (ready_ns >= until_ns)
			break;
		if (sm->now_ns < ready_ns)
			sm->now_ns = ready_ns;
		run_warp(gpu, sm_index);
	}
	if (sm->now_ns < until_ns)
		sm->now_ns = until_ns;
}
