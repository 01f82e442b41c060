/* UVM Smart's access counters (counter.h) against tests/model/naive_counter_leaf.c over random scripts; the
 * tests of memory (pressure.h) and the decision to migrate against real 32-bit floating point; and what must
 * hold for any:
 *  - the threshold grows with `threshold`, `penalty`, round trips and occupancy;
 *  - a store migrates; oversub is off until memory is over-subscribed;
 *  - without quirks no access changes round trips, and a node counts at least what its children do;
 *  - scaling by 1 is 1 or more just when demand is not below supply. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/naive_counter_leaf.h"
#include "support/seeds.h"
#include "vectors/reference/counter_tree.h"

static uint64_t random_state;

struct source {
	uint32_t left;
};

static uint32_t below(uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&random_state, bound);
}

static uint32_t draw(void *source, uint32_t bound)
{
	(void)source;
	return below(bound);
}

static bool is_over(void *source)
{
	struct source *steps = source;

	return steps->left-- == 0;
}

static void check_scripts(void)
{
	for (int i = 0; i < 200; i++) {
		struct source steps = {100};

		assert_true(naive_leaf_compare(draw, is_over, &steps, below(2) == 0));
	}
}

/* Without quirks: rounds are never touched by accesses, and sums of children never exceed their parent. */
static void check_corrected(void)
{
	struct uvmp_counter_tree tree;

	assert_int_equal(uvmp_counter_tree_init(&tree, 8), UVMP_OK);
	for (int i = 0; i < 2000; i++) {
		struct uvmp_counter_access access = {.block = below(8), .is_write = below(2) == 0};
		uint32_t rounds = uvmp_counter_tree_rounds(&tree, access.block);

		if (below(20) == 0) /* all of the path, as that many accesses would */
			for (uint32_t size = 1, more = below(30000000); size <= 8; size *= 2) {
				uint32_t first = access.block / size * size;
				uint32_t word = uvmp_counter_tree_word(&tree, first, size);

				if (uvmp_counter_tree_count(&tree, access.block) + more >
				            UVMP_COUNTER_COUNT_MAX &&
				    size == 1)
					break;
				assert_int_equal(counter_tree_set_word(&tree, first, size, word + more),
				                 UVMP_OK);
			}
		if (below(50) == 0) {
			uvmp_counter_tree_round_trip(&tree, false);
			rounds = uvmp_counter_tree_rounds(&tree, access.block);
		}
		assert_int_equal(uvmp_counter_record(&tree, 1, &access, false), UVMP_OK);
		assert_int_equal(uvmp_counter_tree_rounds(&tree, access.block), rounds);
		for (uint32_t size = 2; size <= 8; size *= 2)
			for (uint32_t first = 0; first < 8; first += size) {
				uint32_t half = size / 2;
				uint64_t left = half == 1 ? uvmp_counter_tree_count(&tree, first)
				                          : uvmp_counter_tree_word(&tree, first, half);
				uint64_t right = half == 1
				                         ? uvmp_counter_tree_count(&tree, first + 1)
				                         : uvmp_counter_tree_word(&tree, first + half, half);

				assert_true(uvmp_counter_tree_word(&tree, first, size) >= left + right);
			}
	}
}

/* Of any size; half of them close to equality. */
static uint64_t pages(void)
{
	return uvmp_random_below(&random_state, (uint64_t)1 << below(41)) + below(2);
}

static struct uvmp_pressure draw_pressure(void)
{
	struct uvmp_pressure pressure = {.total_pages = pages() + 1, .quirks = below(2) == 0};
	uint64_t spare;

	pressure.free_pages =
	        below(8) == 0 ? pages() : uvmp_random_below(&random_state, pressure.total_pages);
	pressure.buffer_percent = below(3) == 0 ? 0 : below(101);
	pressure.leaving_pages = below(2) == 0 ? 0 : pages();
	pressure.incoming_pages = below(2) == 0 ? 0 : pages();
	spare = pressure.free_pages + pressure.leaving_pages;
	if (below(2) == 0 && spare <= UVMP_PRESSURE_PAGES_MAX - 2)
		pressure.incoming_pages = spare + below(3);
	return pressure;
}

static void check_pressure(void)
{
	for (int i = 0; i < 20000; i++) {
		struct uvmp_pressure pressure = draw_pressure();
		uint32_t ts = (uint32_t)(pages() & UINT32_MAX);
		double expected;
		uint64_t scaled;

		assert_true(uvmp_pressure_is_valid(&pressure) ||
		            pressure.total_pages > UVMP_PRESSURE_PAGES_MAX);
		if (!uvmp_pressure_is_valid(&pressure))
			continue;
		assert_int_equal(uvmp_pressure_is_over(&pressure), naive_pressure_is_over(&pressure));
		expected = naive_pressure_threshold(&pressure, ts);
		scaled = uvmp_pressure_scale(&pressure, ts);
		if (expected < 9007199254740992.0)
			assert_true(scaled + 1 == (uint64_t)expected);
		else
			assert_true(scaled >= 9007199254740991u);
		assert_true(scaled <= uvmp_pressure_scale(&pressure, UINT32_MAX));
		if (uvmp_pressure_is_over(&pressure))
			assert_true(uvmp_pressure_scale(&pressure, 1) >= 1);
	}
}

static uint64_t threshold(const struct uvmp_remote_params *params, const struct uvmp_remote_facts *facts)
{
	struct uvmp_remote_verdict verdict;

	assert_int_equal(uvmp_remote_decide(params, facts, &verdict), UVMP_OK);
	assert_int_equal(verdict.migrates, facts->count >= verdict.threshold);
	return verdict.threshold;
}

static void check_remote(void)
{
	for (int i = 0; i < 5000; i++) {
		struct uvmp_remote_params params = {below(UVMP_REMOTE_AUTO), below(2000), below(2000)};
		struct uvmp_remote_facts facts = {.count = below(134217728),
		                                  .rounds = below(31),
		                                  .is_oversubscribed = below(2) == 0,
		                                  .pressure = draw_pressure()};
		uint64_t before;

		if (!uvmp_pressure_is_valid(&facts.pressure))
			continue;
		before = threshold(&params, &facts);
		if (params.remote == UVMP_REMOTE_OVERSUB && !facts.is_oversubscribed)
			assert_int_equal(before, 0);
		params.threshold++;
		assert_true(threshold(&params, &facts) >= before);
		params.penalty++;
		assert_true(threshold(&params, &facts) >= before);
		facts.rounds++;
		assert_true(threshold(&params, &facts) >= before);
		if (facts.pressure.incoming_pages < UVMP_PRESSURE_PAGES_MAX)
			facts.pressure.incoming_pages++;
		assert_true(threshold(&params, &facts) >= before);
		facts.is_write = true;
		assert_int_equal(threshold(&params, &facts), 0);
	}
}

static void check_all(uint64_t seed)
{
	random_state = seed;
	check_scripts();
	check_corrected();
	check_pressure();
	check_remote();
}

int main(void)
{
	return seeds_run(check_all);
}
