/* Freeing a part of managed ranges (uvmp_service_free_part): which pages are freed, which stay, and by which
 * base it is freed afterwards; with all orders of eviction. uvmp_service_check holds after every action. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "decisions/pmm_internal.h"
#include "support/engine_internals.h"
#include "support/arena.h"
#include "support/engine_host.h"
#include "support/seed.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

static void start(const char *policy, uint32_t gpus, uint32_t roots)
{
	engine_open(&e, policy, gpus, roots, SPACE);
}

/* Nothing of [base, base + bytes) is mapped on a GPU. Pages that were on the CPU from the start and never
 * accessed are freed without an action. */
static void expect_gone(uvmp_addr base, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += PAGE) {
		for (uint32_t gpu = 1; gpu < e.processors.count; gpu++)
			assert_int_equal(*engine_right(&e, gpu, SPACE, base + at), UVMP_RIGHT_NONE);
		*engine_right(&e, UVMP_CPU, SPACE, base + at) = UVMP_RIGHT_NONE;
	}
}

/* All is freed, and nothing is left. */
static void stop(void)
{
	assert_int_equal(e.service->ranges, 0);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		assert_int_equal(e.service->live[slab], 0);
	for (uint32_t gpu = 1; gpu < e.processors.count; gpu++) {
		const struct gpu *g = &e.service->gpu[gpu];

		assert_int_equal(g->pmm != NULL ? g->pmm->allocated_pages : g->used_pages, 0);
	}
	for (uint32_t i = 0; i < e.ranges; i++)
		expect_gone(e.range[i].base, e.range[i].bytes);
	engine_stop(&e);
}

static enum uvmp_status free_part(uvmp_addr base, uint64_t bytes)
{
	engine_forget(&e);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, base, bytes, NULL), UVMP_OK);
	if (engine_run(&e) == UVMP_OK)
		expect_gone(base, bytes);
	return e.status;
}

static enum uvmp_status free_range(uvmp_addr base)
{
	engine_forget(&e);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, base, NULL), UVMP_OK);
	return engine_run(&e);
}

