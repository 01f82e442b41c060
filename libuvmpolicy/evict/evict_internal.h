/* What eviction orders share: the descriptor.
 *
 * Layers of this folder: evict_recency.c < evict_grouped.c and evict_frequency.c < one file per order <
 * evict.c, which holds the table and checks every argument before it calls an order. The state of an order is
 * private to its file. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "uvmpolicy/evict.h"

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
	/* `rank`, the number of units to pass over, is below evict->count. */
	enum uvmp_status (*victim)(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, uint32_t *unit);
	enum uvmp_status (*next)(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
	/* NULL: no effect. */
	void (*weigh)(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
	void (*spare)(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
	void (*batch)(struct uvmp_evict *evict);
	void (*left)(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched);
	uint32_t (*closure)(struct uvmp_tree *tree, uint32_t evictable); /* NULL: the victim leaves alone */
};

#define EVICT_DECLARE(CONSTANT, name) extern const struct eviction_order uvmpi_order_##name;
UVMP_EVICT_ORDERS(EVICT_DECLARE)

/* The result of a search becomes *unit. UVMP_ERR_NO_MEMORY: the search has found nothing. */
static inline enum uvmp_status evict_found(uint32_t found, uint32_t *unit)
{
	if (found == UVMP_UNIT_NONE)
		return UVMP_ERR_NO_MEMORY;
	*unit = found;
	return UVMP_OK;
}

#endif
