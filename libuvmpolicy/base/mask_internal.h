/* Sets of pages inside the library: the functions of mask.h inlined, and passes that do two things in one walk over the words.
 *
 * uvmpi_mask_NAME has the contract of uvmp_mask_NAME. A call of the public function costs more than its eight words. */
#ifndef UVMPOLICY_MASK_INTERNAL_H
#define UVMPOLICY_MASK_INTERNAL_H

#include "bits_internal.h"
#include "uvmpolicy/mask.h"

#define UVMPI_ALL_ONES (~(uint64_t)0)

/* Every word of a mask; the compiler unrolls the loop. */
#define UVMPI_EACH_WORD(i) _Pragma("GCC unroll 8") for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)

/* -- whole sets -- */

/* The mask, or an empty one for NULL. */
static inline const uvmp_mask *uvmpi_mask_or_none(const uvmp_mask *mask)
{
	static const uvmp_mask none = {{0}};

	return mask != NULL ? mask : &none;
}

static inline void uvmpi_mask_zero(uvmp_mask *mask)
{
	UVMPI_EACH_WORD(i)
		mask->word[i] = 0;
}

/* All pages. */
static inline void uvmpi_mask_fill(uvmp_mask *mask)
{
	UVMPI_EACH_WORD(i)
		mask->word[i] = UVMPI_ALL_ONES;
}

static inline bool uvmpi_mask_is_empty(const uvmp_mask *mask)
{
	uint64_t any = 0;

	UVMPI_EACH_WORD(i)
		any |= mask->word[i];
	return any == 0;
}

static inline bool uvmpi_mask_equal(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t differ = 0;

	UVMPI_EACH_WORD(i)
		differ |= a->word[i] ^ b->word[i];
	return differ == 0;
}

static inline bool uvmpi_mask_intersects(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t common = 0;

	UVMPI_EACH_WORD(i)
		common |= a->word[i] & b->word[i];
	return common != 0;
}

/* The same, for sets that mostly meet in their first pages. */
static inline bool uvmpi_mask_meets(const uvmp_mask *a, const uvmp_mask *b)
{
	uint32_t i = 0;

	while (i < UVMP_MASK_WORDS && (a->word[i] & b->word[i]) == 0)
		i++;
	return i < UVMP_MASK_WORDS;
}

static inline bool uvmpi_mask_is_subset(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t outside = 0;

	UVMPI_EACH_WORD(i)
		outside |= a->word[i] & ~b->word[i];
	return outside == 0;
}

static inline void uvmpi_mask_or(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	UVMPI_EACH_WORD(i)
		to->word[i] = a->word[i] | b->word[i];
}

static inline void uvmpi_mask_and(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	UVMPI_EACH_WORD(i)
		to->word[i] = a->word[i] & b->word[i];
}

static inline void uvmpi_mask_andnot(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	UVMPI_EACH_WORD(i)
		to->word[i] = a->word[i] & ~b->word[i];
}

/* The same; returns whether any page is left in *to. */
static inline bool uvmpi_mask_and_any(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t any = 0;

	UVMPI_EACH_WORD(i)
		any |= to->word[i] = a->word[i] & b->word[i];
	return any != 0;
}

static inline bool uvmpi_mask_andnot_any(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t any = 0;

	UVMPI_EACH_WORD(i)
		any |= to->word[i] = a->word[i] & ~b->word[i];
	return any != 0;
}

