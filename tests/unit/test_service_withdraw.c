/* Victims that a host withdraws before it copies them (uvmp_service_withdraw) [uvmsmart: cancellation]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/engine_host.h"
#include "engine/cold_internal.h"
#include "engine/space_internal.h"

#define MIB2  0x200000u
#define PAGE  0x1000u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

/* A GPU with memory of 2 MiB, and ranges of 4 MiB from BASE on. */
static void begin(const char *policy)
{
	engine_init(&e, 1, 1);
	e.hidden[2] = "space=";
	e.hidden[3] = "batch=";
	e.hidden[4] = "page_bytes=";
	assert_true(engine_policy(&e, policy));
	assert_true(engine_start(&e, 16, 1u << 18));
	engine_range(&e, SPACE, BASE, 2u * MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, SPACE);
}

static int stop(void **state)
{
	(void)state;
	engine_stop(&e);
	return 0;
}

/* Writes to the pages, at most a batch of them at once. */
static void touch(uint32_t first, uint32_t end)
{
	for (uint32_t page = first; page < end; page++) {
		engine_fault(&e, 1, SPACE, BASE + page * PAGE, UVMP_ACCESS_WRITE);
		if (page % 128u == 127u || page + 1u == end)
			(void)engine_run(&e);
	}
}

static enum uvmp_status withdraw(uint32_t first, uint32_t pages)
{
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE + first * PAGE, (uint64_t)pages * PAGE, 1, NULL), UVMP_OK);
	(void)engine_run(&e);
	return e.status;
}

static bool is_there(uint32_t page)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_service_page(e.service, SPACE, BASE + page * PAGE, &state), UVMP_OK);
	return (state.resident & 2u) != 0;
}

/* The oldest page returns, as the newest, and the next one leaves in its place. */
static void another_leaves(void **state)
{
	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off");
	touch(0, 513);
	assert_false(is_there(0));
	engine_forget(&e);
	assert_int_equal(withdraw(0, 1), UVMP_OK);
	assert_true(engine_has(&e, "evict cause=eviction block=0x40000000 pages=1 from=1"));
	assert_true(engine_has(&e, "copy cause=migrate block=0x40000000 pages=0 from=0 to=1"));
	assert_true(engine_has(&e, "done cause=migrate"));
	assert_true(is_there(0) && !is_there(1) && is_there(2));
	touch(513, 514);
	assert_true(is_there(0) && !is_there(2));
	assert_int_equal(withdraw(3, 1), UVMP_OK); /* it is there already */
	assert_true(is_there(3) && !is_there(2) && is_there(4));
}

/* With free memory no other page leaves; a part of several blocks is withdrawn block by block. */
static void memory_is_free(void **state)
{
	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off");
	touch(510, 514);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE + 510u * PAGE, 4u * PAGE, UVMP_CPU, NULL), UVMP_OK);
	(void)engine_run(&e);
	assert_false(is_there(511) || is_there(512));
	engine_forget(&e);
	assert_int_equal(withdraw(510, 4), UVMP_OK);
	assert_false(engine_has(&e, "evict"));
	for (uint32_t page = 510; page < 514; page++)
		assert_true(is_there(page));
}

/* Units that are held do not leave for a victim; without another unit the victim leaves. Nor do incomplete large pages. */
static void no_other_can_leave(void **state)
{
	(void)state;
	begin("prefetch=sl evict=sl64k thrash=off counters=off");
	for (uint32_t page = 0; page < 528; page += 16)
		touch(page, page + 1u);
	assert_false(is_there(0));
	for (uint32_t page = 16; page < 528; page += 16)
		assert_int_equal(uvmp_service_hold(e.service, 1, SPACE, BASE + page * PAGE, UINT64_MAX), UVMP_OK);
	assert_int_equal(withdraw(0, 16), UVMP_ERR_NO_MEMORY);
	assert_true(!is_there(0) && is_there(16) && is_there(512));
	touch(0, 1); /* a fault makes one leave all the same */
	assert_true(is_there(0));
	engine_stop(&e);
	begin("prefetch=none evict=lru2m thrash=off counters=off");
	touch(0, 512);
	touch(512, 514);
	assert_false(is_there(0));
	assert_int_equal(uvmp_service_hold(e.service, 1, SPACE, BASE + 512u * PAGE, 1), UVMP_OK);
	assert_int_equal(withdraw(0, 512), UVMP_ERR_NO_MEMORY);
	assert_true(!is_there(0) && is_there(512));
}

static const struct uvmp_tree *tree_of(uint32_t page)
{
	const struct uvmp_service *s = e.service;
	const struct block *b = block_at(s, uvmpi_block_find(s, uvmpi_space_find(s, SPACE), BASE + page * PAGE));

	return b->cold != 0 && cold_at(s, b->cold)->tree != 0
		       ? (const struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree)
		       : NULL;
}

/* The tree of a prefetcher counts the pages again; it no longer counts those that leave for them. */
static void the_tree_counts_again(void **state)
{
	(void)state;
	begin("prefetch=sl evict=sl64k thrash=off counters=off");
	for (uint32_t page = 0; page <= 512; page += 16)
		touch(page, page + 1u);
	assert_int_equal(uvmp_tree_leaf(tree_of(0), 0), 0);
	assert_int_equal(uvmp_tree_leaf(tree_of(0), 1), 16);
	assert_int_equal(withdraw(0, 16), UVMP_OK);
	assert_int_equal(uvmp_tree_leaf(tree_of(0), 0), 16);
	assert_int_equal(uvmp_tree_leaf(tree_of(0), 1), 0);
	engine_stop(&e);
	begin("prefetch=none evict=lru4k remote=oversub remote_threshold=1 thrash=off counters=off"); /* cold state, no tree */
	touch(0, 513);
	assert_null(tree_of(0));
	assert_int_equal(withdraw(0, 1), UVMP_OK);
	assert_true(is_there(0) && !is_there(1));
}

