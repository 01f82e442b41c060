/* Bounds: Belady's optimum without the future against schedules searched exhaustively, against the textbook
 * procedure that knows the future, and against LRU; then whole sources with counts worked out by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "belady.h"
#include "bound.h"
#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

/* One step of a stream: an access, or the unit is freed. */
struct step {
	uint8_t unit;
	bool is_take, is_write;
};

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(uvmp_random_next(&random_state) % below);
}

/* -- what belady.c says of a stream -- */

struct counts {
	uint64_t first, misses, left, written;
};

struct written {
	bool is[256];
};

static uint32_t one(const void *context, uint32_t unit)
{
	(void)context;
	(void)unit;
	return 1;
}

static uint32_t one_if_written(const void *context, uint32_t unit)
{
	return ((const struct written *)context)->is[unit];
}

static struct counts count(const struct step *step, size_t steps, uint64_t places, uint32_t units)
{
	struct counts counts = {0, 0, 0, 0};
	struct written written = {{false}};
	struct belady belady;

	belady_open(&belady, places);
	assert_true(belady_grow(&belady, 1));
	for (size_t i = 0; i < steps; i++) {
		uint32_t unit = step[i].unit;

		assert_in_range(unit, 0, units - 1);
		if (unit >= belady.units)
			assert_true(belady_grow(&belady, unit + 1u));
		if (step[i].is_take) {
			belady_take(&belady, unit);
		} else {
			enum belady_result found = belady_access(&belady, unit);

			counts.first += found == BELADY_FIRST;
			counts.misses += found != BELADY_HIT;
			if (found == BELADY_HIT) {
				written.is[unit] |= step[i].is_write;
				continue;
			}
		}
		counts.written += written.is[unit];
		written.is[unit] = !step[i].is_take && step[i].is_write;
	}
	counts.left = counts.misses - belady_rest(&belady, one, NULL).units;
	for (uint32_t unit = 0; unit < units; unit++)
		counts.written += written.is[unit];
	counts.written -= belady_rest(&belady, one_if_written, &written).units;
	belady_close(&belady);
	return counts;
}

/* -- every schedule there is -- */

enum { FEW = 5, SETS = 1 << FEW };

static uint32_t weight_of(uint32_t set)
{
	uint32_t weight = 0;

	for (; set != 0; set &= set - 1)
		weight++;
	return weight;
}

/* The fewest misses of any schedule, and the fewest units that leave. Schedules may also evict early. */
static void search(const struct step *step, size_t steps, uint32_t places, uint64_t *misses, uint64_t *left)
{
	uint64_t cost[SETS], next[SETS];

	memset(cost, 0xff, sizeof(cost));
	cost[0] = 0;
	for (size_t i = 0; i < steps; i++) {
		uint32_t bit = 1u << step[i].unit;

		memset(next, 0xff, sizeof(next));
		for (uint32_t set = 0; set < SETS; set++) {
			uint32_t with = set | bit;

			if (cost[set] == UINT64_MAX)
				continue;
			if (step[i].is_take) {
				next[set & ~bit] =
					cost[set] < next[set & ~bit] ? cost[set] : next[set & ~bit];
				continue;
			}
			for (uint32_t kept = with; kept != 0; kept = (kept - 1u) & with) {
				uint64_t total = cost[set] + ((set & bit) == 0);

				if ((kept & bit) != 0 && weight_of(kept) <= places && total < next[kept])
					next[kept] = total;
			}
		}
		memcpy(cost, next, sizeof(cost));
	}
	*misses = *left = UINT64_MAX;
	for (uint32_t set = 0; set < SETS; set++) {
		if (cost[set] == UINT64_MAX)
			continue;
		*misses = cost[set] < *misses ? cost[set] : *misses;
		*left = cost[set] - weight_of(set) < *left ? cost[set] - weight_of(set) : *left;
	}
}

