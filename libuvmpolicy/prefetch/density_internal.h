/* The density tree in bulk: all nodes of a level are judged at once [driver: density-tree, density-region].
 *
 * Definition (tests/model/naive_density.c has it as plain loops). The tree is binary and has `leaves` leaves, of which
 * some are set. The last node of a level ends with the tree. A node is dense if more than `threshold` percent of its
 * leaves are set. Around each candidate leaf, the largest dense node is chosen.
 *
 * A dense node has a dense child, because one half of it is at least as dense as the whole. So a level without dense
 * nodes ends the search upwards. Chosen nodes are nested in no other chosen node, so the chosen leaves are the union of
 * all dense nodes with a candidate, and a border between two chosen leaves is inside a node if one of these nodes holds
 * both leaves.
 *
 * Counts of set leaves lie side by side in lanes of a word. A node of n leaves is dense from need(n) set leaves on. Each
 * level has a key: in each lane, half of what the lane can hold less the need. A lane whose sum of count and key has the
 * top bit holds a dense node.
 *
 * A row is 16 leaves: a big page, if pages have 4 KiB. A set of rows is a word: row 4 * w + k, bits 16k and up of mask
 * word w, is bit 16k + w. So the rows of word w are `rows >> w & ROWS`. */
#ifndef UVMPOLICY_DENSITY_INTERNAL_H
#define UVMPOLICY_DENSITY_INTERNAL_H

#include "../base/mask_internal.h"

#define ROWS  0x0001000100010001u /* bit 0 of each 16 */
#define BYTES 0x0101010101010101u /* bit 0 of each 8 */

/* What is chosen: the leaves (or rows, or words) of the chosen nodes, and those that have their predecessor in the same
 * node. */
struct density_choice {
	uint64_t chosen, inner;
};

/* Set leaves of all nodes from level 5 (32 leaves) on. */
struct density_counts {
	uint64_t pair[2]; /* level 5: half h of mask word w is byte 4 * h + w % 4 of pair[w / 4] */
	uint64_t word;	  /* level 6: mask word w is byte w */
	uint64_t two;	  /* level 7: in 16 bits each */
	uint64_t four;	  /* level 8: in 32 bits each; the upper 16 of them hold sums of no meaning */
	uint32_t all;
};

/* The same for keys; `all` is the need of the root. */
struct density_keys {
	uint64_t pair[2], word, two, four;
	uint32_t all;
};

/* The whole tree is one node. */
static const struct density_choice density_root = {0x00ff * ROWS, 0x00ff * ROWS - 1u};

/* Rows at which a chosen node begins, and the rows behind the last one of a chosen node. */
static inline uint64_t density_begin(struct density_choice rows)
{
	return (rows.chosen | rows.chosen << 16 | rows.chosen >> 48 << 1) & ~rows.inner;
}

/* Fewest set leaves that make a node of so many leaves dense; threshold is below 100. */
static inline uint32_t density_need(uint32_t leaves, uint32_t threshold)
{
	return leaves * threshold / 100u + 1u;
}

/* Keys of a tree of 512 leaves. The need of a node is that of the root, halved by its levels below the root. */
static inline struct density_keys density_keys(uint32_t threshold)
{
	uint32_t limit = density_need(UVMP_MASK_BITS, threshold) - 1u;
	struct density_keys keys;

	keys.all = limit + 1u;
	keys.four = (uint64_t)(0x7fffu - limit / 2u) * 0x0000000100000001u;
	keys.two = (0x7fffu - limit / 4u) * ROWS;
	keys.word = (0x7fu - limit / 8u) * BYTES;
	keys.pair[0] = keys.pair[1] = (0x7fu - limit / 16u) * BYTES;
	return keys;
}

/* Bit 0 of each 16 bits of which any is set. */
static inline uint64_t density_rows_of(uint64_t word)
{
	const uint64_t low = 0x7fff * ROWS;

	return (((word & low) + low) | word) >> 15 & ROWS;
}

