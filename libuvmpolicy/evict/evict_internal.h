/* What eviction orders share: the descriptor.
 *
 * Layers of this folder: evict_recency.c, evict_slots.c < evict_sequence.c < evict_grouped.c < one file per order <
 * evict.c, which holds the table and checks every argument before it calls an order. The state of an order is
 * private to its file. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "uvmpolicy/evict.h"

/* The units that a search for victims returns. An order that spares no units returns all in its order. */
enum evict_walk {
	EVICT_SPARED_LAST, /* all: units that are not spared in their order, then spared units in theirs */
	EVICT_UNSPARED,	   /* units that are not spared */
	EVICT_SPARED,
	EVICT_ANY /* all in their order, spared or not */
};

/* The descriptor of one order. `evict` is valid and `unit` is in range; `random` may be NULL. The order keeps
 * evict->count. */
struct eviction_order {
	char name[12]; /* in the policy string */
	struct uvmp_evict_traits traits;
	uint16_t state_bytes; /* per order, at evict->state; 0: the order has no state here */
	uint16_t unit_bytes;  /* per unit, */
	uint16_t group_bytes; /* and per UVMP_EVICT_GROUP_UNITS units, behind the state */
	/* Sets the state; evict->units is set. Reads and writes nothing behind the state. */
	void (*init)(struct uvmp_evict *evict);
	bool (*is_valid)(const struct uvmp_evict *evict); /* evict->state is not NULL */
	bool (*contains)(const struct uvmp_evict *evict, uint32_t unit);
	void (*touch)(struct uvmp_evict *evict, uint32_t unit);
	void (*remove)(struct uvmp_evict *evict, uint32_t unit);
	void (*forget)(struct uvmp_evict *evict, uint32_t unit); /* NULL: remove */
	/* `rank`, the number of units to pass over, spared or not, is below evict->count. UVMP_ERR_NO_MEMORY: the walk has no
	 * unit behind. *unit is written on success only. */
	enum uvmp_status (*victim)(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
				   uint32_t *unit);
	/* evict->count is not 0. UVMP_ERR_NO_MEMORY: also if *unit is not listed. */
	enum uvmp_status (*next)(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit);
	/* NULL: no effect. */
	void (*weigh)(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
	void (*spare)(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
	void (*batch)(struct uvmp_evict *evict);
	void (*left)(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched);
	uint32_t (*closure)(struct uvmp_tree *tree, uint32_t evictable); /* NULL: the victim leaves alone */
};

#define EVICT_DECLARE(CONSTANT, name) extern const struct eviction_order uvmpi_order_##name;
UVMP_EVICT_ORDERS(EVICT_DECLARE)

/* The table of orders; LRU has traits only. */
extern const struct eviction_order *const uvmpi_orders[UVMP_EVICT_COUNT];

/* -- uvmp_evict_NAME without its checks: the order is set up, the unit is in range -- */

static inline const struct eviction_order *evict_order(const struct uvmp_evict *evict)
{
	return uvmpi_orders[evict->evictor];
}
static inline bool uvmpi_evict_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return evict_order(evict)->contains(evict, unit);
}
static inline void uvmpi_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	evict_order(evict)->touch(evict, unit);
}
static inline void uvmpi_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	evict_order(evict)->remove(evict, unit);
}
static inline void uvmpi_evict_forget(struct uvmp_evict *evict, uint32_t unit)
{
	const struct eviction_order *order = evict_order(evict);

	if (order->forget != NULL)
		order->forget(evict, unit);
	else
		order->remove(evict, unit);
}
static inline void uvmpi_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	if (evict_order(evict)->weigh != NULL)
		evict_order(evict)->weigh(evict, unit, frequency);
}
static inline void uvmpi_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	if (evict_order(evict)->spare != NULL)
		evict_order(evict)->spare(evict, unit, is_spared);
}
/* The first unit of the walk behind the reserve. */
enum uvmp_status uvmpi_evict_first(struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit);
/* The unit of the walk that follows *unit, one of the walk. */
static inline enum uvmp_status uvmpi_evict_next(const struct uvmp_evict *evict, uint64_t *random,
						enum evict_walk walk, uint32_t *unit)
{
	return evict_order(evict)->next(evict, random, walk, unit);
}

/* The result of a search becomes *unit. UVMP_ERR_NO_MEMORY: the search has found nothing. */
static inline enum uvmp_status evict_found(uint32_t found, uint32_t *unit)
{
	if (found == UVMP_UNIT_NONE)
		return UVMP_ERR_NO_MEMORY;
	*unit = found;
	return UVMP_OK;
}

#endif