/* When the unit is accessed again; `steps` if never, or only after it has been taken. */
static size_t next_use(const struct step *step, size_t steps, size_t after, uint32_t unit)
{
	for (size_t i = after + 1; i < steps; i++)
		if (step[i].unit == unit)
			return step[i].is_take ? steps : i;
	return steps;
}

/* Fewest units written back among all schedules of MIN: it evicts only what is used last, but may choose
 * where several are not used again. Sets of units that are there and written, by breadth. */
static uint64_t search_written(const struct step *step, size_t steps, uint32_t places)
{
	static uint64_t cost[SETS][SETS], next[SETS][SETS];
	uint64_t least = UINT64_MAX;

	memset(cost, 0xff, sizeof(cost));
	cost[0][0] = 0;
	for (size_t i = 0; i < steps; i++) {
		uint32_t bit = 1u << step[i].unit;

		memset(next, 0xff, sizeof(next));
		for (uint32_t set = 0; set < SETS; set++) {
			for (uint32_t dirty = set;; dirty = (dirty - 1u) & set) {
				uint64_t total = cost[set][dirty];
				uint32_t now = step[i].is_write ? bit : 0;
				size_t farthest = 0;

				if (total == UINT64_MAX) {
					/* not reached */
				} else if (step[i].is_take) {
					uint64_t *to = &next[set & ~bit][dirty & ~bit];

					total += (dirty & bit) != 0;
					*to = total < *to ? total : *to;
				} else if ((set & bit) != 0 || weight_of(set) < places) {
					uint64_t *to = &next[set | bit][dirty | now];

					*to = total < *to ? total : *to;
				} else {
					for (uint32_t unit = 0; unit < FEW; unit++) {
						size_t use = next_use(step, steps, i, unit);

						if ((set >> unit & 1u) != 0 && use > farthest)
							farthest = use;
					}
					for (uint32_t unit = 0; unit < FEW; unit++) {
						uint32_t out = 1u << unit;
						uint64_t *to =
							&next[(set & ~out) | bit][(dirty & ~out) | now];
						uint64_t then = total + ((dirty & out) != 0);

						if ((set & out) != 0 &&
						    next_use(step, steps, i, unit) == farthest)
							*to = then < *to ? then : *to;
					}
				}
				if (dirty == 0)
					break;
			}
		}
		memcpy(cost, next, sizeof(cost));
	}
	for (uint32_t set = 0; set < SETS; set++)
		for (uint32_t dirty = 0; dirty < SETS; dirty++)
			least = cost[set][dirty] < least ? cost[set][dirty] : least;
	return least;
}

static void fill(struct step *step, size_t steps, uint32_t units, uint32_t takes_percent)
{
	for (size_t i = 0; i < steps; i++)
		step[i] = (struct step){(uint8_t)draw(units), draw(100) < takes_percent, draw(3) == 0};
}

static void every_schedule(uint64_t seed)
{
	struct step step[14];

	random_state = seed;
	for (uint32_t round = 0; round < 250; round++) {
		size_t steps = 1 + draw(14);
		uint32_t units = 2 + draw(FEW - 1), places = 1 + draw(4);
		struct counts counts;
		uint64_t misses, left;

		fill(step, steps, units, round % 2 == 0 ? 0 : 20);
		counts = count(step, steps, places, FEW);
		search(step, steps, places, &misses, &left);
		assert_int_equal(counts.misses, misses);
		assert_int_equal(counts.left, left);
		assert_int_equal(counts.written, search_written(step, steps, places));
	}
}

static void test_every_schedule(void **unused)
{
	(void)unused;
	every_schedule(1);
	every_schedule(test_seed());
}

/* -- longer streams -- */

enum { LONG = 3000, MANY = 200 };

