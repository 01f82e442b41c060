/* Properties of evict.h on random histories: the recency list equals a plain array that is searched; no order loses or
 * doubles a unit; the orders of `is_sorted` are what sorting plain numbers gives. auto has a model of its own
 * (prop_evict_auto.c). Orders without a model have a test of their own and are named in the output. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/seed.h"
#include "model/naive_recency.h"
#include "base/bits_internal.h"
#include "evict/recency_internal.h"

#define UNITS_MAX 200u
#define HISTORIES 60
#define STEPS     400
#define LONG_STEPS 10000

static uint64_t seeds[2];

static void assert_same(const struct recency *list, const struct naive_recency *naive)
{
	uint32_t forward = uvmpi_recency_oldest(list), backward = uvmpi_recency_older(list, UVMP_UNIT_NONE);

	assert_true(uvmpi_recency_is_valid(list, naive->count));
	for (uint32_t i = 0; i < naive->count; i++) {
		assert_int_equal(forward, naive->unit[i]);
		assert_int_equal(backward, naive->unit[naive->count - 1 - i]);
		forward = uvmpi_recency_next(list, forward);
		backward = uvmpi_recency_older(list, backward);
	}
	assert_int_equal(forward, UVMP_UNIT_NONE);
	assert_int_equal(backward, UVMP_UNIT_NONE);
}

/* The unit of the next step: mostly inside, now and then beyond the end. */
static uint32_t any_unit(uint64_t *random, uint32_t units)
{
	return (uint32_t)uvmp_random_below(random, units + (uvmp_random_below(random, 16) == 0 ? 2 : 0));
}

static void recency_history(uint64_t *random)
{
	uint32_t units = 1 + (uint32_t)uvmp_random_below(random, UNITS_MAX);
	struct recency_link link[UNITS_MAX + 1];
	struct naive_recency naive;
	struct recency list;

	naive_recency_init(&naive);
	uvmpi_recency_init(&list, link, units);
	for (int step = 0; step < STEPS; step++) {
		uint32_t unit = any_unit(random, units);
		uint64_t what = uvmp_random_below(random, 8);

		if (what == 0)
			unit = uvmpi_recency_oldest(&list);
		if (what < 4) {
			if (uvmpi_recency_contains(&list, unit))
				uvmpi_recency_take_off(&list, unit);
			naive_recency_remove(&naive, unit);
		} else if (unit < units) {
			(void)uvmpi_recency_touch(&list, unit);
			naive_recency_touch(&naive, unit);
		}
		assert_int_equal(uvmpi_recency_contains(&list, unit), naive_recency_find(&naive, unit) >= 0);
		if (step % 16 == 0)
			assert_same(&list, &naive);
	}
	assert_same(&list, &naive);
}

/* What an order is about, kept as plain numbers; a whole list is made by sorting. */
struct naive_order {
	bool is_listed[UNITS_MAX], is_spared[UNITS_MAX];
	uint64_t stamp[UNITS_MAX], touches[UNITS_MAX], clock;
	uint64_t key[UNITS_MAX][2]; /* set by sort */
	/* second chance: when it came or the hand passed it, touched since then */
	bool is_chance[UNITS_MAX];
	/* MHPE: number of its interval when it came, of the next arrival when it left; per interval what
	 * came, went, was not touched, came back */
	uint64_t interval[UNITS_MAX], arrived[UNITS_MAX], gone[UNITS_MAX];
	uint64_t intervals, arrivals, first_of_last, first_of_current;
	uint32_t came, went, untouched, back, judged, sum, distance;
	bool is_old_first;
};

/* A unit that stands there keeps its place in these orders. */
static bool keeps_place(enum uvmp_evictor evictor)
{
	return evictor == UVMP_EVICT_CLOCK_2M || evictor == UVMP_EVICT_MHPE;
}

