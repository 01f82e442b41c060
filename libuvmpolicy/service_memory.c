/* Memory of the GPUs: what backs pages, and what leaves when there is nothing left.
 *
 * evict=lru: chunks of uvmp_pmm, owned by the block's handle. A block of 2 MiB has one root, a smaller one a
 * record of its chunks (struct sub). An allocation that finds nothing starts the eviction of a root; the
 * chunk that it wins is parked for the pass that follows (6.6). Chunks of a pass that was not enough stay
 * pinned and unknown to the host: ALLOCATE is queued when everything that a step asked for is there.
 *
 * Other orders: a number of pages. Blocks with memory have numbers, and units of the order are these numbers
 * (large pages) or number * 512 + page. Units are evicted one by one until what comes fits.
 *
 * The eviction is a state machine. NEXT looks at the first block that owns something in the victim, without
 * taking it away yet, and queues that it leaves: unmap, discard, copy to the CPU. COMMIT reads how the copies
 * went. Only when all have arrived does the block lose the memory, and NEXT goes on; when one has failed
 * those pages stay where they are, the victim goes back to the tail of its queue, and the eviction has
 * failed.
 */
#include "pmm_internal.h" /* to look at owners: uvmp_pmm_evict_next would already take the chunks away */
#include "service_internal.h"

#define PMM_PAGE_BYTES 4096u
#define DRAWS_MOST     8u /* victims that may be refused in a row */
#define ALIGNMENT      16u

#define BIT(processor) ((uint64_t)1 << (processor))

/* -- setting up -- */

