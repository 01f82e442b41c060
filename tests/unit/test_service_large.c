/* The engine on hosts with pages of 64 KiB, from the fault to the log: a VABlock has 32 pages, each its own
 * big page. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/engine_host.h"

#define MIB2  0x200000u
#define PAGE  0x10000u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

static void begin(const char *policy, uint32_t gpus, uint32_t roots, uint32_t home)
{
	engine_init(&e, gpus, roots);
	e.hidden[2] = "space=";
	e.hidden[3] = "batch=";
	e.is_checking = true;
	e.is_replaying = true;
	e.params.page_bytes = PAGE;
	assert_true(engine_policy(&e, policy));
	assert_true(engine_start(&e, 16, 1u << 18));
	engine_range(&e, SPACE, BASE, 4u * MIB2, home);
	for (uint32_t gpu = 1; gpu <= gpus; gpu++)
		engine_bind(&e, gpu, SPACE);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&e));
	assert_int_equal(e.waitings, 0); /* every fault was satisfied */
	engine_stop(&e);
	return 0;
}

static void report(uint32_t gpu, uint32_t block, uint32_t page, uint32_t byte, enum uvmp_access access)
{
	engine_fault(&e, gpu, SPACE, BASE + block * MIB2 + page * PAGE + byte, access);
}

static void run(const char *text)
{
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e, text);
}

/* -- distances -- */

/* How many pages of the first block GPU 1 has after a write to page `page` of it. */
static uint32_t pages_after(const char *policy, uint32_t page)
{
	uint32_t count = 0;

	begin(policy, 1, 4, UVMP_CPU);
	report(1, 0, page, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	for (uint32_t i = 0; i < MIB2 / PAGE; i++)
		count += engine_page(&e, SPACE, BASE + i * PAGE).resident == 2u;
	assert_int_equal(engine_page(&e, SPACE, BASE + page * PAGE).resident, 2);
	return count;
}

/* Distances are said in pages of 4 KiB, and rounded up to whole pages of 64. */
static void distances(void **state)
{
	static const struct {
		char policy[48];
		uint32_t page, count;
	} want[] = {
	        {"prefetch=locality locality_pages=1 thrash=off", 3, 1},
	        {"prefetch=locality locality_pages=16 thrash=off", 3, 1},
	        {"prefetch=locality locality_pages=17 thrash=off", 3, 2},
	        {"prefetch=locality locality_pages=32 thrash=off", 3, 2},
	        {"prefetch=sequential seq_pages=1 thrash=off", 20, 2},
	        {"prefetch=sequential seq_pages=16 thrash=off", 20, 2},
	        {"prefetch=sequential seq_pages=17 thrash=off", 20, 3},
	        {"prefetch=sequential seq_pages=32 thrash=off", 20, 3},
	};

	for (uint32_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(pages_after(want[i].policy, want[i].page), want[i].count);
		if (i + 1u < sizeof(want) / sizeof(want[0]))
			stop(state);
	}
}

/* -- faults -- */

/* Accesses to different 4 KiB of one page are one fault; the action names the page by its own size. */
static void faults(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off", 1, 4, UVMP_CPU);
	report(1, 0, 5, 0x1000, UVMP_ACCESS_READ);
	report(1, 0, 5, 0xf008, UVMP_ACCESS_WRITE);
	report(1, 0, 31, 0xffff, UVMP_ACCESS_READ);
	report(1, 1, 0, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=4 detail=3\n"
	    "allocate cause=demand block=0x40000000 pages=0-31 page_bytes=65536 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40000000 pages=5,31 page_bytes=65536 to=0\n"
	    "copy cause=demand block=0x40000000 pages=5,31 page_bytes=65536 from=0 to=1 detail=2\n"
	    "map cause=demand block=0x40000000 pages=5,31 page_bytes=65536 from=1 to=1 right=rwa\n"
	    "allocate cause=demand block=0x40200000 pages=0-31 page_bytes=65536 to=1 detail=2097152 "
	    "offset=0x200000\n"
	    "unmap cause=demand block=0x40200000 pages=0 page_bytes=65536 to=0\n"
	    "copy cause=demand block=0x40200000 pages=0 page_bytes=65536 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40200000 pages=0 page_bytes=65536 from=1 to=1 right=rwa\n"
	    "flush to=1\nreplay to=1\nwait to=1\ndone to=1\n");
	/* the CPU takes a page back, whichever 4 KiB of it are asked for */
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE + 5u * PAGE + 0x3000u,
	                                        UVMP_ACCESS_WRITE, 0, NULL),
	                 UVMP_OK);
	run("unmap cause=demand block=0x40000000 pages=5 page_bytes=65536 to=1\n"
	    "copy cause=demand block=0x40000000 pages=5 page_bytes=65536 from=1 to=0 detail=1\n"
	    "map cause=demand block=0x40000000 pages=5 page_bytes=65536 from=0 to=0 right=rwa\n"
	    "done cause=demand ticket=1\n");
	assert_int_equal(engine_page(&e, SPACE, BASE + 5u * PAGE + 0xf000u).resident, 1);
	assert_int_equal(engine_page(&e, SPACE, BASE + 31u * PAGE).resident, 2);
}

