/* Functions of geometry.h without checks, for callers whose geometry, blocks and pages are valid: the engine. Sizes are powers
 * of two, so there is no division. */
#ifndef UVMPOLICY_GEOMETRY_INTERNAL_H
#define UVMPOLICY_GEOMETRY_INTERNAL_H

#include "bits_internal.h"
#include "uvmpolicy/geometry.h"

/* The block with `address` of the range [start, last], which holds the address: uvmp_geometry_block with
 * uvmp_geometry_block_index. */
static inline void uvmpi_geometry_block_at(const struct uvmp_geometry *geometry, uvmp_addr start, uvmp_addr last,
					   uvmp_addr address, struct uvmp_block *block)
{
	uint32_t page_shift = lowest_bit(geometry->page_bytes);
	uvmp_addr window = address & ~((uvmp_addr)geometry->block_bytes - 1u);
	uvmp_addr window_last = window + (geometry->block_bytes - 1u);

	block->start = window > start ? window : start;
	block->last = window_last < last ? window_last : last;
	block->pages = (uint32_t)((block->last - block->start + 1u) >> page_shift);
	block->offset = (uint32_t)(block->start & (geometry->big_page_bytes - 1u)) >> page_shift;
	block->big_pages = geometry->big_page_bytes >> page_shift;
}

/* Is the layout of a block possible? */
static inline bool uvmpi_is_block_shape(uint32_t pages, uint32_t offset, uint32_t big_pages)
{
	return big_pages - 1u < UVMP_MASK_BITS && (big_pages & (big_pages - 1u)) == 0 && offset < big_pages &&
	       pages - 1u < UVMP_MASK_BITS - offset;
}

/* Do the addresses of a block fit its layout, with pages of 1 << shift bytes? */
static inline bool uvmpi_is_block_of(const struct uvmp_block *block, uint32_t shift)
{
	uint64_t page = block->start >> shift;

	return block->last - block->start == ((uint64_t)block->pages << shift) - 1u && block->last >= block->start &&
	       page << shift == block->start && (page & (block->big_pages - 1u)) == block->offset;
}

/* Is this a whole block of 2 MiB with pages of 4 KiB and big pages of 64 KiB? Such a block is valid. */
static inline bool uvmpi_is_usual_block(const struct uvmp_block *block)
{
	return block->pages == UVMP_MASK_BITS && block->offset == 0 && block->big_pages == 16u &&
	       block->last - block->start == ((uint64_t)UVMP_MASK_BITS << 12) - 1u && (block->start & 0xffffu) == 0 &&
	       block->last >= block->start;
}

/* uvmp_block_is_valid. A block does not carry its page size, so one must be found that fits: 4, 16 or 64 KiB, or 2 MiB. */
UVMPI_INLINE bool uvmpi_block_is_valid(const struct uvmp_block *block)
{
	if (uvmpi_is_usual_block(block))
		return true;
	return uvmpi_is_block_shape(block->pages, block->offset, block->big_pages) &&
	       (uvmpi_is_block_of(block, 12) || uvmpi_is_block_of(block, 14) || uvmpi_is_block_of(block, 16) ||
		uvmpi_is_block_of(block, 21));
}

/* uvmp_block_big_pages. Counted from the boundary before the block, big pages start at multiples of their size. If the end
 * is rounded down to before the block, the region is empty; so the test precedes the subtraction of the offset. */
static inline struct uvmp_region uvmpi_block_big_pages(const struct uvmp_block *block, struct uvmp_region within)
{
	uint32_t mask = block->big_pages - 1u;
	uint32_t first = (minimum(within.first, block->pages) + block->offset + mask) & ~mask;
	uint32_t end = (minimum(within.end, block->pages) + block->offset) & ~mask;

	if (end <= first)
		return (struct uvmp_region){0, 0};
	return (struct uvmp_region){first - block->offset, end - block->offset};
}

/* As uvmp_block_chunk, of a block that is no whole root. */
static inline struct uvmp_region uvmpi_block_chunk_small(const struct uvmp_block *block, uint32_t page)
{
	uint32_t first = (page + block->offset) & ~(block->big_pages - 1u);

	if (first >= block->offset && first - block->offset + block->big_pages <= block->pages)
		return (struct uvmp_region){first - block->offset, first - block->offset + block->big_pages};
	return (struct uvmp_region){page, page + 1u};
}

#endif
