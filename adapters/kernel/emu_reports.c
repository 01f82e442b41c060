/* Reports of the GPUs at the beginning of a round: touches, notifications of access counters, and faults. */
#include "emu_bottom.h"

static u32 agent(struct emu_bottom *b, u32 utlb)
{
	return utlb + EMU_UTLBS_MAX * b->agents[utlb % EMU_UTLBS_MAX]++;
}

/* Pages that become hot are moved before the next touch is reported. */
static void touch(struct emu_bottom *b, u32 gpu, u64 space, u64 address, u32 utlb, u8 access)
{
	if (!b->wants_touches || !emu_stalled_may(emu_stalled_page(b, space, address), gpu, access))
		return;
	emu_pass_time(b);
	emu_record_access(b, space, gpu, agent(b, utlb), access, address);
	(void)uvmp_service_access(b->driver->service, gpu, space, address, (enum uvmp_access)access);
	if (uvmp_service_has_notes(b->driver->service))
		emu_pump(b, true);
}

static bool take_touches(struct emu_bottom *b, struct emu_gpu *gpu)
{
	struct emu_touch reported;
	u32 left = b->engine.fault_capacity;

	while (left-- > 0 && emu_counter_touched(gpu, &reported))
		touch(b, gpu->id, reported.space, reported.address & PAGE_MASK, 0, reported.access);
	return left != b->engine.fault_capacity - 1u;
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
	struct stalled w = {.space = fault->instance,
			    .address = fault->address & PAGE_MASK,
			    .gpu = gpu->id,
			    .agent = fault->utlb,
			    .access = fault->access};

	if (!emu_stalled_add(b, &w))
		return;
	emu_pass_time(b);
	emu_record_access(b, w.space, gpu->id, agent(b, w.agent), w.access, w.address);
}

/* Free entries for this GPU: later GPUs keep up to an equal share each. */
static u32 free_entries(const struct emu_bottom *b, const struct emu_gpu *gpu)
{
	u32 gpus = b->driver->params.gpus, share = b->engine.fault_capacity / gpus, kept = b->stalled.count;

	for (u32 i = gpu->id; i < gpus; i++)
		kept += min(emu_ring_count(&b->driver->gpu[i]), share);
	return kept < b->engine.fault_capacity ? b->engine.fault_capacity - kept : 0;
}

/* Answered faults are reported as touches first, since these may move other pages. No warp of a closed
 * space is stalled, but other warps are whose faults were lost because its entries filled the ring.
 * False: the ring was empty. */
static bool take_faults(struct emu_bottom *b, struct emu_gpu *gpu)
{
	u32 count = 0, reported = 0, entries = free_entries(b, gpu);

	while (count < entries && emu_ring_fetch(gpu, &b->engine.fetched[count]))
		count++;
	for (u32 i = 0; i < count; i++) {
		const struct uvmp_fault *f = &b->engine.fetched[i];

		touch(b, gpu->id, f->instance, f->address & PAGE_MASK, f->utlb, f->access);
	}
	for (u32 i = 0; i < count; i++) {
		const struct uvmp_fault *f = &b->engine.fetched[i];

		if (!emu_stalled_is_open(b, f->instance) ||
		    emu_stalled_may(emu_stalled_page(b, f->instance, f->address), gpu->id, f->access))
			continue;
		wait_for(b, gpu, f);
		reported++;
	}
	if (count != 0 && reported == 0) /* else the engine replays */
		emu_stalled_replay_only(gpu);
	return count != 0;
}

bool emu_reports_take(struct emu_bottom *b)
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
	if (b->stalled.count != 0)
		emu_record_batch(b);
	return is_some;
}