/* -- prefetching -- */

/* The tree has 32 leaves, a page each. 9 of 16 pages are more than 51 percent, 8 are not. */
static void prefetches(void **state)
{
	(void)state;
	begin("prefetch=density thrash=off", 1, 4, UVMP_CPU);
	e.hidden[4] = "page_bytes=";
	for (uint32_t page = 0; page < 16; page += 2)
		report(1, 0, page, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=8 detail=8\n"
	    "allocate cause=demand block=0x40000000 pages=0-31 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40000000 pages=0,2,4,6,8,10,12,14 to=0\n"
	    "copy cause=demand block=0x40000000 pages=0,2,4,6,8,10,12,14 from=0 to=1 detail=8\n"
	    "map cause=demand block=0x40000000 pages=0,2,4,6,8,10,12,14 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
	report(1, 0, 1, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=1 detail=1\n"
	    "unmap cause=demand block=0x40000000 pages=1,3,5,7,9,11,13,15 to=0\n"
	    "copy cause=demand block=0x40000000 pages=1 from=0 to=1 detail=1\n"
	    "copy cause=prefetch block=0x40000000 pages=3,5,7,9,11,13,15 from=0 to=1 faulted=1 present=8 "
	    "subtrees=0,16,32\n"
	    "map cause=demand block=0x40000000 pages=1,3,5,7,9,11,13,15 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
}

/* -- eviction -- */

/* Memory for one block: the whole of it leaves, the pages that are there. */
static void evicts(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off", 1, 1, UVMP_CPU);
	e.hidden[4] = "page_bytes=";
	report(1, 0, 3, 0, UVMP_ACCESS_WRITE);
	report(1, 0, 4, 0, UVMP_ACCESS_WRITE);
	run("batch to=1 count=2 detail=2\n"
	    "allocate cause=demand block=0x40000000 pages=0-31 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40000000 pages=3-4 to=0\n"
	    "copy cause=demand block=0x40000000 pages=3-4 from=0 to=1 detail=2\n"
	    "map cause=demand block=0x40000000 pages=3-4 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
	report(1, 1, 30, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=1 detail=1\n"
	    "evict cause=eviction block=0x40000000 pages=0-31 from=1 victim=used for=0x40200000 "
	    "detail=2097152\n"
	    "unmap cause=eviction block=0x40000000 pages=3-4 to=1 for=0x40200000\n"
	    "copy cause=eviction block=0x40000000 pages=3-4 from=1 to=0 for=0x40200000\n"
	    "allocate cause=demand block=0x40200000 pages=0-31 to=1 detail=2097152\n"
	    "unmap cause=demand block=0x40200000 pages=30 to=0\n"
	    "copy cause=demand block=0x40200000 pages=30 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40200000 pages=30 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
	assert_int_equal(engine_page(&e, SPACE, BASE + 4u * PAGE + 0x8000u).resident, 1);
}

/* Units of 64 KiB: one page at a time. */
static void evicts_pages(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off evict=lru2m granularity=64k", 1, 1, UVMP_CPU);
	e.hidden[4] = "page_bytes=";
	for (uint32_t page = 0; page < 32; page++)
		report(1, 0, page, 0, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0);
	engine_forget(&e);
	report(1, 1, 7, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=1 detail=1\n"
	    "evict cause=eviction block=0x40000000 pages=0 from=1 victim=order for=0x40200000 detail=65536\n"
	    "unmap cause=eviction block=0x40000000 pages=0 to=1 for=0x40200000\n"
	    "copy cause=eviction block=0x40000000 pages=0 from=1 to=0 for=0x40200000\n"
	    "allocate cause=demand block=0x40200000 pages=7 to=1 detail=65536\n"
	    "unmap cause=demand block=0x40200000 pages=7 to=0\n"
	    "copy cause=demand block=0x40200000 pages=7 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40200000 pages=7 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
	assert_int_equal(engine_page(&e, SPACE, BASE + PAGE).resident, 2);
}

/* -- residency -- */

/* Read duplication: each processor has its copy, until one writes. */
static void duplicates(void **state)
{
	(void)state;
	begin("prefetch=none thrash=off", 2, 4, UVMP_CPU);
	e.hidden[4] = "page_bytes=";
	assert_int_equal(uvmp_service_advise(e.service, SPACE, BASE, 2u * PAGE, UVMP_ADVISE_READ_DUPLICATE,
	                                     UVMP_PROC_NONE, NULL),
	                 UVMP_OK);
	report(1, 0, 1, 0, UVMP_ACCESS_READ);
	run("done cause=hint ticket=1\n"
	    "batch to=1 count=1 detail=1\n"
	    "allocate cause=demand block=0x40000000 pages=1 to=1 detail=65536\n"
	    "revoke cause=revoke block=0x40000000 pages=1 to=0 right=r\n"
	    "copy cause=demand block=0x40000000 pages=1 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40000000 pages=1 from=1 to=1 right=r\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
	report(2, 0, 1, 0x4000, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, BASE + PAGE + 0xf000u).resident, 7);
	engine_forget(&e);
	report(2, 0, 1, 0x8000, UVMP_ACCESS_WRITE);
	run("batch to=2 count=1 detail=1\n"
	    "unmap cause=demand block=0x40000000 pages=1 to=1\n"
	    "unmap cause=demand block=0x40000000 pages=1 to=0\n"
	    "map cause=demand block=0x40000000 pages=1 from=2 to=2 right=rwa\n"
	    "flush to=2\n"
	    "replay to=2\n"
	    "wait to=2\n"
	    "done to=2\n");
	assert_int_equal(engine_page(&e, SPACE, BASE + PAGE).resident, 4);
}

/* A range may begin and end at any page; what is no multiple of one is refused. */
static void bounds(void **state)
{
	(void)state;
	begin("prefetch=density thrash=off", 1, 4, UVMP_CPU);
	e.hidden[4] = "page_bytes=";
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, BASE + 4u * MIB2, 0x8000,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, BASE + 4u * MIB2 + 0x1000u, PAGE,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
	                 UVMP_ERR_RANGE);
	engine_range(&e, SPACE, BASE + 4u * MIB2 + 5u * PAGE, 30u * PAGE, UVMP_CPU);
	report(1, 4, 5, 0, UVMP_ACCESS_READ);
	report(1, 4, 31, 0, UVMP_ACCESS_READ);
	report(1, 4, 34, 0, UVMP_ACCESS_READ);
	run("batch to=1 count=3 detail=3\n"
	    "allocate cause=demand block=0x40850000 pages=0 to=1 detail=65536\n"
	    "allocate cause=demand block=0x40850000 pages=26 to=1 detail=65536 offset=0x10000\n"
	    "unmap cause=demand block=0x40850000 pages=0,26 to=0\n"
	    "copy cause=demand block=0x40850000 pages=0,26 from=0 to=1 detail=2\n"
	    "map cause=demand block=0x40850000 pages=0,26 from=1 to=1 right=rwa\n"
	    "allocate cause=demand block=0x40a00000 pages=2 to=1 detail=65536 offset=0x20000\n"
	    "unmap cause=demand block=0x40a00000 pages=2 to=0\n"
	    "copy cause=demand block=0x40a00000 pages=2 from=0 to=1 detail=1\n"
	    "map cause=demand block=0x40a00000 pages=2 from=1 to=1 right=rwa\n"
	    "flush to=1\n"
	    "replay to=1\n"
	    "wait to=1\n"
	    "done to=1\n");
}

/* -- the log -- */

/* What was decided reads back as it was written, also above 4 GiB. */
static void log_reads_back(void **state)
{
	struct uvmp_action action, back;
	char text[UVMP_ACTION_TEXT_MAX];
	size_t offset;

	(void)state;
	begin("prefetch=block thrash=off", 1, 4, UVMP_CPU);
	engine_range(&e, SPACE, 0x7f0000000000u, MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, 0x7f0000000000u + 9u * PAGE + 0x2000u, UVMP_ACCESS_WRITE);
	while (engine_take(&e, &action)) {
		engine_end(&e, &action);
		assert_int_equal(uvmp_action_print(&action, text, sizeof(text)), UVMP_OK);
		assert_int_equal(uvmp_action_parse(text, strlen(text), &back, &offset), UVMP_OK);
		assert_true(back.address == action.address && back.page_bytes == action.page_bytes &&
		            uvmp_mask_equal(&back.pages, &action.pages) && back.detail == action.detail);
		if (action.kind == UVMP_ACTION_COPY) {
			assert_int_equal(back.page_bytes, PAGE);
			assert_int_equal(back.address, 0x7f0000000000u);
		}
	}
	assert_int_equal(e.transfers[UVMP_ACTION_COPY], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(distances, stop),
	        cmocka_unit_test_teardown(faults, stop),
	        cmocka_unit_test_teardown(prefetches, stop),
	        cmocka_unit_test_teardown(evicts, stop),
	        cmocka_unit_test_teardown(evicts_pages, stop),
	        cmocka_unit_test_teardown(duplicates, stop),
	        cmocka_unit_test_teardown(bounds, stop),
	        cmocka_unit_test_teardown(log_reads_back, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
