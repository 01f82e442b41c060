/* The bottom half: one worker, the only one who calls the engine.
 *
 * It works in rounds, until nothing new has come. While nobody waits for an answer (emu_waiting.c) a round
 * begins with what the GPUs have reported; then the engine is pumped until it has nothing more to do.
 * Requests (emu_request.c) are taken at the beginning and between two actions as well, so that a range can be
 * freed while faults on it are being serviced. */
#include "emu_bottom.h"

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

/* -- a turn -- */

static void rest_is_over(struct emu_bottom *b)
{
	if (b->rest_ns == 0 || emu_clock(b) < b->rest_ns)
		return;
	b->now_ns = max(b->now_ns, b->rest_ns);
	b->rest_ns = 0;
}

static void wake_up_for_time(struct emu_bottom *b)
{
	if (uvmp_service_wakeup_ns(b->driver->service) <= emu_clock(b))
		emu_pass_time(b);
}

/* True: something was there. */
static bool begin_round(struct emu_bottom *b)
{
	b->taken = 0;
	rest_is_over(b);
	wake_up_for_time(b);
	if (b->rest_ns != 0 || b->waitings != 0)
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

/* While it rests only requests move it on, and those who rest with them, in vain. True: there may be more. */
static bool move_on(struct emu_bottom *b)
{
	bool is_some = begin_round(b);

	is_some |= emu_request_take(b);
	if (b->rest_ns != 0 && !is_some)
		return false;
	b->rest_ns = 0;
	if (!emu_pump(b, false))
		return true;
	if (b->waitings != 0)
		emu_waiting_give_up(b); /* what they wait for does not come */
	end_due(b);
	return is_some || emu_request_is_held(b);
}

/* What else is due waits for the end of a rest. */
static void set_timer(struct emu_bottom *b)
{
	u64 at = b->rest_ns != 0 ? b->rest_ns : uvmp_service_wakeup_ns(b->driver->service);

	if (at != U64_MAX && !b->is_ending)
		hrtimer_start(&b->driver->timer, ns_to_ktime(b->start_ns + at), HRTIMER_MODE_ABS);
}

/* Whoever looks at the engine gets to it between two rounds, also while GPUs never stop faulting. What they
 * have reported when a rest begins waits for its end: they would interrupt again at once. */
static void work(struct work_struct *work)
{
	struct emu_driver *driver = container_of(work, struct emu_driver, work);
	struct emu_bottom *b = driver->bottom;
	bool rests;

	mutex_lock(&driver->engine_lock);
	while (move_on(b)) {
		mutex_unlock(&driver->engine_lock);
		cond_resched();
		mutex_lock(&driver->engine_lock);
	}
	set_timer(b);
	rests = b->rest_ns != 0;
	mutex_unlock(&driver->engine_lock);
	for (u32 i = 0; !rests && i < driver->params.gpus; i++)
		emu_gpu_unmask(&driver->gpu[i]);
}

static enum hrtimer_restart time_has_come(struct hrtimer *timer)
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
	hrtimer_setup(&driver->timer, time_has_come, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&driver->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	driver->timer.function = time_has_come;
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
	emu_place_init(b);
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
	emu_place_exit(b);
	emu_engine_exit(b);
	xa_destroy(&b->spaces);
	mutex_destroy(&driver->engine_lock);
	kvfree(b);
	driver->bottom = NULL;
}
