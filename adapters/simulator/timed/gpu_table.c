/* Page tables; gpu_table.h.
 *
 * Changes and replays wait in a heap, by time and then by the order of queueing. A change of mapped pages drops their
 * TLB entries: the 64 KiB, and the block as a whole, get a new version, under which no entry is found; or all TLBs are
 * emptied. */
#include "gpu_table.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gpu_fault.h"
#include "gpu_group.h"
#include "gpu_lock.h"
#include "gpu_mshr.h"

#define AHEAD 8u /* pages between reading a chain ahead, reading its first entry ahead, and taking the lanes */

/* -- the tables -- */

/* Drops the TLBs' entries of pages that were mapped and no longer are, or otherwise. */
static void shoot_down(struct gpu *gpu, struct sim_block *block, const uvmp_mask *changed)
{
	uint32_t shift = GPU_BIG_SHIFT - gpu->page_shift;
	uint32_t page = uvmp_mask_next_set(changed, 0);

	if (page < block->shape.pages)
		block->version++;
	while (page < block->shape.pages) {
		uint32_t big = (block->shape.offset + page) >> shift;

		block->big_version[big]++;
		page = uvmp_mask_next_set(changed, ((big + 1u) << shift) - block->shape.offset);
	}
}

static void set_plane(uvmp_mask *plane, const uvmp_mask *pages, bool is_set)
{
	if (is_set)
		uvmp_mask_or(plane, plane, pages);
	else
		uvmp_mask_andnot(plane, plane, pages);
}

/* Are some of the pages in the plane, and some not? */
static bool is_some(const uvmp_mask *plane, const uvmp_mask *pages)
{
	uint64_t in = 0, out = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		in |= pages->word[i] & plane->word[i];
		out |= pages->word[i] & ~plane->word[i];
	}
	return in != 0 && out != 0;
}

/* The pages of the event that are mapped, but otherwise than it says. */
static void list_changed(const struct event *event, uvmp_mask *changed)
{
	const uvmp_mask *low = &event->block->low[1], *high = &event->block->high[1];

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t other = low->word[i] ^ ((event->right & 1u) != 0 ? ~(uint64_t)0 : 0);

		other |= high->word[i] ^ ((event->right & 2u) != 0 ? ~(uint64_t)0 : 0);
		other |= event->block->remote.word[i] ^ (event->is_remote ? ~(uint64_t)0 : 0);
		changed->word[i] = event->pages.word[i] & other & (low->word[i] | high->word[i]);
	}
}

/* Taking a lane misses the caches: entries are read ahead. */
void gpu_table_wake_lanes(struct gpu *gpu)
{
	size_t count = gpu->gained_count;
	const uint64_t *gained = gpu->gained;
	struct asker who;

	for (size_t i = 0; i < count + 2u * AHEAD; i++) {
		if (i < count)
			lanes_prefetch_chain(&gpu->lanes, gained[i]);
		if (i >= AHEAD && i < count + AHEAD)
			lanes_prefetch_entry(&gpu->lanes, gained[i - AHEAD]);
		while (i >= 2u * AHEAD && lanes_take(&gpu->lanes, gained[i - 2u * AHEAD], &who))
			gpu->sm[who.sm].warp[who.warp].missing &= ~((uint64_t)1 << who.number);
	}
	gpu->gained_count = 0;
}

/* Pages of the event's block that get rights, for gpu_table_wake_lanes. */
static void list_gained(struct gpu *gpu, const struct event *event)
{
	const struct sim_block *block = event->block;
	uint64_t first = block->shape.start >> gpu->page_shift;
	uint64_t low = (event->right & 1u) != 0 ? ~(uint64_t)0 : 0,
		 high = (event->right & 2u) != 0 ? ~(uint64_t)0 : 0;

	if (gpu->lanes.count == 0)
		return;
	if (!ARRAY_RESERVE(gpu->gained, gpu->gained_room, gpu->gained_count + UVMP_MASK_BITS)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t pages = event->pages.word[i] &
				 ((low & ~block->low[1].word[i]) | (high & ~block->high[1].word[i]));

		for (; pages != 0; pages &= pages - 1u)
			gpu->gained[gpu->gained_count++] = first + 64u * i + (uint32_t)__builtin_ctzll(pages);
	}
}

/* The new entries of a block's page table. */
static void change_map(struct gpu *gpu, const struct event *event)
{
	struct sim_block *block = event->block;
	uvmp_mask *low = &block->low[1], *high = &block->high[1], *remote = &block->remote;
	uvmp_mask changed, mapped;

	list_changed(event, &changed);
	list_gained(gpu, event);
	set_plane(low, &event->pages, (event->right & 1u) != 0);
	set_plane(high, &event->pages, (event->right & 2u) != 0);
	set_plane(remote, &event->pages, event->is_remote && event->right != 0);
	uvmp_mask_or(&mapped, low, high);
	block->mapped = (uint16_t)uvmp_mask_weight(&mapped);
	block->is_split = is_some(low, &mapped) || is_some(high, &mapped) || !uvmp_mask_is_empty(remote);
	if (gpu->model->tlb_shootdown == MODEL_SHOOTDOWN_WHOLE)
		gpu->emptied++;
	else
		shoot_down(gpu, block, &changed);
	if (gpu->listener.arrive && event->right != 0)
		gpu->listener.arrive(gpu->listener.context, block, &event->pages);
	if (gpu_mshr_is_there(gpu) && event->right != 0)
		gpu_mshr_notify(gpu, block, &event->pages);
}

