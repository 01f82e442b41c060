/* Memory of the GPUs: what backs pages.
 *
 * evict=lru: chunks of uvmp_pmm, owned by the block's handle. A block of 2 MiB has one root, a smaller one a
 * record of its chunks (struct chunk_map). If no chunk is free, the caller evicts a root; the chunk that the
 * eviction wins is parked for the next pass [driver: eviction-retry]. Chunks of a pass that was not enough
 * stay pinned and unknown to the host: ALLOCATE is queued once the step has all the memory that it asked for.
 *
 * Other orders: a number of pages. Blocks with memory have numbers, and the units of the order are the parts
 * of one unit's size of which a block has equally many: number * (512 / unit) + page / unit. A unit is in the
 * order, and has a frame (frames.c), while a page of it is resident. The caller evicts units one by one until the arriving pages fit.
 */
#include "../base/bits_internal.h"
#include "frames_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define PMM_PAGE_BYTES 4096u
#define ALIGNMENT      16u

/* -- setting up -- */

uint64_t uvmpi_memory_capacity(const struct uvmp_service_params *params, uint32_t gpu)
{
	return uvmp_etc_capacity(UVMP_ETC_COMPRESSION, params->gpu[gpu - 1u].memory_bytes,
				 params->policy->memory_ratio, params->page_bytes);
}

static uint64_t roots_of(const struct uvmp_service_params *params, uint32_t gpu)
{
	return uvmpi_memory_capacity(params, gpu) / UVMP_ROOT_CHUNK_BYTES;
}

static struct uvmp_pmm_params pmm_params(const struct uvmp_service_params *params, uint32_t gpu)
{
	uint32_t roots = (uint32_t)roots_of(params, gpu);
	uint32_t splits = params->gpu[gpu - 1u].splits;

	return (struct uvmp_pmm_params){.roots = roots,
					.splits = splits < roots ? splits : roots,
					.batch_order = params->policy->pma_order,
					.is_zeroed = true,
					.quirks = params->policy->quirks};
}

static bool is_chunked(const struct uvmp_service_params *params)
{
	return uvmp_evict_traits_of(params->policy->evict)->is_chunked;
}

static uint64_t order_units(const struct uvmp_service_params *params)
{
	return (uint64_t)params->blocks * (UVMP_MASK_BITS / uvmp_policy_unit_pages(params->policy));
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of the order itself; 0: too many units. */
static size_t order_bytes(const struct uvmp_service_params *params)
{
	uint64_t units = order_units(params);

	return units <= UVMP_UNITS_MAX ? uvmp_evict_size(params->policy->evict, (uint32_t)units) : 0;
}

size_t uvmpi_memory_size(const struct uvmp_service_params *params, uint32_t gpu)
{
	struct uvmp_pmm_params pmm;
	uint64_t bytes;

	if (roots_of(params, gpu) == 0)
		return 0;
	if (is_chunked(params)) {
		pmm = pmm_params(params, gpu);
		return uvmp_pmm_size(&pmm);
	}
	bytes = order_bytes(params);
	if (bytes == 0)
		return 0;
	bytes += aligned(params->blocks * sizeof(handle)) + aligned(params->blocks * sizeof(uint16_t)) +
	         uvmpi_cyclic_size(params) + uvmpi_frames_size(order_units(params));
	/* 0 where size_t is narrower than the size; a product, as a branch could never be taken on a 64-bit
	 * host. */
	return (size_t)bytes * (size_t)((size_t)bytes == bytes);
}

static enum uvmp_status init_order(struct uvmp_service *s, const struct uvmp_service_params *params,
				   uint32_t gpu, uint8_t *memory)
{
	struct gpu *g = &s->gpu[gpu];
	enum uvmp_status status;

	g->block_units = UVMP_MASK_BITS / uvmp_policy_unit_pages(params->policy);
	g->unit_pages = s->block_pages / g->block_units;
	g->unit_block = (handle *)(void *)memory;
	memory += aligned(params->blocks * sizeof(handle));
	g->unit_used = (uint16_t *)(void *)memory;
	memory += aligned(params->blocks * sizeof(uint16_t));
	uvmpi_cyclic_init(g, params, memory);
	memory += uvmpi_cyclic_size(params);
	uvmpi_frames_init(&g->frames, order_units(params), memory);
	memory += uvmpi_frames_size(order_units(params));
	g->numbers = params->blocks;
	status = uvmp_evict_init(&g->order, params->policy->evict, (uint32_t)order_units(params), memory,
				 order_bytes(params));
	g->order.reserve_percent = params->policy->reserve;
	return status;
}

enum uvmp_status uvmpi_memory_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				   uint32_t gpu, void *memory, size_t bytes)
{
	struct gpu *g = &s->gpu[gpu];
	struct uvmp_pmm_params pmm;

