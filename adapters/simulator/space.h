/* space.h: where addresses lie. Ranges, their VABlocks, and what is known of each page. */
#ifndef UVMSIM_SPACE_H
#define UVMSIM_SPACE_H

#include "source.h"
#include "uvmpolicy/uvmpolicy.h"

#define PAGE_BYTES 4096u
#define ROOT_BYTES 2097152u

struct sim_range;

/* One VABlock. Pages not resident on the GPU are on the CPU: every page starts there. */
struct sim_block {
	struct uvmp_block shape;
	struct sim_range *range;
	uint64_t range_page; /* page of the range that is page 0 of the block */
	uint32_t id;         /* number over all ranges */
	uvmp_mask resident;  /* on the GPU */
	uvmp_mask evicted;   /* evicted at least once */
	uvmp_mask unused;    /* prefetched and not touched since */
	uvmp_mask touched;   /* ever */
	uvmp_mask backed;    /* evict=lru: pages for which a chunk is allocated */
	uvmp_mask pinned;    /* evict=lru: first pages of chunks allocated by the service that is going on */
	struct uvmp_chunk *chunk; /* evict=lru: by first page; one for a block of 2 MiB */
	struct uvmp_prefetch_state prefetch;
};

struct sim_range {
	uint64_t start, end; /* inclusive */
	uint64_t pages;
	struct sim_block *block;
	uint64_t blocks;
	struct uvmp_prefetch_range prefetch;
};

struct space {
	struct uvmp_geometry geometry;
	struct sim_range **range; /* by start */
	size_t ranges;
	struct sim_range *last; /* last one found */
	struct sim_block **by_id;
	uint32_t blocks;
	uint64_t footprint_bytes;
};

bool space_open(struct space *space);
void space_close(struct space *space);
/* Adds a range, its size rounded up to whole pages. */
bool space_add_range(struct space *space, const struct source_range *range, char error[SOURCE_ERROR_MAX]);
/* The block and page of an address; NULL outside every range. */
struct sim_block *space_find(struct space *space, uint64_t address, uint32_t *page);
/* The block that holds a page of a range. */
struct sim_block *space_range_block(const struct sim_range *range, uint64_t page);
/* The block's prefetch state; with_tree: its tree is made on first use (missing if out of memory). */
struct uvmp_prefetch_state *space_prefetch_state(struct sim_block *block, bool with_tree);
/* Pages prefetched and never touched, over all blocks. */
uint64_t space_unused_pages(const struct space *space);

#endif
