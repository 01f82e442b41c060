/* space.h: the address space: ranges, their VABlocks, and the state of each page. */
#ifndef UVMSIM_SPACE_H
#define UVMSIM_SPACE_H

#include "source.h"
#include "uvmpolicy/uvmpolicy.h"

#define PAGE_BYTES     4096u
#define BIG_PAGE_BYTES 65536u
#define ROOT_BYTES     2097152u

struct sim_range;

/* An access counter of the GPU (counters.h). */
struct sim_counter {
	uint32_t uses, sub; /* sub: bit k: the k-th 64 KiB of the 2 MiB was used */
	bool has_notified;
};

/* A cache line of the machine that simulates. */
#define LINE_BYTES 64u

/* One VABlock of the simulated system, in the state that the engine's actions have given it. With a large footprint each access
 * finds its block outside of the caches: masks have lines of their own, and the first line says which masks need no look. */
struct sim_block {
	_Alignas(LINE_BYTES) struct uvmp_block shape;
	struct sim_range *range;
	uint32_t number;  /* of the block, over all ranges */
	uint32_t waiting; /* untimed only: the first of the stalled agents (agents.h) */
	/* Has the mask ever had a page? `unused` and `evicted`; untimed only: `remote`. */
	bool had_unused, had_evicted, had_remote;
	/* timed only: */
	bool is_split;	  /* the rights on these pages are not alike: no TLB's entry holds all of them */
	uint16_t mapped;  /* pages that the GPU can reach */
	uint16_t version; /* changes when the TLBs' entries of the block are dropped */
	/* the rights of CPU and GPU on each page, enum uvmp_right as two bits */
	_Alignas(LINE_BYTES) uvmp_mask low[2];
	uvmp_mask high[2];
	uvmp_mask resident; /* on the GPU */
	uvmp_mask touched;  /* ever */
	uvmp_mask evicted;  /* at least once */
	uvmp_mask unused;   /* prefetched and not touched since */
	uvmp_mask remote;   /* pages that the GPU can reach and that are resident on the CPU */
	/* timed only: */
	uint64_t frame_base; /* where page 0 lies in the memory of the GPU, if */
	uint32_t frame_end;  /* so many pages from it on lie behind one another */
	uvmp_mask written;  /* by the GPU since they arrived */
	uint64_t event_ns;  /* when the GPU sees the last change of its page tables that is queued; unused with maps_copies */
	uint64_t copied_ns; /* the last copy of the block has ended */
	uint32_t staged;    /* victims of it that are noted in staged.h */
	/* as `version`, of these pages, and of what is in them */
	uint16_t big_version[ROOT_BYTES / BIG_PAGE_BYTES];
	struct sim_counter counter;
	/* the right on each page that the driver has given the GPU, as low and high, and the pages that it has so mapped on the
	 * CPU; the GPU sees them later */
	uvmp_mask given_low, given_high, given_remote;
	/* the right that the batch of this number wants (fault_buffer.h) */
	uvmp_mask wanted_low, wanted_high;
	uint64_t batch;
};

struct sim_range {
	uint64_t start, last; /* bytes, both included */
	uint64_t pages;
	bool is_fresh, is_device; /* as in struct source_range */
	struct sim_block *block;
	uint64_t blocks;
};

/* A part of a range that was not freed. Its blocks stay as they were. */
struct sim_piece {
	uint64_t start, last; /* bytes, both included */
	struct sim_range *range;
};

struct space {
	struct uvmp_geometry geometry;
	struct sim_range *
		*range; /* by start; freed ones, too, beside which there may be others in the same place */
	size_t ranges, ranges_room;
	struct sim_piece *piece; /* by start */
	size_t pieces, pieces_room;
	struct sim_piece found; /* by the latest look-up; without a range: none */
	uint32_t blocks;	/* of the managed ranges that were not freed */
	uint32_t numbers;	/* given to blocks so far */
	uint32_t page_bytes, page_shift;
	uint64_t footprint_bytes; /* of managed ranges, freed ones, too */
	uint64_t device_bytes;	  /* of the others, each in whole roots */
};

/* What a processor may do with a page: enum uvmp_right. */
static inline uint32_t right_on(const struct sim_block *block, uint32_t processor, uint32_t page)
{
	return (uint32_t)uvmp_mask_test(&block->low[processor], page) |
	       (uint32_t)uvmp_mask_test(&block->high[processor], page) << 1;
}

/* GPU memory in whole roots: `bytes` rounded down; or, if `bytes` is 0, the memory of which `footprint` is
 * oversub_percent, rounded up, so that at 100 % all data fits. */
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
/* [start, start + bytes), whole pages of ranges, leaves its ranges; other ranges may be added there.
 * False: out of memory. */
bool space_free(struct space *space, uint64_t start, uint64_t bytes);
/* The block and page of an address; NULL outside every range, and in freed memory. */
struct sim_block *space_find(struct space *space, uint64_t address, uint32_t *page);
/* Asks for the lines of the block that a look at the GPU's right on the address reads. */
static inline void space_prefetch(const struct space *space, uint64_t address)
{
	const struct sim_piece *piece = &space->found;
	const struct sim_block *block;

	if (!piece->range || address < piece->start || address > piece->last)
		return;
	block = &piece->range->block[address / ROOT_BYTES - piece->range->start / ROOT_BYTES];
	__builtin_prefetch(block, 1);
	__builtin_prefetch(&block->low[1], 1);
	__builtin_prefetch(&block->high[1], 1);
}
/* Pages prefetched and never touched, over all blocks. */
uint64_t space_unused_pages(const struct space *space);

#endif
