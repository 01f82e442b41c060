/* What the memory manager's files share: the layout of its memory, the steps that decisions are made of. */
#ifndef UVMPOLICY_PMM_INTERNAL_H
#define UVMPOLICY_PMM_INTERNAL_H

#include "../base/debug_internal.h"
#include "../base/mask_internal.h"
#include "uvmpolicy/pmm.h"

#define PMM_MAGIC  0x75766d70u
#define PMM_NONE   0xffffffffu
#define PMM_PAGES  512u
#define PMM_PAGE_BYTES 4096u
#define PMM_GROUP  16u /* pages of a 64 KiB chunk */
#define PMM_GROUPS 32u
#define PMM_LEVELS 4u /* 64^4 = UVMP_ROOTS_MAX */

/* Numbers of the lists. The first five are enum uvmp_pmm_list: the queues in order of eviction, then the free
 * lists, largest size first, USER before KERNEL, non-zero before zero: see pmm_free_list. */
#define PMM_QUEUES	 3u
#define PMM_VICTIM_LISTS 5u /* roots that eviction may pick are on one of these */
#define PMM_ROOT_LISTS	 7u /* lists of roots come before lists of sub-chunks */
#define PMM_LISTS	 15u
#define PMM_LIST_NONE	 15u

struct pmm_link {
	uint32_t next;
	uint32_t prev;
};

/* Members are numbered: roots by their number, sub-chunks by split record * 512 + first page. */
struct pmm_queue {
	uint32_t head;
	uint32_t tail;
	uint32_t count;
};

enum pmm_state {
	PMM_POOL = 0,
	PMM_FREE,
	PMM_SPLIT,
	PMM_PINNED, /* as a whole */
	PMM_ALLOCATED,
	PMM_STATES
};

struct pmm_root {
	struct pmm_link link;	/* in the list `list` */
	uint32_t body;		/* SPLIT: its split record. PINNED, ALLOCATED: owner */
	uint16_t pinned_leaves; /* SPLIT: pinned sub-chunks */
	uint8_t state;		/* enum pmm_state */
	uint8_t list;		/* PMM_LIST_NONE: on none */
	uint8_t type;		/* enum uvmp_chunk_type */
	uint8_t is_evicting;
};

/* A root in pieces. Masks have bits at the first pages of sub-chunks only. */
struct pmm_split {
	uint32_t root;	 /* whose record this is; in the chain of unused records: the next one */
	uint32_t groups; /* bit g: pages 16g..16g+15 are chunks of the smallest size, else they are one 64 KiB chunk */
	uvmp_mask live;	 /* not FREE: allocated or pinned */
	uvmp_mask pinned;
	uvmp_mask zero; /* free ones that are zeroed; empty with quirks [driver: split-loses-zero] */
	uvmp_mask
		marked; /* allocated ones marked UNUSED or DISCARDED; empty with quirks [driver: marks-whole-roots] */
	uvmp_mask discarded;
	struct pmm_link slot[PMM_PAGES]; /* free: place in its list. Owned: next is the owner */
};

struct uvmp_pmm {
	uint32_t magic;
	struct uvmp_pmm_params params;
	uint32_t small_pages; /* of 4 KiB, of the smallest chunk: 1 or 4 */
	uint64_t allocated_pages;
	uint32_t in_pool;
	uint32_t pinned;
	uint32_t in_eviction;
	uint32_t splits_fresh; /* records from here on were never used */
	uint32_t split_chain;  /* first record that was used and is free again */
	struct pmm_queue list[PMM_LISTS];
	uint64_t *level[PMM_LEVELS]; /* bits: [0] root is in the pool, [n] word of [n-1] is not 0 */
	struct pmm_split *split;     /* [params.splits] */
	struct pmm_root *root;	     /* [params.roots] */
};

/* Words of one level of the pool's bitmap. */
static inline uint32_t pmm_level_words(uint32_t roots, uint32_t level)
{
	return ((roots - 1u) >> (6u * (level + 1u))) + 1u;
}

static inline uint32_t pmm_chunk_pages(const struct uvmp_pmm *pmm, uint32_t size)
{
	static const uint16_t pages[] = {0, PMM_GROUP, PMM_PAGES};

	return size == UVMP_CHUNK_4K ? pmm->small_pages : pages[size];
}

static inline uint32_t pmm_free_list(uint32_t type, uint32_t size, uint32_t zero)
{
	return PMM_QUEUES + (UVMP_CHUNK_2M - size) * 4u + type * 2u + zero;
}

