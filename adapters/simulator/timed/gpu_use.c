/* The use of pages; gpu_use.h. */
#include "gpu_use.h"

#include "../workloads/coalesce.h"
#include "gpu_load.h"
#include "gpu_remote.h"

struct sim_block *gpu_search_block(struct gpu *gpu, uint64_t address)
{
	uint64_t number = address >> GPU_BLOCK_SHIFT;
	uint32_t unused;
	struct sim_block *block = space_find(gpu->space, address, &unused);

	if (!block)
		gpu_lose(gpu, address);
	else
		gpu->found[number % GPU_FOUND] = (struct found){number, block};
	return block;
}

uint32_t gpu_tlb_miss(struct gpu *gpu, uint64_t key)
{
	if (gpu_tlb_holds(gpu, &gpu->l2, key)) {
		gpu->counts.l2_tlb_hits++;
		return gpu->model->l2_tlb_ns;
	}
	gpu->counts.l2_tlb_misses++;
	tlb_add(&gpu->l2.tlb, key);
	return gpu->model->walk_ns;
}

/* gpu_note_page for each page of the run, 64 at most. */
static void note_pages(struct gpu *gpu, const struct gpu_run *run, bool is_write)
{
	struct sim_block *block = run->block;
	struct uvmp_region pages = {run->index, run->index + run->count};
	uint64_t all = gpu_low_bits(run->count), fresh = all & ~gpu_pages_from(&block->touched, run->index);

	if (is_write)
		uvmp_mask_region_set(&block->written, pages);
	if (fresh != 0) {
		uvmp_mask_region_set(&block->touched, pages);
		gpu->counts.pages_touched += (uint64_t)__builtin_popcountll(fresh);
	}
	if ((all & gpu_pages_from(&block->unused, run->index)) != 0)
		uvmp_mask_region_clear(&block->unused, pages);
}

uint32_t gpu_accesses_on(const struct gpu_step *s, uint64_t page)
{
	const struct warp *w = s->w;
	uint64_t from = page << s->gpu->page_shift, end = (page + 1u) << s->gpu->page_shift;
	uint32_t accesses = 0;

	if (s->gpu->model->coalesces == 0)
		return 1;
	if (w->slot.lanes == 0)
		return coalesce_run(from < w->at ? w->at : from, end > w->slot.end ? w->slot.end : end);
	for (uint32_t i = s->who.number; i < w->slot.lanes; i++)
		if (w->slot.lane[i] >> s->gpu->page_shift == page)
			accesses += w->slot.accesses[i];
	return accesses;
}

void gpu_tell_use(const struct gpu_step *s, const struct gpu_run *run, uint32_t accesses, bool misses)
{
	const struct gpu_listener *listener = &s->gpu->listener;
	uint64_t bit = (uint64_t)1 << s->who.number;

	if (!listener->touch)
		return;
	if (s->gpu->model->coalesces != 0) {
		if ((s->w->counted & bit) != 0)
			accesses = 0;
		s->w->counted = misses ? s->w->counted | bit : s->w->counted & ~bit;
	}
	listener->touch(listener->context, run->block, run->index, s->w->needs > UVMP_RIGHT_READ, accesses, s->now_ns);
}

/* The run's pages are used. */
static void note_use(const struct gpu_step *s, const struct gpu_run *run)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;

	gpu->counts.accesses += run->count;
	if (run->count == 1u)
		gpu_note_page(gpu, run->block, run->index, is_write);
	else
		note_pages(gpu, run, is_write);
	for (uint32_t i = 0; gpu->listener.touch && i < run->count; i++) {
		struct gpu_run one = {run->block, run->page + i, run->index + i, 1};
		struct gpu_step at = *s;

		at.who.number += i;
		gpu_tell_use(&at, &one, gpu_accesses_on(&at, one.page), false);
	}
}

uint64_t gpu_cross_link(const struct gpu_step *s, struct gpu_run run, uint64_t now_ns)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	enum model_direction direction = is_write ? MODEL_TO_CPU : MODEL_TO_GPU;
	struct link_load load = gpu_load(gpu, s->w, run.page, s->who.number);

	gpu->counts.remote_accesses++;
	gpu->counts.remote_bytes[direction] += load.bytes;
	if (gpu->listener.remote)
		gpu->listener.remote(gpu->listener.context, run.block, run.index, is_write, (uint32_t)load.requests, now_ns);
	return link_remote(gpu->link, direction, gpu->now_ns, now_ns, load) + gpu->model->remote_latency_ns;
}

enum gpu_outcome gpu_use_run(struct gpu_step *s, struct gpu_run *run)
{
	uint32_t alike;
	uint64_t key = gpu_key_of(s->gpu, run->block, run->page, run->index, &alike), now_ns;

	if (gpu_asks_remote(s, run->block, run->index)) {
		run->count = 1;
		return gpu_use_remote(s, *run, key);
	}
	if (!gpu_use_entry(s, key, &now_ns))
		return GPU_STALLED;
	if (run->count > alike)
		run->count = alike;
	s->gpu->counts.tlb_hits += run->count - 1u;
	note_use(s, run);
	if (alike == 1u && uvmp_mask_test(&run->block->remote, run->index))
		now_ns = gpu_cross_link(s, *run, now_ns);
	gpu_raise_ready(s, now_ns);
	gpu_issue(s, run->count - 1u);
	gpu_raise_ready(s, s->now_ns);
	return GPU_USED;
}

enum gpu_outcome gpu_use_remote(struct gpu_step *s, struct gpu_run run, uint64_t key)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	uint32_t accesses = gpu_accesses_on(s, run.page);

	gpu_remote_fill(gpu, s->now_ns);
	gpu_issue(s, 1);
	if (!gpu_tlb_holds(gpu, s->sm->utlb, key)) {
		if (s->is_locked)
			return GPU_STALLED;
		gpu->counts.tlb_misses++;
		gpu->counts.l2_tlb_misses++;
		gpu_tell_use(s, &run, accesses, true);
		gpu_remote_ask(gpu, &(struct asking){.time_ns = s->now_ns + gpu->model->walk_ns,
						     .key = key,
						     .who = s->who,
						     .block = run.block,
						     .page = run.index,
						     .accesses = accesses,
						     .is_write = is_write});
		return GPU_FAULTED;
	}
	gpu->counts.tlb_hits++;
	note_use(s, &run);
	gpu_raise_ready(s, s->now_ns);
	return GPU_USED;
}

bool gpu_holds_remote(const struct gpu_step *s, const struct gpu_run *run, uint64_t *key)
{
	uint32_t unused;

	if (!gpu_asks_remote(s, run->block, run->index))
		return false;
	gpu_remote_fill(s->gpu, s->now_ns);
	*key = gpu_key_of(s->gpu, run->block, run->page, run->index, &unused);
	return gpu_tlb_holds(s->gpu, s->sm->utlb, *key);
}
