/* pmm.h: which piece of GPU memory does a block get, and which root chunk leaves when there is none?
 *
 * The driver's physical memory manager (nvidia specification, 6.1 to 6.5). GPU memory is a row of root chunks of 2 MiB that a lower-level
 * pool (PMA) hands out and takes back. User memory comes in chunks of 2 MiB, 64 KiB and 4 KiB; roots are split and merged
 * one supported size at a time. Roots with user memory wait in three queues, examined in this order: UNUSED (nothing of the block is resident there any
 * more), DISCARDED, USED; each oldest first. GPU accesses never touch the queues: the order is least recently *serviced* (Q11).
 *
 * A chunk is pinned from its allocation until uvmp_pmm_unpin; a root that is pinned or being evicted is on no queue.
 *
 * Quirks reproduced by default: Q10 (freeing a sub-chunk moves its root to the USED tail), Q11 (uvmp_pmm_touch has no effect),
 * Q12 (marks act on whole 2 MiB chunks only), Q24 (remainders of a split zeroed root count as non-zero).
 * Without quirks: the root keeps its place; touch moves the root to the tail of its queue; a root of sub-chunks is UNUSED (DISCARDED) when all
 * of its allocated chunks were marked unused (unused or discarded), else USED; remainders keep the zero flag.
 */
#ifndef UVMPOLICY_PMM_H
#define UVMPOLICY_PMM_H

#include "base.h"
#include "mask.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_ROOT_NONE 0xffffffffu
#define UVMP_ROOTS_MAX (1u << 24)

/* Pages are 4 KiB here: a root has 512, a 64 KiB chunk 16. */
enum uvmp_chunk_size { UVMP_CHUNK_4K = 0, UVMP_CHUNK_64K = 1, UVMP_CHUNK_2M = 2 };

/* USER memory belongs to VABlocks and may be evicted; KERNEL memory (page tables and the like) may not. */
enum uvmp_chunk_type { UVMP_CHUNK_USER = 0, UVMP_CHUNK_KERNEL = 1 };

enum uvmp_chunk_mark { UVMP_MARK_UNUSED = 0, UVMP_MARK_DISCARDED = 1, UVMP_MARK_USED = 2 };

/* Names one chunk. */
struct uvmp_chunk {
	uint32_t root;	    /* number of the root, 0..roots-1 */
	uint16_t page;	    /* its first page in the root, 0..511 */
	uint8_t size;	    /* enum uvmp_chunk_size */
};

struct uvmp_pmm_params {
	uint32_t roots;	      /* root chunks of this GPU, 1..UVMP_ROOTS_MAX */
	uint32_t splits;      /* how many roots can be split at the same time, 0..roots: each costs about 8 KiB of memory; as
			       * many as roots reproduces the driver in every case */
	uint32_t batch_order; /* user roots are taken from the pool in batches of 1 << batch_order, 0..20 (driver: 6) */
	bool is_zeroed;	      /* the pool hands out zeroed memory */
	bool quirks;
};

/* State of one GPU's memory. Private but for the counters; lives in the caller's memory given to uvmp_pmm_init. */
struct uvmp_pmm;

/* Bytes of memory that uvmp_pmm_init needs; 0 if a parameter is out of range or the size does not fit size_t. */
UVMP_API size_t uvmp_pmm_size(const struct uvmp_pmm_params *params);

/* Builds the state in `memory` (aligned for uint64_t): all roots in the pool. *pmm then points into memory.
 * UVMP_ERR_ARGUMENT: NULL or misaligned. UVMP_ERR_RANGE: parameters. UVMP_ERR_SPACE: bytes < uvmp_pmm_size. */
UVMP_API enum uvmp_status uvmp_pmm_init(const struct uvmp_pmm_params *params, void *memory, size_t bytes,
					struct uvmp_pmm **pmm);

/* Cheap test of the header's consistency; false for NULL. */
UVMP_API bool uvmp_pmm_is_valid(const struct uvmp_pmm *pmm);
/* Walks everything: queue membership equals chunk state, links close, counters match, nothing is owned twice. For tests
 * and debug builds; O(roots). */
UVMP_API bool uvmp_pmm_check(const struct uvmp_pmm *pmm);

/* -- allocation (6.3) ----------------------------------------------------------------------------------------------- */

/* Allocates one chunk for VABlock `block` (the caller's id; KERNEL: any) without evicting. It is pinned.
 * UVMP_ERR_NO_MEMORY: there is none, see uvmp_pmm_evict_begin. UVMP_ERR_SPACE: a root would have to be split and no split record is left.
 * UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE. O(1) but for the roots of a pool batch. */
UVMP_API enum uvmp_status uvmp_pmm_alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, enum uvmp_chunk_size size,
					 uint32_t block, struct uvmp_chunk *chunk);

/* Ends the pin of an allocated chunk: the root, once no chunk of it is pinned, goes to the tail of USED.
 * UVMP_ERR_STATE: no such chunk is allocated, or it is not pinned. */
