/* The GPU: a thread that runs the warps of all submissions.
 *
 * While gpu->lock is free, each warp that has not ended is in one of the GPU's lists: runnable, stalled
 * (its access faulted), or limited (its SM is idle). The thread takes the first runnable warp, performs
 * a few of its accesses and appends it to the list, under the lock. So the holder of the lock finds
 * every warp and can remove it: for a killed submission, a cancelled fault, a replay.
 *
 * An access that the page table does not allow writes a fault and stalls. If the ring is full, the
 * fault is lost and the warp stalls nevertheless: a full ring holds faults, which end in a replay,
 * after which the access faults again. */
#include "emu.h"

#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#define STEP_ACCESSES 8u  /* of one warp with interrupts off */
#define SWEEP_WARPS   64u /* with interrupts off */

/* -- one access -- */

static enum uvmp_access access_of(u32 kind)
{
	switch (kind) {
	case UVMP_EMU_READ:
		return UVMP_ACCESS_READ;
	case UVMP_EMU_WRITE:
		return UVMP_ACCESS_WRITE;
	case UVMP_EMU_ADD:
		return UVMP_ACCESS_ATOMIC_STRONG;
	default:
		return UVMP_ACCESS_PREFETCH;
	}
}

/* The CPU and other GPUs may access the same bytes. */
static void use(struct page *frame, struct uvmp_emu_access *access)
{
	char *bytes = kmap_local_page(frame);
	u64 *word = (u64 *)(bytes + offset_in_page(access->address));

	switch (access->kind) {
	case UVMP_EMU_READ:
		access->value = READ_ONCE(*word);
		break;
	case UVMP_EMU_WRITE:
		WRITE_ONCE(*word, access->value);
		break;
	default:
		access->value = (u64)atomic64_fetch_add((s64)access->value, (atomic64_t *)word);
		break;
	}
	kunmap_local(bytes);
}

static bool write_fault(struct emu_gpu *gpu, const struct emu_warp *warp, u64 address,
			enum uvmp_access access, enum uvmp_right right)
{
	struct uvmp_fault fault = {.address = address,
				   .timestamp_ns = ktime_get_ns(),
				   .instance = warp->job->space->id,
				   .aperture = UVMP_APERTURE_VID,
				   .utlb = warp->sm % gpu->driver->params.utlbs,
				   .type = emu_fault_type(right),
				   .access = (u8)access,
				   .is_valid = true};

	return emu_ring_put(gpu, &fault);
}

/* No warp waits for a prefetch. -EAGAIN: the warp stalls. */
static int miss(struct emu_gpu *gpu, const struct emu_warp *warp, u64 address, enum uvmp_access access,
		enum uvmp_right right)
{
	if (access == UVMP_ACCESS_PREFETCH) {
		if (gpu->is_prefetching)
			write_fault(gpu, warp, address, access, right);
		return 0;
	}
	if (!write_fault(gpu, warp, address, access, right))
		gpu->stats.faults_lost++;
	return -EAGAIN;
}

/* 0: done. -EAGAIN: the warp stalls. Other errors end the warp. */
static int do_access(struct emu_gpu *gpu, struct emu_warp *warp, struct uvmp_emu_access *access)
{
	struct emu_space *space = warp->job->space;
	const struct emu_page *page = emu_page_find(space, access->address);
	enum uvmp_right right = page != NULL ? page->right[gpu->id] : UVMP_RIGHT_NONE;
	enum uvmp_access kind = access_of(access->kind);
	u32 on;

	if (right < uvmp_access_right(kind))
		return miss(gpu, warp, access->address, kind, right);
	if (kind == UVMP_ACCESS_PREFETCH)
		return 0;
	on = page->on[gpu->id];
	if (on >= EMU_PROCS || page->data[on] == NULL) {
		emu_broken(gpu->driver, "a GPU is mapped to a page where it is not");
		return -EFAULT;
	}
	use(page->data[on], access);
	gpu->stats.remote_accesses += on != gpu->id;
	emu_counter_use(gpu, space->id, access->address, on != gpu->id, kind);
	return 0;
}

/* -- one warp -- */

static void end_warp(struct emu_warp *warp, int status)
{
	struct emu_job *job = warp->job;

	list_del_init(&warp->link);
	warp->status = status;
	if (--job->running == 0)
		complete(&job->ended);
}

static void run_warp(struct emu_gpu *gpu, struct emu_warp *warp)
{
	for (u32 i = 0; i < STEP_ACCESSES; i++) {
		int status = do_access(gpu, warp, &warp->access[warp->done]);

		if (status == -EAGAIN) {
			list_move_tail(&warp->link, &gpu->stalled);
			return;
		}
		if (status == 0) {
			gpu->stats.accesses++;
			warp->done++;
		}
		if (status != 0 || warp->done == warp->accesses) {
			end_warp(warp, status);
			return;
		}
	}
	list_move_tail(&warp->link, &gpu->runnable);
}

/* -- the thread -- */

/* Faults become ready at the next step, so that readers can see entries that are not ready. False: no
 * warp is runnable. */
