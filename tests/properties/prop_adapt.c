/* The controllers of adapt.h against the models that walk over the whole history, after each event of random
 * runs with random parameters. Patterns have a file of their own. Besides:
 *  - a threshold is 1..100; more evictions never lower it;
 *  - runnable thread blocks lie in 0..max, allocated ones are never fewer and never taken back;
 *  - min_running SMs run;
 *  - ETC's shares are those of the plain formulas;
 *  - pins stay within their share, and the list holds what is marked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/seeds.h"
#include "model/naive_adapt.h"

static uint64_t source;

static uint32_t draw(uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&source, bound);
}

/* -- threshold -- */

static void check_threshold(uint32_t events)
{
	static struct naive_threshold naive;
	uint32_t base = 1 + draw(100);
	struct uvmp_threshold_params params = {
	        .is_off_when_full = draw(8) == 0,
	        .base = base,
	        .aggressive = 1 + draw(base),
	        .step = 1 + draw(draw(2) == 0 ? 100 : 20),
	        .window = 1 + draw(50),
	        .evicted_high = 1 + draw(20),
	        .refault_percent = 1 + draw(100),
	};
	struct uvmp_threshold_state state, other;
	struct uvmp_prefetch_setting setting, more;

	params.evicted_low = draw(params.evicted_high + 1);
	assert_true(uvmp_threshold_params_is_valid(&params));
	uvmp_threshold_init(&params, &state);
	for (naive.count = 0; naive.count < events;) {
		struct uvmp_threshold_load *load = &naive.load[naive.count];
		uint32_t expected;

		load->faults = draw(40);
		load->refaults = draw(load->faults + 1);
		load->evicted_pages = draw(load->faults * 25 + 1);
		naive.fits[naive.count++] = draw(20) == 0;
		other = state;
		assert_int_equal(uvmp_threshold_step(&params, load, naive.fits[naive.count - 1] ? 5 : 6, 5,
		                                     &state, &setting),
		                 UVMP_OK);
		expected = naive_threshold(&naive, &params);
		assert_int_equal(setting.is_on, expected <= 100);
		assert_int_equal(setting.threshold, expected <= 100 ? expected : 100);
		assert_in_range(setting.threshold, 1, 100);
		if (naive.fits[naive.count - 1])
			continue;
		load->evicted_pages += 1000;
		assert_int_equal(uvmp_threshold_step(&params, load, 6, 5, &other, &more), UVMP_OK);
		assert_true(other.threshold >= state.threshold);
		load->evicted_pages -= 1000;
	}
}

/* -- early -- */

static void check_early(uint32_t events)
{
	static struct naive_early naive;
	static struct uvmp_early_block block[NAIVE_ADAPT_BLOCKS];
	uint32_t base = 1 + draw(100);
	struct uvmp_early_params params = {
	        .epoch_ns = 1 + draw(50),
	        .aggressive = 1 + draw(base),
	        .base = base,
	        .cautious = base + draw(101 - base),
	        .cold_percent = draw(120),
	        .step = 1 + draw(99),
	        .change_percent = 1 + draw(100),
	};
	struct uvmp_early_state state;
	uint64_t now = draw(200);
	uint32_t threshold, blocks = 1 + draw(NAIVE_ADAPT_BLOCKS);

	params.hot_percent = params.cold_percent + 1 + draw(150);
	memset(block, 0, sizeof(block));
	uvmp_early_init(&params, now, &state);
	naive.start_ns = now;
	for (naive.count = 0; naive.count < events;) {
		uint32_t b = draw(blocks), faults = draw(6);

		now += draw(draw(8) == 0 ? 120 : 8);
		naive.event[naive.count].now_ns = now;
		naive.event[naive.count].block = b;
		naive.event[naive.count++].faults = faults;
		if (faults == 0) {
			assert_int_equal(uvmp_early_evict(&params, &state, now), UVMP_OK);
			continue;
		}
		assert_int_equal(uvmp_early_fault(&params, &state, &block[b], now, faults, &threshold),
		                 UVMP_OK);
		assert_int_equal(threshold, naive_early(&naive, &params));
		assert_in_range(threshold, 1, 100);
	}
}

