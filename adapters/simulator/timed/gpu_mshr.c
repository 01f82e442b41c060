/* Far faults with a table of their own; gpu_mshr.h.
 *
 * SAND2022-1528, section 2.2: the GMMU enters a page that is not mapped into the far-fault MSHRs and writes
 * one fault for it. Other warps that need the page wait with the entry: no second fault is written, and no uTLB is
 * locked. When the page is mapped, the entry is freed, and exactly the warps that waited with it try again.
 *
 * Assumed: if the table is full, a warp that needs another page waits until an entry is free. A replay of the driver
 * wakes only warps whose fault the driver has fetched, or flushed, without mapping the page (the fault was
 * throttled, or its batch was cut short): their entry is freed, and they fault again. */
#include "gpu_mshr.h"

#include "gpu_group.h"
#include "gpu_idle.h"

static struct warp *warp_of(const struct gpu *gpu, const struct asker *who)
{
	return &gpu->sm[who->sm].warp[who->warp];
}

static bool wait_with(struct gpu *gpu, uint32_t entry, const struct asker *who)
{
	const struct mshr_waiter waiter = {.sm = who->sm, .warp = who->warp, .number = who->number};

	if (mshr_wait(&gpu->mshr, entry, &waiter))
		return true;
	gpu_lose(gpu, GPU_OUT_OF_MEMORY);
	return false;
}

/* No entry is free: the warp waits until one is. */
static enum gpu_outcome wait_for_entry(struct gpu *gpu, const struct asker *who)
{
	struct warp *w = warp_of(gpu, who);

	gpu->counts.mshr_stalled++;
	if (!w->wants_entry)
		w->wants_entry = wait_with(gpu, gpu->mshr.size, who);
	return GPU_STALLED;
}

enum gpu_outcome gpu_mshr_miss(struct gpu *gpu, const struct asker *who, uint64_t page, bool *is_new)
{
	struct warp *w = warp_of(gpu, who);
	uint32_t entry = mshr_find(&gpu->mshr, page);

	*is_new = false;
	if (entry == MSHR_NONE) {
		entry = mshr_add(&gpu->mshr, page);
		*is_new = entry != MSHR_NONE;
	}
	if (entry == MSHR_NONE)
		return wait_for_entry(gpu, who);
	if (!wait_with(gpu, entry, who)) {
		*is_new = false;
		return GPU_STALLED;
	}
	w->pending |= (uint64_t)1 << who->number;
	gpu->counts.mshr_merged += !*is_new;
	return GPU_FAULTED;
}

void gpu_mshr_write(struct gpu *gpu, uint64_t page, uint64_t number)
{
	uint32_t entry = mshr_find(&gpu->mshr, page);

	if (entry == MSHR_NONE) /* it was mapped meanwhile */
		return;
	gpu->mshr.entry[entry].fault = number;
	gpu->mshr.entry[entry].is_written = true;
}

/* All warps that wait for an entry try again; the first one gets it. */
static void wake_without_entry(struct gpu *gpu)
{
	struct mshr_waiter waiter;

	while (mshr_release(&gpu->mshr, gpu->mshr.size, &waiter)) {
		gpu->sm[waiter.sm].warp[waiter.warp].wants_entry = false;
		gpu_group_wake(gpu, waiter.sm, waiter.warp, gpu->now_ns);
	}
}

/* Frees the entry; the warps that waited with it try again. */
static void free_entry(struct gpu *gpu, uint32_t entry)
{
	struct mshr_waiter waiter;

	while (mshr_release(&gpu->mshr, entry, &waiter)) {
		gpu->sm[waiter.sm].warp[waiter.warp].pending &= ~((uint64_t)1 << waiter.number);
		gpu_group_wake(gpu, waiter.sm, waiter.warp, gpu->now_ns + gpu->model->replay_ns);
	}
	mshr_drop(&gpu->mshr, entry);
	gpu_idle_find_soonest(gpu);
	gpu->owes_turn = true;
}

void gpu_mshr_notify(struct gpu *gpu, const struct sim_block *block, const uvmp_mask *pages)
{
	uint64_t first = block->shape.start >> gpu->page_shift;
	uint32_t before = gpu->mshr.count, page = uvmp_mask_next_set(pages, 0);

	while (page < block->shape.pages && gpu->mshr.count != 0) {
		uint32_t entry = mshr_find(&gpu->mshr, first + page);

		if (entry != MSHR_NONE)
			free_entry(gpu, entry);
		page = uvmp_mask_next_set(pages, page + 1u);
	}
	if (gpu->mshr.count != before)
		wake_without_entry(gpu);
}

void gpu_mshr_replay(struct gpu *gpu, uint64_t fetched)
{
	uint32_t before = gpu->mshr.count, at = gpu->mshr.oldest;

	while (at != MSHR_NONE) {
		const struct mshr_entry *entry = &gpu->mshr.entry[at];
		uint32_t newer = entry->newer;

		if (entry->is_written && entry->fault < fetched)
			free_entry(gpu, at);
		at = newer;
	}
	if (gpu->mshr.count != before)
		wake_without_entry(gpu);
}
