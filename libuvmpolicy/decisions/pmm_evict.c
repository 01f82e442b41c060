/* Eviction of root chunks [driver: victim-choice]: choose a victim, empty it block by block, pass it to the
 * new owner.
 *
 * A root in eviction is on no list, and none of its chunks is free, so no chunk of it can be allocated;
 * evicted chunks are pinned without an owner. When all chunks are evicted, the root is merged in one step. */
#include "pmm_internal.h"

/* Errors that all steps share. `status` of the call if the root is in eviction. */
static enum uvmp_status check_root(const struct uvmp_pmm *pmm, uint32_t root)
{
	if (!uvmp_pmm_is_valid(pmm))
		return UVMP_ERR_ARGUMENT;
	if (root >= pmm->params.roots)
		return UVMP_ERR_RANGE;
	return pmm->root[root].is_evicting ? UVMP_OK : UVMP_ERR_STATE;
}

/* Are all chunks of the root evicted? */
static bool is_drained(const struct uvmp_pmm *pmm, uint32_t root)
{
	const struct pmm_root *r = &pmm->root[root];

	if (r->state != PMM_SPLIT)
		return r->state == PMM_PINNED;
	return uvmp_mask_equal(&pmm->split[r->body].live, &pmm->split[r->body].pinned);
}

/* -- begin -- */

static void pin_free_leaves(struct uvmp_pmm *pmm, uint32_t root)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];

	for (uint32_t page = 0; page < PMM_PAGES;
	     page += pmm_chunk_pages(pmm_leaf_size(split, page))) {
		if (!uvmp_mask_test(&split->live, page))
			uvmpi_pmm_take_leaf(pmm, root, page);
	}
}

static void start(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	uvmpi_pmm_root_unlist(pmm, root);
	r->is_evicting = 1;
	pmm->in_eviction++;
	if (r->state == PMM_FREE)
		uvmpi_pmm_pin_root(pmm, root);
	else if (r->state == PMM_SPLIT)
		pin_free_leaves(pmm, root);
}

/* Free user roots, non-zero before zero, then the queues in their order. */
static uint32_t pick(const struct uvmp_pmm *pmm)
{
	static const uint8_t order[PMM_VICTIM_LISTS] = {UVMP_PMM_FREE_NONZERO, UVMP_PMM_FREE_ZERO,
	                                                     UVMP_PMM_UNUSED, UVMP_PMM_DISCARDED,
	                                                     UVMP_PMM_USED};

	for (uint32_t i = 0; i < PMM_VICTIM_LISTS; i++) {
		if (pmm->list[order[i]].count != 0)
			return pmm->list[order[i]].head;
	}
	return PMM_NONE;
}

enum uvmp_status uvmp_pmm_evict_begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, uint32_t *root)
{
	uint32_t victim;

	if (!uvmp_pmm_is_valid(pmm) || root == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL)
		return UVMP_ERR_RANGE;
	victim = pick(pmm);
	if (victim != PMM_NONE) {
		start(pmm, victim);
		*root = victim;
		return UVMP_OK;
	}
	/* Pinned pieces of split roots do not count: if only they are in the way, the answer is no
	 * [driver: victim-choice]. */
	if (type == UVMP_CHUNK_USER && (pmm->pinned != 0 || pmm->in_eviction != 0))
		return UVMP_ERR_RETRY;
	return UVMP_ERR_NO_MEMORY;
}

enum uvmp_status uvmp_pmm_evict_root(struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_root(pmm, root);
	const struct pmm_root *r;

	if (status == UVMP_OK)
		return UVMP_ERR_RETRY;
	if (status != UVMP_ERR_STATE)
		return status;
	r = &pmm->root[root];
	if (r->state == PMM_POOL || r->type != UVMP_CHUNK_USER)
		return UVMP_ERR_STATE;
	if (pmm_root_is_pinned(r))
		return UVMP_ERR_RETRY;
	start(pmm, root);
	return UVMP_OK;
}

/* -- empty -- */

/* All allocated pieces of the owner of the one at `first`, in address order. */
static void evict_block(struct uvmp_pmm *pmm, uint32_t root, uint32_t first,
                        struct uvmp_pmm_eviction *eviction)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];
	uint32_t page, end;

	eviction->block = split->slot[first].next;
	uvmp_mask_zero(&eviction->pages);
	for (page = first; page < PMM_PAGES; page = end) {
		end = page + pmm_chunk_pages(pmm_leaf_size(split, page));
		if (uvmp_mask_test(&split->pinned, page) || split->slot[page].next != eviction->block)
			continue;
		uvmpi_pmm_pin_leaf(pmm, root, page);
		uvmp_mask_region_set(&eviction->pages, (struct uvmp_region){page, end});
	}
}

/* First allocated sub-chunk of a split root that is not pinned. */
static uint32_t first_owned(const struct pmm_split *split)
{
	uvmp_mask owned;

	uvmp_mask_andnot(&owned, &split->live, &split->pinned);
	return uvmp_mask_next_set(&owned, 0);
}

