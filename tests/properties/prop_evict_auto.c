/* Properties of the eviction order auto: it equals a model of flat arrays (tests/model/naive_auto.c) on random scripts and on a
 * memory under load; keep serves cycles; data that are dead leave; no script costs much more than the oldest would. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bits_internal.h"
#include "evict/evict_auto_internal.h"
#include "model/naive_auto.h"
#include "support/seed.h"

#define BLOCK   UVMP_EVICT_GROUP_UNITS
#define BLOCKS  (NAIVE_AUTO_UNITS / BLOCK)
#define STEPS   1500
#define SCRIPTS 40

static uint64_t seeds[2];
static uint64_t spared; /* by protection, in random scripts */

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

/* -- the order and its model -- */

struct pair {
	struct uvmp_evict evict;
	void *memory; /* exactly as much as the order says */
	struct naive_auto naive;
	uint64_t random;
	uint32_t kept; /* faults under keep */
};

static struct pair pair;

static struct auto_order *state_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void open_order(struct uvmp_evict *evict, void **memory, uint32_t units)
{
	size_t bytes = uvmp_evict_size(UVMP_EVICT_AUTO, units);

	*memory = malloc(bytes);
	assert_non_null(*memory);
	memset(*memory, 0x5a, bytes);
	assert_int_equal(uvmp_evict_init(evict, UVMP_EVICT_AUTO, units, *memory, bytes), UVMP_OK);
}

static void open_pair(uint32_t units, uint64_t random)
{
	open_order(&pair.evict, &pair.memory, units);
	naive_auto_init(&pair.naive);
	pair.random = random;
	pair.kept = 0;
}

static void assert_same_rule(void)
{
	const struct auto_order *order = state_of(&pair.evict);
	const struct naive_auto *naive = &pair.naive;

	assert_true(uvmp_evict_is_valid(&pair.evict));
	assert_int_equal(order->rule, naive->rule);
	assert_int_equal(order->score, naive->score);
	assert_int_equal(order->turn, (uint32_t)naive->turn);
	assert_int_equal(order->spared, (uint32_t)naive->refusals);
	for (uint32_t i = 0; i < UVMP_EVICT_TENANTS; i++) {
		assert_int_equal(order->tenant[i].evicted, (uint32_t)naive->lost[i]);
		assert_int_equal(order->tenant[i].returned, (uint32_t)naive->regained[i]);
	}
	for (int i = 0; i < AUTO_RULES; i++) {
		assert_int_equal(order->evicted[i], (uint32_t)naive->evicted[i]);
		assert_int_equal(order->regret[i], (uint32_t)naive->regret[i]);
	}
}

/* The victim, and the units behind it to the end: each listed unit once. The victim is then *unit. */
static bool same_walk(uint32_t *unit)
{
	uint32_t walk[NAIVE_AUTO_UNITS], count = naive_auto_walk(&pair.naive, walk), at = UVMP_UNIT_NONE;
	enum uvmp_status status = uvmp_evict_victim(&pair.evict, NULL, &at);

	assert_same_rule();
	assert_int_equal(pair.evict.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(status, UVMP_OK);
		assert_int_equal(at, walk[i]);
		status = uvmp_evict_next(&pair.evict, NULL, &at);
	}
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
	if (count != 0)
		*unit = walk[0];
	return count != 0;
}

static void same_together(void)
{
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t unit = below(&pair.random, pair.evict.units);

		assert_int_equal(uvmp_evict_contains(&pair.evict, unit), pair.naive.is_listed[unit]);
		assert_int_equal(uvmp_evict_together(&pair.evict, unit), naive_auto_together(&pair.naive, unit));
	}
}

static void touch(uint32_t unit)
{
	assert_int_equal(uvmp_evict_touch(&pair.evict, unit), UVMP_OK);
	naive_auto_touch(&pair.naive, unit);
}

static void own(uint32_t unit, uint32_t owner)
{
	assert_int_equal(uvmp_evict_own(&pair.evict, unit, owner), UVMP_OK);
	naive_auto_own(&pair.naive, unit, owner);
}

static void begin_batch(void)
{
	assert_int_equal(uvmp_evict_batch(&pair.evict), UVMP_OK);
	naive_auto_batch(&pair.naive);
}

