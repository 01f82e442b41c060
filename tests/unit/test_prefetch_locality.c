/* The locality-aware prefetcher of Zheng et al.: the examples of [uvmsmart: zheng-prefetchers] inside one
 * block and over a range of blocks, errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"

/* Transfers of a batch in KB, by [uvmsmart: transfer-split]; fetched pages and faulted ones together. */
static void assert_transfers(const uvmp_mask *fetched, const uvmp_mask *faulted, const char *expected)
{
	struct uvmp_group group[1024];
	uvmp_mask pages;
	uint32_t count = 0;
	char text[256] = "";

	uvmp_mask_or(&pages, fetched, faulted);
	assert_int_equal(
	        uvmp_prefetch_groups(UVMP_GROUPING_RUN_TO_FAULT, &pages, faulted, false, group, 1024, &count),
	        UVMP_OK);
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i == 0 ? "" : " ",
		         4 * uvmp_region_pages(group[i].pages));
	assert_string_equal(text, expected);
}

/* [uvmsmart: zheng-prefetchers]: an empty range of 256 pages (but for `resident`), one batch; cut into blocks
 * of any size the result is the same. */
static void example(const char *resident, const char *faulted, const char *fetched, const char *transfers)
{
	static const uint32_t block_pages[] = {256, 128, 64, 48, 16, 7, 1};
	uvmp_mask pages = page_text(faulted), expected = page_text(fetched);

	for (size_t i = 0; i < sizeof(block_pages) / sizeof(block_pages[0]); i++) {
		struct prefetch_caller c;

		prefetch_caller_init(&c, UVMP_PREFETCH_LOCALITY, 256, block_pages[i]);
		c.resident = page_text(resident);
		assert_int_equal(prefetch_caller_batch(&c, &pages), UVMP_OK);
		assert_memory_equal(&c.fetched, &expected, sizeof(expected));
		assert_transfers(&c.fetched, &pages, transfers);
	}
}

static void test_worked_examples(void **state)
{
	(void)state;
	example("-", "0", "1-127", "4 508");
	example("-", "200", "201-255", "4 220");
	example("-", "0,100", "1-99,101-227", "4 400 508");
	example("10-19", "0", "1-9,20-127", "4 36 432");
	example("-", "255", "-", "4");
	example("-", "0,200", "1-127,201-255", "4 508 4 220");
}

static void test_parameter(void **state)
{
	struct prefetch_caller c;
	uvmp_mask faulted = page_text("30"), expected = page_text("31-34");

	(void)state;
	prefetch_caller_init(&c, UVMP_PREFETCH_LOCALITY, 64, 32);
	c.params.locality_pages = 5;
	assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
	assert_memory_equal(&c.fetched, &expected, sizeof(expected));
	assert_int_equal(c.asked, 2);
	prefetch_caller_init(&c, UVMP_PREFETCH_LOCALITY, 64, 32);
	c.params.locality_pages = 1; /* the faulting page alone */
	assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&c.fetched));
	assert_int_equal(c.asked, 1);
	c.params.locality_pages = 2; /* up to the block's end and no further */
	faulted = page_text("31");
	assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
	assert_int_equal(c.asked, 2);
}

/* Full blocks of 2 MB: the reach ends in the next block, or with 512 pages at its same page. */
static void test_hint_of_one_block(void **state)
{
	struct prefetch_case c;
	uvmp_mask expected = page_text("501-511");

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_LOCALITY, 512);
	c.facts.range_first = 1024;
	c.facts.range_pages = 4096;
	assert_int_equal(prefetch_case_decide(&c, "500"), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
	assert_int_equal(c.hint.to, 1);
	assert_true(c.hint.follow == 1536);
	assert_true(c.range.locality.reach == 1524 + 128);
	c.params.locality_pages = 512;
	assert_int_equal(prefetch_case_decide(&c, "500"), UVMP_OK);
	assert_true(c.range.locality.reach == 1524 + 512);
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_OK);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

static void follow(struct prefetch_case *c, uint64_t range_first, uint64_t reach, const char *pages,
                   uint64_t next)
{
	uvmp_mask expected = page_text(pages);

	c->facts.range_first = range_first;
	c->range.locality.reach = reach;
	assert_int_equal(prefetch_case_decide(c, "-"), UVMP_OK);
	assert_memory_equal(&c->hint.pages, &expected, sizeof(expected));
	assert_int_equal(c->hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_true(c->hint.follow == next);
	assert_true(c->range.locality.reach == reach);
}

static void test_follow(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_LOCALITY, 64);
	c.facts.range_pages = 256;
	c.facts.is_follow = true;
	c.resident = page_text("3");
	c.pending = page_text("5");
	follow(&c, 64, 0, "-", UVMP_PAGE_NONE);
	follow(&c, 64, 64, "-", UVMP_PAGE_NONE);
	follow(&c, 64, 72, "0-2,4,6-7", UVMP_PAGE_NONE);
	follow(&c, 64, 128, "0-2,4,6-63", UVMP_PAGE_NONE);
	follow(&c, 64, 129, "0-2,4,6-63", 128);
	follow(&c, 64, UINT64_MAX, "0-2,4,6-63", 128);
	follow(&c, 192, UINT64_MAX, "0-2,4,6-63", UVMP_PAGE_NONE); /* the range ends here */
}

static void test_errors_change_nothing(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_LOCALITY, 64);
	c.range.locality.reach = 7;
	assert_int_equal(prefetch_case_decide(&c, "64"), UVMP_ERR_RANGE);
	c.facts.range_pages = 63;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_RANGE);
	c.facts.range_pages = 64;
	c.state.range = NULL;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_ARGUMENT);
	assert_true(c.range.locality.reach == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_worked_examples),       cmocka_unit_test(test_parameter),
	        cmocka_unit_test(test_hint_of_one_block),     cmocka_unit_test(test_follow),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
