/* The GPU's memory. evict=lru: chunks from uvmp_pmm, evicted a root of 2 MiB at a time, one eviction a
 * service pass. Others: a number of pages, evicted a unit (page or block) at a time until the new ones fit.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define DRAWS_MOST 8 /* random victims that may be refused in a row */

static bool is_whole(const struct sim_block *block)
{
	return block->shape.pages == UVMP_MASK_BITS;
}

/* Pages of the block go to the CPU; is_large_page: as a whole tree. */
static void leave(struct memory *m, struct sim_block *block, const uvmp_mask *pages, bool is_large_page)
{
	struct driver_result *r = m->result;
	struct uvmp_region run;
	uvmp_mask gone, unused;
	uint32_t weight;

	uvmp_mask_and(&gone, pages, &block->resident);
	weight = uvmp_mask_weight(&gone);
	for (run = uvmp_mask_next_run(&gone, 0); run.outer; run = uvmp_mask_next_run(&gone, run.outer))
		r->d2h_copies++;
	uvmp_mask_and(&unused, &gone, &block->unused);
	r->pages_prefetched_unused += uvmp_mask_weight(&unused);
	r->pages_evicted += weight;
	r->d2h_bytes = r->pages_evicted * PAGE_BYTES;
	uvmp_mask_andnot(&block->unused, &block->unused, &gone);
	uvmp_mask_andnot(&block->resident, &block->resident, &gone);
	uvmp_mask_or(&block->evicted, &block->evicted, &gone);
	m->used_pages -= weight;
	if (!block->prefetch.tree)
		return;
	for (uint32_t page = uvmp_mask_next_set(&gone, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&gone, page + 1))
		uvmp_tree_sub(block->prefetch.tree, page, 1, m->policy->quirks);
	if (is_large_page) /* all nodes become empty (uvm-smart 3.4) */
		uvmp_tree_init(block->prefetch.tree, block->prefetch.tree->blocks);
}

/* -- evict=lru -- */

static struct uvmp_region chunk_region(const struct sim_block *block, uint32_t page)
{
	return uvmp_block_chunk(&block->shape, page);
}

/* Chunks of the block in a root that is being evicted are gone. */
static void lose_chunks(struct memory *m, struct sim_block *block, uint32_t root)
{
	uvmp_mask pages;
	uint32_t page = uvmp_mask_next_set(&block->backed, 0);

	uvmp_mask_zero(&pages);
	while (page < UVMP_MASK_BITS) {
		struct uvmp_region region = chunk_region(block, page);

		if (block->chunk[region.first].root == root) {
			uvmp_mask_region_set(&pages, region);
			uvmp_mask_clear(&block->pinned, region.first);
		}
		page = uvmp_mask_next_set(&block->backed, region.outer);
	}
	uvmp_mask_andnot(&block->backed, &block->backed, &pages);
	leave(m, block, &pages, is_whole(block));
}

/* Has the block memory in the root that would leave next? */
static bool is_next_victim(const struct memory *m, const struct sim_block *block)
{
	uint32_t root = UVMP_ROOT_NONE;

	for (int list = UVMP_PMM_UNUSED; list <= UVMP_PMM_USED && root == UVMP_ROOT_NONE; list++)
		root = uvmp_pmm_first(m->pmm, (enum uvmp_pmm_list)list);
	for (uint32_t page = uvmp_mask_next_set(&block->backed, 0); page < UVMP_MASK_BITS;) {
		struct uvmp_region region = chunk_region(block, page);

		if (block->chunk[region.first].root == root)
			return true;
		page = uvmp_mask_next_set(&block->backed, region.outer);
	}
	return false;
}

static enum uvmp_status evict_root(struct memory *m, enum uvmp_chunk_size size, struct sim_block *block,
                                   struct uvmp_chunk *chunk)
{
	struct uvmp_pmm_eviction eviction;
	enum uvmp_status status;
	bool found = true;
	uint32_t root;