/* Bits set in each group of four bits, 0..4. */
static inline uint64_t uvmpi_nibble_weights(uint64_t x)
{
	x -= (x >> 1) & 0x5555555555555555u;
	return (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
}

/* The sum of the bytes of x, of bytes that sum up to less than 2^16. */
static inline uint32_t uvmpi_byte_sum(uint64_t x)
{
	x = (x & 0x00ff00ff00ff00ffu) + ((x >> 8) & 0x00ff00ff00ff00ffu);
	return (uint32_t)((x * 0x0001000100010001u) >> 48);
}

/* Three bits of each position become a sum and a carry: *sum + a + b = *sum + 2 * result. */
static inline uint64_t uvmpi_add_bits(uint64_t *sum, uint64_t a, uint64_t b)
{
	uint64_t half = *sum ^ a, carry = (*sum & a) | (half & b);

	*sum = half ^ b;
	return carry;
}

/* Each byte becomes the sum of its two groups of four bits. */
static inline uint64_t uvmpi_byte_weights(uint64_t nibbles)
{
	return (nibbles & 0x0f0f0f0f0f0f0f0fu) + ((nibbles >> 4) & 0x0f0f0f0f0f0f0f0fu);
}

/* Adds the words bit by bit, so that four of them are counted instead of eight: two of weight 1, one of weight 2 and one
 * of weight 4. */
static inline uint32_t uvmpi_mask_weight(const uvmp_mask *mask)
{
	const uint64_t *word = mask->word;
	uint64_t a = word[0], b = word[3], c = word[6], twos, fours, ones;

	twos = uvmpi_add_bits(&a, word[1], word[2]);
	ones = uvmpi_add_bits(&b, word[4], word[5]);
	fours = uvmpi_add_bits(&twos, ones, uvmpi_add_bits(&c, word[7], a));
	ones = uvmpi_nibble_weights(b) + uvmpi_nibble_weights(c);
	twos = uvmpi_nibble_weights(twos) + 2u * uvmpi_nibble_weights(fours);
	return uvmpi_byte_sum(uvmpi_byte_weights(ones) + 2u * uvmpi_byte_weights(twos));
}

/* Keeps the pages that are in `set`, if `page` is; else the pages that are not. */
static inline void uvmpi_mask_keep_same(uvmp_mask *pages, const uvmp_mask *set, uint32_t page)
{
	uint64_t flip = uvmp_mask_test(set, page) ? 0 : UVMPI_ALL_ONES;

	UVMPI_EACH_WORD(i)
		pages->word[i] &= set->word[i] ^ flip;
}

/* -- moving -- */

static inline void uvmpi_mask_shift_up(uvmp_mask *to, const uvmp_mask *from, uint32_t pages)
{
	uint64_t word, carry = 0;

	if (pages >= 64u) {
		uvmp_mask_shift_up(to, from, pages);
		return;
	}
	UVMPI_EACH_WORD(i) {
		word = from->word[i];
		to->word[i] = word << pages | carry;
		carry = word >> 1 >> (63u - pages);
	}
}

static inline void uvmpi_mask_shift_down(uvmp_mask *to, const uvmp_mask *from, uint32_t pages)
{
	uint64_t word, carry = 0;

	if (pages >= 64u) {
		uvmp_mask_shift_down(to, from, pages);
		return;
	}
	_Pragma("GCC unroll 8") for (uint32_t i = UVMP_MASK_WORDS; i-- > 0;)
	{
		word = from->word[i];
		to->word[i] = word >> pages | carry;
		carry = word << 1 << (63u - pages);
	}
}

/* -- regions -- */

/* The words of a region: bits `low` of word `first`, whole words, bits `high` of word `last`; where `first` is `last`, the bits
 * that are in both. */
struct uvmpi_region_words {
	uint32_t first, last;
	uint64_t low, high;
};

/* False: the region is empty. */
static inline bool uvmpi_region_words(struct uvmp_region region, struct uvmpi_region_words *words)
{
	uint32_t end = minimum(region.end, UVMP_MASK_BITS);

	if (region.first >= end)
		return false;
	words->first = region.first / 64u;
	words->last = (end - 1u) / 64u;
	words->low = UVMPI_ALL_ONES << (region.first % 64u);
	words->high = UVMPI_ALL_ONES >> (63u - (end - 1u) % 64u);
	return true;
}

static inline void uvmpi_mask_region_set(uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t bits;

	if (!uvmpi_region_words(region, &w))
		return;
	bits = w.low;
	for (uint32_t i = w.first; i < w.last; i++, bits = UVMPI_ALL_ONES)
		mask->word[i] |= bits;
	mask->word[w.last] |= bits & w.high;
}

static inline void uvmpi_mask_region_clear(uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t bits;

	if (!uvmpi_region_words(region, &w))
		return;
	bits = w.low;
	for (uint32_t i = w.first; i < w.last; i++, bits = UVMPI_ALL_ONES)
		mask->word[i] &= ~bits;
	mask->word[w.last] &= ~(bits & w.high);
}

static inline uint32_t uvmpi_mask_region_weight(const uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint32_t weight = 0;
	uint64_t bits;

	if (!uvmpi_region_words(region, &w))
		return 0;
	bits = w.low;
	for (uint32_t i = w.first; i < w.last; i++, bits = UVMPI_ALL_ONES)
		weight += popcount(mask->word[i] & bits);
	return weight + popcount(mask->word[w.last] & bits & w.high);
}

static inline bool uvmpi_mask_region_any(const uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t bits, any = 0;

	if (!uvmpi_region_words(region, &w))
		return false;
	bits = w.low;
	for (uint32_t i = w.first; i < w.last; i++, bits = UVMPI_ALL_ONES)
		any |= mask->word[i] & bits;
	return (any | (mask->word[w.last] & bits & w.high)) != 0;
}

static inline bool uvmpi_mask_region_all(const uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t bits, missing = 0;

	if (!uvmpi_region_words(region, &w))
		return true;
	bits = w.low;
	for (uint32_t i = w.first; i < w.last; i++, bits = UVMPI_ALL_ONES)
		missing |= ~mask->word[i] & bits;
	return (missing | (~mask->word[w.last] & bits & w.high)) == 0;
}

/* Are all pages of the set in the region, which is not empty? */
static inline bool uvmpi_mask_is_inside(const uvmp_mask *mask, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};
	uint64_t outside;

	(void)uvmpi_region_words(region, &w);
	outside = (mask->word[w.first] & ~w.low) | (mask->word[w.last] & ~w.high);
	for (uint32_t i = 0; i < w.first; i++)
		outside |= mask->word[i];
	for (uint32_t i = w.last + 1u; i < UVMP_MASK_WORDS; i++)
		outside |= mask->word[i];
	return outside == 0;
}

