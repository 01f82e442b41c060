/* prefetch.h, forest: equality with the naive model over random scripts of faults, accesses, evictions and kernels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/forest_script.h"
#include "support/seed.h"
#include "uvmpolicy/base.h"

#define SCRIPTS 200

static struct forest_script_stats stats;

static void run_scripts(uint64_t random)
{
	uint8_t data[500];

	for (uint32_t i = 0; i < test_share_of(SCRIPTS); i++) {
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)uvmp_random_next(&random);
		assert_true(forest_script_agrees(data, sizeof(data), &stats));
	}
}

static void test_equality_with_the_naive_model(void **state)
{
	(void)state;
	run_scripts(1);
	run_scripts(test_seed());
	if (test_share_of(SCRIPTS) < SCRIPTS)
		return;
	/* all scripts reach each class and each kind of decision */
	for (int i = 0; i < 4; i++) {
		assert_true(stats.classes[i] > 0);
		assert_true(stats.decisions[i] > 0);
	}
	assert_true(stats.follows > 0 && stats.grown > 0 && stats.density > 0 && stats.kernels > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_equality_with_the_naive_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
