/* Steps of the memory manager: lists, the pool, pinning, splitting, merging.
 *
 * All lists are doubly linked through indices, so that every move is O(1). The pool is a bitmap with three
 * levels of summary above it: the lowest set bit of the top word names the word of the next level. A split
 * root has a record with one slot per page; the sub-chunk that starts at a page uses that page's slot, either
 * as its position in a free list or for its owner. Merging is two steps at most, 4 KiB into 64 KiB and 64 KiB
 * into 2 MiB. */
#include "pmm_internal.h"

/* -- lists of sub-chunks -- */

static struct pmm_link *link_of(const struct uvmp_pmm *pmm, uint32_t member)
{
	return &pmm->split[member / PMM_PAGES].slot[member % PMM_PAGES];
}

static void list_append(struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	struct pmm_queue *queue = &pmm->list[list];
	uint32_t before = queue->tail;

	*link_of(pmm, member) = (struct pmm_link){PMM_NONE, before};
	*(before == PMM_NONE ? &queue->head : &link_of(pmm, before)->next) = member;
	queue->tail = member;
	queue->count++;
}

static void list_remove(struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	struct pmm_queue *queue = &pmm->list[list];
	struct pmm_link link = *link_of(pmm, member);

	*(link.prev == PMM_NONE ? &queue->head : &link_of(pmm, link.prev)->next) = link.next;
	*(link.next == PMM_NONE ? &queue->tail : &link_of(pmm, link.next)->prev) = link.prev;
	queue->count--;
}

/* -- the pool -- */

/* Takes the lowest roots of the pool, at most `most`, from one word of its bitmap: root word * 64 + b for each bit b that is
 * returned. The pool is not empty. The lowest set bit of a word names the word of the level below. */
static uint64_t take_from_pool(struct uvmp_pmm *pmm, uint32_t most, uint32_t *word)
{
	uint64_t taken, rest;
	uint32_t at = 0;

	for (uint32_t level = PMM_LEVELS; level-- > 1u;)
		at = at * 64u + lowest_bit(pmm->level[level][at]);
	*word = at;
	taken = rest = pmm->level[0][at];
	for (uint32_t i = 0; i < most && rest != 0; i++)
		rest &= rest - 1u;
	taken ^= rest;
	pmm->level[0][at] = rest;
	pmm->in_pool -= popcount(taken);
	for (uint32_t level = 1; rest == 0 && level < PMM_LEVELS; level++, at /= 64u)
		rest = pmm->level[level][at / 64u] &= ~((uint64_t)1 << at % 64u);
	return taken;
}

uint32_t uvmpi_pmm_take_batch(struct uvmp_pmm *pmm, uint32_t type)
{
	uint32_t list = pmm_free_list(type, UVMP_CHUNK_2M, pmm->params.is_zeroed);
	uint32_t left = type == UVMP_CHUNK_USER ? 1u << pmm->params.batch_order : 1u;
	uint32_t first = PMM_NONE, root, word;

	while (left != 0 && pmm->in_pool != 0) {
		for (uint64_t taken = take_from_pool(pmm, left, &word); taken != 0; taken &= taken - 1u, left--) {
			root = word * 64u + lowest_bit(taken);
			pmm->root[root].type = (uint8_t)type;
			if (first == PMM_NONE) {
				first = root;
				continue;
			}
			pmm->root[root].state = PMM_FREE;
			pmm_root_append(pmm, root, list);
		}
	}
	return first;
}

void uvmpi_pmm_pool_put(struct uvmp_pmm *pmm, uint32_t root)
{
	uint32_t at = root;

	for (uint32_t level = 0; level < PMM_LEVELS; level++, at /= 64u)
		pmm->level[level][at / 64u] |= (uint64_t)1 << (at % 64u);
	pmm->in_pool++;
	pmm->root[root].state = PMM_POOL;
}

void uvmpi_pmm_give_back(struct uvmp_pmm *pmm, uint32_t type)
{
	uint32_t root = pmm->list[pmm_free_list(type, UVMP_CHUNK_2M, 0)].head;

	if (root == PMM_NONE)
		root = pmm->list[pmm_free_list(type, UVMP_CHUNK_2M, 1)].head;
	if (root == PMM_NONE)
		return;
	pmm_root_unlist(pmm, root);
	uvmpi_pmm_pool_put(pmm, root);
}

