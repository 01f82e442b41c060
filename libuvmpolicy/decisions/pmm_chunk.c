/* Steps of the memory manager: lists, the pool, pinning, splitting, merging.
 *
 * All lists are doubly linked through indices, so that every move is O(1). The pool is a bitmap with three
 * levels of summary above it: the lowest set bit of the top word names the word of the next level. A split
 * root has a record with one slot per page; the sub-chunk that starts at a page uses that page's slot, either
 * as its position in a free list or for its owner. Merging is two steps at most, 4 KiB into 64 KiB and 64 KiB
 * into 2 MiB. */
#include "pmm_internal.h"

/* -- lists -- */

static struct pmm_link *link_of(const struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	if (list < PMM_ROOT_LISTS)
		return &pmm->root[member].link;
	return &pmm->split[member / PMM_PAGES].slot[member % PMM_PAGES];
}

void uvmpi_pmm_list_append(struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	struct pmm_queue *queue = &pmm->list[list];
	struct pmm_link *link = link_of(pmm, list, member);

	link->next = PMM_NONE;
	link->prev = queue->tail;
	if (queue->tail == PMM_NONE)
		queue->head = member;
	else
		link_of(pmm, list, queue->tail)->next = member;
	queue->tail = member;
	queue->count++;
}

void uvmpi_pmm_list_remove(struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	struct pmm_queue *queue = &pmm->list[list];
	struct pmm_link *link = link_of(pmm, list, member);

	if (link->prev == PMM_NONE)
		queue->head = link->next;
	else
		link_of(pmm, list, link->prev)->next = link->next;
	if (link->next == PMM_NONE)
		queue->tail = link->prev;
	else
		link_of(pmm, list, link->next)->prev = link->prev;
	queue->count--;
}

void uvmpi_pmm_root_unlist(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	if (r->list != PMM_LIST_NONE)
		uvmpi_pmm_list_remove(pmm, r->list, root);
	r->list = PMM_LIST_NONE;
}

void uvmpi_pmm_root_move(struct uvmp_pmm *pmm, uint32_t root, uint32_t list)
{
	uvmpi_pmm_root_unlist(pmm, root);
	uvmpi_pmm_list_append(pmm, list, root);
	pmm->root[root].list = (uint8_t)list;
}

/* -- the pool -- */

/* Number of the lowest set bit of a word that is not 0. */
static uint32_t lowest_bit(uint64_t word)
{
	uint32_t bit = 0;

	for (uint32_t width = 32; width != 0; width /= 2u) {
		if ((word & (((uint64_t)1 << width) - 1u)) == 0) {
			word >>= width;
			bit += width;
		}
	}
	return bit;
}

uint32_t uvmpi_pmm_pool_take(struct uvmp_pmm *pmm)
{
	uint32_t root = 0, at;
	uint64_t *word;

	for (uint32_t level = PMM_LEVELS; level-- > 0;)
		root = root * 64u + lowest_bit(pmm->level[level][root]);
	at = root;
	for (uint32_t level = 0; level < PMM_LEVELS; level++) {
		word = &pmm->level[level][at / 64u];
		*word &= ~((uint64_t)1 << (at % 64u));
		if (*word != 0)
			break;
		at /= 64u;
	}
	pmm->in_pool--;
	return root;
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
	uvmpi_pmm_root_unlist(pmm, root);
	uvmpi_pmm_pool_put(pmm, root);
}

/* -- pins -- */

void uvmpi_pmm_pin_root(struct uvmp_pmm *pmm, uint32_t root)
{
	pmm->root[root].state = PMM_PINNED;
	pmm->pinned++;
}

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
	uvmpi_pmm_list_append(pmm, leaf_free_list(pmm, root, page), leaf_member(pmm, root, page));
}

