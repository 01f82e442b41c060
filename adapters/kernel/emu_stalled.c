/* Faults of stalled warps, until they are answered.
 *
 * The engine has its own fault buffer. A round of the bottom half begins when no warp is stalled: it
 * reports the contents of the rings, and performs the engine's actions until all faults are answered. A
 * warp whose page has not arrived when the engine says REPLAY faults again. That fault is reported at
 * once from the list kept here: first faults that had found the buffer full, each kind in the order of
 * faulting. The GPU runs the warp again as well and may report it again: an entry that is answered when
 * it is read is not reported, but needs a replay of its own. So the engine's events follow from what
 * was read at the beginning of a round. The simulator knows that from the trace, and decides the same
 * (adapters/simulator/agents.h). */
#include "emu_bottom.h"

#define REPLAY_NS 1000u /* added to the engine's clock at each replay, as in the simulator */
#define IDLE_MOST 1000u /* bottom halves in a row that release no warp */

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

static bool report(struct emu_bottom *b, const struct emu_stalled *w)
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

/* Faults that were reported before, or those that were not; the oldest first. */
static void report_all(struct emu_bottom *b, bool were_reported)
{
	for (u32 i = 0; i < b->stalled_count && b->unreported != 0; i++) {
		struct emu_stalled *w = &b->engine.stalled[i];

		if (w->is_reported || w->was_reported != were_reported)
			continue;
		if (!report(b, w))
			return;
		w->is_reported = true;
		b->unreported--;
	}
}

void emu_stalled_report(struct emu_bottom *b)
{
	if (b->unreported == 0)
		return;
	for (u32 i = 0; i < b->stalled_count; i++)
		b->engine.stalled[i].was_reported = false;
	report_all(b, false);
}

bool emu_stalled_add(struct emu_bottom *b, const struct emu_stalled *w)
{
	struct emu_stalled *added = &b->engine.stalled[b->stalled_count];
	bool is_reported = report(b, w);

	if (w->access == UVMP_ACCESS_PREFETCH) /* no warp waits for a prefetch */
		return false;
	*added = *w;
	added->is_reported = is_reported;
	b->unreported += !is_reported;
	b->stalled_count++;
	return true;
}

/* -- answers -- */

static void release(struct emu_bottom *b, const struct emu_stalled *w)
{
	b->is_released = true;
	if (b->wants_touches)
		(void)uvmp_service_access(b->driver->service, w->gpu, w->space, w->address,
					  (enum uvmp_access)w->access);
}

/* Faults in memory that is not managed are reported too, until they are cancelled. */
static bool can_continue(struct emu_bottom *b, const struct emu_stalled *w)
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

void emu_stalled_replay(struct emu_bottom *b, u32 gpu)
{
	u32 stay = 0;

	b->now_ns += REPLAY_NS;
	b->unreported = 0;
	for (u32 i = 0; i < b->stalled_count; i++) {
		struct emu_stalled w = b->engine.stalled[i];

		if (w.gpu == gpu && can_continue(b, &w)) {
			release(b, &w);
			continue;
		}
		w.was_reported = w.is_reported;
		w.is_reported = w.is_reported && w.gpu != gpu;
		b->unreported += !w.is_reported;
		b->engine.stalled[stay++] = w;
	}
	b->stalled_count = stay;
	emu_gpu_replay(emu_gpu_of(b, gpu));
	report_all(b, false);
	report_all(b, true);
}

void emu_stalled_cancel(struct emu_bottom *b, u32 gpu, u64 space, u64 address, bool only_writes)
{
	u32 stay = 0;

	b->unreported = 0;
	for (u32 i = 0; i < b->stalled_count; i++) {
		struct emu_stalled w = b->engine.stalled[i];

		if (w.gpu == gpu && w.space == space && w.address == (address & PAGE_MASK) &&
		    (!only_writes || w.access > UVMP_ACCESS_READ)) {
			b->is_released = true;
			continue;
		}
		b->unreported += !w.is_reported;
		b->engine.stalled[stay++] = w;
	}
	b->stalled_count = stay;
}

void emu_stalled_give_up(struct emu_bottom *b)
{
	b->stalled_count = b->unreported = b->idle = 0;
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		emu_stalled_replay_only(&b->driver->gpu[i]);
}

/* If no warp could continue before a throttled one may, all wait until then. */
void emu_stalled_bottom_half_ended(struct emu_bottom *b)
{
	bool is_released = b->is_released;

	b->is_released = false;
	if (is_released || b->stalled_count == 0) {
		b->idle = 0;
		return;
	}
	if (b->throttled_ns > b->now_ns)
		b->paused_until_ns = b->throttled_ns;
	b->throttled_ns = 0;
	if (++b->idle == IDLE_MOST)
		emu_stalled_give_up(b);
}
