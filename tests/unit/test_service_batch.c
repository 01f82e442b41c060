/* How many faults a batch has (batch.c): after a full one in one block, as the prefetcher says. */
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
#define FEW   "prefetch=auto auto_batch=4 evict=auto replay=batch batch=8"

static struct engine e;

static void start(const char *policy, uint32_t gpus)
{
	engine_open(&e, policy, gpus, 8, SPACE);
	engine_range(&e, SPACE, BASE, (uint64_t)8 * MIB2, UVMP_CPU);
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&e));
	engine_stop(&e);
	return 0;
}

/* `count` pages fault, from page `first` of the range on, `apart` pages from one to the next. */
static void faults_of(uint32_t gpu, uint32_t count, uint32_t first, uint32_t apart)
{
	for (uint32_t i = 0; i < count; i++)
		engine_fault(&e, gpu, SPACE, BASE + (first + i * apart) * PAGE, UVMP_ACCESS_READ);
}

/* They are serviced in so many batches. */
static void check_batches(uint32_t gpu, uint32_t batches)
{
	uint64_t before = e.service->gpu[gpu].counts.batches;

	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->gpu[gpu].counts.batches - before, batches);
}

static void test_few_faults_after_one_block(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 8 + 4 + 4, 0, 1);
	check_batches(1, 3);
	faults_of(1, 4 + 4 + 2, 512, 1); /* another block */
	check_batches(1, 3);
}

/* Full, and the last fault is in the next block: the batch after it is large again. */
static void test_many_faults_after_two_blocks(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 8, 504, 1);
	check_batches(1, 1);
	faults_of(1, 4, 509, 1);
	check_batches(1, 1);
	faults_of(1, 8 + 8, 510, 1);
	check_batches(1, 2);
}

/* Batches with room for more faults change nothing. */
static void test_batches_with_room_count_neither_way(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 7, 0, 1);
	check_batches(1, 1);
	faults_of(1, 8, 0, 1);
	check_batches(1, 1);
	faults_of(1, 2, 0, 512); /* in two blocks */
	check_batches(1, 1);
	faults_of(1, 8, 0, 1);
	check_batches(1, 2);
}

/* The same addresses in two spaces are two blocks. */
static void test_blocks_of_two_spaces(void **state)
{
	(void)state;
	start(FEW, 1);
	engine_range(&e, 2, BASE, MIB2, UVMP_CPU);
	engine_bind(&e, 1, 2);
	faults_of(1, 4, 0, 1);
	for (uint32_t i = 0; i < 4; i++)
		engine_fault(&e, 1, 2, BASE + i * PAGE, UVMP_ACCESS_READ);
	check_batches(1, 1);
	faults_of(1, 8, 0, 1);
	check_batches(1, 1);
}

/* Each GPU has its own limit. */
static void test_two_gpus(void **state)
{
	(void)state;
	start(FEW, 2);
	faults_of(1, 8, 0, 1);
	check_batches(1, 1);
	faults_of(2, 8, 1024, 1);
	check_batches(2, 1);
	faults_of(2, 8, 1024, 1);
	check_batches(2, 2);
}

/* A limit above `batch` does not raise it. */
static void test_the_policy_s_batch_is_the_most(void **state)
{
	(void)state;
	start("prefetch=auto auto_batch=16 evict=auto replay=batch batch=8", 1);
	faults_of(1, 8 + 8 + 8, 0, 1);
	check_batches(1, 3);
}

static void test_no_limit(void **state)
{
	(void)state;
	start("prefetch=auto auto_batch=0 evict=auto replay=batch batch=8", 1);
	faults_of(1, 8 + 8, 0, 1);
	check_batches(1, 2);
}

static void test_other_prefetchers_have_none(void **state)
{
	(void)state;
	start("prefetch=density replay=batch batch=32", 1);
	faults_of(1, 32 + 32, 0, 1);
	check_batches(1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_few_faults_after_one_block, stop),
	        cmocka_unit_test_teardown(test_many_faults_after_two_blocks, stop),
	        cmocka_unit_test_teardown(test_batches_with_room_count_neither_way, stop),
	        cmocka_unit_test_teardown(test_blocks_of_two_spaces, stop),
	        cmocka_unit_test_teardown(test_two_gpus, stop),
	        cmocka_unit_test_teardown(test_the_policy_s_batch_is_the_most, stop),
	        cmocka_unit_test_teardown(test_no_limit, stop),
	        cmocka_unit_test_teardown(test_other_prefetchers_have_none, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
