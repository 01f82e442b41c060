/* Feedback in the engine (controllers.c, service_runtime.c): what is heard, when controllers look, and what
 * follows from their answers. Small runs through the public functions; from inside only what they cannot
 * show. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "evict/evict_mhpe_internal.h"
#include "prefetch/prefetch_auto_internal.h"
#include "prefetch/prefetch_states_internal.h"
#include "support/arena.h"
#include "support/engine_host.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u
#define US    1000u

static struct engine e;

static void start(const char *policy, uint32_t gpus, uint32_t roots, uint32_t sms)
{
	engine_init(&e, gpus, roots);
	assert_true(engine_policy(&e, policy));
	for (uint32_t i = 0; i < gpus; i++)
		e.gpu[i].sms = sms;
	engine_go(&e, SPACE);
}

/* One GPU with room for so many blocks, and pages of so many bytes. */
static void start_pages(const char *policy, uint32_t roots, uint32_t page_bytes)
{
	engine_init(&e, 1, roots);
	assert_true(engine_policy(&e, policy));
	e.params.page_bytes = page_bytes;
	engine_go(&e, SPACE);
}

static void range(uint32_t blocks)
{
	engine_range(&e, SPACE, BASE, (uint64_t)blocks * MIB2, UVMP_PROC_NONE);
}

static uvmp_addr at(uint32_t block, uint32_t page)
{
	return BASE + (uvmp_addr)block * MIB2 + (uvmp_addr)page * PAGE;
}

/* A batch with one fault. */
static void fault(uint32_t gpu, uint32_t block, uint32_t page)
{
	engine_forget(&e);
	engine_fault(&e, gpu, SPACE, at(block, page), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

static void fault_of(uint32_t utlb, uint32_t block, uint32_t page)
{
	struct uvmp_fault entry = engine_entry(SPACE, at(block, page), UVMP_ACCESS_WRITE);

	entry.utlb = utlb;
	assert_int_equal(engine_report(&e, 1, SPACE, &entry), UVMP_OK);
}

static uint32_t resident(uint32_t block)
{
	uint32_t count = 0;

	for (uint32_t page = 0; page < 512; page++)
		count += (engine_page(&e, SPACE, at(block, page)).resident & 2u) != 0;
	return count;
}

static bool is_resident(uint32_t block, uint32_t page)
{
	return (engine_page(&e, SPACE, at(block, page)).resident & 2u) != 0;
}

static struct block *block(uint32_t i)
{
	return block_at(e.service, uvmpi_block_find(e.service, uvmpi_space_find(e.service, SPACE), at(i, 0)));
}

static struct history *history(uint32_t i)
{
	return block_history(e.service, block(i));
}

/* The state of prefetch=pattern. */
static struct pattern_block *pattern(uint32_t i)
{
	return (void *)(history(i) + 1);
}

/* The state of prefetch=stride. */
static const struct stride_range *strides(void)
{
	return (const void *)e.service->prefetch_states.range;
}

static void stop(void)
{
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

static void fill_arena(enum slab slab)
{
	while (uvmpi_arena_take(e.service, slab) != 0) {
	}
}

/* What was taken beside the engine is none of its own. */
static void stop_full(void)
{
	engine_stop(&e);
}

/* -- prefetch=safe: uTLBs -- */

static void test_utlbs(void **state)
{
	(void)state;
	start("prefetch=safe", 1, 8, 0);
	range(8);
	fault_of(0, 0, 0); /* private: the faulting big page */
	fault_of(0, 0, 1);
	fault_of(1, 1, 0); /* shared: all of it */
	fault_of(2, 1, 1);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(resident(0), 16);
	assert_int_equal(resident(1), 512);
	/* merged into what another uTLB faulted on just before */
	fault_of(3, 2, 5);
	fault_of(4, 2, 5);
	/* merged into its own uTLB's, behind a fault on another block, which it does not count for */
	fault_of(5, 3, 5);
	fault_of(6, 4, 5);
	fault_of(5, 3, 5);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->gpu[1].counts.coalesced, 7);
	assert_int_equal(resident(2), 512);
	assert_int_equal(resident(3), 16);
	assert_int_equal(resident(4), 16);
	stop();
}

/* The same page of two spaces: two blocks, each with its own uTLBs. */
static void test_utlbs_of_spaces(void **state)
{
	(void)state;
	start("prefetch=density prefetch_full=safe", 1, 8, 0);
	range(1);
	engine_bind(&e, 1, 2);
	engine_range(&e, 2, BASE, MIB2, UVMP_PROC_NONE);
	e.service->is_full = true;
	fault_of(0, 0, 0);
	{
		struct uvmp_fault entry = engine_entry(2, BASE, UVMP_ACCESS_WRITE);

		entry.utlb = 1;
		assert_int_equal(engine_report(&e, 1, 2, &entry), UVMP_OK);
	}
	fault_of(0, 0, 0); /* merged into the first one, behind the other */
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(resident(0), 16);
	stop();
	start("prefetch=density", 1, 8, 65535);
	assert_null(e.service->gpu[1].utlb_seen);
	stop_full();
	engine_init(&e, 1, 1);
	e.gpu[0].sms = 65536;
	assert_int_equal(uvmp_service_size(&e.params, 1), 0);
}

/* -- prefetch=pattern -- */

static void test_pattern(void **state)
{
	(void)state;
	start("prefetch=pattern", 1, 1, 0);
	range(3);
	fault(1, 0, 3); /* no pattern yet: density, the big page */
	assert_int_equal(resident(0), 16);
	uvmp_service_touch(e.service, 1, SPACE, at(0, 7));
	uvmp_service_touch(e.service, 1, SPACE, at(0, 20)); /* is not there */
	uvmp_service_touch(e.service, 1, SPACE, at(1, 0));  /* there is no block */
	fault(1, 1, 0);                                     /* it leaves */
	assert_int_equal(resident(0), 0);
	assert_int_equal(uvmp_mask_weight(&pattern(0)->pages), 2);
	assert_true(uvmp_mask_is_empty(&history(0)->touched));
	fault(1, 0, 3);
	assert_int_equal(resident(0), 2);
	assert_true(is_resident(0, 7));
	fault(1, 0, 9); /* does not fit it */
	assert_true(uvmp_mask_is_empty(&pattern(0)->pages));
	assert_true(resident(0) >= 16);
	stop();
}

/* Of parts of a block that leave one by one, each has its part of the pattern. */
static void test_pattern_of_units(void **state)
{
	(void)state;
	start("prefetch=pattern evict=lru2m granularity=64k quirks=0", 1, 1, 0);
	range(2);
	fault(1, 0, 0);
	fault(1, 0, 16);
	for (uint32_t page = 0; page < 512u; page += 16)
		fault(1, 1, page);
	assert_false(is_resident(0, 0));
	assert_int_equal(uvmp_mask_weight(&pattern(0)->pages), 2);
	assert_true(uvmp_mask_test(&pattern(0)->pages, 16));
	stop();
}

/* What was touched on one GPU says nothing of another. */
static void test_pattern_of_gpus(void **state)
{
	(void)state;
	start("prefetch=pattern", 2, 1, 0);
	range(4);
	fault(1, 0, 0);
	assert_int_equal(history(0)->gpu, 1);
	fault(1, 1, 0); /* evicted from GPU 1 */
	assert_int_equal(pattern(0)->processor, 1);
	fault(2, 0, 40);
	assert_int_equal(history(0)->gpu, 2);
	assert_int_equal(uvmp_mask_weight(&history(0)->touched), 1);
	/* for GPU 2 there was no pattern: density */
	assert_true((engine_page(&e, SPACE, at(0, 41)).resident & 4u) != 0);
	uvmp_service_touch(e.service, 1, SPACE, at(0, 41)); /* not the GPU that has it */
	assert_int_equal(uvmp_mask_weight(&history(0)->touched), 1);
	fault(2, 2, 0); /* evicted from GPU 2 */
	assert_int_equal(pattern(0)->processor, 2);
	assert_true(uvmp_mask_test(&pattern(0)->pages, 40));
	assert_false(uvmp_mask_test(&pattern(0)->pages, 0));
	/* pages on both GPUs: what the other one's eviction takes was not touched there last */
	fault(1, 3, 0);
	fault(2, 3, 100);
	assert_int_equal(history(3)->gpu, 2);
	fault(1, 0, 0);
	assert_true(uvmp_mask_is_empty(&pattern(3)->pages));
	/* a duplicate that another GPU's eviction takes along was not evicted there */
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, BASE, 4 * MIB2, UVMP_ADVISE_READ_DUPLICATE, 0, NULL),
	        UVMP_OK);
	engine_fault(&e, 1, SPACE, at(1, 50), UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_fault(&e, 2, SPACE, at(1, 50), UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, at(1, 50)).resident & 6u, 6);
	assert_int_equal(history(1)->gpu, 2);
	fault(1, 2, 0);
	assert_int_equal(engine_page(&e, SPACE, at(1, 50)).resident, 1);
	assert_int_equal(pattern(1)->processor, 1);
	assert_true(uvmp_mask_is_empty(&history(1)->touched));
	/* the CPU is no GPU's concern */
	uvmp_service_touch(e.service, 0, SPACE, at(0, 0));
	stop();
}

