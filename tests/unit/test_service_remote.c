/* Counted accesses in the engine [uvmsmart: counter-register, access-counting, round-trips,
 * migrate-or-remote]: what stays on the CPU, what becomes hot, round trips. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/engine_internals.h"
#include "evict/lfu2m_internal.h"
#include "support/arena.h"
#include "support/engine_host.h"
#include "vectors/reference/counter_tree.h"

#define MIB2  0x200000u
#define KIB64 0x10000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine host;

/* State of evict=lfu2m on GPU 1. */
static const struct frequency *order_of(const struct uvmp_service *service)
{
	return service->gpu[1].order.state;
}

static void prepare(const char *policy, uint32_t gpus, uint32_t roots)
{
	engine_init(&host, gpus, roots);
	host.hidden[3] = "space=";
	host.hidden[4] = "batch=";
	assert_true(engine_policy(&host, policy));
}

static void start(size_t extra)
{
	assert_true(engine_start(&host, 16, extra));
	for (uint32_t gpu = 1; gpu < host.processors.count; gpu++)
		engine_bind(&host, gpu, SPACE);
}

#define COMMON " thrash=off counters=off replay=batch "

/* One GPU of `roots`, and data of the CPU in windows from BASE on. */
static void begin(const char *policy, uint32_t roots, uint64_t bytes)
{
	prepare(policy, 1, roots);
	start(1 << 20);
	engine_range(&host, SPACE, BASE, bytes, UVMP_CPU);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&host));
	engine_stop(&host);
	return 0;
}

static void fault(uvmp_addr address, enum uvmp_access access)
{
	engine_fault(&host, 1, SPACE, address, access);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

static void use(uvmp_addr address, uint32_t times)
{
	while (times-- > 0)
		assert_int_equal(uvmp_service_access(host.service, 1, SPACE, address, UVMP_ACCESS_READ),
		                 UVMP_OK);
}

static handle handle_of(uvmp_addr address)
{
	return uvmpi_block_find(host.service, uvmpi_space_find(host.service, SPACE), address);
}

static struct counters *counters_at(uvmp_addr address)
{
	handle h = handle_of(address);

	return h == 0 ? NULL : counters_of(host.service, block_at(host.service, h));
}

static uint32_t count(uvmp_addr address)
{
	return uvmp_counter_tree_count(&counters_at(address)->tree, (uint32_t)(address % MIB2 / KIB64));
}

static uint32_t rounds(uvmp_addr address)
{
	return uvmp_counter_tree_rounds(&counters_at(address)->tree, (uint32_t)(address % MIB2 / KIB64));
}

static bool is_home(uvmp_addr address)
{
	return engine_page(&host, SPACE, address).resident == 1u << UVMP_CPU;
}

static bool is_here(uvmp_addr address)
{
	return engine_page(&host, SPACE, address).resident == 2u;
}

/* On the CPU, and the GPU reads it there: only reads. */
static bool is_remote(uvmp_addr address)
{
	struct uvmp_page_state page = engine_page(&host, SPACE, address);

	return page.resident == 1u && (page.read & 2u) != 0 && (page.write & 2u) == 0;
}

static bool has_notes(void)
{
	return uvmp_service_has_notes(host.service);
}

/* -- faults and accesses -- */

static void test_a_page_is_read_until_it_is_hot(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always prefetch=none" COMMON, 4, MIB2);
	fault(BASE + 3 * PAGE, UVMP_ACCESS_READ);
	engine_expect(&host, "batch to=1 count=1 detail=1\n"
	                     "map cause=counter block=0x40000000 pages=0-511 from=0 to=1 right=r\n"
	                     "replay to=1\n"
	                     "done to=1\n");
	assert_int_equal(count(BASE), 1);
	use(BASE + 3 * PAGE, 3);
	use(BASE + 4 * PAGE, 3);
	assert_int_equal(count(BASE), 7);
	assert_false(has_notes());
	assert_false(engine_step(&host));
	use(BASE + 5 * PAGE, 1);
	assert_true(has_notes());
	use(BASE + 3 * PAGE, 1);
	use(BASE + KIB64, 1); /* another basic block */
	assert_int_equal(engine_run(&host), UVMP_OK);
	engine_expect(&host, "batch cause=counter to=1 count=2 detail=2\n"
	                     "allocate cause=counter block=0x40000000 pages=0-511 to=1 detail=2097152\n"
	                     "unmap cause=counter block=0x40000000 pages=3,5 to=1\n"
	                     "unmap cause=counter block=0x40000000 pages=3,5 to=0\n"
	                     "copy cause=counter block=0x40000000 pages=3,5 from=0 to=1 detail=2\n"
	                     "map cause=counter block=0x40000000 pages=3,5 from=1 to=1 right=rwa\n");
	assert_true(is_here(BASE + 3 * PAGE) && is_here(BASE + 5 * PAGE));
	assert_true(is_remote(BASE + 4 * PAGE) && is_remote(BASE + KIB64));
	assert_false(has_notes());
	use(BASE + 3 * PAGE, 1); /* counted, and nothing to decide */
	assert_false(has_notes());
	assert_int_equal(count(BASE), 10);
}

static void test_the_prefetcher_is_asked_for_hot_pages(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=3 prefetch=tbn" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE + 5 * PAGE, 2);
	engine_forget(&host);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(
	        engine_has(&host, "copy cause=counter block=0x40000000 pages=0-5 from=0 to=1 detail=1\n"));
	assert_true(engine_has(&host, "copy cause=prefetch block=0x40000000 pages=6-15 from=0 to=1"));
}

static void test_stores_migrate(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always prefetch=none" COMMON, 4, 2 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE, UVMP_ACCESS_WRITE);
	assert_true(is_here(BASE) && is_remote(BASE + PAGE));
	assert_int_equal(uvmp_counter_tree_marks(&counters_at(BASE)->tree, 0, 1), 3);
	/* a load and a store of one page, and a load beside, in one batch */
	engine_fault(&host, 1, SPACE, BASE + MIB2, UVMP_ACCESS_READ);
	engine_fault(&host, 1, SPACE, BASE + MIB2, UVMP_ACCESS_WRITE);
	engine_fault(&host, 1, SPACE, BASE + MIB2 + PAGE, UVMP_ACCESS_READ);
	engine_forget(&host);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(
	        engine_has(&host, "map cause=counter block=0x40200000 pages=1-511 from=0 to=1 right=r\n"));
	assert_true(is_here(BASE + MIB2) && is_remote(BASE + MIB2 + PAGE));
	/* the last page for reading is not mapped, if a store takes it along */
	engine_fault(&host, 1, SPACE, BASE + MIB2 + KIB64, UVMP_ACCESS_ATOMIC_STRONG);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE + MIB2 + KIB64));
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_COUNTERS], 0);
}

