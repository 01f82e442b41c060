/* One row of the table of eviction orders, and the rows. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "uvmpolicy/evict.h"

/* What an order does. evict.c has checked all arguments before it calls one of these, but for `random`. */
struct uvmp_evict_order {
	const char *name;
	uint32_t unit_pages;
	uint32_t unit_bytes; /* memory per unit; 0: the order has no state here, and no functions */
	void (*init)(struct uvmp_evict *evict, void *memory);
	bool (*is_valid)(const struct uvmp_evict *evict);
	void (*touch)(struct uvmp_evict *evict, uint32_t unit);
	void (*remove)(struct uvmp_evict *evict, uint32_t unit);
	/* evict->count is not 0 */
	enum uvmp_status (*victim)(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
};

extern const struct uvmp_evict_order uvmp_evict_lru_2m;
extern const struct uvmp_evict_order uvmp_evict_lru_4k;
extern const struct uvmp_evict_order uvmp_evict_random_4k;

#endif
