/* A naive memory manager, see naive_pmm.h. */
#include "model/naive_pmm.h"

#include <stdlib.h>
#include <string.h>

#include "decisions/pmm_internal.h"

/* -- the tree of chunks -- */

static int size_of(int i)
{
	return i == 0 ? UVMP_CHUNK_2M : i <= 32 ? UVMP_CHUNK_64K : UVMP_CHUNK_4K;
}

/* Pages of 4 KiB of the smallest chunk. */
static int small_pages(const struct naive_pmm *n)
{
	return n->params.page_bytes == 16384 ? 4 : 1;
}

static int pages_of(const struct naive_pmm *n, int i)
{
	return i == 0 ? 512 : i <= 32 ? 16 : small_pages(n);
}

static int page_of(int i)
{
	return i == 0 ? 0 : i <= 32 ? (i - 1) * 16 : i - 33;
}

static int parent_of(int i)
{
	return i <= 32 ? 0 : 1 + (i - 33) / 16;
}

static int first_child(int i)
{
	return i == 0 ? 1 : 33 + (i - 1) * 16;
}

static int children(int i)
{
	return i == 0 ? 32 : 16;
}

/* From a child to the next one. */
static int child_step(const struct naive_pmm *n, int i)
{
	return i == 0 ? 1 : small_pages(n);
}

static int node_at(uint32_t page, uint32_t size)
{
	return size == UVMP_CHUNK_2M ? 0 : size == UVMP_CHUNK_64K ? 1 + (int)page / 16 : 33 + (int)page;
}

static bool is_leaf(const struct naive_pmm_node *node)
{
	return node->state == NAIVE_FREE || node->state == NAIVE_PINNED || node->state == NAIVE_ALLOCATED;
}

static struct uvmp_chunk chunk_of(uint32_t root, int i)
{
	struct uvmp_chunk chunk = {root, (uint16_t)page_of(i), (uint8_t)size_of(i)};

	return chunk;
}

/* The leaf that starts at this page, or -1. */
static int leaf_at(const struct naive_pmm_root *r, int page)
{
	for (uint32_t size = 0; size < 3; size++) {
		int i = node_at((uint32_t)page, size);

		if (page_of(i) == page && is_leaf(&r->node[i]))
			return i;
	}
	return -1;
}

/* How many records mean something. */
static int nodes(const struct naive_pmm_root *r)
{
	return r->node[0].state == NAIVE_SPLIT ? NAIVE_PMM_NODES : 1;
}

static bool is_pinned(const struct naive_pmm_root *r)
{
	for (int i = 0; i < NAIVE_PMM_NODES; i++) {
		if (r->node[i].state == NAIVE_PINNED)
			return true;
	}
	return false;
}

/* -- queues -- */

static void to_tail(struct naive_pmm *n, struct naive_pmm_root *r, int queue)
{
	r->queue = queue;
	r->stamp = ++n->clock;
}

/* Which queue a root of pieces deserves without quirks. */
static int best_queue(const struct naive_pmm_root *r)
{
	int queue = UVMP_MARK_UNUSED;

	for (int i = 0; i < NAIVE_PMM_NODES; i++) {
		if (r->node[i].state == NAIVE_ALLOCATED && r->node[i].mark > queue)
			queue = r->node[i].mark;
	}
	return queue;
}

static uint32_t queue_head(const struct naive_pmm *n, int queue)
{
	uint32_t head = UVMP_ROOT_NONE;

	for (uint32_t r = 0; r < n->params.roots; r++) {
		if (n->root[r].queue != queue)
			continue;
		if (head == UVMP_ROOT_NONE || n->root[r].stamp < n->root[head].stamp)
			head = r;
	}
	return head;
}