/* Pages come to a GPU for another one's fault: it has not touched them. */
static void test_pattern_of_afar(void **state)
{
	(void)state;
	engine_init(&e, 2, 1);
	assert_true(engine_policy(&e, "prefetch=pattern"));
	e.processors.can_access[2] |= 2u;
	assert_true(engine_start(&e, 8, 1 << 18));
	engine_bind(&e, 2, SPACE);
	range(1);
	assert_int_equal(uvmp_service_advise(e.service, SPACE, BASE, MIB2, UVMP_ADVISE_PREFERRED, 1, NULL),
	                 UVMP_OK);
	fault(2, 0, 3);
	assert_true(is_resident(0, 3));
	assert_int_equal(history(0)->gpu, 1);
	assert_true(uvmp_mask_is_empty(&history(0)->touched));
	assert_int_equal(e.service->gpu[1].controls.load.faults, 0);
	stop();
}

/* Pages that the program or the CPU takes away are no pattern. */
static void test_pattern_without_eviction(void **state)
{
	(void)state;
	start("prefetch=pattern", 1, 4, 0);
	range(2);
	fault(1, 0, 3);
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, at(0, 3), UVMP_ACCESS_WRITE, 0, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&history(0)->touched));
	assert_true(uvmp_mask_is_empty(&pattern(0)->pages));
	/* a migration touches nothing */
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, at(1, 0), MIB2, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(resident(1), 512);
	assert_true(uvmp_mask_is_empty(&history(1)->touched));
	stop();
}

/* -- prefetch=auto -- */

/* The state of prefetch=auto. */
static const struct auto_block *state_of_auto(uint32_t i)
{
	return (const void *)(history(i) + 1);
}

/* Evictions are counted and told; pages that the CPU takes back do not count. */
static void test_auto(void **state)
{
	(void)state;
	start("prefetch=auto", 1, 1, 0);
	range(3);
	fault(1, 0, 3); /* nothing has been evicted */
	assert_int_equal(resident(0), 512);
	fault(1, 1, 0);
	assert_int_equal(e.service->gpu[1].evicted_pages, 512);
	assert_int_equal(state_of_auto(0)->departed, 512);
	assert_int_equal(state_of_auto(0)->left, 512);
	assert_int_equal(state_of_auto(1)->departed, 0);
	fault(1, 0, 3); /* a probe: the first mode is dense */
	assert_int_equal(resident(0), 16);
	assert_int_equal(state_of_auto(0)->departed, 0);
	assert_int_equal(e.service->gpu[1].evicted_pages, 1024);
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, at(0, 3), UVMP_ACCESS_WRITE, 0, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(resident(0), 0); /* all of it, though the stay is one of a finer mode */
	assert_int_equal(e.service->gpu[1].evicted_pages, 1024);
	assert_int_equal(state_of_auto(0)->departed, 0);
	assert_int_equal(state_of_auto(0)->mode, AUTO_SPARSE);
	stop();
}

