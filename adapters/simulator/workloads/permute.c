/* A Feistel network over the smallest power of two that holds the count: each round adds a keyed hash of one
 * half of the bits to the other half, which can be undone, so the whole maps one to one. Values beyond the
 * count are sent through again (cycle walking) until they fall inside, less than once on average. */
#include "permute.h"
#include "uvmpolicy/base.h"

static uint64_t bits_mask(unsigned bits)
{
	return ((uint64_t)1 << bits) - 1u;
}

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

void permutation_init(struct permutation *permutation, uint64_t count, uint64_t *random)
{
	unsigned bits = 0;

	while (count - 1u > bits_mask(bits))
		bits++;
	permutation->count = count;
	permutation->high_bits = bits / 2u;
	permutation->low_bits = bits - permutation->high_bits;
	for (unsigned i = 0; i < PERMUTE_ROUNDS; i++)
		permutation->key[i] = uvmp_random_next(random);
}

uint64_t permutation_at(const struct permutation *permutation, uint64_t index)
{
	uint64_t low_mask = bits_mask(permutation->low_bits), high_mask = bits_mask(permutation->high_bits);

	do {
		uint64_t low = index & low_mask, high = index >> permutation->low_bits;

		for (unsigned i = 0; i < PERMUTE_ROUNDS; i += 2) {
			high ^= mix(low + permutation->key[i]) & high_mask;
			low ^= mix(high + permutation->key[i + 1]) & low_mask;
		}
		index = high << permutation->low_bits | low;
	} while (index >= permutation->count);
	return index;
}
