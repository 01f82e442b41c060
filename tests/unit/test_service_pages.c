/* The engine with pages of 4, 16 and 64 KiB and of 2 MiB, and with memories below 2 MiB: what a memory of a few pages brings and
 * evicts, chunks of 16 KiB, blocks of one page; then every order and every prefetcher with each size. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random_internal.h"
#include "support/engine_host.h"

#define MIB2  0x200000u
#define KIB16 0x4000u
#define KIB64 0x10000u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

/* One GPU; `bytes` of memory, a range of four blocks that the CPU holds, unless it is `is_own`, which the test adds. */
static void begin(const char *policy, uint32_t page_bytes, uint64_t memory_bytes, bool is_own)
{
	engine_init(&e, 1, 1);
	e.hidden[3] = "space=";
	e.hidden[4] = "batch=";
	e.is_replaying = true;
	e.params.page_bytes = page_bytes;
	e.gpu[0].memory_bytes = memory_bytes;
	e.gpu[0].splits = 0;
	assert_true(engine_policy(&e, policy));
	assert_true(engine_start(&e, 16, 4u << 20));
	engine_bind(&e, 1, SPACE);
	if (!is_own)
		engine_range(&e, SPACE, BASE, 4u * MIB2, UVMP_CPU);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&e));
	assert_int_equal(e.waitings, 0); /* every fault was satisfied */
	engine_stop(&e);
	return 0;
}

static void fault(uvmp_addr offset, enum uvmp_access access)
{
	engine_fault(&e, 1, SPACE, BASE + offset, access);
}

static void run(const char *text)
{
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e, text);
}

/* -- pages of 16 KiB -- */

/* As the driver on such a host: a page at the end of a small block has a chunk of its own, of 16 KiB. */
static void chunks_of_16k(void **state)
{
	struct uvmp_page_state page;

	(void)state;
	begin("prefetch=none thrash=off", KIB16, MIB2, true);
	engine_range(&e, SPACE, BASE + 3u * KIB16, 6u * KIB16, UVMP_CPU);
	fault(3u * KIB16, UVMP_ACCESS_READ);
	fault(5u * KIB16 + 0x3fff, UVMP_ACCESS_READ);
	fault(8u * KIB16, UVMP_ACCESS_READ);
	run("batch to=1 count=3 detail=3\n"
	    "allocate cause=demand block=0x4000c000 pages=0 to=1 detail=16384\n"
	    "allocate cause=demand block=0x4000c000 pages=1-4 to=1 detail=65536 offset=0x10000\n"
	    "allocate cause=demand block=0x4000c000 pages=5 to=1 detail=16384 offset=0x4000\n"
	    "unmap cause=demand block=0x4000c000 pages=0,2,5 to=0\n"
	    "copy cause=demand block=0x4000c000 pages=0,2,5 from=0 to=1 detail=3\n"
	    "map cause=demand block=0x4000c000 pages=0,2,5 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\ndone to=1\n");
	page = engine_page(&e, SPACE, BASE + 5u * KIB16);
	assert_int_equal(page.resident, 2);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE + 3u * KIB16, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "pages=5 from=1 detail=16384 offset=0x4000\n"));
}

/* -- pages of 2 MiB: a block is a page -- */

static void pages_of_2m(void **state)
{
	(void)state;
	begin("prefetch=density thrash=off", MIB2, MIB2, false);
	fault(0x1000, UVMP_ACCESS_READ);
	fault(0x1ff000, UVMP_ACCESS_WRITE);
	run("batch to=1 count=2 detail=1\n"
	    "allocate cause=demand block=0x40000000 pages=0 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40000000 pages=0 to=0\n"
	    "copy cause=demand block=0x40000000 pages=0 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40000000 pages=0 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\ndone to=1\n");
	fault(MIB2, UVMP_ACCESS_READ);
	run("batch to=1 count=1 detail=1\n"
	    "evict cause=eviction block=0x40000000 pages=0 from=1 victim=used for=0x40200000 detail=2097152\n"
	    "unmap cause=eviction block=0x40000000 pages=0 to=1 for=0x40200000\n"
	    "copy cause=eviction block=0x40000000 pages=0 from=1 to=0 for=0x40200000\n"
	    "allocate cause=demand block=0x40200000 pages=0 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40200000 pages=0 to=0\n"
	    "copy cause=demand block=0x40200000 pages=0 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40200000 pages=0 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\ndone to=1\n");
}

