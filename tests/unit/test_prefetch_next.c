/* Prefetch beyond the VABlock: when a block is full, how many come, what is left out, errors; worked by hand
 * from the words at the top of prefetch_next.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"

static struct prefetch_case c;

static void decide(const char *faulted, const char *pages, uint64_t follow)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(prefetch_case_decide(&c, faulted), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
	assert_true(c.hint.follow == follow);
	assert_int_equal(c.hint.basic_blocks, 0);
}

static void prepare(void)
{
	prefetch_case_init(&c, UVMP_PREFETCH_NEXT, 512);
	c.facts.range_first = 1024;
	c.facts.range_pages = 8192;
}

/* 90 percent of 512 pages are 460.8: 460 are not full, 461 are. */
static void test_nearly_full(void **state)
{
	(void)state;
	prepare();
	c.params.threshold = 100; /* density fetches nothing */
	c.resident = page_text("0-458");
	decide("459", "-", UVMP_PAGE_NONE);
	assert_true(c.range.next.budget == 0);
	decide("459-460", "-", 1536);
	assert_true(c.range.next.budget == 2);
	assert_int_equal(c.hint.to, UVMP_PROC_NONE);
	c.pending = page_text("500"); /* counts too */
	decide("459", "-", 1536);
	c.params.next_percent = 100;
	decide("459-511", "-", 1536);
	decide("459-510", "-", UVMP_PAGE_NONE);
	c.params.next_percent = 1; /* 5.12 pages */
	c.resident = page_text("0-4");
	c.pending = page_text("-");
	decide("5", "-", 1536);
	c.resident = page_text("0-3");
	decide("5", "-", UVMP_PAGE_NONE);
}

/* What density asks for counts, but not what it only would ask for. */
static void test_density_inside(void **state)
{
	(void)state;
	prepare();
	decide("3", "0-2,4-15", UVMP_PAGE_NONE);
	assert_int_equal(c.state.last_proc, 1);
	assert_int_equal(c.state.faults, 1);
	c.resident = page_text("0-259");
	decide("270", "0-269,271-511", 1536);
	c.params.min_faults = 3;
	decide("270", "0-269,271-511", 1536); /* the third */
	c.state.last_proc = 2;
	decide("270", "0-269,271-511", UVMP_PAGE_NONE);
	assert_int_equal(c.hint.to, UVMP_PROC_NONE);
}

/* As the last block of its range, a block has nothing behind it. */
static void test_end_of_the_range(void **state)
{
	(void)state;
	prepare();
	c.params.threshold = 1;
	c.facts.range_pages = 1536;
	decide("0", "1-511", UVMP_PAGE_NONE);
	c.facts.range_pages = 1537;
	decide("0", "1-511", 1536);
}

static void test_follow(void **state)
{
	uvmp_mask thrashing = page_text("9");

	(void)state;
	prepare();
	c.facts.is_follow = true;
	decide("-", "-", UVMP_PAGE_NONE); /* no decision requested a follow */
	c.range.next.budget = 2;
	c.resident = page_text("0-6");
	c.pending = page_text("8");
	c.facts.thrashing = &thrashing;
	decide("10", "7,11-511", 1536);
	assert_int_equal(c.hint.to, 1);
	assert_true(c.range.next.budget == 1);
	decide("10", "7,11-511", UVMP_PAGE_NONE);
	assert_true(c.range.next.budget == 0);
	c.range.next.budget = UINT64_MAX;
	c.params.next_blocks = 8;
	c.facts.has_preferred = true;
	c.facts.preferred = 0;
	decide("-", "-", 1536);
	assert_true(c.range.next.budget == 7);
	assert_int_equal(c.state.last_proc, UVMP_PROC_NONE);
}

static void batch(struct prefetch_caller *caller, const char *faulted, const char *fetched, unsigned asked)
{
	uvmp_mask pages = page_text(faulted), expected = page_text(fetched);

	assert_int_equal(prefetch_caller_batch(caller, &pages), UVMP_OK);
	assert_memory_equal(&caller->fetched, &expected, sizeof(expected));
	assert_int_equal(caller->asked, asked);
}

/* 112 pages in blocks of 32, the last of 16. */
static void test_a_range_of_blocks(void **state)
{
	struct prefetch_caller caller;

	(void)state;
	prefetch_caller_init(&caller, UVMP_PREFETCH_NEXT, 112, 32);
	batch(&caller, "1", "0,2-15", 1);
	batch(&caller, "20", "0-19,21-95", 3);     /* density names pages that are there, too */
	batch(&caller, "100", "96-99,101-111", 1); /* the last */
	caller.resident = page_text("32-63");
	batch(&caller, "0,17", "1-16,18-31,64-95", 3); /* a block that is there counts */
	caller.resident = page_text("-");
	batch(&caller, "0,16,40", "1-15,17-31,32-39,41-111", 6); /* 40 then finds its block pending */
}

static void test_errors_change_nothing(void **state)
{
	union prefetch_range before;

	(void)state;
	prepare();
	before = c.range;
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_ERR_RANGE);
	c.facts.range_pages = 1535;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_RANGE);
	c.facts.range_pages = 8192;
	c.params.next_blocks = 9;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_ARGUMENT);
	c.params.next_blocks = 8;
	c.state.range = NULL;
	assert_int_equal(prefetch_case_decide(&c, "0"), UVMP_ERR_ARGUMENT);
	assert_memory_equal(&c.range, &before, sizeof(before));
	assert_int_equal(c.state.last_proc, UVMP_PROC_NONE);
	assert_int_equal(c.state.faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nearly_full),       cmocka_unit_test(test_density_inside),
	        cmocka_unit_test(test_end_of_the_range),  cmocka_unit_test(test_follow),
	        cmocka_unit_test(test_a_range_of_blocks), cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
