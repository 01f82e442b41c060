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

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "engine_setup.h"
#include "../workloads/recorded.h"
#include "timed_internal.h"
#include "timed_listen.h"
#include "timed_progress.h"
#include "timed_sleep.h"
#include "watch.h"

#define IDLE_MOST    1000u   /* bottom halves in a row that move nothing and after which no warp continues */
#define LOOK_EVERY   16u /* steps */
#define CYCLE_FAULTS 256u   /* as many faults of one cycle are one batch: more than the SMs of UVM Smart's GPUs */

/* Has a bottom half served faults, or none at all, and no warp has continued? Working off stale faults is
 * neither: many may come in a row. Nor is it while throttled pages wait for their time, or no kernel runs,
 * or if it was time for a look at a GPU that works. */
static bool goes_nowhere(struct timed *m)
{
	struct thread *t = &m->bottom_half;
	const struct sim_result *result = m->system.host.result;
	bool has_fetched = m->fetched != result->faults_raw, has_served = m->served != result->far_faults;
	bool is_throttled = t->until_ns > t->now_ns && t->now_ns > m->last_ns;
	bool is_look = m->is_timed && !gpu_is_stuck(m->system.gpu);
	struct gpu_counts counts;

	gpu_count(m->system.gpu, &counts);
	if (m->used != counts.accesses || m->running == TIMED_NO_STREAM)
		m->idle = 0;
	m->last_ns = t->now_ns;
	m->used = counts.accesses;
	m->fetched = result->faults_raw;
	m->served = result->far_faults;
	return m->running != TIMED_NO_STREAM && !is_throttled && !is_look && (has_served || !has_fetched);
}

static void wake_up(struct timed *m, uint64_t at_ns)
{
	struct thread *t = &m->bottom_half;
	uint64_t slept_ns = at_ns;

	gpu_run(m->system.gpu, at_ns);
	if (gpu_is_done(m->system.gpu) && gpu_end_ns(m->system.gpu) < at_ns)
		slept_ns = gpu_end_ns(m->system.gpu);
	timed_count_sleep(m, slept_ns);
	t->now_ns = later(t->now_ns, at_ns);
	thread_work(t, m->system.model->wakeup_ns, &m->system.times->fetch_ns);
}

static bool fail_nobody_goes_on(struct timed *m, bool has_fetched)
{
	if (has_fetched)
		return timed_fail(m, HOST_NEVER_RESUMED);
	return timed_fail(m, HOST_NEVER_SERVICED);
}

/* The engine has nothing left: what was reported and not fetched it has dropped. */
static void forget_buffers(struct system *system)
{
	fault_buffer_drop(&system->buffer, system->buffer.count);
	gpu_fetch_faults(system->gpu, 0);
}

/* The engine takes back the victims that were used. A victim that it refuses leaves as planned. */
static bool withdraw(struct timed *m, struct thread *t)
{
	struct staged *staged = &m->system.staged;
	enum uvmp_status status;

	/* the GPU may be ahead, and have lost the pages by then */
	while (staged_take(staged, later(t->now_ns, gpu_now_ns(m->system.gpu)))) {
		const struct staged_victim *back = &staged->back;
		struct uvmp_region run = uvmp_mask_next_run(&back->pages, 0);
		uint64_t page_bytes = m->system.model->page_bytes, ticket;

		if (uvmp_service_withdraw(m->system.host.service, HOST_SPACE, back->block->shape.start + run.first * page_bytes,
					  uvmp_region_pages(run) * page_bytes, HOST_GPU, &ticket) != UVMP_OK)
			return timed_fail(m, "a victim that is used cannot be withdrawn");
		if (!thread_pump(t, ticket, &status))
			return false;
		if (status != UVMP_OK) {
			staged_refuse(staged);
			continue;
		}
		gpu_keep(m->system.gpu, back->block, &back->pages);
		staged_restore(staged, &m->system.host);
		timed_arrive(m, back->block, &back->pages);
	}
	return true;
}

