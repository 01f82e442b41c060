/* A GPU with time; gpu.h is its interface, gpu_internal.h lists its parts.
 *
 * Time advances in quanta. In each, every SM runs its ready warps in turn. SMs meet only at the end of a quantum: there the
 * faults of all are ordered and handed to the GMMU, and thread blocks go to SMs with room. While every warp waits,
 * quanta are skipped. Page tables change, and replays happen, between quanta. After a replay all warps that wait try
 * again. */
#include "gpu.h"

#include <stdlib.h>

#include "gpu_fault.h"
#include "gpu_group.h"
#include "gpu_idle.h"
#include "gpu_internal.h"
#include "gpu_lock.h"
#include "gpu_ready.h"
#include "gpu_remote.h"
#include "gpu_retire.h"
#include "gpu_table.h"
#include "gpu_warp.h"

#define QUANTUM_NS 1000u

/* -- opening -- */

static bool open_sms(struct gpu *gpu)
{
	const struct model *m = gpu->model;

	for (uint32_t i = 0; i < m->sms; i++)
		gpu->sm[i].utlb = &gpu->utlb[i / m->sms_per_utlb];
	gpu->may_run = gpu->runs = m->sms;
	gpu_seed(gpu, 0);
	return gpu_group_grow(gpu, 0);
}

void gpu_seed(struct gpu *gpu, uint64_t seed)
{
	for (uint32_t i = 0; i < gpu->model->sms; i++)
		gpu->sm[i].random = seed + ((uint64_t)i << 32u);
}

static bool open_asked(const struct gpu *gpu, struct utlb *utlb)
{
	if (gpu->model->utlb_merges == 0)
		return true;
	utlb->asked = calloc(gpu->model->utlb_faults, sizeof(*utlb->asked));
	return utlb->asked != NULL;
}

static bool open_tlbs(struct gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		gpu->utlb[i].lock_ns = GPU_NEVER;
		if (!tlb_open(&gpu->utlb[i].tlb, gpu->model->utlb_entries) || !open_asked(gpu, &gpu->utlb[i]))
			return false;
	}
	return tlb_open(&gpu->l2.tlb, gpu->model->l2_tlb_entries);
}

static bool open_parts(struct gpu *gpu)
{
	const struct model *m = gpu->model;

	gpu->utlbs = (m->sms + m->sms_per_utlb - 1u) / m->sms_per_utlb;
	gpu->share = m->memory_mb_s / m->sms;
	gpu->soonest_ns = GPU_NEVER;
	gpu->page_shift = (uint32_t)__builtin_ctz(m->page_bytes);
	gpu->sm = calloc(m->sms, sizeof(*gpu->sm));
	gpu->utlb = calloc(gpu->utlbs, sizeof(*gpu->utlb));
	return gpu->sm && gpu->utlb && open_sms(gpu) && open_tlbs(gpu) &&
	       (m->mshr_entries == 0 || mshr_open(&gpu->mshr, m->mshr_entries));
}

struct gpu *gpu_open(const struct model *model, struct space *space, struct link *link,
		     struct gpu_listener listener)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu)
		return NULL;
	gpu->model = model;
	gpu->space = space;
	gpu->link = link;
	gpu->listener = listener;
	if (!open_parts(gpu)) {
		gpu_close(gpu);
		return NULL;
	}
	return gpu;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	for (uint32_t i = 0; gpu->sm && i < gpu->model->sms; i++) {
		free(gpu->sm[i].ready);
		free(gpu->sm[i].warp);
		free(gpu->sm[i].group);
	}
	for (uint32_t i = 0; gpu->utlb && i < gpu->utlbs; i++) {
		tlb_close(&gpu->utlb[i].tlb);
		free(gpu->utlb[i].out);
		free(gpu->utlb[i].asked);
	}
	tlb_close(&gpu->l2.tlb);
	mshr_close(&gpu->mshr);
	lanes_close(&gpu->lanes);
	free(gpu->gained);
	gpu_retire_close(gpu);
	free(gpu->fill);
	free(gpu->asking);
	free(gpu->sm);
	free(gpu->utlb);
	free(gpu->raised);
	free(gpu->sorted);
	free(gpu->written);
	free(gpu->event);
	free(gpu->change_ns);
	free(gpu);
}

/* -- kernels -- */

bool gpu_launch(struct gpu *gpu, struct workload *workload, uint64_t at_ns)
{
	const struct model *m = gpu->model;
	uint32_t groups = m->warps_per_sm / workload->warps;
	struct workload_kernel kernel = workload_keep_kernel(workload);

	if (at_ns > gpu->now_ns)
		gpu_advance(gpu, at_ns);
	gpu->workload = workload;
	workload->has_code = m->executes_code != 0;
	workload->coalesces = m->coalesces != 0;
	gpu->kernel = kernel;
	gpu->next_block = 0;
	gpu->groups_per_sm = groups < m->blocks_per_sm ? groups : m->blocks_per_sm;
	for (uint32_t i = 0; i < m->sms; i++)
		gpu->sm[i].now_ns = gpu->now_ns;
	gpu_group_begin(gpu);
	return gpu->groups_per_sm != 0;
}

bool gpu_is_done(const struct gpu *gpu)
{
	return gpu->is_lost || (gpu->alive == 0 && (!gpu->workload || gpu->next_block == gpu->kernel.blocks));
}

uint64_t gpu_end_ns(const struct gpu *gpu)
{
	return gpu->end_ns;
}

