/* Unit tests of smart_evict.h: the worked examples of [uvmsmart: victim-selection], each quirk and its
 * corrected rule, and refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/pressure.h"
#include "vectors/reference/smart_evict.h"

#define TREES 4u
#define PAGES 2048u

static _Alignas(uint64_t) unsigned char memory[200000];
static struct smart_evict e;
static struct uvmp_counter_tree counter[TREES];
static struct smart_choice choice;

static void begin(enum smart_evictor evictor)
{
	assert_true(smart_evict_size(TREES, PAGES) <= sizeof(memory));
	assert_int_equal(smart_evict_init(&e, evictor, 4096, TREES, PAGES, memory, sizeof(memory)), UVMP_OK);
	e.counter = counter;
}

static void tree(uint32_t blocks)
{
	assert_int_equal(uvmp_counter_tree_init(&counter[e.trees], blocks), UVMP_OK);
	assert_int_equal(smart_evict_add_tree(&e, blocks), UVMP_OK);
}

static void page_in(uint32_t t, uint32_t page, uint64_t cycle)
{
	uvmp_tree_add(&e.tree[t].fill, page, 1, e.quirks);
	assert_int_equal(smart_evict_arrive(&e, t, page, cycle), UVMP_OK);
}

static void block_in(uint32_t t, uint32_t block, uint64_t cycle)
{
	for (uint32_t p = 16 * block; p < 16 * block + 16; p++)
		page_in(t, p, cycle);
}

static void tree_in(uint32_t t, uint64_t cycle)
{
	for (uint32_t b = 0; b < e.tree[t].fill.blocks; b++)
		block_in(t, b, cycle);
}

static void access_page(uint32_t t, uint32_t page, bool is_write, uint32_t times)
{
	struct uvmp_counter_access access = {t, page / 16, is_write, false};

	for (uint32_t i = 0; i < times; i++)
		assert_int_equal(uvmp_counter_record(counter, e.trees, &access, true), UVMP_OK);
}

/* One eviction; the ranges that it stages must be these: tree, then first and end page of each. */
static void expect(uint32_t t, const uint32_t *page, uint32_t ranges)
{
	assert_int_equal(smart_evict_select(&e, NULL, &choice), UVMP_OK);
	assert_int_equal(choice.ranges, ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		const struct smart_range *range = &e.queue[e.queued - ranges + i];

		assert_int_equal(choice.tree, t);
		assert_int_equal(range->tree, t);
		assert_int_equal(range->pages.first, page[2 * i]);
		assert_int_equal(range->pages.end, page[2 * i + 1]);
	}
}
#define EXPECT(t, ...)                                                                                       \
	expect(t, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / (2 * sizeof(uint32_t)))
#define EXPECT_NONE() expect(0, NULL, 0)

static void expect_entry(uint32_t i, uint32_t t, uint32_t first, uint32_t pages, uint64_t cycle)
{
	assert_true(i < e.entries);
	assert_int_equal(e.entry[i].tree, t);
	assert_int_equal(e.entry[i].first, first);
	assert_int_equal(e.entry[i].pages, pages);
	assert_int_equal(e.entry[i].cycle, cycle);
}

static struct smart_write start(void)
{
	struct smart_write write;

	assert_int_equal(smart_evict_start(&e, &write), UVMP_OK);
	return write;
}

static struct smart_range cancel(uint32_t t, uint32_t page, uint64_t cycle)
{
	struct smart_range range;

	assert_int_equal(smart_evict_cancel(&e, t, page, cycle, &range), UVMP_OK);
	return range;
}

/* -- [uvmsmart: eviction-list]: the list -- */

static void test_units(void **state)
{
	(void)state;
	begin(SMART_LRU_4K);
	tree(8);
	tree(2);
	assert_int_equal(smart_evict_touch(&e, 0, 20, 1), UVMP_OK);
	e.evictor = SMART_TBN;
	assert_int_equal(smart_evict_touch(&e, 0, 21, 2), UVMP_OK);
	e.evictor = SMART_LFU_2M;
	assert_int_equal(smart_evict_touch(&e, 1, 31, 3), UVMP_OK);
	assert_int_equal(smart_evict_touch(&e, 0, 17, 4), UVMP_OK); /* the block holds it */
	assert_int_equal(smart_evict_touch(&e, 0, 20, 5), UVMP_OK); /* the page is the first that holds it */
	assert_int_equal(e.entries, 3);
	expect_entry(0, 0, 20, 1, 5);
	expect_entry(1, 0, 16, 16, 4);
	expect_entry(2, 1, 0, 32, 3);
}

