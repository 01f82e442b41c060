/* record_memory.h: the memory that recorded events use, cut into segments at the ends of allocations and of the VABlocks that
 * fault. Says which segments a range still has to declare, which memory no allocation announces, and which releases are final.
 * Each step takes O(log n) time or less for each event and segment. */
#ifndef UVMP_CUDA_RECORD_MEMORY_H
#define UVMP_CUDA_RECORD_MEMORY_H

#include "record_events.h"

struct record_memory {
	uint64_t *cut; /* ascending; segment i is [cut[i], cut[i + 1]) */
	size_t segments;
	size_t *next; /* the first segment at or after this one that is not declared, or a step towards it */
	bool *is_unknown;
};

/* The events are sorted by time. Completes the releases among them. False: out of memory. */
bool record_memory_open(struct record_memory *memory, struct cuda_record *record);
void record_memory_close(struct record_memory *memory);

/* Finds the first run of segments of [*base, end) that are not declared, and declares them. False: every segment is declared. */
bool record_memory_declare(struct record_memory *memory, uint64_t *base, uint64_t end, uint64_t *run_end);
/* Likewise of the segments at or after *base that are used and that no allocation announces. */
bool record_memory_unknown(struct record_memory *memory, uint64_t *base, uint64_t *run_end);

#endif
