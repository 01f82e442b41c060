/* mask.h: sets of pages of one VABlock.
 *
 * A uvmp_mask holds 512 bits, page 0 of the block first. A region is a run of pages `[first, end)`;
 * (0,0) is the usual spelling of "empty", and every region with end <= first counts as empty. Functions
 * never touch bits outside 0..511: a page or a region end beyond 512 is cut off. Pointers must not be
 * NULL. Source and destination may be the same mask. Every function reads each of the 8 words at most twice.
 */
#ifndef UVMPOLICY_MASK_H
#define UVMPOLICY_MASK_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_MASK_BITS	512u
#define UVMP_MASK_WORDS 8u

/* Bit p of the set is bit p % 64 of word[p / 64]. */
typedef struct uvmp_mask {
	uint64_t word[UVMP_MASK_WORDS];
} uvmp_mask;

/* A run of pages, [first, end). */
struct uvmp_region {
	uint32_t first;
	uint32_t end;
};

/* -- one page -- */
static inline bool uvmp_mask_test(const uvmp_mask *mask, uint32_t page)
{
	return page < UVMP_MASK_BITS && ((mask->word[page / 64u] >> (page % 64u)) & 1u) != 0;
}

static inline void uvmp_mask_set(uvmp_mask *mask, uint32_t page)
{
	if (page < UVMP_MASK_BITS)
		mask->word[page / 64u] |= (uint64_t)1 << (page % 64u);
}

static inline void uvmp_mask_clear(uvmp_mask *mask, uint32_t page)
{
	if (page < UVMP_MASK_BITS)
		mask->word[page / 64u] &= ~((uint64_t)1 << (page % 64u));
}

/* -- whole sets -- */
UVMP_API void uvmp_mask_zero(uvmp_mask *mask);
UVMP_API void uvmp_mask_copy(uvmp_mask *to, const uvmp_mask *from);
UVMP_API bool uvmp_mask_is_empty(const uvmp_mask *mask);
UVMP_API bool uvmp_mask_equal(const uvmp_mask *a, const uvmp_mask *b);
UVMP_API bool uvmp_mask_intersects(const uvmp_mask *a, const uvmp_mask *b);
/* Is every page of `a` also in `b`? */
UVMP_API bool uvmp_mask_is_subset(const uvmp_mask *a, const uvmp_mask *b);
/* Number of pages, 0..512. */
UVMP_API uint32_t uvmp_mask_weight(const uvmp_mask *mask);
/* to = a | b,  a & b,  a & ~b. */
UVMP_API void uvmp_mask_or(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b);
UVMP_API void uvmp_mask_and(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b);
UVMP_API void uvmp_mask_andnot(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b);
/* Page p of `from` becomes page p + pages (shift_up) or p - pages (shift_down) of *to; bits outside 0..511
 * are dropped. */
UVMP_API void uvmp_mask_shift_up(uvmp_mask *to, const uvmp_mask *from, uint32_t pages);
UVMP_API void uvmp_mask_shift_down(uvmp_mask *to, const uvmp_mask *from, uint32_t pages);

/* -- regions -- */
static inline bool uvmp_region_is_empty(struct uvmp_region region)
{
	return region.end <= region.first;
}

/* Number of pages; 0 when empty or reversed. */
static inline uint32_t uvmp_region_pages(struct uvmp_region region)
{
	return region.end > region.first ? region.end - region.first : 0u;
}

/* The intersection; (0,0) if it is empty. */
UVMP_API struct uvmp_region uvmp_region_intersect(struct uvmp_region a, struct uvmp_region b);
UVMP_API void uvmp_mask_region_set(uvmp_mask *mask, struct uvmp_region region);
UVMP_API void uvmp_mask_region_clear(uvmp_mask *mask, struct uvmp_region region);
/* Number of pages of the set inside the region. */
UVMP_API uint32_t uvmp_mask_region_weight(const uvmp_mask *mask, struct uvmp_region region);
/* Is any page of the region in the set? / Are all of them? (An empty region: no / yes.) */
UVMP_API bool uvmp_mask_region_any(const uvmp_mask *mask, struct uvmp_region region);
UVMP_API bool uvmp_mask_region_all(const uvmp_mask *mask, struct uvmp_region region);
/* to = pages of `from` inside the region. */
UVMP_API void uvmp_mask_region_and(uvmp_mask *to, const uvmp_mask *from, struct uvmp_region region);

/* -- walking -- */
/* First page >= from that is (is not) in the set; 512 when there is none. */
UVMP_API uint32_t uvmp_mask_next_set(const uvmp_mask *mask, uint32_t from);
UVMP_API uint32_t uvmp_mask_next_clear(const uvmp_mask *mask, uint32_t from);
/* Smallest region that holds the whole set; (0,0) for the empty set. */
UVMP_API struct uvmp_region uvmp_mask_bounds(const uvmp_mask *mask);
/* First maximal run of pages at or after `from`, cut at `from`; (0,0) when there is none. Walk all
 * runs with
 *   for (r = uvmp_mask_next_run(m, 0); r.end; r = uvmp_mask_next_run(m, r.end)) */
UVMP_API struct uvmp_region uvmp_mask_next_run(const uvmp_mask *mask, uint32_t from);

#ifdef __cplusplus
}
#endif
#endif
