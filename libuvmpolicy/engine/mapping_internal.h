/* Mappings of one block. */
#ifndef UVMPOLICY_MAPPING_INTERNAL_H
#define UVMPOLICY_MAPPING_INTERNAL_H

#include "service_internal.h"

/* Queues UNMAP of the pages for each processor that has them mapped, but `except`; they are unmapped. */
void uvmpi_mapping_unmap(struct uvmp_service *s, handle block, const uvmp_mask *pages, uint64_t except,
			 struct reason reason);
/* Queues REVOKE: the processor keeps at most `right` on the pages. */
void uvmpi_mapping_revoke(struct uvmp_service *s, handle block, struct residency *residency,
			  const uvmp_mask *pages, uint8_t right);
/* Queues MAP of the pages, at least one; the caller sets `from` of the action, where the pages lie. */
struct uvmp_action *uvmpi_mapping_map(struct uvmp_service *s, handle block, struct residency *residency,
				      const uvmp_mask *pages, uint8_t right, struct reason reason);
/* Maps pages of the block on `proc` with at most `right`, where they lie (accessed-by and eviction); queues MAP. */
void uvmpi_mapping_map_remote(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages,
			      struct reason reason);
/* The same, with no more than the right to read. */
void uvmpi_mapping_map_reads(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages,
			     struct reason reason);

#endif
