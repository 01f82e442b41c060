#include "naive_smart_evict.h"

#include <string.h>

#include "uvmpolicy/base.h"

#define PG 4096u
#define BB 65536u

/* -- trees -- */

static struct naive_smart_tree *tree_of(struct naive_smart *m, int page)
{
	for (int i = 0; i < m->trees; i++)
		if (page >= m->tree[i].start && page < m->tree[i].start + m->tree[i].pages)
			return &m->tree[i];
	return NULL;
}

/* Leaf by descending from the root; each node on the way gains or loses. */
static void path(struct naive_smart *m, int page, uint64_t bytes, bool is_add)
{
	struct naive_smart_tree *t = tree_of(m, page);
	int node = 0, first = t->start, pages = t->pages;

	for (;;) {
		uint64_t size = (uint64_t)pages * PG;

		if (is_add && t->valid[node] != size)
			t->valid[node] += bytes;
		if (!is_add && t->valid[node] != 0)
			t->valid[node] -= bytes;
		if (pages == 16)
			break;
		pages /= 2;
		node = 2 * node + 1;
		if (page >= first + pages) {
			first += pages;
			node++;
		}
	}
}

static uint64_t sum(struct naive_smart_tree *t, int node, int pages)
{
	if (pages > 16)
		t->valid[node] = sum(t, 2 * node + 1, pages / 2) + sum(t, 2 * node + 2, pages / 2);
	return t->valid[node];
}

static uint64_t *leaf_of(struct naive_smart *m, int page)
{
	struct naive_smart_tree *t = tree_of(m, page);

	return &t->valid[t->pages / 16 - 1 + (page - t->start) / 16];
}

/* Without quirks: between nothing and full, sums above [uvmsmart: ancestors-pass-full,
 * partial-leaf-grows]. */
static void change(struct naive_smart *m, int page, uint64_t bytes, bool is_add)
{
	uint64_t *leaf = leaf_of(m, page);

	if (m->quirks) {
		path(m, page, bytes, is_add);
		return;
	}
	if (is_add)
		*leaf = *leaf + bytes > BB ? BB : *leaf + bytes;
	else
		*leaf = *leaf > bytes ? *leaf - bytes : 0;
	sum(tree_of(m, page), 0, tree_of(m, page)->pages);
}

void naive_smart_add(struct naive_smart *m, int page, int pages)
{
	change(m, page, (uint64_t)pages * PG, true);
}

void naive_smart_init(struct naive_smart *m, enum naive_smart_policy policy, uint64_t total)
{
	memset(m, 0, sizeof(*m));
	m->policy = policy;
	m->total = m->free = total;
	m->quirks = true;
}

void naive_smart_add_tree(struct naive_smart *m, int blocks)
{
	m->tree[m->trees].start = m->pages;
	m->tree[m->trees].pages = blocks * 16;
	m->pages += blocks * 16;
	m->trees++;
}

/* -- the list -- */

static uint32_t marks(const struct naive_smart_tree *t, int first, int blocks)
{
	uint32_t rw = 0;

	for (int b = first; b < first + blocks; b++)
		rw |= (t->read[b] ? 1u : 0u) | (t->written[b] ? 2u : 0u);
	return rw;
}

void naive_smart_count(struct naive_smart *m, int page, bool is_write)
{
	struct naive_smart_tree *t = tree_of(m, page);
	int block = (page - t->start) / 16;

	t->count++;
	t->leaf[block]++;
	if (is_write)
		t->written[block] = true;
	else
		t->read[block] = true;
}

static bool holds(const struct naive_smart_entry *e, int page)
{
	return page >= e->addr && page < e->addr + e->size;
}

static int find(const struct naive_smart *m, int page)
{
	for (int i = 0; i < m->entries; i++)
		if (holds(&m->list[i], page))
			return i;
	return -1;
}

static struct naive_smart_entry unit(struct naive_smart *m, int page, uint64_t cycle)
{
	struct naive_smart_tree *t = tree_of(m, page);
	struct naive_smart_entry e = {page, 1, cycle, 0, 0};

