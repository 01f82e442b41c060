/* geometry.h on random ranges, shapes, trees and sizes, against definitions spelled out page by page and leaf
 * by leaf. Each property runs from a fixed seed and from one that changes and is printed; UVMP_TEST_SEED
 * repeats a run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/seed.h"
#include "uvmpolicy/geometry.h"

#define FIXED_SEED 20240602u

static uint64_t printed_seed;

static void for_both_seeds(void (*property)(uint64_t *random), int rounds)
{
	uint64_t seeds[2] = {FIXED_SEED, printed_seed};

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < rounds; i++)
			property(&seeds[s]);
}

static const uint32_t page_sizes[] = {4096, 16384, 65536, 2097152};

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

static struct uvmp_geometry random_geometry(uint64_t *random)
{
	uint32_t page = page_sizes[below(random, 4)], big_log2 = below(random, 10);
	uint32_t block_log2 = big_log2 + below(random, 10 - big_log2);
	struct uvmp_geometry g;

	assert_int_equal(uvmp_geometry_init(&g, page, page << big_log2, page << block_log2), UVMP_OK);
	return g;
}

/* A range of at most 1200 pages; often at the start or at the end of the address space. */
static void random_range(uint64_t *random, const struct uvmp_geometry *g, uvmp_addr *start, uvmp_addr *end)
{
	uint64_t all = UINT64_MAX / g->page_bytes, pages = 1 + below(random, 1200), first;
	uint32_t where = below(random, 4);

	if (where == 0)
		first = below(random, 1200);
	else if (where == 1)
		first = all + 1 - pages;
	else
		first = uvmp_random_below(random, all - 1200);
	*start = first * g->page_bytes;
	*end = *start + (pages * g->page_bytes - 1);
}

/* Blocks lie side by side from start to end, each inside one window, full ones in the middle, each found
 * again by index. */
static void blocks_tile_the_range(uint64_t *random)
{
	struct uvmp_geometry g = random_geometry(random);
	struct uvmp_block b, after;
	uvmp_addr start, end, next;
	uint64_t count;

	random_range(random, &g, &start, &end);
	count = uvmp_geometry_block_count(&g, start, end);
	assert_true(count > 0);
	next = start;
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(uvmp_geometry_block(&g, start, end, i, &b), UVMP_OK);
		assert_true(uvmp_block_is_valid(&b));
		assert_true(b.start == next);
		assert_true(b.start / g.block_bytes == b.last / g.block_bytes);
		assert_true(b.last - b.start + 1 == (uint64_t)b.pages * g.page_bytes);
		assert_true((b.start - (uint64_t)b.offset * g.page_bytes) % g.big_page_bytes == 0);
		assert_true(b.offset < b.big_pages && b.big_pages * g.page_bytes == g.big_page_bytes);
		if (i > 0 && i + 1 < count)
			assert_true(b.last - b.start + 1 == g.block_bytes);
		assert_true(uvmp_geometry_block_index(&g, start, b.start) == i);
		assert_true(uvmp_geometry_block_index(&g, start, b.last) == i);
		next = b.last + 1;
	}
	assert_true(b.last == end);
	assert_int_equal(uvmp_geometry_block(&g, start, end, count, &after), UVMP_ERR_RANGE);
}

/* Does the big page around page p of the block lie wholly between pages [first, end)? */
static bool naive_has_big_page(const struct uvmp_block *b, uint32_t p, uint32_t first, uint32_t end)
{
	uint32_t position = (p + b->offset) % b->big_pages;

	for (uint32_t i = 0; i < b->big_pages; i++) {
		int64_t q = (int64_t)p - position + i;

		if (q < (int64_t)first || q >= (int64_t)end || q >= (int64_t)b->pages)
			return false;
	}
	return true;
}

static struct uvmp_block random_block(uint64_t *random)
{
	uint32_t big = 1u << below(random, 10), offset = below(random, big), room = 512 - offset;
	uint32_t pages = 1 + (below(random, 3) == 0 ? room - 1 : below(random, room));
	struct uvmp_block b;

