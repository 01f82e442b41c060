/* prefetch.h, auto: equality with the naive model over random scripts of faults and evictions; what the rules bound, on
 * accesses that play against them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/auto_script.h"
#include "prefetch/prefetch_auto_internal.h"
#include "support/seed.h"
#include "uvmpolicy/base.h"
#include "uvmpolicy/prefetch.h"

#define SCRIPTS 100

static struct auto_script_stats stats;

static void run_scripts(uint64_t random, uint32_t scripts)
{
	uint8_t data[6000];

	for (uint32_t i = 0; i < scripts; i++) {
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)uvmp_random_next(&random);
		assert_true(auto_script_agrees(data, sizeof(data), &stats));
	}
}

static void test_equality_with_the_naive_model(void **state)
{
	(void)state;
	run_scripts(1, test_share_of(SCRIPTS));
	run_scripts(test_seed(), test_share_of(SCRIPTS));
	if (test_share_of(SCRIPTS) < SCRIPTS)
		return;
	/* all scripts reach each mode and each kind of decision */
	for (int i = 0; i < 3; i++)
		assert_true(stats.decisions[i] > 0 && stats.modes[i] > 0);
	assert_true(stats.probes > 0 && stats.parts > 0 && stats.wraps > 0 && stats.patience > 0);
	assert_true(stats.prices > 0 && stats.density > 0 && stats.small > 0);
	assert_true(stats.ahead > 0 && stats.chains > 0);
	assert_true(stats.fits > 0 && stats.credits > 0 && stats.checks > 0);
	assert_true(stats.opened > 0 && stats.opened_most > 0);
}

static void test_determinism_and_bounds(void **state)
{
	const struct uvmp_prefetch_traits *traits = uvmp_prefetch_traits_of(UVMP_PREFETCH_AUTO);
	uint64_t digest;

	(void)state;
	stats.digest = 0;
	run_scripts(7, 5);
	digest = stats.digest;
	stats.digest = 0;
	run_scripts(7, 5);
	assert_true(digest == stats.digest && digest != 0);
	assert_in_range(traits->block_bytes, 1, 16);
	assert_in_range(traits->range_bytes, 1, 64);
	assert_in_range(traits->processor_bytes, 1, 96);
}

/* -- a program, and what its accesses cost --
 *
 * A range of BLOCKS blocks in a memory of ROOM, of which 64 KiB leave at a time, those first whose block has faulted longest ago. A
 * cost is FAULT for each decision, and 1 for each page that comes. */

#define BLOCKS 40
#define ROOM   16
#define FAULT  12
#define WHOLE  (FAULT + 512) /* cost of a stay in mode whole */

struct machine {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state state[BLOCKS];
	uvmp_mask resident[BLOCKS];
	uint32_t used[BLOCKS], faults, pages;
	struct auto_block block[BLOCKS];
	struct auto_range range;
	struct auto_processor processor;
	uint64_t evicted, cost;
};

static struct machine machine[2]; /* auto, always whole blocks */

static void open(struct machine *m, enum uvmp_prefetcher prefetcher, uint32_t threshold)
{
	memset(m, 0, sizeof(*m));
	uvmp_prefetch_params_init(&m->params, prefetcher);
	m->params.threshold = threshold;
	m->params.auto_price = 1;
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uvmp_prefetch_state_init(&m->state[b]);
		m->state[b].block = &m->block[b];
		m->state[b].range = &m->range;
		m->state[b].processor = &m->processor;
	}
}

