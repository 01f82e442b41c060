/* Faults, batches and replays of a thread; thread_fault.h. */
#include "thread_fault.h"

#include "thread_pages.h"
#include "watch.h"

/* -- reports -- */

static void note_fault(struct system *system, const struct gpu_fault *at)
{
	struct reported_fault fault = {.right = (uint32_t)uvmp_access_right((enum uvmp_access)at->access),
					.written_ns = at->time_ns};

	fault.block = space_find(&system->host.space, at->address, &fault.page);
	fault_buffer_add(&system->buffer, fault);
}

/* Is the fault of the cycle whose faults wait in the buffer? Each cycle's faults are a batch of their own (UVM Smart). With
 * keeps_faults the next batch takes all that wait, so that a flush finds none; but those of prefetch=auto and remote=auto may be
 * smaller. */
static bool joins_batch(struct system *system, const struct gpu_fault *fault)
{
	if (system->model->keeps_faults != 0 &&
	    system->buffer.count >= system->host.params.run.policy->replay.max_batch)
		return false;
	if (system->model->cycle_batches == 0)
		return true;
	if (system->buffer.count == 0)
		system->cycle_ns = fault->time_ns;
	return system->cycle_ns == fault->time_ns;
}

void thread_report_faults(struct thread *t)
{
	struct system *system = t->system;
	const struct gpu_fault *at;

	gpu_run(system->gpu, t->now_ns); /* the next kernel may begin before the thread is ready */
	while ((at = gpu_first_fault(system->gpu, t->now_ns)) != NULL && joins_batch(system, at)) {
		struct uvmp_fault fault = {.address = at->address,
					   .aperture = UVMP_APERTURE_VID,
					   .utlb = at->utlb,
					   .type = at->type,
					   .access = at->access};

		if (uvmp_service_fault(system->host.service, HOST_GPU, &fault) != UVMP_OK) {
			gpu_block_faults(system->gpu);
			return;
		}
		note_fault(system, at);
		gpu_take_fault(system->gpu);
	}
}

/* -- batches -- */

void thread_end_batch(struct thread *t)
{
	struct sim_times *times = t->system->times;

	if (t->has_batch && t->batch_pages != 0) {
		spread_add(&times->batch_ns, t->last_ns - t->batch_ns);
		spread_add(&times->handling_ns, t->first_copy_ns - t->batch_ns);
		spread_add(&times->batch_pages, t->batch_pages);
		spread_add(&times->group_ns, t->last_ns - t->group_ns);
		spread_add(&times->group_handling_ns, t->first_copy_ns - t->group_ns);
	}
	t->has_batch = false;
}

static void begin_batch(struct thread *t, uint32_t faults, uint64_t first_fault_ns)
{
	thread_pages_begin(t);
	thread_end_batch(t);
	spread_add(&t->system->times->batch_faults, faults);
	t->has_batch = true;
	t->batch_ns = t->now_ns;
	t->group_ns = first_fault_ns < t->now_ns ? first_fault_ns : t->now_ns;
	t->batch_pages = 0;
}

static void fetch_faults(struct thread *t, const struct uvmp_action *a)
{
	const struct model *model = t->system->model;
	uint64_t first_fault_ns = fault_buffer_take(&t->system->buffer, a->faults);

	gpu_fetch_faults(t->system->gpu, t->system->buffer.count);
	begin_batch(t, a->faults, first_fault_ns);
	watch_begin_batch(t, a);
	if (t->system->host.params.run.policy->plan == UVMP_PLAN_UNOBTRUSIVE)
		t->early_ns = t->now_ns;
	t->is_ahead = t->system->host.params.run.policy->free_buffer != 0;
	thread_work(t, model->batch_ns + (uint64_t)a->faults * model->fetch_ns, &t->system->times->fetch_ns);
	thread_work(t, (uint64_t)a->merged_faults * model->order_ns, &t->system->times->order_ns);
	thread_work(t, (uint64_t)a->merged_faults * model->skip_ns, &t->system->times->service_ns);
}

void thread_fetch(struct thread *t, const struct uvmp_action *a)
{
	t->block = UINT64_MAX;
	if (a->cause != UVMP_CAUSE_COUNTER)
		fetch_faults(t, a);
}

void thread_service_faults(struct thread *t, struct sim_block *block)
{
	struct system *system = t->system;
	uint32_t serviced = fault_buffer_walk(&system->buffer, block);

	system->times->faults_serviced += serviced;
	thread_work(t, (uint64_t)serviced * system->model->fault_ns, &system->times->service_ns);
}

void thread_flush(struct thread *t, const struct uvmp_action *a)
{
	struct system *system = t->system;

	fault_buffer_drop(&system->buffer, a->dropped_faults);
	gpu_fetch_faults(system->gpu, system->buffer.count);
	thread_work(t, system->model->flush_ns + (uint64_t)a->dropped_faults * system->model->flush_entry_ns,
		    &system->times->replay_ns);
}

void thread_replay(struct thread *t)
{
	struct system *system = t->system;

	thread_work(t, system->model->replay_push_ns, &system->times->replay_ns);
	t->replay_ns = t->end_ns = system_later(t->now_ns, t->copies_ns) + system->model->replay_ns;
	gpu_replay(system->gpu, system_later(t->now_ns, t->copies_ns));
}
