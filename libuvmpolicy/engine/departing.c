/* Pages leave a processor: residency, memory and controllers follow. */
#include "controllers_internal.h"
#include "departing_internal.h"
#include "memory_internal.h"
#include "prefetch_states_internal.h"
#include "space_internal.h"

/* Removes the pages from the set; *gone: those that it held. False: none. */
static bool take_out(uvmp_mask *set, const uvmp_mask *pages, uvmp_mask *gone)
{
	uint64_t any = 0;

	UVMPI_EACH_WORD(i) {
		any |= gone->word[i] = set->word[i] & pages->word[i];
		set->word[i] &= ~pages->word[i];
	}
	return any != 0;
}

void uvmpi_depart(struct uvmp_service *s, handle h, struct residency *from, const uvmp_mask *pages,
		  enum departure departure)
{
	uvmp_mask gone;

	if (!take_out(&from->resident, pages, &gone) || from->proc == UVMP_CPU)
		return;
	if (s->prefetch_states.has_memory && departure == DEPART_EVICTED)
		uvmpi_prefetch_states_evicted(s, h, from->proc, &gone);
	if (s->adapt.is_on)
		uvmpi_adapt_left(s, from->proc, h, &gone, departure == DEPART_EVICTED);
	uvmpi_memory_left(s, from->proc, h, &gone, departure == DEPART_FREED);
}
