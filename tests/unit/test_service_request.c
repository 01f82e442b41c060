/* What the program asks the engine for (service.h): requests, their side effects [driver: va-policy], CPU
 * faults [driver: cpu-fault], and the unpin worker [driver: pin-and-reset], through the public functions.
 * Only what takes a thousand evictions is set from inside. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/arena.h"
#include "support/engine_host.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine host;

static void add(uvmp_addr base, uint64_t bytes, uint32_t home)
{
	assert_int_equal(
	        uvmp_service_add_range(host.service, SPACE, base, bytes, UVMP_RIGHT_READ_WRITE_ATOMIC, home),
	        UVMP_OK);
}

static enum uvmp_status migrate(uvmp_addr base, uint64_t bytes, uint32_t processor)
{
	engine_forget(&host);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, base, bytes, processor, NULL), UVMP_OK);
	return engine_run(&host);
}

static enum uvmp_status advise(uvmp_addr base, uint64_t bytes, enum uvmp_advice advice, uint32_t processor)
{
	engine_forget(&host);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, base, bytes, advice, processor, NULL),
	                 UVMP_OK);
	return engine_run(&host);
}

static enum uvmp_status release(uvmp_addr base)
{
	engine_forget(&host);
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, base, NULL), UVMP_OK);
	return engine_run(&host);
}

static enum uvmp_status cpu_fault(uvmp_addr address, enum uvmp_access access, uint64_t thread)
{
	engine_forget(&host);
	assert_int_equal(uvmp_service_cpu_fault(host.service, SPACE, address, access, thread, NULL), UVMP_OK);
	return engine_run(&host);
}

static struct uvmp_page_state page_of(uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_service_page(host.service, SPACE, address, &state), UVMP_OK);
	return state;
}

static bool has_line(const char *line)
{
	return strstr(host.text, line) != NULL;
}

static bool has_text(const char *text)
{
	if (strcmp(host.text, text) == 0)
		return true;
	fprintf(stderr, "wanted:\n%sgot:\n%s", text, host.text);
	return false;
}

/* CPU and two GPUs of four roots each. */
static int start(void **state)
{
	(void)state;
	engine_init(&host, 2, 4);
	host.hidden[3] = "space=";
	return engine_start(&host, 16, 1 << 20) ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	engine_stop(&host);
	return 0;
}

/* The GPUs reach each other and the CPU reaches them, with atomics: all mappings are possible. */
static int start_linked(void **state)
{
	(void)state;
	engine_init(&host, 2, 4);
	host.hidden[3] = "space=";
	for (uint32_t p = 0; p < 3; p++) {
		host.processors.can_access[p] = 7;
		host.processors.native_atomics[p] = 7;
	}
	return engine_start(&host, 16, 1 << 20) ? 0 : -1;
}

/* -- errors at once -- */

