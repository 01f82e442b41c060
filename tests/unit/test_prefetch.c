/* What all prefetchers share: the table, parameters, the check of the facts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "prefetch/prefetch_auto_internal.h"
#include "support/prefetch_case.h"

/* Prefetchers whose results this file states; a prefetcher that is added later has a test of its own. */
enum { KNOWN = UVMP_PREFETCH_FOREST + 1 };

struct call {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	union prefetch_range range;
	struct pattern_block pattern;
	struct auto_block own;
	uint64_t processor[UVMP_PREFETCH_STATE_MAX / 8u];
	struct uvmp_tree tree;
	uint64_t random;
	uvmp_mask faulted, mask;
	struct uvmp_region group;
};

static const size_t mask_of_facts[] = {
        offsetof(struct uvmp_prefetch_facts, faulted),
        offsetof(struct uvmp_prefetch_facts, resident),
        offsetof(struct uvmp_prefetch_facts, pending),
        offsetof(struct uvmp_prefetch_facts, thrashing),
        offsetof(struct uvmp_prefetch_facts, cpu_resident),
        offsetof(struct uvmp_prefetch_facts, cpu_read_mapped),
};

#define MASKS (sizeof(mask_of_facts) / sizeof(mask_of_facts[0]))

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
	call->facts.faulted_region.end = 6;
	call->facts.to = 1;
	call->facts.has_preferred = false;
	call->facts.preferred = UVMP_PROC_NONE;
	call->facts.range_pages = 100;
	call->group.end = 1;
	call->state.tree = &call->tree;
	call->state.range = &call->range;
	call->state.processor = call->processor;
	call->state.random = &call->random;
	call->random = 1;
	if (prefetcher == UVMP_PREFETCH_PATTERN) {
		call->pattern.pages = page_text("5,8,77"); /* field by field: the padding is compared, too */
		call->pattern.processor = 1;
		call->state.block = &call->pattern;
	}
	if (prefetcher == UVMP_PREFETCH_AUTO) { /* memory is full, and the stay is one of mode dense */
		call->facts.memory = (struct uvmp_prefetch_memory){.pages = 1000, .evicted_pages = 2000};
		call->own.is_known = true;
		call->own.mode = AUTO_DENSE;
		call->own.probe = AUTO_PROBES;
		call->state.block = &call->own;
	}
	if (prefetcher == UVMP_PREFETCH_STRIDE) {
		call->range.stride.streams = 1; /* ..., 1, 3: page 5 continues the stride */
		call->range.stride.stream[0] = (struct stride_stream){3, 2, 2};
	}
	call->params.stride_depth = 1;
	call->facts.utlbs = 2;
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
	static const char *const name[] = {"none",     "density", "tbn",    "sl",   "random",  "sequential",
	                                   "locality", "block",   "stride", "next", "pattern", "safe",
	                                   "forest"};

	(void)state;
	assert_int_equal(sizeof(name) / sizeof(name[0]), KNOWN);
	for (int i = 0; i < KNOWN; i++)
		assert_string_equal(uvmp_prefetch_name((enum uvmp_prefetcher)i), name[i]);
	assert_null(uvmp_prefetch_name(UVMP_PREFETCH_COUNT));
	assert_null(uvmp_prefetch_name((enum uvmp_prefetcher) - 1));
}

