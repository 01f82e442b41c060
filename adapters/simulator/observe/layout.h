/* layout.h: where the managed allocations of a run lie in the numbers of its pages, in bounded memory. The numbers begin a
 * VABlock of 2 MiB for each allocation, so they have gaps behind smaller ones. Plain data, as the collector's. */
#ifndef UVMSIM_LAYOUT_H
#define UVMSIM_LAYOUT_H

#include "observe.h"

enum { LAYOUT_ALLOCATIONS = 8, LAYOUT_CHUNKS = 4096, LAYOUT_NAME = 32 };

struct layout_allocation {
	uint64_t page, address, bytes; /* its first page, as numbered */
	char name[LAYOUT_NAME];
};

struct layout {
	uint64_t allocations; /* the first LAYOUT_ALLOCATIONS are kept */
	struct layout_allocation allocation[LAYOUT_ALLOCATIONS];
	uint64_t chunk_pages; /* a power of two that doubles as the numbers grow */
	bool has_pages[LAYOUT_CHUNKS];
};

/* The layout begins as zeros. */
void layout_init(struct layout *layout);
/* An OBSERVE_BLOCK. */
void layout_add(struct layout *layout, const struct observe_event *event);
/* Does memory have one of these pages? Of chunks larger than the region the answer is that of the chunk. Without any
 * allocation nothing is known, and the answer is yes. */
bool layout_has(const struct layout *layout, uint64_t from, uint64_t end);

#endif