/* Tree A blocks touched at 10, 50, 5; tree B blocks at 20, 30: B20, B30, A5, A10, A50. */
static void test_group_order(void **state)
{
	(void)state;
	begin(SMART_SL);
	tree(32);
	tree(32);
	block_in(0, 0, 10);
	block_in(0, 1, 50);
	block_in(1, 0, 20);
	block_in(0, 2, 5);
	block_in(1, 1, 30);
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	expect_entry(0, 1, 0, 16, 20);
	expect_entry(1, 1, 16, 16, 30);
	expect_entry(2, 0, 32, 16, 5);
	expect_entry(3, 0, 0, 16, 10);
	expect_entry(4, 0, 16, 16, 50);
	/* both trees equally new: the lower address first */
	assert_int_equal(smart_evict_touch(&e, 1, 16, 50), UVMP_OK);
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	expect_entry(0, 0, 32, 16, 5);
	expect_entry(3, 1, 0, 16, 20);
}

/* Only trees with entries are looked at: the others stay unchanged, for any number of them. */
static void test_newest(void **state)
{
	(void)state;
	begin(SMART_TBN);
	tree(1);
	tree(1);
	block_in(0, 0, 4);
	e.tree[0].newest = 99;
	e.tree[1].newest = 99;
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	assert_int_equal(e.tree[0].newest, 4);
	assert_int_equal(e.tree[1].newest, 99);
}

/* LFU, (counter, rw, cycle) = (5,1,16) (3,2,48) (3,1,500) (3,1,older): T3, T2, T1, T0; T3 is invalidated. */
static void test_lfu_order(void **state)
{
	static const uint32_t times[TREES] = {5, 3, 3, 3};
	static const uint64_t cycles[TREES] = {16, 48, 500, 400};

	(void)state;
	begin(SMART_LFU_2M);
	for (uint32_t t = 0; t < TREES; t++) {
		tree(2);
		tree_in(t, cycles[t]);
		access_page(t, 3, t == 1, times[t]);
	}
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	for (uint32_t t = 0; t < TREES; t++)
		expect_entry(t, 3 - t, 0, 32, cycles[3 - t]);
	assert_int_equal(e.entry[2].counter, 3);
	assert_int_equal(e.entry[2].rw, 2);
	EXPECT(3, 0, 32);
	assert_int_equal(e.queue[0].kind, SMART_INVALIDATE);
	assert_int_equal(e.tree[3].fill.node[0], 0);
}

/* Counters are looked at only where there are any; equal ones leave the order to the marks and the cycle. */
static void test_without_counters(void **state)
{
	(void)state;
	begin(SMART_LFU_2M);
	e.counter = NULL;
	tree(1);
	tree(1);
	tree_in(1, 7);
	tree_in(0, 8);
	EXPECT(1, 0, 16);
	assert_int_equal(e.queue[0].kind, SMART_WRITEBACK);
}

/* -- [uvmsmart: evictable]: evictable -- */

/* LRU 2 MiB, tree 0 older but with one block only: tree 1 is evicted [uvmsmart: incomplete-tree-stays].
 * Corrected: the block of tree 0. */
static void test_incomplete_tree_stays(void **state)
{
	(void)state;
	begin(SMART_LRU_2M);
	tree(32);
	tree(32);
	block_in(0, 0, 1);
	tree_in(1, 2);
	EXPECT(1, 0, 512);
	assert_int_equal(e.entries, 1);
	EXPECT_NONE();

	begin(SMART_LRU_2M);
	e.quirks = false;
	tree(8);
	tree(4);
	block_in(0, 0, 1);
	block_in(0, 5, 1);
	uvmp_tree_add(&e.tree[0].fill, 100, 1, false); /* on its way */
	tree_in(1, 2);
	uvmp_mask_set(&e.tree[0].pinned, 80);
	EXPECT(1, 0, 64);
	uvmp_mask_clear(&e.tree[0].pinned, 80);
	EXPECT(0, 0, 16, 80, 96);
	assert_int_equal(e.tree[0].fill.node[0], 1);
	assert_int_equal(smart_evict_touch(&e, 0, 0, 3), UVMP_OK);
	EXPECT_NONE(); /* an entry, but all of it is staged */
	assert_int_equal(e.entries, 1);
}

static void test_pinned_and_staged(void **state)
{
	(void)state;
	begin(SMART_SL);
	tree(4);
	block_in(0, 0, 1);
	block_in(0, 1, 2);
	page_in(0, 40, 0); /* incomplete */
	uvmp_mask_set(&e.tree[0].pinned, 15);
	EXPECT(0, 16, 32);
	assert_int_equal(choice.page, 16);
	assert_int_equal(smart_evict_touch(&e, 0, 16, 3), UVMP_OK);
	EXPECT_NONE();
	uvmp_mask_clear(&e.tree[0].pinned, 15);
	EXPECT(0, 0, 16);
}

/* -- [uvmsmart: eviction-trigger]: the reserve -- */

