/* The bottom half: one worker, the only caller of the engine.
 *
 * It works in rounds until there are no new events. If no warp waits for an answer (emu_stalled.c), a
 * round begins with the reports of the GPUs. Then the engine's actions are performed until it has none.
 * Requests (emu_request.c) are taken at the beginning and between two actions, so that a range can be
 * freed while faults on it are serviced. */
#include "emu_bottom.h"

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

/* -- a turn -- */

static void end_pause(struct emu_bottom *b)
{
	if (b->paused_until_ns == 0 || emu_clock(b) < b->paused_until_ns)
		return;
	b->now_ns = max(b->now_ns, b->paused_until_ns);
	b->paused_until_ns = 0;
}

static void advance_for_timers(struct emu_bottom *b)
{
	if (uvmp_service_wakeup_ns(b->driver->service) <= emu_clock(b))
		emu_pass_time(b);
}

/* True: there were reports. */
static bool begin_round(struct emu_bottom *b)
{
	b->taken = 0;
	end_pause(b);
	advance_for_timers(b);
	if (b->paused_until_ns != 0 || b->stalled.count != 0)
		return false;
	emu_request_begin_reading(b);
	return emu_reports_take(b);
}

/* Requests that were held for the end of the round. */
static void end_due(struct emu_bottom *b)
{
	struct emu_request *change;

	while ((change = emu_request_end_due(b)) != NULL)
		emu_request_finish(change, emu_change_policy(b, change->policy));
}

/* During a pause only requests start a round; stalled warps stay stalled. True: there may be more to do. */
static bool run_round(struct emu_bottom *b)
{
	bool is_some = begin_round(b);

	is_some |= emu_request_take(b);
	if (b->paused_until_ns != 0 && !is_some)
		return false;
	b->paused_until_ns = 0;
	if (!emu_pump(b, false))
		return true;
	if (b->stalled.count != 0)
		emu_stalled_give_up(b); /* their pages do not arrive */
	end_due(b);
	return is_some || emu_request_is_held(b);
}

static bool run_timed_round(struct emu_bottom *b)
{
	u64 began_ns = ktime_get_ns();
	bool is_more = run_round(b);

	b->driver->stats.work_ns += ktime_get_ns() - began_ns;
	return is_more;
}

/* All other events wait for the end of a pause. */
static void set_timer(struct emu_bottom *b)
{
	u64 at = b->paused_until_ns != 0 ? b->paused_until_ns : uvmp_service_wakeup_ns(b->driver->service);

	if (at != U64_MAX && !b->is_ending)
		hrtimer_start(&b->driver->timer, ns_to_ktime(b->start_ns + at), HRTIMER_MODE_ABS);
}

/* Queries of the engine run between two rounds, even if GPUs never stop faulting. Reports that arrive
 * during a pause wait for its end: they would interrupt again at once. */
static void work(struct work_struct *work)
{
	struct emu_driver *driver = container_of(work, struct emu_driver, work);
	struct emu_bottom *b = driver->bottom;
	bool is_paused;

	mutex_lock(&driver->engine_lock);
	while (run_timed_round(b)) {
		mutex_unlock(&driver->engine_lock);
		cond_resched();
		mutex_lock(&driver->engine_lock);
	}
	set_timer(b);
	is_paused = b->paused_until_ns != 0;
	mutex_unlock(&driver->engine_lock);
	for (u32 i = 0; !is_paused && i < driver->params.gpus; i++)
		emu_gpu_unmask(&driver->gpu[i]);
}

static enum hrtimer_restart timer_expired(struct hrtimer *timer)
{
	emu_bottom_interrupt(container_of(timer, struct emu_driver, timer));
	return HRTIMER_NORESTART;
}

/* -- for others -- */

void emu_bottom_clear(struct emu_driver *driver)
{
	mutex_lock(&driver->engine_lock);
	emu_text_clear(&driver->log);
	emu_record_begin(driver->bottom);
	mutex_unlock(&driver->engine_lock);
}

/* -- life -- */

static void init_timer(struct emu_driver *driver)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&driver->timer, timer_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&driver->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	driver->timer.function = timer_expired;
#endif
}

static void init_fields(struct emu_driver *driver, struct emu_bottom *b)
{
	driver->bottom = b;
	b->driver = driver;
	xa_init(&b->spaces);
	mutex_init(&driver->engine_lock);
	INIT_WORK(&driver->work, work);
	init_timer(driver);
	emu_request_init(b);
	emu_residency_init(b);
}

int emu_bottom_init(struct emu_driver *driver)
{
	struct emu_bottom *b = kvzalloc(sizeof(*b), GFP_KERNEL);
	int result = -ENOMEM;

	if (b == NULL)
		return -ENOMEM;
	init_fields(driver, b);
	driver->queue = alloc_ordered_workqueue("uvmp_emu", WQ_MEM_RECLAIM);
	if (driver->queue != NULL)
		result = emu_engine_init(b);
	if (result == 0) {
		emu_record_begin(b);
		return 0;
	}
	if (driver->queue != NULL)
		destroy_workqueue(driver->queue);
	kvfree(b);
	return result;
}

void emu_bottom_exit(struct emu_driver *driver)
{
	struct emu_bottom *b = driver->bottom;

	mutex_lock(&driver->engine_lock);
	b->is_ending = true;
	mutex_unlock(&driver->engine_lock);
	hrtimer_cancel(&driver->timer);
	destroy_workqueue(driver->queue);
	emu_residency_exit(b);
	emu_engine_exit(b);
	xa_destroy(&b->spaces);
	mutex_destroy(&driver->engine_lock);
	kvfree(b);
	driver->bottom = NULL;
}
