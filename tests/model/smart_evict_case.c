#include "smart_evict_case.h"

#include <stdlib.h>
#include <string.h>

#include "naive_smart_evict.h"
#include "vectors/reference/smart_evict.h"

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint32_t next(struct bytes *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

struct both {
	struct naive_smart naive;
	struct smart_evict e;
	struct uvmp_counter_tree counter[NAIVE_SMART_TREES];
	_Alignas(8) uint64_t memory[16384];
	uint64_t now, random[2];
};

static void open(struct both *b, struct bytes *in)
{
	uint32_t policy = next(in) % SMART_EVICTORS, reserve = next(in), flags = next(in);
	uint32_t trees = flags / 4 % NAIVE_SMART_TREES + 1, shapes = next(in);
	uint64_t total = 16 * (next(in) % 64) + 64;

	naive_smart_init(&b->naive, (enum naive_smart_policy)policy, total);
	if (smart_evict_init(&b->e, (enum smart_evictor)policy, total, NAIVE_SMART_TREES, NAIVE_SMART_PAGES,
	                     b->memory, sizeof(b->memory)) != UVMP_OK)
		abort();
	b->e.counter = b->counter;
	b->naive.quirks = b->e.quirks = flags % 2 == 0;
	b->naive.invalidate_clean = b->e.is_invalidation_instant = flags / 2 % 2 != 0;
	b->naive.reserve = reserve > 150 ? 0 : reserve > 100 ? 10 : (int)reserve;
	b->e.reserve_percent = (uint32_t)b->naive.reserve;
	for (uint32_t i = 0; i < trees; i++) {
		uint32_t blocks = 1u << (shapes >> 2 * i) % 4;

		naive_smart_add_tree(&b->naive, (int)blocks);
		if (smart_evict_add_tree(&b->e, blocks) != UVMP_OK ||
		    uvmp_counter_tree_init(&b->counter[i], blocks) != UVMP_OK)
			abort();
	}
}

/* -- comparing -- */

static int start_of(const struct both *b, uint32_t tree)
{
	return b->naive.tree[tree].start;
}

static bool same_list(const struct both *b)
{
	for (uint32_t i = 0; i < b->e.entries; i++) {
		const struct smart_entry *x = &b->e.entry[i];
		const struct naive_smart_entry *y = &b->naive.list[i];

		if (start_of(b, x->tree) + x->first != y->addr || x->pages != y->size ||
		    x->cycle != y->cycle || x->counter != y->counter || x->rw != y->rw)
			return false;
	}
	return (int)b->e.entries == b->naive.entries;
}

static bool same_range(const struct both *b, const struct smart_range *x, const struct naive_smart_range *y)
{
	return start_of(b, x->tree) + (int)x->pages.first == y->addr &&
	       (int)uvmp_region_pages(x->pages) == y->size &&
	       (x->kind == SMART_INVALIDATE) == y->is_invalidate;
}

static bool same_queue(const struct both *b)
{
	for (uint32_t i = 0; i < b->e.queued; i++)
		if (!same_range(b, &b->e.queue[i], &b->naive.queue[i]))
			return false;
	return (int)b->e.queued == b->naive.queued && b->e.is_writing == b->naive.writing &&
	       (!b->e.is_writing || same_range(b, &b->e.in_flight, &b->naive.in_flight));
}

static bool same_tree(const struct both *b, uint32_t i)
{
	const struct smart_tree *x = &b->e.tree[i];
	const struct naive_smart_tree *y = &b->naive.tree[i];

	for (int n = 0; n < y->pages / 8 - 1; n++)
		if (x->fill.node[n] != (uint32_t)(y->valid[n] / 4096))
			return false;
	for (int p = 0; p < y->pages; p++)
		if (uvmp_mask_test(&x->valid, (uint32_t)p) != b->naive.valid[y->start + p] ||
		    uvmp_mask_test(&x->dirty, (uint32_t)p) != b->naive.dirty[y->start + p] ||
		    uvmp_mask_test(&x->staged, (uint32_t)p) != naive_smart_staged(&b->naive, y->start + p))
			return false;
	return true;
}

static bool same(const struct both *b)
{
	for (uint32_t i = 0; i < b->e.trees; i++)
		if (!same_tree(b, i))
			return false;
	return smart_evict_is_valid(&b->e) && same_list(b) && same_queue(b) && b->e.free == b->naive.free &&
	       smart_evict_leaving(&b->e) == naive_smart_leaving(&b->naive);
}

/* -- steps -- */

/* What is not resident of [first, end) arrives, counted in the tree or
 * [uvmsmart: user-prefetch-bypasses-tree] not. */
static bool arrive(struct both *b, uint32_t tree, uint32_t first, uint32_t end, bool is_counted)
{
	struct smart_tree *t = &b->e.tree[tree];

	for (uint32_t p = first; p < end; p++) {
		int page = start_of(b, tree) + (int)p;
		bool came;

		if (b->naive.valid[page])
			continue;
		came = naive_smart_arrive(&b->naive, page, b->now);
		if ((smart_evict_arrive(&b->e, tree, p, b->now) == UVMP_OK) != came)
			return false;
		if (!came || !is_counted)
			continue;
		naive_smart_add(&b->naive, page, 1);
		uvmp_tree_add(&t->fill, p, 1, b->e.quirks);
	}
	return true;
}

static bool access_page(struct both *b, uint32_t tree, uint32_t p, bool is_write)
{
	struct uvmp_counter_access access = {tree, p / 16, is_write, false};
	struct smart_range range;
	int page = start_of(b, tree) + (int)p;
	bool called;

	naive_smart_count(&b->naive, page, is_write);
	if (uvmp_counter_record(b->counter, b->e.trees, &access, true) != UVMP_OK)
		return false;
	if (!b->naive.valid[page])
		return true;
	called = naive_smart_cancel(&b->naive, page, b->now);
	if (smart_evict_cancel(&b->e, tree, p, b->now, &range) != UVMP_OK ||
	    called != (range.pages.end != 0))
		return false;
	if (is_write) {
		b->naive.dirty[page] = true;
		uvmp_mask_set(&b->e.tree[tree].dirty, p);
	}
	naive_smart_touch(&b->naive, page, b->now);
	return smart_evict_touch(&b->e, tree, p, b->now) == UVMP_OK;
}

static void pin(struct both *b, uint32_t tree, uint32_t p)
{
	bool *pinned = &b->naive.pinned[start_of(b, tree) + (int)p];

	*pinned = !*pinned;
	if (*pinned)
		uvmp_mask_set(&b->e.tree[tree].pinned, p);
	else
		uvmp_mask_clear(&b->e.tree[tree].pinned, p);
}

static bool choose(struct both *b)
{
	struct smart_choice choice;

	return smart_evict_select(&b->e, &b->random[0], &choice) == UVMP_OK &&
	       (int)choice.ranges == naive_smart_select(&b->naive, &b->random[1]) &&
	       b->random[0] == b->random[1];
}

static bool start(struct both *b)
{
	struct smart_write write;
	int dirty, clean;

	if (smart_evict_start(&b->e, &write) != UVMP_OK ||
	    write.is_started != naive_smart_start(&b->naive, &dirty, &clean))
		return false;
	if (write.is_started)
		uvmp_counter_tree_round_trip(&b->counter[write.range.tree], true);
	return (int)write.dirty == dirty && (int)write.clean == clean;
}

static void synchronise(struct both *b)
{
	naive_smart_synchronise(&b->naive);
	(void)smart_evict_synchronise(&b->e);
	for (uint32_t i = 0; i < b->e.trees; i++)
		(void)uvmp_counter_tree_init(&b->counter[i], b->counter[i].blocks);
}

static bool step(struct both *b, struct bytes *in)
{
	uint32_t op = next(in), tree = op / 32 % b->e.trees;
	uint32_t pages = b->e.tree[tree].fill.blocks * 16, p = next(in) % pages;

	b->now += op % 3 == 0;
	switch (op % 32) {
	case 0:
	case 1:
		return arrive(b, tree, p, p + 1, p % 16 != 0);
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		return arrive(b, tree, p / 16 * 16, p / 16 * 16 + 16, true);
	case 7:
	case 8:
		return arrive(b, tree, 0, pages, true);
	case 9:
		naive_smart_touch(&b->naive, start_of(b, tree) + (int)p, b->now);
		return smart_evict_touch(&b->e, tree, p, b->now) == UVMP_OK;
	case 10:
		naive_smart_sort(&b->naive);
		return smart_evict_order(&b->e) == UVMP_OK;
	case 11:
		pin(b, tree, p);
		return true;
	case 12:
		if (p % 4 == 0)
			synchronise(b);
		return true;
	case 13: {
		uint32_t policy = p % SMART_EVICTORS;

		naive_smart_switch(&b->naive, (enum naive_smart_policy)policy);
		return smart_evict_switch(&b->e, (enum smart_evictor)policy) == UVMP_OK;
	}
	case 14:
	case 15:
	case 16:
		return start(b);
	case 17:
	case 18:
		return (smart_evict_end(&b->e) == UVMP_OK) == naive_smart_end(&b->naive);
	case 19:
	case 20:
	case 21:
	case 22:
	case 23:
	case 24:
	case 25:
		return choose(b);
	default:
		return access_page(b, tree, p, op % 4 == 0);
	}
}

bool smart_evict_case_run(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct both *b = calloc(1, sizeof(*b));
	bool agree = true;

	if (b == NULL)
		abort();
	b->random[0] = b->random[1] = size;
	open(b, &in);
	while (agree && in.size > 0)
		agree = step(b, &in) && same(b);
	free(b);
	return agree;
}
