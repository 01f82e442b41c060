/* preset=auto in the engine, over random programs with faults of GPUs and the CPU, and notifications:
 *  - determinism: the same program gives the same actions again;
 *  - no decision depends on addresses: a program that lies elsewhere by whole blocks gives the same actions there;
 *  - no starvation: each bottom half ends, and no thread waits then;
 *  - bounded state: as docs/auto.md says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/engine_host.h"
#include "support/engine_internals.h"
#include "support/seed.h"

#define SPACE	     1u
#define BASE	     UINT64_C(0x40000000)
#define BLOCK	     UINT64_C(0x200000)
#define RANGES	     4u
#define BLOCKS_MOST  15u /* of a range */
#define PROGRAMS     100u
#define PHASES	     14u
#define ACTIONS_MOST 400000u

struct run {
	struct engine e;
	uvmp_addr base;
	uint64_t random;
	uint32_t ranges, blocks[RANGES], cursor[RANGES];
	uint64_t *hash; /* of each action, with addresses from `base` on */
	uint32_t hashes;
	bool has_one_thread;
};

static uint32_t rules[UVMP_RULE_COUNT], victims[UVMP_VICTIM_COUNT]; /* actions with the rule; evictions */

static uint32_t below(struct run *r, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&r->random, bound);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t from_base(const struct run *r, uvmp_addr address)
{
	return address != 0 ? address - r->base + 1u : 0;
}

static uint64_t hash_of(const struct run *r, const struct uvmp_action *a)
{
	const uint64_t field[] = {
	        a->id,    a->after,     a->time_ns, a->kind,   a->cause,   a->from,     a->to,
	        a->right, a->is_update, a->victim,  a->batch,  a->count,   a->detail,   a->ticket,
	        a->offset, a->until_ns, a->faulted, a->present, a->throttles, from_base(r, a->address),
	        from_base(r, a->for_address),
	};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		hash = mix(hash, field[i]);
	for (uint32_t w = 0; w < UVMP_MASK_BITS / 64u; w++)
		hash = mix(mix(mix(hash, a->pages.word[w]), a->cuts.word[w]), a->subtrees.word[w]);
	return hash;
}

static void note_action(struct engine *e, const struct uvmp_action *a)
{
	struct run *r = e->hook_data;

	assert_true(r->hashes < ACTIONS_MOST);
	r->hash[r->hashes++] = hash_of(r, a);
	if (a->kind == UVMP_ACTION_EVICT)
		victims[a->victim]++;
	else if (a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_MAP || a->kind == UVMP_ACTION_CLEAR)
		rules[a->rule]++;
}

static uvmp_addr block_of(const struct run *r, uint32_t range, uint32_t block)
{
	return r->base + (range * (BLOCKS_MOST + 1u) + block) * BLOCK;
}

static void open_run(struct run *r, uvmp_addr base, uint64_t random)
{
	uint32_t gpus, roots, batch;
	char text[64];

	*r = (struct run){.base = base, .random = random, .hash = malloc(ACTIONS_MOST * sizeof(uint64_t))};
	assert_non_null(r->hash);
	gpus = 1 + below(r, 2);
	roots = 2 + below(r, 24);
	batch = below(r, 4) == 0 ? 1 + below(r, 96) : 96;
	engine_init(&r->e, gpus, roots);
	snprintf(text, sizeof(text), "preset=auto batch=%u%s", batch, below(r, 3) == 0 ? " remote=off" : "");
	assert_true(engine_policy(&r->e, text));
	r->e.is_checking = false;
	r->e.is_replaying = true;
	r->e.step_ns = 1000;
	r->e.hook = note_action;
	r->e.hook_data = r;
	assert_true(engine_start(&r->e, 64, 1u << 20));
	r->has_one_thread = below(r, 3) == 0;
	r->ranges = 1 + below(r, RANGES);
	for (uint32_t i = 0; i < r->ranges; i++) {
		r->blocks[i] = 1 + below(r, BLOCKS_MOST);
		engine_range(&r->e, SPACE, block_of(r, i, 0), r->blocks[i] * BLOCK, below(r, 4) == 0 ? UVMP_PROC_NONE : UVMP_CPU);
	}
	for (uint32_t gpu = 1; gpu <= gpus; gpu++)
		engine_bind(&r->e, gpu, SPACE);
}

static void close_run(struct run *r)
{
	assert_true(uvmp_service_check(r->e.service));
	engine_stop(&r->e);
	free(r->hash);
}

/* -- a program -- */

/* Faults of pages that the GPU cannot access, one after another or at random, `most` of them at most, in the first blocks. */
static void fault(struct run *r, uint32_t gpu, uint32_t range, uint32_t blocks, bool is_scan, uint32_t most)
{
	uint32_t count = 1 + below(r, most), step = is_scan ? 1u << below(r, 7) : 0, pages = blocks * 512u;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t page = is_scan ? (r->cursor[range] += step) % pages : below(r, pages);
		uvmp_addr address = block_of(r, range, 0) + (uint64_t)page * ENGINE_PAGE;
		enum uvmp_access access = below(r, 4) == 0 ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ;

		if (*engine_right(&r->e, gpu, SPACE, address) < (uint8_t)uvmp_access_right(access))
			engine_fault(&r->e, gpu, SPACE, address, access);
	}
}