	g->free_number = NO_INDEX;
	if (roots_of(params, gpu) == 0)
		return UVMP_OK;
	if (bytes == 0)
		return UVMP_ERR_RANGE;
	g->capacity_pages = roots_of(params, gpu) * (UVMP_ROOT_CHUNK_BYTES / s->page_bytes);
	if (!is_chunked(params)) {
		g->capacity_pages = uvmpi_memory_capacity(params, gpu) / s->page_bytes;
		return init_order(s, params, gpu, memory);
	}
	pmm = pmm_params(params, gpu);
	return uvmp_pmm_init(&pmm, memory, bytes, &g->pmm);
}

/* -- chunks of a block -- */

static uint64_t chunk_offset(struct uvmp_chunk chunk)
{
	return (uint64_t)chunk.root * UVMP_ROOT_CHUNK_BYTES + (uint64_t)chunk.page * PMM_PAGE_BYTES;
}

static uint32_t region_bytes(const struct uvmp_service *s, struct uvmp_region region)
{
	return uvmp_region_pages(region) * s->page_bytes;
}

static enum uvmp_chunk_size size_of(uint32_t bytes)
{
	if (bytes == UVMP_ROOT_CHUNK_BYTES)
		return UVMP_CHUNK_2M;
	return bytes == PMM_PAGE_BYTES ? UVMP_CHUNK_4K : UVMP_CHUNK_64K;
}

/* Pages with a chunk. */
static void backed_pages(const struct uvmp_service *s, const struct block *b, const struct residency *p,
			 uvmp_mask *backed)
{
	uvmp_mask_zero(backed);
	if (p == NULL || !p->has_memory)
		return;
	if (block_is_whole(s, b))
		uvmp_mask_region_set(backed, (struct uvmp_region){0, b->pages});
	else
		uvmp_mask_copy(backed, &chunk_map_at(s, p->memory)->backed);
}

static struct uvmp_chunk chunk_at(const struct uvmp_service *s, const struct block *b,
				  const struct residency *p, uint32_t first)
{
	if (block_is_whole(s, b))
		return (struct uvmp_chunk){p->memory, 0, UVMP_CHUNK_2M};
	return chunk_map_at(s, p->memory)->chunk[first];
}

/* The chunk that holds the first page of the set from `from` on; (0,0) behind the last. */
static struct uvmp_region next_chunk(const struct uvmp_block *shape, const uvmp_mask *set, uint32_t from)
{
	return uvmp_block_chunk(shape, uvmp_mask_next_set(set, from));
}

static void remember_chunk(struct uvmp_service *s, const struct block *b, struct residency *p,
			   struct uvmp_region region, struct uvmp_chunk chunk)
{
	if (block_is_whole(s, b)) {
		p->memory = chunk.root;
		p->has_memory = true;
	} else {
		chunk_map_at(s, p->memory)->chunk[region.first] = chunk;
		uvmp_mask_region_set(&chunk_map_at(s, p->memory)->backed, region);
	}
}

void uvmpi_memory_forget(struct uvmp_service *s, const struct block *b, struct residency *p,
			 const uvmp_mask *pages)
{
	struct chunk_map *chunks;

	if (!block_is_whole(s, b)) {
		chunks = chunk_map_at(s, p->memory);
		uvmp_mask_andnot(&chunks->backed, &chunks->backed, pages);
		if (!uvmp_mask_is_empty(&chunks->backed))
			return;
		uvmpi_arena_give(s, SLAB_CHUNK_MAP, p->memory);
	}
	p->memory = 0;
	p->has_memory = false;
}

