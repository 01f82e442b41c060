/* Least frequently used 2 MiB first ([uvmsmart: victim-selection], policy 4), of equals the least recently
 * touched. The counts live in the keys of the heap, which stay when a unit is taken off the heap: a large
 * page that comes back continues its count. The original counts in the root of each tree and takes the less
 * written of equals first. */
#include "frequency_internal.h"

static struct frequency *list_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void init(struct uvmp_evict *evict)
{
	uvmpi_frequency_init(list_of(evict), evict->units, list_of(evict) + 1);
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct frequency *list = list_of(evict);

	return uvmpi_frequency_is_valid(list) && list->units == evict->units && list->count == evict->count;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_frequency_contains(list_of(evict), unit);
}

static void touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	uvmpi_frequency_touch(list, unit, (unit < list->begun ? list->key[unit].frequency : 0) + 1u);
	evict->count = list->count;
}

static void take_off(struct uvmp_evict *evict, uint32_t unit)
{
	uvmpi_frequency_remove(list_of(evict), unit);
	evict->count = list_of(evict)->count;
}

static void forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (unit >= list->begun)
		return;
	take_off(evict, unit);
	list->key[unit].frequency = 0;
	list->key[unit].late = 0;
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, uint32_t *unit)
{
	(void)random;
	*unit = uvmpi_frequency_at(list_of(evict), rank);
	return UVMP_OK;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return evict_found(uvmpi_frequency_next(list_of(evict), *unit), unit);
}

static void weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	uvmpi_frequency_set(list_of(evict), unit, frequency);
}

static void spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	uvmpi_frequency_spare(list_of(evict), unit, is_spared);
}

const struct eviction_order uvmpi_order_lfu2m = {
	.name = "lfu2m",
	.traits = {.unit_pages = 512,
		   .has_granularity = true,
		   .has_reserve = true,
		   .counts_uses = true,
		   .spares_incomplete = true},
	.state_bytes = sizeof(struct frequency),
	.unit_bytes = FREQUENCY_UNIT_BYTES,
	.init = init,
	.is_valid = is_valid,
	.contains = contains,
	.touch = touch,
	.remove = take_off,
	.forget = forget,
	.victim = victim,
	.next = next,
	.weigh = weigh,
	.spare = spare,
};
