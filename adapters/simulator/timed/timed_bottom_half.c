/* The driver's bottom half; timed_bottom_half.h. */
#include "timed_bottom_half.h"

#include "timed_listen.h"
#include "timed_sleep.h"

#define IDLE_MOST 1000u /* bottom halves in a row that move nothing and after which no warp continues */

/* Has a bottom half served faults, or none at all, and no warp has continued? Working off stale faults is
 * neither: many may come in a row. Nor is it while throttled pages wait for their time, or no kernel runs,
 * or if a timer woke the bottom half while the GPU works. */
static bool is_stuck_step(struct timed *m)
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
	t->now_ns = system_later(t->now_ns, at_ns);
	thread_work(t, m->system.model->wakeup_ns, &m->system.times->fetch_ns);
}

static bool fail_no_warp_continues(struct timed *m, bool has_fetched)
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
	while (staged_take(staged, system_later(t->now_ns, gpu_now_ns(m->system.gpu)))) {
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
bool timed_step_bottom_half(struct timed *m, uint64_t at_ns)
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
	if (is_stuck_step(m))
		m->idle++;
	if (m->idle == IDLE_MOST && t->until_ns > t->now_ns) { /* a driver that takes no time waits, too */
		t->now_ns = t->until_ns;
		m->idle = 0;
	}
	return m->idle < IDLE_MOST || fail_no_warp_continues(m, m->fetched != fetched);
}
