/* Prefetchers and eviction orders that are not of the library, in the engine (plugin.h): the same decisions as those of the library
 * that do the same, private memory, events, refusals, and answers that are wrong in every way. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_host.h"
#include "support/policy_names.h"
#include "support/seed.h"
#include "uvmpolicy/plugin.h"

#define BASE   0x40000000u
#define BLOCKS 8u
#define PAGES  (BLOCKS * 512u)
#define ROUNDS 16

static struct engine e;

/* -- plugins that do what policies of the library do -- */

static uint64_t by_clock(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	return call->clock;
}

static void take_block(void *user, struct uvmp_prefetch_call *call)
{
	(void)user;
	assert_null(call->block);
	assert_null(call->range);
	assert_null(call->processor);
	*call->pages = *call->candidates;
}

static uint32_t left_alone;

static void leave_block(void *user, void *block, const struct uvmp_prefetch_departure *departure)
{
	(void)user, (void)departure;
	assert_null(block);
	left_alone++;
}

/* Zheng et al.: the pages up to 128 from the faulting one. */
static void take_locality(void *user, struct uvmp_prefetch_call *call)
{
	const struct uvmp_prefetch_facts *facts = call->facts;
	uint64_t *reach = call->range, end = facts->range_first + facts->block.pages;
	uint64_t last = facts->range_first + (uint64_t)uvmp_mask_bounds(facts->faulted).end - 1u + call->value[0];

	(void)user;
	if (!facts->is_follow)
		*reach = last < facts->range_pages ? last : facts->range_pages;
	for (uint32_t p = 0; p < facts->block.pages; p++) {
		bool is_near = facts->is_follow;

		for (uint32_t first = p >= call->value[0] ? p - call->value[0] + 1u : 0; !is_near && first <= p; first++)
			is_near = uvmp_mask_test(facts->faulted, first);
		if (is_near && (!facts->is_follow || facts->range_first + p < *reach))
			uvmp_mask_set(call->pages, p);
	}
	if (*reach > end && end < facts->range_pages)
		call->follow = end;
}

/* -- plugins that count -- */

struct counts {
	uint32_t decisions, lefts, touches, inits, removals, batches, evicted_pages, arena_blocks;
	uint64_t seen_block, seen_range, seen_processor, seen_unit;
};

static void count_decision(void *user, struct uvmp_prefetch_call *call)
{
	struct counts *counts = user;
	uint64_t *block = call->block, *range = call->range, *processor = call->processor;

	counts->decisions++;
	if (block != NULL)
		counts->seen_block = ++*block;
	counts->arena_blocks += block == NULL;
	counts->seen_range = ++range[1];
	counts->seen_processor = ++processor[2];
	assert_non_null(call->random);
	assert_int_equal(uvmp_mask_intersects(call->candidates, call->facts->faulted), 0);
}

static void count_left(void *user, void *block, const struct uvmp_prefetch_departure *departure)
{
	struct counts *counts = user;

	assert_true(*(uint64_t *)block != 0);
	assert_int_equal(departure->processor, 1);
	counts->lefts++;
}

static void count_touch(void *user, const uint32_t *value, const struct uvmp_prefetch_touch *touch, void *range,
			void *block)
{
	struct counts *counts = user;

	assert_int_equal(value[0], 4);
	assert_true(((uint64_t *)range)[1] != 0);
	assert_true(block == NULL || *(uint64_t *)block != 0);
	assert_true(touch->page < 512);
	counts->touches++;
}

static void count_init(void *user, void *state, const uint32_t *value, uint32_t units)
{
	(void)state, (void)value;
	assert_int_equal(units, 64 * 32);
	((struct counts *)user)->inits++;
}

static uint64_t count_key(void *user, const struct uvmp_evict_call *call)
{
	uint64_t *unit = call->memory;

	((struct counts *)user)->seen_unit = ++*unit;
	return call->clock + call->value[0];
}

static void count_removal(void *user, const struct uvmp_evict_call *call)
{
	(void)call;
	((struct counts *)user)->removals++;
}

static void count_evicted(void *user, const struct uvmp_evict_call *call, uint32_t pages, uint32_t untouched)
{
	(void)call, (void)untouched;
	((struct counts *)user)->evicted_pages += pages;
}

