/* Frames of page-wise orders: ALLOCATE and FREE say where units lie (frames.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/engine_host.h"
#include "engine/frames_internal.h"
#include "engine/memory_internal.h"
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

/* -- frames by root: orders with groups -- */

#define GROUPS	     "evict=auto prefetch=none thrash=off counters=off"
#define GROUPS_WHOLE "evict=auto prefetch=density threshold=1 thrash=off counters=off"
#define UNIT	     0x10000u

/* Units of 64 KiB of memory, and blocks with state. */
static void begin_groups(const char *policy, uint32_t units, uint32_t blocks, bool counts_units)
{
	engine_init(&e, 1, 1);
	e.gpu[0].memory_bytes = (uint64_t)units * UNIT;
	e.gpu[0].counts_units = counts_units;
	e.hidden[2] = "space=";
	e.hidden[3] = "batch=";
	e.hidden[4] = "page_bytes=";
	e.is_checking = true;
	e.params.blocks = blocks;
	assert_true(engine_policy(&e, policy));
	assert_true(engine_start(&e, blocks, 1u << 20));
	engine_range(&e, SPACE, BASE, 8u * MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, SPACE);
}

/* One page of each of these units of the block. */
static void touch_units(uint32_t block, uint32_t first, uint32_t end)
{
	for (uint32_t unit = first; unit < end; unit++)
		engine_fault(&e, 1, SPACE, BASE + block * MIB2 + unit * UNIT, UVMP_ACCESS_WRITE);
	(void)engine_run(&e);
}

static void leave(uint32_t block, uint32_t unit, uint32_t units)
{
	uvmp_service_migrate(e.service, SPACE, BASE + block * MIB2 + unit * UNIT, units * UNIT, UVMP_CPU, NULL);
	(void)engine_run(&e);
	engine_forget(&e);
}

static uint32_t frame_of(uint32_t block, uint32_t unit)
{
	struct residency *p = uvmpi_residency_find(
		e.service, block_at(e.service, uvmpi_block_find(e.service, 0, BASE + block * MIB2)), 1);

	return e.service->gpu[1].frames.of_unit[p->memory * 32u + unit];
}

/* A block whose units arrive at once gets a root, although a root is partly free; single units do not. */
static void whole_root(void **state)
{
	(void)state;
	begin_groups(GROUPS, 256, 16, true);
	touch_units(0, 5, 6); /* breaks root 0 */
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=80-95 to=1 detail=65536\n");
	touch_units(1, 0, 32);
	ASSERT_SAID("allocate cause=demand block=0x40200000 pages=0-511 to=1 detail=2097152 offset=0x200000\n");
	touch_units(0, 2, 4); /* of the root that is partly free, from its lowest free frame on */
	ASSERT_SAID("allocate cause=demand block=0x40000000 pages=32-63 to=1 detail=131072 offset=0x10000\n");
	touch_units(2, 0, 31); /* not all units: 29 frames of root 0, then root 2 is broken */
	assert_true(engine_has(&e, "pages=0-463 to=1 detail=1900544 offset=0x30000\n"));
	ASSERT_SAID("pages=464-495 to=1 detail=131072 offset=0x400000\n");
	leave(1, 0, 32);
	touch_units(3, 1, 32); /* 30 of root 2, and one frame of root 1, which was free */
	assert_true(engine_has(&e, "pages=16-495 to=1 detail=1966080 offset=0x420000\n"));
	ASSERT_SAID("pages=496-511 to=1 detail=65536 offset=0x200000\n");
	touch_units(3, 0, 1); /* the rest of a block of which a part is there */
	ASSERT_SAID("pages=0-15 to=1 detail=65536 offset=0x210000\n");
}

/* A block with a page there gets single frames for the others; a whole block that is prefetched shares its root between causes. */
static void whole_root_prefetched(void **state)
{
	(void)state;
	begin_groups(GROUPS_WHOLE, 256, 16, true);
	touch(40, 41);
	assert_true(engine_has(&e, "allocate cause=prefetch block=0x40000000 pages=0-31 to=1 detail=131072\n"));
	assert_true(engine_has(&e, "allocate cause=demand block=0x40000000 pages=32-47 to=1 detail=65536 offset=0x20000\n"));
	ASSERT_SAID(
		"allocate cause=prefetch block=0x40000000 pages=48-511 to=1 detail=1900544 offset=0x30000\n");
}