static void naive_touch(struct naive_order *naive, enum uvmp_evictor evictor, uint32_t unit)
{
	if (naive->is_listed[unit] && keeps_place(evictor)) {
		naive->is_chance[unit] = true;
		return;
	}
	if (!naive->is_listed[unit]) {
		naive->back += naive->gone[unit] != 0 && naive->gone[unit] >= naive->first_of_last;
		naive->arrived[unit] = ++naive->arrivals;
		naive->interval[unit] = naive->intervals;
		naive->came++;
		naive->is_chance[unit] = false;
	}
	naive->is_listed[unit] = true;
	naive->stamp[unit] = ++naive->clock;
	naive->touches[unit]++;
}

static void naive_remove(struct naive_order *naive, uint32_t unit)
{
	if (naive->is_listed[unit])
		naive->gone[unit] = 0;
	naive->is_listed[unit] = naive->is_chance[unit] = false;
}

/* evict_mhpe.c: the end of an interval. */
static void naive_batch(struct naive_order *naive)
{
	uint32_t level;

	if (naive->came < 4)
		return;
	if (naive->went != 0) {
		level = naive->untouched * 64 / naive->went;
		naive->judged++;
		naive->sum += level;
		if (naive->judged <= 4 && (level >= 32 || naive->sum >= 40))
			naive->is_old_first = true;
		naive->distance += (level + 15) / 16 + naive->back;
		naive->distance = naive->distance > 32 ? 32 : naive->distance;
	}
	naive->intervals++;
	naive->first_of_last = naive->first_of_current;
	naive->first_of_current = naive->arrivals + 1;
	naive->came = naive->went = naive->untouched = naive->back = 0;
}

/* The listed ones by arrival become: those from the strategy's first on backwards, then the newer ones. */
static void turn(const struct naive_order *naive, uint32_t *unit, uint32_t count)
{
	uint32_t old = 0, first, turned[UNITS_MAX];

	while (old < count && naive->interval[unit[old]] + 1 < naive->intervals)
		old++;
	if (old == 0 || naive->is_old_first)
		first = 0;
	else
		first = old - 1 > naive->distance ? old - 1 - naive->distance : 0;
	for (uint32_t i = 0; i < count; i++)
		turned[i] = i <= first ? unit[first - i] : unit[i];
	for (uint32_t i = 0; i < count; i++)
		unit[i] = turned[i];
}

static bool is_before(const struct naive_order *naive, uint32_t a, uint32_t b)
{
	int k = naive->key[a][0] == naive->key[b][0];

	return naive->key[a][k] < naive->key[b][k];
}