static void test_arguments(void **state)
{
	struct uvmp_service *s = host.service;
	uint64_t ticket = 0;

	(void)state;
	assert_int_equal(uvmp_service_free_range(NULL, SPACE, BASE, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_migrate(NULL, SPACE, BASE, PAGE, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_cpu_fault(NULL, SPACE, BASE, UVMP_ACCESS_READ, 0, NULL),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_advise(NULL, SPACE, BASE, PAGE, UVMP_ADVISE_DISCARD, 0, NULL),
	                 UVMP_ERR_ARGUMENT);

	assert_int_equal(uvmp_service_free_range(s, SPACE, BASE + 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_migrate(s, SPACE, BASE + 1, PAGE, 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_migrate(s, SPACE, BASE, PAGE + 1, 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_migrate(s, SPACE, BASE, 0, 1, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_migrate(s, SPACE, BASE, PAGE, 3, NULL), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_migrate(s, SPACE, UINT64_MAX - PAGE + 1, 2 * PAGE, 1, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_advise(s, SPACE, BASE, 1, UVMP_ADVISE_DISCARD, 0, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_advise(s, SPACE, BASE, PAGE, (enum uvmp_advice)7, 0, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_advise(s, SPACE, BASE, PAGE, UVMP_ADVISE_PREFERRED, 3, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(
	        uvmp_service_advise(s, SPACE, BASE, PAGE, UVMP_ADVISE_ACCESSED_BY, UVMP_PROC_NONE, NULL),
	        UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_advise(s, SPACE, BASE, PAGE, UVMP_ADVISE_NOT_ACCESSED_BY, 3, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_cpu_fault(s, SPACE, BASE, UVMP_ACCESS_PREFETCH, 0, NULL),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_cpu_fault(s, SPACE, BASE, UVMP_ACCESS_ATOMIC_WEAK, 0, NULL),
	                 UVMP_ERR_RANGE);

	/* eight can wait */
	for (uint64_t i = 1; i <= 8; i++) {
		assert_int_equal(uvmp_service_advise(s, SPACE, BASE, PAGE, UVMP_ADVISE_PREFERRED,
		                                     UVMP_PROC_NONE, &ticket),
		                 UVMP_OK);
		assert_int_equal(ticket, i);
	}
	assert_int_equal(uvmp_service_free_range(s, SPACE, BASE, &ticket), UVMP_ERR_SPACE);
	assert_int_equal(ticket, 8);
	engine_run(&host);
	assert_int_equal(host.count[UVMP_ACTION_DONE], 8);
	assert_true(has_line("done cause=hint ticket=1 status=-8\n"));
	assert_true(has_line("done cause=hint ticket=8 status=-8\n"));
}

/* -- migrate -- */

static void test_migrate(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	assert_int_equal(migrate(BASE, 3 * MIB2, 1), UVMP_ERR_UNKNOWN);
	assert_true(has_text("done cause=migrate ticket=1 status=-8\n"));
	/* from page 510 of one block to page 1 of the next; mapped there with all that it may */
	assert_int_equal(migrate(BASE + 510 * PAGE, 4 * PAGE, 1), UVMP_OK);
	assert_true(has_text("allocate cause=migrate block=0x40000000 pages=0-511 to=1 detail=2097152\n"
	                     "unmap cause=migrate block=0x40000000 pages=510-511 to=0\n"
	                     "copy cause=migrate block=0x40000000 pages=510-511 from=0 to=1 detail=2\n"
	                     "map cause=migrate block=0x40000000 pages=510-511 from=1 to=1 right=rwa\n"
	                     "allocate cause=migrate block=0x40200000 pages=0-511 to=1 detail=2097152 "
	                     "offset=0x200000\n"
	                     "unmap cause=migrate block=0x40200000 pages=0-1 to=0\n"
	                     "copy cause=migrate block=0x40200000 pages=0-1 from=0 to=1 detail=2\n"
	                     "map cause=migrate block=0x40200000 pages=0-1 from=1 to=1 right=rwa\n"
	                     "done cause=migrate ticket=2\n"));
	assert_int_equal(page_of(BASE + 510 * PAGE).resident, 2);
	assert_int_equal(page_of(BASE + 509 * PAGE).resident, 1);
	assert_int_equal(page_of(BASE + 514 * PAGE).resident, 1);
	/* what is there already is not moved */
	assert_int_equal(migrate(BASE + 510 * PAGE, 2 * PAGE, 1), UVMP_OK);
	assert_true(has_text("done cause=migrate ticket=3\n"));
	/* another space has no such range */
	assert_int_equal(uvmp_service_migrate(host.service, 9, BASE, PAGE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_ERR_UNKNOWN);
}

static void test_migrate_untouched(void **state)
{
	(void)state;
	add(BASE + 4 * PAGE, 4 * PAGE, UVMP_PROC_NONE);
	assert_int_equal(migrate(BASE + 5 * PAGE, PAGE, 2), UVMP_OK);
	assert_true(has_line("populate cause=migrate block=0x40004000 pages=1 to=2"));
	assert_true(has_line("map cause=migrate block=0x40004000 pages=1 from=2 to=2 right=rwa\n"));
	assert_int_equal(page_of(BASE + 5 * PAGE).resident, 4);
	assert_int_equal(page_of(BASE + 6 * PAGE).resident, 0);
}

/* Readers' copies are made, not moves. */
static void test_migrate_duplicates(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(migrate(BASE, PAGE, 1), UVMP_OK);
	assert_true(has_line("revoke cause=revoke block=0x40000000 pages=0 to=0 right=r\n"));
	assert_int_equal(page_of(BASE).resident, 3);
	assert_true(page_of(BASE).is_duplicated);
	assert_int_equal(page_of(BASE).write, 0);
}

static void test_migrate_without_memory(void **state)
{
	(void)state;
	engine_init(&host, 2, 4);
	host.hidden[3] = "space=";
	host.gpu[1].memory_bytes = 0;
	host.gpu[1].splits = 0;
	host.processors.no_memory = 4;
	assert_true(engine_start(&host, 4, 0));
	add(BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(migrate(BASE, MIB2, 1), UVMP_OK);
	assert_int_equal(migrate(BASE, MIB2, 2), UVMP_OK);
	assert_int_equal(page_of(BASE).resident, 1);
	assert_int_equal(page_of(BASE).atomic, 1);
	/* a preferred location without memory may be mapped to that of others: it stays mapped */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 2), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, 2), UVMP_OK);
	assert_int_equal(page_of(BASE).read, 5);
}

/* Five blocks, room for four: the oldest leaves, and the step is made again [driver: eviction-retry]. */
static void test_migrate_evicts(void **state)
{
	(void)state;
	add(BASE, 5 * MIB2, UVMP_CPU);
	assert_int_equal(migrate(BASE, 5 * MIB2, 1), UVMP_OK);
	assert_true(has_line("evict cause=eviction block=0x40000000 pages=0-511 from=1 victim=used "
	                     "for=0x40800000"));
	assert_int_equal(page_of(BASE).resident, 1);
	assert_int_equal(page_of(BASE + 4 * MIB2).resident, 2);
	assert_int_equal(host.service->run.retries, 0);
}

/* After 1100 rounds the request gives up. */
static void test_migrate_gives_up(void **state)
{
	(void)state;
	add(BASE, 5 * MIB2, UVMP_CPU);
	assert_int_equal(migrate(BASE, 4 * MIB2, 1), UVMP_OK);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE + 4 * MIB2, MIB2, 1, NULL), UVMP_OK);
	assert_true(engine_step(&host)); /* the eviction has begun */
	assert_true(host.service->run.is_stepping);
	host.service->run.retries = 1100;
	assert_int_equal(engine_run(&host), UVMP_ERR_NO_MEMORY);
	assert_int_equal(page_of(BASE + 4 * MIB2).resident, 1);
}

static void test_migrate_fails(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	engine_fail(&host, UVMP_ACTION_COPY, 0, UINT32_MAX, UVMP_ERR_CONFLICT);
	assert_int_equal(migrate(BASE, 2 * MIB2, 1), UVMP_ERR_CONFLICT);
	host.failures = 0;
	assert_int_equal(page_of(BASE).resident, 1);
	assert_int_equal(page_of(BASE + MIB2).resident, 1);
	assert_int_equal(migrate(BASE, 2 * MIB2, 1), UVMP_OK);
}

/* No room in the arena for the block; the range without blocks can still be freed. */
static void test_arena_is_full(void **state)
{
	(void)state;
	engine_init(&host, 1, 4);
	host.hidden[3] = "space=";
	assert_true(engine_start(&host, 0, 0));
	arena_without_reserve(host.service);
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(migrate(BASE, MIB2, 1), UVMP_ERR_NO_MEMORY);
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_READ, 1), UVMP_ERR_NO_MEMORY);
	assert_int_equal(release(BASE), UVMP_OK);
}

/* -- free -- */

static void test_free_range(void **state)
{
	struct uvmp_service_memory memory = {.size = sizeof(memory)};

	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	add(BASE + 2 * MIB2, PAGE, UVMP_CPU);
	migrate(BASE, PAGE, 1);
	migrate(BASE + PAGE, PAGE, 2);
	assert_int_equal(release(BASE + MIB2), UVMP_ERR_UNKNOWN);
	assert_int_equal(release(BASE - PAGE), UVMP_ERR_UNKNOWN);
	assert_int_equal(release(BASE), UVMP_OK);
	assert_true(has_line("unmap cause=free block=0x40000000 pages=2-511 to=0\n"));
	assert_true(has_line("unmap cause=free block=0x40000000 pages=0 to=1\n"));
	assert_true(has_line("unmap cause=free block=0x40000000 pages=1 to=2\n"));
	assert_true(has_line("from=1 detail=2097152"));
	assert_true(has_line("from=2 detail=2097152"));
	uvmp_service_memory_used(host.service, &memory);
	assert_int_equal(memory.blocks, 0);
	assert_int_equal(memory.residencies, 0);
	assert_int_equal(release(BASE), UVMP_ERR_UNKNOWN);
	assert_int_equal(release(BASE + 2 * MIB2), UVMP_OK);
	/* the space is removed with its last range */
	assert_int_equal(release(BASE + 2 * MIB2), UVMP_ERR_UNKNOWN);
}

/* All pieces of what was one range, and nothing else. */
static void test_free_pieces(void **state)
{
	struct uvmp_page_state page = {.size = sizeof(page)};

	(void)state;
	add(BASE, 3 * MIB2, UVMP_CPU);
	add(BASE + 3 * MIB2, MIB2, UVMP_CPU);
	migrate(BASE, 4 * MIB2, 1);
	assert_int_equal(advise(BASE + MIB2, MIB2, UVMP_ADVISE_PREFERRED, 2), UVMP_OK);
	assert_int_equal(host.service->ranges, 4);
	/* a piece is not what was added */
	assert_int_equal(release(BASE + MIB2), UVMP_ERR_UNKNOWN);
	assert_int_equal(release(BASE), UVMP_OK);
	assert_int_equal(host.service->ranges, 1);
	assert_int_equal(uvmp_service_page(host.service, SPACE, BASE + 2 * MIB2, &page), UVMP_ERR_UNKNOWN);
	assert_int_equal(page_of(BASE + 3 * MIB2).resident, 2);
}

/* An unmapping that fails is reported, but the range is removed. */
static void test_free_fails(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	migrate(BASE, 2 * MIB2, 1);
	engine_fail(&host, UVMP_ACTION_UNMAP, 0, UINT32_MAX, UVMP_ERR_STATE);
	assert_int_equal(release(BASE), UVMP_ERR_STATE);
	assert_int_equal(host.service->ranges, 0);
	assert_int_equal(host.service->live[SLAB_BLOCK], 0);
}

/* -- advise: policies -- */

static void test_advise_splits(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_READ, 1), UVMP_OK);
	assert_int_equal(advise(BASE + 16 * PAGE, 16 * PAGE, UVMP_ADVISE_PREFERRED, UVMP_CPU), UVMP_OK);
	assert_int_equal(host.service->ranges, 3);
	/* the same value over all of it: cuts nothing, sets the rest */
	assert_int_equal(advise(BASE + 8 * PAGE, 32 * PAGE, UVMP_ADVISE_PREFERRED, UVMP_CPU), UVMP_OK);
	assert_int_equal(host.service->ranges, 5);
	assert_int_equal(advise(BASE + 20 * PAGE, 4 * PAGE, UVMP_ADVISE_PREFERRED, UVMP_CPU), UVMP_OK);
	assert_int_equal(advise(BASE + 20 * PAGE, 4 * PAGE, UVMP_ADVISE_NOT_ACCESSED_BY, 1), UVMP_OK);
	assert_int_equal(advise(BASE + 20 * PAGE, 4 * PAGE, UVMP_ADVISE_UNSET_DUPLICATE, 1), UVMP_OK);
	assert_int_equal(advise(BASE + 20 * PAGE, 4 * PAGE, UVMP_ADVISE_DISCARD, 1), UVMP_OK);
	assert_int_equal(host.service->ranges, 5);
	assert_int_equal(release(BASE), UVMP_OK);
	assert_int_equal(host.service->ranges, 0);
}

/* A block with GPU memory cannot be cut: its pages go to the CPU first. */
static void test_advise_vacates(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	migrate(BASE, 4 * PAGE, 1);
	migrate(BASE + 4 * PAGE, 4 * PAGE, 2);
	assert_int_equal(advise(BASE + PAGE, MIB2 - PAGE, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
	assert_true(has_text("unmap cause=hint block=0x40000000 pages=4-7 to=2\n"
	                     "unmap cause=hint block=0x40000000 pages=0-3 to=1\n"
	                     "copy cause=hint block=0x40000000 pages=0-3 from=1 to=0 detail=4\n"
	                     "copy cause=hint block=0x40000000 pages=4-7 from=2 to=0 detail=4\n"
	                     "free cause=free block=0x40000000 pages=0-511 from=2 detail=2097152\n"
	                     "free cause=free block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	                     "map cause=hint block=0x40001000 pages=7-510 from=0 to=1 right=rw\n"
	                     "map cause=hint block=0x40001000 pages=0-6 from=0 to=1 right=rwa\n"
	                     "done cause=hint ticket=3\n"));
	assert_int_equal(host.service->ranges, 2);
	/* memory without pages is given back at once */
	migrate(BASE + PAGE, PAGE, 1);
	migrate(BASE + PAGE, PAGE, 0);
	assert_int_equal(advise(BASE + 3 * PAGE, PAGE, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
	assert_false(has_line("copy"));
	assert_true(has_line("free cause=free block=0x40001000"));
}

/* Who accesses the range keeps its mappings of a block that is cut for the sake of other pages. */
static void test_advise_vacates_accessed(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 2), UVMP_OK);
	migrate(BASE, MIB2, 1);
	assert_int_equal(page_of(BASE).read, 2); /* GPU 2 does not reach GPU 1 */
	assert_int_equal(advise(BASE + PAGE, PAGE, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_int_equal(advise(BASE, 16 * PAGE, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
	assert_true(has_text("unmap cause=hint block=0x40000000 pages=0-511 to=1\n"
	                     "copy cause=hint block=0x40000000 pages=0-511 from=1 to=0 detail=512\n"
	                     "free cause=free block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	                     "map cause=hint block=0x40000000 pages=0,2-511 from=0 to=2 right=rwa\n"
	                     "done cause=hint ticket=4\n"));
}

static void test_advise_fails(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	migrate(BASE, 4 * PAGE, 1);
	engine_fail(&host, UVMP_ACTION_COPY, 0, UINT32_MAX, UVMP_ERR_STATE);
	assert_int_equal(advise(BASE + PAGE, PAGE, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_ERR_STATE);
	assert_int_equal(host.service->ranges, 1);
	host.failures = 0;
	assert_int_equal(page_of(BASE).resident, 2);
	/* 16 ranges at most: the last pieces find no slot */
	for (uint32_t i = 0; i < 14; i++)
		add(BASE + (2 + i) * MIB2, PAGE, UVMP_CPU);
	assert_int_equal(advise(BASE + PAGE, PAGE, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_ERR_SPACE);
	assert_int_equal(page_of(BASE).resident, 1);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
}

/* Set preferred [driver: va-policy]: mappings of the new location to others' memory go; the old one is mapped
 * again if it accesses the range. */
static void test_advise_preferred(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	migrate(BASE, 2 * PAGE, 2);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
	assert_true(has_line("map cause=hint block=0x40000000 pages=2-511 from=0 to=1 right=rwa\n"));
	assert_true(has_line("map cause=hint block=0x40000000 pages=0-1 from=2 to=1 right=rwa\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
	assert_true(
	        has_text("unmap cause=hint block=0x40000000 pages=0-511 to=1\ndone cause=hint ticket=3\n"));
	/* it stays at its preferred location, for accesses of all processors */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_NOT_ACCESSED_BY, 1), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=5\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, 2), UVMP_OK);
	assert_true(has_text("map cause=hint block=0x40000000 pages=2-511 from=0 to=1 right=rwa\n"
	                     "map cause=hint block=0x40000000 pages=0-1 from=2 to=1 right=rwa\n"
	                     "done cause=hint ticket=6\n"));
	/* 2 does not access the range; without a preferred location no processor is preferred */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=7\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_NOT_ACCESSED_BY, 1), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=8\n"));
	assert_int_equal(page_of(BASE).read, 6);
}

/* Accessed-by leaves out what is discarded, and read-duplicated ranges altogether. */
static void test_advise_accessed_by(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	migrate(BASE, MIB2, 1);
	assert_int_equal(advise(BASE, PAGE, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 2), UVMP_OK);
	assert_true(has_text("map cause=hint block=0x40000000 pages=1-511 from=1 to=2 right=rwa\n"
	                     "done cause=hint ticket=3\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	assert_true(
	        has_text("unmap cause=hint block=0x40000000 pages=1-511 to=2\ndone cause=hint ticket=4\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 0), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=5\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, 0), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=6\n"));
	/* and back: accessing processors are mapped again, except the preferred location */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_NO_DUPLICATE, 0), UVMP_OK);
	assert_true(has_text("map cause=hint block=0x40000000 pages=1-511 from=1 to=2 right=rwa\n"
	                     "done cause=hint ticket=7\n"));
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_UNSET_DUPLICATE, 0), UVMP_OK);
	assert_true(has_text("done cause=hint ticket=8\n"));
}

/* What the CPU has from the beginning is mapped, and discarded, without a fault before [driver:
 * va-policy]. */
static void test_advise_untouched(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	add(BASE + 2 * MIB2, MIB2, UVMP_PROC_NONE);
	add(BASE + 3 * MIB2, 2 * MIB2, UVMP_CPU);
	assert_int_equal(advise(BASE, 3 * MIB2, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
	assert_true(has_text("map cause=hint block=0x40200000 pages=0-511 from=0 to=1 right=rw\n"
	                     "map cause=hint block=0x40000000 pages=0-511 from=0 to=1 right=rw\n"
	                     "done cause=hint ticket=1\n"));
	assert_int_equal(host.service->live[SLAB_BLOCK], 2);
	/* only the part */
	assert_int_equal(advise(BASE + 3 * MIB2 + PAGE, PAGE, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_true(
	        has_text("discard cause=hint block=0x40600000 pages=1 from=0\ndone cause=hint ticket=2\n"));
	assert_false(page_of(BASE + 3 * MIB2).is_discarded);
	assert_int_equal(host.service->live[SLAB_BLOCK], 3);
	/* other advice asks for nothing */
	assert_int_equal(advise(BASE + 4 * MIB2, MIB2, UVMP_ADVISE_PREFERRED, 0), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_BLOCK], 3);
}

static void test_untouched_without_arena(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	arena_without_reserve(host.service);
	while (uvmpi_arena_take(host.service, SLAB_BLOCK) != 0)
		;
	host.is_checking = false;
	assert_int_equal(advise(BASE, 2 * MIB2, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_ERR_NO_MEMORY);
}

/* The preferred location keeps the copy, else the lowest holder. */
static void test_advise_collapse(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, 2), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 0), UVMP_OK);
	migrate(BASE, 2 * PAGE, 1);
	migrate(BASE + PAGE, PAGE, 2);
	assert_int_equal(page_of(BASE).resident, 3);
	assert_int_equal(page_of(BASE + PAGE).resident, 7);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_UNSET_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(page_of(BASE).resident, 1);
	assert_int_equal(page_of(BASE + PAGE).resident, 4);
	assert_false(page_of(BASE).is_duplicated);
	assert_true(has_line("map cause=hint block=0x40000000 pages=1 from=2 to=0"));
	assert_int_equal(page_of(BASE).read & 6u, 0);
	/* no processor is preferred */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE), UVMP_OK);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	migrate(BASE + PAGE, PAGE, 1);
	assert_int_equal(page_of(BASE + PAGE).resident, 6);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_NO_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(page_of(BASE + PAGE).resident, 2);
}

static void test_advise_discard(void **state)
{
	(void)state;
	add(BASE, 2 * MIB2, UVMP_CPU);
	migrate(BASE, 2 * MIB2 - 2 * PAGE, 1);
	migrate(BASE, PAGE, 2);
	/* only the part, holder by holder */
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_true(has_line("discard cause=hint block=0x40000000 pages=1-511 from=1\n"));
	assert_true(has_line("discard cause=hint block=0x40000000 pages=0 from=2\n"));
	assert_false(has_line("0x40200000"));
	assert_true(page_of(BASE).is_discarded);
	assert_int_equal(page_of(BASE + PAGE).atomic, 2); /* mappings stay */
	/* pages that came discarded leave first, and are not copied */
	assert_int_equal(advise(BASE + MIB2 + 510 * PAGE, PAGE, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_true(
	        has_text("discard cause=hint block=0x40200000 pages=510 from=0\ndone cause=hint ticket=4\n"));
	assert_int_equal(advise(BASE + MIB2, PAGE, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	assert_true(
	        has_text("discard cause=hint block=0x40200000 pages=0 from=1\ndone cause=hint ticket=5\n"));
	add(BASE + 8 * MIB2, 3 * MIB2, UVMP_CPU);
	migrate(BASE + 8 * MIB2, 3 * MIB2, 1);
	assert_true(has_line("evict cause=eviction block=0x40000000 pages=0-511 from=1 victim=discarded"));
	assert_false(has_line("copy cause=eviction block=0x40000000"));
}

static void test_discard_without_arena(void **state)
{
	handle taken;

	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	migrate(BASE, MIB2, 1);
	arena_without_reserve(host.service);
	do
		taken = uvmpi_arena_take(host.service, SLAB_COLD);
	while (taken != 0);
	host.is_checking = false;
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_DISCARD, 0), UVMP_ERR_NO_MEMORY);
}

/* -- faults of the CPU [driver: cpu-fault] -- */

static void test_cpu_fault(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(cpu_fault(BASE + 7, UVMP_ACCESS_READ, 1), UVMP_OK);
	assert_true(has_line("populate cause=demand block=0x40000000 pages=0"));
	assert_int_equal(page_of(BASE).atomic, 1);
	migrate(BASE, MIB2, 1);
	assert_int_equal(cpu_fault(BASE + 100 * PAGE, UVMP_ACCESS_WRITE, 1), UVMP_OK);
	assert_true(has_line("copy cause=demand block=0x40000000 pages=100 from=1 to=0"));
	assert_true(has_line("map cause=demand block=0x40000000 pages="));
	/* no such range, no such space */
	assert_int_equal(cpu_fault(BASE + MIB2, UVMP_ACCESS_READ, 1), UVMP_ERR_UNKNOWN);
	assert_true(has_text("cancel cause=fatal block=0x40200000 to=0 mode=all\n"
	                     "done cause=demand ticket=4 status=-8\n"));
	engine_fail(&host, UVMP_ACTION_COPY, 0, UINT32_MAX, UVMP_ERR_STATE);
	assert_int_equal(cpu_fault(BASE + 300 * PAGE, UVMP_ACCESS_WRITE, 1), UVMP_ERR_STATE);
}

static void test_cpu_fault_right(void **state)
{
	(void)state;
	assert_int_equal(
	        uvmp_service_add_range(host.service, SPACE, BASE, MIB2, UVMP_RIGHT_READ, UVMP_PROC_NONE),
	        UVMP_OK);
	assert_int_equal(uvmp_service_add_range(host.service, SPACE, BASE + MIB2, MIB2, UVMP_RIGHT_READ_WRITE,
	                                        UVMP_PROC_NONE),
	                 UVMP_OK);
	assert_int_equal(cpu_fault(BASE + PAGE, UVMP_ACCESS_WRITE, 1), UVMP_ERR_CONFLICT);
	assert_true(has_text("cancel cause=fatal block=0x40001000 to=0 mode=write\n"
	                     "done cause=demand ticket=1 status=-9\n"));
	assert_int_equal(cpu_fault(BASE + PAGE, UVMP_ACCESS_READ, 1), UVMP_OK);
	assert_int_equal(cpu_fault(BASE + PAGE, UVMP_ACCESS_WRITE, 1), UVMP_ERR_CONFLICT);
	assert_true(has_text("cancel cause=fatal block=0x40000000 pages=1 to=0 mode=write\n"
	                     "done cause=demand ticket=3 status=-9\n"));
	assert_int_equal(cpu_fault(BASE + MIB2, UVMP_ACCESS_WRITE, 1), UVMP_OK);
	assert_int_equal(page_of(BASE + MIB2).write, 1);
	assert_int_equal(page_of(BASE + MIB2).atomic, 0);
}

/* Who has the right already is let pass once. */
static void test_latch(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_WRITE, 7), UVMP_OK);
	assert_true(host.service->has_latch);
	/* others are skipped for 300 us, with any difference */
	host.now_ns += 300000;
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_WRITE, 8), UVMP_OK);
	assert_int_equal(cpu_fault(BASE + PAGE, UVMP_ACCESS_WRITE, 7), UVMP_OK);
	assert_int_equal(uvmp_service_add_range(host.service, 2, BASE, MIB2, UVMP_RIGHT_READ, UVMP_CPU),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_cpu_fault(host.service, 2, BASE, UVMP_ACCESS_READ, 7, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(host.service->has_latch);
	/* the same again is serviced */
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_WRITE, 7), UVMP_OK);
	assert_false(host.service->has_latch);
	assert_int_equal(cpu_fault(BASE, UVMP_ACCESS_READ, 7), UVMP_OK);
	assert_true(host.service->has_latch);
	/* and another processor later */
	host.now_ns += 300001;
	assert_int_equal(cpu_fault(BASE + PAGE, UVMP_ACCESS_WRITE, 9), UVMP_OK);
	assert_false(host.service->has_latch);
}

/* The CPU's fault needs room on a GPU, which is where the page belongs. */
static void test_cpu_fault_evicts(void **state)
{
	(void)state;
	add(BASE, 5 * MIB2, UVMP_PROC_NONE);
	assert_int_equal(advise(BASE, 5 * MIB2, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
	assert_int_equal(migrate(BASE, 4 * MIB2, 1), UVMP_OK);
	assert_int_equal(cpu_fault(BASE + 4 * MIB2, UVMP_ACCESS_WRITE, 1), UVMP_OK);
	assert_true(has_line("evict cause=eviction block=0x40000000"));
	assert_int_equal(page_of(BASE + 4 * MIB2).resident, 2);
}

/* -- thrashing: throttled CPU faults, pins that end -- */

static enum uvmp_status gpu_write(uint32_t gpu, uvmp_addr address)
{
	const struct uvmp_fault fault = {.address = address,
	                                 .instance = 0x1000,
	                                 .aperture = UVMP_APERTURE_VID,
	                                 .access = UVMP_ACCESS_WRITE};

	engine_forget(&host);
	assert_int_equal(uvmp_service_fault(host.service, gpu, &fault), UVMP_OK);
	return engine_run(&host);
}

/* CPU and GPU 1 write to a page in turn, 100 us apart, until something of `wanted` is decided. */
static void bounce(uvmp_addr address, const char *wanted)
{
	for (uint32_t i = 0; i < 200; i++) {
		host.now_ns += 100000;
		cpu_fault(address, UVMP_ACCESS_WRITE, 1);
		if (has_line(wanted))
			return;
		host.now_ns += 100000;
		gpu_write(1, address);
		if (has_line(wanted))
			return;
	}
	fail();
}

static void test_throttle(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x1000, 0, SPACE), UVMP_OK);
	for (uint32_t i = 0; i < 50 && !(has_line("throttle") && has_line("to=0 until")); i++) {
		host.now_ns += 100000;
		gpu_write(1, BASE);
		host.now_ns += 100000;
		cpu_fault(BASE, UVMP_ACCESS_WRITE, 1);
	}
	assert_int_equal(host.status, UVMP_ERR_RETRY);
	assert_true(page_of(BASE).is_thrashing);
	/* free range, pages in the detector: its memory comes back */
	assert_int_equal(release(BASE), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_THRASH], 0);
}

static void test_unpin(void **state)
{
	uint64_t due;

	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x1000, 0, SPACE), UVMP_OK);
	bounce(BASE, "cause=pin");
	assert_true(page_of(BASE).is_pinned);
	due = uvmp_service_wakeup_ns(host.service);
	assert_int_not_equal(due, UINT64_MAX);
	engine_forget(&host);
	host.now_ns = due - 100000;
	engine_run(&host);
	assert_false(has_line("unpin"));
	host.now_ns = due;
	engine_run(&host);
	assert_true(has_line("unpin cause=pin block=0x40000000 pages=0\n"));
	assert_false(page_of(BASE).is_pinned);
	assert_int_equal(page_of(BASE).read & ~page_of(BASE).resident, 0);
	assert_int_equal(uvmp_service_wakeup_ns(host.service), UINT64_MAX);
}

/* Seventy pages whose pins have ended: 64 in the first round. */
static void test_unpin_many(void **state)
{
	struct uvmp_fault fault = {
	        .instance = 0x1000, .aperture = UVMP_APERTURE_VID, .access = UVMP_ACCESS_WRITE};
	uint32_t unpinned = 0;

	(void)state;
	host.is_checking = false;
	add(BASE, MIB2, UVMP_CPU);
	for (uint32_t gpu = 1; gpu <= 2; gpu++)
		assert_int_equal(uvmp_service_bind(host.service, gpu, UVMP_APERTURE_VID, 0x1000, 0, SPACE),
		                 UVMP_OK);
	for (uint32_t round = 0; round < 200; round++) {
		host.now_ns += 100000;
		for (uint32_t i = 0; i < 70; i++) {
			fault.address = BASE + i * PAGE;
			assert_int_equal(uvmp_service_fault(host.service, 1 + round % 2, &fault), UVMP_OK);
		}
		engine_run(&host);
	}
	for (uint32_t i = 0; i < 70; i++)
		assert_true(page_of(BASE + i * PAGE).is_pinned);
	host.now_ns += 1000000000;
	engine_forget(&host);
	engine_run(&host);
	for (const char *at = strstr(host.text, "unpin"); at; at = strstr(at + 1, "unpin"))
		unpinned++;
	assert_int_equal(unpinned, 70);
	assert_false(page_of(BASE).is_pinned);
	assert_true(uvmp_service_check(host.service));
}

/* A thrashing block is cut: the detector forgets it. Read duplication ends thrashing too
 * [driver: pin-and-reset]. */
static void test_advise_thrashing(void **state)
{
	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x1000, 0, SPACE), UVMP_OK);
	bounce(BASE, "throttle");
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	assert_false(page_of(BASE).is_thrashing);
	assert_int_equal(advise(BASE, MIB2, UVMP_ADVISE_NO_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_THRASH], 1);
	assert_int_equal(advise(BASE + PAGE, PAGE, UVMP_ADVISE_PREFERRED, 0), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_THRASH], 0);
	assert_int_equal(host.service->ranges, 3);
}