static uint64_t roots_of(const struct uvmp_service_params *params, uint32_t gpu)
{
	return params->gpu[gpu - 1u].memory_bytes / UVMP_ROOT_CHUNK_BYTES;
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

static uint64_t units_of(const struct uvmp_service_params *params)
{
	return (uint64_t)params->blocks * (UVMP_MASK_BITS / uvmp_evict_unit_pages(params->policy->evict));
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of the order itself; 0: too many units. */
static size_t order_bytes(const struct uvmp_service_params *params)
{
	uint64_t units = units_of(params);

	return units <= UVMP_UNITS_MAX ? uvmp_evict_size(params->policy->evict, (uint32_t)units) : 0;
}

size_t uvmp_memory_size(const struct uvmp_service_params *params, uint32_t gpu)
{
	struct uvmp_pmm_params pmm;
	size_t bytes;

	if (roots_of(params, gpu) == 0)
		return 0;
	if (params->policy->evict == UVMP_EVICT_LRU) {
		pmm = pmm_params(params, gpu);
		return uvmp_pmm_size(&pmm);
	}
	bytes = order_bytes(params);
	if (bytes == 0)
		return 0;
	return aligned(params->blocks * sizeof(handle)) + aligned(params->blocks * sizeof(uint16_t)) + bytes;
}

static enum uvmp_status init_order(struct gpu *g, const struct uvmp_service_params *params, uint8_t *memory)
{
	g->unit_pages = uvmp_evict_unit_pages(params->policy->evict);
	g->unit_block = (handle *)(void *)memory;
	memory += aligned(params->blocks * sizeof(handle));
	g->unit_used = (uint16_t *)(void *)memory;
	memory += aligned(params->blocks * sizeof(uint16_t));
	for (uint32_t i = 0; i < params->blocks; i++) {
		g->unit_block[i] = i + 1u;
		g->unit_used[i] = 0;
	}
	g->unit_block[params->blocks - 1u] = NO_INDEX;
	g->free_number = 0;
	return uvmp_evict_init(&g->order, params->policy->evict, (uint32_t)units_of(params), memory,
	                       order_bytes(params));
}

enum uvmp_status uvmp_memory_init(struct uvmp_service *s, const struct uvmp_service_params *params,
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
	if (params->policy->evict != UVMP_EVICT_LRU)
		return init_order(g, params, memory);
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
static void backed_pages(const struct uvmp_service *s, const struct block *b, const struct place *p,
                         uvmp_mask *backed)
{
	uvmp_mask_zero(backed);
	if (p == NULL || !p->has_memory)
		return;
	if (block_is_whole(s, b))
		uvmp_mask_region_set(backed, (struct uvmp_region){0, b->pages});
	else
		uvmp_mask_copy(backed, &sub_at(s, p->memory)->backed);
}

static struct uvmp_chunk chunk_at(const struct uvmp_service *s, const struct block *b, const struct place *p,
                                  uint32_t first)
{
	if (block_is_whole(s, b))
		return (struct uvmp_chunk){p->memory, 0, UVMP_CHUNK_2M};
	return sub_at(s, p->memory)->chunk[first];
}

/* The chunk that holds the first page of the set from `from` on; (0,0) behind the last. */
static struct uvmp_region next_chunk(const struct uvmp_block *shape, const uvmp_mask *set, uint32_t from)
{
	return uvmp_block_chunk(shape, uvmp_mask_next_set(set, from));
}

static void remember_chunk(struct uvmp_service *s, const struct block *b, struct place *p,
                           struct uvmp_region region, struct uvmp_chunk chunk)
{
	if (block_is_whole(s, b)) {
		p->memory = chunk.root;
		p->has_memory = true;
	} else {
		sub_at(s, p->memory)->chunk[region.first] = chunk;
		uvmp_mask_region_set(&sub_at(s, p->memory)->backed, region);
	}
}

/* The chunks of these pages are not the block's any more. */
static void forget_chunks(struct uvmp_service *s, const struct block *b, struct place *p,
                          const uvmp_mask *pages)
{
	struct sub *sub;

	if (!block_is_whole(s, b)) {
		sub = sub_at(s, p->memory);
		uvmp_mask_andnot(&sub->backed, &sub->backed, pages);
		if (!uvmp_mask_is_empty(&sub->backed))
			return;
		uvmp_arena_give(s, SLAB_SUB, p->memory);
	}
	p->memory = 0;
	p->has_memory = false;
}

/* Pages of the block whose chunks lie in the root. */
static void pages_in_root(const struct uvmp_service *s, const struct block *b, const struct place *p,
                          uint32_t root, uvmp_mask *pages)
{
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask backed;

	uvmp_mask_zero(pages);
	backed_pages(s, b, p, &backed);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.outer != 0;
	     region = next_chunk(&shape, &backed, region.outer)) {
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
	uvmp_block_shape(s, b, &shape);
	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, uvmp_block_chunk(&shape, pin->first));
	forget_chunks(s, b, uvmp_place_find(s, b, pin->gpu), &pages);
}

static void add_pin(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first,
                    struct uvmp_chunk chunk)
{
	if (s->pinned_count == PINNED_MAX) {
		release_pin(s, &s->pinned[0]);
		drop_pin(s, 0);
	}
	s->pinned[s->pinned_count++] = (struct pinned){
	        .chunk = chunk, .block = block, .first = (uint16_t)first, .gpu = (uint8_t)gpu};
}

void uvmp_memory_settle(struct uvmp_service *s)
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

static enum uvmp_status back_chunk(struct uvmp_service *s, uint32_t gpu, handle block, struct place *p,
                                   struct uvmp_region region)
{
	enum uvmp_chunk_size size = size_of(region_bytes(s, region));
	struct uvmp_chunk chunk;
	enum uvmp_status status = take_chunk(s, gpu, block, size, &chunk);

	if (status == UVMP_ERR_NO_MEMORY && uvmp_evict_start(s, gpu, size, false) == UVMP_OK)
		return UVMP_ERR_RETRY;
	if (status != UVMP_OK) /* also: no root may be split any more */
		return UVMP_ERR_NO_MEMORY;
	remember_chunk(s, block_at(s, block), p, region, chunk);
	add_pin(s, gpu, block, region.first, chunk);
	return UVMP_OK;
}

/* Tells the host of new chunks. */
static void announce(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	struct uvmp_block shape;
	struct uvmp_action *a;
	uvmp_mask whole;

	uvmp_block_shape(s, block_at(s, block), &shape);
	for (uint32_t i = 0; i < s->pinned_count; i++) {
		struct pinned *pin = &s->pinned[i];
		struct uvmp_region region = uvmp_block_chunk(&shape, pin->first);

		if (pin->is_known || pin->gpu != gpu || pin->block != block ||
		    !uvmp_mask_region_any(pages, region))
			continue;
		pin->is_known = true;
		uvmp_mask_zero(&whole);
		uvmp_mask_region_set(&whole, region);
		a = uvmp_queue(s, UVMP_ACTION_ALLOCATE,
		               uvmp_mask_intersects(&whole, &s->step.faulted) ? (enum uvmp_cause)s->step.cause
		                                                              : UVMP_CAUSE_PREFETCH,
		               block, &whole);
		a->to = (uint8_t)gpu;
		a->offset = chunk_offset(pin->chunk);
		a->detail = region_bytes(s, region);
	}
}

static enum uvmp_status back_chunks(struct uvmp_service *s, uint32_t gpu, handle block, struct place *p,
                                    const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	enum uvmp_status status;
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask missing;

	if (!block_is_whole(s, b) && !p->has_memory) {
		p->memory = uvmp_arena_take(s, SLAB_SUB);
		if (p->memory == 0)
			return UVMP_ERR_NO_MEMORY;
		p->has_memory = true;
	}
	backed_pages(s, b, p, &missing);
	uvmp_mask_andnot(&missing, pages, &missing);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &missing, 0); region.outer != 0;
	     region = next_chunk(&shape, &missing, region.outer)) {
		status = back_chunk(s, gpu, block, p, region);
		if (status != UVMP_OK)
			return status;
	}
	announce(s, gpu, block, pages);
	return UVMP_OK;
}

