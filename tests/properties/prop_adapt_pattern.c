/* The pattern engine against the model that recomputes everything, after each event of random lives; and a
 * verdict is never taken back (UVM Smart [uvmsmart: invariants]). The model looks at one allocation at a
 * time, so their order is irrelevant. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/seeds.h"
#include "model/pattern_case.h"

static struct pattern_case one;

static void check_life(uint64_t *random, uint32_t events, bool has_ends)
{
	enum uvmp_pattern_verdict before = UVMP_PATTERN_KEEP;

	pattern_case_init(&one);
	for (uint32_t i = 0; i < events; i++) {
		uint32_t number = (uint32_t)uvmp_random_next(random);

		if (!has_ends && (number & 14u) == 2u)
			continue;
		assert_true(pattern_case_step(&one, number));
		assert_true(uvmp_pattern_decide(&one.engine) >= before);
		before = uvmp_pattern_decide(&one.engine);
	}
}

static void check_many(uint64_t seed)
{
	uint64_t random = seed;

	for (uint32_t i = 0; i < 600; i++)
		check_life(&random, 10 + i % 90, i % 4 != 0);
}

int main(void)
{
	return seeds_run(check_many);
}
