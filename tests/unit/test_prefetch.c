/* What all prefetchers share: the table, parameters, the check of the facts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "support/page_text.h"
#include "uvmpolicy/prefetch.h"

struct call {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	struct uvmp_prefetch_range range;
	struct uvmp_tree tree;
	uint64_t random;
	uvmp_mask faulted, mask;
	struct uvmp_region group;
};

/* Page 5 of a block of 100 pages faults; everything that any prefetcher asks for is there. */
static void prepare(struct call *call, enum uvmp_prefetcher prefetcher)
{
	memset(call, 0, sizeof(*call));
	memset(&call->hint, 0x5a, sizeof(call->hint));
	uvmp_prefetch_params_init(&call->params, prefetcher);
	uvmp_prefetch_state_init(&call->state);
	assert_int_equal(uvmp_block_from_shape(100, 0, 16, &call->facts.block), UVMP_OK);
	assert_int_equal(uvmp_tree_init(&call->tree, 8), UVMP_OK);
	call->faulted = page_text("5");
	call->facts.faulted = &call->faulted;
	call->facts.faulted_region.first = 5;
	call->facts.faulted_region.outer = 6;
	call->facts.dst = 1;
	call->facts.preferred = UVMP_PROC_NONE;
	call->facts.range_pages = 100;
	call->group.outer = 1;
	call->state.tree = &call->tree;
	call->state.range = &call->range;
	call->state.random = &call->random;
	call->random = 1;
}

/* An error must leave state and hint as they were. */
static enum uvmp_status decide(struct call *call)
{
	struct call before = *call;
	enum uvmp_status status =
	        uvmp_prefetch_decide(&call->params, &call->facts, &call->state, &call->hint);

	if (status != UVMP_OK)
		assert_memory_equal(&before, call, sizeof(before));
	return status;
}

static void test_names(void **state)
{
	static const char *const name[] = {"none",   "density",    "tbn",      "sl",
	                                   "random", "sequential", "locality", "block"};

	(void)state;
	assert_int_equal(sizeof(name) / sizeof(name[0]), UVMP_PREFETCH_COUNT);
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++)
		assert_string_equal(uvmp_prefetch_name((enum uvmp_prefetcher)i), name[i]);
	assert_null(uvmp_prefetch_name(UVMP_PREFETCH_COUNT));
	assert_null(uvmp_prefetch_name((enum uvmp_prefetcher) - 1));
}

static void test_defaults(void **state)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state block;

	(void)state;
	uvmp_prefetch_params_init(NULL, UVMP_PREFETCH_TBN);
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_TBN);
	assert_int_equal(params.prefetcher, UVMP_PREFETCH_TBN);
	assert_int_equal(params.threshold, 51); /* 5.1 */
	assert_int_equal(params.min_faults, 1);
	assert_int_equal(params.sequential_pages, 1);
	assert_int_equal(params.locality_pages, 128);
	assert_true(params.quirks);
	assert_true(uvmp_prefetch_params_is_valid(&params));
	uvmp_prefetch_state_init(NULL);
	memset(&block, 0x5a, sizeof(block));
	uvmp_prefetch_state_init(&block);
	assert_int_equal(block.last_proc, UVMP_PROC_NONE);
	assert_int_equal(block.faults, 0);
	assert_null(block.tree);
	assert_null(block.range);
	assert_null(block.random);
}

static bool is_valid_with(size_t offset, uint32_t value, bool quirks)
{
	struct uvmp_prefetch_params params;

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	memcpy((char *)&params + offset, &value, sizeof(value));
	params.quirks = quirks;
	return uvmp_prefetch_params_is_valid(&params);
}

static void check_range(size_t offset, uint32_t low, uint32_t high)
{
	assert_true(is_valid_with(offset, low, false));
	assert_true(is_valid_with(offset, high, false));
	assert_false(is_valid_with(offset, low - 1u, false));
	assert_false(is_valid_with(offset, high + 1u, false));
	assert_false(is_valid_with(offset, UINT32_MAX, true));
}

static void test_parameters(void **state)
{
	struct uvmp_prefetch_params params;

	(void)state;
	assert_false(uvmp_prefetch_params_is_valid(NULL));
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_COUNT);
	assert_false(uvmp_prefetch_params_is_valid(&params));
	check_range(offsetof(struct uvmp_prefetch_params, threshold), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, min_faults), 1, 20);
	check_range(offsetof(struct uvmp_prefetch_params, sequential_pages), 1, 512);
	check_range(offsetof(struct uvmp_prefetch_params, locality_pages), 1, 512);
	/* Q8 */
	assert_true(is_valid_with(offsetof(struct uvmp_prefetch_params, threshold), 0, true));
	assert_false(is_valid_with(offsetof(struct uvmp_prefetch_params, threshold), 101, true));
}

