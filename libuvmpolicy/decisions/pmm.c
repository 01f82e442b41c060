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
	       params->splits <= UVMP_SPLITS_MAX && params->batch_order <= 20u &&
	       (params->page_bytes == 0 || params->page_bytes == PMM_PAGE_BYTES || params->page_bytes == 4u * PMM_PAGE_BYTES);
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
	struct uvmp_pmm *p = (struct uvmp_pmm *)memory;
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
	p->small_pages = params->page_bytes == 0 ? 1u : params->page_bytes / PMM_PAGE_BYTES;
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

/* A whole root: the head of a free list, zeroed roots first, else a batch from the pool. */
static inline enum uvmp_status alloc_root(struct uvmp_pmm *pmm, uint32_t type, uint32_t block, struct uvmp_chunk *chunk)
{
	uint32_t list = pmm_free_list(type, UVMP_CHUNK_2M, 1), root;

	if (pmm->list[list].count == 0)
		list = pmm_free_list(type, UVMP_CHUNK_2M, 0);
	if (pmm->list[list].count != 0)
		root = pmm_root_pop(pmm, list);
	else if (pmm->in_pool != 0)
		root = uvmpi_pmm_take_batch(pmm, type);
	else
		return UVMP_ERR_NO_MEMORY;
	pmm_pin_root(pmm, root);
	pmm_give_root(pmm, root, block, chunk);
	return UVMP_OK;
}

/* A failed allocation returns a free root to the pool in the driver [driver: chunk-free]. It does not here:
 * it fails only when there is no free root, or no split record, a limit that the driver does not have. */
static inline enum uvmp_status alloc(struct uvmp_pmm *pmm, uint32_t type, uint32_t size, uint32_t block,
				     struct uvmp_chunk *chunk)
{
	return size == UVMP_CHUNK_2M ? alloc_root(pmm, type, block, chunk)
				     : uvmpi_pmm_alloc_piece(pmm, type, size, block, chunk);
}

enum uvmp_status uvmpi_pmm_alloc(struct uvmp_pmm *pmm, uint32_t type, uint32_t size, uint32_t block,
				 struct uvmp_chunk *chunk)
{
	UVMPI_ASSERT(pmm_is_made(pmm) && type <= UVMP_CHUNK_KERNEL && size <= UVMP_CHUNK_2M);
	return alloc(pmm, type, size, block, chunk);
}

enum uvmp_status uvmp_pmm_alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_type type, enum uvmp_chunk_size size,
                                uint32_t block, struct uvmp_chunk *chunk)
{
	if (!pmm_is_made(pmm) || chunk == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)type > UVMP_CHUNK_KERNEL || (uint32_t)size > UVMP_CHUNK_2M)
		return UVMP_ERR_RANGE;
	return alloc(pmm, (uint32_t)type, (uint32_t)size, block, chunk);
}

/* -- what happens to allocated chunks -- */

/* Is a whole root in use by an owner? */
static bool root_is_allocated(const struct pmm_root *r)
{
	return r->state == PMM_ALLOCATED || (r->state == PMM_PINNED && !r->is_evicting);
}

enum uvmp_status uvmpi_pmm_check_chunk(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	if (!pmm_is_made(pmm))
		return UVMP_ERR_ARGUMENT;
	if (chunk.root >= pmm->params.roots)
		return UVMP_ERR_RANGE;
	if (chunk.size != UVMP_CHUNK_2M)
		return uvmpi_pmm_check_piece(pmm, chunk);
	if (chunk.page != 0)
		return UVMP_ERR_RANGE;
	return root_is_allocated(&pmm->root[chunk.root]) ? UVMP_OK : UVMP_ERR_STATE;
}

static UVMPI_NOINLINE enum uvmp_status unpin_piece(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = uvmpi_pmm_check_pinned_piece(pmm, chunk);

	if (status == UVMP_OK)
		uvmpi_pmm_unpin_piece(pmm, chunk);
	return status;
}

enum uvmp_status uvmp_pmm_unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	const struct pmm_root *r;

	if (!pmm_is_made(pmm))
		return UVMP_ERR_ARGUMENT;
	if (chunk.root >= pmm->params.roots)
		return UVMP_ERR_RANGE;
	if (chunk.size != UVMP_CHUNK_2M)
		return unpin_piece(pmm, chunk);
	if (chunk.page != 0)
		return UVMP_ERR_RANGE;
	r = &pmm->root[chunk.root];
	if (r->state != PMM_PINNED || r->is_evicting)
		return UVMP_ERR_STATE;
	pmm_unpin_root(pmm, chunk.root);
	return UVMP_OK;
}

void uvmpi_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	uint32_t type;

	UVMPI_ASSERT(uvmpi_pmm_check_chunk(pmm, chunk) == UVMP_OK);
	type = pmm->root[chunk.root].type;
	if (type == UVMP_CHUNK_USER)
		pmm->allocated_pages -= pmm_chunk_pages(pmm, chunk.size);
	if (pmm->root[chunk.root].is_evicting) {
		if (chunk.size == UVMP_CHUNK_2M)
			pmm_pin_root(pmm, chunk.root);
		else
			uvmpi_pmm_pin_leaf(pmm, chunk.root, chunk.page);
		return;
	}
	if (uvmpi_pmm_release(pmm, chunk))
		uvmpi_pmm_give_back(pmm, type);
}

enum uvmp_status uvmp_pmm_free(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = uvmpi_pmm_check_chunk(pmm, chunk);

	if (status == UVMP_OK)
		uvmpi_pmm_free(pmm, chunk);
	return status;
}

enum uvmp_status uvmp_pmm_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, enum uvmp_chunk_mark mark)
{
	enum uvmp_status status = uvmpi_pmm_check_chunk(pmm, chunk);

	if (status == UVMP_OK && (uint32_t)mark > UVMP_MARK_USED)
		return UVMP_ERR_RANGE;
	if (status == UVMP_OK)
		uvmpi_pmm_mark(pmm, chunk, (uint32_t)mark);
	return status;
}

enum uvmp_status uvmp_pmm_touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = uvmpi_pmm_check_chunk(pmm, chunk);

	if (status == UVMP_OK)
		uvmpi_pmm_touch(pmm, chunk);
	return status;
}

/* -- looking -- */

uint32_t uvmp_pmm_first(const struct uvmp_pmm *pmm, enum uvmp_pmm_list list)
{
	if (!pmm_is_made(pmm) || (uint32_t)list > UVMP_PMM_FREE_ZERO)
		return UVMP_ROOT_NONE;
	return pmm->list[list].head;
}

uint32_t uvmp_pmm_next(const struct uvmp_pmm *pmm, uint32_t root)
{
	if (!pmm_is_made(pmm) || root >= pmm->params.roots ||
	    pmm->root[root].list == PMM_LIST_NONE)
		return UVMP_ROOT_NONE;
	return pmm->root[root].link.next;
}

bool uvmp_pmm_in_pool(const struct uvmp_pmm *pmm, uint32_t root)
{
	return pmm_is_made(pmm) && root < pmm->params.roots && pmm->root[root].state == PMM_POOL;
}

void uvmp_pmm_count(const struct uvmp_pmm *pmm, struct uvmp_pmm_counts *counts)
{
	if (!pmm_is_made(pmm) || counts == NULL)
		return;
	uvmpi_pmm_count(pmm, counts);
}