/* Are the members of this free list zeroed? */
static inline bool pmm_list_is_zero(uint32_t list)
{
	return (list - PMM_QUEUES) % 2u != 0;
}

/* Size of the sub-chunk that starts at `page`. */
static inline uint32_t pmm_leaf_size(const struct pmm_split *split, uint32_t page)
{
	return ((split->groups >> (page / PMM_GROUP)) & 1u) != 0 ? UVMP_CHUNK_4K : UVMP_CHUNK_64K;
}

/* Is the root pinned [driver: root-chunks]? */
static inline bool pmm_root_is_pinned(const struct pmm_root *root)
{
	return root->state == PMM_PINNED || root->pinned_leaves != 0;
}

/* The check of every public function: the header is one that uvmp_pmm_init wrote. uvmp_pmm_is_valid also looks at the
 * parameters. */
static inline bool pmm_is_made(const struct uvmp_pmm *pmm)
{
	bool is_made = pmm != NULL && pmm->magic == PMM_MAGIC;

	UVMPI_ASSERT(!is_made || uvmp_pmm_is_valid(pmm));
	return is_made;
}

/* -- lists of roots -- */

/* The root is on no list. */
static inline void pmm_root_append(struct uvmp_pmm *pmm, uint32_t root, uint32_t list)
{
	struct pmm_queue *queue = &pmm->list[list];
	struct pmm_root *r = &pmm->root[root];
	uint32_t before = queue->tail;

	queue->count++;
	r->link = (struct pmm_link){PMM_NONE, before};
	r->list = (uint8_t)list;
	*(before == PMM_NONE ? &queue->head : &pmm->root[before].link.next) = root;
	queue->tail = root;
}

/* The root is on a list. */
static inline void pmm_root_remove(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];
	struct pmm_queue *queue = &pmm->list[r->list];
	uint32_t prev = r->link.prev, next = r->link.next;

	*(prev == PMM_NONE ? &queue->head : &pmm->root[prev].link.next) = next;
	*(next == PMM_NONE ? &queue->tail : &pmm->root[next].link.prev) = prev;
	queue->count--;
	r->list = PMM_LIST_NONE;
}

/* Puts the root on no list / at the tail of a list, from wherever it was. */
static inline void pmm_root_unlist(struct uvmp_pmm *pmm, uint32_t root)
{
	if (pmm->root[root].list != PMM_LIST_NONE)
		pmm_root_remove(pmm, root);
}
static inline void pmm_root_move(struct uvmp_pmm *pmm, uint32_t root, uint32_t list)
{
	pmm_root_unlist(pmm, root);
	pmm_root_append(pmm, root, list);
}

/* Takes the first root off a list that has one. */
static inline uint32_t pmm_root_pop(struct uvmp_pmm *pmm, uint32_t list)
{
	struct pmm_queue *queue = &pmm->list[list];
	uint32_t root = queue->head, next = pmm->root[root].link.next;

	queue->head = next;
	*(next == PMM_NONE ? &queue->tail : &pmm->root[next].link.prev) = PMM_NONE;
	queue->count--;
	pmm->root[root].list = PMM_LIST_NONE;
	return root;
}

/* -- the pool -- */

/* Takes a batch of roots; the pool is not empty. Returns the first root, whose state is the caller's to set; the others go to
 * the free list in order [driver: chunk-allocation]. */
uint32_t uvmpi_pmm_take_batch(struct uvmp_pmm *pmm, uint32_t type);
void uvmpi_pmm_pool_put(struct uvmp_pmm *pmm, uint32_t root);

/* -- pins, pieces -- */

static inline void pmm_pin_root(struct uvmp_pmm *pmm, uint32_t root)
{
	pmm->root[root].state = PMM_PINNED;
	pmm->pinned++;
}
void uvmpi_pmm_pin_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page);
/* Takes the free sub-chunk off its list and pins it. */
void uvmpi_pmm_take_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page);
bool uvmpi_pmm_can_split(const struct uvmp_pmm *pmm);
/* The pinned root gets an owner as a whole. */
static inline void pmm_give_root(struct uvmp_pmm *pmm, uint32_t root, uint32_t block, struct uvmp_chunk *chunk)
{
	pmm->root[root].body = block;
	if (pmm->root[root].type == UVMP_CHUNK_USER)
		pmm->allocated_pages += PMM_PAGES;
	*chunk = (struct uvmp_chunk){root, 0, UVMP_CHUNK_2M};
}
/* Splits a pinned chunk down to `size`, below 2 MiB; the first piece stays pinned and gets an owner, the others become free. */
void uvmpi_pmm_give(struct uvmp_pmm *pmm, struct uvmp_chunk *chunk, uint32_t size, bool zero, uint32_t block);
/* uvmpi_pmm_alloc of a chunk below 2 MiB. */
enum uvmp_status uvmpi_pmm_alloc_piece(struct uvmp_pmm *pmm, uint32_t type, uint32_t size, uint32_t block,
				       struct uvmp_chunk *chunk);