static void migrate(uvmp_addr base, uint64_t bytes, uint32_t processor)
{
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, base, bytes, processor, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

static void advise(uvmp_addr base, uint64_t bytes, enum uvmp_advice advice, uint32_t processor)
{
	assert_int_equal(uvmp_service_advise(e.service, SPACE, base, bytes, advice, processor, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

static void fault(uint32_t gpu, uvmp_addr address, enum uvmp_access access)
{
	engine_fault(&e, gpu, SPACE, address, access);
	(void)engine_run(&e);
}

static bool is_managed(uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	return uvmp_service_page(e.service, SPACE, address, &state) == UVMP_OK;
}

static uint64_t holders(uvmp_addr address)
{
	return engine_page(&e, SPACE, address).resident;
}

/* -- errors -- */

static void test_arguments(void **state)
{
	uint64_t ticket = 0;

	(void)state;
	start("", 1, 1);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(uvmp_service_free_part(NULL, SPACE, BASE, PAGE, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE + 1, PAGE, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, PAGE - 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, 0, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, (uvmp_addr)0 - PAGE, 2 * PAGE, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, PAGE, &ticket), UVMP_OK);
	assert_int_equal(ticket, 1);
	for (uint32_t i = 1; i < 8; i++)
		assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, PAGE, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, PAGE, NULL), UVMP_ERR_SPACE);
	/* the first one frees the page, the others do not find it */
	assert_int_equal(engine_run(&e), UVMP_ERR_UNKNOWN);
	assert_int_equal(e.count[UVMP_ACTION_DONE], 8);
	assert_true(engine_has(&e, "done cause=free ticket=1\n"));
	assert_int_equal(free_range(BASE), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_range(BASE + PAGE), UVMP_OK);
	stop();
}

static void test_not_managed(void **state)
{
	(void)state;
	start("", 1, 2);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	engine_range(&e, SPACE, BASE + MIB2 + PAGE, MIB2, UVMP_CPU);
	assert_int_equal(free_part(BASE - PAGE, 2 * PAGE), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_part(BASE + PAGE, 2 * MIB2), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_part(BASE + 2 * MIB2, MIB2), UVMP_ERR_UNKNOWN);
	engine_expect(&e, "done cause=free ticket=3 status=-8\n");
	assert_int_equal(e.service->ranges, 2);
	assert_true(is_managed(BASE) && is_managed(BASE + PAGE));
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(free_range(BASE + MIB2 + PAGE), UVMP_OK);
	assert_int_equal(free_part(BASE, PAGE), UVMP_ERR_UNKNOWN); /* nor is there the space */
	stop();
}

/* Room for one more range: enough for one cut, not for two, and then nothing happens. */
static void test_no_range_left(void **state)
{
	(void)state;
	engine_init(&e, 1, 2);
	e.params.ranges = 3;
	engine_go(&e, SPACE);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	engine_range(&e, SPACE, BASE + MIB2, MIB2, UVMP_CPU);
	migrate(BASE, 2 * MIB2, 1);
	assert_int_equal(free_part(BASE + PAGE, PAGE), UVMP_ERR_SPACE);
	assert_int_equal(e.count[UVMP_ACTION_DONE], 1);
	assert_int_equal(e.count[UVMP_ACTION_UNMAP], 0);
	assert_int_equal(e.service->ranges, 2);
	assert_int_equal(holders(BASE + PAGE), 2);
	assert_int_equal(free_part(BASE + MIB2 / 2, MIB2 / 2), UVMP_OK);
	assert_int_equal(e.service->ranges, 2);
	assert_int_equal(free_part(BASE + MIB2, PAGE), UVMP_OK);
	assert_int_equal(e.service->ranges, 2);
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(free_range(BASE + MIB2 + PAGE), UVMP_OK);
	stop();
}

/* -- freed and remaining pages -- */

/* From a block on the GPU: freed pages are not copied, the others migrate to the CPU. */
static void test_hole(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 2);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	migrate(BASE, 16 * PAGE, 1);
	migrate(BASE + MIB2, PAGE, 1);
	assert_int_equal(free_part(BASE + 4 * PAGE, 8 * PAGE), UVMP_OK);
	engine_expect(&e, "unmap cause=free space=1 block=0x40000000 pages=4-11 to=1\n"
	                  "unmap cause=hint space=1 block=0x40000000 pages=0-3,12-15 to=1\n"
	                  "copy cause=hint space=1 block=0x40000000 pages=0-3,12-15 from=1 to=0 detail=8\n"
	                  "free cause=free space=1 block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	                  "done cause=free ticket=3\n");
	for (uint32_t page = 0; page < 24; page++) {
		assert_int_equal(is_managed(BASE + page * PAGE), page < 4 || page >= 12);
		if (page < 4 || page >= 12)
			assert_int_equal(holders(BASE + page * PAGE), 1);
	}
	assert_int_equal(holders(BASE + MIB2), 2); /* another block */
	/* later faults there are fatal, beside it they are not */
	e.is_replaying = true;
	fault(1, BASE + 4 * PAGE, UVMP_ACCESS_READ);
	assert_true(engine_has(&e, "cancel cause=fatal"));
	engine_forget(&e);
	fault(1, BASE + 12 * PAGE, UVMP_ACCESS_WRITE);
	fault(1, BASE + 3 * PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 0);
	assert_int_equal(holders(BASE + 12 * PAGE), 2);
	/* three blocks share the window; that of the hole is freed by itself */
	engine_range(&e, SPACE, BASE + 5 * PAGE, 6 * PAGE, UVMP_PROC_NONE);
	fault(1, BASE + 5 * PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(holders(BASE + 5 * PAGE), 2);
	assert_int_equal(holders(BASE + 12 * PAGE), 2);
	assert_int_equal(free_range(BASE + 12 * PAGE), UVMP_ERR_UNKNOWN); /* a piece is not what was added */
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(e.service->ranges, 1);
	assert_int_equal(holders(BASE + 5 * PAGE), 2);
	assert_int_equal(free_range(BASE + 5 * PAGE), UVMP_OK);
	stop();
}

/* Blocks that go as a whole take nothing with them. */
static void test_whole_blocks(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, 3 * MIB2, UVMP_PROC_NONE);
	migrate(BASE, 3 * MIB2, 1);
	assert_int_equal(free_part(BASE + MIB2, MIB2), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_COPY], 0);
	assert_int_equal(e.count[UVMP_ACTION_FREE], 1);
	assert_int_equal(holders(BASE), 2);
	assert_int_equal(holders(BASE + 2 * MIB2), 2);
	assert_false(is_managed(BASE + MIB2));
	assert_int_equal(free_range(BASE), UVMP_OK);
	stop();
}

/* The block across an end holds only freed pages on the GPU: no page is copied. A block on the CPU alone is
 * cut as it is. */
static void test_nothing_to_move(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	migrate(BASE + 8 * PAGE, 8 * PAGE, 1);
	assert_int_equal(free_part(BASE + 8 * PAGE, 8 * PAGE), UVMP_OK);
	engine_expect(&e, "unmap cause=free space=1 block=0x40000000 pages=8-15 to=1\n"
	                  "free cause=free space=1 block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	                  "done cause=free ticket=2\n");
	assert_int_equal(free_part(BASE + 4 * PAGE, 2 * PAGE), UVMP_OK);
	engine_expect(&e, "unmap cause=free space=1 block=0x40004000 pages=0-1 to=0\n"
	                  "done cause=free ticket=3\n");
	assert_int_equal(free_part(BASE + MIB2 + PAGE, PAGE), UVMP_OK); /* no block yet */
	engine_expect(&e, "done cause=free ticket=4\n");
	assert_int_equal(holders(BASE + MIB2 + 2 * PAGE), 1);
	assert_int_equal(free_range(BASE), UVMP_OK);
	stop();
}

/* Over three ranges, the outer ones cut; with advice, duplicates, and pages without contents. */
static void test_several_ranges(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 2, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	engine_range(&e, SPACE, BASE + MIB2, 8 * PAGE, UVMP_CPU);
	engine_range(&e, SPACE, BASE + MIB2 + 8 * PAGE, MIB2, UVMP_CPU);
	advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0);
	advise(BASE + MIB2 + 8 * PAGE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1);
	migrate(BASE, MIB2, 1);
	migrate(BASE + MIB2 / 2, MIB2 / 2, 2);
	migrate(BASE + MIB2, MIB2 + 8 * PAGE, 2);
	advise(BASE + MIB2 / 2, MIB2 + 16 * PAGE, UVMP_ADVISE_DISCARD, 0);
	assert_true(engine_page(&e, SPACE, BASE + MIB2 / 2).is_duplicated);
	assert_int_equal(free_part(BASE + MIB2 / 2 + PAGE, MIB2), UVMP_OK);
	assert_int_equal(e.service->ranges, 2);
	assert_true(is_managed(BASE + MIB2 / 2));
	assert_false(is_managed(BASE + MIB2 / 2 + PAGE));
	assert_false(is_managed(BASE + MIB2));
	assert_false(is_managed(BASE + MIB2 / 2 + MIB2));
	assert_true(engine_page(&e, SPACE, BASE + MIB2 / 2 + MIB2 + PAGE).is_discarded);
	assert_true(engine_page(&e, SPACE, BASE + MIB2 / 2).is_discarded);
	assert_int_equal(holders(BASE), 1);
	/* who accesses the range reaches what has moved */
	assert_int_equal(engine_page(&e, SPACE, BASE + MIB2 + MIB2 - PAGE).read & 2u, 2);
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(free_range(BASE + MIB2 + 8 * PAGE), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_range(BASE + MIB2 / 2 + MIB2 + PAGE), UVMP_OK);
	stop();
}

static void test_last_pages(void **state)
{
	uvmp_addr base = (uvmp_addr)0 - 2 * MIB2;

	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, base, 2 * MIB2, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_PROC_NONE),
	                 UVMP_OK);
	migrate(base, 2 * MIB2, 1);
	assert_int_equal(free_part(base + MIB2 + PAGE, MIB2 - PAGE), UVMP_OK);
	assert_true(is_managed(base + MIB2));
	assert_false(is_managed(base + MIB2 + PAGE));
	assert_int_equal(free_range(base), UVMP_OK);
	stop();
}

