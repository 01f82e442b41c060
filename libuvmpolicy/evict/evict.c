/* The table of eviction orders, the check of every argument, and the call.
 *
 * UVMP_EVICT_ORDERS (evict.h) lists the orders; each file evict_NAME.c defines its descriptor. */
#include "../base/bits_internal.h"
#include "evict_internal.h"

/* In the order of the list, as the enumeration. */
#define ENTRY(CONSTANT, name) &uvmpi_order_##name,
const struct eviction_order *const uvmpi_orders[UVMP_EVICT_COUNT + 1] = {UVMP_EVICT_ORDERS(ENTRY) &uvmpi_order_plugin};

_Static_assert(UVMP_EVICT_LRU == 0, "the order without a state is the first");
_Static_assert((uint32_t)UVMP_EVICT_COUNT <= (uint32_t)UVMP_EVICT_PLUGIN, "the list leaves room for plugins");

/* The check of every call: has an _init function written the structure? uvmp_evict_is_valid also looks at the state. */
static inline bool is_made(const struct uvmp_evict *evict)
{
	return evict != NULL && evict->state != NULL && (uint32_t)evict->evictor - 1u < UVMP_EVICT_COUNT;
}

/* The largest number of units whose state size_t can count; UVMP_UNITS_MAX if addresses have 64 bits. */
enum { UNITS_FIT = (size_t)-1 / 48u < UVMP_UNITS_MAX ? (size_t)-1 / 48u : UVMP_UNITS_MAX };

/* Of the list. */
static const struct eviction_order *order_of(enum uvmp_evictor evictor)
{
	return (uint32_t)evictor < UVMP_EVICT_COUNT ? uvmpi_orders[evictor] : NULL;
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
	*evict = (struct uvmp_evict){.evictor = evictor, .units = units, .keeps_old = true, .state = memory};
	order->init(evict);
	return UVMP_OK;
}

/* Bytes of memory for the order with so many units. */
static size_t size_of(const struct uvmp_evict *evict, uint32_t units)
{
	const struct eviction_order *order = uvmpi_orders[evict->evictor];

	return order->size != NULL ? order->size(evict, units) : uvmp_evict_size(evict->evictor, units);
}

enum uvmp_status uvmp_evict_grow(struct uvmp_evict *evict, uint32_t units, void *memory, size_t bytes)
{
	const struct eviction_order *order;
	struct uvmp_evict grown;

	if (!uvmp_evict_is_valid(evict) || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0)
		return UVMP_ERR_ARGUMENT;
	if (units < evict->units || units > UNITS_FIT)
		return UVMP_ERR_RANGE;
	if (bytes < size_of(evict, units))
		return UVMP_ERR_SPACE;
	if (is_overlap(evict->state, size_of(evict, evict->units), memory, size_of(evict, units)))
		return UVMP_ERR_ARGUMENT;
	order = uvmpi_orders[evict->evictor];
	grown = *evict;
	grown.units = units;
	grown.state = memory;
	if (order->init != NULL)
		order->init(&grown);
	order->move(evict, &grown);
	*evict = grown;
	return UVMP_OK;
}

bool uvmp_evict_is_valid(const struct uvmp_evict *evict)
{
	return is_made(evict) && evict->reserve_percent <= UVMP_EVICT_RESERVE_MAX &&
	       uvmpi_orders[evict->evictor]->is_valid(evict);
}

static inline enum uvmp_status check_unit(const struct uvmp_evict *evict, uint32_t unit)
{
	if (!is_made(evict))
		return UVMP_ERR_ARGUMENT;
	return unit < evict->units ? UVMP_OK : UVMP_ERR_RANGE;
}

enum uvmp_status uvmp_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	return status == UVMP_OK ? uvmpi_evict_touch(evict, unit) : status;
}

enum uvmp_status uvmp_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK)
		uvmpi_evict_weigh(evict, unit, frequency);
	return status;
}

