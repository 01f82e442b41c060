/* A seeded permutation of 0..count-1 in constant memory. */
#ifndef UVMSIM_PERMUTE_H
#define UVMSIM_PERMUTE_H

#include <stdint.h>

#define PERMUTE_ROUNDS 6

struct permutation {
	uint64_t count;
	uint64_t rows, columns; /* the least rectangle of about equal sides that holds count */
	uint64_t key[PERMUTE_ROUNDS];
};

/* count 1..2^62; the keys are drawn from *random. */
void permutation_init(struct permutation *permutation, uint64_t count, uint64_t *random);
/* Where index (below count) goes. */
uint64_t permutation_at(const struct permutation *permutation, uint64_t index);

/* The shifts of all rounds by row or column, so that no index computes them again: entries of the table for a count of
 * at most 2^62, 6 * sqrt(count). */
uint64_t permutation_table_size(uint64_t count);
void permutation_fill_table(const struct permutation *permutation, uint32_t *table);
/* to[i] = permutation_at(first + i), by the table; first + count is at most permutation->count. */
void permutation_list(const struct permutation *permutation, const uint32_t *table, uint64_t first,
		      uint32_t count, uint64_t *to);

#endif
