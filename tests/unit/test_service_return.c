/* remote=auto in the engine: evicted pages stay mapped, and return when notifications say so (counter.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/arena.h"
#include "support/engine_host.h"
#include "support/engine_internals.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine host;

static struct range *range_at(uvmp_addr address)
{
	return &host.service->range[uvmpi_range_find(host.service, uvmpi_space_find(host.service, SPACE), address)];
}

/* The range's next blocks that could begin on the CPU move at their first faults. */
static void let_move(uvmp_addr address, uint32_t blocks)
{
	range_at(address)->first_faults.left = blocks;
}

/* GPU memory of 2 MiB, which the second of two blocks has just taken from the first. */
static void fill_twice(const char *policy, uint32_t notes)
{
	engine_init(&host, 1, 1);
	host.hidden[3] = "space=";
	host.hidden[4] = "batch=";
	host.gpu[0].notes = notes;
	assert_true(engine_policy(&host, policy));
	assert_true(engine_start(&host, 16, 1 << 20));
	engine_bind(&host, 1, SPACE);
	engine_range(&host, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	let_move(BASE, 2);
	for (uint32_t i = 0; i < 2; i++) {
		engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
		assert_int_equal(engine_run(&host), UVMP_OK);
	}
}

#define AUTO "remote=auto counter_threshold=512 prefetch=block thrash=off replay=batch "

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&host));
	engine_stop(&host);
	return 0;
}

static void note(uvmp_addr address, uint32_t parts)
{
	const struct uvmp_note note = {.address = address,
	                               .aperture = UVMP_APERTURE_VID,
	                               .instance = engine_instance(SPACE),
	                               .sub_granularity = parts};

	engine_forget(&host);
	assert_int_equal(uvmp_service_note(host.service, 1, &note), UVMP_OK);
	(void)engine_run(&host); /* the status of the last DONE */
}

/* Of the blocks for which moving pays, the next one is chosen to return, or it is not. */
static void choose(bool is_chosen)
{
	uint64_t draws = 1, next;

	do
		next = ++draws;
	while (uvmp_remote_is_chosen(&next) != is_chosen);
	host.service->return_draws = draws;
}

/* So many notifications. If one of them brings the block to its limit, the block is chosen. */
static void note_and_choose(uvmp_addr address, uint32_t notes)
{
	for (uint32_t i = 0; i < notes; i++) {
		choose(true);
		note(address, 1);
	}
}

static bool is_here(uvmp_addr address)
{
	return engine_page(&host, SPACE, address).resident == 2u;
}

/* On the CPU, where the GPU reads and writes it. */
static bool is_remote(uvmp_addr address)
{
	struct uvmp_page_state page = engine_page(&host, SPACE, address);

	return page.resident == 1u && (page.read & page.write & 2u) != 0;
}

static struct uvmp_remote_use *use_of(uvmp_addr address)
{
	handle h = uvmpi_block_find(host.service, uvmpi_space_find(host.service, SPACE), address);

	return &uvmpi_residency_find(host.service, block_at(host.service, h), 1)->use;
}

/* 32 pages of a part of 128 KiB and a block service: half of that is 704 accesses, each time. */
static void test_pages_return_when_it_pays(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	assert_true(is_remote(BASE) && is_remote(BASE + 511 * PAGE) && is_here(BASE + MIB2));
	assert_true(engine_has(&host, "map cause=eviction block=0x40000000 pages=0-511 from=0 to=1 right=rwa "
	                              "for=0x40200000\n"));
	note(BASE, 1);
	engine_expect(&host, "batch cause=counter to=1 count=1 detail=1\n"
	                     "clear cause=counter block=0x40000000 pages=0-15 to=1 rule=below-limit\n");
	assert_true(is_remote(BASE));
	note_and_choose(BASE, 1);
	assert_true(engine_has(&host, "copy cause=counter block=0x40000000 pages=0-31 from=0 to=1 rule=drawn detail=32\n"));
	assert_true(engine_has(&host, "clear cause=counter to=1\n"));
	assert_true(is_here(BASE) && is_here(BASE + 511 * PAGE)); /* prefetch=block */
	assert_true(is_remote(BASE + MIB2));
	assert_int_equal(use_of(BASE)->spent, 0);
	/* the other block pushes it out again */
	note_and_choose(BASE + MIB2, 2);
	assert_true(is_here(BASE + MIB2) && is_remote(BASE));
	note_and_choose(BASE, 1);
	assert_true(is_remote(BASE));
	note_and_choose(BASE, 1);
	assert_true(is_here(BASE));
}

/* Memory has been full: a block that is not chosen counts from zero. Which parts it uses stays known. */
static void test_a_block_that_is_not_chosen(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	note(BASE, 1);
	choose(false);
	note(BASE, 1);
	engine_expect(&host, "batch cause=counter to=1 count=1 detail=1\n"
	                     "clear cause=counter block=0x40000000 pages=0-15 to=1 rule=not-drawn\n");
	assert_true(is_remote(BASE));
	assert_int_equal(use_of(BASE)->spent, 0);
	assert_int_equal(use_of(BASE)->parts, 1);
	note_and_choose(BASE, 1);
	assert_true(is_remote(BASE));
	note_and_choose(BASE, 1);
	assert_true(is_here(BASE));
}

