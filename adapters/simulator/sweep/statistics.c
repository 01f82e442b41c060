/* Ratios in pairs: see statistics.h. */
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "uvmpolicy/base.h"

#define ALL_MOST   14u	  /* pairs whose subsets are all taken */
#define DRAWS	   19999u /* subsets otherwise */
#define TAIL	   40u	  /* one mean of so many lies outside of the interval, at either end */
#define MEAN_SHIFT 8	  /* further bits of fraction of a mean */
#define MANTISSA   31
#define EXP_MOST   (INT64_C(20) << STATISTICS_BITS)

/* -- logarithms -- */

/* The mantissa is squared: it reaches 2 if the next bit of the logarithm is 1. */
int64_t statistics_log2(uint64_t x)
{
	int whole = 63 - __builtin_clzll(x);
	uint64_t mantissa = whole > MANTISSA ? x >> (whole - MANTISSA) : x << (MANTISSA - whole);
	int64_t log = whole;

	for (int i = 0; i < STATISTICS_BITS; i++) {
		mantissa = mantissa * mantissa >> MANTISSA;
		log = log * 2 + (int64_t)(mantissa >> (MANTISSA + 1));
		mantissa >>= mantissa >> (MANTISSA + 1);
	}
	return log;
}

/* The largest number whose square is at most x < 2^63. */
static uint64_t root(uint64_t x)
{
	uint64_t result = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
		if ((result | bit) * (result | bit) <= x)
			result |= bit;
	return result;
}

/* The product of 2^(1/2), 2^(1/4), ... for the bits of the fraction. */
int64_t statistics_exp2(int64_t log)
{
	uint64_t factor = UINT64_C(1) << MANTISSA, product = factor, half = factor * 2u;
	int64_t whole, fraction;

	if (log >= EXP_MOST)
		return STATISTICS_ONE << 20;
	if (log <= -EXP_MOST)
		return 0;
	fraction = log & ((1 << STATISTICS_BITS) - 1);
	whole = (log - fraction) / (1 << STATISTICS_BITS);
	for (int i = STATISTICS_BITS - 1; i >= 0; i--) {
		half = root(half << MANTISSA);
		if ((fraction >> i & 1) != 0)
			product = (product * half + factor / 2u) >> MANTISSA;
	}
	product = (product * (uint64_t)STATISTICS_ONE + factor / 2u) >> MANTISSA;
	return whole >= 0 ? (int64_t)(product << whole)
			  : (int64_t)((product + (UINT64_C(1) << (-whole - 1))) >> -whole);
}

/* -- subsets -- */

static int64_t mean_of(int64_t sum, size_t count)
{
	return sum * (1 << MEAN_SHIFT) / (int64_t)count;
}

/* The means of all subsets but the empty one. */
static void all_means(const int64_t *log, size_t count, int64_t *mean)
{
	for (uint32_t set = 1; set < UINT32_C(1) << count; set++) {
		int64_t sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += (set >> i & 1u) != 0 ? log[i] : 0;
		mean[set - 1] = mean_of(sum, (size_t)__builtin_popcount(set));
	}
}

static void drawn_means(const int64_t *log, size_t count, int64_t *mean)
{
	uint64_t random = 1;

	for (size_t draw = 0; draw < DRAWS;) {
		uint64_t bits = 0;
		int64_t sum = 0;
		size_t chosen = 0;

		for (size_t i = 0; i < count; i++) {
			bits = i % 64u == 0 ? uvmp_random_next(&random) : bits >> 1;
			chosen += bits & 1u;
			sum += (bits & 1u) != 0 ? log[i] : 0;
		}
		if (chosen != 0)
			mean[draw++] = mean_of(sum, chosen);
	}
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void judge(const int64_t *mean, size_t means, struct statistics *s)
{
	size_t not_above = 0, not_below = 0, tail = (means + 1u) / TAIL, least;

	for (size_t i = 0; i < means; i++) {
		not_above += mean[i] <= 0;
		not_below += mean[i] >= 0;
	}
	least = not_above < not_below ? not_above : not_below;
	s->p = (int64_t)(2u * (least + 1u) * (uint64_t)STATISTICS_ONE / (means + 1u));
	s->p = s->p < STATISTICS_ONE ? s->p : STATISTICS_ONE;
	s->has_interval = tail != 0;
	if (s->has_interval) {
		s->low = mean[tail - 1u] / (1 << MEAN_SHIFT);
		s->high = mean[means - tail] / (1 << MEAN_SHIFT);
	}
}

bool statistics_of(const int64_t *log, size_t count, struct statistics *s)
{
	size_t means = count <= ALL_MOST ? ((size_t)1 << count) - 1u : DRAWS;
	int64_t *mean, sum = 0;

	memset(s, 0, sizeof(*s));
	s->pairs = count;
	s->p = STATISTICS_ONE;
	for (size_t i = 0; i < count; i++) {
		s->less += log[i] < 0;
		s->equal += log[i] == 0;
		s->more += log[i] > 0;
		sum += log[i];
	}
	if (count == 0)
		return true;
	s->mean = sum / (int64_t)count;
	mean = array_zeros(means, sizeof(*mean));
	if (!mean)
		return false;
	if (count <= ALL_MOST)
		all_means(log, count, mean);
	else
		drawn_means(log, count, mean);
	qsort(mean, means, sizeof(*mean), compare);
	judge(mean, means, s);
	free(mean);
	return true;
}
