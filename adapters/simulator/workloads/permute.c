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

/* The least number whose square is at least `count`. */
static uint64_t columns_for(uint64_t count)
{
	uint64_t root = 0; /* of count - 1, rounded down */

	for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1)
		if ((root + bit) * (root + bit) < count)
			root += bit;
	return root + 1;
}

void permutation_init(struct permutation *permutation, uint64_t count, uint64_t *random)
{
	permutation->count = count;
	permutation->columns = columns_for(count);
	permutation->rows = (count + permutation->columns - 1) / permutation->columns;
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

/* -- by a table -- */

uint64_t permutation_table_size(uint64_t count)
{
	return PERMUTE_ROUNDS * columns_for(count);
}

/* Round i has its part of the table at i * columns. Rows are at most as many as columns. */
void permutation_fill_table(const struct permutation *permutation, uint32_t *table)
{
	uint64_t rows = permutation->rows, columns = permutation->columns;

	for (unsigned i = 0; i < PERMUTE_ROUNDS; i += 2) {
		uint32_t *by_column = table + i * columns, *by_row = by_column + columns;

		for (uint64_t column = 0; column < columns; column++)
			by_column[column] = (uint32_t)hash_below(column + permutation->key[i], rows);
		for (uint64_t row = 0; row < rows; row++)
			by_row[row] = (uint32_t)hash_below(row + permutation->key[i + 1], columns);
	}
}

/* Where a row and a column go if no number lies beyond the count. */
static uint64_t place_of(const struct permutation *permutation, const uint32_t *table, uint64_t row, uint64_t column)
{
	uint64_t rows = permutation->rows, columns = permutation->columns;

	for (unsigned i = 0; i < PERMUTE_ROUNDS; i += 2) {
		row = shifted(row, table[column], rows);
		column = shifted(column, table[columns + row], columns);
		table += 2 * columns;
	}
	return row * columns + column;
}

void permutation_list(const struct permutation *permutation, const uint32_t *table, uint64_t first,
		      uint32_t count, uint64_t *to)
{
	uint64_t columns = permutation->columns, row = first / columns, column = first % columns;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t place = place_of(permutation, table, row, column);

		while (place >= permutation->count)
			place = place_of(permutation, table, place / columns, place % columns);
		to[i] = place;
		if (++column == columns) {
			column = 0;
			row++;
		}
	}
}