/* Every row of the table does something that only its own function does. */
static void test_dispatch(void **state)
{
	static const uint32_t pages[UVMP_PREFETCH_COUNT] = {
	        [UVMP_PREFETCH_NONE] = 0,      [UVMP_PREFETCH_DENSITY] = 15, [UVMP_PREFETCH_TBN] = 15,
	        [UVMP_PREFETCH_SL] = 15,       [UVMP_PREFETCH_RANDOM] = 1,   [UVMP_PREFETCH_SEQUENTIAL] = 1,
	        [UVMP_PREFETCH_LOCALITY] = 94, [UVMP_PREFETCH_BLOCK] = 99,
	};

	(void)state;
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		struct call call;

		prepare(&call, (enum uvmp_prefetcher)i);
		assert_int_equal(decide(&call), UVMP_OK);
		assert_int_equal(uvmp_mask_weight(&call.hint.pages), pages[i]);
		assert_int_equal(call.hint.dst, i == UVMP_PREFETCH_NONE ? UVMP_PROC_NONE : 1);
		assert_int_equal(call.state.last_proc, i == UVMP_PREFETCH_DENSITY ? 1 : UVMP_PROC_NONE);
	}
}

static void test_missing(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	assert_int_equal(uvmp_prefetch_decide(NULL, &call.facts, &call.state, &call.hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_none(NULL, &call.facts, &call.state, &call.hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_decide(&call.params, NULL, &call.state, &call.hint),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_decide(&call.params, &call.facts, NULL, &call.hint),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_decide(&call.params, &call.facts, &call.state, NULL),
	                 UVMP_ERR_ARGUMENT);
	call.facts.faulted = NULL;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);

	prepare(&call, UVMP_PREFETCH_COUNT);
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_NONE);
	call.params.threshold = 101;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.block.pages = 513;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.range_groups = 1;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
}

static void test_processors(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.dst = 63;
	call.facts.preferred = 63;
	assert_int_equal(decide(&call), UVMP_OK);
	call.facts.dst = UVMP_PROC_NONE;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.dst = 0;
	call.facts.preferred = UVMP_PROC_NONE + 1u;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
}

/* Page 99 is the last of the block. */
static void test_masks_beyond_the_block(void **state)
{
	static const size_t mask[] = {
	        offsetof(struct uvmp_prefetch_facts, faulted),
	        offsetof(struct uvmp_prefetch_facts, resident),
	        offsetof(struct uvmp_prefetch_facts, pending),
	        offsetof(struct uvmp_prefetch_facts, thrashing),
	        offsetof(struct uvmp_prefetch_facts, cpu_resident),
	        offsetof(struct uvmp_prefetch_facts, cpu_read_mapped),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mask) / sizeof(mask[0]); i++) {
		struct call call;
		const uvmp_mask *pointer = &call.mask;

		prepare(&call, UVMP_PREFETCH_NONE);
		memcpy((char *)&call.facts + mask[i], &pointer, sizeof(pointer));
		call.mask = page_text("99");
		assert_int_equal(decide(&call), UVMP_OK);
		call.mask = page_text("99-100");
		assert_int_equal(decide(&call), UVMP_ERR_RANGE);
		call.mask = page_text("99,511");
		assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	}
}

static enum uvmp_status with_region(struct call *call, struct uvmp_region *region, uint32_t first,
                                    uint32_t outer)
{
	region->first = first;
	region->outer = outer;
	return decide(call);
}

static void check_region(struct call *call, struct uvmp_region *region)
{
	assert_int_equal(with_region(call, region, 0, 100), UVMP_OK);
	assert_int_equal(with_region(call, region, 99, 100), UVMP_OK);
	assert_int_equal(with_region(call, region, 0, 101), UVMP_ERR_RANGE);
	assert_int_equal(with_region(call, region, 6, 5), UVMP_ERR_RANGE);
	assert_int_equal(with_region(call, region, 5, 5), UVMP_ERR_RANGE);
	assert_int_equal(with_region(call, region, 0, UINT32_MAX), UVMP_ERR_RANGE);
	assert_int_equal(with_region(call, region, UINT32_MAX, 0), UVMP_ERR_RANGE);
}

static void test_regions(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	check_region(&call, &call.facts.faulted_region);

	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.is_hmm = true;
	check_region(&call, &call.facts.max_region);
	call.facts.is_hmm = false; /* a managed block does not look at it */
	assert_int_equal(decide(&call), UVMP_OK);

	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.range_group = &call.group;
	call.facts.range_groups = 1;
	check_region(&call, &call.group);
}

static void test_nothing_faulted(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	call.faulted = page_text("-");
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.is_follow = true;
	assert_int_equal(decide(&call), UVMP_OK);
	call.facts.faulted_region.outer = 0;
	assert_int_equal(decide(&call), UVMP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_names),           cmocka_unit_test(test_defaults),
	        cmocka_unit_test(test_parameters),      cmocka_unit_test(test_dispatch),
	        cmocka_unit_test(test_missing),         cmocka_unit_test(test_processors),
	        cmocka_unit_test(test_regions),         cmocka_unit_test(test_masks_beyond_the_block),
	        cmocka_unit_test(test_nothing_faulted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
