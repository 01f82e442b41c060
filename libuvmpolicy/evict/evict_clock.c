/* Second chance, the clock (Corbato's, as textbooks on paging have it).
 *
 * Units stand in a circle in the order in which they came. A touch of one that stands there moves nothing, it
 * gives the unit a chance. The hand stands at the oldest: one with a chance loses it and goes on standing,
 * now as the newest; the first without one is the victim. Each touch is paid for by at most one step of the
 * hand, so that a victim is O(1) amortised.
 *
 * Those without a chance go first, then the others, each in the circle's order: that is how the hand takes
 * them while nothing is touched, and moving the hand does not change it. A unit comes without a chance: it is
 * there because of a touch, and shall be told from those that are touched again.
 */
#include "evict_internal.h"

void uvmp_evict_clock_init(struct uvmp_evict *evict, void *memory)
{
	(void)uvmp_recency_init(&evict->list, memory, evict->units);
	evict->chance = (uint8_t *)(evict->list.link + evict->units);
}

bool uvmp_evict_clock_is_valid(const struct uvmp_evict *evict)
{
	return evict->chance != NULL && uvmp_evict_lru_is_valid(evict);
}

bool uvmp_evict_clock_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmp_recency_contains(&evict->list, unit);
}

void uvmp_evict_clock_touch(struct uvmp_evict *evict, uint32_t unit)
{
	bool is_there = uvmp_recency_contains(&evict->list, unit);

	evict->chance[unit] = is_there;
	if (!is_there)
		uvmp_evict_lru_touch(evict, unit);
}

void uvmp_evict_clock_remove(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_evict_lru_remove(evict, unit);
}

void uvmp_evict_clock_forget(struct uvmp_evict *evict, uint32_t unit)
{
	uvmp_evict_clock_remove(evict, unit);
}

/* The first with this chance, from the unit on. */
static uint32_t search(const struct uvmp_evict *evict, uint32_t unit, uint8_t chance)
{
	while (unit != UVMP_UNIT_NONE && evict->chance[unit] != chance)
		unit = uvmp_recency_next(&evict->list, unit);
	return unit;
}

enum uvmp_status uvmp_evict_clock_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	uint32_t found;

	(void)random;
	if (!uvmp_recency_contains(&evict->list, *unit))
		return UVMP_ERR_NO_MEMORY;
	found = search(evict, uvmp_recency_next(&evict->list, *unit), evict->chance[*unit]);
	if (found == UVMP_UNIT_NONE && evict->chance[*unit] == 0)
		found = search(evict, evict->list.head, 1);
	return uvmp_evict_found(found, unit);
}

enum uvmp_status uvmp_evict_clock_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
                                         uint32_t *unit)
{
	while (evict->chance[evict->list.head] != 0) {
		evict->chance[evict->list.head] = 0;
		uvmp_recency_touch(&evict->list, evict->list.head);
	}
	*unit = evict->list.head;
	while (rank-- > 0)
		(void)uvmp_evict_clock_next(evict, random, unit);
	return UVMP_OK;
}