/* A victim and the units that leave with it. As in the engine, the report names the victim and the pages of each part that
 * leaves. */
static bool evict_once(void)
{
	uint32_t unit, first, set, pages;

	if (!same_walk(&unit))
		return false;
	first = unit / BLOCK * BLOCK;
	set = uvmp_evict_together(&pair.evict, unit);
	assert_int_equal(set, naive_auto_together(&pair.naive, unit));
	assert_true((set >> (unit - first) & 1u) != 0);
	assert_int_equal(uvmp_evict_remove_set(&pair.evict, first, set), UVMP_OK);
	for (uint32_t i = 0; i < BLOCK; i++)
		if ((set >> i & 1u) != 0)
			naive_auto_remove(&pair.naive, first + i);
	pages = popcount(set) * (below(&pair.random, 8) == 0 ? 1u + below(&pair.random, 16) : 16u);
	assert_int_equal(uvmp_evict_left(&pair.evict, unit, pages, below(&pair.random, pages + 1u)), UVMP_OK);
	naive_auto_left(&pair.naive, unit, pages);
	return true;
}

/* -- random scripts -- */

static void remove_some(uint32_t unit)
{
	uint32_t first = unit / BLOCK * BLOCK, set = (uint32_t)uvmp_random_next(&pair.random);

	if (pair.evict.units - first < BLOCK)
		set &= ((uint32_t)1 << (pair.evict.units - first)) - 1u;
	assert_int_equal(uvmp_evict_remove_set(&pair.evict, first, set), UVMP_OK);
	for (uint32_t i = 0; i < BLOCK; i++)
		if ((set >> i & 1u) != 0)
			naive_auto_remove(&pair.naive, first + i);
}

static void step(uint32_t unit)
{
	uint32_t count = 1 + below(&pair.random, BLOCK), pages = below(&pair.random, 513);

	switch (below(&pair.random, 16)) {
	case 0:
		assert_int_equal(uvmp_evict_remove(&pair.evict, unit), UVMP_OK);
		naive_auto_remove(&pair.naive, unit);
		break;
	case 1:
		assert_int_equal(uvmp_evict_forget(&pair.evict, unit), UVMP_OK);
		naive_auto_forget(&pair.naive, unit);
		break;
	case 2:
		if (below(&pair.random, 8) == 0)
			remove_some(unit);
		break;
	case 3: /* a report out of order */
		if (below(&pair.random, 4) != 0)
			break;
		assert_int_equal(uvmp_evict_left(&pair.evict, unit, pages, 0), UVMP_OK);
		naive_auto_left(&pair.naive, unit, pages);
		break;
	case 4:
		own(unit, below(&pair.random, 3));
		if (below(&pair.random, 4) == 0)
			pair.evict.used = pair.naive.used = below(&pair.random, 16); /* one of them has no units */
		break;
	case 5:
		begin_batch();
		break;
	case 6:
	case 7:
	case 8:
		(void)evict_once();
		break;
	case 9:
	case 10:
	case 11:
		for (; count > 0 && unit < pair.evict.units; count--)
			touch(unit++);
		break;
	default:
		touch(unit);
	}
}

static void random_script(uint64_t random)
{
	uint32_t units, unit;

	open_pair(1 + below(&random, NAIVE_AUTO_UNITS), random);
	units = pair.evict.units;
	for (int i = 0; i < STEPS; i++) {
		step(below(&pair.random, units));
		assert_same_rule();
		if (i % 50 == 0)
			same_together();
		if (i % 16 == 0)
			(void)same_walk(&unit);
	}
	while (evict_once()) {
	}
	assert_int_equal(pair.evict.count, 0);
	spared += state_of(&pair.evict)->spared;
	free(pair.memory);
}

static void random_scripts(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++) /* few scripts may spare no unit: then more of them */
		for (uint32_t i = 0; i < test_share_of(SCRIPTS) || (spared == 0 && i < SCRIPTS); i++)
			random_script(seeds[s] * 1000003u + i);
	assert_true(spared > 0);
}

/* -- a memory under load -- */