/* -- memory in pages -- */

static handle block_of_unit(const struct gpu *g, uint32_t unit)
{
	return g->unit_block[g->unit_pages == 1u ? unit / UVMP_MASK_BITS : unit];
}

static uint32_t unit_of(const struct gpu *g, const struct place *p, uint32_t page)
{
	return g->unit_pages == 1u ? p->memory * UVMP_MASK_BITS + page : p->memory;
}

static bool take_number(struct gpu *g, handle block, struct place *p)
{
	if (p->has_memory)
		return true;
	if (g->free_number == NO_INDEX)
		return false;
	p->memory = g->free_number;
	p->has_memory = true;
	g->free_number = g->unit_block[p->memory];
	g->unit_block[p->memory] = block;
	return true;
}

static enum uvmp_status back_pages(struct uvmp_service *s, uint32_t gpu, handle block, struct place *p,
                                   const uvmp_mask *pages)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t need;
	uvmp_mask missing;

	if (!take_number(g, block, p))
		return UVMP_ERR_NO_MEMORY;
	uvmp_mask_andnot(&missing, pages, &p->resident);
	need = uvmp_mask_weight(&missing);
	if (g->used_pages + need > g->capacity_pages)
		return uvmp_evict_start(s, gpu, UVMP_CHUNK_2M, false) == UVMP_OK ? UVMP_ERR_RETRY
		                                                                 : UVMP_ERR_NO_MEMORY;
	g->coming_pages = need;
	return UVMP_OK;
}

/* These pages of the block count, and no others. */
static void recount(struct gpu *g, const struct place *p, const uvmp_mask *resident)
{
	uint32_t pages = uvmp_mask_weight(resident);

	g->used_pages += pages;
	g->used_pages -= g->unit_used[p->memory];
	g->unit_used[p->memory] = (uint16_t)pages;
}

static void touch_pages(struct gpu *g, const struct place *p, const uvmp_mask *pages)
{
	uvmp_mask resident;

	g->coming_pages = 0;
	uvmp_mask_or(&resident, &p->resident, pages);
	recount(g, p, &resident);
	if (g->unit_pages != 1u && !uvmp_mask_is_empty(&resident))
		(void)uvmp_evict_touch(&g->order, p->memory);
	if (g->unit_pages != 1u)
		return;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, page + 1u))
		(void)uvmp_evict_touch(&g->order, unit_of(g, p, page));
}

static void remove_pages(struct gpu *g, const struct place *p, const uvmp_mask *pages)
{
	uvmp_mask rest;

	uvmp_mask_andnot(&rest, &p->resident, pages);
	recount(g, p, &rest);
	if (g->unit_pages != 1u && uvmp_mask_is_empty(&rest))
		(void)uvmp_evict_remove(&g->order, p->memory);
	if (g->unit_pages != 1u)
		return;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, page + 1u))
		(void)uvmp_evict_remove(&g->order, unit_of(g, p, page));
}

/* -- both -- */

enum uvmp_status uvmp_memory_back(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	struct place *p = uvmp_place_make(s, block_at(s, block), gpu);

	if (p == NULL)
		return UVMP_ERR_NO_MEMORY;
	return s->gpu[gpu].pmm ? back_chunks(s, gpu, block, p, pages) : back_pages(s, gpu, block, p, pages);
}

