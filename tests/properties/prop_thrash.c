/* thrash.h against tests/model/naive_thrash.c on random scripts: after each step the hint, all pages and
 * blocks, the lapse and the queue are the same, and everything is valid. A third of the scripts keep to
 * one page, so that it bounces; another to two pages of each block, so that several wait in the queue; in
 * both the vote comes to its threshold soon. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/seed.h"
#include "model/thrash_case.h"
#include "uvmpolicy/base.h"

#define STEPS 400u

static void check_scripts(uint64_t random, int scripts)
{
	static uint8_t data[THRASH_CASE_HEAD + 4u * STEPS];

	for (int i = 0; i < scripts; i++) {
		bool is_bouncing = i % 3 != 0;
		uint8_t kept = i % 3 == 1 ? 0 : 0x11; /* page 2 or 3, block 0 or 1 */
		const char *wrong;

		for (size_t at = 0; at < sizeof(data); at++)
			data[at] = (uint8_t)(uvmp_random_next(&random) >> 24);
		if (is_bouncing)
			data[4] &= 15u;
		for (size_t at = THRASH_CASE_HEAD; at < sizeof(data); at += 4) {
			data[at + 1] = is_bouncing ? 2u | (data[at + 1] & kept) : data[at + 1] & 0xf3u;
			if (is_bouncing && at > THRASH_CASE_HEAD + 64u && data[at + 3] >= 160)
				data[at + 3] = data[at + 2] < 250 ? data[at + 3] % 160u : data[at + 3];
		}
		wrong = thrash_case_run(data, sizeof(data));
		if (wrong != NULL)
			fail_msg("script %d: not true: %s", i, wrong);
	}
}

static void test_fixed_seed(void **unused)
{
	(void)unused;
	check_scripts(7, 1000);
}

static void test_printed_seed(void **unused)
{
	uint64_t seed = test_seed();

	(void)unused;
	check_scripts(seed, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fixed_seed),
	        cmocka_unit_test(test_printed_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
