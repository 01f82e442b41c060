/* Memory of a GPU in units of a page-wise order: a number of pages.
 *
 * Blocks with memory have numbers, and the units of the order are the parts of one unit's size of which a block has
 * equally many: number * (512 / unit) + page / unit. A unit is in the order, and has a frame (frames.c), while a page of
 * the unit is resident. The caller evicts units one by one until the arriving pages fit.
 */
#include "../base/bits_internal.h"
#include "../evict/evict_internal.h"
#include "cyclic_internal.h"
#include "defaults_internal.h"
#include "frames_internal.h"
#include "memory_backend_internal.h"
#include "queue_internal.h"
#include "remote_idle_internal.h"
#include "service_runtime_internal.h"
#include "unit_tables_internal.h"

/* -- setting up -- */

uint64_t uvmpi_units_count(const struct uvmp_service_params *params)
{
	return uvmpi_unit_tables_units(params->policy, params->blocks);
}

size_t uvmpi_units_size(const struct uvmp_service_params *params)
{
	return uvmpi_unit_tables_size(params->policy, params->blocks);
}

enum uvmp_status uvmpi_units_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				  uint32_t gpu, uint8_t *memory)
{
	struct gpu *g = &s->gpu[gpu];
	enum uvmp_status status;

	g->capacity_pages = uvmpi_memory_capacity(params, gpu) / s->page_bytes;
	g->block_units = UVMP_MASK_BITS / uvmp_policy_unit_pages(params->policy);
	g->unit_pages = s->block_pages / g->block_units;
	g->counts_units = uvmpi_params_gpu(params, gpu).counts_units;
	g->frames.by_root = s->order->has_groups;
	status = uvmpi_unit_tables_init(g, params->policy, params->blocks, memory);
	g->order.keeps_old = params->policy->auto_keep;
	return status;
}

/* -- units of a block -- */

static uint32_t unit_of(const struct gpu *g, const struct residency *p, uint32_t page)
{
	return p->memory * g->block_units + page / g->unit_pages;
}

/* The pages of the unit that has this one. */
static struct uvmp_region around(const struct gpu *g, uint32_t page)
{
	uint32_t first = page / g->unit_pages * g->unit_pages;

	return (struct uvmp_region){first, first + g->unit_pages};
}

static uint32_t pages_of_block(const struct gpu *g)
{
	return g->block_units * g->unit_pages;
}

uint32_t uvmpi_units_counted(const struct gpu *g, const struct block *b, const uvmp_mask *resident)
{
	uint32_t pages = 0;

	if (!g->counts_units)
		return uvmp_mask_weight(resident);
	for (uint32_t page = uvmp_mask_next_set(resident, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(resident, around(g, page).end))
		pages += minimum(around(g, page).end, b->pages) - around(g, page).first;
	return pages;
}

/* Gives the block a number; there is one. `owner` is the slot of the block's range. */
static void take_number(struct gpu *g, handle block, uint32_t owner, struct residency *p)
{
	if (p->has_memory)
		return;
	if (g->free_number != NO_INDEX) {
		p->memory = g->free_number;
		g->free_number = g->unit_block[p->memory];
	} else {
		p->memory = g->used_numbers++;
		g->unit_used[p->memory] = 0;
		uvmpi_frames_begin(&g->frames, p->memory * g->block_units, g->block_units);
	}
	p->has_memory = true;
	for (uint32_t i = 0; g->held_ns != NULL && i < g->block_units; i++)
		g->held_ns[p->memory * g->block_units + i] = 0;
	g->unit_block[p->memory] = block;
	uvmpi_evict_own(&g->order, p->memory * g->block_units, owner);
}

static bool has_number(const struct gpu *g)
{
	return g->free_number != NO_INDEX || g->used_numbers < g->numbers;
}

size_t uvmpi_units_more(const struct uvmp_service *s, const struct gpu *g)
{
	return has_number(g) && !uvmpi_frames_lack_root(g) ? 0 : uvmpi_unit_tables_more(s, g);
}

/* Are there tables for the pages? */
static enum backing have_tables(const struct uvmp_service *s, const struct gpu *g, const struct residency *p,
				const uvmp_mask *pages)
{
	bool is_known = p->has_memory || has_number(g);

	if (is_known && !uvmpi_frames_lack_root_for(g, p, pages))
		return BACKING_DONE;
	if (uvmpi_unit_tables_more(s, g) != 0)
		return BACKING_NEED_TABLES;
	return is_known ? BACKING_DONE : BACKING_FAILED;
}

struct uvmp_region uvmpi_units_unit(const struct gpu *g, const struct residency *p, uint32_t page, uint32_t *unit)
{
	*unit = unit_of(g, p, page);
	return around(g, page);
}

/* -- pages arrive -- */

/* Keeps units with some of the pages, by address, while there are `units` left. */
static void keep_units(const struct gpu *g, const uvmp_mask *pages, uint32_t *units, uvmp_mask *kept)
{
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS && *units != 0;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		*units -= !uvmp_mask_test(kept, page);
		uvmp_mask_region_set(kept, around(g, page));
	}
}

