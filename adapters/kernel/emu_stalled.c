/* What the GPUs report, and who waits for an answer.
 *
 * The engine has a fault buffer of its own. A round of the bottom half begins when nobody waits any more:
 * what the rings hold then is told, and the engine is pumped until all of it is answered. A warp whose page
 * has not come when the engine says REPLAY faults again; that is told at once, from the list kept here, first
 * those that had found the buffer full, each kind in the order of faulting. The GPU runs the warp again, too,
 * and may report it again: an entry that is answered by the time it is read is not told, but needs a replay
 * of its own. So what the engine hears follows from what was read at the beginning of a round, and the
 * simulator, which knows that from the trace, decides the same (adapters/simulator/agents.h). */
#include "emu_bottom.h"

#define REPLAY_NS 1000u /* the engine's clock goes on by this much with each, as the simulator's */
#define IDLE_MOST 1000u /* bottom halves that release nobody */

/* -- telling -- */

bool emu_stalled_is_open(struct emu_bottom *b, u64 space)
{
	return xa_load(&b->spaces, space) != NULL;
}

const struct emu_page *emu_stalled_page(struct emu_bottom *b, u64 id, u64 address)
{
	struct emu_space *space = xa_load(&b->spaces, id);

	return space != NULL ? emu_page_find(space, address) : NULL;
}

bool emu_stalled_may(const struct emu_page *page, u32 gpu, u8 access)
{
	return page != NULL && page->right[gpu] >= (u8)uvmp_access_prot((enum uvmp_access)access);
}

static bool tell(struct emu_bottom *b, const struct emu_waiting *w)
{
	const struct emu_page *page = emu_stalled_page(b, w->space, w->address);
	struct uvmp_fault fault = {
		.address = w->address,
		.instance = w->space,
		.aperture = UVMP_APERTURE_VID,
		.utlb = w->utlb,
		.type = emu_fault_type(page != NULL ? page->right[w->gpu] : UVMP_PROT_NONE),
		.access = w->access};

	return uvmp_service_fault(b->driver->service, w->gpu, &fault) == UVMP_OK;
}

/* Those that were told before, or those that were not; the oldest first. */
static void tell_all(struct emu_bottom *b, bool were_told)
{
	for (u32 i = 0; i < b->waitings && b->untold != 0; i++) {
		struct emu_waiting *w = &b->engine.waiting[i];

		if (w->is_told || w->was_told != were_told)
			continue;
		if (!tell(b, w))
			return;
		w->is_told = true;
		b->untold--;
	}
}

void emu_waiting_report(struct emu_bottom *b)
{
	if (b->untold == 0)
		return;
	for (u32 i = 0; i < b->waitings; i++)
		b->engine.waiting[i].was_told = false;
	tell_all(b, false);
}

bool emu_stalled_add(struct emu_bottom *b, const struct emu_waiting *w)
{
	struct emu_waiting *added = &b->engine.waiting[b->waitings];
	bool is_told = tell(b, w);

	if (w->access == UVMP_ACCESS_PREFETCH) /* no warp waits for a prefetch */
		return false;
	*added = *w;
	added->is_told = is_told;
	b->untold += !is_told;
	b->waitings++;
	return true;
}

/* -- answers -- */

static void let_go(struct emu_bottom *b, const struct emu_waiting *w)
{
	b->is_released = true;
	if (b->wants_touches)
		(void)uvmp_service_access(b->driver->service, w->gpu, w->space, w->address,
					  (enum uvmp_access)w->access);
}

/* Who waits for what is not managed is told of as well, until it is cancelled. */
static bool can_go_on(struct emu_bottom *b, const struct emu_waiting *w)
{
	return !emu_stalled_is_open(b, w->space) ||
	       emu_stalled_may(emu_stalled_page(b, w->space, w->address), w->gpu, w->access);
}

/* A bottom half without the engine. */
void emu_stalled_replay_only(struct emu_gpu *gpu)
{
	emu_gpu_replay(gpu);
	gpu->stats.bottom_halves++;
}

void emu_waiting_replay(struct emu_bottom *b, u32 gpu)
{
	u32 stay = 0;

	b->now_ns += REPLAY_NS;
	b->untold = 0;
	for (u32 i = 0; i < b->waitings; i++) {
		struct emu_waiting w = b->engine.waiting[i];

		if (w.gpu == gpu && can_go_on(b, &w)) {
			let_go(b, &w);
			continue;
		}
		w.was_told = w.is_told;
		w.is_told = w.is_told && w.gpu != gpu;
		b->untold += !w.is_told;
		b->engine.waiting[stay++] = w;
	}
	b->waitings = stay;
	emu_gpu_replay(emu_gpu_of(b, gpu));
	tell_all(b, false);
	tell_all(b, true);
}

void emu_waiting_cancel(struct emu_bottom *b, u32 gpu, u64 space, u64 address, bool only_writes)
{
	u32 stay = 0;

	b->untold = 0;
	for (u32 i = 0; i < b->waitings; i++) {
		struct emu_waiting w = b->engine.waiting[i];

		if (w.gpu == gpu && w.space == space && w.address == (address & PAGE_MASK) &&
		    (!only_writes || w.access > UVMP_ACCESS_READ)) {
			b->is_released = true;
			continue;
		}
		b->untold += !w.is_told;
		b->engine.waiting[stay++] = w;
	}
	b->waitings = stay;
}

void emu_waiting_give_up(struct emu_bottom *b)
{
	b->waitings = b->untold = b->idle = 0;
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		emu_stalled_replay_only(&b->driver->gpu[i]);
}

/* Where nobody goes on before the throttled ones may, all wait until then. */
void emu_waiting_bottom_half_ended(struct emu_bottom *b)
{
	bool is_released = b->is_released;

	b->is_released = false;
	if (is_released || b->waitings == 0) {
		b->idle = 0;
		return;
	}
	if (b->throttled_ns > b->now_ns)
		b->rest_ns = b->throttled_ns;
	b->throttled_ns = 0;
	if (++b->idle == IDLE_MOST)
		emu_waiting_give_up(b);
}
