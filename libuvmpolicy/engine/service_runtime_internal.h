/* runtime=on: the pattern engine, and what follows from it. All functions are without effect unless runtime=on. */
#ifndef UVMPOLICY_SERVICE_RUNTIME_INTERNAL_H
#define UVMPOLICY_SERVICE_RUNTIME_INTERNAL_H

#include "service_internal.h"

#define KERNELS_MAX 64u /* running at the same time, that runtime=on knows of */

uint64_t uvmpi_runtime_bytes(const struct uvmp_service_params *params);
void uvmpi_runtime_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory);
/* A range was added, or begins here now; `last` is the last byte of its last piece. If the arena has space, its blocks
 * can be logged. The range is removed. */
void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr last);
void uvmpi_runtime_forget(struct uvmp_service *s, uint32_t slot);
/* Where the array of an allocation comes from; it has one. */
enum slab uvmpi_runtime_slab(const struct uvmp_service *s, uint32_t allocation);
/* With runtime=on: basic blocks that a tree prefetcher has scheduled. Queues PATTERN where the allocation's has changed. */
void uvmpi_runtime_log(struct uvmp_service *s, const struct block *b, uint32_t basic_blocks);
/* Memory is full: what do the patterns so far say? */
void uvmpi_runtime_judge(struct uvmp_service *s);
/* A victim begins to leave: queues PATTERN where that has changed since. */
void uvmpi_runtime_tell(struct uvmp_service *s);
/* Does evict=tbne still send 2 MiB away? */
bool uvmpi_runtime_evicts_whole(const struct uvmp_service *s);

#endif
