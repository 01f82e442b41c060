/* Blocks ahead of a stream in the engine: while all data fit, they come all at once (prefetch_auto_ahead.c; the engine says
 * whether data fit, memory.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_host.h"

#define MIB2   0x200000u
#define BASE   0x40000000u
#define SECOND (BASE + MIB2) /* block; the first one of a range brings others */
#define OTHER  (BASE + 64u * MIB2)
#define SPACE  1u
#define BLOCKS 8u

static struct engine e;

/* GPUs of so many blocks of memory each, and a range of BLOCKS blocks. */
static void start(uint32_t gpus, uint32_t roots)
{
	engine_open(&e, "prefetch=auto auto_gap=0 evict=auto", gpus, roots, SPACE);
	engine_range(&e, SPACE, BASE, (uint64_t)BLOCKS * MIB2, UVMP_CPU);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&e));
	engine_stop(&e);
	return 0;
}

static void fault(uvmp_addr address)
{
	engine_fault(&e, 1, SPACE, address, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

/* A block faults on GPU 1. Returns how many blocks are resident then, from this one on. */
static uint32_t resident_after(uvmp_addr address)
{
	struct uvmp_page_state page = {.size = sizeof(page)};
	uint32_t count = 0;

	fault(address);
	while (uvmp_service_page(e.service, SPACE, address + count * MIB2, &page) == UVMP_OK && (page.resident & 2u) != 0)
		count++;
	engine_forget(&e);
	return count;
}

/* Two blocks fault, one after the other. The same count from the second one on. */
static uint32_t resident_after_two(uvmp_addr address)
{
	fault(address);
	return resident_after(address + MIB2);
}

/* A quarter of memory, and the credit, are two blocks. */
static void test_data_that_fit(void **state)
{
	(void)state;
	start(1, BLOCKS);
	assert_int_equal(resident_after_two(SECOND), 1 + 2);
}

static void test_data_that_do_not_fit(void **state)
{
	(void)state;
	start(1, BLOCKS - 1u);
	assert_int_equal(resident_after_two(SECOND), 1);
}

/* The memory of each is four blocks; a quarter of it may come. */
static void test_data_that_fit_on_two_gpus(void **state)
{
	(void)state;
	start(2, BLOCKS / 2u);
	assert_int_equal(resident_after_two(SECOND), 1 + 1);
}

/* With its first block, two more of a range come. */
static void test_opening(void **state)
{
	(void)state;
	for (uint32_t fits = 0; fits < 2; fits++) {
		start(1, BLOCKS - 1u + fits);
		assert_int_equal(resident_after(BASE), fits ? 1 + 2 : 1);
		assert_true(engine_agrees(&e));
		engine_stop(&e);
	}
}

static void remove_range(uvmp_addr base)
{
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, base, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
}

/* Another range makes the data exceed memory; without it, they fit again. */
static void test_other_ranges(void **state)
{
	(void)state;
	start(1, BLOCKS);
	engine_range(&e, SPACE, OTHER, MIB2, UVMP_CPU);
	assert_int_equal(resident_after_two(SECOND), 1);
	fault(OTHER);
	remove_range(OTHER);
	assert_int_equal(resident_after_two(BASE + 4 * MIB2), 1 + 2);
}

/* Memory was full when there was another range. */
static void test_memory_that_was_full(void **state)
{
	(void)state;
	start(1, BLOCKS);
	engine_range(&e, SPACE, OTHER, MIB2, UVMP_CPU);
	fault(OTHER);
	for (uint32_t b = 0; b < BLOCKS; b++)
		fault(BASE + b * MIB2);
	remove_range(OTHER);
	remove_range(BASE);
	engine_range(&e, SPACE, BASE, (uint64_t)BLOCKS * MIB2, UVMP_CPU);
	assert_int_equal(resident_after_two(SECOND), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_data_that_fit, stop),
	        cmocka_unit_test_teardown(test_data_that_do_not_fit, stop),
	        cmocka_unit_test_teardown(test_data_that_fit_on_two_gpus, stop),
	        cmocka_unit_test(test_opening),
	        cmocka_unit_test_teardown(test_other_ranges, stop),
	        cmocka_unit_test_teardown(test_memory_that_was_full, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