static inline void uvmpi_mask_region_and(uvmp_mask *to, const uvmp_mask *from, struct uvmp_region region)
{
	struct uvmpi_region_words w = {0, 0, 0, 0};

	if (!uvmpi_region_words(region, &w)) {
		uvmpi_mask_zero(to);
		return;
	}
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		to->word[i] = i < w.first || i > w.last ? 0 : from->word[i];
	to->word[w.first] &= w.low;
	to->word[w.last] &= w.high;
}

/* -- walking -- */

/* First page >= from whose bit differs from `flip`'s: flip 0 looks for set bits, all ones for clear ones. */
static inline uint32_t uvmpi_mask_next(const uvmp_mask *mask, uint32_t from, uint64_t flip)
{
	uint32_t i = from / 64u;
	uint64_t word;

	if (from >= UVMP_MASK_BITS)
		return UVMP_MASK_BITS;
	word = (mask->word[i] ^ flip) & (UVMPI_ALL_ONES << (from % 64u));
	while (word == 0) {
		if (++i == UVMP_MASK_WORDS)
			return UVMP_MASK_BITS;
		word = mask->word[i] ^ flip;
	}
	return i * 64u + lowest_bit(word);
}

static inline uint32_t uvmpi_mask_next_set(const uvmp_mask *mask, uint32_t from)
{
	return uvmpi_mask_next(mask, from, 0);
}

static inline uint32_t uvmpi_mask_next_clear(const uvmp_mask *mask, uint32_t from)
{
	return uvmpi_mask_next(mask, from, UVMPI_ALL_ONES);
}

/* Last page <= from that is set, from < UVMP_MASK_BITS. There is one. */
static inline uint32_t uvmpi_mask_last_set(const uvmp_mask *mask, uint32_t from)
{
	uint32_t i = from / 64u;
	uint64_t word = mask->word[i] & UVMPI_ALL_ONES >> (63u - from % 64u);

	while (word == 0)
		word = mask->word[--i];
	return i * 64u + highest_bit(word);
}

static inline struct uvmp_region uvmpi_mask_next_run(const uvmp_mask *mask, uint32_t from)
{
	struct uvmp_region run = {0, 0};
	uint32_t first = uvmpi_mask_next_set(mask, from);

	if (first == UVMP_MASK_BITS)
		return run;
	run.first = first;
	run.end = uvmpi_mask_next_clear(mask, first);
	return run;
}

static inline struct uvmp_region uvmpi_mask_bounds(const uvmp_mask *mask)
{
	struct uvmp_region bounds = {0, 0};
	uint32_t first = uvmpi_mask_next_set(mask, 0), i = UVMP_MASK_WORDS - 1u;

	if (first == UVMP_MASK_BITS)
		return bounds;
	if ((mask->word[4] | mask->word[5] | mask->word[6] | mask->word[7]) == 0)
		i = 3;
	while (mask->word[i] == 0)
		i--;
	bounds.first = first;
	bounds.end = i * 64u + highest_bit(mask->word[i]) + 1u;
	return bounds;
}

#endif
