/* geometry.h: worked examples of the specifications ([driver: block-geometry, root-chunks],
 * [uvmsmart: allocation-rounding, trees]), edges and bad input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "uvmpolicy/geometry.h"

#define KIB          1024u
#define MIB          (1024u * 1024u)
#define REGION(a, b) ((struct uvmp_region){(a), (b)})

static void assert_region(struct uvmp_region r, uint32_t first, uint32_t end)
{
	assert_int_equal(r.first, first);
	assert_int_equal(r.end, end);
}

static struct uvmp_geometry geometry_of(uint32_t page, uint32_t big, uint32_t block)
{
	struct uvmp_geometry g;

	assert_int_equal(uvmp_geometry_init(&g, page, big, block), UVMP_OK);
	assert_true(uvmp_geometry_is_valid(&g));
	return g;
}

static struct uvmp_geometry driver(void)
{
	return geometry_of(4 * KIB, 64 * KIB, 2 * MIB);
}

static struct uvmp_block block_of(uint32_t pages, uint32_t offset, uint32_t big_pages)
{
	struct uvmp_block b;

	assert_int_equal(uvmp_block_from_shape(pages, offset, big_pages, &b), UVMP_OK);
	assert_true(uvmp_block_is_valid(&b));
	return b;
}

/* -- page sizes -- */

static void test_geometries_of_known_hosts(void **state)
{
	(void)state;
	geometry_of(4 * KIB, 64 * KIB, 2 * MIB);
	geometry_of(64 * KIB, 64 * KIB, 2 * MIB);
	geometry_of(16 * KIB, 64 * KIB, 2 * MIB);
	geometry_of(64 * KIB, 64 * KIB, 32 * MIB);
	geometry_of(4 * KIB, 4 * KIB, 4 * KIB);
}

static void test_geometry_refuses(void **state)
{
	static const uint32_t bad[][3] = {
	        {0, 64 * KIB, 2 * MIB},
	        {8 * KIB, 64 * KIB, 2 * MIB},
	        {4095, 64 * KIB, 2 * MIB},
	        {128 * KIB, 128 * KIB, 2 * MIB},
	        {4 * KIB, 0, 2 * MIB},
	        {4 * KIB, 48 * KIB, 2 * MIB},
	        {4 * KIB, 64 * KIB, 0},
	        {4 * KIB, 64 * KIB, 3 * MIB},
	        {64 * KIB, 4 * KIB, 2 * MIB},
	        {4 * KIB, 2 * MIB, 64 * KIB},
	        {4 * KIB, 64 * KIB, 4 * MIB},
	        {64 * KIB, 64 * KIB, 64 * MIB},
	        {4 * KIB, 64 * KIB, 0x80000000u},
	};
	struct uvmp_geometry g = {1, 2, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uvmp_geometry_init(&g, bad[i][0], bad[i][1], bad[i][2]), UVMP_ERR_RANGE);
	assert_int_equal(g.page_bytes, 1);
	assert_int_equal(g.big_page_bytes, 2);
	assert_int_equal(g.block_bytes, 3);
	assert_false(uvmp_geometry_is_valid(&g));
	assert_false(uvmp_geometry_is_valid(NULL));
	assert_int_equal(uvmp_geometry_init(NULL, 4 * KIB, 64 * KIB, 2 * MIB), UVMP_ERR_ARGUMENT);
}

/* -- blocks of a range [driver: block-geometry] -- */