void uvmpi_memory_in_root(const struct uvmp_service *s, const struct block *b, const struct residency *p,
			  uint32_t root, uvmp_mask *pages)
{
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask backed;

	uvmp_mask_zero(pages);
	backed_pages(s, b, p, &backed);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.end != 0;
	     region = next_chunk(&shape, &backed, region.end)) {
		if (chunk_at(s, b, p, region.first).root == root)
			uvmp_mask_region_set(pages, region);
	}
}

/* -- pins -- */

static void drop_pin(struct uvmp_service *s, uint32_t index)
{
	s->pinned_count--;
	for (uint32_t i = index; i < s->pinned_count; i++)
		s->pinned[i] = s->pinned[i + 1u];
}

/* The chunk is free, nobody is pinned to it. */
static void forget_pin(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first)
{
	for (uint32_t i = 0; i < s->pinned_count; i++) {
		const struct pinned *pin = &s->pinned[i];

		if (pin->gpu == gpu && pin->block == block && pin->first == first) {
			drop_pin(s, i);
			return;
		}
	}
}

/* Ends the pin. What the host was never told of was taken in a pass that was repeated, and not needed in the
 * end. */
static void release_pin(struct uvmp_service *s, const struct pinned *pin)
{
	struct block *b = block_at(s, pin->block);
	struct uvmp_block shape;
	uvmp_mask pages;

	if (pin->is_known) {
		(void)uvmp_pmm_unpin(s->gpu[pin->gpu].pmm, pin->chunk);
		return;
	}
	(void)uvmp_pmm_free(s->gpu[pin->gpu].pmm, pin->chunk);
	uvmpi_block_shape(s, b, &shape);
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, uvmp_block_chunk(&shape, pin->first));
	uvmpi_memory_forget(s, b, uvmpi_residency_find(s, b, pin->gpu), &pages);
}

/* Pins end early where there are too many, the oldest first. Chunks that no ALLOCATE has told of must stay:
 * the present step counts on them. False: all are such. */
static bool has_room_for_pin(struct uvmp_service *s)
{
	uint32_t i = 0;

	if (s->pinned_count < PINNED_MAX)
		return true;
	while (i < PINNED_MAX && !s->pinned[i].is_known)
		i++;
	if (i == PINNED_MAX)
		return false;
	release_pin(s, &s->pinned[i]);
	drop_pin(s, i);
	return true;
}

static void add_pin(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first,
		    struct uvmp_chunk chunk)
{
	s->pinned[s->pinned_count++] = (struct pinned){
		.chunk = chunk, .block = block, .first = (uint16_t)first, .gpu = (uint8_t)gpu};
}

void uvmpi_memory_settle(struct uvmp_service *s)
{
	for (uint32_t i = 0; i < s->pinned_count; i++)
		release_pin(s, &s->pinned[i]);
	s->pinned_count = 0;
	for (uint32_t i = 0; i < PARKED_MAX; i++) {
		if (s->parked[i].is_set)
			(void)uvmp_pmm_free(s->gpu[s->parked[i].gpu].pmm, s->parked[i].chunk);
		s->parked[i].is_set = false;
	}
	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++)
		s->gpu[gpu].coming_pages = 0;
}

/* -- chunks come -- */

static enum uvmp_status take_chunk(struct uvmp_service *s, uint32_t gpu, handle block,
				   enum uvmp_chunk_size size, struct uvmp_chunk *chunk)
{
	for (uint32_t i = 0; i < PARKED_MAX; i++) {
		struct parked *parked = &s->parked[i];

		if (parked->is_set && parked->gpu == gpu && parked->block == block &&
		    parked->chunk.size == size) {
			*chunk = parked->chunk;
			parked->is_set = false;
			return UVMP_OK;
		}
	}
	return uvmp_pmm_alloc(s->gpu[gpu].pmm, UVMP_CHUNK_USER, size, block, chunk);
}

