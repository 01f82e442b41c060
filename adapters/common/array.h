/* array.h: arrays that grow. Counts are 64 bits wide on every host: where a count exceeds what size_t can
 * hold (a host of 32 bits), the functions fail as malloc does, instead of allocating less. */
#ifndef UVMP_HOST_ARRAY_H
#define UVMP_HOST_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As realloc: returns NULL and keeps the old array if memory is short. `each` is at least 1. */
static inline void *array_again(void *old, uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : realloc(old, (size_t)count * each);
}

/* As calloc: filled with zeros. */
static inline void *array_zeros(uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : calloc((size_t)count, each);
}

#define ARRAY_CAPACITY_LEAST 16u

/* The capacity for `count` elements: the present one, doubled as often as needed. */
static inline uint64_t array_capacity(uint64_t capacity, uint64_t count)
{
	if (capacity < ARRAY_CAPACITY_LEAST)
		capacity = ARRAY_CAPACITY_LEAST;
	while (capacity < count)
		capacity *= 2u;
	return capacity;
}

/* Gives `array` (a pointer, an lvalue) space for `count` elements; `capacity` (an unsigned lvalue) is how many
 * fit. The value is false if memory is short: then neither has changed. Arguments are evaluated more than
 * once. Cost: amortised O(1) an element. */
#define ARRAY_RESERVE(array, capacity, count)                                                                \
	((count) <= (capacity) || __extension__({                                                            \
		 uint64_t array_most = array_capacity((capacity), (count));                                  \
		 void *array_fresh = array_again((array), array_most, sizeof(*(array)));                     \
		 if (array_fresh) {                                                                          \
			 (array) = array_fresh;                                                              \
			 (capacity) = (__typeof__(capacity))array_most;                                      \
		 }                                                                                           \
		 array_fresh != NULL;                                                                        \
	 }))

/* Resizes `array` (a pointer, an lvalue) from `from` to `to` elements, of which the new ones are zero. The
 * value is false if memory is short: then the array is as it was. */
#define ARRAY_RESIZE(array, from, to)                                                                        \
	__extension__({                                                                                      \
		uint64_t array_from = (from), array_to = (to);                                               \
		void *array_fresh = array_again((array), array_to, sizeof(*(array)));                        \
		if (array_fresh) {                                                                           \
			(array) = array_fresh;                                                               \
			if (array_to > array_from)                                                           \
				memset((array) + array_from, 0,                                              \
				       (size_t)(array_to - array_from) * sizeof(*(array)));                  \
		}                                                                                            \
		array_fresh != NULL;                                                                         \
	})

/* Opens a gap of one element at index `at` of an array with `count` elements and space for another. */
#define ARRAY_OPEN(array, count, at)                                                                         \
	memmove((array) + (at) + 1, (array) + (at), (size_t)((count) - (at)) * sizeof(*(array)))

#endif