/* -- events -- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

/* Takes the top off the heap. */
static void take_event(struct gpu *gpu)
{
	struct event *heap = gpu->event, last = heap[--gpu->event_count];
	size_t at = 0, child;

	while ((child = 2u * at + 1u) < gpu->event_count) {
		if (child + 1u < gpu->event_count && is_before(&heap[child + 1u], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
}

/* Warps that wait try again; with MSHRs, only warps that will not be notified. */
static void try_again(struct gpu *gpu, const struct event *event)
{
	if (gpu_mshr_is_there(gpu)) {
		gpu_mshr_replay(gpu, event->fetched);
		return;
	}
	gpu_fault_forget(gpu);
	if (gpu->model->lock_holds != 0)
		gpu_lock_replay(gpu);
	else
		gpu_group_wake_all(gpu, gpu->now_ns + gpu->model->replay_ns);
	gpu->owes_turn = true;
}

void gpu_table_step(struct gpu *gpu)
{
	const struct event event = gpu->event[0];

	take_event(gpu);
	if (event.kind == EVENT_MAP)
		change_map(gpu, &event);
	else if (event.kind == EVENT_REPLAY)
		try_again(gpu, &event);
	else
		gpu_group_limit(gpu, event.still, event.extra);
}

static void queue(struct gpu *gpu, struct event *event)
{
	size_t at = gpu->event_count, parent;

	if (!ARRAY_RESERVE(gpu->event, gpu->event_room, gpu->event_count + 1u)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	event->number = gpu->event_number++;
	gpu->event_count++;
	for (; at != 0 && is_before(event, &gpu->event[parent = (at - 1u) / 2u]); at = parent)
		gpu->event[at] = gpu->event[parent];
	gpu->event[at] = *event;
}

/* -- the last change of each page, with maps_copies -- */

/* Makes room for the pages of the block, whose times are 0 at first. */
static bool reserve_changes(struct gpu *gpu, const struct sim_block *block)
{
	size_t before = gpu->changes_room;

	if (!ARRAY_RESERVE(gpu->change_ns, gpu->changes_room, ((size_t)block->number + 1u) * UVMP_MASK_BITS)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return false;
	}
	if (gpu->changes_room != before)
		memset(gpu->change_ns + before, 0, (gpu->changes_room - before) * sizeof(*gpu->change_ns));
	return true;
}

static uint64_t *changes_of(const struct gpu *gpu, const struct sim_block *block)
{
	return gpu->change_ns + (size_t)block->number * UVMP_MASK_BITS;
}

/* A change of the pages is queued for at_ns or later: after the last change of each of them. Returns when. O(pages). */
static uint64_t note_change(struct gpu *gpu, const struct sim_block *block, const uvmp_mask *pages, uint64_t at_ns)
{
	uint64_t *change_ns;
	uint32_t page;

	if (!reserve_changes(gpu, block))
		return at_ns;
	change_ns = changes_of(gpu, block);
	for (page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		at_ns = change_ns[page] > at_ns ? change_ns[page] : at_ns;
	for (page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		change_ns[page] = at_ns;
	return at_ns;
}

/* Changes of a block come in the order of the calls. With maps_copies only those of the same page do. */
void gpu_map(struct gpu *gpu, uint64_t at_ns, struct sim_block *block, const uvmp_mask *pages, uint32_t right,
	     bool is_remote)
{
	struct event event = {.time_ns = at_ns,
			      .block = block,
			      .pages = *pages,
			      .kind = EVENT_MAP,
			      .right = (uint8_t)right,
			      .is_remote = is_remote};

	if (gpu->model->maps_copies != 0)
		event.time_ns = note_change(gpu, block, pages, at_ns);
	else
		event.time_ns = block->event_ns = at_ns < block->event_ns ? block->event_ns : at_ns;
	queue(gpu, &event);
}

/* Queued removals and remote mappings of the pages are dropped. change_ns becomes the time of the last change that stays queued. */
void gpu_keep(struct gpu *gpu, const struct sim_block *block, const uvmp_mask *pages)
{
	uint64_t *change_ns = reserve_changes(gpu, block) ? changes_of(gpu, block) : NULL;
	uint32_t page;

	for (page = uvmp_mask_next_set(pages, 0); change_ns != NULL && page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		change_ns[page] = 0;
	for (size_t i = 0; change_ns != NULL && i < gpu->event_count; i++) {
		struct event *event = &gpu->event[i];
		uvmp_mask stay;

		if (event->kind != EVENT_MAP || event->block != block)
			continue;
		if (event->right == 0 || event->is_remote)
			uvmp_mask_andnot(&event->pages, &event->pages, pages);
		uvmp_mask_and(&stay, &event->pages, pages);
		for (page = uvmp_mask_next_set(&stay, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(&stay, page + 1u))
			change_ns[page] = event->time_ns > change_ns[page] ? event->time_ns : change_ns[page];
	}
}

void gpu_replay(struct gpu *gpu, uint64_t at_ns)
{
	struct event event = {.time_ns = at_ns, .kind = EVENT_REPLAY, .fetched = gpu->fetched};

	queue(gpu, &event);
}

void gpu_limit(struct gpu *gpu, uint64_t at_ns, uint32_t still, uint32_t extra)
{
	struct event event = {.time_ns = at_ns,
			      .kind = EVENT_LIMIT,
			      .still = still,
			      .extra = extra < GPU_EXTRA_MOST ? extra : GPU_EXTRA_MOST};

	queue(gpu, &event);
}