/* A range is whole pages. */
static void ranges_of_2m(void **state)
{
	(void)state;
	begin("", MIB2, MIB2, false);
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, BASE + 8u * MIB2, MIB2 / 2u,
						UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
			 UVMP_ERR_RANGE);
}

/* Two processors write one page in turn: the detector pins the page, which is the block. */
static void thrashing_2m(void **state)
{
	(void)state;
	begin("thrash=on", MIB2, MIB2, false);
	e.step_ns = 1000;
	for (uint32_t i = 0; i < 12; i++) {
		fault(64u * i, UVMP_ACCESS_WRITE);
		assert_int_equal(engine_run(&e), UVMP_OK);
		(void)uvmp_service_cpu_fault(e.service, SPACE, BASE + i, UVMP_ACCESS_WRITE, 1, NULL);
		(void)engine_run(&e);
	}
	assert_true(engine_has(&e, "cause=thrashing") || engine_has(&e, "cause=pin"));
}

/* A notification of any 64 KiB brings the page; counted accesses have one leaf. */
static void counters_2m(void **state)
{
	static const struct uvmp_note note = {.address = BASE + 0x123456,
					      .instance = SPACE << 12,
					      .aperture = UVMP_APERTURE_VID,
					      .sub_granularity = 0x10};

	(void)state;
	begin("counters=on thrash=off", MIB2, 2u * MIB2, false);
	assert_int_equal(uvmp_service_advise(e.service, SPACE, BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(uvmp_service_note(e.service, 1, &note), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 2);
	stop(state);
	begin("remote=always remote_threshold=3 evict=lfu2m thrash=off", MIB2, 2u * MIB2, false);
	fault(0x100000, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(uvmp_service_access(e.service, 1, SPACE, BASE + i * KIB64, UVMP_ACCESS_READ), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 2);
}

/* -- memories below 2 MiB -- */

/* Four pages of memory, six faults: four arrive, and the others fault again, and evict. */
static void faults_beyond(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off evict=lru4k", 4096, 4u * 4096u, false);
	for (uint32_t i = 0; i < 6; i++)
		fault(i * 4096u, UVMP_ACCESS_READ);
	run("batch to=1 count=6 detail=6\n"
	    "allocate cause=demand block=0x40000000 pages=0-3 to=1 detail=16384\n"
	    "unmap cause=demand block=0x40000000 pages=0-3 to=0\n"
	    "copy cause=demand block=0x40000000 pages=0-3 from=0 to=1 detail=4\n"
	    "map cause=demand block=0x40000000 pages=0-3 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\n"
	    "batch to=1 count=2 detail=2\n"
	    "evict cause=eviction block=0x40000000 pages=0 from=1 victim=order for=0x40000000 detail=4096\n"
	    "unmap cause=eviction block=0x40000000 pages=0 to=1 for=0x40000000\n"
	    "copy cause=eviction block=0x40000000 pages=0 from=1 to=0 for=0x40000000\n"
	    "evict cause=eviction block=0x40000000 pages=1 from=1 victim=order for=0x40000000 detail=4096\n"
	    "unmap cause=eviction block=0x40000000 pages=1 to=1 for=0x40000000\n"
	    "copy cause=eviction block=0x40000000 pages=1 from=1 to=0 for=0x40000000\n"
	    "allocate cause=demand block=0x40000000 pages=4-5 to=1 detail=8192\n"
	    "unmap cause=demand block=0x40000000 pages=4-5 to=0\n"
	    "copy cause=demand block=0x40000000 pages=4-5 from=0 to=1 detail=2\n"
	    "map cause=demand block=0x40000000 pages=4-5 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\ndone to=1\n");
}

/* The faulted page comes, and as much of what the prefetcher wants as fits, by address. */
static void prefetch_beyond(void **state)
{
	(void)state;
	begin("prefetch=block thrash=off evict=lru4k", 4096, 4u * 4096u, false);
	fault(100u * 4096u, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "copy cause=demand block=0x40000000 pages=100 from=0 to=1"));
	assert_true(engine_has(&e, "copy cause=prefetch block=0x40000000 pages=0-2 from=0 to=1"));
	assert_int_equal(e.transfers[UVMP_ACTION_COPY], 2);
	stop(state);
	/* units of 64 KiB: that of the fault is whole, and the first one */
	begin("prefetch=block thrash=off evict=sl64k", KIB16, 2u * KIB64 + KIB16, false);
	fault(70u * KIB16, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "copy cause=demand block=0x40000000 pages=70 from=0 to=1"));
	assert_true(engine_has(&e, "copy cause=prefetch block=0x40000000 pages=0-3,68-69,71 from=0 to=1"));
	stop(state);
	/* all 20 units of faults, of which one fits */
	begin("prefetch=none thrash=off evict=mhpe", KIB64, KIB64, false);
	for (uint32_t i = 0; i < 20; i++)
		fault(i * KIB64, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_BATCH], 20);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 19);
}