static enum backing back_chunk(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			       struct uvmp_region region, enum uvmp_chunk_size *size)
{
	struct uvmp_chunk chunk;
	enum uvmp_status status;

	*size = size_of(region_bytes(s, region));
	if (!has_room_for_pin(s))
		return BACKING_FAILED;
	status = take_chunk(s, gpu, block, *size, &chunk);
	if (status == UVMP_ERR_NO_MEMORY) {
		s->is_full = true;
		return BACKING_NEED_ROOM;
	}
	if (status != UVMP_OK) /* no further root may be split */
		return BACKING_FAILED;
	remember_chunk(s, block_at(s, block), p, region, chunk);
	add_pin(s, gpu, block, region.first, chunk);
	return BACKING_DONE;
}

/* Tells the host of new chunks. */
static void announce(struct uvmp_service *s, uint32_t gpu, handle block, const struct arriving *arriving)
{
	struct uvmp_block shape;
	struct uvmp_action *a;
	uvmp_mask whole;

	uvmpi_block_shape(s, block_at(s, block), &shape);
	for (uint32_t i = 0; i < s->pinned_count; i++) {
		struct pinned *pin = &s->pinned[i];
		struct uvmp_region region = uvmp_block_chunk(&shape, pin->first);

		if (pin->is_known || pin->gpu != gpu || pin->block != block ||
		    !uvmp_mask_region_any(arriving->pages, region))
			continue;
		pin->is_known = true;
		uvmp_mask_zero(&whole);
		uvmp_mask_region_set(&whole, region);
		a = uvmpi_queue(s, UVMP_ACTION_ALLOCATE,
				uvmp_mask_intersects(&whole, arriving->faulted)
					? (enum uvmp_cause)arriving->cause
					: UVMP_CAUSE_PREFETCH,
				block, &whole);
		a->to = (uint8_t)gpu;
		a->offset = chunk_offset(pin->chunk);
		a->detail = region_bytes(s, region);
	}
}

static enum backing back_chunks(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
				const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	const struct block *b = block_at(s, block);
	enum backing backing;
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask missing;

	if (!block_is_whole(s, b) && !p->has_memory) {
		p->memory = uvmpi_arena_take(s, SLAB_CHUNK_MAP);
		if (p->memory == 0)
			return BACKING_FAILED;
		p->has_memory = true;
	}
	backed_pages(s, b, p, &missing);
	uvmp_mask_andnot(&missing, arriving->pages, &missing);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &missing, 0); region.end != 0;
	     region = next_chunk(&shape, &missing, region.end)) {
		backing = back_chunk(s, gpu, block, p, region, size);
		if (backing != BACKING_DONE) { /* a record without a chunk is no memory */
			uvmp_mask_zero(&missing);
			uvmpi_memory_forget(s, b, p, &missing);
			return backing;
		}
	}
	announce(s, gpu, block, arriving);
	return BACKING_DONE;
}

/* -- memory in pages -- */

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

static bool take_number(struct gpu *g, handle block, struct residency *p)
{
	if (p->has_memory)
		return true;
	if (g->free_number != NO_INDEX) {
		p->memory = g->free_number;
		g->free_number = g->unit_block[p->memory];
	} else if (g->used_numbers < g->numbers) {
		p->memory = g->used_numbers++;
		g->unit_used[p->memory] = 0;
		uvmpi_frames_begin(&g->frames, p->memory * g->block_units, g->block_units);
	} else {
		return false;
	}
	p->has_memory = true;
	g->unit_block[p->memory] = block;
	return true;
}

uint64_t uvmpi_memory_units(const struct uvmp_service_params *params, uint32_t gpu)
{
	return is_chunked(params) ? roots_of(params, gpu) : order_units(params);
}

struct uvmp_region uvmpi_memory_unit(const struct uvmp_service *s, uint32_t gpu, const struct block *b,
				     uint32_t page, uint32_t *unit)
{
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	const struct gpu *g = &s->gpu[gpu];
	struct uvmp_region region;
	struct uvmp_block shape;

	if (g->pmm == NULL) {
		*unit = unit_of(g, p, page);
		return around(g, page);
	}
	uvmpi_block_shape(s, b, &shape);
	region = uvmp_block_chunk(&shape, page);
	*unit = chunk_at(s, b, p, region.first).root;
	return region;
}

