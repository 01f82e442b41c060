/* remote=auto: which data of a GPU are idle. The residencies are GPUs'. */
#ifndef UVMPOLICY_REMOTE_IDLE_INTERNAL_H
#define UVMPOLICY_REMOTE_IDLE_INTERNAL_H

#include "service_internal.h"

/* The GPU maps pages of the block on other processors: they were evicted, or begin there. */
void uvmpi_idle_leave(struct uvmp_service *s, const struct block *b, struct residency *residency);
/* Memory is taken for pages of the block, or the residency ends. */
void uvmpi_idle_return(struct uvmp_service *s, struct residency *residency);
/* So many accesses to the block were notified. */
void uvmpi_idle_note(struct uvmp_service *s, const struct block *b, struct residency *residency, uint64_t accesses);
/* Has an idle tenant resident blocks, so that the block that was notified last may return without a draw? */
bool uvmpi_idle_gives_room(const struct uvmp_service *s, uint32_t gpu);
/* The set of tenants that must not make room for it. */
uint32_t uvmpi_idle_used(const struct uvmp_service *s, uint32_t gpu);

#endif
