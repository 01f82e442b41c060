/* The sleep of the bottom half; timed_sleep.h. */
#include "timed_sleep.h"

#include "timed_progress.h"

#define SLICE_NS     100000u /* the GPU runs alone for so long, or longer, between reports of progress: */
#define SLICE_USES   100000u /* the time of about so many accesses */
#define SLICE_GROWTH 128u

/* The GPU runs by itself. Slices grow while it does little in them. So progress is reported several times a second both for kernels
 * that compute for a second and for kernels with an access in every nanosecond. */
static bool run_slice(struct timed *m, uint64_t limit_ns)
{
	uint64_t until_ns = gpu_now_ns(m->system.gpu) + m->slice_ns;
	struct gpu_counts before, after;

	gpu_count(m->system.gpu, &before);
	gpu_wait(m->system.gpu, until_ns < limit_ns ? until_ns : limit_ns);
	gpu_count(m->system.gpu, &after);
	if (after.accesses - before.accesses > SLICE_USES)
		m->slice_ns = SLICE_NS;
	else if (m->slice_ns < SLICE_NS * SLICE_GROWTH)
		m->slice_ns *= 2u;
	return timed_show_progress(m);
}

/* When time alone gives the driver's controllers work, while a kernel runs; TIMED_NEVER: it does not. */
static uint64_t timer_ns(const struct timed *m)
{
	uint64_t due_ns;

	if (m->running == TIMED_NO_STREAM || m->system.host.needs.sms == 0)
		return TIMED_NEVER;
	due_ns = uvmp_service_wakeup_ns(m->system.host.service);
	return due_ns > m->bottom_half.now_ns ? due_ns : TIMED_NEVER; /* the last bottom half has been there */
}

bool timed_is_late(const struct timed *m, uint64_t next_ns)
{
	const uint64_t until_ns = m->system.host.params.run.until_ns;

	return until_ns != 0 && next_ns > until_ns &&
	       (m->running == TIMED_NO_STREAM || gpu_now_ns(m->system.gpu) > until_ns);
}

/* Does the GPU run on by itself? There is no work for the driver yet, and the kernel can still make some by limit_ns. */
static bool sleeps_on(const struct timed *m, uint64_t limit_ns)
{
	const struct system *system = &m->system;

	return gpu_first_fault(system->gpu, TIMED_NEVER) == NULL && !uvmp_service_has_notes(system->host.service) &&
	       system->staged.used == 0 && m->running != TIMED_NO_STREAM && !gpu_is_done(system->gpu) &&
	       gpu_now_ns(system->gpu) < limit_ns && !timed_is_late(m, gpu_now_ns(system->gpu)) &&
	       !gpu_is_stuck(system->gpu);
}

/* When the first fault, notification or use of a victim that waits has interrupted the driver; TIMED_NEVER: none waits. */
static uint64_t interrupted_ns(const struct timed *m)
{
	const struct system *system = &m->system;
	const struct gpu_fault *first = gpu_first_fault(system->gpu, TIMED_NEVER);
	uint64_t since_ns = first ? first->time_ns : TIMED_NEVER;

	if (uvmp_service_has_notes(system->host.service) && m->note_ns < since_ns)
		since_ns = m->note_ns;
	if (system->staged.used != 0 && system->staged.used_ns < since_ns)
		since_ns = system->staged.used_ns;
	return since_ns == TIMED_NEVER ? TIMED_NEVER : since_ns + system->model->interrupt_ns;
}

bool timed_wake_ns(struct timed *m, uint64_t limit_ns, uint64_t *wake_ns)
{
	const uint64_t due_ns = timer_ns(m);

	*wake_ns = m->bottom_half.now_ns;
	m->is_timed = false;
	if (m->system.buffer.count != 0) /* it has left some, and runs again at once */
		return true;
	if (due_ns < limit_ns)
		limit_ns = due_ns;
	m->slice_ns = SLICE_NS;
	while (sleeps_on(m, limit_ns)) {
		if (!run_slice(m, limit_ns))
			return false;
	}
	*wake_ns = system_later(*wake_ns, interrupted_ns(m));
	m->is_timed = due_ns < *wake_ns;
	if (m->is_timed)
		*wake_ns = due_ns;
	return true;
}

void timed_count_sleep(struct timed *m, uint64_t until_ns)
{
	uint64_t from_ns = system_later(m->bottom_half.now_ns, m->launch_ns);

	if (m->running != TIMED_NO_STREAM && until_ns > from_ns)
		m->system.times->idle_ns += until_ns - from_ns;
}
