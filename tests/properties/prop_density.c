/* Density prefetcher: equality with the naive model over all offsets and thresholds, and what must hold for
 * any facts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/seed.h"
#include "model/density_case.h"

#define FIXED_SEED 20200716u
#define BYTES      160u
#define ROUNDS     400u

static uint64_t random_state;

static void random_bytes(uint8_t bytes[BYTES])
{
	for (uint32_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(uvmp_random_next(&random_state) >> 32);
}

static void random_case(struct density_case *c)
{
	uint8_t bytes[BYTES];

	random_bytes(bytes);
	density_case_read(c, bytes, BYTES);
}

static struct uvmp_prefetch_hint decide(const struct density_case *c)
{
	struct uvmp_prefetch_state state = c->state;
	struct uvmp_prefetch_hint hint;

	assert_int_equal(uvmp_prefetch_decide(&c->params, &c->facts, &state, &hint), UVMP_OK);
	return hint;
}

/* Runs the property with the fixed seed and with one that the output names. */
static void with_seeds(void (*property)(void))
{
	uint64_t seed = test_seed();

	random_state = FIXED_SEED;
	property();
	random_state = seed;
	property();
}

static void equals_model(void)
{
	for (uint32_t offset = 0; offset < 16; offset++)
		for (uint32_t threshold = 0; threshold <= 100; threshold++) {
			uint8_t bytes[BYTES];
			struct density_case c;

			random_bytes(bytes);
			bytes[DENSITY_OFFSET] = (uint8_t)offset;
			bytes[DENSITY_THRESHOLD] = (uint8_t)threshold;
			density_case_read(&c, bytes, BYTES);
			assert_int_equal(c.facts.block.offset, offset);
			assert_true(density_case_agrees(&c));
			assert_true(density_case_agrees_ats(&c));
		}
}

/* Other big pages than 16, and everything else that the bytes can say. */
static void equals_model_anywhere(void)
{
	struct density_case c;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		random_case(&c);
		assert_true(density_case_agrees(&c));
		assert_true(density_case_agrees_ats(&c));
	}
}

/* Blocks of whole big pages of every size, with and without thrashing and resident pages. Nothing else limits what is chosen. */
static void equals_model_of_big_pages(void)
{
	for (uint32_t i = 0; i < 8u * ROUNDS; i++) {
		uint32_t pages = 16u + i % 32u * 16u;
		struct uvmp_region beyond = {pages, UVMP_MASK_BITS};
		struct density_case c;

		random_case(&c);
		assert_int_equal(uvmp_block_from_shape(pages, 0, 16, &c.facts.block), UVMP_OK);
		for (uint32_t page = pages; page < UVMP_MASK_BITS; page++) /* folded into the block */
			if (uvmp_mask_test(&c.faulted, page))
				uvmp_mask_set(&c.faulted, page % pages);
		uvmp_mask_region_clear(&c.faulted, beyond);
		uvmp_mask_region_clear(&c.resident, beyond);
		uvmp_mask_region_clear(&c.thrashing, beyond);
		c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
		c.facts.range_groups = 0;
		c.facts.is_hmm = false;
		c.facts.cpu_resident = c.facts.cpu_read_mapped = NULL;
		assert_true(density_case_agrees(&c));
	}
}

/* All sets of faulting big pages of blocks of up to 7 of them, and all thresholds; nothing else is resident. The last node of each
 * level may be a part of one. */
static void equals_model_of_sets(void)
{
	struct density_case c;

	random_case(&c);
	c.facts = (struct uvmp_prefetch_facts){.faulted = &c.faulted, .to = 1, .preferred = UVMP_PROC_NONE};
	for (uint32_t rows = 1; rows <= 7; rows++) {
		assert_int_equal(uvmp_block_from_shape(rows * 16u, 0, 16, &c.facts.block), UVMP_OK);
		for (uint32_t set = 1; set < 1u << rows; set++) {
			uvmp_mask_zero(&c.faulted);
			for (uint32_t row = 0; row < rows; row++)
				if ((set >> row & 1u) != 0)
					uvmp_mask_set(&c.faulted,
					              row * 16u + (uint32_t)uvmp_random_below(&random_state, 16));
			c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
			for (uint32_t threshold = 1; threshold <= 100; threshold++) {
				c.params.threshold = threshold;
				assert_true(density_case_agrees(&c));
			}
		}
	}
}

