/* Evictions. */
#ifndef UVMPOLICY_EVICTION_INTERNAL_H
#define UVMPOLICY_EVICTION_INTERNAL_H

#include "service_internal.h"

/* Chooses the next victim and begins its eviction; the next advance queues the first actions. UVMP_ERR_NO_MEMORY:
 * nothing may be evicted. */
enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, struct job *job, uint32_t gpu,
				   enum uvmp_chunk_size size, bool is_ahead);
/* The same for pages that arrive later, if memory is full: one root, or units until there is room for a unit. Pages of the
 * present job stay. False: nothing has begun. */
bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, struct job *job, uint32_t gpu,
		       uvmp_addr for_address);
/* Decides the next thing of the eviction: a block leaves, its copies are done, or the end. */
void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e);
/* free_buffer (page-wise orders): between two batches, begins an eviction if less memory is free than the policy wants.
 * `for_address` is the first block of the batch. False: nothing has begun. */
bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address);

#endif