static void count_batch(void *user, void *state, const uint32_t *value)
{
	assert_non_null(state);
	assert_int_equal(value[0], 5);
	((struct counts *)user)->batches++;
}

/* -- plugins with wrong answers -- */

static uint64_t noise;

static void take_noise(void *user, struct uvmp_prefetch_call *call)
{
	(void)user;
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		call->pages->word[i] = uvmp_random_next(&noise) | uvmp_random_next(&noise);
	switch (uvmp_random_below(&noise, 4)) {
	case 0:
		call->follow = uvmp_random_next(&noise);
		break;
	case 1:
		call->follow = uvmp_random_below(&noise, 2u * PAGES);
		break;
	case 2:
		call->follow = call->facts->range_first + call->facts->block.pages;
		break;
	default:
		call->follow = call->facts->range_first; /* itself */
		break;
	}
	if (call->block != NULL)
		memset(call->block, 0xff, 16);
	memset(call->range, 0xff, UVMP_PREFETCH_STATE_MAX);
	memset(call->processor, 0xff, 24);
}

static void left_noise(void *user, void *block, const struct uvmp_prefetch_departure *departure)
{
	(void)user, (void)departure;
	memset(block, 0xee, 16);
}

static uint64_t key_noise(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	memset(call->memory, 0xff, 9);
	memset(call->state, 0xff, 17);
	return uvmp_random_below(&noise, 3) == 0 ? uvmp_random_next(&noise) : uvmp_random_below(&noise, 4);
}

static const struct uvmp_plugin_parameter near_parameter[] = {{"near_pages", "pages", 1, 512, 128}};
static const struct uvmp_plugin_parameter count_parameter[] = {{"count_number", "a number", 0, 9, 4}};
static const struct uvmp_plugin_parameter fifth_parameter[] = {{"fifth_number", "a number", 0, 9, 5}};
static struct counts counts;
static const struct uvmp_prefetch_plugin whole = {
	.size = sizeof(whole), .name = "whole", .traits = {.has_touches = true}, .decide = take_block, .left = leave_block};
static const struct uvmp_prefetch_plugin near = {
	.size = sizeof(near),
	.parameters = 1,
	.parameter = near_parameter,
	.name = "near",
	.traits = {.grouping = UVMP_GROUPING_RUN_TO_FAULT, .walks_ranges = true, .has_one_gpu = true, .range_bytes = 8},
	.decide = take_locality,
};
static const struct uvmp_prefetch_plugin counting = {
	.size = sizeof(counting),
	.parameters = 1,
	.parameter = count_parameter,
	.name = "counting",
	.traits = {.has_touches = true,
		   .block_bytes = 8,
		   .range_bytes = 16,
		   .processor_bytes = 24,
		   .counts_touches = true},
	.user = &counts,
	.decide = count_decision,
	.left = count_left,
	.touched = count_touch,
};
/* Only the required function. */
static const struct uvmp_prefetch_plugin deaf = {
	.size = sizeof(deaf),
	.name = "deaf",
	.traits = {.has_memory = true, .block_bytes = 8, .range_bytes = 16, .processor_bytes = 24, .counts_touches = true},
	.user = &counts,
	.decide = count_decision,
};
static const struct uvmp_prefetch_plugin noisy = {
	.size = sizeof(noisy),
	.name = "noisy",
	.traits = {.walks_ranges = true,
		   .has_touches = true,
		   .has_utlbs = true,
		   .has_neighbour = true,
		   .has_memory = true,
		   .has_kernels = true,
		   .block_bytes = 16,
		   .range_bytes = UVMP_PREFETCH_STATE_MAX,
		   .processor_bytes = 24},
	.decide = take_noise,
	.left = left_noise,
};
static const struct uvmp_prefetch_plugin noisy_driver = {
	.size = sizeof(noisy_driver),
	.name = "noisy_driver",
	.traits = {.grouping = UVMP_GROUPING_SINGLE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .block_bytes = 16,
		   .range_bytes = UVMP_PREFETCH_STATE_MAX,
		   .processor_bytes = 24},
	.decide = take_noise,
};
static const struct uvmp_evict_plugin oldest = {
	.size = sizeof(oldest), .name = "oldest", .traits = {.unit_pages = 1, .has_reserve = true}, .touch = by_clock};