enum uvmp_status uvmp_pmm_evict_peek(const struct uvmp_pmm *pmm, uint32_t root, uint32_t *block, bool *found)
{
	enum uvmp_status status = check_root(pmm, root);
	const struct pmm_split *split;

	if (block == NULL || found == NULL)
		return UVMP_ERR_ARGUMENT;
	if (status != UVMP_OK)
		return status;
	*found = !is_drained(pmm, root);
	if (!*found)
		return UVMP_OK;
	*block = pmm->root[root].body;
	if (pmm->root[root].state == PMM_SPLIT) {
		split = &pmm->split[*block];
		*block = split->slot[first_owned(split)].next;
	}
	return UVMP_OK;
}

enum uvmp_status uvmp_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root, struct uvmp_pmm_eviction *eviction,
                                     bool *found)
{
	enum uvmp_status status = check_root(pmm, root);
	struct pmm_root *r;

	if (eviction == NULL || found == NULL)
		return UVMP_ERR_ARGUMENT;
	if (status != UVMP_OK)
		return status;
	*found = !is_drained(pmm, root);
	if (!*found)
		return UVMP_OK;
	r = &pmm->root[root];
	if (r->state == PMM_ALLOCATED) {
		eviction->block = r->body;
		uvmp_mask_zero(&eviction->pages);
		uvmp_mask_region_set(&eviction->pages, (struct uvmp_region){0, PMM_PAGES});
		uvmpi_pmm_pin_root(pmm, root);
	} else {
		evict_block(pmm, root, first_owned(&pmm->split[r->body]), eviction);
	}
	pmm->allocated_pages -= uvmp_mask_weight(&eviction->pages);
	return UVMP_OK;
}

/* -- end -- */

/* The eviction is over and the root one pinned chunk. */
static void finish(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	if (r->state == PMM_SPLIT)
		uvmpi_pmm_merge_pinned(pmm, root);
	r->is_evicting = 0;
	pmm->in_eviction--;
}

enum uvmp_status uvmp_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
                                    enum uvmp_chunk_size size, uint32_t block, struct uvmp_chunk *chunk)
{
	enum uvmp_status status = check_root(pmm, root);

	if (chunk == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL || (uint32_t)size > UVMP_CHUNK_2M)
		return UVMP_ERR_RANGE;
	if (status != UVMP_OK)
		return status;
	if (!is_drained(pmm, root))
		return UVMP_ERR_STATE;
	/* A root that is split now gives its own record back first. */
	if (size != UVMP_CHUNK_2M && pmm->root[root].state != PMM_SPLIT && !uvmpi_pmm_can_split(pmm))
		return UVMP_ERR_SPACE;
	finish(pmm, root);
	pmm->root[root].type = (uint8_t)type;
	*chunk = (struct uvmp_chunk){root, 0, UVMP_CHUNK_2M};
	uvmpi_pmm_split_down(pmm, chunk, (uint32_t)size, false);
	uvmpi_pmm_own(pmm, *chunk, block);
	return UVMP_OK;
}

enum uvmp_status uvmp_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_root(pmm, root);

	if (status != UVMP_OK)
		return status;
	if (!is_drained(pmm, root))
		return UVMP_ERR_STATE;
	finish(pmm, root);
	pmm->pinned--;
	uvmpi_pmm_pool_put(pmm, root);
	return UVMP_OK;
}

/* Frees the pinned pieces of a split root in address order. The last one may take the root with it. */
static void release_pinned(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_split *split = &pmm->split[pmm->root[root].body];
	uvmp_mask pinned = split->pinned;
	struct uvmp_chunk chunk = {root, 0, 0};

	uvmp_mask_zero(&split->marked);
	uvmp_mask_zero(&split->discarded);
	for (uint32_t page = uvmp_mask_next_set(&pinned, 0); page < PMM_PAGES;
	     page = uvmp_mask_next_set(&pinned, page + 1u)) {
		chunk.page = (uint16_t)page;
		chunk.size = (uint8_t)pmm_leaf_size(split, page);
		(void)uvmpi_pmm_release(pmm, chunk);
	}
}

enum uvmp_status uvmp_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_root(pmm, root);
	struct pmm_root *r;

	if (status != UVMP_OK)
		return status;
	r = &pmm->root[root];
	r->is_evicting = 0;
	pmm->in_eviction--;
	if (r->state == PMM_PINNED)
		(void)uvmpi_pmm_release(pmm, (struct uvmp_chunk){root, 0, UVMP_CHUNK_2M});
	else if (r->state == PMM_SPLIT)
		release_pinned(pmm, root);
	if (r->state != PMM_FREE)
		uvmpi_pmm_root_move(pmm, root, UVMP_PMM_USED);
	uvmpi_pmm_give_back(pmm, UVMP_CHUNK_USER);
	return UVMP_OK;
}