/* Ends the pin of a chunk below 2 MiB. */
void uvmpi_pmm_unpin_piece(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);
/* The check of the name of a chunk below 2 MiB, once its root is in range: is it that of an allocated chunk? The other one:
 * UVMP_ERR_STATE also if it is not pinned. */
enum uvmp_status uvmpi_pmm_check_piece(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk);
enum uvmp_status uvmpi_pmm_check_pinned_piece(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk);
/* The check of the name of a chunk of any size. */
enum uvmp_status uvmpi_pmm_check_chunk(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk);
/* A split root whose pieces are all pinned becomes one pinned chunk. */
void uvmpi_pmm_merge_pinned(struct uvmp_pmm *pmm, uint32_t root);
/* Frees a chunk, pinned or not, and merges upward. True if a merge happened or a root became free. */
bool uvmpi_pmm_release(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);
/* Marks a chunk whose root is on a queue. The values of marks are those of queues. */
void uvmpi_pmm_apply_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, uint32_t mark);
/* Returns one free root of the type to the pool, if there is one [driver: chunk-free]. */
void uvmpi_pmm_give_back(struct uvmp_pmm *pmm, uint32_t type);

/* -- eviction of a root, split or not (pmm_evict_split.c) -- */

/* Are all of its chunks evicted? */
static inline bool pmm_is_drained(const struct uvmp_pmm *pmm, uint32_t root)
{
	const struct pmm_root *r = &pmm->root[root];

	if (r->state != PMM_SPLIT)
		return r->state == PMM_PINNED;
	return uvmpi_mask_equal(&pmm->split[r->body].live, &pmm->split[r->body].pinned);
}
/* The eviction is over, and the root is one pinned chunk. */
void uvmpi_pmm_evict_finish(struct uvmp_pmm *pmm, uint32_t root);
/* uvmpi_pmm_evict_end, where the root or its new chunk is split. */
enum uvmp_status uvmpi_pmm_evict_end_split(struct uvmp_pmm *pmm, uint32_t root, uint32_t type, uint32_t size,
					   uint32_t block, struct uvmp_chunk *chunk);

/* -- eviction of a split root -- */

/* Pins its free chunks. */
void uvmpi_pmm_pin_free(struct uvmp_pmm *pmm, uint32_t root);
/* The owner of its first allocated chunk that is not pinned; there is one. */
uint32_t uvmpi_pmm_owner(const struct uvmp_pmm *pmm, uint32_t root);
/* Names that owner, if there is one, and pins all allocated chunks of it: uvmpi_pmm_evict_next. UVMP_OK. */
enum uvmp_status uvmpi_pmm_evict_owner(struct uvmp_pmm *pmm, uint32_t root, struct uvmp_pmm_eviction *eviction,
				       bool *found);
/* Frees its pinned chunks in address order. The last one may take the root with it. */
void uvmpi_pmm_release_pinned(struct uvmp_pmm *pmm, uint32_t root);

/* -- the public calls without their checks, for calls inside the library; their contracts are in pmm.h -- */

/* UVMP_ERR_NO_MEMORY, UVMP_ERR_SPACE. */
enum uvmp_status uvmpi_pmm_alloc(struct uvmp_pmm *pmm, uint32_t type, uint32_t size, uint32_t block,
				 struct uvmp_chunk *chunk);
void uvmpi_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk);

static inline void pmm_unpin_root(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->state == PMM_PINNED && !r->is_evicting);
	r->state = PMM_ALLOCATED;
	pmm->pinned--;
	if (r->type == UVMP_CHUNK_USER) /* a pinned root is on no list */
		pmm_root_append(pmm, root, UVMP_PMM_USED);
}

static inline void uvmpi_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	if (chunk.size == UVMP_CHUNK_2M)
		pmm_unpin_root(pmm, chunk.root);
	else
		uvmpi_pmm_unpin_piece(pmm, chunk);
}