/* Evictions count for each GPU, also before auto decides, and of blocks that it has not seen. */
static void test_auto_full(void **state)
{
	(void)state;
	start("prefetch=none prefetch_full=auto", 2, 1, 0);
	range(3);
	fault(1, 0, 0);
	assert_null(history(0));
	fault(1, 1, 0);
	assert_int_equal(e.service->gpu[1].evicted_pages, 1);
	assert_int_equal(e.service->gpu[2].evicted_pages, 0);
	assert_int_equal(e.service->tuned.prefetch.auto_fault, 12);
	fault(1, 1, 40);
	assert_int_equal(resident(1), 512);
	assert_true(engine_has(&e, " rule=whole"));
	stop();
}

/* 12 copies, in pages of the host, if the policy does not say otherwise. */
static void test_auto_fault(void **state)
{
	static const struct {
		const char *policy;
		uint32_t page_bytes, is;
	} cases[] = {{"prefetch=auto", 4096, 12}, {"prefetch=auto auto_fault=7", 4096, 7}, {"prefetch=auto", 65536, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start_pages(cases[i].policy, 4, cases[i].page_bytes);
		assert_int_equal(e.service->tuned.prefetch.auto_fault, cases[i].is);
		stop();
	}
}

/* The first fault of `entries` is serviced; the flush behind it drops the others. */
static void faults_in_first_block(uint32_t entries)
{
	for (uint32_t page = 0; page < entries; page++)
		engine_fault(&e, 1, SPACE, at(0, page % 512u), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

/* Four entries that a flush drops cost a copy: where a service costs more than an eighth of a block, the first mode is whole. */
static void test_auto_flush(void **state)
{
	static const struct {
		const char *policy;
		uint32_t page_bytes, entries, copies, rest, resident;
	} cases[] = {
		{"prefetch=auto batch=1", PAGE, 1, 0, 0, 16},
		{"prefetch=auto batch=1", PAGE, 417, 104, 52, 16}, /* 12 + 52 copies of 512: an eighth */
		{"prefetch=auto batch=1", PAGE, 425, 106, 53, 512},
		{"prefetch=auto batch=1 auto_fault=256", PAGE, 505, 126, 63, 512}, /* at most 256 count */
		{"prefetch=auto batch=1 auto_fault=64", PAGE, 1, 0, 0, 16},
		{"prefetch=auto batch=1 auto_fault=65", PAGE, 1, 0, 0, 512},
		{"prefetch=auto batch=1", 16u * PAGE, 505, 126, 63, 16}, /* 1 + 63 / 16 copies of 32: an eighth */
		{"prefetch=auto batch=1", 16u * PAGE, 513, 128, 64, 512},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start_pages(cases[i].policy, 1, cases[i].page_bytes);
		range(3);
		faults_in_first_block(cases[i].entries);
		assert_int_equal(flush_copies(&e.service->gpu[1]), cases[i].copies);
		fault(1, 1, 0);
		assert_int_equal(flush_copies(&e.service->gpu[1]), cases[i].rest);
		fault(1, 0, 3);
		assert_int_equal(resident(0), cases[i].resident);
		stop();
	}
}

/* Flushes and blocks of long ago count less and less. */
static void test_auto_flush_fades(void **state)
{
	struct gpu *g;

	(void)state;
	start("prefetch=auto batch=1", 1, 1, 0);
	g = &e.service->gpu[1];
	range(2);
	assert_int_equal(flush_copies(g), 0);
	g->flushed = 6400;
	g->flushed_blocks = 63;
	fault(1, 0, 0);
	assert_int_equal(g->flushed, 3200);
	assert_int_equal(g->flushed_blocks, 32);
	g->flushed = ((uint32_t)1 << 24) - 2u;
	g->flushed_blocks = 2;
	faults_in_first_block(3); /* no fault needs anything, and each flush drops the other ones */
	assert_int_equal(g->flushed, (uint32_t)1 << 23);
	assert_int_equal(g->flushed_blocks, 1);
	stop();
	start("prefetch=auto batch=1 replay=batch", 1, 1, 0); /* flushes nothing, so that nothing would ever fade */
	range(2);
	fault(1, 0, 0);
	assert_int_equal(e.service->gpu[1].flushed_blocks, 0);
	stop();
}

/* Each hears of evictions what it asks for, also beside a prefetcher that reads touches. */
static void test_auto_and_pattern(void **state)
{
	const struct auto_block *own;

	(void)state;
	start("prefetch=pattern prefetch_full=auto", 1, 1, 0);
	range(3);
	fault(1, 0, 3);
	fault(1, 1, 0);
	/* states are aligned to 8 */
	own = (const void *)((const uint8_t *)pattern(0) + (sizeof(struct pattern_block) + 7u) / 8u * 8u);
	assert_int_equal(uvmp_mask_weight(&pattern(0)->pages), 1);
	assert_int_equal(own->departed, 16);
	assert_int_equal(own->left, 16);
	stop();
}

/* -- private states: the public state of adapt.h, then its parameters -- */

static struct uvmp_threshold_state *threshold_state(uint32_t gpu)
{
	return e.service->gpu[gpu].controls.state[UVMP_CONTROLLER_PRESSURE];
}

static struct uvmp_early_state *early_state(void)
{
	return e.service->gpu[1].controls.state[UVMP_CONTROLLER_EARLY];
}

static struct uvmp_threads_state *threads_state(uint32_t gpu)
{
	return e.service->gpu[gpu].controls.state[UVMP_CONTROLLER_THREADS];
}

static struct uvmp_throttle_state *throttle_state(uint32_t gpu)
{
	return e.service->gpu[gpu].controls.state[UVMP_CONTROLLER_SM_THROTTLE];
}

/* -- adapt=pressure -- */

static void test_pressure(void **state)
{
	bool is_raised = false;

	(void)state;
	start("adapt=pressure pressure_window=1", 1, 2, 0);
	range(2);
	fault(1, 0, 0); /* all fits: as much as can be */
	assert_int_equal(resident(0), 512);
	engine_range(&e, SPACE, at(2, 0), 2 * MIB2, UVMP_PROC_NONE);
	assert_int_equal(e.service->adapt.managed_bytes, 4 * MIB2);
	fault(1, 1, 0); /* from the policy's on: a fault that was no refault, a step lower */
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 41);
	assert_int_equal(resident(1), 32); /* half of which fault */
	fault(1, 2, 0);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 31);
	for (uint32_t i = 0; i < 8u; i++) { /* four blocks in circles through two roots */
		uint32_t before = e.service->gpu[1].controls.answer.setting.threshold;

		fault(1, i % 4u, 0);
		is_raised = is_raised || e.service->gpu[1].controls.answer.setting.threshold > before;
	}
	assert_true(is_raised);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, at(2, 0), NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->adapt.managed_bytes, 2 * MIB2);
	fault(1, 0, 300); /* all fits again */
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 1);
	stop();
}

