/* Frames: where the units of a page-wise order lie in the memory of their GPU.
 *
 * A unit gets a frame of its size when its first page arrives, and gives the frame up when its last page has left. Free
 * frames are reused in the order in which they were given up, before frames that were never used. If only
 * resident pages count against the memory, incomplete units may need frames beyond it.
 *
 * Orders with groups get their frames by root, 32 frames of 2 MiB together. If all units of a block arrive at once, and a
 * root is wholly free, the block gets this root: unit i gets frame i. Of the wholly free roots the block gets that which has been
 * free for the longest time. Other units get the lowest free frame of the root that became partly free last, so that few roots are
 * partly free. They get a frame of a wholly free root only if no root is partly free.
 *
 * Units that are neighbours in their block, and got neighbouring frames for the same cause, share an action. */
#include "../base/bits_internal.h"
#include "frames_internal.h"
#include "memory_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define ALIGNMENT 16u

size_t uvmpi_frames_size(uint64_t units)
{
	return (size_t)((units * 2u * sizeof(uint32_t) + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT);
}

void uvmpi_frames_init(struct frames *frames, uint64_t units, void *memory)
{
	frames->of_unit = (uint32_t *)memory;
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

void uvmpi_frames_grow(struct frames *frames, uint32_t used, uint32_t units, uint32_t more, void *memory)
{
	uint32_t *of_unit = (uint32_t *)memory, *next = of_unit + more;
	/* the state of a root lies in the links of its first frames, begun or not */
	uint32_t links = (frames->begun + ROOT_FRAMES - 1u) / ROOT_FRAMES * ROOT_FRAMES;

	__builtin_memcpy(of_unit, frames->of_unit, used * sizeof(*of_unit));
	__builtin_memcpy(next, frames->next, minimum(links, units) * sizeof(*next));
	frames->of_unit = of_unit;
	frames->next = next;
}

/* The state of a root, in the links of its frames. Every root with a free frame is in one of two lists. */
struct root {
	uint32_t free;	     /* set of frames that were used before, or that may be used now */
	uint32_t prev, next; /* in the list of partly free roots; wholly free roots have `next` only */
};

static struct root *root_at(const struct frames *frames, uint32_t root)
{
	return (struct root *)(void *)(frames->next + root * ROOT_FRAMES);
}

static void list_partial(struct frames *frames, uint32_t root)
{
	struct root *r = root_at(frames, root);

	r->prev = NO_INDEX;
	r->next = frames->partial;
	if (r->next != NO_INDEX)
		root_at(frames, r->next)->prev = root;
	frames->partial = root;
}

static void unlist_partial(struct frames *frames, const struct root *r)
{
	if (r->next != NO_INDEX)
		root_at(frames, r->next)->prev = r->prev;
	if (r->prev != NO_INDEX)
		root_at(frames, r->prev)->next = r->next;
	else
		frames->partial = r->next;
}

static void list_whole(struct frames *frames, uint32_t root)
{
	root_at(frames, root)->next = NO_INDEX;
	if (frames->first == NO_INDEX)
		frames->first = root;
	else
		root_at(frames, frames->last)->next = root;
	frames->last = root;
}

/* The frames that lie within the memory, and have links. */
static uint64_t frames_in(const struct gpu *g)
{
	uint64_t memory = g->capacity_pages / g->unit_pages, links = (uint64_t)g->numbers * g->block_units;

	return memory < links ? memory : links;
}

/* Begins frames that were never used: those of one root. If the memory ends inside the root, the frames behind its end
 * begin later, when all others are used. */
static uint32_t begin_root(struct gpu *g)
{
	struct frames *frames = &g->frames;
	uint32_t root = frames->begun / ROOT_FRAMES, first = frames->begun % ROOT_FRAMES;
	uint32_t count = ROOT_FRAMES - first;
	uint64_t most = frames_in(g);

	if (frames->begun < most && most - frames->begun < count)
		count = (uint32_t)(most - frames->begun);
	root_at(frames, root)->free = ROOT_FREE >> (ROOT_FRAMES - count) << first;
	frames->begun += count;
	frames->unused += count;
	return root;
}

/* A wholly free root: one that was used before, or a root of the memory that was never used. NO_INDEX: there is no such root. */
static uint32_t take_root(struct gpu *g)
{
	struct frames *frames = &g->frames;
	uint32_t root = frames->first;

	if (root != NO_INDEX) {
		frames->first = root_at(frames, root)->next;
		return root;
	}
	return frames->begun + (uint64_t)ROOT_FRAMES <= frames_in(g) ? begin_root(g) : NO_INDEX;
}

/* A frame for one unit. If it begins frames behind the end of the memory, every frame so far is used, so that the unit is one
 * more than the frames, and the frame has a link. */
static uint32_t take_part(struct gpu *g)
{
	struct frames *frames = &g->frames;
	uint32_t root = frames->partial, bit;
	struct root *r;

	if (root == NO_INDEX) {
		root = take_root(g);
		if (root == NO_INDEX)
			root = begin_root(g);
		list_partial(frames, root);
	}
	r = root_at(frames, root);
	bit = lowest_bit(r->free);
	r->free &= r->free - 1u;
	if (r->free == 0)
		unlist_partial(frames, r);
	frames->unused--;
	return root * ROOT_FRAMES + bit;
}

static void release_part(struct frames *frames, uint32_t frame)
{
	uint32_t root = frame / ROOT_FRAMES;
	struct root *r = root_at(frames, root);

	if (r->free == 0)
		list_partial(frames, root);
	r->free |= (uint32_t)1 << frame % ROOT_FRAMES;
	if (r->free == ROOT_FREE) {
		unlist_partial(frames, r);
		list_whole(frames, root);
	}
	frames->unused++;
}

/* Do all units of the block arrive, and has none a frame? */
static bool arrives_whole(const struct gpu *g, uint32_t first_unit, const uvmp_mask *pages)
{
	for (uint32_t i = 0; i < ROOT_FRAMES; i++) {
		struct uvmp_region unit = {i * g->unit_pages, (i + 1u) * g->unit_pages};

		if ((first_unit != NO_INDEX && g->frames.of_unit[first_unit + i] != NO_INDEX) ||
		    !uvmpi_mask_region_any(pages, unit))
			return false;
	}
	return true;
}

bool uvmpi_frames_lack_root(const struct gpu *g)
{
	uint64_t end = g->frames.begun + (uint64_t)ROOT_FRAMES;

	return g->frames.by_root && g->frames.first == NO_INDEX && end > frames_in(g) &&
	       end <= g->capacity_pages / g->unit_pages;
}

bool uvmpi_frames_lack_root_for(const struct gpu *g, const struct residency *p, const uvmp_mask *pages)
{
	return uvmpi_frames_lack_root(g) &&
	       arrives_whole(g, p->has_memory ? p->memory * g->block_units : NO_INDEX, pages);
}

/* The first frame of a root for a block that arrives whole. NO_INDEX: each unit gets a frame of its own. */
static uint32_t take_whole(struct gpu *g, uint32_t first_unit, const uvmp_mask *pages)
{
	uint32_t root;

	if (!g->frames.by_root || !arrives_whole(g, first_unit, pages))
		return NO_INDEX;
	root = take_root(g);
	if (root == NO_INDEX)
		return NO_INDEX;
	root_at(&g->frames, root)->free = 0;
	g->frames.unused -= ROOT_FRAMES;
	return root * ROOT_FRAMES;
}

/* -- by root: consistency -- */

enum root_kind { ROOT_USED, ROOT_PARTIAL, ROOT_WHOLE, ROOT_KINDS };

static enum root_kind kind_of(const struct root *r)
{
	if (r->free == 0)
		return ROOT_USED;
	return r->free == ROOT_FREE ? ROOT_WHOLE : ROOT_PARTIAL;
}

static uint32_t roots_begun(const struct frames *frames)
{
	return (frames->begun + ROOT_FRAMES - 1u) / ROOT_FRAMES;
}

/* Does the list that begins with `root` have `count` roots, all of this kind? */
static bool check_list(const struct frames *frames, uint32_t root, enum root_kind kind, uint32_t count)
{
	uint32_t prev = NO_INDEX;

	for (; count != 0; count--) {
		const struct root *r;

		if (root >= roots_begun(frames))
			return false;
		r = root_at(frames, root);
		if (kind_of(r) != kind || (kind == ROOT_PARTIAL && r->prev != prev))
			return false;
		prev = root;
		root = r->next;
	}
	return root == NO_INDEX;
}

bool uvmpi_frames_check(const struct frames *frames)
{
	uint32_t count[ROOT_KINDS] = {0}, unused = 0;

	if (!frames->by_root)
		return true;
	for (uint32_t root = 0; root < roots_begun(frames); root++) {
		count[kind_of(root_at(frames, root))]++;
		unused += popcount(root_at(frames, root)->free);
	}
	return unused == frames->unused && check_list(frames, frames->first, ROOT_WHOLE, count[ROOT_WHOLE]) &&
	       check_list(frames, frames->partial, ROOT_PARTIAL, count[ROOT_PARTIAL]);
}

bool uvmpi_frames_is_free(const struct frames *frames, uint32_t frame)
{
	uint32_t bit = (uint32_t)1 << frame % ROOT_FRAMES;

	return frames->by_root && (root_at(frames, frame / ROOT_FRAMES)->free & bit) != 0;
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

static uint32_t take(struct gpu *g)
{
	struct frames *frames = &g->frames;
	uint32_t frame = frames->first;

	if (frames->by_root)
		return take_part(g);
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
	uint32_t index, whole = take_whole(g, first_unit, arriving->pages);
	struct run run = {.units = 0}, unit;

	for (uint32_t page = uvmpi_mask_next_set(arriving->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(arriving->pages, unit.pages.end)) {
		index = first_unit + page / g->unit_pages;
		unit = unit_at(g, block_at(s, block), page, g->frames.of_unit[index]);
		if (unit.frame != NO_INDEX)
			continue;
		unit.frame = whole != NO_INDEX ? whole + (index - first_unit) : take(g);
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
