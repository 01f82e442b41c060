/* The table of eviction orders. Arguments are checked here, once for all; the rows do the work. */
#include "../base/bits_internal.h"
#include "evict_internal.h"

/* One row per order: value, name, pages per unit, bytes of state per unit and per group of units, file. Rows
 * of a macro, because an array of pointers would have to be relocated, and so be written, before it can be
 * read. */
#define LINK    sizeof(struct uvmp_recency_link)
#define GROUPED sizeof(struct uvmp_grouped_link)
#define GROUP   (sizeof(struct uvmp_grouped_ends) + sizeof(struct uvmp_recency_link))
#define COUNTED (sizeof(struct uvmp_frequency_key) + 2u * sizeof(uint32_t))
#define CHANCED (LINK + sizeof(uint8_t))
#define STAMPED (LINK + sizeof(uint64_t))
#define ORDERS(ROW)                                                                                          \
	ROW(UVMP_EVICT_LRU_2M, "lru2m", 512, LINK, 0, lru)                                                   \
	ROW(UVMP_EVICT_LRU_4K, "lru4k", 1, LINK, 0, lru)                                                     \
	ROW(UVMP_EVICT_RANDOM_4K, "random4k", 1, 2u * sizeof(uint32_t), 0, random)                           \
	ROW(UVMP_EVICT_SL_64K, "sl64k", 16, GROUPED, GROUP, sl)                                              \
	ROW(UVMP_EVICT_TBN, "tbne", 16, GROUPED, GROUP, sl)                                                  \
	ROW(UVMP_EVICT_LFU_2M, "lfu2m", 512, COUNTED, 0, lfu)                                                \
	ROW(UVMP_EVICT_CLOCK_2M, "clock2m", 512, CHANCED, 0, clock)                                          \
	ROW(UVMP_EVICT_MHPE, "mhpe", 16, STAMPED, 0, mhpe)

struct order {
	char name[12];
	uint16_t unit_pages;
	uint16_t unit_bytes; /* 0: the order has no state here */
	uint16_t group_bytes;
};

#define ORDER(value, name, pages, bytes, group, file) [value] = {name, pages, bytes, group},

static const struct order orders[UVMP_EVICT_COUNT] = {
        [UVMP_EVICT_LRU] = {"lru", 512, 0, 0}, /* its state is the driver's, pmm.h */
        ORDERS(ORDER)};

/* Calls FILE_verb of the order's row. The state is valid, so that its evictor has one; `default` only joins
 * the first row. */
#define CALL_init(value, name, pages, bytes, group, file)                                                    \
	case value:                                                                                          \
		uvmp_evict_##file##_init(evict, memory);                                                     \
		break;
#define CALL_touch(value, name, pages, bytes, group, file)                                                   \
	case value:                                                                                          \
		uvmp_evict_##file##_touch(evict, unit);                                                      \
		break;
#define CALL_remove(value, name, pages, bytes, group, file)                                                  \
	case value:                                                                                          \
		uvmp_evict_##file##_remove(evict, unit);                                                     \
		break;
#define CALL_forget(value, name, pages, bytes, group, file)                                                  \
	case value:                                                                                          \
		uvmp_evict_##file##_forget(evict, unit);                                                     \
		break;
#define CALL_is_valid(value, name, pages, bytes, group, file)                                                \
	case value:                                                                                          \
		return uvmp_evict_##file##_is_valid(evict);
#define CALL_contains(value, name, pages, bytes, group, file)                                                \
	case value:                                                                                          \
		return uvmp_evict_##file##_contains(evict, unit);
#define CALL_victim(value, name, pages, bytes, group, file)                                                  \
	case value:                                                                                          \
		return uvmp_evict_##file##_victim(evict, random, reserved(evict), unit);
#define CALL_next(value, name, pages, bytes, group, file)                                                    \
	case value:                                                                                          \
		return uvmp_evict_##file##_next(evict, random, unit);
#define DISPATCH(verb)                                                                                       \
	switch (evict->evictor) {                                                                            \
	default:                                                                                             \
		ORDERS(CALL_##verb)                                                                          \
	}

/* Most units whose state size_t can count; UVMP_UNITS_MAX wherever addresses have 64 bits. */
enum { UNITS_FIT = (size_t)-1 / 32u < UVMP_UNITS_MAX ? (size_t)-1 / 32u : UVMP_UNITS_MAX };

static const struct order *order_of(enum uvmp_evictor evictor)
{
	return (uint32_t)evictor < UVMP_EVICT_COUNT ? &orders[evictor] : NULL;
}

const char *uvmp_evict_name(enum uvmp_evictor evictor)
{
	const struct order *order = order_of(evictor);

	return order != NULL ? order->name : NULL;
}

uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor)
{
	const struct order *order = order_of(evictor);

	return order != NULL ? order->unit_pages : 0;
}

size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units)
{
	const struct order *order = order_of(evictor);

	if (order == NULL || units > UNITS_FIT)
		return 0;
	return (size_t)order->unit_bytes * units +
	       (size_t)order->group_bytes * ((units + UVMP_EVICT_GROUP_UNITS - 1u) / UVMP_EVICT_GROUP_UNITS);
}

enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
                                 void *memory, size_t bytes)
{
	const struct order *order = order_of(evictor);

	if (evict == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0)
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
	DISPATCH(init)
	return UVMP_OK;
}

bool uvmp_evict_is_valid(const struct uvmp_evict *evict)
{
	const struct order *order = evict != NULL ? order_of(evict->evictor) : NULL;

	if (order == NULL || order->unit_bytes == 0 || evict->reserve_percent > UVMP_EVICT_RESERVE_MAX)
		return false;
	DISPATCH(is_valid)
}

enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	DISPATCH(touch)
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	if (evict->evictor == UVMP_EVICT_LFU_2M)
		uvmp_frequency_set(&evict->frequency, unit, frequency);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	if (evict->evictor == UVMP_EVICT_LFU_2M)
		uvmp_frequency_spare(&evict->frequency, unit, is_spared);
	return UVMP_OK;
}

bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	if (!uvmp_evict_is_valid(evict) || unit >= evict->units)
		return false;
	DISPATCH(contains)
}

enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	DISPATCH(remove)
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_forget(struct uvmp_evict *evict, uint32_t unit)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units)
		return UVMP_ERR_RANGE;
	DISPATCH(forget)
	return UVMP_OK;
}

/* Units at the cold end that are passed over: fewer than there are. */
static uint32_t reserved(const struct uvmp_evict *evict)
{
	return percent_as_float(evict->count, evict->reserve_percent);
}

enum uvmp_status uvmp_evict_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (!uvmp_evict_is_valid(evict) || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	DISPATCH(victim)
}

/* MHPE alone has intervals, and a strategy that what left may change. */
enum uvmp_status uvmp_evict_batch(struct uvmp_evict *evict)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (evict->evictor == UVMP_EVICT_MHPE)
		uvmp_evict_mhpe_batch(evict);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (unit >= evict->units || untouched > pages || pages > UVMP_EVICT_PAGES_MAX)
		return UVMP_ERR_RANGE;
	if (evict->evictor == UVMP_EVICT_MHPE)
		uvmp_evict_mhpe_left(evict, unit, pages, untouched);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (!uvmp_evict_is_valid(evict) || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	DISPATCH(next)
}