/* -- by which base -- */

static void test_base_moves(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	engine_range(&e, 2, BASE, MIB2, UVMP_CPU); /* has nothing to do with it */
	migrate(BASE, 2 * MIB2, 1);
	/* a hole in the middle, then a piece of advice above it: three pieces */
	assert_int_equal(free_part(BASE + 16 * PAGE, 16 * PAGE), UVMP_OK);
	advise(BASE + MIB2, MIB2, UVMP_ADVISE_PREFERRED, 1);
	assert_int_equal(e.service->ranges, 4);
	assert_int_equal(free_part(BASE, 16 * PAGE), UVMP_OK);
	assert_int_equal(free_range(BASE), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_range(BASE + MIB2), UVMP_ERR_UNKNOWN);
	/* another one begins where the first one began */
	engine_range(&e, SPACE, BASE, 8 * PAGE, UVMP_CPU);
	assert_int_equal(free_part(BASE + 32 * PAGE, PAGE), UVMP_OK);
	assert_int_equal(free_range(BASE + 32 * PAGE), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(e.service->ranges, 3);
	/* the rest, from its lowest piece on, with a stranger between the pieces */
	assert_int_equal(free_part(BASE + 64 * PAGE, 4 * PAGE), UVMP_OK);
	engine_range(&e, SPACE, BASE + 64 * PAGE, PAGE, UVMP_CPU);
	assert_int_equal(free_range(BASE + 33 * PAGE), UVMP_OK);
	assert_int_equal(e.service->ranges, 2);
	assert_false(is_managed(BASE + MIB2));
	assert_int_equal(free_range(BASE + 64 * PAGE), UVMP_OK);
	assert_int_equal(uvmp_service_free_part(e.service, 2, BASE, MIB2, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	stop();
}

/* A part that takes several pieces, the lowest among them. */
static void test_pieces_go(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, 4 * MIB2, UVMP_CPU);
	advise(BASE + MIB2, MIB2, UVMP_ADVISE_PREFERRED, 1);
	assert_int_equal(e.service->ranges, 3);
	assert_int_equal(free_part(BASE, 2 * MIB2 + PAGE), UVMP_OK);
	assert_int_equal(e.service->ranges, 1);
	assert_int_equal(free_range(BASE + 2 * MIB2), UVMP_ERR_UNKNOWN);
	assert_int_equal(free_range(BASE + 2 * MIB2 + PAGE), UVMP_OK);
	stop();
}

/* Those without a block go together, up to the next one that has one. */
static void test_many_pieces(void **state)
{
	enum { PIECES = 12 };
	const uint64_t piece = MIB2 / 4;

	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, PIECES * piece, UVMP_CPU);
	engine_range(&e, SPACE, BASE + PIECES * piece, MIB2, UVMP_CPU);
	for (uint64_t i = 0; i < PIECES; i += 2)
		advise(BASE + i * piece, piece, UVMP_ADVISE_PREFERRED, 1);
	assert_int_equal(e.service->ranges, PIECES + 1);
	fault(1, BASE + 5 * piece, UVMP_ACCESS_WRITE);
	fault(1, BASE + 9 * piece, UVMP_ACCESS_WRITE);
	assert_int_equal(free_part(BASE, 8 * piece + PAGE), UVMP_OK);
	assert_int_equal(e.service->ranges, PIECES + 1 - 8);
	assert_int_equal(free_range(BASE), UVMP_ERR_UNKNOWN);
	assert_int_equal(holders(BASE + 9 * piece), 2);
	assert_int_equal(free_range(BASE + 8 * piece + PAGE), UVMP_OK);
	assert_int_equal(e.service->ranges, 1);
	assert_int_equal(free_range(BASE + PIECES * piece), UVMP_OK);
	stop();
}

/* -- failures -- */

/* What has not arrived stays, and with it all of the range; then it is asked for again. */
static void test_copy_fails(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	migrate(BASE, 16 * PAGE, 1);
	advise(BASE + 2 * PAGE, 4 * PAGE, UVMP_ADVISE_DISCARD, 0);
	engine_fail(&e, UVMP_ACTION_COPY, 1, 1, UVMP_ERR_STATE);
	assert_int_equal(free_part(BASE + 4 * PAGE, 8 * PAGE), UVMP_ERR_STATE);
	assert_int_equal(e.service->ranges, 1);
	assert_int_equal(holders(BASE), 1);
	assert_int_equal(holders(BASE + 4 * PAGE), 0);
	assert_false(
	        engine_page(&e, SPACE, BASE + 4 * PAGE).is_discarded); /* its history is deleted */
	assert_int_equal(holders(BASE + 12 * PAGE), 2);
	assert_int_equal(free_part(BASE + 4 * PAGE, 8 * PAGE), UVMP_OK);
	assert_int_equal(holders(BASE + 12 * PAGE), 1);
	assert_int_equal(free_range(BASE), UVMP_OK);
	stop();
}

/* An unmapping that fails before the cut ends it; behind it the part goes nevertheless. */
static void test_unmap_fails(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	migrate(BASE, 2 * MIB2, 1);
	engine_fail(&e, UVMP_ACTION_UNMAP, 0, 1, UVMP_ERR_STATE);
	assert_int_equal(free_part(BASE + 4 * PAGE, MIB2 - 4 * PAGE), UVMP_ERR_STATE);
	assert_true(is_managed(BASE + 4 * PAGE));
	engine_fail(&e, UVMP_ACTION_UNMAP, 0, 1, UVMP_ERR_STATE);
	assert_int_equal(free_part(BASE + MIB2, MIB2), UVMP_ERR_STATE);
	assert_false(is_managed(BASE + MIB2));
	assert_int_equal(free_range(BASE), UVMP_OK);
	stop();
}

/* Cutting takes memory; the host gives more and asks again. */
static void test_arena_is_full(void **state)
{
	static _Alignas(16) uint8_t more[1 << 16];

	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_start(&e, 0, 1024));
	arena_without_reserve(e.service);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	for (uint32_t i = 1; i < 14; i++)
		engine_range(&e, SPACE, BASE + i * MIB2, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_READ, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	for (uint32_t i = 1; e.status == UVMP_OK; i++) {
		assert_true(i < 14);
		assert_int_equal(
		        uvmp_service_cpu_fault(e.service, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ, 1, NULL),
		        UVMP_OK);
		(void)engine_run(&e);
	}
	assert_int_equal(free_part(BASE + PAGE, PAGE), UVMP_ERR_NO_MEMORY);
	assert_int_equal(holders(BASE + PAGE), 1);
	assert_int_equal(uvmp_service_grow(e.service, more, sizeof(more)), UVMP_OK);
	assert_int_equal(free_part(BASE + PAGE, PAGE), UVMP_OK);
	assert_false(is_managed(BASE + PAGE));
	for (uint32_t i = 0; i < 14; i++)
		assert_int_equal(free_range(BASE + i * MIB2), UVMP_OK);
	stop();
}

/* -- in the middle of others -- */

/* While faults are in the batch, between two of its blocks: those on freed pages become fatal, the others of
 * the same block are serviced. */
static void test_between_blocks(void **state)
{
	(void)state;
	start("prefetch=none thrash=off", 1, 4);
	e.is_replaying = true;
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, BASE + MIB2, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, BASE + MIB2 + PAGE, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, BASE + MIB2 + 9 * PAGE, UVMP_ACCESS_WRITE);
	assert_true(engine_step(&e)); /* the batch */
	assert_true(engine_step(&e)); /* of the first block */
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE + MIB2 + PAGE, 8 * PAGE, NULL),
	                 UVMP_OK);
	(void)engine_run(&e);
	assert_true(engine_has(&e, "done cause=free ticket=1\n"));
	assert_int_equal(holders(BASE), 2);
	assert_int_equal(holders(BASE + MIB2), 2);
	assert_int_equal(holders(BASE + MIB2 + 9 * PAGE), 2);
	assert_false(is_managed(BASE + MIB2 + PAGE));
	assert_int_equal(e.waitings, 0);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 1);
	assert_int_equal(free_range(BASE), UVMP_OK);
	stop();
}

