/* A random page ([uvmsmart: victim-selection], policy 3). The evictable units fill an array without gaps, so
 * that one draw names a unit. When a unit is evicted, the last unit of the array takes its position.
 *
 * The draw is uniform over the evictable units. The original simulator draws a position in its recency order
 * and takes the first evictable entry from there on. While every listed entry is evictable, the distribution
 * is the same. If some are pinned, the original favours the entries after them, and finds no victim when only
 * pinned entries follow; this is not reproduced. */
#include "../base/random_internal.h"
#include "evict_internal.h"

struct random_order {
	uint32_t *dense; /* units that may be evicted, without gaps, [units] */
	uint32_t *place; /* of a unit in dense, UVMP_UNIT_NONE: none, [units] */
	uint64_t begun;	 /* places of units 0..begun-1 have been written */
};

static struct random_order *state_of(const struct uvmp_evict *evict)
{
	return (struct random_order *)evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct random_order *order = state_of(evict);

	order->dense = (uint32_t *)(order + 1);
	order->place = order->dense + evict->units;
	order->begun = 0;
}

static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct random_order *old = state_of(from);
	struct random_order *order = state_of(to);

	order->begun = old->begun;
	__builtin_memcpy(order->dense, old->dense, from->count * sizeof(*order->dense));
	__builtin_memcpy(order->place, old->place, (size_t)old->begun * sizeof(*order->place));
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct random_order *order = state_of(evict);

	return order->dense != NULL && order->place != NULL && order->begun <= evict->units &&
	       evict->count <= order->begun;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return unit < state_of(evict)->begun && state_of(evict)->place[unit] != UVMP_UNIT_NONE;
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct random_order *order = state_of(evict);

	for (; order->begun <= unit; order->begun++)
		order->place[order->begun] = UVMP_UNIT_NONE;
	if (order->place[unit] != UVMP_UNIT_NONE)
		return UVMP_OK;
	order->place[unit] = evict->count;
	order->dense[evict->count++] = unit;
	return UVMP_OK;
}

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct random_order *order = state_of(evict);
	uint32_t gap, last;

	if (!contains(evict, unit))
		return UVMP_OK;
	gap = order->place[unit];
	last = order->dense[--evict->count];
	order->dense[gap] = last;
	order->place[last] = gap;
	order->place[unit] = UVMP_UNIT_NONE; /* after the line above: unit may be the last itself */
	return UVMP_OK;
}

static enum uvmp_status draw(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (random == NULL)
		return UVMP_ERR_ARGUMENT;
	*unit = state_of(evict)->dense[random_below(random, evict->count)];
	return UVMP_OK;
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	(void)rank, (void)walk, (void)used;
	return draw(evict, random, unit);
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	(void)walk;
	return draw(evict, random, unit);
}

const struct eviction_order uvmpi_order_random4k = {
	.name = "random4k",
	.summary = "a random page",
	.traits = {.unit_pages = 1, .is_random = true},
	.state_bytes = sizeof(struct random_order),
	.unit_bytes = 2u * sizeof(uint32_t),
	EVICT_FUNCTIONS(init, move, is_valid, contains, touch, take_off, victim, next),
};
