/* adapt.h: pinning against cyclic thrashing (Park, Kim and Han, CASES'20). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/adapt.h"

/* These parameters with one field changed are not accepted. */
#define REFUSE(field, value) (bad = params, bad.field = (value), refuse(bad))

#define BLOCKS   10u
#define CAPACITY 8u

static struct uvmp_cyclic_params params;
static struct uvmp_cyclic_state state;
static struct uvmp_cyclic_block block[BLOCKS];

static int set_up(void **unused)
{
	(void)unused;
	uvmp_cyclic_params_init(&params);
	assert_int_equal(uvmp_cyclic_init(&state, block, BLOCKS, CAPACITY), UVMP_OK);
	return 0;
}

static void leave(uint32_t b)
{
	assert_int_equal(uvmp_cyclic_evict(&state, b), UVMP_OK);
}

static bool come_back(uint32_t b)
{
	bool is_pinned = false;

	assert_int_equal(uvmp_cyclic_return(&params, &state, b, true, &is_pinned), UVMP_OK);
	assert_int_equal(is_pinned, block[b].is_pinned);
	return is_pinned;
}

static uint32_t release(void)
{
	uint32_t b = 0;

	assert_int_equal(uvmp_cyclic_release(&params, &state, &b), UVMP_OK);
	return b;
}

static void circle(uint32_t b, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		leave(b);
		(void)come_back(b);
	}
}

/* A walk in circles over 10 blocks in a memory of 8, the least recently touched block that is not pinned
 * leaves. Without pins each touch is a fault. With them, at most four a round are left once six blocks are
 * pinned. */
static void test_walk(void **unused)
{
	uint32_t order[CAPACITY], count = 0, faults = 0;

	(void)unused;
	for (uint32_t touch = 0; touch < 10 * BLOCKS; touch++) {
		uint32_t b = touch % BLOCKS, at = 0;

		if (touch == 5 * BLOCKS)
			faults = 0;
		while (at < count && order[at] != b)
			at++;
		if (at == count && count == CAPACITY) {
			for (at = 0; block[order[at]].is_pinned;)
				at++;
			leave(order[at]);
			count--;
			memmove(&order[at], &order[at + 1], (count - at) * sizeof(order[0]));
			at = count;
		}
		if (at == count) {
			faults++;
			count++;
			(void)come_back(b);
		}
		memmove(&order[at], &order[at + 1], (count - 1 - at) * sizeof(order[0]));
		order[count - 1] = b;
	}
	assert_int_equal(state.pinned, 6);
	assert_int_equal(faults, 5 * 4);
	assert_int_equal(release(), UINT32_MAX);
}

static void test_rounds(void **unused)
{
	(void)unused;
	assert_false(come_back(0)); /* the first time it was not away */
	leave(0);
	assert_false(come_back(0));
	leave(0);
	assert_true(come_back(0));
	assert_true(come_back(0));
	leave(0); /* a host that has nothing else may */
	assert_int_equal(state.pinned, 0);
	assert_true(come_back(0));
}

/* A prefetch brings the block back, and it can leave again, but it has not returned: neither a round nor the
 * end of one, and nothing for the patience. */
static void test_prefetched(void **unused)
{
	bool is_pinned = true;

	(void)unused;
	circle(0, 1);
	leave(0);
	assert_int_equal(uvmp_cyclic_return(&params, &state, 0, false, &is_pinned), UVMP_OK);
	assert_false(is_pinned || block[0].is_away);
	assert_int_equal(block[0].rounds, 1);
	assert_int_equal(state.returned, 1);
	leave(0);
	assert_int_equal(state.evictions, 3);
	assert_true(come_back(0));
	assert_int_equal(uvmp_cyclic_return(&params, &state, 0, false, &is_pinned), UVMP_OK);
	assert_true(is_pinned);
}

/* Too much was evicted in between: the count of returns starts from 0. */
static void test_reach(void **unused)
{
	(void)unused;
	circle(0, 1);
	leave(0);
	circle(1, 4 * CAPACITY + 1);
	assert_false(come_back(0));
	leave(0);
	circle(1, 4 * CAPACITY);
	assert_false(come_back(0));
	circle(0, 1);
	assert_true(block[0].is_pinned);
	params.rounds = 255;
	circle(2, 300);
	assert_int_equal(block[2].rounds, 255);
	assert_true(block[2].is_pinned);
}

static void test_share(void **unused)
{
	(void)unused;
	for (uint32_t b = 0; b < 7; b++)
		circle(b, 2);
	assert_int_equal(state.pinned, 6);
	assert_false(block[6].is_pinned);
	assert_int_equal(release(), UINT32_MAX);
	params.share_percent = 50;
	assert_int_equal(release(), 0); /* more than allowed: the oldest go */
	assert_int_equal(release(), 1);
	assert_int_equal(release(), UINT32_MAX);
	assert_int_equal(uvmp_cyclic_free(&state, 3), UVMP_OK); /* from the middle of the list */
	assert_int_equal(uvmp_cyclic_free(&state, 3), UVMP_OK);
	assert_int_equal(state.pinned, 3);
	leave(5); /* the newest */
	params.share_percent = 0;
	assert_int_equal(release(), 2);
	assert_int_equal(release(), 4);
	assert_int_equal(release(), UINT32_MAX);
	assert_int_equal(state.newest, 0);
}