/* A page that has returned counts, although copies of the other ones have failed. */
static void the_tree_counts_what_returns(void **state)
{
	uint32_t there = 0;

	(void)state;
	begin("prefetch=sl evict=sl64k thrash=off counters=off");
	for (uint32_t page = 0; page <= 512; page += 16)
		touch(page, page + 1u);
	engine_fail(&e, UVMP_ACTION_COPY, 11, 6, UVMP_ERR_UNSUPPORTED); /* one copy to the CPU, then 16 back */
	assert_int_equal(withdraw(0, 16), UVMP_ERR_UNSUPPORTED);
	for (uint32_t page = 0; page < 16; page++)
		there += is_there(page);
	assert_int_equal(there, 10);
	assert_int_equal(uvmp_tree_leaf(tree_of(0), 0), 10);
}

/* The original has no rule for pages that leave without an eviction: with quirks the tree counts them on. A CPU fault moves a page
 * without the tree, too. */
static void other_departures_leave_the_tree(void **state)
{
	static const char *const policy[] = {"prefetch=tbn evict=sl64k thrash=off counters=off",
	                                     "prefetch=tbn evict=sl64k thrash=off counters=off quirks=0"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool has_quirks = i % 2u == 0;

		begin(policy[i % 2u]);
		touch(0, 1);
		touch(16, 17);
		if (i < 2)
			assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE, 32u * PAGE, UVMP_CPU, NULL), UVMP_OK);
		for (uint32_t page = 0; page < 32 && i >= 2; page++) {
			assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE + page * PAGE, UVMP_ACCESS_WRITE, 1, NULL),
			                 UVMP_OK);
			(void)engine_run(&e);
		}
		(void)engine_run(&e);
		assert_false(is_there(0) || is_there(16));
		assert_int_equal(uvmp_tree_leaf(tree_of(0), 0), 16);
		touch(32, 33);
		assert_int_equal(uvmp_tree_leaf(tree_of(0), 0), has_quirks ? 16 : 0);
		assert_int_equal(is_there(48), has_quirks);
		if (i < 3)
			engine_stop(&e);
	}
}

static void refused(void **state)
{
	static const char *const others[] = {"evict=lru", "evict=lfu2m"};
	enum uvmp_status status = UVMP_OK;

	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off");
	assert_int_equal(uvmp_service_withdraw(NULL, SPACE, BASE, PAGE, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE + 1u, PAGE, 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE, PAGE, UVMP_CPU, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE, PAGE, 2, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE - MIB2, PAGE, 1, NULL), UVMP_OK);
	(void)engine_run(&e);
	assert_int_equal(e.status, UVMP_ERR_UNKNOWN);
	for (uint32_t i = 0; i < 9 && status == UVMP_OK; i++)
		status = uvmp_service_withdraw(e.service, SPACE, BASE, PAGE, 1, NULL);
	assert_int_equal(status, UVMP_ERR_SPACE);
	(void)engine_run(&e);
	for (uint32_t i = 0; i < 2; i++) {
		engine_stop(&e);
		begin(others[i]);
		assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE, PAGE, 1, NULL), UVMP_ERR_RANGE);
	}
}

/* A GPU without memory has no victims. */
static void without_memory(void **state)
{
	(void)state;
	engine_init(&e, 2, 1);
	e.processors.no_memory = 1u << 2;
	e.gpu[1].memory_bytes = 0;
	e.gpu[1].splits = 0;
	assert_true(engine_policy(&e, "prefetch=none evict=lru4k thrash=off counters=off"));
	assert_true(engine_start(&e, 16, 1u << 18));
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(uvmp_service_withdraw(e.service, SPACE, BASE, PAGE, 2, NULL), UVMP_ERR_RANGE);
	assert_int_equal(withdraw(0, 1), UVMP_OK);
}

/* An access outlasts the departure of its pages: where the pages return before its end, they are held. */
static void holds_outlast_departures(void **state)
{
	(void)state;
	begin("prefetch=sl evict=sl64k thrash=off counters=off");
	touch(0, 1);
	assert_int_equal(uvmp_service_hold(e.service, 1, SPACE, BASE, UINT64_MAX), UVMP_OK);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE, 16 * PAGE, UVMP_CPU, NULL), UVMP_OK);
	(void)engine_run(&e);
	for (uint32_t page = 0; page <= 512; page += 16)
		touch(page, page + 1u);
	assert_true(is_there(0) && !is_there(16) && is_there(32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(another_leaves, stop),
		cmocka_unit_test_teardown(memory_is_free, stop),
		cmocka_unit_test_teardown(no_other_can_leave, stop),
		cmocka_unit_test_teardown(the_tree_counts_again, stop),
		cmocka_unit_test_teardown(the_tree_counts_what_returns, stop),
		cmocka_unit_test_teardown(other_departures_leave_the_tree, stop),
		cmocka_unit_test_teardown(refused, stop),
		cmocka_unit_test_teardown(without_memory, stop),
		cmocka_unit_test_teardown(holds_outlast_departures, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
