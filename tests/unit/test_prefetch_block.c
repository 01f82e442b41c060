/* The prefetchers none and block. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "support/page_text.h"
#include "uvmpolicy/prefetch.h"

static struct uvmp_prefetch_params params;
static struct uvmp_prefetch_facts facts;
static struct uvmp_prefetch_state block_state;
static struct uvmp_prefetch_hint hint;
static uvmp_mask faulted, resident, pending;

static int prepare(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&hint, 0x5a, sizeof(hint));
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_BLOCK);
	uvmp_prefetch_state_init(&block_state);
	faulted = page_text("5,7");
	facts.faulted = &faulted;
	facts.faulted_region = uvmp_mask_bounds(&faulted);
	facts.to = 2;
	facts.has_preferred = false;
	facts.preferred = UVMP_PROC_NONE;
	return (int)uvmp_block_from_shape(300, 3, 16, &facts.block);
}

static enum uvmp_status decide(enum uvmp_prefetcher prefetcher)
{
	params.prefetcher = prefetcher;
	return uvmp_prefetch_decide(&params, &facts, &block_state, &hint);
}

static void assert_hint(const char *pages, uint32_t dst)
{
	uvmp_mask expected = page_text(pages);

	assert_true(uvmp_mask_equal(&hint.pages, &expected));
	assert_int_equal(hint.to, dst);
	assert_true(hint.follow == UVMP_PAGE_NONE);
	assert_int_equal(hint.basic_blocks, 0);
}

static void test_none(void **state)
{
	(void)state;
	assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_OK);
	assert_hint("-", UVMP_PROC_NONE);
	assert_int_equal(block_state.last_proc, UVMP_PROC_NONE); /* [driver: density]: disabled, no state is updated */
	assert_int_equal(block_state.faults, 0);
}

/* [uvmsmart: prefetch-batch]: on-demand adds each page; [uvmsmart: on-demand] fetches nothing else. */
static void test_none_counts_in_the_tree(void **state)
{
	struct uvmp_tree tree;

	(void)state;
	for (int quirks = 0; quirks <= 1; quirks++) {
		assert_int_equal(uvmp_tree_init(&tree, 32), UVMP_OK);
		params.quirks = quirks;
		block_state.tree = &tree;
		faulted = page_text("5,7,16");
		facts.faulted_region = uvmp_mask_bounds(&faulted);
		assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_OK);
		assert_hint("-", UVMP_PROC_NONE);
		assert_int_equal(uvmp_tree_leaf(&tree, 0), 2);
		assert_int_equal(uvmp_tree_leaf(&tree, 1), 1);
		assert_int_equal(tree.node[0], 3);
		/* [uvmsmart: ancestors-pass-full]: a leaf that misses "full" goes past it */
		uvmp_tree_set_leaf(&tree, 0, 15);
		assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_OK);
		assert_int_equal(uvmp_tree_leaf(&tree, 0), 16);
		uvmp_tree_set_leaf(&tree, 0, 17);
		assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_OK);
		assert_int_equal(uvmp_tree_leaf(&tree, 0), quirks ? 19 : 16);
	}
}

/* A page that has been counted cannot be counted again; without a tree no page is counted. */
static void test_none_refault(void **state)
{
	struct uvmp_tree tree;

	(void)state;
	assert_int_equal(uvmp_tree_init(&tree, 32), UVMP_OK);
	resident = page_text("7");
	facts.resident = &resident;
	assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_OK);
	block_state.tree = &tree;
	assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_ERR_RANGE);
	facts.resident = NULL;
	facts.pending = &resident;
	assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_ERR_RANGE);
	assert_int_equal(tree.node[0], 0);
}

static void test_whole_block(void **state)
{
	(void)state;
	assert_int_equal(decide(UVMP_PREFETCH_BLOCK), UVMP_OK);
	assert_hint("0-4,6,8-299", 2);
	assert_int_equal(block_state.last_proc, UVMP_PROC_NONE);
}

static void test_what_is_there_or_coming(void **state)
{
	(void)state;
	resident = page_text("0-2,5,100-199");
	pending = page_text("3,7,199-210");
	facts.resident = &resident;
	facts.pending = &pending;
	assert_int_equal(decide(UVMP_PREFETCH_BLOCK), UVMP_OK);
	assert_hint("4,6,8-99,211-299", 2);
}

static void test_nothing_is_left(void **state)
{
	(void)state;
	resident = page_text("0-299");
	facts.resident = &resident;
	assert_int_equal(decide(UVMP_PREFETCH_BLOCK), UVMP_OK);
	assert_hint("-", UVMP_PROC_NONE);
}

static void test_errors(void **state)
{
	struct uvmp_prefetch_hint before = hint;

	(void)state;
	facts.faulted_region.end = 301;
	assert_int_equal(decide(UVMP_PREFETCH_BLOCK), UVMP_ERR_RANGE);
	assert_int_equal(decide(UVMP_PREFETCH_NONE), UVMP_ERR_RANGE);
	assert_memory_equal(&before, &hint, sizeof(hint));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_none, prepare),
	        cmocka_unit_test_setup(test_none_counts_in_the_tree, prepare),
	        cmocka_unit_test_setup(test_none_refault, prepare),
	        cmocka_unit_test_setup(test_whole_block, prepare),
	        cmocka_unit_test_setup(test_what_is_there_or_coming, prepare),
	        cmocka_unit_test_setup(test_nothing_is_left, prepare),
	        cmocka_unit_test_setup(test_errors, prepare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
