/* One pass over the accesses for all sizes of memory. A sample has the pages whose hash is below a threshold; distances among
 * them, and counts, are to the true ones as the pages of the sample to all pages (SHARDS, with fixed rate; the pages of the
 * ranges are known, so that the ratio is counted, not expected). Several samples, with hashes of their own, say how far an
 * estimate may be from the truth. */
#include "curve.h"

#include <stdlib.h>
#include <string.h>

#include "lru_stack.h"
#include "page_cache.h"
#include "space.h"
#include "unit_index.h"

const char *const curve_method_names[] = {"exact", "sampled", "run"};

#define USED_LEAST 2u /* samples with a page: fewer have no interval */

/* The pages of one sample, or all pages. */
struct sample {
	struct lru_stack stack;
	struct lru_histogram histogram;
	struct unit_index index; /* only if the sample has not all pages */
	uint64_t salt;
	uint64_t units, kept; /* so many pages there are, and of them so many are in the sample */
	uint32_t least;	      /* hash of all pages: a threshold above has a page in the sample */
	uint64_t fresh;	      /* first accesses to pages without contents */
};

struct pass {
	struct curve_pass *question;
	struct sample sample[CURVE_SAMPLES];
	uint32_t samples;
	bool is_small;	    /* too few samples have a page */
	uint64_t threshold; /* of the upper 32 bits of a hash */
};

/* -- which policies -- */

/* With one agent a batch has one fault, with every value of `batch`, and no page is accessed remotely. */
bool curve_is_stack(const struct uvmp_policy *policy, const char **reason)
{
	struct uvmp_policy plain = *policy, standard;
	const struct sim_run run = {.policy = &plain};

	uvmp_policy_init(&standard);
	plain.replay.max_batch = standard.replay.max_batch;
	if (plain.counters == UVMP_COUNTERS_OFF)
		plain.counters = standard.counters;
	if (!page_cache_suits(&run))
		*reason = "the policy decides on more than single pages on demand";
	else if (policy->evict != UVMP_EVICT_LRU_4K)
		*reason = "the eviction order is no stack algorithm";
	else if (policy->reserve != 0)
		*reason = "with a reserve the eviction order is no stack algorithm";
	else
		return true;
	return false;
}

size_t curve_sizes_of(const struct curve_sizes *sizes, uint64_t footprint_bytes,
		      uint64_t size[CURVE_POINTS_MAX])
{
	uint64_t roots = (footprint_bytes + ROOT_BYTES - 1u) / ROOT_BYTES;
	size_t count = 0, wanted = sizes->count != 0 ? sizes->count : sizes->points;

	for (size_t i = 0; i < wanted; i++) {
		uint64_t bytes = sizes->count != 0 ? sizes->given[i] / ROOT_BYTES
						   : (roots * (i + 1u) + wanted - 1u) / wanted;
		size_t place = count;

		bytes = (bytes != 0 ? bytes : 1u) * ROOT_BYTES;
		while (place > 0 && size[place - 1] > bytes)
			place--;
		if (place > 0 && size[place - 1] == bytes)
			continue;
		memmove(size + place + 1, size + place, (count - place) * sizeof(*size));
		size[place] = bytes;
		count++;
	}
	return count;
}

/* -- accesses -- */

static uint64_t hash(uint64_t unit, uint64_t salt)
{
	uint64_t x = (unit + 1u) * UINT64_C(0x9e3779b97f4a7c15) ^ salt;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static bool is_whole(const struct pass *pass)
{
	return pass->question->parts == CURVE_PARTS;
}

static uint32_t hash_in(const struct sample *sample, uint32_t unit)
{
	return (uint32_t)(hash(unit, sample->salt) >> 32);
}

static bool has(const struct pass *pass, const struct sample *sample, uint32_t unit)
{
	return hash_in(sample, unit) < pass->threshold;
}

/* Has the sample an estimate? One without a page has none, unless there is no page at all. */
static bool is_used(const struct sample *sample)
{
	return sample->kept != 0 || sample->units == 0;
}

static uint32_t count_used(const struct pass *pass)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < pass->samples; i++)
		used += is_used(&pass->sample[i]);
	return used;
}

static void count_range(const struct pass *pass, struct sample *sample, const struct sim_range *range)
{
	uint32_t first = page_rows_first_unit(range);

	sample->units += range->pages;
	if (is_whole(pass))
		sample->kept += range->pages;
	for (uint32_t page = 0; page < range->pages && !is_whole(pass); page++) {
		uint32_t value = hash_in(sample, first + page);

		sample->kept += value < pass->threshold;
		if (value < sample->least)
			sample->least = value;
	}
}

static bool open_samples(void *context, const struct space *space, uint32_t units)
{
	struct pass *pass = context;

	for (uint32_t i = 0; i < pass->samples; i++) {
		struct sample *sample = &pass->sample[i];

		sample->salt = hash(pass->question->seed, i + 1u);
		if (!lru_stack_open(&sample->stack, is_whole(pass) ? units : 0))
			return false;
		sample->least = UINT32_MAX;
		for (size_t k = 0; k < space->ranges; k++)
			count_range(pass, sample, space->range[k]);
	}
	pass->is_small = !is_whole(pass) && count_used(pass) < USED_LEAST;
	return !pass->is_small;
}

static bool access_sample(struct sample *sample, uint32_t unit, bool is_fresh)
{
	uint64_t distance;

	if (!lru_stack_access(&sample->stack, unit, &distance) ||
	    !lru_histogram_add(&sample->histogram, distance))
		return false;
	sample->fresh += is_fresh && distance == LRU_STACK_FIRST;
	return true;
}