/* The textbook procedure: the victim is the unit whose next use is last. */
static uint64_t known_future(const struct step *step, size_t steps, uint32_t places)
{
	size_t use[MANY], later[LONG]; /* of what is there, when it is used again; 0: not there */
	uint32_t there = 0;
	uint64_t misses = 0;
	size_t last[MANY];

	for (uint32_t unit = 0; unit < MANY; unit++)
		last[unit] = steps;
	for (size_t i = steps; i-- > 0;) {
		later[i] = last[step[i].unit];
		last[step[i].unit] = step[i].is_take ? steps : i;
	}
	memset(use, 0, sizeof(use));
	for (size_t i = 0; i < steps; i++) {
		uint32_t unit = step[i].unit, victim = 0;

		if (step[i].is_take) {
			there -= use[unit] != 0;
			use[unit] = 0;
			continue;
		}
		if (use[unit] == 0) {
			misses++;
			for (uint32_t other = 1; other < MANY; other++)
				victim = use[other] > use[victim] ? other : victim;
			if (there == places)
				use[victim] = 0;
			else
				there++;
		}
		use[unit] = later[i];
	}
	return misses;
}

static uint64_t lru(const struct step *step, size_t steps, uint32_t places)
{
	size_t used[MANY] = {0}; /* step of the last use + 1; 0: not there */
	uint32_t there = 0;
	uint64_t misses = 0;

	for (size_t i = 0; i < steps; i++) {
		uint32_t unit = step[i].unit, victim = MANY;

		if (step[i].is_take) {
			there -= used[unit] != 0;
			used[unit] = 0;
			continue;
		}
		misses += used[unit] == 0;
		for (uint32_t other = 0; other < MANY; other++)
			if (used[other] != 0 && (victim == MANY || used[other] < used[victim]))
				victim = other;
		if (used[unit] == 0 && there == places)
			used[victim] = 0;
		else
			there += used[unit] == 0;
		used[unit] = i + 1;
	}
	return misses;
}

static void long_streams(uint64_t seed)
{
	static struct step step[LONG];

	random_state = seed;
	for (uint32_t round = 0; round < 24; round++) {
		size_t steps = 1 + draw(LONG);
		uint32_t units = 1 + draw(round % 4 == 0 ? 8 : MANY),
			 places = 1 + draw(units + units / 4 + 1);
		struct counts counts;

		fill(step, steps, units, round % 2 == 0 ? 0 : round % 3 == 0 ? 40 : 5);
		if (round % 5 == 0) { /* a loop, which LRU likes least */
			for (size_t i = 0; i < steps; i++)
				step[i].unit = (uint8_t)(i % units);
		}
		counts = count(step, steps, places, MANY);
		assert_int_equal(counts.misses, known_future(step, steps, places));
		assert_true(counts.misses <= lru(step, steps, places));
		assert_true(counts.first <= counts.misses && counts.written <= counts.left &&
			    counts.left <= counts.misses);
	}
}

static void test_long_streams(void **unused)
{
	(void)unused;
	long_streams(1);
	long_streams(test_seed());
}

/* Far more places than units: what was taken leaves places behind, which must not fill up the slots. */
static void test_many_places(void **unused)
{
	static struct step step[LONG];

	(void)unused;
	for (uint32_t places = 240; places < 265; places++) {
		for (size_t i = 0; i < LONG; i++)
			step[i] = (struct step){(uint8_t)(i / 2 % 3), i % 2 == 1, true};
		assert_int_equal(count(step, LONG, places, MANY).misses, LONG / 2);
		assert_int_equal(count(step, LONG, places, MANY).left, LONG / 2);
	}
}

/* Of units that cannot all stay the heaviest do; a weight of 0 does not count. */
static uint32_t number(const void *context, uint32_t unit)
{
	(void)context;
	return unit;
}