/* One bottom half, of faults or of notifications; or of victims that were used. */
static bool step_bottom_half(struct timed *m, uint64_t at_ns)
{
	struct thread *t = &m->bottom_half;
	uint64_t fetched = m->fetched;
	enum uvmp_status status;

	wake_up(m, at_ns);
	if (m->system.staged.used != 0)
		return withdraw(m, t);
	if (!thread_pump(t, 0, &status))
		return false;
	if (status == UVMP_ERR_RETRY)
		forget_buffers(&m->system);
	else if (status != UVMP_OK)
		return timed_fail(m, uvmp_status_text(status));
	if (goes_nowhere(m))
		m->idle++;
	if (m->idle == IDLE_MOST && t->until_ns > t->now_ns) { /* a driver that takes no time waits, too */
		t->now_ns = t->until_ns;
		m->idle = 0;
	}
	return m->idle < IDLE_MOST || fail_nobody_goes_on(m, m->fetched != fetched);
}

/* -- prefetches -- */

static bool call(struct timed *m, struct thread *t, uint64_t ticket, uint64_t at, uint64_t bytes)
{
	enum uvmp_status status;

	if (!thread_pump(t, ticket, &status))
		return false;
	return status == UVMP_OK || host_fail_call(&m->system.host, at, bytes, status);
}

static bool migrate(struct timed *m, struct thread *t, const struct timed_job *job, uint64_t bytes)
{
	uint64_t ticket;

	return host_prefetch(&m->system.host, job->at, bytes, job->op.to_gpu, &ticket) &&
	       call(m, t, ticket, job->at, bytes);
}

/* One VABlock of it. A call returns when all is submitted if pages go to the GPU, but only when they have
 * arrived if they go to the CPU, whose page tables cannot be written later (NVIDIA blog 2017). */
static bool step_job(struct timed *m, struct thread *t, struct timed_job *job)
{
	uint64_t end = job->op.at + job->op.bytes, bytes = ROOT_BYTES - job->at % ROOT_BYTES;

	if (bytes > end - job->at)
		bytes = end - job->at;
	if (bytes != 0 && !migrate(m, t, job, bytes))
		return false;
	job->at += bytes;
	if (job->at != end)
		return true;
	job->is_active = false;
	if (!job->op.to_gpu && t->copies_ns > t->now_ns)
		t->now_ns = t->copies_ns;
	if (job->is_deferred)
		streams_end(&m->streams, job->op.stream, later(t->now_ns, t->copies_ns));
	else
		streams_extend(&m->streams, job->op.stream, later(t->now_ns, t->copies_ns));
	return true;
}

static void start_job(struct thread *t, struct timed_job *job, const struct workload_op *op, bool is_deferred)
{
	t->copies_ns = 0; /* those of other calls are not waited for */
	*job = (struct timed_job){.is_active = true, .is_deferred = is_deferred, .op = *op, .at = op->at};
}

/* -- the program's thread -- */

/* The page that the thread needs; the thread continues when it may use the page. A throttled fault waits. */
static bool fault_on_cpu(struct timed *m, uint64_t address)
{
	struct thread *t = &m->program;
	enum uvmp_status status = UVMP_ERR_RETRY;

	t->is_fault_of_cpu = true;
	t->copies_ns = 0;
	while (status == UVMP_ERR_RETRY) {
		uint64_t ticket;

		t->until_ns = 0;
		t->now_ns += m->system.model->cpu_fault_ns;
		if (uvmp_service_cpu_fault(m->system.host.service, HOST_SPACE, address, m->op.access, 0,
					   &ticket) != UVMP_OK)
			return timed_fail(m, "the CPU's access cannot be served");
		if (!thread_pump(t, ticket, &status))
			return false;
		t->now_ns = later(t->now_ns, later(t->copies_ns, t->until_ns));
	}
	t->is_fault_of_cpu = false;
	m->system.host.result->cpu_faults++;
	return status == UVMP_OK || timed_fail(m, uvmp_status_text(status));
}