static void test_absent_pages_are_populated(void **unused)
{
	(void)unused;
	prepare("evict=lru2m remote=always prefetch=none" COMMON, 1, 4);
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
	assert_int_equal(host.count[UVMP_ACTION_POPULATE], 1);
	use(BASE + PAGE, 3); /* neither there nor mapped */
	assert_int_equal(count(BASE), 1);
}

/* The CPU may write to pages that the GPU reads remotely; after a page migrates back to the CPU, the GPU
 * reads it remotely again. */
static void test_the_cpu_goes_on(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_page(&host, SPACE, BASE).write, 1);
	assert_int_equal(uvmp_service_access(host.service, UVMP_CPU, SPACE, BASE, UVMP_ACCESS_WRITE),
	                 UVMP_OK);
	assert_int_equal(count(BASE), 1);
	fault(BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(uvmp_service_cpu_fault(host.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_home(BASE));
	assert_int_equal(engine_page(&host, SPACE, BASE).read, 1);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE));
}

static void test_bad_accesses(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always prefetch=none" COMMON, 4, MIB2);
	assert_int_equal(uvmp_service_access(NULL, 1, SPACE, BASE, UVMP_ACCESS_READ), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_access(host.service, 2, SPACE, BASE, UVMP_ACCESS_READ), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_access(host.service, 1, SPACE, BASE, (enum uvmp_access)(UVMP_ACCESS_NONE + 1)), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_access(host.service, 1, SPACE + 1, BASE, UVMP_ACCESS_READ), UVMP_OK);
	assert_int_equal(uvmp_service_access(host.service, 1, SPACE, BASE, UVMP_ACCESS_READ), UVMP_OK);
	assert_ptr_equal(counters_at(BASE), NULL); /* there is no block */
	assert_false(uvmp_service_has_notes(NULL));
}

static void test_notes_of_counters_are_notes(void **unused)
{
	struct uvmp_note note = {
	        .address = BASE, .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE)};

	(void)unused;
	begin("evict=lru2m counters=on", 4, MIB2);
	assert_false(has_notes());
	assert_int_equal(uvmp_service_note(host.service, 1, &note), UVMP_OK);
	assert_true(has_notes());
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_false(has_notes());
}

/* Hosts with pages of 64 KiB: each is a basic block. */
static void test_large_pages(void **unused)
{
	(void)unused;
	prepare("evict=lfu2m remote=always remote_threshold=3 prefetch=none" COMMON, 1, 4);
	host.params.page_bytes = KIB64;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
	fault(BASE + 3 * KIB64, UVMP_ACCESS_READ);
	engine_expect(&host, "batch to=1 count=1 detail=1\n"
	                     "map cause=counter block=0x40000000 pages=0-31 from=0 to=1 right=r\n"
	                     "replay to=1\n"
	                     "done to=1\n");
	assert_int_equal(count(BASE + 3 * KIB64), 1);
	assert_int_equal(counters_at(BASE)->tree.blocks, 32);
	use(BASE + 3 * KIB64 + PAGE, 2);
	use(BASE + 4 * KIB64, 2);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE + 3 * KIB64) && is_remote(BASE + 4 * KIB64));
}

/* -- modes -- */

/* GPU memory of 2 MiB, full with the first of two windows; the second window has pushed it out. */
static void fill_twice(const char *policy)
{
	begin(policy, 1, 2 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
	fault(BASE + MIB2, UVMP_ACCESS_READ);
}

static void test_oversub_waits_for_pressure(void **unused)
{
	(void)unused;
	fill_twice("evict=lru2m remote=oversub prefetch=block" COMMON);
	/* the fault that does not fit still migrates; what it pushes out was used once, and stays */
	assert_true(is_here(BASE + MIB2) && is_remote(BASE));
	assert_true(engine_has(&host, "map cause=eviction block=0x40000000 pages=0-511 from=0 to=1 right=r "
	                              "for=0x40200000\n"));
	assert_int_equal(rounds(BASE), 1);
	assert_int_equal(rounds(BASE + 31 * KIB64), 1);
	assert_int_equal(rounds(BASE + MIB2), 0);
	use(BASE, 6);
	assert_false(has_notes());
	use(BASE, 1);
	assert_true(has_notes());
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE));
	assert_int_equal(rounds(BASE + MIB2), 1);
}

