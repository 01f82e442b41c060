/* Stalled threads: the queue of adapters/common/stalled.h, and how the kernel wakes them.
 *
 * A thread whose fault was cancelled is woken too: it has its signal, and retries if it survives. If
 * replay after replay releases no thread, all are woken. */
#include "pager_internal.h"

#include "array.h"
#include "engine_setup.h"

/* Pages whose threads are to be woken; end 0: none. */
struct waking {
	struct uvmp_pager *pager;
	uint64_t base, end;
	uint64_t now_ns;
};

static bool report(void *host, const struct stalled *fault)
{
	struct uvmp_pager *p = host;
	struct uvmp_fault reported = {.address = fault->address,
				      .aperture = UVMP_APERTURE_VID,
				      .utlb = fault->agent % SETUP_UTLBS,
				      .type = UVMP_FAULT_INVALID_PTE,
				      .access = fault->access};

	return uvmp_service_fault(p->service, GPU, &reported) == UVMP_OK;
}

void waiting_add(struct uvmp_pager *p, const struct stalled *fault)
{
	struct stalled_queue *queue = &p->stalled;

	if (!ARRAY_RESERVE(queue->fault, queue->capacity, queue->count + 1u)) { /* the thread is woken now,
										 * and faults again */
		uffd_wake(&p->uffd, fault->address, p->page_bytes);
		return;
	}
	if (!p->thrash.is_waiting)
		thrash_wait(&p->thrash, &p->stats, true, fault->since_ns);
	stalled_add(queue, fault, report, p);
}

void waiting_report(struct uvmp_pager *p)
{
	stalled_report(&p->stalled, report, p);
}

/* A page that is not managed cannot arrive. */
static bool is_over(const struct uvmp_pager *p, const struct stalled *fault)
{
	const struct area *area = areas_find(&p->areas, fault->address);
	uint32_t page = (uint32_t)(fault->address % BLOCK_BYTES / p->page_bytes);
	const struct block *block;

	if (!area || fault->is_cancelled)
		return true;
	block = area_block(area, fault->address);
	return uvmp_mask_test(&block->resident, page) || uvmp_mask_test(&block->foreign, page);
}

static void wake_now(const struct waking *waking)
{
	if (waking->end != 0)
		uffd_wake(&waking->pager->uffd, waking->base, waking->end - waking->base);
}

/* One call wakes consecutive threads that wait for the same page, or for the next. */
static void wake(struct waking *waking, uint64_t address)
{
	uint32_t bytes = waking->pager->page_bytes;

	if (waking->end != 0 && address >= waking->base && address <= waking->end) {
		if (address == waking->end)
			waking->end += bytes;
		return;
	}
	wake_now(waking);
	waking->base = address;
	waking->end = address + bytes;
}

static bool resume(void *host, const struct stalled *fault)
{
	struct waking *waking = host;
	struct uvmp_pager *p = waking->pager;

	if (!is_over(p, fault))
		return false;
	if (p->wants_touches && !fault->is_cancelled)
		(void)uvmp_service_access(p->service, GPU, SPACE, fault->address,
					  (enum uvmp_access)fault->access);
	p->stats.stall_ns += waking->now_ns - fault->since_ns;
	wake(waking, fault->address);
	return true;
}

void waiting_replay(struct uvmp_pager *p)
{
	struct waking waking = {.pager = p, .now_ns = pager_now_ns()};

	p->now_ns += STALLED_REPLAY_NS;
	p->stats.replays++;
	p->stats.wakeups += p->stalled.count;
	statistics_publish(p); /* a woken thread may end the process */
	stalled_replay(&p->stalled, GPU, resume, &waking);
	thrash_wait(&p->thrash, &p->stats, p->stalled.count != 0, waking.now_ns);
	wake_now(&waking);
	stalled_report_again(&p->stalled, report, p);
}

static void let_all_go(struct uvmp_pager *p)
{
	for (uint32_t i = 0; i < p->stalled.count; i++)
		uffd_wake(&p->uffd, p->stalled.fault[i].address, p->page_bytes);
	stalled_clear(&p->stalled);
	thrash_wait(&p->thrash, &p->stats, false, pager_now_ns());
}

void waiting_bottom_half_ended(struct uvmp_pager *p)
{
	if (!stalled_is_idle(&p->stalled))
		return;
	if (p->throttled_until_ns > p->now_ns)
		p->now_ns = p->throttled_until_ns;
	p->throttled_until_ns = 0;
	if (stalled_is_stuck(&p->stalled))
		let_all_go(p);
}