static void test_traits(void **state)
{
	const struct uvmp_prefetch_traits *traits;

	(void)state;
	assert_null(uvmp_prefetch_traits_of(UVMP_PREFETCH_COUNT));
	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		traits = uvmp_prefetch_traits_of((enum uvmp_prefetcher)i);
		assert_int_equal(traits->has_tree, i == UVMP_PREFETCH_TBN || i == UVMP_PREFETCH_SL);
		/* what has counted faults in its range or tree must not count them twice */
		assert_in_range(traits->block_bytes, 0, UVMP_PREFETCH_STATE_MAX);
		assert_in_range(traits->range_bytes, 0, UVMP_PREFETCH_STATE_MAX);
		assert_in_range(traits->processor_bytes, 0, UVMP_PREFETCH_STATE_MAX);
		assert_true(!traits->walks_ranges || traits->range_bytes != 0);
		assert_false(traits->may_repeat && (traits->has_tree || traits->walks_ranges));
		assert_true(!traits->has_threshold || traits->is_driver);
		assert_int_equal(traits->is_off, i == UVMP_PREFETCH_NONE);
	}
	assert_true(uvmp_prefetch_traits_of(UVMP_PREFETCH_RANDOM)->has_random);
	assert_true(uvmp_prefetch_traits_of(UVMP_PREFETCH_PATTERN)->has_touches);
	assert_true(uvmp_prefetch_traits_of(UVMP_PREFETCH_SAFE)->has_utlbs);
	traits = uvmp_prefetch_traits_of(UVMP_PREFETCH_NEXT);
	assert_true(traits->is_driver && traits->walks_ranges && traits->has_threshold);
	traits = uvmp_prefetch_traits_of(UVMP_PREFETCH_FOREST);
	assert_true(traits->counts_touches && traits->has_kernels && traits->has_neighbour);
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++)
		assert_int_equal(uvmp_prefetch_traits_of((enum uvmp_prefetcher)i)->has_memory, i == UVMP_PREFETCH_AUTO);
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		traits = uvmp_prefetch_traits_of((enum uvmp_prefetcher)i);
		assert_true(traits->has_one_gpu == (traits->walks_ranges && i != UVMP_PREFETCH_AUTO));
	}
	traits = uvmp_prefetch_traits_of(UVMP_PREFETCH_AUTO);
	assert_true(traits->walks_ranges && traits->is_driver && !traits->may_repeat && !traits->has_threshold);
	assert_int_equal(traits->block_bytes, 16);
	assert_int_equal(traits->range_bytes, 64);
	assert_int_equal(uvmp_prefetch_traits_of(UVMP_PREFETCH_RANDOM)->grouping, UVMP_GROUPING_SINGLE);
	assert_int_equal(uvmp_prefetch_traits_of(UVMP_PREFETCH_STRIDE)->grouping, UVMP_GROUPING_BY_CAUSE);
	assert_int_equal(uvmp_prefetch_traits_of(UVMP_PREFETCH_LOCALITY)->grouping,
	                 UVMP_GROUPING_RUN_TO_FAULT);
}

static void test_defaults(void **state)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state block;

	(void)state;
	uvmp_prefetch_params_init(NULL, UVMP_PREFETCH_TBN);
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_TBN);
	assert_int_equal(params.prefetcher, UVMP_PREFETCH_TBN);
	assert_int_equal(params.threshold, 51); /* [driver: density-parameters] */
	assert_int_equal(params.min_faults, 1);
	assert_int_equal(params.sequential_pages, 1);
	assert_int_equal(params.locality_pages, 128);
	assert_int_equal(params.stride_depth, 4);
	assert_int_equal(params.stride_confidence, 2);
	assert_int_equal(params.next_blocks, 2);
	assert_int_equal(params.next_percent, 90);
	assert_int_equal(params.shared_utlbs, 2);
	assert_int_equal(params.shared_threshold, 1);
	assert_int_equal(params.private_threshold, 99);
	assert_int_equal(params.forest_window, 10000);
	assert_int_equal(params.forest_linear, 80);
	assert_int_equal(params.forest_coverage, 60);
	assert_int_equal(params.forest_intensity, 40);
	assert_int_equal(params.forest_rounds, 10);
	assert_int_equal(params.auto_fault, 0);
	assert_int_equal(params.auto_gap, 64);
	assert_int_equal(params.auto_ahead, 4);
	assert_int_equal(params.auto_batch, 16);
	assert_int_equal(params.auto_chain, 1);
	assert_int_equal(params.auto_price, 8);
	assert_int_equal(params.auto_threshold, 0);
	assert_true(params.quirks);
	assert_true(uvmp_prefetch_params_is_valid(&params));
	uvmp_prefetch_state_init(NULL);
	memset(&block, 0x5a, sizeof(block));
	uvmp_prefetch_state_init(&block);
	assert_int_equal(block.last_proc, UVMP_PROC_NONE);
	assert_int_equal(block.faults, 0);
	assert_null(block.tree);
	assert_null(block.random);
	assert_null(block.block);
	assert_null(block.range);
	assert_null(block.processor);
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
	check_range(offsetof(struct uvmp_prefetch_params, stride_depth), 1, 64);
	check_range(offsetof(struct uvmp_prefetch_params, stride_confidence), 1, 7);
	check_range(offsetof(struct uvmp_prefetch_params, next_blocks), 1, 8);
	check_range(offsetof(struct uvmp_prefetch_params, next_percent), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, shared_utlbs), 2, 4096);
	check_range(offsetof(struct uvmp_prefetch_params, shared_threshold), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, private_threshold), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, forest_window), 16, 65535);
	check_range(offsetof(struct uvmp_prefetch_params, forest_linear), 1, 99);
	check_range(offsetof(struct uvmp_prefetch_params, forest_coverage), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, forest_intensity), 1, 100);
	check_range(offsetof(struct uvmp_prefetch_params, forest_rounds), 1, 255);
	check_range(offsetof(struct uvmp_prefetch_params, auto_fault), 0, 256);
	check_range(offsetof(struct uvmp_prefetch_params, auto_gap), 0, 255);
	check_range(offsetof(struct uvmp_prefetch_params, auto_ahead), 0, 8);
	check_range(offsetof(struct uvmp_prefetch_params, auto_batch), 0, 1024);
	check_range(offsetof(struct uvmp_prefetch_params, auto_chain), 0, 1);
	check_range(offsetof(struct uvmp_prefetch_params, auto_price), 1, 16);
	check_range(offsetof(struct uvmp_prefetch_params, auto_threshold), 0, 100);
	/* [driver: threshold-zero] */
	assert_true(is_valid_with(offsetof(struct uvmp_prefetch_params, threshold), 0, true));
	assert_false(is_valid_with(offsetof(struct uvmp_prefetch_params, threshold), 101, true));
}