/* Oldest free chunk of this kind. */
static bool free_head(const struct naive_pmm *n, uint32_t type, int size, bool is_zero, uint32_t *root,
                      int *node)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t r = 0; r < n->params.roots; r++) {
		for (int i = 0; i < nodes(&n->root[r]); i++) {
			const struct naive_pmm_node *candidate = &n->root[r].node[i];

			if (candidate->state != NAIVE_FREE || size_of(i) != size ||
			    candidate->is_zero != is_zero || n->root[r].type != (enum uvmp_chunk_type)type ||
			    candidate->stamp >= oldest)
				continue;
			oldest = candidate->stamp;
			*root = r;
			*node = i;
		}
	}
	return oldest != UINT64_MAX;
}

static void make_free(struct naive_pmm *n, struct naive_pmm_node *node, bool is_zero)
{
	memset(node, 0, sizeof(*node));
	node->state = NAIVE_FREE;
	node->is_zero = is_zero;
	node->stamp = ++n->clock;
}

static void make_pinned(struct naive_pmm_node *node)
{
	memset(node, 0, sizeof(*node));
	node->state = NAIVE_PINNED;
}

static void give_back(struct naive_pmm *n, uint32_t type)
{
	uint32_t root;
	int node;

	if (free_head(n, type, UVMP_CHUNK_2M, false, &root, &node) ||
	    free_head(n, type, UVMP_CHUNK_2M, true, &root, &node)) {
		n->root[root].node[0].state = NAIVE_POOL;
		n->root[root].type = UVMP_CHUNK_USER;
	}
}

/* -- allocation, [driver: chunk-allocation] -- */

void naive_pmm_init(struct naive_pmm *n, const struct uvmp_pmm_params *params)
{
	memset(n, 0, sizeof(*n));
	n->params = *params;
	for (uint32_t r = 0; r < params->roots; r++) {
		n->root[r].queue = NAIVE_PMM_NO_QUEUE;
		n->root[r].node[0].state = NAIVE_POOL;
	}
}

static uint32_t lowest_in_pool(const struct naive_pmm *n)
{
	for (uint32_t r = 0; r < n->params.roots; r++) {
		if (n->root[r].node[0].state == NAIVE_POOL)
			return r;
	}
	return UVMP_ROOT_NONE;
}

static bool can_split(const struct naive_pmm *n)
{
	uint32_t splits = 0;

	for (uint32_t r = 0; r < n->params.roots; r++)
		splits += n->root[r].node[0].state == NAIVE_SPLIT;
	return splits < n->params.splits;
}

/* Splits the pinned node until the first piece has the size; that becomes the owner's. */
static void hand_out(struct naive_pmm *n, uint32_t root, int i, int size, bool is_zero, uint32_t block,
                     struct uvmp_chunk *chunk)
{
	struct naive_pmm_root *r = &n->root[root];

	while (size_of(i) > size) {
		r->node[i].state = NAIVE_SPLIT;
		for (int c = child_step(n, i); c < children(i); c += child_step(n, i))
			make_free(n, &r->node[first_child(i) + c], is_zero && !n->params.quirks);
		i = first_child(i);
	}
	make_pinned(&r->node[i]);
	r->node[i].has_owner = true;
	r->node[i].owner = block;
	r->node[i].mark = UVMP_MARK_USED;
	r->queue = NAIVE_PMM_NO_QUEUE;
	*chunk = chunk_of(root, i);
}

enum uvmp_status naive_pmm_alloc(struct naive_pmm *n, uint32_t type, uint32_t size, uint32_t block,
                                 struct uvmp_chunk *chunk)
{
	uint32_t root, batch;
	int node;