static void make_room(struct machine *m)
{
	while (m->pages > ROOM * 512) {
		uint32_t oldest = BLOCKS, first;
		uvmp_mask gone;
		struct uvmp_prefetch_departure departure = {.gone = &gone, .processor = 1};

		for (uint32_t b = 0; b < BLOCKS; b++)
			if (!uvmp_mask_is_empty(&m->resident[b]) && (oldest == BLOCKS || m->used[b] < m->used[oldest]))
				oldest = b;
		uvmp_mask_zero(&gone);
		first = uvmp_mask_bounds(&m->resident[oldest]).first / 16 * 16;
		uvmp_mask_region_set(&gone, (struct uvmp_region){first, first + 16});
		uvmp_mask_and(&gone, &gone, &m->resident[oldest]);
		uvmp_mask_andnot(&m->resident[oldest], &m->resident[oldest], &gone);
		m->pages -= uvmp_mask_weight(&gone);
		m->evicted += uvmp_mask_weight(&gone);
		departure.evicted_pages = m->evicted;
		assert_int_equal(uvmp_prefetch_left(m->params.prefetcher, m->state[oldest].block, &departure), UVMP_OK);
	}
}

static struct uvmp_prefetch_facts facts_of(const struct machine *m, uint32_t b, const uvmp_mask *faulted)
{
	struct uvmp_prefetch_facts facts = {
	        .faulted = faulted,
	        .faulted_region = uvmp_mask_bounds(faulted),
	        .resident = &m->resident[b],
	        .to = 1,
	        .range_first = b * 512,
	        .range_pages = BLOCKS * 512,
	        .memory = {.pages = ROOM * 512, .evicted_pages = m->evicted},
	};

	(void)uvmp_block_from_shape(512, 0, 16, &facts.block);
	return facts;
}

/* Blocks that follow one whose fault was answered. */
static void bring_ahead(struct machine *m, struct uvmp_prefetch_hint *hint)
{
	const uvmp_mask none = {{0}};

	while (hint->follow != UVMP_PAGE_NONE) {
		uint32_t b = (uint32_t)hint->follow / 512, came;
		struct uvmp_prefetch_facts facts = facts_of(m, b, &none);

		facts.is_follow = true;
		assert_int_equal(uvmp_prefetch_decide(&m->params, &facts, &m->state[b], hint), UVMP_OK);
		came = uvmp_mask_weight(&hint->pages);
		if (came == 0)
			continue;
		uvmp_mask_or(&m->resident[b], &m->resident[b], &hint->pages);
		m->pages += came;
		m->cost += came;
		m->used[b] = m->faults;
		make_room(m);
	}
}

static void touch(struct machine *m, uint32_t b, uint32_t page)
{
	uvmp_mask faulted = {{0}};
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_hint hint;
	uint32_t before = uvmp_mask_weight(&m->resident[b]), after;

	if (uvmp_mask_test(&m->resident[b], page))
		return;
	uvmp_mask_set(&faulted, page);
	facts = facts_of(m, b, &faulted);
	assert_int_equal(uvmp_prefetch_decide(&m->params, &facts, &m->state[b], &hint), UVMP_OK);
	uvmp_mask_or(&m->resident[b], &m->resident[b], &faulted);
	uvmp_mask_or(&m->resident[b], &m->resident[b], &hint.pages);
	after = uvmp_mask_weight(&m->resident[b]);
	/* who has spent enough, or is whole, is not kept waiting */
	assert_true(after == 512 || hint.rule > UVMP_RULE_WHOLE || m->params.prefetcher != UVMP_PREFETCH_AUTO);
	assert_true(after == 512 || hint.rule != UVMP_RULE_REST);
	m->pages += after - before;
	m->used[b] = ++m->faults;
	m->cost += FAULT + after - before;
	/* ski rental: less than the whole block before the last decision of the stay, which adds no more than this */
	assert_in_range(m->block[b].spent, 0, WHOLE + FAULT + FAULT / 3 + 512 + 512 / 4);
	make_room(m);
	bring_ahead(m, &hint);
}

static void touch_both(uint32_t b, uint32_t page)
{
	touch(&machine[0], b, page);
	touch(&machine[1], b, page);
}

static void use_all(uint32_t b)
{
	for (uint32_t page = 0; page < 512; page++)
		touch_both(b, page);
}

static void open_both(void)
{
	open(&machine[0], UVMP_PREFETCH_AUTO, 51);
	open(&machine[1], UVMP_PREFETCH_DENSITY, 1);
}