static void test_range_is_cut_at_absolute_boundaries(void **state)
{
	/* From 1 MiB + 20 KiB to 5 MiB: the rest of one window, a whole one, the beginning of a third. */
	const uvmp_addr start = 0x105000, end = 0x4fffff;
	struct uvmp_geometry g = driver();
	struct uvmp_block b;

	(void)state;
	assert_int_equal(uvmp_geometry_block_count(&g, start, end), 3);
	assert_int_equal(uvmp_geometry_block(&g, start, end, 0, &b), UVMP_OK);
	assert_int_equal(b.start, 0x105000);
	assert_int_equal(b.last, 0x1fffff);
	assert_int_equal(b.pages, 251);
	assert_int_equal(b.offset, 5);
	assert_int_equal(b.big_pages, 16);
	assert_int_equal(uvmp_geometry_block(&g, start, end, 1, &b), UVMP_OK);
	assert_int_equal(b.start, 0x200000);
	assert_int_equal(b.last, 0x3fffff);
	assert_int_equal(b.pages, 512);
	assert_int_equal(b.offset, 0);
	assert_int_equal(uvmp_geometry_block(&g, start, end, 2, &b), UVMP_OK);
	assert_int_equal(b.start, 0x400000);
	assert_int_equal(b.last, 0x4fffff);
	assert_int_equal(b.pages, 256);
	assert_true(uvmp_block_is_valid(&b));

	assert_int_equal(uvmp_geometry_block_index(&g, start, start), 0);
	assert_int_equal(uvmp_geometry_block_index(&g, start, 0x1fffff), 0);
	assert_int_equal(uvmp_geometry_block_index(&g, start, 0x200000), 1);
	assert_int_equal(uvmp_geometry_block_index(&g, start, end), 2);
}

static void test_two_ranges_share_a_window(void **state)
{
	struct uvmp_geometry g = driver();
	struct uvmp_block a, b;

	(void)state;
	assert_int_equal(uvmp_geometry_block(&g, 0x200000, 0x2fffff, 0, &a), UVMP_OK);
	assert_int_equal(uvmp_geometry_block(&g, 0x300000, 0x3fffff, 0, &b), UVMP_OK);
	assert_int_equal(a.pages, 256);
	assert_int_equal(b.pages, 256);
	assert_int_equal(a.last + 1, b.start);
}

static void test_range_up_to_the_last_byte(void **state)
{
	struct uvmp_geometry g = driver();
	struct uvmp_block b;

	(void)state;
	assert_int_equal(uvmp_geometry_block_count(&g, UINT64_MAX - 4095, UINT64_MAX), 1);
	assert_int_equal(uvmp_geometry_block(&g, UINT64_MAX - 4095, UINT64_MAX, 0, &b), UVMP_OK);
	assert_true(b.last == UINT64_MAX);
	assert_int_equal(b.pages, 1);
	assert_int_equal(b.offset, 15);
	assert_true(uvmp_block_is_valid(&b));
	assert_true(uvmp_geometry_block_count(&g, 0, UINT64_MAX) == (uint64_t)1 << 43);
}

static void test_larger_pages(void **state)
{
	struct uvmp_geometry g = geometry_of(64 * KIB, 64 * KIB, 2 * MIB);
	struct uvmp_block b;

	(void)state;
	assert_int_equal(uvmp_geometry_block(&g, 0x210000, 0x3fffff, 0, &b), UVMP_OK);
	assert_int_equal(b.pages, 31);
	assert_int_equal(b.offset, 0);
	assert_int_equal(b.big_pages, 1);
	assert_true(uvmp_block_is_valid(&b));
	g = geometry_of(16 * KIB, 64 * KIB, 2 * MIB);
	assert_int_equal(uvmp_geometry_block(&g, 0x20c000, 0x3fffff, 0, &b), UVMP_OK);
	assert_int_equal(b.pages, 125);
	assert_int_equal(b.offset, 3);
	assert_int_equal(b.big_pages, 4);
	assert_true(uvmp_block_is_valid(&b));
}