	if (type > 1 || size > 2)
		return UVMP_ERR_RANGE;
	for (int s = (int)size; s <= UVMP_CHUNK_2M; s++) {
		for (int zero = 1; zero >= 0; zero--) {
			if (!free_head(n, type, s, zero != 0, &root, &node))
				continue;
			if (s == UVMP_CHUNK_2M && size != UVMP_CHUNK_2M && !can_split(n))
				return UVMP_ERR_SPACE;
			hand_out(n, root, node, (int)size, zero != 0, block, chunk);
			return UVMP_OK;
		}
	}
	root = lowest_in_pool(n);
	if (root == UVMP_ROOT_NONE)
		return UVMP_ERR_NO_MEMORY;
	if (size != UVMP_CHUNK_2M && !can_split(n))
		return UVMP_ERR_SPACE;
	n->root[root].type = (enum uvmp_chunk_type)type;
	make_pinned(&n->root[root].node[0]);
	batch = type == UVMP_CHUNK_USER ? 1u << n->params.batch_order : 1u;
	for (uint32_t i = 1; i < batch && lowest_in_pool(n) != UVMP_ROOT_NONE; i++)
		make_free(n, &n->root[lowest_in_pool(n)].node[0], n->params.is_zeroed);
	hand_out(n, root, 0, (int)size, n->params.is_zeroed, block, chunk);
	return UVMP_OK;
}

/* -- unpin, free, marks: [driver: root-queues, chunk-free] -- */

static enum uvmp_status find(struct naive_pmm *n, struct uvmp_chunk chunk, struct naive_pmm_root **r,
                             int *node)
{
	if (chunk.root >= n->params.roots || chunk.size > UVMP_CHUNK_2M || chunk.page >= 512)
		return UVMP_ERR_RANGE;
	*r = &n->root[chunk.root];
	*node = node_at(chunk.page, chunk.size);
	if (page_of(*node) != chunk.page || chunk.page % pages_of(n, *node) != 0)
		return UVMP_ERR_RANGE;
	return is_leaf(&(*r)->node[*node]) && (*r)->node[*node].has_owner ? UVMP_OK : UVMP_ERR_STATE;
}

enum uvmp_status naive_pmm_unpin(struct naive_pmm *n, struct uvmp_chunk chunk)
{
	struct naive_pmm_root *r;
	int node;
	enum uvmp_status status = find(n, chunk, &r, &node);

	if (status != UVMP_OK)
		return status;
	if (r->node[node].state != NAIVE_PINNED)
		return UVMP_ERR_STATE;
	r->node[node].state = NAIVE_ALLOCATED;
	if (r->type == UVMP_CHUNK_USER && !is_pinned(r))
		to_tail(n, r, UVMP_MARK_USED);
	return UVMP_OK;
}

/* Frees a leaf and every parent whose children are all free then. True if there was such a one, or it is the
 * root. */
static bool release(struct naive_pmm *n, struct naive_pmm_root *r, int i)
{
	bool merged = i == 0;

	make_free(n, &r->node[i], false);
	while (i != 0) {
		int parent = parent_of(i);

		for (int c = 0; c < children(parent); c += child_step(n, parent)) {
			if (r->node[first_child(parent) + c].state != NAIVE_FREE)
				parent = -1;
			if (parent < 0)
				break;
		}
		if (parent < 0)
			break;
		for (int c = 0; c < children(parent); c += child_step(n, parent))
			r->node[first_child(parent) + c].state = NAIVE_GONE;
		make_free(n, &r->node[parent], false);
		merged = true;
		i = parent;
	}
	if (i == 0)
		r->queue = NAIVE_PMM_NO_QUEUE;
	else if (r->type == UVMP_CHUNK_USER && !is_pinned(r) && n->params.quirks)
		to_tail(n, r, UVMP_MARK_USED); /* [driver: free-renews-root] */
	else if (r->type == UVMP_CHUNK_USER && !is_pinned(r) && best_queue(r) != r->queue)
		to_tail(n, r, best_queue(r));
	return merged;
}

enum uvmp_status naive_pmm_free(struct naive_pmm *n, struct uvmp_chunk chunk)
{
	struct naive_pmm_root *r;
	int node;
	enum uvmp_status status = find(n, chunk, &r, &node);

	if (status != UVMP_OK)
		return status;
	if (r->in_eviction)
		make_pinned(&r->node[node]);
	else if (release(n, r, node))
		give_back(n, r->type);
	return UVMP_OK;
}