/* A migration moves what fits; the rest stays. */
static void migrates(void **state)
{
	(void)state;
	begin("thrash=off evict=lru2m granularity=64k", 4096, 3u * KIB64, false);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE, MIB2, 1, NULL), UVMP_OK);
	run("allocate cause=migrate block=0x40000000 pages=0-47 to=1 detail=196608\n"
	    "unmap cause=migrate block=0x40000000 pages=0-47 to=0\n"
	    "copy cause=migrate block=0x40000000 pages=0-47 from=0 to=1 detail=48\n"
	    "map cause=migrate block=0x40000000 pages=0-47 from=1 to=1 right=rwa\n"
	    "done cause=migrate ticket=1\n");
	assert_int_equal(engine_page(&e, SPACE, BASE + 48u * 4096u).resident, 1);
}

/* evict=auto: a block that memory cannot hold makes room for itself. */
static void makes_room_for_itself(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off evict=auto", 4096, 2u * KIB64, false);
	for (uint32_t i = 0; i < 4; i++) {
		fault(i * KIB64, UVMP_ACCESS_READ);
		assert_int_equal(engine_run(&e), UVMP_OK);
	}
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0); /* a page of each of four units: fewer than 32 pages */
	for (uint32_t i = 1; i < 32; i++)
		fault(i * 4096u, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(e.count[UVMP_ACTION_EVICT] >= 2);
}

/* -- every order, every prefetcher -- */

static uint64_t random_state;

static uint32_t draw(uint32_t bound)
{
	return (uint32_t)random_below(&random_state, bound);
}

