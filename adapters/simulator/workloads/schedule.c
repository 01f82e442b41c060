/* The scheduler that turns the warps of a workload into rows; workload.h says how. */
#include <stdlib.h>
#include <string.h>

#include "coalesce.h"
#include "workload_internal.h"

#define PAGE_SHIFT 12
#define NO_AGENT   UINT32_MAX
#define NO_PAGE	   UINT64_MAX

/* -- warps -- */

bool workload_launch(struct workload *workload)
{
	workload->op = (struct workload_op){.kind = WORKLOAD_KERNEL};
	workload->warps = 1;
	workload->tag = 0;
	if (!workload->type->launch(workload))
		return false;
	workload->ops++;
	return true;
}

void workload_start_warp(struct workload *workload, struct workload_slot *slot, uint64_t block, uint32_t warp)
{
	(void)workload;
	slot->block = block;
	slot->warp = warp;
	slot->step = slot->row = 0;
	slot->own[0] = slot->own[1] = 0;
	slot->at = slot->end = 0;
	slot->lanes = slot->lanes_done = 0;
	slot->last_page = NO_PAGE;
}

/* What steps have together. */
struct joined {
	uint64_t lane[WORKLOAD_JOINED_LANES], bytes;
	uint8_t accesses[WORKLOAD_JOINED_LANES];
	uint32_t lanes, flops;
};

/* Puts an address on each page of the step in hand behind those of the steps before it. */
static void add_step(struct joined *all, const struct workload_slot *slot)
{
	uint32_t unused = WORKLOAD_JOINED_LANES - all->lanes, more = slot->lanes < unused ? slot->lanes : unused;

	all->flops += slot->flops;
	if (more != 0) {
		memcpy(all->lane + all->lanes, slot->lane, more * sizeof(*all->lane));
		memcpy(all->accesses + all->lanes, slot->accesses, more * sizeof(*all->accesses));
		all->bytes += (uint64_t)more * slot->lane_bytes;
		all->lanes += more;
		return;
	}
	for (uint64_t at = slot->at, next; at < slot->end && all->lanes < WORKLOAD_JOINED_LANES; at = next) {
		next = ((at >> PAGE_SHIFT) + 1) << PAGE_SHIFT;
		all->accesses[all->lanes] = (uint8_t)coalesce_run(at, next < slot->end ? next : slot->end);
		all->lane[all->lanes++] = at;
	}
	all->bytes += slot->end - slot->at;
}

/* The program's next step. */
static bool next_step(struct workload *workload, struct workload_slot *slot)
{
	do {
		if (!workload->type->span(workload, slot))
			return false;
	} while (slot->is_code && !workload->has_code);
	if (workload->coalesces && slot->lanes != 0)
		coalesce_lanes(slot);
	return true;
}

/* Makes the step in hand and those behind it, as long as the warp goes on, to one. */
static void join_steps(struct workload *workload, struct workload_slot *slot)
{
	struct joined all;

	all.lanes = all.flops = 0;
	all.bytes = 0;
	add_step(&all, slot);
	while (slot->goes_on && all.lanes <= WORKLOAD_LANES && next_step(workload, slot))
		add_step(&all, slot);
	memcpy(slot->lane, all.lane, all.lanes * sizeof(*all.lane));
	memcpy(slot->accesses, all.accesses, all.lanes * sizeof(*all.accesses));
	workload_set_lanes(slot, all.lanes, (uint32_t)workload_ceil_div(all.bytes, all.lanes), slot->access);
	slot->flops = all.flops;
}

bool workload_step(struct workload *workload, struct workload_slot *slot)
{
	if (!next_step(workload, slot))
		return false;
	if (slot->goes_on)
		join_steps(workload, slot);
	return true;
}

/* Is the page that of a lane before? Few lanes need the look at all of them. */
static bool is_repeated(struct workload_slot *slot, uint32_t lane)
{
	uint64_t page = slot->lane[lane] >> PAGE_SHIFT, bit = (uint64_t)1 << page % 64;

	if ((slot->lanes_seen & bit) == 0) {
		slot->lanes_seen |= bit;
		return false;
	}
	for (uint32_t i = 0; i < lane; i++)
		if (slot->lane[i] >> PAGE_SHIFT == page)
			return true;
	return false;
}