/* A range that is added meanwhile may take the room for the cut. */
static void take_room(struct engine *at, const struct uvmp_action *action)
{
	if (action->kind == UVMP_ACTION_COPY && at->service->ranges == 1)
		engine_range(at, SPACE, BASE + 8 * MIB2, PAGE, UVMP_CPU);
}

static void test_room_is_taken(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	e.params.ranges = 2;
	assert_true(engine_start(&e, 16, 1 << 20));
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	migrate(BASE, MIB2, 1);
	e.hook = take_room;
	assert_int_equal(free_part(BASE, PAGE), UVMP_ERR_SPACE);
	assert_true(is_managed(BASE));
	assert_int_equal(free_range(BASE), UVMP_OK);
	assert_int_equal(free_range(BASE + 8 * MIB2), UVMP_OK);
	stop();
}

/* -- what else is known of a block -- */

/* Pages that bounce are pinned; with the block that is cut the detector forgets them. */
static void test_thrashing(void **state)
{
	(void)state;
	start("prefetch=none", 2, 4);
	engine_bind(&e, 2, SPACE + 1u);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	for (uint32_t i = 0; i < 200 && e.service->live[SLAB_THRASH] == 0; i++) {
		fault(1, BASE, UVMP_ACCESS_WRITE);
		assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_WRITE, i, NULL),
		                 UVMP_OK);
		(void)engine_run(&e);
		e.now_ns += 1000;
	}
	assert_int_equal(e.service->live[SLAB_THRASH], 1);
	assert_int_equal(free_part(BASE, PAGE), UVMP_OK);
	assert_int_equal(e.service->live[SLAB_THRASH], 0);
	e.now_ns += 1000000000u;
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(free_range(BASE + PAGE), UVMP_OK);
	stop();
}