static void test_reserve(void **state)
{
	(void)state;
	/* 2M, SL, reserve 20 %, blocks 0..9, 0 first: skip 2, block 2 */
	begin(SMART_SL);
	e.reserve_percent = 20;
	tree(32);
	for (uint32_t b = 0; b < 10; b++)
		block_in(0, b, b);
	EXPECT(0, 32, 48);
	/* everything */
	e.reserve_percent = 100;
	EXPECT_NONE();
	e.evictor = SMART_LRU_2M;
	EXPECT_NONE();
	e.quirks = false;
	EXPECT_NONE();
}

#define MANY 170602u

/* A list of `entries` of which only number `free` may leave. */
static uint32_t evict_one_of_many(uint32_t entries, uint32_t free)
{
	for (uint32_t i = 0; i < entries; i++)
		e.entry[i] = (struct smart_entry){.cycle = i, .first = i == free ? 0 : 1, .pages = 1};
	e.entries = entries;
	e.queued = 0;
	uvmp_mask_zero(&e.tree[0].staged);
	assert_int_equal(smart_evict_select(&e, NULL, &choice), UVMP_OK);
	return choice.ranges;
}

/* 169501 * 99 needs more than 24 bits: the product is rounded up, and one entry more is protected than 99 %
 * are; 170601 the same with another parity. */
static void test_reserve_is_a_float(void **state)
{
	static struct smart_entry entry[MANY], scratch[MANY];
	static uint32_t index[2 * MANY];
	static const struct {
		uint32_t entries, percent, skip;
	} cases[] = {{100000, 99, 99000}, {167773, 100, 167773}, {169501, 99, 167806}, {170601, 99, 168895}};

	(void)state;
	begin(SMART_LRU_4K);
	tree(32);
	page_in(0, 0, 0); /* and page 1 is not */
	e.entry = entry;
	e.scratch = scratch;
	e.index = index;
	memset(index, 0xff, sizeof(index));
	e.pages = e.pages_max = MANY;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		e.reserve_percent = cases[c].percent;
		assert_int_equal(evict_one_of_many(cases[c].entries, cases[c].skip),
		                 cases[c].skip < cases[c].entries);
		assert_int_equal(evict_one_of_many(cases[c].entries, cases[c].skip - 1), 0);
	}
}

/* -- [uvmsmart: victim-selection]: victims -- */

static void test_lru4k(void **state)
{
	(void)state;
	begin(SMART_LRU_4K);
	tree(1);
	for (uint32_t p = 0; p < 4; p++)
		page_in(0, p, 20);
	assert_int_equal(smart_evict_touch(&e, 0, 0, 30), UVMP_OK);
	assert_int_equal(smart_evict_touch(&e, 0, 2, 30), UVMP_OK);
	EXPECT(0, 1, 2);
	EXPECT(0, 3, 4);
	EXPECT(0, 0, 1);
	assert_int_equal(e.tree[0].fill.node[0], 1);
	EXPECT(0, 2, 3);
	EXPECT_NONE();
}

static void test_random4k(void **state)
{
	uint64_t random = 5, copy = 5, draw;

	(void)state;
	begin(SMART_RANDOM_4K);
	tree(2);
	assert_int_equal(smart_evict_select(&e, NULL, &choice), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_select(&e, &random, &choice), UVMP_OK);
	assert_int_equal(choice.ranges, 0);
	assert_int_equal(random, copy); /* nothing to draw from */
	tree_in(0, 0);
	e.reserve_percent = 50;
	draw = uvmp_random_below(&copy, 16);
	assert_int_equal(smart_evict_select(&e, &random, &choice), UVMP_OK);
	assert_int_equal(random, copy);
	assert_int_equal(choice.ranges, 1);
	assert_int_equal(e.queue[0].pages.first, 16 + draw);
	assert_int_equal(choice.page, 16 + draw);
	e.reserve_percent = 100;
	assert_int_equal(smart_evict_select(&e, &random, &choice), UVMP_OK);
	assert_int_equal(choice.ranges, 0);
	assert_int_equal(random, copy);
}

static void tbn_begin(uint32_t blocks)
{
	begin(SMART_TBN);
	tree(blocks);
}