bool workload_next_page(struct workload_slot *slot, uint64_t *address)
{
	for (;;) {
		uint64_t page;

		if (slot->lanes_done < slot->lanes) {
			if (is_repeated(slot, slot->lanes_done++))
				continue;
			*address = slot->lane[slot->lanes_done - 1];
			page = *address >> PAGE_SHIFT;
		} else if (slot->at < slot->end) {
			*address = slot->at;
			page = *address >> PAGE_SHIFT;
			slot->at = (page + 1) << PAGE_SHIFT;
		} else {
			return false;
		}
		if (page == slot->last_page && slot->access == slot->last_access)
			continue;
		slot->last_page = page;
		slot->last_access = slot->access;
		return true;
	}
}

void workload_end_kernel(struct workload *workload)
{
	workload->kernels_done++;
}

/* -- without time: rows -- */

enum phase { SHOW_RANGES, LAUNCH, RUN, WALK, DONE };

/* The warps of a thread block follow each other, then those of the next. */
static void deal_warp(struct workload *workload, struct workload_slot *slot)
{
	workload_start_warp(workload, slot, workload->next_block, workload->next_warp);
	if (++workload->next_warp == workload->warps) {
		workload->next_warp = 0;
		workload->next_block++;
	}
}

/* Deals the first warps and closes the ring. */
static void start_kernel(struct workload *workload)
{
	uint64_t warps = workload->blocks * workload->warps;
	uint32_t running = warps < workload->agents ? (uint32_t)warps : workload->agents;

	workload->source.kernel_done = 0;
	workload->source.kernel_total = warps;
	workload->next_block = 0;
	workload->next_warp = 0;
	for (uint32_t agent = 0; agent < running; agent++) {
		deal_warp(workload, &workload->slot[agent]);
		workload->slot[agent].next = agent + 1 < running ? agent + 1 : 0;
	}
	workload->current = 0;
	workload->previous = running - 1;
}

/* Memory that is not managed is not in rows. */
static bool is_device(const struct workload *workload, uint64_t address)
{
	for (unsigned i = 0; i < workload->ranges; i++)
		if (workload->range[i].is_device &&
		    address - workload->range[i].base < workload->range[i].bytes)
			return true;
	return false;
}

/* Sectors of one page, as bits. */
#define SECTOR_WORDS (WORKLOAD_PAGE / WORKLOAD_SECTOR / 64u)

static void mark_lane(const struct workload_slot *slot, uint64_t at, uint64_t sectors[SECTOR_WORDS])
{
	uint64_t last = at + slot->lane_bytes - 1u, page_last = at | (WORKLOAD_PAGE - 1u);

	last = (last < page_last ? last : page_last) % WORKLOAD_PAGE / WORKLOAD_SECTOR;
	for (uint64_t sector = at % WORKLOAD_PAGE / WORKLOAD_SECTOR; sector <= last; sector++)
		sectors[sector / 64u] |= UINT64_C(1) << sector % 64u;
}

/* Bytes that the step in hand moves across a link for the page of its row: the sectors in which its bytes lie. */
static uint16_t moved_bytes(const struct workload_slot *slot, uint64_t address)
{
	uint64_t page = address >> PAGE_SHIFT, end = (page + 1u) << PAGE_SHIFT, sectors[SECTOR_WORDS] = {0},
		 count = 0;

	if (slot->lanes == 0)
		return (uint16_t)(workload_ceil_div(slot->end < end ? slot->end : end, WORKLOAD_SECTOR) *
					  WORKLOAD_SECTOR -
				  address / WORKLOAD_SECTOR * WORKLOAD_SECTOR);
	for (uint32_t i = 0; i < slot->lanes; i++)
		if (slot->lane[i] >> PAGE_SHIFT == page)
			mark_lane(slot, slot->lane[i], sectors);
	for (uint32_t i = 0; i < SECTOR_WORDS; i++)
		count += (uint64_t)__builtin_popcountll(sectors[i]);
	return (uint16_t)(count * WORKLOAD_SECTOR);
}

/* The next row of one agent's warp; false when the warp is done. */
static bool next_access(struct workload *workload, struct workload_slot *slot, struct source_row *row)
{
	do {
		while (!workload_next_page(slot, &row->address)) {
			if (!workload_step(workload, slot))
				return false;
		}
	} while (workload->has_device && is_device(workload, row->address));
	row->kind = SOURCE_ACCESS;
	row->has_time = false;
	row->time_ns = 0;
	row->is_cpu = false;
	row->agent = (uint32_t)(slot - workload->slot);
	row->access = slot->access;
	row->access_bytes = workload->source.wants_bytes ? moved_bytes(slot, row->address) : 0;
	return true;
}

