/* Sets of pages, word by word: the functions of mask_internal.h as symbols, and functions that only hosts and tests need. */
#include "mask_internal.h"

void uvmp_mask_zero(uvmp_mask *mask)
{
	uvmpi_mask_zero(mask);
}

void uvmp_mask_copy(uvmp_mask *to, const uvmp_mask *from)
{
	*to = *from;
}

bool uvmp_mask_is_empty(const uvmp_mask *mask)
{
	return uvmpi_mask_is_empty(mask);
}

bool uvmp_mask_equal(const uvmp_mask *a, const uvmp_mask *b)
{
	return uvmpi_mask_equal(a, b);
}

bool uvmp_mask_intersects(const uvmp_mask *a, const uvmp_mask *b)
{
	return uvmpi_mask_intersects(a, b);
}

bool uvmp_mask_is_subset(const uvmp_mask *a, const uvmp_mask *b)
{
	return uvmpi_mask_is_subset(a, b);
}

uint32_t uvmp_mask_weight(const uvmp_mask *mask)
{
	return uvmpi_mask_weight(mask);
}

void uvmp_mask_or(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	uvmpi_mask_or(to, a, b);
}

void uvmp_mask_and(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	uvmpi_mask_and(to, a, b);
}

void uvmp_mask_andnot(uvmp_mask *to, const uvmp_mask *a, const uvmp_mask *b)
{
	uvmpi_mask_andnot(to, a, b);
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
	uvmpi_mask_region_set(mask, region);
}

void uvmp_mask_region_clear(uvmp_mask *mask, struct uvmp_region region)
{
	uvmpi_mask_region_clear(mask, region);
}

uint32_t uvmp_mask_region_weight(const uvmp_mask *mask, struct uvmp_region region)
{
	return uvmpi_mask_region_weight(mask, region);
}

bool uvmp_mask_region_any(const uvmp_mask *mask, struct uvmp_region region)
{
	return uvmpi_mask_region_any(mask, region);
}

bool uvmp_mask_region_all(const uvmp_mask *mask, struct uvmp_region region)
{
	return uvmpi_mask_region_all(mask, region);
}

void uvmp_mask_region_and(uvmp_mask *to, const uvmp_mask *from, struct uvmp_region region)
{
	uvmpi_mask_region_and(to, from, region);
}

uint32_t uvmp_mask_next_set(const uvmp_mask *mask, uint32_t from)
{
	return uvmpi_mask_next_set(mask, from);
}

uint32_t uvmp_mask_next_clear(const uvmp_mask *mask, uint32_t from)
{
	return uvmpi_mask_next_clear(mask, from);
}

struct uvmp_region uvmp_mask_bounds(const uvmp_mask *mask)
{
	return uvmpi_mask_bounds(mask);
}

struct uvmp_region uvmp_mask_next_run(const uvmp_mask *mask, uint32_t from)
{
	return uvmpi_mask_next_run(mask, from);
}