/* Memory has never been full: no block is drawn. */
static void test_all_blocks_return_until_memory_has_been_full(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	host.service->is_full = false;
	note(BASE, 1);
	choose(false);
	note(BASE, 1);
	assert_true(is_here(BASE));
	assert_true(engine_has(&host, "copy cause=counter block=0x40000000 pages=0-31 from=0 to=1 rule=limit "));
}

/* Several notifications of a block are one decision: each CLEAR has the rule, and the first one also the pages that all of them
 * name, without those that were used before. */
static void test_each_clear_says_why_pages_stay(void **state)
{
	const struct uvmp_note notes[] = {
	        {.address = BASE, .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE), .sub_granularity = 1, .tag = 7},
	        {.address = BASE, .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE), .sub_granularity = 2, .tag = 8}};

	(void)state;
	fill_twice("evict=lru2m remote=auto counter_threshold=64 prefetch=block thrash=off replay=batch ", 64);
	note(BASE, 1u << 31);
	engine_forget(&host);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(uvmp_service_note(host.service, 1, &notes[i]), UVMP_OK);
	(void)engine_run(&host); /* the status of the last DONE */
	engine_expect(&host, "batch cause=counter to=1 count=2 detail=2\n"
	                     "clear cause=counter block=0x40000000 pages=0-31 to=1 rule=below-limit detail=7\n"
	                     "clear cause=counter block=0x40000000 to=1 rule=below-limit detail=8\n");
}

/* All parts that were used return, also those that the last notification does not name. */
static void test_parts_add_up(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	note(BASE, 1);
	note(BASE, 1u << 31);
	assert_true(is_remote(BASE)); /* 64 pages: 1,216 accesses */
	assert_int_equal(use_of(BASE)->parts, 0x8001);
	choose(true);
	note(BASE, 1u << 30);
	assert_true(engine_has(&host, "copy cause=counter block=0x40000000 pages=0-31,480-511 from=0 to=1 rule=drawn "));
}

/* What is on the GPU, or mapped nowhere, is not counted. */
static void test_other_pages_are_not_counted(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	note(BASE + MIB2, 1);
	engine_expect(&host, "batch cause=counter to=1 count=1 detail=1\n"
	                     "clear cause=counter to=1\n");
	assert_int_equal(use_of(BASE + MIB2)->spent, 0);
}

/* Hosts whose pages cannot be mapped again, or whose GPUs do not notify: pages fault. */
static void test_without_notifications(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 0);
	assert_int_equal(engine_page(&host, SPACE, BASE).read & 2u, 0);
	engine_stop(&host);
	fill_twice("evict=lru2m map_on_eviction=0 " AUTO, 64);
	assert_int_equal(engine_page(&host, SPACE, BASE).read & 2u, 0);
}

/* GPU 1 notifies and GPU 2 does not: only GPU 1 stays mapped to its evicted pages. Counts are of one GPU. */
static void test_two_gpus(void **state)
{
	const struct uvmp_note other = {
	        .address = BASE + 2 * MIB2, .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE)};

	(void)state;
	engine_init(&host, 2, 1);
	host.hidden[3] = "space=";
	host.hidden[4] = "batch=";
	host.gpu[1].notes = 0;
	assert_true(engine_policy(&host, "evict=lru2m " AUTO));
	assert_true(engine_start(&host, 16, 1 << 20));
	engine_range(&host, SPACE, BASE, 4 * MIB2, UVMP_CPU);
	let_move(BASE, 2);
	for (uint32_t gpu = 1; gpu <= 2; gpu++) {
		engine_bind(&host, gpu, SPACE);
		for (uint32_t i = 0; i < 2; i++) {
			engine_fault(&host, gpu, SPACE, BASE + (2 * gpu - 2 + i) * MIB2, UVMP_ACCESS_READ);
			assert_int_equal(engine_run(&host), UVMP_OK);
		}
	}
	assert_true(is_remote(BASE) && is_here(BASE + MIB2));
	assert_int_equal(engine_page(&host, SPACE, BASE + 2 * MIB2).resident, 1);
	assert_int_equal(engine_page(&host, SPACE, BASE + 2 * MIB2).read & 6u, 0);
	assert_int_equal(uvmp_service_note(host.service, 2, &other), UVMP_ERR_RANGE);
	note(BASE + 2 * MIB2, 1); /* GPU 1 has never used the block */
	engine_expect(&host, "batch cause=counter to=1 count=1 detail=1\n"
	                     "clear cause=counter to=1\n");
	note(BASE, 1);
	assert_int_equal(use_of(BASE)->spent, 4);
	note_and_choose(BASE, 1);
	assert_true(is_here(BASE) && is_remote(BASE + MIB2));
	assert_int_equal(engine_page(&host, SPACE, BASE + 3 * MIB2).resident, 4);
}

