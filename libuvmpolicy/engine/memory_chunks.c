/* Memory of a GPU in root chunks: evict=lru.
 *
 * Chunks of uvmp_pmm are owned by the block's handle. A block of 2 MiB has one root, a smaller one a chunk map
 * (struct chunk_map). If no chunk is free, the caller evicts a root; the chunk that the eviction won is parked for the
 * repeated walk [driver: eviction-retry]. Chunks of a walk that did not get all of its memory stay pinned and unknown to the
 * host: ALLOCATE is queued once the job has all the memory that it asked for.
 */
#include "../base/geometry_internal.h"
#include "../decisions/pmm_internal.h"
#include "memory_backend_internal.h"
#include "queue_internal.h"

/* Lists in the order in which uvmp_pmm_evict_begin looks at them [driver: victim-choice]. */
#define VICTIM_LISTS 5u

/* -- setting up -- */

static struct uvmp_pmm_params pmm_params(const struct uvmp_service_params *params, uint32_t gpu)
{
	uint32_t roots = (uint32_t)uvmpi_chunks_roots(params, gpu);
	uint32_t splits = uvmpi_params_gpu(params, gpu).splits;

	return (struct uvmp_pmm_params){.roots = roots,
					.splits = splits < roots ? splits : roots,
					.batch_order = params->policy->pma_order,
					.is_zeroed = true,
					.quirks = params->policy->quirks,
					.page_bytes = params->page_bytes == 4u * PMM_PAGE_BYTES ? params->page_bytes
												: PMM_PAGE_BYTES};
}

size_t uvmpi_chunks_size(const struct uvmp_service_params *params, uint32_t gpu)
{
	struct uvmp_pmm_params pmm = pmm_params(params, gpu);

	return uvmp_pmm_size(&pmm);
}

enum uvmp_status uvmpi_chunks_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				   uint32_t gpu, void *memory, size_t bytes)
{
	struct uvmp_pmm_params pmm = pmm_params(params, gpu);
	struct gpu *g = &s->gpu[gpu];

	g->capacity_pages = uvmpi_chunks_roots(params, gpu) * (UVMP_ROOT_CHUNK_BYTES / s->page_bytes);
	return uvmp_pmm_init(&pmm, memory, bytes, &g->pmm);
}

/* -- chunks of a block -- */

/* The set of the pages of the region. */
static void set_region(uvmp_mask *pages, struct uvmp_region region)
{
	if (uvmp_region_pages(region) == UVMP_MASK_BITS) {
		uvmpi_mask_fill(pages);
		return;
	}
	uvmpi_mask_zero(pages);
	uvmpi_mask_region_set(pages, region);
}

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
	return bytes <= 4u * PMM_PAGE_BYTES ? UVMP_CHUNK_4K : UVMP_CHUNK_64K;
}

static struct uvmp_chunk chunk_at(const struct uvmp_service *s, const struct block *b,
				  const struct residency *p, uint32_t first)
{
	if (block_is_whole(s, b))
		return (struct uvmp_chunk){p->memory, 0, UVMP_CHUNK_2M};
	return chunk_map_at(s, p->memory)->chunk[first];
}

static bool has_chunk(const struct residency *p)
{
	return p != NULL && p->has_memory;
}

/* The pages of the chunk that holds `page`. */
static struct uvmp_region chunk_pages(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	struct uvmp_block shape;

	if (block_is_whole(s, b))
		return (struct uvmp_region){0, b->pages};
	uvmpi_block_shape(s, b, &shape);
	return uvmpi_block_chunk_small(&shape, page);
}

/* The first chunk of the block with a page of the set, from page `from` on, a page where no chunk ends before; (0,0): none. */
static struct uvmp_region next_chunk(const struct uvmp_service *s, const struct block *b, const struct residency *p,
				     const uvmp_mask *set, uint32_t from)
{
	struct uvmp_region none = {0, 0};
	uvmp_mask backed;
	uint32_t page;

	if (!has_chunk(p))
		return none;
	if (block_is_whole(s, b))
		return from == 0 && !uvmpi_mask_is_empty(set) ? chunk_pages(s, b, 0) : none;
	uvmpi_mask_and(&backed, &chunk_map_at(s, p->memory)->backed, set);
	page = uvmpi_mask_next_set(&backed, from);
	return page < UVMP_MASK_BITS ? chunk_pages(s, b, page) : none;
}