enum uvmp_status naive_pmm_mark(struct naive_pmm *n, struct uvmp_chunk chunk, uint32_t mark)
{
	struct naive_pmm_root *r;
	int node;
	enum uvmp_status status = find(n, chunk, &r, &node);

	if (status != UVMP_OK)
		return status;
	if (mark > UVMP_MARK_USED)
		return UVMP_ERR_RANGE;
	if (r->type != UVMP_CHUNK_USER || is_pinned(r) || r->in_eviction)
		return UVMP_OK;
	if (node != 0 && n->params.quirks)
		return UVMP_OK; /* [driver: marks-whole-roots] */
	r->node[node].mark = (int)mark;
	if (best_queue(r) != r->queue || best_queue(r) == (int)mark)
		to_tail(n, r, best_queue(r));
	return UVMP_OK;
}

enum uvmp_status naive_pmm_touch(struct naive_pmm *n, struct uvmp_chunk chunk)
{
	struct naive_pmm_root *r;
	int node;
	enum uvmp_status status = find(n, chunk, &r, &node);

	if (status == UVMP_OK && !n->params.quirks && r->queue != NAIVE_PMM_NO_QUEUE)
		to_tail(n, r, r->queue); /* else [driver: order-by-service] */
	return status;
}

/* -- eviction, [driver: victim-choice] -- */

static void start(struct naive_pmm_root *r)
{
	r->in_eviction = true;
	r->queue = NAIVE_PMM_NO_QUEUE;
	for (int i = 0; i < NAIVE_PMM_NODES; i++) {
		if (r->node[i].state == NAIVE_FREE)
			make_pinned(&r->node[i]);
	}
}

enum uvmp_status naive_pmm_evict_begin(struct naive_pmm *n, uint32_t type, uint32_t *root)
{
	uint32_t victim = UVMP_ROOT_NONE;
	int node;

	if (type > 1)
		return UVMP_ERR_RANGE;
	if (!free_head(n, UVMP_CHUNK_USER, UVMP_CHUNK_2M, false, &victim, &node))
		(void)free_head(n, UVMP_CHUNK_USER, UVMP_CHUNK_2M, true, &victim, &node);
	for (int queue = 0; queue < 3 && victim == UVMP_ROOT_NONE; queue++)
		victim = queue_head(n, queue);
	if (victim != UVMP_ROOT_NONE) {
		start(&n->root[victim]);
		*root = victim;
		return UVMP_OK;
	}
	for (uint32_t r = 0; r < n->params.roots && type == UVMP_CHUNK_USER; r++) {
		if (n->root[r].in_eviction || n->root[r].node[0].state == NAIVE_PINNED)
			return UVMP_ERR_RETRY;
	}
	return UVMP_ERR_NO_MEMORY;
}

enum uvmp_status naive_pmm_evict_root(struct naive_pmm *n, uint32_t root)
{
	struct naive_pmm_root *r;

	if (root >= n->params.roots)
		return UVMP_ERR_RANGE;
	r = &n->root[root];
	if (r->node[0].state == NAIVE_POOL || r->type == UVMP_CHUNK_KERNEL)
		return UVMP_ERR_STATE;
	if (is_pinned(r) || r->in_eviction)
		return UVMP_ERR_RETRY;
	start(r);
	return UVMP_OK;
}

static enum uvmp_status find_evicting(struct naive_pmm *n, uint32_t root, struct naive_pmm_root **r)
{
	if (root >= n->params.roots)
		return UVMP_ERR_RANGE;
	*r = &n->root[root];
	return (*r)->in_eviction ? UVMP_OK : UVMP_ERR_STATE;
}