/* -- pins -- */

void uvmpi_pmm_pin_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	struct pmm_root *r = &pmm->root[root];

	uvmp_mask_set(&pmm->split[r->body].pinned, page);
	r->pinned_leaves++;
}

static uint32_t leaf_member(const struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	return pmm->root[root].body * PMM_PAGES + page;
}

static uint32_t leaf_free_list(const struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	const struct pmm_split *split = &pmm->split[pmm->root[root].body];

	return pmm_free_list(pmm->root[root].type, pmm_leaf_size(split, page),
	                          uvmp_mask_test(&split->zero, page));
}

/* The sub-chunk becomes free: not live, not pinned, at the tail of its list. */
static void free_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page, bool zero)
{
	struct pmm_split *split = &pmm->split[pmm->root[root].body];

	uvmp_mask_clear(&split->live, page);
	uvmp_mask_clear(&split->marked, page);
	uvmp_mask_clear(&split->discarded, page);
	if (zero)
		uvmp_mask_set(&split->zero, page);
	list_append(pmm, leaf_free_list(pmm, root, page), leaf_member(pmm, root, page));
}

static void unlist_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	list_remove(pmm, leaf_free_list(pmm, root, page), leaf_member(pmm, root, page));
	uvmp_mask_clear(&pmm->split[pmm->root[root].body].zero, page);
}

void uvmpi_pmm_take_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	unlist_leaf(pmm, root, page);
	uvmp_mask_set(&pmm->split[pmm->root[root].body].live, page);
	uvmpi_pmm_pin_leaf(pmm, root, page);
}

/* -- split -- */

bool uvmpi_pmm_can_split(const struct uvmp_pmm *pmm)
{
	return pmm->split_chain != PMM_NONE || pmm->splits_fresh < pmm->params.splits;
}

static uint32_t take_record(struct uvmp_pmm *pmm)
{
	uint32_t record = pmm->split_chain;

	if (record == PMM_NONE)
		return pmm->splits_fresh++;
	pmm->split_chain = pmm->split[record].root;
	return record;
}

static void put_record(struct uvmp_pmm *pmm, uint32_t record)
{
	pmm->split[record].root = pmm->split_chain;
	pmm->split_chain = record;
}

/* A pinned root becomes 32 chunks of 64 KiB, the first of them pinned. */
static void split_root(struct uvmp_pmm *pmm, uint32_t root, bool zero)
{
	struct pmm_root *r = &pmm->root[root];
	struct pmm_split *split;

	r->body = take_record(pmm);
	r->state = PMM_SPLIT;
	pmm->pinned--;
	split = &pmm->split[r->body];
	split->root = root;
	split->groups = 0;
	uvmpi_mask_zero(&split->live);
	uvmpi_mask_zero(&split->pinned);
	uvmpi_mask_zero(&split->zero);
	uvmpi_mask_zero(&split->marked);
	uvmpi_mask_zero(&split->discarded);
	uvmp_mask_set(&split->live, 0);
	uvmpi_pmm_pin_leaf(pmm, root, 0);
	for (uint32_t page = PMM_GROUP; page < PMM_PAGES; page += PMM_GROUP)
		free_leaf(pmm, root, page, zero);
}

/* A pinned 64 KiB chunk becomes chunks of the smallest size; live and pinned bits of the first one are there already. */
static void split_group(struct uvmp_pmm *pmm, uint32_t root, uint32_t first, bool zero)
{
	pmm->split[pmm->root[root].body].groups |= 1u << (first / PMM_GROUP);
	for (uint32_t page = first + pmm->small_pages; page < first + PMM_GROUP; page += pmm->small_pages)
		free_leaf(pmm, root, page, zero);
}