/* The same, of the pages of the set without a chunk, for a block below 2 MiB with its chunk map. */
static struct uvmp_region next_missing(const struct uvmp_service *s, const struct block *b, const struct residency *p,
				       const uvmp_mask *set, uint32_t from)
{
	struct uvmp_region none = {0, 0};
	uvmp_mask missing;
	uint32_t page;

	uvmpi_mask_andnot(&missing, set, &chunk_map_at(s, p->memory)->backed);
	page = uvmpi_mask_next_set(&missing, from);
	return page < UVMP_MASK_BITS ? chunk_pages(s, b, page) : none;
}

static void remember_chunk(struct uvmp_service *s, const struct block *b, struct residency *p,
			   struct uvmp_region region, struct uvmp_chunk chunk)
{
	if (block_is_whole(s, b)) {
		p->memory = chunk.root;
		p->has_memory = true;
	} else {
		chunk_map_at(s, p->memory)->chunk[region.first] = chunk;
		uvmpi_mask_region_set(&chunk_map_at(s, p->memory)->backed, region);
	}
}

void uvmpi_chunks_forget(struct uvmp_service *s, const struct block *b, struct residency *p,
			 const uvmp_mask *pages)
{
	struct chunk_map *chunks;

	if (!block_is_whole(s, b)) {
		chunks = chunk_map_at(s, p->memory);
		uvmpi_mask_andnot(&chunks->backed, &chunks->backed, pages);
		if (!uvmpi_mask_is_empty(&chunks->backed))
			return;
		uvmpi_arena_give(s, SLAB_CHUNK_MAP, p->memory);
	}
	p->memory = 0;
	p->has_memory = false;
}

void uvmpi_chunks_in_root(const struct uvmp_service *s, const struct block *b, const struct residency *p,
			  uint32_t root, uvmp_mask *pages)
{
	struct uvmp_region region;
	uvmp_mask all;

	if (((uint32_t)block_is_whole(s, b) & has_chunk(p)) != 0) { /* all pages, or none */
		set_region(pages, (struct uvmp_region){0, (uint32_t)(p->memory == root) * b->pages});
		return;
	}
	uvmpi_mask_zero(pages);
	uvmpi_mask_fill(&all);
	for (region = next_chunk(s, b, p, &all, 0); region.end != 0; region = next_chunk(s, b, p, &all, region.end)) {
		if (chunk_at(s, b, p, region.first).root == root)
			uvmpi_mask_region_set(pages, region);
	}
}

struct uvmp_region uvmpi_chunks_unit(const struct uvmp_service *s, const struct block *b,
				     const struct residency *p, uint32_t page, uint32_t *root)
{
	struct uvmp_region region = chunk_pages(s, b, page);

	*root = chunk_at(s, b, p, region.first).root;
	return region;
}

/* -- pins -- */

static void drop_pin(struct uvmp_service *s, uint32_t index)
{
	s->pinned_count--;
	for (uint32_t i = index; i < s->pinned_count; i++)
		s->pinned[i] = s->pinned[i + 1u];
}

/* The chunk is free: its pin ends, if it has one. */
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

/* Ends the pin. A chunk without an ALLOCATE was taken in a walk that was repeated, and is not needed: it is freed. */
static void release_pin(struct uvmp_service *s, const struct pinned *pin)
{
	struct block *b = block_at(s, pin->block);
	uvmp_mask pages;

	if (pin->is_known) {
		uvmpi_pmm_unpin(s->gpu[pin->gpu].pmm, pin->chunk);
		return;
	}
	uvmpi_pmm_free(s->gpu[pin->gpu].pmm, pin->chunk);
	uvmpi_mask_zero(&pages);
	uvmpi_mask_region_set(&pages, chunk_pages(s, b, pin->first));
	uvmpi_chunks_forget(s, b, uvmpi_residency_find(s, b, pin->gpu), &pages);
}

/* If there are too many pins, the oldest ends early. Chunks without an ALLOCATE must stay: the present job needs them.
 * False: all pins are of such chunks. */
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