void uvmp_memory_unback(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	struct place *p = uvmp_place_find(s, b, gpu);
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask gone, chunk;

	s->gpu[gpu].coming_pages = 0;
	if (s->gpu[gpu].pmm == NULL)
		return;
	backed_pages(s, b, p, &gone);
	uvmp_mask_and(&gone, &gone, pages);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &gone, 0); region.outer != 0;
	     region = next_chunk(&shape, &gone, region.outer)) {
		if (uvmp_mask_region_any(&p->resident, region))
			continue;
		(void)uvmp_pmm_free(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first));
		forget_pin(s, gpu, block, region.first);
		uvmp_mask_zero(&chunk);
		uvmp_mask_region_set(&chunk, region);
		forget_chunks(s, b, p, &chunk);
	}
}

/* Marks the chunks of these pages. */
static void mark_chunks(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct place *p,
                        const uvmp_mask *pages, enum uvmp_chunk_mark mark)
{
	struct uvmp_region region;
	struct uvmp_block shape;
	uvmp_mask backed;

	backed_pages(s, b, p, &backed);
	uvmp_mask_and(&backed, &backed, pages);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.outer != 0;
	     region = next_chunk(&shape, &backed, region.outer))
		(void)uvmp_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first), mark);
}

void uvmp_memory_mark(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_chunk_mark mark)
{
	const struct block *b = block_at(s, block);
	const struct place *p = uvmp_place_find(s, b, gpu);
	uvmp_mask all;

	if (s->gpu[gpu].pmm == NULL)
		return;
	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, b->pages});
	mark_chunks(s, gpu, b, p, &all, mark);
}

void uvmp_memory_used(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	struct place *p = uvmp_place_find(s, b, gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (s->gpu[gpu].pmm == NULL)
		touch_pages(&s->gpu[gpu], p, pages);
	else if (block_is_whole(s, b)) /* even if no page moved (6.2) */
		uvmp_memory_mark(s, gpu, block, UVMP_MARK_USED);
	else
		mark_chunks(s, gpu, b, p, pages, UVMP_MARK_USED);
}

void uvmp_memory_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	const struct place *p = uvmp_place_find(s, b, gpu);
	uvmp_mask rest;

	if (p == NULL || !p->has_memory)
		return;
	uvmp_mask_andnot(&rest, &p->resident, pages);
	if (s->gpu[gpu].pmm == NULL)
		remove_pages(&s->gpu[gpu], p, pages);
	else if (uvmp_mask_is_empty(&rest))
		uvmp_memory_mark(s, gpu, block, UVMP_MARK_UNUSED);
}

void uvmp_memory_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page)
{
	const struct block *b = block_at(s, block);
	const struct place *p = uvmp_place_find(s, b, gpu);
	struct gpu *g = &s->gpu[gpu];
	struct uvmp_block shape;

	if (p == NULL || !uvmp_mask_test(&p->resident, page))
		return;
	if (g->pmm == NULL) {
		(void)uvmp_evict_touch(&g->order, unit_of(g, p, page));
		return;
	}
	uvmp_block_shape(s, b, &shape);
	(void)uvmp_pmm_touch(g->pmm, chunk_at(s, b, p, uvmp_block_chunk(&shape, page).first));
}

static void free_chunks(struct uvmp_service *s, uint32_t gpu, handle block, struct place *p)
{
	const struct block *b = block_at(s, block);
	struct uvmp_region region;
	struct uvmp_block shape;
	struct uvmp_action *a;
	uvmp_mask backed, pages;

	backed_pages(s, b, p, &backed);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.outer != 0;
	     region = next_chunk(&shape, &backed, region.outer)) {
		struct uvmp_chunk chunk = chunk_at(s, b, p, region.first);

		(void)uvmp_pmm_free(s->gpu[gpu].pmm, chunk);
		forget_pin(s, gpu, block, region.first);
		uvmp_mask_zero(&pages);
		uvmp_mask_region_set(&pages, region);
		a = uvmp_queue(s, UVMP_ACTION_FREE, UVMP_CAUSE_FREE, block, &pages);
		a->from = (uint8_t)gpu;
		a->offset = chunk_offset(chunk);
		a->detail = region_bytes(s, region);
	}
	forget_chunks(s, b, p, &backed);
}

