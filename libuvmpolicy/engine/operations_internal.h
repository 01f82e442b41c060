/* Operations: bottom half, requests, access counters, hot pages. */
#ifndef UVMPOLICY_OPERATIONS_INTERNAL_H
#define UVMPOLICY_OPERATIONS_INTERNAL_H

#include "service_internal.h"

/* -- bottom_half.c -- */

bool uvmpi_fault_is_due(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_advance(struct uvmp_service *s);
/* May room be made ahead, for faults of the batch behind the present block? *start: of the next block. */
bool uvmpi_fault_has_next(const struct uvmp_service *s, uvmp_addr *start);
/* Between two blocks of a batch, where requests may go first? */
bool uvmpi_fault_is_between(const struct uvmp_service *s);

/* -- request.c -- */

void uvmpi_request_start(struct uvmp_service *s);
void uvmpi_request_advance(struct uvmp_service *s);
/* Unpins what is due; true if it queued something. */
bool uvmpi_unpin_due(struct uvmp_service *s);

/* -- access_counter.c -- */

bool uvmpi_counter_is_due(const struct uvmp_service *s, uint32_t gpu);
void uvmpi_counter_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_counter_advance(struct uvmp_service *s);

/* -- hot.c: as access counters -- */

bool uvmpi_hot_is_due(const struct uvmp_service *s);
void uvmpi_hot_start(struct uvmp_service *s);
void uvmpi_hot_advance(struct uvmp_service *s);

#endif