/* Units of the block become resident, unless they are; the memory holds `most` units. */
static void fault(uint32_t block, uint32_t first, uint32_t end, uint32_t most)
{
	bool is_resident = true;

	for (uint32_t i = first; i < end; i++)
		is_resident &= pair.naive.is_listed[block * BLOCK + i];
	if (is_resident)
		return;
	if (below(&pair.random, 3) == 0)
		begin_batch();
	while (pair.evict.count + (end - first) > most)
		(void)evict_once();
	for (uint32_t i = first; i < end; i++)
		touch(block * BLOCK + i);
	pair.kept += state_of(&pair.evict)->rule == AUTO_KEEP;
}

/* A cycle over the data, then accesses at random, in whole blocks and in parts, and so on. */
static void load_script(uint64_t random)
{
	uint32_t most, part;

	open_pair(NAIVE_AUTO_UNITS, random);
	most = BLOCK * (6u + below(&random, 8)), part = BLOCK >> below(&random, 3);
	for (uint32_t i = 0; i < 12 * BLOCKS; i++)
		fault(i % BLOCKS, 0, part, most);
	for (uint32_t i = 0; i < 4 * BLOCKS; i++) {
		uint32_t first = below(&pair.random, BLOCK);

		fault(below(&pair.random, 10), first, first + 1u + below(&pair.random, BLOCK - first), most);
	}
	for (uint32_t i = 0; i < 12 * BLOCKS; i++)
		fault(i % (BLOCKS - 4u), 0, BLOCK, most);
	same_together();
	free(pair.memory);
}

static void loads(void **state)
{
	uint32_t kept = 0;

	(void)state;
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < test_share_of(SCRIPTS / 4); i++) {
			load_script(seeds[s] * 1000033u + i);
			kept += pair.kept != 0;
		}
	assert_true(kept > 0);
}

/* -- programs: accesses to whole blocks; the order only sees the faults -- */

#define PROGRAM_BLOCKS 4096u

/* Of one order over blocks of BLOCK units: resident blocks, and the misses so far. */
struct memory {
	struct uvmp_evict evict;
	void *state;
	uint32_t blocks; /* that fit */
	uint64_t misses, kept; /* all; under keep */
};

static void open_memory(struct memory *m, enum uvmp_evictor evictor, uint32_t blocks)
{
	size_t bytes = uvmp_evict_size(evictor, PROGRAM_BLOCKS * BLOCK);

	*m = (struct memory){.blocks = blocks, .state = malloc(bytes)};
	assert_non_null(m->state);
	assert_int_equal(uvmp_evict_init(&m->evict, evictor, PROGRAM_BLOCKS * BLOCK, m->state, bytes), UVMP_OK);
}

static void evict_block(struct memory *m)
{
	uint32_t unit;

	assert_int_equal(uvmp_evict_victim(&m->evict, NULL, &unit), UVMP_OK);
	if (m->evict.evictor == UVMP_EVICT_AUTO)
		assert_int_equal(uvmp_evict_together(&m->evict, unit), 0xffffffffu);
	unit = unit / BLOCK * BLOCK;
	assert_int_equal(uvmp_evict_remove_set(&m->evict, unit, 0xffffffffu), UVMP_OK);
	assert_int_equal(uvmp_evict_left(&m->evict, unit, 512, 0), UVMP_OK);
}

/* Did the access miss? Each miss is a batch. */
static bool program_access(struct memory *m, uint32_t block)
{
	if (uvmp_evict_contains(&m->evict, block * BLOCK))
		return false;
	assert_int_equal(uvmp_evict_batch(&m->evict), UVMP_OK);
	if (m->evict.count == m->blocks * BLOCK)
		evict_block(m);
	for (uint32_t i = 0; i < BLOCK; i++)
		assert_int_equal(uvmp_evict_touch(&m->evict, block * BLOCK + i), UVMP_OK);
	m->misses++;
	if (m->evict.evictor == UVMP_EVICT_AUTO)
		m->kept += state_of(&m->evict)->rule == AUTO_KEEP;
	return true;
}

/* The same accesses, seen by auto and by recency of faults. */
struct race {
	struct memory by_auto, by_recency;
};

static struct race race;

static void open_race(uint32_t blocks)
{
	open_memory(&race.by_auto, UVMP_EVICT_AUTO, blocks);
	open_memory(&race.by_recency, UVMP_EVICT_LRU_4K, blocks);
}

