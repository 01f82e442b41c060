/* The seed of a property test that changes from run to run, and is printed: UVMP_TEST_SEED in the environment repeats
 * a run. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t test_seed(void)
{
	const char *given = getenv("UVMP_TEST_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	printf("UVMP_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

#endif