static void test_rest(void **unused)
{
	struct belady belady;
	struct belady_rest rest;

	(void)unused;
	belady_open(&belady, 2);
	assert_true(belady_grow(&belady, 10));
	rest = belady_rest(&belady, number, NULL);
	assert_int_equal(rest.units, 0);
	belady_access(&belady, 0);
	belady_access(&belady, 7);
	belady_access(&belady, 3);
	belady_access(&belady, 5);
	/* unit 5 and one of the others */
	rest = belady_rest(&belady, number, NULL);
	assert_int_equal(rest.units, 2);
	assert_int_equal(rest.weight, 12);
	assert_int_equal(belady_access(&belady, 3), BELADY_HIT); /* so it was 3, and 7 is out */
	rest = belady_rest(&belady, number, NULL);
	assert_int_equal(rest.weight, 8);
	assert_int_equal(belady_access(&belady, 7), BELADY_MISS);
	belady_close(&belady);
	belady_open(&belady, 1);
	assert_false(belady_grow(&belady, BELADY_UNITS_MAX + 1u));
	belady_close(&belady);
}

/* -- sources -- */

static struct bound_result result;
static char error[SOURCE_ERROR_MAX];

static bool bound_source(struct source *source, struct sim_memory memory)
{
	bool done;

	assert_non_null(source);
	error[0] = '\0';
	done = bound_run(source, memory, BOUND_LEVELS, &result, error);
	source->close(source);
	return done;
}

static bool bound_rows(const char *rows, uint64_t memory_bytes)
{
	FILE *in = tmpfile();

	assert_non_null(in);
	fprintf(in, "uvmp-trace 1\n%s", rows);
	rewind(in);
	return bound_source(trace_open_stream(in, "rows", error), (struct sim_memory){memory_bytes, 100});
}

static void expect_counts(uint32_t level, uint64_t touched, uint64_t misses, uint64_t left,
			  uint64_t written_back)
{
	const struct bound_level *l = &result.level[level];

	assert_int_equal(l->touched, touched);
	assert_int_equal(l->misses, misses);
	assert_int_equal(l->left, left);
	assert_int_equal(l->written_back, written_back);
	assert_int_equal(l->places * l->unit_bytes, result.memory_bytes);
}

/* And the bytes, where all that moves has contents. */
static void expect(uint32_t level, uint64_t touched, uint64_t misses, uint64_t left, uint64_t written_back)
{
	const struct bound_level *l = &result.level[level];

	expect_counts(level, touched, misses, left, written_back);
	if (level > 0) /* parts of units */
		return;
	assert_int_equal(l->touched_bytes, touched * l->unit_bytes);
	assert_int_equal(l->h2d_bytes, misses * l->unit_bytes);
	assert_int_equal(l->d2h_bytes, left * l->unit_bytes);
	assert_int_equal(l->written_back_bytes, written_back * l->unit_bytes);
}

/* Blocks A, B, A, B in memory for one: nothing leaves by pages, everything by blocks. */
static void test_two_blocks_in_one(void **unused)
{
	static const char rows[] = "range,200000000,4194304\n,0,r,200000000\n,0,w,200200000\nkernel,k\n"
				   ",0,r,200000000\n,0,w,200201000\nsync\n";

	(void)unused;
	assert_true(bound_rows(rows, 2097152 + 4096));
	assert_int_equal(result.memory_bytes, 2097152);
	assert_int_equal(result.footprint_bytes, 4194304);
	assert_int_equal(result.accesses, 4);
	expect(0, 3, 3, 0, 0);
	expect(1, 2, 2, 0, 0);
	expect(2, 2, 4, 3, 1);
	assert_int_equal(result.level[2].places, 1);
	assert_int_equal(result.level[2].h2d_bytes, 4 * 2097152);
	assert_int_equal(result.level[2].d2h_bytes, 3 * 2097152);
	assert_int_equal(result.level[2].written_back_bytes, 2097152);
	assert_true(bound_rows(rows, 4194304));
	expect(2, 2, 2, 0, 0);
}