static void test_adaptive_follows_pressure_and_round_trips(void **unused)
{
	(void)unused;
	fill_twice("evict=lru2m remote=adaptive prefetch=block" COMMON);
	/* memory was full, not over-subscribed: 1 + 8 accesses; in the second block one was counted */
	assert_true(is_remote(BASE + MIB2) && is_here(BASE));
	use(BASE + MIB2, 7);
	assert_false(has_notes());
	use(BASE + MIB2, 1);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE + MIB2) && is_remote(BASE));
	/* over-subscribed and back once: 8 * 2 * 2 accesses of the basic block, of which one has been */
	use(BASE, 30);
	assert_false(has_notes());
	use(BASE, 1);
	assert_true(has_notes());
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE));
	/* the other was used 9 times; it is read until it was 32 times, too */
	use(BASE + MIB2, 22);
	assert_false(has_notes());
	use(BASE + MIB2, 1);
	assert_true(has_notes());
}

/* What has been used often leaves unmapped: its next access faults, and brings it back. */
static void test_hot_blocks_are_not_mapped_when_they_leave(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=oversub prefetch=block" COMMON, 1, 2 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE + KIB64, 7);
	use(BASE + 2 * KIB64, 6);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE) && is_remote(BASE + 2 * KIB64));
	assert_true(is_home(BASE + KIB64) && !is_remote(BASE + KIB64));
	fault(BASE + KIB64, UVMP_ACCESS_READ);
	assert_true(is_here(BASE + KIB64));
}

/* Nothing is decided before a mode is set, but accesses are counted: it can be set at any time. */
static void test_runtime_counts_for_later(void **unused)
{
	(void)unused;
	begin("evict=tbne runtime=on prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 20);
	assert_true(is_here(BASE));
	assert_int_equal(count(BASE), 21);
	host.service->tuned.remote.remote = UVMP_REMOTE_ALWAYS;
	fault(BASE + PAGE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE + PAGE));
	fault(BASE + KIB64, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE + KIB64));
}

static void test_off_counts_nothing(void **unused)
{
	(void)unused;
	begin("evict=lru2m prefetch=block" COMMON, 1, 2 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 3);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	assert_ptr_equal(counters_at(BASE), NULL);
	assert_true(is_home(BASE) && !is_remote(BASE) && is_here(BASE + MIB2));
	assert_int_equal(host.service->live[SLAB_COUNTERS], 0);
}

/* The rest of a basic block whose next access migrates is not mapped for nothing. */
static void test_what_would_migrate_next_is_not_mapped(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE) && is_remote(BASE + KIB64) && !is_remote(BASE + PAGE));
	fault(BASE + PAGE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE + PAGE) && is_remote(BASE));
}

/* Counters of the driver's kind map what is evicted, for all accesses; where this one decides, they do not.
 */
static void test_remote_decides_what_is_mapped_after_an_eviction(void **unused)
{
	(void)unused;
	fill_twice("evict=lru2m prefetch=block thrash=off replay=batch counters=on");
	assert_int_equal(engine_page(&host, SPACE, BASE).write, 2);
	engine_stop(&host);
	fill_twice("evict=lru2m prefetch=block thrash=off replay=batch counters=on remote=oversub");
	assert_true(is_remote(BASE));
}

/* -- advice goes before -- */

static void advise(enum uvmp_advice advice, uint32_t processor)
{
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE, MIB2, advice, processor, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

static void test_advice_wins(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always prefetch=none" COMMON, 4, 2 * MIB2);
	advise(UVMP_ADVISE_PREFERRED, 1);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
	advise(UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE);
	advise(UVMP_ADVISE_READ_DUPLICATE, UVMP_CPU);
	fault(BASE + PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_page(&host, SPACE, BASE + PAGE).resident, 3);
	advise(UVMP_ADVISE_UNSET_DUPLICATE, UVMP_CPU);
	advise(UVMP_ADVISE_ACCESSED_BY, 1);
	use(BASE + 2 * PAGE, 100);
	assert_int_equal(engine_page(&host, SPACE, BASE + 2 * PAGE).write, 3);
	assert_false(has_notes());
	assert_int_equal(count(BASE), 102);
}

static void test_advice_wins_in_evictions(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=oversub prefetch=block" COMMON, 1, 2 * MIB2);
	advise(UVMP_ADVISE_PREFERRED, 1);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	assert_true(is_home(BASE) && !is_remote(BASE));
	assert_int_equal(rounds(BASE), 1);
}

/* Cold state of a block without counted accesses: freed, and cut. */
static void test_pieces_without_counters(void **unused)
{
	(void)unused;
	begin("evict=lru2m prefetch=none" COMMON, 1, MIB2);
	advise(UVMP_ADVISE_DISCARD, UVMP_CPU);
	assert_int_not_equal(block_at(host.service, handle_of(BASE))->cold, 0);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE + MIB2 / 2, MIB2 / 2,
	                                     UVMP_ADVISE_PREFERRED, UVMP_CPU, NULL),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->live[SLAB_COLD], 0);
}

static void test_a_gpu_that_does_not_reach_the_cpu(void **unused)
{
	(void)unused;
	prepare("evict=lru2m remote=always prefetch=none" COMMON, 1, 4);
	host.processors.can_access[1] = 2;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
}

/* -- hot pages wait -- */

static void test_blocks_in_order_and_in_turns_with_faults(void **unused)
{
	const char *first, *second, *fault_batch;

	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	use(BASE + MIB2, 1);
	use(BASE, 1);
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_WRITE);
	engine_forget(&host);
	assert_int_equal(engine_run(&host), UVMP_OK);
	first = strstr(host.text, "block=0x40200000");
	second = strstr(host.text, "block=0x40000000");
	fault_batch = strstr(host.text, "block=0x40400000");
	assert_true(first != NULL && second != NULL && fault_batch != NULL);
	assert_true(first < fault_batch && fault_batch < second);
}

static void test_what_has_come_meanwhile_is_not_hot(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 1);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, PAGE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE));
	assert_int_equal(host.count[UVMP_ACTION_BATCH], 1); /* of the fault */
}

