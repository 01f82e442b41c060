/* Agents that wait, against the naive rule: one list in the order of stalling; a replay looks at all of it,
 * lets those go on whose page has come, then writes the faults that could not be written before, then those
 * of the others. The fault buffer is that of an engine, which fetches, flushes and replays as it likes;
 * rights change at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents.h"
#include "engine_setup.h"
#include "host.h"
#include "uvmpolicy/uvmpolicy.h"

#define AGENTS  200u
#define BLOCKS  8u
#define ENTRIES 32u
#define BASE    0x40000000u
#define STEPS   20000u

struct naive {
	struct sim_block *block;
	uint32_t page;
	enum uvmp_access access;
	bool is_stalled, is_unwritten;
	uint64_t written; /* number of replays at that time */
};

struct world {
	struct agents agents;
	struct uvmp_service *service;
	void *arena;
	struct sim_block block[BLOCKS];
	uint64_t random;

	struct naive naive[AGENTS];
	uint32_t stalled[AGENTS], stalled_count;
	uint32_t written[AGENTS], written_count; /* since the last replay */
	uint32_t faults;                         /* in the buffer */
	uint64_t replays;
	uint32_t most_stalled, fullest;
};

static uint32_t draw(struct world *w, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&w->random, bound);
}

static void open_world(struct world *w, uint64_t seed)
{
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {
	        .size = sizeof(gpu), .memory_bytes = 64u * ROOT_BYTES, .utlbs = SETUP_UTLBS, .fault_entries = ENTRIES + 1u};
	struct uvmp_policy policy;
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = PAGE_BYTES,
	                                     .blocks = 64,
	                                     .spaces = 1,
	                                     .ranges = 4,
	                                     .instances = 1,
	                                     .requests = 1};
	size_t size;

	memset(w, 0, sizeof(*w));
	w->random = seed;
	uvmp_policy_init(&policy);
	policy.replay.policy = UVMP_REPLAY_BATCH; /* what is in the buffer stays */
	policy.replay.max_batch = 8;
	size = uvmp_service_size(&params, 64) + 65536u;
	w->arena = malloc(size);
	assert_non_null(w->arena);
	assert_int_equal(uvmp_service_init(&params, w->arena, size, &w->service), UVMP_OK);
	assert_int_equal(uvmp_service_bind(w->service, HOST_GPU, UVMP_APERTURE_VID, 0, 0, HOST_SPACE),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_add_range(w->service, HOST_SPACE, BASE, BLOCKS * ROOT_BYTES,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
	                 UVMP_OK);
	for (uint32_t i = 0; i < BLOCKS; i++)
		w->block[i].shape.start = BASE + i * ROOT_BYTES;
	assert_true(agents_grow(&w->agents, AGENTS - 1u));
}

/* -- the naive rule -- */

static bool can_go_on(const struct naive *a)
{
	return right_on(a->block, HOST_GPU, a->page) >= (uint32_t)uvmp_access_right(a->access);
}

static bool naive_write(struct world *w, uint32_t index)
{
	struct naive *a = &w->naive[index];

	a->is_unwritten = w->faults == ENTRIES;
	if (a->is_unwritten)
		return false;
	w->faults++;
	w->fullest = w->faults > w->fullest ? w->faults : w->fullest;
	w->written[w->written_count++] = index;
	a->written = w->replays;
	return true;
}

static void naive_report(struct world *w)
{
	for (uint32_t i = 0; i < w->stalled_count; i++)
		if (w->naive[w->stalled[i]].is_unwritten && !naive_write(w, w->stalled[i]))
			return;
}

static void replay(struct world *w)
{
	const struct agent_turn *went;
	uint32_t kept = 0, gone = 0, count = agents_release(&w->agents, true, &went);

	for (uint32_t i = 0; i < w->stalled_count; i++) {
		struct naive *a = &w->naive[w->stalled[i]];

		if (!can_go_on(a)) {
			w->stalled[kept++] = w->stalled[i];
			continue;
		}
		assert_true(gone < count);
		assert_int_equal(went[gone++].agent, w->stalled[i]);
		a->is_stalled = a->is_unwritten = false;
	}
	assert_int_equal(gone, count);
	w->stalled_count = kept;
	w->replays++;
	w->written_count = 0;
	naive_report(w);
	for (uint32_t i = 0; i < kept; i++)
		if (w->naive[w->stalled[i]].written != w->replays)
			naive_write(w, w->stalled[i]);
	agents_fault_again(&w->agents, w->service);
}

