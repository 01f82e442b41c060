/* gpu_key.h: the keys of TLB entries. In a header, because each translation asks for one.
 *
 * TLBs never hold what the page tables do not: keys contain versions, and a change gives pages a new one. */
#ifndef UVMSIM_GPU_KEY_H
#define UVMSIM_GPU_KEY_H

#include "gpu_internal.h"

#define GPU_VERSION_SHIFT 48u

/* A set's pages from `first` on, as many as a big page has, in the lowest bits. */
static inline uint64_t gpu_pages_from(const uvmp_mask *mask, uint32_t first)
{
	uint32_t word = first / 64u, shift = first % 64u;
	uint64_t pages = mask->word[word] >> shift;

	if (shift != 0 && word + 1u < UVMP_MASK_WORDS)
		pages |= mask->word[word + 1u] << (64u - shift);
	return pages;
}

/* Is a big page one entry: does it lie in the block, are its 4 KiB pages alike, and on the GPU? */
static inline bool gpu_is_big(const struct gpu *gpu, const struct sim_block *block, uint32_t big)
{
	uint32_t count = 1u << (GPU_BIG_SHIFT - gpu->page_shift), offset = block->shape.offset;
	uint32_t first = big * count - offset;
	uint64_t all = ((uint64_t)1 << count) - 1u, low, high;

	if (count == 1u || gpu->model->tlb_entry_bytes < 1u << GPU_BIG_SHIFT || big * count < offset ||
	    first + count > block->shape.pages)
		return false;
	low = gpu_pages_from(&block->low[1], first) & all;
	high = gpu_pages_from(&block->high[1], first) & all;
	return (low == all || low == 0) && (high == all || high == 0) && (low | high) == all &&
	       (gpu_pages_from(&block->remote, first) & all) == 0;
}

/* Does the block lie in one piece of the GPU's memory, aligned to its size? Only orders with groups need to be asked. */
static inline bool gpu_is_in_one_piece(const struct gpu *gpu, const struct sim_block *block)
{
	return !gpu->model->checks_frames ||
	       (block->frame_end == block->shape.pages && block->frame_base % ((uint64_t)1 << GPU_BLOCK_SHIFT) == 0);
}

/* What a TLB's entry translates: the block, if all of it is mapped alike, or the 64 KiB, or the page. The key
 * is where that begins, what of the three it is, and a version that changes when such entries are dropped:
 * those that are still there will not be found again, and leave when they are the oldest. *pages: how many pages
 * from `page` on have this key. */
static inline uint64_t gpu_key_of(const struct gpu *gpu, const struct sim_block *block, uint64_t page,
				  uint32_t index, uint32_t *pages)
{
	uint32_t shift = GPU_BIG_SHIFT - gpu->page_shift, big = (block->shape.offset + index) >> shift;
	uint64_t version;

	if (block->mapped == block->shape.pages && !block->is_split &&
	    gpu->model->tlb_entry_bytes >= 1u << GPU_BLOCK_SHIFT && gpu_is_in_one_piece(gpu, block)) {
		*pages = block->shape.pages - index;
		return (block->shape.start >> gpu->page_shift << 2 | 1u) ^ (uint64_t)block->version
										   << GPU_VERSION_SHIFT;
	}
	version = (uint64_t)block->big_version[big] << GPU_VERSION_SHIFT;
	if (gpu_is_big(gpu, block, big)) {
		*pages = ((big + 1u) << shift) - block->shape.offset - index;
		return (page >> shift << 2 | 2u) ^ version;
	}
	*pages = 1;
	return (page << 2 | 3u) ^ version;
}

#endif