static void test_the_list_is_cut_anywhere(void **unused)
{
	(void)unused;
	for (uint32_t gone = 0; gone < 4; gone++) {
		begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 8, MIB2);
		for (uint32_t i = 1; i < 4; i++)
			engine_range(&host, SPACE, BASE + i * MIB2, MIB2, UVMP_CPU);
		for (uint32_t i = 0; i < 4; i++)
			fault(BASE + i * MIB2, UVMP_ACCESS_READ);
		for (uint32_t i = 0; i < 4; i++)
			use(BASE + i * MIB2, 1);
		assert_true(uvmp_service_check(host.service));
		assert_int_equal(uvmp_service_free_range(host.service, SPACE, BASE + gone * MIB2, NULL),
		                 UVMP_OK);
		engine_forget(&host);
		assert_int_equal(engine_run(&host), UVMP_OK);
		assert_int_equal(host.count[UVMP_ACTION_BATCH], 3);
		for (uint32_t i = 0; i < 4; i++)
			assert_true(i == gone || is_here(BASE + i * MIB2));
		assert_int_equal(host.service->live[SLAB_COUNTERS], 3);
		if (gone < 3)
			engine_stop(&host);
	}
}

/* A block that is cut begins to count again, in both parts. */
static void test_a_cut_block_counts_again(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 1);
	assert_true(has_notes());
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE + MIB2 / 2, MIB2 / 2,
	                                     UVMP_ADVISE_PREFERRED, UVMP_CPU, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_false(has_notes());
	assert_int_equal(host.service->live[SLAB_COUNTERS], 0);
	assert_true(is_remote(BASE));
	use(BASE, 1);
	assert_int_equal(count(BASE), 1);
	assert_int_equal(counters_at(BASE)->tree.blocks, 16);
	use(BASE, 1);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE));
}

static void test_two_gpus(void **unused)
{
	(void)unused;
	prepare("evict=lru2m remote=always remote_threshold=3 prefetch=none" COMMON, 2, 4);
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
	engine_fault(&host, 1, SPACE, BASE, UVMP_ACCESS_READ);
	engine_fault(&host, 2, SPACE, BASE + PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	use(BASE, 1);
	assert_int_equal(uvmp_service_access(host.service, 2, SPACE, BASE + PAGE, UVMP_ACCESS_READ), UVMP_OK);
	use(BASE + 2 * PAGE, 1);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE) && is_here(BASE + 2 * PAGE));
	assert_int_equal(engine_page(&host, SPACE, BASE + PAGE).resident, 1); /* not heard */
	assert_int_equal(uvmp_service_access(host.service, 2, SPACE, BASE + PAGE, UVMP_ACCESS_READ), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(engine_page(&host, SPACE, BASE + PAGE).resident, 4);
	/* what another GPU has is not read, but moves, as ever */
	fault(BASE + PAGE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE + PAGE));
}

/* No access waits for hot pages: pages that cannot migrate stay, and are tried again. */
static void test_a_failed_copy_is_forgotten(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 1);
	engine_fail(&host, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_STATE);
	engine_forget(&host);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.count[UVMP_ACTION_DONE], 0);
	assert_true(is_home(BASE));
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
}

/* The thrashing detector may hold up what is hot; it has no say in what stays. */
static void test_a_throttled_page_comes_later(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none counters=off replay=batch "
	      "thrash=on",
	      4, MIB2);
	for (int i = 0; i < 4; i++) { /* it bounces */
		fault(BASE, UVMP_ACCESS_WRITE);
		assert_int_equal(
		        uvmp_service_cpu_fault(host.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL),
		        UVMP_OK);
		(void)engine_run(&host);
	}
	assert_true(engine_has(&host, "throttle"));
}

/* -- memory of the engine -- */

static void test_without_room_all_is_as_ever(void **unused)
{
	bool had_counters = false, had_none = false;

	(void)unused;
	for (size_t extra = 0; extra < 4096; extra += 64) {
		prepare("evict=lru2m remote=always prefetch=none" COMMON, 1, 4);
		assert_true(engine_start(&host, 0, extra));
		arena_without_reserve(host.service);
		engine_bind(&host, 1, SPACE);
		engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
		engine_fault(&host, 1, SPACE, BASE, UVMP_ACCESS_READ);
		(void)engine_run(&host);
		if (engine_page(&host, SPACE, BASE).resident == 2u) /* room for the place, not for counters */
			had_none = true;
		else if (is_remote(BASE))
			had_counters = true;
		assert_true(uvmp_service_check(host.service));
		use(BASE, 1);
		assert_true(engine_agrees(&host));
		if (extra + 64 < 4096)
			engine_stop(&host);
	}
	assert_true(had_counters);
	assert_true(had_none);
}

/* -- counting -- */

static uint64_t frequency_of(uvmp_addr address)
{
	struct uvmp_service *s = host.service;
	const struct residency *place = uvmpi_residency_find(s, block_at(s, handle_of(address)), 1);

	return order_of(s)->order.key[place->memory].high;
}

