/* pmm.h: chunks of GPU memory for blocks, and the root chunk to evict when memory is full.
 *
 * The driver's physical memory manager [driver: root-chunks, root-queues, chunk-allocation, victim-choice,
 * chunk-free]. GPU memory is a row of root chunks of 2 MiB that a lower-level pool (PMA) hands out, lowest
 * number first, and takes back. Chunks have 2 MiB, 64 KiB or 4 KiB (16 KiB on a host with such pages); roots
 * are split and merged one size at a time. Roots with user memory wait in three queues, examined in this
 * order: UNUSED (no page of the block is resident there), DISCARDED, USED; each oldest first. GPU accesses do
 * not change the queues: the order is
 * least recently *serviced* [driver: order-by-service].
 *
 * A chunk is pinned from its allocation until uvmp_pmm_unpin; a root that is pinned or being evicted is on
 * no queue.
 *
 * An allocation that may evict, as the host writes it [driver: eviction-retry]:
 *
 *   status = uvmp_pmm_alloc(pmm, type, size, block, &chunk);
 *   if (status == UVMP_ERR_NO_MEMORY && (status = uvmp_pmm_evict_begin(pmm, type, &root)) == UVMP_OK) {
 *           while (uvmp_pmm_evict_next(pmm, root, &eviction, &found) == UVMP_OK && found)
 *                   ... copy eviction.pages to the CPU; uvmp_pmm_evict_abort if that fails ...
 *           status = uvmp_pmm_evict_end(pmm, root, type, size, block, &chunk);
 *   }
 *
 * Quirks reproduced by default: [driver: free-renews-root] (freeing a sub-chunk moves its root to the USED
 * tail), [driver: order-by-service] (uvmp_pmm_touch has no effect), [driver: marks-whole-roots] (marks act on
 * whole 2 MiB chunks only), [driver: split-loses-zero] (remainders of a split zeroed chunk count as
 * non-zero). Without quirks:
 *  - each allocated sub-chunk keeps its mark (USED at first). A split root is in UNUSED if all its allocated
 *    chunks are marked UNUSED, in DISCARDED if all are marked UNUSED or DISCARDED, else in USED. The root
 *    moves to a queue's tail only if its queue changes, or if a mark names its present queue;
 *  - freeing a sub-chunk does not move the root within its queue;
 *  - uvmp_pmm_touch moves the root to the tail of its queue;
 *  - the remainders of a split zeroed chunk are zeroed.
 */
#ifndef UVMPOLICY_PMM_H
#define UVMPOLICY_PMM_H

#include "base.h"
#include "mask.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_ROOT_NONE	0xffffffffu
#define UVMP_ROOTS_MAX	(1u << 24)
#define UVMP_SPLITS_MAX ((1u << 23) - 1u)

/* Pages are 4 KiB here: a root has 512, a 64 KiB chunk 16. UVMP_CHUNK_4K has as many bytes as
 * uvmp_pmm_params.page_bytes. */
enum uvmp_chunk_size { UVMP_CHUNK_4K = 0, UVMP_CHUNK_64K = 1, UVMP_CHUNK_2M = 2 };

/* USER memory belongs to VABlocks and may be evicted; KERNEL memory (page tables and the like) may not. */
enum uvmp_chunk_type { UVMP_CHUNK_USER = 0, UVMP_CHUNK_KERNEL = 1 };

enum uvmp_chunk_mark { UVMP_MARK_UNUSED = 0, UVMP_MARK_DISCARDED = 1, UVMP_MARK_USED = 2 };

/* Packed record: names one chunk. Functions with a chunk argument return UVMP_ERR_RANGE if no chunk can have
 * this name (root, size, or a page that is not a multiple of the size), UVMP_ERR_STATE if the chunk is not
 * allocated now. */
struct uvmp_chunk {
	uint32_t root; /* number of the root, 0..roots-1 */
	uint16_t page; /* its first page in the root, 0..511 */
	uint8_t size;  /* enum uvmp_chunk_size */
};