void gpu_progress(const struct gpu *gpu, uint64_t *done, uint64_t *total)
{
	*total = gpu->kernel.blocks * gpu->kernel.warps;
	*done = gpu->next_block * gpu->kernel.warps - gpu->alive;
}

bool gpu_is_lost(const struct gpu *gpu, uint64_t *address)
{
	*address = gpu->lost;
	return gpu->is_lost;
}

uint64_t gpu_now_ns(const struct gpu *gpu)
{
	return gpu->now_ns;
}

/* -- time -- */

/* Where misses are decided about when their walks end (remote_miss_ns), a quantum is a walk: an access that misses is answered
 * before the second next walk ends. */
static uint64_t quantum_ns(const struct gpu *gpu)
{
	return gpu->model->remote_miss_ns != 0 && gpu->model->walk_ns != 0 ? gpu->model->walk_ns : QUANTUM_NS;
}

/* Warps that wait to end do so before the SMs run, and their places get new thread blocks; those that come to their end
 * in the quantum, after it. */
static void run_quantum(struct gpu *gpu, uint64_t until_ns)
{
	uint64_t idle_ns = gpu_idle_ns(gpu);

	workload_restore_kernel(gpu->workload, &gpu->kernel);
	gpu_table_wake_lanes(gpu);
	if (gpu->retiring_count != 0 && idle_ns == gpu->now_ns) {
		gpu_retire(gpu, idle_ns, gpu->now_ns);
		gpu_group_deal(gpu);
	}
	for (uint32_t i = 0; i < gpu->runs; i++)
		gpu_warp_run(gpu, i, until_ns);
	gpu_retire(gpu, idle_ns, until_ns);
	gpu_remote_answer(gpu, until_ns);
	gpu_ready_find_soonest(gpu);
	gpu->counts.busy_ns += until_ns - gpu->now_ns;
	if (gpu->listener.busy)
		gpu->listener.busy(gpu->listener.context, gpu->now_ns, until_ns);
	gpu->now_ns = until_ns;
	gpu->owes_turn = false;
	gpu_fault_write(gpu);
	gpu_lock_settle(gpu);
	gpu_group_deal(gpu);
}

/* The next event, which is due, happens. Where the driver takes no time, it can take back what a replay has
 * promised within the same nanosecond; warps that are ready for it have a turn before. */
static void happen(struct gpu *gpu)
{
	if (gpu->owes_turn && gpu_table_takes_next(gpu) && gpu->soonest_ns <= gpu->now_ns)
		run_quantum(gpu, gpu->now_ns + 1u);
	gpu_table_step(gpu);
}

bool gpu_is_stuck(const struct gpu *gpu)
{
	return gpu->event_count == 0 && gpu->soonest_ns == GPU_NEVER;
}

static void pass_time(struct gpu *gpu, uint64_t until_ns, bool stops_when_done)
{
	const uint64_t most_ns = quantum_ns(gpu);

	while (gpu->now_ns < until_ns && !(stops_when_done && gpu_is_done(gpu))) {
		uint64_t event_ns = gpu_table_next_ns(gpu),
			 end_ns = event_ns < until_ns ? event_ns : until_ns;
		uint64_t ready_ns;

		if (event_ns <= gpu->now_ns) {
			happen(gpu);
			continue;
		}
		ready_ns = gpu->soonest_ns;
		if (ready_ns >= end_ns || gpu->is_lost) { /* no SM runs until then */
			gpu->now_ns = end_ns;
			continue;
		}
		if (ready_ns > gpu->now_ns)
			gpu->now_ns = ready_ns;
		run_quantum(gpu, end_ns - gpu->now_ns > most_ns ? gpu->now_ns + most_ns : end_ns);
	}
	while (gpu_table_next_ns(gpu) <= gpu->now_ns)
		happen(gpu);
}

void gpu_advance(struct gpu *gpu, uint64_t until_ns)
{
	pass_time(gpu, until_ns, false);
}

void gpu_run(struct gpu *gpu, uint64_t until_ns)
{
	pass_time(gpu, until_ns, true);
}

uint64_t gpu_wait(struct gpu *gpu, uint64_t limit_ns)
{
	const uint64_t step_ns = quantum_ns(gpu);

	gpu->ends_wait = false;
	while (gpu->written_count == 0 && !gpu_is_done(gpu) && !gpu->ends_wait) {
		uint64_t next_ns = gpu->soonest_ns, event_ns = gpu_table_next_ns(gpu);

		if (next_ns > event_ns)
			next_ns = event_ns;
		if (next_ns == GPU_NEVER && limit_ns == GPU_NEVER)
			return GPU_NEVER;
		if (next_ns < gpu->now_ns)
			next_ns = gpu->now_ns;
		if (next_ns >= limit_ns || limit_ns - next_ns <= step_ns) {
			gpu_advance(gpu, limit_ns);
			break;
		}
		gpu_advance(gpu, next_ns + step_ns);
	}
	if (gpu->written_count != 0 && gpu->written[gpu->written_first].time_ns <= limit_ns)
		return gpu->written[gpu->written_first].time_ns;
	if (gpu->now_ns < limit_ns && !gpu_is_done(gpu) && !gpu->ends_wait) /* a fault is being written, but takes longer */
		gpu_advance(gpu, limit_ns);
	return gpu->now_ns < limit_ns ? gpu->now_ns : limit_ns;
}

void gpu_end_wait(struct gpu *gpu)
{
	gpu->ends_wait = true;
}

void gpu_count(const struct gpu *gpu, struct gpu_counts *counts)
{
	*counts = gpu->counts;
}