static void stays_in_bounds(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct density_case c;
		struct uvmp_prefetch_hint hint;
		struct uvmp_region beyond = {0, UVMP_MASK_BITS};

		random_case(&c);
		hint = decide(&c);
		beyond.first = c.facts.block.pages;
		assert_false(uvmp_mask_region_any(&hint.pages, beyond));
		assert_false(uvmp_mask_intersects(&hint.pages, c.facts.faulted));
		if (c.facts.thrashing != NULL)
			assert_false(uvmp_mask_intersects(&hint.pages, c.facts.thrashing));
		assert_true(hint.to == UVMP_PROC_NONE ||
		            (hint.to == c.facts.to && !uvmp_mask_is_empty(&hint.pages)));
	}
}

/* A lower threshold never fetches less. Not so with [driver: padding-clamp], where a larger node can lose
 * pages that a smaller one brings. */
static void lower_threshold_fetches_more(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct density_case c;
		uvmp_mask few, many;

		random_case(&c);
		c.params.quirks = false;
		c.params.threshold = 1u + (uint32_t)uvmp_random_below(&random_state, 100);
		few = decide(&c).pages;
		c.params.threshold = 1u + (uint32_t)uvmp_random_below(&random_state, c.params.threshold);
		many = decide(&c).pages;
		assert_true(uvmp_mask_is_subset(&few, &many));
	}
}

/* More resident pages never fetch less; on a GPU only, as pages that the CPU has mapped are left out. */
static void more_residency_fetches_more(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct density_case c, other;
		uvmp_mask few, many;
		struct uvmp_region beyond = {0, UVMP_MASK_BITS};

		random_case(&c);
		random_case(&other);
		c.params.quirks = false;
		c.params.threshold = 1u + (uint32_t)uvmp_random_below(&random_state, 100);
		c.facts.to = 1;
		few = decide(&c).pages;
		beyond.first = c.facts.block.pages;
		uvmp_mask_or(&c.resident, &c.resident, &other.resident);
		uvmp_mask_region_clear(&c.resident, beyond);
		many = decide(&c).pages;
		assert_true(uvmp_mask_is_subset(&few, &many));
	}
}

static void order_of_groups_is_free(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct density_case c;
		struct uvmp_prefetch_hint before, after;
		struct uvmp_region swap;

		random_case(&c);
		before = decide(&c);
		if (c.facts.range_groups < 2)
			continue;
		swap = c.group[0];
		c.group[0] = c.group[c.facts.range_groups - 1u];
		c.group[c.facts.range_groups - 1u] = swap;
		after = decide(&c);
		assert_true(uvmp_mask_equal(&before.pages, &after.pages));
		assert_int_equal(before.to, after.to);
	}
}

#define PROPERTY(name)                                                                                       \
	static void prop_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		with_seeds(name);                                                                            \
	}

PROPERTY(equals_model)
PROPERTY(equals_model_anywhere)
PROPERTY(equals_model_of_big_pages)
PROPERTY(equals_model_of_sets)
PROPERTY(stays_in_bounds)
PROPERTY(lower_threshold_fetches_more)
PROPERTY(more_residency_fetches_more)
PROPERTY(order_of_groups_is_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(prop_equals_model),
	        cmocka_unit_test(prop_equals_model_anywhere),
	        cmocka_unit_test(prop_equals_model_of_big_pages),
	        cmocka_unit_test(prop_equals_model_of_sets),
	        cmocka_unit_test(prop_stays_in_bounds),
	        cmocka_unit_test(prop_lower_threshold_fetches_more),
	        cmocka_unit_test(prop_more_residency_fetches_more),
	        cmocka_unit_test(prop_order_of_groups_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
