/* Structures that carry their size (base.h): copies between the host's version of a structure and the library's. */
#ifndef UVMPOLICY_SIZED_INTERNAL_H
#define UVMPOLICY_SIZED_INTERNAL_H

#include "uvmpolicy/base.h"

/* Size of a structure that ends behind this field. */
#define SIZE_THROUGH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static inline bool uvmpi_sized_fits(size_t size, size_t least)
{
	return size >= least && size <= UVMP_SIZE_MAX;
}

/* Copies the host's structure `from` into the library's `to` of `bytes` bytes, and sets the size of `to`. Fields that the
 * host's version lacks become 0. UVMP_ERR_ARGUMENT: the size is below `least` or above UVMP_SIZE_MAX. UVMP_ERR_RANGE: a
 * byte behind the library's version is not 0. On errors `to` holds the fields that both know, or nothing. */
enum uvmp_status uvmpi_sized_read(void *to, size_t bytes, const void *from, size_t least);

/* Copies the library's structure `from` of `bytes` bytes into the host's `to` of `size` bytes, and sets the size of `to`.
 * Fields that the host's version lacks are left out; fields that the library's version lacks become 0.
 * UVMP_ERR_ARGUMENT: as above; `to` is unchanged. */
enum uvmp_status uvmpi_sized_write(void *to, size_t size, const void *from, size_t bytes, size_t least);

#endif