/* The GPU has used blocks across the link. */
static void notify(struct run *r, uint32_t gpu, uint32_t range)
{
	for (uint32_t i = 0; i < r->blocks[range]; i++) {
		struct uvmp_note note = {.address = block_of(r, range, i),
					 .aperture = UVMP_APERTURE_VID,
					 .instance = engine_instance(SPACE),
					 .sub_granularity = 1u + below(r, 0xffff)};
		struct uvmp_page_state page = engine_page(&r->e, SPACE, note.address);

		if (page.resident == 1u && (page.read >> gpu & 1u) != 0 && below(r, 8) != 0)
			assert_int_equal(uvmp_service_note(r->e.service, gpu, &note), UVMP_OK);
	}
}

/* The program uses one range, sometimes another one beside it; with many threads, or with one. */
static void phase(struct run *r)
{
	uint32_t range = below(r, r->ranges), beside = below(r, r->ranges), rounds = 1 + below(r, 24);
	uint32_t most = r->has_one_thread ? 1 : 120, blocks = below(r, 4) == 0 ? 1 : BLOCKS_MOST;
	uint32_t gpu = 1 + below(r, r->e.processors.count - 1u), habit = below(r, 4);
	bool is_scan = below(r, 2) == 0;

	for (uint32_t round = 0; round < (r->has_one_thread ? 8u * rounds : rounds); round++) {
		uint32_t now = habit == 0 && round % 2 != 0 ? beside : range;

		fault(r, gpu, now, blocks < r->blocks[now] ? blocks : r->blocks[now], is_scan, most);
		(void)engine_run(&r->e);
		notify(r, gpu, now);
		assert_int_equal(engine_run(&r->e), UVMP_OK);
		assert_int_equal(r->e.waitings, 0);
		engine_forget(&r->e);
	}
	if (habit == 1)
		(void)uvmp_service_cpu_fault(r->e.service, SPACE, block_of(r, range, below(r, r->blocks[range])),
					     UVMP_ACCESS_WRITE, 1, NULL);
	(void)engine_run(&r->e);
	engine_forget(&r->e);
}

static void run_program(struct run *r, uvmp_addr base, uint64_t random)
{
	open_run(r, base, random);
	for (uint32_t i = 0; i < PHASES; i++)
		phase(r);
}

/* -- properties -- */

static struct run first, again;

static void assert_same_actions(const char *how)
{
	for (uint32_t i = 0; i < first.hashes && i < again.hashes; i++)
		if (first.hash[i] != again.hash[i])
			fail_msg("%s: action %u of %u differs", how, i + 1u, first.hashes);
	assert_int_equal(first.hashes, again.hashes);
}

static void check(uint64_t random)
{
	for (uint32_t i = 0; i < test_share_of(PROGRAMS); i++) {
		uint64_t program = uvmp_random_next(&random);
		uvmp_addr elsewhere = BASE + (1u + uvmp_random_below(&random, 4096)) * BLOCK;

		run_program(&first, BASE, program);
		run_program(&again, BASE, program);
		assert_same_actions("again");
		close_run(&again);
		run_program(&again, elsewhere, program);
		assert_same_actions("elsewhere");
		close_run(&again);
		close_run(&first);
	}
}

static void fixed_seed(void **state)
{
	(void)state;
	check(1);
	if (test_share_of(PROGRAMS) < PROGRAMS)
		return;
	/* all programs reach each rule and each kind of victim */
	for (uint32_t i = UVMP_RULE_NONE + 1; i < UVMP_RULE_COUNT; i++)
		if (rules[i] == 0)
			fail_msg("no action of rule %u", (unsigned)i);
	for (uint32_t i = UVMP_VICTIM_OLDEST; i < UVMP_VICTIM_COUNT; i++)
		if (victims[i] == 0)
			fail_msg("no victim of kind %u", (unsigned)i);
}

static void printed_seed(void **state)
{
	(void)state;
	check(test_seed());
}

/* Of evict=auto and remote=auto; prefetch_auto.c asserts those of prefetch=auto. */
static void bounded_state(void **state)
{
	const struct gpu *gpu = NULL;
	const struct range *range = NULL;
	const struct residency *residency = NULL;
	const struct uvmp_service *service = NULL;

	(void)state;
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_AUTO, 64000) - uvmp_evict_size(UVMP_EVICT_AUTO, 32000), 32000u * 12u + 1000u * 16u);
	assert_in_range(sizeof(gpu->idle) + sizeof(gpu->opening_batch), 1, 1180); /* less where uint64_t has an alignment of 4 */
	assert_int_equal(sizeof(range->first_faults) + sizeof(range->early_starts) + sizeof(range->is_used), 25);
	assert_int_equal(sizeof(residency->use), 4);
	assert_int_equal(sizeof(service->return_draws) + sizeof(service->used_bytes), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_seed), cmocka_unit_test(printed_seed),
	                                   cmocka_unit_test(bounded_state)};

	return cmocka_run_group_tests_name("preset=auto in the engine", tests, NULL, NULL);
}
