/* replay.h: the rules of [driver: bottom-half] and the bottom half, each policy and each way to fail.
 *
 * A script of batches is played against the machine; what it asked for is written down, one letter an action:
 *   F fetch  P preprocess  S service one bin  R push a replay  C flush (cached PUT)  U flush (update PUT)
 *   W wait for the replay  K wait for work  X precise cancel  B cancel the batch  . stop
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/replay.h"

#define NEVER 99u

struct batch {
	uint32_t cached, duplicates, invalid, bins;
	uint32_t fatal; /* bin that finds a fatal fault, or NEVER */
	bool is_throttled, is_stale, is_none;
	char fails;        /* letter of the action that fails, 0 for none */
	uint32_t fails_at; /* S: which bin, R: behind which bin */
};

struct script {
	const struct batch *batch;
	uint32_t batches, next, bin;
	uint64_t now_ns;
	char log[256];
	size_t length;
};

static const struct uvmp_replay_params driver = {UVMP_REPLAY_BATCH_FLUSH, 50, 20, 5, 256, 1000, true};
static const struct batch nothing = {0, 0, 0, 0, NEVER, false, false, false, 0, 0};

static struct uvmp_replay_params with(enum uvmp_replay_policy policy, bool quirks)
{
	struct uvmp_replay_params params = driver;

	params.policy = policy;
	params.quirks = quirks;
	return params;
}

static char letter(const struct uvmp_replay_action *action)
{
	return action->kind == UVMP_REPLAY_FLUSH && action->update_put ? 'U' : ".FPSRCWKXB"[action->kind];
}

static struct uvmp_replay_event answer(struct script *script, const struct uvmp_replay_action *action)
{
	struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_DONE, .now_ns = script->now_ns};
	const struct batch *b;
	bool is_hit;

	if (action->kind == UVMP_REPLAY_FETCH) {
		script->next++;
		script->bin = 0;
	}
	b = script->next <= script->batches && script->next > 0 ? &script->batch[script->next - 1] : &nothing;
	is_hit = b->fails == letter(action);
	switch (action->kind) {
	case UVMP_REPLAY_FETCH:
		event.kind = UVMP_REPLAY_EVENT_FETCHED;
		event.cached = b->cached;
		break;
	case UVMP_REPLAY_PREPROCESS:
		event.kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		event.is_stale = b->is_stale;
		break;
	case UVMP_REPLAY_SERVICE:
		event.kind = UVMP_REPLAY_EVENT_SERVICED;
		if (script->bin == 0) {
			event.duplicates = b->duplicates;
			event.invalid_prefetches = b->invalid;
			event.has_throttled = b->is_throttled;
		}
		event.has_fatal = script->bin == b->fatal;
		is_hit = is_hit && script->bin == b->fails_at;
		event.is_none = b->is_none;
		script->bin++;
		event.is_last = script->bin == b->bins;
		break;
	case UVMP_REPLAY_PUSH:
		is_hit = is_hit && script->bin == b->fails_at;
		break;
	default:
		break;
	}
	event.status = is_hit ? UVMP_ERR_NO_MEMORY : UVMP_OK;
	if (action->kind == UVMP_REPLAY_CANCEL_BATCH)
		event.status = UVMP_ERR_RETRY; /* ignored: the batch's own error stays */
	return event;
}

/* Plays the script until the bottom half stops, checks the letters, returns its status. */
static enum uvmp_status play(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                             const struct batch *batch, uint32_t batches, uint64_t now_ns,
                             const char *expected)
{
	struct script script = {.batch = batch, .batches = batches, .now_ns = now_ns};
	struct uvmp_replay_action action;

	assert_int_equal(uvmp_replay_start(params, state, &action), UVMP_OK);
	for (;;) {
		struct uvmp_replay_event event;

		assert_true(script.length < sizeof(script.log) - 1);
		script.log[script.length++] = letter(&action);
		if (action.kind == UVMP_REPLAY_STOP)
			break;
		assert_int_equal(action.status, UVMP_OK);
		assert_true(uvmp_replay_is_valid(state));
		event = answer(&script, &action);
		assert_int_equal(uvmp_replay_step(params, state, &event, &action), UVMP_OK);
	}
	assert_string_equal(script.log, expected);
	return action.status;
}

