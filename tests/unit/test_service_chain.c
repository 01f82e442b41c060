/* Batches without a replay between them: while all data fit, a full batch that needed pages is followed by the next one
 * (batch.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/engine_host.h"

#define MIB2	0x200000u
#define PAGE	4096u
#define BASE	0x40000000u
#define UNMANAGED 0x10000000u
#define SPACE	1u
#define BLOCKS	8u
#define CHAINED "prefetch=auto auto_batch=0 auto_ahead=0 evict=auto batch=8"

static struct engine e;

/* GPUs of so many blocks of memory each, and a range of BLOCKS blocks. */
static void start_in(const char *policy, uint32_t gpus, uint32_t roots)
{
	engine_open(&e, policy, gpus, roots, SPACE);
	engine_range(&e, SPACE, BASE, (uint64_t)BLOCKS * MIB2, UVMP_CPU);
}

static void start(const char *policy)
{
	start_in(policy, 1, BLOCKS);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&e));
	engine_stop(&e);
	return 0;
}

/* The first `count` pages of the block fault. */
static void faults_in(uint32_t block, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		engine_fault(&e, 1, SPACE, BASE + block * MIB2 + i * PAGE, UVMP_ACCESS_READ);
}

/* All faults were serviced in so many batches, with so many replays and flushes. */
static void check(uint32_t batches, uint32_t replays, uint32_t flushes)
{
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_BATCH], batches);
	assert_int_equal(e.count[UVMP_ACTION_REPLAY], replays);
	assert_int_equal(e.count[UVMP_ACTION_FLUSH], flushes);
	engine_forget(&e);
}

/* Eight faults each in blocks 0 and 1: one batch each, if the first one is chained. */
static void check_two(uint32_t batches, uint32_t replays, uint32_t flushes)
{
	faults_in(0, 8);
	faults_in(1, 8);
	check(batches, replays, flushes);
}

static void test_next_batch_without_a_replay(void **state)
{
	(void)state;
	start(CHAINED);
	faults_in(0, 8);
	faults_in(1, 8);
	faults_in(2, 3); /* a batch with room: flush and replay */
	check(3, 1, 1);
	assert_true(engine_page(&e, SPACE, BASE + 2 * MIB2).resident & 2u);
}

/* Nothing is left in the buffer: a replay, without a flush. */
static void test_replay_when_the_buffer_is_empty(void **state)
{
	(void)state;
	start(CHAINED);
	check_two(2, 1, 0);
}

/* A full batch whose blocks had their pages already: the flush drops the fault behind it. */
static void test_stale_batch_ends_the_chain(void **state)
{
	(void)state;
	start(CHAINED);
	faults_in(0, 16);
	faults_in(1, 1);
	check(2, 1, 1);
	assert_false(engine_page(&e, SPACE, BASE + MIB2).resident & 2u);
}

/* A bottom half that has as many batches as it may replays. */
static void test_limit_of_a_bottom_half(void **state)
{
	(void)state;
	start(CHAINED " max_batches=2");
	faults_in(0, 8);
	faults_in(1, 8);
	faults_in(2, 8);
	check(3, 2, 0);
}

/* Ranges exceed the memory of all GPUs: each batch has its flush and its replay. */
static void test_data_that_do_not_fit(void **state)
{
	(void)state;
	start_in(CHAINED, 1, BLOCKS - 1u);
	check_two(1, 1, 1);
}

static void test_data_that_fit_on_two_gpus(void **state)
{
	(void)state;
	start_in(CHAINED, 2, BLOCKS / 2u);
	check_two(2, 1, 0);
}

/* Memory was full when there was another range: what is evicted once may be again. */
static void test_memory_that_was_full(void **state)
{
	(void)state;
	start(CHAINED);
	engine_range(&e, SPACE, BASE + 64u * MIB2, MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, BASE + 64u * MIB2, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		faults_in(block, 1);
		assert_int_equal(engine_run(&e), UVMP_OK);
	}
	assert_true(e.service->is_full);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE + 64u * MIB2, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_range(&e, SPACE, BASE, (uint64_t)BLOCKS * MIB2, UVMP_CPU);
	engine_forget(&e);
	check_two(1, 1, 1);
}

static void test_policies_without_chains(void **state)
{
	static const char *const policy[] = {CHAINED " auto_chain=0", "prefetch=density batch=8"};

	for (uint32_t i = 0; i < 2; i++) {
		start(policy[i]);
		check_two(1, 1, 1);
		if (i == 0)
			stop(state);
	}
}

static void test_other_replay_policies(void **state)
{
	(void)state;
	start(CHAINED " replay=batch");
	check_two(2, 2, 0);
}

/* A fatal fault in the second batch of a chain: the precise cancel replays. */
static void test_fatal_fault_within_a_chain(void **state)
{
	(void)state;
	start(CHAINED);
	e.is_replaying = true;
	faults_in(0, 8);
	engine_fault(&e, 1, SPACE, UNMANAGED, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(e.count[UVMP_ACTION_REPLAY] > 0);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 1);
	assert_int_equal(e.waitings, 0);
}

/* Both GPUs have chains. */
static void test_chains_of_two_gpus(void **state)
{
	(void)state;
	start_in(CHAINED, 2, BLOCKS);
	e.is_replaying = true;
	for (uint32_t i = 0; i < 16; i++) {
		engine_fault(&e, 1, SPACE, BASE + i / 8u * MIB2 + i * PAGE, UVMP_ACCESS_READ);
		engine_fault(&e, 2, SPACE, BASE + (4u + i / 8u) * MIB2 + i * PAGE, UVMP_ACCESS_READ);
	}
	check(4, 2, 0);
	assert_int_equal(e.waitings, 0);
}

