/* Memory: root chunks, and orders of eviction. */
#include <stdlib.h>

#include "bench.h"
#include "uvmpolicy/advanced.h"

#define ROUND 100u

/* The lower bound of cycles: the oldest unit leaves the start of a list of links, gets its owner and goes to the
 * end of the list. */
struct link {
	uint32_t before, after;
};

static struct link link[ROUND + 1];
static uint32_t owner[ROUND + 1];

__attribute__((noinline)) void bench_cycle_floor(uint32_t block);
void bench_cycle_floor(uint32_t block)
{
	uint32_t oldest = link[0].after, next = link[oldest].after, last = link[0].before;

	link[0].after = next;
	link[next].before = 0;
	link[last].after = oldest;
	link[oldest] = (struct link){last, 0};
	link[0].before = oldest;
	owner[oldest] = block;
}

static void begin_links(void)
{
	for (uint32_t i = 0; i <= ROUND; i++)
		link[i] = (struct link){(i + ROUND) % (ROUND + 1u), (i + 1u) % (ROUND + 1u)};
}

/* -- root chunks of 2 MiB -- */

/* The oldest root is evicted and used again, whole, by another block. */
__attribute__((noinline)) enum uvmp_status bench_root_cycle(struct uvmp_pmm *pmm, uint32_t block);
enum uvmp_status bench_root_cycle(struct uvmp_pmm *pmm, uint32_t block)
{
	struct uvmp_pmm_eviction eviction;
	struct uvmp_chunk chunk = {UVMP_ROOT_NONE, 0, 0}; /* stays if a call fails: an error of the unpin */
	uint32_t root = UVMP_ROOT_NONE;
	bool found = false;

	uvmp_pmm_evict_begin(pmm, UVMP_CHUNK_USER, &root);
	do
		uvmp_pmm_evict_next(pmm, root, &eviction, &found);
	while (found);
	uvmp_pmm_evict_end(pmm, root, UVMP_CHUNK_USER, UVMP_CHUNK_2M, block, &chunk);
	return uvmp_pmm_unpin(pmm, chunk);
}

/* A root of the pool becomes used. */
__attribute__((noinline)) enum uvmp_status bench_root_fill(struct uvmp_pmm *pmm, uint32_t block);
enum uvmp_status bench_root_fill(struct uvmp_pmm *pmm, uint32_t block)
{
	struct uvmp_chunk chunk = {UVMP_ROOT_NONE, 0, 0}; /* stays if no root is left: an error of the unpin */

	uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, block, &chunk);
	return uvmp_pmm_unpin(pmm, chunk);
}

static struct uvmp_pmm *begin_roots(uint32_t roots)
{
	struct uvmp_pmm_params params = {roots, 0, 6, true, true, 0};
	size_t bytes = uvmp_pmm_size(&params);
	struct uvmp_pmm *pmm;

	bench_check(uvmp_pmm_init(&params, bench_memory(bytes), bytes, &pmm) == UVMP_OK);
	return pmm;
}

static void root_cycle(uint32_t roots, unsigned long calls)
{
	struct uvmp_pmm *pmm = begin_roots(roots);
	uint32_t block[ROUND];

	begin_links();
	for (uint32_t i = 0; i < roots; i++)
		bench_check(bench_root_fill(pmm, i) == UVMP_OK);
	for (unsigned long done = 0; done < calls; done += ROUND) {
		for (uint32_t i = 0; i < ROUND; i++)
			block[i] = bench_draw(1u << 20);
		bench_begin();
		for (uint32_t i = 0; i < ROUND; i++)
			bench_check(bench_root_cycle(pmm, block[i]) == UVMP_OK);
		bench_end();
		for (uint32_t i = 0; i < ROUND; i++)
			bench_cycle_floor(block[i]);
	}
	free(pmm);
}

static void root_1000(unsigned long calls)
{
	root_cycle(1000, calls);
}

static void root_70000(unsigned long calls)
{
	root_cycle(70000, calls);
}