/* Number of rows. */
static inline uint32_t density_row_count(uint64_t rows)
{
	uint32_t bits = (uint32_t)(rows | rows >> 24);

	bits -= bits >> 1 & 0x55555555u;
	bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
	return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/* All leaves of the rows that density_rows_of returns. */
static inline uint64_t density_leaves_of(uint64_t rows)
{
	return (rows << 16) - rows;
}

/* Rows up to the one of leaf `last`. */
static inline uint64_t density_rows_to(uint32_t last)
{
	uint64_t last_word = UVMPI_ALL_ONES >> (48u - last / 16u % 4u * 16u) & ROWS;

	return ROWS * (((uint64_t)1 << last / 64u) - 1u) | last_word << last / 64u;
}

/* Words of which any row is in the set: bit w is word w. */
static inline uint64_t density_words_of(uint64_t rows)
{
	uint64_t words = rows | rows >> 32;

	return (words | words >> 16) & 0xffu;
}

/* Set leaves of the halves of two words: a, b, a, b from the lowest, in 16 bits each, as two bytes to be added. */
static inline uint64_t density_halves(uint64_t a, uint64_t b)
{
	uint64_t nibbles;

	a = uvmpi_nibble_weights(a);
	b = uvmpi_nibble_weights(b);
	nibbles = ((a + (a >> 16)) & 0x0000ffff0000ffffu) | ((b + (b << 16)) & 0xffff0000ffff0000u);
	return uvmpi_byte_weights(nibbles);
}

/* Counts of level 5, of four words of leaves. */
static inline uint64_t density_pairs(const uint64_t word[4])
{
	uint64_t even = density_halves(word[0], word[2]), odd = density_halves(word[1], word[3]);

	return ((even + (even >> 8)) & 0x00ff * ROWS) | ((odd + (odd << 8)) & 0xff00 * ROWS);
}

/* Counts of the levels above, from those of level 5. */
static inline void density_sum(struct density_counts *c)
{
	uint64_t low = c->pair[0] + (c->pair[0] >> 32), high = c->pair[1] + (c->pair[1] >> 32);

	c->word = (uint32_t)low | high << 32;
	c->two = (c->word & 0x00ff * ROWS) + (c->word >> 8 & 0x00ff * ROWS);
	c->four = c->two + (c->two >> 16);
	c->all = (uint32_t)(c->four + (c->four >> 32)) & 0xffffu;
}

/* Level 5: bit w of each 32 says whether that half of word w is dense. */
static inline uint64_t density_dense_pairs(const struct density_counts *counts, const struct density_keys *keys)
{
	uint64_t dense = (counts->pair[0] + keys->pair[0]) >> 7 & BYTES;

	dense |= ((counts->pair[1] + keys->pair[1]) >> 7 & BYTES) << 4;
	dense |= dense >> 7;
	return (dense | dense >> 14) & 0x000000ff000000ffu;
}

/* The same for a tree in which whole rows are set, and no other leaf: one row of two is 50 percent. */
static inline uint64_t density_dense_pairs_of_rows(uint64_t rows, uint32_t threshold)
{
	uint64_t next = rows >> 16;

	return (threshold < 50u ? rows | next : rows & next) & 0x000000ff000000ffu;
}

/* Levels 6 to 8, as sets of words: bit w is word w. A node of several words counts if any of its words has a
 * candidate. */
static inline struct density_choice density_words(const struct density_counts *counts, const struct density_keys *keys,
						  uint64_t candidates)
{
	struct density_choice words = {((counts->word + keys->word) >> 7 & BYTES) * 0x0102040810204080u >> 56, 0};
	uint64_t two = (counts->two + keys->two) >> 15 & ROWS, four = counts->four + keys->four;

	words.chosen &= candidates;
	if (two == 0)
		return words;
	candidates |= candidates >> 1;
	two = two * 0x0000040010004001u >> 42 & candidates & 0x55u;
	candidates |= candidates >> 2;
	four = ((four >> 15 & 1u) | (four >> 43 & 16u)) & candidates;
	words.chosen |= two * 3u | four * 15u;
	words.inner = two << 1 | four * 14u;
	return words;
}

/* Level 5 of a tree in which whole rows are set, and no other leaf. */
static inline void density_pairs_of_rows(uint64_t rows, uint64_t pair[2])
{
	const uint64_t words = 0x0000000f0000000fu, spread = 0x00204081u; /* bit n to bit 8n */

	for (uint32_t i = 0; i < 2u; i++, rows >>= 4)
		pair[i] = (((rows & words) * spread & BYTES) + ((rows >> 16 & words) * spread & BYTES)) * 16u;
}

/* Levels 5 to 9, as sets of rows, added to what smaller nodes choose. `pairs`: what is dense of level 5. `candidates`: rows
 * with a candidate; there is one. */
static inline __attribute__((always_inline)) struct density_choice
density_rows(const struct density_counts *counts, const struct density_keys *keys, uint64_t pairs, uint64_t candidates,
	     struct density_choice rows)
{
	struct density_choice words;

	if (pairs == 0)
		return rows;
	if (counts->all >= keys->all)
		return density_root;
	words = density_words(counts, keys, density_words_of(candidates));
	pairs &= candidates | candidates >> 16;
	rows.chosen |= pairs | pairs << 16 | words.chosen * ROWS;
	rows.inner |= pairs << 16 | words.chosen * (ROWS << 16) | words.inner;
	return rows;
}

/* -- trees of any size, rows that are partly set -- */

/* Keys of levels 1 to 4 in one word. */
struct density_low_keys {
	uint64_t one; /* all ones: one set leaf of two is enough */
	uint64_t four, eight, sixteen;
};

/* What the key of the last node of a level has in addition: the node has only the leaves from `first` to `last`. */
static inline uint64_t density_key_of_last(uint32_t level, uint32_t last, uint32_t threshold)
{
	uint32_t first = last >> level << level;

	return density_need(1u << level, threshold) - density_need(last - first + 1u, threshold);
}

/* Keys of a word of which leaf `last` is the last one. Of two leaves the second may be missing: the first one is then a
 * node by itself, and a candidate is set. */
static inline struct density_low_keys density_low_keys(uint32_t last, uint32_t threshold)
{
	struct density_low_keys keys;

	keys.one = density_need(2, threshold) == 1u ? UVMPI_ALL_ONES : 0;
	keys.four = (0x8u - density_need(4, threshold)) * (BYTES | BYTES << 4);
	keys.eight = (0x80u - density_need(8, threshold)) * BYTES;
	keys.sixteen = (0x8000u - density_need(16, threshold)) * ROWS;
	keys.four += density_key_of_last(2, last, threshold) << (last & ~3u);
	keys.eight += density_key_of_last(3, last, threshold) << (last & ~7u);
	keys.sixteen += density_key_of_last(4, last, threshold) << (last & ~15u);
	return keys;
}

/* Keys of a tree whose last leaf is `last`. */
static inline struct density_keys density_keys_of(uint32_t last, uint32_t threshold)
{
	struct density_keys keys = density_keys(threshold);
	uint32_t word = last / 64u, half = last / 32u % 2u;

	keys.pair[word / 4u] += density_key_of_last(5, last, threshold) << (half * 32u + word % 4u * 8u);
	keys.word += density_key_of_last(6, last, threshold) << word * 8u;
	keys.two += density_key_of_last(7, last, threshold) << word / 2u * 16u;
	keys.four += density_key_of_last(8, last, threshold) << word / 4u * 32u;
	keys.all = density_need(last + 1u, threshold);
	return keys;
}

/* Levels 0 to 4 of a word, as leaves. */
static inline struct density_choice density_leaves(uint64_t set, uint64_t candidates, const struct density_low_keys *keys)
{
	const uint64_t ones = BYTES * 0x55u, fours = BYTES * 0x11u;
	uint64_t two = set - (set >> 1 & ones), four = (two & BYTES * 0x33u) + (two >> 2 & BYTES * 0x33u);
	uint64_t eight = uvmpi_byte_weights(four), sixteen = (eight & 0x00ff * ROWS) + (eight >> 8 & 0x00ff * ROWS);
	uint64_t of_two = (candidates | candidates >> 1) & ones, of_four = (of_two | of_two >> 2) & fours;
	uint64_t of_eight = (of_four | of_four >> 4) & BYTES, of_sixteen = (of_eight | of_eight >> 8) & ROWS;

	two = (two >> 1 | (two & keys->one)) & of_two;
	four = (four + keys->four) >> 3 & of_four;
	eight = (eight + keys->eight) >> 7 & of_eight;
	sixteen = (sixteen + keys->sixteen) >> 15 & of_sixteen;
	return (struct density_choice){candidates | two * 0x3u | four * 0xfu | eight * 0xffu | sixteen * 0xffffu,
				       two << 1 | four * 0xeu | eight * 0xfeu | sixteen * 0xfffeu};
}

#endif
