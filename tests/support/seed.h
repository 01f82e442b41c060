/* The seed of a property test that changes from run to run, and is printed: UVMP_TEST_SEED in the environment
 * repeats a run. And how much of a long one is run: UVMP_TEST_SHARE=10 is a tenth, for machines that are
 * emulated. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <inttypes.h>
#include <stdbool.h>
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

static inline uint32_t test_share_of(uint32_t usual)
{
	const char *given = getenv("UVMP_TEST_SHARE");
	unsigned long share = given != NULL ? strtoul(given, NULL, 10) : 1;

	return share > 1 ? usual / (uint32_t)share + 1u : usual;
}

/* Of count cases, is case i one of this run's? All are, or a share that the seed chooses. */
static inline bool test_is_chosen(uint64_t seed, uint32_t i, uint32_t count)
{
	return (i + seed % count) % count < test_share_of(count);
}

#endif