enum uvmp_status naive_pmm_evict_next(struct naive_pmm *n, uint32_t root, struct uvmp_pmm_eviction *eviction,
                                      bool *found)
{
	struct naive_pmm_root *r;
	enum uvmp_status status = find_evicting(n, root, &r);

	if (status != UVMP_OK)
		return status;
	*found = false;
	for (int page = 0; page < 512; page++) {
		int i = leaf_at(r, page);

		if (i < 0 || r->node[i].state != NAIVE_ALLOCATED)
			continue;
		if (!*found) {
			eviction->block = r->node[i].owner;
			memset(&eviction->pages, 0, sizeof(eviction->pages));
		}
		*found = true;
		if (r->node[i].owner != eviction->block)
			continue;
		for (int p = page; p < page + pages_of(n, i); p++)
			uvmp_mask_set(&eviction->pages, (uint32_t)p);
		make_pinned(&r->node[i]);
	}
	return UVMP_OK;
}

static bool has_owners(const struct naive_pmm_root *r)
{
	for (int i = 0; i < NAIVE_PMM_NODES; i++) {
		if (r->node[i].state == NAIVE_ALLOCATED)
			return true;
	}
	return false;
}

enum uvmp_status naive_pmm_evict_end(struct naive_pmm *n, uint32_t root, uint32_t type, uint32_t size,
                                     uint32_t block, struct uvmp_chunk *chunk)
{
	struct naive_pmm_root *r;
	enum uvmp_status status = find_evicting(n, root, &r);

	if (root >= n->params.roots || type > 1 || size > 2)
		return UVMP_ERR_RANGE;
	if (status != UVMP_OK)
		return status;
	if (has_owners(r))
		return UVMP_ERR_STATE;
	if (size != UVMP_CHUNK_2M && r->node[0].state != NAIVE_SPLIT && !can_split(n))
		return UVMP_ERR_SPACE;
	memset(r->node, 0, sizeof(r->node));
	r->in_eviction = false;
	r->type = (enum uvmp_chunk_type)type;
	hand_out(n, root, 0, (int)size, false, block, chunk);
	return UVMP_OK;
}

enum uvmp_status naive_pmm_evict_abort(struct naive_pmm *n, uint32_t root)
{
	struct naive_pmm_root *r;
	enum uvmp_status status = find_evicting(n, root, &r);

	if (status != UVMP_OK)
		return status;
	r->in_eviction = false;
	for (int i = 0; i < NAIVE_PMM_NODES; i++)
		r->node[i].mark = UVMP_MARK_USED;
	for (int page = 0; page < 512; page++) {
		int i = leaf_at(r, page);

		if (i >= 0 && r->node[i].state == NAIVE_PINNED)
			(void)release(n, r, i);
	}
	if (r->node[0].state != NAIVE_FREE)
		to_tail(n, r, UVMP_MARK_USED);
	give_back(n, UVMP_CHUNK_USER);
	return UVMP_OK;
}

enum uvmp_status naive_pmm_evict_release(struct naive_pmm *n, uint32_t root)
{
	struct naive_pmm_root *r;
	enum uvmp_status status = find_evicting(n, root, &r);

	if (status != UVMP_OK)
		return status;
	if (has_owners(r))
		return UVMP_ERR_STATE;
	memset(r->node, 0, sizeof(r->node));
	r->in_eviction = false;
	r->node[0].state = NAIVE_POOL;
	return UVMP_OK;
}

/* -- comparison -- */

bool naive_pmm_pick(const struct naive_pmm *n, uint32_t k, struct uvmp_chunk *chunk)
{
	uint32_t count = 0;

	for (int pass = 0; pass < 2; pass++) {
		uint32_t seen = 0;

		if (pass == 1 && count == 0)
			return false;
		for (uint32_t r = 0; r < n->params.roots; r++) {
			for (int i = 0; i < nodes(&n->root[r]); i++) {
				if (!is_leaf(&n->root[r].node[i]) || !n->root[r].node[i].has_owner)
					continue;
				if (pass == 1 && seen == k % count)
					*chunk = chunk_of(r, i);
				seen++;
			}
		}
		count = seen;
	}
	return true;
}