static void split_down(struct uvmp_pmm *pmm, struct uvmp_chunk *chunk, uint32_t size, bool zero)
{
	/* [driver: split-loses-zero]: the driver frees the remainders like used memory. */
	bool keep = zero && !pmm->params.quirks;

	if (chunk->size == UVMP_CHUNK_2M)
		split_root(pmm, chunk->root, keep);
	if (chunk->size > UVMP_CHUNK_4K && size == UVMP_CHUNK_4K)
		split_group(pmm, chunk->root, chunk->page, keep);
	chunk->size = (uint8_t)size;
}

void uvmpi_pmm_give(struct uvmp_pmm *pmm, struct uvmp_chunk *chunk, uint32_t size, bool zero, uint32_t block)
{
	struct pmm_root *r = &pmm->root[chunk->root];

	split_down(pmm, chunk, size, zero);
	pmm->split[r->body].slot[chunk->page].next = block;
	if (r->type == UVMP_CHUNK_USER)
		pmm->allocated_pages += pmm_chunk_pages(pmm, size);
}

/* -- sub-chunks of a caller -- */

/* Takes the head of a free list and pins it. */
static struct uvmp_chunk claim(struct uvmp_pmm *pmm, uint32_t list, uint32_t size)
{
	uint32_t member = pmm->list[list].head;
	struct uvmp_chunk chunk = {member, 0, (uint8_t)size};

	if (size == UVMP_CHUNK_2M) {
		pmm_pin_root(pmm, pmm_root_pop(pmm, list));
		return chunk;
	}
	chunk.root = pmm->split[member / PMM_PAGES].root;
	chunk.page = (uint16_t)(member % PMM_PAGES);
	uvmpi_pmm_take_leaf(pmm, chunk.root, chunk.page);
	pmm_root_unlist(pmm, chunk.root);
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

enum uvmp_status uvmpi_pmm_alloc_piece(struct uvmp_pmm *pmm, uint32_t type, uint32_t size, uint32_t block,
				       struct uvmp_chunk *chunk)
{
	uint32_t source_size = size, source = find_source(pmm, type, &source_size);
	bool zero = pmm->params.is_zeroed;

	if (source == PMM_LIST_NONE && pmm->in_pool == 0)
		return UVMP_ERR_NO_MEMORY;
	if (source_size == UVMP_CHUNK_2M && !uvmpi_pmm_can_split(pmm))
		return UVMP_ERR_SPACE;
	if (source == PMM_LIST_NONE) {
		*chunk = (struct uvmp_chunk){uvmpi_pmm_take_batch(pmm, type), 0, UVMP_CHUNK_2M};
		pmm_pin_root(pmm, chunk->root);
	} else {
		zero = pmm_list_is_zero(source);
		*chunk = claim(pmm, source, source_size);
	}
	uvmpi_pmm_give(pmm, chunk, size, zero, block);
	return UVMP_OK;
}

/* Is this sub-chunk allocated, that is, in use by an owner? Pinned pieces of a root in eviction have lost
 * theirs. */
static bool is_allocated(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
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

enum uvmp_status uvmpi_pmm_check_piece(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	if (chunk.size > UVMP_CHUNK_2M || chunk.page >= PMM_PAGES || chunk.page % pmm_chunk_pages(pmm, chunk.size) != 0)
		return UVMP_ERR_RANGE;
	return is_allocated(pmm, chunk) ? UVMP_OK : UVMP_ERR_STATE;
}

static bool is_pinned(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	return uvmp_mask_test(&pmm->split[pmm->root[chunk.root].body].pinned, chunk.page);
}

void uvmpi_pmm_unpin_piece(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	struct pmm_root *r = &pmm->root[chunk.root];

	UVMPI_ASSERT(uvmpi_pmm_check_pinned_piece(pmm, chunk) == UVMP_OK);
	uvmp_mask_clear(&pmm->split[r->body].pinned, chunk.page);
	r->pinned_leaves--;
	if (r->type == UVMP_CHUNK_USER && r->pinned_leaves == 0)
		pmm_root_move(pmm, chunk.root, UVMP_PMM_USED);
}

enum uvmp_status uvmpi_pmm_check_pinned_piece(const struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	enum uvmp_status status = uvmpi_pmm_check_piece(pmm, chunk);

	return status == UVMP_OK && !is_pinned(pmm, chunk) ? UVMP_ERR_STATE : status;
}

/* -- free, merge -- */

void uvmpi_pmm_merge_pinned(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	put_record(pmm, r->body);
	r->pinned_leaves = 0;
	pmm_pin_root(pmm, root);
}

/* Frees a sub-chunk; if the chunks of the smallest size around it are all free then, they become one free chunk. True in
 * that case. */
static bool release_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	struct pmm_root *r = &pmm->root[root];
	struct pmm_split *split = &pmm->split[r->body];
	uint32_t first = page - page % PMM_GROUP;
	struct uvmp_region group = {first, first + PMM_GROUP};

	if (uvmp_mask_test(&split->pinned, page)) {
		uvmp_mask_clear(&split->pinned, page);
		r->pinned_leaves--;
	}
	free_leaf(pmm, root, page, false);
	if (pmm_leaf_size(split, page) == UVMP_CHUNK_64K || uvmpi_mask_region_any(&split->live, group))
		return false;
	for (uint32_t p = group.first; p < group.end; p += pmm->small_pages)
		unlist_leaf(pmm, root, p);
	split->groups &= ~(1u << (first / PMM_GROUP));
	free_leaf(pmm, root, first, false);
	return true;
}

/* Where a split root belongs without quirks: as good as its best chunk. */
static uint32_t queue_of(const struct pmm_split *split)
{
	if (!uvmpi_mask_equal(&split->live, &split->marked))
		return UVMP_PMM_USED;
	return uvmpi_mask_is_empty(&split->discarded) ? UVMP_PMM_UNUSED : UVMP_PMM_DISCARDED;
}

/* The queue of a split root after a sub-chunk of it was freed. */
static void settle(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];
	uint32_t queue = UVMP_PMM_USED; /* [driver: free-renews-root]: to its tail, wherever the root was */