	if (m->policy == NAIVE_LRU2M || m->policy == NAIVE_LFU2M) {
		e.addr = t->start;
		e.size = t->pages;
	} else if (m->policy == NAIVE_TBNE || m->policy == NAIVE_SL) {
		e.addr = page / 16 * 16;
		e.size = 16;
	}
	return e;
}

void naive_smart_touch(struct naive_smart *m, int page, uint64_t cycle)
{
	int i = find(m, page);

	if (i >= 0)
		m->list[i].cycle = cycle;
	else
		m->list[m->entries++] = unit(m, page, cycle);
}

bool naive_smart_arrive(struct naive_smart *m, int page, uint64_t cycle)
{
	if (m->free == 0)
		return false;
	m->free--;
	m->valid[page] = true;
	naive_smart_touch(m, page, cycle);
	return true;
}

static uint64_t newest(struct naive_smart *m, const struct naive_smart_tree *t)
{
	uint64_t cycle = 0;

	for (int i = 0; i < m->entries; i++)
		if (tree_of(m, m->list[i].addr) == t && m->list[i].cycle > cycle)
			cycle = m->list[i].cycle;
	return cycle;
}

static bool before(struct naive_smart *m, const struct naive_smart_entry *a,
                   const struct naive_smart_entry *b)
{
	if (m->policy == NAIVE_TBNE || m->policy == NAIVE_SL) {
		struct naive_smart_tree *ta = tree_of(m, a->addr), *tb = tree_of(m, b->addr);
		uint64_t na = newest(m, ta), nb = newest(m, tb);

		if (ta != tb)
			return na < nb || (na == nb && ta->start < tb->start);
	}
	if (m->policy == NAIVE_LFU2M) {
		if (a->counter != b->counter)
			return a->counter < b->counter;
		if (a->rw != b->rw)
			return a->rw < b->rw;
	}
	return a->cycle < b->cycle;
}

static void insertion_sort(struct naive_smart *m)
{
	struct naive_smart_entry list[NAIVE_SMART_PAGES];
	int count = 0;

	for (int i = 0; i < m->entries; i++) {
		int at = count++;

		for (; at > 0 && before(m, &m->list[i], &list[at - 1]); at--)
			list[at] = list[at - 1];
		list[at] = m->list[i];
	}
	memcpy(m->list, list, sizeof(list[0]) * (size_t)count);
}

void naive_smart_sort(struct naive_smart *m)
{
	for (int i = 0; i < m->entries; i++) {
		struct naive_smart_entry *e = &m->list[i];
		struct naive_smart_tree *t = tree_of(m, e->addr);

		if (!m->quirks && e->size != t->pages) {
			e->counter = t->leaf[(e->addr - t->start) / 16];
			e->rw = marks(t, (e->addr - t->start) / 16, 1);
		} else if (e->addr == t->start) {
			e->counter = t->count;
			e->rw = marks(t, 0, t->pages / 16);
		}
	}
	insertion_sort(m);
}

/* -- victims -- */

bool naive_smart_staged(const struct naive_smart *m, int page)
{
	for (int i = 0; i < m->queued; i++)
		if (page >= m->queue[i].addr && page < m->queue[i].addr + m->queue[i].size)
			return true;
	return false;
}

static bool evictable(const struct naive_smart *m, int addr, int size)
{
	for (int p = addr; p < addr + size; p++)
		if (!m->valid[p] || m->pinned[p])
			return false;
	return !naive_smart_staged(m, addr);
}

static void drop(struct naive_smart *m, struct naive_smart_tree *t, int node, int first, int pages,
                 bool *gone)
{
	if (pages > 16) {
		drop(m, t, 2 * node + 1, first, pages / 2, gone);
		drop(m, t, 2 * node + 2, first + pages / 2, pages / 2, gone);
		t->valid[node] = t->valid[2 * node + 1] + t->valid[2 * node + 2];
	} else if (t->valid[node] == BB && evictable(m, first, 16)) {
		t->valid[node] = 0;
		for (int p = first; p < first + 16; p++)
			gone[p] = true;
	}
}