static const struct uvmp_evict_plugin big = {
	.size = sizeof(big),
	.name = "big",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true},
	.touch = by_clock};
static const struct uvmp_evict_plugin fifth = {
	.size = sizeof(fifth),
	.parameters = 1,
	.parameter = fifth_parameter,
	.name = "fifth",
	.traits = {.unit_pages = 16, .has_touches = true, .ignores_accesses = true},
	.state_bytes = 4,
	.unit_bytes = 8,
	.user = &counts,
	.init = count_init,
	.touch = count_key,
	.removed = count_removal,
	.left = count_evicted,
	.batch = count_batch,
};
#define NOISE(name_, unit_pages_, granularity_)                                                              \
	{                                                                                                    \
		.size = sizeof(struct uvmp_evict_plugin), .name = name_,                                     \
		.traits = {.unit_pages = unit_pages_,                                                        \
			   .has_granularity = granularity_,                                                  \
			   .has_reserve = true,                                                              \
			   .has_touches = true,                                                              \
			   .spares_incomplete = true},                                                       \
		.state_bytes = 17, .unit_bytes = 9, .touch = key_noise, .victim = key_noise                  \
	}
static const struct uvmp_evict_plugin noise_page = NOISE("noise_page", 1, false);
static const struct uvmp_evict_plugin noise_basic = NOISE("noise_basic", 16, false);
static const struct uvmp_evict_plugin noise_large = NOISE("noise_large", 512, true);
static const struct uvmp_prefetch_plugin *const prefetchers[] = {&whole, &near, &counting, &deaf, &noisy, &noisy_driver};
static const struct uvmp_evict_plugin *const orders[] = {&oldest, &big, &fifth, &noise_page, &noise_basic, &noise_large};
static const struct uvmp_plugins plugins = {sizeof(plugins), UVMP_PLUGIN_VERSION, 6, 6, prefetchers, orders};

/* -- runs -- */

static void init(const char *policy, uint32_t gpus, uint32_t roots)
{
	struct uvmp_policy_error error;

	engine_init(&e, gpus, roots);
	if (uvmp_policy_parse_plugins(policy, strlen(policy), &plugins, &e.policy, &error) != UVMP_OK)
		fail_msg("%s: %s", policy, error.text);
	memset(&counts, 0, sizeof(counts));
}

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