static void test_bad_ranges(void **state)
{
	struct uvmp_geometry g = driver(), bad = {4096, 65536, 12345};
	struct uvmp_block b, untouched;

	(void)state;
	memset(&b, 0x5a, sizeof(b));
	untouched = b;
	assert_int_equal(uvmp_geometry_block_count(NULL, 0, 4095), 0);
	assert_int_equal(uvmp_geometry_block_count(&bad, 0, 4095), 0);
	assert_int_equal(uvmp_geometry_block_count(&g, 8192, 4095), 0);
	assert_int_equal(uvmp_geometry_block_count(&g, 1, 4095), 0);
	assert_int_equal(uvmp_geometry_block_count(&g, 0, 4096), 0);
	assert_true(uvmp_geometry_block_index(NULL, 0, 0) == UINT64_MAX);
	assert_true(uvmp_geometry_block_index(&bad, 0, 0) == UINT64_MAX);
	assert_true(uvmp_geometry_block_index(&g, 4096, 4095) == UINT64_MAX);
	assert_int_equal(uvmp_geometry_block(NULL, 0, 4095, 0, &b), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_geometry_block(&bad, 0, 4095, 0, &b), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_geometry_block(&g, 0, 4095, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_geometry_block(&g, 0, 4095, 1, &b), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_geometry_block(&g, 0, 4095, UINT64_MAX, &b), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_geometry_block(&g, 8192, 4095, 0, &b), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_geometry_block(&g, 0, 4096, 0, &b), UVMP_ERR_RANGE);
	assert_memory_equal(&b, &untouched, sizeof(b));
}

/* -- blocks by shape -- */

static void test_block_from_shape(void **state)
{
	struct uvmp_block b = block_of(507, 5, 16);

	(void)state;
	assert_int_equal(b.start, 5 * 4096);
	assert_int_equal(b.last, 512 * 4096 - 1);
	assert_int_equal(b.pages, 507);
	assert_int_equal(b.offset, 5);
	assert_int_equal(b.big_pages, 16);
	block_of(1, 0, 1);
	block_of(512, 0, 512);
	block_of(1, 511, 512);
}

static void test_impossible_shapes(void **state)
{
	static const uint32_t bad[][3] = {{0, 0, 16},    {513, 0, 16}, {1, 16, 16},
	                                  {500, 15, 16}, {1, 0, 0},    {1, 0, 3},
	                                  {1, 0, 1024},  {512, 1, 2},  {UINT32_MAX, 5, 16}};
	struct uvmp_block b, untouched;

	(void)state;
	memset(&b, 0x5a, sizeof(b));
	untouched = b;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uvmp_block_from_shape(bad[i][0], bad[i][1], bad[i][2], &b), UVMP_ERR_RANGE);
	assert_memory_equal(&b, &untouched, sizeof(b));
	assert_int_equal(uvmp_block_from_shape(1, 0, 16, NULL), UVMP_ERR_ARGUMENT);
}

static void test_block_is_valid(void **state)
{
	const struct uvmp_block good = block_of(100, 3, 16);
	struct uvmp_block b;

	(void)state;
	assert_false(uvmp_block_is_valid(NULL));
	b = good;
	b.pages = 0;
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.pages = 99; /* not what lies between start and end */
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.offset = 4; /* not where start is */
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.start += 1024; /* right length, but between pages */
	b.last += 1024;
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.start = (uvmp_addr)0 - 13 * 4096; /* right length modulo 2^64, but reversed */
	b.last = b.start + 100 * 4096 - 1;
	assert_true(b.last < b.start);
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.start += 16 * 4096; /* elsewhere, equally far behind a boundary */
	b.last += 16 * 4096;
	assert_true(uvmp_block_is_valid(&b));
}

/* A whole block of 2 MiB with big pages of 64 KiB, and one field of it wrong. */
static void test_whole_block_is_valid(void **state)
{
	const struct uvmp_block good = block_of(512, 0, 16);
	struct uvmp_block b;

	(void)state;
	b = good;
	assert_true(uvmp_block_is_valid(&b));
	b.big_pages = 32; /* start is at a boundary of 128 KiB, too */
	assert_true(uvmp_block_is_valid(&b));
	b = good;
	b.offset = 1;
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.last += 4096;
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.start += 4096; /* not at a big page */
	b.last += 4096;
	assert_false(uvmp_block_is_valid(&b));
	b = good;
	b.start = (uvmp_addr)0 - 16 * 4096; /* right length modulo 2^64, but reversed */
	b.last = b.start + 512 * 4096 - 1;
	assert_false(uvmp_block_is_valid(&b));
}

/* -- big pages [driver: block-geometry] -- */