/* evict=lfu2m goes by accesses to the whole tree, and then by marks [uvmsmart: eviction-list]. */
static void test_lfu_ranks_by_counted_accesses(void **unused)
{
	(void)unused;
	begin("evict=lfu2m remote=oversub prefetch=block" COMMON, 2, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(frequency_of(BASE), 1 * 4 + 1);
	assert_int_equal(frequency_of(BASE + MIB2), 1 * 4 + 2);
	use(BASE, 1);
	use(BASE + 9 * KIB64, 1);
	use(BASE + MIB2 + KIB64, 1);
	assert_int_equal(frequency_of(BASE), 3 * 4 + 1);
	assert_int_equal(frequency_of(BASE + MIB2), 2 * 4 + 3);
	fault(BASE + 2 * MIB2, UVMP_ACCESS_READ);
	assert_true(is_here(BASE) && is_home(BASE + MIB2));
	use(BASE + MIB2, 1); /* counted, though it is not listed */
	assert_int_equal(uvmp_counter_tree_word(&counters_at(BASE + MIB2)->tree, 0, 32), 3);
}

static void test_smaller_units_are_ranked_by_their_node(void **unused)
{
	(void)unused;
	begin("evict=lfu2m granularity=128k remote=oversub prefetch=block" COMMON, 2, MIB2 + KIB64);
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE + KIB64, 4);
	use(BASE + 2 * KIB64, 2);
	assert_int_equal(order_of(host.service)->order.key[0].high, 5 * 4 + 1);
	assert_int_equal(order_of(host.service)->order.key[1].high, 2 * 4 + 1);
	/* a block that is smaller than a unit has one node */
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	use(BASE + MIB2, 2);
	assert_int_equal(order_of(host.service)->order.key[16].high, 3 * 4 + 1);
}

static void test_all_are_halved(void **unused)
{
	(void)unused;
	begin("evict=lfu2m remote=oversub prefetch=none" COMMON, 4, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	use(BASE + MIB2, 9);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE + 2 * MIB2, MIB2, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_ptr_equal(counters_at(BASE + 2 * MIB2), NULL); /* it was never accessed */
	assert_int_equal(counter_tree_set(&counters_at(BASE)->tree, 0, UVMP_COUNTER_COUNT_MAX, 0), UVMP_OK);
	use(BASE, 1);
	assert_int_equal(count(BASE), UVMP_COUNTER_COUNT_MAX / 2 + 1);
	assert_int_equal(count(BASE + MIB2), 5);
	assert_int_equal(frequency_of(BASE + MIB2), 5 * 4 + 1);
	/* with round trips the count runs over instead, and nothing is halved [uvmsmart: counter-overflow] */
	assert_int_equal(counter_tree_set(&counters_at(BASE)->tree, 0, UVMP_COUNTER_COUNT_MAX, 3), UVMP_OK);
	use(BASE, 1);
	assert_int_equal(count(BASE), 0);
	assert_int_equal(rounds(BASE), 4);
	assert_int_equal(count(BASE + MIB2), 5);
}

/* -- decisions at misses of a TLB [uvmsmart: remote-page-in-list] -- */

static bool asks(uvmp_addr address, enum uvmp_access access)
{
	bool migrates = false;

	assert_int_equal(uvmp_service_miss(host.service, 1, SPACE, address, access, &migrates), UVMP_OK);
	return migrates;
}

/* Accesses count and make nothing hot; a miss decides; a fault of a page that is mapped on the CPU is decided again. */
static void test_a_miss_decides(void **unused)
{
	bool migrates;

	(void)unused;
	prepare("evict=lru2m remote=always remote_threshold=3 prefetch=none" COMMON, 1, 2);
	host.gpu[0].asks_at_misses = true;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
	assert_false(asks(BASE, UVMP_ACCESS_READ)); /* nothing is counted, nor mapped */
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE) && count(BASE) == 1 && !asks(BASE, UVMP_ACCESS_READ));
	assert_int_equal(count(BASE), 1); /* asking does not count */
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE) && count(BASE) == 2); /* the fault is below the threshold: the page stays */
	use(BASE, 4);
	assert_true(!has_notes() && is_remote(BASE));
	assert_true(asks(BASE, UVMP_ACCESS_READ) && is_remote(BASE));
	assert_false(asks(BASE + KIB64, UVMP_ACCESS_READ));
	assert_true(asks(BASE + KIB64, UVMP_ACCESS_WRITE));
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE) && !asks(BASE, UVMP_ACCESS_READ));
	assert_int_equal(uvmp_service_miss(NULL, 1, SPACE, BASE, UVMP_ACCESS_READ, &migrates), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_miss(host.service, 1, SPACE, BASE, UVMP_ACCESS_READ, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_miss(host.service, UVMP_CPU, SPACE, BASE, UVMP_ACCESS_READ, &migrates),
			 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_miss(host.service, 1, SPACE, BASE, UVMP_ACCESS_NONE, &migrates), UVMP_ERR_RANGE);
}

/* No decision about blocks that are unknown, not counted or under advice, nor without remote access. */
static void test_a_miss_without_decision(void **unused)
{
	bool migrates = true;

	(void)unused;
	prepare("evict=lru2m remote=always remote_threshold=3 prefetch=none" COMMON, 1, 2);
	host.gpu[0].asks_at_misses = true;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_miss(host.service, 2, SPACE, BASE, UVMP_ACCESS_READ, &migrates), UVMP_ERR_RANGE);
	assert_true(migrates);
	assert_int_equal(uvmp_service_miss(host.service, 1, SPACE + 1, BASE, UVMP_ACCESS_READ, &migrates), UVMP_OK);
	assert_false(migrates);
	/* a block that only the CPU has used */
	assert_int_equal(uvmp_service_cpu_fault(host.service, SPACE, BASE + MIB2, UVMP_ACCESS_READ, 0, NULL), UVMP_OK);
	engine_run(&host);
	assert_false(asks(BASE + MIB2, UVMP_ACCESS_WRITE));
	/* a hot page */
	fault(BASE, UVMP_ACCESS_READ);
	use(BASE, 4);
	assert_true(is_remote(BASE) && asks(BASE, UVMP_ACCESS_READ));
	advise(UVMP_ADVISE_PREFERRED, UVMP_CPU);
	assert_false(asks(BASE, UVMP_ACCESS_READ));
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_remote(BASE));
}

