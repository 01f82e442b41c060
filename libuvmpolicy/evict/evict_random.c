/* A random page ([uvmsmart: victim-selection], policy 3). The units that may be evicted stand in an array
 * without gaps, so that one draw names one; a unit that leaves is replaced by the last of the array. */
#include "evict_internal.h"

void uvmp_evict_random_init(struct uvmp_evict *evict, void *memory)
{
	evict->dense = memory;
	evict->place = evict->dense + evict->units;
}

bool uvmp_evict_random_is_valid(const struct uvmp_evict *evict)
{
	return evict->dense != NULL && evict->place != NULL && evict->begun <= evict->units &&
	       evict->count <= evict->begun;
}

bool uvmp_evict_random_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return unit < evict->begun && evict->place[unit] != UVMP_UNIT_NONE;
}

void uvmp_evict_random_touch(struct uvmp_evict *evict, uint32_t unit)
{
	for (; evict->begun <= unit; evict->begun++)
		evict->place[evict->begun] = UVMP_UNIT_NONE;
	if (evict->place[unit] != UVMP_UNIT_NONE)
		return;
	evict->place[unit] = evict->count;
	evict->dense[evict->count++] = unit;
}

void uvmp_evict_random_remove(struct uvmp_evict *evict, uint32_t unit)
{
	uint32_t gap, last;

	if (!uvmp_evict_random_contains(evict, unit))
		return;
	gap = evict->place[unit];
	last = evict->dense[--evict->count];
	evict->dense[gap] = last;
	evict->place[last] = gap;
	evict->place[unit] = UVMP_UNIT_NONE; /* after the line above: unit may be the last itself */
}

void uvmp_evict_random_forget(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_evict_random_remove(evict, unit);
}

enum uvmp_status uvmp_evict_random_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (random == NULL)
		return UVMP_ERR_ARGUMENT;
	*unit = evict->dense[uvmp_random_below(random, evict->count)];
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_random_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
                                          uint32_t *unit)
{
	(void)rank;
	return uvmp_evict_random_next(evict, random, unit);
}
