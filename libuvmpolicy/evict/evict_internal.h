/* What eviction orders share: the descriptor.
 *
 * Layers of this folder: evict_recency.c, evict_slots.c < evict_sequence.c < evict_grouped.c < one file per order <
 * evict.c, which holds the table and checks every argument before it calls an order. The state of an order is
 * private to its file. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "../base/debug_internal.h"
#include "uvmpolicy/evict.h"

/* The units that a search for victims returns. An order that spares no units returns all in its order. */
enum evict_walk {
	EVICT_SPARED_LAST, /* all: units that are not spared in their order, then spared units in theirs */
	EVICT_UNSPARED,	   /* units that are not spared */
	EVICT_SPARED,
	EVICT_ANY /* all in their order, spared or not */
};

/* The descriptor of one order. `evict` is valid and `unit` is in range; `random` may be NULL. The order keeps
 * evict->count. An order with a state has all functions of EVICT_FUNCTIONS; the others may be NULL. */
struct eviction_order {
	char name[12]; /* in the policy string */
	const char *summary; /* what is evicted first, one line */
	struct uvmp_evict_traits traits;
	uint16_t state_bytes; /* per order, at evict->state; 0: the order has no state here */
	uint16_t unit_bytes;  /* per unit, */
	uint16_t group_bytes; /* and per UVMP_EVICT_GROUP_UNITS units, behind the state */
	/* Sets the state; evict->units is set. Reads and writes nothing behind the state. NULL: plugins only, whose state
	 * uvmp_evict_init_plugin sets. */
	void (*init)(struct uvmp_evict *evict);
	/* `to`, which `init`, if there is one, has set up for as many units as `from` or more, takes over the state of `from`. */
	void (*move)(const struct uvmp_evict *from, struct uvmp_evict *to);
	bool (*is_valid)(const struct uvmp_evict *evict); /* evict->state is not NULL */
	bool (*contains)(const struct uvmp_evict *evict, uint32_t unit);
	/* These return UVMP_OK, so that the public functions end in their calls. */
	enum uvmp_status (*touch)(struct uvmp_evict *evict, uint32_t unit);
	enum uvmp_status (*remove)(struct uvmp_evict *evict, uint32_t unit);
	/* `rank`, the number of units to pass over, spared or not, is below evict->count. `used` is a set of tenants that are in
	 * use, with the trait has_groups. UVMP_ERR_NO_MEMORY: the walk has no unit behind. *unit is written on success only. */
	enum uvmp_status (*victim)(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
				   uint32_t used, uint32_t *unit);
	/* evict->count is not 0. UVMP_ERR_NO_MEMORY: also if *unit is not listed. */
	enum uvmp_status (*next)(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit);
	/* Bytes for so many units, of which `evict` has fewer; NULL: those of the fields above. */
	size_t (*size)(const struct uvmp_evict *evict, uint32_t units);
	enum uvmp_status (*enter)(struct uvmp_evict *evict, uint32_t unit); /* the unit is not listed; NULL: touch */
	/* Units first + b for each bit b of `units`; `first` is a multiple of UVMP_EVICT_GROUP_UNITS. NULL: remove each. */
	enum uvmp_status (*remove_set)(struct uvmp_evict *evict, uint32_t first, uint32_t units);
	enum uvmp_status (*forget)(struct uvmp_evict *evict, uint32_t unit); /* NULL: remove */
	/* NULL: no effect. */
	void (*weigh)(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency);
	void (*spare)(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
	void (*batch)(struct uvmp_evict *evict);
	void (*left)(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched);
	uint32_t (*closure)(struct uvmp_tree *tree, uint32_t evictable); /* NULL: the victim leaves alone */
	void (*own)(struct uvmp_evict *evict, uint32_t unit, uint32_t owner); /* with the trait has_groups */
	uint32_t (*tenants)(const struct uvmp_evict *evict); /* with the trait has_groups */
	uint32_t (*together)(const struct uvmp_evict *evict, uint32_t unit); /* with the trait has_groups */
	enum uvmp_evict_choice (*chosen)(const struct uvmp_evict *evict); /* NULL: UVMP_CHOICE_ORDER */
};

/* The functions that an order must have, as arguments: a descriptor that leaves one out does not compile. */
#define EVICT_FUNCTIONS(init_, move_, is_valid_, contains_, touch_, remove_, victim_, next_)                 \
	.init = init_, .move = move_, .is_valid = is_valid_, .contains = contains_, .touch = touch_,         \
	.remove = remove_, .victim = victim_, .next = next_

#define EVICT_DECLARE(CONSTANT, name) extern const struct eviction_order uvmpi_order_##name;
UVMP_EVICT_ORDERS(EVICT_DECLARE)

/* The descriptor that calls a plugin (evict_plugin.c), without traits: those are the plugin's. */
extern const struct eviction_order uvmpi_order_plugin;

/* The table of orders; LRU has traits only. A plugin is UVMP_EVICT_COUNT in struct uvmp_evict, so that the table has no gap. */
extern const struct eviction_order *const uvmpi_orders[UVMP_EVICT_COUNT + 1];

/* -- uvmp_evict_NAME without its checks: the order is set up, the unit is in range -- */

static inline const struct eviction_order *evict_order(const struct uvmp_evict *evict)
{
	UVMPI_ASSERT(uvmp_evict_is_valid(evict));
	return uvmpi_orders[evict->evictor];
}
static inline const struct eviction_order *evict_order_of_unit(const struct uvmp_evict *evict, uint32_t unit)
{
	(void)unit; /* of assertions */
	UVMPI_ASSERT(unit < evict->units);
	return evict_order(evict);
}
static inline bool uvmpi_evict_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return evict_order_of_unit(evict, unit)->contains(evict, unit);
}
static inline enum uvmp_status uvmpi_evict_touch(struct uvmp_evict *evict, uint32_t unit)
{
	return evict_order_of_unit(evict, unit)->touch(evict, unit);
}
/* Lists the unit, whose pages are still coming. A listed unit keeps its place, and so does the group of a unit. */
static inline enum uvmp_status uvmpi_evict_enter(struct uvmp_evict *evict, uint32_t unit)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	if (order->contains(evict, unit))
		return UVMP_OK;
	return order->enter != NULL ? order->enter(evict, unit) : order->touch(evict, unit);
}
static inline enum uvmp_status uvmpi_evict_remove(struct uvmp_evict *evict, uint32_t unit)
{
	return evict_order_of_unit(evict, unit)->remove(evict, unit);
}
/* All units of the set are in range. */
enum uvmp_status uvmpi_evict_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units);
static inline enum uvmp_status uvmpi_evict_forget(struct uvmp_evict *evict, uint32_t unit)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	return order->forget != NULL ? order->forget(evict, unit) : order->remove(evict, unit);
}
static inline void uvmpi_evict_own(struct uvmp_evict *evict, uint32_t unit, uint32_t owner)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	if (order->own != NULL)
		order->own(evict, unit, owner);
}
/* The set of tenants with listed units; the order has the trait has_groups. */
static inline uint32_t uvmpi_evict_tenants(const struct uvmp_evict *evict)
{
	return evict_order(evict)->tenants(evict);
}
static inline void uvmpi_evict_weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	if (order->weigh != NULL)
		order->weigh(evict, unit, frequency);
}
static inline void uvmpi_evict_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	if (order->spare != NULL)
		order->spare(evict, unit, is_spared);
}
static inline void uvmpi_evict_batch(struct uvmp_evict *evict)
{
	const struct eviction_order *order = evict_order(evict);

	if (order->batch != NULL)
		order->batch(evict);
}
static inline void uvmpi_evict_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	UVMPI_ASSERT(untouched <= pages && pages <= UVMP_EVICT_PAGES_MAX);
	if (order->left != NULL)
		order->left(evict, unit, pages, untouched);
}
static inline uint32_t uvmpi_evict_closure(const struct uvmp_evict *evict, struct uvmp_tree *tree, uint32_t evictable)
{
	const struct eviction_order *order = evict_order(evict);

	return order->closure != NULL ? order->closure(tree, evictable) : 0;
}
static inline enum uvmp_evict_choice uvmpi_evict_chosen(const struct uvmp_evict *evict)
{
	const struct eviction_order *order = evict_order(evict);

	return order->chosen != NULL ? order->chosen(evict) : UVMP_CHOICE_ORDER;
}
static inline uint32_t uvmpi_evict_together(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct eviction_order *order = evict_order_of_unit(evict, unit);

	return order->together != NULL ? order->together(evict, unit) : 0;
}
/* The first unit of the walk behind a reserve; there are units. evict->reserve_percent and evict->used are for callers of
 * uvmp_evict_victim only. `used` is a set of tenants that are in use, with the trait has_groups. */
enum uvmp_status uvmpi_evict_behind(struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
				    uint32_t reserve_percent, uint32_t used, uint32_t *unit);
/* The same with a reserve of 0 percent, too. An order of no units need not be set up. */
static inline enum uvmp_status uvmpi_evict_first(struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
						 uint32_t reserve_percent, uint32_t used, uint32_t *unit)
{
	if (evict->count == 0)
		return UVMP_ERR_NO_MEMORY;
	if (reserve_percent != 0)
		return uvmpi_evict_behind(evict, random, walk, reserve_percent, used, unit);
	return evict_order(evict)->victim(evict, random, 0, walk, used, unit);
}
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
