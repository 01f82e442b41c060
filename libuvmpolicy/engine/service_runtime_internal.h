/* runtime=on: the pattern engine, and what follows from it. All functions are without effect unless runtime=on. */
#ifndef UVMPOLICY_SERVICE_RUNTIME_INTERNAL_H
#define UVMPOLICY_SERVICE_RUNTIME_INTERNAL_H

#include "runtime_logs_internal.h"

/* With runtime=on: basic blocks that a tree prefetcher has scheduled. Queues PATTERN where the allocation's has changed. */
void uvmpi_runtime_log(struct uvmp_service *s, const struct block *b, uint32_t basic_blocks);
/* Memory is full: what do the patterns so far say? */
void uvmpi_runtime_judge(struct uvmp_service *s);
/* A victim begins to leave: queues PATTERN where that has changed since. */
void uvmpi_runtime_tell(struct uvmp_service *s);
/* Does evict=tbne still send 2 MiB away? */
bool uvmpi_runtime_evicts_whole(const struct uvmp_service *s);

#endif