static void close_race(void)
{
	free(race.by_auto.state);
	free(race.by_recency.state);
}

static void both(uint32_t block)
{
	(void)program_access(&race.by_auto, block);
	(void)program_access(&race.by_recency, block);
}

static bool keeps(void)
{
	return state_of(&race.by_auto.evict)->rule == AUTO_KEEP;
}

static void cycle(uint32_t first, uint32_t blocks, uint32_t rounds)
{
	for (uint32_t i = 0; i < blocks * rounds; i++)
		both(first + i % blocks);
}

/* Cycles over the data until keep begins; false: not within so many rounds. */
static bool cycle_until_keep(uint32_t first, uint32_t blocks, uint32_t rounds)
{
	while (rounds-- > 0 && !keeps())
		cycle(first, blocks, 1);
	return keeps();
}

/* A cycle over c blocks in memory of m: recency misses each access. Under keep, the victims come back one round later: each
 * round, c - m + f blocks miss, f the fresh ones, and a quarter of the victims are samples, which miss once more. So a round has
 * (c - m + f) * 4/3 misses. Keep may end by chance, and begins again after a turn: 2 of 40 rounds. */
static void cycles(void **state)
{
	static const uint32_t percent[] = {103, 110, 125, 150, 200, 300};

	(void)state;
	for (uint32_t blocks = 32; blocks <= 512; blocks *= 4)
		for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
			uint32_t data = (blocks * percent[i] + 99u) / 100u, fresh = blocks / 8u + 1u;
			uint64_t before, misses = ((data - blocks + fresh) * 4u + 2u) / 3u;

			open_race(blocks);
			cycle(0, data, 8);
			before = race.by_auto.misses;
			assert_int_equal(race.by_recency.misses, 8u * data);
			cycle(0, data, 40);
			assert_in_range(race.by_auto.misses - before, 0, 38u * misses + 2u * data);
			assert_int_equal(race.by_recency.misses, 48u * data);
			close_race();
		}
}

/* Blocks that are not used again leave under keep, too, as each fourth block that leaves is the oldest: within four turns. */
static void dead_data_leave(void **state)
{
	(void)state;
	for (uint32_t blocks = 16; blocks <= 256; blocks *= 4) {
		uint32_t data = blocks + blocks / 2u, stream = 2048, dead = data, evictions = 0;

		open_race(blocks);
		assert_true(cycle_until_keep(0, data, 8));
		for (; dead != 0; evictions++) { /* each block of the stream is used once: no return, no regret */
			assert_true(program_access(&race.by_auto, stream++));
			assert_true(keeps());
			dead = 0;
			for (uint32_t i = 0; i < data; i++)
				dead += uvmp_evict_contains(&race.by_auto.evict, i * BLOCK);
		}
		assert_in_range(evictions, 1, 4u * blocks + 4u);
		close_race();
	}
}

/* A cycle has died, and data follow that fit: the victims of keep return at once, and those of the oldest do not. Keep ends
 * within three rounds, and has cost no more than a turn and a quarter of memory. */
static void keep_ends(void **state)
{
	(void)state;
	for (uint32_t blocks = 32; blocks <= 512; blocks *= 4) {
		uint32_t fits = blocks - blocks / 4u;
		uint64_t misses;

		open_race(blocks);
		assert_true(cycle_until_keep(0, blocks + blocks / 2u, 8));
		misses = race.by_auto.misses;
		cycle(2048, fits, 3);
		assert_false(keeps());
		assert_in_range(race.by_auto.misses - misses, fits, fits + blocks + blocks / 4u);
		misses = race.by_auto.misses;
		cycle(2048, fits, 8);
		assert_in_range(race.by_auto.misses - misses, 0, blocks);
		close_race();
	}
}

/* A stream of tenant 0 from block *stream on, no block twice. After each `every` accesses of it, the blocks 0..little-1 of tenant 1
 * are used. Misses: of tenant 1 under auto, and by recency. */
struct misses {
	uint64_t by_auto, by_recency;
};

static struct misses stream_and_little(uint32_t *stream, uint32_t accesses, uint32_t little, uint32_t every)
{
	struct misses misses = {0, 0};