/* Does what has been asked for fit [uvmsmart: oversubscription-switch]? */
static void note_pressure(struct uvmp_service *s, const struct gpu *g, uint32_t need)
{
	struct uvmp_pressure pressure = {.total_pages = g->capacity_pages,
					 .free_pages = g->capacity_pages - g->used_pages,
					 .incoming_pages = need,
					 .buffer_percent = s->policy.free_buffer,
					 .quirks = s->policy.quirks};

	if (s->is_full || !uvmp_pressure_is_over(&pressure))
		return;
	s->is_full = true;
	uvmpi_runtime_judge(s);
}

static enum backing back_pages(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			       const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t need;
	uvmp_mask missing;

	*size = UVMP_CHUNK_2M;
	if (!take_number(g, block, p))
		return BACKING_FAILED;
	uvmp_mask_andnot(&missing, arriving->pages, &p->resident);
	need = uvmp_mask_weight(&missing);
	note_pressure(s, g, need);
	if (g->used_pages + need > g->capacity_pages)
		return BACKING_NEED_ROOM;
	g->coming_pages = need;
	uvmpi_frames_take(s, gpu, block, p->memory * g->block_units, arriving);
	return BACKING_DONE;
}

/* These pages of the block count, and no others. */
static void recount(struct gpu *g, const struct residency *p, const uvmp_mask *resident)
{
	uint32_t pages = uvmp_mask_weight(resident);

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
	blocks = UVMP_TREE_BLOCKS_MAX / g->block_units; /* of 64 KiB, whatever the page */
	first = page / g->unit_pages * blocks;
	blocks = minimum(blocks, c->tree.blocks);
	(void)uvmp_evict_weigh(&g->order, unit_of(g, p, page),
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

static uint32_t pages_of_block(const struct gpu *g)
{
	return g->block_units * g->unit_pages;
}

void uvmpi_memory_level(struct uvmp_service *s, uint32_t gpu, handle block)
{
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	struct gpu *g = &s->gpu[gpu];

	if (!s->order->counts_uses || p == NULL || !p->has_memory)
		return;
	for (uint32_t page = 0; page < pages_of_block(g); page += g->unit_pages)
		(void)uvmp_evict_weigh(&g->order, unit_of(g, p, page), 0);
}

/* A pinned unit stays out of the order; where uses are counted, so are those of a pinned one. */
static void touch_unit(struct uvmp_service *s, struct gpu *g, const struct block *b,
		       const struct residency *p, uint32_t page)
{
	bool is_pinned = uvmpi_cyclic_is_pinned(g, p->memory);

	if (is_pinned && !s->order->counts_uses)
		return;
	(void)uvmp_evict_touch(&g->order, unit_of(g, p, page));
	if (is_pinned)
		(void)uvmp_evict_remove(&g->order, unit_of(g, p, page));
	weigh(s, g, b, p, page);
}

/* [uvmsmart: incomplete-tree-stays]: a unit that is not complete has had few uses because it is just coming,
 * and would leave as soon as it has come. A reserve is counted in an order without that (uvmpi_evict_start
 * passes such units over). */
static void spare_unit(const struct uvmp_service *s, struct gpu *g, const struct block *b,
		       const struct residency *p, const uvmp_mask *resident, uint32_t page)
{
	struct uvmp_region region = around(g, page);

	if (!uvmpi_evict_spares(s))
		return;
	region.end = minimum(region.end, b->pages);
	(void)uvmp_evict_spare(&g->order, unit_of(g, p, page), !uvmp_mask_region_all(resident, region));
}

static void touch_pages(struct uvmp_service *s, struct gpu *g, const struct block *b,
			const struct residency *p, const uvmp_mask *pages)
{
	uvmp_mask resident;

	g->coming_pages = 0;
	uvmp_mask_or(&resident, &p->resident, pages);
	recount(g, p, &resident);
	if (g->block_units == 1u && !uvmp_mask_is_empty(&resident)) { /* even if no page moved */
		spare_unit(s, g, b, p, &resident, 0);
		touch_unit(s, g, b, p, 0);
		return;
	}
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		spare_unit(s, g, b, p, &resident, page);
		touch_unit(s, g, b, p, page);
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
			(void)uvmp_evict_remove(&g->order, unit_of(g, p, page));
		else if (uvmp_mask_region_any(&p->resident, around(g, page)))
			touch_unit(s, g, b, p, page);
	}
}

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

void uvmpi_memory_evicted(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t unit, uint32_t pages,
			  uint32_t untouched)
{
	struct gpu *g = &s->gpu[gpu];

	if (g->pmm)
		return;
	(void)uvmp_evict_left(&g->order, unit, pages, untouched);
	leave_circle(s, gpu, block);
}

static void remove_pages(const struct uvmp_service *s, struct gpu *g, const struct block *b,
                         const struct residency *p, const uvmp_mask *pages, bool keeps_frames)
{
	uvmp_mask rest;

	uvmp_mask_andnot(&rest, &p->resident, pages);
	recount(g, p, &rest);
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end)) {
		spare_unit(s, g, b, p, &rest, page);
		if (uvmp_mask_region_any(&rest, around(g, page)))
			continue;
		(void)uvmp_evict_remove(&g->order, unit_of(g, p, page));
		if (!keeps_frames)
			uvmpi_frames_release(&g->frames, unit_of(g, p, page));
	}
}

