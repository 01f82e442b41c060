/* UVM Smart's sequential-local eviction and the first step of TBNe ([uvmsmart: eviction-list,
 * victim-selection], policies 2 and 1): the oldest basic block of the tree whose newest touch is oldest. The
 * original sorts entries by tree and cycle; a list in groups keeps that order without sorting. The host owns
 * the tree, so the host asks for the further victims of TBNe (uvmp_evict_tbn_closure). */
#include "evict_internal.h"

void uvmp_evict_sl_init(struct uvmp_evict *evict, void *memory)
{
	(void)uvmp_grouped_init(&evict->grouped, evict->units, UVMP_EVICT_GROUP_UNITS, memory,
	                        uvmp_grouped_size(evict->units, UVMP_EVICT_GROUP_UNITS));
}

bool uvmp_evict_sl_is_valid(const struct uvmp_evict *evict)
{
	return uvmp_grouped_is_valid(&evict->grouped) && evict->grouped.units == evict->units &&
	       evict->grouped.group_units == UVMP_EVICT_GROUP_UNITS && evict->grouped.count == evict->count;
}

bool uvmp_evict_sl_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmp_grouped_is_listed(&evict->grouped, unit);
}

void uvmp_evict_sl_touch(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_grouped_touch(&evict->grouped, unit);
	evict->count = evict->grouped.count;
}

void uvmp_evict_sl_remove(struct uvmp_evict *evict, uint32_t unit)
{
	if (uvmp_grouped_is_listed(&evict->grouped, unit))
		uvmp_grouped_take_off(&evict->grouped, unit);
	evict->count = evict->grouped.count;
}

void uvmp_evict_sl_forget(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_evict_sl_remove(evict, unit);
}

enum uvmp_status uvmp_evict_sl_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
                                      uint32_t *unit)
{
	(void)random;
	*unit = uvmp_grouped_oldest(&evict->grouped);
	while (rank-- > 0)
		*unit = uvmp_grouped_next(&evict->grouped, *unit);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_sl_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return uvmp_evict_found(uvmp_grouped_next(&evict->grouped, *unit), unit);
}
