/* pmm.h: which piece of GPU memory does a block get, and which root chunk leaves when there is none?
 *
 * The driver's physical memory manager [driver: root-chunks, root-queues, chunk-allocation, victim-choice,
 * chunk-free]. GPU memory is a row of root chunks of 2 MiB that a lower-level pool (PMA) hands out, lowest
 * number first, and takes back. Memory comes in chunks of 2 MiB, 64 KiB and 4 KiB; roots are split and merged
 * one size at a time. Roots with user memory wait in three queues, examined in this order: UNUSED (nothing of
 * the block is still resident there), DISCARDED, USED; each oldest first. GPU accesses never touch the
 * queues: the order is least recently *serviced* [driver: order-by-service].
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
 *  - each allocated sub-chunk keeps its mark (USED at first). A split root belongs into UNUSED when all its
 *    allocated chunks are marked UNUSED, into DISCARDED when all are marked UNUSED or DISCARDED, else into
 *    USED. It changes its place only when it changes its queue, or when a mark names the queue it is in (then
 *    to that queue's tail);
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

/* Pages are 4 KiB here: a root has 512, a 64 KiB chunk 16. */
enum uvmp_chunk_size { UVMP_CHUNK_4K = 0, UVMP_CHUNK_64K = 1, UVMP_CHUNK_2M = 2 };

/* USER memory belongs to VABlocks and may be evicted; KERNEL memory (page tables and the like) may not. */
enum uvmp_chunk_type { UVMP_CHUNK_USER = 0, UVMP_CHUNK_KERNEL = 1 };

enum uvmp_chunk_mark { UVMP_MARK_UNUSED = 0, UVMP_MARK_DISCARDED = 1, UVMP_MARK_USED = 2 };

/* Names one chunk. Functions that take one return UVMP_ERR_RANGE when no chunk can have this name (root,
 * size, or a page that is not a multiple of the size), UVMP_ERR_STATE when no such chunk is allocated now. */
struct uvmp_chunk {
	uint32_t root; /* number of the root, 0..roots-1 */
	uint16_t page; /* its first page in the root, 0..511 */
	uint8_t size;  /* enum uvmp_chunk_size */
};

struct uvmp_pmm_params {
	uint32_t roots;	      /* root chunks of this GPU, 1..UVMP_ROOTS_MAX */
	uint32_t splits;      /* how many roots can be split at the same time, 0..min(roots, UVMP_SPLITS_MAX):
			       * each costs about 4.5 KiB of memory, touched when first used; as many as
			       * roots reproduces the driver in every case */
	uint32_t batch_order; /* user roots leave the pool in batches of 1 << batch_order, 0..20; driver: 6 */
	bool is_zeroed;	      /* the pool hands out zeroed memory */
	bool quirks;
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

/* Cheap test of the header; false for NULL. All functions below return UVMP_ERR_ARGUMENT where it is
 * false. */
UVMP_API bool uvmp_pmm_is_valid(const struct uvmp_pmm *pmm);
/* Walks everything: queue membership equals chunk state, links close, counters match, nothing is owned
 * twice. Safe on damaged contents as long as the header is sound. For tests and debug builds;
 * O(roots + 512 splits). */
UVMP_API bool uvmp_pmm_check(const struct uvmp_pmm *pmm);

/* Cost of the calls below: unpin, mark and touch O(1); the others are bounded by the 512 pages of a root, an
 * allocation also by the roots of one pool batch. */

/* -- allocation [driver: chunk-allocation]
 * ------------------------------------------------------------------------ */

/* Allocates one chunk for VABlock `block` (the caller's id; KERNEL: any) without evicting. It is pinned.
 * UVMP_ERR_NO_MEMORY: there is none, see uvmp_pmm_evict_begin. UVMP_ERR_SPACE: a root would have to be
 * split and no split record is left. UVMP_ERR_ARGUMENT, UVMP_ERR_RANGE (type, size). O(1) but for the roots
 * of a pool batch. */
UVMP_API enum uvmp_status uvmp_pmm_alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_type type,
					 enum uvmp_chunk_size size, uint32_t block, struct uvmp_chunk *chunk);

/* Ends the pin of an allocated chunk: the root, once no chunk of it is pinned, goes to the tail of USED.
 * UVMP_ERR_STATE: also if the chunk is not pinned. */
