/* The program's thread; timed_program.h. */
#include "timed_program.h"

#include "timed_job.h"

/* -- accesses and calls -- */

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
		t->now_ns = system_later(t->now_ns, system_later(t->copies_ns, t->until_ns));
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
	    !timed_call(m, &m->program, ticket, op->at, op->bytes))
		return false;
	m->program.now_ns = system_later(m->program.now_ns, m->program.copies_ns);
	return true;
}

/* -- streams -- */

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
	timed_start_job(&m->program, &m->call, op, false);
	return true;
}

/* -- synchronisation -- */

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
	uint64_t at, bytes;

	if (sync_next(&m->system.host.space, &m->sync, &at, &bytes))
		return timed_migrate(m, &m->program, at, bytes, false);
	m->program.now_ns = system_later(m->program.now_ns, m->program.copies_ns);
	(void)uvmp_service_synchronise(m->system.host.service, HOST_GPU);
	m->is_syncing = false;
	return true;
}

/* -- steps -- */

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

uint64_t timed_program_ns(const struct timed *m)
{
	uint64_t until_ns;

	if (m->has_ended)
		return TIMED_NEVER;
	if (!m->is_waiting && !m->is_held)
		return m->program.now_ns;
	until_ns = m->is_held ? streams_room_ns(&m->streams, m->held.stream)
			      : streams_wait_ns(&m->streams, &m->op);
	return until_ns == TIMED_NEVER ? TIMED_NEVER : system_later(until_ns, m->program.now_ns);
}

static bool go_on(struct timed *m)
{
	m->is_waiting = false;
	if (m->is_held)
		return push(m);
	if (m->is_syncing)
		return step_sync(m);
	if (m->call.is_active)
		return timed_step_job(m, &m->program, &m->call);
	if (m->is_walking)
		return step_walk(m);
	if (workload_launch(m->workload))
		return begin_op(m);
	m->has_ended = true;
	return true;
}

bool timed_step_program(struct timed *m, uint64_t at_ns)
{
	bool is_done;

	m->program.now_ns = at_ns;
	is_done = go_on(m);
	m->system.times->cpu_ns += m->program.now_ns - at_ns;
	return is_done;
}
