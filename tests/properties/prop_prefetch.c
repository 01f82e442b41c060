/* prefetch.h, stride, next, pattern and safe: equality with the naive models over random scripts, and what
 * they promise beside that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/prefetch_script.h"
#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"
#include "support/seed.h"

#define ROUNDS 60

static uint64_t printed_seed;

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

static void for_both_seeds(void (*check)(uint64_t *random))
{
	uint64_t fixed = 1, other = printed_seed;

	for (int i = 0; i < ROUNDS; i++) {
		check(&fixed);
		check(&other);
	}
}

static void equality_with_the_naive_models(uint64_t *random)
{
	uint8_t data[400];

	for (int i = 0; i < 3; i++) {
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)uvmp_random_next(random);
		if (i == 0)
			data[1] = 0,
			data[2] &= 63; /* small blocks, which strides leave often, also of large pages */
		assert_true(prefetch_script_agrees(data, sizeof(data)));
	}
}

/* A regular walk, in either direction and across blocks: once its stride has been seen often enough, one page
 * in stride_depth + 1 faults. */
static void a_regular_walk_faults_once_a_depth(uint64_t *random)
{
	struct prefetch_caller c;
	uint32_t stride = 1 + below(random, 6), faults = 0, walked = 0, expected;
	bool is_down = below(random, 2) == 0;

	prefetch_caller_init(&c, UVMP_PREFETCH_STRIDE, 512, 16 + below(random, 200));
	c.params.stride_depth = 1 + below(random, 12);
	c.params.stride_confidence = 1 + below(random, 4);
	for (uint32_t p = 0; p < 512; p += stride, walked++) {
		uint32_t page = is_down ? 511 - p : p;
		uvmp_mask faulted = {{0}};

		if (uvmp_mask_test(&c.resident, page))
			continue;
		uvmp_mask_set(&faulted, page);
		faults++;
		assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
		assert_true(uvmp_mask_weight(&c.fetched) <= c.params.stride_depth);
		assert_true(c.asked <= c.params.stride_depth + 1);
	}
	expected = c.params.stride_confidence + 1; /* with the last of these the first pages come */
	expected += (walked - expected) / (c.params.stride_depth + 1);
	assert_int_equal(faults, expected);
}

/* One pass over a range: with all of each block on the first fault, the next blocks never fault. */
static void a_pass_faults_once_in_several_blocks(uint64_t *random)
{
	struct prefetch_caller c;
	uint32_t faults = 0, blocks;

	prefetch_caller_init(&c, UVMP_PREFETCH_NEXT, 512, 16 + below(random, 48));
	c.params.next_blocks = 1 + below(random, 8);
	c.params.threshold = 1;
	blocks = (512 + c.block_pages - 1) / c.block_pages;
	for (uint32_t p = 0; p < 512; p++) {
		uvmp_mask faulted = {{0}};

		if (uvmp_mask_test(&c.resident, p))
			continue;
		uvmp_mask_set(&faulted, p);
		faults++;
		assert_int_equal(prefetch_caller_batch(&c, &faulted), UVMP_OK);
		assert_true(c.asked <= c.params.next_blocks + 1);
	}
	assert_int_equal(faults, (blocks + c.params.next_blocks) / (c.params.next_blocks + 1));
}

static uvmp_mask any_pages(uint64_t *random, uint32_t pages)
{
	struct uvmp_region all = {0, pages};
	uvmp_mask mask;

	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++)
		mask.word[w] = uvmp_random_next(random) & uvmp_random_next(random);
	uvmp_mask_region_and(&mask, &mask, all);
	return mask;
}

/* Nothing that is there or faults is fetched, nothing beyond the block, and never what bounces. */
static void decisions_are_sound(uint64_t *random)
{
	for (int i = UVMP_PREFETCH_STRIDE; i <= UVMP_PREFETCH_SAFE; i++) {
		struct prefetch_case c;
		bool is_large = below(random, 4) == 0; /* pages of 64 KiB */
		uint32_t pages = 1 + below(random, is_large ? 32 : 512);
		uvmp_mask thrashing, beyond = {{0}};

		prefetch_case_init(&c, (enum uvmp_prefetcher)i, pages);
		if (is_large)
			(void)uvmp_block_from_shape(pages, 0, 1, &c.facts.block);
		thrashing = any_pages(random, pages);
		c.params.threshold = 1 + below(random, 100);
		c.params.stride_confidence = 1;
		c.facts.thrashing = &thrashing;
		c.facts.utlbs = below(random, 4);
		c.pattern = (struct pattern_block){any_pages(random, pages), 1};
		c.state.block = &c.pattern;
		c.resident = any_pages(random, pages);
		c.pending = any_pages(random, pages);
		c.faulted = any_pages(random, pages);
		uvmp_mask_set(&c.faulted, below(random, pages));
		if (below(random, 2) == 0)
			uvmp_mask_or(&c.pattern.pages, &c.pattern.pages, &c.faulted);
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		assert_int_equal(uvmp_prefetch_decide(&c.params, &c.facts, &c.state, &c.hint), UVMP_OK);
		uvmp_mask_region_set(&beyond, (struct uvmp_region){pages, UVMP_MASK_BITS});
		assert_false(uvmp_mask_intersects(&c.hint.pages, &beyond));
		assert_false(uvmp_mask_intersects(&c.hint.pages, &c.faulted));
		assert_false(uvmp_mask_intersects(&c.hint.pages, &thrashing));
		if (i == UVMP_PREFETCH_STRIDE)
			assert_false(uvmp_mask_intersects(&c.hint.pages, &c.resident));
	}
}

#define PROPERTY(name)                                                                                       \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		for_both_seeds(name);                                                                        \
	}

PROPERTY(equality_with_the_naive_models)
PROPERTY(a_regular_walk_faults_once_a_depth)
PROPERTY(a_pass_faults_once_in_several_blocks)
PROPERTY(decisions_are_sound)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_equality_with_the_naive_models),
	        cmocka_unit_test(test_a_regular_walk_faults_once_a_depth),
	        cmocka_unit_test(test_a_pass_faults_once_in_several_blocks),
	        cmocka_unit_test(test_decisions_are_sound),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