static void test_pressure_counts(void **state)
{
	const struct uvmp_threshold_load *load;

	(void)state;
	start("adapt=pressure", 1, 1, 0);
	range(2);
	load = &e.service->gpu[1].controls.load;
	fault(1, 0, 0);
	assert_int_equal(load->faults, 1);
	assert_int_equal(load->refaults, 0);
	assert_int_equal(load->evicted_pages, 0);
	fault(1, 1, 0);
	assert_int_equal(load->evicted_pages, 16);
	fault(1, 0, 2); /* it was prefetched, and evicted */
	assert_int_equal(load->faults, 1);
	assert_int_equal(load->refaults, 1);
	assert_int_equal(threshold_state(1)->faults, 2);
	stop();
}

static void test_pressure_off(void **state)
{
	(void)state;
	start("adapt=pressure pressure_off=1 pressure_low=20 threshold=30", 1, 1, 0);
	range(1);
	fault(1, 0, 0);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 20);
	engine_range(&e, SPACE, at(2, 0), MIB2, UVMP_PROC_NONE);
	fault(1, 2, 5);
	assert_int_equal(resident(2), 1);
	/* another prefetcher, once memory is full, has no threshold to be changed */
	e.service->tuned.prefetch.prefetcher = UVMP_PREFETCH_BLOCK;
	fault(1, 2, 6);
	assert_int_equal(resident(2), 512);
	stop();
}

/* A threshold of 0 counts as 1; the CPU's decisions are not changed. */
static void test_pressure_of_cpu(void **state)
{
	(void)state;
	start("adapt=pressure threshold=0", 1, 1, 0);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 1);
	range(2);
	fault(1, 0, 0);
	e.service->gpu[1].controls.answer.setting.is_on = false;
	e.service->gpu[0].controls.answer.setting.is_on = false;
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, at(0, 0), UVMP_ACCESS_WRITE, 0, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true((engine_page(&e, SPACE, at(0, 1)).resident & 1u) != 0);
	stop();
}

/* -- adapt=early -- */

static void test_early(void **state)
{
	(void)state;
	start("adapt=early early_epoch_us=100 early_low=5 early_high=90 threshold=51", 1, 8, 0);
	range(8);
	e.now_ns = 0;
	fault(1, 0, 0);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 51);
	for (uint32_t i = 1; i < 8u; i++)
		fault(1, 1, i * 32u);
	e.now_ns = 150 * US; /* the mean of the last epoch is 4 */
	fault(1, 2, 0);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 90);
	fault(1, 1, 300);
	assert_int_equal(e.service->gpu[1].controls.answer.setting.threshold, 5);
	assert_int_equal(resident(1), 512);
	assert_false(early_state()->is_full);
	stop();
}

/* The faults of a walk that an eviction repeats count once. */
static void test_early_eviction(void **state)
{
	(void)state;
	start("adapt=early", 1, 1, 0);
	range(2);
	fault(1, 0, 0);
	fault(1, 1, 0);
	assert_true(early_state()->is_full);
	assert_int_equal(early_state()->faults, 2);
	stop();
}

/* A threshold of 0, which the driver takes, counts as 1. */
static void test_early_of_nothing(void **state)
{
	const struct uvmp_early_params *params;

	(void)state;
	start("adapt=early threshold=0", 1, 1, 0);
	params = (const void *)(early_state() + 1);
	assert_int_equal(params->base, 1);
	assert_int_equal(params->aggressive, 1);
	assert_int_equal(params->cautious, 76);
	stop_full();
}

/* prefetch=next: blocks that follow are no faults. */
static void test_early_follow(void **state)
{
	(void)state;
	start("adapt=early prefetch=next threshold=1 early_low=1 early_high=1", 1, 8, 0);
	range(4);
	fault(1, 0, 0);
	assert_int_equal(resident(1), 512);
	assert_int_equal(resident(2), 512);
	assert_int_equal(resident(3), 0);
	assert_int_equal(early_state()->faults, 1);
	stop();
}

/* -- no room for a history -- */

static void no_room(const char *policy, bool keeps_extra)
{
	struct block *b;

	start(policy, 1, 1, 4);
	range(2);
	for (uint32_t i = 0; i < 4u; i++) /* both have been evicted once */
		fault(1, i % 2u, 0);
	b = block(0);
	assert_non_null(history(0));
	uvmpi_history_give(e.service, b);
	if (!keeps_extra) {
		uvmpi_arena_give(e.service, SLAB_COLD, b->cold);
		b->cold = 0;
	}
	e.is_checking = false; /* memory allocated here has no owner */
	arena_without_reserve(e.service);
	fill_arena(SLAB_RESIDENCY);
	fill_arena(SLAB_HISTORY);
	fill_arena(SLAB_COLD);
	uvmp_service_touch(e.service, 1, SPACE, at(0, 0));
	fault(1, 0, 0);
	fault(1, 0, 300);
	assert_true(is_resident(0, 300));
	fault(1, 1, 0);
	assert_null(history(0));
	stop_full();
}

static void test_no_room(void **state)
{
	(void)state;
	for (int keeps_extra = 0; keeps_extra < 2; keeps_extra++) {
		no_room("prefetch=pattern", keeps_extra);
		no_room("adapt=early", keeps_extra);
		no_room("adapt=pressure", keeps_extra);
	}
}

/* -- threads -- */