static void root_1m(unsigned long calls)
{
	root_cycle(1u << 20, calls);
}

static void root_fill(unsigned long calls)
{
	struct uvmp_pmm *pmm = begin_roots(70000);

	bench_begin();
	for (unsigned long i = 0; i < calls; i++)
		bench_check(bench_root_fill(pmm, (uint32_t)i) == UVMP_OK);
	bench_end();
	begin_links();
	for (unsigned long i = 0; i < calls; i++)
		bench_cycle_floor((uint32_t)i);
	free(pmm);
}

/* -- TBNe: the victim, the basic blocks evicted with it, and their removal from the order -- */

#define TREES 64u

__attribute__((noinline)) void bench_tbne(struct uvmp_evict *order, struct uvmp_tree *tree);
void bench_tbne(struct uvmp_evict *order, struct uvmp_tree *tree)
{
	uint32_t leaving, tree_first, unit;

	bench_check(uvmp_evict_victim(order, NULL, &unit) == UVMP_OK);
	tree_first = unit / 32u * 32u;
	tree += unit / 32u;
	uvmp_tree_set_leaf(tree, unit % 32u, 0); /* the closure renews the sums */
	leaving = (uint32_t)1 << unit % 32u;
	leaving |= uvmp_evict_tbn_closure(tree, ~leaving);
	uvmp_evict_remove_set(order, tree_first, leaving);
}

/* The lower bound: reads the basic blocks of a tree once, and clears the victim. */
__attribute__((noinline)) uint32_t bench_tbne_floor(struct uvmp_tree *tree, uint32_t block);
uint32_t bench_tbne_floor(struct uvmp_tree *tree, uint32_t block)
{
	uint32_t pages = 0;

	for (uint32_t i = 0; i < 32u; i++)
		pages += tree->node[i];
	tree->node[block] = 0;
	return pages;
}

static void tbne(unsigned long calls)
{
	static struct uvmp_tree copy; /* for the lower bound */

	static struct uvmp_tree tree[TREES];
	size_t bytes = uvmp_evict_size(UVMP_EVICT_TBN, TREES * 32u);
	void *memory = bench_memory(bytes);
	struct uvmp_evict order;

	bench_check(uvmp_evict_init(&order, UVMP_EVICT_TBN, TREES * 32u, memory, bytes) == UVMP_OK);
	for (uint32_t i = 0; i < TREES; i++)
		uvmp_tree_init(&tree[i], 32);
	for (unsigned long i = 0; i < calls; i++) {
		while (order.count < TREES * 16u) {
			uint32_t unit = bench_draw(TREES * 32u);

			uvmp_evict_touch(&order, unit);
			uvmp_tree_set_leaf(&tree[unit / 32u], unit % 32u, 16);
			uvmp_tree_recompute(&tree[unit / 32u]);
		}
		copy = tree[i % TREES];
		bench_check(bench_tbne_floor(&copy, (uint32_t)i % 32u) != UINT32_MAX);
		bench_begin();
		bench_tbne(&order, tree);
		bench_end();
	}
	free(memory);
}

/* -- LRU of pages of 4 KiB -- */

/* The oldest page is evicted, and arrives again. */
__attribute__((noinline)) enum uvmp_status bench_lru_cycle(struct uvmp_evict *order, uint32_t page);
enum uvmp_status bench_lru_cycle(struct uvmp_evict *order, uint32_t page)
{
	uint32_t unit = UVMP_UNIT_NONE; /* stays if no victim is named: an error of the touch */

	(void)page;
	uvmp_evict_victim(order, NULL, &unit);
	uvmp_evict_remove(order, unit);
	return uvmp_evict_touch(order, unit);
}

__attribute__((noinline)) enum uvmp_status bench_lru_touch(struct uvmp_evict *order, uint32_t page);
enum uvmp_status bench_lru_touch(struct uvmp_evict *order, uint32_t page)
{
	return uvmp_evict_touch(order, page);
}

