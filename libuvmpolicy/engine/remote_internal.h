/* Counted accesses: what stays on the CPU, and what has become hot. */
#ifndef UVMPOLICY_REMOTE_INTERNAL_H
#define UVMPOLICY_REMOTE_INTERNAL_H

#include "service_internal.h"

/* The GPU uses a page that it holds, or has mapped: counted, and a page on the CPU may have become hot. */
void uvmpi_remote_use(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, bool is_write);
/* A fault of the GPU is serviced: counted. True: the page stays on the CPU. */
bool uvmpi_remote_keeps(struct uvmp_service *s, handle block, uint32_t gpu, uint32_t page, uint8_t access);
/* Queues MAP for these pages, and for what else of the block would stay, unless it is to arrive. */
void uvmpi_remote_map(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *remote,
		      const uvmp_mask *arriving);
/* Pages of the block begin to leave the GPU: a round trip. */
void uvmpi_remote_leave(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages);
/* Pages were evicted, to make room for the block at `for_address`. Queues MAP for those that a read would leave on the
 * CPU. */
void uvmpi_remote_map_evicted(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages,
			      uvmp_addr for_address);

#endif