/* Walks on to the next page that faults, or to the end. */
static bool step_walk(struct timed *m)
{
	uint64_t end = m->op.at + m->op.bytes;

	while (m->cpu_at < end) {
		uint32_t page;
		struct sim_block *block = space_find(&m->system.host.space, m->cpu_at, &page);

		if (!block)
			return timed_fail(m, "an access of the CPU lies outside every range");
		if (right_on(block, UVMP_CPU, page) < (uint32_t)uvmp_access_right(m->op.access))
			return fault_on_cpu(m, m->cpu_at);
		m->cpu_accesses++;
		m->cpu_at = (m->cpu_at / m->system.model->page_bytes + 1u) * m->system.model->page_bytes;
	}
	m->is_walking = false;
	return true;
}

static bool advise(struct timed *m, const struct workload_op *op)
{
	uint32_t processor = op->to_none ? UVMP_PROC_NONE : op->to_gpu ? HOST_GPU : UVMP_CPU;
	uint64_t ticket;

	m->program.copies_ns = 0;
	m->program.now_ns += m->system.model->prefetch_call_ns;
	if (!host_advise(&m->system.host, op->at, op->bytes, op->advice, processor, &ticket) ||
	    !call(m, &m->program, ticket, op->at, op->bytes))
		return false;
	m->program.now_ns = later(m->program.now_ns, m->program.copies_ns);
	return true;
}

static void wait_for(struct timed *m, const struct workload_op *op)
{
	m->op = *op;
	m->is_waiting = true;
}

/* Puts what is held into its stream. The thread waits for a kernel that is not queued. */
static bool push(struct timed *m)
{
	m->is_held = false;
	if (!streams_push(&m->streams, &m->held, &m->held_kernel, m->program.now_ns))
		return timed_fail(m, "out of memory");
	if (m->held.kind == WORKLOAD_KERNEL && !m->held.is_queued)
		wait_for(m, &(struct workload_op){.kind = WORKLOAD_WAIT_STREAM, .stream = m->held.stream});
	return true;
}

/* Into its stream, if that has room; else the thread waits. */
static bool issue(struct timed *m, const struct workload_op *op)
{
	m->held = *op;
	if (op->kind == WORKLOAD_KERNEL)
		m->held_kernel = workload_keep_kernel(m->workload);
	m->is_held = true;
	return streams_room_ns(&m->streams, op->stream) == TIMED_NEVER || push(m);
}

/* A prefetch in an idle stream is done by the calling thread, in a busy one it is left to the other. */
static bool call_prefetch(struct timed *m, const struct workload_op *op)
{
	m->program.now_ns += m->system.model->prefetch_call_ns;
	if (!streams_is_idle(&m->streams, op->stream, m->program.now_ns))
		return issue(m, op);
	start_job(&m->program, &m->call, op, false);
	return true;
}

/* If kernels have ended since the last synchronisation, synchronises the device before the program continues. */
static void start_sync(struct timed *m)
{
	m->is_syncing = m->system.model->sync_frees != 0 && m->synced != m->workload->kernels_done;
	m->synced = m->workload->kernels_done;
	m->sync = (struct sync){0};
	m->program.copies_ns = 0;
}

/* One run of pages returns; at the end the thread waits for the last ones. */
static bool step_sync(struct timed *m)
{
	struct timed_job job = {.op = {.to_gpu = false}};
	uint64_t bytes;

	if (sync_next(&m->system.host.space, &m->sync, &job.at, &bytes))
		return migrate(m, &m->program, &job, bytes);
	m->program.now_ns = later(m->program.now_ns, m->program.copies_ns);
	(void)uvmp_service_synchronise(m->system.host.service, HOST_GPU);
	m->is_syncing = false;
	return true;
}

