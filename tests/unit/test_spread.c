/* Tests of spreads against the sorted numbers themselves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "spread.h"

#define MOST 3000

static struct spread spread;

/* xorshift */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The least number that at least so many percent of all are not above. */
static uint64_t sorted_percentile(const uint64_t *sorted, uint64_t count, uint64_t percent)
{
	uint64_t i = 0;

	while ((i + 1) * 100 < count * percent)
		i++;
	return sorted[i];
}

static void assert_as_sorted(uint64_t *number, uint64_t count)
{
	uint64_t sum = 0;

	qsort(number, (size_t)count, sizeof(*number), by_value);
	for (uint64_t i = 0; i < count; i++)
		sum += number[i];
	assert_true(spread.count == count && spread.sum == sum);
	assert_true(spread.least == number[0] && spread.most == number[count - 1]);
	assert_true(spread_mean(&spread) == sum / count);
	for (uint32_t percent = 0; percent <= 100; percent++) {
		uint64_t exact = sorted_percentile(number, count, percent);
		uint64_t got = spread_percentile(&spread, percent);

		if (got < exact || got - exact > exact / 64 || got > spread.most)
			fail_msg("%u %% of %llu: %llu instead of %llu", percent, (unsigned long long)count,
			         (unsigned long long)got, (unsigned long long)exact);
		if (exact < 128)
			assert_true(got == exact);
	}
	assert_true(spread_percentile(&spread, 100) == spread.most);
	assert_true(spread_percentile(&spread, 101) == spread.most);
}

static void nothing(void **state)
{
	(void)state;
	memset(&spread, 0, sizeof(spread));
	assert_true(spread_mean(&spread) == 0);
	for (uint32_t percent = 0; percent <= 100; percent += 50)
		assert_true(spread_percentile(&spread, percent) == 0);
}

static void one_number(void **state)
{
	static const uint64_t number[] = {0,
	                                  1,
	                                  63,
	                                  64,
	                                  65,
	                                  127,
	                                  128,
	                                  129,
	                                  4095,
	                                  4096,
	                                  UINT64_MAX / 2,
	                                  UINT64_MAX / 2 + 1,
	                                  UINT64_MAX - 1,
	                                  UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++) {
		uint64_t copy = number[i];

		memset(&spread, 0, sizeof(spread));
		spread_add(&spread, number[i]);
		assert_as_sorted(&copy, 1);
		assert_true(spread_percentile(&spread, 0) == number[i]);
	}
}

/* Where one bin ends and the next begins: with a greater number behind it the bin's end shows. */
static void ends_of_bins(void **state)
{
	uint32_t bins = 0;

	(void)state;
	for (uint64_t first = 0; bins < SPREAD_BINS; bins++) {
		uint64_t width = 1, end;

		for (uint64_t power = 128; power != 0 && power <= first; power *= 2)
			width *= 2;
		end = first + (width - 1);
		for (int side = 0; side < 2; side++) {
			memset(&spread, 0, sizeof(spread));
			spread_add(&spread, side == 0 ? first : end);
			spread_add(&spread, UINT64_MAX);
			if (spread_percentile(&spread, 50) != end || spread.bin[bins] < 1)
				fail_msg("bin %u", bins);
		}
		first = end + 1;
		assert_true((first == 0) == (bins == SPREAD_BINS - 1)); /* the last one ends at 2^64 - 1 */
	}
}

/* Magnitudes are as likely as each other. */
static void random_numbers(void **state)
{
	static uint64_t number[MOST];
	uint64_t random = 88172645463325252;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		uint64_t count = 1 + next_random(&random) % (round < 30 ? 20 : MOST);
		unsigned bits = round % 3 == 0 ? 8 : 52; /* sums fit */

		memset(&spread, 0, sizeof(spread));
		for (uint64_t i = 0; i < count; i++) {
			number[i] = next_random(&random) >> (64 - 1 - next_random(&random) % bits);
			spread_add(&spread, number[i]);
		}
		assert_as_sorted(number, count);
	}
}

static void full_bins_and_sums(void **state)
{
	(void)state;
	memset(&spread, 0, sizeof(spread));
	spread_add(&spread, 5);
	spread.bin[5] = UINT32_MAX - 1;
	spread_add(&spread, 5);
	assert_true(spread.bin[5] == UINT32_MAX);
	spread_add(&spread, 5);
	assert_true(spread.bin[5] == UINT32_MAX && spread.count == 3);
	/* more came than bins hold */
	spread.count = UINT64_C(1) << 40;
	spread_add(&spread, 9);
	assert_true(spread_percentile(&spread, 0) == 5);
	assert_true(spread_percentile(&spread, 100) == 9);
	assert_true(spread_percentile(&spread, 50) == 9);
	/* percent times count does not fit */
	spread.count = UINT64_MAX;
	assert_true(spread_percentile(&spread, 99) == 9);

	memset(&spread, 0, sizeof(spread));
	spread_add(&spread, UINT64_MAX - 1);
	spread_add(&spread, 1);
	assert_true(spread.sum == UINT64_MAX && spread_mean(&spread) == UINT64_MAX / 2);
	spread_add(&spread, 1);
	assert_true(spread.sum == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(nothing),
	        cmocka_unit_test(one_number),
	        cmocka_unit_test(ends_of_bins),
	        cmocka_unit_test(random_numbers),
	        cmocka_unit_test(full_bins_and_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