/* The units of these pages, which got frames for an ALLOCATE that was refused, give them up. */
static void release_frames(struct gpu *g, const struct residency *p, const uvmp_mask *pages)
{
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, around(g, page).end))
		uvmpi_frames_release(&g->frames, unit_of(g, p, page));
}

/* -- both -- */

enum backing uvmpi_memory_back(struct uvmp_service *s, uint32_t gpu, handle block,
			       const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	return s->gpu[gpu].pmm ? back_chunks(s, gpu, block, p, arriving, size)
			       : back_pages(s, gpu, block, p, arriving, size);
}

void uvmpi_memory_unback(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	struct residency *p = uvmpi_residency_find(s, b, gpu);
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask gone, chunk;

	s->gpu[gpu].coming_pages = 0;
	if (s->gpu[gpu].pmm == NULL) {
		release_frames(&s->gpu[gpu], p, pages);
		return;
	}
	backed_pages(s, b, p, &gone);
	uvmp_mask_and(&gone, &gone, pages);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &gone, 0); region.end != 0;
	     region = next_chunk(&shape, &gone, region.end)) {
		if (uvmp_mask_region_any(&p->resident, region))
			continue;
		(void)uvmp_pmm_free(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first));
		forget_pin(s, gpu, block, region.first);
		uvmp_mask_zero(&chunk);
		uvmp_mask_region_set(&chunk, region);
		uvmpi_memory_forget(s, b, p, &chunk);
	}
}

/* Marks the chunks of these pages. */
static void mark_chunks(struct uvmp_service *s, uint32_t gpu, const struct block *b,
			const struct residency *p, const uvmp_mask *pages, enum uvmp_chunk_mark mark)
{
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask backed;

	backed_pages(s, b, p, &backed);
	uvmp_mask_and(&backed, &backed, pages);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.end != 0;
	     region = next_chunk(&shape, &backed, region.end))
		(void)uvmp_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first), mark);
}

void uvmpi_memory_mark(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_chunk_mark mark)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	uvmp_mask all;

	if (s->gpu[gpu].pmm == NULL)
		return;
	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, b->pages});
	mark_chunks(s, gpu, b, p, &all, mark);
}