static void free_number(struct gpu *g, struct place *p)
{
	uvmp_mask all;

	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, UVMP_MASK_BITS});
	remove_pages(g, p, &all);
	g->unit_block[p->memory] = g->free_number;
	g->free_number = p->memory;
	p->memory = 0;
	p->has_memory = false;
}

void uvmp_memory_free(struct uvmp_service *s, uint32_t gpu, handle block)
{
	struct place *p = uvmp_place_find(s, block_at(s, block), gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (s->gpu[gpu].pmm)
		free_chunks(s, gpu, block, p);
	else
		free_number(&s->gpu[gpu], p);
}

void uvmp_memory_cuts(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uvmp_mask *cuts)
{
	const struct place *p = uvmp_place_find(s, b, gpu);
	struct uvmp_region region;
	struct uvmp_block shape;
	uint64_t behind = UINT64_MAX; /* where the chunk before ends in the GPU's memory */
	uvmp_mask backed;

	if (s->gpu[gpu].pmm == NULL)
		return;
	backed_pages(s, b, p, &backed);
	uvmp_block_shape(s, b, &shape);
	for (region = next_chunk(&shape, &backed, 0); region.outer != 0;
	     region = next_chunk(&shape, &backed, region.outer)) {
		uint64_t offset = chunk_offset(chunk_at(s, b, p, region.first));

		if (offset != behind)
			uvmp_mask_set(cuts, region.first);
		behind = offset + (uint64_t)uvmp_region_pages(region) * s->page_bytes;
	}
}

/* -- the victim -- */

/* Lists in the order in which uvmp_pmm_evict_begin looks at them (6.4). */
#define VICTIM_LISTS 5u

struct victim {
	uint32_t root;
	enum uvmp_victim list;
};

/* UVMP_ROOT_NONE, of the last list: nothing may be evicted. */
static struct victim next_root(const struct uvmp_pmm *pmm)
{
	static const uint8_t list[VICTIM_LISTS][2] = {{UVMP_PMM_FREE_NONZERO, UVMP_VICTIM_FREE},
	                                              {UVMP_PMM_FREE_ZERO, UVMP_VICTIM_FREE},
	                                              {UVMP_PMM_UNUSED, UVMP_VICTIM_UNUSED},
	                                              {UVMP_PMM_DISCARDED, UVMP_VICTIM_DISCARDED},
	                                              {UVMP_PMM_USED, UVMP_VICTIM_USED}};
	struct victim victim = {UVMP_ROOT_NONE, UVMP_VICTIM_FREE};

	for (uint32_t i = 0; i < VICTIM_LISTS && victim.root == UVMP_ROOT_NONE; i++) {
		victim.root = uvmp_pmm_first(pmm, (enum uvmp_pmm_list)list[i][0]);
		victim.list = (enum uvmp_victim)list[i][1];
	}
	return victim;
}

/* The block whose memory must not leave for the present step; 0: none. */
static handle kept_block(const struct uvmp_service *s)
{
	return s->step.is_follow ? s->step.keep : 0;
}

static bool holds(const struct uvmp_service *s, handle block, uint32_t gpu, uint32_t root)
{
	uvmp_mask pages;

	if (block == 0)
		return false;
	pages_in_root(s, block_at(s, block), uvmp_place_find(s, block_at(s, block), gpu), root, &pages);
	return !uvmp_mask_is_empty(&pages);
}

/* Ahead, what the present step brings its pages to may not leave either. */
static bool choose_root(struct uvmp_service *s, uint32_t gpu, bool is_ahead)
{
	struct uvmp_pmm *pmm = s->gpu[gpu].pmm;
	struct victim victim = next_root(pmm);

	if (victim.root == UVMP_ROOT_NONE || holds(s, kept_block(s), gpu, victim.root) ||
	    holds(s, is_ahead ? s->step.block : 0, gpu, victim.root))
		return false;
	s->evict.victim = (uint8_t)victim.list;
	(void)uvmp_pmm_evict_begin(pmm, UVMP_CHUNK_USER, &s->evict.root);
	return true;
}

/* A large page does not make room for itself. A random draw may hit pages of the block whose faults are being
 * serviced, which would send away what has just come. */
static bool is_refused(const struct uvmp_service *s, const struct gpu *g, uint32_t unit)
{
	handle block = block_of_unit(g, unit);

	if (g->unit_pages != 1u)
		return block == s->step.block || block == kept_block(s);
	return s->policy.evict == UVMP_EVICT_RANDOM_4K && block == kept_block(s);
}

static bool choose_unit(struct uvmp_service *s, struct gpu *g)
{
	for (uint32_t draw = 0; draw < DRAWS_MOST; draw++) {
		if (uvmp_evict_victim(&g->order, &s->random, &s->evict.root) != UVMP_OK)
			return false;
		if (!is_refused(s, g, s->evict.root))
			return true;
		(void)uvmp_evict_touch(&g->order, s->evict.root); /* it is in use: the next one is older */
	}
	return false;
}

enum uvmp_status uvmp_evict_start(struct uvmp_service *s, uint32_t gpu, enum uvmp_chunk_size size,
                                  bool is_ahead)
{
	struct evict *e = &s->evict;
	struct gpu *g = &s->gpu[gpu];

	e->victim = UVMP_VICTIM_ORDER;
	if (!(g->pmm ? choose_root(s, gpu, is_ahead) : choose_unit(s, g)))
		return UVMP_ERR_NO_MEMORY;
	e->phase = EVICT_NEXT;
	e->gpu = gpu;
	e->is_ahead = is_ahead;
	e->is_empty = false;
	e->size = size;
	e->block = 0;
	e->blocks = 0;
	e->status = UVMP_OK;
	return UVMP_OK;
}

bool uvmp_memory_is_full(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];
	struct uvmp_pmm_counts counts;

	if (g->pmm == NULL)
		return g->used_pages + g->coming_pages >= g->capacity_pages;
	uvmp_pmm_count(g->pmm, &counts);
	return counts.in_pool == 0 && next_root(g->pmm).list != UVMP_VICTIM_FREE;
}

