/* Pages leave a processor: residency, memory and controllers follow. */
#include "controllers_internal.h"
#include "departing_internal.h"
#include "memory_internal.h"
#include "space_internal.h"

void uvmpi_depart(struct uvmp_service *s, handle h, uint32_t proc, const uvmp_mask *pages,
                  enum departure departure)
{
	struct block *b = block_at(s, h);
	struct residency *place = uvmpi_residency_find(s, b, proc);
	uvmp_mask gone;

	uvmpi_mask_and(&gone, &place->resident, pages);
	if (uvmpi_mask_is_empty(&gone))
		return;
	uvmpi_mask_andnot(&place->resident, &place->resident, &gone);
	if (proc == UVMP_CPU)
		return;
	if (s->adapt.is_on)
		uvmpi_adapt_left(s, proc, h, &gone, departure == DEPART_EVICTED);
	uvmpi_memory_left(s, proc, h, &gone, departure == DEPART_FREED);
}
