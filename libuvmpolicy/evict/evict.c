/* The table of eviction orders, the check of every argument, and the call.
 *
 * UVMP_EVICT_ORDERS (evict.h) lists the orders; each file evict_NAME.c defines its descriptor. */
#include "../base/bits_internal.h"
#include "evict_internal.h"

#define ENTRY(CONSTANT, name) [UVMP_EVICT_##CONSTANT] = &uvmpi_order_##name,
static const struct eviction_order *const table[UVMP_EVICT_COUNT] = {UVMP_EVICT_ORDERS(ENTRY)};

/* The largest number of units whose state size_t can count; UVMP_UNITS_MAX if addresses have 64 bits. */
enum { UNITS_FIT = (size_t)-1 / 48u < UVMP_UNITS_MAX ? (size_t)-1 / 48u : UVMP_UNITS_MAX };

static const struct eviction_order *order_of(enum uvmp_evictor evictor)
{
	return (uint32_t)evictor < UVMP_EVICT_COUNT ? table[evictor] : NULL;
}

const char *uvmp_evict_name(enum uvmp_evictor evictor)
{
	const struct eviction_order *order = order_of(evictor);

	return order != NULL ? order->name : NULL;
}

const struct uvmp_evict_traits *uvmp_evict_traits_of(enum uvmp_evictor evictor)
{
	const struct eviction_order *order = order_of(evictor);

	return order != NULL ? &order->traits : NULL;
}

uint32_t uvmp_evict_unit_pages(enum uvmp_evictor evictor)
{
	const struct eviction_order *order = order_of(evictor);

	return order != NULL ? order->traits.unit_pages : 0;
}

size_t uvmp_evict_size(enum uvmp_evictor evictor, uint32_t units)
{
	const struct eviction_order *order = order_of(evictor);

	if (order == NULL || units == 0 || units > UNITS_FIT)
		return 0;
	return order->state_bytes + (size_t)order->unit_bytes * units +
	       (size_t)order->group_bytes * ((units + UVMP_EVICT_GROUP_UNITS - 1u) / UVMP_EVICT_GROUP_UNITS);
}

enum uvmp_status uvmp_evict_init(struct uvmp_evict *evict, enum uvmp_evictor evictor, uint32_t units,
				 void *memory, size_t bytes)
{
	const struct eviction_order *order = order_of(evictor);

	if (evict == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0)
		return UVMP_ERR_ARGUMENT;
	if (order == NULL)
		return UVMP_ERR_RANGE;
	if (order->traits.is_chunked)
		return UVMP_ERR_UNSUPPORTED;
	if (units == 0 || units > UNITS_FIT)
		return UVMP_ERR_RANGE;
	if (bytes < uvmp_evict_size(evictor, units))
		return UVMP_ERR_SPACE;
	*evict = (struct uvmp_evict){.evictor = evictor, .units = units, .state = memory};
	order->init(evict);
	return UVMP_OK;
}

bool uvmp_evict_is_valid(const struct uvmp_evict *evict)
{
	if (evict == NULL || evict->state == NULL || (uint32_t)evict->evictor >= UVMP_EVICT_COUNT ||
	    table[evict->evictor]->is_valid == NULL || evict->reserve_percent > UVMP_EVICT_RESERVE_MAX)
		return false;
	return table[evict->evictor]->is_valid(evict);
}

static enum uvmp_status check_unit(const struct uvmp_evict *evict, uint32_t unit)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	return unit < evict->units ? UVMP_OK : UVMP_ERR_RANGE;
}

enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK)
		table[evict->evictor]->touch(evict, unit);
	return status;
}

enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK && table[evict->evictor]->weigh != NULL)
		table[evict->evictor]->weigh(evict, unit, frequency);
	return status;
}

enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK && table[evict->evictor]->spare != NULL)
		table[evict->evictor]->spare(evict, unit, is_spared);
	return status;
}

bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return check_unit(evict, unit) == UVMP_OK && table[evict->evictor]->contains(evict, unit);
}

enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK)
		table[evict->evictor]->remove(evict, unit);
	return status;
}

enum uvmp_status uvmp_evict_forget(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status != UVMP_OK)
		return status;
	if (table[evict->evictor]->forget != NULL)
		table[evict->evictor]->forget(evict, unit);
	else
		table[evict->evictor]->remove(evict, unit);
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
	return table[evict->evictor]->victim(evict, random, reserved(evict), unit);
}

enum uvmp_status uvmp_evict_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (!uvmp_evict_is_valid(evict) || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	return table[evict->evictor]->next(evict, random, unit);
}

enum uvmp_status uvmp_evict_batch(struct uvmp_evict *evict)
{
	if (!uvmp_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (table[evict->evictor]->batch != NULL)
		table[evict->evictor]->batch(evict);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status != UVMP_OK)
		return status;
	if (untouched > pages || pages > UVMP_EVICT_PAGES_MAX)
		return UVMP_ERR_RANGE;
	if (table[evict->evictor]->left != NULL)
		table[evict->evictor]->left(evict, unit, pages, untouched);
	return UVMP_OK;
}

uint32_t uvmp_evict_closure(const struct uvmp_evict *evict, struct uvmp_tree *tree, uint32_t evictable)
{
	if (!uvmp_evict_is_valid(evict) || table[evict->evictor]->closure == NULL)
		return 0;
	return table[evict->evictor]->closure(tree, evictable);
}
