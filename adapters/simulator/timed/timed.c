/* A run with time; timed.h.
 *
 * Actors, each with its own clock, share the engine, the GPU and the link: the program's thread, the driver's bottom half,
 * the driver's thread for deferred prefetches, and the first item of each stream. The actor with the earliest clock takes
 * the next step: an operation or a page that the program's thread faults on, one VABlock of a prefetch, a whole bottom
 * half, one item of a stream. Before the step, the GPU runs up to that time; after it, the GPU may be ahead of the
 * clocks of the others by as much as one step, and sees their actions then.
 *
 * The bottom half sleeps until a fault has been written and the interrupt has reached it. Kernels run one at a time: each
 * fills the GPU. */
#include "timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timed_bottom_half.h"
#include "timed_job.h"
#include "timed_open.h"
#include "timed_program.h"
#include "timed_progress.h"
#include "timed_sleep.h"
#include "timed_stream.h"
#include "watch.h"

#define LOOK_EVERY   16u  /* steps */
#define CYCLE_FAULTS 256u /* as many faults of one cycle are one batch: more than the SMs of UVM Smart's GPUs */

/* -- steps -- */

static bool is_lost(struct timed *m)
{
	uint64_t address;
	char text[96];

	if (!gpu_is_lost(m->system.gpu, &address))
		return false;
	snprintf(text, sizeof(text), "the access to 0x%llx lies outside every range",
		 (unsigned long long)address);
	timed_fail(m, address == GPU_OUT_OF_MEMORY ? "out of memory" : text);
	return true;
}

/* Whose step is next, but for the bottom half, and when. */
struct turn {
	uint64_t ns;	 /* TIMED_NEVER: no turn is due */
	unsigned stream; /* or TIMED_NO_STREAM: a thread's */
	bool is_program;
};

static struct turn next_turn(const struct timed *m)
{
	struct turn turn = {.ns = timed_program_ns(m), .stream = TIMED_NO_STREAM, .is_program = true};

	if (m->background.is_active && m->deferred.now_ns < turn.ns) {
		turn.ns = m->deferred.now_ns;
		turn.is_program = false;
	}
	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++) {
		uint64_t ns = timed_item_ns(m, i);

		if (ns < turn.ns) {
			turn.ns = ns;
			turn.stream = i;
		}
	}
	return turn;
}

static bool take(struct timed *m, const struct turn *turn)
{
	if (turn->ns == TIMED_NEVER)
		return timed_fail(m, "every warp waits, and no fault is pending");
	if (turn->stream != TIMED_NO_STREAM)
		return timed_step_stream(m, turn->stream, turn->ns);
	if (turn->is_program)
		return timed_step_program(m, turn->ns);
	return timed_step_job(m, &m->deferred, &m->background);
}

static bool cut(struct timed *m)
{
	char text[64];

	m->system.times->is_cut = true;
	snprintf(text, sizeof(text), "cut by --until: not done by %llu ns", (unsigned long long)m->system.host.params.run.until_ns);
	return timed_fail(m, text);
}

/* The next step of the thread or GPU whose time comes first. *is_over: no work is left; faults that are left then have
 * no waiting warp. */
static bool step(struct timed *m, bool *is_over)
{
	struct turn turn = next_turn(m);
	uint64_t wake;

	*is_over = turn.ns == TIMED_NEVER && m->has_ended && m->running == TIMED_NO_STREAM;
	if (*is_over)
		return true;
	if (!timed_wake_ns(m, turn.ns, &wake) || is_lost(m))
		return false;
	if (m->running != TIMED_NO_STREAM && gpu_is_done(m->system.gpu)) {
		timed_end_kernel(m);
		return true;
	}
	if (timed_is_late(m, wake < turn.ns ? wake : turn.ns))
		return cut(m);
	if (wake <= turn.ns && wake != TIMED_NEVER)
		return timed_step_bottom_half(m, wake);
	return take(m, &turn);
}

static bool run(struct timed *m, struct source *source)
{
	bool is_over = false;
	uint32_t steps = 0;

	if (!timed_open(m, source))
		return false;
	while (!is_over) {
		if (!step(m, &is_over))
			return false;
		if (++steps % LOOK_EVERY == 0 && !timed_show_progress(m))
			return false;
	}
	if (m->workload->source.error[0] == '\0')
		return true;
	snprintf(m->system.host.error, SOURCE_ERROR_MAX, "%s", m->workload->source.error);
	return false;
}