/* Wholly free roots are reused in the order in which they became free; single frames of the root that became partly free last. */
static void roots_reused(void **state)
{
	(void)state;
	begin_groups(GROUPS, 256, 16, true);
	for (uint32_t block = 0; block < 4; block++)
		touch_units(block, 0, 32);
	leave(2, 0, 32);
	leave(0, 0, 32);
	touch_units(4, 0, 32);
	ASSERT_SAID("pages=0-511 to=1 detail=2097152 offset=0x400000\n");
	touch_units(5, 0, 32);
	ASSERT_SAID("pages=0-511 to=1 detail=2097152\n");
	leave(1, 7, 1);
	leave(3, 9, 1);
	leave(4, 3, 1);
	touch_units(6, 0, 2); /* roots 2 and 3 */
	assert_int_equal(frame_of(6, 0), 2 * 32 + 3);
	assert_int_equal(frame_of(6, 1), 3 * 32 + 9);
	leave(3, 4, 1);
	leave(4, 4, 1); /* partly free: 2, 3, 1, of which 3 becomes wholly free */
	leave(3, 0, 32);
	assert_int_equal(e.service->gpu[1].frames.partial, 2);
	leave(6, 1, 1); /* its frame is the last of root 3 */
	assert_int_equal(e.service->gpu[1].frames.first, 3);
	touch_units(3, 0, 32);
	ASSERT_SAID("pages=0-511 to=1 detail=2097152 offset=0x600000\n");
}

/* Frames lie within the memory, also if it is no multiple of a root: the last root then has fewer frames, and no block gets
 * it whole. */
static void within_memory(void **state)
{
	(void)state;
	begin_groups(GROUPS, 36, 16, true);
	touch_units(0, 0, 32);
	touch_units(1, 0, 4); /* the four frames of root 1 */
	ASSERT_SAID("allocate cause=demand block=0x40200000 pages=0-63 to=1 detail=262144 offset=0x200000\n");
	leave(0, 8, 1);
	touch_units(1, 4, 5);
	ASSERT_SAID("pages=64-79 to=1 detail=65536 offset=0x80000\n");
	leave(1, 0, 4);
	touch_units(2, 0, 1);
	ASSERT_SAID("pages=0-15 to=1 detail=65536 offset=0x200000\n");
	leave(0, 9, 3); /* root 0 is partly free, and root 1, too */
	touch_units(2, 1, 7);
	for (uint32_t unit = 0; unit < 7; unit++)
		assert_in_range(frame_of(2, unit), 0, 35);
}

/* If single pages count, units can be more than the frames of the memory; then the last root gets its other frames. */
static void beyond_memory(void **state)
{
	(void)state;
	begin_groups(GROUPS, 36, 16, false);
	touch_units(0, 0, 32);
	touch_units(1, 0, 31); /* no root of the memory is wholly free */
	assert_int_equal(frame_of(1, 3), 35);
	assert_int_equal(frame_of(1, 4), 36);
	assert_int_equal(frame_of(1, 30), 62);
	touch_units(2, 0, 32); /* nor here */
	assert_int_equal(frame_of(2, 0), 63);
	assert_int_equal(frame_of(2, 31), 94);
}

/* If the tables of an order with as many units as it can have do not grow, a block that arrives whole gets parts of two roots,
 * although the memory has more. */
static void no_more_than_units(void **state)
{
	(void)state;
	begin_groups(GROUPS, 256, 2, true);
	touch_units(0, 0, 16);
	touch_units(1, 0, 16);
	touch_units(0, 16, 32);
	leave(1, 0, 16);
	assert_int_equal(frame_of(0, 16), 32);
	assert_true(uvmpi_memory_more(e.service, 1) != 0);
	e.service->policy.evict = UVMP_EVICT_LRU; /* as such an order, LRU has no size for more units */
	assert_int_equal(uvmpi_memory_more(e.service, 1), 0);
	touch_units(1, 0, 32);
	e.service->policy.evict = UVMP_EVICT_AUTO;
	assert_int_equal(frame_of(1, 0), 16);
	assert_int_equal(frame_of(1, 16), 48);
	assert_int_equal(e.service->gpu[1].frames.begun, 64);
}

/* A refused ALLOCATE leaves the root free. */
static void root_refused(void **state)
{
	(void)state;
	begin_groups(GROUPS, 256, 16, true);
	engine_fail(&e, UVMP_ACTION_ALLOCATE, 0, 1, UVMP_ERR_NO_MEMORY);
	touch_units(0, 0, 32);
	engine_forget(&e);
	touch_units(1, 0, 32);
	ASSERT_SAID("pages=0-511 to=1 detail=2097152\n");
}

/* A block that arrives whole gets a root, however many blocks were expected: tables grow for the root, too. */
static void root_beyond_blocks(void **state)
{
	(void)state;
	for (uint32_t blocks = 2; blocks <= 16; blocks += 14) {
		begin_groups(GROUPS, 256, blocks, true);
		touch_units(0, 0, 1); /* breaks root 0 */
		touch_units(1, 0, 32);
		leave(1, 0, 16);
		touch_units(0, 5, 6); /* breaks root 1 */
		leave(1, 16, 16);
		assert_int_equal(e.service->gpu[1].frames.begun, 64);
		assert_true(e.service->gpu[1].numbers >= blocks);
		assert_int_equal(uvmp_service_needs(e.service), 0);
		engine_forget(&e);
		touch_units(1, 0, 32);
		assert_int_equal(e.service->gpu[1].numbers, blocks == 2 ? 4 : blocks);
		assert_true(engine_has(&e, "pages=0-511 to=1 detail=2097152 offset=0x400000\n"));
		if (blocks == 2)
			engine_stop(&e);
	}
}