void uvmpi_units_fit(const struct gpu *g, uvmp_mask *pages, const uvmp_mask *faulted)
{
	uint32_t units = (uint32_t)(g->capacity_pages / g->unit_pages); /* fewer than a block has */
	uvmp_mask first, kept;

	uvmp_mask_zero(&kept);
	uvmp_mask_and(&first, pages, faulted);
	keep_units(g, &first, &units, &kept);
	keep_units(g, pages, &units, &kept);
	uvmp_mask_and(pages, pages, &kept);
}

/* Notes once that the requested pages do not fit [uvmsmart: oversubscription-switch]. */
static void note_pressure(struct uvmp_service *s, const struct gpu *g, uint32_t need)
{
	struct uvmp_pressure pressure = {.total_pages = g->capacity_pages,
					 .free_pages = uvmpi_memory_free_pages(g),
					 .incoming_pages = need,
					 .buffer_percent = s->policy.free_buffer,
					 .quirks = s->policy.quirks};

	if (s->is_full || !uvmp_pressure_is_over(&pressure))
		return;
	s->is_full = true;
	uvmpi_runtime_judge(s);
}

enum backing uvmpi_units_back(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			      const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	struct gpu *g = &s->gpu[gpu];
	const struct block *b = block_at(s, block);
	enum backing tables = have_tables(s, g, p, arriving->pages);
	uint32_t need;
	uvmp_mask all;

	*size = UVMP_CHUNK_2M;
	if (tables != BACKING_DONE)
		return tables;
	take_number(g, block, b->range, p);
	uvmpi_idle_return(s, p);
	uvmp_mask_or(&all, arriving->pages, &p->resident);
	need = uvmpi_units_counted(g, b, &all) - uvmpi_units_counted(g, b, &p->resident);
	note_pressure(s, g, need);
	if (need > uvmpi_memory_free_pages(g))
		return BACKING_NEED_ROOM;
	g->coming_pages = need;
	uvmpi_frames_take(s, gpu, block, p->memory * g->block_units, arriving);
	return BACKING_DONE;
}

void uvmpi_units_abandon(struct gpu *g, const struct residency *p, const uvmp_mask *pages)
{
	g->coming_pages = 0;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		if (!uvmp_mask_region_any(&p->resident, around(g, page)))
			uvmpi_frames_release(&g->frames, unit_of(g, p, page));
	}
}

/* Exactly these pages of the block are resident. */
static void recount(struct gpu *g, const struct block *b, const struct residency *p, const uvmp_mask *resident)
{
	uint32_t pages = uvmpi_units_counted(g, b, resident);

	g->used_pages += pages;
	g->used_pages -= g->unit_used[p->memory];
	g->unit_used[p->memory] = (uint16_t)pages;
}

/* [uvmsmart: eviction-list]: where accesses are counted, the tree's node over the unit ranks it, not the
 * order's own count of touches. */
