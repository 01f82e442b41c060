/* Threads that wait for a page, as the agents of the simulator do (its agents.h): so the two give the engine
 * the same faults in the same order.
 *
 * A thread's fault is told to the engine when it comes; if the engine's buffer is full, as soon as it is not.
 * At a replay those go on whose page has come, and that touch is told. The others would only fault again: the
 * kernel is spared that, they are told again at once, first those whose fault had not been told since the
 * replay before. A thread whose fault was cancelled is woken, too: it has its signal, and tries again if it
 * lives.
 *
 * If replay after replay nobody goes on, all are woken: whoever tries again can be killed in between. */
#include "pager_internal.h"

#include <stdlib.h>

#define REPLAY_NS 1000u /* the engine's clock goes on by this much with each, as the simulator's */
#define IDLE_MOST 1000u /* bottom halves that release nobody */

/* Pages whose threads are to be woken; end 0: none. */
struct waking {
	uint64_t base, end;
};

static bool tell(struct uvmp_pager *p, const struct waiting *w)
{
	struct uvmp_fault fault = {.address = w->address,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = w->thread % UTLBS,
	                           .type = UVMP_FAULT_INVALID_PTE,
	                           .access = w->is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ};

	return uvmp_service_fault(p->service, GPU, &fault) == UVMP_OK;
}

static bool has_room_for_one(struct uvmp_pager *p)
{
	size_t room = p->waiting_room == 0 ? 256 : 2u * p->waiting_room;
	struct waiting *waiting;

	if (p->waitings < p->waiting_room)
		return true;
	waiting = realloc(p->waiting, room * sizeof(*waiting));
	if (!waiting)
		return false;
	p->waiting = waiting;
	p->waiting_room = room;
	return true;
}

void waiting_add(struct uvmp_pager *p, const struct waiting *w)
{
	struct waiting *mine;

	if (!has_room_for_one(p)) { /* it is woken now, and faults again */
		uffd_wake(&p->uffd, w->address, p->page_bytes);
		return;
	}
	mine = &p->waiting[p->waitings++];
	*mine = *w;
	mine->is_told = tell(p, mine);
	p->untold += !mine->is_told;
}

/* Those that were told before, or those that were not; the oldest first. */
static void tell_all(struct uvmp_pager *p, bool were_told)
{
	for (size_t i = 0; i < p->waitings && p->untold != 0; i++) {
		struct waiting *w = &p->waiting[i];

		if (w->is_told || w->was_told != were_told)
			continue;
		if (!tell(p, w))
			return;
		w->is_told = true;
		p->untold--;
	}
}

void waiting_report(struct uvmp_pager *p)
{
	if (p->untold == 0)
		return;
	for (size_t i = 0; i < p->waitings; i++)
		p->waiting[i].was_told = false;
	tell_all(p, false);
}

/* Memory that is not managed any more cannot come. */
static bool can_go_on(const struct uvmp_pager *p, const struct waiting *w)
{
	const struct area *area = areas_find(&p->areas, w->address);
	uint32_t page = (uint32_t)(w->address % BLOCK_BYTES / p->page_bytes);
	const struct block *block;

	if (!area || w->is_cancelled)
		return true;
	block = area_block(area, w->address);
	return uvmp_mask_test(&block->resident, page) || uvmp_mask_test(&block->foreign, page);
}

static void go_on(struct uvmp_pager *p, const struct waiting *w, uint64_t now_ns)
{
	if (p->wants_touches && !w->is_cancelled)
		(void)uvmp_service_access(p->service, GPU, SPACE, w->address,
		                          w->is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	p->stats.stall_ns += now_ns - w->since_ns;
	p->is_released = true;
}

/* One call for those that come one after the other and wait for the same page, or for the next. */
static void wake(struct uvmp_pager *p, struct waking *waking, uint64_t address)
{
	if (waking->end != 0 && address >= waking->base && address <= waking->end) {
		if (address == waking->end)
			waking->end += p->page_bytes;
		return;
	}
	if (waking->end != 0)
		uffd_wake(&p->uffd, waking->base, waking->end - waking->base);
	*waking = (struct waking){address, address + p->page_bytes};
}

void waiting_replay(struct uvmp_pager *p)
{
	uint64_t now_ns = pager_now_ns();
	struct waking waking = {0, 0};
	size_t stay = 0;

	p->now_ns += REPLAY_NS;
	p->stats.replays++;
	p->stats.wakeups += p->waitings;
	statistics_publish(p); /* whoever is woken may end the process */
	for (size_t i = 0; i < p->waitings; i++) {
		struct waiting w = p->waiting[i];

		if (can_go_on(p, &w)) {
			go_on(p, &w, now_ns);
			wake(p, &waking, w.address);
			continue;
		}
		w.was_told = w.is_told;
		w.is_told = false;
		p->waiting[stay++] = w;
	}
	if (waking.end != 0)
		uffd_wake(&p->uffd, waking.base, waking.end - waking.base);
	p->waitings = p->untold = stay;
	tell_all(p, false);
	tell_all(p, true);
}

static void let_all_go(struct uvmp_pager *p)
{
	for (size_t i = 0; i < p->waitings; i++)
		uffd_wake(&p->uffd, p->waiting[i].address, p->page_bytes);
	p->waitings = p->untold = 0;
}

/* Where nobody goes on before the throttled ones may, time goes on to then. */
void waiting_bottom_half_ended(struct uvmp_pager *p)
{
	bool is_released = p->is_released;

	p->is_released = false;
	if (is_released || p->waitings == 0) {
		p->idle = 0;
		return;
	}
	if (p->throttled_until_ns > p->now_ns)
		p->now_ns = p->throttled_until_ns;
	p->throttled_until_ns = 0;
	if (++p->idle == IDLE_MOST)
		let_all_go(p);
}