static void test_tbn(void **state)
{
	(void)state;
	/* 2M, all 32, 0 first: 64, 64, 128, 256, 512, 1024 KB */
	tbn_begin(32);
	for (uint32_t b = 0; b < 32; b++)
		block_in(0, b, b);
	EXPECT(0, 0, 16);
	EXPECT(0, 16, 32);
	EXPECT(0, 32, 64);
	EXPECT(0, 64, 128);
	EXPECT(0, 128, 256);
	EXPECT(0, 256, 512);
	assert_int_equal(choice.page, 256);
	assert_int_equal(e.tree[0].fill.node[0], 0);
	assert_int_equal(e.entries, 0);
	EXPECT_NONE();
	/* 512K, 0, 2, 4, 6, 0 first: four ranges at once */
	tbn_begin(8);
	for (uint32_t b = 0; b < 8; b += 2)
		block_in(0, b, b);
	EXPECT(0, 0, 16, 32, 48, 64, 80, 96, 112);
	/* 512K, 0..4, 4 first: block 4 only, the root stays at exactly half */
	tbn_begin(8);
	block_in(0, 4, 0);
	for (uint32_t b = 0; b < 4; b++)
		block_in(0, b, b + 1);
	EXPECT(0, 64, 80);
	assert_int_equal(e.tree[0].fill.node[0], 64);
	/* 512K, 0..5, 5 first: blocks 4 and 5; next call 0: 256 KB */
	tbn_begin(8);
	block_in(0, 5, 0);
	for (uint32_t b = 0; b < 5; b++)
		block_in(0, b, b + 1);
	EXPECT(0, 64, 96);
	EXPECT(0, 0, 64);
}

/* -- [uvmsmart: write-back]: staging and writing -- */

static void test_write(void **state)
{
	struct smart_write write;

	(void)state;
	begin(SMART_SL);
	tree(4);
	assert_false(start().is_started);
	block_in(0, 0, 1);
	block_in(0, 1, 2);
	access_page(0, 3, false, 1);
	uvmp_mask_set(&e.tree[0].dirty, 2);
	EXPECT(0, 0, 16);
	assert_int_equal(e.queue[0].kind, SMART_INVALIDATE); /* only read, says the root */
	EXPECT(0, 16, 32);
	assert_int_equal(e.queue[1].kind, SMART_WRITEBACK); /* [uvmsmart: root-marks-only]: not the tree's first block */
	assert_int_equal(smart_evict_leaving(&e), 32);
	assert_true(uvmp_mask_test(&e.tree[0].valid, 0)); /* still there */
	write = start();
	assert_true(write.is_started);
	assert_int_equal(write.dirty, 1);
	assert_int_equal(write.clean, 15);
	assert_int_equal(e.free, 4096 - 16);
	assert_false(uvmp_mask_test(&e.tree[0].valid, 0) || uvmp_mask_test(&e.tree[0].dirty, 2));
	assert_true(uvmp_mask_test(&e.tree[0].staged, 16) && !uvmp_mask_test(&e.tree[0].staged, 15));
	assert_int_equal(smart_evict_leaving(&e), 32); /* [uvmsmart: write-credited-twice] */
	e.quirks = false;
	assert_int_equal(smart_evict_leaving(&e), 16);
	assert_false(start().is_started); /* one at a time */
	assert_int_equal(smart_evict_end(&e), UVMP_OK);
	assert_int_equal(smart_evict_end(&e), UVMP_ERR_STATE);
	e.quirks = true;
	assert_int_equal(smart_evict_leaving(&e), 16);
	e.queue[0].kind = SMART_INVALIDATE;
	e.is_invalidation_instant = true;
	assert_true(start().is_started);
	assert_false(e.is_writing);
	assert_int_equal(e.free, 4096);
	/* a write-back takes its time all the same */
	block_in(0, 2, 3);
	EXPECT(0, 32, 48);
	assert_true(start().is_started);
	assert_true(e.is_writing);
}

static void test_root_marks_only(void **state)
{
	(void)state;
	begin(SMART_SL);
	e.quirks = false;
	tree(4);
	block_in(0, 0, 1);
	block_in(0, 1, 2);
	access_page(0, 0, true, 1);
	access_page(0, 16, false, 1);
	EXPECT(0, 0, 16);
	assert_int_equal(e.queue[0].kind, SMART_WRITEBACK);
	EXPECT(0, 16, 32);
	assert_int_equal(e.queue[1].kind, SMART_INVALIDATE);
	/* the counter is the block's as well, with its round trips */
	block_in(0, 2, 3);
	block_in(0, 3, 4);
	access_page(0, 32, false, 1);
	access_page(0, 48, false, 7);
	uvmp_counter_tree_round_trip(&counter[0], true);
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	assert_int_equal(e.entry[0].counter, (1u << 27) + 1);
	assert_int_equal(e.entry[1].counter, (1u << 27) + 7);
	/* a whole tree has the root's */
	begin(SMART_LRU_2M);
	e.quirks = false;
	tree(2);
	tree_in(0, 1);
	access_page(0, 0, true, 1);
	access_page(0, 16, false, 1);
	assert_int_equal(smart_evict_order(&e), UVMP_OK);
	assert_int_equal(e.entry[0].rw, 3);
	assert_int_equal(e.entry[0].counter, 2);
}

