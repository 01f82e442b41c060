/* Prefetch by the evicted pattern: while it holds, when it breaks, without one, errors; worked by hand from
 * the words at the top of prefetch_pattern.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_case.h"

static enum uvmp_status left(enum uvmp_prefetcher prefetcher, void *block, uint32_t processor, const uvmp_mask *gone,
			     const uvmp_mask *touched)
{
	struct uvmp_prefetch_departure departure = {.gone = gone, .touched = touched, .processor = processor};

	return uvmp_prefetch_left(prefetcher, block, &departure);
}

static struct prefetch_case c;

static void prepare(const char *touched)
{
	prefetch_case_init(&c, UVMP_PREFETCH_PATTERN, 100);
	c.pattern = (struct pattern_block){page_text(touched), 1};
	c.state.block = &c.pattern;
}

static void decide(const char *faulted, const char *pages, const char *left)
{
	uvmp_mask expected = page_text(pages), remembered = page_text(left);

	assert_int_equal(prefetch_case_decide(&c, faulted), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
	assert_memory_equal(&c.pattern.pages, &remembered, sizeof(remembered));
	assert_int_equal(c.hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
}

/* The block comes back as it was used: sparse, and across big pages. */
static void test_the_pattern_holds(void **state)
{
	(void)state;
	prepare("3,7,40,99");
	decide("7", "3,40,99", "3,7,40,99");
	assert_int_equal(c.state.faults, 0); /* density was not asked */
	decide("3,7,40,99", "-", "3,7,40,99");
	c.resident = page_text("40");
	c.pending = page_text("99");
	decide("7", "3", "3,7,40,99");
}

/* A page outside the pattern faults: the pattern is dropped. */
static void test_the_pattern_breaks(void **state)
{
	(void)state;
	prepare("3,7,40");
	decide("7,8", "0-6,9-15", "-");
	assert_int_equal(c.state.faults, 2);
	decide("3", "0-2,4-15", "-");
	prepare("3,7,40");
	c.params.threshold = 1;
	decide("41", "0-40,42-99", "-");
}

static void test_without_a_pattern(void **state)
{
	(void)state;
	prepare("-");
	decide("3", "0-2,4-15", "-");
	c.state.block = NULL;
	decide("3", "0-2,4-15", "-");
	assert_int_equal(c.state.faults, 2);
}

/* What density would leave alone. */
static void test_not_admitted(void **state)
{
	struct uvmp_region group[] = {{0, 4}, {40, 42}};
	uvmp_mask thrashing = page_text("50");

	(void)state;
	prepare("2-3,40-41,50,60");
	c.facts.thrashing = &thrashing;
	c.facts.range_group = group;
	c.facts.range_groups = 2;
	decide("40", "41,60", "2-3,40-41,50,60");
	c.facts.has_preferred = true;
	c.facts.preferred = 0;
	decide("40", "-", "2-3,40-41,50,60");
}

static void expect_pattern(const char *pages, uint32_t processor)
{
	uvmp_mask expected = page_text(pages);

	assert_memory_equal(&c.pattern.pages, &expected, sizeof(expected));
	assert_int_equal(c.pattern.processor, processor);
}

/* Evicted pages enter the pattern if they were touched, and leave it if they were not. */
static void test_eviction(void **state)
{
	uvmp_mask gone = page_text("0-15,40"), touched = page_text("3,7,60"), other = page_text("16-31,60");

	(void)state;
	prepare("5,20");
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, &c.pattern, 1, &gone, &touched), UVMP_OK);
	expect_pattern("3,7,20", 1);
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, &c.pattern, 1, &other, NULL), UVMP_OK);
	expect_pattern("3,7", 1);
	decide("7", "3", "3,7");
	/* what was touched on one processor says nothing of another */
	c.facts.to = 2;
	assert_int_equal(prefetch_case_decide(&c, "7"), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&c.hint.pages), 15);
	expect_pattern("3,7", 1);
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, &c.pattern, 2, &other, &touched), UVMP_OK);
	expect_pattern("60", 2);
}

static void test_bad_evictions(void **state)
{
	uvmp_mask gone = page_text("0-15");

	(void)state;
	prepare("5,20");
	assert_int_equal(uvmp_prefetch_left(UVMP_PREFETCH_PATTERN, &c.pattern, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(left(UVMP_PREFETCH_COUNT, &c.pattern, 1, &gone, NULL),
			 UVMP_ERR_ARGUMENT);
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, &c.pattern, 1, NULL, &gone),
			 UVMP_ERR_ARGUMENT);
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, &c.pattern, UVMP_PROCS_MAX, &gone, NULL),
			 UVMP_ERR_RANGE);
	assert_int_equal(left(UVMP_PREFETCH_PATTERN, NULL, 1, &gone, &gone), UVMP_OK);
	assert_int_equal(left(UVMP_PREFETCH_DENSITY, &c.pattern, 1, &gone, NULL), UVMP_OK);
	expect_pattern("5,20", 1);
}

static void test_errors_change_nothing(void **state)
{
	struct uvmp_prefetch_hint hint;
	struct pattern_block before;

	(void)state;
	prepare("3,100");
	before = c.pattern;
	memset(&c.hint, 0x5a, sizeof(c.hint));
	hint = c.hint;
	assert_int_equal(prefetch_case_decide(&c, "3"), UVMP_ERR_RANGE);
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_ERR_RANGE);
	c.facts.is_follow = true;
	assert_int_equal(prefetch_case_decide(&c, "3"), UVMP_ERR_RANGE);
	c.params.threshold = 101;
	assert_int_equal(prefetch_case_decide(&c, "3"), UVMP_ERR_ARGUMENT);
	assert_memory_equal(&c.pattern, &before, sizeof(before));
	assert_memory_equal(&c.hint, &hint, sizeof(hint));
	assert_int_equal(c.state.faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_pattern_holds),
		cmocka_unit_test(test_the_pattern_breaks),
		cmocka_unit_test(test_without_a_pattern),
		cmocka_unit_test(test_not_admitted),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_bad_evictions),
		cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