struct uvmp_pmm_params {
	uint32_t roots;	      /* root chunks of this GPU, 1..UVMP_ROOTS_MAX */
	uint32_t splits;      /* roots that can be split at the same time, 0..min(roots, UVMP_SPLITS_MAX).
			       * Each costs about 4.3 KiB of memory, written on first use. splits = roots
			       * reproduces the driver in every case. 0: chunks of 2 MiB only */
	uint32_t batch_order; /* user roots leave the pool in batches of 1 << batch_order, 0..20; driver: 6 */
	bool is_zeroed;	      /* the pool hands out zeroed memory */
	bool quirks;
	uint32_t page_bytes; /* bytes of the smallest chunk: 4096, or 16384 on a host with such pages
			      * [driver: root-chunks]; 0: 4096 */
};

/* State of one GPU's memory. Private; lives in the caller's memory given to uvmp_pmm_init. */
struct uvmp_pmm;

/* Bytes of memory that uvmp_pmm_init needs (20 a root, see `splits`, and a bitmap); 0 if params is NULL, a
 * parameter is out of range or the size does not fit size_t. */
UVMP_API size_t uvmp_pmm_size(const struct uvmp_pmm_params *params);

/* Builds the state in `memory` (aligned to 8): all roots in the pool. *pmm then points into memory.
 * O(roots). UVMP_ERR_ARGUMENT: NULL or misaligned. UVMP_ERR_RANGE: parameters. UVMP_ERR_SPACE: bytes <
 * uvmp_pmm_size. */
UVMP_API enum uvmp_status uvmp_pmm_init(const struct uvmp_pmm_params *params, void *memory, size_t bytes,
					struct uvmp_pmm **pmm);

/* Test of the header and of its parameters; false for NULL. All functions below return UVMP_ERR_ARGUMENT if
 * pmm is NULL or no header that uvmp_pmm_init wrote. */
UVMP_API bool uvmp_pmm_is_valid(const struct uvmp_pmm *pmm);
/* Checks the invariants of the whole state: queue membership equals chunk state, links are consistent,
 * counters match, and each chunk has at most one owner. Safe on damaged contents if the header is valid. For
 * tests and debug builds. O(roots + 512 splits). */
UVMP_API bool uvmp_pmm_check(const struct uvmp_pmm *pmm);

/* Cost of the calls below: unpin, mark and touch O(1); the others are bounded by the 512 pages of a root, an
 * allocation also by the roots of one pool batch. */

/* -- allocation [driver: chunk-allocation]
 * ------------------------------------------------------------------------ */

/* Allocates one pinned chunk for VABlock `block` (the caller's id; KERNEL: any) without evicting.
 * UVMP_ERR_NO_MEMORY: no chunk is free, see uvmp_pmm_evict_begin. UVMP_ERR_SPACE: a root must be split, and
 * no split record is left. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (type, size). O(1), plus the roots of a pool
 * batch. */
UVMP_API enum uvmp_status uvmp_pmm_alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_type type,
					 enum uvmp_chunk_size size, uint32_t block, struct uvmp_chunk *chunk);

/* Ends the pin of an allocated chunk. Once no chunk of its root is pinned, the root goes to the tail of USED.
 * UVMP_ERR_STATE: also if the chunk is not pinned. */
UVMP_API enum uvmp_status uvmp_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Frees an allocated chunk, pinned or not, merges upward, and returns a free root to the pool
 * [driver: chunk-free]. If its root is in eviction, the chunk becomes pinned and has no owner, as in the
 * driver. */
UVMP_API enum uvmp_status uvmp_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Moves the chunk's root to the tail of USED, UNUSED or DISCARDED [driver: root-queues]. No effect, and
 * success, on pinned roots, roots in eviction, KERNEL memory, and [driver: marks-whole-roots] chunks below 2
 * MiB. UVMP_ERR_RANGE: also mark. */
UVMP_API enum uvmp_status uvmp_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk,
					enum uvmp_chunk_mark mark);

/* Reports that the GPU accessed the chunk. No effect with quirks [driver: order-by-service]. */
UVMP_API enum uvmp_status uvmp_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* -- eviction [driver: victim-choice]
 * -------------------------------------------------------------------------- */

/* Chooses a victim for an allocation of `type`: a free user root (non-zero, then zero), else the head of
 * UNUSED, DISCARDED or USED. The root is then in eviction, and its free chunks are pinned. UVMP_ERR_RETRY: no
 * victim now, but a root is pinned as a whole or in eviction (USER only). UVMP_ERR_NO_MEMORY: no victim.
 * UVMP_ERR_RANGE: type. */
UVMP_API enum uvmp_status uvmp_pmm_evict_begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type,
					       uint32_t *root);