static void weigh(const struct uvmp_service *s, struct gpu *g, const struct block *b,
		  const struct residency *p, uint32_t page)
{
	const struct counters *c = counters_of(s, b);
	uint32_t first, blocks;

	if (!s->order->counts_uses || c == NULL)
		return;
	blocks = UVMP_TREE_BLOCKS_MAX / g->block_units; /* of 64 KiB, with every page size */
	first = page / g->unit_pages * blocks;
	blocks = minimum(blocks, c->tree.blocks);
	uvmpi_evict_weigh(&g->order, unit_of(g, p, page),
			       (uint64_t)uvmp_counter_tree_word(&c->tree, first, blocks) * 4u +
				       uvmp_counter_tree_marks(&c->tree, first, blocks));
}

void uvmpi_memory_weigh(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);

	if (p->has_memory)
		weigh(s, &s->gpu[gpu], b, p, page);
}

void uvmpi_memory_level(struct uvmp_service *s, uint32_t gpu, handle block)
{
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	struct gpu *g = &s->gpu[gpu];

	if (!s->order->counts_uses || p == NULL || !p->has_memory)
		return;
	for (uint32_t page = 0; page < pages_of_block(g); page += g->unit_pages)
		uvmpi_evict_weigh(&g->order, unit_of(g, p, page), 0);
}

/* A pinned unit stays out of the order. If the order counts uses, it counts those of pinned units too. */
static void touch_unit(struct uvmp_service *s, struct gpu *g, const struct block *b,
		       const struct residency *p, uint32_t page)
{
	bool is_pinned = uvmpi_cyclic_is_pinned(g, p->memory);

	if (is_pinned && !s->order->counts_uses)
		return;
	uvmpi_evict_touch(&g->order, unit_of(g, p, page));
	if (is_pinned)
		uvmpi_evict_remove(&g->order, unit_of(g, p, page));
	weigh(s, g, b, p, page);
}

/* Pages of the unit are to migrate. Where the host reports arrivals, only those make the unit, and its tree, the newest
 * [uvmsmart: eviction-list]. */
static void await_unit(struct uvmp_service *s, struct gpu *g, const struct block *b, const struct residency *p, uint32_t page)
{
	if (!g->hears_arrivals)
		touch_unit(s, g, b, p, page);
	else if (!uvmpi_cyclic_is_pinned(g, p->memory))
		(void)uvmpi_evict_enter(&g->order, unit_of(g, p, page));
}

/* [uvmsmart: evictable, incomplete-tree-stays]: a unit with a page missing leaves after all complete units; of lfu2m, it has
 * few uses because it is still arriving, and would leave as soon as it has arrived. The order keeps such units apart. */
static void spare_unit(const struct uvmp_service *s, struct gpu *g, const struct block *b,
		       const struct residency *p, const uvmp_mask *resident, uint32_t page)
{
	struct uvmp_region region = around(g, page);

	if (!uvmpi_units_are_spared(s))
		return;
	region.end = minimum(region.end, b->pages);
	uvmpi_evict_spare(&g->order, unit_of(g, p, page), !uvmpi_mask_region_all(resident, region));
}

static void touch_pages(struct uvmp_service *s, struct gpu *g, const struct block *b,
			const struct residency *p, const uvmp_mask *pages)
{
	uvmp_mask resident;

	g->coming_pages = 0;
	uvmp_mask_or(&resident, &p->resident, pages);
	recount(g, b, p, &resident);
	if (g->block_units == 1u && !uvmp_mask_is_empty(&resident)) { /* even if no page moved */
		await_unit(s, g, b, p, 0);
		spare_unit(s, g, b, p, &resident, 0);
		return;
	}
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		await_unit(s, g, b, p, page);
		spare_unit(s, g, b, p, &resident, page);
	}
}

/* From now on, the units of the block with this number may be evicted, and are the newest, or may not. */
static void list_units(struct uvmp_service *s, uint32_t gpu, uint32_t number, bool is_listed)
{
	struct gpu *g = &s->gpu[gpu];
	const struct block *b = block_at(s, g->unit_block[number]);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);

	for (uint32_t page = 0; page < pages_of_block(g); page += g->unit_pages) {
		if (!is_listed)
			uvmpi_evict_remove(&g->order, unit_of(g, p, page));
		else if (uvmp_mask_region_any(&p->resident, around(g, page)))
			touch_unit(s, g, b, p, page);
	}
}