/* -- lifetimes and threads -- */

static void check_threads(uint32_t events)
{
	static struct naive_threads naive;
	uint64_t page[8], since[8], now = 0;
	uint32_t premature = 0, allocated;
	bool was_evicted[8] = {false}, is_there[8] = {false};
	struct uvmp_threads_params params = {
	        .period = 1 + draw(60),
	        .drop_percent = 1 + draw(draw(2) == 0 ? 100 : 25),
	        .max = draw(6),
	        .is_each_period = draw(2) == 0,
	};
	struct uvmp_threads_state state;
	struct uvmp_lifetime lifetime;

	params.start = draw(params.max + 1);
	assert_int_equal(uvmp_lifetime_init(&lifetime, page, 8), UVMP_OK);
	uvmp_threads_init(&params, 0, &state);
	for (naive.count = 0; naive.count < events;) {
		uint32_t p = draw(8);
		bool is_fault = draw(2) == 0;

		now += draw(12);
		allocated = state.allocated;
		naive.event[naive.count].now = now;
		naive.event[naive.count].life = UINT64_MAX;
		if (draw(3) == 0) {
			naive.count++;
			assert_int_equal(uvmp_threads_step(&params, &lifetime, now, &state), UVMP_OK);
		} else if (is_there[p] && draw(20) == 0) {
			assert_int_equal(uvmp_lifetime_free(&lifetime, p), UVMP_OK);
			is_there[p] = was_evicted[p] = false;
		} else if (is_there[p]) {
			naive.event[naive.count++].life = now - since[p];
			assert_int_equal(uvmp_lifetime_evict(&lifetime, p, now), UVMP_OK);
			is_there[p] = false;
			was_evicted[p] = true;
		} else {
			premature += is_fault && was_evicted[p];
			since[p] = now;
			assert_int_equal(uvmp_lifetime_allocate(&lifetime, p, now, is_fault), UVMP_OK);
			is_there[p] = true;
			was_evicted[p] = false;
		}
		assert_int_equal(state.runnable, naive_threads(&naive, &params));
		assert_int_equal(lifetime.premature, premature);
		assert_true(state.allocated >= state.runnable && state.allocated >= allocated);
	}
}

/* -- throttle -- */

static void check_throttle(uint32_t events)
{
	static struct naive_throttle naive;
	struct uvmp_throttle_params params = {
	        .sms = 1 + draw(40),
	        .step = 1 + draw(10),
	        .initial = 1 + draw(50),
	        .detect = 1 + draw(50),
	        .execute = 1 + draw(50),
	        .thrash_percent = 1 + draw(100),
	};
	struct uvmp_throttle_state state;
	uint64_t now = draw(100);

	params.min_running = 1 + draw(params.sms);
	params.calm_percent = 1 + draw(params.thrash_percent);
	uvmp_throttle_init(&state);
	for (naive.count = 0; naive.count < events;) {
		uint32_t faults = draw(10), refaults = draw(faults + 1), evicted = draw(4);

		now += draw(20);
		naive.event[naive.count].now = now;
		naive.event[naive.count].faults = faults;
		naive.event[naive.count].refaults = refaults;
		naive.event[naive.count++].evicted = evicted;
		assert_int_equal(uvmp_throttle_step(&params, faults, refaults, evicted, now, &state),
		                 UVMP_OK);
		assert_int_equal(state.throttled, naive_throttle(&naive, &params));
		assert_true(params.sms - state.throttled >= params.min_running);
	}
}

/* -- cyclic -- */

static void compare_pins(const struct uvmp_cyclic_state *state, const uint32_t *pins, uint32_t count)
{
	uint32_t at = state->oldest, marked = 0;

	assert_int_equal(state->pinned, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(at, pins[i] + 1);
		assert_true(state->block[at - 1].is_pinned);
		at = state->block[at - 1].newer;
	}
	assert_int_equal(at, 0);
	for (uint32_t b = 0; b < state->blocks; b++)
		marked += state->block[b].is_pinned;
	assert_int_equal(marked, count);
}

