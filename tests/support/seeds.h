/* A property test of one check: with seed 1, and with a seed that is printed. Stands behind cmocka.h. */
#ifndef TESTS_SEEDS_H
#define TESTS_SEEDS_H

#include "support/seed.h"

static void (*seeds_check)(uint64_t seed);

static void test_fixed_seed(void **state)
{
	(void)state;
	seeds_check(1);
}

static void test_printed_seed(void **state)
{
	(void)state;
	seeds_check(test_seed());
}

/* Returns the status of the program. */
static inline int seeds_run(void (*check)(uint64_t seed))
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fixed_seed),
	        cmocka_unit_test(test_printed_seed),
	};

	seeds_check = check;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
