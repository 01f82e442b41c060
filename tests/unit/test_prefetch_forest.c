/* Access-aware trees: classes from accesses, leaves and nodes of each class, the neighbour block; worked by hand from the
 * words at the top of prefetch_forest.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_case.h"

static struct prefetch_case c;
static struct forest_range *range;
static struct forest_block block;

static void prepare(uint32_t pages)
{
	prefetch_case_init(&c, UVMP_PREFETCH_FOREST, pages);
	block = (struct forest_block){.window = 0};
	range = (struct forest_range *)(void *)&c.range;
	c.state.block = &block;
}

static void become(enum forest_class class)
{
	range->class = (uint8_t)class;
	block.class = class;
}

static void decide(const char *faulted, const char *pages)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(prefetch_case_decide(&c, faulted), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
}

/* -- trees -- */

static void test_leaves(void **state)
{
	(void)state;
	prepare(512);
	decide("20", "16-19,21-31");
	become(FOREST_DENSE);
	decide("20", "16-19,21-31");
	become(FOREST_SPARSE);
	decide("20,22,500", "21,23,501-503");
	become(FOREST_LINEAR);
	decide("70", "64-69,71-127");
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

/* The third of four leaves brings the fourth; half is not enough; what fills one node may fill the next. */
static void test_nodes(void **state)
{
	(void)state;
	prepare(512);
	c.resident = page_text("0-15");
	decide("16", "17-31");
	c.resident = page_text("0-31");
	decide("32", "33-63");
	c.resident = page_text("0-31,64-95");
	decide("32", "33-63,96-127");
	c.resident = page_text("0-255");
	c.pending = page_text("256-271");
	decide("272", "273-511");
	become(FOREST_DENSE); /* trees of 512 KiB */
	decide("272", "273-287");
	c.pending = page_text("256-287");
	decide("288", "289-319");
	c.pending = page_text("256-319");
	decide("320", "321-383");
	become(FOREST_SPARSE);
	c.resident = page_text("0-7");
	c.pending = page_text("-");
	decide("8", "9-15");
}

/* Blocks that begin within a leaf, and end within one. */
static void test_cut(void **state)
{
	(void)state;
	prepare(30);
	assert_int_equal(uvmp_block_from_shape(30, 10, 16, &c.facts.block), UVMP_OK);
	decide("3", "0-2,4-5");
	decide("25", "22-24,26-29");
	c.resident = page_text("0-5");
	decide("6", "7-29"); /* two leaves of 6 and 16 pages, then 22 of the 30 pages of the block */
}

/* Pages of 64 KiB: leaves of one page, of four in linear ranges. */
static void test_large_pages(void **state)
{
	(void)state;
	prepare(32);
	c.facts.block.last = 0x1fffff;
	c.facts.block.big_pages = 1;
	decide("5", "-");
	become(FOREST_SPARSE);
	decide("5", "-");
	become(FOREST_LINEAR);
	decide("5", "4,6-7");
}

/* Leaves that grew are filled with the next fault; leaves that shrank are not. */
static void test_change(void **state)
{
	(void)state;
	prepare(512);
	c.resident = page_text("0-3,200");
	range->class = FOREST_LINEAR;
	decide("400", "4-63,192-199,201-255,384-399,401-447");
	c.resident = page_text("0-3");
	decide("400", "384-399,401-447");
	range->class = FOREST_SPARSE;
	decide("400", "401-403");
	c.state.block = NULL; /* the arena is full */
	range->class = FOREST_LINEAR;
	decide("400", "384-399,401-447");
}

/* -- the tree of 4 MiB -- */

static void test_neighbour(void **state)
{
	(void)state;
	prepare(512);
	become(FOREST_LINEAR);
	c.facts.range_first = 512;
	c.facts.range_pages = 2048;
	c.facts.neighbour_pages = 512;
	c.facts.neighbour_present = 448;
	decide("0", "1-63"); /* half */
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
	c.facts.neighbour_present = 449;
	decide("0", "1-511");
	assert_true(c.hint.follow == 1024);
	c.facts.neighbour_present = 512;
	decide("0", "1-511");
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
	c.facts.block.start += 0x200000;
	c.facts.block.last += 0x200000;
	c.facts.neighbour_present = 511;
	decide("0", "1-511");
	assert_true(c.hint.follow == 0); /* before this block */
	become(FOREST_BASE);
	decide("0", "1-15");
	c.facts.is_follow = true;
	c.resident = page_text("7-511");
	decide("-", "0-6");
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

/* For the CPU, and where the pages prefer another processor, as density; thrashing pages stay. */
static void test_driver(void **state)
{
	uvmp_mask thrashing = page_text("3");

	(void)state;
	prepare(512);
	become(FOREST_LINEAR);
	c.facts.to = UVMP_CPU;
	decide("20", "16-19,21-31");
	assert_int_equal(c.state.faults, 1);
	c.facts.to = 1;
	c.facts.has_preferred = true;
	c.facts.preferred = 2;
	decide("20", "-");
	c.facts.preferred = 1;
	c.facts.thrashing = &thrashing;
	decide("20", "0-2,4-19,21-63");
}

/* -- classes -- */

/* Range of 512 pages, all of it one block. */
static void touch(uint32_t page)
{
	struct uvmp_prefetch_touch at = {page, c.facts.range_pages, page % 512u, range->kernel};

	assert_int_equal(uvmp_prefetch_touched(&c.params, &at, &c.state), UVMP_OK);
}

static void touch_many(uint32_t count, uint32_t first, uint32_t factor, uint32_t modulo)
{
	for (uint32_t i = 0; i < count; i++)
		touch((first + i * factor) % modulo);
}

static void expect(enum forest_class class, uint32_t pages, uint32_t first, uint32_t factor, uint32_t modulo)
{
	prepare(512);
	c.params.forest_window = 400;
	touch_many(399, first, factor, modulo);
	assert_int_equal(range->class, FOREST_BASE);
	assert_int_equal(range->pages, pages - (pages == 400));
	touch_many(1, first + 399u * factor, factor, modulo);
	assert_int_equal(range->class, class);
	assert_int_equal(range->is_settled, class != FOREST_BASE);
}

static void test_classes(void **state)
{
	(void)state;
	expect(FOREST_LINEAR, 400, 0, 1, 512);
	expect(FOREST_LINEAR, 400, 511, 511, 512); /* descending */
	expect(FOREST_LINEAR, 200, 0, 1, 200);	   /* the last pass counts */
	expect(FOREST_LINEAR, 200, 0, 2, 400);	   /* stride 2 */
	expect(FOREST_DENSE, 400, 0, 197, 512);
	expect(FOREST_SPARSE, 10, 0, 147, 490); /* 10 pages of 49, out of order */
	expect(FOREST_BASE, 128, 0, 45, 128);	/* a quarter, out of order */
	expect(FOREST_BASE, 1, 7, 0, 512);
}

/* A window of 16 accesses of which only the last four count. */
static void touch_last(const uint32_t page[4])
{
	c.params.forest_window = 16;
	for (uint32_t i = 0; i < 16; i++)
		touch(page[i < 12 ? 0 : i - 12]);
}

/* R^2 at its limit: times 1 3 2 4 over pages 0..3 have 16 / 25 = 64 %, which is not above 64. */
static void test_linear_limit(void **state)
{
	static const uint32_t page[4] = {0, 2, 1, 3};

	(void)state;
	for (uint32_t percent = 63; percent <= 64; percent++) {
		prepare(4);
		c.params.forest_linear = percent;
		touch_last(page);
		assert_int_equal(range->class, percent == 63 ? FOREST_LINEAR : FOREST_DENSE);
	}
}

/* Pages 2 to 7 are 60 percent of 10, and 4 pages 40 percent: both limits are reached. */
static void test_other_limits(void **state)
{
	static const uint32_t page[4] = {2, 7, 3, 4};

	(void)state;
	prepare(10);
	touch_last(page);
	assert_int_equal(range->class, FOREST_DENSE);
	prepare(10);
	c.params.forest_intensity = 41;
	touch_last(page);
	assert_int_equal(range->class, FOREST_SPARSE);
	prepare(10);
	c.params.forest_coverage = 61;
	touch_last(page);
	assert_int_equal(range->class, FOREST_BASE);
}

/* The largest sums: 65,535 accesses to a range of 2^20 blocks; the blocks hold their times. */
static void test_large(void **state)
{
	static struct forest_block blocks[128];
	uint64_t pages = (uint64_t)1 << 29;

	(void)state;
	prepare(512);
	c.params.forest_window = 65535;
	for (uint32_t i = 0; i < 65535; i++) {
		struct uvmp_prefetch_touch at = {pages - 65536u + i, pages, i % 512u, 0};

		c.state.block = &blocks[i / 512u];
		assert_int_equal(uvmp_prefetch_touched(&c.params, &at, &c.state), UVMP_OK);
	}
	assert_int_equal(range->pages, 65535);
	assert_int_equal(range->rounds, 1); /* narrow; the positions differ in 8 values, but rise */
	assert_int_equal(range->class, FOREST_LINEAR);
}

/* Windows without a class end the observation, and a kernel begins it again; the class stays. */
static void test_kernels(void **state)
{
	(void)state;
	prepare(512);
	c.params.forest_window = 16;
	c.params.forest_rounds = 2;
	touch_many(16, 3, 0, 512);
	assert_int_equal(range->window, 2);
	assert_false(range->is_settled);
	touch_many(16, 3, 0, 512);
	assert_true(range->is_settled);
	touch_many(16, 0, 1, 512);
	assert_int_equal(range->class, FOREST_BASE);
	for (uint32_t i = 0; i < 16; i++) {
		struct uvmp_prefetch_touch at = {i, 512, i, 1};

		assert_int_equal(uvmp_prefetch_touched(&c.params, &at, &c.state), UVMP_OK);
	}
	assert_int_equal(range->class, FOREST_LINEAR);
	range->kernel = 2;
	range->is_settled = false;
	c.state.block = NULL; /* only the number of accesses is known */
	range->time = range->pages = 0;
	range->x = range->y = range->xx = range->yy = range->xy = 0;
	touch_many(16, 0, 1, 512);
	assert_int_equal(range->pages, 0);
	assert_int_equal(range->class, FOREST_BASE); /* the second window without a class */
}

static enum uvmp_status touched(uint64_t range_page, uint32_t page)
{
	struct uvmp_prefetch_touch at = {range_page, 512, page, 0};

	return uvmp_prefetch_touched(&c.params, &at, &c.state);
}

/* uvmp_prefetch_touched refuses what is missing or out of range, and has no effect on other prefetchers. */
static void test_touched(void **state)
{
	struct uvmp_prefetch_touch at = {0, 1, 0, 0};

	(void)state;
	prepare(512);
	assert_int_equal(touched(511, 511), UVMP_OK);
	assert_int_equal(range->time, 1);
	assert_int_equal(touched(512, 511), UVMP_ERR_RANGE);
	assert_int_equal(touched(511, 512), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_prefetch_touched(NULL, &at, &c.state), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_touched(&c.params, NULL, &c.state), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_touched(&c.params, &at, NULL), UVMP_ERR_ARGUMENT);
	c.params.forest_window = 15;
	assert_int_equal(touched(0, 0), UVMP_ERR_ARGUMENT);
	c.params.forest_window = 16;
	c.params.prefetcher = UVMP_PREFETCH_DENSITY;
	assert_int_equal(touched(0, 0), UVMP_OK);
	assert_int_equal(range->time, 1);
	c.params.prefetcher = UVMP_PREFETCH_FOREST;
	c.state.range = NULL;
	assert_int_equal(touched(0, 0), UVMP_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_leaves),
	        cmocka_unit_test(test_nodes),
	        cmocka_unit_test(test_cut),
	        cmocka_unit_test(test_large_pages),
	        cmocka_unit_test(test_change),
	        cmocka_unit_test(test_neighbour),
	        cmocka_unit_test(test_driver),
	        cmocka_unit_test(test_classes),
	        cmocka_unit_test(test_linear_limit),
	        cmocka_unit_test(test_other_limits),
	        cmocka_unit_test(test_large),
	        cmocka_unit_test(test_kernels),
	        cmocka_unit_test(test_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