void uvmpi_memory_used(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages,
		       bool is_fault)
{
	const struct block *b = block_at(s, block);
	struct residency *p = uvmpi_residency_find(s, b, gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (s->gpu[gpu].pmm == NULL) {
		if (uvmpi_cyclic_return(s, &s->gpu[gpu], p->memory, is_fault))
			list_units(s, gpu, p->memory, false);
		touch_pages(s, &s->gpu[gpu], b, p, pages);
	} else if (block_is_whole(s, b)) /* even if no page moved [driver: root-queues] */
		(void)uvmp_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, 0), UVMP_MARK_USED);
	else
		mark_chunks(s, gpu, b, p, pages, UVMP_MARK_USED);
}

void uvmpi_memory_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages,
                       bool keeps_frames)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	uvmp_mask rest;

	if (p == NULL || !p->has_memory)
		return;
	uvmp_mask_andnot(&rest, &p->resident, pages);
	if (s->gpu[gpu].pmm == NULL)
		remove_pages(s, &s->gpu[gpu], b, p, pages, keeps_frames);
	else if (uvmp_mask_is_empty(&rest))
		uvmpi_memory_mark(s, gpu, block, UVMP_MARK_UNUSED);
}

void uvmpi_memory_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	struct gpu *g = &s->gpu[gpu];
	struct uvmp_block shape;

	if (p == NULL || !uvmp_mask_test(&p->resident, page))
		return;
	if (g->pmm == NULL) {
		touch_unit(s, g, b, p, page);
		return;
	}
	uvmpi_block_shape(s, b, &shape);
	(void)uvmp_pmm_touch(g->pmm, chunk_at(s, b, p, uvmp_block_chunk(&shape, page).first));
}

static void free_chunks(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p)
{
	const struct block *b = block_at(s, block);
	struct uvmp_region region;
	struct uvmp_block shape;
	struct uvmp_action *a;
	uvmp_mask backed, pages;

	backed_pages(s, b, p, &backed);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.end != 0;
	     region = next_chunk(&shape, &backed, region.end)) {
		struct uvmp_chunk chunk = chunk_at(s, b, p, region.first);

		(void)uvmp_pmm_free(s->gpu[gpu].pmm, chunk);
		forget_pin(s, gpu, block, region.first);
		uvmp_mask_zero(&pages);
		uvmp_mask_region_set(&pages, region);
		a = uvmpi_queue(s, UVMP_ACTION_FREE, UVMP_CAUSE_FREE, block, &pages);
		a->from = (uint8_t)gpu;
		a->offset = chunk_offset(chunk);
		a->detail = region_bytes(s, region);
	}
	uvmpi_memory_forget(s, b, p, &backed);
}

static void free_number(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p)
{
	struct gpu *g = &s->gpu[gpu];
	uvmp_mask all;

	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, pages_of_block(g)});
	remove_pages(s, g, block_at(s, block), p, &all, true);
	uvmpi_frames_free(s, gpu, block, p->memory * g->block_units);
	for (uint32_t page = 0; page < pages_of_block(g); page += g->unit_pages)
		(void)uvmp_evict_forget(&g->order, unit_of(g, p, page));
	uvmpi_cyclic_forget(g, p->memory);
	g->unit_block[p->memory] = g->free_number;
	g->free_number = p->memory;
	p->memory = 0;
	p->has_memory = false;
}

void uvmpi_memory_free(struct uvmp_service *s, uint32_t gpu, handle block)
{
	struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (s->gpu[gpu].pmm)
		free_chunks(s, gpu, block, p);
	else
		free_number(s, gpu, block, p);
}

void uvmpi_memory_cuts(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uvmp_mask *cuts)
{
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	struct uvmp_region region;
	struct uvmp_block shape;
	uint64_t behind = UINT64_MAX; /* where the chunk before ends in the GPU's memory */
	uvmp_mask backed;

	if (s->gpu[gpu].pmm == NULL || block_is_whole(s, b)) /* one chunk needs no cut */
		return;
	backed_pages(s, b, p, &backed);
	uvmpi_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.end != 0;
	     region = next_chunk(&shape, &backed, region.end)) {
		uint64_t offset = chunk_offset(chunk_at(s, b, p, region.first));

		if (offset != behind)
			uvmp_mask_set(cuts, region.first);
		behind = offset + (uint64_t)uvmp_region_pages(region) * s->page_bytes;
	}
}
