/* memory.h: which pages are on the GPU, and which leave. One interface over the driver's root chunks
 * (evict=lru) and memory counted in pages with an eviction order of its own (the others). */
#ifndef UVMSIM_MEMORY_H
#define UVMSIM_MEMORY_H

#include "driver.h"
#include "space.h"

struct memory {
	const struct uvmp_policy *policy;
	struct space *space;
	struct driver_result *result;
	uint64_t *random;
	/* evict=lru */
	void *pmm_memory;
	struct uvmp_pmm *pmm;
	/* the others */
	void *order_memory;
	struct uvmp_evict order;
	uint32_t unit_pages;
	uint32_t blocks; /* room in the order */
	uint64_t capacity_pages, used_pages;
};

/* Builds the GPU's memory for the ranges known so far. */
bool memory_open(struct memory *memory, const struct uvmp_policy *policy, struct driver_memory size,
                 struct space *space, uint64_t *random, struct driver_result *result,
                 char error[SOURCE_ERROR_MAX]);
void memory_close(struct memory *memory);
/* Ranges have come: there are `blocks` blocks now. */
bool memory_grow(struct memory *memory, uint32_t blocks);

/* Makes room for pages of a block that are about to come. UVMP_ERR_RETRY: something was evicted for it,
 * decide again and come back. UVMP_ERR_NO_MEMORY: it cannot be done, or only by evicting a root in which
 * `keep` (may be NULL) has memory. */
enum uvmp_status memory_back(struct memory *memory, struct sim_block *block, const uvmp_mask *pages,
                             const struct sim_block *keep);
/* The pages have come. */
void memory_fill(struct memory *memory, struct sim_block *block, const uvmp_mask *pages);
/* The service of the block is over: what it pinned may be evicted again. is_served: pages came, so the block
 * is the most recently serviced; stale faults do not make it so. */
void memory_settle(struct memory *memory, struct sim_block *block, bool is_served);
/* A resident page was accessed. */
void memory_touch(struct memory *memory, struct sim_block *block, uint32_t page);

#endif