/* Hot pages that are freed are not migrated to the GPU. */
static void test_hot_pages(void **state)
{
	(void)state;
	start("evict=lru2m remote=always remote_threshold=2 prefetch=none thrash=off counters=off", 1, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	fault(1, BASE, UVMP_ACCESS_READ);
	migrate(BASE + 256 * PAGE, PAGE, 1); /* so that the block cannot be cut as it is */
	for (uint32_t i = 0; i < 2000 && !uvmp_service_has_notes(e.service); i++)
		assert_int_equal(uvmp_service_access(e.service, 1, SPACE, BASE, UVMP_ACCESS_READ), UVMP_OK);
	assert_true(uvmp_service_has_notes(e.service));
	assert_int_equal(free_part(BASE, PAGE), UVMP_OK);
	assert_false(uvmp_service_has_notes(e.service));
	assert_int_equal(e.count[UVMP_ACTION_BATCH], 0);
	assert_int_equal(free_range(BASE + PAGE), UVMP_OK);
	stop();
}

/* runtime=on: the rest is a separate allocation with a new pattern. */
static void test_runtime(void **state)
{
	uint64_t kernel;

	(void)state;
	start("prefetch=sl evict=tbne runtime=on batch=1 thrash=off counters=off", 1, 8);
	e.step_ns = 100;
	engine_range(&e, SPACE, BASE, 6 * MIB2, UVMP_PROC_NONE);
	advise(BASE + 4 * MIB2, MIB2, UVMP_ADVISE_PREFERRED, 1);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 1, e.now_ns, &kernel), UVMP_OK);
	fault(1, BASE + 3 * MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE + 2 * MIB2, UVMP_ACCESS_WRITE);
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40000000 batch=2 count=3\n"));
	assert_int_equal(free_part(BASE, MIB2), UVMP_OK);
	engine_forget(&e);
	fault(1, BASE + 4 * MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE + 5 * MIB2, UVMP_ACCESS_WRITE);
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40200000 batch=3 count=1\n"));
	assert_int_equal(e.count[UVMP_ACTION_PATTERN], 1);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE); /* also the lowest block is logged: it runs backwards */
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40200000 batch=5 count=3\n"));
	assert_int_equal(uvmp_service_end_kernel(e.service, kernel, e.now_ns), UVMP_OK);
	assert_int_equal(free_part(BASE + MIB2, MIB2), UVMP_OK);
	assert_int_equal(free_range(BASE + 2 * MIB2), UVMP_OK);
	stop();
}

