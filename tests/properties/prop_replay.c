/* replay.h against tests/model/naive_replay.c on random answers, and what must hold for any answers:
 *  - a bottom half ends within the bound that the header states;
 *  - the GPU is replayed: each bottom half pushes a replay itself unless it threw away a stale batch (whose
 * flush replays);
 *  - batch_id grows by the successful fetches and, with BLOCK, by the successful replays behind a bin, and by
 * nothing else;
 *  - BATCH_FLUSH flushes right before and waits right behind every replay but the one at the end; no other
 * policy flushes;
 *  - behind a fatal fault BLOCK does not replay before the cancel;
 *  - an answer to another question changes nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/seed.h"
#include "model/naive_replay.h"

#define LOG_MAX   4096u
#define STALE_MAX 4u

/* A host whose answers depend on its seed and on how many it has given. */
struct host {
	uint64_t random;
	uint64_t now_ns;
	uint32_t error_percent, fatal_percent;
	uint32_t stale, bins;
	uint32_t actions;
	char log[LOG_MAX]; /* one byte an action: its kind, 16 for a flush with update_put */
	struct uvmp_replay_event answer[LOG_MAX];
};

static bool chance(struct host *host, uint32_t percent)
{
	return uvmp_random_below(&host->random, 100) < percent;
}

static struct uvmp_replay_event perform(void *context, enum uvmp_replay_action_kind kind, bool update_put)
{
	struct host *host = context;
	struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_DONE};

	host->now_ns += uvmp_random_below(&host->random, 3000000);
	event.now_ns = host->now_ns;
	event.status = chance(host, host->error_percent) ? UVMP_ERR_NO_MEMORY : UVMP_OK;
	if (kind == UVMP_REPLAY_FETCH) {
		event.kind = UVMP_REPLAY_EVENT_FETCHED;
		event.cached = chance(host, 95) ? 1 + (uint32_t)uvmp_random_below(&host->random, 300) : 0;
		host->bins = (uint32_t)uvmp_random_below(&host->random, 6);
	} else if (kind == UVMP_REPLAY_PREPROCESS) {
		event.kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		event.is_stale = host->stale < STALE_MAX && chance(host, 10);
		host->stale += event.is_stale && event.status == UVMP_OK;
	} else if (kind == UVMP_REPLAY_SERVICE) {
		event.kind = UVMP_REPLAY_EVENT_SERVICED;
		event.duplicates = (uint32_t)uvmp_random_below(&host->random, 100);
		event.invalid_prefetches = (uint32_t)uvmp_random_below(&host->random, 100);
		event.has_throttled = chance(host, 20);
		event.has_fatal = chance(host, host->fatal_percent);
		event.is_none = host->bins == 0;
		event.is_last = host->bins == 1;
		if (host->bins > 0)
			host->bins--;
	}
	assert_true(host->actions < LOG_MAX);
	host->answer[host->actions] = event;
	host->log[host->actions++] = (char)(update_put ? 16 : kind);
	return event;
}

/* A wrong answer must be refused and leave no trace. */
static void check_wrong_answer(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                               struct uvmp_replay_event event)
{
	struct uvmp_replay_state before;
	struct uvmp_replay_action action;

	memcpy(&before, state, sizeof(before));
	event.kind = (enum uvmp_replay_event_kind)((event.kind + 1u) % 4u);
	assert_int_equal(uvmp_replay_step(params, state, &event, &action), UVMP_ERR_STATE);
	assert_int_equal(uvmp_replay_start(params, state, &action), UVMP_ERR_STATE);
	assert_memory_equal(&before, state, sizeof(before));
}

static enum uvmp_status run_core(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                 struct host *host)
{
	struct uvmp_replay_action action;

	assert_int_equal(uvmp_replay_start(params, state, &action), UVMP_OK);
	while (action.kind != UVMP_REPLAY_STOP) {
		struct uvmp_replay_event event = perform(host, action.kind, action.update_put);

		check_wrong_answer(params, state, event);
		assert_int_equal(uvmp_replay_step(params, state, &event, &action), UVMP_OK);
		assert_true(uvmp_replay_is_valid(state));
	}
	return action.status;
}

static void check_bound(const struct uvmp_replay_params *params, const struct host *host, bool is_block)
{
	uint32_t fetches = 0, stale = 0, services = 0, limit = params->max_batches;

	for (uint32_t i = 0; i < host->actions; i++) {
		fetches += host->log[i] == UVMP_REPLAY_FETCH;
		services += host->log[i] == UVMP_REPLAY_SERVICE;
		stale += host->answer[i].is_stale && host->answer[i].status == UVMP_OK;
	}
	assert_true(fetches <= (limit > 0 ? limit : 1) + stale);
	assert_true(host->actions <= 5 * fetches + services * (is_block ? 2 : 1) + 1);
}