static void test_threads(void **state)
{
	(void)state;
	start("threads=on threads_period_us=100 extra_blocks=3", 1, 1, 4);
	range(8);
	e.now_ns = 50 * US;
	/* what holds from the beginning comes before the first batch */
	assert_true(uvmp_service_wakeup_ns(e.service) <= e.now_ns);
	engine_fault(&e, 1, SPACE, at(0, 0), UVMP_ACCESS_WRITE);
	assert_true(engine_step(&e));
	engine_expect(&e, "limit cause=adapt to=1 detail=1\n");
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_LIMIT], 0);
	/* periods run from there, and time alone gives more */
	assert_int_equal(uvmp_service_wakeup_ns(e.service), 150 * US);
	engine_forget(&e);
	e.now_ns = 149 * US;
	engine_run(&e);
	engine_expect(&e, "");
	e.now_ns = 150 * US;
	engine_run(&e);
	engine_expect(&e, "limit cause=adapt to=1 detail=2\n");
	e.now_ns = 250 * US;
	fault(1, 0, 100); /* the look of a schedule, ahead of the batch */
	assert_true(engine_has(&e, "limit cause=adapt to=1 detail=3\nbatch"));
	/* the maximum, and no eviction: no wake-up is needed */
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX);
	/* a block that stayed for long leaves: the first mean; then others after a short time */
	e.now_ns = 340 * US;
	fault(1, 1, 0);
	assert_int_equal(e.service->gpu[1].controls.lifetime.count, 1);
	assert_int_equal(e.service->gpu[1].controls.lifetime.sum, 290 * US);
	assert_int_equal(uvmp_service_wakeup_ns(e.service), 350 * US);
	e.now_ns = 351 * US;
	engine_forget(&e);
	engine_run(&e);
	engine_expect(&e, ""); /* no fall yet */
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX);
	for (uint32_t i = 2; i < 8u; i++)
		fault(1, i, 0);
	e.now_ns = 450 * US;
	engine_forget(&e);
	engine_run(&e);
	engine_expect(&e, "limit cause=adapt to=1 detail=2\n");
	stop();
}

/* In a bottom half of several batches LIMIT stands behind BATCH, in its group. */
static void stretch(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_MAP)
		host->now_ns += 200 * US;
}

static void test_threads_in_batch(void **state)
{
	(void)state;
	start("threads=on batch=1 replay=once prefetch=none", 1, 4, 4);
	range(4);
	e.hook = stretch;
	engine_fault(&e, 1, SPACE, at(0, 0), UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, at(1, 0), UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "batch to=1 batch=2 count=1 detail=1\n"
	                           "limit cause=adapt to=1 batch=2 detail=2\n"));
	assert_int_equal(e.count[UVMP_ACTION_LIMIT], 2);
	stop();
}

/* Pages that leave otherwise count no lifetime; a unit lives while a page of it is there. */
static void test_lifetimes(void **state)
{
	struct uvmp_lifetime *lifetime;

	(void)state;
	start("threads=on prefetch=none evict=lru2m granularity=64k quirks=0", 1, 1, 4);
	range(4);
	lifetime = &e.service->gpu[1].controls.lifetime;
	assert_int_equal(lifetime->pages, 64u * 32u);
	e.now_ns = 1000;
	fault(1, 0, 0);
	e.now_ns = 2000;
	fault(1, 0, 1);
	fault(1, 0, 16);
	assert_int_equal(lifetime->page[0], 1001);
	assert_int_equal(lifetime->page[1], 2001);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, at(0, 0), PAGE, UVMP_CPU, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(lifetime->page[0], 1001); /* page 1 is there */
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, at(0, 0), MIB2, UVMP_CPU, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(lifetime->page[0], 0);
	assert_int_equal(lifetime->page[1], 0);
	assert_int_equal(lifetime->count, 0);
	/* and one that was evicted faults again */
	fault(1, 0, 0);
	for (uint32_t page = 0; page < 512; page++)
		fault(1, 1, page);
	assert_int_equal(lifetime->evictions, 1);
	fault(1, 0, 1);
	assert_int_equal(lifetime->premature, 1);
	stop();
}

/* Blocks below 2 MiB: roots that several share. */
static void test_lifetimes_of_roots(void **state)
{
	struct uvmp_lifetime *lifetime;

	(void)state;
	start("threads=on prefetch=none", 1, 1, 4);
	engine_range(&e, SPACE, BASE, 16 * PAGE, UVMP_PROC_NONE);
	engine_range(&e, SPACE, BASE + 0x400000, 32 * PAGE, UVMP_PROC_NONE);
	engine_range(&e, SPACE, BASE + 0x800000, MIB2, UVMP_PROC_NONE);
	lifetime = &e.service->gpu[1].controls.lifetime;
	assert_int_equal(lifetime->pages, 1);
	e.now_ns = 1000;
	fault(1, 0, 0);
	e.now_ns = 3000;
	fault(1, 2, 20);
	assert_int_equal(lifetime->page[0], 1001);
	e.now_ns = 5000;
	fault(1, 4, 0);
	assert_int_equal(lifetime->count, 1);
	assert_int_equal(lifetime->sum, 4000);
	assert_int_equal(lifetime->page[0], 5001);
	stop();
}

/* Without a number of SMs no LIMIT action is possible. */
static void test_no_sms(void **state)
{
	(void)state;
	start("threads=on sm_throttle=on", 1, 1, 0);
	range(2);
	assert_false(e.service->adapt.is_on);
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX);
	fault(1, 0, 0);
	fault(1, 1, 0);
	assert_int_equal(e.count[UVMP_ACTION_LIMIT], 0);
	stop();
}

/* -- sm_throttle -- */

static void test_throttle(void **state)
{
	(void)state;
	start("sm_throttle=on sm_epoch_us=100", 1, 1, 8);
	range(3);
	e.now_ns = 0;
	fault(1, 0, 0);
	fault(1, 1, 0); /* the first eviction */
	assert_int_equal(e.count[UVMP_ACTION_LIMIT], 0);
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX); /* not triggered */
	fault(1, 2, 0);                                               /* is seen when the next batch begins */
	assert_true(engine_has(&e, "limit cause=adapt to=1 batch=3 count=4\n"));
	assert_int_equal(uvmp_service_wakeup_ns(e.service), 100 * US);
	e.now_ns = 100 * US; /* detection begins, for a fifth of the epoch */
	engine_forget(&e);
	engine_run(&e);
	engine_expect(&e, "");
	assert_int_equal(uvmp_service_wakeup_ns(e.service), 120 * US);
	fault(1, 0, 1); /* all refaults */
	fault(1, 1, 1);
	e.now_ns = 120 * US;
	engine_forget(&e);
	engine_run(&e);
	engine_expect(&e, "");                                         /* never more than half */
	assert_int_equal(uvmp_service_wakeup_ns(e.service), 200 * US); /* four fifths */
	/* no faults: the SMs are released one after another, and then no wake-up is needed */
	engine_forget(&e);
	for (uint32_t i = 0; i < 20u && uvmp_service_wakeup_ns(e.service) != UINT64_MAX; i++) {
		e.now_ns = uvmp_service_wakeup_ns(e.service);
		engine_run(&e);
	}
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX);
	assert_int_equal(e.count[UVMP_ACTION_LIMIT], 4);
	assert_true(engine_has(&e, "limit cause=adapt to=1\n"));
	/* all run; a fault is watched to its end again */
	fault(1, 2, 2);
	assert_true(uvmp_service_wakeup_ns(e.service) != UINT64_MAX);
	fault(1, 2, 2); /* brings nothing; the look has taken the fault */
	assert_int_equal(e.service->gpu[1].controls.load.faults, 0);
	assert_int_equal(throttle_state(1)->faults, 1);
	assert_int_equal(uvmp_service_wakeup_ns(e.service), throttle_state(1)->until);
	stop();
}