static bool begin_op(struct timed *m)
{
	struct workload_op op = m->workload->op;

	switch (op.kind) {
	case WORKLOAD_CPU:
		m->op = op;
		m->cpu_at = op.at;
		m->is_walking = true;
		start_sync(m); /* a program that shares memory with its kernels waits for them in this way */
		return true;
	case WORKLOAD_PREFETCH:
		return call_prefetch(m, &op);
	case WORKLOAD_ADVISE:
		return advise(m, &op);
	case WORKLOAD_KERNEL:
	case WORKLOAD_COPY:
	case WORKLOAD_RECORD:
		return issue(m, &op);
	default:
		wait_for(m, &op);
		return true;
	}
}

/* When the program's thread takes its next step; TIMED_NEVER: it waits for something that has not ended, or has
 * ended. */
static uint64_t program_ns(const struct timed *m)
{
	uint64_t until_ns;

	if (m->has_ended)
		return TIMED_NEVER;
	if (!m->is_waiting && !m->is_held)
		return m->program.now_ns;
	until_ns = m->is_held ? streams_room_ns(&m->streams, m->held.stream)
			      : streams_wait_ns(&m->streams, &m->op);
	return until_ns == TIMED_NEVER ? TIMED_NEVER : later(until_ns, m->program.now_ns);
}

static bool go_on(struct timed *m)
{
	m->is_waiting = false;
	if (m->is_held)
		return push(m);
	if (m->is_syncing)
		return step_sync(m);
	if (m->call.is_active)
		return step_job(m, &m->program, &m->call);
	if (m->is_walking)
		return step_walk(m);
	if (workload_launch(m->workload))
		return begin_op(m);
	m->has_ended = true;
	return true;
}

/* The thread spends time in a step only for a fault, a prefetch or an advice. */
static bool step_program(struct timed *m, uint64_t at_ns)
{
	bool is_done;

	m->program.now_ns = at_ns;
	is_done = go_on(m);
	m->system.times->cpu_ns += m->program.now_ns - at_ns;
	return is_done;
}

/* -- streams -- */

/* When the first item of a stream can begin. */
static uint64_t item_ns(const struct timed *m, unsigned stream)
{
	uint64_t from_ns;
	const struct stream_item *item = streams_first(&m->streams, stream, &from_ns);

	if (!item)
		return TIMED_NEVER;
	if (item->op.kind == WORKLOAD_KERNEL && m->running != TIMED_NO_STREAM)
		return TIMED_NEVER;
	if (item->op.kind == WORKLOAD_PREFETCH)
		return m->background.is_active ? TIMED_NEVER : later(from_ns, m->deferred.now_ns);
	return from_ns;
}

static bool launch(struct timed *m, unsigned stream, const struct stream_item *item, uint64_t at_ns)
{
	workload_restore_kernel(m->workload, &item->kernel);
	m->running = stream;
	m->launch_ns = later(at_ns, gpu_now_ns(m->system.gpu));
	watch_kernels_launch(&m->watch, m->launch_ns);
	(void)uvmp_service_begin_kernel(m->system.host.service, HOST_GPU, m->launch_ns, &m->kernel);
	if (!gpu_launch(m->system.gpu, m->workload, m->launch_ns + m->system.model->launch_ns)) {
		char text[96];

		snprintf(text, sizeof(text), "a thread block of %u warps does not fit an SM",
			 item->kernel.warps);
		return timed_fail(m, text);
	}
	return true;
}

/* When it ends. */
static uint64_t copy_of_program(struct timed *m, const struct workload_op *op, uint64_t at_ns)
{
	enum model_direction direction = op->to_gpu ? MODEL_TO_GPU : MODEL_TO_CPU;
	struct observe_event event = {.kind = OBSERVE_PROGRAM_COPY, .to_gpu = op->to_gpu, .bytes = op->bytes};

	event.start = later(at_ns, m->system.link.engine[direction].copies_until_ns);
	event.end = link_copy(&m->system.link, direction, at_ns, op->bytes);
	if (m->watch.observers)
		observe_tell(m->watch.observers, &event);
	return event.end;
}