static void visit(struct naive_smart *m, struct naive_smart_tree *t, int node, int first, int pages,
                  bool *gone)
{
	if (pages == 16)
		return;
	visit(m, t, 2 * node + 1, first, pages / 2, gone);
	visit(m, t, 2 * node + 2, first + pages / 2, pages / 2, gone);
	t->valid[node] = t->valid[2 * node + 1] + t->valid[2 * node + 2];
	if (t->valid[node] != 0 && t->valid[node] < (uint64_t)pages * PG / 2)
		drop(m, t, node, first, pages, gone);
}

static void block_victims(struct naive_smart *m, int skip, bool *gone)
{
	for (int i = skip; i < m->entries; i++) {
		int block = m->list[i].addr / 16 * 16;

		if (!evictable(m, block, 16))
			continue;
		change(m, block, BB, false);
		for (int p = block; p < block + 16; p++)
			gone[p] = true;
		if (m->policy == NAIVE_TBNE)
			visit(m, tree_of(m, block), 0, tree_of(m, block)->start, tree_of(m, block)->pages,
			      gone);
		return;
	}
}

static void page_victims(struct naive_smart *m, int from, bool *gone)
{
	for (int i = from; i < m->entries; i++)
		if (evictable(m, m->list[i].addr, m->list[i].size)) {
			gone[m->list[i].addr] = true;
			change(m, m->list[i].addr, PG, false);
			return;
		}
}

/* [uvmsmart: incomplete-tree-stays] mended: what is resident of the tree, and not on its way out, if
 * nothing of it is pinned. */
static bool resident_victims(struct naive_smart *m, const struct naive_smart_tree *t, bool *gone)
{
	bool any = false;

	for (int p = t->start; p < t->start + t->pages; p++)
		if (m->pinned[p])
			return false;
	for (int p = t->start; p < t->start + t->pages; p++)
		if (m->valid[p] && !naive_smart_staged(m, p)) {
			gone[p] = any = true;
			change(m, p, PG, false);
		}
	return any;
}

static void tree_victims(struct naive_smart *m, int skip, bool *gone)
{
	for (int i = skip; i < m->entries; i++) {
		struct naive_smart_tree *t = tree_of(m, m->list[i].addr);

		if (!m->quirks) {
			if (resident_victims(m, t, gone))
				return;
			continue;
		}
		if (!evictable(m, m->list[i].addr, m->list[i].size))
			continue;
		memset(t->valid, 0, sizeof(t->valid));
		for (int p = t->start; p < t->start + t->pages; p++)
			gone[p] = true;
		return;
	}
}

/* By the list before anything of this eviction has left it, and page by page; the original as it goes. */
static bool only_read(const struct naive_smart *m, const struct naive_smart *before, int addr, int size)
{
	int i = find(m, addr);

	if (m->quirks)
		return i >= 0 && m->list[i].rw == 1;
	for (int p = addr; p < addr + size; p++) {
		i = find(before, p);
		if (i < 0 || before->list[i].rw != 1)
			return false;
	}
	return true;
}

static void stage(struct naive_smart *m, const struct naive_smart *before, int addr, int size)
{
	int i;

	m->queue[m->queued++] = (struct naive_smart_range){addr, size, only_read(m, before, addr, size)};
	for (int p = addr; p < addr + size; p++) {
		i = find(m, p);
		if (i < 0)
			continue;
		memmove(&m->list[i], &m->list[i + 1], sizeof(m->list[0]) * (size_t)(m->entries - i - 1));
		m->entries--;
	}
}

int naive_smart_select(struct naive_smart *m, uint64_t *random)
{
	static struct naive_smart before;
	bool gone[NAIVE_SMART_PAGES + 1] = {false};
	int skip, places, before_queued = m->queued;
	volatile float part;

	naive_smart_sort(m);
	part = (float)m->entries * (float)m->reserve;
	part = part / 100.0f;
	skip = (int)part;
	places = m->entries * (100 - m->reserve) / 100;
	switch (m->policy) {
	case NAIVE_LRU2M:
	case NAIVE_LFU2M:
		tree_victims(m, skip, gone);
		break;
	case NAIVE_TBNE:
	case NAIVE_SL:
		block_victims(m, skip, gone);
		break;
	case NAIVE_RANDOM4K:
		if (places > 0)
			page_victims(m, skip + (int)uvmp_random_below(random, (uint64_t)places), gone);
		break;
	case NAIVE_LRU4K:
		page_victims(m, skip, gone);
		break;
	}
	before = *m;
	for (int p = 0, end; p < m->pages; p = end) {
		for (end = p + 1; gone[p] && gone[end]; end++)
			;
		if (gone[p])
			stage(m, &before, p, end - p);
	}
	return m->queued - before_queued;
}

