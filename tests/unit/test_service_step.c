/* One service step of the engine (block_service.c; [driver: block-service, prefetch-in-service, thrashing, residency-choice,
 * other-mappings]), driven through the public functions alone: what was decided is compared as text, and who has which page
 * afterwards. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/arena.h"
#include "../support/engine_host.h"

#define SPACE    1u
#define BASE     0x40000000u
#define MIB2     0x200000u
#define PAGE     4096u
#define START_NS 1000000u /* [driver: thrashing]: a multiple of 64, so that stamps are exact [driver: rounded-stamps] */

static struct engine e;

/* -- help -- */

/* Up to three GPUs; what the tests do not look at is hidden. */
static void prepare(const char *policy, uint32_t gpus, uint32_t roots)
{
	static const char *const hidden[] = {"space=", "batch="};

	engine_init(&e, gpus, roots);
	for (size_t i = 0; i < 2; i++)
		e.hidden[3 + i] = hidden[i];
	assert_true(engine_policy(&e, policy));
}

static void hide(const char *word)
{
	size_t i = 0;

	while (e.hidden[i])
		i++;
	e.hidden[i] = word;
}

static void open_range(uint64_t bytes, uint32_t home)
{
	engine_range(&e, SPACE, BASE, bytes, home);
	for (uint32_t gpu = 1; gpu < e.processors.count; gpu++)
		engine_bind(&e, gpu, SPACE);
}

/* One block of eight pages, and nothing prefetched. */
static void start(const char *policy, uint32_t gpus, uint32_t home)
{
	prepare(policy, gpus, 4);
	hide("block=");
	assert_true(engine_start(&e, 16, 1u << 17));
	open_range(8 * PAGE, home);
}

/* GPUs 1 and 2 are neighbours with atomics on each other's memory. */
static void start_nvlink(const char *policy, uint32_t home)
{
	prepare(policy, 2, 4);
	hide("block=");
	e.processors.can_access[1] = e.processors.can_access[2] = 7;
	e.processors.fast_link[1] = 4;
	e.processors.fast_link[2] = 2;
	e.processors.native_atomics[1] = e.processors.native_atomics[2] = 6;
	assert_true(engine_start(&e, 16, 1u << 17));
	open_range(8 * PAGE, home);
}

static void stop(void)
{
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

static uvmp_addr at(uint32_t page)
{
	return BASE + (uint64_t)page * PAGE;
}

/* Of what was decided, the lines of the step: not those of the bottom half and of the request around it. */
static void expect(const char *wanted)
{
	static const char *const around[] = {"batch ", "replay ", "flush ", "wait ", "done "};
	char *from = e.text, *to = e.text;

	while (*from != '\0') {
		size_t length = strcspn(from, "\n") + 1u;
		bool is_around = false;

		for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++)
			is_around = is_around || strncmp(from, around[i], strlen(around[i])) == 0;
		if (!is_around) {
			memmove(to, from, length);
			to += length;
		}
		from += length;
	}
	*to = '\0';
	engine_expect(&e, wanted);
}

static enum uvmp_status gpu_fault(uint32_t gpu, uint32_t page, enum uvmp_access access)
{
	engine_fault(&e, gpu, SPACE, at(page), access);
	return engine_run(&e);
}

/* After an error all faults of the batch are cancelled. */
static bool is_served(uint32_t gpu, uint32_t page, enum uvmp_access access)
{
	uint32_t cancelled = e.count[UVMP_ACTION_CANCEL];

	gpu_fault(gpu, page, access);
	return e.count[UVMP_ACTION_CANCEL] == cancelled;
}

static enum uvmp_status cpu_fault(uint32_t page, enum uvmp_access access)
{
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, at(page), access, 1, NULL), UVMP_OK);
	return engine_run(&e);
}

static enum uvmp_status advise_part(uint32_t first, uint32_t pages, enum uvmp_advice advice, uint32_t proc)
{
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, at(first), (uint64_t)pages * PAGE, advice, proc, NULL),
	        UVMP_OK);
	return engine_run(&e);
}

static void advise(enum uvmp_advice advice, uint32_t proc)
{
	assert_int_equal(advise_part(0, 8, advice, proc), UVMP_OK);
}

static enum uvmp_status migrate(uint32_t first, uint32_t pages, uint32_t proc)
{
	assert_int_equal(
	        uvmp_service_migrate(e.service, SPACE, at(first), (uint64_t)pages * PAGE, proc, NULL),
	        UVMP_OK);
	return engine_run(&e);
}

static struct uvmp_page_state page(uint32_t number)
{
	return engine_page(&e, SPACE, at(number));
}

/* -- arriving [driver: block-service] -- */

/* Pages that are resident nowhere arrive as zeros; how many pages of it faulted is in `detail`. */
static void first_touch_is_populated(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_PROC_NONE);
	gpu_fault(1, 2, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=2 to=1 detail=4096\n"
	       "populate cause=demand pages=2 to=1 detail=1\n"
	       "map cause=demand pages=2 from=1 to=1 right=rwa\n");
	stop();
}

/* A processor loses its mapping when the page moves. A GPU's write to its own memory includes atomics. */
static void pages_move(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	expect("allocate cause=demand pages=0 to=1 detail=4096\n"
	       "unmap cause=demand pages=0 to=0\n"
	       "copy cause=demand pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand pages=0 from=1 to=1 right=rwa\n");
	cpu_fault(0, UVMP_ACCESS_READ);
	expect("unmap cause=demand pages=0 to=1\n"
	       "copy cause=demand pages=0 from=1 to=0 detail=1\n"
	       "map cause=demand pages=0 from=0 to=0 right=rwa\n");
	assert_int_equal(migrate(0, 8, 1), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_ALLOCATE], 7); /* the first one has its page still */
	assert_true(engine_has(&e, "unmap cause=migrate pages=0-7 to=0\n"
	                           "copy cause=migrate pages=0-7 from=0 to=1 detail=8\n"
	                           "map cause=migrate pages=0-7 from=1 to=1 right=rwa\n"));
	stop();
}

/* Destinations come one after the other, lowest first. */
static void several_destinations(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_PROC_NONE);
	cpu_fault(0, UVMP_ACCESS_WRITE);
	cpu_fault(1, UVMP_ACCESS_WRITE);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	engine_forget(&e);
	cpu_fault(2, UVMP_ACCESS_WRITE);
	expect("populate cause=demand pages=2 to=0 detail=1\n"
	       "map cause=demand pages=2 from=0 to=0 right=rwa\n"
	       "map cause=hint pages=2 from=0 to=1 right=rw\n");
	engine_fault(&e, 1, SPACE, at(3), UVMP_ACCESS_READ);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_ATOMIC_STRONG);
	engine_run(&e);
	expect("revoke cause=revoke pages=0 to=0 right=r\n"
	       "map cause=demand pages=0 from=0 to=1 right=rwa\n"
	       "allocate cause=demand pages=3 to=1 detail=4096\n"
	       "populate cause=demand pages=3 to=1 detail=1\n"
	       "map cause=demand pages=3 from=1 to=1 right=rwa\n");
	stop();
}