static enum uvmp_status play_fresh(const struct uvmp_replay_params *params, const struct batch *batch,
                                   uint32_t batches, const char *expected, uint32_t batch_id)
{
	struct uvmp_replay_state state;
	enum uvmp_status status;

	uvmp_replay_init(&state);
	status = play(params, &state, batch, batches, 1000, expected);
	assert_int_equal(state.batch_id, batch_id);
	return status;
}

/* [driver: bottom-half], worked examples 1 and 2; [driver: update-put] in 32-bit arithmetic. */
static void test_update_put(void **unused)
{
	(void)unused;
	assert_false(uvmp_replay_update_put(256, 128, 50));
	assert_true(uvmp_replay_update_put(256, 129, 50));
	assert_true(uvmp_replay_update_put(100, 1, 0));
	assert_false(uvmp_replay_update_put(100, 0, 0));
	assert_false(uvmp_replay_update_put(100, 100, 100));
	assert_false(uvmp_replay_update_put(100, 100, 4000000000u));
	assert_false(uvmp_replay_update_put(0, 0, 50));
	/* 42949673 * 100 = 2^32 + 4 */
	assert_false(uvmp_replay_update_put(1, 42949673u, 4));
	assert_true(uvmp_replay_update_put(1, 42949673u, 3));
}

/* [driver: bottom-half], worked example 3; [driver: prefetch-fault-toggle]. */
static void test_toggle(void **unused)
{
	struct uvmp_prefetch_toggle t = {true, 0};

	(void)unused;
	uvmp_prefetch_toggle_update(&t, 170, 256, 1000, 5);
	assert_true(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 100, 256, 1000, 5);
	assert_true(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 171, 256, 0, 5);
	assert_true(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 171, 256, 1000, 5);
	assert_false(t.is_enabled);
	assert_int_equal(t.disabled_since_ns, 5);
	uvmp_prefetch_toggle_update(&t, 256, 256, 1000, 1000000005);
	assert_false(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 256, 256, 1000, 1000000006);
	assert_true(t.is_enabled);
	assert_int_equal(t.disabled_since_ns, 0);

	/* lapse 0 when off already: any later time */
	t = (struct uvmp_prefetch_toggle){false, 7};
	uvmp_prefetch_toggle_update(&t, 0, 256, 0, 7);
	assert_false(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 0, 256, 0, 8);
	assert_true(t.is_enabled);

	/* nothing overflows */
	t = (struct uvmp_prefetch_toggle){true, 0};
	uvmp_prefetch_toggle_update(&t, 0x80000000u, 0xffffffffu, UINT32_MAX, 9);
	assert_true(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 0xffffffffu, 0xffffffffu, UINT32_MAX, 9);
	assert_false(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 0, 1, UINT32_MAX, 9 + UINT32_MAX * (uint64_t)1000000);
	assert_false(t.is_enabled);
	uvmp_prefetch_toggle_update(&t, 0, 1, UINT32_MAX, 10 + UINT32_MAX * (uint64_t)1000000);
	assert_true(t.is_enabled);
	uvmp_prefetch_toggle_update(NULL, 1, 1, 1, 1);
}

static void test_names(void **unused)
{
	(void)unused;
	assert_string_equal(uvmp_replay_name(UVMP_REPLAY_BLOCK), "block");
	assert_string_equal(uvmp_replay_name(UVMP_REPLAY_BATCH), "batch");
	assert_string_equal(uvmp_replay_name(UVMP_REPLAY_BATCH_FLUSH), "batch_flush");
	assert_string_equal(uvmp_replay_name(UVMP_REPLAY_ONCE), "once");
	assert_string_equal(uvmp_replay_name(UVMP_REPLAY_BATCH_WAIT), "batch_wait");
	assert_null(uvmp_replay_name((enum uvmp_replay_policy)5));
}

