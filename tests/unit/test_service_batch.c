/* The limit on the faults of a batch that follows a full batch in one block (batch.c). */
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
#define FEW   "prefetch=auto auto_batch=4 auto_chain=0 evict=auto batch=8"

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

/* They are serviced in one batch, of so many faults; a flush drops the others. */
static void check_batch(uint32_t gpu, uint32_t faults)
{
	struct uvmp_service_counts before = e.service->gpu[gpu].counts;

	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->gpu[gpu].counts.batches - before.batches, 1);
	assert_int_equal(e.service->gpu[gpu].counts.faults - before.faults, faults);
}

static void test_few_faults_after_one_block(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
	faults_of(1, 8, 0, 1);
	check_batch(1, 4);
	faults_of(1, 8, 512, 1); /* another block */
	check_batch(1, 4);
}

/* Full, and the last fault is in the next block: the batch after it is large again. */
static void test_many_faults_after_two_blocks(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 8, 504, 1);
	check_batch(1, 8);
	faults_of(1, 4, 509, 1);
	check_batch(1, 4);
	faults_of(1, 12, 510, 1);
	check_batch(1, 8);
}

/* A batch with room for more faults leaves the limit as it is. */
static void test_batches_with_room_leave_the_limit(void **state)
{
	(void)state;
	start(FEW, 1);
	faults_of(1, 7, 0, 1);
	check_batch(1, 7);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
	faults_of(1, 2, 0, 512); /* in two blocks */
	check_batch(1, 2);
	faults_of(1, 8, 0, 1);
	check_batch(1, 4);
}

/* One fault shows nothing about the next ones. */
static void test_one_fault_ends_the_limit(void **state)
{
	(void)state;
	start("prefetch=auto auto_batch=1 auto_chain=0 evict=auto batch=8", 1);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
	faults_of(1, 8, 0, 1);
	check_batch(1, 1);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
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
	check_batch(1, 8);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
}

/* Each GPU has its own limit. */
static void test_two_gpus(void **state)
{
	(void)state;
	start(FEW, 2);
	faults_of(1, 8, 0, 1);
	check_batch(1, 8);
	faults_of(2, 8, 1024, 1);
	check_batch(2, 8);
	faults_of(2, 8, 1024, 1);
	check_batch(2, 4);
}

/* A limit above `batch` does not raise it. */
static void test_the_policy_s_batch_is_the_most(void **state)
{
	(void)state;
	start("prefetch=auto auto_batch=16 auto_chain=0 evict=auto batch=8", 1);
	for (uint32_t i = 0; i < 3; i++) {
		faults_of(1, 16, 0, 1);
		check_batch(1, 8);
	}
}

static void check_no_limit(const char *policy)
{
	start(policy, 1);
	for (uint32_t i = 0; i < 3; i++) {
		faults_of(1, 32, 0, 1);
		check_batch(1, 32);
	}
}

static void test_no_limit(void **state)
{
	(void)state;
	check_no_limit("prefetch=auto auto_batch=0 auto_chain=0 evict=auto batch=32");
}

static void test_other_prefetchers_have_none(void **state)
{
	(void)state;
	check_no_limit("prefetch=density batch=32");
}

/* Without a flush the other faults would come in more batches. */
static void test_no_limit_without_a_flush(void **state)
{
	static const char *const policy[] = {"prefetch=auto evict=auto batch=32 replay=block",
	                                     "prefetch=auto evict=auto batch=32 replay=batch",
	                                     "prefetch=auto evict=auto batch=32 replay=once"};

	for (uint32_t i = 0; i < 3; i++) {
		check_no_limit(policy[i]);
		if (i != 2)
			stop(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_few_faults_after_one_block, stop),
	        cmocka_unit_test_teardown(test_many_faults_after_two_blocks, stop),
	        cmocka_unit_test_teardown(test_batches_with_room_leave_the_limit, stop),
	        cmocka_unit_test_teardown(test_one_fault_ends_the_limit, stop),
	        cmocka_unit_test_teardown(test_blocks_of_two_spaces, stop),
	        cmocka_unit_test_teardown(test_two_gpus, stop),
	        cmocka_unit_test_teardown(test_the_policy_s_batch_is_the_most, stop),
	        cmocka_unit_test_teardown(test_no_limit, stop),
	        cmocka_unit_test_teardown(test_other_prefetchers_have_none, stop),
	        cmocka_unit_test_teardown(test_no_limit_without_a_flush, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
