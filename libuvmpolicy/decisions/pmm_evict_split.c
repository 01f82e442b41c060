/* Eviction of root chunks that are split: the steps of pmm_evict.c that look at sub-chunks. */
#include "pmm_internal.h"

void uvmpi_pmm_pin_free(struct uvmp_pmm *pmm, uint32_t root)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];

	for (uint32_t page = 0; page < PMM_PAGES;
	     page += pmm_chunk_pages(pmm, pmm_leaf_size(split, page))) {
		if (!uvmp_mask_test(&split->live, page))
			uvmpi_pmm_take_leaf(pmm, root, page);
	}
}

/* First allocated sub-chunk of a split root that is not pinned. */
static uint32_t first_owned(const struct pmm_split *split)
{
	uvmp_mask owned;

	uvmpi_mask_andnot(&owned, &split->live, &split->pinned);
	return uvmpi_mask_next_set(&owned, 0);
}

uint32_t uvmpi_pmm_owner(const struct uvmp_pmm *pmm, uint32_t root)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];

	return split->slot[first_owned(split)].next;
}

enum uvmp_status uvmpi_pmm_evict_owner(struct uvmp_pmm *pmm, uint32_t root, struct uvmp_pmm_eviction *eviction,
				       bool *found)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];
	uint32_t first = first_owned(split), page, end;

	*found = first < PMM_PAGES;
	if (!*found)
		return UVMP_OK;
	eviction->block = split->slot[first].next;
	uvmpi_mask_zero(&eviction->pages);
	for (page = first; page < PMM_PAGES; page = end) {
		end = page + pmm_chunk_pages(pmm, pmm_leaf_size(split, page));
		if (uvmp_mask_test(&split->pinned, page) || split->slot[page].next != eviction->block)
			continue;
		uvmpi_pmm_pin_leaf(pmm, root, page);
		uvmpi_mask_region_set(&eviction->pages, (struct uvmp_region){page, end});
	}
	pmm->allocated_pages -= uvmpi_mask_weight(&eviction->pages);
	return UVMP_OK;
}

void uvmpi_pmm_evict_finish(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	if (r->state == PMM_SPLIT)
		uvmpi_pmm_merge_pinned(pmm, root);
	r->is_evicting = 0;
	pmm->in_eviction--;
}

enum uvmp_status uvmpi_pmm_evict_end_split(struct uvmp_pmm *pmm, uint32_t root, uint32_t type, uint32_t size,
					   uint32_t block, struct uvmp_chunk *chunk)
{
	struct pmm_root *r = &pmm->root[root];

	/* A root that is split now gives its own record back first. */
	if (size != UVMP_CHUNK_2M && r->state != PMM_SPLIT && !uvmpi_pmm_can_split(pmm))
		return UVMP_ERR_SPACE;
	uvmpi_pmm_evict_finish(pmm, root);
	r->type = (uint8_t)type;
	if (size == UVMP_CHUNK_2M) {
		pmm_give_root(pmm, root, block, chunk);
		return UVMP_OK;
	}
	*chunk = (struct uvmp_chunk){root, 0, UVMP_CHUNK_2M};
	uvmpi_pmm_give(pmm, chunk, size, false, block);
	return UVMP_OK;
}

void uvmpi_pmm_release_pinned(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_split *split = &pmm->split[pmm->root[root].body];
	uvmp_mask pinned = split->pinned;
	struct uvmp_chunk chunk = {root, 0, 0};

	uvmpi_mask_zero(&split->marked);
	uvmpi_mask_zero(&split->discarded);
	for (uint32_t page = uvmpi_mask_next_set(&pinned, 0); page < PMM_PAGES;
	     page = uvmpi_mask_next_set(&pinned, page + 1u)) {
		chunk.page = (uint16_t)page;
		chunk.size = (uint8_t)pmm_leaf_size(split, page);
		(void)uvmpi_pmm_release(pmm, chunk);
	}
}
