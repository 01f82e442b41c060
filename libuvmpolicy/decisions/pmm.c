/* The memory manager's calls except eviction: memory layout, allocation, unpin, free, marks, queries.
 *
 * An allocation takes the first free chunk of its size, else of the next larger sizes, zeroed chunks before
 * others, else a batch of roots from the pool, and splits the chunk down to its size [driver:
 * chunk-allocation]. */
#include "pmm_internal.h"

/* -- memory -- */

static bool params_are_valid(const struct uvmp_pmm_params *params)
{
	return params->roots - 1u < UVMP_ROOTS_MAX && params->splits <= params->roots &&
	       params->splits <= UVMP_SPLITS_MAX && params->batch_order <= 20u;
}

static uint64_t bitmap_words(uint32_t roots)
{
	uint64_t words = 0;

	for (uint32_t level = 0; level < PMM_LEVELS; level++)
		words += pmm_level_words(roots, level);
	return words;
}

size_t uvmp_pmm_size(const struct uvmp_pmm_params *params)
{
	uint64_t bytes;

	if (params == NULL || !params_are_valid(params))
		return 0;
	/* In the order of alignment: the header and the words need 8, the roots 4. */
	bytes = sizeof(struct uvmp_pmm) + bitmap_words(params->roots) * sizeof(uint64_t) +
	        params->splits * (uint64_t)sizeof(struct pmm_split) +
	        params->roots * (uint64_t)sizeof(struct pmm_root);
	/* 0 where size_t is narrower than the size; a product, as a branch could never be taken on a 64-bit
	 * host. */
	return (size_t)bytes * (size_t)((size_t)bytes == bytes);
}

/* All `bits` lowest bits set, from word 0 on. */
static void fill_bits(uint64_t *word, uint32_t bits)
{
	for (uint32_t i = 0; i < bits / 64u; i++)
		word[i] = ~(uint64_t)0;
	if (bits % 64u != 0)
		word[bits / 64u] = ((uint64_t)1 << (bits % 64u)) - 1u;
}

static void init_pool(struct uvmp_pmm *pmm, uint64_t *words)
{
	uint32_t bits = pmm->params.roots;

	for (uint32_t level = 0; level < PMM_LEVELS; level++) {
		pmm->level[level] = words;
		fill_bits(words, bits);
		bits = pmm_level_words(pmm->params.roots, level);
		words += bits;
	}
	pmm->in_pool = pmm->params.roots;
}

static void init_lists(struct uvmp_pmm *pmm)
{
	static const struct pmm_queue empty = {PMM_NONE, PMM_NONE, 0};
	static const struct pmm_root in_pool = {
	        .link = {PMM_NONE, PMM_NONE}, .state = PMM_POOL, .list = PMM_LIST_NONE};

	for (uint32_t i = 0; i < PMM_LISTS; i++)
		pmm->list[i] = empty;
	for (uint32_t i = 0; i < pmm->params.roots; i++)
		pmm->root[i] = in_pool;
}

enum uvmp_status uvmp_pmm_init(const struct uvmp_pmm_params *params, void *memory, size_t bytes,
                               struct uvmp_pmm **pmm)
{
	struct uvmp_pmm *p = memory;
	size_t needed = uvmp_pmm_size(params);
	uint64_t *words;

	if (params == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0 || pmm == NULL)
		return UVMP_ERR_ARGUMENT;
	if (needed == 0)
		return UVMP_ERR_RANGE;
	if (bytes < needed)
		return UVMP_ERR_SPACE;
	words = (uint64_t *)(p + 1);
	p->magic = PMM_MAGIC;
	p->params = *params;
	p->allocated_pages = 0;
	p->pinned = 0;
	p->in_eviction = 0;
	p->splits_fresh = 0;
	p->split_chain = PMM_NONE;
	p->split = (struct pmm_split *)(words + bitmap_words(params->roots));
	p->root = (struct pmm_root *)(p->split + params->splits);
	init_pool(p, words);
	init_lists(p);
	*pmm = p;
	return UVMP_OK;
}

bool uvmp_pmm_is_valid(const struct uvmp_pmm *pmm)
{
	return pmm != NULL && pmm->magic == PMM_MAGIC && params_are_valid(&pmm->params) &&
	       pmm->splits_fresh <= pmm->params.splits;
}

/* -- allocation -- */

/* Takes the head of a free list and pins it. */
static struct uvmp_chunk claim(struct uvmp_pmm *pmm, uint32_t list, uint32_t size)
{
	uint32_t member = pmm->list[list].head;
	struct uvmp_chunk chunk = {member, 0, (uint8_t)size};

