/* geometry.h: pages, big pages and VABlocks of an address; how ranges are cut and rounded.
 *
 * Sources: the driver's block cutting and big-page rule [driver: block-geometry], chunk sizes
 * [driver: root-chunks]; allocation rounding and trees of UVM Smart [uvmsmart: allocation-rounding].
 */
#ifndef UVMPOLICY_GEOMETRY_H
#define UVMPOLICY_GEOMETRY_H

#include "base.h"
#include "mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- page sizes ------------------------------------------------------------------------------ */

/* Page sizes of a host. Fill with uvmp_geometry_init; all are powers of two. The driver tracks PAGE_SIZE of
 * its kernel: 4 KiB, and on arm64 also 16 or 64 KiB. Pages of 2 MiB are an extension. */
struct uvmp_geometry {
	uint32_t page_bytes;	 /* tracking unit: 4, 16 or 64 KiB, or 2 MiB */
	uint32_t big_page_bytes; /* page_bytes..block_bytes; driver: 64 KiB */
	uint32_t block_bytes;	 /* largest VABlock; big_page_bytes..512 * page_bytes; driver: 2 MiB */
};

/* Sets *geometry. UVMP_ERR_ARGUMENT: geometry is NULL. UVMP_ERR_RANGE: a size is no power of two,
 * page_bytes is none of 4096, 16384, 65536 and 2097152, or the order page <= big page <= block <= 512 pages
 * is broken. */
UVMP_API enum uvmp_status uvmp_geometry_init(struct uvmp_geometry *geometry, uint32_t page_bytes,
					     uint32_t big_page_bytes, uint32_t block_bytes);
UVMP_API bool uvmp_geometry_is_valid(const struct uvmp_geometry *geometry);

/* -- VABlocks of a managed range ------------------------------------------------------------- */

/* One VABlock: a managed range is cut at absolute multiples of block_bytes, so only its first and its last
 * block can be shorter, and several ranges may share one aligned window. */
struct uvmp_block {
	uvmp_addr start;    /* first byte */
	uvmp_addr last;	    /* last byte: the end of the highest block is 2^64 */
	uint32_t pages;	    /* 1..512 */
	uint32_t offset;    /* pages from the preceding big-page boundary to start, 0..big_pages-1 */
	uint32_t big_pages; /* pages per big page, 1..512 (16 for 4 KiB in 64 KiB) */
};

/* Is the layout possible (pages + offset <= 512, big_pages a power of two, offset < big_pages), and do start,
 * last and offset agree with the layout for one of the page sizes? */
UVMP_API bool uvmp_block_is_valid(const struct uvmp_block *block);

/* Number of blocks of the range from byte `start` to byte `last` (start and last + 1 page aligned). 0 when
 * the geometry or the range is not valid (reversed, unaligned). */
UVMP_API uint64_t uvmp_geometry_block_count(const struct uvmp_geometry *geometry, uvmp_addr start,
					    uvmp_addr last);

/* Number of the block that holds addr, counted from the first block of the range. UINT64_MAX, which is never
 * a block number, if the geometry is not valid or addr is below start. */
UVMP_API uint64_t uvmp_geometry_block_index(const struct uvmp_geometry *geometry, uvmp_addr start,
					    uvmp_addr addr);

/* Block `index` of the range from byte `start` to byte `last`. UVMP_ERR_ARGUMENT: NULL or geometry not valid.
 * UVMP_ERR_RANGE: range reversed or unaligned, or index >= block count. */
UVMP_API enum uvmp_status uvmp_geometry_block(const struct uvmp_geometry *geometry, uvmp_addr start,
					      uvmp_addr last, uint64_t index, struct uvmp_block *block);

/* Builds a block from its layout alone, for tests and simulators. The layout, here called shape, is `pages`
 * pages that start `offset` pages after a boundary of a big page of `big_pages` pages. start is offset *
 * 4096. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: pages 0 or above 512, big_pages no power of two up to 512,
 * offset >= big_pages, or pages + offset > 512. */
UVMP_API enum uvmp_status uvmp_block_from_shape(uint32_t pages, uint32_t offset, uint32_t big_pages,
						struct uvmp_block *block);

/* The big pages that lie wholly inside `within`, as a region of page indices of the block; `within` is cut at
 * the block's end. (0,0) if there is no such big page or the block is not valid. */
UVMP_API struct uvmp_region uvmp_block_big_pages(const struct uvmp_block *block, struct uvmp_region within);

/* Root chunk of the driver: the largest chunk of GPU memory that backs one block. */
#define UVMP_ROOT_CHUNK_BYTES 2097152u

/* The physical chunk that backs `page` of a managed block [driver: root-chunks]: an aligned block of
 * UVMP_ROOT_CHUNK_BYTES is one chunk; otherwise the naturally aligned big page around `page` if it lies
 * wholly inside the block, else the page alone. (0,0) when page is outside or the block is not valid. The
 * driver has no blocks above 2 MiB; larger ones, which a geometry of larger pages allows, are cut into big
 * pages here. */
UVMP_API struct uvmp_region uvmp_block_chunk(const struct uvmp_block *block, uint32_t page);

/* -- allocations of UVM Smart ---------------------------------------------------------------- */

#define UVMP_BASIC_BLOCK_BYTES 65536u	/* leaf of a TBN tree, 16 pages */
#define UVMP_LARGE_PAGE_BYTES  2097152u /* largest TBN tree, 512 pages */

/* How an allocation is rounded and cut: `large_trees` trees of 2 MiB from its start on, then one of
 * tail_bytes if that is not 0. The rounded tail is a power of two of basic blocks, so trees have 1, 2, 4,
 * 8, 16 or 32 leaves. */
struct uvmp_allocation {
	uint64_t rounded_bytes; /* size allocated and managed */
	uint64_t large_trees;
	uint32_t tail_bytes; /* 0, or 64 KiB..1 MiB (a tail of 2 MiB counts as a large tree) */
};

/* UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: bytes is 0, or the rounded size does not fit 64 bits. */
UVMP_API enum uvmp_status uvmp_allocation_round(uint64_t bytes, struct uvmp_allocation *allocation);

#ifdef __cplusplus
}
#endif
#endif