/* remote=off: nothing is counted. */
static void test_a_miss_without_remote(void **unused)
{
	(void)unused;
	prepare("evict=lru2m prefetch=none" COMMON, 1, 2);
	host.gpu[0].asks_at_misses = true;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, MIB2, UVMP_CPU);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE) && !asks(BASE + KIB64, UVMP_ACCESS_WRITE));
}

/* -- device synchronisation [uvmsmart: device-synchronisation] -- */

static void synchronise(void)
{
	assert_int_equal(uvmp_service_synchronise(host.service, 1), UVMP_OK);
	assert_true(uvmp_service_check(host.service));
}

/* Accesses, round trips and full memory are forgotten, hot pages and what lies on the GPU are not. */
static void test_a_synchronisation_begins_anew(void **unused)
{
	(void)unused;
	begin("evict=lru2m remote=oversub remote_threshold=3 prefetch=block" COMMON, 1, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	assert_true(is_here(BASE));
	fault(BASE + MIB2, UVMP_ACCESS_READ); /* full: the first block goes */
	assert_true(is_home(BASE) && host.service->is_full);
	assert_int_equal(rounds(BASE), 1);
	use(BASE + KIB64, 2); /* it is mapped where it lies */
	assert_true(is_remote(BASE + KIB64) && !has_notes());
	use(BASE + KIB64, 1);
	assert_true(has_notes());
	engine_forget(&host);
	synchronise();
	assert_true(is_here(BASE + MIB2) && has_notes());
	assert_int_equal(count(BASE) + count(BASE + KIB64) + count(BASE + MIB2), 0);
	assert_int_equal(rounds(BASE), 0);
	assert_int_equal(uvmp_counter_tree_marks(&counters_at(BASE)->tree, 0, 32), 0);
	assert_false(host.service->is_full);
	assert_int_equal(engine_run(&host), UVMP_OK); /* the hot page comes */
	assert_true(is_here(BASE + KIB64));
	engine_forget(&host);
	assert_false(host.service->is_full); /* there was room for it */
	synchronise();
	assert_false(engine_step(&host));         /* no action */
	fault(BASE + 2 * MIB2, UVMP_ACCESS_READ); /* not full yet: migrates */
	assert_true(is_here(BASE + 2 * MIB2));
}

/* [uvmsmart: clean-pages-uncounted]: what has stayed counts no longer, and is not evicted until it is used again. */
static void test_a_synchronisation_frees_all_memory(void **unused)
{
	const struct gpu *g;

	(void)unused;
	for (uint32_t quirks = 0; quirks <= 1; quirks++) {
		begin(quirks != 0 ? "evict=lru2m prefetch=block" COMMON : "evict=lru2m prefetch=block quirks=0" COMMON, 1,
		      4 * MIB2);
		g = &host.service->gpu[1];
		fault(BASE, UVMP_ACCESS_READ);
		assert_int_equal(g->used_pages, g->capacity_pages);
		synchronise();
		assert_int_equal(g->uncounted_pages, quirks != 0 ? g->capacity_pages : 0);
		fault(BASE + MIB2, UVMP_ACCESS_READ);
		assert_int_equal(is_here(BASE), quirks != 0);
		assert_true(is_here(BASE + MIB2));
		use(BASE, 1); /* it may leave now, but is newer */
		fault(BASE + 2 * MIB2, UVMP_ACCESS_READ);
		assert_int_equal(is_here(BASE), quirks != 0);
		assert_true(is_home(BASE + MIB2));
		fault(BASE + 3 * MIB2, UVMP_ACCESS_READ);
		assert_true(is_home(BASE) && is_here(BASE + 3 * MIB2));
		synchronise(); /* what is resident then */
		assert_int_equal(g->uncounted_pages, quirks != 0 ? g->used_pages : 0);
		engine_stop(&host);
	}
	/* frames that are memory cannot be more than there are */
	prepare("evict=lru2m prefetch=block" COMMON, 1, 2);
	host.gpu[0].counts_units = true;
	start(1 << 20);
	engine_range(&host, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	fault(BASE, UVMP_ACCESS_READ);
	synchronise();
	assert_int_equal(host.service->gpu[1].uncounted_pages, 0);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	assert_true(is_here(BASE + MIB2));
}

/* What full memory has switched stays switched, even if no batch has come since. */
static void test_a_synchronisation_keeps_the_prefetcher(void **unused)
{
	(void)unused;
	for (uint32_t batches = 1; batches <= 2; batches++) {
		begin("evict=lru2m prefetch=block prefetch_full=none" COMMON, 1, 3 * MIB2);
		fault(BASE, UVMP_ACCESS_READ);
		for (uint32_t i = 1; i <= batches; i++)
			fault(BASE + MIB2 * i, UVMP_ACCESS_READ);
		synchronise();
		assert_false(host.service->is_full);
		fault(BASE, UVMP_ACCESS_READ);
		assert_true(is_here(BASE) && is_home(BASE + PAGE));
		if (batches == 1)
			engine_stop(&host);
	}
}

/* The tree of a prefetcher counts no page then, whether the page has left or stays: both phases are prefetched alike. */
static void test_a_synchronisation_empties_the_tree(void **unused)
{
	(void)unused;
	begin("evict=lru2m prefetch=tbn" COMMON, 1, MIB2);
	for (uint32_t phase = 0; phase < 2; phase++) {
		for (uint32_t block = 0; block < 3; block++)
			fault(BASE + block * KIB64, UVMP_ACCESS_READ);
		assert_true(is_here(BASE + 3 * KIB64) && is_home(BASE + 4 * KIB64));
		assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, MIB2, UVMP_CPU, NULL), UVMP_OK);
		assert_int_equal(engine_run(&host), UVMP_OK);
		synchronise();
	}
	fault(BASE, UVMP_ACCESS_READ);
	synchronise(); /* the first basic block stays, the next three have one of four */
	fault(BASE + KIB64, UVMP_ACCESS_READ);
	fault(BASE + 2 * KIB64, UVMP_ACCESS_READ);
	assert_true(is_here(BASE) && is_home(BASE + 3 * KIB64));
}