/* The units that may be evicted, as they would go [uvmsmart: eviction-list]; their number. */
static uint32_t sort(struct naive_order *naive, enum uvmp_evictor evictor, uint32_t *sorted)
{
	bool is_grouped = evictor == UVMP_EVICT_SL_64K || evictor == UVMP_EVICT_TBN;
	uint32_t count = 0;

	for (uint32_t unit = 0; unit < UNITS_MAX; unit++) {
		uint32_t at = count;

		if (!naive->is_listed[unit])
			continue;
		naive->key[unit][0] = evictor == UVMP_EVICT_LFU_2M ? naive->touches[unit] : 0;
		naive->key[unit][0] += evictor == UVMP_EVICT_CLOCK_2M && naive->is_chance[unit];
		naive->key[unit][1] = naive->stamp[unit];
		for (uint32_t other = unit / 32 * 32; is_grouped && other < unit / 32 * 32 + 32; other++)
			if (other < UNITS_MAX && naive->is_listed[other] &&
			    naive->stamp[other] > naive->key[unit][0])
				naive->key[unit][0] = naive->stamp[other];
		for (; at > 0 && is_before(naive, unit, sorted[at - 1]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = unit;
		count++;
	}
	if (evictor == UVMP_EVICT_MHPE)
		turn(naive, sorted, count);
	return count;
}

/* The hand has passed those with a chance that stood before the first without one: they stand at the end now.
 * Where all had one, it has been around once. */
static void pass_hand(struct naive_order *naive, const uint32_t *sorted, uint32_t count)
{
	bool is_round = naive->is_chance[sorted[0]];
	uint64_t victim = naive->stamp[sorted[0]];

	for (uint32_t i = 0; i < count; i++) {
		if (!naive->is_chance[sorted[i]] || (!is_round && naive->stamp[sorted[i]] > victim))
			continue;
		naive->is_chance[sorted[i]] = false;
		naive->stamp[sorted[i]] = ++naive->clock;
	}
}

/* The orders that `sort` gives. */
static const bool is_sorted[UVMP_EVICT_COUNT] = {
	[UVMP_EVICT_LRU_2M] = true, [UVMP_EVICT_LRU_4K] = true, [UVMP_EVICT_RANDOM_4K] = true, [UVMP_EVICT_SL_64K] = true,
	[UVMP_EVICT_TBN] = true,    [UVMP_EVICT_LFU_2M] = true, [UVMP_EVICT_CLOCK_2M] = true,  [UVMP_EVICT_MHPE] = true,
};

static bool spares(enum uvmp_evictor evictor)
{
	return uvmp_evict_traits_of(evictor)->spares_incomplete;
}

/* The units of a walk of the engine (evict_internal.h) behind the reserve, of a sorted list. */
static void assert_walk(struct uvmp_evict *evict, const struct naive_order *naive, enum evict_walk walk,
                        const uint32_t *sorted, uint32_t count)
{
	uint32_t unit = UVMP_UNIT_NONE;
	enum uvmp_status status = uvmpi_evict_first(evict, NULL, walk, evict->reserve_percent, 0, &unit);

	for (uint32_t at = count * evict->reserve_percent / 100; at < count; at++) {
		if (walk != EVICT_ANY && naive->is_spared[sorted[at]] != (walk == EVICT_SPARED))
			continue;
		assert_int_equal(status, UVMP_OK);
		assert_int_equal(unit, sorted[at]);
		status = uvmpi_evict_next(evict, NULL, walk, &unit);
	}
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
}

/* Units that are not spared behind the reserve, then all spared ones; only spared ones behind it if there are no others. */
static uint32_t spared_last(const struct naive_order *naive, const uint32_t *sorted, uint32_t count, uint32_t rank,
                            uint32_t *expected)
{
	uint32_t n = 0;

	for (uint32_t at = rank; at < count; at++)
		if (!naive->is_spared[sorted[at]])
			expected[n++] = sorted[at];
	for (uint32_t at = n == 0 ? rank : 0; at < count; at++)
		if (naive->is_spared[sorted[at]])
			expected[n++] = sorted[at];
	return n;
}

/* The victim, and those behind it to the end. */
static void assert_victims(struct uvmp_evict *evict, struct naive_order *naive, uint64_t *random)
{
	uint32_t sorted[UNITS_MAX], expected[UNITS_MAX], unit = UVMP_UNIT_NONE;
	uint32_t count = sort(naive, evict->evictor, sorted), expecteds;
	enum uvmp_status status = uvmp_evict_victim(evict, random, &unit);

	assert_int_equal(evict->count, count);
	if (count == 0) {
		assert_int_equal(status, UVMP_ERR_NO_MEMORY);
		assert_int_equal(uvmp_evict_next(evict, random, &unit), UVMP_ERR_NO_MEMORY);
		return;
	}
	if (evict->evictor == UVMP_EVICT_RANDOM_4K) {
		assert_true(naive->is_listed[unit]);
		assert_int_equal(uvmp_evict_next(evict, random, &unit), UVMP_OK);
		assert_true(naive->is_listed[unit]);
		return;
	}
	if (evict->evictor == UVMP_EVICT_CLOCK_2M)
		pass_hand(naive, sorted, count);
	expecteds = spared_last(naive, sorted, count, count * evict->reserve_percent / 100, expected);
	for (uint32_t at = 0; at < expecteds; at++) {
		assert_int_equal(status, UVMP_OK);
		assert_int_equal(unit, expected[at]);
		status = uvmp_evict_next(evict, random, &unit);
	}
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
	if (!spares(evict->evictor))
		return;
	assert_walk(evict, naive, EVICT_UNSPARED, sorted, count);
	assert_walk(evict, naive, EVICT_ANY, sorted, count);
}

/* The same in numbers; part of what is removed was evicted. */
static void follow(struct naive_order *naive, struct uvmp_evict *evict, uint32_t unit, uint64_t what,
                   enum uvmp_status expected, uint64_t *random)
{
	uint32_t untouched = uvmp_random_below(random, 8) == 0 ? (uint32_t)uvmp_random_below(random, 17) : 0;

	if (what == 15) {
		naive_batch(naive);
		return;
	}
	if (expected != UVMP_OK)
		return;
	if (what >= 5) {
		naive_touch(naive, evict->evictor, unit);
		return;
	}
	naive_remove(naive, unit);
	if (what < 2) {
		naive->touches[unit] = naive->gone[unit] = 0;
		naive->is_spared[unit] = false;
	} else if (what < 4) {
		assert_int_equal(uvmp_evict_left(evict, unit, 16, untouched), UVMP_OK);
		naive->gone[unit] = naive->arrivals + 1;
		naive->went += 16;
		naive->untouched += untouched;
	}
}

/* A listed unit gets a frequency: mostly one that others have or a neighbour of it, now and then the largest one, which a touch
 * makes 0. */
static void weigh(struct naive_order *naive, struct uvmp_evict *evict, uint32_t unit, uint64_t *random)
{
	uint64_t frequency = uvmp_random_below(random, 16) == 0 ? UINT64_MAX : uvmp_random_below(random, 24);

	assert_int_equal(uvmp_evict_weigh(evict, unit, frequency), UVMP_OK);
	if (naive->is_listed[unit])
		naive->touches[unit] = frequency;
}

/* A set of units leaves at once, as each of them would alone; none leaves if one is out of range. */
static void remove_units(struct naive_order *naive, struct uvmp_evict *evict, uint64_t *random)
{
	uint32_t groups = (evict->units - 1u) / UVMP_EVICT_GROUP_UNITS + 1u;
	uint32_t first = (uint32_t)uvmp_random_below(random, groups) * UVMP_EVICT_GROUP_UNITS;
	uint32_t set = (uint32_t)uvmp_random_next(random), end = first;

	if (uvmp_random_below(random, 2) == 0)
		set &= (uint32_t)uvmp_random_next(random) & (uint32_t)uvmp_random_next(random);
	if (uvmp_random_below(random, 4) != 0 && evict->units - first < UVMP_EVICT_GROUP_UNITS)
		set &= ((uint32_t)1 << (evict->units - first)) - 1u;
	for (uint32_t b = 0; b < UVMP_EVICT_GROUP_UNITS; b++)
		if ((set >> b & 1u) != 0)
			end = first + b + 1u;
	assert_int_equal(uvmp_evict_remove_set(evict, first, set), end <= evict->units ? UVMP_OK : UVMP_ERR_RANGE);
	for (uint32_t unit = first; end <= evict->units && unit < end; unit++)
		if ((set >> (unit - first) & 1u) != 0)
			naive_remove(naive, unit);
}

/* One order: its victims are those of the numbers, in their order (random: any of them). */
static void evict_history(uint64_t *random, enum uvmp_evictor evictor, int steps)
{
	uint32_t units = 1 + (uint32_t)uvmp_random_below(random, UNITS_MAX);
	static uint64_t memory[80 + 5 * UNITS_MAX];
	struct naive_order naive = {.first_of_last = 1, .first_of_current = 1};
	struct uvmp_evict evict;

	assert_true(uvmp_evict_size(evictor, units) <= sizeof(memory));
	assert_int_equal(uvmp_evict_init(&evict, evictor, units, memory, sizeof(memory)), UVMP_OK);
	for (int step = 0; step < steps; step++) {
		uint32_t unit = any_unit(random, units);
		uint64_t what = uvmp_random_below(random, 16);
		enum uvmp_status expected = unit < units ? UVMP_OK : UVMP_ERR_RANGE;

		if (what == 0)
			evict.reserve_percent = (uint32_t)uvmp_random_below(random, 100);
		if (spares(evictor) && unit < units && uvmp_random_below(random, 3) == 0) {
			naive.is_spared[unit] = uvmp_random_below(random, 3) != 0;
			assert_int_equal(uvmp_evict_spare(&evict, unit, naive.is_spared[unit]), UVMP_OK);
		}
		if (uvmp_evict_traits_of(evictor)->counts_uses && unit < units && uvmp_random_below(random, 8) == 0)
			weigh(&naive, &evict, unit, random);
		if (uvmp_random_below(random, 64) == 0)
			remove_units(&naive, &evict, random);
		if (what == 15)
			assert_int_equal(uvmp_evict_batch(&evict), UVMP_OK);
		else if (what < 2)
			assert_int_equal(uvmp_evict_forget(&evict, unit), expected);
		else if (what < 5)
			assert_int_equal(uvmp_evict_remove(&evict, unit), expected);
		else
			assert_int_equal(uvmp_evict_touch(&evict, unit), expected);
		follow(&naive, &evict, unit, what, expected, random);
		assert_true(uvmp_evict_is_valid(&evict));
		if (step % 8 == 0)
			assert_victims(&evict, &naive, random);
	}
	for (uint32_t unit = 0; unit < units; unit++) {
		assert_victims(&evict, &naive, random);
		uvmp_evict_remove(&evict, unit);
		naive_remove(&naive, unit);
	}
	assert_int_equal(evict.count, 0);
}

static void recency(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < HISTORIES; i++)
			recency_history(&random);
	}
}