/* Nothing that has failed to move counts as moved. */
static void test_a_failed_copy(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	note(BASE, 1);
	engine_fail(&host, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_STATE);
	note_and_choose(BASE, 1);
	assert_true(engine_has(&host, "done cause=counter to=1"));
	assert_int_equal(use_of(BASE)->spent, 8);
}

static void test_a_cut_block_counts_from_zero(void **state)
{
	(void)state;
	fill_twice("evict=lru2m " AUTO, 64);
	note(BASE, 1);
	assert_int_equal(use_of(BASE)->spent, 4);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE, MIB2 / 2, UVMP_ADVISE_ACCESSED_BY, UVMP_CPU, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(use_of(BASE)->spent, 0);
}

/* -- first faults in a full memory -- */

/* Four blocks and memory of one; the second block has pushed out the first. Then a fault in the third. */
static void fill_and_fault(const char *policy, uint32_t notes)
{
	fill_twice(policy, notes);
	engine_range(&host, SPACE, BASE + 2 * MIB2, 2 * MIB2, UVMP_CPU);
	engine_forget(&host);
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2 + PAGE, UVMP_ACCESS_READ);
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2 + 9 * PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

static void test_pages_begin_on_the_cpu(void **state)
{
	(void)state;
	fill_and_fault("evict=lru2m " AUTO, 64);
	engine_expect(&host, "batch to=1 count=2 detail=2\n"
	                     "map cause=counter block=0x40400000 pages=0-511 from=0 to=1 right=rw rule=full\n"
	                     "replay to=1\n"
	                     "done to=1\n");
	assert_true(is_remote(BASE + 2 * MIB2) && is_here(BASE + MIB2));
	assert_int_equal(range_at(BASE + 2 * MIB2)->first_faults.mapped, 512);
	assert_int_equal(range_at(BASE)->first_faults.mapped, 0);
	note_and_choose(BASE + 2 * MIB2, 2);
	assert_true(is_here(BASE + 2 * MIB2));
	assert_int_equal(range_at(BASE + 2 * MIB2)->first_faults.returned, 512); /* prefetch=block */
	note_and_choose(BASE + MIB2, 2);
	assert_true(is_here(BASE + MIB2) && is_remote(BASE + 2 * MIB2));
	assert_int_equal(range_at(BASE)->first_faults.returned, 0); /* it did not begin there */
	note_and_choose(BASE + 2 * MIB2, 3); /* nor does what was evicted since */
	assert_true(is_here(BASE + 2 * MIB2));
	assert_int_equal(range_at(BASE + 2 * MIB2)->first_faults.returned, 512);
}

/* The next block of an allocation whose pages return moves. */
static void test_pages_that_return_begin_on_the_gpu(void **state)
{
	(void)state;
	fill_and_fault("evict=lru2m " AUTO, 64);
	range_at(BASE + 2 * MIB2)->first_faults.returned = 768;
	engine_fault(&host, 1, SPACE, BASE + 3 * MIB2, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE + 3 * MIB2));
}

static void test_no_page_begins_on_the_cpu(void **state)
{
	(void)state;
	fill_and_fault("evict=lru2m " AUTO, 0); /* a GPU that does not notify */
	assert_true(is_here(BASE + 2 * MIB2));
	engine_stop(&host);
	fill_and_fault("evict=lru2m map_on_eviction=0 " AUTO, 64);
	assert_true(is_here(BASE + 2 * MIB2));
	engine_stop(&host);
	fill_twice("evict=lru2m " AUTO, 64);
	engine_range(&host, SPACE, BASE + 2 * MIB2, 2 * MIB2, UVMP_PROC_NONE); /* pages without data */
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(BASE + 2 * MIB2));
}

/* Advice takes precedence. */
static void test_advice_on_first_faults(void **state)
{
	static const enum uvmp_advice advice[] = {UVMP_ADVISE_PREFERRED, UVMP_ADVISE_READ_DUPLICATE, UVMP_ADVISE_ACCESSED_BY};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		fill_twice("evict=lru2m " AUTO, 64);
		engine_range(&host, SPACE, BASE + 2 * MIB2, 2 * MIB2, UVMP_CPU);
		assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE + 2 * MIB2, 2 * MIB2, advice[i], 1, NULL),
		                 UVMP_OK);
		(void)engine_run(&host);
		engine_fault(&host, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_WRITE);
		(void)engine_run(&host);
		assert_int_equal(range_at(BASE + 2 * MIB2)->first_faults.mapped, 0);
		if (i < 2)
			engine_stop(&host);
	}
}