/* -- what happens -- */

static void stall(struct world *w)
{
	uint32_t index = draw(w, AGENTS);
	struct naive *a = &w->naive[index];

	if (a->is_stalled)
		return;
	*a = (struct naive){.block = &w->block[draw(w, BLOCKS)],
	                    .page = draw(w, 16),
	                    .access = (enum uvmp_access)(UVMP_ACCESS_READ + draw(w, 4)),
	                    .written = UINT64_MAX};
	if (can_go_on(a))
		return;
	a->is_stalled = true;
	w->stalled[w->stalled_count++] = index;
	w->most_stalled = w->stalled_count > w->most_stalled ? w->stalled_count : w->most_stalled;
	naive_write(w, index);
	agents_stall(&w->agents, w->service, index, a->block, a->page, a->access);
}

static void change_rights(struct world *w)
{
	struct sim_block *block = &w->block[draw(w, BLOCKS)];
	uint32_t page = draw(w, 16);

	assert_true(agents_see_change(&w->agents, block));
	uvmp_mask_clear(&block->low[HOST_GPU], page);
	uvmp_mask_clear(&block->high[HOST_GPU], page);
	if (draw(w, 2) != 0)
		uvmp_mask_set(&block->low[HOST_GPU], page);
	if (draw(w, 2) != 0)
		uvmp_mask_set(&block->high[HOST_GPU], page);
}

static void run_engine(struct world *w)
{
	const struct uvmp_action *action;

	if (uvmp_service_next(w->service, 1, &action) != UVMP_OK)
		return;
	if (action->kind == UVMP_ACTION_BATCH || action->kind == UVMP_ACTION_FLUSH)
		w->faults -= action->count;
	if (action->kind == UVMP_ACTION_REPLAY)
		replay(w);
	uvmp_service_complete(w->service, action->id, UVMP_OK);
	naive_report(w);
	agents_report(&w->agents, w->service);
}

static void compare(const struct world *w)
{
	assert_int_equal(w->agents.stalled, w->stalled_count);
	assert_int_equal(w->agents.written_count, w->written_count);
	for (uint32_t i = 0; i < w->written_count; i++)
		assert_int_equal(w->agents.written[i].agent, w->written[i]);
	for (uint32_t i = 0; i < AGENTS; i++) {
		assert_int_equal(w->agents.agent[i].is_stalled, w->naive[i].is_stalled);
		assert_int_equal(w->agents.agent[i].unwritten != 0, w->naive[i].is_unwritten);
	}
}

static void test_against_naive(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct world *w = malloc(sizeof(*w));

		assert_non_null(w);
		open_world(w, seed);
		for (uint32_t step = 0; step < STEPS; step++) {
			uint32_t what = draw(w, 8);

			if (what < 2)
				stall(w);
			else if (what == 2)
				change_rights(w);
			else
				run_engine(w);
			compare(w);
		}
		assert_int_equal(w->fullest, ENTRIES);        /* the buffer was full, */
		assert_true(w->most_stalled > ENTRIES + 16u); /* and more agents waited */
		assert_true(w->replays > 100);
		agents_close(&w->agents);
		free(w->arena);
		free(w);
	}
}

static void test_grow_keeps(void **state)
{
	struct agents agents = {0};

	(void)state;
	assert_true(agents_grow(&agents, 0));
	assert_true(agents.count >= 1u);
	agents.agent[0].page = 7;
	assert_true(agents_grow(&agents, 100000));
	assert_true(agents.count > 100000u);
	assert_int_equal(agents.agent[0].page, 7);
	assert_false(agents.agent[100000].is_stalled);
	agents_close(&agents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_naive),
	                                   cmocka_unit_test(test_grow_keeps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