/* -- the queue -- */

static struct naive_smart_range take(struct naive_smart *m, int i)
{
	struct naive_smart_range range = m->queue[i];

	memmove(&m->queue[i], &m->queue[i + 1], sizeof(range) * (size_t)(m->queued - i - 1));
	m->queued--;
	return range;
}

bool naive_smart_start(struct naive_smart *m, int *dirty, int *clean)
{
	struct naive_smart_tree *t;

	*dirty = *clean = 0;
	if (m->writing || m->queued == 0)
		return false;
	m->in_flight = take(m, 0);
	for (int p = m->in_flight.addr; p < m->in_flight.addr + m->in_flight.size; p++) {
		if (!m->quirks && !m->valid[p])
			continue;
		++*(m->dirty[p] ? dirty : clean);
		m->valid[p] = m->dirty[p] = false;
		m->free++;
	}
	m->writing = !(m->in_flight.is_invalidate && m->invalidate_clean);
	t = tree_of(m, m->in_flight.addr);
	if (t->pages == 16)
		t->count += 1u << 27;
	for (int b = 0; b < t->pages / 16; b++)
		t->leaf[b] += 1u << 27;
	return true;
}

bool naive_smart_end(struct naive_smart *m)
{
	bool was = m->writing;

	m->writing = false;
	return was;
}

bool naive_smart_cancel(struct naive_smart *m, int page, uint64_t cycle)
{
	for (int i = 0; i < m->queued; i++) {
		struct naive_smart_range r = m->queue[i];

		if (page < r.addr || page >= r.addr + r.size)
			continue;
		take(m, i);
		for (int p = r.addr; p < r.addr + r.size; p++) {
			if (!m->quirks && !m->valid[p])
				continue;
			if (m->quirks)
				m->dirty[p] = true;
			naive_smart_add(m, p, 1);
			naive_smart_touch(m, p, cycle);
		}
		return true;
	}
	return false;
}

void naive_smart_synchronise(struct naive_smart *m)
{
	for (int p = 0; p < m->pages; p++) {
		if (m->dirty[p] || !m->quirks)
			m->valid[p] = false;
		m->dirty[p] = false;
	}
	for (int i = 0; i < m->trees; i++) {
		struct naive_smart_tree *t = &m->tree[i];

		memset(t->valid, 0, sizeof(t->valid));
		memset(t->read, 0, sizeof(t->read));
		memset(t->written, 0, sizeof(t->written));
		memset(t->leaf, 0, sizeof(t->leaf));
		t->count = 0;
	}
	m->free = m->total;
	m->entries = 0;
	if (!m->quirks)
		m->queued = 0;
}

/* [uvmsmart: stale-list-units] mended: page by page, the unit of each resident page that an old entry held
 * and that does not wait to be written, at the newest cycle. */
void naive_smart_switch(struct naive_smart *m, enum naive_smart_policy policy)
{
	struct naive_smart_entry old[NAIVE_SMART_PAGES];
	int entries = m->entries;

	m->policy = policy;
	if (m->quirks)
		return;
	memcpy(old, m->list, sizeof(old));
	m->entries = 0;
	for (int p = 0; p < m->pages; p++)
		for (int i = 0; i < entries; i++) {
			int at = find(m, p);

			if (!m->valid[p] || naive_smart_staged(m, p) || !holds(&old[i], p))
				continue;
			if (at < 0)
				m->list[m->entries++] = unit(m, p, old[i].cycle);
			else if (m->list[at].cycle < old[i].cycle)
				m->list[at].cycle = old[i].cycle;
		}
}

uint64_t naive_smart_leaving(const struct naive_smart *m)
{
	int pages = m->quirks && m->writing ? m->in_flight.size : 0;

	for (int i = 0; i < m->queued; i++)
		pages += m->queue[i].size;
	return (uint64_t)pages;
}
