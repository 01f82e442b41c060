/* The logs of the pattern engine: what was scheduled of each allocation. All functions are without effect unless runtime=on. */
#ifndef UVMPOLICY_RUNTIME_LOGS_INTERNAL_H
#define UVMPOLICY_RUNTIME_LOGS_INTERNAL_H

#include "service_internal.h"

#define KERNELS_MAX 64u /* running at the same time, that runtime=on knows of */

/* The window of 2 MiB in which the address lies. */
static inline uint64_t uvmpi_runtime_window(uvmp_addr address)
{
	return address >> 21u;
}

uint64_t uvmpi_runtime_bytes(const struct uvmp_service_params *params);
void uvmpi_runtime_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory);
/* A range was added, or begins here now; `last` is the last byte of its last piece. If the arena has space, its blocks
 * can be logged. */
void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr last);
/* The range is removed. */
void uvmpi_runtime_forget(struct uvmp_service *s, uint32_t slot);
/* Where the array of an allocation comes from; it has one. */
enum slab uvmpi_runtime_slab(const struct uvmp_service *s, uint32_t allocation);

#endif
