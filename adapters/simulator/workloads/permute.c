/* A Feistel network over a rectangle: a number is a row and a column; each round shifts one of the two by a
 * keyed hash of the other, round its end, which can be undone, so the whole maps one to one. Numbers beyond
 * the count, less than one column's worth, are sent through again (cycle walking) until they fall inside. */
#include "permute.h"
#include "uvmpolicy/base.h"

/* A hash of x, below bound (at most 2^32). */
static uint64_t hash_below(uint64_t x, uint64_t bound)
{
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return (x >> 32) * bound >> 32;
}

static uint64_t shifted(uint64_t at, uint64_t by, uint64_t length)
{
	return at + by < length ? at + by : at + by - length;
}

void permutation_init(struct permutation *permutation, uint64_t count, uint64_t *random)
{
	uint64_t root = 0; /* of count - 1, rounded down */

	for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1)
		if ((root + bit) * (root + bit) < count)
			root += bit;
	permutation->count = count;
	permutation->columns = root + 1;
	permutation->rows = (count + root) / permutation->columns;
	for (unsigned i = 0; i < PERMUTE_ROUNDS; i++)
		permutation->key[i] = uvmp_random_next(random);
}

uint64_t permutation_at(const struct permutation *permutation, uint64_t index)
{
	uint64_t rows = permutation->rows, columns = permutation->columns;

	do {
		uint64_t row = index / columns, column = index % columns;

		for (unsigned i = 0; i < PERMUTE_ROUNDS; i += 2) {
			row = shifted(row, hash_below(column + permutation->key[i], rows), rows);
			column = shifted(column, hash_below(row + permutation->key[i + 1], columns), columns);
		}
		index = row * columns + column;
	} while (index >= permutation->count);
	return index;
}
