/* Structures that carry their size: the first member, a uint32_t. */
#include "sized_internal.h"

static void copy(uint8_t *to, size_t to_bytes, const uint8_t *from, size_t from_bytes)
{
	const uint32_t size = (uint32_t)to_bytes;
	size_t both = to_bytes < from_bytes ? to_bytes : from_bytes;

	__builtin_memcpy(to, from, both);
	__builtin_memset(to + both, 0, to_bytes - both);
	__builtin_memcpy(to, &size, sizeof(size));
}

enum uvmp_status uvmpi_sized_read(void *to, size_t bytes, const void *from, size_t least)
{
	const uint8_t *source = (const uint8_t *)from;
	uint32_t size;

	__builtin_memcpy(&size, from, sizeof(size));
	if (!uvmpi_sized_fits(size, least))
		return UVMP_ERR_ARGUMENT;
	copy((uint8_t *)to, bytes, source, size);
	for (size_t i = bytes; i < size; i++) {
		if (source[i] != 0)
			return UVMP_ERR_RANGE;
	}
	return UVMP_OK;
}

enum uvmp_status uvmpi_sized_write(void *to, size_t size, const void *from, size_t bytes, size_t least)
{
	if (!uvmpi_sized_fits(size, least))
		return UVMP_ERR_ARGUMENT;
	copy((uint8_t *)to, size, (const uint8_t *)from, bytes);
	return UVMP_OK;
}