/* [driver: flush]: what each policy pushes and when. Two batches, then nothing. */
static void test_policies(void **unused)
{
	static const struct batch b[] = {{256, 128, 0, 3, NEVER, false, false, false, 0, 0},
	                                 {256, 129, 0, 1, NEVER, false, false, false, 0, 0}};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BLOCK, true);

	(void)unused;
	assert_int_equal(play_fresh(&p, b, 2, "FPSRSRSRFPSRF.", 6), UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSRFPSRF.", 2), UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH_FLUSH;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSCRWFPSURWF.", 2), UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH_WAIT;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSRWFPSRWF.", 2), UVMP_OK);
	p.policy = (enum uvmp_replay_policy)5; /* [driver: replay-policy] */
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSCRWFPSURWF.", 2), UVMP_OK);
	p.policy = UVMP_REPLAY_ONCE;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSFPSFR.", 2), UVMP_OK);
}

/* [driver: bottom-half]: an interrupt that finds nothing still pushes one replay. */
static void test_nothing(void **unused)
{
	(void)unused;
	for (uint32_t policy = 0; policy < 5; policy++) {
		struct uvmp_replay_params p = with((enum uvmp_replay_policy)policy, policy % 2 == 0);

		assert_int_equal(play_fresh(&p, NULL, 0, "FR.", 0), UVMP_OK);
	}
}

/* Every fault of the batch is skipped: nothing was dispatched, so BLOCK has nothing to replay for. */
static void test_no_bins(void **unused)
{
	static const struct batch b = {9, 0, 0, 0, NEVER, false, false, true, 0, 0};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BLOCK, true);

	(void)unused;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSFR.", 1), UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSRF.", 1), UVMP_OK);
}

/* [driver: bottom-half], worked example 5, and the limits of [driver: bottom-half]. */
static void test_limits(void **unused)
{
	struct batch b[24];
	struct uvmp_replay_params p = with(UVMP_REPLAY_ONCE, true);

	(void)unused;
	for (uint32_t i = 0; i < 24; i++)
		b[i] = (struct batch){256, 0, 0, 1, NEVER, false, false, false, 0, 0};
	assert_int_equal(
	        play_fresh(&p, b, 24, "FPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSFPSR.", 20),
	        UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH;
	p.max_batches = 2;
	assert_int_equal(play_fresh(&p, b, 24, "FPSRFPSR.", 2), UVMP_OK);

	/* throttled batches: only those that end normally count */
	p.max_batches = 20;
	p.max_throttled = 2;
	b[0].is_throttled = b[1].is_throttled = b[3].is_throttled = b[4].is_throttled = true;
	b[1].fatal = 0;
	b[3].is_stale = true;
	assert_int_equal(play_fresh(&p, b, 24, "FPSRFPSKXFPSRFPFPSR.", 5), UVMP_OK);
}

/* [driver: service-limit-zero]: a limit of 0 stops all servicing; corrected: it counts as 1. */
static void test_limit_zero(void **unused)
{
	static const struct batch b[] = {{256, 0, 0, 2, NEVER, true, false, false, 0, 0},
	                                 {256, 0, 0, 2, NEVER, true, false, false, 0, 0}};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BATCH, true);

	(void)unused;
	p.max_batches = 0;
	assert_int_equal(play_fresh(&p, b, 2, "R.", 0), UVMP_OK);
	p.quirks = false;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSR.", 1), UVMP_OK);
	p = with(UVMP_REPLAY_BATCH, true);
	p.max_throttled = 0;
	assert_int_equal(play_fresh(&p, b, 2, "R.", 0), UVMP_OK);
	p.quirks = false;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSR.", 1), UVMP_OK);
}

/* [driver: bottom-half] FLUSHED: the batch is thrown away and counts towards no limit, but it has
 * replayed. */
