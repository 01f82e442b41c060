/* Second chance, the clock (Corbato's, as in textbooks on paging).
 *
 * Units form a circle in the order of their arrival. A touch of a listed unit gives the unit a chance and
 * does not move it. The hand is at the oldest unit. A unit with a chance loses the chance and becomes the
 * newest; the first unit without a chance is the victim. Each touch pays for at most one step of the hand, so
 * that a victim is O(1) amortised.
 *
 * Units without a chance are evicted first, then the others, each in the order of the circle: the hand takes
 * them in this order while no unit is touched, and moving the hand does not change the order. A unit arrives
 * without a chance: the touch that fetched the unit does not count, only later touches do. */
#include "recency_internal.h"

struct clock {
	struct recency list;
	uint8_t *chance; /* touched since the hand passed, or since the unit arrived, [units] */
};

static struct clock *state_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct clock *clock = state_of(evict);
	struct recency_link *link = (void *)(clock + 1);

	uvmpi_recency_init(&clock->list, link, evict->units);
	clock->chance = (uint8_t *)(link + evict->units);
}

static bool is_valid(const struct uvmp_evict *evict)
{
	return state_of(evict)->chance != NULL && uvmpi_by_recency_is_valid(evict);
}

static void touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct clock *clock = state_of(evict);
	bool is_listed = uvmpi_recency_contains(&clock->list, unit);

	clock->chance[unit] = is_listed;
	if (!is_listed)
		uvmpi_by_recency_touch(evict, unit);
}

/* The first unit with this chance, from `unit` on. */
static uint32_t search(const struct clock *clock, uint32_t unit, uint8_t chance)
{
	while (unit != UVMP_UNIT_NONE && clock->chance[unit] != chance)
		unit = uvmpi_recency_next(&clock->list, unit);
	return unit;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	const struct clock *clock = state_of(evict);
	uint32_t found;

	(void)random;
	if (!uvmpi_recency_contains(&clock->list, *unit))
		return UVMP_ERR_NO_MEMORY;
	found = search(clock, uvmpi_recency_next(&clock->list, *unit), clock->chance[*unit]);
	if (found == UVMP_UNIT_NONE && clock->chance[*unit] == 0)
		found = search(clock, clock->list.head, 1);
	return evict_found(found, unit);
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, uint32_t *unit)
{
	struct clock *clock = state_of(evict);

	while (clock->chance[clock->list.head] != 0) {
		clock->chance[clock->list.head] = 0;
		uvmpi_recency_touch(&clock->list, clock->list.head);
	}
	*unit = clock->list.head;
	while (rank-- > 0)
		(void)next(evict, random, unit);
	return UVMP_OK;
}

const struct eviction_order uvmpi_order_clock2m = {
	.name = "clock2m",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true},
	.state_bytes = sizeof(struct clock),
	.unit_bytes = sizeof(struct recency_link) + sizeof(uint8_t),
	.init = init,
	.is_valid = is_valid,
	.contains = uvmpi_by_recency_contains,
	.touch = touch,
	.remove = uvmpi_by_recency_remove,
	.victim = victim,
	.next = next,
};