/* What is evicted now does not come back: the circle is over. */
static void test_patience(void **unused)
{
	(void)unused;
	circle(0, 2);
	circle(1, 2);
	for (uint32_t i = 0; i < 4 * CAPACITY - 1; i++) {
		assert_int_equal(uvmp_cyclic_free(&state, 2), UVMP_OK);
		leave(2);
	}
	assert_int_equal(release(), UINT32_MAX);
	leave(3);
	assert_int_equal(release(), 0);
	assert_int_equal(block[0].rounds, 0);
	assert_int_equal(release(), 1);
	assert_int_equal(release(), UINT32_MAX);
}

static void refuse(struct uvmp_cyclic_params bad)
{
	bool is_pinned;

	assert_false(uvmp_cyclic_params_is_valid(&bad));
	assert_int_equal(uvmp_cyclic_return(&bad, &state, 0, true, &is_pinned), UVMP_ERR_ARGUMENT);
}

static void test_params(void **unused)
{
	struct uvmp_cyclic_params bad;

	(void)unused;
	assert_true(uvmp_cyclic_params_is_valid(&params));
	assert_false(uvmp_cyclic_params_is_valid(NULL));
	bad = params, bad.rounds = 255;
	assert_true(uvmp_cyclic_params_is_valid(&bad));
	bad = params, bad.share_percent = 100;
	assert_true(uvmp_cyclic_params_is_valid(&bad));
	bad = params, bad.reach_percent = 10000;
	assert_true(uvmp_cyclic_params_is_valid(&bad));
	bad = params, bad.patience_percent = 10000;
	assert_true(uvmp_cyclic_params_is_valid(&bad));
	REFUSE(rounds, 0);
	REFUSE(rounds, 256);
	REFUSE(share_percent, 101);
	REFUSE(reach_percent, 0);
	REFUSE(reach_percent, 10001);
	REFUSE(patience_percent, 0);
	REFUSE(patience_percent, 10001);
	uvmp_cyclic_params_init(NULL);
}

static void refuse_state(struct uvmp_cyclic_state bad)
{
	assert_false(uvmp_cyclic_is_valid(&bad));
	assert_int_equal(uvmp_cyclic_evict(&bad, 0), UVMP_ERR_ARGUMENT);
}

static void test_is_valid(void **unused)
{
	struct uvmp_cyclic_state bad;

	(void)unused;
	assert_true(uvmp_cyclic_is_valid(&state));
	assert_false(uvmp_cyclic_is_valid(NULL));
	/* all pinned, the last block oldest and newest */
	bad = state, bad.newest = bad.oldest = bad.pinned = BLOCKS;
	assert_true(uvmp_cyclic_is_valid(&bad));
#define REFUSE_STATE(field, value) (bad = state, bad.field = (value), refuse_state(bad))
	REFUSE_STATE(block, NULL);
	REFUSE_STATE(newest, BLOCKS + 1);
	REFUSE_STATE(oldest, BLOCKS + 1);
	REFUSE_STATE(pinned, BLOCKS + 1);
	REFUSE_STATE(pinned, 1);
}

static void test_errors(void **unused)
{
	uint32_t b;
	bool is_pinned;

	(void)unused;
	assert_int_equal(uvmp_cyclic_init(NULL, block, 1, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_cyclic_init(&state, NULL, 1, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_cyclic_init(&state, block, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_cyclic_init(&state, block, UINT32_MAX, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_cyclic_evict(&state, BLOCKS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_cyclic_free(&state, BLOCKS), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_cyclic_return(&params, &state, BLOCKS, true, &is_pinned), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_cyclic_return(&params, &state, 0, true, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_cyclic_return(&params, NULL, 0, true, &is_pinned), UVMP_ERR_ARGUMENT);
	leave(0);
	assert_int_equal(uvmp_cyclic_evict(&state, 0), UVMP_ERR_STATE);
	assert_int_equal(uvmp_cyclic_release(NULL, &state, &b), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_cyclic_release(&params, NULL, &b), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_cyclic_release(&params, &state, NULL), UVMP_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_walk, set_up),
	        cmocka_unit_test_setup(test_rounds, set_up),
	        cmocka_unit_test_setup(test_prefetched, set_up),
	        cmocka_unit_test_setup(test_reach, set_up),
	        cmocka_unit_test_setup(test_share, set_up),
	        cmocka_unit_test_setup(test_patience, set_up),
	        cmocka_unit_test_setup(test_params, set_up),
	        cmocka_unit_test_setup(test_is_valid, set_up),
	        cmocka_unit_test_setup(test_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