/* -- results -- */

/* Of the program: its thread and its streams. */
static uint64_t end_ns(const struct timed *m)
{
	uint64_t ns = m->program.now_ns;

	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++)
		ns = system_later(ns, m->streams.stream[i].done_ns);
	return ns;
}

/* The run was cut off while a kernel ran. */
static void count_cut_kernel(struct timed *m)
{
	uint64_t now_ns = gpu_now_ns(m->system.gpu);
	struct sim_times *times = m->system.times;

	times->time_ns = system_later(times->time_ns, now_ns);
	times->kernel_ns += system_later(now_ns, m->launch_ns) - m->launch_ns;
	timed_count_sleep(m, now_ns);
	watch_kernels_end(&m->watch, system_later(now_ns, m->launch_ns));
}

static void count(struct timed *m)
{
	struct sim_result *result = m->system.host.result;
	struct sim_times *times = m->system.times;
	struct gpu_counts counts;

	gpu_count(m->system.gpu, &counts);
	result->accesses = counts.accesses + m->cpu_accesses;
	result->pages_touched = counts.pages_touched;
	times->compute_ns = counts.busy_ns;
	times->tlb_hits = counts.tlb_hits;
	times->tlb_misses = counts.tlb_misses;
	times->l2_tlb_hits = counts.l2_tlb_hits;
	times->l2_tlb_misses = counts.l2_tlb_misses;
	result->remote_accesses = counts.remote_accesses;
	times->remote_h2d_bytes = counts.remote_bytes[MODEL_TO_GPU];
	times->remote_d2h_bytes = counts.remote_bytes[MODEL_TO_CPU];
	times->context_switches = counts.context_switches;
	times->mshr_merged = counts.mshr_merged;
	times->mshr_stalled = counts.mshr_stalled;
	times->time_ns = end_ns(m);
	if (m->running != TIMED_NO_STREAM)
		count_cut_kernel(m);
	times->link_end_ns = link_copies_end_ns(&m->system.link);
}

static void close_timed(struct timed *m, bool is_done)
{
	if (m->system.gpu)
		count(m);
	watch_rest(&m->bottom_half); /* of a run that was cut off */
	host_close(&m->system.host, is_done);
	if (m->recorded)
		m->recorded->source.close(&m->recorded->source);
	gpu_close(m->system.gpu);
	streams_close(&m->streams);
	fault_buffer_close(&m->system.buffer);
	staged_close(&m->system.staged);
	free(m->system.root_ns);
	free(m);
}

/* The state of a run that has not begun. */
static void init_timed(struct timed *m, const struct model *model, const struct sim_run *settings, struct sim_times *times)
{
	m->model = *model;
	m->system.model = m->system.link.model = &m->model;
	m->system.link.ratio_percent = settings->policy->link_ratio;
	m->system.times = times;
	m->program.system = m->bottom_half.system = m->deferred.system = &m->system;
	m->program.number = OBSERVE_PROGRAM;
	m->deferred.number = OBSERVE_DEFERRED;
	m->watch.observers = settings->observers;
	m->running = TIMED_NO_STREAM;
}

bool timed_run(struct source *source, const struct model *model, const struct sim_run *settings,
	       struct sim_result *result, struct sim_times *times, char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.run = *settings,
				     .page_bytes = model->page_bytes,
				     .utlbs = (model->sms + model->sms_per_utlb - 1u) / model->sms_per_utlb,
				     .fault_entries = model->fault_entries,
				     .sms = model->sms,
				     .counts_units = model->counts_units != 0,
				     .has_ats = model->has_ats != 0,
				     .asks_at_misses = model->remote_miss_ns != 0,
				     .reads_ahead = true};
	struct timed *m = calloc(1, sizeof(*m));
	bool is_done;

	memset(times, 0, sizeof(*times));
	if (!m) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	init_timed(m, model, settings, times);
	m->policy = *settings->policy;
	if (model->cycle_batches != 0) {
		m->policy.replay.max_batch = CYCLE_FAULTS;
		params.run.policy = &m->policy;
	}
	is_done = host_init(&m->system.host, &params, source, result, error) && run(m, source);
	if (is_done && settings->until_ns != 0 && end_ns(m) > settings->until_ns)
		is_done = cut(m);
	close_timed(m, is_done);
	return is_done;
}