static bool access_page(void *context, uint32_t unit, bool is_fresh)
{
	struct pass *pass = context;

	if (is_whole(pass))
		return access_sample(pass->sample, unit, is_fresh);
	for (uint32_t i = 0; i < pass->samples; i++) {
		struct sample *sample = &pass->sample[i];
		uint32_t at;

		if (!has(pass, sample, unit))
			continue;
		if (!unit_index_find(&sample->index, unit, &at) ||
		    (at >= sample->stack.units && !lru_stack_grow(&sample->stack, sample->index.room)) ||
		    !access_sample(sample, at, is_fresh))
			return false;
	}
	return true;
}

/* -- the answer -- */

struct counts {
	uint64_t faults, refaults, arrived, left;
};

/* value * from / to, rounded to the nearest; `from` and `to` are at most UVMP_UNITS_MAX. */
static uint64_t scaled(uint64_t value, uint64_t from, uint64_t to)
{
	return to == 0 ? 0 : value / to * from + (value % to * from + to / 2u) / to;
}

/* What one sample estimates for a memory of so many pages. */
static struct counts estimate(const struct sample *sample, uint64_t pages)
{
	uint64_t units = sample->units, kept = sample->kept, capacity = scaled(pages, kept, units);
	uint64_t again = lru_histogram_above(&sample->histogram, capacity), first = sample->stack.live;
	uint64_t resident = first < capacity ? first : capacity;

	return (struct counts){.faults = scaled(first + again, units, kept),
			       .refaults = scaled(again, units, kept),
			       .arrived = scaled(first + again - sample->fresh, units, kept),
			       .left = scaled(first + again - resident, units, kept)};
}

/* The mean of the samples with a page, and their least and greatest. */
static void answer(const struct pass *pass, struct curve_point *point)
{
	struct counts sum = {0, 0, 0, 0};
	uint32_t used = pass->question->samples;

	point->method = is_whole(pass) ? CURVE_EXACT : CURVE_SAMPLED;
	point->far_faults_low = UINT64_MAX;
	for (uint32_t i = 0; i < pass->samples; i++) {
		struct counts one = estimate(&pass->sample[i], point->memory_bytes / PAGE_BYTES);

		if (!is_used(&pass->sample[i]))
			continue;
		sum.faults += one.faults;
		sum.refaults += one.refaults;
		sum.arrived += one.arrived;
		sum.left += one.left;
		if (one.faults < point->far_faults_low)
			point->far_faults_low = one.faults;
		if (one.faults > point->far_faults_high)
			point->far_faults_high = one.faults;
	}
	point->far_faults = scaled(sum.faults, 1, used);
	point->refaults = scaled(sum.refaults, 1, used);
	point->h2d_bytes = scaled(sum.arrived, 1, used) * PAGE_BYTES;
	point->d2h_bytes = scaled(sum.left, 1, used) * PAGE_BYTES;
}

static int by_least(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* The fewest millionths of the pages with which USED_LEAST samples have a page. */
static uint32_t parts_needed(const struct pass *pass)
{
	uint32_t least[CURVE_SAMPLES];
	uint64_t threshold;

	for (uint32_t i = 0; i < CURVE_SAMPLES; i++)
		least[i] = pass->sample[i].least;
	qsort(least, CURVE_SAMPLES, sizeof(*least), by_least);
	threshold = (uint64_t)least[USED_LEAST - 1u] + 1u;
	return (uint32_t)((threshold * CURVE_PARTS + UINT32_MAX) >> 32);
}

static void describe_small(const struct pass *pass, char error[SOURCE_ERROR_MAX])
{
	uint32_t given = pass->question->parts, needed = parts_needed(pass);

	snprintf(error, SOURCE_ERROR_MAX,
		 "curve: --sample: with %u.%04u %% of %llu pages, fewer than %u of %u samples have a page; "
		 "at least %u.%04u %% is needed",
		 given / 10000u, given % 10000u, (unsigned long long)pass->sample[0].units, USED_LEAST,
		 CURVE_SAMPLES, needed / 10000u, needed % 10000u);
}

enum page_rows_end curve_pass(struct curve_pass *question, struct source *source,
			      char error[SOURCE_ERROR_MAX])
{
	struct pass *pass = calloc(1, sizeof(*pass));
	struct page_rows rows = {.policy = question->policy,
				 .is_serial = question->is_serial,
				 .context = pass,
				 .open = open_samples,
				 .access = access_page};
	uint64_t size[CURVE_POINTS_MAX];
	enum page_rows_end end = PAGE_ROWS_REFUSED;

	question->points = 0;
	question->reason = "memory is short";
	if (!pass)
		return end;
	pass->question = question;
	pass->samples = is_whole(pass) ? 1u : CURVE_SAMPLES;
	pass->threshold = (UINT64_C(1) << 32) * question->parts / CURVE_PARTS;
	end = page_rows_run(&rows, source, error);
	if (pass->is_small) {
		describe_small(pass, error);
		end = PAGE_ROWS_FAILED;
	}
	question->samples = count_used(pass);
	question->reason = rows.reason;
	question->accesses = rows.accesses;
	question->footprint_bytes = rows.footprint_bytes;
	if (end == PAGE_ROWS_DONE)
		question->points = curve_sizes_of(question->sizes, rows.footprint_bytes, size);
	for (size_t i = 0; i < question->points; i++) {
		question->point[i] = (struct curve_point){.memory_bytes = size[i]};
		answer(pass, &question->point[i]);
	}
	for (uint32_t i = 0; i < pass->samples; i++) {
		lru_stack_close(&pass->sample[i].stack);
		lru_histogram_close(&pass->sample[i].histogram);
		unit_index_close(&pass->sample[i].index);
	}
	free(pass);
	return end;
}