static void test_stale(void **unused)
{
	static const struct batch b[] = {{40, 0, 0, 3, NEVER, false, true, false, 0, 0},
	                                 {40, 0, 0, 3, NEVER, false, true, false, 0, 0}};
	static const struct batch failing[] = {{40, 0, 0, 3, NEVER, false, true, false, 0, 0},
	                                       {40, 0, 0, 3, NEVER, false, false, false, 'F', 0}};
	static const struct batch failed = {40, 0, 0, 3, NEVER, false, true, false, 'P', 0};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BATCH_FLUSH, true);

	(void)unused;
	p.max_batches = 1;
	assert_int_equal(play_fresh(&p, b, 2, "FPFPF.", 2), UVMP_OK);
	p.policy = UVMP_REPLAY_ONCE;
	assert_int_equal(play_fresh(&p, b, 2, "FPFPFR.", 2), UVMP_OK);
	/* ONCE that ends in an error has replayed already: no further replay, the error stays */
	assert_int_equal(play_fresh(&p, failing, 2, "FPF.", 1), UVMP_ERR_NO_MEMORY);
	/* an error is stronger than "stale" */
	p.quirks = false;
	assert_int_equal(play_fresh(&p, &failed, 1, "FPR.", 1), UVMP_ERR_NO_MEMORY);
}

/* [driver: bottom-half, flush]: fatal faults. BLOCK replays only until the first one; the cancel's replays
 * do not count. */
static void test_fatal(void **unused)
{
	static const struct batch b[] = {{40, 0, 0, 3, 1, false, false, false, 0, 0},
	                                 {10, 0, 0, 1, NEVER, false, false, false, 0, 0}};
	static const struct batch only = {5, 0, 0, 1, 0, false, false, false, 0, 0};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BLOCK, true);

	(void)unused;
	assert_int_equal(play_fresh(&p, b, 2, "FPSRSSKXFPSRF.", 4), UVMP_OK);
	assert_int_equal(play_fresh(&p, &only, 1, "FPSKXFR.", 1), UVMP_OK);
	p.policy = UVMP_REPLAY_BATCH_FLUSH;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSKXFPSCRWF.", 2), UVMP_OK);
	/* it does count as a batch */
	p.max_batches = 1;
	assert_int_equal(play_fresh(&p, b, 2, "FPSSSKXR.", 1), UVMP_OK);
}

/* Plays one batch under every policy with an error in `fails`; `expected` per policy. The error is replaced
 * by the forced replay's status exactly where that replay is made, and only with quirks
 * [driver: service-limit-zero]. */
static void check_failure(struct batch b, const char *const expected[4], const bool is_forced[4])
{
	for (uint32_t policy = 0; policy < 4; policy++) {
		struct uvmp_replay_params p = with((enum uvmp_replay_policy)policy, true);
		struct uvmp_replay_state state;

		uvmp_replay_init(&state);
		assert_int_equal(play(&p, &state, &b, 1, 0, expected[policy]),
		                 is_forced[policy] ? UVMP_OK : UVMP_ERR_NO_MEMORY);
		p.quirks = false;
		assert_int_equal(play(&p, &state, &b, 1, 0, expected[policy]), UVMP_ERR_NO_MEMORY);
	}
}

static void test_failures(void **unused)
{
	static const bool all[4] = {true, true, true, true}, not_block[4] = {false, true, true, true};
	static const struct batch plain = {40, 0, 0, 2, NEVER, false, false, false, 0, 0};
	struct batch b = plain;

	(void)unused;
	b.fails = 'F';
	check_failure(b, (const char *const[4]){"FR.", "FR.", "FR.", "FR."}, all);
	b.fails = 'P';
	check_failure(b, (const char *const[4]){"FPR.", "FPR.", "FPR.", "FPR."}, all);
	b.fails = 'S';
	check_failure(b, (const char *const[4]){"FPSBR.", "FPSBR.", "FPSBR.", "FPSBR."}, all);
	b.fails_at = 1;
	check_failure(b, (const char *const[4]){"FPSRSB.", "FPSSBR.", "FPSSBR.", "FPSSBR."}, not_block);
	b.fatal = 0; /* a failure is stronger than a fatal fault */
	check_failure(b, (const char *const[4]){"FPSSBR.", "FPSSBR.", "FPSSBR.", "FPSSBR."}, all);
	b.fails = 'K';
	check_failure(b, (const char *const[4]){"FPSSKR.", "FPSSKR.", "FPSSKR.", "FPSSKR."}, all);
	b.fails = 'X';
	check_failure(b, (const char *const[4]){"FPSSKXR.", "FPSSKXR.", "FPSSKXR.", "FPSSKXR."}, all);
	b.fatal = 1;
	check_failure(b, (const char *const[4]){"FPSRSKX.", "FPSSKXR.", "FPSSKXR.", "FPSSKXR."}, not_block);
}