/* The lower bound: a page leaves its place in a list of links and goes to the end. */
__attribute__((noinline)) void bench_lru_floor(uint32_t page);
void bench_lru_floor(uint32_t page)
{
	uint32_t last = link[0].before, before = link[page].before, after = link[page].after;

	link[before].after = after;
	link[after].before = before;
	link[last].after = page;
	link[page] = (struct link){last, 0};
	link[0].before = page;
}

static void lru(uint32_t pages, enum uvmp_status (*call)(struct uvmp_evict *, uint32_t), unsigned long calls)
{
	size_t bytes = uvmp_evict_size(UVMP_EVICT_LRU_4K, pages);
	void *memory = bench_memory(bytes);
	struct uvmp_evict order;
	uint32_t page[ROUND];

	begin_links();
	bench_check(uvmp_evict_init(&order, UVMP_EVICT_LRU_4K, pages, memory, bytes) == UVMP_OK);
	for (uint32_t i = 0; i < pages; i++)
		uvmp_evict_touch(&order, i);
	for (unsigned long done = 0; done < calls; done += ROUND) {
		for (uint32_t i = 0; i < ROUND; i++)
			page[i] = bench_draw(pages);
		for (uint32_t i = 0; i < ROUND; i++) {
			bench_lru_floor(1u + page[i] % (ROUND - 1u));
			bench_cycle_floor(page[i]);
		}
		bench_begin();
		for (uint32_t i = 0; i < ROUND; i++)
			bench_check(call(&order, page[i]) == UVMP_OK);
		bench_end();
	}
	free(memory);
}

static void lru_touch(unsigned long calls)
{
	lru(1u << 16, bench_lru_touch, calls);
}

static void lru_touch_16m(unsigned long calls)
{
	lru(1u << 24, bench_lru_touch, calls);
}

static void lru_cycle(unsigned long calls)
{
	lru(1u << 16, bench_lru_cycle, calls);
}

static void lru_cycle_16m(unsigned long calls)
{
	lru(1u << 24, bench_lru_cycle, calls);
}

#define ROOT "bench_root_cycle", .units = 1, .original = 689, .budget = 250, .floor = "bench_cycle_floor", .unit = "cycle"

const struct bench_case bench_evict_cases[] = {
        {"root-1000", ROOT, .text = "root chunk evicted and reused; 1000 resident", .run = root_1000},
        {"root-70000", ROOT, .text = "root chunk evicted and reused; 70000 resident", .run = root_70000},
        {"root-1m", ROOT, .text = "root chunk evicted and reused; 1048576 resident", .run = root_1m},
        {"root-fill", "bench_root_fill", .units = 1, .original = 252, .budget = 150, .floor = "bench_cycle_floor", .unit = "chunk",
         .text = "root chunk allocated from the pool and unpinned", .run = root_fill},
        {"tbne", "bench_tbne", .units = 1, .original = 44501, .budget = 800, .floor = "bench_tbne_floor", .unit = "eviction",
         .text = "TBNe: victim; its closure; both removed; 64 trees of which half is resident", .run = tbne},
        {"lru-touch", "bench_lru_touch", .units = 1, .original = 4704, .budget = 40, .floor = "bench_lru_floor", .unit = "touch",
         .text = "LRU 4 KiB: touch of a random page of 65536", .run = lru_touch},
        {"lru-touch-16m", "bench_lru_touch", .units = 1, .original = 423397, .budget = 40, .floor = "bench_lru_floor",
         .unit = "touch",
         .text = "LRU 4 KiB: touch of a random page of 16777216", .run = lru_touch_16m},
        {"lru-cycle", "bench_lru_cycle", .units = 1, .budget = 120, .floor = "bench_cycle_floor", .unit = "cycle",
         .text = "LRU 4 KiB: victim and removal and touch; 65536 pages", .run = lru_cycle},
        {"lru-cycle-16m", "bench_lru_cycle", .units = 1, .budget = 120, .floor = "bench_cycle_floor", .unit = "cycle",
         .text = "LRU 4 KiB: victim and removal and touch; 16777216 pages", .run = lru_cycle_16m},
        {0}};