	if (r->type != UVMP_CHUNK_USER || r->pinned_leaves != 0)
		return;
	if (!pmm->params.quirks) {
		queue = queue_of(&pmm->split[r->body]);
		if (r->list == queue)
			return;
	}
	pmm_root_move(pmm, root, queue);
}

/* A whole root that is pinned or allocated becomes free. */
static void free_root(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	if (r->state == PMM_PINNED)
		pmm->pinned--;
	r->state = PMM_FREE;
	pmm_root_move(pmm, root, pmm_free_list(r->type, UVMP_CHUNK_2M, 0));
}

bool uvmpi_pmm_release(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	struct pmm_root *r = &pmm->root[chunk.root];
	struct pmm_split *split;
	bool merged;

	if (chunk.size == UVMP_CHUNK_2M) {
		free_root(pmm, chunk.root);
		return true;
	}
	merged = release_leaf(pmm, chunk.root, chunk.page);
	split = &pmm->split[r->body];
	if (!uvmpi_mask_is_empty(&split->live)) {
		settle(pmm, chunk.root);
		return merged;
	}
	for (uint32_t page = 0; page < PMM_PAGES; page += PMM_GROUP)
		unlist_leaf(pmm, chunk.root, page);
	put_record(pmm, r->body);
	r->state = PMM_ALLOCATED;
	free_root(pmm, chunk.root);
	return true;
}

void uvmpi_pmm_apply_mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, uint32_t mark)
{
	struct pmm_root *r = &pmm->root[chunk.root];
	struct pmm_split *split;
	uint32_t queue;

	if (chunk.size == UVMP_CHUNK_2M) {
		pmm_root_move(pmm, chunk.root, mark);
		return;
	}
	if (pmm->params.quirks)
		return; /* [driver: marks-whole-roots] */
	split = &pmm->split[r->body];
	uvmp_mask_clear(&split->marked, chunk.page);
	uvmp_mask_clear(&split->discarded, chunk.page);
	if (mark != UVMP_MARK_USED)
		uvmp_mask_set(&split->marked, chunk.page);
	if (mark == UVMP_MARK_DISCARDED)
		uvmp_mask_set(&split->discarded, chunk.page);
	queue = queue_of(split);
	if (queue != r->list || queue == mark)
		pmm_root_move(pmm, chunk.root, queue);
}
