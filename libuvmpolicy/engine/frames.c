/* Frames: where the units of a page-wise order lie in the memory of their GPU.
 *
 * A unit gets a frame of its size when its first page arrives, and gives the frame up when its last page has left. Free
 * frames are reused in the order in which they were given up, before frames that were never used. If only
 * resident pages count against the memory, incomplete units may need frames beyond it.
 *
 * Orders with groups get their frames by root, of 2 MiB: a block that arrives whole gets a root that is wholly free, if there is
 * one, so that it lies in one piece as in the driver's memory. Other units get frames of roots that are partly free, and
 * only then part of a root that is wholly free.
 *
 * Units that are neighbours in their block, and got neighbouring frames for the same cause, share an action. */
#include "../base/bits_internal.h"
#include "frames_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define ALIGNMENT 16u

size_t uvmpi_frames_size(uint64_t units)
{
	return (size_t)((units * 2u * sizeof(uint32_t) + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT);
}

void uvmpi_frames_init(struct frames *frames, uint64_t units, void *memory)
{
	frames->of_unit = memory;
	frames->next = frames->of_unit + units;
	frames->first = frames->last = frames->partial = NO_INDEX;
}

void uvmpi_frames_begin(struct frames *frames, uint32_t unit, uint32_t units)
{
	for (uint32_t i = unit; i < unit + units; i++)
		frames->of_unit[i] = NO_INDEX;
}

/* -- by root -- */

#define ROOT_FRAMES 32u
#define ROOT_FREE   0xffffffffu

/* What is known of a root, in the memory of the links of its frames. */
struct root {
	uint32_t free; /* set of frames */
	uint32_t prev, next; /* in the list of partly free roots; of wholly free roots next only */
};

static struct root *root_of(const struct frames *frames, uint32_t root)
{
	return (struct root *)(void *)(frames->next + root * ROOT_FRAMES);
}

static void list_partial(struct frames *frames, uint32_t root)
{
	struct root *r = root_of(frames, root);

	r->prev = NO_INDEX;
	r->next = frames->partial;
	if (r->next != NO_INDEX)
		root_of(frames, r->next)->prev = root;
	frames->partial = root;
}

static void unlist_partial(struct frames *frames, uint32_t root)
{
	const struct root *r = root_of(frames, root);

	if (r->next != NO_INDEX)
		root_of(frames, r->next)->prev = r->prev;
	if (r->prev != NO_INDEX)
		root_of(frames, r->prev)->next = r->next;
	else
		frames->partial = r->next;
}

static void list_whole(struct frames *frames, uint32_t root)
{
	root_of(frames, root)->next = NO_INDEX;
	if (frames->first == NO_INDEX)
		frames->first = root;
	else
		root_of(frames, frames->last)->next = root;
	frames->last = root;
}

/* A wholly free root, the one that has been so for the longest time, or one that was never used, of the first `most` frames.
 * NO_INDEX: none. */
static uint32_t take_root(struct frames *frames, uint32_t most)
{
	uint32_t root = frames->first;

	if (root != NO_INDEX) {
		frames->first = root_of(frames, root)->next;
		return root;
	}
	if (most < ROOT_FRAMES || frames->begun > most - ROOT_FRAMES)
		return NO_INDEX;
	frames->begun += ROOT_FRAMES;
	frames->unused += ROOT_FRAMES;
	return frames->begun / ROOT_FRAMES - 1u;
}

/* If no root has a free frame, all frames so far are used, and there are more for the unit. */
static uint32_t take_part(struct frames *frames)
{
	uint32_t root = frames->partial, bit;

	if (root == NO_INDEX) {
		root = take_root(frames, UINT32_MAX);
		root_of(frames, root)->free = ROOT_FREE;
		list_partial(frames, root);
	}
	bit = lowest_bit(root_of(frames, root)->free);
	root_of(frames, root)->free &= ~((uint32_t)1 << bit);
	if (root_of(frames, root)->free == 0)
		unlist_partial(frames, root);
	frames->unused--;
	return root * ROOT_FRAMES + bit;
}

static void release_part(struct frames *frames, uint32_t frame)
{
	uint32_t root = frame / ROOT_FRAMES;
	struct root *r = root_of(frames, root);

	if (r->free == 0)
		list_partial(frames, root);
	r->free |= (uint32_t)1 << frame % ROOT_FRAMES;
	if (r->free == ROOT_FREE) {
		unlist_partial(frames, root);
		list_whole(frames, root);
	}
	frames->unused++;
}

/* The first frame of a root for a block that arrives whole. NO_INDEX: only a part arrives, or no root is wholly free. */
static uint32_t take_whole(struct gpu *g, const struct block *b, uint32_t first_unit, const uvmp_mask *pages)
{
	uint32_t root;

	if (!g->frames.by_root || b->pages != g->block_units * g->unit_pages || uvmpi_mask_weight(pages) != b->pages)
		return NO_INDEX;
	for (uint32_t i = 0; i < g->block_units; i++)
		if (g->frames.of_unit[first_unit + i] != NO_INDEX)
			return NO_INDEX;
	root = take_root(&g->frames, g->frames.most);
	if (root == NO_INDEX)
		return NO_INDEX;
	root_of(&g->frames, root)->free = 0;
	g->frames.unused -= ROOT_FRAMES;
	return root * ROOT_FRAMES;
}

/* -- one by one -- */

void uvmpi_frames_release(struct frames *frames, uint32_t unit)
{
	uint32_t frame = frames->of_unit[unit];

	frames->of_unit[unit] = NO_INDEX;
	if (frames->by_root) {
		release_part(frames, frame);
		return;
	}
	frames->next[frame] = NO_INDEX;
	if (frames->first == NO_INDEX)
		frames->first = frame;
	else
		frames->next[frames->last] = frame;
	frames->last = frame;
	frames->unused++;
}

static uint32_t take(struct frames *frames)
{
	uint32_t frame = frames->first;

	if (frames->by_root)
		return take_part(frames);
	if (frame == NO_INDEX)
		return frames->begun++;
	frames->first = frames->next[frame];
	frames->unused--;
	return frame;
}

/* Units of one action. */
struct run {
	struct uvmp_region pages; /* of the block */
	uint32_t frame;		  /* the first */
	uint32_t units;
	enum uvmp_cause cause;
};

static void queue_run(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_action_kind kind,
		      struct run *run)
{
	uint64_t unit_bytes = (uint64_t)s->gpu[gpu].unit_pages * s->page_bytes;
	struct uvmp_action *a;
	uvmp_mask pages;

	if (run->units == 0)
		return;
	uvmpi_mask_zero(&pages);
	uvmpi_mask_region_set(&pages, run->pages);
	a = uvmpi_queue(s, kind, run->cause, block, &pages);
	if (kind == UVMP_ACTION_ALLOCATE)
		a->to = (uint8_t)gpu;
	else
		a->from = (uint8_t)gpu;
	a->offset = run->frame * unit_bytes;
	a->detail = (uint32_t)(run->units * unit_bytes);
	run->units = 0;
}

/* Adds a unit to the run; a unit that does not continue the run begins another. */
static void add_unit(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_action_kind kind,
		     struct run *run, const struct run *unit)
{
	if (run->pages.end != unit->pages.first || run->frame + run->units != unit->frame ||
	    run->cause != unit->cause)
		queue_run(s, gpu, block, kind, run);
	if (run->units == 0)
		*run = *unit;
	else
		run->units++;
	run->pages.end = unit->pages.end;
}

/* The unit of the page, of which the block may have a part only. */
static struct run unit_at(const struct gpu *g, const struct block *b, uint32_t page, uint32_t frame)
{
	uint32_t first = page / g->unit_pages * g->unit_pages;

	return (struct run){.pages = {first, minimum(first + g->unit_pages, b->pages)},
			    .frame = frame,
			    .units = 1,
			    .cause = UVMP_CAUSE_FREE};
}

void uvmpi_frames_take(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first_unit,
		       const struct arriving *arriving)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t index, whole = take_whole(g, block_at(s, block), first_unit, arriving->pages);
	struct run run = {.units = 0}, unit;

	for (uint32_t page = uvmpi_mask_next_set(arriving->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(arriving->pages, unit.pages.end)) {
		index = first_unit + page / g->unit_pages;
		unit = unit_at(g, block_at(s, block), page, g->frames.of_unit[index]);
		if (unit.frame != NO_INDEX)
			continue;
		unit.frame = whole != NO_INDEX ? whole + (index - first_unit) : take(&g->frames);
		g->frames.of_unit[index] = unit.frame;
		unit.cause = uvmpi_mask_region_any(arriving->faulted, unit.pages)
				     ? (enum uvmp_cause)arriving->cause
				     : UVMP_CAUSE_PREFETCH;
		add_unit(s, gpu, block, UVMP_ACTION_ALLOCATE, &run, &unit);
	}
	queue_run(s, gpu, block, UVMP_ACTION_ALLOCATE, &run);
}

void uvmpi_frames_free(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first_unit)
{
	struct gpu *g = &s->gpu[gpu];
	const struct block *b = block_at(s, block);
	struct run run = {.units = 0}, unit;
	uint32_t index = first_unit;

	for (uint32_t page = 0; page < b->pages; page += g->unit_pages, index++) {
		unit = unit_at(g, b, page, g->frames.of_unit[index]);
		if (unit.frame == NO_INDEX)
			continue;
		uvmpi_frames_release(&g->frames, index);
		add_unit(s, gpu, block, UVMP_ACTION_FREE, &run, &unit);
	}
	queue_run(s, gpu, block, UVMP_ACTION_FREE, &run);
}
