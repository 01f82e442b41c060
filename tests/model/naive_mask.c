/* Sets of pages as arrays of bool. */
#include "model/naive_mask.h"

void naive_mask_from(struct naive_mask *out, const uvmp_mask *mask)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = (mask->word[p / 64] >> (p % 64) & 1) == 1;
}

void naive_mask_to(uvmp_mask *out, const struct naive_mask *mask)
{
	for (uint32_t w = 0; w < UVMP_MASK_WORDS; w++)
		out->word[w] = 0;
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (mask->page[p])
			out->word[p / 64] += (uint64_t)1 << (p % 64);
}

bool naive_mask_same(const struct naive_mask *a, const uvmp_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (a->page[p] != ((b->word[p / 64] >> (p % 64) & 1) == 1))
			return false;
	return true;
}

bool naive_region_holds(struct uvmp_region region, uint32_t page)
{
	return region.first <= page && page < region.end;
}

uint32_t naive_region_pages(struct uvmp_region region)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		n += naive_region_holds(region, p) ? 1 : 0;
	return n;
}

struct uvmp_region naive_region_intersect(struct uvmp_region a, struct uvmp_region b)
{
	struct naive_mask common;

	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		common.page[p] = naive_region_holds(a, p) && naive_region_holds(b, p);
	return naive_mask_hull(&common);
}

bool naive_mask_is_empty(const struct naive_mask *mask)
{
	return naive_mask_weight(mask) == 0;
}

bool naive_mask_intersects(const struct naive_mask *a, const struct naive_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (a->page[p] && b->page[p])
			return true;
	return false;
}

bool naive_mask_is_subset(const struct naive_mask *a, const struct naive_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (a->page[p] && !b->page[p])
			return false;
	return true;
}

uint32_t naive_mask_weight(const struct naive_mask *mask)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		n += mask->page[p] ? 1 : 0;
	return n;
}

void naive_mask_or(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = a->page[p] || b->page[p];
}

void naive_mask_and(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = a->page[p] && b->page[p];
}

void naive_mask_andnot(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = a->page[p] && !b->page[p];
}

void naive_mask_shift_up(struct naive_mask *out, const struct naive_mask *in, uint32_t pages)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = p >= pages && in->page[p - pages];
}

void naive_mask_shift_down(struct naive_mask *out, const struct naive_mask *in, uint32_t pages)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = (uint64_t)p + pages < NAIVE_PAGES && in->page[p + pages];
}

void naive_mask_region_set(struct naive_mask *mask, struct uvmp_region region)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (naive_region_holds(region, p))
			mask->page[p] = true;
}

void naive_mask_region_clear(struct naive_mask *mask, struct uvmp_region region)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (naive_region_holds(region, p))
			mask->page[p] = false;
}

uint32_t naive_mask_region_weight(const struct naive_mask *mask, struct uvmp_region region)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		n += mask->page[p] && naive_region_holds(region, p) ? 1 : 0;
	return n;
}

bool naive_mask_region_any(const struct naive_mask *mask, struct uvmp_region region)
{
	return naive_mask_region_weight(mask, region) > 0;
}

bool naive_mask_region_all(const struct naive_mask *mask, struct uvmp_region region)
{
	return naive_mask_region_weight(mask, region) == naive_region_pages(region);
}

void naive_mask_region_and(struct naive_mask *out, const struct naive_mask *in, struct uvmp_region region)
{
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		out->page[p] = in->page[p] && naive_region_holds(region, p);
}

uint32_t naive_mask_next(const struct naive_mask *mask, uint32_t from, bool wanted)
{
	for (uint32_t p = from; p < NAIVE_PAGES; p++)
		if (mask->page[p] == wanted)
			return p;
	return NAIVE_PAGES;
}

struct uvmp_region naive_mask_hull(const struct naive_mask *mask)
{
	struct uvmp_region bounds = {0, 0};

	for (uint32_t p = NAIVE_PAGES; p-- > 0;)
		if (mask->page[p])
			bounds.first = p;
	for (uint32_t p = 0; p < NAIVE_PAGES; p++)
		if (mask->page[p])
			bounds.end = p + 1;
	return bounds;
}

struct uvmp_region naive_mask_next_run(const struct naive_mask *mask, uint32_t from)
{
	struct uvmp_region run = {naive_mask_next(mask, from, true), 0};

	if (run.first == NAIVE_PAGES)
		run.first = 0;
	else
		run.end = naive_mask_next(mask, run.first, false);
	return run;
}
