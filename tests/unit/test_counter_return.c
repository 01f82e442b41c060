/* counter.h, remote=auto: when evicted pages return. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/counter.h"

#define MIB2 0x200000u

static struct uvmp_remote_use use;

static int clear(void **state)
{
	(void)state;
	use = (struct uvmp_remote_use){0};
	return 0;
}

/* 512 pages and a block service cost 524 copies of 4 KiB, each of 32 accesses: half of them are 8,384. */
static void test_half_the_cost_then_all_of_it(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 1, 65 * 128);
	assert_false(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_add(&use, 4, 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
	assert_int_equal(use.parts, 5);
	uvmp_remote_moved(&use);
	assert_int_equal(use.parts, 0);
	uvmp_remote_add(&use, 1, 130 * 128);
	assert_false(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_add(&use, 1, 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_moved(&use);
	assert_int_equal(use.rounds, UVMP_REMOTE_ROUNDS_MAX); /* it does not rise further */
	uvmp_remote_add(&use, 1, 131 * 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
}

/* 16 pages and a block service: 28 copies, half of them are 448 accesses. */
static void test_few_pages(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 1, 3 * 128);
	assert_false(uvmp_remote_pays(&use, 65536));
	assert_true(uvmp_remote_pays(&use, 12 * 4096));
	uvmp_remote_add(&use, 1, 1); /* counts as 128 */
	assert_true(uvmp_remote_pays(&use, 65536));
	assert_false(uvmp_remote_pays(&use, 0));
}

static void test_accesses_saturate(void **state)
{
	(void)state;
	uvmp_remote_add(&use, 0, 254 * 128);
	assert_int_equal(use.spent, 254);
	uvmp_remote_add(&use, 0, 1);
	uvmp_remote_add(&use, 0, UINT64_MAX);
	assert_int_equal(use.spent, 255);
	uvmp_remote_moved(&use);
	assert_true(uvmp_remote_pays(&use, MIB2) == false);
	uvmp_remote_add(&use, 0, UINT64_MAX);
	assert_true(uvmp_remote_pays(&use, MIB2));
}

/* More rounds than there can be count as the most. */
static void test_rounds_saturate(void **state)
{
	(void)state;
	use.rounds = 255;
	uvmp_remote_add(&use, 1, 130 * 128);
	assert_false(uvmp_remote_pays(&use, MIB2));
	uvmp_remote_add(&use, 1, 128);
	assert_true(uvmp_remote_pays(&use, MIB2));
	assert_false(uvmp_remote_pays(&use, UINT32_MAX));
	uvmp_remote_moved(&use);
	assert_int_equal(use.rounds, UVMP_REMOTE_ROUNDS_MAX);
}

static void test_null(void **state)
{
	(void)state;
	uvmp_remote_add(NULL, 1, 1);
	uvmp_remote_moved(NULL);
	assert_false(uvmp_remote_pays(NULL, MIB2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_half_the_cost_then_all_of_it, clear),
	        cmocka_unit_test_setup(test_few_pages, clear),
	        cmocka_unit_test_setup(test_accesses_saturate, clear),
	        cmocka_unit_test_setup(test_rounds_saturate, clear),
	        cmocka_unit_test_setup(test_null, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