/* Pushes, flushes and waits can fail too; each in the middle of the policy that makes it. */
static void test_push_failures(void **unused)
{
	struct batch b = {40, 0, 0, 2, NEVER, false, false, false, 'R', 1};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BLOCK, false);

	(void)unused;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSRBR.", 1), UVMP_ERR_NO_MEMORY);
	b.fails_at = 2;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSRSRB.", 2), UVMP_ERR_NO_MEMORY);
	p.policy = UVMP_REPLAY_BATCH; /* the forced replay at the end fails as well: first error kept, or
	                                 replaced by its like */
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSRR.", 1), UVMP_ERR_NO_MEMORY);
	p.quirks = true;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSRR.", 1), UVMP_ERR_NO_MEMORY);
	p.policy = UVMP_REPLAY_BATCH_FLUSH;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSCRR.", 1), UVMP_ERR_NO_MEMORY);
	b.fails = 'W';
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSCRW.", 1), UVMP_ERR_NO_MEMORY);
	b.fails = 'C';
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSCR.", 1), UVMP_OK);
	p.quirks = false;
	assert_int_equal(play_fresh(&p, &b, 1, "FPSSCR.", 1), UVMP_ERR_NO_MEMORY);
}

/* The last replay's own failure is the result, quirks or not. */
static void test_end_push_failure(void **unused)
{
	(void)unused;
	for (uint32_t quirks = 0; quirks < 2; quirks++) {
		struct uvmp_replay_params p = with(UVMP_REPLAY_ONCE, quirks != 0);
		struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_FETCHED};
		struct uvmp_replay_state state;
		struct uvmp_replay_action action;

		uvmp_replay_init(&state);
		assert_int_equal(uvmp_replay_start(&p, &state, &action), UVMP_OK);
		assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_OK);
		assert_int_equal(action.kind, UVMP_REPLAY_PUSH);
		event.kind = UVMP_REPLAY_EVENT_DONE;
		event.status = UVMP_ERR_RETRY;
		assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_OK);
		assert_int_equal(action.kind, UVMP_REPLAY_STOP);
		assert_int_equal(action.status, UVMP_ERR_RETRY);
	}
}

/* [driver: prefetch-fault-toggle] inside the loop, also when servicing fails;
 * [driver: toggle-by-configured-batch]: compared with the configured size, corrected: with the batch. */
static void test_toggle_in_loop(void **unused)
{
	static const struct batch many = {256, 0, 171, 1, NEVER, false, false, false, 0, 0};
	static const struct batch small = {100, 0, 100, 2, NEVER, false, false, false, 0, 0};
	static const struct batch failing = {256, 0, 171, 2, NEVER, false, false, false, 'S', 1};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BATCH, true);
	struct uvmp_replay_state state;

	(void)unused;
	uvmp_replay_init(&state);
	assert_true(state.prefetch_faults.is_enabled);
	play(&p, &state, &small, 1, 1, "FPSSRF.");
	assert_true(state.prefetch_faults.is_enabled);
	p.quirks = false;
	play(&p, &state, &small, 1, 2, "FPSSRF.");
	assert_false(state.prefetch_faults.is_enabled);
	assert_int_equal(state.prefetch_faults.disabled_since_ns, 2);
	p.policy = UVMP_REPLAY_BLOCK; /* kept from one bottom half to the next */
	play(&p, &state, &small, 1, 1000000003, "FPSRSRF.");
	assert_true(state.prefetch_faults.is_enabled);
	p.quirks = true;
	play(&p, &state, &many, 1, 7, "FPSRF.");
	assert_false(state.prefetch_faults.is_enabled);

	uvmp_replay_init(&state);
	play(&p, &state, &failing, 1, 7, "FPSRSB.");
	assert_false(state.prefetch_faults.is_enabled);
}

