/* Sets of pages, word by word. A region becomes, for each word, the bits of that word which it covers. */
#include "uvmpolicy/mask.h"

#include "bits_internal.h"

#define ALL_ONES (~(uint64_t)0)

/* Bits of word `index` that lie in the region. */
static uint64_t region_word(struct uvmp_region region, uint32_t index)
{
	uint32_t base = index * 64u;
	uint64_t bits = ALL_ONES;

	if (region.first >= base + 64u || region.end <= base || uvmp_region_is_empty(region))
		return 0;
	if (region.first > base)
		bits &= ALL_ONES << (region.first - base);
	if (region.end < base + 64u)
		bits &= ALL_ONES >> (base + 64u - region.end);
	return bits;
}

/* The words that a region has bits in: from word_first on, and below word_end. Most regions are short. */
static uint32_t word_first(struct uvmp_region region)
{
	return region.first / 64u;
}

static uint32_t word_end(struct uvmp_region region)
{
	return uvmp_region_is_empty(region) ? 0 : (minimum(region.end, UVMP_MASK_BITS) + 63u) / 64u;
}

void uvmp_mask_zero(uvmp_mask *mask)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		mask->word[i] = 0;
}

void uvmp_mask_copy(uvmp_mask *to, const uvmp_mask *from)
{
	*to = *from;
}

bool uvmp_mask_is_empty(const uvmp_mask *mask)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		any |= mask->word[i];
	return any == 0;
}

bool uvmp_mask_equal(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t differ = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		differ |= a->word[i] ^ b->word[i];
	return differ == 0;
}

bool uvmp_mask_intersects(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t common = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		common |= a->word[i] & b->word[i];
	return common != 0;
}

bool uvmp_mask_is_subset(const uvmp_mask *a, const uvmp_mask *b)
{
	uint64_t outside = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		outside |= a->word[i] & ~b->word[i];
	return outside == 0;
}

uint32_t uvmp_mask_weight(const uvmp_mask *mask)
{
	uint32_t weight = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		weight += popcount(mask->word[i]);
	return weight;
}

void uvmp_mask_or(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		to->word[i] = a->word[i] | b->word[i];
}

void uvmp_mask_and(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		to->word[i] = a->word[i] & b->word[i];
}

void uvmp_mask_andnot(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		to->word[i] = a->word[i] & ~b->word[i];
}

void uvmp_mask_shift_up(uvmp_mask *to, const uvmp_mask *from, uint32_t pages)
{
	uint32_t words = pages / 64u, bits = pages % 64u;

	for (uint32_t i = UVMP_MASK_WORDS; i-- > 0;) {
		uint64_t high = i >= words ? from->word[i - words] << bits : 0;
		uint64_t low = bits != 0 && i > words ? from->word[i - words - 1u] >> (64u - bits) : 0;

		to->word[i] = high | low;
	}
}

void uvmp_mask_shift_down(uvmp_mask *to, const uvmp_mask *from, uint32_t pages)
{
	uint32_t words = pages / 64u, bits = pages % 64u;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint32_t word = words < UVMP_MASK_WORDS ? i + words : UVMP_MASK_WORDS;
		uint64_t low = word < UVMP_MASK_WORDS ? from->word[word] >> bits : 0;
		uint64_t high =
		        bits != 0 && word + 1u < UVMP_MASK_WORDS ? from->word[word + 1u] << (64u - bits) : 0;

		to->word[i] = low | high;
	}
}

struct uvmp_region uvmp_region_intersect(struct uvmp_region a, struct uvmp_region b)
{
	struct uvmp_region r = {a.first > b.first ? a.first : b.first, minimum(a.end, b.end)};

	if (uvmp_region_is_empty(r))
		r.first = r.end = 0;
	return r;
}

void uvmp_mask_region_set(uvmp_mask *mask, struct uvmp_region region)
{
	for (uint32_t i = word_first(region); i < word_end(region); i++)
		mask->word[i] |= region_word(region, i);
}

void uvmp_mask_region_clear(uvmp_mask *mask, struct uvmp_region region)
{
	for (uint32_t i = word_first(region); i < word_end(region); i++)
		mask->word[i] &= ~region_word(region, i);
}

uint32_t uvmp_mask_region_weight(const uvmp_mask *mask, struct uvmp_region region)
{
	uint32_t weight = 0;

	for (uint32_t i = word_first(region); i < word_end(region); i++)
		weight += popcount(mask->word[i] & region_word(region, i));
	return weight;
}

bool uvmp_mask_region_any(const uvmp_mask *mask, struct uvmp_region region)
{
	uint64_t any = 0;

	for (uint32_t i = word_first(region); i < word_end(region); i++)
		any |= mask->word[i] & region_word(region, i);
	return any != 0;
}

bool uvmp_mask_region_all(const uvmp_mask *mask, struct uvmp_region region)
{
	uint64_t missing = 0;

	for (uint32_t i = word_first(region); i < word_end(region); i++)
		missing |= region_word(region, i) & ~mask->word[i];
	return missing == 0;
}

void uvmp_mask_region_and(uvmp_mask *to, const uvmp_mask *from, struct uvmp_region region)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		to->word[i] = from->word[i] & region_word(region, i);
}

/* First page >= from whose bit differs from `flip`'s: flip 0 looks for set bits, all ones for clear ones. */
static uint32_t next_bit(const uvmp_mask *mask, uint32_t from, uint64_t flip)
{
	uint32_t i = from / 64u;
	uint64_t word;

	if (from >= UVMP_MASK_BITS)
		return UVMP_MASK_BITS;
	word = (mask->word[i] ^ flip) & (ALL_ONES << (from % 64u));
	while (word == 0) {
		if (++i == UVMP_MASK_WORDS)
			return UVMP_MASK_BITS;
		word = mask->word[i] ^ flip;
	}
	return i * 64u + lowest_bit(word);
}

uint32_t uvmp_mask_next_set(const uvmp_mask *mask, uint32_t from)
{
	return next_bit(mask, from, 0);
}

uint32_t uvmp_mask_next_clear(const uvmp_mask *mask, uint32_t from)
{
	return next_bit(mask, from, ALL_ONES);
}

struct uvmp_region uvmp_mask_bounds(const uvmp_mask *mask)
{
	struct uvmp_region bounds = {0, 0};
	uint32_t i = UVMP_MASK_WORDS;
	uint64_t word;

	if (uvmp_mask_is_empty(mask))
		return bounds;
	bounds.first = next_bit(mask, 0, 0);
	while (mask->word[i - 1u] == 0)
		i--;
	word = mask->word[i - 1u];
	for (uint32_t shift = 1; shift < 64u; shift *= 2u)
		word |= word >> shift; /* smear the highest bit down */
	bounds.end = (i - 1u) * 64u + popcount(word);
	return bounds;
}

struct uvmp_region uvmp_mask_next_run(const uvmp_mask *mask, uint32_t from)
{
	struct uvmp_region run = {0, 0};
	uint32_t first = next_bit(mask, from, 0);

	if (first == UVMP_MASK_BITS)
		return run;
	run.first = first;
	run.end = next_bit(mask, first, ALL_ONES);
	return run;
}