void uvmpi_chunks_settle(struct uvmp_service *s)
{
	for (uint32_t i = 0; i < s->pinned_count; i++)
		release_pin(s, &s->pinned[i]);
	s->pinned_count = 0;
	for (uint32_t i = 0; s->has_parked && i < PARKED_MAX; i++) {
		if (s->parked[i].is_set)
			uvmpi_pmm_free(s->gpu[s->parked[i].gpu].pmm, s->parked[i].chunk);
		s->parked[i].is_set = false;
	}
	s->has_parked = false;
}

/* -- chunks arrive -- */

static enum uvmp_status take_chunk(struct uvmp_service *s, uint32_t gpu, handle block,
				   enum uvmp_chunk_size size, struct uvmp_chunk *chunk)
{
	for (uint32_t i = 0; s->has_parked && i < PARKED_MAX; i++) {
		struct parked *parked = &s->parked[i];

		if (parked->is_set && parked->gpu == gpu && parked->block == block &&
		    parked->chunk.size == size) {
			*chunk = parked->chunk;
			parked->is_set = false;
			return UVMP_OK;
		}
	}
	return uvmpi_pmm_alloc(s->gpu[gpu].pmm, UVMP_CHUNK_USER, size, block, chunk);
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

/* Does the set hold a page of the region? A block of 2 MiB has no pages beyond its one region. */
static bool has_page(const struct uvmp_service *s, const uvmp_mask *pages, struct uvmp_region region)
{
	return uvmp_region_pages(region) == s->block_pages ? !uvmpi_mask_is_empty(pages)
							   : uvmpi_mask_region_any(pages, region);
}

/* Queues ALLOCATE for new chunks. */
static void announce(struct uvmp_service *s, uint32_t gpu, handle block, const struct arriving *arriving)
{
	const struct block *b = block_at(s, block);
	struct uvmp_action *a;

	for (uint32_t i = 0; i < s->pinned_count; i++) {
		struct pinned *pin = &s->pinned[i];
		struct uvmp_region region;

		if (pin->is_known || pin->gpu != gpu || pin->block != block)
			continue;
		region = chunk_pages(s, b, pin->first);
		if (!has_page(s, arriving->pages, region))
			continue;
		pin->is_known = true;
		a = uvmpi_queue_with(s, UVMP_ACTION_ALLOCATE,
				     has_page(s, arriving->faulted, region) ? (enum uvmp_cause)arriving->cause
									     : UVMP_CAUSE_PREFETCH,
				     block);
		set_region(&a->pages, region);
		a->to = (uint8_t)gpu;
		a->offset = chunk_offset(pin->chunk);
		a->detail = region_bytes(s, region);
	}
}

/* uvmpi_chunks_back for a block of 2 MiB, which has one chunk. */
static enum backing back_whole(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			       const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	const struct uvmp_region all = {0, block_at(s, block)->pages};
	enum backing backing = BACKING_DONE;

	if (!p->has_memory && !uvmpi_mask_is_empty(arriving->pages))
		backing = back_chunk(s, gpu, block, p, all, size);
	if (backing == BACKING_DONE)
		announce(s, gpu, block, arriving);
	return backing;
}

enum backing uvmpi_chunks_back(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
				const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	const struct block *b = block_at(s, block);
	enum backing backing;
	struct uvmp_region region;
	uvmp_mask none;

	if (block_is_whole(s, b))
		return back_whole(s, gpu, block, p, arriving, size);
	if (!p->has_memory) {
		p->memory = uvmpi_arena_take(s, SLAB_CHUNK_MAP);
		if (p->memory == 0)
			return BACKING_FAILED;
		p->has_memory = true;
	}
	for (region = next_missing(s, b, p, arriving->pages, 0); region.end != 0;
	     region = next_missing(s, b, p, arriving->pages, region.end)) {
		backing = back_chunk(s, gpu, block, p, region, size);
		if (backing != BACKING_DONE) { /* a record without a chunk is no memory */
			uvmpi_mask_zero(&none);
			uvmpi_chunks_forget(s, b, p, &none);
			return backing;
		}
	}
	announce(s, gpu, block, arriving);
	return BACKING_DONE;
}

void uvmpi_chunks_unback(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			 const uvmp_mask *pages)
{
	const struct block *b = block_at(s, block);
	struct uvmp_region region;
	uvmp_mask chunk;

	for (region = next_chunk(s, b, p, pages, 0); region.end != 0;
	     region = next_chunk(s, b, p, pages, region.end)) {
		if (uvmpi_mask_region_any(&p->resident, region))
			continue;
		uvmpi_pmm_free(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first));
		forget_pin(s, gpu, block, region.first);
		uvmpi_mask_zero(&chunk);
		uvmpi_mask_region_set(&chunk, region);
		uvmpi_chunks_forget(s, b, p, &chunk);
	}
}

