/* Faults of stalled warps, until they are answered: the queue of adapters/common/stalled.h.
 *
 * A round of the bottom half begins when no warp is stalled: it reports the contents of the rings, and performs the engine's
 * actions until all faults are answered. The GPU runs a warp again after a replay and may report its fault again: an entry
 * that is answered when it is read is not reported, but needs a replay of its own. So the engine's events follow from
 * what was read at the beginning of a round. The simulator knows that from the trace, and decides the same
 * (adapters/simulator/agents.h). */
#include "emu_bottom.h"

#include <linux/timekeeping.h>

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
	return page != NULL && page->right[gpu] >= (u8)uvmp_access_right((enum uvmp_access)access);
}

static bool report(void *host, const struct stalled *w)
{
	struct emu_bottom *b = host;
	const struct emu_page *page = emu_stalled_page(b, w->space, w->address);
	struct uvmp_fault fault = {
		.address = w->address,
		.instance = w->space,
		.aperture = UVMP_APERTURE_VID,
		.utlb = w->agent,
		.type = emu_fault_type(page != NULL ? page->right[w->gpu] : UVMP_RIGHT_NONE),
		.access = w->access};

	u64 began_ns = ktime_get_ns();
	enum uvmp_status status = uvmp_service_fault(b->driver->service, w->gpu, &fault);

	b->driver->stats.decide_ns += ktime_get_ns() - began_ns;
	return status == UVMP_OK;
}

void emu_stalled_report(struct emu_bottom *b)
{
	stalled_report(&b->stalled, report, b);
}

bool emu_stalled_add(struct emu_bottom *b, const struct stalled *fault)
{
	if (fault->access == UVMP_ACCESS_PREFETCH) { /* no warp waits for a prefetch */
		(void)report(b, fault);
		return false;
	}
	stalled_add(&b->stalled, fault, report, b);
	return true;
}

/* -- answers -- */

/* Faults in memory that is not managed are reported too, until they are cancelled. */
static bool resume(void *host, const struct stalled *w)
{
	struct emu_bottom *b = host;

	if (emu_stalled_is_open(b, w->space) &&
	    !emu_stalled_may(emu_stalled_page(b, w->space, w->address), w->gpu, w->access))
		return false;
	if (b->wants_touches)
		(void)uvmp_service_access(b->driver->service, w->gpu, w->space, w->address,
					  (enum uvmp_access)w->access);
	return true;
}

/* A bottom half without the engine. */
void emu_stalled_replay_only(struct emu_gpu *gpu)
{
	emu_gpu_replay(gpu);
	gpu->stats.bottom_halves++;
}

void emu_stalled_replay(struct emu_bottom *b, u32 gpu)
{
	b->now_ns += STALLED_REPLAY_NS;
	stalled_replay(&b->stalled, gpu, resume, b);
	emu_gpu_replay(emu_gpu_of(b, gpu));
	stalled_report_again(&b->stalled, report, b);
}

/* The faults that a CANCEL ends. */
struct cancelled {
	u64 space, address;
	u32 gpu;
	bool only_writes;
};

static bool is_cancelled(void *host, const struct stalled *w)
{
	const struct cancelled *c = host;

	return w->gpu == c->gpu && w->space == c->space && w->address == c->address &&
	       (!c->only_writes || w->access > UVMP_ACCESS_READ);
}

void emu_stalled_cancel(struct emu_bottom *b, u32 gpu, u64 space, u64 address, bool only_writes)
{
	struct cancelled c = {
		.space = space, .address = address & PAGE_MASK, .gpu = gpu, .only_writes = only_writes};

	stalled_remove(&b->stalled, is_cancelled, &c);
}

void emu_stalled_give_up(struct emu_bottom *b)
{
	stalled_clear(&b->stalled);
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		emu_stalled_replay_only(&b->driver->gpu[i]);
}

/* If no warp could continue before a throttled one may, all wait until then. */
void emu_stalled_bottom_half_ended(struct emu_bottom *b)
{
	if (!stalled_is_idle(&b->stalled))
		return;
	if (b->throttled_ns > b->now_ns)
		b->paused_until_ns = b->throttled_ns;
	b->throttled_ns = 0;
	if (stalled_is_stuck(&b->stalled))
		emu_stalled_give_up(b);
}