enum uvmp_status uvmp_evict_own(struct uvmp_evict *evict, uint32_t unit, uint32_t owner)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK)
		uvmpi_evict_own(evict, unit, owner);
	return status;
}

enum uvmp_status uvmp_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status == UVMP_OK)
		uvmpi_evict_spare(evict, unit, is_spared);
	return status;
}

bool uvmp_evict_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return check_unit(evict, unit) == UVMP_OK && uvmpi_evict_contains(evict, unit);
}

enum uvmp_status uvmp_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	return status == UVMP_OK ? uvmpi_evict_remove(evict, unit) : status;
}

enum uvmp_status uvmpi_evict_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units)
{
	const struct eviction_order *order = evict_order(evict);

	if (order->remove_set != NULL)
		return order->remove_set(evict, first, units);
	for (; units != 0; units &= units - 1u)
		(void)order->remove(evict, first + lowest_bit(units));
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units)
{
	enum uvmp_status status = check_unit(evict, first);

	if (status != UVMP_OK)
		return status;
	if (first % UVMP_EVICT_GROUP_UNITS != 0 ||
	    (evict->units - first < UVMP_EVICT_GROUP_UNITS && units >> (evict->units - first) != 0))
		return UVMP_ERR_RANGE;
	return uvmpi_evict_remove_set(evict, first, units);
}

enum uvmp_status uvmp_evict_forget(struct uvmp_evict *evict, uint32_t unit)
{
	enum uvmp_status status = check_unit(evict, unit);

	return status == UVMP_OK ? uvmpi_evict_forget(evict, unit) : status;
}

UVMPI_NOINLINE enum uvmp_status uvmpi_evict_behind(struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
						   uint32_t reserve_percent, uint32_t used, uint32_t *unit)
{
	uint32_t rank = percent_as_float(evict->count, reserve_percent); /* fewer than there are */

	UVMPI_ASSERT(reserve_percent <= UVMP_EVICT_RESERVE_MAX);
	return evict_order(evict)->victim(evict, random, rank, walk, used, unit);
}

enum uvmp_status uvmp_evict_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (!is_made(evict) || evict->reserve_percent > UVMP_EVICT_RESERVE_MAX || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	return uvmpi_evict_first(evict, random, EVICT_SPARED_LAST, evict->reserve_percent, evict->used, unit);
}

enum uvmp_status uvmp_evict_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	if (!is_made(evict) || unit == NULL)
		return UVMP_ERR_ARGUMENT;
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	return uvmpi_evict_next(evict, random, EVICT_SPARED_LAST, unit);
}

enum uvmp_status uvmp_evict_batch(struct uvmp_evict *evict)
{
	if (!is_made(evict))
		return UVMP_ERR_ARGUMENT;
	uvmpi_evict_batch(evict);
	return UVMP_OK;
}

enum uvmp_status uvmp_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	enum uvmp_status status = check_unit(evict, unit);

	if (status != UVMP_OK)
		return status;
	if (untouched > pages || pages > UVMP_EVICT_PAGES_MAX)
		return UVMP_ERR_RANGE;
	uvmpi_evict_left(evict, unit, pages, untouched);
	return UVMP_OK;
}

uint32_t uvmp_evict_closure(const struct uvmp_evict *evict, struct uvmp_tree *tree, uint32_t evictable)
{
	return is_made(evict) ? uvmpi_evict_closure(evict, tree, evictable) : 0;
}

enum uvmp_evict_choice uvmp_evict_chosen(const struct uvmp_evict *evict)
{
	return is_made(evict) ? uvmpi_evict_chosen(evict) : UVMP_CHOICE_ORDER;
}

uint32_t uvmp_evict_together(const struct uvmp_evict *evict, uint32_t unit)
{
	return check_unit(evict, unit) == UVMP_OK ? uvmpi_evict_together(evict, unit) : 0;
}