static void test_both(void **state)
{
	(void)state;
	start("sm_throttle=on threads=on", 2, 1, 8);
	range(4);
	engine_run(&e);
	engine_expect(&e, "limit cause=adapt to=1 detail=1\nlimit cause=adapt to=2 detail=1\n");
	fault(2, 0, 0);
	fault(2, 1, 0);
	fault(2, 2, 0);
	assert_true(engine_has(&e, "limit cause=adapt to=2 batch=3 count=4 detail=1\n"));
	/* throttle's phase ends before threads' period, or behind it */
	throttle_state(2)->until = threads_state(2)->due - 1u;
	assert_int_equal(uvmp_service_wakeup_ns(e.service), throttle_state(2)->until);
	throttle_state(2)->until = threads_state(2)->due + 1u;
	assert_int_equal(uvmp_service_wakeup_ns(e.service), threads_state(2)->due);
	stop();
}

/* -- runtime -- */

static uint64_t kernel(void)
{
	uint64_t id;

	assert_int_equal(uvmp_service_begin_kernel(e.service, 1, e.now_ns, &id), UVMP_OK);
	return id;
}

static void end(uint64_t id)
{
	assert_int_equal(uvmp_service_end_kernel(e.service, id, e.now_ns), UVMP_OK);
	e.now_ns += 1000;
}

#define RUNTIME "prefetch=sl evict=tbne runtime=on batch=1 thrash=off counters=off"

/* Linear: 2 MiB leave. */
static void test_runtime_linear(void **state)
{
	uint64_t id;

	(void)state;
	start(RUNTIME, 1, 1, 0);
	range(4);
	e.step_ns = 100;
	id = kernel();
	fault(1, 0, 0);
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40000000 batch=1 count=1\n"));
	for (uint32_t page = 16; page < 512; page += 16)
		fault(1, 0, page);
	fault(1, 1, 0);
	assert_int_equal(resident(0), 0);
	assert_true(engine_has(&e, "pages=0-511 from=1 victim=order"));
	assert_int_equal(e.count[UVMP_ACTION_PATTERN], 0); /* nothing has changed since */
	end(id);
	assert_int_equal(uvmp_pattern_of(&e.service->patterns, 0), UVMP_PATTERN_LINEAR);
	assert_int_equal(e.service->tuned.remote.remote, UVMP_REMOTE_OFF);
	stop();
}

/* The same twice: basic blocks leave. Then backwards: remote access. */
static void test_runtime_verdicts(void **state)
{
	uint64_t id;

	(void)state;
	start(RUNTIME, 1, 1, 0);
	range(4);
	e.step_ns = 100;
	id = kernel();
	for (uint32_t page = 0; page < 512; page += 16)
		fault(1, 0, page);
	end(id);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, at(0, 0), 32 * PAGE, UVMP_CPU, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	id = kernel();
	fault(1, 0, 0); /* again */
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40000000 batch=33 count=2\n"));
	fault(1, 0, 16);
	assert_false(engine_has(&e, "pattern"));
	fault(1, 1, 0); /* full */
	assert_true(engine_has(&e, "pattern cause=adapt batch=35 detail=1 update=1\nevict cause=eviction"));
	end(id);
	assert_int_equal(uvmp_pattern_decide(&e.service->patterns), UVMP_PATTERN_EVICT_TREE);
	assert_true(resident(0) >= 256);
	assert_int_equal(e.service->tuned.remote.remote, UVMP_REMOTE_OFF);
	id = kernel();
	fault(1, 2, 0);
	assert_int_equal(e.service->tuned.remote.remote, UVMP_REMOTE_OFF);
	fault(1, 1, 16);
	assert_true(engine_has(&e, "pattern cause=adapt space=1 block=0x40000000 batch=37 count=6\n"));
	assert_true(engine_has(&e, "pattern cause=adapt batch=37 detail=2 update=1\nevict cause=eviction"));
	fault(1, 3, 0);
	assert_int_equal(e.service->tuned.remote.remote, UVMP_REMOTE_OVERSUB);
	assert_int_equal(e.service->policy.remote.remote, UVMP_REMOTE_OFF); /* the policy stays as given */
	end(id);
	stop();
}

/* Without kernels nothing belongs to a pattern. A block does not leave for its own pages, nor while there is
 * nothing else. */
static void test_runtime_without_kernels(void **state)
{
	(void)state;
	start("prefetch=none evict=tbne runtime=on", 1, 1, 0);
	range(2);
	fault(1, 1, 0);
	for (uint32_t page = 0; page < 511; page++)
		fault(1, 0, page);
	fault(1, 0, 511); /* the older block goes, not the one that needs the room */
	assert_int_equal(resident(1), 0);
	assert_int_equal(resident(0), 512);
	stop();
	start("evict=tbne prefetch=tbn", 1, 1, 0);
	assert_int_equal(e.service->patterns.count, 0);
	assert_int_equal(kernel(), 0);
	assert_int_equal(uvmp_service_end_kernel(e.service, 5, 0), UVMP_OK);
	stop_full();
}