/* Those that ask density here (pattern would, had it no pattern). */
static bool is_of_density(int prefetcher)
{
	return prefetcher == UVMP_PREFETCH_DENSITY || prefetcher == UVMP_PREFETCH_NEXT ||
	       prefetcher == UVMP_PREFETCH_SAFE;
}

/* Those that look beyond the block. */
static bool is_asked_again(int prefetcher)
{
	return prefetcher == UVMP_PREFETCH_SEQUENTIAL || prefetcher == UVMP_PREFETCH_LOCALITY ||
	       prefetcher == UVMP_PREFETCH_STRIDE || prefetcher == UVMP_PREFETCH_NEXT ||
	       prefetcher == UVMP_PREFETCH_FOREST || prefetcher == UVMP_PREFETCH_AUTO;
}

/* Every row of the table does something that only its own function does. */
static void test_dispatch(void **state)
{
	static const uint32_t pages[KNOWN] = {
	        [UVMP_PREFETCH_NONE] = 0,      [UVMP_PREFETCH_DENSITY] = 15, [UVMP_PREFETCH_TBN] = 15,
	        [UVMP_PREFETCH_SL] = 15,       [UVMP_PREFETCH_RANDOM] = 1,   [UVMP_PREFETCH_SEQUENTIAL] = 1,
	        [UVMP_PREFETCH_LOCALITY] = 94, [UVMP_PREFETCH_BLOCK] = 99,   [UVMP_PREFETCH_STRIDE] = 1,
	        [UVMP_PREFETCH_NEXT] = 15,     [UVMP_PREFETCH_PATTERN] = 2,  [UVMP_PREFETCH_SAFE] = 99,
	        [UVMP_PREFETCH_FOREST] = 15,
	};

	(void)state;
	for (int i = 0; i < KNOWN; i++) {
		struct call call;

		prepare(&call, (enum uvmp_prefetcher)i);
		assert_int_equal(decide(&call), UVMP_OK);
		assert_int_equal(uvmp_mask_weight(&call.hint.pages), pages[i]);
		assert_int_equal(call.hint.to, i == UVMP_PREFETCH_NONE ? UVMP_PROC_NONE : 1);
		assert_int_equal(call.state.last_proc, is_of_density(i) ? 1 : UVMP_PROC_NONE);
	}
}

static void test_missing(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	assert_int_equal(uvmp_prefetch_decide(NULL, &call.facts, &call.state, &call.hint), UVMP_ERR_ARGUMENT);
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
	prepare(&call, UVMP_PREFETCH_SAFE); /* its own parameters, and those of density */
	call.params.threshold = 101;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_AUTO); /* of its range, and of its processor */
	call.state.range = NULL;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_AUTO);
	call.state.processor = NULL;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_NONE); /* none has no parameter */
	call.params.threshold = 101;
	assert_int_equal(decide(&call), UVMP_OK);
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.block.pages = 513;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.range_groups = 1;
	assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
}