/* Batches of faults of both processors over four blocks; each fault is satisfied, and no unit lies beyond the memory. */
static void live(const char *policy, uint32_t page_bytes, uint64_t memory_bytes)
{

	begin(policy, page_bytes, memory_bytes, false);
	e.is_checking = true;
	e.step_ns = 5000;
	for (uint32_t round = 0; round < 6; round++) {
		for (uint32_t i = 0, faults = 1 + draw(30); i < faults; i++)
			fault(draw(4) * MIB2 + (uvmp_addr)draw(MIB2 / page_bytes) * page_bytes,
			      draw(3) == 0 ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		assert_int_equal(engine_run(&e), UVMP_OK);
		(void)uvmp_service_cpu_fault(e.service, SPACE, BASE + draw(4u * MIB2), UVMP_ACCESS_WRITE, 1, NULL);
		(void)engine_run(&e);
		(void)uvmp_service_touch(e.service, 1, SPACE, BASE + draw(4u * MIB2));
	}
	stop(NULL);
}

static uint64_t unit_bytes(const char *policy)
{
	struct uvmp_policy parsed;

	assert_int_equal(uvmp_policy_parse(policy, strlen(policy), &parsed, NULL), UVMP_OK);
	return (uint64_t)uvmp_policy_unit_pages(&parsed) * UVMP_POLICY_PAGE_BYTES;
}

static void orders(void **state)
{
	static const uint32_t sizes[] = {4096, KIB16, KIB64, MIB2};
	static const char *const orders[] = {"lru",   "lru2m",  "lru4k", "random4k", "sl64k",
					     "tbne",  "lfu2m",  "clock2m", "mhpe",   "auto",
					     "lru2m granularity=64k", "lfu2m granularity=256k", "clock2m granularity=1m"};
	char policy[96];

	(void)state;
	random_state = 20;
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
			struct uvmp_needs needs = {.size = sizeof(needs)};
			struct uvmp_policy parsed;
			uint64_t least;

			snprintf(policy, sizeof(policy), "evict=%s prefetch=%s", orders[k], k % 2u == 0 ? "density" : "tbn");
			assert_int_equal(uvmp_policy_parse(policy, strlen(policy), &parsed, NULL), UVMP_OK);
			assert_int_equal(uvmp_policy_needs(&parsed, &needs), UVMP_OK);
			if ((needs.page_bytes & sizes[i]) == 0)
				continue;
			least = unit_bytes(policy);
			live(policy, sizes[i], least);
			if (k == 0)
				continue;
			live(policy, sizes[i], least > MIB2 / 2u ? least : MIB2 / 2u);
			live(policy, sizes[i], least + (least > sizes[i] ? sizes[i] : 0));
		}
	}
	live("evict=lru prefetch=density", MIB2, 2u * MIB2);
	begin("", 4096, MIB2, false);
}

static void prefetchers(void **state)
{
	static const uint32_t sizes[] = {KIB16, KIB64, MIB2};
	char policy[96];

	(void)state;
	random_state = 21;
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < UVMP_PREFETCH_COUNT; k++) {
			const char *name = uvmp_prefetch_name((enum uvmp_prefetcher)k);

			snprintf(policy, sizeof(policy), "evict=lru prefetch=%s", name);
			live(policy, sizes[i], 2u * MIB2);
			snprintf(policy, sizeof(policy), "evict=lru2m prefetch=%s%s", name,
				 sizes[i] < MIB2 ? " granularity=64k" : "");
			live(policy, sizes[i], sizes[i] < MIB2 ? 5u * KIB64 : MIB2);
			snprintf(policy, sizeof(policy), "evict=lru4k prefetch=%s plan=unobtrusive", name);
			live(policy, 4096, (1u + 5u * i) * 4096u);
		}
	}
	begin("", 4096, MIB2, false);
}

/* Controllers and pins, in a memory that holds no block. */
static void controllers(void **state)
{
	static const char *const rest[] = {"adapt=pressure", "adapt=early", "cyclic=on", "free_buffer=10 reserve=20",
					   "remote=adaptive", "remote=oversub", "adapt=early quirks=0", "counters=on"};
	char policy[96];

	(void)state;
	random_state = 22;
	for (uint32_t k = 0; k < sizeof(rest) / sizeof(rest[0]); k++) {
		snprintf(policy, sizeof(policy), "evict=lru2m granularity=64k %s", rest[k]);
		live(policy, 4096, KIB64);
		live(policy, KIB16, 7u * KIB64 + KIB16);
		snprintf(policy, sizeof(policy), "evict=lfu2m %s", rest[k]);
		live(policy, MIB2, MIB2);
	}
	begin("", 4096, MIB2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(chunks_of_16k, stop),
		cmocka_unit_test_teardown(pages_of_2m, stop),
		cmocka_unit_test_teardown(ranges_of_2m, stop),
		cmocka_unit_test_teardown(thrashing_2m, stop),
		cmocka_unit_test_teardown(counters_2m, stop),
		cmocka_unit_test_teardown(faults_beyond, stop),
		cmocka_unit_test_teardown(prefetch_beyond, stop),
		cmocka_unit_test_teardown(migrates, stop),
		cmocka_unit_test_teardown(makes_room_for_itself, stop),
		cmocka_unit_test_teardown(orders, stop),
		cmocka_unit_test_teardown(prefetchers, stop),
		cmocka_unit_test_teardown(controllers, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