/* What is freed need not leave, unless it had to before; nor does what is freed in the end. */
static void test_freed(void **unused)
{
	static const char ranges[] =
		"range,200000000,2097152\nrange,200200000,2097152\nrange,200400000,2097152\n";
	char rows[512];

	(void)unused;
	snprintf(rows, sizeof(rows), "%s,0,w,200000000\nfree,200000000\n,0,w,200200000\n,0,w,200400000\n",
		 ranges);
	assert_true(bound_rows(rows, 2097152));
	expect(0, 3, 3, 0, 0);
	expect(2, 3, 3, 1, 1);
	assert_int_equal(result.level[2].d2h_bytes, 2097152);
	assert_int_equal(result.level[2].written_back_bytes, 2097152);
	snprintf(rows, sizeof(rows),
		 "%s,0,w,200000000\n,0,w,200200000\nfree,200000000\n,0,r,200400000\nfree,200400000\n",
		 ranges);
	assert_true(bound_rows(rows, 2097152));
	expect(2, 3, 3, 2, 2);
	assert_true(bound_rows(rows, 6291456));
	expect(2, 3, 3, 0, 0);
	assert_true(bound_rows("range,200000000,2097152\nfree,200000000\n", 2097152));
	expect(2, 0, 0, 0, 0);
}

/* A unit ends when all of it is freed, and starts as new when a part of it is managed again. */
static void test_freed_parts(void **unused)
{
	(void)unused;
	assert_true(bound_rows("range,200000000,2097152\n,0,w,200000000\n,0,w,200001000\n,0,r,200010000\n"
			       "free,200000000,8192\n,0,r,200010000\n",
			       2097152));
	expect(0, 3, 3, 0, 0);
	expect(1, 2, 2, 0, 0);
	expect(2, 1, 1, 0, 0);
	/* the same bytes again: one page fresh, of which nothing comes, one with contents */
	assert_true(bound_rows(
		"range,200000000,65536\n,0,w,200000000\n,0,w,200001000\nfree,200000000,8192\n"
		"range,200000000,4096,,fresh\nrange,200001000,4096\n,0,w,200000000\n,0,w,200001000\n"
		",0,r,200000000\n",
		2097152));
	assert_int_equal(result.footprint_bytes, 65536 + 8192);
	expect_counts(0, 4, 4, 0, 0);
	assert_int_equal(result.level[0].touched_bytes, 3 * 4096);
	assert_int_equal(result.level[0].h2d_bytes, 3 * 4096);
	expect_counts(1, 1, 1, 0, 0);
	/* two frees take a unit; what the CPU wrote before means nothing, and it weighs what it is now */
	assert_true(bound_rows("range,200000000,8192,,fresh\n,cpu,w,200000000\n,0,w,200000000\n"
			       "free,200000000,4096\nfree,200001000\nrange,200000000,12288,,fresh\n"
			       ",0,w,200000000\n,0,w,200002000\n",
			       2097152));
	expect_counts(0, 3, 3, 0, 0);
	assert_int_equal(result.level[0].h2d_bytes, 4096);
	expect_counts(1, 2, 2, 0, 0);
	assert_int_equal(result.level[1].h2d_bytes, 4096);
	expect_counts(2, 2, 2, 0, 0);
	/* what had to leave before the free has left, once */
	assert_true(
		bound_rows("range,200000000,6291456\n,0,w,200000000\n,0,w,200200000\nfree,200000000,2097152\n"
			   "range,200000000,2097152,,fresh\n,0,w,200000000\n,0,r,200400000\n,0,r,200000000\n",
			   2097152));
	expect_counts(2, 4, 5, 4, 3);
	assert_int_equal(result.level[2].h2d_bytes, 4 * 2097152);
}

