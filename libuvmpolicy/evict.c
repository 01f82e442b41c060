/* The table of eviction orders. Arguments are checked here, once for all; the rows do the work. */
#include "evict_internal.h"

static const struct uvmp_evict_order lru = {.name = "lru",
                                            .unit_pages = 512}; /* its state is the driver's, pmm.h */

static const struct uvmp_evict_order *const orders[UVMP_EVICT_COUNT] = {
        [UVMP_EVICT_LRU] = &lru,
        [UVMP_EVICT_LRU_2M] = &uvmp_evict_lru_2m,
        [UVMP_EVICT_LRU_4K] = &uvmp_evict_lru_4k,
        [UVMP_EVICT_RANDOM_4K] = &uvmp_evict_random_4k,
};

/* Most units whose state size_t can count; UVMP_UNITS_MAX wherever addresses have 64 bits. */
enum { UNITS_FIT = (size_t)-1 / 8u < UVMP_UNITS_MAX ? (size_t)-1 / 8u : UVMP_UNITS_MAX };

static const struct uvmp_evict_order *order_of(enum uvmp_evictor evictor)
{
	return (uint32_t)evictor < UVMP_EVICT_COUNT ? orders[evictor] : NULL;
}

const char *uvmp_evict_name(enum uvmp_evictor evictor)
{
	const struct uvmp_evict_order *order = order_of(evictor);

	return order != NULL ? order->name : NULL;
}

uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor)
{
	const struct uvmp_evict_order *order = order_of(evictor);

	return order != NULL ? order->unit_pages : 0;
}

size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units)
{
	const struct uvmp_evict_order *order = order_of(evictor);

	return order != NULL && units <= UNITS_FIT ? (size_t)order->unit_bytes * units : 0;
}

enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
                                 void *memory, size_t bytes)
{
	const struct uvmp_evict_order *order = order_of(evictor);

	if (evict == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint32_t) != 0)
		return UVMP_ERR_ARGUMENT;
	if (order == NULL)
		return UVMP_ERR_RANGE;
	if (order->unit_bytes == 0)
		return UVMP_ERR_UNSUPPORTED;
	if (units == 0 || units > UNITS_FIT)
		return UVMP_ERR_RANGE;
	if (bytes < uvmp_evict_size(evictor, units))
		return UVMP_ERR_SPACE;
	*evict = (struct uvmp_evict){.evictor = evictor, .units = units};
	order->init(evict, memory);
	return UVMP_OK;
}

/* The order of a valid state, NULL for anything else. */
static const struct uvmp_evict_order *order_of_valid(const struct uvmp_evict *evict)
{
	const struct uvmp_evict_order *order = evict != NULL ? order_of(evict->evictor) : NULL;

	if (order == NULL || order->unit_bytes == 0 || !order->is_valid(evict))
		return NULL;
	return order;
}

bool uvmp_evict_is_valid(const struct uvmp_evict *evict)
{
	return order_of_valid(evict) != NULL;
}

enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	const struct uvmp_evict_order *order = order_of_valid(evict);

	if (order == NULL)
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	order->touch(evict, unit);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	const struct uvmp_evict_order *order = order_of_valid(evict);

	if (order == NULL)
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	order->remove(evict, unit);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_victim(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	const struct uvmp_evict_order *order = order_of_valid(evict);

	if (order == NULL || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	return order->victim(evict, random, unit);
}