uint32_t naive_pmm_pick_evicting(const struct naive_pmm *n, uint32_t k, uint32_t otherwise)
{
	uint32_t root[NAIVE_PMM_ROOTS], count = 0;

	for (uint32_t r = 0; r < n->params.roots; r++) {
		if (n->root[r].in_eviction)
			root[count++] = r;
	}
	return count == 0 ? otherwise : root[k % count];
}

static bool same_queue(const struct naive_pmm *n, const struct uvmp_pmm *pmm, enum uvmp_pmm_list list)
{
	uint64_t stamp = 0;
	uint32_t members = 0;

	for (uint32_t r = 0; r < n->params.roots; r++)
		members += n->root[r].queue == (int)list;
	for (uint32_t r = uvmp_pmm_first(pmm, list); r != UVMP_ROOT_NONE; r = uvmp_pmm_next(pmm, r)) {
		if (n->root[r].queue != (int)list || n->root[r].stamp <= stamp || members == 0)
			return false;
		stamp = n->root[r].stamp;
		members--;
	}
	return members == 0;
}

/* What the free list of the real one says about its i-th member. */
static bool same_free(const struct naive_pmm *n, const struct uvmp_pmm *pmm, uint32_t type, int size,
                      bool is_zero)
{
	uint32_t list = pmm_free_list(type, (uint32_t)size, is_zero);
	uint32_t member = pmm->list[list].head, members = 0;
	uint64_t stamp = 0;

	for (uint32_t r = 0; r < n->params.roots; r++) {
		for (int i = 0; i < nodes(&n->root[r]); i++)
			members += n->root[r].node[i].state == NAIVE_FREE && size_of(i) == size &&
			           n->root[r].node[i].is_zero == is_zero &&
			           n->root[r].type == (enum uvmp_chunk_type)type;
	}
	for (; member != PMM_NONE && members != 0; members--) {
		bool is_root = size == UVMP_CHUNK_2M;
		uint32_t root = is_root ? member : pmm->split[member / 512u].root;
		const struct naive_pmm_node *node =
		        &n->root[root].node[node_at(is_root ? 0 : member % 512u, (uint32_t)size)];

		if (node->state != NAIVE_FREE || node->is_zero != is_zero || node->stamp <= stamp)
			return false;
		stamp = node->stamp;
		member = is_root ? pmm->root[member].link.next
		                 : pmm->split[member / 512u].slot[member % 512u].next;
	}
	return member == PMM_NONE && members == 0;
}

static bool same_counts(const struct naive_pmm *n, const struct uvmp_pmm *pmm)
{
	struct uvmp_pmm_counts want = {0}, have = {0};

	uvmp_pmm_count(pmm, &have);
	want.roots = n->params.roots;
	for (uint32_t r = 0; r < n->params.roots; r++) {
		const struct naive_pmm_root *root = &n->root[r];
		bool is_user = root->type == UVMP_CHUNK_USER;

		want.in_pool += root->node[0].state == NAIVE_POOL;
		want.pinned += root->node[0].state == NAIVE_PINNED;
		want.in_eviction += root->in_eviction;
		for (int i = 0; i < nodes(&n->root[r]); i++) {
			want.free_64k +=
			        is_user && root->node[i].state == NAIVE_FREE && size_of(i) == UVMP_CHUNK_64K;
			want.free_4k +=
			        is_user && root->node[i].state == NAIVE_FREE && size_of(i) == UVMP_CHUNK_4K;
			if (is_user && is_leaf(&root->node[i]) && root->node[i].has_owner)
				want.allocated_pages += (uint64_t)pages_of(n, i);
		}
	}
	return want.roots == have.roots && want.in_pool == have.in_pool && want.pinned == have.pinned &&
	       want.in_eviction == have.in_eviction && want.free_64k == have.free_64k &&
	       want.free_4k == have.free_4k && want.allocated_pages == have.allocated_pages;
}

