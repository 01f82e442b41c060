/* processor.h: what relations may be, the transpose, and the closest processor [driver: processors]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

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
	        cmocka_unit_test(test_accessible_from), cmocka_unit_test(test_closest),
	        cmocka_unit_test(test_closest_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