static void unlist_leaf(struct uvmp_pmm *pmm, uint32_t root, uint32_t page)
{
	uvmpi_pmm_list_remove(pmm, leaf_free_list(pmm, root, page), leaf_member(pmm, root, page));
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
	uvmp_mask_zero(&split->live);
	uvmp_mask_zero(&split->pinned);
	uvmp_mask_zero(&split->zero);
	uvmp_mask_zero(&split->marked);
	uvmp_mask_zero(&split->discarded);
	uvmp_mask_set(&split->live, 0);
	uvmpi_pmm_pin_leaf(pmm, root, 0);
	for (uint32_t page = PMM_GROUP; page < PMM_PAGES; page += PMM_GROUP)
		free_leaf(pmm, root, page, zero);
}

/* A pinned 64 KiB chunk becomes 16 of 4 KiB; live and pinned bits of the first one are there already. */
static void split_group(struct uvmp_pmm *pmm, uint32_t root, uint32_t first, bool zero)
{
	pmm->split[pmm->root[root].body].groups |= 1u << (first / PMM_GROUP);
	for (uint32_t page = first + 1u; page < first + PMM_GROUP; page++)
		free_leaf(pmm, root, page, zero);
}

void uvmpi_pmm_split_down(struct uvmp_pmm *pmm, struct uvmp_chunk *chunk, uint32_t size, bool zero)
{
	/* [driver: split-loses-zero]: the driver frees the remainders like used memory. */
	bool keep = zero && !pmm->params.quirks;

	if (chunk->size == UVMP_CHUNK_2M && size < UVMP_CHUNK_2M)
		split_root(pmm, chunk->root, keep);
	if (chunk->size > UVMP_CHUNK_4K && size == UVMP_CHUNK_4K)
		split_group(pmm, chunk->root, chunk->page, keep);
	chunk->size = (uint8_t)size;
}

void uvmpi_pmm_own(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, uint32_t block)
{
	struct pmm_root *r = &pmm->root[chunk.root];

	if (chunk.size == UVMP_CHUNK_2M)
		r->body = block;
	else
		pmm->split[r->body].slot[chunk.page].next = block;
	if (r->type == UVMP_CHUNK_USER)
		pmm->allocated_pages += pmm_chunk_pages(chunk.size);
}

/* -- free, merge -- */

void uvmpi_pmm_merge_pinned(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	put_record(pmm, r->body);
	r->pinned_leaves = 0;
	uvmpi_pmm_pin_root(pmm, root);
}

/* Frees a sub-chunk; if the 4 KiB chunks around it are all free then, they become one free chunk. True in
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
	if (pmm_leaf_size(split, page) == UVMP_CHUNK_64K || uvmp_mask_region_any(&split->live, group))
		return false;
	for (uint32_t p = group.first; p < group.end; p++)
		unlist_leaf(pmm, root, p);
	split->groups &= ~(1u << (first / PMM_GROUP));
	free_leaf(pmm, root, first, false);
	return true;
}

/* Where a split root belongs without quirks: as good as its best chunk. */
static uint32_t queue_of(const struct pmm_split *split)
{
	if (!uvmp_mask_equal(&split->live, &split->marked))
		return UVMP_PMM_USED;
	return uvmp_mask_is_empty(&split->discarded) ? UVMP_PMM_UNUSED : UVMP_PMM_DISCARDED;
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
	uvmpi_pmm_root_move(pmm, root, queue);
}

/* A whole root that is pinned or allocated becomes free. */
static void free_root(struct uvmp_pmm *pmm, uint32_t root)
{
	struct pmm_root *r = &pmm->root[root];

	if (r->state == PMM_PINNED)
		pmm->pinned--;
	r->state = PMM_FREE;
	uvmpi_pmm_root_move(pmm, root, pmm_free_list(r->type, UVMP_CHUNK_2M, 0));
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
	if (!uvmp_mask_is_empty(&split->live)) {
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
		uvmpi_pmm_root_move(pmm, chunk.root, mark);
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
		uvmpi_pmm_root_move(pmm, chunk.root, queue);
}