	status = uvmp_pmm_evict_begin(m->pmm, UVMP_CHUNK_USER, &root);
	if (status != UVMP_OK) /* nothing else is in flight here, so waiting would not help */
		return UVMP_ERR_NO_MEMORY;
	for (;;) {
		status = uvmp_pmm_evict_next(m->pmm, root, &eviction, &found);
		if (status != UVMP_OK)
			return status;
		if (!found)
			break;
		lose_chunks(m, m->space->by_id[eviction.block], root);
	}
	m->result->evictions++;
	status = uvmp_pmm_evict_end(m->pmm, root, UVMP_CHUNK_USER, size, block->id, chunk);
	if (status != UVMP_OK) /* nothing is left in it */
		uvmp_pmm_evict_release(m->pmm, root);
	return status;
}

static enum uvmp_status back_chunk(struct memory *m, struct sim_block *block, struct uvmp_region region,
                                   const struct sim_block *keep)
{
	uint32_t pages = uvmp_region_pages(region);
	enum uvmp_chunk_size size = pages == 512  ? UVMP_CHUNK_2M
	                            : pages == 16 ? UVMP_CHUNK_64K
	                                          : UVMP_CHUNK_4K;
	struct uvmp_chunk chunk;
	enum uvmp_status status;
	bool evicted = false;

	if (!block->chunk)
		block->chunk = calloc(is_whole(block) ? 1 : block->shape.pages, sizeof(*block->chunk));
	if (!block->chunk)
		return UVMP_ERR_NO_MEMORY;
	status = uvmp_pmm_alloc(m->pmm, UVMP_CHUNK_USER, size, block->id, &chunk);
	if (status == UVMP_ERR_NO_MEMORY && !(keep && is_next_victim(m, keep))) {
		status = evict_root(m, size, block, &chunk);
		evicted = true;
	}
	if (status != UVMP_OK)
		return status;
	block->chunk[region.first] = chunk;
	uvmp_mask_region_set(&block->backed, region);
	uvmp_mask_set(&block->pinned, region.first);
	return evicted ? UVMP_ERR_RETRY : UVMP_OK;
}

static enum uvmp_status back_chunks(struct memory *m, struct sim_block *block, const uvmp_mask *pages,
                                    const struct sim_block *keep)
{
	uvmp_mask missing;
	uint32_t page;

	uvmp_mask_andnot(&missing, pages, &block->backed);
	for (page = uvmp_mask_next_set(&missing, 0); page < UVMP_MASK_BITS;) {
		struct uvmp_region region = chunk_region(block, page);
		enum uvmp_status status = back_chunk(m, block, region, keep);

		if (status != UVMP_OK)
			return status;
		page = uvmp_mask_next_set(&missing, region.outer);
	}
	return UVMP_OK;
}

static void settle_chunks(struct memory *m, struct sim_block *block, bool is_served)
{
	struct uvmp_region region;

	for (uint32_t page = uvmp_mask_next_set(&block->pinned, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&block->pinned, page + 1)) {
		region = chunk_region(block, page);
		if (uvmp_mask_region_any(&block->resident, region)) {
			uvmp_pmm_unpin(m->pmm, block->chunk[page]);
		} else { /* allocated in a pass that was repeated, and not needed in the end */
			uvmp_pmm_free(m->pmm, block->chunk[page]);
			uvmp_mask_region_clear(&block->backed, region);
		}
	}
	uvmp_mask_zero(&block->pinned);
	/* For a chunk that was unpinned just now this changes nothing; chunks below 2 MiB ignore it with
	 * quirks (Q12). */
	for (uint32_t page = uvmp_mask_next_set(&block->backed, 0); is_served && page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&block->backed, region.outer)) {
		region = chunk_region(block, page);
		uvmp_pmm_mark(m->pmm, block->chunk[region.first], UVMP_MARK_USED);
	}
}

/* -- memory in pages -- */

static uint32_t unit_of(const struct memory *m, const struct sim_block *block, uint32_t page)
{
	return m->unit_pages == 1u ? block->id * UVMP_MASK_BITS + page : block->id;
}