static void cpu_writes(uvmp_addr address)
{
	assert_int_equal(uvmp_service_cpu_fault(host.service, SPACE, address, UVMP_ACCESS_WRITE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

/* Of a block without data but for one page: that page begins on the CPU, the other one is made on the GPU. Then the block is in
 * use, and its pages move. */
static void test_only_pages_of_the_cpu_begin_there(void **state)
{
	uvmp_addr third = BASE + 2 * MIB2;

	(void)state;
	fill_twice("evict=lru2m thrash=off prefetch=none remote=auto counter_threshold=512 replay=batch ", 64);
	host.service->is_full = true; /* without prefetching it is not */
	engine_range(&host, SPACE, third, 2 * MIB2, UVMP_PROC_NONE);
	cpu_writes(third);
	engine_fault(&host, 1, SPACE, third, UVMP_ACCESS_READ);
	engine_fault(&host, 1, SPACE, third + 9 * PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_remote(third));
	assert_true(is_here(third + 9 * PAGE));
	cpu_writes(third + 20 * PAGE);
	engine_fault(&host, 1, SPACE, third + 20 * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(third + 20 * PAGE));
	assert_int_equal(range_at(third)->first_faults.mapped, 1);
	/* The CPU takes the block back: the GPU knows it, and uses no page of it. */
	cpu_writes(third + 9 * PAGE);
	cpu_writes(third + 20 * PAGE);
	cpu_writes(third);
	engine_fault(&host, 1, SPACE, third + 9 * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(engine_page(&host, SPACE, third + 9 * PAGE).resident, is_remote(third + 9 * PAGE) ? 1 : 2);
}

static void test_a_gpu_that_does_not_reach_the_cpu(void **state)
{
	(void)state;
	engine_init(&host, 1, 1);
	host.processors.can_access[1] = 2;
	assert_true(engine_policy(&host, "evict=lru2m " AUTO));
	assert_true(engine_start(&host, 16, 1 << 20));
	engine_bind(&host, 1, SPACE);
	engine_range(&host, SPACE, BASE, 3 * MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 3; i++) {
		engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
		assert_int_equal(engine_run(&host), UVMP_OK);
		assert_true(is_here(BASE + i * MIB2));
	}
}

/* With each amount of room for objects: what cannot be mapped is serviced, or fails, as ever. */
static void test_first_faults_without_room(void **state)
{
	bool was_remote = false, was_not = false;

	(void)state;
	for (size_t extra = 0; extra < 4096; extra += 32) {
		engine_init(&host, 1, 1);
		assert_true(engine_policy(&host, "evict=lru2m " AUTO));
		assert_true(engine_start(&host, 0, extra));
		arena_without_reserve(host.service);
		engine_bind(&host, 1, SPACE);
		engine_range(&host, SPACE, BASE, 3 * MIB2, UVMP_CPU);
		for (uint32_t i = 0; i < 3; i++) {
			engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
			(void)engine_run(&host);
		}
		*(is_remote(BASE) ? &was_remote : &was_not) = true;
		assert_true(uvmp_service_check(host.service));
		assert_true(engine_agrees(&host));
		if (extra + 32 < 4096)
			engine_stop(&host);
	}
	assert_true(was_remote);
	assert_true(was_not);
}

/* -- first faults while ranges exceed memory, which is not full -- */

#define BLOCKS 40u

/* Memory of `roots` blocks for BLOCKS blocks in one range; batches of two faults. */
static void begin_early(uint32_t roots, const char *policy)
{
	engine_open(&host, policy, 1, roots, SPACE);
	engine_range(&host, SPACE, BASE, BLOCKS * MIB2, UVMP_CPU);
}

#define EARLY "evict=lru2m batch=2 " AUTO

static void two_faults(uvmp_addr first, uvmp_addr second)
{
	engine_fault(&host, 1, SPACE, first, UVMP_ACCESS_READ);
	engine_fault(&host, 1, SPACE, second, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

/* Two pages of the block fault together. */
static void group(uint32_t block)
{
	two_faults(BASE + block * MIB2, BASE + block * MIB2 + 3 * PAGE);
}

static uint32_t count_remote(uint32_t first, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++)
		count += is_remote(BASE + i * MIB2);
	return count;
}

static const struct early_starts *early(void)
{
	return &range_at(BASE)->early_starts;
}

/* Three blocks a batch: two may begin there at first, and once these have stayed there for a batch, four. */
static void test_grouped_faults_begin_on_the_cpu_one_after_another(void **state)
{
	static const bool remote[] = {true, true, false, false, false, false, true, true, true};

	(void)state;
	begin_early(32, "evict=lru2m batch=6 " AUTO);
	for (uint32_t i = 0; i < sizeof(remote); i++) {
		engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
		engine_fault(&host, 1, SPACE, BASE + i * MIB2 + 3 * PAGE, UVMP_ACCESS_READ);
		if (i % 3 == 2)
			assert_int_equal(engine_run(&host), UVMP_OK);
	}
	for (uint32_t i = 0; i < sizeof(remote); i++)
		assert_int_equal(is_remote(BASE + i * MIB2), remote[i]);
	assert_int_equal(early()->blocks, 9);
	assert_int_equal(early()->faults, 18);
	assert_int_equal(early()->more, 2);
	assert_int_equal(early()->open, 3);
	assert_false(host.service->is_full);
}

/* Faults of single pages: all blocks begin there. */
static void test_scattered_faults_begin_on_the_cpu(void **state)
{
	(void)state;
	begin_early(32, EARLY);
	two_faults(BASE, BASE + MIB2);
	assert_true(engine_has(&host, " pages=0-511 from=0 to=1 right=rw rule=short "));
	two_faults(BASE + 2 * MIB2, BASE + 3 * MIB2);
	two_faults(BASE + 4 * MIB2, BASE + 5 * MIB2);
	assert_int_equal(count_remote(0, 6), 6);
	assert_int_equal(early()->faults, 6);
	assert_int_equal(early()->blocks, 6);
}

/* The latest 64 blocks count at least as much as all before them. */
static void test_old_groups_count_half(void **state)
{
	(void)state;
	begin_early(38, EARLY);
	range_at(BASE)->early_starts.blocks = 63;
	range_at(BASE)->early_starts.faults = 125;
	group(0);
	assert_int_equal(early()->blocks, 32);
	assert_int_equal(early()->faults, 63);
}

/* Memory for everything: blocks move. */
static void test_blocks_move_while_memory_is_enough(void **state)
{
	(void)state;
	begin_early(BLOCKS, EARLY);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(count_remote(0, 2), 0);
	assert_int_equal(early()->blocks, 0);
}

/* `gpus` with memory of `roots` blocks together, for a range at BASE and one of as many bytes behind it. Batches of two faults. */
#define OTHER (BASE + 32 * MIB2)

static void begin_two_ranges(uint32_t gpus, uint32_t roots, uint64_t bytes)
{
	engine_open(&host, EARLY, gpus, roots / gpus, SPACE);
	engine_range(&host, SPACE, BASE, bytes, UVMP_CPU);
	engine_range(&host, SPACE, OTHER, bytes, UVMP_CPU);
}

static void free_other(void)
{
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, OTHER, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	host.ranges--; /* engine_agrees compares no freed range */
}

/* Ranges that no GPU has used do not count where ranges exceed memory. */
static void test_unused_ranges_do_not_count(void **state)
{
	(void)state;
	begin_two_ranges(1, 32, 31 * MIB2);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(count_remote(0, 2), 0);
	assert_int_equal(host.service->used_bytes, 31 * MIB2);
	two_faults(OTHER, OTHER + MIB2); /* this one counts at once */
	assert_int_equal(count_remote(32, 34), 2);
	two_faults(BASE + 8 * MIB2, BASE + 9 * MIB2);
	assert_int_equal(count_remote(8, 10), 2);
	assert_int_equal(host.service->used_bytes, 62 * MIB2);
	free_other();
	assert_int_equal(host.service->used_bytes, 31 * MIB2);
	two_faults(BASE + 16 * MIB2, BASE + 17 * MIB2);
	assert_int_equal(count_remote(16, 18), 0);
}

/* Memory would be full: the range leaves less than a thirty-second part of it. */
static void test_a_range_may_nearly_fill_memory(void **state)
{
	(void)state;
	begin_two_ranges(1, 32, 31 * MIB2 + PAGE);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(count_remote(0, 2), 2);
}

/* In a memory of fewer than eight blocks the range may fill all of it. */
static void test_a_range_may_fill_a_small_memory(void **state)
{
	static const struct {
		uint64_t pages;
		uint32_t roots, there;
	} row[] = {{7 * 512, 7, 0}, {7 * 512 + 1, 7, 2}, {8 * 512 - 128, 8, 0}, {8 * 512, 8, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_two_ranges(1, row[i].roots, row[i].pages * PAGE);
		two_faults(BASE, BASE + MIB2);
		assert_int_equal(count_remote(0, 2), row[i].there);
		(void)stop(NULL);
	}
}

/* Ranges may use the memory of all GPUs. */
static void test_the_memory_of_all_gpus_counts(void **state)
{
	(void)state;
	begin_two_ranges(2, 32, 31 * MIB2);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(count_remote(0, 2), 0);
}

/* A range is used, too, if pages of it were moved to a GPU on request, but not if they were moved to the CPU. */
static void test_requested_pages_are_used(void **state)
{
	(void)state;
	begin_two_ranges(1, 32, 31 * MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, OTHER, PAGE, UVMP_CPU, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->used_bytes, 0);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, OTHER, PAGE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->used_bytes, 31 * MIB2);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(count_remote(0, 2), 2);
}

/* Both parts of a range that was used are used. */
static void test_parts_of_a_used_range_are_used(void **state)
{
	(void)state;
	begin_two_ranges(1, 32, 31 * MIB2);
	two_faults(BASE, BASE + MIB2);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE + 8 * MIB2, MIB2, UVMP_ADVISE_PREFERRED, UVMP_CPU, NULL),
			 UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->used_bytes, 31 * MIB2);
	free_other();
	assert_int_equal(host.service->used_bytes, 31 * MIB2);
	assert_true(uvmp_service_check(host.service));
	host.service->used_bytes += PAGE;
	assert_false(uvmp_service_check(host.service));
	host.service->used_bytes -= 2 * PAGE;
	assert_false(uvmp_service_check(host.service));
	host.service->used_bytes += PAGE;
}

/* After a batch in which blocks opened, two batches have 16 faults at most. A smaller limit of the policy stays. */
static void test_batches_are_small_while_blocks_are_open(void **state)
{
	(void)state;
	begin_early(32, "evict=lru2m batch=20 " AUTO);
	host.hidden[3] = "batch=";
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 20);
	for (uint32_t i = 0; i < 20; i++)
		engine_fault(&host, 1, SPACE, BASE + i / 2 * MIB2 + i % 2 * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(early()->open, 2);
	let_move(BASE, 30);
	engine_forget(&host);
	for (uint32_t i = 0; i < 56; i++)
		engine_fault(&host, 1, SPACE, BASE + (10 + i / 4) * MIB2 + i % 4 * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(engine_has(&host, "batch to=1 count=16 detail=16\n"));
	assert_true(engine_has(&host, "batch to=1 count=20 detail=20\n"));
	assert_true(engine_has(&host, "batch to=1 count=4 detail=4\n"));
	assert_int_equal(host.service->gpu[1].counts.batches, 5); /* 20, then 16, 16, 20 and 4 */
	host.service->gpu[1].opening_batch = 5;
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 16);
	host.service->is_full = true;
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 20);
	host.service->is_full = false;
	host.service->gpu[1].params.max_batch = 8;
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 8);
}

/* A batch is full if it has as many faults as it could have: open blocks close after two such batches. Two pages of eight blocks
 * fault in each of them. */
static void test_small_batches_are_full(void **state)
{
	(void)state;
	begin_early(32, "evict=lru2m batch=20 " AUTO);
	range_at(BASE)->early_starts.open = 2;
	range_at(BASE)->early_starts.gpu = 1;
	host.service->gpu[1].opening_batch = 1;
	host.service->gpu[1].counts.batches = 1;
	range_at(BASE)->early_starts.batch = 1;
	for (uint32_t i = 0; i < 32; i++)
		engine_fault(&host, 1, SPACE, BASE + i / 2 * MIB2 + i % 2 * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->gpu[1].counts.batches, 3);
	assert_int_equal(early()->more, 2);
	assert_int_equal(early()->open, 4);
	assert_int_equal(count_remote(0, 8), 0);
	assert_int_equal(count_remote(8, 16), 4);
}

/* Scattered faults in a batch with room for more open a block, so that the next batches are small. */
static void test_batches_are_small_after_scattered_faults(void **state)
{
	(void)state;
	begin_early(32, "evict=lru2m batch=20 " AUTO);
	engine_fault(&host, 1, SPACE, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(early()->open, 1);
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 16);
}

/* Scattered faults of full batches open no block: batches are as large as ever. */
static void test_batches_stay_large_where_all_blocks_begin_there(void **state)
{
	(void)state;
	begin_early(32, "evict=lru2m batch=20 " AUTO);
	for (uint32_t i = 0; i < 20; i++)
		engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(count_remote(0, 20), 20);
	assert_int_equal(uvmpi_remote_auto_batch(host.service, 1), 20);
}

/* Scattered faults in batches that have room for more: two blocks may begin there, and once these have stayed there for eight
 * batches, four. */
static void test_small_batches_try_few_blocks(void **state)
{
	(void)state;
	begin_early(32, EARLY);
	for (uint32_t i = 0; i < 13; i++) {
		engine_fault(&host, 1, SPACE, BASE + i * MIB2, UVMP_ACCESS_READ);
		assert_int_equal(engine_run(&host), UVMP_OK);
		assert_int_equal(is_remote(BASE + i * MIB2), i < 2 || (i >= 8 && i < 12));
	}
	assert_int_equal(early()->open, 4);
	assert_int_equal(early()->more, 2);
	assert_int_equal(early()->faults, early()->blocks);
	assert_false(host.service->is_full);
}

/* Groups of faults in batches that have room for more: blocks move. */
static void test_groups_in_small_batches_move(void **state)
{
	(void)state;
	begin_early(32, "evict=lru2m batch=6 " AUTO);
	group(0);
	group(1);
	assert_int_equal(count_remote(0, 2), 0);
	assert_int_equal(early()->faults, 4);
	assert_int_equal(early()->open, 0);
}

/* Full batches know after two batches that blocks have stayed, also those that began in smaller batches. */
static void test_full_batches_wait_less(void **state)
{
	(void)state;
	begin_early(32, EARLY);
	engine_fault(&host, 1, SPACE, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	group(1);
	assert_int_equal(early()->more, 0);
	group(2);
	assert_int_equal(early()->more, 2);
	assert_int_equal(count_remote(0, 3), 3);
}

/* As long as a notification waits to be read, blocks stay open: the fault is serviced first. */
static void test_blocks_stay_open_while_notifications_wait(void **state)
{
	const struct uvmp_note waiting = {.address = BASE,
	                                  .aperture = UVMP_APERTURE_VID,
	                                  .instance = engine_instance(SPACE),
	                                  .sub_granularity = 1};

	(void)state;
	begin_early(32, EARLY);
	group(0);
	group(1);
	assert_int_equal(early()->open, 2);
	assert_int_equal(early()->batch, host.service->gpu[1].counts.batches - 1u);
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_READ);
	engine_fault(&host, 1, SPACE, BASE + 2 * MIB2 + PAGE, UVMP_ACCESS_READ);
	assert_int_equal(uvmp_service_note(host.service, 1, &waiting), UVMP_OK);
	(void)engine_run(&host); /* the status of the last DONE */
	assert_true(is_here(BASE + 2 * MIB2));
	assert_int_equal(early()->open, 2);
	assert_int_equal(early()->more, 0);
	group(3); /* the notification has been read, and the block has not returned */
	assert_int_equal(early()->more, 2);
	assert_true(is_remote(BASE + 3 * MIB2));
}

/* A block that returns is no longer open, and fewer may be. */
static void test_a_return_lowers_the_limit(void **state)
{
	(void)state;
	begin_early(32, EARLY);
	group(0);
	group(1);
	note(BASE, 1);
	note(BASE, 1);
	assert_true(is_here(BASE));
	assert_int_equal(early()->open, 1);
	range_at(BASE)->early_starts.more = 5;
	note(BASE + MIB2, 1);
	note(BASE + MIB2, 1);
	assert_true(is_here(BASE + MIB2));
	assert_int_equal(early()->open, 0);
	assert_int_equal(early()->more, 2);
	/* both have returned: the trial has failed, and the next blocks move */
	group(2);
	assert_true(is_here(BASE + 2 * MIB2));
	assert_int_equal(range_at(BASE)->first_faults.left, UVMP_REMOTE_GAP - 1u);
}

/* A return of a block that is not open any longer. */
static void test_a_late_return(void **state)
{
	(void)state;
	begin_early(32, EARLY);
	group(0);
	range_at(BASE)->early_starts.open = 0;
	note(BASE, 1);
	note(BASE, 1);
	assert_true(is_here(BASE));
	assert_int_equal(early()->open, 0);
}

/* -- the same with two GPUs -- */

/* Both GPUs use one range. `batches` of `gpu` have been serviced elsewhere. */
static void begin_early_twice(uint32_t gpu, uint32_t batches)
{
	engine_open(&host, EARLY, 2, 16, SPACE);
	engine_range(&host, SPACE, BASE, BLOCKS * MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < batches; i++) {
		engine_fault(&host, gpu, SPACE, BASE + (BLOCKS - 1u) * MIB2, UVMP_ACCESS_READ);
		let_move(BASE, 1);
		assert_int_equal(engine_run(&host), UVMP_OK);
	}
	range_at(BASE)->first_faults = (struct uvmp_remote_start){0};
	range_at(BASE)->early_starts = (struct early_starts){0};
}

static void fault_of(uint32_t gpu, uint32_t block, uint32_t page)
{
	engine_fault(&host, gpu, SPACE, BASE + block * MIB2 + page * PAGE, UVMP_ACCESS_READ);
}

/* Two pages of the block fault together on the GPU. */
static void group_of(uint32_t gpu, uint32_t block)
{
	fault_of(gpu, block, 0);
	fault_of(gpu, block, 3);
	assert_int_equal(engine_run(&host), UVMP_OK);
}

/* Does the GPU read the block's first page on the CPU? */
static bool is_remote_to(uint32_t gpu, uint32_t block)
{
	struct uvmp_page_state page = engine_page(&host, SPACE, BASE + block * MIB2);

	return page.resident == 1u && (page.read >> gpu & 1u) != 0;
}

/* Batches of the other GPU do not close open blocks, and its blocks move meanwhile. */
static void test_batches_of_another_gpu_close_nothing(void **state)
{
	(void)state;
	begin_early_twice(1, 0);
	group_of(1, 0);
	assert_int_equal(host.service->gpu[1].opening_batch, host.service->gpu[1].counts.batches);
	for (uint32_t i = 1; i < 5; i++) {
		group_of(2, i);
		assert_false(is_remote_to(2, i));
	}
	assert_int_equal(host.service->gpu[2].opening_batch, 0);
	assert_int_equal(early()->open, 1);
	assert_int_equal(early()->more, 0);
	group_of(1, 5);
	assert_int_equal(early()->open, 2);
	group_of(1, 6);
	assert_int_equal(early()->open, 1);
	assert_int_equal(early()->more, 2);
	assert_true(is_remote_to(1, 5) && is_remote_to(1, 6));
}

/* The GPU of the open blocks has serviced more batches than the other one. */
static void test_a_gpu_with_fewer_batches_closes_nothing(void **state)
{
	(void)state;
	begin_early_twice(1, 5);
	group_of(1, 0);
	group_of(2, 1);
	assert_int_equal(early()->open, 1);
	assert_int_equal(early()->more, 0);
	assert_false(is_remote_to(2, 1));
}

/* Once no block is open, the next GPU may open blocks, by its own batches. */
static void test_another_gpu_opens_blocks_next(void **state)
{
	(void)state;
	begin_early_twice(2, 5);
	group_of(1, 0);
	group_of(1, 1);
	note(BASE, 1);
	note(BASE, 1);
	note(BASE + MIB2, 1);
	note(BASE + MIB2, 1);
	assert_int_equal(early()->open, 0);
	range_at(BASE)->first_faults = (struct uvmp_remote_start){0};
	group_of(2, 2);
	assert_true(is_remote_to(2, 2));
	assert_int_equal(host.service->gpu[2].opening_batch, host.service->gpu[2].counts.batches);
	assert_int_equal(early()->open, 1);
	group_of(1, 3);
	assert_false(is_remote_to(1, 3));
	group_of(2, 4);
	assert_int_equal(early()->open, 2);
	group_of(2, 5);
	assert_int_equal(early()->more, 2);
	assert_true(is_remote_to(2, 5));
}

/* Scattered faults of full batches of the other GPU begin on the CPU, and are not counted as open; nor do their returns close
 * blocks of this one. */
static void test_scattered_faults_of_another_gpu(void **state)
{
	const struct uvmp_note other = {.address = BASE + MIB2,
	                                .aperture = UVMP_APERTURE_VID,
	                                .instance = engine_instance(SPACE),
	                                .sub_granularity = 1};

	(void)state;
	begin_early_twice(1, 0);
	fault_of(1, 0, 0);
	assert_int_equal(engine_run(&host), UVMP_OK);
	fault_of(2, 1, 0);
	fault_of(2, 2, 0);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_remote_to(2, 1) && is_remote_to(2, 2));
	assert_int_equal(early()->open, 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(uvmp_service_note(host.service, 2, &other), UVMP_OK);
		(void)engine_run(&host); /* the status of the last DONE */
	}
	assert_int_equal(engine_page(&host, SPACE, BASE + MIB2).resident, 4);
	assert_int_equal(early()->open, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_pages_return_when_it_pays, stop),
	        cmocka_unit_test_teardown(test_a_block_that_is_not_chosen, stop),
	        cmocka_unit_test_teardown(test_all_blocks_return_until_memory_has_been_full, stop),
	        cmocka_unit_test_teardown(test_each_clear_says_why_pages_stay, stop),
	        cmocka_unit_test_teardown(test_parts_add_up, stop),
	        cmocka_unit_test_teardown(test_other_pages_are_not_counted, stop),
	        cmocka_unit_test_teardown(test_without_notifications, stop),
	        cmocka_unit_test_teardown(test_two_gpus, stop),
	        cmocka_unit_test_teardown(test_a_failed_copy, stop),
	        cmocka_unit_test_teardown(test_pages_begin_on_the_cpu, stop),
	        cmocka_unit_test_teardown(test_pages_that_return_begin_on_the_gpu, stop),
	        cmocka_unit_test_teardown(test_no_page_begins_on_the_cpu, stop),
	        cmocka_unit_test_teardown(test_advice_on_first_faults, stop),
	        cmocka_unit_test_teardown(test_only_pages_of_the_cpu_begin_there, stop),
	        cmocka_unit_test_teardown(test_a_gpu_that_does_not_reach_the_cpu, stop),
	        cmocka_unit_test_teardown(test_first_faults_without_room, stop),
	        cmocka_unit_test_teardown(test_a_cut_block_counts_from_zero, stop),
	        cmocka_unit_test_teardown(test_grouped_faults_begin_on_the_cpu_one_after_another, stop),
	        cmocka_unit_test_teardown(test_scattered_faults_begin_on_the_cpu, stop),
	        cmocka_unit_test_teardown(test_old_groups_count_half, stop),
	        cmocka_unit_test_teardown(test_blocks_move_while_memory_is_enough, stop),
	        cmocka_unit_test_teardown(test_unused_ranges_do_not_count, stop),
	        cmocka_unit_test_teardown(test_a_range_may_nearly_fill_memory, stop),
	        cmocka_unit_test(test_a_range_may_fill_a_small_memory),
	        cmocka_unit_test_teardown(test_the_memory_of_all_gpus_counts, stop),
	        cmocka_unit_test_teardown(test_requested_pages_are_used, stop),
	        cmocka_unit_test_teardown(test_parts_of_a_used_range_are_used, stop),
	        cmocka_unit_test_teardown(test_batches_are_small_while_blocks_are_open, stop),
	        cmocka_unit_test_teardown(test_small_batches_are_full, stop),
	        cmocka_unit_test_teardown(test_batches_are_small_after_scattered_faults, stop),
	        cmocka_unit_test_teardown(test_batches_stay_large_where_all_blocks_begin_there, stop),
	        cmocka_unit_test_teardown(test_small_batches_try_few_blocks, stop),
	        cmocka_unit_test_teardown(test_groups_in_small_batches_move, stop),
	        cmocka_unit_test_teardown(test_full_batches_wait_less, stop),
	        cmocka_unit_test_teardown(test_blocks_stay_open_while_notifications_wait, stop),
	        cmocka_unit_test_teardown(test_a_return_lowers_the_limit, stop),
	        cmocka_unit_test_teardown(test_a_late_return, stop),
	        cmocka_unit_test_teardown(test_batches_of_another_gpu_close_nothing, stop),
	        cmocka_unit_test_teardown(test_a_gpu_with_fewer_batches_closes_nothing, stop),
	        cmocka_unit_test_teardown(test_another_gpu_opens_blocks_next, stop),
	        cmocka_unit_test_teardown(test_scattered_faults_of_another_gpu, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