/* Puts the given root in eviction. UVMP_ERR_RETRY: the root is pinned or in eviction; try later.
 * UVMP_ERR_STATE: the root is in the pool or is KERNEL memory, which is never evicted. UVMP_ERR_RANGE:
 * root. */
UVMP_API enum uvmp_status uvmp_pmm_evict_root(struct uvmp_pmm *pmm, uint32_t root);

/* Pages to evict. */
struct uvmp_pmm_eviction {
	uint32_t block;	 /* VABlock whose pages must go to the CPU */
	uvmp_mask pages; /* pages of the root that the block owned */
};

/* Stores the next block that owns memory in a root in eviction: the owner of the first allocated chunk in
 * address order. All chunks of the block in this root become pinned and have no owner. If no owned chunk is
 * left, *found is false and *eviction is not written. UVMP_ERR_RANGE: root. UVMP_ERR_STATE: root is not in
 * eviction. */
UVMP_API enum uvmp_status uvmp_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root,
					      struct uvmp_pmm_eviction *eviction, bool *found);

/* Stores the block that uvmp_pmm_evict_next would name, without an effect. If no owned chunk is left, *found
 * is false and *block is not written. Errors as uvmp_pmm_evict_next. O(1). */
UVMP_API enum uvmp_status uvmp_pmm_evict_peek(const struct uvmp_pmm *pmm, uint32_t root, uint32_t *block,
					      bool *found);

/* Ends an eviction after the last block was evicted. The root is whole, not zeroed, pinned, and belongs to
 * the allocation. *chunk is the root itself for 2 MiB, else its first sub-chunk of `size`; its other
 * sub-chunks are free. UVMP_ERR_STATE: root is not in eviction, or has an allocated chunk. UVMP_ERR_SPACE: no
 * split record is left (the root stays in eviction; uvmp_pmm_evict_release returns it to the pool).
 * UVMP_ERR_RANGE: root, type, size. */
UVMP_API enum uvmp_status uvmp_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
					     enum uvmp_chunk_size size, uint32_t block,
					     struct uvmp_chunk *chunk);

/* Ends a failed eviction. A root with an allocated chunk goes to the tail of USED, and its sub-chunks lose
 * their marks. Evicted chunks are freed and merged. If there is a free user root, it returns to the pool.
 * UVMP_ERR_RANGE: root. UVMP_ERR_STATE: root is not in eviction. */
UVMP_API enum uvmp_status uvmp_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root);

/* Ends an eviction that the pool requested [driver: victim-choice]: returns the root to the
 * pool after the last block was evicted. The victim comes from uvmp_pmm_evict_begin as KERNEL, or, by
 * address, from uvmp_pmm_evict_root. Errors as uvmp_pmm_evict_end. */
UVMP_API enum uvmp_status uvmp_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root);

/* -- queries --------------------------------------------------------------------------------- */

/* Lists of roots, head first. */
enum uvmp_pmm_list {
	UVMP_PMM_UNUSED = 0,
	UVMP_PMM_DISCARDED,
	UVMP_PMM_USED,
	UVMP_PMM_FREE_NONZERO, /* free user roots of 2 MiB */
	UVMP_PMM_FREE_ZERO
};

/* First root of a list / root behind `root` in its list; UVMP_ROOT_NONE at the end and for bad arguments. */
UVMP_API uint32_t uvmp_pmm_first(const struct uvmp_pmm *pmm, enum uvmp_pmm_list list);
UVMP_API uint32_t uvmp_pmm_next(const struct uvmp_pmm *pmm, uint32_t root);
/* Is the root in the pool? False for bad arguments. */
UVMP_API bool uvmp_pmm_in_pool(const struct uvmp_pmm *pmm, uint32_t root);

struct uvmp_pmm_counts {
	uint32_t roots;
	uint32_t in_pool;
	uint32_t pinned; /* roots pinned as a whole (pinned_count), in eviction or not */
	uint32_t in_eviction;
	uint32_t free_64k; /* free user chunks by size */
	uint32_t free_4k;
	uint64_t allocated_pages; /* pages of user chunks that have an owner, pinned or not */
};

/* No effect if either is NULL or pmm is not valid. */
UVMP_API void uvmp_pmm_count(const struct uvmp_pmm *pmm, struct uvmp_pmm_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