static struct sim_block *block_of(const struct memory *m, uint32_t unit)
{
	return m->space->by_id[m->unit_pages == 1u ? unit / UVMP_MASK_BITS : unit];
}

/* A random draw may hit pages of the block that asked, which would send away what has just come. */
static enum uvmp_status choose_victim(struct memory *m, const struct sim_block *keep, uint32_t *unit)
{
	enum uvmp_status status = UVMP_ERR_NO_MEMORY;

	for (int draw = 0; draw < DRAWS_MOST; draw++) {
		status = uvmp_evict_victim(&m->order, m->random, unit);
		if (status != UVMP_OK || m->policy->evict != UVMP_EVICT_RANDOM_4K ||
		    block_of(m, *unit) != keep)
			return status;
	}
	return UVMP_ERR_NO_MEMORY;
}

static enum uvmp_status evict_unit(struct memory *m, const struct sim_block *keep)
{
	struct sim_block *block;
	enum uvmp_status status;
	uvmp_mask pages;
	uint32_t unit;

	status = choose_victim(m, keep, &unit);
	if (status != UVMP_OK)
		return status;
	uvmp_evict_remove(&m->order, unit);
	block = block_of(m, unit);
	uvmp_mask_zero(&pages);
	if (m->unit_pages == 1u)
		uvmp_mask_set(&pages, unit % UVMP_MASK_BITS);
	else
		uvmp_mask_copy(&pages, &block->resident);
	leave(m, block, &pages, m->unit_pages != 1u);
	m->result->evictions++;
	return UVMP_OK;
}

static enum uvmp_status back_pages(struct memory *m, struct sim_block *block, const uvmp_mask *pages,
                                   const struct sim_block *keep)
{
	uint64_t need = uvmp_mask_weight(pages);
	enum uvmp_status status = UVMP_OK;

	if (m->unit_pages != 1u) /* a block does not make room for itself */
		uvmp_evict_remove(&m->order, block->id);
	while (status == UVMP_OK && m->used_pages + need > m->capacity_pages)
		status = evict_unit(m, keep);
	return status;
}

/* -- both -- */

static bool open_chunks(struct memory *m, uint64_t roots, char error[SOURCE_ERROR_MAX])
{
	struct uvmp_pmm_params params = {
	        .roots = (uint32_t)roots,
	        .splits = (uint32_t)(roots < UVMP_SPLITS_MAX ? roots : UVMP_SPLITS_MAX),
	        .batch_order = m->policy->pma_order,
	        .is_zeroed = true,
	        .quirks = m->policy->quirks};
	size_t bytes = roots > UVMP_ROOTS_MAX ? 0 : uvmp_pmm_size(&params);

	m->pmm_memory = bytes ? malloc(bytes) : NULL;
	if (!m->pmm_memory || uvmp_pmm_init(&params, m->pmm_memory, bytes, &m->pmm) != UVMP_OK) {
		snprintf(error, SOURCE_ERROR_MAX, "a GPU memory of %llu roots of 2 MiB cannot be managed",
		         (unsigned long long)roots);
		return false;
	}
	return true;
}

/* Room for the units of `blocks` blocks; what is in the order now keeps its order. */
static bool open_order(struct memory *m, uint32_t blocks)
{
	uint64_t units = (uint64_t)blocks * (UVMP_MASK_BITS / m->unit_pages);
	struct uvmp_evict fresh;
	size_t bytes;
	void *memory;

	if (units == 0)
		units = 1;
	if (units > UVMP_UNITS_MAX)
		return false;
	bytes = uvmp_evict_size(m->policy->evict, (uint32_t)units);
	memory = malloc(bytes);
	if (!memory || uvmp_evict_init(&fresh, m->policy->evict, (uint32_t)units, memory, bytes) != UVMP_OK) {
		free(memory);
		return false;
	}
	if (m->order_memory && m->policy->evict == UVMP_EVICT_RANDOM_4K) {
		for (uint32_t i = 0; i < m->order.count; i++)
			uvmp_evict_touch(&fresh, m->order.dense[i]);
	} else if (m->order_memory) {
		for (uint32_t unit = m->order.list.head; unit != UVMP_UNIT_NONE;
		     unit = uvmp_recency_next(&m->order.list, unit))
			uvmp_evict_touch(&fresh, unit);
	}
	free(m->order_memory);
	m->order_memory = memory;
	m->order = fresh;
	m->blocks = blocks;
	return true;
}