/* -- EVICT_NEXT -- */

/* Who would be the next one to lose memory in the root? 0: nobody. */
static handle next_owner(const struct uvmp_pmm *pmm, uint32_t root)
{
	const struct uvmp_pmm_root *r = &pmm->root[root];
	const struct uvmp_pmm_split *split;
	uvmp_mask owned;

	if (r->state == UVMP_PMM_ALLOCATED)
		return r->body;
	if (r->state != UVMP_PMM_SPLIT)
		return 0;
	split = &pmm->split[r->body];
	uvmp_mask_andnot(&owned, &split->live, &split->pinned);
	if (uvmp_mask_is_empty(&owned))
		return 0;
	return split->slot[uvmp_mask_next_set(&owned, 0)].next;
}

/* Which block is next, and what has it there? False: nothing is left. */
static bool find_block(struct uvmp_service *s)
{
	struct evict *e = &s->evict;
	struct gpu *g = &s->gpu[e->gpu];
	const struct block *b;
	const struct place *p;

	e->block = g->pmm ? next_owner(g->pmm, e->root) : block_of_unit(g, e->root);
	if (e->block == 0 || e->is_empty)
		return false;
	b = block_at(s, e->block);
	p = uvmp_place_find(s, b, e->gpu);
	if (g->pmm) {
		pages_in_root(s, b, p, e->root, &e->held);
	} else if (g->unit_pages != 1u) {
		uvmp_mask_copy(&e->held, &p->resident);
	} else {
		uvmp_mask_zero(&e->held);
		uvmp_mask_set(&e->held, e->root % UVMP_MASK_BITS);
	}
	return true;
}

/* Of what the block has there: what leaves, what is not worth it, what must be copied. */
static void sort_pages(struct uvmp_service *s)
{
	struct evict *e = &s->evict;
	const struct block *b = block_at(s, e->block);
	const struct place *p = uvmp_place_find(s, b, e->gpu);

	uvmp_mask_and(&e->pages, &e->held, &p->resident);
	uvmp_mask_zero(&e->lost);
	if (b->extra != 0)
		uvmp_mask_and(&e->lost, &e->pages, &extra_at(s, b->extra)->discarded);
	uvmp_mask_andnot(&e->copied, &e->pages, &e->lost);
	for (handle at = b->place; at != 0; at = place_at(s, at)->next) {
		if (place_at(s, at) != p)
			uvmp_mask_andnot(&e->copied, &e->copied, &place_at(s, at)->resident);
	}
}