static void check_cyclic(uint32_t events)
{
	static struct naive_cyclic naive;
	struct uvmp_cyclic_block block[NAIVE_ADAPT_BLOCKS];
	struct uvmp_cyclic_state state;
	struct uvmp_cyclic_params params = {
	        .rounds = 1 + draw(3),
	        .share_percent = draw(101),
	        .reach_percent = 1 + draw(300),
	        .patience_percent = 1 + draw(300),
	};
	uint32_t pins[NAIVE_ADAPT_BLOCKS], expected, released, b, count, walk = 0;
	bool is_pinned;

	naive.capacity = draw(NAIVE_ADAPT_BLOCKS);
	assert_int_equal(uvmp_cyclic_init(&state, block, NAIVE_ADAPT_BLOCKS, naive.capacity), UVMP_OK);
	for (naive.count = 0; naive.count < events;) {
		uint32_t kind = draw(20);

		b = draw(2) == 0 ? draw(NAIVE_ADAPT_BLOCKS) : walk++ % NAIVE_ADAPT_BLOCKS;
		naive.event[naive.count].block = b;
		released = UINT32_MAX;
		if (kind == 0) {
			naive.event[naive.count].kind = NAIVE_CYCLIC_FREE;
			assert_int_equal(uvmp_cyclic_free(&state, b), UVMP_OK);
		} else if (kind < 5) {
			naive.event[naive.count].kind = NAIVE_CYCLIC_RELEASE;
			assert_int_equal(uvmp_cyclic_release(&params, &state, &released), UVMP_OK);
		} else if (!state.block[b].is_away && (kind < 12 || !state.block[b].is_pinned)) {
			naive.event[naive.count].kind = NAIVE_CYCLIC_EVICT;
			assert_int_equal(uvmp_cyclic_evict(&state, b), UVMP_OK);
		} else {
			bool is_fault = draw(8) != 0;

			naive.event[naive.count].kind =
			        is_fault ? NAIVE_CYCLIC_RETURN : NAIVE_CYCLIC_PREFETCH;
			assert_int_equal(uvmp_cyclic_return(&params, &state, b, is_fault, &is_pinned),
			                 UVMP_OK);
			assert_int_equal(is_pinned, state.block[b].is_pinned);
		}
		naive.count++;
		assert_true(uvmp_cyclic_is_valid(&state));
		count = naive_cyclic(&naive, &params, pins, &expected);
		assert_int_equal(released, expected);
		compare_pins(&state, pins, count);
		assert_true(state.pinned * 100 <= params.share_percent * naive.capacity);
	}
}

/* -- etc: with numbers small enough for the plain formulas -- */

static void check_etc(void)
{
	uint64_t total = draw(1000000), free = draw((uint32_t)total + 1), bytes = draw(100000000);
	uint32_t percent = draw(101), ratio = draw(500), page_bytes = 1 + draw(10000);
	uint64_t held = bytes * (ratio > 100 ? ratio : 100) / 100;

	assert_int_equal(uvmp_etc_evicts_ahead(UVMP_ETC_EVICTION, free, total, percent),
	                 free * 100 < total * percent);
	assert_int_equal(uvmp_etc_capacity(UVMP_ETC_COMPRESSION, bytes, ratio, page_bytes),
	                 held / page_bytes * page_bytes);
}

static void check_many(uint64_t seed)
{
	source = seed;
	for (uint32_t i = 0; i < test_share_of(1000); i++) {
		check_threshold(10 + i % 150);
		check_early(10 + i % 80);
		check_threads(10 + i % 200);
		check_throttle(10 + i % 200);
		check_cyclic(10 + i % 200);
		check_etc();
	}
}

int main(void)
{
	return seeds_run(check_many);
}