/* The same for a block that gets the number of one that was freed: the tables have a number for it, but no root. */
static void root_beyond_numbers(void **state)
{
	(void)state;
	begin_groups(GROUPS, 256, 2, true);
	engine_range(&e, SPACE, BASE + 8u * MIB2, MIB2, UVMP_PROC_NONE);
	touch_units(0, 0, 1); /* breaks root 0 */
	touch_units(8, 0, 32);
	leave(8, 0, 16);
	touch_units(0, 5, 6); /* breaks root 1 */
	uvmp_service_free_range(e.service, SPACE, BASE + 8u * MIB2, NULL);
	(void)engine_run(&e);
	assert_int_equal(e.service->gpu[1].numbers, 2);
	assert_true(uvmpi_memory_more(e.service, 1) != 0);
	engine_forget(&e);
	touch_units(1, 0, 32);
	assert_int_equal(e.service->gpu[1].numbers, 4);
	assert_true(engine_has(&e, "pages=0-511 to=1 detail=2097152 offset=0x400000\n"));
}

/* uvmp_service_check looks at the sets of free frames, and at the lists of roots. */
static void roots_checked(void **state)
{
	struct frames *frames;
	uint32_t *root0, *root1, *root2;

	(void)state;
	begin_groups(GROUPS, 256, 16, true);
	for (uint32_t block = 0; block < 3; block++)
		touch_units(block, 0, 32);
	leave(0, 0, 32);
	leave(1, 2, 1);
	leave(2, 2, 1);
	frames = &e.service->gpu[1].frames;
	root0 = frames->next;
	root1 = root0 + 32;
	root2 = root1 + 32;
	assert_true(uvmp_service_check(e.service));
#define ASSERT_WRONG(place, wrong)                                                                           \
	{                                                                                                    \
		uint32_t was = place;                                                                        \
		place = wrong;                                                                               \
		assert_false(uvmp_service_check(e.service));                                                 \
		place = was;                                                                                 \
		assert_true(uvmp_service_check(e.service));                                                  \
	}
	ASSERT_WRONG(root1[0], 8); /* the set has a used frame */
	ASSERT_WRONG(root1[0], 12); /* one more */
	ASSERT_WRONG(root1[0], 0);
	ASSERT_WRONG(frames->first, NO_INDEX);
	ASSERT_WRONG(frames->first, 1); /* partly free */
	ASSERT_WRONG(frames->first, 3); /* never used */
	ASSERT_WRONG(frames->partial, NO_INDEX);
	ASSERT_WRONG(frames->partial, 0);
	ASSERT_WRONG(root2[1], 0); /* previous */
	ASSERT_WRONG(root1[1], NO_INDEX);
	ASSERT_WRONG(root2[2], 2); /* next: itself */
	ASSERT_WRONG(root1[2], 2);
	ASSERT_WRONG(root0[2], 1);
	ASSERT_WRONG(frames->of_unit[0], frames->begun);
}

/* Random units of random blocks come and go, are evicted and freed: the engine checks itself after each action, and no
 * ALLOCATE goes beyond the memory. */
static void look_at_offset(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_ALLOCATE)
		assert_true(a->offset + a->bytes <= host->gpu[0].memory_bytes);
}

static void any_units(const char *policy, uint32_t units, uint64_t seed)
{
	begin_groups(policy, units, 9, true);
	e.hook = look_at_offset;
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t block, unit, end;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		block = (uint32_t)(seed >> 40) % 8u;
		unit = (uint32_t)(seed >> 44) % 32u;
		end = (seed >> 50) % 3u == 0 ? 32u : unit + 1u;
		if ((seed >> 54) % 4u == 0)
			leave(block, end == 32u ? 0 : unit, end == 32u ? 32u : 1u);
		else
			touch_units(block, end == 32u && unit % 2u == 0 ? 0 : unit, end);
	}
	engine_stop(&e);
}

static void any_order(void **state)
{
	static const uint32_t units[] = {33, 36, 64, 95, 129};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		any_units(GROUPS, units[i], i);
		any_units(GROUPS_WHOLE, units[i], i + 100u);
	}
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
		cmocka_unit_test_teardown(whole_root, stop),
		cmocka_unit_test_teardown(whole_root_prefetched, stop),
		cmocka_unit_test_teardown(roots_reused, stop),
		cmocka_unit_test_teardown(within_memory, stop),
		cmocka_unit_test_teardown(beyond_memory, stop),
		cmocka_unit_test_teardown(no_more_than_units, stop),
		cmocka_unit_test_teardown(root_refused, stop),
		cmocka_unit_test_teardown(root_beyond_blocks, stop),
		cmocka_unit_test_teardown(root_beyond_numbers, stop),
		cmocka_unit_test_teardown(roots_checked, stop),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
