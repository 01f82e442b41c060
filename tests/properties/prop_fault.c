/* fault.h on random input, from a fixed seed and from one that is printed: fetch equals the naive model and
 * obeys its sum rules; the order is the same from any permutation and stays put when sorted again; bins
 * partition it. What is checked stands in model/fault_case.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "support/seed.h"
#include "model/fault_case.h"
#include "uvmpolicy/base.h"

#define FIXED_SEED  595u
#define FETCH_CASES 1200u
#define ORDER_CASES 300u
#define BYTES_MAX   1025u

typedef const char *case_fn(const uint8_t *data, size_t size);

static void run_cases(case_fn *run, uint32_t cases, uint64_t seed)
{
	uint8_t bytes[BYTES_MAX];
	uint64_t random = seed;

	for (uint32_t i = 0; i < cases; i++) {
		size_t size = (size_t)uvmp_random_below(&random, BYTES_MAX + 1u);
		const char *wrong;

		for (size_t b = 0; b < size; b++)
			bytes[b] = (uint8_t)(uvmp_random_next(&random) >> 56);
		wrong = run(bytes, size);
		if (wrong != NULL)
			fail_msg("seed %" PRIu64 ", case %" PRIu32 ": not true: %s", seed, i, wrong);
	}
}

static void run_with_both_seeds(case_fn *run, uint32_t cases)
{
	uint64_t seed = test_seed();

	run_cases(run, cases, FIXED_SEED);
	run_cases(run, cases, seed);
}

static void test_fetch(void **state)
{
	(void)state;
	run_with_both_seeds(fault_case_fetch, FETCH_CASES);
}

static void test_order_and_bins(void **state)
{
	(void)state;
	run_with_both_seeds(fault_case_order, ORDER_CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fetch),
	        cmocka_unit_test(test_order_and_bins),
	};

	return cmocka_run_group_tests_name("prop_fault", tests, NULL, NULL);
}