/* Counters belong to a batch or to a bottom half, and start afresh with it. */
static void test_fresh_counters(void **unused)
{
	static const struct batch b[] = {{200, 90, 100, 1, NEVER, true, false, false, 0, 0},
	                                 {200, 90, 100, 1, NEVER, false, false, false, 0, 0}};
	struct uvmp_replay_params p = with(UVMP_REPLAY_BATCH_FLUSH, true);
	struct uvmp_replay_state state;

	(void)unused;
	uvmp_replay_init(&state);
	play(&p, &state, b, 2, 0, "FPSCRWFPSCRWF.");
	assert_true(state.prefetch_faults.is_enabled);
	p.max_batches = 2;
	p.max_throttled = 2;
	for (int round = 0; round < 3; round++)
		play(&p, &state, b, 2, 0, "FPSCRWFPSCRW.");
	play(&p, &state, NULL, 0, 0, "FR.");
}

static void test_bad_calls(void **unused)
{
	struct uvmp_replay_params p = driver;
	struct uvmp_replay_state state, before;
	struct uvmp_replay_action action = {UVMP_REPLAY_PUSH, true, UVMP_ERR_RANGE};
	struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_FETCHED};

	(void)unused;
	uvmp_replay_init(NULL);
	memset(&state, 0, sizeof(state));
	uvmp_replay_init(&state);
	assert_true(uvmp_replay_is_valid(&state));
	assert_false(uvmp_replay_is_valid(NULL));

	/* not running */
	assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_ERR_STATE);
	/* NULL */
	assert_int_equal(uvmp_replay_start(NULL, &state, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_start(&p, NULL, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_start(&p, &state, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_step(NULL, &state, &event, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_step(&p, NULL, &event, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_step(&p, &state, NULL, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_step(&p, &state, &event, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(action.kind, UVMP_REPLAY_PUSH);
	assert_int_equal(action.status, UVMP_ERR_RANGE);

	/* states that no call leaves behind */
	state.position = 1000;
	assert_false(uvmp_replay_is_valid(&state));
	assert_int_equal(uvmp_replay_start(&p, &state, &action), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_ERR_ARGUMENT);
	uvmp_replay_init(&state);
	state.prefetch_faults.disabled_since_ns = 3;
	assert_false(uvmp_replay_is_valid(&state));
	state.prefetch_faults.is_enabled = false;
	assert_true(uvmp_replay_is_valid(&state));

	/* running: no second start, no answer to another question, and nothing changes */
	uvmp_replay_init(&state);
	assert_int_equal(uvmp_replay_start(&p, &state, &action), UVMP_OK);
	assert_int_equal(action.kind, UVMP_REPLAY_FETCH);
	memcpy(&before, &state, sizeof(state));
	assert_int_equal(uvmp_replay_start(&p, &state, &action), UVMP_ERR_STATE);
	event.kind = UVMP_REPLAY_EVENT_DONE;
	assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_ERR_STATE);
	event.kind = (enum uvmp_replay_event_kind)77;
	assert_int_equal(uvmp_replay_step(&p, &state, &event, &action), UVMP_ERR_STATE);
	assert_memory_equal(&before, &state, sizeof(state));
	assert_int_equal(action.kind, UVMP_REPLAY_FETCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_update_put),
	        cmocka_unit_test(test_toggle),
	        cmocka_unit_test(test_names),
	        cmocka_unit_test(test_policies),
	        cmocka_unit_test(test_nothing),
	        cmocka_unit_test(test_no_bins),
	        cmocka_unit_test(test_limits),
	        cmocka_unit_test(test_limit_zero),
	        cmocka_unit_test(test_stale),
	        cmocka_unit_test(test_fatal),
	        cmocka_unit_test(test_failures),
	        cmocka_unit_test(test_push_failures),
	        cmocka_unit_test(test_end_push_failure),
	        cmocka_unit_test(test_toggle_in_loop),
	        cmocka_unit_test(test_fresh_counters),
	        cmocka_unit_test(test_bad_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