static void plan_copies(struct uvmp_service *s)
{
	const struct block *b = block_at(s, s->evict.block);
	uvmp_mask cuts;
	struct uvmp_copy_facts facts = {.destination = UVMP_CPU,
	                                .pages = &s->evict.copied,
	                                .resident = s->holders,
	                                .grouping = UVMP_GROUPING_BY_CAUSE,
	                                .cuts = &cuts};

	uvmp_mask_zero(&cuts);
	uvmp_memory_cuts(s, b, s->evict.gpu, &cuts);
	uvmp_block_residents(s, b);
	(void)uvmp_plan_copies(&s->processors, &facts, s->out, UVMP_PLAN_COPIES_MAX, &s->outs);
}

/* The eviction has failed: what has not left stays. */
static void give_up(struct uvmp_service *s, enum uvmp_status status)
{
	struct evict *e = &s->evict;
	struct gpu *g = &s->gpu[e->gpu];

	if (g->pmm)
		(void)uvmp_pmm_evict_abort(g->pmm, e->root);
	else
		(void)uvmp_evict_touch(&g->order, e->root);
	e->phase = EVICT_IDLE;
	e->status = status;
}

static void queue_leave(struct uvmp_service *s, enum uvmp_action_kind kind, const uvmp_mask *pages)
{
	struct evict *e = &s->evict;
	struct uvmp_action *a = uvmp_queue(s, kind, UVMP_CAUSE_EVICTION, e->block, pages);

	a->from = (uint8_t)e->gpu;
	if (s->step.room_for != 0)
		a->for_address = block_at(s, s->step.room_for)->start;
	if (kind != UVMP_ACTION_EVICT)
		return;
	a->victim = e->victim;
	a->count = e->blocks++;
	a->detail = uvmp_mask_weight(pages) * s->page_bytes;
	if (s->gpu[e->gpu].pmm)
		a->offset = (uint64_t)e->root * UVMP_ROOT_CHUNK_BYTES;
}

static void send_away(struct uvmp_service *s)
{
	struct evict *e = &s->evict;

	sort_pages(s);
	if (!uvmp_mask_is_empty(&e->copied) && uvmp_place_make(s, block_at(s, e->block), UVMP_CPU) == NULL) {
		give_up(s, UVMP_ERR_NO_MEMORY);
		return;
	}
	queue_leave(s, UVMP_ACTION_EVICT, &e->held);
	uvmp_step_unmap(s, e->block, &e->pages, 0, UVMP_CAUSE_EVICTION);
	if (!uvmp_mask_is_empty(&e->lost))
		queue_leave(s, UVMP_ACTION_DISCARD, &e->lost);
	plan_copies(s);
	uvmp_queue_copies(s, s->step.block, e->block);
	e->phase = EVICT_COMMIT;
}

/* The allocation that asked gets its chunk from the root; it waits for the pass that follows (6.6). */
static void park(struct uvmp_service *s, struct uvmp_chunk chunk)
{
	uint32_t i = 0;

	while (i + 1u < PARKED_MAX && s->parked[i].is_set)
		i++;
	if (s->parked[i].is_set)
		(void)uvmp_pmm_free(s->gpu[s->parked[i].gpu].pmm, s->parked[i].chunk);
	s->parked[i] = (struct parked){
	        .chunk = chunk, .block = s->step.block, .gpu = (uint8_t)s->evict.gpu, .is_set = true};
}

/* Nothing is left in the victim. */
static void finish(struct uvmp_service *s)
{
	struct evict *e = &s->evict;
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	struct uvmp_chunk chunk;

	e->phase = EVICT_IDLE;
	if (pmm == NULL)
		return;
	if (e->is_ahead) {
		(void)uvmp_pmm_evict_release(pmm, e->root);
		return;
	}
	e->status = uvmp_pmm_evict_end(pmm, e->root, UVMP_CHUNK_USER, e->size, s->step.block, &chunk);
	if (e->status == UVMP_OK) {
		park(s, chunk);
		return;
	}
	e->status = UVMP_ERR_NO_MEMORY; /* no root may be split any more */
	(void)uvmp_pmm_evict_release(pmm, e->root);
}

/* -- EVICT_COMMIT -- */

/* Pages whose copy has failed, and why. */
static enum uvmp_status failed_pages(const struct uvmp_service *s, uvmp_mask *failed)
{
	enum uvmp_status status = UVMP_OK;