/* A tree with holes leaves as several ranges; its one entry speaks for all of them. */
static void test_kind_of_runs(void **state)
{
	(void)state;
	begin(SMART_LRU_2M);
	e.quirks = false;
	tree(8);
	for (uint32_t b = 0; b < 6; b += 2) {
		block_in(0, b, 1);
		access_page(0, 16 * b, false, 1);
	}
	EXPECT(0, 0, 16, 32, 48, 64, 80);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(e.queue[i].kind, SMART_INVALIDATE);
	assert_int_equal(e.entries, 0);
	/* one range of two blocks, the second of them written: the original asks the first (here the root) */
	for (uint32_t quirks = 0; quirks < 2; quirks++) {
		tbn_begin(8);
		e.quirks = quirks != 0;
		block_in(0, 1, 0);
		for (uint32_t b = 4; b < 8; b++)
			block_in(0, b, b);
		block_in(0, 0, 9);
		access_page(0, 0, false, 1);
		access_page(0, 16, !e.quirks, 1);
		EXPECT(0, 0, 32);
		assert_int_equal(e.queue[0].kind, e.quirks ? SMART_INVALIDATE : SMART_WRITEBACK);
		assert_int_equal(e.entries, 4);
	}
}

/* -- [uvmsmart: cancellation]: calling back -- */

/* SL, block 0 staged, access to its page 5 at cycle 9: queue empty, leaf back to 64 KB, entry at cycle 9. */
static void test_cancel(void **state)
{
	struct smart_range range;

	(void)state;
	begin(SMART_SL);
	tree(8);
	tree(1);
	block_in(0, 0, 1);
	EXPECT(0, 0, 16);
	assert_int_equal(e.entries, 0);
	assert_int_equal(uvmp_tree_leaf(&e.tree[0].fill, 0), 0);
	assert_int_equal(cancel(0, 16, 8).pages.end, 0);
	range = cancel(0, 5, 9);
	assert_int_equal(range.pages.first, 0);
	assert_int_equal(range.pages.end, 16);
	assert_int_equal(e.queued, 0);
	assert_int_equal(uvmp_tree_leaf(&e.tree[0].fill, 0), 16);
	assert_int_equal(e.entries, 1);
	expect_entry(0, 0, 0, 16, 9);
	assert_int_equal(uvmp_mask_weight(&e.tree[0].dirty), 16); /* [uvmsmart: cancel-dirties] */
	assert_true(uvmp_mask_is_empty(&e.tree[0].staged));
	/* not the first in the queue; [uvmsmart: cancel-dirties] mended */
	uvmp_mask_zero(&e.tree[0].dirty);
	e.quirks = false;
	block_in(0, 1, 10);
	block_in(1, 0, 1);
	EXPECT(1, 0, 16);
	EXPECT(0, 0, 16);
	EXPECT(0, 16, 32);
	assert_int_equal(smart_evict_cancel(&e, 0, 31, 11, NULL), UVMP_OK);
	assert_int_equal(e.queued, 2);
	assert_int_equal(uvmp_mask_weight(&e.tree[0].dirty), 0);
	assert_true(uvmp_mask_test(&e.tree[0].staged, 0) && !uvmp_mask_test(&e.tree[0].staged, 16));
	/* in flight: too late */
	assert_true(start().is_started);
	assert_int_equal(cancel(1, 0, 12).pages.end, 0);
	/* a set of staged pages without a range, as only a host could make it */
	uvmp_mask_set(&e.tree[1].staged, 3);
	assert_int_equal(cancel(1, 3, 12).pages.end, 0);
}

/* [uvmsmart: stale-list-units] mended: a page that was freed by the host does not come back
 * with its range. */
static void test_cancel_absent(void **state)
{
	(void)state;
	begin(SMART_SL);
	e.quirks = false;
	tree(2);
	block_in(0, 0, 1);
	EXPECT(0, 0, 16);
	uvmp_mask_clear(&e.tree[0].valid, 3);
	assert_int_equal(cancel(0, 5, 9).pages.end, 16);
	assert_int_equal(e.tree[0].fill.node[0], 15);
	assert_int_equal(e.entries, 1);
}

/* -- [uvmsmart: device-synchronisation] -- */

static void synchronise(bool quirks, uint32_t valid)
{
	begin(SMART_SL);
	e.quirks = quirks;
	tree(2);
	tree_in(0, 1);
	uvmp_mask_set(&e.tree[0].dirty, 7);
	EXPECT(0, 0, 16);
	assert_int_equal(smart_evict_synchronise(&e), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&e.tree[0].valid), valid);
	assert_true(uvmp_mask_is_empty(&e.tree[0].dirty));
	assert_int_equal(e.free, 4096);
	assert_int_equal(e.entries, 0);
	assert_int_equal(e.queued, quirks);
	assert_int_equal(uvmp_mask_weight(&e.tree[0].staged), quirks ? 16 : 0);
	assert_int_equal(smart_evict_leaving(&e), quirks ? 16 : 0);
	assert_int_equal(e.tree[0].fill.node[0], 0);
	/* [uvmsmart: clean-pages-uncounted]: now the write frees what was free already */
	assert_int_equal(start().is_started, quirks);
	assert_int_equal(e.free, quirks ? 4096 + 16 : 4096);
}