/* Of the last unit of a range only what belongs to it moves; ranges may share units. */
static void test_parts(void **unused)
{
	(void)unused;
	assert_true(bound_rows("range,200000000,2166784\n,0,w,200000000\n,0,r,200200000\n,0,r,200210000\n",
			       2097152));
	assert_int_equal(result.footprint_bytes, 2166784);
	expect(0, 3, 3, 0, 0);
	expect(1, 3, 3, 0, 0);
	assert_int_equal(result.level[1].h2d_bytes, 65536 + 65536 + 4096);
	expect(2, 2, 2, 1, 1);
	assert_int_equal(result.level[2].touched_bytes, 2166784);
	assert_int_equal(result.level[2].h2d_bytes, 2166784);
	/* the second block is accessed last and stays: the first one leaves */
	assert_int_equal(result.level[2].d2h_bytes, 2097152);
	assert_true(bound_rows("range,200001000,8192\nrange,200003000,1\nrange,200020000,4096\n"
			       ",0,r,200001000\n,0,r,200003000\n,0,r,200020000\n",
			       2097152));
	assert_int_equal(result.footprint_bytes, 8192 + 4096 + 4096);
	expect(1, 2, 2, 0, 0);
	assert_int_equal(result.level[1].h2d_bytes, 8192 + 4096 + 4096);
	expect(2, 1, 1, 0, 0);
	assert_int_equal(result.level[2].h2d_bytes, 8192 + 4096 + 4096);
	/* a range that comes late does not change what a unit weighs */
	assert_true(bound_rows("range,200001000,4096\n,0,w,200001000\nrange,200002000,4096\n,0,r,200002000\n"
			       "range,300000000,4096\n,0,r,300000000\n,0,r,200002000\n",
			       2097152));
	expect(0, 3, 3, 0, 0);
	expect(2, 2, 3, 2, 1);
	assert_int_equal(result.level[2].h2d_bytes, 3 * 4096);
	assert_int_equal(result.level[2].d2h_bytes, 2 * 4096);
}

/* What the CPU touches goes home, with its unit; what it has not seen on the GPU does not move. */
static void test_cpu(void **unused)
{
	(void)unused;
	assert_true(bound_rows("range,200000000,4194304\n,cpu,w,200000000\n,0,w,200000000\n,0,r,200001000\n"
			       ",cpu,r,200000000\n,cpu,r,200000000\n,0,r,200000000\n",
			       4194304));
	assert_int_equal(result.accesses, 6);
	expect(0, 2, 3, 1, 1);
	expect(1, 1, 2, 1, 1);
	expect(2, 1, 2, 1, 1);
	assert_true(bound_rows("range,200000000,4194304\n,0,r,200000000\n,cpu,r,200000000\n", 4194304));
	expect(0, 1, 1, 1, 0);
}

/* A page that was never used needs no copy; later it is like the others. Calls do not count. */
static void test_fresh(void **unused)
{
	(void)unused;
	assert_true(bound_rows("range,200000000,4194304,f,fresh\nprefetch,gpu,200000000,2097152\n"
			       "advise,read-duplicate,,200000000,4096\n,0,w,200000000\n,0,r,200001000\n"
			       ",cpu,r,200000000\n,0,r,200000000\n,cpu,w,200002000\n,0,r,200002000\n",
			       4194304));
	assert_int_equal(result.accesses, 6);
	assert_int_equal(result.level[0].touched, 3);
	assert_int_equal(result.level[0].touched_bytes, 4096);
	assert_int_equal(result.level[0].misses, 4);
	assert_int_equal(result.level[0].h2d_bytes, 2 * 4096);
	assert_int_equal(result.level[0].d2h_bytes, 4096);
	assert_int_equal(result.level[2].misses, 3);
	assert_int_equal(result.level[2].touched_bytes, 0);
	assert_int_equal(result.level[2].h2d_bytes, 2 * 2097152);
	assert_int_equal(result.level[2].d2h_bytes, 2 * 2097152);
	assert_true(bound_rows("range,200000000,8192\nrange,200002000,4194304,f,fresh\n,cpu,w,200005000\n"
			       ",cpu,w,200006000\n,cpu,r,200000000\n,0,r,200004000\n",
			       4194304));
	assert_int_equal(result.level[0].h2d_bytes, 0);
	assert_int_equal(result.level[1].h2d_bytes, 4 * 4096);
	assert_int_equal(result.level[2].h2d_bytes, 4 * 4096);
}