static bool step_stream(struct timed *m, unsigned stream, uint64_t at_ns)
{
	uint64_t unused;
	const struct stream_item *item = streams_first(&m->streams, stream, &unused);

	streams_begin(&m->streams, stream);
	switch (item->op.kind) {
	case WORKLOAD_KERNEL:
		return launch(m, stream, item, at_ns);
	case WORKLOAD_PREFETCH:
		m->deferred.now_ns = at_ns;
		thread_work(&m->deferred, m->system.model->prefetch_defer_ns, &m->system.times->service_ns);
		start_job(&m->deferred, &m->background, &item->op, true);
		return true;
	case WORKLOAD_COPY:
		streams_end(&m->streams, stream, copy_of_program(m, &item->op, at_ns));
		return true;
	default:
		streams_end(&m->streams, stream, at_ns);
		return true;
	}
}

/* -- all of them -- */

/* Its copies have ended, too, however late remote accesses have made them. */
static void end_kernel(struct timed *m)
{
	uint64_t end_ns = link_settled_ns(&m->system.link, gpu_end_ns(m->system.gpu));

	timed_count_sleep(m, end_ns);
	m->system.times->kernel_ns += end_ns - m->launch_ns;
	watch_kernels_end(&m->watch, end_ns);
	(void)uvmp_service_end_kernel(m->system.host.service, m->kernel, end_ns);
	streams_end(&m->streams, m->running, end_ns);
	m->running = TIMED_NO_STREAM;
	workload_end_kernel(m->workload);
}

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
	struct turn turn = {.ns = program_ns(m), .stream = TIMED_NO_STREAM, .is_program = true};

	if (m->background.is_active && m->deferred.now_ns < turn.ns) {
		turn.ns = m->deferred.now_ns;
		turn.is_program = false;
	}
	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++) {
		uint64_t ns = item_ns(m, i);

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
		return step_stream(m, turn->stream, turn->ns);
	if (turn->is_program)
		return step_program(m, turn->ns);
	return step_job(m, &m->deferred, &m->background);
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
		end_kernel(m);
		return true;
	}
	if (timed_is_late(m, wake < turn.ns ? wake : turn.ns))
		return cut(m);
	if (wake <= turn.ns && wake != TIMED_NEVER)
		return step_bottom_half(m, wake);
	return take(m, &turn);
}

/* -- a run -- */

/* A trace runs as a workload of its rows; ranges are added as it announces them. */
static const char *add_range(void *context, const struct source_range *range)
{
	struct timed *m = context;
	struct source_range placed = *range;
	struct host *host = &m->system.host;
	bool is_added;

	if (m->system.model->data_on_cpu != 0)
		placed.is_fresh = false;
	host->params.reads_ahead = false; /* this error is one of the row that is being read */
	is_added = host_add_range(host, &placed);
	host->params.reads_ahead = true;
	return is_added ? NULL : host->error;
}

/* A range of a built-in program, as large as the system makes it. What rounding adds is managed, prefetched and counted like the
 * rest. Ranges of a program lie so far apart that they do not meet (workload_add_range); those of a trace have the sizes that it
 * states. */
static bool add_array(struct timed *m, const struct source_range *array)
{
	const struct model *model = m->system.model;
	uint64_t unit = model->range_bytes;
	struct source_range range = *array;
	struct uvmp_allocation allocation;

	if (model->data_on_cpu != 0)
		range.is_fresh = false;
	if (unit != 0 && !range.is_device)
		range.bytes = (range.bytes + unit - 1u) / unit * unit;
	if (model->rounds_ranges != 0 && !range.is_device &&
	    uvmp_allocation_round(range.bytes, &allocation) == UVMP_OK)
		range.bytes = allocation.rounded_bytes;
	return host_add_range(&m->system.host, &range);
}

static bool open_program(struct timed *m, struct source *source)
{
	const struct model *model = m->system.model;
	struct recorded_gpu gpu = {model->sms, model->blocks_per_sm, model->warps_per_sm};
	char error[SOURCE_ERROR_MAX];

	m->workload = workload_of(source);
	if (!m->workload) {
		m->workload = m->recorded = recorded_open(source, &gpu, RECORDED_WINDOW, add_range, m, error);
		if (!m->workload)
			snprintf(m->system.host.error, SOURCE_ERROR_MAX, "%s", error);
		return m->workload != NULL;
	}
	for (unsigned i = 0; i < m->workload->ranges; i++) {
		if (!add_array(m, &m->workload->range[i]))
			return false;
	}
	return true;
}

