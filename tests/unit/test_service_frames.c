/* Frames of page-wise orders: ALLOCATE and FREE say where units lie (frames.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/engine_host.h"
#include "engine/space_internal.h"

#define MIB2  0x200000u
#define PAGE  0x1000u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

static void begin_counting(const char *policy, uint64_t bytes, bool counts_units)
{
	engine_init(&e, 1, 1);
	e.gpu[0].counts_units = counts_units;
	e.hidden[2] = "space=";
	e.hidden[3] = "batch=";
	e.hidden[4] = "page_bytes=";
	e.is_checking = true;
	assert_true(engine_policy(&e, policy));
	assert_true(engine_start(&e, 16, 1u << 18));
	engine_range(&e, SPACE, BASE, bytes, UVMP_PROC_NONE);
	engine_bind(&e, 1, SPACE);
}

static void begin(const char *policy, uint64_t bytes)
{
	begin_counting(policy, bytes, false);
}

static int stop(void **state)
{
	(void)state;
	engine_stop(&e);
	return 0;
}

static void touch(uint32_t first, uint32_t end)
{
	for (uint32_t page = first; page < end; page++)
		engine_fault(&e, 1, SPACE, BASE + page * PAGE, UVMP_ACCESS_WRITE);
	(void)engine_run(&e);
}

#define ASSERT_SAID(line)                                                                                    \
	{                                                                                                    \
		if (!engine_has(&e, line))                                                                   \
			fail_msg("wanted: %sgot:\n%s", line, e.text);                                        \
		engine_forget(&e);                                                                           \
	}

/* Neighbours with neighbouring frames share an action; frames are reused in the order in which they became free. */
static void reused_in_order(void **state)
{
	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off", 2u * MIB2);
	touch(0, 256);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=0-255 to=1 detail=1048576\n");
	touch(256, 512);
	ASSERT_SAID(
		"allocate cause=demand block=0x40000000 pages=256-511 to=1 detail=1048576 offset=0x100000\n");
	touch(512, 515); /* pages 0 to 2 of the first block leave, one after the other */
	ASSERT_SAID("allocate cause=demand block=0x40200000 pages=0-2 to=1 detail=12288\n");
	touch(520, 521);
	ASSERT_SAID("allocate cause=demand block=0x40200000 pages=8 to=1 detail=4096 offset=0x3000\n");
	touch(519, 520); /* a neighbour, whose frame is none: nothing is told again of page 8 */
	ASSERT_SAID("allocate cause=demand block=0x40200000 pages=7 to=1 detail=4096 offset=0x4000\n");
	uvmp_service_free_range(e.service, SPACE, BASE, NULL);
	(void)engine_run(&e);
	assert_true(engine_has(
		&e, "free cause=free block=0x40000000 pages=5-511 from=1 detail=2076672 offset=0x5000\n"));
	assert_true(engine_has(&e, "free cause=free block=0x40200000 pages=0-2 from=1 detail=12288\n"));
	assert_true(engine_has(
		&e, "free cause=free block=0x40200000 pages=7 from=1 detail=4096 offset=0x4000\n"));
	ASSERT_SAID("free cause=free block=0x40200000 pages=8 from=1 detail=4096 offset=0x3000\n");
}

/* A unit has one frame, however many of its pages are there; a block may end inside its last unit. */
static void one_for_a_unit(void **state)
{
	(void)state;
	begin("prefetch=none evict=sl64k thrash=off counters=off", 40u * PAGE);
	touch(33, 34);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=32-39 to=1 detail=65536\n");
	touch(34, 40);
	assert_false(engine_has(&e, "allocate"));
	touch(0, 17);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=0-31 to=1 detail=131072 offset=0x10000\n");
	/* all of it goes to the CPU, and comes back */
	uvmp_service_migrate(e.service, SPACE, BASE, 40u * PAGE, UVMP_CPU, NULL);
	(void)engine_run(&e);
	assert_false(engine_has(&e, "free "));
	touch(0, 1);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=0-15 to=1 detail=65536 offset=0x10000\n");
}

/* A refused ALLOCATE and a failed copy leave no frame behind. */
static void refused(void **state)
{
	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off", MIB2);
	touch(0, 1);
	engine_fail(&e, UVMP_ACTION_ALLOCATE, 0, 1, UVMP_ERR_NO_MEMORY);
	touch(1, 2);
	assert_true(engine_has(
		&e, "allocate cause=demand block=0x40000000 pages=1 to=1 detail=4096 offset=0x1000\n"));
	engine_forget(&e);
	touch(2, 3);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=2 to=1 detail=4096 offset=0x1000\n");
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 1, UVMP_ERR_STATE);
	touch(3, 4);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=3 to=1 detail=4096 offset=0x2000\n");
	engine_forget(&e);
	touch(3, 4);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=3 to=1 detail=4096 offset=0x2000\n");
}