static void orders(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < HISTORIES / 4; i++)
			for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++)
				if (is_sorted[evictor])
					evict_history(&random, (enum uvmp_evictor)evictor, STEPS);
	}
	/* Rows are added at the end: the rows of this library up to auto have a model. */
	for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++) {
		if (is_sorted[evictor] || evictor == UVMP_EVICT_AUTO)
			continue;
		if (evictor < UVMP_EVICT_AUTO)
			fail_msg("evict=%s has no model", uvmp_evict_name((enum uvmp_evictor)evictor));
		printf("evict=%s has no model: common properties only\n", uvmp_evict_name((enum uvmp_evictor)evictor));
	}
}

/* What every order does, whichever unit is first. */
struct common_case {
	struct uvmp_evict evict;
	bool is_listed[UNITS_MAX], is_spared[UNITS_MAX];
	uint32_t count;
};

/* The victim and those behind it, without a reserve, are the listed units, each of them once and spared units last. A random
 * order draws any of them. */
static void assert_each_once(struct common_case *c, uint64_t *random)
{
	bool is_seen[UNITS_MAX] = {false}, has_spared = false;
	uint32_t unit = UVMP_UNIT_NONE, seen = 0;
	enum uvmp_status status;

	c->evict.reserve_percent = 0;
	status = uvmp_evict_victim(&c->evict, random, &unit);
	assert_int_equal(status, c->count == 0 ? UVMP_ERR_NO_MEMORY : UVMP_OK);
	for (; status == UVMP_OK && seen < c->count; seen++) {
		assert_in_range(unit, 0, c->evict.units - 1u);
		assert_true(c->is_listed[unit]);
		assert_true(!is_seen[unit] || uvmp_evict_traits_of(c->evict.evictor)->is_random);
		assert_true(!has_spared || c->is_spared[unit]);
		is_seen[unit] = true;
		has_spared = spares(c->evict.evictor) && c->is_spared[unit];
		status = uvmp_evict_next(&c->evict, random, &unit);
	}
	assert_int_equal(seen, c->count);
	if (!uvmp_evict_traits_of(c->evict.evictor)->is_random)
		assert_int_equal(status, UVMP_ERR_NO_MEMORY);
}