bool naive_pmm_equals(const struct naive_pmm *n, const struct uvmp_pmm *pmm)
{
	bool ok = same_counts(n, pmm);

	for (uint32_t r = 0; r < n->params.roots; r++)
		ok = ok && uvmp_pmm_in_pool(pmm, r) == (n->root[r].node[0].state == NAIVE_POOL);
	for (int list = UVMP_PMM_UNUSED; list <= UVMP_PMM_USED; list++)
		ok = ok && same_queue(n, pmm, (enum uvmp_pmm_list)list);
	for (uint32_t type = 0; type < 2; type++) {
		for (int size = 0; size < 3; size++)
			ok = ok && same_free(n, pmm, type, size, false) &&
			     same_free(n, pmm, type, size, true);
	}
	return ok;
}

/* -- scripts -- */

static bool same_chunk(struct uvmp_chunk a, struct uvmp_chunk b)
{
	return a.root == b.root && a.page == b.page && a.size == b.size;
}

static bool step_next(struct naive_pmm *n, struct uvmp_pmm *pmm, uint32_t root, bool *found)
{
	struct uvmp_pmm_eviction a, b;
	bool found_b = false;
	enum uvmp_status status;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	*found = false;
	status = naive_pmm_evict_next(n, root, &a, found);
	return status == uvmp_pmm_evict_next(pmm, root, &b, &found_b) && *found == found_b &&
	       a.block == b.block && uvmp_mask_equal(&a.pages, &b.pages);
}

static bool step_end(struct naive_pmm *n, struct uvmp_pmm *pmm, uint32_t root, uint32_t type, uint32_t size,
                     uint32_t block)
{
	struct uvmp_chunk a = {9, 9, 9}, b = {9, 9, 9};
	enum uvmp_status status = naive_pmm_evict_end(n, root, type, size, block, &a);

	return status == uvmp_pmm_evict_end(pmm, root, (enum uvmp_chunk_type)type, (enum uvmp_chunk_size)size,
	                                    block, &b) &&
	       same_chunk(a, b);
}

static bool step_begin(struct naive_pmm *n, struct uvmp_pmm *pmm, uint32_t type, uint32_t *root)
{
	uint32_t other = UVMP_ROOT_NONE;
	enum uvmp_status status;

	*root = UVMP_ROOT_NONE;
	status = naive_pmm_evict_begin(n, type, root);
	return status == uvmp_pmm_evict_begin(pmm, (enum uvmp_chunk_type)type, &other) && other == *root;
}

static bool step_alloc(struct naive_pmm *n, struct uvmp_pmm *pmm, const uint8_t step[3])
{
	uint32_t type = step[1] >= 250 ? 2u : step[1] >= 230 ? 1u : 0u, size = step[1] % 4u;
	uint32_t block = step[2] % 16u, root;
	struct uvmp_chunk a = {9, 9, 9}, b = {9, 9, 9};
	enum uvmp_status status;
	bool found = true;

	size = size == 3 && step[1] < 128 ? 0 : size; /* mostly sizes that exist */
	status = naive_pmm_alloc(n, type, size, block, &a);
	if (status !=
	            uvmp_pmm_alloc(pmm, (enum uvmp_chunk_type)type, (enum uvmp_chunk_size)size, block, &b) ||
	    !same_chunk(a, b))
		return false;
	if (status != UVMP_ERR_NO_MEMORY || step[2] < 64)
		return true;
	if (!step_begin(n, pmm, type, &root))
		return false;
	while (root != UVMP_ROOT_NONE && found) {
		if (!step_next(n, pmm, root, &found))
			return false;
	}
	return root == UVMP_ROOT_NONE || step_end(n, pmm, root, type, size, block);
}