static void test_big_pages_inside(void **state)
{
	struct uvmp_block full = block_of(512, 0, 16), shifted = block_of(507, 5, 16),
	                  tiny = block_of(20, 3, 16), one = block_of(40, 0, 1), within = block_of(3, 5, 16);

	(void)state;
	assert_region(uvmp_block_big_pages(&full, REGION(0, 512)), 0, 512);
	assert_region(uvmp_block_big_pages(&full, REGION(0, 100000)), 0, 512);
	assert_region(uvmp_block_big_pages(&full, REGION(1, 511)), 16, 496);
	assert_region(uvmp_block_big_pages(&full, REGION(1, 31)), 0, 0);
	assert_region(uvmp_block_big_pages(&full, REGION(16, 32)), 16, 32);
	assert_region(uvmp_block_big_pages(&full, REGION(32, 16)), 0, 0);
	assert_region(uvmp_block_big_pages(&full, REGION(600, 700)), 0, 0);
	/* The first boundary lies 11 pages into a block that starts 5 pages behind one. */
	assert_region(uvmp_block_big_pages(&shifted, REGION(0, 507)), 11, 507);
	assert_region(uvmp_block_big_pages(&shifted, REGION(12, 507)), 27, 507);
	assert_region(uvmp_block_big_pages(&shifted, REGION(0, 506)), 11, 491);
	/* 20 pages from page 3 on hold no whole big page. */
	assert_region(uvmp_block_big_pages(&tiny, REGION(0, 20)), 0, 0);
	/* A block inside one big page. */
	assert_region(uvmp_block_big_pages(&within, REGION(0, 3)), 0, 0);
	/* 64 KiB pages: every page is a big page. */
	assert_region(uvmp_block_big_pages(&one, REGION(7, 9)), 7, 9);
}

static void test_big_pages_of_nothing(void **state)
{
	struct uvmp_block b = {0};

	(void)state;
	assert_region(uvmp_block_big_pages(NULL, REGION(0, 512)), 0, 0);
	assert_region(uvmp_block_big_pages(&b, REGION(0, 512)), 0, 0);
}

/* -- chunks [driver: root-chunks] -- */

static void test_whole_block_is_one_chunk(void **state)
{
	struct uvmp_block full = block_of(512, 0, 16), almost = block_of(511, 0, 16);
	struct uvmp_geometry g = geometry_of(64 * KIB, 64 * KIB, 2 * MIB);
	struct uvmp_block b;

	(void)state;
	assert_region(uvmp_block_chunk(&full, 0), 0, 512);
	assert_region(uvmp_block_chunk(&full, 511), 0, 512);
	assert_region(uvmp_block_chunk(&almost, 0), 0, 16);
	assert_region(uvmp_block_chunk(&almost, 495), 480, 496);
	assert_region(uvmp_block_chunk(&almost, 496), 496, 497);
	assert_int_equal(uvmp_geometry_block(&g, 0x200000, 0x3fffff, 0, &b), UVMP_OK);
	assert_region(uvmp_block_chunk(&b, 31), 0, 32);
}

/* [driver: root-chunks]: 507 pages that start 5 pages behind a 64 KiB boundary are 11 pages and 31 big
 * pages. */
static void test_chunks_of_507_pages(void **state)
{
	struct uvmp_block b = block_of(507, 5, 16);
	uint32_t small = 0, big = 0;

	(void)state;
	for (uint32_t page = 0; page < b.pages;) {
		struct uvmp_region chunk = uvmp_block_chunk(&b, page);

		assert_int_equal(chunk.first, page);
		small += uvmp_region_pages(chunk) == 1;
		big += uvmp_region_pages(chunk) == 16;
		page = chunk.end;
	}
	assert_int_equal(small, 11);
	assert_int_equal(big, 31);
	assert_region(uvmp_block_chunk(&b, 10), 10, 11);
	assert_region(uvmp_block_chunk(&b, 26), 11, 27);
}

static void test_two_mib_across_windows_is_no_root_chunk(void **state)
{
	/* With blocks of 32 MiB a block can hold 2 MiB and start in the middle of a 2 MiB window. */
	struct uvmp_geometry g = geometry_of(64 * KIB, 64 * KIB, 32 * MIB);
	struct uvmp_block b;

	(void)state;
	assert_int_equal(uvmp_geometry_block(&g, 0x110000, 0x30ffff, 0, &b), UVMP_OK);
	assert_int_equal(b.pages, 32);
	assert_region(uvmp_block_chunk(&b, 4), 4, 5);
}