/* -- marks, touches -- */

/* Marks the chunks of these pages. */
static void mark_chunks(struct uvmp_service *s, uint32_t gpu, const struct block *b,
			const struct residency *p, const uvmp_mask *pages, enum uvmp_chunk_mark mark)
{
	struct uvmp_region region;

	for (region = next_chunk(s, b, p, pages, 0); region.end != 0; region = next_chunk(s, b, p, pages, region.end))
		uvmpi_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, region.first), mark);
}

void uvmpi_chunks_mark(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       enum uvmp_chunk_mark mark)
{
	uvmp_mask all;

	uvmpi_mask_fill(&all);
	mark_chunks(s, gpu, b, p, &all, mark);
}

void uvmpi_chunks_used(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       const uvmp_mask *pages)
{
	if (block_is_whole(s, b)) /* even if no page moved [driver: root-queues] */
		uvmpi_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, 0), UVMP_MARK_USED);
	else
		mark_chunks(s, gpu, b, p, pages, UVMP_MARK_USED);
}

void uvmpi_chunks_left(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       const uvmp_mask *pages)
{
	if (!uvmpi_mask_is_subset(&p->resident, pages))
		return;
	if (block_is_whole(s, b))
		uvmpi_pmm_mark(s->gpu[gpu].pmm, chunk_at(s, b, p, 0), UVMP_MARK_UNUSED);
	else
		uvmpi_chunks_mark(s, gpu, b, p, UVMP_MARK_UNUSED);
}

void uvmpi_chunks_touch(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
			uint32_t page)
{
	uvmpi_pmm_touch(s->gpu[gpu].pmm, chunk_at(s, b, p, chunk_pages(s, b, page).first));
}

void uvmpi_chunks_free(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p)
{
	const struct block *b = block_at(s, block);
	struct uvmp_region region;
	struct uvmp_action *a;
	uvmp_mask all, pages;

	uvmpi_mask_fill(&all);
	for (region = next_chunk(s, b, p, &all, 0); region.end != 0; region = next_chunk(s, b, p, &all, region.end)) {
		struct uvmp_chunk chunk = chunk_at(s, b, p, region.first);

		uvmpi_pmm_free(s->gpu[gpu].pmm, chunk);
		forget_pin(s, gpu, block, region.first);
		uvmpi_mask_zero(&pages);
		uvmpi_mask_region_set(&pages, region);
		a = uvmpi_queue(s, UVMP_ACTION_FREE, UVMP_CAUSE_FREE, block, &pages);
		a->from = (uint8_t)gpu;
		a->offset = chunk_offset(chunk);
		a->detail = region_bytes(s, region);
	}
	uvmpi_chunks_forget(s, b, p, &all);
}

void uvmpi_chunks_cuts(const struct uvmp_service *s, const struct block *b, const struct residency *p,
		       uvmp_mask *cuts)
{
	struct uvmp_region region;
	uint64_t behind = UINT64_MAX; /* where the chunk before ends in the GPU's memory */
	uvmp_mask all;

	uvmpi_mask_fill(&all);
	for (region = next_chunk(s, b, p, &all, 0); region.end != 0; region = next_chunk(s, b, p, &all, region.end)) {
		uint64_t offset = chunk_offset(chunk_at(s, b, p, region.first));

		if (offset != behind)
			uvmp_mask_set(cuts, region.first);
		behind = offset + (uint64_t)uvmp_region_pages(region) * s->page_bytes;
	}
}

/* -- the next victim -- */