/* Without quirks nothing is left of a range whose pages come back: it is neither called back nor written. The
 * write that was on the wire ends. */
static void test_synchronise_mended(void **state)
{
	(void)state;
	begin(SMART_SL);
	e.quirks = false;
	tree(2);
	tree_in(0, 1);
	EXPECT(0, 0, 16);
	EXPECT(0, 16, 32);
	assert_true(start().is_started);
	assert_int_equal(smart_evict_synchronise(&e), UVMP_OK);
	assert_true(e.is_writing);
	assert_int_equal(e.free, 4096);
	page_in(0, 16, 2);
	assert_int_equal(cancel(0, 16, 3).pages.end, 0);
	assert_int_equal(e.tree[0].fill.node[0], 1);
	assert_int_equal(smart_evict_end(&e), UVMP_OK);
	assert_false(start().is_started);
	assert_true(uvmp_mask_test(&e.tree[0].valid, 16));
	assert_int_equal(e.free, 4095);
}

static void test_synchronise(void **state)
{
	struct uvmp_pressure pressure = {.total_pages = 4096, .quirks = true};

	(void)state;
	synchronise(false, 0);
	synchronise(true, 31);
	pressure.free_pages = e.free;
	assert_true(uvmp_pressure_is_over(&pressure));
}

/* -- [uvmsmart: remote-request] -- */

static void test_remote_waits_for_head(void **state)
{
	(void)state;
	assert_int_equal(smart_evict_read(16, 15, true, true), SMART_READ_NONE);
	assert_int_equal(smart_evict_read(16, 15, true, false), SMART_READ_REMOTE);
	assert_int_equal(smart_evict_read(16, 15, false, false), SMART_READ_NONE);
	assert_int_equal(smart_evict_read(16, 16, true, true), SMART_READ_REMOTE);
	assert_int_equal(smart_evict_read(16, 16, false, true), SMART_READ_HEAD);
	assert_int_equal(smart_evict_read(0, 0, true, true), SMART_READ_REMOTE);
}

/* -- [uvmsmart: stale-list-units]: a change of policy -- */

/* A full tree, LRU 2 MiB to TBNe: block 0 leaves, the list is empty, nothing leaves; block 5 is touched, and
 * leaves [uvmsmart: runtime-engine]. */
static void test_stale_units_to_smaller(void **state)
{
	(void)state;
	begin(SMART_LRU_2M);
	tree(32);
	tree_in(0, 1);
	assert_int_equal(smart_evict_switch(&e, SMART_TBN), UVMP_OK);
	EXPECT(0, 0, 16);
	assert_int_equal(e.entries, 0);
	EXPECT_NONE();
	assert_int_equal(smart_evict_touch(&e, 0, 80, 2), UVMP_OK);
	EXPECT(0, 80, 96);
}

/* A 64 KiB entry met by LRU 2 MiB: asked for itself, but the tree leaves; every page frees one. */
static void test_stale_units_to_larger(void **state)
{
	struct smart_write write;

	(void)state;
	begin(SMART_SL);
	tree(4);
	block_in(0, 1, 1);
	block_in(0, 2, 2);
	EXPECT(0, 16, 32);
	assert_int_equal(smart_evict_switch(&e, SMART_LRU_2M), UVMP_OK);
	EXPECT(0, 0, 64);
	assert_int_equal(e.entries, 0);
	/* block 1 is staged twice: called back once, it is still on its way out */
	assert_int_equal(cancel(0, 20, 3).pages.end, 32);
	assert_true(uvmp_mask_test(&e.tree[0].staged, 20));
	write = start();
	assert_int_equal(write.clean, 48);
	assert_int_equal(write.dirty, 16); /* [uvmsmart: cancel-dirties] */
	assert_int_equal(e.free, 4096 - 32 + 64);
}

/* For each page of a range one entry leaves: page 0 takes itself, page 1 the block that holds it too. */
static void test_overlapping_entries(void **state)
{
	(void)state;
	begin(SMART_LRU_4K);
	tree(4);
	page_in(0, 0, 1);
	page_in(0, 16, 9);
	e.evictor = SMART_SL;
	for (uint32_t p = 1; p < 16; p++)
		page_in(0, p, 2);
	assert_int_equal(e.entries, 3);
	EXPECT(0, 0, 16);
	assert_int_equal(e.entries, 1);
	expect_entry(0, 0, 16, 1, 9);
}