/* The next row of the kernel; false when all of its warps are done. */
static bool run(struct workload *workload, struct source_row *row)
{
	while (workload->current != NO_AGENT) {
		struct workload_slot *slot = &workload->slot[workload->current];

		if (next_access(workload, slot, row)) {
			workload->previous = workload->current;
			workload->current = slot->next;
			return true;
		}
		workload->source.kernel_done++;
		if (workload->next_block < workload->blocks) {
			deal_warp(workload, slot);
		} else if (slot->next == workload->current) {
			workload->current = NO_AGENT;
		} else {
			workload->slot[workload->previous].next = slot->next;
			workload->current = slot->next;
		}
	}
	return false;
}

/* The next page of a CPU operation; false at its end. */
static bool walk(struct workload *workload, struct source_row *row)
{
	uint64_t end = workload->op.at + workload->op.bytes,
		 next = (workload->cpu_at / WORKLOAD_PAGE + 1) * WORKLOAD_PAGE;

	if (workload->cpu_at >= end)
		return false;
	*row = (struct source_row){.kind = SOURCE_ACCESS,
				   .is_cpu = true,
				   .access = workload->op.access,
				   .address = workload->cpu_at,
				   .access_bytes = (uint16_t)((next < end ? next : end) - workload->cpu_at)};
	workload->cpu_at = next;
	return true;
}

/* Begins the thread's next operation. False: it makes no row of its own. */
static bool begin(struct workload *workload, struct source_row *row)
{
	const struct workload_op *op = &workload->op;

	switch (op->kind) {
	case WORKLOAD_KERNEL:
		start_kernel(workload);
		workload->phase = RUN;
		*row = (struct source_row){.kind = SOURCE_KERNEL};
		snprintf(row->name, sizeof(row->name), "%s", workload->kernel);
		return true;
	case WORKLOAD_CPU:
		workload->cpu_at = op->at;
		workload->phase = WALK;
		return false;
	case WORKLOAD_PREFETCH:
	case WORKLOAD_ADVISE:
		*row = (struct source_row){.kind = op->kind == WORKLOAD_PREFETCH ? SOURCE_PREFETCH
										 : SOURCE_ADVISE,
					   .address = op->at,
					   .bytes = op->bytes,
					   .to_gpu = op->to_gpu,
					   .to_none = op->to_none,
					   .advice = op->advice};
		return true;
	default: /* the order of the program is all there is */
		return false;
	}
}

static bool next_range(struct workload *workload, struct source_row *row)
{
	while (workload->ranges_shown < workload->ranges) {
		*row = (struct source_row){.kind = SOURCE_RANGE,
					   .range = workload->range[workload->ranges_shown++]};
		if (!row->range.is_device)
			return true;
	}
	return false;
}

static void workload_next(struct source *source, struct source_row *row)
{
	struct workload *workload = (struct workload *)source;

	for (;;) {
		switch ((enum phase)workload->phase) {
		case SHOW_RANGES:
			if (next_range(workload, row))
				return;
			workload->phase = LAUNCH;
			break;
		case LAUNCH:
			if (!workload_launch(workload))
				workload->phase = DONE;
			else if (begin(workload, row))
				return;
			break;
		case RUN:
			if (run(workload, row))
				return;
			workload_end_kernel(workload);
			workload->phase = LAUNCH;
			*row = (struct source_row){.kind = SOURCE_SYNC};
			return;
		case WALK:
			if (walk(workload, row))
				return;
			workload->phase = LAUNCH;
			break;
		case DONE:
			*row = (struct source_row){.kind = SOURCE_END};
			return;
		}
	}
}

void workload_discard(struct workload *workload)
{
	for (unsigned i = 0; i < WORKLOAD_PARAMS_MAX; i++)
		free(workload->text[i]);
	free(workload->name);
	free(workload->slot);
	free(workload);
}

static void workload_close(struct source *source)
{
	struct workload *workload = (struct workload *)source;

	if (workload->type->close != NULL)
		workload->type->close(workload);
	workload_discard(workload);
}

struct workload *workload_of(struct source *source)
{
	return source->next == workload_next ? (struct workload *)source : NULL;
}

void workload_set_source(struct workload *workload)
{
	workload->source.next = workload_next;
	workload->source.close = workload_close;
	workload->source.has_bytes = true;
}