/* What was vacated for a cut that then finds no slot is forgotten by the detector too. */
static void test_vacated_for_nothing(void **state)
{
	handle h;

	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 14; i++)
		add(BASE + (2 + i) * MIB2, PAGE, UVMP_CPU);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x1000, 0, SPACE), UVMP_OK);
	bounce(BASE, "throttle");
	h = uvmpi_block_find(host.service, uvmpi_space_find(host.service, SPACE), BASE);
	assert_int_not_equal(block_at(host.service, h)->event_ns, 0);
	assert_int_equal(advise(BASE + PAGE, PAGE, UVMP_ADVISE_PREFERRED, 0), UVMP_ERR_SPACE);
	assert_int_equal(host.service->live[SLAB_THRASH], 0);
	assert_int_equal(block_at(host.service, h)->event_ns, 0);
}

/* -- in the middle of others -- */

/* A range is freed while faults on it are in the batch: between two of its blocks. */
static void test_free_between_blocks(void **state)
{
	struct uvmp_fault fault = {
	        .instance = 0x1000, .aperture = UVMP_APERTURE_VID, .access = UVMP_ACCESS_WRITE};

	(void)state;
	add(BASE, MIB2, UVMP_CPU);
	add(BASE + MIB2, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x1000, 0, SPACE), UVMP_OK);
	fault.address = BASE;
	assert_int_equal(uvmp_service_fault(host.service, 1, &fault), UVMP_OK);
	fault.address = BASE + MIB2;
	assert_int_equal(uvmp_service_fault(host.service, 1, &fault), UVMP_OK);
	assert_true(engine_step(&host)); /* the batch */
	assert_true(engine_step(&host)); /* of the first block */
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, BASE + MIB2, NULL), UVMP_OK);
	engine_run(&host);
	assert_true(has_line("done cause=free ticket=1\n"));
	assert_false(has_line("0x40200000")); /* no action for the removed range */
	assert_int_equal(page_of(BASE).resident, 2);
}