bool memory_open(struct memory *m, const struct uvmp_policy *policy, struct driver_memory size,
                 struct space *space, uint64_t *random, struct driver_result *result,
                 char error[SOURCE_ERROR_MAX])
{
	uint64_t roots;

	*m = (struct memory){.policy = policy, .space = space, .random = random, .result = result};
	result->footprint_bytes = space->footprint_bytes;
	if (size.bytes == 0) /* whole roots, rounded up: at 100 % everything fits */
		size.bytes = (space->footprint_bytes * 100u / size.oversub_percent + ROOT_BYTES - 1) /
		             ROOT_BYTES * ROOT_BYTES;
	roots = size.bytes / ROOT_BYTES;
	result->memory_bytes = roots * ROOT_BYTES;
	if (space->blocks == 0) {
		snprintf(error, SOURCE_ERROR_MAX, "there is no range: nothing to run");
		return false;
	}
	if (roots == 0) {
		snprintf(error, SOURCE_ERROR_MAX, "memory of %llu bytes is smaller than one VABlock (2 MiB)",
		         (unsigned long long)size.bytes);
		return false;
	}
	if (policy->evict == UVMP_EVICT_LRU)
		return open_chunks(m, roots, error);
	m->unit_pages = uvmp_evict_unit_pages(policy->evict);
	m->capacity_pages = roots * UVMP_MASK_BITS;
	if (!open_order(m, space->blocks)) {
		snprintf(error, SOURCE_ERROR_MAX, "the ranges hold too many pages for this eviction order");
		return false;
	}
	return true;
}

void memory_close(struct memory *m)
{
	free(m->pmm_memory);
	free(m->order_memory);
}

bool memory_grow(struct memory *m, uint32_t blocks)
{
	m->result->footprint_bytes = m->space->footprint_bytes;
	if (m->pmm || blocks <= m->blocks)
		return true;
	return (blocks < 2u * m->blocks && open_order(m, 2u * m->blocks)) || open_order(m, blocks);
}

enum uvmp_status memory_back(struct memory *m, struct sim_block *block, const uvmp_mask *pages,
                             const struct sim_block *keep)
{
	return m->pmm ? back_chunks(m, block, pages, keep) : back_pages(m, block, pages, keep);
}

void memory_fill(struct memory *m, struct sim_block *block, const uvmp_mask *pages)
{
	uvmp_mask_or(&block->resident, &block->resident, pages);
	m->used_pages += uvmp_mask_weight(pages);
	if (m->pmm || m->unit_pages != 1u)
		return;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(pages, page + 1))
		uvmp_evict_touch(&m->order, unit_of(m, block, page));
}

void memory_settle(struct memory *m, struct sim_block *block, bool is_served)
{
	if (m->pmm)
		settle_chunks(m, block, is_served);
	else if (m->unit_pages != 1u && !uvmp_mask_is_empty(&block->resident) &&
	         (is_served || !uvmp_recency_contains(&m->order.list, block->id)))
		uvmp_evict_touch(&m->order, block->id); /* back_pages may have taken it out */
}

void memory_touch(struct memory *m, struct sim_block *block, uint32_t page)
{
	uvmp_mask_clear(&block->unused, page);
	if (!m->pmm)
		uvmp_evict_touch(&m->order, unit_of(m, block, page));
	else if (!m->policy->quirks)
		uvmp_pmm_touch(m->pmm, block->chunk[chunk_region(block, page).first]);
}