/* The percentage is of the ranges before the first access; at 100 everything fits. */
static void test_memory(void **unused)
{
	struct sim_memory memory = {0, 100};
	struct source *source;
	uint64_t misses;

	(void)unused;
	assert_true(bound_source(workload_open("regular:bytes=5000000,passes=2", 1, error), memory));
	assert_int_equal(result.memory_bytes, 3 * 2097152);
	expect(0, 1221, 1221, 0, 0);
	memory.oversub_percent = 200;
	assert_true(bound_source(workload_open("regular:bytes=8m,passes=3", 1, error), memory));
	assert_int_equal(result.memory_bytes, 4194304);
	assert_int_equal(result.level[0].touched, 2048);
	assert_true(result.level[0].misses > 2048 && result.level[0].misses < 3 * 2048);
	assert_true(result.level[0].h2d_bytes <= result.level[1].h2d_bytes);
	assert_true(result.level[1].h2d_bytes <= result.level[2].h2d_bytes);
	/* fewer sizes: those are the same */
	misses = result.level[0].misses;
	source = workload_open("regular:bytes=8m,passes=3", 1, error);
	assert_true(bound_run(source, memory, 1, &result, error));
	source->close(source);
	assert_int_equal(result.level[0].misses, misses);
	assert_int_equal(result.level[1].unit_bytes, 0);
}

/* One agent, page by page: the optimum moves no more than any policy does. */
static void test_below_policies(void **unused)
{
	static const char *const policies[] = {"prefetch=none",
					       "prefetch=density",
					       "prefetch=tbn evict=lru2m",
					       "prefetch=none evict=lru4k",
					       "prefetch=none evict=random4k",
					       "prefetch=block quirks=0"};
	static const char *const specs[] = {"random:bytes=6m,passes=3,agents=1", "stream:bytes=3m,agents=1",
					    "stencil:n=1024,iterations=2,agents=1"};
	struct sim_memory memory = {0, 150};

	(void)unused;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		assert_true(bound_source(workload_open(specs[i], 1, error), memory));
		for (size_t k = 0; k < sizeof(policies) / sizeof(policies[0]); k++) {
			struct source *source = workload_open(specs[i], 1, error);
			struct uvmp_policy policy;
			struct sim_result run;

			assert_int_equal(uvmp_policy_parse(policies[k], strlen(policies[k]), &policy, NULL),
					 UVMP_OK);
			assert_true(untimed_run(source, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL},
						&run, error));
			source->close(source);
			assert_int_equal(run.memory_bytes, result.memory_bytes);
			assert_int_equal(run.footprint_bytes, result.footprint_bytes);
			assert_int_equal(run.accesses, result.accesses);
			assert_int_equal(run.pages_touched, result.level[0].touched);
			assert_true(run.h2d_bytes >= result.level[0].h2d_bytes);
			assert_true(run.d2h_bytes >= result.level[0].d2h_bytes);
		}
	}
}

static void test_errors(void **unused)
{
	(void)unused;
	assert_false(bound_rows("", 2097152));
	assert_non_null(strstr(error, "rows:1: there is no range"));
	assert_false(bound_rows("range,200000000,4096\n", 4096));
	assert_non_null(strstr(error, "smaller than one VABlock"));
	assert_false(bound_rows("range,0,18446744073709551615\n,0,r,0\n", 2097152));
	assert_non_null(strstr(error, "rows:2: a range is too large"));
	assert_false(bound_rows("range,200000000,4096\n,0,r,200000000\n,0,x,200000000\n", 2097152));
	assert_non_null(strstr(error, "rows:4: "));
	assert_int_equal(result.accesses, 1); /* what was done is not lost */
	expect(0, 1, 1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_schedule),
		cmocka_unit_test(test_long_streams),
		cmocka_unit_test(test_many_places),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_two_blocks_in_one),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_freed_parts),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_below_policies),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