/* -- all orders of eviction -- */

/* Faults on all blocks, more than fit, some of them of a new range in a hole. */
static void use(uint32_t page_bytes, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += 5u * 65536u + page_bytes)
		if (is_managed(BASE + at)) {
			fault(1, BASE + at, at / 65536u % 3u == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
			assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE + at), UVMP_OK);
		}
}

/* Parts of all shapes go while memory is full and evictions go on. */
static void live(const char *policy, uint32_t page_bytes)
{
	const uint64_t span = 6u * MIB2;
	uint64_t seed = 7;

	engine_init(&e, 1, 3);
	assert_true(engine_policy(&e, policy));
	e.params.page_bytes = page_bytes;
	e.params.ranges = 64;
	assert_true(engine_start(&e, 64, 1 << 20));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, span, UVMP_PROC_NONE);
	use(page_bytes, span);
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t pages = span / page_bytes;
		uint64_t first = uvmp_random_next(&seed) % pages, count = 1 + uvmp_random_next(&seed) % 96;
		uvmp_addr base = BASE + first * page_bytes;

		if (count > pages - first)
			count = pages - first;
		if (free_part(base, count * page_bytes) == UVMP_OK && i % 3u == 0)
			engine_range(&e, SPACE, base, count * page_bytes,
			             i % 2u == 0 ? UVMP_CPU : UVMP_PROC_NONE);
		for (uint64_t k = 0; i % 3u != 0 && e.status == UVMP_OK && k < count; k++)
			assert_false(is_managed(base + k * page_bytes));
		use(page_bytes, span);
		assert_true(engine_agrees(&e));
	}
	assert_true(e.service->gpu[1].counts.batches > 60);
	for (uint64_t at = 0; at < span; at += page_bytes) /* page by page, what there is */
		if (is_managed(BASE + at))
			assert_int_equal(free_part(BASE + at, page_bytes), UVMP_OK);
	stop();
}