UVMP_API enum uvmp_status uvmp_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Frees an allocated chunk, pinned or not; merges upward, hands a free root back to the pool (6.5). If its root is being
 * evicted the chunk is pinned instead, as in the driver. UVMP_ERR_STATE: no such chunk is allocated. */
UVMP_API enum uvmp_status uvmp_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Moves the chunk's root to the tail of USED, UNUSED or DISCARDED (6.2). No effect, and success, on pinned roots, roots in
 * eviction, and (Q12) chunks below 2 MiB. UVMP_ERR_STATE: no such chunk is allocated. UVMP_ERR_RANGE: mark. */
UVMP_API enum uvmp_status uvmp_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, enum uvmp_chunk_mark mark);

/* The GPU has accessed the chunk. With quirks nothing happens (Q11). UVMP_ERR_STATE: no such chunk is allocated. */
UVMP_API enum uvmp_status uvmp_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* -- eviction (6.4) --------------------------------------------------------------------------------------------------- */

/* Picks a victim for an allocation of `type`: a free user root (non-zero, then zero), else the head of UNUSED, DISCARDED, USED. The root is then
 * in eviction. UVMP_ERR_RETRY: none, but a root is pinned or in eviction (USER only): try later. UVMP_ERR_NO_MEMORY: none. */
UVMP_API enum uvmp_status uvmp_pmm_evict_begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, uint32_t *root);

/* What has to leave. */
struct uvmp_pmm_eviction {
	uint32_t block; /* VABlock whose pages must go to the CPU */
	uvmp_mask pages; /* pages of the root that it owned */
};

/* The next block that owns memory in a root in eviction: the owner of the first allocated leaf in address order, with all its
 * chunks of this root, which lose their owner now. UVMP_ERR_STATE: root is not in eviction.
 * Sets *found to false when nothing is left. */
UVMP_API enum uvmp_status uvmp_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root, struct uvmp_pmm_eviction *eviction,
					      bool *found);

/* Everything has left: the root is whole, not zeroed, pinned, and belongs to the allocation, of which *chunk is the result: the root itself for 2 MiB,
 * else its first sub-chunk of `size`, the others being free. UVMP_ERR_STATE: root not in eviction, or uvmp_pmm_evict_next has not
 * reported the end. UVMP_ERR_SPACE: no split record (the root is then still in eviction). */
UVMP_API enum uvmp_status uvmp_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
					     enum uvmp_chunk_size size, uint32_t block, struct uvmp_chunk *chunk);

/* The eviction failed: the root leaves eviction and goes, if something is still allocated in it, to the tail of USED; chunks
 * that had left are freed with merges. UVMP_ERR_STATE: root is not in eviction. */
UVMP_API enum uvmp_status uvmp_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root);

/* Everything has left and the root goes back to the pool: evictions that the pool itself asked for (6.4, last paragraph). The victim comes from uvmp_pmm_evict_begin as
 * KERNEL, or, by address, from uvmp_pmm_evict_root. UVMP_ERR_STATE as for uvmp_pmm_evict_end. */
UVMP_API enum uvmp_status uvmp_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root);

/* Puts one given root in eviction. UVMP_ERR_RETRY: it is pinned or in eviction, wait. UVMP_ERR_STATE: the pool has it, nothing to evict. UVMP_ERR_RANGE: root. */
UVMP_API enum uvmp_status uvmp_pmm_evict_root(struct uvmp_pmm *pmm, uint32_t root);

/* -- looking ------------------------------------------------------------------------------------------------------------ */

/* Lists of roots, head first. */
enum uvmp_pmm_list {
	UVMP_PMM_UNUSED = 0,
	UVMP_PMM_DISCARDED,
	UVMP_PMM_USED,
	UVMP_PMM_FREE_NONZERO, /* free user roots of 2 MiB */
	UVMP_PMM_FREE_ZERO
};

/* First root of a list / root behind `root` in its list; UVMP_ROOT_NONE at the end. */
UVMP_API uint32_t uvmp_pmm_first(const struct uvmp_pmm *pmm, enum uvmp_pmm_list list);
UVMP_API uint32_t uvmp_pmm_next(const struct uvmp_pmm *pmm, uint32_t root);
/* Is the root in the pool? */
UVMP_API bool uvmp_pmm_in_pool(const struct uvmp_pmm *pmm, uint32_t root);

struct uvmp_pmm_counts {
	uint32_t roots;
	uint32_t in_pool;
	uint32_t pinned;      /* roots pinned as a whole (pinned_count) */
	uint32_t in_eviction;
	uint32_t free_64k;    /* free user chunks by size */
	uint32_t free_4k;
	uint64_t allocated_pages; /* pages of allocated user chunks */
};

UVMP_API void uvmp_pmm_count(const struct uvmp_pmm *pmm, struct uvmp_pmm_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