static void test_runtime_events(void **state)
{
	uint64_t id = 7;

	(void)state;
	start(RUNTIME, 1, 1, 0);
	assert_int_equal(uvmp_service_begin_kernel(NULL, 1, 0, &id), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 1, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 0, 0, &id), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 2, 0, &id), UVMP_ERR_RANGE);
	assert_int_equal(id, 7);
	assert_int_equal(uvmp_service_end_kernel(NULL, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_end_kernel(e.service, 0, 0), UVMP_ERR_STATE);
	for (uint32_t i = 0; i < KERNELS_MAX; i++)
		assert_int_equal(kernel(), i);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 1, e.now_ns, &id), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_service_end_kernel(e.service, 3, 5), UVMP_OK); /* counts as now */
	assert_int_equal(uvmp_service_end_kernel(e.service, 3, e.now_ns), UVMP_ERR_STATE);
	stop_full();
}

/* Allocations come and go; parts that advice cut off belong to theirs. */
static void test_runtime_ranges(void **state)
{
	uint32_t live = 0;
	uint64_t id;

	(void)state;
	start(RUNTIME, 1, 4, 0);
	range(4);
	engine_range(&e, SPACE, at(8, 0), (uint64_t)1 << 50, UVMP_PROC_NONE); /* too large to be watched */
	engine_range(&e, SPACE, at(5, 7), 2 * MIB2, UVMP_PROC_NONE);
	for (uint32_t i = 0; i < ARRAY_CLASSES; i++)
		live += e.service->live[SLAB_ARRAY + i];
	assert_int_equal(live, 2);
	e.step_ns = 100;
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, at(2, 0), MIB2, UVMP_ADVISE_PREFERRED, 1, NULL),
	        UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->ranges, 5);
	id = kernel();
	fault(1, 8, 0);
	fault(1, 0, 0);
	fault(1, 2, 0);
	fault(1, 1, 0); /* runs backwards in the allocation, though not in its part */
	end(id);
	assert_int_equal(uvmp_pattern_of(&e.service->patterns, 0), UVMP_PATTERN_RANDOM);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	live = 0;
	for (uint32_t i = 0; i < ARRAY_CLASSES; i++)
		live += e.service->live[SLAB_ARRAY + i];
	assert_int_equal(live, 1);
	engine_stop(&e);
}

static void test_runtime_no_room(void **state)
{
	(void)state;
	start(RUNTIME, 1, 4, 0);
	fill_arena(SLAB_RESIDENCY);
	fill_arena(SLAB_ARRAY);
	range(1);
	assert_int_equal(e.service->range[0].log, 0);
	stop_full();
}

/* An array is at most twice as large as asked for. */
static void test_arrays(void **state)
{
	(void)state;
	assert_int_equal(uvmpi_arena_array(1), SLAB_ARRAY);
	assert_int_equal(uvmpi_arena_array(16), SLAB_ARRAY);
	assert_int_equal(uvmpi_arena_array(17), SLAB_ARRAY + 1);
	assert_int_equal(uvmpi_arena_array((uint64_t)1 << 31), SLAB_ARRAY + 27);
	assert_int_equal(uvmpi_arena_array(((uint64_t)1 << 31) + 1u), SLAB_COUNT);
	assert_int_equal(uvmpi_arena_array(UINT64_MAX), SLAB_COUNT);
}

/* -- evict=mhpe: pages evicted untouched -- */

static void test_mhpe(void **state)
{
	const struct mhpe *mhpe;

	(void)state;
	start("prefetch=density evict=mhpe thrash=off counters=off", 1, 1, 0);
	range(2);
	mhpe = e.service->gpu[1].order.state;
	for (uint32_t page = 0; page < 512; page += 16)
		fault(1, 0, page);
	assert_int_equal(resident(0), 512);
	assert_non_null(history(0));
	for (uint32_t page = 0; page < 512; page++) /* all but what came last, and one page of each unit */
		if (page % 16 != 5)
			assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, at(0, page)), UVMP_OK);
	fault(1, 1, 0);
	assert_int_equal(resident(0), 512 - 16);
	assert_int_equal(mhpe->left_pages, 16);
	assert_int_equal(mhpe->untouched, 1);
	stop();
}

/* -- histories end -- */

static void test_split(void **state)
{
	(void)state;
	start("prefetch=pattern", 1, 4, 0);
	range(2);
	fault(1, 0, 3);
	assert_non_null(history(0));
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, at(0, 256), MIB2, UVMP_ADVISE_PREFERRED, 1, NULL),
	        UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_null(history(0));
	fault(1, 0, 3);
	assert_int_equal(e.service->live[SLAB_HISTORY], 1);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->live[SLAB_HISTORY], 0);
	engine_stop(&e);
}

/* -- the check finds what does not hold together -- */

static void spoil(void *field, size_t bytes)
{
	uint8_t *byte = field, kept[sizeof(uvmp_mask)];

	memcpy(kept, field, bytes);
	memset(byte, 0xff, bytes);
	assert_false(uvmp_service_check(e.service));
	memcpy(field, kept, bytes);
	assert_true(uvmp_service_check(e.service));
}

static void test_check(void **state)
{
	struct history *h;

	(void)state;
	start("prefetch=pattern", 1, 1, 0);
	engine_range(&e, SPACE, BASE, 32 * PAGE, UVMP_PROC_NONE);
	fault(1, 0, 3);
	h = history(0);
	spoil(&h->gpu, 1);
	spoil(&h->evicted, sizeof(h->evicted));
	spoil(&h->touched, sizeof(h->touched));
	spoil(&cold_at(e.service, block(0)->cold)->history, sizeof(handle));
	spoil(&e.service->adapt.managed_bytes, sizeof(uint64_t));
	stop();
	start(RUNTIME, 1, 1, 0);
	range(1);
	spoil(&e.service->range[0].log, sizeof(handle));
	stop();
}

/* -- prefetchers: what the step knows of them -- */

/* A stride crosses blocks, and is not learnt twice from a walk that is repeated. */
static void test_stride_retry(void **state)
{
	(void)state;
	start("prefetch=stride stride_confidence=2 stride_depth=2", 1, 1, 0);
	range(4);
	for (uint32_t i = 0; i < 4u; i++)
		fault(1, i, 0); /* each an eviction */
	assert_int_equal(strides()->streams, 1);
	assert_int_equal(strides()->stream[0].stride, 512);
	assert_int_equal(strides()->stream[0].confidence, 3);
	stop();
	engine_init(&e, 2, 1);
	assert_true(engine_policy(&e, "prefetch=stride"));
	assert_int_equal(uvmp_service_size(&e.params, 1), 0);
	assert_true(engine_policy(&e, "prefetch=next"));
	assert_int_equal(uvmp_service_size(&e.params, 1), 0);
}

