/* Functions that several prefetchers use: the hint, absent pages, and the driver's limits on prefetching. */
#include "prefetch_internal.h"

void uvmpi_prefetch_hint_set(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages)
{
	uvmp_mask_zero(&hint->subtrees);
	uvmpi_prefetch_hint_set_pages(hint, to, pages);
}

void uvmpi_prefetch_hint_set_pages(struct uvmp_prefetch_hint *hint, uint32_t to, const uvmp_mask *pages)
{
	hint->pages = *pages;
	hint->to = uvmp_mask_is_empty(pages) ? UVMP_PROC_NONE : to;
	hint->follow = UVMP_PAGE_NONE;
	hint->basic_blocks = 0;
}

void uvmpi_prefetch_absent(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	struct uvmp_region all = {0, facts->block.pages};
	uvmp_mask absent;

	uvmp_mask_zero(&absent);
	uvmp_mask_region_set(&absent, all);
	uvmp_mask_andnot(&absent, &absent, facts->faulted);
	if (facts->resident != NULL)
		uvmp_mask_andnot(&absent, &absent, facts->resident);
	if (facts->pending != NULL)
		uvmp_mask_andnot(&absent, &absent, facts->pending);
	*pages = absent;
}

static bool is_in(const uvmp_mask *pages, const uvmp_mask *set)
{
	return set != NULL && uvmp_mask_intersects(pages, set);
}

bool uvmpi_prefetch_is_refault(const struct uvmp_prefetch_facts *facts)
{
	return is_in(facts->faulted, facts->resident) || is_in(facts->faulted, facts->pending);
}

bool uvmpi_prefetch_is_allowed(const struct uvmp_prefetch_facts *facts)
{
	if (!facts->has_preferred || facts->preferred == facts->to)
		return true;
	if (!facts->is_confidential)
		return false;
	return facts->to == UVMP_CPU ||
	       (facts->cpu_resident != NULL && uvmp_mask_intersects(facts->faulted, facts->cpu_resident));
}

void uvmpi_prefetch_drop_groups(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	for (uint32_t i = 0; i < facts->range_groups; i++)
		if (!uvmp_mask_region_any(facts->faulted, facts->range_group[i]))
			uvmp_mask_region_clear(pages, facts->range_group[i]);
}

void uvmpi_prefetch_admit(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	uvmpi_prefetch_absent(facts, pages);
	if (!uvmpi_prefetch_is_allowed(facts))
		uvmp_mask_zero(pages);
	if (facts->thrashing != NULL)
		uvmp_mask_andnot(pages, pages, facts->thrashing);
	uvmpi_prefetch_drop_groups(facts, pages);
}