/* A victim behind a reserve is a listed unit. */
static void assert_reserved(struct common_case *c, uint64_t *random)
{
	uint32_t unit = UVMP_UNIT_NONE;

	c->evict.reserve_percent = (uint32_t)uvmp_random_below(random, 100);
	if (c->count == 0)
		return;
	assert_int_equal(uvmp_evict_victim(&c->evict, random, &unit), UVMP_OK);
	assert_in_range(unit, 0, c->evict.units - 1u);
	assert_true(c->is_listed[unit]);
}

static void common_step(struct common_case *c, uint64_t *random)
{
	uint32_t unit = any_unit(random, c->evict.units), what = (uint32_t)uvmp_random_below(random, 16);
	enum uvmp_status expected = unit < c->evict.units ? UVMP_OK : UVMP_ERR_RANGE;
	bool is_spared = what % 2 == 0, stays = false;

	if (what == 15) {
		assert_int_equal(uvmp_evict_batch(&c->evict), UVMP_OK);
		return;
	}
	if (what < 2) {
		assert_int_equal(uvmp_evict_spare(&c->evict, unit, is_spared), expected);
		if (expected == UVMP_OK)
			c->is_spared[unit] = is_spared;
		return;
	}
	if (what < 4) {
		assert_int_equal(uvmp_evict_forget(&c->evict, unit), expected);
		if (expected == UVMP_OK)
			c->is_spared[unit] = false;
	} else if (what < 7) {
		assert_int_equal(uvmp_evict_remove(&c->evict, unit), expected);
	} else {
		assert_int_equal(uvmp_evict_touch(&c->evict, unit), expected);
		stays = true;
	}
	if (expected == UVMP_OK) {
		c->count = c->count + stays - c->is_listed[unit];
		c->is_listed[unit] = stays;
	}
	assert_int_equal(uvmp_evict_contains(&c->evict, unit), expected == UVMP_OK && stays);
}

