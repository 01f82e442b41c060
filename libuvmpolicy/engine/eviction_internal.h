/* Evictions. */
#ifndef UVMPOLICY_EVICTION_INTERNAL_H
#define UVMPOLICY_EVICTION_INTERNAL_H

#include "service_internal.h"

/* Begins to send away the next victim; queues nothing, the next advance does. UVMP_ERR_NO_MEMORY. */
enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, const struct job *job, uint32_t gpu,
				   enum uvmp_chunk_size size, bool is_ahead);
/* The same for pages that come later, if there is need: the next victim, and with page-wise orders so many of them
 * that there is room for a unit. What the present step brings stays. False: nothing has begun. */
bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, const struct job *job, uint32_t gpu,
		       uvmp_addr for_address);
/* Decides the next thing of the eviction: a block to send away, what became of it, or the end. */
void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e);
/* free_buffer (page-wise orders): between two batches, is less free than there should be, and has an eviction
 * begun for that? `for_address` is the block that the batch begins with. */
bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address);

#endif