static void test_chunk_of_nothing(void **state)
{
	struct uvmp_block b = block_of(100, 0, 16), bad = {0};

	(void)state;
	assert_region(uvmp_block_chunk(NULL, 0), 0, 0);
	assert_region(uvmp_block_chunk(&bad, 0), 0, 0);
	assert_region(uvmp_block_chunk(&b, 100), 0, 0);
	assert_region(uvmp_block_chunk(&b, UINT32_MAX), 0, 0);
}

/* -- allocations [uvmsmart: allocation-rounding, trees] -- */

static void assert_allocation(uint64_t bytes, uint64_t rounded, uint64_t large, uint32_t tail)
{
	struct uvmp_allocation a;

	assert_int_equal(uvmp_allocation_round(bytes, &a), UVMP_OK);
	assert_true(a.rounded_bytes == rounded);
	assert_true(a.large_trees == large);
	assert_int_equal(a.tail_bytes, tail);
}

static void test_allocation_examples(void **state)
{
	(void)state;
	assert_allocation(1, 64 * KIB, 0, 64 * KIB);
	assert_allocation(65537, 128 * KIB, 0, 128 * KIB);
	assert_allocation(2 * MIB + 192 * KIB, 2 * MIB + 256 * KIB, 1, 256 * KIB);
	assert_allocation(4202500, 4259840, 2, 64 * KIB);
	assert_allocation(5764800, 6 * MIB, 3, 0);
	assert_allocation(8911876, 8912896, 4, 512 * KIB);
}

static void test_allocation_edges(void **state)
{
	(void)state;
	for (uint32_t size = 64 * KIB; size < 2 * MIB; size *= 2) {
		assert_allocation(size, size, 0, size);
		if (size < 1 * MIB)
			assert_allocation(size + 1, 2 * size, 0, 2 * size);
	}
	assert_allocation(1 * MIB + 1, 2 * MIB, 1, 0);
	assert_allocation(2 * MIB, 2 * MIB, 1, 0);
	assert_allocation(4 * MIB - 1, 4 * MIB, 2, 0);
}

static void test_allocation_at_the_end_of_64_bits(void **state)
{
	const uint64_t last = UINT64_MAX - 2 * MIB + 1; /* 2^64 - 2 MiB */
	struct uvmp_allocation a = {1, 2, 3};

	(void)state;
	assert_allocation(last, last, last / (2 * MIB), 0);
	assert_allocation(last + 1, last + 64 * KIB, last / (2 * MIB), 64 * KIB);
	assert_allocation(last + 1 * MIB, last + 1 * MIB, last / (2 * MIB), 1 * MIB);
	assert_allocation(last - 1, last, last / (2 * MIB), 0);
	assert_int_equal(uvmp_allocation_round(last + 1 * MIB + 1, &a), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_allocation_round(UINT64_MAX, &a), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_allocation_round(0, &a), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_allocation_round(1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(a.rounded_bytes, 1);
	assert_int_equal(a.large_trees, 2);
	assert_int_equal(a.tail_bytes, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_geometries_of_known_hosts),
	        cmocka_unit_test(test_geometry_refuses),
	        cmocka_unit_test(test_range_is_cut_at_absolute_boundaries),
	        cmocka_unit_test(test_two_ranges_share_a_window),
	        cmocka_unit_test(test_range_up_to_the_last_byte),
	        cmocka_unit_test(test_larger_pages),
	        cmocka_unit_test(test_bad_ranges),
	        cmocka_unit_test(test_block_from_shape),
	        cmocka_unit_test(test_impossible_shapes),
	        cmocka_unit_test(test_block_is_valid),
	        cmocka_unit_test(test_whole_block_is_valid),
	        cmocka_unit_test(test_big_pages_inside),
	        cmocka_unit_test(test_big_pages_of_nothing),
	        cmocka_unit_test(test_whole_block_is_one_chunk),
	        cmocka_unit_test(test_chunks_of_507_pages),
	        cmocka_unit_test(test_two_mib_across_windows_is_no_root_chunk),
	        cmocka_unit_test(test_chunk_of_nothing),
	        cmocka_unit_test(test_allocation_examples),
	        cmocka_unit_test(test_allocation_edges),
	        cmocka_unit_test(test_allocation_at_the_end_of_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
