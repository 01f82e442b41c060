/* Questions about one fault that are asked for each fault, without checks. */
#ifndef UVMPOLICY_FAULT_INTERNAL_H
#define UVMPOLICY_FAULT_INTERNAL_H

#include "uvmpolicy/fault.h"

/* As uvmp_access_right; `access` is not NONE. */
static inline enum uvmp_right uvmpi_access_right(enum uvmp_access access)
{
	if (access == UVMP_ACCESS_ATOMIC_STRONG)
		return UVMP_RIGHT_READ_WRITE_ATOMIC;
	return access >= UVMP_ACCESS_WRITE ? UVMP_RIGHT_READ_WRITE : UVMP_RIGHT_READ;
}

/* As uvmp_fault_is_same_page. */
static inline bool uvmpi_fault_is_same_page(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->va_space == b->va_space && a->address == b->address;
}

/* Merged faults of a representative. A host that does not fetch leaves 0. */
static inline uint32_t uvmpi_fault_instances(const struct uvmp_fault *fault)
{
	return fault->num_instances + (fault->num_instances == 0 ? 1u : 0u);
}

#endif