static void add_range(struct engine *engine, const struct uvmp_action *action)
{
	if (action->kind == UVMP_ACTION_COPY && engine->count[UVMP_ACTION_BATCH] == 2 && engine->ranges == 1)
		engine_range(engine, SPACE, BASE + 64u * MIB2, MIB2, UVMP_CPU);
}

/* During the second batch of a chain a range is added, and data no longer fit: the second batch has a flush and a replay, and
 * those behind it are dropped. */
static void test_range_added_within_a_chain(void **state)
{
	(void)state;
	start(CHAINED);
	faults_in(0, 8);
	faults_in(1, 8);
	faults_in(2, 8);
	e.hook = add_range;
	check(2, 1, 1);
	assert_false(engine_page(&e, SPACE, BASE + 2u * MIB2).resident & 2u);
}

/* -- errors: the bottom half has replayed before, for a batch that was stale; behind it two or three batches follow -- */

static uint32_t last_faults; /* of the batch behind a full one in block 1, in block 2; 0: one at an unmanaged address */

/* While the first replay waits, the faults arrive. */
static void arrive(struct engine *engine, const struct uvmp_action *action)
{
	if (action->kind != UVMP_ACTION_REPLAY || engine->count[UVMP_ACTION_REPLAY] != 1)
		return;
	faults_in(1, 8);
	faults_in(2, last_faults);
	if (last_faults == 0)
		engine_fault(engine, 1, SPACE, UNMANAGED, UVMP_ACCESS_READ);
}

/* The bottom half fails at an action of the kind, after `skip` of them. Another replay follows the one of the stale batch: it lets
 * the first batch of the chain continue. */
static void check_error(uint32_t faults, enum uvmp_action_kind kind, uint32_t skip)
{
	start(CHAINED);
	faults_in(0, 1);
	check(1, 1, 1);
	e.hook = arrive;
	last_faults = faults;
	faults_in(0, 1); /* stale */
	engine_fail(&e, kind, skip, UINT32_MAX, UVMP_ERR_STATE);
	(void)engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_BATCH], 3);
	assert_int_equal(e.status, UVMP_ERR_STATE);
	assert_true(engine_page(&e, SPACE, BASE + MIB2).resident & 2u);
	assert_int_equal(e.count[UVMP_ACTION_REPLAY], 2);
	e.failures = 0;
}

/* The cancel of the batch replays. */
static void test_error_of_a_copy(void **state)
{
	(void)state;
	check_error(8, UVMP_ACTION_COPY, 2);
	assert_false(engine_page(&e, SPACE, BASE + 2u * MIB2).resident & 2u);
}

static void test_error_of_a_batch(void **state)
{
	(void)state;
	check_error(8, UVMP_ACTION_BATCH, 2);
	assert_true(engine_has(&e, "replay to=1 batch=4"));
}

static void test_error_of_a_flush(void **state)
{
	(void)state;
	check_error(3, UVMP_ACTION_FLUSH, 1);
	assert_true(engine_has(&e, "replay to=1 batch=4"));
}

/* The bottom half waits for copies before a precise cancel. */
static void test_error_of_a_wait(void **state)
{
	(void)state;
	check_error(0, UVMP_ACTION_WAIT, 1);
}

/* The replay at the end of a chain fails: there is no second one. */
static void test_error_of_the_replay(void **state)
{
	(void)state;
	start(CHAINED);
	faults_in(0, 8);
	engine_fail(&e, UVMP_ACTION_REPLAY, 0, UINT32_MAX, UVMP_ERR_STATE);
	(void)engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_REPLAY], 1);
	assert_int_equal(e.status, UVMP_ERR_STATE);
	e.failures = 0;
	engine_forget(&e);
	faults_in(1, 1); /* the next bottom half owes nothing */
	check(1, 1, 1);
}

static void test_check_finds_a_chain_that_goes_on(void **state)
{
	struct gpu *g;

	(void)state;
	start(CHAINED);
	faults_in(0, 8);
	check(1, 1, 0);
	g = &e.service->gpu[1];
	assert_true(uvmp_service_check(e.service));
	g->is_chained = true;
	assert_false(uvmp_service_check(e.service));
	g->is_chained = false;
	g->owes_replay = true;
	assert_false(uvmp_service_check(e.service));
	g->owes_replay = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_next_batch_without_a_replay, stop),
		cmocka_unit_test_teardown(test_replay_when_the_buffer_is_empty, stop),
		cmocka_unit_test_teardown(test_stale_batch_ends_the_chain, stop),
		cmocka_unit_test_teardown(test_limit_of_a_bottom_half, stop),
		cmocka_unit_test_teardown(test_data_that_do_not_fit, stop),
		cmocka_unit_test_teardown(test_data_that_fit_on_two_gpus, stop),
		cmocka_unit_test_teardown(test_memory_that_was_full, stop),
		cmocka_unit_test_teardown(test_policies_without_chains, stop),
		cmocka_unit_test_teardown(test_other_replay_policies, stop),
		cmocka_unit_test_teardown(test_fatal_fault_within_a_chain, stop),
		cmocka_unit_test_teardown(test_chains_of_two_gpus, stop),
		cmocka_unit_test_teardown(test_range_added_within_a_chain, stop),
		cmocka_unit_test_teardown(test_error_of_a_copy, stop),
		cmocka_unit_test_teardown(test_error_of_a_batch, stop),
		cmocka_unit_test_teardown(test_error_of_a_flush, stop),
		cmocka_unit_test_teardown(test_error_of_a_wait, stop),
		cmocka_unit_test_teardown(test_error_of_the_replay, stop),
		cmocka_unit_test_teardown(test_check_finds_a_chain_that_goes_on, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