void uvmpi_units_used(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		      const uvmp_mask *pages, bool is_fault)
{
	if (uvmpi_cyclic_return(s, &s->gpu[gpu], p->memory, is_fault))
		list_units(s, gpu, p->memory, false);
	touch_pages(s, &s->gpu[gpu], b, p, pages);
}

void uvmpi_units_touch(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       uint32_t page)
{
	struct gpu *g = &s->gpu[gpu];

	touch_unit(s, g, b, p, page);
	if (g->uncounted_pages != 0) /* the unit may have come back into the order */
		spare_unit(s, g, b, p, &p->resident, page);
}

void uvmpi_units_hold(struct gpu *g, const struct residency *p, uint32_t page, uint64_t until_ns)
{
	uint32_t unit;

	if (g->held_ns == NULL || !p->has_memory)
		return;
	unit = unit_of(g, p, page);
	if (g->held_ns[unit] < until_ns)
		g->held_ns[unit] = until_ns;
}

/* [uvmsmart: clean-pages-uncounted]: the list is empty after a synchronisation. Only the pages count against the memory that
 * need no frame of a whole unit. */
void uvmpi_memory_unlist(struct uvmp_service *s, uint32_t gpu, handle block)
{
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	if (p != NULL && p->has_memory && uvmpi_units_may_exceed(s, &s->gpu[gpu]))
		list_units(s, gpu, p->memory, false);
}

void uvmpi_memory_uncount(struct uvmp_service *s, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];

	if (uvmpi_units_may_exceed(s, g))
		g->uncounted_pages = g->used_pages;
}

/* -- pages leave -- */

bool uvmpi_memory_unpin_oldest(struct uvmp_service *s, uint32_t gpu)
{
	uint32_t number = uvmpi_cyclic_give_up(&s->gpu[gpu]);

	if (number == NO_INDEX)
		return false;
	list_units(s, gpu, number, true);
	return true;
}

/* Pins may end when a block has left. */
static void leave_circle(struct uvmp_service *s, uint32_t gpu, handle block)
{
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	struct gpu *g = &s->gpu[gpu];
	uint32_t number;

	if (!uvmp_mask_is_empty(&p->resident))
		return;
	uvmpi_cyclic_leave(g, p->memory);
	for (number = uvmpi_cyclic_release(s, g); number != NO_INDEX; number = uvmpi_cyclic_release(s, g))
		list_units(s, gpu, number, true);
}

void uvmpi_units_evicted(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t unit, uint32_t pages,
			  uint32_t untouched)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t small = s->page_bytes / UVMP_POLICY_PAGE_BYTES; /* in each page */

	uvmpi_evict_left(&g->order, unit, pages * small, untouched * small);
	leave_circle(s, gpu, block);
}

/* Units of a group of the order: unit first + b for each bit b. They leave the order together. */
struct leaving_units {
	uint32_t first, units;
};

/* The unit leaves the order with the rest of its group, at the latest at the end of remove_pages. */
static void remove_unit_later(struct gpu *g, struct leaving_units *leaving, uint32_t unit)
{
	uint32_t first = unit - unit % UVMP_EVICT_GROUP_UNITS;

	if (first != leaving->first) {
		uvmpi_evict_remove_set(&g->order, leaving->first, leaving->units);
		*leaving = (struct leaving_units){first, 0};
	}
	leaving->units |= (uint32_t)1 << unit % UVMP_EVICT_GROUP_UNITS;
}

static void remove_pages(const struct uvmp_service *s, struct gpu *g, const struct block *b,
                         const struct residency *p, const uvmp_mask *pages, bool keeps_frames)
{
	struct leaving_units leaving = {0, 0};
	uvmp_mask rest;

	uvmp_mask_andnot(&rest, &p->resident, pages);
	recount(g, b, p, &rest);
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		if (uvmp_mask_region_any(&rest, around(g, page))) {
			spare_unit(s, g, b, p, &rest, page);
			continue;
		}
		remove_unit_later(g, &leaving, unit_of(g, p, page));
		if (!keeps_frames)
			uvmpi_frames_release(&g->frames, unit_of(g, p, page));
	}
	uvmpi_evict_remove_set(&g->order, leaving.first, leaving.units);
}

