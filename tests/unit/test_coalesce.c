/* How the lanes of a load or store become accesses (workloads/coalesce.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "workloads/coalesce.h"

static struct workload_slot slot;

static uint32_t coalesce(uint32_t lanes, uint32_t bytes)
{
	uint32_t accesses = 0;

	workload_set_lanes(&slot, lanes, bytes, UVMP_ACCESS_READ);
	coalesce_lanes(&slot);
	for (uint32_t i = 0; i < lanes; i++) {
		accesses += slot.accesses[i];
		assert_true(i == 0 || slot.lane[i - 1u] <= slot.lane[i]);
	}
	return accesses;
}

/* Two rows of 16 floats, 68 bytes apart, as backprop has them, lie in two segments wherever they begin. */
static void test_runs(void **unused)
{
	(void)unused;
	assert_int_equal(coalesce_run(4096, 4096), 0);
	assert_int_equal(coalesce_run(4096, 4097), 1);
	assert_int_equal(coalesce_run(4096, 4096 + 128), 1);
	assert_int_equal(coalesce_run(4096 + 127, 4096 + 129), 2);
	for (uint64_t at = 4096; at < 4096 + 128; at += 4)
		assert_int_equal(coalesce_run(at, at + 132), 2);
}

/* Lanes anywhere: as many accesses as segments, whose size hangs on that of the elements. */
static void test_lanes(void **unused)
{
	static const uint64_t some[] = {4096 + 260, 4096, 4096 + 40, 4096 + 256, 4096 + 100, 4096 + 4};

	(void)unused;
	memcpy(slot.lane, some, sizeof(some));
	assert_int_equal(coalesce(6, 4), 2);
	assert_int_equal(slot.accesses[0], 1); /* of 4096 */
	assert_int_equal(slot.accesses[4], 1); /* of 4096 + 256 */
	memcpy(slot.lane, some, sizeof(some));
	assert_int_equal(coalesce(6, 8), 2);
	memcpy(slot.lane, some, sizeof(some));
	assert_int_equal(coalesce(6, 2), 3); /* of 64 bytes */
	memcpy(slot.lane, some, sizeof(some));
	assert_int_equal(coalesce(6, 1), 4); /* of 32 bytes */
}

/* Lanes that are runs of more than a segment (runs.h): each segment counts once. */
static void test_lanes_of_runs(void **unused)
{
	static const uint64_t some[] = {4096 + 64, 4096, 4096 + 1024};

	(void)unused;
	memcpy(slot.lane, some, sizeof(some));
	assert_int_equal(coalesce(3, 256), 3 + 2);
	assert_int_equal(slot.accesses[0], 2);
	assert_int_equal(slot.accesses[1], 1);
	assert_int_equal(slot.accesses[2], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_lanes_of_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
