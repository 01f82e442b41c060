/* Eviction of root chunks [driver: victim-choice]: choose a victim, empty it block by block, pass it to the
 * new owner.
 *
 * A root in eviction is on no list, and none of its chunks is free, so no chunk of it can be allocated;
 * evicted chunks are pinned without an owner. When all chunks are evicted, the root is merged in one step. */
#include "pmm_internal.h"

/* Errors that all steps share. `status` of the call if the root is in eviction. */
static inline enum uvmp_status check_root(const struct uvmp_pmm *pmm, uint32_t root)
{
	if (!pmm_is_made(pmm))
		return UVMP_ERR_ARGUMENT;
	if (root >= pmm->params.roots)
		return UVMP_ERR_RANGE;
	return pmm->root[root].is_evicting ? UVMP_OK : UVMP_ERR_STATE;
}

/* The same, if the root is also empty. */
static inline enum uvmp_status check_drained(const struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_root(pmm, root);

	if (status != UVMP_OK)
		return status;
	return pmm_is_drained(pmm, root) ? UVMP_OK : UVMP_ERR_STATE;
}

/* -- begin -- */

/* The list whose head leaves first: free user roots, non-zero before zero, then the queues in their order.
 * PMM_LIST_NONE: all are empty. */
static inline uint32_t pick(const struct uvmp_pmm *pmm)
{
	static const uint8_t order[PMM_VICTIM_LISTS] = {UVMP_PMM_FREE_NONZERO, UVMP_PMM_FREE_ZERO,
	                                                     UVMP_PMM_UNUSED, UVMP_PMM_DISCARDED,
	                                                     UVMP_PMM_USED};

	_Pragma("GCC unroll 5") for (uint32_t i = 0; i < PMM_VICTIM_LISTS; i++)
	{
		if (pmm->list[order[i]].head != PMM_NONE)
			return order[i];
	}
	return PMM_LIST_NONE;
}

enum uvmp_status uvmp_pmm_evict_begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, uint32_t *root)
{
	uint32_t list;

	if (!pmm_is_made(pmm) || root == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL)
		return UVMP_ERR_RANGE;
	list = pick(pmm);
	if (list != PMM_LIST_NONE) {
		*root = pmm_root_pop(pmm, list);
		pmm_evict_start(pmm, *root);
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
	pmm_root_unlist(pmm, root);
	pmm_evict_start(pmm, root);
	return UVMP_OK;
}

/* -- empty -- */

enum uvmp_status uvmp_pmm_evict_peek(const struct uvmp_pmm *pmm, uint32_t root, uint32_t *block, bool *found)
{
	enum uvmp_status status = check_root(pmm, root);

	if (block == NULL || found == NULL)
		return UVMP_ERR_ARGUMENT;
	if (status == UVMP_OK)
		*found = uvmpi_pmm_evict_peek(pmm, root, block);
	return status;
}

enum uvmp_status uvmp_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root, struct uvmp_pmm_eviction *eviction,
                                     bool *found)
{
	enum uvmp_status status;

	if (eviction == NULL)
		return UVMP_ERR_ARGUMENT;
	status = found != NULL ? check_root(pmm, root) : UVMP_ERR_ARGUMENT;
	if (status != UVMP_OK)
		return status;
	return uvmpi_pmm_evict_next(pmm, root, eviction, found);
}

/* -- end -- */

enum uvmp_status uvmp_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
                                    enum uvmp_chunk_size size, uint32_t block, struct uvmp_chunk *chunk)
{
	enum uvmp_status status;

	if (chunk == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL || (uint32_t)size > UVMP_CHUNK_2M)
		return UVMP_ERR_RANGE;
	status = check_drained(pmm, root);
	if (status != UVMP_OK)
		return status;
	return uvmpi_pmm_evict_end(pmm, root, (uint32_t)type, (uint32_t)size, block, chunk);
}

void uvmpi_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root)
{
	UVMPI_ASSERT(check_drained(pmm, root) == UVMP_OK);
	uvmpi_pmm_evict_finish(pmm, root);
	pmm->pinned--;
	uvmpi_pmm_pool_put(pmm, root);
}

enum uvmp_status uvmp_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_drained(pmm, root);

	if (status == UVMP_OK)
		uvmpi_pmm_evict_release(pmm, root);
	return status;
}

void uvmpi_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->is_evicting);
	r->is_evicting = 0;
	pmm->in_eviction--;
	if (r->state == PMM_PINNED)
		(void)uvmpi_pmm_release(pmm, (struct uvmp_chunk){root, 0, UVMP_CHUNK_2M});
	else if (r->state == PMM_SPLIT)
		uvmpi_pmm_release_pinned(pmm, root);
	if (r->state != PMM_FREE)
		pmm_root_move(pmm, root, UVMP_PMM_USED);
	uvmpi_pmm_give_back(pmm, UVMP_CHUNK_USER);
}

enum uvmp_status uvmp_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root)
{
	enum uvmp_status status = check_root(pmm, root);

	if (status == UVMP_OK)
		uvmpi_pmm_evict_abort(pmm, root);
	return status;
}
