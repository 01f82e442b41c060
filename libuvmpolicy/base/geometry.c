/* Pages, big pages and VABlocks of a range; trees over leaves; rounding of allocations. All sizes are powers
 * of two, so all calculations are shifts and masks:
 *
 *  - A range is cut at absolute multiples of the block size, so only its first and last block can be short.
 *  - Big pages are aligned to absolute addresses too; a block knows how far behind such a boundary it starts.
 *  - A tree over n leaves is the complete tree over the next power of two without the nodes that have no leaf
 *    below them: a level has ceil(n / 2^height) nodes.
 *  - An allocation is full trees of 2 MiB from its start, then one smaller tree for the rest, rounded up to a
 *    power of two.
 */
#include "uvmpolicy/geometry.h"

#include "bits_internal.h"
#include "geometry_internal.h"

#define PAGE_SHIFT_MIN 12u /* 4 KiB */

static uint64_t align_down(uint64_t x, uint64_t size)
{
	return x & ~(size - 1u);
}

/* -- page sizes -- */

bool uvmp_geometry_is_valid(const struct uvmp_geometry *geometry)
{
	return geometry != NULL && is_page_size(geometry->page_bytes) &&
	       is_power_of_two(geometry->big_page_bytes) && is_power_of_two(geometry->block_bytes) &&
	       geometry->page_bytes <= geometry->big_page_bytes &&
	       geometry->big_page_bytes <= geometry->block_bytes &&
	       geometry->block_bytes <= geometry->page_bytes * UVMP_MASK_BITS;
}

enum uvmp_status uvmp_geometry_init(struct uvmp_geometry *geometry, uint32_t page_bytes,
				    uint32_t big_page_bytes, uint32_t block_bytes)
{
	struct uvmp_geometry g = {page_bytes, big_page_bytes, block_bytes};

	if (geometry == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!uvmp_geometry_is_valid(&g))
		return UVMP_ERR_RANGE;
	*geometry = g;
	return UVMP_OK;
}

/* -- VABlocks -- */

/* last + 1 may be 2^64, which wraps to 0 and is aligned. */
static bool is_range(const struct uvmp_geometry *geometry, uvmp_addr start, uvmp_addr last)
{
	return start <= last && ((start | (last + 1u)) & (geometry->page_bytes - 1u)) == 0;
}

uint64_t uvmp_geometry_block_count(const struct uvmp_geometry *geometry, uvmp_addr start, uvmp_addr last)
{
	if (!uvmp_geometry_is_valid(geometry) || !is_range(geometry, start, last))
		return 0;
	return last / geometry->block_bytes - start / geometry->block_bytes + 1u;
}

uint64_t uvmp_geometry_block_index(const struct uvmp_geometry *geometry, uvmp_addr start, uvmp_addr addr)
{
	if (!uvmp_geometry_is_valid(geometry) || addr < start)
		return UINT64_MAX;
	return addr / geometry->block_bytes - start / geometry->block_bytes;
}

enum uvmp_status uvmp_geometry_block(const struct uvmp_geometry *geometry, uvmp_addr start, uvmp_addr last,
				     uint64_t index, struct uvmp_block *block)
{
	uvmp_addr first;

	if (block == NULL || !uvmp_geometry_is_valid(geometry))
		return UVMP_ERR_ARGUMENT;
	if (index >= uvmp_geometry_block_count(geometry, start, last))
		return UVMP_ERR_RANGE;
	first = align_down(start, geometry->block_bytes) + index * geometry->block_bytes;
	uvmpi_geometry_block_at(geometry, start, last, first, block);
	return UVMP_OK;
}

enum uvmp_status uvmp_block_from_shape(uint32_t pages, uint32_t offset, uint32_t big_pages,
				       struct uvmp_block *block)
{
	if (block == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!uvmpi_is_block_shape(pages, offset, big_pages))
		return UVMP_ERR_RANGE;
	block->start = (uvmp_addr)offset << PAGE_SHIFT_MIN;
	block->last = block->start + ((uvmp_addr)pages << PAGE_SHIFT_MIN) - 1u;
	block->pages = pages;
	block->offset = offset;
	block->big_pages = big_pages;
	return UVMP_OK;
}

bool uvmp_block_is_valid(const struct uvmp_block *block)
{
	return block != NULL && uvmpi_block_is_valid(block);
}

struct uvmp_region uvmp_block_big_pages(const struct uvmp_block *block, struct uvmp_region within)
{
	struct uvmp_region none = {0, 0};

	return uvmp_block_is_valid(block) ? uvmpi_block_big_pages(block, within) : none;
}

struct uvmp_region uvmp_block_chunk(const struct uvmp_block *block, uint32_t page)
{
	struct uvmp_region chunk = {0, 0};

	if (!uvmp_block_is_valid(block) || page >= block->pages)
		return chunk;
	/* Root chunks are naturally aligned: 2 MiB that straddle two windows are backed by smaller ones. */
	if (block->last - block->start + 1u == UVMP_ROOT_CHUNK_BYTES &&
	    block->start % UVMP_ROOT_CHUNK_BYTES == 0) {
		chunk.end = block->pages;
		return chunk;
	}
	return uvmpi_block_chunk_small(block, page);
}

/* -- allocations -- */

enum uvmp_status uvmp_allocation_round(uint64_t bytes, struct uvmp_allocation *allocation)
{
	uint64_t trees = bytes / UVMP_LARGE_PAGE_BYTES;
	uint32_t rest = (uint32_t)(bytes % UVMP_LARGE_PAGE_BYTES);
	uint32_t tail = rest != 0 ? UVMP_BASIC_BLOCK_BYTES : 0;

	if (allocation == NULL)
		return UVMP_ERR_ARGUMENT;
	if (bytes == 0)
		return UVMP_ERR_RANGE;
	while (tail < rest)
		tail *= 2u;
	if (tail == UVMP_LARGE_PAGE_BYTES) {
		if (trees == UINT64_MAX / UVMP_LARGE_PAGE_BYTES)
			return UVMP_ERR_RANGE;
		trees++;
		tail = 0;
	}
	allocation->rounded_bytes = trees * UVMP_LARGE_PAGE_BYTES + tail;
	allocation->large_trees = trees;
	allocation->tail_bytes = tail;
	return UVMP_OK;
}