int main(void)
{
#define TEST(name)        cmocka_unit_test_setup_teardown(name, start, stop)
#define LINKED_TEST(name) cmocka_unit_test_setup_teardown(name, start_linked, stop)
	const struct CMUnitTest tests[] = {
	        TEST(test_arguments),
	        TEST(test_migrate),
	        TEST(test_migrate_untouched),
	        TEST(test_migrate_duplicates),
	        cmocka_unit_test_setup_teardown(test_migrate_without_memory, NULL, stop),
	        TEST(test_migrate_evicts),
	        TEST(test_migrate_gives_up),
	        TEST(test_migrate_fails),
	        cmocka_unit_test_setup_teardown(test_arena_is_full, NULL, stop),
	        TEST(test_free_range),
	        TEST(test_free_pieces),
	        TEST(test_free_fails),
	        TEST(test_advise_splits),
	        TEST(test_advise_vacates),
	        TEST(test_advise_vacates_accessed),
	        TEST(test_advise_fails),
	        LINKED_TEST(test_advise_preferred),
	        LINKED_TEST(test_advise_accessed_by),
	        TEST(test_advise_untouched),
	        TEST(test_untouched_without_arena),
	        LINKED_TEST(test_advise_collapse),
	        TEST(test_advise_discard),
	        TEST(test_discard_without_arena),
	        TEST(test_cpu_fault),
	        TEST(test_cpu_fault_right),
	        TEST(test_latch),
	        LINKED_TEST(test_cpu_fault_evicts),
	        TEST(test_throttle),
	        TEST(test_unpin),
	        TEST(test_unpin_many),
	        TEST(test_advise_thrashing),
	        TEST(test_vacated_for_nothing),
	        TEST(test_free_between_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