static void test_rebuilt_list(void **state)
{
	(void)state;
	begin(SMART_LRU_2M);
	e.quirks = false;
	tree(4);
	tree(2);
	tree_in(1, 1);
	block_in(0, 0, 2);
	page_in(0, 40, 3);
	assert_int_equal(smart_evict_switch(&e, SMART_SL), UVMP_OK);
	assert_int_equal(e.entries, 4);
	expect_entry(0, 0, 0, 16, 3);
	expect_entry(1, 0, 32, 16, 3);
	expect_entry(2, 1, 0, 16, 1);
	expect_entry(3, 1, 16, 16, 1);
	e.entry[3].cycle = 5;
	assert_int_equal(smart_evict_switch(&e, SMART_LFU_2M), UVMP_OK);
	assert_int_equal(e.entries, 2);
	expect_entry(0, 0, 0, 64, 3);
	expect_entry(1, 1, 0, 32, 5);
	/* entries that overlap, because quirks were on when they were made: the larger one speaks for all */
	e.quirks = true;
	assert_int_equal(smart_evict_switch(&e, SMART_LRU_4K), UVMP_OK);
	e.entry[e.entries++] = (struct smart_entry){.cycle = 9, .tree = 1, .first = 2, .pages = 1};
	e.quirks = false;
	assert_int_equal(smart_evict_switch(&e, SMART_SL), UVMP_OK);
	assert_int_equal(e.entries, 4);
	expect_entry(2, 1, 0, 16, 5);
	expect_entry(3, 1, 16, 16, 5);
}

/* What waits to be written has no entry, and a rebuilt list gives it none. */
static void test_rebuilt_list_staged(void **state)
{
	(void)state;
	begin(SMART_SL);
	e.quirks = false;
	tree(4);
	block_in(0, 0, 1);
	block_in(0, 1, 2);
	EXPECT(0, 0, 16);
	assert_int_equal(smart_evict_switch(&e, SMART_LRU_2M), UVMP_OK);
	assert_int_equal(smart_evict_switch(&e, SMART_SL), UVMP_OK);
	assert_int_equal(e.entries, 1);
	expect_entry(0, 0, 16, 16, 2);
	assert_int_equal(cancel(0, 0, 5).pages.end, 16);
	assert_int_equal(e.entries, 2);
}

/* [uvmsmart: user-prefetch-bypasses-tree]: what came by user prefetch is resident, but the tree does not
 * know it; its neighbours leave alone. */
static void test_user_prefetch_bypasses_tree(void **state)
{
	(void)state;
	tbn_begin(2);
	block_in(0, 0, 1);
	for (uint32_t p = 16; p < 32; p++)
		assert_int_equal(smart_evict_arrive(&e, 0, p, 2), UVMP_OK);
	EXPECT(0, 0, 16);
	assert_int_equal(e.tree[0].fill.node[0], 0);
	EXPECT(0, 16, 32);
	assert_int_equal(e.tree[0].fill.node[0], 0);
}

/* -- state and refusals -- */

static void test_size(void **state)
{
	uint64_t most = ((uint64_t)sizeof(struct smart_tree) + 4) * SMART_TREES_MAX +
	                ((uint64_t)2 * sizeof(struct smart_entry) + sizeof(struct smart_range) + 4) *
	                        SMART_PAGES_MAX +
	                SMART_PAGES_MAX / 16 * 4;

	(void)state;
	assert_int_equal(smart_evict_size(0, 1), 0);
	assert_int_equal(smart_evict_size(1, 0), 0);
	assert_int_equal(smart_evict_size(SMART_TREES_MAX + 1, 1), 0);
	assert_int_equal(smart_evict_size(1, SMART_PAGES_MAX + 1), 0);
	assert_int_not_equal(smart_evict_size(SMART_TREES_MAX, 1), 0);
	assert_int_equal(smart_evict_size(SMART_TREES_MAX, SMART_PAGES_MAX),
	                 most <= SIZE_MAX ? most : 0); /* a size_t of 32 bits cannot say it */
	assert_int_equal(smart_evict_size(3, 37),
	                 3 * sizeof(struct smart_tree) + 74 * sizeof(struct smart_entry) +
	                         37 * sizeof(struct smart_range) + (3 + 37 + 2) * sizeof(uint32_t));
}

