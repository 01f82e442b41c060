/* What an eviction order is made of: five functions uvmp_evict_FILE_VERB. evict.c has checked all arguments
 * before it calls one of them, but for `random`; victim is called only while evict->count is not 0. */
#ifndef UVMPOLICY_EVICT_INTERNAL_H
#define UVMPOLICY_EVICT_INTERNAL_H

#include "uvmpolicy/evict.h"

/* evict_lru.c: both units */
void uvmp_evict_lru_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_lru_is_valid(const struct uvmp_evict *evict);
void uvmp_evict_lru_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_lru_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_lru_victim(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

/* evict_random.c */
void uvmp_evict_random_init(struct uvmp_evict *evict, void *memory);
bool uvmp_evict_random_is_valid(const struct uvmp_evict *evict);
void uvmp_evict_random_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmp_evict_random_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmp_evict_random_victim(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

#endif
