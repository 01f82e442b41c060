/* Weights by fixed-point logarithms: k^-s = 2^(-s log2 k). The relative error of a weight is below 2^-20,
 * beside its rounding to a whole unit. */
#include "zipf.h"

#include <stdlib.h>

#include "array.h"
#include "uvmpolicy/base.h"

#define UNIT_BITS     40
#define FRACTION_BITS 32

/* log2 of k (1 or more), with 32 bits behind the point. Each squaring of the mantissa doubles its logarithm and
 * so gives one more bit. */
static uint64_t log2_of(uint32_t k)
{
	unsigned whole = 31u - (unsigned)__builtin_clz(k);
	uint64_t mantissa = (uint64_t)k << (31 - whole); /* 1..2, with 31 bits behind the point */
	uint64_t log2 = whole;

	for (unsigned i = 0; i < FRACTION_BITS; i++) {
		unsigned bit;

		mantissa = mantissa * mantissa >> 31;
		bit = (unsigned)(mantissa >> 32);
		mantissa >>= bit;
		log2 = log2 << 1 | bit;
	}
	return log2;
}

/* The square root of x, rounded down. */
static uint64_t root_of(uint64_t x)
{
	uint64_t root = 0;

	for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1)
		if ((root + bit) * (root + bit) <= x)
			root += bit;
	return root;
}

/* half[i] is 2^(-2^-(i+1)), with 32 bits behind the point: each the square root of the one before. */
static void fill_halves(uint64_t half[FRACTION_BITS])
{
	uint64_t value = (uint64_t)1 << 31;

	for (unsigned i = 0; i < FRACTION_BITS; i++) {
		value = root_of(value << FRACTION_BITS);
		half[i] = value;
	}
}

static uint64_t weight_of(uint32_t number, uint32_t skew, const uint64_t half[FRACTION_BITS])
{
	uint64_t exponent = log2_of(number) * skew / 100, weight = (uint64_t)1 << UNIT_BITS;
	uint64_t whole = exponent >> FRACTION_BITS;

	for (unsigned i = 0; i < FRACTION_BITS; i++)
		if ((exponent >> (FRACTION_BITS - 1 - i) & 1) != 0)
			weight = (weight >> 8) * half[i] >> (FRACTION_BITS - 8);
	weight = whole > UNIT_BITS ? 0 : weight >> whole;
	return weight != 0 ? weight : 1;
}

bool zipf_init(struct zipf *zipf, uint32_t count, uint32_t skew)
{
	uint64_t half[FRACTION_BITS], sum = 0;

	zipf->count = count;
	zipf->until = array_again(NULL, count, sizeof(*zipf->until));
	if (zipf->until == NULL)
		return false;
	fill_halves(half);
	for (uint32_t i = 0; i < count; i++) {
		sum += weight_of(i + 1, skew, half);
		zipf->until[i] = sum;
	}
	return true;
}

uint32_t zipf_draw(const struct zipf *zipf, uint64_t *random)
{
	uint64_t at = uvmp_random_below(random, zipf->until[zipf->count - 1]);
	uint32_t first = 0, last = zipf->count - 1; /* the number drawn is one of these */

	while (first < last) {
		uint32_t middle = first + (last - first) / 2;

		if (at < zipf->until[middle])
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

void zipf_close(struct zipf *zipf)
{
	free(zipf->until);
	zipf->until = NULL;
}
