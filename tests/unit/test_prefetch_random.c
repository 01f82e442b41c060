/* The random prefetcher: the worked example of [uvmsmart: random-page], pages that are not taken, quirk
 * [uvmsmart: random-page-twice], errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_case.h"

/* States from which the generator draws, modulo 128, the numbers named. */
#define DRAWS_103_70_105 435670u
#define DRAWS_9_4_4      906809u

static void decide(struct prefetch_case *c, uint64_t seed, const char *faulted, const char *pages)
{
	uvmp_mask expected = page_text(pages);

	c->random = seed;
	assert_int_equal(prefetch_case_decide(c, faulted), UVMP_OK);
	assert_memory_equal(&c->hint.pages, &expected, sizeof(expected));
	assert_int_equal(c->hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_int_equal(c->hint.basic_blocks, 0);
	assert_true(c->hint.follow == UVMP_PAGE_NONE);
}

static void test_worked_example(void **state)
{
	static const uint32_t kilobytes[8] = {8, 0, 0, 0, 4, 0, 12, 0};

	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		struct prefetch_case c;

		prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
		c.params.quirks = quirks;
		decide(&c, DRAWS_103_70_105, "4,9,100", "70,103,105");
		for (uint32_t b = 0; b < 8; b++)
			assert_int_equal(4 * uvmp_tree_leaf(&c.tree, b), kilobytes[b]);
		assert_int_equal(c.tree.node[0], 6);
	}
}

static void test_what_is_there_is_not_taken(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
	c.resident = page_text("103");
	c.pending = page_text("70");
	decide(&c, DRAWS_103_70_105, "4,9,100", "105"); /* no second draw */
	c.pending = page_text("70,105");
	decide(&c, DRAWS_103_70_105, "4,9,100", "-");
	decide(&c, DRAWS_103_70_105, "104", "-");
}

/* [uvmsmart: random-page-twice]: draws 9, 4, 4 for faults on 4, 9 and 20. Page 9 has not been dealt with when
 * it is drawn; page 4 has. */
static void test_a_later_fault_is_drawn(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
	decide(&c, DRAWS_9_4_4, "4,9,20", "9");
	assert_int_equal(uvmp_tree_leaf(&c.tree, 0), 3);
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
	c.params.quirks = false;
	decide(&c, DRAWS_9_4_4, "4,9,20", "-");
	assert_int_equal(uvmp_tree_leaf(&c.tree, 0), 2);
	/* A page drawn twice comes once. */
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
	decide(&c, DRAWS_9_4_4, "1-3", "4,9");
	assert_int_equal(uvmp_tree_leaf(&c.tree, 0), 5);
}

/* One draw a faulting page, over the pages of the block. */
static void test_draws(void **state)
{
	struct prefetch_case c;
	uint64_t random = 7;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 3);
	c.state.tree = NULL; /* the tree is not needed */
	c.params.quirks = false;
	decide(&c, 7, "0-2", "-");
	for (int i = 0; i < 3; i++)
		(void)uvmp_random_below(&random, 3);
	assert_true(c.random == random);
}

static void test_errors_change_nothing(void **state)
{
	struct prefetch_case c;

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_RANDOM, 128);
	c.random = 5;
	memset(&c.hint, 0x5a, sizeof(c.hint));
	c.resident = page_text("4");
	assert_int_equal(prefetch_case_decide(&c, "4"), UVMP_ERR_RANGE);
	c.resident = page_text("-");
	assert_int_equal(prefetch_case_decide(&c, "128"), UVMP_ERR_RANGE);
	c.tree.blocks = 5;
	assert_int_equal(prefetch_case_decide(&c, "4"), UVMP_ERR_ARGUMENT);
	c.tree.blocks = 8;
	c.state.random = NULL;
	assert_int_equal(prefetch_case_decide(&c, "4"), UVMP_ERR_ARGUMENT);
	assert_true(c.random == 5);
	assert_int_equal(c.tree.node[0], 0);
	assert_int_equal(c.hint.to, 0x5a5a5a5a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_worked_example),
	        cmocka_unit_test(test_what_is_there_is_not_taken),
	        cmocka_unit_test(test_a_later_fault_is_drawn),
	        cmocka_unit_test(test_draws),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