	for (uint32_t i = 0; i < accesses; i++) {
		both((*stream)++);
		for (uint32_t block = 0; i % every == 0 && block < little; block++) {
			misses.by_auto += program_access(&race.by_auto, block);
			misses.by_recency += program_access(&race.by_recency, block);
		}
	}
	assert_in_range(*stream, 0, PROGRAM_BLOCKS);
	return misses;
}

/* A tenant with no more than a quarter of its equal share is not starved by one that streams. Recency of faults evicts the
 * little once a turn of memory; here an eighth of its victims leave, and some after it has needed room itself. Once the little
 * is no longer used, its n blocks leave as samples: n of them meet the end of the list once a turn, so that it takes 8 * (1 +
 * 1/2 + ... + 1/n) turns, 20 for 6 blocks, and at most one turn more for each block. */
static void no_starvation(void **state)
{
	(void)state;
	for (uint32_t blocks = 16; blocks <= 48; blocks += 16) {
		uint32_t little = blocks / 8u, stream = little;
		struct misses misses;

		open_race(blocks);
		for (uint32_t block = 0; block < little; block++)
			assert_int_equal(uvmp_evict_own(&race.by_auto.evict, block * BLOCK, 1), UVMP_OK);
		(void)stream_and_little(&stream, 4u * blocks, little, blocks / 8u); /* the first losses */
		misses = stream_and_little(&stream, 40u * blocks, little, blocks / 8u);
		assert_in_range(misses.by_recency, 30u * little, 60u * little);
		assert_in_range(misses.by_auto, 0, misses.by_recency / 3u);
		(void)stream_and_little(&stream, (20u + little) * blocks, 0, 1);
		for (uint32_t block = 0; block < little; block++)
			assert_false(uvmp_evict_contains(&race.by_auto.evict, block * BLOCK));
		close_race();
	}
}

/* What keep serves worst, in the data from block `at` on. */
static void adversary(int kind, uint32_t at, uint64_t *random)
{
	uint32_t blocks = race.by_auto.blocks;

	for (uint32_t i = 0; i < 12u * blocks; i++) {
		switch (kind) {
		case 0: /* data that fit */
			both(at + i % (blocks - blocks / 4u));
			break;
		case 1: /* no block twice in a turn */
			both(below(random, PROGRAM_BLOCKS));
			break;
		case 2: /* some blocks often, others seldom */
			both(at + (below(random, 2) == 0 ? below(random, blocks / 2u) : below(random, 2u * blocks)));
			break;
		default: /* each block twice, the second time after half a turn */
			both((at + i + blocks / 2u) % PROGRAM_BLOCKS);
			both((at + i) % PROGRAM_BLOCKS);
		}
	}
}

/* A cycle until keep begins, then an adversary elsewhere, and again. A phase of keep costs a turn and a quarter more than recency
 * (keep_ends), and at least three quarters of a turn in order come before it, in which both rules miss alike, and then the
 * wait, which doubles to 64 turns. The cycles between the adversaries save some of that; so no more than a sixteenth of all
 * misses is added. */
static void adversaries(void **state)
{
	(void)state;
	for (int s = 0; s < 2; s++)
		for (uint32_t blocks = 32; blocks <= 128; blocks *= 2)
			for (int kind = 0; kind < 4; kind++) {
				uint64_t random = seeds[s];
				uint32_t at = 0;

				open_race(blocks);
				for (int change = 0; change < 40; change++) {
					(void)cycle_until_keep(at, blocks + blocks / 4u, 12);
					at = (at + 2u * blocks) % (PROGRAM_BLOCKS - 2u * blocks);
					adversary(kind, at, &random);
				}
				assert_true(race.by_auto.kept > 0);
				assert_in_range(race.by_auto.misses, 1,
				                race.by_recency.misses + race.by_recency.misses / 16u + blocks);
				close_race();
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_scripts), cmocka_unit_test(loads), cmocka_unit_test(cycles),
		cmocka_unit_test(dead_data_leave), cmocka_unit_test(keep_ends), cmocka_unit_test(no_starvation),
		cmocka_unit_test(adversaries)};

	seeds[0] = 20260101;
	seeds[1] = test_seed();
	return cmocka_run_group_tests_name("the order auto", tests, NULL, NULL);
}