	if (size == UVMP_CHUNK_2M) {
		uvmpi_pmm_pin_root(pmm, member);
	} else {
		chunk.root = pmm->split[member / PMM_PAGES].root;
		chunk.page = (uint16_t)(member % PMM_PAGES);
		uvmpi_pmm_take_leaf(pmm, chunk.root, chunk.page);
	}
	uvmpi_pmm_root_unlist(pmm, chunk.root);
	return chunk;
}

/* Takes a batch from the pool: the first root is pinned, the others go to the free list in order. */
static struct uvmp_chunk claim_batch(struct uvmp_pmm *pmm, uint32_t type)
{
	uint32_t batch = type == UVMP_CHUNK_USER ? 1u << pmm->params.batch_order : 1u;
	uint32_t list = pmm_free_list(type, UVMP_CHUNK_2M, pmm->params.is_zeroed);
	struct uvmp_chunk chunk = {uvmpi_pmm_pool_take(pmm), 0, UVMP_CHUNK_2M};
	uint32_t root;

	pmm->root[chunk.root].type = (uint8_t)type;
	uvmpi_pmm_pin_root(pmm, chunk.root);
	for (uint32_t i = 1; i < batch && pmm->in_pool != 0; i++) {
		root = uvmpi_pmm_pool_take(pmm);
		pmm->root[root].state = PMM_FREE;
		pmm->root[root].type = (uint8_t)type;
		uvmpi_pmm_root_move(pmm, root, list);
	}
	return chunk;
}

/* Where an allocation is served from: the first list that is not empty, smallest size and zeroed first. Sets
 * *size to that list's size; PMM_LIST_NONE and 2 MiB if only the pool is left. */
static uint32_t find_source(const struct uvmp_pmm *pmm, uint32_t type, uint32_t *size)
{
	for (; *size <= UVMP_CHUNK_2M; (*size)++) {
		for (uint32_t nonzero = 0; nonzero < 2u; nonzero++) {
			uint32_t list = pmm_free_list(type, *size, 1u - nonzero);

			if (pmm->list[list].count != 0)
				return list;
		}
	}
	*size = UVMP_CHUNK_2M;
	return PMM_LIST_NONE;
}

/* A failed allocation returns a free root to the pool in the driver [driver: chunk-free]. It does not here:
 * it fails only when there is no free root, or no split record, a limit that the driver does not have. */
enum uvmp_status uvmp_pmm_alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, enum uvmp_chunk_size size,
                                uint32_t block, struct uvmp_chunk *chunk)
{
	uint32_t source_size = (uint32_t)size, source;
	bool zero;

	if (!uvmp_pmm_is_valid(pmm) || chunk == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL || (uint32_t)size > UVMP_CHUNK_2M)
		return UVMP_ERR_RANGE;
	source = find_source(pmm, (uint32_t)type, &source_size);
	if (source == PMM_LIST_NONE && pmm->in_pool == 0)
		return UVMP_ERR_NO_MEMORY;
	if (source_size == UVMP_CHUNK_2M && size != UVMP_CHUNK_2M && !uvmpi_pmm_can_split(pmm))
		return UVMP_ERR_SPACE;
	if (source == PMM_LIST_NONE) {
		zero = pmm->params.is_zeroed;
		*chunk = claim_batch(pmm, (uint32_t)type);
	} else {
		zero = pmm_list_is_zero(source);
		*chunk = claim(pmm, source, source_size);
	}
	uvmpi_pmm_split_down(pmm, chunk, (uint32_t)size, zero);
	uvmpi_pmm_own(pmm, *chunk, block);
	return UVMP_OK;
}

/* -- what happens to allocated chunks -- */

/* Is this sub-chunk allocated, that is, in use by an owner? Pinned pieces of a root in eviction have lost
 * theirs. */
static bool leaf_is_allocated(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	const struct pmm_root *r = &pmm->root[chunk.root];
	const struct pmm_split *split;

	if (r->state != PMM_SPLIT)
		return false;
	split = &pmm->split[r->body];
	if (pmm_leaf_size(split, chunk.page) != chunk.size || !uvmp_mask_test(&split->live, chunk.page))
		return false;
	return !r->is_evicting || !uvmp_mask_test(&split->pinned, chunk.page);
}

/* The same for a whole root. */
static bool root_is_allocated(const struct pmm_root *r)
{
	return r->state == PMM_ALLOCATED || (r->state == PMM_PINNED && !r->is_evicting);
}

static enum uvmp_status check_chunk(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	bool is_allocated;

	if (!uvmp_pmm_is_valid(pmm))
		return UVMP_ERR_ARGUMENT;
	if (chunk.root >= pmm->params.roots || chunk.size > UVMP_CHUNK_2M || chunk.page >= PMM_PAGES ||
	    chunk.page % pmm_chunk_pages(chunk.size) != 0)
		return UVMP_ERR_RANGE;
	if (chunk.size == UVMP_CHUNK_2M)
		is_allocated = root_is_allocated(&pmm->root[chunk.root]);
	else
		is_allocated = leaf_is_allocated(pmm, chunk);
	return is_allocated ? UVMP_OK : UVMP_ERR_STATE;
}