/* Every prefetcher looks at the whole state, also at what it does not need. */
static void test_state(void **state)
{
	struct uvmp_prefetch_state block;
	struct uvmp_tree tree;

	(void)state;
	assert_false(uvmp_prefetch_state_is_valid(NULL));
	uvmp_prefetch_state_init(&block);
	assert_true(uvmp_prefetch_state_is_valid(&block));
	assert_int_equal(uvmp_tree_init(&tree, 8), UVMP_OK);
	block.tree = &tree;
	assert_true(uvmp_prefetch_state_is_valid(&block));
	block.last_proc = UVMP_PROC_NONE + 1u;
	assert_false(uvmp_prefetch_state_is_valid(&block));
	block.last_proc = 0;
	tree.blocks = 5;
	assert_false(uvmp_prefetch_state_is_valid(&block));
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		struct call call;

		prepare(&call, (enum uvmp_prefetcher)i);
		call.state.last_proc = 12345;
		assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
		prepare(&call, (enum uvmp_prefetcher)i);
		call.tree.blocks = 5;
		assert_int_equal(decide(&call), UVMP_ERR_ARGUMENT);
	}
}

/* Who counts what in the tree [uvmsmart: prefetch-batch]; the others leave it alone. */
static void test_tree(void **state)
{
	static const uint32_t root[KNOWN] = {
	        [UVMP_PREFETCH_NONE] = 1,
	        [UVMP_PREFETCH_TBN] = 16,
	        [UVMP_PREFETCH_SL] = 16,
	        [UVMP_PREFETCH_RANDOM] = 2,
	};

	(void)state;
	for (int i = 0; i < KNOWN; i++) {
		struct call call;

		prepare(&call, (enum uvmp_prefetcher)i);
		assert_int_equal(decide(&call), UVMP_OK);
		assert_int_equal(call.tree.node[0], root[i]);
	}
}

static void test_processors(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_NONE);
	call.facts.to = 63;
	call.facts.has_preferred = true;
	call.facts.preferred = 63;
	assert_int_equal(decide(&call), UVMP_OK);
	call.facts.to = UVMP_PROC_NONE;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.to = 0;
	call.facts.has_preferred = true;
	call.facts.preferred = UVMP_PROC_NONE + 1u;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.preferred = UVMP_PROC_NONE;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.has_preferred = false;
	assert_int_equal(decide(&call), UVMP_OK);
	call.facts.preferred = 2; /* and the flag was forgotten */
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
}

/* Facts that are not given are 0: there is no preferred location, neither the CPU nor another. */
static void test_zeroed_facts(void **state)
{
	for (uint32_t dst = 0; dst < 3; dst++) {
		for (int first_touch = 0; first_touch < 2; first_touch++) {
			struct call call;
			uvmp_mask big_page = {{0}};
			struct uvmp_region region = {0, 16};

			prepare(&call, UVMP_PREFETCH_DENSITY);
			memset(&call.facts, 0, sizeof(call.facts));
			uvmp_block_from_shape(512, 0, 16, &call.facts.block);
			uvmp_mask_zero(&call.faulted);
			uvmp_mask_set(&call.faulted, 5);
			call.facts.faulted = &call.faulted;
			call.facts.faulted_region = uvmp_mask_bounds(&call.faulted);
			call.facts.to = dst;
			call.facts.is_first_touch = first_touch != 0;
			assert_int_equal(decide(&call), UVMP_OK);
			uvmp_mask_region_set(&big_page, region);
			uvmp_mask_clear(&big_page, 5);
			assert_int_equal(call.hint.to, dst);
			assert_true(uvmp_mask_equal(&call.hint.pages, &big_page));
		}
	}
	(void)state;
}

/* Field by field: the padding may differ. */
static void assert_same_hint(const struct uvmp_prefetch_hint *hint, const struct uvmp_prefetch_hint *expected)
{
	assert_memory_equal(&hint->pages, &expected->pages, sizeof(hint->pages));
	assert_int_equal(hint->to, expected->to);
	assert_memory_equal(&hint->subtrees, &expected->subtrees, sizeof(hint->subtrees));
	assert_int_equal(hint->follow, expected->follow);
	assert_int_equal(hint->basic_blocks, expected->basic_blocks);
	assert_int_equal(hint->rule, expected->rule);
}