/* Frames of a page-wise order are scattered: no entry of a TLB holds more than one of them. An order with groups puts a block
 * that arrives whole into one piece, so that each block tells. */
static void limit_entries(struct timed *m)
{
	const struct uvmp_policy *policy = m->system.host.params.run.policy;
	uint32_t unit_bytes = uvmp_policy_unit_pages(policy) * PAGE_BYTES;

	if (m->model.counts_units == 0 || host_has_roots(&m->system.host))
		return;
	m->model.checks_frames = uvmp_policy_evict_traits(policy)->has_groups;
	if (m->model.tlb_entry_bytes > unit_bytes && !m->model.checks_frames)
		m->model.tlb_entry_bytes = unit_bytes;
}

static bool open_timed(struct timed *m, struct source *source)
{
	struct system *system = &m->system;

	if (!open_program(m, source) || !host_open(&system->host))
		return false;
	m->counts_accesses = system->host.needs.accesses;
	m->has_counters = setup_counts_accesses(system->host.params.run.policy, system->model->page_bytes,
						system->model->has_ats != 0);
	m->withdraws = system_withdraws(system);
	limit_entries(m);
	system->root_ns =
		array_zeros(host_capacity_bytes(&system->host) / ROOT_BYTES, sizeof(*system->root_ns));
	reclaim_init(&system->reclaim, host_capacity_bytes(&system->host) / system->model->page_bytes);
	system->gpu = gpu_open(system->model, &system->host.space, &system->link, timed_listener(m));
	if (system->gpu)
		gpu_seed(system->gpu, system->host.params.run.seed);
	return (fault_buffer_open(&system->buffer, system->model->fault_entries) && system->root_ns &&
		system->gpu) ||
	       timed_fail(m, "out of memory");
}

static bool run(struct timed *m, struct source *source)
{
	bool is_over = false;
	uint32_t steps = 0;

	if (!open_timed(m, source))
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

/* Of the program: its thread and its streams. */
static uint64_t end_ns(const struct timed *m)
{
	uint64_t ns = m->program.now_ns;

	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++)
		ns = later(ns, m->streams.stream[i].done_ns);
	return ns;
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
	times->time_ns = m->program.now_ns;
	if (m->running != TIMED_NO_STREAM) { /* it was cut off */
		times->time_ns = later(times->time_ns, gpu_now_ns(m->system.gpu));
		times->kernel_ns += later(gpu_now_ns(m->system.gpu), m->launch_ns) - m->launch_ns;
		timed_count_sleep(m, gpu_now_ns(m->system.gpu));
		watch_kernels_end(&m->watch, later(gpu_now_ns(m->system.gpu), m->launch_ns));
	}
	times->time_ns = later(times->time_ns, end_ns(m));
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
	m->model = *model;
	m->policy = *settings->policy;
	if (model->cycle_batches != 0) {
		m->policy.replay.max_batch = CYCLE_FAULTS;
		params.run.policy = &m->policy;
	}
	m->system.model = m->system.link.model = &m->model;
	m->system.link.ratio_percent = settings->policy->link_ratio;
	m->system.times = times;
	m->program.system = m->bottom_half.system = m->deferred.system = &m->system;
	m->program.number = OBSERVE_PROGRAM;
	m->deferred.number = OBSERVE_DEFERRED;
	m->watch.observers = settings->observers;
	m->running = TIMED_NO_STREAM;
	is_done = host_init(&m->system.host, &params, source, result, error) && run(m, source);
	if (is_done && settings->until_ns != 0 && end_ns(m) > settings->until_ns)
		is_done = cut(m);
	close_timed(m, is_done);
	return is_done;
}