	uvmp_mask_zero(failed);
	for (uint32_t i = 0; i < s->actions; i++) {
		const struct uvmp_action *a = &s->action[i];

		if (a->kind != UVMP_ACTION_COPY || a->cause != UVMP_CAUSE_EVICTION || a->status == UVMP_OK)
			continue;
		uvmp_mask_or(failed, failed, &a->pages);
		status = (enum uvmp_status)a->status;
	}
	return status;
}

/* Pages that have one holder now are no duplicates. */
static void recount_duplicates(struct uvmp_service *s, struct block *b, const uvmp_mask *pages)
{
	struct extra *extra;
	uint64_t holders;
	uvmp_mask some;

	if (b->extra == 0)
		return;
	extra = extra_at(s, b->extra);
	uvmp_mask_and(&some, pages, &extra->duplicated);
	for (uint32_t page = uvmp_mask_next_set(&some, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&some, page + 1u)) {
		holders = uvmp_block_holders(s, b, page);
		if ((holders & (holders - 1u)) == 0)
			uvmp_mask_clear(&extra->duplicated, page);
	}
}

/* The tree of the UVM Smart family no longer counts what left; a large page that leaves empties it
 * (uvm-smart 3.4). */
static void leave_tree(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages, bool is_large)
{
	struct uvmp_tree *tree;

	if (b->extra == 0 || extra_at(s, b->extra)->tree == 0)
		return;
	tree = uvmp_arena_at(s, extra_at(s, b->extra)->tree);
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, page + 1u))
		uvmp_tree_sub(tree, page, 1, s->policy.quirks);
	if (is_large)
		(void)uvmp_tree_init(tree, tree->blocks);
}

static bool is_large_victim(const struct uvmp_service *s, const struct block *b)
{
	const struct gpu *g = &s->gpu[s->evict.gpu];

	return g->pmm ? block_is_whole(s, b) : g->unit_pages != 1u;
}

/* The pages are not on the GPU any more. */
static void leave(struct uvmp_service *s, const uvmp_mask *failed)
{
	const struct evict *e = &s->evict;
	struct block *b = block_at(s, e->block);
	struct place *cpu = uvmp_place_find(s, b, UVMP_CPU);
	uvmp_mask gone, some;

	uvmp_mask_andnot(&gone, &e->pages, failed);
	if (cpu != NULL) {
		uvmp_mask_and(&some, &e->copied, &gone);
		uvmp_mask_or(&cpu->resident, &cpu->resident, &some);
	}
	uvmp_step_leave(s, e->block, e->gpu, &gone);
	recount_duplicates(s, b, &gone);
	leave_tree(s, b, &gone, is_large_victim(s, b) && uvmp_mask_is_empty(failed));
}

/* Accessed-by processors, and the GPU itself where its accesses are counted, keep reaching the pages (6.4,
 * 9.5). */
static void map_again(struct uvmp_service *s)
{
	const struct evict *e = &s->evict;
	uint64_t processors = range_of(s, block_at(s, e->block))->accessed_by;
	uvmp_mask pages;

	if (s->maps_evicted)
		processors |= BIT(e->gpu);
	uvmp_mask_andnot(&pages, &e->pages, &e->lost);
	if (uvmp_mask_is_empty(&pages))
		return;
	for (uint32_t p = 0; p < s->processors.count; p++) {
		if ((processors & BIT(p)) != 0)
			uvmp_step_map_remote(s, e->block, p, &pages, UVMP_CAUSE_EVICTION);
	}
}

/* All has arrived: the block gives the memory up. */
static void take_away(struct uvmp_service *s)
{
	struct evict *e = &s->evict;
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	const struct block *b = block_at(s, e->block);
	struct uvmp_pmm_eviction eviction;
	bool found;

	if (pmm == NULL) {
		e->is_empty = true;
		return;
	}
	(void)uvmp_pmm_evict_next(pmm, e->root, &eviction, &found);
	forget_chunks(s, b, uvmp_place_find(s, b, e->gpu), &e->held);
}

static void commit(struct uvmp_service *s)
{
	uvmp_mask failed;
	enum uvmp_status status = failed_pages(s, &failed);

	leave(s, &failed);
	if (status != UVMP_OK) {
		give_up(s, status);
		return;
	}
	take_away(s);
	s->evict.phase = EVICT_NEXT;
	map_again(s);
}

void uvmp_evict_advance(struct uvmp_service *s)
{
	if (s->evict.phase == EVICT_COMMIT)
		commit(s);
	else if (find_block(s))
		send_away(s);
	else
		finish(s);
}