static bool step(struct emu_gpu *gpu)
{
	struct emu_warp *warp;
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	emu_ring_write(gpu);
	warp = list_first_entry_or_null(&gpu->runnable, struct emu_warp, link);
	if (warp != NULL && warp->sm % EMU_SMS >= EMU_SMS - gpu->idle_sms)
		list_move_tail(&warp->link, &gpu->limited);
	else if (warp != NULL)
		run_warp(gpu, warp);
	emu_ring_interrupt(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
	return warp != NULL;
}

static int run(void *argument)
{
	struct emu_gpu *gpu = argument;

	while (!kthread_should_stop()) {
		if (!step(gpu))
			wait_event_idle(gpu->wait, !list_empty(&gpu->runnable) || kthread_should_stop());
		cond_resched();
	}
	return 0;
}

/* -- submissions -- */

static void start_warps(struct emu_gpu *gpu, struct emu_job *job)
{
	for (u32 first = 0; first < job->warps; first += SWEEP_WARPS) {
		u32 end = min(first + SWEEP_WARPS, job->warps);
		unsigned long flags;

		spin_lock_irqsave(&gpu->lock, flags);
		for (u32 i = first; i < end; i++)
			if (job->warp[i].accesses != 0)
				list_add_tail(&job->warp[i].link, &gpu->runnable);
		spin_unlock_irqrestore(&gpu->lock, flags);
		wake_up(&gpu->wait);
	}
}

static void stop_warps(struct emu_gpu *gpu, struct emu_job *job)
{
	for (u32 first = 0; first < job->warps; first += SWEEP_WARPS) {
		u32 end = min(first + SWEEP_WARPS, job->warps);
		unsigned long flags;

		spin_lock_irqsave(&gpu->lock, flags);
		for (u32 i = first; i < end; i++)
			if (!list_empty(&job->warp[i].link))
				end_warp(&job->warp[i], -EINTR);
		spin_unlock_irqrestore(&gpu->lock, flags);
	}
}

int emu_gpu_submit(struct emu_gpu *gpu, struct emu_job *job)
{
	init_completion(&job->ended);
	job->running = 0;
	for (u32 i = 0; i < job->warps; i++) {
		struct emu_warp *warp = &job->warp[i];

		INIT_LIST_HEAD(&warp->link);
		warp->job = job;
		warp->done = 0;
		warp->status = 0;
		job->running += warp->accesses != 0;
	}
	if (job->running == 0)
		return 0;
	start_warps(gpu, job);
	if (wait_for_completion_killable(&job->ended) == 0)
		return 0;
	stop_warps(gpu, job);
	return -EINTR;
}

/* -- what the worker does to the GPU -- */

void emu_gpu_replay(struct emu_gpu *gpu)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	list_splice_tail_init(&gpu->stalled, &gpu->runnable);
	gpu->stats.replays++;
	spin_unlock_irqrestore(&gpu->lock, flags);
	wake_up(&gpu->wait);
}

static bool is_cancelled(const struct emu_warp *warp, u64 space, u64 address, bool only_writes)
{
	const struct uvmp_emu_access *access = &warp->access[warp->done];

	return warp->job->space->id == space && (access->address & PAGE_MASK) == (address & PAGE_MASK) &&
	       !(only_writes && access->kind == UVMP_EMU_READ);
}

/* The stalled warps move to a local list, and from there back in portions. Killed warps leave that
 * list. Only the worker replays. */
void emu_gpu_cancel(struct emu_gpu *gpu, u64 space, u64 address, bool only_writes)
{
	unsigned long flags;
	LIST_HEAD(stalled);

	spin_lock_irqsave(&gpu->lock, flags);
	list_splice_init(&gpu->stalled, &stalled);
	while (!list_empty(&stalled)) {
		for (u32 i = 0; i < SWEEP_WARPS && !list_empty(&stalled); i++) {
			struct emu_warp *warp = list_first_entry(&stalled, struct emu_warp, link);

			if (is_cancelled(warp, space, address, only_writes)) {
				end_warp(warp, -EFAULT);
				gpu->stats.cancelled++;
			} else {
				list_move_tail(&warp->link, &gpu->stalled);
			}
		}
		spin_unlock_irqrestore(&gpu->lock, flags);
		cond_resched();
		spin_lock_irqsave(&gpu->lock, flags);
	}
	spin_unlock_irqrestore(&gpu->lock, flags);
}

/* SM 0 always runs. */
void emu_gpu_limit(struct emu_gpu *gpu, u32 idle_sms)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	gpu->idle_sms = min(idle_sms, EMU_SMS - 1u);
	list_splice_tail_init(&gpu->limited, &gpu->runnable);
	spin_unlock_irqrestore(&gpu->lock, flags);
	wake_up(&gpu->wait);
}

void emu_gpu_toggle(struct emu_gpu *gpu, bool is_prefetching)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	gpu->is_prefetching = is_prefetching;
	spin_unlock_irqrestore(&gpu->lock, flags);
}

/* -- life -- */

static int start(struct emu_gpu *gpu)
{
	struct task_struct *thread = kthread_run(run, gpu, "uvmp_gpu%u", gpu->id);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	gpu->thread = thread;
	return 0;
}

int emu_gpu_init(struct emu_gpu *gpu, struct emu_driver *driver, u32 id)
{
	int status;

	gpu->driver = driver;
	gpu->id = id;
	spin_lock_init(&gpu->lock);
	init_waitqueue_head(&gpu->wait);
	INIT_LIST_HEAD(&gpu->runnable);
	INIT_LIST_HEAD(&gpu->stalled);
	INIT_LIST_HEAD(&gpu->limited);
	gpu->is_prefetching = true;
	status = emu_ring_init(gpu);
	if (status != 0)
		return status;
	status = emu_counter_init(gpu);
	if (status != 0)
		goto no_counters;
	status = start(gpu);
	if (status != 0)
		goto no_thread;
	return 0;

no_thread:
	emu_counter_exit(gpu);
no_counters:
	emu_ring_exit(gpu);
	return status;
}

/* Also of a GPU that was not initialised. */
void emu_gpu_exit(struct emu_gpu *gpu)
{
	if (gpu->thread == NULL)
		return;
	kthread_stop(gpu->thread);
	gpu->thread = NULL;
	emu_ring_exit(gpu);
	emu_counter_exit(gpu);
}