enum uvmp_status uvmp_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = check_chunk(pmm, chunk);
	struct pmm_root *r;

	if (status != UVMP_OK)
		return status;
	r = &pmm->root[chunk.root];
	if (chunk.size == UVMP_CHUNK_2M) {
		if (r->state != PMM_PINNED)
			return UVMP_ERR_STATE;
		r->state = PMM_ALLOCATED;
		pmm->pinned--;
	} else {
		if (!uvmp_mask_test(&pmm->split[r->body].pinned, chunk.page))
			return UVMP_ERR_STATE;
		uvmp_mask_clear(&pmm->split[r->body].pinned, chunk.page);
		r->pinned_leaves--;
	}
	if (r->type == UVMP_CHUNK_USER && r->pinned_leaves == 0)
		uvmpi_pmm_root_move(pmm, chunk.root, UVMP_PMM_USED);
	return UVMP_OK;
}

enum uvmp_status uvmp_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = check_chunk(pmm, chunk);
	uint32_t type;

	if (status != UVMP_OK)
		return status;
	type = pmm->root[chunk.root].type;
	if (type == UVMP_CHUNK_USER)
		pmm->allocated_pages -= pmm_chunk_pages(chunk.size);
	if (pmm->root[chunk.root].is_evicting) {
		if (chunk.size == UVMP_CHUNK_2M)
			uvmpi_pmm_pin_root(pmm, chunk.root);
		else
			uvmpi_pmm_pin_leaf(pmm, chunk.root, chunk.page);
		return UVMP_OK;
	}
	if (uvmpi_pmm_release(pmm, chunk))
		uvmpi_pmm_give_back(pmm, type);
	return UVMP_OK;
}

enum uvmp_status uvmp_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, enum uvmp_chunk_mark mark)
{
	enum uvmp_status status = check_chunk(pmm, chunk);

	if (status == UVMP_OK && (uint32_t)mark > UVMP_MARK_USED)
		return UVMP_ERR_RANGE;
	/* Roots that are pinned, in eviction or not of user memory are on no queue, and stay so. */
	if (status == UVMP_OK && pmm->root[chunk.root].list != PMM_LIST_NONE)
		uvmpi_pmm_apply_mark(pmm, chunk, (uint32_t)mark);
	return status;
}

enum uvmp_status uvmp_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = check_chunk(pmm, chunk);

	/* [driver: order-by-service]: the driver does not see accesses. */
	if (status == UVMP_OK && !pmm->params.quirks && pmm->root[chunk.root].list != PMM_LIST_NONE)
		uvmpi_pmm_root_move(pmm, chunk.root, pmm->root[chunk.root].list);
	return status;
}

/* -- looking -- */

uint32_t uvmp_pmm_first(const struct uvmp_pmm *pmm, enum uvmp_pmm_list list)
{
	if (!uvmp_pmm_is_valid(pmm) || (uint32_t)list > UVMP_PMM_FREE_ZERO)
		return UVMP_ROOT_NONE;
	return pmm->list[list].head;
}

uint32_t uvmp_pmm_next(const struct uvmp_pmm *pmm, uint32_t root)
{
	if (!uvmp_pmm_is_valid(pmm) || root >= pmm->params.roots ||
	    pmm->root[root].list == PMM_LIST_NONE)
		return UVMP_ROOT_NONE;
	return pmm->root[root].link.next;
}

bool uvmp_pmm_in_pool(const struct uvmp_pmm *pmm, uint32_t root)
{
	return uvmp_pmm_is_valid(pmm) && root < pmm->params.roots && pmm->root[root].state == PMM_POOL;
}

static uint32_t free_user(const struct uvmp_pmm *pmm, uint32_t size)
{
	return pmm->list[pmm_free_list(UVMP_CHUNK_USER, size, 0)].count +
	       pmm->list[pmm_free_list(UVMP_CHUNK_USER, size, 1)].count;
}

void uvmp_pmm_count(const struct uvmp_pmm *pmm, struct uvmp_pmm_counts *counts)
{
	if (!uvmp_pmm_is_valid(pmm) || counts == NULL)
		return;
	counts->roots = pmm->params.roots;
	counts->in_pool = pmm->in_pool;
	counts->pinned = pmm->pinned;
	counts->in_eviction = pmm->in_eviction;
	counts->free_64k = free_user(pmm, UVMP_CHUNK_64K);
	counts->free_4k = free_user(pmm, UVMP_CHUNK_4K);
	counts->allocated_pages = pmm->allocated_pages;
}