static void check_log(const struct uvmp_replay_params *params, const struct host *host, uint32_t batch_ids)
{
	bool is_block = params->policy == UVMP_REPLAY_BLOCK;
	bool is_batch = params->policy == UVMP_REPLAY_BATCH || params->policy == UVMP_REPLAY_BATCH_WAIT;
	bool is_flush = !is_batch && params->policy != UVMP_REPLAY_ONCE && !is_block;
	bool is_fatal = false;
	uint32_t pushes = 0, stale = 0, grown = 0;

	check_bound(params, host, is_block);
	for (uint32_t i = 0; i < host->actions; i++) {
		bool is_ok = host->answer[i].status == UVMP_OK;
		char kind = host->log[i];

		pushes += kind == UVMP_REPLAY_PUSH;
		stale += kind == UVMP_REPLAY_PREPROCESS && host->answer[i].is_stale && is_ok;
		grown += kind == UVMP_REPLAY_FETCH && is_ok && host->answer[i].cached > 0;
		if (kind == UVMP_REPLAY_SERVICE)
			is_fatal = is_fatal || host->answer[i].has_fatal;
		if (kind == UVMP_REPLAY_CANCEL_PRECISE || kind == UVMP_REPLAY_CANCEL_BATCH ||
		    kind == UVMP_REPLAY_WAIT_WORK)
			is_fatal = false;
		if (kind == UVMP_REPLAY_FLUSH || kind == 16)
			assert_true(is_flush);
		if (kind == UVMP_REPLAY_PUSH && i > 0 && host->log[i - 1] == UVMP_REPLAY_SERVICE) {
			assert_true(is_block || is_batch || i + 1 == host->actions);
			assert_false(is_fatal);
			grown += is_block && is_ok && !host->answer[i - 1].is_none;
		}
		if (kind == UVMP_REPLAY_PUSH && is_flush && i + 1 < host->actions && is_ok) {
			assert_true(host->log[i - 1] == UVMP_REPLAY_FLUSH || host->log[i - 1] == 16);
			assert_int_equal(host->log[i + 1], UVMP_REPLAY_WAIT_REPLAY);
		}
	}
	assert_true(pushes + stale > 0);
	assert_int_equal(batch_ids, grown);
}

static struct uvmp_replay_params random_params(uint64_t *random)
{
	struct uvmp_replay_params params = {
	        .policy = (enum uvmp_replay_policy)uvmp_random_below(random, 6),
	        .update_put_ratio = (uint32_t)uvmp_random_below(random, 130),
	        .max_batches = (uint32_t)uvmp_random_below(random, 22),
	        .max_throttled = (uint32_t)uvmp_random_below(random, 7),
	        .max_batch = 1 + (uint32_t)uvmp_random_below(random, 300),
	        .prefetch_lapse_ms = (uint32_t)uvmp_random_below(random, 30),
	        .quirks = uvmp_random_below(random, 2) != 0,
	};

	return params;
}

/* Some bottom halves of one GPU, the core beside the model. */
static void check_gpu(uint64_t *random)
{
	static struct host core, model;
	struct uvmp_replay_params params = random_params(random);
	struct naive_replay naive = {0, true, 0};
	struct uvmp_replay_state state;

	uvmp_replay_init(&state);
	memset(&core, 0, sizeof(core));
	core.random = uvmp_random_next(random);
	core.error_percent = (uint32_t)uvmp_random_below(random, 6);
	core.fatal_percent = (uint32_t)uvmp_random_below(random, 20);
	model = core;
	for (int round = 0; round < 5; round++) {
		uint32_t before = state.batch_id;

		core.actions = model.actions = core.stale = model.stale = 0;
		assert_int_equal(run_core(&params, &state, &core),
		                 naive_replay_run(&naive, &params, perform, &model));
		assert_int_equal(core.actions, model.actions);
		assert_memory_equal(core.log, model.log, core.actions);
		assert_int_equal(state.batch_id, naive.batch_id);
		assert_int_equal(state.prefetch_faults.is_enabled, naive.is_prefetch_enabled);
		assert_int_equal(state.prefetch_faults.disabled_since_ns, naive.disabled_since_ns);
		check_log(&params, &core, state.batch_id - before);
	}
}

static void check_gpus(uint64_t seed)
{
	for (int i = 0; i < 1500; i++)
		check_gpu(&seed);
}

static void test_fixed_seed(void **unused)
{
	(void)unused;
	check_gpus(1);
}

static void test_printed_seed(void **unused)
{
	uint64_t seed = test_seed();

	(void)unused;
	check_gpus(seed);
}

/* A larger ratio never turns "keep PUT" into "update PUT"; more duplicates never the other way round (no
 * overflow below 2^25). */
static void test_update_put_is_monotone(void **unused)
{
	uint64_t random = 2;

	(void)unused;
	for (int i = 0; i < 100000; i++) {
		uint32_t cached = (uint32_t)uvmp_random_below(&random, 1u << 25);
		uint32_t duplicates = (uint32_t)uvmp_random_below(&random, (uint64_t)cached + 1);
		uint32_t ratio = (uint32_t)uvmp_random_below(&random, 120);

		assert_false(uvmp_replay_update_put(cached, duplicates, 100));
		if (uvmp_replay_update_put(cached, duplicates, ratio)) {
			assert_true(uvmp_replay_update_put(cached, duplicates + 1, ratio));
			assert_true(ratio == 0 || uvmp_replay_update_put(cached, duplicates, ratio - 1));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fixed_seed),
	        cmocka_unit_test(test_printed_seed),
	        cmocka_unit_test(test_update_put_is_monotone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