static void common_history(uint64_t *random, enum uvmp_evictor evictor)
{
	uint32_t units = 1 + (uint32_t)uvmp_random_below(random, UNITS_MAX);
	size_t bytes = uvmp_evict_size(evictor, units);
	struct common_case c = {.count = 0};
	void *memory = malloc(bytes);

	assert_non_null(memory);
	assert_int_equal(uvmp_evict_init(&c.evict, evictor, units, memory, bytes), UVMP_OK);
	for (int step = 0; step < STEPS; step++) {
		common_step(&c, random);
		assert_int_equal(c.evict.count, c.count);
		assert_true(uvmp_evict_is_valid(&c.evict));
		if (step % 8 == 0)
			assert_each_once(&c, random);
		else if (step % 8 == 4)
			assert_reserved(&c, random);
	}
	for (uint32_t unit = 0; unit < units; unit++)
		assert_int_equal(uvmp_evict_remove(&c.evict, unit), UVMP_OK);
	assert_int_equal(c.evict.count, 0);
	free(memory);
}

static void common(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		for (int i = 0; i < HISTORIES / 4; i++)
			for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++)
				common_history(&random, (enum uvmp_evictor)evictor);
	}
}

/* The reserve: integers give what 32-bit floats give. Below 2^24 the result depends on the product alone, and of each hundred
 * products those with the least and the largest remainder decide; above it, random ones. */
static void percents(void **state)
{
	uint64_t random = seeds[1];

	(void)state;
	for (uint32_t product = 0; product < 1u << 24; product += product % 100 == 99 ? 1 : 99)
		assert_int_equal(percent_as_float(product, 1), percent_in_floats(product, 1));
	for (int i = 0; i < 100000; i++) {
		uint32_t x = (uint32_t)uvmp_random_below(&random, 1u << uvmp_random_below(&random, 31));
		uint32_t percent = (uint32_t)uvmp_random_below(&random, 100);

		assert_int_equal(percent_as_float(x, percent), percent_in_floats(x, percent));
	}
}

/* Long histories of the orders that keep more than one list: classes of frequency, circles of the clock. */
static void long_histories(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) {
		uint64_t random = seeds[s];

		evict_history(&random, UVMP_EVICT_LFU_2M, LONG_STEPS);
		evict_history(&random, UVMP_EVICT_CLOCK_2M, LONG_STEPS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(recency), cmocka_unit_test(percents), cmocka_unit_test(common),
	                                   cmocka_unit_test(orders), cmocka_unit_test(long_histories)};

	seeds[0] = 20260101;
	seeds[1] = test_seed();
	return cmocka_run_group_tests_name("evict properties", tests, NULL, NULL);
}
