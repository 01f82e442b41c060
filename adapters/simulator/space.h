/* space.h: where addresses lie. Ranges, their VABlocks, and what is known of each page. */
#ifndef UVMSIM_SPACE_H
#define UVMSIM_SPACE_H

#include "source.h"
#include "uvmpolicy/uvmpolicy.h"

#define PAGE_BYTES 4096u
#define ROOT_BYTES 2097152u

struct sim_range;

/* One VABlock, as the simulated machine sees it: what the engine's actions have made of it. */
struct sim_block {
	struct uvmp_block shape;
	struct sim_range *range;
	uint16_t mapped;     /* pages that the GPU can reach; kept by the machine only */
	uvmp_mask resident;  /* on the GPU */
	/* the rights of CPU and GPU on each page, enum uvmp_prot as two bits */
	uvmp_mask low[2], high[2];
	uvmp_mask evicted;   /* evicted at least once */
	uvmp_mask unused;    /* prefetched and not touched since */
	uvmp_mask touched;   /* ever */
};

struct sim_range {
	uint64_t start, end; /* inclusive */
	uint64_t pages;
	struct sim_block *block;
	uint64_t blocks;
};

struct space {
	struct uvmp_geometry geometry;
	struct sim_range **range; /* by start */
	size_t ranges;
	struct sim_range *last; /* last one found */
	uint32_t blocks, page_bytes;
	uint64_t footprint_bytes;
};

/* GPU memory in whole roots: `bytes` rounded down; or, if that is 0, as much as makes `footprint` oversub_percent
 * of it, rounded up, so that at 100 % everything fits. */
static inline uint64_t space_memory_bytes(uint64_t bytes, uint32_t oversub_percent, uint64_t footprint)
{
	if (bytes == 0)
		bytes = footprint * 100u / oversub_percent + ROOT_BYTES - 1u;
	return bytes / ROOT_BYTES * ROOT_BYTES;
}

/* For a host with pages of this size: 4096 or 65536. */
bool space_open(struct space *space, uint32_t page_bytes);
void space_close(struct space *space);
/* Adds a range, its size rounded up to whole pages. */
bool space_add_range(struct space *space, const struct source_range *range, char error[SOURCE_ERROR_MAX]);
/* The block and page of an address; NULL outside every range. */
struct sim_block *space_find(struct space *space, uint64_t address, uint32_t *page);
/* Pages prefetched and never touched, over all blocks. */
uint64_t space_unused_pages(const struct space *space);

#endif