/* Two GPUs that do not reach each other meet at the CPU, two neighbours do not need it. */
static void staged_and_direct_copies(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_PROC_NONE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	gpu_fault(2, 0, UVMP_ACCESS_WRITE);
	expect("allocate cause=demand pages=0 to=2 detail=4096\n"
	       "unmap cause=demand pages=0 to=1\n"
	       "copy cause=demand pages=0 from=1 to=0 detail=1\n"
	       "copy cause=demand pages=0 from=0 to=2 detail=1\n"
	       "map cause=demand pages=0 from=2 to=2 right=rwa\n");
	assert_int_equal(page(0).resident, 4);
	stop();
	start_nvlink("prefetch=none", UVMP_PROC_NONE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	gpu_fault(2, 0, UVMP_ACCESS_WRITE);
	expect("allocate cause=demand pages=0 to=2 detail=4096\n"
	       "unmap cause=demand pages=0 to=1\n"
	       "copy cause=demand pages=0 from=1 to=2 detail=1\n"
	       "map cause=demand pages=0 from=2 to=2 right=rwa\n");
	stop();
}

/* -- read duplication [driver: read-duplication] -- */

static void readers_get_copies(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_CPU);
	gpu_fault(2, 7, UVMP_ACCESS_READ);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	engine_forget(&e);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=0 to=1 detail=4096\n"
	       "revoke cause=revoke pages=0 to=0 right=r\n"
	       "copy cause=demand pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand pages=0 from=1 to=1 right=r\n");
	assert_true(page(0).is_duplicated);
	gpu_fault(2, 0, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=0 to=2 detail=4096 offset=0x1000\n"
	       "copy cause=demand pages=0 from=0 to=2 detail=1\n"
	       "map cause=demand pages=0 from=2 to=2 right=r\n");
	assert_int_equal(page(0).resident, 7);
	/* a write: there already, and now alone */
	gpu_fault(2, 0, UVMP_ACCESS_WRITE);
	expect("unmap cause=demand pages=0 to=1\n"
	       "unmap cause=demand pages=0 to=0\n"
	       "map cause=demand pages=0 from=2 to=2 right=rwa\n");
	assert_false(page(0).is_duplicated);
	assert_int_equal(page(0).resident, 4);
	/* a write of one that has no copy */
	gpu_fault(1, 1, UVMP_ACCESS_READ);
	engine_forget(&e);
	gpu_fault(2, 1, UVMP_ACCESS_WRITE);
	expect("allocate cause=demand pages=1 to=2 detail=4096 offset=0x2000\n"
	       "unmap cause=demand pages=1 to=1\n"
	       "unmap cause=demand pages=1 to=0\n"
	       "copy cause=demand pages=1 from=0 to=2 detail=1\n"
	       "map cause=demand pages=1 from=2 to=2 right=rwa\n");
	/* the CPU reads what a GPU has: the GPU keeps it, for reading */
	cpu_fault(1, UVMP_ACCESS_READ);
	expect("revoke cause=revoke pages=1 to=2 right=r\n"
	       "copy cause=demand pages=1 from=2 to=0 detail=1\n"
	       "map cause=demand pages=1 from=0 to=0 right=r\n");
	stop();
}

/* Who maps a page that is to be duplicated, without holding it, loses it. */
static void duplication_ends_remote_mappings(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_CPU);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(0).write, 3);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	assert_int_equal(page(0).write, 1);
	engine_forget(&e);
	gpu_fault(2, 0, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=0 to=2 detail=4096\n"
	       "revoke cause=revoke pages=0 to=0 right=r\n"
	       "copy cause=demand pages=0 from=0 to=2 detail=1\n"
	       "map cause=demand pages=0 from=2 to=2 right=r\n");
	stop();
}

/* -- policies ([driver: residency-choice], worked examples) -- */

static void worked_example_1(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_PROC_NONE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(page(0).resident, 2);
	stop();
}

static void worked_example_2(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_PROC_NONE);
	advise(UVMP_ADVISE_PREFERRED, UVMP_CPU);
	engine_forget(&e);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	expect("populate cause=demand pages=0 to=0 detail=1\n"
	       "map cause=demand pages=0 from=0 to=1 right=rw\n");
	stop();
}

static void worked_example_3(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	advise_part(0, 1, UVMP_ADVISE_DISCARD, 0); /* or it would be mapped by the advice */
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	engine_forget(&e);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	expect("map cause=demand pages=0 from=0 to=1 right=r\n");
	stop();
}

/* The density prefetcher refuses a destination that is not the preferred location. */
static void worked_example_4(void **state)
{
	(void)state;
	start("threshold=1", 2, UVMP_CPU);
	advise(UVMP_ADVISE_PREFERRED, 2);
	engine_forget(&e);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=0 to=1 detail=4096\n"
	       "unmap cause=demand pages=0 to=0\n"
	       "copy cause=demand pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand pages=0 from=1 to=1 right=rwa\n");
	stop();
}

static void worked_example_5(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	assert_int_equal(page(0).resident, 3);
	assert_true(page(0).is_duplicated);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(page(0).resident, 2);
	assert_false(page(0).is_duplicated);
	stop();
}

static void note(uint32_t gpu, uint32_t number)
{
	struct uvmp_note n = {.address = at(number),
	                      .instance = engine_instance(SPACE),
	                      .aperture = UVMP_APERTURE_VID,
	                      .sub_granularity = 1,
	                      .bank = 1,
	                      .tag = 1};

	assert_int_equal(uvmp_service_note(e.service, gpu, &n), UVMP_OK);
	engine_run(&e);
}

/* By access counter, accessed-by does not hold the page back. [driver: counter-ignores-duplication]: nor
 * is a page duplicated. */