/* No faulted region is the bounds of the faults, and no range is the block alone: each prefetcher decides as with both.
 * The caller's facts stay as they are. */
static void test_empty_region_and_range(void **state)
{
	(void)state;
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		struct call full, zeros, before;

		prepare(&full, (enum uvmp_prefetcher)i);
		full.faulted = page_text("5,21-22");
		full.facts.faulted_region = (struct uvmp_region){5, 23};
		zeros = full;
		zeros.facts.faulted = &zeros.faulted;
		zeros.facts.faulted_region = (struct uvmp_region){0, 0};
		zeros.facts.range_pages = 0;
		zeros.state.tree = &zeros.tree;
		zeros.state.range = &zeros.range;
		zeros.state.processor = zeros.processor;
		zeros.state.random = &zeros.random;
		zeros.state.block = full.state.block == &full.pattern ? (void *)&zeros.pattern
				    : full.state.block != NULL	      ? (void *)&zeros.own
								      : NULL;
		before = zeros;
		assert_int_equal(decide(&full), UVMP_OK);
		assert_int_equal(decide(&zeros), UVMP_OK);
		assert_same_hint(&zeros.hint, &full.hint);
		assert_memory_equal(&zeros.range, &full.range, sizeof(full.range));
		assert_memory_equal(&zeros.processor, &full.processor, sizeof(full.processor));
		assert_memory_equal(&zeros.facts, &before.facts, sizeof(before.facts));
		assert_int_equal(zeros.state.faults, full.state.faults);
	}
}

/* Each of the two alone; a first page needs a range. */
static void test_empty_region_or_range(void **state)
{
	struct call call;

	(void)state;
	prepare(&call, UVMP_PREFETCH_SEQUENTIAL);
	call.facts.range_pages = 0;
	assert_int_equal(decide(&call), UVMP_OK);
	assert_true(call.hint.follow == UVMP_PAGE_NONE);
	call.facts.range_first = 1;
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.facts.range_first = 0;
	call.facts.is_follow = true;
	call.facts.faulted_region.end = 0;
	assert_int_equal(decide(&call), UVMP_OK);

	prepare(&call, UVMP_PREFETCH_SEQUENTIAL);
	call.facts.faulted_region = (struct uvmp_region){0, 0};
	assert_int_equal(decide(&call), UVMP_OK);
	call.faulted = page_text("5,100"); /* beyond the block */
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	call.faulted = page_text("-");
	assert_int_equal(decide(&call), UVMP_ERR_RANGE);
}

/* Page 99 is the last of the block. */
static void test_masks_beyond_the_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < MASKS; i++) {
		struct call call;
		const uvmp_mask *pointer = &call.mask;

		prepare(&call, UVMP_PREFETCH_NONE);
		memcpy((char *)&call.facts + mask_of_facts[i], &pointer, sizeof(pointer));
		call.mask = page_text("99");
		assert_int_equal(decide(&call), UVMP_OK);
		call.mask = page_text("99-100");
		assert_int_equal(decide(&call), UVMP_ERR_RANGE);
		call.mask = page_text("99,511");
		assert_int_equal(decide(&call), UVMP_ERR_RANGE);
	}
}

static enum uvmp_status with_region(struct call *call, struct uvmp_region *region, uint32_t first,
                                    uint32_t end)
{
	region->first = first;
	region->end = end;
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
}

/* Only some ask again; only they take an empty batch. */
static void test_follow(void **state)
{
	(void)state;
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		bool is_known = is_asked_again(i);
		struct call call;

		prepare(&call, (enum uvmp_prefetcher)i);
		call.facts.is_follow = true;
		assert_int_equal(decide(&call), is_known ? UVMP_OK : UVMP_ERR_RANGE);
		prepare(&call, (enum uvmp_prefetcher)i);
		call.facts.is_follow = true;
		call.faulted = page_text("-");
		call.facts.faulted_region.end = 0;
		assert_int_equal(decide(&call), is_known ? UVMP_OK : UVMP_ERR_RANGE);
	}
}

/* -- facts that point into the hint -- */