	assert_int_equal(uvmp_block_from_shape(pages, offset, big, &b), UVMP_OK);
	assert_true(uvmp_block_is_valid(&b));
	return b;
}

static void big_pages_are_those_inside(uint64_t *random)
{
	struct uvmp_block b = random_block(random);
	struct uvmp_region within = {below(random, 520), below(random, 520)}, big;

	if (below(random, 4) == 0)
		within = (struct uvmp_region){0, UINT32_MAX};
	big = uvmp_block_big_pages(&b, within);
	if (big.end == 0)
		assert_int_equal(big.first, 0);
	else
		assert_true(big.first < big.end && big.end <= b.pages);
	for (uint32_t p = 0; p < b.pages; p++)
		assert_int_equal(big.first <= p && p < big.end,
		                 naive_has_big_page(&b, p, within.first, within.end));
}

/* Every page has a chunk that holds it; two pages have the same chunk or disjoint ones; a chunk is a single
 * page, a big page, or the block of 2 MiB; and it is as large as can be. */
static void chunks_cover_once(uint64_t *random)
{
	struct uvmp_block b = random_block(random);
	bool is_root = b.pages == 512 && b.offset == 0; /* pages of a shape have 4 KiB */
	uint32_t covered = 0;

	for (uint32_t p = 0; p < b.pages; p++) {
		struct uvmp_region c = uvmp_block_chunk(&b, p);

		assert_true(c.first <= p && p < c.end && c.end <= b.pages);
		assert_int_equal(uvmp_block_chunk(&b, c.first).first, c.first);
		assert_int_equal(uvmp_block_chunk(&b, c.end - 1).first, c.first);
		if (is_root)
			assert_int_equal(c.end - c.first, 512);
		else if (naive_has_big_page(&b, p, 0, b.pages))
			assert_true(c.end - c.first == b.big_pages &&
			            (c.first + b.offset) % b.big_pages == 0);
		else
			assert_int_equal(c.end - c.first, 1);
		covered += c.first == p ? c.end - c.first : 0;
	}
	assert_int_equal(covered, b.pages);
}

/* The smallest size of a tree that holds the rest, searched for. */
static void allocations(uint64_t *random)
{
	static const uint64_t sizes[] = {0, 65536, 131072, 262144, 524288, 1048576, 2097152};
	uint64_t bytes = (uvmp_random_next(random) >> (1 + below(random, 63))) + 1, full = bytes / 2097152,
	         rest = bytes % 2097152;
	struct uvmp_allocation a;
	uint32_t i = 0;

	if (below(random, 2) == 0) {
		bytes = full * 2097152 + sizes[below(random, 7)] + below(random, 3);
		bytes = bytes > 1 ? bytes - 1 : 1;
		full = bytes / 2097152;
		rest = bytes % 2097152;
	}
	while (sizes[i] < rest)
		i++;
	assert_int_equal(uvmp_allocation_round(bytes, &a), UVMP_OK);
	assert_true(a.rounded_bytes == full * 2097152 + sizes[i]);
	assert_true(a.rounded_bytes >= bytes && a.rounded_bytes % 65536 == 0);
	assert_true(a.large_trees * 2097152 + a.tail_bytes == a.rounded_bytes);
	assert_true(a.tail_bytes < 2097152);
	/* Rounding what is rounded changes nothing. */
	assert_int_equal(uvmp_allocation_round(a.rounded_bytes, &a), UVMP_OK);
	assert_true(a.rounded_bytes == full * 2097152 + sizes[i]);
}

#define PROPERTY(name, rounds)                                                                               \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		for_both_seeds(name, rounds);                                                                \
	}

PROPERTY(blocks_tile_the_range, 300)
PROPERTY(big_pages_are_those_inside, 200)
PROPERTY(chunks_cover_once, 200)
PROPERTY(allocations, 5000)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_blocks_tile_the_range),
	        cmocka_unit_test(test_big_pages_are_those_inside),
	        cmocka_unit_test(test_chunks_cover_once),
	        cmocka_unit_test(test_allocations),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