static bool step_chunk(struct naive_pmm *n, struct uvmp_pmm *pmm, uint32_t what, struct uvmp_chunk chunk,
                       uint32_t mark)
{
	switch (what) {
	case 0:
		return naive_pmm_unpin(n, chunk) == uvmp_pmm_unpin(pmm, chunk);
	case 1:
		return naive_pmm_free(n, chunk) == uvmp_pmm_free(pmm, chunk);
	case 2:
		return naive_pmm_mark(n, chunk, mark) ==
		       uvmp_pmm_mark(pmm, chunk, (enum uvmp_chunk_mark)mark);
	default:
		return naive_pmm_touch(n, chunk) == uvmp_pmm_touch(pmm, chunk);
	}
}

static bool step_root(struct naive_pmm *n, struct uvmp_pmm *pmm, uint32_t what, const uint8_t step[3])
{
	/* Usually one that is in eviction. */
	uint32_t root = step[1] < 32 ? step[1] % 16u : naive_pmm_pick_evicting(n, step[1], step[2]);
	bool found;

	switch (what) {
	case 0:
		return step_begin(n, pmm, step[1] % 3u == 2u ? step[1] % 4u : 0u, &root);
	case 1:
		return naive_pmm_evict_root(n, step[1] % 16u) == uvmp_pmm_evict_root(pmm, step[1] % 16u);
	case 2:
		return step_next(n, pmm, root, &found);
	case 3:
		return step_end(n, pmm, root, step[2] >= 240 ? step[2] - 240u : 0u, step[2] % 4u,
		                step[2] % 16u);
	case 4:
		return naive_pmm_evict_abort(n, root) == uvmp_pmm_evict_abort(pmm, root);
	default:
		return naive_pmm_evict_release(n, root) == uvmp_pmm_evict_release(pmm, root);
	}
}

bool naive_pmm_step(struct naive_pmm *n, struct uvmp_pmm *pmm, const uint8_t step[3])
{
	/* Any name at all: sizes that do not exist, pages between chunks, roots behind the last. */
	struct uvmp_chunk chunk = {step[1] % 16u, (uint16_t)(step[2] * (step[1] >= 64 ? 1u : 16u)),
	                           (uint8_t)(step[1] / 16u % 4u)};
	uint32_t what = step[0] % 20u;
	bool ok;

	if (what < 6)
		ok = step_alloc(n, pmm, step);
	else if (what < 13)
		ok = !naive_pmm_pick(n, step[1], &chunk) || step_chunk(n, pmm,
		                                                       what < 9    ? 0
		                                                       : what < 11 ? 1
		                                                                   : what - 9,
		                                                       chunk, step[2] % 4u);
	else if (what < 14)
		ok = step_chunk(n, pmm, step[2] % 4u, chunk, step[2] / 4u % 4u);
	else
		ok = step_root(n, pmm, what - 14, step);
	return ok && naive_pmm_equals(n, pmm) && uvmp_pmm_check(pmm);
}

bool naive_pmm_script(const uint8_t *data, size_t size)
{
	static const uint32_t page_bytes[] = {0, 4096, 16384, 16384};
	struct uvmp_pmm_params params = {0};
	struct naive_pmm *n = malloc(sizeof(*n));
	struct uvmp_pmm *pmm = NULL;
	void *memory = NULL;
	bool ok = n != NULL;

	if (size >= 3 && ok) {
		params.roots = 1u + data[0] % NAIVE_PMM_ROOTS;
		params.splits = data[1] % 4u == 0 ? data[1] / 4u % (params.roots + 1u) : params.roots;
		params.batch_order = data[2] / 4u % 5u;
		params.is_zeroed = data[2] % 2u != 0;
		params.quirks = data[2] / 2u % 2u != 0;
		params.page_bytes = page_bytes[data[2] / 20u % 4u];
		memory = malloc(uvmp_pmm_size(&params));
		ok = uvmp_pmm_init(&params, memory, uvmp_pmm_size(&params), &pmm) == UVMP_OK;
		naive_pmm_init(n, &params);
		for (size_t at = 3; ok && at + 3 <= size; at += 3)
			ok = naive_pmm_step(n, pmm, data + at);
	}
	free(memory);
	free(n);
	return ok;
}