void uvmpi_units_left(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		      const uvmp_mask *pages, bool keeps_frames)
{
	remove_pages(s, &s->gpu[gpu], b, p, pages, keeps_frames);
}

void uvmpi_units_free(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p)
{
	struct gpu *g = &s->gpu[gpu];
	uvmp_mask all;

	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, pages_of_block(g)});
	remove_pages(s, g, block_at(s, block), p, &all, true);
	uvmpi_frames_free(s, gpu, block, p->memory * g->block_units);
	for (uint32_t page = 0; page < pages_of_block(g); page += g->unit_pages)
		uvmpi_evict_forget(&g->order, unit_of(g, p, page));
	uvmpi_cyclic_forget(g, p->memory);
	g->unit_block[p->memory] = g->free_number;
	g->free_number = p->memory;
	p->memory = 0;
	p->has_memory = false;
}

bool uvmpi_units_are_short(const struct uvmp_service *s, const struct gpu *g)
{
	struct uvmp_pressure pressure = {.total_pages = g->capacity_pages,
					 .free_pages = uvmpi_memory_free_pages(g),
					 .buffer_percent = s->policy.free_buffer,
					 .quirks = s->policy.quirks};

	return uvmp_pressure_is_over(&pressure);
}

/* -- consistency -- */

/* Between block services and evictions a unit is in the order if something of it is resident, unless the block is
 * pinned, or was not used since a synchronisation. */
static bool check_listed(const struct gpu *g, const struct residency *p)
{
	bool is_pinned = uvmpi_cyclic_is_pinned(g, p->memory);

	for (uint32_t i = 0; i < g->block_units; i++) {
		struct uvmp_region region = {i * g->unit_pages, (i + 1u) * g->unit_pages};
		bool is_due = !is_pinned && uvmp_mask_region_any(&p->resident, region);
		bool is_listed = uvmpi_evict_contains(&g->order, p->memory * g->block_units + i);

		if (is_listed != is_due && (is_listed || g->uncounted_pages == 0))
			return false;
	}
	return true;
}

/* A unit with a resident page has a frame. */
static bool check_backed(const struct gpu *g, const struct residency *p)
{
	for (uint32_t i = 0; i < g->block_units; i++) {
		struct uvmp_region region = {i * g->unit_pages, (i + 1u) * g->unit_pages};

		if (g->frames.of_unit[p->memory * g->block_units + i] == NO_INDEX &&
		    uvmp_mask_region_any(&p->resident, region))
			return false;
	}
	return true;
}

bool uvmpi_units_check(const struct uvmp_service *s, handle block, const struct residency *p, bool is_idle,
		       uint64_t *pages)
{
	const struct gpu *g = &s->gpu[p->proc];

	/* a GPU without memory has no units at all */
	if ((uint64_t)p->memory * g->block_units >= g->order.units || g->unit_block[p->memory] != block)
		return false;
	*pages += g->unit_used[p->memory];
	return uvmpi_units_counted(g, block_at(s, block), &p->resident) == g->unit_used[p->memory] && check_backed(g, p) &&
	       (!is_idle || check_listed(g, p));
}

/* Every frame that was used belongs to a unit or is free. */
bool uvmpi_units_check_gpu(const struct gpu *g)
{
	uint32_t used = 0;

	for (uint32_t unit = 0; unit < g->used_numbers * g->block_units; unit++) {
		if (g->frames.of_unit[unit] == NO_INDEX)
			continue;
		if (g->frames.of_unit[unit] >= g->frames.begun || uvmpi_frames_is_free(&g->frames, g->frames.of_unit[unit]))
			return false;
		used++;
	}
	return used + g->frames.unused == g->frames.begun && uvmpi_frames_check(&g->frames);
}