static void test_orders(void **state)
{
	static const char *const prefetch[] = {"none", "density", "tbn"};
	uint32_t lives = 0, tries = UVMP_EVICT_COUNT * test_share_of(3);

	(void)state;
	for (uint32_t order = 0; order < UVMP_EVICT_COUNT; order++) {
		for (uint32_t i = 0; i < test_share_of(3); i++) {
			char text[128];
			struct uvmp_policy policy;

			snprintf(text, sizeof(text), "evict=%s prefetch=%s",
			         uvmp_evict_name((enum uvmp_evictor)order), prefetch[(order + i) % 3u]);
			uvmp_policy_init(&policy);
			if (uvmp_policy_parse(text, strlen(text), &policy, NULL) != UVMP_OK)
				continue;
			live(text, PAGE);
			lives++;
		}
	}
	assert_true(3u * lives >= 2u * tries);
}

static void test_large_pages(void **state)
{
	static const char *const order[] = {"lru", "lru2m", "lfu2m", "clock2m"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		char text[64];

		snprintf(text, sizeof(text), "evict=%s", order[i]);
		live(text, 65536);
	}
}

/* Keys that keep something of a block. */
static void test_controllers(void **state)
{
	(void)state;
	live("plan=overlapped", PAGE);
	live("evict=lru2m cyclic=on", PAGE);
	live("evict=lfu2m remote=always prefetch=tbn", PAGE);
	live("evict=tbne prefetch=tbn runtime=on", PAGE);
	live("evict=mhpe adapt=early", PAGE);
	live("prefetch=stride", PAGE);
	live("prefetch=pattern", PAGE);
	live("evict=lru4k free_buffer=5 plan=unobtrusive", PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_arguments),      cmocka_unit_test(test_not_managed),
	        cmocka_unit_test(test_no_range_left),  cmocka_unit_test(test_hole),
	        cmocka_unit_test(test_whole_blocks),   cmocka_unit_test(test_nothing_to_move),
	        cmocka_unit_test(test_several_ranges), cmocka_unit_test(test_last_pages),
	        cmocka_unit_test(test_base_moves),     cmocka_unit_test(test_pieces_go),
	        cmocka_unit_test(test_copy_fails),     cmocka_unit_test(test_unmap_fails),
	        cmocka_unit_test(test_arena_is_full),  cmocka_unit_test(test_between_blocks),
	        cmocka_unit_test(test_room_is_taken),  cmocka_unit_test(test_thrashing),
	        cmocka_unit_test(test_hot_pages),      cmocka_unit_test(test_runtime),
	        cmocka_unit_test(test_orders),         cmocka_unit_test(test_large_pages),
	        cmocka_unit_test(test_controllers),    cmocka_unit_test(test_many_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