/* The least often used is then the oldest, on this GPU. */
static void test_a_synchronisation_levels_lfu(void **unused)
{
	(void)unused;
	begin("evict=lfu2m remote=oversub prefetch=block" COMMON, 2, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_WRITE);
	use(BASE, 5);
	synchronise();
	assert_int_equal(frequency_of(BASE), 0);
	assert_int_equal(frequency_of(BASE + MIB2), 0);
	engine_stop(&host);
	/* also if only the order counts, and for smaller units */
	begin("evict=lfu2m granularity=1m prefetch=block" COMMON, 2, 3 * MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	fault(BASE + MIB2, UVMP_ACCESS_READ);
	use(BASE + MIB2 / 2, 5);
	assert_true(order_of(host.service)->order.key[1].high > 1);
	synchronise();
	for (uint32_t unit = 0; unit < 4; unit++)
		assert_int_equal(order_of(host.service)->order.key[unit].high, 0);
	engine_stop(&host);
	prepare("evict=lfu2m remote=always prefetch=block" COMMON, 2, 2);
	start(1 << 20);
	engine_range(&host, SPACE, BASE, 3 * MIB2, UVMP_CPU);
	fault(BASE, UVMP_ACCESS_WRITE);
	fault(BASE + MIB2, UVMP_ACCESS_READ); /* has no memory there */
	assert_true(is_here(BASE) && is_remote(BASE + MIB2));
	use(BASE, 1);
	assert_int_equal(uvmp_service_synchronise(host.service, 2), UVMP_OK); /* another one */
	assert_true(frequency_of(BASE) != 0);
	synchronise();
	assert_int_equal(frequency_of(BASE), 0);
	assert_int_equal(uvmp_service_synchronise(NULL, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_synchronise(host.service, UVMP_CPU), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_synchronise(host.service, 3), UVMP_ERR_RANGE);
}

/* [uvmsmart: written-mark-stays]: the original never forgets what was written. */
static void test_marks_go_with_the_pages(void **unused)
{
	static const char *const policies[] = {"evict=sl64k remote=oversub prefetch=sl" COMMON "quirks=1",
	                                       "evict=sl64k remote=oversub prefetch=sl" COMMON "quirks=0"};

	(void)unused;
	for (uint32_t i = 0; i < 2; i++) {
		begin(policies[i], 1, 2 * MIB2);
		for (uint32_t at = 0; at < MIB2; at += KIB64)
			fault(BASE + at, UVMP_ACCESS_WRITE);
		fault(BASE + MIB2, UVMP_ACCESS_WRITE); /* the oldest basic block leaves */
		assert_true(is_remote(BASE));
		assert_int_equal(uvmp_counter_tree_marks(&counters_at(BASE)->tree, 0, 1), i == 0 ? 2 : 0);
		assert_int_equal(uvmp_counter_tree_marks(&counters_at(BASE)->tree, 1, 1), 2);
		assert_int_equal(rounds(BASE + KIB64), 1); /* of all leaves */
		if (i == 0)
			engine_stop(&host);
	}
}

/* A victim without resident pages makes no round trip. */
static void test_nothing_leaves(void **unused)
{
	uvmp_mask none;

	(void)unused;
	begin("evict=lru2m remote=oversub prefetch=none" COMMON, 1, MIB2);
	fault(BASE, UVMP_ACCESS_READ);
	uvmp_mask_zero(&none);
	uvmpi_remote_leave(host.service, handle_of(BASE), 1, &none);
	assert_int_equal(rounds(BASE), 0);
}

/* -- the check -- */

#define DAMAGE(where, value)                                                                                 \
	do {                                                                                                 \
		__typeof__(where) was = (where);                                                             \
		(where) = (__typeof__(where))(value);                                                        \
		assert_false(uvmp_service_check(host.service));                                              \
		(where) = was;                                                                               \
		assert_true(uvmp_service_check(host.service));                                               \
	} while (0)

static void test_check(void **unused)
{
	struct counters *first, *second, *third;
	struct uvmp_service *s;
	struct cold *extra;
	uvmp_mask none;

	(void)unused;
	begin("evict=lru2m remote=always remote_threshold=2 prefetch=none" COMMON, 4, 3 * MIB2 - KIB64);
	s = host.service;
	for (uint32_t i = 0; i < 3; i++)
		fault(BASE + i * MIB2, UVMP_ACCESS_READ);
	for (uint32_t i = 0; i < 2; i++)
		use(BASE + i * MIB2, 1);
	first = counters_at(BASE);
	second = counters_at(BASE + MIB2);
	third = counters_at(BASE + 2 * MIB2);
	extra = cold_at(s, block_at(s, handle_of(BASE + 2 * MIB2))->cold);
	assert_true(uvmp_service_check(s));
	DAMAGE(first->tree.blocks, 3);
	DAMAGE(first->tree.blocks, 16);
	DAMAGE(first->gpu, 0);
	DAMAGE(first->gpu, 2);
	third->gpu = 1;
	DAMAGE(third->hot.word[511 / 64], (uint64_t)1 << 63); /* beyond the block */
	DAMAGE(third->hot.word[0], 1);                        /* not in the list */
	DAMAGE(extra->counters, 0);
	DAMAGE(extra->counters, s->segment[0].unused);
	DAMAGE(first->next, 0);
	DAMAGE(first->next, handle_of(BASE));             /* closed */
	DAMAGE(second->next, handle_of(BASE + 2 * MIB2)); /* one too many */
	DAMAGE(second->before, 0);
	DAMAGE(s->hot_first, s->segment[0].unused);
	DAMAGE(s->hot_first, block_at(s, handle_of(BASE))->residency); /* something else */
	DAMAGE(s->hot_last, handle_of(BASE));
	/* a block without hot pages stands for one that has */
	uvmp_mask_zero(&none);
	{
		uvmp_mask was = second->hot;

		second->hot = none;
		uvmp_mask_set(&third->hot, 0);
		assert_false(uvmp_service_check(s));
		first->next = handle_of(BASE + 2 * MIB2) + 1u; /* no block begins there */
		assert_false(uvmp_service_check(s));
		first->next = handle_of(BASE + MIB2);
		third->hot = none;
		second->hot = was;
		assert_true(uvmp_service_check(s));
	}
}

/* -- anything -- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % below);
}

#define WINDOWS 4u

static uvmp_addr any_page(void)
{
	return BASE + (uvmp_addr)draw(WINDOWS) * MIB2 + (uvmp_addr)draw(8) * 13u * PAGE;
}

/* Without advice and with one GPU: what lies on the CPU is only read by the GPU, and all it has is its own.
 */
static void check_remote(void)
{
	assert_true(engine_agrees(&host));
	for (uvmp_addr at = BASE; at < BASE + WINDOWS * MIB2; at += PAGE) {
		struct uvmp_page_state page = engine_page(&host, SPACE, at);

		assert_true(page.resident == 1 || page.resident == 2);
		if ((page.resident & 2u) == 0)
			assert_int_equal(page.write & 2u, 0);
	}
}

static void do_anything(void)
{
	uvmp_addr at = any_page();
	enum uvmp_access access = draw(3) == 0 ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ;

	switch (draw(8)) {
	case 0:
		assert_int_equal(uvmp_service_cpu_fault(host.service, SPACE, at, access, 1, NULL), UVMP_OK);
		break;
	case 1:
		assert_int_equal(uvmp_service_migrate(host.service, SPACE, at, PAGE, draw(2), NULL), UVMP_OK);
		break;
	case 2:
	case 3:
		engine_fault(&host, 1, SPACE, at, access);
		break;
	default:
		/* what the GPU may do only */
		if (*engine_right(&host, 1, SPACE, at) >= (uint8_t)uvmp_access_right(access))
			assert_int_equal(uvmp_service_access(host.service, 1, SPACE, at, access), UVMP_OK);
		break;
	}
	if (draw(4) != 0)
		assert_int_equal(engine_run(&host), UVMP_OK);
}

/* No hot page is lost: at the end, no page is accessed remotely that would migrate now. */
static void test_random_events(void **unused)
{
	static const char *const policies[] = {
	        "evict=lfu2m remote=adaptive prefetch=tbn" COMMON,
	        "evict=tbne remote=oversub prefetch=tbn" COMMON,
	        "evict=lru4k remote=always prefetch=none quirks=0" COMMON,
	        "evict=sl64k remote=always remote_threshold=3 prefetch=sl" COMMON,
	        "evict=random4k remote=adaptive remote_penalty=0 prefetch=random" COMMON};

	(void)unused;
	for (uint32_t run = 0; run < 10; run++) {
		random_state = run + 1u;
		begin(policies[run % 5u], 2, WINDOWS * MIB2);
		for (uint32_t event = 0; event < 300; event++) {
			do_anything();
			engine_forget(&host);
		}
		assert_int_equal(engine_run(&host), UVMP_OK);
		assert_false(has_notes());
		check_remote();
		if (run + 1u < 10)
			engine_stop(&host);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_a_page_is_read_until_it_is_hot),
	        TEST(test_the_prefetcher_is_asked_for_hot_pages),
	        TEST(test_stores_migrate),
	        TEST(test_absent_pages_are_populated),
	        TEST(test_the_cpu_goes_on),
	        TEST(test_bad_accesses),
	        TEST(test_notes_of_counters_are_notes),
	        TEST(test_large_pages),
	        TEST(test_oversub_waits_for_pressure),
	        TEST(test_adaptive_follows_pressure_and_round_trips),
	        TEST(test_hot_blocks_are_not_mapped_when_they_leave),
	        TEST(test_runtime_counts_for_later),
	        TEST(test_off_counts_nothing),
	        TEST(test_remote_decides_what_is_mapped_after_an_eviction),
	        TEST(test_what_would_migrate_next_is_not_mapped),
	        TEST(test_advice_wins),
	        TEST(test_advice_wins_in_evictions),
	        TEST(test_pieces_without_counters),
	        TEST(test_a_gpu_that_does_not_reach_the_cpu),
	        TEST(test_blocks_in_order_and_in_turns_with_faults),
	        TEST(test_what_has_come_meanwhile_is_not_hot),
	        TEST(test_the_list_is_cut_anywhere),
	        TEST(test_a_cut_block_counts_again),
	        TEST(test_two_gpus),
	        TEST(test_a_failed_copy_is_forgotten),
	        TEST(test_a_throttled_page_comes_later),
	        TEST(test_without_room_all_is_as_ever),
	        TEST(test_lfu_ranks_by_counted_accesses),
	        TEST(test_smaller_units_are_ranked_by_their_node),
	        TEST(test_all_are_halved),
	        TEST(test_a_miss_decides),
	        TEST(test_a_miss_without_decision),
	        TEST(test_a_miss_without_remote),
	        TEST(test_a_synchronisation_begins_anew),
	        TEST(test_a_synchronisation_frees_all_memory),
	        TEST(test_a_synchronisation_keeps_the_prefetcher),
	        TEST(test_a_synchronisation_empties_the_tree),
	        TEST(test_a_synchronisation_levels_lfu),
	        TEST(test_marks_go_with_the_pages),
	        TEST(test_nothing_leaves),
	        TEST(test_check),
	        TEST(test_random_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
