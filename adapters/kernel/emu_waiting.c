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

static bool is_open(struct emu_bottom *b, u64 space)
{
	return xa_load(&b->spaces, space) != NULL;
}

static const struct emu_page *find_page(struct emu_bottom *b, u64 id, u64 address)
{
	struct emu_space *space = xa_load(&b->spaces, id);

	return space != NULL ? emu_page_find(space, address) : NULL;
}

static bool may(const struct emu_page *page, u32 gpu, u8 access)
{
	return page != NULL && page->right[gpu] >= (u8)uvmp_access_prot((enum uvmp_access)access);
}

static bool tell(struct emu_bottom *b, const struct emu_waiting *w)
{
	const struct emu_page *page = find_page(b, w->space, w->address);
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
	return !is_open(b, w->space) || may(find_page(b, w->space, w->address), w->gpu, w->access);
}

/* A bottom half without the engine. */
static void replay_only(struct emu_gpu *gpu)
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
		replay_only(&b->driver->gpu[i]);
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

/* -- a round begins -- */

static u32 agent(struct emu_bottom *b, u32 utlb)
{
	return utlb + EMU_UTLBS_MAX * b->agents[utlb % EMU_UTLBS_MAX]++;
}

/* Pages that have become hot move before the next one is touched. */
static void touch(struct emu_bottom *b, u32 gpu, u64 space, u64 address, u32 utlb, u8 access)
{
	if (!b->wants_touches || !may(find_page(b, space, address), gpu, access))
		return;
	emu_pass_time(b);
	emu_record_access(b, space, gpu, agent(b, utlb), access, address);
	(void)uvmp_service_access(b->driver->service, gpu, space, address, (enum uvmp_access)access);
	if (uvmp_service_has_notes(b->driver->service))
		emu_pump(b, true);
}

static bool take_touches(struct emu_bottom *b, struct emu_gpu *gpu)
{
	struct emu_touch told;
	u32 left = b->engine.fault_room;

	while (left-- > 0 && emu_counter_touched(gpu, &told))
		touch(b, gpu->id, told.space, told.address & PAGE_MASK, 0, told.access);
	return left != b->engine.fault_room - 1u;
}

static bool take_notes(struct emu_bottom *b, struct emu_gpu *gpu)
{
	struct uvmp_note note;
	bool is_some = false;

	for (; emu_counter_fetch(gpu, &note); is_some = true) {
		gpu->stats.notifications++;
		(void)uvmp_service_note(b->driver->service, gpu->id, &note);
	}
	return is_some;
}

static void wait_for(struct emu_bottom *b, struct emu_gpu *gpu, const struct uvmp_fault *fault)
{
	struct emu_waiting w = {.space = fault->instance,
	                        .address = fault->address & PAGE_MASK,
	                        .gpu = gpu->id,
	                        .utlb = fault->utlb,
	                        .access = fault->access};

	w.is_told = tell(b, &w);
	if (fault->access == UVMP_ACCESS_PREFETCH) /* nobody does */
		return;
	emu_pass_time(b);
	emu_record_access(b, w.space, gpu->id, agent(b, w.utlb), w.access, w.address);
	b->untold += !w.is_told;
	b->engine.waiting[b->waitings++] = w;
}

/* Those of the GPUs behind this one find room too, as far as each needs its share. */
static u32 room_for(const struct emu_bottom *b, const struct emu_gpu *gpu)
{
	u32 gpus = b->driver->params.gpus, share = b->engine.fault_room / gpus, kept = b->waitings;

	for (u32 i = gpu->id; i < gpus; i++)
		kept += min(emu_ring_count(&b->driver->gpu[i]), share);
	return kept < b->engine.fault_room ? b->engine.fault_room - kept : 0;
}

/* Those that are answered already first: what they touch may move others. Of a space that is closed nobody
 * waits, but who was lost because the ring was full of it does. False: the ring was empty. */
static bool take_faults(struct emu_bottom *b, struct emu_gpu *gpu)
{
	u32 count = 0, told = 0, room = room_for(b, gpu);

	while (count < room && emu_ring_fetch(gpu, &b->engine.fetched[count]))
		count++;
	for (u32 i = 0; i < count; i++) {
		const struct uvmp_fault *f = &b->engine.fetched[i];

		touch(b, gpu->id, f->instance, f->address & PAGE_MASK, f->utlb, f->access);
	}
	for (u32 i = 0; i < count; i++) {
		const struct uvmp_fault *f = &b->engine.fetched[i];

		if (!is_open(b, f->instance) ||
		    may(find_page(b, f->instance, f->address), gpu->id, f->access))
			continue;
		wait_for(b, gpu, f);
		told++;
	}
	if (count != 0 && told == 0) /* else the engine will */
		replay_only(gpu);
	return count != 0;
}

bool emu_waiting_take(struct emu_bottom *b)
{
	bool is_some = false;

	memset(b->agents, 0, sizeof(b->agents));
	for (u32 i = 0; i < b->driver->params.gpus; i++) {
		struct emu_gpu *gpu = &b->driver->gpu[i];

		is_some |= take_touches(b, gpu);
		is_some |= take_notes(b, gpu);
	}
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		is_some |= take_faults(b, &b->driver->gpu[i]);
	if (b->waitings != 0)
		emu_record_batch(b);
	return is_some;
}