/* UVMP_ROOT_NONE, of the last list: nothing may be evicted. */
struct root_victim uvmpi_chunks_victim(const struct uvmp_pmm *pmm)
{
	static const uint8_t list[VICTIM_LISTS][2] = {{UVMP_PMM_FREE_NONZERO, UVMP_VICTIM_FREE},
						      {UVMP_PMM_FREE_ZERO, UVMP_VICTIM_FREE},
						      {UVMP_PMM_UNUSED, UVMP_VICTIM_UNUSED},
						      {UVMP_PMM_DISCARDED, UVMP_VICTIM_DISCARDED},
						      {UVMP_PMM_USED, UVMP_VICTIM_USED}};
	struct root_victim victim = {UVMP_ROOT_NONE, UVMP_VICTIM_FREE};

	for (uint32_t i = 0; i < VICTIM_LISTS && victim.root == UVMP_ROOT_NONE; i++) {
		victim.root = pmm->list[list[i][0]].head;
		victim.list = (enum uvmp_victim)list[i][1];
	}
	return victim;
}

bool uvmpi_chunks_are_full(const struct gpu *g)
{
	struct uvmp_pmm_counts counts;

	uvmpi_pmm_count(g->pmm, &counts);
	return counts.in_pool == 0 && uvmpi_chunks_victim(g->pmm).list != UVMP_VICTIM_FREE;
}

/* -- consistency -- */

/* Does the block own the chunk? The memory manager is sound. */
static bool owns(const struct uvmp_service *s, uint32_t gpu, handle h, struct uvmp_chunk chunk)
{
	const struct uvmp_pmm *pmm = s->gpu[gpu].pmm;
	const struct pmm_split *split;
	const struct pmm_root *r;

	if (chunk.root >= pmm->params.roots || chunk.page >= PMM_PAGES)
		return false;
	r = &pmm->root[chunk.root];
	if (chunk.size == UVMP_CHUNK_2M)
		return (r->state == PMM_ALLOCATED || r->state == PMM_PINNED) && r->body == h;
	if (r->state != PMM_SPLIT)
		return false;
	split = &pmm->split[r->body];
	return pmm_leaf_size(split, chunk.page) == chunk.size &&
	       uvmp_mask_test(&split->live, chunk.page) && split->slot[chunk.page].next == h;
}

/* The chunks of a block below 2 MiB. */
static bool check_map(const struct uvmp_service *s, handle h, const struct residency *p, uint64_t *owned)
{
	const struct chunk_map *chunks = chunk_map_at(s, p->memory);
	const struct block *b = block_at(s, h);
	uint32_t page;

	for (page = uvmpi_mask_next_set(&chunks->backed, 0); page < b->pages;
	     page = uvmpi_mask_next_set(&chunks->backed, page)) {
		struct uvmp_region region = chunk_pages(s, b, page);
		struct uvmp_chunk chunk = chunks->chunk[region.first];
		uint32_t pages = uvmp_region_pages(region) * (s->page_bytes / 4096u);

		if (region.first != page || !uvmpi_mask_region_all(&chunks->backed, region) ||
		    chunk.size > UVMP_CHUNK_64K || pmm_chunk_pages(s->gpu[p->proc].pmm, chunk.size) != pages ||
		    !owns(s, p->proc, h, chunk))
			return false;
		*owned += pages;
		page = region.end;
	}
	return page == UVMP_MASK_BITS && uvmpi_mask_is_subset(&p->resident, &chunks->backed);
}

bool uvmpi_chunks_check(const struct uvmp_service *s, handle block, const struct residency *p, uint64_t *pages)
{
	if (!block_is_whole(s, block_at(s, block)))
		return check_map(s, block, p, pages);
	*pages += PMM_PAGES;
	return owns(s, p->proc, block, (struct uvmp_chunk){p->memory, 0, UVMP_CHUNK_2M});
}

uint64_t uvmpi_chunks_owned(const struct uvmp_service *s, uint32_t gpu)
{
	uint64_t pages = s->gpu[gpu].pmm->allocated_pages;

	for (uint32_t i = 0; i < PARKED_MAX; i++) {
		if (s->parked[i].is_set && s->parked[i].gpu == gpu)
			pages -= pmm_chunk_pages(s->gpu[gpu].pmm, s->parked[i].chunk.size);
	}
	return pages;
}
