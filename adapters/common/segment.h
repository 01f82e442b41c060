/* segment.h: which segment of the program, or of a shared object, holds an address. */
#ifndef UVMP_HOST_SEGMENT_H
#define UVMP_HOST_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

/* A loaded segment: code, or data; as zeros it holds nothing. */
struct segment {
	uintptr_t first, end;
};

static inline bool segment_has(const struct segment *segment, uintptr_t address)
{
	return address - segment->first < segment->end - segment->first;
}

/* The loaded segment that holds the address. False, and *segment is unchanged: none does. Not async-signal-safe; allocates
 * nothing. */
bool segment_find(uintptr_t address, struct segment *segment);

#endif
