/* processor.h: what relations may be, the transpose, and the closest processor [driver: processors]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/processor_internal.h"
#include "uvmpolicy/base.h"
#include "uvmpolicy/processor.h"

/* CPU and GPUs 1..count-1, each knowing only itself. */
static struct uvmp_processors alone(uint32_t count)
{
	struct uvmp_processors p;

	memset(&p, 0, sizeof(p));
	p.count = count;
	for (uint32_t i = 0; i < count; i++)
		p.can_access[i] = p.native_atomics[i] = (uint64_t)1 << i;
	return p;
}

static void test_valid(void **state)
{
	struct uvmp_processors p = alone(64);

	(void)state;
	assert_true(uvmp_processors_is_valid(&p));
	p.no_memory = ~(uint64_t)1;
	assert_true(uvmp_processors_is_valid(&p));
	p = alone(1);
	assert_true(uvmp_processors_is_valid(&p));
	assert_false(uvmp_processors_is_valid(NULL));
	p.count = 0;
	assert_false(uvmp_processors_is_valid(&p));
	p.count = 65;
	assert_false(uvmp_processors_is_valid(&p));
}

static void test_not_valid(void **state)
{
	struct uvmp_processors p;

	(void)state;
#define EXPECT_BAD(change)                                                                                   \
	p = alone(3);                                                                                        \
	change;                                                                                              \
	assert_false(uvmp_processors_is_valid(&p))
	EXPECT_BAD(p.can_access[1] = 0);
	EXPECT_BAD(p.can_access[1] |= 8);
	EXPECT_BAD(p.fast_link[2] = 4);
	EXPECT_BAD(p.fast_link[2] = 8);
	EXPECT_BAD(p.native_atomics[0] = 2);
	EXPECT_BAD(p.native_atomics[0] = 9);
	EXPECT_BAD(p.smc[1] = 2);
	EXPECT_BAD(p.smc[1] = 16);
	EXPECT_BAD(p.smc[0] = 2);
	EXPECT_BAD(p.no_memory = 8);
	EXPECT_BAD(p.no_memory = 1);
}

/* The relations by default, and what the naming check says of relations with one random change. */
static void test_init_and_check(void **state)
{
	struct uvmp_processors p;
	struct processors_fault fault;
	uint64_t random = 1;
	uint32_t bad = 0;

	(void)state;
	assert_int_equal(uvmp_processors_init(NULL, 1), UVMP_ERR_ARGUMENT);
	p.count = 77;
	assert_int_equal(uvmp_processors_init(&p, 64), UVMP_ERR_RANGE);
	assert_int_equal(p.count, 77);
	for (uint32_t gpus = 0; gpus < 64; gpus++) {
		assert_int_equal(uvmp_processors_init(&p, gpus), UVMP_OK);
		assert_int_equal(p.count, gpus + 1u);
		assert_true(uvmp_processors_is_valid(&p));
		assert_true(uvmpi_processors_check(&p, &fault));
	}
	assert_int_equal(uvmp_processors_init(&p, 2), UVMP_OK);
	assert_true(p.can_access[0] == 1 && p.can_access[1] == 7 && p.can_access[2] == 7 && p.no_memory == 0);
	assert_true(p.fast_link[0] == 0 && p.fast_link[1] == 4 && p.fast_link[2] == 2 && p.smc[1] == 0);
	assert_true(p.native_atomics[0] == 1 && p.native_atomics[1] == 6 && p.native_atomics[2] == 6);
	for (uint32_t i = 0; i < 4000; i++) {
		uint64_t *word;

		assert_int_equal(uvmp_processors_init(&p, 3), UVMP_OK);
		word = &p.can_access[0] + uvmp_random_below(&random, 4) * UVMP_PROCS_MAX + uvmp_random_below(&random, 4);
		if (uvmp_random_below(&random, 8) == 0)
			word = &p.no_memory;
		*word ^= (uint64_t)1 << uvmp_random_below(&random, 5);
		bad += !uvmp_processors_is_valid(&p);
		assert_int_equal(uvmpi_processors_check(&p, &fault), uvmp_processors_is_valid(&p));
	}
	assert_true(bad > 1000 && bad < 3000);
}

static void test_accessible_from(void **state)
{
	struct uvmp_processors p = alone(3);

	(void)state;
	p.can_access[1] = 3;
	p.can_access[2] = 5;
	assert_int_equal(uvmp_accessible_from(&p, 0), 7);
	assert_int_equal(uvmp_accessible_from(&p, 1), 2);
	assert_int_equal(uvmp_accessible_from(&p, 3), 0);
	assert_int_equal(uvmp_accessible_from(&p, UVMP_PROC_NONE), 0);
	assert_int_equal(uvmp_accessible_from(NULL, 0), 0);
	p = alone(64);
	assert_int_equal(uvmp_closest_processor(&p, 63, 1), 0);
	assert_int_equal(uvmp_closest_processor(&p, 63, (uint64_t)1 << 62), 62);
	p.can_access[63] |= 1;
	assert_true(uvmp_accessible_from(&p, 0) == ((uint64_t)1 << 63 | 1));
}

/* [driver: processors], the order of preference: each case removes the winner of the one before. */
static void test_closest(void **state)
{
	struct uvmp_processors p = alone(8);

	(void)state;
	p.smc[1] = 1u << 6 | 1u << 7;
	p.fast_link[1] = 1u << 0 | 1u << 4 | 1u << 5;
	p.can_access[1] = 1u << 0 | 1u << 1 | 1u << 3;
	assert_int_equal(uvmp_closest_processor(&p, 1, 0xff), 1);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0xfd), 6);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0xbd), 7);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x3d), 4);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x2d), 5);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x0d), 0); /* the CPU is behind the fast GPUs */
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x0c), 3);
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x04), 2);
	p.fast_link[1] = 0;
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x0d), 3); /* behind the accessible GPUs too */
	assert_int_equal(uvmp_closest_processor(&p, 1, 0x05), 0);
	assert_int_equal(uvmp_closest_processor(&p, 2, 0x0b), 0); /* lowest of any, the CPU first */
	assert_int_equal(uvmp_closest_processor(&p, 0, 0x06), 1);
}

static void test_closest_none(void **state)
{
	struct uvmp_processors p = alone(2);

	(void)state;
	assert_int_equal(uvmp_closest_processor(&p, 1, 0), UVMP_PROC_NONE);
	assert_int_equal(uvmp_closest_processor(&p, 1, 4), UVMP_PROC_NONE); /* does not exist */
	assert_int_equal(uvmp_closest_processor(&p, 2, 3), UVMP_PROC_NONE);
	assert_int_equal(uvmp_closest_processor(NULL, 1, 3), UVMP_PROC_NONE);
	p.can_access[1] = 0;
	assert_int_equal(uvmp_closest_processor(&p, 1, 3), UVMP_PROC_NONE);
	assert_int_equal(uvmp_accessible_from(&p, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_valid),           cmocka_unit_test(test_not_valid),
	        cmocka_unit_test(test_init_and_check),
	        cmocka_unit_test(test_accessible_from), cmocka_unit_test(test_closest),
	        cmocka_unit_test(test_closest_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