/* Faults of one batch or a few, and accesses to resident pages; scans among them, where pages come back. */
static void report(uint64_t *random, uint32_t *cursor)
{
	uint32_t count = 1 + below(random, 40), stride = 1 + below(random, 100);
	bool is_scan = below(random, 2) == 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t page = is_scan ? *cursor % PAGES : below(random, PAGES);

		*cursor += stride;
		engine_fault(&e, 1, 1, BASE + page * ENGINE_PAGE,
			     below(random, 2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
		if (below(random, 4) == 0)
			(void)uvmp_service_touch(e.service, 1, 1, BASE + (uint64_t)below(random, PAGES) * ENGINE_PAGE);
	}
}

static void begin(size_t extra)
{
	assert_true(engine_start(&e, 16, extra));
	engine_range(&e, 1, BASE, (uint64_t)PAGES * ENGINE_PAGE, UVMP_PROC_NONE);
	engine_bind(&e, 1, 1);
}

/* A run with random faults: a hash of its log (FNV-1a). */
static uint64_t log_of(const char *policy, int rounds)
{
	uint64_t random = 7, hash = 0xcbf29ce484222325u;
	uint32_t cursor = 0, evictions = 0;

	init(policy, 1, 1);
	e.is_checking = false;
	begin(1u << 20);
	for (int round = 0; round < rounds; round++) {
		report(&random, &cursor);
		if (engine_run(&e) != UVMP_OK)
			fail_msg("%s ended with %d", policy, (int)e.status);
		for (const char *c = e.text; *c != '\0'; c++)
			hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
		evictions += e.count[UVMP_ACTION_EVICT];
		engine_forget(&e);
	}
	assert_true(engine_agrees(&e));
	assert_true(evictions > 10);
	engine_stop(&e);
	return hash;
}

static void decide_alike(int rounds, const char *one, const char *other)
{
	if (log_of(one, rounds) != log_of(other, rounds))
		fail_msg("%s and %s differ", one, other);
}

static void test_same_decisions(void **state)
{
	(void)state;
	decide_alike(40, "prefetch=none evict=lru4k", "prefetch=none evict=oldest");
	decide_alike(6, "prefetch=density evict=lru4k reserve=20 free_buffer=10",
		     "prefetch=density evict=oldest reserve=20 free_buffer=10");
	decide_alike(6, "evict=lru2m granularity=256k cyclic=on", "evict=big granularity=256k cyclic=on");
	decide_alike(6, "evict=lru2m reserve=50", "evict=big reserve=50");
	decide_alike(6, "prefetch=block thrash=off evict=lru4k", "prefetch=whole thrash=off evict=oldest");
	assert_true(left_alone > 0);
	decide_alike(6, "prefetch=locality thrash=off evict=lru4k", "prefetch=near thrash=off evict=lru4k");
	decide_alike(6, "prefetch=locality locality_pages=300 thrash=off", "prefetch=near near_pages=300 thrash=off");
	decide_alike(6, "prefetch=tbn prefetch_full=block thrash=off evict=lru4k",
		     "prefetch=tbn prefetch_full=whole thrash=off evict=lru4k");
	decide_alike(6, "prefetch=block prefetch_full=none thrash=off evict=lru4k",
		     "prefetch=whole prefetch_full=none thrash=off evict=lru4k");
	decide_alike(6, "prefetch=block prefetch_full=locality thrash=off evict=lru4k",
		     "prefetch=whole prefetch_full=near thrash=off evict=lru4k");
}

/* -- private memory and events -- */

static void fault(uint32_t block, uint32_t page)
{
	engine_fault(&e, 1, 1, BASE + (block * 512u + page) * ENGINE_PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

/* Faults on every page of a block, or every other one; not more than a batch at once, as a flush drops the others. */
static void fill(uint32_t block, uint32_t step)
{
	for (uint32_t page = 0; page < 512; page += step) {
		engine_fault(&e, 1, 1, BASE + (block * 512u + page) * ENGINE_PAGE, UVMP_ACCESS_WRITE);
		if (page % 128u == 128u - step)
			assert_int_equal(engine_run(&e), UVMP_OK);
	}
}

static void test_prefetcher_events(void **state)
{
	(void)state;
	init("prefetch=counting", 1, 2);
	begin(1u << 20);
	fault(0, 1);
	fault(0, 2);
	fault(1, 5);
	assert_int_equal(counts.decisions, 3);
	assert_int_equal(counts.seen_block, 1);
	assert_int_equal(counts.seen_range, 3);
	assert_int_equal(counts.seen_processor, 3);
	assert_int_equal(uvmp_service_touch(e.service, 1, 1, BASE + 5u * 512u), UVMP_OK); /* page 0, not resident */
	assert_int_equal(uvmp_service_touch(e.service, 1, 1, BASE + 2u * ENGINE_PAGE), UVMP_OK);
	assert_true(counts.touches != 0);
	fault(2, 9);
	assert_int_equal(counts.lefts, 1);
	fault(0, 3); /* its memory stays */
	assert_int_equal(counts.seen_block, 3);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

static void test_functions_that_are_missing(void **state)
{
	(void)state;
	init("prefetch=deaf evict=oldest", 1, 1);
	begin(1u << 20);
	for (uint32_t i = 0; i < 4; i++) {
		fill(i, 2);
		assert_int_equal(uvmp_service_touch(e.service, 1, 1, BASE + i * 512u * ENGINE_PAGE), UVMP_OK);
	}
	assert_true(e.count[UVMP_ACTION_EVICT] > 0);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

/* The block has no private memory; the decision is made. */
static void test_arena(void **state)
{
	(void)state;
	init("prefetch=counting", 1, 8);
	assert_true(engine_start(&e, 3, 0));
	engine_range(&e, 1, BASE, (uint64_t)PAGES * ENGINE_PAGE, UVMP_PROC_NONE);
	engine_bind(&e, 1, 1);
	for (uint32_t block = 0; block < 3; block++) {
		fault(block, 1);
		fault(block, 2);
	}
	assert_true(counts.arena_blocks > 0);
	assert_int_equal(counts.seen_range, counts.decisions);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

static void test_order_events(void **state)
{
	(void)state;
	init("prefetch=none evict=fifth", 1, 1);
	begin(1u << 20);
	fill(0, 1);
	assert_int_equal(counts.inits, 1);
	assert_int_equal(counts.seen_unit, 1);
	assert_true(counts.batches > 0);
	assert_int_equal(counts.removals, 0);
	fault(1, 0);
	assert_int_equal(counts.removals, 1);
	assert_int_equal(counts.evicted_pages, 16);
	fault(0, 0); /* the evicted unit keeps its memory */
	assert_int_equal(counts.seen_unit, 2);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

/* -- what is refused -- */

static void refuses(enum uvmp_status status, const char *text)
{
	struct uvmp_service_error error;

	assert_int_equal(uvmp_service_params_check(&e.params, &error), status);
	assert_string_equal(error.text, text);
	assert_int_equal(uvmp_service_size(&e.params, 1), 0);
}

static void test_refused(void **state)
{
	char text[POLICY_NAMES_MAX + 16];

	(void)state;
	init("prefetch=near", 2, 2);
	refuses(UVMP_ERR_UNSUPPORTED, "policy->prefetch: near knows one GPU only");
	init("prefetch_full=near evict=lru4k", 2, 2);
	refuses(UVMP_ERR_UNSUPPORTED, "policy->prefetch_full: near knows one GPU only");
	init("prefetch=whole prefetch_full=counting evict=lru4k", 2, 2);
	assert_true(uvmp_service_size(&e.params, 1) != 0);
	init("evict=oldest", 1, 2);
	e.params.page_bytes = 65536;
	snprintf(text, sizeof(text), "policy->evict: %s", evictors_need(65536));
	refuses(UVMP_ERR_UNSUPPORTED, text);
	init("evict=big", 1, 2);
	e.params.page_bytes = 65536;
	assert_true(uvmp_service_size(&e.params, 1) != 0);
	init("evict=oldest", 1, 2);
	e.params.blocks = 1u << 22;
	refuses(UVMP_ERR_RANGE, "blocks: too many for this eviction order, or for size_t");
	init("prefetch=near", 1, 2);
	e.policy.prefetch.plugin = NULL;
	refuses(UVMP_ERR_ARGUMENT, "policy->prefetch.plugin: a valid plugin, with values of its parameters, if the key names "
				   "one; otherwise zeros");
}

/* -- wrong answers -- */

static void live(uint64_t *random)
{
	static const char *const order[] = {"noise_page", "noise_basic", "noise_large", "noise_large"};
	static const char *const prefetcher[] = {"noisy", "noisy_driver", "density"};
	static const char *const full[] = {"same", "noisy", "noisy_driver", "tbn", "none"};
	uint32_t cursor = 0, chosen = below(random, 4);
	char text[256];

	snprintf(text, sizeof(text), "evict=%s prefetch=%s prefetch_full=%s plan=%s reserve=%u batch=%u", order[chosen],
		 prefetcher[below(random, 3)], full[below(random, 5)], below(random, 2) == 0 ? "serial" : "overlapped",
		 below(random, 2) * below(random, 100), 1 + below(random, 64));
	if (chosen >= 2)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " granularity=%s cyclic=%s",
			 below(random, 2) == 0 ? "64k" : "1m", below(random, 2) == 0 ? "on" : "off");
	init(text, 1, 1 + below(random, 4));
	begin(1u << 18);
	for (int round = 0; round < ROUNDS; round++) {
		report(random, &cursor);
		if (below(random, 8) == 0)
			(void)uvmp_service_cpu_fault(e.service, 1, BASE + (uint64_t)below(random, PAGES) * ENGINE_PAGE,
						     UVMP_ACCESS_WRITE, 1, NULL);
		if (engine_run(&e) != UVMP_OK)
			fail_msg("%s, round %d: ended with %d", text, round, (int)e.status);
		engine_forget(&e);
		assert_true(engine_agrees(&e));
	}
	assert_true(uvmp_service_check(e.service));
	engine_stop(&e);
}

static void test_wrong_answers(void **state)
{
	uint64_t random = test_seed();

	(void)state;
	noise = random;
	for (uint32_t i = 0; i < test_share_of(12); i++)
		live(&random);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_decisions), cmocka_unit_test(test_prefetcher_events),
		cmocka_unit_test(test_functions_that_are_missing), cmocka_unit_test(test_arena),
		cmocka_unit_test(test_order_events),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_wrong_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
