/* See naive_forest.h. */
#include "model/naive_forest.h"

#include <string.h>

#define BLOCK_BYTES 2097152L

static const long leaf_bytes[] = {65536, 262144, 65536, 16384};
static const long tree_bytes[] = {2097152, 4194304, 524288, 524288};

/* -- classes -- */

static long position(const struct naive_forest *forest, long page)
{
	long divisor = 1;

	while ((forest->all + divisor - 1) / divisor > 65536)
		divisor *= 2;
	return (forest->before + page) / divisor;
}

/* Is R^2 = covariance^2 / (variance * variance) above percent / 100? Numbers below 2^28 are compared exactly, others as
 * floating point. */
static enum naive_forest_class regression(const struct naive_forest *forest, long percent)
{
	double n = 0, x = 0, t = 0, vx = 0, vt = 0, cov = 0, r2;

	for (long p = 0; p < forest->pages; p++) {
		n += forest->time[p] != 0;
		x += forest->time[p] != 0 ? (double)position(forest, p) : 0;
		t += (double)forest->time[p];
	}
	for (long p = 0; p < forest->pages; p++) {
		double dx = n * (double)position(forest, p) - x, dt = n * (double)forest->time[p] - t;

		if (forest->time[p] == 0)
			continue;
		vx += dx * dx / n;
		vt += dt * dt / n;
		cov += dx * dt / n;
	}
	if (vx == 0 || vt == 0)
		return NAIVE_BASE;
	r2 = cov * cov / vx / vt - (double)percent / 100;
	if (r2 < 1e-6 && r2 > -1e-6)
		return NAIVE_UNSURE;
	return r2 > 0 ? NAIVE_LINEAR : NAIVE_BASE;
}

static enum naive_forest_class classify(const struct uvmp_prefetch_params *params, const struct naive_forest *forest)
{
	enum naive_forest_class class = regression(forest, (long)params->forest_linear);
	long lowest = -1, highest = -1;

	if (class != NAIVE_BASE)
		return class;
	for (long p = 0; p < forest->pages; p++) {
		if (forest->time[p] == 0)
			continue;
		highest = p;
		lowest = lowest < 0 ? p : lowest;
	}
	if (lowest < 0 || 100 * (highest - lowest + 1) < (long)params->forest_coverage * forest->all)
		return NAIVE_BASE;
	if (100 * naive_forest_touched(forest) < (long)params->forest_intensity * forest->all)
		return NAIVE_SPARSE;
	return NAIVE_DENSE;
}

long naive_forest_touched(const struct naive_forest *forest)
{
	long count = 0;

	for (long p = 0; p < forest->pages; p++)
		count += forest->time[p] != 0;
	return count;
}

static void forget(struct naive_forest *forest)
{
	memset(forest->time, 0, sizeof(forest->time));
	forest->now = 0;
}

void naive_forest_touch(const struct uvmp_prefetch_params *params, struct naive_forest *forest, long page, uint32_t kernels,
                        enum naive_forest_class other)
{
	enum naive_forest_class class;

	if (forest->kernels != kernels) {
		forest->kernels = kernels;
		forest->rounds = 0;
		forest->is_settled = false;
		forget(forest);
	}
	if (forest->is_settled)
		return;
	forest->now++;
	if (!forest->is_unknown[page])
		forest->time[page] = forest->now;
	if (forest->now < (long)params->forest_window)
		return;
	class = classify(params, forest);
	class = class == NAIVE_UNSURE ? other : class;
	forest->rounds++;
	if (class != NAIVE_BASE || forest->rounds == (long)params->forest_rounds) {
		forest->class = class;
		forest->is_settled = true;
	} else {
		forget(forest);
	}
}

/* -- trees -- */

static long leaf_pages(const struct naive_forest *forest, enum naive_forest_class class)
{
	long pages = leaf_bytes[class] / forest->page_bytes;

	return pages != 0 ? pages : 1;
}

void naive_forest_block(const struct naive_forest *forest, long page, long *first, long *end)
{
	long pages = BLOCK_BYTES / forest->page_bytes, at = (forest->first + page) / pages * pages - forest->first;

	*first = at > 0 ? at : 0;
	*end = at + pages < forest->pages ? at + pages : forest->pages;
}

static long count(const bool set[NAIVE_FOREST_PAGES], long first, long end)
{
	long pages = 0;

	for (long p = first; p < end; p++)
		pages += set[p];
	return pages;
}

static void fill(bool set[NAIVE_FOREST_PAGES], long first, long end)
{
	for (long p = first; p < end; p++)
		set[p] = true;
}

/* Fills the nodes of `size` pages in the block that have a page of `some`, and of whose pages more than the fraction
 * 1 / `part` are there; with `part` 0 regardless of what is there. */
static void fill_nodes(const struct naive_forest *forest, long size, long part, long first, long end,
                       const bool some[NAIVE_FOREST_PAGES], bool there[NAIVE_FOREST_PAGES])
{
	for (long node = -forest->first % size; node < end; node += size) {
		long from = node > first ? node : first, to = node + size < end ? node + size : end;

		if (from < to && count(some, from, to) != 0 && (part == 0 || part * count(there, from, to) > to - from))
			fill(there, from, to);
	}
}

/* The tree of 4 MiB above two blocks. */
static long grow_root(const struct naive_forest *forest, long first, long end, const bool resident[NAIVE_FOREST_PAGES],
                      bool there[NAIVE_FOREST_PAGES])
{
	long pages = BLOCK_BYTES / forest->page_bytes, window = (forest->first + first) / pages;
	long other = window % 2 == 0 ? end : first - 1, from, to, had;

	if (other < 0 || other >= forest->pages)
		return -1;
	naive_forest_block(forest, other, &from, &to);
	had = count(resident, from, to);
	if (2 * (count(there, first, end) + had) <= (end - first) + (to - from))
		return -1;
	fill(there, first, end);
	return had < to - from ? from : -1;
}

long naive_forest_grow(const struct naive_forest *forest, enum naive_forest_class was, long first, long end,
                       const bool faulted[NAIVE_FOREST_PAGES], const bool resident[NAIVE_FOREST_PAGES],
                       bool there[NAIVE_FOREST_PAGES])
{
	long leaf = leaf_pages(forest, forest->class), tree = tree_bytes[forest->class] / forest->page_bytes;
	bool some[NAIVE_FOREST_PAGES];

	memcpy(some, leaf_pages(forest, was) < leaf ? there : faulted, sizeof(some));
	fill_nodes(forest, leaf, 0, first, end, some, there);
	for (long size = 2 * leaf; size <= tree && size <= BLOCK_BYTES / forest->page_bytes; size *= 2)
		fill_nodes(forest, size, 2, first, end, faulted, there);
	return forest->class == NAIVE_LINEAR ? grow_root(forest, first, end, resident, there) : -1;
}
