/* The driver's limits on prefetching, for prefetchers that keep to them. */
#include "prefetch_internal.h"

bool uvmpi_prefetch_is_allowed_elsewhere(const struct uvmp_prefetch_facts *facts)
{
	if (!facts->is_confidential)
		return false;
	return facts->to == UVMP_CPU ||
	       (facts->cpu_resident != NULL && uvmpi_mask_intersects(facts->faulted, facts->cpu_resident));
}

void uvmpi_prefetch_admit(const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	uvmpi_prefetch_absent(facts, pages);
	if (!uvmpi_prefetch_is_allowed(facts))
		uvmpi_mask_zero(pages);
	if (facts->thrashing != NULL)
		uvmpi_mask_andnot(pages, pages, facts->thrashing);
	uvmpi_prefetch_drop_groups(facts, pages);
}