static void test_init(void **state)
{
	struct smart_evict x, blank;
	size_t size = smart_evict_size(2, 48);

	(void)state;
	memset(&x, 0x5a, sizeof(x));
	blank = x;
	assert_int_equal(smart_evict_init(NULL, SMART_SL, 1, 2, 48, memory, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_init(&x, SMART_SL, 1, 2, 48, NULL, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_init(&x, SMART_SL, 1, 2, 48, memory + 4, size), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_init(&x, SMART_EVICTORS, 1, 2, 48, memory, size), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_init(&x, SMART_SL, 1, 0, 48, memory, size), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_init(&x, SMART_SL, 1, 2, 48, memory, size - 1), UVMP_ERR_SPACE);
	assert_memory_equal(&x, &blank, sizeof(x));
	assert_int_equal(smart_evict_init(&x, SMART_SL, 1, 2, 48, memory, size), UVMP_OK);
	assert_true(smart_evict_is_valid(&x));
	assert_int_equal(smart_evict_add_tree(&x, 3), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_add_tree(&x, 4), UVMP_ERR_SPACE);
	assert_int_equal(smart_evict_add_tree(&x, 1), UVMP_OK);
	assert_int_equal(smart_evict_add_tree(&x, 1), UVMP_OK);
	assert_int_equal(smart_evict_add_tree(&x, 1), UVMP_ERR_SPACE);
	assert_int_equal(x.pages, 32);
	/* memory */
	assert_int_equal(smart_evict_arrive(&x, 0, 3, 1), UVMP_OK);
	assert_int_equal(smart_evict_arrive(&x, 0, 4, 1), UVMP_ERR_NO_MEMORY);
	assert_int_equal(x.entries, 1);
}

static void assert_refused(struct smart_evict *bad)
{
	struct smart_range range;
	struct smart_write write;

	assert_false(smart_evict_is_valid(bad));
	assert_int_equal(smart_evict_add_tree(bad, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_switch(bad, SMART_SL), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_touch(bad, 0, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_arrive(bad, 0, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_order(bad), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_select(bad, NULL, &choice), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_leaving(bad), 0);
	assert_int_equal(smart_evict_start(bad, &write), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_end(bad), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_cancel(bad, 0, 0, 0, &range), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_synchronise(bad), UVMP_ERR_ARGUMENT);
}

static void test_refusals(void **state)
{
	struct smart_evict bad;

	(void)state;
	begin(SMART_SL);
	tree(2);
	assert_refused(NULL);
	bad = e, bad.evictor = SMART_EVICTORS, assert_refused(&bad);
	bad = e, bad.reserve_percent = 101, assert_refused(&bad);
	bad = e, bad.tree = NULL, assert_refused(&bad);
	bad = e, bad.entry = NULL, assert_refused(&bad);
	bad = e, bad.scratch = NULL, assert_refused(&bad);
	bad = e, bad.queue = NULL, assert_refused(&bad);
	bad = e, bad.index = NULL, assert_refused(&bad);
	bad = e, bad.trees = TREES + 1, assert_refused(&bad);
	bad = e, bad.pages = PAGES + 1, assert_refused(&bad);
	bad = e, bad.entries = 33, assert_refused(&bad);
	bad = e, bad.queued = 33, assert_refused(&bad);
	assert_int_equal(smart_evict_switch(&e, SMART_EVICTORS), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_touch(&e, 1, 0, 0), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_touch(&e, 0, 32, 0), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_arrive(&e, 0, 32, 0), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_cancel(&e, 0, 32, 0, NULL), UVMP_ERR_RANGE);
	assert_int_equal(smart_evict_select(&e, NULL, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(smart_evict_start(&e, NULL), UVMP_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_units),
	        cmocka_unit_test(test_group_order),
	        cmocka_unit_test(test_newest),
	        cmocka_unit_test(test_lfu_order),
	        cmocka_unit_test(test_without_counters),
	        cmocka_unit_test(test_incomplete_tree_stays),
	        cmocka_unit_test(test_pinned_and_staged),
	        cmocka_unit_test(test_reserve),
	        cmocka_unit_test(test_reserve_is_a_float),
	        cmocka_unit_test(test_lru4k),
	        cmocka_unit_test(test_random4k),
	        cmocka_unit_test(test_tbn),
	        cmocka_unit_test(test_write),
	        cmocka_unit_test(test_root_marks_only),
	        cmocka_unit_test(test_kind_of_runs),
	        cmocka_unit_test(test_cancel),
	        cmocka_unit_test(test_cancel_absent),
	        cmocka_unit_test(test_synchronise),
	        cmocka_unit_test(test_synchronise_mended),
	        cmocka_unit_test(test_remote_waits_for_head),
	        cmocka_unit_test(test_stale_units_to_smaller),
	        cmocka_unit_test(test_stale_units_to_larger),
	        cmocka_unit_test(test_overlapping_entries),
	        cmocka_unit_test(test_rebuilt_list),
	        cmocka_unit_test(test_rebuilt_list_staged),
	        cmocka_unit_test(test_user_prefetch_bypasses_tree),
	        cmocka_unit_test(test_size),
	        cmocka_unit_test(test_init),
	        cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("UVM Smart eviction", tests, NULL, NULL);
}
