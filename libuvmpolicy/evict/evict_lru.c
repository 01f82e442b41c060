/* Least recently touched first ([uvmsmart: victim-selection], policies 0 and 5). The original stamps entries
 * with cycles and sorts stably; as time never runs backwards, that is the order of last touches, which a
 * recency list keeps without sorting. The two orders differ in the size of the unit only. */
#include "evict_internal.h"

void uvmp_evict_lru_init(struct uvmp_evict *evict, void *memory)
{
	(void)uvmp_recency_init(&evict->list, memory, evict->units);
}

bool uvmp_evict_lru_is_valid(const struct uvmp_evict *evict)
{
	return uvmp_recency_is_valid(&evict->list) && evict->list.units == evict->units &&
	       evict->list.count == evict->count;
}

bool uvmp_evict_lru_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmp_recency_is_listed(&evict->list, unit);
}

void uvmp_evict_lru_touch(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_recency_touch(&evict->list, unit);
	evict->count = evict->list.count;
}

void uvmp_evict_lru_remove(struct uvmp_evict *evict, uint32_t unit)
{
	if (uvmp_recency_is_listed(&evict->list, unit))
		uvmp_recency_take_off(&evict->list, unit);
	evict->count = evict->list.count;
}

void uvmp_evict_lru_forget(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_evict_lru_remove(evict, unit);
}

enum uvmp_status uvmp_evict_lru_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
                                       uint32_t *unit)
{
	(void)random;
	*unit = evict->list.head;
	while (rank-- > 0)
		*unit = uvmp_recency_next(&evict->list, *unit);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_lru_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return uvmp_evict_found(uvmp_recency_next(&evict->list, *unit), unit);
}
