/* Least frequently used 2 MiB first ([uvmsmart: victim-selection], policy 4), of equals the least recently
 * touched. The counts live in the keys of the heap, which stay when a unit is taken off it: a large page that
 * comes back goes on where it was. The original counts in the root of each tree and takes the less written of
 * equals first. */
#include "evict_internal.h"

void uvmp_evict_lfu_init(struct uvmp_evict *evict, void *memory)
{
	(void)uvmp_frequency_init(&evict->frequency, evict->units, memory, uvmp_frequency_size(evict->units));
}

bool uvmp_evict_lfu_is_valid(const struct uvmp_evict *evict)
{
	return uvmp_frequency_is_valid(&evict->frequency) && evict->frequency.units == evict->units &&
	       evict->frequency.count == evict->count;
}

bool uvmp_evict_lfu_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return unit < evict->frequency.begun && evict->frequency.place[unit] != UVMP_UNIT_NONE;
}

void uvmp_evict_lfu_touch(struct uvmp_evict *evict, uint32_t unit)
{
	uint64_t frequency = unit < evict->frequency.begun ? evict->frequency.key[unit].frequency : 0;

	uvmp_frequency_touch(&evict->frequency, unit, frequency + 1u);
	evict->count = evict->frequency.count;
}

void uvmp_evict_lfu_remove(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_frequency_remove(&evict->frequency, unit);
	evict->count = evict->frequency.count;
}

void uvmp_evict_lfu_forget(struct uvmp_evict *evict, uint32_t unit)
{
	if (unit >= evict->frequency.begun)
		return;
	uvmp_evict_lfu_remove(evict, unit);
	evict->frequency.key[unit].frequency = 0;
	evict->frequency.key[unit].late = 0;
}

enum uvmp_status uvmp_evict_lfu_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
                                       uint32_t *unit)
{
	(void)random;
	*unit = uvmp_frequency_at(&evict->frequency, rank);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_lfu_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return uvmp_evict_found(uvmp_frequency_next(&evict->frequency, *unit), unit);
}
