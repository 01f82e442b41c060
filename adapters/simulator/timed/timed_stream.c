/* Items of streams; timed_stream.h. */
#include "timed_stream.h"

#include "timed_job.h"
#include "timed_sleep.h"

uint64_t timed_item_ns(const struct timed *m, unsigned stream)
{
	uint64_t from_ns;
	const struct stream_item *item = streams_first(&m->streams, stream, &from_ns);

	if (!item)
		return TIMED_NEVER;
	if (item->op.kind == WORKLOAD_KERNEL && m->running != TIMED_NO_STREAM)
		return TIMED_NEVER;
	if (item->op.kind == WORKLOAD_PREFETCH)
		return m->background.is_active ? TIMED_NEVER : system_later(from_ns, m->deferred.now_ns);
	return from_ns;
}

static bool launch(struct timed *m, unsigned stream, const struct stream_item *item, uint64_t at_ns)
{
	workload_restore_kernel(m->workload, &item->kernel);
	m->running = stream;
	m->launch_ns = system_later(at_ns, gpu_now_ns(m->system.gpu));
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

	event.start = link_start_ns(&m->system.link, direction, at_ns);
	event.end = link_copy(&m->system.link, direction, at_ns, op->bytes);
	if (m->watch.observers)
		observe_tell(m->watch.observers, &event);
	return event.end;
}

bool timed_step_stream(struct timed *m, unsigned stream, uint64_t at_ns)
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
		timed_start_job(&m->deferred, &m->background, &item->op, true);
		return true;
	case WORKLOAD_COPY:
		streams_end(&m->streams, stream, copy_of_program(m, &item->op, at_ns));
		return true;
	default:
		streams_end(&m->streams, stream, at_ns);
		return true;
	}
}

void timed_end_kernel(struct timed *m)
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