static void worked_example_6(void **state)
{
	(void)state;
	start("prefetch=none counters=on", 1, UVMP_CPU);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	assert_int_equal(page(0).resident, 1);
	engine_forget(&e);
	note(1, 0);
	assert_true(engine_has(&e, "copy cause=counter pages=0 from=0 to=1 detail=1\n"
	                           "map cause=counter pages=0 from=1 to=1 right=rwa\n"));
	stop();
	start("prefetch=none counters=on", 1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	gpu_fault(1, 7, UVMP_ACCESS_READ);
	note(1, 0);
	assert_int_equal(page(0).resident, 2);
	assert_false(page(0).is_duplicated);
	stop();
	start("prefetch=none counters=on quirks=0", 1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	gpu_fault(1, 7, UVMP_ACCESS_READ);
	note(1, 0);
	assert_int_equal(page(0).resident, 3);
	assert_true(page(0).is_duplicated);
	stop();
}

/* -- mappings [driver: va-policy, other-mappings] -- */

/* After a move those that the page is accessed by are mapped to it where they reach it: with the requester's
 * right, but for atomics that they cannot do. */
static void accessed_by_are_mapped(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_PROC_NONE);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	engine_forget(&e);
	cpu_fault(0, UVMP_ACCESS_WRITE);
	expect("populate cause=demand pages=0 to=0 detail=1\n"
	       "map cause=demand pages=0 from=0 to=0 right=rwa\n"
	       "map cause=hint pages=0 from=0 to=1 right=rw\n"
	       "map cause=hint pages=0 from=0 to=2 right=rw\n");
	stop();
	start_nvlink("prefetch=none", UVMP_PROC_NONE);
	advise(UVMP_ADVISE_ACCESSED_BY, 0);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	engine_forget(&e);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	expect("allocate cause=demand pages=0 to=1 detail=4096\n"
	       "populate cause=demand pages=0 to=1 detail=1\n"
	       "map cause=demand pages=0 from=1 to=1 right=rwa\n"
	       "map cause=hint pages=0 from=1 to=2 right=rwa\n");
	stop();
}

/* The highest right that a remote processor may have: atomics only where the memory does them for it, no
 * writing beside one who does atomics by having the page alone, never more than the range gives. */
static void remote_rights(void **state)
{
	(void)state;
	start_nvlink("prefetch=none", UVMP_PROC_NONE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	cpu_fault(1, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	expect("map cause=hint pages=1 from=0 to=2 right=rw\n"
	       "map cause=hint pages=0 from=1 to=2 right=rwa\n");
	/* again: nothing new */
	assert_int_equal(advise_part(0, 8, UVMP_ADVISE_NOT_ACCESSED_BY, 2), UVMP_OK);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	expect("");
	stop();
	/* GPU 1 does atomics on the CPU's memory */
	start("prefetch=none", 2, UVMP_CPU);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	gpu_fault(1, 0, UVMP_ACCESS_ATOMIC_STRONG);
	assert_int_equal(page(0).atomic, 2);
	engine_forget(&e);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	expect("map cause=hint pages=0 from=0 to=2 right=r\n"
	       "map cause=hint pages=1-7 from=0 to=2 right=rw\n");
	stop();
	/* the same, and GPU 2 does them too, in hardware: its atomics would not be seen by GPU 1 */
	prepare("prefetch=none", 2, 4);
	hide("block=");
	e.processors.native_atomics[0] = 5;
	assert_true(engine_start(&e, 4, 4096));
	open_range(8 * PAGE, UVMP_CPU);
	advise(UVMP_ADVISE_PREFERRED, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_ATOMIC_STRONG);
	assert_int_equal(page(0).atomic, 2);
	engine_forget(&e);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	expect("map cause=hint pages=0 from=0 to=2 right=r\n"
	       "map cause=hint pages=1-7 from=0 to=2 right=rwa\n");
	stop();
	/* a range that may only be read */
	prepare("prefetch=none", 1, 4);
	hide("block=");
	assert_true(engine_start(&e, 4, 4096));
	engine_range_of(&e, SPACE, BASE, 8 * PAGE, UVMP_RIGHT_READ, UVMP_CPU);
	engine_bind(&e, 1, SPACE);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	expect("map cause=hint pages=0-7 from=0 to=1 right=r\n");
	stop();
}

/* [driver: block-service]: on a page that stays where it is, others lose the rights that the new
 * one excludes. */
static void victims_lose_rights(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_CPU);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	advise(UVMP_ADVISE_ACCESSED_BY, 2);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	/* atomics over the link: no other processor may write */
	gpu_fault(2, 0, UVMP_ACCESS_ATOMIC_STRONG);
	expect("revoke cause=revoke pages=0 to=1 right=r\n"
	       "revoke cause=revoke pages=0 to=0 right=r\n"
	       "map cause=demand pages=0 from=0 to=2 right=rwa\n");
	/* a write: no other processor may do atomics, except the CPU, which owns the memory */
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	expect("revoke cause=revoke pages=0 to=2 right=rw\n"
	       "map cause=demand pages=0 from=0 to=1 right=rw\n");
	/* the CPU takes its rights back */
	cpu_fault(0, UVMP_ACCESS_WRITE);
	expect("map cause=demand pages=0 from=0 to=0 right=rwa\n");
	stop();
}

/* A processor that cannot reach the page is not mapped: a GPU without memory and without a way to the CPU's.
 */
static void unreachable_is_not_mapped(void **state)
{
	(void)state;
	prepare("prefetch=none", 1, 0);
	hide("block=");
	e.processors.no_memory = 2;
	e.processors.can_access[1] = 2;
	assert_true(engine_start(&e, 4, 4096));
	open_range(8 * PAGE, UVMP_PROC_NONE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	expect("populate cause=demand pages=0 to=0 detail=1\n");
	stop();
}

/* -- discarded pages -- */

static void discarded_pages(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	migrate(0, 8, 1);
	advise(UVMP_ADVISE_DISCARD, 0);
	engine_forget(&e);
	/* reading does not bring contents back: it stays discarded, and is mapped for reading */
	cpu_fault(0, UVMP_ACCESS_READ);
	expect("unmap cause=demand pages=0 to=1\n"
	       "copy cause=demand pages=0 from=1 to=0 detail=1\n"
	       "map cause=demand pages=0 from=0 to=0 right=r\n");
	assert_true(page(0).is_discarded);
	/* writing does */
	cpu_fault(0, UVMP_ACCESS_WRITE);
	assert_false(page(0).is_discarded);
	stop();
}

/* A GPU on which everything is discarded is the next one to give up the block. */
static void discarded_root_leaves_first(void **state)
{
	(void)state;
	prepare("prefetch=none", 1, 2);
	assert_true(engine_start(&e, 4, 4096));
	open_range(3u * MIB2, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	assert_int_equal(advise_part(512, 512, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	migrate(512, 1, 1); /* nothing moves, nothing is written */
	engine_forget(&e);
	gpu_fault(1, 1024, UVMP_ACCESS_WRITE);
	expect("evict cause=eviction block=0x40200000 pages=0-511 from=1 victim=discarded for=0x40400000 "
	       "detail=2097152 offset=0x200000\n"
	       "unmap cause=eviction block=0x40200000 pages=0 to=1 for=0x40400000\n"
	       "discard cause=eviction block=0x40200000 pages=0 from=1 for=0x40400000\n"
	       "allocate cause=demand block=0x40400000 pages=0-511 to=1 detail=2097152 offset=0x200000\n"
	       "unmap cause=demand block=0x40400000 pages=0 to=0\n"
	       "copy cause=demand block=0x40400000 pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40400000 pages=0 from=1 to=1 right=rwa\n");
	stop();
}

/* -- prefetching [driver: prefetch-in-service] -- */

/* Pages are prefetched with a faulted page, to GPUs and to the CPU. */
static void prefetching(void **state)
{
	(void)state;
	start("threshold=1", 1, UVMP_CPU);
	gpu_fault(1, 3, UVMP_ACCESS_READ);
	assert_int_equal(e.count[UVMP_ACTION_ALLOCATE], 8);
	assert_true(engine_has(&e, "allocate cause=prefetch pages=2 to=1 detail=4096 offset=0x2000\n"
	                           "allocate cause=demand pages=3 to=1 detail=4096 offset=0x3000\n"));
	assert_true(engine_has(&e, "unmap cause=demand pages=0-7 to=0\n"
	                           "copy cause=demand pages=3 from=0 to=1 detail=1\n"
	                           "copy cause=prefetch pages=0-2,4-7 from=0 to=1 faulted=1 subtrees=0,8\n"
	                           "map cause=demand pages=0-7 from=1 to=1 right=rwa\n"));
	engine_forget(&e);
	cpu_fault(4, UVMP_ACCESS_READ);
	expect("unmap cause=demand pages=0-7 to=1\n"
	       "copy cause=demand pages=4 from=1 to=0 detail=1\n"
	       "copy cause=prefetch pages=0-3,5-7 from=1 to=0 faulted=1 subtrees=0,8\n"
	       "map cause=demand pages=0-7 from=0 to=0 right=rwa\n");
	stop();
}

/* Prefetched pages of a range that duplicates are duplicated too. */
static void prefetched_copies(void **state)
{
	(void)state;
	start("threshold=1", 1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	assert_int_equal(page(0).resident, 3);
	assert_int_equal(page(5).resident, 3);
	assert_true(page(5).is_duplicated);
	stop();
	start("threshold=1", 1, UVMP_CPU);
	advise(UVMP_ADVISE_NO_DUPLICATE, 0);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	assert_int_equal(page(5).resident, 2);
	stop();
}

/* Duplicates that outlive the policy, because what should have ended them failed, stay for readers. */
static void copies_that_outlive_the_policy(void **state)
{
	(void)state;
	prepare("threshold=1", 2, 4);
	assert_true(engine_start(&e, 8, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	advise_part(0, 1024, UVMP_ADVISE_READ_DUPLICATE, 0);
	gpu_fault(2, 0, UVMP_ACCESS_READ);
	gpu_fault(2, 512, UVMP_ACCESS_READ);
	engine_fail(&e, UVMP_ACTION_UNMAP, 0, 1, UVMP_ERR_STATE);
	assert_int_equal(advise_part(0, 1024, UVMP_ADVISE_UNSET_DUPLICATE, 0), UVMP_ERR_STATE);
	assert_int_not_equal(page(0).is_duplicated, page(512).is_duplicated);
	for (uint32_t first = 0; first < 1024; first += 512) {
		bool is_duplicated = page(first).is_duplicated;

		gpu_fault(1, first, UVMP_ACCESS_READ);
		assert_int_equal(page(first).is_duplicated, is_duplicated);
		assert_int_equal(page(first + 1).resident, is_duplicated ? 7 : 2);
	}
	/* duplicated pages are not mapped remotely, nor pages that the GPU holds */
	engine_forget(&e);
	assert_int_equal(advise_part(0, 1024, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
	expect("");
	stop();
}

/* The trees of UVM Smart are made when they are needed; pages on the GPU do not count as faulted. */
static void trees(void **state)
{
	(void)state;
	prepare("prefetch=tbn evict=lru2m", 1, 4);
	assert_true(engine_start(&e, 4, 1u << 16));
	open_range(100 * PAGE, UVMP_CPU);
	gpu_fault(1, 3, UVMP_ACCESS_READ);
	expect("allocate cause=demand block=0x40000000 pages=0-99 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40000000 pages=0-15 to=0\n"
	       "copy cause=demand block=0x40000000 pages=0-3 from=0 to=1 detail=1\n"
	       "copy cause=prefetch block=0x40000000 pages=4-15 from=0 to=1 faulted=1 subtrees=0,16,100\n"
	       "map cause=demand block=0x40000000 pages=0-15 from=1 to=1 right=rwa\n");
	gpu_fault(1, 20, UVMP_ACCESS_READ);
	assert_int_equal(page(31).resident, 2);
	/* a page that is there, and mapped for reading only */
	assert_int_equal(advise_part(0, 100, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	gpu_fault(1, 64, UVMP_ACCESS_READ);
	assert_int_equal(page(64).write, 0);
	engine_forget(&e);
	gpu_fault(1, 64, UVMP_ACCESS_WRITE);
	expect("map cause=demand block=0x40000000 pages=64 from=1 to=1 right=rwa\n");
	/* the CPU has no tree */
	cpu_fault(0, UVMP_ACCESS_WRITE);
	assert_int_equal(page(1).resident, 2);
	stop();
	prepare("prefetch=sl", 1, 4);
	assert_true(engine_start(&e, 4, 1u << 16));
	open_range(100 * PAGE, UVMP_CPU);
	gpu_fault(1, 99, UVMP_ACCESS_READ);
	assert_int_equal(page(96).resident, 2);
	assert_int_equal(page(95).resident, 1);
	stop();
}

/* Each prefetcher's way to cut transfers. */
static void groupings(void **state)
{
	static const char *const policy[] = {"prefetch=random", "prefetch=block",
	                                     "prefetch=sequential seq_pages=5",
	                                     "prefetch=locality locality_pages=3"};
	static const uint32_t copies[] = {2, 3, 2, 2};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		start(policy[i], 1, UVMP_CPU);
		gpu_fault(1, 2, UVMP_ACCESS_READ);
		assert_int_equal(e.transfers[UVMP_ACTION_COPY], copies[i]);
		stop();
	}
}

/* Pages that are asked for beyond the block that faulted; those that fault there themselves come as faults.
 */
static void follows(void **state)
{
	(void)state;
	prepare("prefetch=locality locality_pages=8", 1, 4);
	assert_true(engine_start(&e, 4, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	gpu_fault(1, 510, UVMP_ACCESS_READ);
	expect("allocate cause=demand block=0x40000000 pages=0-511 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40000000 pages=510-511 to=0\n"
	       "copy cause=demand block=0x40000000 pages=510 from=0 to=1 detail=1\n"
	       "copy cause=prefetch block=0x40000000 pages=511 from=0 to=1 faulted=1\n"
	       "map cause=demand block=0x40000000 pages=510-511 from=1 to=1 right=rwa\n"
	       "allocate cause=prefetch block=0x40200000 pages=0-511 to=1 detail=2097152 offset=0x200000\n"
	       "unmap cause=demand block=0x40200000 pages=0-5 to=0\n"
	       "copy cause=prefetch block=0x40200000 pages=0-5 from=0 to=1\n"
	       "map cause=demand block=0x40200000 pages=0-5 from=1 to=1 right=rwa\n");
	/* the pages to prefetch are resident */
	engine_fault(&e, 1, SPACE, at(509), UVMP_ACCESS_READ);
	engine_fault(&e, 1, SPACE, at(511), UVMP_ACCESS_READ);
	engine_run(&e);
	expect("unmap cause=demand block=0x40000000 pages=509 to=0\n"
	       "copy cause=demand block=0x40000000 pages=509 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40000000 pages=509 from=1 to=1 right=rwa\n");
	/* what would follow faults in the same batch, and stays for it */
	migrate(512, 512, UVMP_CPU);
	migrate(510, 2, UVMP_CPU);
	engine_forget(&e);
	for (uint32_t number = 511; number < 519; number++)
		engine_fault(&e, 1, SPACE, at(number), UVMP_ACCESS_READ);
	engine_run(&e);
	assert_true(engine_has(&e, "map cause=demand block=0x40000000 pages=511 from=1 to=1 right=rwa\n"
	                           "unmap cause=demand block=0x40200000 pages=0-13 to=0\n"
	                           "copy cause=demand block=0x40200000 pages=0-6 from=0 to=1 detail=7 cuts=1-6\n"));
	assert_true(
	        engine_has(&e, "copy cause=prefetch block=0x40200000 pages=7-13 from=0 to=1 faulted=7\n"));
	stop();
	prepare("prefetch=sequential seq_pages=512", 1, 4);
	assert_true(engine_start(&e, 4, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	gpu_fault(1, 512, UVMP_ACCESS_READ); /* the cursor is in the first block */
	expect("allocate cause=demand block=0x40200000 pages=0-511 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40200000 pages=0 to=0\n"
	       "copy cause=demand block=0x40200000 pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40200000 pages=0 from=1 to=1 right=rwa\n"
	       "allocate cause=prefetch block=0x40000000 pages=0-511 to=1 detail=2097152 offset=0x200000\n"
	       "unmap cause=demand block=0x40000000 pages=0-511 to=0\n"
	       "copy cause=prefetch block=0x40000000 pages=0-511 from=0 to=1\n"
	       "map cause=demand block=0x40000000 pages=0-511 from=1 to=1 right=rwa\n");
	stop();
}

/* A page-wise order may take pages of the block itself; they do not come back with what they made room for.
 */
static void own_pages_do_not_come_back(void **state)
{
	(void)state;
	prepare("prefetch=density threshold=1 evict=lru4k", 1, 1);
	assert_true(engine_start(&e, 4, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	migrate(512, 128, 1);
	migrate(0, 256, 1);
	gpu_fault(1, 512 + 128, UVMP_ACCESS_READ); /* 383 are prefetched, and 256 are evicted for them */
	assert_int_equal(page(512).resident, 1);
	assert_int_equal(page(512 + 127).resident, 1);
	assert_int_equal(page(512 + 128).resident, 2);
	assert_int_equal(page(512 + 511).resident, 2);
	assert_int_equal(page(127).resident, 1);
	assert_int_equal(page(128).resident, 2);
	stop();
	/* where a page comes for the first time there is nothing to leave out, nor on the CPU */
	prepare("prefetch=density threshold=1 evict=lru4k", 1, 1);
	assert_true(engine_start(&e, 4, 4096));
	open_range(8 * PAGE, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_READ);
	cpu_fault(1, UVMP_ACCESS_READ);
	assert_int_equal(page(0).resident, 1);
	stop();
}

/* -- thrashing [driver: thrashing] -- */

/* Microseconds from the first fault. */
static void at_us(uint64_t us)
{
	e.now_ns = START_NS + us * 1000u;
	engine_forget(&e);
}

/* A write fault of a GPU or the CPU on page 0. */
static void fault_us(uint64_t us, uint32_t proc)
{
	at_us(us);
	if (proc == UVMP_CPU)
		cpu_fault(0, UVMP_ACCESS_WRITE);
	else
		gpu_fault(proc, 0, UVMP_ACCESS_WRITE);
}

/* The page bounces between two processors: faults of `first`, `second`, ... every 100 us until 400. */
static void bounce(uint32_t first, uint32_t second)
{
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t proc = i % 2u == 0 ? first : second;

		fault_us(i * 100u, proc);
		assert_int_equal(page(0).resident, 1u << proc);
		assert_int_equal(page(0).is_thrashing, i == 4u);
	}
}

/* Continues until `throttles` throttlings have been counted; one a period, the processors in turn. */
static void throttle(uint32_t first, uint32_t second, uint32_t throttles)
{
	fault_us(500, second);
	assert_int_equal(page(0).resident, 1u << second);
	for (uint32_t i = 0; i < throttles; i++) {
		uint32_t waits = i % 2u == 0 ? first : second, goes = i % 2u == 0 ? second : first;

		fault_us(600u + 500u * i, waits);
		assert_int_equal(e.count[UVMP_ACTION_THROTTLE], 1);
		assert_int_equal(page(0).resident, 1u << goes);
		if (i + 1u == throttles)
			return;
		fault_us(1000u + 500u * i, waits);
		assert_int_equal(page(0).resident, 1u << waits);
	}
}

/* A pinned page is mapped in one go with others: the action tells how often the pinned one was throttled. */
static void pinned_among_others(void **state)
{
	(void)state;
	start("prefetch=none pin_threshold=1", 1, UVMP_CPU);
	for (uint32_t i = 0; i < 7; i++) {
		at_us(i * 100u);
		if (i % 2u == 0)
			gpu_fault(1, 1, UVMP_ACCESS_WRITE);
		else
			cpu_fault(1, UVMP_ACCESS_WRITE);
	}
	assert_int_equal(e.count[UVMP_ACTION_THROTTLE], 1);
	at_us(1000);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	gpu_fault(1, 1, UVMP_ACCESS_WRITE);
	assert_true(engine_has(&e, "map cause=pin pages=0-1 from=1 to=1 right=rwa throttles=1\n"));
	assert_true(page(1).is_pinned);
	assert_false(page(0).is_pinned);
	stop();
}

static void worked_example_a(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	bounce(1, UVMP_CPU);
	fault_us(500, UVMP_CPU);
	assert_int_equal(page(0).resident, 1);
	fault_us(600, 1);
	expect("throttle cause=thrashing pages=0 to=1 until=2000000\n");
	assert_int_equal(page(0).resident, 1);
	fault_us(1000, 1);
	assert_int_equal(page(0).resident, 2);
	fault_us(1100, UVMP_CPU);
	expect("throttle cause=thrashing pages=0 to=0 until=2499968\n"); /* [driver: rounded-stamps] */
	assert_int_equal(e.status, UVMP_ERR_RETRY);
	stop();
	start("prefetch=none", 1, UVMP_CPU);
	bounce(1, UVMP_CPU);
	throttle(1, UVMP_CPU, 10); /* until 5100 */
	assert_false(page(0).is_pinned);
	fault_us(5500, UVMP_CPU);
	expect("unmap cause=demand pages=0 to=1\n"
	       "copy cause=pin pages=0 from=1 to=0 detail=1 throttles=10\n"
	       "map cause=pin pages=0 from=0 to=0 right=rwa throttles=10\n"
	       "map cause=pin pages=0 from=0 to=1 right=rw throttles=10\n");
	assert_true(page(0).is_pinned);
	/* 155 500 is the deadline, and the worker may begin 20 us before; until then the page stays */
	at_us(155479);
	engine_run(&e);
	expect("");
	at_us(155480);
	assert_int_equal(uvmp_service_wakeup_ns(e.service), e.now_ns + 20000u);
	engine_run(&e);
	expect("unmap cause=pin pages=0 to=1\n"
	       "unpin cause=pin pages=0\n");
	assert_false(page(0).is_pinned);
	fault_us(155600, 1);
	assert_int_equal(page(0).resident, 2);
	stop();
}

static void worked_example_b(void **state)
{
	(void)state;
	start_nvlink("prefetch=none", UVMP_CPU);
	bounce(1, 2);
	fault_us(500, 2);
	expect("map cause=pin pages=0 from=1 to=2 right=rwa\n");
	assert_true(page(0).is_pinned);
	assert_int_equal(page(0).resident, 2);
	stop();
}

/* The preferred location comes when the page thrashes already: before, it would have been there. */
static void worked_example_c(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_CPU);
	bounce(1, 2);
	advise(UVMP_ADVISE_PREFERRED, UVMP_CPU);
	fault_us(500, 2);
	expect("unmap cause=demand pages=0 to=1\n"
	       "copy cause=pin pages=0 from=1 to=0 detail=1\n"
	       "map cause=pin pages=0 from=0 to=2 right=rw\n"
	       "map cause=pin pages=0 from=0 to=1 right=rw\n");
	assert_int_equal(page(0).resident, 1);
	assert_true(page(0).is_pinned);
	stop();
}

static void worked_example_d(void **state)
{
	(void)state;
	start("prefetch=none", 2, UVMP_CPU);
	bounce(1, 2);
	throttle(1, 2, 10);
	fault_us(5500, 2);
	assert_int_equal(page(0).resident, 4);
	assert_true(page(0).is_pinned);
	fault_us(5600, 1);
	expect("throttle cause=thrashing pages=0 to=1 until=7000000\n");
	fault_us(6000, 1);
	expect("unmap cause=demand pages=0 to=2\n"
	       "copy cause=pin pages=0 from=2 to=0 detail=1\n"
	       "map cause=pin pages=0 from=0 to=1 right=rw\n"
	       "map cause=pin pages=0 from=0 to=2 right=rw\n");
	assert_int_equal(page(0).resident, 1);
	fault_us(6100, 2);
	assert_int_equal(page(0).resident, 1);
	stop();
}

/* A page that does not move thrashes too, if processors revoke each other's rights. Without memory for the
 * array of pages this is not detected. */
static void revocations_are_events(void **state)
{
	(void)state;
	for (uint32_t has_room = 0; has_room < 2; has_room++) {
		prepare("prefetch=none", 2, 4);
		hide("block=");
		assert_true(engine_start(&e, 4, has_room ? 1u << 17 : 0));
		open_range(MIB2, UVMP_CPU);
		advise_part(0, 1, UVMP_ADVISE_DISCARD, 0); /* so advice does not map it */
		advise_part(0, 512, UVMP_ADVISE_ACCESSED_BY, 1);
		advise_part(0, 512, UVMP_ADVISE_ACCESSED_BY, 2);
		for (uint32_t i = 0; i < 7; i++) {
			at_us(100u * i);
			gpu_fault(1u + i % 2u, 0, UVMP_ACCESS_ATOMIC_STRONG);
			assert_int_equal(e.count[UVMP_ACTION_THROTTLE], has_room && i == 6);
			assert_int_equal(e.count[UVMP_ACTION_REVOKE], !has_room || i < 6);
			assert_int_equal(page(0).is_thrashing, has_room && i >= 4);
		}
		stop();
	}
}

/* [driver: pinned-stops-mapping]: at a level of rights where all pages are pinned, others are mapped for
 * the last time. */
static void last_level_with_pins(void **state)
{
	static const char *const policy[] = {"prefetch=none", "prefetch=none quirks=0"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		start(policy[i], 2, UVMP_PROC_NONE);
		cpu_fault(0, UVMP_ACCESS_WRITE);
		bounce(1, UVMP_CPU);
		throttle(1, UVMP_CPU, 10);
		fault_us(5500, UVMP_CPU);
		assert_true(page(0).is_pinned);
		advise(UVMP_ADVISE_PREFERRED, UVMP_CPU);
		advise(UVMP_ADVISE_ACCESSED_BY, 1);
		at_us(5700);
		engine_fault(&e, 2, SPACE, at(0), UVMP_ACCESS_WRITE); /* pinned */
		engine_fault(&e, 2, SPACE, at(1), UVMP_ACCESS_ATOMIC_STRONG);
		engine_run(&e);
		assert_true(engine_has(&e, "populate cause=demand pages=1 to=0 detail=1\n"
		                           "map cause=pin pages=0 from=0 to=2 right=rw\n"
		                           "map cause=demand pages=1 from=0 to=2 right=rwa\n"));
		assert_int_equal(engine_has(&e, "map cause=hint pages=1 from=0 to=1 right=r\n"), i == 1);
		stop();
	}
}

/* Copies for readers are no bouncing, and what the user asks for ends it. */
static void resets(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	bounce(1, UVMP_CPU);
	fault_us(500, UVMP_CPU);
	migrate(0, 1, 1);
	assert_false(page(0).is_thrashing);
	stop();
	start("prefetch=none", 1, UVMP_CPU);
	bounce(1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	assert_false(page(0).is_thrashing);
	stop();
	start("prefetch=none", 1, UVMP_CPU); /* nothing to end */
	cpu_fault(1, UVMP_ACCESS_WRITE);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	stop();
}

/* Quiet for an epoch: the block begins again, and a throttling later counts from none. */
static void epochs(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	bounce(1, UVMP_CPU);
	fault_us(2000000, UVMP_CPU);
	assert_false(page(0).is_thrashing);
	fault_us(2000100, 1);
	assert_int_equal(page(0).resident, 2);
	stop();
}

/* The prefetcher leaves thrashing pages where they are. */
static void prefetch_beside_thrashing(void **state)
{
	(void)state;
	prepare("prefetch=density", 1, 4);
	hide("block=");
	assert_true(engine_start(&e, 4, 1u << 17));
	open_range(64 * PAGE, UVMP_CPU);
	for (uint32_t i = 0; i < 6; i++)
		fault_us(100u * i, i % 2u == 0 ? 1 : UVMP_CPU);
	assert_true(page(0).is_thrashing);
	assert_true(page(15).is_thrashing);
	migrate(32, 32, 1);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(15).resident, 2); /* the last one of these faults has moved one page */
	assert_int_equal(page(20).resident, 1);
	at_us(600);
	gpu_fault(1, 20, UVMP_ACCESS_READ); /* with its big page, all but page 0 is there */
	assert_int_equal(page(16).resident, 2);
	assert_int_equal(page(31).resident, 2);
	assert_int_equal(page(0).resident, 1);
	stop();
}

/* [driver: stale-prefetch-mask]: with two destinations the prefetcher is not asked, but what it said before,
 * of another block here, still names the cause of what moves. Nothing outside shows it, so this looks
 * Only what takes a thousand evictions is set from inside. */
static void stale_prefetch_mask(void **state)
{
	static const char *const policy[] = {"prefetch=density", "prefetch=density quirks=0"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		prepare(policy[i], 1, 4);
		assert_true(engine_start(&e, 4, 1u << 17));
		open_range(MIB2, UVMP_PROC_NONE);
		engine_range(&e, SPACE, BASE + MIB2, 8 * PAGE, UVMP_CPU);
		cpu_fault(0, UVMP_ACCESS_WRITE); /* 0 to 15 */
		assert_int_equal(advise_part(0, 512, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
		gpu_fault(1, 512 + 3, UVMP_ACCESS_READ);
		assert_int_equal(uvmp_mask_weight(&e.service->prefetched), 7);
		engine_forget(&e);
		cpu_fault(16, UVMP_ACCESS_WRITE);
		gpu_fault(1, 512 + 3, UVMP_ACCESS_READ);
		engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_ATOMIC_STRONG); /* stays */
		engine_fault(&e, 1, SPACE, at(40), UVMP_ACCESS_WRITE);
		engine_run(&e);
		assert_int_equal(page(0).resident, 1);
		assert_int_equal(page(40).resident, 2);
		assert_int_equal(page(41).resident, 0);
		assert_int_equal(uvmp_mask_weight(&e.service->prefetched), i == 0 ? 15 : 0);
		stop();
	}
}

/* -- failures -- */

/* Refused chunks are given back, the pages stay where they are. */
static void refused_allocation(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	engine_fail(&e, UVMP_ACTION_ALLOCATE, 0, 1, UVMP_ERR_NO_MEMORY);
	engine_fail(&e, UVMP_ACTION_ALLOCATE, 1, 1, UVMP_ERR_STATE);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(1), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(2), UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(0).write, 1);
	assert_int_equal(e.count[UVMP_ACTION_COPY], 0);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 3);
	assert_int_equal(migrate(0, 8, 1), UVMP_OK);
	assert_int_equal(page(0).resident, 2);
	stop();
}

/* What did not come stays; what did is kept, but not mapped. */
static void failed_copies(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	engine_fail(&e, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_STATE);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(4), UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(4).resident, 2);
	assert_int_equal(page(0).read | page(4).read, 0);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 2);
	/* a page that was resident nowhere stays so */
	stop();
	start("prefetch=none", 1, UVMP_PROC_NONE);
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 1, UVMP_ERR_STATE);
	assert_false(is_served(1, 0, UVMP_ACCESS_WRITE));
	assert_int_equal(page(0).resident, 0);
	assert_true(is_served(1, 0, UVMP_ACCESS_WRITE));
	assert_int_equal(page(0).resident, 2);
	stop();
	/* either leg of a staged copy */
	for (uint32_t leg = 0; leg < 2; leg++) {
		start("prefetch=none", 2, UVMP_PROC_NONE);
		gpu_fault(1, 0, UVMP_ACCESS_WRITE);
		engine_fail(&e, UVMP_ACTION_COPY, leg, 1, UVMP_ERR_STATE);
		assert_false(is_served(2, 0, UVMP_ACCESS_WRITE));
		assert_int_equal(page(0).resident, 2);
		assert_true(is_served(2, 0, UVMP_ACCESS_WRITE));
		assert_int_equal(page(0).resident, 4);
		stop();
	}
	/* a copy for a reader */
	start("prefetch=none", 1, UVMP_CPU);
	advise(UVMP_ADVISE_READ_DUPLICATE, 0);
	engine_fail(&e, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_STATE);
	assert_false(is_served(1, 0, UVMP_ACCESS_READ));
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(0).read, 1);
	assert_false(page(0).is_duplicated);
	stop();
}

/* Other actions that fail end the step behind the destination at work. */
static void other_failures(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_PROC_NONE);
	cpu_fault(0, UVMP_ACCESS_WRITE);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	cpu_fault(1, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	engine_fail(&e, UVMP_ACTION_REVOKE, 0, 1, UVMP_ERR_STATE);
	engine_fault(&e, 1, SPACE, at(1), UVMP_ACCESS_ATOMIC_STRONG);
	engine_fault(&e, 1, SPACE, at(2), UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 2);
	assert_int_equal(page(1).atomic, 2);
	assert_int_equal(page(2).resident, 0);
	stop();
	/* a THROTTLE that fails, in the step of another page: before an eviction, and without */
	for (uint32_t roots = 1; roots <= 2; roots++) {
		prepare("prefetch=none", 1, roots);
		assert_true(engine_start(&e, 4, 1u << 17));
		open_range(2u * MIB2, UVMP_CPU);
		migrate(512, 1, 1);
		for (uint32_t i = 0; i < 5; i++)
			fault_us(100u * i, i % 2u == 0 ? 1 : UVMP_CPU);
		fault_us(500, UVMP_CPU);
		migrate(1, 511, UVMP_CPU);
		if (roots == 1)
			migrate(512, 1, 1);
		at_us(600);
		engine_fail(&e, UVMP_ACTION_THROTTLE, 0, 1, UVMP_ERR_STATE);
		engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
		engine_fault(&e, 1, SPACE, at(1), UVMP_ACCESS_WRITE);
		engine_run(&e);
		assert_int_equal(e.count[UVMP_ACTION_CANCEL], 2);
		assert_int_equal(page(1).resident, 1);
		assert_int_equal(e.count[UVMP_ACTION_EVICT], 2u - roots);
		stop();
	}
}

/* [driver: root-queues]: mapping a discarded page marks the root, though other pages in it have contents; not
 * where a processor maps the memory of another one. */
static void mapped_discarded(uint32_t reader, const char *victim)
{
	prepare("prefetch=none", 2, 2);
	e.processors.can_access[2] = 7;
	assert_true(engine_start(&e, 4, 4096));
	open_range(3u * MIB2, UVMP_CPU);
	assert_int_equal(advise_part(0, 512, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(advise_part(1, 1, UVMP_ADVISE_DISCARD, 0), UVMP_OK);
	gpu_fault(reader, 1, UVMP_ACCESS_READ);
	assert_int_equal(page(1).resident, 2);
	assert_true(page(1).is_discarded);
	engine_forget(&e);
	gpu_fault(1, 1024, UVMP_ACCESS_WRITE);
	assert_true(engine_has(&e, victim));
	stop();
}

static void discarded_page_is_mapped(void **state)
{
	(void)state;
	mapped_discarded(1, "evict cause=eviction block=0x40000000 pages=0-511 from=1 victim=discarded ");
	mapped_discarded(2, "evict cause=eviction block=0x40200000 pages=0-511 from=1 victim=used ");
}

/* -- room -- */

/* An eviction, and the walk again; a page that is throttled was told of in the first one. */
static void evictions(void **state)
{
	(void)state;
	prepare("prefetch=none counters=on", 2, 1);
	assert_true(engine_start(&e, 4, 1u << 17));
	open_range(2u * MIB2, UVMP_CPU);
	assert_int_equal(advise_part(512, 512, UVMP_ADVISE_ACCESSED_BY, 2), UVMP_OK);
	for (uint32_t i = 0; i < 5; i++)
		fault_us(100u * i, i % 2u == 0 ? 1 : UVMP_CPU);
	fault_us(500, UVMP_CPU);
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	at_us(600);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(1), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	expect("throttle cause=thrashing block=0x40000000 pages=0 to=1 until=2000000\n"
	       "evict cause=eviction block=0x40200000 pages=0-511 from=1 victim=used for=0x40000000 "
	       "detail=2097152\n"
	       "unmap cause=eviction block=0x40200000 pages=0 to=1 for=0x40000000\n"
	       "copy cause=eviction block=0x40200000 pages=0 from=1 to=0 for=0x40000000\n"
	       "map cause=eviction block=0x40200000 pages=0 from=0 to=1 right=rwa for=0x40000000\n"
	       "map cause=eviction block=0x40200000 pages=0 from=0 to=2 right=r for=0x40000000\n"
	       "allocate cause=demand block=0x40000000 pages=0-511 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40000000 pages=1 to=0\n"
	       "copy cause=demand block=0x40000000 pages=1 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40000000 pages=1 from=1 to=1 right=rwa\n");
	/* an eviction that fails ends the step */
	engine_fail(&e, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_STATE);
	assert_false(is_served(1, 513, UVMP_ACCESS_WRITE));
	assert_int_equal(page(513).resident, 1);
	stop();
}

/* After an eviction the driver asks its prefetcher again; those of UVM Smart have counted what they said, and
 * are asked once. */
static void asked_again(void **state)
{
	static const char *const policy[] = {"prefetch=density", "prefetch=sl"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		prepare(policy[i], 1, 1);
		assert_true(engine_start(&e, 8, 1u << 14));
		open_range(2u * MIB2, UVMP_CPU);
		gpu_fault(1, 0, UVMP_ACCESS_WRITE);
		gpu_fault(1, 512, UVMP_ACCESS_WRITE);
		assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
		assert_int_equal(page(512 + 15).resident, 2);
		assert_int_equal(page(512 + 16).resident, 1);
		stop();
	}
}

/* Evicted pages are mapped again for those that access the range, but never on a preferred location, with
 * read duplication, or where copies are left. */
static void mapped_again(void **state)
{
	static const char *const policy = "prefetch=none counters=on";

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		prepare(policy, 2, 1);
		assert_true(engine_start(&e, 8, 1u << 14));
		open_range(2u * MIB2, UVMP_CPU);
		if (i == 1)
			assert_int_equal(advise_part(0, 512, UVMP_ADVISE_PREFERRED, 1), UVMP_OK);
		if (i == 2)
			assert_int_equal(advise_part(0, 512, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
		gpu_fault(1, 0, UVMP_ACCESS_WRITE);
		gpu_fault(1, 512, UVMP_ACCESS_WRITE);
		assert_int_equal(page(0).resident, 1);
		assert_int_equal(page(0).read, i == 0 ? 2 : 0);
		stop();
	}
	/* a preferred location without memory is mapped to that of others */
	prepare("prefetch=none", 2, 1);
	e.processors.no_memory = 4;
	e.gpu[1] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu), .fault_entries = 16, .utlbs = 1};
	assert_true(engine_start(&e, 8, 1u << 14));
	open_range(2u * MIB2, UVMP_CPU);
	assert_int_equal(advise_part(0, 512, UVMP_ADVISE_PREFERRED, 2), UVMP_OK);
	assert_int_equal(advise_part(0, 512, UVMP_ADVISE_ACCESSED_BY, 2), UVMP_OK);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	assert_int_equal(page(0).read, 4);
	stop();
	/* GPU 1 loses its copy of a page that two others have */
	prepare("prefetch=none counters=on", 2, 2);
	e.gpu[0].memory_bytes = MIB2;
	e.gpu[0].splits = 1;
	assert_true(engine_start(&e, 8, 1u << 14));
	open_range(3u * MIB2, UVMP_CPU);
	assert_int_equal(advise_part(0, 1024, UVMP_ADVISE_READ_DUPLICATE, 0), UVMP_OK);
	gpu_fault(2, 0, UVMP_ACCESS_READ);
	gpu_fault(2, 512, UVMP_ACCESS_READ);
	engine_fail(&e, UVMP_ACTION_UNMAP, 0, 1, UVMP_ERR_STATE);
	assert_int_equal(advise_part(0, 1024, UVMP_ADVISE_UNSET_DUPLICATE, 0), UVMP_ERR_STATE);
	for (uint32_t first = 0; first < 1024; first += 512) {
		if (!page(first).is_duplicated)
			continue;
		assert_int_equal(advise_part(first, 512, UVMP_ADVISE_ACCESSED_BY, 1), UVMP_OK);
		assert_int_equal(page(first).read & 2u, 0); /* not to one of several copies */
		gpu_fault(1, first, UVMP_ACCESS_READ);
		assert_int_equal(page(first).resident, 7);
		gpu_fault(1, 1024, UVMP_ACCESS_READ);
		assert_int_equal(page(first).resident, 1); /* GPU 2 gives its copy up too [driver: victim-choice] */
		assert_int_equal(page(first).read, 2);
		assert_false(page(first).is_duplicated);
	}
	stop();
}

/* A policy that begins inside a block splits it: pages on GPUs migrate to the CPU, and no processor is
 * mapped.
 */
static void parted_block(void **state)
{
	(void)state;
	start("prefetch=none", 1, UVMP_CPU);
	migrate(0, 8, 1);
	engine_forget(&e);
	assert_int_equal(advise_part(4, 4, UVMP_ADVISE_NO_DUPLICATE, 0), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_MAP], 0);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(7).resident, 1);
	assert_int_equal(page(7).read, 0);
	stop();
}

/* plan=overlapped: room for the next block is made while this one's pages come. */
static void eviction_ahead(void **state)
{
	(void)state;
	prepare("prefetch=none plan=overlapped", 1, 2);
	assert_true(engine_start(&e, 8, 4096));
	open_range(5u * MIB2, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE); /* no other block behind it */
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	engine_fault(&e, 1, SPACE, at(1024), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(1536), UVMP_ACCESS_WRITE);
	engine_run(&e);
	expect("evict cause=eviction block=0x40000000 pages=0-511 from=1 victim=used for=0x40400000 "
	       "detail=2097152\n"
	       "unmap cause=eviction block=0x40000000 pages=0 to=1 for=0x40400000\n"
	       "copy cause=eviction block=0x40000000 pages=0 from=1 to=0 for=0x40400000\n"
	       "allocate cause=demand block=0x40400000 pages=0-511 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40400000 pages=0 to=0\n"
	       "evict cause=eviction block=0x40200000 pages=0-511 from=1 victim=used for=0x40600000 "
	       "detail=2097152 offset=0x200000\n"
	       "unmap cause=eviction block=0x40200000 pages=0 to=1 for=0x40600000\n"
	       "copy cause=demand block=0x40400000 pages=0 from=0 to=1 detail=1\n"
	       "copy cause=eviction block=0x40200000 pages=0 from=1 to=0 for=0x40600000\n"
	       "map cause=demand block=0x40400000 pages=0 from=1 to=1 right=rwa\n"
	       "allocate cause=demand block=0x40600000 pages=0-511 to=1 detail=2097152 offset=0x200000\n"
	       "unmap cause=demand block=0x40600000 pages=0 to=0\n"
	       "copy cause=demand block=0x40600000 pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40600000 pages=0 from=1 to=1 right=rwa\n");
	cpu_fault(1024, UVMP_ACCESS_WRITE);
	stop();
	/* the only root is the one that pages come to */
	prepare("prefetch=none plan=overlapped", 1, 1);
	assert_true(engine_start(&e, 8, 4096));
	open_range(5u * MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(512), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(page(0).resident, 1);
	assert_int_equal(page(512).resident, 2);
	stop();
	/* there is no need where memory is left */
	prepare("prefetch=none plan=overlapped evict=lru4k", 1, 1);
	assert_true(engine_start(&e, 8, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(512), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0);
	stop();
	prepare("prefetch=none plan=overlapped", 1, 4);
	assert_true(engine_start(&e, 8, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, at(0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(512), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0);
	stop();
}

/* The same with units: one leaves beside the copies, and the block that comes next finds the room. */
static void units_ahead(void **state)
{
	(void)state;
	prepare("prefetch=none plan=overlapped evict=lru2m granularity=64k", 1, 1);
	assert_true(engine_start(&e, 8, 4096));
	open_range(3u * MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 512; i++)
		gpu_fault(1, i, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	engine_fault(&e, 1, SPACE, at(512), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(1024), UVMP_ACCESS_WRITE);
	engine_run(&e);
	expect("evict cause=eviction block=0x40000000 pages=0-15 from=1 victim=order for=0x40200000 "
	       "detail=65536\n"
	       "unmap cause=eviction block=0x40000000 pages=0-15 to=1 for=0x40200000\n"
	       "copy cause=eviction block=0x40000000 pages=0-15 from=1 to=0 for=0x40200000\n"
	       "allocate cause=demand block=0x40200000 pages=0-15 to=1 detail=65536\n"
	       "unmap cause=demand block=0x40200000 pages=0 to=0\n"
	       "evict cause=eviction block=0x40000000 pages=16-31 from=1 victim=order for=0x40400000 "
	       "detail=65536\n"
	       "unmap cause=eviction block=0x40000000 pages=16-31 to=1 for=0x40400000\n"
	       "copy cause=demand block=0x40200000 pages=0 from=0 to=1 detail=1\n"
	       "copy cause=eviction block=0x40000000 pages=16-31 from=1 to=0 for=0x40400000\n"
	       "map cause=demand block=0x40200000 pages=0 from=1 to=1 right=rwa\n"
	       "allocate cause=demand block=0x40400000 pages=0-15 to=1 detail=65536 offset=0x10000\n"
	       "unmap cause=demand block=0x40400000 pages=0 to=0\n"
	       "copy cause=demand block=0x40400000 pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40400000 pages=0 from=1 to=1 right=rwa\n");
	stop();
}

/* plan=unobtrusive: where memory is full, the first victim leaves when the batch begins; it is not the block
 * that the batch begins with. */
static void eviction_with_the_batch(void **state)
{
	(void)state;
	prepare("prefetch=none plan=unobtrusive", 1, 2);
	assert_true(engine_start(&e, 8, 4096));
	open_range(5u * MIB2, UVMP_CPU);
	gpu_fault(1, 0, UVMP_ACCESS_WRITE);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0); /* nothing is full */
	gpu_fault(1, 512, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	gpu_fault(1, 1024, UVMP_ACCESS_WRITE);
	expect("evict cause=eviction block=0x40000000 pages=0-511 from=1 victim=used for=0x40400000 "
	       "detail=2097152\n"
	       "unmap cause=eviction block=0x40000000 pages=0 to=1 for=0x40400000\n"
	       "copy cause=eviction block=0x40000000 pages=0 from=1 to=0 for=0x40400000\n"
	       "allocate cause=demand block=0x40400000 pages=0-511 to=1 detail=2097152\n"
	       "unmap cause=demand block=0x40400000 pages=0 to=0\n"
	       "copy cause=demand block=0x40400000 pages=0 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40400000 pages=0 from=1 to=1 right=rwa\n");
	engine_forget(&e);
	gpu_fault(1, 513, UVMP_ACCESS_WRITE); /* the next victim is the block that faults */
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0);
	assert_int_equal(page(513).resident, 2);
	stop();
	prepare("prefetch=none plan=unobtrusive evict=lru4k", 1, 1);
	assert_true(engine_start(&e, 8, 4096));
	open_range(2u * MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 512; i++)
		gpu_fault(1, i, UVMP_ACCESS_WRITE);
	engine_forget(&e);
	gpu_fault(1, 1023, UVMP_ACCESS_WRITE);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	engine_fault(&e, 1, SPACE, at(5000), UVMP_ACCESS_WRITE); /* no such range: nothing to make room for */
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	stop();
}

/* A little of everything that takes something from the arena. Returns how many requests and bottom halves
 * ended well. */
static uint32_t exercise(const char *policy, size_t extra)
{
	uint32_t done = 0;
	bool is_mapped;

	prepare(policy, 2, 4);
	e.processors.no_memory = 4;
	e.gpu[1] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu), .fault_entries = 16, .utlbs = 1};
	assert_true(engine_start(&e, 0, extra));
	arena_without_reserve(e.service);
	open_range(2u * MIB2, UVMP_PROC_NONE);
	for (uint32_t i = 0; i < 6; i++) {
		at_us(100u * i);
		done += i % 2u == 0 ? is_served(1, 0, UVMP_ACCESS_WRITE)
		                    : cpu_fault(0, UVMP_ACCESS_WRITE) == UVMP_OK;
	}
	done += advise_part(0, 1024, UVMP_ADVISE_READ_DUPLICATE, 0) == UVMP_OK;
	done += is_served(1, 40, UVMP_ACCESS_READ);
	done += cpu_fault(40, UVMP_ACCESS_READ) == UVMP_OK;
	done += advise_part(0, 1024, UVMP_ADVISE_UNSET_DUPLICATE, 0) == UVMP_OK;
	done += cpu_fault(80, UVMP_ACCESS_WRITE) == UVMP_OK;
	/* to be mapped to the CPU's memory: without memory for that the fault would repeat without end */
	is_mapped = is_served(2, 80, UVMP_ACCESS_WRITE);
	assert_int_equal((page(80).write & 4u) != 0, is_mapped);
	done += is_mapped;
	done += advise_part(0, 1024, UVMP_ADVISE_ACCESSED_BY, 2) == UVMP_OK;
	done += cpu_fault(512, UVMP_ACCESS_WRITE) == UVMP_OK; /* and GPU 2 is mapped with it */
	stop();
	return done;
}

/* With any small arena: operations without memory fail or are skipped, and the others continue. */
static void arena_of_every_size(void **state)
{
	static const char *const policy[] = {"prefetch=none", "prefetch=tbn", "prefetch=tbn evict=lru2m"};
	uint32_t least = 14, most = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t extra = 0; extra < 1600; extra += 16) {
			uint32_t done = exercise(policy[i], extra);

			least = done < least ? done : least;
			most = done > most ? done : most;
		}
		assert_int_equal(exercise(policy[i], 1u << 16), 14);
	}
	assert_true(least < 6);
	assert_int_equal(most, 14);
}

/* -- pages of 64 KiB -- */

static void large_pages(void **state)
{
	struct uvmp_page_state first = {.size = sizeof(first)};

	(void)state;
	prepare("prefetch=density", 1, 4);
	e.params.page_bytes = 65536;
	assert_true(engine_start(&e, 4, 1u << 14));
	open_range(MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 6; i++) {
		at_us(100u * i);
		if (i % 2u == 0)
			gpu_fault(1, 0, UVMP_ACCESS_WRITE);
		else
			cpu_fault(0, UVMP_ACCESS_WRITE);
	}
	first = engine_page(&e, SPACE, BASE + 0xffff);
	assert_true(first.is_thrashing);
	assert_int_equal(first.resident, 1);
	at_us(100000);
	gpu_fault(1, 16 * 31, UVMP_ACCESS_WRITE);
	expect("unmap cause=demand block=0x40000000 pages=31 to=0\n"
	       "copy cause=demand block=0x40000000 pages=31 from=0 to=1 detail=1\n"
	       "map cause=demand block=0x40000000 pages=31 from=1 to=1 right=rwa\n");
	assert_true(uvmp_service_check(e.service));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(first_touch_is_populated),
	        cmocka_unit_test(pages_move),
	        cmocka_unit_test(several_destinations),
	        cmocka_unit_test(staged_and_direct_copies),
	        cmocka_unit_test(readers_get_copies),
	        cmocka_unit_test(duplication_ends_remote_mappings),
	        cmocka_unit_test(worked_example_1),
	        cmocka_unit_test(worked_example_2),
	        cmocka_unit_test(worked_example_3),
	        cmocka_unit_test(worked_example_4),
	        cmocka_unit_test(worked_example_5),
	        cmocka_unit_test(worked_example_6),
	        cmocka_unit_test(accessed_by_are_mapped),
	        cmocka_unit_test(remote_rights),
	        cmocka_unit_test(victims_lose_rights),
	        cmocka_unit_test(unreachable_is_not_mapped),
	        cmocka_unit_test(discarded_pages),
	        cmocka_unit_test(discarded_root_leaves_first),
	        cmocka_unit_test(discarded_page_is_mapped),
	        cmocka_unit_test(prefetching),
	        cmocka_unit_test(prefetched_copies),
	        cmocka_unit_test(copies_that_outlive_the_policy),
	        cmocka_unit_test(trees),
	        cmocka_unit_test(groupings),
	        cmocka_unit_test(follows),
	        cmocka_unit_test(own_pages_do_not_come_back),
	        cmocka_unit_test(pinned_among_others),
	        cmocka_unit_test(worked_example_a),
	        cmocka_unit_test(worked_example_b),
	        cmocka_unit_test(worked_example_c),
	        cmocka_unit_test(worked_example_d),
	        cmocka_unit_test(revocations_are_events),
	        cmocka_unit_test(last_level_with_pins),
	        cmocka_unit_test(resets),
	        cmocka_unit_test(epochs),
	        cmocka_unit_test(prefetch_beside_thrashing),
	        cmocka_unit_test(stale_prefetch_mask),
	        cmocka_unit_test(refused_allocation),
	        cmocka_unit_test(failed_copies),
	        cmocka_unit_test(other_failures),
	        cmocka_unit_test(evictions),
	        cmocka_unit_test(asked_again),
	        cmocka_unit_test(mapped_again),
	        cmocka_unit_test(parted_block),
	        cmocka_unit_test(eviction_ahead),
	        cmocka_unit_test(units_ahead),
	        cmocka_unit_test(eviction_with_the_batch),
	        cmocka_unit_test(arena_of_every_size),
	        cmocka_unit_test(large_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