/* The upper part of a range that is split, and the range that takes over the place of another, have no past. */
static void test_states_of_ranges(void **state)
{
	(void)state;
	start("prefetch=stride", 1, 1, 0);
	range(4);
	fault(1, 0, 0);
	fault(1, 1, 0);
	assert_int_equal(e.service->prefetch_states.range_bytes, sizeof(struct stride_range));
	assert_int_equal(strides()[0].streams, 1);
	assert_int_equal(
		uvmp_service_advise(e.service, SPACE, at(2, 0), 2 * MIB2, UVMP_ADVISE_PREFERRED, 1, NULL),
		UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->ranges, 2);
	assert_int_equal(strides()[0].streams, 1);
	assert_int_equal(strides()[1].streams, 0);
	fault(1, 2, 7);
	assert_int_equal(strides()[1].streams, 1);
	assert_int_equal(uvmp_service_free_part(e.service, SPACE, BASE, 4 * MIB2, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->ranges, 0);
	range(1);
	assert_int_equal(strides()[e.service->range_order[0]].streams, 0);
	stop();
}

/* `prefetch` and `prefetch_full` have a state each: the cursor of sequential begins at the first page of the range,
 * wherever the streams of stride are. */
static void test_states_of_two(void **state)
{
	const struct sequential_range *sequential;

	(void)state;
	start("prefetch=stride prefetch_full=sequential", 1, 1, 0);
	range(2);
	assert_int_equal(e.service->prefetch_states.range_bytes,
			 sizeof(struct stride_range) + sizeof(struct sequential_range));
	sequential = (const void *)(strides() + 1);
	for (uint32_t page = 0; page < 5u; page++)
		fault(1, 0, 100 + 10 * page);
	assert_true(strides()->cursor != 0 || strides()->stream[0].confidence != 0);
	assert_int_equal(sequential->cursor, 0);
	fault(1, 1, 0); /* memory is full */
	fault(1, 1, 1);
	assert_in_range(sequential->cursor, 1, 2);
	stop();
}

/* The state of prefetch=forest. */
static const struct forest_range *forest(void)
{
	return (const void *)e.service->prefetch_states.range;
}

static void touch_ascending(void)
{
	for (uint32_t page = 0; page < 16; page++)
		assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, at(0, page)), UVMP_OK);
}

/* Accesses to resident pages choose the trees; the tree of 4 MiB sees its other block, and fills it. */
static void test_forest(void **state)
{
	uint64_t kernel = 0;

	(void)state;
	start("prefetch=forest forest_window=16 prefetch_full=none evict=lru2m thrash=off counters=off", 1, 8, 0);
	range(3);
	fault(1, 2, 0);
	fault(1, 0, 0);
	assert_int_equal(resident(0), 16);
	uvmp_service_touch(e.service, 1, SPACE, at(0, 20)); /* is not there */
	assert_int_equal(forest()->time, 0);
	touch_ascending();
	assert_int_equal(forest()->class, FOREST_LINEAR);
	fault(1, 0, 100); /* its leaf; that of the first pages has grown */
	assert_int_equal(resident(0), 128);
	fault(1, 1, 0);
	assert_int_equal(resident(1), 64);
	fault(1, 0, 200);
	assert_int_equal(resident(0), 256);
	fault(1, 0, 300);
	assert_int_equal(resident(0), 512);
	assert_int_equal(resident(1), 512);
	fault(1, 2, 511); /* no other block */
	assert_int_equal(resident(2), 128);
	assert_int_equal(uvmp_service_begin_kernel(e.service, 1, 0, &kernel), UVMP_OK);
	assert_true(forest()->is_settled);
	touch_ascending();
	assert_int_equal(forest()->kernel, 1);
	e.service->prefetch_states.present = 1; /* prefetch_full: none has no use for touches */
	uvmp_service_touch(e.service, 1, SPACE, at(0, 0));
	assert_int_equal(forest()->rounds, 1);
	e.service->prefetch_states.present = 0;
	stop();
}

/* The other block is cut at the ends of the range, or lies before it. */
static void test_forest_ends(void **state)
{
	(void)state;
	start("prefetch=forest evict=lru2m thrash=off counters=off", 1, 8, 0);
	engine_range(&e, SPACE, BASE + 0x10000, 2u * MIB2 - 0x20000, UVMP_PROC_NONE);
	fault(1, 0, 20);
	fault(1, 1, 20);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(is_resident(i, 16) && is_resident(i, 31));
		assert_false(is_resident(i, 32));
	}
	engine_range(&e, SPACE, BASE + 3u * MIB2, MIB2, UVMP_PROC_NONE);
	fault(1, 3, 20);
	assert_int_equal(resident(3), 16);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forest),
	        cmocka_unit_test(test_forest_ends),
	        cmocka_unit_test(test_utlbs),
		cmocka_unit_test(test_utlbs_of_spaces),
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_pattern_of_units),
		cmocka_unit_test(test_pattern_of_gpus),
		cmocka_unit_test(test_pattern_of_afar),
		cmocka_unit_test(test_pattern_without_eviction),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_auto_full), cmocka_unit_test(test_auto_fault), cmocka_unit_test(test_auto_flush),
		cmocka_unit_test(test_auto_flush_fades),
		cmocka_unit_test(test_auto_and_pattern),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_pressure_counts),
		cmocka_unit_test(test_pressure_off),
		cmocka_unit_test(test_pressure_of_cpu),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_early_eviction),
		cmocka_unit_test(test_early_of_nothing),
		cmocka_unit_test(test_early_follow),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_in_batch),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_lifetimes_of_roots),
		cmocka_unit_test(test_no_sms),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_runtime_linear),
		cmocka_unit_test(test_runtime_verdicts),
		cmocka_unit_test(test_runtime_without_kernels),
		cmocka_unit_test(test_runtime_events),
		cmocka_unit_test(test_runtime_ranges),
		cmocka_unit_test(test_runtime_no_room),
		cmocka_unit_test(test_mhpe),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_stride_retry),
		cmocka_unit_test(test_states_of_ranges),
		cmocka_unit_test(test_states_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
