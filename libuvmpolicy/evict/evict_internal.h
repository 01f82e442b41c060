/* What an eviction order is made of: eight functions uvmp_evict_FILE_VERB. evict.c has checked all arguments
 * before it calls one of them, but for `random`; victim is called only while `rank`, the number of units to be
 * passed over, is below evict->count. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "uvmpolicy/evict.h"

/* What a search has found becomes *unit. UVMP_ERR_NO_MEMORY: nothing. */
static inline enum uvmp_status uvmp_evict_found(uint32_t found, uint32_t *unit)
{
	if (found == UVMP_UNIT_NONE)
		return UVMP_ERR_NO_MEMORY;
	*unit = found;
	return UVMP_OK;
}

/* Of a valid list: is the unit on it? */
static inline bool uvmp_recency_is_listed(const struct uvmp_recency *list, uint32_t unit)
{
	return unit < list->begun && list->link[unit].next != unit;
}

/* evict_recency.c: takes a unit off a valid list that holds it. */
void uvmp_recency_take_off(struct uvmp_recency *list, uint32_t unit);

static inline bool uvmp_grouped_is_listed(const struct uvmp_grouped *list, uint32_t unit)
{
	return unit < list->begun && list->link[unit].next != unit;
}

/* evict_grouped.c: takes a unit off a valid list that holds it. */
void uvmp_grouped_take_off(struct uvmp_grouped *list, uint32_t unit);

/* evict_lru.c: both units */
void uvmp_evict_lru_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_lru_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_lru_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lru_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lru_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lru_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_lru_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_lru_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_random.c */
void uvmp_evict_random_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_random_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_random_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_random_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_random_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_random_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_random_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_random_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_sl.c: both basic-block orders */
void uvmp_evict_sl_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_sl_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_sl_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_sl_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_sl_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_sl_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_sl_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_sl_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_lfu.c */
void uvmp_evict_lfu_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_lfu_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_lfu_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lfu_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lfu_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lfu_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_lfu_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_lfu_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_clock.c */
void uvmp_evict_clock_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_clock_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_clock_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_clock_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_clock_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_clock_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_clock_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_clock_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_mhpe.c */
void uvmp_evict_mhpe_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_mhpe_is_valid(const struct uvmp_evict *evict);
bool uvmp_evict_mhpe_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_mhpe_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_mhpe_remove(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_mhpe_forget(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_mhpe_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				      uint32_t *unit);
enum uvmp_status uvmp_evict_mhpe_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);
/* What it alone has: */
void uvmp_evict_mhpe_batch(struct uvmp_evict *evict);
void uvmp_evict_mhpe_left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched);

#endif