/* The program uses all of a block that auto brings in parts, and one page of a block that auto brings as a whole: the worst that
 * it can do in each stay. In mode whole only probes lose, about as much as they cost: one in `auto_gap` stays costs twice as
 * much. In all less than a twentieth, and the probes before the gaps are long. */
static void test_against_the_mode(void **state)
{
	(void)state;
	open_both();
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t b = i % BLOCKS;

		touch_both(b, i * 16 % 512);
		if (machine[0].block[b].mode != AUTO_WHOLE)
			use_all(b);
	}
	assert_true(machine[0].cost * 20 < machine[1].cost * 21);
}

/* The program uses one page of the blocks that are probes, so that a finer mode looks cheap, and then all of each block.
 * Each return to whole doubles the time to the next try: 3 turns in a finer mode that cost twice as much, then 1, 2, ... 32
 * turns. In the long run less than a tenth more. */
static void test_against_probes(void **state)
{
	uint32_t rounds = test_share_of(8000);

	(void)state;
	open_both();
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t b = i % BLOCKS;

		touch_both(b, i * 16 % 512);
		if (machine[0].block[b].probe == AUTO_PROBES || machine[0].range.mode != AUTO_WHOLE)
			use_all(b);
	}
	assert_true(machine[0].range.patience > 1);
	assert_true(machine[0].cost * 10 < machine[1].cost * 11);
}

/* Phases of any length, with cyclic or random blocks, all of each or a few pages: for every seed, whole blocks are not better
 * by more than a tenth, and as a rule worse. */
static void test_phases(void **state)
{
	uint64_t random = test_seed();

	(void)state;
	for (uint32_t run = 0; run < test_share_of(5); run++) {
		open_both();
		for (uint32_t i = 0, left = 0, kind = 0; i < 3000; i++, left--) {
			uint32_t b = i % BLOCKS;

			if (left == 0) {
				kind = (uint32_t)uvmp_random_next(&random) % 4;
				left = 1 + (uint32_t)uvmp_random_next(&random) % 400;
			}
			if (kind % 2 != 0)
				b = (uint32_t)uvmp_random_next(&random) % BLOCKS;
			if (kind < 2)
				use_all(b);
			for (uint32_t k = 0; kind >= 2 && k < 3; k++)
				touch_both(b, (uint32_t)uvmp_random_next(&random) % 512);
		}
		print_message("cost of auto %u %% of that of whole blocks\n",
		              (unsigned)(machine[0].cost * 100 / machine[1].cost));
		assert_true(machine[0].cost * 10 < machine[1].cost * 11);
	}
}

/* Streams of random length at random places, of which auto cannot know the ends. Two blocks come ahead in vain, and an
 * eighth of those that the streams used. */
static void test_streams_that_end(void **state)
{
	uint64_t random = test_seed();

	(void)state;
	for (uint32_t run = 0; run < test_share_of(20); run++) {
		uint32_t longest = 1 + (uint32_t)uvmp_random_next(&random) % 12;

		open_both();
		machine[0].params.auto_gap = 0;
		for (uint32_t i = 0; i < 1000; i++) {
			uint32_t b = (uint32_t)uvmp_random_next(&random) % BLOCKS;
			uint32_t blocks = 1 + (uint32_t)uvmp_random_next(&random) % longest;

			for (uint32_t end = b + blocks; b < end && b < BLOCKS; b++)
				touch_both(b, 5);
		}
		print_message("streams of up to %u blocks: cost of auto %u %% of that of whole blocks\n", (unsigned)longest,
		              (unsigned)(machine[0].cost * 100 / machine[1].cost));
		assert_true(machine[0].cost * 8 < machine[1].cost * 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_equality_with_the_naive_model), cmocka_unit_test(test_determinism_and_bounds),
	        cmocka_unit_test(test_against_the_mode),              cmocka_unit_test(test_against_probes),
	        cmocka_unit_test(test_phases),
	        cmocka_unit_test(test_streams_that_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
