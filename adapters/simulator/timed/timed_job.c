/* Prefetches and calls; timed_job.h. */
#include "timed_job.h"

bool timed_call(struct timed *m, struct thread *t, uint64_t ticket, uint64_t at, uint64_t bytes)
{
	enum uvmp_status status;

	if (!thread_pump(t, ticket, &status))
		return false;
	return status == UVMP_OK || host_fail_call(&m->system.host, at, bytes, status);
}

bool timed_migrate(struct timed *m, struct thread *t, uint64_t at, uint64_t bytes, bool to_gpu)
{
	uint64_t ticket;

	return host_prefetch(&m->system.host, at, bytes, to_gpu, &ticket) && timed_call(m, t, ticket, at, bytes);
}

void timed_start_job(struct thread *t, struct timed_job *job, const struct workload_op *op, bool is_deferred)
{
	t->copies_ns = 0; /* those of other calls are not waited for */
	*job = (struct timed_job){.is_active = true, .is_deferred = is_deferred, .op = *op, .at = op->at};
}

/* A call returns when all is submitted if pages go to the GPU, but only when they have
 * arrived if they go to the CPU, whose page tables cannot be written later (NVIDIA blog 2017). */
bool timed_step_job(struct timed *m, struct thread *t, struct timed_job *job)
{
	uint64_t end = job->op.at + job->op.bytes, bytes = ROOT_BYTES - job->at % ROOT_BYTES;

	if (bytes > end - job->at)
		bytes = end - job->at;
	if (bytes != 0 && !timed_migrate(m, t, job->at, bytes, job->op.to_gpu))
		return false;
	job->at += bytes;
	if (job->at != end)
		return true;
	job->is_active = false;
	if (!job->op.to_gpu && t->copies_ns > t->now_ns)
		t->now_ns = t->copies_ns;
	if (job->is_deferred)
		streams_end(&m->streams, job->op.stream, system_later(t->now_ns, t->copies_ns));
	else
		streams_extend(&m->streams, job->op.stream, system_later(t->now_ns, t->copies_ns));
	return true;
}