/* Decides with one mask of the facts in the hint, or in a place of its own. */
static void decide_with(struct call *call, enum uvmp_prefetcher prefetcher, size_t which, unsigned bits,
                        bool is_in_hint)
{
	const uvmp_mask *pointer = is_in_hint ? &call->hint.pages : &call->mask;
	bool is_faulted = mask_of_facts[which] == offsetof(struct uvmp_prefetch_facts, faulted);

	prepare(call, prefetcher);
	call->mask = call->hint.pages = page_text(is_faulted ? "5,7,60" : "8-12,30,61-90");
	call->params.quirks = (bits & 1u) != 0;
	call->facts.to = bits >> 1 & 1u; /* cpu_read_mapped counts for the CPU only */
	call->facts.is_confidential = true;
	call->facts.faulted_region.end = 100;
	call->facts.range_group = &call->group;
	call->facts.range_groups = 1;
	call->params.sequential_pages = 20;
	if (prefetcher == UVMP_PREFETCH_SEQUENTIAL)
		call->range.sequential = (struct sequential_range){.cursor = 3, .budget = 20};
	if (prefetcher == UVMP_PREFETCH_LOCALITY)
		call->range.locality.reach = 70;
	if (prefetcher == UVMP_PREFETCH_STRIDE) {
		call->range.stride.cursor = 3;
		call->range.stride.budget = 20;
	}
	if (prefetcher == UVMP_PREFETCH_NEXT)
		call->range.next.budget = 20;
	call->facts.is_follow = (bits & 4u) != 0;
	memcpy((char *)&call->facts + mask_of_facts[which], &pointer, sizeof(pointer));
	assert_int_equal(decide(call), UVMP_OK);
}

static void check_alias(enum uvmp_prefetcher prefetcher, size_t which, unsigned bits)
{
	struct call apart, within;

	decide_with(&apart, prefetcher, which, bits, false);
	decide_with(&within, prefetcher, which, bits, true);
	assert_true(uvmp_mask_equal(&apart.hint.pages, &within.hint.pages));
	assert_int_equal(apart.hint.to, within.hint.to);
	assert_true(apart.hint.follow == within.hint.follow);
	assert_int_equal(apart.hint.basic_blocks, within.hint.basic_blocks);
	assert_int_equal(apart.state.faults, within.state.faults);
	assert_int_equal(apart.state.last_proc, within.state.last_proc);
	assert_memory_equal(&apart.tree, &within.tree, sizeof(apart.tree));
	assert_memory_equal(&apart.range, &within.range, sizeof(apart.range));
	assert_true(apart.random == within.random);
	assert_memory_equal(&apart.pattern, &within.pattern, sizeof(apart.pattern));
	assert_memory_equal(&apart.own, &within.own, sizeof(apart.own));
	assert_memory_equal(&apart.processor, &within.processor, sizeof(apart.processor));
}

static void test_facts_in_the_hint(void **state)
{
	(void)state;
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		for (size_t which = 0; which < MASKS; which++)
			for (unsigned bits = 0; bits < (is_asked_again(i) ? 8u : 4u); bits++)
				check_alias((enum uvmp_prefetcher)i, which, bits);
	}
}

/* uvmp_prefetch_ats gives a mask, not a hint. */
static void test_ats_in_place(void **state)
{
	uvmp_mask faulted = page_text("5,7"), resident = page_text("0-4,6"), expected = page_text("0-4,6");
	uvmp_mask pages = faulted;
	struct uvmp_region window = {0, 8};

	(void)state;
	assert_int_equal(uvmp_prefetch_ats(51, window, &resident, &pages, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
	pages = resident;
	assert_int_equal(uvmp_prefetch_ats(51, window, &pages, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_traits),
	        cmocka_unit_test(test_names),
	        cmocka_unit_test(test_defaults),
	        cmocka_unit_test(test_parameters),
	        cmocka_unit_test(test_dispatch),
	        cmocka_unit_test(test_missing),
	        cmocka_unit_test(test_processors),
	        cmocka_unit_test(test_regions),
	        cmocka_unit_test(test_masks_beyond_the_block),
	        cmocka_unit_test(test_nothing_faulted),
	        cmocka_unit_test(test_state),
	        cmocka_unit_test(test_tree),
	        cmocka_unit_test(test_zeroed_facts),
	        cmocka_unit_test(test_empty_region_and_range),
	        cmocka_unit_test(test_empty_region_or_range),
	        cmocka_unit_test(test_follow),
	        cmocka_unit_test(test_facts_in_the_hint),
	        cmocka_unit_test(test_ats_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
