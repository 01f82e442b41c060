/* Differences in pairs: logarithms against libm, the p value against the test that flips every combination of signs, the interval
 * against the p values of shifted pairs, and how often an interval has the truth. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "support/seed.h"
#include "sweep/statistics.h"
#include "uvmpolicy/uvmpolicy.h"

#define ONE (1 << STATISTICS_BITS)

static uint64_t random_state;

static int64_t draw(int64_t below)
{
	return (int64_t)uvmp_random_below(&random_state, (uint32_t)below);
}

static void logarithms_are_those_of_libm(void **state)
{
	static const uint64_t special[] = {
		1, 2, 3, 4, 1000, UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, UINT64_C(1) << 63, UINT64_MAX};

	(void)state;
	random_state = test_seed();
	for (int i = 0; i < 20000; i++) {
		uint64_t x = i < 9 ? special[i] : uvmp_random_next(&random_state) >> draw(63);
		double got, want;

		x = x != 0 ? x : 1;
		got = (double)statistics_log2(x) / ONE;
		want = log2((double)x);
		if (fabs(got - want) > 1.0 / (1 << 22))
			fail_msg("log2 of %llu: %.9f, not %.9f", (unsigned long long)x, got, want);
	}
	assert_int_equal(statistics_log2(1), 0);
	assert_int_equal(statistics_log2(1024), 10 * ONE);
}

static void powers_are_those_of_libm(void **state)
{
	(void)state;
	random_state = test_seed();
	for (int i = 0; i < 20000; i++) {
		int64_t log = draw(40 * (int64_t)ONE) - 20 * (int64_t)ONE;
		double want = exp2((double)log / ONE) * 1e6, got = (double)statistics_exp2(log);

		if (fabs(got - want) > 1.0 + 2e-6 * want)
			fail_msg("2^%.9f: %.0f millionths, not %.3f", (double)log / ONE, got, want);
	}
	assert_int_equal(statistics_exp2(0), STATISTICS_ONE);
	assert_int_equal(statistics_exp2(ONE), 2 * STATISTICS_ONE);
	assert_int_equal(statistics_exp2(-ONE), STATISTICS_ONE / 2);
	assert_int_equal(statistics_exp2(-100 * (int64_t)ONE), 0);
}

/* Of all 2^n combinations of signs, the share that has a sum as extreme, on the smaller side, twice. */
static int64_t naive_p(const int64_t *log, size_t count)
{
	int64_t sum = 0, at_least = 0, at_most = 0, least;

	for (size_t i = 0; i < count; i++)
		sum += log[i];
	for (uint32_t flips = 0; flips < UINT32_C(1) << count; flips++) {
		int64_t other = 0;

		for (size_t i = 0; i < count; i++)
			other += (flips >> i & 1u) != 0 ? -log[i] : log[i];
		at_least += other >= sum;
		at_most += other <= sum;
	}
	least = at_least < at_most ? at_least : at_most;
	least = 2 * least * STATISTICS_ONE / (INT64_C(1) << count);
	return least < STATISTICS_ONE ? least : STATISTICS_ONE;
}

static void p_is_that_of_the_sign_flip_test(void **state)
{
	(void)state;
	random_state = test_seed();
	for (int i = 0; i < 400; i++) {
		size_t count = (size_t)(1 + draw(12));
		int64_t log[14], shift = draw(2 * ONE);
		struct statistics s;

		for (size_t k = 0; k < count; k++) /* some are 0, some are equal */
			log[k] = draw(4) == 0 ? (draw(3) - 1) * ONE : draw(2 * ONE) - shift;
		assert_true(statistics_of(log, count, &s));
		assert_int_equal(s.p, naive_p(log, count));
		assert_int_equal(s.less + s.equal + s.more, count);
		assert_int_equal(s.has_interval, count >= 6);
	}
}

/* The interval and the p value agree: the interval is without 0 exactly if p is at most 0.05. */
static void the_interval_agrees_with_p(void **state)
{
	int apart = 0;

	(void)state;
	random_state = test_seed();
	for (int i = 0; i < 400; i++) {
		size_t count = (size_t)(6 + draw(20));
		int64_t log[26], shift = draw(ONE);
		struct statistics s;

		for (size_t k = 0; k < count; k++)
			log[k] = (draw(2 * ONE) - shift) | 1;
		assert_true(statistics_of(log, count, &s));
		assert_int_equal(s.p <= STATISTICS_ONE / 20, s.low > 0 || s.high < 0);
		assert_true(s.low <= s.mean && s.mean <= s.high);
		apart += s.low > 0 || s.high < 0;
	}
	assert_in_range(apart, 20, 380);
}

static void few_or_equal_pairs_show_nothing(void **state)
{
	const int64_t same[20] = {0}, one[5] = {ONE, ONE, ONE, ONE, ONE};
	struct statistics s;

	(void)state;
	assert_true(statistics_of(same, 0, &s));
	assert_int_equal(s.p, STATISTICS_ONE);
	for (size_t count = 1; count <= 20; count++) {
		assert_true(statistics_of(same, count, &s));
		assert_int_equal(s.p, STATISTICS_ONE);
		assert_int_equal(s.mean, 0);
	}
	assert_true(statistics_of(one, 5, &s));
	assert_int_equal(s.p, 62500); /* 2 / 32 */
	assert_false(s.has_interval);
}

/* 95 % intervals of a true value of 0.3 have it in about 95 % of the samples. */
static void intervals_have_the_truth(void **state)
{
	enum { SAMPLES = 1000 };
	const int64_t truth = ONE * 3 / 10;
	static const size_t counts[] = {8, 12, 30};

	(void)state;
	random_state = test_seed();
	for (size_t c = 0; c < 3; c++) {
		int inside = 0;

		for (int i = 0; i < (c == 2 ? SAMPLES / 5 : SAMPLES); i++) {
			int64_t log[30];
			struct statistics s;

			for (size_t k = 0; k < counts[c]; k++) /* symmetric, with heavy tails */
				log[k] = truth + (draw(ONE) - draw(ONE)) * (draw(10) == 0 ? 8 : 1);
			assert_true(statistics_of(log, counts[c], &s));
			inside += s.low <= truth && truth <= s.high;
		}
		assert_in_range(inside, c == 2 ? 176 : 910, c == 2 ? 200 : 985);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logarithms_are_those_of_libm),
		cmocka_unit_test(powers_are_those_of_libm),
		cmocka_unit_test(p_is_that_of_the_sign_flip_test),
		cmocka_unit_test(the_interval_agrees_with_p),
		cmocka_unit_test(few_or_equal_pairs_show_nothing),
		cmocka_unit_test(intervals_have_the_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
