/* The sequential prefetcher of Zheng et al.: rules of [uvmsmart: zheng-prefetchers] inside one block and over
 * a range of blocks, errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"

static void decide(struct prefetch_case *c, const char *faulted, const char *pages, uint64_t cursor)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(prefetch_case_decide(c, faulted), UVMP_OK);
	assert_memory_equal(&c->hint.pages, &expected, sizeof(expected));
	assert_int_equal(c->hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_true(c->range.sequential.cursor == cursor);
	prefetch_case_arrive(c);
}

/* One page a decision, from the first page on, independent of the faults; never back, and none at the end. */
static void test_one_block(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SEQUENTIAL, 8);
	decide(&c, "5", "0", 1);
	decide(&c, "6", "1", 2);
	decide(&c, "2", "3", 4); /* 2 faults */
	uvmp_mask_clear(&c.resident, 0);
	decide(&c, "0", "4", 5); /* 0 was left behind */
	decide(&c, "4,7", "-", 8);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
	uvmp_mask_clear(&c.resident, 1);
	decide(&c, "1", "-", 8);
}

static void test_several_pages_a_decision(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SEQUENTIAL, 512);
	c.params.sequential_pages = 4;
	c.pending = page_text("2");
	c.resident = page_text("4-60");
	decide(&c, "1", "0,3,61-62", 63);
	c.params.sequential_pages = 512;
	decide(&c, "511", "63-510", 512);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

static void batch(struct prefetch_caller *c, const char *faulted, const char *fetched, unsigned asked)
{
	uvmp_mask pages = page_text(faulted), expected = page_text(fetched);

	assert_int_equal(prefetch_caller_batch(c, &pages), UVMP_OK);
	assert_memory_equal(&c->fetched, &expected, sizeof(expected));
	assert_int_equal(c->asked, asked);
}

/* 80 pages in blocks of 32, 32 and 16. */
static void test_a_range_of_blocks(void **state)
{
	struct prefetch_caller c;

	(void)state;
	prefetch_caller_init(&c, UVMP_PREFETCH_SEQUENTIAL, 80, 32);
	batch(&c, "70", "0", 2);      /* the cursor is two blocks before the fault */
	batch(&c, "40,71", "1-2", 4); /* two blocks with faults: two decisions */
	batch(&c, "5", "3", 1);
	c.params.sequential_pages = 30;
	batch(&c, "72", "4,6-34", 3);
	c.params.sequential_pages = 512;
	batch(&c, "36", "35,37-39,41-69,73-79", 2);
	uvmp_mask_clear(&c.resident, 79);
	batch(&c, "79", "-", 1);
	assert_true(c.range.sequential.cursor == 80);
}

/* A block in which everything is there costs one question more, once. */
static void test_full_blocks_are_passed(void **state)
{
	struct prefetch_caller c;

	(void)state;
	prefetch_caller_init(&c, UVMP_PREFETCH_SEQUENTIAL, 512, 64);
	c.resident = page_text("0-300");
	batch(&c, "511", "301", 6);
	batch(&c, "510", "302", 2);
}

/* Pages that fault elsewhere in the same batch are left to their own decision. */
static void test_follow_leaves_out_faults(void **state)
{
	struct prefetch_caller c;

	(void)state;
	prefetch_caller_init(&c, UVMP_PREFETCH_SEQUENTIAL, 64, 32);
	c.resident = page_text("0-31");
	uvmp_mask_clear(&c.resident, 3);
	batch(&c, "3,32", "33-34", 3);
}

static void assert_refused(struct prefetch_case *c, const char *faulted, enum uvmp_status status)
{
	union prefetch_range before = c->range;
	struct uvmp_prefetch_hint hint;

	memset(&c->hint, 0x5a, sizeof(c->hint));
	hint = c->hint;
	assert_int_equal(prefetch_case_decide(c, faulted), status);
	assert_memory_equal(&c->range, &before, sizeof(before));
	assert_memory_equal(&c->hint, &hint, sizeof(hint));
}

/* A follow that no decision requested would be answered with the same follow, and the caller would loop
 * without end. */
static void test_follow_for_another_block(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SEQUENTIAL, 16);
	c.facts.is_follow = true;
	c.facts.range_first = 16;
	c.facts.range_pages = 32;
	c.range.sequential.budget = 1;
	assert_refused(&c, "-", UVMP_ERR_RANGE);
	c.range.sequential.cursor = 15;
	assert_refused(&c, "-", UVMP_ERR_RANGE);
	c.range.sequential.cursor = 32; /* behind the range: nothing is left to ask */
	assert_refused(&c, "-", UVMP_ERR_RANGE);
	c.range.sequential.cursor = UINT64_MAX;
	assert_refused(&c, "-", UVMP_ERR_RANGE);
	c.range.sequential.cursor = 16;
	decide(&c, "-", "0", 17);
	c.range.sequential.cursor = 20;
	c.range.sequential.budget = 0;
	decide(&c, "-", "-", 20);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

static void test_errors_change_nothing(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SEQUENTIAL, 16);
	assert_int_equal(prefetch_case_decide(&c, "16"), UVMP_ERR_RANGE);
	c.facts.range_pages = 15;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_RANGE);
	c.facts.range_pages = 16;
	c.facts.range_first = 1;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_RANGE);
	c.facts.range_first = UINT64_MAX;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_RANGE);
	c.facts.range_first = 0;
	c.state.range = NULL;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_ARGUMENT);
	assert_true(c.range.sequential.cursor == 0 && c.range.sequential.budget == 0);
	c.state.range = &c.range;
	c.facts.range_first = UINT64_MAX - 16;
	c.facts.range_pages = UINT64_MAX;
	c.range.sequential.cursor = UINT64_MAX - 1;
	decide(&c, "0", "15", UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_one_block),
	        cmocka_unit_test(test_several_pages_a_decision),
	        cmocka_unit_test(test_a_range_of_blocks),
	        cmocka_unit_test(test_full_blocks_are_passed),
	        cmocka_unit_test(test_follow_leaves_out_faults),
	        cmocka_unit_test(test_follow_for_another_block),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