/* Each unit of a job that fails releases its frame, unless a page of it is resident. */
static void released(void **state)
{
	(void)state;
	begin("prefetch=none evict=sl64k thrash=off counters=off", 40u * PAGE);
	touch(0, 1);
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 9, UVMP_ERR_STATE);
	touch(1, 17);
	assert_true(engine_has(
		&e, "allocate cause=demand block=0x40000000 pages=16-31 to=1 detail=65536 offset=0x10000\n"));
	engine_forget(&e);
	assert_true(uvmp_service_check(e.service));
	touch(1, 2); /* its unit kept the frame */
	assert_false(engine_has(&e, "allocate"));
	touch(32, 33);
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=32-39 to=1 detail=65536 offset=0x10000\n");
}

/* uvmp_service_check finds units without frames, and frames without units. */
static void checked(void **state)
{
	struct frames *frames;

	(void)state;
	begin("prefetch=none evict=lru4k thrash=off counters=off", MIB2);
	touch(0, 2);
	frames = &e.service->gpu[1].frames;
	assert_true(uvmp_service_check(e.service));
	frames->unused++;
	assert_false(uvmp_service_check(e.service));
	frames->of_unit[0] = NO_INDEX;
	assert_false(uvmp_service_check(e.service)); /* page 0 is resident */
	frames->of_unit[0] = frames->begun;
	frames->unused--;
	assert_false(uvmp_service_check(e.service));
	frames->of_unit[0] = 0;
	assert_true(uvmp_service_check(e.service));
}

/* -- units that count with all their pages -- */

/* One root of memory: units with a single page leave if they count whole, and only then. */
static void whole_units(bool counts_units)
{
	begin_counting("prefetch=none evict=sl64k quirks=0 thrash=off counters=off", 2u * MIB2, counts_units);
	for (uint32_t unit = 0; unit < 32; unit++)
		touch(unit * 16u + 3u, unit * 16u + 4u);
	touch(17, 19); /* more pages of units that count already */
	assert_false(engine_has(&e, "evict"));
	engine_forget(&e);
	touch(512, 513);
	assert_int_equal(engine_has(&e, "evict cause=eviction block=0x40000000 pages=3 from=1"), counts_units);
	assert_int_equal(engine_has(&e, "pages=0-15 to=1 detail=65536 offset=0x200000\n"), !counts_units);
	engine_stop(&e);
}

static void count_whole(void **state)
{
	(void)state;
	whole_units(true);
	whole_units(false);
	begin_counting("prefetch=none evict=lru2m thrash=off counters=off", 2u * MIB2, true);
	touch(7, 8);
	touch(512 + 9, 512 + 10);
	ASSERT_SAID("evict cause=eviction block=0x40000000 pages=7 from=1");
}

/* A block of 40 pages: its last unit counts with the eight that it has. */
static void count_their_part(void **state)
{
	(void)state;
	begin_counting("prefetch=none evict=sl64k quirks=0 thrash=off counters=off", MIB2 + 40u * PAGE, true);
	for (uint32_t unit = 0; unit < 30; unit++)
		touch(unit * 16u, unit * 16u + 1u);
	touch(512, 513);
	touch(512 + 32, 512 + 33);
	assert_false(engine_has(&e, "evict")); /* 480 + 16 + 8 of 512 pages */
	engine_forget(&e);
	touch(512 + 16, 512 + 17);
	ASSERT_SAID("evict cause=eviction block=0x40000000 pages=0 from=1");
}

/* Pages whose copy fails do not count, nor does their unit. */
static void count_nothing_refused(void **state)
{
	(void)state;
	begin_counting("prefetch=none evict=sl64k quirks=0 thrash=off counters=off", 2u * MIB2, true);
	for (uint32_t unit = 0; unit < 31; unit++)
		touch(unit * 16u, unit * 16u + 1u);
	engine_fail(&e, UVMP_ACTION_ALLOCATE, 0, 1, UVMP_ERR_NO_MEMORY);
	touch(31 * 16, 31 * 16 + 1);
	touch(512, 513);
	assert_false(engine_has(&e, "evict"));
	engine_forget(&e);
	touch(31 * 16, 31 * 16 + 1);
	ASSERT_SAID("evict ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(reused_in_order, stop),
		cmocka_unit_test_teardown(one_for_a_unit, stop),
		cmocka_unit_test_teardown(refused, stop),
		cmocka_unit_test_teardown(released, stop),
		cmocka_unit_test_teardown(checked, stop),
		cmocka_unit_test_teardown(count_whole, stop),
		cmocka_unit_test_teardown(count_their_part, stop),
		cmocka_unit_test_teardown(count_nothing_refused, stop),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