UVMP_API enum uvmp_status uvmp_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Frees an allocated chunk, pinned or not; merges upward, hands a free root back to the pool
 * [driver: chunk-free]. If its root is being evicted the chunk is pinned instead, as in the driver, and has
 * no longer an owner. */
UVMP_API enum uvmp_status uvmp_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* Moves the chunk's root to the tail of USED, UNUSED or DISCARDED [driver: root-queues]. No effect, and
 * success, on pinned roots, roots in eviction, KERNEL memory, and [driver: marks-whole-roots] chunks below 2
 * MiB. UVMP_ERR_RANGE: also mark. */
UVMP_API enum uvmp_status uvmp_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk,
					enum uvmp_chunk_mark mark);

/* The GPU has accessed the chunk. With quirks nothing happens [driver: order-by-service]. */
UVMP_API enum uvmp_status uvmp_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

/* -- eviction [driver: victim-choice]
 * -------------------------------------------------------------------------- */

/* Picks a victim for an allocation of `type`: a free user root (non-zero, then zero), else the head of
 * UNUSED, DISCARDED, USED. The root is then in eviction, its free chunks are pinned. UVMP_ERR_RETRY: none,
 * but a root is pinned as a whole or in eviction (USER only): try later. UVMP_ERR_NO_MEMORY: none.
 * UVMP_ERR_RANGE: type. */
UVMP_API enum uvmp_status uvmp_pmm_evict_begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type,
					       uint32_t *root);

/* Puts one given root in eviction. UVMP_ERR_RETRY: it is pinned or in eviction, wait. UVMP_ERR_STATE: the
 * pool has it, or it is KERNEL memory: nothing that can be evicted. UVMP_ERR_RANGE: root. */
UVMP_API enum uvmp_status uvmp_pmm_evict_root(struct uvmp_pmm *pmm, uint32_t root);

/* What has to leave. */
struct uvmp_pmm_eviction {
	uint32_t block;	 /* VABlock whose pages must go to the CPU */
	uvmp_mask pages; /* pages of the root that it owned */
};

/* The next block that owns memory in a root in eviction: the owner of the first allocated chunk in address
 * order, with all its chunks of this root, which are pinned and lose their owner now. When nothing is left
 * *found is false and *eviction is not written. UVMP_ERR_RANGE: root. UVMP_ERR_STATE: root is not in
 * eviction. */
UVMP_API enum uvmp_status uvmp_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root,
					      struct uvmp_pmm_eviction *eviction, bool *found);

/* The same question without an effect: *block is the block that uvmp_pmm_evict_next would name. If nothing is
 * left, *found is false and *block is not written. Errors as uvmp_pmm_evict_next. O(1). */
UVMP_API enum uvmp_status uvmp_pmm_evict_peek(const struct uvmp_pmm *pmm, uint32_t root, uint32_t *block,
					      bool *found);

/* Everything has left: the root is whole again, not zeroed, pinned, and belongs to the allocation, of which
 * *chunk is the result: the root itself for 2 MiB, else its first sub-chunk of `size`, the others being
 * free. UVMP_ERR_STATE: root is not in eviction, or something is still allocated in it. UVMP_ERR_SPACE: no
 * split record is left (the root is then still in eviction; uvmp_pmm_evict_release gives it back).
 * UVMP_ERR_RANGE: root, type, size. */
UVMP_API enum uvmp_status uvmp_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
					     enum uvmp_chunk_size size, uint32_t block,
					     struct uvmp_chunk *chunk);

/* The eviction failed: the root leaves eviction and goes, if something is still allocated in it, to the
 * tail of USED (marks of its sub-chunks are forgotten); chunks that had left are freed with merges, and a
 * free user root, if there is one, goes back to the pool. UVMP_ERR_RANGE: root. UVMP_ERR_STATE: root is not
 * in eviction. */
UVMP_API enum uvmp_status uvmp_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root);

/* Everything has left and the root goes back to the pool: evictions that the pool itself asked for
 * ([driver: victim-choice], last paragraph). The victim comes from uvmp_pmm_evict_begin as KERNEL, or, by
 * address, from uvmp_pmm_evict_root. Errors as uvmp_pmm_evict_end. */
UVMP_API enum uvmp_status uvmp_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root);

/* -- looking --------------------------------------------------------------------------------- */

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