/* Roots that are pinned, in eviction or not of user memory are on no queue, and stay so. */
static inline void uvmpi_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, uint32_t mark)
{
	UVMPI_ASSERT(uvmpi_pmm_check_chunk(pmm, chunk) == UVMP_OK);
	if (pmm->root[chunk.root].list != PMM_LIST_NONE)
		uvmpi_pmm_apply_mark(pmm, chunk, mark);
}

/* [driver: order-by-service]: the driver does not see accesses. */
static inline void uvmpi_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	UVMPI_ASSERT(uvmpi_pmm_check_chunk(pmm, chunk) == UVMP_OK);
	if (!pmm->params.quirks && pmm->root[chunk.root].list != PMM_LIST_NONE)
		pmm_root_move(pmm, chunk.root, pmm->root[chunk.root].list);
}

/* The root, which is on no list any longer, is in eviction. */
static inline void pmm_evict_start(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->list == PMM_LIST_NONE && !r->is_evicting);
	r->is_evicting = 1;
	pmm->in_eviction++;
	if (r->state == PMM_ALLOCATED)
		return;
	if (r->state == PMM_FREE)
		pmm_pin_root(pmm, root);
	else
		uvmpi_pmm_pin_free(pmm, root);
}

/* False: the root is empty, and *block is unchanged. */
static inline bool uvmpi_pmm_evict_peek(const struct uvmp_pmm *pmm, uint32_t root, uint32_t *block)
{
	const struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->is_evicting);
	if (pmm_is_drained(pmm, root))
		return false;
	*block = r->state == PMM_SPLIT ? uvmpi_pmm_owner(pmm, root) : r->body;
	return true;
}

/* UVMP_OK. */
static inline enum uvmp_status uvmpi_pmm_evict_next(struct uvmp_pmm *pmm, uint32_t root,
						    struct uvmp_pmm_eviction *eviction, bool *found)
{
	struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->is_evicting);
	if (r->state == PMM_SPLIT)
		return uvmpi_pmm_evict_owner(pmm, root, eviction, found);
	*found = r->state != PMM_PINNED;
	if (!*found)
		return UVMP_OK;
	eviction->block = r->body;
	UVMPI_EACH_WORD(i)
		eviction->pages.word[i] = UVMPI_ALL_ONES;
	pmm->allocated_pages -= PMM_PAGES;
	pmm_pin_root(pmm, root);
	return UVMP_OK;
}

/* Of a root that is empty. UVMP_ERR_SPACE. */
static inline enum uvmp_status uvmpi_pmm_evict_end(struct uvmp_pmm *pmm, uint32_t root, uint32_t type, uint32_t size,
						   uint32_t block, struct uvmp_chunk *chunk)
{
	struct pmm_root *r = &pmm->root[root];

	UVMPI_ASSERT(r->is_evicting && pmm_is_drained(pmm, root));
	if (r->state == PMM_SPLIT || size != UVMP_CHUNK_2M)
		return uvmpi_pmm_evict_end_split(pmm, root, type, size, block, chunk);
	r->is_evicting = 0;
	pmm->in_eviction--;
	r->type = (uint8_t)type;
	pmm_give_root(pmm, root, block, chunk);
	return UVMP_OK;
}

static inline uint32_t pmm_free_user(const struct uvmp_pmm *pmm, uint32_t size)
{
	return pmm->list[pmm_free_list(UVMP_CHUNK_USER, size, 0)].count +
	       pmm->list[pmm_free_list(UVMP_CHUNK_USER, size, 1)].count;
}

static inline void uvmpi_pmm_count(const struct uvmp_pmm *pmm, struct uvmp_pmm_counts *counts)
{
	counts->roots = pmm->params.roots;
	counts->in_pool = pmm->in_pool;
	counts->pinned = pmm->pinned;
	counts->in_eviction = pmm->in_eviction;
	counts->free_64k = pmm_free_user(pmm, UVMP_CHUNK_64K);
	counts->free_4k = pmm_free_user(pmm, UVMP_CHUNK_4K);
	counts->allocated_pages = pmm->allocated_pages;
}

/* Of a root that is empty. */
void uvmpi_pmm_evict_release(struct uvmp_pmm *pmm, uint32_t root);
void uvmpi_pmm_evict_abort(struct uvmp_pmm *pmm, uint32_t root);

#endif
