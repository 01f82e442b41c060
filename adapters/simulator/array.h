/* array.h: memory for as many as there are, counted in 64 bits on every host. Where that is more than a size can
 * say (a host of 32 bits), it fails as malloc does, instead of giving less. */
#ifndef UVMSIM_ARRAY_H
#define UVMSIM_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

/* As realloc: of what there was, or NULL. `each` is at least 1. */
static inline void *array_again(void *old, uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : realloc(old, (size_t)count * each);
}

/* As calloc: filled with zeros. */
static inline void *array_zeros(uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : calloc((size_t)count, each);
}

#endif
