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
/* By which rule does the block that was notified last return without a draw? NONE: it does not. The call counts a return. */
enum uvmp_rule uvmpi_idle_rule(struct uvmp_service *s, uint32_t gpu);
/* The set of tenants that must not make room for it. */
uint32_t uvmpi_idle_used(const struct uvmp_service *s, uint32_t gpu);

#endif
